"""Data types of message properties: allowed values and conversions.

The rules are those of MQSETMP and MQINQMP: numbers widen but never narrow, everything converts to a string, and a
string converts to a number or a boolean if it is written like one.
"""

from __future__ import annotations

import math
import re
import struct
from abc import ABCMeta, abstractmethod
from typing import Final

from mypy_extensions import mypyc_attr

from ostler.model import constants as mq
from ostler.model.errors import MQError

Value = str | int | float | bool | bytes | None

INTEGER_BITS: Final[dict[int, int]] = {mq.MQTYPE_INT8: 8, mq.MQTYPE_INT16: 16, mq.MQTYPE_INT32: 32, mq.MQTYPE_INT64: 64}
TYPE_NAMES: Final[dict[int, str]] = {
    mq.MQTYPE_NULL: "null",
    mq.MQTYPE_BOOLEAN: "boolean",
    mq.MQTYPE_BYTE_STRING: "byte string",
    mq.MQTYPE_INT8: "8-bit integer",
    mq.MQTYPE_INT16: "16-bit integer",
    mq.MQTYPE_INT32: "32-bit integer",
    mq.MQTYPE_INT64: "64-bit integer",
    mq.MQTYPE_FLOAT32: "32-bit float",
    mq.MQTYPE_FLOAT64: "64-bit float",
    mq.MQTYPE_STRING: "string",
}
_ANY_INTEGER: Final = frozenset({mq.MQTYPE_INT8, mq.MQTYPE_INT16, mq.MQTYPE_INT32, mq.MQTYPE_INT64})
# The types that MQINQMP converts to, besides the type itself.
CONVERSIONS: Final[dict[int, frozenset[int]]] = {
    mq.MQTYPE_NULL: frozenset(),
    mq.MQTYPE_BOOLEAN: _ANY_INTEGER | {mq.MQTYPE_STRING},
    mq.MQTYPE_BYTE_STRING: frozenset({mq.MQTYPE_STRING}),
    mq.MQTYPE_INT8: frozenset({mq.MQTYPE_STRING, mq.MQTYPE_INT16, mq.MQTYPE_INT32, mq.MQTYPE_INT64}),
    mq.MQTYPE_INT16: frozenset({mq.MQTYPE_STRING, mq.MQTYPE_INT32, mq.MQTYPE_INT64}),
    mq.MQTYPE_INT32: frozenset({mq.MQTYPE_STRING, mq.MQTYPE_INT64}),
    mq.MQTYPE_INT64: frozenset({mq.MQTYPE_STRING}),
    mq.MQTYPE_FLOAT32: frozenset({mq.MQTYPE_STRING, mq.MQTYPE_FLOAT64}),
    mq.MQTYPE_FLOAT64: frozenset({mq.MQTYPE_STRING}),
    mq.MQTYPE_STRING: _ANY_INTEGER | {mq.MQTYPE_BOOLEAN, mq.MQTYPE_FLOAT32, mq.MQTYPE_FLOAT64},
}
_INTEGER_PREFIX: Final = re.compile(r" *([+-]?)0*([0-9]+)")
_FLOAT_PREFIX: Final = re.compile(r" *([+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)")
# Twenty digits exceed any 64-bit integer; longer numbers need not be computed.
_DIGITS_MAX: Final = 20


# The metaclass and not ABC as a base: a compiled subclass of ABC corrupts memory when it is weakly referenced.
@mypyc_attr(allow_interpreted_subclasses=True)
class PropertySource(metaclass=ABCMeta):
    """Provides property values by name; None if there is none, or if it is null."""

    @abstractmethod
    def value(self, name: str) -> Value: ...


def check_type(type: int) -> None:
    if type not in CONVERSIONS:
        raise MQError(mq.MQRC_PROPERTY_TYPE_ERROR, f"{type} is not one of the property data types.")


def check_value(type: int, value: Value) -> Value:
    """Return the value in the form a property of that type holds. Raises MQError if it does not fit."""
    check_type(type)
    if type == mq.MQTYPE_NULL:
        return None if value is None else _reject_value(type, value)
    if type == mq.MQTYPE_STRING:
        return _check_text(value) if isinstance(value, str) else _reject_value(type, value)
    if type == mq.MQTYPE_BYTE_STRING:
        return value if isinstance(value, bytes) else _reject_value(type, value)
    if type == mq.MQTYPE_BOOLEAN:
        return bool(value) if isinstance(value, int) else _reject_value(type, value)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return _reject_value(type, value)
    if type in INTEGER_BITS:
        return check_range(type, value) if isinstance(value, int) else _reject_value(type, value)
    return to_single(float(value)) if type == mq.MQTYPE_FLOAT32 else float(value)


def _reject_value(type: int, value: Value) -> Value:
    raise MQError(mq.MQRC_PROPERTY_TYPE_ERROR, f"{value!r:.60} is no value of type {TYPE_NAMES[type]}.")


