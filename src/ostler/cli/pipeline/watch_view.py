"""The output of `ostler pipeline watch`: the last interval as a table that is redrawn, or a line for each batch."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ostler.pipeline.lake.lake import LakeSnapshot
    from ostler.pipeline.live.watch import BatchSummary

_UP_AND_CLEAR: Final = "\x1b[{}F\x1b[J"
_APPLICATIONS: Final = 5
# Queues that are busy because of the watch itself; they are only in the tables.
_OWN: Final = ("SYSTEM.ADMIN.STATISTICS.", "SYSTEM.ADMIN.ACCOUNTING.", "SPARK.IN.OSTLER.WATCH")
_UNITS: Final = ((1e9, "G"), (1e6, "M"), (1e4, "k"))
Row = dict[str, Any]


class WatchView:
    """Prints sentences, and redraws the table below them with each batch. Without a terminal prints lines only."""

    def __init__(self, out: IO[str], rows: int, is_drawn: bool) -> None:
        self._out = out
        self._rows = rows
        self._is_drawn = is_drawn
        self._drawn: list[str] = []

    def message(self, text: str) -> None:
        """Prints a sentence above the table."""
        self._write([f"{datetime.now(UTC):%H:%M:%S} {text}"], self._drawn)

    def show(self, batch: BatchSummary) -> None:
        """Shows a batch that changed the lake."""
        odd = f", {batch.unreadable} that are not records" if batch.unreadable else ""
        line = (
            f"{batch.statistics} messages of statistics, {batch.accounting} of accounting{odd}: "
            f"{batch.records} records, version {batch.snapshot.version}."
        )
        if self._is_drawn:
            self._write([], [*table_lines(batch.snapshot, self._rows), f"Last: {line}"])
        else:
            self.message(line)

    def _write(self, above: Sequence[str], drawn: Sequence[str]) -> None:
        width = shutil.get_terminal_size().columns
        if self._drawn:
            self._out.write(_UP_AND_CLEAR.format(len(self._drawn)))
        # A wrapped line would count as two when the table is cleared.
        self._drawn = [line[: width - 1] for line in drawn]
        self._out.write("".join(f"{line}\n" for line in (*above, *self._drawn)))
        self._out.flush()


def table_lines(lake: LakeSnapshot, rows: int) -> list[str]:
    """Returns lines on the last interval: queue manager, busiest queues, and most expensive applications."""
    from ostler.pipeline.lake.live_tables import ACCOUNT, ACTIVITY, QUEUE, QUEUE_MANAGER

    hours = {part.values["run"] for table in (ACTIVITY, ACCOUNT) for part in lake.parts_of(table)}
    if not hours:
        return []
    last = max(hours)
    activity = lake.read(ACTIVITY, run=[last]).to_pylist()
    lines = _manager_lines([row for row in activity if row["scope"] == QUEUE_MANAGER])
    queues = [row for row in activity if row["scope"] == QUEUE and not row["object"].startswith(_OWN)]
    lines += _queue_lines(queues, rows)
    return lines + _application_lines(lake.read(ACCOUNT, run=[last]).to_pylist(), last)


def _manager_lines(rows_read: list[Row]) -> list[str]:
    if not rows_read:
        return []
    row = max(rows_read, key=lambda each: each["ended"])
    figures = [
        f"{_rate(row, 'puts')} puts/s",
        f"{_rate(row, 'gets')} gets/s",
        f"{_rate(row, 'commits')} commits/s",
        f"{row['connections_max'] or 0} connections",
        f"processor {100 * _per_second(row, 'cpu_us') / 1e6:.0f} %",
        f"log {_rate(row, 'log_bytes')}B/s",
    ]
    when = f"{row['began']:%H:%M:%S} to {row['ended']:%H:%M:%S} UTC"
    return ["", f"{row['queue_manager']}, {when}: {', '.join(figures)}"]


def _queue_lines(rows_read: list[Row], rows: int) -> list[str]:
    """Returns lines on each queue in its last interval, the busiest of the newest interval first."""
    last: dict[str, Row] = {}
    for row in sorted(rows_read, key=lambda each: each["ended"]):
        last[row["object"]] = row
    # An interval that was cut by a reset ends a little earlier than the others.
    busiest = sorted(
        last.values(), key=lambda row: (row["ended"], _per_second(row, "puts") + _per_second(row, "gets")), reverse=True
    )
    if not busiest:
        return []
    lines = ["", f"{'queue':40} {'to':>8} {'puts/s':>8} {'gets/s':>8} {'bytes/s':>8} {'depth':>8} {'waited':>9}"]
    for row in busiest[:rows]:
        moved = {**row, "moved": (row["put_bytes"] or 0) + (row["get_bytes"] or 0)}
        cells = [_rate(row, "puts"), _rate(row, "gets"), _rate(moved, "moved"), f"{row['depth_max'] or 0}"]
        lines.append(
            f"{row['object'][:40]:40} {row['ended']:%H:%M:%S} {' '.join(f'{each:>8}' for each in cells)} "
            f"{_time(row['time_on_queue_us']):>9}"
        )
    more = len(busiest) - rows
    return [*lines, f"and {more} more"] if more > 0 else lines


def _application_lines(rows_read: list[Row], run: str) -> list[str]:
    """Returns lines on the accounts of the hour, by application."""
    found: dict[str, list[Row]] = {}
    for row in rows_read:
        if not row["queue"]:
            found.setdefault(row["application"] or "-", []).append(row)
    if not found:
        return []
    ordered = sorted(found.items(), key=lambda each: sum(row["time_us"] or 0 for row in each[1]), reverse=True)
    lines = ["", f"{'application, since ' + run[-3:-1] + ':00':40} {'accounts':>8} {'puts':>8} {'gets':>8} {'took':>9}"]
    for name, rows in ordered[:_APPLICATIONS]:
        puts, gets = (_short(sum(row[each] or 0 for row in rows)) for each in ("puts", "gets"))
        took = _time(sum(row["time_us"] or 0 for row in rows) or None)
        lines.append(f"{name[:40]:40} {len(rows):>8} {puts:>8} {gets:>8} {took:>9}")
    return lines


def _per_second(row: Row, name: str) -> float:
    """Returns a value per second of its interval, which counts as one second at least."""
    return float(row[name] or 0) / max(1.0, float(row["seconds"]))


def _rate(row: Row, name: str) -> str:
    return _short(_per_second(row, name))


def _short(number: float) -> str:
    for size, unit in _UNITS:
        if number >= size:
            factor = {"G": 1e9, "M": 1e6, "k": 1e3}[unit]
            return f"{number / factor:.1f}{unit}"
    return f"{number:.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def _time(us: float | None) -> str:
    if us is None:
        return "-"
    if us >= 1e6:
        return f"{us / 1e6:.1f} s"
    return f"{us / 1e3:.1f} ms" if us >= 1e3 else f"{us:.0f} us"
