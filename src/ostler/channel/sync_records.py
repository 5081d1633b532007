"""Synchronization records of channels: persistent messages on SYSTEM.CHANNEL.SYNCQ.

Each end of a channel keeps the sequence number and the LUWID of the batch that it committed last. A new record is put
within the unit of work of its batch, so that both are committed or neither is; the old record is removed afterwards. A
crash in between leaves two records, of which the later is valid. The desired state of a channel (START, STOP) is kept
in the same way.

An in-doubt batch is a prepared unit of work whose XID names its channel.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from ostler.channel.batch_limits import BatchLimits
from ostler.channel.port import ChannelPort
from ostler.engine import apply
from ostler.engine.core import Engine, refusal
from ostler.engine.events.reports import own_descriptor
from ostler.engine.journal_records import append_get
from ostler.engine.message.message import FORMAT_AT, MESSAGE_TYPE_AT
from ostler.engine.queue.delivery import check_admission, deliver
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.slots import AVAILABLE, NONE
from ostler.engine.shared.units import CommitListener, SharedUnit
from ostler.engine.syncpoint import commit_unit
from ostler.engine.unit_of_work import PREPARED, UnitOfWork
from ostler.model import constants as mq
from ostler.model.errors import LogFull, MQError
from ostler.wire.channel_frames import LUWID_BYTES

SYNC_QUEUE: Final = "SYSTEM.CHANNEL.SYNCQ"
GROUP_SYNC_QUEUE: Final = "SYSTEM.QSG.CHANNEL.SYNCQ"
"""The shared queue with the records of the channels of a queue-sharing group."""
SYNC_FORMAT: Final = b"OSTLSYNC"
_VERSION: Final = 1

# Kinds of records.
SENDING: Final = 1
RECEIVING: Final = 2
DESIRED_STATE: Final = 3

NO_LUWID: Final = bytes(LUWID_BYTES)

_BODY_BYTES: Final = 4 * 5 + LUWID_BYTES + 20 + 48
_XID_MAGIC: Final = b"OSC1"  # the number is that of the layout
_GROUP_XID_MAGIC: Final = b"OSC2"  # of a channel of the group: followed by the position before the batch
_XID_BYTES: Final = 4 + 20 + 48 + LUWID_BYTES + 12
_GROUP_XID_BYTES: Final = _XID_BYTES + 4 + LUWID_BYTES
_ORPHANS_MAX: Final = 16


class DesiredState(Enum):
    """The state that START and STOP CHANNEL have asked for, kept over a restart. The numbers are those in the log."""

    NONE = 0
    ACTIVE = 1
    STOPPED = 2
    FIXED = 3  # active with CHLDISP(FIXSHARED): at this queue manager only


_DESIRED_STATES: Final = {each.value: each for each in DesiredState}


@final
class SyncRecord:
    """The position of one end of a channel, or the desired state of a channel."""

    def __init__(self, kind: i64, channel: str, partner: str) -> None:
        self.kind: i64 = kind
        self.channel = channel
        self.partner = partner  # the sending queue manager, in the record of a receiving end
        self.sequence: i64 = 0
        self.luwid: bytes = NO_LUWID
        self.is_reset = False  # of a sending end: RESET CHANNEL, so the partner has to take over this sequence number
        self.desired_state = DesiredState.NONE
        # The message on the queue; NONE: not written yet.
        self.slot: i64 = NONE
        self.seq: i64 = 0
        self.queue_id: i64 = 0  # the queue may have been deleted and redefined

    def key(self) -> tuple[int, str, str]:
        return self.kind, self.channel, self.partner

    def encode(self) -> bytes:
        writer = BytesWriter()
        write_i32_le(writer, _VERSION)
        write_i32_le(writer, i32(self.kind))
        write_i32_le(writer, i32(self.sequence))
        write_i32_le(writer, 1 if self.is_reset else 0)
        write_i32_le(writer, i32(self.desired_state.value))
        writer.write(self.luwid)
        writer.write(self.channel.encode("latin-1", "replace")[:20].ljust(20))
        writer.write(self.partner.encode("latin-1", "replace")[:48].ljust(48))
        return writer.getvalue()

    def successor(self) -> SyncRecord:
        """Return an empty record of the same kind, channel and partner."""
        return SyncRecord(self.kind, self.channel, self.partner)


def decode_record(body: bytes) -> SyncRecord | None:
    """Return the record in a message, or None if the message is not a record."""
    if len(body) != _BODY_BYTES or read_i32_le(body, 0) != _VERSION:
        return None
    kind: i64 = i64(read_i32_le(body, 4))
    if kind < SENDING or kind > DESIRED_STATE:
        return None
    at: i64 = 20 + LUWID_BYTES
    channel = body[at : at + 20].decode("latin-1").rstrip()
    record = SyncRecord(kind, channel, body[at + 20 : at + 68].decode("latin-1").rstrip())
    record.sequence = i64(read_i32_le(body, 8))
    record.is_reset = read_i32_le(body, 12) != 0
    record.desired_state = _DESIRED_STATES.get(int(read_i32_le(body, 16)), DesiredState.NONE)
    record.luwid = body[20:at]
    return record


@final
class SyncRecords:
    """The records of a queue manager, and the batch limits of its channels."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.batch_limits = BatchLimits()
        self._records: dict[tuple[int, str, str], SyncRecord] = {}

    def protect(self, channels: i64) -> None:
        """Protect the queue from CLEAR and DELETE while `channels`, the number of connected channels, is not 0."""
        queue = self.engine.queues.get(SYNC_QUEUE)
        if queue is not None:
            queue.is_needed = channels > 0

    def load(self) -> None:
        """Read the queue after a start. The later of two records of the same end is valid."""
        queue = self.engine.queues.get(SYNC_QUEUE)
        if queue is None:
            return
        slot: i64 = queue.slots.first()
        while slot != NONE:
            following: i64 = queue.slots.following(slot)
            self._load_slot(queue, slot)
            slot = following

    def _load_slot(self, queue: Queue, slot: i64) -> None:
        message = queue.load(slot)
        if (
            message.md[FORMAT_AT : FORMAT_AT + 8] != SYNC_FORMAT
            or read_i32_le(message.md, MESSAGE_TYPE_AT) != mq.MQMT_DATAGRAM
        ):
            return  # another message, such as a report on a record
        record = decode_record(message.body)
        if record is None:
            return
        record.slot = slot
        record.seq = queue.slots.seqs[slot]
        record.queue_id = queue.queue_id
        earlier = self._records.get(record.key())
        if earlier is not None and earlier.queue_id == record.queue_id:
            if earlier.seq == record.seq:
                return
            if earlier.seq > record.seq:
                self._remove(queue, record)
                return
            self._remove(queue, earlier)
        self._records[record.key()] = record

    def refresh(self) -> None:
        """Find records whose units of work were committed by the settlement with a coupling facility."""
        if self.engine.member.number != 0:
            self.load()

    def is_undecided(self, kind: i64, channel: str, partner: str = "") -> bool:
        """Return True while a unit with a new record of an end waits for the decision of a coupling facility."""
        for unit in self.engine.units_of_work.values():
            if unit.state != PREPARED or unit.xid or (unit.shared is None and unit.shared_start == 0):
                continue
            for entry in unit.entries:
                if not entry.is_put or entry.queue.name != SYNC_QUEUE or entry.queue.deleted:
                    continue
                record = decode_record(entry.queue.load(entry.slot).body)
                if record is not None and record.key() == (kind, channel, partner):
                    return True
        return False

    def find(self, kind: i64, channel: str, partner: str = "") -> SyncRecord:
        """Return the record of an end, or a new one that is not written yet."""
        found = self._records.get((kind, channel, partner))
        return found if found is not None else SyncRecord(kind, channel, partner)

    def has(self, kind: i64, channel: str, partner: str = "") -> bool:
        return (kind, channel, partner) in self._records

    def all(self) -> list[SyncRecord]:
        return list(self._records.values())

    def put(self, record: SyncRecord, unit: UnitOfWork) -> None:
        """Put a new record within a unit of work. MQError if the put fails."""
        queue = self._queue()
        body = record.encode()
        reason: i64 = check_admission(self.engine, queue, len(body), True)
        if reason != 0:
            raise refusal(reason, f"Queue {SYNC_QUEUE} does not take a record of channel {record.channel}.")
        record.seq = queue.next_seq
        md = own_descriptor(self.engine, SYNC_FORMAT, 0, mq.MQPER_PERSISTENT)
        deliver(self.engine, queue, md, b"", body, unit)
        record.slot = unit.entries[-1].slot
        record.queue_id = queue.queue_id

    def mark_committed(self, record: SyncRecord) -> None:
        """Make a record valid whose unit of work is committed, and remove its predecessor."""
        key = record.key()
        earlier = self._records.get(key)
        self._records[key] = record
        if earlier is not None:
            queue = self.engine.queues.get(SYNC_QUEUE)
            if queue is not None:
                self._remove(queue, earlier)

    def write(self, record: SyncRecord) -> i64:
        """Put and commit a record, and return the LSN at which it is durable. MQError if that fails."""
        unit = self.engine.new_unit_of_work()
        try:
            self.put(record, unit)
        except MQError:
            self.engine.units_of_work.pop(unit.number, None)
            raise
        lsn: i64 = commit_unit(self.engine, unit)
        self.mark_committed(record)
        return lsn

    def delete(self, kind: i64, channel: str, partner: str = "") -> None:
        """Remove a record, if there is one."""
        record = self._records.pop((kind, channel, partner), None)
        queue = self.engine.queues.get(SYNC_QUEUE)
        if record is not None and queue is not None:
            self._remove(queue, record)

    def _queue(self) -> Queue:
        queue = self.engine.queues.get(SYNC_QUEUE)
        if queue is None:
            raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"Queue {SYNC_QUEUE}, with the state of channels, is missing.")
        return queue

    def _remove(self, queue: Queue, record: SyncRecord) -> None:
        """Take a record off its queue, unless an application has done so."""
        slot: i64 = record.slot
        if slot == NONE or record.queue_id != queue.queue_id:
            return
        if queue.slots.seqs[slot] != record.seq or queue.slots.state(slot) != AVAILABLE:
            return
        if self.engine.journal.reserve_bytes() < _ORPHANS_MAX * 4096:
            return  # the next start finds two records, and uses the later
        append_get(self.engine, queue, record.seq, None)
        apply.get(queue, slot)


