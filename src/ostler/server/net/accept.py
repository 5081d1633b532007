"""Connections that come in by listeners: taken, or turned away when there is no room or the address is blocked.

Places are descriptors, and shared out (`descriptor_budget`): the local socket has some that no listener can use up, the
last of them for commands only. Strangers, by whose sockets nobody was let in yet, may have a quarter of the places of
listeners; for a newcomer the oldest one of those that say nothing makes way.
"""

from __future__ import annotations

import errno
import os
import socket
from itertools import islice
from time import monotonic_ns
from typing import TYPE_CHECKING, Final

from ostler.model.constants import MQRC_CHANNEL_NOT_AVAILABLE, MQRC_MAX_CONNS_LIMIT_REACHED
from ostler.server.net.link import CLOSING, ServerLink
from ostler.server.net.link_status import raise_descriptor_limit
from ostler.server.net.listeners import ListenerSocket
from ostler.server.net.new_links import new_link
from ostler.server.net.timers import Timer
from ostler.server.storage.descriptor_budget import descriptor_budget
from ostler.wire.frames import FAREWELL, frame
from ostler.wire.replies import reason_payload

if TYPE_CHECKING:
    from ostler.server.assembly import Server

_ACCEPTS_MAX: Final = 64  # in one pass
_ACCEPT_NS_MAX: Final = 1_000_000
_QUEUE_FILES_KEPT: Final = 512
_UNADMITTED_SHARE: Final = 4
_UNADMITTED_MIN: Final = 4
_UNADMITTED_MAX: Final = 1024
_EVICTION_CANDIDATES_MAX: Final = 64  # looked at to find one that makes way
_SILENT_MS: Final = 100
_PAUSE_MS: Final = 50  # before connections are taken again by a listener that could not
_IDLE_MS: Final = 60_000  # by then a client has connected
_EVICTION_PAUSE_MS: Final = 1_000  # between two looks at all links


