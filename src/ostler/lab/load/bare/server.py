"""Servers of the limit probes: the least that a broker on an epoll loop must do.

The echo sends every block back. The relay passes a requester's block to its responder, and the responder's to the
requester: as many receives and sends as a broker needs that pushes messages and answers nothing else. The pass server
hands a producer's block to a consumer of its number, in turn if there are several, and acknowledges it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

from ostler.lab.load.bare.client import HELLO, REQUESTER, RESPONDER, TAKEN, WELCOME

ECHO = "echo"
RELAY = "relay"
PASS = "pass"
_READ_BYTES = 8192
_READ_BYTES_MAX = 262_144
_EVENTS_MAX = 256
_BACKLOG = 1024


class _Link:
    """A connection: its incoming block, the target of its blocks, and the bytes its socket has not accepted yet."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.descriptor = sock.fileno()
        self.role = b""
        self.number = 0
        self.parts: list[bytes] = []
        self.received = 0
        self.to: _Link | None = None
        self.backlog: list[bytes] = []
        self.to_answer: list[_Link] = []
        """Producers whose blocks have not been sent completely to this consumer."""


class BareServer:
    """Accepts connections on a listening socket and passes whole blocks on, until its parent or a signal ends it."""

    def __init__(self, listener: socket.socket, kind: str, block_bytes: int) -> None:
        self._listener = listener
        self._kind = kind
        self._block_bytes = block_bytes
        self._read_bytes = _READ_BYTES if block_bytes <= _READ_BYTES else _READ_BYTES_MAX
        self._epoll = select.epoll()
        self._links: dict[int, _Link] = {}
        self._by_role: dict[tuple[bytes, int], list[_Link]] = {}
        self._turns: dict[int, int] = {}
        listener.setblocking(False)
        self._epoll.register(listener.fileno(), select.EPOLLIN)

    def run(self, ends: int) -> None:
        """Serve until a descriptor becomes readable."""
        own = self._listener.fileno()
        self._epoll.register(ends, select.EPOLLIN)
        while True:
            for descriptor, events in self._epoll.poll(-1, _EVENTS_MAX):
                if descriptor == own:
                    self._accept()
                elif descriptor == ends:
                    return
                else:
                    link = self._links.get(descriptor)
                    # A link that was closed in this pass gets no further events.
                    if link is not None:
                        self._serve(link, events)

    def _accept(self) -> None:
        sock, _ = self._listener.accept()
        sock.setblocking(False)
        if sock.family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._links[sock.fileno()] = _Link(sock)
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def _serve(self, link: _Link, events: int) -> None:
        if events & select.EPOLLOUT:
            self._flush(link)
            if not events & ~select.EPOLLOUT:
                return
        try:
            data = link.sock.recv(self._read_bytes)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self._forget(link)
        elif not link.role:
            self._greet(link, data)
        elif not link.parts and len(data) == self._block_bytes:
            self._whole(link, data)
        else:
            # One block at a time is in flight on a connection: more is never received.
            link.parts.append(data)
            link.received += len(data)
            if link.received >= self._block_bytes:
                block = b"".join(link.parts)
                link.parts = []
                link.received = 0
                self._whole(link, block)

    def _whole(self, link: _Link, block: bytes) -> None:
        if self._kind != PASS:
            self._send(link if link.to is None else link.to, block)
            return
        consumers = self._by_role.get((RESPONDER, link.number))
        if not consumers:
            # Nobody receives this block: the sender notices that by the closed connection.
            self._forget(link)
            return
        turn = self._turns.get(link.number, 0)
        self._turns[link.number] = turn + 1
        consumer = consumers[turn % len(consumers)]
        self._send(consumer, block)
        # Otherwise producers would continue however slow a consumer is.
        if consumer.backlog:
            consumer.to_answer.append(link)
        else:
            self._send(link, TAKEN)

    def _send(self, link: _Link, data: bytes) -> None:
        if link.backlog:
            link.backlog.append(data)
            return
        try:
            sent = link.sock.send(data)
        except BlockingIOError:
            sent = 0
        except (BrokenPipeError, ConnectionResetError):
            # The next receive reports the end.
            return
        if sent != len(data):
            link.backlog.append(data[sent:])
            self._epoll.modify(link.descriptor, select.EPOLLIN | select.EPOLLOUT)

    def _flush(self, link: _Link) -> None:
        waiting, link.backlog = link.backlog, []
        self._epoll.modify(link.descriptor, select.EPOLLIN)
        for data in waiting:
            self._send(link, data)
        if link.to_answer and not link.backlog:
            answered, link.to_answer = link.to_answer, []
            for each in answered:
                if each.descriptor in self._links:
                    self._send(each, TAKEN)

    def _greet(self, link: _Link, data: bytes) -> None:
        link.role, link.number = HELLO.unpack(data[: HELLO.size])
        if self._kind != ECHO:
            self._by_role.setdefault((link.role, link.number), []).append(link)
        if self._kind == RELAY:
            others = self._by_role.get((REQUESTER if link.role == RESPONDER else RESPONDER, link.number))
            if others:
                link.to, others[-1].to = others[-1], link
        self._send(link, WELCOME)

    def _forget(self, link: _Link) -> None:
        self._epoll.unregister(link.descriptor)
        del self._links[link.descriptor]
        link.sock.close()
        if link.to is not None and link.to.to is link:
            link.to.to = None
        alike = self._by_role.get((link.role, link.number))
        if alike is not None and link in alike:
            alike.remove(link)


def start(kind: str, listener: socket.socket, block_bytes: int) -> subprocess.Popen[bytes]:
    """Start a server in a process of its own. It takes over the listening socket, and ends with this process."""
    descriptor = listener.fileno()
    # Not with -m: a compiled module cannot be run that way.
    program = f"import sys; from {__name__} import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, kind, str(descriptor), str(block_bytes), str(os.getpid())]
    # Control-C at the terminal is for the parent, also while this process still imports.
    return subprocess.Popen(command, pass_fds=(descriptor,), stdin=subprocess.DEVNULL, process_group=0)


def listening(address: tuple[str, int] | Path) -> socket.socket:
    """Return a listening socket, on a loopback port or at a path."""
    if isinstance(address, Path):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.bind(str(address))
    else:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    sock.listen(_BACKLOG)
    return sock


def main(arguments: list[str]) -> int:
    kind, descriptor, block_bytes, parent = arguments
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # It becomes readable when the process ends, whichever of its threads has started this one.
        ends = os.pidfd_open(int(parent))
    except ProcessLookupError:
        return 0
    if os.getppid() != int(parent):
        return 0
    BareServer(socket.socket(fileno=int(descriptor)), kind, int(block_bytes)).run(ends)
    return 0
