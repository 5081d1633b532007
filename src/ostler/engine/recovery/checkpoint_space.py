"""Admission of persistent messages by the disk space that the next checkpoint needs.

A checkpoint writes the persistent messages that are only in memory to the files of their queues, and new copies of
snapshots, catalogue and manifest beside the old ones. On a disk that is full of messages there is no space for that,
and without checkpoints the log cannot be reused: not even gets, which would empty the disk, could go on. So the
reserve always holds as much space as the next checkpoint needs at most. Persistent messages are admitted only while it
does, and it grows with them while the disk has space. A checkpoint that finds the disk full uses up what it needs of
the reserve, which is refilled when there is space again.

All functions require that the engine stands still.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.core import LOG_FULL, Engine
from ostler.engine.recovery.checkpoint_reserve import QUEUE_BYTES, round_to_blocks
from ostler.model import constants as mq

# The manifest, directories, the files that a start needs, and definitions made since the catalogue was written.
_BASE_BYTES: Final = 256 * 1024
_SNAPSHOT_HEADER_BYTES: Final = 72
_ROW_BYTES: Final = 48
DEFINITION_BYTES: Final = 4096
_MANIFEST_BYTES_PER_QUEUE: Final = 32
# The reserve grows in such steps. All queues are examined each time a step is used up.
_STEP_BYTES: Final = 1 << 20
_STEP_BYTES_PER_QUEUE: Final = 1024
_SPARE_BYTES_MAX: Final = 64 << 20
# After the disk had no space for the reserve the next try waits so long.
_PAUSE_MS: Final = 100


def has_checkpoint_space(engine: Engine, size_bytes: i64) -> bool:
    """Return True when a checkpoint would find space after a persistent message of this size was put."""
    reserve = engine.reserve
    if reserve.needed_bytes + size_bytes + QUEUE_BYTES <= reserve.reserved_bytes:
        return True
    return _extend(engine, size_bytes + QUEUE_BYTES)


def _extend(engine: Engine, size_bytes: i64) -> bool:
    reserve = engine.reserve
    if reserve.is_in_use or (_was_just_refused(engine) and engine.disk.free_bytes() <= reserve.refused_free_bytes):
        return False
    reserve.needed_bytes = needed_bytes(engine)
    if reserve.needed_bytes + size_bytes <= reserve.reserved_bytes:
        return True
    reserve.grow(engine.disk, reserve.needed_bytes + size_bytes + _step_bytes(engine))
    if reserve.needed_bytes + size_bytes > reserve.reserved_bytes and reclaim_space(engine):
        reserve.grow(engine.disk, reserve.needed_bytes + size_bytes + _step_bytes(engine))
    if reserve.needed_bytes + size_bytes <= reserve.reserved_bytes:
        return True
    reserve.refused_ms = engine.now_ms
    reserve.refused_free_bytes = engine.disk.free_bytes()
    return False


def _was_just_refused(engine: Engine) -> bool:
    return 0 <= engine.now_ms - engine.reserve.refused_ms < _PAUSE_MS


def reclaim_space(engine: Engine) -> bool:
    """Have all queues give unused space in their files back. Returns False when that was done a moment ago."""
    reserve = engine.reserve
    if 0 <= engine.now_ms - reserve.reclaimed_ms < _PAUSE_MS:
        return False
    reserve.reclaimed_ms = engine.now_ms
    for queue in engine.queues_by_id.values():
        queue.file.discard_free()
    return True


def hold_reserve(engine: Engine) -> None:
    """Reserve the space needed and a step more, as far as the disk has it. Called at a start and after checkpoints."""
    reserve = engine.reserve
    reserve.open(engine.disk)
    reserve.is_in_use = False
    reserve.was_refused = False
    reserve.refused_ms = 0
    reserve.needed_bytes = needed_bytes(engine)
    wanted: i64 = reserve.needed_bytes + _step_bytes(engine)
    if reserve.reserved_bytes > 4 * wanted + _SPARE_BYTES_MAX:
        reserve.truncate(engine.disk, wanted)
    elif reserve.reserved_bytes < wanted:
        reserve.grow(engine.disk, wanted)
    reserve.reclaimed_ms = 0
    if reserve.reserved_bytes < wanted and reclaim_space(engine):
        reserve.grow(engine.disk, wanted)
    if reserve.reserved_bytes >= wanted:
        reserve.is_reported = False


def lacks_space(engine: Engine) -> bool:
    """Return True when the disk has not the space for the reserve of this engine, which holds none yet."""
    return engine.disk.free_bytes() < needed_bytes(engine) + _step_bytes(engine)


def refuse_full_disk(engine: Engine) -> i64:
    """Return the reason for refusing a request for lack of disk space, and report the full disk to the operator.

    When a checkpoint would free space that is LOG_FULL: the caller takes one and tries again.
    """
    reserve = engine.reserve
    if not reserve.is_in_use and not reserve.wants_checkpoint():
        reserve.was_refused = True
        if not reserve.is_reported:
            reserve.is_reported = True
            engine.notice(
                "AMQ6119S: The disk is full. Puts fail with MQRC_Q_SPACE_NOT_AVAILABLE, gets still work. Get messages "
                "or free disk space."
            )
        return mq.MQRC_Q_SPACE_NOT_AVAILABLE
    return LOG_FULL


def needed_bytes(engine: Engine) -> i64:
    """Return the space that a checkpoint needs at most from now on, as long as no messages are put."""
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
    reserve = engine.reserve
    catalogue: i64 = reserve.catalogue_bytes + max(definitions - reserve.catalogue_definitions, 0) * DEFINITION_BYTES
    if catalogue > copied:
        copied = catalogue
    # Files are replaced one after the other: there is one copy at a time.
    return total + round_to_blocks(copied)


def definition_count(engine: Engine) -> i64:
    """Return the number of definitions, those of temporary queues included."""
    count: i64 = 0
    for table in engine.definitions.values():
        count += len(table)
    return count


def _step_bytes(engine: Engine) -> i64:
    return max(_STEP_BYTES, _STEP_BYTES_PER_QUEUE * len(engine.queues_by_id))
