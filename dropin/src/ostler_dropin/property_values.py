"""Values of message properties: Python's, as the packages have them, and the bytes that the verbs take."""

from __future__ import annotations

import struct
from typing import Final

from ostler.model.constants import (
    MQTYPE_BOOLEAN,
    MQTYPE_BYTE_STRING,
    MQTYPE_FLOAT32,
    MQTYPE_FLOAT64,
    MQTYPE_INT8,
    MQTYPE_INT16,
    MQTYPE_INT32,
    MQTYPE_INT64,
    MQTYPE_NULL,
    MQTYPE_STRING,
)

Value = str | bytes | int | float | None

_INTEGERS: Final[dict[int, int]] = {MQTYPE_INT8: 1, MQTYPE_INT16: 2, MQTYPE_INT32: 4, MQTYPE_INT64: 8}
_FLOATS: Final[dict[int, struct.Struct]] = {
    MQTYPE_FLOAT32: struct.Struct("<f"),
    MQTYPE_FLOAT64: struct.Struct("<d"),
}
_BOOLEAN_BYTES: Final = 4


def packed_value(type: int, value: object, length: int) -> bytes:
    """The bytes of a value. A length below zero is that of the value itself; numbers have that of their type.

    TypeError when the value is of another kind. An integer that is too large loses its upper bits, as in C.
    """
    if type == MQTYPE_NULL:
        return b""
    if type == MQTYPE_BOOLEAN:
        if not isinstance(value, (int, float)):
            raise TypeError(f"a boolean property takes a truth value, not {value!r}")
        return int(bool(value)).to_bytes(_BOOLEAN_BYTES, "little")
    if type in _INTEGERS:
        if not isinstance(value, int):
            raise TypeError(f"an integer property takes an integer, not {value!r}")
        width = _INTEGERS[type]
        return (value % (1 << 8 * width)).to_bytes(width, "little")
    if type in _FLOATS:
        if not isinstance(value, (int, float)):
            raise TypeError(f"a floating point property takes a number, not {value!r}")
        return _FLOATS[type].pack(value)
    return _packed_text(type, value, length)


def _packed_text(type: int, value: object, length: int) -> bytes:
    if isinstance(value, str) and type != MQTYPE_BYTE_STRING:
        data = value.encode()
    elif isinstance(value, (bytes, bytearray)):
        data = bytes(value)
    elif type in (MQTYPE_STRING, MQTYPE_BYTE_STRING):
        raise TypeError(f"a property of this type takes text or bytes, not {value!r}")
    else:
        return b""  # an unknown type, which the verb refuses
    if length >= 0:
        return data[:length]
    return data.partition(b"\0")[0] if type == MQTYPE_STRING else data


def unpacked_value(type: int, data: bytes) -> Value:
    """The value in bytes that a verb returned. A number that was cut short, and null, are None."""
    if type == MQTYPE_STRING:
        # Text that did not fit may end within a character.
        return data.decode("utf-8", "ignore")
    if type == MQTYPE_BYTE_STRING:
        return data
    if type == MQTYPE_BOOLEAN:
        return int.from_bytes(data, "little") if data else None
    if type in _INTEGERS and len(data) == _INTEGERS[type]:
        return int.from_bytes(data, "little", signed=True)
    if type in _FLOATS and len(data) == _FLOATS[type].size:
        number: float = _FLOATS[type].unpack(data)[0]
        return number
    return None
