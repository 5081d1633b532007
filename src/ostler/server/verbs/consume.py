"""Gets for several consumers at once (GET_ANY), and messages that are sent ahead of requests (STREAM).

GET_ANY serves the consumers of a connection (MQCB, MQCTL); STREAM serves read-ahead and asynchronous consumers.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine import get as getting
from ostler.engine.message.message import PERSISTENCE_AT
from ostler.engine.queue.get_request import BROWSE_OPTIONS, UNLIMITED, GetRequest
from ostler.engine.queue.selection import GROUP_OPTIONS
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.net.conversation import ServerConversation, WaitingRequest, completion_code
from ostler.server.net.link_limits import OUT_LOW_BYTES
from ostler.wire.frames import GET_ANY, MESSAGE, REPLY, UNSTREAM, MalformedFrame, frame
from ostler.wire.payload_codec import PayloadReader, PayloadWriter
from ostler.wire.put_get_frames import CONSUMERS_MAX, GET_HOBJ, check_get
from ostler.wire.replies import reply_frame

# No message is this short: a request with this limit is answered, but takes no message.
_TAKES_NOTHING: Final = -(1 << 40)
_CREDIT_MAX: Final = 1 << 20
_ROOM_TRIES: Final = 3
_SHARE: Final = 64  # messages of one stream in one pass
_IN_UNIT: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT


@final
class MultiGet(WaitingRequest):
    """The gets of several consumers of one connection: the first that finds a message takes it, the others take none.

    While they wait, none takes a message in advance: the callback of another consumer would commit it. A try may take
    several passes. Meanwhile the queues of all consumers up to that one are watched, so that no message is missed.
    """

    def __init__(self, conversation: ServerConversation, number: i64, payload: bytes) -> None:
        super().__init__(conversation, number)
        self.payload = payload
        self.offsets: list[int] = []
        self.watches: list[GetRequest] = []
        self.is_waiting = False
        self.wait_ms: i64 = 0
        self.trying: GetRequest | None = None  # the get whose search of its queue continues
        self.index: i64 = 0  # of the consumer that is being tried
        self.failed: i64 = 0  # the reason code with which a watch ended

    def begin(self) -> None:
        """Decode the request, and try all consumers."""
        reader = PayloadReader(self.payload)
        self.wait_ms = reader.integer()
        count: i64 = reader.count(CONSUMERS_MAX)
        at: i64 = reader.at
        for _ in range(count):
            self.offsets.append(at)
            at += check_get(self.payload, at, len(self.payload))
        if at != len(self.payload) or count == 0:
            raise MalformedFrame("the length of a GET_ANY is wrong")
        self.offsets.append(at)
        try:
            self.conversation.check_waiting_limit()
        except MQError as error:
            self._answer_failure(0, error.reason)
            return
        self._try_all(0)

    def _start_waiting(self) -> None:
        """Register as a waiting request: the reply is sent later."""
        if self.is_waiting:
            return
        conversation = self.conversation
        self.is_waiting = True
        conversation.waiting[self.number] = self
        conversation.link.pending += 1
        if self.wait_ms > 0:
            conversation.reactor.wheel.add(self, conversation.reactor.now_ms + self.wait_ms)

    def _request(self, index: i64) -> GetRequest:
        conversation = self.conversation
        start: i64 = self.offsets[index]
        handle = conversation.connection.handles.get(i64(read_i32_le(self.payload, start + GET_HOBJ)))
        if handle is None or handle.queue is None:
            raise MQError(mq.MQRC_HOBJ_ERROR)
        return conversation.new_request(handle, self.payload, start, self.offsets[index + 1])

    def _try_all(self, failed: i64) -> None:
        """Try the consumers in order. If none has a message, wait, or reply with a failure."""
        self._unwatch()
        self.failed = failed
        self.index = 0
        self._try_next()

    def _try_next(self) -> None:
        while self.index < len(self.offsets) - 1:
            try:
                request = self._request(self.index)
                request.options &= ~mq.MQGMO_WAIT
                request.wait_ms = 0
                request.waker = self
                if not getting.get(self.conversation.engine, request):
                    self.trying = request
                    self._start_waiting()
                    self._watch(self.index + 1)
                    return
            except MQError as error:
                self._answer_failure(self.index, error.reason)
                return
            request.waker = None
            if self._answer_if_done(request):
                return
            self.index += 1
        if self.failed != 0 and self.failed != mq.MQRC_NO_MSG_AVAILABLE:
            self._answer_failure(0, self.failed)
        elif self.wait_ms == 0:
            self._answer_no_message()
        else:
            self._start_waiting()
            self._watch(self.index)
            if self.conversation.connection.selector_use.bytes > getting.SELECTOR_BYTES_MAX:
                self._answer_failure(0, mq.MQRC_RESOURCE_PROBLEM)

    def _answer_if_done(self, request: GetRequest) -> bool:
        """Send a reply if the try of one consumer has found a message or failed. Return False if it found none."""
        if len(request.md) > 0:
            if self.conversation.is_too_long(request):
                self._answer_failure(self.index, mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL)
                return True
            self._stop_waiting()
            index = PayloadWriter()
            index.integer(self.index)
            after: i64 = request.after_lsn
            lsn: i64 = after if after > self.conversation.reactor.durable_lsn() else 0
            self.conversation.send_message(GET_ANY | REPLY, self.number, request, index.getvalue(), lsn)
            return True
        if request.reason != mq.MQRC_NO_MSG_AVAILABLE:
            self._answer_failure(self.index, request.reason)
            return True
        return False

    def _answer_failure(self, index: i64, reason: i64) -> None:
        """Reply with a failure and the index of the consumer."""
        self._stop_waiting()
        writer = PayloadWriter()
        writer.integer(mq.MQCC_FAILED if reason == mq.MQRC_BACKED_OUT else completion_code(reason))
        writer.integer(reason)
        writer.integer(index)
        conversation = self.conversation
        conversation.link.send(frame(GET_ANY | REPLY, conversation.number, self.number, writer.getvalue()))

    def _watch(self, count: i64) -> None:
        """Watch the queues of the first `count` consumers for messages, without taking them."""
        while len(self.watches) < count:
            model = self._request(len(self.watches))
            watch = getting.new_request(
                model.connection,
                model.handle,
                model.options & GROUP_OPTIONS | mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING,
                model.match,
                model.message_id,
                model.correlation_id,
                0,
            )
            if model.selector is not None:
                watch.selector = model.selector
                watch.kind = model.kind
            watch.group_id = model.group_id
            watch.sequence_number = model.sequence_number
            watch.offset = model.offset
            watch.token = model.token
            watch.max_bytes = _TAKES_NOTHING
            watch.may_pause = True
            watch.wait_ms = UNLIMITED
            watch.waker = self
            self.watches.append(watch)
            getting.add_watch(self.conversation.engine, watch)

    def _unwatch(self) -> None:
        for watch in self.watches:
            queue = watch.handle.queue
            if not watch.done and queue is not None:
                queue.waiting.remove(watch)
        self.watches = []

    def _stop_trying(self, reason: i64) -> None:
        trying = self.trying
        self.trying = None
        if trying is not None:
            trying.waker = None
            getting.cancel(self.conversation.engine, trying, reason)

    def _stop_waiting(self) -> None:
        self._stop_trying(mq.MQRC_NO_MSG_AVAILABLE)
        self._unwatch()
        if self.is_waiting:
            self.is_waiting = False
            if self.conversation.waiting.get(self.number) is self:
                self.conversation.remove_waiting(self)

    def _answer_no_message(self) -> None:
        """Reply with MQRC_NO_MSG_AVAILABLE, unless the try has just taken a message off its queue."""
        trying = self.trying
        if trying is not None and trying.asking is not None and not trying.done:
            self.wait_ms = 0  # the coupling facility may have taken a message for it: its answer decides
            return
        if trying is not None and trying.done:
            self.trying = None
            trying.waker = None
            if self._answer_if_done(trying):
                return
        self._stop_waiting()
        conversation = self.conversation
        conversation.link.send(
            reply_frame(GET_ANY, conversation.number, self.number, mq.MQCC_FAILED, mq.MQRC_NO_MSG_AVAILABLE)
        )

    def on_answer(self) -> None:
        """Try the consumers, because a message has arrived for one of them, or the try of one is done."""
        if not self.is_waiting:
            return
        trying = self.trying
        if trying is not None and not trying.done:
            return  # a watch: examined when the try is done
        link = self.conversation.link
        if link.is_paused and link.backlog_bytes() > OUT_LOW_BYTES:
            if self not in link.awaiting_drain:
                link.awaiting_drain.append(self)  # to try when the application has read its replies
            return
        failed: i64 = 0
        rung = False
        for index in range(len(self.watches)):
            watch = self.watches[index]
            if watch.done:
                rung = True
                if watch.reason != 0 and len(watch.md) == 0 and watch.data_bytes == 0:
                    failed = watch.reason
        broken: i64 = self.conversation.connection.broken
        if broken != 0:
            self._answer_failure(0, failed if failed != 0 else broken)
            return
        if trying is not None:
            self.trying = None
            trying.waker = None
            if self._answer_if_done(trying):
                return
            self.index += 1
            if not rung:
                self._try_next()
                return
        self._try_all(failed)

    def cancel(self, reason: i64) -> None:
        if self.conversation.is_over:
            self._stop_trying(reason)
            self._unwatch()
            self.is_waiting = False  # another thread may still notify it
        elif self.is_waiting:
            self._answer_no_message()

    def fire(self, now_ms: i64) -> None:
        if self.is_waiting:
            self._answer_no_message()


@final
class MessageStream(WaitingRequest):
    """Sends messages as they arrive, within the credit that the application has given."""

    def __init__(self, conversation: ServerConversation, number: i64, credit: i64, payload: bytes) -> None:
        super().__init__(conversation, number)
        self.credit: i64 = credit
        self.payload = payload
        self.request: GetRequest | None = None
        self.held_lsn: i64 = 0  # the LSN that the last frame was gated by
        self.is_resuming = False
        self.room_tries: i64 = 0
        self.is_first = True

    def begin(self) -> None:
        """Register the stream, and send the messages that are there."""
        conversation = self.conversation
        try:
            conversation.check_waiting_limit()
        except MQError as error:
            self._fail(error.reason, error.detail)
            return
        conversation.waiting[self.number] = self
        conversation.link.pending += 1
        self.pump()

    def _next(self) -> GetRequest:
        conversation = self.conversation
        handle = conversation.connection.handles.get(i64(read_i32_le(self.payload, GET_HOBJ)))
        if handle is None or handle.queue is None:
            raise MQError(mq.MQRC_HOBJ_ERROR)
        request = conversation.new_request(handle, self.payload, 0, len(self.payload))
        if request.options & _IN_UNIT:
            raise MQError(mq.MQRC_OPTIONS_ERROR, "Messages under syncpoint cannot be streamed.")
        if request.options & mq.MQGMO_BROWSE_FIRST and not self.is_first:
            request.options = request.options & ~mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT
        self.is_first = False
        request.options |= mq.MQGMO_WAIT
        request.wait_ms = UNLIMITED
        return request

    def pump(self) -> None:
        """Send a bounded number of the messages that are there."""
        share: i64 = _SHARE
        link = self.conversation.link
        while self.credit > 0:
            if share == 0 or link.backlog_bytes() > OUT_LOW_BYTES:
                self._pump_later(share == 0)
                return
            memory = link.reactor.memory
            if memory.is_short():
                if not self.is_resuming:
                    self.is_resuming = True
                    memory.streams.append(self)
                return
            share -= 1
            try:
                request = self._next()
                self.request = request
                request.waker = self
                if not getting.get(self.conversation.engine, request):
                    return
            except MQError as error:
                self.request = None
                self._fail(error.reason, error.detail)
                return
            self.request = None
            if not self._deliver(request):
                return
        self.request = None

    def _pump_later(self, in_next_pass: bool) -> None:
        """Continue in the next pass, or when the application has read its messages."""
        if not self.is_resuming:
            self.is_resuming = True
            conversation = self.conversation
            if in_next_pass:
                conversation.reactor.resuming.append(self)
            else:
                conversation.link.awaiting_drain.append(self)

    def _gate_lsn(self, lsn: i64) -> i64:
        """Return the LSN that gates a frame, so that it does not overtake earlier frames. 0: it can be sent now."""
        if lsn < self.held_lsn:
            lsn = self.held_lsn
        if lsn <= self.conversation.reactor.released_lsn:
            return 0
        self.held_lsn = lsn
        return lsn

    def _deliver(self, request: GetRequest) -> bool:
        if len(request.md) == 0:
            if request.reason == mq.MQRC_RESOURCE_PROBLEM and self.room_tries < _ROOM_TRIES:
                # The log's reserve is used up: a checkpoint frees log space.
                self.room_tries += 1
                self.conversation.reactor.handler.make_room(self.on_answer)
                return False
            self._fail(request.reason, "")
            return False
        if request.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            # The message stays on the queue, where the next get would find it again.
            is_too_long: bool = self.conversation.is_too_long(request)
            self._fail(mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL if is_too_long else request.reason, "")
            return False
        # A message in transit can be lost: behind a persistent one nothing is sent before the application gives credit.
        is_at_risk: bool = (
            read_i32_le(request.md, PERSISTENCE_AT) == mq.MQPER_PERSISTENT and not request.options & BROWSE_OPTIONS
        )
        self.room_tries = 0
        self.credit = 0 if is_at_risk else self.credit - 1
        lsn: i64 = self._gate_lsn(request.after_lsn)
        self.conversation.send_message(MESSAGE, self.number, request, b"", lsn)
        return True

    def _fail(self, reason: i64, detail: str) -> None:
        """End the stream with a failure."""
        conversation = self.conversation
        if conversation.waiting.get(self.number) is self:
            conversation.remove_waiting(self)
        writer = PayloadWriter()
        writer.integer(mq.MQCC_FAILED)
        writer.integer(reason)
        writer.fixed(detail.encode("utf-8")[:512])
        self.send_last(frame(MESSAGE, conversation.number, self.number, writer.getvalue()))

    def send_last(self, data: bytes) -> None:
        """Send a frame behind all messages of the stream."""
        conversation = self.conversation
        conversation.reactor.send_behind_when_durable(
            self._gate_lsn(0), conversation.link, conversation.number, self.number, data
        )

    def on_answer(self) -> None:
        self.is_resuming = False
        if self.conversation.waiting.get(self.number) is not self:
            return
        request = self.request
        if request is not None:
            if not request.done:
                return
            self.request = None
            if not self._deliver(request):
                return
        self.pump()

    def deliver_last(self) -> None:
        """Send a message that another thread has just delivered to the stream's get."""
        request = self.request
        if request is not None and request.done and len(request.md) > 0:
            self.request = None
            self._deliver(request)

    def cancel(self, reason: i64) -> None:
        request = self.request
        self.request = None
        if request is not None and not request.done:
            getting.cancel(self.conversation.engine, request, reason)


