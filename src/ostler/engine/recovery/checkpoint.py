"""Checkpoints: they allow the start of the journal to advance.

A checkpoint is fuzzy: queues are captured one after the other while work goes on, and each snapshot has the LSN that it
reflects. It is complete when its manifest is durable: the list of the valid snapshots, and the numbers that continue
after a restart. The object catalogue is saved in the same way.

Every file carries the identity of the queue manager's log and the number of the checkpoint that wrote it, to tell files
of another queue manager or of another time from the state that a crash leaves. A checkpoint writes snapshots, then the
catalogue, then the manifest, then its number into the log's control file. So after a crash each file may be newer than
the later ones of this order, but never older:

    control file  <=  manifest;    catalogue and snapshots named by the manifest  <=  catalogue, snapshots
"""

from __future__ import annotations

from typing import Final, final
from zlib import crc32

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64

from ostler.engine.core import JOURNAL_MARGIN_BYTES, QUEUES_PATH, Engine, queue_path
from ostler.engine.journal_records import (
    append_get,
    append_member_start,
    append_prepare,
    append_put,
    append_shared_prepare,
)
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.slots import extent_length, lasting_flags
from ostler.engine.recovery.checkpoint_reserve import QUEUE_BYTES
from ostler.engine.recovery.checkpoint_space import definition_count
from ostler.engine.recovery.snapshot import (
    FilesUnrelated,
    Snapshot,
    SnapshotDamaged,
    capture,
    check_version,
    read_whole,
    replace_file,
)
from ostler.engine.unit_of_work import PREPARED, Entry, UnitOfWork
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.disk import DescriptorsExhausted, Disk, DiskFull
from ostler.model.errors import MQError

MANIFEST_PATH: Final = "checkpoint"
CATALOGUE_PATH: Final = "objects"
INSTANCE_PATH: Final = "instance"
_MAGIC: Final = 0x314B4843_4C54534F  # "OSTLCHK1"
_CATALOGUE_MAGIC: Final = 0x31544143_4C54534F  # "OSTLCAT1"
_INSTANCE_MAGIC: Final = 0x31534E49_4C54534F  # "OSTLINS1"
MANIFEST_VERSION: Final = 2
CATALOGUE_VERSION: Final = 2
# Of the directory as a whole; the release before version 2 had no such file. Members of a queue-sharing group have
# version 3: older releases do not know the records in their logs, and refuse to start with them.
INSTANCE_VERSION: Final = 2
MEMBER_INSTANCE_VERSION: Final = 3
_HEAD_BYTES_1: Final = 64
_HEAD_BYTES: Final = 96
_IDENTITY_BYTES: Final = 16

# Instead of a snapshot number: the queue was damaged when the checkpoint was taken, whatever its files contain.
DAMAGED: Final = -1


@final
class CheckpointManifest:
    def __init__(self) -> None:
        self.number: i64 = 0
        self.orderly = False
        self.catalogue_lsn: i64 = 0
        self.next_queue_id: i64 = 1
        self.next_unit_of_work: i64 = 1
        self.snapshots: dict[int, int] = {}  # queue id -> snapshot number
        self.media_lsns: dict[int, int] = {}  # queue id -> start of its media image
        self.identity: bytes = b""
        self.catalogue_number: i64 = 0  # the catalogue must be of this checkpoint or a later one
        self.log_lsn: i64 = 0  # up to which the log was durable
        self.version: i64 = MANIFEST_VERSION

    def size_bytes(self) -> int:
        """Return the approximate size of its file."""
        return _HEAD_BYTES + (2 * len(self.snapshots) + 2 * len(self.media_lsns) + 1) * 8

    def encode(self) -> bytes:
        writer = BytesWriter()
        write_i64_le(writer, _MAGIC)
        write_i64_le(writer, MANIFEST_VERSION)
        write_i64_le(writer, self.number)
        write_i64_le(writer, 1 if self.orderly else 0)
        write_i64_le(writer, self.catalogue_lsn)
        write_i64_le(writer, self.next_queue_id)
        write_i64_le(writer, self.next_unit_of_work)
        write_i64_le(writer, len(self.snapshots))
        assert len(self.identity) == _IDENTITY_BYTES
        writer.write(self.identity)
        write_i64_le(writer, self.catalogue_number)
        write_i64_le(writer, self.log_lsn)
        for queue_id, number in self.snapshots.items():
            write_i64_le(writer, queue_id)
            write_i64_le(writer, number)
        for queue_id, lsn in self.media_lsns.items():
            write_i64_le(writer, queue_id)
            write_i64_le(writer, lsn)
        return _with_checksum(writer.getvalue())


