"""Servers and requesters: either end may start, and a sender calls its requester back."""

from __future__ import annotations

import pytest
from tests.server.channels.support.channel_proxy import BACK, Proxy
from tests.server.channels.support.channel_routes import Route, Routes, dead_letter, eventually

from ostler.command.status.channel_status import CURRENT
from ostler.model import constants as mq
from ostler.wire.frames import CHANNEL_CONFIRM, CHANNEL_END

REQUESTED = ("SVR", "RQSTR")
CALLED_BACK = ("SDR", "RQSTR")


def request(way: Route) -> Route:
    """Start it from the end that wants messages."""
    way.there.mqsc(f"START CHANNEL({way.channel})")
    return way


def running(way: Route) -> Route:
    return way.until("RUNNING").until("RUNNING", way.there)


# -- a server and its requester ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("persistent", [True, False])
def test_a_requester_gets_its_messages(route: Routes, persistent: bool) -> None:
    way = route(kinds=REQUESTED)
    sent = [b"%d" % number for number in range(50)]
    way.put(*sent, persistent=persistent)
    running(request(way))
    assert way.bodies(50) == sent
    assert (way.chstatus().channel_type, way.chstatus(way.there).channel_type) == REQUESTED
    assert (way.chstatus().remote_manager, way.chstatus(way.there).remote_manager) == ("FAR", "NEAR")
    way.put(b"later")
    assert way.get().data == b"later"


def test_a_server_without_an_address_cannot_begin(route: Routes) -> None:
    way = route(kinds=REQUESTED)
    answer = way.refused("START CHANNEL({})")
    assert "CONNAME" in answer


def test_a_server_with_an_address_begins_with_a_requester(route: Routes) -> None:
    way = route(f"CONNAME('127.0.0.1({route.there.port})')", kinds=REQUESTED)
    way.put(b"pushed")
    way.run()
    assert way.get().data == b"pushed"
    assert way.chstatus(way.there).channel_type == "RQSTR"


def test_a_server_with_an_address_is_asked_by_its_requester(route: Routes) -> None:
    way = route(f"CONNAME('127.0.0.1({route.there.port})')", kinds=REQUESTED)
    way.put(b"pulled")
    running(request(way))
    assert way.get().data == b"pulled"


def test_a_server_begins_with_a_receiver(route: Routes) -> None:
    way = route(kinds=("SVR", "RCVR"))
    way.put(b"pushed")
    way.run()
    assert way.get().data == b"pushed"
    assert (way.chstatus().channel_type, way.chstatus(way.there).channel_type) == ("SVR", "RCVR")


@pytest.mark.parametrize("side", ["server", "requester"])
@pytest.mark.parametrize("mode", ["QUIESCE", "FORCE"])
def test_either_end_stops(route: Routes, side: str, mode: str) -> None:
    way = running(request(route(kinds=REQUESTED)))
    stopped, other = (way.here, way.there) if side == "server" else (way.there, way.here)
    way.stop(f"MODE({mode})", stopped)
    way.until("STOPPED", stopped).until("INACTIVE", other)
    if side == "server":
        request(way)
        assert "AMQ9558E" in way.until_noted("AMQ9558E", way.there)
        way.stop("STATUS(INACTIVE)")
    running(request(way))
    way.put(b"again")
    assert way.get().data == b"again"


def test_a_stopped_server_can_be_enabled(route: Routes) -> None:
    """START of a server without an address does what START of a receiver does: it may be called again."""
    way = route(kinds=REQUESTED)
    way.stop()
    way.until("STOPPED")
    way.here.mqsc(f"START CHANNEL({way.channel})")
    way.until("INACTIVE")
    running(request(way))


def test_a_requester_that_runs_cannot_be_started(route: Routes) -> None:
    way = running(request(route(kinds=REQUESTED)))
    assert "AMQ9514E" in way.refused("START CHANNEL({})", way.there)


def test_a_server_disconnects_without_work(route: Routes) -> None:
    way = running(request(route("DISCINT(1)", kinds=REQUESTED)))
    way.until("INACTIVE").until("INACTIVE", way.there)
    way.put(b"waits")
    running(request(way))
    assert way.get().data == b"waits"


def test_doubts_between_a_server_and_its_requester_are_settled(route: Routes) -> None:
    with Proxy(route.here.port) as proxy:
        way = route("", f"CONNAME('127.0.0.1({proxy.port})')", kinds=REQUESTED)
        running(request(way))
        # Who connected is the requester: what the server says comes back.
        proxy.cut_at(BACK, CHANNEL_CONFIRM)
        way.put(b"which")
        eventually(lambda: proxy.cuts == 1)
        way.until("INACTIVE").until("INACTIVE", way.there)
        running(request(way))
        assert way.get().data == b"which"
        way.settled()
        assert way.there.depth(way.target) == 0


