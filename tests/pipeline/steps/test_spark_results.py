"""Figures that experiments found besides rates."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from tests.pipeline.steps.analysis_samples import run, runs, table

from ostler.pipeline.lake.tables import BRONZE, RESULT
from ostler.pipeline.steps.results import results


def _found(name: str, value: float, **others: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run": "run-1", "contestant": "Ostler", "step": 1, "repetition": 0, "phase": "measured", "second": 0,
        "source": "experiment", "record": 0, "object": "", "name": name, "position": 0, "value": value,
    }  # fmt: skip
    return row | others


def test_each_repetition_has_the_median_of_what_it_found(spark: SparkSession) -> None:
    statistics = [
        *(_found("messages per second", value, position=at) for at, value in enumerate((10.0, 30.0, 11.0))),
        _found("messages per second", 50.0, repetition=1),
        _found("bytes", 7.0, object="LAB0"),
        _found("messages per second", 999.0, phase="warm-up"),
        _found("puts", 999.0, source="queue-manager"),
        _found("of another run", 999.0, run="not-there"),
    ]
    phase = dict.fromkeys(BRONZE["phase"].names) | {
        "run": "run-1", "contestant": "Ostler", "step": 1, "repetition": 0, "phase": "measured",
        "scenario": "zos-storage-unit-of-work",
        "parameters": {"unit_messages": "100", "message_bytes": "1024", "operation": "put"},
    }  # fmt: skip
    phases = table(spark, BRONZE["phase"], [phase, phase | {"repetition": 1}])
    made = results(table(spark, BRONZE["statistic"], statistics), runs(spark, [run("run-1")]), phases)
    assert tuple(made.columns) == RESULT.names
    assert {row["series"] for row in made.collect()} == {"message_bytes=1024, unit_messages=100"}
    told = {(row["repetition"], row["name"]): (row["value"], row["count"]) for row in made.collect()}
    assert told == {
        (0, "messages per second"): (11.0, 3),
        (1, "messages per second"): (50.0, 1),
        (0, "LAB0 bytes"): (7.0, 1),
    }
