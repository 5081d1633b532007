"""How the consumers of one connection wait on their queues together, until one of them has to be called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.client.consumers import Consumer
from ostler.client.mqi import Bound
from ostler.engine import get as getting
from ostler.engine.connection import OTHER_OBJECT, Handle
from ostler.engine.core import Engine
from ostler.engine.get_request import GetRequest
from ostler.model.constants import MQRC_NO_MSG_AVAILABLE
from ostler.model.errors import MQError

Answers = list[tuple[Consumer, GetRequest]]

_NO_HANDLE: Final = Handle(0, OTHER_OBJECT, "", 0)


def look(engine: Engine, bound: Bound, active: list[Consumer], waiting: Answers, ring: Callable[[], None]) -> Answers:
    """One try for each consumer in turn. When there is nothing for any of them, their requests are left `waiting`.

    A consumer that is alone waits with its get itself. One of several waits with a watch, that takes nothing.
    """
    is_alone = len(active) == 1
    for consumer in active:
        request = _request(bound, consumer, is_alone)
        request.waker = ring
        if not _ask(engine, request):
            waiting.append((consumer, request))
        elif request.reason != MQRC_NO_MSG_AVAILABLE:
            return [(consumer, request)]
    if not is_alone:
        waiting.extend([(consumer, _watch(bound, consumer, ring)) for consumer in active])
    return []


def _request(bound: Bound, consumer: Consumer, waits: bool) -> GetRequest:
    """The next get of a consumer; one that has failed already when, say, its message handle was deleted."""
    try:
        return consumer.request(bound, waits)
    except MQError as error:
        request = GetRequest(bound.connection, _NO_HANDLE, 0, 0)
        request.reason = error.reason
        request.done = True
        return request


def _ask(engine: Engine, request: GetRequest) -> bool:
    """Try a get; False when it is left waiting. A refusal is an answer too."""
    try:
        return request.done or getting.get(engine, request)
    except MQError as error:
        request.reason = error.reason
        request.done = True
        return True


def _watch(bound: Bound, consumer: Consumer, ring: Callable[[], None]) -> GetRequest:
    watch = consumer.watch(bound)
    watch.waker = ring
    queue = watch.handle.queue
    assert queue is not None
    queue.waiting.add(watch)
    return watch


def withdraw(waiting: Answers, now: float) -> Answers:
    """Take back what still waits. Messages that were got are delivered, however the wait ended."""
    answered: Answers = []
    for consumer, request in waiting:
        if not request.done:
            queue = request.handle.queue
            assert queue is not None
            queue.waiting.remove(request)
            if consumer.waits_until and consumer.waits_until <= now:
                request.reason = MQRC_NO_MSG_AVAILABLE
                answered.append((consumer, request))
        elif request.max_bytes >= 0:
            answered.append((consumer, request))
    return answered
