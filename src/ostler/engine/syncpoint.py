"""MQCMIT and MQBACK: commit, back-out and preparation of units of work."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.groups import groups
from ostler.engine.journal_records import append_back_out, append_commit, append_prepare
from ostler.engine.objects import delete_queue
from ostler.engine.outcomes import UnitOutcome
from ostler.engine.pubsub import retained
from ostler.engine.queue.delivery import end_answering, serve_waiting, trigger_after_arrival
from ostler.engine.queue.queue import Queue, is_ready_to_delete
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.reads import AHEAD_MESSAGES
from ostler.engine.queue.retrieval import try_satisfy
from ostler.engine.queue.slots import GROUPED
from ostler.engine.task import EngineTask
from ostler.engine.unit_of_work import ACTIVE, PREPARED, Entry, UnitOfWork
from ostler.model import constants as mq
from ostler.model.errors import InvariantFailed, MQError

# Larger units are ended in slices, if whoever ends them can wait.
ENTRIES_AT_ONCE: Final = 500
_ENTRY_COST: Final = 25  # of an entry, in units of `Engine.work_left`
_DROPPED_AT_ONCE: Final = 1_000
_NOTHING: Final[list[tuple[int, int]]] = []
_INTO_UNIT: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT


def commit(engine: Engine, connection: Connection, may_pause: bool = False) -> UnitOutcome:
    """MQCMIT. With `may_pause` a large unit is ended in slices: the outcome has the task to wait for."""
    unit = connection.unit_of_work
    connection.counters.commits += 1
    engine.counters.commits += 1
    if unit is None:
        return UnitOutcome()
    connection.unit_of_work = None
    _end_group_units(connection, not unit.backed_out_by_system)
    if unit.backed_out_by_system:
        connection.counters.commits_failed += 1
        engine.counters.commits_failed += 1
        return UnitOutcome(mq.MQRC_BACKED_OUT)
    return commit_in_slices(engine, unit) if may_pause else commit_work(engine, unit)


def commit_work(engine: Engine, unit: UnitOfWork) -> UnitOutcome:
    """Commit a unit. One with messages on shared queues is committed when the task of the outcome is done."""
    shared = unit.shared
    return UnitOutcome(0, commit_unit(engine, unit)) if shared is None else shared.commit()


def commit_in_slices(engine: Engine, unit: UnitOfWork) -> UnitOutcome:
    """Commit a unit, one that is large or needs messages read in slices: the outcome has the task to wait for."""
    if unit.shared is not None:
        return unit.shared.commit()
    if not unit.is_retaining and _takes_long(engine, unit, True):
        lsn: i64 = _record_commit(engine, unit)
        return UnitOutcome(0, lsn, begin_end(engine, unit, lsn, True))
    return UnitOutcome(0, commit_unit(engine, unit))


def back_out(engine: Engine, connection: Connection, may_pause: bool = False) -> UnitOutcome:
    """MQBACK. Only the back-out counts of HARDENBO queues must be durable before it is acknowledged.

    With `may_pause` a large unit is ended in slices, as with `commit`.
    """
    unit = connection.unit_of_work
    connection.counters.backouts += 1
    engine.counters.backouts += 1
    if unit is None:
        return UnitOutcome()
    connection.unit_of_work = None
    _end_group_units(connection, False)
    if not unit.backed_out_by_system:
        is_hardened: bool = unit.first_lsn >= 0 and _hardens_backout_counts(unit)
        task: EngineTask | None = None
        if may_pause:
            task = back_out_in_slices(engine, unit)
        else:
            back_out_unit(engine, unit)
        return UnitOutcome(0, engine.journal.end_lsn() if is_hardened else 0, task)
    return UnitOutcome()


def back_out_in_slices(engine: Engine, unit: UnitOfWork) -> EngineTask | None:
    """Back out a unit, as with `commit_in_slices`: the task is returned. None: it is done."""
    if _takes_long(engine, unit, False):
        _record_back_out(engine, unit)
        return begin_end(engine, unit, 0, False)
    back_out_unit(engine, unit)
    return unit.shared.end_task if unit.shared is not None else None


def _takes_long(engine: Engine, unit: UnitOfWork, is_commit: bool) -> bool:
    """Return True when the end of a unit has many entries, or looks at messages that are to be read first."""
    if len(unit.entries) > ENTRIES_AT_ONCE:
        return True
    if engine.reads.has_reader:
        for entry in unit.entries:
            queue = entry.queue
            if not queue.deleted and _needs_message(queue, entry, is_commit) and not queue.is_loaded(entry.slot):
                return True
    return False


def _hardens_backout_counts(unit: UnitOfWork) -> bool:
    for entry in unit.entries:
        if not entry.is_put and entry.is_persistent and entry.queue.harden_backout:
            return True
    return False


def _end_group_units(connection: Connection, committed: bool) -> None:
    for handle in connection.handles.values():
        groups.end_unit_of_work(handle, committed)


def commit_unit(engine: Engine, unit: UnitOfWork) -> i64:
    """Commit a unit: its puts become available. Returns the LSN of its commit record.

    The shared part of a unit, if it has one, is committed already: see `commit_work`.
    """
    if unit.shared is not None and not unit.shared.is_decided:
        raise InvariantFailed(
            f"Unit of work {unit.number} has messages on shared queues, and is committed without them"
        )
    lsn: i64 = _record_commit(engine, unit)
    for entry in unit.entries:
        _commit_entry(engine, unit, entry, lsn)
    _delete_unneeded_queues(engine, unit)
    return lsn


def _record_commit(engine: Engine, unit: UnitOfWork) -> i64:
    """Append the commit record of a unit, and end the unit. Its entries are to be committed."""
    lsn: i64 = 0
    replaced = retained.find_replaced(engine, unit) if unit.is_retaining else _NOTHING
    if replaced or unit.first_lsn >= 0:
        lsn = append_commit(engine, unit.number, replaced)
    apply.end_unit(engine, unit)
    return lsn


def _commit_entry(engine: Engine, unit: UnitOfWork, entry: Entry, lsn: i64) -> None:
    queue = entry.queue
    if queue.deleted:
        return
    if not entry.is_put:
        apply.commit_get(queue, entry)
        return
    try:
        _make_visible(engine, queue, unit, entry, lsn)
    except QueueFileDamaged as damage:
        engine.mark_damaged(queue, str(damage))
    except (MQError, MemoryError):
        serve_all(engine, queue)  # the message cannot be read now: waiting gets fail with that reason


def _delete_unneeded_queues(engine: Engine, unit: UnitOfWork) -> None:
    """Delete managed queues whose subscriptions ended while the unit had messages on them."""
    for entry in unit.entries:
        if entry.queue.pending_delete and is_ready_to_delete(entry.queue):
            delete_queue(engine, entry.queue)


def _make_visible(engine: Engine, queue: Queue, unit: UnitOfWork, entry: Entry, lsn: i64) -> None:
    slot: i64 = entry.slot
    apply.commit_put(queue, entry, lsn)
    if queue.keeps_retained:
        retained.record_committed(engine, queue, slot, entry.seq, unit.topics[entry.seq])
    if queue.waiting.count > 0 and queue.get_allowed:
        serve_waiting(engine, queue, slot, queue.load(slot))
        if not queue.has_available(slot, entry.seq):
            return
    if queue.trigger_on:
        trigger_after_arrival(engine, queue, queue.load(slot).md)


def back_out_unit(engine: Engine, unit: UnitOfWork) -> None:
    """Back out a unit: its puts are removed, its gets return to their positions with a higher back-out count."""
    _record_back_out(engine, unit)
    for entry in unit.entries:
        _back_out_entry(engine, entry)
    for entry in unit.entries:
        if not entry.is_put:
            serve_returned(engine, entry.queue, entry.slot, entry.seq)
    _delete_unneeded_queues(engine, unit)


def _record_back_out(engine: Engine, unit: UnitOfWork) -> None:
    """Append the record of a back-out, and end the unit. Its entries are to be backed out."""
    lsn: i64 = 0
    if unit.first_lsn >= 0:
        lsn = append_back_out(engine, unit)
    if unit.shared is not None:
        # When the unit may be prepared durably, nobody may see the back-out before it is durable, too.
        unit.shared.on_back_out(lsn if unit.state == PREPARED else 0)
    apply.end_unit(engine, unit)


def _back_out_entry(engine: Engine, entry: Entry) -> None:
    queue = entry.queue
    if queue.deleted:
        return
    if entry.is_put:
        queue.counters.puts_backed_out += 1
        apply.back_out_put(queue, entry)
        return
    try:
        _return_to_queue(engine, queue, entry)
    except QueueFileDamaged as damage:
        engine.mark_damaged(queue, str(damage))


def _return_to_queue(engine: Engine, queue: Queue, entry: Entry) -> None:
    queue.counters.backed_out += 1
    engine.counters.backed_out_messages += 1
    apply.back_out_get(queue, entry)


def serve_returned(engine: Engine, queue: Queue, slot: i64, seq: i64) -> None:
    """Offer a message that is available again to the waiting requests."""
    if queue.waiting.count == 0 or not queue.get_allowed or queue.deleted or not queue.has_available(slot, seq):
        return
    if engine.reads.has_reader and not queue.is_loaded(slot):
        serve_all(engine, queue)  # they have it read
        return
    try:
        serve_waiting(engine, queue, slot, queue.load(slot))
    except QueueFileDamaged as damage:
        engine.mark_damaged(queue, str(damage))
    except (MQError, MemoryError):
        serve_all(engine, queue)


def serve_all(engine: Engine, queue: Queue) -> None:
    """Have all waiting requests scan a queue again after it was changed. Long scans continue later."""
    for request in queue.waiting.in_service_order():
        if queue.slots.first() < 0:
            return
        if request.is_scanning:
            request.must_rescan = True
        elif not request.done:
            engine.answering += 1
            is_satisfied: bool = try_satisfy(engine, request, queue)
            end_answering(engine)
            if is_satisfied:
                queue.waiting.remove(request)
                engine.woken.append(request)


# -- large units -------------------------------------------------------------------------------------------------------


def begin_end(engine: Engine, unit: UnitOfWork, lsn: i64, is_commit: bool) -> EngineTask | None:
    """Begin to commit or back out the entries of a unit whose record is in the journal. None: it is done already."""
    end = UnitEnd(engine, unit, lsn, is_commit)
    engine.unit_ends.append(end)
    engine.begin_task(end)
    return None if end.is_done else end


@final
class UnitEnd(EngineTask):
    """Commits or backs out the entries of a large unit of work in slices.

    The record is in the journal: a restart makes the same of it. Messages become available in the order of the unit,
    and all of them before the application is answered. A snapshot must reflect the whole end: see
    `Engine.finish_unit_ends`.
    """

    def __init__(self, engine: Engine, unit: UnitOfWork, lsn: i64, is_commit: bool) -> None:
        super().__init__()
        self._engine = engine
        self._unit = unit
        self._entries = unit.entries
        self._queues: dict[int, Queue] = {}
        self._lsn: i64 = lsn
        self._is_commit = is_commit
        self._at: i64 = 0
        unit.entries = []
        for entry in self._entries:
            if entry.is_persistent:
                entry.queue.changed = True  # from the record on: a restart must not begin behind it

    def step(self) -> bool:
        engine = self._engine
        while self._at < len(self._entries) and engine.work_left > 0:
            self._do_entry(self._entries[self._at])
            self._at += 1
            if self._at == _DROPPED_AT_ONCE:
                del self._entries[:_DROPPED_AT_ONCE]
                self._at = 0
        if self._at < len(self._entries):
            return False
        self._finish()
        return True

    def _do_entry(self, entry: Entry) -> None:
        engine = self._engine
        reads = engine.reads
        queue = entry.queue
        engine.work_left -= _ENTRY_COST
        self._queues[queue.queue_id] = queue
        if not reads.is_deferring:
            self._end_entry(entry)
            return
        if not queue.deleted and not queue.damaged and _needs_message(queue, entry, self._is_commit):
            self._load(queue, entry.slot)
        reads.is_deferring = False  # from here on nothing may be left half done
        try:
            self._end_entry(entry)
        finally:
            reads.is_deferring = True

    def _end_entry(self, entry: Entry) -> None:
        if self._is_commit:
            _commit_entry(self._engine, self._unit, entry, self._lsn)
            return
        _back_out_entry(self._engine, entry)
        if not entry.is_put:
            serve_returned(self._engine, entry.queue, entry.slot, entry.seq)

    def _load(self, queue: Queue, slot: i64) -> None:
        """Load a message, together with others that come soon. Raises ReadPending."""
        if queue.is_loaded(slot):
            return
        slots: list[int] = [slot]
        index: i64 = self._at + 1
        while index < len(self._entries) and len(slots) < AHEAD_MESSAGES:
            other = self._entries[index]
            if other.queue is queue and not queue.is_loaded(other.slot):
                slots.append(other.slot)
            index += 1
        try:
            queue.load_all(slots)
        except (QueueFileDamaged, MQError, MemoryError):
            return  # it is found again when the entry is applied

    def _finish(self) -> None:
        engine = self._engine
        engine.unit_ends.remove(self)
        for queue in self._queues.values():
            if queue.pending_delete and is_ready_to_delete(queue):
                delete_queue(engine, queue)


def _needs_message(queue: Queue, entry: Entry, is_commit: bool) -> bool:
    """Return True when the end of an entry looks at its message."""
    if entry.is_put != is_commit:
        return False  # it goes away
    if queue.slots.flags[entry.slot] & GROUPED:
        return True
    return is_commit and (queue.waiting.count > 0 or queue.trigger_on)


def prepare(engine: Engine, unit: UnitOfWork, xid: bytes) -> i64:
    """Prepare a unit (first phase). From now on only its coordinator ends it, also after a restart.

    It must have no messages on shared queues: see `prepare_work`.
    """
    if unit.shared is not None:
        raise InvariantFailed(f"Unit of work {unit.number} has messages on shared queues, and is prepared without them")
    lsn: i64 = append_prepare(engine, unit, xid)
    apply.prepare(unit, xid)
    return lsn


def prepare_work(engine: Engine, unit: UnitOfWork, xid: bytes) -> UnitOutcome:
    """Prepare a unit. One with messages on shared queues is prepared when the task of the outcome is done."""
    shared = unit.shared
    return UnitOutcome(0, prepare(engine, unit, xid)) if shared is None else shared.prepare(xid)


def back_out_oldest(engine: Engine, restart_lsn: i64 = 1 << 62) -> UnitOfWork | None:
    """Back out the unit that keeps the start of a filling journal. Its owner gets MQRC_BACKED_OUT.

    Returns None when no unit of work keeps the start of the journal.
    """
    oldest: UnitOfWork | None = None
    for unit in engine.units_of_work.values():
        if unit.state == ACTIVE and unit.first_lsn >= 0 and (oldest is None or unit.first_lsn < oldest.first_lsn):
            oldest = unit
    if oldest is not None and oldest.first_lsn > restart_lsn:
        return None
    if oldest is not None:
        _fail_waiting(engine, oldest)
        back_out_in_slices(engine, oldest)
        oldest.backed_out_by_system = True
        oldest.entries = []
    return oldest


def _fail_waiting(engine: Engine, unit: UnitOfWork) -> None:
    """Fail the gets that wait to become part of a unit that is backed out."""
    for queue in engine.queues_by_id.values():
        for request in queue.waiting.in_service_order():
            if request.connection.unit_of_work is unit and request.options & _INTO_UNIT:
                queue.waiting.remove(request)
                request.reason = mq.MQRC_BACKED_OUT
                request.done = True
                engine.woken.append(request)
