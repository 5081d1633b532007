"""An answer leaves when what it promises is durable, and not before. The log stands still while the tests look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.kill_rounds import KillRounds
from tests.world.wire_bench import Peer, WireBench, get, numbers, put

from ostler.model.attributes import ObjectType
from ostler.model.constants import (
    MQCC_OK,
    MQGMO_NO_SYNCPOINT,
    MQGMO_SYNCPOINT,
    MQGMO_WAIT,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQOT_Q,
    MQPMO_SYNCPOINT,
    MQQDT_PERMANENT_DYNAMIC,
)
from ostler.model.definitions import new_definition
from ostler.model.structures.md import MQMD
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.object_frames import InquireArguments, OpenArguments, Put1Arguments
from ostler.wire.put_get_frames import HELD, get_any_payload

WAIT = MQGMO_WAIT | MQGMO_NO_SYNCPOINT
MQIA_INHIBIT_PUT = 10
LONG = 300_000


def depth(bench: WireBench) -> int:
    return int(bench.manager.engine.queues["Q"].depth)


def persistent_md() -> bytes:
    md = MQMD.default(2)
    MQMD.patch(md, "Persistence", 1)
    return bytes(md)


def one_there(peer: Peer, body: bytes = b"there") -> None:
    peer.send(*segments.frames_of(wire.PUT, 1, 5, put(2, body, persistent=True), wire.SEGMENT_BYTES))
    assert peer.answer(5).completion == MQCC_OK


def in_a_unit(peer: Peer) -> None:
    assert peer.ask(wire.PUT, put(2, b"x", MQPMO_SYNCPOINT, persistent=True)).completion == MQCC_OK


def long_one_there(peer: Peer) -> None:
    one_there(peer, bytes(LONG))


def one_held(peer: Peer) -> None:
    one_there(peer)
    assert peer.ask(wire.GET, get(2, flags=HELD), 6).completion == MQCC_OK


def put_without_reply(peer: Peer) -> None:
    peer.send(wire.frame(wire.PUT, 1, 0, put(2, b"x", persistent=True)))


def nothing(peer: Peer) -> None:
    pass


MODEL = OpenArguments(MQOT_Q, "MODEL", MQOO_INPUT_SHARED | MQOO_OUTPUT)
MODEL.dynamic_name = "DYNAMIC.*"
PROMISES: list[tuple[str, Callable[[Peer], None], int, bytes]] = [
    ("put", nothing, wire.PUT, put(2, b"x", persistent=True)),
    (
        "put1",
        nothing,
        wire.PUT1,
        Put1Arguments(OpenArguments(MQOT_Q, "Q", 0), 0, 0, persistent_md(), b"", b"x").encode(),
    ),
    ("commit", in_a_unit, wire.COMMIT, b""),
    ("disconnect", in_a_unit, wire.DISCONNECT, numbers(1)),
    ("get", one_there, wire.GET, get(2)),
    ("long get", long_one_there, wire.GET, get(2)),
    ("look", one_there, wire.GET_ANY, get_any_payload(0, [get(2)])),
    ("settle", one_held, wire.SETTLE, numbers(6, 1)),
    ("stream", one_there, wire.STREAM, numbers(5) + get(2, MQGMO_NO_SYNCPOINT)),
    ("long stream", long_one_there, wire.STREAM, numbers(5) + get(2, MQGMO_NO_SYNCPOINT)),
    ("set", nothing, wire.SET, InquireArguments(2, [MQIA_INHIBIT_PUT], [1], b"").encode()),
    ("open a dynamic queue", nothing, wire.OPEN, MODEL.encode()),
    ("status", put_without_reply, wire.STATUS, numbers(0)),
]


@pytest.mark.parametrize(("name", "prepare", "type", "payload"), PROMISES, ids=[each[0] for each in PROMISES])
def test_a_promise_waits_for_the_log(
    wire_bench: WireBench, name: str, prepare: Callable[[Peer], None], type: int, payload: bytes
) -> None:
    model = new_definition(ObjectType.QMODEL, "MODEL", {"DEFTYPE": MQQDT_PERMANENT_DYNAMIC})
    wire_bench.manager.define(model)
    peer = wire_bench.peer("Q")
    bystander = wire_bench.peer("Q")
    if prepare is not put_without_reply:
        prepare(peer)
    with wire_bench.log_stands_still():
        if prepare is put_without_reply:
            prepare(peer)
        peer.send(wire.frame(type, 1, 9, payload))
        assert peer.answers(20) == []
        # Others, who promise nothing, do not wait.
        if name != "set":
            assert bystander.ask(wire.PUT, put(2, b"no promise")).completion == MQCC_OK
        assert peer.answers(5) == []
    answer = peer.answer(9)
    assert (answer.type & ~wire.REPLY, answer.completion) == (wire.MESSAGE if type == wire.STREAM else type, MQCC_OK)


def test_what_is_not_durable_is_shown_to_nobody(wire_bench: WireBench) -> None:
    getter = wire_bench.peer("Q")
    putter = wire_bench.peer("Q")
    units = wire_bench.peer("Q")
    getter.send(wire.frame(wire.GET, 1, 9, get(2, WAIT, -1)))
    units.send(wire.frame(wire.GET, 1, 9, get(2, MQGMO_WAIT | MQGMO_SYNCPOINT, -1)))
    with wire_bench.log_stands_still():
        putter.send(*(wire.frame(wire.PUT, 1, number, put(2, b"x", persistent=True)) for number in (7, 8)))
        assert [peer.answers(20) for peer in (getter, putter, units)] == [[], [], []]
    assert getter.answer(9).body == b"x"
    assert units.answer(9).body == b"x"
    assert putter.answer(7).completion == MQCC_OK


def test_a_link_that_breaks_while_its_replies_wait(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    long_one_there(peer)
    one_there(peer)
    with wire_bench.log_stands_still():
        peer.send(wire.frame(wire.PUT, 1, 8, put(2, b"x", persistent=True)))
        peer.send(wire.frame(wire.GET, 1, 9, get(2)))
        assert peer.answers(5) == []
        assert wire_bench.reactor.segmented_bytes() == LONG
        peer.close()
        assert wire_bench.reactor.links == {}
    other = wire_bench.peer("Q")
    one_there(other)
    wire_bench.turn(3)
    other.close()
    wire_bench.check_nothing_left()
    assert depth(wire_bench) == 3


def test_a_stream_keeps_its_order_while_the_log_stands_still(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    given = [b"n0", b"p1", b"n2", b"p" * LONG, b"n4", b"p5", b"n6"]
    for body in given:
        kind = body[:1] == b"p"
        peer.send(*segments.frames_of(wire.PUT, 1, 5, put(2, body, persistent=kind), wire.SEGMENT_BYTES))
        peer.answer(5)
    with wire_bench.log_stands_still():
        peer.send(wire.frame(wire.STREAM, 1, 9, numbers(100) + get(2, MQGMO_NO_SYNCPOINT)))
        first = [answer.body for answer in peer.answers(10)]
        assert first == [b"n0"]
        peer.send(wire.frame(wire.UNSTREAM, 1, 10, numbers(9)))
        assert peer.answers(10) == []
    rest = []
    for _ in range(1_000):
        rest += peer.answers(1)
        if rest and rest[-1].request == 10:
            break
    assert rest[-1].request == 10
    bodies = first + [answer.body for answer in rest[:-1]]
    assert bodies == given[: len(bodies)]
    assert depth(wire_bench) == len(given) - len(bodies)


def test_a_farewell_comes_behind_the_promises(wire_bench: WireBench) -> None:
    wire_bench.define_channel("STOPS")
    peer, _ = wire_bench.link(is_local=False)
    peer.hello("STOPS")
    peer.connect()
    peer.open("Q")
    in_a_unit(peer)
    with wire_bench.log_stands_still():
        peer.send(wire.frame(wire.COMMIT, 1, 9))
        wire_bench.turn(3)
        wire_bench.server.stop_channel("STOPS", "FORCE")
        assert peer.answers(10) == []
        assert len(wire_bench.reactor.links) == 1
    seen = []
    for _ in range(1_000):
        seen += peer.answers(1)
        if peer.closed:
            break
    assert [answer.type for answer in seen] == [wire.COMMIT | wire.REPLY, wire.FAREWELL]
    assert depth(wire_bench) == 1


def test_what_a_failing_log_does_not_hold_is_never_promised(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    long_one_there(peer)
    in_a_unit(peer)
    (link,) = wire_bench.reactor.links.values()
    with wire_bench.log_stands_still():
        peer.send(wire.frame(wire.COMMIT, 1, 9), wire.frame(wire.GET, 1, 10, get(2)))
        wire_bench.turn(3)
        with wire_bench.manager.lock:
            link.send_farewell(2009, "the end")
        assert peer.answers(10) == []
        wire_bench.manager.fail("the disk is gone")
        assert [answer.type for answer in peer.answers(10)] == [wire.FAREWELL]
        assert peer.closed
    assert wire_bench.reactor.segmented_bytes() == 0


@pytest.mark.parametrize(("buffer_bytes", "left"), [(1 << 30, 18), (0, 14)], ids=["in memory", "in the file"])
def test_replies_that_wait_count_as_unsent(wire_bench: WireBench, buffer_bytes: int, left: int) -> None:
    """Of messages in the file a few more are taken: those that were read ahead before the link was seen to be full."""
    wire_bench.manager.engine.queues["Q"].buffer_bytes_persistent = buffer_bytes
    wire_bench.manager.engine.queues["Q"].buffer_bytes_nonpersistent = buffer_bytes
    wire_bench.sleep_ms = 1
    peer = wire_bench.peer("Q")
    for _ in range(30):
        one_there(peer, bytes(100_000))
    (link,) = wire_bench.reactor.links.values()
    with wire_bench.log_stands_still():
        peer.send(*(wire.frame(wire.GET, 1, 100 + number, get(2)) for number in range(30)))
        for _ in range(1_000):
            assert peer.answers(1) == []
            if link.is_paused:
                break
        assert peer.answers(20) == []
        assert link.is_paused
        assert depth(wire_bench) >= left
    assert {peer.answer(100 + number).completion for number in range(30)} == {MQCC_OK}
    assert depth(wire_bench) == 0


@pytest.mark.slow
def test_killed_under_load(tmp_path: Path) -> None:
    rounds = KillRounds(tmp_path, seed=20261115)
    for _ in range(2):
        rounds.run()
    assert rounds.puts_told > 20
    assert rounds.gets_told > 5


def test_a_long_message_on_its_way_to_the_log_holds_up_only_other_long_ones(tmp_path: Path) -> None:
    log = LogSection(primary_files=3, file_pages=4096, buffer_pages=256)
    manager = QueueManager(create_queue_manager(tmp_path, "LONG", log))
    manager.start()
    bench = WireBench(manager)
    bench.define("Q")
    bench.define("OTHER")
    writer, second, other = bench.peer("Q"), bench.peer("Q"), bench.peer("OTHER")
    links = list(bench.reactor.links.values())
    long = put(2, bytes(3_500_000), persistent=True)
    with bench.log_stands_still():
        bench.reactor.inline_bytes_max = 1 << 20
        writer.send(*segments.frames_of(wire.PUT, 1, 9, long, wire.SEGMENT_BYTES))
        bench.turn(40)
        assert bench.reactor.is_log_behind()
        assert writer.answers() == []
        # The disk takes its time; nobody else has to.
        assert other.ask(wire.PUT, put(2, b"short")).completion == MQCC_OK
        assert other.ask(wire.GET, get(2), 78).body == b"short"
        second.send(*segments.frames_of(wire.PUT, 1, 9, long, wire.SEGMENT_BYTES)[:1])
        bench.turn(5)
        assert links[1].waits_for_log
        assert bench.reactor.segmented_bytes() == 0
    assert writer.answer(9).completion == MQCC_OK
    second.send(*segments.frames_of(wire.PUT, 1, 9, long, wire.SEGMENT_BYTES)[1:])
    assert second.answer(9).completion == MQCC_OK
    assert manager.engine.queues["Q"].depth == 2
    bench.close()
