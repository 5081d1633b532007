"""Frames of the native protocol for load clients: prepared once and filled in, and reassembled when received."""

from __future__ import annotations

from typing import Final

from ostler.lab.load.client import LoadFailed
from ostler.model import constants as mq
from ostler.model.reasons import describe
from ostler.model.structures.md import MQMD
from ostler.wire import frames, object_frames, payload_codec, put_get_frames, replies, segments
from ostler.wire.payload_codec import PayloadReader

ID_BYTES: Final = 24
NO_ID: Final = bytes(ID_BYTES)
NO_IDS: Final = bytes(2 * ID_BYTES)
MD_MESSAGE_ID: Final = MQMD.offset("MsgId")
MD_CORRELATION_ID: Final = MQMD.offset("CorrelId")
MD_REPLY_TO: Final = MQMD.offset("ReplyToQ")

# Request numbers. A client has at most one request of each kind in flight.
CONNECT_REQUEST: Final = 1
PUT_REQUEST: Final = 1
GET_REQUEST: Final = 2
COMMIT_REQUEST: Final = 3
STATUS_REQUEST: Final = 4
LEAVE_REQUEST: Final = 5

_PUT1_NAME: Final = 8  # behind type and options of the object
_VERBS: Final = {
    frames.HELLO: "the first frame",
    frames.CONNECT: "MQCONN",
    frames.DISCONNECT: "MQDISC",
    frames.OPEN: "MQOPEN",
    frames.CLOSE: "MQCLOSE",
    frames.PUT: "MQPUT",
    frames.PUT1: "MQPUT1",
    frames.GET: "MQGET",
    frames.COMMIT: "MQCMIT",
    frames.STATUS: "MQSTAT",
    frames.SUBSCRIBE: "MQSUB",
    frames.MESSAGE: "MQGET with read-ahead",
}


def failure(kind: int, buffer: bytes, start: int, end: int) -> LoadFailed:
    """Return the text of a failure: the verb, the reason by name and number, and the text of the queue manager."""
    if kind in (frames.NOTICE, frames.FAREWELL):
        reason, text = replies.decode_reason(PayloadReader(buffer, start, end))
        what = "took leave" if kind == frames.FAREWELL else "gave notice"
        return LoadFailed(f"Ostler {what} with {described(reason)}: {text}")
    verb = _VERBS.get(kind & ~frames.REPLY)
    if verb is None or end - start < replies.REPLY_FIXED_BYTES:
        return LoadFailed(f"Ostler sent a frame of type {kind}, which nobody asked for")
    reason = int.from_bytes(buffer[start + 4 : start + 8], "little")
    text = buffer[start + 8 : end][:200].decode(errors="replace") if end - start < put_get_frames.MD_BYTES else ""
    return LoadFailed(f"Ostler answered {verb} with {described(reason)}{': ' if text else ''}{text}")


def described(reason: int) -> str:
    return f"{describe(reason).name} ({reason})"


class MqReader:
    """Reads frames; payloads in segments are returned when they are complete.

    After `next` the parts of the frame are in the attributes. Its payload has `size` bytes; `buffer` has them from
    `start` to `end`, or the first of them when they came in segments. A client that needs all of them calls `data`.
    """

    def __init__(self) -> None:
        self._frames = frames.FrameReader(frames.SEGMENT_BYTES)
        self._incomplete: dict[tuple[int, int], list[bytes]] = {}
        self._segments: list[bytes] = []
        self.type = 0
        self.conversation = 0
        self.request = 0
        self.buffer = b""
        self.start = 0
        self.end = 0
        self.size = 0

    def feed(self, data: bytes) -> None:
        self._frames.feed(data)

    def next(self) -> bool:
        """Go to the next complete payload. Returns False when it has not arrived yet."""
        reader = self._frames
        while reader.next():
            self.type = reader.type
            self.conversation = reader.conversation
            self.request = reader.request
            if not reader.flags & frames.MORE and not self._incomplete:
                if self._segments:
                    self._segments = []
                self.buffer = reader.buffer
                self.start = reader.start
                self.end = reader.end
                self.size = self.end - self.start
                return True
            if self._is_whole(reader.flags & frames.MORE != 0):
                return True
        return False

    def data(self, start: int) -> bytes:
        """Return the payload from an offset in `buffer` on."""
        if not self._segments:
            return self.buffer[start : self.end]
        # Only the first is copied twice.
        return b"".join([self.buffer[start:], *self._segments[1:]])

    def _is_whole(self, more: bool) -> bool:
        """Read a frame while payloads are incomplete. Returns True when it is whole, or the last segment of a
        payload."""
        reader = self._frames
        key = (self.conversation, self.request)
        segments = self._incomplete.setdefault(key, [])
        segments.append(reader.buffer[reader.start : reader.end])
        if more:
            return False
        del self._incomplete[key]
        self._segments = segments
        self.buffer = segments[0]
        self.start = 0
        self.end = len(self.buffer)
        self.size = sum([len(each) for each in segments])
        return True


