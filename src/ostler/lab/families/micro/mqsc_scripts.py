"""Families `mqsc-define` and `mqsc-display`: many objects defined by a script, and very many displayed.

runmqsc counts whole: its start, its connection, reading and echoing the script. Objects are durable before their answer
is shown, whoever defines them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import psutil

from ostler.client.link.control import control
from ostler.client.locate.embedded import start
from ostler.command.admin.objects import apply_definition
from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.lab.families.micro.tasks import (
    ForceLoop,
    Points,
    TaskExperiment,
    limit,
    ostler,
)
from ostler.lab.families.object_storage import DEFINE
from ostler.lab.families.task import RESULT, Rounds, Timed
from ostler.lab.runner.contract import Experiment, Metric, PointFailed, PointSpec, RunContext
from ostler.lab.runner.queue_managers.plan import NAME
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.server.admin.command_context import ManagerCommandContext
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager

LINE: Final = "line"
SERVER_GROWTH: Final = "growth of the queue manager, bytes"
RUNMQSC_MEMORY: Final = "highest memory of runmqsc, bytes"
LINES: Final = "lines"
SCRIPTS: Final = {"names only": "DISPLAY QLOCAL(LAB.*)\n", "all attributes": "DISPLAY QLOCAL(LAB.*) ALL\n"}
LOOP: Final = ostler("a loop in one process", "each object is forced before the next one is defined")
SCRIPT: Final = ostler("the script in one process", "each object is forced before its answer; several share a force")
RUNMQSC: Final = ostler("runmqsc", "a process that is started, connects, and echoes the script and all answers")
_PRINTING: Final = limit("a process that only prints", "as many lines as there are queues, all the same")
# Definitions are small: this log takes a hundred thousand of them between checkpoints.
_LOG: Final = LogSection(primary_files=4, secondary_files=8, file_pages=16_384)
_RECORD_BYTES: Final = 4096
_WATCH_SECONDS: Final = 0.02
_DONE: Final = b"All valid MQSC commands were processed."
_PRINTED: Final = "   QDEPTHHI(80)                            QDEPTHLO(20)"
_PRINTER: Final = "import sys\nfor _ in range(int(sys.argv[1])): print(sys.argv[2])"


def queue_name(number: int) -> str:
    return f"LAB.QUEUE.{number:07d}"


def script(first: int, objects: int) -> str:
    """Return commands that define this many objects, numbered from the first on."""
    lines = (
        f"DEFINE QLOCAL({queue_name(each)}) DESCR('Queue number {each}') MAXDEPTH(1000)"
        for each in range(first, first + objects)
    )
    return "".join(f"{line}\n" for line in lines)


# -- defining ----------------------------------------------------------------------------------------------------------


def define(context: RunContext) -> Experiment:
    return TaskExperiment(
        context,
        {
            LOOP: partial(DefineRounds, define_by_loop),
            SCRIPT: partial(DefineRounds, define_by_script),
            RUNMQSC: DefineByRunmqsc,
            limit("a force for each object", "a block written and forced"): forced_blocks,
        },
        lambda points: PointSpec(1, 0, True, main_operation=DEFINE),
        remote={RUNMQSC: create},
    )


def forced_blocks(points: Points, root: Path) -> ForceLoop:
    return ForceLoop(root / "forced", DEFINE, _RECORD_BYTES)


def define_by_loop(manager: QueueManager, first: int, objects: int) -> float:
    began = time.perf_counter()
    for number in range(first, first + objects):
        attributes: dict[str, Value] = {"DESCR": f"Queue number {number}", "MAXDEPTH": 1000}
        manager.define(new_definition(ObjectType.QLOCAL, queue_name(number), attributes))
    return time.perf_counter() - began


def define_by_script(manager: QueueManager, first: int, objects: int) -> float:
    text = script(first, objects)
    began = time.perf_counter()
    *_, counts = run_script(ManagerCommandContext(manager), text)
    seconds = time.perf_counter() - began
    assert isinstance(counts, ScriptCounts)
    if counts.read - counts.failed - counts.syntax_errors != objects:
        raise PointFailed(f"of {objects:,} commands {counts.failed + counts.syntax_errors:,} failed")
    return seconds


class DefineRounds(Rounds):
    """Rounds of new objects, in the process of a new queue manager."""

    def __init__(self, work: Callable[[QueueManager, int, int], float], points: Points, root: Path) -> None:
        self._manager = start(NAME, root, True, _LOG, False)
        self._work = work
        self._objects = int(points["objects"])
        self._defined = 0

    def round(self) -> Sequence[Timed]:
        seconds = self._work(self._manager, self._defined, self._objects)
        self._defined += self._objects
        if queue_name(self._defined - 1) not in self._manager.engine.queues:
            raise PointFailed(f"{queue_name(self._defined - 1)} was not defined")
        return (Timed(DEFINE, seconds, self._objects),)

    def close(self) -> None:
        self._manager.end("preemptive")


class DefineByRunmqsc(Rounds):
    """Rounds of new objects, each a script for a runmqsc of its own."""

    def __init__(self, points: Points, root: Path) -> None:
        self._objects = int(points["objects"])
        self._root = root
        self._defined = 0

    def round(self) -> Sequence[Timed]:
        text = script(self._defined, self._objects)
        self._defined += self._objects
        shown = runmqsc(self._root, text)
        if f"{self._objects} MQSC commands read.".encode() not in shown.last:
            raise PointFailed(f"runmqsc ended with: {shown.last.decode()}")
        return (Timed(DEFINE, shown.seconds, self._objects),)

    def close(self) -> None:
        return


# -- displaying --------------------------------------------------------------------------------------------------------


def display(context: RunContext) -> Experiment:
    return TaskExperiment(
        context,
        {RUNMQSC: DisplayRounds, _PRINTING: PrintRounds},
        lambda points: PointSpec(1, 0, False, main_operation=LINE),
        remote={RUNMQSC: create},
    )


class DisplayRounds(Rounds):
    """Rounds of one DISPLAY of all queues."""

    def __init__(self, points: Points, root: Path) -> None:
        self._root = root
        self._queues = int(points["queues"])
        self._script = SCRIPTS[str(points["attributes"])]
        (status,) = control(QueueManagerDirectory(root, NAME), "status")
        self._server = psutil.Process(int(str(status["pid"])))
        self._metrics: list[Metric] = []
        self._rounds = 0

    def round(self) -> Sequence[Timed]:
        server = PeakMemory(self._server)
        shown = runmqsc(self._root, self._script)
        server.end()
        if shown.lines < 2 * self._queues:
            raise PointFailed(f"{shown.lines:,} lines cannot show {self._queues:,} queues")
        self._rounds += 1
        found = {LINES: shown.lines, SERVER_GROWTH: server.growth_bytes, RUNMQSC_MEMORY: shown.memory_bytes}
        self._metrics = [Metric(RESULT, name, value, position=self._rounds) for name, value in found.items()]
        return (Timed(LINE, shown.seconds, shown.lines),)

    def found(self) -> list[Metric]:
        return self._metrics

    def close(self) -> None:
        return


class PrintRounds(Rounds):
    """The limit: a process that prints."""

    def __init__(self, points: Points, root: Path) -> None:
        self._lines = int(points["queues"])

    def round(self) -> Sequence[Timed]:
        shown = count_lines([sys.executable, "-c", _PRINTER, str(self._lines), _PRINTED], dict(os.environ))
        return (Timed(LINE, shown.seconds, shown.lines),)

    def close(self) -> None:
        return


def create(points: Points, root: Path) -> None:
    """Create a queue manager with the queues to display, and end it."""
    queues = int(points.get("queues", 0))
    manager = start(NAME, root, True, _LOG, False)
    lsn = 0
    # One force serves a thousand: defining is not what is measured.
    for number in range(queues):
        with manager.turn:
            definition = new_definition(ObjectType.QLOCAL, queue_name(number), {"DESCR": f"Queue number {number}"})
            lsn = apply_definition(manager.engine, definition, False)
        if number % 1000 == 999:
            manager.writer.wait_durable(lsn)
    if lsn:
        manager.writer.wait_durable(lsn)
    manager.end("immediate")


# -- runmqsc -----------------------------------------------------------------------------------------------------------


class PeakMemory:
    """The growth of a process while something goes on, sampled fifty times a second."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._before = self.highest_bytes = process.memory_info().rss
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    @property
    def growth_bytes(self) -> int:
        return self.highest_bytes - self._before

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _sample(self) -> None:
        with suppress(psutil.NoSuchProcess):
            while not self._is_over.wait(_WATCH_SECONDS):
                self.highest_bytes = max(self.highest_bytes, self._process.memory_info().rss)


