"""MOVE QLOCAL: moves all messages of a queue to another one, in one unit of work.

After a crash all of them are on the one queue or all of them on the other.
"""

from __future__ import annotations

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import JOURNAL_MARGIN_BYTES, Engine
from ostler.engine.journal_records import append_get, append_put
from ostler.engine.message.message import EXPIRY_AT, PERSISTENCE_AT, PRIORITY_AT, Message, patch_i32
from ostler.engine.queue.delivery import flush_outbox
from ostler.engine.queue.queue import SPILL_BATCH_BYTES, Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.retrieval import discard_if_expired
from ostler.engine.queue.slots import GROUPED, NONE, PERSISTENT
from ostler.engine.syncpoint import back_out_unit, commit_unit
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.disk import DiskFull
from ostler.model.errors import LogFull, MQError

# Besides the message the journal holds the heads of its put and of the get that takes it off the source queue.
_RECORDS_BYTES_PER_MESSAGE = 512


def move_messages(engine: Engine, source: Queue, target: Queue, target_must_be_empty: bool) -> i64:
    """Move all messages. Returns the LSN of the commit record, or 0 when no message was persistent.

    Raises MQError, with nothing changed, when a queue is in use or the target cannot take all messages.
    """
    _check_idle(source)
    _check_idle(target)
    if target_must_be_empty and target.depth > 0:
        raise MQError(mq.MQRC_Q_NOT_EMPTY, f"The queue {target.name} holds {target.depth} messages; use TYPE(ADD).")
    _discard_expired(engine, source)
    if target.depth + source.depth > target.depth_max:
        raise MQError(mq.MQRC_Q_FULL, f"The queue {target.name} has no room for {source.depth} further messages.")
    unit = engine.new_unit_of_work()
    try:
        _check_fit(engine, source, target)
        _move_all(engine, source, target, unit)
    except QueueFileDamaged as damage:
        back_out_unit(engine, unit)
        engine.mark_damaged(source, str(damage))
        raise MQError(mq.MQRC_OBJECT_DAMAGED, f"The queue {source.name} is damaged.") from None
    except DiskFull:
        back_out_unit(engine, unit)
        raise MQError(mq.MQRC_Q_SPACE_NOT_AVAILABLE, f"The disk has no room for the queue {target.name}.") from None
    except MQError:
        back_out_unit(engine, unit)
        raise
    return commit_unit(engine, unit)


def _check_idle(queue: Queue) -> None:
    if queue.damaged:
        raise MQError(mq.MQRC_OBJECT_DAMAGED, f"The queue {queue.name} is damaged.")
    if queue.handles or queue.uncommitted > 0:
        raise MQError(mq.MQRC_OBJECT_IN_USE, f"The queue {queue.name} is open or has uncommitted messages.")


def _discard_expired(engine: Engine, queue: Queue) -> None:
    slot: i64 = queue.slots.first() if queue.expiring > 0 else NONE
    while slot != NONE:
        after: i64 = queue.slots.following(slot)
        discard_if_expired(engine, queue, slot, queue.slots.seqs[slot])
        flush_outbox(engine)
        slot = after


def _check_fit(engine: Engine, source: Queue, target: Queue) -> None:
    """Check that all messages can be moved, before any is. Raises MQError."""
    logged_bytes: i64 = 0
    slot: i64 = source.slots.first()
    while slot != NONE:
        message = source.load(slot)
        if len(message.body) > target.message_bytes_max:
            raise MQError(mq.MQRC_MSG_TOO_BIG_FOR_Q, f"A message is longer than MAXMSGL of the queue {target.name}.")
        if source.slots.flags[slot] & PERSISTENT:
            if target.is_temporary:
                raise MQError(mq.MQRC_PERSISTENT_NOT_ALLOWED, f"{target.name} takes no persistent messages.")
            logged_bytes += message.size_bytes() + _RECORDS_BYTES_PER_MESSAGE
        slot = source.slots.following(slot)
    if engine.lacks_log_space(logged_bytes + JOURNAL_MARGIN_BYTES):
        raise LogFull("The recovery log has no room for all messages at once.")


def _move_all(engine: Engine, source: Queue, target: Queue, unit: UnitOfWork) -> None:
    slot: i64 = source.slots.first()
    while slot != NONE:
        after: i64 = source.slots.following(slot)
        if target.spill_bytes >= SPILL_BATCH_BYTES:
            target.write_spill()
        message = source.load(slot)
        _put(engine, source, slot, target, message, unit)
        _take(engine, source, slot, message.seq, unit)
        slot = after


def _put(engine: Engine, source: Queue, slot: i64, target: Queue, message: Message, unit: UnitOfWork) -> None:
    md = message.md
    expiry_ms: i64 = source.slots.expiries[slot]
    if expiry_ms != 0:
        # The remaining lifetime, for a replay of the journal.
        left: i64 = (expiry_ms - engine.now_ms) // 100
        md = patch_i32(md, EXPIRY_AT, left if left > 0 else 1)
    is_persistent: bool = read_i32_le(md, PERSISTENCE_AT) == 1
    seq: i64 = target.next_seq
    target.next_seq += 1
    flags: i64 = target.order_flags(i64(read_i32_le(md, PRIORITY_AT))) | (source.slots.flags[slot] & GROUPED)
    if is_persistent:
        flags |= PERSISTENT
    moved = Message(md, message.properties, message.body, seq)
    moved.put_ms = message.put_ms
    if is_persistent:
        append_put(engine, target, moved, flags, expiry_ms, unit)
    apply.arrive(target)
    apply.put_in_unit(target, moved, flags, expiry_ms, unit, is_persistent)


def _take(engine: Engine, source: Queue, slot: i64, seq: i64, unit: UnitOfWork) -> None:
    is_persistent: bool = source.slots.flags[slot] & PERSISTENT != 0
    if is_persistent:
        append_get(engine, source, seq, unit)
    apply.get_in_unit(source, slot, seq, unit, is_persistent)