class SentBatch:
    """A batch that was sent and prepared, by the name that it has in the log and in the coupling facility."""

    def __init__(self, channel: str, partner: str, luwid: bytes, first: i64, last: i64, messages: i64) -> None:
        self.channel = channel
        self.partner = partner  # the receiving queue manager
        self.luwid = luwid
        self.first: i64 = first
        self.last: i64 = last
        self.messages: i64 = messages
        # Of a channel of the group: the position before, whose record the batch has taken off its queue.
        self.is_group = False
        self.sequence_before: i64 = 0
        self.luwid_before: bytes = NO_LUWID

    def xid(self) -> bytes:
        """Return the XID for the prepared unit of work."""
        writer = BytesWriter()
        writer.write(_GROUP_XID_MAGIC if self.is_group else _XID_MAGIC)
        writer.write(self.channel.encode("latin-1", "replace")[:20].ljust(20))
        writer.write(self.partner.encode("latin-1", "replace")[:48].ljust(48))
        writer.write(self.luwid)
        write_i32_le(writer, i32(self.first))
        write_i32_le(writer, i32(self.last))
        write_i32_le(writer, i32(self.messages))
        if self.is_group:
            write_i32_le(writer, i32(self.sequence_before))
            writer.write(self.luwid_before)
        return writer.getvalue()


