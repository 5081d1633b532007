"""How tasks are woken from other threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

import ostler
from ostler.client.mqi.put_get import Bound
from ostler.client.session.loop_runtime import LoopRuntime, bridge
from ostler.model import constants as mq


class CountingLoop(asyncio.SelectorEventLoop):
    wake_ups = 0

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any, **more: Any) -> asyncio.Handle:  # type: ignore[override]
        self.wake_ups += 1
        return super().call_soon_threadsafe(callback, *args, **more)


def test_what_becomes_ready_together_wakes_the_loop_once() -> None:
    loop = CountingLoop()

    async def test() -> None:
        across = bridge(loop)
        futures: list[asyncio.Future[None]] = [loop.create_future() for _ in range(50)]

        def tell() -> None:
            for future in futures:
                across.post(future)

        thread = threading.Thread(target=tell)
        thread.start()
        thread.join()
        await asyncio.gather(*futures)
        assert loop.wake_ups == 1
        again: asyncio.Future[None] = loop.create_future()
        across.post(again)
        await again
        assert loop.wake_ups == 1

    try:
        loop.run_until_complete(asyncio.wait_for(test(), 60))
    finally:
        loop.close()


def test_a_closed_loop_disturbs_nobody() -> None:
    loop = CountingLoop()

    async def make() -> asyncio.Future[None]:
        bridge(loop)
        return loop.create_future()

    future = loop.run_until_complete(make())
    loop.close()
    thread = threading.Thread(target=bridge(loop).post, args=(future,))
    thread.start()
    thread.join()
    bridge(loop).post(future)
    assert not future.done()


class Writer:
    """A log that never becomes durable."""

    def __init__(self) -> None:
        self.log = self
        self.failure = ""
        self.told: list[Callable[[], None]] = []

    def durable_lsn(self) -> int:
        return 10

    def needs_checkpoint(self) -> bool:
        return False

    def call_when_durable(self, lsn: int, tell: Callable[[], None]) -> None:
        self.told.append(tell)


class StandIn:
    def __init__(self) -> None:
        self.writer = Writer()
        self.turn = threading.Lock()


@pytest.mark.parametrize(("failure", "reason"), [("", mq.MQRC_CONNECTION_BROKEN), ("x", mq.MQRC_Q_MGR_NOT_AVAILABLE)])
def test_who_waits_for_the_disk_learns_that_it_is_in_vain(failure: str, reason: int) -> None:
    async def test() -> None:
        substitute = StandIn()
        bound = cast(Bound, substitute)
        runtime = LoopRuntime()
        await runtime.wait_durable(bound, 10)
        waiting = asyncio.create_task(runtime.wait_durable(bound, 11))
        await asyncio.sleep(0)
        assert len(substitute.writer.told) == 1
        substitute.writer.failure = failure
        thread = threading.Thread(target=runtime.on_manager_ended if not failure else substitute.writer.told[0])
        thread.start()
        thread.join()
        with pytest.raises(ostler.MQError) as caught:
            await waiting
        assert caught.value.reason == reason
        if not failure:
            with pytest.raises(ostler.MQError):
                await runtime.wait_durable(bound, 11)

    asyncio.run(asyncio.wait_for(test(), 60))
