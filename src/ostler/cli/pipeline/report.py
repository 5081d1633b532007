"""`ostler pipeline report`: writes HTML pages and PDFs from the tables of the lake.

Exit statuses: 0 when the page was written, 2 when it cannot be, 4 when packages are missing. A PDF that could not be
printed is reported, but is an error only with --pdf.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.pipeline.options import USAGE, add_lake_option, require_packages

if TYPE_CHECKING:
    from ostler.pipeline.report.build import Written

REPORT: Final = Path("report")

_DESCRIPTION: Final = """\
Write a performance report of the tables in a lake: one HTML page that needs nothing else, with charts and tables, a
summary of one sheet that can be mailed, and both as PDF where Chromium or Chrome is installed. Scenarios, runs or both
may be selected; the default is all."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(subparsers, "report", "a page and a PDF of what was measured", _DESCRIPTION, USAGE)
    add_lake_option(parser)
    parser.add_argument(
        "--output", type=Path, default=REPORT, metavar="DIR", help="where to write report and summary (%(default)s)"
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="title of the report")
    parser.add_argument("--author", default="", metavar="NAME", help="who made it, shown below the title")
    parser.add_argument("--notes", type=Path, metavar="FILE", help="a section of your own words, in Markdown")
    parser.add_argument("--scenario", action="append", default=[], metavar="ID", help="only this scenario")
    parser.add_argument("--run", action="append", default=[], dest="runs", metavar="RUN", help="only this run")
    printing = parser.add_mutually_exclusive_group()
    printing.add_argument("--pdf", action="store_true", help="fail when there is nothing to print a PDF with")
    printing.add_argument("--no-pdf", action="store_true", help="write the pages only")
    parser.add_argument("--browser", default="", metavar="PROGRAM", help="what prints: a Chromium or Chrome")
    parser.add_argument(
        "--json", action="store_true", dest="is_json", help="print the files written as one JSON object"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    require_packages(("pyarrow",))
    from ostler.pipeline.errors import PipelineError
    from ostler.pipeline.report.build import TITLE, Masthead, write_report
    from ostler.pipeline.report.reading import read_lake, read_notes, select_rows

    try:
        notes = read_notes(arguments.notes) if arguments.notes else ""
        tables = select_rows(read_lake(arguments.lake), arguments.scenario, arguments.runs)
        masthead = Masthead(arguments.title or TITLE, arguments.author, notes)
        written = write_report(tables, arguments.output, masthead, pdf=not arguments.no_pdf, browser=arguments.browser)
    except PipelineError as refused:
        print(f"ostler pipeline report: {refused}", file=sys.stderr)
        return USAGE
    except OSError as error:
        why = f"The report cannot be written to {arguments.output}: {error.strerror or error}"
        print(f"ostler pipeline report: {why}. Name another place: --output DIR.", file=sys.stderr)
        return USAGE
    if arguments.is_json:
        print(json.dumps(_as_json(written) | {"runs": [each.run for each in tables.runs]}, indent=2))
    else:
        print(f"Report of {len(tables.runs)} run{'' if len(tables.runs) == 1 else 's'}: {written.page}")
        print(f"Summary of one sheet: {written.summary}")
        if written.pdf:
            print(f"The same on paper: {written.pdf}, {written.summary_pdf}")
    if written.why:
        print(written.why, file=sys.stderr)
    return USAGE if arguments.pdf and written.pdf is None else 0


def _as_json(written: Written) -> dict[str, str | None]:
    files = {"page": written.page, "summary": written.summary, "pdf": written.pdf, "summary_pdf": written.summary_pdf}
    return {name: str(path) if path else None for name, path in files.items()} | {"why": written.why}
