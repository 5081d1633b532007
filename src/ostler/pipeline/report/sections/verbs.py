"""Verbs and transactions, from the queue manager's counters and accounting."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.spreads import spread
from ostler.pipeline.report.context import Context, number_cell, size_cell, text_cell, whole_cell
from ostler.pipeline.report.html.document import Block, Cell, Heading
from ostler.pipeline.report.rows import CostRow

_OBJECTS_MAX: Final = 6
_CONNECTION: Final = "connection"
_QUEUE_MANAGER: Final = "queue manager"
_MESSAGE_CHANNELS: Final = "message channels"
_TRANSACTION: Final = "transaction"
# Verbs with a column of their own; the others are combined.
_VERBS: Final = ("put", "get", "commit")
_SCOPES: Final = ("channel", _CONNECTION, "queue")
# Connection identifiers of 24 bytes are meaningless to a reader: those without a channel are combined.
_CONNECTION_ID: Final = re.compile(r"(.*/)?[0-9a-fA-F]{48}")


def accounted_blocks(context: Context) -> list[Block]:
    """Return a table of the verbs of transactions, and one of records for each run that has them."""
    by_run: dict[str, list[CostRow]] = defaultdict(list)
    for row in context.tables.costs:
        by_run[row.run].append(row)
    found = {name: _busiest(by_run[run]) for name, run in context.speaking.items() if by_run.get(run)}
    if not found:
        return []
    blocks = [_transactions(context, found)] if any(_own(rows) for rows in found.values()) else []
    for name, rows in found.items():
        # Counts of message channels are with the scenarios.
        records = [row for row in rows if row.scope not in (_QUEUE_MANAGER, _MESSAGE_CHANNELS)]
        if records:
            blocks.append(_records(context, name, records))
    return blocks


def _own(rows: Sequence[CostRow]) -> list[CostRow]:
    return [row for row in rows if row.scope == _QUEUE_MANAGER]


def _busiest(rows: Sequence[CostRow]) -> list[CostRow]:
    """Return the rows of the busiest step of each contestant."""
    work: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        work[row.contestant][row.step] += row.count
    best = {name: max(steps, key=lambda each: (steps[each], each)) for name, steps in work.items()}
    return [row for row in rows if row.step == best[row.contestant]]


def _clients(context: Context, row: CostRow) -> int:
    points = context.points_of[row.run]
    return next((point.clients for point in points if point.step == row.step), 0)


# -- transactions ------------------------------------------------------------------------------------------------------


def _transactions(context: Context, found: dict[str, list[CostRow]]) -> Block:
    headings = (
        Heading("Scenario"),
        Heading("Contestant"),
        Heading("Count", True, "operations of the scenario in the measured window, median of repetitions"),
        Heading("Puts", True, "for each transaction"),
        Heading("Gets", True, "for each transaction"),
        Heading("Commits", True, "for each transaction"),
        Heading("Others", True, "other verbs for each transaction"),
        Heading("Size", True, "mean size of a message that was put"),
        Heading("µs a verb", True, "processor time of the queue manager, divided by all verbs"),
        Heading("µs in all", True, "processor time of the queue manager for each transaction"),
        Heading("Log, bytes", True, "for each transaction"),
        Heading("Run"),
    )
    rows = []
    runs = []
    for name, costs in found.items():
        contestants = dict.fromkeys(row.contestant for row in _own(costs))
        for contestant in contestants:
            own = [row for row in _own(costs) if row.contestant == contestant]
            runs.append(own[0].run)
            rows.append((context.scenario_cell(name), *_transaction(context, own)))
    return context.report.table(
        "Transactions, as queue managers counted them", headings, rows, runs, unless_same=("Commits", "Others")
    )


def _transaction(context: Context, rows: Sequence[CostRow]) -> tuple[Cell, ...]:
    counts: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        # Several queue managers have counts of their own.
        counts[row.verb][row.repetition] += row.count
    whole = counts.get(_TRANSACTION, {})

    def each(verbs: Iterable[str]) -> float | None:
        known = [verb for verb in verbs if verb in counts]
        ratios = [sum(counts[verb][at] for verb in known) / whole[at] for at in whole if whole[at]]
        return _median(ratios) if known else None

    transactions = [row for row in rows if row.verb == _TRANSACTION]
    verbs = [row for row in rows if row.verb != _TRANSACTION]
    puts = [row.bytes / row.count for row in rows if row.verb == "put" and row.bytes is not None and row.count]
    return (
        text_cell(rows[0].contestant),
        whole_cell(_median(list(whole.values()))),
        *(number_cell(each([verb])) for verb in _VERBS),
        number_cell(each([verb for verb in counts if verb not in (*_VERBS, _TRANSACTION)])),
        size_cell(_median(puts)),
        number_cell(_median([row.broker_cpu_us for row in verbs]), "µs"),
        number_cell(_median([row.broker_cpu_us for row in transactions]), "µs"),
        number_cell(_median([row.log_bytes for row in transactions]) or None, "bytes"),
        context.report.run_cell(rows[0].run),
    )


# -- records -----------------------------------------------------------------------------------------------------------


def _records(context: Context, name: str, rows: Sequence[CostRow]) -> Block:
    groups: dict[tuple[str, str, str, str], list[CostRow]] = defaultdict(list)
    objects: dict[str, list[str]] = defaultdict(list)
    for row in sorted(_joined(rows), key=lambda each: -each.count):
        if row.object not in objects[row.scope]:
            objects[row.scope].append(row.object)
        if objects[row.scope].index(row.object) < _OBJECTS_MAX:
            groups[row.contestant, row.scope, row.object, row.verb].append(row)
    headings = (
        Heading("Contestant"),
        Heading("Of"),
        Heading("Verb"),
        Heading("Count", True, "as long as connections lasted, median of repetitions"),
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
    clients = numbers.count(_clients(context, rows[0]), "client")
    caption = f"Records of {context.title(name)}, {clients}"
    empty = ("Contestant", "Bytes, each", "Time, µs", "Log, bytes")
    return context.report.table(caption, headings, body, [rows[0].run], note, empty)


def _rank(scope: str) -> int:
    return _SCOPES.index(scope) if scope in _SCOPES else len(_SCOPES)


def _joined(rows: Sequence[CostRow]) -> list[CostRow]:
    """Return rows of connections with an identifier only, summed by verb; the others unchanged."""
    kept: list[CostRow] = []
    local: dict[tuple[str, int, str, str], list[CostRow]] = defaultdict(list)
    for row in rows:
        named = _CONNECTION_ID.fullmatch(row.object) if row.scope == _CONNECTION else None
        if named is not None:
            # Of several queue managers, the name of one stands before the identifier.
            local[row.contestant, row.repetition, row.verb, named[1] or ""].append(row)
        else:
            kept.append(row)
    return kept + [_sum(found, manager) for (_, _, _, manager), found in local.items()]


def _sum(rows: Sequence[CostRow], manager: str) -> CostRow:
    count = sum(row.count for row in rows)
    return replace(
        rows[0],
        object=f"{manager}local, all together",
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
