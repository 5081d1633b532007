"""A sentence for each chart, made from its figures: the peak, the knee, the change against another line.

Nothing is claimed that is within the noise: a difference counts from 6 %, widened by the noise of the run, as in
verdicts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import BarChart, ChartLine, DotChart, LineChart

KNEE_SHARE: Final = 0.95
LEAST_PERCENT: Final = 6.0
STEADY_PERCENT_MOST: Final = 15.0
"""A value that moves further than this is not called steady, however noisy the run was."""
_STEPS_FOR_KNEE: Final = 3
# From here on, ratios read better than percents.
_RATIO_FROM: Final = 2.0
_SMOOTHED: Final = 5
_NO_LIMIT: Final = "no limit was reached"
_VERDICTS: Final = frozenset({"better", "worse", "same", "not comparable"})

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Knee:
    """The first step that reaches nearly the peak. `is_open` when that is the last one: more might bring more."""

    at: float
    value: float
    peak_at: float
    peak: float
    is_open: bool


def find_knee(points: Points, share: float = KNEE_SHARE) -> Knee | None:
    """Return the knee of a curve: the fewest clients at which the rate reaches this share of its peak. None for fewer
    than three steps, and where nothing was completed."""
    known = _known(points)
    if len(known) < _STEPS_FOR_KNEE:
        return None
    # Of two steps with the same rate, the one with fewer clients is the peak.
    peak_at, peak = max(known, key=lambda each: (each[1], -each[0]))
    if peak <= 0:
        return None
    at, value = next(each for each in known if each[1] >= share * peak)
    return Knee(at, value, peak_at, peak, at == known[-1][0])


def is_same(one: float, other: float, noise_percent: float) -> bool:
    """Return whether two values are the same within the noise, counted from the smaller."""
    low, high = sorted((abs(one), abs(other)))
    return high <= low * (1 + (LEAST_PERCENT + max(noise_percent, 0.0)) / 100)


def change_words(value: float, other: float, noise_percent: float = 0.0, than: str = "") -> str:
    """Return how far a value is from another: `62 % lower than before`, `2.40 × as high as before`, or that it is the
    same within the noise."""
    like, unlike = (f" as {than}", f" than {than}") if than else ("", "")
    if is_same(value, other, noise_percent):
        return f"the same{like}, within the noise" if than else "the same within the noise"
    if other <= 0 or value < 0:
        return f"{'higher' if value > other else 'lower'}{unlike}"
    if value >= _RATIO_FROM * other:
        return f"{numbers.times(value / other)} as high{like}"
    change = 100 * (value / other - 1)
    return f"{numbers.percent(abs(change))} {'higher' if change > 0 else 'lower'}{unlike}"


def _known(points: Points) -> list[tuple[float, float]]:
    return sorted((at, value) for at, value in points if math.isfinite(at) and math.isfinite(value))


def rate_sentence(name: str, points: Points, across: Callable[[float], str], unit: str, noise_percent: float) -> str:
    """Return the course of a rate: where its peak and its knee are, and whether it falls behind them."""
    known = _known(points)
    if not known:
        return ""
    if len(known) == 1:
        return f"{name}: {_value(known[0][1], unit)} with {across(known[0][0])}."
    first, last = known[0], known[-1]
    peak_at, peak = max(known, key=lambda each: (each[1], -each[0]))
    if peak <= 0:
        return f"{name} completed nothing."
    if is_same(min(value for _, value in known), peak, noise_percent):
        return _noise_sentence(name, known, across, unit, noise_percent)
    if peak_at == last[0] and not is_same(known[-2][1], peak, noise_percent):
        change = change_words(peak, first[1], noise_percent, f"with {across(first[0])}")
        return f"{name} still rises at the last step: {_value(peak, unit)} with {across(last[0])}, {change}."
    text = f"{name} has its peak of {_value(peak, unit)} with {across(peak_at)}"
    knee = find_knee(known)
    if knee is not None and knee.at < peak_at:
        text += f", and {numbers.percent(100 * KNEE_SHARE)} of it already with {across(knee.at)}"
    if not is_same(last[1], peak, noise_percent):
        text += f"; with {across(last[0])} it is {change_words(last[1], peak, noise_percent)}"
    return f"{text}."


def _value(value: float, unit: str) -> str:
    return f"{numbers.figure(value)} {unit}".rstrip()


def trend_sentence(name: str, points: Points, across: Callable[[float], str], unit: str, noise_percent: float) -> str:
    """Return the course of a value that is no rate, from the first step to the last."""
    known = _known(points)
    if not known:
        return ""
    first, last = known[0], known[-1]
    if len(known) == 1:
        return f"{name}: {_value(first[1], unit)} with {across(first[0])}."
    if is_same(min(value for _, value in known), max(value for _, value in known), noise_percent):
        return _noise_sentence(name, known, across, unit, noise_percent)
    begin = f"{name}: {_value(first[1], unit)} with {across(first[0])}, {_value(last[1], unit)} with {across(last[0])}"
    return f"{begin} ({change_words(last[1], first[1], noise_percent)})."


def _noise_sentence(name: str, known: Points, across: Callable[[float], str], unit: str, noise_percent: float) -> str:
    """Return the course of a value that does not differ by more than the noise."""
    first, last, values = known[0], known[-1], [value for _, value in known]
    if is_same(min(values), max(values), min(noise_percent, STEADY_PERCENT_MOST)):
        level = _value(median(values), unit)
        return f"{name} stays at about {level} from {across(first[0])} to {across(last[0])}, within the noise."
    begin = f"{name}: {_value(first[1], unit)} with {across(first[0])}, {_value(last[1], unit)} with {across(last[0])}"
    return f"{begin}; the noise of the run, {numbers.percent(noise_percent)}, may explain the difference."


def other_sentence(place: str, value: float, others: Sequence[tuple[str, float]], noise_percent: float) -> str:
    """Return how others compare at one place: `At the peak RabbitMQ is 62 % lower and NATS is 12 % higher.`"""
    words = [f"{name} is {change_words(found, value, noise_percent)}" for name, found in others]
    return f"{place} {_joined(words)}." if words and value > 0 else ""


def limit_sentence(limited_by: str, why: str) -> str:
    """Return the limit of a curve, as the pipeline found it."""
    if not why:
        return ""
    reason = why.rstrip(".")
    if limited_by in ("", "unknown"):
        return f"{reason[:1].upper()}{reason[1:]}." if _NO_LIMIT in why else f"No single limit was found: {reason}."
    return f"The limit is the {limited_by}: {reason}."


def limit_words(limited_by: str, why: str) -> str:
    """Return the limit of a curve in a list, where its name stands before it."""
    reason = why.rstrip(".").replace("%", " %")
    if limited_by in ("", "unknown"):
        return reason if _NO_LIMIT in why else f"no limit was found; {reason}"
    return f"limited by the {limited_by}; {reason}"


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# -- over time ---------------------------------------------------------------------------------------------------------


def course_sentence(name: str, points: Points, unit: str) -> str:
    """Return how steady a value is over time: its median, its range without outliers, and its drift if there is one."""
    known = _known(points)
    if len(known) < 2:
        return ""
    low, middle, high = _spread_of([value for _, value in known])
    text = f"{name}: median {_value(middle, unit)}"
    text += f", eight of ten seconds between {numbers.figure(low)} and {numbers.figure(high)}" if low != high else ""
    drift = _drift(known)
    if drift is None:
        return f"{text}."
    return f"{text}; {drift}." if drift else f"{text}; no drift beyond that."


def drift_sentence(name: str, points: Points) -> str:
    """Return how a value drifts over time; empty where it does not, or was seen too shortly."""
    drift = _drift(_known(points))
    return f"{name}: {drift}." if drift else ""


def _drift(known: Points) -> str | None:
    """Return the last third against the first, beyond the spread within them; None when there are too few values."""
    third = len(known) // 3
    _, middle, _ = _spread_of([value for _, value in known])
    if third < _SMOOTHED or middle <= 0:
        return None
    begin, end = median([value for _, value in known[:third]]), median([value for _, value in known[-third:]])
    # Of each third by itself: what drifts is spread by drifting.
    spreads = (_spread_of([value for _, value in part]) for part in (known[:third], known[-third:]))
    percent = max(100 * (top - bottom) / centre / 2 if centre > 0 else 0.0 for bottom, centre, top in spreads)
    return "" if is_same(begin, end, percent) else f"the last third is {change_words(end, begin, than='the first')}"


def _spread_of(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the range of eight of ten values, and their median between."""
    ordered = sorted(values)
    cut = len(ordered) // 10
    return (ordered[cut], median(ordered), ordered[-1 - cut]) if ordered else (0.0, 0.0, 0.0)


