"""The channel initiator: trigger messages start channels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.world.wire_bench import Peer, WireBench, put

from ostler.engine.core import QUIESCING
from ostler.engine.objects import fail_waiting
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.model.structures.headers import MQTM
from ostler.model.structures.md import MQMD
from ostler.server.channels.initiator import DEFAULT_QUEUE, RETRY_MS, ChannelInitiator
from ostler.wire import frames as wire
from ostler.wire.put_get_frames import put_payload


class Started:
    """Takes note of the channels that are to start."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, name: str) -> None:
        self.names.append(name)
        if name.startswith("BAD"):
            raise KeyError(name)


@pytest.fixture
def started() -> Started:
    return Started()


@pytest.fixture
def initiator(wire_bench: WireBench, started: Started) -> Iterator[ChannelInitiator]:
    made = ChannelInitiator(wire_bench.manager, wire_bench.reactor, started)
    yield made
    with wire_bench.manager.lock:
        made.stop()


def start(bench: WireBench, initiator: ChannelInitiator, queue: str = "") -> bool:
    with bench.manager.lock:
        is_new = initiator.start(queue)
    bench.turn(2)
    return is_new


def stop(bench: WireBench, initiator: ChannelInitiator) -> bool:
    with bench.manager.lock:
        return initiator.stop()


def transmission_queue(bench: WireBench, name: str, **attributes: Value) -> None:
    given: dict[str, Value] = {
        "USAGE": mq.MQUS_TRANSMISSION,
        "TRIGGER": mq.MQTC_ON,
        "TRIGTYPE": mq.MQTT_FIRST,
        "INITQ": DEFAULT_QUEUE,
        **attributes,
    }
    bench.define(name, **given)


def channel(bench: WireBench, name: str, queue: str, kind: int = mq.MQCHT_SENDER) -> None:
    given: dict[str, Value] = {"CHLTYPE": kind}
    if kind in (mq.MQCHT_SENDER, mq.MQCHT_SERVER):
        given |= {"XMITQ": queue, "CONNAME": "127.0.0.1(9)"}
    bench.manager.define(new_definition(ObjectType.CHANNEL, name, given))


def alter(bench: WireBench, name: str, **attributes: Value) -> None:
    before = bench.manager.engine.queues[name].definition.attributes
    bench.manager.define(new_definition(ObjectType.QLOCAL, name, {**before, **attributes}), replace=True)
    bench.turn(2)


def writer(bench: WireBench, queue: str) -> Peer:
    """An application that puts on a queue, and does not read it: that would keep it from triggering."""
    peer = bench.peer()
    peer.open(queue, mq.MQOO_OUTPUT)
    return peer


def send(bench: WireBench, peer: Peer, body: bytes = b"x") -> None:
    assert peer.ask(wire.PUT, put(2, body)).completion == 0
    bench.turn(3)


def trigger(*, encoding: int = mq.MQENC_NATIVE, **fields: str) -> bytes:
    """The payload of a PUT of a trigger message."""
    body = MQTM.default()
    for name, text in fields.items():
        MQTM.patch(body, name, text)
    body[4:8] = (1).to_bytes(4, "big" if encoding != mq.MQENC_NATIVE else "little")
    md = MQMD.default(2)
    MQMD.patch(md, "Format", mq.MQFMT_TRIGGER)
    MQMD.patch(md, "Encoding", encoding)
    MQMD.patch(md, "CodedCharSetId", 1208)
    return put_payload(2, 0, 0, bytes(md), b"", bytes(body))


def ask_for(bench: WireBench, peer: Peer, channel: str) -> None:
    assert peer.ask(wire.PUT, trigger(TriggerData=channel)).completion == 0
    bench.turn(3)


def test_a_message_starts_the_channel(wire_bench: WireBench, initiator: ChannelInitiator, started: Started) -> None:
    transmission_queue(wire_bench, "B", TRIGDATA="A.TO.B")
    start(wire_bench, initiator)
    peer = writer(wire_bench, "B")
    assert started.names == []
    send(wire_bench, peer)
    assert started.names == ["A.TO.B"]
    send(wire_bench, peer)
    assert started.names == ["A.TO.B"]  # FIRST


def test_what_lay_there_before(wire_bench: WireBench, initiator: ChannelInitiator, started: Started) -> None:
    for name in ("B", "C", "D"):
        transmission_queue(wire_bench, name, TRIGDATA=f"A.TO.{name}")
    for name in ("B", "D"):
        send(wire_bench, writer(wire_bench, name))
    assert started.names == []
    start(wire_bench, initiator)
    assert sorted(started.names) == ["A.TO.B", "A.TO.D"]


def test_the_process_names_the_channel(wire_bench: WireBench, initiator: ChannelInitiator, started: Started) -> None:
    process = new_definition(ObjectType.PROCESS, "CALL", {"USERDATA": "A.TO.C"})
    wire_bench.manager.define(process)
    transmission_queue(wire_bench, "C", PROCESS="CALL")
    start(wire_bench, initiator)
    send(wire_bench, writer(wire_bench, "C"))
    assert started.names == ["A.TO.C"]


