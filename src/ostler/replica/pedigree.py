"""The pedigree of a copy of a log: its lives in order, and where it ends. Two of them tell where two copies differ.

    A   life 1 ---------- life 2 from 500 ------------- end 900
    B   life 1 ---------- life 2 from 500 ---- end 700               B is a PREFIX of A
    C   life 1 -------------------- end 620                          C forks from A at 500
    D   life 1 ---------- life 2 from 500 -- life 3 from 600 -- ...  D forks from A at 600

What a copy has behind the fork is void when nobody was told of it, and a partition when somebody was.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ostler.model.log_life import Life

__all__ = ["Life", "Pedigree", "Relation", "RelationKind"]


class RelationKind(Enum):
    SAME = "same"
    """Both have the same bytes and the same end."""
    PREFIX = "prefix"
    """This copy is a beginning of the other one."""
    EXTENDS = "extends"
    """The other copy is a beginning of this one."""
    FORK = "fork"
    """Each has something that the other does not have."""


class Relation(NamedTuple):
    kind: RelationKind
    lsn: int
    """The LSN up to which both have the same bytes."""


class Pedigree:
    def __init__(self, lives: list[Life], end_lsn: int) -> None:
        """`end_lsn` is where the copy's chain of blocks ends."""
        self.lives: list[Life] = lives
        self.end_lsn: int = end_lsn

    def epoch(self) -> int:
        """Return the epoch of the last life; 0 when none was noted."""
        return self.lives[-1].epoch if self.lives else 0

    def relation(self, other: Pedigree) -> Relation:
        """Return what this copy is to another one of the same identity."""
        common = self.common_epoch(other)
        shared = min(self._reach(common), other._reach(common))
        is_all_of_this = common == self.epoch() and shared == self.end_lsn
        is_all_of_other = common == other.epoch() and shared == other.end_lsn
        if is_all_of_this and is_all_of_other:
            return Relation(RelationKind.SAME, shared)
        if is_all_of_this:
            return Relation(RelationKind.PREFIX, shared)
        if is_all_of_other:
            return Relation(RelationKind.EXTENDS, shared)
        return Relation(RelationKind.FORK, shared)

    def common_epoch(self, other: Pedigree) -> int:
        """Return the epoch of the last life that both have; 0 when there is none.

        A frame has the newest lives only: those before the first one of the shorter list are not compared.
        """
        if not self.lives or not other.lives:
            return 0
        first = max(self.lives[0].epoch, other.lives[0].epoch)
        found = 0
        mine = [life for life in self.lives if life.epoch >= first]
        theirs = [life for life in other.lives if life.epoch >= first]
        for one, another in zip(mine, theirs, strict=False):
            if not one.is_same(another):
                break
            found = one.epoch
        return found

    def _reach(self, epoch: int) -> int:
        """Return how far the lives up to an epoch reach. Without a common life nothing is known to be shared."""
        if epoch == 0:
            return 0
        later = [life.start_lsn for life in self.lives if life.epoch > epoch]
        return later[0] if later else self.end_lsn

    def life_at(self, lsn: int) -> Life | None:
        """Return the life that wrote the bytes behind an LSN; None when it is not noted."""
        found: Life | None = None
        for life in self.lives:
            if life.start_lsn <= lsn:
                found = life
        return found

    def lives_from(self, lsn: int) -> list[Life]:
        """Return the lives that began at or behind an LSN, in order."""
        return [life for life in self.lives if life.start_lsn >= lsn]

    def is_ahead_of(self, other: Pedigree) -> bool:
        """Return True when this copy is the better one to lead: a later life, or the same one with a later end."""
        return (self.epoch(), self.end_lsn) > (other.epoch(), other.end_lsn)
