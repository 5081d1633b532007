"""`spark.read.format("ostler")`: a queue at rest, browsed by real tasks over the network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.source.queue_stage import options, put_all, texts

from ostler.client.api.message import Message
from ostler.testing import RunningQueueManager, queue_manager


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        yield running


@pytest.fixture(autouse=True)
def queues(qm: RunningQueueManager) -> Iterator[None]:
    with qm.isolated("DEFINE QLOCAL(Q1)\nDEFINE QLOCAL(Q2)"):
        yield


def load(spark: SparkSession, qm: RunningQueueManager, **more: str) -> DataFrame:
    return spark.read.format("ostler").options(**options(qm, **more)).load()


def test_rows_have_descriptor_properties_and_body(spark: SparkSession, qm: RunningQueueManager) -> None:
    message = Message(
        "Grüße",
        message_id=b"m" * 24,
        correlation_id=b"c" * 24,
        priority=7,
        persistent=True,
        expiry=1000,
        reply_to="REPLIES",
        properties={"colour": "red", "count": 3, "sent": True, "raw": b"\x01\xff"},
    )
    qm.put("Q1", message)
    qm.put("Q1", b"\x00\x01")
    first, second = load(spark, qm, queue="Q1").orderBy("position").collect()
    assert (first.queue, first.position, first.text, bytes(first.body)) == ("Q1", 0, "Grüße", "Grüße".encode())
    assert (bytes(first.message_id), bytes(first.correlation_id)) == (b"m" * 24, b"c" * 24)
    assert (first.priority, first.persistent, first.format, first.reply_to) == (7, True, "MQSTR", "REPLIES")
    assert 0 < first.expiry_seconds <= 1000
    assert first.properties == {"colour": "red", "count": "3", "sent": "true", "raw": "01ff"}
    assert first.put_time is not None
    assert (second.text, bytes(second.body), second.correlation_id) == (None, b"\x00\x01", None)
    assert texts(qm, "Q1")[0] == "Grüße", "reading leaves the queue as it was"


def test_several_queues_are_partitions_and_one_queue_is_cut_by_message_id(
    spark: SparkSession, qm: RunningQueueManager
) -> None:
    put_all(qm, "Q1", [f"a{number}" for number in range(20)])
    put_all(qm, "Q2", ["b0", "b1"])
    both = load(spark, qm, queues="Q1, Q2").select("queue", "text")
    assert both.rdd.getNumPartitions() == 2
    assert sorted(row.text for row in both.collect() if row.queue == "Q2") == ["b0", "b1"]
    cut = load(spark, qm, queue="Q1", numPartitions="3").select("position", "text")
    parts = [[tuple(row) for row in part] for part in cut.rdd.glom().collect()]
    assert [len(part) for part in parts] == [6, 7, 7], "a stretch of the queue for each task"
    assert [row for part in parts for row in part] == [(number, f"a{number}") for number in range(20)]


def test_only_the_columns_asked_for_and_only_what_the_selector_wants(
    spark: SparkSession, qm: RunningQueueManager
) -> None:
    qm.put("Q1", "red", properties={"colour": "red"})
    qm.put("Q1", "blue", properties={"colour": "blue"})
    reader = spark.read.format("ostler").schema("text string").options(**options(qm, queue="Q1"))
    assert [row.asDict() for row in reader.option("selector", "colour = 'blue'").load().collect()] == [{"text": "blue"}]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"queue": "NO.SUCH"}, r"Opening queue NO.SUCH of QMTEST failed. MQRC_UNKNOWN_OBJECT_NAME \(2085\)"),
        ({"queue": "Q1", "port": "1"}, r"Connecting to QMTEST at 127.0.0.1\(1\) failed. MQRC_\w+ \(\d+\)"),
        ({"topic": "news"}, "topic needs option subscription"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(
    spark: SparkSession, qm: RunningQueueManager, changed: dict[str, str], words: str
) -> None:
    with pytest.raises(PySparkException, match=words):
        spark.read.format("ostler").options(**{**options(qm), **changed}).load().collect()
