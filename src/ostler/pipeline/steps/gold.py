"""The steps that make the gold tables: the tables each reads, and the one it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from ostler.pipeline.lake.tables import (
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
from ostler.pipeline.live.live import live_costs
from ostler.pipeline.steps.comparisons import comparisons
from ostler.pipeline.steps.costs import costs
from ostler.pipeline.steps.peaks import peaks
from ostler.pipeline.steps.predictions import predictions
from ostler.pipeline.steps.results import results
from ostler.pipeline.steps.scaling import scaling

Frames = Mapping[str, DataFrame]
"""Tables by name."""


@dataclass(frozen=True)
class GoldStep:
    """A step. `make` gets the tables of `reads`, by name, and makes `table`. Earlier steps have made theirs."""

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
        # Live records have no points, and would be lost with the previous table.
        lambda tables: costs(tables["statistic"], tables["point"]).unionByName(live_costs(tables["statistic"])),
    ),
    GoldStep(RESULT, (BRONZE["statistic"], RUN), lambda tables: results(tables["statistic"], tables["run"])),
)
