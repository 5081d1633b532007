"""The log is full: requests wait for room, what comes behind them waits too, and nobody's turn is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.world.wire_bench import Peer, WireBench, get, numbers, put

from ostler.model.constants import MQCC_OK, MQPMO_SYNCPOINT, MQRC_BACKED_OUT, MQRC_RESOURCE_PROBLEM
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security
from ostler.wire import frames as wire

BODY = bytes(30_000)
BEHIND = 5_000  # numbers of requests that come behind the one that waits


class NoRoomServer(Server):
    """One that makes room when the test says so."""

    def make_room(self, then: Callable[[], None]) -> None:
        self.then = then


class Full:
    """A queue manager whose log is full: one application has an old unit of work, another's put is stalled."""

    def __init__(self, root: Path) -> None:
        section = LogSection(primary_files=2, secondary_files=1, file_pages=64)
        manager = QueueManager(create_queue_manager(root, "FULL", section))
        manager.start()
        self.server = NoRoomServer(disable_security(manager))
        self.bench = WireBench(manager, self.server)
        self.bench.define("Q")
        manager.housekeeping.stop()  # it would make room by itself
        self.old = self.bench.peer("Q")
        assert self.old.ask(wire.PUT, put(2, b"oldest", MQPMO_SYNCPOINT, True)).completion == MQCC_OK
        self.filler = self.bench.peer("Q")
        self.stalled = self._fill()

    def _fill(self) -> int:
        """Put until a put is stalled; its number."""
        for number in range(1, 1_000):
            self.filler.send(wire.frame(wire.PUT, 1, number, put(2, BODY, persistent=True)))
            self.bench.turn(2)
            if self.bench.reactor.counters.stalled:
                return number
            assert self.filler.answer(number).completion == MQCC_OK
        raise AssertionError("the log never fills")

    def depth(self) -> int:
        return int(self.bench.manager.engine.queues["Q"].depth)

    def make_room(self, really: bool = True) -> None:
        if really:
            self.bench.manager.make_room()
        self.bench.reactor.post(self.server.then)
        self.bench.turn(2)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Full]:
    made = Full(tmp_path)
    yield made
    made.bench.close()


def answers_of(peer: Peer) -> dict[int, int]:
    return {answer.request: answer.reason for answer in peer.answers(10)}


def test_a_put_waits_for_room_and_what_comes_behind_it_keeps_its_place(full: Full) -> None:
    put_before = full.stalled - 1
    behind = [wire.frame(wire.GET, 1, BEHIND + number, get(2)) for number in range(3)]
    behind.append(wire.frame(wire.PUT, 1, BEHIND + 3, put(2, b"last", persistent=True)))
    full.filler.send(*behind)
    assert answers_of(full.filler) == {}
    assert full.depth() == put_before + 1
    full.make_room()
    found = answers_of(full.filler)
    assert found == {full.stalled: 0, **{BEHIND + number: 0 for number in range(4)}}
    # The oldest unit of work had to go: its message, too.
    assert full.old.ask(wire.COMMIT).reason == MQRC_BACKED_OUT
    assert full.depth() == put_before + 1 - 3 + 1


def test_others_go_on_meanwhile(full: Full) -> None:
    other = full.bench.peer("Q")
    assert other.ask(wire.PUT, put(2, b"not persistent")).completion == MQCC_OK
    assert other.ask(wire.GET, get(2)).completion == MQCC_OK
    assert answers_of(full.filler) == {}
    # A second one that finds no room waits for the same room.
    other.send(wire.frame(wire.PUT, 1, 9, put(2, BODY, persistent=True)))
    assert answers_of(other) == {}
    assert full.bench.reactor.counters.stalled == 2
    full.make_room()
    assert answers_of(other) == {9: 0}
    assert answers_of(full.filler) == {full.stalled: 0}


def test_what_was_read_together_with_a_put_that_waits(full: Full) -> None:
    other = full.bench.peer("Q")
    both = wire.frame(wire.PUT, 1, 9, put(2, BODY, persistent=True)) + wire.frame(wire.STATUS, 1, 10, numbers(0))
    assert other.sock.send(both) == len(both)
    assert answers_of(other) == {}
    full.make_room()
    assert answers_of(other) == {9: 0, 10: 0}


