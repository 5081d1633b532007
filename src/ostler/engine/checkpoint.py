"""Checkpoints: what lets the journal's start move on.

A checkpoint is fuzzy: queues are captured one after the other while work goes on, and each snapshot says up to
which LSN it speaks. It is complete when its manifest is durable: the list of the snapshots that count, and the
numbers that must go on after a restart. The object catalogue is kept in the same way.
"""

from __future__ import annotations

from typing import Final, final
from zlib import crc32

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64

from ostler.engine.core import JOURNAL_MARGIN_BYTES, Engine, queue_path
from ostler.engine.queue import Queue
from ostler.engine.queue_file import QueueFileDamaged
from ostler.engine.records import GET, PREPARE, PUT, get_head, number_head, put_head
from ostler.engine.slots import lasting_flags
from ostler.engine.snapshot import Snapshot, SnapshotDamaged, capture, replace_file
from ostler.engine.unit_of_work import PREPARED, Entry, UnitOfWork
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.disk import Disk

MANIFEST_PATH: Final = "checkpoint"
CATALOGUE_PATH: Final = "objects"
_MAGIC: Final = 0x314B4843_4C54534F  # "OSTLCHK1"
_CATALOGUE_MAGIC: Final = 0x31544143_4C54534F  # "OSTLCAT1"
_VERSION: Final = 1
_HEAD_WORDS: Final = 8

# Stands for a snapshot's number: the queue was damaged when the checkpoint was taken, whatever its files say.
DAMAGED: Final = -1


@final
class Manifest:
    def __init__(self) -> None:
        self.number: i64 = 0
        self.orderly = False
        self.catalogue_lsn: i64 = 0
        self.next_queue_id: i64 = 1
        self.next_unit_of_work: i64 = 1
        self.snapshots: dict[int, int] = {}  # queue id -> snapshot number
        self.media_lsns: dict[int, int] = {}  # queue id -> where its media image begins

    def encode(self) -> bytes:
        writer = BytesWriter()
        write_i64_le(writer, _MAGIC)
        write_i64_le(writer, _VERSION)
        write_i64_le(writer, self.number)
        write_i64_le(writer, 1 if self.orderly else 0)
        write_i64_le(writer, self.catalogue_lsn)
        write_i64_le(writer, self.next_queue_id)
        write_i64_le(writer, self.next_unit_of_work)
        write_i64_le(writer, len(self.snapshots))
        for queue_id, number in self.snapshots.items():
            write_i64_le(writer, queue_id)
            write_i64_le(writer, number)
        for queue_id, lsn in self.media_lsns.items():
            write_i64_le(writer, queue_id)
            write_i64_le(writer, lsn)
        body = writer.getvalue()
        tail = BytesWriter()
        write_i64_le(tail, crc32(body))
        return body + tail.getvalue()


def read_manifest(disk: Disk) -> Manifest:
    """The last complete checkpoint; an empty one when there has been none."""
    manifest = Manifest()
    if not disk.exists(MANIFEST_PATH):
        return manifest
    file = disk.open(MANIFEST_PATH, False)
    data = file.read_at(0, file.size_bytes())
    file.close()
    if len(data) < _HEAD_WORDS * 8 + 8 or len(data) % 8 or read_i64_le(data, 0) != _MAGIC:
        raise SnapshotDamaged(f"{MANIFEST_PATH}: no checkpoint header at offset 0")
    if read_i64_le(data, 8) != _VERSION:
        raise SnapshotDamaged(f"{MANIFEST_PATH}: format version {read_i64_le(data, 8)} at offset 8 is not {_VERSION}")
    checksum: i64 = crc32(memoryview(data)[:-8])
    if read_i64_le(data, len(data) - 8) != checksum:
        raise SnapshotDamaged(f"{MANIFEST_PATH}: the checksum at offset {len(data) - 8} does not match")
    manifest.number = read_i64_le(data, 16)
    manifest.orderly = read_i64_le(data, 24) == 1
    manifest.catalogue_lsn = read_i64_le(data, 32)
    manifest.next_queue_id = read_i64_le(data, 40)
    manifest.next_unit_of_work = read_i64_le(data, 48)
    at: i64 = _HEAD_WORDS * 8
    snapshots_end: i64 = at + read_i64_le(data, 56) * 16
    while at < len(data) - 8:
        if at < snapshots_end:
            manifest.snapshots[read_i64_le(data, at)] = read_i64_le(data, at + 8)
        else:
            manifest.media_lsns[read_i64_le(data, at)] = read_i64_le(data, at + 8)
        at += 16
    return manifest


