"""Measured numbers and their summaries: medians and quartiles, never means."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

Label = str | int | float

# Smaller differences are noise on a shared machine, and are not reported.
NOISE_FRACTION = 0.15


@dataclass(frozen=True)
class Measurement:
    """One measured quantity. `labels` identify it; `samples` are single rounds, in the order they were run.

    Latencies keep no samples but percentiles, and a histogram as rows of (value, count).
    """

    name: str
    unit: str
    samples: tuple[float, ...] = ()
    labels: dict[str, Label] = field(default_factory=dict)
    percentiles: dict[str, float] = field(default_factory=dict)
    count: int = 0
    histogram: tuple[tuple[int, int], ...] = ()

    @property
    def median(self) -> float:
        return median(self.samples) if self.samples else self.percentiles["50"]

    def as_json(self) -> dict[str, object]:
        found: dict[str, object] = {
            "name": self.name,
            "labels": self.labels,
            "unit": self.unit,
            "count": self.count or len(self.samples),
            "median": self.median,
        }
        if self.samples:
            low, high = quartiles(self.samples)
            found["spread"] = {
                "lowest": min(self.samples),
                "lower_quartile": low,
                "upper_quartile": high,
                "highest": max(self.samples),
            }
            found["samples"] = list(self.samples)
        if self.percentiles:
            found["percentiles"] = self.percentiles
            found["histogram"] = [list(row) for row in self.histogram]
        return found


def median(samples: Sequence[float]) -> float:
    return statistics.median(samples)


def quartiles(samples: Sequence[float]) -> tuple[float, float]:
    """Return the quartiles; of a single sample, itself."""
    if len(samples) < 2:
        return samples[0], samples[0]
    cuts = statistics.quantiles(samples, n=4, method="inclusive")
    return cuts[0], cuts[2]


def ratio(over: float, under: float) -> float:
    """Return over divided by under; 0 when under is 0."""
    return over / under if under else 0.0
