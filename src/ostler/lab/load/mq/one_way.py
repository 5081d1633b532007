"""Producers and consumers of Ostler: one-way messages.

With asynchronous put a producer sends a batch of messages, or one and its commit, and calls MQSTAT to check that all of
them were put: a commit does not report that. With read-ahead a consumer gives credit for a window of messages, which
are sent as they arrive. Pipelined, a producer sends a put and its commit together.
"""

from __future__ import annotations

from typing import Final

from ostler.lab.load.client import LoadFailed, Pace
from ostler.lab.load.mq.client import INPUT, OUTPUT, MqClient, MqTerms, descriptor, request_queue
from ostler.lab.load.mq.frames import (
    COMMIT_REQUEST,
    GET_REQUEST,
    NO_ID,
    NO_IDS,
    PUT_REQUEST,
    STATUS_REQUEST,
    GetFrames,
    MqReader,
    PutFrames,
    described,
    failure,
    get_options,
    get_payload,
)
from ostler.lab.load.mq.jms import HEADER_BYTES_MAX, JmsHeader, read_message
from ostler.lab.load.mq.request_reply import COMMIT_REPLY, GET_REPLY, PUT_REPLY, put_options
from ostler.lab.load.one_way import OneWay
from ostler.model import constants as mq
from ostler.wire import frames, object_frames, payload_codec, put_get_frames, replies

# Long enough that MQSTAT costs little beside putting. The window is that of Ostler's own client.
BATCH: Final = 32
WINDOW: Final = 32
WINDOW_BYTES: Final = 4 * 1024 * 1024
_STATUS_REPLY: Final = frames.STATUS | frames.REPLY
_REASON: Final = 4  # behind the completion code


class MqProducer(MqClient):
    """Puts messages on the request queue of its pair, in units of work where the load has those.

    Messages of a unit count when it is committed, from its first put. Units of several messages are for producers that
    put verb by verb.
    """

    def __init__(self, pace: Pace, number: int, terms: MqTerms, conversation: int = 1) -> None:
        super().__init__(pace, True, number, terms, conversation)
        self._queue = terms.request_queue(number, terms.pair(number))
        self._in_units = terms.requester_units
        self._is_unanswered = terms.async_put and (self._in_units or not terms.persistent)
        self._pipelined = terms.pipelined
        self._batch = 0
        self._unit = terms.producer_unit if self._in_units and not self._is_unanswered and not self._pipelined else 1
        self._waits_for_commit = False
        self._header = b""
        self._copies = max(terms.subscribers, 1)
        self._one_way = OneWay(pace, terms.body_bytes, self._copies)
        self._put: PutFrames | None = None
        self._commit = frames.frame(frames.COMMIT, conversation, COMMIT_REQUEST)
        status = payload_codec.numbers_payload([mq.MQSTAT_TYPE_ASYNC_ERROR])
        self._status = frames.frame(frames.STATUS, conversation, STATUS_REQUEST, status)

    def opens(self) -> list[tuple[str, int]]:
        return [(self._queue, OUTPUT)]

    def prepare(self) -> None:
        terms = self.terms
        if terms.is_jms:
            self._header = self.jms_header()
        options = put_options(self._in_units, self._is_unanswered) | mq.MQPMO_NEW_MSG_ID
        request = 0 if self._is_unanswered else PUT_REQUEST
        length = len(self._header) + terms.body_bytes
        md = descriptor(terms, "")
        self._put = PutFrames(self.conversation, request, self.handles[0], options, md, length)

    def jms_header(self) -> bytes:
        """Return the MQRFH2 of all its messages."""
        return JmsHeader(self._queue, "", self.terms.persistent, False).whole

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        put = self._put
        assert put is not None
        made = put.filled(NO_IDS, self._header + self._one_way.body(now_ns, self.put_ns))
        if self._in_units:
            self._batch = 1
            self._waits_for_commit = True
            if self._is_unanswered:
                return b"".join((made, self._commit, self._status))
            return made + self._commit if self._pipelined else made
        if not self._is_unanswered:
            return made
        pace = self.pace
        # Messages that are due one by one must not wait for others.
        count = 1 if pace.is_rated or not pace.goes_on else BATCH
        self._batch = count
        pace.outstanding += (count - 1) * self._copies
        return b"".join([made] * count + [self._status])

    def work(self, reader: MqReader, now_ns: int) -> bytes:
        kind = reader.type
        if kind == PUT_REPLY:
            if not self._in_units:
                return self.replied(now_ns)
            if self._batch < self._unit:
                self._batch += 1
                put = self._put
                assert put is not None
                return put.filled(NO_IDS, self._header + self._one_way.body(now_ns, now_ns))
            return b"" if self._pipelined else self._commit
        if kind == COMMIT_REPLY:
            self._waits_for_commit = False
            if self._is_unanswered:
                # The answer to MQSTAT is still to come.
                return b"" if self._batch else self.replied(now_ns)
            self._count_others(now_ns)
            return self.replied(now_ns)
        if kind == _STATUS_REPLY:
            return self._check_batch(reader, now_ns)
        raise failure(kind, reader.buffer, reader.start, reader.end)

    def _check_batch(self, reader: MqReader, now_ns: int) -> bytes:
        """Check that all messages of a batch were put."""
        status = object_frames.decode_status_reply(replies.decode_reply(reader.buffer, reader.start, reader.end).reader)
        if status.failed or status.warned or status.succeeded != self._batch:
            put = f"{status.succeeded} of {self._batch}"
            raise LoadFailed(f"Ostler put {put} messages and answered MQPUT with {described(status.reason)}")
        if self._waits_for_commit:
            self._batch = 0
            return b""
        self._count_others(now_ns)
        return self.replied(now_ns)

    def _count_others(self, now_ns: int) -> None:
        """Count the messages of a batch or a unit but for one, which `replied` counts."""
        pace = self.pace
        others = self._batch - 1
        self._batch = 0
        pace.completed += others
        for _ in range(others):
            self.record(now_ns)


