"""Queue managers given commands as people give them: by processes that run `ostler strmqm`, `runmqsc` and `endmqm`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import psutil

from ostler.client.link.control import control
from ostler.client.locate.embedded import start
from ostler.command.admin.objects import apply_definition
from ostler.lab.common.own_process import MeasurementFailed, Report, ignore_report, in_own_process
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection

NAME: Final = "LAB"
_SECONDS_MAX: Final = 600.0
_WATCH_SECONDS: Final = 0.02
# Definitions are small: this log takes a hundred thousand of them between checkpoints.
LOG: Final = LogSection(primary_files=4, secondary_files=8, file_pages=16_384)


def command(*words: str) -> list[str]:
    """The words of an `ostler` command, for a process with this very installation."""
    return [sys.executable, "-m", "ostler.cli.main", *words]


def _environment(root: Path) -> dict[str, str]:
    return {**os.environ, "OSTLER_DATA": str(root)}


def run_quietly(root: Path, *words: str) -> None:
    """Run a command, and hear of it only when it fails."""
    done = subprocess.run(
        command(*words), env=_environment(root), stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS_MAX
    )
    if done.returncode != 0:
        raise MeasurementFailed(f"ostler {' '.join(words)} ended with {done.returncode}: {done.stderr.decode()[-500:]}")


def create(root: Path, queues: int, report: Report = ignore_report) -> None:
    """A queue manager with so many local queues, made in a process of its own."""
    in_own_process(partial(_create, root, queues), _SECONDS_MAX, report)


def queue_name(number: int) -> str:
    return f"LAB.QUEUE.{number:06d}"


def _create(root: Path, queues: int, report: Report) -> None:
    manager = start(NAME, root, True, LOG, False)
    # One force for all: how they are made is not what is measured.
    lsn = 0
    for number in range(queues):
        with manager.lock:
            definition = new_definition(ObjectType.QLOCAL, queue_name(number), {"DESCR": f"Queue number {number}"})
            lsn = apply_definition(manager.engine, definition, False)
        if number % 1000 == 999:
            manager.writer.wait_durable(lsn)
            report(number / queues, f"{queues:,} queues")
    if lsn:
        manager.writer.wait_durable(lsn)
    manager.end("immediate")


@contextmanager
def started(root: Path) -> Iterator[int]:
    """A queue manager as strmqm starts it; the number of its process."""
    run_quietly(root, "strmqm", NAME)
    try:
        (status,) = control(QueueManagerDirectory(root, NAME), "status")
        pid = status["pid"]
        assert isinstance(pid, int)
        yield pid
    finally:
        run_quietly(root, "endmqm", "-i", NAME)


class Watch:
    """The highest resident size of a process while something goes on, seen fifty times a second."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.before = self._process.memory_info().rss
        self.highest = self.before
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    @property
    def growth(self) -> int:
        return self.highest - self.before

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        try:
            while not self._is_over.wait(_WATCH_SECONDS):
                self.highest = max(self.highest, self._process.memory_info().rss)
        except psutil.NoSuchProcess:
            return


def runmqsc(root: Path, script: Path, watched: Callable[[int], None] | None = None) -> tuple[int, bytes]:
    """Run a script with runmqsc; how many lines it showed, and the last few of them. `watched` is told the process."""
    return count_lines(command("runmqsc", NAME, "-f", str(script)), root, watched)


def count_lines(words: list[str], root: Path, watched: Callable[[int], None] | None = None) -> tuple[int, bytes]:
    """Run a process and read all it says."""
    with subprocess.Popen(
        words, env=_environment(root), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdout is not None
        if watched is not None:
            watched(process.pid)
        lines = 0
        last = b""
        while data := process.stdout.read(65_536):
            lines += data.count(b"\n")
            last = (last + data)[-400:]
        process.wait(_SECONDS_MAX)
        if process.returncode != 0:
            raise MeasurementFailed(f"runmqsc ended with {process.returncode}: {last.decode()}")
    return lines, last
