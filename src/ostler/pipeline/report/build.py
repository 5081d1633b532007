"""Builds the report: all sections in their order, the page, its summary, and both as PDF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ostler.lab.store.manifest import write_whole
from ostler.pipeline.report.context import Context, make_context, moment
from ostler.pipeline.report.html.document import Section, page_only
from ostler.pipeline.report.html.notes import notes_section
from ostler.pipeline.report.html.page import page
from ostler.pipeline.report.html.pdf import NoPdf, find_browser, print_pdf, print_sheet
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
from ostler.pipeline.report.summary import summary

TITLE = "Ostler performance report"
PAGE_NAME = "report.html"
PDF_NAME = "report.pdf"
SUMMARY_NAME = "summary.html"
SUMMARY_PDF_NAME = "summary.pdf"


@dataclass(frozen=True)
class Written:
    """The files of the report. PDFs are empty when none were made; `why` has the reason."""

    page: Path
    summary: Path
    pdf: Path | None
    summary_pdf: Path | None
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
    kept += [reproduce_section(context, page_only(kept)), resources_section(context), glossary_section()]
    # The first page is for a reader with one minute; the preface has no numbered table, so it is made last.
    return [kept[0], preface_section(context, kept), *kept[1:]]


@dataclass(frozen=True)
class Masthead:
    """The title of a report, its author, and his notes as Markdown."""

    title: str = TITLE
    author: str = ""
    notes: str = ""


@dataclass(frozen=True)
class Pages:
    """The report and its summary, as HTML."""

    report: str
    summary: str


def render(tables: Tables, title: str = TITLE, author: str = "", notes: str = "") -> str:
    """Return the page as text. The same tables make the same page: it contains no current time."""
    return render_pages(tables, Masthead(title, author, notes)).report


def render_pages(tables: Tables, masthead: Masthead) -> Pages:
    """Return the report and its summary."""
    context = make_context(tables)
    made = sections(context)
    notes = notes_section(masthead.notes)
    whole = [*made[:1], notes, *made[1:]] if notes else made
    lead = _lead(tables)
    return Pages(
        page(masthead.title, lead, whole, masthead.author),
        summary(made, masthead.title, lead, masthead.author, PAGE_NAME),
    )


def _lead(tables: Tables) -> str:
    began = [run.began for run in tables.runs]
    versions = sorted({run.version for run in tables.runs})
    machines = sorted({run.machine for run in tables.runs})
    first, last = moment(min(began)), moment(max(began))
    when = first if first == last else f"{first} to {last}"
    return f"Ostler {', '.join(versions)} · measured {when} · {'; '.join(machines)}"


def write_report(
    tables: Tables, directory: Path, masthead: Masthead | None = None, *, pdf: bool = True, browser: str = ""
) -> Written:
    """Write the report and its summary, and PDFs beside them unless there is no browser to print with. Files are
    replaced atomically."""
    directory.mkdir(parents=True, exist_ok=True)
    pages = render_pages(tables, masthead or Masthead())
    target, short = directory / PAGE_NAME, directory / SUMMARY_NAME
    write_whole(target, pages.report)
    write_whole(short, pages.summary)
    if not pdf:
        return Written(target, short, None, None)
    printed = (directory / PDF_NAME, directory / SUMMARY_PDF_NAME)
    try:
        found = find_browser(browser)
        print_pdf(target, printed[0], found)
        print_sheet(short, printed[1], found)
    except NoPdf as problem:
        # A PDF of other tables beside a new page would mislead.
        for paper in printed:
            paper.unlink(missing_ok=True)
        return Written(target, short, None, None, str(problem))
    return Written(target, short, *printed)
