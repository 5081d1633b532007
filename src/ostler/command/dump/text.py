"""MQSC text of commands: quoted values, one attribute a line or one command a line, lines of limited length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ostler.model.attributes import Attribute, Shown, Value, ValueKind, to_text

LINE_CHARACTERS: Final = 72  # the limit of all platforms of MQ
_MARGIN: Final = "   "
_STARRED: Final = "********"
_TEXTS: Final = (ValueKind.STRING, ValueKind.NAME, ValueKind.STRINGS, ValueKind.NAMES, ValueKind.HEX)


@dataclass
class ScriptCommand:
    """A command of a script. `notes` are written as comments."""

    head: str
    items: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tail: str = ""


def quoted(text: str) -> str:
    """Returns text in quotes, with quotes inside it doubled."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def attribute_items(attribute: Attribute, value: Value) -> tuple[list[str], str]:
    """Returns an attribute as MQSC gives it, or the reason why it cannot be written."""
    texts = value if isinstance(value, tuple) else (value if isinstance(value, str) else "",)
    for text in texts:
        if len(f"{text}.".splitlines()) > 1:
            return [], f"{attribute.name} holds a line break, which no command can: {text!r}"
    if attribute.shown == Shown.MASKED:
        return [f"{attribute.name}({quoted(_STARRED)})"], ""
    if attribute.kind == ValueKind.FLAG:
        return [to_text(attribute, value)], ""
    if isinstance(value, tuple) and attribute.kind in _TEXTS:
        return [f"{attribute.name}({','.join(map(quoted, value)) or quoted('')})"], ""
    if attribute.kind in _TEXTS:
        assert isinstance(value, str)
        return [f"{attribute.name}({quoted(value)})"], ""
    return [f"{attribute.name}({to_text(attribute, value)})"], ""


def command_lines(command: ScriptCommand, layout: str) -> Iterator[str]:
    """Yields the lines of a command: `mqsc` with an attribute a line, `1line`, or `2line` with notes on the second."""
    if layout == "mqsc":
        yield from _block(command)
        return
    yield " ".join([command.head, *command.items, *([command.tail] if command.tail else [])])
    if layout == "2line" and command.notes:
        yield f"* {' '.join(command.notes)}"


def _block(command: ScriptCommand) -> Iterator[str]:
    parts = [command.head, *[_MARGIN + item for item in command.items]]
    if command.tail:
        parts.append(_MARGIN + command.tail)
    # Comments go before the last part, which ends the command; a command of one part has them after it.
    body, last = parts[:-1], parts[-1]
    for at, part in enumerate(body):
        yield from _wrapped(part, " +")
        if at == 0:
            yield from (f"*  {note}" for note in command.notes)
    yield from _wrapped(last, "")
    if not body:
        yield from (f"*  {note}" for note in command.notes)


def _wrapped(part: str, ending: str) -> Iterator[str]:
    """Yields a part on as many lines as it needs. Continued lines must not begin with a blank or an asterisk."""
    room = LINE_CHARACTERS - len(ending)
    while len(part) > room:
        cut = _cut(part, room - 1)
        if cut == 0:
            break
        yield part[:cut] + "+"
        part = _MARGIN + part[cut:]
    yield part + ending


def _cut(part: str, wanted: int) -> int:
    """Returns the position to break a line, at or before the wanted one if possible; 0 for none."""
    positions: list[int] = [*range(wanted, len(_MARGIN) + 16, -1), *range(wanted + 1, len(part))]
    for at in positions:
        if not part[at].isspace() and part[at] != "*":
            return at
    return 0
