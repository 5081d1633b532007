"""The points of the best step of each curve, which costs are shown of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ostler.pipeline.report.charts.curves import middle
from ostler.pipeline.report.charts.styles import contestant_order
from ostler.pipeline.report.rows import PointRow


def peak_points(points: Sequence[PointRow]) -> list[list[PointRow]]:
    """Return the points of the best step of each contestant and series."""
    steps: dict[tuple[str, str], dict[int, list[PointRow]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        steps[point.contestant, point.series][point.step].append(point)
    best = [
        max(by_step.values(), key=lambda each: middle(each, lambda point: point.rate) or 0.0)
        for by_step in steps.values()
    ]
    return sorted(
        best,
        key=lambda each: (each[0].message_bytes, each[0].persistent, each[0].series,
                          contestant_order(each[0].contestant, each[0].kind)),
    )  # fmt: skip
