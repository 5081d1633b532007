"""Signal handling while compiled code waits.

Python runs the handler of a signal when the interpreter executes its next bytecode, or when the signal interrupts a
system call. A signal that arrives in compiled code just before it begins to wait does neither: Ctrl-C would take effect
when the wait is over, which may be never. So long waits are cut into pieces, and handlers are run in between.

This module must not be compiled.
"""

from __future__ import annotations

from typing import Final

SIGNAL_CHECK_SECONDS: Final = 1.0
"""The longest wait before signal handlers are run."""


def run_signal_handlers() -> None:
    """Run the handlers of signals that arrived; their exceptions are raised here. The call itself is enough."""
