"""The error log of a queue manager: `errors/AMQERR01.LOG`, and its older parts in 02 and 03.

One line is one message: time, process, queue manager, and an AMQ number with its text. When 01 has reached its size it
becomes 02, 02 becomes 03, and the old 03 is removed.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, SupportsIndex

SIZE_BYTES_DEFAULT: Final = 32 << 20
"""MQ's ErrorLogSize."""
SIZE_BYTES_MIN: Final = 32_768
SIZE_BYTES_MAX: Final = 2_147_483_648
_PARTS: Final = ("AMQERR01.LOG", "AMQERR02.LOG", "AMQERR03.LOG")
_NUMBERED: Final = re.compile(r"AMQ\d{4}[A-Z]?: ")
# The number of messages that come without one.
_PLAIN: Final = "AMQ6109I: "
_NOTICES_MAX: Final = 1000

Echo = Callable[[str], None]
"""Called with each line that is written: for a console, or the journal of a service manager."""


class ErrorLog:
    """Thread-safe. A line that cannot be written is counted as lost and does not stop the queue manager."""

    def __init__(
        self, directory: Path, name: str, size_bytes_max: int = SIZE_BYTES_DEFAULT, echo: Echo | None = None
    ) -> None:
        self._directory = directory
        self._name = name
        self._size_bytes_max = size_bytes_max
        self._echo = echo
        self._lock = threading.Lock()
        self._descriptor = -1
        self._size_bytes = 0
        self.lines_lost = 0

    def write(self, text: str) -> None:
        """Add one message. Without an AMQ number it gets a general one; line breaks become blanks."""
        message = with_number(text)
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
        line = f"{stamp} - Process({os.getpid()}) QMgr({self._name}) {message}\n".encode(errors="replace")
        with self._lock:
            try:
                self._write(line)
            except OSError:
                self.lines_lost += 1
        if self._echo is not None:
            self._echo(message)

    def _write(self, line: bytes) -> None:
        if self._descriptor < 0:
            self._open()
        elif self._size_bytes and self._size_bytes + len(line) > self._size_bytes_max:
            self._rotate()
        if os.write(self._descriptor, line) < len(line):
            # The disk is full: half a line would spoil the next one.
            os.ftruncate(self._descriptor, self._size_bytes)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size_bytes += len(line)

    def _open(self) -> None:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self._directory / _PARTS[0], flags, 0o600)
        self._size_bytes = os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        first, second, third = (self._directory / part for part in _PARTS)
        if second.exists():
            os.replace(second, third)
        os.replace(first, second)
        self._close()
        self._open()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def close(self) -> None:
        with self._lock:
            self._close()


class Notices(list[str]):
    """The notices of a queue manager, each written to its error log. Only the newest ones are kept here."""

    def __init__(self, log: ErrorLog, before: Iterable[str] = ()) -> None:
        super().__init__()
        self._log = log
        self.extend(before)

    def append(self, text: str) -> None:
        self._log.write(text)
        super().append(text)
        if len(self) > _NOTICES_MAX:
            del self[0]

    def extend(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.append(text)

    def insert(self, at: SupportsIndex, text: str) -> None:
        raise TypeError("notices can only be appended")


def with_number(text: str) -> str:
    """Return the message on one line, with a general AMQ number if it has none."""
    line = " ".join(text.split())
    return line if _NUMBERED.match(line) else _PLAIN + line


def size_setting(text: str | None) -> int:
    """Return ErrorLogSize of the QMErrorLog stanza, within MQ's range; the default when it is not a number."""
    if text is None or not (text.isascii() and text.isdigit()):
        return SIZE_BYTES_DEFAULT
    return max(SIZE_BYTES_MIN, min(SIZE_BYTES_MAX, int(text)))