def test_trigger_data_counts_before_user_data(
    wire_bench: WireBench, initiator: ChannelInitiator, started: Started
) -> None:
    start(wire_bench, initiator)
    peer = writer(wire_bench, DEFAULT_QUEUE)
    assert peer.ask(wire.PUT, trigger(TriggerData="FIRST", UserData="SECOND")).completion == 0
    wire_bench.turn(2)
    assert started.names == ["FIRST"]


def test_the_definitions_name_the_channel(wire_bench: WireBench, initiator: ChannelInitiator, started: Started) -> None:
    for name, queue, kind in (
        ("Z.SENDER", "B", mq.MQCHT_SENDER),
        ("M.SERVER", "B", mq.MQCHT_SERVER),
        ("A.OTHER", "C", mq.MQCHT_SENDER),
        ("A.RECEIVER", "", mq.MQCHT_RECEIVER),
    ):
        channel(wire_bench, name, queue, kind)
    transmission_queue(wire_bench, "B")
    start(wire_bench, initiator)
    send(wire_bench, writer(wire_bench, "B"))
    assert started.names == ["M.SERVER"]


def test_a_queue_without_a_channel(wire_bench: WireBench, initiator: ChannelInitiator, started: Started) -> None:
    transmission_queue(wire_bench, "LONELY")
    start(wire_bench, initiator)
    send(wire_bench, writer(wire_bench, "LONELY"))
    assert started.names == []
    assert "no sender or server channel has XMITQ(LONELY)" in wire_bench.manager.notices[-1]


def test_whatever_is_on_the_queue_the_next_is_served(
    wire_bench: WireBench, initiator: ChannelInitiator, started: Started
) -> None:
    start(wire_bench, initiator)
    peer = writer(wire_bench, DEFAULT_QUEUE)
    notices = wire_bench.manager.notices
    send(wire_bench, peer, b"rubbish")
    assert "is not a trigger message" in notices[-1]
    send(wire_bench, peer, bytes(100_000))
    ask_for(wire_bench, peer, "BAD.ONE")
    assert "KeyError" in notices[-1]
    ask_for(wire_bench, peer, "A.TO.B")
    assert started.names == ["BAD.ONE", "A.TO.B"]
    assert initiator.status == "RUNNING"
    assert wire_bench.manager.engine.queues[DEFAULT_QUEUE].slots.count == 0


def test_a_trigger_message_from_a_machine_of_another_kind(
    wire_bench: WireBench, initiator: ChannelInitiator, started: Started
) -> None:
    start(wire_bench, initiator)
    peer = writer(wire_bench, DEFAULT_QUEUE)
    assert peer.ask(wire.PUT, trigger(encoding=273, TriggerData="A.TO.Z")).completion == 0
    wire_bench.turn(3)
    assert started.names == ["A.TO.Z"]


def test_start_and_stop(wire_bench: WireBench, initiator: ChannelInitiator, started: Started) -> None:
    transmission_queue(wire_bench, "B", TRIGDATA="A.TO.B", TRIGTYPE=mq.MQTT_EVERY)
    assert initiator.status == "STOPPED"
    assert start(wire_bench, initiator)
    assert initiator.status == "RUNNING"
    assert not start(wire_bench, initiator)
    (connection,) = wire_bench.manager.engine.connections.values()
    assert connection.application_type == mq.MQAT_CHANNEL_INITIATOR
    assert stop(wire_bench, initiator)
    assert initiator.status == "STOPPED"
    assert not stop(wire_bench, initiator)
    wire_bench.check_nothing_left()
    peer = writer(wire_bench, "B")
    send(wire_bench, peer)
    assert started.names == []
    assert start(wire_bench, initiator)
    send(wire_bench, peer)
    assert started.names == ["A.TO.B"]


def test_several_initiation_queues(wire_bench: WireBench, initiator: ChannelInitiator, started: Started) -> None:
    wire_bench.define("OWN.INITQ")
    transmission_queue(wire_bench, "B", TRIGDATA="A.TO.B", INITQ="OWN.INITQ")
    start(wire_bench, initiator)
    peer = writer(wire_bench, "B")
    start(wire_bench, initiator, "OWN.INITQ")
    send(wire_bench, peer)
    assert started.names == ["A.TO.B"]
    stop(wire_bench, initiator)
    queues = wire_bench.manager.engine.queues
    assert (queues[DEFAULT_QUEUE].inputs, queues["OWN.INITQ"].inputs) == (0, 0)


def test_a_queue_that_cannot_be_served(wire_bench: WireBench, initiator: ChannelInitiator) -> None:
    with wire_bench.manager.lock, pytest.raises(MQError) as refused:
        initiator.start("NO.SUCH.QUEUE")
    assert refused.value.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert initiator.status == "STOPPED"
    wire_bench.check_nothing_left()


