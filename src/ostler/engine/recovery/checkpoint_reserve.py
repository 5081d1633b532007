"""The reserve: a file of zeros that holds disk space for the next checkpoint.

All methods require that the engine stands still.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.model.disk import Disk, DiskFull, File

RESERVE_PATH: Final = "reserve"
UNLIMITED: Final = 1 << 62
# Space that a checkpoint needs for a queue that had not changed: its directory, and the partly filled last blocks of
# its two files.
QUEUE_BYTES: Final = 3 * 4096
# Space that it needs for a message besides the message itself: header and padding in the queue's file, and its row in
# the present snapshot and in the copy beside it.
MESSAGE_BYTES: Final = 32 + 8 + 2 * 48
_BLOCK_BYTES: Final = 4096  # the unit in which file systems allocate
_RELEASED_BYTES_MIN: Final = 64 * 1024
# Less freed space than this is given back within a second, and no put waits for it.
_WORTH_BYTES: Final = 256 * 1024


@final
class CheckpointReserve:
    """Space that the next checkpoint may need, and space that is held for it.

    Until the reserve is opened by `checkpoint_space.hold_reserve` nothing is refused.
    """

    def __init__(self) -> None:
        self.needed_bytes: i64 = 0
        """Upper bound of what the next checkpoint needs. Puts add to it; it is counted anew from time to time."""
        self.reserved_bytes: i64 = UNLIMITED
        self.is_in_use = False
        """A checkpoint uses up the reserve: nothing else may take disk space meanwhile."""
        # Of the catalogue on disk: its size, and the number of its definitions.
        self.catalogue_bytes: i64 = 0
        self.catalogue_definitions: i64 = 0
        self.freed_bytes: i64 = 0
        """Space of messages that are gone from queue files. A checkpoint gives it back to the disk."""
        self.was_refused = False
        """A request was refused for lack of space since the last checkpoint."""
        self.is_reported = False
        """The operator has been told that the disk is full."""
        # When the disk last had no space for the reserve, and how much it then reported as free.
        self.refused_ms: i64 = 0
        self.refused_free_bytes: i64 = 0
        self.reclaimed_ms: i64 = 0
        self._file: File | None = None  # stays open, so that releasing space never needs a free descriptor

    def wants_checkpoint(self) -> bool:
        """Return True when a checkpoint would free enough space that a request may wait for it."""
        return self.freed_bytes >= _WORTH_BYTES

    def open(self, disk: Disk) -> None:
        """Take over the file that an earlier run has left."""
        if self.reserved_bytes == UNLIMITED:
            self.reserved_bytes = file_bytes(disk, RESERVE_PATH) // _BLOCK_BYTES * _BLOCK_BYTES

    def release(self, disk: Disk, size_bytes: i64) -> bool:
        """Give part of the reserve back to a full disk, for the checkpoint under way. Returns False if none is left."""
        if self.reserved_bytes == UNLIMITED or self.reserved_bytes == 0:
            return False
        self.is_in_use = True
        released: i64 = max(round_to_blocks(size_bytes), _RELEASED_BYTES_MIN)
        return self.truncate(disk, max(self.reserved_bytes - released, 0))

    def grow(self, disk: Disk, size_bytes: i64) -> None:
        """Grow as far as the disk has space. With quotas the free space that it reports may be wrong."""
        file = self._open_file(disk)
        if file is None:
            return
        missing: i64 = round_to_blocks(size_bytes - self.reserved_bytes)
        while missing >= _BLOCK_BYTES:
            try:
                file.allocate(self.reserved_bytes, missing)
                self.reserved_bytes += missing
                missing = min(missing, round_to_blocks(size_bytes - self.reserved_bytes))
            except DiskFull:
                file.truncate(self.reserved_bytes)
                missing = missing // 2 // _BLOCK_BYTES * _BLOCK_BYTES

    def truncate(self, disk: Disk, size_bytes: i64) -> bool:
        file = self._open_file(disk)
        if file is None:
            return False
        file.truncate(size_bytes)
        self.reserved_bytes = size_bytes
        return True

    def _open_file(self, disk: Disk) -> File | None:
        if self._file is None:
            try:
                self._file = disk.open(RESERVE_PATH, True)
            except DiskFull:
                return None
        return self._file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def round_to_blocks(size_bytes: i64) -> i64:
    return (size_bytes + _BLOCK_BYTES - 1) // _BLOCK_BYTES * _BLOCK_BYTES


def file_bytes(disk: Disk, path: str) -> i64:
    """Return the size of a file, or 0 when there is none."""
    if not disk.exists(path):
        return 0
    file = disk.open(path, False)
    size: i64 = file.size_bytes()
    file.close()
    return size
