"""The lean clients of Redis, MQTT and STOMP: what they send, and what they make of what they receive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lab.load.recorded import latencies_ns

from ostler.lab.load.amqp.client import AmqpClient
from ostler.lab.load.client import LoadClient, LoadFailed, Pace, reply_for
from ostler.lab.load.mqtt import packets as mqtt
from ostler.lab.load.mqtt.client import MqttClient
from ostler.lab.load.nats.client import NatsClient
from ostler.lab.load.nats.jetstream import JetStreamClient
from ostler.lab.load.redis.client import RedisClient, RedisError, command, read_value
from ostler.lab.load.spec import LoadSpec, pair_of
from ostler.lab.load.stomp.client import StompClient, frame, read_frame


def running(clients: int = 1) -> Pace:
    pace = Pace()
    pace.goes_on = True
    pace.active = clients
    return pace


def fed(client: LoadClient, data: bytes, piecewise: bool, now_ns: int = 0) -> bytes:
    """Return the answer of a client to bytes that come at once, or one after the other."""
    if not piecewise:
        return client.receive(data, now_ns)
    return b"".join(client.receive(data[at : at + 1], now_ns) for at in range(len(data)))


both_ways = pytest.mark.parametrize("piecewise", [False, True], ids=["whole", "byte by byte"])


# -- Redis ---------------------------------------------------------------------------------------------------------


def test_redis_values_of_all_kinds() -> None:
    data = b"*5\r\n$3\r\na\r\n\r\n:-7\r\n+OK\r\n$-1\r\n*1\r\n$0\r\n\r\nrest"
    assert read_value(data, 0) == ([b"a\r\n", -7, b"OK", None, [b""]], len(data) - 4)
    for end in range(len(data) - 4):
        assert read_value(data[:end], 0)[1] < -end, "not all of it is there"
    refusal, _ = read_value(b"-ERR no such thing\r\n", 0)
    assert isinstance(refusal, RedisError)
    assert refusal.text == "ERR no such thing"
    with pytest.raises(LoadFailed, match="unknown kind"):
        read_value(b"!5\r\n", 0)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=5))
def test_a_redis_command_is_read_as_it_was_written(words: list[bytes]) -> None:
    data = command(*words)
    assert read_value(data, 0) == (words, len(data))


@both_ways
def test_a_redis_requester_pushes_and_waits(piecewise: bool) -> None:
    pace = running()
    client = RedisClient(pace, True, 3, 2, 20, False)
    assert client.opening() == command(b"DEL", b"transient:reply:3")
    assert fed(client, b":0\r\n", piecewise) == b""
    assert client.is_ready
    wait = command(b"BRPOP", b"transient:reply:3", b"0")
    first = command(b"LPUSH", b"transient:request:0", b"transient:reply:3 1\n" + reply_for(1, 20)) + wait
    assert client.begin(100) == first
    reply = b":1\r\n" + command(b"transient:reply:3", b"1\n" + reply_for(1, 20))
    second = command(b"LPUSH", b"transient:request:1", b"transient:reply:3 2\n" + reply_for(2, 20)) + wait
    assert fed(client, reply, piecewise, 130) == second
    assert latencies_ns(pace) == [30]


@both_ways
def test_a_redis_responder_pushes_the_reply_and_waits_again(piecewise: bool) -> None:
    client = RedisClient(running(0), False, 1, 2, 3, False)
    wait = command(b"BRPOP", b"transient:request:1", b"0")
    assert client.opening() == command(b"PING") + wait
    request = command(b"transient:request:1", b"transient:reply:7 9\nabc")
    answer = command(b"LPUSH", b"transient:reply:7", b"9\nabc") + wait
    assert fed(client, b"+PONG\r\n" + request, piecewise) == answer
    assert client.is_ready
    assert fed(client, b":1\r\n" + request, piecewise) == answer


@both_ways
def test_a_durable_redis_responder_replies_in_a_transaction(piecewise: bool) -> None:
    client = RedisClient(running(0), False, 1, 2, 3, True)
    key = b"durable:request:1"
    assert client.opening().startswith(command(b"XGROUP", b"CREATE", key, b"W", b"$", b"MKSTREAM"))
    assert fed(client, b"-BUSYGROUP Consumer Group name already exists\r\n", piecewise) == b""
    assert client.is_ready, "another responder has made the group"
    entry = (
        b"*1\r\n*2\r\n" + b"$17\r\n" + key + b"\r\n*1\r\n*2\r\n$3\r\n5-0\r\n" + command(b"m", b"durable:reply:7 9\nabc")
    )
    answer = fed(client, entry, piecewise)
    parts = (
        command(b"MULTI"),
        command(b"LPUSH", b"durable:reply:7", b"9\nabc"),
        command(b"XACK", key, b"W", b"5-0"),
        command(b"XDEL", key, b"5-0"),
        command(b"EXEC"),
    )
    assert answer.startswith(b"".join(parts))
    done = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n:1\r\n:1\r\n"
    assert fed(client, done + entry, piecewise) == answer


def test_redis_errors_and_wrong_replies_are_told() -> None:
    client = RedisClient(running(), True, 3, 2, 20, False)
    with pytest.raises(LoadFailed, match="OOM"):
        client.receive(b"-OOM command not allowed\r\n", 0)
    client = RedisClient(running(), True, 3, 2, 20, False)
    client.receive(b":0\r\n", 0)
    client.begin(0)
    with pytest.raises(LoadFailed, match="to 1 was due"):
        client.receive(b":1\r\n" + command(b"k", b"8\n" + bytes(20)), 0)
    client = RedisClient(running(), False, 1, 2, 3, True)
    client.receive(b"+OK\r\n", 0)
    with pytest.raises(LoadFailed, match="NOGROUP"):
        client.receive(b"-NOGROUP No such key\r\n", 0)


# -- MQTT ----------------------------------------------------------------------------------------------------------

CONNECTED = b"\x20\x03\x00\x00\x00"
SUBSCRIBED = b"\x90\x04\x00\x01\x00\x01"


@given(st.integers(0, 268_435_455))
def test_an_mqtt_length_is_read_as_it_was_written(value: int) -> None:
    data = mqtt.variable_length(value)
    assert 1 <= len(data) <= 4
    assert mqtt.read_variable_length(data, 0) == (value, len(data))
    assert mqtt.read_variable_length(data[:-1], 0)[1] == -1


def test_an_mqtt_length_without_end_is_told() -> None:
    with pytest.raises(LoadFailed, match="four bytes"):
        mqtt.read_variable_length(b"\xff\xff\xff\xff\x01", 0)


def test_an_mqtt_connection_in_bytes() -> None:
    expected = b"\x10\x15\x00\x04MQTT\x05\x02\x00\x00\x05\x11\x00\x00\x0e\x10\x00\x03abc"
    assert mqtt.connect(b"abc", 3600) == expected
    assert mqtt.disconnect() == b"\xe0\x07\x00\x05\x11\x00\x00\x00\x00"
    assert mqtt.subscribe(1, b"t", 1) == b"\x82\x07\x00\x01\x00\x00\x01t\x01"


@given(st.binary(max_size=300), st.binary(max_size=20), st.integers(0, 65_535))
def test_an_mqtt_message_is_read_as_it_was_written(body: bytes, correlation: bytes, packet_id: int) -> None:
    data = mqtt.publish(b"to", packet_id, mqtt.request_properties(b"from"), correlation, body)
    first, begin, end = mqtt.read_packet(data + b"more", 0)
    assert end == len(data)
    found = mqtt.read_published(data + b"more", first, begin, end)
    assert (found.packet_id, found.response_topic, found.correlation, found.body) == (
        packet_id,
        b"from",
        correlation,
        body,
    )


@both_ways
def test_an_mqtt_requester_waits_for_both(piecewise: bool) -> None:
    pace = running()
    client = MqttClient(pace, True, 5, 2, 20, 1)
    assert client.opening().endswith(mqtt.subscribe(1, b"lab/1/reply/5", 1))
    assert fed(client, CONNECTED + SUBSCRIBED, piecewise) == b""
    assert client.is_ready
    properties = mqtt.request_properties(b"lab/1/reply/5")
    assert client.begin(10) == mqtt.publish(b"lab/1/request/0", 1, properties, b"1", reply_for(1, 20))
    assert fed(client, mqtt.acknowledge(1), piecewise, 20) == b""
    assert latencies_ns(pace) == [], "the reply is not there"
    reply = mqtt.publish(b"lab/1/reply/5", 77, b"", b"1", reply_for(1, 20))
    second = mqtt.publish(b"lab/1/request/1", 2, properties, b"2", reply_for(2, 20))
    assert fed(client, reply, piecewise, 30) == mqtt.acknowledge(77) + second
    assert latencies_ns(pace) == [20]
    pace.goes_on = False
    reply = mqtt.publish(b"lab/1/reply/5", 78, b"", b"2", reply_for(2, 20))
    assert fed(client, reply, piecewise, 40) == mqtt.acknowledge(78)
    assert pace.active == 1, "the request is not acknowledged"
    assert fed(client, mqtt.acknowledge(2), piecewise, 45) == b""
    assert pace.active == 0


@both_ways
def test_an_mqtt_responder_acknowledges_when_its_reply_is(piecewise: bool) -> None:
    client = MqttClient(running(0), False, 5, 2, 3, 1)
    assert client.opening().endswith(mqtt.subscribe(1, b"$share/W/lab/1/request/1", 1))
    request = mqtt.publish(b"lab/1/request/1", 9, mqtt.request_properties(b"back"), b"4", b"abc")
    assert fed(client, request, piecewise) == mqtt.publish(b"back", 1, b"", b"4", b"abc")
    assert fed(client, mqtt.acknowledge(1), piecewise) == mqtt.acknowledge(9)
    assert client.closing() == mqtt.disconnect()


@both_ways
def test_mqtt_without_acknowledgements(piecewise: bool) -> None:
    pace = running()
    requester = MqttClient(pace, True, 0, 1, 16, 0)
    sent = requester.begin(0)
    assert sent[0] == mqtt.PUBLISH
    responder = MqttClient(running(0), False, 0, 1, 16, 0)
    answer = fed(responder, sent, piecewise)
    assert fed(requester, answer, piecewise, 7)[0] == mqtt.PUBLISH
    assert latencies_ns(pace) == [7]


def test_packet_ids_begin_again() -> None:
    client = MqttClient(running(0), False, 0, 1, 1, 1)
    request = mqtt.publish(b"t", 9, mqtt.request_properties(b"b"), b"4", b"a")
    seen = set()
    for _ in range(65_536):
        first, begin, end = mqtt.read_packet(answer := client.receive(request, 0), 0)
        seen.add(mqtt.read_published(answer, first, begin, end).packet_id)
    assert seen == set(range(1, 65_536))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x20\x03\x00\x87\x00", "refused a connection with reason 135"),
        (b"\x90\x04\x00\x01\x00\x8f", "refused a subscription with reason 143"),
        (b"\x40\x03\x00\x01\x97", "refused a message with reason 151"),
        (b"\xe0\x01\x8e", "disconnected a client with reason 142"),
        (b"\x50\x02\x00\x01", "packet of kind 5"),
        (b"\x30\x05\x00\x01t\x01\x26", "property 38"),
        (mqtt.publish(b"t", 0, b"", b"8", bytes(20)), "was due"),
        (mqtt.publish(b"t", 0, b"", b"1", bytes(21)), "21 bytes"),
    ],
)
def test_what_an_mqtt_broker_should_not_send_is_told(data: bytes, words: str) -> None:
    client = MqttClient(running(), True, 0, 1, 20, 1)
    client.begin(0)
    with pytest.raises(LoadFailed, match=words):
        client.receive(data, 0)


# -- STOMP ---------------------------------------------------------------------------------------------------------


def stomping(pace: Pace, is_requester: bool, persistent: bool) -> StompClient:
    client = StompClient(pace, is_requester, 3, 2, 16, persistent)
    assert client.opening() == b"CONNECT\naccept-version:1.2\nhost:lab\nheart-beat:0,0\n\n\0"
    sent = client.receive(b"CONNECTED\nversion:1.2\nsession:ID:x-1\n\n\0\n", 0)
    own = b"reply.3" if is_requester else b"request.1"
    assert b"destination:/queue/%b.%b\n" % (b"durable" if persistent else b"transient", own) in sent
    assert b"ack:%b\n" % (b"client-individual" if persistent else b"auto") in sent
    client.receive(b"RECEIPT\nreceipt-id:ready\n\n\0", 0)
    assert client.is_ready
    return client


def test_stomp_frames_with_and_without_a_length() -> None:
    data = b"\n\nMESSAGE\na:1\na:2\ncontent-length:3\n\nx\0y\0\nRECEIPT\n\nz\0"
    first, at = read_frame(data, 0)
    assert first is not None
    assert (first.verb, first.headers[b"a"], first.body) == (b"MESSAGE", b"1", b"x\0y")
    second, end = read_frame(data, at)
    assert second is not None
    assert (second.verb, second.body, end) == (b"RECEIPT", b"z", len(data))
    for cut in range(3, at):
        assert read_frame(data[:cut], 0)[0] is None


@both_ways
def test_a_persistent_stomp_requester_waits_for_both(piecewise: bool) -> None:
    pace = running()
    client = stomping(pace, True, True)
    first = client.begin(5)
    assert first == frame(
        b"SEND",
        b"destination:/queue/durable.request.0\nreply-to:/queue/durable.reply.3\nreceipt:1\npersistent:true\n"
        b"correlation-id:IDx1-1\ncontent-length:16\n",
        reply_for(1, 16),
    )
    assert fed(client, frame(b"RECEIPT", b"receipt-id:1\n"), piecewise, 8) == b""
    reply = frame(b"MESSAGE", b"ack:ID\\c7\ncorrelation-id:IDx1-1\ncontent-length:16\n", reply_for(1, 16))
    answer = fed(client, reply, piecewise, 25)
    assert answer.startswith(frame(b"ACK", b"id:ID\\c7\n") + b"SEND\ndestination:/queue/durable.request.1\n")
    assert latencies_ns(pace) == [20]
    reply = frame(b"MESSAGE", b"ack:a8\ncorrelation-id:IDx1-2\ncontent-length:16\n", reply_for(2, 16))
    assert fed(client, reply, piecewise, 30) == frame(b"ACK", b"id:a8\n"), "the receipt is not there"
    assert fed(client, frame(b"RECEIPT", b"receipt-id:2\n"), piecewise, 35).startswith(b"SEND\n")
    assert latencies_ns(pace) == [10, 20]


@both_ways
def test_a_persistent_stomp_responder_acknowledges_when_its_reply_has_a_receipt(piecewise: bool) -> None:
    client = stomping(running(0), False, True)
    request = frame(b"MESSAGE", b"ack:a1\ncorrelation-id:s-4\nreply-to:/queue/q\ncontent-length:3\n", b"abc")
    sent = fed(client, request, piecewise)
    told = b"destination:/queue/q\nreceipt:1\npersistent:true\ncorrelation-id:s-4\ncontent-length:3\n"
    assert sent == frame(b"SEND", told, b"abc")
    assert fed(client, frame(b"RECEIPT", b"receipt-id:1\n"), piecewise) == frame(b"ACK", b"id:a1\n")
    assert client.closing() == frame(b"DISCONNECT", b"")


@both_ways
def test_stomp_without_confirmations(piecewise: bool) -> None:
    pace = running()
    requester, responder = stomping(pace, True, False), stomping(running(0), False, False)
    request = requester.begin(0).replace(b"SEND", b"MESSAGE", 1)
    reply = fed(responder, request, piecewise)
    assert b"receipt" not in reply
    assert fed(requester, reply.replace(b"SEND", b"MESSAGE", 1), piecewise, 9).startswith(b"SEND\n")
    assert latencies_ns(pace) == [9]


def test_a_reply_to_an_earlier_load_is_put_away() -> None:
    pace = running()
    client = stomping(pace, True, True)
    client.begin(0)
    old = frame(b"MESSAGE", b"ack:a9\ncorrelation-id:other-1\ncontent-length:16\n", bytes(16))
    assert client.receive(old, 1) == frame(b"ACK", b"id:a9\n")
    assert latencies_ns(pace) == []


def test_stomp_errors_and_wrong_replies_are_told() -> None:
    client = stomping(running(), True, True)
    client.begin(0)
    with pytest.raises(LoadFailed, match="ERROR not allowed"):
        client.receive(frame(b"ERROR", b"message:not allowed\n", b"more"), 0)
    with pytest.raises(LoadFailed, match="was due"):
        client.receive(frame(b"MESSAGE", b"ack:1\ncorrelation-id:IDx1-7\ncontent-length:16\n", bytes(16)), 0)


@pytest.mark.parametrize("goes_round", [True, False])
def test_a_requester_goes_round_or_stays_with_its_own(goes_round: bool) -> None:
    """Number 4 of three pairs has the second, and the next after it is the third."""
    pair = b"2" if goes_round else b"1"
    clients: list[tuple[LoadClient, bytes]] = [
        (RedisClient(running(), True, 4, 3, 16, False, goes_round), b"transient:request:"),
        (MqttClient(running(), True, 4, 3, 16, 0, goes_round), b"lab/0/request/"),
        (StompClient(running(), True, 4, 3, 16, False, goes_round), b"/queue/transient.request."),
        (AmqpClient(running(), True, 4, 3, 16, False, goes_round), b"transient.request."),
        (NatsClient(running(), True, 4, 3, 16, goes_round), b"PUB REQ."),
        (JetStreamClient(running(), True, 4, 3, 16, goes_round), b"PUB LABREQ."),
    ]
    for client, before in clients:
        assert before + pair in client.begin(0)
    wanted = LoadSpec("", ("", 0), range(1), range(1), 3, 16, False, goes_round=goes_round)
    assert b"%d" % pair_of(wanted, 4, 1) == pair
