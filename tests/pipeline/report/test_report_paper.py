"""The report on paper and its summary: page numbers, what is kept together, and nothing that leads nowhere."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest
from tests.pipeline.report.report_samples import Rows, point, row, sample_rows, sample_tables

from ostler.pipeline.report.build import Masthead, Pages, render_pages, write_report
from ostler.pipeline.report.html.page import css_text
from ostler.pipeline.report.html.pdf import NoPdf, find_browser, print_pdf
from ostler.pipeline.report.html.pdf_pages import contents_anchors, destination_pages, page_count, with_page_numbers

NOTES = "# Why\nNew disks, see [the order](https://example.org/).\n"
# A dot chart, line charts with many lines, tables longer than a page: all that can go wrong with breaks.
_MANY = tuple((f"Broker number {number}{', library' if number % 2 else ''}", "peer", 100.0) for number in range(14))


def _crowded() -> Rows:
    rows = sample_rows()
    for name, kind, rate in _MANY:
        for step, clients in enumerate((1, 4, 16)):
            more = {"step": step, "clients": clients, "rate": rate * clients, "driver_cpu_us": 9.0}
            rows["point"].append(point("local-rr-np-2", "local-rr-np", name, kind, **more))
        known = {"run": "local-rr-np-2", "scenario": "local-rr-np", "contestant": name, "kind": kind}
        more = {"series": "message_bytes=2048", "message_bytes": 2048, "peak_rate": rate * 16, "peak_clients": 16}
        rows["peak"].append(row("peak", **known, **more))
    return rows


@pytest.fixture(scope="module")
def pages() -> Pages:
    return render_pages(sample_tables(_crowded()), Masthead("Disks, old & new", "A. Author", NOTES))


# -- page numbers ------------------------------------------------------------------------------------------------------

_PDF = b"""%PDF-1.4
1 0 obj
<</Type /Page
/Parent 7 0 R>>
endobj
2 0 obj
<</Length 9>> stream
/Kids [9]
endstream
endobj
3 0 obj
<</Type /Page>>
endobj
4 0 obj
<</Type /Page>>
endobj
5 0 obj
<</Type /Pages
/Count 2
/Kids [3 0 R 1 0 R]>>
endobj
6 0 obj
<</first [3 0 R /XYZ 0 841 0]
/run-R#31 [4 0 R /XYZ 0 10 0]
/lost [99 0 R /XYZ 0 10 0]>>
endobj
7 0 obj
<</Type /Pages
/Count 3
/Kids [5 0 R 4 0 R]>>
endobj
8 0 obj
<</Type /Catalog
/Pages 7 0 R
/Dests 6 0 R>>
endobj
"""


def test_destinations_are_found_on_their_pages_in_the_order_of_the_tree() -> None:
    assert destination_pages(_PDF) == {"first": 1, "run-R1": 3}
    assert page_count(_PDF) == 3


@pytest.mark.parametrize("content", [b"", b"%PDF-1.4\n", _PDF.replace(b"/Dests 6 0 R", b""), b"\x00\xff" * 50])
def test_of_a_file_that_is_not_understood_no_page_is_known(content: bytes) -> None:
    assert destination_pages(content) == {}


def test_numbers_are_filled_in_where_they_are_known(pages: Pages) -> None:
    anchors = contents_anchors(pages.report)
    assert {"highlights", "notes", "notes-1", "scenario-local-rr-np", "glossary"} <= set(anchors)
    filled = with_page_numbers(pages.report, {"highlights": 2, "glossary": 117})
    assert '<span class="page-number" data-for="highlights">2</span>' in filled
    assert '<span class="page-number" data-for="glossary">117</span>' in filled
    # The page on screens has none: where pages begin depends on the paper.
    assert filled.count("</span>") == pages.report.count("</span>")
    assert with_page_numbers(filled, {}) == pages.report


def test_a_title_in_the_style_sheet_stays_a_text() -> None:
    assert css_text("Disks 1") == '"Disks 1"'
    assert css_text('"; } </style>') == r'"\22 \3b  \7d  \3c \2f style\3e "'


# -- references --------------------------------------------------------------------------------------------------------


def test_tables_and_figures_that_are_named_exist(pages: Pages) -> None:
    for word in ("Table", "Figure"):
        made = set(re.findall(rf"<b>{word} (\d+)\.</b>", pages.report))
        named = set(re.findall(rf'<a href="#{word.lower()}-(\d+)"', pages.report))
        assert made
        assert named <= made


def test_links_of_the_summary_lead_into_the_report(pages: Pages) -> None:
    links = re.findall(r'href="([^"]*)"', pages.summary)
    ids = set(re.findall(r' id="([^"]*)"', pages.report))
    assert links
    assert {link for link in links if link != "report.html"} <= {f"report.html#{each}" for each in ids}


# -- the pages ---------------------------------------------------------------------------------------------------------


def test_title_author_and_notes_are_on_the_page(pages: Pages) -> None:
    assert "<h1>Disks, old &amp; new</h1>" in pages.report
    assert '<p class="author">A. Author</p>' in pages.report
    assert '<meta name="author" content="A. Author">' in pages.report
    assert '<section id="notes">' in pages.report
    assert 'href="https://example.org/"' in pages.report
    assert pages.report.index('id="highlights"') < pages.report.index('<section id="notes">')
    assert "<h1>Disks, old &amp; new: summary</h1>" in pages.summary


def test_the_summary_needs_nothing_else_and_is_short(pages: Pages) -> None:
    assert "<script" not in pages.summary
    assert re.findall(r"url\(|@import| src=", pages.summary) == []
    assert pages.summary.count('class="card"') <= 6
    assert pages.summary.count("<li>") <= 6
    assert "Read with care" in pages.summary


def test_evil_titles_and_authors_are_text() -> None:
    evil = '</style><script>alert(1)</script>"'
    made = render_pages(sample_tables(), Masthead(evil, evil, ""))
    for text in (made.report, made.summary):
        assert "<script>alert" not in text
        assert "</style><script>" not in text


def test_every_chart_is_named_described_and_reached_by_keyboard(pages: Pages) -> None:
    drawings = re.findall(r"<svg [^>]*>", pages.report)
    assert len(drawings) > 10
    ids = set(re.findall(r' id="([^"]*)"', pages.report))
    for each in drawings:
        assert 'role="img"' in each
        named = re.search(r'aria-labelledby="([^"]*)"', each)
        assert named is not None
        assert set(named[1].split()) <= ids
    assert all('tabindex="0"' in each for each in re.findall(r'<div class="scroll"[^>]*>', pages.report))
    assert '<a class="skip" href="#text">' in pages.report


# -- with a real browser -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> str:
    try:
        return find_browser()
    except NoPdf as problem:
        pytest.skip(str(problem))


def _marked(page: str) -> str:
    """The page, with a mark at the end of each chart, and links to all charts so that the PDF knows their pages."""
    panels = re.findall(r'<div class="panel[^"]*" id="([^"]*)">', page)
    ends = iter(panels)
    marked = re.sub(r"(?<=</svg>)", lambda _: f'<i id="{next(ends)}-end"></i>', page)
    links = "".join(f'<a href="#{each}">.</a><a href="#{each}-end">.</a>' for each in panels)
    return marked.replace("</main>", f"<p>{links}</p></main>")


def _drawn(content: bytes) -> list[int]:
    """Return the amount of drawing in each content stream of a PDF that shows text."""
    found = []
    for stream in re.findall(rb"/Filter /FlateDecode\s*/Length \d+>> stream\r?\n(.*?)\nendstream", content, re.DOTALL):
        try:
            text = zlib.decompress(stream)
        except zlib.error:
            continue
        if b"BT" in text:
            found.append(len(re.findall(rb"T[jJ]\b", text)))
    return found


@pytest.mark.slow
def test_on_paper_nothing_is_cut_and_contents_name_the_pages(pages: Pages, browser: str, tmp_path: Path) -> None:
    source, target = tmp_path / "page.html", tmp_path / "page.pdf"
    source.write_text(_marked(pages.report), encoding="utf-8")
    print_pdf(source, target, browser)
    content = target.read_bytes()
    found = destination_pages(content)
    anchors = contents_anchors(pages.report)
    assert {each for each in anchors if each not in found} == set()
    numbers = [found[each] for each in anchors]
    assert numbers == sorted(numbers)
    assert numbers[0] >= 2
    assert numbers[-1] <= page_count(content)
    charts = re.findall(r'<div class="panel[^"]*" id="([^"]*)">', pages.report)
    assert len(charts) > 20
    assert [each for each in charts if found[each] != found[f"{each}-end"]] == []
    # A short figure is on one page, with its caption; a row of two charts always is.
    short = re.findall(r'<figure id="([^"]*)" class="short">', pages.report)
    assert short
    for figure in short:
        parts = [each for each in charts if each.startswith(f"{figure}-")]
        assert {found[each] for each in parts} == {found[figure]}
    assert all(count > 3 for count in _drawn(content))


@pytest.mark.slow
def test_the_summary_is_one_sheet_whatever_it_says(browser: str, tmp_path: Path) -> None:
    title = "A very long title of a report on requests, replies, publications and the disks that keep them " * 5
    written = write_report(sample_tables(_crowded()), tmp_path, Masthead(title, "A. Author"), browser=browser)
    assert written.summary_pdf is not None
    assert page_count(written.summary_pdf.read_bytes()) == 1
