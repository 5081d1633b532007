"""Rate-limited messages to the error log, for events that a peer can cause as often as it likes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_NOTE_SECONDS: Final = 10.0
_NOTES_MAX: Final = 64  # within those seconds


class RateLimitedLog:
    """Writes a message with the same key at most once in ten seconds, so that a peer cannot fill the error log."""

    def __init__(self, note: Callable[[str], None], notes_max: int = _NOTES_MAX) -> None:
        self._note = note
        self._notes_max = notes_max
        self._noted: dict[str, float] = {}

    def write(self, key: str, text: str) -> None:
        """Write a message, unless one with the same `key` was written within the last seconds."""
        now = time.monotonic()
        if now - self._noted.get(key, -_NOTE_SECONDS) < _NOTE_SECONDS:
            return
        if len(self._noted) >= self._notes_max:
            # A hostile peer can make up new keys: beyond the limit, messages are dropped rather than written.
            self._noted = {each: at for each, at in self._noted.items() if now - at < _NOTE_SECONDS}
            if len(self._noted) >= self._notes_max:
                return
        self._noted[key] = now
        self._note(printable(text))

    def forget(self) -> None:
        """Forget what was written, so that the next message with any key is written."""
        self._noted = {}


def printable(text: str) -> str:
    """Return the text with unprintable characters replaced, so that a peer cannot forge lines of the error log."""
    return "".join(each if each.isprintable() else "?" for each in text)
