"""Creation of a log, and replay: the only way from a log on disk to one that can be appended to."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from librt.strings import read_i64_le
from mypy_extensions import i64

from ostler.log.applier import LogApplier
from ostler.log.control_file import CONTROL_NAME, ControlFile, ControlState, create_control_file, open_control_file
from ostler.log.errors import LogDamaged, LogRefused
from ostler.log.extents import ExtentStore, check_extents, numbers_on_disk
from ostler.log.lives import append_life, has_lives, read_lives
from ostler.log.log_end import LogEndExaminer, force_extents
from ostler.log.log_writer import LogWriter, reusable_before
from ostler.log.metrics import LogMetrics, RestartReport
from ostler.log.page_copy import PageCopy, open_page_copy, read_page_copy, remove_page_copy, restore_page
from ostler.log.reader import BlockCursor, LogVisitor, RecordReader, read_blocks, seek
from ostler.log.recovery_log import RecoveryLog
from ostler.log.settings import LogSettings
from ostler.log.stream_format import (
    BLOCK_HEADER_BYTES,
    BLOCK_MAGIC,
    IDENTITY_BYTES,
    PAGE_BYTES,
    StreamShape,
    extent_name,
)
from ostler.model.disk import Disk
from ostler.model.log_life import Life

ACTIVE_NAME: Final = "active"
LSN_MAX: Final = (1 << 63) - 1


def create_log(disk: Disk, directory: str, settings: LogSettings, identity: bytes) -> None:
    """Create an empty log: its primary extents, then its control file. `identity` is 16 bytes, unique to each log.

    Raises LogRefused for settings out of range or a log that exists, LogSpace when the disk is full. After a crash
    during the creation there is no log, and this may be called again.
    """
    settings.validate()
    create_log_of_any_size(disk, directory, settings, identity)


def create_log_of_any_size(disk: Disk, directory: str, settings: LogSettings, identity: bytes) -> None:
    """As `create_log`, without MQ's ranges of settings: tests use extents of two pages."""
    if len(identity) != IDENTITY_BYTES:
        raise LogRefused(f"A log's identity has {IDENTITY_BYTES} bytes, not {len(identity)}.")
    if disk.exists(f"{directory}/{CONTROL_NAME}"):
        raise LogRefused(f"There is a log in {directory} already.")
    if has_records(disk, directory):
        raise LogRefused(
            f"There is a log in {directory} already, but its control file {CONTROL_NAME} is missing. "
            "Restore it with the log, or the whole queue manager from a backup."
        )
    active = f"{directory}/{ACTIVE_NAME}"
    disk.remove(active)
    disk.make_directory(active)
    disk.force_directory(directory)
    store = ExtentStore(disk, active, StreamShape(identity, settings.file_pages))
    for _ in range(settings.primary_files):
        store.allocate()
    store.close()
    state = ControlState(identity, settings)
    state.last_extent = settings.primary_files - 1
    create_control_file(disk, directory, state)


def has_records(disk: Disk, directory: str) -> bool:
    """Return True when there are extents with records here, with or without their control file."""
    active = f"{directory}/{ACTIVE_NAME}"
    for extent in numbers_on_disk(disk, active):
        file = disk.open(f"{active}/{extent_name(extent)}", False)
        page = file.read_at(PAGE_BYTES, PAGE_BYTES)
        file.close()
        if page.strip(b"\0"):
            return True
    return False


def open_log(disk: Disk, directory: str, settings: LogSettings | None = None) -> RestartableLog:
    """Open an existing log. Without settings it keeps its own.

    LogPrimaryFiles, LogSecondaryFiles, LogBufferPages, LogManagement and LogWriteIntegrity may change from one start
    to the next; LogType and LogFilePages may not. Raises LogRefused and LogDamaged. Changes nothing.
    """
    control = open_control_file(disk, directory)
    state = control.state
    if settings is not None:
        if settings.file_pages != state.settings.file_pages:
            raise LogRefused(
                f"LogFilePages is {settings.file_pages}, but the log was made with {state.settings.file_pages}. "
                "It cannot be changed; set it back."
            )
        if settings.log_type is not state.settings.log_type:
            raise LogRefused(
                f"LogType is {settings.log_type.value}, but the log was made {state.settings.log_type.value}. "
                "It cannot be changed; set it back."
            )
        state.settings = settings
    return RestartableLog(disk, directory, control)


