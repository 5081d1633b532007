"""Reads a script of commands incrementally: commands are passed on as soon as they are complete.

A program at the other end of a pipe gets its answers before it sends more, and only a bounded part of a long script is
in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ostler.command.mqsc.grammar import ENDING
from ostler.command.mqsc.statements import StatementReader

_READ_BYTES: Final = 65_536
_UNFINISHED_CHARACTERS_MAX: Final = 1 << 20  # far more than a command may have
_BYTE_ORDER_MARK: Final = "\ufeff"


class NotUtf8(Exception):
    """A line that is not UTF-8."""

    def __init__(self, line_number: int) -> None:
        super().__init__(
            f"line {line_number} is not UTF-8 (`iconv -f ISO-8859-1 -t UTF-8` makes it so, if it is Latin-1)"
        )


@dataclass(frozen=True)
class ScriptPart:
    """Lines of a script that belong together. `command` is None for comments and empty lines.

    `is_whole` is False for a command whose last line asks for another one that never came, `is_end` is True for END.
    """

    lines: tuple[str, ...]
    command: str | None
    is_whole: bool = True
    is_end: bool = False


class ScriptReader:
    """Splits lines into parts, up to END."""

    def __init__(self) -> None:
        self.is_at_end = False
        self._reader = StatementReader()
        self._lines: list[str] = []
        self._characters = 0

    def feed(self, line: str) -> Iterator[ScriptPart]:
        """Takes a line; yields the parts that it completes."""
        if self.is_at_end:
            return
        self._lines.append(line)
        self._characters += len(line)
        command = self._reader.feed(line)
        if command is not None:
            self.is_at_end = is_ending(command)
            yield self._part(None if self.is_at_end else command, is_end=self.is_at_end)
        elif not self._reader.is_continued:
            yield self._part(None)
        elif self._characters > _UNFINISHED_CHARACTERS_MAX:
            yield from self.finish()

    def finish(self) -> Iterator[ScriptPart]:
        """Ends the input; yields an unfinished part."""
        rest = self._reader.finish()
        if rest is not None:
            yield self._part(rest, is_whole=False)

    def _part(self, command: str | None, is_whole: bool = True, is_end: bool = False) -> ScriptPart:
        part = ScriptPart(tuple(self._lines), command, is_whole, is_end)
        self._lines = []
        self._characters = 0
        return part


def is_ending(command: str) -> bool:
    """Returns whether a command ends the script."""
    return command.strip().rstrip(";").rstrip().upper() in ENDING


def read_parts(descriptor: int) -> Iterator[list[ScriptPart]]:
    """Yields the parts of a file or pipe: each time, all that have arrived by then."""
    reader = ScriptReader()
    rest = b""
    line_number = 0
    while not reader.is_at_end:
        data = os.read(descriptor, _READ_BYTES)
        *lines, rest = (rest + data).split(b"\n")
        if not data and rest:
            lines.append(rest)
        found: list[ScriptPart] = []
        for line in lines:
            line_number += 1
            try:
                found += reader.feed(_text(line, line_number))
            except NotUtf8:
                # The parts before it are run all the same.
                yield found
                raise
        if not data:
            found += reader.finish()
        if found:
            yield found
        if not data:
            return
        if len(rest) > _UNFINISHED_CHARACTERS_MAX:
            rest = rest[:_UNFINISHED_CHARACTERS_MAX]


def first_line(descriptor: int) -> str:
    """Reads only the first line, which is the password with -u."""
    line = bytearray()
    while len(line) < 4096:
        byte = os.read(descriptor, 1)
        if not byte or byte == b"\n":
            break
        line += byte
    return _text(bytes(line), 1)


def _text(line: bytes, number: int) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        if not line.lstrip().startswith(b"*"):
            raise NotUtf8(number) from None
        # Comments are for people only, and old scripts have them in all code pages.
        text = line.decode("utf-8", "replace")
    if number == 1:
        text = text.removeprefix(_BYTE_ORDER_MARK)
    return text.rstrip("\r")
