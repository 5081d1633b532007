"""Spilled messages are read while others are served. The tests hold reads back, so nothing depends on time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.world.held_disk import HeldReads
from tests.world.wire_bench import WireBench, get, numbers, put

import ostler
from ostler.engine import apply
from ostler.engine.objects import delete_queue
from ostler.engine.pubsub.retained_delivery import RETAINED_AT_ONCE
from ostler.engine.queue.queue import RETAINED_QUEUE
from ostler.model import constants as mq
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.wire import frames as wire
from ostler.wire.subscribe_frames import SubscribeArguments

COUNT = 20
SIZE = 100
LOOPS_MAX = 10_000
SECONDS_MAX = 60.0


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[WireBench, HeldReads]]:
    """A queue manager whose queues keep nothing in memory, and whose reads can be held."""
    manager = QueueManager(create_queue_manager(tmp_path, "COLD", LogSection(primary_files=3, file_pages=1024)))
    reads = HeldReads()
    manager.engine.disk = reads.on(manager.disk)
    manager.start()
    bench = WireBench(manager)
    bench.sleep_ms = 1  # a turn waits a little for the threads that read
    bench.define("COLD")
    bench.define("WARM")
    yield bench, reads
    reads.go_on()
    bench.close()


def fill(bench: WireBench, persistent: bool = False, queue: str = "COLD") -> None:
    """Put messages that end with their numbers, and write all of them to the file."""
    with ostler.connect(bench.manager) as program, program.open(queue, "rw") as opened:
        for number in range(COUNT):
            opened.put(b"%0*d" % (SIZE, number), persistent=persistent, properties={"n": number})
    spill(bench, queue)


def spill(bench: WireBench, queue: str = "COLD") -> None:
    found = bench.manager.engine.queues[queue]
    with bench.manager.lock:
        for slot, message in enumerate(found.slots.resident):
            if message is not None and not found.slots.flags[slot] & 0x100:
                found._plan_spill(slot, message.size_bytes())
        found.write_spill()
        assert not any(found.slots.resident)


def number_of(body: bytes) -> int:
    return int(body[-SIZE:])


def until(bench: WireBench, is_so: Callable[[], bool], what: str) -> None:
    for _ in range(LOOPS_MAX):
        if is_so():
            return
        bench.turn()
    raise AssertionError(what)


def check_others_are_served(bench: WireBench) -> None:
    other = bench.peer("WARM")
    assert other.ask(wire.PUT, put(2, b"quick")).completion == mq.MQCC_OK
    assert other.ask(wire.GET, get(2)).body == b"quick"
    other.close()


def test_another_client_is_served_while_a_message_is_read(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench)
    peer = bench.peer("COLD")
    reads.hold()
    peer.send(wire.frame(wire.GET, 1, 10, get(2)))
    bench.turn(2)
    reads.wait_until_begun()
    check_others_are_served(bench)
    assert peer.answers() == []
    reads.go_on()
    assert number_of(peer.answer(10).body) == 0


def test_a_drain_gets_all_in_order_once_with_few_reads(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench, persistent=True)
    peer = bench.peer("COLD")
    found = [number_of(peer.ask(wire.GET, get(2), request=100 + n).body) for n in range(COUNT)]
    assert found == list(range(COUNT))
    assert peer.ask(wire.GET, get(2), request=99).reason == mq.MQRC_NO_MSG_AVAILABLE
    assert reads.count == 1, "all messages lie next to each other, and are read ahead at once"


def test_a_browse_with_a_selector_reads_without_the_lock(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench)
    peer = bench.peer("COLD")
    reads.hold()
    peer.send(wire.frame(wire.GET, 1, 10, get(2, mq.MQGMO_BROWSE_FIRST, selector=b"n = 17")))
    bench.turn(2)
    reads.wait_until_begun()
    check_others_are_served(bench)
    reads.go_on()
    assert number_of(peer.answer(10).body) == 17


def test_two_getters_share_a_read_and_neither_gets_the_message_of_the_other(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench)
    first, second = bench.peer("COLD"), bench.peer("COLD")
    reads.hold()
    first.send(wire.frame(wire.GET, 1, 10, get(2)))
    bench.turn(2)
    reads.wait_until_begun()
    second.send(wire.frame(wire.GET, 1, 10, get(2)))
    bench.turn(2)
    reads.go_on()
    assert number_of(first.answer(10).body) == 0
    assert number_of(second.answer(10).body) == 1
    assert reads.count == 1


def test_a_message_that_arrives_meanwhile_does_not_overtake(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench)
    peer, other = bench.peer("COLD"), bench.peer("COLD")
    reads.hold()
    peer.send(wire.frame(wire.GET, 1, 10, get(2, mq.MQGMO_WAIT | mq.MQGMO_NO_SYNCPOINT, 60_000)))
    bench.turn(2)
    reads.wait_until_begun()
    assert other.ask(wire.PUT, put(2, b"99")).completion == mq.MQCC_OK
    assert peer.answers() == []
    reads.go_on()
    assert number_of(peer.answer(10).body) == 0


def test_somebody_else_takes_the_message_meanwhile(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench)
    peer = bench.peer("COLD")
    reads.hold()
    peer.send(wire.frame(wire.GET, 1, 10, get(2, mq.MQGMO_WAIT | mq.MQGMO_NO_SYNCPOINT, 60_000)))
    bench.turn(2)
    reads.wait_until_begun()
    with bench.manager.lock:
        queue = bench.manager.engine.queues["COLD"]
        for slot in range(len(queue.slots.resident)):
            apply.get(queue, slot)
    reads.go_on()
    until(bench, lambda: not queue.waiting.scanning, "the get still waits for the read")
    assert peer.answers() == []
    assert bench.peer("COLD").ask(wire.PUT, put(2, b"5")).completion == mq.MQCC_OK
    assert number_of(peer.answer(10).body) == 5


def test_a_failed_read_gives_the_reason_and_damages_the_queue(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench)
    peer = bench.peer("COLD")
    reads.fails = True
    assert peer.ask(wire.GET, get(2)).reason == mq.MQRC_OBJECT_DAMAGED
    assert "the device does not answer" in bench.manager.engine.queues["COLD"].damaged


@pytest.mark.parametrize("how", ["cancel", "close", "delete", "disconnect", "lost", "end"])
def test_a_get_ends_while_its_message_is_read(held: tuple[WireBench, HeldReads], how: str) -> None:
    bench, reads = held
    fill(bench, persistent=True)
    peer = bench.peer("COLD")
    reads.hold()
    peer.send(wire.frame(wire.GET, 1, 10, get(2, mq.MQGMO_WAIT | mq.MQGMO_SYNCPOINT, 60_000)))
    bench.turn(2)
    reads.wait_until_begun()
    queue = bench.manager.engine.queues["COLD"]
    if how == "cancel":
        peer.send(wire.frame(wire.CANCEL, 1, 0, numbers(10)))
        assert peer.answer(10).reason == mq.MQRC_NO_MSG_AVAILABLE
    elif how == "close":
        assert peer.ask(wire.CLOSE, numbers(2, 0)).completion == mq.MQCC_OK
    elif how == "delete":
        with bench.manager.turn as engine:
            delete_queue(engine, queue)
        assert peer.answer(10).reason == mq.MQRC_Q_DELETED
    elif how == "disconnect":
        peer.send(wire.frame(wire.DISCONNECT, 1, 11, b""))
        bench.turn(3)
    elif how == "lost":
        peer.close()
        until(bench, lambda: not bench.manager.engine.connections, "the connection is still there")
    reads.go_on()
    if how == "end":
        return  # the fixture ends the queue manager
    until(bench, lambda: queue.file.readers == 0, "the read is still under way")
    assert queue.waiting.count == 0
    assert not queue.waiting.scanning
    if how != "delete":
        other = bench.peer("COLD")
        found = [number_of(other.ask(wire.GET, get(2), request=100 + n).body) for n in range(COUNT)]
        assert found == list(range(COUNT)), "nothing is lost"


def test_a_wait_that_is_over_is_answered_when_its_message_is_read(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench)
    peer = bench.peer("COLD")
    reads.hold()
    peer.send(wire.frame(wire.GET, 1, 10, get(2, mq.MQGMO_WAIT | mq.MQGMO_NO_SYNCPOINT, 500)))
    bench.turn(2)
    reads.wait_until_begun()
    bench.later(1_000)
    assert peer.answers() == []
    reads.go_on()
    assert number_of(peer.answer(10).body) == 0


def test_a_get_by_correlation_id_reads_one_message(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    with ostler.connect(bench.manager) as program, program.open("COLD", "rw") as opened:
        for number in range(COUNT):
            opened.put(b"%d" % number, correlation_id=b"%024d" % number)
        spill(bench)
        message = opened.get(correlation_id=b"%024d" % 7)
        assert message is not None
        assert message.body == b"7"
    assert reads.count == 1
    assert len(bench.manager.engine.queues["COLD"].fetched.messages) == 0  # type: ignore[union-attr]


def test_a_program_in_the_process_waits_without_the_lock(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench)
    found: list[bytes] = []

    def run() -> None:
        with ostler.connect(bench.manager) as program, program.open("COLD", "rw") as opened:
            message = opened.get()
            assert message is not None
            found.append(message.body)

    reads.hold()
    thread = threading.Thread(target=run)
    thread.start()
    reads.wait_until_begun()
    check_others_are_served(bench)
    assert not found
    reads.go_on()
    for _ in range(LOOPS_MAX):
        bench.turn()
        if not thread.is_alive():
            break
    thread.join(SECONDS_MAX)
    assert [number_of(each) for each in found] == [0]


def publish_cold(bench: WireBench) -> None:
    """Publish enough retained publications to be delivered in slices, and write all of them to the file."""
    with ostler.connect(bench.manager) as program:
        for number in range(RETAINED_AT_ONCE + 10):
            program.publish(f"stock/{number}", b"%d" % number, retain=True)
    spill(bench, RETAINED_QUEUE)


def test_retained_publications_that_cannot_be_read_are_passed_over(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    publish_cold(bench)
    reads.fails = True
    peer = bench.peer("WARM")
    asked = SubscribeArguments(mq.MQSO_CREATE)
    asked.topic_string = "stock/#"
    asked.destination = 2
    assert peer.ask(wire.SUBSCRIBE, asked.encode()).completion == mq.MQCC_OK
    assert reads.count > 1
    assert peer.ask(wire.GET, get(2)).reason == mq.MQRC_NO_MSG_AVAILABLE
    check_others_are_served(bench)


def test_who_waits_for_retained_publications_learns_that_the_queue_manager_has_failed(
    held: tuple[WireBench, HeldReads],
) -> None:
    bench, reads = held
    publish_cold(bench)
    found: list[int] = []

    def run() -> None:
        program = ostler.connect(bench.manager)
        try:
            program.subscribe("stock/#")
        except ostler.MQError as error:
            found.append(error.reason)

    reads.hold()
    thread = threading.Thread(target=run)
    thread.start()
    until(bench, lambda: bool(bench.manager.engine.reading_tasks), "the delivery waits for no read")
    bench.manager.break_all("a test breaks all connections")
    thread.join(SECONDS_MAX)
    assert not thread.is_alive()
    assert found == [mq.MQRC_CONNECTION_BROKEN]
