"""Members that are killed again and again under load, and one that stands still: every message is there exactly once.

Workers move numbered messages from one shared queue through units of work into a private queue or back to the shared
queue, at all members. A number is never lost, and never there twice, whoever dies.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.coupling.group_processes import LIMIT_SECONDS, Group, OwnFacility, RedisGroupFacility, wait_for

from ostler.model.errors import MQError

MEMBERS = {"QMA": 1, "QMB": 2, "QMC": 3}
NUMBERS = 40


@pytest.fixture(params=["own", "redis"])
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Group]:
    made = Group(tmp_path, RedisGroupFacility() if request.param == "redis" else OwnFacility(tmp_path))
    try:
        yield made
    finally:
        made.close()


class Mover:
    """Moves messages at one member, in units of work: from the shared queue to the private one, and back."""

    def __init__(self, group: Group, name: str) -> None:
        self.moved = 0
        self._group = group
        self._name = name
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ends.set()
        self._thread.join(LIMIT_SECONDS)
        assert not self._thread.is_alive(), f"the mover at {self._name} does not end"

    def _run(self) -> None:
        while not self._ends.is_set():
            with contextlib.suppress(MQError, OSError):
                self._move()
            time.sleep(0.05)  # until its member is there again

    def _move(self) -> None:
        with self._group.connect(self._name) as application:
            shared = application.open("SHARED.QUEUE", "rw")
            private = application.open("PRIVATE.QUEUE", "rw")
            while not self._ends.is_set():
                for source, target in ((shared, private), (private, shared)):
                    with application.transaction():
                        message = source.get(wait=0.2)
                        if message is not None:
                            target.put(message.data, persistent=True)
                    self.moved += message is not None


def fill(group: Group) -> None:
    with group.connect("QMA") as application:
        for number in range(NUMBERS):
            application.put("SHARED.QUEUE", b"%d" % number, persistent=True)


def check(group: Group) -> None:
    """Every number is there exactly once, in the shared queue or in a private one."""
    found: Counter[bytes] = Counter()

    def has_all() -> bool:
        for name in MEMBERS:
            with group.connect(name) as application:
                for queue in ("PRIVATE.QUEUE", "SHARED.QUEUE"):
                    opened = application.open(queue, "rw")
                    while (message := opened.get(wait=1.0 if queue == "SHARED.QUEUE" else 0)) is not None:
                        found[message.data] += 1
        return found.total() >= NUMBERS

    # Units of the last member that was killed come back when its peers have recovered it.
    wait_for(has_all, f"of {NUMBERS} messages some have not come back")
    has_all()  # nothing more is there
    assert found == Counter(b"%d" % number for number in range(NUMBERS))


def kill_each_second(group: Group, seconds: float, least_deaths: int, least_moves: int) -> None:
    """Kill a member each second, and start it again, until time is over and enough has happened."""
    for name, number in MEMBERS.items():
        group.start(name, number)
    fill(group)
    movers = [Mover(group, name) for name in MEMBERS]
    deaths = 0
    deadline = time.monotonic() + seconds
    limit = deadline + LIMIT_SECONDS
    while time.monotonic() < deadline or deaths < least_deaths or sum(each.moved for each in movers) < least_moves:
        assert time.monotonic() < limit, f"{deaths} deaths, {[each.moved for each in movers]} moves"
        name = list(MEMBERS)[deaths % len(MEMBERS)]
        began = time.monotonic()
        group.kill(name)
        deaths += 1
        group.start(name, MEMBERS[name])
        time.sleep(max(0.0, 1.0 - (time.monotonic() - began)))  # one death a second, if a start takes less
    for mover in movers:
        mover.end()
    check(group)


def test_members_that_are_killed_under_load_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    group = Group(tmp_path, OwnFacility(tmp_path))
    try:
        kill_each_second(group, 10, 3, 20)
    finally:
        group.close()


@pytest.mark.stress
def test_members_that_are_killed_for_a_minute(group: Group) -> None:
    kill_each_second(group, 60, 6, 100)


@pytest.mark.stress
def test_a_member_that_stood_still_is_fenced_and_comes_back(group: Group) -> None:
    """SIGSTOP for longer than the lease: peers recover it, and when it wakes nothing of its unit happens."""
    for name in ("QMA", "QMB"):
        group.start(name, MEMBERS[name])
    with group.connect("QMB") as at_b:
        shared = at_b.open("SHARED.QUEUE", "rw")
        shared.put(b"got by QMA", persistent=True)
        at_a = group.connect("QMA")
        at_a.transaction().__enter__()
        at_a.put("PRIVATE.QUEUE", b"private", persistent=True)
        at_a.put("SHARED.QUEUE", b"put by QMA", persistent=True)
        taken = at_a.open("SHARED.QUEUE", "rw").get(wait=LIMIT_SECONDS)
        assert taken is not None
        assert taken.data == b"got by QMA"
        group.members["QMA"].signal(signal.SIGSTOP)
        try:
            returned = shared.get(wait=LIMIT_SECONDS)
        finally:
            group.members["QMA"].signal(signal.SIGCONT)
        assert returned is not None, "QMA was not given up"
        assert returned.data == b"got by QMA"
        with pytest.raises(MQError):
            at_a.commit()
        assert shared.get(wait=1) is None, "the unit of a fenced member has happened"

        def works() -> bool:
            try:
                with group.connect("QMA") as again:
                    again.put("SHARED.QUEUE", b"again", persistent=True)
                    return again.open("PRIVATE.QUEUE", "rw").get() is None
            except MQError:
                return False

        wait_for(works, "QMA has not joined again")
        again = shared.get(wait=LIMIT_SECONDS)
        assert again is not None
        assert again.data == b"again"
