"""Goes on with looks for messages that take long, for a queue manager that nobody serves over sockets.

Where there is a reactor, that does it in its passes.
"""

from __future__ import annotations

import threading
import time

from ostler.engine.get import resume_scans
from ostler.server.manager_core import ManagerCore
from ostler.server.supervised_thread import SupervisedThread

# Between two shares, so that whoever waits for the engine's lock gets it.
_BREATH_SECONDS = 0.0001


class SearchThread:
    """A thread that is started when there is something to go on with for the first time."""

    def __init__(self, manager: ManagerCore) -> None:
        self._manager = manager
        self._asked = threading.Event()
        self._stopping = threading.Event()
        self._thread: SupervisedThread | None = None

    def ring(self) -> None:
        """There is something to go on with. Under the engine's lock."""
        self._asked.set()
        if self._thread is None and not self._stopping.is_set():
            manager = self._manager
            self._thread = SupervisedThread(
                "ostler-search", "search for messages", self._run, self._is_over, manager.note, stopping=self._stopping
            )
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._asked.set()
        with self._manager.lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _is_over(self) -> bool:
        return self._stopping.is_set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            while not self._stopping.is_set() and self._step():
                time.sleep(_BREATH_SECONDS)
            self._asked.wait()
            self._asked.clear()

    def _step(self) -> bool:
        """A bounded share of the work. True when there is more."""
        manager = self._manager
        with manager.lock:
            if manager.writer.failure:
                return False
            engine = manager.engine
            manager.clock.update(engine)
            resume_scans(engine)
            manager.wake()
            return engine.has_pending_scans()
