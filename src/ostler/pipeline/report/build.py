"""Builds the report: all sections in their order, the page, and its PDF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ostler.lab.store.manifest import write_whole
from ostler.pipeline.report.context import Context, make_context, moment
from ostler.pipeline.report.html.document import Section
from ostler.pipeline.report.html.page import page
from ostler.pipeline.report.html.pdf import NoPdf, find_browser, print_pdf
from ostler.pipeline.report.rows import Tables
from ostler.pipeline.report.sections.advice import advice_section
from ostler.pipeline.report.sections.appendices import environment_section, quality_section, reproduce_section
from ostler.pipeline.report.sections.changes import changes_section
from ostler.pipeline.report.sections.comparisons import comparisons_section
from ostler.pipeline.report.sections.costs import costs_section
from ostler.pipeline.report.sections.glossary import glossary_section
from ostler.pipeline.report.sections.highlights import highlights_section, peaks_section
from ostler.pipeline.report.sections.preface import preface_section
from ostler.pipeline.report.sections.published import published_section
from ostler.pipeline.report.sections.resources import resources_section
from ostler.pipeline.report.sections.scaling import scaling_section
from ostler.pipeline.report.sections.scenarios import scenarios_section
from ostler.pipeline.report.sections.sizes import sizes_section
from ostler.pipeline.report.sections.test_names import tests_section

TITLE = "Ostler performance report"
PAGE_NAME = "report.html"
PDF_NAME = "report.pdf"


@dataclass(frozen=True)
class Written:
    """The files of the report. `pdf` is empty when none was made; `why` has the reason."""

    page: Path
    pdf: Path | None
    why: str = ""


def sections(context: Context) -> list[Section]:
    """Return all sections, in the order of the published reports; appendices last. Tables and figures are numbered in
    this order."""
    made = [
        highlights_section(context),
        changes_section(context),
        peaks_section(context),
        scenarios_section(context),
        comparisons_section(context),
        costs_section(context),
        sizes_section(context),
        scaling_section(context),
        published_section(context),
        advice_section(context),
        environment_section(context),
        quality_section(context),
        tests_section(context),
    ]
    kept = [each for each in made if each is not None]
    kept += [reproduce_section(context), resources_section(context), glossary_section()]
    # The first page is for a reader with one minute; the preface has no numbered table, so it is made last.
    return [kept[0], preface_section(context, kept), *kept[1:]]


def render(tables: Tables, title: str = TITLE) -> str:
    """Return the page as text. The same tables make the same page: it contains no current time."""
    context = make_context(tables)
    began = [run.began for run in tables.runs]
    versions = sorted({run.version for run in tables.runs})
    machines = sorted({run.machine for run in tables.runs})
    lead = (
        f"Ostler {', '.join(versions)} · measured {moment(min(began))} to {moment(max(began))} · {'; '.join(machines)}"
    )
    return page(title, lead, sections(context))


def write_report(
    tables: Tables, directory: Path, title: str = TITLE, *, pdf: bool = True, browser: str = ""
) -> Written:
    """Write the page, and the PDF beside it unless there is no browser to print with. Files are replaced atomically."""
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / PAGE_NAME
    write_whole(target, render(tables, title))
    if not pdf:
        return Written(target, None)
    try:
        print_pdf(target, directory / PDF_NAME, find_browser(browser))
    except NoPdf as problem:
        # A PDF of other tables beside a new page would mislead.
        (directory / PDF_NAME).unlink(missing_ok=True)
        return Written(target, None, str(problem))
    return Written(target, directory / PDF_NAME)
