"""Small multiples: a chart with too many lines becomes panels with the same axes and few lines each.

The first line, Ostler's own, is in every panel, and all others are behind it in grey, so panels can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ostler.pipeline.report.charts.charts import Axis, ChartLine, LineChart

LINES_MAX: Final = 5
_LIMITS: Final = "limits of the machine"


def small_multiples(chart: LineChart, lines_max: int = LINES_MAX) -> list[LineChart]:
    """Return the chart itself where it has few lines, else its panels; of a chart of details one panel, with the
    products alone. Secondary lines stay with the line they belong to, which has the same name."""
    primary = [line for line in chart.lines if not line.is_secondary]
    if len(primary) <= lines_max:
        return [chart]
    first, *others = primary
    if chart.is_detail:
        return [_panel(chart, _plain_ones(primary)[:lines_max], chart.title, 1)]
    packs = _merged([pack for group in _groups(others) for pack in _packs(group, lines_max - 1)], lines_max - 1)
    return [
        _panel(chart, [first, *pack], f"{chart.title} ({number} of {len(packs)})", number)
        for number, pack in enumerate(packs, 1)
    ]


def _plain_ones(lines: Sequence[ChartLine]) -> list[ChartLine]:
    """Return products without their variants and without limits; all where there are none."""
    return [line for line in lines if not line.style.is_limit and "," not in line.name] or list(lines)


def _groups(lines: Sequence[ChartLine]) -> list[list[ChartLine]]:
    """Return lines by their group; else by product, which is the text before a comma. Limits are a group."""
    found: dict[str, list[ChartLine]] = {}
    for line in lines:
        product = line.name.partition(",")[0]
        found.setdefault(_LIMITS if line.style.is_limit else line.group or product, []).append(line)
    return list(found.values())


def _packs(lines: list[ChartLine], size: int) -> list[list[ChartLine]]:
    """Return a group in packs of at most this size, as even as can be."""
    each = -(-len(lines) // -(-len(lines) // size))
    return [lines[begin : begin + each] for begin in range(0, len(lines), each)]


def _merged(packs: Sequence[list[ChartLine]], size: int) -> list[list[ChartLine]]:
    """Return packs, with small neighbours in one panel."""
    found: list[list[ChartLine]] = []
    for pack in packs:
        if found and len(found[-1]) + len(pack) <= size:
            found[-1] = [*found[-1], *pack]
        else:
            found.append(pack)
    return found


def _panel(chart: LineChart, lines: Sequence[ChartLine], title: str, number: int) -> LineChart:
    names = {line.name for line in lines}
    return replace(
        chart,
        title=title,
        across=_shared(chart.across, _places(chart)),
        up=_shared(chart.up, _heights(chart)),
        lines=tuple(line for line in chart.lines if line.name in names),
        backdrop=tuple(line for line in chart.lines if line.name not in names and not line.is_secondary),
        # Said once: it is about all lines.
        sentence=chart.sentence if number == 1 else "",
    )


def _heights(chart: LineChart) -> list[float]:
    found = [each for line in chart.lines for dot in line.dots for each in (dot.y, dot.low, dot.high)]
    return [each for each in found if each is not None]


def _places(chart: LineChart) -> list[float]:
    return [dot.x for line in chart.lines for dot in line.dots]


def _shared(axis: Axis, values: Sequence[float]) -> Axis:
    return replace(axis, domain=(*axis.domain, min(values), max(values))) if values else axis
