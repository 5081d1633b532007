"""A relay between two instances, whose directions can be held apart or slowed down, and which can be cut."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

_RECEIVE_BYTES = 1 << 16
FORWARD = 0
"""From the leader, which connects, to the follower."""
BACK = 1


class LinkRelay:
    """Listens on a loopback port of its own, and passes each connection on to the target port."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._passes = (threading.Event(), threading.Event())
        for each in self._passes:
            each.set()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self._bytes_per_second = 0
        self._start(self._accept)

    def _start(self, work: object, *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()  # type: ignore[arg-type]

    def hold(self, *directions: int) -> None:
        """Let nothing through in these directions; connections stay, as with a network that loses all packets."""
        for each in directions:
            self._passes[each].clear()

    def slow_down(self, bytes_per_second: int) -> None:
        """Let so many bytes through from the leader to the follower; 0: as many as come."""
        self._bytes_per_second = bytes_per_second

    def cut(self) -> None:
        """Reset all connections, and refuse new ones."""
        with self._lock:
            self._is_cut = True
            open_now = list(self._open)
        for each in open_now:
            _end(each)

    def mend(self) -> None:
        """Let everything through again."""
        self._is_cut = False
        for each in self._passes:
            each.set()

    def close(self) -> None:
        self.cut()
        self.mend()
        _end(self._listener)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.target_port), 5.0)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                self._open |= {near, far}
            self._start(self._pump, near, far, FORWARD)
            self._start(self._pump, far, near, BACK)

    def _pump(self, source: socket.socket, target: socket.socket, direction: int) -> None:
        with suppress(OSError):
            while data := source.recv(_RECEIVE_BYTES):
                self._passes[direction].wait()
                target.sendall(data)
                rate = self._bytes_per_second if direction == FORWARD else 0
                if rate:
                    time.sleep(len(data) / rate)
        for each in (source, target):
            _end(each)
        with self._lock:
            self._open -= {source, target}


def _end(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