@final
class Checkpoint:
    """One checkpoint. The owner alternates between calls that need the engine to stand still and calls that do not.

    for each queue of `pending()`:
        snapshot = begin_queue(queue)      engine still
        finish_rows, force                 work goes on; the journal is forced up to snapshot.lsn
        snapshot.write(disk)               work goes on
        end_queue(snapshot)                engine still
    catalogue = begin_catalogue()          engine still
    write_catalogue(catalogue)             work goes on, when it is not empty
    manifest = begin_manifest()            engine still
    write_manifest(manifest)               work goes on
    restart_lsn = end()                    engine still

    When the disk is full on the way: abandon().
    """

    def __init__(self, engine: Engine, orderly: bool) -> None:
        self.engine = engine
        self.orderly = orderly
        engine.checkpoint_number += 1
        self.number: i64 = engine.checkpoint_number
        self._began_lsn: i64 = engine.journal.end_lsn()
        self._catalogue_lsn: i64 = 0
        self._captured: Queue | None = None  # and its snapshot is not durable yet
        self._removed: list[Queue] = []

    def pending(self) -> list[int]:
        """Ids of the queues whose persistent content changed, or that must keep non-persistent messages too."""
        return [
            queue.queue_id
            for queue in self.engine.queues_by_id.values()
            if not queue.damaged
            and not queue.is_temporary
            and (queue.changed or (self.orderly and queue.nonpersistent_high and queue.depth > 0))
        ]

    def begin_queue(self, queue_id: i64) -> Snapshot | None:
        queue = self.engine.queues_by_id.get(queue_id)
        if queue is None:
            return None
        snapshot = capture(self.engine, queue, self.number, self.orderly and queue.nonpersistent_high)
        self._captured = queue
        return snapshot

    def end_queue(self, snapshot: Snapshot) -> None:
        queue = snapshot.queue
        queue.file.snapshot_durable()
        queue.snapshot_lsn = snapshot.lsn
        queue.replay_lsn = snapshot.replay_lsn
        queue.snapshot_number = snapshot.number
        self._captured = None

    def begin_catalogue(self) -> bytes:
        """The catalogue to write, or nothing when it has not changed."""
        engine = self.engine
        self._catalogue_lsn = engine.catalogue_lsn
        # A queue's files may go once the catalogue that no longer lists it is durable.
        self._removed = engine.removed_queues
        engine.removed_queues = []
        if not engine.catalogue_changed:
            return b""
        engine.catalogue_changed = False
        self._catalogue_lsn = engine.journal.end_lsn()
        return encode_catalogue(engine)

    def write_catalogue(self, disk: Disk, catalogue: bytes) -> None:
        replace_file(disk, CATALOGUE_PATH, [catalogue])

    def begin_manifest(self) -> Manifest:
        engine = self.engine
        engine.catalogue_lsn = self._catalogue_lsn
        manifest = Manifest()
        manifest.number = self.number
        manifest.orderly = self.orderly
        manifest.catalogue_lsn = self._catalogue_lsn
        manifest.next_queue_id = engine.next_queue_id
        manifest.next_unit_of_work = engine.next_unit_of_work
        for queue in self._listed():
            if queue.damaged:
                manifest.snapshots[queue.queue_id] = DAMAGED
            elif queue.snapshot_number > 0:
                manifest.snapshots[queue.queue_id] = queue.snapshot_number
            if queue.media_lsn >= 0:
                manifest.media_lsns[queue.queue_id] = queue.media_lsn
        return manifest

    def _listed(self) -> list[Queue]:
        """The queues that the catalogue on disk may speak of: a restart loads those deleted since, and deletes them."""
        return list(self.engine.queues_by_id.values()) + self.engine.removed_queues

    def write_manifest(self, disk: Disk, manifest: Manifest) -> None:
        replace_file(disk, MANIFEST_PATH, [manifest.encode()])
        for queue in self._removed:
            queue.file.close()
            disk.remove(queue_path(queue.name, queue.queue_id))
        self._removed = []

    def skip_queue(self) -> None:
        """The queue being captured finds no space: it stays as the last snapshot has it. Engine still."""
        if self._captured is not None:
            self._captured.changed = True
            self._captured = None

    def abandon(self) -> None:
        """It cannot be completed, for want of space: the next one must do all that this one was to do. Engine still."""
        engine = self.engine
        self.skip_queue()
        engine.catalogue_changed = True
        engine.removed_queues = self._removed + engine.removed_queues

    def end(self) -> int:
        """The LSN from which a restart must replay."""
        engine = self.engine
        for queue in engine.queues_by_id.values():
            queue.file.give_back()  # those of non-persistent messages only have no snapshot that would do it
        engine.checkpoint_began_lsn = self._began_lsn
        lsn: i64 = engine.journal.durable_lsn()
        for queue in self._listed():
            if (
                (queue.changed or queue.deleted)
                and not queue.is_temporary
                and not queue.damaged
                and queue.replay_lsn < lsn
            ):
                lsn = queue.replay_lsn
        for unit in engine.units_of_work.values():
            if 0 <= unit.first_lsn < lsn:
                lsn = unit.first_lsn
        if engine.catalogue_changed and engine.catalogue_lsn < lsn:
            lsn = engine.catalogue_lsn
        return lsn


