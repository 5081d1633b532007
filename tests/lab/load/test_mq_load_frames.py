"""Lean clients of Ostler: what they send, and what they make of what they receive, whole and byte by byte."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lab.load.recorded import latencies_ns

from ostler.lab.load.client import LoadFailed, Pace, reply_for
from ostler.lab.load.mq.client import MqCarrier, MqClient, MqTerms
from ostler.lab.load.mq.frames import MqReader, PutFrames
from ostler.lab.load.mq.one_way import MqConsumer, MqProducer
from ostler.lab.load.mq.request_reply import MqRequester, MqResponder
from ostler.lab.load.mq.session import MqSession
from ostler.lab.load.pacing import Pacing
from ostler.lab.runner.contract import ROUND_TRIP, SESSION
from ostler.model.constants import MQCC_FAILED, MQCC_OK, MQPMO_ASYNC_RESPONSE, MQPMO_NEW_MSG_ID, MQPMO_SYNCPOINT
from ostler.model.structures.md import MQMD
from ostler.wire import connect_frames, frames, object_frames, put_get_frames, replies, segments

GOOD = struct.pack("<ii", MQCC_OK, 0)


def running(clients: int = 1, main_operation: str = ROUND_TRIP) -> Pace:
    pace = Pace(Pacing(main_operation))
    pace.goes_on, pace.active = True, clients
    return pace


def fed(client: MqClient, data: bytes, piecewise: bool, now_ns: int = 0) -> bytes:
    """Return the answer of a client to bytes that come at once, or one after the other."""
    if not piecewise:
        return client.receive(data, now_ns)
    return b"".join(client.receive(data[at : at + 1], now_ns) for at in range(len(data)))


both_ways = pytest.mark.parametrize("piecewise", [False, True], ids=["whole", "byte by byte"])


def made(pace: Pace, is_requester: bool, **more: bool | int) -> MqClient:
    """A client of two queue pairs, connected; handles are 10 and up."""
    terms = MqTerms(**{"pairs": 2, "body_bytes": 16, "persistent": False, "channel": "CHANNEL", **more})  # type: ignore[arg-type]
    return opened(MqRequester(pace, 1, terms) if is_requester else MqResponder(pace, 1, terms))


def opened(client: MqClient) -> MqClient:
    """The conversation of a client until its queues are open."""
    [(kind, _, payload)] = read_frames(client.opening())
    assert kind == frames.HELLO
    hello = connect_frames.decode_hello(payload)
    assert hello.channel == "CHANNEL"
    answer = client.receive(frames.frame(frames.HELLO | frames.REPLY, 0, 1, GOOD + hello.encode()), 0)
    [(kind, _, _)] = read_frames(answer)
    assert kind == frames.CONNECT
    connected = GOOD + connect_frames.ConnectReply().encode()
    asked = read_frames(client.receive(frames.frame(frames.CONNECT | frames.REPLY, 1, 1, connected), 0))
    number = 10
    while asked:
        kind, request, _ = asked.pop(0)
        assert kind == frames.OPEN
        found = object_frames.OpenReply()
        found.hobj = number
        number += 1
        reply = frames.frame(frames.OPEN | frames.REPLY, 1, request, GOOD + found.encode())
        answer = client.receive(reply, 0)
        if not client.is_ready:
            asked += read_frames(answer)
    assert client.is_ready
    if not client.is_session:
        assert (answer == b"") == client.is_requester, "who only answers begins to wait at once"
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
    return put_get_frames.put_reply_frame(1, 1, completion, 0 if completion == MQCC_OK else 2053, bytes(md))


def got(message_id: bytes, correlation_id: bytes, body: bytes) -> bytes:
    md = MQMD.default(2)
    MQMD.patch(md, "MsgId", message_id)
    MQMD.patch(md, "CorrelId", correlation_id)
    fixed = (MQCC_OK, 0, len(body), 32, 32, 32, put_get_frames.NO_TOKEN, b"", bytes(md), body)
    return put_get_frames.get_reply_frame(frames.GET | frames.REPLY, 1, 2, *fixed)


MESSAGE_ID = bytes(range(24))


@both_ways
def test_a_requester_gets_by_the_message_id_of_its_put(piecewise: bool) -> None:
    pace = running()
    client = made(pace, True)
    [(kind, _, put)] = read_frames(client.begin(0))
    assert kind == frames.PUT
    assert put[: put_get_frames.PUT_MD] == struct.pack("<iiii", 10, 4 | MQPMO_NEW_MSG_ID, 0, 0)
    assert put[put_get_frames.PUT_FIXED_BYTES :] == reply_for(1, 16)
    assert MQMD.read_bytes(put[put_get_frames.PUT_MD :], "ReplyToQ").rstrip(b" \0") == b"LAB.REPLY.0"
    [(kind, _, get)] = read_frames(fed(client, put_reply(MESSAGE_ID), piecewise))
    assert kind == frames.GET
    assert struct.unpack_from("<i", get) == (12,)
    assert get[put_get_frames.GET_CORRELATION_ID : put_get_frames.GET_GROUP_ID] == MESSAGE_ID
    answer = fed(client, got(bytes(24), MESSAGE_ID, reply_for(1, 16)), piecewise, 9)
    [(kind, _, put)] = read_frames(answer)
    assert (kind, struct.unpack_from("<i", put)) == (frames.PUT, (11,)), "the next pair of queues"
    assert latencies_ns(pace) == [9]


@both_ways
def test_a_pipelined_requester_sends_put_and_get_together(piecewise: bool) -> None:
    pace = running()
    client = made(pace, True, pipelined=True)
    (put_kind, put_request, put), (get_kind, _, get) = read_frames(client.begin(0))
    assert (put_kind, get_kind) == (frames.PUT, frames.GET)
    assert put_request == 0
    assert struct.unpack_from("<i", put, 4)[0] & MQPMO_ASYNC_RESPONSE
    own = MQMD.read_bytes(put[put_get_frames.PUT_MD :], "MsgId")
    assert own == get[put_get_frames.GET_CORRELATION_ID : put_get_frames.GET_GROUP_ID] != bytes(24)
    assert len(read_frames(fed(client, got(bytes(24), own, reply_for(1, 16)), piecewise, 3))) == 2
    assert latencies_ns(pace) == [3]


def test_a_pipelined_persistent_put_is_waited_for() -> None:
    pace = running()
    client = made(pace, True, persistent=True, pipelined=True)
    put, _ = read_frames(client.begin(0))
    own = MQMD.read_bytes(put[2][put_get_frames.PUT_MD :], "MsgId")
    assert put[1] != 0
    assert MQMD.read_int(put[2][put_get_frames.PUT_MD :], "Persistence") == 1
    assert client.receive(got(bytes(24), own, reply_for(1, 16)), 5) == b""
    assert client.receive(put_reply(own), 8) != b""
    assert latencies_ns(pace) == [8]


def test_a_responder_works_verb_by_verb() -> None:
    client = made(running(0), False)
    [(kind, _, put)] = read_frames(client.receive(got(MESSAGE_ID, bytes(24), b"r" * 16), 0))
    assert kind == frames.PUT
    assert MQMD.read_bytes(put[put_get_frames.PUT_MD :], "CorrelId") == MESSAGE_ID
    assert put[put_get_frames.PUT_FIXED_BYTES :] == b"r" * 16
    [(kind, _, _)] = read_frames(client.receive(put_reply(bytes(24)), 0))
    assert kind == frames.GET


def test_a_persistent_responder_commits() -> None:
    client = made(running(0), False, persistent=True, responder_units=True)
    [(_, _, put)] = read_frames(client.receive(got(MESSAGE_ID, bytes(24), b"r" * 16), 0))
    assert struct.unpack_from("<i", put, 4)[0] & MQPMO_SYNCPOINT
    [(kind, _, _)] = read_frames(client.receive(put_reply(bytes(24)), 0))
    assert kind == frames.COMMIT
    [(kind, _, _)] = read_frames(client.receive(replies.reply_frame(frames.COMMIT, 1, 3, MQCC_OK, 0), 0))
    assert kind == frames.GET
    client = made(running(0), False, persistent=True, responder_units=True, pipelined=True)
    sent = read_frames(client.receive(got(MESSAGE_ID, bytes(24), b"r" * 16), 0))
    assert [kind for kind, _, _ in sent] == [frames.PUT, frames.COMMIT, frames.GET]
    assert client.receive(replies.reply_frame(frames.COMMIT, 1, 3, MQCC_OK, 0), 0) == b""


def test_a_verb_that_fails_is_told_with_its_reason() -> None:
    client = made(running(), True)
    client.begin(0)
    with pytest.raises(LoadFailed, match=r"MQPUT with MQRC_Q_FULL \(2053\)"):
        client.receive(put_reply(bytes(24), MQCC_FAILED), 0)
    client.begin(0)
    client.receive(put_reply(MESSAGE_ID), 0)
    with pytest.raises(LoadFailed, match="another correlation id"):
        client.receive(got(bytes(24), bytes(24), reply_for(1, 16)), 0)


# -- units of work, identifiers and queues -----------------------------------------------------------------------------


def committed() -> bytes:
    return replies.reply_frame(frames.COMMIT, 1, 3, MQCC_OK, 0)


def test_a_requester_in_units_of_work_commits_put_and_get() -> None:
    pace = running()
    client = made(pace, True, requester_units=True)
    [(_, _, put)] = read_frames(client.begin(0))
    assert struct.unpack_from("<i", put, 4)[0] & MQPMO_SYNCPOINT
    assert [kind for kind, _, _ in read_frames(client.receive(put_reply(MESSAGE_ID), 1))] == [frames.COMMIT]
    assert [kind for kind, _, _ in read_frames(client.receive(committed(), 2))] == [frames.GET]
    assert [kind for kind, _, _ in read_frames(client.receive(got(bytes(24), MESSAGE_ID, reply_for(1, 16)), 3))] == [
        frames.COMMIT
    ]
    assert latencies_ns(pace) == [], "the get is not committed yet"
    assert [kind for kind, _, _ in read_frames(client.receive(committed(), 4))] == [frames.PUT]
    assert latencies_ns(pace) == [4]


@pytest.mark.parametrize("reply_first", [False, True])
def test_a_pipelined_requester_in_units_of_work_waits_for_both_commits(reply_first: bool) -> None:
    pace = running()
    client = made(pace, True, requester_units=True, pipelined=True)
    sent = read_frames(client.begin(0))
    assert [kind for kind, _, _ in sent] == [frames.PUT, frames.COMMIT, frames.GET]
    own = MQMD.read_bytes(sent[0][2][put_get_frames.PUT_MD :], "MsgId")
    reply = got(bytes(24), own, reply_for(1, 16))
    first, second = (reply, committed()) if reply_first else (committed(), reply)
    assert client.receive(first, 1) == b""
    assert [kind for kind, _, _ in read_frames(client.receive(second, 2))] == [frames.COMMIT]
    assert latencies_ns(pace) == []
    client.receive(committed(), 3)
    assert latencies_ns(pace) == [3]


def test_a_requester_with_its_own_reply_queue_takes_the_next_message() -> None:
    client = made(running(), True, own_replies=True)
    [(_, _, put)] = read_frames(client.begin(0))
    assert MQMD.read_bytes(put[put_get_frames.PUT_MD :], "ReplyToQ").rstrip(b" \0") == b"LAB.REPLY.OWN.1"
    [(_, _, get)] = read_frames(client.receive(put_reply(MESSAGE_ID), 0))
    assert struct.unpack_from("<i", get, put_get_frames.GET_HOBJ) == (12,), "behind the two request queues"
    assert struct.unpack_from("<i", get, put_get_frames.GET_MATCH) == (0,)


def test_who_does_not_go_round_stays_with_its_pair() -> None:
    client = made(running(), True, goes_round=False)
    assert client.opens() == [("LAB.REQUEST.1", client.opens()[0][1]), ("LAB.REPLY.1", client.opens()[1][1])]
    terms = MqTerms(4, 16, False, managers=10)
    assert [terms.pair(number) for number in (0, 9, 10, 39, 40)] == [0, 0, 1, 3, 0]


def test_a_long_message_is_sent_and_read_in_segments() -> None:
    size = 300_000
    client = made(running(), True, body_bytes=size)
    reader = MqReader()
    data = client.begin(0)
    for at in range(0, len(data), 70_000):
        reader.feed(data[at : at + 70_000])
        if reader.next():
            break
    assert reader.type == frames.PUT
    assert reader.data(reader.start + put_get_frames.PUT_FIXED_BYTES) == reply_for(1, size)
    client.receive(put_reply(MESSAGE_ID), 0)
    whole = got(bytes(24), MESSAGE_ID, reply_for(1, size))[frames.HEADER_BYTES :]
    pieces = segments.frames_of(frames.GET | frames.REPLY, 1, 2, whole, frames.SEGMENT_BYTES)
    heartbeat = frames.frame(frames.HEARTBEAT, 0, 7)
    assert len(pieces) == 3
    assert [client.receive(piece, 5) for piece in pieces[:2]] == [b"", b""]
    [(kind, request, _)] = read_frames(client.receive(heartbeat, 6))
    assert (kind, request) == (frames.HEARTBEAT | frames.REPLY, 7), "between segments"
    assert client.receive(pieces[2], 9)
    assert latencies_ns(client.pace) == [9]


ROOM = frames.SEGMENT_BYTES - frames.HEADER_BYTES
FIRST = ROOM - put_get_frames.PUT_FIXED_BYTES
sizes = st.one_of(st.integers(0, 64), *[st.integers(at - 2, at + 2) for at in (FIRST, FIRST + ROOM, FIRST + 2 * ROOM)])


@given(size=sizes, front=st.integers(0, 40), steps=st.lists(st.integers(1, 200_000), min_size=1))
def test_messages_of_any_length_come_out_as_they_went_in(size: int, front: int, steps: list[int]) -> None:
    md = bytes(MQMD.default(2))
    ids = bytes(range(100, 148))
    data = bytes(at % 251 for at in range(min(size, 500))) + bytes(max(0, size - 500))
    put = PutFrames(7, 3, 10, MQPMO_SYNCPOINT, md, size)
    behind = frames.frame(frames.COMMIT, 7, 3)
    front = min(front, size)
    made = put.filled(ids, data, behind)
    if put.is_long:
        assert put.filled_long(ids, data[:front], data[front:], behind) == made
    stored = md[:48] + ids + md[96:]
    payload = put_get_frames.put_payload(10, MQPMO_SYNCPOINT, 0, stored, b"", data)
    assert made == b"".join([*segments.frames_of(frames.PUT, 7, 3, payload, frames.SEGMENT_BYTES), behind])
    reader = MqReader()
    at = turn = 0
    found = []
    while at < len(made):
        step = steps[turn % len(steps)] + 1000
        reader.feed(made[at : at + step])
        at, turn = at + step, turn + 1
        while reader.next():
            found.append((reader.type, reader.conversation, reader.request, reader.data(reader.start)))
            assert reader.size == len(found[-1][3])
    assert found == [(frames.PUT, 7, 3, payload), (frames.COMMIT, 7, 3, b"")]


# -- shared connections, one way, sessions -----------------------------------------------------------------------------


def test_a_channel_that_shares_less_is_told() -> None:
    terms = MqTerms(1, 16, False)
    carrier = MqCarrier(Pace(), "CHANNEL", [MqRequester(Pace(), number, terms, number + 1) for number in range(3)])
    [(_, _, payload)] = read_frames(carrier.opening())
    hello = connect_frames.decode_hello(payload)
    assert hello.conversations_max == 3
    hello.conversations_max = 2
    with pytest.raises(LoadFailed, match="3 clients were to share a connection, and the channel lets 2"):
        carrier.receive(frames.frame(frames.HELLO | frames.REPLY, 0, 1, GOOD + hello.encode()), 0)


def status_reply(succeeded: int, failed: int) -> bytes:
    status = object_frames.StatusReply()
    status.succeeded, status.failed, status.reason = succeeded, failed, 2053 if failed else 0
    return frames.frame(frames.STATUS | frames.REPLY, 1, 4, GOOD + status.encode())


def test_a_producer_asks_what_became_of_its_batch() -> None:
    pace = running()
    client = opened(MqProducer(pace, 0, MqTerms(1, 16, False, channel="CHANNEL", async_put=True)))
    sent = read_frames(client.begin(77))
    assert [kind for kind, _, _ in sent] == [frames.PUT] * 32 + [frames.STATUS]
    assert {request for kind, request, _ in sent if kind == frames.PUT} == {0}
    assert sent[0][2][put_get_frames.PUT_FIXED_BYTES :] == (77).to_bytes(8, "big") + bytes(8)
    assert pace.outstanding == 32
    client.receive(status_reply(32, 0), 100)
    assert latencies_ns(pace) == [23] * 32
    assert pace.completed == 32
    with pytest.raises(LoadFailed, match=r"put 31 of 32 messages and answered MQPUT with MQRC_Q_FULL \(2053\)"):
        client.receive(status_reply(31, 1), 100)


def test_a_consumer_gives_credit_for_what_it_took() -> None:
    pace = running(0)
    client = MqConsumer(pace, 0, MqTerms(1, 16, False, channel="CHANNEL", read_ahead=True))
    opened(client)
    [(kind, request, asked)] = read_frames(client.first(0))
    assert (kind, struct.unpack_from("<ii", asked)) == (frames.STREAM, (32, 10))
    md = bytes(MQMD.default(2))
    fixed = (MQCC_OK, 0, 16, 32, 32, 32, put_get_frames.NO_TOKEN, b"", md, (7).to_bytes(8, "big") + bytes(8))
    message = put_get_frames.get_reply_frame(frames.MESSAGE, 1, request, *fixed)
    assert client.receive(message * 15, 9) == b""
    [(kind, _, given)] = read_frames(client.receive(message, 9))
    assert (kind, struct.unpack("<ii", given)) == (frames.CREDIT, (request, 16))
    assert pace.outstanding == -16


def test_a_session_closes_its_queues_and_leaves() -> None:
    pace = running(main_operation=SESSION)
    session = MqSession(pace, 0, MqTerms(1, 16, False, channel="CHANNEL", session_round_trips=1))
    assert session.begin(5) == b"", "there is no connection yet"
    opened(session)
    session.receive(put_reply(MESSAGE_ID), 6)
    answer = session.receive(got(bytes(24), MESSAGE_ID, reply_for(1, 16)), 7)
    closed = []
    while True:
        [(kind, request, payload)] = read_frames(answer)
        if kind == frames.DISCONNECT:
            break
        closed.append(struct.unpack_from("<i", payload)[0])
        answer = session.receive(replies.reply_frame(frames.CLOSE, 1, request, MQCC_OK, 0), 8)
    assert closed == [10, 11]
    assert latencies_ns(pace) == []
    assert session.receive(replies.reply_frame(frames.DISCONNECT, 1, request, MQCC_OK, 0), 9) == b""
    assert session.is_over
    assert latencies_ns(pace) == [4]


def test_a_farewell_is_told_in_its_words() -> None:
    client = made(running(0), False)
    farewell = frames.frame(frames.FAREWELL, 0, 0, replies.reason_payload(2009, "The channel was stopped."))
    with pytest.raises(LoadFailed, match=r"MQRC_CONNECTION_BROKEN \(2009\): The channel was stopped"):
        client.receive(farewell, 0)
