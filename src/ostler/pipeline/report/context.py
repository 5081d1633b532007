"""The context of all sections: the rows, the styles, the numbering, and the representative run of each scenario."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import LoadKind, Scenario
from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Style
from ostler.pipeline.report.charts.curves import NO_MESSAGES, other_words
from ostler.pipeline.report.charts.styles import contestant_order, contestant_styles
from ostler.pipeline.report.disclosures import Disclosure, disclosure_of
from ostler.pipeline.report.drivers import promise_of
from ostler.pipeline.report.html.document import Cell, Hyperlink, NumberedReport
from ostler.pipeline.report.rows import (
    LIMIT,
    OSTLER,
    CourseRow,
    DisclosureRow,
    PeakRow,
    PointRow,
    RunRow,
    SecondRow,
    Tables,
)
from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER, WITHOUT_COPIES

_NUMBER: Final = re.compile(r"(\d+)")
_SIZE: Final = re.compile(r"\d+ (?:bytes|KB|MB)")


@dataclass(frozen=True)
class Context:
    tables: Tables
    report: NumberedReport
    styles: Mapping[str, Style]

    @cached_property
    def runs(self) -> dict[str, RunRow]:
        return {each.run: each for each in self.tables.runs}

    @cached_property
    def points_of(self) -> dict[str, list[PointRow]]:
        """Points of the main operation, by run."""
        found: dict[str, list[PointRow]] = defaultdict(list)
        for point in self.tables.points:
            if point.is_main:
                found[point.run].append(point)
        return found

    @cached_property
    def seconds_of(self) -> dict[tuple[str, str, int, int], list[SecondRow]]:
        """Windows over time, by run, contestant, step and repetition."""
        found: dict[tuple[str, str, int, int], list[SecondRow]] = defaultdict(list)
        for row in sorted(self.tables.seconds, key=lambda each: each.second):
            found[row.run, row.contestant, row.step, row.repetition].append(row)
        return found

    @cached_property
    def courses_of(self) -> dict[tuple[str, str, int, int], list[CourseRow]]:
        """Moments and tenths of a second of windows in which something happens, by run, contestant, step and
        repetition."""
        found: dict[tuple[str, str, int, int], list[CourseRow]] = defaultdict(list)
        for row in sorted(self.tables.courses, key=lambda each: each.at):
            found[row.run, row.contestant, row.step, row.repetition].append(row)
        return found

    @cached_property
    def runs_with_results(self) -> set[str]:
        """Runs whose experiments found figures besides rates."""
        return {row.run for row in self.tables.results}

    @cached_property
    def speaking(self) -> dict[str, str]:
        """The representative run of each scenario: complete and full ones before others, then the newest."""
        best: dict[str, RunRow] = {}
        for run in sorted(self.tables.runs, key=lambda each: (each.is_complete, not each.is_quick, each.began)):
            if self.points_of.get(run.run) or run.run in self.runs_with_results:
                best[run.scenario] = run
        order = {name: number for number, name in enumerate(catalogue().scenarios)}
        return {name: best[name].run for name in sorted(best, key=lambda each: (order.get(each, len(order)), each))}

    @cached_property
    def disclosures(self) -> dict[str, Disclosure]:
        """Disclosures by run."""
        rows: dict[str, list[DisclosureRow]] = defaultdict(list)
        for row in self.tables.disclosures:
            rows[row.run].append(row)
        return {each.run: disclosure_of(each, rows[each.run]) for each in self.tables.runs}

    def disclosure(self, run: str) -> Disclosure:
        return self.disclosures[run]

    def promise(self, run: str, contestant: str, persistent: bool) -> str:
        """Return what an acknowledgement of a contestant promises in a run; empty where the run does not say."""
        return promise_of(self.tables.contestants, run, contestant, persistent)

    @cached_property
    def limits(self) -> set[str]:
        """Names of the limits of the machine."""
        return {point.contestant for point in self.tables.points if point.kind == LIMIT}

    @cached_property
    def peaks_of(self) -> dict[str, list[PeakRow]]:
        """Peaks by run, Ostler first, then by size."""
        found: dict[str, list[PeakRow]] = defaultdict(list)
        for peak in sorted(
            (each for each in self.tables.peaks if self.has_rates(each.scenario)),
            key=lambda each: (
                each.message_bytes,
                _in_order(each.series),
                contestant_order(each.contestant, each.kind),
            ),
        ):
            found[peak.run].append(peak)
        return found

    def has_rates(self, name: str) -> bool:
        """Operations of a scenario have a rate. Where queue managers are idle, operations happen once, or now and then,
        and their number in a window says nothing."""
        found = self.scenario(name)
        return found is None or found.load is None or found.load.kind is not LoadKind.IDLE

    def own_peaks(self, run: str) -> list[PeakRow]:
        """Return Ostler's peaks of a run, without one queue manager in the place of two, and one without copies where
        others have them, which these are compared with."""
        beside = (ONE_QUEUE_MANAGER, WITHOUT_COPIES)
        return [peak for peak in self.peaks_of.get(run, []) if peak.kind == OSTLER and peak.contestant not in beside]

    def queue_managers(self, name: str) -> int:
        """Return the largest number of queue managers of a scenario."""
        found = self.scenario(name)
        return max(found.queue_managers, default=1) if found else 1

    def scenario(self, name: str) -> Scenario | None:
        return catalogue().scenarios.get(name)

    def title(self, scenario: str) -> str:
        found = self.scenario(scenario)
        return found.title if found else scenario

    def scenario_cell(self, name: str) -> Cell:
        return Cell((self.scenario_link(name),), name)

    def scenario_link(self, name: str) -> Hyperlink:
        """Return the short name, which commands accept, as a link with the title as tooltip."""
        where = f"scenario-{name}" if name in self.speaking else "scenarios"
        return Hyperlink(name, where, self.title(name))

    def main_contestant(self, run: str) -> str:
        """Return Ostler's name in a run: the shortest name of its kind; empty when it did not take part."""
        names = {point.contestant for point in self.points_of.get(run, []) if point.kind == OSTLER}
        return min(names, key=lambda each: (len(each), each), default="")


