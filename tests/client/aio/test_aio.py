"""The asynchronous flavour: the same verbs, awaited, from one thread."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import pytest

import ostler
from ostler.aio import Connection, commit_then
from ostler.client.api.message import Message
from ostler.client.mqi.put_get import bound_connection
from ostler.model import constants as mq

Connect = Callable[[], Awaitable[Connection]]
SECONDS_MAX = 60.0
numbers = itertools.count(1)


@pytest.fixture
def connect(site: Any, way: str) -> Connect:
    return partial(site.connect_task, way, application="aio")


@pytest.fixture
def name(admin: ostler.Connection) -> str:
    made = f"AIO.{next(numbers)}"
    admin.define("QLOCAL", made, MAXDEPTH=100_000)
    return made


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, SECONDS_MAX))


def refused(reason: int) -> pytest.RaisesExc[ostler.MQError]:
    return pytest.RaisesExc(ostler.MQError, check=lambda error: error.reason == reason)


def bodies(site: Any, name: str) -> list[bytes | str]:
    with site.admin.open(name, "b") as q:
        return [message.body for message in q.browse()]


def test_put_get_browse_iterate(site: Any, connect: Connect, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            put = await q.put("one", persistent=True, properties={"n": 1})
            await qm.put(name, "two")
            assert [m.body async for m in q.browse()] == ["one", "two"]
            assert await q.depth() == 2
            got = await q.get(selector="n = 1")
            assert got is not None
            assert (got.message_id, got.properties) == (put.message_id, {"n": 1})
            for number in range(40):
                await q.put(str(number))
            assert [m.body async for m in q] == ["two", *map(str, range(40))]
            assert await q.get() is None
            assert await q.get(wait=0.01) is None

    run(test())


def test_a_waiting_task_gets_what_another_task_puts(site: Any, connect: Connect, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            for persistent in (False, True):
                waiting = asyncio.create_task(q.get(wait=None))
                await asyncio.sleep(0)
                await q.put("for you", persistent=persistent)
                got = await waiting
                assert got is not None
                assert (got.body, await q.depth()) == ("for you", 0)

    run(test())


def test_a_waiting_task_gets_what_another_thread_puts(site: Any, way: str, connect: Connect, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            waiting = asyncio.create_task(q.get(wait=None))
            await asyncio.sleep(0)

            def put() -> None:
                with site.connect(way) as other:
                    other.put(name, "hello", persistent=True)

            thread = threading.Thread(target=put)
            thread.start()
            got = await waiting
            thread.join()
            assert got is not None
            assert got.body == "hello"

    run(test())


def test_many_tasks_wait_on_one_connection(site: Any, connect: Connect, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            waiting = [asyncio.create_task(q.get(wait=None, correlation_id=bytes([n + 1]))) for n in range(50)]
            await asyncio.sleep(0)
            for n in reversed(range(50)):
                await q.put(str(n), correlation_id=bytes([n + 1]))
            got = await asyncio.gather(*waiting)
            assert [m.body for m in got if m is not None] == [str(n) for n in range(50)]

    run(test())


def test_the_clock_ends_a_wait(site: Any, connect: Connect, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            assert await q.get(wait=0.02) is None
            await q.put("stays")
            assert await q.depth() == 1
            with refused(mq.MQRC_WAIT_INTERVAL_ERROR):
                await q.get(wait=-1)

    run(test())


def test_request_and_reply(site: Any, connect: Connect, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:

            async def answer(message: Message, connection: Connection) -> None:
                await connection.reply(message, message.text.upper())

            serving = asyncio.create_task(q.consume(answer))
            replies = await asyncio.gather(*(qm.request(name, text, wait=SECONDS_MAX) for text in "abcdef"))
            assert [reply.body for reply in replies] == list("ABCDEF")
            serving.cancel()
            await asyncio.wait([serving])
            assert serving.cancelled()
            with refused(mq.MQRC_NO_MSG_AVAILABLE):
                await qm.request(name, "x", wait=0.01)
        assert site.connections("aio") == 0

    run(test())


# -- transactions ----------------------------------------------------------------------------------------------------


def test_transactions_commit_and_back_out(site: Any, connect: Connect, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            async with qm.transaction():
                await q.put("kept", persistent=True)

            async def fail() -> None:
                async with qm.transaction():
                    await q.put("gone", persistent=True)
                    assert await q.get() is not None
                    raise KeyError

            with pytest.raises(KeyError):
                await fail()
            assert bodies(site, name) == ["kept"]
            await q.put("by hand", syncpoint=True)
            await qm.commit()
            await q.put("not", syncpoint=True)
            await qm.back_out()
            assert bodies(site, name) == ["kept", "by hand"]

    run(test())


def test_tasks_take_turns_and_other_verbs_stay_outside(site: Any, connect: Connect, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:

            async def pair(number: int) -> None:
                async with qm.transaction():
                    await q.put(f"{number}a", persistent=True)
                    await asyncio.sleep(0)
                    await q.put(f"{number}b", persistent=True)

            inside = asyncio.Event()

            async def holding() -> None:
                async with qm.transaction():
                    await q.put("held")
                    inside.set()
                    await asyncio.sleep(0)
                    await qm.back_out()

            holder = asyncio.create_task(holding())
            await inside.wait()
            await q.put("outside")
            with refused(mq.MQRC_UOW_IN_PROGRESS):
                await qm.commit()
            with refused(mq.MQRC_CALL_IN_PROGRESS):
                async with qm.transaction(wait=0):
                    pass
            await asyncio.gather(holder, *(pair(n) for n in range(5)))
            texts = [str(body) for body in bodies(site, name)]
            assert texts[0] == "outside"
            assert [text[0] for text in texts[1::2]] == [text[0] for text in texts[2::2]]
            assert len(texts) == 11

    run(test())


def test_a_task_begun_inside_a_transaction_takes_part_while_it_lasts(site: Any, connect: Connect, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            released = asyncio.Event()

            async def late() -> None:
                await released.wait()
                await q.put("late")

            lasting: list[asyncio.Task[None]] = []

            async def fail() -> None:
                async with qm.transaction():
                    await asyncio.wait_for(q.put("inside"), SECONDS_MAX)
                    lasting.append(asyncio.create_task(late()))
                    raise KeyError

            with pytest.raises(KeyError):
                await fail()
            released.set()
            await lasting[0]
            assert bodies(site, name) == ["late"]

    run(test())


def test_many_units_in_flight_are_many_connections(site: Any, connect: Connect, name: str) -> None:
    async def test() -> None:
        async def work(number: int) -> None:
            async with await connect() as qm, await qm.open(name, "w") as q:
                for count in range(5):
                    async with qm.transaction():
                        await q.put(f"{number}.{count}", persistent=True)

        await asyncio.gather(*(work(number) for number in range(20)))
        assert Counter(bodies(site, name)) == Counter(f"{n}.{c}" for n in range(20) for c in range(5))

    run(test())


def test_a_raw_commit_tells_when_it_is_durable(site: Any, name: str) -> None:
    with site.connect("embedded") as qm, qm.open(name) as q:
        bound = bound_connection(qm.hconn)
        told = threading.Semaphore(0)
        q.put("x", persistent=True, syncpoint=True)
        end_lsn = site.manager.log.end_lsn()
        assert commit_then(bound, told.release) == 0
        assert told.acquire(timeout=SECONDS_MAX)
        assert site.manager.log.durable_lsn() > end_lsn, "the record of the commit is durable"
        assert commit_then(bound, told.release) == 0
        assert told.acquire(blocking=False)


# -- objects, consumers, the end -------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["embedded", "local"], indirect=True)
def test_objects(connect: Connect) -> None:
    async def test() -> None:
        async with await connect() as qm:
            await qm.define("QLOCAL", "AIO.Q", MAXDEPTH=5)
            await qm.alter("QLOCAL", "AIO.Q", MAXDEPTH=6)
            assert (await qm.display("QLOCAL", "AIO.Q", "MAXDEPTH"))[0]["MAXDEPTH"] == 6
            await qm.put("AIO.Q", "x", persistent=True)
            await qm.clear("AIO.Q")
            await qm.delete("QLOCAL", "AIO.Q")
            async with await qm.open_dynamic(name="AIO.TEMP.*") as temporary:
                await temporary.put("x")
                assert await temporary.depth() == 1

    run(test())


def test_consume_moves_poison(site: Any, connect: Connect, name: str) -> None:
    async def test() -> None:
        async with await connect() as qm, await qm.open(name) as q:
            site.admin.define("QLOCAL", "AIO.BAD", replace=True)
            site.admin.alter("QLOCAL", name, BOTHRESH=2, BOQNAME="AIO.BAD")
            await q.put("bad", persistent=True)
            await q.put("good")
            seen: list[str] = []
            done = asyncio.Event()

            async def handler(message: Message, connection: Connection) -> None:
                seen.append(message.text)
                if message.text == "bad":
                    raise ValueError
                done.set()

            consuming = asyncio.create_task(q.consume(handler))
            await done.wait()
            consuming.cancel()
            await asyncio.wait([consuming])
            assert consuming.cancelled()
            assert seen == ["bad", "bad", "good"]
            assert bodies(site, "AIO.BAD") == ["bad"]
            site.admin.clear("AIO.BAD")

    run(test())


@pytest.mark.parametrize("mode", ["preemptive", "quiesce"])
def test_waiting_tasks_learn_of_the_end(own_site: Any, way: str, mode: str) -> None:
    own_site.admin.define("QLOCAL", "Q1")

    async def test() -> None:
        async with await own_site.connect_task(way) as qm:
            q = await qm.open("Q1")
            waiting = asyncio.create_task(q.get(wait=None))
            await asyncio.to_thread(own_site.until_waiting, "Q1")
            await asyncio.to_thread(own_site.server.end, mode)
            with pytest.raises(ostler.MQError) as caught:
                await waiting
            assert caught.value.reason in (mq.MQRC_CONNECTION_BROKEN, mq.MQRC_Q_MGR_QUIESCING)
            with pytest.raises(ostler.MQError):
                await q.put("too late")
            await q.close()

    run(test())


def test_tasks_and_threads_lose_and_double_nothing(site: Any, way: str, connect: Connect, name: str) -> None:
    total = 400

    async def consume(take: Callable[[bytes | str], None]) -> None:
        async with await connect() as qm, await qm.open(name, "r") as q:
            while (message := await q.get(wait=SECONDS_MAX)) is not None and message.body != "end":
                take(message.body)

    async def test() -> None:
        got: list[bytes | str] = []

        def produce(part: int) -> None:
            with site.connect(way) as qm, qm.open(name, "w") as q:
                for number in range(part, total, 4):
                    q.put(str(number), persistent=number % 5 == 0)

        consuming = [asyncio.create_task(consume(got.append)) for _ in range(4)]
        producing = [asyncio.to_thread(produce, part) for part in range(4)]
        await asyncio.gather(*producing)
        async with await connect() as qm:
            for _ in range(4):
                await qm.put(name, "end")
        await asyncio.gather(*consuming)
        assert Counter(got) == Counter(str(number) for number in range(total))
        assert bodies(site, name) == []

    run(test())
