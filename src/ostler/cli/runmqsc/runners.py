"""Who runs commands for `runmqsc`: a running queue manager, nobody (only to check them), or a command server."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ostler.cli.framework.commands import request_action
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.runmqsc.script import ScriptPart
from ostler.command.mqsc.interpreter import CommandOutcome, parse_command, syntax_error_lines
from ostler.command.mqsc.script import ScriptCounts
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.server.config.directories import QueueManagerDirectory

if TYPE_CHECKING:
    # The client takes a while to load, and only those who send messages need it.
    from ostler.cli.runmqsc.command_queue import CommandQueue


class Runner(ABC):
    """Runs commands and counts how they went. The lines of its report repeat the commands if it `echoes`."""

    def __init__(self, name: str, echoes: bool, verifies: bool = False) -> None:
        self.name = name
        self.echoes = echoes
        self.counts = ScriptCounts(verify_only=verifies)

    @abstractmethod
    def check(self) -> None:
        """Fail now rather than at the first command if nobody is there to run any."""

    @abstractmethod
    def run(self, pieces: Sequence[ScriptPart]) -> Iterator[str]:
        """Run what is in some pieces of a script; the lines of the report."""

    def lines(self, command: str) -> list[str]:
        """The answer to a command that is not counted."""
        kept, echoes = self.counts, self.echoes
        self.counts, self.echoes = ScriptCounts(), False
        try:
            return list(self.run([ScriptPart((command,), command)]))
        finally:
            self.counts, self.echoes = kept, echoes

    @abstractmethod
    def close(self) -> None:
        """Leave the queue manager."""

    def _repeated(self, piece: ScriptPart) -> Iterator[str]:
        """The lines of a piece as reports show them: the first line of a command with its number."""
        if not self.echoes:
            return
        number = f"{self.counts.read + 1:6d}" if piece.command is not None else " " * 6
        for line in piece.lines:
            is_comment = not line.strip() or line.lstrip().startswith("*")
            yield f"{' ' * 6 if is_comment else number} : {line}"
            number = number if is_comment else " " * 6

    def _unfinished(self, piece: ScriptPart) -> Iterator[str]:
        yield from self._repeated(piece)
        assert piece.command is not None
        problem = MqscSyntaxError(len(piece.command), "the last line is continued, but there is no next line")
        yield from syntax_error_lines(piece.command, problem)
        self.counts.count(CommandOutcome.SYNTAX_ERROR)


class Verifier(Runner):
    """Only checks commands. No queue manager is needed for that."""

    def __init__(self, name: str, echoes: bool) -> None:
        super().__init__(name, echoes, verifies=True)

    def check(self) -> None:
        """It is always there."""

    def close(self) -> None:
        """There is nobody to leave."""

    def run(self, pieces: Sequence[ScriptPart]) -> Iterator[str]:
        for piece in pieces:
            if not piece.is_whole:
                yield from self._unfinished(piece)
                continue
            yield from self._repeated(piece)
            if piece.command is None:
                continue
            try:
                parse_command(piece.command)
                self.counts.count(CommandOutcome.DONE)
            except MqscSyntaxError as problem:
                yield from syntax_error_lines(piece.command, problem)
                self.counts.count(CommandOutcome.SYNTAX_ERROR)


class LocalRunner(Runner):
    """A queue manager of this machine, over its own socket."""

    def __init__(self, directory: QueueManagerDirectory, echoes: bool) -> None:
        super().__init__(directory.name, echoes)
        self._directory = directory

    def check(self) -> None:
        for _ in request_action(self._directory, "mqsc", Status.NOT_DONE, text=""):
            pass

    def close(self) -> None:
        """Each request has a connection of its own."""

    def run(self, pieces: Sequence[ScriptPart]) -> Iterator[str]:
        sent = [piece for piece in pieces if piece.is_whole and not piece.is_end]
        if sent:
            yield from self._send(sent)
        for piece in pieces[len(sent) :]:
            yield from self._repeated(piece) if piece.is_end else self._unfinished(piece)

    def _send(self, pieces: Sequence[ScriptPart]) -> Iterator[str]:
        """Many commands with one request.

        A comment of our own stands before each of them. As the answer repeats it, it tells where the answer to one
        command ends; the lines that follow it are those of the next command, which we repeat with numbers of our own.
        """
        mark = f"*{secrets.token_hex(12)}"
        texts = ["\n".join(piece.lines) for piece in pieces]
        text = "".join(f"{mark}\n{each}\n" for each in texts) + mark
        repeated = [sum(max(1, len(line.splitlines())) for line in piece.lines) for piece in pieces]
        at, skipped, read = -1, 0, self.counts.read
        for answer in request_action(self._directory, "mqsc", Status.NOT_DONE, text=text, echo=True):
            line = answer.get("line")
            counts = answer.get("counts")
            if isinstance(counts, dict):
                self._count(counts, read)
            elif not isinstance(line, str):
                continue
            elif line.endswith(mark):
                at += 1
                if at < len(pieces):
                    skipped = repeated[at]
                    yield from self._repeated(pieces[at])
                    self.counts.read += pieces[at].command is not None
            elif skipped:
                skipped -= 1
            elif at < len(pieces):
                yield line

    def _count(self, counts: dict[str, object], read: int) -> None:
        self.counts.read = read + _number(counts, "read")
        self.counts.syntax_errors += _number(counts, "syntax_errors")
        self.counts.failed += _number(counts, "failed")


def _number(counts: dict[str, object], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0


class QueuedRunner(Runner):
    """A command server, through messages: one for each command."""

    def __init__(self, name: str, echoes: bool, queue: CommandQueue) -> None:
        super().__init__(name, echoes)
        self._queue = queue

    def check(self) -> None:
        """The connection is there, or it would not have come so far."""

    def run(self, pieces: Sequence[ScriptPart]) -> Iterator[str]:
        for piece in pieces:
            if not piece.is_whole:
                yield from self._unfinished(piece)
                continue
            yield from self._repeated(piece)
            if piece.command is not None:
                outcome = yield from self._queue.escape(piece.command)
                self.counts.count(outcome)

    def close(self) -> None:
        self._queue.close()
