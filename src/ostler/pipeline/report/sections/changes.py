"""Changes since the run before: percentages by topology for the first page, and what changed in each scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.curves import series_words
from ostler.pipeline.report.context import Context, text_cell, whole_cell
from ostler.pipeline.report.html.document import (
    Block,
    Bullets,
    Cell,
    Heading,
    Hyperlink,
    Mark,
    Paragraph,
    Section,
    Text,
)
from ostler.pipeline.report.rows import ComparisonRow, RunRow

_RELEASE, _REPEAT = "release", "repeat"
_RATE: Final = "rate"
_BETWEEN: Final = ": "
_ROWS_MAX: Final = 16
_TOPOLOGIES: Final = {
    "local": "Local",
    "client": "Clients",
    "distributed": "Distributed queuing",
    "cluster": "Clusters",
    "shared-queue": "Shared queues",
    "publish-subscribe": "Publish/subscribe",
    "publish-subscribe-cluster": "Publish/subscribe clusters",
    "high-availability": "High availability",
    "disaster-recovery": "Disaster recovery",
    "bridge": "Bridges",
}
_OTHER: Final = "Other"
_VERDICTS: Final = ("better", "worse", "same")
# Settings that name the run itself.
_OWN_SETTINGS: Final = frozenset({"output", "scratch"})


def topology_words(context: Context, scenario: str) -> str:
    """Return the topology of a scenario as the reports name it."""
    found = context.scenario(scenario)
    return _TOPOLOGIES.get(found.topology[0].value, _OTHER) if found is not None and found.topology else _OTHER


def release_highlights(context: Context) -> list[Block]:
    """Return the changes of Ostler's rates against the release before, by topology, with that one's figure in
    parentheses; nothing where no release was measured before."""
    rows = _at_peak_clients(context, [row for row in _rates(context) if row.kind == _RELEASE])
    if not rows:
        return []
    topologies = list(_TOPOLOGIES.values())
    runs_shown = list(context.speaking.values())
    rows.sort(
        key=lambda each: (
            topologies.index(words)
            if (words := topology_words(context, each.scenario)) in topologies
            else len(topologies),
            runs_shown.index(each.right_run),
            each.series,
        )
    )
    headings = (
        Heading("Topology"),
        Heading("Scenario"),
        Heading("Curve", is_wide=True),
        Heading("Clients", True, "the same number in both releases"),
        Heading("Rate, 1/s (before)", True, "in parentheses, that of the release before"),
        Heading("Change", True),
        Heading("Verdict"),
        Heading("Runs"),
    )
    body = [_release_row(context, row) for row in rows[:_ROWS_MAX]]
    runs = [run for row in rows[:_ROWS_MAX] for run in (row.left_run, row.right_run)]
    names = sorted({f"{row.right_name} after {row.left_name}" for row in rows})
    left = len(rows) - len(body)
    more = f" {numbers.count(left, 'curve')} more: see " if left else " See "
    note: Text = (f"{'; '.join(names)}.{more}", Hyperlink("comparisons", "comparisons"), ".")
    return [context.report.table("Changes since the release before, by topology", headings, body, runs, note)]


def _rates(context: Context) -> list[ComparisonRow]:
    """Return the comparisons of rates with earlier runs, of the runs that are shown."""
    shown = set(context.speaking.values())
    return [
        row
        for row in context.tables.comparisons
        if row.kind in (_RELEASE, _REPEAT) and row.metric == _RATE and row.right_run in shown
    ]


def _at_peak_clients(context: Context, rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Return one row for each curve: at the number of clients of its newer peak, else the peaks themselves."""
    peaks = {(peak.run, peak.contestant, peak.series): peak.peak_clients for peak in context.tables.peaks}
    found: dict[tuple[str, str, str], ComparisonRow] = {}
    for row in sorted(rows, key=lambda each: each.clients is not None):
        key = (row.right_run, row.subject, row.series)
        clients = peaks.get((row.right_run, _contestant(row), row.series))
        if row.clients is None or row.clients == clients:
            found[key] = row
    return list(found.values())


def _contestant(row: ComparisonRow) -> str:
    return row.subject.partition(_BETWEEN)[0]


def _release_row(context: Context, row: ComparisonRow) -> tuple[Cell, ...]:
    curve = ", ".join(each for each in (_contestant(row), series_words(row.series)) if each)
    both = f"{numbers.figure(row.right_value)} ({numbers.figure(row.left_value)})"
    return (
        text_cell(topology_words(context, row.scenario)),
        context.scenario_cell(row.scenario),
        text_cell(curve),
        whole_cell(row.clients),
        Cell(both, row.right_value),
        Cell(numbers.percent(row.change_percent, signed=True), row.change_percent),
        Cell((Mark(row.verdict, row.verdict if row.verdict in _VERDICTS else "doubtful"),), row.verdict),
        Cell(context.report.runs((row.left_run, row.right_run))),
    )


# -- what changed ------------------------------------------------------------------------------------------------------


def changes_section(context: Context) -> Section:
    """Return the summary of changes: each scenario that was measured before, with all that differs between the two
    runs."""
    items = [item for name, run in context.speaking.items() if (item := _change(context, name, context.runs[run]))]
    text = (
        "Each scenario that was measured before, with the run before it on the same machine: what differs between the "
        "two runs, and what became of the rates. A change within the tolerance is called the same."
    )
    none = "No scenario of this report was measured before, so there is no change to report."
    blocks: tuple[Block, ...] = (Paragraph(text), Bullets(tuple(items))) if items else (Paragraph(none),)
    return Section("changes", "Summary of changes", blocks)


def _change(context: Context, name: str, run: RunRow) -> Text | None:
    before = max(
        (each for each in context.tables.runs if each.scenario == name and each.began < run.began
         and context.points_of.get(each.run)),
        key=lambda each: each.began,
        default=None,
    )  # fmt: skip
    if before is None:
        return None
    verdicts = Counter(
        row.verdict
        for row in _rates(context)
        if row.clients is None and (row.right_run, row.left_run) == (run.run, before.run)
    )
    counts = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common())
    rates = f"rates at the peak: {counts}" if counts else "the rates of the two are not comparable"
    return (
        context.scenario_link(name),
        ": ",
        context.report.run(run.run),
        " after ",
        context.report.run(before.run),
        f"; {_differences(before, run)}; {rates}.",
    )


def _differences(before: RunRow, run: RunRow) -> str:
    """Return what differs between two runs, in words."""
    found = [
        f"{word} {_short(old)} → {_short(new)}"
        for word, old, new in (
            ("version", before.version, run.version),
            ("revision", before.revision, run.revision),
            ("code", _flavour(before), _flavour(run)),
            ("machine", before.machine, run.machine),
            ("kernel", before.kernel, run.kernel),
            ("disk", before.disk, run.disk),
        )
        if old != new
    ]
    names = sorted((set(before.parameters) | set(run.parameters)) - _OWN_SETTINGS)
    found += [
        f"{name.removeprefix('is_').replace('_', ' ')} {_short(old)} → {_short(new)}"
        for name in names
        if (old := before.parameters.get(name, "")) != (new := run.parameters.get(name, ""))
    ]
    return ", ".join(found) or "nothing differs but the time"


def _flavour(run: RunRow) -> str:
    return "compiled" if run.compiled else "interpreted"


def _short(text: str) -> str:
    """Return a value for a sentence: revisions in ten digits."""
    mark = "+" if text.endswith("+") else ""
    bare = text.rstrip("+")
    is_revision = len(bare) == 40 and all(each in "0123456789abcdef" for each in bare)
    return f"{bare[:10]}{mark}" if is_revision else text or "none"