# -- charts without a sentence of their own ----------------------------------------------------------------------------


def chart_sentence(chart: LineChart | DotChart | BarChart) -> str:
    """Return what a chart shows, from its dots alone; empty where there is nothing to say."""
    if chart.sentence:
        return chart.sentence
    if isinstance(chart, LineChart):
        return _line_sentence(chart)
    return _dot_sentence(chart) if isinstance(chart, DotChart) else _bar_sentence(chart)


def _line_sentence(chart: LineChart) -> str:
    known = [line for line in chart.lines if not line.is_secondary and any(math.isfinite(dot.y) for dot in line.dots)]
    if not known:
        return ""
    ends = [(line, _best(line)) for line in known]
    line, number = max(ends, key=lambda each: each[0].dots[each[1]].y)
    dot = line.dots[number]
    if len(known) == 1 and len(line.dots) == 1:
        return ""
    return f"Highest: {line.name}, {dot.text} ({dot.across})."


def _best(line: ChartLine) -> int:
    finite = [number for number, dot in enumerate(line.dots) if math.isfinite(dot.y)]
    return max(finite, key=lambda number: line.dots[number].y)


def _dot_sentence(chart: DotChart) -> str:
    found = [(dot.x, strip.label, name, dot.text) for strip in chart.strips for name, _, dot in strip.dots]
    names = Counter(name for _, _, name, _ in found)
    if names and set(names) <= _VERDICTS:
        words = [f"{number} {name}" for name, number in names.most_common()]
        return f"Of {numbers.count(len(found), 'change')}: {_joined(words)}."
    if len(found) < 2 or chart.is_joined:
        return ""
    _, label, name, text = max(found, key=lambda each: each[0])
    return f"Highest: {label}, {name}: {text}."


def _bar_sentence(chart: BarChart) -> str:
    wholes = [(sum(part.value for part in bar.parts), bar) for bar in chart.bars if bar.parts]
    if not wholes:
        return ""
    whole, bar = max(wholes, key=lambda each: each[0])
    part = max(bar.parts, key=lambda each: each.value)
    share = 100 * part.value / whole if whole > 0 else 0.0
    return f"Most: {bar.label}, {bar.text}, of which {part.name} is {numbers.percent(share)}."
