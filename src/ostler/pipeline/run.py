"""The order of all steps, from runs of the laboratory to the tables of a report, in one change of the lake.

Only runs that are new or have changed are ingested, and their points made; gold tables are small and are made again
from all points. When nothing is new, nothing is done, and Spark is not even started. All tables change at once at the
very end: whatever happens before, the lake is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.pipeline.errors import PipelineError, count_text
from ostler.pipeline.lake.lake import LakeSnapshot
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.lake_frames import read_table, write_table
from ostler.pipeline.lake.run_files import CheckedFiles, FoundRun, RejectedRun, check_files, find_runs
from ostler.pipeline.lake.tables import BRONZE, ENTRANT, POINT, PUBLISHED, REJECTED, RUN
from ostler.pipeline.spark.spark_errors import spark_error_context
from ostler.pipeline.steps import ingest, published
from ostler.pipeline.steps.gold import GOLD_STEPS, GoldStep
from ostler.pipeline.steps.points import broken_points, points, timed_operations

STEPS: Final = 5
"""Incremented when the steps make other tables of the same samples: all but bronze is then made again.

1: the first. 2: samples beyond the window count by the window's share; runs keep their version. 3: message channels. 4:
separate processor time of two joined queue managers.
"""
# Rejected rows of the published figures belong to no run.
_NO_RUN: Final = ""

Report = Callable[[str], None]
OpenSpark = Callable[[], SparkSession]


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
    def is_empty(self) -> bool:
        return not self.pointed and self.published is None

    @property
    def fresh_names(self) -> tuple[str, ...]:
        return tuple(run.name for run in self.fresh)

    @property
    def rejecting(self) -> tuple[str, ...]:
        """Return the runs whose quarantined rows are all new; those of no run come with the published figures."""
        return (*self.fresh_names, *([_NO_RUN] if self.published is not None else []))


def _ignore_report(text: str) -> None:
    """Ignore a report."""


def run_pipeline(
    open_spark: OpenSpark,
    lake: Path,
    paths: Iterable[Path],
    is_rebuild: bool = False,
    report: Report | None = None,
    gold: Sequence[GoldStep] | None = None,
) -> PipelineOutcome:
    """Ingest the runs below some paths into the lake. `is_rebuild` ingests known runs too. `gold` is for tests.

    Raises PipelineError, and leaves the lake unchanged, on failure.
    """
    report = report or _ignore_report
    found, refused = find_runs(paths)
    with LakeChange(lake) as change:
        plan = _plan_update(change.before, found, is_rebuild)
        known = tuple(run.name for run in found if run.name not in plan.fresh_names)
        if plan.is_empty:
            return PipelineOutcome(change.before, False, (), known, tuple(refused))
        with spark_error_context("The pipeline stopped"):
            spark = open_spark()
            rejected = _update_lake(spark, change, plan, report)
            _make_gold(spark, change, GOLD_STEPS if gold is None else gold, report)
        # Entries of other programs are kept.
        snapshot = change.commit({**change.before.made_from, **plan.made_from})
    return PipelineOutcome(snapshot, True, plan.fresh_names, known, tuple(refused), rejected)


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


def _update_lake(spark: SparkSession, change: LakeChange, plan: _Plan, report: Report) -> int:
    """Update bronze, silver and quarantine, and return the number of quarantined rows."""
    rejected: list[DataFrame] = []
    checked = CheckedFiles()
    if plan.fresh:
        report(f"Checking the files of {count_text(len(plan.fresh), 'run')}.")
        checked = check_files(plan.fresh)
        rejected += take_samples(spark, change, plan.fresh, checked, report)
    if plan.is_stale:
        report("Tables are made again: another version of the pipeline has made them.")
    if plan.fresh or plan.is_stale:
        list_runs(spark, change, plan.fresh, plan.is_stale)
    if plan.published is not None:
        rejected += _ingest_published(spark, change, plan.published, report)
    if plan.pointed:
        rejected += make_points(spark, change, plan.pointed, report)
    _quarantine(spark, change, rejected, plan)
    return _check_row_counts(change.now, plan, checked)


def _make_gold(spark: SparkSession, change: LakeChange, steps: Sequence[GoldStep], report: Report) -> None:
    for step in steps:
        frames = {each.name: read_table(spark, change.now, each) for each in step.reads}
        rows = write_table(change, step.make(frames).coalesce(1), step.table)
        report(f"{count_text(rows, 'row')} of {step.table.name}.")


def take_samples(
    spark: SparkSession, change: LakeChange, runs: Sequence[FoundRun], checked: CheckedFiles, report: Report
) -> list[DataFrame]:
    """Write bronze. Returns the rejected rows: of files at once, of rows where fewer were written than read."""
    names = [run.name for run in runs]
    rejected = [ingest.rejected_files(spark, checked.problems)] if checked.problems else []
    for name, table in BRONZE.items():
        samples = ingest.read_samples(spark, table, [str(path) for path in checked.sound[name]])
        if not checked.rows[name]:
            change.put(table, names)
            continue
        rows = write_table(change, ingest.sound_samples(samples, table), table, names)
        report(f"{count_text(rows, 'row')} of {name}.")
        if rows < checked.rows[name]:
            rejected.append(ingest.rejected_samples(samples, table))
    return rejected


def list_runs(spark: SparkSession, change: LakeChange, runs: Sequence[FoundRun], is_stale: bool = False) -> None:
    """Write the table of runs from manifests. In a lake of earlier steps the other manifests are read again."""
    names = [run.name for run in runs]
    listed, entrants = (read_table(spark, change.before, each) for each in (RUN, ENTRANT))
    if is_stale:
        listed, entrants = ingest.reread_manifests(listed), ingest.reread_contestants(listed)
    fresh = ingest.run_table(spark, runs), ingest.entrant_table(spark, runs)
    for table, before, added in ((RUN, listed, fresh[0]), (ENTRANT, entrants, fresh[1])):
        write_table(change, ingest.with_runs(before, added, table, names).coalesce(1), table)


def _ingest_published(spark: SparkSession, change: LakeChange, text: str, report: Report) -> list[DataFrame]:
    """Write the published figures, and return the rejected ones."""
    read = published.read_figures(published.printed_figures(spark, text))
    rows = write_table(change, published.published_figures(read).coalesce(1), PUBLISHED)
    report(f"{count_text(rows, 'row')} of {PUBLISHED.name}.")
    return [published.rejected_figures(read)]


def make_points(spark: SparkSession, change: LakeChange, runs: Sequence[str], report: Report) -> list[DataFrame]:
    """Write silver. Scenarios with new points are rewritten, with their other points."""
    now = change.now
    tables = {name: read_table(spark, now, table, run=runs) for name, table in BRONZE.items()}
    tables |= {each.name: read_table(spark, now, each) for each in (RUN, ENTRANT)}
    listed = now.read(RUN, ["run", "scenario"]).to_pylist() + change.before.read(RUN, ["run", "scenario"]).to_pylist()
    scenarios = sorted({row["scenario"] for row in listed if row["run"] in runs})
    # Few rows, from one pass over all samples, used twice: those that keep the rules, and those that do not.
    operations = timed_operations(tables).persist()
    others = read_table(spark, change.before, POINT, scenario=scenarios).filter(~F.col("run").isin(list(runs)))
    rows = write_table(change, points(operations, tables).unionByName(others).coalesce(1), POINT, scenarios)
    report(f"{count_text(rows, 'row')} of {POINT.name}.")
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
