"""Transactions, restart, and threads that share a connection."""

from __future__ import annotations

import itertools
import os
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import ostler
from ostler.client.aio.async_connection import AsyncConnection
from ostler.client.api.connection import Connection
from ostler.client.api.queue import Queue
from ostler.client.link.blocking_port import BlockingPort
from ostler.client.link.link import PendingRequest
from ostler.client.session.in_process import LocalSession
from ostler.client.session.runtime import BlockingEvent, BlockingRuntime, WakeEvent
from ostler.model import constants as mq
from ostler.server.config.qm_ini import LogSection
from ostler.wire.frames import GET

LOG = LogSection(file_pages=64)
SECONDS_MAX = 60.0
numbers = itertools.count(1)


@pytest.fixture
def qm(site: Any, way: str) -> Iterator[Connection]:
    with site.connect(way) as connection:
        yield connection


@pytest.fixture
def q(qm: Connection, admin: Connection) -> Iterator[Queue]:
    name = f"UNITS.{next(numbers)}"
    admin.define("QLOCAL", name, MAXDEPTH=100_000)
    with qm.open(name) as queue:
        yield queue


def refused(reason: int) -> pytest.RaisesExc[ostler.MQError]:
    return pytest.RaisesExc(ostler.MQError, check=lambda error: error.reason == reason)


def refused_by(reasons: set[int]) -> pytest.RaisesExc[ostler.MQError]:
    return pytest.RaisesExc(ostler.MQError, check=lambda error: error.reason in reasons)


def bodies(queue: Queue) -> list[bytes | str]:
    return [message.body for message in queue.browse()]


def test_a_block_that_ends_well_is_committed(site: Any, way: str, qm: Connection, q: Queue) -> None:
    with site.connect(way) as other, other.open(q.name, "r") as theirs:
        with qm.transaction():
            q.put("one", persistent=True)
            q.put("two")
            assert theirs.get() is None
        assert [m.body for m in theirs] == ["one", "two"]


def test_a_block_that_raises_is_backed_out(qm: Connection, q: Queue) -> None:
    q.put("there", persistent=True)

    def fail() -> None:
        with qm.transaction():
            q.put("lost", persistent=True)
            got = q.get()
            assert got is not None
            assert got.body == "there"
            raise KeyError("why not")

    with pytest.raises(KeyError):
        fail()
    got = q.get()
    assert got is not None
    assert (got.body, got.backout_count) == ("there", 1)
    assert q.get() is None


def test_inside_a_block_a_verb_may_stay_outside_the_unit(qm: Connection, q: Queue) -> None:
    def fail() -> None:
        with qm.transaction():
            q.put("in")
            q.put("out", syncpoint=False)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert bodies(q) == ["out"]


def test_commit_and_back_out_by_hand(qm: Connection, q: Queue) -> None:
    q.put("kept", syncpoint=True)
    qm.commit()
    q.put("gone", syncpoint=True)
    assert q.get(syncpoint=True) is not None
    qm.back_out()
    assert bodies(q) == ["kept"]


def test_commit_inside_a_block_keeps_what_was_done_so_far(qm: Connection, q: Queue) -> None:
    def fail() -> None:
        with qm.transaction():
            q.put("one")
            qm.commit()
            q.put("two")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert bodies(q) == ["one"]


def test_blocks_of_one_connection_do_not_nest(qm: Connection, q: Queue) -> None:
    with qm.transaction():
        q.put("one")
        with refused(mq.MQRC_UOW_IN_PROGRESS), qm.transaction():
            pass
    assert bodies(q) == ["one"]


def test_a_block_does_not_take_over_what_was_left_open(qm: Connection, q: Queue) -> None:
    q.put("open", syncpoint=True)
    with refused(mq.MQRC_UOW_IN_PROGRESS), qm.transaction():
        pass
    qm.back_out()
    with qm.transaction():
        q.put("fine")
    assert bodies(q) == ["fine"]


def test_blocks_of_two_connections_are_apart(site: Any, way: str, qm: Connection, q: Queue) -> None:
    with site.connect(way) as other, other.open(q.name) as theirs:

        def fail() -> None:
            with qm.transaction(), other.transaction():
                q.put("mine")
                theirs.put("theirs")
                other.commit()
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        assert bodies(q) == ["theirs"]


