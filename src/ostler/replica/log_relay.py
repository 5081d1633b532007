"""The port through which the log of a live site goes on within its recovery group.

The follower's side of the instance that takes the log calls it, with the lock of that side. `RelaySide` has the rules.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from mypy_extensions import i64, mypyc_attr

from ostler.log.log_writer import BlockImage
from ostler.model.log_life import Life


@mypyc_attr(allow_interpreted_subclasses=True)
class LogRelay(metaclass=ABCMeta):
    """Must not wait for anybody."""

    @abstractmethod
    def received(self, images: list[BlockImage], position: i64) -> None:
        """Take blocks that are forced here, in order. The chain of blocks ends at `position` now."""

    @abstractmethod
    def life_begins(self, lives: list[Life], position: i64) -> None:
        """Another life of the log begins at a position: `lives` are those of the copy now."""

    @abstractmethod
    def site_group_is_at(self, lsn: i64) -> None:
        """The live site has acknowledged all up to an LSN."""

    @abstractmethod
    def group_lsn(self) -> i64:
        """Return the LSN up to which the log may be applied here."""

    @abstractmethod
    def acknowledged_position(self) -> i64:
        """Return how far enough copies of the group have forced the log."""

    @abstractmethod
    def is_held(self) -> bool:
        """Return True when so few copies of the group answer that nothing can be acknowledged."""
