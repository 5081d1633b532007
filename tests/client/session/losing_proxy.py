"""A way to a queue manager that loses a reply and breaks off."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Proxy(threading.Thread):
    """Between client and queue manager. Told so, it loses the next thing the queue manager says, and breaks off."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1({self._server.getsockname()[1]})"
        self._port = port
        self.loses = threading.Event()
        self.passes = 0  # so many replies go through before one is lost
        self.lost = threading.Event()
        self.start()

    def run(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                threading.Thread(target=self._carry, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._carry, args=(far, near, True), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, is_reply: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if is_reply and self.loses.is_set() and self.passes:
                    self.passes -= 1
                elif is_reply and self.loses.is_set():
                    self.loses.clear()
                    self.lost.set()
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        """Take no more connections. Those that are there stay."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
