"""Signals while compiled code waits.

Python runs the handler of a signal when the interpreter executes the next instruction of Python, or when the signal
interrupts a system call. A signal that comes in compiled code just before it begins to wait does neither: Ctrl-C would
be noticed when the wait is over, which may be never. So long waits are cut, and this is called in between.

This module must not be compiled.
"""

from __future__ import annotations

from typing import Final

LOOK_UP_SECONDS: Final = 1.0
"""After such a time whoever waits looks up, to see whether a signal came."""


def notice_signals() -> None:
    """Have handlers of signals run that came meanwhile; what they raise comes from here. It is enough to be called."""
