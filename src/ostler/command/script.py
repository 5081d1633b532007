"""A script of commands: what it says line by line, and how it went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ostler.command.interpreter import Outcome, refusal_lines, run_command
from ostler.command.nouns import ENDING
from ostler.command.statements import StatementReader
from ostler.command.target import Target
from ostler.command.words import SyntaxProblem


@dataclass
class Counts:
    """How many commands were read, were not understood, and were understood and not done."""

    read: int = 0
    syntax_errors: int = 0
    failed: int = 0
    verify_only: bool = False

    def count(self, outcome: Outcome) -> None:
        self.read += 1
        if outcome is Outcome.SYNTAX_ERROR:
            self.syntax_errors += 1
        elif outcome is Outcome.FAILED:
            self.failed += 1

    @property
    def exit_code(self) -> int:
        """0 when all went well, 10 when some command did not. (20 is for scripts that could not be run at all.)"""
        return 10 if self.syntax_errors or self.failed else 0

    def summary(self) -> list[str]:
        """The lines at the end of a script."""
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
        """For those who ask over a socket."""
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


def run_script(
    target: Target, text: str | Iterable[str], verify_only: bool = False, echo: bool = True
) -> Iterator[str | Counts]:
    """Run a script. Yields the lines of the answers, the summary, and as the last thing the counts.

    With `echo` each line of the script comes before what it is answered with, the first line of a command with its
    number. END, QUIT or EXIT on a line of its own ends the script. Nothing is collected: a long display streams.
    """
    lines = text.splitlines() if isinstance(text, str) else text
    reader = StatementReader()
    counts = Counts(verify_only=verify_only)
    for raw in lines:
        line = raw.rstrip("\r\n")
        was_continued = reader.is_continued
        command = reader.feed(line)
        if echo:
            is_first = not was_continued and (command is not None or reader.is_continued)
            yield f"{counts.read + 1:6d} : {line}" if is_first else f"       : {line}"
        if command is None:
            continue
        if command.strip().rstrip(";").upper() in ENDING:
            break
        outcome = yield from run_command(target, command, verify_only)
        counts.count(outcome)
    rest = reader.finish()
    if rest is not None:
        problem = SyntaxProblem(len(rest), "the last line asks for another one, and there is none")
        yield from refusal_lines(rest, problem)
        counts.count(Outcome.SYNTAX_ERROR)
    yield from counts.summary()
    yield counts
