"""The logs that people have given up, as a group's arbiter keeps them: {"number": 2, "logs": [...]}, the last ones.

A group of several instances is given up by one command at one of them. The others learn it from the arbiter, those that
do not run when they are started. Each decides for its own copy: it is given up if it has something behind the fork that
the same life has written. One that ends before the fork, or that took a base since, is a beginning of the other site's.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final

from ostler.replica.pedigree import Life, Pedigree

_LOGS_MAX: Final = 16


@dataclass(frozen=True)
class GivenUpLog:
    """What stands behind an LSN, if this life has written it."""

    fork_lsn: int
    epoch: int
    start_lsn: int
    instance: str
    term: int

    def has_part_of(self, own: Pedigree) -> bool:
        """Return True for a copy that has something of this log behind the fork."""
        life = own.life_at(self.fork_lsn)
        known = Life(self.epoch, self.start_lsn, self.instance, self.term, 0)
        return life is not None and life.is_same(known) and own.end_lsn > self.fork_lsn


@dataclass(frozen=True)
class GivenUp:
    number: int = 0
    """The number of decisions so far. An instance notes the one that it has carried out."""
    logs: tuple[GivenUpLog, ...] = ()

    def fork_of(self, own: Pedigree) -> int:
        """Return the LSN behind which a copy is given up; -1: it is not."""
        return min((each.fork_lsn for each in self.logs if each.has_part_of(own)), default=-1)

    def and_also(self, fork_lsn: int, own: Pedigree) -> GivenUp:
        """Return the decisions with one more: the log of a copy behind an LSN."""
        life = own.life_at(fork_lsn) or Life(0, 0, "", 0, 0)
        added = GivenUpLog(fork_lsn, life.epoch, life.start_lsn, life.instance, life.term)
        return GivenUp(self.number + 1, (*self.logs, added)[-_LOGS_MAX:])

    def encode(self) -> str:
        return json.dumps({"number": self.number, "logs": [asdict(each) for each in self.logs]})


def decode_given_up(text: str) -> GivenUp:
    """Return the decisions; none of a text that cannot be read, or that a later release has written."""
    if not text:
        return GivenUp()
    try:
        found = json.loads(text)
        logs = tuple(GivenUpLog(**each) for each in found["logs"])
        return GivenUp(int(found["number"]), logs)
    except (ValueError, KeyError, TypeError, RecursionError):
        return GivenUp()
