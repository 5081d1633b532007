"""Requesters and responders of Ostler, which work like the applications of the reports.

A requester puts a request on the request queues in turn, keeps its message id, and gets the reply with that correlation
id from the matching reply queue; or the next message from a reply queue of its own. A responder gets the next request,
puts the reply, and commits both where it works in units of work. A requester in units of work commits its put, which
would be invisible otherwise, and then its get.

Pipelined, a requester chooses the message id itself and sends the put together with the get.
"""

from __future__ import annotations

from typing import Final

from ostler.lab.load.client import LoadFailed, Pace, reply_for
from ostler.lab.load.mq.client import (
    INPUT,
    OUTPUT,
    MqClient,
    MqTerms,
    descriptor,
    own_reply_queue,
    reply_queue,
    request_queue,
    way_back,
)
from ostler.lab.load.mq.frames import (
    COMMIT_REQUEST,
    ID_BYTES,
    MD_CORRELATION_ID,
    MD_MESSAGE_ID,
    MD_REPLY_TO,
    NO_ID,
    NO_IDS,
    PUT_REQUEST,
    GetFrames,
    MqReader,
    Put1Frames,
    PutFrames,
    failure,
    get_options,
)
from ostler.lab.load.mq.jms import HEADER_BYTES_MAX, JmsHeader, data_at
from ostler.model import constants as mq
from ostler.wire import frames, object_frames, payload_codec, put_get_frames, replies

PUT_REPLY: Final = frames.PUT | frames.REPLY
PUT1_REPLY = frames.PUT1 | frames.REPLY
GET_REPLY: Final = frames.GET | frames.REPLY
COMMIT_REPLY: Final = frames.COMMIT | frames.REPLY
OPEN_REPLY: Final = frames.OPEN | frames.REPLY
SHOWN_BYTES: Final = 16
# A queue manager allows a connection 256 handles by default.
KEPT_OPEN_MAX: Final = 64


