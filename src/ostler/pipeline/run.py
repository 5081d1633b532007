"""The order of all steps, from runs of the laboratory to the tables of a report, in one change of the lake.

Only runs that are new or have changed are ingested, and their points made; gold tables are small and are made again
from all points. When nothing is new, nothing is done, and Spark is not even started. All tables change at once at the
very end: whatever happens before, the lake is unchanged.

Each table is a task that begins when the tables it is made from are written. A few tasks run at the same time: most of
a small table's time is planning, which one thread at a time does for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from ostler.pipeline.steps.gold import GOLD_STEPS, GoldStep, gold_tasks
from ostler.pipeline.steps.over_time import over_time
from ostler.pipeline.steps.points import broken_points, points, timed_operations
from ostler.pipeline.tasks import Task, run_tasks

STEPS: Final = 7
"""Incremented when the steps make other tables of the same samples: all but bronze is then made again.

1: the first. 2: samples beyond the window count by the window's share; runs keep their version. 3: message channels. 4:
separate processor time of two joined queue managers. 5: results by object. 6: disk, log and messages of points, steps,
seconds, disclosures, drivers, matches of published figures.
"""
# Rejected rows of the published figures belong to no run.
_NO_RUN: Final = ""

Report = Callable[[str], None]
Progress = Callable[[int, int], None]
"""Called with the number of tables that are written, and that of all."""
OpenSpark = Callable[[int], SparkSession]
"""Opens Spark for about so many rows."""
Rejected = list[DataFrame]


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

    def add_done(self, name: str, rows: int | None) -> None:
        """Report a task that is done, if it has written a table."""
        if rows is None:
            return
        self.written += 1
        if self.progress is not None:
            self.progress(self.written, max(self.tables, self.written))
        self.say(f"{count_text(rows, 'row')} of {name}.")


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
        reports = _Reports(report, progress)
        with spark_error_context("The pipeline stopped"):
            spark = open_spark(_rows_to_read(change.before, plan))
            checked = _checked(plan, reports)
            tasks = _update_tasks(spark, change, plan, checked)
            # Quarantine is a table of its own, which nobody counts.
            reports.tables = len(tasks) - 1 + len(steps)
            run_tasks([*tasks, *gold_tasks(spark, change, steps)], reports.add_done)
        rejected = _check_row_counts(change.now, plan, checked)
        # Entries of other programs are kept.
        snapshot = change.commit({**change.before.made_from, **plan.made_from})
    return PipelineOutcome(snapshot, True, plan.fresh_names, known, tuple(refused), rejected)


def _rows_to_read(before: LakeSnapshot, plan: _Plan) -> int:
    """Return about how many rows are read: those of new runs, of bronze where points are made again, and of the tables
    that gold is made from."""
    again = [name for name in plan.pointed if name not in plan.fresh_names]
    bronze = sum(part.rows for table in BRONZE.values() for part in before.parts_of(table, run=again))
    return plan.rows + bronze + before.rows(BRONZE["statistic"]) + before.rows(POINT)


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


def _checked(plan: _Plan, reports: _Reports) -> CheckedFiles:
    if plan.is_stale:
        reports.say("Tables are made again: another version of the pipeline has made them.")
    if not plan.fresh:
        return CheckedFiles()
    reports.say(f"Checking the files of {count_text(len(plan.fresh), 'run')}.")
    return check_files(plan.fresh)


def _update_tasks(spark: SparkSession, change: LakeChange, plan: _Plan, checked: CheckedFiles) -> list[Task]:
    """Return what updates bronze, silver and quarantine."""
    rejected: Rejected = []
    tasks: list[Task] = []
    if plan.fresh:
        tasks += _sample_tasks(spark, change, plan.fresh, checked, rejected)
    if plan.fresh or plan.is_stale:
        tasks += _manifest_tasks(spark, change, plan.fresh, plan.is_stale)
    if plan.published is not None:
        tasks.append(_published_task(spark, change, plan.published, rejected))
    if plan.pointed:
        tasks += _point_tasks(spark, change, plan.pointed, rejected)
    needs = tuple(task.name for task in tasks)
    return [*tasks, Task(REJECTED.name, partial(_quarantine, spark, change, rejected, plan), needs)]


def take_samples(
    spark: SparkSession, change: LakeChange, runs: Sequence[FoundRun], checked: CheckedFiles, report: Report
) -> Rejected:
    """Write bronze, and return the rejected rows."""
    rejected: Rejected = []
    run_tasks(_sample_tasks(spark, change, runs, checked, rejected), _Reports(report).add_done)
    return rejected


def list_runs(spark: SparkSession, change: LakeChange, runs: Sequence[FoundRun]) -> None:
    """Write the tables of manifests."""
    run_tasks(_manifest_tasks(spark, change, runs), _Reports(None).add_done)


def make_points(spark: SparkSession, change: LakeChange, runs: Sequence[str], report: Report) -> Rejected:
    """Write silver, and return the rejected points."""
    rejected: Rejected = []
    run_tasks(_point_tasks(spark, change, runs, rejected), _Reports(report).add_done)
    return rejected


def _sample_tasks(
    spark: SparkSession, change: LakeChange, runs: Sequence[FoundRun], checked: CheckedFiles, rejected: Rejected
) -> list[Task]:
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

    return [Task(table.name, partial(write, table)) for table in BRONZE.values()]


def _manifest_tasks(
    spark: SparkSession, change: LakeChange, runs: Sequence[FoundRun], is_stale: bool = False
) -> list[Task]:
    """Return what writes the tables of manifests. In a lake of earlier steps the other manifests are read again."""
    names = [run.name for run in runs]

    def write(table: LakeTable) -> int:
        before, added = read_table(spark, change.before, table), ingest.manifest_table(spark, table, runs)
        if is_stale:
            before = ingest.reread(table, read_table(spark, change.before, RUN))
        return write_table(change, ingest.with_runs(before, added, table, names).coalesce(1), table)

    return [Task(table.name, partial(write, table)) for table in ingest.MANIFEST_TABLES]


def _published_task(spark: SparkSession, change: LakeChange, text: str, rejected: Rejected) -> Task:
    """Return what writes the published figures. Adds the rejected ones."""

    def write() -> int:
        read = published.read_figures(published.printed_figures(spark, text))
        rows = write_table(change, published.published_figures(read).coalesce(1), PUBLISHED)
        if rows < published.figures_in(text):
            rejected.append(published.rejected_figures(read))
        return rows

    return Task(PUBLISHED.name, write)


def _point_tasks(spark: SparkSession, change: LakeChange, runs: Sequence[str], rejected: Rejected) -> list[Task]:
    """Return what writes silver, and its windows over time. Adds the rejected points. Scenarios with new points are
    rewritten, with their other points."""
    kept: dict[str, DataFrame] = {}

    def scenarios() -> list[str]:
        read = [lake.read(RUN, ["run", "scenario"]).to_pylist() for lake in (change.now, change.before)]
        return sorted({row["scenario"] for rows in read for row in rows if row["run"] in runs})

    def write_points() -> int:
        now = change.now
        kept.update({name: read_table(spark, now, table, run=runs) for name, table in BRONZE.items()})
        tables = kept | {each.name: read_table(spark, now, each) for each in (RUN, CONTESTANT)}
        # Few rows, from one pass over all samples, used twice: those that keep the rules, and those that do not. Not by
        # `persist`, which compiles code for its columns.
        operations = timed_operations(tables).localCheckpoint()
        rejected.append(broken_points(operations))
        others = read_table(spark, change.before, POINT, scenario=scenarios()).filter(~F.col("run").isin(list(runs)))
        whole = points(operations, tables).unionByName(others).coalesce(1)
        return write_table(change, whole, POINT, scenarios())

    def write_seconds() -> int:
        found = read_table(spark, change.now, POINT, scenario=scenarios()).filter(F.col("run").isin(list(runs)))
        return write_table(change, over_time(found, kept).coalesce(1), SECOND, runs)

    needs = (*BRONZE, RUN.name, CONTESTANT.name)
    return [Task(POINT.name, write_points, needs), Task(SECOND.name, write_seconds, (POINT.name,))]


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