def test_room_that_never_comes_is_told_after_some_tries(full: Full) -> None:
    full.filler.send(wire.frame(wire.STATUS, 1, BEHIND, numbers(0)))
    for _ in range(3):
        full.make_room(really=False)
        assert answers_of(full.filler) == {}
    full.make_room(really=False)
    assert answers_of(full.filler) == {full.stalled: MQRC_RESOURCE_PROBLEM, BEHIND: 0}
    # The next one gets its own tries.
    full.filler.send(wire.frame(wire.PUT, 1, full.stalled, put(2, BODY, persistent=True)))
    assert answers_of(full.filler) == {}
    full.make_room()
    assert answers_of(full.filler) == {full.stalled: 0}


def test_a_link_that_breaks_while_its_request_is_stalled(full: Full) -> None:
    before = full.depth()
    full.filler.close()
    full.bench.turn(2)
    assert len(full.bench.reactor.links) == 1
    full.make_room()
    assert full.depth() == before - 1
    assert full.old.ask(wire.PUT, put(2, BODY, persistent=True)).completion == MQCC_OK
    full.old.close()
    full.bench.check_nothing_left()


def test_a_link_that_is_sent_farewell_while_its_request_is_stalled(full: Full) -> None:
    before = full.depth()
    (link,) = [link for link in full.bench.reactor.links.values() if link.is_deferred]
    with full.bench.manager.lock:
        link.send_farewell(2009, "enough")
    assert [answer.type for answer in full.filler.answers()] == [wire.FAREWELL]
    full.make_room()
    assert full.depth() == before - 1


def test_a_queue_that_is_closed_by_another_thread_while_a_put_is_stalled(full: Full) -> None:
    """The connection is broken by the end of the queue manager: the put is answered, and puts nothing."""
    before = full.depth()
    with full.bench.manager.lock:
        for connection in full.bench.manager.engine.connections.values():
            connection.broken = 2009
    full.make_room()
    assert answers_of(full.filler) == {full.stalled: 2009}
    assert full.depth() == before - 1


def test_room_is_made_by_a_thread_of_its_own(tmp_path: Path) -> None:
    section = LogSection(primary_files=2, secondary_files=1, file_pages=64)
    manager = QueueManager(create_queue_manager(tmp_path, "REAL", section))
    manager.start()
    bench = WireBench(manager)
    bench.sleep_ms = 1
    bench.define("Q")
    manager.housekeeping.stop()
    peer = bench.peer("Q")
    for number in range(200):
        peer.send(wire.frame(wire.PUT, 1, 10 + number, put(2, BODY, persistent=True)))
    assert {peer.answer(10 + number).reason for number in range(200)} == {0}
    assert bench.reactor.counters.stalled > 0
    peer.close()
    bench.check_nothing_left()
    assert manager.engine.queues["Q"].depth == 200
    bench.close()


def test_a_get_waits_for_room_when_the_reserve_of_the_log_is_used_up(full: Full) -> None:
    other = full.bench.peer("Q")
    stalled_before = full.bench.reactor.counters.stalled
    number = 0
    while full.bench.reactor.counters.stalled == stalled_before:
        number += 1
        other.send(wire.frame(wire.GET, 1, number, get(2)))
        found = answers_of(other)
        assert found in ({number: 0}, {}), "a get was refused"
        assert number < 1_000, "the reserve is never used up"
    depth = full.depth()
    full.make_room()
    assert answers_of(other) == {number: 0}
    # The put that was stalled before is done, too, and the message of the oldest unit of work is gone.
    assert answers_of(full.filler) == {full.stalled: 0}
    assert full.depth() == depth - 1 + 1 - 1


def test_a_get_that_finds_no_room_ever_is_refused_after_some_tries(full: Full) -> None:
    other = full.bench.peer("Q")
    number = 1
    other.send(wire.frame(wire.GET, 1, number, get(2)))
    while found := answers_of(other):
        assert found == {number: 0}, "a get was refused"
        number += 1
        other.send(wire.frame(wire.GET, 1, number, get(2)))
    for _ in range(3):
        full.make_room(really=False)
        assert answers_of(other) == {}
    full.make_room(really=False)
    assert answers_of(other) == {number: MQRC_RESOURCE_PROBLEM}
