"""With copies, an answer leaves when enough of them have forced it. Nobody but its own application waits for that."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.wire_bench import WireBench, get, put

from ostler.log.shipping import LogShipper
from ostler.model.constants import MQCC_OK, MQRC_Q_MGR_NOT_AVAILABLE
from ostler.model.errors import MQError
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.wire import frames as wire

BUFFER_PAGES = 18
LIMIT_SECONDS = 10.0


class Copies(LogShipper):
    """Other copies: they have forced what `release` says."""

    def __init__(self, manager: QueueManager) -> None:
        self._manager = manager
        self.offered: list[tuple[int, int]] = []  # position, and how far the log was forced here then
        self.forced_lsn = 0
        self.forces = threading.Semaphore(0)

    def offer(self, position: int, images: list[bytes]) -> None:
        self.offered.append((position, int(self._manager.log.writer.forced_lsn)))

    def forced(self, end_lsn: int) -> None:
        self.forced_lsn = end_lsn
        self.forces.release()

    def release(self) -> None:
        self._manager.writer.group_durable(self.forced_lsn)

    def wait_forced(self, lsn: int) -> None:
        while self.forced_lsn < lsn:
            assert self.forces.acquire(timeout=LIMIT_SECONDS), "the log was not forced here"


def replicated(bench: WireBench) -> Copies:
    manager = bench.manager
    manager.writer.wait_durable(manager.log.end_lsn())
    copies = Copies(manager)
    manager.writer.replicate(copies, manager.log.durable_lsn())
    return copies


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[WireBench]:
    section = LogSection(primary_files=3, file_pages=1024, buffer_pages=BUFFER_PAGES)
    manager = QueueManager(create_queue_manager(tmp_path, "BENCH", section))
    manager.start()
    made = WireBench(manager)
    made.define("Q")
    yield made
    if manager.writer.shipper is not None:
        manager.end("preemptive")
    made.close()


def test_a_promise_waits_for_the_copies_and_the_reactor_does_not(bench: WireBench) -> None:
    copies = replicated(bench)
    peer, bystander = bench.peer("Q"), bench.peer("Q")
    peer.send(wire.frame(wire.PUT, 1, 9, put(2, b"x", persistent=True)))
    assert peer.answers(20) == []
    copies.wait_forced(bench.manager.log.end_lsn())
    assert peer.answers(5) == []
    assert bystander.ask(wire.PUT, put(2, b"no promise")).completion == MQCC_OK
    assert bench.manager.log.durable_lsn() < bench.manager.log.forced_lsn()
    copies.release()
    assert peer.answer(9).completion == MQCC_OK


def test_batches_are_offered_before_they_are_forced_here_and_follow_each_other(bench: WireBench) -> None:
    copies = replicated(bench)
    peer = bench.peer("Q")
    for number in range(3):
        peer.send(wire.frame(wire.PUT, 1, 10 + number, put(2, b"x", persistent=True)))
        assert peer.answers(5) == []
        copies.wait_forced(bench.manager.log.end_lsn())
    # Three batches are forced here, none is known to be anywhere else.
    assert len(copies.offered) >= 3
    assert all(forced <= position for position, forced in copies.offered)
    copies.release()
    assert [peer.answer(10 + number).completion for number in range(3)] == [MQCC_OK] * 3


def test_what_the_copies_do_not_have_is_shown_to_nobody(bench: WireBench) -> None:
    copies = replicated(bench)
    getter, putter = bench.peer("Q"), bench.peer("Q")
    putter.send(wire.frame(wire.PUT, 1, 9, put(2, b"x", persistent=True)))
    assert putter.answers(5) == []
    copies.wait_forced(bench.manager.log.end_lsn())
    getter.send(wire.frame(wire.GET, 1, 9, get(2)))
    assert getter.answers(10) == []
    copies.wait_forced(bench.manager.log.end_lsn())
    copies.release()
    assert putter.answer(9).completion == MQCC_OK
    copies.wait_forced(bench.manager.log.end_lsn())
    copies.release()
    assert getter.answer(9).body == b"x"


def test_a_full_buffer_pauses_links_and_not_the_reactor(bench: WireBench) -> None:
    copies = replicated(bench)
    log = bench.manager.log
    peer, bystander = bench.peer("Q"), bench.peer("Q")
    count = 38
    for number in range(count):
        peer.send(wire.frame(wire.PUT, 1, 100 + number, put(2, bytes(4000), persistent=True)))
        bench.turn()
    copies.wait_forced(log.durable_lsn() + 1)
    behind = log.end_lsn() - log.durable_lsn()
    assert BUFFER_PAGES * 4096 <= behind < count * 4000, "the link was not paused"
    # The reactor turns: a link that is paused, too, is answered as soon as the copies go on.
    bystander.send(wire.frame(wire.PUT, 1, 9, put(2, b"no promise")))
    assert bystander.answers(5) == []
    for _ in range(100):
        if log.durable_lsn() == log.end_lsn() and not peer.answers(1):
            break
        copies.wait_forced(min(log.durable_lsn() + 1, log.end_lsn()))
        copies.release()
        bench.turn(3)
    assert bystander.answer(9).completion == MQCC_OK
    assert bench.manager.engine.queues["Q"].depth == count + 1


def test_an_application_waits_as_long_as_it_takes_and_no_failure_is_counted(bench: WireBench) -> None:
    copies = replicated(bench)
    manager = bench.manager
    with manager.lock:
        lsn = manager.log.append(200, b"anything", b"", b"")
    done = threading.Event()
    waiter = threading.Thread(target=lambda: (manager.writer.wait_durable(lsn), done.set()), daemon=True)
    waiter.start()
    copies.wait_forced(lsn)
    assert not done.wait(1.2), "it did not wait for the copies"
    assert manager.writer.failure == ""
    copies.release()
    assert done.wait(LIMIT_SECONDS)


def test_who_is_deposed_acknowledges_nothing_any_more(bench: WireBench) -> None:
    copies = replicated(bench)
    manager = bench.manager
    with manager.lock:
        lsn = manager.log.append(200, b"anything", b"", b"")
    found: list[MQError] = []

    def wait() -> None:
        try:
            manager.writer.wait_durable(lsn)
        except MQError as error:
            found.append(error)

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    copies.wait_forced(lsn)
    manager.writer.depose("Another instance leads.")
    waiter.join(LIMIT_SECONDS)
    assert [error.reason for error in found] == [MQRC_Q_MGR_NOT_AVAILABLE]


def test_several_batches_are_under_way_over_a_distance(bench: WireBench) -> None:
    """A batch is offered and forced while the copies have answered none of those before it; answers keep the order."""
    copies = replicated(bench)
    peers = [bench.peer("Q") for _ in range(3)]
    ends: list[int] = []
    for number, peer in enumerate(peers):
        peer.send(wire.frame(wire.PUT, 1, 9 + number, put(2, b"x", persistent=True)))
        assert peer.answers(5) == []
        copies.wait_forced(bench.manager.log.end_lsn())
        ends.append(copies.forced_lsn)
    assert len({position for position, _ in copies.offered}) >= 3
    assert bench.manager.log.durable_lsn() < ends[0] < ends[1] < ends[2]
    for number, peer in enumerate(peers):
        bench.manager.writer.group_durable(ends[number])
        assert peer.answer(9 + number).completion == MQCC_OK
        assert all(each.answers(3) == [] for each in peers[number + 1 :])
