"""Writes definitions as the MQSC script that creates them again (`dmpmqcfg`).

Run on a new queue manager the script restores every definition exactly, except for the times at which they were
created and altered. Attributes with default values are left out, unless all are wanted. When the SYSTEM.DEFAULT
object of a type was changed, the other objects of that type state all attributes that it changed: the new queue
manager has other defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final

from ostler.command.admin.objects import matches
from ostler.command.dump.closed_topics import find_closed_topics
from ostler.command.dump.records import (
    authority_commands,
    grant_line,
    rule_command,
    rule_removal_commands,
    setmqaut_line,
)
from ostler.command.dump.text import ScriptCommand, attribute_items, command_lines, quoted
from ostler.engine.pubsub.end_subscription import MANAGED_DURABLE
from ostler.engine.pubsub.subscription_definitions import FULL_TOPIC
from ostler.model import constants as mq
from ostler.model.attributes import Attribute, ObjectType, Shown, Value, attributes_of, defaults, find, has, subtype_of
from ostler.model.definitions import Definition
from ostler.model.system_objects import system_definitions

OBJECTS: Final = "object"
SUBSCRIPTIONS: Final = "sub"
RULES: Final = "chlauth"
AUTHORITIES: Final = "authrec"
POLICIES: Final = "policy"
EXPORTS: Final = (OBJECTS, SUBSCRIPTIONS, RULES, AUTHORITIES, POLICIES)

# The order of the script: referenced objects come first.
_ORDER: Final = (
    ObjectType.QMGR,
    ObjectType.AUTHINFO,
    ObjectType.COMMINFO,
    ObjectType.CFSTRUCT,
    ObjectType.STGCLASS,
    ObjectType.NAMELIST,
    ObjectType.PROCESS,
    ObjectType.QLOCAL,
    ObjectType.QMODEL,
    ObjectType.QREMOTE,
    ObjectType.QALIAS,
    ObjectType.TOPIC,
    ObjectType.CHANNEL,
    ObjectType.LISTENER,
    ObjectType.SERVICE,
    ObjectType.SUB,
    ObjectType.CHLAUTH,
    ObjectType.AUTHREC,
)
_BEHIND_SUBSCRIPTIONS: Final = (ObjectType.CHLAUTH, ObjectType.AUTHREC)
_SUBTYPE: Final = {ObjectType.CHANNEL: "CHLTYPE", ObjectType.AUTHINFO: "AUTHTYPE", ObjectType.LISTENER: "TRPTYPE"}
_QUEUES: Final = (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL)
_OBJECTS: Final = frozenset(_ORDER) - {ObjectType.SUB, ObjectType.CHLAUTH, ObjectType.AUTHREC}
_SUPPLIED: Final = {(ObjectType.SUB, "SUBID"), (ObjectType.SUB, "SUBTYPE")}  # the queue manager assigns them
_SEQUENCED: Final = ("SDR", "SVR", "CLUSSDR")
_MODELS: Final = "SYSTEM.DEF"  # the prefix of default objects
_TEMPORARY: Final = "TEMPDYN"
_PERMANENT: Final = "PERMDYN"
_PROXY: Final = "PROXY"
_CLIENT: Final = "CLNTCONN"

# The values of -t and their object types; client channels are selected by subtype.
TYPES: Final[dict[str, tuple[ObjectType, ...]]] = {
    "all": _ORDER,
    "authinfo": (ObjectType.AUTHINFO,),
    "channel": (ObjectType.CHANNEL,),
    "chl": (ObjectType.CHANNEL,),
    "clntconn": (ObjectType.CHANNEL,),
    "comminfo": (ObjectType.COMMINFO,),
    "listener": (ObjectType.LISTENER,),
    "lstr": (ObjectType.LISTENER,),
    "mqttchl": (ObjectType.CHANNEL,),
    "namelist": (ObjectType.NAMELIST,),
    "nl": (ObjectType.NAMELIST,),
    "process": (ObjectType.PROCESS,),
    "prcs": (ObjectType.PROCESS,),
    "queue": _QUEUES,
    "q": _QUEUES,
    "qalias": (ObjectType.QALIAS,),
    "qlocal": (ObjectType.QLOCAL,),
    "qmodel": (ObjectType.QMODEL,),
    "qremote": (ObjectType.QREMOTE,),
    "qmgr": (ObjectType.QMGR,),
    "service": (ObjectType.SERVICE,),
    "srvc": (ObjectType.SERVICE,),
    "sub": (ObjectType.SUB,),
    "topic": (ObjectType.TOPIC,),
    "top": (ObjectType.TOPIC,),
}


class ScriptLayout(Enum):
    """The layout of the script; the values are those of dmpmqcfg -o."""

    MQSC = "mqsc"
    ONE_LINE = "1line"
    TWO_LINES = "2line"
    SETMQAUT = "setmqaut"
    GRANTMQAUT = "grantmqaut"


@dataclass(frozen=True)
class DumpOptions:
    """The options of a dump."""

    exports: frozenset[str] = frozenset(EXPORTS)
    type_word: str = "all"
    pattern: str = "*"
    shows_all: bool = False
    layout: ScriptLayout = ScriptLayout.MQSC
    sequence_number: int = 0  # of sending channels in the new queue manager; 0 for no reset

    @property
    def is_whole(self) -> bool:
        """Returns whether all objects are dumped, so that missing ones were deleted."""
        return self.type_word == "all" and self.pattern == "*" and OBJECTS in self.exports

    def wants(self, definition: Definition) -> bool:
        kind = definition.object_type
        if _export(kind) not in self.exports or kind not in TYPES[self.type_word] or _is_transient(definition):
            return False
        if kind == ObjectType.QMGR:
            return self.pattern == "*" or self.type_word == "qmgr"
        if not matches(_shown_name(definition), self.pattern):
            return False
        subtype = subtype_of(kind, definition.attributes)
        special = {"clntconn": _CLIENT, "mqttchl": "MQTT"}.get(self.type_word, "")
        return not special or subtype == special


def _export(kind: ObjectType) -> str:
    if kind == ObjectType.SUB:
        return SUBSCRIPTIONS
    if kind == ObjectType.CHLAUTH:
        return RULES
    return AUTHORITIES if kind == ObjectType.AUTHREC else OBJECTS


def _is_transient(definition: Definition) -> bool:
    """Returns whether a definition is not configuration: temporary and managed queues, and proxy subscriptions."""
    kind = definition.object_type
    if kind == ObjectType.QLOCAL:
        is_managed = definition.name.startswith(MANAGED_DURABLE) and _word(definition, "DEFTYPE") == _PERMANENT
        return is_managed or _word(definition, "DEFTYPE") == _TEMPORARY
    if kind == ObjectType.AUTHREC:
        return str(definition.attributes.get("PROFILE", "")).startswith(MANAGED_DURABLE)
    return kind == ObjectType.SUB and _word(definition, "SUBTYPE") == _PROXY


def _word(definition: Definition, name: str) -> str:
    attribute = find(definition.object_type, name)
    value = definition.attributes.get(name)
    words = () if attribute is None else attribute.words
    return next((word for word, number in words if number == value), "")


def _shown_name(definition: Definition) -> str:
    """Returns the name that -n matches: the channel profile of a rule, the profile of an authority record."""
    special = {ObjectType.CHLAUTH: "CHLAUTH", ObjectType.AUTHREC: "PROFILE"}.get(definition.object_type, "")
    value = definition.attributes.get(special, definition.name)
    return value if isinstance(value, str) else definition.name


# -- the script --------------------------------------------------------------------------------------------------------


def dump(
    definitions: Iterable[Definition],
    options: DumpOptions,
    default_rules: Sequence[Definition] = (),
    default_records: Sequence[Definition] = (),
    manager: str = "",
) -> Iterator[str]:
    """Yields the lines of the script. The defaults are the rules and records of a new queue manager."""
    kept = list(definitions)
    topics = {each.name for each in kept if each.object_type == ObjectType.TOPIC}
    chosen = sorted((_with_defaults(each, topics) for each in kept if options.wants(each)), key=_sort_key)
    if options.layout in (ScriptLayout.SETMQAUT, ScriptLayout.GRANTMQAUT):
        line = setmqaut_line if options.layout is ScriptLayout.SETMQAUT else grant_line
        yield from (line(each, manager) for each in chosen if each.object_type == ObjectType.AUTHREC)
        return
    for command in _script(kept, chosen, options, default_rules, default_records):
        yield from command_lines(command, options.layout.value)


def _with_defaults(definition: Definition, topics: set[str]) -> Definition:
    """Adds defaults to subscriptions of programs, and removes generated values from all subscriptions."""
    if definition.object_type != ObjectType.SUB:
        return definition
    attributes = {**_default_values(ObjectType.SUB, ""), **definition.attributes}
    if attributes.get("DESTCLAS") == mq.MQDC_MANAGED:
        attributes["DEST"] = attributes["DESTQMGR"] = ""
    if attributes.get("DESTCORL") == attributes.get("SUBID"):
        attributes["DESTCORL"] = ""  # the default
    whole = attributes.get(FULL_TOPIC)
    if whole and attributes.get("TOPICOBJ") not in topics:
        # Its topic object was deleted; the topic string stays.
        attributes["TOPICOBJ"] = ""
        attributes["TOPICSTR"] = whole
    return Definition(ObjectType.SUB, definition.name, attributes)


def _script(
    kept: list[Definition],
    chosen: list[Definition],
    options: DumpOptions,
    default_rules: Sequence[Definition],
    default_records: Sequence[Definition],
) -> Iterator[ScriptCommand]:
    """Yields the commands: queue manager, deletions, definitions, and removals of default rules and records."""
    changed = _changed_defaults(kept)
    closed = find_closed_topics(kept, chosen)
    for definition in chosen[:1]:
        if definition.object_type == ObjectType.QMGR:
            yield from _commands(closed.with_pubsub_enabled(definition), options, changed, ())
    if options.is_whole:
        yield from _deletions(kept)
    for definition in chosen:
        if definition.object_type not in (ObjectType.QMGR, ObjectType.SUB, *_BEHIND_SUBSCRIPTIONS):
            yield from _commands(definition, options, changed, default_records)
    yield from closed.commands_to_open()
    for definition in chosen:
        if definition.object_type == ObjectType.SUB:
            yield from _commands(definition, options, changed, default_records)
    yield from closed.commands_to_close()
    for definition in chosen:
        if definition.object_type in _BEHIND_SUBSCRIPTIONS:
            yield from _commands(definition, options, changed, default_records)
    if RULES in options.exports and options.pattern == "*" and options.type_word == "all":
        yield from _record_removals(kept, ObjectType.CHLAUTH, default_rules)
    if AUTHORITIES in options.exports and options.pattern == "*" and options.type_word == "all":
        yield from _record_removals(kept, ObjectType.AUTHREC, default_records)


def _sort_key(definition: Definition) -> tuple[int, bool, str, str]:
    """Sorts by type; default objects follow the objects that inherit from them."""
    kind = definition.object_type
    order = _ORDER.index(kind) if kind in _ORDER else len(_ORDER)
    return order, definition.name.startswith(_MODELS), definition.name, subtype_of(kind, definition.attributes)


def _commands(
    definition: Definition,
    options: DumpOptions,
    changed: dict[tuple[ObjectType, str], set[str]],
    records: Sequence[Definition],
) -> list[ScriptCommand]:
    kind = definition.object_type
    if kind == ObjectType.CHLAUTH:
        return [rule_command(definition, options.shows_all)]
    if kind == ObjectType.AUTHREC:
        return authority_commands(definition, records)
    subtype = subtype_of(kind, definition.attributes)
    command = ScriptCommand("ALTER QMGR", tail="" if kind != ObjectType.QMGR else "FORCE")
    if kind != ObjectType.QMGR:
        command = ScriptCommand(f"DEFINE {kind.value}({quoted(definition.name)})", tail="REPLACE")
    for attribute in _ordered(kind):
        value = definition.attributes.get(attribute.name)
        if value is None or not has(attribute, subtype) or attribute.name == kind.value:
            continue
        _add(command, definition, attribute, value, options.shows_all, changed.get((kind, subtype), set()))
    commands = [command]
    if options.sequence_number and subtype in _SEQUENCED and kind == ObjectType.CHANNEL:
        reset = ScriptCommand(f"RESET CHANNEL({quoted(definition.name)})")
        reset.items.append(f"SEQNUM({options.sequence_number})")
        commands.append(reset)
    # An ALTER without attributes is left out.
    return [each for each in commands if each.items or each.head != "ALTER QMGR"]


def _ordered(kind: ObjectType) -> list[Attribute]:
    """Returns attributes in alphabetical order, after the one with the subtype."""
    first = _SUBTYPE.get(kind, "")
    return sorted(attributes_of(kind), key=lambda attribute: (attribute.name != first, attribute.name))


def _add(
    command: ScriptCommand,
    definition: Definition,
    attribute: Attribute,
    value: Value,
    shows_all: bool,
    changed: set[str],
) -> None:
    kind = definition.object_type
    is_open = attribute.at_alter if kind == ObjectType.QMGR else attribute.at_define
    is_open = is_open and (kind, attribute.name) not in _SUPPLIED
    items, problem = attribute_items(attribute, value)
    if problem:
        command.notes.append(problem)
    elif attribute.shown == Shown.MASKED:
        if value:
            command.notes += [*items, f"{attribute.name} is a secret that is not written: give it again by hand."]
    elif not is_open:
        if shows_all:
            command.notes += items
    elif shows_all or attribute.name in changed or _differs_from_default(kind, definition, attribute, value):
        command.items += items


def _differs_from_default(kind: ObjectType, definition: Definition, attribute: Attribute, value: Value) -> bool:
    """Returns whether a new object would have another value."""
    # Without SUBUSER a subscription would belong to the user who runs the script.
    if attribute.name == _SUBTYPE.get(kind) or (kind, attribute.name) == (ObjectType.SUB, "SUBUSER"):
        return True
    return value != _default_values(kind, subtype_of(kind, definition.attributes)).get(attribute.name)


@cache
def _default_values(kind: ObjectType, subtype: str) -> dict[str, Value]:
    """Returns the default values, cached as each attribute of each object needs them."""
    return defaults(kind, subtype)


def _changed_defaults(definitions: Iterable[Definition]) -> dict[tuple[ObjectType, str], set[str]]:
    """Returns the changed attributes of default objects, by type and subtype. DESCR is not inherited."""
    changed: dict[tuple[ObjectType, str], set[str]] = {}
    for definition in definitions:
        if not definition.name.startswith(_MODELS):
            continue
        kind = definition.object_type
        subtype = subtype_of(kind, definition.attributes)
        usual = defaults(kind, subtype)
        differing = {name for name, value in definition.attributes.items() if usual.get(name) != value}
        changed.setdefault((kind, subtype), set()).update(differing - {"DESCR"})
    return changed


# -- deletions ---------------------------------------------------------------------------------------------------------


def _key(definition: Definition) -> tuple[ObjectType, str, bool]:
    subtype = subtype_of(definition.object_type, definition.attributes)
    return definition.object_type, definition.name, subtype == _CLIENT


def _deletions(definitions: list[Definition]) -> list[ScriptCommand]:
    """Returns commands that delete the objects of a new queue manager that this one lacks."""
    there = {_key(definition) for definition in definitions}
    commands: list[ScriptCommand] = []
    for each in system_definitions():
        kind, name, is_client = _key(each)
        if kind not in _OBJECTS or (kind, name, is_client) in there:
            continue
        command = ScriptCommand(f"DELETE {kind.value}({quoted(name)})")
        command.items += [*(["CHLTABLE(CLNTTBL)"] if is_client else []), "IGNSTATE(YES)"]
        commands.append(command)
    return commands


def _record_removals(
    definitions: list[Definition], kind: ObjectType, usual: Sequence[Definition]
) -> list[ScriptCommand]:
    there = {definition.name for definition in definitions if definition.object_type == kind}
    gone = [each for each in usual if each.name not in there]
    if kind == ObjectType.CHLAUTH:
        return [command for each in gone for command in rule_removal_commands(each)]
    return [command for each in gone for command in authority_commands(each, (), removes=True)]