class MqConsumer(MqClient):
    """Gets the messages of the request queue of its pair, in units of work where the load has those.

    Messages of a unit count when it is committed. A unit of several ends early when no message arrives for
    `unit_wait_ms`, so that none is held uncommitted for long.
    """

    def __init__(self, pace: Pace, number: int, terms: MqTerms, conversation: int = 1) -> None:
        super().__init__(pace, False, number, terms, conversation)
        self._queue = request_queue(terms.pair(number))
        self._in_units = terms.responder_units
        self._body_bytes = terms.body_bytes
        self._is_jms = terms.is_jms
        # Messages sent ahead can be lost, so read-ahead is used neither for persistent messages nor in units of work.
        self._reads_ahead = terms.read_ahead and not terms.persistent and not self._in_units
        self._window = max(1, min(WINDOW, WINDOW_BYTES // max(1, terms.body_bytes)))
        self._one_way = OneWay(pace, terms.body_bytes)
        self._taken = 0
        self._unit = terms.consumer_unit
        self.unit_wait_ms = 0
        self._uncommitted: list[bytes] = []
        self._get = b""
        self._get_more = b""
        self._commit = frames.frame(frames.COMMIT, conversation, COMMIT_REQUEST)

    def opens(self) -> list[tuple[str, int]]:
        return [(self._queue, INPUT | mq.MQOO_READ_AHEAD if self._reads_ahead else INPUT)]

    def prepare(self) -> None:
        hobj, conversation = self.handles[0], self.conversation
        options = get_options(self._in_units, self._is_jms)
        length = self._body_bytes + (HEADER_BYTES_MAX if self._is_jms else 0)
        if not self._reads_ahead:
            self._get = GetFrames(conversation, hobj, options, False, length).any
            more = options if self.unit_wait_ms else options & ~mq.MQGMO_WAIT
            ids = (NO_ID, NO_ID, put_get_frames.NO_GROUP, 0, 0, put_get_frames.NO_TOKEN, b"")
            asked = put_get_frames.get_payload(hobj, more, self.unit_wait_ms, mq.MQMO_NONE, length, 0, 0, 0, *ids)
            self._get_more = put_get_frames.get_frame(conversation, GET_REQUEST, asked)
            return
        asked = payload_codec.numbers_payload([self._window]) + get_payload(hobj, options, False, length)
        self._get = frames.frame(frames.STREAM, conversation, GET_REQUEST, asked)

    def first(self, now_ns: int) -> bytes:
        self._one_way.start(now_ns)
        return self._get

    def work(self, reader: MqReader, now_ns: int) -> bytes:
        kind = reader.type
        if kind == frames.MESSAGE:
            self._one_way.got(self._body(reader), now_ns)
            return self._credit()
        if kind == GET_REPLY:
            body = self._body(reader)
            if self._in_units:
                self._uncommitted.append(body)
                return self._commit if len(self._uncommitted) >= self._unit else self._get_more
            self._one_way.got(body, now_ns)
            return self._get
        if kind == COMMIT_REPLY:
            for body in self._uncommitted:
                self._one_way.got(body, now_ns)
            self._uncommitted.clear()
            return self._get
        raise failure(kind, reader.buffer, reader.start, reader.end)

    def handle(self, reader: MqReader, now_ns: int) -> bytes:
        """Handle a frame. A unit of several messages ends when there is no further one."""
        if self._uncommitted and reader.type == GET_REPLY and _reason(reader) == mq.MQRC_NO_MSG_AVAILABLE:
            return self._commit
        return super().handle(reader, now_ns)

    def _body(self, reader: MqReader) -> bytes:
        at = reader.start + put_get_frames.GOT_FIXED_BYTES
        return reader.data(read_message(reader.buffer, at, reader.end).data_at if self._is_jms else at)

    def _credit(self) -> bytes:
        """Return credit for the messages taken, when that is half of the window."""
        self._taken += 1
        if 2 * self._taken < self._window:
            return b""
        given = payload_codec.numbers_payload([GET_REQUEST, self._taken])
        self._taken = 0
        return frames.frame(frames.CREDIT, self.conversation, 0, given)


def _reason(reader: MqReader) -> int:
    """Return the reason code of a failure."""
    at = reader.start + _REASON
    return int.from_bytes(reader.buffer[at : at + 4], "little")
