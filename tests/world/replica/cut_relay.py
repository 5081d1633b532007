"""A relay between two instances that can be cut: connections break, and new ones are taken and never answered."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class CutRelay:
    """Listens on a port of loopback and passes bytes on to another one."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._is_cut = False
        self._turn = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break all connections, and let no byte through until `mend`."""
        with self._turn:
            self._is_cut = True
        self._break()

    def mend(self) -> None:
        with self._turn:
            self._is_cut = False
        self._break()  # those that were made meanwhile

    def close(self) -> None:
        self._listener.close()
        self._break()

    def _break(self) -> None:
        with self._turn:
            broken = list(self._sockets)
            self._sockets.clear()
        for each in broken:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            with self._turn:
                self._sockets.add(accepted)
                is_cut = self._is_cut
            if is_cut:
                continue
            try:
                onward = socket.create_connection(("127.0.0.1", self._to_port), 5)
            except OSError:
                with self._turn:
                    self._sockets.discard(accepted)
                accepted.close()
                continue
            onward.settimeout(None)
            with self._turn:
                self._sockets.add(onward)
            for source, target in ((accepted, onward), (onward, accepted)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with self._turn:
            self._sockets.discard(source)
            self._sockets.discard(target)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
