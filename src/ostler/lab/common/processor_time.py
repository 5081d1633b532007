"""Processor time of a process in nanoseconds: ticks of the kernel are too coarse for fractions of a second."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

_SCHEDULED = 2


def used_ns(pid: int) -> int:
    """What all threads of a process that run now have used. A thread that has ended is not counted any more."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return total


def process_ns(pid: int) -> int:
    """What a process has used, with all threads that have ended: its processor clock, as clock_getcpuclockid has it."""
    return time.clock_gettime_ns(~pid << 3 | _SCHEDULED)
