"""The lean clients of the load: what they send, and what they make of what they receive, whole and byte by byte."""

from __future__ import annotations

import struct

import pytest
from tests.lab.load.recorded import latencies_ns

from ostler.lab.load.amqp import frames as amqp
from ostler.lab.load.amqp.client import AmqpClient
from ostler.lab.load.bare.client import HELLO, REQUESTER, WELCOME, BareClient
from ostler.lab.load.client import LoadClient, LoadFailed, Pace, reply_for
from ostler.lab.load.nats.client import NatsClient
from ostler.lab.load.nats.jetstream import JetStreamClient


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


def test_a_body_shows_which_request_it_belongs_to() -> None:
    assert reply_for(7, 20) == b"0000000000000007" + bytes(4)
    assert len(reply_for(7, 3)) == 3
    assert reply_for(8, 2048) != reply_for(7, 2048)


# -- bare ----------------------------------------------------------------------------------------------------------


@both_ways
def test_a_bare_requester_measures_and_goes_on(piecewise: bool) -> None:
    pace = running()
    client = BareClient(pace, True, 3, 16)
    assert client.opening() == HELLO.pack(REQUESTER, 3)
    assert fed(client, WELCOME, piecewise) == b""
    assert client.is_ready
    first = client.begin(100)
    assert fed(client, first, piecewise, 150) == reply_for(2, 16)
    assert latencies_ns(pace) == [50]
    pace.goes_on = False
    assert fed(client, reply_for(2, 16), piecewise, 170) == b""
    assert latencies_ns(pace) == [20, 50]
    assert pace.active == 0


def test_another_block_is_noticed() -> None:
    client = BareClient(running(), True, 0, 16)
    client.receive(WELCOME, 0)
    client.begin(0)
    with pytest.raises(LoadFailed, match="another block"):
        client.receive(bytes(16), 0)


# -- NATS ----------------------------------------------------------------------------------------------------------


@both_ways
def test_a_nats_requester_goes_through_the_subjects(piecewise: bool) -> None:
    pace = running()
    client = NatsClient(pace, True, 1, 2, 16)
    assert b"SUB _INBOX.1.* 1\r\nPING\r\n" in client.opening()
    assert fed(client, b'INFO {"server_id":"x"}\r\nPONG\r\n', piecewise) == b""
    assert client.is_ready
    assert client.begin(0) == b"PUB REQ.0 _INBOX.1.1 16\r\n0000000000000001\r\n"
    reply = b"MSG _INBOX.1.1 1 16\r\n0000000000000001\r\n"
    assert fed(client, reply, piecewise, 5) == b"PUB REQ.1 _INBOX.1.2 16\r\n0000000000000002\r\n"
    assert latencies_ns(pace) == [5]
    assert fed(client, b"PING\r\n", piecewise) == b"PONG\r\n"


@both_ways
def test_a_nats_responder_answers_all_it_received(piecewise: bool) -> None:
    client = NatsClient(running(0), False, 1, 2, 3)
    assert b"SUB REQ.1 W 1\r\n" in client.opening()
    data = b"MSG REQ.1 1 _INBOX.7.1 3\r\nabc\r\nMSG REQ.1 1 _INBOX.8.4 2\r\n\r\n\r\n"
    assert fed(client, data, piecewise) == b"PUB _INBOX.7.1 3\r\nabc\r\nPUB _INBOX.8.4 2\r\n\r\n\r\n"


def test_nats_errors_and_wrong_replies_are_told() -> None:
    client = NatsClient(running(), True, 1, 2, 3)
    with pytest.raises(LoadFailed, match="Slow Consumer"):
        client.receive(b"-ERR 'Slow Consumer'\r\n", 0)
    client.begin(0)
    with pytest.raises(LoadFailed, match="was due"):
        client.receive(b"MSG _INBOX.1.9 1 3\r\nabc\r\n", 0)


# -- JetStream -----------------------------------------------------------------------------------------------------


