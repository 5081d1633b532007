"""The journal as a port: the engine appends the records that must survive a restart.

The engine never waits for the disk and knows nothing of log files. An LSN is a byte position in the endless stream of
records. Every LSN here is the position just behind a record, so "durable up to this LSN" means "this record is
durable".
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from mypy_extensions import i64, mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Journal(metaclass=ABCMeta):
    @abstractmethod
    def append(self, kind: i64, head: bytes, descriptor: bytes, body: bytes) -> i64:
        """Append one record whose payload is the three parts, and return the LSN behind it.

        In memory only: nothing is durable until the writer has forced it.
        """

    @abstractmethod
    def end_lsn(self) -> i64:
        """Return the LSN behind the last appended record."""

    @abstractmethod
    def durable_lsn(self) -> i64:
        """Return the LSN up to which all records are on stable storage."""

    @abstractmethod
    def room_bytes(self) -> i64:
        """Return the payload bytes left for ordinary records; back-outs and checkpoints have a reserve of their own."""

    def reserve_bytes(self) -> i64:
        """As `room_bytes`, with the reserve, which gets, commits and back-outs may use."""
        return self.room_bytes()
