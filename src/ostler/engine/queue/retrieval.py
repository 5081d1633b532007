"""Getting messages off local queues: answering get and browse requests.

Reports and events that follow from a get are only posted to the outbox here. The caller delivers them afterwards,
with `delivery.end_answering` or `delivery.flush_outbox`.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.conversion.conversion import convert_message
from ostler.engine.core import JOURNAL_MARGIN_BYTES, NO_LIMIT, Engine
from ostler.engine.events import performance_events as events
from ostler.engine.events import reports, triggers
from ostler.engine.groups import groups
from ostler.engine.journal_records import append_commit, append_get, append_numbered_get
from ostler.engine.message.message import (
    BACKOUT_COUNT_AT,
    CCSID_AT,
    CONTEXT_AT,
    ENCODING_AT,
    EXPIRY_AT,
    FORMAT_AT,
    GROUP_ID_AT,
    PERSISTENCE_AT,
    REPORT_AT,
    Message,
    patch_i32,
)
from ostler.engine.message.mqmde import with_extension
from ostler.engine.properties.property_control import (
    defers_to_propctl,
    has_no_visible_properties,
    needs_property_view,
    properties_on_get,
)
from ostler.engine.pubsub import retained
from ostler.engine.queue.get_request import BROWSE_OPTIONS, BY_SCAN, GetRequest
from ostler.engine.queue.matching import token_of
from ostler.engine.queue.outbox import post
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.reads import ReadPending
from ostler.engine.queue.selection import select, select_loaded
from ostler.engine.queue.slots import AVAILABLE, HAS_CURSOR, LOCKED, NONE, PERSISTENT
from ostler.engine.statistics import count_browse, count_get, count_get_failed, count_got
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.errors import MQError

_EXPIRED_AT_ONCE_MAX: Final = 1000
# A commit takes a page of the log when it is forced alone.
_RESERVE_FOR_ENDS_BYTES: Final = 4 * 4096


def try_satisfy(engine: Engine, request: GetRequest, queue: Queue) -> bool:
    """Try to answer a request from what is on the queue now.

    False: there is nothing for it, or its scan of the queue goes on later, which `request.is_scanning` tells apart.
    """
    before: i64 = engine.work_left
    given: i64 = NO_LIMIT
    if request.may_pause:
        # Only requests that scan many messages draw on the common share: the others find theirs at once.
        given = engine.first_slice() if request.kind == BY_SCAN else engine.slice_cost
    engine.work_left = given
    answered: bool = try_satisfy_slice(engine, request, queue)
    if request.kind == BY_SCAN and request.may_pause:
        engine.share_left -= given - engine.work_left
    engine.work_left = before
    return answered


def try_satisfy_slice(engine: Engine, request: GetRequest, queue: Queue) -> bool:
    """As `try_satisfy`, within `engine.work_left`."""
    try:
        slot: i64 = NONE
        if queue.stored_bytes > 0 and request.may_pause and engine.reads.has_reader:
            slot = select_loaded(engine, request, queue)
        else:
            slot = select(engine, request, queue)
        if engine.expired:
            discard_expired(engine)
        return slot >= 0 and satisfy(engine, request, queue, slot)
    except (QueueFileDamaged, MQError, MemoryError) as error:
        return _fail_with(engine, request, queue, error)


def satisfy(engine: Engine, request: GetRequest, queue: Queue, slot: i64) -> bool:
    """Answer a request with the message of a slot, or with the reason why it cannot have it. Always returns True."""
    try:
        if (
            not request.options & BROWSE_OPTIONS
            and queue.slots.flags[slot] & PERSISTENT
            and is_log_reserve_spent(engine)
        ):
            return fail_request(engine, request, mq.MQRC_RESOURCE_PROBLEM)
        if request.slots:
            _finish_joined(engine, request, queue)
        else:
            finish_get(engine, request, queue, queue.load(slot), slot)
    except (QueueFileDamaged, MQError, MemoryError) as error:
        return _fail_with(engine, request, queue, error)
    if groups.has_group_effects(request):
        groups.after_get(request, request.md)
    return True


def _fail_with(engine: Engine, request: GetRequest, queue: Queue, error: Exception) -> bool:
    reason: i64 = error.reason if isinstance(error, MQError) else mq.MQRC_STORAGE_NOT_AVAILABLE
    if isinstance(error, QueueFileDamaged):
        engine.mark_damaged(queue, str(error))
        reason = mq.MQRC_OBJECT_DAMAGED
    queue.waiting.remove(request)  # a scan that has paused waits there
    return fail_request(engine, request, reason)


def fail_request(engine: Engine, request: GetRequest, reason: i64) -> bool:
    request.md = b""
    request.body = b""
    request.reason = reason
    request.done = True
    count_get_failed(engine, request)
    return True


def is_log_reserve_spent(engine: Engine) -> bool:
    """Return True when the reserve of the log is nearly used up. The rest of it is kept for commits and back-outs."""
    return engine.journal.reserve_bytes() < _RESERVE_FOR_ENDS_BYTES


def finish_get(engine: Engine, request: GetRequest, queue: Queue, message: Message, slot: i64) -> None:
    """Answer a request with a message. `slot` is NONE when the message never came onto the queue."""
    md = message.md
    body = message.body
    reason: i64 = 0
    block = message.properties
    has_handle: bool = request.has_message_handle
    control: i64 = property_control(request, queue)
    if request.wants_stored and defers_to_propctl(request.options):
        request.properties_bytes = block
    elif needs_property_view(md, has_handle) or (
        block and not has_no_visible_properties(block, has_handle, request.options, control)
    ):
        view = properties_on_get(md, body, block, control, request.options, has_handle)
        md = view.md
        body = view.body
        request.properties = view.property_set
    if request.options & mq.MQGMO_CONVERT:
        converted = convert_message(
            md[FORMAT_AT : FORMAT_AT + 8],
            body,
            i64(read_i32_le(md, ENCODING_AT)),
            i64(read_i32_le(md, CCSID_AT)),
            request.encoding,
            request.ccsid if request.ccsid != 0 else engine.ccsid,
            request.max_bytes,
            request.options & mq.MQGMO_ACCEPT_TRUNCATED_MSG != 0,
            engine.ccsid,
        )
        body = converted.body
        reason = converted.reason
        md = patch_i32(patch_i32(md, ENCODING_AT, converted.encoding), CCSID_AT, converted.ccsid)
    if request.wants_extension:
        md, body = with_extension(md, body, engine.ccsid)
    size: i64 = len(body)
    request.data_bytes = size
    if reason == mq.MQRC_TRUNCATED_MSG_ACCEPTED or reason == mq.MQRC_TRUNCATED_MSG_FAILED:
        request.data_bytes = len(message.body)  # the conversion has truncated it to the buffer
    elif size > request.max_bytes:
        reason = mq.MQRC_TRUNCATED_MSG_ACCEPTED
        if not request.options & mq.MQGMO_ACCEPT_TRUNCATED_MSG:
            reason = mq.MQRC_TRUNCATED_MSG_FAILED
        body = body[: request.max_bytes]
    if slot != NONE:
        md = _with_current_fields(engine, queue, slot, md)
        if request.wants_token:
            request.returned_token = token_of(queue, slot)
    request.md = md
    request.body = body
    request.reason = reason
    request.after_lsn = message.visible_lsn
    request.done = True
    if request.options & BROWSE_OPTIONS:
        _finish_browse(engine, request, queue, message, slot, reason != mq.MQRC_TRUNCATED_MSG_FAILED)
    elif reason == mq.MQRC_TRUNCATED_MSG_FAILED:
        count_get_failed(engine, request)
    elif request.joined_unit == 0:  # segments, and messages of shared queues, are removed by the caller
        dequeue(engine, request, queue, message, slot, True)


def property_control(request: GetRequest, queue: Queue) -> i64:
    """Return the PROPCTL that applies to a request: that of the alias it was opened by, or of the queue."""
    control: i64 = request.handle.property_control
    return control if control >= 0 else queue.property_control


def _with_current_fields(engine: Engine, queue: Queue, slot: i64, md: bytes) -> bytes:
    """Fill in the fields that change while a message is on a queue: BackoutCount and the remaining Expiry."""
    backouts: i64 = queue.slots.backout_count(slot)
    if backouts != 0:
        md = patch_i32(md, BACKOUT_COUNT_AT, backouts)
    expiry_ms: i64 = queue.slots.expiries[slot]
    if expiry_ms != 0:
        left: i64 = (expiry_ms - engine.now_ms) // 100
        md = patch_i32(md, EXPIRY_AT, left if left > 0 else 1)
    return md


def _finish_joined(engine: Engine, request: GetRequest, queue: Queue) -> None:
    """Answer with a logical message made of segments: one descriptor and the joined bodies (MQGMO_COMPLETE_MSG).

    Outside syncpoint the segments leave the queue as one unit of work of their own: a crash takes all of them or none.
    """
    slots = request.slots
    segments = queue.load_all(slots)
    body = groups.joined_body(segments)
    whole = Message(groups.joined_descriptor(segments[0].md, len(body)), segments[0].properties, body, segments[0].seq)
    whole.put_ms = segments[0].put_ms
    for segment in segments:
        if segment.visible_lsn > whole.visible_lsn:
            whole.visible_lsn = segment.visible_lsn
    request.slots = []
    request.joined_unit = engine.next_unit_of_work
    engine.next_unit_of_work += 1
    finish_get(engine, request, queue, whole, slots[0])
    if request.options & BROWSE_OPTIONS == 0 and request.reason != mq.MQRC_TRUNCATED_MSG_FAILED:
        index: i64 = 0
        while index < len(slots):
            dequeue(engine, request, queue, segments[index], slots[index], index == 0)
            index += 1
        if request.joined_logged:
            request.after_lsn = append_commit(engine, request.joined_unit, [])
    request.joined_unit = 0
    request.joined_logged = False


def _finish_browse(
    engine: Engine, request: GetRequest, queue: Queue, message: Message, slot: i64, complete: bool
) -> None:
    if not complete:
        count_get_failed(engine, request)
        return  # MQRC_TRUNCATED_MSG_FAILED leaves the cursor where it was
    handle = request.handle
    if queue.is_shared:
        return  # its cursor is not a slot: the caller moves it
    handle.cursor = slot
    handle.cursor_seq = message.seq
    handle.cursor_set = True
    handle.cursor_message_gone = False
    handle.saved_context = b""  # MQPMO_PASS_*_CONTEXT does not pass on the context of a browsed message
    queue.slots.flags[slot] |= HAS_CURSOR
    if request.options & mq.MQGMO_LOCK:
        queue.slots.flags[slot] |= LOCKED
        handle.locked_slot = slot
        handle.locked_seq = message.seq
    count_browse(engine, request, queue, read_i32_le(message.md, PERSISTENCE_AT) == 1)


def dequeue(engine: Engine, request: GetRequest, queue: Queue, message: Message, slot: i64, is_call: bool) -> None:
    """Take a message off the queue for a request that has been answered with it.

    One call can take several segments; `is_call` is True for the first of them, which counts the call.
    """
    is_persistent: bool = read_i32_le(message.md, PERSISTENCE_AT) == 1
    options: i64 = request.options
    unit: UnitOfWork | None = None
    expiry_ms: i64 = 0
    if slot == NONE:
        apply.leave(queue)
    else:
        expiry_ms = queue.slots.expiries[slot]
        if queue.slots.resident[slot] is None:
            queue.last_read = message  # once the record is in the journal, removing the message must not read the file
        if options & mq.MQGMO_SYNCPOINT or (is_persistent and options & mq.MQGMO_SYNCPOINT_IF_PERSISTENT):
            unit = engine.unit_of_work_of(request.connection)
            if is_persistent:
                append_get(engine, queue, message.seq, unit)
            apply.get_in_unit(queue, slot, message.seq, unit, is_persistent)
        else:
            if is_persistent:
                request.after_lsn = append_numbered_get(engine, queue, message.seq, request.joined_unit)
                request.joined_logged = request.joined_unit != 0
            apply.get(queue, slot)
    age_ms: i64 = count_got(engine, queue, message, is_persistent)
    count_get(engine, request, len(message.body), is_persistent, is_call)
    account = request.handle.account
    if account is not None:
        account.count_get(len(message.body), is_persistent, age_ms)
    if request.handle.saves_context:
        request.handle.saved_context = message.md[CONTEXT_AT:GROUP_ID_AT]
    if i64(read_i32_le(message.md, REPORT_AT)) & reports.DELIVERY_OPTIONS and request.handle.sends_reports:
        post(engine, reports.on_delivery(engine, message, queue.name, expiry_ms), unit)
    if queue.trigger_on:
        triggers.after_removal(engine, queue)
    if engine.performance_events:
        post(engine, events.after_removal(engine, queue), None)


def discard_expired(engine: Engine) -> None:
    """Remove the expired messages that a scan has found, and post the reports they ask for."""
    found = engine.expired
    engine.expired = []
    # Bounded, as every removal is a journal record. The next request or the expiry scan removes the rest.
    for item in found[:_EXPIRED_AT_ONCE_MAX]:
        loaded = item.queue.last_read  # it may be the message that answers the request
        discard_if_expired(engine, item.queue, item.slot, item.seq)
        item.queue.last_read = loaded


def discard_if_expired(engine: Engine, queue: Queue, slot: i64, seq: i64) -> bool:
    """Remove a message if it has expired, and post its report. Returns False when it stays."""
    slots = queue.slots
    if slots.seqs[slot] != seq or slots.state(slot) != AVAILABLE:
        return False
    expiry_ms: i64 = slots.expiries[slot]
    if expiry_ms == 0 or expiry_ms > engine.now_ms:
        return False
    if slots.flags[slot] & PERSISTENT and engine.journal.room_bytes() < JOURNAL_MARGIN_BYTES:
        return False  # no get returns it any more, so its removal can wait
    reads = engine.reads
    was_deferring: bool = reads.is_deferring
    if reads.has_reader and not queue.is_loaded(slot):
        reads.is_deferring = True
        reads.is_ahead = True
    try:
        message = queue.load(slot)
    except QueueFileDamaged as damage:
        engine.mark_damaged(queue, str(damage))
        return False
    except ReadPending:
        engine.signal_reader()
        if was_deferring:
            raise
        return False  # the expiry scan removes it, or a get that comes across it when it has been read
    finally:
        reads.is_deferring = was_deferring
        reads.is_ahead = False
    queue.counters.expired += 1
    engine.counters.expired += 1
    if slots.resident[slot] is None:
        queue.last_read = message
    if slots.flags[slot] & PERSISTENT:
        append_get(engine, queue, seq, None)
    apply.get(queue, slot)
    if queue.keeps_retained:
        retained.record_removed(engine, message, seq)
    if i64(read_i32_le(message.md, REPORT_AT)) & reports.EXPIRATION_OPTIONS:
        post(engine, reports.on_expiry(engine, message), None)
    return True