def streaming(is_requester: bool, pace: Pace) -> JetStreamClient:
    client = JetStreamClient(pace, is_requester, 3, 2, 20)
    sent = client.opening()
    for _ in range(3):
        assert sent.count(b"$JS.API.") == 1, "one request after the other"
        name = b"q3" if is_requester else b"r3"
        sent = client.receive(b"MSG _INBOX.%b.api 1 2\r\n{}\r\n" % name, 0)
    assert client.is_ready
    return client


@both_ways
def test_a_jetstream_requester_waits_for_storage_and_reply(piecewise: bool) -> None:
    pace = running()
    client = streaming(True, pace)
    body = b"0000000300000001" + bytes(4)
    assert client.begin(0) == b"PUB LABREQ.0 _INBOX.q3.s.1 20\r\n%b\r\n" % body
    delivered = b"MSG LABREP.00000003.00000001 3 $JS.ACK.x 20\r\n%b\r\n" % body
    assert fed(client, delivered, piecewise, 4) == b"PUB $JS.ACK.x 4\r\n+ACK\r\n"
    assert fed(client, b"MSG _INBOX.q3.s.1 2 2\r\n{}\r\n", piecewise, 6).startswith(b"PUB LABREQ.1 ")
    assert latencies_ns(pace) == [6]


@both_ways
def test_a_jetstream_responder_acknowledges_when_its_reply_is_stored(piecewise: bool) -> None:
    client = streaming(False, running(0))
    body = b"0000000700000009" + bytes(4)
    request = b"MSG LABREQ.1 3 $JS.ACK.y 20\r\n%b\r\n" % body
    reply = b"PUB LABREP.00000007.00000009 _INBOX.r3.s.1 20\r\n%b\r\n" % body
    assert fed(client, request, piecewise) == reply
    assert fed(client, b"MSG _INBOX.r3.s.1 2 2\r\n{}\r\n", piecewise) == b"PUB $JS.ACK.y 4\r\n+ACK\r\n"


def test_a_stream_that_another_connection_is_making_is_asked_for_again() -> None:
    client = JetStreamClient(running(), True, 3, 2, 20)
    first = client.opening().partition(b"PUB ")[2]
    refusal = b'{"error":{"code":400,"err_code":10065,"description":"subjects overlap with an existing stream"}}'
    answer = b"MSG _INBOX.q3.api 1 %d\r\n%b\r\n" % (len(refusal), refusal)
    assert client.receive(answer, 1_000) == b"PUB " + first
    assert client.receive(answer, 2_000) == b"PUB " + first
    with pytest.raises(LoadFailed, match="overlap"):
        client.receive(answer, 6_000_000_000)


def test_what_jetstream_refuses_is_told() -> None:
    client = JetStreamClient(running(), True, 3, 2, 20)
    refusal = b'{"error":{"code":503,"description":"no disk"}}'
    with pytest.raises(LoadFailed, match="no disk"):
        client.receive(b"MSG _INBOX.q3.api 1 %d\r\n%b\r\n" % (len(refusal), refusal), 0)
    with pytest.raises(LoadFailed, match="did not store"):
        client.receive(b"MSG _INBOX.q3.s.1 2 %d\r\n%b\r\n" % (len(refusal), refusal), 0)
    with pytest.raises(LoadFailed, match="no room"):
        JetStreamClient(running(), True, 3, 2, 15)


# -- AMQP ----------------------------------------------------------------------------------------------------------


def delivery(tag: int, correlation_id: bytes, reply_to: bytes, body: bytes) -> bytes:
    """A message as a broker delivers it."""
    arguments = amqp.short_string(b"c") + struct.pack(">QB", tag, 0) + amqp.short_string(b"") + amqp.short_string(b"q")
    return amqp.method(1, amqp.BASIC_DELIVER, arguments) + amqp.content(1, True, correlation_id, reply_to, body)


def confirm(tag: int, multiple: bool = False) -> bytes:
    return amqp.method(1, amqp.BASIC_ACK, struct.pack(">QB", tag, multiple))


