"""The end of the log: it tells a torn last write from damage.

Reading stops at the first position without a valid block. There are two cases:

- A write was incomplete when the machine stopped, and was not acknowledged as durable. The log ends there, and the
  number of dropped bytes is reported.
- Durable records are missing. Every block names the LSN that was durable when it was written, and so do the control
  file and its notes; when one of them is behind the stop, durable records are lost, and the log is refused.

A block that was forced after the last note, with no block behind it, cannot be distinguished from a torn write when it
is damaged, nor from space that was never written when it is wiped to zeros.

Leftovers of earlier lives do no harm: all that a life found durable ends before the position where the next life began
to write, and no stop is before that unless there is damage.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_le, read_i64_le
from mypy_extensions import i64

from ostler.log.control_file import ControlState
from ostler.log.extents import numbers_on_disk
from ostler.log.reader import READ_BYTES, BlockCursor, block_passes, sizes_are_possible
from ostler.log.stream_format import (
    BLOCK_BYTES_MAX,
    BLOCK_HEADER_BYTES,
    BLOCK_MAGIC,
    BLOCK_MAGIC_NUMBER,
    UINT32,
    StreamShape,
    extent_name,
)
from ostler.model.disk import Disk, File

# Every byte of this much is searched behind the stop: more than the buffer and the longest message, so that the batch
# after a damaged one is found. Of extents further on only the first block is looked at: one that the stream has
# reached begins with a block. So a large log does not make restart slow.
SEARCH_BYTES: Final = 128 << 20


class LogEndExaminer:
    """Searches for blocks behind the position where reading stopped."""

    def __init__(self, disk: Disk, active: str, shape: StreamShape, control: ControlState) -> None:
        self._disk = disk
        self._active = active
        self._shape = shape
        self._control = control
        self._stop: i64 = 0
        self._furthest: i64 = 0
        # Most of the space behind the end was never written. Comparing with zeros is many times faster than searching.
        self._zeros: bytes = b""

    def dropped_bytes(self, cursor: BlockCursor) -> int:
        """Return the bytes of incomplete writes behind the cursor's stop. Raises LogDamaged when it is not the end."""
        self._stop = cursor.position
        self._furthest = cursor.position
        if self._control.durable_lsn > self._stop or (cursor.header_is_wrong and not cursor.file_is_missing):
            raise cursor.damage()
        self._zeros = bytes(READ_BYTES)
        stop_extent = self._shape.extent_of(self._stop)
        for extent in numbers_on_disk(self._disk, self._active):
            if extent >= stop_extent:
                self._search_extent(extent, cursor)
        self._zeros = b""
        if self._furthest == self._stop:
            self._examine_stop(cursor)
        return int(self._furthest - self._stop)

    def _examine_stop(self, cursor: BlockCursor) -> None:
        """Count a block whose header is damaged in one field: the others show that this life wrote it here.

        A block left from earlier use of the extent names another position; one of an earlier life another epoch.
        """
        path = f"{self._active}/{extent_name(self._shape.extent_of(self._stop))}"
        if cursor.file_is_missing or not self._disk.exists(path):
            return
        file = self._disk.open(path, False)
        header = file.read_at(self._shape.file_offset(self._stop), BLOCK_HEADER_BYTES)
        file.close()
        if len(header) < BLOCK_HEADER_BYTES or header == bytes(BLOCK_HEADER_BYTES):
            return
        epoch = read_i64_le(header, 16) & UINT32
        durable = cursor.end() if cursor.count > 0 else self._control.life_start_lsn
        is_block: bool = read_i32_le(header, 0) == BLOCK_MAGIC_NUMBER
        is_here: bool = read_i64_le(header, 24) == self._stop
        is_next: bool = read_i64_le(header, 32) == durable
        if epoch == self._control.epoch:
            was_written = (is_block and (is_here or is_next)) or (is_here and is_next)
        else:
            was_written = epoch > self._control.epoch and is_block and is_here and is_next
        if was_written:
            sizes = read_i64_le(header, 8)
            space = self._shape.end_of_extent_at(self._stop) - self._stop
            length = sizes & UINT32 if sizes_are_possible(sizes, space) else 0
            self._furthest = self._stop + BLOCK_HEADER_BYTES + length

    def _search_extent(self, extent: i64, cursor: BlockCursor) -> None:
        start = max(self._stop, self._shape.start_of(extent))
        end = self._shape.start_of(extent + 1)
        searched = self._stop + SEARCH_BYTES
        if start > searched:
            end = start + BLOCK_HEADER_BYTES + BLOCK_BYTES_MAX
            searched = end
        file = self._disk.open(f"{self._active}/{extent_name(extent)}", False)
        while start < min(end, searched):
            # Reads overlap by one block, so that each block is whole in one of them.
            chunk = file.read_at(self._shape.file_offset(start), READ_BYTES)
            if chunk != (self._zeros if len(chunk) == READ_BYTES else bytes(len(chunk))):
                self._search_chunk(chunk, start, end, cursor)
            start += READ_BYTES - BLOCK_HEADER_BYTES - BLOCK_BYTES_MAX
        file.close()

    def _search_chunk(self, chunk: bytes, start: i64, end: i64, cursor: BlockCursor) -> None:
        at: i64 = chunk.find(BLOCK_MAGIC)
        while at >= 0:
            if at % 8 == 0 and at + BLOCK_HEADER_BYTES <= len(chunk) and read_i64_le(chunk, at + 24) == start + at:
                self._examine_candidate(chunk, at, start + at, end, cursor)
            at = chunk.find(BLOCK_MAGIC, at + 1)

    def _examine_candidate(self, chunk: bytes, at: i64, lsn: i64, end: i64, cursor: BlockCursor) -> None:
        sizes = read_i64_le(chunk, at + 8)
        if not sizes_are_possible(sizes, end - lsn):
            return
        length = sizes & UINT32
        epoch = read_i64_le(chunk, at + 16) & UINT32
        if epoch == self._control.epoch:
            self._furthest = max(self._furthest, lsn + BLOCK_HEADER_BYTES + length)
        elif epoch < self._control.epoch and lsn >= self._control.life_start_lsn:
            return  # void: the life before may have begun behind the place where this one did, on another copy
        complete = at + BLOCK_HEADER_BYTES + length <= len(chunk)
        if not complete or not block_passes(self._shape, chunk, at, length):
            return
        if read_i64_le(chunk, at + 32) > self._stop:
            raise cursor.damage()


def force_extents(disk: Disk, active: str, first: int, last: int) -> None:
    """Force data that an earlier process may have written but not forced: it was read, so it must be durable now."""
    for extent in range(first, last + 1):
        path = f"{active}/{extent_name(extent)}"
        if disk.exists(path):
            file: File = disk.open(path, False)
            file.force()
            file.close()
    disk.force_directory(active)
