"""The two columns in which DISPLAY writes attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

COLUMN_WIDTH: Final = 40
GAP_WIDTH: Final = 2
_INDENT: Final = "   "


def bracketed(name: str, text: str) -> str:
    """Returns an attribute with its value; an empty value is shown as a blank."""
    return f"{name}({text or ' '})"


def bracketed_list(name: str, items: Sequence[str]) -> str:
    """Returns an attribute with a list of names, one to a line."""
    margin = " " * (len(_INDENT) + len(name))
    return bracketed(name, f"\n{margin},".join(items))


def columns(items: Sequence[str], alone: int = 0) -> Iterator[str]:
    """Yields lines of two columns. The first `alone` items, and all that are too wide, have lines of their own."""
    held = ""
    for at, item in enumerate(items):
        if at < alone or len(item) > COLUMN_WIDTH - GAP_WIDTH or "\n" in item:
            if held:
                yield _INDENT + held
                held = ""
            yield from (_INDENT + item).split("\n")
        elif held:
            yield f"{_INDENT}{held:{COLUMN_WIDTH}}{item}"
            held = ""
        else:
            held = item
    if held:
        yield _INDENT + held
