"""Long-lived threads of the queue manager. None of them ends without a line in the error log.

A thread that serves (commands, housekeeping, calls to partners) begins again after a pause that grows. One without
which nothing is served is essential: when it fails, the queue manager ends.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Final

from ostler.model.errors import MQError
from ostler.server.thread_names import show_thread_name

PAUSE_SECONDS_MIN: Final = 0.1
PAUSE_SECONDS_MAX: Final = 5.0
# A thread that has worked for so long begins again as soon as one that fails for the first time.
_STEADY_SECONDS: Final = 60.0
_SAME_TROUBLE_SECONDS: Final = 60.0
_ENDED_UNASKED: Final = "it ended without having been told to"


class SupervisedThread:
    """Runs `work` on a thread of its own until `is_over` says that nobody needs it any more.

    `work` returns when it is over. If it raises, or returns before, the error log is told, and `work` is called again
    after a pause; or `essential` is called with the reason, once, and the thread ends. While the thread pauses,
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
    ) -> None:
        """`task` says in the error log what the thread is for, such as "command server"."""
        self._task = task
        self._work = work
        self._is_over = is_over
        self._note = note
        self._number = number
        self._stopping = stopping or threading.Event()
        self._essential = essential
        self._told = ""
        self._told_at = 0.0
        self.restarts = 0
        self.is_pausing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin. RuntimeError when the system has no thread for it."""
        self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def join(self, seconds: float | None = None) -> None:
        """Wait for its end. It need not have been started."""
        if self._thread.ident is not None and not self.is_current():
            self._thread.join(seconds)

    def _run(self) -> None:
        show_thread_name()
        pause_seconds = PAUSE_SECONDS_MIN
        while True:
            began = time.monotonic()
            why = self._try_to_work()
            if self._is_over():
                return
            if self._essential is not None:
                self._tell(f"AMQ5008S: The {self._task} failed, and the queue manager cannot work without it: {why}")
                self._essential(why)
                return
            if time.monotonic() - began > _STEADY_SECONDS:
                pause_seconds = PAUSE_SECONDS_MIN
            self.restarts += 1
            self._tell_restart(why)
            self.is_pausing = True
            self._stopping.wait(pause_seconds)
            self.is_pausing = False
            if self._is_over():
                return
            pause_seconds = min(2 * pause_seconds, PAUSE_SECONDS_MAX)

    def _try_to_work(self) -> str:
        """Why it came back."""
        try:
            self._work()
        except MQError as error:
            return str(error)
        except BaseException:
            return traceback.format_exc()
        return _ENDED_UNASKED

    def _tell_restart(self, why: str) -> None:
        now = time.monotonic()
        if why == self._told and now - self._told_at < _SAME_TROUBLE_SECONDS:
            return
        self._told = why
        self._told_at = now
        self._tell(f"{self._number}: The {self._task} begins again after an error: {why}")

    def _tell(self, text: str) -> None:
        try:
            self._note(text)
        except Exception:
            # Out of memory, perhaps. Being told matters less than going on.
            return
