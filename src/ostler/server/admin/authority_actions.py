"""The actions behind setmqaut, dspmqaut and dmpmqaut.

The caller needs the authorities that SET AUTHREC and DISPLAY AUTHREC need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.command.admin.authrec import (
    Entity,
    RecordQuery,
    delete_records,
    entity_authority,
    records,
    set_records,
)
from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.model import constants as mq
from ostler.model.authorities import words_of
from ostler.model.errors import MQError
from ostler.security.authorities import GROUP, OBJECT_TYPES, expand
from ostler.server.admin.actions import Action, Answers, Arguments, Caller, text_argument, texts_argument

_OBJTYPES: Final = {number: word for word, number in OBJECT_TYPES.items()}


def authority_actions(context_for: Callable[[str, int], CommandContext]) -> dict[str, Action]:
    """Return the actions by name. `context_for` gives the command context of a user."""
    actions = AuthorityActions(context_for)
    return {
        "set_authority": actions.set_authority,
        "entity_authority": actions.entity_authority,
        "authority_records": actions.authority_records,
    }


class AuthorityActions:
    def __init__(self, context_for: Callable[[str, int], CommandContext]) -> None:
        self._context_for = context_for

    def set_authority(self, arguments: Arguments, caller: Caller) -> Answers:
        """setmqaut: change the records of a profile, or with `delete` remove them."""
        context = self._context(caller)
        objtype = _objtype(arguments)
        profile = _text(arguments, "profile")
        entities = [Entity(name) for name in texts_argument(arguments, "users")]
        entities += [Entity(name, True) for name in texts_argument(arguments, "groups")]
        try:
            if arguments.get("delete"):
                delete_records(context, objtype, profile, entities)
            else:
                add = _mask(arguments, "add", objtype)
                set_records(context, objtype, profile, entities, add, _mask(arguments, "remove", objtype))
        except CommandRefused as refusal:
            raise MQError(mq.MQRC_NOT_AUTHORIZED, refusal.text) from refusal
        yield {"done": True}

    def entity_authority(self, arguments: Arguments, caller: Caller) -> Answers:
        """dspmqaut: the authorities of a user or group on an object."""
        context = self._context(caller)
        objtype = _objtype(arguments)
        name = _text(arguments, "profile")
        is_group = bool(arguments.get("is_group"))
        try:
            mask = entity_authority(context, _text(arguments, "entity"), is_group, objtype, name)
        except CommandRefused as refusal:
            raise MQError(mq.MQRC_NOT_AUTHORIZED, refusal.text) from refusal
        yield {"authorities": list(words_of(mask))}

    def authority_records(self, arguments: Arguments, caller: Caller) -> Answers:
        """dmpmqaut: the authority records, one in each answer."""
        name = _text(arguments, "entity")
        question = RecordQuery(
            _text(arguments, "profile") if arguments.get("profile") is not None else None,
            _objtype(arguments) if arguments.get("objtype") is not None else None,
            Entity(name, bool(arguments.get("is_group"))) if name else None,
            _text(arguments, "match") or "PROFILE",
        )
        try:
            rows = records(self._context(caller), question)
        except CommandRefused as refusal:
            raise MQError(mq.MQRC_NOT_AUTHORIZED, refusal.text) from refusal
        for row in rows:
            object_type = row["OBJTYPE"]
            assert isinstance(object_type, int)
            yield {
                "profile": row["PROFILE"],
                "objtype": _OBJTYPES[object_type],
                "entity": row["ENTITY"],
                "is_group": row["ENTTYPE"] == GROUP,
                "authorities": row["AUTHLIST"],
            }
        yield {"processed": len(rows)}

    def _context(self, caller: Caller) -> CommandContext:
        return self._context_for(caller.user, mq.MQEVO_CONSOLE)


def _objtype(arguments: Arguments) -> str:
    return _text(arguments, "objtype").upper()


def _text(arguments: Arguments, name: str) -> str:
    return "" if arguments.get(name) is None else text_argument(arguments, name, "")


def _mask(arguments: Arguments, name: str, objtype: str) -> int:
    words = [word.upper() for word in texts_argument(arguments, name)]
    try:
        return expand(words, OBJECT_TYPES[objtype]) if objtype in OBJECT_TYPES else 0
    except KeyError as error:
        raise MQError(mq.MQRCCF_AUTH_VALUE_ERROR, f"{error.args[0]} is not an authority.") from None
