"""Appendices: environment and configuration, runs, contestants, data quality and noise, reproducing, glossary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.curves import middle
from ostler.pipeline.report.context import Context, moment, percent_cell, text_cell, whole_cell
from ostler.pipeline.report.disclosures import environment_of
from ostler.pipeline.report.html.document import (
    Anchor,
    Block,
    Cell,
    Code,
    Heading,
    Hyperlink,
    Inline,
    Paragraph,
    ReportTable,
    Section,
    TermList,
    Text,
)
from ostler.pipeline.report.rows import OSTLER, RunRow
from ostler.pipeline.report.sections.glossary import FLAGS
from ostler.pipeline.report.sections.storage import force_words

_SHOWN_PARAMETERS: Final = 24
_COMMANDS: Final = "Commands"


def environment_section(context: Context) -> Section:
    runs = Section("runs", "Runs", tuple(_run(context, run) for run in _ordered(context)))
    text = "Where the figures come from. Broker, load drivers and peers ran on the same machine, over loopback."
    machines = Section("machine", "Machine and versions", (Paragraph(text), _machine_table(context)))
    contestants = Section("contestants", "Contestants", _contestants(context))
    return Section("environment", "Configuration and environment", (), (machines, contestants, runs))


def _ordered(context: Context) -> list[RunRow]:
    return sorted(context.tables.runs, key=lambda each: (each.began, each.run))


def _facts(run: RunRow) -> dict[str, str]:
    """Return the environment of a run, flattened to one level of names."""
    environment = environment_of(run)
    found = {"machine": run.machine, "kernel": run.kernel, "disk": run.disk, **_hardware(run)}
    versions, limits = _under(environment, "versions"), _under(environment, "limits")
    found |= {f"version of {name}": str(value) for name, value in sorted(versions.items()) if name != "ostler"}
    found |= {f"limit of {name}": str(value) for name, value in sorted(limits.items())}
    changed = "+" if run.revision.endswith("+") else ""
    found["Ostler"] = f"{run.version} ({run.revision[:12]}{changed})" if run.revision else run.version
    found["code"] = "compiled" if run.compiled else "interpreted: rates are lower than those of a compiled installation"
    return found


def _hardware(run: RunRow) -> dict[str, str]:
    """Return disk, clock and governors, where the run kept them."""
    environment = environment_of(run)
    disk, processors = _under(environment, "disk"), _under(environment, "processors")
    found = {
        "mount options": str(disk.get("options", "")),
        "disk scheduler": str(disk.get("scheduler", "")),
        "disk write cache": str(disk.get("write_cache", "")),
        "clock": str(processors.get("clock_source", "")),
    }
    if "rotates" in disk:
        found["kind of disk"] = "rotating, as the kernel says" if disk["rotates"] is True else "solid state"
    governors = processors.get("governors")
    if isinstance(governors, list):
        found["processor governor"] = ", ".join(str(each) for each in governors) or "unknown to the system"
    return {name: value for name, value in found.items() if value}


def _under(environment: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = environment.get(name)
    return found if isinstance(found, dict) else {}


def _machine_table(context: Context) -> Block:
    """Return one row for each fact; where runs differ in it, one for each value with its runs."""
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for run in _ordered(context):
        for name, value in _facts(run).items():
            values[name][value].append(run.run)
    rows = [
        (
            text_cell(name),
            text_cell(value),
            Cell("all" if len(runs) == len(context.runs) else context.report.runs(runs)),
        )
        for name, by_value in values.items()
        for value, runs in by_value.items()
    ]
    headings = (Heading("What"), Heading("Value"), Heading("Runs"))
    return context.report.table("Machine and versions", headings, rows, context.runs)


def _contestants(context: Context) -> tuple[Block, ...]:
    promises: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for row in context.tables.contestants:
        own = context.runs[row.run].version if row.kind == OSTLER and row.run in context.runs else ""
        promises[row.contestant, row.kind, row.promise, row.version or own].append(row.run)
    rows = [
        (
            text_cell(name),
            text_cell(kind),
            text_cell(promise),
            text_cell(version or numbers.NOTHING),
            Cell(context.report.runs(runs)),
        )
        for (name, kind, promise, version), runs in sorted(
            promises.items(), key=lambda each: (each[0][1] != "ostler", each[0])
        )
    ]
    headings = (
        Heading("Contestant"),
        Heading("Kind"),
        Heading("What an acknowledgement promises", is_wide=True),
        Heading("Version"),
        Heading("Runs"),
    )
    text = "Compare like with like: a broker that answers before anything is on storage does less work."
    return (Paragraph(text), context.report.table("Contestants", headings, rows, context.runs))


def _run(context: Context, run: RunRow) -> Block:
    name = context.report.run_names[run.run]
    known = [(key.removeprefix("is_"), value) for key, value in sorted(run.parameters.items()) if value]
    parameters = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in known[:_SHOWN_PARAMETERS])
    items: list[tuple[Text, Text]] = [
        (name, (Code(run.run),)),
        (
            "scenario",
            (
                replace(context.scenario_link(run.scenario), text=context.title(run.scenario)),
                " (",
                Code(run.scenario),
                ")",
            ),
        ),
        ("when", f"{moment(run.began)} to {moment(run.ended)}, {run.condition}"),
        ("command", (Code(run.command),)),
        ("settings", parameters or numbers.NOTHING),
        ("noise", numbers.percent(run.noise_percent)),
    ]
    forces = force_words(run)
    if forces:
        items.append(("a write and force", f"{forces}, on the bare disk before the run"))
    if run.flags:
        items.append(("flags", "; ".join(run.flags)))
    return Anchor(f"run-{name}", TermList(tuple(items)))


# -- data quality and noise --------------------------------------------------------------------------------------------


def quality_section(context: Context) -> Section:
    text = (
        "Rows that violate a rule are quarantined with the reason, and counted here; nothing is dropped silently. "
        "Noise is how much the same work differed within a run; steal is processor time that the hypervisor gave to "
        "others."
    )
    inner = (Section("quality-noise", "Noise", (_noise_table(context), *_flags(context))), _rejected(context))
    return Section("quality", "Data quality and noise", (Paragraph(text),), inner)


def _noise_table(context: Context) -> Block:
    headings = (
        Heading("Run"),
        Heading("Scenario"),
        Heading("Condition"),
        Heading("Noise", True, "how much the same work differed within the run"),
        Heading("Steal, median", True, "of all cores, over the points of the run"),
        Heading("Steal, worst", True),
        Heading("Points", True),
        Heading("Flagged", True, "points whose figures are doubtful"),
        Heading("Failed", True, "operations that ended with an error"),
        Heading("Late", True, "operations begun later than they were due"),
    )
    rows = []
    for run in _ordered(context):
        points = context.points_of.get(run.run, [])
        steals = [point.steal_percent for point in points if point.steal_percent is not None]
        rows.append(
            (
                context.report.run_cell(run.run),
                context.scenario_cell(run.scenario),
                text_cell(run.condition),
                percent_cell(run.noise_percent),
                percent_cell(middle(points, lambda point: point.steal_percent)),
                percent_cell(max(steals, default=None)),
                whole_cell(len(points)),
                whole_cell(sum(1 for point in points if point.flags)),
                whole_cell(sum(point.failed for point in points)),
                whole_cell(sum(point.late for point in points)),
            )
        )
    return context.report.table("Noise and doubts by run", headings, rows, context.runs)


def _flags(context: Context) -> tuple[Block, ...]:
    counts = Counter(flag for point in context.tables.points if point.is_main for flag in set(point.flags))
    if not counts:
        return ()
    runs: dict[str, list[str]] = defaultdict(list)
    for point in context.tables.points:
        for flag in point.flags:
            runs[flag].append(point.run)
    headings = (Heading("Flag"), Heading("Meaning", is_wide=True), Heading("Points", True), Heading("Runs"))
    rows = [
        (
            text_cell(flag),
            text_cell(FLAGS.get(flag, numbers.NOTHING)),
            whole_cell(number),
            Cell(context.report.runs(runs[flag])),
        )
        for flag, number in counts.most_common()
    ]
    return (
        context.report.table(
            "Why points are doubtful", headings, rows, [run for each in runs.values() for run in each]
        ),
    )


def _rejected(context: Context) -> Section:
    if not context.tables.rejected:
        return Section("quality-rejected", "Quarantined rows", (Paragraph("None: all rows obey all rules."),))
    counts: dict[tuple[str, str, str, str], int] = Counter()
    for row in context.tables.rejected:
        counts[row.table, row.rule, row.reason, row.run] += row.rows
    headings = (
        Heading("Table"),
        Heading("Rule"),
        Heading("Reason", is_wide=True),
        Heading("Rows", True),
        Heading("Run"),
    )
    rows = [
        (text_cell(table), text_cell(rule), text_cell(reason), whole_cell(number), context.report.run_cell(run))
        for (table, rule, reason, run), number in sorted(counts.items(), key=lambda each: -each[1])
    ]
    text: Text = (Code("ostler pipeline validate"), " explains each of them with its row.")
    table = context.report.table(
        "Quarantined rows", headings, rows, [row.run for row in context.tables.rejected if row.run]
    )
    return Section("quality-rejected", "Quarantined rows", (Paragraph(text), table))


# -- reproducing -------------------------------------------------------------------------------------------------------


def reproduce_section(context: Context, page_only: Collection[str] = ()) -> Section:
    """Return the section on reproduction. It must be made last: it lists all numbered tables and figures. `page_only`
    has those that are not on paper."""
    text: Text = (
        "Each command below runs one scenario again; ",
        Code("ostler pipeline run"),
        " then takes the run into the tables, and ",
        Code("ostler pipeline report"),
        " makes this report from them.",
    )
    commands = [
        (
            context.report.run_cell(run.run),
            context.scenario_cell(run.scenario),
            Cell((Code(run.command),)),
            Cell(numbers.span(_seconds(run)), _seconds(run)),
        )
        for run in _ordered(context)
    ]
    command_headings = (Heading("Run"), Heading("Scenario"), Heading("Command", is_wide=True), Heading("Took", True))
    table = context.report.table(_COMMANDS, command_headings, commands, context.runs)
    commands_anchor = table.anchor if isinstance(table, ReportTable) else "reproduce"
    traces = [
        (
            Cell((Hyperlink(trace.name, trace.anchor),)),
            text_cell(f"{trace.caption} (on the page only)" if trace.anchor in page_only else trace.caption),
            Cell(_traced(context, trace.runs)),
            _commands_cell(context, trace.runs, commands_anchor),
        )
        for trace in context.report.traces
        if trace.caption != _COMMANDS
    ]
    headings = (Heading("Figure or table"), Heading("What it shows"), Heading("Runs"), Heading("Command", is_wide=True))
    return Section(
        "reproduce",
        "How to reproduce each figure",
        (Paragraph(text), table, context.report.table("Where each figure comes from", headings, traces)),
    )


def _seconds(run: RunRow) -> float | None:
    return None if run.ended is None else (run.ended - run.began).total_seconds()


def _commands_cell(context: Context, runs: Sequence[str], anchor: str) -> Cell:
    """Return the command itself where there is one; else a link to the commands."""
    commands = sorted({context.runs[run].command for run in runs if run in context.runs})
    if not commands:
        return Cell("none: published figures")
    if len(commands) == 1:
        return Cell((Code(commands[0]),), commands[0])
    return Cell((f"{len(commands)} commands: ", Hyperlink("those of its runs", anchor)), f"{len(commands)} commands")


def _traced(context: Context, runs: tuple[str, ...]) -> tuple[Inline, ...]:
    if len(runs) == len(context.runs) and len(runs) > 1:
        return ("all runs",)
    return context.report.runs(runs)
