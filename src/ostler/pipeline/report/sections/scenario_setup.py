"""The setup of a scenario beside its figures: topology, workload, differences from the report, and configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ostler.lab.scenarios.model import Scenario
from ostler.pipeline.report.context import Context, text_cell
from ostler.pipeline.report.disclosures import Disclosure, Statement
from ostler.pipeline.report.html.document import (
    Block,
    Bullets,
    Code,
    Fold,
    Heading,
    Inline,
    Paragraph,
    Preformatted,
)
from ostler.pipeline.report.rows import LIMIT, PointRow, RunRow
from ostler.pipeline.report.topologies import topology_of
from ostler.pipeline.report.workload import join_words, workload_sentences

_OURS: Final = "ours"
_STAND_IN, _LEFT_OUT, _DIFFERENT = "stand-in", "left out", "different"
_OF_TODAY: Final = (
    "This run was made before runs kept what they differ in: what follows is from the catalogue of this installation, "
    "and may not be what was run."
)
_NONE_KNOWN: Final = "No differences from the scenario of the report are known, besides those of machine and product."


def source_words(context: Context, name: str, run: str) -> tuple[Inline, ...]:
    """Return the source of a scenario: the report, its section and tables, and the names of the tests there."""
    scenario = context.scenario(name)
    words: tuple[Inline, ...] = (Code(name),)
    if scenario is not None:
        words += (", a scenario of this project" if is_ours(scenario) else f", after {report_place(scenario)}",)
        tests = test_names(scenario)
        words += (f", called {join_words(tests)} there" if tests else "",)
    return (*words, ". Run ", context.report.run(run), ".")


def is_ours(scenario: Scenario) -> bool:
    """Return whether a scenario follows no report."""
    return scenario.source.sections == _OURS


def test_names(scenario: Scenario) -> tuple[str, ...]:
    return scenario.source.tests


def report_place(scenario: Scenario) -> str:
    """Return the report and the sections and tables of a scenario in it."""
    report, source = scenario.report, scenario.source
    tables = f"; {source.tables}" if source.tables else ""
    return f"{report.title} ({report.year}), section {source.sections}{tables}"


def setup_blocks(context: Context, name: str, run: str) -> list[Block]:
    """Return the setup of a run: what ran where, what it did, and how it differs from the report."""
    disclosed = context.disclosure(run)
    blocks: list[Block] = []
    if disclosed.workload is not None:
        points = context.points_of[run]
        measured = {swept: _measured(points, swept) for swept in _swept_names(disclosed)}
        drawing = topology_of(disclosed.workload, measured)
        if drawing is not None:
            caption = f"Topology of {context.title(name)}"
            note = ("Run ", context.report.run(run), ".")
            blocks.append(context.report.figure(caption, [drawing], [run], note))
        sentences = workload_sentences(disclosed.workload, measured)
        blocks += [Bullets(tuple(sentences))] if sentences else []
    blocks += _differences(context, name, context.runs[run], disclosed)
    blocks += _configuration(disclosed.configuration)
    return blocks


def _swept_names(disclosed: Disclosure) -> list[str]:
    sweeps = (disclosed.workload or {}).get("sweeps")
    return [str(each.get("name")) for each in sweeps if isinstance(each, dict)] if isinstance(sweeps, list) else []


def _measured(points: Sequence[PointRow], name: str) -> list[object]:
    """Return the measured values of a sweep, in the order of steps. Limits have steps of their own."""
    ordered = sorted((point for point in points if point.kind != LIMIT), key=lambda each: each.step)
    found = dict.fromkeys(point.parameters[name] for point in ordered if name in point.parameters)
    return [int(each) if each.isdecimal() else each for each in found]


def _differences(context: Context, name: str, run: RunRow, disclosed: Disclosure) -> list[Block]:
    scenario = context.scenario(name)
    if scenario is None:
        return []
    blocks: list[Block] = [] if disclosed.is_of_run else [Paragraph(_OF_TODAY, "doubt")]
    rows = [
        (text_cell(kind), text_cell(each.name), text_cell(each.text))
        for kind, found in (
            (_LEFT_OUT, disclosed.left_out),
            (_DIFFERENT, disclosed.deviations),
            (_STAND_IN, disclosed.stand_ins),
        )
        for each in found
    ]
    if not rows:
        return blocks if is_ours(scenario) else [*blocks, Paragraph(_NONE_KNOWN, "small")]
    headings = (
        Heading("Kind", title="left out: not run; different: run in another way; stand-in: something in its place"),
        Heading("What", is_wide=True),
        Heading("How it is here, and why", is_wide=True),
    )
    of_report = "of this project's scenario" if is_ours(scenario) else "from the report"
    caption = f"Differences {of_report}: {context.title(name)}"
    return [*blocks, context.report.table(caption, headings, rows, [run.run])]


def _configuration(configuration: Sequence[Statement]) -> list[Block]:
    if not configuration:
        return []
    inside: list[Block] = []
    for each in configuration:
        inside += [Paragraph((Code(each.name),), "small"), Preformatted(each.text)]
    return [Fold("Configuration of queue managers and peers", tuple(inside))]
