"""What a put and get costs on queues of different depth: it must not grow with the depth.

A message is put behind all others and the first one is got; or a message is got by a correlation id from anywhere in
the queue and put again. Beyond the buffers messages come from the queue's file, so the first step up has a reason; a
growth behind it has none. All depths are there at the same time, on queues of their own, and take turns.
"""

from __future__ import annotations

import gc
import os
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from ostler.client.mqi.put_get import get_message, put_message
from ostler.lab.bench.result import Aim, Chart, Result
from ostler.lab.common.embedded import (
    QUEUE,
    EmbeddedApplication,
    define_queue,
    descriptor,
    fresh,
    get_options,
    put_options,
)
from ostler.lab.common.own_process import Report, part_of
from ostler.lab.common.probes import BarePair
from ostler.lab.common.samples import Measurement, ratio
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.md import MQMD
from ostler.server.config.qm_ini import LogSection

TITLE = "Put and get at different depths, first in first out and by correlation id"
FIFO = "first in first out"
BY_ID = "by correlation id"
BARE = "bare deque and dictionary"
# Twice the cost at a thousand times the depth leaves room for the processor's caches, and for nothing else.
GROWTH_MAX = 2.0
_BEYOND_BUFFERS = 1000
_LOAD_SLICE = 10_000
_SYNC_BYTES_MIN = 16 << 20
_SEED = 20
Contestant = Callable[[int], int]
"""Puts and gets so many messages; the nanoseconds it took."""

_CORRELATION_ID_AT = MQMD.offset("CorrelId")
_ID_BYTES = 24


@dataclass(frozen=True)
class Parameters:
    depths: tuple[int, ...] = (10, 1000, 100_000, 1_000_000)
    body_bytes: int = 1024
    rounds: int = 41
    pairs_per_round: int = 500


FULL = Parameters()
QUICK = Parameters(depths=(10, 1000, 100_000), rounds=15)


class NumberedQueue:
    """A queue of messages whose correlation ids are the numbers from 0 on."""

    def __init__(self, application: EmbeddedApplication, name: str, body: bytes) -> None:
        self._hconn = application.hconn
        self._output = application.open(name, mq.MQOO_OUTPUT)
        self._intake = application.open(name, mq.MQOO_INPUT_SHARED)
        self._body = body
        md = descriptor(False)
        self._before = md[:_CORRELATION_ID_AT]
        self._behind = md[_CORRELATION_ID_AT + _ID_BYTES :]
        self._pmo = put_options()
        self._random = random.Random(_SEED)
        self.depth = 0

    def descriptor(self, number: int) -> bytes:
        # Null identifiers cannot be asked for, so numbers begin with 1 in the descriptor.
        return self._before + (number + 1).to_bytes(_ID_BYTES, "little") + self._behind

    def fill(self, depth: int, report: Report) -> None:
        while self.depth < depth:
            for _ in range(min(_LOAD_SLICE, depth - self.depth)):
                md = self.descriptor(self.depth)
                _, _, code, reason = put_message(self._hconn, self._output, md, self._pmo, self._body)
                if code != mq.MQCC_OK:
                    raise MQError(reason)
                self.depth += 1
            report(self.depth / depth, f"filling a queue to {depth:,}")

    def run_fifo(self, pairs: int) -> int:
        """Nanoseconds for so many puts behind all others and gets of the first."""
        hconn, output, intake, body, pmo = self._hconn, self._output, self._intake, self._body, self._pmo
        gmo = get_options()
        limit = len(body)
        md = descriptor(False)
        # What is put has the correlation id of what was got, so that the numbers stay complete.
        took = 0
        for _ in range(pairs):
            began = time.perf_counter_ns()
            _, got, _, _, code, reason = get_message(hconn, intake, md, gmo, limit)
            took += time.perf_counter_ns() - began
            if code != mq.MQCC_OK or got is None:
                raise MQError(reason)
            again = self._before + got[_CORRELATION_ID_AT : _CORRELATION_ID_AT + _ID_BYTES] + self._behind
            began = time.perf_counter_ns()
            put_message(hconn, output, again, pmo, body)
            took += time.perf_counter_ns() - began
        return took

    def run_by_id(self, pairs: int) -> int:
        """Nanoseconds for so many gets of messages anywhere in the queue, and puts of the same again."""
        hconn, output, intake, body, pmo = self._hconn, self._output, self._intake, self._body, self._pmo
        gmo = get_options(match=mq.MQMO_MATCH_CORREL_ID)
        limit = len(body)
        took = 0
        for _ in range(pairs):
            md = self.descriptor(self._random.randrange(self.depth))
            began = time.perf_counter_ns()
            code, reason = get_message(hconn, intake, md, gmo, limit)[4:]
            put_message(hconn, output, md, pmo, body)
            took += time.perf_counter_ns() - began
            if code != mq.MQCC_OK:
                raise MQError(reason)
        return took


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("depth", TITLE, asdict(parameters))
    body = bytes(parameters.body_bytes)
    with fresh(scratch, LogSection(file_pages=64)) as manager:
        application = EmbeddedApplication(manager)
        queues: list[NumberedQueue] = []
        for depth in parameters.depths:
            define_queue(manager, f"{QUEUE}.{depth}")
            queues.append(NumberedQueue(application, f"{QUEUE}.{depth}", body))
            _fill(result, queues[-1], depth, part_of(report, 0.0, 0.5))
        # The kernel is still writing what filling left in its cache; that is not what is measured.
        if sum(parameters.depths) * parameters.body_bytes > _SYNC_BYTES_MIN:
            os.sync()
        _measure(result, parameters, queues, body, part_of(report, 0.5, 1.0))
        application.close()
    _sum_up(result, parameters)
    return result


