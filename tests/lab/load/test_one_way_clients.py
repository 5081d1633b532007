"""Lean producers and consumers: what they send, and what they make of what they receive, whole and byte by byte."""

from __future__ import annotations

import json

import pytest

from ostler.lab.load import spec
from ostler.lab.load.amqp import frames as amqp
from ostler.lab.load.amqp.one_way import AmqpOneWayClient
from ostler.lab.load.bare.client import HELLO, REQUESTER, RESPONDER, TAKEN, WELCOME
from ostler.lab.load.bare.one_way import BareOneWayClient
from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.mqtt import packets as mqtt
from ostler.lab.load.mqtt.one_way import MqttOneWayClient
from ostler.lab.load.nats.one_way import JetStreamOneWayClient, NatsOneWayClient
from ostler.lab.load.one_way import OneWay
from ostler.lab.load.pacing import Pacing
from ostler.lab.load.receive_buffer import ReceiveBuffer
from ostler.lab.load.redis.client import command
from ostler.lab.load.redis.one_way import RedisOneWayClient
from ostler.lab.load.registry import one_way_client
from ostler.lab.load.spec import ONE_WAY, LoadSpec
from ostler.lab.load.stomp.client import frame, frame_bytes
from ostler.lab.load.stomp.one_way import StompOneWayClient
from ostler.lab.load.timeline import MEASURED, Timeline
from ostler.lab.runner.contract import GET, PUT
from ostler.lab.store.rows import OperationRow

SIZE = 20
OPENED_NS = 500
both_ways = pytest.mark.parametrize("piecewise", [False, True], ids=["whole", "byte by byte"])
both_kinds = pytest.mark.parametrize("kept", [False, True], ids=["not kept", "kept"])


def running(producers: int = 1) -> Pace:
    """On a timeline whose measured window is from 1,000 on."""
    pace = Pace(Pacing(PUT))
    pace.begin_timeline(Timeline(0, 1000, 1_000_000, 1_000_000), producers)
    pace.active = producers
    return pace


def body(due_ns: int, put_ns: int = 0) -> bytes:
    return due_ns.to_bytes(8, "big") + put_ns.to_bytes(8, "big") + bytes(SIZE - 16)


def fed(client: LoadClient, data: bytes, piecewise: bool, now_ns: int) -> bytes:
    if not piecewise:
        return client.receive(data, now_ns)
    return b"".join(client.receive(data[at : at + 1], now_ns) for at in range(len(data)))


def measured(pace: Pace, operation: str) -> tuple[int, int]:
    """Return the count of an operation in the measured window, and the time that all took together."""
    for row in pace.recorder.phases[MEASURED].rows(0):
        if isinstance(row, OperationRow) and row.operation == operation:
            return row.count, row.total_ns
    return 0, 0


def check_producer(client: LoadClient, told: bytes, piecewise: bool) -> bytes:
    """A put is over when the broker says so, and the next begins then. Returns what the first one sent."""
    pace = client.pace
    assert client.is_ready
    sent = client.begin(2000)
    assert body(2000) in sent
    assert (pace.outstanding, measured(pace, PUT)) == (1, (0, 0))
    assert body(2100, 2100) in fed(client, told, piecewise, 2100), "the next, due when this one was done"
    assert (pace.outstanding, measured(pace, PUT)) == (2, (1, 100))
    return sent


def check_consumer(client: LoadClient, delivered: bytes, old: bytes, piecewise: bool) -> bytes:
    """A get counts from when its message was due; one of an earlier load does not. Returns what was sent."""
    pace = client.pace
    assert client.is_ready
    pace.outstanding = 1
    fed(client, old, piecewise, 2500)
    assert (pace.outstanding, measured(pace, GET)) == (1, (0, 0))
    answer = fed(client, delivered, piecewise, 2700)
    assert (pace.outstanding, measured(pace, GET)) == (0, (1, 700))
    return answer


