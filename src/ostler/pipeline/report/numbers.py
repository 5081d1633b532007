"""Numbers as text, with three significant digits: no machine repeats itself closer than that."""

from __future__ import annotations

import math
from typing import Final

NOTHING: Final = "\N{EN DASH}"
MINUS: Final = "\N{MINUS SIGN}"
TIMES: Final = "\N{MULTIPLICATION SIGN}"
_DIGITS: Final = 3
_KB: Final = 1024


def figure(value: float | None) -> str:
    """Return three significant digits, with separators: 21,100; 3.07; 0.0412."""
    if value is None or math.isnan(value):
        return NOTHING
    if value == 0:
        return "0"
    places = _DIGITS - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    # Rounding 999.6 to three digits makes four of them.
    places = _DIGITS - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(places, 0)}f}"


def exact(value: float | None) -> str:
    """Return a number with all stored digits, for tooltips."""
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}" if abs(value) < 1000 else f"{value:,.2f}"


def whole(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def percent(value: float | None, *, signed: bool = False) -> str:
    """Return a percentage: one decimal below ten, none above."""
    if value is None or math.isnan(value):
        return NOTHING
    if value == 0:
        return "0 %"
    places = 1 if abs(value) < 9.95 else 0
    text = f"{value:+,.{places}f}" if signed else f"{value:,.{places}f}"
    return f"{text.replace('-', MINUS)} %"


def milliseconds(value_ns: float | None) -> str:
    """Return nanoseconds as milliseconds, without the unit: columns and axes name it."""
    return NOTHING if value_ns is None else figure(value_ns / 1e6)


def duration(value_ns: float | None) -> str:
    """Return nanoseconds in the unit that reads best."""
    if value_ns is None:
        return NOTHING
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value_ns >= factor:
            return f"{figure(value_ns / factor)} {unit}"
    return f"{figure(value_ns)} ns"


def span(seconds: float | None) -> str:
    """Return a duration for people: 37 s, 2 min 5 s, 1 h 20 min."""
    if seconds is None:
        return NOTHING
    whole_seconds = round(seconds)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    minutes, left = divmod(whole_seconds, 60)
    if minutes < 60:
        return f"{minutes} min {left} s" if left else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def count(number: int, word: str) -> str:
    """Return 1 client, 20 clients."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def size(value: float | None) -> str:
    """Return bytes as the reports write them: 256 bytes, 2 KB, 2 MB."""
    if value is None:
        return NOTHING
    for unit, factor in (("GB", _KB**3), ("MB", _KB**2), ("KB", _KB)):
        if value >= factor:
            return f"{figure(value / factor)} {unit}" if value % factor else f"{value / factor:,.0f} {unit}"
    return f"{value:,.0f} bytes"


def times(value: float | None) -> str:
    """Return a ratio: 1.28 ×."""
    return NOTHING if value is None else f"{figure(value)} {TIMES}"


def ratio(value: float | None) -> str:
    """Return a ratio with two decimals, as in columns of ratios."""
    return NOTHING if value is None else (f"{value:.2f}" if 0.1 <= value < 100 else figure(value))
