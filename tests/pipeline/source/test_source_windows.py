"""Many verbs under way at once come to what one at a time comes to; and rows to what a program sees of messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.pipeline.source.queue_stage import options, put_all, texts

from ostler.client.aio.async_queue import put_parts
from ostler.client.api.message import Message
from ostler.client.session.session import StoredMessage
from ostler.model.constants import MQRC_MSG_TOO_BIG_FOR_CHANNEL, MQRC_MSG_TOO_BIG_FOR_Q, MQRC_Q_FULL
from ostler.model.errors import MQError
from ostler.pipeline.source.browsing import browse as browse_part
from ostler.pipeline.source.browsing import slices
from ostler.pipeline.source.columns import COLUMNS, Read, Rows
from ostler.pipeline.source.links import connect_with, open_queue
from ostler.pipeline.source.options import read_options
from ostler.pipeline.source.windows import browse, get_each, take
from ostler.pipeline.source.windows import put_all as put_stored
from ostler.testing import RunningQueueManager, queue_manager

COUNT = 300


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        yield running


@pytest.fixture(autouse=True)
def queues(qm: RunningQueueManager) -> Iterator[None]:
    with qm.isolated("DEFINE QLOCAL(Q1)\nDEFINE QLOCAL(Q2) MAXDEPTH(100) MAXMSGL(1000)"):
        yield


def numbered(count: int, first: int = 0) -> list[str]:
    return [f"m{number}" for number in range(first, first + count)]


def stored(*messages: Message) -> list[StoredMessage]:
    made = []
    for message in messages:
        md, block, body = put_parts(message)
        made.append(StoredMessage(md, body, block, b"", 0))
    return made


def bodies(found: Iterator[StoredMessage]) -> list[str]:
    return [each.body.decode() for each in found]


def test_browsing_shows_all_and_as_much_of_each_as_is_asked_for(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", numbered(COUNT))
    reading = read_options(options(qm, queue="Q1"))
    with connect_with(reading.connect) as connection, open_queue(connection, "Q1", "b") as queue:
        assert bodies(browse(queue)) == numbered(COUNT)
        assert bodies(browse(queue, 1)) == ["m"] * COUNT
        few = browse(queue)
        assert next(few).body == b"m0"
        few.close()  # type: ignore[attr-defined]
        assert bodies(browse(queue)) == numbered(COUNT), "what was under way is no matter"
    assert qm.depth("Q1") == COUNT


@pytest.mark.parametrize(("messages_max", "bytes_max", "taken"), [(COUNT * 2, 1 << 30, COUNT), (70, 1 << 30, 70)])
def test_taking_goes_as_far_as_it_may(qm: RunningQueueManager, messages_max: int, bytes_max: int, taken: int) -> None:
    put_all(qm, "Q1", numbered(COUNT))
    reading = read_options(options(qm, queue="Q1"))
    with connect_with(reading.connect) as connection, open_queue(connection, "Q1", "s") as queue:
        with suppress(RuntimeError), connection.transaction():
            assert bodies(take(queue, messages_max, bytes_max)) == numbered(taken)
            raise RuntimeError
        assert texts(qm, "Q1") == numbered(COUNT), "all is back"
        with connection.transaction():
            assert bodies(take(queue, messages_max, bytes_max)) == numbered(taken)
    assert texts(qm, "Q1") == numbered(COUNT - taken, taken)


def test_taking_stops_soon_behind_the_bytes_it_may(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", ["x" * 1000] * COUNT)
    reading = read_options(options(qm, queue="Q1"))
    with (
        connect_with(reading.connect) as connection,
        open_queue(connection, "Q1", "s") as queue,
        connection.transaction(),
    ):
        taken = sum(1 for _ in take(queue, COUNT, 20_000))
    assert 10 <= taken <= 24
    assert qm.depth("Q1") == COUNT - taken


def test_messages_are_got_by_their_identifiers(qm: RunningQueueManager) -> None:
    ids = [bytes([number]) * 24 for number in range(1, 41)]
    for each in ids[::2]:
        qm.put("Q1", each.hex(), message_id=each)
    reading = read_options(options(qm, queue="Q1"))
    with (
        connect_with(reading.connect) as connection,
        open_queue(connection, "Q1", "s") as queue,
        connection.transaction(),
    ):
        found = [each.body.decode() if each else None for each in get_each(queue, ids)]
    assert found == [each.hex() if at % 2 == 0 else None for at, each in enumerate(ids)]
    assert qm.depth("Q1") == 0


def test_a_put_that_fails_spoils_the_unit_of_work(qm: RunningQueueManager) -> None:
    reading = read_options(options(qm, queue="Q1"))
    with connect_with(reading.connect) as connection, open_queue(connection, "Q2", "w") as queue:
        with pytest.raises(MQError) as full, connection.transaction():
            put_stored(queue, stored(Message("x")) * 150)
        assert full.value.reason == MQRC_Q_FULL
        assert qm.depth("Q2") == 0
        with pytest.raises(MQError) as long, connection.transaction():
            put_stored(queue, stored(Message("x"), Message("x" * 5000), Message("x")))
        assert long.value.reason == MQRC_MSG_TOO_BIG_FOR_Q
        with connection.transaction():
            assert put_stored(queue, stored(Message("x")) * 100) == 100
    assert qm.depth("Q2") == 100


def test_rows_are_what_a_program_sees(qm: RunningQueueManager) -> None:
    sent = [
        Message("Grüße", expiry=77, reply_to="R", reply_to_manager="M", properties={"a": "b", "n": 3, "none": None}),
        Message(b"\x00\xff", correlation_id=b"c" * 24, priority=0, persistent=True),
        Message("ünï", ccsid=819, feedback=9),
        Message(b"\xff\xfe", format="MQSTR"),
        Message(b"", message_type=1, reply_to="R"),
    ]
    for message in sent:
        qm.put("Q1", message)
    reading = read_options(options(qm, queue="Q1"))
    with connect_with(reading.connect) as connection, open_queue(connection, "Q1", "b") as queue:
        reads = [Read("Q1", at, taken) for at, taken in enumerate(browse(queue))]
    seen = {name: list(getter(Rows(reads))) for name, (_, getter) in COLUMNS.items()}
    messages = [read.message for read in reads]
    for name in ("put_time", "priority", "persistent", "format", "encoding", "ccsid", "report", "feedback", "flags"):
        assert seen[name] == [getattr(message, name) for message in messages], name
    for name in ("message_id", "correlation_id", "group_id", "reply_to", "reply_to_manager", "user", "application"):
        assert seen[name] == [getattr(message, name) or None for message in messages], name
    assert seen["text"] == [message.body if isinstance(message.body, str) else None for message in messages]
    assert seen["text"][:4] == ["Grüße", None, "ünï", None]
    assert seen["body"] == [message.data for message in messages]
    assert seen["expiry_seconds"] == [message.expiry for message in messages]
    assert seen["properties"] == [[("a", "b"), ("n", "3"), ("none", None)], [], [], [], []]
    assert seen["sequence_number"] == [message.sequence_number for message in messages]
    assert seen["segment_offset"] == [message.offset for message in messages]


def test_each_task_reads_its_part_of_the_queue(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", numbered(COUNT))
    reading = read_options(options(qm, queue="Q1", numPartitions="3"))
    parts = slices(reading)
    with connect_with(reading.connect) as connection, open_queue(connection, "Q1", "b") as queue:
        assert bodies(browse(queue, start=parts[1].start)) == numbered(COUNT - 100, 100)
        assert bodies(browse(queue, start=b"?" * 24)) == []
    assert [[read.message.text for read in browse_part(reading, part)] for part in parts] == [
        numbered(100, first) for first in (0, 100, 200)
    ]
    assert [read.position for part in parts for read in browse_part(reading, part)] == list(range(COUNT))
    for _ in range(101):
        qm.get("Q1")
    late = [[read.message.text for read in browse_part(reading, part)] for part in parts]
    assert late == [[], numbered(99, 101), numbered(100, 200)], "where a part began is gone"


def test_messages_with_the_same_identifier_are_all_read(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", numbered(10), message_id=b"i" * 24)
    put_all(qm, "Q1", numbered(10, 10))
    reading = read_options(options(qm, queue="Q1", numPartitions="4"))
    found = [read.message.text for part in slices(reading) for read in browse_part(reading, part)]
    assert sorted(found) == sorted(numbered(20))


def test_a_message_that_the_channel_does_not_take_is_told_and_stays(qm: RunningQueueManager) -> None:
    qm.mqsc("DEFINE CHANNEL(NARROW) CHLTYPE(SVRCONN) MAXMSGL(2000)")
    put_all(qm, "Q1", ["short", "x" * 5000, "short"])
    reading = read_options(options(qm, queue="Q1", channel="NARROW"))
    with connect_with(reading.connect) as connection, open_queue(connection, "Q1", "sb") as queue:
        with pytest.raises(MQError) as browsed:
            list(browse(queue))
        with pytest.raises(MQError) as taken, connection.transaction():
            list(take(queue, COUNT, 1 << 30))
        assert bodies(browse(queue, 2)) == ["sh", "xx", "sh"]
    assert {browsed.value.reason, taken.value.reason} == {MQRC_MSG_TOO_BIG_FOR_CHANNEL}
    assert qm.depth("Q1") == 3
