"""`ostler pipeline compare`: shows comparisons of releases, options, products and published ratios.

Reads the comparison table of the last `pipeline run`; needs no Spark. Exit statuses: 0, or 2 if there is nothing to
read. With --check 1 if a release is worse, and 3 if none was compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.pipeline.comparisons import KINDS, NOT_COMPARABLE, RELEASE, WORSE, select_comparisons
from ostler.cli.pipeline.options import USAGE, add_lake_option, require_packages
from ostler.cli.pipeline.statuses import DONE, FOUND, NOTHING_TO_COMPARE
from ostler.pipeline.errors import count_text

_DESCRIPTION: Final = """\
Show the comparisons of the lake: releases, options, products, and ratios inside published reports beside the same ones
of ours. Differences within 6 %, widened by the noise that was measured, are called the same. Rates at the peaks are
shown, of releases the latest run of each scenario with the one before it; others are counted at the end."""


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
    require_packages(("pyarrow", "rich"))
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
        found = select_comparisons(rows, arguments)
    except PipelineError as refused:
        print(f"ostler pipeline compare: {refused}", file=sys.stderr)
        return USAGE
    releases = [row for row in found.rows if row["kind"] == RELEASE and row["verdict"] != NOT_COMPARABLE]
    worse = [row for row in releases if row["verdict"] == WORSE]
    if arguments.is_json:
        summary = {"version": lake.version, "releases": len(releases), "worse_releases": len(worse)}
        print(json.dumps(summary | {"left_out": dict(found.left_out), "comparisons": found.rows}, indent=2))
    else:
        from ostler.cli.pipeline.compare_view import show_comparisons

        show_comparisons(found)
    return _check_status(len(releases), len(worse)) if arguments.check else DONE


def _check_status(releases: int, worse: int) -> int:
    """Prints what was checked and returns the exit status; silence would not show whether anything was checked."""
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
