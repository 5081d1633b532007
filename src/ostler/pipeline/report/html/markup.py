"""Blocks of a report as HTML. All text from tables is escaped here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from ostler.pipeline.report.charts.charts import Chart
from ostler.pipeline.report.charts.svg import chart_svg
from ostler.pipeline.report.charts.topology import TopologyDrawing
from ostler.pipeline.report.html.document import (
    Anchor,
    Block,
    Bullets,
    Cards,
    Cell,
    Code,
    Emphasis,
    Fold,
    Heading,
    Hyperlink,
    Inline,
    Mark,
    Paragraph,
    Preformatted,
    ReportFigure,
    ReportTable,
    Section,
    Strong,
    TermList,
    Text,
    WebLink,
)

# Texts that stay on one line.
_SHORT: Final = 24
_CHARTS_IN_ROW: Final = 2
# Rows of charts that stay on one page.
_ROWS_TOGETHER: Final = 2
# Shown as words and signs, not by colour alone.
_SIGNS: Final = {"better": "▲ ", "worse": "▼ ", "same": "= ", "doubtful": "? "}


def inline(text: Text) -> str:
    parts: tuple[Inline, ...] = (text,) if isinstance(text, str) else text
    return "".join(_inline(each) for each in parts)


def _inline(part: Inline) -> str:
    match part:
        case Hyperlink():
            title = f' title="{escape(part.title)}"' if part.title else ""
            return f'<a href="#{escape(part.anchor)}"{title}>{escape(part.text)}</a>'
        case WebLink():
            return f'<a href="{escape(part.url)}" rel="noreferrer">{escape(part.text)}</a>'
        case Emphasis():
            return f"<em>{escape(part.text)}</em>"
        case Code():
            return f"<code>{' '.join(_code_word(word) for word in part.text.split(' '))}</code>"
        case Strong():
            return f"<strong>{escape(part.text)}</strong>"
        case Mark():
            sign = _SIGNS.get(part.meaning, "")
            return f'<span class="mark {escape(part.meaning)}">{sign}{escape(part.text)}</span>'
        case str():
            # Names of CipherSpecs are too long for a column unless they may break.
            return escape(part).replace("_", "_<wbr>")


def _code_word(word: str) -> str:
    """Names of options are not broken: a line that ends with two hyphens is hard to read."""
    return f"<span>{escape(word)}</span>" if word.startswith("--") else escape(word)


def block(each: Block) -> str:
    match each:
        case Paragraph():
            kind = f' class="{each.style}"' if each.style else ""
            return f"<p{kind}>{inline(each.text)}</p>"
        case Bullets():
            kind = "ol" if each.is_numbered else "ul"
            return f"<{kind}>{''.join(f'<li>{inline(item)}</li>' for item in each.items)}</{kind}>"
        case Preformatted():
            return f"<pre>{escape(each.text)}</pre>"
        case ReportTable():
            return _table(each)
        case ReportFigure():
            return _figure(each)
        case Cards():
            return _cards(each)
        case TermList():
            items = "".join(f"<dt>{inline(word)}</dt><dd>{inline(text)}</dd>" for word, text in each.items)
            return f"<dl>{items}</dl>"
        case Fold():
            kind = "" if each.is_printed else ' class="screen"'
            return f"<details{kind}><summary>{escape(each.summary)}</summary>{blocks(each.blocks)}</details>"
        case Anchor():
            return f'<div id="{escape(each.anchor)}" class="anchor">{block(each.block)}</div>'


def blocks(many: Iterable[Block]) -> str:
    return "\n".join(block(each) for each in many)


def _cards(cards: Cards) -> str:
    items = "".join(
        f'<div class="card"><span class="card-label">{escape(card.label)}</span>'
        f'<span class="card-value">{escape(card.value)}</span><span class="card-text">{inline(card.text)}</span></div>'
        for card in cards.cards
    )
    return f'<div class="cards">{items}</div>'


def _figure(figure: ReportFigure) -> str:
    """Return a figure. On paper rows of two charts are never cut; a figure that needs another page has its caption on
    that, too."""
    panels = [_panel(chart, f"{figure.anchor}-{number}") for number, chart in enumerate(figure.charts, 1)]
    rows = ["".join(panels[begin : begin + _CHARTS_IN_ROW]) for begin in range(0, len(panels), _CHARTS_IN_ROW)]
    if figure.note and rows:
        # Within the last row: alone on the next page it would say nothing.
        rows[-1] += f'<p class="source">{inline(figure.note)}</p>'
    drawn = "".join(f'<div class="row">{row}</div>' for row in rows)
    length = "short" if len(rows) <= _ROWS_TOGETHER else "long"
    # Three columns would leave a hole beside two charts or four.
    kind = "panels single" if len(panels) == 1 else "panels pairs" if len(panels) in (2, 4) else "panels"
    return (
        f'<figure id="{figure.anchor}" class="{length}">'
        f'<figcaption class="caption"><b>Figure {figure.number}.</b> {escape(figure.caption)}.</figcaption>'
        f'<div class="{kind}">{drawn}</div></figure>'
    )


def _panel(chart: Chart, anchor: str) -> str:
    if isinstance(chart, TopologyDrawing):
        return f'<div class="panel drawing" id="{anchor}">{chart_svg(chart, anchor)}</div>'
    said = f'<p class="said">{escape(chart.sentence)}</p>' if chart.sentence else ""
    return f'<div class="panel" id="{anchor}">{chart_svg(chart, anchor)}{said}</div>'


def _table(table: ReportTable) -> str:
    heads = "".join(_heading(heading) for heading in table.headings)
    rows = "".join(_row(row, table.headings) for row in table.rows)
    note = f'<p class="source">{inline(table.note)}</p>' if table.note else ""
    return (
        # Not a caption element: that would be as wide as the table, and be cut where the table is scrolled.
        f'<div class="table" id="{table.anchor}"><p class="caption" id="{table.anchor}-c"><b>Table {table.number}.</b> '
        f'{escape(table.caption)}</p><div class="scroll" tabindex="0" role="region" aria-labelledby="{table.anchor}-c">'
        f'<table aria-labelledby="{table.anchor}-c"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        f"{note}</div>"
    )


def _heading(heading: Heading) -> str:
    kind = ' class="number"' if heading.is_number else ' class="wide"' if heading.is_wide else ""
    title = f' title="{escape(heading.title)}"' if heading.title else ""
    return f'<th scope="col"{kind}{title}>{escape(heading.text)}</th>'


def _row(row: tuple[Cell, ...], headings: tuple[Heading, ...]) -> str:
    cells = []
    for cell, heading in zip(row, headings, strict=True):
        is_short = not heading.is_wide and _length(cell.text) <= _SHORT
        kind = ' class="number"' if heading.is_number else ' class="short"' if is_short else ""
        sort = "" if cell.sort is None else f' data-sort="{escape(str(cell.sort))}"'
        title = f' title="{escape(cell.title)}"' if cell.title else ""
        cells.append(f"<td{kind}{sort}{title}>{inline(cell.text)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _length(text: Text) -> int:
    """Return the length of a text; of several parts only for a single link."""
    if isinstance(text, str):
        return len(text)
    return len(text[0].text) if len(text) == 1 and isinstance(text[0], Hyperlink) else _SHORT + 1


def section(each: Section, level: int = 2) -> str:
    """Return a section with its subsections. The title is its own link, so that it can be shared."""
    inside = "\n".join(section(inner, level + 1) for inner in each.sections)
    anchor = escape(each.anchor)
    title = f'<h{level}><a href="#{anchor}">{escape(each.title)}</a></h{level}>'
    return f'<section id="{anchor}">{title}\n{blocks(each.blocks)}\n{inside}</section>'


def contents(sections: Iterable[Section]) -> str:
    """Return the contents. The numbers of pages are filled in for paper."""
    items = []
    for each in sections:
        inner = "".join(f"<li>{_entry(sub)}</li>" for sub in each.sections)
        below = f"<ol>{inner}</ol>" if inner else ""
        items.append(f"<li>{_entry(each)}{below}</li>")
    return f"<ol>{''.join(items)}</ol>"


def entries(sections: Iterable[Section]) -> int:
    """Return the number of lines of the contents."""
    return sum(1 + len(each.sections) for each in sections)


def _entry(each: Section) -> str:
    anchor = escape(each.anchor)
    return f'<a href="#{anchor}"><span>{escape(each.title)}</span>{page_number(each.anchor, "")}</a>'


def page_number(anchor: str, text: str) -> str:
    """Return the place of a page number in the contents."""
    return f'<span class="page-number" data-for="{escape(anchor)}">{text}</span>'
