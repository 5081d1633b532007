"""The pipeline's benchmark: each step beside its bare counterpart, over synthetic samples, in one Spark application.

    ingest    files are checked, rows are held against all rules and written to bronze; bare: read and write
    points    histograms merged, figures of each point made, silver written; bare: read and group-by

A tenth of the runs goes first: it warms up Spark, and shows whether the driver's memory grows with the rows. Everything
is measured in rounds, the bare one first in one round and last in the next.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.own_process import Report
from ostler.lab.common.samples import Measurement, median, ratio
from ostler.lab.store import schema as samples
from ostler.pipeline.bench.bench_session import spark_application
from ostler.pipeline.bench.synthetic import SampleShape, SyntheticRuns, make_runs
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.lake import LakeSnapshot, open_lake
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.lake_frames import read_table
from ostler.pipeline.lake.run_files import check_files, find_runs
from ostler.pipeline.lake.tables import BRONZE
from ostler.pipeline.run import list_runs, make_points, take_samples
from ostler.pipeline.spark.spark_errors import spark_error_context
from ostler.pipeline.steps.points import KEY, OPERATION_KEY

NAME: Final = "pipeline"
ROWS: Final = 100_000_000
ROUNDS: Final = 3
RATIO_AIM: Final = 0.5
# Growth of the driver's memory from a tenth of the rows to all of them: its metadata on files and partitions may grow.
GROWTH_MEGABYTES_MAX: Final = 64.0
# A row takes 3 bytes of a run; the run, bronze of the last two versions and a bare copy exist at once.
_DISK_BYTES_OF_ROW: Final = 20
INGEST: Final = "ingest"
POINTS: Final = "points"


@dataclass(frozen=True)
class LakeBenchOptions:
    """The options of the benchmark."""

    rows: int = ROWS
    rounds: int = ROUNDS
    seconds_max: float = 3600.0
    master: str = "local[*]"
    settings: Mapping[str, str] = field(default_factory=dict)
    shape: SampleShape = field(default_factory=SampleShape)


@dataclass
class _LakeTimes:
    """Rows a second of each step, ours and bare, and the driver's memory over time."""

    ours: dict[str, list[float]] = field(default_factory=lambda: {INGEST: [], POINTS: []})
    bare: dict[str, list[float]] = field(default_factory=lambda: {INGEST: [], POINTS: []})
    heap: dict[str, float] = field(default_factory=dict)
    resident: dict[str, float] = field(default_factory=dict)
    is_cut: bool = False


