"""Frames, the units of the protocol between applications and queue managers. No sockets here.

    offset  bytes  field
    0       4      length of the frame, this header included
    4       1      type; a reply has the type of its request with REPLY added
    5       1      flags; MORE: further segments of the same payload follow
    6       2      reserved, zero
    8       4      conversation; 0 is the link itself
    12      4      request number, chosen by the requester; 0 asks for no reply

All numbers are little-endian. A payload longer than a segment is sent in several frames that differ only in MORE
(`segments.py`); frames of other requests may come between them.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, write_i16_le, write_i32_le
from mypy_extensions import i16, i32, i64

HEADER_BYTES: Final = 16
# 2: subscriptions; 3: new keys for clients (REKEY), counts of calls (COUNT_CALL); 4: the life of a queue manager that
# has copies, in the reply to HELLO; 5: connection tags, in CONNECT
PROTOCOL_VERSION: Final = 5
MAGIC: Final = b"OSTL"

# Types of frames.
HELLO: Final = 1
CONNECT: Final = 2
DISCONNECT: Final = 3
OPEN: Final = 4
CLOSE: Final = 5
PUT: Final = 6
PUT1: Final = 7
GET: Final = 8
CANCEL: Final = 9
SETTLE: Final = 10
COMMIT: Final = 11
BACK: Final = 12
BEGIN: Final = 13
INQUIRE: Final = 14
SET: Final = 15
STATUS: Final = 16
GET_ANY: Final = 17
STREAM: Final = 18
CREDIT: Final = 19
UNSTREAM: Final = 20
COMMAND: Final = 21
SUBSCRIBE: Final = 22
SUBSCRIPTION_REQUEST: Final = 23
PUBLISH: Final = 24
PUBLISH1: Final = 25
COUNT_CALL: Final = 26
HEARTBEAT: Final = 30
NOTICE: Final = 31
FAREWELL: Final = 32
MESSAGE: Final = 33
OUTPUT: Final = 34
# Frames of message channels: `channel_frames.py`.
CHANNEL_HELLO: Final = 40
CHANNEL_MESSAGE: Final = 41
CHANNEL_CONFIRM: Final = 42
CHANNEL_END: Final = 43
CHANNEL_STOP: Final = 44
CHANNEL_PING: Final = 45
# Both ends start a new TLS session behind this frame and its reply, on links of clients and of channels (SSLRKEYC).
REKEY: Final = 46
# Frames between the copies of a queue manager: `replica_frames.py`.
REPLICA_HELLO: Final = 50
REPLICA_LIFE: Final = 51
REPLICA_LOG: Final = 52
REPLICA_LOG_ACK: Final = 53
BASE_BEGIN: Final = 55
BASE_OBJECTS: Final = 56
BASE_QUEUE: Final = 57
BASE_MESSAGES: Final = 58
BASE_END: Final = 59
FETCH: Final = 60
SIDE_FILE: Final = 61
PAIR_STATE: Final = 62
# Frames between members of a queue-sharing group and their coupling facility: `coupling_frames.py`.
CF_HELLO: Final = 70
CF_PROGRAM: Final = 71
CF_EVENT: Final = 72
CF_END: Final = 73
REPLY: Final = 0x80

TYPE_NAMES: Final = {
    HELLO: "HELLO",
    CONNECT: "CONNECT",
    DISCONNECT: "DISCONNECT",
    OPEN: "OPEN",
    CLOSE: "CLOSE",
    PUT: "PUT",
    PUT1: "PUT1",
    GET: "GET",
    CANCEL: "CANCEL",
    SETTLE: "SETTLE",
    COMMIT: "COMMIT",
    BACK: "BACK",
    BEGIN: "BEGIN",
    INQUIRE: "INQUIRE",
    SET: "SET",
    STATUS: "STATUS",
    GET_ANY: "GET_ANY",
    STREAM: "STREAM",
    CREDIT: "CREDIT",
    UNSTREAM: "UNSTREAM",
    COMMAND: "COMMAND",
    SUBSCRIBE: "SUBSCRIBE",
    SUBSCRIPTION_REQUEST: "SUBSCRIPTION_REQUEST",
    PUBLISH: "PUBLISH",
    PUBLISH1: "PUBLISH1",
    COUNT_CALL: "COUNT_CALL",
    HEARTBEAT: "HEARTBEAT",
    NOTICE: "NOTICE",
    FAREWELL: "FAREWELL",
    MESSAGE: "MESSAGE",
    OUTPUT: "OUTPUT",
    CHANNEL_HELLO: "CHANNEL_HELLO",
    CHANNEL_MESSAGE: "CHANNEL_MESSAGE",
    CHANNEL_CONFIRM: "CHANNEL_CONFIRM",
    CHANNEL_END: "CHANNEL_END",
    CHANNEL_STOP: "CHANNEL_STOP",
    CHANNEL_PING: "CHANNEL_PING",
    REKEY: "REKEY",
    REPLICA_HELLO: "REPLICA_HELLO",
    REPLICA_LIFE: "REPLICA_LIFE",
    REPLICA_LOG: "REPLICA_LOG",
    REPLICA_LOG_ACK: "REPLICA_LOG_ACK",
    BASE_BEGIN: "BASE_BEGIN",
    BASE_OBJECTS: "BASE_OBJECTS",
    BASE_QUEUE: "BASE_QUEUE",
    BASE_MESSAGES: "BASE_MESSAGES",
    BASE_END: "BASE_END",
    FETCH: "FETCH",
    SIDE_FILE: "SIDE_FILE",
    PAIR_STATE: "PAIR_STATE",
    CF_HELLO: "CF_HELLO",
    CF_PROGRAM: "CF_PROGRAM",
    CF_EVENT: "CF_EVENT",
    CF_END: "CF_END",
}

MORE: Final = 1

# No frame may be longer than this until HELLO is answered.
FIRST_FRAME_BYTES_MAX: Final = 1024
SEGMENT_BYTES: Final = 128 * 1024
SEGMENT_BYTES_MIN: Final = 8 * 1024
SEGMENT_BYTES_MAX: Final = 1024 * 1024
# Bytes of a payload beside the message data: descriptor, properties, names.
PAYLOAD_OVERHEAD_BYTES: Final = 128 * 1024
MESSAGE_BYTES_MAX: Final = 104857600
_PARTS_MAX: Final = 1024
_UNSIGNED: Final = 0xFFFFFFFF


class MalformedFrame(Exception):
    """The peer broke the protocol. The link is closed, and the text gives the reason."""


@final
class FrameReader:
    """Splits a stream of bytes into frames. After `next` the attributes hold the frame.

    The payload is `buffer[start:end]`. Nothing is copied before the caller slices it.
    """

    def __init__(self, frame_bytes_max: i64 = FIRST_FRAME_BYTES_MAX) -> None:
        self.frame_bytes_max: i64 = frame_bytes_max
        self.buffer: bytes = b""
        self._at: i64 = 0  # the start of the next frame
        self._parts: list[bytes] = []  # received after `buffer`, while a frame is incomplete
        self._parts_bytes: i64 = 0
        self._needed: i64 = HEADER_BYTES
        self.type: i64 = 0
        self.flags: i64 = 0
        self.conversation: i64 = 0
        self.request: i64 = 0
        self.start: i64 = 0
        self.end: i64 = 0

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        if self._at == len(self.buffer) and not self._parts:
            self.buffer = data
            self._at = 0
            return
        self._parts.append(data)
        self._parts_bytes += len(data)
        if len(self.buffer) - self._at + self._parts_bytes >= self._needed:
            self._join()
        elif len(self._parts) >= _PARTS_MAX:
            # A peer that sends byte by byte must not use many times the memory of its bytes.
            self._parts = [b"".join(self._parts)]

    def _join(self) -> None:
        parts = [self.buffer[self._at :]]
        parts.extend(self._parts)
        self.buffer = b"".join(parts)
        self._at = 0
        self._parts = []
        self._parts_bytes = 0

    def next(self) -> bool:
        """Go to the next frame. Return False if it is incomplete. Raises MalformedFrame if it cannot be valid."""
        buffer = self.buffer
        at: i64 = self._at
        there: i64 = len(buffer) - at
        if there < HEADER_BYTES:
            self._needed = HEADER_BYTES
            return self._parts_bytes > 0 and self._next_joined()
        length: i64 = i64(read_i32_le(buffer, at)) & _UNSIGNED
        if length < HEADER_BYTES or length > self.frame_bytes_max:
            raise MalformedFrame(f"a frame of {length} bytes; the limit is {self.frame_bytes_max}")
        if there < length:
            self._needed = length
            return self._parts_bytes > 0 and self._next_joined()
        word: i64 = i64(read_i32_le(buffer, at + 4)) & _UNSIGNED
        if word >> 16:
            raise MalformedFrame("reserved bytes of a frame's header are not zero")
        self.type = word & 0xFF
        self.flags = (word >> 8) & 0xFF
        if self.flags & ~MORE:
            raise MalformedFrame(f"flags {self.flags} of a frame are not known")
        self.conversation = i64(read_i32_le(buffer, at + 8)) & _UNSIGNED
        self.request = i64(read_i32_le(buffer, at + 12)) & _UNSIGNED
        self.start = at + HEADER_BYTES
        self.end = at + length
        self._at = at + length
        return True

    def put_back(self) -> None:
        """Let the following `next` return the current frame again."""
        self._at = self.start - HEADER_BYTES

    def _next_joined(self) -> bool:
        """Go to the next frame if its rest was received since the last `next`."""
        if len(self.buffer) - self._at + self._parts_bytes < self._needed:
            return False
        self._join()
        return self.next()

    def pending_bytes(self) -> int:
        """Return the number of received bytes that belong to no returned frame."""
        return len(self.buffer) - self._at + self._parts_bytes

    def unread(self) -> bytes:
        """Return the bytes behind the current frame."""
        return self.buffer[self._at :] + b"".join(self._parts)


def write_number(writer: BytesWriter, value: i64) -> None:
    write_i32_le(writer, i32(value))


def write_header(writer: BytesWriter, length: i64, type: i64, conversation: i64, request: i64) -> None:
    """Write the header of a single frame; `length` includes the header."""
    write_number(writer, length)
    write_i16_le(writer, i16(type))
    write_i16_le(writer, 0)
    write_number(writer, signed(conversation))
    write_number(writer, signed(request))


def signed(value: i64) -> i64:
    """Return the signed 32-bit number with the bits of an unsigned one."""
    return value - 0x100000000 if value > 0x7FFFFFFF else value


def frame(type: i64, conversation: i64, request: i64, payload: bytes = b"") -> bytes:
    """Return a single frame."""
    writer = BytesWriter()
    write_header(writer, HEADER_BYTES + len(payload), type, conversation, request)
    writer.write(payload)
    return writer.getvalue()
