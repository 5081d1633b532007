"""Objects by their MQSC names and words: define, alter, delete, clear, display. Call under the engine's lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Final

from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model.attributes import (
    Attribute,
    ObjectType,
    Value,
    ValueKind,
    attributes_of,
    check,
    from_text,
    require,
    to_text,
)
from ostler.model.constants import MQRC_OBJECT_TYPE_ERROR, MQRC_UNKNOWN_OBJECT_NAME
from ostler.model.definitions import Definition, new_definition
from ostler.model.errors import MQError

Given = int | str | bool | Sequence[str]
"""A value of an attribute as programs write it: a number, a word or text, True or False, a list."""

_NUMBERS: Final = (ValueKind.INTEGER, ValueKind.ENUM, ValueKind.FLAG, ValueKind.OPTIONS)
_YES: Final = ("YES", "ENABLED", "ON")
_NO: Final = ("NO", "DISABLED", "OFF")
# What a new object is like, unless something else is said.
_DEFAULT_OBJECTS: Final = {
    ObjectType.QLOCAL: "SYSTEM.DEFAULT.LOCAL.QUEUE",
    ObjectType.QALIAS: "SYSTEM.DEFAULT.ALIAS.QUEUE",
    ObjectType.QREMOTE: "SYSTEM.DEFAULT.REMOTE.QUEUE",
    ObjectType.QMODEL: "SYSTEM.DEFAULT.MODEL.QUEUE",
    ObjectType.PROCESS: "SYSTEM.DEFAULT.PROCESS",
    ObjectType.NAMELIST: "SYSTEM.DEFAULT.NAMELIST",
}
_ANY_QUEUE: Final = "QUEUE"


def object_type(word: str) -> ObjectType:
    """The type that MQSC calls by this word."""
    try:
        return ObjectType(word.upper())
    except ValueError:
        raise MQError(MQRC_OBJECT_TYPE_ERROR, f"There are no objects of type {word!r}.") from None


def values(kind: ObjectType, given: Mapping[str, Given]) -> dict[str, Value]:
    """Attributes as the engine keeps them, each checked."""
    return {require(kind, name).name: _value(require(kind, name), value) for name, value in given.items()}


def _value(attribute: Attribute, given: Given) -> Value:
    if isinstance(given, bool):
        return _switched(attribute, given)
    if isinstance(given, str):
        return from_text(attribute, given.upper()) if attribute.kind in _NUMBERS else check(attribute, given)
    if isinstance(given, int):
        return check(attribute, given)
    return check(attribute, tuple(given))


def _switched(attribute: Attribute, on: bool) -> Value:
    """True and False, where an attribute has words for them: SHARE and NOSHARE, YES and NO, ENABLED and DISABLED."""
    words = [word for word, _ in attribute.words]
    if attribute.kind == ValueKind.FLAG:
        wanted = [word for word in words if (not word.startswith("NO")) == on]
    else:
        wanted = [word for word in words if word in (_YES if on else _NO)]
    return check(attribute, wanted[0] if len(wanted) == 1 else int(on))


def define(
    engine: Engine, kind: ObjectType, name: str, given: Mapping[str, Given], like: str | None, replace: bool
) -> int:
    """Make an object; the LSN behind its record."""
    if replace and objects.find(engine, kind, name) is not None and like is None:
        return alter(engine, kind, name, given)
    model = _model(engine, kind, like)
    attributes = values(kind, given)
    if model is not None and like is None and "DESCR" in model.attributes:
        attributes.setdefault("DESCR", "")
    return objects.define(engine, new_definition(kind, name, attributes, model, *_now(engine)), replace)


def _model(engine: Engine, kind: ObjectType, like: str | None) -> Definition | None:
    if like is None:
        return engine.of_type(kind).get(_DEFAULT_OBJECTS.get(kind, ""))
    return _existing(engine, kind, like)


def _existing(engine: Engine, kind: ObjectType, name: str) -> Definition:
    found = objects.find(engine, kind, name)
    if found is None:
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"There is no {kind.value} called {name}.")
    return found


def _now(engine: Engine) -> tuple[str, str]:
    moment = datetime.fromtimestamp(engine.now_ms / 1000, UTC)
    return moment.strftime("%Y-%m-%d"), moment.strftime("%H.%M.%S")


def alter(engine: Engine, kind: ObjectType, name: str, given: Mapping[str, Given]) -> int:
    """Change attributes of an object; the LSN behind the record."""
    existing = _existing(engine, kind, name)
    return objects.change(engine, existing.altered(values(kind, given), *_now(engine)))


def display(engine: Engine, word: str, pattern: str, names: Sequence[str]) -> list[dict[str, Value]]:
    """Objects whose names match, with NAME, TYPE and the attributes asked for, or all of them."""
    kinds = objects.QUEUE_TYPES if word.upper() == _ANY_QUEUE else (object_type(word),)
    shown: list[dict[str, Value]] = []
    for kind in kinds:
        found = [engine.manager] if kind == ObjectType.QMGR else list(engine.of_type(kind).values())
        matching = [definition for definition in found if _matches(definition.name, pattern)]
        shown += [_shown(engine, definition, names, len(kinds) > 1) for definition in matching]
    if not shown and "*" not in pattern:
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"There is no {word.upper()} called {pattern}.")
    return sorted(shown, key=lambda row: str(row["NAME"]))


def _matches(name: str, pattern: str) -> bool:
    """MQSC's only wildcard is the asterisk; what else has a meaning to fnmatch cannot stand in a name."""
    return name == pattern or fnmatchcase(name, pattern)


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
    """An attribute as programs read it: numbers as numbers, words as words; None for what the object does not have."""
    attribute = require(definition.object_type, name)
    live = _live(engine, definition, attribute.name)
    if live is not None:
        return live
    value = definition.attributes.get(attribute.name)
    if not isinstance(value, int):
        return value
    text = to_text(attribute, value)
    return value if text == str(value) else text


def _live(engine: Engine, definition: Definition, name: str) -> int | None:
    if definition.object_type != ObjectType.QLOCAL or definition.name not in engine.queues:
        return None
    queue = engine.queues[definition.name]
    if name == "CURDEPTH":
        return queue.depth
    if name == "IPPROCS":
        return queue.inputs
    return queue.outputs if name == "OPPROCS" else None
