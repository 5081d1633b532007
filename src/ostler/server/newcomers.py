"""Connections that come in by listeners: taken, or turned away when there is no room or the address is blocked."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING, Final

from ostler.model.constants import MQRC_CHANNEL_NOT_AVAILABLE, MQRC_MAX_CONNS_LIMIT_REACHED
from ostler.server.link_status import raise_descriptor_limit
from ostler.server.listeners import ListenerSocket
from ostler.server.message_agent import MessageAgent
from ostler.server.new_links import new_link
from ostler.server.server_link import ServerLink
from ostler.wire.exchanges import reason_payload
from ostler.wire.frames import FAREWELL, frame

if TYPE_CHECKING:
    from ostler.server.server import Server

_ACCEPTS_MAX: Final = 64  # in one pass
# Descriptors that are kept for files and for what else the queue manager opens.
_DESCRIPTORS_KEPT: Final = 256
_STRANGER_MS: Final = 60_000  # by then a client has connected
_LOOK_MS: Final = 1_000  # between two looks at all links


class Newcomers:
    """On the reactor's thread, under the engine's lock."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.reactor = server.reactor
        descriptors = raise_descriptor_limit()
        self._links_max = max(descriptors - _DESCRIPTORS_KEPT, descriptors // 4)
        self._reserve = -1
        self._next_look_ms = 0

    def open(self) -> None:
        self._reserve = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        if self._reserve >= 0:
            os.close(self._reserve)
            self._reserve = -1

    def accept(self, listener: ListenerSocket) -> None:
        """Connections wait on a listening socket: take some of them."""
        for _ in range(_ACCEPTS_MAX):
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
            if len(self.reactor.links) >= self._links_max:
                self.drop_strangers()
                self._refuse(
                    sock, f"{len(self.reactor.links)} connections are open, which is all this process may have"
                )
                continue
            try:
                self.reactor.add(
                    new_link(self.reactor, listener, sock, address, self._server.manager.users.is_administrator)
                )
            except OSError as error:
                # It may be gone already, or the kernel is short of something.
                self._server.notes.tell(
                    "accept", f"AMQ9208E: A connection could not be taken: {error.strerror or error}."
                )
                self.reactor.links.pop(sock.fileno(), None)
                sock.close()

    def drop_strangers(self) -> None:
        """There is no room: those who came some time ago and are nobody's connection make way for others."""
        now = self.reactor.now_ms
        if now < self._next_look_ms:
            return
        self._next_look_ms = now + _LOOK_MS
        before = now - _STRANGER_MS
        for link in list(self.reactor.links.values()):
            is_stranger = not link.conversations and _does_nothing(link) and not self._server.is_considering(link)
            if is_stranger and not link.is_local and link.started_ms < before:
                link.farewell(MQRC_CHANNEL_NOT_AVAILABLE, "Others need the place, and nothing was connected.")

    def _is_blocked(self, address: str) -> bool:
        """Whether BLOCKADDR turns an address away before it has said anything."""
        decision = self._server.admission.blocked_address(address)
        if decision is None:
            return False
        verb = "is turned away" if decision.refused else "would be turned away, but for WARN(YES)"
        self._server.notes.tell(f"blocked {address}", f"AMQ9778E: A connection from {address} {verb}: {decision.why}.")
        return decision.refused

    def _accept_failed(self, listener: ListenerSocket, error: OSError) -> None:
        if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
            return
        self.drop_strangers()
        if self._reserve < 0:
            self._server.notes.tell("reserve", "AMQ9513E: Connections wait: the queue manager has no descriptors left.")
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
        self._server.notes.tell(
            "refused", f"AMQ9513E: Connections are refused: {why}. End some applications, or raise the limit."
        )
        try:
            sock.setblocking(False)
            sock.send(frame(FAREWELL, 0, 0, reason_payload(MQRC_MAX_CONNS_LIMIT_REACHED, f"Refused: {why}.")))
        except OSError:
            pass
        sock.close()


def _does_nothing(link: ServerLink) -> bool:
    """Whether no channel runs by a link. One that only answers pings does not."""
    agent = link.agent
    return agent is None or (isinstance(agent, MessageAgent) and agent.instance is None)
