"""Look-up of attributes, checks of values, and conversion of values to MQSC text and back.

Everything is derived from the attribute table. A value is an int (a number, or the PCF number of a word), a str without
trailing blanks, or a tuple of str.
"""

from __future__ import annotations

from typing import Final

from ostler.model import constants as mq
from ostler.model.attribute_types import Attribute, ObjectType, Shown, Value, ValueKind
from ostler.model.errors import MQError
from ostler.model.tables.attributes import ATTRIBUTES

__all__ = [
    "Attribute",
    "ObjectType",
    "Shown",
    "Value",
    "ValueKind",
    "attributes_of",
    "by_pcf",
    "check",
    "defaults",
    "find",
    "from_text",
    "has",
    "has_subtypes",
    "ignored",
    "require",
    "subtype_of",
    "to_text",
    "valid_name",
]

_NAME_CHARACTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./_%")
_HEXADECIMAL: Final = frozenset("0123456789ABCDEF")
_STARRED: Final = "*" * 8


def _index() -> tuple[
    dict[ObjectType, list[Attribute]], dict[ObjectType, dict[str, Attribute]], dict[ObjectType, dict[int, Attribute]]
]:
    rows: dict[ObjectType, list[Attribute]] = {}
    names: dict[ObjectType, dict[str, Attribute]] = {}
    numbers: dict[ObjectType, dict[int, Attribute]] = {}
    for object_type in ObjectType:
        rows[object_type] = []
        names[object_type] = {}
        numbers[object_type] = {}
    for attribute in ATTRIBUTES:
        rows[attribute.object_type].append(attribute)
        named = names[attribute.object_type]
        for name in (attribute.name, *attribute.synonyms):
            named.setdefault(name, attribute)
        if attribute.pcf:
            numbers[attribute.object_type].setdefault(attribute.pcf, attribute)
    for attribute in ATTRIBUTES:
        if attribute.kind == ValueKind.FLAG:
            for word, _ in attribute.words:
                names[attribute.object_type].setdefault(word, attribute)
    return rows, names, numbers


_ROWS, _NAMES, _NUMBERS = _index()

# The attribute that holds the subtype of an object.
_SUBTYPED: Final = {
    ObjectType.CHANNEL: "CHLTYPE",
    ObjectType.AUTHINFO: "AUTHTYPE",
    ObjectType.CHLAUTH: "TYPE",
    ObjectType.LISTENER: "TRPTYPE",
}


def attributes_of(object_type: ObjectType) -> list[Attribute]:
    """Return all attributes of an object type, in the order of the table, in a new list."""
    return list(_ROWS[object_type])


def find(object_type: ObjectType, name: str) -> Attribute | None:
    """Return an attribute by its name, a synonym, or a word of a flag such as NOSHARE; None when there is none."""
    return _NAMES[object_type].get(name.upper())


def by_pcf(object_type: ObjectType, pcf: int) -> Attribute | None:
    """Return an attribute by its PCF parameter, which is also its selector in MQINQ; None when there is none."""
    return _NUMBERS[object_type].get(pcf)


def require(object_type: ObjectType, name: str) -> Attribute:
    """Return an attribute by name. Raises MQError when the object type has none of that name."""
    attribute = find(object_type, name)
    if attribute is None:
        raise MQError(mq.MQRCCF_CFIN_PARM_ID_ERROR, f"{object_type.value} has no attribute {name}.")
    return attribute


def has(attribute: Attribute, subtype: str) -> bool:
    """Return True when objects of this subtype have the attribute."""
    return not attribute.subtypes or not subtype or subtype in attribute.subtypes


def defaults(object_type: ObjectType, subtype: str = "") -> dict[str, Value]:
    """Return the default values of a new object.

    Attributes of z/OS have no default: they are stored when they are given.
    """
    values: dict[str, Value] = {}
    for attribute in _ROWS[object_type]:
        if attribute.zos_only or not has(attribute, subtype):
            continue
        value = attribute.default
        for special, other in attribute.subtype_defaults:
            if special == subtype:
                value = other
        if value is not None:
            values[attribute.name] = value
    return values