class MqRequester(MqClient):
    """Puts requests and gets replies."""

    def __init__(self, pace: Pace, number: int, terms: MqTerms, conversation: int = 1) -> None:
        super().__init__(pace, True, number, terms, conversation)
        own = terms.pair(number)
        self._pairs = list(range(terms.pairs)) if terms.goes_round else [own]
        self._turn = own if terms.goes_round else 0
        self._body_bytes = terms.body_bytes
        self._pipelined = terms.pipelined
        self._in_units = terms.requester_units
        self._own_id = b"LOAD" + number.to_bytes(8, "big")
        self._sequence = 0
        self._expected = b""
        self._waits_for_put = False
        self._waits_for_reply = False
        self._puts: list[PutFrames] = []
        self._gets: list[GetFrames] = []
        self._headers: list[bytes] = []
        self._commit = frames.frame(frames.COMMIT, conversation, COMMIT_REQUEST)

    def reply_to(self, pair: int) -> str:
        return own_reply_queue(self.number) if self.terms.own_replies else reply_queue(pair)

    def opens(self) -> list[tuple[str, int]]:
        found = [(self.terms.request_queue(self.number, pair), OUTPUT) for pair in self._pairs]
        if self.terms.own_replies:
            return [*found, (self.reply_to(0), INPUT)]
        return found + [(self.reply_to(pair), INPUT) for pair in self._pairs]

    def prepare(self) -> None:
        terms, handles = self.terms, self.handles
        self._puts, self._gets, self._headers = [], [], []
        options = put_options(self._in_units, self._sends_without_answer())
        if not self._pipelined:
            options |= mq.MQPMO_NEW_MSG_ID
        request = 0 if self._sends_without_answer() else PUT_REQUEST
        for at, pair in enumerate(self._pairs):
            header = b""
            if terms.is_jms:
                header = JmsHeader(request_queue(pair), self.reply_to(pair), terms.persistent, False).whole
            self._headers.append(header)
            back = way_back(terms.route(self.number, pair)) if terms.routes else ""
            md = descriptor(terms, self.reply_to(pair), back, terms.requester_ccsid)
            length = len(header) + self._body_bytes
            self._puts.append(PutFrames(self.conversation, request, handles[at], options, md, length))
            intake = handles[len(self._pairs)] if terms.own_replies else handles[len(self._pairs) + at]
            self._gets.append(self._get_frames(intake))

    def _get_frames(self, hobj: int) -> GetFrames:
        terms = self.terms
        length = self._body_bytes + (HEADER_BYTES_MAX if terms.is_jms else 0)
        options = get_options(self._in_units, terms.is_jms)
        ccsid = terms.requester_ccsid
        return GetFrames(self.conversation, hobj, options, not terms.own_replies, length, ccsid)

    def _sends_without_answer(self) -> bool:
        """Puts are not answered: a commit is, or nothing is promised."""
        return self._pipelined and (self._in_units or not self.terms.persistent)

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        return self.request()

    def request(self) -> bytes:
        """Return the next request; pipelined with all frames that need no answer in between."""
        self._sequence += 1
        turn = self._turn = self._turn + 1 if self._turn + 1 < len(self._pairs) else 0
        self._waits_for_reply = True
        if not self._pipelined:
            self._waits_for_put = True
            return self._put(turn, NO_IDS, b"")
        self._waits_for_put = self._in_units or self.terms.persistent
        own = self._expected = self._own_id + self._sequence.to_bytes(12, "big")
        get = self._gets[turn].of(own)
        return self._put(turn, own + NO_ID, self._commit + get if self._in_units else get)

    def _put(self, turn: int, ids: bytes, behind: bytes) -> bytes:
        """Return a put whose data identifies its request, and the frames sent with it."""
        put, header = self._puts[turn], self._headers[turn]
        if put.is_long:
            # Long messages differ at their beginning only.
            front = header + reply_for(self._sequence, SHOWN_BYTES)
            return put.filled_long(ids, front, _zeros(self._body_bytes - SHOWN_BYTES), behind)
        body = reply_for(self._sequence, self._body_bytes)
        return put.filled(ids, header + body if header else body, behind)

    def completed(self, now_ns: int) -> bytes:
        """Record a round trip as complete."""
        return self.replied(now_ns)

    def work(self, reader: MqReader, now_ns: int) -> bytes:
        kind = reader.type
        if kind == GET_REPLY:
            self._check(reader)
            self._waits_for_reply = False
            if self._waits_for_put:
                return b""
            return self._commit if self._in_units else self.completed(now_ns)
        if kind == PUT_REPLY:
            if self._pipelined:
                self._waits_for_put = False
                return b"" if self._waits_for_reply else self.completed(now_ns)
            at = reader.start + replies.REPLY_FIXED_BYTES + MD_MESSAGE_ID
            self._expected = reader.buffer[at : at + ID_BYTES]
            if self._in_units:
                return self._commit
            self._waits_for_put = False
            return self._gets[self._turn].of(self._expected)
        if kind == COMMIT_REPLY:
            return self._committed(now_ns)
        raise failure(kind, reader.buffer, reader.start, reader.end)

    def _committed(self, now_ns: int) -> bytes:
        """Continue after the commit of the put, or of the get."""
        if not self._waits_for_put:
            return self.completed(now_ns)
        self._waits_for_put = False
        if not self._pipelined:
            return self._gets[self._turn].of(self._expected)
        return b"" if self._waits_for_reply else self._commit

    def _check(self, reader: MqReader) -> None:
        at = reader.start + put_get_frames.GOT_MD + MD_CORRELATION_ID
        data = reader.start + put_get_frames.GOT_FIXED_BYTES
        if self.terms.is_jms:
            data = data_at(reader.buffer, data, reader.end)
        length = reader.start + reader.size - data
        if reader.buffer[at : at + ID_BYTES] != self._expected or length != self._body_bytes:
            raise LoadFailed("a reply has another correlation id or length than was asked for")


