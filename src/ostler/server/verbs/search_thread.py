"""Continues long searches for messages on a thread, for a queue manager without sockets.

Where there is a reactor, its passes do this.
"""

from __future__ import annotations

from ostler.engine.get import resume_work
from ostler.server.manager_core import ManagerCore
from ostler.server.supervised_thread import SupervisedThread

# Between two steps, so that other threads get the engine's lock.
_PAUSE_SECONDS = 0.0001


class SearchThread:
    """Starts its thread when there is a search to continue for the first time."""

    def __init__(self, manager: ManagerCore) -> None:
        self._manager = manager
        self._asked = manager.machine.event()
        self._stopping = manager.machine.event()
        self._thread: SupervisedThread | None = None

    def notify(self) -> None:
        """Wake the thread, because a search has to be continued. Needs the engine's lock."""
        self._asked.set()
        if self._thread is None and not self._stopping.is_set():
            manager = self._manager
            self._thread = SupervisedThread(
                "ostler-search",
                "search for messages",
                self._run,
                self._is_over,
                manager.note,
                stopping=self._stopping,
                machine=manager.machine,
            )
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._asked.set()
        with self._manager.turn:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _is_over(self) -> bool:
        return self._stopping.is_set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            while not self._stopping.is_set() and self._step():
                self._manager.machine.sleep(_PAUSE_SECONDS)
            self._asked.wait()
            self._asked.clear()

    def _step(self) -> bool:
        """Do a bounded share of the work. Return True if there is more."""
        manager = self._manager
        with manager.turn:
            if manager.writer.failure:
                return False
            engine = manager.engine
            resume_work(engine)
            return engine.has_pending_work()
