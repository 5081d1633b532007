"""Keeps the links of this process while nobody reads them: one thread, once a second, for all.

It answers heartbeats, hears of notices and of links that broke, and finds peers that are gone without a word. After a
fork the links stay with the parent: in the child they are closed without a word to the queue manager.
"""

from __future__ import annotations

import os
import select
import threading
import time
from contextlib import suppress
from typing import Final

from ostler.client.link.blocking_link import BlockingLink
from ostler.model.constants import MQRC_CONNECTION_BROKEN

_SECONDS: Final = 1.0


class LinkKeeper:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._links: list[BlockingLink] = []
        # One look tells which of thousands of links have something to read. A closed socket leaves it by itself.
        self._readable: select.epoll | None = None
        self._has_work = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, link: BlockingLink) -> None:
        """Keep a link until it is closed."""
        with self._lock:
            self._links.append(link)
            if self._readable is None:
                self._readable = select.epoll()
            with suppress(OSError):  # it has broken already
                self._readable.register(link.descriptor(), select.EPOLLIN)
            self._has_work.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ostler-links", daemon=True)
                self._thread.start()

    def links(self) -> list[BlockingLink]:
        with self._lock:
            return list(self._links)

    def _run(self) -> None:
        before = time.monotonic()
        while True:
            self._has_work.wait()
            time.sleep(_SECONDS)
            now = time.monotonic()
            # After a pause of the whole machine nobody is to be called dead before having been asked.
            seconds = min(2, round(now - before))
            before = now
            self._tend(self.links(), seconds)
            self._sweep()

    def _tend(self, links: list[BlockingLink], seconds: int) -> None:
        assert self._readable is not None
        ready = {descriptor for descriptor, _ in self._readable.poll(0, len(links) + 1)}
        for link in links:
            try:
                link.tend(seconds, link.descriptor() in ready)
            except Exception as error:
                # What one link does to itself, or a callback to it, is not to cost the others their keeper.
                link.break_off(MQRC_CONNECTION_BROKEN, f"The link could not be looked after: {error!r}.")

    def _sweep(self) -> None:
        with self._lock:
            self._links = [each for each in self._links if not each.is_closed()]
            if not self._links:
                self._has_work.clear()


_keepers: Final = [LinkKeeper()]


def keep(link: BlockingLink) -> None:
    _keepers[0].add(link)


def kept_links() -> list[BlockingLink]:
    """The links that are open, and some that have just been closed."""
    return _keepers[0].links()


def _forked() -> None:
    # Locks may be held by threads that are not here, so the parent's keeper is left alone but for its list.
    parents = _keepers[0]
    if parents._readable is not None:
        parents._readable.close()
    _keepers[0] = LinkKeeper()
    for link in parents._links:
        link.forget_in_child()


os.register_at_fork(after_in_child=_forked)
