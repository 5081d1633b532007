"""The steps that make what a report tells: which tables each reads, and which it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from ostler.pipeline.comparisons import comparisons
from ostler.pipeline.costs import costs
from ostler.pipeline.live import live_costs
from ostler.pipeline.peaks import peaks
from ostler.pipeline.predictions import predictions
from ostler.pipeline.results import results
from ostler.pipeline.scaling import scaling
from ostler.pipeline.tables import (
    BRONZE,
    COMPARISON,
    COST,
    PEAK,
    POINT,
    PREDICTION,
    PUBLISHED,
    RESULT,
    RUN,
    SCALING,
    LakeTable,
)

Frames = Mapping[str, DataFrame]
"""Tables by name."""


@dataclass(frozen=True)
class GoldStep:
    """`make` has the tables of `reads`, by name, and makes `table`. Steps before it have made theirs."""

    table: LakeTable
    reads: tuple[LakeTable, ...]
    make: Callable[[Frames], DataFrame]


GOLD_STEPS: Final[tuple[GoldStep, ...]] = (
    GoldStep(PEAK, (POINT, RUN), lambda tables: peaks(tables["point"], tables["run"])),
    GoldStep(
        COMPARISON,
        (POINT, RUN, PUBLISHED),
        lambda tables: comparisons(tables["point"], tables["run"], tables["published"]),
    ),
    GoldStep(SCALING, (POINT, RUN), lambda tables: scaling(tables["point"], tables["run"])),
    GoldStep(PREDICTION, (POINT, RUN), lambda tables: predictions(tables["point"], tables["run"])),
    GoldStep(
        COST,
        (BRONZE["statistic"], POINT),
        # What was watched has no points, and would be gone with the table before.
        lambda tables: costs(tables["statistic"], tables["point"]).unionByName(live_costs(tables["statistic"])),
    ),
    GoldStep(RESULT, (BRONZE["statistic"], RUN), lambda tables: results(tables["statistic"], tables["run"])),
)
