"""Notes to the operator about what may happen again and again, at the will of others."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_NOTE_SECONDS: Final = 10.0
_NOTES_MAX: Final = 64  # within those seconds


class SeldomNotes:
    """Tells the same trouble now and then only, so that nobody can fill the error log."""

    def __init__(self, note: Callable[[str], None], notes_max: int = _NOTES_MAX) -> None:
        self._note = note
        self._notes_max = notes_max
        self._noted: dict[str, float] = {}

    def tell(self, key: str, text: str) -> None:
        """Tell something, unless the same `key` was told a moment ago."""
        now = time.monotonic()
        if now - self._noted.get(key, -_NOTE_SECONDS) < _NOTE_SECONDS:
            return
        if len(self._noted) >= self._notes_max:
            # Others are told too seldom rather than too often: what differs may be made up by a hostile peer.
            self._noted = {each: at for each, at in self._noted.items() if now - at < _NOTE_SECONDS}
            if len(self._noted) >= self._notes_max:
                return
        self._noted[key] = now
        self._note(printable(text))

    def forget(self) -> None:
        """What was told a moment ago is told again."""
        self._noted = {}


def printable(text: str) -> str:
    """Text without what could make a line of the error log look like several. Peers choose parts of it."""
    return "".join(each if each.isprintable() else "?" for each in text)
