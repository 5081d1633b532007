"""SET, DELETE and DISPLAY AUTHREC, DISPLAY ENTAUTH and AUTHSERV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from ostler.command.admin.authrec import (
    INTERFACE_VERSION,
    Entity,
    RecordQuery,
    Row,
    check_entity,
    delete_records,
    entity_authority,
    records,
    set_records,
)
from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.mqsc.arguments import CommandOptions, unknown_word
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.display.layout import bracketed, columns
from ostler.command.mqsc.grammar import PRODUCT, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError, Token
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, find, to_text
from ostler.model.authorities import AUTHORITY_NUMBERS, DSP, words_of
from ostler.model.errors import MQError
from ostler.security.authorities import COMPOSITES, OBJECT_TYPES, expand, invalid_authorities
from ostler.security.profiles import CLASS_PROFILE, MANAGER_PROFILE, check_profile

_SHOWN: Final = ("PROFILE", "ENTITY", "ENTTYPE", "OBJTYPE", "AUTHLIST")
_ALWAYS_SHOWN: Final = ("PROFILE", "OBJTYPE")
_WORDS: Final = (*COMPOSITES, *AUTHORITY_NUMBERS)
# Types for which DELETE AUTHREC ignores missing records.
_IGNORING_MISSING: Final = ("QMGR", "TOPIC", "RQMNAME", "QUEUE")
_MATCHES: Final = ("PROFILE", "EXACT", "MEMBERSHIP")


# -- shared keywords ---------------------------------------------------------------------------------------------------


def _begin(statement: Statement) -> CommandOptions:
    if statement.name is not None:
        raise MqscSyntaxError(statement.name.end, f"{statement.noun.text} takes no name, only keywords")
    options = CommandOptions(statement)
    options.text("SERVCOMP")
    return options


def _objtype(statement: Statement, options: CommandOptions) -> str:
    words = options.values("OBJTYPE")
    if words is None:
        raise MqscSyntaxError(statement.end, "OBJTYPE is missing: it is the type of the objects")
    return _one_objtype(words)


def _one_objtype(words: Sequence[Token]) -> str:
    if len(words) > 1:
        raise MqscSyntaxError(words[1].end, "OBJTYPE takes one value")
    text = words[0].text.upper()
    if text not in OBJECT_TYPES:
        raise unknown_word(
            words[0], f"is not a type of object: OBJTYPE is one of {', '.join(OBJECT_TYPES)}", OBJECT_TYPES
        )
    return text


def _profile(statement: Statement, options: CommandOptions, objtype: str, keyword: str = "PROFILE") -> str:
    """Returns the profile, which may be omitted for the queue manager only."""
    words = options.values(keyword)
    if words is None:
        if objtype != "QMGR":
            raise MqscSyntaxError(statement.end, f"{keyword} is missing: it selects the objects")
        return ""
    return _one_profile(words, keyword)


def _one_profile(words: Sequence[Token], keyword: str) -> str:
    if len(words) > 1:
        raise MqscSyntaxError(words[1].end, f"{keyword} takes one value")
    text = words[0].text.strip()
    if text and text.lower() not in (CLASS_PROFILE, MANAGER_PROFILE):
        try:
            check_profile(text)
        except MQError as error:
            raise MqscSyntaxError(words[0].end, error.detail.rstrip(".")) from None
    # Text outside quotes was folded to upper case; these two profiles are lower case.
    return text.lower() if text in (CLASS_PROFILE.upper(), MANAGER_PROFILE.upper()) else text


def _entities(options: CommandOptions) -> list[Entity]:
    found: list[Entity] = []
    for keyword in ("PRINCIPAL", "GROUP"):
        for word in options.values(keyword) or ():
            entity = Entity(word.text.rstrip(" "), keyword == "GROUP")
            try:
                check_entity(entity)
            except MQError as error:
                raise MqscSyntaxError(word.end, error.detail.rstrip(".")) from None
            found.append(entity)
    return found


def _needed_entities(statement: Statement, options: CommandOptions) -> list[Entity]:
    found = _entities(options)
    if not found:
        raise MqscSyntaxError(statement.end, "PRINCIPAL or GROUP is missing: it names the entity")
    return found


def _authorities(words: Sequence[Token] | None, keyword: str, objtype: str) -> int | None:
    if words is None:
        return None
    object_type = OBJECT_TYPES[objtype]
    mask = 0
    for word in words:
        text = word.text.upper()
        if text not in _WORDS:
            raise unknown_word(word, f"is not an authority: {keyword} takes {', '.join(_WORDS)}", _WORDS)
        bits = expand((text,), object_type)
        if invalid_authorities(object_type, bits):
            raise MqscSyntaxError(word.end, f"{text} does not apply to objects of type {objtype}")
        mask |= bits
    return mask


# -- SET and DELETE ----------------------------------------------------------------------------------------------------


def _set(statement: Statement) -> Action:
    options = _begin(statement)
    objtype = _objtype(statement, options)
    profile = _profile(statement, options, objtype)
    entities = _needed_entities(statement, options)
    add = _authorities(options.values("AUTHADD"), "AUTHADD", objtype)
    removed = options.values("AUTHRMV")
    remove = _authorities(removed, "AUTHRMV", objtype)
    if add and removed and len(removed) > 1 and any(word.text.upper() == "ALL" for word in removed):
        raise MqscSyntaxError(statement.end, "AUTHRMV(ALL) takes no other authority when AUTHADD is given")
    options.finish()
    if add is None and remove is None:
        raise MqscSyntaxError(statement.end, "AUTHADD or AUTHRMV is missing: it lists the authorities to change")
    return partial(_do_set, objtype, profile, tuple(entities), add or 0, remove or 0)


def _do_set(
    objtype: str, profile: str, entities: tuple[Entity, ...], add: int, remove: int, context: CommandContext
) -> Iterator[str]:
    set_records(context, objtype, profile, entities, add, remove)
    yield message("AMQ8862I", f"{PRODUCT} authority record set.")


def _delete(statement: Statement) -> Action:
    options = _begin(statement)
    objtype = _objtype(statement, options)
    profile = _profile(statement, options, objtype)
    entities = _needed_entities(statement, options)
    ignores_by_type = objtype in _IGNORING_MISSING
    ignores = options.choice("IGNSTATE", *(("YES", "NO") if ignores_by_type else ("NO", "YES"))) == "YES"
    options.finish()
    if ignores_by_type and not ignores:
        raise MqscSyntaxError(statement.end, f"IGNSTATE is always YES for {objtype}")
    return partial(_do_delete, objtype, profile, tuple(entities), ignores)


def _do_delete(
    objtype: str, profile: str, entities: tuple[Entity, ...], ignores_missing: bool, context: CommandContext
) -> Iterator[str]:
    delete_records(context, objtype, profile, entities, ignores_missing)
    yield message("AMQ8863I", f"{PRODUCT} authority record deleted.")


# -- DISPLAY -----------------------------------------------------------------------------------------------------------


def _display(statement: Statement) -> Action:
    options = _begin(statement)
    words = options.values("PROFILE")
    profile = _one_profile(words, "PROFILE") if words is not None else None
    asked = options.values("OBJTYPE") if _has_values(statement, "OBJTYPE") else None
    objtype = _one_objtype(asked) if asked is not None else None
    entity = _only_entity(statement, _entities(options))
    match = options.choice("MATCH", *_MATCHES)
    if match == "MEMBERSHIP" and (entity is None or entity.is_group):
        raise MqscSyntaxError(statement.end, "MATCH(MEMBERSHIP) needs a PRINCIPAL: groups have no groups")
    shown = _shown(options, _SHOWN, _ALWAYS_SHOWN)
    return partial(_do_display, RecordQuery(profile, objtype, entity, match), shown)


def _has_values(statement: Statement, keyword: str) -> bool:
    """Returns whether a keyword, which can also be an attribute to show, has a value."""
    argument = statement.argument(keyword)
    return argument is not None and argument.values is not None


def _only_entity(statement: Statement, entities: list[Entity]) -> Entity | None:
    if len(entities) > 1:
        raise MqscSyntaxError(statement.end, "only one user or group is allowed")
    return entities[0] if entities else None


def _shown(options: CommandOptions, known: tuple[str, ...], always: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the attributes to show, in order: all, unless some are named."""
    shows_all = options.switch("ALL")
    names = {name for name in known if options.switch(name)}
    options.finish()
    if shows_all or not names:
        return known
    return tuple(name for name in known if name in names or name in always)


