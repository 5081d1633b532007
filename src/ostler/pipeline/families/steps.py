"""Family `spark-steps`: steps of the pipeline over synthetic samples, beside plain Spark that does the least of it.

ingest    files are checked, rows are held against all rules and written to bronze; plain: read and write
points    histograms merged, metrics of each point made, silver written; plain: read and group
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import psutil
from pyspark.sql import Column
from pyspark.sql import functions as F

from ostler import __version__
from ostler.lab.families.task import RESULT, Timed
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointFailed,
    PointSpec,
    RunContext,
)
from ostler.lab.scenarios.steps import Step
from ostler.lab.store import schema as samples
from ostler.pipeline.families.spark_experiment import SparkExperiment, SparkRounds, fresh_directory
from ostler.pipeline.families.synthetic import SegmentSize, make_runs
from ostler.pipeline.lake.lake import open_lake
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.lake_frames import read_table
from ostler.pipeline.lake.run_files import check_files, find_runs
from ostler.pipeline.lake.tables import BRONZE
from ostler.pipeline.run import list_runs, make_points, take_samples
from ostler.pipeline.steps.points import KEY, OPERATION_KEY

ROW: Final = "row"
INGEST: Final = "ingest"
POINTS: Final = "points"
HEAP: Final = "Java heap of the driver, bytes"
RESIDENT: Final = "resident memory of the driver's Python, bytes"
PIPELINE: Final = Contestant(
    "Ostler's pipeline", ContestantKind.OSTLER, "files and rows are checked, tables are committed", version=__version__
)
PLAIN: Final = Contestant("plain Spark", ContestantKind.LIMIT, "the same rows read and written, or read and grouped")
# A row takes 3 bytes of a run; the run, bronze of the last two versions and a plain copy exist at once.
_DISK_BYTES_OF_ROW: Final = 20


def experiment(context: RunContext) -> Experiment:
    return PipelineSteps(context, (PIPELINE, PLAIN), partial(StepRounds, context.scratch))


class PipelineSteps(SparkExperiment):
    def point_spec(self, step: Step) -> PointSpec:
        return PointSpec(1, 0, False, main_operation=ROW)

    def disk_bytes(self, step: Step) -> int:
        return int(step.points["rows"]) * _DISK_BYTES_OF_ROW


class StepRounds(SparkRounds):
    """A round is one step over all rows. Runs, and the bronze that points are made of, are kept for all rounds."""

    def __init__(self, scratch: Path, master: str, shape: SegmentSize | None = None) -> None:
        super().__init__(master)
        self._scratch = scratch.absolute()
        self._shape = shape or SegmentSize()
        self._runs: tuple[Path, ...] = ()
        self._rows_wanted = self._rows = 0

    def select(self, work: object) -> None:
        super().select(work)
        wanted = int(self.points["rows"])
        if wanted != self._rows_wanted:
            made = make_runs(self.spark, fresh_directory(self._scratch / "runs"), wanted, self._shape, _silent)
            self._runs, self._rows, self._rows_wanted = made.runs, made.rows_in_all, wanted
            shutil.rmtree(self._lake, ignore_errors=True)

    @property
    def _lake(self) -> Path:
        return self._scratch / "lake"

    def round(self) -> Sequence[Timed]:
        is_ours, task = self.contestant == PIPELINE.name, str(self.points["task"])
        if task == POINTS and not self._lake.exists():
            self._ingest(self._lake)
        target = fresh_directory(self._scratch / "target")
        works: dict[tuple[str, bool], Callable[[], None]] = {
            (INGEST, True): partial(self._ingest, target),
            (INGEST, False): partial(self._plain_ingest, target),
            (POINTS, True): self._points,
            (POINTS, False): self._plain_points,
        }
        began = time.perf_counter()
        works[task, is_ours]()
        return (Timed(ROW, time.perf_counter() - began, self._rows),)

    def found(self) -> list[Metric]:
        """Return the driver's memory: its Java heap after a collection, and the resident memory of this process."""
        machine = self.spark.sparkContext._jvm
        assert machine is not None
        machine.java.lang.System.gc()
        heap = machine.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        return [Metric(RESULT, HEAP, heap), Metric(RESULT, RESIDENT, psutil.Process(os.getpid()).memory_info().rss)]

    def _ingest(self, lake: Path) -> None:
        """Ingest as `ostler pipeline run` does, from finding runs to committed tables."""
        found, refused = find_runs(self._runs)
        with LakeChange(lake) as change:
            rejected = take_samples(self.spark, change, found, check_files(found), _silent)
            list_runs(self.spark, change, found)
            change.commit({})
        if refused or rejected:
            raise PointFailed("synthetic samples were rejected")

    def _points(self) -> None:
        with LakeChange(self._lake) as change:
            runs = sorted({part.values["run"] for part in change.before.parts_of(BRONZE["phase"])})
            broken = make_points(self.spark, change, runs, _silent)
            if not all(frame.isEmpty() for frame in broken):
                raise PointFailed("points of synthetic samples were rejected")
            change.commit({})

    def _plain_ingest(self, target: Path) -> None:
        """Read and write the same files, table by table."""
        for name in samples.TABLES:
            paths = [str(path) for run in self._runs for path in sorted(run.glob(f"segments/*/{name}.parquet"))]
            if paths:
                self.spark.read.parquet(*paths).write.parquet(str(target / name))

    def _plain_points(self) -> None:
        """Read the same tables and aggregate them by point; the sums are discarded."""
        now = open_lake(self._lake)
        for name, table in samples.TABLES.items():
            if now.rows(BRONZE[name]) and name != samples.PHASE.name:
                keys = OPERATION_KEY if any(each.name == "operation" for each in table.columns) else KEY
                frame = read_table(self.spark, now, BRONZE[name])
                frame.groupBy(*keys).agg(*_sums(table)).write.format("noop").mode("overwrite").save()


def _sums(table: samples.SampleTable) -> list[Column]:
    """Return the sums of a table's counters; a statistic has its value only."""
    named = [each.name for each in table.columns if each.adding is samples.Aggregation.SUM] or ["value"]
    return [F.sum(name).alias(name) for name in named]


def _silent(text: str) -> None:
    """Ignore a report."""
