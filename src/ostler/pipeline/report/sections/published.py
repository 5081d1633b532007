"""Figures of published reports beside ours: ratios, which are comparable between machines, and all others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Axis, Dot, Strip, Style, side_by_side, spans_decades
from ostler.pipeline.report.charts.curves import series_words
from ostler.pipeline.report.context import Context, number_cell, size_cell, text_cell, whole_cell
from ostler.pipeline.report.html.document import (
    Block,
    Bullets,
    Cell,
    Fold,
    Heading,
    Paragraph,
    ReportFigure,
    Section,
    Strong,
    Text,
)
from ostler.pipeline.report.rows import ComparisonRow, MatchRow, PublishedRow
from ostler.pipeline.report.sections.comparisons import RATIO, metric_words, subject_words

# Variants that distinguish figures of one scenario; the others are the same for all, or points of a sweep.
_TELLING: Final = (
    "api", "cipher", "ha", "dr", "latency_ms", "cores", "subscribers", "qmgrs", "rate_per_app_per_h",
    "rate_per_producer", "cflevel", "offload", "state",
)  # fmt: skip
# Variants that need no word: what most figures have.
_USUAL: Final = frozenset({("api", "MQI"), ("api", "MQI client"), ("qmgrs", "1")})
_MEASURED: Final = "measured"
_STRIPS_MAX: Final = 20
_SIZES: Final = re.compile(r"\b(\d+) to (\d+) bytes")
_BYTES: Final = re.compile(r"(\d+) bytes")
_PUBLISHED_STYLE: Final = Style(1, 1)
_OUR_STYLE: Final = Style(0, 0)


def published_section(context: Context) -> Section | None:
    """Return the section; None when the lake has no published figures."""
    ratios = [row for row in context.tables.comparisons if row.kind == RATIO]
    matches = {row.figure: row for row in context.tables.matches if row.scenario in context.speaking}
    beside = _once([row for row in context.tables.published if row.figure in matches and row.basis == _MEASURED])
    if not ratios and not beside:
        return None
    inner = []
    if ratios:
        inner.append(_ratios(context, ratios))
    if beside:
        figures = (*_hardware(context, beside), *_figures(context, beside, matches))
        inner.append(Section("published-figures", "Figures", figures))
    text = (
        "Absolute figures of other machines say little about this one. What travels is the ratio of two figures of the "
        "same report, such as persistent to nonpersistent: it stands beside the same ratio of ours. IBM, MQ and "
        "WebSphere are trademarks of International Business Machines Corporation; Ostler is not affiliated with IBM."
    )
    return Section("published", "Published figures beside ours", (Paragraph(text),), tuple(inner))


def _ratios(context: Context, ratios: Sequence[ComparisonRow]) -> Section:
    ours = [row for row in ratios if row.our_ratio is not None]
    alone = [row for row in ratios if row.our_ratio is None]
    blocks: list[Block] = []
    figure = _ratio_figure(context, ours)
    if figure is not None:
        blocks.append(figure)
    blocks.append(_ratio_table(context, "Ratios inside published reports, and ours", ours))
    if alone:
        table = _ratio_table(context, "Published ratios without one of ours", alone)
        blocks.append(Fold(f"Published ratios without one of ours ({len(alone):,})", (table,), is_printed=False))
    return Section("published-ratios", "Ratios", tuple(blocks))


def _ratio_table(context: Context, caption: str, ratios: Sequence[ComparisonRow]) -> Block:
    headings = (
        Heading("Ratio"),
        Heading("Scenario"),
        Heading("Series"),
        Heading("Metric"),
        Heading("Clients", True, "on both sides; a dash: at the peaks"),
        Heading("Published", True),
        Heading("Ours", True),
        Heading("Ours to published", True),
        Heading("Source", is_wide=True),
        Heading("Runs"),
    )
    rows = []
    for row in ratios:
        relative = row.our_ratio / row.published_ratio if row.our_ratio is not None and row.published_ratio else None
        rows.append(
            (
                Cell(subject_words(row.subject), row.subject.lower(), f"{row.left_name} → {row.right_name}"),
                context.scenario_cell(row.scenario),
                text_cell(_series_text(row.series)),
                text_cell(row.metric),
                whole_cell(row.clients),
                Cell(numbers.ratio(row.published_ratio), row.published_ratio, numbers.exact(row.published_ratio)),
                Cell(numbers.ratio(row.our_ratio), row.our_ratio, numbers.exact(row.our_ratio)),
                Cell(numbers.ratio(relative), relative),
                text_cell(row.published_source or ""),
                Cell(context.report.runs(dict.fromkeys((row.left_run, row.right_run)))),
            )
        )
    runs = [run for row in ratios for run in (row.left_run, row.right_run)]
    empty = ("Metric", "Clients", "Ours", "Ours to published")
    return context.report.table(
        caption, headings, rows, [run for run in runs if run in context.runs], unless_same=empty
    )


def _series_text(series: str) -> str:
    """Return the common part of both: sizes as everywhere else, without the name Ostler, which all of ours have."""
    text = _SIZES.sub(lambda found: f"{numbers.size(int(found[1]))} to {found[2]} bytes", series_words(series))
    words = [_BYTES.sub(lambda found: numbers.size(int(found[1])), each) for each in text.split(", ")]
    return ", ".join(each for each in words if each != "Ostler")


def _ratio_figure(context: Context, ratios: Sequence[ComparisonRow]) -> ReportFigure | None:
    drawn = [row for row in ratios if row.our_ratio and row.published_ratio][:_STRIPS_MAX]
    if not drawn:
        return None
    strips = []
    for row in drawn:
        assert row.our_ratio is not None
        assert row.published_ratio is not None
        dots = (
            ("published", _PUBLISHED_STYLE, _ratio_dot(row.published_ratio, row, row.published_source or "")),
            ("Ostler", _OUR_STYLE, _ratio_dot(row.our_ratio, row, "")),
        )
        strips.append(
            Strip(f"{subject_words(row.subject)} · {row.scenario}, {_series_text(row.series)}".rstrip(", "), dots)
        )
    values = [dot.x for strip in strips for _, _, dot in strip.dots]
    axis = Axis("ratio of the second to the first", spans_decades(values))
    charts = side_by_side("Published ratios and ours", axis, strips, 1.0, is_joined=True)
    runs = [run for row in drawn for run in (row.left_run, row.right_run)]
    left = len(ratios) - len(drawn)
    note = f"{numbers.count(left, 'ratio')} more: see the table." if left else ""
    return context.report.figure("Ratios inside published reports, and ours", charts, runs, note)


def _ratio_dot(value: float, row: ComparisonRow, source: str) -> Dot:
    return Dot(value, 0.0, None, None, f"{row.left_name} → {row.right_name}", numbers.ratio(value), source)


def _hardware(context: Context, beside: Sequence[PublishedRow]) -> list[Block]:
    ours = sorted({context.runs[run].machine for run in context.speaking.values()})
    items: list[Text] = [((Strong("Ours: "), f"{each}; broker, drivers and peers share it.")) for each in ours]
    platforms: dict[str, set[str]] = {}
    for row in beside:
        platforms.setdefault(row.report_title, set()).add(row.platform)
    items += [(Strong(f"{title}: "), f"{'; '.join(sorted(found))}.") for title, found in platforms.items()]
    return [
        Paragraph(
            "These figures are from other hardware, most of it larger and some of it older, and from separate machines "
            "for load and queue managers. They are for orientation; the quotient is no comparison of products. Ours "
            "stands beside a published figure only where metric and variant agree: CipherSpec, subscribers, cores, "
            "replication, distance, interface and rate, and what is counted.",
            "doubt",
        ),
        Bullets(tuple(items)),
    ]  # fmt: skip


def _figures(context: Context, beside: Sequence[PublishedRow], matches: Mapping[int, MatchRow]) -> list[Block]:
    """Return the figures with a counterpart of ours; the others are folded, with the reason."""
    places = list(context.speaking)
    rows = sorted(
        beside, key=lambda each: (places.index(each.scenario), each.metric, each.message_bytes or 0, each.figure)
    )
    ours = [row for row in rows if _is_beside(context, matches[row.figure])]
    alone = [row for row in rows if not _is_beside(context, matches[row.figure])]
    caption = "Published figures, and ours for orientation"
    blocks = [_figure_table(context, caption, [(row, matches[row.figure]) for row in ours])]
    if alone:
        table = _alone_table(context, [(row, matches[row.figure]) for row in alone])
        title = f"Published figures of these scenarios without one of ours ({len(alone):,})"
        blocks.append(Fold(title, (table,), is_printed=False))
    return blocks


def _once(rows: Iterable[PublishedRow]) -> list[PublishedRow]:
    """Return each figure once: reports print some of them in several tables."""
    found: dict[tuple[object, ...], PublishedRow] = {}
    for row in rows:
        telling = tuple(row.variants.get(name) for name in _TELLING)
        what = (row.scenario, row.metric, row.unit, row.value, row.clients, row.message_bytes, row.persistence)
        found.setdefault((*what, row.product_version, row.platform, telling), row)
    return list(found.values())


def _is_beside(context: Context, match: MatchRow) -> bool:
    return match.is_matched and match.our_value is not None and match.run in context.runs


def _product_cell(context: Context, row: PublishedRow) -> Cell:
    """Return product and release with the variants that tell figures apart; all of them as tooltip."""
    kind = "" if row.message_bytes is not None and _has_one_kind(context, row.scenario) else f", {row.persistence}"
    variant = "".join(
        f", {name.replace('_', ' ')} {value}"
        for name in _TELLING
        if (value := row.variants.get(name)) and (name, value) not in _USUAL
    )
    text = "; ".join([*(f"{name} {value}" for name, value in sorted(row.variants.items())), row.note]).rstrip("; ")
    return Cell(f"{row.product} {row.product_version}{variant}{kind}".rstrip(", "), row.product_version, text)


def _source_cell(row: PublishedRow) -> Cell:
    title = f"{row.report_title}; figure {row.figure} of the published figures"
    return Cell(f"{row.section}, {row.table_or_figure}", row.figure, title)


def _figure_table(context: Context, caption: str, published: Sequence[tuple[PublishedRow, MatchRow]]) -> Block:
    headings = (
        Heading("Scenario"),
        Heading("Product", is_wide=True),
        Heading("Size", True),
        Heading("Metric", title="what is counted: messages are puts and gets together"),
        Heading("Published", True, "as printed, in the unit of the metric"),
        Heading("Clients", True, "at the published figure, where it is printed"),
        Heading("Ours", True, "of the same metric and variant, with the lean driver"),
        Heading("Our clients", True, "a dash: at our peak"),
        Heading("Source", is_wide=True),
        Heading("Run"),
    )
    rows = [
        (
            context.scenario_cell(row.scenario),
            _product_cell(context, row),
            size_cell(row.message_bytes),
            text_cell(metric_words(match.metric)),
            Cell(f"{match.published_value:,.10g}", match.published_value, f"{row.value:,.10g} {row.unit}"),
            whole_cell(row.clients),
            number_cell(match.our_value),
            whole_cell(match.clients),
            _source_cell(row),
            context.report.run_cell(match.run or ""),
        )
        for row, match in published
    ]
    runs = [match.run for _, match in published if match.run is not None]
    return context.report.table(caption, headings, rows, runs, "Other hardware: see above.")


def _alone_table(context: Context, published: Sequence[tuple[PublishedRow, MatchRow]]) -> Block:
    headings = (
        Heading("Scenario"),
        Heading("Product", is_wide=True),
        Heading("Size", True),
        Heading("Published", True),
        Heading("Unit"),
        Heading("Clients", True),
        Heading("Why ours is missing", is_wide=True),
        Heading("Source", is_wide=True),
    )
    rows = [
        (
            context.scenario_cell(row.scenario),
            _product_cell(context, row),
            size_cell(row.message_bytes),
            Cell(f"{row.value:,.10g}", row.value),
            text_cell(row.unit),
            whole_cell(row.clients),
            text_cell(match.reason or "its run is not in this report"),
            _source_cell(row),
        )
        for row, match in published
    ]
    return context.report.table("Published figures without one of ours", headings, rows)


def _has_one_kind(context: Context, scenario: str) -> bool:
    found = context.scenario(scenario)
    return found is not None and len(found.persistence) == 1
