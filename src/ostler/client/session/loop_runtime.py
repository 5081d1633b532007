"""The runtime for tasks of an event loop: waits suspend the task, and other threads wake it through the loop.

The log's thread reports durable records, and puts of other threads satisfy waiting gets. Everything that becomes ready
before the loop runs again is delivered with one wake-up of the loop, so a force that ends fifty waits costs one.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary, ref

from ostler.client.mqi.put_get import Bound
from ostler.client.session.runtime import Runtime, WakeEvent
from ostler.model import constants as mq
from ostler.model.errors import MQError

if TYPE_CHECKING:
    from ostler.client.link.link import PendingRequest

# The longest interval that a timer accepts. Longer waits are cut to it.
_SECONDS_MAX: Final = 86_400.0 * 365

# Verbs on nonpersistent messages never suspend a task. Loops over them yield to other tasks after so many messages.
_MESSAGES_PER_YIELD: Final = 16

# A cancelled task waits at most so long for the reply to a request that cannot be undone.
_DEFER_SECONDS_MAX: Final = 10.0


class Bridge:
    """Completes futures of one loop from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # Weak: `_bridges` would keep the loop alive through its own value.
        self._loop = ref(loop)
        self._thread = threading.get_ident()
        self._ready: deque[asyncio.Future[None]] = deque()
        self._scheduled = False

    def post(self, future: asyncio.Future[None]) -> None:
        """Have the loop complete a future. Never raises: callers are in the middle of a put or a force of the log."""
        self._ready.append(future)
        # Set before the call and cleared before the queue is emptied: a post in between is seen by one of the two.
        if self._scheduled:
            return
        self._scheduled = True
        loop = self._loop()
        try:
            if loop is None:
                raise RuntimeError("the loop is gone")
            if threading.get_ident() == self._thread:
                loop.call_soon(self._deliver)
            else:
                loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:
            # The loop is closed, so no task waits any more.
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
    """Return the bridge of a loop. Called by the loop's own thread."""
    found = _bridges.get(loop)
    if found is None:
        found = Bridge(loop)
        _bridges[loop] = found
    return found


class LoopEvent(WakeEvent):
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
    """Cancel the running task at its next wait."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().call_soon(_cancel_again, task)


def _cancel_again(task: asyncio.Task[object]) -> None:
    """Cancel a task whose cancellation was deferred, unless the cancellation has been withdrawn.

    A timeout withdraws its cancellation when its block ends, and the task goes on with its result.
    """
    if not task.done() and task.cancelling() > 0:
        task.uncancel()
        task.cancel()


class LoopRuntime(Runtime):
    """Waits suspend the task. All calls come from the loop's thread, except `on_manager_ended`."""

    def __init__(self) -> None:
        self._unit = asyncio.Lock()
        self._pending: set[asyncio.Future[None]] = set()
        self._has_ended = False
        self._checkpoints = 0

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def new_event(self) -> WakeEvent:
        return LoopEvent(asyncio.get_running_loop())

    def may_be_cancelled(self) -> bool:
        return True

    async def defer_interrupts(self, asked: PendingRequest) -> bytes:
        try:
            return await asked.reply()
        except asyncio.CancelledError as cancelled:
            with suppress(TimeoutError):
                async with asyncio.timeout(_DEFER_SECONDS_MAX):
                    return await self._reply_then_cancel(asked)
            raise cancelled

    def raise_deferred_interrupt(self) -> None:
        # The loop cancels the task again.
        pass

    async def _reply_then_cancel(self, asked: PendingRequest) -> bytes:
        """Return a reply that a cancelled task waits for. The task is cancelled again afterwards."""
        try:
            reply = await asked.reply()
        except MQError:
            _cancel_soon()
            raise
        _cancel_soon()
        return reply

    async def wait_durable(self, bound: Bound, lsn: int) -> None:
        writer = bound.writer
        if lsn <= writer.log.durable_lsn():
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._pending.add(future)
        try:
            with bound.turn:
                if not self._has_ended:
                    writer.call_when_durable(lsn, partial(bridge(loop).post, future))
            if not self._has_ended:
                await future
        finally:
            self._pending.discard(future)
        if lsn > writer.log.durable_lsn():
            if writer.failure:
                raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, writer.failure)
            raise MQError(mq.MQRC_CONNECTION_BROKEN, "The queue manager ended before this was safe on disk.")
        if writer.log.needs_checkpoint():
            await self._help(bound)

    async def _help(self, bound: Bound) -> None:
        """Help to make room in a log that fills. Failures are ignored, as the verb itself has succeeded."""
        if bound.writer.log.is_filling():
            with suppress(MQError):
                await self.make_room(bound)
        else:
            bound.writer.ask_for_checkpoint()

    async def make_room(self, bound: Bound) -> None:
        # Rare and slow, as it takes a checkpoint: the only work that is done on another thread.
        await asyncio.get_running_loop().run_in_executor(None, bound.manager.make_room)

    async def checkpoint(self) -> None:
        self._checkpoints += 1
        if self._checkpoints % _MESSAGES_PER_YIELD == 0:
            await asyncio.sleep(0)

    async def acquire_unit(self, seconds: float | None) -> bool:
        try:
            # Not wait_for: before Python 3.12 that can swallow a cancellation.
            async with asyncio.timeout(seconds if self._unit.locked() else None):
                await self._unit.acquire()
        except TimeoutError:
            return False
        return True

    def release_unit(self) -> None:
        self._unit.release()

    def on_manager_ended(self) -> None:
        self._has_ended = True
        for future in list(self._pending):
            bridge(future.get_loop()).post(future)
