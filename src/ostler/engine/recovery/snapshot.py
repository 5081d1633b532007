"""Snapshots of a queue's slots, which a restart loads before it replays the journal.

A snapshot reflects the committed state at one LSN: it contains available messages and those got under syncpoint, but
not those put under syncpoint. Slots are copied in slices while the engine stands still, and work goes on in between: a
row that changes before it is copied is saved first. Filtering and writing follow without the engine.
"""

from __future__ import annotations

from typing import Final, final
from zlib import crc32

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import Engine, queue_path
from ostler.engine.message.message import Message
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.slots import (
    AVAILABLE,
    GOT_UNCOMMITTED,
    NONE,
    PERSISTENT,
    STATE_MASK,
    SlotRow,
    Slots,
    lasting_flags,
)
from ostler.model.disk import Disk, DiskFull

_MAGIC: Final = 0x31544F4C534C544F  # "OTLSLOT1"
SLOTS_VERSION: Final = 2
_HEADER_BYTES_1: Final = 72
HEADER_BYTES: Final = 96
ROW_BYTES: Final = 48
_CHECKSUM_AT: Final = 64  # in every version; covers everything but itself
# Format of the records in the queue's file. They have no version of their own, as only snapshots refer to them.
MESSAGES_VERSION: Final = 1


class SnapshotDamaged(Exception):
    """A snapshot file is missing, truncated or does not match its checksum."""


class FilesUnrelated(Exception):
    """Files of a queue manager are intact, but not from the same queue manager or the same time."""


class FormatNewer(Exception):
    """A newer release wrote this file. The text has both format versions."""

    def __init__(self, path: str, version: int, version_max: int, offset: int = 8) -> None:
        super().__init__(
            f"{path} has format version {version} (offset {offset}); this release reads up to {version_max}. Use the "
            "release that wrote it, or a newer one."
        )


def check_version(path: str, version: i64, version_max: i64) -> None:
    """Raise when a newer release wrote the file, or when the version is not valid."""
    if version > version_max:
        raise FormatNewer(path, version, version_max)
    if version < 1:
        raise SnapshotDamaged(f"{path}: {version} is not a valid format version (offset 8)")


