"""Comparison of results: contestants of one run, or the same contestants in several runs.

A difference is reported only when it exceeds all that could explain it: 15 %, the usual variation of a shared machine,
the noise that was measured, and, between runs, the change of the machine's limits; and when the repetitions of one do
not overlap with those of the other. Everything else is the same.
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

StepKey = tuple[tuple[str, str], ...]
"""The values of all sweeps, which identify a step whatever its number is."""


class ChangeVerdict(StrEnum):
    SAME = "same"
    BETTER = "better"
    WORSE = "worse"


class NothingToCompare(Exception):
    """There is nothing to compare. The text has the reason and the alternatives."""


@dataclass(frozen=True)
class Change:
    """One value in two results: the distance of the second from the first, and its significance."""

    figure: str
    base: float
    other: float
    percent: float
    threshold_percent: float
    overlaps: bool
    """The ranges of both repetitions overlap."""
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
    """Two results of the same operation at the same step, and the changes from `base` to `other`."""

    base: StepResult
    other: StepResult
    changes: tuple[Change, ...]

    def change(self, figure: str) -> Change | None:
        return next((each for each in self.changes if each.figure == figure), None)

    @property
    def flags(self) -> list[str]:
        """The flags of both sides."""
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

_METRICS: Final = (
    _Metric(RATE, lambda each: each.rate, True),
    _Metric(MEAN, lambda each: each.mean_ns, False),
    _Metric(P99, lambda each: each.p99_ns, False),
    _Metric(BROKER_COST, lambda each: each.broker_us, False),
    _Metric(NEAR_COST, lambda each: each.costs.near_us, False),
    _Metric(FAR_COST, lambda each: each.costs.far_us, False),
)


def step_key(result: StepResult | StepMetric) -> StepKey:
    return tuple(sorted(result.points.items()))


def change_of(figure: str, base: Series, other: Series, threshold_percent: float, more_is_better: bool) -> Change:
    """Return the change; None unless both have values and the median of `base` is not 0. A fall to a third and a rise
    to three times are equally far: both are graded by how much the larger exceeds the smaller."""
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
    """Return whether the ranges overlap; False for single values."""
    if len(one.values) < 2 and len(other.values) < 2:
        return False
    (one_low, one_high), (other_low, other_high) = _range(one), _range(other)
    return one_low <= other_high and other_low <= one_high


def _range(series: Series) -> tuple[float, float]:
    """Return minimum and maximum; for many values the middle half, since one outlier would hide everything."""
    if len(series.values) >= _MANY:
        return quartiles(series.values)
    return min(series.values), max(series.values)


def compare_results(base: StepResult, other: StepResult, noise_percent: float) -> StepComparison:
    """Compare all values that both have."""
    threshold = max(LEAST_PERCENT, noise_percent)
    changes = []
    for figure in _METRICS:
        before, after = figure.of(base), figure.of(other)
        if before.median and after.values:
            changes.append(change_of(figure.name, before, after, threshold, figure.more_is_better))
    return StepComparison(base, other, tuple(changes))


# -- contestants of one run --------------------------------------------------------------------------------------------


def reference(results: Sequence[StepResult], name: str = "") -> str:
    """Return the contestant that the others are compared with: the requested one, or the first of Ostler."""
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
    """Compare every other contestant with one of them, step by step, by the main operation."""
    mains = [each for each in results if each.is_main]
    bases = {step_key(each): each for each in mains if each.contestant == base}
    others = [each for each in mains if each.contestant != base]
    if not others:
        raise NothingToCompare(f"{base} is alone in this run: there is nobody to compare it with. Name another run.")
    found = [compare_results(bases[step_key(each)], each, noise_percent) for each in others if step_key(each) in bases]
    if not found:
        raise NothingToCompare(f"No step was measured both with {base} and with another contestant.")
    return found


# -- run against run ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunComparison:
    """The comparison of two runs. `limits` has the median change of each probe's rate in percent: how the machine
    itself changed. `only_base` and `only_other` count results without a counterpart."""

    changes: tuple[StepComparison, ...]
    limits: Mapping[str, float]
    only_base: int
    only_other: int


def compare_runs(base: Sequence[StepResult], other: Sequence[StepResult], noise_percent: float) -> RunComparison:
    """Compare the same contestants at the same steps, in the order of the first run."""
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


def _identity(result: StepResult) -> tuple[str, str, StepKey]:
    return (result.contestant, result.operation, step_key(result))


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
    """A metric that is not a rate, in two runs. It is unknown here whether more of it is better."""

    base: StepMetric
    other: StepMetric
    percent: float | None
    """None when it was 0."""
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
    """Compare the metrics that both runs have. They are not times, so the noise of the machine does not affect them."""
    others = {(each.contestant, each.name, step_key(each)): each for each in other}
    found = []
    for each in base:
        match = others.get((each.contestant, each.name, step_key(each)))
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
    """Count better, worse and equal results, by one value. Limits are not contestants."""
    counts = dict.fromkeys(ChangeVerdict, 0)
    for each in changes:
        change = each.change(figure)
        if change is not None and each.other.kind is not ContestantKind.LIMIT:
            counts[change.verdict] += 1
    return counts
