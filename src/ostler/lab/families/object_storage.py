"""The growth of a queue manager's memory, files and log for each of many objects of one type."""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from ostler.client.locate.embedded import start
from ostler.engine import objects
from ostler.lab.common.channel_rules import channel_rules
from ostler.lab.common.embedded import NAME
from ostler.lab.families.held_connections import resident_bytes
from ostler.lab.families.task import RESULT, Task, wait_until
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import Metric
from ostler.lab.runner.queue_managers.child import read_metrics, run_commands
from ostler.lab.runner.queue_managers.plan import COLLECT_STATISTICS
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import Definition, new_definition
from ostler.server.config.qm_ini import LogSection

DEFINE: Final = "define"
MEMORY_PER_OBJECT: Final = "memory per object, bytes"
FILES_PER_OBJECT: Final = "file bytes per object"
LOG_PER_OBJECT: Final = "log bytes per object"
_BATCH: Final = 100
_LOG: Final = LogSection(primary_files=3, file_pages=4096)
# The required attributes of objects of a type, besides their name; {} is their number.
_GIVEN: Final[dict[str, dict[str, Value]]] = {
    "QALIAS": {"TARGET": "LAB.QUEUE"},
    "QREMOTE": {"RNAME": "LAB.QUEUE", "RQMNAME": "LAB.OTHER"},
    "TOPIC": {"TOPICSTR": "lab/{}"},
    "CHANNEL": {"CHLTYPE": "SVRCONN"},
    "AUTHINFO": {"AUTHTYPE": "IDPWOS"},
}
_CHLAUTH: Final = "CHLAUTH"
_CHANNEL: Final = "LAB.SVRCONN"
_RULES_MAX: Final = 1_000_000
# Names of channels are short.
_NAME: Final = "LAB.{:07}"


def definitions(object_type: str) -> Iterator[Definition]:
    """Yield definitions of a type without end, as similar as possible; channel authentication records of all kinds."""
    if object_type == _CHLAUTH:
        yield from channel_rules(_CHANNEL, _RULES_MAX)
    number = 0
    while True:
        number += 1
        given: dict[str, Value] = {
            name: value.format(number) if isinstance(value, str) else value
            for name, value in _GIVEN.get(object_type, {}).items()
        }
        yield new_definition(ObjectType(object_type), _NAME.format(number), given, None, "2026-01-01", "00.00.00")


class DefineTask(Task):
    """Defines objects in a queue manager of its own, and as many more with each run."""

    def __init__(self, root: Path, object_type: str, count: int, is_accounting: bool = False) -> None:
        self._manager = start(NAME, root, True, _LOG, False)
        if is_accounting:
            run_commands(self._manager, (COLLECT_STATISTICS,))
        self._directory = root
        self._count = count
        self._definitions = definitions(object_type)

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        operation = recorder.operation(DEFINE)
        progress = ProgressReporter(recorder, DEFINE, 0, report)
        wait_until(recorder.timeline.begin_ns)
        # The first few make the queue manager allocate what it needs only once.
        self._define(list(islice(self._definitions, _BATCH)))
        wait_until(recorder.timeline.measured_ns)
        memory, files, logged = self._sizes()
        done = 0
        while done < self._count:
            for began, ended in self._define(list(islice(self._definitions, min(_BATCH, self._count - done)))):
                operation.record(began, ended)
                done += 1
            if ended >= progress.next_ns:
                progress.report(ended, done)
        memory_now, files_now, logged_now = self._sizes()
        return [
            Metric(RESULT, MEMORY_PER_OBJECT, (memory_now - memory) / self._count),
            Metric(RESULT, FILES_PER_OBJECT, (files_now - files) / self._count),
            Metric(RESULT, LOG_PER_OBJECT, (logged_now - logged) / self._count),
        ]

    def _define(self, batch: list[Definition]) -> list[tuple[int, int]]:
        """Define many objects and force them once. Returns when each was begun and done."""
        manager = self._manager
        taken = []
        with manager.turn:
            for definition in batch:
                began = time.perf_counter_ns()
                objects.define(manager.engine, definition)
                taken.append((began, time.perf_counter_ns()))
            lsn = manager.log.end_lsn()
        manager.writer.wait_durable(lsn)
        return taken

    def _sizes(self) -> tuple[int, int, int]:
        """Return resident memory, the size of all files without the log's, and the logged bytes."""
        logged = int(self._manager.log.metrics.logical_bytes)
        self._manager.checkpoint()
        return own_memory(), file_bytes(self._manager.directory.path), logged

    def metrics(self) -> list[Metric]:
        return [Metric(source, name, float(value)) for source, name, value in read_metrics(self._manager)]

    def close(self) -> None:
        self._manager.end("preemptive")


def own_memory() -> int:
    """Return the resident memory of this process after free memory was returned: otherwise the next objects would fill
    that."""
    gc.collect()
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if give_back is not None:
        give_back(0)
    return resident_bytes(os.getpid())


def file_bytes(directory: Path) -> int:
    """Return the disk space of a queue manager's files, without the log's."""
    total = 0
    for path in directory.rglob("*"):
        if path.is_file() and "log" not in path.relative_to(directory).parts:
            total += path.stat().st_blocks * 512
    return total


class KeepTask(Task):
    """The limit: definitions kept as bytes in a dictionary."""

    def __init__(self, object_type: str, count: int) -> None:
        self._definitions = definitions(object_type)
        self._count = count
        self._kept: dict[str, bytes] = {}

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        operation = recorder.operation(DEFINE)
        for _ in self._keep(_BATCH):
            pass
        wait_until(recorder.timeline.measured_ns)
        memory = own_memory()
        for began, ended in self._keep(self._count):
            operation.record(began, ended)
        return [Metric(RESULT, MEMORY_PER_OBJECT, (own_memory() - memory) / self._count)]

    def _keep(self, count: int) -> Iterator[tuple[int, int]]:
        for definition in islice(self._definitions, count):
            data = definition.encode()
            began = time.perf_counter_ns()
            self._kept[definition.name] = data
            yield began, time.perf_counter_ns()

    def close(self) -> None:
        return
