"""Channel limits of running queue managers, and partners that connect again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.server.channels.support.channel_bench import ASKED, IN, OUT, QUEUE, ChannelBench, channel_bench, types
from tests.server.channels.support.channel_proxy import Proxy
from tests.server.channels.support.channel_routes import Route, Routes, eventually, queue_managers
from tests.world.hostile_channels import PARTNER, confirm, hello, message

import ostler
from ostler.channel import states
from ostler.channel.sync_records import RECEIVING
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.pcf import Integer, PcfMessage, String, decode
from ostler.server.channels.limits import ChannelCounts, ChannelLimits, McaAdoption
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.testing import RunningQueueManager
from ostler.wire import frames as wire
from ostler.wire.channel_frames import REQUESTS, hello_frame, welcome_frame

EVENTS = "SYSTEM.ADMIN.CHANNEL.EVENT"
MANY = 999_999_999
LIMITS = (mq.MQRC_CHANNEL_NOT_ACTIVATED, mq.MQRC_CHANNEL_ACTIVATED, mq.MQRC_CHANNEL_NOT_AVAILABLE)
ADDRESSES = ("ADDRESS", "QM", "NAME")


@pytest.fixture(scope="module")
def pair() -> Iterator[list[RunningQueueManager]]:
    with queue_managers("NARROW", "WIDE") as made:
        for each in made:
            each.mqsc("ALTER QMGR CHLEV(EXCEPTION)")
        yield made


@pytest.fixture
def route(pair: list[RunningQueueManager]) -> Iterator[Routes]:
    for qm in pair:
        eventually(partial(is_calm, qm))
        qm.mqsc(f"CLEAR QLOCAL({EVENTS})")
    routes = Routes(*pair)
    yield routes
    for qm in pair:
        qm.server.channels.capacity.limits = ChannelLimits(MANY, MANY)
        qm.server.channels.capacity.adoption = McaAdoption(["ALL"], ["ALL"])
    routes.close()


def census(qm: RunningQueueManager) -> ChannelCounts:
    with qm.manager.lock:
        return qm.server.channels.capacity.channel_counts()


def is_calm(qm: RunningQueueManager) -> bool:
    return census(qm) == (0, 0)


def limit(qm: RunningQueueManager, channels: int, active: int) -> None:
    """What MaxChannels and MaxActiveChannels would be after a restart."""
    with qm.manager.lock:
        qm.server.channels.capacity.limits = ChannelLimits(channels, active)


def told(qm: RunningQueueManager) -> list[PcfMessage]:
    """The events about limits so far, which are taken off their queue."""
    found: list[PcfMessage] = []
    while (got := qm.get(EVENTS)) is not None:
        found.append(decode(got.data))
    return [each for each in found if each.header.reason in LIMITS]


def parts(event: PcfMessage) -> dict[int, int | str]:
    return {
        each.parameter: each.value.strip() if isinstance(each, String) else each.value
        for each in event.parameters
        if isinstance(each, (Integer, String))
    }


def noted(way: Route, where: RunningQueueManager, part: str) -> str:
    """The whole note about a channel that has something in it."""
    way.until_noted(part, where)
    return next(note for note in where.manager.notices if part in note and way.channel in note)


# -- MaxActiveChannels -------------------------------------------------------------------------------------------------


def test_a_sender_waits_for_its_place_and_says_so(route: Routes) -> None:
    first, second = route(), route()
    limit(route.here, MANY, 1)
    second.put(b"patient")
    first.run()
    second.start().until("STARTING")
    assert "MaxActiveChannels" in noted(second, route.here, "AMQ9513W")
    assert "MCASTAT(STOPPED)" in "".join(route.here.mqsc(f"DISPLAY CHSTATUS({second.channel}) ALL")).replace(" ", "")
    assert "AMQ9514E" in second.refused("START CHANNEL({})")
    (waits,) = told(route.here)
    first.stop("STATUS(INACTIVE)")
    second.until("RUNNING")
    assert second.get().data == b"patient"
    (goes_on,) = told(route.here)
    assert [waits.header.reason, goes_on.header.reason] == [2296, 2295]
    for event in (waits, goes_on):
        assert parts(event) == {
            mq.MQCA_Q_MGR_NAME: "NARROW",
            mq.MQCACH_CHANNEL_NAME: second.channel,
            mq.MQCACH_XMIT_Q_NAME: second.transmission,
            mq.MQCACH_CONNECTION_NAME: f"127.0.0.1({route.there.port})",
        }


def test_who_waits_is_served_in_order_unless_stopped(route: Routes) -> None:
    ways = [route() for _ in range(4)]
    limit(route.here, MANY, 1)
    ways[0].run()
    for way in ways[1:]:
        way.start().until("STARTING")
    ways[1].stop()
    ways[1].until("STOPPED")
    ways[0].stop("MODE(FORCE)")
    ways[2].until("RUNNING")
    assert [way.state() for way in ways] == ["STOPPED", "STOPPED", "RUNNING", "STARTING"]
    ways[2].stop("STATUS(INACTIVE)")
    ways[3].until("RUNNING")


def test_nobody_overtakes_those_who_wait(route: Routes) -> None:
    first, second, third = route(), route(), route()
    limit(route.here, MANY, 1)
    first.run()
    second.start().until("STARTING")
    limit(route.here, MANY, 2)
    third.start()
    second.until("RUNNING")
    assert third.state() == "STARTING"


def test_who_has_no_connection_leaves_a_place_too(route: Routes) -> None:
    first, asks = route(), route(kinds=("SDR", "RQSTR"))
    waits = route(here=route.there, there=route.here)
    limit(route.here, MANY, 1)
    first.run()
    route.there.mqsc(f"START CHANNEL({asks.channel})")
    asks.until("REQUESTING", route.there)
    limit(route.here, MANY, MANY)
    limit(route.there, MANY, 2)
    waits.start().until("STARTING")
    asks.stop("STATUS(INACTIVE)", route.there)
    waits.until("RUNNING")


def test_who_is_called_takes_no_place_of_those_who_wait(route: Routes) -> None:
    """A channel that tries to connect is active, one that waits to try again is not."""
    with Proxy(1) as nobody:  # who connects is let go at once
        first, second = route("SHORTRTY(9) SHORTTMR(3600)", port=nobody.port), route()
        limit(route.here, MANY, 1)
        first.start().until("RETRYING")
        second.run()
        assert census(route.here) == (2, 1)
        retrying = route.here.server.channels.outbound_instances[first.channel].timer
        assert retrying is not None
        route.here.server.reactor.post(partial(retrying.fire, 0))
        first.until("STARTING")
        second.stop("STATUS(INACTIVE)")
        first.until("RETRYING")
        assert [each.header.reason for each in told(route.here)] == [2296, 2295]


def test_a_caller_does_not_wait_but_is_refused(route: Routes) -> None:
    first, second = route(), route("SHORTRTY(9) SHORTTMR(3600)")
    limit(route.there, MANY, 1)
    first.run()
    second.start().until("RETRYING")
    assert "AMQ9513E: The partner reports: Maximum number of channels reached" in noted(second, route.here, "AMQ9513E")
    assert "MaxActiveChannels" in noted(second, route.there, "AMQ9513E")
    (event,) = told(route.there)
    assert event.header.reason == mq.MQRC_CHANNEL_NOT_AVAILABLE
    assert parts(event) == {
        mq.MQCA_Q_MGR_NAME: "WIDE",
        mq.MQIACF_REASON_QUALIFIER: mq.MQRQ_MAX_ACTIVE_CHANNELS,
        mq.MQCACH_CHANNEL_NAME: second.channel,
        mq.MQCACH_CONNECTION_NAME: "127.0.0.1",
        mq.MQIA_ACTIVE_CHANNELS: 1,
    }
    first.stop("STATUS(INACTIVE)")
    eventually(lambda: is_calm(route.there))
    second.run()


def test_a_requester_does_not_wait_either(route: Routes) -> None:
    first, second = route(), route(kinds=("SVR", "RQSTR"))
    limit(route.there, MANY, 1)
    first.run()
    assert "AMQ9513E" in second.refused("START CHANNEL({})", route.there)
    limit(route.there, MANY, MANY)
    limit(route.here, MANY, 1)
    route.there.mqsc(f"START CHANNEL({second.channel})")
    assert "AMQ9513E" in second.until_noted("The partner reports", route.there)
    assert second.state(route.there) == "INACTIVE"
    first.stop("STATUS(INACTIVE)")
    eventually(lambda: is_calm(route.here))
    route.there.mqsc(f"START CHANNEL({second.channel})")
    second.until("RUNNING")


def test_who_is_asked_to_call_back_waits(route: Routes) -> None:
    first, second = route(), route(kinds=("SDR", "RQSTR"))
    limit(route.here, MANY, 1)
    first.run()
    route.there.mqsc(f"START CHANNEL({second.channel})")
    second.until("STARTING").until("REQUESTING", route.there)
    limit(route.there, MANY, census(route.there).active)  # it is one of them, and makes way for itself
    first.stop("STATUS(INACTIVE)")
    second.until("RUNNING").until("RUNNING", route.there)


# -- MaxChannels -------------------------------------------------------------------------------------------------------


def test_no_channel_is_started_beyond_the_limit(route: Routes) -> None:
    first, second = route(), route()
    limit(route.here, 1, 1)
    first.run()
    assert "AMQ9513E" in second.refused("START CHANNEL({})")
    assert second.state() == "INACTIVE"
    first.stop()
    first.until("STOPPED")
    assert "MaxChannels" in second.refused("START CHANNEL({})"), "who is stopped is current"
    first.run()  # it has the place already
    first.stop("STATUS(INACTIVE)")
    first.until("INACTIVE")
    second.run()
    assert told(route.here) == [], "nobody waits for what is refused"


def test_triggers_start_nothing_beyond_the_limit(route: Routes) -> None:
    first, second = route(), route()
    route.here.mqsc(
        f"ALTER QLOCAL({second.transmission}) TRIGGER TRIGTYPE(FIRST) INITQ(SYSTEM.CHANNEL.INITQ) "
        f"TRIGDATA({second.channel})"
    )
    limit(route.here, 1, 1)
    first.run()
    second.put(b"triggers")
    assert "AMQ9513E" in second.until_noted("could not be started by its trigger")
    first.stop("STATUS(INACTIVE)")
    first.until("INACTIVE")
    second.run()
    assert second.get().data == b"triggers"


def test_callers_are_refused_beyond_the_limit(route: Routes) -> None:
    first, second = route(), route("SHORTRTY(9) SHORTTMR(3600)")
    limit(route.there, 1, 1)
    route.there.mqsc(f"STOP CHANNEL({first.channel})")
    assert census(route.there) == (1, 0)
    second.start().until("RETRYING")
    assert "raise MaxChannels" in noted(second, route.there, "AMQ9513E")
    (event,) = told(route.there)
    assert parts(event)[mq.MQIACF_REASON_QUALIFIER] == mq.MQRQ_MAX_CHANNELS
    assert parts(event)[mq.MQIA_MAX_CHANNELS] == 1
    route.there.mqsc(f"START CHANNEL({first.channel})")
    second.run()


def test_clients_and_channels_are_counted_together(route: Routes) -> None:
    way, qm = route(), route.here
    limit(qm, 2, 1)
    connect = partial(ostler.connect, qm.name, qm.connection_name, channel=qm.channel)
    with connect():
        assert census(qm) == (1, 1)
        with pytest.raises(MQError) as refused:
            connect()
        assert refused.value.reason == mq.MQRC_CHANNEL_NOT_AVAILABLE
        way.start().until("STARTING")
        with pytest.raises(MQError) as refused:
            connect()
    way.until("RUNNING")  # the client has gone
    reasons = [(each.header.reason, parts(each).get(mq.MQIACF_REASON_QUALIFIER)) for each in told(qm)]
    assert reasons == [
        (mq.MQRC_CHANNEL_NOT_AVAILABLE, mq.MQRQ_MAX_ACTIVE_CHANNELS),
        (mq.MQRC_CHANNEL_NOT_ACTIVATED, None),
        (mq.MQRC_CHANNEL_NOT_AVAILABLE, mq.MQRQ_MAX_CHANNELS),
        (mq.MQRC_CHANNEL_ACTIVATED, None),
    ]
    with qm.connect():  # not by a channel
        assert census(qm) == (1, 1)


@pytest.mark.parametrize(
    ("attribute", "qualifier", "parameter"),
    [
        ("MAXINST", mq.MQRQ_SVRCONN_INST_LIMIT, mq.MQIACH_MAX_INSTANCES),
        ("MAXINSTC", mq.MQRQ_CLIENT_INST_LIMIT, mq.MQIACH_MAX_INSTS_PER_CLIENT),
    ],
)
def test_limits_of_a_clients_channel_are_events_too(
    route: Routes, attribute: str, qualifier: int, parameter: int
) -> None:
    qm = route.here
    qm.mqsc(f"DEFINE CHANNEL(FEW.{attribute}) CHLTYPE(SVRCONN) {attribute}(0)")
    with pytest.raises(MQError, match=attribute):
        ostler.connect(qm.name, qm.connection_name, channel=f"FEW.{attribute}")
    (event,) = told(qm)
    assert parts(event)[mq.MQIACF_REASON_QUALIFIER] == qualifier
    assert parts(event)[parameter] == 0


def test_stopped_channels_of_clients_are_current(route: Routes) -> None:
    qm = route.here
    qm.mqsc(f"STOP CHANNEL({qm.channel})")
    assert census(qm) == (1, 0)
    qm.mqsc(f"START CHANNEL({qm.channel})")
    assert census(qm) == (0, 0)


def test_the_file_says_how_many(tmp_path: Path) -> None:
    with ostler.testing.queue_manager("COUNTED", data=tmp_path) as qm:
        path = qm.manager.directory.ini
        ini = QueueManagerIni.read(path)
        for word, value in (("MaxChannels", "5"), ("MaxActiveChannels", "4"), ("AdoptNewMCA", "SDR")):
            ini.set_value("Channels", word, value)
        qm.end()
        ini.write(path)
        qm.start()
        places = qm.server.channels.capacity
        assert (places.limits.channels_max, places.limits.active_max) == (5, 4)
        assert places.adoption.refusal_reason("SDR", True, True) == ""
        assert places.adoption.refusal_reason("RCVR", True, True)


# -- AdoptNewMCA -------------------------------------------------------------------------------------------------------


def adopt(qm: RunningQueueManager, kinds: str, checks: tuple[str, ...] = ADDRESSES) -> None:
    with qm.manager.lock:
        qm.server.channels.capacity.adoption = McaAdoption(kinds.split(","), checks)


@pytest.mark.parametrize("kinds", ["NO", "SVR,SDR,CLUSRCVR", "FASTPATH"])
def test_a_partner_is_refused_until_its_old_connection_ends(route: Routes, kinds: str) -> None:
    with Proxy(route.there.port) as proxy:
        way = route("SHORTRTY(9) SHORTTMR(3600)", port=proxy.port).run()
        adopt(route.there, kinds)
        proxy.abandon()
        way.until("RETRYING")
        way.put(b"once")
        way.start()
        refusal = noted(way, route.there, "AMQ9514E")
        assert f"AdoptNewMCA={','.join(sorted(kinds.split(',')))}" in refusal
        assert "STATUS(INACTIVE)" in refusal
        assert "The partner reports" in noted(way, route.here, "AMQ9514E")
        way.until("RETRYING")
        assert way.state(way.there) == "RUNNING"
        way.stop("MODE(FORCE) STATUS(INACTIVE)", route.there)
        way.run()
        assert way.get().data == b"once"


def test_who_comes_again_needs_no_place_of_its_own(route: Routes) -> None:
    with Proxy(route.there.port) as proxy:
        way = route("SHORTRTY(9) SHORTTMR(3600)", port=proxy.port).run()
        limit(route.there, 1, 1)
        proxy.abandon()
        way.until("RETRYING")
        way.put(b"again")
        way.limit_end_wait()
        assert way.get().data == b"again"
        assert "AMQ9543I" in way.notes(way.there)


def test_a_requester_that_comes_again_has_lost_its_connection(route: Routes) -> None:
    """The server has no word of the cut; what it has sent and nobody confirmed is sent again, once."""
    with Proxy(route.here.port) as proxy:
        way = route("", f"CONNAME('127.0.0.1({proxy.port})')", kinds=("SVR", "RQSTR"))
        ask = f"START CHANNEL({way.channel})"
        route.there.mqsc(ask)
        way.until("RUNNING").until("RUNNING", route.there)
        proxy.abandon()
        way.until("INACTIVE", route.there)
        assert way.state() == "RUNNING"
        way.put(b"1", b"2")
        limit(route.here, 1, 1)
        route.there.mqsc(ask)
        assert way.bodies(2) == [b"1", b"2"]
        way.settled()
        assert route.there.depth(way.target) == 0
        assert "AMQ9543I" in way.notes()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[ChannelBench]:
    with channel_bench(tmp_path) as made:
        yield made


@pytest.mark.parametrize(("checks", "adopts"), [(("QM",), True), (("NAME", "QM"), True), (("ADDRESS",), False)])
def test_whether_the_address_counts_is_for_the_file_to_say(
    bench: ChannelBench, checks: tuple[str, ...], adopts: bool
) -> None:
    bench.server.channels.capacity.adoption = McaAdoption(["RCVR"], checks)
    ours, _, _ = bench.channel()
    theirs, _ = bench.stranger("192.0.2.1(9)")
    answers, closed = bench.say(theirs, hello_frame(hello(IN)))
    assert closed != adopts
    assert (b"AMQ9514E" in answers[0][1]) != adopts
    assert bench.say(ours)[1] == adopts
    used = theirs if adopts else ours
    assert types(bench.say(used, message(QUEUE), confirm())[0]) == [wire.CHANNEL_CONFIRM | 128]
    assert bench.server.channels.records.find(RECEIVING, IN, PARTNER).sequence == 1
    bench.leave(ours, theirs)


@pytest.mark.parametrize(("address", "adopts"), [("127.0.0.1(9)", True), ("192.0.2.1(9)", False)])
def test_a_server_is_taken_over_by_its_own_requester_alone(bench: ChannelBench, address: str, adopts: bool) -> None:
    asks = hello_frame(hello(ASKED, purpose=REQUESTS))
    ours, _ = bench.stranger()
    bench.say(ours, asks)
    theirs, _ = bench.stranger(address)
    answers, closed = bench.say(theirs, asks)
    assert closed != adopts
    assert answers
    bench.leave(ours, theirs)


@pytest.mark.parametrize(("kinds", "adopts"), [("ALL", True), ("SDR", True), ("RCVR,SVR", False)])
def test_a_sender_calls_its_requester_again(bench: ChannelBench, kinds: str, adopts: bool) -> None:
    channels = bench.server.channels
    channels.capacity.adoption = McaAdoption(kinds.split(","), ADDRESSES)
    ours = bench.call(OUT)
    bench.say(ours, welcome_frame(1, hello(OUT)))
    assert channels.outbound_instances[OUT].state == states.RUNNING
    theirs, _ = bench.stranger()
    answers, _ = bench.say(theirs, hello_frame(hello(OUT, purpose=REQUESTS)))
    assert types(answers) == [wire.CHANNEL_END if adopts else wire.CHANNEL_HELLO | 128]
    assert bench.say(ours)[1] == adopts
    after = (states.INITIALIZING, states.BINDING) if adopts else (states.RUNNING,)
    assert channels.outbound_instances[OUT].state in after
    bench.leave(ours, theirs)
    bench.calm(OUT)
