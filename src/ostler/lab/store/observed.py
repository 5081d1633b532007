"""Samples of an observer as rows of the store."""

from __future__ import annotations

from ostler.lab.observing.samples import Event, Interval, MachineSample, ProcessSample, ThreadSample
from ostler.lab.store.rows import EventRow, MachineRow, ProcessRow, Row, ThreadRow

_SECOND_NS = 1_000_000_000
# Fields of a machine's sample that have a column of the same name.
_MACHINE = MachineRow._fields[2:]


class ObservedRows:
    """An observer's sink that makes rows of one phase. Times of the observer are since it began, those of rows since
    the phase did."""

    def __init__(self, phase: str, phase_began_ns: int) -> None:
        self.rows: list[Row] = []
        self._phase = phase
        self._began_ns = phase_began_ns

    def _second(self, at_ns: int) -> int:
        return max(0, at_ns - self._began_ns) // _SECOND_NS

    def _span(self, interval: Interval) -> tuple[int, int]:
        return self._second(interval.began_ns), round(interval.microseconds)

    def process(self, sample: ProcessSample) -> None:
        if sample.interval.phase != self._phase:
            return
        second, interval_us = self._span(sample.interval)
        self.rows.append(
            ProcessRow(
                second,
                sample.role,
                sample.pid,
                sample.name,
                interval_us,
                sample.user_us,
                sample.system_us,
                sample.core_wait_us,
                sample.voluntary_switches,
                sample.involuntary_switches,
                sample.resident_bytes,
                sample.threads,
                sample.read_bytes,
                sample.written_bytes,
                sample.read_calls,
                sample.write_calls,
            )
        )

    def thread(self, sample: ThreadSample) -> None:
        if sample.interval.phase == self._phase:
            second, interval_us = self._span(sample.interval)
            cpu = (sample.user_us, sample.system_us)
            row = ThreadRow(second, sample.role, sample.pid, sample.thread, sample.name, interval_us, *cpu)
            self.rows.append(row)

    def machine(self, sample: MachineSample) -> None:
        if sample.interval.phase == self._phase:
            self.rows.append(MachineRow(*self._span(sample.interval), *(getattr(sample, name) for name in _MACHINE)))

    def event(self, event: Event) -> None:
        if event.phase == self._phase:
            text = f"{event.role} {event.pid}: {event.text}" if event.pid else event.text
            self.rows.append(EventRow(self._second(event.at_ns), "note", event.name, text))