def ignored(object_type: ObjectType, given: dict[str, Value]) -> list[str]:
    """Return the given values that are stored but have no effect, in MQSC's form, without defaults."""
    found: list[str] = []
    name = find(object_type, object_type.value)
    if name is not None and name.is_ignored:
        found.append(object_type.value)
    usual = defaults(object_type, subtype_of(object_type, given))
    for keyword, value in given.items():
        attribute = find(object_type, keyword)
        if attribute is None or value == usual.get(keyword, attribute.default):
            continue
        text = to_text(attribute, value)
        if attribute.is_ignored or text in attribute.ignored_words:
            found.append(text if attribute.kind == ValueKind.FLAG else f"{keyword}({text})")
    return found


def has_subtypes(object_type: ObjectType) -> bool:
    """Return True for an object type with subtypes, such as channels with CHLTYPE."""
    return object_type in _SUBTYPED


def subtype_of(object_type: ObjectType, values: dict[str, Value]) -> str:
    """Return the subtype in the values as its MQSC word, such as SDR; empty without subtypes."""
    key = _SUBTYPED.get(object_type)
    if key is None:
        return ""
    value = values.get(key)
    attribute = find(object_type, key)
    if value is None or attribute is None:
        return ""
    return to_text(attribute, value)


def valid_name(name: str, length_max: int = 48) -> bool:
    """Return True for a valid object name: MQ's character set, neither empty nor too long."""
    return 0 < len(name) <= length_max and all(character in _NAME_CHARACTERS for character in name)


# -- checks ------------------------------------------------------------------------------------------------------------


def check(attribute: Attribute, value: Value) -> Value:
    """Return the value as it is stored. Raises MQError with the attribute's reason.

    A word of the attribute may be given instead of its number.
    """
    kind = attribute.kind
    if kind in (ValueKind.INTEGER, ValueKind.ENUM, ValueKind.FLAG, ValueKind.OPTIONS):
        return _check_number(attribute, value)
    if kind in (ValueKind.STRINGS, ValueKind.NAMES, ValueKind.WORDS, ValueKind.INTEGERS):
        return _check_list(attribute, value)
    if not isinstance(value, str):
        raise _refused(attribute, value, "is not text")
    text = value.rstrip(" ")
    _check_item(attribute, text)
    return text


def _check_number(attribute: Attribute, value: Value) -> int:
    number = -1
    if isinstance(value, str):
        for word, meaning in attribute.words:
            if word == value:
                return meaning
        raise _refused(attribute, value, "is not one of its words")
    if isinstance(value, bool) or not isinstance(value, int):
        raise _refused(attribute, value, "is not a number")
    number = value
    for _, meaning in attribute.words:
        if meaning == number:
            return number
    if attribute.kind == ValueKind.INTEGER:
        if attribute.low <= number <= attribute.high:
            return number
        raise _refused(attribute, value, f"is not between {attribute.low} and {attribute.high}")
    if attribute.kind == ValueKind.OPTIONS:
        allowed = 0
        for _, meaning in attribute.words:
            allowed |= meaning
        if number >= 0 and number & ~allowed == 0:
            return number
    raise _refused(attribute, value, "is not one of its values")


def _check_list(attribute: Attribute, value: Value) -> tuple[str, ...]:
    if isinstance(value, str):
        value = (value,) if value.strip(" ") else ()
    if not isinstance(value, tuple):
        raise _refused(attribute, value, "is not a list")
    if len(value) > attribute.items_max:
        raise MQError(
            mq.MQRCCF_CFSL_COUNT_ERROR, f"{attribute.name} takes {attribute.items_max} items, not {len(value)}."
        )
    items: list[str] = []
    for item in value:
        if not isinstance(item, str):
            raise _refused(attribute, value, "holds something that is not text")
        text = item.rstrip(" ")
        _check_item(attribute, text)
        items.append(text)
    return tuple(items)


