"""The sentence of a scenario's chart: the course of Ostler's curve, its limit, and other brokers beside it.

Brokers are compared like with like: driven by the laboratory's own driver, as Ostler is, not by a client library; and
where they promise something else, the sentence says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from ostler.pipeline.report.charts.curves import CLIENTS, ChartSweep, Curve
from ostler.pipeline.report.charts.panels import Panel
from ostler.pipeline.report.charts.sentences import limit_sentence, other_sentence, rate_sentence, trend_sentence
from ostler.pipeline.report.context import Context
from ostler.pipeline.report.drivers import promise_of
from ostler.pipeline.report.rows import LIMIT, PEER
from ostler.pipeline.steps.contestants import driver_of

_PEERS_MAX = 3


def curve_sentence(context: Context, panel: Panel, members: Sequence[Curve], sweep: ChartSweep) -> str:
    """Return the sentence of one chart; empty when there is nothing to say."""
    main = context.main_contestant(members[0].run)
    own = _told_curve(members, main)
    if own is None:
        return ""
    points = _values(own, panel)
    if not points:
        return ""
    noise = context.runs[own.run].noise_percent or 0.0
    others = [] if own.contestant != main else _peers(context, own, members)
    is_rate = panel.unit.endswith("/s")
    tell = rate_sentence if is_rate else trend_sentence
    parts = [tell(own.contestant, points, sweep.words, panel.unit, noise)]
    if is_rate:
        parts.append(_limit(context, own, sweep))
        peak = max(value for _, value in points)
        found = [
            (name, max(value for _, value in values)) for name, curve in others if (values := _values(curve, panel))
        ]
        parts.append(other_sentence("At their peaks", peak, found[:_PEERS_MAX], noise))
    elif not panel.is_detail:
        parts.append(_beside(panel, points, others, sweep, noise))
    return " ".join(filter(None, parts))


def told_limits(
    context: Context, curves: Sequence[Curve], sweep: ChartSweep | None, groups: Sequence[str]
) -> set[tuple[str, str]]:
    """Return the contestants and series whose limit is in the sentence of a chart."""
    found: set[tuple[str, str]] = set()
    for group in groups if sweep is not None else ():
        members = [curve for curve in curves if curve.group == group]
        own = _told_curve(members, context.main_contestant(members[0].run))
        if own is not None and sweep is not None and _limit(context, own, sweep):
            found.add((own.contestant, own.series))
    return found


def _told_curve(members: Sequence[Curve], main: str) -> Curve | None:
    """Return the curve that the sentence of a chart is about: Ostler's, or else that of the first broker."""
    own = next((curve for curve in members if curve.contestant == main), None)
    return own or next((curve for curve in members if curve.kind != LIMIT), None)


def _values(curve: Curve, panel: Panel) -> list[tuple[float, float]]:
    return [(at, each.middle) for at, each in curve.along(panel.value)]


def _peers(context: Context, own: Curve, members: Sequence[Curve]) -> list[tuple[str, Curve]]:
    """Return brokers that were driven as Ostler was, by name; a name says where the promise differs."""
    driver = driver_of(own.contestant, own.kind)

    def promise(curve: Curve) -> str:
        persistent = curve.steps[0][1][0].persistent
        return promise_of(context.tables.contestants, curve.run, curve.contestant, persistent)

    def name(curve: Curve) -> str:
        return curve.contestant if promise(curve) == promise(own) else f"{curve.contestant} (another promise)"

    alike = (curve for curve in members if curve.kind == PEER and driver_of(curve.contestant, curve.kind) == driver)
    return [(name(curve), curve) for curve in alike]


def _limit(context: Context, own: Curve, sweep: ChartSweep) -> str:
    if sweep.name != CLIENTS:
        return ""
    for row in context.tables.scalings:
        if (row.run, row.contestant, row.series) == (own.run, own.contestant, own.series):
            return limit_sentence(row.limited_by, row.why.replace("%", "\N{NO-BREAK SPACE}%"))
    return ""


def _beside(
    panel: Panel, points: Sequence[tuple[float, float]], others: Sequence[tuple[str, Curve]], sweep: ChartSweep,
    noise: float,
) -> str:  # fmt: skip
    """Return other brokers at the last step that Ostler has, where they have it, too."""
    at, value = points[-1]
    found = [(name, dict(_values(curve, panel)).get(at)) for name, curve in others]
    known = [(name, there) for name, there in found if there is not None]
    return other_sentence(f"With {sweep.words(at)}", value, known[:_PEERS_MAX], noise)
