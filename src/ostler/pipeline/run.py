"""The order of all steps, from runs of the laboratory to the tables of a report, in one change of the lake.

Only runs that are new or have changed are ingested, and their points made; gold tables are small and are made again
from all points. When nothing is new, nothing is done, and Spark is not even started. All tables change at once at the
very end: whatever happens before, the lake is unchanged.

Tables that do not need each other are made at the same time, from a few threads: most of a small table's time is
planning, which one thread at a time does for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.pipeline.errors import PipelineError, count_text
from ostler.pipeline.lake.lake import LakeSnapshot
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.lake_frames import FEW_ROWS, read_table, write_table
from ostler.pipeline.lake.run_files import CheckedFiles, FoundRun, RejectedRun, check_files, find_runs
from ostler.pipeline.lake.tables import BRONZE, CONTESTANT, POINT, PUBLISHED, REJECTED, RUN, SECOND, LakeTable
from ostler.pipeline.spark.spark_errors import spark_error_context
from ostler.pipeline.steps import ingest, published
from ostler.pipeline.steps.gold import GOLD_STEPS, Frames, GoldStep, gold_frames
from ostler.pipeline.steps.over_time import over_time
from ostler.pipeline.steps.points import broken_points, points, timed_operations

STEPS: Final = 7
"""Incremented when the steps make other tables of the same samples: all but bronze is then made again.