def _do_display(selection: RecordQuery, shown: tuple[str, ...], context: CommandContext) -> Iterator[str]:
    rows = records(context, selection)
    if not rows:
        raise CommandRefused("AMQ8459I", "Authority record not found.")
    for row in rows:
        yield message("AMQ8864I", "Authority record details.")
        yield from columns([_item(name, row) for name in shown])


def _item(name: str, row: Row) -> str:
    value = row[name]
    if name == "AUTHLIST":
        # MQ's order, independent of the order in the record.
        words = value if isinstance(value, tuple) else ()
        return bracketed(name, ",".join(sorted(words, key=lambda word: AUTHORITY_NUMBERS.get(word, 0))))
    attribute = find(ObjectType.AUTHREC, name)
    return bracketed(name, to_text(attribute, value) if attribute is not None else str(value))


def _display_entity(statement: Statement) -> Action:
    options = _begin(statement)
    objtype = _objtype(statement, options)
    name = _profile(statement, options, objtype, "OBJNAME")
    entity = _only_entity(statement, _needed_entities(statement, options))
    assert entity is not None
    shown = _shown(options, ("OBJNAME", "ENTITY", "ENTTYPE", "OBJTYPE", "AUTHLIST"), ("OBJNAME",))
    return partial(_do_display_entity, entity, objtype, name, shown)


def _do_display_entity(
    entity: Entity, objtype: str, name: str, shown: tuple[str, ...], context: CommandContext
) -> Iterator[str]:
    mask = entity_authority(context, entity.name, entity.is_group, objtype, name)
    if objtype == "QMGR":
        name = context.query(lambda engine: engine.name)
    row: Row = {
        "OBJNAME": name,
        "ENTITY": entity.name,
        "ENTTYPE": 2 if entity.is_group else 1,
        "OBJTYPE": OBJECT_TYPES[objtype],
        "AUTHLIST": words_of(mask) or ("NONE",),
    }
    yield message("AMQ8866I", "Entity authority details.")
    yield from columns([_item(each, row) for each in shown])


def _display_service(statement: Statement) -> Action:
    options = _begin(statement)
    shown = _shown(options, ("IFVER", "UIDSUPP"), ())
    return partial(_do_display_service, shown)


def _do_display_service(shown: tuple[str, ...], context: CommandContext) -> Iterator[str]:
    context.authorize(mq.MQOT_Q_MGR, "", DSP)
    values = {"IFVER": str(INTERFACE_VERSION), "UIDSUPP": "YES"}
    yield message("AMQ8865I", "Authority service details.")
    yield from columns([bracketed(name, values[name]) for name in shown])


# The commands of this module by verb and noun, each with its parser.
COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("SET", "AUTHREC"): _set,
    ("DELETE", "AUTHREC"): _delete,
    ("DISPLAY", "AUTHREC"): _display,
    ("DISPLAY", "ENTAUTH"): _display_entity,
    ("DISPLAY", "AUTHSERV"): _display_service,
}
