"""Ends of large units, retained publications and cleared queues go on in slices: others are served in between."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.command.conftest import LocalCommandContext
from tests.world.wire_bench import Peer, WireBench, get, put

import ostler
from ostler.command.admin.subscriptions import define_subscription
from ostler.engine.queue.move_queue import MoveMessages, begin_move
from ostler.engine.queue.slots import PUT_UNCOMMITTED
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.wire import frames as wire
from ostler.wire.object_frames import OpenArguments
from ostler.wire.replies import decode_reply
from ostler.wire.subscribe_frames import SubscribeArguments, decode_subscribe_reply

COUNT = 3_000
LOOPS_MAX = 20_000
SECONDS_MAX = 120.0


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[WireBench]:
    """A queue manager that does little in a pass."""
    manager = QueueManager(create_queue_manager(tmp_path, "SLICED", LogSection(primary_files=4, file_pages=2048)))
    manager.start()
    made = WireBench(manager)
    made.sleep_ms = 1  # a turn without work waits a little for the threads that read
    made.define("Q", MAXDEPTH=1_000_000)
    made.define("WARM")
    with ostler.connect(manager) as program:
        program.alter("QMGR", "", MAXUMSGS=1_000_000)
    manager.engine.slice_cost = manager.engine.share_cost = 1_000
    yield made
    made.close()


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


def unit_of(bench: WireBench, persistent: bool, count: int = COUNT) -> Peer:
    """An application with many puts in its unit of work."""
    peer = bench.peer("Q")
    for first in range(0, count, 100):
        frames = [
            wire.frame(wire.PUT, 1, 0, put(2, b"%d" % n, mq.MQPMO_SYNCPOINT | mq.MQPMO_ASYNC_RESPONSE, persistent))
            for n in range(first, first + 100)
        ]
        peer.send(*frames)
        bench.turn(2)
    queue = bench.manager.engine.queues["Q"]
    until(bench, lambda: queue.uncommitted == count, f"not all puts have come: {queue.uncommitted}")
    return peer


def begin(bench: WireBench, peer: Peer, what: int) -> None:
    """Ask for the end of a unit, and stop in the middle of it."""
    peer.send(wire.frame(what, 1, 10, b""))
    until(bench, lambda: bool(bench.manager.engine.unit_ends), "the end has not begun")
    bench.turn(2)
    assert bench.manager.engine.unit_ends, "a small share does not suffice for all of it"


@pytest.mark.parametrize("persistent", [False, True])
def test_a_commit_goes_on_while_others_are_served_and_is_answered_when_all_is_there(
    bench: WireBench, persistent: bool
) -> None:
    peer = unit_of(bench, persistent)
    queue = bench.manager.engine.queues["Q"]
    begin(bench, peer, wire.COMMIT)
    check_others_are_served(bench)
    assert 0 < queue.uncommitted < COUNT
    assert peer.answers(0) == []
    assert peer.answer(10).completion == mq.MQCC_OK
    assert queue.uncommitted == 0
    other = bench.peer("Q")
    assert [int(other.ask(wire.GET, get(2), request=100 + n).body) for n in range(COUNT)] == list(range(COUNT))


def test_the_requests_behind_a_commit_wait_for_it(bench: WireBench) -> None:
    peer = unit_of(bench, True)
    begin(bench, peer, wire.COMMIT)
    peer.send(wire.frame(wire.GET, 1, 11, get(2)))
    assert [answer.request for answer in (peer.next(), peer.next())] == [10, 11]


def test_messages_become_available_in_the_order_of_the_unit(bench: WireBench) -> None:
    peer = unit_of(bench, False)
    begin(bench, peer, wire.COMMIT)
    other = bench.peer("Q")
    assert [int(other.ask(wire.GET, get(2), request=100 + n).body) for n in range(10)] == list(range(10))
    assert peer.answer(10).completion == mq.MQCC_OK


def test_a_back_out_in_slices_returns_gets_in_order_and_removes_puts(bench: WireBench) -> None:
    with ostler.connect(bench.manager) as program, program.open("Q", "rw") as queue:
        for number in range(COUNT):
            queue.put(b"%d" % number, persistent=True)
    peer = bench.peer("Q")
    for n in range(COUNT):
        peer.ask(wire.GET, get(2, mq.MQGMO_SYNCPOINT), request=100 + n)
    assert peer.ask(wire.PUT, put(2, b"never", mq.MQPMO_SYNCPOINT, True)).completion == mq.MQCC_OK
    begin(bench, peer, wire.BACK)
    check_others_are_served(bench)
    assert peer.answer(10).completion == mq.MQCC_OK
    found = bench.manager.engine.queues["Q"]
    assert (found.depth, found.uncommitted) == (COUNT, 0)
    other = bench.peer("Q")
    assert [int(other.ask(wire.GET, get(2), request=100 + n).body) for n in range(COUNT)] == list(range(COUNT))


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_checkpoint_in_the_middle_of_an_end_keeps_all_of_it(
    bench: WireBench, tmp_path: Path, is_commit: bool
) -> None:
    """A snapshot behind the commit record that lacked the rest of the messages would lose them at the next restart."""
    peer = unit_of(bench, True)
    begin(bench, peer, wire.COMMIT if is_commit else wire.BACK)
    thread = threading.Thread(target=bench.manager.checkpoint)
    thread.start()
    for _ in range(LOOPS_MAX):
        bench.turn()
        if not thread.is_alive():
            break
    thread.join(SECONDS_MAX)
    bench.manager.writer.wait_durable(bench.manager.log.end_lsn())
    bench.manager.end("preemptive")
    again = QueueManager(bench.manager.directory)
    again.start()
    try:
        assert again.engine.queues["Q"].depth == (COUNT if is_commit else 0)
    finally:
        again.end("immediate")


def test_a_snapshot_finishes_the_ends_of_units(bench: WireBench) -> None:
    peer = unit_of(bench, True)
    begin(bench, peer, wire.COMMIT)
    queue = bench.manager.engine.queues["Q"]
    with bench.manager.turn as engine:
        engine.finish_unit_ends()
    assert queue.uncommitted == 0
    assert not any(queue.slots.state(slot) == PUT_UNCOMMITTED for slot in range(len(queue.slots.resident)))
    assert peer.answer(10).completion == mq.MQCC_OK


def test_an_application_that_goes_away_in_the_middle_leaves_the_end_to_itself(bench: WireBench) -> None:
    peer = unit_of(bench, True)
    begin(bench, peer, wire.COMMIT)
    peer.close()
    queue = bench.manager.engine.queues["Q"]
    until(bench, lambda: queue.uncommitted == 0, "the commit was not finished")
    assert queue.depth == COUNT
    bench.check_nothing_left()


def test_a_queue_is_cleared_at_once_and_its_memory_freed_in_slices(bench: WireBench) -> None:
    manager = bench.manager
    manager.engine.buffer_bytes_nonpersistent = 1 << 30
    bench.define("DEEP", MAXDEPTH=1_000_000)
    with ostler.connect(manager) as program:
        with program.open("DEEP", "rw") as queue:
            for number in range(COUNT):
                queue.put(b"%d" % number, persistent=False)
        found = manager.engine.queues["DEEP"]
        messages = found.slots.resident
        program.clear("DEEP")
        assert found.depth == 0
        assert sum(each is not None for each in messages) == COUNT, "clearing frees nothing by itself"
        until(bench, lambda: not any(messages), "the memory was not freed")
        with program.open("DEEP", "rw") as queue:
            queue.put(b"new")
            message = queue.get()
            assert message is not None
            assert message.body == b"new"


def publish_retained(bench: WireBench, count: int) -> None:
    with ostler.connect(bench.manager) as program:
        for number in range(count):
            program.publish(f"stock/{number % 7}/{number}", b"%d" % number, retain=True)


def begin_subscribe(bench: WireBench, count: int, destination: int = 0, name: str = "") -> Peer:
    """Ask for a subscription to many retained publications, and stop while they are delivered."""
    publish_retained(bench, count)
    peer = bench.peer("Q")
    options = mq.MQSO_CREATE | (0 if destination else mq.MQSO_MANAGED) | (mq.MQSO_DURABLE if name else 0)
    asked = SubscribeArguments(options)
    asked.name = name
    asked.topic_string = "stock/#"
    asked.destination = destination
    peer.send(wire.frame(wire.SUBSCRIBE, 1, 10, asked.encode()))
    until(bench, lambda: bool(bench.manager.engine.tasks), "nothing is delivered in slices")
    return peer


def bodies(peer: Peer, hobj: int, count: int) -> list[bytes]:
    return [peer.ask(wire.GET, get(hobj), request=100 + n).body.split(b">")[-1].strip() for n in range(count)]


def test_retained_publications_come_in_slices_while_others_are_served(bench: WireBench) -> None:
    count = 600
    peer = begin_subscribe(bench, count)
    check_others_are_served(bench)
    assert bench.manager.engine.tasks, "a small share does not suffice for all of it"
    assert peer.answers(0) == []
    with ostler.connect(bench.manager) as program:
        program.publish("stock/0/0", b"new", retain=True)  # a topic that is visited last
    answer = peer.answer(10)
    assert answer.completion == mq.MQCC_OK, answer.text
    hobj = int(decode_subscribe_reply(decode_reply(answer.payload).reader).destination.hobj)
    # The new publication came by itself and is not sent again as the retained one.
    assert sorted(bodies(peer, hobj, count)) == sorted([b"new", *(b"%d" % n for n in range(1, count))])
    assert peer.ask(wire.GET, get(hobj)).reason == mq.MQRC_NO_MSG_AVAILABLE


def test_a_subscription_whose_queue_is_too_small_fails_and_is_removed(bench: WireBench) -> None:
    with ostler.connect(bench.manager) as program:
        program.alter("QLOCAL", "Q", MAXDEPTH=300)
        program.open("Q", "w").put("there before")
    peer = begin_subscribe(bench, 600, destination=2)
    assert peer.answer(10).reason == mq.MQRC_RETAINED_NOT_DELIVERED
    engine = bench.manager.engine
    assert not engine.topics.subscribed_to("stock/#")
    assert engine.queues["Q"].depth == 1, "copies of a subscription that was not made are on its queue"
    assert engine.counters.topic_counters().subs_failed == 1
    assert engine.counters.topic_counters().subs_nondurable_created == 0


def test_a_durable_subscription_is_recorded_when_it_has_all_retained_publications(bench: WireBench) -> None:
    engine = bench.manager.engine
    peer = begin_subscribe(bench, 600, destination=2, name="LASTING")
    assert "LASTING" not in engine.of_type(ObjectType.SUB)
    other = bench.peer("Q")
    resume = SubscribeArguments(mq.MQSO_RESUME | mq.MQSO_DURABLE)
    resume.name, resume.topic_string, resume.destination = "LASTING", "stock/#", 2
    assert other.ask(wire.SUBSCRIBE, resume.encode()).reason == mq.MQRC_SUBSCRIPTION_IN_USE
    assert peer.answer(10).completion == mq.MQCC_OK
    assert "LASTING" in engine.of_type(ObjectType.SUB)
    assert engine.queues["Q"].depth == 600
    assert engine.counters.topic_counters().subs_durable_created == 1


def test_a_durable_subscription_whose_application_goes_away_in_the_middle_was_not_made(bench: WireBench) -> None:
    engine = bench.manager.engine
    peer = begin_subscribe(bench, 600, destination=2, name="LASTING")
    peer.close()
    until(bench, lambda: not engine.tasks, "the delivery goes on")
    assert "LASTING" not in engine.topics.by_name
    assert "LASTING" not in engine.of_type(ObjectType.SUB)
    assert engine.queues["Q"].depth == 0
    bench.check_nothing_left()


def test_a_defined_subscription_gets_many_retained_publications_in_slices(bench: WireBench) -> None:
    engine = bench.manager.engine
    publish_retained(bench, 600)
    given: dict[str, Value] = {"TOPICSTR": "stock/#", "DEST": "Q"}
    define_subscription(LocalCommandContext(bench.manager), "ADMINISTERED", given, None, False)
    assert engine.tasks
    assert engine.queues["Q"].depth < 600
    check_others_are_served(bench)
    until(bench, lambda: not engine.tasks, "the delivery goes on")
    assert engine.queues["Q"].depth == 600


def test_a_subscriber_that_goes_away_ends_the_delivery(bench: WireBench) -> None:
    peer = begin_subscribe(bench, 600)
    peer.close()
    until(bench, lambda: not bench.manager.engine.tasks, "the delivery goes on")
    bench.check_nothing_left()


def begin_move_to(bench: WireBench, target: str, **attributes: int) -> MoveMessages:
    """Begin to move many messages to another queue, and stop in the middle of it."""
    with ostler.connect(bench.manager) as program, program.open("Q", "w") as queue:
        for number in range(COUNT):
            queue.put(b"%d" % number, persistent=number % 2 == 0)
    bench.define(target, MAXDEPTH=1_000_000, **attributes)
    queues = bench.manager.engine.queues
    with bench.manager.turn as engine:
        move = begin_move(engine, queues["Q"], queues[target], True)
    bench.turn(3)
    assert not move.is_done, "a small share does not suffice for all of it"
    return move


def test_messages_are_moved_in_slices_while_others_are_served(bench: WireBench) -> None:
    move = begin_move_to(bench, "TARGET")
    check_others_are_served(bench)
    refused = bench.peer("WARM").ask(wire.OPEN, OpenArguments(mq.MQOT_Q, "Q", mq.MQOO_OUTPUT).encode())
    assert refused.reason == mq.MQRC_OBJECT_IN_USE
    until(bench, lambda: move.is_done, "the move does not end")
    assert move.failure is None
    queues = bench.manager.engine.queues
    assert (queues["Q"].depth, queues["TARGET"].depth) == (0, COUNT)
    with ostler.connect(bench.manager) as program, program.open("TARGET", "r") as queue:
        assert [int(queue.get().body) for _ in range(COUNT)] == list(range(COUNT))  # type: ignore[union-attr]


def test_a_move_that_fails_in_the_middle_leaves_all_messages_where_they_were(bench: WireBench) -> None:
    move = begin_move_to(bench, "TARGET")
    bench.manager.engine.queues["TARGET"].depth_max = COUNT // 2
    until(bench, lambda: move.is_done, "the move does not end")
    assert move.failure is not None
    assert move.failure.reason == mq.MQRC_Q_FULL
    queues = bench.manager.engine.queues
    assert (queues["Q"].depth, queues["TARGET"].depth) == (COUNT, 0)
    with ostler.connect(bench.manager) as program, program.open("Q", "r") as queue:
        assert [int(queue.get().body) for _ in range(COUNT)] == list(range(COUNT))  # type: ignore[union-attr]


def test_the_longest_pass_is_shown(bench: WireBench) -> None:
    bench.turn(3)
    longest = bench.manager.longest_pass
    assert longest is not None
    assert longest.take_us() > 0
    assert longest.take_us() == 0, "it begins anew with each statistics interval"
