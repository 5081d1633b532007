"""`ostler pipeline compare`: what the lake says of releases, options, products and published ratios.

Reads the table of comparisons as the last `pipeline run` made it; no Spark is needed. Ends with 0, and with 2 when
there is nothing to read. With --check it ends with 1 when a release is worse, and with 3 when none was compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ostler.cli.framework import commands
from ostler.cli.pipeline.options import USAGE, add_lake_option, need_packages
from ostler.cli.pipeline.statuses import DONE, FOUND, NOTHING_TO_COMPARE
from ostler.pipeline.errors import count_text

WORSE: Final = "worse"
NOT_COMPARABLE: Final = "not comparable"
RATIO: Final = "ratio"
RELEASE: Final = "release"
REPEAT: Final = "repeat"
RATE: Final = "rate"
KINDS: Final = {
    RELEASE: "Release to release",
    REPEAT: "The same again",
    "option": "Option to option",
    "product": "Product to product",
    RATIO: "Ratios of published reports beside ours",
}
_AGAIN: Final = ", the same again"
_DESCRIPTION: Final = """\
Tell the comparisons of the lake: releases, options, products, and ratios inside published reports beside the same ones
of ours. Differences within 6 %, widened by the noise that was measured, are called the same. Rates at the peaks are
told, of releases the latest run of each scenario with the one before it; what else there is, is counted at the end."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """What is told, and how much of what was asked for is not, by the option that shows it."""

    rows: tuple[Row, ...]
    left_out: Mapping[str, int]


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers, "compare", "releases, options, products and published ratios", _DESCRIPTION, USAGE
    )
    add_lake_option(parser)
    parser.add_argument("--kind", action="append", choices=list(KINDS), default=[], help="only comparisons of a kind")
    parser.add_argument("--scenario", action="append", default=[], metavar="ID", help="only this scenario")
    parser.add_argument("--run", action="append", default=[], dest="runs", metavar="RUN", help="only with this run")
    parser.add_argument("--all", action="store_true", dest="is_all", help="all figures, at all numbers of clients")
    parser.add_argument("--history", action="store_true", help="earlier runs and releases as well")
    parser.add_argument("--published", action="store_true", help="published ratios without one of ours as well")
    parser.add_argument(
        "--check", action="store_true", help="end with 1 when a release is worse than the one before, 3 without any"
    )
    parser.add_argument("--json", action="store_true", dest="is_json", help="as one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    need_packages(("pyarrow", "rich"))
    from ostler.pipeline.errors import PipelineError
    from ostler.pipeline.lake.lake import open_lake
    from ostler.pipeline.lake.tables import COMPARISON, RUN
    from ostler.pipeline.report.reading import check_names

    try:
        lake = open_lake(arguments.lake)
        if not lake.version:
            raise PipelineError(f"There is no lake in {arguments.lake}. Make one: ostler pipeline run RUNS")
        rows = lake.read(COMPARISON).to_pylist()
        listed = lake.read(RUN, ["run", "scenario"]).to_pylist()
        check_names("scenario", arguments.scenario, tuple(row["scenario"] for row in [*listed, *rows]))
        named = [row[side] for row in rows for side in ("left_run", "right_run")]
        check_names("run", arguments.runs, (*(row["run"] for row in listed), *named))
        found = chosen(rows, arguments)
    except PipelineError as refused:
        print(f"ostler pipeline compare: {refused}", file=sys.stderr)
        return USAGE
    releases = [row for row in found.rows if row["kind"] == RELEASE and row["verdict"] != NOT_COMPARABLE]
    worse = [row for row in releases if row["verdict"] == WORSE]
    if arguments.is_json:
        told = {"version": lake.version, "releases": len(releases), "worse_releases": len(worse)}
        print(json.dumps(told | {"left_out": dict(found.left_out), "comparisons": found.rows}, indent=2))
    else:
        from ostler.cli.pipeline.compare_view import show_comparisons

        show_comparisons(found)
    return _checked(len(releases), len(worse)) if arguments.check else DONE


def chosen(rows: Sequence[Row], arguments: argparse.Namespace) -> Choice:
    """Those that were asked for, in the order of kinds."""
    order = list(KINDS)
    asked = [
        row
        for row in rows
        if (not arguments.kind or row["kind"] in arguments.kind)
        and (not arguments.scenario or row["scenario"] in arguments.scenario)
        and (not arguments.runs or row["left_run"] in arguments.runs or row["right_run"] in arguments.runs)
    ]
    # Whoever names runs has said which of them.
    earlier = set() if arguments.history or arguments.runs else _followed(rows)
    kept: list[Row] = []
    left_out = {"--published": 0, "--history": 0, "--all": 0}
    for row in asked:
        option = _wanted_option(row, arguments, earlier)
        if option:
            left_out[option] += 1
        else:
            kept.append(row)
    kept.sort(key=lambda row: (order.index(row["kind"]), *_place(row)))
    return Choice(tuple(kept), left_out)


def _wanted_option(row: Row, arguments: argparse.Namespace, earlier: set[tuple[str, ...]]) -> str:
    """The option that must be given to see a comparison, or nothing."""
    if row["kind"] == RATIO and row["our_ratio"] is None:
        return "" if arguments.published else "--published"
    if row["kind"] in (RELEASE, REPEAT) and (row["right_run"], *_line(row)) in earlier:
        return "--history"
    if row["clients"] is None and row["metric"] == RATE:
        return ""
    return "" if arguments.is_all else "--all"


def _followed(rows: Sequence[Row]) -> set[tuple[str, ...]]:
    """Runs that later ones were held against, each with what was compared."""
    return {(row["left_run"], *_line(row)) for row in rows if row["kind"] in (RELEASE, REPEAT)}


def _line(row: Row) -> tuple[str, ...]:
    """What the runs of one contestant, one after another, have in common."""
    name = row["subject"].removesuffix(_AGAIN) if row["kind"] == REPEAT else row["subject"].partition(": ")[0]
    return name, row["scenario"], row["series"], row["metric"], str(row["clients"])


def _place(row: Row) -> tuple[str, str, str, str, int, str]:
    return row["subject"], row["scenario"], row["series"], row["metric"], row["clients"] or 0, row["right_run"]


def _checked(releases: int, worse: int) -> int:
    """Says what was checked: an end in silence would look the same with nothing to check."""
    if not releases:
        text = "No release was compared, so nothing was checked. Measure the same scenario with two releases."
    elif worse:
        text = f"Of {count_text(releases, 'comparison')} of releases {worse} {'is' if worse == 1 else 'are'} worse."
    else:
        text = f"Of {count_text(releases, 'comparison')} of releases none is worse."
    print(f"Check: {text}", file=sys.stderr)
    if not releases:
        return NOTHING_TO_COMPARE
    return FOUND if worse else DONE
