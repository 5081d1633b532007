"""Combination of repetitions of one value: the median and its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Final

# Two-sided 95 % quantiles of Student's distribution by degrees of freedom; beyond the table the last one is used.
_STUDENT: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip
# For two values, Student's interval is too wide to be useful: their range is shown instead.
REPETITIONS_FOR_INTERVAL: Final = 3


@dataclass(frozen=True)
class ValueSpread:
    """A median with its spread. `low` and `high` are the 95 % confidence interval of three or more repetitions, the
    range of two, and empty for one."""

    middle: float
    low: float | None
    high: float | None
    count: int

    @property
    def words(self) -> str:
        if self.low is None:
            return "one repetition"
        kind = "95 % confidence" if self.count >= REPETITIONS_FOR_INTERVAL else "range"
        return f"{kind} of {self.count} repetitions"


def spread(values: Iterable[float | None]) -> ValueSpread | None:
    """Return the spread; None when there is no value at all."""
    known = sorted(each for each in values if each is not None and math.isfinite(each))
    if not known:
        return None
    middle = median(known)
    if len(known) == 1:
        return ValueSpread(middle, None, None, 1)
    if len(known) < REPETITIONS_FOR_INTERVAL or known[0] <= 0:
        return ValueSpread(middle, known[0], known[-1], len(known))
    # Noise of machines is multiplicative: on logarithms the interval is fair, and never below zero.
    logs = [math.log(each) for each in known]
    half = _STUDENT[min(len(known) - 1, len(_STUDENT)) - 1] * stdev(logs) / math.sqrt(len(known))
    low, high = math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)
    return ValueSpread(middle, min(low, middle), max(high, middle), len(known))
