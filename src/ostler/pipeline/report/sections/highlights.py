"""Highlights for a reader with one minute: the peaks, the ranking, the regressions, and the reliability."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Axis, Dot, Strip, Style, side_by_side, spans_decades
from ostler.pipeline.report.charts.curves import ROUND_TRIP as DISTANCE
from ostler.pipeline.report.charts.curves import series_parts
from ostler.pipeline.report.charts.panels import operations_word
from ostler.pipeline.report.charts.spreads import spread
from ostler.pipeline.report.charts.styles import contestant_order
from ostler.pipeline.report.context import Context, described, messages
from ostler.pipeline.report.drivers import product_of
from ostler.pipeline.report.html.document import (
    Block,
    Bullets,
    Card,
    Cards,
    Hyperlink,
    Paragraph,
    ReportFigure,
    Section,
    Text,
)
from ostler.pipeline.report.rows import LIMIT, PEER, ComparisonRow, PeakRow
from ostler.pipeline.report.sections.changes import release_highlights
from ostler.pipeline.report.sections.doubts import doubt_words, doubts_paragraph
from ostler.pipeline.report.sections.scenarios import peak_table
from ostler.pipeline.steps.contestants import LEAN, LIBRARY, ONE_QUEUE_MANAGER, driver_of

_CARDS_MAX: Final = 8
_ROUND_TRIP: Final = "round trip"
_CIPHER, _NO_CIPHER = "cipher_spec", "none"
_STRIPS_MAX: Final = 24
# As for verdicts: a difference within this and the noise of the run counts as the same.
TOLERANCE_PERCENT: Final = 6.0


def highlights_section(context: Context) -> Section:
    best = _best_peaks(context)
    doubts = doubts_paragraph(context)
    blocks: list[Block] = [doubts] if doubts is not None else []
    if best:
        blocks.append(Cards(tuple(_card(context, peak) for peak in best[:_CARDS_MAX])))
    blocks.append(Bullets(tuple(_statements(context))))
    blocks += release_highlights(context)
    figure = _glance(context)
    if figure is not None:
        blocks.append(figure)
    return Section("highlights", "Highlights", tuple(blocks))


def peaks_section(context: Context) -> Section:
    runs = list(context.speaking.values())
    text = "The best step of every curve, by the run that speaks for its scenario."
    return Section("peaks", "Peak rates", (Paragraph(text), peak_table(context, "Peaks of all scenarios", runs)))


def _best_peaks(context: Context) -> list[PeakRow]:
    """Return Ostler's peak with the smallest messages of each scenario. The rate of a rated load is what was asked for,
    and no peak."""
    found = []
    for run in context.speaking.values():
        own = context.own_peaks(run)
        if own and all(point.asked_rate is None for point in context.points_of[run] if point.kind != LIMIT):
            smallest = min(peak.message_bytes for peak in own)
            found.append(max((each for each in own if each.message_bytes == smallest), key=lambda each: each.peak_rate))
    return found


def _card(context: Context, peak: PeakRow) -> Card:
    operation = next((point.operation for point in context.points_of[peak.run]), "")
    there = f"{operations_word(operation)}/s with {numbers.count(peak.peak_clients, 'client')}"
    busy = "" if peak.peak_busy_percent is None else f", processors {numbers.percent(peak.peak_busy_percent)} busy"
    doubt = doubt_words([context.runs[peak.run]])
    through = "" if peak.contestant == context.main_contestant(peak.run) else f" ({peak.contestant})"
    text: Text = (f"{there}{through}{busy}. ", context.report.run(peak.run), f", {doubt}" if doubt else "")
    label = described(context.title(peak.scenario), messages(peak.message_bytes, peak.persistent))
    return Card(label, numbers.figure(peak.peak_rate), text)


def _statements(context: Context) -> list[Text]:
    tables = context.tables
    found: list[Text] = [
        (
            f"{numbers.count(len(context.speaking), 'scenario')} from {numbers.count(len(tables.runs), 'run')}, "
            f"{numbers.count(len(tables.points), 'measured point')}; every figure links to its run and the ",
            Hyperlink("command that repeats it", "reproduce"),
            ".",
        )
    ]
    rates = [row for row in tables.comparisons if row.kind in ("release", "repeat") and row.metric == "rate"]
    if rates:
        verdicts = Counter(row.verdict for row in rates)
        counts = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common())
        found.append((f"Rates against earlier runs: {counts}. See ", Hyperlink("comparisons", "comparisons"), "."))
    found += _against_one(context)
    found += _against_peers(context)
    noises = [run.noise_percent for run in tables.runs if run.noise_percent is not None]
    if noises:
        middle = spread(noises)
        assert middle is not None
        median, worst = numbers.percent(middle.middle), numbers.percent(max(noises))
        noise = f"Noise of the machine within runs: median {median}, worst {worst}."
        silent = " Differences below that of their run mean nothing."
        found.append((noise + silent + " See ", Hyperlink("data quality and noise", "quality"), "."))
    rejected = sum(row.rows for row in tables.rejected)
    found.append(
        f"{numbers.count(rejected, 'row')} quarantined for violating a rule."
        if rejected
        else "No row broke a rule of data quality."
    )
    empty = [
        run.run
        for run in tables.runs
        if not context.points_of.get(run.run) and run.run not in context.runs_with_results
    ]
    if empty:
        found.append(
            (f"{numbers.count(len(empty), 'run')} without a measured point: ", *context.report.runs(empty), ".")
        )
    partial = sum(1 for run in tables.runs if not run.is_complete)
    if partial:
        found.append(f"{numbers.count(partial, 'run')} not complete: measured points are shown, and marked.")
    return found


def _against_one(context: Context) -> list[Text]:
    """Return the ratio of two queue managers to one in the same run, for requests and replies."""
    rows = [
        row
        for row in context.tables.comparisons
        if row.left_name == ONE_QUEUE_MANAGER and row.clients is None and row.metric == "rate" and row.left_value
        and row.right_run in context.speaking.values() and _is_plain(context, row)
    ]  # fmt: skip
    middle = spread(row.right_value / row.left_value for row in rows)
    if middle is None:
        return []
    over = "" if len(rows) == 1 else f", median of {len(rows)} curves"
    runs = [context.runs[run] for run in dict.fromkeys(row.right_run for row in rows)]
    within = _within(middle.middle, [run.noise_percent or 0.0 for run in runs])
    reached = f"With two queue managers Ostler's peak is {numbers.times(middle.middle)} that with one"
    text = f"{reached}, of requests and replies{over}{within} ("
    doubt = doubt_words(runs)
    links = (*context.report.runs(run.run for run in runs), f", {doubt}" if doubt else "")
    return [(text, *links, "). See ", Hyperlink("options", "comparisons-option"), ".")]


def _within(ratio: float, noises: Sequence[float]) -> str:
    """Return that a ratio is within the noise; empty where it is not."""
    # A quarter is as far from the same as four times.
    apart = 100 * (max(ratio, 1 / ratio) - 1) if ratio else math.inf
    return ", which is within the noise" if apart <= TOLERANCE_PERCENT + max(noises) else ""


def _is_plain(context: Context, row: ComparisonRow) -> bool:
    """Return whether a row is of requests and replies, at full rate, over channels without distance and TLS."""
    options, scenario = series_parts(row.series), context.scenario(row.scenario)
    is_near = options.get(DISTANCE, "0") == "0" and options.get(_CIPHER, _NO_CIPHER) == _NO_CIPHER
    return is_near and (scenario is None or _CIPHER not in scenario.parameters) and all(
        point.operation == _ROUND_TRIP and point.asked_rate is None
        for point in context.points_of[row.right_run]
        if point.kind != LIMIT
    )  # fmt: skip


@dataclass
class _Pairs:
    """Ratios of Ostler's peaks to those of another product with the same kind of driver and the same promises."""

    ratios: list[float] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    noises: list[float] = field(default_factory=list)


