"""Spark over TLS with a user and a password: it works, and neither plans, checkpoints nor errors show a secret."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.source.guarded_stage import KEY_PASSWORD, PASSWORD, guarded
from tests.pipeline.source.queue_stage import put_all, texts


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
        reader = spark.readStream.format("ostler").schema("body binary, format string")
        stream = reader.options(queue="DEV.QUEUE.1", **where).load()
        plan = plan_of(stream)
        assert where["channel"] in plan, "plans of streams show options"
        assert has_no_secret(plan)
        checkpoint = tmp_path / "checkpoint"
        query = (
            stream.writeStream.format("ostler")
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
        assert staged
        assert has_no_secret("".join(staged))
        wrong = {**where, "queue": "DEV.QUEUE.1", "channel": "NO.SUCH"}
        batch = spark.read.format("ostler").schema("body binary").options(**wrong).load()
        with pytest.raises(PySparkException, match=r"Connecting to QMTEST at .* failed") as refused:
            batch.collect()
        assert has_no_secret(str(refused.value))
