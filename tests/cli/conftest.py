"""The `ostler` command in this process, with its own data root; and real queue managers, ended by their process id."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from ostler.cli.main import main
from ostler.server.config.directories import QueueManagerDirectory, queue_managers


@dataclass(frozen=True)
class Said:
    """What a command did."""

    status: int
    out: str
    err: str


Command = Callable[..., Said]

SMALL_LOG = ("-lf", "64", "-lp", "2", "-ls", "1")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "data"
    monkeypatch.setenv("OSTLER_DATA", str(root))
    return root


@pytest.fixture
def ostler(data: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process."""

    def run(*arguments: str) -> Said:
        capsys.readouterr()
        try:
            status = main(arguments)
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 0
        captured = capsys.readouterr()
        return Said(int(status), captured.out, captured.err)

    return run


@pytest.fixture
def program(data: Path) -> Iterator[Command]:
    """Run a command as a program of its own; queue managers that still run in the end are killed, each by its id."""

    def run(*arguments: str, text: str = "") -> Said:
        command = [sys.executable, "-m", "ostler.cli.main", *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
        return Said(done.returncode, done.stdout, done.stderr)

    yield run
    for entry in queue_managers(data):
        if entry.running and entry.process > 0 and entry.process != os.getpid():
            with suppress(ProcessLookupError):
                os.kill(entry.process, signal.SIGKILL)


@pytest.fixture
def directory(data: Path) -> QueueManagerDirectory:
    """Where QM1 is, or would be."""
    return QueueManagerDirectory(data, "QM1")