class Acceptor:
    """On the reactor's thread, under the engine's lock."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.reactor = server.reactor
        log = server.manager.settings.log
        budget = descriptor_budget(raise_descriptor_limit(), log.primary_files + log.secondary_files)
        # Where there are very many descriptors, queue files lend most of theirs: one that is not open can be opened.
        self.links_max = budget.links + max(budget.queue_files - _QUEUE_FILES_KEPT, 0)
        self._budget = budget
        self._borrowed = 0
        self.local_max = self.links_max + budget.local
        self._commands_above = self.local_max - max(budget.local // 2, 1)
        self.unadmitted_max = min(max(self.links_max // _UNADMITTED_SHARE, _UNADMITTED_MIN), _UNADMITTED_MAX)
        self._unadmitted: dict[ServerLink, None] = {}  # the oldest first
        self._reserve = -1
        self._next_eviction_ms = 0
        self._next_purge_ms = 0

    def open(self) -> None:
        self._reserve = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        if self._reserve >= 0:
            os.close(self._reserve)
            self._reserve = -1

    def accept(self, listener: ListenerSocket) -> None:
        """Connections wait on a listening socket: take some of them."""
        end_ns = monotonic_ns() + _ACCEPT_NS_MAX
        for number in range(_ACCEPTS_MAX):
            if number > 0 and monotonic_ns() > end_ns:
                return
            if not listener.is_local and self._is_unadmitted_full() and not self._evict_one():
                self._pause(listener)  # those who came before are being served
                return
            try:
                sock, address = listener.sock.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._accept_failed(listener, error)
                return
            if isinstance(address, tuple) and self._is_blocked(address[0]):
                sock.close()
                continue
            if not self._has_slot(listener):
                self.evict_idle()
                self._refuse(
                    sock, f"{len(self.reactor.links)} connections are open, which is all this process may have"
                )
                continue
            try:
                link = new_link(self.reactor, listener, sock, address, self._server.manager.users.is_administrator)
                self.reactor.add(link)
                self._borrow_descriptors()
                if listener.is_local:
                    link.is_for_commands = len(self.reactor.links) > self._commands_above
                else:
                    self._unadmitted[link] = None
            except OSError as error:
                # It may be gone already, or the kernel is short of something.
                self._server.notes.write(
                    "accept", f"AMQ9208E: A connection could not be taken: {error.strerror or error}."
                )
                self.reactor.links.pop(sock.fileno(), None)
                sock.close()

    def _borrow_descriptors(self) -> None:
        """Have queue files closed whose descriptors links use now."""
        borrowed = max(min(len(self.reactor.links), self.links_max) - self._budget.links, 0)
        if borrowed != self._borrowed:
            self._borrowed = borrowed
            files = self._server.manager.engine.open_files
            files.limit = self._budget.queue_files - borrowed
            while len(files.open) > files.limit and files.close_one():
                pass

    def _has_slot(self, listener: ListenerSocket) -> bool:
        """Whether there is a descriptor for one more, if need be that of a stranger who says nothing."""
        most = self.local_max if listener.is_local else self.links_max
        while len(self.reactor.links) >= most:
            if not self._evict_one():
                return False
        return True

    def _is_unadmitted_full(self) -> bool:
        """Whether as many strangers are there as there may be."""
        if len(self._unadmitted) < self.unadmitted_max:
            return False
        now = self.reactor.now_ms
        if now >= self._next_purge_ms:
            # Those who were let in meanwhile are found out now and then, and not for each newcomer.
            self._next_purge_ms = now + _PAUSE_MS
            for link in [each for each in self._unadmitted if not _is_unadmitted(each)]:
                del self._unadmitted[link]
        return len(self._unadmitted) >= self.unadmitted_max

    def forget(self, link: ServerLink) -> None:
        """A link is closed."""
        self._unadmitted.pop(link, None)

    def _evict_one(self) -> bool:
        """Let the oldest stranger go of those whose turn it is to say something. False when there is none."""
        before = self.reactor.now_ms - _SILENT_MS
        looked_at = 0
        for link in list(islice(self._unadmitted, _EVICTION_CANDIDATES_MAX)):
            if looked_at >= _EVICTION_CANDIDATES_MAX or link.started_ms > before:
                return False
            if not _is_unadmitted(link):
                del self._unadmitted[link]
                continue
            looked_at += 1
            if not self._server.is_considering(link) and _is_silent(link):
                del self._unadmitted[link]
                link.close("others needed its place, and nothing had come from it")
                self._server.notes.write(
                    "evicted", "AMQ9513E: Connections that say nothing are ended: others need their places."
                )
                return True
        return False

    def _pause(self, listener: ListenerSocket) -> None:
        """Take nobody by a listener for a moment. The kernel keeps who comes; this thread does not turn in vain."""
        fd = listener.sock.fileno()
        if fd in self.reactor.listening:
            self.reactor.unlisten(fd)
            self.reactor.wheel.add(_ResumeListener(self, listener), self.reactor.now_ms + _PAUSE_MS)

    def evict_idle(self) -> None:
        """There is no room: those who came some time ago and are nobody's connection make way for others."""
        now = self.reactor.now_ms
        if now < self._next_eviction_ms:
            return
        self._next_eviction_ms = now + _EVICTION_PAUSE_MS
        before = now - _IDLE_MS
        for link in list(self.reactor.links.values()):
            is_idle = not link.conversations and _has_no_channel(link) and not self._server.is_considering(link)
            if is_idle and not link.is_local and link.started_ms < before:
                link.send_farewell(MQRC_CHANNEL_NOT_AVAILABLE, "Others need the place, and nothing was connected.")

    def _is_blocked(self, address: str) -> bool:
        """Whether BLOCKADDR turns an address away before it has said anything."""
        decision = self._server.admission.blocked_address(address)
        if decision is None:
            return False
        verb = "is turned away" if decision.is_refused else "would be turned away, but for WARN(YES)"
        self._server.notes.write(f"blocked {address}", f"AMQ9778E: A connection from {address} {verb}: {decision.why}.")
        return decision.is_refused

    def _accept_failed(self, listener: ListenerSocket, error: OSError) -> None:
        if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
            return
        self.evict_idle()
        if self._reserve < 0:
            self._server.notes.write(
                "reserve", "AMQ9513E: Connections wait: the queue manager has no descriptors left."
            )
            self._pause(listener)
        # One descriptor was kept for this: it lets the application be told.
        if self._reserve >= 0:
            os.close(self._reserve)
            self._reserve = -1
        try:
            sock, _ = listener.sock.accept()
            self._refuse(sock, "the queue manager has no descriptors left")
        except OSError:
            pass
        try:
            self._reserve = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._reserve = -1

    def _refuse(self, sock: socket.socket, why: str) -> None:
        self.reactor.counters.refused += 1
        self._server.notes.write(
            "refused", f"AMQ9513E: Connections are refused: {why}. End some applications, or raise the limit."
        )
        try:
            sock.setblocking(False)
            sock.send(frame(FAREWELL, 0, 0, reason_payload(MQRC_MAX_CONNS_LIMIT_REACHED, f"Refused: {why}.")))
        except OSError:
            pass
        sock.close()


class _ResumeListener(Timer):
    """The end of a listener's pause."""

    def __init__(self, acceptor: Acceptor, listener: ListenerSocket) -> None:
        super().__init__()
        self._acceptor = acceptor
        self._listener = listener

    def fire(self, now_ms: int) -> None:
        fd = self._listener.sock.fileno()
        if fd >= 0 and fd not in self._acceptor.reactor.listening:
            self._acceptor.reactor.listen(fd)


def _is_unadmitted(link: ServerLink) -> bool:
    """Whether nobody was let in by a link that is there, neither an application nor a channel."""
    return link.state < CLOSING and not link.is_admitted and _has_no_channel(link)


def _is_silent(link: ServerLink) -> bool:
    """Whether nothing has come by a link that is not read yet."""
    try:
        return not link.sock.recv(1, socket.MSG_PEEK)
    except OSError:  # there is nothing, or nobody
        return True


def _has_no_channel(link: ServerLink) -> bool:
    """Whether no channel runs by a link. One that only answers pings does not."""
    agent = link.agent
    return agent is None or not agent.has_instance()
