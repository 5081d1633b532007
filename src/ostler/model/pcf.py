"""Programmable command format (PCF): commands, replies and event messages as a header and typed parameters.

`encode` makes the bytes, `decode` reads them. Decoded bytes are untrusted: every length and count is checked before it
is used, and an error raises PcfError, a ValueError with the reason of MQ's command server. Decoded text has no trailing
blanks and nulls, because MQ's names are blank-padded on the wire.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ostler.model import constants as mq
from ostler.model.pcf_parameters import (
    CODECS,
    UTF_8,
    ByteString,
    ByteStringFilter,
    Group,
    Header,
    Integer,
    Integer64,
    Integer64List,
    IntegerFilter,
    IntegerList,
    Parameter,
    PcfError,
    PcfMessage,
    String,
    StringFilter,
    StringList,
)
from ostler.model.pcf_reader import GROUP_DEPTH_MAX, decode

__all__ = [
    "GROUP_DEPTH_MAX",
    "UTF_8",
    "ByteString",
    "ByteStringFilter",
    "Group",
    "Header",
    "Integer",
    "Integer64",
    "Integer64List",
    "IntegerFilter",
    "IntegerList",
    "Parameter",
    "PcfError",
    "PcfMessage",
    "String",
    "StringFilter",
    "StringList",
    "decode",
    "encode",
]


def encode(header: Header, parameters: Sequence[Parameter], ccsid: int = UTF_8, big_endian: bool = False) -> bytes:
    """Return the message. `ccsid` is that of strings without one. Raises ValueError for a value that does not fit."""
    order = ">" if big_endian else "<"
    parts = [
        _pack(
            order + "9i",
            header.type,
            mq.MQCFH_STRUC_LENGTH,
            header.version,
            header.command,
            header.sequence_number,
            header.control,
            header.completion,
            header.reason,
            len(parameters),
        )
    ]
    parts.extend([_encode_parameter(order, parameter, ccsid) for parameter in parameters])
    return b"".join(parts)


def _pack(format: str, *values: int) -> bytes:
    try:
        return struct.pack(format, *values)
    except struct.error as error:
        raise ValueError(f"a PCF number is out of range: {error}") from None


def _encode_parameter(order: str, item: Parameter, ccsid: int) -> bytes:
    if isinstance(item, Integer):
        return _pack(order + "4i", mq.MQCFT_INTEGER, mq.MQCFIN_STRUC_LENGTH, item.parameter, item.value)
    if isinstance(item, String):
        text = _text_bytes(item.value, item.ccsid or ccsid)
        return _variable(order, mq.MQCFT_STRING, (item.parameter, item.ccsid, len(text)), text)
    if isinstance(item, IntegerList):
        length = mq.MQCFIL_STRUC_LENGTH_FIXED + 4 * len(item.values)
        head = _pack(order + "4i", mq.MQCFT_INTEGER_LIST, length, item.parameter, len(item.values))
        return head + _pack(f"{order}{len(item.values)}i", *item.values)
    if isinstance(item, StringList):
        return _encode_string_list(order, item, ccsid)
    if isinstance(item, ByteString):
        return _variable(order, mq.MQCFT_BYTE_STRING, (item.parameter, len(item.value)), item.value)
    if isinstance(item, Integer64):
        return _pack(order + "4iq", mq.MQCFT_INTEGER64, mq.MQCFIN64_STRUC_LENGTH, item.parameter, 0, item.value)
    if isinstance(item, Integer64List):
        length = mq.MQCFIL64_STRUC_LENGTH_FIXED + 8 * len(item.values)
        head = _pack(order + "4i", mq.MQCFT_INTEGER64_LIST, length, item.parameter, len(item.values))
        return head + _pack(f"{order}{len(item.values)}q", *item.values)
    if isinstance(item, IntegerFilter):
        return _pack(
            order + "5i", mq.MQCFT_INTEGER_FILTER, mq.MQCFIF_STRUC_LENGTH, item.parameter, item.operator, item.value
        )
    if isinstance(item, StringFilter):
        text = _text_bytes(item.value, item.ccsid or ccsid)
        return _variable(order, mq.MQCFT_STRING_FILTER, (item.parameter, item.operator, item.ccsid, len(text)), text)
    if isinstance(item, ByteStringFilter):
        fields = (item.parameter, item.operator, len(item.value))
        return _variable(order, mq.MQCFT_BYTE_STRING_FILTER, fields, item.value)
    head = _pack(order + "4i", mq.MQCFT_GROUP, mq.MQCFGR_STRUC_LENGTH, item.parameter, len(item.members))
    return head + b"".join([_encode_parameter(order, member, ccsid) for member in item.members])


def _variable(order: str, type: int, fields: tuple[int, ...], data: bytes) -> bytes:
    """Return a structure that ends in bytes, padded to a multiple of four."""
    padding = bytes(-len(data) % 4)
    fixed = 8 + 4 * len(fields)
    return _pack(f"{order}{2 + len(fields)}i", type, fixed + len(data) + len(padding), *fields) + data + padding


def _encode_string_list(order: str, item: StringList, ccsid: int) -> bytes:
    codec_ccsid = item.ccsid or ccsid
    texts = [_text_bytes(value, codec_ccsid) for value in item.values]
    # At least one byte each, so that the byte count determines the number of strings.
    width = max([len(text) for text in texts] + [1])
    blank = _text_bytes(" ", codec_ccsid)
    joined = b"".join([text.ljust(width, blank) for text in texts])
    return _variable(order, mq.MQCFT_STRING_LIST, (item.parameter, item.ccsid, len(texts), width), joined)


def _text_bytes(text: str, ccsid: int) -> bytes:
    codec = CODECS.get(ccsid)
    if codec is None:
        raise PcfError(mq.MQRCCF_CCSID_ERROR, f"strings are not written in code page {ccsid}")
    return text.encode(codec)
