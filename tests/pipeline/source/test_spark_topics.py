"""Subscriptions and topics with a real Spark and a real queue manager behind a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from tests.pipeline.source.queue_stage import options

from ostler.client.api.topic import Subscription
from ostler.testing import RunningQueueManager, queue_manager


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        yield running


def publish(qm: RunningQueueManager, topic: str, *bodies: str, retain: bool = False) -> None:
    with qm.connect() as connection:
        for body in bodies:
            connection.publish(topic, body, retain=retain)


def received(subscription: Subscription) -> list[tuple[str, str]]:
    return sorted((each.topic, each.text) for each in subscription.messages())


def run(spark: SparkSession, qm: RunningQueueManager, checkpoint: Path) -> None:
    """Publish again, below copies, what came for a subscription; with restarts that takes up what came meanwhile."""
    wanted = options(qm, subscription="prices", topic="prices/#", maxMessagesPerTrigger="2", deleteAt="commit")
    rows = spark.readStream.format("ostler").schema("text string, topic string").options(**wanted).load()
    copies = rows.select("text", f.concat(f.lit("copies/"), "topic").alias("topic"))
    query = (
        copies.writeStream.format("ostler")
        .options(**options(qm, topic="copies"))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def test_a_stream_from_a_subscription_to_topics_goes_on_after_restarts(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    publish(qm, "prices/hay", "kept", retain=True)
    with qm.connect() as connection, connection.subscribe("copies/#") as copies:
        run(spark, qm, checkpoint)
        assert received(copies) == [("copies/prices/hay", "kept")]
        publish(qm, "prices/oats", "a", "b", "c")
        # As a crash would leave it that came after the release and before Spark wrote it down.
        for name in ("0", ".0.crc"):
            (checkpoint / "commits" / name).unlink()
        run(spark, qm, checkpoint)
        assert received(copies) == [("copies/prices/oats", text) for text in "abc"]
    assert (qm.depth("SPARK.SUB.prices"), qm.depth("SPARK.PUB.copies")) == (2, 1), "control records, and the last page"


def test_a_batch_read_of_subscriptions_has_topics_and_a_partition_for_each(
    spark: SparkSession, qm: RunningQueueManager
) -> None:
    publish(qm, "weather/north", "rain", retain=True)
    rows = (
        spark.read.format("ostler")
        .schema("text string, topic string, retained boolean")
        .options(**options(qm, subscription="north,south", topic="weather/north,weather/south"))
        .load()
    )
    assert [len(part) for part in rows.rdd.glom().collect()] == [1, 0]
    publish(qm, "weather/south", "sun")
    found = sorted(tuple(row) for row in rows.collect())
    assert found == [("rain", "weather/north", True), ("sun", "weather/south", False)]


def test_rows_are_published_once_and_kept_if_wanted(spark: SparkSession, qm: RunningQueueManager) -> None:
    rows = spark.createDataFrame([("a", None), ("b", "shelf/b")], "text string, topic string")
    for _ in range(2):
        wanted = options(qm, topic="shelf", retain="true", writeId="2026-11-16")
        rows.write.format("ostler").mode("append").options(**wanted).save()
        publish(qm, "shelf/b", "later", retain=True)
    with qm.connect() as connection, connection.subscribe("shelf/#") as subscription:
        assert received(subscription) == [("shelf", "a"), ("shelf/b", "later")]
