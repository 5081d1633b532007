"""Small multiples: a chart with too many lines becomes panels with the same axes and few lines each.

The first line, Ostler's own, is in every panel, and all others are behind it in grey, so panels can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ostler.pipeline.report.charts.charts import Axis, ChartLine, LineChart

LINES_MAX: Final = 5
_LIMITS: Final = "limits of the machine"


def small_multiples(chart: LineChart, lines_max: int = LINES_MAX) -> list[LineChart]:
    """Return the chart itself where it has few lines, else its panels. Secondary lines stay with the line they belong
    to, which has the same name."""
    primary = [line for line in chart.lines if not line.is_secondary]
    if len(primary) <= lines_max:
        return [chart]
    first, *others = primary
    packs = [pack for group in _groups(others) for pack in _packs(*group, lines_max - 1)]
    up, across = _shared(chart.up, chart, _heights), _shared(chart.across, chart, _places)
    return [
        _panel(chart, [first, *pack], f"{chart.title}: {name}" if name else chart.title, across, up, not number)
        for number, (name, pack) in enumerate(_merged(packs, lines_max - 1))
    ]


def _groups(lines: Sequence[ChartLine]) -> list[tuple[str, list[ChartLine]]]:
    """Return lines by their group; else by product, which is the text before a comma. Limits are a group."""
    found: dict[str, list[ChartLine]] = {}
    for line in lines:
        product = line.name.partition(",")[0]
        found.setdefault(_LIMITS if line.style.is_limit else line.group or product, []).append(line)
    return list(found.items())


def _packs(name: str, lines: list[ChartLine], size: int) -> list[tuple[str, list[ChartLine]]]:
    """Return a group in packs of at most this size, as even as can be."""
    count = -(-len(lines) // size)
    each = -(-len(lines) // count)
    packs = [lines[begin : begin + each] for begin in range(0, len(lines), each)]
    return [(name if count == 1 else f"{name}, {number} of {count}", pack) for number, pack in enumerate(packs, 1)]


def _merged(packs: Sequence[tuple[str, list[ChartLine]]], size: int) -> list[tuple[str, list[ChartLine]]]:
    """Return packs, with small neighbours in one panel."""
    found: list[tuple[str, list[ChartLine]]] = []
    for name, pack in packs:
        if found and len(found[-1][1]) + len(pack) <= size:
            before, lines = found[-1]
            found[-1] = (f"{before}, {name}", [*lines, *pack])
        else:
            found.append((name, list(pack)))
    return found


def _panel(
    chart: LineChart, lines: Sequence[ChartLine], title: str, across: Axis, up: Axis, is_first: bool
) -> LineChart:
    names = {line.name for line in lines}
    return replace(
        chart,
        title=title,
        across=across,
        up=up,
        lines=tuple(line for line in chart.lines if line.name in names),
        backdrop=tuple(line for line in chart.lines if line.name not in names and not line.is_secondary),
        # Said once: it is about all lines.
        sentence=chart.sentence if is_first else "",
    )


def _heights(chart: LineChart) -> list[float]:
    found = [each for line in chart.lines for dot in line.dots for each in (dot.y, dot.low, dot.high)]
    return [each for each in found if each is not None]


def _places(chart: LineChart) -> list[float]:
    return [dot.x for line in chart.lines for dot in line.dots]


def _shared(axis: Axis, chart: LineChart, values: Callable[[LineChart], list[float]]) -> Axis:
    known = values(chart)
    return replace(axis, domain=(*axis.domain, min(known), max(known))) if known else axis
