"""Spark over TLS with a user and a password: it works, and neither plans, checkpoints nor errors show a secret."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.guarded_stage import KEY_PASSWORD, PASSWORD, guarded
from tests.pipeline.queue_stage import put_all, texts


def plan_of(frame: DataFrame) -> str:
    told = io.StringIO()
    with redirect_stdout(told):
        frame.explain(extended=True)
        frame.explain(mode="formatted")
    return told.getvalue()


def has_no_secret(told: str) -> bool:
    return PASSWORD not in told and KEY_PASSWORD not in told


def test_a_guarded_queue_manager_over_tls(spark: SparkSession, tmp_path: Path) -> None:
    with guarded(tmp_path / "manager") as (qm, where):
        put_all(qm, "DEV.QUEUE.1", ["a", "b"])
        batch = spark.read.format("ostler").options(queue="DEV.QUEUE.1", **where).load()
        assert sorted(row.text for row in batch.select("text").collect()) == ["a", "b"]
        assert "text" in plan_of(batch)
        assert has_no_secret(plan_of(batch))
        stream = spark.readStream.format("ostler").options(queue="DEV.QUEUE.1", **where).load()
        assert has_no_secret(plan_of(stream))
        checkpoint = tmp_path / "checkpoint"
        query = (
            stream.select("body", "format")
            .writeStream.format("ostler")
            .options(queue="DEV.QUEUE.2", checkpointLocation=str(checkpoint), **where)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        assert sorted(texts(qm, "DEV.QUEUE.2")) == ["a", "b"]
        told = io.StringIO()
        with redirect_stdout(told):
            query.explain(extended=True)
        assert has_no_secret(told.getvalue())
        assert has_no_secret(str(query.lastProgress))
        kept = [path for path in checkpoint.rglob("*") if path.is_file()]
        assert kept
        for path in kept:
            assert has_no_secret(path.read_bytes().decode(errors="replace")), path
        staged = [message.data.decode(errors="replace") for message in qm.browse("SPARK.OUT.DEV.QUEUE.2")]
        assert has_no_secret("".join(staged))
        wrong = {**where, "queue": "DEV.QUEUE.1", "channel": "NO.SUCH"}
        with pytest.raises(PySparkException, match=r"Connecting to QMTEST at .* failed") as refused:
            spark.read.format("ostler").options(**wrong).load().collect()
        assert has_no_secret(str(refused.value))
