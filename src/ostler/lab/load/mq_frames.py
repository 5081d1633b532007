"""Frames of the native protocol for load clients: made once and filled in, and put together again when they come."""

from __future__ import annotations

from typing import Final

from ostler.lab.load.client import LoadFailed
from ostler.model.constants import (
    MQGMO_FAIL_IF_QUIESCING,
    MQGMO_NO_SYNCPOINT,
    MQGMO_PROPERTIES_FORCE_MQRFH2,
    MQGMO_SYNCPOINT,
    MQGMO_WAIT,
    MQMO_MATCH_CORREL_ID,
    MQMO_NONE,
    MQOT_Q,
    MQWI_UNLIMITED,
)
from ostler.model.reasons import describe
from ostler.model.structures.md import MQMD
from ostler.wire import calls, exchanges, frames
from ostler.wire.payloads import PayloadReader

ID_BYTES: Final = 24
NO_ID: Final = bytes(ID_BYTES)
NO_IDS: Final = bytes(2 * ID_BYTES)
MD_MESSAGE_ID: Final = MQMD.offset("MsgId")
MD_CORRELATION_ID: Final = MQMD.offset("CorrelId")
MD_REPLY_TO: Final = MQMD.offset("ReplyToQ")

# Numbers of requests. A client has at most one of each under way.
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
    frames.MESSAGE: "MQGET with read-ahead",
}


def failure(kind: int, buffer: bytes, start: int, end: int) -> LoadFailed:
    """A frame that says no, in words: the verb, the reason by name and number, and what the queue manager adds."""
    if kind in (frames.NOTICE, frames.FAREWELL):
        reason, text = exchanges.decode_reason(PayloadReader(buffer, start, end))
        what = "took leave" if kind == frames.FAREWELL else "gave notice"
        return LoadFailed(f"Ostler {what} with {described(reason)}: {text}")
    verb = _VERBS.get(kind & ~frames.REPLY)
    if verb is None or end - start < calls.REPLY_FIXED_BYTES:
        return LoadFailed(f"Ostler sent a frame of type {kind}, which nobody asked for")
    reason = int.from_bytes(buffer[start + 4 : start + 8], "little")
    text = buffer[start + 8 : end][:200].decode(errors="replace") if end - start < calls.MD_BYTES else ""
    return LoadFailed(f"Ostler answered {verb} with {described(reason)}{': ' if text else ''}{text}")


def described(reason: int) -> str:
    return f"{describe(reason).name} ({reason})"


class MqReader:
    """Frames as they come; payloads in segments are put together first.

    After `next` the parts of the frame are in the attributes, and its payload is `buffer[start:end]`.
    """

    def __init__(self) -> None:
        self._frames = frames.FrameReader(frames.SEGMENT_BYTES)
        self._assemblies: dict[tuple[int, int], frames.Assembly] = {}
        self.type = 0
        self.conversation = 0
        self.request = 0
        self.buffer = b""
        self.start = 0
        self.end = 0

    def feed(self, data: bytes) -> None:
        self._frames.feed(data)

    def next(self) -> bool:
        """Go to the next whole payload; False when it has not come yet."""
        reader = self._frames
        while reader.next():
            self.type = reader.type
            self.conversation = reader.conversation
            self.request = reader.request
            if not reader.flags & frames.MORE and not self._assemblies:
                self.buffer = reader.buffer
                self.start = reader.start
                self.end = reader.end
                return True
            if self._is_whole(reader.flags & frames.MORE != 0):
                return True
        return False

    def _is_whole(self, more: bool) -> bool:
        """Take a frame while payloads are incomplete; True when it is whole, or the last segment of a payload."""
        reader = self._frames
        part = reader.buffer[reader.start : reader.end]
        key = (self.conversation, self.request)
        assembly = self._assemblies.get(key)
        if assembly is None:
            assembly = frames.Assembly(reader.type, frames.MESSAGE_BYTES_MAX + frames.PAYLOAD_OVERHEAD_BYTES)
            self._assemblies[key] = assembly
        assembly.add(part)
        if more:
            return False
        del self._assemblies[key]
        self.buffer = assembly.whole()
        self.start = 0
        self.end = len(self.buffer)
        return True


