"""The history of numbered messages: what was acknowledged, what was got, and what follows from both.

A message is identified by its producer and its number. A put or a commit whose answer was lost is in doubt: whatever
became of it is right. An acknowledged message must be got once: if nobody got it, it is lost; if it was got twice, both
times with an acknowledged commit, it is doubled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from ostler.lab.store.courses import TENTHS_PER_SECOND

_TENTH_NS: Final = 1_000_000_000 // TENTHS_PER_SECOND
Identity = tuple[int, int]
"""Producer and number."""


@dataclass
class History:
    """The knowledge of one client, or of all clients together."""

    put: set[Identity] = field(default_factory=set)
    """Acknowledged puts."""
    put_in_doubt: set[Identity] = field(default_factory=set)
    got: Counter[Identity] = field(default_factory=Counter)
    """Acknowledged commits of gets, by how often."""
    got_in_doubt: set[Identity] = field(default_factory=set)

    def add(self, other: History) -> None:
        self.put |= other.put
        self.put_in_doubt |= other.put_in_doubt
        self.got.update(other.got)
        self.got_in_doubt |= other.got_in_doubt

    @property
    def lost(self) -> set[Identity]:
        """Acknowledged messages that nobody got, although everything was got that there was."""
        return {each for each in self.put if each not in self.got and each not in self.got_in_doubt}

    @property
    def doubled(self) -> set[Identity]:
        return {each for each, times in self.got.items() if times > 1}

    @property
    def unknown(self) -> set[Identity]:
        """Messages that were got and that nobody put: they are of somebody else, or made up."""
        return {each for each in self.got if each not in self.put and each not in self.put_in_doubt}


@dataclass(frozen=True)
class Gap:
    """The longest time in which nothing was acknowledged."""

    began_ns: int = 0
    ended_ns: int = 0

    @property
    def seconds(self) -> float:
        return (self.ended_ns - self.began_ns) / 1e9


def tenths(acknowledged_ns: Iterable[int], from_ns: int, to_ns: int) -> list[int]:
    """Return the number of acknowledgements in each tenth of a second between two moments; the last may be shorter."""
    found = [0] * -((from_ns - to_ns) // _TENTH_NS)
    for each in acknowledged_ns:
        if from_ns <= each < to_ns:
            found[(each - from_ns) // _TENTH_NS] += 1
    return found


def longest_gap(acknowledged_ns: Iterable[int], from_ns: int, to_ns: int) -> Gap:
    """Return the longest time without an acknowledgement between two moments, which count as its ends."""
    moments = [from_ns, *sorted(each for each in acknowledged_ns if from_ns <= each <= to_ns), to_ns]
    longest = Gap(from_ns, from_ns)
    for before, after in pairwise(moments):
        if after - before > longest.ended_ns - longest.began_ns:
            longest = Gap(before, after)
    return longest