def _in_order(series: str) -> list[tuple[int, str]]:
    """Sort key: numbers by value, so that 4 channels come before 10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in _NUMBER.split(series)]


def make_context(tables: Tables) -> Context:
    ordered = sorted(tables.runs, key=lambda each: (each.began, each.run))
    names = {each.run: f"R{number}" for number, each in enumerate(ordered, 1)}
    titles = {each.run: f"{each.run}: {each.command}" for each in ordered}
    styles = contestant_styles((point.contestant, point.kind) for point in tables.points)
    return Context(tables, NumberedReport(names, titles), styles)


def described(title: str, group: str) -> str:
    """Return a title with size and persistence, where it does not contain them."""
    sizes = _SIZE.findall(title)
    left = [
        part
        for part in group.split(", ")
        if not (sizes == [part] or (part in ("persistent", "nonpersistent") and part in title.replace(",", "").split()))
    ]
    return ", ".join([title, *left])


def messages(message_bytes: int, persistent: bool) -> str:
    if not message_bytes:
        return NO_MESSAGES
    return f"{numbers.size(message_bytes)}, {'persistent' if persistent else 'nonpersistent'}"


def message_words(message_bytes: int, persistent: bool, series: str) -> str:
    """Return the messages of a curve, with the other constant parameters."""
    return ", ".join([messages(message_bytes, persistent), *other_words(series)])


# -- cells -------------------------------------------------------------------------------------------------------------


def number_cell(value: float | None, unit: str = "") -> Cell:
    return Cell(numbers.figure(value), value, f"{numbers.exact(value)} {unit}".strip() if value is not None else "")


def whole_cell(value: float | None) -> Cell:
    return Cell(numbers.whole(value), value)


def percent_cell(value: float | None, *, signed: bool = False) -> Cell:
    title = "" if value is None else f"{numbers.exact(value)} %"
    return Cell(numbers.percent(value, signed=signed), value, title)


def milliseconds_cell(value_ns: float | None) -> Cell:
    return Cell(numbers.milliseconds(value_ns), value_ns, f"{numbers.exact(value_ns)} ns" if value_ns else "")


def size_cell(value: float | None) -> Cell:
    return Cell(numbers.size(value), value)


def text_cell(text: str) -> Cell:
    return Cell(text, text.lower())


def moment(when: datetime | None) -> str:
    return numbers.NOTHING if when is None else f"{when:%Y-%m-%d %H:%M} UTC"