class CopyFiles:
    """The parts of an open log, handed from its opening to the follower."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        active: str,
        shape: StreamShape,
        control: ControlFile,
        writer: LogWriter,
        metrics: LogMetrics,
    ) -> None:
        self.disk: Final = disk
        self.directory: Final = directory
        self.active: Final = active
        self.shape: Final = shape
        self.control: Final = control
        self.writer: Final = writer
        self.metrics: Final = metrics


class RestartableLog:
    """A log as an earlier life left it. It can only be replayed or examined."""

    def __init__(self, disk: Disk, directory: str, control: ControlFile) -> None:
        self._disk = disk
        self._directory = directory
        self._active = f"{directory}/{ACTIVE_NAME}"
        self._control = control
        self._shape = StreamShape(control.state.identity, control.state.settings.file_pages)
        # Laid over the log while it is read: its own page may have been spoiled while it was written again.
        self._saved = read_page_copy(disk, self._active, self._shape)

    def restart_lsn(self) -> i64:
        """Return the LSN where the replay will begin."""
        return self._control.state.restart_lsn

    def identity(self) -> bytes:
        """Return the unique id of this log, which is also in the queue manager's files."""
        return self._control.state.identity

    def checkpoint_number(self) -> i64:
        """Return the last complete checkpoint; 0 when there was none, or an older release took it."""
        return self._control.state.checkpoint_number

    def locate(self, lsn: i64) -> tuple[str, int]:
        """Return the extent file that holds the record that ends at an LSN, and the offset of that end."""
        at = max(lsn - 1, 0)
        return f"{self._active}/{extent_name(self._shape.extent_of(at))}", self._shape.file_offset(at) + 1

    def close(self) -> None:
        """Close the log without reading it."""
        self._control.close()

    def replay(self, visitor: LogVisitor) -> RecoveryLog:
        """Pass all records behind the restart LSN to the visitor; return the log for appending.

        On return all records that the visitor received are durable, and a new life has begun. Raises LogDamaged, and
        changes nothing, when durable records are lost.
        """
        shape = self._shape
        first = shape.extent_of(self._control.state.restart_lsn)
        report = self._read(visitor, first)
        if self._saved is not None and restore_page(self._disk, self._active, shape, self._saved):
            report = replace(report, is_page_restored=True)
        force_extents(self._disk, self._active, first, shape.extent_of(report.end_lsn))
        return self._begin_life(report)

    def examine(self, visitor: LogVisitor) -> RestartReport:
        """As `replay`, without any change and without a new life; extents for media recovery are read, too."""
        return self._read(visitor, self._control.state.oldest_extent)

    # -- copies

    def disk(self) -> Disk:
        return self._disk

    def directory(self) -> str:
        return self._directory

    def control_state(self) -> ControlState:
        return self._control.state

    def shape(self) -> StreamShape:
        return self._shape

    def read_copy(self, applier: LogApplier, believes_blocks: bool, files_lsn: i64) -> RestartReport:
        """Read a copy of another leader's log to its end, and apply what enough copies had forced. Changes nothing.

        `files_lsn` is the latest LSN that a file of the queue manager speaks of, which enough copies had, too. Unless
        `believes_blocks`, the blocks behind the noted end were written all at once: whatever they say about each other,
        the first that does not read back is the end. Raises LogDamaged.
        """
        state = self._control.state
        shape = self._shape
        first = shape.extent_of(state.restart_lsn)
        check_extents(self._disk, self._active, shape, first, state.last_extent)
        cursor = BlockCursor(self._disk, self._active, shape, state, shape.start_of(first), self._saved)
        try:
            seek(cursor, state.restart_lsn)
            start = cursor.position
            applier.position = start
            # The log of a base begins with an extent; enough copies had what lies before the restart LSN.
            state.durable_lsn = max(state.durable_lsn, min(files_lsn, start))
            while cursor.advance():
                # A file may speak of an LSN in the middle of a block: enough copies had all of that block.
                if cursor.lsn < files_lsn:
                    state.durable_lsn = max(state.durable_lsn, cursor.end())
                if cursor.end() <= state.durable_lsn:
                    applier.apply_at(cursor)
            dropped = 0
            if believes_blocks:
                dropped = self._examine_end(cursor)
            if max(state.durable_lsn, files_lsn) > cursor.position:
                raise cursor.damage()
        finally:
            cursor.close()
        return self._report(start, cursor.position, applier.records(), dropped, state.epoch)

    def reopen(self, report: RestartReport, keep_extents: int) -> CopyFiles:
        """Open what `read_copy` has read for a leader's blocks, without a new life."""
        if self._saved is not None:
            restore_page(self._disk, self._active, self._shape, self._saved)
        shape = self._shape
        first = shape.extent_of(self._control.state.restart_lsn)
        force_extents(self._disk, self._active, first, shape.extent_of(report.end_lsn))
        self._force_control()
        metrics = LogMetrics()
        writer = self._open_writer(report, metrics, keep_extents)
        writer.is_follower = True
        writer.keep_extents = keep_extents
        writer.group_lsn = self._control.state.durable_lsn
        return CopyFiles(self._disk, self._directory, self._active, shape, self._control, writer, metrics)

    # -- reading

    def _read(self, visitor: LogVisitor, first: i64) -> RestartReport:
        state = self._control.state
        shape = self._shape
        check_extents(self._disk, self._active, shape, first, state.last_extent)
        cursor = BlockCursor(self._disk, self._active, shape, state, shape.start_of(first), self._saved)
        reader = RecordReader(visitor, state.restart_lsn, LSN_MAX)
        try:
            if first == shape.extent_of(state.restart_lsn):
                seek(cursor, state.restart_lsn)
            start = cursor.position
            read_blocks(cursor, reader, visitor, LSN_MAX, self._estimated_end(first) - start)
            dropped = self._examine_end(cursor)
        finally:
            cursor.close()
        end = cursor.position
        visitor.ended(end)
        return self._report(start, end, reader.records, dropped, state.epoch + 1)

    def _report(self, start: i64, end: i64, records: i64, dropped: int, epoch: int) -> RestartReport:
        return RestartReport(
            restart_lsn=self._control.state.restart_lsn,
            end_lsn=end,
            records=records,
            read_bytes=end - start,
            dropped_bytes=dropped,
            epoch=epoch,
            end_file=f"{self._active}/{extent_name(self._shape.extent_of(end))}",
            end_offset=self._shape.file_offset(end),
        )

    def _examine_end(self, cursor: BlockCursor) -> int:
        state = self._control.state
        if cursor.control_highest > state.sequence:
            raise LogDamaged(
                f"{self._directory}/{CONTROL_NAME}",
                (state.sequence + 1) % 2 * PAGE_BYTES,
                f"its newest good slot is number {state.sequence}, but the log knows number {cursor.control_highest}",
            )
        return LogEndExaminer(self._disk, self._active, self._shape, state).dropped_bytes(cursor)

    def _estimated_end(self, first: i64) -> i64:
        """Estimate the end of the stream from the first blocks of the extents."""
        end: i64 = self._shape.start_of(first)
        for extent in numbers_on_disk(self._disk, self._active):
            if extent < first:
                continue
            file = self._disk.open(f"{self._active}/{extent_name(extent)}", False)
            header = file.read_at(PAGE_BYTES, BLOCK_HEADER_BYTES)
            file.close()
            is_block = len(header) == BLOCK_HEADER_BYTES and header.startswith(BLOCK_MAGIC)
            if is_block and read_i64_le(header, 24) == self._shape.start_of(extent):
                end = self._shape.start_of(extent + 1)
        return end

    def _begin_life(self, report: RestartReport) -> RecoveryLog:
        self._force_control()
        state = self._control.state
        if has_lives(self._disk, self._directory):
            # It was replicated: other copies must see that this life is not theirs.
            lives = read_lives(self._disk, self._directory, state.identity, state.epoch)
            append_life(self._disk, self._directory, lives, Life(report.epoch, report.end_lsn, "", 0, 0))
        state.epoch = report.epoch
        state.life_start_lsn = report.end_lsn
        state.durable_lsn = report.end_lsn
        metrics = LogMetrics()
        writer = self._open_writer(report, metrics, 0)
        return RecoveryLog(self._disk, self._active, self._shape, state, writer, metrics, report)

    def _force_control(self) -> None:
        # A killed process may have left the slot that was read unforced, and the next write goes over the other one.
        self._control.force()
        self._disk.force_directory(self._directory)

    def _open_writer(self, report: RestartReport, metrics: LogMetrics, keep_extents: int) -> LogWriter:
        """Take over the files, and write the control file as it now stands."""
        state = self._control.state
        store = ExtentStore(self._disk, self._active, self._shape)
        reusable = reusable_before(state)
        if keep_extents > 0:
            reusable = max(0, min(reusable, int(self._shape.extent_of(report.end_lsn)) - keep_extents))
        store.adopt(state.oldest_extent, report.end_lsn, reusable)
        state.last_extent = store.last
        notes = self._control.begin_notes()
        # Twice, so that both slots have this life.
        self._control.write()
        self._control.write()
        page_copy: PageCopy | None = None
        if state.settings.copies_pages():
            page_copy = open_page_copy(self._disk, self._active, self._shape, report.end_lsn)
        else:
            remove_page_copy(self._disk, self._active)
        return LogWriter(self._shape, self._control, store, metrics, report.end_lsn, notes, page_copy)
