"""Processes that control-C at the terminal does not reach: whoever started them ends them in good order."""

from __future__ import annotations

import signal
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess


def start_sigint_blocked(process: BaseProcess) -> None:
    """Start a process that has the signal blocked from its first moment on.

    Until it has imported what it needs it could not ignore it, and would say on the terminal that it was interrupted.
    """
    # Whoever starts the tracker unblocks the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
