"""The few frames of AMQP 0-9-1 that request/reply needs, encoded and decoded by hand."""

from __future__ import annotations

import struct

METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
FRAME_END = 0xCE
FRAME_BYTES_MAX = 131_072
_BODY_BYTES_MAX = FRAME_BYTES_MAX - 8
PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"

# Class and method numbers, in the first four bytes of a method frame.
CONNECTION_START = (10, 10)
CONNECTION_START_OK = (10, 11)
CONNECTION_TUNE = (10, 30)
CONNECTION_TUNE_OK = (10, 31)
CONNECTION_OPEN = (10, 40)
CONNECTION_OPEN_OK = (10, 41)
CONNECTION_CLOSE = (10, 50)
CHANNEL_OPEN = (20, 10)
CHANNEL_OPEN_OK = (20, 11)
CHANNEL_CLOSE = (20, 40)
QUEUE_DECLARE = (50, 10)
QUEUE_DECLARE_OK = (50, 11)
QUEUE_PURGE = (50, 30)
QUEUE_PURGE_OK = (50, 31)
BASIC_CONSUME = (60, 20)
BASIC_CONSUME_OK = (60, 21)
BASIC_PUBLISH = (60, 40)
BASIC_DELIVER = (60, 60)
BASIC_ACK = (60, 80)
CONFIRM_SELECT = (85, 10)
CONFIRM_SELECT_OK = (85, 11)

_FRAME = struct.Struct(">BHI")
_METHOD = struct.Struct(">HH")
_CONTENT = struct.Struct(">HHQH")
_ACK = struct.Struct(">BHIHHQBB")
_HAS_DELIVERY_MODE, _HAS_CORRELATION_ID, _HAS_REPLY_TO = 1 << 12, 1 << 10, 1 << 9
_TRANSIENT, _DURABLE = 1, 2


def short_string(text: bytes) -> bytes:
    return bytes((len(text),)) + text


def long_string(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    return b"%b%b\xce" % (_FRAME.pack(kind, channel, len(payload)), payload)


def method(channel: int, which: tuple[int, int], arguments: bytes) -> bytes:
    return frame(METHOD, channel, _METHOD.pack(*which) + arguments)


def start_ok(user: bytes, password: bytes) -> bytes:
    credentials = b"\x00" + user + b"\x00" + password
    arguments = long_string(b"") + short_string(b"PLAIN") + long_string(credentials) + short_string(b"en_US")
    return method(0, CONNECTION_START_OK, arguments)


def tune_ok(channels_max: int, frame_bytes_max: int) -> bytes:
    return method(0, CONNECTION_TUNE_OK, struct.pack(">HIH", channels_max, frame_bytes_max, 0))


def open_connection(virtual_host: bytes) -> bytes:
    return method(0, CONNECTION_OPEN, short_string(virtual_host) + short_string(b"") + b"\x00")


def open_channel(channel: int) -> bytes:
    return method(channel, CHANNEL_OPEN, short_string(b""))


def declare_queue(channel: int, name: bytes, durable: bool, copies: int = 1) -> bytes:
    """Return a declaration: of a classic queue, or of a quorum queue with so many members."""
    flags = 2 if durable else 0
    arguments = b"" if copies == 1 else _quorum_arguments(copies)
    return method(channel, QUEUE_DECLARE, b"\x00\x00" + short_string(name) + bytes((flags,)) + long_string(arguments))


def _quorum_arguments(members: int) -> bytes:
    kind = short_string(b"x-queue-type") + b"S" + long_string(b"quorum")
    return kind + short_string(b"x-quorum-initial-group-size") + b"I" + members.to_bytes(4, "big")


def purge_queue(channel: int, name: bytes) -> bytes:
    return method(channel, QUEUE_PURGE, b"\x00\x00" + short_string(name) + b"\x00")


def consume(channel: int, queue: bytes, acknowledged: bool) -> bytes:
    flags = 0 if acknowledged else 2
    arguments = b"\x00\x00" + short_string(queue) + short_string(b"c") + bytes((flags,)) + long_string(b"")
    return method(channel, BASIC_CONSUME, arguments)


def select_confirms(channel: int) -> bytes:
    return method(channel, CONFIRM_SELECT, b"\x00")


def publish_method(channel: int, queue: bytes, exchange: bytes = b"") -> bytes:
    """Return the first frame of a publication to a queue, through the default exchange or another. It can be reused."""
    return method(channel, BASIC_PUBLISH, b"\x00\x00" + short_string(exchange) + short_string(queue) + b"\x00")


def content(
    channel: int, durable: bool, correlation_id: bytes, reply_to: bytes, body: bytes, before: bytes = b""
) -> bytes:
    """Return header and body of a publication behind `before`. A large body takes several frames, and is copied
    once."""
    flags = _HAS_DELIVERY_MODE | _HAS_CORRELATION_ID | (_HAS_REPLY_TO if reply_to else 0)
    properties = bytes((_DURABLE if durable else _TRANSIENT, len(correlation_id))) + correlation_id
    if reply_to:
        properties += bytes((len(reply_to),)) + reply_to
    parts: list[bytes | memoryview] = [
        before,
        _FRAME.pack(HEADER, channel, _CONTENT.size + len(properties)),
        _CONTENT.pack(60, 0, len(body), flags),
        properties,
        b"\xce",
    ]
    if len(body) <= _BODY_BYTES_MAX:
        parts += (_FRAME.pack(BODY, channel, len(body)), body, b"\xce")
        return b"".join(parts)
    view = memoryview(body)
    for at in range(0, len(body), _BODY_BYTES_MAX):
        part = view[at : at + _BODY_BYTES_MAX]
        parts += (_FRAME.pack(BODY, channel, len(part)), part, b"\xce")
    return b"".join(parts)


def acknowledge(channel: int, delivery_tag: int) -> bytes:
    return _ACK.pack(METHOD, channel, 13, 60, 80, delivery_tag, 0, FRAME_END)


def read_frame(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the kind, the offset of the payload, and the offset of the next frame; the kind is 0 while the frame is
    incomplete."""
    if len(data) - at < 8:
        return 0, at, at
    kind, _, size = _FRAME.unpack_from(data, at)
    after = at + size + 8
    return (kind, at + 7, after) if after <= len(data) else (0, at, at)


def read_method(data: bytes, at: int) -> tuple[int, int]:
    found: tuple[int, int] = _METHOD.unpack_from(data, at)
    return found


def read_delivery_tag(data: bytes, at: int) -> int:
    """Return the delivery tag, which follows the consumer tag."""
    begin = at + 5 + data[at + 4]
    return int.from_bytes(data[begin : begin + 8], "big")


def read_confirm(data: bytes, at: int) -> tuple[int, bool]:
    """Return the tag, and whether all before it are confirmed with it."""
    return int.from_bytes(data[at + 4 : at + 12], "big"), bool(data[at + 12] & 1)


def read_properties(data: bytes, at: int) -> tuple[int, bytes, bytes]:
    """Return body bytes, correlation id and reply queue from a content header made by `content`."""
    _, _, size, flags = _CONTENT.unpack_from(data, at)
    at += _CONTENT.size
    if flags & _HAS_DELIVERY_MODE:
        at += 1
    correlation_id = reply_to = b""
    if flags & _HAS_CORRELATION_ID:
        end = at + 1 + data[at]
        correlation_id = data[at + 1 : end]
        at = end
    if flags & _HAS_REPLY_TO:
        reply_to = data[at + 1 : at + 1 + data[at]]
    return size, correlation_id, reply_to
