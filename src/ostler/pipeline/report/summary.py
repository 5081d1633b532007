"""The summary: the report on one sheet of paper, as a page of its own that can be mailed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ostler.pipeline.report.charts.charts import DotChart
from ostler.pipeline.report.html.document import Block, Bullets, Cards, Paragraph, ReportFigure, Section
from ostler.pipeline.report.html.markup import blocks, inline
from ostler.pipeline.report.html.page import summary_page

_CARDS_MAX: Final = 6
_STATEMENTS_MAX: Final = 6
_STRIPS_MAX: Final = 12


def summary(sections: Sequence[Section], title: str, lead: str, author: str, report_name: str) -> str:
    """Return the page: the cards, statements and chart of the highlights, what is doubtful, and where the report is."""
    highlights = next((each for each in sections if each.anchor == "highlights"), None)
    found: list[Block] = []
    for block in highlights.blocks if highlights else ():
        match block:
            case Paragraph(style="doubt"):
                found.append(block)
            case Cards():
                found.append(Cards(block.cards[:_CARDS_MAX]))
            case Bullets():
                found.append(Bullets(block.items[:_STATEMENTS_MAX]))
            case ReportFigure():
                found.append(_shortened(block))
    # Links lead into the report: the summary has nothing of what they name.
    body = blocks(found).replace('href="#', f'href="{report_name}#')
    where = inline(("The whole report, with all figures and the commands that repeat them: ",))
    more = f'<p class="small">{where}<a href="{report_name}">{report_name}</a>, in the same directory.</p>'
    return summary_page(f"{title}: summary", lead, f"{body}\n{more}", author)


def _shortened(figure: ReportFigure) -> ReportFigure:
    """Return the figure with as many rows as a sheet has room for. A sentence on rows that are left out would be about
    nothing."""
    each = _STRIPS_MAX // len(figure.charts)
    charts = tuple(
        replace(chart, strips=chart.strips[:each], sentence="")
        if isinstance(chart, DotChart) and len(chart.strips) > each
        else chart
        for chart in figure.charts
    )
    return (
        figure if charts == figure.charts else replace(figure, charts=charts, note="Some of them: the report has all.")
    )