def _with_checksum(body: bytes) -> bytes:
    tail = BytesWriter()
    write_i64_le(tail, crc32(body))
    return body + tail.getvalue()


def _read_checked(disk: Disk, path: str, magic: i64, head_bytes: i64, version_max: i64) -> bytes:
    """Read a file that ends with its checksum, as all versions of its format do. Raises SnapshotDamaged."""
    return _checked(read_whole(disk, path), path, magic, head_bytes, version_max)


def _checked(data: bytes, path: str, magic: i64, head_bytes: i64, version_max: i64) -> bytes:
    if len(data) < head_bytes + 8 or read_i64_le(data, 0) != magic:
        raise SnapshotDamaged(f"{path}: no header at offset 0")
    checksum: i64 = crc32(memoryview(data)[:-8])
    if read_i64_le(data, len(data) - 8) != checksum:
        raise SnapshotDamaged(f"{path}: the checksum at offset {len(data) - 8} does not match")
    check_version(path, read_i64_le(data, 8), version_max)
    return data


# -- the instance ---------------------------------------------------------------


def write_instance(disk: Disk, identity: bytes, version: i64 = INSTANCE_VERSION) -> None:
    """Record the identity of the log that belongs to this queue manager. It reveals a missing or foreign log."""
    writer = BytesWriter()
    write_i64_le(writer, _INSTANCE_MAGIC)
    write_i64_le(writer, version)
    writer.write(identity)
    replace_file(disk, INSTANCE_PATH, [_with_checksum(writer.getvalue())])


def read_instance(disk: Disk) -> bytes:
    """Return the identity of the log that belongs here; empty when it was never written."""
    if not disk.exists(INSTANCE_PATH):
        return b""
    return _read_checked(disk, INSTANCE_PATH, _INSTANCE_MAGIC, 32, MEMBER_INSTANCE_VERSION)[16:32]


def mark_member(disk: Disk, identity: bytes) -> None:
    """Let older releases refuse this directory: its log has records of a queue-sharing group from now on."""
    if read_i64_le(read_whole(disk, INSTANCE_PATH), 8) < MEMBER_INSTANCE_VERSION:
        write_instance(disk, identity, MEMBER_INSTANCE_VERSION)


# -- the manifest ---------------------------------------------------------------


