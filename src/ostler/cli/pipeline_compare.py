"""`ostler pipeline compare`: what the lake says of releases, options, products and published ratios.

Reads the table of comparisons as the last `pipeline run` made it; no Spark is needed. Ends with 0, with 1 when --check
was given and a release is worse, and with 2 when there is nothing to read.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ostler.cli import commands
from ostler.cli.pipeline_options import USAGE, add_lake_option, has_packages

if TYPE_CHECKING:
    from rich.console import Console

    from ostler.lab.running.text_table import TextTable

WORSE: Final = "worse"
RATIO: Final = "ratio"
RELEASE: Final = "release"
RATE: Final = "rate"
_WIDTH_WITHOUT_TERMINAL: Final = 200
_KINDS: Final = {
    RELEASE: "Release to release",
    "repeat": "The same again",
    "option": "Option to option",
    "product": "Product to product",
    RATIO: "Ratios of published reports beside ours",
}
_DESCRIPTION: Final = """\
Tell the comparisons of the lake: releases, options, products, and ratios inside published reports beside the same ones
of ours. Differences within 6 %, widened by the noise that was measured, are called the same. Rates at the peaks are
told, and with --all every figure at every number of clients."""

Row = Mapping[str, Any]


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers, "compare", "releases, options, products and published ratios", _DESCRIPTION, USAGE
    )
    add_lake_option(parser)
    parser.add_argument("--kind", action="append", choices=list(_KINDS), default=[], help="only comparisons of a kind")
    parser.add_argument("--scenario", action="append", default=[], metavar="ID", help="only this scenario")
    parser.add_argument("--run", action="append", default=[], dest="runs", metavar="RUN", help="only with this run")
    parser.add_argument("--all", action="store_true", dest="is_all", help="all figures, at all numbers of clients")
    parser.add_argument("--check", action="store_true", help="end with 1 when a release is worse than the one before")
    parser.add_argument("--json", action="store_true", dest="is_json", help="as one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if not has_packages(("pyarrow", "rich")):
        return 1
    from ostler.pipeline.lake import open_lake
    from ostler.pipeline.refusals import PipelineRefused
    from ostler.pipeline.tables import COMPARISON

    try:
        lake = open_lake(arguments.lake)
        if not lake.version:
            raise PipelineRefused(f"There is no lake in {arguments.lake}. Make one: ostler pipeline run RUNS")
        found = chosen(lake.read(COMPARISON).to_pylist(), arguments)
    except PipelineRefused as refused:
        print(f"ostler pipeline compare: {refused}", file=sys.stderr)
        return USAGE
    is_worse = any(row["kind"] == RELEASE and row["verdict"] == WORSE for row in found)
    if arguments.is_json:
        print(json.dumps({"version": lake.version, "comparisons": found}, indent=2))
    else:
        _show(found)
    return 1 if arguments.check and is_worse else 0


def chosen(rows: Sequence[Row], arguments: argparse.Namespace) -> list[Row]:
    """Those that were asked for, in the order of kinds."""
    order = list(_KINDS)
    kept = [
        row
        for row in rows
        if (arguments.is_all or (row["clients"] is None and row["metric"] == RATE))
        and (not arguments.kind or row["kind"] in arguments.kind)
        and (not arguments.scenario or row["scenario"] in arguments.scenario)
        and (not arguments.runs or row["left_run"] in arguments.runs or row["right_run"] in arguments.runs)
    ]
    return sorted(kept, key=lambda row: (order.index(row["kind"]), *_place(row)))


def _place(row: Row) -> tuple[str, str, str, str, int]:
    return row["subject"], row["scenario"], row["series"], row["metric"], row["clients"] or 0


def _show(rows: Sequence[Row]) -> None:
    from rich.console import Console

    from ostler.lab.running.text_table import show

    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH_WITHOUT_TERMINAL
    for kind, title in _KINDS.items():
        listed = [row for row in rows if row["kind"] == kind]
        if listed:
            console.print(title, markup=False, style="bold")
            show(_ratio_table(title, listed) if kind == RATIO else _table(title, listed), console)
            console.print()
    _foot(rows, console)


def _foot(rows: Sequence[Row], console: Console) -> None:
    judged = [row["verdict"] for row in rows if row["kind"] != RATIO or row["our_ratio"] is not None]
    if not rows:
        text = "Nothing to compare: measure a scenario again, with an option, or beside other products."
    else:
        counts = ", ".join(f"{judged.count(each)} {each}" for each in ("better", WORSE, "same", "not comparable"))
        text = f"{len(rows):,} comparisons. Where ours are there: {counts}."
    console.print(text, markup=False, soft_wrap=True)


def _table(title: str, rows: Sequence[Row]) -> TextTable:
    from ostler.lab.running.figure_text import figure, percent
    from ostler.lab.running.text_table import Column, TextTable

    columns = (
        Column("what", right=False, group=True, least=20),
        Column("scenario", right=False, group=True),
        Column("series", right=False, keep=3, least=16),
        Column("clients"),
        Column("figure", right=False, least=12),
        Column("first", keep=4),
        Column("second", keep=4),
        Column("change"),
        Column("95 % interval", keep=2),
        Column("tolerance", keep=1),
        Column("verdict", right=False),
    )
    cells = tuple(
        (
            row["subject"],
            row["scenario"],
            row["series"],
            "peak" if row["clients"] is None else str(row["clients"]),
            row["metric"],
            figure(row["left_value"]),
            figure(row["right_value"]),
            percent(row["change_percent"], signed=True),
            _interval(row),
            percent(row["tolerance_percent"]),
            row["verdict"],
        )
        for row in rows
    )
    return TextTable(title, columns, cells)


def _interval(row: Row) -> str:
    from ostler.lab.running.figure_text import percent

    if row["low_percent"] is None or row["high_percent"] is None:
        return ""
    return f"{percent(row['low_percent'], signed=True)} to {percent(row['high_percent'], signed=True)}"


def _ratio_table(title: str, rows: Sequence[Row]) -> TextTable:
    from ostler.lab.running.text_table import Column, TextTable

    columns = (
        Column("what", right=False, group=True, least=20),
        Column("scenario", right=False, group=True),
        Column("series", right=False, least=16),
        Column("published"),
        Column("ours"),
        Column("verdict", right=False),
        Column("source", right=False, keep=1, least=24),
    )
    cells = tuple(
        (
            row["subject"],
            row["scenario"],
            row["series"],
            _ratio(row["published_ratio"]),
            _ratio(row["our_ratio"]),
            row["verdict"] if row["our_ratio"] is not None else "",
            row["published_source"] or "",
        )
        for row in rows
    )
    return TextTable(title, columns, cells)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