def test_leaving_a_connection_commits_or_backs_out(site: Any, way: str, q: Queue) -> None:
    with site.connect(way) as good:
        good.put(q.name, "kept", syncpoint=True)

    def fail() -> None:
        with site.connect(way) as bad:
            bad.put(q.name, "gone", syncpoint=True)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert bodies(q) == ["kept"]


# -- restart ---------------------------------------------------------------------------------------------------------


def test_what_was_committed_survives_a_crash(tmp_path: Path) -> None:
    manager = ostler.start("CRASH", tmp_path, create=True, log=LOG)
    qm = ostler.connect("CRASH")
    qm.define("QLOCAL", "Q1")
    q = qm.open("Q1")
    q.put("kept", persistent=True, properties={"colour": "blue"})
    q.put("lost with the process")
    with qm.transaction():
        q.put("committed", persistent=True)
    q.put("not committed", persistent=True, syncpoint=True)
    manager.end("preemptive")
    with refused(mq.MQRC_CONNECTION_BROKEN):
        q.put("too late")
    qm.close()
    with ostler.connect("CRASH", data=tmp_path, binding="embedded") as again, again.open("Q1") as queue:
        messages = list(queue)
        assert [m.body for m in messages] == ["kept", "committed"]
        assert messages[0].properties == {"colour": "blue"}
        again.manager.end()


@pytest.mark.parametrize(
    ("mode", "reasons"),
    [
        ("preemptive", {mq.MQRC_CONNECTION_BROKEN}),
        ("quiesce", {mq.MQRC_Q_MGR_QUIESCING, mq.MQRC_CONNECTION_BROKEN}),
        ("immediate", {mq.MQRC_Q_MGR_STOPPING, mq.MQRC_CONNECTION_BROKEN}),
    ],
)
def test_a_get_that_waits_learns_of_the_end(own_site: Any, way: str, mode: str, reasons: set[int]) -> None:
    own_site.admin.define("QLOCAL", "Q1")
    q = own_site.connect(way).open("Q1")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(q.get, wait=None)
        own_site.until_waiting("Q1")
        own_site.server.end(mode)
        error = waiting.exception(SECONDS_MAX)
    assert isinstance(error, ostler.MQError)
    assert error.reason in reasons
    with refused_by({*reasons, mq.MQRC_CONNECTION_BROKEN}):
        q.put("too late")


def test_more_than_the_log_can_hold_passes_through_it(tmp_path: Path) -> None:
    manager = ostler.start("SMALL", tmp_path, create=True, log=LOG)
    log_bytes = (LOG.primary_files + LOG.secondary_files) * LOG.file_bytes()
    body = b"x" * 2000
    transactions, each = 60, 30
    assert transactions * each * len(body) > 2 * log_bytes
    with ostler.connect(manager) as qm:
        qm.define("QLOCAL", "Q1", MAXDEPTH=100_000)
        with qm.open("Q1") as q:
            for number in range(transactions):
                with qm.transaction():
                    for _ in range(each):
                        q.put(body, persistent=True)
                if number % 2:
                    with qm.transaction():
                        assert len([q.get() for _ in range(each)]) == each
            assert q.depth == transactions // 2 * each
        manager.end("preemptive")
    manager = ostler.start("SMALL", tmp_path)
    with ostler.connect(manager) as qm, qm.open("Q1") as q:
        assert len(list(q)) == transactions // 2 * each
    manager.end()


# -- threads ---------------------------------------------------------------------------------------------------------


def test_a_waiting_get_does_not_hold_up_its_connection(site: Any, q: Queue) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(q.get, wait=None)
        site.until_waiting(q.name)
        q.put("for you")
        got = waiting.result(SECONDS_MAX)
    assert got is not None
    assert got.body == "for you"


def test_several_threads_wait_for_their_own_messages(site: Any, q: Queue) -> None:
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(q.get, wait=None, correlation_id=bytes([n + 1])) for n in range(8)]
        site.until_waiting(q.name, 8)
        for n in reversed(range(8)):
            q.put(str(n), correlation_id=bytes([n + 1]))
        got = [each.result(SECONDS_MAX) for each in waiting]
    assert [m.body for m in got if m is not None] == [str(n) for n in range(8)]


