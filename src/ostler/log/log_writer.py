"""The writer thread's half of the recovery log: batches to disk, extents ahead of need, the control file.

For one thread at a time, without the owner's lock. What the owner needs (how far the log can reach, where restart
begins) is published as single numbers that only this half sets, after the fact: an owner that still sees the old number
is only more careful than needed.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i64_le
from mypy_extensions import i64

from ostler.log.control_file import ControlFile, ControlState, EndNotes
from ostler.log.errors import LogRefused, LogSpace
from ostler.log.extents import ExtentStore
from ostler.log.metrics import LogMetrics
from ostler.log.page_copy import PageCopy, open_page_copy
from ostler.log.settings import LogManagement, LogType
from ostler.log.shipping import LogShipper
from ostler.log.stream_format import (
    BLOCK_HEADER_BYTES,
    PADDED,
    UINT32,
    Block,
    StreamShape,
    block_image,
    extent_name,
    next_page,
)
from ostler.model.disk import Disk


class Batch:
    """The blocks appended since the last batch, to be written by the writer thread."""

    def __init__(self, blocks: list[Block], end_lsn: i64, durable_lsn: i64, control: i64) -> None:
        self.blocks: Final[list[Block]] = blocks
        self.end_lsn: Final[i64] = end_lsn
        self.durable_lsn: Final[i64] = durable_lsn
        self.control: Final[i64] = control


class BlockImage:
    """A block as it is written, from another copy of the log, with its padding."""

    def __init__(self, lsn: i64, data: bytes) -> None:
        self.lsn: Final[i64] = lsn
        self.data: Final[bytes] = data

    def block_bytes(self) -> i64:
        """Return the size without the padding."""
        return BLOCK_HEADER_BYTES + (read_i64_le(self.data, 8) & UINT32)


class LogWriter:
    """Methods are for the writer thread only. Attributes may be read by any thread."""

    def __init__(
        self,
        shape: StreamShape,
        control: ControlFile,
        store: ExtentStore,
        metrics: LogMetrics,
        end_lsn: i64,
        notes: EndNotes,
        page_copy: PageCopy | None,
    ) -> None:
        self._shape = shape
        self._control = control
        self._notes = notes
        self._page_copy = page_copy
        self._noted_extent: i64 = control.state.last_extent
        self._store = store
        self._metrics = metrics
        settings = control.state.settings
        self._primary_files: Final[int] = settings.primary_files
        self._capacity_extents: Final[int] = settings.primary_files + settings.secondary_files
        self._primary_bytes: Final[i64] = settings.primary_files * shape.payload_bytes
        self.forced_lsn: i64 = end_lsn
        """All up to here is on stable storage here."""
        self.group_lsn: i64 = end_lsn
        """All up to here is on enough copies: nothing but the log itself may speak of a later LSN. Without copies it is
        what is forced here."""
        self.position: i64 = end_lsn
        """The end of the chain of blocks that are forced here: the next one begins there, or at the next page."""
        self.shipper: LogShipper | None = None
        """Takes the blocks for other copies."""
        self.keep_extents: i64 = 0
        """So many extents before the current one are kept for copies that are behind."""
        self.is_follower: bool = False
        """Another copy leads: it says what the group LSN is, and how many extents there are is up to the disk only."""
        self._granted_extents: i64 = 0  # those before this one may exist, whatever the settings allow
        self.restart_lsn: i64 = control.state.restart_lsn
        self.restart_extent: i64 = shape.extent_of(control.state.restart_lsn)
        self.checkpoint_lsn: i64 = control.state.checkpoint_lsn
        self.media_lsn: i64 = control.state.media_lsn
        self.archived_extent: i64 = control.state.archived_extent
        self.control_sequence: i64 = control.state.sequence
        self.reachable_end: i64 = 0
        """The end of the last extent that exists, or can be created for certain."""
        self.may_grow: bool = True
        """New extents may be created. Cleared by a checkpoint while it needs the disk space."""
        self._is_stalled: bool = False
        self.allocated_extents: i64 = 0
        self.reusable_extents: i64 = 0
        self._publish_reach()

    def write_batch(self, batch: Batch) -> None:
        """Write and force a batch.

        Raises LogSpace when there is no extent for it: nothing is lost, keep the batch and write it again when a
        checkpoint or the operator has made space. After DiskFailed the contents of the disk are unknown, and the
        process must end.
        """
        self._allocate_through(self._shape.extent_of(batch.blocks[-1].lsn))
        epoch = self._control.state.epoch
        size: i64 = 0
        copied: i64 = 0
        page_copy = self._page_copy
        if page_copy is not None:
            copied = page_copy.save_before(batch.blocks[0].lsn)
        shipper = self.shipper
        position: i64 = self.position
        for block in batch.blocks:
            image = block_image(self._shape, block, epoch, batch.control, batch.durable_lsn)
            if shipper is not None:
                shipper.offer(position, image)
                end = next_page(block.end()) if block.flags & PADDED else block.end()
                position = self._shape.block_start(end)
            self._store.write(block.lsn, image)
            size += len(image[0]) + len(image[1]) + len(image[2])
            if page_copy is not None:
                page_copy.note_block(block.lsn, image)
        last = batch.blocks[-1]
        end = next_page(last.end()) if last.flags & PADDED else last.end()
        self._force(size, batch.end_lsn, self._shape.block_start(end))
        if copied > 0:
            self._metrics.count_page_copy(copied)

    def write_images(self, images: list[BlockImage], position: i64) -> None:
        """Write and force blocks of another copy's log, which end at `position`. Errors are those of `write_batch`."""
        self._allocate_through(self._shape.extent_of(images[-1].lsn))
        page_copy = self._page_copy
        if page_copy is not None:
            page_copy.save_before(images[0].lsn)
        size: i64 = 0
        for image in images:
            self._store.write(image.lsn, [image.data])
            size += len(image.data)
            if page_copy is not None:
                page_copy.note_block(image.lsn, [image.data])
        self._force(size, position, position)

    def _force(self, size: i64, end_lsn: i64, position: i64) -> None:
        forces = self._store.force()
        if self._page_copy is not None:
            self._page_copy.batch_forced()
        self.forced_lsn = end_lsn
        self.position = position
        if self.shipper is None and not self.is_follower:
            self.group_lsn = end_lsn
        if end_lsn + self._shape.payload_bytes > self._shape.start_of(self._store.last + 1):
            self._publish_reach()  # the space counted on may have been used up
        self._metrics.count_write(size, forces)

    def go_back(self, disk: Disk, active: str, lsn: i64) -> None:
        """The log ends at a position of its chain now: a life begins there, and what stands behind it is void."""
        assert self.group_lsn <= lsn <= self.position
        self.forced_lsn = lsn
        self.position = lsn
        if self._page_copy is not None:
            self._page_copy.close()
            self._page_copy = open_page_copy(disk, active, self._shape, lsn)

    def begin_leading(self) -> None:
        """Write a log of one's own, behind the blocks of other leaders.

        A follower's log grows with its leader's, and may be longer than the settings allow. A checkpoint frees it, but
        needs some log first: there is as much as a new log has.
        """
        self.is_follower = False
        self._granted_extents = self._shape.extent_of(self.position) + 1 + self._primary_files
        self._publish_reach()

    def _extents_end(self) -> i64:
        """Return the first extent that may not exist."""
        return max(self.restart_extent + self._capacity_extents, self._granted_extents)

    def _allocate_through(self, extent: i64) -> None:
        while self._store.last < extent:
            is_over: bool = self._store.last + 1 >= self._extents_end()
            if is_over and not self.is_follower:
                raise LogSpace("The log is full: all primary and secondary extents are needed for restart.")
            self._store.allocate()
            self._publish_reach()
        if self._store.last > self._noted_extent:
            self._note_extents()

    def _note_extents(self) -> None:
        """Note which extents exist before the first batch goes into a new one, so that a missing one is detected."""
        state = self._control.state
        state.last_extent = self._store.last
        state.durable_lsn = self.group_lsn
        self._control.write()
        self._noted_extent = state.last_extent
        self.control_sequence = state.sequence

    def identity(self) -> bytes:
        """Return the identity of the log, which all its copies have."""
        return self._control.state.identity

    def epoch(self) -> int:
        """Return the life of the log that is written."""
        return self._control.state.epoch

    def has_new_end(self) -> bool:
        """Return True when the log is durable beyond the end that both notes record."""
        return self._notes.is_due(self.group_lsn)

    def note_end(self) -> None:
        """Note the current durable LSN in the older copy. Durable on return.

        Unlike the other methods this may be called by another thread while a batch is written, one thread at a time:
        it shares no data with the writer. A full disk is not an error: the last note remains valid.
        """
        try:
            self._notes.write(self.group_lsn)
        except LogSpace:
            return

    def allocate_ahead(self) -> bool:
        """Take one bounded step of preparing extents; return True when there is more to do.

        Call it after each batch, again while it returns True and nothing waits to be written, and periodically when
        idle, so that new disk space is noticed. A full disk is not an error here: `room_bytes` shrinks.
        """
        store = self._store
        wanted = self._wanted_last()
        self._is_stalled = True
        if store.last < wanted:
            if not store.spare and not self.may_grow:
                return False
            if not store.spare and not store.is_preparing() and store.allocatable() == 0:
                self._publish_reach()
                return False
            try:
                store.allocate_step(True)
                if store.last > self._noted_extent:
                    self._note_extents()
            except LogSpace:
                self._publish_reach()
                return False
        elif store.spare:
            store.remove_spare()
        self._is_stalled = False
        self._publish_reach()
        return store.last < wanted or len(store.spare) > 0

    def wants_extent(self) -> bool:
        """Return True when `allocate_ahead` should be called soon: an extent is needed and the disk may have space."""
        return not self._is_stalled and self._store.last < self._wanted_last()

    def _wanted_last(self) -> i64:
        """Return the last extent to prepare: all primary ones; a secondary one when the last extent is half full.

        When only existing extents count as room, it is made sooner: when half of them all are full.
        """
        last: i64 = self._store.last
        wanted = max(last, self.restart_extent + self._primary_files - 1)
        half_full: i64 = self._shape.start_of(last) + self._shape.payload_bytes // 2
        if self.reachable_end <= self._shape.start_of(last + 1):
            start: i64 = self._shape.start_of(self.restart_extent)
            half_full = start + (self.reachable_end - start) // 2
        if wanted == last and self.forced_lsn > half_full:
            wanted = last + 1
        return min(wanted, self._extents_end() - 1)

    def _publish_reach(self) -> None:
        store = self._store
        obtainable = store.last + 1 + len(store.spare) + store.allocatable_for_certain()
        # Existing extents count even when the settings now allow fewer.
        reach = max(store.last + 1, min(obtainable, self._extents_end()))
        self.reachable_end = self._shape.start_of(reach)
        self.allocated_extents = store.last - store.first + 1 + len(store.spare)
        self.reusable_extents = len(store.spare)

    def note_checkpoint(self, restart_lsn: i64, checkpoint_lsn: i64, number: i64) -> None:
        """Checkpoint `number` is complete: from now on a restart replays only the records behind `restart_lsn`.

        Both are LSNs behind a durable record. Durable on return; extents no longer needed are released after that.
        """
        state = self._control.state
        assert state.restart_lsn <= restart_lsn <= checkpoint_lsn <= self.group_lsn <= self.forced_lsn
        in_use = self.forced_lsn - self._shape.start_of(self.restart_extent)
        self._metrics.count_checkpoint(in_use * 100 // self._primary_bytes)
        state.restart_lsn = restart_lsn
        state.checkpoint_lsn = checkpoint_lsn
        state.checkpoint_number = number
        self._write_control()

    def set_media_lsn(self, lsn: i64) -> None:
        """Linear log: media recovery needs only the records behind `lsn`. Durable on return."""
        state = self._control.state
        assert state.media_lsn <= lsn <= self.group_lsn
        state.media_lsn = lsn
        self._write_control()

    def set_archived(self, extent: int) -> None:
        """LogManagement Archive: extents up to this one have been copied elsewhere. Durable on return."""
        state = self._control.state
        if not state.archived_extent < extent < self._shape.extent_of(self.group_lsn):
            raise LogRefused(f"Extent {extent_name(extent)} is the current one, not there yet, or archived already.")
        state.archived_extent = extent
        self._write_control()

    def _write_control(self) -> None:
        state = self._control.state
        state.durable_lsn = self.group_lsn
        state.last_extent = self._store.last
        state.oldest_extent = max(state.oldest_extent, oldest_needed(self._shape, state))
        self._control.write()
        self._noted_extent = state.last_extent
        self.control_sequence = state.sequence
        self.checkpoint_lsn = state.checkpoint_lsn
        self.media_lsn = state.media_lsn
        self.archived_extent = state.archived_extent
        reusable = reusable_before(state)
        if self.keep_extents > 0:
            reusable = min(reusable, self._shape.extent_of(self.forced_lsn) - self.keep_extents)
        self._store.release(state.oldest_extent, reusable)
        self.restart_lsn = state.restart_lsn
        self.restart_extent = self._shape.extent_of(state.restart_lsn)
        self._publish_reach()

    def extents_not_needed(self) -> list[str]:
        """Return the kept files that neither restart nor media recovery needs, oldest first."""
        return [extent_name(extent) for extent in self._store.kept()]

    def close(self) -> None:
        """With nothing pending: note the durable end and close the files."""
        self._write_control()
        self.abandon()

    def abandon(self) -> None:
        """Close the files of a log that is given up, whatever is in it."""
        self._store.close()
        self._control.close()
        if self._page_copy is not None:
            self._page_copy.close()


def oldest_needed(shape: StreamShape, state: ControlState) -> int:
    """Return the oldest extent that restart, or media recovery from a linear log, needs."""
    lsn = state.restart_lsn
    if state.settings.log_type is LogType.LINEAR:
        lsn = min(lsn, state.media_lsn)
    return shape.extent_of(lsn)


def reusable_before(state: ControlState) -> int:
    """Return the extent before which all may be reused."""
    if state.settings.log_type is LogType.LINEAR:
        if state.settings.management is LogManagement.MANUAL:
            return 0
        if state.settings.management is LogManagement.ARCHIVE:
            return min(state.oldest_extent, state.archived_extent + 1)
    return state.oldest_extent
