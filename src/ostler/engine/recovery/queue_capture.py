"""A queue as it was at one LSN, read while work goes on: for a copy of the queue manager that is made anew.

Capturing copies arrays while the engine stands still. Messages are read after that, a few at a time; the segments of
the queue's file that have them are pinned until `release`. Like a snapshot it has the committed state: messages that
are available or got under syncpoint, but not those put under syncpoint.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i64_le
from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.message.message import Message
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.slots import (
    AVAILABLE,
    GOT_UNCOMMITTED,
    NONE,
    PERSISTENT,
    STATE_MASK,
    extent_length,
    lasting_flags,
)
from ostler.model.disk import File

_BATCH_BYTES: Final = 1 << 20
_BATCH_MESSAGES: Final = 256


@final
class CapturedMessage:
    def __init__(self, message: Message, flags: i64, expiry_ms: i64) -> None:
        self.message: Final[Message] = message
        self.flags: Final[i64] = flags
        self.expiry_ms: Final[i64] = expiry_ms


@final
class QueueCapture:
    """Made and released with the engine standing still; `prepare` and `read` need not have that."""

    def __init__(self, engine: Engine, queue: Queue) -> None:
        """Raises MQError when the queue's file cannot be opened for want of descriptors."""
        self.queue: Final[Queue] = queue
        self.lsn: Final[i64] = engine.journal.end_lsn()
        self.next_seq: Final[i64] = queue.next_seq
        slots = queue.slots
        self._seqs = bytes(memoryview(slots.seqs))
        self._flags = bytes(memoryview(slots.flags))
        self._expiries = bytes(memoryview(slots.expiries))
        self._extents = bytes(memoryview(slots.extents))
        self._resident: list[Message | None] = list(slots.resident)
        self._order: list[tuple[int, int]] = []  # sequence number and slot of each message
        self._at: i64 = 0
        self._file: File | None = None
        if queue.stored_bytes > 0:
            self._file = queue.file.begin_read()
            queue.file.pin()

    def prepare(self) -> int:
        """Find the messages that count, and return their number."""
        slot: i64 = 0
        while slot < len(self._resident):
            flags: i64 = read_i64_le(self._flags, slot * 8)
            state: i64 = flags & STATE_MASK
            if flags & PERSISTENT and (state == AVAILABLE or state == GOT_UNCOMMITTED):
                self._order.append((read_i64_le(self._seqs, slot * 8), slot))
            else:
                self._resident[slot] = None
            slot += 1
        self._order.sort()
        return len(self._order)

    def read(self) -> list[CapturedMessage]:
        """Return the next messages, by sequence number; none at the end. Raises QueueFileDamaged."""
        chosen: list[int] = []
        stored: list[int] = []
        size: i64 = 0
        while self._at < len(self._order) and size < _BATCH_BYTES and len(chosen) < _BATCH_MESSAGES:
            slot = self._order[self._at][1]
            message = self._resident[slot]
            if message is None:
                extent: i64 = read_i64_le(self._extents, slot * 8)
                assert extent != NONE
                stored.append(extent)
                size += extent_length(extent)
            else:
                size += message.size_bytes()
            chosen.append(slot)
            self._at += 1
        read: list[Message | None] = []
        if stored:
            file = self._file
            assert file is not None
            read = self.queue.file.read_many(file, stored, len(stored))
        found: list[CapturedMessage] = []
        index: i64 = 0
        for slot in chosen:
            message = self._resident[slot]
            if message is None:
                message = read[index]
                index += 1
            assert message is not None
            flags: i64 = lasting_flags(read_i64_le(self._flags, slot * 8))
            found.append(CapturedMessage(message, flags, read_i64_le(self._expiries, slot * 8)))
            self._resident[slot] = None
        return found

    def release(self) -> None:
        """Give the queue's file free again. Engine still."""
        if self._file is not None:
            self._file = None
            self.queue.file.unpin()
            self.queue.file.end_read()


def oldest_open_lsn(engine: Engine) -> i64:
    """Return the LSN from which the journal has all that later captures do not reflect. Engine still.

    Units of work that are open now began behind it; those that begin later do so behind its end.
    """
    engine.finish_unit_ends()
    lsn: i64 = engine.journal.end_lsn()
    for unit in engine.units_of_work.values():
        if 0 <= unit.first_lsn < lsn:
            lsn = unit.first_lsn
    return lsn