class PutFrames:
    """MQPUT of messages that all have the same length: identifiers and data are filled in."""

    def __init__(self, conversation: int, request: int, hobj: int, options: int, md: bytes, data_bytes: int) -> None:
        self._conversation = conversation
        self._request = request
        self._is_long = frames.HEADER_BYTES + calls.PUT_FIXED_BYTES + data_bytes > frames.SEGMENT_BYTES
        self._data_bytes = data_bytes
        if self._is_long:
            whole = calls.put_payload(hobj, options, 0, md, b"", b"")
            cut = calls.PUT_MD + MD_MESSAGE_ID
        else:
            data = bytes(data_bytes)
            whole = calls.put_frame(conversation, request, hobj, options, 0, md, b"", data)[: -data_bytes or None]
            cut = frames.HEADER_BYTES + calls.PUT_MD + MD_MESSAGE_ID
        self._head = whole[:cut]
        self._tail = whole[cut + 2 * ID_BYTES :]

    def filled(self, ids: bytes, data: bytes) -> bytes:
        """With message and correlation id, 24 bytes each. The data has the length that was said."""
        made = b"".join((self._head, ids, self._tail, data))
        if not self._is_long:
            return made
        return b"".join(frames.frames_of(frames.PUT, self._conversation, self._request, made, frames.SEGMENT_BYTES))


class Put1Frames:
    """MQPUT1 of messages to queues whose names come with the requests."""

    def __init__(self, conversation: int, request: int, options: int, md: bytes) -> None:
        self._conversation = conversation
        self._request = request
        target = exchanges.OpenArguments(MQOT_Q, "", 0)
        whole = exchanges.Put1(target, options, 0, md, b"", b"").encode()
        ids = whole.index(md) + MD_MESSAGE_ID
        self._head = whole[:_PUT1_NAME]
        self._middle = whole[_PUT1_NAME + exchanges.NAME_BYTES : ids]
        self._tail = whole[ids + 2 * ID_BYTES :]

    def filled(self, queue: bytes, ids: bytes, data: bytes) -> bytes:
        """To a queue, by its name as a descriptor has it: 48 bytes."""
        payload = b"".join((self._head, queue, self._middle, ids, self._tail, data))
        return b"".join(frames.frames_of(frames.PUT1, self._conversation, self._request, payload, frames.SEGMENT_BYTES))


class GetFrames:
    """MQGET with unlimited wait of messages up to some length: the next one, or that with some correlation id."""

    def __init__(self, conversation: int, hobj: int, options: int, by_correlation: bool, data_bytes: int) -> None:
        self.any = calls.get_frame(conversation, GET_REQUEST, get_payload(hobj, options, by_correlation, data_bytes))
        cut = frames.HEADER_BYTES + calls.GET_CORRELATION_ID
        self._head = self.any[:cut]
        self._tail = self.any[cut + ID_BYTES :]

    def of(self, correlation_id: bytes) -> bytes:
        return b"".join((self._head, correlation_id, self._tail))


def get_options(in_unit: bool, is_jms: bool) -> int:
    options = MQGMO_WAIT | MQGMO_FAIL_IF_QUIESCING | (MQGMO_SYNCPOINT if in_unit else MQGMO_NO_SYNCPOINT)
    # Whatever PROPCTL says: a JMS program reads properties from the header itself.
    return options | MQGMO_PROPERTIES_FORCE_MQRFH2 if is_jms else options


def get_payload(hobj: int, options: int, by_correlation: bool, data_bytes: int) -> bytes:
    match = MQMO_MATCH_CORREL_ID if by_correlation else MQMO_NONE
    ids = (NO_ID, NO_ID, calls.NO_GROUP, 0, 0, calls.NO_TOKEN, b"")
    return calls.get_payload(hobj, options, MQWI_UNLIMITED, match, data_bytes, 0, 0, 0, *ids)
