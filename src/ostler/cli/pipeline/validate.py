"""`ostler pipeline validate`: lists the rows that break rules of data quality, with reasons.

Exit statuses: 0 when all rules are kept, 1 when not, 2 on failure.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.pipeline.options import USAGE, add_lake_option, add_spark_options, require_packages, spark_opener
from ostler.pipeline.errors import count_text

if TYPE_CHECKING:
    from ostler.pipeline.lake.validation import Validation

_LIMIT: Final = 100
_DESCRIPTION: Final = """\
Check runs against all rules of data quality, and list each violation with its run and row; nothing is changed. Without
RUNS, list the rows that were quarantined when runs were ingested into the lake. --rules lists the rules."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(subparsers, "validate", "list rows that break rules", _DESCRIPTION, USAGE)
    parser.add_argument("places", nargs="*", type=Path, metavar="RUNS", help="runs, or directories of runs")
    add_lake_option(parser)
    add_spark_options(parser)
    parser.add_argument(
        "--limit", type=_limit, default=_LIMIT, metavar="N", help="list at most so many one by one (%(default)s)"
    )
    parser.add_argument("--rules", action="store_true", help="list all rules")
    parser.add_argument("--json", action="store_true", dest="is_json", help="as one JSON object")
    parser.set_defaults(run=run)


def _limit(text: str) -> int:
    if not text.isdecimal() or int(text) > 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 1,000,000")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    if arguments.rules:
        _show_rules(arguments.is_json)
        return 0
    require_packages(("pyspark", "pyarrow") if arguments.places else ("pyarrow",))
    from ostler.pipeline.errors import PipelineError
    from ostler.pipeline.lake.lake import open_lake
    from ostler.pipeline.lake.validation import validate_runs, violations_in

    try:
        if arguments.places:
            found = validate_runs(spark_opener(arguments), arguments.places, arguments.limit)
        else:
            lake = open_lake(arguments.lake)
            if not lake.version:
                raise PipelineError(f"There is no lake in {arguments.lake}. Name one, or runs to be checked.")
            found = violations_in(lake, arguments.limit)
    except PipelineError as refused:
        print(f"ostler pipeline validate: {refused}", file=sys.stderr)
        return USAGE
    if arguments.is_json:
        print(json.dumps(_as_json(found), indent=2))
    else:
        _show(found)
    return 0 if found.is_sound and not found.rows else 1


def _show(found: Validation) -> None:
    for refusal in found.refused:
        print(f"Unreadable: {refusal.why}")
    for each in found.violations:
        location = f"{each.run}, {each.table}" if each.run else each.table
        print(f"{location}: {each.reason} [{each.rule}]: {json.dumps(dict(each.row))}")
    listed = sum(each.rows for each in found.violations)
    if found.rows > listed:
        print(f"... and {count_text(found.rows - listed, 'more row')}.")
    for (table, rule), rows in found.by_rule.items():
        print(f"{count_text(rows, 'row')} of {table} {'breaks' if rows == 1 else 'break'} {rule}.")
    if not found.rows and not found.refused:
        print(f"All rules are kept by {count_text(len(found.runs), 'run')}.")


def _show_rules(is_json: bool) -> None:
    from ostler.pipeline.lake.quality import FILE_RULES, RULES

    if is_json:
        listed = [
            {"table": rule.table, "rule": rule.name, "keeps": rule.keeps, "broken": rule.text}
            for rules in RULES.values()
            for rule in rules
        ]
        print(json.dumps({"files": FILE_RULES, "rows": listed}, indent=2))
        return
    for name, text in FILE_RULES.items():
        print(f"files: {name}: {text}")
    for rules in RULES.values():
        for rule in rules:
            print(f"{rule.table}: {rule.name}: {rule.text}")


def _as_json(found: Validation) -> dict[str, object]:
    return {
        "runs": list(found.runs),
        "refused": [{"directory": str(each.directory), "why": each.why} for each in found.refused],
        "rows": found.rows,
        "by_rule": [{"table": table, "rule": rule, "rows": rows} for (table, rule), rows in found.by_rule.items()],
        "violations": [each.as_json() for each in found.violations],
    }
