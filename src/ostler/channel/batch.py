"""A batch that is being sent, and what went over a channel so far."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.channel.sync_records import SENDING, InDoubtBatch, SyncRecords, batch_xid, check_log_space
from ostler.engine.core import Engine
from ostler.engine.syncpoint import prepare
from ostler.engine.unit_of_work import UnitOfWork
from ostler.wire.channel_frames import luwid_of


@final
class SenderBatch:
    """Messages that are committed together."""

    def __init__(self, number: i64, unit: UnitOfWork, first: i64, now_ms: i64, size: i64, bytes_max: i64) -> None:
        """It is full with so many messages, or so many bytes unless that is 0."""
        self.number: i64 = number
        self.unit = unit
        self.first: i64 = first
        self.last: i64 = 0
        self.messages: i64 = 0
        self.bytes: i64 = 0
        self.began_ms: i64 = now_ms
        self.confirm_ms: i64 = 0
        self.luwid: bytes = b""
        self._size: i64 = size
        self._bytes_max: i64 = bytes_max

    def add(self, sequence: i64, size_bytes: i64) -> None:
        self.last = sequence
        self.messages += 1
        self.bytes += size_bytes

    def is_full(self) -> bool:
        return self.messages >= self._size or (self._bytes_max > 0 and self.bytes >= self._bytes_max)

    def left_ms(self, now_ms: i64, interval_ms: i64) -> i64:
        """How long others may still come, if it is not full before. Not longer because the clock was set back."""
        left: i64 = self.began_ms + interval_ms - now_ms
        return left if 0 < left <= interval_ms else 0

    def as_in_doubt(self, channel: str, partner: str) -> InDoubtBatch:
        return InDoubtBatch(self.unit, channel, partner, self.luwid, self.first, self.last, self.messages)


def prepare_batch(engine: Engine, records: SyncRecords, batch: SenderBatch, channel: str, partner: str) -> i64:
    """Prepare a batch with the channel's record; the LSN behind which it is. MQError when the log has no room."""
    engine.unique += 1
    batch.luwid = luwid_of(engine.unique)
    record = records.find(SENDING, channel).successor()
    record.sequence = batch.last
    record.luwid = batch.luwid
    engine.journal_full = False
    check_log_space(engine)
    records.put(record, batch.unit)
    xid = batch_xid(channel, partner, batch.luwid, batch.first, batch.last, batch.messages)
    return prepare(engine, batch.unit, xid)


@final
class ChannelCounters:
    """What went over a channel since it was started."""

    def __init__(self) -> None:
        self.messages: i64 = 0
        self.persistent: i64 = 0  # of the messages
        self.batches: i64 = 0
        self.full_batches: i64 = 0  # of the batches
        self.last_message_ms: i64 = 0
        self.plain_bytes: i64 = 0  # before they were compressed
        self.persistent_bytes: i64 = 0  # of the plain ones
        self.sent_bytes: i64 = 0
        self.key_resets: i64 = 0
        self.key_reset_ms: i64 = 0
        self.confirm_ms: i64 = 0  # lately, from the question to the answer
        self.batch_messages: i64 = 0  # in all batches
        self.put_retries: i64 = 0  # messages that could not be put at once

    def message(self, now_ms: i64, size_bytes: i64, is_persistent: bool) -> None:
        """A message goes over, or has come."""
        self.messages += 1
        self.last_message_ms = now_ms
        self.plain_bytes += size_bytes
        if is_persistent:
            self.persistent += 1
            self.persistent_bytes += size_bytes

    def confirmed(self, batch: SenderBatch, now_ms: i64) -> None:
        """The partner has committed a batch."""
        took_ms: i64 = now_ms - batch.confirm_ms
        self.confirm_ms = (self.confirm_ms * 3 + took_ms) // 4 if self.batches else took_ms
        self.committed(batch.messages, batch.is_full())

    def committed(self, messages: i64, is_full: bool) -> None:
        """A batch is committed."""
        self.batches += 1
        self.batch_messages += messages
        if is_full:
            self.full_batches += 1

    def on_key_reset(self, now_ms: i64) -> None:
        """TLS has begun anew."""
        self.key_resets += 1
        self.key_reset_ms = now_ms
