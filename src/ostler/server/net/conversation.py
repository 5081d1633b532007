"""The conversation of one application on a link: requests become verbs of the engine, and their results replies.

Everything runs on the reactor's thread, under the engine's lock, and never blocks. A reply that depends on a record
that is not durable yet is gated by the reactor until it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64, mypyc_attr

from ostler.engine import get as getting
from ostler.engine import put as putting
from ostler.engine import syncpoint
from ostler.engine.accounting import record_connect_failed
from ostler.engine.connection import PUBLISH_LEVEL_HIGHEST, Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.outcomes import PutOutcome, UnitOutcome
from ostler.engine.properties.property_block import PUBLICATION_LAYOUT, decode_block, encode_block
from ostler.engine.queue.get_request import BROWSE_OPTIONS, BY_SCAN, GetRequest
from ostler.engine.shared.connection_tags import TagLock
from ostler.engine.statistics import count_put_failed
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.reasons import WARNINGS
from ostler.server.net.link import NO_MEMORY, ServerLink
from ostler.server.net.link_limits import PENDING_MAX
from ostler.server.net.timers import Timer
from ostler.wire.frames import (
    BACK,
    CANCEL,
    COMMIT,
    CONNECT,
    GET,
    HEADER_BYTES,
    MESSAGE,
    PUT,
    REPLY,
    SETTLE,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.put_get_frames import (
    AS_STORED,
    GET_CCSID,
    GET_CORRELATION_ID,
    GET_ENCODING,
    GET_FIXED_BYTES,
    GET_FLAGS,
    GET_GROUP_ID,
    GET_HOBJ,
    GET_LENGTH,
    GET_MATCH,
    GET_MESSAGE_ID,
    GET_OFFSET,
    GET_OPTIONS,
    GET_SEQUENCE,
    GET_TOKEN,
    GET_WAIT,
    GOT_FIXED_BYTES,
    HELD,
    HELD_IF_PERSISTENT,
    PUT_BLOCK_BYTES,
    PUT_CONTEXT,
    PUT_FIXED_BYTES,
    PUT_MD,
    PUT_OPTIONS,
    VERSION_1,
    WANTS_PROPERTIES,
    WANTS_TOKEN,
    check_get,
    get_reply_frame,
    get_reply_head,
    put_reply_frame,
)
from ostler.wire.replies import failure_frame, reply_frame

if TYPE_CHECKING:
    from ostler.server.net.reactor import Reactor

_MD_ID: Final = 0x2020444D  # "MD  "
_MD_VERSION: Final = 2
_IN_UNIT: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT


def completion_code(reason: i64) -> i64:
    """Return the MQCC that belongs to a reason code."""
    if reason == mq.MQRC_NONE:
        return mq.MQCC_OK
    return mq.MQCC_WARNING if reason in WARNINGS else mq.MQCC_FAILED


@mypyc_attr(allow_interpreted_subclasses=True)
class WaitingRequest(Timer):
    """A request that waits on queues. The reactor calls `on_answer`; other threads call `notify` to have it do so.

    (There is no `__call__`: a native class that has one cannot be derived from a class without.)
    """

    def __init__(self, conversation: ServerConversation, number: i64) -> None:
        super().__init__()
        self.conversation = conversation
        self.number: i64 = number

    def notify(self) -> None:
        reactor = self.conversation.link.reactor
        reactor.answered.append(self)
        reactor.wake()

    def on_answer(self) -> None:
        raise AssertionError("WaitingRequest is abstract")

    def cancel(self, reason: i64) -> None:
        """End the wait. `on_answer` then sends the reply, unless the conversation is over."""
        raise AssertionError("WaitingRequest is abstract")


@final
class WaitingGet(WaitingRequest):
    """A GET that waits (MQGET, MQGMO_WAIT)."""

    def __init__(self, conversation: ServerConversation, number: i64, request: GetRequest) -> None:
        super().__init__(conversation, number)
        self.request = request

    def on_answer(self) -> None:
        conversation = self.conversation
        if conversation.waiting.get(self.number) is self:
            self.request.waker = None  # breaks a reference cycle
            conversation.remove_waiting(self)
            conversation.answer_get(self.number, self.request)

    def withdraw(self) -> None:
        """Take no message until `wait_again`: the application does not read its replies."""
        queue = self.request.handle.queue
        if not self.request.done and queue is not None:
            queue.waiting.remove(self.request)

    def wait_again(self) -> None:
        """Wait on the queue again, or reply with a message that has arrived meanwhile."""
        request = self.request
        conversation = self.conversation
        if request.done or request.waiting:
            return
        if conversation.connection.broken:
            getting.cancel(conversation.engine, request, conversation.connection.broken)
            self.on_answer()
            return
        try:
            done: bool = getting.get(conversation.engine, request)
        except MQError as error:
            conversation.remove_waiting(self)
            conversation.held.pop(self.number, None)
            conversation.reply_failure(GET, self.number, error.completion, error.reason, error.detail)
            return
        if done:
            self.on_answer()

    def cancel(self, reason: i64) -> None:
        self.request.waker = None
        if not self.request.done:
            getting.cancel(self.conversation.engine, self.request, reason)

    def fire(self, now_ms: i64) -> None:
        if self.request.done or getting.end_wait(self.conversation.engine, self.request):
            self.on_answer()


class TaskReply:
    """What is to be done for a conversation when a task of the engine is done. Its link is not read until then."""

    def __init__(self, conversation: ServerConversation) -> None:
        self.conversation = conversation

    def on_done(self) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Reply, unless the conversation is over."""
        try:
            if not self.conversation.is_over:
                self.on_done()
        except Exception as error:
            self.conversation.link.internal_error(error)


