"""The ways a verb can wait: blocking its thread here, suspending its task in `loop_waits`.

The verbs are written once, as coroutines that wait through a `Waits`. With blocking waits such a coroutine never
suspends, so `run` gets its result by starting it.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import TYPE_CHECKING, TypeVar

from ostler.client.mqi.put_get import Bound
from ostler.model.errors import MQError

if TYPE_CHECKING:
    from ostler.client.link.link import Asked

T = TypeVar("T")


def run(coroutine: Coroutine[object, None, T]) -> T:
    """The result of a coroutine whose waits block."""
    try:
        coroutine.send(None)
    except StopIteration as finished:
        result: T = finished.value
        return result
    raise AssertionError("a blocking verb was suspended")


class Waiter(ABC):
    """Waits for one event, once. `wake` is called under the engine's lock, from any thread, perhaps more than once."""

    @abstractmethod
    def wake(self) -> None: ...

    @abstractmethod
    async def wait(self, seconds: float | None) -> None:
        """Return when woken or when the time is up; None waits for ever. Who called finds out which it was."""


class Waits(ABC):
    """How the verbs of one connection wait."""

    @abstractmethod
    def waiter(self) -> Waiter: ...

    @abstractmethod
    def may_be_cancelled(self) -> bool:
        """Whether a wait begun now can end with an exception of somebody else's making."""

    @abstractmethod
    async def defer_interrupts(self, asked: Asked) -> bytes:
        """The reply to a request that cannot be undone. An interruption waits until the caller has the reply.

        Only a second interruption ends the wait. MQError when the link breaks first.
        """

    @abstractmethod
    def raise_deferred(self) -> None:
        """Raise an interruption that `defer_interrupts` has kept back and nobody else raises."""

    @abstractmethod
    async def durable(self, bound: Bound, lsn: int) -> None:
        """Return when the log is durable up to here; MQError when it never will be."""

    @abstractmethod
    async def room(self, bound: Bound) -> None:
        """The log is full: have the queue manager make room."""

    @abstractmethod
    async def breathe(self) -> None:
        """Between two messages of a long loop: let others run, if they cannot run beside."""

    @abstractmethod
    async def take_turn(self, seconds: float | None) -> bool:
        """Become the one user of the connection's unit of work. False: the time is up."""

    @abstractmethod
    def give_turn(self) -> None: ...

    @abstractmethod
    def ended(self) -> None:
        """The queue manager has ended: nobody may wait any longer."""


class BlockingWaiter(Waiter):
    def __init__(self) -> None:
        self._event = threading.Lock()
        self._event.acquire()

    def wake(self) -> None:
        if self._event.locked():
            self._event.release()

    async def wait(self, seconds: float | None) -> None:
        self._event.acquire(timeout=-1 if seconds is None else max(0.0, seconds))


class BlockingWaits(Waits):
    """The thread sleeps."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._deferred: BaseException | None = None

    def waiter(self) -> Waiter:
        return BlockingWaiter()

    def may_be_cancelled(self) -> bool:
        # Only the main thread gets KeyboardInterrupt and what signal handlers raise.
        return threading.current_thread() is threading.main_thread()

    async def defer_interrupts(self, asked: Asked) -> bytes:
        try:
            return await asked.reply()
        except MQError:
            raise
        except BaseException as interruption:
            reply = await asked.reply()
            self._deferred = interruption
            return reply

    def raise_deferred(self) -> None:
        if self._deferred is not None and self.may_be_cancelled():
            deferred, self._deferred = self._deferred, None
            raise deferred

    async def durable(self, bound: Bound, lsn: int) -> None:
        if lsn > bound.writer.log.durable_lsn():
            bound.writer.wait_durable_throttled(lsn)

    async def room(self, bound: Bound) -> None:
        bound.manager.make_room()

    async def breathe(self) -> None:
        pass

    async def take_turn(self, seconds: float | None) -> bool:
        return self._turn.acquire(timeout=-1 if seconds is None else max(0.0, seconds))

    def give_turn(self) -> None:
        self._turn.release()

    def ended(self) -> None:
        pass
