"""Reading the stream: block by block, each verified, records passed to a visitor.

Reads are a few megabytes long and nothing is kept but the block at hand and the pieces of one unfinished record, so
the memory of a replay does not depend on the size of the log.
"""

from __future__ import annotations

import zlib
from abc import ABCMeta, abstractmethod
from typing import Final

from librt.strings import read_i32_le, read_i64_le
from mypy_extensions import i64, mypyc_attr

from ostler.log.control_file import ControlState
from ostler.log.errors import LogDamaged
from ostler.log.page_copy import SavedPage
from ostler.log.stream_format import (
    BLOCK_BYTES_MAX,
    BLOCK_HEADER_BYTES,
    BLOCK_MAGIC_NUMBER,
    ENTRY_BYTES,
    FIRST,
    LAST,
    LIFE_START,
    PADDED,
    PAGE_BYTES,
    UINT32,
    WHOLE,
    StreamShape,
    extent_name,
    extent_problem,
    next_page,
)
from ostler.model.disk import Disk, File

READ_BYTES: Final = 4 << 20


@mypyc_attr(allow_interpreted_subclasses=True)
class LogVisitor(metaclass=ABCMeta):
    """Receives each record, in the order of the appends."""

    @abstractmethod
    def record(self, kind: i64, lsn: i64, payload: bytes) -> None:
        """One whole record; `lsn` is the position behind it, as `append` returned it."""

    @abstractmethod
    def progress(self, done_bytes: i64, total_bytes: i64) -> None:
        """Called every few megabytes. The total is an estimate until the last call, where both are equal."""

    def ended(self, end_lsn: i64) -> None:
        """Called at a start when all is read and nothing was changed yet: an exception refuses the start."""
        return


