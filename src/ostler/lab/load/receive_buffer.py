"""A buffer for received bytes whose rest has not arrived yet."""

from __future__ import annotations


class ReceiveBuffer:
    """Keeps the beginning of a frame. A large message arrives with many reads, and is joined only once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._wanted = 0

    def add(self, data: bytes) -> bytes:
        """Return all bytes received so far; nothing while more must arrive."""
        if not self._size:
            return data
        self._parts.append(data)
        self._size += len(data)
        if self._size < self._wanted:
            return b""
        whole = b"".join(self._parts)
        self._size = self._wanted = 0
        self._parts = []
        return whole

    def keep(self, rest: bytes, wanted: int) -> None:
        """Keep the rest, and the number of bytes it needs before it can be parsed; 0 where that is unknown."""
        if rest:
            self._parts = [rest]
            self._size = len(rest)
            self._wanted = wanted
