"""The content of a report before it becomes a page: sections with paragraphs, tables, charts and notes.

Sections are made of these blocks and contain no HTML. `NumberedReport` numbers tables and figures as they are made, and
keeps the runs that each of them was made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ostler.pipeline.report.charts.charts import Chart, LineChart
from ostler.pipeline.report.charts.multiples import small_multiples
from ostler.pipeline.report.charts.sentences import chart_sentence
from ostler.pipeline.report.charts.topology import TopologyDrawing

_RUNS_IN_A_ROW: Final = 4
"""So many runs that follow one another are named by the first and the last."""


@dataclass(frozen=True)
class Hyperlink:
    """A link to an anchor of the same page."""

    text: str
    anchor: str
    title: str = ""


@dataclass(frozen=True)
class WebLink:
    """A link to another site, in the author's notes."""

    text: str
    url: str


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Emphasis:
    text: str


@dataclass(frozen=True)
class Strong:
    text: str


@dataclass(frozen=True)
class Mark:
    """A word with a meaning: better, worse, same or doubtful."""

    text: str
    meaning: str


Inline = str | Hyperlink | WebLink | Code | Emphasis | Strong | Mark
Text = str | tuple[Inline, ...]


@dataclass(frozen=True)
class Cell:
    """A table cell. `sort` is the sort key; `title` is the tooltip."""

    text: Text
    sort: float | str | None = None
    title: str = ""


@dataclass(frozen=True)
class Heading:
    text: str
    is_number: bool = False
    title: str = ""
    is_wide: bool = False


@dataclass(frozen=True)
class Paragraph:
    text: Text
    style: str = ""


@dataclass(frozen=True)
class Preformatted:
    """Text whose lines are kept, such as a configuration file."""

    text: str


@dataclass(frozen=True)
class Bullets:
    items: tuple[Text, ...]
    is_numbered: bool = False


@dataclass(frozen=True)
class ReportTable:
    anchor: str
    number: int
    caption: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: Text = ""


@dataclass(frozen=True)
class ReportFigure:
    anchor: str
    number: int
    caption: str
    charts: tuple[Chart, ...]
    note: Text = ""


@dataclass(frozen=True)
class Card:
    """A headline value."""

    label: str
    value: str
    text: Text


@dataclass(frozen=True)
class Cards:
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class TermList:
    """Words and their meanings."""

    items: tuple[tuple[Text, Text], ...]


@dataclass(frozen=True)
class Fold:
    """Folded on the page until it is opened. `is_printed` includes it on paper."""

    summary: str
    blocks: tuple[Block, ...]
    is_printed: bool = True


@dataclass(frozen=True)
class Anchor:
    """A target of links."""

    anchor: str
    block: Block


@dataclass(frozen=True)
class Section:
    anchor: str
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()


Block = Paragraph | Preformatted | Bullets | ReportTable | ReportFigure | Cards | TermList | Fold | Anchor


def page_only(sections: Iterable[Section]) -> set[str]:
    """Return the anchors of tables and figures that are folded and not printed."""
    found: set[str] = set()
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Fold) and not block.is_printed:
                found |= {each.anchor for each in block.blocks if isinstance(each, ReportTable | ReportFigure)}
        found |= page_only(section.sections)
    return found


@dataclass(frozen=True)
class Trace:
    """A table or figure, and the runs of its numbers."""

    anchor: str
    name: str
    caption: str
    runs: tuple[str, ...]


@dataclass
class NumberedReport:
    """Numbers tables and figures, and gives runs short names: R1 is the oldest."""

    run_names: dict[str, str]
    run_titles: dict[str, str] = field(default_factory=dict)
    traces: list[Trace] = field(default_factory=list)
    figures: int = 0
    tables: int = 0

    def run(self, run: str) -> Inline:
        """Return a link to the description of a run. Published figures and unknown runs keep their names."""
        name = self.run_names.get(run)
        return Hyperlink(name, f"run-{name}", self.run_titles.get(run, run)) if name else run

    def runs(self, runs: Iterable[str]) -> tuple[Inline, ...]:
        """Return links to runs in their order; of many that follow one another, to the first and the last."""
        rows: list[list[str]] = []
        for each in sorted(set(runs), key=self._order):
            if rows and each in self.run_names and self._order(each)[0] == self._order(rows[-1][-1])[0] + 1:
                rows[-1].append(each)
            else:
                rows.append([each])
        found: list[Inline] = []
        for row in rows:
            ends: list[Inline] = [self.run(row[0]), " to ", self.run(row[-1])]
            listed: list[Inline] = []
            for each in row:
                listed += [", ", self.run(each)] if listed else [self.run(each)]
            found += [", "] if found else []
            found += ends if len(row) >= _RUNS_IN_A_ROW else listed
        return tuple(found)

    def _order(self, run: str) -> tuple[int, str]:
        return (int(self.run_names.get(run, "R0")[1:]), run)

    def run_cell(self, run: str) -> Cell:
        name = self.run_names.get(run, run)
        return Cell((self.run(run),), int(name[1:]) if run in self.run_names else name)

    def table(
        self,
        caption: str,
        headings: Sequence[Heading],
        rows: Iterable[Sequence[Cell]],
        runs: Iterable[str] = (),
        note: Text = "",
        unless_same: Sequence[str] = (),
    ) -> ReportTable | Paragraph:
        """Return a numbered table; a sentence where it would have no rows. `unless_same` names columns that are omitted
        when they are the same in all rows."""
        whole = [tuple(row) for row in rows]
        if not whole:
            return Paragraph(f"{caption}: no data yet.", "small")
        self.tables += 1
        assert all(len(row) == len(headings) for row in whole), caption
        shown = [
            number
            for number, heading in enumerate(headings)
            if heading.text not in unless_same or len({row[number].text for row in whole}) > 1
        ]
        kept = tuple(tuple(row[number] for number in shown) for row in whole)
        anchor = f"table-{self.tables}"
        self.traces.append(Trace(anchor, f"Table {self.tables}", caption, tuple(dict.fromkeys(runs))))
        return ReportTable(anchor, self.tables, caption, tuple(headings[number] for number in shown), kept, note)

    def figure(self, caption: str, charts: Sequence[Chart], runs: Iterable[str], note: Text = "") -> ReportFigure:
        """Return a numbered figure. A chart with too many lines becomes several, and each has a sentence."""
        self.figures += 1
        anchor = f"figure-{self.figures}"
        self.traces.append(Trace(anchor, f"Figure {self.figures}", caption, tuple(dict.fromkeys(runs))))
        drawn = tuple(panel for each in charts for panel in _panels(each))
        return ReportFigure(anchor, self.figures, caption, drawn, note)


def _panels(chart: Chart) -> Sequence[Chart]:
    if isinstance(chart, TopologyDrawing):
        return [chart]
    said = replace(chart, sentence=chart_sentence(chart))
    return small_multiples(said) if isinstance(said, LineChart) else [said]
