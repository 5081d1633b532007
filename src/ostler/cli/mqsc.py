"""`ostler runmqsc`: MQSC commands for a running queue manager, from a file, from a pipe, or as they are typed."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ostler.cli import commands
from ostler.cli.commands import CommandFailed, ask, existing, refuse_options
from ostler.cli.exit_statuses import Status
from ostler.server.directories import QueueManagerDirectory

_HISTORY: Final = ".runmqsc_history"
_HISTORY_LINES_MAX: Final = 1000
_TEXT_BYTES_MAX: Final = 16 << 20
_LEAVING: Final = frozenset({"end", "quit", "exit"})
_SUMMARY_LINES: Final = 3
_CONTINUED: Final = ("+", "-")
_REMOTE: Final = "commands for other queue managers go through their own runmqsc for now"
_REFUSED_ALONE: Final = {
    "-x": "there is no queue manager for z/OS here",
    "-c": _REMOTE,
    "-n": "it belongs to client definitions",
}
_REFUSED_WITH_VALUE: Final = {"-w": _REMOTE, "-m": _REMOTE, "-u": "you are who the operating system says you are"}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "runmqsc",
        "run MQSC commands",
        "Run MQSC commands from a file, from standard input, or as you type them. "
        "Ends with 0 when all were done, 10 when some failed, 20 when none could be run.",
        Status.NOT_DONE,
    )
    parser.add_argument("name", metavar="QMGR", nargs="?", help="the queue manager (the default one)")
    parser.add_argument("-f", dest="file", type=Path, metavar="FILE", help="read the commands from this file")
    parser.add_argument("-e", dest="no_echo", action="store_true", help="do not repeat the commands in the report")
    parser.add_argument("-v", dest="verifies", action="store_true", help="only check the commands, run none")
    refuse_options(parser, _REFUSED_ALONE, 0)
    refuse_options(parser, _REFUSED_WITH_VALUE, "?")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        directory = existing(arguments.name)
        session = MqscSession(directory, arguments.verifies, not arguments.no_echo)
        if arguments.file is not None:
            return session.batch(_read(arguments.file))
        if sys.stdin.isatty():
            return session.interactive()
        return session.batch(sys.stdin.read(_TEXT_BYTES_MAX))
    except CommandFailed as failed:
        # MQ's runmqsc knows one status for all that keeps it from running anything.
        failed.status = Status.NOT_DONE
        raise


def _read(file: Path) -> str:
    try:
        with open(file, encoding="utf-8") as stream:
            return stream.read(_TEXT_BYTES_MAX)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(Status.NOT_DONE, "AMQ6109E", what=f"Reading {file}", why=error) from error


class MqscSession:
    """Sends commands, shows what comes back, and remembers how it went."""

    def __init__(self, directory: QueueManagerDirectory, verifies: bool, echoes: bool) -> None:
        self._directory = directory
        self._verifies = verifies
        self._echoes = echoes
        self._counts: Counter[str] = Counter()

    def batch(self, text: str) -> int:
        self._send(text, self._echoes)
        return self._status()

    def interactive(self) -> int:
        """Until end, quit, exit or the end of input."""
        # Whether it is there at all is better known before the first command has been typed.
        for _ in ask(self._directory, "status", Status.NOT_DONE):
            pass
        print(f"Commands for queue manager {self._directory.name}; END leaves.")
        with _line_editing(self._directory):
            while True:
                command = _typed_command(os.environ.get("MQPROMPT", f"{self._directory.name}> "))
                if command is None or command.strip().rstrip(";").lower() in _LEAVING:
                    return self._status()
                if command.strip():
                    self._send(command, echoes=False, held_lines=_SUMMARY_LINES)

    def _send(self, text: str, echoes: bool, held_lines: int = 0) -> None:
        answers = ask(self._directory, "mqsc", Status.NOT_DONE, text=text, verify=self._verifies, echo=echoes)
        # One who types commands needs no summary after each; it is the last lines, so they are held back.
        held: deque[object] = deque()
        for answer in answers:
            if "line" in answer:
                held.append(answer["line"])
                if len(held) > held_lines:
                    print(held.popleft(), flush=True)
            counts = answer.get("counts")
            if isinstance(counts, dict):
                self._counts.update({str(name): int(value) for name, value in counts.items()})

    def _status(self) -> int:
        failed = self._counts["syntax_errors"] + self._counts["failed"]
        return Status.PARTLY_DONE if failed else Status.DONE


def _typed_command(prompt: str) -> str | None:
    """One command, which may go on over several lines; None at the end of input."""
    lines: list[str] = []
    while True:
        try:
            line = input(prompt if not lines else "      > ")
        except EOFError:
            return "\n".join(lines) if lines else None
        lines.append(line)
        if not line.rstrip().endswith(_CONTINUED):
            return "\n".join(lines)


@contextlib.contextmanager
def _line_editing(directory: QueueManagerDirectory) -> Iterator[None]:
    """Editing, and the commands of earlier times, where the readline module is there."""
    try:
        import readline
    except ImportError:
        yield
        return
    path = directory.root / _HISTORY
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(_HISTORY_LINES_MAX)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            readline.write_history_file(path)
            path.chmod(0o600)
