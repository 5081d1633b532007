"""A wall clock that is set back or forward while a queue manager runs: lives last as long as they should."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import ostler
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager
from ostler.testing.without_security import disable_security

HOUR_MS = 3_600_000
SECONDS_MAX = 60.0


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[QueueManager]:
    made = ostler.start("CLOCK", tmp_path, create=True, log=LogSection(file_pages=64))
    server = Server(disable_security(made))
    server.start()
    yield made
    server.end("immediate")


@pytest.fixture(params=["embedded", "local"])
def qm(manager: QueueManager, request: pytest.FixtureRequest) -> Iterator[ostler.Connection]:
    with ostler.connect(manager.name, binding=request.param, data=manager.directory.root) as connection:
        with ostler.connect(manager) as admin:
            admin.define("QLOCAL", "Q")
        yield connection


def set_clock(manager: QueueManager, milliseconds: int) -> None:
    with manager.lock:
        manager.clock.skew_ms = milliseconds


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.01)


def on_queue(qm: ostler.Connection) -> list[str]:
    with qm.open("Q", "b") as queue:
        return [message.text for message in queue.browse()]


@pytest.mark.parametrize("persistent", [False, True])
def test_a_clock_set_back_does_not_prolong_lives(
    qm: ostler.Connection, manager: QueueManager, persistent: bool
) -> None:
    qm.put("Q", "short", expiry=1.0, persistent=persistent)
    set_clock(manager, -HOUR_MS)
    qm.put("Q", "short, too", expiry=1.0, persistent=persistent)
    qm.put("Q", "long", expiry=3000.0, persistent=persistent)
    until(lambda: on_queue(qm) == ["long"], "the messages of a second are still there")


def test_a_clock_set_forward_does_not_end_lives(qm: ostler.Connection, manager: QueueManager) -> None:
    qm.put("Q", "long", expiry=3000.0)
    subscription = qm.subscribe("some/topic", expiry=3000.0)
    set_clock(manager, 10 * HOUR_MS)
    qm.put("Q", "long, too", expiry=3000.0)
    assert on_queue(qm) == ["long", "long, too"]
    qm.publish("some/topic", "heard")
    heard = subscription.get()
    assert heard is not None
    with qm.open("Q", "b") as queue:
        left = [message.expiry for message in queue.browse()]
    assert all(each is not None and 2900 < each <= 3000 for each in left)


@pytest.mark.parametrize("hours", [-5, 5])
def test_people_are_told_the_time_of_the_wall_clock(qm: ostler.Connection, manager: QueueManager, hours: int) -> None:
    set_clock(manager, hours * HOUR_MS)
    put = qm.put("Q", "now")
    expected = datetime.now(UTC) + timedelta(hours=hours)
    assert put.put_time is not None
    assert abs(put.put_time - expected) < timedelta(minutes=10)
    with ostler.connect(manager) as admin:
        admin.alter("QLOCAL", "Q", DESCR="changed")
        (row,) = admin.display("QLOCAL", "Q", "ALTDATE", "ALTTIME")
    changed = datetime.strptime(f"{row['ALTDATE']} {row['ALTTIME']} +0000", "%Y-%m-%d %H.%M.%S %z")
    assert abs(changed - expected) < timedelta(minutes=10)


def test_a_wait_lasts_as_long_as_it_should(qm: ostler.Connection, manager: QueueManager) -> None:
    def change() -> None:
        until(lambda: manager.engine.queues["Q"].waiting.count > 0, "nobody waits")
        set_clock(manager, -HOUR_MS)

    changing = threading.Thread(target=change)
    changing.start()
    with qm.open("Q", "r") as queue:
        assert queue.get(wait=0.5) is None
    changing.join()


def test_the_time_of_a_run_never_goes_back(manager: QueueManager) -> None:
    chance = random.Random(7)
    engine, clock = manager.engine, manager.clock
    began = time.monotonic()
    with manager.lock:
        clock.update(engine)
        first = last = int(engine.now_ms)
        for _ in range(2_000):
            clock.skew_ms = chance.choice((0, 0, 0, -HOUR_MS, HOUR_MS, -1, chance.randint(-9_999_999, 9_999_999)))
            clock.update(engine)
            assert engine.now_ms >= last
            last = int(engine.now_ms)
            assert abs(engine.wall_ms() - clock.wall_ms()) < 2_000
        passed_ms = (time.monotonic() - began) * 1000
        assert last - first <= passed_ms + 2_000


def test_a_restart_goes_by_the_wall_clock(tmp_path: Path) -> None:
    manager = ostler.start("AGAIN", tmp_path, create=True, log=LogSection(file_pages=64))
    with ostler.connect(manager) as qm:
        qm.define("QLOCAL", "Q")
        qm.put("Q", "short", expiry=1000.0, persistent=True)
        qm.put("Q", "long", expiry=9000.0, persistent=True)
        manager.end("immediate")
    manager = QueueManager(manager.directory)
    manager.clock.skew_ms = HOUR_MS
    manager.start()
    with ostler.connect(manager) as qm:
        assert on_queue(qm) == ["long"]
    manager.end()