@dataclass(frozen=True)
class Shown:
    """The output of a process: the number of its lines, the end of the last ones, its time and its highest memory."""

    lines: int
    last: bytes
    seconds: float
    memory_bytes: int


def runmqsc(root: Path, text: str) -> Shown:
    """Run a script with runmqsc, from the start of its process to its end. Raises PointFailed when a command failed."""
    path = root / "script.mqsc"
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "ostler.cli.main", "runmqsc", NAME, "-f", str(path)]
    shown = count_lines(command, {**os.environ, "OSTLER_DATA": str(root)})
    if _DONE not in shown.last:
        raise PointFailed(f"runmqsc ended with: {shown.last.decode()}")
    return shown


def count_lines(command: list[str], environment: dict[str, str]) -> Shown:
    """Run a process and read all that it prints."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdout is not None
        memory = PeakMemory(psutil.Process(process.pid))
        lines, last = 0, b""
        while data := process.stdout.read(65_536):
            lines += data.count(b"\n")
            last = (last + data)[-400:]
        status = process.wait()
        seconds = time.perf_counter() - began
        memory.end()
    if status != 0:
        raise PointFailed(f"{' '.join(command[1:])} ended with {status}: {last.decode()}")
    return Shown(lines, last, seconds, memory.highest_bytes)
