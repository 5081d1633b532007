"""The lean clients of the load: what they send, and what they make of what they receive, whole and byte by byte."""

from __future__ import annotations

import struct

import pytest

from ostler.lab.load import amqp_frames as amqp
from ostler.lab.load.amqp_client import AmqpClient
from ostler.lab.load.bare_client import HELLO, REQUESTER, WELCOME, BareClient
from ostler.lab.load.client import LoadClient, LoadFailed, Pace, reply_for
from ostler.lab.load.jetstream_client import JetStreamClient
from ostler.lab.load.mq_client import PIPELINED, VERBS, MqClient
from ostler.lab.load.nats_client import NatsClient
from ostler.model.constants import MQCC_FAILED, MQCC_OK, MQPMO_ASYNC_RESPONSE, MQPMO_NEW_MSG_ID, MQPMO_SYNCPOINT
from ostler.model.structures.md import MQMD
from ostler.wire import calls, exchanges, frames


def running(clients: int = 1) -> Pace:
    pace = Pace()
    pace.goes_on = True
    pace.active = clients
    return pace


def fed(client: LoadClient, data: bytes, piecewise: bool, now_ns: int = 0) -> bytes:
    """What a client answers to bytes that come at once, or one after the other."""
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
    assert pace.latencies_ns == [50]
    pace.goes_on = False
    assert fed(client, reply_for(2, 16), piecewise, 170) == b""
    assert pace.latencies_ns == [50, 20]
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
    assert pace.latencies_ns == [5]
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
    assert pace.latencies_ns == [6]


@both_ways
def test_a_jetstream_responder_acknowledges_when_its_reply_is_stored(piecewise: bool) -> None:
    client = streaming(False, running(0))
    body = b"0000000700000009" + bytes(4)
    request = b"MSG LABREQ.1 3 $JS.ACK.y 20\r\n%b\r\n" % body
    reply = b"PUB LABREP.00000007.00000009 _INBOX.r3.s.1 20\r\n%b\r\n" % body
    assert fed(client, request, piecewise) == reply
    assert fed(client, b"MSG _INBOX.r3.s.1 2 2\r\n{}\r\n", piecewise) == b"PUB $JS.ACK.y 4\r\n+ACK\r\n"


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
    assert pace.latencies_ns == [20]
    assert fed(client, delivery(5, b"2", b"", reply_for(2, 16)), piecewise, 40) == amqp.acknowledge(1, 5)
    assert fed(client, confirm(2), piecewise, 45) != b"", "the reply was there before the confirm"
    assert pace.latencies_ns == [20, 15]


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
    assert pace.latencies_ns == [5]


def test_what_rabbitmq_refuses_is_told() -> None:
    client = AmqpClient(running(), True, 0, 1, 16, False)
    closed = struct.pack(">H", 403) + amqp.short_string(b"ACCESS_REFUSED")
    with pytest.raises(LoadFailed, match="ACCESS_REFUSED"):
        client.receive(amqp.method(0, amqp.CONNECTION_CLOSE, closed), 0)
    client = opened(AmqpClient(running(), True, 0, 1, 16, False), False)
    client.begin(0)
    with pytest.raises(LoadFailed, match="was due"):
        client.receive(delivery(1, b"7", b"", b"x"), 0)


# -- Ostler --------------------------------------------------------------------------------------------------------


def ready(pace: Pace, is_requester: bool, persistent: bool, mode: str) -> MqClient:
    """A client of two queue pairs, connected; handles are 10 and up."""
    client = MqClient(pace, is_requester, 1, 2, 16, persistent, mode, "CHANNEL")
    reader = frames.FrameReader(65536)
    reader.feed(client.opening())
    assert reader.next()
    hello = exchanges.decode_hello(reader.buffer[reader.start : reader.end])
    assert hello.channel == "CHANNEL"
    good = struct.pack("<ii", MQCC_OK, 0)
    reader.feed(client.receive(frames.frame(frames.HELLO | frames.REPLY, 0, 1, good + hello.encode()), 0))
    assert reader.next()
    assert reader.type == frames.CONNECT
    connected = good + exchanges.Connected().encode()
    reader.feed(client.receive(frames.frame(frames.CONNECT | frames.REPLY, reader.conversation, 1, connected), 0))
    number = 10
    while reader.next():
        assert reader.type == frames.OPEN
        found = exchanges.Opened()
        found.hobj = number
        number += 1
        reply = frames.frame(frames.OPEN | frames.REPLY, reader.conversation, reader.request, good + found.encode())
        answer = client.receive(reply, 0)
    assert client.is_ready
    assert (answer == b"") == is_requester, "responders begin to wait at once"
    return client


def read_frames(data: bytes) -> list[tuple[int, int, bytes]]:
    reader = frames.FrameReader(65536)
    reader.feed(data)
    found = []
    while reader.next():
        found.append((int(reader.type), int(reader.request), reader.buffer[reader.start : reader.end]))
    assert reader.pending_bytes() == 0
    return found


def put_reply(message_id: bytes, completion: int = MQCC_OK) -> bytes:
    md = MQMD.default(2)
    MQMD.patch(md, "MsgId", message_id)
    return calls.put_reply_frame(1, 1, completion, 0 if completion == MQCC_OK else 2053, bytes(md))


