"""A proxy between the ends of a channel that breaks connections at chosen frames."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections import Counter

from ostler.wire.frames import HEADER_BYTES, REPLY, TYPE_NAMES

FORWARD = 0  # from the end that connected
BACK = 1


class Frames:
    """Cuts one direction of a connection into whole frames."""

    def __init__(self) -> None:
        self._data = b""

    def cut(self, data: bytes) -> list[tuple[int, bytes]]:
        self._data += data
        found: list[tuple[int, bytes]] = []
        while len(self._data) >= HEADER_BYTES:
            length = int.from_bytes(self._data[:4], "little")
            if len(self._data) < length:
                break
            found.append((self._data[4], self._data[:length]))
            self._data = self._data[length:]
        return found


class Proxy:
    """Listens on `port`, for any number of connections. Not for TLS."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.frames: Counter[tuple[int, str]] = Counter()  # that have gone through, by direction and name
        self.cuts = 0
        self._cut_at: tuple[int, int, bool] | None = None
        self._held: set[tuple[int, int]] = set()
        self._detained: dict[tuple[int, int], threading.Event] = {}
        self._is_closed = False
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._abandoned: list[socket.socket] = []
        self._abandons = False
        self._threads = [threading.Thread(target=self._run, daemon=True)]
        self._threads[0].start()

    def cut_at(self, direction: int, type: int, lets_through: bool = False) -> None:
        """Break the connection at the next frame of a type, before or right after it has gone through."""
        self._cut_at = (direction, type, lets_through)

    def swallow(self, direction: int, type: int) -> None:
        """Drop all further frames of a type."""
        self._held.add((direction, type))

    def detain(self, direction: int, type: int) -> threading.Event:
        """Hold the next frame of a type and all later ones until the returned event is set."""
        released = threading.Event()
        self._detained[(direction, type)] = released
        return released

    def abandon(self) -> None:
        """Close the connection of the end that connected, without the other end noticing."""
        self._abandons = True
        for first, _ in list(self._pairs):
            _shut(first)

    def let_through(self) -> None:
        self._held.clear()

    def close(self) -> None:
        self._is_closed = True
        _shut(self._listener)
        self.hang_up()
        for thread in self._threads:
            thread.join(5)
        for sock in [self._listener, *self._abandoned]:
            sock.close()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hang_up(self) -> None:
        """Break all connections, now."""
        for pair in list(self._pairs):
            for sock in pair:
                _shut(sock)

    def _run(self) -> None:
        while not self._is_closed:
            try:
                first, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(first,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, first: socket.socket) -> None:
        with first, contextlib.suppress(OSError):
            second = socket.create_connection(("127.0.0.1", self._target_port), 5)
            self._pairs.append((first, second))
            with contextlib.suppress(OSError):
                self._carry(first, second)
            self._pairs.remove((first, second))
            if self._abandons:
                self._abandons = False
                self._abandoned.append(second)
            else:
                second.close()

    def _carry(self, first: socket.socket, second: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(first, selectors.EVENT_READ, (FORWARD, second, Frames()))
            selector.register(second, selectors.EVENT_READ, (BACK, first, Frames()))
            while True:
                for key, _ in selector.select():
                    direction, other, frames = key.data
                    assert isinstance(key.fileobj, socket.socket)
                    data = key.fileobj.recv(65536)
                    if not data:
                        return
                    for type, whole in frames.cut(data):
                        if not self._pass(direction, type, whole, other):
                            return

    def _pass(self, direction: int, type: int, whole: bytes, other: socket.socket) -> bool:
        """Forward or drop a frame. Return False if the connection has to break here."""
        wanted = self._cut_at
        is_cut = wanted is not None and wanted[:2] == (direction, type)
        if is_cut and wanted is not None:
            self._cut_at = None
            self.cuts += 1
            if not wanted[2]:
                return False
        released = self._detained.pop((direction, type), None)
        if released is not None:
            released.wait(30)
        if (direction, type) not in self._held:
            other.sendall(whole)
        name = TYPE_NAMES.get(type & ~REPLY, str(type))
        self.frames[(direction, f"{name} REPLY" if type & REPLY else name)] += 1
        return not is_cut


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
