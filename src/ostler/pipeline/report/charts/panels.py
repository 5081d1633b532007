"""Charts of a scenario, one for each value of points: its title, unit and axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import Axis, Dot, spans_decades
from ostler.pipeline.report.charts.curves import ChartSweep
from ostler.pipeline.report.charts.spreads import ValueSpread
from ostler.pipeline.report.rows import PointRow

_NANOSECONDS: Final = 1e6
_MICROSECONDS: Final = 1e6
_WHOLE_PERCENT: Final = 100.0

OPERATIONS: Final = {
    "round trip": "round trips",
    "session": "sessions",
    "connect": "connections",
    "put": "puts",
    "get": "gets",
    "MQPUT and MQGET": "puts and gets",
    "MQSUB": "subscriptions",
    "display": "displays",
    "look": "looks",
    "clearing": "clearings",
    "drain": "drains",
}

_RESPONSE_TIMES: Final = (
    ("mean", "mean_ns", False),
    ("median", "p50_ns", True),
    ("90th percentile", "p90_ns", True),
    ("99th percentile", "p99_ns", False),
)


def operations_word(operation: str) -> str:
    """Return the plural of the operation that a rate counts."""
    return OPERATIONS.get(operation, operation)


@dataclass(frozen=True)
class Panel:
    """One chart of a value of points, with its text form. `is_detail` marks values that few readers ask for."""

    title: str
    label: str
    value: Callable[[PointRow], float | None]
    words: Callable[[float], str]
    unit: str
    is_detail: bool = False


def _milliseconds(name: str) -> Callable[[PointRow], float | None]:
    def value(point: PointRow) -> float | None:
        found = getattr(point, name)
        return None if found is None else found / _NANOSECONDS

    return value


def _processor(title: str, value: Callable[[PointRow], float | None], *, is_detail: bool = False) -> Panel:
    return Panel(f"Processor time of the {title}", "µs for each operation", value, numbers.figure, "µs", is_detail)


def _for_each(value: Callable[[PointRow], float | None]) -> Callable[[PointRow], float | None]:
    """Return a count of the window for each operation, where messages were persistent: others leave the disk alone."""

    def each(point: PointRow) -> float | None:
        found = value(point) if point.persistent and point.count else None
        return None if found is None else found / point.count

    return each


def _disk_requests(point: PointRow) -> float | None:
    known = [each for each in (point.disk_reads, point.disk_writes, point.disk_flushes) if each is not None]
    return sum(known) if known else None


def _disk_busy_us(point: PointRow) -> float | None:
    busy = point.disk_busy_percent
    return None if busy is None else busy / _WHOLE_PERCENT * point.seconds * _MICROSECONDS


def _disk(title: str, label: str, value: Callable[[PointRow], float | None], unit: str) -> Panel:
    return Panel(f"Disk, {title}", label, value, numbers.figure, unit, is_detail=True)


_DISK: Final = (
    _disk("written", "bytes for each operation", _for_each(lambda point: point.disk_written_bytes), "bytes"),
    _disk("requests", "reads, writes and flushes for each operation", _for_each(_disk_requests), "requests"),
    _disk("busy", "µs for each operation", _for_each(_disk_busy_us), "µs"),
    _disk(
        "time of a request",
        "µs, waiting included",
        lambda point: point.disk_wait_us if point.persistent else None,
        "µs",
    ),
    _disk("queue", "requests in progress", lambda point: point.disk_queue if point.persistent else None, "requests"),
)


def panels(operation: str, is_joined: bool = False, has_rates: bool = True) -> tuple[Panel, ...]:
    """Return the charts of an operation. Two joined queue managers have a chart each."""
    word = operations_word(operation)
    rate = Panel("Rate", f"{word} a second", lambda point: point.rate, numbers.figure, f"{word}/s")
    ends = (
        _processor("broker, both ends", lambda point: point.broker_cpu_us),
        _processor("near end", lambda point: point.near_cpu_us, is_detail=True),
        _processor("far end", lambda point: point.far_cpu_us, is_detail=True),
    )
    return (
        *((rate,) if has_rates else ()),
        *(
            Panel(f"Response time, {what}", "milliseconds", _milliseconds(name), numbers.figure, "ms", is_detail)
            for what, name, is_detail in _RESPONSE_TIMES
        ),
        *(ends if is_joined else (_processor("broker", lambda point: point.broker_cpu_us),)),
        _processor("driver", lambda point: point.driver_cpu_us, is_detail=True),
        Panel("Processors busy", "% of all cores", lambda point: point.machine_busy_percent, numbers.figure, "%", True),
        *_DISK,
    )


def up_axis(panel: Panel, values: Sequence[float]) -> Axis:
    if panel.unit == "%":
        return Axis(panel.label, top=_WHOLE_PERCENT if max(values) <= _WHOLE_PERCENT else None)
    return Axis(panel.label, spans_decades(values))


def panel_dot(at: float, each: ValueSpread, panel: Panel, sweep: ChartSweep) -> Dot:
    sure = ""
    if each.low is not None and each.high is not None:
        sure = f"{panel.words(each.low)} to {panel.words(each.high)}"
    value = f"{panel.words(each.middle)} {panel.unit}"
    return Dot(at, each.middle, each.low, each.high, sweep.words(at), value, sure, each.words)
