"""Resolves host names on a few threads, because the system can only do that blocking.

A name with several requests at a time is resolved once. A name server that never answers occupies one thread, not all.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from ostler.server.net.outgoing_sockets import HostAddress, error_text, resolve_host
from ostler.server.supervised_thread import SupervisedThread

log: Final = logging.getLogger("ostler.server")

THREADS_MAX: Final = 15

Answer = Callable[[str, list[HostAddress], str], None]
"""Receives a host, its addresses, and the reason if there are none."""


class HostResolver:
    """Resolves hosts. `answer` is called on one of its threads, once for all requests for a host."""

    def __init__(
        self,
        answer: Answer,
        resolve: Callable[[str], list[HostAddress]] = resolve_host,
        note: Callable[[str], None] = log.error,
    ) -> None:
        """`note` writes operator messages about failed threads."""
        self._answer = answer
        self._note = note
        self._resolve = resolve
        self._turn = threading.Lock()
        self._asked: set[str] = set()
        self._questions: SimpleQueue[str | None] = SimpleQueue()
        self._threads = 0
        self._is_closed = False

    def ask(self, host: str) -> None:
        """Resolve a host, unless it is being resolved already."""
        with self._turn:
            if self._is_closed or host in self._asked:
                return
            # All threads may be busy for as long as a name server takes.
            if len(self._asked) >= self._threads and self._threads < THREADS_MAX:
                SupervisedThread(
                    "ostler-look-up", "look-up of host names", self._run, lambda: self._is_closed, self._note
                ).start()
                self._threads += 1
            self._asked.add(host)
            self._questions.put(host)

    def close(self) -> None:
        """End the idle threads. One that waits for a name server ends when that answers."""
        with self._turn:
            self._is_closed = True
            for _ in range(self._threads):
                self._questions.put(None)

    def _run(self) -> None:
        while True:
            host = self._questions.get()
            if host is None or self._is_closed:
                return
            found: list[HostAddress] = []
            why = "it has no address"
            try:
                found = self._resolve(host)
            except OSError as error:
                why = error_text(error)
            except Exception as error:
                why = repr(error)
            with self._turn:
                self._asked.discard(host)
            self._answer(host, found, why)
