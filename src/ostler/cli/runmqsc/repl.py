"""The interactive prompt of runmqsc: line editing, history, completion and help."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Final

from ostler.cli.runmqsc.runners import Runner
from ostler.cli.runmqsc.script import ScriptPart, is_ending
from ostler.command.mqsc.command_help import help_lines
from ostler.command.mqsc.completion import DELIMITERS, HELP, complete
from ostler.command.mqsc.statements import StatementReader
from ostler.model.attributes import ObjectType, Shown, attributes_of
from ostler.model.errors import MQError

HISTORY_NAME: Final = "runmqsc_history"
_HISTORY_LINES_MAX: Final = 1000
_CONTINUED_PROMPT: Final = "      > "
_INSERT: Final = re.compile(r"\+(\w+)\+")
_NAMES_MAX: Final = 1000
# Status nouns and the noun whose objects they name.
_SHOWN_AS: Final = {"QSTATUS": "QUEUE", "CHSTATUS": "CHANNEL", "LSSTATUS": "LISTENER", "SVSTATUS": "SERVICE"}
_QUEUES: Final = ("QLOCAL", "QALIAS", "QREMOTE", "QMODEL", "QUEUE")
_SECRETS: Final = re.compile(
    r"\b({})\s*\(".format(
        "|".join(
            sorted({each.name for kind in ObjectType for each in attributes_of(kind) if each.shown == Shown.MASKED})
        )
    ),
    re.IGNORECASE,
)


def prompt_of(manager: str, environment: Mapping[str, str]) -> str:
    """Returns MQPROMPT with its inserts, or the name of the queue manager. Unknown inserts are kept."""
    prompt = environment.get("MQPROMPT")
    if prompt is None:
        return f"{manager}> "
    known = {"MQ_HOST_NAME": socket.gethostname(), **environment, "QMNAME": manager}
    return _INSERT.sub(lambda match: known.get(match[1], match[0]), prompt)


def history_path(environment: Mapping[str, str]) -> Path:
    """Returns the path of the history file, below XDG_STATE_HOME."""
    state = environment.get("XDG_STATE_HOME", "")
    root = Path(state) if state.startswith("/") else Path(environment.get("HOME", "/")) / ".local" / "state"
    return root / "ostler" / HISTORY_NAME


def holds_secret(line: str) -> bool:
    """Returns whether a line contains a password. Such lines are not stored in the history."""
    return _SECRETS.search(line) is not None


class Repl:
    """Reads commands from the terminal and prints their answers, until END or the end of input."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._lines: list[str] = []
        self._candidates: list[str] = []

    def run(self) -> None:
        with self._line_editing():
            while True:
                try:
                    command = self._read_command()
                    if command is None or is_ending(command):
                        return
                    if command.strip():
                        self._run(command)
                except KeyboardInterrupt:
                    # Control-C cancels the line or the output, not the prompt.
                    print()

    def _read_command(self) -> str | None:
        """Returns one command, which may span several lines; None at the end of input."""
        reader = StatementReader()
        self._lines = []
        while True:
            prompt = _CONTINUED_PROMPT if self._lines else prompt_of(self._runner.name, os.environ)
            try:
                line = input(prompt)
            except EOFError:
                print()
                return reader.finish()
            _forget_secret(line)
            command = reader.feed(line)
            if command is not None:
                return command
            if not reader.is_continued:
                return ""
            self._lines.append(line)

    def _run(self, command: str) -> None:
        words = command.split()
        if words[0].upper().rstrip(";") in HELP:
            for line in help_lines(words[1:]):
                print(line)
            return
        with contextlib.closing(_generator(self._runner, command)) as lines:
            for line in lines:
                print(line, flush=True)

    # -- completion ----------------------------------------------------------------------------------------------------

    def candidate(self, text: str, state: int) -> str | None:
        """Returns the completion number `state`; None after the last (the protocol of readline)."""
        if state == 0:
            import readline

            so_far = readline.get_line_buffer()[: readline.get_endidx()]
            before = " ".join(line.rstrip().rstrip("+-") for line in self._lines)
            self._candidates = complete(f"{before} {so_far}" if before else so_far, self._names)
        return self._candidates[state] if state < len(self._candidates) else None

    def _names(self, noun: str, beginning: str) -> list[str]:
        """Returns names of objects from the queue manager; none if it does not answer."""
        shown = _SHOWN_AS.get(noun, noun)
        heading = "QUEUE" if shown in _QUEUES else shown
        pattern = beginning.replace("'", "''")
        try:
            lines = self._runner.lines(f"DISPLAY {shown}('{pattern}*')")
        except (MQError, OSError):
            return []
        names = re.findall(rf"^ {{3}}{heading}\((.*?)\)(?: |$)", "\n".join(lines), re.MULTILINE)
        return list(dict.fromkeys(names))[:_NAMES_MAX]

    @contextlib.contextmanager
    def _line_editing(self) -> Iterator[None]:
        """Enables editing, completion and history, if the readline module exists."""
        try:
            import readline
        except ImportError:
            yield
            return
        path = history_path(os.environ)
        with contextlib.suppress(OSError):
            readline.read_history_file(path)
        readline.set_history_length(_HISTORY_LINES_MAX)
        readline.set_completer(self.candidate)
        readline.set_completer_delims(DELIMITERS)
        readline.parse_and_bind("tab: complete")
        try:
            yield
        finally:
            readline.set_completer(None)
            with contextlib.suppress(OSError):
                _write_history(path)


def _generator(runner: Runner, command: str) -> Generator[str, None, None]:
    yield from runner.run([ScriptPart((command,), command)])


def _write_history(path: Path) -> None:
    """Writes the history to a file that is never readable for others."""
    import readline

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    path.chmod(0o600)
    readline.write_history_file(path)


def _forget_secret(line: str) -> None:
    if holds_secret(line):
        with contextlib.suppress(ImportError, ValueError):
            import readline

            readline.remove_history_item(readline.get_current_history_length() - 1)
