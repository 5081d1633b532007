"""Turns of the engine: every caller of the engine, on any thread, takes one for each verb.

A turn acquires the engine's lock, sets its clock, and at the end wakes the applications whose waiting get was satisfied
and releases the lock. Nobody waits for anything inside a turn. What a verb returns is durable later: the caller waits
for its LSN after the turn.

A turn in which an invariant fails stops the queue manager before anybody else gets the lock. The caller gets
MQRC_CONNECTION_BROKEN: whether its verb took effect is not known before a restart.

    with manager.turn as engine:
        outcome = put(engine, connection, handle, ...)
    writer.wait_durable(outcome.after_lsn)
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import final

from librt.threading import Lock

from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.errors import InvariantFailed, MQError
from ostler.server.clock import EngineClock


@final
class EngineTurn:
    """The turns of one engine. The object has no state of its own, so that all threads share it."""

    def __init__(
        self,
        engine: Engine,
        lock: Lock,
        clock: EngineClock,
        wake: Callable[[], None],
        stop: Callable[[InvariantFailed], None],
    ) -> None:
        """`wake` wakes the requests in `engine.woken`; `stop` stops the queue manager. Both are called in the turn."""
        self.engine = engine
        self.lock = lock
        self.clock = clock
        self._wake = wake
        self._stop = stop

    def __enter__(self) -> Engine:
        self.lock.acquire()
        self.clock.update(self.engine)
        return self.engine

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and isinstance(error, InvariantFailed):
            self._end_failed(error)
        if self.engine.woken:
            self._wake()
        self.lock.release()

    def _end_failed(self, error: InvariantFailed) -> None:
        try:
            self._stop(error)
            if self.engine.woken:
                self._wake()
        finally:
            self.lock.release()
        raise MQError(mq.MQRC_CONNECTION_BROKEN, f"The queue manager has stopped: {error}.") from error
