"""Accepts connections on listeners, and refuses them when there are no free slots or the address is blocked.

A slot is a descriptor of the budget (`descriptor_budget.py`). The local socket has slots that no listener can use up,
the last of them for commands only. Unadmitted links, on which no user is authenticated yet, may take a quarter of the
slots of listeners; for another connection the oldest of them that is silent is closed.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Callable
from itertools import islice
from typing import Final, Protocol

from ostler.model import constants as mq
from ostler.security.channel_authentication import Decision
from ostler.server.net.link import CLOSING, ServerLink
from ostler.server.net.listeners import ListenerSocket
from ostler.server.net.reactor import Reactor
from ostler.server.net.timers import Timer
from ostler.server.queue_manager import QueueManager
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.security.os_users import user_name
from ostler.server.storage.descriptor_budget import descriptor_budget, raise_limit
from ostler.wire.frames import FAREWELL, frame
from ostler.wire.replies import reason_payload

_ACCEPTS_MAX: Final = 64  # in one pass
_ACCEPT_NS_MAX: Final = 1_000_000
_QUEUE_FILES_KEPT: Final = 512
_UNADMITTED_SHARE: Final = 4
_UNADMITTED_MIN: Final = 4
_UNADMITTED_MAX: Final = 1024
_EVICTION_CANDIDATES_MAX: Final = 64  # links that are examined to find one to evict
_SILENT_MS: Final = 100
_PAUSE_MS: Final = 50  # before a listener without free slots is served again
_IDLE_MS: Final = 60_000  # by then a client has connected
_EVICTION_PAUSE_MS: Final = 1_000  # between two scans of all links
_CREDENTIALS: Final = struct.Struct("3i")


class AddressRules(Protocol):
    """The BLOCKADDR rules of channel authentication."""

    def blocked_address(self, address: str) -> Decision | None:
        """Return the decision for an address, or None when no rule matches."""


class AcceptingServer(Protocol):
    """The parts of the server that an Acceptor uses."""

    @property
    def manager(self) -> QueueManager: ...

    @property
    def reactor(self) -> Reactor: ...

    @property
    def notes(self) -> RateLimitedLog: ...

    @property
    def admission(self) -> AddressRules: ...

    def is_admission_pending(self, link: ServerLink) -> bool:
        """Return True while the authentication of a user on a link is not decided."""


class Acceptor:
    """Accepts connections. Used on the reactor's thread, under the engine's lock."""

    def __init__(self, server: AcceptingServer) -> None:
        self._server = server
        self.reactor = server.reactor
        self._machine = server.reactor.machine
        log = server.manager.settings.log
        budget = descriptor_budget(raise_limit(), log.primary_files + log.secondary_files)
        # Where there are very many descriptors, queue files lend most of theirs: a closed queue file can be reopened.
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
        """Reserve the descriptor with which connections are refused when there is no other one left."""
        self._reserve = self._machine.reserve_descriptor()

    def close(self) -> None:
        if self._reserve >= 0:
            self._machine.close(self._reserve)
            self._reserve = -1

    def accept(self, listener: ListenerSocket) -> None:
        """Accept a bounded number of the connections that wait on a listening socket."""
        end_ns = self.reactor.monotonic_ns() + _ACCEPT_NS_MAX
        for number in range(_ACCEPTS_MAX):
            if number > 0 and self.reactor.monotonic_ns() > end_ns:
                return
            if not listener.is_local and self._is_unadmitted_full() and not self._evict_one():
                self._pause(listener)  # the unadmitted links are all being served
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
                    sock, f"{len(self.reactor.links)} connections are open, which is the maximum of this process"
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
                # The peer may have closed it already, or the kernel lacks a resource.
                self._server.notes.write(
                    "accept", f"AMQ9208E: A connection could not be accepted: {error.strerror or error}."
                )
                self.reactor.links.pop(sock.fileno(), None)
                sock.close()

    def _borrow_descriptors(self) -> None:
        """Close queue files whose descriptors are used by links now."""
        borrowed = max(min(len(self.reactor.links), self.links_max) - self._budget.links, 0)
        if borrowed != self._borrowed:
            self._borrowed = borrowed
            files = self._server.manager.engine.open_files
            files.limit = self._budget.queue_files - borrowed
            while len(files.open) > files.limit and files.close_one():
                pass

    def _has_slot(self, listener: ListenerSocket) -> bool:
        """Return True if there is a slot for another link, if necessary after evicting one."""
        most = self.local_max if listener.is_local else self.links_max
        while len(self.reactor.links) >= most:
            if not self._evict_one():
                return False
        return True

    def _is_unadmitted_full(self) -> bool:
        """Return True if there are as many unadmitted links as may be."""
        if len(self._unadmitted) < self.unadmitted_max:
            return False
        now = self.reactor.now_ms
        if now >= self._next_purge_ms:
            # Links that were admitted meanwhile are removed from time to time, not for each connection.
            self._next_purge_ms = now + _PAUSE_MS
            for link in [each for each in self._unadmitted if not _is_unadmitted(each)]:
                del self._unadmitted[link]
        return len(self._unadmitted) >= self.unadmitted_max

    def forget(self, link: ServerLink) -> None:
        """Remove a closed link from the unadmitted ones."""
        self._unadmitted.pop(link, None)

    def _evict_one(self) -> bool:
        """Close the oldest unadmitted link whose peer is silent. Return False if there is none."""
        before = self.reactor.now_ms - _SILENT_MS
        examined = 0
        for link in list(islice(self._unadmitted, _EVICTION_CANDIDATES_MAX)):
            if examined >= _EVICTION_CANDIDATES_MAX or link.started_ms > before:
                return False
            if not _is_unadmitted(link):
                del self._unadmitted[link]
                continue
            examined += 1
            if not self._server.is_admission_pending(link) and _is_silent(link):
                del self._unadmitted[link]
                link.close("evicted: its slot was needed, and nothing had been received")
                self._server.notes.write(
                    "evicted", "AMQ9513E: Silent connections are closed, because others need their slots."
                )
                return True
        return False

    def _pause(self, listener: ListenerSocket) -> None:
        """Do not accept on a listener for a moment. The kernel queues connections, and the reactor does not spin."""
        fd = listener.sock.fileno()
        if fd in self.reactor.listening:
            self.reactor.unlisten(fd)
            self.reactor.wheel.add(_ResumeListener(self, listener), self.reactor.now_ms + _PAUSE_MS)

    def evict_idle(self) -> None:
        """Close the links that have been open for _IDLE_MS without a connection or a channel: slots are needed."""
        now = self.reactor.now_ms
        if now < self._next_eviction_ms:
            return
        self._next_eviction_ms = now + _EVICTION_PAUSE_MS
        before = now - _IDLE_MS
        for link in list(self.reactor.links.values()):
            is_idle = not link.conversations and _has_no_channel(link) and not self._server.is_admission_pending(link)
            if is_idle and not link.is_local and link.started_ms < before:
                link.send_farewell(
                    mq.MQRC_CHANNEL_NOT_AVAILABLE,
                    "The slot of this idle connection is needed: no application connected.",
                )

    def _is_blocked(self, address: str) -> bool:
        """Return True if BLOCKADDR refuses an address before anything is read from it."""
        decision = self._server.admission.blocked_address(address)
        if decision is None:
            return False
        verb = "is refused" if decision.is_refused else "would be refused without WARN(YES)"
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
        # With the reserved descriptor the connection is accepted and refused with a reason.
        if self._reserve >= 0:
            self._machine.close(self._reserve)
            self._reserve = -1
        try:
            sock, _ = listener.sock.accept()
            self._refuse(sock, "the queue manager has no descriptors left")
        except OSError:
            pass
        try:
            self._reserve = self._machine.reserve_descriptor()
        except OSError:
            self._reserve = -1

    def _refuse(self, sock: socket.socket, why: str) -> None:
        self.reactor.counters.refused += 1
        self._server.notes.write(
            "refused", f"AMQ9513E: Connections are refused: {why}. End some applications, or raise the limit."
        )
        try:
            sock.setblocking(False)
            sock.send(frame(FAREWELL, 0, 0, reason_payload(mq.MQRC_MAX_CONNS_LIMIT_REACHED, f"Refused: {why}.")))
        except OSError:
            pass
        sock.close()


class _ResumeListener(Timer):
    """Ends the pause of a listener."""

    def __init__(self, acceptor: Acceptor, listener: ListenerSocket) -> None:
        super().__init__()
        self._acceptor = acceptor
        self._listener = listener

    def fire(self, now_ms: int) -> None:
        fd = self._listener.sock.fileno()
        if fd >= 0 and fd not in self._acceptor.reactor.listening:
            self._acceptor.reactor.listen(fd)


def new_link(
    reactor: Reactor,
    listener: ListenerSocket,
    sock: socket.socket,
    address: object,
    is_administrator: Callable[[str], bool],
) -> ServerLink:
    """Return the link of an accepted socket, with the peer's user if it is local.

    Raises OSError when the peer has closed it already, or the kernel lacks a resource.
    """
    sock.setblocking(False)
    if isinstance(address, tuple):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # An IPv4 address that came through an IPv6 socket is shown as IPv4.
        short = address[0].removeprefix("::ffff:")
        where = f"{address[0] if ':' in short else short}({address[1]})"
    else:
        where = "local"
    link = ServerLink(reactor, sock, where, listener.is_local)
    link.is_for_group = listener.is_group
    if sock.family == socket.AF_UNIX:
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        process, uid, _ = _CREDENTIALS.unpack(raw)
        link.process_id = process
        link.uid = uid
        link.user = user_name(uid)
        link.is_owner = uid == os.getuid() or is_administrator(link.user)
    return link


def _is_unadmitted(link: ServerLink) -> bool:
    """Return True for a link that is open without an authenticated user and without a channel."""
    return link.state < CLOSING and not link.is_admitted and _has_no_channel(link)


def _is_silent(link: ServerLink) -> bool:
    """Return True if the socket has nothing to read."""
    try:
        return not link.sock.recv(1, socket.MSG_PEEK)
    except OSError:  # nothing to read, or the peer is gone
        return True


def _has_no_channel(link: ServerLink) -> bool:
    """Return True if no channel instance uses a link. A link that only answers pings has none."""
    agent = link.agent
    return agent is None or not agent.has_instance()
