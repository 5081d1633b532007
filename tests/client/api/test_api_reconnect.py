"""Reconnection of the Python API: links that break, queue managers that come back, replies that are lost."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from tests.client.session.losing_proxy import Proxy

import ostler
from ostler.client.api.connection import Connection
from ostler.client.api.queue import Queue
from ostler.model import constants as mq
from ostler.server.assembly import Server
from ostler.testing.without_security import disable_security

CHANNEL = "APP.SVRCONN"
SECONDS_MAX = 60.0
numbers = itertools.count(1)


def refused(reason: int) -> pytest.RaisesExc[ostler.MQError]:
    return pytest.RaisesExc(ostler.MQError, check=lambda error: error.reason == reason)


def cut(site: Any) -> None:
    """Break all links of clients. They may come back at once."""
    links = [link for link in list(site.server.reactor.links.values()) if link.channel]
    site.server.stop_channel(CHANNEL, "FORCE", "INACTIVE")
    site.until(lambda: not any(link in list(site.server.reactor.links.values()) for link in links))


@pytest.fixture
def name(admin: Connection) -> str:
    made = f"RECONNECT.{next(numbers)}"
    admin.define("QLOCAL", made)
    return made


@pytest.fixture
def q(site: Any, name: str) -> Iterator[Queue]:
    with site.connect("client", reconnect=True) as qm, qm.open(name) as queue:
        yield queue


def bodies(site: Any, name: str) -> list[bytes | str]:
    with site.admin.open(name, "b") as queue:
        return [message.body for message in queue.browse()]


def test_without_reconnection_a_broken_link_stays_broken(site: Any, name: str) -> None:
    for reconnect in (None, False):
        with site.connect("client", reconnect=reconnect) as qm, qm.open(name) as queue:
            cut(site)
            for _ in range(2):
                with refused(mq.MQRC_CONNECTION_BROKEN):
                    queue.put("x")
    assert bodies(site, name) == []


def test_open_queues_are_opened_again(site: Any, name: str, q: Queue) -> None:
    with q.connection.open(name, "b", selector="n = 2") as chosen:
        cut(site)
        q.put("one", properties={"n": 1})
        q.put("two", properties={"n": 2})
        assert [message.body for message in chosen.browse()] == ["two"]
        assert q.depth == 2
        cut(site)
        assert [message.body for message in q] == ["one", "two"]


def test_a_wait_goes_on_over_the_new_link(site: Any, name: str, q: Queue) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(q.get, wait=SECONDS_MAX, correlation_id=bytes([n + 1])) for n in range(3)]
        site.until_waiting(name, 3)
        cut(site)
        site.until_waiting(name, 3)
        for n in range(3):
            site.admin.put(name, str(n), correlation_id=bytes([n + 1]))
        got = [each.result(SECONDS_MAX) for each in waiting]
    assert [message and message.body for message in got] == ["0", "1", "2"]


def test_a_wait_has_the_rest_of_its_time(site: Any, name: str, q: Queue) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(q.get, wait=0.5)

        def is_over() -> bool:
            cut(site)
            return bool(wait([waiting], 0.1).done)

        # If each link gave it its whole time again, it would never be over.
        site.until(is_over)
        assert waiting.result() is None


def test_a_unit_of_work_is_reported_as_backed_out(site: Any, name: str, q: Queue) -> None:
    qm = q.connection

    def work() -> None:
        with qm.transaction():
            q.put("first", persistent=True)
            cut(site)
            with refused(mq.MQRC_BACKED_OUT):
                q.put("second", persistent=True)

    with refused(mq.MQRC_BACKED_OUT):
        work()
    assert bodies(site, name) == []
    with qm.transaction():
        q.put("again", persistent=True)
    q.put("by hand", syncpoint=True)
    cut(site)
    qm.back_out()
    q.put("by hand again", syncpoint=True)
    qm.commit()
    assert bodies(site, name) == ["again", "by hand again"]


def test_a_unit_that_had_not_begun_is_not_lost(site: Any, name: str, q: Queue) -> None:
    with q.connection.transaction():
        cut(site)
        q.put("one", persistent=True)
    assert bodies(site, name) == ["one"]


def test_a_consumer_goes_on(site: Any, name: str, q: Queue) -> None:
    seen: list[str] = []
    done = threading.Event()

    def handler(message: ostler.Message, connection: Connection) -> None:
        seen.append(message.text)
        if len(seen) == 2:
            done.set()

    with q.consume(handler) as consumer:
        q.put("one", persistent=True)
        site.until_waiting(name)
        site.until(lambda: len(seen) == 1)
        cut(site)
        site.admin.put(name, "two")
        assert done.wait(SECONDS_MAX)
    assert (seen, consumer.error) == (["one", "two"], None)


@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_consumed_while_links_break_is_done_once(site: Any, name: str, q: Queue, threads: int) -> None:
    total = 300
    site.admin.define("QLOCAL", f"{name}.OUT")
    for number in range(total):
        site.admin.put(name, str(number), persistent=number % 2 == 0)

    def handler(message: ostler.Message, connection: Connection) -> None:
        connection.put(f"{name}.OUT", message.text, persistent=message.persistent)

    out = site.manager.engine.queues[f"{name}.OUT"]
    with q.consume(handler, threads=threads) as consumer:
        for part in range(1, 8):
            site.until(lambda part=part: out.depth >= part * total // 8)
            cut(site)
        site.until(lambda: out.depth >= total and site.manager.engine.queues[name].depth == 0)
    assert consumer.error is None
    assert sorted(bodies(site, f"{name}.OUT"), key=int) == [str(number) for number in range(total)]


def test_replies_come_on_the_same_queue_as_before(site: Any, name: str, q: Queue) -> None:
    def answer(message: ostler.Message, connection: Connection) -> None:
        connection.reply(message, message.text.upper())

    with site.admin.open(name) as work, work.consume(answer):
        assert q.connection.request(name, "one", wait=SECONDS_MAX).body == "ONE"
        cut(site)
        assert q.connection.request(name, "two", wait=SECONDS_MAX).body == "TWO"


def test_a_queue_that_is_gone_says_so(site: Any, admin: Connection, name: str) -> None:
    with site.connect("client", reconnect=True) as qm:
        queue = qm.open(name)
        cut(site)
        admin.delete("QLOCAL", name)
        with refused(mq.MQRC_OBJECT_CHANGED):
            queue.put("x")
        queue.close()
        with qm.open_dynamic() as other:
            other.put("fine")


def test_tasks_are_reconnected_too(site: Any, name: str) -> None:
    async def main() -> None:
        async with await site.connect_task("client", reconnect=True) as qm, await qm.open(name) as queue:
            waiting = [asyncio.create_task(queue.get(wait=None)) for _ in range(3)]
            await asyncio.to_thread(site.until_waiting, name, 3)
            await asyncio.to_thread(cut, site)
            for number in range(3):
                await queue.put(str(number))
            got = await asyncio.gather(*waiting)
            assert sorted(message.text for message in got if message is not None) == ["0", "1", "2"]
            with refused(mq.MQRC_BACKED_OUT):
                async with qm.transaction():
                    await queue.put("lost")
                    await asyncio.to_thread(cut, site)
            assert await queue.depth() == 0

    asyncio.run(asyncio.wait_for(main(), SECONDS_MAX))


@pytest.mark.parametrize("mode", ["quiesce", "immediate", "preemptive"])
def test_a_queue_manager_that_comes_back(own_site: Any, mode: str) -> None:
    own_site.admin.define("QLOCAL", "Q1")
    own_site.admin.alter("LISTENER", "TCP", CONTROL="QMGR")
    qm = own_site.connect("client", reconnect=True)
    queue = qm.open("Q1")
    queue.put("before", persistent=True)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(queue.get, wait=SECONDS_MAX, correlation_id=b"C")
        own_site.until_waiting("Q1")
        own_site.server.end(mode)
        manager = ostler.start(own_site.name, own_site.data)
        own_site.manager, own_site.server = manager, Server(disable_security(manager))
        own_site.server.start()
        own_site.admin = ostler.connect(manager)
        own_site.until_waiting("Q1")
        own_site.admin.put("Q1", "after", correlation_id=b"C")
        got = waiting.result(SECONDS_MAX)
    assert got is not None
    assert got.body == "after"
    assert [message.body for message in queue] == ["before"]
    qm.close()


def test_nobody_has_to_wait_for_a_queue_manager_that_does_not_come_back(own_site: Any) -> None:
    own_site.admin.define("QLOCAL", "Q1")
    with (
        own_site.connect("client", reconnect=True) as qm,
        qm.open("Q1") as queue,
        queue.consume(lambda message, connection: None, threads=2) as consumer,
        ThreadPoolExecutor() as pool,
    ):
        waiting = pool.submit(queue.get, wait=None)
        own_site.until_waiting("Q1", 3)
        own_site.server.end("immediate")
        consumer.stop()
        assert consumer.error is None
        qm.close()
        assert isinstance(waiting.exception(SECONDS_MAX), ostler.MQError)


def test_a_task_does_not_have_to_wait_either(own_site: Any) -> None:
    own_site.admin.define("QLOCAL", "Q1")

    async def main() -> None:
        async with await own_site.connect_task("client", reconnect=True) as qm, await qm.open("Q1") as queue:
            await asyncio.to_thread(own_site.server.end, "immediate")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await queue.get()
            waiting = asyncio.create_task(queue.put("x"))
            await asyncio.sleep(0)
            await qm.close()
            with pytest.raises(ostler.MQError):
                await waiting

    asyncio.run(asyncio.wait_for(main(), SECONDS_MAX))


def test_another_queue_manager_takes_over(own_site: Any, site: Any, name: str) -> None:
    own_site.admin.define("QLOCAL", name)
    addresses = f"{own_site.address},{site.address}"
    with ostler.connect("*", addresses, channel=CHANNEL, reconnect=True) as qm, qm.open(name) as queue:
        assert qm.name == own_site.name
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(queue.get, wait=SECONDS_MAX)
            own_site.until_waiting(name)
            own_site.server.end("immediate")
            site.until_waiting(name)
            site.admin.put(name, "here")
            got = waiting.result(SECONDS_MAX)
        assert got is not None
        assert (got.body, qm.name) == ("here", site.name)


def test_only_the_same_queue_manager_will_do(own_site: Any, site: Any, name: str) -> None:
    own_site.admin.define("QLOCAL", name)
    addresses = f"{own_site.address},{site.address}"
    with ostler.connect("*", addresses, channel=CHANNEL, reconnect="qmgr", application="loyal") as qm:
        queue = qm.open(name)
        with ThreadPoolExecutor() as pool:
            own_site.server.end("immediate")
            before = site.manager.engine.next_connection
            waiting = pool.submit(queue.get)
            # It is let in there, sees who answered, and leaves again.
            site.until(lambda: site.manager.engine.next_connection > before)
            site.until(lambda: site.connections("loyal") == 0)
            qm.close()
            assert isinstance(waiting.exception(SECONDS_MAX), ostler.MQError)
    assert bodies(site, name) == []


@pytest.mark.parametrize("waits_at_once", [False, True])
def test_a_task_that_gives_up_reconnecting_leaves_that_to_the_next(site: Any, name: str, waits_at_once: bool) -> None:
    async def main() -> None:
        first = await site.connect_task("client", reconnect=True)
        second = await site.connect_task("client", reconnect=True)
        one, two = await first.open(name), await second.open(name)
        await asyncio.to_thread(cut, site)
        giving_up = asyncio.create_task(one.put("never"))
        await asyncio.sleep(0)
        if waits_at_once:
            await asyncio.sleep(0)
        giving_up.cancel()
        await asyncio.wait([giving_up])
        await two.put("two")
        await one.put("one")
        assert (await two.depth()) in (2, 3)
        await first.close()
        await second.close()

    asyncio.run(asyncio.wait_for(main(), SECONDS_MAX))


# -- lost replies ----------------------------------------------------------------------------------------------------


@pytest.fixture
def proxy(site: Any) -> Iterator[Proxy]:
    made = Proxy(site.port)
    yield made
    made.stop()


def test_a_put_whose_reply_is_lost_may_have_been_done(site: Any, name: str, proxy: Proxy) -> None:
    with ostler.connect(site.name, proxy.address, channel=CHANNEL, reconnect=True) as qm, qm.open(name) as queue:
        proxy.loses.set()
        with refused(mq.MQRC_CALL_INTERRUPTED):
            queue.put("once")
        assert proxy.lost.is_set()
        assert bodies(site, name) == ["once"]
        queue.put("in a unit", syncpoint=True)
        proxy.loses.set()
        with refused(mq.MQRC_CALL_INTERRUPTED):
            qm.commit()
        assert bodies(site, name) == ["once", "in a unit"]
        proxy.loses.set()
        # The first thing of a unit of work can be done again: it is backed out with its link.
        queue.put("third", syncpoint=True)
        qm.commit()
        assert bodies(site, name) == ["once", "in a unit", "third"]


@pytest.mark.parametrize("persistent", [False, True])
def test_a_message_that_is_lost_on_its_way_comes_again_if_it_is_persistent(
    site: Any, name: str, proxy: Proxy, persistent: bool
) -> None:
    """Any other one is removed: the client might have returned it, and it must not come twice."""
    site.admin.put(name, "first", persistent=persistent)
    site.admin.put(name, "second", persistent=persistent)

    async def main() -> None:
        connection = await ostler.aio.connect(site.name, proxy.address, channel=CHANNEL, reconnect=True)
        async with connection as qm, await qm.open(name) as queue:
            proxy.loses.set()
            got = await queue.get(wait=SECONDS_MAX)
            assert proxy.lost.is_set()
            assert got is not None
            assert (got.body, got.backout_count) == (("first", 1) if persistent else ("second", 0))
            assert [message.body async for message in queue] == (["second"] if persistent else [])

    asyncio.run(asyncio.wait_for(main(), SECONDS_MAX))


@pytest.mark.parametrize("where", ["main thread", "other thread"])
@pytest.mark.parametrize("reconnect", [False, True])
def test_a_get_whose_removal_was_not_confirmed_is_in_doubt(
    site: Any, name: str, proxy: Proxy, where: str, reconnect: bool
) -> None:
    first = site.admin.put(name, "first", persistent=True)
    site.admin.put(name, "second", persistent=True)

    def work() -> None:
        with ostler.connect(site.name, proxy.address, channel=CHANNEL, reconnect=reconnect) as qm:
            queue = qm.open(name, "r")
            proxy.passes = 1
            proxy.loses.set()
            with pytest.raises(ostler.MQError) as caught:
                queue.get()
            assert caught.value.reason == (mq.MQRC_CALL_INTERRUPTED if reconnect else mq.MQRC_CONNECTION_BROKEN)
            assert first.message_id.hex() in caught.value.detail
            if reconnect:
                assert [message.body for message in queue] == ["second"]
            else:
                with refused(mq.MQRC_CONNECTION_BROKEN):
                    queue.get()

    if where == "main thread":
        work()
    else:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(work).result(SECONDS_MAX)
    assert bodies(site, name) == ([] if reconnect else ["second"])


@pytest.mark.parametrize("flavour", ["threads", "tasks"])
def test_a_new_connection_does_not_share_a_link_that_is_dead(site: Any, proxy: Proxy, flavour: str) -> None:
    async def by_tasks() -> None:
        arguments: dict[str, Any] = {"connection_name": proxy.address, "channel": CHANNEL}
        async with await ostler.aio.connect(site.name, **arguments):
            proxy.loses.set()
            async with await ostler.aio.connect(site.name, **arguments) as second:
                assert proxy.lost.is_set()
                assert second.name == site.name

    if flavour == "tasks":
        asyncio.run(asyncio.wait_for(by_tasks(), SECONDS_MAX))
        return
    # Threads have a link for each connection.
    with (
        ostler.connect(site.name, proxy.address, channel=CHANNEL) as first,
        ostler.connect(site.name, proxy.address, channel=CHANNEL) as second,
    ):
        assert (first.name, second.name) == (site.name, site.name)


def test_a_new_connection_is_told_why_there_is_none(site: Any, proxy: Proxy) -> None:
    async def test() -> None:
        arguments: dict[str, Any] = {"connection_name": proxy.address, "channel": CHANNEL}
        async with await ostler.aio.connect(site.name, **arguments):
            with refused(mq.MQRC_Q_MGR_NAME_ERROR):
                await ostler.aio.connect("ANOTHER", **arguments)
            proxy.stop()
            proxy.loses.set()
            with refused(mq.MQRC_HOST_NOT_AVAILABLE):
                await ostler.aio.connect(site.name, **arguments)
            assert proxy.lost.is_set()

    asyncio.run(asyncio.wait_for(test(), SECONDS_MAX))
