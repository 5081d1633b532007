"""START, STOP, PING, RESET and RESOLVE CHANNEL, retries, and operator messages."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from tests.server.channels.support.channel_proxy import BACK, FORWARD, Proxy
from tests.server.channels.support.channel_routes import Route, Routes, eventually

from ostler.model import constants as mq
from ostler.model.pcf import Integer, PcfMessage, String, decode
from ostler.testing import RunningQueueManager
from ostler.wire.frames import CHANNEL_CONFIRM, REPLY

EVENTS = "SYSTEM.ADMIN.CHANNEL.EVENT"
NO_RETRIES = "SHORTRTY(0) LONGRTY(0)"


@pytest.fixture
def proxy(pair: list[RunningQueueManager]) -> Iterator[Proxy]:
    with Proxy(pair[1].port) as made:
        yield made


def dead_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# -- start and stop ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["QUIESCE", "FORCE", "TERMINATE"])
def test_a_channel_is_stopped_and_started(route: Routes, mode: str) -> None:
    way = route().run()
    way.put(b"before")
    way.get()
    way.stop(f"MODE({mode})")
    way.until("STOPPED").until("INACTIVE", way.there)
    way.put(b"meanwhile")
    assert way.here.depth(way.transmission) == 1
    way.start()
    assert way.get().data == b"meanwhile"


def test_a_channel_may_be_inactive_after_it_was_stopped(route: Routes) -> None:
    way = route().run()
    way.stop("STATUS(INACTIVE)")
    way.until("INACTIVE").until("INACTIVE", way.there)
    assert way.status() is None
    # Stopped or not: that is what triggers ask for.
    way.stop()
    way.until("STOPPED")
    way.stop("STATUS(INACTIVE)")
    way.until("INACTIVE")


def test_what_does_not_run_can_be_stopped(route: Routes) -> None:
    way = route()
    way.stop()
    assert way.state() == "STOPPED"
    way.stop()
    assert way.state() == "STOPPED"
    assert "AMQ9533W" in way.refused("STOP CHANNEL({}) STATUS(INACTIVE)", way.there)


def test_messages_of_the_batch_go_before_it_stops(route: Routes) -> None:
    way = route("BATCHINT(60000)").run()
    way.put(b"1", b"2")
    eventually(lambda: way.chstatus().current_messages == 2)
    eventually(lambda: way.there.depth(way.target) == 2)
    way.stop()
    way.until("STOPPED")
    assert way.bodies(2) == [b"1", b"2"]
    assert way.is_empty()
    assert way.saved().last_sequence == 2


def test_who_is_forced_to_stop_has_the_rest_later(route: Routes) -> None:
    way = route("BATCHINT(60000)").run()
    way.put(b"1", b"2")
    eventually(lambda: way.chstatus().current_messages == 2)
    way.stop("MODE(FORCE)")
    way.until("STOPPED").until("INACTIVE", way.there)
    assert way.here.depth(way.transmission) == 2
    assert way.there.depth(way.target) == 0
    way.alter("BATCHINT(0)")
    way.start()
    assert way.bodies(2) == [b"1", b"2"]


def test_a_running_channel_cannot_be_started(route: Routes) -> None:
    way = route().run()
    assert "AMQ9514E" in way.refused("START CHANNEL({})")
    assert "not found" in way.refused("START CHANNEL({}X)")


def test_two_channels_cannot_have_the_same_transmission_queue(route: Routes) -> None:
    first = route().run()
    second = route(NO_RETRIES)
    second.alter(f"XMITQ({first.transmission})")
    second.start().until("STOPPED")
    assert "open for input" in second.until_noted("AMQ9509E")


def test_a_transmission_queue_must_be_one(route: Routes) -> None:
    way = route()
    way.here.mqsc(f"DEFINE QLOCAL({way.channel}.PLAIN)")
    way.alter(f"XMITQ({way.channel}.PLAIN)")
    way.start().until("STOPPED")
    assert "USAGE(XMITQ)" in way.until_noted("AMQ9509E")


# -- the receiving end -------------------------------------------------------------------------------------------------


def test_a_stopped_receiver_keeps_its_sender_trying(route: Routes) -> None:
    way = route("SHORTRTY(100) SHORTTMR(1)").run()
    way.stop(where=way.there)
    way.until("STOPPED", way.there)
    way.until("RETRYING")
    way.put(b"waits")
    way.until_noted("AMQ9558E")
    way.limit_end_wait()
    way.until_noted("is stopped at FAR")
    way.there.mqsc(f"START CHANNEL({way.channel})")
    way.until("RUNNING")
    assert way.get().data == b"waits"


def test_a_receiver_may_be_stopped_for_now(route: Routes) -> None:
    way = route("SHORTRTY(100) SHORTTMR(1)").run()
    way.stop("STATUS(INACTIVE)", way.there)
    way.until("RETRYING").until("RUNNING").until("RUNNING", way.there)


@pytest.mark.parametrize("mode", ["FORCE", "TERMINATE"])
def test_a_receiver_is_stopped_at_once(route: Routes, mode: str) -> None:
    way = route("SHORTRTY(100) SHORTTMR(1) BATCHINT(60000)").run()
    way.put(b"under way")
    eventually(lambda: way.chstatus(way.there).messages == 1)
    way.stop(f"MODE({mode})", way.there)
    way.until("STOPPED", way.there).until("RETRYING")
    assert way.there.depth(way.target) == 0
    way.alter("BATCHINT(0)")
    way.there.mqsc(f"START CHANNEL({way.channel})")
    way.limit_end_wait()
    assert way.get().data == b"under way"


def test_one_of_several_partners_is_stopped(route: Routes) -> None:
    way = route().run()
    assert "AMQ9533W" in way.refused("STOP CHANNEL({}) QMNAME(OTHERS) STATUS(INACTIVE)", way.there)
    way.stop("QMNAME(NEAR) STATUS(INACTIVE)", way.there)
    way.until("INACTIVE", way.there).until("RETRYING")
    way.run()
    way.stop("CONNAME('127.0.0.1') STATUS(INACTIVE)", way.there)
    way.until("INACTIVE", way.there).until("RETRYING")


# -- retries -----------------------------------------------------------------------------------------------------------


def test_retries_are_used_up(route: Routes) -> None:
    way = route(f"CONNAME('127.0.0.1({dead_port()})') SHORTRTY(2) SHORTTMR(0) LONGRTY(1) LONGTMR(0)")
    way.put(b"kept")
    way.start().until("STOPPED")
    chstatus = way.chstatus()
    assert (chstatus.short_retries_left, chstatus.long_retries_left) == (0, 0)
    note = way.until_noted("no retries left")
    assert "AMQ9202E" in note
    assert "START CHANNEL" in note
    assert way.here.depth(way.transmission) == 1


def test_retries_are_used_up_by_a_channel_that_once_ran(route: Routes) -> None:
    with Proxy(route.there.port) as proxy:
        way = route("SHORTRTY(2) SHORTTMR(0) LONGRTY(1) LONGTMR(0)", port=proxy.port).run()
        with way.here.manager.lock:
            way.here.server.channels.outbound_instances[way.channel].started_ms -= 3_600_000
    way.until("STOPPED")
    assert "no retries left" in way.notes()


def test_a_partner_that_comes_back_is_found(route: Routes) -> None:
    port = dead_port()
    way = route(f"CONNAME('127.0.0.1({port})') SHORTRTY(1000) SHORTTMR(1)")
    way.put(b"late")
    way.start().until("RETRYING")
    assert "RETRYING" in "\n".join(way.here.mqsc(f"DISPLAY CHSTATUS({way.channel}) SHORTRTS LONGRTS"))
    way.there.mqsc(
        f"DEFINE LISTENER({way.channel}) TRPTYPE(TCP) IPADDR(127.0.0.1) PORT({port})\nSTART LISTENER({way.channel})"
    )
    assert way.get().data == b"late"
    way.there.mqsc(f"STOP LISTENER({way.channel})")


def test_who_retries_can_be_stopped_or_started_at_once(route: Routes) -> None:
    way = route(f"CONNAME('127.0.0.1({dead_port()})') SHORTRTY(1) SHORTTMR(3600)")
    way.start().until("RETRYING")
    way.stop()
    way.until("STOPPED")
    way.start().until("RETRYING")
    way.alter(f"CONNAME('127.0.0.1({way.there.port})')")
    way.run()


# -- ping --------------------------------------------------------------------------------------------------------------


def test_a_partner_is_pinged(route: Routes) -> None:
    way = route()
    way.here.mqsc(f"PING CHANNEL({way.channel})")
    way.here.mqsc(f"PING CHANNEL({way.channel}) DATALEN(32768)")
    assert way.state() == "INACTIVE"
    way.run()
    assert "AMQ9514E" in way.refused("PING CHANNEL({})")


def test_pings_that_find_nobody(route: Routes) -> None:
    way = route(f"CONNAME('127.0.0.1({dead_port()})')")
    assert "refused" in way.refused("PING CHANNEL({})").lower()
    way = route()
    way.there.mqsc(f"DELETE CHANNEL({way.channel})")
    answer = way.refused("PING CHANNEL({})")
    assert "AMQ9520E" in answer
    assert way.channel in answer
    way.there.mqsc(f"DEFINE CHANNEL({way.channel}) CHLTYPE(SDR) CONNAME(X) XMITQ(X)")
    assert "AMQ9547E" in way.refused("PING CHANNEL({})")


def test_a_stopped_receiver_is_not_pinged(route: Routes) -> None:
    way = route()
    way.stop(where=way.there)
    assert "AMQ9558E" in way.refused("PING CHANNEL({})")


def test_a_ping_does_not_hide_what_keeps_a_channel_from_running(route: Routes) -> None:
    way = route("SEQWRAP(100)", "SEQWRAP(101)")
    assert "AMQ9505E" in way.refused("PING CHANNEL({})")


# -- wrong partners ----------------------------------------------------------------------------------------------------


def test_the_channel_is_not_known_there(route: Routes) -> None:
    way = route("SHORTRTY(5) SHORTTMR(3600)")
    way.there.mqsc(f"DELETE CHANNEL({way.channel})")
    way.start().until("STOPPED")
    note = way.until_noted("AMQ9520E")
    assert "not defined at the partner" in note
    assert "AMQ9519E" in way.until_noted("AMQ9519E", way.there)
    way.there.mqsc(f"DEFINE CHANNEL({way.channel}) CHLTYPE(RCVR)")
    way.run()


@pytest.mark.parametrize("kind", ["SDR CONNAME(X) XMITQ(X)", "SVR XMITQ(X)"])
def test_the_channel_is_of_another_type_there(route: Routes, kind: str) -> None:
    way = route()
    word, _, rest = kind.partition(" ")
    way.there.mqsc(f"DELETE CHANNEL({way.channel})\nDEFINE CHANNEL({way.channel}) CHLTYPE({word}) {rest}")
    way.start().until("STOPPED")
    assert f"is {word} at FAR" in way.until_noted("AMQ9547E")
    assert f"is {word} at FAR" in way.until_noted("AMQ9547E", way.there)


def test_a_channel_of_clients_is_none_of_queue_managers(route: Routes) -> None:
    way = route()
    way.there.mqsc(f"DELETE CHANNEL({way.channel})\nDEFINE CHANNEL({way.channel}) CHLTYPE(SVRCONN)")
    way.start().until("STOPPED")
    assert "is not a message channel" in way.until_noted("AMQ9519E", way.there)


# -- sequence numbers --------------------------------------------------------------------------------------------------


def test_the_sender_counts_anew_and_takes_its_receiver_along(route: Routes) -> None:
    way = route().run()
    way.put(b"1", b"2", b"3")
    way.bodies(3)
    way.settled()
    assert "AMQ9514E" in way.refused("RESET CHANNEL({})")
    way.stop("STATUS(INACTIVE)")
    way.until("INACTIVE")
    way.here.mqsc(f"RESET CHANNEL({way.channel}) SEQNUM(70)")
    way.run()
    way.put(b"4")
    assert way.get().data == b"4"
    way.settled()
    assert way.chstatus().last_sequence == 70
    assert way.saved(way.there).last_sequence == 70


def test_a_receiver_that_counts_otherwise_stops_the_channel(route: Routes) -> None:
    way = route().run()
    way.put(b"1")
    way.get()
    way.settled().stop("STATUS(INACTIVE)")
    way.until("INACTIVE").until("INACTIVE", way.there)
    way.there.mqsc(f"RESET CHANNEL({way.channel}) SEQNUM(7)")
    way.start().until("STOPPED")
    note = way.until_noted("AMQ9526E")
    assert "FAR has 6, NEAR 1" in note
    assert f"RESET CHANNEL({way.channel})" in note
    way.here.mqsc(f"RESET CHANNEL({way.channel})")
    way.run()
    way.put(b"2")
    assert way.get().data == b"2"
    way.settled()
    assert way.saved(way.there).last_sequence == 1


# -- in doubt ----------------------------------------------------------------------------------------------------------


def in_doubt(route: Routes, proxy: Proxy, arrived: bool) -> Route:
    """A stopped channel that does not know whether its partner has a message."""
    way = route(NO_RETRIES, port=proxy.port).run()
    if arrived:
        proxy.cut_at(BACK, CHANNEL_CONFIRM | REPLY)
    else:
        proxy.cut_at(FORWARD, CHANNEL_CONFIRM)
    way.put(b"which")
    way.until("STOPPED").until("INACTIVE", way.there)
    assert way.chstatus().in_doubt
    assert "INDOUBT(YES)" in "\n".join(way.here.mqsc(f"DISPLAY CHSTATUS({way.channel}) INDOUBT"))
    assert way.there.depth(way.target) == (1 if arrived else 0)
    return way


@pytest.mark.parametrize("arrived", [True, False])
def test_what_is_in_doubt_is_settled_by_the_next_start(route: Routes, proxy: Proxy, arrived: bool) -> None:
    way = in_doubt(route, proxy, arrived)
    way.run()
    assert way.get().data == b"which"
    way.settled()
    assert not way.chstatus().in_doubt
    assert way.there.depth(way.target) == 0
    assert way.saved().last_luwid == way.saved(way.there).last_luwid != bytes(8)


@pytest.mark.parametrize("arrived", [True, False])
def test_what_is_in_doubt_is_settled_by_an_operator(route: Routes, proxy: Proxy, arrived: bool) -> None:
    way = in_doubt(route, proxy, arrived)
    assert "in doubt" in way.refused("RESET CHANNEL({})")
    assert "doubt" in way.refused("DELETE CHANNEL({})")
    way.here.mqsc(f"RESOLVE CHANNEL({way.channel}) ACTION({'COMMIT' if arrived else 'BACKOUT'})")
    assert not way.chstatus().in_doubt
    assert way.here.depth(way.transmission) == (0 if arrived else 1)
    assert "not in doubt" in way.refused("RESOLVE CHANNEL({}) ACTION(COMMIT)")
    way.run()
    assert way.get().data == b"which"
    way.put(b"next")
    assert way.get().data == b"next"
    way.settled()
    assert way.there.depth(way.target) == 0


def test_an_operator_who_errs_has_to_say_so(route: Routes, proxy: Proxy) -> None:
    """Backed out here, though it has arrived there: the numbers do not fit any more."""
    way = in_doubt(route, proxy, True)
    way.here.mqsc(f"RESOLVE CHANNEL({way.channel}) ACTION(BACKOUT)")
    way.start().until("STOPPED")
    assert "AMQ9526E" in way.until_noted("AMQ9526E")
    way.here.mqsc(f"RESET CHANNEL({way.channel})")
    way.run()
    assert way.bodies(2) == [b"which", b"which"]


def test_a_partner_that_was_reset_still_knows_what_it_committed(route: Routes, proxy: Proxy) -> None:
    way = route(NO_RETRIES, port=proxy.port).run()
    way.put(b"known")
    way.get()
    way.settled()
    proxy.cut_at(FORWARD, CHANNEL_CONFIRM)
    way.put(b"which")
    way.until("STOPPED").until("INACTIVE", way.there)
    way.there.mqsc(f"RESET CHANNEL({way.channel}) SEQNUM(1)")
    way.start().until("STOPPED")
    eventually(lambda: "AMQ9526E" in way.notes())
    assert f"RESET CHANNEL({way.channel})" in way.notes()
    assert not way.chstatus().in_doubt
    way.here.mqsc(f"RESET CHANNEL({way.channel})")
    way.run()
    assert way.get().data == b"which"


@pytest.mark.parametrize("frame", [CHANNEL_CONFIRM, CHANNEL_CONFIRM | REPLY])
@pytest.mark.parametrize("lets_through", [True, False])
def test_cuts_lose_nothing_and_double_nothing(route: Routes, proxy: Proxy, frame: int, lets_through: bool) -> None:
    way = route("SHORTRTY(100) SHORTTMR(0) BATCHSZ(3)", port=proxy.port).run()
    sent = [b"%d" % number for number in range(30)]
    direction = BACK if frame & REPLY else FORWARD
    for start in range(0, 30, 10):
        proxy.cut_at(direction, frame, lets_through)
        way.put(*sent[start : start + 10])
        eventually(lambda: proxy.cuts == start // 10 + 1)  # noqa: B023
    assert way.bodies(30) == sent
    way.settled()
    assert way.there.depth(way.target) == 0


# -- definitions of channels that run ----------------------------------------------------------------------------------


def test_a_running_channel_is_not_deleted(route: Routes) -> None:
    way = route().run()
    assert "in use" in way.refused("DELETE CHANNEL({})")
    assert "in use" in way.refused("DELETE CHANNEL({})", way.there)
    way.stop("STATUS(INACTIVE)")
    way.until("INACTIVE").until("INACTIVE", way.there)
    way.here.mqsc(f"DELETE CHANNEL({way.channel})")
    way.there.mqsc(f"DELETE CHANNEL({way.channel})")


def test_changes_count_from_the_next_start(route: Routes) -> None:
    way = route().run()
    way.alter("BATCHSZ(3)")
    assert way.chstatus().batch_size == 50
    way.put(b"goes on")
    assert way.get().data == b"goes on"
    way.stop()
    way.until("STOPPED")
    way.run()
    assert way.chstatus().batch_size == 3


def test_nothing_is_left_of_a_channel_that_is_deleted(route: Routes) -> None:
    way = route(f"CONNAME('127.0.0.1({dead_port()})') SHORTRTY(1) SHORTTMR(3600)")
    way.start().until("RETRYING")
    way.stop()
    way.here.mqsc(f"DELETE CHANNEL({way.channel})")
    assert "not found" in way.refused("START CHANNEL({})")
    assert way.status() is None


# -- figures -----------------------------------------------------------------------------------------------------------


def test_figures_of_both_ends(route: Routes) -> None:
    way = route("BATCHSZ(10)")
    way.put(*[b"x" * 100] * 20)
    way.run()
    way.bodies(20)
    way.settled()
    here, there = way.chstatus(), way.chstatus(way.there)
    assert (here.channel_type, there.channel_type) == ("SDR", "RCVR")
    assert (here.remote_manager, there.remote_manager) == ("FAR", "NEAR")
    assert (here.messages, there.messages) == (20, 20)
    assert (here.batches, there.batches) == (2, 2)
    assert here.last_luwid == there.last_luwid
    assert here.bytes_sent > 2000
    assert there.bytes_received >= here.bytes_sent
    assert here.transmission_queue == way.transmission
    assert here.connection_name == f"127.0.0.1({way.there.port})"
    assert there.connection_name.startswith("127.0.0.1")
    assert min(here.started_ms, there.started_ms, here.last_message_ms, there.last_message_ms) > 0
    status = "\n".join(way.here.mqsc(f"DISPLAY CHSTATUS({way.channel}) ALL"))
    for part in ("MSGS(20)", "BATCHES(2)", "STATUS(RUNNING)", "RQMNAME(FAR)", "INDOUBT(NO)", "CURSEQNO(20)"):
        assert part in status, status
    saved = "\n".join(way.here.mqsc(f"DISPLAY CHSTATUS({way.channel}) SAVED ALL"))
    assert "LSTSEQNO(20)" in saved
    way.stop()
    way.until("STOPPED")
    assert way.saved().last_sequence == 20


def test_nothing_is_saved_of_what_never_ran(route: Routes) -> None:
    way = route()
    assert "AMQ8420I" in way.refused("DISPLAY CHSTATUS({}) SAVED")


# -- events ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def events(pair: list[RunningQueueManager]) -> Iterator[RunningQueueManager]:
    near = pair[0]
    near.mqsc("ALTER QMGR CHLEV(ENABLED)")
    yield near
    near.mqsc("ALTER QMGR CHLEV(DISABLED)")
    near.mqsc(f"CLEAR QLOCAL({EVENTS})")


def told(qm: RunningQueueManager) -> list[PcfMessage]:
    found: list[PcfMessage] = []
    while (message := qm.get(EVENTS)) is not None:
        found.append(decode(message.data))
    return found


def parts(event: PcfMessage) -> dict[int, int | str]:
    return {
        each.parameter: each.value.strip() if isinstance(each, String) else each.value
        for each in event.parameters
        if isinstance(each, (Integer, String))
    }


def test_starts_and_stops_are_events(route: Routes, events: RunningQueueManager) -> None:
    way = route().run()
    (started,) = told(events)
    assert started.header.reason == mq.MQRC_CHANNEL_STARTED
    assert parts(started)[mq.MQCACH_CHANNEL_NAME] == way.channel
    assert parts(started)[mq.MQCACH_XMIT_Q_NAME] == way.transmission
    way.stop()
    way.until("STOPPED")
    reasons = [(each.header.reason, parts(each)[mq.MQIACF_REASON_QUALIFIER]) for each in told(events)]
    assert sorted(reasons) == [
        (mq.MQRC_CHANNEL_STOPPED_BY_USER, mq.MQRQ_CHANNEL_STOPPED_DISABLED),
        (mq.MQRC_CHANNEL_STOPPED, mq.MQRQ_CHANNEL_STOPPED_OK),
    ]


def test_failures_are_events(route: Routes, events: RunningQueueManager, proxy: Proxy) -> None:
    way = route("SHORTRTY(1) SHORTTMR(3600)", port=proxy.port).run()
    told(events)
    events.mqsc("ALTER QMGR CHLEV(EXCEPTION)")
    proxy.cut_at(FORWARD, CHANNEL_CONFIRM)
    way.put(b"cut")
    way.until("RETRYING")
    (stopped,) = told(events)
    assert stopped.header.reason == mq.MQRC_CHANNEL_STOPPED
    assert parts(stopped)[mq.MQIACF_REASON_QUALIFIER] == mq.MQRQ_CHANNEL_STOPPED_RETRY
    way.stop("STATUS(INACTIVE)")
    way.run()
    way.get()
    way.settled()
    told(events)
    way.there.mqsc(f"STOP CHANNEL({way.channel}) MODE(FORCE) STATUS(INACTIVE)")
    way.until("RETRYING")
    (stopped,) = told(events)
    assert parts(stopped)[mq.MQIACF_ERROR_IDENTIFIER] != 0


def test_no_events_are_made_that_nobody_wants(route: Routes, events: RunningQueueManager) -> None:
    events.mqsc("ALTER QMGR CHLEV(DISABLED)")
    way = route().run()
    way.stop()
    way.until("STOPPED")
    assert told(events) == []