@final
class UnitReply(TaskReply):
    """The reply to a COMMIT, BACK or SETTLE. Its reason is known when the task is done."""

    def __init__(self, conversation: ServerConversation, type: i64, number: i64, outcome: UnitOutcome) -> None:
        super().__init__(conversation)
        self.type: i64 = type
        self.number: i64 = number
        self.outcome = outcome

    def on_done(self) -> None:
        self.conversation.reply_unit(self.type, self.number, self.outcome)


@final
class PutReply(TaskReply):
    """The reply to a PUT on a shared queue."""

    def __init__(
        self, conversation: ServerConversation, type: i64, number: i64, handle: Handle, outcome: PutOutcome
    ) -> None:
        super().__init__(conversation)
        self.type: i64 = type
        self.number: i64 = number
        self.handle = handle
        self.outcome = outcome

    def on_done(self) -> None:
        self.conversation.reply_put(self.type, self.number, self.handle, self.outcome)


@final
class PendingDisconnect(TaskReply):
    """A DISCONNECT whose unit of work is committed in slices first."""

    def __init__(self, conversation: ServerConversation, leave: Callable[[], None]) -> None:
        super().__init__(conversation)
        self.leave = leave

    def on_done(self) -> None:
        self.leave()


@final
class TagReply(TaskReply):
    """The reply to a CONNECT whose tag is locked in the coupling facility first."""

    def __init__(
        self, conversation: ServerConversation, number: i64, task: TagLock, data: bytes, refuse: Callable[[], None]
    ) -> None:
        super().__init__(conversation)
        self.number: i64 = number
        self.task = task
        self.data = data
        self.refuse = refuse

    def on_done(self) -> None:
        conversation = self.conversation
        reason: i64 = self.task.reason
        if reason == mq.MQRC_NONE:
            conversation.link.send(self.data)
            return
        record_connect_failed(conversation.engine)
        self.refuse()
        conversation.reply_failure(CONNECT, self.number, mq.MQCC_FAILED, reason, "")


