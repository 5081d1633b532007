"""Runs scripts of commands: yields their report line by line, and counts outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.mqsc.grammar import ENDING, PRODUCT, VERBS, message
from ostler.command.mqsc.interpreter import CommandOutcome, run_command, syntax_error_lines
from ostler.command.mqsc.statements import StatementReader
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.model.errors import MQError

_CHANGING: Final = ("ALTER", "DEFINE", "DELETE", "SET")
_DEFERRED_COMMANDS_MAX: Final = 64
_DEFERRED_LINES_MAX: Final = 1000
_NOT_DURABLE: Final = "AMQ8101E"


@dataclass
class ScriptCounts:
    """Counts commands that were read, had a syntax error, or failed."""

    read: int = 0
    syntax_errors: int = 0
    failed: int = 0
    verify_only: bool = False

    def count(self, outcome: CommandOutcome) -> None:
        self.read += 1
        if outcome is CommandOutcome.SYNTAX_ERROR:
            self.syntax_errors += 1
        elif outcome is CommandOutcome.FAILED:
            self.failed += 1

    @property
    def exit_code(self) -> int:
        """Returns 0, or 10 if a command failed (runmqsc; 20 is for scripts that could not be run at all)."""
        return 10 if self.syntax_errors or self.failed else 0

    def summary(self) -> list[str]:
        """Returns the last lines of the report."""
        lines = [
            _counted(self.read, "MQSC command read.", "MQSC commands read."),
            _counted(self.syntax_errors, "command has a syntax error.", "commands have a syntax error."),
        ]
        if self.verify_only:
            return [*lines, "The commands were verified only: nothing was done."]
        if self.failed == 0:
            return [*lines, "All valid MQSC commands were processed."]
        one = "valid MQSC command could not be processed."
        return [*lines, _counted(self.failed, one, "valid MQSC commands could not be processed.")]

    def as_json(self) -> dict[str, int]:
        """Returns the counts for control requests over a socket."""
        return {
            "read": self.read,
            "syntax_errors": self.syntax_errors,
            "failed": self.failed,
            "exit_code": self.exit_code,
        }


def _counted(number: int, one: str, several: str) -> str:
    if number == 1:
        return f"One {one}"
    return f"{number or 'No'} {several}"


class _DeferredAnswers:
    """Holds back the answers to changes until they are durable, and the lines that follow them.

    Commands that only change objects go through a pipelined context, so that many share one forced write. No answer
    reports a change before it is durable.
    """

    def __init__(self, context: CommandContext) -> None:
        self._target = context.as_pipelined()
        self._lines: list[str] = []
        self._commands: list[tuple[CommandOutcome, int, int]] = []  # with the lines of the answer

    @property
    def is_full(self) -> bool:
        return len(self._commands) >= _DEFERRED_COMMANDS_MAX or len(self._lines) >= _DEFERRED_LINES_MAX

    def line(self, text: str) -> None:
        self._lines.append(text)

    def run(self, command: str, verify_only: bool) -> None:
        begin = len(self._lines)
        running = run_command(self._target, command, verify_only)
        while True:
            try:
                self._lines.append(next(running))
            except StopIteration as end:
                self._commands.append((end.value, begin, len(self._lines)))
                return

    def release(self, counts: ScriptCounts) -> Iterator[str]:
        """Waits until all changes are durable, then yields the lines."""
        lines, commands = self._lines, self._commands
        self._lines, self._commands = [], []
        failure = ""
        try:
            self._target.wait_durable()
        except MQError as error:
            failure = message(_NOT_DURABLE, f"{PRODUCT} cannot say whether this change is durable: {error}")
        at = 0
        for outcome, begin, end in commands:
            yield from lines[at:begin]
            if failure and outcome is CommandOutcome.DONE:
                outcome = CommandOutcome.FAILED
                yield failure
            else:
                yield from lines[begin:end]
            counts.count(outcome)
            at = end
        yield from lines[at:]


def run_script(
    context: CommandContext, text: str | Iterable[str], verify_only: bool = False, echo: bool = True
) -> Iterator[str | ScriptCounts]:
    """Runs a script. Yields the lines of the answers, the summary, and finally the counts.

    With `echo` each line of the script precedes its answer, the first line of a command with its number. END, QUIT or
    EXIT on a line of its own ends the script. A long display streams. Answers to changes are deferred in groups if the
    whole script is given as text, and immediate if lines arrive one by one.
    """
    lines = text.splitlines() if isinstance(text, str) else text
    is_whole_script = isinstance(text, str)
    reader = StatementReader()
    counts = ScriptCounts(verify_only=verify_only)
    deferred = _DeferredAnswers(context)
    number = 0
    for raw in lines:
        line = raw.rstrip("\r\n")
        was_continued = reader.is_continued
        command = reader.feed(line)
        if echo:
            is_first = not was_continued and (command is not None or reader.is_continued)
            deferred.line(f"{number + 1:6d} : {line}" if is_first else f"       : {line}")
        if command is not None:
            if command.strip().rstrip(";").upper() in ENDING:
                break
            number += 1
            if is_whole_script and _only_changes(command):
                deferred.run(command, verify_only)
            else:
                yield from deferred.release(counts)
                counts.count((yield from run_command(context, command, verify_only)))
        if deferred.is_full or not is_whole_script:
            yield from deferred.release(counts)
    yield from deferred.release(counts)
    rest = reader.finish()
    if rest is not None:
        problem = MqscSyntaxError(len(rest), "the last line is continued, but there is no next line")
        yield from syntax_error_lines(rest, problem)
        counts.count(CommandOutcome.SYNTAX_ERROR)
    yield from counts.summary()
    yield counts


def _only_changes(command: str) -> bool:
    """Returns whether a command only changes objects, so that its answer is short and may be deferred."""
    words = command.split(None, 1)
    return bool(words) and VERBS.get(words[0].upper(), "") in _CHANGING