def opened(client: AmqpClient, durable: bool = True) -> AmqpClient:
    steps = [
        (0, amqp.CONNECTION_START), (0, amqp.CONNECTION_TUNE), (0, amqp.CONNECTION_OPEN_OK), (1, amqp.CHANNEL_OPEN_OK),
        (1, amqp.QUEUE_DECLARE_OK), (1, amqp.QUEUE_PURGE_OK), (1, amqp.CONFIRM_SELECT_OK), (1, amqp.BASIC_CONSUME_OK),
    ]  # fmt: skip
    for channel, step in steps:
        if durable or step != amqp.CONFIRM_SELECT_OK:
            client.receive(amqp.method(channel, step, b""), 0)
    assert client.is_ready
    return client


def test_amqp_frames_are_read_as_they_are_made() -> None:
    data = amqp.publish_method(1, b"queue") + amqp.content(1, True, b"id", b"back", b"body")
    kinds = []
    at = 0
    while at < len(data):
        kind, payload, after = amqp.read_frame(data, at)
        kinds.append((kind, data[payload : after - 1], data[after - 1]))
        at = after
    assert [kind for kind, _, _ in kinds] == [amqp.METHOD, amqp.HEADER, amqp.BODY]
    assert {end for _, _, end in kinds} == {amqp.FRAME_END}
    assert amqp.read_method(kinds[0][1], 0) == amqp.BASIC_PUBLISH
    assert amqp.read_properties(kinds[1][1], 0) == (4, b"id", b"back")
    assert kinds[2][1] == b"body"
    assert amqp.read_frame(data[:-1], at - 12)[0] == 0, "a frame that is not whole"
    assert amqp.acknowledge(1, 9) == amqp.method(1, amqp.BASIC_ACK, struct.pack(">QB", 9, 0))


@both_ways
def test_an_amqp_requester_waits_for_confirm_and_reply(piecewise: bool) -> None:
    pace = running()
    client = opened(AmqpClient(pace, True, 0, 2, 16, True))
    request = client.begin(10)
    assert b"durable.request.1" in request
    assert request.endswith(amqp.frame(amqp.BODY, 1, reply_for(1, 16)))
    assert fed(client, confirm(1), piecewise, 20) == b""
    answer = fed(client, delivery(4, b"1", b"", reply_for(1, 16)), piecewise, 30)
    assert answer.startswith(amqp.acknowledge(1, 4))
    assert b"durable.request.0" in answer
    assert latencies_ns(pace) == [20]
    assert fed(client, delivery(5, b"2", b"", reply_for(2, 16)), piecewise, 40) == amqp.acknowledge(1, 5)
    assert fed(client, confirm(2), piecewise, 45) != b"", "the reply was there before the confirm"
    assert latencies_ns(pace) == [15, 20]


@both_ways
def test_an_amqp_responder_acknowledges_what_is_confirmed(piecewise: bool) -> None:
    client = opened(AmqpClient(running(0), False, 1, 2, 16, True))
    requests = b"".join(delivery(tag, b"%d" % tag, b"back", b"body") for tag in (1, 2, 3))
    assert fed(client, requests, piecewise).count(b"body") == 3
    assert fed(client, confirm(2, multiple=True), piecewise) == amqp.acknowledge(1, 1) + amqp.acknowledge(1, 2)
    assert fed(client, confirm(3), piecewise) == amqp.acknowledge(1, 3)


def test_a_transient_amqp_client_confirms_and_acknowledges_nothing() -> None:
    pace = running()
    client = opened(AmqpClient(pace, True, 0, 1, 16, False), False)
    client.begin(0)
    answer = client.receive(delivery(1, b"1", b"", reply_for(1, 16)), 5)
    assert answer.startswith(amqp.publish_method(1, b"transient.request.0"))
    assert latencies_ns(pace) == [5]


def test_what_rabbitmq_refuses_is_told() -> None:
    client = AmqpClient(running(), True, 0, 1, 16, False)
    closed = struct.pack(">H", 403) + amqp.short_string(b"ACCESS_REFUSED")
    with pytest.raises(LoadFailed, match="ACCESS_REFUSED"):
        client.receive(amqp.method(0, amqp.CONNECTION_CLOSE, closed), 0)
    client = opened(AmqpClient(running(), True, 0, 1, 16, False), False)
    client.begin(0)
    with pytest.raises(LoadFailed, match="was due"):
        client.receive(delivery(1, b"7", b"", b"x"), 0)
