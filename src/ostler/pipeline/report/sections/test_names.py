"""The names of tests as in IBM's documents: where each of them is in this report, and what is not measured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Scenario
from ostler.pipeline.report import numbers
from ostler.pipeline.report.context import Context, text_cell, whole_cell
from ostler.pipeline.report.html.document import Block, Cell, Fold, Heading, Paragraph, Section
from ostler.pipeline.report.sections.scenario_setup import is_ours

_NOT_MEASURED: Final = "not measured in this report"


def tests_section(context: Context) -> Section:
    """Return the list of the published tests: those of this report, and all others folded."""
    scenarios = [each for each in catalogue().scenarios.values() if each.is_measured and not is_ours(each)]
    here = [each for each in scenarios if each.id in context.speaking]
    others = [each for each in scenarios if each.id not in context.speaking]
    text = (
        "Tests of published reports by their names there, with sections, tables and figures. A dash: the report has "
        "no name for it."
    )
    blocks: list[Block] = [Paragraph(text)]
    if here:
        runs = [context.speaking[each.id] for each in here]
        blocks.append(_table(context, "Published tests in this report", here, runs))
    if others:
        title = f"Published tests that are not in this report ({len(others)})"
        table = _table(context, "Published tests that are not in this report", others, ())
        blocks.append(Fold(title, (table,), is_printed=False))
    return Section("tests", "Names of tests", tuple(blocks))


def _table(context: Context, caption: str, scenarios: Iterable[Scenario], runs: Iterable[str]) -> Block:
    headings = (
        Heading("Test", title="the name in the report"),
        Heading("Report"),
        Heading("Section", is_wide=True),
        Heading("Tables and figures", is_wide=True),
        Heading("Printed", True, "figures that are printed"),
        Heading("Scenario"),
        Heading("Run or state", is_wide=True),
    )
    return context.report.table(caption, headings, [_row(context, each) for each in scenarios], runs)


def _row(context: Context, scenario: Scenario) -> tuple[Cell, ...]:
    source, report = scenario.source, scenario.report
    name = ", ".join(source.tests) or numbers.NOTHING
    return (
        text_cell(name),
        Cell(report.name, report.year, f"{report.title} ({report.year})"),
        text_cell(source.sections),
        text_cell(source.tables or numbers.NOTHING),
        whole_cell(source.figures),
        context.scenario_cell(scenario.id),
        _state(context, scenario),
    )


def _state(context: Context, scenario: Scenario) -> Cell:
    run = context.speaking.get(scenario.id)
    if run is not None:
        return context.report.run_cell(run)
    readiness = catalogue().readiness(scenario)
    if readiness.can_run:
        return text_cell(_NOT_MEASURED)
    return text_cell(f"cannot run yet: needs {', '.join(readiness.needs())}")
