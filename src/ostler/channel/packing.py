"""Packing of a message for the wire: header and data are compressed separately, if that makes them smaller."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.channel.compression import compress_if_smaller, expand
from ostler.model import constants as mq
from ostler.wire.channel_frames import HEADER_COMPRESSED, METHOD_SHIFT, XQH_BYTES
from ostler.wire.frames import MalformedFrame


@final
class PackedMessage:
    """A message as it is sent. `header_bytes` is the length of the header in `body`."""

    def __init__(self, body: bytes, header_bytes: i64, flags: i64) -> None:
        self.body = body
        self.header_bytes: i64 = header_bytes
        self.flags: i64 = flags


def pack(body: bytes, header_method: i64, method: i64) -> PackedMessage:
    """Compress a transmission queue message with the negotiated methods."""
    head = body[:XQH_BYTES]
    data = body[XQH_BYTES:]
    flags: i64 = 0
    made = compress_if_smaller(header_method, head)
    if made is not None:
        head = made
        flags |= HEADER_COMPRESSED
    made = compress_if_smaller(method, data)
    if made is not None:
        data = made
        flags |= method << METHOD_SHIFT
    return PackedMessage(head + data, len(head), flags)


def unpack(
    buffer: bytes, at: i64, end: i64, flags: i64, header: i64, header_method: i64, method: i64, longest: i64
) -> bytes:
    """Return the transmission queue message. MalformedFrame if it is invalid, or has more than `longest` data bytes."""
    used: i64 = flags >> METHOD_SHIFT
    if not flags & HEADER_COMPRESSED and used == mq.MQCOMPRESS_NONE:
        body = buffer[at:end]
    else:
        head = buffer[at : at + header]
        data = buffer[at + header : end]
        if flags & HEADER_COMPRESSED:
            head = expand(header_method, head, XQH_BYTES)
        if used != mq.MQCOMPRESS_NONE:
            if used != method:
                raise MalformedFrame("a message is compressed with a method that was not negotiated")
            data = expand(used, data, longest)
        body = head + data
        header = len(head)
    if header != XQH_BYTES or body[:4] != b"XQH " or len(body) - XQH_BYTES > longest:
        raise MalformedFrame("a message has no MQXQH, or is too long for the channel")
    return body
