"""Waiting in an event loop: tasks are suspended, and other threads wake them through the loop.

The log's thread tells of durable records, and other threads' puts answer waiting gets. All that becomes ready before
the loop gets round to it is handed over with one wake-up of the loop, so a force that ends fifty waits costs one.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from ostler.client.mqi.put_get import Bound
from ostler.client.session.runtime import Waiter, Waits
from ostler.model.constants import MQRC_CONNECTION_BROKEN, MQRC_Q_MGR_NOT_AVAILABLE
from ostler.model.errors import MQError

if TYPE_CHECKING:
    from ostler.client.link.link import Asked

# The longest time a timer takes; a wait that is longer is as good as endless.
_SECONDS_MAX: Final = 86_400.0 * 365

# Verbs on messages that are not persistent never suspend a task. Loops over them do, after so many.
_MESSAGES_PER_BREATH: Final = 16

# A cancelled task waits so long for the reply to a request that cannot be undone.
_DEFER_SECONDS_MAX: Final = 10.0


class Bridge:
    """From any thread into one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._ready: deque[asyncio.Future[None]] = deque()
        self._scheduled = False

    def post(self, future: asyncio.Future[None]) -> None:
        """Have the loop finish a future. Never raises: it is called in the middle of other people's work."""
        self._ready.append(future)
        # Set before the call and cleared before the queue is emptied: what is posted between is seen by one of the two.
        if self._scheduled:
            return
        self._scheduled = True
        try:
            if threading.get_ident() == self._thread:
                self._loop.call_soon(self._deliver)
            else:
                self._loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:
            # The loop is closed, and so nobody waits any more.
            self._scheduled = False
            self._ready.clear()

    def _deliver(self) -> None:
        self._scheduled = False
        ready = self._ready
        while ready:
            future = ready.popleft()
            if not future.done():
                future.set_result(None)


_bridges: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Bridge]] = WeakKeyDictionary()


def bridge(loop: asyncio.AbstractEventLoop) -> Bridge:
    """The bridge into a loop, made by the loop's own thread."""
    found = _bridges.get(loop)
    if found is None:
        found = Bridge(loop)
        _bridges[loop] = found
    return found


class LoopWaiter(Waiter):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._future: asyncio.Future[None] = loop.create_future()
        self._bridge = bridge(loop)

    def wake(self) -> None:
        self._bridge.post(self._future)

    async def wait(self, seconds: float | None) -> None:
        timer: asyncio.TimerHandle | None = None
        if seconds is not None:
            timer = self._loop.call_later(min(max(0.0, seconds), _SECONDS_MAX), _finish, self._future)
        try:
            await self._future
        finally:
            if timer is not None:
                timer.cancel()


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _cancel_soon() -> None:
    """Cancel the running task when it next waits."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().call_soon(_cancel_again, task)


def _cancel_again(task: asyncio.Task[object]) -> None:
    """Cancel a task whose cancellation was kept back, unless whoever cancelled it has been satisfied.

    A timeout takes its cancellation back when its block ends, and the task goes on with what it got.
    """
    if not task.done() and task.cancelling() > 0:
        task.uncancel()
        task.cancel()


class LoopWaits(Waits):
    """The task is suspended. All calls come from the thread of the loop, except `ended`."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._pending: set[asyncio.Future[None]] = set()
        self._over = False
        self._breaths = 0

    def waiter(self) -> Waiter:
        return LoopWaiter(asyncio.get_running_loop())

    def may_be_cancelled(self) -> bool:
        return True

    async def defer_interrupts(self, asked: Asked) -> bytes:
        try:
            return await asked.reply()
        except asyncio.CancelledError as cancelled:
            with suppress(TimeoutError):
                async with asyncio.timeout(_DEFER_SECONDS_MAX):
                    return await self._answered(asked)
            raise cancelled

    def raise_deferred(self) -> None:
        # The loop cancels the task again.
        pass

    async def _answered(self, asked: Asked) -> bytes:
        """A reply that a cancelled task waits for, and its cancellation after that."""
        try:
            reply = await asked.reply()
        except MQError:
            _cancel_soon()
            raise
        _cancel_soon()
        return reply

    async def durable(self, bound: Bound, lsn: int) -> None:
        writer = bound.writer
        if lsn <= writer.log.durable_lsn():
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._pending.add(future)
        try:
            with bound.lock:
                if not self._over:
                    writer.call_when_durable(lsn, partial(bridge(loop).post, future))
            if not self._over:
                await future
        finally:
            self._pending.discard(future)
        if lsn > writer.log.durable_lsn():
            if writer.failure:
                raise MQError(MQRC_Q_MGR_NOT_AVAILABLE, writer.failure)
            raise MQError(MQRC_CONNECTION_BROKEN, "The queue manager ended before this was safe on disk.")
        if writer.log.needs_checkpoint():
            await self._help(bound)

    async def _help(self, bound: Bound) -> None:
        """Who writes to a log that fills helps to make room before going on. What was asked for is done in any case."""
        if bound.writer.log.is_filling():
            with suppress(MQError):
                await self.room(bound)
        else:
            bound.writer.ask_for_checkpoint()

    async def room(self, bound: Bound) -> None:
        # Rare and slow: it takes a checkpoint. The one thing that is done on another thread.
        await asyncio.get_running_loop().run_in_executor(None, bound.manager.make_room)

    async def breathe(self) -> None:
        self._breaths += 1
        if self._breaths % _MESSAGES_PER_BREATH == 0:
            await asyncio.sleep(0)

    async def take_turn(self, seconds: float | None) -> bool:
        try:
            # Not wait_for: before Python 3.12 that can swallow a cancellation.
            async with asyncio.timeout(seconds if self._turn.locked() else None):
                await self._turn.acquire()
        except TimeoutError:
            return False
        return True

    def give_turn(self) -> None:
        self._turn.release()

    def ended(self) -> None:
        self._over = True
        for future in list(self._pending):
            bridge(future.get_loop()).post(future)
