"""A network between two simulated queue managers: lossless while it is up, never out of order, cut at any byte.

A line is one connection. What an end sends lies in its socket first, then is on the way, and arrives in pieces of any
size. When the line is cut, what is on the way is lost, and each side hears of the cut on its own, sooner or later. When
one side closes, the other one reads what was sent before and then hears of the end.
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
        self.is_closing = False  # it sends what it has, and then the end
        self.is_closed = False
        self.is_cut = False
        self.has_heard = False  # of the cut, or of the other side's end
        self.haste = 1.0  # how soon its owner looks at it

    def send(self, data: bytes) -> None:
        if not self.is_closed and not self.is_closing:
            self.unsent += data

    def transmit(self, chance: Random | None) -> None:
        """Some of what lies in the socket goes on its way, all of it without chance. A line that is cut loses it."""
        count = _piece(len(self.unsent), chance)
        if not self.is_cut:
            self.on_the_way += self.unsent[:count]
        del self.unsent[:count]
        if self.is_closing and not self.unsent:
            self.is_closed = True

    def receive(self, chance: Random | None) -> bytes:
        """Some of what is on its way here, or all; nothing when nothing is."""
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
        """Whether there is an end of the line that this side does not know of yet."""
        if self.is_closed or self.has_heard:
            return False
        return self.is_cut or (self.other.is_closed and not self.other.on_the_way)

    def close(self) -> None:
        """Send what there is, and end."""
        self.is_closing = True

    def vanish(self) -> None:
        """Its process is gone, or wants no more of it. What it has sent may still arrive."""
        self.unsent.clear()
        self.other.on_the_way.clear()
        self.is_cut = self.other.is_cut = True
        self.is_closed = True

    def cut(self, chance: Random) -> None:
        """Nothing goes through any more. What is near the other side arrives there, perhaps when nobody expects it."""
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
