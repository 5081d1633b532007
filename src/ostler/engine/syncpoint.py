"""MQCMIT and MQBACK: commit, back-out and preparation of units of work."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.groups import groups
from ostler.engine.journal_records import append_back_out, append_commit, append_prepare
from ostler.engine.objects import delete_queue
from ostler.engine.pubsub import retained
from ostler.engine.queue.delivery import end_answering, serve_waiting, trigger_after_arrival
from ostler.engine.queue.queue import Queue, is_ready_to_delete
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.retrieval import try_satisfy
from ostler.engine.unit_of_work import ACTIVE, Entry, UnitOfWork
from ostler.model import constants as mq
from ostler.model.errors import MQError

_NOTHING: Final[list[tuple[int, int]]] = []
_INTO_UNIT: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT


def commit(engine: Engine, connection: Connection) -> i64:
    """MQCMIT. It may be acknowledged when the journal is durable up to `connection.after_lsn`."""
    connection.after_lsn = 0
    unit = connection.unit_of_work
    connection.counters.commits += 1
    engine.counters.commits += 1
    if unit is None:
        return 0
    connection.unit_of_work = None
    _end_group_units(connection, not unit.backed_out_by_system)
    if unit.backed_out_by_system:
        connection.counters.commits_failed += 1
        engine.counters.commits_failed += 1
        return mq.MQRC_BACKED_OUT
    connection.after_lsn = commit_unit(engine, unit)
    return 0


def back_out(engine: Engine, connection: Connection) -> i64:
    """MQBACK. `connection.after_lsn` is set only when back-out counts of HARDENBO queues must be durable."""
    connection.after_lsn = 0
    unit = connection.unit_of_work
    connection.counters.backouts += 1
    engine.counters.backouts += 1
    if unit is None:
        return 0
    connection.unit_of_work = None
    _end_group_units(connection, False)
    if not unit.backed_out_by_system:
        back_out_unit(engine, unit)
        if unit.first_lsn >= 0 and _hardens_backout_counts(unit):
            connection.after_lsn = engine.journal.end_lsn()
    return 0


def _hardens_backout_counts(unit: UnitOfWork) -> bool:
    for entry in unit.entries:
        if not entry.is_put and entry.is_persistent and entry.queue.harden_backout:
            return True
    return False


def _end_group_units(connection: Connection, committed: bool) -> None:
    for handle in connection.handles.values():
        groups.end_unit_of_work(handle, committed)


def commit_unit(engine: Engine, unit: UnitOfWork) -> i64:
    """Commit a unit: its puts become available. Returns the LSN of its commit record."""
    lsn: i64 = 0
    replaced = retained.find_replaced(engine, unit) if unit.is_retaining else _NOTHING
    if replaced or unit.first_lsn >= 0:
        lsn = append_commit(engine, unit.number, replaced)
    apply.end_unit(engine, unit)
    for entry in unit.entries:
        queue = entry.queue
        if queue.deleted:
            continue
        if not entry.is_put:
            apply.commit_get(queue, entry)
            continue
        try:
            _make_visible(engine, queue, entry, lsn)
        except QueueFileDamaged as damage:
            engine.mark_damaged(queue, str(damage))
        except (MQError, MemoryError):
            serve_all(engine, queue)  # the message cannot be read now: waiting gets fail with that reason
    _delete_unneeded_queues(engine, unit)
    return lsn


def _delete_unneeded_queues(engine: Engine, unit: UnitOfWork) -> None:
    """Delete managed queues whose subscriptions ended while the unit had messages on them."""
    for entry in unit.entries:
        if entry.queue.pending_delete and is_ready_to_delete(entry.queue):
            delete_queue(engine, entry.queue)


def _make_visible(engine: Engine, queue: Queue, entry: Entry, lsn: i64) -> None:
    slot: i64 = entry.slot
    apply.commit_put(queue, entry, lsn)
    if queue.keeps_retained:
        retained.record_committed(engine, queue, slot, entry.seq)
    if queue.waiting.count > 0 and queue.get_allowed:
        serve_waiting(engine, queue, slot, queue.load(slot))
        if not queue.has_available(slot, entry.seq):
            return
    if queue.trigger_on:
        trigger_after_arrival(engine, queue, queue.load(slot).md)


def back_out_unit(engine: Engine, unit: UnitOfWork) -> None:
    """Back out a unit: its puts are removed, its gets return to their positions with a higher back-out count."""
    if unit.first_lsn >= 0:
        append_back_out(engine, unit)
    apply.end_unit(engine, unit)
    for entry in reversed(unit.entries):
        queue = entry.queue
        if queue.deleted:
            continue
        if entry.is_put:
            queue.counters.puts_backed_out += 1
            apply.back_out_put(queue, entry)
            continue
        try:
            _return_to_queue(engine, queue, entry)
        except QueueFileDamaged as damage:
            engine.mark_damaged(queue, str(damage))
    for entry in unit.entries:
        if not entry.is_put:
            serve_returned(engine, entry.queue, entry.slot, entry.seq)
    _delete_unneeded_queues(engine, unit)


def _return_to_queue(engine: Engine, queue: Queue, entry: Entry) -> None:
    queue.counters.backed_out += 1
    engine.counters.backed_out_messages += 1
    apply.back_out_get(queue, entry)


def serve_returned(engine: Engine, queue: Queue, slot: i64, seq: i64) -> None:
    """Offer a message that is available again to the waiting requests."""
    if queue.waiting.count == 0 or not queue.get_allowed or queue.deleted or not queue.has_available(slot, seq):
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


def prepare(engine: Engine, unit: UnitOfWork, xid: bytes) -> i64:
    """Prepare a unit (first phase). From now on only its coordinator ends it, also after a restart."""
    lsn: i64 = append_prepare(engine, unit, xid)
    apply.prepare(unit, xid)
    return lsn


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
        back_out_unit(engine, oldest)
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
