"""The writer thread's half of the recovery log: batches to disk, extents ahead of need, the control file.

One thread at a time calls in here, without the owner's lock. What the owner needs to know (how far the log can reach,
where restart begins) is published as single numbers that only this half sets, and after the fact: an owner who still
sees the old number is only more careful than needed.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.log.control_file import ControlFile, ControlState, EndNotes
from ostler.log.errors import LogRefused, LogSpace
from ostler.log.extents import ExtentStore
from ostler.log.metrics import LogMetrics
from ostler.log.settings import LogManagement, LogType
from ostler.log.stream_format import Block, StreamShape, block_image, extent_name


class Batch:
    """All that was appended since the last batch, on its way through the writer thread."""

    def __init__(self, blocks: list[Block], end_lsn: i64, durable_lsn: i64, control: i64) -> None:
        self.blocks: Final[list[Block]] = blocks
        self.end_lsn: Final[i64] = end_lsn
        self.durable_lsn: Final[i64] = durable_lsn
        self.control: Final[i64] = control


class LogWriter:
    """What only the writer thread may call. Attributes may be read by anybody."""

    def __init__(
        self,
        shape: StreamShape,
        control: ControlFile,
        store: ExtentStore,
        metrics: LogMetrics,
        end_lsn: i64,
        notes: EndNotes,
    ) -> None:
        self._shape = shape
        self._control = control
        self._notes = notes
        self._noted_extent: i64 = control.state.last_extent
        self._store = store
        self._metrics = metrics
        settings = control.state.settings
        self._primary_files: Final[int] = settings.primary_files
        self._capacity_extents: Final[int] = settings.primary_files + settings.secondary_files
        self._primary_bytes: Final[i64] = settings.primary_files * shape.payload_bytes
        self.forced_lsn: i64 = end_lsn
        self.restart_lsn: i64 = control.state.restart_lsn
        self.restart_extent: i64 = shape.extent_of(control.state.restart_lsn)
        self.checkpoint_lsn: i64 = control.state.checkpoint_lsn
        self.media_lsn: i64 = control.state.media_lsn
        self.archived_extent: i64 = control.state.archived_extent
        self.control_sequence: i64 = control.state.sequence
        self.reachable_end: i64 = 0
        """The end of the last extent that is there, or can be had for certain."""
        self.may_grow: bool = True
        """Whether extents may be made that are not there yet. Set by others, while space is wanted elsewhere."""
        self._is_stalled: bool = False
        self.allocated_extents: i64 = 0
        self.reusable_extents: i64 = 0
        self._publish_reach()

    def write_batch(self, batch: Batch) -> None:
        """Write and force a batch.

        Raises LogSpace when there is no extent for it: nothing is lost, keep the batch and write it again when a
        checkpoint or a roomier disk has made space. DiskFailed: what is on the disk is unknown, the process must end.
        """
        self._allocate_through(self._shape.extent_of(batch.blocks[-1].lsn))
        epoch = self._control.state.epoch
        size: i64 = 0
        for block in batch.blocks:
            image = block_image(self._shape, block, epoch, batch.control, batch.durable_lsn)
            self._store.write(block.lsn, image)
            size += len(image[0]) + len(image[1]) + len(image[2])
        forces = self._store.force()
        self.forced_lsn = batch.end_lsn
        if batch.end_lsn + self._shape.payload_bytes > self._shape.start_of(self._store.last + 1):
            self._publish_reach()  # what was counted on may have been taken by others
        self._metrics.count_write(size, forces)

    def _allocate_through(self, extent: i64) -> None:
        while self._store.last < extent:
            if self._store.last + 1 >= self.restart_extent + self._capacity_extents:
                raise LogSpace("The log is full: all primary and secondary extents are needed for restart.")
            self._store.allocate()
            self._publish_reach()
        if self._store.last > self._noted_extent:
            self._note_extents()

    def _note_extents(self) -> None:
        """Note which extents there are, before the first batch goes into a new one: none may vanish unseen."""
        state = self._control.state
        state.last_extent = self._store.last
        state.durable_lsn = self.forced_lsn
        self._control.write()
        self._noted_extent = state.last_extent
        self.control_sequence = state.sequence

    def end_is_to_note(self) -> bool:
        """Whether the log is durable further than both copies of the note of its end say."""
        return self._notes.is_due(self.forced_lsn)

    def note_end(self) -> None:
        """Note how far the log is durable now, in the older copy. Durable on return.

        Unlike all else here another thread may call this while a batch is being written: it touches nothing that the
        writer of the log does. One thread at a time. A full disk is no error: the last note goes on to count.
        """
        try:
            self._notes.write(self.forced_lsn)
        except LogSpace:
            return

    def allocate_ahead(self) -> bool:
        """One bounded step of extent keeping; True when there is more to do.

        Call it after each batch, again while it says True and nothing waits to be written, and now and then when
        idle, so that a disk that has space again is noticed. A full disk is no error here: `room_bytes` shrinks.
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
        """Whether `allocate_ahead` should be called soon: an extent is wanted that the disk may have space for."""
        return not self._is_stalled and self._store.last < self._wanted_last()

    def _wanted_last(self) -> i64:
        """Primary extents are always there; a secondary one is made when the last extent is half full.

        When only those that are there count as room, it is made sooner: when half of them all are full.
        """
        last: i64 = self._store.last
        wanted = max(last, self.restart_extent + self._primary_files - 1)
        half_full: i64 = self._shape.start_of(last) + self._shape.payload_bytes // 2
        if self.reachable_end <= self._shape.start_of(last + 1):
            start: i64 = self._shape.start_of(self.restart_extent)
            half_full = start + (self.reachable_end - start) // 2
        if wanted == last and self.forced_lsn > half_full:
            wanted = last + 1
        return min(wanted, self.restart_extent + self._capacity_extents - 1)

    def _publish_reach(self) -> None:
        store = self._store
        obtainable = store.last + 1 + len(store.spare) + store.allocatable_for_certain()
        # Extents that are there count even when the settings now allow fewer.
        reach = max(store.last + 1, min(obtainable, self.restart_extent + self._capacity_extents))
        self.reachable_end = self._shape.start_of(reach)
        self.allocated_extents = store.last - store.first + 1 + len(store.spare)
        self.reusable_extents = len(store.spare)

    def note_checkpoint(self, restart_lsn: i64, checkpoint_lsn: i64, number: i64) -> None:
        """Checkpoint `number` is complete: from now on a restart replays only the records behind `restart_lsn`.

        Both are LSNs behind a durable record. Durable on return; extents no longer needed are given up after that.
        """
        state = self._control.state
        assert state.restart_lsn <= restart_lsn <= checkpoint_lsn <= self.forced_lsn
        in_use = self.forced_lsn - self._shape.start_of(self.restart_extent)
        self._metrics.count_checkpoint(in_use * 100 // self._primary_bytes)
        state.restart_lsn = restart_lsn
        state.checkpoint_lsn = checkpoint_lsn
        state.checkpoint_number = number
        self._write_control()

    def set_media_lsn(self, lsn: i64) -> None:
        """Linear log: media recovery needs only the records behind `lsn`. Durable on return."""
        state = self._control.state
        assert state.media_lsn <= lsn <= self.forced_lsn
        state.media_lsn = lsn
        self._write_control()

    def set_archived(self, extent: int) -> None:
        """LogManagement Archive: extents up to this one have been copied elsewhere. Durable on return."""
        state = self._control.state
        if not state.archived_extent < extent < self._shape.extent_of(self.forced_lsn):
            raise LogRefused(f"Extent {extent_name(extent)} is the current one, not there yet, or archived already.")
        state.archived_extent = extent
        self._write_control()

    def _write_control(self) -> None:
        state = self._control.state
        state.durable_lsn = self.forced_lsn
        state.last_extent = self._store.last
        state.oldest_extent = max(state.oldest_extent, oldest_needed(self._shape, state))
        self._control.write()
        self._noted_extent = state.last_extent
        self.control_sequence = state.sequence
        self.checkpoint_lsn = state.checkpoint_lsn
        self.media_lsn = state.media_lsn
        self.archived_extent = state.archived_extent
        self._store.release(state.oldest_extent, reusable_before(state))
        self.restart_lsn = state.restart_lsn
        self.restart_extent = self._shape.extent_of(state.restart_lsn)
        self._publish_reach()

    def extents_not_needed(self) -> list[str]:
        """Files that restart and media recovery can do without and that are kept all the same, oldest first."""
        return [extent_name(extent) for extent in self._store.kept()]

    def close(self) -> None:
        """With nothing pending: note how far the log is durable and let go of the files."""
        self._write_control()
        self._store.close()
        self._control.close()


def oldest_needed(shape: StreamShape, state: ControlState) -> int:
    """The oldest extent that restart, or media recovery from a linear log, needs."""
    lsn = state.restart_lsn
    if state.settings.log_type is LogType.LINEAR:
        lsn = min(lsn, state.media_lsn)
    return shape.extent_of(lsn)


def reusable_before(state: ControlState) -> int:
    """Extents before this one may be used again."""
    if state.settings.log_type is LogType.LINEAR:
        if state.settings.management is LogManagement.MANUAL:
            return 0
        if state.settings.management is LogManagement.ARCHIVE:
            return min(state.oldest_extent, state.archived_extent + 1)
    return state.oldest_extent
