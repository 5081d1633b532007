"""Blocks of a report as HTML. All text from tables is escaped here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from ostler.pipeline.report.charts.svg import chart_svg
from ostler.pipeline.report.html.document import (
    Anchor,
    Block,
    Bullets,
    Cards,
    Cell,
    Code,
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
)

# Texts that stay on one line.
_SHORT: Final = 24
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
        case Preformatted():
            return f"<pre>{escape(each.text)}</pre>"
        case Bullets():
            return f"<ul>{''.join(f'<li>{inline(item)}</li>' for item in each.items)}</ul>"
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
    charts = "".join(
        f'<div class="panel">{chart_svg(chart, f"{figure.anchor}-{number}")}</div>'
        for number, chart in enumerate(figure.charts, 1)
    )
    note = f'<span class="source">{inline(figure.note)}</span>' if figure.note else ""
    return (
        f'<figure id="{figure.anchor}"><div class="panels">{charts}</div>'
        f"<figcaption><b>Figure {figure.number}.</b> {escape(figure.caption)}. {note}</figcaption></figure>"
    )


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
    items = []
    for each in sections:
        inner = "".join(f'<li><a href="#{escape(sub.anchor)}">{escape(sub.title)}</a></li>' for sub in each.sections)
        below = f"<ol>{inner}</ol>" if inner else ""
        items.append(f'<li><a href="#{escape(each.anchor)}">{escape(each.title)}</a>{below}</li>')
    return f"<ol>{''.join(items)}</ol>"
