"""Comparing what was measured: contestants of one run, or the same contestants in several runs.

A difference is spoken of only when it is above all that could explain it: 15 %, which is what a shared machine does by
itself, the noise that was measured, and, between runs, how much the limits of the machine moved; and when what the
repetitions of one came to does not overlap with that of the other. Everything else is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Final

from ostler.lab.common.samples import NOISE_FRACTION, median, quartiles
from ostler.lab.runner.contract import ContestantKind
from ostler.lab.runner.step_results import Series, StepMetric, StepResult

LEAST_PERCENT: Final = 100 * NOISE_FRACTION
_MANY: Final = 5

Place = tuple[tuple[str, str], ...]
"""The values of all sweeps: what makes two steps the same, whatever their numbers are."""


class ChangeVerdict(StrEnum):
    SAME = "same"
    BETTER = "better"
    WORSE = "worse"


class NothingToCompare(Exception):
    """There is nothing to compare; the words say why, and what there is."""


@dataclass(frozen=True)
class Change:
    """One figure of two: how far the second is from the first, and whether that means something."""

    figure: str
    base: float
    other: float
    percent: float
    threshold_percent: float
    overlaps: bool
    """Whether repetitions of both lie in the same range."""
    verdict: ChangeVerdict

    def as_json(self) -> dict[str, object]:
        return {
            "figure": self.figure,
            "base": round(self.base, 3),
            "other": round(self.other, 3),
            "percent": round(self.percent, 2),
            "threshold_percent": round(self.threshold_percent, 2),
            "overlaps": self.overlaps,
            "verdict": self.verdict.value,
        }


@dataclass(frozen=True)
class StepComparison:
    """Two results of the same operation at the same place, and the changes from `base` to `other`."""

    base: StepResult
    other: StepResult
    changes: tuple[Change, ...]

    def change(self, figure: str) -> Change | None:
        return next((each for each in self.changes if each.figure == figure), None)

    @property
    def flags(self) -> list[str]:
        """What is doubtful on either side."""
        return list(dict.fromkeys((*self.base.flags, *self.other.flags)))

    def as_json(self) -> dict[str, object]:
        return {
            "base": self.base.contestant,
            "other": self.other.contestant,
            "kind": self.other.kind.value,
            "points": dict(self.base.points),
            "operation": self.base.operation,
            "changes": [each.as_json() for each in self.changes],
            "flags": self.flags,
        }


@dataclass(frozen=True)
class _Metric:
    name: str
    of: Callable[[StepResult], Series]
    more_is_better: bool


RATE: Final = "rate"
MEAN: Final = "mean"
P99: Final = "p99"
BROKER_COST: Final = "broker us"
NEAR_COST: Final = "near us"
FAR_COST: Final = "far us"

_FIGURES: Final = (
    _Metric(RATE, lambda each: each.rate, True),
    _Metric(MEAN, lambda each: each.mean_ns, False),
    _Metric(P99, lambda each: each.p99_ns, False),
    _Metric(BROKER_COST, lambda each: each.broker_us, False),
    _Metric(NEAR_COST, lambda each: each.costs.near_us, False),
    _Metric(FAR_COST, lambda each: each.costs.far_us, False),
)


def place(result: StepResult | StepMetric) -> Place:
    return tuple(sorted(result.points.items()))


def change_of(figure: str, base: Series, other: Series, threshold_percent: float, more_is_better: bool) -> Change:
    """Both have values, and the median of `base` is not 0. A fall to a third and a rise to three times are as far from
    the same: both are judged by how much the larger is above the smaller."""
    before, after = base.median, other.median
    assert before is not None
    assert before > 0
    assert after is not None
    smaller, larger = sorted((before, after))
    apart = 100 * (larger - smaller) / smaller if smaller > 0 else inf
    overlaps = _overlap(base, other)
    verdict = ChangeVerdict.SAME
    if apart > threshold_percent and not overlaps:
        verdict = ChangeVerdict.BETTER if (after > before) == more_is_better else ChangeVerdict.WORSE
    percent = 100 * (after - before) / before
    return Change(figure, before, after, percent, threshold_percent, overlaps, verdict)


def _overlap(one: Series, other: Series) -> bool:
    """Whether ranges have something in common; of single values nothing is known."""
    if len(one.values) < 2 and len(other.values) < 2:
        return False
    (one_low, one_high), (other_low, other_high) = _range(one), _range(other)
    return one_low <= other_high and other_low <= one_high


def _range(series: Series) -> tuple[float, float]:
    """From the lowest to the highest; of many the middle half, or a single bad one would hide everything."""
    if len(series.values) >= _MANY:
        return quartiles(series.values)
    return min(series.values), max(series.values)


def compare_results(base: StepResult, other: StepResult, noise_percent: float) -> StepComparison:
    """All figures that both have."""
    threshold = max(LEAST_PERCENT, noise_percent)
    changes = []
    for figure in _FIGURES:
        before, after = figure.of(base), figure.of(other)
        if before.median and after.values:
            changes.append(change_of(figure.name, before, after, threshold, figure.more_is_better))
    return StepComparison(base, other, tuple(changes))


# -- contestants of one run --------------------------------------------------------------------------------------------


def reference(results: Sequence[StepResult], name: str = "") -> str:
    """Whom the others are compared with: the one that was asked for, or Ostler as it is first in the run."""
    names = list(dict.fromkeys(each.contestant for each in results))
    if name:
        if name not in names:
            raise NothingToCompare(f"There is no contestant {name!r} in this run; there are {'; '.join(names)}.")
        return name
    for each in results:
        if each.kind is ContestantKind.OSTLER:
            return each.contestant
    raise NothingToCompare("Ostler was not measured in this run; say against whom to compare.")


def compare_contestants(results: Sequence[StepResult], base: str, noise_percent: float) -> list[StepComparison]:
    """Every other contestant against one of them, step by step, by what the point is about."""
    mains = [each for each in results if each.is_main]
    bases = {place(each): each for each in mains if each.contestant == base}
    others = [each for each in mains if each.contestant != base]
    if not others:
        raise NothingToCompare(f"{base} is alone in this run: there is nobody to compare it with. Name another run.")
    found = [compare_results(bases[place(each)], each, noise_percent) for each in others if place(each) in bases]
    if not found:
        raise NothingToCompare(f"No step was measured both with {base} and with another contestant.")
    return found


# -- run against run ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunComparison:
    """`limits` say how the machine itself changed: by the name of the probe, the median change of its rate in percent.
    `only_base` and `only_other` count results that have no counterpart."""

    changes: tuple[StepComparison, ...]
    limits: Mapping[str, float]
    only_base: int
    only_other: int


def compare_runs(base: Sequence[StepResult], other: Sequence[StepResult], noise_percent: float) -> RunComparison:
    """The same contestants at the same steps, in the order of the first run."""
    others = {_identity(each): each for each in other}
    pairs = [(each, others[_identity(each)]) for each in base if _identity(each) in others]
    if not pairs:
        raise NothingToCompare(_nothing_in_common(base, other))
    limits = _limit_changes(pairs)
    moved = max((abs(percent) for percent in limits.values()), default=0.0)
    changes = tuple(
        compare_results(
            before, after, noise_percent if before.kind is ContestantKind.LIMIT else max(noise_percent, moved)
        )
        for before, after in pairs
    )
    return RunComparison(changes, limits, len(base) - len(pairs), len(other) - len(pairs))


def _identity(result: StepResult) -> tuple[str, str, Place]:
    return (result.contestant, result.operation, place(result))


def _limit_changes(pairs: Iterable[tuple[StepResult, StepResult]]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for before, after in pairs:
        if before.kind is ContestantKind.LIMIT and before.is_main and before.rate_per_second:
            percent = 100 * (after.rate_per_second - before.rate_per_second) / before.rate_per_second
            found.setdefault(before.contestant, []).append(percent)
    return {name: median(percents) for name, percents in found.items()}


def _nothing_in_common(base: Sequence[StepResult], other: Sequence[StepResult]) -> str:
    if not base or not other:
        return f"Nothing was measured in the {'first' if not base else 'second'} run."
    ours, theirs = ({each.contestant for each in results} for results in (base, other))
    if not ours & theirs:
        return f"The runs have no contestant in common: {'; '.join(sorted(ours))} against {'; '.join(sorted(theirs))}."
    return "The runs have contestants in common, but no step: their sweeps have other points."


@dataclass(frozen=True)
class MetricChange:
    """A figure that is no rate, in two runs. Nobody knows here whether more of it is better."""

    base: StepMetric
    other: StepMetric
    percent: float | None
    """Unknown when it was 0."""
    is_same: bool

    def as_json(self) -> dict[str, object]:
        return {
            "contestant": self.base.contestant,
            "points": dict(self.base.points),
            "figure": self.base.name,
            "base": self.base.values.median,
            "other": self.other.values.median,
            "percent": None if self.percent is None else round(self.percent, 2),
            "is_same": self.is_same,
        }


def compare_metrics(base: Sequence[StepMetric], other: Sequence[StepMetric]) -> list[MetricChange]:
    """Figures that both runs have. They are no times, so the noise of the machine does not bear on them."""
    others = {(each.contestant, each.name, place(each)): each for each in other}
    found = []
    for each in base:
        match = others.get((each.contestant, each.name, place(each)))
        before, after = each.values.median, match.values.median if match is not None else None
        if match is None or before is None or after is None:
            continue
        if before > 0:
            change = change_of(each.name, each.values, match.values, LEAST_PERCENT, True)
            found.append(MetricChange(each, match, change.percent, change.verdict is ChangeVerdict.SAME))
        else:
            found.append(MetricChange(each, match, None, before == after))
    return found


def summary(changes: Iterable[StepComparison], figure: str = RATE) -> dict[ChangeVerdict, int]:
    """How many are better, worse and the same, by one figure. Limits are no contestants."""
    counts = dict.fromkeys(ChangeVerdict, 0)
    for each in changes:
        change = each.change(figure)
        if change is not None and each.other.kind is not ContestantKind.LIMIT:
            counts[change.verdict] += 1
    return counts
