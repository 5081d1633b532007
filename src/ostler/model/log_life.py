"""A life of a recovery log: the time in which one leader appended to it.

Every copy of a log notes the lives in order. Two copies with the same lives have the same bytes as far as both reach.
"""

from __future__ import annotations

from dataclasses import dataclass

INSTANCE_BYTES_MAX = 48
"""An instance's name in UTF-8 is at most this long."""


@dataclass(frozen=True)
class Life:
    epoch: int
    """The number of the life, as the blocks of the log have it. It grows from life to life."""
    start_lsn: int
    """The LSN at which the life began to write. What earlier lives wrote behind it is void."""
    instance: str
    """The instance that led; empty when the log was not replicated then."""
    term: int
    """The fencing number that the arbiter had given to the leader; 0 without an arbiter."""
    unix_time: int
    """The wall clock's seconds when it began, for people only."""

    def is_same(self, other: Life) -> bool:
        """Return True when both name the same life. The time is not compared: it is what one clock said."""
        return (self.epoch, self.start_lsn, self.instance, self.term) == (
            other.epoch,
            other.start_lsn,
            other.instance,
            other.term,
        )