def _check_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise MQError(mq.MQRC_BUFFER_ERROR, "The string holds half of a surrogate pair.") from None
    return text


def check_range(type: int, number: int) -> int:
    half = 1 << (INTEGER_BITS[type] - 1)
    if not -half <= number < half:
        raise MQError(mq.MQRC_PROP_NUMBER_FORMAT_ERROR, f"{number} is outside the range of a {TYPE_NAMES[type]}.")
    return number


def to_single(number: float) -> float:
    """Return the nearest 32-bit float, as a Python float."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        raise MQError(mq.MQRC_PROP_NUMBER_FORMAT_ERROR, f"{number} is outside the range of a 32-bit float.") from None


def text_of(type: int, value: Value) -> str:
    """Return the string MQINQMP makes of a value; it is also the text of a number in an MQRFH2 element."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, float):
        return single_text(value) if type == mq.MQTYPE_FLOAT32 else repr(value)
    return "" if value is None else str(value)


def single_text(number: float) -> str:
    """Return the shortest text that reads back as the same 32-bit float."""
    text = f"{number:.6g}"
    for digits in range(6, 10):
        text = f"{number:.{digits}g}"
        if to_single(float(text)) == number:
            break
    return text


def convert_value(type: int, value: Value, wanted: int) -> Value:
    """Convert the value of a property to another type, by the rules of MQIMPO_CONVERT_TYPE."""
    check_type(wanted)
    if type == wanted:
        return value
    if wanted not in CONVERSIONS[type]:
        raise MQError(
            mq.MQRC_PROP_CONV_NOT_SUPPORTED,
            f"A {TYPE_NAMES[type]} cannot be converted to a {TYPE_NAMES[wanted]}; ask for another type.",
        )
    if wanted == mq.MQTYPE_STRING:
        return text_of(type, value)
    if isinstance(value, str):
        return _from_text(value, wanted)
    if isinstance(value, bool):
        return 1 if value else 0
    return value


def _from_text(text: str, wanted: int) -> Value:
    if wanted == mq.MQTYPE_BOOLEAN:
        word = text.upper()
        if word in ("TRUE", "1"):
            return True
        if word in ("FALSE", "0"):
            return False
        raise _number_error(text, wanted)
    if wanted in INTEGER_BITS:
        match = _INTEGER_PREFIX.match(text)
        if match is None or len(match.group(2)) > _DIGITS_MAX:
            raise _number_error(text, wanted)
        return check_range(wanted, int(match.group(1) + match.group(2)))
    match = _FLOAT_PREFIX.match(text)
    if match is None:
        raise _number_error(text, wanted)
    number = float(match.group(1))
    if math.isinf(number):
        raise _number_error(text, wanted)
    return to_single(number) if wanted == mq.MQTYPE_FLOAT32 else number


def _number_error(text: str, wanted: int) -> MQError:
    return MQError(mq.MQRC_PROP_NUMBER_FORMAT_ERROR, f"{text!r:.60} does not read as a {TYPE_NAMES[wanted]}.")


def pack_value(type: int, value: Value, big_endian: bool) -> bytes:
    """Return the value as MQINQMP writes it into the application's buffer; strings in UTF-8."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    order = ">" if big_endian else "<"
    if type == mq.MQTYPE_BOOLEAN:
        return struct.pack(order + "i", 1 if value else 0)
    if isinstance(value, float):
        return struct.pack(order + ("f" if type == mq.MQTYPE_FLOAT32 else "d"), value)
    if isinstance(value, int):
        return value.to_bytes(INTEGER_BITS[type] // 8, "big" if big_endian else "little", signed=True)
    return b""


def unpack_value(type: int, data: bytes, big_endian: bool) -> Value:
    """Return the value that MQSETMP reads from the application's buffer; strings in UTF-8."""
    check_type(type)
    if type == mq.MQTYPE_BYTE_STRING:
        return data
    if type == mq.MQTYPE_STRING:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise MQError(mq.MQRC_BUFFER_ERROR, "The string is not UTF-8.") from None
    if len(data) != packed_length(type):
        raise MQError(mq.MQRC_BUFFER_LENGTH_ERROR, f"A {TYPE_NAMES[type]} does not take {len(data)} bytes.")
    order = ">" if big_endian else "<"
    if type == mq.MQTYPE_NULL:
        return None
    if type == mq.MQTYPE_BOOLEAN:
        return any(data)
    if type in INTEGER_BITS:
        return int.from_bytes(data, "big" if big_endian else "little", signed=True)
    return float(struct.unpack(order + ("f" if type == mq.MQTYPE_FLOAT32 else "d"), data)[0])


def packed_length(type: int) -> int:
    """Return the size in bytes of a fixed-size type; 0 for null."""
    if type in INTEGER_BITS:
        return INTEGER_BITS[type] // 8
    if type == mq.MQTYPE_FLOAT64:
        return 8
    return 0 if type == mq.MQTYPE_NULL else 4
