"""A batch of a sending end, and the counters of a channel."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.channel.sender_position import SenderPosition
from ostler.channel.sync_records import NO_LUWID, InDoubtBatch, check_log_space
from ostler.engine.core import Engine
from ostler.engine.outcomes import PutOutcome, UnitOutcome
from ostler.engine.syncpoint import prepare_work
from ostler.engine.unit_of_work import UnitOfWork
from ostler.wire.channel_frames import luwid_of


@final
class SenderBatch:
    """Messages that are sent and committed together."""

    def __init__(self, number: i64, unit: UnitOfWork, first: i64, now_ms: i64, size: i64, bytes_max: i64) -> None:
        """Make a batch that is full with `size` messages (BATCHSZ) or `bytes_max` bytes (BATCHLIM; 0: no limit)."""
        self.number: i64 = number
        self.unit = unit
        self.first: i64 = first
        self.last: i64 = 0
        self.messages: i64 = 0
        self.bytes: i64 = 0
        self.began_ms: i64 = now_ms
        self.confirm_ms: i64 = 0
        self.luwid: bytes = b""
        self.sequence_before: i64 = 0  # the position before the batch
        self.luwid_before: bytes = NO_LUWID
        self.dead_letters: list[PutOutcome] = []  # puts of it to a shared dead-letter queue
        self.is_recording = False  # the new position is being put into its unit
        self.ending: UnitOutcome | None = None  # its preparation or commit, which the coupling facility decides
        self.is_confirmed = False  # by the partner
        self._size: i64 = size
        self._bytes_max: i64 = bytes_max

    def add(self, sequence: i64, size_bytes: i64) -> None:
        self.last = sequence
        self.messages += 1
        self.bytes += size_bytes

    def is_full(self) -> bool:
        return self.messages >= self._size or (self._bytes_max > 0 and self.bytes >= self._bytes_max)

    def left_ms(self, now_ms: i64, interval_ms: i64) -> i64:
        """Return the rest of BATCHINT. A clock that was set back does not lengthen it."""
        left: i64 = self.began_ms + interval_ms - now_ms
        return left if 0 < left <= interval_ms else 0

    def as_in_doubt(self, channel: str, partner: str) -> InDoubtBatch:
        batch = InDoubtBatch(self.unit, channel, partner, self.luwid, self.first, self.last, self.messages)
        batch.sequence_before = self.sequence_before
        batch.luwid_before = self.luwid_before
        return batch


def record_batch(engine: Engine, position: SenderPosition, batch: SenderBatch) -> None:
    """Put the new position of a channel into the unit of a batch. MQError; LogFull without log space.

    The batch can be prepared when the position is KNOWN again.
    """
    engine.unique += 1
    batch.luwid = luwid_of(engine.unique)
    before = position.find()
    batch.sequence_before = before.sequence
    batch.luwid_before = before.luwid
    record = before.successor()
    record.sequence = batch.last
    record.luwid = batch.luwid
    check_log_space(engine)
    position.put(record, batch.unit)


def prepare_batch(
    engine: Engine, position: SenderPosition, batch: SenderBatch, channel: str, partner: str
) -> UnitOutcome:
    """Prepare a batch whose position is in its unit.

    A batch with messages of shared queues is prepared when the task of the outcome is done.
    """
    named = batch.as_in_doubt(channel, partner)
    named.is_group = position.is_group
    return prepare_work(engine, batch.unit, named.xid())


@final
class ChannelCounters:
    """Counts the traffic of one end of a channel since it was started."""

    def __init__(self) -> None:
        self.messages: i64 = 0
        self.persistent: i64 = 0  # messages that are persistent
        self.batches: i64 = 0
        self.full_batches: i64 = 0  # batches that were full
        self.last_message_ms: i64 = 0
        self.plain_bytes: i64 = 0  # before compression
        self.persistent_bytes: i64 = 0  # of persistent messages, before compression
        self.sent_bytes: i64 = 0
        self.key_resets: i64 = 0
        self.key_reset_ms: i64 = 0
        self.confirm_ms: i64 = 0  # recent average time from CONFIRM to its reply
        self.batch_messages: i64 = 0  # in all batches
        self.put_retries: i64 = 0  # messages whose first put failed

    def count_message(self, now_ms: i64, size_bytes: i64, is_persistent: bool) -> None:
        """Count a message that is sent or received."""
        self.messages += 1
        self.last_message_ms = now_ms
        self.plain_bytes += size_bytes
        if is_persistent:
            self.persistent += 1
            self.persistent_bytes += size_bytes

    def count_confirmed(self, batch: SenderBatch, now_ms: i64) -> None:
        """Count a batch that the partner has committed."""
        took_ms: i64 = now_ms - batch.confirm_ms
        self.confirm_ms = (self.confirm_ms * 3 + took_ms) // 4 if self.batches else took_ms
        self.count_batch(batch.messages, batch.is_full())

    def count_batch(self, messages: i64, is_full: bool) -> None:
        """Count a committed batch."""
        self.batches += 1
        self.batch_messages += messages
        if is_full:
            self.full_batches += 1

    def count_key_reset(self, now_ms: i64) -> None:
        """Count a TLS key reset (SSLRKEYC)."""
        self.key_resets += 1
        self.key_reset_ms = now_ms