class PutFrames:
    """MQPUT of messages of the same length: identifiers and data are filled in."""

    def __init__(self, conversation: int, request: int, hobj: int, options: int, md: bytes, data_bytes: int) -> None:
        payload = put_get_frames.put_payload(hobj, options, 0, md, b"", b"")
        cut = put_get_frames.PUT_MD + MD_MESSAGE_ID
        self._head = payload[:cut]
        self._tail = payload[cut + 2 * ID_BYTES :]
        # Headers of segments, with the range of the data that each has.
        self._segments: list[tuple[bytes, int, int]] = []
        room = frames.SEGMENT_BYTES - frames.HEADER_BYTES
        start, end = 0, min(data_bytes, room - len(payload))
        while True:
            length = end - start + (len(payload) if start == 0 else 0)
            more = end < data_bytes
            header = segments.segment(frames.PUT, conversation, request, more, bytes(length))[: frames.HEADER_BYTES]
            self._segments.append((header, start, end))
            if not more:
                break
            start, end = end, min(data_bytes, end + room)
        self.is_long = len(self._segments) > 1
        self._head_in_frame = self._segments[0][0] + self._head

    def filled(self, ids: bytes, data: bytes, behind: bytes = b"") -> bytes:
        """Return the frame with message and correlation id, 24 bytes each, and the bytes to send behind it. The data
        must have the given length."""
        if self.is_long:
            return self.filled_long(ids, b"", data, behind)
        return b"".join((self._head_in_frame, ids, self._tail, data, behind))

    def filled_long(self, ids: bytes, front: bytes, rest: bytes, behind: bytes) -> bytes:
        """Return the segments of data in two parts, of which the first is short.

        Long messages are copied only once: that would take longer than everything else.
        """
        view = memoryview(rest)
        parts: list[bytes | memoryview] = []
        for header, start, end in self._segments:
            if start == 0:
                parts += [header, self._head, ids, self._tail, front, view[: end - len(front)]]
            else:
                parts += [header, view[start - len(front) : end - len(front)]]
        parts.append(behind)
        return b"".join(parts)


class Put1Frames:
    """MQPUT1 of messages to queues named by requests."""

    def __init__(self, conversation: int, request: int, options: int, md: bytes) -> None:
        self._conversation = conversation
        self._request = request
        target = object_frames.OpenArguments(mq.MQOT_Q, "", 0)
        whole = object_frames.Put1Arguments(target, options, 0, md, b"", b"").encode()
        ids = whole.index(md) + MD_MESSAGE_ID
        self._head = whole[:_PUT1_NAME]
        self._manager = whole[_PUT1_NAME + payload_codec.NAME_BYTES : _PUT1_NAME + 2 * payload_codec.NAME_BYTES]
        self._middle = whole[_PUT1_NAME + 2 * payload_codec.NAME_BYTES : ids]
        self._tail = whole[ids + 2 * ID_BYTES :]

    def filled(self, queue: bytes, ids: bytes, data: bytes, behind: bytes, manager: bytes = b"") -> bytes:
        """Return the frame for a queue, by its name and that of its queue manager as in a descriptor: 48 bytes each."""
        payload = b"".join((self._head, queue, manager or self._manager, self._middle, ids, self._tail, data))
        made = segments.frames_of(frames.PUT1, self._conversation, self._request, payload, frames.SEGMENT_BYTES)
        return b"".join((*made, behind))


class GetFrames:
    """MQGET with unlimited wait of messages up to some length: the next one, or one by correlation id."""

    def __init__(
        self, conversation: int, hobj: int, options: int, by_correlation: bool, data_bytes: int, ccsid: int = 0
    ) -> None:
        """Make the frames. With a CCSID the queue manager converts the data to it."""
        self.any = put_get_frames.get_frame(
            conversation, GET_REQUEST, get_payload(hobj, options, by_correlation, data_bytes, ccsid)
        )
        cut = frames.HEADER_BYTES + put_get_frames.GET_CORRELATION_ID
        self._head = self.any[:cut]
        self._tail = self.any[cut + ID_BYTES :]

    def of(self, correlation_id: bytes) -> bytes:
        return b"".join((self._head, correlation_id, self._tail))


def get_options(in_unit: bool, is_jms: bool) -> int:
    options = mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | (mq.MQGMO_SYNCPOINT if in_unit else mq.MQGMO_NO_SYNCPOINT)
    # Whatever PROPCTL is: a JMS program reads properties from the header itself.
    return options | mq.MQGMO_PROPERTIES_FORCE_MQRFH2 if is_jms else options


def get_payload(hobj: int, options: int, by_correlation: bool, data_bytes: int, ccsid: int = 0) -> bytes:
    if ccsid:
        options |= mq.MQGMO_CONVERT
    encoding = mq.MQENC_NATIVE if ccsid else 0
    match = mq.MQMO_MATCH_CORREL_ID if by_correlation else mq.MQMO_NONE
    ids = (NO_ID, NO_ID, put_get_frames.NO_GROUP, 0, 0, put_get_frames.NO_TOKEN, b"")
    return put_get_frames.get_payload(hobj, options, mq.MQWI_UNLIMITED, match, data_bytes, encoding, ccsid, 0, *ids)
