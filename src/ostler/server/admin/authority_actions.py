"""What setmqaut, dspmqaut and dmpmqaut ask of a running queue manager over its local socket.

Whoever asks needs the authorities that SET AUTHREC and DISPLAY AUTHREC need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from ostler.command.admin.authrec import (
    Entity,
    RecordQuery,
    delete_records,
    entity_authority,
    records,
    set_records,
)
from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.model.authorities import words_of
from ostler.model.constants import (
    MQEVO_CONSOLE,
    MQRC_NOT_AUTHORIZED,
    MQRC_OPTIONS_ERROR,
    MQRCCF_AUTH_VALUE_ERROR,
)
from ostler.model.errors import MQError
from ostler.security.authorities import GROUP, OBJECT_TYPES, expand

Arguments = dict[str, object]
Answers = Iterator[dict[str, object]]
_OBJTYPES: Final = {number: word for word, number in OBJECT_TYPES.items()}


class Caller(Protocol):
    """Who asks, as the kernel knows it."""

    @property
    def user(self) -> str: ...


Action = Callable[[Arguments, Caller], Answers]


def authority_actions(context_for: Callable[[str, int], CommandContext]) -> dict[str, Action]:
    """The actions by name. `context_for` gives the queue manager as a user may act on it."""
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
        target = self._target(caller)
        objtype = _objtype(arguments)
        profile = _text(arguments, "profile")
        entities = [Entity(name) for name in _texts(arguments, "users")]
        entities += [Entity(name, True) for name in _texts(arguments, "groups")]
        try:
            if arguments.get("delete"):
                delete_records(target, objtype, profile, entities)
            else:
                add = _mask(arguments, "add", objtype)
                set_records(target, objtype, profile, entities, add, _mask(arguments, "remove", objtype))
        except CommandRefused as refusal:
            raise MQError(MQRC_NOT_AUTHORIZED, refusal.text) from refusal
        yield {"done": True}

    def entity_authority(self, arguments: Arguments, caller: Caller) -> Answers:
        """dspmqaut: what a user or group may do to an object."""
        target = self._target(caller)
        objtype = _objtype(arguments)
        name = _text(arguments, "profile")
        is_group = bool(arguments.get("is_group"))
        try:
            mask = entity_authority(target, _text(arguments, "entity"), is_group, objtype, name)
        except CommandRefused as refusal:
            raise MQError(MQRC_NOT_AUTHORIZED, refusal.text) from refusal
        yield {"authorities": list(words_of(mask))}

    def authority_records(self, arguments: Arguments, caller: Caller) -> Answers:
        """dmpmqaut: the records themselves, one to an answer."""
        name = _text(arguments, "entity")
        question = RecordQuery(
            _text(arguments, "profile") if arguments.get("profile") is not None else None,
            _objtype(arguments) if arguments.get("objtype") is not None else None,
            Entity(name, bool(arguments.get("is_group"))) if name else None,
            _text(arguments, "match") or "PROFILE",
        )
        try:
            rows = records(self._target(caller), question)
        except CommandRefused as refusal:
            raise MQError(MQRC_NOT_AUTHORIZED, refusal.text) from refusal
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

    def _target(self, caller: Caller) -> CommandContext:
        return self._context_for(caller.user, MQEVO_CONSOLE)


def _objtype(arguments: Arguments) -> str:
    return _text(arguments, "objtype").upper()


def _text(arguments: Arguments, name: str) -> str:
    value = arguments.get(name, "")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MQError(MQRC_OPTIONS_ERROR, f"{name} has to be text.")
    return value


def _texts(arguments: Arguments, name: str) -> list[str]:
    value = arguments.get(name, [])
    if not isinstance(value, list):
        raise MQError(MQRC_OPTIONS_ERROR, f"{name} has to be a list.")
    texts = [each for each in value if isinstance(each, str)]
    if len(texts) != len(value):
        raise MQError(MQRC_OPTIONS_ERROR, f"{name} has to be a list of texts.")
    return texts


def _mask(arguments: Arguments, name: str, objtype: str) -> int:
    words = [word.upper() for word in _texts(arguments, name)]
    try:
        return expand(words, OBJECT_TYPES[objtype]) if objtype in OBJECT_TYPES else 0
    except KeyError as error:
        raise MQError(MQRCCF_AUTH_VALUE_ERROR, f"{error.args[0]} is not an authority.") from None
