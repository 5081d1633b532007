"""What an operation costs: processor time by role, log and memory from the samples, and verbs from accounting."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.context import Context, message_words, number_cell, size_cell, text_cell, whole_cell
from ostler.pipeline.report.curves import middle
from ostler.pipeline.report.document import Block, Cell, Heading, Paragraph, Section
from ostler.pipeline.report.looks import contestant_order
from ostler.pipeline.report.rows import LIMIT, CostRow, PointRow
from ostler.pipeline.report.spreads import spread

_OBJECTS_MAX: Final = 6
_CONNECTION: Final = "connection"
_SCOPES: Final = ("queue manager", "channel", _CONNECTION, "queue")
# Connections are known by 24 bytes, which tell a reader nothing: those without a channel are told together.
_CONNECTION_ID: Final = re.compile(r"[0-9a-fA-F]{48}")


def costs_section(context: Context) -> Section:
    text = (
        "Processor time of a role divided by the operations that completed, at the peak of each curve. The driver is "
        "what makes the load: where it costs more than the broker, it may be what was measured."
    )
    table = _processor_table(context)
    inner = []
    accounted = _accounted(context)
    if accounted:
        told = (
            "From the counters of the queue manager at the step with most work; from its accounting and statistics "
            "records where a run was made with --accounting. These last as long as connections do, so their counts may "
            "exceed those of the window. Processor time is that of the whole queue manager, shared out by count; so is "
            "the time that a record has of a connection."
        )
        inner.append(Section("costs-verbs", "Verbs and transactions", (Paragraph(told), *accounted)))
    return Section("costs", "Costs", (Paragraph(text), table), tuple(inner))


def _peak_points(points: Sequence[PointRow]) -> list[list[PointRow]]:
    """The points of the best step of each contestant and series."""
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


def _processor_table(context: Context) -> Block:
    headings = (
        Heading("Scenario"),
        Heading("Contestant"),
        Heading("Messages"),
        Heading("Clients", True),
        Heading("Broker, µs", True, "processor time of the broker for each operation"),
        Heading("User, µs", True, "of it in user mode"),
        Heading("Log, µs", True, "of the threads that write the log"),
        Heading("Driver, µs", True, "of the load drivers"),
        Heading("Log, bytes", True, "written to the log for each operation"),
        Heading("Per force", True, "operations for each force of the log"),
        Heading("Memory", True, "most resident memory of the broker"),
        Heading("Run"),
    )
    rows = [
        _processor_row(context, name, points)
        for name, run in context.speaking.items()
        for points in _peak_points([each for each in context.points_of[run] if each.kind != LIMIT])
    ]
    runs = list(context.speaking.values())
    note = (
        "Whoever needs a record on storage first writes and forces the log for all who wait, so most of the log's "
        "processor time is in that of the broker; the log's own threads are told where they had any."
    )
    return context.book.table("Costs of an operation at the peak", headings, rows, runs, note, ("Log, µs",))


def _each(point: PointRow, value: float | None) -> float | None:
    return None if not value or not point.count else value / point.count


def _processor_row(context: Context, name: str, points: Sequence[PointRow]) -> tuple[Cell, ...]:
    first = points[0]
    return (
        context.scenario_cell(name),
        text_cell(first.contestant),
        Cell(
            message_words(first.message_bytes, first.persistent, first.series),
            first.message_bytes,
        ),
        whole_cell(first.clients),
        number_cell(middle(points, lambda point: point.broker_cpu_us), "µs"),
        number_cell(middle(points, lambda point: point.broker_user_us), "µs"),
        number_cell(middle(points, lambda point: point.log_cpu_us) or None, "µs"),
        number_cell(middle(points, lambda point: point.driver_cpu_us), "µs"),
        number_cell(middle(points, lambda point: _each(point, point.log_bytes)), "bytes"),
        number_cell(middle(points, lambda point: point.count / point.log_forces if point.log_forces else None)),
        size_cell(middle(points, lambda point: point.broker_memory_bytes)),
        context.book.run_cell(first.run),
    )


# -- accounting --------------------------------------------------------------------------------------------------------


def _accounted(context: Context) -> list[Block]:
    by_run: dict[str, list[CostRow]] = defaultdict(list)
    for row in context.tables.costs:
        by_run[row.run].append(row)
    return [
        _verb_table(context, name, by_run[run]) for name, run in context.speaking.items() if by_run.get(run)
    ]  # fmt: skip


def _verb_table(context: Context, name: str, rows: Sequence[CostRow]) -> Block:
    work: dict[int, float] = defaultdict(float)
    for row in rows:
        work[row.step] += row.count
    step = max(work, key=lambda each: (work[each], each))
    groups: dict[tuple[str, str, str, str], list[CostRow]] = defaultdict(list)
    objects: dict[str, list[str]] = defaultdict(list)
    for row in sorted(_joined([each for each in rows if each.step == step]), key=lambda each: -each.count):
        if row.object not in objects[row.scope]:
            objects[row.scope].append(row.object)
        if objects[row.scope].index(row.object) < _OBJECTS_MAX:
            groups[row.contestant, row.scope, row.object, row.verb].append(row)
    headings = (
        Heading("Contestant"),
        Heading("Of"),
        Heading("Verb"),
        Heading("Count", True, "in the measured window, median of repetitions"),
        Heading("Bytes, each", True),
        Heading("Time, µs", True, "that was accounted for, of one"),
        Heading("Processor, µs", True, "of the queue manager, shared out by count"),
        Heading("Log, bytes", True, "for one"),
    )
    body = [
        _verb_row(key, found)
        for key, found in sorted(
            groups.items(), key=lambda each: (each[0][0], _rank(each[0][1]), each[0][2], -each[1][0].count)
        )
    ]
    left = max((len(each) for each in objects.values()), default=0) - _OBJECTS_MAX
    note = f"The {_OBJECTS_MAX} busiest objects of each kind; {left} more are in the table cost." if left > 0 else ""
    clients = next((point.clients for point in context.points_of[rows[0].run] if point.step == step), 0)
    caption = f"Verbs of {context.title(name)}, {numbers.count(clients, 'client')}"
    empty = ("Contestant", "Bytes, each", "Time, µs", "Log, bytes")
    return context.book.table(caption, headings, body, [rows[0].run], note, empty)


def _rank(scope: str) -> int:
    return _SCOPES.index(scope) if scope in _SCOPES else len(_SCOPES)


def _joined(rows: Sequence[CostRow]) -> list[CostRow]:
    """Rows of connections that have an identifier only, added up by verb; the others as they are."""
    kept: list[CostRow] = []
    local: dict[tuple[str, int, str], list[CostRow]] = defaultdict(list)
    for row in rows:
        if row.scope == _CONNECTION and _CONNECTION_ID.fullmatch(row.object):
            local[row.contestant, row.repetition, row.verb].append(row)
        else:
            kept.append(row)
    return kept + [_sum(found) for found in local.values()]


def _sum(rows: Sequence[CostRow]) -> CostRow:
    count = sum(row.count for row in rows)
    return replace(
        rows[0],
        object="local, all together",
        count=count,
        bytes=_total(row.bytes for row in rows),
        time_us=_mean([(row.time_us, row.count) for row in rows]),
        broker_cpu_us=_mean([(row.broker_cpu_us, row.count) for row in rows]),
        log_bytes=_mean([(row.log_bytes, row.count) for row in rows]),
    )


def _total(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) if known else None


def _mean(weighted: Sequence[tuple[float | None, float]]) -> float | None:
    known = [(value, weight) for value, weight in weighted if value is not None]
    whole = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / whole if whole else None


def _median(values: Sequence[float | None]) -> float | None:
    found = spread(values)
    return None if found is None else found.middle


def _verb_row(key: tuple[str, str, str, str], rows: Sequence[CostRow]) -> tuple[Cell, ...]:
    contestant, scope, name, verb = key
    each = [row.bytes / row.count if row.bytes is not None and row.count else None for row in rows]
    return (
        text_cell(contestant),
        text_cell(f"{scope} {name}".strip()),
        text_cell(verb),
        whole_cell(_median([row.count for row in rows])),
        size_cell(_median(each)),
        number_cell(_median([row.time_us for row in rows]), "µs"),
        number_cell(_median([row.broker_cpu_us for row in rows]), "µs"),
        number_cell(_median([row.log_bytes for row in rows]), "bytes"),
    )
