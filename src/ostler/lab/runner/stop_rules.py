"""Stop rules: decide from the results of its steps whether a sweep ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ostler.lab.scenarios.model import Point, StopKind, StopRule

PEAK_PATIENCE: Final = 2
"""The search for the peak ends after this many steps without a better rate: one of them may have been disturbed."""
PEAK_GAIN: Final = 1.02
BEHIND: Final = 0.95
"""Producers that reach less than this fraction of their rate have fallen behind."""


@dataclass(frozen=True)
class StepOutcome:
    """The result of a step, by the median of its repetitions. `asked_rate` is 0 unless the rate is fixed."""

    label: str
    rate_per_second: float
    mean_seconds: float | None
    asked_rate: float = 0.0
    failure: str = ""
    points: Mapping[str, Point] = field(default_factory=dict)


def reason_to_stop(rule: StopRule | None, outcomes: Sequence[StepOutcome]) -> str:
    """Return the reason to end the sweep after these steps; empty while it continues."""
    if rule is None or not outcomes:
        return ""
    last = outcomes[-1]
    if any(last.points.get(name) != point for name, point in rule.only.items()):
        return ""
    if rule.kind is StopKind.CAPACITY:
        return _capacity(last)
    if last.failure:
        return ""
    if rule.kind is StopKind.RESPONSE_TIME:
        return _response_time(rule, outcomes)
    if rule.kind is StopKind.PEAK:
        return _peak(outcomes)
    return ""


def _response_time(rule: StopRule, outcomes: Sequence[StepOutcome]) -> str:
    """Return the reason when as many successive steps as the rule wants passed its limit. A failed step interrupts
    them."""
    times = [None if each.failure else each.mean_seconds for each in outcomes[-rule.after :]]
    if len(times) < rule.after or any(each is None or each <= rule.limit for each in times):
        return ""
    last = outcomes[-1]
    before = "" if rule.after == 1 else f"{rule.after} successive points, the last of them "
    return f"the mean response time passed {rule.limit:g} s at {before}{last.label} ({last.mean_seconds:.2f} s)"


def _capacity(last: StepOutcome) -> str:
    if last.failure:
        return f"no more could be had at {last.label}: {last.failure}"
    if last.asked_rate and last.rate_per_second < BEHIND * last.asked_rate:
        return f"{last.label} reached {last.rate_per_second:,.0f} of {last.asked_rate:,.0f} a second"
    return ""


def _peak(outcomes: Sequence[StepOutcome]) -> str:
    measured = [each for each in outcomes if not each.failure]
    best = 0
    for number, each in enumerate(measured):
        if each.rate_per_second > PEAK_GAIN * measured[best].rate_per_second:
            best = number
    if len(measured) - 1 - best < PEAK_PATIENCE:
        return ""
    peak = measured[best]
    return f"the rate no longer rises: the peak was {peak.rate_per_second:,.0f} a second at {peak.label}"