_PairKey = tuple[str, str, bool, str, str]
"""Driver, the other contestant, persistence, what Ostler promises, and what the other promises."""


def _against_peers(context: Context) -> list[Text]:
    """Return sentences on Ostler's peak and each peer's, over the scenarios of both: lean drivers to lean drivers and
    libraries to libraries, with what each of the two promises."""
    found: dict[_PairKey, _Pairs] = {}
    for run in context.speaking.values():
        for peak in context.peaks_of.get(run, []):
            ours = _our_peak(context, peak) if peak.kind == PEER and peak.peak_rate else None
            if ours is None:
                continue
            key = (
                driver_of(peak.contestant, peak.kind),
                peak.contestant,
                peak.persistent,
                context.promise(run, ours.contestant, ours.persistent),
                context.promise(run, peak.contestant, peak.persistent),
            )
            pairs = found.setdefault(key, _Pairs())
            pairs.ratios.append(ours.peak_rate / peak.peak_rate)
            pairs.runs.append(run)
            pairs.noises.append(context.runs[run].noise_percent or 0.0)
    ordered = sorted(found.items(), key=lambda each: (each[0][0] != LEAN, -len(each[1].ratios), each[0]))
    return [_peer_sentence(context, key, pairs) for key, pairs in ordered]


def _our_peak(context: Context, theirs: PeakRow) -> PeakRow | None:
    """Return Ostler's peak of the same curve with the same kind of driver: the plain one of several."""
    driver = driver_of(theirs.contestant, theirs.kind)
    own = [
        peak
        for peak in context.own_peaks(theirs.run)
        if peak.series == theirs.series and driver_of(peak.contestant, peak.kind) == driver
    ]
    return min(own, key=lambda each: (len(each.contestant), each.contestant), default=None)


