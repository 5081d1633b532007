"""A network between two simulated queue managers: lossless while it is up, never out of order, cut at any byte.

A line is one connection. Bytes are first in the socket of the sender, then in transit, and arrive in pieces of any
size. A cut loses the bytes in transit, and each side detects it independently, sooner or later. When one side closes,
the other one reads all bytes sent before, and then the end.
"""

from __future__ import annotations

from random import Random

# How much is received at once: mostly all there is, and seldom a byte.
_PIECES = [1, 17, 500, 2000, *[1 << 30] * 12]


class LineEnd:
    """One side of a line, as its owner sees a socket."""

    def __init__(self) -> None:
        self.unsent = bytearray()
        self.on_the_way = bytearray()  # to the other side
        self.other: LineEnd = self
        self.is_closing = False  # sends its remaining bytes, then the end
        self.is_closed = False
        self.is_cut = False
        self.has_heard = False  # has detected the cut or the end of the other side
        self.haste = 1.0  # weight of its steps in the simulation

    def send(self, data: bytes) -> None:
        if not self.is_closed and not self.is_closing:
            self.unsent += data

    def transmit(self, chance: Random | None) -> None:
        """Move bytes from the socket into transit: a random part, or all without `chance`. A cut line loses them."""
        count = _piece(len(self.unsent), chance)
        if not self.is_cut:
            self.on_the_way += self.unsent[:count]
        del self.unsent[:count]
        if self.is_closing and not self.unsent:
            self.is_closed = True

    def receive(self, chance: Random | None) -> bytes:
        """Return bytes in transit to this side: a random part, or all."""
        source = self.other.on_the_way
        count = _piece(len(source), chance)
        data = bytes(source[:count])
        del source[:count]
        return data

    def can_transmit(self) -> bool:
        return bool(self.unsent) or (self.is_closing and not self.is_closed)

    def can_receive(self) -> bool:
        return bool(self.other.on_the_way) and not self.is_closed and not self.has_heard

    def can_hear_end(self) -> bool:
        """Return True if the line has ended and this side has not detected it yet."""
        if self.is_closed or self.has_heard:
            return False
        return self.is_cut or (self.other.is_closed and not self.other.on_the_way)

    def close(self) -> None:
        """Close after the remaining bytes."""
        self.is_closing = True

    def vanish(self) -> None:
        """Close at once, as at the end of a process. Bytes already sent may still arrive."""
        self.unsent.clear()
        self.other.on_the_way.clear()
        self.is_cut = self.other.is_cut = True
        self.is_closed = True

    def cut(self, chance: Random) -> None:
        """Cut the line. A random part of the bytes in transit still arrives, perhaps late."""
        self.is_cut = self.other.is_cut = True
        self.other.on_the_way.clear()
        del self.on_the_way[chance.randrange(len(self.on_the_way) + 1) :]
        self.other.haste = chance.choice([1.0, 0.02])


def _piece(there: int, chance: Random | None) -> int:
    return there if chance is None else min(there, chance.choice(_PIECES))


def new_line() -> tuple[LineEnd, LineEnd]:
    one, other = LineEnd(), LineEnd()
    one.other, other.other = other, one
    return one, other
