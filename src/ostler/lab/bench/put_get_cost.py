"""What a non-persistent put and get costs in the process, beside a bare deque and dictionary.

Contestants take turns in short rounds, so that what else happens on the machine hits all of them alike.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from ostler.client.api.connection import connect
from ostler.client.mqi.put_get import MQGET, MQPUT, get_message, put_message
from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.embedded import QUEUE, EmbeddedApplication, descriptor, fresh, get_options, put_options
from ostler.lab.common.own_process import Report
from ostler.lab.common.probes import BarePair
from ostler.lab.common.samples import Measurement, ratio
from ostler.model import constants as mq
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager

TITLE = "Non-persistent put and get in the process, beside a bare deque and dictionary"
RATIO_MAX = 12.0
_WARM_UP = 500
# The Python API is there for comparison: it is no raw verb, and has shorter rounds so that they take as long.
_SLOW = ("Queue.put and Queue.get",)
_SLOWER = 20

Contestant = Callable[[int], int]
"""Puts and gets so many messages; the nanoseconds it took."""


@dataclass(frozen=True)
class Parameters:
    body_bytes: int = 2048
    rounds: int = 101
    pairs_per_round: int = 2000


FULL = Parameters()
QUICK = Parameters(rounds=31)


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("put-get-cost", TITLE, asdict(parameters))
    with fresh(scratch, LogSection(file_pages=64)) as manager:
        application = EmbeddedApplication(manager)
        body = bytes(parameters.body_bytes)
        contestants: dict[str, Contestant] = {
            "bare deque and dictionary": BarePair(body).run,
            "put_message and get_message": _values(application, body),
            "MQPUT and MQGET": _buffers(application, body),
            "Queue.put and Queue.get": _python_api(manager, body),
        }
        taken = _alternate(contestants, parameters, report)
        application.close()
    for name, samples in taken.items():
        where = result.limits if name.startswith("bare") else result.measurements
        where.append(Measurement(name, "ns", tuple(samples)))
    _compare(result)
    return result


def _alternate(contestants: dict[str, Contestant], parameters: Parameters, report: Report) -> dict[str, list[float]]:
    pairs = parameters.pairs_per_round
    for contestant in contestants.values():
        contestant(min(_WARM_UP, pairs))
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    gc.collect()
    gc.freeze()
    try:
        for number in range(parameters.rounds):
            for name, contestant in contestants.items():
                count = max(pairs // _SLOWER, 1) if name in _SLOW else pairs
                taken[name].append(contestant(count) / count)
            report((number + 1) / parameters.rounds, "putting and getting")
    finally:
        gc.unfreeze()
    return taken


def _values(application: EmbeddedApplication, body: bytes) -> Contestant:
    """The verbs with values: descriptor and options go in as they are, and come back as others."""
    hconn = application.hconn
    output = application.open(QUEUE, mq.MQOO_OUTPUT)
    intake = application.open(QUEUE, mq.MQOO_INPUT_SHARED)
    md, pmo, gmo = descriptor(False), put_options(), get_options()
    limit = len(body)

    def contestant(pairs: int) -> int:
        put, get = put_message, get_message
        began = time.perf_counter_ns()
        for _ in range(pairs):
            put(hconn, output, md, pmo, body)
            get(hconn, intake, md, gmo, limit)
        return time.perf_counter_ns() - began

    return contestant


def _buffers(application: EmbeddedApplication, body: bytes) -> Contestant:
    """The verbs as C has them: descriptor and options are filled in where they are."""
    hconn = application.hconn
    output = application.open(QUEUE, mq.MQOO_OUTPUT)
    intake = application.open(QUEUE, mq.MQOO_INPUT_SHARED)
    md, pmo, gmo = bytearray(descriptor(False)), bytearray(put_options()), bytearray(get_options())
    limit = len(body)

    def contestant(pairs: int) -> int:
        put, get = MQPUT, MQGET
        began = time.perf_counter_ns()
        for _ in range(pairs):
            put(hconn, output, md, pmo, body)
            get(hconn, intake, md, gmo, limit)
        return time.perf_counter_ns() - began

    return contestant


def _python_api(manager: QueueManager, body: bytes) -> Contestant:
    """What a Python program writes: messages as objects, exceptions for reasons."""
    queue = connect(manager).open(QUEUE)

    def contestant(pairs: int) -> int:
        began = time.perf_counter_ns()
        for _ in range(pairs):
            queue.put(body, persistent=False)
            queue.get()
        return time.perf_counter_ns() - began

    return contestant


def _compare(result: Result) -> None:
    bare = result.limits[0]
    result.table.append(["contestant", "ns for put and get", "quartiles", "times the bare pair"])
    for each in result.limits + result.measurements:
        times = ratio(each.median, bare.median)
        spread = each.as_json()["spread"]
        assert isinstance(spread, dict)
        quarters = f"{spread['lower_quartile']:,.0f} to {spread['upper_quartile']:,.0f}"
        result.table.append([each.name, f"{each.median:,.0f}", quarters, f"{times:.1f}"])
        if each is not bare:
            result.ratios[f"{each.name} / bare"] = times
            if each.name not in _SLOW:
                result.aims.append(Aim(f"{each.name}: times the bare pair", RATIO_MAX, times, True))
