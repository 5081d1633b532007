"""Capacity predictions: the need of one operation or connection, and how many of them this machine could have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Axis, Dot, Strip, Style, side_by_side
from ostler.pipeline.report.context import Context, described, message_words, number_cell, text_cell
from ostler.pipeline.report.html.document import Block, Cell, Fold, Heading, Paragraph, ReportFigure, Section
from ostler.pipeline.report.rows import OSTLER, PredictionRow

_STRIPS_MAX: Final = 16
_MEMORY: Final = "memory"
_RESOURCES: Final = ("processor", "network", _MEMORY)
_STYLES: Final = {"processor": Style(0, 0), "network": Style(1, 1), _MEMORY: Style(2, 2)}
_FULL_PERCENT: Final = 100.0


def predictions_section(context: Context) -> Section | None:
    """Return the section; None when nothing can be predicted."""
    order = list(context.speaking.values())
    rows = sorted(
        (row for row in context.tables.predictions if row.run in order),
        key=lambda each: (order.index(each.run), each.kind != OSTLER, each.contestant, each.message_bytes,
                          each.persistent, each.series, _rank(each.resource)),
    )  # fmt: skip
    if not rows:
        return None
    text = (
        "Limits are predicted as the published reports do it: what there is, divided by what one needs, each resource "
        "by itself. Processor: the cores that the broker can use, by its processor time for an operation at the peak. "
        "Network: what blocks of the same size reached with nothing in between. Memory: what is left, by how much a "
        "further client adds. The lowest is the first to be met. Predictions are calculated, not measured."
    )
    blocks: list[Block] = [Paragraph(text)]
    own = [row for row in rows if row.kind == OSTLER]
    others = [row for row in rows if row.kind != OSTLER]
    figure = _figure(context, own)
    if figure is not None:
        blocks.append(figure)
    if own:
        blocks.append(_table(context, "Capacity predictions", own))
    if others:
        table = _table(context, "Capacity predictions of other brokers", others)
        blocks.append(Fold("Capacity predictions of other brokers", (table,), not own))
    return Section("scaling-predictions", "Capacity predictions", tuple(blocks))


def _rank(resource: str) -> int:
    return _RESOURCES.index(resource) if resource in _RESOURCES else len(_RESOURCES)


def _words(row: PredictionRow) -> str:
    return message_words(row.message_bytes, row.persistent, row.series)


def calculation(text: str) -> str:
    """Return the calculation of the table, with the typography of a page."""
    shown = text.replace(" us ", " µs ")
    return shown.replace("1 cores ", "1 core ", 1) if shown.startswith("1 cores ") else shown


def _curves(rows: Sequence[PredictionRow]) -> list[dict[str, PredictionRow]]:
    """Return the rows of one curve together, by resource."""
    found: dict[tuple[str, str, str], dict[str, PredictionRow]] = {}
    for row in rows:
        found.setdefault((row.run, row.contestant, row.series), {})[row.resource] = row
    return list(found.values())


def _table(context: Context, caption: str, rows: Sequence[PredictionRow]) -> Block:
    headings = (
        Heading("Curve"),
        Heading("Contestant"),
        Heading("Peak, a second", True, "the highest rate that was measured"),
        Heading("Processor allows", True, "a second: the cores that the broker can use, divided by its time for one"),
        Heading("Network allows", True, "a second: blocks of the same size with nothing in between"),
        Heading("First met", title="of processor and network, with how much of it was used at the peak"),
        Heading("Memory of one", True, "what a further client added to the memory of the broker"),
        Heading("allows clients", True, "what memory is left, divided by that"),
        Heading("Run"),
    )
    body = [_row(context, curve) for curve in _curves(rows)]
    note = "Point at a figure to see its calculation."
    return context.report.table(caption, headings, body, [row.run for row in rows], note)


def _row(context: Context, curve: dict[str, PredictionRow]) -> tuple[Cell, ...]:
    first = next(iter(curve.values()))
    processor, network, memory = (curve.get(name) for name in _RESOURCES)
    rates = [row for row in (processor, network) if row is not None]
    met = min(rates, key=lambda each: each.limit, default=None)
    return (
        Cell((context.scenario_link(first.scenario), f": {_words(first)}"), first.scenario),
        text_cell(first.contestant),
        number_cell(rates[0].measured if rates else None),
        _limit_cell(processor),
        _limit_cell(network),
        _met_cell(met),
        Cell(numbers.size(memory.need), memory.need) if memory else Cell(numbers.NOTHING),
        _limit_cell(memory),
        context.report.run_cell(first.run),
    )


def _met_cell(row: PredictionRow | None) -> Cell:
    if row is None:
        return Cell(numbers.NOTHING)
    return Cell(f"{row.resource}, {numbers.percent(row.used_percent)}", row.used_percent)


def _limit_cell(row: PredictionRow | None) -> Cell:
    return Cell(numbers.NOTHING) if row is None else Cell(numbers.figure(row.limit), row.limit, calculation(row.text))


def _figure(context: Context, rows: Sequence[PredictionRow]) -> ReportFigure | None:
    """Return how much of each possible rate was reached. Memory is omitted: hardly any run comes near it."""
    strips: dict[tuple[str, str, str], list[PredictionRow]] = {}
    for row in rows:
        if row.resource != _MEMORY and row.contestant == context.main_contestant(row.run):
            strips.setdefault((row.run, row.contestant, row.series), []).append(row)
    drawn = list(strips.values())[:_STRIPS_MAX]
    if not drawn:
        return None
    made = [
        Strip(
            described(context.title(found[0].scenario), _words(found[0])),
            tuple((row.resource, _STYLES.get(row.resource, Style(3, 3)), _used(row)) for row in found),
        )
        for found in drawn
    ]
    top = max(dot.x for strip in made for _, _, dot in strip.dots)
    axis = Axis("% of what could be", top=_FULL_PERCENT if top <= _FULL_PERCENT else None)
    runs = [row.run for found in drawn for row in found]
    left = len(strips) - len(drawn)
    note = f"{numbers.count(left, 'curve')} more: see the table." if left else ""
    charts = side_by_side("Peak rates, of what could be", axis, made, _FULL_PERCENT)
    return context.report.figure("Peak rates of Ostler, as a part of what each resource allows", charts, runs, note)


def _used(row: PredictionRow) -> Dot:
    words = f"{numbers.percent(row.used_percent)}: {numbers.figure(row.measured)}/s of {numbers.figure(row.limit)}/s"
    return Dot(row.used_percent, 0.0, None, None, row.resource, words, basis=calculation(row.text))
