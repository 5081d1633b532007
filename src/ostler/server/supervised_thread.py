"""Long-lived threads of the queue manager. None of them fails without a line in the error log.

A thread that does a service (commands, housekeeping, connections to partners) restarts after a growing pause. An
essential thread ends the queue manager when it fails.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Final

from ostler.model.errors import MQError
from ostler.server.machine import MACHINE, Machine
from ostler.server.thread_names import show_thread_name

PAUSE_SECONDS_MIN: Final = 0.1
PAUSE_SECONDS_MAX: Final = 5.0
# After so long without an error the pause is short again.
_STEADY_SECONDS: Final = 60.0
_SAME_ERROR_SECONDS: Final = 60.0
_ENDED_UNEXPECTEDLY: Final = "it ended unexpectedly"


class SupervisedThread:
    """Runs `work` on a thread of its own until `is_over` returns True.

    If `work` raises, or returns before that, a message is written to the error log, and `work` is called again after a
    pause; or `essential` is called with the reason, once, and the thread ends. While the thread pauses,
    `is_pausing` is true. Setting `stopping` ends a pause at once.
    """

    def __init__(
        self,
        name: str,
        task: str,
        work: Callable[[], None],
        is_over: Callable[[], bool],
        note: Callable[[str], None],
        *,
        number: str = "AMQ5010W",
        stopping: threading.Event | None = None,
        essential: Callable[[str], None] | None = None,
        machine: Machine = MACHINE,
    ) -> None:
        """`task` names the thread in the error log, such as "command server"."""
        self._task = task
        self._work = work
        self._is_over = is_over
        self._note = note
        self._number = number
        self._stopping = stopping or machine.event()
        self._essential = essential
        self._reported = ""
        self._reported_at = 0.0
        self.restarts = 0
        self.is_pausing = False
        self._machine = machine
        self._thread = machine.thread(self._run, name)

    def start(self) -> None:
        """Start the thread. Raises RuntimeError when the system has none."""
        self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def is_current(self) -> bool:
        return self._machine.current_thread() is self._thread

    def join(self, seconds: float | None = None) -> None:
        """Wait for the thread's end. It need not have been started."""
        if self._thread.ident is not None and not self.is_current():
            self._thread.join(seconds)

    def _run(self) -> None:
        show_thread_name()
        pause_seconds = PAUSE_SECONDS_MIN
        while True:
            began = self._machine.monotonic()
            why = self._work_once()
            if self._is_over():
                return
            if self._essential is not None:
                self._write_note(f"AMQ5008S: The {self._task} failed, and the queue manager cannot work without: {why}")
                self._essential(why)
                return
            if self._machine.monotonic() - began > _STEADY_SECONDS:
                pause_seconds = PAUSE_SECONDS_MIN
            self.restarts += 1
            self._report_restart(why)
            self.is_pausing = True
            self._stopping.wait(pause_seconds)
            self.is_pausing = False
            if self._is_over():
                return
            pause_seconds = min(2 * pause_seconds, PAUSE_SECONDS_MAX)

    def _work_once(self) -> str:
        """Call `work` and return why it ended."""
        try:
            self._work()
        except MQError as error:
            return str(error)
        except (Exception, SystemExit, KeyboardInterrupt):
            # Others there are none, but for the one with which the simulator ends the threads of a killed process.
            return traceback.format_exc()
        return _ENDED_UNEXPECTEDLY

    def _report_restart(self, why: str) -> None:
        now = self._machine.monotonic()
        if why == self._reported and now - self._reported_at < _SAME_ERROR_SECONDS:
            return
        self._reported = why
        self._reported_at = now
        self._write_note(f"{self._number}: The {self._task} restarts after an error: {why}")

    def _write_note(self, text: str) -> None:
        try:
            self._note(text)
        except Exception:
            # Out of memory, perhaps. Going on matters more than the message.
            return
