"""Processes that control-C at the terminal does not reach: their parent ends them in good order."""

from __future__ import annotations

import signal
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess


def start_sigint_blocked(process: BaseProcess) -> None:
    """Start a process that has SIGINT blocked from its first moment on.

    It could not ignore the signal before it has imported what it needs, and would print a traceback.
    """
    # Starting the tracker unblocks the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
