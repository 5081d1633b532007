"""Publish/subscribe frame by frame: versions, replies that wait for the log, levels, streams, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.world.hostile_frames import descriptor
from tests.world.wire_bench import EVERYTHING, Answer, Peer, WireBench, get, numbers, put

from ostler.engine.properties.property_block import decode_block
from ostler.model.constants import (
    MQCC_FAILED,
    MQCC_OK,
    MQCO_REMOVE_SUB,
    MQGMO_NO_SYNCPOINT,
    MQOO_OUTPUT,
    MQOT_Q,
    MQOT_TOPIC,
    MQPMO_RETAIN,
    MQRC_FUNCTION_NOT_SUPPORTED,
    MQRC_HOBJ_ERROR,
    MQRC_PMO_ERROR,
    MQSO_CREATE,
    MQSO_DURABLE,
    MQSO_MANAGED,
    MQSO_RESUME,
)
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.connect_frames import ConnectArguments, Hello
from ostler.wire.object_frames import OpenArguments, Put1Arguments, decode_open_reply, decode_status_reply
from ostler.wire.put_get_frames import AS_STORED, GOT_BLOCK_BYTES, GOT_FIXED_BYTES, GOT_MD, WANTS_PROPERTIES
from ostler.wire.replies import decode_reply
from ostler.wire.subscribe_frames import SubscribeArguments, SubscribeReply, decode_subscribe_reply

MANAGED = MQSO_CREATE | MQSO_MANAGED


def subscribing(topic: str, options: int = MANAGED, name: str = "", destination: int = 0, level: int = 1) -> bytes:
    asked = SubscribeArguments(options)
    asked.topic_string, asked.name, asked.destination, asked.level = topic, name, destination, level
    return asked.encode()


def found(answer: Answer) -> SubscribeReply:
    assert answer.completion == MQCC_OK, (answer.reason, answer.text)
    return decode_subscribe_reply(decode_reply(answer.payload).reader)


def topic(string: str, options: int = 0) -> OpenArguments:
    asked = OpenArguments(MQOT_TOPIC, "", options)
    asked.object_string = string
    return asked


def put1(string: str, body: bytes, options: int = 0) -> bytes:
    return Put1Arguments(topic(string), options, 0, descriptor(), b"", body).encode()


def opened(peer: Peer, string: str) -> int:
    answer = peer.ask(wire.OPEN, topic(string, MQOO_OUTPUT).encode())
    assert answer.completion == MQCC_OK, answer.reason
    return int(decode_open_reply(decode_reply(answer.payload).reader).hobj)


def test_publication_goes_its_way(wire_bench: WireBench) -> None:
    peer = wire_bench.peer()
    made = found(peer.ask(wire.SUBSCRIBE, subscribing("a/#")))
    assert made.topic == "a/#"
    assert peer.ask(wire.PUT1, put1("a/b", b"one", MQPMO_RETAIN)).completion == MQCC_OK
    assert peer.ask(wire.GET, get(int(made.destination.hobj))).body == b"one"
    answer = peer.ask(wire.SUBSCRIPTION_REQUEST, numbers(int(made.hsub), 1, 0))
    assert (answer.completion, answer.payload[8:]) == (MQCC_OK, numbers(1))
    assert peer.ask(wire.CLOSE, numbers(int(made.hsub), 0)).completion == MQCC_OK
    assert peer.ask(wire.CLOSE, numbers(int(made.destination.hobj), 0)).completion == MQCC_OK
    assert wire_bench.manager.engine.topics.subscriptions == {}


def test_copies_have_no_properties_unless_asked_for(wire_bench: WireBench) -> None:
    peer = wire_bench.peer()
    made = found(peer.ask(wire.SUBSCRIBE, subscribing("a")))
    for flags, has_topic in ((0, False), (1, True)):
        peer.ask(wire.PUT1, put1("a", b"one"))
        answer = peer.ask(wire.GET, get(int(made.destination.hobj), flags=flags))
        assert answer.body == b"one"
        assert (b"mqps.Top" in answer.payload) == has_topic


def test_stored_properties_in_both_versions(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    found(peer.ask(wire.SUBSCRIBE, subscribing("a", MQSO_CREATE, destination=2)))
    older = first_version(wire_bench)
    older.ask(wire.OPEN, OpenArguments(MQOT_Q, "Q", EVERYTHING).encode())
    for reader, layout in ((peer, 2), (older, 1)):
        assert peer.ask(wire.PUT1, put1("a", b"one")).completion == MQCC_OK
        answer = reader.ask(wire.GET, get(2, flags=AS_STORED | WANTS_PROPERTIES))
        assert answer.payload[GOT_FIXED_BYTES] == layout
        size = int.from_bytes(answer.payload[GOT_BLOCK_BYTES:GOT_MD], "little")
        block = decode_block(answer.payload[GOT_FIXED_BYTES : GOT_FIXED_BYTES + size])
        assert [(each.name, each.value) for each in block] == [("mqps.Top", "a")]
        assert answer.body == b"one"


def test_stream_of_publications(wire_bench: WireBench) -> None:
    subscriber, publisher = wire_bench.peer(), wire_bench.peer()
    made = found(subscriber.ask(wire.SUBSCRIBE, subscribing("a/+")))
    stream = numbers(10) + get(int(made.destination.hobj), MQGMO_NO_SYNCPOINT)
    subscriber.send(wire.frame(wire.STREAM, 1, 5, stream))
    hobj = opened(publisher, "a/b")
    publisher.send(*(wire.frame(wire.PUT, 1, 0, put(hobj, b"%d" % number)) for number in range(5)))
    answers = subscriber.answers(10)
    assert [answer.body for answer in answers] == [b"0", b"1", b"2", b"3", b"4"]
    assert {answer.type for answer in answers} == {wire.MESSAGE}


def test_durable_subscription_is_told_when_it_is_safe(wire_bench: WireBench) -> None:
    peer = wire_bench.peer()
    with wire_bench.log_stands_still():
        peer.send(wire.frame(wire.SUBSCRIBE, 1, 9, subscribing("a", MANAGED | MQSO_DURABLE, "KEPT")))
        assert peer.answers(5) == []
    made = found(peer.answer(9))
    with wire_bench.log_stands_still():
        peer.send(wire.frame(wire.CLOSE, 1, 10, numbers(int(made.hsub), MQCO_REMOVE_SUB)))
        assert peer.answers(5) == []
    assert peer.answer(10).completion == MQCC_OK


def test_publication_is_told_when_it_is_safe(wire_bench: WireBench) -> None:
    peer = wire_bench.peer()
    found(peer.ask(wire.SUBSCRIBE, subscribing("a", MANAGED | MQSO_DURABLE, "KEPT")))
    hobj = opened(peer, "a")
    with wire_bench.log_stands_still():
        peer.send(wire.frame(wire.PUT, 1, 9, put(hobj, b"one", persistent=True)))
        peer.send(wire.frame(wire.PUBLISH, 1, 10, numbers(5) + put(hobj, b"two", persistent=True)))
        assert peer.answers(5) == []
    assert peer.answer(9).completion == peer.answer(10).completion == MQCC_OK


def test_long_replies_come_in_segments(wire_bench: WireBench) -> None:
    peer = wire_bench.peer(segment_bytes=wire.SEGMENT_BYTES_MIN)
    string = "x" * 10_000
    payload = subscribing(string, MANAGED | MQSO_DURABLE, "n" * 9_000)
    peer.send(*segments.frames_of(wire.SUBSCRIBE, 1, 9, payload, wire.SEGMENT_BYTES_MIN))
    made = found(peer.answer(9))
    assert (made.topic, made.name) == (string, "n" * 9_000)
    asked = topic(string, MQOO_OUTPUT).encode()
    peer.send(*segments.frames_of(wire.OPEN, 1, 10, asked, wire.SEGMENT_BYTES_MIN))
    assert decode_open_reply(decode_reply(peer.answer(10).payload).reader).object_string == string
    assert max(size for *_, size in peer.frames_seen) <= wire.SEGMENT_BYTES_MIN


# -- levels ------------------------------------------------------------------------------------------------------------


def test_level_counts_for_one_put_only(wire_bench: WireBench) -> None:
    peer = wire_bench.peer()
    high = int(found(peer.ask(wire.SUBSCRIBE, subscribing("a", level=7))).destination.hobj)
    low = int(found(peer.ask(wire.SUBSCRIBE, subscribing("a", level=3))).destination.hobj)
    hobj = opened(peer, "a")
    for kind, payload in (
        (wire.PUBLISH, numbers(5) + put(hobj, b"one")),
        (wire.PUT, put(hobj, b"two")),
        (wire.PUBLISH1, numbers(3) + put1("a", b"three")),
        (wire.PUT1, put1("a", b"four")),
    ):
        answer = peer.ask(kind, payload)
        assert (answer.type, answer.completion) == (kind | wire.REPLY, MQCC_OK)
    assert [peer.ask(wire.GET, get(high)).body for _ in range(2)] == [b"two", b"four"]
    assert [peer.ask(wire.GET, get(low)).body for _ in range(2)] == [b"one", b"three"]


@pytest.mark.parametrize("level", [-1, 10, 1 << 30])
def test_levels_that_are_none(wire_bench: WireBench, level: int) -> None:
    peer = wire_bench.peer()
    hobj = opened(peer, "a")
    for kind, payload in ((wire.PUBLISH, put(hobj, b"one")), (wire.PUBLISH1, put1("a", b"one"))):
        answer = peer.ask(kind, numbers(level) + payload)
        assert (answer.completion, answer.reason) == (MQCC_FAILED, MQRC_PMO_ERROR)
        peer.send(wire.frame(kind, 1, 0, numbers(level) + payload))
    status = decode_status_reply(decode_reply(peer.ask(wire.STATUS, numbers(0)).payload).reader)
    assert (status.failed, status.reason) == (2, MQRC_PMO_ERROR)


def test_failure_of_a_put_without_a_reply(wire_bench: WireBench) -> None:
    peer = wire_bench.peer()
    peer.send(wire.frame(wire.PUBLISH, 1, 0, numbers(5) + put(99, b"one")))
    hobj = opened(peer, "a/b")
    peer.send(wire.frame(wire.PUT, 1, 0, put(hobj, b"one", 1)))
    status = decode_status_reply(decode_reply(peer.ask(wire.STATUS, numbers(0)).payload).reader)
    assert (status.failed, status.reason) == (2, MQRC_HOBJ_ERROR)


# -- versions and nonsense ---------------------------------------------------------------------------------------------


def first_version(bench: WireBench) -> Peer:
    peer, _ = bench.link()
    hello = Hello()
    hello.version = 1
    hello.conversations_max = 3
    agreed = peer.ask(wire.HELLO, hello.encode(), 1, 0)
    assert agreed.payload[12:16] == numbers(1)
    assert peer.ask(wire.CONNECT, ConnectArguments().encode(), 2).completion == MQCC_OK
    return peer


def test_first_version_knows_no_subscriptions(wire_bench: WireBench) -> None:
    peer = first_version(wire_bench)
    for kind, payload in ((wire.SUBSCRIBE, subscribing("a")), (wire.SUBSCRIPTION_REQUEST, numbers(2, 1, 0))):
        answer = peer.ask(kind, payload)
        assert (answer.completion, answer.reason) == (MQCC_FAILED, MQRC_FUNCTION_NOT_SUPPORTED)
    opening = peer.ask(wire.OPEN, topic("a", MQOO_OUTPUT).encode())
    hobj = int(decode_open_reply(decode_reply(opening.payload).reader, 1).hobj)
    assert peer.ask(wire.PUT, put(hobj, b"one")).completion == MQCC_OK
    status = peer.ask(wire.STATUS, numbers(0))
    assert decode_status_reply(decode_reply(status.payload).reader, 1).failed == 0
    peer.send(wire.frame(wire.PUBLISH, 1, 9, numbers(5) + put(hobj, b"one")))
    assert [answer.type for answer in peer.answers()] == [wire.FAREWELL]


@pytest.mark.parametrize(
    ("kind", "request_number", "payload"),
    [
        (wire.SUBSCRIBE, 0, subscribing("a")),
        (wire.SUBSCRIPTION_REQUEST, 0, numbers(2, 1, 0)),
        (wire.SUBSCRIBE, 9, subscribing("a") + b"x"),
        (wire.SUBSCRIBE, 9, subscribing("a" * 10_241)),
        (wire.SUBSCRIPTION_REQUEST, 9, numbers(2, 1)),
        (wire.PUBLISH, 9, b"\1\0\0"),
        (wire.PUBLISH, 9, numbers(5)),
        (wire.PUBLISH1, 9, numbers(5)),
    ],
)
def test_frames_that_nobody_sends(wire_bench: WireBench, kind: int, request_number: int, payload: bytes) -> None:
    peer = wire_bench.peer()
    peer.send(wire.frame(kind, 1, request_number, payload))
    assert [answer.type for answer in peer.answers()] == [wire.FAREWELL]
    assert wire_bench.manager.engine.topics.subscriptions == {}


def test_handles_that_are_none(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    for payload in (subscribing("a", MQSO_CREATE), subscribing("a", MQSO_CREATE, destination=99)):
        assert peer.ask(wire.SUBSCRIBE, payload).reason == MQRC_HOBJ_ERROR
    for handle in (2, 99):
        assert peer.ask(wire.SUBSCRIPTION_REQUEST, numbers(handle, 1, 0)).reason == MQRC_HOBJ_ERROR
    assert found(peer.ask(wire.SUBSCRIBE, subscribing("a", MQSO_CREATE, destination=2))).destination.hobj == 0


def test_everything_ends_with_its_link(wire_bench: WireBench) -> None:
    peer = wire_bench.peer("Q")
    found(peer.ask(wire.SUBSCRIBE, subscribing("a/#")))
    found(peer.ask(wire.SUBSCRIBE, subscribing("a/#", MQSO_CREATE, destination=2)))
    found(peer.ask(wire.SUBSCRIBE, subscribing("a/+", MANAGED | MQSO_DURABLE, "KEPT")))
    opened(peer, "a/b")
    peer.close()
    wire_bench.check_nothing_left()
    left = list(wire_bench.manager.engine.topics.subscriptions.values())
    assert [(each.name, each.connection) for each in left] == [("KEPT", 0)]
    again = wire_bench.peer()
    found(again.ask(wire.SUBSCRIBE, subscribing("", MQSO_RESUME, "KEPT")))


# -- the log is full ---------------------------------------------------------------------------------------------------


class NoRoomServer(Server):
    """One that makes room when the test says so."""

    def make_room(self, then: Callable[[], None]) -> None:
        self.then = then


def test_publications_and_subscriptions_wait_for_room(tmp_path: Path) -> None:
    section = LogSection(primary_files=2, secondary_files=1, file_pages=64)
    manager = QueueManager(create_queue_manager(tmp_path, "FULL", section))
    manager.start()
    server = NoRoomServer(disable_security(manager))
    bench = WireBench(manager, server)
    try:
        manager.housekeeping.stop()  # it would make room by itself
        filler, other = bench.peer(), bench.peer()
        hobj = int(found(filler.ask(wire.SUBSCRIBE, subscribing("a", MANAGED | MQSO_DURABLE, "KEPT"))).destination.hobj)
        target = opened(filler, "a")
        number = 0
        while not bench.reactor.counters.stalled:
            number += 1
            assert number < 1_000, "the log never fills"
            payload = numbers(5) + put(target, bytes(30_000), persistent=True)
            filler.send(wire.frame(wire.PUBLISH, 1, number, payload))
            bench.turn(2)
        durable = subscribing("a", MANAGED | MQSO_DURABLE, "n" * 10_000)
        other.send(wire.frame(wire.SUBSCRIBE, 1, 9, durable))
        bench.turn(2)
        manager.make_room()
        for _ in range(3):
            bench.reactor.post(server.then)
            bench.turn(2)
        assert filler.answer(number).completion == MQCC_OK
        assert found(other.answer(9)).name == "n" * 10_000
        assert filler.ask(wire.GET, get(hobj)).completion == MQCC_OK
    finally:
        bench.close()
