"""The daemon with the signals of a real process, and without sockets."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.process_file import ManagerState, state_of
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import create_queue_manager

PROGRAM = """
import sys
from pathlib import Path
from ostler.server.daemon import Daemon
from ostler.server.config.directories import QueueManagerDirectory

class PlainServer:
    def __init__(self, manager): self.manager = manager
    def start(self, with_listeners=True): pass
    def end(self, mode="quiesce", wait_seconds=0.0): self.manager.end(mode, wait_seconds)

class Reporter:
    def progress(self, done, total): pass
    def failed(self, failure): say(failure.text)
    def ready(self, manager):
        manager.connect("user", "stays")
        if sys.argv[2] == "fail":
            manager.fail("the disk broke")
        say("READY")

def say(line): print(line, flush=True)

directory = QueueManagerDirectory(Path(sys.argv[1]), "QM1")
server = lambda manager, daemon: PlainServer(manager)
sys.exit(Daemon(directory, Reporter(), server, "1.2", "test", 600.0, say).run())
"""

Program = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def directory(tmp_path: Path) -> QueueManagerDirectory:
    return create_queue_manager(tmp_path, "QM1", LogSection(file_pages=64, primary_files=2, secondary_files=1))


@pytest.fixture
def program(directory: QueueManagerDirectory) -> Iterator[Program]:
    made: list[subprocess.Popen[str]] = []

    def start(what: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", PROGRAM, str(directory.root), what]
        made.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return made[-1]

    yield start
    for process in made:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)


def read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"{words!r} never came")


@pytest.mark.parametrize(
    ("second", "state"),
    [
        (signal.SIGTERM, ManagerState.ENDED_IMMEDIATELY),
        (signal.SIGINT, ManagerState.ENDED_PREEMPTIVELY),
    ],
)
def test_a_second_signal_hurries_on_what_the_first_one_began(
    program: Program, directory: QueueManagerDirectory, second: signal.Signals, state: ManagerState
) -> None:
    process = program("stay")
    read_until(process, "READY")
    process.send_signal(signal.SIGTERM)
    read_until(process, "AMQ5049I: Queue manager QM1 is ending (quiesce), asked by SIGTERM")
    assert state_of(directory) is ManagerState.QUIESCING, "an application stays"
    process.send_signal(second)
    assert process.wait(60) == 0
    assert state_of(directory) is state


def test_a_disk_that_failed_ends_the_process_and_the_reason_is_told(
    program: Program, directory: QueueManagerDirectory
) -> None:
    process = program("fail")
    read_until(process, "AMQ7017S: Queue manager QM1 ends at once: the disk broke.")
    assert process.wait(60) == 71
    assert state_of(directory) is ManagerState.ENDED_UNEXPECTEDLY
    assert "the disk broke" in (directory.errors / "AMQERR01.LOG").read_text()