class MqResponder(MqClient):
    """Gets requests of one queue and answers them: on the reply queue of its pair, or to the reply-to queue."""

    def __init__(self, pace: Pace, number: int, terms: MqTerms, conversation: int = 1) -> None:
        super().__init__(pace, False, number, terms, conversation)
        self._pair = terms.pair(number)
        self._body_bytes = terms.body_bytes
        self._pipelined = terms.pipelined
        self._in_units = terms.responder_units
        self._is_jms = terms.is_jms
        self._put: PutFrames | None = None
        self._put1: Put1Frames | None = None
        self._header: JmsHeader | None = None
        self._headers: dict[bytes, JmsHeader] = {}
        self._get = b""
        self._behind = b""
        self._commit = frames.frame(frames.COMMIT, conversation, COMMIT_REQUEST)

    def opens(self) -> list[tuple[str, int]]:
        intake = (request_queue(self._pair), INPUT)
        return [intake] if self.terms.own_replies else [intake, (reply_queue(self._pair), OUTPUT)]

    def prepare(self) -> None:
        terms = self.terms
        is_unanswered = self._pipelined and (self._in_units or not terms.persistent)
        options = put_options(self._in_units, is_unanswered) | mq.MQPMO_NEW_MSG_ID
        request = 0 if is_unanswered else PUT_REQUEST
        md = descriptor(terms, "", "", terms.responder_ccsid)
        if terms.own_replies:
            self._put1 = Put1Frames(self.conversation, request, options, md)
        else:
            if self._is_jms:
                self._header = JmsHeader(reply_queue(self._pair), "", terms.persistent, True)
            length = self._body_bytes + (self._header.size if self._header is not None else 0)
            self._put = PutFrames(self.conversation, request, self.handles[1], options, md, length)
        length = self._body_bytes + (HEADER_BYTES_MAX if self._is_jms else 0)
        options = get_options(self._in_units, self._is_jms)
        self._get = GetFrames(self.conversation, self.handles[0], options, False, length, terms.responder_ccsid).any
        if self._pipelined:
            self._behind = self._commit + self._get if self._in_units else self._get

    def first(self, now_ns: int) -> bytes:
        return self._get

    def work(self, reader: MqReader, now_ns: int) -> bytes:
        kind = reader.type
        if kind == GET_REPLY:
            return self._reply(reader)
        if self._pipelined and kind in (PUT_REPLY, PUT1_REPLY, COMMIT_REPLY):
            return b""
        if kind == COMMIT_REPLY:
            return self._get
        if kind in (PUT_REPLY, PUT1_REPLY):
            return self._commit if self._in_units else self._get
        raise failure(kind, reader.buffer, reader.start, reader.end)

    def _reply(self, reader: MqReader) -> bytes:
        buffer, start = reader.buffer, reader.start
        at = start + put_get_frames.GOT_MD + MD_MESSAGE_ID
        correlation_id = buffer[at : at + ID_BYTES]
        data_start = start + put_get_frames.GOT_FIXED_BYTES
        if self._is_jms:
            data_start = data_at(buffer, data_start, reader.end)
        data = reader.data(data_start)
        if len(data) != self._body_bytes:
            raise LoadFailed(f"a request has {len(data)} bytes of data, and not {self._body_bytes}")
        header = self._header
        if header is not None:
            data = header.before(data, correlation_id)
        put = self._put
        if put is not None:
            return put.filled(NO_ID + correlation_id, data, self._behind)
        at = start + put_get_frames.GOT_MD + MD_REPLY_TO
        queue = buffer[at : at + payload_codec.NAME_BYTES]
        if self._is_jms:
            data = self._header_to(queue).before(data, correlation_id)
        put1 = self._put1
        assert put1 is not None
        return put1.filled(queue, NO_ID + correlation_id, data, self._behind)

    def _header_to(self, queue: bytes) -> JmsHeader:
        found = self._headers.get(queue)
        if found is None:
            found = self._headers[queue] = JmsHeader(_name(queue), "", self.terms.persistent, True)
        return found


