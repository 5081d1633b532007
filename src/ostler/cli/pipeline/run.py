"""`ostler pipeline run`: ingests new runs into the lake, and builds all tables.

Exit statuses: 0 when everything was ingested, 1 when runs were refused or rows quarantined, 2 on failure, which leaves
the tables unchanged.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.lab.runs import RUNS
from ostler.cli.pipeline.options import USAGE, add_lake_option, add_spark_options, require_packages, spark_opener
from ostler.cli.pipeline.table_progress import TableProgress
from ostler.pipeline.errors import count_text

if TYPE_CHECKING:
    from ostler.pipeline.run import PipelineOutcome

_DESCRIPTION: Final = """\
Ingest runs of the laboratory into the lake and build all tables of a report. Only runs that are new or have changed are
read; rows that break a rule are quarantined with the reason, all others are ingested. Tables change all at once at the
end."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(subparsers, "run", "ingest new runs, and build all tables", _DESCRIPTION, USAGE)
    parser.add_argument("places", nargs="*", type=Path, metavar="RUNS", help=f"runs, or directories of runs ({RUNS})")
    add_lake_option(parser)
    add_spark_options(parser)
    parser.add_argument("--rebuild", action="store_true", help="read known runs again, and rebuild everything")
    parser.add_argument("--json", action="store_true", dest="is_json", help="a JSON object at the end")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    require_packages(("pyspark", "pyarrow"))
    from ostler.pipeline.errors import PipelineError
    from ostler.pipeline.run import run_pipeline

    try:
        with TableProgress(sys.stderr if arguments.is_json else sys.stdout) as view:
            outcome = run_pipeline(
                spark_opener(arguments),
                arguments.lake,
                arguments.places or [RUNS],
                arguments.rebuild,
                report=view.say,
                progress=view.advance,
            )
    except PipelineError as refused:
        print(f"ostler pipeline run: {refused}", file=sys.stderr)
        return USAGE
    for each in outcome.refused:
        print(f"Not taken: {each.why}", file=sys.stderr)
    if outcome.rejected:
        advice = f"ostler pipeline validate --lake {arguments.lake} lists each of them"
        breaks = "breaks" if outcome.rejected == 1 else "break"
        rows = count_text(outcome.rejected, "row")
        print(f"Set aside: {rows} that {breaks} a rule; {advice}.", file=sys.stderr)
    print(json.dumps(_as_json(outcome), indent=2) if arguments.is_json else _summary(outcome, arguments.lake))
    return 1 if outcome.refused or outcome.rejected else 0


def _summary(outcome: PipelineOutcome, lake: Path) -> str:
    known = len(outcome.known)
    if not outcome.is_changed:
        has = f"the {count_text(known, 'run')}" if known == 1 else f"all {count_text(known, 'run')}"
        return f"Nothing is new: {lake} has {has} that can be taken." if known else "There are no runs to be taken."
    others = f", {known:,} {'was' if known == 1 else 'were'} there" if known else ""
    taken = count_text(len(outcome.taken), "run")
    return f"Taken: {taken}{others}. The tables are in {lake}, version {outcome.snapshot.version}."


def _as_json(outcome: PipelineOutcome) -> dict[str, object]:
    from ostler.pipeline.lake.tables import TABLES

    return {
        "version": outcome.snapshot.version,
        "changed": outcome.is_changed,
        "taken": list(outcome.taken),
        "known": list(outcome.known),
        "refused": [{"directory": str(each.directory), "why": each.why} for each in outcome.refused],
        "rejected_rows": outcome.rejected,
        "rows": {name: outcome.snapshot.rows(table) for name, table in TABLES.items()},
    }
