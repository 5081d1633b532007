"""The steps that make what a report tells: which tables each reads, and which it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from ostler.pipeline.tables import LakeTable

Frames = Mapping[str, DataFrame]
"""Tables by name."""


@dataclass(frozen=True)
class GoldStep:
    """`make` has the tables of `reads`, by name, and makes `table`. Steps before it have made theirs."""

    table: LakeTable
    reads: tuple[LakeTable, ...]
    make: Callable[[Frames], DataFrame]


GOLD_STEPS: Final[tuple[GoldStep, ...]] = ()
