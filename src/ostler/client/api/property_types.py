"""Message properties as Python values.

    bool, bytes, str, None      boolean, byte string, string, null
    int                         32 bits when it fits, else 64
    float                       64 bits

Other widths are given as `Int8(5)`, `Int16(5)`, `Int64(5)`, `Float32(1.5)`. These are ordinary numbers, and properties
of these types are returned as such, so that a message that is passed on keeps its types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ostler.engine.properties.properties import Property, PropertySet
from ostler.model import constants as mq
from ostler.model.errors import MQError

PropertyValue = str | int | float | bool | bytes | None


class Int8(int):
    """An integer property of 8 bits."""


class Int16(int):
    """An integer property of 16 bits."""


class Int32(int):
    """An integer property of 32 bits, whatever its value."""


class Int64(int):
    """An integer property of 64 bits, whatever its value."""


class Float32(float):
    """A floating point property of 32 bits."""


_EXACT: Final[dict[type, int]] = {
    bool: mq.MQTYPE_BOOLEAN,
    bytes: mq.MQTYPE_BYTE_STRING,
    str: mq.MQTYPE_STRING,
    float: mq.MQTYPE_FLOAT64,
    type(None): mq.MQTYPE_NULL,
    Int8: mq.MQTYPE_INT8,
    Int16: mq.MQTYPE_INT16,
    Int32: mq.MQTYPE_INT32,
    Int64: mq.MQTYPE_INT64,
    Float32: mq.MQTYPE_FLOAT32,
}
_BITS_32: Final = 1 << 31


def property_type(value: PropertyValue) -> int:
    """Return the MQTYPE of a Python value."""
    found = _EXACT.get(type(value))
    if found is not None:
        return found
    if isinstance(value, int):
        return mq.MQTYPE_INT32 if -_BITS_32 <= value < _BITS_32 else mq.MQTYPE_INT64
    for kind in (str, bytes, float):
        if isinstance(value, kind):
            return _EXACT[kind]
    raise MQError(mq.MQRC_PROPERTY_TYPE_ERROR, f"A property cannot be a {type(value).__name__}.")


def property_set(values: Mapping[str, PropertyValue]) -> PropertySet:
    """Return the properties as a property set of the engine. Every name and value is checked."""
    made = PropertySet()
    for name, value in values.items():
        kind = property_type(value)
        # Plain values: the engine compares types, and a subclass would stay behind in memory.
        made.set(name, kind, _plain(value))
    return made


def _plain(value: PropertyValue) -> PropertyValue:
    if isinstance(value, (bool, str, bytes)) or value is None:
        return value
    return int(value) if isinstance(value, int) else float(value)


def property_values(properties: Iterable[Property]) -> dict[str, PropertyValue]:
    """Return the properties as Python values, by name. The first of several with the same name counts."""
    values: dict[str, PropertyValue] = {}
    for each in properties:
        values.setdefault(each.name, _typed(each.type, each.value))
    return values


def _typed(kind: int, value: PropertyValue) -> PropertyValue:
    if isinstance(value, int) and not isinstance(value, bool):
        if kind == mq.MQTYPE_INT8:
            return Int8(value)
        if kind == mq.MQTYPE_INT16:
            return Int16(value)
        if kind == mq.MQTYPE_INT64 and -_BITS_32 <= value < _BITS_32:
            return Int64(value)
    if kind == mq.MQTYPE_FLOAT32 and isinstance(value, float):
        return Float32(value)
    return value
