"""Scenario `mqi-verb-timing`: single-threaded programs take turns to call every verb of a local queue manager.

One turn connects, opens, calls all other verbs and leaves again. The published tool knows eight verbs; this one times
all that there are.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from ostler.lab.bench.latency import Latency
from ostler.lab.bench.result import Result
from ostler.lab.common.embedded import fresh
from ostler.lab.common.own_process import Report
from ostler.lab.common.probes import ForcedFile
from ostler.lab.common.verb_program import VerbProgram
from ostler.server.config.qm_ini import LogSection

TITLE = "All MQI verbs of one local program"
NOTHING = "calling nothing"
FORCE = "writing and forcing a page"
_LOG = LogSection(file_pages=2048)
_PROBE_FILE_BYTES = 16 << 20
_WARM_UP = 5


@dataclass(frozen=True)
class Parameters:
    turns: int = 5000
    body_bytes: int = 2048
    seconds_max: float = 90.0


FULL = Parameters()
QUICK = Parameters(turns=1000, seconds_max=10.0)


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("mqi-verb-timing", TITLE, asdict(parameters))
    with fresh(scratch, _LOG):
        file = ForcedFile(scratch / "probe", _PROBE_FILE_BYTES)
        suite = Suite(parameters, file)
        for _ in range(min(_WARM_UP, parameters.turns)):
            suite.turn()
        suite.taken.clear()
        gc.collect()
        gc.freeze()
        deadline = time.monotonic() + parameters.seconds_max
        turns = 0
        while turns < parameters.turns and time.monotonic() < deadline:
            suite.turn()
            turns += 1
            if turns % 50 == 0:
                report(turns / parameters.turns, "calling all verbs in turn")
        gc.unfreeze()
        file.close()
    _note(result, suite)
    result.parameters["turns_done"] = turns
    return result


class Suite:
    """The program, what must be done at least beside it, and the nanoseconds that each of its calls took."""

    def __init__(self, parameters: Parameters, file: ForcedFile) -> None:
        self.taken: dict[str, list[int]] = {}
        self._program = VerbProgram(parameters.body_bytes, self._take)
        self._file = file
        self._page = bytes(4096)

    def turn(self) -> None:
        self._program.timed(NOTHING, nothing)
        self._program.turn()
        self._program.timed(FORCE, self._force)

    def _take(self, name: str, began_ns: int, ended_ns: int) -> None:
        self.taken.setdefault(name, []).append(ended_ns - began_ns)

    def _force(self) -> tuple[int, int]:
        self._file.write_and_force(self._page)
        return 0, 0


def nothing() -> tuple[int, int]:
    """What a call of Python costs: a verb that does nothing."""
    return 0, 0


def _note(result: Result, suite: Suite) -> None:
    result.table.append(["verb", "times", "median, us", "90th percentile, us", "99th, us", "highest, us"])
    for name, taken in _ordered(suite.taken):
        latency = Latency()
        latency.record_all(taken)
        measured = latency.measurement(name, {})
        (result.limits if name in (NOTHING, FORCE) else result.measurements).append(measured)
        shown = [f"{measured.percentiles[each] / 1000:,.1f}" for each in ("50", "90", "99", "100")]
        result.table.append([name, f"{measured.count:,}", *shown])


def _ordered(taken: dict[str, list[int]]) -> Iterable[tuple[str, list[int]]]:
    """Verbs in the order they are called, the limits last."""
    yield from ((name, each) for name, each in taken.items() if name not in (NOTHING, FORCE))
    yield from ((name, each) for name, each in taken.items() if name in (NOTHING, FORCE))
