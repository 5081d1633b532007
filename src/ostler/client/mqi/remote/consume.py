"""The callbacks of a connection over a link: the queue manager looks for messages for all consumers together (GET_ANY).

A GET_ANY waits at the queue manager. When something else happens it is cancelled, and answered all the same, so a
message that was taken in the last moment is delivered and not lost.

A consumer that is alone, and whose handle reads ahead, is sent messages before they are asked for. Whenever it is not
alone any more, or not called any more, no more are sent; those that have come are kept for it.
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
from ostler.client.mqi.consumers import BROWSE, Consumer, Delivery
from ostler.client.mqi.remote.connections import Got, RemoteConnection, RemoteHandle
from ostler.client.mqi.remote.put_get import answered, request_payload
from ostler.client.session.read_ahead import MessagesAhead
from ostler.engine.get import check_get_options
from ostler.model.constants import (
    MQCC_FAILED,
    MQGMO_SYNCPOINT,
    MQGMO_SYNCPOINT_IF_PERSISTENT,
    MQGMO_WAIT,
    MQOO_BROWSE,
    MQOO_INPUT_AS_Q_DEF,
    MQOO_INPUT_EXCLUSIVE,
    MQOO_INPUT_SHARED,
    MQRC_CONNECTION_QUIESCING,
    MQRC_HOBJ_ERROR,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_NONE,
    MQRC_NOT_OPEN_FOR_BROWSE,
    MQRC_NOT_OPEN_FOR_INPUT,
    MQRC_Q_MGR_QUIESCING,
)
from ostler.model.errors import MQError
from ostler.wire.frames import CANCEL, GET_ANY
from ostler.wire.object_frames import READS_AHEAD
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.put_get_frames import CONSUMERS_MAX, get_any_payload
from ostler.wire.replies import REPLY_FIXED_BYTES

_INPUT: Final = MQOO_INPUT_AS_Q_DEF | MQOO_INPUT_SHARED | MQOO_INPUT_EXCLUSIVE
_IN_UNIT: Final = MQGMO_SYNCPOINT | MQGMO_SYNCPOINT_IF_PERSISTENT
_QUIESCING: Final = (MQRC_Q_MGR_QUIESCING, MQRC_CONNECTION_QUIESCING)
_WAIT_MS_MAX: Final = 0x7FFFFFFF
_INDEX_BYTES: Final = 4


class LinkPort(ConsumerPort):
    def __init__(self, remote: RemoteConnection) -> None:
        super().__init__(remote.hconn)
        self._remote = remote
        self._bell = threading.Event()
        self._look: ReplyWaiter | None = None
        self._ahead: MessagesAhead | None = None  # what the queue manager sends to before it is asked

    def open(self, is_inside: Callable[[], bool]) -> None:
        self._remote.is_inside_callback = is_inside
        self._remote.conversation.on_notice = self.ring

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

    def ring(self) -> None:
        self._bell.set()
        look = self._look
        if look is not None:
            self._remote.conversation.post(CANCEL, numbers_payload([look.request()]))
        ahead = self._ahead
        if ahead is not None:
            ahead.ring(self._remote)

    # -- waiting ------------------------------------------------------------------------------------------------------

    def next(self, active: list[Consumer], seconds: float | None) -> Answers:
        remote = self._remote
        generation = remote.generation
        remote.conversation.on_notice = self.ring
        try:
            if not active:
                self._pause()
                self._idle(seconds)
                return []
            answers = self._alone(active[0], seconds) if len(active) == 1 else self._kept(active)
            if answers is not None:
                return answers
            gets: list[bytes] = []
            for consumer in active[:CONSUMERS_MAX]:
                try:
                    gets.append(self._get(consumer))
                except MQError as error:
                    return [(consumer, Delivery(error.reason))]
            return self._take(active, self._ask(gets, seconds))
        except LinkBroken as broken:
            try:
                remote.lost(generation, broken)
            except MQError as error:
                remote.broken = remote.broken or error.reason
            return []

    def _idle(self, seconds: float | None) -> None:
        """Nobody is to be called: wait until something else happens."""
        link = self._remote.conversation.link
        if link.broken:
            raise LinkBroken(link.broken, link.broken_text)
        self._bell.wait(seconds)
        self._bell.clear()

    def _get(self, consumer: Consumer) -> bytes:
        handle = self._handle(consumer)
        options = consumer.get_options & ~MQGMO_WAIT
        return request_payload(self._remote, handle, consumer.md, consumer.gmo, consumer.bytes_max, options, 0)

    def _handle(self, consumer: Consumer) -> RemoteHandle:
        handle = self._remote.handles.get(consumer.hobj)
        if handle is None:
            raise MQError(MQRC_HOBJ_ERROR)
        return handle

    def _ask(self, gets: list[bytes], seconds: float | None) -> ReplyWaiter:
        """Have the queue manager look; the answer. Rung meanwhile, or before, it is asked to come to an end."""
        conversation = self._remote.conversation
        wait_ms = -1 if seconds is None else min(math.ceil(seconds * 1000), _WAIT_MS_MAX)
        if self._bell.is_set():
            wait_ms = 0
        look = conversation.send_request(GET_ANY, get_any_payload(wait_ms, gets))
        self._look = look
        if self._bell.is_set():
            conversation.post(CANCEL, numbers_payload([look.request()]))
        try:
            conversation.link.finish(look)
        except LinkBroken:
            raise
        except BaseException:
            conversation.post(CANCEL, numbers_payload([look.request()]))
            raise
        finally:
            self._look = None
            self._bell.clear()
        return look

    def _take(self, active: list[Consumer], look: ReplyWaiter) -> Answers:
        buffer, start, end = look.buffer, look.start, look.end
        code = int(read_i32_le(buffer, start))
        reason = int(read_i32_le(buffer, start + 4))
        if end - start < REPLY_FIXED_BYTES + _INDEX_BYTES:
            return self._nobody(active, reason)
        index = int(read_i32_le(buffer, start + REPLY_FIXED_BYTES))
        if not 0 <= index < len(active):
            if code == MQCC_FAILED:
                # A failure with a text instead of an index concerns them all.
                return self._nobody(active, reason)
            raise self._remote.nonsense("a reply to GET_ANY for nobody")
        consumer = active[index]
        if code == MQCC_FAILED:
            return [(consumer, Delivery(reason))]
        if consumer.get_options & _IN_UNIT:
            self._remote.in_unit = True
        got = buffer[start : start + REPLY_FIXED_BYTES] + buffer[start + REPLY_FIXED_BYTES + _INDEX_BYTES : end]
        try:
            taken = answered(self._remote, self._handle(consumer), consumer.gmo, got, 0, len(got))
        except MQError as error:
            return [(consumer, Delivery(error.reason))]
        return [(consumer, _delivery(taken))]

    # -- messages that are sent ahead ---------------------------------------------------------------------------------

    def _ahead_of(self, consumer: Consumer) -> MessagesAhead | None:
        handle = self._remote.handles.get(consumer.hobj)
        if handle is None or not handle.flags & READS_AHEAD:
            return None
        ahead = handle.read_ahead
        return ahead if isinstance(ahead, MessagesAhead) else None

    def _pause(self) -> None:
        """Have nothing more sent ahead. What has come is kept with its handle."""
        ahead = self._ahead
        if ahead is not None:
            ahead.pause(self._remote)
            self._ahead = None

    def _alone(self, consumer: Consumer, seconds: float | None) -> Answers | None:
        """For the only consumer: what is sent ahead to it. None when it does not read ahead."""
        ahead = self._ahead_of(consumer)
        if ahead is not self._ahead:
            self._pause()
        if ahead is None:
            return None
        self._ahead = ahead
        return self._served(ahead, consumer, seconds)

    def _kept(self, active: list[Consumer]) -> Answers | None:
        """With several consumers nothing is sent ahead; what has come before goes first. None when there is nothing."""
        self._pause()
        for consumer in active:
            ahead = self._ahead_of(consumer)
            if ahead is not None and ahead.has_begun():
                ahead.pause(self._remote)
                if ahead.count():
                    return self._served(ahead, consumer, 0.0)
        return None

    def _served(self, ahead: MessagesAhead, consumer: Consumer, seconds: float | None) -> Answers | None:
        """A message that was sent ahead, or none in time. None when the consumer cannot be served so."""
        options = consumer.get_options
        try:
            if not ahead.serves(self._remote, consumer.md, consumer.gmo, options):
                return None
            got = ahead.consume(self._remote, consumer.gmo, options, consumer.bytes_max, seconds, self._bell.is_set)
        except MQError as error:
            return [(consumer, Delivery(error.reason))]
        # Whatever it was rung for is looked at when this has returned.
        self._bell.clear()
        return self._nobody([consumer], MQRC_NO_MSG_AVAILABLE) if got is None else [(consumer, _delivery(got))]

    def _nobody(self, active: list[Consumer], reason: int) -> Answers:
        """Nothing came, or something went wrong for all of them."""
        if reason != MQRC_NO_MSG_AVAILABLE:
            return [(consumer, Delivery(reason)) for consumer in active]
        now = time.monotonic()
        return [
            (consumer, Delivery(reason)) for consumer in active if consumer.waits_until and consumer.waits_until <= now
        ]

    # -- for MQCB and MQCTL -------------------------------------------------------------------------------------------

    def has_handle(self, hobj: int) -> bool:
        return hobj in self._remote.handles

    def check_gets(self, consumer: Consumer) -> None:
        handle = self._handle(consumer)
        options = consumer.get_options
        request_payload(self._remote, handle, consumer.md, consumer.gmo, consumer.bytes_max, options, 0)
        has_message_handle = len(consumer.gmo) >= 112 and consumer.gmo[4] == 4 and any(consumer.gmo[104:112])
        reason = check_get_options(options, has_message_handle)
        if reason != MQRC_NONE:
            raise MQError(reason)
        if options & BROWSE:
            if not handle.options & MQOO_BROWSE:
                raise MQError(MQRC_NOT_OPEN_FOR_BROWSE)
        elif not handle.options & _INPUT:
            raise MQError(MQRC_NOT_OPEN_FOR_INPUT)

    def check_quiescing(self, fail_if_quiescing: bool) -> None:
        if self.is_quiescing() and fail_if_quiescing:
            raise MQError(MQRC_Q_MGR_QUIESCING)

    def has_unit_of_work(self) -> bool:
        return self._remote.in_unit


def _delivery(got: Got) -> Delivery:
    body, md, gmo, data_bytes, _, reason = got
    return Delivery(reason, md or b"", gmo, body, data_bytes)
