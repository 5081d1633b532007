"""Reading the log of another queue manager, which may run meanwhile. Nothing is locked and nothing is changed."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.log.control_file import open_control_file
from ostler.log.errors import LogRefused
from ostler.log.extents import check_extents
from ostler.log.log_end import LogEndExaminer
from ostler.log.page_copy import read_page_copy
from ostler.log.reader import BlockCursor, LogVisitor, RecordReader, read_blocks, seek
from ostler.log.restart import ACTIVE_NAME
from ostler.log.settings import LogType
from ostler.log.stream_format import StreamShape
from ostler.model.disk import Disk

_LSN_MAX: Final = 1 << 62


@final
class ForeignLog:
    """A log as it is on its disk. Raises LogRefused and LogDamaged."""

    def __init__(self, disk: Disk, directory: str) -> None:
        control = open_control_file(disk, directory)
        control.close()
        self._disk = disk
        self._directory = directory
        self._active = f"{directory}/{ACTIVE_NAME}"
        self._state = control.state
        self._shape = StreamShape(control.state.identity, control.state.settings.file_pages)

    def is_linear(self) -> bool:
        return self._state.settings.log_type is LogType.LINEAR

    def oldest_lsn(self) -> i64:
        """Return the LSN from which all records are kept."""
        state = self._state
        return min(state.restart_lsn, state.media_lsn) if self.is_linear() else state.restart_lsn

    def read(self, from_lsn: i64, until_lsn: i64, visitor: LogVisitor) -> i64:
        """Pass the records behind an LSN to a visitor, and return the LSN behind the last one.

        `until_lsn` is durable in a log whose queue manager runs; what lies behind may be read or not. -1: nobody
        writes, and the log is read to its end, which must not be damaged.
        """
        shape = self._shape
        start = shape.start_of(max(shape.extent_of(from_lsn), self._state.oldest_extent))
        if from_lsn < start:
            raise LogRefused(f"The log in {self._directory} does not reach back to LSN {from_lsn} any more.")
        check_extents(self._disk, self._active, shape, shape.extent_of(start), self._state.last_extent)
        saved = read_page_copy(self._disk, self._active, shape) if until_lsn < 0 else None
        cursor = BlockCursor(self._disk, self._active, shape, self._state, start, saved)
        wanted: i64 = until_lsn if until_lsn >= 0 else _LSN_MAX
        try:
            seek(cursor, from_lsn)
            read_blocks(cursor, RecordReader(visitor, from_lsn, wanted), visitor, wanted, 0)
            if until_lsn < 0:
                LogEndExaminer(self._disk, self._active, shape, self._state).dropped_bytes(cursor)
        finally:
            cursor.close()
        if cursor.position < (until_lsn if until_lsn >= 0 else self._state.durable_lsn):
            raise cursor.damage()
        return cursor.position
