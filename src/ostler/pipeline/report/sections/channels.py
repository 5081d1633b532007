"""Message channels of a scenario: the fill of their batches, and the rate over a distance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.curves import BATCH_SIZE, ROUND_TRIP, middle, other_words, series_parts
from ostler.pipeline.report.charts.spreads import spread
from ostler.pipeline.report.context import Context, number_cell, text_cell, whole_cell
from ostler.pipeline.report.html.document import Block, Cell, Heading
from ostler.pipeline.report.rows import PointRow

_MESSAGE_CHANNELS: Final = "message channels"
_MESSAGE, _BATCH = "message", "batch"
_MILLISECONDS: Final = 1000.0


def channel_table(context: Context, name: str, run: str) -> Block | None:
    """Return a row for each step of Ostler with counted channels; None where there were no batches and no distance."""
    counts = _counts(context, run)
    steps: dict[int, list[PointRow]] = defaultdict(list)
    for point in context.points_of[run]:
        if point.contestant == context.main_contestant(run) and counts.get(point.step):
            steps[point.step].append(point)
    if not any(counts[number].get(_BATCH) or _trip(points[0]) for number, points in steps.items()):
        return None
    headings = (
        Heading("Messages", is_wide=True),
        Heading("Clients", True),
        Heading("Rate, 1/s", True, "completed operations a second, median of repetitions"),
        Heading("In a batch", True, "messages in a batch; fast nonpersistent messages are in none"),
        Heading("Round trip", True, "of the distance, simulated"),
        Heading("One batch a trip, 1/s", True, "messages a second, were there one batch in each round trip"),
        Heading("At no distance, 1/s", True, "the rate of the same without distance"),
        Heading(
            "Reached", True, "of the smaller of both: more than all of one batch in a trip takes several under way"
        ),
    )
    near = {_road(points[0]): _rate(points) for points in steps.values() if not _trip(points[0])}
    rows = [_row(points, counts[number], near.get(_road(points[0]))) for number, points in sorted(steps.items())]
    caption = f"Message channels of {context.title(name)}"
    note = ("Run ", context.report.run(run), ".")
    columns = zip(headings, zip(*rows, strict=True), strict=True)
    empty = [heading.text for heading, cells in columns if all(cell.text == numbers.NOTHING for cell in cells)]
    return context.report.table(caption, headings, rows, [run], note, empty)


def _counts(context: Context, run: str) -> dict[int, dict[str, list[float]]]:
    """Return the counts of both queue managers' channels by step, for each repetition."""
    sums: dict[tuple[int, str, int], float] = defaultdict(float)
    for row in context.tables.costs:
        if row.run == run and row.scope == _MESSAGE_CHANNELS:
            sums[row.step, row.verb, row.repetition] += row.count
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (step, verb, _), count in sorted(sums.items()):
        found[step][verb].append(count)
    return found


def _row(points: list[PointRow], counts: dict[str, list[float]], near: float | None) -> tuple[Cell, ...]:
    first = points[0]
    rate, trip = _rate(points), _trip(first)
    messages, batches = _median(counts.get(_MESSAGE, [])), _median(counts.get(_BATCH, []))
    batch_size = series_parts(first.series).get(BATCH_SIZE, "")
    by_trip = int(batch_size) * _MILLISECONDS / trip if trip and batch_size.isdigit() else None
    # Requests and replies wait for one another: their rate shows nothing about batches.
    least = min((each for each in (near, by_trip) if each is not None), default=None) if by_trip else None
    reached = rate / least if least and rate is not None else None
    return (
        text_cell(", ".join(_words(first))),
        whole_cell(first.clients),
        number_cell(rate),
        number_cell(messages / batches if messages and batches else None),
        Cell(f"{trip:g} ms", trip) if trip else Cell(numbers.NOTHING),
        number_cell(by_trip),
        number_cell(near if trip else None),
        Cell(numbers.times(reached), reached) if reached is not None else Cell(numbers.NOTHING),
    )


def _words(point: PointRow) -> list[str]:
    kind = "persistent" if point.persistent else "nonpersistent"
    return [numbers.size(point.message_bytes), kind, *other_words(point.series, ROUND_TRIP)]


def _road(point: PointRow) -> tuple[object, ...]:
    """Return the parameters that are constant when the distance changes."""
    rest = tuple(each for each in series_parts(point.series).items() if each[0] != ROUND_TRIP)
    return (point.clients, point.message_bytes, point.persistent, rest)


def _trip(point: PointRow) -> float:
    try:
        return float(series_parts(point.series).get(ROUND_TRIP, "0"))
    except ValueError:
        return 0.0


def _rate(points: list[PointRow]) -> float | None:
    return middle(points, lambda point: point.rate)


def _median(values: Iterable[float]) -> float | None:
    found = spread(values)
    return None if found is None else found.middle
