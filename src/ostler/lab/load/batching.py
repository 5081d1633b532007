"""What is left over of received bytes until the rest of it comes."""

from __future__ import annotations


class ReplyBatch:
    """Keeps the beginning of something. A large message comes with many reads, and is put together only once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._wanted = 0

    def add(self, data: bytes) -> bytes:
        """All that is there now; nothing while it is known that more must come."""
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
        """What is left over, and how many bytes there must be before it is worth looking at; 0 where nobody knows."""
        if rest:
            self._parts = [rest]
            self._size = len(rest)
            self._wanted = wanted
