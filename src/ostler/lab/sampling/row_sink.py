"""The sink that turns samples into rows of the sample tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ostler.lab.sampling.flags import DOUBT, Flag
from ostler.lab.sampling.observer import PHASE_BEGAN
from ostler.lab.sampling.process_sampler import ENDED
from ostler.lab.sampling.samples import Event, MachineSample, ProcessSample, ThreadSample
from ostler.lab.store.rows import EventRow, MachineRow, ProcessRow, Row, ThreadRow

Add = Callable[[Iterable[Row]], object]
"""Adds rows to the segment of the current phase, from any thread."""


class RowSink:
    """A sink that makes rows. Phases are stored separately, so their beginnings make none."""

    def __init__(self, add: Add) -> None:
        self._add = add

    def process(self, sample: ProcessSample) -> None:
        self._add((process_row(sample),))

    def thread(self, sample: ThreadSample) -> None:
        self._add((thread_row(sample),))

    def machine(self, sample: MachineSample) -> None:
        self._add((machine_row(sample),))

    def event(self, event: Event) -> None:
        if event.name != PHASE_BEGAN:
            self._add((event_row(event),))


def process_row(sample: ProcessSample) -> ProcessRow:
    return ProcessRow._make(_values(sample, ProcessRow._fields))


def thread_row(sample: ThreadSample) -> ThreadRow:
    return ThreadRow._make(_values(sample, ThreadRow._fields))


def machine_row(sample: MachineSample) -> MachineRow:
    return MachineRow._make(_values(sample, MachineRow._fields))


def event_row(event: Event) -> EventRow:
    """Return the row of an event. An unexpected end of a process is an error; the runner forgets a process before it
    ends it.

    Names include the process, as several may come and go in one second.
    """
    kind = "error" if event.name == ENDED else "note"
    text = f"{event.role} process {event.pid} ({event.text})"
    return EventRow(event.second, kind, f"{event.name.replace(' ', '-')}: {event.pid}", text, None)


def flag_rows(flags: Iterable[Flag], second: int) -> list[EventRow]:
    """Return the rows of flags. They are found when a phase is over: `second` is its last one.

    The same flag of several processes becomes one row, with the highest value.
    """
    alike: dict[tuple[str, str], list[Flag]] = {}
    for each in flags:
        alike.setdefault(("flag" if each.severity == DOUBT else "note", each.name), []).append(each)
    return [
        EventRow(second, kind, name, "; ".join(each.text for each in found), max(each.value for each in found))
        for (kind, name), found in alike.items()
    ]


def _values(sample: ProcessSample | ThreadSample | MachineSample, columns: Iterable[str]) -> list[object]:
    """Return the values of a sample by column. Columns have the names of the sample's attributes, which a test
    checks."""
    interval = sample.interval
    own = {"second": interval.second, "interval_us": round(interval.microseconds)}
    return [own[name] if name in own else getattr(sample, name) for name in columns]
