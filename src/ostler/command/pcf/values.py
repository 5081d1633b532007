"""Converts attributes to PCF parameters and back. The structure follows from parameter number and kind."""

from __future__ import annotations

from typing import Final

from ostler.command.pcf.errors import bad_parameter
from ostler.model import constants as mq
from ostler.model.attributes import Attribute, Shown, Value, ValueKind, check, to_text
from ostler.model.errors import MQError
from ostler.model.pcf import (
    ByteString,
    Integer,
    Integer64,
    Integer64List,
    IntegerList,
    Parameter,
    String,
    StringList,
)

# Texts up to this length are padded with blanks; longer ones, such as topic strings, are not.
_PADDED_MAX: Final = 264
_LISTS: Final = (ValueKind.STRINGS, ValueKind.NAMES, ValueKind.WORDS, ValueKind.INTEGERS)
_INTEGER_MAX: Final = 2**31 - 1
# Byte counts wrap at 999999999, as in MQ.
_COUNTS: Final = 1_000_000_000
# Numbers that MQSC shows as words that are not in the attribute table.
_SWITCHES: Final = {"NO": "0", "YES": "1"}
# The reason for a parameter in the wrong structure.
PARAMETER_REASONS: Final[dict[type[object], int]] = {
    Integer: mq.MQRCCF_CFIN_PARM_ID_ERROR,
    Integer64: mq.MQRCCF_CFIN_PARM_ID_ERROR,
    String: mq.MQRCCF_CFST_PARM_ID_ERROR,
    IntegerList: mq.MQRCCF_CFIL_PARM_ID_ERROR,
    Integer64List: mq.MQRCCF_CFIL_PARM_ID_ERROR,
    StringList: mq.MQRCCF_CFSL_PARM_ID_ERROR,
    ByteString: mq.MQRCCF_CFBS_PARM_ID_ERROR,
}


def padded(text: str, length: int) -> str:
    """Returns a text padded with blanks to a number of bytes."""
    return text + " " * (length - len(text.encode("utf-8", "replace")))


def text_parameter(parameter: int, text: str, length: int) -> String:
    """Returns a text parameter, padded as MQ does."""
    return String(parameter, padded(text, length) if length <= _PADDED_MAX else text)


def names_parameter(parameter: int, names: list[str], length: int) -> StringList:
    return StringList(parameter, tuple(padded(name, length) for name in names))


def parameter_of(attribute: Attribute, value: Value) -> Parameter | None:
    """Returns an attribute as a parameter; None if PCF has none for it."""
    number = attribute.pcf
    if mq.MQIA_FIRST <= number <= mq.MQIA_LAST:
        if attribute.kind in (ValueKind.WORDS, ValueKind.INTEGERS):
            items = value if isinstance(value, tuple) else (value,)
            return IntegerList(number, tuple(min(_integer(attribute, item), _INTEGER_MAX) for item in items))
        if attribute.high > _INTEGER_MAX:
            return Integer(number, _integer(attribute, value) % _COUNTS)
        return Integer(number, min(_integer(attribute, value), _INTEGER_MAX))
    if mq.MQCA_FIRST <= number <= mq.MQCA_LAST:
        if attribute.kind in (ValueKind.STRINGS, ValueKind.NAMES):
            items = value if isinstance(value, tuple) else (str(value),)
            return names_parameter(number, [str(item) for item in items], attribute.length_max)
        return text_parameter(number, to_text(attribute, value), attribute.length_max)
    if number:
        return ByteString(number, _bytes(str(value)))
    return None


def _integer(attribute: Attribute, value: Value) -> int:
    if isinstance(value, str):
        for word, number in attribute.words:
            if word == value:
                return number
        digits = _SWITCHES.get(value, value.strip())
        if not digits.lstrip("-").isdecimal():
            return mq.MQMON_NOT_AVAILABLE
        value = int(digits)
    assert isinstance(value, int)
    return value


def _bytes(text: str) -> bytes:
    """Parses bytes that MQSC shows in hexadecimal, or as two numbers with a point between."""
    high, point, low = text.partition(".")
    try:
        if point:
            return int(high).to_bytes(8, "big") + int(low).to_bytes(8, "big")
        return bytes.fromhex(text)
    except (ValueError, OverflowError):
        return b""


def value_of(attribute: Attribute, item: Parameter) -> Value:
    """Returns the checked value of a parameter for an attribute."""
    raw = _raw(attribute, item)
    if attribute.shown == Shown.NEVER:
        raise bad_parameter(PARAMETER_REASONS[type(item)], item.parameter)
    try:
        return check(attribute, raw)
    except MQError as error:
        reason = error.reason
        if reason == mq.MQRCCF_CFST_STRING_LENGTH_ERR and isinstance(item, ByteString):
            reason = mq.MQRCCF_CFBS_STRING_LENGTH_ERR
        raise bad_parameter(reason, item.parameter) from None


def _raw(attribute: Attribute, item: Parameter) -> Value:
    number = attribute.pcf
    is_list = attribute.kind in _LISTS
    if isinstance(item, Integer) and mq.MQIA_FIRST <= number <= mq.MQIA_LAST:
        if not is_list:
            return item.value
        return (_word(attribute, item.value),)
    if isinstance(item, IntegerList) and is_list and mq.MQIA_FIRST <= number <= mq.MQIA_LAST:
        return tuple(_word(attribute, value) for value in item.values)
    if isinstance(item, String) and mq.MQCA_FIRST <= number <= mq.MQCA_LAST:
        return item.value if not is_list else (item.value,)
    if isinstance(item, StringList) and is_list and mq.MQCA_FIRST <= number <= mq.MQCA_LAST:
        return tuple(value for value in item.values if value)
    if isinstance(item, ByteString) and not mq.MQIA_FIRST <= number <= mq.MQCA_LAST:
        return item.value.hex().upper()
    raise bad_parameter(PARAMETER_REASONS.get(type(item), mq.MQRCCF_CFIN_PARM_ID_ERROR), item.parameter)


def _word(attribute: Attribute, number: int) -> str:
    """Returns the word of a number in a list of words; the number as text if it has none."""
    for word, meaning in attribute.words:
        if meaning == number:
            return word
    return str(number)
