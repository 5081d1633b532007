"""An object's definition: its type, its name and its attributes.

A definition is immutable; a change makes a new one. Its encoding is self-describing, so that a later release reads it:
a version, the type, the name, and each attribute with its MQSC name and value.
"""

from __future__ import annotations

from typing import Final, final

from ostler.model import constants as mq
from ostler.model.attributes import (
    ObjectType,
    Value,
    attributes_of,
    check,
    defaults,
    find,
    has,
    has_subtypes,
    require,
    subtype_of,
    to_text,
)
from ostler.model.definition_rules import check_name, check_rules
from ostler.model.errors import MQError

VERSION: Final = 1
_INTEGER: Final = 0
_TEXT: Final = 1
_LIST: Final = 2
_TEXT_BYTES_MAX: Final = 0xFFFF

# A look-up of an enumeration by its value is slower, and there may be many definitions.
_TYPES: Final[dict[str, ObjectType]] = {each.value: each for each in ObjectType}

# Attributes that the queue manager sets itself.
_STAMPS: Final = ("CRDATE", "CRTIME", "ALTDATE", "ALTTIME")


@final
class Definition:
    """The definition of one object. `attributes` is keyed by MQSC name and must not be changed in place."""

    def __init__(self, object_type: ObjectType, name: str, attributes: dict[str, int | str | tuple[str, ...]]) -> None:
        self.object_type: ObjectType = object_type
        self.name: str = name
        self.attributes: dict[str, int | str | tuple[str, ...]] = attributes

    def __repr__(self) -> str:
        return f"<{self.object_type.value} {self.name}>"

    def with_changes(self, changes: dict[str, Value], date: str = "", time: str = "") -> Definition:
        """Return the definition with some attributes changed and checked. Raises MQError.

        A date (yyyy-mm-dd) and a time (hh.mm.ss) become ALTDATE and ALTTIME.
        """
        attributes = dict(self.attributes)
        subtype = subtype_of(self.object_type, attributes)
        for given, value in changes.items():
            attribute = require(self.object_type, given)
            if not has(attribute, subtype):
                raise MQError(mq.MQRCCF_KWD_VALUE_WRONG_TYPE, f"{attribute.name} does not belong to {subtype}.")
            checked = check(attribute, value)
            fixed = not attribute.at_alter and attribute.name not in _STAMPS
            if fixed and attributes.get(attribute.name) != checked:
                raise MQError(mq.MQRCCF_ATTR_VALUE_FIXED, f"{attribute.name} cannot be altered.")
            attributes[attribute.name] = checked
        _stamp(attributes, "ALTDATE", "ALTTIME", date, time)
        check_rules(self.object_type, self.name, attributes)
        return Definition(self.object_type, self.name, attributes)

    def encode(self) -> bytes:
        """Return the definition as bytes, for the log and the catalogue."""
        parts: list[bytes] = [bytes((VERSION,))]
        add_text(parts, self.object_type.value)
        add_text(parts, self.name)
        add_attributes(parts, self.attributes)
        return b"".join(parts)

    @staticmethod
    def decode(data: bytes) -> Definition:
        """Decode the bytes of `encode`. Unknown attributes are kept. Raises ValueError."""
        reader = AttributeReader(data, "definition")
        version = reader.integer(1)
        if version != VERSION:
            raise ValueError(f"a definition of version {version}; this release reads version {VERSION}")
        word = reader.text()
        object_type = _TYPES.get(word)
        if object_type is None:
            raise ValueError(f"a definition of a type {word[:48]!r} that this release does not know")
        name = reader.text()
        return Definition(object_type, name, reader.attributes())


