"""A lean client of Ostler: frames of the native protocol, made once and filled in.

It does what the reports' applications do: a requester puts a request on the request queues in turn, keeps its message
id, and gets the reply with that correlation id from the matching reply queue; a responder gets the next request and
puts the reply on the reply queue it has open. For persistent messages the responder works in units of work, and the
requester outside of them.

Verb by verb, each call waits for its answer, as MQI programs do. Pipelined, a requester chooses the message id itself
and sends the put together with the get; puts of non-persistent messages are answered only if they fail.
"""

from __future__ import annotations

from ostler.lab.load.client import LoadClient, LoadFailed, Pace, reply_for
from ostler.model.constants import (
    MQCC_OK,
    MQGMO_FAIL_IF_QUIESCING,
    MQGMO_NO_SYNCPOINT,
    MQGMO_SYNCPOINT,
    MQGMO_WAIT,
    MQMO_MATCH_CORREL_ID,
    MQMO_NONE,
    MQOO_FAIL_IF_QUIESCING,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQOT_Q,
    MQPMO_ASYNC_RESPONSE,
    MQPMO_NEW_MSG_ID,
    MQPMO_NO_SYNCPOINT,
    MQPMO_SYNCPOINT,
    MQWI_UNLIMITED,
)
from ostler.model.structures.md import MQMD
from ostler.wire import calls, exchanges, frames

VERBS = "verbs"
PIPELINED = "pipelined"
_CONVERSATION = 1
_ID_BYTES = 24
_PUT_REQUEST, _GET_REQUEST, _COMMIT_REQUEST = 1, 2, 3
_PUT_REPLY = frames.PUT | frames.REPLY
_GET_REPLY = frames.GET | frames.REPLY
_COMMIT_REPLY = frames.COMMIT | frames.REPLY
_MD_MESSAGE_ID = MQMD.offset("MsgId")
_MD_CORRELATION_ID = MQMD.offset("CorrelId")
_SEGMENT_BYTES = 128 * 1024


def request_queue(pair: int) -> str:
    return f"LAB.REQUEST.{pair}"


def reply_queue(pair: int) -> str:
    return f"LAB.REPLY.{pair}"


