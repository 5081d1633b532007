"""The property block: the properties of a message handle as stored with a message.

A block is empty, or one byte for the layout followed by the properties, integers little-endian:

    i16  length of the name, and the name in UTF-8
    i16  type (MQTYPE_*)
    i8   copy options (MQCOPY_*)
    i8   context (MQPD_*_CONTEXT)
    i32  support (MQPD_SUPPORT_*)
    i8   length of the unknown data type (MQRFH2 dt), and that text in UTF-8
    i32  length of the value, and the value as returned by MQINQMP, strings in UTF-8
"""

from __future__ import annotations

import struct
from typing import Final

from librt.strings import read_i16_le, read_i32_le

from ostler.engine.properties.properties import Property
from ostler.engine.properties.property_values import pack_value, unpack_value
from ostler.model import constants as mq
from ostler.model.errors import MQError

LAYOUT: Final = 1
# The same layout; marks a block that holds only properties added by the queue manager to publications.
PUBLICATION_LAYOUT: Final = 2
_LAYOUT_BYTE: Final = bytes([LAYOUT])


def encode_block(properties: list[Property]) -> bytes:
    """Encode properties; empty if there are none."""
    if not properties:
        return b""
    parts: list[bytes] = [_LAYOUT_BYTE]
    for each in properties:
        name = each.name.encode()
        type_text = each.type_text.encode()[:127]
        value = pack_value(each.type, each.value, False)
        parts.append(struct.pack("<h", len(name)))
        parts.append(name)
        parts.append(struct.pack("<hbbib", each.type, each.copy_options, each.context, each.support, len(type_text)))
        parts.append(type_text)
        parts.append(struct.pack("<i", len(value)))
        parts.append(value)
    return b"".join(parts)


def decode_block(block: bytes) -> list[Property]:
    """Decode a block. Raises MQRC_RFH_FORMAT_ERROR if it is damaged."""
    properties: list[Property] = []
    end = len(block)
    if end == 0:
        return properties
    at = 1
    try:
        if block[0] not in (LAYOUT, PUBLICATION_LAYOUT):
            raise _damaged(0)
        while at < end:
            name_end = at + 2 + int(read_i16_le(block, at))
            text_end = name_end + 9 + block[name_end + 8]
            value_at = text_end + 4
            value_end = value_at + int(read_i32_le(block, text_end))
            if not (at + 2 <= name_end and value_at <= value_end <= end):
                raise _damaged(at)
            kind = int(read_i16_le(block, name_end))
            decoded = Property(
                block[at + 2 : name_end].decode(),
                kind,
                unpack_value(kind, block[value_at:value_end], False),
                int(read_i32_le(block, name_end + 4)),
                int(block[name_end + 3]),
                int(block[name_end + 2]),
                block[name_end + 9 : text_end].decode() if text_end != name_end + 9 else "",
            )
            properties.append(decoded)
            at = value_end
    except (IndexError, ValueError):
        raise _damaged(at) from None
    return properties


def _damaged(at: int) -> MQError:
    return MQError(mq.MQRC_RFH_FORMAT_ERROR, f"The stored properties are damaged at offset {at}.")
