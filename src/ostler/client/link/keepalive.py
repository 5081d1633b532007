"""Keepalive of idle links: one thread serves all links of this process once a second.

It answers heartbeats, receives notices, and detects broken links and silent peers. After a fork the links stay with the
parent: the child closes its copies without sending anything to the queue manager.
"""

from __future__ import annotations

import os
import select
import threading
import time
from contextlib import suppress
from typing import Final

from ostler.client.link.blocking_link import BlockingLink
from ostler.model import constants as mq

_SECONDS: Final = 1.0


class LinkKeepalive:
    """The thread that serves idle links, and their registry."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._links: list[BlockingLink] = []
        # One poll finds the readable ones among thousands of links. A closed socket leaves it by itself.
        self._readable: select.epoll | None = None
        self._has_work = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, link: BlockingLink) -> None:
        """Serve a link until it is closed."""
        with self._lock:
            self._links.append(link)
            if self._readable is None:
                self._readable = select.epoll()
            with suppress(OSError):  # the link is broken already
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
            # After a pause of the whole machine a peer must not count as dead before a heartbeat was sent to it.
            seconds = min(2, round(now - before))
            before = now
            self._serve_idle_links(self.links(), seconds)
            self._drop_closed()

    def _serve_idle_links(self, links: list[BlockingLink], seconds: int) -> None:
        assert self._readable is not None
        ready = {descriptor for descriptor, _ in self._readable.poll(0, len(links) + 1)}
        for link in links:
            try:
                link.on_keepalive(seconds, link.descriptor() in ready)
            except Exception as error:
                # A failure of one link or of its callback must not end the keepalive of the others.
                link.fail_link(mq.MQRC_CONNECTION_BROKEN, f"The keepalive of the link failed: {error!r}.")

    def _drop_closed(self) -> None:
        with self._lock:
            self._links = [each for each in self._links if not each.is_closed()]
            if not self._links:
                self._has_work.clear()


_keepalives: Final = [LinkKeepalive()]


def keep_alive(link: BlockingLink) -> None:
    _keepalives[0].add(link)


def open_links() -> list[BlockingLink]:
    """Return the open links, and some that have just been closed."""
    return _keepalives[0].links()


def _reset_in_child() -> None:
    # Locks may be held by threads that do not exist in the child, so only the list of the parent's object is used.
    parents = _keepalives[0]
    if parents._readable is not None:
        parents._readable.close()
    _keepalives[0] = LinkKeepalive()
    for link in parents._links:
        link.close_in_child()


os.register_at_fork(after_in_child=_reset_in_child)
