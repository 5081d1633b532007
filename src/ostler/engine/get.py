"""MQGET: checks a request, answers it at once if possible, or leaves it waiting on the queue (MQGMO_WAIT)."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import NO_LIMIT, RUNNING, Engine
from ostler.engine.events import performance_events as events
from ostler.engine.groups import groups
from ostler.engine.handle import Handle
from ostler.engine.message.message import NULL_ID
from ostler.engine.open import release_lock, unlock
from ostler.engine.queue.delivery import end_answering, flush_outbox, resume_offers, send_own_messages
from ostler.engine.queue.get_request import (
    BROWSE_OPTIONS,
    BY_CORRELATION_ID,
    BY_MESSAGE_ID,
    BY_SCAN,
    UNLIMITED,
    GetRequest,
)
from ostler.engine.queue.matching import is_eligible
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.reads import MessageRead, ReadPending
from ostler.engine.queue.retrieval import discard_expired, is_log_reserve_spent, try_satisfy, try_satisfy_slice
from ostler.engine.queue.selection import GROUP_OPTIONS
from ostler.engine.queue.slots import NONE
from ostler.engine.shared.browse_locks import begin_unlock
from ostler.engine.shared.gets import IN_UNIT, index_reason
from ostler.engine.shared.searches import ask_any_way
from ostler.engine.shared.units import is_full
from ostler.engine.statistics import count_get_empty, count_get_failed
from ostler.model import constants as mq

# All but the signals and the browse marks, which are not supported.
_ALL_OPTIONS: Final = 0x1E0FFFFF & ~(mq.MQGMO_MARK_SKIP_BACKOUT | mq.MQGMO_SET_SIGNAL)
_MOVES_CURSOR: Final = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT
_UNDER_CURSOR: Final = mq.MQGMO_MSG_UNDER_CURSOR | mq.MQGMO_BROWSE_MSG_UNDER_CURSOR
_SYNCPOINTS: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT
_MATCHES: Final = 0x3F
# Limit of the selectors that one application may have waiting, each counted once per queue.
SELECTOR_BYTES_MAX: Final = 16 * 1024 * 1024
_PROPERTIES: Final = (
    mq.MQGMO_NO_PROPERTIES
    | mq.MQGMO_PROPERTIES_COMPATIBILITY
    | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
    | mq.MQGMO_PROPERTIES_IN_HANDLE
)


def new_request(
    connection: Connection,
    handle: Handle,
    options: i64,
    match: i64,
    message_id: bytes,
    correlation_id: bytes,
    max_bytes: i64,
) -> GetRequest:
    """Make a request by the identifiers of the descriptor. The caller fills in the rest before `get`."""
    request = GetRequest(connection, handle, options, max_bytes)
    if match & mq.MQMO_MATCH_MSG_ID and message_id != NULL_ID:
        request.match = mq.MQMO_MATCH_MSG_ID
        request.message_id = message_id
        request.kind = BY_MESSAGE_ID
    if match & mq.MQMO_MATCH_CORREL_ID and correlation_id != NULL_ID:
        request.match |= mq.MQMO_MATCH_CORREL_ID
        request.correlation_id = correlation_id
        request.kind |= BY_CORRELATION_ID
    request.match |= match & (
        mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER | mq.MQMO_MATCH_OFFSET | mq.MQMO_MATCH_MSG_TOKEN
    )
    request.selector = handle.selector
    if (
        request.match & ~(mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID)
        or options & (BROWSE_OPTIONS | mq.MQGMO_MSG_UNDER_CURSOR | GROUP_OPTIONS)
        or request.selector is not None
        or match & ~_MATCHES
    ):
        request.kind = BY_SCAN
        if match & ~_MATCHES:
            request.match = match
    return request


def get(engine: Engine, request: GetRequest) -> bool:
    """Answer a request now (True: `request` holds message or reason), or leave it waiting (False)."""
    reason: i64 = _check(engine, request)
    if reason != mq.MQRC_NONE:
        return refuse(engine, request, reason)
    queue = request.handle.queue
    assert queue is not None
    if queue.is_shared:
        return _get_shared(engine, request, queue)
    if request.options & mq.MQGMO_UNLOCK:
        return refuse(engine, request, mq.MQRC_NONE if unlock(engine, queue, request.handle) else mq.MQRC_NO_MSG_LOCKED)
    locked: i64 = request.handle.locked_slot if request.options & _MOVES_CURSOR else NONE
    locked_seq: i64 = request.handle.locked_seq
    engine.answering += 1
    answered: bool = try_satisfy(engine, request, queue)
    end_answering(engine)
    if request.is_scanning:
        request.lock_slot_to_release = locked
        request.lock_seq_to_release = locked_seq
        if _exceeds_selector_limit(request):
            cancel(engine, request, mq.MQRC_RESOURCE_PROBLEM)
        return request.done
    if locked != NONE:
        _release_previous_lock(engine, request, queue, locked, locked_seq)
    if answered:
        return True
    if not request.options & mq.MQGMO_WAIT or request.wait_ms == 0:
        return refuse(engine, request, mq.MQRC_NO_MSG_AVAILABLE)
    queue.waiting.add(request)
    _count_wait(engine, request, queue)
    if _exceeds_selector_limit(request):
        cancel(engine, request, mq.MQRC_RESOURCE_PROBLEM)
    return request.done


def _get_shared(engine: Engine, request: GetRequest, queue: Queue) -> bool:
    """Leave a request to the coupling facility: it is answered later, also without MQGMO_WAIT."""
    sharing = engine.sharing
    reason: i64 = mq.MQRC_CF_NOT_AVAILABLE if sharing is None else sharing.reason(queue.structure)
    if reason == 0:
        reason = index_reason(request, queue)
    if reason == 0 and not request.options & BROWSE_OPTIONS and is_log_reserve_spent(engine):
        reason = mq.MQRC_RESOURCE_PROBLEM
    if reason == 0 and request.options & IN_UNIT and is_full(engine, request.connection.unit_of_work):
        reason = mq.MQRC_SYNCPOINT_LIMIT_REACHED
    if reason != 0 or sharing is None:
        return refuse(engine, request, reason)
    if request.options & mq.MQGMO_UNLOCK:
        return not begin_unlock(engine, sharing, request, queue) and refuse(engine, request, mq.MQRC_NO_MSG_LOCKED)
    ask_any_way(engine, request, queue, True)
    return False


def add_watch(engine: Engine, watch: GetRequest) -> None:
    """Let a request wait that is answered when there is a message for it, and takes none (`max_bytes` is negative)."""
    queue = watch.handle.queue
    assert queue is not None
    queue.waiting.add(watch)
    if queue.is_shared and engine.sharing is not None and engine.sharing.reason(queue.structure) == 0:
        ask_any_way(engine, watch, queue, False)


def _count_wait(engine: Engine, request: GetRequest, queue: Queue) -> None:
    queue.counters.waits += 1
    engine.counters.waits += 1
    request.connection.counters.waits += 1


def _exceeds_selector_limit(request: GetRequest) -> bool:
    """Return True when an application waits with more selectors than SELECTOR_BYTES_MAX allows."""
    return request.selector is not None and request.connection.selector_use.bytes > SELECTOR_BYTES_MAX


def resume_work(engine: Engine) -> None:
    """Continue scans, offers and tasks that verbs have left unfinished, within a bounded cost.

    Some may be left (`has_pending_work`).

    The owner calls this repeatedly, serves others in between, and wakes the requests in `engine.woken`.
    """
    engine.renew_share()
    left: i64 = engine.share_cost
    while left > 0 and engine.has_pending_work():
        given: i64 = engine.slice_cost if engine.slice_cost < left else left
        engine.work_left = given
        # Tasks, offers and scans take turns, also from call to call: a small share must not always go to the first.
        engine.work_turn = engine.work_turn + 1 if engine.work_turn < 2 else 0
        if engine.work_turn == 0:
            if not engine.tasks:
                continue
            _resume_task(engine)
        elif engine.work_turn == 1:
            if not engine.offering:
                continue
            resume_offers(engine)
        else:
            if engine.scans.count == 0:
                continue
            request = engine.scans.take()
            if request is not None and request.is_scanning and not request.is_reading:
                _resume_scan(engine, request)
        spent: i64 = given - engine.work_left
        left -= spent if spent > 0 else 1
    engine.work_left = NO_LIMIT


def _resume_task(engine: Engine) -> None:
    """Continue the first task by one slice. Tasks take turns."""
    task = engine.tasks.pop(0)
    if task.is_done:
        return  # somebody could not wait, and has finished it
    reads = engine.reads
    reads.is_deferring = reads.has_reader
    try:
        is_over: bool = task.step()
    except ReadPending as pending:
        engine.reading_tasks.append(task)
        pending.read.tasks.append(task)
        engine.signal_reader()
        return
    except MemoryError:
        engine.tasks.append(task)
        raise
    finally:
        reads.is_deferring = False
    if is_over:
        engine.end_task(task)
    else:
        engine.tasks.append(task)


def end_read(engine: Engine, read: MessageRead) -> None:
    """Continue what waited for a read that is made. Wake the requests in `engine.woken` afterwards."""
    read.file.end_read()
    read.is_made = True
    queue = engine.queues_by_id.get(read.queue_id)
    if queue is not None:
        queue.end_read(read)
        if read.is_offering:
            queue.is_offer_read = False
            engine.offering[queue.queue_id] = queue
    for task in read.tasks:
        if task in engine.reading_tasks:
            engine.reading_tasks.remove(task)
            engine.tasks.append(task)
    is_first = True
    for request in read.requests:
        if not isinstance(request, GetRequest) or not request.is_reading or request.done:
            continue  # it has been answered or cancelled meanwhile
        request.is_reading = False
        if is_first:
            # At once: its message must not make room for others again.
            is_first = False
            engine.work_left = engine.slice_cost
            _resume_scan(engine, request)
            engine.work_left = NO_LIMIT
        else:
            engine.scans.add(request)
    if engine.has_pending_work():
        engine.signal_owner()


def _resume_plain(engine: Engine, request: GetRequest, queue: Queue) -> None:
    """Try a request without a scan again, for which a message was read."""
    queue.waiting.remove(request)
    request.must_rescan = False
    engine.answering += 1
    answered: bool = try_satisfy_slice(engine, request, queue)
    end_answering(engine)
    if request.is_scanning:
        return
    if not answered:
        if request.options & mq.MQGMO_WAIT and request.wait_ms != 0:
            queue.waiting.add(request)
            _count_wait(engine, request, queue)
            return
        refuse(engine, request, mq.MQRC_NO_MSG_AVAILABLE)
    engine.woken.append(request)


def _resume_scan(engine: Engine, request: GetRequest) -> None:
    """Continue the scan of a request by one slice."""
    queue = request.handle.queue
    assert queue is not None
    if request.plain_kind != BY_SCAN:
        _resume_plain(engine, request, queue)
        return
    queue.waiting.end_scan(request)
    engine.answering += 1
    answered: bool = try_satisfy_slice(engine, request, queue)
    end_answering(engine)
    if request.is_scanning:
        return
    locked: i64 = request.lock_slot_to_release
    if not answered and request.must_rescan:
        request.must_rescan = False
        request.scan_slot = NONE
        queue.waiting.begin_scan(request)
        engine.scans.add(request)
        return
    if locked != NONE:
        request.lock_slot_to_release = NONE
        _release_previous_lock(engine, request, queue, locked, request.lock_seq_to_release)
    if answered:
        queue.waiting.remove(request)
    elif request.options & mq.MQGMO_WAIT and request.wait_ms != 0:
        request.scan_slot = NONE
        _count_wait(engine, request, queue)
        return
    else:
        queue.waiting.remove(request)
        refuse(engine, request, mq.MQRC_NO_MSG_AVAILABLE)
    engine.woken.append(request)


def _release_previous_lock(engine: Engine, request: GetRequest, queue: Queue, locked: i64, locked_seq: i64) -> None:
    """Release the lock of the previous browse when this one moved on or found no message. A failed browse keeps it."""
    handle = request.handle
    if request.done and (request.reason == mq.MQRC_TRUNCATED_MSG_FAILED or request.reason == mq.MQRC_OBJECT_DAMAGED):
        return
    if not request.done or not request.options & mq.MQGMO_LOCK:
        unlock(engine, queue, handle)
    elif handle.locked_slot != locked or handle.locked_seq != locked_seq:
        release_lock(engine, queue, locked, locked_seq)


def refuse(engine: Engine, request: GetRequest, reason: i64) -> bool:
    """End a request without a message. Always returns True."""
    request.reason = reason
    request.done = True
    if reason == mq.MQRC_NO_MSG_AVAILABLE:
        count_get_empty(engine, request)
    elif reason != mq.MQRC_NONE:
        count_get_failed(engine, request)
    return True


def cancel(engine: Engine, request: GetRequest, reason: i64) -> None:
    """End a wait without a message: the wait interval has expired, or the application goes away."""
    if request.done:
        return
    queue = request.handle.queue
    assert queue is not None
    queue.waiting.remove(request)
    refuse(engine, request, reason)


def end_wait(engine: Engine, request: GetRequest) -> bool:
    """End a wait whose interval is over. False: a message is being read or asked for, and the answer comes later."""
    if (request.is_reading or request.asking is not None) and not request.done:
        request.wait_ms = 0
        return False
    cancel(engine, request, mq.MQRC_NO_MSG_AVAILABLE)
    return True


def cancel_waits(engine: Engine, connection: Connection, reason: i64) -> None:
    """Cancel all waits of an application that goes away, so that messages backed out for it are not given to it."""
    for handle in connection.handles.values():
        queue = handle.queue
        if queue is not None and handle.waits > 0:
            for request in queue.waiting.in_service_order():
                if request.handle is handle:  # also when it waits in the name of a substitute connection
                    cancel(engine, request, reason)
                    engine.woken.append(request)


def _check(engine: Engine, request: GetRequest) -> i64:
    handle = request.handle
    queue = handle.queue
    options: i64 = request.options
    browse: i64 = options & BROWSE_OPTIONS
    if queue is None:
        return mq.MQRC_HOBJ_ERROR
    if request.match & ~_MATCHES:
        return mq.MQRC_MATCH_OPTIONS_ERROR
    if options != handle.get_options_checked or options & mq.MQGMO_PROPERTIES_IN_HANDLE:
        reason: i64 = check_options(request)
        if reason != mq.MQRC_NONE:
            return reason
        handle.get_options_checked = options
    if browse or options & (mq.MQGMO_LOCK | mq.MQGMO_UNLOCK):
        if not handle.for_browse:
            return mq.MQRC_NOT_OPEN_FOR_BROWSE
    elif not handle.for_input:
        return mq.MQRC_NOT_OPEN_FOR_INPUT
    if request.max_bytes < 0:
        return mq.MQRC_BUFFER_LENGTH_ERROR
    if request.wait_ms < UNLIMITED and options & mq.MQGMO_WAIT:
        return mq.MQRC_WAIT_INTERVAL_ERROR
    if queue.deleted:
        return mq.MQRC_Q_DELETED
    if not handle.valid:
        return mq.MQRC_OBJECT_CHANGED
    if not queue.get_allowed or not handle.get_allowed_by_alias:
        refused = events.on_refused(engine, request.connection, mq.MQRC_GET_INHIBITED, handle.object_name)
        send_own_messages(engine, refused, None)
        return mq.MQRC_GET_INHIBITED
    if queue.damaged:
        return mq.MQRC_OBJECT_DAMAGED
    if engine.state != RUNNING:
        engine.check_state(options & mq.MQGMO_FAIL_IF_QUIESCING != 0)
    if options & _UNDER_CURSOR and not _has_cursor(engine, request, queue):
        return mq.MQRC_NO_MSG_UNDER_CURSOR
    if options & (mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT):
        unit = request.connection.unit_of_work
        if unit is not None:
            if unit.backed_out_by_system:
                return mq.MQRC_BACKED_OUT
            if len(unit.entries) >= engine.uncommitted_max:
                return mq.MQRC_SYNCPOINT_LIMIT_REACHED
    if options & (GROUP_OPTIONS | BROWSE_OPTIONS):
        return groups.validate_get(request)
    return mq.MQRC_NONE


def _has_cursor(engine: Engine, request: GetRequest, queue: Queue) -> bool:
    """Return True when the message under the cursor can be got: not expired, and not locked by another handle."""
    handle = request.handle
    if queue.is_shared:
        return handle.cursor_set
    if not handle.cursor_set or handle.cursor < 0 or handle.cursor_message_gone:
        return False
    is_gettable: bool = is_eligible(engine, request, queue, handle.cursor)
    if engine.expired:
        discard_expired(engine)
        flush_outbox(engine)
    return is_gettable


def check_options(request: GetRequest) -> i64:
    """Check the options of a request by themselves. Returns 0 or the reason to refuse them."""
    return check_get_options(request.options, request.has_message_handle)


def check_get_options(options: i64, has_message_handle: bool) -> i64:
    """Check MQGMO options by themselves. Returns 0 or the reason to refuse them."""
    syncpoint: i64 = options & _SYNCPOINTS
    properties: i64 = options & _PROPERTIES
    cursor: i64 = options & (mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT | _UNDER_CURSOR)
    if options & mq.MQGMO_SET_SIGNAL:
        return mq.MQRC_SIGNAL1_ERROR
    if (
        options & ~_ALL_OPTIONS
        or syncpoint & (syncpoint - 1)
        or cursor & (cursor - 1)
        or (options & BROWSE_OPTIONS and options & (mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT))
        or (options & mq.MQGMO_LOCK and not options & BROWSE_OPTIONS)
        or (options & mq.MQGMO_LOCK and options & mq.MQGMO_UNLOCK)
        or (options & mq.MQGMO_UNLOCK and options & (cursor | mq.MQGMO_WAIT | GROUP_OPTIONS))
        or properties & (properties - 1)
    ):
        return mq.MQRC_OPTIONS_ERROR
    if properties == mq.MQGMO_PROPERTIES_IN_HANDLE and not has_message_handle:
        return mq.MQRC_HMSG_ERROR
    return mq.MQRC_NONE
