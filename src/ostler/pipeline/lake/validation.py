"""Validation of runs against the rules, row by row, without ingesting them into a lake."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from ostler.pipeline.lake.lake import LakeSnapshot
from ostler.pipeline.lake.run_files import FoundRun, RejectedRun, check_files, find_runs, problem_row
from ostler.pipeline.lake.tables import BRONZE, REJECTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_SHOWN: int = 1000
"""The most violations reported one by one; all are counted."""


@dataclass(frozen=True)
class Violation:
    """A row, or `rows` of a file, that violate a rule."""

    table: str
    run: str
    rule: str
    reason: str
    row: Mapping[str, object]
    rows: int

    def as_json(self) -> dict[str, object]:
        return {
            "run": self.run,
            "table": self.table,
            "rule": self.rule,
            "reason": self.reason,
            "rows": self.rows,
            "row": dict(self.row),
        }


@dataclass(frozen=True)
class Validation:
    """The runs that were checked, those that cannot be read, and violations, of which `rows` in all."""

    runs: tuple[str, ...]
    refused: tuple[RejectedRun, ...] = ()
    violations: tuple[Violation, ...] = ()
    rows: int = 0
    by_rule: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Rows by table and rule."""

    @property
    def is_sound(self) -> bool:
        return not self.refused and not self.violations


def validate_runs(
    open_spark: Callable[[int], SparkSession], paths: Iterable[Path], shown: int = ROWS_SHOWN
) -> Validation:
    """Check all rules on all runs below some paths. Raises PipelineError when a path does not exist, or Spark fails."""
    from ostler.pipeline.spark.spark_errors import spark_error_context

    runs, refused = find_runs(paths)
    if not runs:
        return Validation((), tuple(refused))
    with spark_error_context("The runs could not be validated"):
        broken = _broken(open_spark(sum(run.rows for run in runs)), runs).persist()
        counted = {(row["table"], row["rule"]): int(row["rows"]) for row in _by_rule(broken).collect()}
        rows = broken.orderBy("run", "table", "rule", "row").limit(shown).collect() if counted else []
    violations = tuple(_violation(row.asDict()) for row in rows)
    return Validation(
        tuple(run.name for run in runs),
        tuple(refused),
        violations,
        sum(counted.values()),
        dict(sorted(counted.items())),
    )


def _broken(spark: SparkSession, runs: Sequence[FoundRun]) -> DataFrame:
    """Return everything that violates a rule: files, rows, points."""
    from pyspark.sql import DataFrame

    from ostler.pipeline.lake.lake_frames import table_frame
    from ostler.pipeline.steps import ingest
    from ostler.pipeline.steps.points import broken_points, timed_operations

    checked = check_files(runs)
    samples = {
        name: ingest.read_samples(spark, table, [str(path) for path in checked.sound[name]])
        for name, table in BRONZE.items()
    }
    sound = {name: ingest.sound_samples(samples[name], BRONZE[name]) for name in ("operation", "latency")}
    files = table_frame(spark, REJECTED, [problem_row(each) for each in checked.problems])
    rows = [ingest.rejected_samples(frame, BRONZE[name]) for name, frame in samples.items() if checked.rows[name]]
    return reduce(DataFrame.unionByName, [files, *rows, broken_points(timed_operations(sound))])


def _by_rule(broken: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return broken.groupBy("table", "rule").agg(F.sum("rows").alias("rows"))


def violations_in(lake: LakeSnapshot, shown: int = ROWS_SHOWN) -> Validation:
    """Return the quarantined rows of a lake. Needs no Spark."""
    from ostler.pipeline.lake.tables import RUN

    table = lake.read(REJECTED).sort_by([(name, "ascending") for name in ("run", "table", "rule", "row")])
    counted: dict[tuple[str, str], int] = {}
    for row in table.select(["table", "rule", "rows"]).to_pylist():
        counted[row["table"], row["rule"]] = counted.get((row["table"], row["rule"]), 0) + row["rows"]
    violations = tuple(_violation(row) for row in table.slice(0, shown).to_pylist())
    runs = tuple(sorted(lake.read(RUN, ["run"])["run"].to_pylist()))
    return Validation(runs, (), violations, sum(counted.values()), dict(sorted(counted.items())))


def _violation(row: Mapping[str, object]) -> Violation:
    shown = json.loads(str(row["row"]))
    return Violation(
        str(row["table"]), str(row["run"]), str(row["rule"]), str(row["reason"]), shown, int(str(row["rows"]))
    )
