"""The consumer port on a queue manager of this process: consumers wait on their queues until one is to be called.

There is no polling: a single consumer leaves its get waiting on its queue; several leave watches, so that a message is
removed only when its consumer is called next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from ostler.client.mqi import message_handles
from ostler.client.mqi.connection_state import ConnectionState, engine_turn, wait_durable
from ostler.client.mqi.consumer_port import Answers, ConsumerPort
from ostler.client.mqi.consumers import BROWSE, CallbackConsumer, Delivery
from ostler.client.mqi.put_get import Bound, get_request, returned_options
from ostler.engine import get as getting
from ostler.engine.core import QUIESCING, RUNNING, STOPPING, Engine
from ostler.engine.handle import OTHER_OBJECT, Handle
from ostler.engine.pubsub.subscription_calls import count_call
from ostler.engine.queue.get_request import UNLIMITED, GetRequest
from ostler.engine.queue.selection import GROUP_OPTIONS
from ostler.model import constants as mq
from ostler.model.errors import MQError

_Requests = list[tuple[CallbackConsumer, GetRequest]]

_NO_HANDLE: Final = Handle(0, OTHER_OBJECT, "", 0)
# A request with this limit is answered when a message arrives, but removes none: no message is so short.
_ASKED_SECONDS: Final = 1.0
_TAKES_NOTHING: Final = -(1 << 40)


class EngineConsumerPort(ConsumerPort):
    """The callbacks of a connection to a queue manager in this process."""

    def __init__(self, state: ConnectionState) -> None:
        super().__init__(state.hconn)
        self._bound: Bound = state.bound
        self._connection = state.bound.connection
        self._wakeup: SimpleQueue[None] = SimpleQueue()

    def open(self, is_inside: Callable[[], bool]) -> None:
        self._bound.is_inside_callback = is_inside
        self._bound.manager.on_end.append(self.wake)

    def close(self) -> None:
        if self.wake in self._bound.manager.on_end:
            self._bound.manager.on_end.remove(self.wake)

    def set_consuming(self, is_consuming: bool) -> None:
        self._connection.consuming = is_consuming

    def broken(self) -> int:
        if self._connection.broken:
            return self._connection.broken
        return 0 if self._bound.manager.running else mq.MQRC_CONNECTION_BROKEN

    def is_quiescing(self) -> bool:
        return self._bound.engine.state == QUIESCING

    def count_call(self, call: int, operation: int, hobj: int, is_done: bool) -> None:
        with suppress(MQError), engine_turn(self._bound, even_if_broken=True) as engine:
            count_call(engine, self._connection, call, operation, hobj, is_done)

    def wake(self) -> None:
        self._wakeup.put(None)

    def next(self, active: list[CallbackConsumer], seconds: float | None) -> Answers:
        waiting: _Requests = []
        with engine_turn(self._bound, even_if_broken=True) as engine:
            if self.broken():
                return []
            found = _try_all(engine, self._bound, active, waiting, self.wake)
        if not found:
            try:
                self._wakeup.get(timeout=seconds)
                while True:
                    self._wakeup.get_nowait()
            except Empty:
                pass
            self._await_answers(waiting)
            with engine_turn(self._bound, even_if_broken=True):
                found = _cancel_waiting(waiting, time.monotonic())
        return [(consumer, delivery) for consumer, request in found if (delivery := self._delivery(consumer, request))]

    def _await_answers(self, waiting: _Requests) -> None:
        """Wait for what the coupling facility is asked: it may have taken messages of shared queues already."""
        while True:
            with engine_turn(self._bound, even_if_broken=True) as engine:
                asked = [request for _, request in waiting if request.asking is not None and request.max_bytes >= 0]
                answers = [getting.end_wait(engine, request) for request in asked]
                if all(answers):
                    return
            with suppress(Empty):
                self._wakeup.get(timeout=_ASKED_SECONDS)

    def _delivery(self, consumer: CallbackConsumer, request: GetRequest) -> Delivery | None:
        """Return the delivery of an answered request; None when the removal of the message cannot become durable."""
        if not request.md:
            return Delivery(request.reason)
        try:
            wait_durable(self._bound, request.after_lsn)
        except MQError:
            self._connection.broken = mq.MQRC_CONNECTION_BROKEN
            return None
        found = request.properties
        if found is not None:
            message_handles.fill_handle(self._connection.message_handles, found.properties, request.md, consumer.gmo)
        options = returned_options(request, consumer.gmo)
        return Delivery(request.reason, request.md, options, request.body, request.data_bytes)

    def has_handle(self, hobj: int) -> bool:
        return hobj in self._connection.handles

    def check_gets(self, consumer: CallbackConsumer) -> None:
        request = get_request(self._bound, consumer.hobj, consumer.md, consumer.gmo, consumer.bytes_max)
        request.options = consumer.get_options
        reason = getting.check_options(request)
        if reason != mq.MQRC_NONE:
            raise MQError(reason)
        if request.options & BROWSE:
            if not request.handle.for_browse:
                raise MQError(mq.MQRC_NOT_OPEN_FOR_BROWSE)
        elif not request.handle.for_input:
            raise MQError(mq.MQRC_NOT_OPEN_FOR_INPUT)

    def check_quiescing(self, fail_if_quiescing: bool) -> None:
        state = self._bound.engine.state
        if state == STOPPING:
            raise MQError(mq.MQRC_Q_MGR_STOPPING)
        if state != RUNNING and fail_if_quiescing:
            raise MQError(mq.MQRC_Q_MGR_QUIESCING)

    def has_unit_of_work(self) -> bool:
        with engine_turn(self._bound):
            return self._connection.unit_of_work is not None


def _try_all(
    engine: Engine, bound: Bound, active: list[CallbackConsumer], waiting: _Requests, wake: Callable[[], None]
) -> _Requests:
    """Try a get for each consumer in turn. When there is no message for any, their requests are left `waiting`.

    A single consumer waits with its get itself. One of several waits with a watch, which removes nothing.
    """
    is_alone = len(active) == 1
    for consumer in active:
        request = _request(bound, consumer, is_alone)
        request.waker = wake
        if not _try_get(engine, request):
            waiting.append((consumer, request))
        elif request.reason != mq.MQRC_NO_MSG_AVAILABLE:
            return [(consumer, request)]
    if not is_alone:
        waiting.extend([(consumer, _arrival_watch(bound, consumer, wake)) for consumer in active])
    return []


def _request(bound: Bound, consumer: CallbackConsumer, waits: bool) -> GetRequest:
    """Return the next get of a consumer, to be answered at once or left waiting until it is cancelled.

    It has failed already when, for example, its message handle was deleted.
    """
    try:
        request = get_request(bound, consumer.hobj, consumer.md, consumer.gmo, consumer.bytes_max)
    except MQError as error:
        request = GetRequest(bound.connection, _NO_HANDLE, 0, 0)
        request.reason = error.reason
        request.done = True
        return request
    request.options = consumer.get_options & ~mq.MQGMO_WAIT
    request.wait_ms = 0
    request.may_pause = waits
    if waits:
        request.options |= mq.MQGMO_WAIT
        request.wait_ms = UNLIMITED
        if bound.engine.state == RUNNING:
            # The event handler is to be called when the queue manager quiesces, whatever the consumer's option.
            request.options |= mq.MQGMO_FAIL_IF_QUIESCING
    return request


def _try_get(engine: Engine, request: GetRequest) -> bool:
    """Try a get. Returns False when it is left waiting. An error is an answer, too."""
    try:
        return request.done or getting.get(engine, request)
    except MQError as error:
        request.reason = error.reason
        request.done = True
        return True


def _arrival_watch(bound: Bound, consumer: CallbackConsumer, wake: Callable[[], None]) -> GetRequest:
    """Return a request that is answered when there is a message for a consumer, and leaves the message on the queue.

    While several consumers wait on one connection, none may get a message in advance: the callback of another one would
    commit it. The length limit, which no message meets, keeps the message on the queue; and the request is no browse,
    so the browse cursor does not move.
    """
    model = get_request(bound, consumer.hobj, consumer.md, consumer.gmo, 0)
    watch = getting.new_request(
        model.connection,
        model.handle,
        consumer.get_options & GROUP_OPTIONS | mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING,
        model.match,
        model.message_id,
        model.correlation_id,
        0,
    )
    watch.group_id = model.group_id
    watch.sequence_number = model.sequence_number
    watch.offset = model.offset
    watch.token = model.token
    watch.max_bytes = _TAKES_NOTHING
    watch.waker = wake
    watch.wait_ms = UNLIMITED
    getting.add_watch(bound.engine, watch)
    return watch


def _cancel_waiting(waiting: _Requests, now: float) -> _Requests:
    """Cancel requests that still wait. Messages that were got meanwhile are delivered."""
    answered: _Requests = []
    for consumer, request in waiting:
        if not request.done:
            queue = request.handle.queue
            assert queue is not None
            queue.waiting.remove(request)
            if consumer.waits_until and consumer.waits_until <= now:
                request.reason = mq.MQRC_NO_MSG_AVAILABLE
                answered.append((consumer, request))
        elif request.max_bytes >= 0:
            is_over = bool(consumer.waits_until) and consumer.waits_until <= now
            if request.md or request.reason != mq.MQRC_NO_MSG_AVAILABLE or is_over:
                answered.append((consumer, request))
    return answered
