"""Subscriptions as sources and topics as sinks, asked by hand as Spark would, against a real queue manager."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from tests.pipeline.source.queue_stage import options

from ostler.client.api.message import Message
from ostler.client.api.topic import Subscription
from ostler.engine.pubsub.publication_properties import TOPIC
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.browsing import browse, slices
from ostler.pipeline.source.columns import Rows, messages_of
from ostler.pipeline.source.offsets import START, Limit, Offset, StreamProgress
from ostler.pipeline.source.options import ReadOptions, WriteOptions, read_options, write_options
from ostler.pipeline.source.release import Releases, WriteAttempt, stage
from ostler.pipeline.source.staging import read_pages
from ostler.testing import RunningQueueManager, queue_manager


@pytest.fixture
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        yield running


def reading(qm: RunningQueueManager, **more: str) -> ReadOptions:
    return read_options(options(qm, **{"subscription": "prices", "connectTimeoutSeconds": "0", **more}))


def publish(qm: RunningQueueManager, topic: str, *bodies: str, retain: bool = False) -> None:
    with qm.connect() as connection:
        for body in bodies:
            connection.publish(topic, body, retain=retain)


def next_batch(wanted: ReadOptions, start: Offset) -> tuple[list[str], Offset]:
    """Return the first offsets that a query started now reads, and their end."""
    progress = StreamProgress(wanted)
    try:
        end = progress.latest(start, Limit())
        return [each.message.text for each in read_pages(wanted, progress.pages(start, end))], end
    finally:
        progress.staging.close()


def browsed(wanted: ReadOptions) -> list[str]:
    return [read.message.text for part in slices(wanted) for read in browse(wanted, part)]


# -- subscriptions -----------------------------------------------------------------------------------------------------


def test_a_subscription_is_made_once_and_keeps_what_is_published_between_two_lives(qm: RunningQueueManager) -> None:
    publish(qm, "prices/hay", "too early")
    wanted = reading(qm, topic="prices/#")
    assert next_batch(wanted, START) == ([], START)
    publish(qm, "prices/hay", "one", "two")
    publish(qm, "news", "another topic")
    first, end = next_batch(wanted, START)
    assert first == ["one", "two"]
    assert next_batch(wanted, START) == (first, end), "a batch that is done again is the same"
    publish(qm, "prices/oats", "three")
    assert next_batch(wanted, end)[0] == ["three"]
    publish(qm, "prices/oats", "four")
    assert browsed(reading(qm)) == ["four"], "the subscription is found by its name alone"
    assert qm.depth("SPARK.SUB.prices") == 2, "the last page and the control record"
    qm.mqsc("DELETE SUB('prices')")
    with pytest.raises(PipelineError, match="There is no subscription prices on QMTEST"):
        next_batch(reading(qm), START)


def test_retained_publications_come_first_unless_only_the_latest_are_wanted(qm: RunningQueueManager) -> None:
    publish(qm, "prices/hay", "kept", retain=True)
    assert browsed(reading(qm, topic="prices/hay")) == ["kept"]
    assert browsed(reading(qm, subscription="later", topic="prices/hay", startingPosition="latest")) == []


def test_rows_tell_topics_and_what_was_retained(qm: RunningQueueManager) -> None:
    publish(qm, "prices/hay", "kept", retain=True)
    wanted = reading(qm, topic="prices/#")
    slices(wanted)
    publish(qm, "prices/oats", "new")
    with qm.connect() as connection, connection.open(slices(wanted)[0].queue, "w") as queue:
        queue.put("not published")
    rows = Rows([read for part in slices(wanted) for read in browse(wanted, part)])
    assert rows.topics == ["prices/hay", "prices/oats", None]
    assert rows.retained == [True, False, None]


def test_several_subscriptions_are_read_with_selector_and_wildcards_and_on_queues_of_ones_own(
    qm: RunningQueueManager,
) -> None:
    qm.mqsc("DEFINE QLOCAL(Q1)\nDEFINE QLOCAL(Q2)")
    wanted = reading(
        qm, subscription="a, b", topic="prices/h*, news", queue="Q1, Q2", wildcards="characters", selector="good = TRUE"
    )
    assert [part.queue for part in slices(wanted)] == ["Q1", "Q2"]
    with qm.connect() as connection:
        for topic, is_good in (("prices/hay", True), ("prices/oats", True), ("news", True), ("news", False)):
            connection.publish(topic, topic, properties={"good": is_good})
    assert browsed(wanted) == ["prices/hay", "news"]
    assert next_batch(wanted, START)[0] == ["prices/hay", "news"]
    assert browsed(reading(qm, subscription="a")) == []


def test_a_subscription_that_an_administrator_defined_is_read(qm: RunningQueueManager) -> None:
    qm.mqsc("DEFINE QLOCAL(Q1)\nDEFINE SUB('prices') TOPICSTR('prices/hay') DEST(Q1)")
    publish(qm, "prices/hay", "one")
    assert browsed(reading(qm)) == ["one"]
    assert next_batch(reading(qm), START)[0] == ["one"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, r"There is no subscription prices on QMTEST. Give option topic to have it made"),
        ({"topic": "prices/#", "queue": "NO.SUCH"}, r"Subscribing as prices on QMTEST failed. MQRC_UNKNOWN_OBJECT"),
        ({"topic": "prices/#", "selector": "is it"}, r"Subscribing as prices on QMTEST failed. MQRC_SELECTOR_SYNTAX"),
    ],
)
def test_what_cannot_be_subscribed_to_is_told(qm: RunningQueueManager, more: dict[str, str], words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        slices(reading(qm, **more))


def test_a_subscription_in_use_or_to_another_topic_is_told(qm: RunningQueueManager) -> None:
    wanted = reading(qm, topic="prices/#")
    progress = StreamProgress(wanted)
    with pytest.raises(PipelineError, match="Subscription prices of QMTEST is in use by another reader"):
        slices(wanted)
    progress.staging.close()
    with pytest.raises(PipelineError, match=r"MQRC_TOPIC_NOT_ALTERABLE .* Leave topic out to read it as it is"):
        slices(reading(qm, topic="news"))


# -- topics ------------------------------------------------------------------------------------------------------------


def writing(qm: RunningQueueManager, **more: str) -> WriteOptions:
    return write_options(options(qm, topic="prices/hay", sinkId="sink", connectTimeoutSeconds="0", **more))


def staged(sink: WriteOptions, *texts: str) -> WriteAttempt:
    """Rows as tasks stage them: those with a colon have a topic of their own."""
    parts = [text.rpartition(":") for text in texts]
    return stage(sink, "sink", iter([Message(body, properties={TOPIC: own or sink.topic}) for own, _, body in parts]))


def release(sink: WriteOptions, batch: int, *attempts: WriteAttempt) -> bool:
    with Releases(sink) as releases:
        return releases.release("sink", "", batch, attempts, True)


def received(subscription: Subscription) -> list[tuple[str, str]]:
    return [(each.text, each.topic) for each in subscription.messages()]


def test_a_batch_is_published_once_to_the_topics_of_its_rows(qm: RunningQueueManager) -> None:
    sink = writing(qm)
    attempts = [staged(sink, "a", "prices/oats:b"), staged(sink, "c")]
    with qm.connect() as connection, connection.subscribe("prices/#") as subscription:
        assert received(subscription) == [], "nothing is seen before the release"
        assert release(sink, 0, *attempts)
        assert received(subscription) == [("a", "prices/hay"), ("b", "prices/oats"), ("c", "prices/hay")]
        assert not release(sink, 0, staged(sink, "a", "prices/oats:b"))
        assert received(subscription) == []
    assert qm.depth("SPARK.PUB.prices/hay") == 1, "only the control record stays"


def test_a_release_cut_off_is_finished_by_the_next_one(qm: RunningQueueManager) -> None:
    qm.mqsc("DEFINE QLOCAL(Q1) MAXDEPTH(5)\nDEFINE SUB('all') TOPICSTR('#') DEST(Q1)")
    # Else what is not persistent, and finds the queue full, is not missed.
    qm.mqsc("ALTER TOPIC(SYSTEM.BASE.TOPIC) NPMSGDLV(ALL)")
    sink = writing(qm, pageMessages="2", unitMessages="8")
    with pytest.raises(PipelineError, match="Releasing messages to topic prices/hay failed"):
        release(sink, 0, staged(sink, *"abcdefgh"))
    assert [each.text for each in qm.browse("Q1")] == list("abcd")
    qm.mqsc("ALTER QLOCAL(Q1) MAXDEPTH(100)")
    assert not release(sink, 0, staged(sink, *"abcdefgh"))
    assert [each.text for each in qm.browse("Q1")] == list("abcdefgh")


def test_units_of_work_shrink_when_there_are_many_subscribers(qm: RunningQueueManager) -> None:
    qm.mqsc("ALTER QMGR MAXUMSGS(20)")
    sink = writing(qm, pageMessages="1", unitMessages="40")
    with qm.connect() as connection:
        subscriptions = [connection.subscribe("prices/hay") for _ in range(5)]
        assert release(sink, 0, staged(sink, *"abcdefghij"))
        for each in subscriptions:
            assert "".join(text for text, _ in received(each)) == "abcdefghij"


def test_many_topics_are_published_to_in_turn(qm: RunningQueueManager) -> None:
    sink = writing(qm, retain="true")
    assert release(sink, 0, staged(sink, *(f"t/{number % 150}:m{number}" for number in range(300))))
    with qm.connect() as connection, connection.subscribe("t/#") as subscription:
        kept = received(subscription)
    assert sorted(kept) == sorted((f"m{number}", f"t/{number % 150}") for number in range(150, 300))


def test_rows_carry_their_topics_and_wrong_ones_are_told_where_they_are() -> None:
    kind = pa.schema([("text", pa.string()), ("topic", pa.string()), ("properties", pa.map_(pa.string(), pa.string()))])
    rows = [
        {"text": "a", "topic": None, "properties": {"colour": "red"}},
        {"text": "b", "topic": "own", "properties": {TOPIC: "of another publication"}},
    ]
    made = list(messages_of(pa.RecordBatch.from_pylist(rows, schema=kind), None, "usual"))
    assert [each.properties for each in made] == [{"colour": "red", TOPIC: "usual"}, {TOPIC: "own"}]
    for topic in ("", "$SYS/MQ/x", "t" * 10241):
        batch = pa.RecordBatch.from_pylist([{"text": "a", "topic": topic, "properties": None}], schema=kind)
        with pytest.raises(PipelineError, match=r"A row cannot be published to topic .* MQRC_"):
            list(messages_of(batch, None, "usual"))
        assert [each.properties for each in messages_of(batch, None)] == [{}], "on a queue it means nothing"
