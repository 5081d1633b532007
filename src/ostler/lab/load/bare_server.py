"""Servers of the limit probes: what a broker on an epoll loop does at least, with nothing of a broker in it.

The echo sends every block back. The relay hands a requester's block to its responder, and the responder's to the
requester: as many receives and sends as a broker needs that pushes messages and answers nothing else.
"""

from __future__ import annotations

import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

from ostler.lab.load.bare_client import HELLO, REQUESTER, RESPONDER, WELCOME

ECHO = "echo"
RELAY = "relay"
_READ_BYTES = 8192
_EVENTS_MAX = 256
_BACKLOG = 1024


class BareServer:
    """Accepts connections on a listening socket and passes whole blocks on, until a signal ends its process."""

    def __init__(self, listener: socket.socket, kind: str, block_bytes: int) -> None:
        self._listener = listener
        self._is_relay = kind == RELAY
        self._block_bytes = block_bytes
        self._epoll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._partner: dict[int, int] = {}
        self._partial: dict[int, bytes] = {}
        self._by_role: dict[tuple[bytes, int], int] = {}
        listener.setblocking(False)
        self._epoll.register(listener.fileno(), select.EPOLLIN)

    def run(self) -> None:
        own = self._listener.fileno()
        while True:
            for descriptor, _ in self._epoll.poll(-1, _EVENTS_MAX):
                if descriptor == own:
                    self._accept()
                else:
                    self._serve(descriptor)

    def _accept(self) -> None:
        sock, _ = self._listener.accept()
        sock.setblocking(False)
        if sock.family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sockets[sock.fileno()] = sock
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def _serve(self, descriptor: int) -> None:
        sock = self._sockets[descriptor]
        try:
            data = sock.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self._forget(descriptor)
            return
        to = self._partner.get(descriptor, -1)
        if to < 0:
            self._greet(descriptor, sock, data)
            return
        held = self._partial.pop(descriptor, b"")
        if held:
            data = held + data
        if len(data) < self._block_bytes:
            self._partial[descriptor] = data
            return
        # One block at a time is under way on a connection, so a socket's buffer always has room for it.
        self._sockets[to].send(data)

    def _greet(self, descriptor: int, sock: socket.socket, data: bytes) -> None:
        role, number = HELLO.unpack(data[: HELLO.size])
        self._partner[descriptor] = descriptor
        if self._is_relay:
            self._by_role[(role, number)] = descriptor
            other = self._by_role.get((REQUESTER if role == RESPONDER else RESPONDER, number))
            if other is not None:
                self._partner[descriptor], self._partner[other] = other, descriptor
        sock.send(WELCOME)

    def _forget(self, descriptor: int) -> None:
        self._epoll.unregister(descriptor)
        self._sockets.pop(descriptor).close()
        self._partial.pop(descriptor, None)
        other = self._partner.pop(descriptor, descriptor)
        if other != descriptor and other in self._partner:
            self._partner[other] = other
        for key in [key for key, found in self._by_role.items() if found == descriptor]:
            del self._by_role[key]


def start(kind: str, listener: socket.socket, block_bytes: int) -> subprocess.Popen[bytes]:
    """Run a server in a process of its own; it takes the listening socket over."""
    descriptor = listener.fileno()
    # Not with -m: where this module is compiled, that cannot run it.
    program = f"import sys; from {__name__} import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, kind, str(descriptor), str(block_bytes)]
    return subprocess.Popen(command, pass_fds=(descriptor,), stdin=subprocess.DEVNULL)


def listening(address: tuple[str, int] | Path) -> socket.socket:
    """A listening socket, on a loopback port or at a path."""
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
    kind, descriptor, block_bytes = arguments
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    BareServer(socket.socket(fileno=int(descriptor)), kind, int(block_bytes)).run()
    return 0
