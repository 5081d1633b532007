"""MQMDE: the extension that carries the version 2 fields of a descriptor with a version 1 descriptor."""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from ostler.engine.message.message import CCSID_AT, ENCODING_AT, FORMAT_AT, GROUP_ID_AT, PRIORITY_AT
from ostler.model import constants as mq
from ostler.model.errors import MQError

# The version 2 fields of a message that is in no group and no segment.
PLAIN_TAIL: Final = bytes(24) + b"\x01\0\0\0" + bytes(8) + b"\xff\xff\xff\xff"

_ENCODING_IN_EXTENSION: Final = 12
_FLAGS_IN_EXTENSION: Final = 28
_FIELDS_IN_EXTENSION: Final = 32


def extension(md: bytes) -> bytes:
    """Return the extension for a version 2 descriptor. It describes the data that follows it."""
    writer = BytesWriter()
    writer.write(b"MDE ")
    write_i32_le(writer, 2)
    write_i32_le(writer, mq.MQMDE_LENGTH_2)
    write_i32_le(writer, read_i32_le(md, ENCODING_AT))
    write_i32_le(writer, read_i32_le(md, CCSID_AT))
    writer.write(md[FORMAT_AT : FORMAT_AT + 8])
    write_i32_le(writer, 0)
    writer.write(md[GROUP_ID_AT:])
    return writer.getvalue()


def content(ccsid: i64, format: bytes) -> bytes:
    """Return encoding, code page and format of a header made here, as in a descriptor."""
    writer = BytesWriter()
    write_i32_le(writer, mq.MQENC_NATIVE)
    write_i32_le(writer, i32(ccsid))
    writer.write(format)
    return writer.getvalue()


def with_extension(md: bytes, body: bytes, ccsid: i64) -> tuple[bytes, bytes]:
    """Return descriptor and data for a program with a version 1 descriptor: an extension carries the other fields."""
    if md[GROUP_ID_AT:] == PLAIN_TAIL:
        return md, body
    changed = md[:ENCODING_AT] + content(ccsid, mq.MQFMT_MD_EXTENSION) + md[PRIORITY_AT:]
    return changed, extension(md) + body


def without_extension(md: bytes, body: bytes) -> tuple[bytes, bytes]:
    """Convert a version 1 descriptor and data to version 2. Raises MQError for a malformed extension."""
    version_2 = md[:4] + b"\x02\0\0\0" + md[8:GROUP_ID_AT] + PLAIN_TAIL
    if md[FORMAT_AT : FORMAT_AT + 8] != mq.MQFMT_MD_EXTENSION:
        return version_2, body
    if (
        len(body) < mq.MQMDE_LENGTH_2
        or not body.startswith(b"MDE ")
        or read_i32_le(body, 4) != 2
        or read_i32_le(body, 8) != mq.MQMDE_LENGTH_2
    ):
        raise MQError(mq.MQRC_MDE_ERROR)
    described = body[_ENCODING_IN_EXTENSION:_FLAGS_IN_EXTENSION]
    head = version_2[:ENCODING_AT] + described + version_2[PRIORITY_AT:GROUP_ID_AT]
    return head + body[_FIELDS_IN_EXTENSION : mq.MQMDE_LENGTH_2], body[mq.MQMDE_LENGTH_2 :]