class MqClient(LoadClient):
    """A requester of all queue pairs, or a responder of one."""

    def __init__(
        self,
        pace: Pace,
        is_requester: bool,
        number: int,
        pairs: int,
        body_bytes: int,
        persistent: bool,
        mode: str,
        channel: str,
    ) -> None:
        super().__init__(pace, is_requester)
        self._pairs = pairs
        self._pair = number % pairs
        self._body_bytes = body_bytes
        self._persistent = persistent
        self._pipelined = mode == PIPELINED
        self._channel = channel
        self._own = b"LOAD" + number.to_bytes(8, "big")
        self._sequence = 0
        self._expected = b""
        self._waits_for_put = False
        self._waits_for_reply = False
        self._reader = frames.FrameReader(_SEGMENT_BYTES)
        opened = list(range(pairs)) if is_requester else [self._pair]
        self._opens = [(request_queue(pair), not is_requester) for pair in opened]
        self._opens += [(reply_queue(pair), is_requester) for pair in opened]
        self._handles: dict[int, int] = {}
        # Frames by queue pair, cut where something is filled in.
        self._put_heads: list[bytes] = []
        self._put_tails: list[bytes] = []
        self._get_heads: list[bytes] = []
        self._get_tail = b""
        self._commit = frames.frame(frames.COMMIT, _CONVERSATION, _COMMIT_REQUEST)

    def opening(self) -> bytes:
        hello = exchanges.Hello(self._channel)
        hello.message_bytes_max = frames.MESSAGE_BYTES_MAX
        return frames.frame(frames.HELLO, 0, 1, hello.encode())

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        self._sequence += 1
        pair = self._pair = self._pair + 1 if self._pair + 1 < self._pairs else 0
        body = reply_for(self._sequence, self._body_bytes)
        self._waits_for_reply = True
        if not self._pipelined:
            return b"".join((self._put_heads[pair], bytes(2 * _ID_BYTES), self._put_tails[pair], body))
        self._waits_for_put = self._persistent
        own = self._expected = self._own + self._sequence.to_bytes(12, "big")
        put = (self._put_heads[pair], own, bytes(_ID_BYTES), self._put_tails[pair], body)
        return b"".join((*put, self._get_heads[pair], own, self._get_tail))

    def receive(self, data: bytes, now_ns: int) -> bytes:
        if not self.is_ready:
            return self._set_up(data)
        reader = self._reader
        reader.feed(data)
        answers: list[bytes] = []
        while reader.next():
            answers.append(self._frame(reader.type, reader.buffer, reader.start, reader.end, now_ns))
        return answers[0] if len(answers) == 1 else b"".join(answers)

    def _frame(self, kind: int, buffer: bytes, start: int, end: int, now_ns: int) -> bytes:
        if kind == frames.HEARTBEAT:
            return calls.reply_frame(frames.HEARTBEAT, 0, self._reader.request, MQCC_OK, 0)
        if kind not in (_PUT_REPLY, _GET_REPLY, _COMMIT_REPLY) or buffer[start] != MQCC_OK:
            raise LoadFailed(_told(kind, buffer, start, end))
        if self.is_requester:
            return self._requester(kind, buffer, start, end, now_ns)
        return self._responder(kind, buffer, start, end)

    def _requester(self, kind: int, buffer: bytes, start: int, end: int, now_ns: int) -> bytes:
        if kind == _PUT_REPLY:
            if self._pipelined:
                self._waits_for_put = False
                return b"" if self._waits_for_reply else self.replied(now_ns)
            at = start + calls.REPLY_FIXED_BYTES + _MD_MESSAGE_ID
            self._expected = buffer[at : at + _ID_BYTES]
            return b"".join((self._get_heads[self._pair], self._expected, self._get_tail))
        at = start + calls.GOT_MD + _MD_CORRELATION_ID
        if buffer[at : at + _ID_BYTES] != self._expected or end - start != calls.GOT_FIXED_BYTES + self._body_bytes:
            raise LoadFailed("a reply has another correlation id or length than was asked for")
        self._waits_for_reply = False
        return b"" if self._waits_for_put else self.replied(now_ns)

    def _responder(self, kind: int, buffer: bytes, start: int, end: int) -> bytes:
        get = self._get_heads[0]
        if kind == _COMMIT_REPLY:
            return b"" if self._pipelined else get
        if kind == _PUT_REPLY:
            return self._commit if self._persistent else get
        at = start + calls.GOT_MD + _MD_MESSAGE_ID
        correlation_id = buffer[at : at + _ID_BYTES]
        body = buffer[start + calls.GOT_FIXED_BYTES : end]
        put = (self._put_heads[0], bytes(_ID_BYTES), correlation_id, self._put_tails[0], body)
        if not self._pipelined:
            return b"".join(put)
        return b"".join((*put, self._commit, get)) if self._persistent else b"".join((*put, get))

    def _set_up(self, data: bytes) -> bytes:
        self._reader.feed(data)
        answers: list[bytes] = []
        while self._reader.next():
            reader = self._reader
            kind, payload = reader.type, reader.buffer[reader.start : reader.end]
            if kind == frames.HELLO | frames.REPLY and payload[0] == MQCC_OK:
                answers.append(self._connect())
            elif kind == frames.CONNECT | frames.REPLY and payload[0] == MQCC_OK:
                answers += [self._open(at, queue, intake) for at, (queue, intake) in enumerate(self._opens)]
            elif kind == frames.OPEN | frames.REPLY and payload[0] == MQCC_OK:
                replied = exchanges.decode_reply(payload)
                self._handles[reader.request - 1] = exchanges.decode_opened(replied.reader).hobj
            else:
                raise LoadFailed(_told(kind, payload, 0, len(payload)))
        if len(self._handles) == len(self._opens):
            self._make_frames()
            self.is_ready = True
            if not self.is_requester:
                answers.append(self._get_heads[0])
        return b"".join(answers)

    def _connect(self) -> bytes:
        connect = exchanges.Connect()
        connect.application = "ostler-lab"
        return frames.frame(frames.CONNECT, _CONVERSATION, 1, connect.encode())

    def _open(self, number: int, queue: str, intake: bool) -> bytes:
        options = MQOO_FAIL_IF_QUIESCING | (MQOO_INPUT_SHARED if intake else MQOO_OUTPUT)
        asked = exchanges.OpenArguments(MQOT_Q, queue, options)
        return frames.frame(frames.OPEN, _CONVERSATION, number + 1, asked.encode())

    def _make_frames(self) -> None:
        count = len(self._opens) // 2
        for pair in range(count):
            first, second = self._handles[pair], self._handles[count + pair]
            output, intake = (first, second) if self.is_requester else (second, first)
            self._add_put(output, reply_queue(pair))
            self._get_heads.append(self._get_head(intake))

    def _add_put(self, hobj: int, reply_to: str) -> None:
        unit = self._persistent and not self.is_requester
        options = MQPMO_SYNCPOINT if unit else MQPMO_NO_SYNCPOINT
        request = _PUT_REQUEST
        if self._pipelined and (unit or not self._persistent):
            options |= MQPMO_ASYNC_RESPONSE
            request = 0
        if not (self._pipelined and self.is_requester):
            options |= MQPMO_NEW_MSG_ID
        md = MQMD.default(2)
        MQMD.patch(md, "Persistence", 1 if self._persistent else 0)
        if self.is_requester:
            MQMD.patch(md, "ReplyToQ", reply_to)
        whole = calls.put_frame(_CONVERSATION, request, hobj, options, 0, bytes(md), b"", bytes(self._body_bytes))
        cut = frames.HEADER_BYTES + calls.PUT_MD + _MD_MESSAGE_ID
        self._put_heads.append(whole[:cut])
        self._put_tails.append(whole[cut + 2 * _ID_BYTES : len(whole) - self._body_bytes])

    def _get_head(self, hobj: int) -> bytes:
        unit = self._persistent and not self.is_requester
        options = MQGMO_WAIT | MQGMO_FAIL_IF_QUIESCING | (MQGMO_SYNCPOINT if unit else MQGMO_NO_SYNCPOINT)
        match = MQMO_MATCH_CORREL_ID if self.is_requester else MQMO_NONE
        ids = (bytes(_ID_BYTES), bytes(_ID_BYTES), calls.NO_GROUP, 0, 0, calls.NO_TOKEN, b"")
        payload = calls.get_payload(hobj, options, MQWI_UNLIMITED, match, self._body_bytes, 0, 0, 0, *ids)
        whole = calls.get_frame(_CONVERSATION, _GET_REQUEST, payload)
        if not self.is_requester:
            return whole
        cut = frames.HEADER_BYTES + calls.GET_CORRELATION_ID
        self._get_tail = whole[cut + _ID_BYTES :]
        return whole[:cut]


def _told(kind: int, buffer: bytes, start: int, end: int) -> str:
    name = frames.TYPE_NAMES.get(kind & ~frames.REPLY, str(kind))
    reason = int.from_bytes(buffer[start + 4 : start + 8], "little")
    return f"Ostler answered {name} with reason {reason}: {buffer[start + 8 : end][:200].decode(errors='replace')}"
