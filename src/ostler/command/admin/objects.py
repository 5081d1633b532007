"""Objects by their MQSC names and values: define, alter, display. Call with the engine's lock held.

MQSC, PCF and the Python interface all use these functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Final

from ostler.command.admin.in_use import check_not_in_use
from ostler.engine import apply, objects
from ostler.engine.core import Engine
from ostler.engine.events import triggers
from ostler.engine.inquire import identifier
from ostler.engine.open import update_open_handles
from ostler.engine.queue.delivery import send_own_messages
from ostler.engine.syncpoint import serve_all
from ostler.model import constants as mq
from ostler.model.attributes import (
    Attribute,
    ObjectType,
    Value,
    ValueKind,
    attributes_of,
    check,
    from_text,
    ignored,
    require,
    subtype_of,
    to_text,
)
from ostler.model.definitions import Definition, new_definition
from ostler.model.errors import MQError

Given = int | str | bool | Sequence[str]
"""A value of an attribute as programs give it: a number, a word or text, True or False, a list."""

NUMBERS: Final = (ValueKind.INTEGER, ValueKind.ENUM, ValueKind.FLAG, ValueKind.OPTIONS)
_YES: Final = ("YES", "ENABLED", "ON")
_NO: Final = ("NO", "DISABLED", "OFF")
# The default objects, from which new objects take their attributes (LIKE).
_DEFAULT_OBJECTS: Final = {
    ObjectType.QLOCAL: "SYSTEM.DEFAULT.LOCAL.QUEUE",
    ObjectType.QALIAS: "SYSTEM.DEFAULT.ALIAS.QUEUE",
    ObjectType.QREMOTE: "SYSTEM.DEFAULT.REMOTE.QUEUE",
    ObjectType.QMODEL: "SYSTEM.DEFAULT.MODEL.QUEUE",
    ObjectType.PROCESS: "SYSTEM.DEFAULT.PROCESS",
    ObjectType.NAMELIST: "SYSTEM.DEFAULT.NAMELIST",
    ObjectType.TOPIC: "SYSTEM.DEFAULT.TOPIC",
    ObjectType.SERVICE: "SYSTEM.DEFAULT.SERVICE",
    ObjectType.SUB: "SYSTEM.DEFAULT.SUB",
    ObjectType.COMMINFO: "SYSTEM.DEFAULT.COMMINFO.MULTICAST",
}
# The default objects of types that have subtypes.
_DEFAULT_OF_SUBTYPE: Final = {
    (ObjectType.CHANNEL, "SDR"): "SYSTEM.DEF.SENDER",
    (ObjectType.CHANNEL, "SVR"): "SYSTEM.DEF.SERVER",
    (ObjectType.CHANNEL, "RCVR"): "SYSTEM.DEF.RECEIVER",
    (ObjectType.CHANNEL, "RQSTR"): "SYSTEM.DEF.REQUESTER",
    (ObjectType.CHANNEL, "SVRCONN"): "SYSTEM.DEF.SVRCONN",
    (ObjectType.CHANNEL, "CLNTCONN"): "SYSTEM.DEF.CLNTCONN",
    (ObjectType.CHANNEL, "CLUSSDR"): "SYSTEM.DEF.CLUSSDR",
    (ObjectType.CHANNEL, "CLUSRCVR"): "SYSTEM.DEF.CLUSRCVR",
    (ObjectType.CHANNEL, "AMQP"): "SYSTEM.DEF.AMQP",
    (ObjectType.LISTENER, "TCP"): "SYSTEM.DEFAULT.LISTENER.TCP",
    (ObjectType.AUTHINFO, "CRLLDAP"): "SYSTEM.DEFAULT.AUTHINFO.CRLLDAP",
    (ObjectType.AUTHINFO, "OCSP"): "SYSTEM.DEFAULT.AUTHINFO.OCSP",
    (ObjectType.AUTHINFO, "IDPWOS"): "SYSTEM.DEFAULT.AUTHINFO.IDPWOS",
    (ObjectType.AUTHINFO, "IDPWLDAP"): "SYSTEM.DEFAULT.AUTHINFO.IDPWLDAP",
}
_ZOS_ONLY: Final = {kind: {each.name for each in attributes_of(kind) if each.zos_only} for kind in ObjectType}
_ANY_QUEUE: Final = "QUEUE"
_MADE: Final = ("CRDATE", "CRTIME")


IGNORED: Final = "AMQ8698W"
"""The number of the warning about values that are stored but ignored."""
_EXITS: Final = ("SCYEXIT(", "MSGEXIT(", "SENDEXIT(", "RCVEXIT(", "MREXIT(")


_OF_GROUPS: Final = frozenset(("QSGDISP", "CFSTRUCT", "INDXTYPE", "DEFCDISP"))
"""Attributes that have a meaning in a queue-sharing group only."""


def ignored_values_text(kind: ObjectType, given: dict[str, Value], is_in_group: bool = False) -> str:
    """Returns a sentence on the values that are stored but ignored; empty if there are none."""
    if is_in_group:
        given = {name: value for name, value in given.items() if name not in _OF_GROUPS}
    found = ignored(kind, given)
    if is_in_group and kind == ObjectType.CFSTRUCT:
        found = [each for each in found if each != kind.value]  # structures do something in a group only
    if not found:
        return ""
    exits = [each for each in found if each.startswith(_EXITS)] if kind == ObjectType.CHANNEL else []
    others = [each for each in found if each not in exits]
    text = f"Stored and displayed, but ignored: {', '.join(others)}." if others else ""
    if exits:
        text += (
            f"{' ' if text else ''}Exits are not run here: with {', '.join(exits)} the channel does not run, unless "
        )
        text += "IgnoreExits=YES in qm.ini."
    if kind == ObjectType.AUTHINFO:
        text += " No such server is asked; while CONNAUTH names an object for LDAP, no password is right."
    return text


def object_type(word: str) -> ObjectType:
    """Returns the object type of an MQSC word."""
    try:
        return ObjectType(word.upper())
    except ValueError:
        raise MQError(mq.MQRC_OBJECT_TYPE_ERROR, f"There are no objects of type {word!r}.") from None


def values(kind: ObjectType, given: Mapping[str, Given]) -> dict[str, Value]:
    """Returns attributes as the engine stores them, each checked."""
    return {require(kind, name).name: _value(require(kind, name), value) for name, value in given.items()}


def _value(attribute: Attribute, given: Given) -> Value:
    if isinstance(given, bool):
        return _boolean_value(attribute, given)
    if isinstance(given, str):
        return from_text(attribute, given.upper()) if attribute.kind in NUMBERS else check(attribute, given)
    if isinstance(given, int):
        return check(attribute, given)
    return check(attribute, tuple(given))


def _boolean_value(attribute: Attribute, on: bool) -> Value:
    """Returns the value for True or False: SHARE and NOSHARE, YES and NO, ENABLED and DISABLED."""
    words = [word for word, _ in attribute.words]
    if attribute.kind == ValueKind.FLAG:
        wanted = [word for word in words if (not word.startswith("NO")) == on]
    else:
        wanted = [word for word in words if word in (_YES if on else _NO)]
    return check(attribute, wanted[0] if len(wanted) == 1 else int(on))


# -- changes -----------------------------------------------------------------------------------------------------------


def apply_definition(engine: Engine, definition: Definition, replace: bool) -> int:
    """Defines an object and applies its effects on triggers, waiting gets and open paths; returns the LSN."""
    queue = engine.queues.get(definition.name) if definition.object_type == ObjectType.QLOCAL else None
    before = queue.definition if queue is not None else None
    lsn = objects.define(engine, definition, replace)
    if queue is not None and before is not None:
        send_own_messages(engine, triggers.on_definition_change(engine, queue, before), None)
        serve_all(engine, queue)
    elif definition.object_type in (ObjectType.QALIAS, ObjectType.QREMOTE):
        update_open_handles(engine, definition)
    return lsn


def define(
    engine: Engine, kind: ObjectType, name: str, given: Mapping[str, Given], like: str | None, replace: bool
) -> int:
    """Creates an object, or with `replace` alters an existing one. Returns the LSN."""
    if replace and objects.find(engine, kind, name) is not None and like is None:
        return alter(engine, kind, name, given)
    return define_object(engine, kind, name, values(kind, given), like, replace)


def define_object(
    engine: Engine,
    kind: ObjectType,
    name: str,
    attributes: dict[str, Value],
    like: str | None,
    replace: bool,
    force: bool = True,
) -> int:
    """Creates an object and returns the LSN of the record (DEFINE).

    With `replace` an existing object takes the default for every attribute that is not given; it keeps its type and
    its creation time. Without `force` a change that affects open handles is rejected.
    """
    definition = new_object(engine, kind, name, attributes, like)
    existing = engine.of_type(apply.table_type(definition)).get(name)
    if kind == ObjectType.TOPIC:
        check_topic_string_unused(engine, definition)
    if existing is not None:
        if subtype_of(kind, existing.attributes) != subtype_of(kind, definition.attributes):
            raise MQError(
                mq.MQRCCF_ATTR_VALUE_FIXED, f"{name} is a {subtype_of(kind, existing.attributes)}, and stays one."
            )
        merged = dict(definition.attributes)
        for key in _MADE + (("DEFTYPE",) if kind == ObjectType.QLOCAL else ()):
            if key in existing.attributes:
                merged[key] = existing.attributes[key]
        definition = Definition(kind, name, merged)
        if replace and not force:
            check_not_in_use(engine, existing, merged)
    return apply_definition(engine, definition, replace)


def new_object(
    engine: Engine, kind: ObjectType, name: str, attributes: dict[str, Value], like: str | None
) -> Definition:
    """Returns a definition of the given attributes on top of those of the LIKE or default object."""
    model = _model(engine, kind, attributes, like)
    if model is not None and like is None and "DESCR" in model.attributes:
        attributes = {"DESCR": "", **attributes}
    return new_definition(kind, name, attributes, model, *_now(engine))


def merged_attributes(engine: Engine, kind: ObjectType, name: str, attributes: dict[str, Value]) -> dict[str, Value]:
    """Returns all attributes that a new object would have. Raises MQError for attributes that contradict each other."""
    return new_object(engine, kind, name, attributes, None).attributes


def check_topic_string_unused(engine: Engine, definition: Definition) -> None:
    """Rejects a second topic object for a topic string: the topic could not tell which to follow."""
    wanted = definition.attributes.get("TOPICSTR")
    for other in engine.of_type(ObjectType.TOPIC).values():
        if wanted and other.attributes.get("TOPICSTR") == wanted and other.name != definition.name:
            raise MQError(mq.MQRCCF_TOPICSTR_ALREADY_EXISTS, f"{other.name} has the topic string {wanted} already.")


def _model(engine: Engine, kind: ObjectType, attributes: dict[str, Value], like: str | None) -> Definition | None:
    subtype = subtype_of(kind, attributes)
    if like is None:
        return _default(engine, kind, subtype)
    found = existing_object(engine, storage_type(kind, attributes), like)
    if subtype and subtype != subtype_of(kind, found.attributes):
        raise MQError(mq.MQRCCF_LIKE_OBJECT_WRONG_TYPE, f"{like} is not of type {subtype}.")
    return found


def _default(engine: Engine, kind: ObjectType, subtype: str) -> Definition | None:
    """Returns the default object without attributes of z/OS, which new objects do not inherit."""
    found = objects.find(engine, kind, default_object(kind, subtype))
    if found is None or _ZOS_ONLY[kind].isdisjoint(found.attributes):
        return found
    rest = {name: value for name, value in found.attributes.items() if name not in _ZOS_ONLY[kind]}
    return Definition(kind, found.name, rest)


def default_object(kind: ObjectType, subtype: str) -> str:
    """Returns the name of the default object of a type; empty if it has none."""
    # Only a listener may omit its subtype, which is TCP then.
    return _DEFAULT_OF_SUBTYPE.get((kind, subtype or "TCP"), _DEFAULT_OBJECTS.get(kind, ""))


def existing_object(engine: Engine, kind: ObjectType, name: str) -> Definition:
    """Returns the definition of an object. Raises MQError if it does not exist."""
    found = objects.find(engine, kind, name)
    if found is None:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no {kind.value} called {name}.")
    return found


def _now(engine: Engine) -> tuple[str, str]:
    return date_and_time(engine.wall_ms())


def date_and_time(moment_ms: int) -> tuple[str, str]:
    """Returns a time as MQSC writes it, yyyy-mm-dd and hh.mm.ss; empty texts for 0."""
    if moment_ms == 0:
        return "", ""
    moment = datetime.fromtimestamp(moment_ms / 1000, UTC)
    return moment.strftime("%Y-%m-%d"), moment.strftime("%H.%M.%S")


def alter(engine: Engine, kind: ObjectType, name: str, given: Mapping[str, Given], force: bool = True) -> int:
    """Alters an object and returns the LSN. Without `force` a change that affects open handles is rejected."""
    changes = values(kind, given)
    if changes.get("GROUPUR") == mq.MQGUR_ENABLED and engine.sharing is None:
        text = "GROUPUR(ENABLED) needs a queue-sharing group, and this queue manager is in none."
        raise MQError(mq.MQRCCF_GROUPUR_CHECKS_FAILED, text)
    existing = existing_object(engine, storage_type(kind, changes), name)
    if not force:
        check_not_in_use(engine, existing, changes)
    return apply_definition(engine, existing.with_changes(changes, *_now(engine)), True)


def storage_type(kind: ObjectType, changes: dict[str, Value]) -> ObjectType:
    """Returns the type whose table holds an object: client channels have their own, and may share names with others."""
    is_client = kind == ObjectType.CHANNEL and changes.get("CHLTYPE") == mq.MQCHT_CLNTCONN
    return ObjectType.CLNTCONN if is_client else kind


# -- displays ----------------------------------------------------------------------------------------------------------


def display(engine: Engine, word: str, pattern: str, names: Sequence[str]) -> list[dict[str, Value]]:
    """Returns the objects whose names match, with NAME, TYPE and the named attributes, or all attributes."""
    kinds = objects.QUEUE_TYPES if word.upper() == _ANY_QUEUE else (object_type(word),)
    shown: list[dict[str, Value]] = []
    for kind in kinds:
        found = [definition for definition in objects.all_of_type(engine, kind) if matches(definition.name, pattern)]
        shown += [_shown(engine, definition, names, len(kinds) > 1) for definition in found]
    if not shown and "*" not in pattern:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no {word.upper()} called {pattern}.")
    return sorted(shown, key=lambda row: str(row["NAME"]))


def matches(name: str, pattern: str) -> bool:
    """Returns whether a name, or any text, matches a generic one. The only wildcard of MQSC is the asterisk."""
    if "*" not in pattern:
        return name == pattern
    return fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))


def matching_names(table: Mapping[str, object], pattern: str) -> list[str]:
    """Returns the sorted names in a table that match a generic one. A full name is looked up: monitoring asks often."""
    if "*" not in pattern:
        return [pattern] if pattern in table else []
    return sorted(name for name in table if matches(name, pattern))


def _shown(engine: Engine, definition: Definition, names: Sequence[str], skips_others: bool) -> dict[str, Value]:
    kind = definition.object_type
    row: dict[str, Value] = {"NAME": definition.name, "TYPE": kind.value}
    known = {attribute.name for attribute in attributes_of(kind)}
    wanted = [name.upper() for name in names] or [attribute.name for attribute in attributes_of(kind)]
    for name in wanted:
        if skips_others and name not in known:
            continue
        value = attribute_value(engine, definition, name)
        if value is not None:
            row[require(kind, name).name] = value
    return row


def attribute_value(engine: Engine, definition: Definition, name: str) -> Value | None:
    """Returns an attribute as programs read it: numbers as numbers, words as words; None if the object lacks it."""
    attribute = require(definition.object_type, name)
    live = live_value(engine, definition, attribute.name)
    if live is not None:
        return live
    if definition.object_type == ObjectType.QMGR and attribute.name == "QMID":
        return identifier(definition)
    value = definition.attributes.get(attribute.name)
    if not isinstance(value, int):
        return value
    text = to_text(attribute, value)
    return value if text == str(value) else text


def live_value(engine: Engine, definition: Definition, name: str) -> int | None:
    """Returns the current depth or open counts of a local queue; None for all other attributes."""
    if definition.object_type != ObjectType.QLOCAL or definition.name not in engine.queues:
        return None
    queue = engine.queues[definition.name]
    if name == "CURDEPTH":
        return queue.depth
    if name == "IPPROCS":
        return queue.inputs
    return queue.outputs if name == "OPPROCS" else None
