"""Family `queue-depth`: puts and gets on a queue that is so deep, and the memory that its messages take.

Messages are got first in first out and put behind all others, or got by a correlation id from anywhere in the queue and
put again. Beyond the buffers messages come from the queue's file, so the first step up has a reason; a growth behind it
has none.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ostler.client.mqi.put_get import get_message, put_message
from ostler.lab.common.embedded import (
    PUTS_PER_COMMIT,
    QUEUE,
    EmbeddedApplication,
    descriptor,
    get_options,
    put_options,
)
from ostler.lab.common.probes import BarePair
from ostler.lab.families.held_connections import MEMORY_AT_START
from ostler.lab.families.micro.tasks import (
    Batch,
    BatchLoop,
    Points,
    QueueManagerLoop,
    TaskExperiment,
    is_persistent,
    limit,
    ostler,
)
from ostler.lab.families.object_storage import own_memory
from ostler.lab.families.task import RESULT
from ostler.lab.runner.contract import Experiment, Metric, PointFailed, PointSpec, RunContext
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.md import MQMD
from ostler.server.config.qm_ini import LogSection

FIFO: Final = "first in first out"
BY_ID: Final = "by correlation id"
MEMORY_PER_MESSAGE: Final = "memory per message, bytes"
MEMORY_WHEN_FULL: Final = "memory with all messages, bytes"
_PAIRS, _PAIRS_PERSISTENT = 100, 1
_SEED: Final = 20
_CORRELATION_ID_AT: Final = MQMD.offset("CorrelId")
_ID_BYTES: Final = 24


def experiment(context: RunContext) -> Experiment:
    tasks = {
        ostler("in one process", "a queue with default buffers; what is persistent is forced"): DepthLoop,
        limit("bare deque and dictionary", "as many identifiers in a deque and data in a dictionary"): bare_pairs,
    }
    return TaskExperiment(context, tasks, _point_spec)


def _point_spec(points: Points) -> PointSpec:
    return PointSpec(1, int(points["message_bytes"]), is_persistent(points), main_operation=FIFO)


def bare_pairs(points: Points, root: Path) -> BatchLoop:
    return BatchLoop(Batch(FIFO, BarePair(bytes(int(points["message_bytes"])), int(points["depth"])).run, _PAIRS))


class DepthLoop(QueueManagerLoop):
    """A queue of messages whose correlation ids are numbers, as many as its depth."""

    def __init__(self, points: Points, root: Path) -> None:
        self._depth = int(points["depth"])
        self._body = bytes(int(points["message_bytes"]))
        self._is_persistent = is_persistent(points)
        self._random = random.Random(_SEED)
        super().__init__(root, LogSection(primary_files=4, file_pages=4096))

    def batches(self) -> Sequence[Batch]:
        application = EmbeddedApplication(self.manager)
        self._hconn = application.hconn
        self._output = application.open(QUEUE, mq.MQOO_OUTPUT)
        self._intake = application.open(QUEUE, mq.MQOO_INPUT_SHARED)
        md = descriptor(self._is_persistent)
        self._before, self._behind = md[:_CORRELATION_ID_AT], md[_CORRELATION_ID_AT + _ID_BYTES :]
        self._pmo = put_options()
        self._memory = [own_memory()]
        self._fill(application)
        self._memory.append(own_memory())
        # The kernel still writes what filling left in its cache: that is not what is measured.
        os.sync()
        pairs = _PAIRS_PERSISTENT if self._is_persistent else _PAIRS
        return Batch(FIFO, self._fifo, pairs), Batch(BY_ID, self._by_id, pairs)

    def _descriptor(self, number: int) -> bytes:
        # Null identifiers cannot be asked for, so numbers begin with 1 in the descriptor.
        return self._before + (number + 1).to_bytes(_ID_BYTES, "little") + self._behind

    def _fill(self, application: EmbeddedApplication) -> None:
        options = put_options(syncpoint=self._is_persistent)
        for number in range(self._depth):
            application.put(self._output, self._body, self._descriptor(number), options)
            if self._is_persistent and number % PUTS_PER_COMMIT == PUTS_PER_COMMIT - 1:
                application.commit()
        application.commit()

    def _fifo(self, pairs: int) -> int:
        """Get the first messages, and put each behind all others: with its correlation id, so that none is missing."""
        md, gmo, took = descriptor(False), get_options(), 0
        for _ in range(pairs):
            began = time.perf_counter_ns()
            _, got, _, _, code, reason = get_message(self._hconn, self._intake, md, gmo, len(self._body))
            took += time.perf_counter_ns() - began
            if code != mq.MQCC_OK or got is None:
                raise MQError(reason)
            again = self._before + got[_CORRELATION_ID_AT : _CORRELATION_ID_AT + _ID_BYTES] + self._behind
            took += self._put(again)
        return took

    def _by_id(self, pairs: int) -> int:
        gmo, took = get_options(match=mq.MQMO_MATCH_CORREL_ID), 0
        for _ in range(pairs):
            md = self._descriptor(self._random.randrange(self._depth))
            began = time.perf_counter_ns()
            code, reason = get_message(self._hconn, self._intake, md, gmo, len(self._body))[4:]
            took += time.perf_counter_ns() - began
            if code != mq.MQCC_OK:
                raise MQError(reason)
            took += self._put(md)
        return took

    def _put(self, md: bytes) -> int:
        began = time.perf_counter_ns()
        code, reason = put_message(self._hconn, self._output, md, self._pmo, self._body)[2:]
        if code != mq.MQCC_OK:
            raise MQError(reason)
        return time.perf_counter_ns() - began

    def results(self) -> list[Metric]:
        found = self.manager.engine.queues[QUEUE].depth
        if found != self._depth:
            raise PointFailed(f"{found:,} messages are on the queue, not {self._depth:,}")
        before, full = self._memory
        return [
            Metric(RESULT, MEMORY_AT_START, before),
            Metric(RESULT, MEMORY_WHEN_FULL, full),
            Metric(RESULT, MEMORY_PER_MESSAGE, max(full - before, 0) / self._depth),
        ]
