"""Restart: restores the state of the engine from the last checkpoint and the journal after it.

Catalogue and snapshots of queues are loaded first, then every record that they do not reflect is replayed. A unit of
work takes effect at its commit record: its operations are applied to a queue when that record is behind the queue's
snapshot. Units neither committed nor prepared when the journal ended are backed out, and that is journalled.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import Engine, queue_path
from ostler.engine.message.message import Message
from ostler.engine.objects import read_typed_name
from ostler.engine.pubsub import retained
from ostler.engine.pubsub.end_subscription import delete_orphaned_queues
from ostler.engine.pubsub.publish_record import read_publication
from ostler.engine.queue.queue import SPILL_BATCH_BYTES, Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.slots import AVAILABLE
from ostler.engine.recovery.backup_records import CF_BACKUP_BEGIN, CF_BACKUP_END, CF_BACKUP_ENTRIES, MEMBER_JOINED
from ostler.engine.recovery.checkpoint import (
    CATALOGUE_PATH,
    CATALOGUE_VERSION,
    DAMAGED,
    MANIFEST_PATH,
    CheckpointManifest,
    check_catalogue,
    check_instance,
    check_manifest,
    read_catalogue,
    read_manifest,
    write_instance,
)
from ostler.engine.recovery.checkpoint_reserve import file_bytes
from ostler.engine.recovery.checkpoint_space import definition_count, reclaim_space
from ostler.engine.recovery.records import (
    BACK_OUT,
    CLEAR,
    COMMIT,
    DEFINE,
    DELETE,
    GET,
    IMAGE_BEGIN,
    IMAGE_END,
    IMAGE_MESSAGE,
    PREPARE,
    PUBLISH,
    PUT,
    PutRecord,
    read_get,
    read_number,
    read_put,
    read_removed,
)
from ostler.engine.recovery.shared_records import (
    CANCEL,
    MEMBER_START,
    PEER_BACK_OUT,
    PEER_COMMIT,
    SHARED_GET,
    SHARED_PREPARE,
    SHARED_PUT,
    is_alone,
    note_logged,
    note_start,
    read_cancel,
    read_logged,
    read_member_start,
    read_shared_prepare,
    read_start,
)
from ostler.engine.recovery.snapshot import FilesUnrelated, SnapshotDamaged, load, slots_path
from ostler.engine.syncpoint import back_out_unit
from ostler.engine.unit_of_work import ACTIVE, PREPARED, Entry, UnitOfWork
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.disk import DiskFull

_COMMIT_BYTES: Final = 8  # of a commit that removes nothing
# The slot of a message that a unit got and that is not there: a later snapshot reflects the end of the unit.
_ABSENT: Final = -2


class JournalInconsistent(Exception):
    """A record refers to a message that should be there and is not. Nothing is guessed: the start is refused.

    `lsn` is the end of that record.
    """

    def __init__(self, what: str, lsn: int) -> None:
        super().__init__(what)
        self.lsn = lsn


@final
class JournalReplay:
    """Call `begin`, then `record` for each record in order, then `check_end` and `finish`."""

    def __init__(self, engine: Engine, keeps_bodies: bool = True, restores_nonpersistent: bool = True) -> None:
        """Without bodies the replay only checks consistency, and needs little memory.

        A copy that follows restores no non-persistent messages of an orderly end (NPMCLASS): its leader has none of
        them.
        """
        self.engine = engine
        self.keeps_bodies = keeps_bodies
        self.restores_nonpersistent = restores_nonpersistent
        self.manifest = CheckpointManifest()
        # Checkpoints of a follower are taken while units are open: they count those of the engine.
        self.units: dict[int, UnitOfWork] = engine.units_of_work
        self._images: dict[int, int] = {}  # queue id -> start of a media image that is not complete yet
        # Records of prepared units that a checkpoint writes again: queue, sequence number, LSN before.
        self._rewritten: dict[int, list[tuple[int, int, int]]] = {}
        self.previous_lsn: i64 = 0  # end of the record before
        self.slot_of: dict[int, dict[int, int]] = {}  # queue id -> sequence number -> slot, once needed
        self.messages: i64 = 0
        self.backed_out: i64 = 0
        self.in_doubt: i64 = 0
        self.was_orderly = False
        self.has_instance = False  # the directory records the identity of its log, which older releases did not
        self.deleted: dict[int, str] = {}  # queue id -> directory, of all queues that records delete
        self._catalogue_written_lsn: i64 = 0  # of the catalogue itself, which may be later than the manifest
        self._unknown: set[int] = set()  # ids of queues that records refer to but the catalogue does not contain
        self.is_disk_full = False  # messages beyond the buffers stay in memory

    def begin(self, identity: bytes, checkpoint_number: i64, restart_lsn: i64) -> None:
        """Load the last checkpoint.

        The log has this identity, begins at `restart_lsn`, and has recorded checkpoint `checkpoint_number` as complete.
        Raises SnapshotDamaged, FilesUnrelated and FormatNewer.
        """
        engine = self.engine
        engine.identity = identity
        self.previous_lsn = restart_lsn
        self.manifest = read_manifest(engine.disk)
        manifest = self.manifest
        self.has_instance = check_instance(engine.disk, manifest, identity)
        check_manifest(manifest, identity, checkpoint_number)
        if restart_lsn > 0 and manifest.number == 0:
            raise SnapshotDamaged(f"{MANIFEST_PATH} is missing, but the log begins behind a checkpoint")
        self.was_orderly = manifest.orderly
        engine.checkpoint_number = manifest.number
        engine.catalogue_lsn = manifest.catalogue_lsn
        engine.next_queue_id = manifest.next_queue_id
        engine.next_unit_of_work = manifest.next_unit_of_work
        # An interrupted first checkpoint may leave a catalogue without a manifest, never the other way round.
        has_catalogue: bool = manifest.number > 0 or engine.disk.exists(CATALOGUE_PATH)
        if has_catalogue:
            catalogue = read_catalogue(engine.disk)
            check_catalogue(catalogue, manifest, identity)
            for queue_id, definition in catalogue.definitions:
                apply.define(engine, definition, queue_id)
                if queue_id:
                    self._load_queue(engine.queues_by_id[queue_id])
            engine.catalogue_number = catalogue.number
            self._catalogue_written_lsn = catalogue.lsn
            engine.catalogue_changed = catalogue.version < CATALOGUE_VERSION
        else:
            engine.catalogue_changed = False
        engine.reserve.catalogue_bytes = file_bytes(engine.disk, CATALOGUE_PATH)
        engine.reserve.catalogue_definitions = definition_count(engine)

    def check_end(self, end_lsn: i64) -> None:
        """Check, at the end of the journal, that it covers all files and that all queues are accounted for.

        Nothing was changed so far. Raises FilesUnrelated.
        """
        engine = self.engine
        manifest = self.manifest
        if manifest.log_lsn > end_lsn:
            raise FilesUnrelated(
                f"{MANIFEST_PATH} is newer than the log: it was written when the log had reached LSN "
                f"{manifest.log_lsn} (offset 88), and the log ends at {end_lsn}"
            )
        if self._catalogue_written_lsn > end_lsn:
            raise FilesUnrelated(
                f"{CATALOGUE_PATH} is newer than the log: it refers to LSN {self._catalogue_written_lsn} (offset 40), "
                f"and the log ends at {end_lsn}"
            )
        for queue in engine.queues_by_id.values():
            if queue.snapshot_lsn > end_lsn and not queue.damaged:
                raise FilesUnrelated(
                    f"{slots_path(queue)} is newer than the log: it refers to LSN {queue.snapshot_lsn} (offset 32), "
                    f"and the log ends at {end_lsn}"
                )
        for queue_id in [*manifest.snapshots, *self._unknown]:
            if queue_id not in engine.queues_by_id and queue_id not in self.deleted:
                who = MANIFEST_PATH if queue_id in manifest.snapshots else "the log"
                raise FilesUnrelated(
                    f"{CATALOGUE_PATH} is older than the rest: {who} refers to queue {queue_id}, which has no "
                    "definition, and no record deletes it"
                )

    def files_lsn(self) -> int:
        """Return the latest LSN that a file speaks of. The journal reaches to there at least."""
        lsn: i64 = max(self.manifest.log_lsn, self._catalogue_written_lsn)
        for queue in self.engine.queues_by_id.values():
            if not queue.damaged:
                lsn = max(lsn, queue.snapshot_lsn)
        return lsn

    def _load_queue(self, queue: Queue) -> None:
        manifest = self.manifest
        queue.media_lsn = manifest.media_lsns.get(queue.queue_id, -1)
        listed = manifest.snapshots.get(queue.queue_id, 0)
        restores: bool = manifest.orderly and self.restores_nonpersistent
        try:
            if listed == DAMAGED:
                raise SnapshotDamaged(f"{slots_path(queue)}: damaged already at checkpoint {manifest.number}")
            load(self.engine.disk, self.engine.identity, queue, listed, manifest.number, restores)
        except (SnapshotDamaged, QueueFileDamaged) as damage:
            self.engine.mark_damaged(queue, str(damage))
        if queue.snapshot_number > self.engine.checkpoint_number:
            self.engine.checkpoint_number = queue.snapshot_number

    # -- records ---------------------------------------------------------------

    def record(self, kind: i64, lsn: i64, payload: bytes) -> None:
        if kind == PUT:
            self._put(lsn, read_put(payload))
        elif kind == PUBLISH:
            for copy in read_publication(payload):
                self._put(lsn, copy)
        elif kind == GET:
            self._get(lsn, payload)
        elif kind == COMMIT:
            self._commit(lsn, read_number(payload))
            if len(payload) > _COMMIT_BYTES:
                self._replace(lsn, payload)
        elif kind == BACK_OUT:
            self._back_out(lsn, read_number(payload))
        elif kind == PREPARE:
            self._prepare(payload)
        elif kind == DEFINE:
            self._define(lsn, payload)
        elif kind == DELETE:
            self._delete(lsn, payload)
        elif kind == IMAGE_BEGIN or kind == IMAGE_END:
            self._image(kind, read_number(payload))
        elif kind == CLEAR:
            queue = self.engine.queues_by_id.get(read_number(payload))
            if queue is not None and not queue.damaged and lsn > queue.snapshot_lsn:
                apply.clear(self.engine, queue)
                self.slot_of.pop(queue.queue_id, None)
        elif kind != IMAGE_MESSAGE:
            self._shared(kind, lsn, payload)
        self.previous_lsn = lsn

    def _shared(self, kind: i64, lsn: i64, payload: bytes) -> None:
        """Take over what a member of a queue-sharing group has to ask the facility. Messages are not restored here."""
        member = self.engine.member
        if kind == SHARED_PUT:
            number = read_number(payload)
            if number != 0:
                self._unit(number).shared_start = read_start(payload)
            else:
                note_logged(member, read_logged(payload), self.previous_lsn)
        elif kind == SHARED_GET:
            unit = self._unit(read_number(payload))
            unit.shared_start = read_start(payload)
            if is_alone(payload):
                apply.prepare(unit, b"")
        elif kind == CANCEL:
            cancelled = read_cancel(payload)
            if cancelled.logged != 0:
                member.cancelled.add(cancelled.logged)
        elif kind == SHARED_PREPARE:
            self._prepare_shared(payload)
        elif kind == MEMBER_START:
            note_start(member, read_member_start(payload), self.previous_lsn)
        elif kind not in (
            PEER_BACK_OUT,
            PEER_COMMIT,
            CF_BACKUP_BEGIN,
            CF_BACKUP_ENTRIES,
            CF_BACKUP_END,
            MEMBER_JOINED,
        ):
            raise JournalInconsistent(
                f"the record before LSN {lsn} is of kind {kind}, which a newer release has written. Start the queue "
                "manager with that release",
                lsn,
            )

    def _prepare_shared(self, payload: bytes) -> None:
        record = read_shared_prepare(payload)
        unit = self._unit(record.unit_of_work)
        unit.shared_start = record.start
        if unit.state == PREPARED:
            _take_order(unit, self._rewritten.pop(unit.number, []))
            if not unit.entries:
                unit.first_lsn = self.previous_lsn
        else:
            _drop_repeated(unit)
        apply.prepare(unit, record.xid)

    def _image(self, kind: i64, queue_id: int) -> None:
        """Note a media image once it is complete: records before its begin are not needed for that queue any more."""
        queue = self.engine.queues_by_id.get(queue_id)
        if kind == IMAGE_BEGIN:
            lsn: i64 = self.previous_lsn
            for unit in self.units.values():
                if 0 <= unit.first_lsn < lsn:
                    lsn = unit.first_lsn
            self._images[queue_id] = lsn
        elif queue is not None and queue_id in self._images:
            queue.media_lsn = self._images.pop(queue_id)

    def _unit(self, number: int) -> UnitOfWork:
        unit = self.units.get(number)
        if unit is None:
            unit = UnitOfWork(number)
            unit.first_lsn = self.previous_lsn
            self.units[number] = unit
            if number >= self.engine.next_unit_of_work:
                self.engine.next_unit_of_work = number + 1
        return unit

    def _put(self, lsn: i64, record: PutRecord) -> None:
        queue = self.engine.queues_by_id.get(record.queue_id)
        if record.unit_of_work >= self.engine.next_unit_of_work:
            self.engine.next_unit_of_work = record.unit_of_work + 1
        if queue is None:
            self._unknown.add(record.queue_id)
            return
        if self._is_queue_damaged(queue, record.unit_of_work):
            return
        if record.seq >= queue.next_seq:
            queue.next_seq = record.seq + 1
        if record.unit_of_work == 0:
            if lsn <= queue.snapshot_lsn:
                return
            message = self._message(queue, record)
            self._index(queue, record.seq, apply.put(queue, message, record.flags, record.expiry_ms))
            self.messages += 1
            return
        unit = self._unit(record.unit_of_work)
        if self._is_rewritten(unit, queue, record.seq):
            return
        message = self._message(queue, record)
        apply.arrive(queue)
        apply.put_in_unit(queue, message, record.flags, record.expiry_ms, unit, True)

    def _is_rewritten(self, unit: UnitOfWork, queue: Queue, seq: i64) -> bool:
        """Return True for a record that a checkpoint has written again, because its unit is prepared."""
        if unit.state != PREPARED:
            return False
        # When the journal begins behind the first records, some of them are new here.
        rewritten = self._rewritten.setdefault(unit.number, [])
        rewritten.append((int(queue.queue_id), int(seq), int(self.previous_lsn)))
        return unit.has(queue, seq)

    def _is_queue_damaged(self, queue: Queue, number: int) -> bool:
        """Return True when a record cannot be applied because its queue is damaged.

        The unit of work records such a queue, for a later rebuild.
        """
        if queue.damaged and number:
            missing = self._unit(number).missing_queues
            if queue.queue_id not in missing:
                missing.append(queue.queue_id)
        return queue.damaged != ""

    def _message(self, queue: Queue, record: PutRecord) -> Message:
        """Return the message of a record, when the queue's buffers have room for it."""
        if queue.spill_bytes >= SPILL_BATCH_BYTES and not self.is_disk_full:
            self._spill(queue)
        if self.keeps_bodies:
            return Message(record.md, record.properties, record.body, record.seq)
        return Message(record.md, b"", b"", record.seq)

    def _spill(self, queue: Queue) -> None:
        while True:
            try:
                queue.write_spill()
                return
            except DiskFull:
                if not reclaim_space(self.engine):
                    # The messages are in the log and stay in memory: only gets can empty a full disk.
                    self.is_disk_full = True
                    return

    def _get(self, lsn: i64, payload: bytes) -> None:
        record = read_get(payload)
        queue = self.engine.queues_by_id.get(record.queue_id)
        if record.unit_of_work >= self.engine.next_unit_of_work:
            self.engine.next_unit_of_work = record.unit_of_work + 1
        if queue is None or self._is_queue_damaged(queue, record.unit_of_work):
            return
        if record.unit_of_work != 0:
            unit = self._unit(record.unit_of_work)
            if not self._is_rewritten(unit, queue, record.seq):
                self._get_in_unit(queue, record.seq, unit)
        elif lsn > queue.snapshot_lsn:
            self._remove(queue, record.seq, lsn)

    def _get_in_unit(self, queue: Queue, seq: i64, unit: UnitOfWork) -> None:
        known = self._slots(queue)
        slot = known.pop(seq, _ABSENT)
        if slot == _ABSENT:
            unit.entries.append(Entry(queue, _ABSENT, seq, False, True))
        else:
            apply.get_in_unit(queue, slot, seq, unit, True)

    def _commit(self, lsn: i64, number: int) -> None:
        unit = self.units.pop(number, None)
        if unit is None:
            return
        for entry in unit.entries:
            queue = entry.queue
            if queue.deleted or queue.damaged:
                continue
            counts: bool = lsn > queue.snapshot_lsn
            if counts and unit.first_lsn < queue.replay_lsn:
                queue.replay_lsn = unit.first_lsn  # its snapshot does not reflect the unit
            if not entry.is_put:
                if entry.slot != _ABSENT:
                    apply.commit_get(queue, entry)
                elif counts:
                    raise _missing(queue, entry.seq, lsn)
            elif counts:
                apply.commit_put(queue, entry, 0)
                self._index(queue, entry.seq, entry.slot)
                self.messages += 1
            else:
                apply.back_out_put(queue, entry)  # the snapshot has the message

    def _replace(self, lsn: i64, payload: bytes) -> None:
        """Remove retained publications that those of the unit replaced."""
        for queue_id, seq in read_removed(payload):
            queue = self.engine.queues_by_id.get(queue_id)
            if queue is not None and not queue.damaged and lsn > queue.snapshot_lsn:
                self._remove(queue, seq, lsn)

    def _back_out(self, lsn: i64, number: int) -> None:
        unit = self.units.pop(number, None)
        if unit is None:
            return
        for entry in unit.entries:
            queue = entry.queue
            if queue.deleted or queue.damaged:
                continue
            if entry.is_put:
                apply.back_out_put(queue, entry)
            elif entry.slot != _ABSENT:
                apply.back_out_get(queue, entry, lsn > queue.snapshot_lsn)
                self._index(queue, entry.seq, entry.slot)
            elif lsn > queue.snapshot_lsn:
                raise _missing(queue, entry.seq, lsn)

    def _prepare(self, payload: bytes) -> None:
        unit = self._unit(read_number(payload))
        if unit.state == PREPARED:
            _take_order(unit, self._rewritten.pop(unit.number, []))
        else:
            _drop_repeated(unit)
        apply.prepare(unit, payload[8:])

    def _define(self, lsn: i64, payload: bytes) -> None:
        engine = self.engine
        if lsn <= engine.catalogue_lsn:
            return
        queue_id = read_number(payload)
        try:
            definition = Definition.decode(payload[8:])
        except ValueError as error:
            raise JournalInconsistent(f"the record before LSN {lsn} has {error}", lsn) from None
        is_new: bool = queue_id != 0 and queue_id not in engine.queues_by_id
        apply.define(engine, definition, queue_id)
        if is_new:
            queue = engine.queues_by_id[queue_id]
            queue.snapshot_lsn = lsn
            queue.replay_lsn = lsn
            self._load_queue(queue)
        if queue_id and engine.queues_by_id[queue_id].media_lsn < 0:
            engine.queues_by_id[queue_id].media_lsn = self.previous_lsn

    def _delete(self, lsn: i64, payload: bytes) -> None:
        engine = self.engine
        queue_id = read_number(payload)
        object_type, name = read_typed_name(payload[8:])
        if object_type == ObjectType.QLOCAL:
            self.deleted[queue_id] = queue_path(name, queue_id)
        if lsn <= engine.catalogue_lsn:
            return
        if object_type == ObjectType.QLOCAL:
            engine.catalogue_changed = True
            queue = engine.queues_by_id.get(queue_id)
            if queue is not None:
                apply.delete_queue(engine, queue)
        else:
            apply.delete(engine, object_type, name)

    # -- finding messages ---------------------------------------------------------------

    def _index(self, queue: Queue, seq: i64, slot: i64) -> None:
        known = self.slot_of.get(queue.queue_id)
        if known is not None:
            known[seq] = slot

    def _slots(self, queue: Queue) -> dict[int, int]:
        """Return the slots of available messages by sequence number."""
        known = self.slot_of.get(queue.queue_id)
        if known is None:
            known = _available_slots(queue)
            self.slot_of[queue.queue_id] = known
        return known

    def _remove(self, queue: Queue, seq: i64, lsn: i64) -> None:
        slot = self._slots(queue).pop(seq, _ABSENT)
        if slot == _ABSENT:
            raise _missing(queue, seq, lsn)
        apply.get(queue, slot)

    # -- the end ---------------------------------------------------------------

    def finish(self) -> None:
        """Resolve the open units of work, when the journal has ended and can be appended to."""
        engine = self.engine
        if not self.has_instance:
            write_instance(engine.disk, engine.identity)
        if not self.manifest.identity:
            self.manifest.identity = engine.identity
        for unit in list(self.units.values()):
            entries: list[Entry] = []
            for entry in unit.entries:
                if not entry.queue.deleted and not entry.queue.damaged:
                    if entry.slot == _ABSENT:
                        raise _missing(entry.queue, entry.seq, 0)
                    if unit.first_lsn < entry.queue.replay_lsn:
                        entry.queue.replay_lsn = unit.first_lsn
                    entries.append(entry)
            unit.entries = entries
            if unit.state == ACTIVE:
                self.backed_out += 1
                back_out_unit(engine, unit)
            elif unit.xid or unit.shared_start == 0:
                self.in_doubt += 1  # the others are settled when the member has joined its group
        for queue in engine.queues_by_id.values():
            queue.counters.window_high = queue.depth
            queue.counters.window_low = queue.depth
        self.slot_of = {}
        retained.rebuild(engine)
        delete_orphaned_queues(engine)