@final
class Snapshot:
    """A captured queue that is to be written. The first slice is copied when it is made.

    while not step():   work goes on
        copy()          engine still
    write(disk)         work goes on
    """

    def __init__(
        self, engine: Engine, queue: Queue, number: i64, lsn: i64, replay_lsn: i64, with_nonpersistent: bool
    ) -> None:
        self._identity = engine.identity
        self.queue = queue
        self.number: i64 = number
        self.lsn: i64 = lsn
        self.replay_lsn: i64 = replay_lsn
        self.next_seq: i64 = queue.next_seq
        self.with_nonpersistent = with_nonpersistent
        self._slots: Slots = queue.slots
        self._slots_per_copy: i64 = engine.capture_slots
        self._count: i64 = self._slots.begin_capture()
        self._copied: i64 = 0
        # The slice that was copied last: its columns, and the rows that have changed before that.
        self._seqs = b""
        self._flags = b""
        self._message_hashes = b""
        self._correlation_hashes = b""
        self._expiries = b""
        self._extents = b""
        self._saved: dict[int, SlotRow] = {}
        self._chunks: list[bytes] = []  # the rows, in parts, so that no large buffer has to grow
        self.rows: i64 = 0
        self.copy()

    def size_bytes(self) -> i64:
        """Return the size of the file, when all steps are done."""
        return HEADER_BYTES + self.rows * ROW_BYTES

    def copy(self) -> None:
        """Copy the next slots. The slice before must have been filtered."""
        slots = self._slots
        begin: i64 = self._copied
        end: i64 = min(begin + self._slots_per_copy, self._count)
        self._seqs = bytes(memoryview(slots.seqs)[begin:end])
        self._flags = bytes(memoryview(slots.flags)[begin:end])
        self._message_hashes = bytes(memoryview(slots.by_message_id.hashes)[begin:end])
        self._correlation_hashes = bytes(memoryview(slots.by_correlation_id.hashes)[begin:end])
        self._expiries = bytes(memoryview(slots.expiries)[begin:end])
        self._extents = bytes(memoryview(slots.extents)[begin:end])
        self._saved = slots.advance_capture(end)
        self._copied = end

    def step(self) -> bool:
        """Filter the slots that were copied last into rows. Returns True when all are done."""
        first: i64 = self._copied - len(self._flags) // 8
        writer = BytesWriter()
        at: i64 = 0
        while at < len(self._flags):
            if self._saved:
                row = self._saved.get(first + at // 8)
                if row is not None:
                    self._write_saved(writer, row)
                    at += 8
                    continue
            flags: i64 = read_i64_le(self._flags, at)
            if _is_kept(flags, self.with_nonpersistent):
                assert read_i64_le(self._extents, at) != NONE
                write_i64_le(writer, read_i64_le(self._seqs, at))
                write_i64_le(writer, lasting_flags(flags))
                write_i64_le(writer, read_i64_le(self._message_hashes, at))
                write_i64_le(writer, read_i64_le(self._correlation_hashes, at))
                write_i64_le(writer, read_i64_le(self._expiries, at))
                write_i64_le(writer, read_i64_le(self._extents, at))
                self.rows += 1
            at += 8
        self._flags = b""
        self._saved = {}
        self._chunks.append(writer.getvalue())
        return self._copied == self._count

    def _write_saved(self, writer: BytesWriter, row: SlotRow) -> None:
        if not _is_kept(row.flags, self.with_nonpersistent):
            return
        assert row.extent != NONE
        write_i64_le(writer, row.seq)
        write_i64_le(writer, lasting_flags(row.flags))
        write_i64_le(writer, row.message_hash)
        write_i64_le(writer, row.correlation_hash)
        write_i64_le(writer, row.expiry)
        write_i64_le(writer, row.extent)
        self.rows += 1

    def write(self, disk: Disk) -> None:
        """Make the snapshot durable, replacing the previous one. The queue's file must have been forced already."""
        head = BytesWriter()
        write_i64_le(head, _MAGIC)
        write_i64_le(head, SLOTS_VERSION)
        write_i64_le(head, self.queue.queue_id)
        write_i64_le(head, self.number)
        write_i64_le(head, self.lsn)
        write_i64_le(head, self.next_seq)
        write_i64_le(head, self.rows)
        write_i64_le(head, 1 if self.with_nonpersistent else 0)
        rest = BytesWriter()
        rest.write(self._identity)
        write_i64_le(rest, MESSAGES_VERSION)
        checksum = crc32(rest.getvalue(), crc32(head.getvalue()))
        for chunk in self._chunks:
            checksum = crc32(chunk, checksum)
        write_i64_le(head, checksum)
        replace_file(disk, slots_path(self.queue), [head.getvalue(), rest.getvalue(), *self._chunks])
        self._chunks = []


def _is_kept(flags: i64, with_nonpersistent: bool) -> bool:
    """Return True for a message that belongs into a snapshot. Non-persistent ones that are being got do not survive."""
    state: i64 = flags & STATE_MASK
    if flags & PERSISTENT:
        return state == AVAILABLE or state == GOT_UNCOMMITTED
    return with_nonpersistent and state == AVAILABLE


def slots_path(queue: Queue) -> str:
    return queue_path(queue.name, queue.queue_id) + "/slots"


def replace_file(disk: Disk, path: str, parts: list[bytes]) -> None:
    """Replace a file atomically: after a crash the old or the new one is there."""
    slash = path.rfind("/")
    directory = path[:slash] if slash >= 0 else ""
    if directory:
        disk.make_directory(directory)
    file = disk.open(path + ".new", True)
    try:
        file.truncate(0)
        file.write_at(0, parts)
    except DiskFull:
        # The partial file must not take the space that the next try needs.
        file.close()
        disk.remove(path + ".new")
        raise
    file.force()
    file.close()
    disk.rename(path + ".new", path)
    disk.force_directory(directory)


def capture(engine: Engine, queue: Queue, number: i64, with_nonpersistent: bool) -> Snapshot:
    """Begin a snapshot of a queue as it is now. Messages that are only in memory are written to the file first."""
    engine.finish_unit_ends()
    slots = queue.slots
    chosen: list[int] = []
    messages: list[Message] = []
    slot: i64 = 0
    for message in slots.resident:
        is_unwritten: bool = slots.extents[slot] == NONE
        if message is not None and is_unwritten and _is_kept(slots.flags[slot], with_nonpersistent):
            chosen.append(slot)
            messages.append(message)
        slot += 1
    if messages:
        extents = queue.file.write(messages)
        index: i64 = 0
        for extent in extents:
            queue.record_saved(chosen[index], messages[index], extent)
            index += 1
    queue.file.begin_snapshot()
    queue.changed = False
    # Open units of work are not in the snapshot: if they commit later, a restart needs their records.
    lsn: i64 = engine.journal.end_lsn()
    replay_lsn: i64 = lsn
    for unit in engine.units_of_work.values():
        if 0 <= unit.first_lsn < replay_lsn:
            replay_lsn = unit.first_lsn
    return Snapshot(engine, queue, number, lsn, replay_lsn, with_nonpersistent)


@final
class StoredSnapshot:
    """A snapshot file that was read, with checksum and version verified."""

    def __init__(self, path: str, data: bytes) -> None:
        if len(data) < _HEADER_BYTES_1 or read_i64_le(data, 0) != _MAGIC:
            raise SnapshotDamaged(f"{path}: no snapshot header at offset 0")
        view = memoryview(data)
        checksum: i64 = crc32(view[_CHECKSUM_AT + 8 :], crc32(view[:_CHECKSUM_AT]))
        if read_i64_le(data, _CHECKSUM_AT) != checksum:
            raise SnapshotDamaged(f"{path}: the checksum at offset {_CHECKSUM_AT} does not match the {len(data)} bytes")
        version: i64 = read_i64_le(data, 8)
        check_version(path, version, SLOTS_VERSION)
        self.data: Final[bytes] = data
        self.header_bytes: i64 = _HEADER_BYTES_1 if version == 1 else HEADER_BYTES
        self.count: i64 = read_i64_le(data, 48)
        if len(data) != self.header_bytes + self.count * ROW_BYTES:
            raise SnapshotDamaged(f"{path}: {self.count} messages (offset 48) do not take {len(data)} bytes")
        self.identity: bytes = data[72:88] if version > 1 else b""
        if version > 1 and read_i64_le(data, 88) > MESSAGES_VERSION:
            raise FormatNewer(f"{path[:-5]}messages", read_i64_le(data, 88), MESSAGES_VERSION, 88)
        self.queue_id: i64 = read_i64_le(data, 16)
        self.number: i64 = read_i64_le(data, 24)
        self.lsn: i64 = read_i64_le(data, 32)
        self.next_seq: i64 = read_i64_le(data, 40)
        self.with_nonpersistent: bool = read_i64_le(data, 56) == 1


def read_whole(disk: Disk, path: str) -> bytes:
    file = disk.open(path, False)
    data = file.read_at(0, file.size_bytes())
    file.close()
    return data


def load(disk: Disk, identity: bytes, queue: Queue, listed_number: i64, checkpoint_number: i64, orderly: bool) -> bool:
    """Fill an empty queue from its snapshot. Returns False when there is no valid one.

    A snapshot that the last complete checkpoint lists (`listed_number` > 0) must be there. A newer one comes from an
    interrupted checkpoint and is valid. An older, unlisted one is obsolete.
    """
    path = slots_path(queue)
    if not disk.exists(path):
        if listed_number > 0:
            raise SnapshotDamaged(f"{path} is missing")
        return False
    stored = StoredSnapshot(path, read_whole(disk, path))
    number: i64 = stored.number
    if stored.queue_id != queue.queue_id:
        raise SnapshotDamaged(f"{path}: the snapshot is of queue {stored.queue_id} (offset 16)")
    if stored.identity and stored.identity != identity:
        raise SnapshotDamaged(f"{path}: the snapshot belongs to another queue manager (offset 72)")
    if listed_number == 0 and number <= checkpoint_number:
        return False
    if number < listed_number:
        raise SnapshotDamaged(f"{path}: snapshot {number} is older than the {listed_number} the checkpoint names")
    if number > listed_number:
        # Its directory entry may not be durable yet; from now on checkpoints rely on it.
        disk.force_directory(queue_path(queue.name, queue.queue_id))
    queue.snapshot_number = number
    queue.snapshot_bytes = len(stored.data)
    queue.snapshot_lsn = stored.lsn
    queue.replay_lsn = stored.lsn
    queue.next_seq = stored.next_seq
    _load_rows(queue, stored, orderly and stored.with_nonpersistent)
    return True


def _load_rows(queue: Queue, stored: StoredSnapshot, with_nonpersistent: bool) -> None:
    data = stored.data
    order = rows_by_seq(stored)
    for at in order:
        flags: i64 = read_i64_le(data, at + 8)
        if not flags & PERSISTENT:
            queue.changed = True  # the next snapshot must not contain these again
            if not with_nonpersistent:
                continue
        apply.restore(
            queue,
            read_i64_le(data, at),
            flags,
            read_i64_le(data, at + 16),
            read_i64_le(data, at + 24),
            read_i64_le(data, at + 32),
            read_i64_le(data, at + 40),
        )
    queue.file.finish_claims()


def rows_by_seq(stored: StoredSnapshot) -> list[int]:
    """Return the offsets of the rows by sequence number; mostly they are in order already."""
    data = stored.data
    at: i64 = stored.header_bytes
    last: i64 = at + (stored.count - 1) * ROW_BYTES
    offsets = list(range(at, at + stored.count * ROW_BYTES, ROW_BYTES))
    while at < last:
        if read_i64_le(data, at) > read_i64_le(data, at + ROW_BYTES):
            seqs = [read_i64_le(data, offset) for offset in offsets]
            return [offset for _, offset in sorted(zip(seqs, offsets, strict=True))]
        at += ROW_BYTES
    return offsets