def test_different_definitions_are_refused(route: Routes) -> None:
    way = request(route("SEQWRAP(100)", "SEQWRAP(200)", kinds=REQUESTED))
    for qm in (way.here, way.there):
        assert "AMQ9505E" in way.until_noted("AMQ9505E", qm)
    way.until("INACTIVE")
    eventually(lambda: way.state(way.there) in ("STOPPED", "INACTIVE"))


def test_dead_letters_of_a_requester(route: Routes) -> None:
    way = route(kinds=REQUESTED)
    way.there.mqsc(f"ALTER QLOCAL({way.target}) MAXMSGL(1)")
    running(request(way))
    way.put(b"too long")
    assert dead_letter(way.there).reason == mq.MQRC_MSG_TOO_BIG_FOR_Q


# -- a sender that calls back ------------------------------------------------------------------------------------------


def test_a_sender_calls_back(route: Routes) -> None:
    way = route(kinds=CALLED_BACK)
    way.put(b"called")
    running(request(way))
    assert way.get().data == b"called"
    assert (way.chstatus().channel_type, way.chstatus(way.there).channel_type) == CALLED_BACK
    assert "AMQ9514E" in way.refused("START CHANNEL({})", way.there)
    way.stop("STATUS(INACTIVE)", way.there)
    way.until("INACTIVE", way.there).until("RETRYING")
    running(request(way))


def test_a_sender_begins_with_a_requester(route: Routes) -> None:
    way = route(kinds=CALLED_BACK)
    way.put(b"pushed")
    way.run()
    assert way.get().data == b"pushed"


def test_a_stopped_sender_does_not_call_back(route: Routes) -> None:
    way = route(kinds=CALLED_BACK)
    way.stop()
    request(way)
    assert "AMQ9558E" in way.until_noted("AMQ9558E", way.there)
    assert way.state() == "STOPPED"


def test_a_sender_that_retries_calls_back_at_once(route: Routes) -> None:
    way = route("SHORTRTY(9) SHORTTMR(3600)", kinds=CALLED_BACK)
    way.stop(where=way.there)
    way.start().until("RETRYING")
    running(request(way))
    way.put(b"at once")
    assert way.get().data == b"at once"


def test_the_call_may_be_faster_than_the_promise_of_it(route: Routes) -> None:
    with Proxy(route.here.port) as proxy:
        way = route("", f"CONNAME('127.0.0.1({proxy.port})')", kinds=CALLED_BACK)
        promised = proxy.detain(BACK, CHANNEL_END)
        way.put(b"called")
        request(way)
        assert way.get().data == b"called"
        assert shown(way) == {"BINDING", "RUNNING"}
        promised.set()
        eventually(lambda: shown(way) == {"RUNNING"})
        way.stop("STATUS(INACTIVE)")
        eventually(lambda: shown(way) == set())


def shown(way: Route) -> set[str]:
    """The states of all instances at the receiving side."""
    found = way.there.server.channel_status()
    return {each.status for each in found if each.name == way.channel and each.instance == CURRENT}


def test_a_requester_that_waits_can_be_stopped(route: Routes) -> None:
    way = route("CONNAME('127.0.0.1(1)') SHORTRTY(9) SHORTTMR(3600)", kinds=CALLED_BACK)
    request(way).until("REQUESTING", way.there).until("RETRYING")
    way.stop(where=way.there)
    way.until("STOPPED", way.there)


# -- those that do not go together -------------------------------------------------------------------------------------


def test_a_requester_needs_somebody_who_sends(route: Routes) -> None:
    way = route(kinds=REQUESTED)
    way.here.mqsc(f"DELETE CHANNEL({way.channel})\nDEFINE CHANNEL({way.channel}) CHLTYPE(RCVR)")
    request(way)
    assert "is RCVR at NEAR" in way.until_noted("AMQ9547E", way.there)


def test_a_requester_of_a_channel_that_is_not_there(route: Routes) -> None:
    way = route(kinds=REQUESTED)
    way.here.mqsc(f"DELETE CHANNEL({way.channel})")
    request(way)
    assert "not defined at the partner" in way.until_noted("AMQ9520E", way.there)


def test_nobody_is_there_for_a_requester(route: Routes) -> None:
    way = route("", "CONNAME('127.0.0.1(1)')", kinds=REQUESTED)
    request(way)
    assert "AMQ9202E" in way.until_noted("AMQ9202E", way.there)


def test_pings_come_from_ends_that_send(route: Routes) -> None:
    way = route(f"CONNAME('127.0.0.1({route.there.port})')", kinds=REQUESTED)
    way.here.mqsc(f"PING CHANNEL({way.channel})")
    assert "AMQ9512E" in way.refused("PING CHANNEL({})", way.there)
