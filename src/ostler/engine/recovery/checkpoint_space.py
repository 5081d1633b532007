"""Disk space for the next checkpoint, held by a file of zeros.

A checkpoint writes the persistent messages that are only in memory to the files of their queues, and new copies of
snapshots, catalogue and manifest beside the old ones. On a disk that is full of messages there is no space for that,
and without checkpoints the log cannot move on: nobody could take the messages that fill the disk. So the file
`reserve` always holds as much space as the next checkpoint needs at most. Persistent messages are only admitted while
it does; it grows with them while the disk has space. A checkpoint that finds the disk full gives up what it needs of
the reserve, and it is made whole again when there is space.

All functions want the engine to stand still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.model.constants import MQRC_Q_SPACE_NOT_AVAILABLE, MQRC_RESOURCE_PROBLEM
from ostler.model.disk import Disk, DiskFull, File

if TYPE_CHECKING:
    from ostler.engine.core import Engine

RESERVE_PATH: Final = "reserve"
_BLOCK_BYTES: Final = 4096  # what a file system gives at least
_UNLIMITED: Final = 1 << 62
# The manifest, directories, what the files of a start need, and definitions made since the catalogue was written.
_BASE_BYTES: Final = 256 * 1024
# A queue that had not changed: its directory, and the ends of its two files, which blocks are not filled by.
QUEUE_BYTES: Final = 3 * _BLOCK_BYTES
# A message: header and padding in the queue's file, its row in the snapshot that stays and in the copy beside it.
MESSAGE_BYTES: Final = 32 + 8 + 2 * 48
_SNAPSHOT_HEADER_BYTES: Final = 72
_ROW_BYTES: Final = 48
DEFINITION_BYTES: Final = 4096
_MANIFEST_BYTES_PER_QUEUE: Final = 32
# The reserve grows in such steps. Queues are looked through each time a step is used up.
_STEP_BYTES: Final = 1 << 20
_STEP_BYTES_PER_QUEUE: Final = 1024
_GIVEN_BYTES_MIN: Final = 64 * 1024
_SPARE_BYTES_MAX: Final = 64 << 20
# Less than this is given back within a second, and nobody waits for it.
_WORTH_BYTES: Final = 256 * 1024
# After the disk had no space for the reserve the next try waits so long.
_PAUSE_MS: Final = 100


@final
class CheckpointSpace:
    """What the next checkpoint may need, and what is held for it. `hold` begins it; before that nothing is refused."""

    def __init__(self) -> None:
        self.needed_bytes: i64 = 0
        """Never less than what the next checkpoint needs: adds up what comes, and is counted anew now and then."""
        self.reserved_bytes: i64 = _UNLIMITED
        self.is_giving = False
        """A checkpoint lives on the reserve: nobody else may take space meanwhile."""
        # Of the catalogue on disk: its size, and how many definitions it has.
        self.catalogue_bytes: i64 = 0
        self.catalogue_definitions: i64 = 0
        self.freed_bytes: i64 = 0
        """Of messages that are gone from queue files: a checkpoint gives them back to the disk."""
        self.was_refused = False
        """Somebody was refused for want of space since the last checkpoint."""
        self.is_told = False
        """The operator knows that the disk is full."""
        # When the disk had no space for the reserve, and what it said to have free.
        self._refused_ms: i64 = 0
        self._refused_free_bytes: i64 = 0
        self._reclaimed_ms: i64 = 0
        self._file: File | None = None  # open all the time: what it holds must not depend on a free descriptor

    def covers(self, engine: Engine, size_bytes: i64) -> bool:
        """Whether the checkpoint after a persistent message of this size finds space."""
        if self.needed_bytes + size_bytes + QUEUE_BYTES <= self.reserved_bytes:
            return True
        return self._make_wider(engine, size_bytes + QUEUE_BYTES)

    def _make_wider(self, engine: Engine, size_bytes: i64) -> bool:
        if self.is_giving or (self._was_just_refused(engine) and engine.disk.free_bytes() <= self._refused_free_bytes):
            return False
        self.needed_bytes = needed_bytes(engine)
        if self.needed_bytes + size_bytes <= self.reserved_bytes:
            return True
        self._grow(engine.disk, self.needed_bytes + size_bytes + _step_bytes(engine))
        if self.needed_bytes + size_bytes > self.reserved_bytes and self.reclaim(engine):
            self._grow(engine.disk, self.needed_bytes + size_bytes + _step_bytes(engine))
        if self.needed_bytes + size_bytes <= self.reserved_bytes:
            return True
        self._refused_ms = engine.now_ms
        self._refused_free_bytes = engine.disk.free_bytes()
        return False

    def _was_just_refused(self, engine: Engine) -> bool:
        return 0 <= engine.now_ms - self._refused_ms < _PAUSE_MS

    def reclaim(self, engine: Engine) -> bool:
        """Have all queues give back space in their files that they do not use. False: that was done a moment ago."""
        if 0 <= engine.now_ms - self._reclaimed_ms < _PAUSE_MS:
            return False
        self._reclaimed_ms = engine.now_ms
        for queue in engine.queues_by_id.values():
            queue.file.discard_free()
        return True

    def wants_checkpoint(self) -> bool:
        """Whether a checkpoint would give back so much space that somebody who needs some may wait for it."""
        return self.freed_bytes >= _WORTH_BYTES

    def hold(self, engine: Engine) -> None:
        """Hold as much as is needed and a step more, as far as the disk has it. After a start and each checkpoint."""
        if self.reserved_bytes == _UNLIMITED:
            self.reserved_bytes = file_bytes(engine.disk, RESERVE_PATH) // _BLOCK_BYTES * _BLOCK_BYTES
        self.is_giving = False
        self.was_refused = False
        self._refused_ms = 0
        self.needed_bytes = needed_bytes(engine)
        wanted: i64 = self.needed_bytes + _step_bytes(engine)
        if self.reserved_bytes > 4 * wanted + _SPARE_BYTES_MAX:
            self._truncate(engine.disk, wanted)
        elif self.reserved_bytes < wanted:
            self._grow(engine.disk, wanted)
        self._reclaimed_ms = 0
        if self.reserved_bytes < wanted and self.reclaim(engine):
            self._grow(engine.disk, wanted)
        if self.reserved_bytes >= wanted:
            self.is_told = False

    def give(self, engine: Engine, size_bytes: i64) -> bool:
        """Give so much of the reserve back to the disk, for a checkpoint that finds it full. False: none is left."""
        if self.reserved_bytes == _UNLIMITED or self.reserved_bytes == 0:
            return False
        self.is_giving = True
        given: i64 = max(_blocks(size_bytes), _GIVEN_BYTES_MIN)
        return self._truncate(engine.disk, max(self.reserved_bytes - given, 0))

    def _grow(self, disk: Disk, size_bytes: i64) -> None:
        """As far as the disk has space: what it says of that need not be true where there are quotas."""
        file = self._opened(disk)
        if file is None:
            return
        missing: i64 = _blocks(size_bytes - self.reserved_bytes)
        while missing >= _BLOCK_BYTES:
            try:
                file.allocate(self.reserved_bytes, missing)
                self.reserved_bytes += missing
                missing = min(missing, _blocks(size_bytes - self.reserved_bytes))
            except DiskFull:
                file.truncate(self.reserved_bytes)
                missing = missing // 2 // _BLOCK_BYTES * _BLOCK_BYTES

    def _truncate(self, disk: Disk, size_bytes: i64) -> bool:
        file = self._opened(disk)
        if file is None:
            return False
        file.truncate(size_bytes)
        self.reserved_bytes = size_bytes
        return True

    def _opened(self, disk: Disk) -> File | None:
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


def refuse_full_disk(engine: Engine) -> i64:
    """Return why there is no space. When a checkpoint would give some back, the owner takes one and calls again."""
    space = engine.space
    if not space.is_giving and not space.wants_checkpoint():
        space.was_refused = True
        if not space.is_told:
            space.is_told = True
            engine.notice(
                "AMQ6119S: The disk is full: messages are refused with MQRC_Q_SPACE_NOT_AVAILABLE, and can be got. "
                "Get messages, or give the disk more space."
            )
        return MQRC_Q_SPACE_NOT_AVAILABLE
    engine.journal_full = True
    return MQRC_RESOURCE_PROBLEM


def needed_bytes(engine: Engine) -> i64:
    """What a checkpoint needs at most from now on, as long as no messages come."""
    total: i64 = _BASE_BYTES
    copied: i64 = _MANIFEST_BYTES_PER_QUEUE * len(engine.queues_by_id)
    definitions: i64 = definition_count(engine)
    for queue in engine.queues_by_id.values():
        if queue.is_temporary:
            definitions -= 1
            continue
        if queue.damaged:
            continue
        rows: i64 = _SNAPSHOT_HEADER_BYTES + (queue.depth + queue.uncommitted) * _ROW_BYTES
        if queue.changed:
            total += queue.unsaved_bytes + QUEUE_BYTES
            if rows > queue.snapshot_bytes:
                total += rows - queue.snapshot_bytes
        if rows > copied:
            copied = rows
    space = engine.space
    catalogue: i64 = space.catalogue_bytes + max(definitions - space.catalogue_definitions, 0) * DEFINITION_BYTES
    if catalogue > copied:
        copied = catalogue
    # Files are replaced one after the other: there is one copy at a time.
    return total + _blocks(copied)


def definition_count(engine: Engine) -> i64:
    """How many definitions there are, of temporary queues too."""
    count: i64 = 0
    for table in engine.definitions.values():
        count += len(table)
    return count


def _step_bytes(engine: Engine) -> i64:
    return max(_STEP_BYTES, _STEP_BYTES_PER_QUEUE * len(engine.queues_by_id))


def _blocks(size_bytes: i64) -> i64:
    return (size_bytes + _BLOCK_BYTES - 1) // _BLOCK_BYTES * _BLOCK_BYTES


def file_bytes(disk: Disk, path: str) -> i64:
    """The size of a file; 0 when there is none."""
    if not disk.exists(path):
        return 0
    file = disk.open(path, False)
    size: i64 = file.size_bytes()
    file.close()
    return size
