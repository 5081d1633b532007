"""The journal as a port: where the engine leaves what must survive.

The engine decides and appends; it never waits for the disk and never learns what a log file is. An LSN is a byte
position in the endless stream of records. Every LSN spoken of here is the position just behind a record, so
"durable up to this LSN" and "this record is durable" are the same sentence.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from mypy_extensions import i64, mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Journal(metaclass=ABCMeta):
    @abstractmethod
    def append(self, kind: i64, head: bytes, descriptor: bytes, body: bytes) -> i64:
        """Add one record, its payload the three parts one after the other; the LSN behind it.

        In memory only: nothing is durable until the writer has forced it.
        """

    @abstractmethod
    def end_lsn(self) -> i64:
        """The LSN behind the last appended record."""

    @abstractmethod
    def durable_lsn(self) -> i64:
        """All records up to here are on stable storage."""

    @abstractmethod
    def room_bytes(self) -> i64:
        """Payload bytes that ordinary records may still take; back-outs and checkpoints have a reserve of their own."""

    def reserve_bytes(self) -> i64:
        """As `room_bytes`, the reserve included: what gets, commits and back-outs may still take."""
        return self.room_bytes()
