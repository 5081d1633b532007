"""Channels across restarts of their queue managers: restarted and stopped channels, and a common end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.server.channels.support.channel_proxy import BACK, FORWARD, Proxy
from tests.server.channels.support.channel_routes import Routes, eventually

from ostler.testing import RunningQueueManager
from ostler.wire.frames import CHANNEL_CONFIRM, CHANNEL_END, REPLY

PATIENT = "SHORTRTY(1000) SHORTTMR(1)"
ENDS = ["quiesce", "immediate", "preemptive"]


@pytest.fixture
def route(pair: list[RunningQueueManager]) -> Iterator[Routes]:
    routes = Routes(*pair)
    yield routes
    for qm in pair:
        if not is_running(qm):
            qm.start()
    routes.close()


def is_running(qm: RunningQueueManager) -> bool:
    try:
        return qm.server.is_serving()
    except AssertionError:
        return False


def end(qm: RunningQueueManager, mode: str, wait_seconds: float = 0.0) -> None:
    """End a queue manager, which must not wait for its channels for long."""
    thread = threading.Thread(target=_end, args=(qm, mode, wait_seconds), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it does not end"


def _end(qm: RunningQueueManager, mode: str, wait_seconds: float) -> None:
    qm.server.end(mode, wait_seconds)
    qm.end()


@pytest.mark.parametrize("mode", ENDS)
def test_what_ran_runs_again_and_what_was_stopped_stays_so(route: Routes, mode: str) -> None:
    running, stopped, ended = route(PATIENT).run(), route(PATIENT).run(), route(PATIENT).run()
    running.put(b"before")
    running.get()
    stopped.stop()
    stopped.until("STOPPED")
    ended.stop("STATUS(INACTIVE)")
    ended.until("INACTIVE")
    running.settled()
    near = route.here
    end(near, mode)
    running.until("INACTIVE", route.there)
    near.start()
    running.until("RUNNING").until("RUNNING", route.there)
    assert (stopped.state(), ended.state()) == ("STOPPED", "INACTIVE")
    running.put(b"after")
    assert running.get().data == b"after"
    running.settled()
    assert running.chstatus().last_sequence == 2
    stopped.put(b"still")
    assert near.depth(stopped.transmission) == 1
    stopped.run()
    assert stopped.get().data == b"still"


@pytest.mark.parametrize("mode", ENDS)
def test_a_sender_finds_its_partner_again(route: Routes, mode: str) -> None:
    way = route(PATIENT).run()
    way.put(b"before")
    way.get()
    end(route.there, mode)
    way.until("RETRYING")
    way.put(b"meanwhile")
    route.there.start()
    if mode != "immediate":
        way.limit_end_wait()
    assert way.get().data == b"meanwhile"


def test_a_stopped_receiver_stays_stopped(route: Routes) -> None:
    way = route(PATIENT).run()
    way.stop(where=way.there)
    way.until("STOPPED", way.there)
    end(route.there, "immediate")
    route.there.start()
    way.until("STOPPED", way.there)
    way.start().until("RETRYING")
    route.there.mqsc(f"START CHANNEL({way.channel})")
    way.limit_end_wait()
    way.until("RUNNING")


def test_retries_go_on_after_a_restart(route: Routes) -> None:
    way = route(f"CONNAME('127.0.0.1(1)') {PATIENT}")
    way.start().until("RETRYING")
    end(route.here, "immediate")
    route.here.start()
    way.until("RETRYING")
    way.stop()


@pytest.mark.parametrize("kinds", [("SDR", "RQSTR"), ("SVR", "RQSTR")])
def test_requesters_ask_again_only_when_they_were_at_it(route: Routes, kinds: tuple[str, str]) -> None:
    busy, done = route(PATIENT, kinds=kinds), route(PATIENT, kinds=kinds)
    for way in (busy, done):
        way.there.mqsc(f"START CHANNEL({way.channel})")
        way.until("RUNNING").until("RUNNING", way.there)
    done.stop("STATUS(INACTIVE)")
    done.until("INACTIVE").until("INACTIVE", done.there)
    end(route.there, "immediate")
    eventually(lambda: busy.state() in ("RETRYING", "INACTIVE"))
    if busy.state() == "RETRYING":
        busy.stop("STATUS(INACTIVE)")
    route.there.start()
    busy.until("RUNNING", busy.there)
    assert done.state(done.there) == "INACTIVE"
    busy.put(b"asked for")
    assert busy.get().data == b"asked for"


@pytest.mark.parametrize("arrived", [True, False])
@pytest.mark.parametrize("who", ["sender", "receiver", "both"])
def test_what_is_in_doubt_survives(route: Routes, arrived: bool, who: str) -> None:
    with Proxy(route.there.port) as proxy:
        way = route(PATIENT, port=proxy.port).run()
        way.put(b"0")
        way.get()
        way.settled()
        proxy.cut_at(*((BACK, CHANNEL_CONFIRM | REPLY) if arrived else (FORWARD, CHANNEL_CONFIRM)))
        way.put(b"1", b"2", b"3")
        eventually(lambda: proxy.cuts == 1)
        ended = {"sender": [route.here], "receiver": [route.there], "both": [route.here, route.there]}[who]
        for qm in ended:
            end(qm, "preemptive")
        for qm in reversed(ended):
            qm.start()
        way.limit_end_wait()
        assert way.bodies(3) == [b"1", b"2", b"3"]
        way.until("RUNNING").settled()
        assert way.there.depth(way.target) == 0
        assert way.chstatus().last_sequence == 4


def test_a_stopped_channel_in_doubt_shows_it_after_a_restart(route: Routes) -> None:
    with Proxy(route.there.port) as proxy:
        way = route("SHORTRTY(0) LONGRTY(0)", port=proxy.port).run()
        proxy.cut_at(FORWARD, CHANNEL_CONFIRM)
        way.put(b"which")
        way.until("STOPPED")
        end(route.here, "immediate")
        route.here.start()
        way.until("STOPPED")
        assert way.chstatus().in_doubt
        way.here.mqsc(f"RESOLVE CHANNEL({way.channel}) ACTION(BACKOUT)")
        assert way.here.depth(way.transmission) == 1
        way.run()
        assert way.get().data == b"which"


def test_a_restart_in_the_middle_of_a_batch(route: Routes) -> None:
    way = route(f"{PATIENT} BATCHINT(60000)").run()
    way.put(b"1", b"2")
    eventually(lambda: way.chstatus(way.there).messages == 2)
    end(route.there, "preemptive")
    way.until("RETRYING")
    assert way.here.depth(way.transmission) == 2
    way.alter("BATCHINT(0)")
    route.there.start()
    way.limit_end_wait()
    assert way.bodies(2) == [b"1", b"2"]


# -- the end of a queue manager ----------------------------------------------------------------------------------------


def test_a_quiet_end_finishes_the_batch(route: Routes) -> None:
    way = route(f"{PATIENT} BATCHINT(60000)").run()
    way.put(b"1", b"2")
    eventually(lambda: way.chstatus().current_messages == 2)
    end(route.here, "quiesce", 15)
    assert way.there.depth(way.target) == 2
    assert way.bodies(2) == [b"1", b"2"]
    route.here.start()
    way.until("RUNNING")
    assert way.chstatus().last_sequence == 2
    assert not way.chstatus().in_doubt


@pytest.mark.parametrize("mode", ENDS)
def test_an_end_in_the_middle_of_a_batch(route: Routes, mode: str) -> None:
    """Whether the batch goes out before the end or after it: it goes once."""
    way = route(f"{PATIENT} BATCHINT(60000)").run()
    way.put(b"1", b"2")
    eventually(lambda: way.chstatus().current_messages == 2)
    end(route.here, mode)
    route.here.start()
    way.until("RUNNING")
    way.stop()
    way.until("STOPPED")
    way.alter("BATCHINT(0)")
    way.run()
    assert way.bodies(2) == [b"1", b"2"]
    way.settled()
    assert way.there.depth(way.target) == 0


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_an_operator_ends_the_connection_of_a_channel(route: Routes, side: str) -> None:
    way = route(f"{PATIENT} BATCHINT(60000)").run()
    way.put(b"1", b"2")
    eventually(lambda: way.chstatus(way.there).messages == 2)
    if side == "sender":
        channels = way.here.server.channels
        connection = channels.outbound_instances[way.channel].connection
    else:
        channels = way.there.server.channels
        agent = channels.inbound_instances[(way.channel, "NEAR")].agent
        assert agent is not None
        connection = agent.connection
    assert connection is not None
    channels.manager.break_connection(int(connection.number))
    way.put(b"3")
    way.stop()
    way.until("STOPPED").until("INACTIVE", way.there)
    way.alter("BATCHINT(0)")
    way.run()
    assert way.bodies(3) == [b"1", b"2", b"3"]
    way.settled()
    assert way.there.depth(way.target) == 0


@pytest.mark.parametrize("mode", ["quiesce", "immediate"])
def test_a_partner_that_does_not_answer_does_not_hold_up_the_end(route: Routes, mode: str) -> None:
    with Proxy(route.there.port) as proxy:
        way = route(PATIENT, port=proxy.port).run()
        for type in (CHANNEL_CONFIRM, CHANNEL_END):
            proxy.swallow(FORWARD, type)
        way.put(b"nobody answers")
        eventually(lambda: way.chstatus().in_doubt)
        end(route.here, mode)


@pytest.mark.parametrize("mode", ["quiesce", "immediate"])
def test_channels_in_other_states_do_not_hold_up_the_end(route: Routes, mode: str) -> None:
    route(f"CONNAME('127.0.0.1(1)') {PATIENT}").start().until("RETRYING")
    stopped = route()
    stopped.stop()
    paused = route("", "MRRTY(100000) MRTMR(100000)", here=route.there, there=route.here)
    paused.there.mqsc(f"ALTER QLOCAL({paused.target}) PUT(DISABLED)")
    paused.run()
    paused.put(b"stuck")
    paused.until("PAUSED", paused.there)
    end(route.here, mode)
    paused.until("RETRYING")


def test_both_end_under_load(route: Routes) -> None:
    there, back = route(PATIENT).run(), route(PATIENT, here=route.there, there=route.here).run()
    for way in (there, back):
        way.put(*[bytes(1000)] * 200)
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(end, qm, "quiesce") for qm in (route.here, route.there)]:
            done.result()
    for qm in (route.here, route.there):
        qm.start()
    for way in (there, back):
        way.limit_end_wait()
    for way in (there, back):
        way.until("RUNNING").settled()
        assert way.there.depth(way.target) == 200