@both_ways
def test_bare_blocks(piecewise: bool) -> None:
    producer = BareOneWayClient(running(), True, 5, 2, SIZE)
    assert producer.opening() == HELLO.pack(REQUESTER, 1)
    producer.receive(WELCOME, OPENED_NS)
    assert check_producer(producer, TAKEN, piecewise) == body(2000)
    consumer = BareOneWayClient(running(), False, 3, 2, SIZE)
    assert consumer.opening() == HELLO.pack(RESPONDER, 1)
    consumer.receive(WELCOME, OPENED_NS)
    assert check_consumer(consumer, body(2000), body(1), piecewise) == b""
    consumer.receive(body(2000) + body(2000)[:5], 2000)
    consumer.receive(body(2000)[5:], 2000)
    assert measured(consumer.pace, GET)[0] == 3, "blocks that come together, and one that comes in parts"


@both_ways
@both_kinds
def test_rabbitmq(piecewise: bool, kept: bool) -> None:
    def made(is_producer: bool) -> AmqpOneWayClient:
        client = AmqpOneWayClient(running(), is_producer, 3, 2, SIZE, kept)
        steps = [amqp.CONNECTION_START, amqp.CONNECTION_TUNE, amqp.CONNECTION_OPEN_OK, amqp.CHANNEL_OPEN_OK]
        last = amqp.CONFIRM_SELECT_OK if is_producer else amqp.BASIC_CONSUME_OK
        for each in (*steps, amqp.QUEUE_DECLARE_OK, last):
            client.receive(amqp.method(1, each, b""), OPENED_NS)
        return client

    kind = b"durable" if kept else b"transient"
    confirm = amqp.method(1, amqp.BASIC_ACK, (1).to_bytes(8, "big") + b"\0")
    sent = check_producer(made(True), confirm, piecewise)
    assert sent == amqp.publish_method(1, b"%b.one-way.1" % kind) + amqp.content(1, kept, b"", b"", body(2000))

    def delivery(due_ns: int, tag: int) -> bytes:
        arguments = amqp.short_string(b"c") + tag.to_bytes(8, "big") + b"\0\0\0"
        return amqp.method(1, amqp.BASIC_DELIVER, arguments) + amqp.content(1, kept, b"", b"", body(due_ns))

    answer = check_consumer(made(False), delivery(2000, 2), delivery(1, 1), piecewise)
    assert answer == (amqp.acknowledge(1, 2) if kept else b"")


def test_a_body_of_several_frames() -> None:
    large = bytes(range(256)) * 1200
    client = AmqpOneWayClient(running(), False, 0, 1, len(large), False)
    arguments = amqp.short_string(b"c") + (1).to_bytes(8, "big") + b"\0\0\0"
    whole = amqp.method(1, amqp.BASIC_DELIVER, arguments) + amqp.content(1, False, b"", b"", large)
    assert whole.count(b"\x03\0\x01") >= 3
    client.pace.outstanding = 1
    for at in range(0, len(whole), 65_536):
        client.receive(whole[at : at + 65_536], 10)
    assert client.pace.outstanding == 0


@both_ways
def test_core_nats(piecewise: bool) -> None:
    producer = NatsOneWayClient(running(), True, 3, 2, SIZE)
    assert b"SUB" not in producer.opening()
    producer.receive(b'INFO {"server_id":"x"}\r\nPONG\r\n', OPENED_NS)
    sent = check_producer(producer, b"PING\r\nPONG\r\n", piecewise)
    assert sent == b"PUB ONE.1 20\r\n" + body(2000) + b"\r\nPING\r\n"
    consumer = NatsOneWayClient(running(), False, 3, 2, SIZE)
    assert consumer.opening().endswith(b"SUB ONE.1 W 1\r\nPING\r\n")
    consumer.receive(b"PONG\r\n", OPENED_NS)
    message = b"MSG ONE.1 1 20\r\n%b\r\n"
    assert check_consumer(consumer, message % body(2000), b"+OK\r\n", piecewise) == b""