@final
class ServerConversation:
    """One connection handle of an application on a link."""

    def __init__(self, link: ServerLink, number: i64, connection: Connection) -> None:
        self.link = link
        self.reactor: Reactor = link.reactor
        self.number: i64 = number
        self.connection = connection
        self.engine: Engine = link.reactor.engine
        self.waiting: dict[int, WaitingRequest] = {}
        self.held: dict[int, Connection] = {}  # by request: connections with the unit of work of one unsettled message
        self.spare_holder: Connection | None = None  # reused for the next held message
        self.is_over = False
        self.are_gets_withdrawn = False

    def handle(self, type: i64, number: i64, buffer: bytes, start: i64, end: i64) -> None:
        """Handle one complete request. MalformedFrame closes the link."""
        if self.connection.broken:
            self.reply_failure(type, number, mq.MQCC_FAILED, self.connection.broken, "")
            return
        try:
            self._handle(type, number, buffer, start, end)
        except MemoryError:
            self.reply_out_of_memory(type, number)

    def put_long(self, number: i64, head: bytes, body: bytes) -> None:
        """Handle a PUT that came in segments: `head` is all before the message data, `body` the data."""
        if self.connection.broken:
            self.reply_failure(PUT, number, mq.MQCC_FAILED, self.connection.broken, "")
            return
        try:
            self.put(PUT, number, head, 0, 0, len(head), body)
        except MemoryError:
            self.reply_out_of_memory(PUT, number)

    def reply_out_of_memory(self, type: i64, number: i64) -> None:
        """Fail a request for which there was no memory. It has changed nothing, and the link stays open."""
        self.reactor.release_ballast()
        self.reactor.handler.note_link(self.link, f"AMQ6118E: {NO_MEMORY}")
        if type == PUT:
            self._put_failed(type, number, mq.MQRC_STORAGE_NOT_AVAILABLE, None, NO_MEMORY)
        else:
            holder = self.held.pop(number, None) if type == GET else None
            if holder is not None:
                self._back_out_held(holder)  # its message may have left the queue already
            self.reply_failure(type, number, mq.MQCC_FAILED, mq.MQRC_STORAGE_NOT_AVAILABLE, NO_MEMORY)

    def _handle(self, type: i64, number: i64, buffer: bytes, start: i64, end: i64) -> None:
        if type == PUT:
            self.put(PUT, number, buffer, start, start, end)
        elif type == GET:
            self._get(number, buffer, start, end)
        elif type == COMMIT:
            self._end_unit(COMMIT, number, start, end)
        elif type == BACK:
            self._end_unit(BACK, number, start, end)
        elif type == CANCEL:
            self._cancel(PayloadReader(buffer, start, end))
        elif type == SETTLE:
            self._settle(number, PayloadReader(buffer, start, end))
        else:
            self.reactor.handler.handle_request(self, type, number, buffer, start, end)

    # -- replies -------------------------------------------------------------------------------------------------------

    def reply(self, lsn: i64, data: bytes) -> None:
        """Send a reply when the log is durable up to an LSN."""
        if lsn == 0 or lsn <= self.reactor.durable_lsn():
            self.link.send(data)
        else:
            self.reactor.send_when_durable(lsn, self.link, data)

    def reply_long(self, type: i64, number: i64, payload: bytes) -> None:
        """Send a reply, in segments if it is longer than a frame."""
        if HEADER_BYTES + len(payload) <= self.link.segment_bytes:
            self.link.send(frame(type | REPLY, self.number, number, payload))
        else:
            self.reactor.send_large_when_durable(0, self.link, type | REPLY, self.number, number, payload, b"")

    def reply_long_when_durable(self, lsn: i64, type: i64, number: i64, payload: bytes) -> None:
        """Send a reply when the log is durable up to an LSN, in segments if it is longer than a frame."""
        if HEADER_BYTES + len(payload) <= self.link.segment_bytes:
            self.reply(lsn, frame(type | REPLY, self.number, number, payload))
        else:
            after: i64 = lsn if lsn > self.reactor.durable_lsn() else 0
            self.reactor.send_large_when_durable(after, self.link, type | REPLY, self.number, number, payload, b"")

    def reply_failure(self, type: i64, number: i64, completion_code: i64, reason: i64, detail: str) -> None:
        """Send a failure, unless the request asks for no reply (number 0)."""
        if number != 0:
            self.link.send(failure_frame(type, self.number, number, completion_code, reason, detail))

    # -- PUT -----------------------------------------------------------------------------------------------------------

    def put(
        self,
        type: i64,
        number: i64,
        buffer: bytes,
        whole: i64,
        start: i64,
        end: i64,
        long_body: bytes = b"",
        publish_level: i64 = PUBLISH_LEVEL_HIGHEST,
    ) -> None:
        """Handle PUT, or PUBLISH, whose payload begins at `whole` with a publication level before the put.

        `long_body` has the data of a message that came in segments.
        """
        if end - start < PUT_FIXED_BYTES:
            raise MalformedFrame("a PUT is too short")
        block_bytes: i64 = i64(read_i32_le(buffer, start + PUT_BLOCK_BYTES))
        body_at: i64 = start + PUT_FIXED_BYTES + block_bytes
        if block_bytes < 0 or body_at > end:
            raise MalformedFrame("the properties of a PUT have a wrong length")
        connection = self.connection
        engine = self.engine
        handle = connection.handles.get(i64(read_i32_le(buffer, start)))
        if handle is None:
            self._put_failed(type, number, mq.MQRC_HOBJ_ERROR, None, "")
            return
        md = buffer[start + PUT_MD : start + PUT_FIXED_BYTES]
        if i64(read_i32_le(md, 0)) != _MD_ID or i64(read_i32_le(md, 4)) != _MD_VERSION:
            self._put_failed(type, number, mq.MQRC_MD_ERROR, handle, "")
            return
        if end - body_at + len(long_body) > self.link.message_bytes_max:
            self._put_failed(type, number, mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL, handle, "")
            return
        source: Handle | None = None
        context: i64 = i64(read_i32_le(buffer, start + PUT_CONTEXT))
        if context != 0:
            source = connection.handles.get(context)
        block = b""
        try:
            if block_bytes > 0:
                block = buffer[start + PUT_FIXED_BYTES : body_at]
                decode_block(block)  # only valid properties may be stored
            options: i64 = i64(read_i32_le(buffer, start + PUT_OPTIONS))
            if number == 0:
                options = options & ~mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_ASYNC_RESPONSE
            body = long_body if long_body else buffer[body_at:end]
            outcome = putting.put(engine, connection, handle, md, options, block, body, source, publish_level)
        except MQError as error:
            self._put_failed(type, number, error.reason, handle, error.detail)
            return
        reason: i64 = outcome.reason
        if outcome.has_failed():
            if outcome.wants_log_space and self.reactor.stall(self, type, number, buffer[whole:end] + long_body):
                return
            if outcome.task is not None:
                self.reactor.call_when_done(outcome.task, PutReply(self, type, number, handle, outcome))
                return
            self._put_failed(type, number, reason, handle, "")
            return
        if number == 0:
            return  # the engine has counted it for MQSTAT
        code: i64 = mq.MQCC_OK if reason == 0 else mq.MQCC_WARNING
        data = put_reply_frame(self.number, number, code, reason, outcome.md, type)
        self.reply(outcome.after_lsn, data)

    def reply_put(self, type: i64, number: i64, handle: Handle, outcome: PutOutcome) -> None:
        """Reply to a PUT on a shared queue, which the coupling facility has answered."""
        reason: i64 = outcome.reason
        if outcome.has_failed() and number != 0 and outcome.after_lsn > 0:
            count_put_failed(self.engine, self.connection, handle)
            self.reply(outcome.after_lsn, failure_frame(type, self.number, number, mq.MQCC_FAILED, reason, ""))
        elif outcome.has_failed():
            self._put_failed(type, number, reason, handle, "")
        elif number != 0:
            code: i64 = mq.MQCC_OK if reason == 0 else mq.MQCC_WARNING
            self.reply(outcome.after_lsn, put_reply_frame(self.number, number, code, reason, outcome.md, type))

    def _put_failed(self, type: i64, number: i64, reason: i64, handle: Handle | None, detail: str) -> None:
        count_put_failed(self.engine, self.connection, handle)
        if number == 0:
            status = self.connection.async_status
            if handle is None:
                status.fail(mq.MQCC_FAILED, reason, "")
            elif handle.topic is not None:
                status.fail(mq.MQCC_FAILED, reason, handle.name, mq.MQOT_TOPIC, handle.topic.topic)
            else:
                status.fail(mq.MQCC_FAILED, reason, handle.name)
        else:
            self.reply_failure(type, number, mq.MQCC_FAILED, reason, detail)

    # -- GET -----------------------------------------------------------------------------------------------------------

    def _get(self, number: i64, buffer: bytes, start: i64, end: i64) -> None:
        if check_get(buffer, start, end) != end - start:
            raise MalformedFrame("bytes behind a GET")
        self.check_request_number(number)
        handle = self.connection.handles.get(i64(read_i32_le(buffer, start + GET_HOBJ)))
        if handle is None:
            self.reply_failure(GET, number, mq.MQCC_FAILED, mq.MQRC_HOBJ_ERROR, "")
            return
        try:
            self.check_waiting_limit()
            request = self.new_request(handle, buffer, start, end)
            flags: i64 = i64(read_i32_le(buffer, start + GET_FLAGS))
            if flags & (HELD | HELD_IF_PERSISTENT) and not request.options & (_IN_UNIT | BROWSE_OPTIONS):
                if len(self.held) >= self.engine.uncommitted_max:
                    raise MQError(mq.MQRC_SYNCPOINT_LIMIT_REACHED, "Too many messages are held without being settled.")
                self._hold_message(
                    number, request, mq.MQGMO_SYNCPOINT if flags & HELD else mq.MQGMO_SYNCPOINT_IF_PERSISTENT
                )
            done: bool = getting.get(self.engine, request)
        except MQError as error:
            self.held.pop(number, None)
            self.reply_failure(GET, number, error.completion, error.reason, error.detail)
            return
        if done:
            if request.reason == mq.MQRC_RESOURCE_PROBLEM and len(request.md) == 0:
                # The log's reserve is used up: a checkpoint frees log space.
                self.held.pop(number, None)
                if self.reactor.stall(self, GET, number, buffer[start:end]):
                    return
            self.answer_get(number, request)
        else:
            self.add_waiting(WaitingGet(self, number, request), request)

    def check_request_number(self, number: i64) -> None:
        """Raise MalformedFrame if a request that may wait has no number of its own."""
        if number == 0 or number in self.waiting or number in self.held:
            raise MalformedFrame(f"request {number} cannot wait: its number is in use or 0")

    def check_waiting_limit(self) -> None:
        """Raise MQError if PENDING_MAX requests of the link wait already. The link stays open."""
        if self.link.pending >= PENDING_MAX:
            raise MQError(mq.MQRC_RESOURCE_PROBLEM, f"{PENDING_MAX} requests of this link wait already.")

    def new_request(self, handle: Handle, buffer: bytes, start: i64, end: i64) -> GetRequest:
        """Decode a GET. The caller has checked its length."""
        match: i64 = i64(read_i32_le(buffer, start + GET_MATCH))
        flags: i64 = i64(read_i32_le(buffer, start + GET_FLAGS))
        request = getting.new_request(
            self.connection,
            handle,
            i64(read_i32_le(buffer, start + GET_OPTIONS)),
            match,
            buffer[start + GET_MESSAGE_ID : start + GET_CORRELATION_ID],
            buffer[start + GET_CORRELATION_ID : start + GET_GROUP_ID],
            min(i64(read_i32_le(buffer, start + GET_LENGTH)), self.link.message_bytes_max),
        )
        request.may_pause = True
        request.wait_ms = i64(read_i32_le(buffer, start + GET_WAIT))
        request.encoding = i64(read_i32_le(buffer, start + GET_ENCODING))
        request.ccsid = i64(read_i32_le(buffer, start + GET_CCSID))
        if flags & AS_STORED:
            handle.property_control = mq.MQPROP_V6COMPAT
            request.wants_stored = True
        request.has_message_handle = flags & (WANTS_PROPERTIES | AS_STORED) != 0
        request.wants_token = flags & WANTS_TOKEN != 0
        request.wants_extension = flags & VERSION_1 != 0
        if end - start > GET_FIXED_BYTES:
            text = buffer[start + GET_FIXED_BYTES : end].decode("utf-8", "replace")
            request.selector = self.engine.compile_selector(text)
            request.kind = BY_SCAN
        if request.kind == BY_SCAN:
            request.group_id = buffer[start + GET_GROUP_ID : start + GET_SEQUENCE]
            request.sequence_number = i64(read_i32_le(buffer, start + GET_SEQUENCE))
            request.offset = i64(read_i32_le(buffer, start + GET_OFFSET))
            request.token = buffer[start + GET_TOKEN : start + GET_TOKEN + 16]
        return request

    def add_waiting(self, waiting: WaitingRequest, request: GetRequest) -> None:
        """Keep a request until it is answered or its wait interval ends; without MQGMO_WAIT, until its search ends."""
        request.waker = waiting
        self.waiting[waiting.number] = waiting
        self.link.pending += 1
        if request.wait_ms > 0 and request.options & mq.MQGMO_WAIT:
            self.reactor.wheel.add(waiting, self.reactor.now_ms + request.wait_ms)

    def remove_waiting(self, waiting: WaitingRequest) -> None:
        """Remove a request that does not wait any more."""
        del self.waiting[waiting.number]
        self.link.pending -= 1
        self.reactor.wheel.remove(waiting)

    def withdraw_gets(self) -> None:
        """Let the waiting gets take no messages until `wait_again`."""
        self.are_gets_withdrawn = True
        for waiting in self.waiting.values():
            if isinstance(waiting, WaitingGet):
                waiting.withdraw()

    def wait_again(self) -> None:
        """Let withdrawn gets wait again, until their replies fill the output buffer."""
        if not self.are_gets_withdrawn:
            return
        self.are_gets_withdrawn = False
        for waiting in list(self.waiting.values()):
            if self.are_gets_withdrawn:
                return  # the replies have filled the buffer again
            if isinstance(waiting, WaitingGet):
                waiting.wait_again()

    def answer_get(self, number: i64, request: GetRequest) -> None:
        """Reply to a GET that is done, with a message or without."""
        reason: i64 = request.reason
        if len(request.md) == 0:
            self.held.pop(number, None)
            if reason == mq.MQRC_BACKED_OUT:
                self.reply_failure(GET, number, mq.MQCC_FAILED, reason, "")
            else:
                self.link.send(reply_frame(GET, self.number, number, completion_code(reason), reason))
            return
        holder = self.held.get(number)
        if holder is not None and holder.unit_of_work is None:
            # The message stays on the queue, because it is longer than the buffer; or it is not persistent.
            del self.held[number]
            self.spare_holder = holder
        if self.is_too_long(request):
            self.reply_failure(
                GET, number, mq.MQCC_FAILED, mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL, self.too_long_text(request)
            )
            return
        after: i64 = request.after_lsn
        self.send_message(GET | REPLY, number, request, b"", after if after > self.reactor.durable_lsn() else 0)

    def is_too_long(self, request: GetRequest) -> bool:
        """Return True for a message that is longer than the link allows. It stays on its queue."""
        return request.reason == mq.MQRC_TRUNCATED_MSG_FAILED and request.max_bytes == self.link.message_bytes_max

    def too_long_text(self, request: GetRequest) -> str:
        return f"The message has {request.data_bytes} bytes, and the channel allows {self.link.message_bytes_max}."

    def send_message(self, type: i64, number: i64, request: GetRequest, extra: bytes, lsn: i64) -> None:
        """Send a message to the application when the log is durable up to an LSN (0: now).

        `extra` is inserted between reason and length, for GET_ANY.
        """
        block = self._block(request)
        body = request.body
        reason: i64 = request.reason
        code: i64 = mq.MQCC_OK if reason == 0 else mq.MQCC_WARNING
        size: i64 = HEADER_BYTES + GOT_FIXED_BYTES + len(block) + len(body)
        if size <= self.link.segment_bytes and not extra:
            data = get_reply_frame(
                type,
                self.number,
                number,
                code,
                reason,
                request.data_bytes,
                request.group_status,
                request.segment_status,
                request.segmentation,
                request.returned_token,
                block,
                request.md,
                body,
            )
            if type == MESSAGE:
                self.reactor.send_behind_when_durable(lsn, self.link, self.number, number, data)
            elif lsn == 0:
                self.link.send(data)
            else:
                self.reactor.send_when_durable(lsn, self.link, data)
            return
        head = get_reply_head(
            code,
            reason,
            request.data_bytes,
            request.group_status,
            request.segment_status,
            request.segmentation,
            request.returned_token,
            block,
            request.md,
        )
        if extra:
            head = head[:8] + extra + head[8:]
        self.reactor.send_large_when_durable(lsn, self.link, type, self.number, number, head, body)

    def _block(self, request: GetRequest) -> bytes:
        """Return the property block that is sent with a message."""
        properties = request.properties
        if properties is not None:
            return encode_block(properties.properties)
        block = request.properties_bytes
        if block and block[0] == PUBLICATION_LAYOUT and self.link.version == 1:
            return b"\1" + block[1:]  # version 1 of the protocol does not have this layout number
        return block

    # -- held messages (SETTLE) ----------------------------------------------------------------------------------------

    def _hold_message(self, number: i64, request: GetRequest, syncpoint_option: i64) -> None:
        """Get a message in a unit of work of its own, until the application settles it."""
        holder = self.spare_holder
        self.spare_holder = None
        if holder is None:
            own = self.connection
            holder = Connection(own.number, own.user, own.application, own.application_type)
            holder.counters = own.counters
            holder.selector_use = own.selector_use
        request.connection = holder
        request.options = request.options & ~mq.MQGMO_NO_SYNCPOINT | syncpoint_option
        self.held[number] = holder

    def _settle(self, number: i64, reader: PayloadReader) -> None:
        settled: i64 = reader.integer()
        keeps: bool = reader.integer() != 0
        reader.check_end()
        settled &= 0xFFFFFFFF
        # A get that still waits has nothing to settle; the message that it may take later is held.
        holder = self.held.pop(settled, None) if settled not in self.waiting else None
        unit: UnitOfWork | None = holder.unit_of_work if holder is not None else None
        if holder is None or unit is None:
            if number != 0:
                self.link.send(reply_frame(SETTLE, self.number, number, mq.MQCC_OK, mq.MQRC_NONE))
            return
        holder.unit_of_work = None
        self.spare_holder = holder
        outcome = UnitOutcome()
        if unit.backed_out_by_system:
            outcome.reason = mq.MQRC_BACKED_OUT
        elif keeps:
            outcome = syncpoint.commit_work(self.engine, unit)
        else:
            syncpoint.back_out_unit(self.engine, unit)
        if outcome.task is not None:
            self.reactor.call_when_done(outcome.task, UnitReply(self, SETTLE, number, outcome))
        else:
            self.reply_unit(SETTLE, number, outcome)

    def _end_held(self, holder: Connection) -> None:
        """End a held message that was sent and is not settled: a persistent one returns, any other is removed.

        The client returns a message that is not persistent to its program without waiting for SETTLE, so it may have
        it: such a message may be lost with the link, but must not come twice.
        """
        unit = holder.unit_of_work
        if unit is None or unit.backed_out_by_system:
            return
        if unit.first_lsn >= 0:  # it has a record: its message is persistent
            self._back_out_held(holder)
            return
        holder.unit_of_work = None
        syncpoint.commit_work(self.engine, unit)

    def _back_out_held(self, holder: Connection) -> None:
        """Return a held message to its queue."""
        unit = holder.unit_of_work
        holder.unit_of_work = None
        if unit is not None and not unit.backed_out_by_system:
            syncpoint.back_out_unit(self.engine, unit)

    # -- CANCEL, COMMIT, BACK and the end ------------------------------------------------------------------------------

    def _cancel(self, reader: PayloadReader) -> None:
        number: i64 = reader.integer() & 0xFFFFFFFF
        reader.check_end()
        waiting = self.waiting.get(number)
        if isinstance(waiting, WaitingGet) and waiting.request.asking is not None:
            getting.end_wait(self.engine, waiting.request)  # the coupling facility may have taken a message for it
        elif waiting is not None:
            waiting.cancel(mq.MQRC_NO_MSG_AVAILABLE)
            waiting.on_answer()

    def _end_unit(self, type: i64, number: i64, start: i64, end: i64) -> None:
        if start != end:
            raise MalformedFrame("a COMMIT or BACK has no payload")
        connection = self.connection
        try:
            if type == COMMIT:
                outcome = syncpoint.commit(self.engine, connection, True)
            else:
                outcome = syncpoint.back_out(self.engine, connection, True)
        except MQError as error:
            self.reply_failure(type, number, error.completion, error.reason, error.detail)
            return
        task = outcome.task
        if task is not None:
            self.reactor.call_when_done(task, UnitReply(self, type, number, outcome))
        else:
            self.reply_unit(type, number, outcome)

    def reply_unit(self, type: i64, number: i64, outcome: UnitOutcome) -> None:
        """Reply to a COMMIT, BACK or SETTLE that is done, unless it asks for no reply (number 0)."""
        if number != 0:
            reason: i64 = outcome.reason
            self.reply(outcome.after_lsn, reply_frame(type, self.number, number, completion_code(reason), reason))

    def close(self, commits: bool) -> UnitOutcome:
        """End the conversation. The unit of work is backed out unless `commits`."""
        self.is_over = True
        for waiting in list(self.waiting.values()):
            self.remove_waiting(waiting)
            waiting.cancel(mq.MQRC_CONNECTION_BROKEN)
            unanswered = self.held.pop(waiting.number, None)
            if unanswered is not None:
                self._back_out_held(unanswered)
        for holder in self.held.values():
            self._end_held(holder)
        self.held = {}
        outcome = self.reactor.handler.release_connection(self, commits)
        self.connection.owner = None
        return outcome
