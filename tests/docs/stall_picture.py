"""The picture of a stall for the page on measuring, from the figures of the test of the schedule.

    PYTHONPATH=src python -m tests.docs.stall_picture

writes it again. Time is made up there, so the figures are the same everywhere.
"""

from __future__ import annotations

from pathlib import Path

from tests.lab.load.test_pacing import MILLISECOND_NS, simulated

from ostler.lab.store.histogram import highest_of, percentile_ns

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "stall.svg"
STALL_NS = 300 * MILLISECOND_NS
RATE = 1000
PERCENTS = (50.0, 80.0, 95.0, 99.0, 99.9)
_WIDTH, _HEIGHT = 720, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 30, 56, 60
_BLUE, _RED, _GREY = "#1f6feb", "#d1242f", "#57606a"


def picture() -> str:
    """Response times in order, shortest first: of a closed loop, and at a rate."""
    closed, at_a_rate = _curve(0), _curve(RATE)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="13"><rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 26, "A broker that stands still for 300 ms of a second", 'font-size="16"'),
        _text(_LEFT, 44, "response times in order, the shortest first", f'fill="{_GREY}"'),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, "percent of all requests", 'text-anchor="middle"'),
        _text(0, 0, "response time, ms", 'text-anchor="middle" transform="translate(20 190) rotate(-90)"'),
    ]
    parts += [
        _text(_across(percent), _HEIGHT - _BOTTOM + 20, f"{percent}", 'text-anchor="middle"')
        for percent in range(0, 101, 10)
    ]
    for milliseconds in range(0, 301, 50):
        y = _up(milliseconds * MILLISECOND_NS)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="#d0d7de"/>')
        parts.append(_text(_LEFT - 8, y + 4, f"{milliseconds}", 'text-anchor="end"'))
    parts += [
        _line(at_a_rate, _BLUE),
        _line(closed, _RED),
        _text(_across(37), _up(185 * MILLISECOND_NS), "at a rate, from when each was due:", f'fill="{_BLUE}"'),
        _text(_across(37), _up(185 * MILLISECOND_NS) + 18, "every request of the stall waited", f'fill="{_BLUE}"'),
        _text(_across(5), _up(14 * MILLISECOND_NS), "closed loop: one request of 6,999 waited", f'fill="{_RED}"'),
    ]
    return "\n".join([*parts, "</svg>", ""])


def percentiles(rate: float) -> list[str]:
    """Cells of the table on the page: how many, the percentiles, the highest; times in milliseconds."""
    operation, counts = simulated(rate, STALL_NS)
    assert operation.highest_ns is not None
    found = [percentile_ns(counts, percent, operation.highest_ns) for percent in PERCENTS]
    return [f"{operation.count:,}", *(f"{ns / 1e6:.1f}" for ns in (*found, operation.highest_ns))]


def _curve(rate: float) -> list[tuple[float, float]]:
    """Percent of all requests, and what took at most how many nanoseconds: a step for each bucket."""
    operation, counts = simulated(rate, STALL_NS)
    assert operation.highest_ns is not None
    points: list[tuple[float, float]] = []
    passed = 0
    for bucket in sorted(counts):
        height = min(highest_of(bucket), operation.highest_ns)
        points.append((100 * passed / operation.count, height))
        passed += counts[bucket]
        points.append((100 * passed / operation.count, height))
    return points


def _across(percent: float) -> float:
    return _LEFT + percent / 100 * (_WIDTH - _RIGHT - _LEFT)


def _up(ns: float) -> float:
    return _HEIGHT - _BOTTOM - ns / (300 * MILLISECOND_NS) * (_HEIGHT - _BOTTOM - _TOP)


def _line(points: list[tuple[float, float]], colour: str) -> str:
    path = " ".join(f"{_across(percent):.1f},{_up(ns):.1f}" for percent, ns in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'


def _text(x: float, y: float, words: str, attributes: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{words}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture())