@final
class InDoubtBatch(SentBatch):
    """A batch of this queue manager that is not yet confirmed by the partner."""

    def __init__(
        self, unit: UnitOfWork, channel: str, partner: str, luwid: bytes, first: i64, last: i64, messages: i64
    ) -> None:
        super().__init__(channel, partner, luwid, first, last, messages)
        self.unit = unit


@final
class PeerBatch(SentBatch):
    """A batch that another member of the group has left in doubt. `id` is that of its unit in the facility."""

    def __init__(self, id: bytes, named: SentBatch) -> None:
        super().__init__(named.channel, named.partner, named.luwid, named.first, named.last, named.messages)
        self.is_group = True
        self.sequence_before = named.sequence_before
        self.luwid_before = named.luwid_before
        self.id = id


def decode_xid(xid: bytes) -> SentBatch | None:
    """Return the batch that an XID names; None for those of other coordinators."""
    is_group: bool = xid[:4] == _GROUP_XID_MAGIC and len(xid) == _GROUP_XID_BYTES
    if not is_group and (xid[:4] != _XID_MAGIC or len(xid) != _XID_BYTES):
        return None
    at: i64 = 72 + LUWID_BYTES
    batch = SentBatch(
        xid[4:24].decode("latin-1").rstrip(),
        xid[24:72].decode("latin-1").rstrip(),
        xid[72:at],
        i64(read_i32_le(xid, at)),
        i64(read_i32_le(xid, at + 4)),
        i64(read_i32_le(xid, at + 8)),
    )
    if is_group:
        batch.is_group = True
        batch.sequence_before = i64(read_i32_le(xid, at + 12))
        batch.luwid_before = xid[at + 16 : at + 16 + LUWID_BYTES]
    return batch


