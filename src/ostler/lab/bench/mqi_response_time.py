"""Scenario `mqi-response-time`: one application puts a message on an empty queue and gets it back, size by size.

Once non-persistent and once persistent, outside syncpoint. Each point is the 90th percentile of 5,000 timings. The
queue manager is made as with `crtmqm -lc -lf 2048`.
"""

from __future__ import annotations

import gc
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ostler.lab.bench.latency import Latency
from ostler.lab.bench.result import Chart, Result
from ostler.lab.common.embedded import QUEUE, EmbeddedApplication, fresh
from ostler.lab.common.own_process import Report
from ostler.lab.common.probes import BarePair, ForcedFile
from ostler.lab.common.put_and_get import PutAndGet
from ostler.lab.common.samples import ratio
from ostler.server.config.qm_ini import LogSection, LogType

TITLE = "MQI response time by message size, 90th percentile"
PUT = "MQPUT"
GET = "MQGET"
PAIR = "MQPUT and MQGET"
BARE = "bare deque and dictionary"
FORCE = "writing and forcing the data and a page"
_LOG = LogSection(type=LogType.CIRCULAR, file_pages=2048)
_PAGE = bytes(4096)
_WARM_UP = 20
# The limit needs fewer timings: nothing in it varies but the machine.
_LIMIT_SHARE = 5
_PROBE_FILE_BYTES = 64 << 20


@dataclass(frozen=True)
class Parameters:
    body_bytes: tuple[int, ...] = (
        50, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 256_000, 500_000, 1_000_000, 2_000_000,
    )  # fmt: skip
    samples: int = 5000
    seconds_per_point_max: float = 20.0


FULL = Parameters()
QUICK = Parameters((50, 2_000, 20_000, 256_000, 2_000_000), 2000, 1.5)


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("mqi-response-time", TITLE, asdict(parameters))
    report(0.0, "making the log")
    with fresh(scratch, _LOG) as manager:
        application = EmbeddedApplication(manager)
        file = ForcedFile(scratch / "probe", _PROBE_FILE_BYTES)
        points = [(size, persistent) for persistent in (False, True) for size in parameters.body_bytes]
        gc.collect()
        gc.freeze()
        for number, (size, persistent) in enumerate(points):
            report(number / len(points), f"{'persistent' if persistent else 'non-persistent'}, {size:,} bytes")
            point = Point(application, file, size, persistent)
            point.run(parameters)
            point.note(result)
        gc.unfreeze()
        application.close()
        file.close()
    _sum_up(result, parameters)
    return result


class Point:
    """All timings of one size and persistence."""

    def __init__(self, application: EmbeddedApplication, file: ForcedFile, size: int, persistent: bool) -> None:
        self._application = PutAndGet(application.hconn, QUEUE, size, persistent)
        self._file = file
        self._body = self._application.body
        self._pair = BarePair(self._body)
        self._labels = {"bytes": size, "persistence": "persistent" if persistent else "non-persistent"}
        self._persistent = persistent
        self._puts: list[int] = []
        self._gets: list[int] = []
        self._limits: list[int] = []

    def run(self, parameters: Parameters) -> None:
        for _ in range(_WARM_UP):
            self._sample()
        self._puts.clear()
        self._gets.clear()
        deadline = time.monotonic() + parameters.seconds_per_point_max
        while len(self._puts) < parameters.samples and time.monotonic() < deadline:
            self._sample()
            if len(self._puts) % _LIMIT_SHARE == 1:
                self._limits.append(self._limit())

    def _sample(self) -> None:
        began, between, end = self._application.sample()
        self._puts.append(between - began)
        self._gets.append(end - between)

    def _limit(self) -> int:
        """What must be done at least: a bare pair; or a force for the put and one for the get."""
        if not self._persistent:
            return self._pair.run(1)
        began = time.perf_counter_ns()
        self._file.write_and_force(self._body)
        self._file.write_and_force(_PAGE)
        return time.perf_counter_ns() - began

    def note(self, result: Result) -> None:
        pairs = [put + get for put, get in zip(self._puts, self._gets, strict=True)]
        for name, taken in ((PUT, self._puts), (GET, self._gets), (PAIR, pairs)):
            result.measurements.append(_latency(taken).measurement(name, {**self._labels}))
        limit = FORCE if self._persistent else BARE
        result.limits.append(_latency(self._limits).measurement(limit, {**self._labels}))


def _latency(taken: list[int]) -> Latency:
    latency = Latency()
    latency.record_all(taken)
    return latency


def _sum_up(result: Result, parameters: Parameters) -> None:
    result.table.append(
        ["bytes", "persistence", "timings", PUT + ", us", GET + ", us", PAIR + ", us", "limit, us", "times"]
    )
    lines: dict[str, list[tuple[float, float]]] = {}
    for persistence, limit_name in (("non-persistent", BARE), ("persistent", FORCE)):
        for size in parameters.body_bytes:
            found = [result.find(name, bytes=size, persistence=persistence) for name in (PUT, GET, PAIR, limit_name)]
            values = [each.percentiles["90"] / 1000 for each in found]
            lines.setdefault(persistence, []).append((size, values[2]))
            lines.setdefault(f"limit, {persistence}", []).append((size, values[3]))
            times = ratio(values[2], values[3])
            result.ratios[f"{persistence}, {size} bytes / limit"] = times
            shown = [f"{value:,.1f}" for value in values]
            result.table.append([f"{size:,}", persistence, f"{found[0].count:,}", *shown, f"{times:.1f}"])
    result.notes.append("Within the process message data is handed over, not copied.")
    result.chart = Chart("MQPUT and MQGET, 90th percentile", "message bytes", "microseconds", lines)
    for size in parameters.body_bytes:
        persistent = result.find(PAIR, bytes=size, persistence="persistent").percentiles["90"]
        plain = result.find(PAIR, bytes=size, persistence="non-persistent").percentiles["90"]
        result.ratios[f"persistent / non-persistent, {size} bytes"] = ratio(persistent, plain)
