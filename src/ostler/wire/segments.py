"""Payloads that are longer than a frame: cut into segments on the way out, joined on the way in. No sockets here."""

from __future__ import annotations

from io import BytesIO
from typing import Final, final

from librt.strings import BytesWriter, write_i16_le
from mypy_extensions import i16, i64

from ostler.wire.frames import HEADER_BYTES, MORE, MalformedFrame, frame, signed, write_number

READY_FRAME = 0  # in place of a type: the head is a complete frame
# The memory that each segment takes beside its bytes while a payload is joined.
SEGMENT_COST_BYTES: Final = 64


def segment(type: i64, conversation: i64, request: i64, more: bool, payload: bytes) -> bytes:
    """Return one of several frames of a payload."""
    writer = BytesWriter()
    write_number(writer, HEADER_BYTES + len(payload))
    write_i16_le(writer, i16(type | (MORE << 8) if more else type))
    write_i16_le(writer, 0)
    write_number(writer, signed(conversation))
    write_number(writer, signed(request))
    writer.write(payload)
    return writer.getvalue()


def frames_of(type: i64, conversation: i64, request: i64, payload: bytes, segment_bytes: i64) -> list[bytes]:
    """Return all frames of a payload."""
    length: i64 = len(payload)
    if length + HEADER_BYTES <= segment_bytes:
        return [frame(type, conversation, request, payload)]
    room: i64 = segment_bytes - HEADER_BYTES
    made: list[bytes] = []
    at: i64 = 0
    while at < length:
        piece = payload[at : at + room]
        at += room
        made.append(segment(type, conversation, request, at < length, piece))
    return made


@final
class OutgoingPayload:
    """A payload that is sent in segments, or a complete frame that has to follow one.

    Payloads of the same request are sent one after the other: the peer could not tell their segments apart.
    """

    def __init__(self, type: i64, conversation: i64, request: i64, head: bytes, body: bytes) -> None:
        self.type: i64 = type
        self.conversation: i64 = conversation
        self.request: i64 = request
        self.head = head
        self.body = body
        self.at: i64 = 0  # offset in head and body
        self.size: i64 = len(head) + len(body)
        self.following: OutgoingPayload | None = None

    def next_frame(self, room: i64) -> bytes:
        """Return the next segment, with up to `room` bytes of payload. After the last one `is_sent` is True."""
        head = self.head
        at: i64 = self.at
        if self.type == READY_FRAME:
            self.at = self.size
            return head
        if at >= len(head):
            piece = self.body[at - len(head) : at - len(head) + room]
        else:
            piece = head[at : at + room]
            if len(piece) < room:
                piece += self.body[: room - len(piece)]
        self.at = at + len(piece)
        return segment(self.type, self.conversation, self.request, not self.is_sent(), piece)

    def is_sent(self) -> bool:
        return self.at >= self.size

    def last(self) -> OutgoingPayload:
        """Return the last of the payloads that follow this one."""
        found = self
        while found.following is not None:
            found = found.following
        return found


@final
class IncomingPayload:
    """A payload that is received in segments."""

    def __init__(self, type: i64, bytes_max: i64) -> None:
        self.type: i64 = type
        self.bytes_max: i64 = bytes_max
        self.size: i64 = 0
        self.cost_bytes: i64 = 0  # its memory, segments included
        self.head = b""
        # BytesIO returns its bytes without another copy, which would take long for 100 MB.
        self._data = BytesIO()

    def add(self, part: bytes, head_bytes: i64 = 0) -> None:
        """Add a segment. The first `head_bytes` of the first one are kept apart, in `head`."""
        self.size += len(part)
        self.cost_bytes += len(part) + SEGMENT_COST_BYTES
        if self.size > self.bytes_max:
            raise MalformedFrame(f"a payload of more than {self.bytes_max} bytes")
        if head_bytes > 0:
            self.head = part[:head_bytes]
            self._data.write(memoryview(part)[head_bytes:])
        else:
            self._data.write(part)

    def whole(self) -> bytes:
        """Return the joined segments without the head, and forget them."""
        data = self._data
        self._data = BytesIO()
        return data.getvalue()
