"""MOVE QLOCAL: moves all messages of a queue to another one, in one unit of work and in slices.

After a crash all of them are on the one queue or all of them on the other. While they are moved nobody can open either
queue: MQOPEN fails with MQRC_OBJECT_IN_USE. Messages that the queue manager itself puts meanwhile are accepted.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import JOURNAL_MARGIN_BYTES, Engine
from ostler.engine.journal_records import append_get, append_put
from ostler.engine.message.message import EXPIRY_AT, PERSISTENCE_AT, PRIORITY_AT, Message, patch_i32
from ostler.engine.queue.delivery import flush_outbox
from ostler.engine.queue.queue import SPILL_BATCH_BYTES, Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.reads import AHEAD_MESSAGES
from ostler.engine.queue.retrieval import discard_if_expired
from ostler.engine.queue.slots import GROUPED, NONE, PERSISTENT
from ostler.engine.syncpoint import back_out_in_slices, commit_in_slices
from ostler.engine.task import EngineTask
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.disk import DiskFull
from ostler.model.errors import LogFull, MQError

# Besides the message the journal holds the heads of its put and of the get that takes it off the source queue.
_RECORDS_BYTES_PER_MESSAGE: Final = 512
_MESSAGE_COST: Final = 150  # in units of `Engine.work_left`


def begin_move(engine: Engine, source: Queue, target: Queue, target_must_be_empty: bool) -> MoveMessages:
    """Begin to move all messages. It may be done already.

    Raises MQError, with nothing changed, when a queue is in use or the target has no room. LogFull: make room in the
    log and call again.
    """
    _check_idle(source)
    _check_idle(target)
    if target_must_be_empty and target.depth > 0:
        raise MQError(mq.MQRC_Q_NOT_EMPTY, f"The queue {target.name} holds {target.depth} messages; use TYPE(ADD).")
    if target.depth + source.depth > target.depth_max:
        raise _no_room(target)
    if engine.lacks_log_space(source.resident_bytes_persistent + JOURNAL_MARGIN_BYTES):
        raise _log_full()
    move = MoveMessages(engine, source, target)
    engine.begin_task(move)
    return move


def _check_idle(queue: Queue) -> None:
    if queue.damaged:
        raise MQError(mq.MQRC_OBJECT_DAMAGED, f"The queue {queue.name} is damaged.")
    if queue.handles or queue.uncommitted > 0 or queue.is_moving:
        raise MQError(mq.MQRC_OBJECT_IN_USE, f"The queue {queue.name} is open or has uncommitted messages.")


def _no_room(target: Queue) -> MQError:
    return MQError(mq.MQRC_Q_FULL, f"The queue {target.name} has no room for further messages.")


def _log_full() -> MQError:
    return LogFull("The recovery log has no room for all messages at once.")


@final
class MoveMessages(EngineTask):
    """Moves the messages of a queue in slices. When it is done there is a `failure`, or an LSN to wait for.

    It moves as many messages as there were in the beginning. A failure leaves all of them where they were.
    """

    def __init__(self, engine: Engine, source: Queue, target: Queue) -> None:
        super().__init__()
        self.failure: MQError | None = None
        self.lsn: i64 = 0  # of the commit record, or 0 when no message was persistent
        self._engine = engine
        self._source = source
        self._target = target
        self._left: i64 = source.depth
        self._unit = engine.new_unit_of_work()
        self._is_ending = False
        self._end: EngineTask | None = None
        source.is_moving = True
        target.is_moving = True

    def step(self) -> bool:
        if not self._is_ending:
            if self._left > 0:
                self._move_some()
            if self._left > 0 and self.failure is None:
                return False
            self._is_ending = True
            self._begin_end()
        if self._end is not None and not self._end.is_done:
            self._engine.work_left = 0  # it is a task of its own
            return False
        self._source.is_moving = False
        self._target.is_moving = False
        return True

    def _begin_end(self) -> None:
        unit = self._unit
        if unit.backed_out_by_system:
            return
        if self.failure is not None:
            self._end = back_out_in_slices(self._engine, unit)
            return
        outcome = commit_in_slices(self._engine, unit)
        self.lsn = outcome.after_lsn
        self._end = outcome.task

    def _move_some(self) -> None:
        """Move as many as this slice allows. Raises ReadPending; a failure is kept."""
        engine = self._engine
        reads = engine.reads
        was_deferring: bool = reads.is_deferring
        try:
            while self._left > 0 and engine.work_left > 0:
                if self._unit.backed_out_by_system:
                    raise _log_full()
                slot: i64 = self._source.slots.first()
                if slot == NONE:
                    self._left = 0
                    return
                engine.work_left -= _MESSAGE_COST
                reads.is_deferring = was_deferring
                message = self._load(slot)
                reads.is_deferring = False  # from here on nothing may be left half done
                self._left -= 1
                self._move(slot, message)
        except QueueFileDamaged as damage:
            engine.mark_damaged(self._source, str(damage))
            self.failure = MQError(mq.MQRC_OBJECT_DAMAGED, f"The queue {self._source.name} is damaged.")
        except DiskFull:
            self.failure = MQError(
                mq.MQRC_Q_SPACE_NOT_AVAILABLE, f"The disk has no room for the queue {self._target.name}."
            )
        except MQError as error:
            self.failure = error
        finally:
            reads.is_deferring = was_deferring

    def _load(self, slot: i64) -> Message:
        """Load a message, together with those behind it."""
        source = self._source
        if not source.reads.is_deferring or source.is_loaded(slot):
            return source.load(slot)
        slots: list[int] = [slot]
        after: i64 = source.slots.following(slot)
        while after != NONE and len(slots) < AHEAD_MESSAGES:
            slots.append(after)
            after = source.slots.following(after)
        return source.load_all(slots)[0]

    def _move(self, slot: i64, message: Message) -> None:
        engine = self._engine
        source = self._source
        target = self._target
        if discard_if_expired(engine, source, slot, message.seq):
            flush_outbox(engine)
            return
        if len(message.body) > target.message_bytes_max:
            raise MQError(mq.MQRC_MSG_TOO_BIG_FOR_Q, f"A message is longer than MAXMSGL of the queue {target.name}.")
        if target.depth >= target.depth_max:
            raise _no_room(target)
        if source.slots.flags[slot] & PERSISTENT:
            if target.is_temporary:
                raise MQError(mq.MQRC_PERSISTENT_NOT_ALLOWED, f"{target.name} takes no persistent messages.")
            if engine.lacks_log_space(message.size_bytes() + _RECORDS_BYTES_PER_MESSAGE + JOURNAL_MARGIN_BYTES):
                raise _log_full()
        if target.spill_bytes >= SPILL_BATCH_BYTES:
            target.write_spill()
        _put(engine, source, slot, target, message, self._unit)
        _take(engine, source, slot, message.seq, self._unit)


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
