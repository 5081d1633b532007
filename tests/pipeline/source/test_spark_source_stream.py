"""`spark.readStream.format("ostler")`, with a real Spark and a real queue manager behind a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.source.queue_stage import options, put_all, texts

from ostler.testing import RunningQueueManager, queue_manager

STAGING = "SPARK.IN.Q1"


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        yield running


@pytest.fixture(autouse=True)
def queues(qm: RunningQueueManager) -> Iterator[None]:
    with qm.isolated("DEFINE QLOCAL(Q1)"):
        yield


def stream(spark: SparkSession, qm: RunningQueueManager, **more: str) -> DataFrame:
    wanted = options(qm, queue="Q1", **more)
    return spark.readStream.format("ostler").schema("text string, position bigint").options(**wanted).load()


def run_to_files(frame: DataFrame, place: Path) -> None:
    """Read all that is available now into Parquet files, which take each batch once."""
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(place / "checkpoint"))
        .option("path", str(place / "out"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def in_files(spark: SparkSession, place: Path) -> list[str]:
    rows = spark.read.schema("text string, position bigint").parquet(str(place / "out"))
    return [row.text for row in rows.orderBy("position").collect()]


def test_runs_go_on_where_the_last_one_ended_and_leave_nothing_behind(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path
) -> None:
    put_all(qm, "Q1", [f"m{number}" for number in range(5)])
    run_to_files(stream(spark, qm, maxMessagesPerTrigger="2"), tmp_path)
    assert in_files(spark, tmp_path) == ["m0", "m1", "m2", "m3", "m4"]
    assert (qm.depth("Q1"), qm.depth(STAGING)) == (0, 1), "the run removed its last batch itself"
    put_all(qm, "Q1", ["m5"])
    run_to_files(stream(spark, qm), tmp_path)
    assert in_files(spark, tmp_path) == [f"m{number}" for number in range(6)]


def test_a_batch_that_failed_is_read_again_as_it_was(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path
) -> None:
    put_all(qm, "Q1", ["a", "b"])
    seen: list[tuple[int, list[str]]] = []

    def fail(batch: DataFrame, number: int) -> None:
        seen.append((number, sorted(row.text for row in batch.collect())))
        raise RuntimeError("the sink is not there")

    def take(batch: DataFrame, number: int) -> None:
        seen.append((number, sorted(row.text for row in batch.collect())))

    def run(sink: object) -> None:
        writer = stream(spark, qm).writeStream.foreachBatch(sink)  # type: ignore[arg-type]
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(StreamingQueryException, match="the sink is not there"):
        run(fail)
    with qm.connect() as connection, connection.open("Q1", "w") as queue:
        queue.put("late", syncpoint=True)
        put_all(qm, "Q1", ["c"])
        run(take)
        connection.commit()
    run(take)
    assert seen == [(0, ["a", "b"]), (0, ["a", "b"]), (1, ["c"]), (2, ["late"])]
    assert texts(qm, "Q1") == []


def test_a_stream_without_a_queue_manager_ends_with_a_sentence(
    spark: SparkSession, qm: RunningQueueManager, tmp_path: Path
) -> None:
    with pytest.raises(StreamingQueryException, match=r"Connecting to QMTEST at 127.0.0.1\(1\) failed. MQRC_\w+"):
        run_to_files(stream(spark, qm, port="1"), tmp_path)
