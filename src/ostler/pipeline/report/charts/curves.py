"""Curves from points: the swept parameter, the constant ones, and the medians of repetitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.spreads import ValueSpread, spread
from ostler.pipeline.report.rows import PointRow

CLIENTS: Final = "clients"
MESSAGE_BYTES: Final = "message_bytes"
PERSISTENCE: Final = "persistence"
NO_MESSAGES: Final = "no messages"
# Parameters that repeat a column of their own.
_SAID_ELSEWHERE: Final = frozenset({MESSAGE_BYTES, PERSISTENCE, "persistent"})
# The kind of messages: persistence first, which has a column of its own, and NPMSPEED.
_MESSAGES: Final = "messages"
_KINDS: Final = ("persistent", "nonpersistent")
ROUND_TRIP: Final = "round_trip_ms"
_MILLISECONDS: Final = "_ms"
BATCH_SIZE: Final = "batch_size"
CHANNELS: Final = "channels"
CIPHER: Final = "cipher_spec"
CHANNEL_SWEEPS: Final = frozenset({ROUND_TRIP, BATCH_SIZE, CHANNELS, CIPHER})
"""Sweeps that change channels only: one queue manager in the place of two is independent of them."""
_LABELS: Final = {ROUND_TRIP: "round trip of the distance, ms", CHANNELS: "channels each way"}

Value = Callable[[PointRow], float | None]


@dataclass(frozen=True)
class ChartSweep:
    """The parameter along a curve. `label` names the axis with its unit."""

    name: str
    label: str
    is_size: bool = False

    def value(self, point: PointRow) -> float | None:
        if self.name == CLIENTS:
            return point.clients
        if self.name == MESSAGE_BYTES:
            return point.message_bytes
        return _number(series_parts(point.series).get(self.name))

    def words(self, value: float) -> str:
        if self.is_size:
            return numbers.size(value)
        if self.name == CLIENTS:
            return f"{value:,.0f} {'client' if value == 1 else 'clients'}"
        what, _, unit = self.label.partition(", ")
        return f"{what} {numbers.exact(value)} {unit}".rstrip()


@dataclass(frozen=True)
class Curve:
    """Points of one contestant that differ in the sweep and in the repetition only. `steps` are in order of it."""

    run: str
    contestant: str
    kind: str
    group: str
    operation: str
    steps: tuple[tuple[float, tuple[PointRow, ...]], ...]

    @property
    def series(self) -> str:
        """The series of peaks and fits for this curve, where clients are swept."""
        return self.steps[0][1][0].series

    def along(self, value: Value) -> list[tuple[float, ValueSpread]]:
        """Return a value by the sweep, where it is known."""
        found = ((at, spread(value(point) for point in points)) for at, points in self.steps)
        return [(at, each) for at, each in found if each is not None]


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def choose_sweep(
    points: Sequence[PointRow], order: Sequence[str] = (), each: str = "", *, is_idle: bool = False
) -> ChartSweep | None:
    """Return the sweep of a run's points: clients where they differ, else sizes, else a numeric parameter: the first of
    `order`, or by name. `each` names what determines the number of clients. Where all are idle, their number follows
    from what is swept, and is no sweep."""
    if len({point.clients for point in points}) > 1 and not is_idle:
        return ChartSweep(CLIENTS, f"clients, {each}" if each else "clients")
    if len({point.message_bytes for point in points}) > 1:
        return ChartSweep(MESSAGE_BYTES, "message size", True)
    parts = [series_parts(point.series) for point in points]
    names = {name for found in parts for name in found} - _SAID_ELSEWHERE
    for name in sorted(names, key=lambda found: (order.index(found) if found in order else len(order), found)):
        values = [_number(found.get(name)) for found in parts]
        if None not in values and len(set(values)) > 1:
            return ChartSweep(name, _LABELS.get(name, _label(name)))
    return None


def _label(name: str) -> str:
    """Return the label of an axis, with its unit."""
    if name.endswith(_MILLISECONDS):
        return f"{name.removesuffix(_MILLISECONDS).replace('_', ' ')}, ms"
    return name.replace("_", " ")


def series_parts(series: str) -> dict[str, str]:
    """Return the parameters of a series: `message_bytes=2048, cipher_spec=none`. A part without an equals sign belongs
    to the value before it: `log=linear, extents new`; or is a word by itself, where it comes first."""
    found: dict[str, str] = {}
    last = ""
    for part in filter(None, series.split(", ")):
        name, is_pair, value = part.partition("=")
        if is_pair or not last:
            found[name] = value
            last = name if is_pair else ""
        else:
            found[last] += f", {part}"
    return found


def series_words(series: str) -> str:
    """Return a series as text: sizes and persistence as everywhere else, other parameters by name."""
    parts = []
    for name, value in series_parts(series).items():
        if name == MESSAGE_BYTES and value.isdigit():
            parts.append(numbers.size(int(value)))
        elif name in _SAID_ELSEWHERE:
            parts.append({"true": "persistent", "false": "nonpersistent"}.get(value.lower(), value))
        elif name == _MESSAGES and value.startswith(_KINDS):
            parts.append(value)
        else:
            parts.append(parameter_words(name, value))
    return ", ".join(parts)


def parameter_words(name: str, value: str) -> str:
    """Return a parameter as text for people."""
    if name.endswith(_MILLISECONDS):
        return f"{name.removesuffix(_MILLISECONDS).replace('_', ' ')} {value} ms"
    if name == CHANNELS and value.isdigit():
        return numbers.count(int(value), "channel")
    return f"{name.replace('_', ' ')} {value}".strip()


def group_name(point: PointRow, sweep: ChartSweep | None) -> str:
    """Return the constant parameters of a curve as text: size, persistence, and the others of the series."""
    parts = [] if sweep and sweep.name == MESSAGE_BYTES else [numbers.size(point.message_bytes)]
    parts.append("persistent" if point.persistent else "nonpersistent")
    if not point.message_bytes:
        parts = [NO_MESSAGES]
    return ", ".join([*parts, *other_words(point.series, sweep.name if sweep else "")])


def other_words(series: str, left_out: str = "") -> list[str]:
    """Return the parameters of a series besides size and persistence, as text."""
    left = _SAID_ELSEWHERE | {left_out}
    words = (
        _speed(text) if name == _MESSAGES and text.startswith(_KINDS) else parameter_words(name, text)
        for name, text in series_parts(series).items()
        if name not in left
    )
    return [each for each in words if each]


def swept_words(series: str) -> list[str]:
    """Return the points of all sweeps, as text."""
    return [parameter_words(name, text) for name, text in series_parts(series).items()]


def _speed(messages: str) -> str:
    """Return the part behind persistence: `nonpersistent, FAST`."""
    return messages.partition(", ")[2]


def curves(points: Sequence[PointRow], sweep: ChartSweep | None) -> list[Curve]:
    """Return all curves of a run, in the order of measurement."""
    found: dict[tuple[str, str, str, str, str], dict[float, list[PointRow]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        at = 0.0 if sweep is None else sweep.value(point)
        if at is not None:
            key = (point.run, point.contestant, point.kind, group_name(point, sweep), point.operation)
            found[key][at].append(point)
    return [Curve(*key, tuple((at, tuple(steps[at])) for at in sorted(steps))) for key, steps in found.items()]


def middle(points: Sequence[PointRow], value: Value) -> float | None:
    """Return the median of a value over repetitions."""
    found = spread(value(point) for point in points)
    return None if found is None else found.middle