def relog_prepared(engine: Engine) -> None:
    """Write the records of prepared units again at the journal's end, so that they do not hold its start back.

    Each at most once between two complete checkpoints: those that fail for want of space must not make it worse.
    """
    for unit in engine.units_of_work.values():
        if unit.state == PREPARED and unit.first_lsn < engine.checkpoint_began_lsn and not unit.missing_queues:
            try:
                _relog(engine, unit)
            except QueueFileDamaged:
                continue  # its old records go on to count


def _relog(engine: Engine, unit: UnitOfWork) -> None:
    """Write a unit again. When there is not room for all of it, its old records go on to count."""
    first: i64 = engine.journal.end_lsn()
    for entry in unit.entries:
        if entry.is_persistent and not entry.queue.deleted:
            if engine.journal.room_bytes() < JOURNAL_MARGIN_BYTES:
                return
            if not entry.is_put:
                engine.journal.append(GET, get_head(unit.number, entry.queue.queue_id, entry.seq), b"", b"")
            elif not _relog_put(engine, unit, entry):
                return
    if engine.journal.room_bytes() >= JOURNAL_MARGIN_BYTES:
        engine.journal.append(PREPARE, number_head(unit.number) + unit.xid, b"", b"")
        unit.first_lsn = first


def _relog_put(engine: Engine, unit: UnitOfWork, entry: Entry) -> bool:
    queue = entry.queue
    message = queue.load(entry.slot)
    if engine.journal.room_bytes() < message.size_bytes() + JOURNAL_MARGIN_BYTES:
        return False
    head = put_head(
        unit.number,
        queue.queue_id,
        entry.seq,
        lasting_flags(queue.slots.flags[entry.slot]),
        queue.slots.expiries[entry.slot],
        len(message.properties),
    )
    engine.journal.append(PUT, head, message.md + message.properties, message.body)
    return True


# -- the catalogue ---------------------------------------------------------------


def encode_catalogue(engine: Engine) -> bytes:
    """All definitions that outlive a restart: a header, (queue id, length, definition) one by one, and a checksum."""
    writer = BytesWriter()
    write_i64_le(writer, _CATALOGUE_MAGIC)
    write_i64_le(writer, _VERSION)
    _add_definition(writer, 0, engine.manager)
    for object_type, table in engine.definitions.items():
        if object_type != ObjectType.QLOCAL:
            for definition in table.values():
                _add_definition(writer, 0, definition)
    for queue in engine.queues_by_id.values():
        if not queue.is_temporary:
            _add_definition(writer, queue.queue_id, queue.definition)
    body = writer.getvalue()
    tail = BytesWriter()
    write_i64_le(tail, crc32(body))
    return body + tail.getvalue()


def _add_definition(writer: BytesWriter, queue_id: i64, definition: Definition) -> None:
    encoded = definition.encode()
    write_i64_le(writer, queue_id)
    write_i64_le(writer, len(encoded))
    writer.write(encoded)


def read_catalogue(disk: Disk) -> list[tuple[int, Definition]]:
    """The definitions as of the last checkpoint, with the ids of local queues."""
    if not disk.exists(CATALOGUE_PATH):
        raise SnapshotDamaged(f"{CATALOGUE_PATH} is missing")
    file = disk.open(CATALOGUE_PATH, False)
    data = file.read_at(0, file.size_bytes())
    file.close()
    if len(data) < 24 or read_i64_le(data, 0) != _CATALOGUE_MAGIC:
        raise SnapshotDamaged(f"{CATALOGUE_PATH}: no header at offset 0")
    if read_i64_le(data, 8) != _VERSION:
        raise SnapshotDamaged(f"{CATALOGUE_PATH}: format version {read_i64_le(data, 8)} at offset 8 is not {_VERSION}")
    checksum: i64 = crc32(memoryview(data)[:-8])
    if read_i64_le(data, len(data) - 8) != checksum:
        raise SnapshotDamaged(f"{CATALOGUE_PATH}: the checksum at offset {len(data) - 8} does not match")
    found: list[tuple[int, Definition]] = []
    at: i64 = 16
    while at < len(data) - 8:
        queue_id: i64 = read_i64_le(data, at)
        length: i64 = read_i64_le(data, at + 8)
        found.append((queue_id, Definition.decode(data[at + 16 : at + 16 + length])))
        at += 16 + length
    return found
