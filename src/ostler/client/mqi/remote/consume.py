"""The consumer port over a link: one request, GET_ANY, gets a message for any of the consumers.

A GET_ANY waits at the queue manager. An interruption cancels it, and it is answered all the same, so a message that was
got meanwhile is delivered and not lost.

A single consumer whose handle reads ahead gets messages from read-ahead. When it is not the only one any more, or is
suspended, the stream is stopped; buffered messages are kept for it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from librt.strings import read_i32_le

from ostler.client.link.waiters import LinkBroken, ReplyWaiter
from ostler.client.mqi.consumer_port import Answers, ConsumerPort
from ostler.client.mqi.consumers import BROWSE, CallbackConsumer, Delivery
from ostler.client.mqi.remote.connections import Got, RemoteConnection, RemoteHandle
from ostler.client.mqi.remote.put_get import decode_get_reply, request_payload
from ostler.client.session.read_ahead import MessagesAhead
from ostler.engine.get import check_get_options
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.frames import CANCEL, COUNT_CALL, GET_ANY
from ostler.wire.object_frames import READS_AHEAD
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.put_get_frames import CONSUMERS_MAX, get_any_payload
from ostler.wire.replies import REPLY_FIXED_BYTES
from ostler.wire.subscribe_frames import COUNT_CALL_VERSION

_INPUT: Final = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE
_IN_UNIT: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT
_QUIESCING: Final = (mq.MQRC_Q_MGR_QUIESCING, mq.MQRC_CONNECTION_QUIESCING)
_WAIT_MS_MAX: Final = 0x7FFFFFFF
_INDEX_BYTES: Final = 4


class LinkConsumerPort(ConsumerPort):
    def __init__(self, remote: RemoteConnection) -> None:
        super().__init__(remote.hconn)
        self._remote = remote
        self._wakeup = threading.Event()
        self._pending: ReplyWaiter | None = None
        self._ahead: MessagesAhead | None = None  # the read-ahead in use

    def open(self, is_inside: Callable[[], bool]) -> None:
        self._remote.is_inside_callback = is_inside
        self._remote.conversation.on_notice = self.wake

    def close(self) -> None:
        self._remote.conversation.on_notice = None

    def set_consuming(self, is_consuming: bool) -> None:
        try:
            if not is_consuming:
                with suppress(LinkBroken):
                    self._pause()
        finally:
            self._remote.consuming = is_consuming

    def broken(self) -> int:
        return self._remote.broken

    def is_quiescing(self) -> bool:
        return self._remote.conversation.notice in _QUIESCING

    def count_call(self, call: int, operation: int, hobj: int, is_done: bool) -> None:
        conversation = self._remote.conversation
        handle = self._remote.handles.get(hobj)
        if conversation.link.version >= COUNT_CALL_VERSION:
            # The operation of a failed call may be any number.
            values = [call, operation if is_done else 0, handle.hobj if handle is not None else 0, int(is_done)]
            conversation.post(COUNT_CALL, numbers_payload(values))

    def wake(self) -> None:
        self._wakeup.set()
        pending = self._pending
        if pending is not None:
            self._remote.conversation.post(CANCEL, numbers_payload([pending.request()]))
        ahead = self._ahead
        if ahead is not None:
            ahead.interrupt(self._remote)

    # -- waiting ------------------------------------------------------------------------------------------------------

    def next(self, active: list[CallbackConsumer], seconds: float | None) -> Answers:
        remote = self._remote
        generation = remote.generation
        remote.conversation.on_notice = self.wake
        try:
            if not active:
                self._pause()
                self._wait_idle(seconds)
                return []
            answers = self._get_for_single(active[0], seconds) if len(active) == 1 else self._get_buffered(active)
            if answers is not None:
                return answers
            gets: list[bytes] = []
            for consumer in active[:CONSUMERS_MAX]:
                try:
                    gets.append(self._get(consumer))
                except MQError as error:
                    return [(consumer, Delivery(error.reason))]
            return self._decode_reply(active, self._get_any(gets, seconds))
        except LinkBroken as broken:
            try:
                remote.handle_broken_link(generation, broken)
            except MQError as error:
                remote.broken = remote.broken or error.reason
            return []

    def _wait_idle(self, seconds: float | None) -> None:
        """Wait without consumers until the wait is interrupted or the time is up."""
        link = self._remote.conversation.link
        if link.broken:
            raise LinkBroken(link.broken, link.broken_text)
        self._wakeup.wait(seconds)
        self._wakeup.clear()

    def _get(self, consumer: CallbackConsumer) -> bytes:
        handle = self._handle(consumer)
        options = consumer.get_options & ~mq.MQGMO_WAIT
        return request_payload(self._remote, handle, consumer.md, consumer.gmo, consumer.bytes_max, options, 0)

    def _handle(self, consumer: CallbackConsumer) -> RemoteHandle:
        handle = self._remote.handles.get(consumer.hobj)
        if handle is None:
            raise MQError(mq.MQRC_HOBJ_ERROR)
        return handle

    def _get_any(self, gets: list[bytes], seconds: float | None) -> ReplyWaiter:
        """Send GET_ANY and return the finished waiter. A wake-up before or meanwhile cancels the request."""
        conversation = self._remote.conversation
        wait_ms = -1 if seconds is None else min(math.ceil(seconds * 1000), _WAIT_MS_MAX)
        if self._wakeup.is_set():
            wait_ms = 0
        pending = conversation.send_request(GET_ANY, get_any_payload(wait_ms, gets))
        self._pending = pending
        if self._wakeup.is_set():
            conversation.post(CANCEL, numbers_payload([pending.request()]))
        try:
            conversation.link.finish(pending)
        except LinkBroken:
            raise
        except BaseException:
            conversation.post(CANCEL, numbers_payload([pending.request()]))
            raise
        finally:
            self._pending = None
            self._wakeup.clear()
        return pending

    def _decode_reply(self, active: list[CallbackConsumer], pending: ReplyWaiter) -> Answers:
        buffer, start, end = pending.buffer, pending.start, pending.end
        code = int(read_i32_le(buffer, start))
        reason = int(read_i32_le(buffer, start + 4))
        if end - start < REPLY_FIXED_BYTES + _INDEX_BYTES:
            return self._no_message(active, reason)
        index = int(read_i32_le(buffer, start + REPLY_FIXED_BYTES))
        if not 0 <= index < len(active):
            if code == mq.MQCC_FAILED:
                # A failure with a text instead of an index is one of all consumers.
                return self._no_message(active, reason)
            raise self._remote.protocol_error("a reply to GET_ANY with a wrong index")
        consumer = active[index]
        if code == mq.MQCC_FAILED:
            return [(consumer, Delivery(reason))]
        if consumer.get_options & _IN_UNIT:
            self._remote.in_unit = True
        got = buffer[start : start + REPLY_FIXED_BYTES] + buffer[start + REPLY_FIXED_BYTES + _INDEX_BYTES : end]
        try:
            taken = decode_get_reply(self._remote, self._handle(consumer), consumer.gmo, got, 0, len(got))
        except MQError as error:
            return [(consumer, Delivery(error.reason))]
        return [(consumer, _delivery(taken))]

    # -- messages that are sent ahead ---------------------------------------------------------------------------------

    def _ahead_of(self, consumer: CallbackConsumer) -> MessagesAhead | None:
        handle = self._remote.handles.get(consumer.hobj)
        if handle is None or not handle.flags & READS_AHEAD:
            return None
        ahead = handle.read_ahead
        return ahead if isinstance(ahead, MessagesAhead) else None

    def _pause(self) -> None:
        """Stop read-ahead. Buffered messages stay with their handle."""
        ahead = self._ahead
        if ahead is not None:
            ahead.pause(self._remote)
            self._ahead = None

    def _get_for_single(self, consumer: CallbackConsumer, seconds: float | None) -> Answers | None:
        """Get a message for the only consumer from read-ahead. Returns None when it does not read ahead."""
        ahead = self._ahead_of(consumer)
        if ahead is not self._ahead:
            self._pause()
        if ahead is None:
            return None
        self._ahead = ahead
        return self._get_ahead(ahead, consumer, seconds)

    def _get_buffered(self, active: list[CallbackConsumer]) -> Answers | None:
        """Stop read-ahead for several consumers, and get a buffered message first. Returns None when there is none."""
        self._pause()
        for consumer in active:
            ahead = self._ahead_of(consumer)
            if ahead is not None and ahead.has_begun():
                ahead.pause(self._remote)
                if ahead.count():
                    return self._get_ahead(ahead, consumer, 0.0)
        return None

    def _get_ahead(self, ahead: MessagesAhead, consumer: CallbackConsumer, seconds: float | None) -> Answers | None:
        """Get a message from read-ahead. Returns None when the consumer cannot use read-ahead."""
        options = consumer.get_options
        try:
            if not ahead.serves(self._remote, consumer.md, consumer.gmo, options):
                return None
            got = ahead.consume(self._remote, consumer.gmo, options, consumer.bytes_max, seconds, self._wakeup.is_set)
        except MQError as error:
            return [(consumer, Delivery(error.reason))]
        # Whatever it was rung for is looked at when this has returned.
        self._wakeup.clear()
        return self._no_message([consumer], mq.MQRC_NO_MSG_AVAILABLE) if got is None else [(consumer, _delivery(got))]

    def _no_message(self, active: list[CallbackConsumer], reason: int) -> Answers:
        """Return the answers without a message: an error for all, or no message for those whose time is up."""
        if reason != mq.MQRC_NO_MSG_AVAILABLE:
            return [(consumer, Delivery(reason)) for consumer in active]
        now = time.monotonic()
        return [
            (consumer, Delivery(reason)) for consumer in active if consumer.waits_until and consumer.waits_until <= now
        ]

    # -- for MQCB and MQCTL -------------------------------------------------------------------------------------------

    def has_handle(self, hobj: int) -> bool:
        return hobj in self._remote.handles

    def check_gets(self, consumer: CallbackConsumer) -> None:
        handle = self._handle(consumer)
        options = consumer.get_options
        request_payload(self._remote, handle, consumer.md, consumer.gmo, consumer.bytes_max, options, 0)
        has_message_handle = len(consumer.gmo) >= 112 and consumer.gmo[4] == 4 and any(consumer.gmo[104:112])
        reason = check_get_options(options, has_message_handle)
        if reason != mq.MQRC_NONE:
            raise MQError(reason)
        if options & BROWSE:
            if not handle.options & mq.MQOO_BROWSE:
                raise MQError(mq.MQRC_NOT_OPEN_FOR_BROWSE)
        elif not handle.options & _INPUT:
            raise MQError(mq.MQRC_NOT_OPEN_FOR_INPUT)

    def check_quiescing(self, fail_if_quiescing: bool) -> None:
        if self.is_quiescing() and fail_if_quiescing:
            raise MQError(mq.MQRC_Q_MGR_QUIESCING)

    def has_unit_of_work(self) -> bool:
        return self._remote.in_unit


def _delivery(got: Got) -> Delivery:
    body, md, gmo, data_bytes, _, reason = got
    return Delivery(reason, md or b"", gmo, body, data_bytes)
