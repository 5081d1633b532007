"""Runners of `runmqsc`: a running queue manager, a verifier that runs nothing, and a command server."""

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
    # The client is slow to load, and only needed to send messages.
    from ostler.cli.runmqsc.command_queue import CommandQueue


class Runner(ABC):
    """Runs commands and counts outcomes. The report repeats the commands if it `echoes`."""

    def __init__(self, name: str, echoes: bool, verifies: bool = False) -> None:
        self.name = name
        self.echoes = echoes
        self.counts = ScriptCounts(verify_only=verifies)

    @abstractmethod
    def check(self) -> None:
        """Fails now, rather than at the first command, if no queue manager answers."""

    @abstractmethod
    def run(self, parts: Sequence[ScriptPart]) -> Iterator[str]:
        """Runs parts of a script; yields the lines of the report."""

    def lines(self, command: str) -> list[str]:
        """Returns the answer to a command that is not counted."""
        kept, echoes = self.counts, self.echoes
        self.counts, self.echoes = ScriptCounts(), False
        try:
            return list(self.run([ScriptPart((command,), command)]))
        finally:
            self.counts, self.echoes = kept, echoes

    @abstractmethod
    def close(self) -> None:
        """Disconnects from the queue manager."""

    def _echo(self, part: ScriptPart) -> Iterator[str]:
        """Yields the lines of a part as reports show them: the first line of a command with its number."""
        if not self.echoes:
            return
        number = f"{self.counts.read + 1:6d}" if part.command is not None else " " * 6
        for line in part.lines:
            is_comment = not line.strip() or line.lstrip().startswith("*")
            yield f"{' ' * 6 if is_comment else number} : {line}"
            number = number if is_comment else " " * 6

    def _unfinished(self, part: ScriptPart) -> Iterator[str]:
        yield from self._echo(part)
        assert part.command is not None
        problem = MqscSyntaxError(len(part.command), "the last line is continued, but there is no next line")
        yield from syntax_error_lines(part.command, problem)
        self.counts.count(CommandOutcome.SYNTAX_ERROR)


class Verifier(Runner):
    """Only checks commands, without a queue manager."""

    def __init__(self, name: str, echoes: bool) -> None:
        super().__init__(name, echoes, verifies=True)

    def check(self) -> None:
        """Needs no queue manager."""

    def close(self) -> None:
        """Has no connection."""

    def run(self, parts: Sequence[ScriptPart]) -> Iterator[str]:
        for part in parts:
            if not part.is_whole:
                yield from self._unfinished(part)
                continue
            yield from self._echo(part)
            if part.command is None:
                continue
            try:
                parse_command(part.command)
                self.counts.count(CommandOutcome.DONE)
            except MqscSyntaxError as problem:
                yield from syntax_error_lines(part.command, problem)
                self.counts.count(CommandOutcome.SYNTAX_ERROR)


class LocalRunner(Runner):
    """Runs commands on a queue manager of this machine, over its own socket."""

    def __init__(self, directory: QueueManagerDirectory, echoes: bool) -> None:
        super().__init__(directory.name, echoes)
        self._directory = directory

    def check(self) -> None:
        for _ in request_action(self._directory, "mqsc", Status.NOT_DONE, text=""):
            pass

    def close(self) -> None:
        """Has no connection: each request opens its own."""

    def run(self, parts: Sequence[ScriptPart]) -> Iterator[str]:
        sent = [part for part in parts if part.is_whole and not part.is_end]
        if sent:
            yield from self._send(sent)
        for part in parts[len(sent) :]:
            yield from self._echo(part) if part.is_end else self._unfinished(part)

    def _send(self, parts: Sequence[ScriptPart]) -> Iterator[str]:
        """Sends many commands with one request.

        A unique comment precedes each command. As the answer repeats it, it marks where the answer to a command ends;
        the lines that follow it are those of the next command, which are echoed with our own numbers instead.
        """
        mark = f"*{secrets.token_hex(12)}"
        texts = ["\n".join(part.lines) for part in parts]
        text = "".join(f"{mark}\n{each}\n" for each in texts) + mark
        repeated = [sum(max(1, len(line.splitlines())) for line in part.lines) for part in parts]
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
                if at < len(parts):
                    skipped = repeated[at]
                    yield from self._echo(parts[at])
                    self.counts.read += parts[at].command is not None
            elif skipped:
                skipped -= 1
            elif at < len(parts):
                yield line

    def _count(self, counts: dict[str, object], read: int) -> None:
        self.counts.read = read + _number(counts, "read")
        self.counts.syntax_errors += _number(counts, "syntax_errors")
        self.counts.failed += _number(counts, "failed")


def _number(counts: dict[str, object], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0


class QueuedRunner(Runner):
    """Runs commands through a command server, with a message for each command."""

    def __init__(self, name: str, echoes: bool, queue: CommandQueue) -> None:
        super().__init__(name, echoes)
        self._queue = queue

    def check(self) -> None:
        """Is connected already."""

    def run(self, parts: Sequence[ScriptPart]) -> Iterator[str]:
        for part in parts:
            if not part.is_whole:
                yield from self._unfinished(part)
                continue
            yield from self._echo(part)
            if part.command is not None:
                outcome = yield from self._queue.escape(part.command)
                self.counts.count(outcome)

    def close(self) -> None:
        self._queue.close()
