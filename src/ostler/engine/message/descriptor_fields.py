"""The fields of the message descriptor as properties (Root.MQMD.Priority and so on), read from the packed bytes."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from librt.strings import read_i32_le

from ostler.engine.properties.property_names import DESCRIPTOR_PREFIX
from ostler.engine.properties.property_values import Value, check_range
from ostler.model import constants as mq
from ostler.model.errors import MQError

ENCODING_AT: Final = 24
CCSID_AT: Final = 28
FORMAT_AT: Final = 32
FORMAT_END: Final = 40


class DescriptorField(NamedTuple):
    """One field of a stored MQMD: offset, length, and its type as a property."""

    at: int
    length: int
    type: int


def _long(at: int) -> DescriptorField:
    return DescriptorField(at, 4, mq.MQTYPE_INT32)


def _characters(at: int, length: int) -> DescriptorField:
    return DescriptorField(at, length, mq.MQTYPE_STRING)


def _bytes(at: int, length: int) -> DescriptorField:
    return DescriptorField(at, length, mq.MQTYPE_BYTE_STRING)


# StrucId and Version are not properties.
FIELDS: Final[dict[str, DescriptorField]] = {
    "Report": _long(8),
    "MsgType": _long(12),
    "Expiry": _long(16),
    "Feedback": _long(20),
    "Encoding": _long(ENCODING_AT),
    "CodedCharSetId": _long(CCSID_AT),
    "Format": _characters(FORMAT_AT, 8),
    "Priority": _long(40),
    "Persistence": _long(44),
    "MsgId": _bytes(48, 24),
    "CorrelId": _bytes(72, 24),
    "BackoutCount": _long(96),
    "ReplyToQ": _characters(100, 48),
    "ReplyToQMgr": _characters(148, 48),
    "UserIdentifier": _characters(196, 12),
    "AccountingToken": _bytes(208, 32),
    "ApplIdentityData": _characters(240, 32),
    "PutApplType": _long(272),
    "PutApplName": _characters(276, 28),
    "PutDate": _characters(304, 8),
    "PutTime": _characters(312, 8),
    "ApplOriginData": _characters(320, 4),
    "GroupId": _bytes(324, 24),
    "MsgSeqNumber": _long(348),
    "Offset": _long(352),
    "MsgFlags": _long(356),
    "OriginalLength": _long(360),
}


def _default_descriptor() -> bytes:
    """Return a version-2 descriptor with the values of MQMD_DEFAULT, little-endian, characters blank."""
    md = bytearray(mq.MQMD_LENGTH_2)
    md[0:4] = mq.MQMD_STRUC_ID
    for field in FIELDS.values():
        if field.type == mq.MQTYPE_STRING:
            md[field.at : field.at + field.length] = b" " * field.length
    numbers = (
        (4, mq.MQMD_VERSION_2),
        (12, mq.MQMT_DATAGRAM),
        (16, mq.MQEI_UNLIMITED),
        (ENCODING_AT, mq.MQENC_NATIVE),
        (40, mq.MQPRI_PRIORITY_AS_Q_DEF),
        (44, mq.MQPER_PERSISTENCE_AS_Q_DEF),
        (348, 1),
        (360, mq.MQOL_UNDEFINED),
    )
    for at, number in numbers:
        struct.pack_into("<i", md, at, number)
    return bytes(md)


DEFAULT_DESCRIPTOR: Final = _default_descriptor()


def field_named(property_name: str) -> DescriptorField:
    """Return the field for a property name that begins with Root.MQMD."""
    field = FIELDS.get(property_name[len(DESCRIPTOR_PREFIX) :])
    if field is None:
        raise MQError(mq.MQRC_PROPERTY_NAME_ERROR, f"{property_name[:80]!r} is not a field of the message descriptor.")
    return field


def field_value(md: bytes, field: DescriptorField) -> Value:
    """Return the value of a field; characters without padding."""
    at = field.at
    if len(md) < at + field.length:
        return None
    if field.type == mq.MQTYPE_INT32:
        return int(read_i32_le(md, at))
    data = md[at : at + field.length]
    if field.type == mq.MQTYPE_BYTE_STRING:
        return data
    return data.partition(b"\0")[0].rstrip(b" ").decode("utf-8", "replace")


def number_at(md: bytes, at: int) -> int:
    return int(read_i32_le(md, at))


def text_at(md: bytes, at: int, length: int) -> str:
    return md[at : at + length].partition(b"\0")[0].rstrip(b" ").decode("utf-8", "replace")


def with_field(md: bytes, field: DescriptorField, type: int, value: Value) -> bytes:
    """Return the descriptor with one field set, as by MQSETMP on Root.MQMD.X."""
    if type != field.type:
        raise MQError(mq.MQRC_PROPERTY_TYPE_ERROR, "The type must be that of the descriptor's field.")
    data = b""
    if isinstance(value, int):
        data = check_range(mq.MQTYPE_INT32, value).to_bytes(4, "little", signed=True)
    elif isinstance(value, str):
        data = value.encode().ljust(field.length, b" ")
    elif isinstance(value, bytes):
        data = value.ljust(field.length, b"\0")
    if len(data) != field.length:
        raise MQError(
            mq.MQRC_BUFFER_LENGTH_ERROR, f"The value must fit the {field.length} bytes of the descriptor's field."
        )
    return md[: field.at] + data + md[field.at + field.length :]


def with_content(md: bytes, encoding: int, ccsid: int, format: bytes) -> bytes:
    """Return the descriptor with other Encoding, CodedCharSetId and Format."""
    return md[:ENCODING_AT] + struct.pack("<ii", encoding, ccsid) + format + md[FORMAT_END:]
