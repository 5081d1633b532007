"""Summaries of measured numbers: medians and quartiles, never means."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

# Smaller differences are noise on a shared machine, and are not reported.
NOISE_FRACTION = 0.15


def median(samples: Sequence[float]) -> float:
    return statistics.median(samples)


def quartiles(samples: Sequence[float]) -> tuple[float, float]:
    """Return the quartiles; of a single sample, itself."""
    if len(samples) < 2:
        return samples[0], samples[0]
    cuts = statistics.quantiles(samples, n=4, method="inclusive")
    return cuts[0], cuts[2]