class MqRemoteResponder(MqClient):
    """Gets requests of one queue and answers each to its reply-to queue at another queue manager.

    It opens a queue for replies at its first use, and keeps it open. Where there are too many of them for that, each
    reply is put with MQPUT1.
    """

    def __init__(self, pace: Pace, number: int, terms: MqTerms, conversation: int = 1) -> None:
        super().__init__(pace, False, number, terms, conversation)
        self._queue = request_queue(terms.pair(number))
        self._body_bytes = terms.body_bytes
        self._in_units = terms.responder_units
        self._keeps_open = terms.routes <= KEPT_OPEN_MAX and not terms.own_replies
        self._options = put_options(self._in_units, False) | mq.MQPMO_NEW_MSG_ID
        self._md = descriptor(terms, "", "", terms.responder_ccsid)
        self._put1 = Put1Frames(conversation, PUT_REQUEST, self._options, self._md)
        self._puts: dict[bytes, PutFrames] = {}
        # The reply that waits for its queue to be opened.
        self._wanted = self._ids = self._body = b""
        self._get = b""
        self._commit = frames.frame(frames.COMMIT, conversation, COMMIT_REQUEST)

    def opens(self) -> list[tuple[str, int]]:
        return [(self._queue, INPUT)]

    def prepare(self) -> None:
        options = get_options(self._in_units, False)
        length, ccsid = self._body_bytes, self.terms.responder_ccsid
        self._get = GetFrames(self.conversation, self.handles[0], options, False, length, ccsid).any

    def first(self, now_ns: int) -> bytes:
        return self._get

    def work(self, reader: MqReader, now_ns: int) -> bytes:
        kind = reader.type
        if kind == GET_REPLY:
            return self._reply(reader)
        if kind in (PUT_REPLY, PUT1_REPLY):
            return self._commit if self._in_units else self._get
        if kind == COMMIT_REPLY:
            return self._get
        if kind == OPEN_REPLY:
            return self._opened_for_reply(reader)
        raise failure(kind, reader.buffer, reader.start, reader.end)

    def _reply(self, reader: MqReader) -> bytes:
        buffer, start = reader.buffer, reader.start
        at = start + put_get_frames.GOT_MD + MD_MESSAGE_ID
        ids = NO_ID + buffer[at : at + ID_BYTES]
        data = reader.data(start + put_get_frames.GOT_FIXED_BYTES)
        if len(data) != self._body_bytes:
            raise LoadFailed(f"a request has {len(data)} bytes of data, and not {self._body_bytes}")
        at = start + put_get_frames.GOT_MD + MD_REPLY_TO
        # The reply-to queue and its queue manager are adjacent fields.
        wanted = buffer[at : at + 2 * payload_codec.NAME_BYTES]
        put = self._puts.get(wanted)
        if put is not None:
            return put.filled(ids, data)
        if not self._keeps_open:
            queue, manager = wanted[: payload_codec.NAME_BYTES], wanted[payload_codec.NAME_BYTES :]
            return self._put1.filled(queue, ids, data, b"", manager)
        self._wanted, self._ids, self._body = wanted, ids, data
        asked = object_frames.OpenArguments(mq.MQOT_Q, _name(wanted[: payload_codec.NAME_BYTES]), OUTPUT)
        asked.manager_name = _name(wanted[payload_codec.NAME_BYTES :])
        return frames.frame(frames.OPEN, self.conversation, PUT_REQUEST, asked.encode())

    def _opened_for_reply(self, reader: MqReader) -> bytes:
        replied = replies.decode_reply(reader.buffer, reader.start, reader.end)
        hobj = object_frames.decode_open_reply(replied.reader).hobj
        made = PutFrames(self.conversation, PUT_REQUEST, hobj, self._options, self._md, self._body_bytes)
        self._puts[self._wanted] = made
        return made.filled(self._ids, self._body)


def _name(field: bytes) -> str:
    return field.decode().rstrip(" \0")


_long_zeros: dict[int, bytes] = {}


def _zeros(size: int) -> bytes:
    """Return the end of long messages, shared by all clients of a driver."""
    found = _long_zeros.get(size)
    if found is None:
        found = _long_zeros[size] = bytes(size)
    return found


def put_options(in_unit: bool, is_unanswered: bool) -> int:
    options = mq.MQPMO_SYNCPOINT if in_unit else mq.MQPMO_NO_SYNCPOINT
    return options | mq.MQPMO_ASYNC_RESPONSE if is_unanswered else options
