"""Copies of queue managers in a scenario: what they leave of the rate, what a distance costs in round trips of the
link, and the processor time of the leader and of its followers. Published ratios stand beside ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.curves import middle, series_parts
from ostler.pipeline.report.context import Context, milliseconds_cell, number_cell, text_cell, whole_cell
from ostler.pipeline.report.html.document import Block, Cell, Heading
from ostler.pipeline.report.rows import PointRow, PublishedRow
from ostler.pipeline.steps.ratio_rules import RATIO_RULES, RatioRule, Side

REPLICATION: Final = "replication"
ADDED_LATENCY: Final = "added_latency_ms"
_BASE: Final = {REPLICATION: "none", ADDED_LATENCY: "0"}
_PRODUCT: Final = "M2003A"
"""The report has other models, too; this is the one that its chapters are about."""
_RATE, _LATENCY = "round_trips_per_s", "latency_ms"
_MEASURED: Final = "measured"
_NS: Final = 1e6


@dataclass(frozen=True)
class _Line:
    """Steps of one series: what has the same copies, distance and size."""

    option: str
    message_bytes: int
    steps: dict[int, list[PointRow]]
    """By number of clients."""

    @property
    def peak(self) -> list[PointRow]:
        """The points of the step with the highest median rate."""
        return max(self.steps.values(), key=lambda points: middle(points, lambda point: point.rate) or 0.0)

    @property
    def rate(self) -> float | None:
        return middle(self.peak, lambda point: point.rate)

    @property
    def single_ns(self) -> float | None:
        """The mean response time of one requester."""
        return middle(self.steps.get(1, []), lambda point: point.mean_ns)


def copies_table(context: Context, name: str, run: str) -> Block | None:
    """Return a row for each size and each kind of copies, or each distance; None where there are neither."""
    own = [point for point in context.points_of[run] if point.contestant == context.main_contestant(run)]
    option = next((each for each in _BASE if any(each in series_parts(point.series) for point in own)), None)
    if option is None:
        return None
    lines = _lines(own, option)
    base = {line.message_bytes: line for line in lines if line.option == _BASE[option]}
    rule = next((each for each in RATIO_RULES if _is_for(each.right, name, option)), None)
    published = _Published(context.tables.published, rule)
    rows = [_row(line, base.get(line.message_bytes), option, published) for line in lines]
    of_what = "no copies" if option == REPLICATION else "no distance"
    headings = (
        Heading("Messages"),
        Heading("Copies" if option == REPLICATION else "Added round trip", option == ADDED_LATENCY),
        Heading("Clients", True, "at the highest rate"),
        Heading("Rate, 1/s", True, "highest median of a step"),
        Heading(f"Of {of_what}", True, "the rate as a share of that with the same messages"),
        Heading("Published", True, f"the same share in the report, {_PRODUCT}"),
        Heading("One client, ms", True, "mean response time of a single requester"),
        Heading("Link round trips", True, "the added response time of a single requester, in added round trips"),
        Heading("Published round trips", True, f"the same in the report, {_PRODUCT}"),
        Heading("Leader, µs", True, "processor time for each operation, at the highest rate"),
        Heading("Followers, µs", True, "of all instances that follow at this site"),
        Heading("Other site, µs", True, "of the instance at another site"),
        Heading("Followers to leader", True),
    )
    columns = zip(headings, zip(*rows, strict=True), strict=True)
    empty = [heading.text for heading, cells in columns if all(cell.text == numbers.NOTHING for cell in cells)]
    note = ("Run ", context.report.run(run), ".")
    return context.report.table(f"Copies in {context.title(name)}", headings, rows, [run], note, empty)


def _is_for(side: Side, name: str, option: str) -> bool:
    return side.parameter == option and (side.our_scenario or side.scenario) == name


def _lines(points: Sequence[PointRow], option: str) -> list[_Line]:
    steps: dict[tuple[int, str], dict[int, list[PointRow]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        value = series_parts(point.series).get(option, "")
        steps[point.message_bytes, value][point.clients].append(point)
    return [_Line(value, size, dict(found)) for (size, value), found in sorted(steps.items(), key=_order)]


def _order(item: tuple[tuple[int, str], object]) -> tuple[int, float, str]:
    (size, value), _ = item
    return size, float(value) if value.isdigit() else float(value != _BASE[REPLICATION]), value


def _row(line: _Line, base: _Line | None, option: str, published: _Published) -> tuple[Cell, ...]:
    is_base = line.option == _BASE[option]
    share = line.rate / base.rate if base and not is_base and line.rate is not None and base.rate else None
    trips = None
    if option == ADDED_LATENCY and base is not None and not is_base and line.single_ns and base.single_ns:
        trips = (line.single_ns - base.single_ns) / _NS / float(line.option)
    leader, follower, other = (
        middle(line.peak, lambda point: point.leader_cpu_us),
        middle(line.peak, lambda point: point.follower_cpu_us),
        middle(line.peak, lambda point: point.recovery_cpu_us),
    )
    found = follower / leader if follower is not None and leader else None
    size, at = line.message_bytes, line.option if option == ADDED_LATENCY else ""
    return (
        Cell(numbers.size(size), size),
        Cell(f"{line.option} ms", float(line.option)) if option == ADDED_LATENCY else text_cell(line.option),
        whole_cell(line.peak[0].clients),
        number_cell(line.rate),
        _ratio_cell(share),
        # Published rates are those of many clients: one alone is no match for them.
        _ratio_cell(None if is_base or max(line.steps) == 1 else published.share(size, at)),
        milliseconds_cell(line.single_ns),
        number_cell(trips),
        number_cell(None if is_base or not at else published.round_trips(size, at)),
        number_cell(leader, "µs"),
        number_cell(follower, "µs"),
        number_cell(other, "µs"),
        _ratio_cell(found),
    )


def _ratio_cell(value: float | None) -> Cell:
    return Cell(numbers.ratio(value), value) if value is not None else Cell(numbers.NOTHING)


class _Published:
    """Figures of the report on both sides of a ratio."""

    def __init__(self, rows: Sequence[PublishedRow], rule: RatioRule | None) -> None:
        self._rule = rule
        self._rows = [row for row in rows if row.basis == _MEASURED and row.product.endswith(_PRODUCT)]

    def share(self, size: int, latency: str) -> float | None:
        """Return the peak rate as a share of that without copies, or without distance."""
        if self._rule is None:
            return None
        base = self._best(self._rule.left.scenario, size, _RATE, "")
        found = self._best(self._rule.right.scenario, size, _RATE, latency)
        return found / base if found is not None and base else None

    def round_trips(self, size: int, latency: str) -> float | None:
        """Return the added response time of one requester, in added round trips."""
        if self._rule is None:
            return None
        base = self._best(self._rule.left.scenario, size, _LATENCY, "")
        found = self._best(self._rule.right.scenario, size, _LATENCY, latency)
        return (found - base) / float(latency) if found is not None and base is not None else None

    def _best(self, scenario: str, size: int, metric: str, latency: str) -> float | None:
        values = [
            row.value
            for row in self._rows
            if (row.scenario, row.message_bytes, row.metric) == (scenario, size, metric)
            and row.variants.get("latency_ms", "") == latency
        ]
        return max(values, default=None)