def test_a_queue_that_somebody_else_serves(
    wire_bench: WireBench, initiator: ChannelInitiator, started: Started
) -> None:
    peer = wire_bench.peer(DEFAULT_QUEUE)
    with wire_bench.manager.lock, pytest.raises(MQError) as refused:
        initiator.start()
    assert refused.value.reason == mq.MQRC_OBJECT_IN_USE
    with wire_bench.manager.lock:
        initiator.begin()
    assert initiator.status == "STARTING"
    assert "and retries" in wire_bench.manager.notices[-1]
    wire_bench.manager.note("something else")
    count = len(wire_bench.manager.notices)
    wire_bench.later(RETRY_MS + 100)
    wire_bench.turn(2)
    assert initiator.status == "STARTING"
    assert len(wire_bench.manager.notices) == count  # that is known by now
    peer.sock.close()
    wire_bench.turn(3)
    wire_bench.later(RETRY_MS + 100)
    wire_bench.turn(2)
    assert initiator.status == "RUNNING"
    transmission_queue(wire_bench, "B", TRIGDATA="A.TO.B")
    send(wire_bench, writer(wire_bench, "B"))
    assert started.names == ["A.TO.B"]


def test_a_try_that_is_stopped_is_over(wire_bench: WireBench, initiator: ChannelInitiator) -> None:
    wire_bench.peer(DEFAULT_QUEUE).sock.close()
    with wire_bench.manager.lock:
        initiator.begin()
    assert initiator.status == "STARTING"
    assert stop(wire_bench, initiator)
    wire_bench.turn(3)
    wire_bench.later(RETRY_MS + 100)
    wire_bench.turn(2)
    assert initiator.status == "STOPPED"
    wire_bench.check_nothing_left()


def test_gets_that_are_not_allowed_for_a_while(
    wire_bench: WireBench, initiator: ChannelInitiator, started: Started
) -> None:
    start(wire_bench, initiator)
    alter(wire_bench, DEFAULT_QUEUE, GET=mq.MQQA_GET_INHIBITED)
    assert initiator.status == "STARTING"
    assert "2016" in wire_bench.manager.notices[-1]
    peer = writer(wire_bench, DEFAULT_QUEUE)
    ask_for(wire_bench, peer, "A.TO.B")
    alter(wire_bench, DEFAULT_QUEUE, GET=mq.MQQA_GET_ALLOWED)
    assert started.names == []
    wire_bench.later(RETRY_MS + 100)
    wire_bench.turn(3)
    assert initiator.status == "RUNNING"
    assert started.names == ["A.TO.B"]


def test_it_leaves_when_the_queue_manager_ends(wire_bench: WireBench, initiator: ChannelInitiator) -> None:
    start(wire_bench, initiator)
    manager = wire_bench.manager
    with manager.turn as engine:
        engine.state = QUIESCING
        queue = engine.queues[DEFAULT_QUEUE]
        fail_waiting(engine, queue, mq.MQRC_Q_MGR_QUIESCING, mq.MQGMO_FAIL_IF_QUIESCING)
    wire_bench.turn(2)
    assert initiator.status == "STOPPED"
    assert manager.engine.connections == {}


def test_its_connection_is_broken(wire_bench: WireBench, initiator: ChannelInitiator) -> None:
    start(wire_bench, initiator)
    (number,) = wire_bench.manager.engine.connections
    assert wire_bench.manager.break_connection(number)
    wire_bench.turn(2)
    assert initiator.status == "STARTING"
    assert any("AMQ9509E" in each and "2009" in each for each in wire_bench.manager.notices)
    wire_bench.later(RETRY_MS + 100)
    wire_bench.turn(3)
    assert initiator.status == "RUNNING"


def test_stopped_in_the_middle(wire_bench: WireBench, initiator: ChannelInitiator, started: Started) -> None:
    peer = writer(wire_bench, DEFAULT_QUEUE)
    for number in range(100):
        peer.ask(wire.PUT, trigger(TriggerData=f"CHANNEL.{number}"))
    with wire_bench.manager.lock:
        initiator.start()
    wire_bench.turn()
    assert stop(wire_bench, initiator)
    wire_bench.turn(3)
    assert len(started.names) == 64
    assert start(wire_bench, initiator)
    assert len(started.names) == 100


def test_many_messages_at_once_leave_room_for_others(
    wire_bench: WireBench, initiator: ChannelInitiator, started: Started
) -> None:
    peer = writer(wire_bench, DEFAULT_QUEUE)
    for number in range(300):
        peer.ask(wire.PUT, trigger(TriggerData=f"CHANNEL.{number}"))
    with wire_bench.manager.lock:
        initiator.start()
    counts = [0]
    for _ in range(8):
        wire_bench.turn()
        counts.append(len(started.names))
    assert started.names == [f"CHANNEL.{number}" for number in range(300)]
    assert max(after - before for before, after in pairwise(counts)) == 64