def test_closing_a_queue_ends_the_waits_on_it(site: Any, qm: Connection, q: Queue) -> None:
    other = qm.open(q.name)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(other.get, wait=None)
        site.until_waiting(q.name)
        other.close()
        assert isinstance(waiting.exception(SECONDS_MAX), ostler.MQError)
    q.put("stays")
    assert q.depth == 1


@pytest.mark.parametrize("shared", [True, False])
def test_producers_and_consumers_lose_and_double_nothing(
    site: Any, way: str, qm: Connection, q: Queue, shared: bool
) -> None:
    producers, each, consumers = 4, 150, 4
    total = producers * each
    got: list[bytes | str] = []

    def produce(number: int) -> None:
        queue = q if shared else site.connect(way).open(q.name)
        for count in range(each):
            queue.put(f"{number}.{count}", persistent=count % 10 == 0)
        if not shared:
            queue.connection.close()

    def consume() -> list[bytes | str]:
        queue = q if shared else site.connect(way).open(q.name)
        mine: list[bytes | str] = []
        while (message := queue.get(wait=SECONDS_MAX)) is not None and message.body != "end":
            mine.append(message.body)
        if not shared:
            queue.connection.close()
        return mine

    with ThreadPoolExecutor(producers + consumers) as pool:
        consuming = [pool.submit(consume) for _ in range(consumers)]
        list(pool.map(produce, range(producers)))
        for _ in range(consumers):
            q.put("end")
        for future in consuming:
            got += future.result(SECONDS_MAX)
    assert len(got) == total
    assert Counter(got) == Counter(f"{number}.{count}" for number in range(producers) for count in range(each))
    assert q.depth == 0


def test_transactions_of_threads_on_one_connection_take_turns(qm: Connection, q: Queue) -> None:
    def work(number: int) -> None:
        for count in range(10):
            with qm.transaction(wait=SECONDS_MAX):
                q.put(f"{number}.{count}.a")
                q.put(f"{number}.{count}.b")
                if count % 2:
                    qm.back_out()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    texts = [str(body) for body in bodies(q)]
    assert sorted(texts) == sorted(f"{n}.{c}.{x}" for n in range(4) for c in range(0, 10, 2) for x in "ab")
    # Each transaction's two messages were committed together.
    assert [text[:-2] for text in texts[::2]] == [text[:-2] for text in texts[1::2]]


def test_other_threads_stay_outside_somebody_elses_transaction(qm: Connection, q: Queue) -> None:
    with ThreadPoolExecutor() as pool, qm.transaction():
        q.put("inside")
        pool.submit(q.put, "outside").result(SECONDS_MAX)
        assert bodies(q) == ["outside"]
        for verb in (qm.commit, qm.back_out):
            error = pool.submit(verb).exception(SECONDS_MAX)
            assert isinstance(error, ostler.MQError)
            assert error.reason == mq.MQRC_UOW_IN_PROGRESS
        error = pool.submit(q.put, "x", syncpoint=True).exception(SECONDS_MAX)
        assert isinstance(error, ostler.MQError)


def test_a_transaction_does_not_wait_for_ever_for_another(qm: Connection) -> None:
    def second() -> None:
        with qm.transaction(wait=0.01):
            pass

    with ThreadPoolExecutor() as pool, qm.transaction():
        error = pool.submit(second).exception(SECONDS_MAX)
    assert isinstance(error, ostler.MQError)
    assert error.reason == mq.MQRC_CALL_IN_PROGRESS
    second()


# -- interrupts ------------------------------------------------------------------------------------------------------


class InterruptedRuntime(BlockingRuntime):
    """Waits that end with KeyboardInterrupt, after something was done meanwhile."""

    meanwhile = staticmethod(lambda: None)

    def new_event(self) -> WakeEvent:
        runtime = self

        class Interrupted(BlockingEvent):
            async def wait(self, seconds: float | None) -> None:
                type(runtime).meanwhile()
                raise KeyboardInterrupt

        return Interrupted()

    def may_be_cancelled(self) -> bool:
        return True


