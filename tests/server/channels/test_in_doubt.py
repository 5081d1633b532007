"""Partners that wait, several in-doubt batches, and matching status at both ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.server.channels.support.channel_proxy import FORWARD, Proxy
from tests.server.channels.support.channel_routes import Route, Routes, eventually

from ostler.server.net.link import ServerLink
from ostler.testing import RunningQueueManager
from ostler.wire.frames import CHANNEL_CONFIRM


@pytest.fixture
def proxy(pair: list[RunningQueueManager]) -> Iterator[Proxy]:
    with Proxy(pair[1].port) as made:
        yield made


# -- partners that wait ------------------------------------------------------------------------------------------------


def link_of(way: Route, where: RunningQueueManager) -> ServerLink:
    channels = where.server.channels
    (found,) = [
        each
        for each in [*channels.outbound_instances.values(), *channels.inbound_instances.values()]
        if each.name == way.channel
    ]
    assert found.agent is not None
    return found.agent.link


def hours_go_by(way: Route, seconds: int) -> None:
    """At both ends, as long as a heartbeat interval of the channel."""
    there, here = link_of(way, way.there), link_of(way, way.here)
    sent, heard = there.sent_frames, here.calls
    way.there.server.reactor.ahead_ms += seconds * 1000
    way.there.server.reactor.wake()
    eventually(lambda: there.sent_frames > sent, "a sign of life")
    eventually(lambda: here.calls > heard, "that it was heard")
    way.here.server.reactor.ahead_ms += seconds * 1000
    way.here.server.reactor.wake()


def test_a_partner_that_waits_is_not_given_up(route: Routes) -> None:
    """It reads nothing for a hundred seconds; without a sign of life sixty-five would be too many."""
    way = route("HBINT(5)", "HBINT(5) MRRTY(1) MRTMR(300000)").run()
    way.there.mqsc(f"ALTER QLOCAL({way.target}) PUT(DISABLED)")
    way.put(b"patience")
    way.until("PAUSED", way.there)
    links = link_of(way, way.here), link_of(way, way.there)
    for _ in range(20):
        hours_go_by(way, 5)
    assert (way.state(), way.state(way.there)) == ("RUNNING", "PAUSED")
    way.there.mqsc(f"ALTER QLOCAL({way.target}) PUT(ENABLED)")
    for _ in range(40):
        hours_go_by(way, 5)
    assert way.get().data == b"patience"
    way.settled().until("RUNNING", way.there)
    assert (link_of(way, way.here), link_of(way, way.there)) == links, "it had to connect again"


# -- several batches in doubt ------------------------------------------------------------------------------------------


def in_doubt(route: Routes, proxy: Proxy) -> Route:
    """Five batches of a message each are in doubt, and the partner has the first of them."""
    way = route("SHORTRTY(0) LONGRTY(0) BATCHSZ(1)", port=proxy.port).run()
    way.put(b"before")
    assert way.get().data == b"before"
    way.settled()
    proxy.cut_at(FORWARD, CHANNEL_CONFIRM, lets_through=True)
    way.put(b"1", b"2", b"3", b"4", b"5")
    way.until("STOPPED").until("INACTIVE", way.there)
    eventually(lambda: way.there.depth(way.target) == 1, "that the first arrives")
    saved = way.saved()
    assert saved.in_doubt
    assert saved.current_messages == 5
    assert saved.current_sequence == saved.last_sequence + 5
    assert saved.current_luwid not in (saved.last_luwid, way.saved(way.there).last_luwid)
    return way


def partners_last(way: Route) -> str:
    (line,) = [each for each in way.there.mqsc(f"DISPLAY CHSTATUS({way.channel}) SAVED LSTLUWID") if "LSTLUWID" in each]
    return line.partition("LSTLUWID(")[2][:16]


def test_an_operator_tells_batches_in_doubt_apart(route: Routes, proxy: Proxy) -> None:
    way = in_doubt(route, proxy)
    way.here.mqsc(f"RESOLVE CHANNEL({way.channel}) ACTION(COMMIT) LUWID('{partners_last(way)}')")
    assert not way.saved().in_doubt
    assert way.here.depth(way.transmission) == 4
    assert "1 batches of 5 are committed, 4 are backed out" in way.notes()
    assert way.saved().last_luwid == way.saved(way.there).last_luwid
    way.run()
    assert way.bodies(5) == [b"1", b"2", b"3", b"4", b"5"]
    way.settled()
    assert way.there.depth(way.target) == 0


def test_a_partner_that_has_none_of_them_names_the_batch_before(route: Routes, proxy: Proxy) -> None:
    way = in_doubt(route, proxy)
    known = way.saved().last_luwid.hex()
    way.here.mqsc(f"RESOLVE CHANNEL({way.channel}) ACTION(COMMIT) LUWID({known})")
    assert way.here.depth(way.transmission) == 5


def test_a_batch_that_is_none_of_them(route: Routes, proxy: Proxy) -> None:
    way = in_doubt(route, proxy)
    refused = way.refused("RESOLVE CHANNEL({}) ACTION(COMMIT) LUWID(0123456789ABCDEF)")
    assert "is not in doubt about batch 0123456789ABCDEF, but about" in refused
    assert partners_last(way) in refused
    assert way.saved().in_doubt
    way.run()
    assert way.bodies(5) == [b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.parametrize(("action", "left", "danger"), [("COMMIT", 0, "lost"), ("BACKOUT", 5, "duplicated")])
def test_all_of_them_alike_is_worth_a_warning(route: Routes, proxy: Proxy, action: str, left: int, danger: str) -> None:
    way = in_doubt(route, proxy)
    said = " ".join(way.here.mqsc(f"RESOLVE CHANNEL({way.channel}) ACTION({action})"))
    assert "AMQ8025I" in said
    assert "was in doubt about 5 batches, and all of them were" in said
    assert f"messages are {danger}" in said
    assert "AMQ8025W" in way.notes()
    assert way.here.depth(way.transmission) == left


# -- figures -----------------------------------------------------------------------------------------------------------


def test_frames_and_bytes_are_counted_alike_at_both_ends(route: Routes) -> None:
    way = route("HBINT(0)", "HBINT(0)").run()
    way.put(*[b"x" * size for size in (10, 1000, 300_000)])
    way.bodies(3)
    way.settled()

    def pairs() -> list[tuple[int, int]]:
        here, there = way.chstatus(), way.chstatus(way.there)
        return [
            (here.buffers_sent, there.buffers_received),
            (there.buffers_sent, here.buffers_received),
            (here.bytes_sent, there.bytes_received),
            (there.bytes_sent, here.bytes_received),
        ]

    eventually(lambda: all(sent == received for sent, received in pairs()), "that both agree")
    assert pairs()[0][0] > 3 + 1, "more frames than messages: a hello, a question, and segments"
    assert pairs()[1][0] >= 2


def test_channels_are_shown_as_the_queue_managers_own(route: Routes) -> None:
    way = route().run()
    for where in (way.here, way.there):
        rows = " ".join(where.mqsc(f"DISPLAY CONN(*) WHERE(CHANNEL EQ {way.channel}) ALL"))
        assert "APPLTYPE(SYSTEM)" in rows
        assert f"CHANNEL({way.channel})" in rows
        assert "CONNAME(127.0.0.1" in rows
        assert "APPLTYPE(USER)" not in rows
