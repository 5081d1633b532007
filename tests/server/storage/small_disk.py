"""A queue manager as users have it, by crtmqm and strmqm, on file systems of a few megabytes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import ostler
from ostler.model.constants import MQRC_Q_SPACE_NOT_AVAILABLE, MQRC_RESOURCE_PROBLEM
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.process_file import read_record

NAME = "SMALL"
REFUSALS = (MQRC_Q_SPACE_NOT_AVAILABLE, MQRC_RESOURCE_PROBLEM)
_PATIENCE_SECONDS = 120.0


@contextlib.contextmanager
def file_system(at: Path, megabytes: int) -> Iterator[Path]:
    """A tmpfs of so many megabytes, mounted at a new directory."""
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(at)], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def can_mount(scratch: Path) -> bool:
    """Whether this user may mount file systems here."""
    if os.geteuid() != 0:
        return False
    try:
        with file_system(scratch / "can mount", 1):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def resize(at: Path, megabytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(at)], check=True)


def free_bytes(at: Path) -> int:
    state = os.statvfs(at)
    return state.f_bavail * state.f_frsize


def fill(at: Path, leave_bytes: int = 0) -> Path:
    """Take all space of a file system but so much with a file of somebody else's."""
    path = at / "somebody else's"
    with open(path, "ab", buffering=0) as file, contextlib.suppress(OSError):
        while (left := free_bytes(at) - leave_bytes) > 0:
            file.write(bytes(min(left, 1 << 20)))
    return path


class SmallDisk:
    """The queue manager from outside."""

    def __init__(self, data: Path, log: Path | None = None, descriptors: int = 0) -> None:
        self.data = data
        self._environment = {**os.environ, "OSTLER_DATA": str(data)}
        self._log = log
        self._descriptors = descriptors
        self._pid = 0

    @property
    def directory(self) -> QueueManagerDirectory:
        return QueueManagerDirectory(self.data, NAME)

    def create(self, primary: int = 3, secondary: int = 5, pages: int = 256) -> None:
        elsewhere = ["-ld", str(self._log)] if self._log is not None else []
        self.command(
            "crtmqm", "-lp", str(primary), "-ls", str(secondary), "-lf", str(pages), *elsewhere, NAME
        ).check_returncode()

    def start(self) -> None:
        done = self.command("strmqm", NAME)
        assert done.returncode == 0, f"strmqm: {done.stdout}{done.stderr}{self.errors()}"
        record = read_record(self.directory)
        running = subprocess.run(["cat", str(self.directory.lock)], capture_output=True, text=True, check=True).stdout
        self._pid = int(running) if running.strip() else (record.pid if record is not None else 0)
        assert self._pid

    def end(self) -> None:
        done = self.command("endmqm", "-i", NAME)
        assert done.returncode == 0, f"endmqm: {done.stdout}{done.stderr}{self.errors()}"
        self._wait_until_gone()

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        self._wait_until_gone()

    @property
    def process(self) -> int:
        return self._pid

    def is_alive(self) -> bool:
        """Whether the process is there and no zombie."""
        try:
            return "\nState:\tZ" not in Path(f"/proc/{self._pid}/status").read_text()
        except OSError:
            return False

    def _wait_until_gone(self) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self.is_alive():
            assert time.monotonic() < deadline, f"process {self._pid} of {NAME} does not end: {self.errors()}"
            time.sleep(0.01)
        self._pid = 0

    def close(self) -> None:
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._wait_until_gone()

    def command(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        limited = ["prlimit", f"--nofile={self._descriptors}:{self._descriptors}"] if self._descriptors else []
        return subprocess.run(
            [*limited, sys.executable, "-m", "ostler.cli.main", *words],
            env=self._environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )

    def define(self, *names: str) -> None:
        lines = [f"DEFINE QLOCAL({name}) MAXDEPTH(999999) DEFPSIST(YES) REPLACE" for name in names]
        done = self.command("runmqsc", NAME, text="\n".join(lines) + "\n")
        assert done.returncode == 0, done.stdout + done.stderr

    def connect(self) -> ostler.Connection:
        return ostler.connect(NAME, data=self.data, binding="local")

    def errors(self) -> str:
        """What the queue manager says of itself."""
        path = self.directory.errors / "AMQERR01.LOG"
        return "\n".join(path.read_text(errors="replace").splitlines()[-30:]) if path.exists() else ""


def body(number: int, size: int) -> bytes:
    return (b"%d:" % number).ljust(size, b".")


def number_of(message: ostler.Message) -> int:
    assert isinstance(message.body, bytes)
    return int(message.body.partition(b":")[0])


def put_until_refused(queue: ostler.Queue, size: int, first: int = 0, most: int = 100_000) -> tuple[list[int], int]:
    """The numbers that were put, and why no more; 0: as many as were wanted."""
    number = first
    while number < first + most:
        try:
            queue.put(body(number, size), persistent=True, syncpoint=False)
        except MQError as refused:
            if refused.reason not in REFUSALS:
                raise
            return list(range(first, number)), refused.reason
        number += 1
    return list(range(first, number)), 0


def drain(queue: ostler.Queue) -> list[int]:
    found = []
    while (message := queue.get(syncpoint=False)) is not None:
        found.append(number_of(message))
    return found