def _fill(result: Result, queue: NumberedQueue, depth: int, report: Report) -> None:
    gc.collect()
    before = psutil.Process().memory_info().rss
    queue.fill(depth, report)
    gc.collect()
    grown = psutil.Process().memory_info().rss - before
    result.measurements.append(Measurement("memory for each message", "bytes", (grown / depth,), {"depth": depth}))


def _measure(result: Result, parameters: Parameters, queues: list[NumberedQueue], body: bytes, report: Report) -> None:
    pairs = parameters.pairs_per_round
    contestants: list[tuple[str, int, Contestant]] = []
    for queue in queues:
        contestants.append((FIFO, queue.depth, queue.run_fifo))
        contestants.append((BY_ID, queue.depth, queue.run_by_id))
        contestants.append((BARE, queue.depth, BarePair(body, queue.depth).run))
    # Warm up: when a queue just overflowed its buffers, the first gets still come from memory.
    for _, _, contestant in contestants:
        contestant(pairs)
    taken: dict[tuple[str, int], list[float]] = {(name, depth): [] for name, depth, _ in contestants}
    gc.collect()
    gc.freeze()
    for number in range(parameters.rounds):
        for name, depth, contestant in contestants:
            taken[name, depth].append(contestant(pairs) / pairs)
        report((number + 1) / parameters.rounds, "putting and getting at all depths in turn")
    gc.unfreeze()
    for (name, depth), samples in taken.items():
        where = result.limits if name == BARE else result.measurements
        where.append(Measurement(name, "ns", tuple(samples), {"depth": depth}))


def _sum_up(result: Result, parameters: Parameters) -> None:
    result.table.append(["depth", FIFO + ", ns", BY_ID + ", ns", BARE + ", ns", "bytes of memory each"])
    lines: dict[str, list[tuple[float, float]]] = {FIFO: [], BY_ID: [], BARE: []}
    for depth in parameters.depths:
        row = [f"{depth:,}"]
        for name, line in lines.items():
            found = result.find(name, depth=depth).median
            line.append((depth, found))
            row.append(f"{found:,.0f}")
        memory = result.find("memory for each message", depth=depth).median
        row.append(f"{memory:,.0f}" if depth >= _LOAD_SLICE else "-")
        result.table.append(row)
    result.chart = Chart("Put and get at depth", "messages on the queue", "nanoseconds for put and get", lines)
    deepest = parameters.depths[-1]
    for name in (FIFO, BY_ID):
        for depth in parameters.depths[:-1]:
            over = result.find(name, depth=deepest).median
            times = ratio(over, result.find(name, depth=depth).median)
            result.ratios[f"{name}: {deepest} / {depth}"] = times
            if depth == _BEYOND_BUFFERS < deepest:
                text = f"{name}: cost at {deepest:,}, times that at {depth:,}"
                result.aims.append(Aim(text, GROWTH_MAX, times, True))
