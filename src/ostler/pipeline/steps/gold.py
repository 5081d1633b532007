"""The steps that make the gold tables: what each reads, and the table it makes; and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from ostler.pipeline.lake.lake import LakeSnapshot
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.lake_frames import read_table, write_table
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
from ostler.pipeline.steps.ratios import printed_ratios
from ostler.pipeline.steps.results import results
from ostler.pipeline.steps.scaling import best_steps, scaling
from ostler.pipeline.tasks import Task

Frames = Mapping[str, DataFrame]
"""Tables and shared frames by name; LIVE_STATISTIC where a queue manager was watched."""
LIVE_STATISTIC: Final = "live statistic"
CURVE_STEPS: Final = "curve steps"
BEST_STEPS: Final = "best steps"
RESULTS: Final = "results"
METRICS: Final = "metrics"
MEMORY: Final = "memory"
PRINTED_RATIOS: Final = "printed ratios"
_STATISTIC: Final = BRONZE["statistic"]
_PHASE: Final = BRONZE["phase"]


@dataclass(frozen=True)
class SharedFrame:
    """Few rows that several steps are made from. They are made once and kept: otherwise Spark would make them for each
    step, and plan for longer than it works.

    `make` gets the tables of `reads` and the shared frames of `uses`, by name.
    """

    name: str
    reads: tuple[LakeTable, ...]
    make: Callable[[Frames], DataFrame]
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class GoldStep:
    """A step. `make` gets the tables of `reads` and the shared frames of `uses`, by name, and makes `table`. No step
    reads what another one makes."""

    table: LakeTable
    reads: tuple[LakeTable, ...]
    make: Callable[[Frames], DataFrame]
    uses: tuple[str, ...] = ()


class GoldFrames:
    """What steps read: tables of a lake, each read once, and shared frames. May be used from several threads.

    `lake` returns the lake when a table is read for the first time: it must have been written.
    """

    def __init__(self, spark: SparkSession, lake: Callable[[], LakeSnapshot]) -> None:
        self._spark = spark
        self._lake = lake
        self._frames: dict[str, DataFrame] = {}
        self._lock = Lock()

    def of(self, step: GoldStep | SharedFrame) -> Frames:
        """Return all that a step reads. The shared frames that it uses must have been kept."""
        with self._lock:
            for table in step.reads:
                if table.name not in self._frames:
                    self._read(table)
            names = [*(table.name for table in step.reads), *step.uses, LIVE_STATISTIC]
            return {name: self._frames[name] for name in names if name in self._frames}

    def keep(self, shared: SharedFrame) -> None:
        """Make a shared frame, and keep its rows."""
        frame = shared.make(self.of(shared)).coalesce(1).localCheckpoint()
        if frame.isEmpty():
            # In a form that Spark's optimizer recognizes: most of what is made from nothing is then not even planned.
            frame = frame.limit(0)
        with self._lock:
            self._frames[shared.name] = frame

    def _read(self, table: LakeTable) -> None:
        lake = self._lake()
        self._frames[table.name] = read_table(self._spark, lake, table)
        if table == _STATISTIC:
            runs = [part.values["run"] for part in lake.parts_of(table) if part.values["run"].startswith(RUN_PREFIX)]
            if runs:
                self._frames[LIVE_STATISTIC] = read_table(self._spark, lake, table, run=runs)


def gold_tasks(spark: SparkSession, change: LakeChange, steps: Sequence[GoldStep]) -> list[Task]:
    """Return the tasks that make the tables of some steps, and the shared frames that those use."""
    frames = GoldFrames(spark, lambda: change.now)

    def write(step: GoldStep) -> int:
        return write_table(change, step.make(frames.of(step)).coalesce(1), step.table)

    shared = [Task(each.name, partial(frames.keep, each), _needs(each)) for each in _shared_frames(steps)]
    return shared + [Task(step.table.name, partial(write, step), _needs(step)) for step in steps]


def _needs(step: GoldStep | SharedFrame) -> tuple[str, ...]:
    return (*(table.name for table in step.reads), *step.uses)


def _shared_frames(steps: Sequence[GoldStep]) -> list[SharedFrame]:
    """Return the shared frames that some steps use, and those that these use."""
    wanted = {name for step in steps for name in step.uses}
    for each in reversed(SHARED_FRAMES):
        if each.name in wanted:
            wanted |= set(each.uses)
    return [each for each in SHARED_FRAMES if each.name in wanted]


def _costs(tables: Frames) -> DataFrame:
    found = costs(tables["statistic"], tables["point"])
    live = tables.get(LIVE_STATISTIC)
    # Live records have no points, and would be lost with the previous table.
    return found if live is None else found.unionByName(live_costs(live))


def _metrics(tables: Frames) -> DataFrame:
    runs = (tables["run"], tables["contestant"])
    stories = story_metrics(tables[RESULTS], tables["phase"], *runs)
    return comparison_metrics(tables["point"], tables[CURVE_STEPS], *runs).unionByName(stories)


SHARED_FRAMES: Final[tuple[SharedFrame, ...]] = (
    SharedFrame(PRINTED_RATIOS, (PUBLISHED,), lambda tables: printed_ratios(tables["published"])),
    SharedFrame(
        RESULTS,
        (_STATISTIC, RUN, _PHASE),
        lambda tables: results(tables["statistic"], tables["run"], tables["phase"]),
    ),
    SharedFrame(
        MEMORY,
        (_PHASE, RUN, CONTESTANT),
        lambda tables: memory_metrics(tables[RESULTS], tables["phase"], tables["run"], tables["contestant"]),
        uses=(RESULTS,),
    ),
    SharedFrame(CURVE_STEPS, (POINT,), lambda tables: curve_steps(tables["point"])),
    SharedFrame(METRICS, (POINT, _PHASE, RUN, CONTESTANT), _metrics, uses=(RESULTS, CURVE_STEPS)),
    SharedFrame(BEST_STEPS, (RUN,), lambda tables: best_steps(tables[CURVE_STEPS], tables["run"]), uses=(CURVE_STEPS,)),
)
"""None uses a later one."""
GOLD_STEPS: Final[tuple[GoldStep, ...]] = (
    GoldStep(
        COMPARISON,
        (PUBLISHED,),
        lambda tables: comparisons(tables[METRICS], tables[MEMORY], tables["published"], tables[PRINTED_RATIOS]),
        uses=(METRICS, MEMORY, PRINTED_RATIOS),
    ),
    GoldStep(
        FIGURE_MATCH,
        (PUBLISHED,),
        lambda tables: figure_matches(tables["published"], tables[METRICS].unionByName(tables[MEMORY])),
        uses=(METRICS, MEMORY),
    ),
    GoldStep(
        SCALING,
        (),
        lambda tables: scaling(tables[CURVE_STEPS], tables[BEST_STEPS]),
        uses=(CURVE_STEPS, BEST_STEPS),
    ),
    GoldStep(COST, (_STATISTIC, POINT), _costs),
    GoldStep(
        PREDICTION,
        (RUN,),
        lambda tables: predictions(tables[CURVE_STEPS], tables[BEST_STEPS], tables["run"]),
        uses=(CURVE_STEPS, BEST_STEPS),
    ),
    GoldStep(
        STEP,
        (CONTESTANT,),
        lambda tables: steps_of_curves(tables[CURVE_STEPS], tables["contestant"]),
        uses=(CURVE_STEPS,),
    ),
    GoldStep(PEAK, (RUN,), lambda tables: peaks(tables[CURVE_STEPS], tables["run"]), uses=(CURVE_STEPS,)),
    GoldStep(RESULT, (), lambda tables: tables[RESULTS], uses=(RESULTS,)),
    GoldStep(COURSE, (_STATISTIC, RUN), lambda tables: courses(tables["statistic"], tables["run"])),
)
"""The longest first: they are made at the same time."""
