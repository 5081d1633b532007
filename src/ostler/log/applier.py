"""Passes the records of blocks to a visitor in order, as far as they may be applied. It goes on where it stopped."""

from __future__ import annotations

from typing import Final

from librt.strings import read_i64_le
from mypy_extensions import i64

from ostler.log.errors import LogDamaged
from ostler.log.reader import BlockCursor, LogVisitor, RecordReader
from ostler.log.stream_format import BLOCK_HEADER_BYTES, PADDED, UINT32, StreamShape, next_page

LSN_MAX: Final = (1 << 63) - 1


class LogApplier:
    def __init__(self, shape: StreamShape, visitor: LogVisitor, restart_lsn: i64) -> None:
        self._shape = shape
        self._reader = RecordReader(visitor, restart_lsn, LSN_MAX)
        self.applied_lsn: i64 = restart_lsn
        """The end of the last block that was applied."""
        self.position: i64 = 0
        """The LSN at which the next block to apply is looked for."""

    def whole_lsn(self) -> i64:
        """Return the LSN behind the last whole record that was applied: a restart may begin there."""
        return self._reader.whole_lsn if self._reader.is_in_record() else self.applied_lsn

    def records(self) -> i64:
        return self._reader.records

    def apply_at(self, cursor: BlockCursor) -> None:
        """Apply the block at which a cursor stands. Raises LogDamaged."""
        self._reader.read_block(cursor)
        self.applied_lsn = max(self.applied_lsn, cursor.end())
        self.position = self._shape.block_start(cursor.position)

    def apply_image(self, lsn: i64, image: bytes) -> None:
        """Apply a block that was verified when it was taken. Raises LogDamaged."""
        sizes = read_i64_le(image, 8)
        length = sizes & UINT32
        if not self._reader.read_records(image, 0, lsn, length, sizes >> 32):
            raise LogDamaged("the log", lsn, "a record is continued here whose beginning is missing")
        end: i64 = lsn + BLOCK_HEADER_BYTES + length
        self.applied_lsn = max(self.applied_lsn, end)
        is_padded: bool = read_i64_le(image, 40) & PADDED != 0
        self.position = self._shape.block_start(next_page(end) if is_padded else end)