@both_ways
def test_streams(piecewise: bool) -> None:
    def made(is_producer: bool) -> JetStreamOneWayClient:
        client = JetStreamOneWayClient(running(), is_producer, 3, 2, SIZE)
        asked = client.opening()
        assert b"$JS.API.STREAM.CREATE.LABONE" in asked
        inbox = b"_INBOX.%b3" % (b"q" if is_producer else b"r")
        answer = b"MSG %b.api 1 2\r\n{}\r\n" % inbox
        asked = client.receive(answer, OPENED_NS)
        if not is_producer:
            config = json.loads(asked.split(b"\r\n")[1])["config"]
            assert (config["filter_subject"], config["deliver_group"]) == ("LABONE.1", "W")
            client.receive(answer, OPENED_NS)
        return client

    sent = check_producer(made(True), b'MSG _INBOX.q3.s.0 2 9\r\n{"seq":1}\r\n', piecewise)
    assert sent == b"PUB LABONE.1 _INBOX.q3.s.0 20\r\n" + body(2000) + b"\r\n"
    message = b"MSG LABONE.1 3 $JS.ACK.%d 20\r\n%b\r\n"
    answer = check_consumer(made(False), message % (2, body(2000)), message % (1, body(1)), piecewise)
    assert answer == b"PUB $JS.ACK.2 4\r\n+ACK\r\n"
    refusing = made(True)
    refusing.begin(0)
    with pytest.raises(LoadFailed, match="did not store"):
        refusing.receive(b'MSG _INBOX.q3.s.0 2 12\r\n{"error":{}}\r\n', 0)


@both_ways
@both_kinds
def test_mqtt(piecewise: bool, kept: bool) -> None:
    qos = int(kept)
    producer = MqttOneWayClient(running(), True, 3, 2, SIZE, qos)
    assert producer.opening() == mqtt.connect(b"lab-%d-producer-3" % qos, 0)
    producer.receive(b"\x20\x03\x00\x00\x00", OPENED_NS)
    sent = check_producer(producer, mqtt.acknowledge(1) if kept else b"\xd0\x00", piecewise)
    message = mqtt.message(b"lab/%d/one-way/1" % qos, qos, body(2000))
    assert sent == (message if kept else message + mqtt.ping())
    consumer = MqttOneWayClient(running(), False, 3, 2, SIZE, qos)
    assert consumer.opening().endswith(mqtt.subscribe(1, b"$share/W/lab/%d/one-way/1" % qos, qos))
    consumer.receive(b"\x20\x03\x00\x00\x00\x90\x04\x00\x01\x00\x01", OPENED_NS)
    old = mqtt.message(b"t", 8 * qos, body(1))
    answer = check_consumer(consumer, mqtt.message(b"t", 9 * qos, body(2000)), old, piecewise)
    assert answer == (mqtt.acknowledge(9) if kept else b"")


@both_ways
def test_redis_lists(piecewise: bool) -> None:
    producer = RedisOneWayClient(running(), True, 3, 2, SIZE, False)
    assert producer.opening() == command(b"PING")
    producer.receive(b"+PONG\r\n", OPENED_NS)
    assert check_producer(producer, b":1\r\n", piecewise) == command(b"LPUSH", b"transient:one-way:1", body(2000))
    consumer = RedisOneWayClient(running(), False, 3, 2, SIZE, False)
    wait = command(b"BRPOP", b"transient:one-way:1", b"0")
    assert consumer.opening() == command(b"PING") + wait
    consumer.receive(b"+PONG\r\n", OPENED_NS)
    assert check_consumer(consumer, command(b"k", body(2000)), command(b"k", body(1)), piecewise) == wait


@both_ways
def test_redis_streams(piecewise: bool) -> None:
    key = b"durable:one-way:1"
    producer = RedisOneWayClient(running(), True, 3, 2, SIZE, True)
    producer.receive(b"+PONG\r\n", OPENED_NS)
    sent = check_producer(producer, b"$3\r\n5-0\r\n", piecewise)
    assert sent == command(b"XADD", key, b"*", b"m", body(2000))
    with pytest.raises(LoadFailed, match="MISCONF"):
        producer.receive(b"-MISCONF no room\r\n", 0)
    consumer = RedisOneWayClient(running(), False, 3, 2, SIZE, True)
    assert consumer.opening().startswith(command(b"XGROUP", b"CREATE", key, b"W", b"$", b"MKSTREAM"))
    consumer.receive(b"+OK\r\n", OPENED_NS)

    def entry(number: bytes, due_ns: int) -> bytes:
        return b"*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*2\r\n$3\r\n%b\r\n%b" % (number, command(b"m", body(due_ns)))

    done = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n"
    answer = check_consumer(consumer, done + entry(b"5-0", 2000), entry(b"4-0", 1), piecewise)
    taken = (command(b"XACK", key, b"W", b"5-0"), command(b"XDEL", key, b"5-0"))
    assert answer.startswith(b"".join((command(b"MULTI"), *taken, command(b"EXEC"))))


