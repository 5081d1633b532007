"""`df.write` and `df.writeStream` to a queue, with a real Spark and a real queue manager behind a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.pipeline.source.queue_stage import options, texts

from ostler.pipeline.source.release import UNNAMED_SECONDS
from ostler.testing import RunningQueueManager, queue_manager

STAGING = "SPARK.OUT.Q1"


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        yield running


@pytest.fixture(autouse=True)
def queues(qm: RunningQueueManager) -> Iterator[None]:
    with qm.isolated("DEFINE QLOCAL(Q1)"):
        yield


def save(frame: DataFrame, qm: RunningQueueManager, **more: str) -> None:
    frame.write.format("ostler").mode("append").options(**options(qm, **{"queue": "Q1", **more})).save()


def test_rows_become_messages(spark: SparkSession, qm: RunningQueueManager) -> None:
    rows = spark.range(4).select(
        f.concat(f.lit("m"), "id").alias("text"),
        f.create_map(f.lit("number"), f.col("id").cast("string")).alias("properties"),
        f.lit(7).alias("priority"),
        f.lit(True).alias("persistent"),
    )
    save(rows, qm)
    found = sorted((each.text, each.properties["number"], each.priority, each.persistent) for each in qm.browse("Q1"))
    assert found == [(f"m{number}", str(number), 7, True) for number in range(4)]
    assert qm.depth(STAGING) == 0


def test_a_job_that_fails_puts_nothing(spark: SparkSession, qm: RunningQueueManager) -> None:
    body = f.when(f.col("id") < 5, f.lit("good")).otherwise(f.raise_error(f.lit("no such row")))
    with pytest.raises(PySparkException, match="no such row"):
        save(spark.range(0, 10, 1, 2).select(body.alias("body")), qm, pageMessages="1")
    assert qm.depth("Q1") == 0
    # Another task may still go on when the job has failed. What it leaves is never released, and goes by itself.
    lives = [message.expiry for message in qm.browse(STAGING)]
    assert all(life is not None and 0 < life <= UNNAMED_SECONDS for life in lives)


def test_a_job_done_again_with_the_same_write_id_puts_nothing(spark: SparkSession, qm: RunningQueueManager) -> None:
    rows = spark.range(2).select(f.lit("once").alias("value"))
    for _ in range(2):
        save(rows, qm, writeId="2026-11-16")
    assert texts(qm, "Q1") == ["once", "once"]


def test_a_batch_that_spark_does_again_appears_once(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"

    def run() -> None:
        lines = spark.readStream.schema("value string").text(str(tmp_path / "in"))
        query = (
            lines.writeStream.format("ostler")
            .options(**options(qm, queue="Q1"))
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
        )
        query.start().awaitTermination()

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.txt").write_text("a\nb\n")
    run()
    assert texts(qm, "Q1") == ["a", "b"]
    # As a crash would leave it that came after the release and before Spark wrote it down.
    (checkpoint / "commits" / "0").unlink()
    (checkpoint / "commits" / ".0.crc").unlink()
    (tmp_path / "in" / "two.txt").write_text("c\n")
    run()
    assert texts(qm, "Q1") == ["a", "b", "c"]
    assert qm.depth(STAGING) == 1


@pytest.mark.parametrize(
    ("column", "more", "words"),
    [
        ("body", {"queue": "NO.SUCH"}, r"Opening queue NO.SUCH of QMTEST failed. MQRC_UNKNOWN_OBJECT_NAME \(2085\)"),
        ("colour", {}, "A message needs a body"),
    ],
)
def test_what_cannot_be_written_is_told_in_a_sentence(
    spark: SparkSession, qm: RunningQueueManager, column: str, more: dict[str, str], words: str
) -> None:
    with pytest.raises(PySparkException, match=words):
        save(spark.range(1).select(f.lit("x").alias(column)), qm, **more)
