"""Family `put-get-cost`: non-persistent puts and gets in the queue manager's process, by the interface that is used."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ostler.client.api.connection import connect
from ostler.client.mqi.put_get import MQGET, MQPUT, get_message, put_message
from ostler.lab.common.embedded import QUEUE, EmbeddedApplication, descriptor, get_options, put_options
from ostler.lab.common.probes import BarePair
from ostler.lab.families.micro.tasks import (
    Batch,
    BatchLoop,
    MakeTask,
    Points,
    QueueManagerLoop,
    TaskExperiment,
    limit,
    ostler,
)
from ostler.lab.families.task_process import Agreement
from ostler.lab.runner.contract import Contestant, Experiment, PointSpec, RunContext
from ostler.model import constants as mq
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager

PAIR: Final = "put and get"
_PAIRS: Final = 500
# The Python API takes longer, and has shorter batches.
_PAIRS_OF_API: Final = 50

Pairs = Callable[[int], int]


def experiment(context: RunContext) -> Experiment:
    tasks: dict[Contestant, MakeTask] = {
        ostler("values", "put_message and get_message: structures go in as they are, and others come back"): partial(
            PutGetLoop, values, _PAIRS
        ),
        ostler("buffers", "MQPUT and MQGET: structures are filled in where they are"): partial(
            PutGetLoop, buffers, _PAIRS
        ),
        ostler("Python API", "Queue.put and Queue.get: messages are objects"): partial(
            PutGetLoop, python_api, _PAIRS_OF_API
        ),
        limit("bare deque and dictionary", "an identifier in a deque and the data in a dictionary"): bare_pairs,
    }
    return TaskExperiment(context, tasks, _point_spec, (Agreement((PAIR,), "puts"),))


def _point_spec(points: Points) -> PointSpec:
    return PointSpec(1, int(points["message_bytes"]), False, main_operation=PAIR)


class PutGetLoop(QueueManagerLoop):
    def __init__(
        self, interface: Callable[[QueueManager, bytes], Pairs], pairs: int, points: Points, root: Path
    ) -> None:
        self._interface, self._pairs = interface, pairs
        self._body = bytes(int(points["message_bytes"]))
        super().__init__(root, LogSection(file_pages=64))

    def batches(self) -> Sequence[Batch]:
        return (Batch(PAIR, self._interface(self.manager, self._body), self._pairs),)


def bare_pairs(points: Points, root: Path) -> BatchLoop:
    return BatchLoop(Batch(PAIR, BarePair(bytes(int(points["message_bytes"]))).run, _PAIRS))


def values(manager: QueueManager, body: bytes) -> Pairs:
    hconn, output, intake = _opened(manager)
    md, pmo, gmo, limit_bytes = descriptor(False), put_options(), get_options(), len(body)

    def run(pairs: int) -> int:
        put, get = put_message, get_message
        began = time.perf_counter_ns()
        for _ in range(pairs):
            put(hconn, output, md, pmo, body)
            get(hconn, intake, md, gmo, limit_bytes)
        return time.perf_counter_ns() - began

    return run


def buffers(manager: QueueManager, body: bytes) -> Pairs:
    hconn, output, intake = _opened(manager)
    md, pmo, gmo = bytearray(descriptor(False)), bytearray(put_options()), bytearray(get_options())
    limit_bytes = len(body)

    def run(pairs: int) -> int:
        put, get = MQPUT, MQGET
        began = time.perf_counter_ns()
        for _ in range(pairs):
            put(hconn, output, md, pmo, body)
            get(hconn, intake, md, gmo, limit_bytes)
        return time.perf_counter_ns() - began

    return run


def python_api(manager: QueueManager, body: bytes) -> Pairs:
    queue = connect(manager).open(QUEUE)

    def run(pairs: int) -> int:
        began = time.perf_counter_ns()
        for _ in range(pairs):
            queue.put(body, persistent=False)
            queue.get()
        return time.perf_counter_ns() - began

    return run


def _opened(manager: QueueManager) -> tuple[int, int, int]:
    application = EmbeddedApplication(manager)
    output, intake = (application.open(QUEUE, options) for options in (mq.MQOO_OUTPUT, mq.MQOO_INPUT_SHARED))
    return application.hconn, output, intake
