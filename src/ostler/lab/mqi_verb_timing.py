"""Scenario `mqi-verb-timing`: single-threaded programs take turns to call every verb of a local queue manager.

One turn connects, opens, calls all other verbs and leaves again. The published tool knows eight verbs; this one times
all that there are.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from ostler import mqi
from ostler.lab.embedded import NAME, QUEUE, descriptor, fresh, get_options, put_options
from ostler.lab.latency import Latency
from ostler.lab.own_process import Report
from ostler.lab.probes import ForcedFile
from ostler.lab.result import Result
from ostler.model.constants import (
    MQBO_CURRENT_VERSION,
    MQCA_Q_DESC,
    MQCC_FAILED,
    MQCO_NONE,
    MQIA_CURRENT_Q_DEPTH,
    MQIA_INHIBIT_GET,
    MQOO_INPUT_SHARED,
    MQOO_INQUIRE,
    MQOO_OUTPUT,
    MQOO_SET,
    MQOP_DEREGISTER,
    MQOP_REGISTER,
    MQOP_START,
    MQOP_STOP,
    MQSTAT_TYPE_ASYNC_ERROR,
    MQTYPE_STRING,
)
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQBO, MQSTS
from ostler.model.structures.consuming import MQCBD
from ostler.model.structures.od import MQOD
from ostler.server.qm_ini import LogSection

TITLE = "All MQI verbs of one local program"
NOTHING = "calling nothing"
FORCE = "writing and forcing a page"
_LOG = LogSection(file_pages=2048)
_PROBE_FILE_BYTES = 16 << 20
_WARM_UP = 5

P = ParamSpec("P")
R = TypeVar("R", bound=tuple[object, ...])


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
    """The program: its structures, and the nanoseconds that each of its calls took."""

    def __init__(self, parameters: Parameters, file: ForcedFile) -> None:
        self.taken: dict[str, list[int]] = {}
        self._file = file
        self._body = bytes(parameters.body_bytes)
        self._page = bytes(4096)
        self._hconn = 0
        self._hobj = 0

    def timed(self, name: str, verb: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
        """Call a verb, note how long it took, and see that it did not fail."""
        began = time.perf_counter_ns()
        returned = verb(*given, **named)
        took = time.perf_counter_ns() - began
        self.taken.setdefault(name, []).append(took)
        code, reason = returned[-2:]
        if code == MQCC_FAILED:
            raise MQError(reason if isinstance(reason, int) else 0, f"{name} failed.")
        return returned

    def turn(self) -> None:
        timed = self.timed
        timed(NOTHING, _nothing)
        self._hconn = timed("MQCONN", mqi.MQCONN, NAME)[0]
        od = _object(QUEUE)
        options = MQOO_OUTPUT | MQOO_INPUT_SHARED | MQOO_INQUIRE | MQOO_SET
        self._hobj = timed("MQOPEN", mqi.MQOPEN, self._hconn, od, options)[0]
        self._put_and_get("non-persistent", False)
        self._put_and_get("persistent", True)
        self._units_of_work()
        self._attributes()
        self._properties()
        self._callbacks()
        timed("MQCLOSE", mqi.MQCLOSE, self._hconn, self._hobj, MQCO_NONE)
        timed("MQDISC", mqi.MQDISC, self._hconn)
        timed(FORCE, self._force)

    def _put_and_get(self, kind: str, persistent: bool) -> None:
        hconn, hobj, body = self._hconn, self._hobj, self._body
        md, pmo, gmo = _descriptor(persistent), bytearray(put_options()), bytearray(get_options())
        self.timed(f"MQPUT, {kind}", mqi.MQPUT, hconn, hobj, md, pmo, body)
        self.timed(f"MQGET, {kind}", mqi.MQGET, hconn, hobj, md, gmo, len(body))
        self.timed(f"MQPUT1, {kind}", mqi.MQPUT1, hconn, _object(QUEUE), md, pmo, body)
        mqi.MQGET(hconn, hobj, md, gmo, len(body))

    def _units_of_work(self) -> None:
        hconn, hobj, body = self._hconn, self._hobj, self._body
        md, pmo = _descriptor(True), bytearray(put_options(syncpoint=True))
        gmo = bytearray(get_options(syncpoint=True))
        self.timed("MQBEGIN", mqi.MQBEGIN, hconn, MQBO.default(MQBO_CURRENT_VERSION))
        self.timed("MQPUT, persistent, in syncpoint", mqi.MQPUT, hconn, hobj, md, pmo, body)
        self.timed("MQCMIT of a put", mqi.MQCMIT, hconn)
        self.timed("MQGET, persistent, in syncpoint", mqi.MQGET, hconn, hobj, md, gmo, len(body))
        self.timed("MQBACK of a get", mqi.MQBACK, hconn)
        mqi.MQGET(hconn, hobj, md, gmo, len(body))
        self.timed("MQCMIT of a get", mqi.MQCMIT, hconn)
        self.timed("MQCMIT of nothing", mqi.MQCMIT, hconn)
        self.timed("MQSTAT", mqi.MQSTAT, hconn, MQSTAT_TYPE_ASYNC_ERROR, MQSTS.default())

    def _attributes(self) -> None:
        hconn, hobj = self._hconn, self._hobj
        self.timed("MQINQ", mqi.MQINQ, hconn, hobj, [MQIA_CURRENT_Q_DEPTH, MQCA_Q_DESC], 1, 64)
        self.timed("MQSET", mqi.MQSET, hconn, hobj, [MQIA_INHIBIT_GET], [0], b"")

    def _properties(self) -> None:
        hconn, timed = self._hconn, self.timed
        hmsg = timed("MQCRTMH", mqi.MQCRTMH, hconn, None)[0]
        timed("MQSETMP", mqi.MQSETMP, hconn, hmsg, None, "colour", None, MQTYPE_STRING, b"green")
        timed("MQINQMP", mqi.MQINQMP, hconn, hmsg, None, "colour", None, MQTYPE_STRING, 64)
        md = _descriptor(False)
        header = timed("MQMHBUF", mqi.MQMHBUF, hconn, hmsg, None, "%", md, 4096)[0]
        mqi.MQDLTMP(hconn, hmsg, None, "colour")
        timed("MQBUFMH", mqi.MQBUFMH, hconn, hmsg, None, md, bytearray(header + self._body))
        timed("MQDLTMP", mqi.MQDLTMP, hconn, hmsg, None, "colour")
        timed("MQDLTMH", mqi.MQDLTMH, hconn, hmsg, None)

    def _callbacks(self) -> None:
        hconn, hobj, timed = self._hconn, self._hobj, self.timed
        md, gmo = _descriptor(False), bytearray(get_options())
        timed("MQCB, register", mqi.MQCB, hconn, MQOP_REGISTER, MQCBD.default(), hobj, md, gmo, _ignore)
        timed("MQCTL, start", mqi.MQCTL, hconn, MQOP_START, None)
        timed("MQCTL, stop", mqi.MQCTL, hconn, MQOP_STOP, None)
        timed("MQCB, deregister", mqi.MQCB, hconn, MQOP_DEREGISTER, None, hobj, None, None)

    def _force(self) -> tuple[int, int]:
        self._file.write_and_force(self._page)
        return 0, 0


def _nothing() -> tuple[int, int]:
    return 0, 0


def _ignore(hconn: int, md: bytearray, gmo: bytearray, data: bytes, context: bytearray) -> None:
    """A callback that nothing comes for: the queue is empty."""


def _object(queue: str) -> bytearray:
    od = MQOD.default()
    MQOD.patch(od, "ObjectName", queue)
    return od


def _descriptor(persistent: bool) -> bytearray:
    return bytearray(descriptor(persistent))


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
