"""Scales: positions of values on a chart, and ticks of an axis."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ostler.pipeline.report import numbers

_TICKS_WANTED: Final = 5
_TICK_FACTORS: Final = (1, 2, 2.5, 5, 10)
_ROOM_ABOVE: Final = 1.06
_FINE_DECADES: Final = 2.2
# A fraction of the step between two marks.
_ROOM_BESIDE: Final = 0.25


@dataclass(frozen=True)
class Scale:
    """A scale. `begin` and `end` are pixels of `low` and `high`. `marks` are equally spaced, where there are any, and
    values between two of them are interpolated."""

    low: float
    high: float
    begin: float
    end: float
    is_log: bool
    marks: tuple[float, ...] = ()

    def at(self, value: float) -> float:
        if self.marks:
            share = _place(value, self.marks)
        elif self.is_log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)


def _place(value: float, marks: Sequence[float]) -> float:
    """Return the position of a value among marks, from 0 to 1, with some room before the first and after the last."""
    number = min(max(bisect_right(marks, value), 1), len(marks) - 1)
    before, after = marks[number - 1], marks[number]
    place = number - 1 + min(max((value - before) / (after - before), 0.0), 1.0)
    return (place + _ROOM_BESIDE) / (len(marks) - 1 + 2 * _ROOM_BESIDE)


def evenly(values: Iterable[float], begin: float, end: float) -> Scale:
    """Return a scale with equal steps from each value to the next; there must be two at least."""
    marks = tuple(sorted(set(values)))
    return Scale(marks[0], marks[-1], begin, end, False, marks)


def linear(values: Iterable[float], begin: float, end: float) -> Scale:
    """Return a scale from 0, or below where values are, to the next mark above the highest."""
    known = [*values, 0.0]
    low, high = min(known), max(known)
    if low == high:
        high = 1.0
    step = _step(high - low)
    top = math.ceil(high * _ROOM_ABOVE / step - 1e-9) * step if high > 0 else 0.0
    return Scale(math.floor(low / step + 1e-9) * step, top, begin, end, False)


def logarithmic(values: Iterable[float], begin: float, end: float, pad: float = 1.25) -> Scale:
    """Return a scale slightly larger than the range of the values. All values must be above 0."""
    known = list(values)
    return Scale(min(known) / pad, max(known) * pad, begin, end, True)


def _step(span: float) -> float:
    rough = span / _TICKS_WANTED
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in _TICK_FACTORS if factor * power >= rough * 0.999)


def ticks(scale: Scale) -> list[float]:
    """Return round values of a scale."""
    if not scale.is_log:
        step = _step(scale.high - scale.low)
        first = math.ceil(scale.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(scale.high / step + 1e-9) + 1)]
    decades = math.log10(scale.high / scale.low)
    factors = (1,) if decades > 2 * _FINE_DECADES else (1, 3) if decades > _FINE_DECADES else (1, 2, 5)
    powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    found = [factor * 10.0**power for power in powers for factor in factors]
    return [each for each in found if scale.low <= each <= scale.high]


def thinned(values: Sequence[float], scale: Scale, room: Callable[[float], float]) -> list[float]:
    """Return those values that leave enough room for the next; the first and the last are always kept. `room` is the
    space of a value to both sides, in pixels."""
    ordered = sorted(set(values))
    if len(ordered) < 2:
        return ordered

    def fits(left: float, right: float) -> bool:
        return abs(scale.at(right) - scale.at(left)) >= room(left) + room(right)

    kept, last = [ordered[0]], ordered[-1]
    for value in ordered[1:-1]:
        if fits(kept[-1], value) and fits(value, last):
            kept.append(value)
    return [*kept, last]


def tick_text(value: float, *, is_size: bool = False) -> str:
    """Return a short text for an axis: 20k, 1.5M, 0.05, 2 KB."""
    if is_size:
        return numbers.size(value).replace(" bytes", " B")
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.10g}M".replace("-", numbers.MINUS)
    if abs(value) >= 1e4:
        return f"{value / 1e3:g}k".replace("-", numbers.MINUS)
    return f"{value:,.10g}".replace("-", numbers.MINUS)
