"""Requests and links leave nothing to the garbage collector, which comes seldom in a queue manager's process."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from tests.world.wire_bench import Peer, WireBench, get, numbers, put

from ostler.model.constants import MQGMO_NO_SYNCPOINT, MQGMO_WAIT, MQPMO_SYNCPOINT
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.put_get_frames import HELD, get_any_payload

TIMES = 50
WAIT = MQGMO_WAIT | MQGMO_NO_SYNCPOINT


def exchange(peer: Peer, *frames: bytes, replies: tuple[int, ...]) -> None:
    peer.send(*frames)
    for number in replies:
        peer.answer(number)


def put_and_get(peer: Peer) -> None:
    exchange(peer, wire.frame(wire.PUT, 1, 10, put(2, b"x")), wire.frame(wire.GET, 1, 11, get(2)), replies=(10, 11))


def wait(peer: Peer) -> None:
    waiting = wire.frame(wire.GET, 1, 10, get(2, WAIT, 60_000))
    exchange(peer, waiting, wire.frame(wire.PUT, 1, 11, put(2, b"x")), replies=(10, 11))


def cancel(peer: Peer) -> None:
    waiting = wire.frame(wire.GET, 1, 10, get(2, WAIT, -1))
    exchange(peer, waiting, wire.frame(wire.CANCEL, 1, 0, numbers(10)), replies=(10,))


def hold(peer: Peer) -> None:
    taken = wire.frame(wire.GET, 1, 11, get(2, flags=HELD)) + wire.frame(wire.SETTLE, 1, 12, numbers(11, 1))
    exchange(peer, wire.frame(wire.PUT, 1, 10, put(2, b"x")), taken, replies=(10, 11, 12))


def unit(peer: Peer) -> None:
    in_unit = wire.frame(wire.PUT, 1, 10, put(2, b"x", MQPMO_SYNCPOINT, True))
    exchange(peer, in_unit, wire.frame(wire.BACK, 1, 11), replies=(10, 11))


def look(peer: Peer) -> None:
    looking = wire.frame(wire.GET_ANY, 1, 10, get_any_payload(-1, [get(2, WAIT, -1)]))
    exchange(peer, looking, wire.frame(wire.PUT, 1, 11, put(2, b"x")), replies=(10, 11))


def stream(peer: Peer) -> None:
    streaming = wire.frame(wire.STREAM, 1, 10, numbers(5) + get(2, MQGMO_NO_SYNCPOINT))
    exchange(peer, streaming, wire.frame(wire.PUT, 1, 11, put(2, b"x")), replies=(10, 11))
    exchange(peer, wire.frame(wire.UNSTREAM, 1, 12, numbers(10)), replies=(12,))


def long_message(peer: Peer) -> None:
    peer.send(*segments.frames_of(wire.PUT, 1, 10, put(2, bytes(200_000)), wire.SEGMENT_BYTES))
    exchange(peer, wire.frame(wire.GET, 1, 11, get(2)), replies=(10, 11))


def reconnect(peer: Peer) -> None:
    exchange(peer, wire.frame(wire.DISCONNECT, 1, 10, numbers(0)), replies=(10,))
    peer.connect()
    peer.open("Q")


ALL = [put_and_get, wait, cancel, hold, unit, look, stream, long_message, reconnect]


def left_by(work: Callable[[], None]) -> int:
    """How many objects only the collector finds after doing it many times."""
    gc.collect()
    gc.disable()
    try:
        for _ in range(TIMES):
            work()
        return gc.collect()
    finally:
        gc.enable()


@pytest.mark.parametrize("work", ALL)
def test_requests(wire_bench: WireBench, work: Callable[[Peer], None]) -> None:
    peer = wire_bench.peer("Q")
    work(peer)
    assert left_by(lambda: work(peer)) < TIMES // 2


def test_links_that_leave_while_they_wait(wire_bench: WireBench) -> None:
    def come_and_go() -> None:
        peer = wire_bench.peer("Q")
        peer.send(wire.frame(wire.GET, 1, 10, get(2, WAIT, -1)))
        peer.send(wire.frame(wire.STREAM, 1, 11, numbers(5) + get(2, MQGMO_NO_SYNCPOINT)))
        peer.send(wire.frame(wire.GET_ANY, 1, 12, get_any_payload(-1, [get(2, WAIT, -1)])))
        wire_bench.turn(2)
        peer.close()

    come_and_go()
    assert left_by(come_and_go) < TIMES // 2
    wire_bench.check_nothing_left()
