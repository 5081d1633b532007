"""Links whose requests take long, and links that are new, are served apart: quick ones do not wait for them."""

from __future__ import annotations

import select
import time

import pytest
from tests.world.wire_bench import Peer, WireBench, get, put

from ostler.server.net.slow_lane import SlowLane
from ostler.wire import frames as wire

MILLISECOND = 1_000_000


def quick_peer(bench: WireBench) -> Peer:
    """A peer whose link has shown that it is quick."""
    peer = bench.peer("Q")
    for _ in range(20):
        assert peer.ask(wire.GET, get(2)).reason == 2033
    return peer


def fast_links(bench: WireBench) -> list[bool]:
    return [link.is_fast for link in bench.reactor.links.values()]


def test_a_link_that_is_quick_moves_to_the_fast_lane(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    assert fast_links(wire_bench) == [False], "nothing is known of it yet"
    for _ in range(20):
        assert peer.ask(wire.GET, get(2)).reason == 2033
    assert fast_links(wire_bench) == [True]
    peer.close()
    wire_bench.check_nothing_left()


def test_one_slow_request_brings_a_link_back(wire_bench: WireBench) -> None:
    peer = quick_peer(wire_bench)
    (link,) = wire_bench.reactor.links.values()
    wire_bench.reactor.slow.update_lane(link, wire_bench.reactor.slow.quick_ns + 1)
    assert fast_links(wire_bench) == [False]
    for _ in range(15):
        assert peer.ask(wire.GET, get(2)).reason == 2033
    assert fast_links(wire_bench) == [False], "it has to show itself anew"
    assert peer.ask(wire.GET, get(2)).reason == 2033
    assert fast_links(wire_bench) == [True]


def test_while_the_slow_lane_rests_the_fast_one_is_served(wire_bench: WireBench) -> None:
    quick = quick_peer(wire_bench)
    slow = wire_bench.peer("Q")
    wire_bench.reactor.slow.resting_until_ns = time.monotonic_ns() + 60_000 * MILLISECOND
    slow.send(wire.frame(wire.PUT, 1, 7, put(2, b"later")))
    assert quick.ask(wire.GET, get(2)).reason == 2033
    newcomer, _ = wire_bench.link()
    newcomer.send(wire.frame(wire.HELLO, 0, 1, b""))
    assert slow.answers() == []
    wire_bench.reactor.slow.resting_until_ns = 0
    assert slow.answer(7).completion == 0
    assert quick.ask(wire.GET, get(2)).body == b"later"


def test_nobody_rests_when_nobody_else_is_there() -> None:
    epoll = select.epoll()
    lane = SlowLane(epoll, select.epoll())
    lane.rest(1_000 * MILLISECOND, 1_030 * MILLISECOND)
    assert lane.has_turn(1_030 * MILLISECOND)
    lane.fast_ns = 1_000 * MILLISECOND
    lane.rest(1_050 * MILLISECOND, 1_055 * MILLISECOND)
    assert not lane.has_turn(1_055 * MILLISECOND)
    assert lane.rest_ms(1_055 * MILLISECOND) == 5
    assert lane.rest_ms(1_055 * MILLISECOND + 1) == 5
    assert not lane.has_turn(1_060 * MILLISECOND - 1)
    assert lane.has_turn(1_060 * MILLISECOND)
    lane.close()
    epoll.close()


@pytest.mark.parametrize(("took_ms", "rests_ms"), [(0, 0), (3, 3), (24, 24), (400, 25)])
def test_it_rests_as_long_as_it_took_and_not_for_ever(took_ms: int, rests_ms: int) -> None:
    epoll = select.epoll()
    lane = SlowLane(epoll, select.epoll())
    lane.fast_ns = 1_000 * MILLISECOND
    now = (1_000 + took_ms) * MILLISECOND
    lane.rest(1_000 * MILLISECOND, now)
    assert lane.has_turn(now + rests_ms * MILLISECOND)
    assert rests_ms == 0 or not lane.has_turn(now + rests_ms * MILLISECOND - 1)
    lane.close()
    epoll.close()


def test_many_requests_at_once_are_done_in_slices_and_in_order(wire_bench: WireBench) -> None:
    """Each has a selector of its own to compile; together they would take long."""
    slow = wire_bench.peer("Q")
    quick = quick_peer(wire_bench)
    wire_bench.manager.engine.share_cost = 2_000
    asked = 40
    long = "+".join(["n"] * 400)
    slow.send(
        *(
            wire.frame(wire.GET, 1, 100 + number, get(2, selector=f"{long}={number}".encode()))
            for number in range(asked)
        )
    )
    turns = 0
    answered: list[int] = []
    while len(answered) < asked:
        assert quick.ask(wire.GET, get(2)).reason == 2033
        answered += [each.request for each in slow.answers(1)]
        turns += 1
        assert turns < 1000
    assert answered == [100 + number for number in range(asked)]
    assert turns > 3
    assert wire_bench.reactor.counters.deferred > 0