def read_manifest(disk: Disk) -> CheckpointManifest:
    """Read the manifest of the last complete checkpoint, or return an empty one."""
    manifest = CheckpointManifest()
    if not disk.exists(MANIFEST_PATH):
        return manifest
    data = _read_checked(disk, MANIFEST_PATH, _MAGIC, _HEAD_BYTES_1, MANIFEST_VERSION)
    manifest.version = read_i64_le(data, 8)
    manifest.number = read_i64_le(data, 16)
    manifest.orderly = read_i64_le(data, 24) == 1
    manifest.catalogue_lsn = read_i64_le(data, 32)
    manifest.next_queue_id = read_i64_le(data, 40)
    manifest.next_unit_of_work = read_i64_le(data, 48)
    at: i64 = _HEAD_BYTES_1
    if manifest.version > 1:
        manifest.identity = data[64:80]
        manifest.catalogue_number = read_i64_le(data, 80)
        manifest.log_lsn = read_i64_le(data, 88)
        at = _HEAD_BYTES
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
    """One checkpoint. The owner alternates between calls that require the engine to stand still and others.

    for each queue of `pending()`:
        snapshot = begin_queue(queue)      engine still
        until snapshot.step():             work goes on
            snapshot.copy()                engine still
        force                              work goes on; the journal is forced up to snapshot.lsn
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
        engine.reserve.freed_bytes = 0
        self.number: i64 = engine.checkpoint_number
        self._began_lsn: i64 = engine.journal.end_lsn()
        self._catalogue_lsn: i64 = 0
        self._catalogue_number: i64 = 0
        self._is_catalogue_captured = False  # but not durable yet
        self._captured: Queue | None = None  # whose snapshot is not durable yet
        self._removed: list[Queue] = []

    def pending(self) -> list[int]:
        """Return the ids of queues that changed, or that keep non-persistent messages at an orderly end (NPMCLASS)."""
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
        while True:
            try:
                snapshot = capture(self.engine, queue, self.number, self.orderly and queue.nonpersistent_high)
                break
            except DescriptorsExhausted:
                raise
            except DiskFull:
                if not self.engine.reserve.release(self.engine.disk, queue.unsaved_bytes + QUEUE_BYTES):
                    raise
        self._captured = queue
        queue.file.is_pinned = True
        return snapshot

    def end_queue(self, snapshot: Snapshot) -> None:
        queue = snapshot.queue
        queue.file.is_pinned = False
        queue.file.on_snapshot_durable()
        queue.snapshot_lsn = snapshot.lsn
        queue.replay_lsn = snapshot.replay_lsn
        queue.snapshot_number = snapshot.number
        queue.snapshot_bytes = snapshot.size_bytes()
        self._captured = None

    def begin_catalogue(self) -> bytes:
        """Return the catalogue to write, or nothing when it has not changed."""
        engine = self.engine
        self._catalogue_lsn = engine.catalogue_lsn
        self._catalogue_number = engine.catalogue_number
        # A queue's files may be removed once a catalogue without it is durable.
        self._removed = engine.removed_queues
        engine.removed_queues = []
        if not engine.catalogue_changed:
            return b""
        engine.catalogue_changed = False
        self._is_catalogue_captured = True
        self._catalogue_lsn = engine.journal.end_lsn()
        self._catalogue_number = self.number
        catalogue = encode_catalogue(engine, self.number, self._catalogue_lsn)
        engine.reserve.catalogue_bytes = len(catalogue)
        engine.reserve.catalogue_definitions = definition_count(engine)
        return catalogue

    def write_catalogue(self, disk: Disk, catalogue: bytes) -> None:
        replace_file(disk, CATALOGUE_PATH, [catalogue])
        self._is_catalogue_captured = False

    def begin_manifest(self) -> CheckpointManifest:
        engine = self.engine
        engine.catalogue_lsn = self._catalogue_lsn
        engine.catalogue_number = self._catalogue_number
        for queue in self._removed:
            queue.file.close()  # before its name goes: whoever closes it last frees its space, and that takes long
        manifest = CheckpointManifest()
        manifest.identity = engine.identity
        manifest.catalogue_number = self._catalogue_number
        manifest.log_lsn = engine.journal.durable_lsn()
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
        """Return the queues that the catalogue on disk may contain: a restart loads and deletes those deleted since."""
        return list(self.engine.queues_by_id.values()) + self.engine.removed_queues

    def write_manifest(self, disk: Disk, manifest: CheckpointManifest) -> None:
        replace_file(disk, MANIFEST_PATH, [manifest.encode()])
        for queue in self._removed:
            disk.remove(queue_path(queue.name, queue.queue_id))
        if self._removed:
            # The log may drop the record of the deletion next: the files must not reappear after that.
            disk.force_directory(QUEUES_PATH)
        self._removed = []

    def skip_queue(self) -> None:
        """Skip the captured queue for lack of space: its last snapshot stays valid. Engine still."""
        if self._captured is not None:
            self._captured.changed = True
            self._captured.slots.end_capture()
            self._captured.file.is_pinned = False
            self._captured = None

    def abandon(self) -> None:
        """Give up for lack of space: the next checkpoint must do all the work of this one. Engine still."""
        engine = self.engine
        self.skip_queue()
        if self._is_catalogue_captured:
            engine.catalogue_changed = True
        engine.removed_queues = self._removed + engine.removed_queues

    def end(self) -> int:
        """Complete the checkpoint, and return the LSN from which a restart must replay."""
        engine = self.engine
        for queue in engine.queues_by_id.values():
            queue.file.trim()  # queues of non-persistent messages have no snapshot that does it
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
        kept: i64 = engine.member.keep_lsn()
        if 0 <= kept < lsn:
            lsn = kept
        kept = engine.sharing.oldest_lsn() if engine.sharing is not None else -1
        if 0 <= kept < lsn:
            lsn = kept
        return lsn


def relog_prepared(engine: Engine) -> None:
    """Write the records of prepared units again at the journal's end, so that the journal's start can advance.

    Each is written at most once between two complete checkpoints: checkpoints that fail for lack of space must not
    make the lack worse.
    """
    for unit in engine.units_of_work.values():
        if unit.state == PREPARED and unit.first_lsn < engine.checkpoint_began_lsn and not unit.missing_queues:
            try:
                _relog(engine, unit)
            except QueueFileDamaged:
                continue  # its old records stay valid
    member = engine.member
    if 0 <= member.record_lsn < engine.checkpoint_began_lsn and engine.journal.room_bytes() >= JOURNAL_MARGIN_BYTES:
        append_member_start(engine)


def load_prepared(engine: Engine) -> None:
    """Have the messages read that `relog_prepared` needs next. Raises ReadPending; those that are too many are left."""
    for unit in engine.units_of_work.values():
        if unit.state == PREPARED and unit.first_lsn < engine.checkpoint_began_lsn and not unit.missing_queues:
            by_queue: dict[int, list[int]] = {}
            size_bytes: i64 = 0
            for entry in unit.entries:
                queue = entry.queue
                is_logged: bool = entry.is_put and entry.is_persistent and not queue.deleted
                if is_logged and queue.slots.resident[entry.slot] is None:
                    size_bytes += extent_length(queue.slots.extents[entry.slot])
                    by_queue.setdefault(queue.queue_id, []).append(entry.slot)
            if size_bytes > engine.reads.kept_bytes_max // 2:
                continue
            for queue_id, slots in by_queue.items():
                try:
                    engine.queues_by_id[queue_id].load_all(slots)
                except (QueueFileDamaged, MQError, MemoryError):
                    continue  # it is found again when the unit is written


def _relog(engine: Engine, unit: UnitOfWork) -> None:
    """Write the records of a unit again. When there is not room for all of them, the old ones stay valid."""
    first: i64 = engine.journal.end_lsn()
    for entry in unit.entries:
        if entry.is_persistent and not entry.queue.deleted:
            if engine.journal.room_bytes() < JOURNAL_MARGIN_BYTES:
                return
            if not entry.is_put:
                append_get(engine, entry.queue, entry.seq, unit)
            elif not _relog_put(engine, unit, entry):
                return
    if engine.journal.room_bytes() >= JOURNAL_MARGIN_BYTES:
        start: i64 = _shared_start(engine, unit)
        if start != 0:
            append_shared_prepare(engine, unit, start, unit.xid)
        else:
            append_prepare(engine, unit, unit.xid)
        unit.first_lsn = first


def _shared_start(engine: Engine, unit: UnitOfWork) -> i64:
    """Return the number of the start in the facility's identifier of a unit; 0: it has no shared part.

    What it did on shared queues is in the facility, and in its old records for a recovery of structures: these are kept
    as long as the last backup of a structure needs them, not for a restart.
    """
    if unit.shared_start == 0 and unit.shared is not None:
        return engine.member.start
    return unit.shared_start


def _relog_put(engine: Engine, unit: UnitOfWork, entry: Entry) -> bool:
    queue = entry.queue
    message = queue.load(entry.slot)
    if engine.journal.room_bytes() < message.size_bytes() + JOURNAL_MARGIN_BYTES:
        return False
    flags: i64 = lasting_flags(queue.slots.flags[entry.slot])
    append_put(engine, queue, message, flags, queue.slots.expiries[entry.slot], unit)
    return True


# -- the catalogue ---------------------------------------------------------------


def encode_catalogue(engine: Engine, number: i64, lsn: i64) -> bytes:
    """Encode all definitions that survive a restart: header, (queue id, length, definition) for each, checksum."""
    writer = BytesWriter()
    write_i64_le(writer, _CATALOGUE_MAGIC)
    write_i64_le(writer, CATALOGUE_VERSION)
    assert len(engine.identity) == _IDENTITY_BYTES
    writer.write(engine.identity)
    write_i64_le(writer, number)
    write_i64_le(writer, lsn)
    _add_definition(writer, 0, engine.manager)
    for object_type, table in engine.definitions.items():
        if object_type != ObjectType.QLOCAL:
            for definition in table.values():
                _add_definition(writer, 0, definition)
    for queue in engine.queues_by_id.values():
        if not queue.is_temporary:
            _add_definition(writer, queue.queue_id, queue.definition)
    return _with_checksum(writer.getvalue())


def _add_definition(writer: BytesWriter, queue_id: i64, definition: Definition) -> None:
    encoded = definition.encode()
    write_i64_le(writer, queue_id)
    write_i64_le(writer, len(encoded))
    writer.write(encoded)


@final
class ObjectCatalogue:
    """The definitions at a checkpoint, with the ids of local queues (0 for other objects)."""

    def __init__(self, version: i64, identity: bytes, number: i64, lsn: i64) -> None:
        self.version: Final[i64] = version
        self.identity: Final[bytes] = identity
        self.number: Final[i64] = number
        self.lsn: Final[i64] = lsn
        self.definitions: list[tuple[int, Definition]] = []


def read_catalogue(disk: Disk) -> ObjectCatalogue:
    if not disk.exists(CATALOGUE_PATH):
        raise SnapshotDamaged(f"{CATALOGUE_PATH} is missing")
    return decode_catalogue(read_whole(disk, CATALOGUE_PATH))


def decode_catalogue(data: bytes) -> ObjectCatalogue:
    """Return what `encode_catalogue` has encoded. Raises SnapshotDamaged and FormatNewer."""
    _checked(data, CATALOGUE_PATH, _CATALOGUE_MAGIC, 16, CATALOGUE_VERSION)
    version: i64 = read_i64_le(data, 8)
    at: i64 = 16
    found = ObjectCatalogue(version, b"", 0, 0)
    if version > 1:
        found = ObjectCatalogue(version, data[16:32], read_i64_le(data, 32), read_i64_le(data, 40))
        at = 48
    while at < len(data) - 8:
        queue_id: i64 = read_i64_le(data, at)
        length: i64 = read_i64_le(data, at + 8)
        try:
            found.definitions.append((queue_id, Definition.decode(data[at + 16 : at + 16 + length])))
        except ValueError as error:
            raise SnapshotDamaged(f"{CATALOGUE_PATH}: {error} (offset {at + 16})") from None
        at += 16 + length
    return found


# -- consistency of the files ---------------------------------------------------------------


def check_manifest(manifest: CheckpointManifest, identity: bytes, checkpoint_number: i64) -> None:
    """Raise when a manifest is not of this log, or older than the checkpoint in the log's control file."""
    if manifest.number == 0 and checkpoint_number > 0:
        raise SnapshotDamaged(f"{MANIFEST_PATH} is missing, but the log has recorded checkpoint {checkpoint_number}")
    if manifest.identity and manifest.identity != identity:
        raise FilesUnrelated(f"{MANIFEST_PATH} belongs to another log than the one that is there (offset 64)")
    if manifest.number < checkpoint_number:
        raise FilesUnrelated(
            f"{MANIFEST_PATH} is older than the log: it has checkpoint {manifest.number} (offset 16), and the log "
            f"has recorded checkpoint {checkpoint_number} as complete"
        )


def check_catalogue(catalogue: ObjectCatalogue, manifest: CheckpointManifest, identity: bytes) -> None:
    """Raise when a catalogue is not of this log, or older than the one that the manifest names."""
    if catalogue.identity and catalogue.identity != identity:
        raise FilesUnrelated(f"{CATALOGUE_PATH} belongs to another log than the one that is there (offset 16)")
    if catalogue.number < manifest.catalogue_number:
        raise FilesUnrelated(
            f"{CATALOGUE_PATH} is older than {MANIFEST_PATH}: checkpoint {catalogue.number} wrote it (offset 32), and "
            f"{MANIFEST_PATH} names the one of checkpoint {manifest.catalogue_number} (offset 80)"
        )


def check_instance(disk: Disk, manifest: CheckpointManifest, identity: bytes) -> bool:
    """Raise when a log is not this queue manager's. Returns False when no identity was recorded yet."""
    instance = read_instance(disk)
    if instance and instance != identity:
        raise FilesUnrelated(f"{INSTANCE_PATH} names another log (offset 16) than the one that is there")
    if not instance and manifest.identity:
        raise SnapshotDamaged(f"{INSTANCE_PATH} is missing")
    return instance != b""