1: the first. 2: samples beyond the window count by the window's share; runs keep their version. 3: message channels. 4:
separate processor time of two joined queue managers. 5: results by object. 6: disk, log and messages of points, steps,
seconds, disclosures, drivers, matches of published figures.
"""
# Rejected rows of the published figures belong to no run.
_NO_RUN: Final = ""

_TABLES_AT_ONCE: Final = 3

Report = Callable[[str], None]
Progress = Callable[[int, int], None]
"""Called with the number of tables that are written, and that of all."""
OpenSpark = Callable[[int], SparkSession]
"""Opens Spark for about so many rows."""
Rejected = list[DataFrame]
TableWrite = tuple[LakeTable, Callable[[], int]]
"""A table, and what writes it and returns its number of rows."""


@dataclass(frozen=True)
class PipelineOutcome:
    """The result of the pipeline. `rejected` counts rows that were quarantined this time; `snapshot` is the current
    lake."""

    snapshot: LakeSnapshot
    is_changed: bool
    taken: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    refused: tuple[RejectedRun, ...] = ()
    rejected: int = 0


@dataclass(frozen=True)
class _Plan:
    """The plan: the runs to ingest, the runs whose points are made, whether published figures are read.

    `is_stale`: an earlier version of the steps has made the lake.
    """

    fresh: tuple[FoundRun, ...]
    pointed: tuple[str, ...]
    published: str | None
    made_from: Mapping[str, str]
    is_stale: bool

    @property
    def rows(self) -> int:
        """Return the number of rows in the files of new runs."""
        return sum(run.rows for run in self.fresh)

    @property
    def is_empty(self) -> bool:
        return not self.pointed and self.published is None

    @property
    def tables(self) -> int:
        """Return the number of tables that are written, without those of gold."""
        samples = len(BRONZE) if self.fresh else 0
        manifests = len(ingest.MANIFEST_TABLES) if self.fresh or self.is_stale else 0
        return samples + manifests + (self.published is not None) + (2 if self.pointed else 0)

    @property
    def fresh_names(self) -> tuple[str, ...]:
        return tuple(run.name for run in self.fresh)

    @property
    def rejecting(self) -> tuple[str, ...]:
        """Return the runs whose quarantined rows are all new; those of no run come with the published figures."""
        return (*self.fresh_names, *([_NO_RUN] if self.published is not None else []))


@dataclass
class _Reports:
    """Progress while tables are made: a line for each, and how many there are already."""

    report: Report | None
    progress: Progress | None = None
    tables: int = 0
    written: int = 0

    def say(self, text: str) -> None:
        if self.report is not None:
            self.report(text)

    def add_written(self, table: LakeTable, rows: int) -> None:
        self.written += 1
        if self.progress is not None:
            self.progress(self.written, max(self.tables, self.written))
        self.say(f"{count_text(rows, 'row')} of {table.name}.")


def run_pipeline(
    open_spark: OpenSpark,
    lake: Path,
    paths: Iterable[Path],
    is_rebuild: bool = False,
    report: Report | None = None,
    gold: Sequence[GoldStep] | None = None,
    progress: Progress | None = None,
) -> PipelineOutcome:
    """Ingest the runs below some paths into the lake. `is_rebuild` ingests known runs too. `gold` is for tests.

    Raises PipelineError, and leaves the lake unchanged, on failure.
    """
    found, refused = find_runs(paths)
    steps = GOLD_STEPS if gold is None else gold
    with LakeChange(lake) as change:
        plan = _plan_update(change.before, found, is_rebuild)
        known = tuple(run.name for run in found if run.name not in plan.fresh_names)
        if plan.is_empty:
            return PipelineOutcome(change.before, False, (), known, tuple(refused))
        reports = _Reports(report, progress, plan.tables + len(steps))
        with spark_error_context("The pipeline stopped"):
            spark = open_spark(_rows_to_read(change.before, plan))
            rejected = _update_lake(spark, change, plan, reports)
            _make_gold(spark, change, steps, reports)
        # Entries of other programs are kept.
        snapshot = change.commit({**change.before.made_from, **plan.made_from})
    return PipelineOutcome(snapshot, True, plan.fresh_names, known, tuple(refused), rejected)


def _rows_to_read(before: LakeSnapshot, plan: _Plan) -> int:
    """Return about how many rows are read: those of new runs, of bronze where points are made again, and of the tables
    that gold is made from."""
    again = [name for name in plan.pointed if name not in plan.fresh_names]
    bronze = sum(part.rows for table in BRONZE.values() for part in before.parts_of(table, run=again))
    return plan.rows + bronze + before.rows(BRONZE["statistic"]) + before.rows(POINT)


def _write_at_once(reports: _Reports, writes: Sequence[TableWrite]) -> list[int]:
    """Write tables from several threads, and return their numbers of rows. When one fails, no further one begins."""
    with ThreadPoolExecutor(_TABLES_AT_ONCE, "ostler-pipeline") as pool:
        begun = [(table, pool.submit(write)) for table, write in writes]
        found = []
        try:
            for table, each in begun:
                found.append(each.result())
                reports.add_written(table, found[-1])
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return found


def _plan_update(before: LakeSnapshot, found: Sequence[FoundRun], is_rebuild: bool) -> _Plan:
    taken = before.read(RUN, ["run", "content"]).to_pylist()
    contents = {row["run"]: row["content"] for row in taken}
    fresh = tuple(run for run in found if is_rebuild or contents.get(run.name) != run.content)
    text = published.published_text()
    made_from = {"steps": str(STEPS), "published": published.published_content(text)}
    # A lake without the entry has seen no steps: it contains live records only.
    is_stale = before.made_from.get("steps", made_from["steps"]) != made_from["steps"]
    pointed = {run.name for run in fresh} | (set(contents) if is_stale or is_rebuild else set())
    is_printed = not is_rebuild and before.made_from.get("published") == made_from["published"]
    return _Plan(fresh, tuple(sorted(pointed)), None if is_printed else text, made_from, is_stale)


def _update_lake(spark: SparkSession, change: LakeChange, plan: _Plan, reports: _Reports) -> int:
    """Update bronze, silver and quarantine, and return the number of quarantined rows."""
    rejected: Rejected = []
    checked = CheckedFiles()
    writes: list[TableWrite] = []
    if plan.fresh:
        reports.say(f"Checking the files of {count_text(len(plan.fresh), 'run')}.")
        checked = check_files(plan.fresh)
        writes += _sample_writes(spark, change, plan.fresh, checked, rejected)
    if plan.is_stale:
        reports.say("Tables are made again: another version of the pipeline has made them.")
    if plan.fresh or plan.is_stale:
        writes += _run_writes(spark, change, plan.fresh, plan.is_stale)
    if plan.published is not None:
        writes.append(_published_write(spark, change, plan.published, rejected))
    _write_at_once(reports, writes)
    if plan.pointed:
        rejected += _make_points(spark, change, plan.pointed, reports)
    _quarantine(spark, change, rejected, plan)
    return _check_row_counts(change.now, plan, checked)


def _make_gold(spark: SparkSession, change: LakeChange, steps: Sequence[GoldStep], reports: _Reports) -> None:
    frames = gold_frames(spark, change.now, steps)

    def write(step: GoldStep, frames: Frames) -> int:
        return write_table(change, step.make(frames).coalesce(1), step.table)

    _write_at_once(reports, [(step.table, partial(write, step, frames)) for step in steps])


def take_samples(
    spark: SparkSession, change: LakeChange, runs: Sequence[FoundRun], checked: CheckedFiles, report: Report
) -> Rejected:
    """Write bronze, and return the rejected rows."""
    rejected: Rejected = []
    _write_at_once(_Reports(report), _sample_writes(spark, change, runs, checked, rejected))
    return rejected


def list_runs(spark: SparkSession, change: LakeChange, runs: Sequence[FoundRun]) -> None:
    """Write the tables of manifests."""
    _write_at_once(_Reports(None), _run_writes(spark, change, runs))


def _sample_writes(
    spark: SparkSession, change: LakeChange, runs: Sequence[FoundRun], checked: CheckedFiles, rejected: Rejected
) -> list[TableWrite]:
    """Return what writes bronze. Adds the rejected rows: of files at once, of rows where fewer were written than
    read."""
    names = [run.name for run in runs]
    if checked.problems:
        rejected.append(ingest.rejected_files(spark, checked.problems))

    def write(table: LakeTable) -> int:
        if not checked.rows[table.name]:
            return change.put(table, names)
        samples = ingest.read_samples(spark, table, [str(path) for path in checked.sound[table.name]])
        if checked.rows[table.name] <= FEW_ROWS:
            samples = samples.coalesce(1)
        rows = write_table(change, ingest.sound_samples(samples, table), table, names)
        if rows < checked.rows[table.name]:
            rejected.append(ingest.rejected_samples(samples, table))
        return rows

    return [(table, partial(write, table)) for table in BRONZE.values()]


def _run_writes(
    spark: SparkSession, change: LakeChange, runs: Sequence[FoundRun], is_stale: bool = False
) -> list[TableWrite]:
    """Return what writes the tables of manifests. In a lake of earlier steps the other manifests are read again."""
    names = [run.name for run in runs]

    def write(table: LakeTable) -> int:
        before, added = read_table(spark, change.before, table), ingest.manifest_table(spark, table, runs)
        if is_stale:
            before = ingest.reread(table, read_table(spark, change.before, RUN))
        return write_table(change, ingest.with_runs(before, added, table, names).coalesce(1), table)

    return [(table, partial(write, table)) for table in ingest.MANIFEST_TABLES]


def _published_write(spark: SparkSession, change: LakeChange, text: str, rejected: Rejected) -> TableWrite:
    """Return what writes the published figures. Adds the rejected ones."""

    def write() -> int:
        read = published.read_figures(published.printed_figures(spark, text))
        rows = write_table(change, published.published_figures(read).coalesce(1), PUBLISHED)
        if rows < published.figures_in(text):
            rejected.append(published.rejected_figures(read))
        return rows

    return PUBLISHED, write


def make_points(spark: SparkSession, change: LakeChange, runs: Sequence[str], report: Report) -> Rejected:
    """Write silver, and return the rejected points."""
    return _make_points(spark, change, runs, _Reports(report))


def _make_points(spark: SparkSession, change: LakeChange, runs: Sequence[str], reports: _Reports) -> Rejected:
    """Write silver, and return the rejected points. Scenarios with new points are rewritten, with their other
    points."""
    now = change.now
    tables = {name: read_table(spark, now, table, run=runs) for name, table in BRONZE.items()}
    tables |= {each.name: read_table(spark, now, each) for each in (RUN, CONTESTANT)}
    listed = now.read(RUN, ["run", "scenario"]).to_pylist() + change.before.read(RUN, ["run", "scenario"]).to_pylist()
    scenarios = sorted({row["scenario"] for row in listed if row["run"] in runs})
    # Few rows, from one pass over all samples, used twice: those that keep the rules, and those that do not.
    operations = timed_operations(tables).persist()
    others = read_table(spark, change.before, POINT, scenario=scenarios).filter(~F.col("run").isin(list(runs)))
    rows = write_table(change, points(operations, tables).unionByName(others).coalesce(1), POINT, scenarios)
    reports.add_written(POINT, rows)
    measured = read_table(spark, change.now, POINT, scenario=scenarios).filter(F.col("run").isin(list(runs)))
    rows = write_table(change, over_time(measured, tables).coalesce(1), SECOND, runs)
    reports.add_written(SECOND, rows)
    return [broken_points(operations)]


def _quarantine(spark: SparkSession, change: LakeChange, rejected: Sequence[DataFrame], plan: _Plan) -> None:
    """Write quarantine: of ingested runs all rows are new; of those whose points were made, only the rows of points."""
    pointed = [name for name in plan.pointed if name not in plan.rejecting]
    kept = read_table(spark, change.before, REJECTED, run=pointed).filter(F.col("table") != POINT.name)
    whole = reduce(DataFrame.unionByName, rejected, kept)
    write_table(change, whole.coalesce(1), REJECTED, [*plan.rejecting, *pointed])


def _check_row_counts(now: LakeSnapshot, plan: _Plan, checked: CheckedFiles) -> int:
    """Return the number of quarantined rows. Every row of every file must be in bronze or in quarantine: nothing is
    lost silently."""
    rejected = now.read(REJECTED, ["table", "rows"], run=plan.rejecting).to_pylist()
    runs = plan.fresh_names
    for name, table in BRONZE.items():
        wanted = checked.rows.get(name, 0) + sum(each.rows for each in checked.problems if each.table == name)
        taken = sum(part.rows for part in now.parts_of(table, run=runs))
        quarantined = sum(row["rows"] for row in rejected if row["table"] == name)
        if taken + quarantined != wanted:
            raise PipelineError(
                f"{count_text(wanted, 'row')} of {name} were read, and {taken:,} were ingested and "
                f"{quarantined:,} quarantined. Are the lake and the runs on a file system that all workers of Spark "
                "share? Tables are as they were."
            )
    return sum(row["rows"] for row in rejected)
