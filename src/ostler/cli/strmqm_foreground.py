"""A queue manager in the foreground: its process is this one, and its error log is shown on the console."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Final

from ostler.cli.strmqm_process import make_daemon
from ostler.client.locate.embedded import ReplayBar
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.environment import without_secrets
from ostler.server.daemon import Daemon, StartFailure
from ostler.server.queue_manager import QueueManager

_TOLD_EVERY_SECONDS: Final = 5.0
_COLOURS: Final = {"W": "\x1b[33m", "E": "\x1b[31m", "S": "\x1b[31;1m"}
_PLAIN: Final = "\x1b[0m"


class Console:
    """Lines for people: the time and the message, coloured by weight on a terminal. It hears of the start, too."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_terminal = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._bar = ReplayBar(name) if sys.stderr.isatty() else None
        self._told_at = time.monotonic()

    def echo(self, line: str) -> None:
        number = line.partition(":")[0]
        colour = _COLOURS.get(number[-1:], "") if self._is_terminal else ""
        shown = f"{colour}{line}{_PLAIN}" if colour else line
        print(f"{time.strftime('%H:%M:%S')} {shown}", flush=True)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        if self._bar is not None:
            self._bar(done_bytes, total_bytes)
        elif time.monotonic() - self._told_at >= _TOLD_EVERY_SECONDS:
            self._told_at = time.monotonic()
            self.echo(f"AMQ7229I: {done_bytes >> 20} of {total_bytes >> 20} MB of the log are replayed.")

    def ready(self, manager: QueueManager) -> None:
        self._close_bar()

    def failed(self, failure: StartFailure) -> None:
        self._close_bar()
        print(failure.text, file=sys.stderr, flush=True)

    def _close_bar(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)


def forget_secrets(command: list[str], is_on_command_line: bool = False) -> None:
    """Be this program anew, with `command` and without passwords in the environment, if there are some, or were given.

    What a process was started with can be read for as long as it runs, and the queue manager is about to be this one.
    """
    kept = without_secrets(os.environ)
    if is_on_command_line or len(kept) != len(os.environ):
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, "-P", "-m", "ostler.cli.main", *command], kept)


def run_here(
    directory: QueueManagerDirectory,
    starts_services: bool = True,
    stop_seconds: float = 5.0,
    started: Callable[[QueueManager, Daemon], None] | None = None,
) -> int:
    """Be the process of a queue manager until it ends; the status to exit with."""
    os.umask(0o077)
    console = Console(directory.name)
    return make_daemon(directory, console, starts_services, stop_seconds, console.echo, started).run()
