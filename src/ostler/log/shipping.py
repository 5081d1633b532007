"""The port through which a log's blocks leave for other copies.

The writer of the log offers each batch before it forces it here, so that all disks work at the same time, and says when
it has forced it. What enough copies have forced comes back as the group LSN: `RecoveryLog.group_durable`.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from mypy_extensions import i64, mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class LogShipper(metaclass=ABCMeta):
    """Called by the writer thread, without the owner's lock. Must not wait for anybody."""

    @abstractmethod
    def offer(self, position: i64, images: list[bytes]) -> None:
        """Take blocks as they are written, in order. The chain of blocks before them ends at `position`.

        A batch that found no space is offered again when it is written again, with the same bytes.
        """

    @abstractmethod
    def forced(self, end_lsn: i64) -> None:
        """All that was offered up to `end_lsn` is forced here."""