class BlockCursor:
    """Walks the chain of blocks and stops at the first position where there is no valid one.

    Its attributes describe the block at hand, so that walking makes no object per block.
    """

    def __init__(
        self,
        disk: Disk,
        directory: str,
        shape: StreamShape,
        control: ControlState,
        position: i64,
        saved: SavedPage | None = None,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._shape = shape
        self._epoch: Final[i64] = control.epoch
        self._life_start: Final[i64] = control.life_start_lsn
        self._file: File | None = None
        self._extent: i64 = -1
        self._saved = saved
        self._chunk_lsn: i64 = 0
        self.chunk: bytes = b""
        self.position: i64 = position
        """The position of the next block; after `advance` returned False, the position where reading stopped."""
        self.lsn: i64 = position
        self.at: i64 = 0
        """The offset of the current block in `chunk`."""
        self.length: i64 = 0
        self.count: i64 = 0
        self.epoch: i64 = 0
        self.what: str = ""
        """Why there is no valid block at `position`."""
        self.header_is_wrong: bool = False
        self.file_is_missing: bool = False
        self.control_highest: i64 = 0
        """The highest control sequence number in the verified blocks."""

    def advance(self) -> bool:
        """Go to the next block; False when there is no valid one."""
        position = self._shape.block_start(self.position)
        if self._is_block(position):
            self._take(position)
            return True
        what, header_is_wrong = self.what, self.header_is_wrong
        after_page = next_page(position)
        if after_page != position and self._is_block(after_page) and self._starts_life(after_page, position):
            self._take(after_page)
            return True
        self.position, self.what, self.header_is_wrong = position, what, header_is_wrong
        return False

    def _is_block(self, position: i64) -> bool:
        return self._fetch(position, BLOCK_HEADER_BYTES) and self._header_fits(position) and self._is_intact(position)

    def _starts_life(self, position: i64, end: i64) -> bool:
        """Return True when the block at `position` is the first of a life that found the log's end at `end`."""
        at = self._at(position)
        return read_i64_le(self.chunk, at + 40) & LIFE_START != 0 and read_i64_le(self.chunk, at + 32) == end

    def _header_fits(self, position: i64) -> bool:
        chunk = self.chunk
        at = self._at(position)
        if read_i32_le(chunk, at) != BLOCK_MAGIC_NUMBER or read_i64_le(chunk, at + 24) != position:
            self.what = "there is no block of records that belongs here"
            return False
        sizes = read_i64_le(chunk, at + 8)
        if not sizes_are_possible(sizes, self._shape.end_of_extent_at(position) - position):
            self.what = "a block's header is not possible"
            return False
        return True

    def _is_intact(self, position: i64) -> bool:
        at = self._at(position)
        length = read_i64_le(self.chunk, at + 8) & UINT32
        lives = read_i64_le(self.chunk, at + 16)
        epoch = lives & UINT32
        if not self._fetch(position, BLOCK_HEADER_BYTES + length):
            return False
        if not block_passes(self._shape, self.chunk, self._at(position), length):
            self.what = "a block of records fails its checksum"
            return False
        self.control_highest = max(self.control_highest, lives >> 32)
        of_this_life = position >= self._life_start
        if (epoch == self._epoch) != of_this_life or epoch > self._epoch:
            # Written behind the end of an earlier life by that life, and not overwritten since.
            self.what = "the block of records here is left over from before an earlier restart"
            return False
        return True

    def _take(self, position: i64) -> None:
        chunk = self.chunk
        at = self._at(position)
        self.at = at
        self.lsn = position
        sizes = read_i64_le(chunk, at + 8)
        self.length = sizes & UINT32
        self.count = sizes >> 32
        self.epoch = read_i64_le(chunk, at + 16) & UINT32
        end = position + BLOCK_HEADER_BYTES + self.length
        self.position = next_page(end) if read_i64_le(chunk, at + 40) & PADDED else end

    def end(self) -> i64:
        """The position behind the block at hand."""
        return self.lsn + BLOCK_HEADER_BYTES + self.length

    def _at(self, position: i64) -> i64:
        return position - self._chunk_lsn

    def _fetch(self, position: i64, length: i64) -> bool:
        """Read `length` bytes from `position` into the chunk; False, with the reason, when the file is too short."""
        extent = self._shape.extent_of(position)
        if extent != self._extent and not self._open(extent):
            return False
        at = position - self._chunk_lsn
        if at >= 0 and at + length <= len(self.chunk):
            return True
        file = self._file
        assert file is not None
        self.chunk = file.read_at(self._shape.file_offset(position), READ_BYTES)
        self._chunk_lsn = position
        if self._saved is not None:
            self.chunk = self._saved.laid_over(self.chunk, position)
        if len(self.chunk) < length:
            self.what = "the file ends here"
            return False
        return True

    def _open(self, extent: i64) -> bool:
        self.close()
        self.header_is_wrong = True
        path = f"{self._directory}/{extent_name(extent)}"
        self.file_is_missing = not self._disk.exists(path)
        if self.file_is_missing:
            self.what = "the file is missing"
            return False
        file = self._disk.open(path, False)
        self.what = extent_problem(self._shape, extent, file.read_at(0, PAGE_BYTES))
        if self.what:
            file.close()
            return False
        self.header_is_wrong = False
        self._file = file
        self._extent = extent
        return True

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None
        self._extent = -1
        self.chunk = b""

    def damage(self) -> LogDamaged:
        """Return the error that names where and why reading stopped."""
        path = f"{self._directory}/{extent_name(self._shape.extent_of(self.position))}"
        offset = 0 if self.header_is_wrong else self._shape.file_offset(self.position)
        return LogDamaged(path, offset, self.what)


def sizes_are_possible(sizes: i64, space: i64) -> bool:
    """Return True when a block with these length and count fields fits into `space` bytes."""
    length = sizes & UINT32
    return 0 <= (sizes >> 32) * ENTRY_BYTES <= length <= BLOCK_BYTES_MAX and BLOCK_HEADER_BYTES + length <= space


def block_passes(shape: StreamShape, chunk: bytes, at: i64, length: i64) -> bool:
    """Return True when the block at `at`, complete in `chunk`, passes its checksum."""
    checked = memoryview(chunk)[at + 8 : at + BLOCK_HEADER_BYTES + length]
    return zlib.crc32(checked, shape.seed) == read_i64_le(chunk, at + 4) & UINT32


class RecordReader:
    """Extracts records from blocks and passes those behind `from_lsn` and up to `until_lsn` to a visitor."""

    def __init__(self, visitor: LogVisitor, from_lsn: i64, until_lsn: i64) -> None:
        self._visitor = visitor
        self._from_lsn: Final[i64] = from_lsn
        self._until_lsn: Final[i64] = until_lsn
        self._pieces: list[bytes] = []
        self.records: i64 = 0
        self.whole_lsn: i64 = from_lsn
        """The LSN behind the last record that was passed on while one is read in pieces."""

    def read_block(self, cursor: BlockCursor) -> None:
        if not self.read_records(cursor.chunk, cursor.at, cursor.lsn, cursor.length, cursor.count):
            cursor.position = cursor.lsn
            cursor.what = "a record is continued here whose beginning is missing"
            raise cursor.damage()

    def read_records(self, chunk: bytes, at: i64, lsn: i64, length: i64, count: i64) -> bool:
        """Read a block that stands at `at` in a chunk. False: it continues a record whose beginning is missing."""
        visitor = self._visitor
        lsn += BLOCK_HEADER_BYTES
        at += BLOCK_HEADER_BYTES
        table = at + length - count * ENTRY_BYTES
        for _ in range(count):
            entry = read_i64_le(chunk, table)
            length = entry & UINT32
            flags = entry >> 40
            table += ENTRY_BYTES
            lsn += length + ENTRY_BYTES
            if lsn > self._from_lsn and lsn <= self._until_lsn:
                if flags == WHOLE:
                    if self._pieces:
                        self._pieces = []  # of a life that ended in the middle of a record
                    self.records += 1
                    visitor.record((entry >> 32) & 0xFF, lsn, chunk[at : at + length])
                elif not self._read_piece((entry >> 32) & 0xFF, flags, lsn, chunk[at : at + length]):
                    return False
            at += length
        return True

    def _read_piece(self, kind: i64, flags: i64, lsn: i64, piece: bytes) -> bool:
        if flags & FIRST:
            # A life that ended in the middle of a record leaves its first pieces; the next life writes behind them.
            self._pieces = []
            self.whole_lsn = lsn - len(piece) - ENTRY_BYTES
        elif not self._pieces:
            return False
        self._pieces.append(piece)
        if flags & LAST:
            self.records += 1
            payload = b"".join(self._pieces)
            self._pieces = []
            self._visitor.record(kind, lsn, payload)
        return True

    def is_in_record(self) -> bool:
        """Return True when the last block has ended in the middle of a record."""
        return len(self._pieces) > 0


def seek(cursor: BlockCursor, lsn: i64) -> None:
    """Move the cursor before the block with the first byte behind `lsn`, or to the end of the chain."""
    while cursor.advance():
        if cursor.end() > lsn:
            cursor.position = cursor.lsn
            return


def read_blocks(cursor: BlockCursor, reader: RecordReader, visitor: LogVisitor, until_lsn: i64, total: i64) -> None:
    """Read from the cursor's position until a block reaches `until_lsn`, or there is no further one."""
    start = cursor.position
    told = start
    while cursor.position < until_lsn and cursor.advance():
        reader.read_block(cursor)
        if cursor.position - told >= READ_BYTES:
            told = cursor.position
            visitor.progress(told - start, max(total, told - start))
    visitor.progress(cursor.position - start, cursor.position - start)