@final
class AttributeReader:
    """Reads encoded texts and attributes with checks of their bounds. Raises ValueError."""

    def __init__(self, data: bytes, what: str) -> None:
        self.data: bytes = data
        self.what: str = what  # for the texts of errors
        self.at: int = 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise ValueError(f"a {self.what} cut off at byte {len(self.data)}")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def integer(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def text(self) -> str:
        return self.take(self.integer(2)).decode("utf-8")

    def value(self) -> int | str | tuple[str, ...]:
        kind = self.integer(1)
        if kind == _INTEGER:
            return int.from_bytes(self.take(8), "little", signed=True)
        if kind == _TEXT:
            return self.text()
        if kind == _LIST:
            return tuple([self.text() for _ in range(self.integer(2))])
        raise ValueError(f"a value of unknown kind {kind} before byte {self.at}")

    def attributes(self) -> dict[str, int | str | tuple[str, ...]]:
        """Return all attributes, which are the last of the data."""
        found: dict[str, int | str | tuple[str, ...]] = {}
        for _ in range(self.integer(2)):
            key = self.text()
            if key in found:
                raise ValueError(f"a {self.what} with {key} twice")
            found[key] = self.value()
        if self.at != len(self.data):
            raise ValueError(f"{len(self.data) - self.at} bytes behind the end of a {self.what}")
        return found


def add_text(parts: list[bytes], text: str) -> None:
    data = text.encode("utf-8")
    if len(data) > _TEXT_BYTES_MAX:
        raise ValueError(f"a text of {len(data)} bytes among attributes")
    parts.append(len(data).to_bytes(2, "little"))
    parts.append(data)


def add_attributes(parts: list[bytes], attributes: dict[str, int | str | tuple[str, ...]]) -> None:
    parts.append(len(attributes).to_bytes(2, "little"))
    for name, value in attributes.items():
        add_text(parts, name)
        if isinstance(value, tuple):
            parts.append(bytes((_LIST,)))
            parts.append(len(value).to_bytes(2, "little"))
            for item in value:
                add_text(parts, item)
        elif isinstance(value, str):
            parts.append(bytes((_TEXT,)))
            add_text(parts, value)
        else:
            parts.append(bytes((_INTEGER,)))
            parts.append(value.to_bytes(8, "little", signed=True))


def new_definition(
    object_type: ObjectType,
    name: str,
    given: dict[str, Value],
    like: Definition | None = None,
    date: str = "",
    time: str = "",
) -> Definition:
    """Return a new definition: MQ's defaults, overridden by those of `like`, overridden by the given values.

    Checks each value, and all together. Raises MQError.
    """
    if like is not None and like.object_type != object_type:
        raise MQError(mq.MQRCCF_LIKE_OBJECT_WRONG_TYPE, f"{like.name} is not a {object_type.value}.")
    check_name(object_type, name)
    checked: dict[str, Value] = {}
    for key, value in given.items():
        attribute = require(object_type, key)
        checked[attribute.name] = check(attribute, value)
        if not attribute.at_define and attribute.name not in _STAMPS and checked[attribute.name] != attribute.default:
            raise MQError(mq.MQRCCF_ATTR_VALUE_FIXED, f"{attribute.name} cannot be given.")
    subtype = _subtype(object_type, checked, like)
    attributes = defaults(object_type, subtype)
    if like is not None:
        for key, value in like.attributes.items():
            known = find(object_type, key)
            if known is not None and known.at_define and has(known, subtype):
                attributes[key] = value
    for key, value in checked.items():
        known = find(object_type, key)
        if known is not None and not has(known, subtype):
            raise MQError(mq.MQRCCF_KWD_VALUE_WRONG_TYPE, f"{key} does not belong to {subtype}.")
        attributes[key] = value
    if object_type == ObjectType.QMGR:
        attributes["QMNAME"] = name
    if find(object_type, "CRDATE") is not None:
        _stamp(attributes, "CRDATE", "CRTIME", date, time)
    _stamp(attributes, "ALTDATE", "ALTTIME", date, time)
    check_rules(object_type, name, attributes)
    return Definition(object_type, name, attributes)


def _subtype(object_type: ObjectType, given: dict[str, Value], like: Definition | None) -> str:
    subtype = subtype_of(object_type, given)
    if not subtype and like is not None:
        subtype = subtype_of(object_type, like.attributes)
    if not subtype:
        subtype = subtype_of(object_type, defaults(object_type))
    if not subtype and has_subtypes(object_type):
        raise MQError(mq.MQRCCF_PARM_MISSING, f"A {object_type.value} needs a type.")
    return subtype


def _stamp(attributes: dict[str, Value], date_name: str, time_name: str, date: str, time: str) -> None:
    if date:
        attributes[date_name] = date
    if time:
        attributes[time_name] = time


def describe(definition: Definition) -> list[tuple[str, str]]:
    """Return the attributes in the order of the table, each with its value as MQSC text."""
    shown: list[tuple[str, str]] = []
    for attribute in attributes_of(definition.object_type):
        value = definition.attributes.get(attribute.name)
        if value is not None:
            shown.append((attribute.name, to_text(attribute, value)))
    return shown
