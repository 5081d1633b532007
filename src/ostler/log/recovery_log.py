"""The recovery log while the queue manager runs.

Two parties share it. The owner appends under its own lock and never waits for the disk: `RecoveryLog`. One writer
thread takes all that was appended as a batch, under the lock, writes and forces it without the lock (`LogWriter`), and
marks it durable under the lock. So one force serves all that wait (group commit):

    with lock:  batch = log.take_batch()
    log.writer.write_batch(batch)
    with lock:  log.batch_durable(batch)
    log.writer.allocate_ahead()

A log with copies (`replicate`) is durable when enough copies have forced it, and then only: `durable_lsn` is the group
LSN. The next batch may be taken when the last one is forced here, so several may be under way to the copies.

No thread and no lock is created here.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64

from ostler.log.control_file import ControlState
from ostler.log.log_writer import Batch, LogWriter
from ostler.log.metrics import LogMetrics, LogStatus, RestartReport
from ostler.log.reader import BlockCursor, LogVisitor, RecordReader, read_blocks, seek
from ostler.log.settings import LogManagement, LogSettings, LogType
from ostler.log.shipping import LogShipper
from ostler.log.stream_format import (
    BLOCK_BYTES_MAX,
    BLOCK_BYTES_MIN,
    BLOCK_HEADER_BYTES,
    ENTRY_BYTES,
    FIRST,
    LAST,
    LIFE_START,
    PADDED,
    PAGE_BYTES,
    RECORD_BYTES_MAX,
    WHOLE,
    Block,
    StreamShape,
    extent_name,
    next_page,
)
from ostler.model.disk import Disk
from ostler.model.journal import Journal

# Room for a few batches of back-outs and a checkpoint even in the smallest log.
RESERVE_BYTES_MIN: Final = 4 * PAGE_BYTES


class RecoveryLog(Journal):
    """An open log, made by `RestartableLog.replay` only. Call every method with the owner's lock held."""

    def __init__(
        self,
        disk: Disk,
        active: str,
        shape: StreamShape,
        control: ControlState,
        writer: LogWriter,
        metrics: LogMetrics,
        report: RestartReport,
    ) -> None:
        self._disk = disk
        self._active = active
        self._shape = shape
        self._control = control
        self.writer: Final[LogWriter] = writer
        """The writer thread's half, called without the lock."""
        self.settings: Final[LogSettings] = control.settings
        self.metrics: Final[LogMetrics] = metrics
        self.restart_report: Final[RestartReport] = report
        settings = control.settings
        self._pages_are_final: Final[bool] = settings.pages_are_final()
        self._buffer_bytes: Final[i64] = settings.buffer_bytes()
        self._primary_bytes: Final[i64] = settings.primary_files * shape.payload_bytes
        capacity: i64 = (settings.primary_files + settings.secondary_files) * shape.payload_bytes
        self._capacity_bytes: Final[i64] = capacity
        self._reserve_bytes: Final[i64] = max(next_page(capacity // 16), RESERVE_BYTES_MIN)
        self._end: i64 = report.end_lsn
        self._next: i64 = next_page(report.end_lsn) if self._pages_are_final else report.end_lsn
        self._is_first_batch: bool = True
        self._forced: i64 = report.end_lsn
        self._durable: i64 = report.end_lsn
        self._is_replicated: bool = False
        self._batch_ends: list[int] = []  # with copies: forced here, and not durable yet
        # The block being filled, with a limit of 0 when there is none, and those closed since the last batch.
        self._blocks: list[Block] = []
        self._block_lsn: i64 = 0
        self._block_limit: i64 = 0
        self._parts: list[bytes | memoryview] = []
        self._table: BytesWriter = BytesWriter()

    # -- appending

    def append(self, kind: i64, head: bytes, descriptor: bytes, body: bytes) -> i64:
        """Append one record in memory and return the LSN behind it. `kind` is 0 to 255.

        Never refuses: the caller has checked `room_bytes` before. The bytes are not copied.
        """
        assert 0 <= kind <= 255
        length: i64 = len(head) + len(descriptor) + len(body)
        end: i64 = self._end + ENTRY_BYTES + length
        if end > self._block_limit:
            return self._append_in_pieces(kind, [head, descriptor, body], length)
        parts = self._parts
        if head:
            parts.append(head)
        if descriptor:
            parts.append(descriptor)
        if body:
            parts.append(body)
        write_i64_le(self._table, length | (kind << 32) | (WHOLE << 40))
        self._end = end
        self.metrics.records += 1
        self.metrics.logical_bytes += length
        return end

    def _append_in_pieces(self, kind: i64, sources: list[bytes], length: i64) -> i64:
        """Append a record that needs a new block, or several."""
        assert length <= RECORD_BYTES_MAX, "a record longer than any message can be"
        views = [memoryview(source) for source in sources if source]
        missing = length
        flags: i64 = FIRST
        while True:
            if self._end + ENTRY_BYTES + min(missing, 1) > self._block_limit:
                self._close_block()
                self._open_block()
            piece = min(missing, self._block_limit - self._end - ENTRY_BYTES)
            self._move(views, piece)
            missing -= piece
            if missing == 0:
                flags |= LAST
            write_i64_le(self._table, piece | (kind << 32) | (flags << 40))
            self._end += ENTRY_BYTES + piece
            if missing == 0:
                break
            flags = 0
        self.metrics.records += 1
        self.metrics.logical_bytes += length
        return self._end

    def _move(self, views: list[memoryview], length: i64) -> None:
        """Take `length` bytes off the front of the views and make them parts of the open block."""
        while length > 0:
            view = views[0]
            if len(view) <= length:
                self._parts.append(view)
                views.pop(0)
            else:
                self._parts.append(view[:length])
                views[0] = view[length:]
            length -= min(len(view), length)

    def _open_block(self) -> None:
        start = self._shape.block_start(self._next)
        self._block_lsn = start
        self._block_limit = min(start + BLOCK_BYTES_MAX, self._shape.end_of_extent_at(start))
        self._end = start + BLOCK_HEADER_BYTES

    def _close_block(self) -> None:
        if self._block_limit == 0:
            return
        length = self._end - self._block_lsn - BLOCK_HEADER_BYTES
        self._blocks.append(Block(self._block_lsn, self._parts, self._table.getvalue(), length))
        self._parts = []
        self._table = BytesWriter()
        self._next = self._end
        self._block_limit = 0

    def end_lsn(self) -> i64:
        return self._end

    def durable_lsn(self) -> i64:
        return self._durable

    def forced_lsn(self) -> i64:
        """Return the LSN up to which all records are on stable storage here. Without copies that is `durable_lsn`."""
        return self._forced

    def room_bytes(self) -> i64:
        """Return the payload bytes that ordinary records may still take, a conservative estimate.

        Counts extents on disk, and those that the disk had space for when the writer last checked. The reserve lets
        back-outs, checkpoints and gets go on when this is 0; see `reserve_room_bytes`.
        """
        return self._payload_room(self.writer.reachable_end - self._reserve_bytes)

    def reserve_room_bytes(self) -> i64:
        """As `room_bytes`, with the reserve. Nothing may be appended beyond this."""
        return self._payload_room(self.writer.reachable_end)

    def reserve_bytes(self) -> i64:
        return self.reserve_room_bytes()

    def _payload_room(self, limit: i64) -> i64:
        # Less the headers of the blocks of a record and the ends of extents. Without the padding of the last page: the
        # limit is at the end of a page.
        space = limit - max(self._next, self._end)
        return max(0, space - space // 64 - 4 * BLOCK_BYTES_MIN)

    # -- state for the writer

    def buffer_is_full(self) -> bool:
        """Return True when LogBufferPages are appended and not durable: let the writer catch up first."""
        return self._end - self._durable >= self._buffer_bytes

    def needs_checkpoint(self) -> bool:
        """Return True when a quarter of the primary space was written since the last checkpoint."""
        return self._end - self.writer.checkpoint_lsn >= self._primary_bytes // 4

    def is_filling(self) -> bool:
        """Return True when ordinary records use three quarters of their space: back out the oldest unit of work."""
        start = self._shape.start_of(self.writer.restart_extent)
        return (self._end - start) * 4 >= (self.writer.reachable_end - self._reserve_bytes - start) * 3

    def space_used_fraction(self) -> float:
        """Return the use of primary and secondary extents, from the restart extent on."""
        used = self._end - self._shape.start_of(self.writer.restart_extent)
        return float(used) / float(self._capacity_bytes)

    def take_batch(self) -> Batch | None:
        """Hand everything appended so far to the writer; None when there is nothing.

        One batch at a time: the next is taken when the last one was reported by `batch_durable`.
        """
        self._close_block()
        blocks = self._blocks
        if not blocks:
            return None
        if self._is_first_batch:
            blocks[0].flags = LIFE_START
            self._is_first_batch = False
        if self._pages_are_final:
            blocks[-1].flags |= PADDED
            self._next = next_page(self._next)
        self._blocks = []
        # The first block of a life names the end of the life before. Every copy has forced all up to there before it
        # writes that block. Other blocks name the group LSN, which is true at every copy that is not catching up.
        durable: i64 = self.restart_report.end_lsn if blocks[0].flags & LIFE_START else self._durable
        return Batch(blocks, self._end, durable, self.writer.control_sequence)

    def batch_durable(self, batch: Batch) -> None:
        """Mark a batch that the writer has forced. Without copies it is durable."""
        assert self._forced < batch.end_lsn <= self.writer.forced_lsn
        self._forced = batch.end_lsn
        if self._is_replicated:
            self._batch_ends.append(batch.end_lsn)
        else:
            self._durable = batch.end_lsn

    def replicate(self, shipper: LogShipper, group_lsn: i64) -> None:
        """From now on this log is one of several copies. `group_lsn` is what enough of them are known to have.

        Call it before anything is appended.
        """
        assert group_lsn <= self._durable
        assert self._end == self._forced
        self._is_replicated = True
        self._durable = group_lsn
        self._batch_ends = [self._forced]
        self.writer.shipper = shipper
        self.writer.group_lsn = group_lsn

    def group_durable(self, lsn: i64) -> None:
        """Enough copies have forced all up to an LSN, this one among them. It never goes back.

        Copies force some blocks of a batch before others. Durable is the end of a batch, which no record crosses.
        """
        assert self._is_replicated
        assert lsn <= self._forced
        ends = self._batch_ends
        count = 0
        while count < len(ends) and ends[count] <= lsn:
            count += 1
        if count > 0:
            self._durable = max(self._durable, i64(ends[count - 1]))
            self.writer.group_lsn = self._durable
            self._batch_ends = ends[count:]

    # -- status and media recovery

    def status(self) -> LogStatus:
        shape = self._shape
        writer = self.writer
        end = self._end
        linear = self.settings.log_type is LogType.LINEAR
        archiving = linear and self.settings.management is LogManagement.ARCHIVE
        media_extent = shape.extent_of(writer.media_lsn)
        restart_bytes = end - shape.start_of(writer.restart_extent)
        return LogStatus(
            current_extent=extent_name(shape.extent_of(end)),
            restart_extent=extent_name(writer.restart_extent),
            media_extent=extent_name(media_extent) if linear else "",
            archive_extent=extent_name(writer.archived_extent + 1) if archiving else "",
            extent_bytes=shape.file_bytes,
            restart_bytes=restart_bytes,
            media_bytes=end - shape.start_of(media_extent) if linear else 0,
            reusable_bytes=writer.reusable_extents * shape.file_bytes,
            archive_bytes=self._archive_bytes(end) if archiving else 0,
            in_use_percent=restart_bytes * 100 // self._primary_bytes,
            utilisation_percent=self.metrics.utilisation_percent,
            active_extents=shape.extent_of(end) - writer.restart_extent + 1,
            allocated_extents=writer.allocated_extents,
            capacity_bytes=self._capacity_bytes,
        )

    def _archive_bytes(self, end: i64) -> int:
        """Return the size of the full extents that wait for archiving."""
        waiting = self._shape.extent_of(end) - self.writer.archived_extent - 1
        return max(0, waiting) * self._shape.file_bytes

    def extent_holding(self, lsn: i64) -> str:
        """Return the name of the extent that holds an LSN."""
        return extent_name(self._shape.extent_of(lsn))

    def read_from(self, lsn: i64, visitor: LogVisitor, until_lsn: i64) -> None:
        """Pass the records behind `lsn`, up to `until_lsn`, to a visitor. Needs no lock while the media LSN stays.

        Both are LSNs behind a durable record. Raises LogDamaged when one of the extents is missing or damaged.
        """
        shape = self._shape
        start = shape.start_of(shape.extent_of(lsn))
        cursor = BlockCursor(self._disk, self._active, shape, self._control, start)
        try:
            seek(cursor, lsn)
            read_blocks(cursor, RecordReader(visitor, lsn, until_lsn), visitor, until_lsn, until_lsn - lsn)
        finally:
            cursor.close()
        if cursor.position < until_lsn:
            raise cursor.damage()
