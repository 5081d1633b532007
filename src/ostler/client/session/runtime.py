"""The runtime of a connection: how its verbs wait. Blocking a thread here, suspending a task in `loop_runtime`.

Each verb is written once, as a coroutine that waits through a `Runtime`. On the blocking runtime the coroutine never
suspends, so `run` gets its result by starting it.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import TYPE_CHECKING, TypeVar

from ostler.client.mqi.put_get import Bound
from ostler.model.errors import MQError

if TYPE_CHECKING:
    from ostler.client.link.link import PendingRequest

T = TypeVar("T")


def run(coroutine: Coroutine[object, None, T]) -> T:
    """Return the result of a coroutine that waits by blocking."""
    try:
        coroutine.send(None)
    except StopIteration as finished:
        result: T = finished.value
        return result
    raise AssertionError("a blocking verb was suspended")


class WakeEvent(ABC):
    """An event to wait for once. `wake` is called under the engine's lock, by any thread, perhaps more than once."""

    @abstractmethod
    def wake(self) -> None: ...

    @abstractmethod
    async def wait(self, seconds: float | None) -> None:
        """Return when woken or when the time is up; None waits for ever. The caller finds out which it was."""


class Runtime(ABC):
    """The waits of one connection, and the lock of its unit of work."""

    def monotonic(self) -> float:
        """Return the time in seconds by which waits are measured."""
        return time.monotonic()

    @abstractmethod
    def new_event(self) -> WakeEvent: ...

    @abstractmethod
    def may_be_cancelled(self) -> bool:
        """Return whether a wait begun now can end with a cancellation or a KeyboardInterrupt."""

    @abstractmethod
    async def defer_interrupts(self, asked: PendingRequest) -> bytes:
        """Return the reply to a request that cannot be undone. An interruption is deferred until the caller has it.

        Only a second interruption ends the wait. Raises MQError when the link breaks first.
        """

    @abstractmethod
    def raise_deferred_interrupt(self) -> None:
        """Raise an interruption that `defer_interrupts` has deferred, unless the event loop raises it."""

    @abstractmethod
    async def wait_durable(self, bound: Bound, lsn: int) -> None:
        """Return when the log is durable up to an LSN. Raises MQError when it never will be."""

    @abstractmethod
    async def make_room(self, bound: Bound) -> None:
        """Have the queue manager make room in a log that is full."""

    @abstractmethod
    async def checkpoint(self) -> None:
        """Let other tasks run, between two messages of a long loop. Does nothing for threads."""

    @abstractmethod
    async def acquire_unit(self, seconds: float | None) -> bool:
        """Acquire the connection's unit of work for a transaction. Returns False when the time is up."""

    @abstractmethod
    def release_unit(self) -> None:
        """Release the unit of work to the next transaction."""

    @abstractmethod
    def on_manager_ended(self) -> None:
        """End all waits: the queue manager has ended."""


class BlockingEvent(WakeEvent):
    def __init__(self) -> None:
        self._event = threading.Lock()
        self._event.acquire()

    def wake(self) -> None:
        if self._event.locked():
            self._event.release()

    async def wait(self, seconds: float | None) -> None:
        self._event.acquire(timeout=-1 if seconds is None else max(0.0, seconds))


class BlockingRuntime(Runtime):
    """Waits block the thread."""

    def __init__(self) -> None:
        self._unit = threading.Lock()
        self._deferred: BaseException | None = None

    def new_event(self) -> WakeEvent:
        return BlockingEvent()

    def may_be_cancelled(self) -> bool:
        # Only the main thread gets KeyboardInterrupt and the exceptions of signal handlers.
        return threading.current_thread() is threading.main_thread()

    async def defer_interrupts(self, asked: PendingRequest) -> bytes:
        try:
            return await asked.reply()
        except MQError:
            raise
        except BaseException as interruption:
            reply = await asked.reply()
            self._deferred = interruption
            return reply

    def raise_deferred_interrupt(self) -> None:
        if self._deferred is not None and self.may_be_cancelled():
            deferred, self._deferred = self._deferred, None
            raise deferred

    async def wait_durable(self, bound: Bound, lsn: int) -> None:
        if lsn > bound.writer.log.durable_lsn():
            bound.writer.wait_durable_throttled(lsn)

    async def make_room(self, bound: Bound) -> None:
        bound.manager.make_room()

    async def checkpoint(self) -> None:
        pass

    async def acquire_unit(self, seconds: float | None) -> bool:
        return self._unit.acquire(timeout=-1 if seconds is None else max(0.0, seconds))

    def release_unit(self) -> None:
        self._unit.release()

    def on_manager_ended(self) -> None:
        pass