def _peer_sentence(context: Context, key: _PairKey, pairs: _Pairs) -> Text:
    driver, name, persistent, our_promise, their_promise = key
    middle = spread(pairs.ratios)
    assert middle is not None
    over = "" if len(pairs.ratios) == 1 else f", median of {len(pairs.ratios)} curves"
    within = _within(middle.middle, pairs.noises)
    drivers = "Lean drivers" if driver == LEAN else "Libraries"
    kind = "persistent" if persistent else "nonpersistent"
    product = product_of(name) if driver == LIBRARY else name
    through = f" through {name.removeprefix(product).removeprefix(', ')}" if product != name else ""
    doubt = doubt_words(context.runs[run] for run in pairs.runs)
    promises = (
        f"; Ostler promises: {our_promise}; {product}: {their_promise}"
        if our_promise and their_promise
        else "; the runs do not say what the two promise, so it may not be the same work"
    )
    text = (
        f"{drivers}, {kind}: Ostler's peak is {numbers.times(middle.middle)} that of {product}{through}{over}{within} ("
    )
    return (text, *context.report.runs(pairs.runs), f"{', ' + doubt if doubt else ''}){promises}.")


def _glance(context: Context) -> ReportFigure | None:
    """Return the peak rates of all products, one row for each curve and kind of driver, on one axis. Limits of the
    machine are with the scenarios."""
    strips: list[Strip] = []
    runs: list[str] = []
    left = 0
    for name, run in context.speaking.items():
        groups: dict[tuple[int, bool, str], list[PeakRow]] = {}
        for peak in context.peaks_of.get(run, []):
            if peak.kind != LIMIT:
                driver = driver_of(peak.contestant, peak.kind)
                groups.setdefault((peak.message_bytes, peak.persistent, driver), []).append(peak)
        for (_, _, driver), peaks in groups.items():
            if len(strips) == _STRIPS_MAX:
                left += 1
                continue
            runs.append(run)
            label = described(context.title(name), messages(peaks[0].message_bytes, peaks[0].persistent))
            strips.append(Strip(f"{label}, libraries" if driver == LIBRARY else label, _glance_dots(context, peaks)))
    if not strips:
        return None
    values = [dot.x for strip in strips for _, _, dot in strip.dots]
    axis = Axis("operations a second", spans_decades(values))
    more = f" {numbers.count(left, 'curve')} more: see the table of peaks." if left else ""
    alike = "Lean drivers stand beside lean drivers, and libraries beside libraries. Promises differ: see "
    note: Text = (alike, Hyperlink("contestants", "contestants"), ". Runs ", *context.report.runs(runs), f".{more}")
    return context.report.figure("Peak rates at a glance", side_by_side("Peak rates", axis, strips), runs, note)


def _glance_dots(context: Context, peaks: Sequence[PeakRow]) -> tuple[tuple[str, Style, Dot], ...]:
    """Return the best of each contestant, Ostler drawn last and so on top."""
    best: dict[str, PeakRow] = {}
    for peak in sorted(peaks, key=lambda each: each.peak_rate):
        best[peak.contestant] = peak
    ordered = sorted(best.values(), key=lambda each: contestant_order(each.contestant, each.kind), reverse=True)
    return tuple((each.contestant, context.styles[each.contestant], _peak_dot(each)) for each in ordered)


def _peak_dot(peak: PeakRow) -> Dot:
    words = f"{numbers.figure(peak.peak_rate)}/s with {numbers.count(peak.peak_clients, 'client')}"
    basis = numbers.count(peak.repetitions, "repetition")
    return Dot(peak.peak_rate, 0.0, None, None, numbers.size(peak.message_bytes), words, basis=basis)