@both_ways
@both_kinds
def test_activemq(piecewise: bool, kept: bool) -> None:
    connected = b"CONNECTED\nversion:1.2\nsession:ID:x-1\n\n\0\n"
    queue = b"/queue/%b.one-way.1" % (b"durable" if kept else b"transient")
    producer = StompOneWayClient(running(), True, 3, 2, SIZE, kept)
    assert producer.receive(connected, OPENED_NS) == b""
    sent = check_producer(producer, frame(b"RECEIPT", b"receipt-id:1\n"), piecewise)
    persistent = b"true" if kept else b"false"
    told = b"destination:%b\nreceipt:1\npersistent:%b\ncontent-length:20\n" % (queue, persistent)
    assert sent == frame(b"SEND", told, body(2000))
    consumer = StompOneWayClient(running(), False, 3, 2, SIZE, kept)
    assert b"destination:%b\n" % queue in consumer.receive(connected, OPENED_NS)
    consumer.receive(frame(b"RECEIPT", b"receipt-id:ready\n"), OPENED_NS)
    message = b"ack:%b\ncontent-length:20\n"
    old = frame(b"MESSAGE", message % b"a1", body(1))
    answer = check_consumer(consumer, frame(b"MESSAGE", message % b"a2", body(2000)), old, piecewise)
    assert answer == (frame(b"ACK", b"id:a2\n") if kept else b"")


def test_messages_of_another_size_are_told() -> None:
    with pytest.raises(LoadFailed, match="no room for the times"):
        OneWay(running(), 15)
    way = OneWay(running(), SIZE)
    with pytest.raises(LoadFailed, match="21 bytes arrived, and 20 were due"):
        way.got(bytes(SIZE + 1), 0)


@pytest.mark.parametrize("since_put", [False, True], ids=["on schedule", "since the put"])
def test_rated_messages_are_timed_from_the_due_time_and_from_the_put(since_put: bool) -> None:
    pace = Pace(Pacing(PUT, 1.0, since_put=since_put))
    pace.begin_timeline(Timeline(0, 0, 1_000_000, 1_000_000), 1)
    way = OneWay(pace, SIZE)
    way.got(way.body(2000, 2300), 3000)
    since_due, from_put = (1, 1000), (1, 700)
    if since_put:
        assert (measured(pace, GET), measured(pace, "get since due")) == (from_put, since_due)
    else:
        assert (measured(pace, GET), measured(pace, "get since put")) == (since_due, from_put)


def test_messages_that_follow_one_another_are_timed_once() -> None:
    pace = running()
    way = OneWay(pace, SIZE)
    way.got(way.body(2000, 2300), 3000)
    assert measured(pace, GET) == (1, 1000)
    assert measured(pace, "get since put") == (0, 0)


def test_a_protocol_without_one_way_clients_is_told() -> None:
    wanted = LoadSpec("telegraph", ("", 0), range(1), range(1), 1, SIZE, False, kind=ONE_WAY)
    with pytest.raises(LoadFailed, match="telegraph has no clients for a one-way load"):
        one_way_client(wanted, running(), True, 0)
    assert isinstance(
        one_way_client(
            LoadSpec(spec.MQTT, ("", 0), range(1), range(1), 1, SIZE, False, kind=ONE_WAY), running(), True, 0
        ),
        MqttOneWayClient,
    )


def test_what_is_gathered_is_put_together_once() -> None:
    buffer = ReceiveBuffer()
    assert buffer.add(b"abc") == b"abc"
    buffer.keep(b"c", 4)
    assert buffer.add(b"de") == b""
    assert buffer.add(b"f") == b"cdef"
    assert buffer.add(b"g") == b"g", "nothing is left over"
    buffer.keep(b"", 9)
    assert buffer.add(b"h") == b"h", "nothing was left over"
    buffer.keep(b"i", 0)
    assert buffer.add(b"j") == b"ij", "nobody knows how much must come"


def test_how_long_a_stomp_frame_is() -> None:
    whole = b"MESSAGE\na:1\ncontent-length:3\n\nabc\0"
    assert frame_bytes(b"\n" + whole, 1) == len(whole)
    assert frame_bytes(whole[:20], 0) == 0, "its length is not there yet"
    assert frame_bytes(b"MESSAGE\na:1\n\nabc\0", 0) == 0, "it ends with a zero, wherever that is"