def _drop_repeated(unit: UnitOfWork) -> None:
    """Leave one entry for each message of a unit that has just been prepared, in the order of its last records.

    The journal may begin behind its first records, and have an attempt to write them again that was not completed
    before the one that was.
    """
    kept: dict[tuple[int, int], Entry] = {}
    for entry in unit.entries:
        key = (int(entry.queue.queue_id), int(entry.seq))
        earlier = kept.pop(key, None)
        if earlier is not None and entry.is_put:
            if not entry.queue.deleted and not entry.queue.damaged:
                apply.back_out_put(entry.queue, earlier)
        elif earlier is not None and earlier.slot != _ABSENT:
            kept[key] = earlier  # the message was got by the first of them
            continue
        kept[key] = entry
    if len(kept) < len(unit.entries):
        unit.entries = list(kept.values())


def _take_order(unit: UnitOfWork, rewritten: list[tuple[int, int, int]]) -> None:
    """All records of a prepared unit have been written again: those before are not needed any more.

    The last ones count: an attempt before may have found no room, or its leader has ended. Their order counts, too,
    because the journal may have begun in the middle of the first ones.
    """
    entries = {(int(entry.queue.queue_id), int(entry.seq)): entry for entry in unit.entries if not entry.queue.deleted}
    last = rewritten[len(rewritten) - len(entries) :] if len(rewritten) >= len(entries) else []
    order = [(queue_id, seq) for queue_id, seq, _ in last]
    if entries and set(order) == set(entries):
        unit.first_lsn = last[0][2]
        unit.entries = [entries[key] for key in order] + [each for each in unit.entries if each.queue.deleted]


def _missing(queue: Queue, seq: i64, lsn: i64) -> JournalInconsistent:
    return JournalInconsistent(
        f"the record before LSN {lsn} removes message {seq} of queue {queue.name}, which is not there", lsn
    )


def _available_slots(queue: Queue) -> dict[int, int]:
    slots = queue.slots
    known: dict[int, int] = {}
    slot: i64 = 0
    while slot < len(slots.resident):
        if slots.state(slot) == AVAILABLE:
            known[slots.seqs[slot]] = slot
        slot += 1
    return known
