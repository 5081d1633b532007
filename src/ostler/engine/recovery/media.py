"""Media images: copies of a queue in the journal itself, from which it can be rebuilt when its file is lost.

An image is fuzzy: messages are copied in slices while work goes on. The journal's records since the beginning of the
image complete it, and a rebuild takes each message once, be it from the image or from a record.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import JOURNAL_MARGIN_BYTES, Engine
from ostler.engine.journal_records import append_image_begin, append_image_end, append_image_message
from ostler.engine.message.message import Message
from ostler.engine.pubsub import retained
from ostler.engine.pubsub.publish_record import read_publication
from ostler.engine.queue.queue import SPILL_BATCH_BYTES, Queue
from ostler.engine.queue.reads import AHEAD_MESSAGES
from ostler.engine.queue.slots import (
    AVAILABLE,
    GOT_UNCOMMITTED,
    NONE,
    PERSISTENT,
    STATE_MASK,
    lasting_flags,
)
from ostler.engine.recovery.records import (
    BACK_OUT,
    CLEAR,
    COMMIT,
    DEFINE,
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
from ostler.engine.recovery.shared_records import SHARED_PREPARE
from ostler.engine.recovery.snapshot import slots_path
from ostler.engine.unit_of_work import PREPARED, Entry, UnitOfWork
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.errors import LogFull, MQError

_BYTES_PER_STEP: Final = 1 << 20
_BYTES_MIN: Final = 1 << 14


@final
class ImageWriter:
    """Records an image of one queue: call `step` with the engine standing still until it returns True."""

    def __init__(self, engine: Engine, queue: Queue) -> None:
        self.engine = engine
        engine.finish_unit_ends()
        self.queue = queue
        self._slot: i64 = 0
        self._next_seq: i64 = queue.next_seq
        self.messages: i64 = 0
        self.begin_lsn: i64 = engine.journal.end_lsn()
        for unit in engine.units_of_work.values():
            if 0 <= unit.first_lsn < self.begin_lsn:
                self.begin_lsn = unit.first_lsn
        append_image_begin(engine, queue)
        self.end_lsn: i64 = 0

    def step(self) -> bool:
        """Copy up to a megabyte. Raises LogFull when the journal has no room: make some and call again, or give up.

        Until the image is complete and durable, the previous one stays valid.
        """
        queue = self.queue
        journal = self.engine.journal
        limit: i64 = min(journal.room_bytes() // 4, _BYTES_PER_STEP)
        if limit < _BYTES_MIN:
            raise LogFull(self.no_room())
        slots = queue.slots
        copied: i64 = 0
        while self._slot < len(slots.resident) and copied < limit:
            slot: i64 = self._slot
            flags: i64 = slots.flags[slot]
            state: i64 = flags & STATE_MASK
            is_there: bool = state == AVAILABLE or state == GOT_UNCOMMITTED
            if is_there and flags & PERSISTENT and slots.seqs[slot] < self._next_seq:
                self._load_ahead(slot)
                message = queue.load(slot)
                size: i64 = message.size_bytes()
                # One message may be longer than all that is left of the room.
                if journal.room_bytes() < size + JOURNAL_MARGIN_BYTES:
                    if copied > 0:
                        return False
                    raise LogFull(self.no_room())
                append_image_message(self.engine, queue, message, lasting_flags(flags), slots.expiries[slot])
                copied += size
                self.messages += 1
            self._slot += 1
        if self._slot < len(slots.resident):
            return False
        self.end_lsn = append_image_end(self.engine, queue)
        return True

    def no_room(self) -> str:
        """Return the text for an image that does not fit into the log."""
        return (
            f"The recovery log has no room for the next part of an image of {self.queue.name}; {self.messages} of its "
            "messages were recorded. Units of work that are open for long keep the log, or it has too few files."
        )

    def _load_ahead(self, slot: i64) -> None:
        """Have a message read together with those of the next slots. Raises ReadPending, and nothing is lost then."""
        queue = self.queue
        if not self.engine.reads.is_deferring or queue.is_loaded(slot):
            return
        slots: list[int] = []
        while slot < len(queue.slots.resident) and len(slots) < AHEAD_MESSAGES:
            if queue.slots.extents[slot] != NONE and not queue.is_loaded(slot):
                slots.append(slot)
            slot += 1
        queue.load_all(slots)

    def on_durable(self) -> None:
        """Make this the valid image, when the journal is durable up to `end_lsn`."""
        self.queue.media_lsn = self.begin_lsn


def media_lsn(engine: Engine) -> int:
    """Return the LSN from which the journal must be kept for media recovery of all queues."""
    lsn: i64 = engine.journal.durable_lsn()
    for queue in engine.queues_by_id.values():
        if not queue.is_temporary and 0 <= queue.media_lsn < lsn:
            lsn = queue.media_lsn
    if engine.member.number != 0:
        # A structure that was never backed up is recovered from all that the journal has.
        for structure in engine.of_type(ObjectType.CFSTRUCT).values():
            if structure.attributes.get("RECOVER") == mq.MQCFR_YES:
                lsn = min(lsn, engine.member.backup_lsns.get(structure.name, 0))
    return lsn


@final
class MediaRebuild:
    """Fills a queue from its image and the records after it. Call `record` for each, then `finish`."""

    def __init__(self, engine: Engine, queue: Queue) -> None:
        if queue.handles or queue.uncommitted > 0:
            raise MQError(mq.MQRC_OBJECT_IN_USE, f"The queue {queue.name} is open or has uncommitted messages.")
        self.engine = engine
        self.queue = queue
        queue.damaged = f"the media recovery of {queue.name} was not completed"
        self.began = False
        self.complete = False
        self._slot_of: dict[int, int] = {}
        self._units: dict[int, UnitOfWork] = {}
        queue.file.close()
        engine.disk.remove(queue.file.path)
        engine.disk.remove(slots_path(queue))
        apply.reset(queue)

    def record(self, kind: i64, lsn: i64, payload: bytes) -> None:
        if kind == PUT or kind == IMAGE_MESSAGE:
            self._put(read_put(payload))
        elif kind == PUBLISH:
            for copy in read_publication(payload):
                self._put(copy)
        elif kind == GET:
            self._get(payload)
        elif kind == COMMIT:
            self._end(read_number(payload), True)
            for queue_id, seq in read_removed(payload):
                if queue_id == self.queue.queue_id and self.began:
                    self._remove(seq)
        elif kind == BACK_OUT:
            self._end(read_number(payload), False)
        elif kind == PREPARE or kind == SHARED_PREPARE:
            self._unit(read_number(payload)).state = PREPARED
        elif kind in (IMAGE_BEGIN, IMAGE_END, CLEAR) and read_number(payload) == self.queue.queue_id:
            if kind == IMAGE_BEGIN:
                self.began = True
            elif kind == IMAGE_END:
                self.complete = True
            elif self.began:
                apply.clear(self.engine, self.queue)
                self._slot_of = {}
        elif kind == DEFINE and read_number(payload) == self.queue.queue_id and not self.began:
            # Without an image, the queue's whole history is in the journal.
            self.began = True
            self.complete = True

    def _put(self, record: PutRecord) -> None:
        queue = self.queue
        if record.queue_id != queue.queue_id:
            return
        if record.seq >= queue.next_seq:
            queue.next_seq = record.seq + 1
        if record.unit_of_work:
            unit = self._unit(record.unit_of_work)
            if unit.state == PREPARED and unit.has(queue, record.seq):
                return  # written again by a checkpoint
            message = self._message(record)
            apply.arrive(queue)
            apply.put_in_unit(queue, message, record.flags, record.expiry_ms, unit, True)
        elif self.began and record.seq not in self._slot_of:
            message = self._message(record)
            self._slot_of[record.seq] = apply.put(queue, message, record.flags, record.expiry_ms)

    def _message(self, record: PutRecord) -> Message:
        """Return the message of a record, when the queue's buffers have room for it."""
        if self.queue.spill_bytes >= SPILL_BATCH_BYTES:
            self.queue.write_spill()
        return Message(record.md, record.properties, record.body, record.seq)

    def _get(self, payload: bytes) -> None:
        record = read_get(payload)
        if record.queue_id != self.queue.queue_id:
            return
        if record.unit_of_work:
            unit = self._unit(record.unit_of_work)
            if unit.state != PREPARED or not unit.has(self.queue, record.seq):
                unit.entries.append(Entry(self.queue, -2, record.seq, False, True))
        elif self.began:
            self._remove(record.seq)

    def _remove(self, seq: i64) -> None:
        slot = self._slot_of.pop(seq, -1)
        if slot >= 0:
            apply.get(self.queue, slot)

    def _unit(self, number: int) -> UnitOfWork:
        unit = self._units.get(number)
        if unit is None:
            unit = UnitOfWork(number)
            self._units[number] = unit
        return unit

    def _end(self, number: int, committed: bool) -> None:
        unit = self._units.pop(number, None)
        if unit is None:
            return
        queue = self.queue
        for entry in unit.entries:
            if not entry.is_put:
                if committed and self.began:
                    self._remove(entry.seq)
                elif self.began and entry.seq in self._slot_of:
                    apply.count_back_out(queue, self._slot_of[entry.seq])
            elif committed and self.began and entry.seq not in self._slot_of:
                apply.commit_put(queue, entry, 0)
                self._slot_of[entry.seq] = entry.slot
            else:
                apply.back_out_put(queue, entry)

    def finish(self) -> int:
        """Attach the messages of open units of work, after the last record. Returns the depth of the queue."""
        queue = self.queue
        for number in list(self._units):
            live = self.engine.units_of_work.get(number)
            if live is None:
                self._end(number, False)
                continue
            for entry in self._units[number].entries:
                if entry.is_put:
                    live.entries.append(entry)
                elif entry.seq in self._slot_of:
                    apply.get_in_unit(queue, self._slot_of[entry.seq], entry.seq, live, True)
                live.is_retaining = live.is_retaining or queue.keeps_retained
            if queue.queue_id in live.missing_queues:
                live.missing_queues.remove(queue.queue_id)
        queue.damaged = ""
        queue.changed = True
        if queue.keeps_retained:
            retained.rebuild(self.engine)
        return queue.depth