def _check_item(attribute: Attribute, text: str) -> None:
    """Check one text, or one item of a list, without its trailing blanks."""
    kind = attribute.kind
    if kind == ValueKind.WORDS:
        if not any(word == text for word, _ in attribute.words):
            raise _refused(attribute, text, "is not one of its words")
    elif kind == ValueKind.INTEGERS:
        if not text.lstrip("-").isdecimal() or not text.isascii() or text.count("-") > text.startswith("-"):
            raise _refused(attribute, text, "is not a number")
    elif kind == ValueKind.DATE:
        if text and not _is_pattern(text, "dddd-dd-dd"):
            raise _refused(attribute, text, "is not a date, yyyy-mm-dd")
    elif kind == ValueKind.TIME:
        if text and not _is_pattern(text, "dd.dd.dd"):
            raise _refused(attribute, text, "is not a time, hh.mm.ss")
    elif kind == ValueKind.HEX:
        if len(text) % 2 or not all(character in _HEXADECIMAL for character in text):
            raise _refused(attribute, text, "is not hexadecimal")
        _check_length(attribute, len(text) // 2)
    else:
        _check_length(attribute, _bytes_of(attribute, text))
        if kind in (ValueKind.NAME, ValueKind.NAMES) and text and not valid_name(text, attribute.length_max):
            raise MQError(mq.MQRCCF_OBJECT_NAME_ERROR, f"{text!r} for {attribute.name} is not a valid name.")


def _bytes_of(attribute: Attribute, text: str) -> int:
    """Return the length of a text in bytes. Raises MQError for text that cannot be encoded."""
    if "\0" in text:
        raise _refused(attribute, text, "holds a null character")
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise _refused(attribute, text, "holds an invalid character") from None


def _check_length(attribute: Attribute, length: int) -> None:
    if length > attribute.length_max:
        raise MQError(
            mq.MQRCCF_CFST_STRING_LENGTH_ERR, f"{attribute.name} takes {attribute.length_max} bytes, not {length}."
        )


def _is_pattern(text: str, pattern: str) -> bool:
    """Return True when a text has a digit for every d of the pattern and is otherwise the same."""
    if len(text) != len(pattern):
        return False
    for at, wanted in enumerate(pattern):
        if wanted == "d":
            if text[at] not in "0123456789":
                return False
        elif text[at] != wanted:
            return False
    return True


def _refused(attribute: Attribute, value: object, why: str) -> MQError:
    shown = _STARRED if attribute.shown == Shown.MASKED else repr(value)[:80]
    return MQError(attribute.value_error, f"{attribute.name}({shown}): the value {why}.")


# -- text --------------------------------------------------------------------------------------------------------------


def to_text(attribute: Attribute, value: Value) -> str:
    """Return a value as MQSC text inside the parentheses; a flag as its word; lists with commas."""
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, str):
        return _STARRED if attribute.shown == Shown.MASKED and value else value
    for word, meaning in attribute.words:
        if meaning == value:
            return word
    if attribute.kind == ValueKind.OPTIONS:
        return ",".join([word for word, meaning in attribute.words if meaning and value & meaning == meaning])
    return str(value)


def from_text(attribute: Attribute, text: str) -> Value:
    """Return the value of MQSC text inside the parentheses, checked. Words must be in upper case."""
    kind = attribute.kind
    if kind in (ValueKind.STRINGS, ValueKind.NAMES, ValueKind.WORDS, ValueKind.INTEGERS):
        items = [item.strip() for item in text.split(",")] if text.strip() else []
        return check(attribute, tuple(items))
    if kind == ValueKind.OPTIONS:
        total = 0
        for item in text.split(","):
            number = check(attribute, item.strip())
            assert isinstance(number, int)
            total |= number
        return total
    if kind == ValueKind.INTEGER:
        digits = text.strip()
        if digits.lstrip("+-").isdecimal() and digits.isascii():
            try:
                return check(attribute, int(digits))
            except ValueError:
                raise _refused(attribute, text, "is not a number") from None
        return check(attribute, digits)
    if kind == ValueKind.HEX:
        return check(attribute, text.strip().upper())
    return check(attribute, text)
