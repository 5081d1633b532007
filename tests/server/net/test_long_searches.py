"""Looks through deep queues over links: others are served between their slices, and they end with what they are for."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from librt.strings import read_i32_le
from tests.world.wire_bench import WireBench, get, numbers, put

import ostler
from ostler import aio
from ostler.engine.get import resume_work
from ostler.engine.selectors.selector import cache, compile_selector
from ostler.model.constants import (
    MQCC_OK,
    MQGMO_BROWSE_FIRST,
    MQGMO_NO_SYNCPOINT,
    MQGMO_WAIT,
    MQRC_CONNECTION_STOPPING,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_SELECTOR_SYNTAX_ERROR,
)
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing import queue_manager
from ostler.wire import frames as wire
from ostler.wire.put_get_frames import HELD, get_any_payload

WAIT = MQGMO_WAIT | MQGMO_NO_SYNCPOINT
LAST = b"Root.MQMD.Priority = 7"
NEVER = b"Root.MQMD.Priority > 9"
SECONDS_MAX = 120.0


def fill(manager: QueueManager, count: int, queue: str = "Q") -> None:
    """So many messages, and a last one that the selector LAST fits."""
    with ostler.connect(manager) as program, program.open(queue, "rw") as opened:
        for number in range(count):
            opened.put(b"%d" % number)
        opened.put(b"last", priority=7)


def fifo(bench: WireBench) -> None:
    with ostler.connect(bench.manager) as program:
        program.alter("QLOCAL", "Q", MSGDLVSQ="FIFO", MAXDEPTH=1_000_000)


@pytest.fixture
def deep_bench(wire_bench: WireBench) -> WireBench:
    """A queue of 300 messages in order of arrival, looked through at ten or so messages a pass."""
    fifo(wire_bench)
    fill(wire_bench.manager, 300)
    wire_bench.manager.engine.slice_cost = wire_bench.manager.engine.share_cost = 100
    return wire_bench


def looking(bench: WireBench) -> bool:
    """A search goes on, or waits until messages beyond the buffers are read."""
    engine = bench.manager.engine
    return bool(engine.has_pending_work()) or bool(engine.queues["Q"].waiting.scanning)


def test_others_are_served_between_the_slices_of_a_hostile_look(wire_bench: WireBench) -> None:
    fifo(wire_bench)
    # In memory, so that no pass waits for a read.
    wire_bench.manager.engine.queues["Q"].buffer_bytes_nonpersistent = 1 << 30
    wire_bench.manager.engine.queues["Q"].buffer_bytes_persistent = 1 << 30
    fill(wire_bench.manager, 20_000)
    wire_bench.define("Q2")
    hostile = wire_bench.peer("Q")
    other = wire_bench.peer("Q2")
    text = b" OR ".join([b"k > 9"] * 700)
    selector = compile_selector(text.decode())
    before = selector.evaluations
    hostile.send(wire.frame(wire.GET, 1, 10, get(2, MQGMO_BROWSE_FIRST, selector=text)))
    seen = []
    for number in range(40):
        assert other.ask(wire.PUT, put(2, b"%d" % number)).completion == MQCC_OK
        assert other.ask(wire.GET, get(2)).body == b"%d" % number
        seen.append(selector.evaluations - before)
    assert hostile.answers(1) == []
    assert looking(wire_bench)
    # It gets on in each pass, by no more than its share.
    steps = [later - earlier for earlier, later in itertools.pairwise(seen)]
    assert all(0 < step < 100 for step in steps), steps
    hostile.close()
    wire_bench.turn(3)
    assert not looking(wire_bench)


def test_a_get_and_a_browse_find_their_message_in_many_passes(deep_bench: WireBench) -> None:
    peer = deep_bench.peer("Q")
    passes = deep_bench.reactor.counters.searches
    peer.send(wire.frame(wire.GET, 1, 10, get(2, MQGMO_BROWSE_FIRST, selector=LAST)))
    assert peer.answers(3) == []
    assert peer.answer(10).body == b"last"
    assert deep_bench.reactor.counters.searches - passes > 10
    assert peer.ask(wire.GET, get(2, selector=LAST), 11).body == b"last"
    assert peer.ask(wire.GET, get(2, selector=LAST), 12).reason == MQRC_NO_MSG_AVAILABLE
    peer.close()
    deep_bench.check_nothing_left()


def test_a_held_message_can_be_given_back_behind_a_long_look(deep_bench: WireBench) -> None:
    peer = deep_bench.peer("Q")
    assert peer.ask(wire.GET, get(2, flags=HELD, selector=LAST), 10).body == b"last"
    assert peer.ask(wire.GET, get(2, selector=LAST), 11).reason == MQRC_NO_MSG_AVAILABLE
    assert peer.ask(wire.SETTLE, numbers(10, 0), 12).completion == MQCC_OK
    assert peer.ask(wire.GET, get(2, selector=LAST), 13).body == b"last"


def test_the_wait_counts_from_the_beginning_and_ends_a_look(deep_bench: WireBench) -> None:
    peer = deep_bench.peer("Q")
    peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, 5_000, selector=NEVER)))
    deep_bench.later(5_100)
    assert looking(deep_bench) or deep_bench.manager.engine.queues["Q"].waiting.count == 0
    peer.read()
    assert peer.answer(10).reason == MQRC_NO_MSG_AVAILABLE
    # Without MQGMO_WAIT the interval says nothing.
    peer.send(wire.frame(wire.GET, 1, 11, get(2, MQGMO_NO_SYNCPOINT, 5, selector=LAST)))
    deep_bench.later(5_100)
    assert peer.answer(11).body == b"last"


def test_a_look_is_cancelled_closed_and_cut_off(deep_bench: WireBench) -> None:
    peer = deep_bench.peer("Q")
    frames = [wire.frame(wire.GET, 1, number, get(2, selector=NEVER)) for number in (10, 11, 12)]
    peer.send(frames[0], wire.frame(wire.CANCEL, 1, 0, numbers(10)))
    assert peer.answer(10).reason == MQRC_NO_MSG_AVAILABLE
    peer.send(frames[1], wire.frame(wire.CLOSE, 1, 13, numbers(2, 0)))
    assert peer.answer(11).reason == MQRC_CONNECTION_STOPPING
    assert peer.answer(13).completion == MQCC_OK
    peer.open("Q")
    peer.send(wire.frame(wire.GET, 1, 12, get(3, selector=NEVER)))
    deep_bench.turn()
    assert looking(deep_bench)
    peer.close()
    deep_bench.turn(3)
    assert not looking(deep_bench)
    deep_bench.check_nothing_left()


def test_a_stream_looks_in_slices(deep_bench: WireBench) -> None:
    peer = deep_bench.peer("Q")
    peer.send(wire.frame(wire.STREAM, 1, 50, numbers(5) + get(2, MQGMO_NO_SYNCPOINT, selector=LAST)))
    assert peer.answers(3) == []
    assert peer.answer(50).payload.endswith(b"last")
    other = deep_bench.peer("Q")
    assert other.ask(wire.GET, get(2), 9).body == b"0"


def test_consumers_look_in_slices_one_after_the_other(deep_bench: WireBench) -> None:
    deep_bench.define("Q2")
    peer = deep_bench.peer("Q", "Q2")
    other = deep_bench.peer("Q2")
    # The second one has nothing until the look of the first one is under way, and the first one never.
    consumers = [get(2, WAIT, -1, selector=NEVER), get(3, WAIT, -1)]
    peer.send(wire.frame(wire.GET_ANY, 1, 10, get_any_payload(-1, consumers)))
    assert peer.answers(2) == []
    assert other.ask(wire.PUT, put(2, b"for the second")).completion == MQCC_OK
    answer = peer.answer(10)
    assert (answer.completion, read_i32_le(answer.payload, 8)) == (MQCC_OK, 1)
    # What comes for the first one while the second one looks is not missed.
    consumers = [get(3, WAIT, -1), get(2, WAIT, -1, selector=NEVER)]
    peer.send(wire.frame(wire.GET_ANY, 1, 11, get_any_payload(-1, consumers)))
    assert peer.answers(2) == []
    assert looking(deep_bench)
    assert other.ask(wire.PUT, put(2, b"for the first")).completion == MQCC_OK
    answer = peer.answer(11)
    assert (answer.completion, read_i32_le(answer.payload, 8)) == (MQCC_OK, 0)
    # Both find nothing, and are told later.
    peer.send(wire.frame(wire.GET_ANY, 1, 12, get_any_payload(-1, consumers)))
    while looking(deep_bench) or peer.answers(1):
        deep_bench.turn()
    assert peer.answers(3) == []
    assert other.ask(wire.PUT, put(2, b"later")).completion == MQCC_OK
    assert read_i32_le(peer.answer(12).payload, 8) == 0
    assert peer.ask(wire.GET_ANY, get_any_payload(0, consumers), 13).reason == MQRC_NO_MSG_AVAILABLE
    peer.send(wire.frame(wire.GET_ANY, 1, 14, get_any_payload(-1, consumers)))
    deep_bench.turn(2)
    peer.close()
    other.close()
    deep_bench.turn(3)
    deep_bench.check_nothing_left()


def test_a_message_that_a_look_has_just_taken_is_sent_although_it_is_cancelled(deep_bench: WireBench) -> None:
    manager = deep_bench.manager
    peer = deep_bench.peer("Q")
    consumers = [get(2, selector=LAST)]
    peer.send(wire.frame(wire.GET_ANY, 1, 10, get_any_payload(-1, consumers)))
    deep_bench.turn()
    # Another thread goes on with the look, and the reactor has not been told of its end when the application cancels.
    with manager.turn as engine:
        while engine.has_pending_work():
            resume_work(engine)
    peer.send(wire.frame(wire.CANCEL, 1, 0, numbers(10)))
    assert peer.answer(10).payload.endswith(b"last")
    peer.close()
    deep_bench.check_nothing_left()


def test_a_put_is_answered_while_thousands_wait_with_selectors(wire_bench: WireBench) -> None:
    wire_bench.manager.engine.slice_cost = wire_bench.manager.engine.share_cost = 2_000
    hostile = wire_bench.peer("Q")
    count = 3_000
    texts = [f"Root.MQMD.Priority > {9 + number}" for number in range(count - 1)] + [LAST.decode() + " OR FALSE"]
    for number, text in enumerate(texts):
        hostile.send(wire.frame(wire.GET, 1, 100 + number, get(2, WAIT, -1, selector=text.encode())))
    for _ in range(count):
        wire_bench.turn()
        if wire_bench.manager.engine.queues["Q"].waiting.count == count:
            break
    assert wire_bench.manager.engine.queues["Q"].waiting.count == count
    selectors = [compile_selector(text) for text in texts]
    before = sum(selector.evaluations for selector in selectors)
    other = wire_bench.peer("Q")
    with ostler.connect(wire_bench.manager) as program, program.open("Q", "rwb") as opened:
        opened.put(b"for the last", priority=7)
    # It is there for anybody else, and some have been asked, far from all.
    wire_bench.turn()
    asked = sum(selector.evaluations for selector in selectors) - before
    assert 0 < asked < count // 2
    assert hostile.answer(100 + count - 1).body == b"for the last"
    assert other.ask(wire.GET, get(2)).reason == MQRC_NO_MSG_AVAILABLE
    hostile.close()
    other.close()
    wire_bench.check_nothing_left()


def test_a_selector_that_costs_too_much_is_refused_with_the_limit(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    answer = peer.ask(wire.GET, get(2, selector=b"+".join([b"1"] * 4_096) + b"=2"))
    assert answer.reason == MQRC_SELECTOR_SYNTAX_ERROR
    assert "4096" in answer.text


# -- with threads ------------------------------------------------------------------------------------------------------


def test_round_trips_go_on_beside_a_look_through_a_deep_queue() -> None:
    with queue_manager("SEARCHED", mqsc="DEFINE QLOCAL(DEEP) MAXDEPTH(100000)\nDEFINE QLOCAL(SHALLOW)") as running:
        fill(running.manager, 20_000, "DEEP")
        where = {"connection_name": running.connection_name, "channel": running.channel}
        done = threading.Event()
        found: list[object] = []

        def look() -> None:
            with ostler.connect(running.name, **where) as hostile, hostile.open("DEEP", "r") as deep:
                found.append(deep.get(selector=" OR ".join(["colour = 'red'"] * 300)))
            done.set()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        trips = 0
        with ostler.connect(running.name, **where) as other, other.open("SHALLOW", "rw") as shallow:
            while not done.is_set():
                shallow.put(b"there")
                assert shallow.get(wait=SECONDS_MAX) is not None
                trips += 1
        thread.join(SECONDS_MAX)
        assert found == [None]
        assert trips > 20
        assert running.server.reactor.counters.searches > 20


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[QueueManager]:
    manager = QueueManager(create_queue_manager(tmp_path, "EMBEDDED"))
    manager.start()
    yield manager
    manager.end("immediate")


def test_without_sockets_a_thread_goes_on(embedded: QueueManager) -> None:
    with ostler.connect(embedded) as program:
        program.define("QLOCAL", "Q", MSGDLVSQ="FIFO", MAXDEPTH=100_000)
    fill(embedded, 3_000)
    embedded.engine.slice_cost = embedded.engine.share_cost = 1_000
    with ostler.connect(embedded) as program, program.open("Q", "rwb") as opened:
        assert opened.get(selector="colour = 'red'") is None
        assert opened.get(selector="colour = 'red'", wait=0.05) is None
        found = opened.get(selector=LAST.decode())
        assert found is not None
        assert found.data == b"last"
        browsed = [message.data for message in opened.browse(selector="Root.MQMD.Priority >= 0")]
        assert len(browsed) == 3_000

    async def together() -> list[object]:
        async with await aio.connect(embedded) as connection, await connection.open("Q", "r") as opened:
            return list(await asyncio.gather(*[opened.get(selector=f"colour = '{number}'") for number in range(5)]))

    assert asyncio.run(together()) == [None] * 5
    assert not embedded.engine.has_pending_work()


def test_links_that_have_many_selectors_compiled_are_put_off(wire_bench: WireBench) -> None:
    wire_bench.define("Q2")
    hostile = [wire_bench.peer("Q") for _ in range(3)]
    other = wire_bench.peer("Q2")
    # As an application that is at work: the fast lane serves it in each pass, however slow this machine is.
    link = list(wire_bench.reactor.links.values())[-1]
    for _ in range(100):
        if link.is_fast:
            break
        assert other.ask(wire.PUT, put(2, b"at work")).completion == MQCC_OK
    assert link.is_fast, "a hundred quick requests did not bring the link into the fast lane"
    passes_before = wire_bench.reactor.counters.passes
    compiled = cache.compiled
    for at, peer in enumerate(hostile):
        texts = [" OR ".join([f"k{at} > {number}"] * 500).encode() for number in range(10)]
        row = [wire.frame(wire.GET, 1, 10 + number, get(2, selector=text)) for number, text in enumerate(texts)]
        peer.send(*row, wire.frame(wire.PUT, 1, 99, put(2, b"behind")))
    assert other.ask(wire.PUT, put(2, b"meanwhile")).completion == MQCC_OK
    assert cache.compiled - compiled < 10  # of thirty
    for peer in hostile:
        # In their order, and nothing is lost.
        assert [peer.next().request for _ in range(11)] == [*range(10, 20), 99]
    assert cache.compiled - compiled == 30
    assert wire_bench.reactor.counters.passes - passes_before > 10
    assert wire_bench.reactor.counters.deferred > 10
    for peer in (*hostile, other):
        peer.close()
    wire_bench.check_nothing_left()


def test_a_publication_asks_each_selector_once(embedded: QueueManager) -> None:
    selector = compile_selector("k > 5 AND k < 7")
    with ostler.connect(embedded) as program, ExitStack() as stack:
        opened = [stack.enter_context(program.subscribe("prices", selector="k > 5 AND k < 7")) for _ in range(20)]
        before = selector.evaluations
        with program.topic("prices") as prices:
            prices.publish(b"no", properties={"k": 1})
            prices.publish(b"yes", properties={"k": 6})
        assert selector.evaluations - before == 2
        for each in opened:
            found = each.get()
            assert found is not None
            assert found.data == b"yes"
            assert each.get() is None