def begin_get_any(conversation: ServerConversation, number: i64, payload: bytes) -> None:
    """Handle GET_ANY."""
    conversation.check_request_number(number)
    MultiGet(conversation, number, payload).begin()


def begin_stream(conversation: ServerConversation, number: i64, payload: bytes) -> None:
    """Handle STREAM."""
    conversation.check_request_number(number)
    reader = PayloadReader(payload)
    credit: i64 = reader.count(_CREDIT_MAX)
    get = reader.rest()
    if check_get(get, 0, len(get)) != len(get):
        raise MalformedFrame("the length of a STREAM is wrong")
    MessageStream(conversation, number, credit, get).begin()


def add_credit(conversation: ServerConversation, payload: bytes) -> None:
    """Handle CREDIT."""
    reader = PayloadReader(payload)
    number: i64 = reader.integer() & 0xFFFFFFFF
    more: i64 = reader.count(_CREDIT_MAX)
    reader.check_end()
    stream = conversation.waiting.get(number)
    if isinstance(stream, MessageStream):
        idle: bool = stream.credit == 0 and stream.request is None
        stream.credit += more
        if stream.credit > _CREDIT_MAX:
            raise MalformedFrame(f"a stream has more than {_CREDIT_MAX} messages of credit")
        if idle:
            stream.pump()


def end_stream(conversation: ServerConversation, number: i64, payload: bytes) -> None:
    """Handle UNSTREAM: messages in transit arrive before its reply."""
    reader = PayloadReader(payload)
    ended: i64 = reader.integer() & 0xFFFFFFFF
    reader.check_end()
    stream = conversation.waiting.get(ended)
    if isinstance(stream, MessageStream):
        stream.deliver_last()
        stream.cancel(mq.MQRC_NO_MSG_AVAILABLE)
        conversation.remove_waiting(stream)
    if number != 0:
        data = reply_frame(UNSTREAM, conversation.number, number, 0, 0)
        if isinstance(stream, MessageStream):
            stream.send_last(data)
        else:
            conversation.link.send(data)