@pytest.mark.parametrize("arrives", [True, False])
def test_an_interrupted_wait_loses_no_message(
    site: Any, q: Queue, arrives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = Connection(AsyncConnection(LocalSession(site.manager, "me", "test", InterruptedRuntime)))
    if arrives:
        monkeypatch.setattr(InterruptedRuntime, "meanwhile", staticmethod(lambda: q.put("first")))
    with connection, connection.open(q.name) as queue:
        with pytest.raises(KeyboardInterrupt):
            queue.get(wait=None)
        q.put("second")
        assert bodies(q) == (["first", "second"] if arrives else ["second"])


@pytest.mark.parametrize("way", ["local", "client"], indirect=True)
@pytest.mark.parametrize("syncpoint", [False, True])
def test_an_interrupt_between_sending_and_waiting_cancels_the_get(
    site: Any, qm: Connection, q: Queue, syncpoint: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending = BlockingPort.send_request

    async def send_and_be_interrupted(self: BlockingPort, *asked: Any) -> PendingRequest:
        request = await sending(self, *asked)
        if asked[1] == GET:
            site.until_waiting(q.name)
            raise KeyboardInterrupt
        return request

    with monkeypatch.context() as patched:
        patched.setattr(BlockingPort, "send_request", send_and_be_interrupted)
        with pytest.raises(KeyboardInterrupt):
            q.get(wait=SECONDS_MAX, syncpoint=syncpoint)
    site.until(lambda: site.manager.engine.queues[q.name].waiting.count == 0)
    q.put("kept")
    assert q.get(syncpoint=syncpoint).body == "kept"
    qm.commit()


@pytest.mark.parametrize("way", ["local", "client"], indirect=True)
@pytest.mark.parametrize("syncpoint", [False, True])
def test_an_interrupt_from_the_keyboard_loses_no_message(site: Any, qm: Connection, q: Queue, syncpoint: bool) -> None:
    def interrupt() -> None:
        site.until_waiting(q.name)
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor() as pool:
        interrupting = pool.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            q.get(wait=SECONDS_MAX, syncpoint=syncpoint)
        interrupting.result(SECONDS_MAX)
    site.until(lambda: site.manager.engine.queues[q.name].waiting.count == 0)
    site.admin.put(q.name, "first")
    # An interrupt that strikes in the middle of sending breaks the link, and that gives everything back.
    with suppress(ostler.MQError):
        q.put("second", syncpoint=True)
        qm.commit()
    with site.admin.open(q.name) as queue:
        assert next(iter(queue)).body == "first"


class InterruptedRequest(PendingRequest):
    """A request whose wait is interrupted as often as told."""

    def __init__(self, inner: PendingRequest, times: int) -> None:
        self.number = inner.number
        self._inner = inner
        self._times = times

    async def reply(self) -> bytes:
        self._times -= 1
        if self._times >= 0:
            raise KeyboardInterrupt
        return await self._inner.reply()

    def forget(self) -> None:
        self._inner.forget()


class InterruptedSettling(BlockingRuntime):
    times = 1

    async def defer_interrupts(self, asked: PendingRequest) -> bytes:
        return await super().defer_interrupts(InterruptedRequest(asked, self.times))


@pytest.mark.parametrize("far_way", ["local", "client"])
def test_an_interrupt_waits_for_the_removal_that_is_under_way(site: Any, q: Queue, far_way: str) -> None:
    for text in ("one", "two", "three"):
        q.put(text, persistent=True)
    with site.connect(far_way) as qm, qm.open(q.name, "r") as queue:
        runtime = qm.inner.session.runtime = InterruptedSettling()
        got = queue.get()
        assert got is not None
        assert got.body == "one"
        with pytest.raises(KeyboardInterrupt):
            queue.get()
        runtime.times = 0
        assert [message.body for message in queue] == ["two", "three"]


def test_a_second_interrupt_does_not_wait(site: Any, q: Queue) -> None:
    q.put("one", persistent=True)
    with site.connect("local") as qm, qm.open(q.name, "r") as queue:
        runtime = qm.inner.session.runtime = InterruptedSettling()
        runtime.times = 2
        with pytest.raises(KeyboardInterrupt):
            queue.get()
        runtime.times = 0
        assert queue.get() is None
