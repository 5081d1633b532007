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
    """One frame of a payload that is sent in several."""
    writer = BytesWriter()
    write_number(writer, HEADER_BYTES + len(payload))
    write_i16_le(writer, i16(type | (MORE << 8) if more else type))
    write_i16_le(writer, 0)
    write_number(writer, signed(conversation))
    write_number(writer, signed(request))
    writer.write(payload)
    return writer.getvalue()


def frames_of(type: i64, conversation: i64, request: i64, payload: bytes, segment_bytes: i64) -> list[bytes]:
    """A payload as the frames that carry it."""
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
    """A payload longer than a segment, on its way; or a frame that has to come behind one.

    What belongs to the same request follows one another: the peer could not tell their segments apart.
    """

    def __init__(self, type: i64, conversation: i64, request: i64, head: bytes, body: bytes) -> None:
        self.type: i64 = type
        self.conversation: i64 = conversation
        self.request: i64 = request
        self.head = head
        self.body = body
        self.at: i64 = 0  # of head and body together
        self.size: i64 = len(head) + len(body)
        self.following: OutgoingPayload | None = None

    def next_frame(self, room: i64) -> bytes:
        """The next segment, with up to so many bytes of payload; `is_sent` tells whether it was the last."""
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
        """The end of the row that begins here."""
        found = self
        while found.following is not None:
            found = found.following
        return found


@final
class IncomingPayload:
    """A payload that comes in several segments."""

    def __init__(self, type: i64, bytes_max: i64) -> None:
        self.type: i64 = type
        self.bytes_max: i64 = bytes_max
        self.size: i64 = 0
        self.cost_bytes: i64 = 0  # what it takes in memory, for who keeps account of that
        self.head = b""
        # It returns what was written to it without another copy: nobody waits while 100 MB are put together.
        self._data = BytesIO()

    def add(self, part: bytes, head_bytes: i64 = 0) -> None:
        """Add a segment. The first bytes of the first one may be kept apart, as `head`."""
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
        """All segments in one, without the head. They are not kept."""
        data = self._data
        self._data = BytesIO()
        return data.getvalue()
