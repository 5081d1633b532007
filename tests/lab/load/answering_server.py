"""A server for drivers' tests, in a thread: it welcomes connections and sends every block back."""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
import time
from contextlib import suppress

from ostler.lab.load.bare.client import HELLO, WELCOME
from ostler.lab.peers.broker_process import LOOPBACK

_BACKLOG = 256


class AnsweringServer:
    """Counts what it accepts. From `stall_from_ns` on it answers nothing for a while, once."""

    def __init__(self, stall_seconds: float = 0.0, context: ssl.SSLContext | None = None) -> None:
        self._listener = socket.create_server((LOOPBACK, 0), backlog=_BACKLOG)
        self.address: tuple[str, int] = self._listener.getsockname()
        self.accepted = 0
        self.open = 0
        self.stall_from_ns = 0
        self._stall_seconds = stall_seconds
        self._context = context
        self._is_ending = threading.Event()
        self._wake, self._woken = socket.socketpair()
        self._greeted: set[int] = set()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def end(self) -> None:
        if self._is_ending.is_set():
            return
        self._is_ending.set()
        self._wake.send(b"x")
        self._thread.join(10)
        for each in (self._listener, self._wake, self._woken):
            each.close()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not self._is_ending.is_set():
                for key, _ in selector.select():
                    assert isinstance(key.fileobj, socket.socket)
                    if key.fileobj is self._listener:
                        self._accept(selector)
                    elif key.fileobj is not self._woken:
                        self._answer(selector, key.fileobj)
            for key in list(selector.get_map().values()):
                if key.fileobj not in (self._listener, self._woken):
                    assert isinstance(key.fileobj, socket.socket)
                    key.fileobj.close()

    def _accept(self, selector: selectors.BaseSelector) -> None:
        sock, _ = self._listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._context is not None:
            try:
                sock = self._context.wrap_socket(sock, server_side=True)
            except OSError:
                return
        self.accepted += 1
        self.open += 1
        selector.register(sock, selectors.EVENT_READ)

    def _answer(self, selector: selectors.BaseSelector, sock: socket.socket) -> None:
        data = _received(sock)
        if not data:
            self.open -= 1
            self._greeted.discard(sock.fileno())
            selector.unregister(sock)
            sock.close()
            return
        if sock.fileno() not in self._greeted:
            self._greeted.add(sock.fileno())
            sock.sendall(WELCOME + data[HELLO.size :])
            return
        if self.stall_from_ns and time.perf_counter_ns() >= self.stall_from_ns:
            self.stall_from_ns = 0
            self._is_ending.wait(self._stall_seconds)
        # Who has gone meanwhile is noticed with the next read.
        with suppress(ConnectionError):
            sock.sendall(data)


def _received(sock: socket.socket) -> bytes:
    try:
        data = sock.recv(65536)
        while isinstance(sock, ssl.SSLSocket) and sock.pending():
            data += sock.recv(65536)
    except ConnectionError:
        # The client was killed.
        return b""
    return data
