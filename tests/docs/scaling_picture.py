"""The picture of the Universal Scalability Law for the page on the pipeline, from figures that a report printed.

    PYTHONPATH=src python -m tests.docs.scaling_picture

writes it again. One queue manager publishes to ever more subscribers: figures 874 and 876 to 879.
"""

from __future__ import annotations

import csv
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "scaling.svg"
FIGURES = (876, 877, 878, 879, 874)
_WIDTH, _HEIGHT = 720, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 40, 60, 60
_MOST, _MOST_RATE = 60, 40_000
_NOTHING = Fraction(0)
_BLUE, _RED, _GREY = "#1f6feb", "#d1242f", "#57606a"


class Law(NamedTuple):
    """Rate of one, contention, coherence."""

    single: float
    sigma: float
    kappa: float

    def rate(self, number: float) -> float:
        return self.single * number / (1 + self.sigma * (number - 1) + self.kappa * number * (number - 1))

    @property
    def peak(self) -> float:
        """The number with the highest rate."""
        return float(((1 - self.sigma) / self.kappa) ** 0.5)


def measured() -> list[tuple[int, int]]:
    """Subscribers, and messages delivered to all of them a second."""
    text = files("ostler.pipeline").joinpath("data", "published_results.csv").read_text(encoding="utf-8")
    rows = {int(row["figure"]): row for row in csv.DictReader(text.splitlines())}
    found = []
    for figure in FIGURES:
        variants = dict(each.split("=", 1) for each in rows[figure]["variants"].split(";"))
        assert (rows[figure]["metric"], variants["qmgrs"]) == ("publications_per_s", "1")
        # The publisher is a client, too.
        subscribers = int(rows[figure]["clients"]) - 1
        assert variants.get("subscribers", str(subscribers)) == str(subscribers)
        found.append((subscribers, subscribers * int(float(rows[figure]["value"]))))
    return found


def fitted(points: list[tuple[int, int]]) -> Law:
    """Least squares of 1 = a X/N + b (N - 1) X/N + c (N - 1) X, as the pipeline has it; in exact numbers."""
    terms = [(Fraction(rate, n), Fraction((n - 1) * rate, n), Fraction((n - 1) * rate)) for n, rate in points]
    matrix = [[sum((each[row] * each[column] for each in terms), _NOTHING) for column in range(3)] for row in range(3)]
    right = [sum((each[row] for each in terms), _NOTHING) for row in range(3)]
    whole = _determinant(matrix)
    a, b, c = (
        _determinant([[*line[:place], right[row], *line[place + 1 :]] for row, line in enumerate(matrix)]) / whole
        for place in range(3)
    )
    return Law(float(1 / a), float(b / a), float(c / a))


def _determinant(m: list[list[Fraction]]) -> Fraction:
    return (
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    )


def picture() -> str:
    points = measured()
    law = fitted(points)
    straight = _MOST_RATE / law.single
    top = law.rate(law.peak)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="13"><rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 24, "One queue manager, one publisher, ever more subscribers", 'font-size="16"'),
        _text(_LEFT, 42, "WebSphere MQ V7.0.1, Publish Subscribe report, Table 13", f'fill="{_GREY}"'),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, "subscribers", 'text-anchor="middle"'),
        _text(0, 0, "messages delivered a second", 'text-anchor="middle" transform="translate(18 190) rotate(-90)"'),
    ]
    parts += [
        _text(_across(number), _HEIGHT - _BOTTOM + 20, f"{number}", 'text-anchor="middle"')
        for number in range(0, _MOST + 1, 10)
    ]
    for rate in range(0, _MOST_RATE + 1, 10_000):
        y = _up(rate)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="#d0d7de"/>')
        parts.append(_text(_LEFT - 8, y + 4, f"{rate:,}", 'text-anchor="end"'))
    parts += [
        _line([(0, 0), (straight, _MOST_RATE)], _GREY, 'stroke-dasharray="6 5" stroke-width="1.5"'),
        _line([(n / 2, law.rate(n / 2)) for n in range(2 * _MOST + 1)], _BLUE, 'stroke-width="2.5"'),
        *(f'<circle cx="{_across(n):.1f}" cy="{_up(rate):.1f}" r="5" fill="{_RED}"/>' for n, rate in points),
        _text(_across(straight) + 10, _up(_MOST_RATE) + 16, "if nobody were in the way", f'fill="{_GREY}"'),
        _text(_across(37), _up(24_400), f"the law: at most {top:,.0f}, with {law.peak:.0f}", f'fill="{_BLUE}"'),
        _text(_across(17.2), _up(17_600), "measured", f'fill="{_RED}"'),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _across(number: float) -> float:
    return _LEFT + number / _MOST * (_WIDTH - _LEFT - _RIGHT)


def _up(rate: float) -> float:
    return _HEIGHT - _BOTTOM - rate / _MOST_RATE * (_HEIGHT - _TOP - _BOTTOM)


def _text(x: float, y: float, text: str, how: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {how}>{text}</text>'


def _line(points: list[tuple[float, float]], colour: str, how: str) -> str:
    places = " ".join(f"{_across(x):.1f},{_up(y):.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" {how}/>'


if __name__ == "__main__":
    PICTURE.write_text(picture())
