"""The steps that make the gold tables: the tables each reads, and the one it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from ostler.pipeline.lake.lake import LakeSnapshot
from ostler.pipeline.lake.lake_frames import read_table
from ostler.pipeline.lake.live_tables import RUN_PREFIX
from ostler.pipeline.lake.tables import (
    BRONZE,
    COMPARISON,
    CONTESTANT,
    COST,
    COURSE,
    FIGURE_MATCH,
    PEAK,
    POINT,
    PREDICTION,
    PUBLISHED,
    RESULT,
    RUN,
    SCALING,
    STEP,
    LakeTable,
)
from ostler.pipeline.live.live import live_costs
from ostler.pipeline.steps.comparison_metrics import comparison_metrics, memory_metrics, story_metrics
from ostler.pipeline.steps.comparisons import comparisons
from ostler.pipeline.steps.costs import costs
from ostler.pipeline.steps.curves import curve_steps, steps_of_curves
from ostler.pipeline.steps.figure_matches import figure_matches
from ostler.pipeline.steps.over_time import courses
from ostler.pipeline.steps.peaks import peaks
from ostler.pipeline.steps.predictions import predictions
from ostler.pipeline.steps.results import results
from ostler.pipeline.steps.scaling import scaling

Frames = Mapping[str, DataFrame]
"""Tables by name, and what several steps are made from: CURVE_STEPS, METRICS of curves and MEMORY of experiments;
LIVE_STATISTIC where a queue manager was watched."""
CURVE_STEPS: Final = "curve steps"
LIVE_STATISTIC: Final = "live statistic"
METRICS: Final = "metrics"
MEMORY: Final = "memory"


@dataclass(frozen=True)
class GoldStep:
    """A step. `make` gets the tables of `reads`, by name, and makes `table`. No step reads what another one makes.

    With `is_of_curves` it gets the steps of curves, too, which are made once for all.
    """

    table: LakeTable
    reads: tuple[LakeTable, ...]
    make: Callable[[Frames], DataFrame]
    is_of_curves: bool = False


def gold_frames(spark: SparkSession, lake: LakeSnapshot, steps: Sequence[GoldStep]) -> Frames:
    """Return all that some steps read, each table once."""
    statistic = BRONZE["statistic"]
    live = [part.values["run"] for part in lake.parts_of(statistic) if part.values["run"].startswith(RUN_PREFIX)]
    frames: dict[str, DataFrame] = {}
    for table in {each.name: each for step in steps for each in step.reads}.values():
        frames[table.name] = read_table(spark, lake, table)
        if table == statistic and live:
            frames[LIVE_STATISTIC] = read_table(spark, lake, table, run=live)
    if any(step.is_of_curves for step in steps):
        # Few rows, used by most steps: without this Spark would make them for each, and plan for longer than it works.
        frames[CURVE_STEPS] = curve_steps(frames[POINT.name]).coalesce(1).localCheckpoint()
    if any(PUBLISHED in step.reads for step in steps):
        of_runs = (frames[RUN.name], frames[CONTESTANT.name])
        made = comparison_metrics(frames[POINT.name], frames[CURVE_STEPS], *of_runs)
        found = results(frames["statistic"], frames[RUN.name], frames["phase"])
        stories = story_metrics(found, frames["phase"], *of_runs)
        frames[METRICS] = made.unionByName(stories).coalesce(1).localCheckpoint()
        frames[MEMORY] = memory_metrics(found, frames["phase"], *of_runs).coalesce(1).localCheckpoint()
    return frames


def _costs(tables: Frames) -> DataFrame:
    found = costs(tables["statistic"], tables["point"])
    live = tables.get(LIVE_STATISTIC)
    # Live records have no points, and would be lost with the previous table.
    return found if live is None else found.unionByName(live_costs(live))


GOLD_STEPS: Final[tuple[GoldStep, ...]] = (
    GoldStep(
        COMPARISON,
        (POINT, RUN, CONTESTANT, PUBLISHED, BRONZE["statistic"], BRONZE["phase"]),
        lambda tables: comparisons(tables[METRICS], tables[MEMORY], tables["published"]),
        is_of_curves=True,
    ),
    GoldStep(
        FIGURE_MATCH,
        (POINT, RUN, CONTESTANT, PUBLISHED, BRONZE["statistic"], BRONZE["phase"]),
        lambda tables: figure_matches(tables["published"], tables[METRICS].unionByName(tables[MEMORY])),
        is_of_curves=True,
    ),
    GoldStep(SCALING, (POINT, RUN), lambda tables: scaling(tables[CURVE_STEPS], tables["run"]), is_of_curves=True),
    GoldStep(COST, (BRONZE["statistic"], POINT), _costs),
    GoldStep(
        PREDICTION, (POINT, RUN), lambda tables: predictions(tables[CURVE_STEPS], tables["run"]), is_of_curves=True
    ),
    GoldStep(
        STEP,
        (POINT, CONTESTANT),
        lambda tables: steps_of_curves(tables[CURVE_STEPS], tables["contestant"]),
        is_of_curves=True,
    ),
    GoldStep(PEAK, (POINT, RUN), lambda tables: peaks(tables[CURVE_STEPS], tables["run"]), is_of_curves=True),
    GoldStep(
        RESULT,
        (BRONZE["statistic"], RUN, BRONZE["phase"]),
        lambda tables: results(tables["statistic"], tables["run"], tables["phase"]),
    ),
    GoldStep(COURSE, (BRONZE["statistic"], RUN), lambda tables: courses(tables["statistic"], tables["run"])),
)
"""The longest first: they are made at the same time."""
