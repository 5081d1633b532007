"""The position of a receiving MCA: the sequence number and the LUWID of the batch that it committed last.

A queue manager keeps it on SYSTEM.CHANNEL.SYNCQ (`sync_records.py`). The channels of a queue-sharing group keep it on a
shared queue, where all members find it (`group/`). In both cases the new record is in the unit of work of
its batch, so that both have the same outcome.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final, final

from mypy_extensions import i64

from ostler.channel.sync_records import RECEIVING, SyncRecord, SyncRecords
from ostler.engine.unit_of_work import UnitOfWork

# Steps of a position.
WAITING: Final = 0  # for an earlier commit, or for the coupling facility
KNOWN: Final = 1
UNAVAILABLE: Final = 2  # `failure` tells why


class ReceiverPosition(metaclass=ABCMeta):
    """The position of one channel and partner. The owner polls `state`, and may be pumped when that has changed."""

    def __init__(self) -> None:
        self.failure: str = ""

    @abstractmethod
    def open(self, partner: str) -> None:
        """Begin to find the position for a partner that has connected."""

    @abstractmethod
    def state(self) -> i64:
        """Return WAITING, KNOWN or UNAVAILABLE."""

    @abstractmethod
    def find(self) -> SyncRecord:
        """Return the valid record, or a new one that is not written yet. The position must be KNOWN."""

    @abstractmethod
    def write(self, record: SyncRecord) -> None:
        """Replace the record outside batches. MQError if that fails; the position may be WAITING for it."""

    @abstractmethod
    def put(self, record: SyncRecord, unit: UnitOfWork) -> None:
        """Put a new record within a unit of work. MQError if that fails; the position may be WAITING for it."""

    @abstractmethod
    def mark_committed(self, record: SyncRecord) -> None:
        """Make a record valid whose unit of work is committed."""

    @abstractmethod
    def close(self) -> None:
        """Let others use the position: the end has ended, and no commit of it is under way."""


@final
class PrivatePosition(ReceiverPosition):
    """The position of a channel that belongs to one queue manager."""

    def __init__(self, records: SyncRecords, channel: str) -> None:
        super().__init__()
        self._records = records
        self._channel = channel
        self._partner = ""
        self._is_known = False

    def open(self, partner: str) -> None:
        self._partner = partner

    def state(self) -> i64:
        """A batch that an earlier connection or start was committing is decided by the coupling facility first."""
        if not self._is_known:
            if self._records.is_undecided(RECEIVING, self._channel, self._partner):
                return WAITING
            self._records.refresh()
            self._is_known = True
        return KNOWN

    def find(self) -> SyncRecord:
        return self._records.find(RECEIVING, self._channel, self._partner)

    def write(self, record: SyncRecord) -> None:
        self._records.write(record)

    def put(self, record: SyncRecord, unit: UnitOfWork) -> None:
        self._records.put(record, unit)

    def mark_committed(self, record: SyncRecord) -> None:
        self._records.mark_committed(record)

    def close(self) -> None:
        """Others of this queue manager are kept off by the instances of its channels."""