def got(message_id: bytes, correlation_id: bytes, body: bytes) -> bytes:
    md = MQMD.default(2)
    MQMD.patch(md, "MsgId", message_id)
    MQMD.patch(md, "CorrelId", correlation_id)
    fixed = (MQCC_OK, 0, len(body), 32, 32, 32, calls.NO_TOKEN, b"", bytes(md), body)
    return calls.get_reply_frame(frames.GET | frames.REPLY, 1, 2, *fixed)


MESSAGE_ID = bytes(range(24))


@both_ways
def test_a_requester_gets_by_the_message_id_of_its_put(piecewise: bool) -> None:
    pace = running()
    client = ready(pace, True, False, VERBS)
    [(kind, _, put)] = read_frames(client.begin(0))
    assert kind == frames.PUT
    assert put[: calls.PUT_MD] == struct.pack("<iiii", 10, 4 | MQPMO_NEW_MSG_ID, 0, 0)
    assert put[calls.PUT_FIXED_BYTES :] == reply_for(1, 16)
    assert MQMD.read_bytes(put[calls.PUT_MD :], "ReplyToQ").rstrip(b" \0") == b"LAB.REPLY.0"
    [(kind, _, get)] = read_frames(fed(client, put_reply(MESSAGE_ID), piecewise))
    assert kind == frames.GET
    assert struct.unpack_from("<i", get) == (12,)
    assert get[calls.GET_CORRELATION_ID : calls.GET_GROUP_ID] == MESSAGE_ID
    answer = fed(client, got(bytes(24), MESSAGE_ID, reply_for(1, 16)), piecewise, 9)
    [(kind, _, put)] = read_frames(answer)
    assert (kind, struct.unpack_from("<i", put)) == (frames.PUT, (11,)), "the next pair of queues"
    assert pace.latencies_ns == [9]


@both_ways
def test_a_pipelined_requester_sends_put_and_get_together(piecewise: bool) -> None:
    pace = running()
    client = ready(pace, True, False, PIPELINED)
    (put_kind, put_request, put), (get_kind, _, get) = read_frames(client.begin(0))
    assert (put_kind, get_kind) == (frames.PUT, frames.GET)
    assert put_request == 0
    assert struct.unpack_from("<i", put, 4)[0] & MQPMO_ASYNC_RESPONSE
    own = MQMD.read_bytes(put[calls.PUT_MD :], "MsgId")
    assert own == get[calls.GET_CORRELATION_ID : calls.GET_GROUP_ID] != bytes(24)
    assert len(read_frames(fed(client, got(bytes(24), own, reply_for(1, 16)), piecewise, 3))) == 2
    assert pace.latencies_ns == [3]


def test_a_pipelined_persistent_put_is_waited_for() -> None:
    pace = running()
    client = ready(pace, True, True, PIPELINED)
    put, _ = read_frames(client.begin(0))
    own = MQMD.read_bytes(put[2][calls.PUT_MD :], "MsgId")
    assert put[1] != 0
    assert MQMD.read_int(put[2][calls.PUT_MD :], "Persistence") == 1
    assert client.receive(got(bytes(24), own, reply_for(1, 16)), 5) == b""
    assert client.receive(put_reply(own), 8) != b""
    assert pace.latencies_ns == [8]


def test_a_responder_works_verb_by_verb() -> None:
    client = ready(running(0), False, False, VERBS)
    [(kind, _, put)] = read_frames(client.receive(got(MESSAGE_ID, bytes(24), b"r" * 16), 0))
    assert kind == frames.PUT
    assert MQMD.read_bytes(put[calls.PUT_MD :], "CorrelId") == MESSAGE_ID
    assert put[calls.PUT_FIXED_BYTES :] == b"r" * 16
    [(kind, _, _)] = read_frames(client.receive(put_reply(bytes(24)), 0))
    assert kind == frames.GET


def test_a_persistent_responder_commits() -> None:
    client = ready(running(0), False, True, VERBS)
    [(_, _, put)] = read_frames(client.receive(got(MESSAGE_ID, bytes(24), b"r" * 16), 0))
    assert struct.unpack_from("<i", put, 4)[0] & MQPMO_SYNCPOINT
    [(kind, _, _)] = read_frames(client.receive(put_reply(bytes(24)), 0))
    assert kind == frames.COMMIT
    [(kind, _, _)] = read_frames(client.receive(calls.reply_frame(frames.COMMIT, 1, 3, MQCC_OK, 0), 0))
    assert kind == frames.GET
    client = ready(running(0), False, True, PIPELINED)
    sent = read_frames(client.receive(got(MESSAGE_ID, bytes(24), b"r" * 16), 0))
    assert [kind for kind, _, _ in sent] == [frames.PUT, frames.COMMIT, frames.GET]
    assert client.receive(calls.reply_frame(frames.COMMIT, 1, 3, MQCC_OK, 0), 0) == b""


def test_a_verb_that_fails_is_told_with_its_reason() -> None:
    client = ready(running(), True, False, VERBS)
    client.begin(0)
    with pytest.raises(LoadFailed, match="PUT with reason 2053"):
        client.receive(put_reply(bytes(24), MQCC_FAILED), 0)
    client.begin(0)
    client.receive(put_reply(MESSAGE_ID), 0)
    with pytest.raises(LoadFailed, match="another correlation id"):
        client.receive(got(bytes(24), bytes(24), reply_for(1, 16)), 0)
