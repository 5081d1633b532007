"""Texts of numbers for people: rates, times and shares with three significant digits."""

from __future__ import annotations

from collections.abc import Mapping

_MINUTE_SECONDS = 60
_HOUR_SECONDS = 3600


def rate(per_second: float) -> str:
    """Return a rate as in 12,345; 123; 12.3; 1.23. Small rates have decimals, otherwise they would all be 0."""
    if per_second >= 99.95 or per_second == 0:
        return f"{per_second:,.0f}"
    return f"{per_second:.1f}" if per_second >= 9.995 else f"{per_second:.2f}"


def figure(value: float | None) -> str:
    """Return any other number as text: whole, or with the decimals that a small number needs."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def response_time(nanoseconds: float | None) -> str:
    """Return a time as in 850 ns, 12.3 us, 4.56 ms, 1.20 s; empty when it is unknown."""
    if nanoseconds is None:
        return ""
    value, unit = float(nanoseconds), "ns"
    for larger in ("us", "ms", "s"):
        # 999.5 would be shown as 1000.
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    if unit == "ns" or value >= 99.95:
        return f"{value:,.0f} {unit}"
    return f"{value:.1f} {unit}" if value >= 9.995 else f"{value:.2f} {unit}"


def cost(microseconds: float | None) -> str:
    """Return processor time for each operation, in microseconds."""
    if microseconds is None:
        return ""
    return f"{microseconds:,.0f}" if microseconds >= 100 else f"{microseconds:.1f}"


def percent(value: float | None, signed: bool = False) -> str:
    if value is None:
        return ""
    text = f"{abs(value):,.0f} %" if abs(value) >= 9.5 else f"{abs(value):.1f} %"
    sign = ("-" if value < 0 else "+") if signed else ("-" if value < 0 else "")
    return sign + text


def duration(seconds: float) -> str:
    """Return a duration as in 45 s, 12 min, 2 h 05 min: as exact as somebody who waits needs it."""
    whole = max(round(seconds), 1 if seconds > 0 else 0)
    if whole < 2 * _MINUTE_SECONDS:
        return f"{whole} s"
    minutes = round(whole / _MINUTE_SECONDS)
    if whole < _HOUR_SECONDS and minutes < _MINUTE_SECONDS:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02} min"


def points(values: Mapping[str, object]) -> str:
    """Return the values of a step as in "requesters 20, cipher_spec none"."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th."""
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"
