"""The trace of a run: a line for each event, and a hash of all of them. Two runs are the same if their hashes are."""

from __future__ import annotations

import hashlib
from collections import deque
from typing import TextIO

_LAST_LINES = 400


class Trace:
    """Collects the events of a run, and writes them to a file if there is one."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file
        self._hash = hashlib.blake2b(digest_size=8)
        self.events = 0
        self.last: deque[str] = deque(maxlen=_LAST_LINES)

    def note(self, now_ns: int, who: str, what: str, detail: str = "") -> None:
        """Add an event."""
        line = f"{now_ns / 1e9:.6f} {who} {what} {detail}\n"
        self._hash.update(line.encode())
        self.events += 1
        if self._file is not None:
            self._file.write(line)
        else:
            self.last.append(line)

    def digest(self) -> str:
        """Return the hash of all events so far, 16 hexadecimal digits."""
        return self._hash.hexdigest()
