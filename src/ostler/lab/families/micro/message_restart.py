"""Family `message-restart`: restarts of a queue manager with many persistent messages, from its log and from its files.

The log is so large that no checkpoint is due while the messages are put, and the queue manager was killed: all of them
are in the log alone. After an orderly end they are in the queue's file.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ostler.client.locate.embedded import start
from ostler.lab.common.embedded import NAME, QUEUE, EmbeddedApplication, define_queue
from ostler.lab.families.micro.tasks import limit, ostler
from ostler.lab.families.restart import RESTART, QueueManagerRestarts, Restarts, RestartTimes
from ostler.lab.families.task import RESULT
from ostler.lab.families.task_process import run_in_process
from ostler.lab.runner.contract import Contestant, Experiment, Metric, PointFailed, PointSpec, ReadyLoad, RunContext
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.scenarios.steps import Step
from ostler.model import constants as mq
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import PAGE_BYTES, LogSection

MESSAGES: Final = "messages replayed"
FROM_LOG: Final = ostler("from the log", "it was killed: all messages are replayed from the log")
FROM_FILES: Final = ostler("from its files", "it had ended in good order: messages are in the queue's file")
READING: Final = limit("reading the log", "as many bytes of the log read and checksummed")
_LOAD_SECONDS_MAX: Final = 600.0
_READ_BYTES: Final = 1 << 20
_RECORD_BYTES: Final = 512  # a record beside its body, generously: descriptor, headers and its part of block headers
_CHECKPOINT_SHARE: Final = 4  # a checkpoint is due when a quarter of the primary files was written
_FILE_PAGES_MAX: Final = 65_535
_FILES_MIN: Final = 3
_LOGGED: Final = "logged-bytes"
"""The file with the number of bytes that were written to the log."""


def experiment(context: RunContext) -> Experiment:
    return MessageRestart(context)


def log_for(messages: int, message_bytes: int) -> LogSection:
    """Return a log that takes all messages without a checkpoint."""
    size = messages * (message_bytes + _RECORD_BYTES) * _CHECKPOINT_SHARE
    pages = min(_FILE_PAGES_MAX, max(256, size // _FILES_MIN // PAGE_BYTES))
    files = max(_FILES_MIN, -(-size // (pages * PAGE_BYTES)))
    return LogSection(primary_files=files, secondary_files=2, file_pages=pages)


class MessageRestart(Experiment):
    """Queue managers are made for a step, and found the same by each of its restarts, since all end as in a crash."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._step = -1

    def contestants(self) -> Sequence[Contestant]:
        return [FROM_LOG, FROM_FILES, READING] if self._context.settings.limits else [FROM_LOG, FROM_FILES]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        messages, size = int(step.points["messages"]), int(step.points["message_bytes"])
        if step.number != self._step:
            self.close()
            self._step = step.number
        root = self._root(contestant)
        log = log_for(messages, size)
        if not root.exists():
            self._check_space(messages, size, log)
            self._context.note(f"Putting {messages:,} messages.")
            end = "immediate" if contestant.name == FROM_FILES.name else "preemptive"
            run_in_process(partial(load, root, messages, size, log, end), _LOAD_SECONDS_MAX)
        point_spec = PointSpec(1, size, True, main_operation=RESTART)
        if contestant.name == READING.name:
            logged = int((root / _LOGGED).read_text(encoding="ascii"))
            return _LogReading(point_spec, QueueManagerDirectory(root, NAME).log, logged)
        return _MessageRestarts(
            point_spec, LabQueueManager(root, QueueManagerPlan(log=log)), "messages", messages, _depth
        )

    def _root(self, contestant: Contestant) -> Path:
        # The log is only read by the limit, which uses that of the first contestant.
        return self._context.scratch / ("files" if contestant.name == FROM_FILES.name else "log")

    def _check_space(self, messages: int, size: int, log: LogSection) -> None:
        needed = log.file_bytes() * (log.primary_files + 1) + messages * (size + _RECORD_BYTES)
        free = shutil.disk_usage(self._context.scratch).free
        if free < needed:
            raise PointFailed(f"it needs {needed >> 20:,} MB on disk, and {free >> 20:,} MB are free")

    def close(self) -> None:
        for contestant in (FROM_LOG, FROM_FILES):
            shutil.rmtree(self._root(contestant), ignore_errors=True)


def load(root: Path, messages: int, size: int, log: LogSection, end: str) -> None:
    """Create a queue manager, put the messages, and end it in the given way."""
    manager = start(NAME, root, True, log, False)
    define_queue(manager, QUEUE)
    application = EmbeddedApplication(manager)
    application.load(application.open(QUEUE, mq.MQOO_OUTPUT), messages, bytes(size), True)
    application.close()
    (root / _LOGGED).write_text(str(int(manager.log.metrics.physical_bytes)), encoding="ascii")
    manager.end(end)


def _depth(manager: LabQueueManager) -> int:
    for line in manager.mqsc(f"DISPLAY QLOCAL({QUEUE}) CURDEPTH"):
        _, found, rest = line.partition("CURDEPTH(")
        if found:
            return int(rest.partition(")")[0])
    return 0


class _MessageRestarts(QueueManagerRestarts):
    def found(self) -> list[Metric]:
        replayed = Metric(RESULT, MESSAGES, self._manager.restart.messages, position=len(self._results))
        return [*super().found(), replayed]


class _LogReading(Restarts):
    """The limit: no replay is faster than reading its log."""

    def __init__(self, point_spec: PointSpec, directory: Path, size_bytes: int) -> None:
        super().__init__(point_spec)
        program = f"from {__name__} import read_log; print(read_log({str(directory)!r}, {size_bytes}))"
        self._command = [sys.executable, "-c", program]

    def restart(self) -> RestartTimes:
        began = time.perf_counter()
        done = subprocess.run(self._command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            raise PointFailed(f"reading the log ended with status {done.returncode}")
        return RestartTimes(float(done.stdout), time.perf_counter() - began)


def read_log(directory: str, size_bytes: int) -> float:
    """Read and checksum this many bytes of a log, and return the seconds it took."""
    left, checksum = size_bytes, 0
    began = time.perf_counter()
    for path in sorted(path for path in Path(directory).rglob("*") if path.is_file()):
        with path.open("rb", buffering=0) as file:
            while left > 0 and (data := file.read(min(_READ_BYTES, left))):
                checksum = zlib.crc32(data, checksum)
                left -= len(data)
    return time.perf_counter() - began
