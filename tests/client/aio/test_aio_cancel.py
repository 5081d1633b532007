"""Cancelled tasks: whatever the moment, no message is lost, none comes twice, and order is kept."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ostler
from ostler.client.aio.async_connection import AsyncConnection
from ostler.client.aio.async_queue import AsyncQueue
from ostler.client.api.property_types import PropertyValue
from ostler.client.link.link import PendingRequest
from ostler.client.mqi.put_get import Bound
from ostler.client.session.in_process import LocalSession
from ostler.client.session.loop_runtime import LoopRuntime
from ostler.model import constants as mq
from ostler.server.queue_manager import QueueManager

Connect = Callable[[], Awaitable[AsyncConnection]]
SECONDS_MAX = 60.0
numbers = itertools.count(1)


@pytest.fixture
def manager(own_site: Any) -> QueueManager:
    found: QueueManager = own_site.manager
    return found


@pytest.fixture
def connect(own_site: Any, way: str) -> Connect:
    return partial(own_site.connect_task, way)


@pytest.fixture
def name(own_site: Any) -> str:
    made = f"CANCEL.{next(numbers)}"
    own_site.admin.define("QLOCAL", made, MAXDEPTH=100_000)
    return made


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, SECONDS_MAX))


def on_queue(manager: QueueManager, name: str) -> list[tuple[bytes | str, int]]:
    with ostler.connect(manager) as qm, qm.open(name, "b") as q:
        return [(message.body, message.backout_count) for message in q.browse()]


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


class GatedRuntime(LoopRuntime):
    """Nothing is durable before the gate is opened."""

    gate: asyncio.Event

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()

    async def wait_durable(self, bound: Bound, lsn: int) -> None:
        if lsn > bound.writer.log.durable_lsn():
            self.begun.set()
            await self.gate.wait()
        await super().wait_durable(bound, lsn)


def test_a_cancelled_wait_leaves_nothing_behind(connect: Connect, manager: QueueManager, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            waiting = asyncio.create_task(q.get(wait=None))
            await asyncio.sleep(0)
            await cancelled(waiting)
            await q.put("stays")
            assert on_queue(manager, name) == [("stays", 0)]
            assert manager.engine.queues[name].waiting.count == 0

    run(test())


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("persistent", [False, True])
def test_a_message_handed_over_in_the_moment_of_cancellation_goes_back_to_its_place(
    own_site: Any, way: str, manager: QueueManager, name: str, steps: int, persistent: bool
) -> None:
    # Over a socket the answer comes in one pass of the loop, and is seen by the task in the next.
    passes = steps if way == "embedded" else 2 * steps

    async def test() -> None:
        async with await own_site.connect_task(way) as qm, await qm.open(name) as q:
            waiting = asyncio.create_task(q.get(wait=None))
            await asyncio.to_thread(own_site.until_waiting, name)
            own_site.admin.put(name, "first", persistent=persistent)
            own_site.admin.put(name, "second", persistent=persistent)
            assert manager.engine.queues[name].depth == 1
            for _ in range(passes):
                await asyncio.sleep(0)
            await cancelled(waiting)
            assert await q.depth() == 2
            assert on_queue(manager, name) == [("first", 1), ("second", 0)]
            assert manager.engine.units_of_work == {}

    run(test())


def test_a_message_that_goes_back_is_given_to_the_next_who_waits(
    connect: Connect, manager: QueueManager, name: str
) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            one = asyncio.create_task(q.get(wait=None))
            await asyncio.sleep(0)
            two = asyncio.create_task(q.get(wait=None))
            await asyncio.sleep(0)
            await q.put("message")
            await cancelled(one)
            got = await two
            assert got is not None
            assert (got.body, await q.depth()) == ("message", 0)

    run(test())


@pytest.mark.parametrize("waits_first", [False, True])
def test_cancelled_while_the_removal_is_forced_to_disk(
    manager: QueueManager, name: str, tmp_path: Path, waits_first: bool
) -> None:
    properties: dict[str, PropertyValue] = {"n": 1, "t": "x"}

    async def test() -> None:
        qm = AsyncConnection(LocalSession(manager, "me", "test", GatedRuntime))
        runtime = qm.session.runtime
        assert isinstance(runtime, GatedRuntime)
        q = await qm.open(name)
        with ostler.connect(manager) as other:
            if not waits_first:
                for text in ("one", "two", "three"):
                    other.put(name, text, persistent=True, properties=properties, priority=4)
            getting = asyncio.create_task(q.get(wait=None))
            if waits_first:
                await asyncio.sleep(0)
                for text in ("one", "two", "three"):
                    other.put(name, text, persistent=True, properties=properties, priority=4)
            await runtime.begun.wait()
            other.put(name, "four", persistent=True, priority=4)
        assert await q.depth() == 3
        await cancelled(getting)
        assert await q.depth() == 4
        runtime.gate.set()
        assert [body for body, _ in on_queue(manager, name)] == ["one", "two", "three", "four"]
        assert manager.engine.queues[name].counters.gets == 0
        await qm.close()

    run(test())
    with ostler.connect(manager) as qm:
        qm.put(name, "five", persistent=True)
        manager.end("preemptive")
    again = ostler.start(manager.name, tmp_path)
    try:
        with ostler.connect(again) as qm, qm.open(name) as q:
            messages = list(q)
        assert [m.body for m in messages] == ["one", "two", "three", "four", "five"]
        assert messages[0].properties == properties
    finally:
        again.end()


def test_in_a_transaction_that_did_nothing_else_it_is_as_if_nothing_had_been(
    connect: Connect, manager: QueueManager, name: str
) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            async with qm.transaction():
                waiting = asyncio.create_task(q.get(wait=None))
                await asyncio.sleep(0)
                await qm.put(name, "message", syncpoint=False)
                await cancelled(waiting)
                await q.put("other")
            assert on_queue(manager, name) == [("message", 1), ("other", 0)]

    run(test())


def test_in_a_transaction_with_more_in_it_the_transaction_is_spoiled(
    connect: Connect, manager: QueueManager, name: str
) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:

            async def work() -> None:
                async with qm.transaction():
                    await q.put("with it", persistent=True)
                    waiting = asyncio.create_task(q.get(wait=None))
                    await asyncio.sleep(0)
                    await q.put("message", syncpoint=False)
                    await cancelled(waiting)

            with pytest.raises(ostler.MQError) as caught:
                await work()
            assert caught.value.reason == mq.MQRC_BACKED_OUT
            assert on_queue(manager, name) == [("message", 1)]
            async with qm.transaction():
                await q.put("again")
            assert len(on_queue(manager, name)) == 2

    run(test())


def test_a_cancelled_transaction_is_backed_out(connect: Connect, manager: QueueManager, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:

            async def work() -> None:
                async with qm.transaction():
                    await q.put("gone", persistent=True)
                    await q.get(wait=None, correlation_id=b"never")

            task = asyncio.create_task(work())
            await asyncio.sleep(0)
            await cancelled(task)
            assert on_queue(manager, name) == []
            async with qm.transaction():
                await q.put("free again")

    run(test())


def test_a_put_whose_task_is_cancelled_stands(manager: QueueManager, name: str) -> None:
    async def test() -> None:
        qm = AsyncConnection(LocalSession(manager, "me", "test", GatedRuntime))
        runtime = qm.session.runtime
        assert isinstance(runtime, GatedRuntime)
        putting = asyncio.create_task(qm.put(name, "there", persistent=True))
        await runtime.begun.wait()
        await cancelled(putting)
        runtime.gate.set()
        assert on_queue(manager, name) == [("there", 0)]
        await qm.close()

    run(test())


@pytest.mark.parametrize("way", ["local", "client"], indirect=True)
def test_a_cancelled_put_is_part_of_the_unit_of_work(connect: Connect, manager: QueueManager, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            putting = asyncio.create_task(q.put("there", syncpoint=True))
            await asyncio.sleep(0)
            await cancelled(putting)
            with pytest.raises(ostler.MQError) as caught:
                async with qm.transaction():
                    pass
            assert caught.value.reason == mq.MQRC_UOW_IN_PROGRESS
            assert on_queue(manager, name) == []
            await qm.commit()
            assert on_queue(manager, name) == [("there", 0)]

    run(test())


@pytest.mark.parametrize("way", ["local", "client"], indirect=True)
def test_cancelled_while_it_connects(own_site: Any, way: str) -> None:
    async def test() -> None:
        async with await own_site.connect_task(way, application="first") as qm:
            connecting = asyncio.create_task(own_site.connect_task(way, application="second"))
            await asyncio.sleep(0)
            await cancelled(connecting)
            await (await qm.open_dynamic()).close()
            own_site.until(lambda: own_site.connections("second") == 0)
            assert own_site.connections("first") == 1

    run(test())


def test_closing_the_loop_on_a_waiting_task_leaves_no_trap(own_site: Any, way: str, name: str) -> None:
    async def test() -> None:
        qm = await own_site.connect_task(way)
        q = await qm.open(name)
        task = asyncio.create_task(q.get(wait=None))
        await asyncio.sleep(0)
        assert not task.done()

    asyncio.run(test())
    own_site.until(lambda: own_site.manager.engine.queues[name].waiting.count == 0)
    own_site.admin.put(name, "not lost")
    assert [body for body, _ in on_queue(own_site.manager, name)] == ["not lost"]


@pytest.mark.parametrize("seed", range(3))
def test_timeouts_at_any_moment_lose_and_double_nothing(
    connect: Connect, manager: QueueManager, name: str, seed: int
) -> None:
    chance = random.Random(seed)
    total = 120
    got: list[bytes | str] = []

    async def consume(done: asyncio.Event) -> None:
        async with await connect() as qm, await qm.open(name, "r") as q:
            while not done.is_set():
                try:
                    async with asyncio.timeout(chance.random() * 0.003):
                        message = await q.get(wait=None)
                except TimeoutError:
                    continue
                assert message is not None
                got.append(message.body)

    async def test() -> None:
        done = asyncio.Event()

        def produce() -> None:
            with ostler.connect(manager) as qm, qm.open(name, "w") as q:
                for number in range(total):
                    q.put(str(number), persistent=number % 3 == 0)

        consuming = [asyncio.create_task(consume(done)) for _ in range(3)]
        await asyncio.to_thread(produce)
        done.set()
        await asyncio.gather(*consuming)
        left = [body for body, _ in on_queue(manager, name)]
        assert Counter(got + left) == Counter(str(number) for number in range(total))

    run(test())


# -- while the removal is made durable over a link ---------------------------------------------------------------------


class GatedRequest(PendingRequest):
    """A request whose reply is not read before the gate is opened."""

    def __init__(self, inner: PendingRequest, runtime: GatedSettling) -> None:
        self.number = inner.number
        self._inner = inner
        self._runtime = runtime

    async def reply(self) -> bytes:
        self._runtime.begun.set()
        await self._runtime.gate.wait()
        return await self._inner.reply()

    def forget(self) -> None:
        self._inner.forget()


class GatedSettling(LoopRuntime):
    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()

    async def defer_interrupts(self, asked: PendingRequest) -> bytes:
        return await super().defer_interrupts(GatedRequest(asked, self))


@pytest.mark.parametrize("far_way", ["local", "client"])
def test_a_cancelled_task_has_the_message_whose_removal_is_under_way(own_site: Any, name: str, far_way: str) -> None:
    own_site.admin.put(name, "one", persistent=True)
    got: list[Any] = []

    async def work(queue: AsyncQueue) -> None:
        got.append(await queue.get(wait=None))
        await asyncio.sleep(SECONDS_MAX)

    async def test() -> None:
        async with await own_site.connect_task(far_way) as qm, await qm.open(name, "r") as queue:
            runtime = qm.session.runtime = GatedSettling()
            task = asyncio.create_task(work(queue))
            await runtime.begun.wait()
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
            runtime.gate.set()
            await asyncio.wait([task])
            assert task.cancelled()
            assert [message.body for message in got] == ["one"]
            assert await queue.depth() == 0

    run(test())


def test_a_timeout_is_content_with_the_message_whose_removal_is_under_way(own_site: Any, name: str) -> None:
    own_site.admin.put(name, "one", persistent=True)

    async def test() -> None:
        async with await own_site.connect_task("local") as qm, await qm.open(name, "r") as queue:
            runtime = qm.session.runtime = GatedSettling()
            task = asyncio.current_task()
            assert task is not None

            async def expire(limit: asyncio.Timeout) -> None:
                await runtime.begun.wait()
                limit.reschedule(asyncio.get_running_loop().time())
                while not task.cancelling():
                    await asyncio.sleep(0)
                runtime.gate.set()

            async with asyncio.timeout(None) as limit:
                expiring = asyncio.create_task(expire(limit))
                got = await queue.get(wait=None)
            await expiring
            assert got is not None
            assert got.body == "one"
            for _ in range(3):
                await asyncio.sleep(0)  # nobody is cancelled any more

    run(test())


def test_a_second_cancellation_does_not_wait(own_site: Any, name: str) -> None:
    own_site.admin.put(name, "one", persistent=True)

    async def test() -> None:
        async with await own_site.connect_task("local") as qm, await qm.open(name, "r") as queue:
            runtime = qm.session.runtime = GatedSettling()
            task = asyncio.create_task(queue.get(wait=None))
            await runtime.begun.wait()
            task.cancel()
            await asyncio.sleep(0)
            await cancelled(task)

    run(test())