def batches_in_doubt(engine: Engine, channel: str = "", is_group: bool = False) -> list[InDoubtBatch]:
    """Return the in-doubt batches of a channel, or of all channels, in the order in which they were sent.

    `is_group`: those of channels whose position is that of the queue-sharing group, otherwise all others.
    """
    found: list[InDoubtBatch] = []
    for number in sorted(engine.units_of_work):
        unit = engine.units_of_work[number]
        if unit.state != PREPARED or not unit.xid:
            continue
        named = decode_xid(unit.xid)
        if named is None or named.is_group != is_group or (channel and named.channel != channel):
            continue
        batch = InDoubtBatch(unit, named.channel, named.partner, named.luwid, named.first, named.last, named.messages)
        batch.is_group = is_group
        batch.sequence_before = named.sequence_before
        batch.luwid_before = named.luwid_before
        found.append(batch)
    return found


def commit_batch(engine: Engine, records: SyncRecords, batch: InDoubtBatch, port: ChannelPort | None = None) -> None:
    """Commit a batch that the partner has committed.

    The coupling facility decides on a batch with messages of shared queues. `port` is pumped when that is done, whether
    the unit has ended then or not.
    """
    part = batch.unit.shared
    if part is None:
        commit_unit(engine, batch.unit)
        record_commit(records, batch)
        return
    assert isinstance(part, SharedUnit)
    if not part.is_committing:
        part.commit_for(SentCommit(records, batch, port))


@final
class SentCommit(CommitListener):
    """The commit of a sent batch. Its record follows the decision, also when the channel has ended meanwhile."""

    def __init__(self, records: SyncRecords, batch: InDoubtBatch, port: ChannelPort | None) -> None:
        self._records = records
        self._batch = batch
        self._port = port

    def on_committed(self, reason: i64) -> None:
        if reason == mq.MQRC_NONE:
            record_commit(self._records, self._batch)
        if self._port is not None:
            self._port.schedule_pump()


def record_commit(records: SyncRecords, batch: InDoubtBatch) -> None:
    """Make the record of a sent batch valid that is committed."""
    record = records.find(SENDING, batch.channel).successor()
    record.sequence = batch.last
    record.luwid = batch.luwid
    for entry in batch.unit.entries:
        if entry.is_put and entry.queue.name == SYNC_QUEUE:
            record.slot = entry.slot
            record.seq = entry.seq
            record.queue_id = entry.queue.queue_id
    records.mark_committed(record)


def check_log_space(engine: Engine) -> None:
    """LogFull if the log has no space for the records that end a batch."""
    if engine.lacks_log_space(4 * 4096):
        raise LogFull("The log is full.")