def measure(options: LakeBenchOptions, scratch: Path, report: Report) -> Result:
    """Run the benchmark. It needs a process of its own, since there is one Spark in a process. Raises PipelineError."""
    _check_room(options.rows, scratch)
    deadline = time.monotonic() + options.seconds_max
    found = _LakeTimes()
    report(0.0, "starting Spark")
    with (
        spark_application(options.master, "ostler pipeline bench", options.settings) as spark,
        spark_error_context("The benchmark stopped"),
    ):
        _remember(spark, found, "at the start")
        made = make_runs(
            spark, (scratch / "runs").absolute(), options.rows, options.shape, lambda text: report(0.05, text)
        )
        few = made.runs[: max(1, len(made.runs) // 10)]
        report(0.3, "warming up with a tenth of the runs")
        _round(spark, scratch, few, _LakeTimes(), 0, report, 0.3)
        _remember(spark, found, "after a tenth")
        for number in range(options.rounds):
            if number and time.monotonic() > deadline:
                found.is_cut = True
                break
            _round(spark, scratch, made.runs, found, number, report, 0.4 + 0.6 * number / options.rounds)
        _remember(spark, found, "after all")
    return _result(options, made, found)


def _check_room(rows: int, scratch: Path) -> None:
    wanted = rows * _DISK_BYTES_OF_ROW
    free = shutil.disk_usage(scratch).free
    if free < wanted:
        raise PipelineError(
            f"{rows:,} rows need {wanted / 1e9:.1f} GB, and {scratch} has {free / 1e9:.1f} GB left. "
            "Ask for fewer with --rows, or name another place with --scratch."
        )


# -- one round ---------------------------------------------------------------------------------------------------------


def _round(
    spark: SparkSession,
    scratch: Path,
    runs: Sequence[Path],
    found: _LakeTimes,
    number: int,
    report: Report,
    done: float,
) -> None:
    """Run every step once, ours and bare. Both kinds of points are made from the bronze that ours has written."""
    lake = (scratch / f"lake-{len(runs)}-{number}").absolute()
    copy = (scratch / "copy").absolute()
    rows = _rows_of(runs)
    works: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
        INGEST: (lambda: _ingest(spark, lake, runs), lambda: _bare_ingest(spark, copy, runs)),
        POINTS: (lambda: _points(spark, lake), lambda: _bare_points(spark, lake)),
    }
    try:
        for step, (ours, bare) in works.items():
            pair = [(found.bare, "bare ", bare), (found.ours, "", ours)]
            for into, name, work in pair if number % 2 == 0 else reversed(pair):
                report(done, f"round {number + 1}: {name}{step} of {rows:,} rows")
                began = time.perf_counter()
                work()
                into[step].append(rows / (time.perf_counter() - began))
            shutil.rmtree(copy, ignore_errors=True)
    finally:
        shutil.rmtree(lake, ignore_errors=True)
        shutil.rmtree(copy, ignore_errors=True)


def _rows_of(runs: Sequence[Path]) -> int:
    found, _ = find_runs(runs)
    return sum(
        stored.rows
        for run in found
        for segment in run.stored.segments
        if segment.note is not None
        for stored in segment.note.files
    )


def _ingest(spark: SparkSession, lake: Path, runs: Sequence[Path]) -> None:
    """Ingest as `ostler pipeline run` does, from finding runs to committed tables."""
    found, refused = find_runs(runs)
    with LakeChange(lake) as change:
        rejected = take_samples(spark, change, found, check_files(found), _silent)
        list_runs(spark, change, found)
        change.commit({})
    # Synthetic samples keep all rules: a violation is a bug here, and results would mean nothing.
    assert not refused
    assert not rejected


def _points(spark: SparkSession, lake: Path) -> None:
    with LakeChange(lake) as change:
        runs = sorted({part.values["run"] for part in change.before.parts_of(BRONZE["phase"])})
        broken = make_points(spark, change, runs, _silent)
        assert all(frame.isEmpty() for frame in broken)
        change.commit({})


def _bare_ingest(spark: SparkSession, copy: Path, runs: Sequence[Path]) -> None:
    """Read and write the same files with Spark, table by table."""
    for name in samples.TABLES:
        paths = [str(path) for run in runs for path in sorted(run.glob(f"segments/*/{name}.parquet"))]
        if paths:
            spark.read.parquet(*paths).write.parquet(str(copy / name))


def _bare_points(spark: SparkSession, lake: Path) -> None:
    """Read the same tables and aggregate them by point; the sums are discarded."""
    now = open_lake(lake)
    for name, table in samples.TABLES.items():
        if now.rows(BRONZE[name]) and name != samples.PHASE.name:
            keys = OPERATION_KEY if any(each.name == "operation" for each in table.columns) else KEY
            frame = _bronze(spark, now, name)
            frame.groupBy(*keys).agg(*_sums(table)).write.format("noop").mode("overwrite").save()


def _bronze(spark: SparkSession, now: LakeSnapshot, name: str) -> DataFrame:
    return read_table(spark, now, BRONZE[name])


def _sums(table: samples.SampleTable) -> list[Column]:
    """Return the sums of a table's counters; a statistic has its value only."""
    named = [each.name for each in table.columns if each.adding is samples.Aggregation.SUM] or ["value"]
    return [F.sum(name).alias(name) for name in named]


def _silent(text: str) -> None:
    pass


# -- memory ------------------------------------------------------------------------------------------------------------


def _remember(spark: SparkSession, found: _LakeTimes, when: str) -> None:
    """Record the driver's memory: its Java heap after a collection, and the resident memory of this process."""
    virtual_machine = spark.sparkContext._jvm
    assert virtual_machine is not None
    virtual_machine.java.lang.System.gc()
    heap = virtual_machine.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    found.heap[when] = heap / (1 << 20)
    found.resident[when] = psutil.Process(os.getpid()).memory_info().rss / (1 << 20)


# -- result ------------------------------------------------------------------------------------------------------------


def _result(options: LakeBenchOptions, made: SyntheticRuns, found: _LakeTimes) -> Result:
    result = Result(
        NAME,
        "steps of the pipeline beside plain Spark",
        {
            "rows": made.rows_in_all,
            "rows_by_table": dict(made.rows),
            "runs": len(made.runs),
            "segments": made.segments,
            "rounds": len(found.ours[INGEST]),
            "master": options.master,
            "settings": dict(options.settings),
        },
    )
    result.table = [["step", "rows/s", "bare rows/s", "ratio"]]
    for step in (INGEST, POINTS):
        ours = Measurement("rows", "rows/s", tuple(found.ours[step]), {"step": step})
        bare = Measurement("bare_rows", "rows/s", tuple(found.bare[step]), {"step": step})
        share = median([ratio(a, b) for a, b in zip(ours.samples, bare.samples, strict=True)])
        result.measurements.append(ours)
        result.limits.append(bare)
        result.ratios[f"{step} to bare"] = round(share, 3)
        result.aims.append(Aim(f"{step}: rows a second, of the bare counterpart's", RATIO_AIM, round(share, 3), False))
        result.table.append([step, f"{ours.median:,.0f}", f"{bare.median:,.0f}", f"{share:.2f}"])
    _note_memory(result, found)
    if found.is_cut:
        result.notes.append(f"Only {len(found.ours[INGEST])} of {options.rounds} rounds: the time was over.")
    return result


def _note_memory(result: Result, found: _LakeTimes) -> None:
    for name, figures in (("heap", found.heap), ("python_resident", found.resident)):
        for when, megabytes in figures.items():
            result.measurements.append(Measurement(name, "MB", (round(megabytes, 1),), {"when": when}))
    growth = found.heap["after all"] - found.heap["after a tenth"]
    text = "driver's Java heap: growth in MB from a tenth of the rows to all"
    result.aims.append(Aim(text, GROWTH_MEGABYTES_MAX, round(growth, 1), True))
    text = ", ".join(f"{megabytes:.0f} MB {when}" for when, megabytes in found.heap.items())
    python = ", ".join(f"{megabytes:.0f} MB {when}" for when, megabytes in found.resident.items())
    result.notes.append(f"The driver's Java heap after a collection: {text}; its Python: {python}.")
