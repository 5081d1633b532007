"""Charts of message channels: rates by channels, distance or batch size, and processor time by process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import (
    Axis,
    Bar,
    BarChart,
    BarPart,
    ChartLine,
    FittedCurve,
    LineChart,
    Style,
    spans_decades,
)
from ostler.pipeline.report.charts.curves import (
    BATCH_SIZE,
    CHANNELS,
    CIPHER,
    CLIENTS,
    ROUND_TRIP,
    ChartSweep,
    middle,
    parameter_words,
    series_parts,
)
from ostler.pipeline.report.charts.panels import Panel, operations_word, panel_dot
from ostler.pipeline.report.charts.spreads import spread
from ostler.pipeline.report.charts.styles import COLOURS, contestant_order
from ostler.pipeline.report.context import Context
from ostler.pipeline.report.html.document import Block, Code, Inline
from ostler.pipeline.report.rows import LIMIT, PEER, PointRow
from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER

DRAIN: Final = "drain"
DRAINED: Final = "messages drained"
_DISTANCE, _BATCHES_OF = "distance_ms", "batches_of"
_MESSAGES: Final = "messages"
_SPEED: Final = "NPMSPEED"
_NO_CIPHER: Final = "none"
_ROUND_TRIP_OPERATION: Final = "round trip"
# The laboratory's name of a parameter that is the same for all contestants of a step.
_CHANNELS_SHOWN: Final = "channels each way"
_MILLISECONDS: Final = 1000.0
_NANOSECONDS: Final = 1e9
_CURVE_POINTS: Final = 40
_LOG_ACROSS_FROM: Final = 8
_BARS_MAX: Final = 8


@dataclass(frozen=True)
class _RateSweep:
    """The axis of a figure, and the parameters that its lines differ in."""

    sweep: ChartSweep
    lines: tuple[str, ...]
    title: str


_ROADS: Final = (
    _RateSweep(ChartSweep(ROUND_TRIP, "round trip of the distance, ms"), (BATCH_SIZE, CLIENTS), "distance"),
    _RateSweep(ChartSweep(_DISTANCE, "round trip of the distance, ms"), (_BATCHES_OF,), "distance"),
    _RateSweep(ChartSweep(CHANNELS, "channels each way"), (CIPHER,), "channels"),
    _RateSweep(ChartSweep(BATCH_SIZE, "messages in a batch at most"), (_MESSAGES,), "batch size"),
)


def channel_figures(context: Context, name: str, run: str) -> tuple[list[Block], list[Block]]:
    """Return the charts of a scenario with two queue managers: rates where channels are swept, and processor time."""
    points = [point for point in context.points_of[run] if point.kind != LIMIT]
    main = context.main_contestant(run)
    own = [point for point in points if point.contestant == main]
    sweep_lines = next((each for each in _ROADS if len({_at(point, each.sweep.name) for point in own}) > 1), None)
    rates = [] if sweep_lines is None else _rates(context, name, run, points, sweep_lines)
    # While a queue is filled and drained, much work is done that no message needs.
    times = [] if any(point.operation == DRAIN for point in own) else _times(context, name, run, points, sweep_lines)
    return rates, times


def _at(point: PointRow, name: str) -> str:
    """Return the value of a parameter of a point; empty when it has none."""
    if name == CLIENTS:
        return str(point.clients)
    if name == CHANNELS:
        return point.parameters.get(_CHANNELS_SHOWN, series_parts(point.series).get(CHANNELS, ""))
    return series_parts(point.series).get(name, "")


def _number(point: PointRow, name: str) -> float | None:
    text = _at(point, name)
    return float(text) if text.replace(".", "", 1).isdigit() else None


# -- rates -------------------------------------------------------------------------------------------------------------


def _rate(point: PointRow) -> float | None:
    """Return messages or round trips a second. A drain has many messages."""
    if point.operation != DRAIN:
        return point.rate
    drained = point.parameters.get(DRAINED, point.parameters.get(_MESSAGES, ""))
    return int(drained) * _NANOSECONDS / point.mean_ns if drained.isdigit() and point.mean_ns else None


def _rates(context: Context, name: str, run: str, points: Sequence[PointRow], sweep_lines: _RateSweep) -> list[Block]:
    varied = [each for each in sweep_lines.lines if len({_at(point, each) for point in points}) > 1]
    # Clients that are as many as channels have no line of their own.
    charts: dict[str, list[PointRow]] = defaultdict(list)
    for point in points:
        charts[_chart_title(point, [sweep_lines.sweep.name, *varied])].append(point)
    drawn = [
        chart
        for title, members in charts.items()
        if (chart := _rate_chart(context, run, title, members, sweep_lines, varied))
    ]
    if not drawn:
        return []
    note: tuple[Inline, ...] = ("Run ", context.report.run(run), ": ", Code(context.runs[run].command))
    if any(chart.curves for chart in drawn):
        note = (f"{_CURVES_SAY[points[0].operation == _ROUND_TRIP_OPERATION]} ", *note)
    if any(line.is_flat for chart in drawn for line in chart.lines):
        note = ("One queue manager has no channels: its line is the same load without them. ", *note)
    caption = f"{context.title(name)}: rate by {sweep_lines.title}"
    return [context.report.figure(caption, drawn, [run], note)]


_CURVES_SAY: Final = {
    False: "Dotted: one batch in each round trip, all that a channel can do that waits for the answer to each batch.",
    True: "Dotted: one round trip of the distance for each request, all that so many requesters can do.",
}


def _chart_title(point: PointRow, left_out: Sequence[str]) -> str:
    """Return the parameters that all lines of a chart have in common."""
    left = {*left_out, CHANNELS, "message_bytes", "persistence"}
    kind = "persistent" if point.persistent else "nonpersistent"
    words = (_words(each, text) for each, text in series_parts(point.series).items() if each not in left)
    # There is room for few words above a chart.
    others = [each.removeprefix(f"{_SPEED} ") for each in words]
    return ", ".join(filter(None, [numbers.size(point.message_bytes), kind, *others]))


def _words(name: str, value: str) -> str:
    if name == CIPHER:
        return "plain" if value == _NO_CIPHER else "TLS"
    if name in (BATCH_SIZE, _BATCHES_OF):
        return f"batches of {value}"
    if name == CLIENTS:
        return numbers.count(int(value), "requester")
    if name == _MESSAGES:
        speed = value.partition(", ")[2]
        return f"{_SPEED} {speed}" if speed else ""
    return parameter_words(name, value)


def _line_words(point: PointRow, varied: Sequence[str], is_main: bool) -> str:
    """Return the parameters of a line. One queue manager is independent of channels, and peers have no NPMSPEED."""
    if point.contestant == ONE_QUEUE_MANAGER:
        varied = [each for each in varied if each == CLIENTS]
    elif not is_main:
        varied = [each for each in varied if each != _MESSAGES]
    return ", ".join(filter(None, (_words(each, _at(point, each)) for each in varied)))


def _rate_chart(
    context: Context, run: str, title: str, points: Sequence[PointRow], sweep_lines: _RateSweep, varied: Sequence[str]
) -> LineChart | None:
    main = context.main_contestant(run)
    groups: dict[tuple[str, str], list[PointRow]] = defaultdict(list)
    for point in points:
        groups[point.contestant, _line_words(point, varied, point.contestant == main)].append(point)
    kinds = {point.contestant: point.kind for point in points}
    ordered = sorted(groups, key=lambda each: contestant_order(each[0], kinds[each[0]]))
    word = operations_word(points[0].operation) if points[0].operation == _ROUND_TRIP_OPERATION else _MESSAGES
    panel = Panel(title, f"{word} a second", _rate, numbers.figure, f"{word}/s")
    single = {name for name in kinds if sum(1 for contestant, _ in groups if contestant == name) == 1}
    made = [
        (contestant, groups[contestant, words], line)
        for number, (contestant, words) in enumerate(ordered)
        if (
            line := _line(_name(contestant, words, main, single), groups[contestant, words], sweep_lines, panel, number)
        )
    ]
    if not made:
        return None
    lines = [line for _, _, line in made]
    top = max(each for line in lines for dot in line.dots for each in (dot.y, dot.high or 0.0))
    heights = [dot.y for line in lines for dot in line.dots]
    bottom = min(heights) if spans_decades(heights) else 0.0
    bounds = (_bound(members, sweep_lines, line.style, bottom, top) for whose, members, line in made if whose == main)
    across = sorted({dot.x for line in lines for dot in line.dots})
    is_even = across[0] <= 0
    is_log = not is_even and len(across) > 2 and across[-1] / across[0] >= _LOG_ACROSS_FROM
    return LineChart(
        title,
        Axis(sweep_lines.sweep.label, is_log, tuple(across), is_even=is_even),
        Axis(panel.label, spans_decades(heights)),
        tuple(lines),
        tuple(each for each in bounds if each is not None),
    )


def _name(contestant: str, words: str, main: str, single: Collection[str]) -> str:
    """Return a short name beside a line: the contestant, and its parameters where there are several lines."""
    if contestant == main and contestant not in single:
        return words
    whose = "one queue manager" if contestant == ONE_QUEUE_MANAGER else contestant
    return whose if contestant in single else f"{whose}, {words}"


def _line(
    name: str, points: Sequence[PointRow], sweep_lines: _RateSweep, panel: Panel, number: int
) -> ChartLine | None:
    steps: dict[float, list[PointRow]] = defaultdict(list)
    for point in points:
        at = _number(point, sweep_lines.sweep.name)
        if at is not None:
            steps[at].append(point)
    found = [(at, spread(_rate(point) for point in steps[at])) for at in sorted(steps)]
    dots = tuple(panel_dot(at, each, panel, sweep_lines.sweep) for at, each in found if each is not None)
    if not dots:
        return None
    is_one = points[0].contestant == ONE_QUEUE_MANAGER
    style = Style(number % COLOURS, number, False, 2 if is_one else 1 if points[0].kind == PEER else 0)
    return ChartLine(name, style, dots, is_flat=is_one and len(dots) == 1)


def _bound(
    points: Sequence[PointRow], sweep_lines: _RateSweep, style: Style, bottom: float, top: float
) -> FittedCurve | None:
    """Return the curve of waiting for every answer, where it lies within the chart."""
    first = points[0]
    if sweep_lines.title != "distance" or not (first.persistent or first.operation == _ROUND_TRIP_OPERATION):
        return None
    is_asked = first.operation == _ROUND_TRIP_OPERATION
    at_once = first.clients if is_asked else _number(first, BATCH_SIZE) or _number(first, _BATCHES_OF)
    trips = [each for point in points if (each := _number(point, sweep_lines.sweep.name)) is not None]
    if not at_once or not trips:
        return None
    begin, end = max(at_once * _MILLISECONDS / top, min(trips)), max(trips)
    if bottom:
        end = min(end, at_once * _MILLISECONDS / bottom)
    if begin >= end:
        return None
    places = sorted({begin * (end / begin) ** (number / _CURVE_POINTS) for number in range(_CURVE_POINTS + 1)})
    name = f"one round trip for each of {at_once:g} requesters" if is_asked else f"one batch of {at_once:g} in a trip"
    return FittedCurve(name, style, tuple((each, at_once * _MILLISECONDS / each) for each in places))


# -- processor time ----------------------------------------------------------------------------------------------------

_NEAR, _NEAR_LOG = Style(0, 1), Style(5, 1)
_FAR, _FAR_LOG = Style(1, 1), Style(4, 1)
_BROKER, _LOG = Style(2, 1), Style(3, 1)
_DRIVER: Final = Style(0, 1, True)


def _times(
    context: Context, name: str, run: str, points: Sequence[PointRow], sweep_lines: _RateSweep | None
) -> list[Block]:
    """Return processor time of an operation by process: bars for the steps of Ostler, and for the best step of all
    others."""
    sweep = sweep_lines.sweep.name if sweep_lines else CLIENTS
    charts: dict[str, list[PointRow]] = defaultdict(list)
    for point in points:
        charts[_chart_title(point, [sweep])].append(point)
    main = context.main_contestant(run)
    drawn = []
    for title, members in charts.items():
        bars = _bars(context, main, members, sweep)
        if bars and any(point.contestant == main for point in members):
            drawn.append(BarChart(title, Axis("µs of processor time for each operation"), tuple(bars)))
    if not drawn:
        return []
    note: tuple[Inline, ...] = (
        "A log is what the threads used that write it; whoever needs a record on storage first writes the log himself, "
        "and that is in the time of the queue manager. Run ", context.report.run(run), ".",
    )  # fmt: skip
    return [context.report.figure(f"{context.title(name)}: whose processor time it is", drawn, [run], note)]


def _bars(context: Context, main: str, points: Sequence[PointRow], sweep: str) -> list[Bar]:
    steps: dict[tuple[str, float], list[PointRow]] = defaultdict(list)
    for point in points:
        steps[point.contestant, _number(point, sweep) or 0.0].append(point)
    kinds = {point.contestant: point.kind for point in points}
    found: list[Bar] = []
    for contestant in sorted(kinds, key=lambda each: contestant_order(each, kinds[each])):
        mine = {at: members for (who, at), members in sorted(steps.items()) if who == contestant}
        if contestant != main:
            best = max(mine, key=lambda at: middle(mine[at], _rate) or 0.0)
            mine = {best: mine[best]}
        for at in _some(list(mine)):
            words = "" if contestant == ONE_QUEUE_MANAGER else _step_words(sweep, at)
            bar = _one_bar(", ".join(filter(None, (contestant, words))), mine[at])
            if bar is not None:
                found.append(bar)
    return found


def _some(places: list[float]) -> list[float]:
    """Return as many values as a chart can show: the first, the last, and some between."""
    if len(places) <= _BARS_MAX:
        return places
    return [places[number * (len(places) - 1) // (_BARS_MAX - 1)] for number in range(_BARS_MAX)]


def _step_words(sweep: str, at: float) -> str:
    if sweep in (ROUND_TRIP, _DISTANCE):
        return f"{at:g} ms away" if at else "no distance"
    if sweep == CLIENTS:
        return numbers.count(int(at), "client")
    return _words(sweep, f"{at:g}")


def _one_bar(label: str, points: Sequence[PointRow]) -> Bar | None:
    broker = middle(points, lambda point: point.broker_cpu_us)
    if broker is None:
        return None
    log = middle(points, lambda point: point.log_cpu_us) or 0.0
    near, far = middle(points, lambda point: point.near_cpu_us), middle(points, lambda point: point.far_cpu_us)
    near_log = middle(points, lambda point: point.near_log_cpu_us) or 0.0
    far_log = middle(points, lambda point: point.far_log_cpu_us) or 0.0
    whose = "queue manager" if points[0].contestant == ONE_QUEUE_MANAGER else "both ends"
    shares = [(whose, _BROKER, broker - log), (f"log of {whose}", _LOG, log)]
    if near is not None and far is not None:
        shares = [
            ("near", _NEAR, near - near_log), ("near log", _NEAR_LOG, near_log),
            ("far", _FAR, far - far_log), ("far log", _FAR_LOG, far_log),
        ]  # fmt: skip
    shares.append(("driver", _DRIVER, middle(points, lambda point: point.driver_cpu_us) or 0.0))
    parts = tuple(
        BarPart(name, style, value, f"{numbers.figure(value)} µs") for name, style, value in shares if value > 0
    )
    return Bar(label, parts, f"{numbers.figure(sum(part.value for part in parts))} µs")
