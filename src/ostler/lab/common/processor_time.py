"""Processor time of a process in nanoseconds: the kernel's ticks are too coarse for fractions of a second."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

_SCHEDULED = 2


def used_ns(pid: int) -> int:
    """Return the time of all current threads of a process. Ended threads are not included."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return total


def process_ns(pid: int) -> int:
    """Return the time of a process with all ended threads: its processor clock, see clock_getcpuclockid(3)."""
    return time.clock_gettime_ns(~pid << 3 | _SCHEDULED)
