"""Spilled messages are read while others are served. The tests hold reads back, so nothing depends on time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.world.held_disk import HeldReads, spill
from tests.world.wire_bench import WireBench, get, numbers, put

import ostler
from ostler.engine import apply
from ostler.engine.objects import delete_queue
from ostler.engine.pubsub.retained_delivery import RETAINED_AT_ONCE
from ostler.engine.queue.queue import RETAINED_QUEUE
from ostler.lab.common.embedded import EmbeddedApplication, descriptor, get_options
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
    spill(bench.manager, queue)


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
        spill(bench.manager, "COLD")
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
    spill(bench.manager, RETAINED_QUEUE)


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


@pytest.mark.parametrize("is_group", [False, True])
def test_others_are_served_while_the_end_of_a_small_unit_needs_messages_of_the_file(
    held: tuple[WireBench, HeldReads], is_group: bool
) -> None:
    """A commit looks at messages for whom others wait, a back-out at those of groups."""
    bench, reads = held
    peer, waiting = bench.peer("COLD"), bench.peer("COLD")
    if is_group:
        with ostler.connect(bench.manager) as program, program.open("COLD", "rw") as opened:
            opened.put(b"0", group_id=b"G" * 24, sequence_number=1, flags=mq.MQMF_LAST_MSG_IN_GROUP)
        spill(bench.manager, "COLD")
        assert peer.ask(wire.GET, get(2, mq.MQGMO_SYNCPOINT)).body == b"0"
        with bench.manager.turn as engine:
            engine.queues["COLD"].drop_fetched()
    else:
        waiting.send(wire.frame(wire.GET, 1, 10, get(2, mq.MQGMO_WAIT, 60_000)))
        bench.turn(2)
        assert peer.ask(wire.PUT, put(2, b"0", mq.MQPMO_SYNCPOINT)).completion == mq.MQCC_OK
        spill(bench.manager, "COLD")
    before = reads.count
    reads.hold()
    peer.send(wire.frame(wire.BACK if is_group else wire.COMMIT, 1, 11, b""))
    until(bench, lambda: reads.count > before, "no read has begun")
    check_others_are_served(bench)
    assert peer.answers() == []
    reads.go_on()
    assert peer.answer(11).completion == mq.MQCC_OK
    if is_group:
        assert peer.ask(wire.GET, get(2)).body == b"0"
    else:
        assert waiting.answer(10).body == b"0"


class CountedGet(threading.Thread):
    """A get by the raw verbs, which reads on the thread of its application."""

    def __init__(self, manager: QueueManager) -> None:
        super().__init__()
        self._application = EmbeddedApplication(manager)
        self._queue = self._application.open("COLD", mq.MQOO_INPUT_SHARED)
        self.found: list[bytes | None] = []
        self.interrupted = False

    def run(self) -> None:
        try:
            self.found.append(self._application.get(self._queue, descriptor(False), get_options()))
        except KeyboardInterrupt:
            self.interrupted = True

    def finish(self, bench: WireBench) -> None:
        until(bench, lambda: not self.is_alive(), "the get has not ended")
        self._application.close()


def test_a_get_by_the_raw_verbs_reads_on_its_own_thread(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench)
    getting = CountedGet(bench.manager)
    reads.hold()
    getting.start()
    reads.wait_until_begun()
    check_others_are_served(bench)
    assert not getting.found
    peer = bench.peer("COLD")
    peer.send(wire.frame(wire.GET, 1, 10, get(2)))
    bench.turn(2)
    reads.go_on()
    getting.finish(bench)
    numbers_found = [number_of(body or b"") for body in (*getting.found, peer.answer(10).body)]
    assert sorted(numbers_found) == [0, 1]
    assert (reads.count, len(bench.manager.reader._threads)) == (1, 0), "both wait for the read of the first"


def test_an_interrupted_get_leaves_its_read_to_others(held: tuple[WireBench, HeldReads]) -> None:
    bench, reads = held
    fill(bench)
    reads.interrupts = 1
    getting = CountedGet(bench.manager)
    getting.start()
    getting.finish(bench)
    assert getting.interrupted
    found = [number_of(bench.peer("COLD").ask(wire.GET, get(2)).body) for _ in range(COUNT)]
    assert found == list(range(COUNT))
    assert bench.manager.engine.queues["COLD"].waiting.count == 0
