"""How messages come onto local queues and leave them: for verbs, reports and triggers alike."""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine.conversion.conversion import convert_message
from ostler.engine.core import JOURNAL_MARGIN_BYTES, NO_LIMIT, Engine, Posting
from ostler.engine.events import performance_events as events
from ostler.engine.events import reports, triggers
from ostler.engine.groups import groups
from ostler.engine.message.message import (
    BACKOUT_COUNT_AT,
    CCSID_AT,
    CONTEXT_AT,
    ENCODING_AT,
    EXPIRY_AT,
    FLAGS_AT,
    FORMAT_AT,
    GROUP_ID_AT,
    PERSISTENCE_AT,
    PRIORITY_AT,
    REPORT_AT,
    Message,
    patch_i32,
)
from ostler.engine.message.mqmde import with_extension
from ostler.engine.name_resolution import resolve
from ostler.engine.properties.property_control import (
    defers_to_propctl,
    has_no_visible_properties,
    needs_property_view,
    properties_on_get,
    selector_source,
)
from ostler.engine.pubsub import retained
from ostler.engine.queue.get_request import BY_SCAN, GetRequest, Offer, WaitGroup
from ostler.engine.queue.matching import fits, is_eligible, load, properties_cost, token_of
from ostler.engine.queue.queue import SPILL_BATCH_BYTES, Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.selection import select
from ostler.engine.queue.slots import (
    AVAILABLE,
    GOT_UNCOMMITTED,
    GROUPED,
    HAS_CURSOR,
    LOCKED,
    NONE,
    PERSISTENT,
    PUT_UNCOMMITTED,
)
from ostler.engine.queue.transmission import transmission_message
from ostler.engine.recovery.checkpoint_space import refuse_full_disk
from ostler.engine.recovery.records import COMMIT, GET, PUT, get_head, number_head, put_head
from ostler.engine.statistics import count_browse, count_get, count_get_failed, count_got
from ostler.engine.unit_of_work import Entry, UnitOfWork
from ostler.model.authorities import PASSID
from ostler.model.authorities import PUT as PUT_AUTHORITY
from ostler.model.constants import (
    MQGMO_ACCEPT_TRUNCATED_MSG,
    MQGMO_BROWSE_FIRST,
    MQGMO_BROWSE_MSG_UNDER_CURSOR,
    MQGMO_BROWSE_NEXT,
    MQGMO_CONVERT,
    MQGMO_LOCK,
    MQGMO_SYNCPOINT,
    MQGMO_SYNCPOINT_IF_PERSISTENT,
    MQMF_LAST_MSG_IN_GROUP,
    MQMF_LAST_SEGMENT,
    MQMF_MSG_IN_GROUP,
    MQMF_SEGMENT,
    MQOT_Q,
    MQRC_MSG_TOO_BIG_FOR_Q,
    MQRC_MSG_TOO_BIG_FOR_Q_MGR,
    MQRC_NOT_AUTHORIZED,
    MQRC_OBJECT_DAMAGED,
    MQRC_PERSISTENT_NOT_ALLOWED,
    MQRC_PUT_INHIBITED,
    MQRC_Q_FULL,
    MQRC_Q_TYPE_ERROR,
    MQRC_RESOURCE_PROBLEM,
    MQRC_STORAGE_NOT_AVAILABLE,
    MQRC_TRUNCATED_MSG_ACCEPTED,
    MQRC_TRUNCATED_MSG_FAILED,
)
from ostler.model.disk import DescriptorsExhausted, DiskFull
from ostler.model.errors import MQError

BROWSE: Final = MQGMO_BROWSE_FIRST | MQGMO_BROWSE_NEXT | MQGMO_BROWSE_MSG_UNDER_CURSOR
_EXPIRED_AT_ONCE_MAX: Final = 1000
_REPORTING: Final = PUT_AUTHORITY | PASSID
# A commit takes a page of the log when it is forced alone.
_RESERVE_FOR_ENDS_BYTES: Final = 4 * 4096
GROUP_FLAGS: Final = MQMF_MSG_IN_GROUP | MQMF_LAST_MSG_IN_GROUP | MQMF_SEGMENT | MQMF_LAST_SEGMENT


def admit(engine: Engine, queue: Queue, size_bytes: i64, is_persistent: bool) -> i64:
    """May a message of this size come onto the queue now? 0, or the reason why not. Changes nothing."""
    if queue.depth >= queue.depth_max:
        return MQRC_Q_FULL
    if size_bytes > queue.message_bytes_max:
        return MQRC_MSG_TOO_BIG_FOR_Q
    if size_bytes > engine.message_bytes_max:
        return MQRC_MSG_TOO_BIG_FOR_Q_MGR
    if queue.damaged:
        return MQRC_OBJECT_DAMAGED
    if queue.spill_bytes >= SPILL_BATCH_BYTES:
        if engine.space.is_giving:
            return refuse_full_disk(engine)
        reason: i64 = _spill(engine, queue)
        if reason != 0:
            return reason
    if is_persistent:
        if queue.is_temporary:
            return MQRC_PERSISTENT_NOT_ALLOWED
        if not engine.space.covers(engine, size_bytes):
            return refuse_full_disk(engine)
        if engine.lacks_log_space(size_bytes + JOURNAL_MARGIN_BYTES):
            return MQRC_RESOURCE_PROBLEM
    return 0


def _spill(engine: Engine, queue: Queue) -> i64:
    """Write what is beyond the buffers to the queue's file: 0, or the reason why that cannot be."""
    while True:
        try:
            queue.write_spill()
            return 0
        except DescriptorsExhausted:
            return MQRC_RESOURCE_PROBLEM
        except DiskFull:
            if not engine.space.reclaim(engine):
                return refuse_full_disk(engine)


def deliver(engine: Engine, queue: Queue, md: bytes, properties: bytes, body: bytes, unit: UnitOfWork | None) -> i64:
    """Put an admitted message on a queue; the LSN behind which the put is promised (0: nothing to wait for)."""
    is_persistent: bool = read_i32_le(md, PERSISTENCE_AT) == 1
    seq: i64 = queue.next_seq
    queue.next_seq += 1
    flags: i64 = queue.order_flags(i64(read_i32_le(md, PRIORITY_AT)))
    expiry_ms: i64 = 0
    tenths: i64 = i64(read_i32_le(md, EXPIRY_AT))
    if tenths > 0:
        expiry_ms = engine.now_ms + tenths * 100
    if i64(read_i32_le(md, FLAGS_AT)) & GROUP_FLAGS:
        flags |= GROUPED
    lsn: i64 = 0
    message = Message(md, properties, body, seq)
    if is_persistent:
        queue.slots.reserve()  # what is in the journal must find its place
        flags |= PERSISTENT
        if unit is not None and unit.first_lsn < 0:
            unit.first_lsn = engine.journal.end_lsn()
        head = put_head(unit.number if unit is not None else 0, queue.queue_id, seq, flags, expiry_ms, len(properties))
        lsn = engine.journal.append(PUT, head, md + properties if properties else md, body)
    enter(engine, queue, message, flags, expiry_ms, unit, lsn)
    return lsn if unit is None else 0


def enter(
    engine: Engine, queue: Queue, message: Message, flags: i64, expiry_ms: i64, unit: UnitOfWork | None, lsn: i64
) -> None:
    """Let a message onto a queue whose record, if it needs one, is in the journal up to `lsn`."""
    md = message.md
    is_persistent: bool = flags & PERSISTENT != 0
    message.put_ms = engine.now_ms
    queue.depth += 1
    _count_put(engine, queue, len(message.body), is_persistent)
    if unit is not None:
        slot: i64 = queue.store(message, flags | PUT_UNCOMMITTED, expiry_ms)
        unit.entries.append(Entry(queue, slot, message.seq, True, is_persistent))
        queue.uncommitted += 1
        if queue.keeps_retained:
            unit.is_retaining = True
    else:
        message.visible_lsn = lsn
        make_available(engine, queue, message, flags, expiry_ms)
    if i64(read_i32_le(md, REPORT_AT)) & reports.ARRIVAL_OPTIONS:
        report_arrival(engine, queue, message, unit)


def _count_put(engine: Engine, queue: Queue, size_bytes: i64, is_persistent: bool) -> None:
    counters = queue.counters
    counters.puts += 1
    counters.put_bytes += size_bytes
    if is_persistent:
        counters.puts_persistent += 1
        counters.put_bytes_persistent += size_bytes
    counters.last_put_ms = engine.wall_ms()
    if queue.depth > counters.window_high:
        counters.window_high = queue.depth
    if engine.performance_events:
        send_reports(engine, events.after_arrival(engine, queue), None)


def make_available(engine: Engine, queue: Queue, message: Message, flags: i64, expiry_ms: i64) -> None:
    """A message put outside syncpoint: to a waiting getter if one wants it, else onto the queue."""
    if queue.waiting.count > 0 and queue.get_allowed:
        if not flags & (PERSISTENT | GROUPED) and queue.waiting.selective == 0:
            request = queue.waiting.first_plain(message.md)
            if request is not None and _takes_directly(engine, queue, message, request):
                return
        slot: i64 = queue.store(message, flags | AVAILABLE, expiry_ms)
        queue.link_new(slot)
        serve_waiting(engine, queue, slot, message)
        if not queue.has_available(slot, message.seq):
            return
    else:
        slot = queue.store(message, flags | AVAILABLE, expiry_ms)
        queue.link_new(slot)
    if queue.trigger_on:
        after_arrival(engine, queue, message.md)


def _takes_directly(engine: Engine, queue: Queue, message: Message, request: GetRequest) -> bool:
    """Queue avoidance: the message never takes a slot when the getter neither needs syncpoint nor fails to hold it."""
    if request.options & (MQGMO_SYNCPOINT | MQGMO_CONVERT) or len(message.body) > request.max_bytes:
        return False
    md = message.md
    if needs_property_view(md, request.has_message_handle) or read_i32_le(md, FLAGS_AT) != 0:
        return False
    if message.properties and not has_no_visible_properties(
        message.properties, request.has_message_handle, request.options, _property_control(request, queue)
    ):
        return False
    if request.wants_token or request.handle.get_group.is_open():
        return False
    queue.waiting.remove(request)
    engine.answering += 1
    try:
        finish_get(engine, request, queue, message, NONE)
    except MemoryError:
        # The get fails, and the message goes onto the queue for others.
        _answer_refused(engine, request, MQRC_STORAGE_NOT_AVAILABLE)
        engine.woken.append(request)
        _answered(engine)
        return False
    queue.counters.handed_over += 1
    engine.woken.append(request)
    _answered(engine)
    return True


def _answered(engine: Engine) -> None:
    engine.answering -= 1
    if engine.outbox and engine.answering == 0:
        _empty_outbox(engine)


def serve_waiting(engine: Engine, queue: Queue, slot: i64, message: Message) -> None:
    """A message became available: answer those who wait for it.

    Those with selectors come first, as far as they can be asked now. Whoever takes anything does not wait for the rest.
    """
    engine.answering += 1
    if queue.waiting.selective > 0:
        offer = Offer(slot, message.seq)
        offer.last = queue.waiting.numbered
        # In the order in which they have come, so that nobody is shown a later message first.
        is_over: bool = not queue.offers and _offer_now(engine, queue, offer)
        if queue.has_available(slot, message.seq):
            _serve_plain(engine, queue, message.md)
            if not is_over and queue.has_available(slot, message.seq):
                queue.offers.append(offer)
                engine.offering[queue.queue_id] = queue
                engine.ring()
    else:
        _serve_plain(engine, queue, message.md)
    _answered(engine)


def _serve_plain(engine: Engine, queue: Queue, md: bytes) -> None:
    """Answer those who wait for any message, or for one by its identifiers; the longest waiting first."""
    request = queue.waiting.first_plain(md)
    while request is not None and attempt(engine, request, queue):
        queue.waiting.remove(request)
        engine.woken.append(request)
        if request.reason != MQRC_TRUNCATED_MSG_FAILED:
            break
        request = queue.waiting.first_plain(md)


def _offer_now(engine: Engine, queue: Queue, offer: Offer) -> bool:
    """Ask those who wait with selectors, as far as a verb may. False: some are left to be asked."""
    before: i64 = engine.work_left
    given: i64 = NO_LIMIT if engine.bell.waker is None else engine.first_slice()
    engine.work_left = given
    is_over: bool = _ask_groups(engine, queue, offer)
    engine.share_left -= given - engine.work_left
    engine.work_left = before
    return is_over


def go_on_offering(engine: Engine) -> None:
    """Ask further ones about the messages of one queue, within `engine.work_left`; queues take turns."""
    for number in engine.offering:
        queue = engine.offering.pop(number)
        engine.answering += 1
        while queue.offers and _ask_groups(engine, queue, queue.offers[0]):
            queue.offers.popleft()
            engine.work_left -= 1
        if queue.offers:
            engine.offering[number] = queue
        _answered(engine)
        return


def _ask_groups(engine: Engine, queue: Queue, offer: Offer) -> bool:
    """Offer a message to groups of waiting requests, within `engine.work_left`. False: some are left to be asked."""
    slot: i64 = offer.slot
    try:
        if queue.deleted or not queue.get_allowed or not queue.has_available(slot, offer.seq):
            return True
        source = offer.source
        if source is None:
            if engine.work_left <= 0:
                return False
            message = load(engine, queue, slot)
            source = selector_source(message.md, message.body, message.properties)
            offer.groups = queue.waiting.candidates(source)
            offer.source = source
            engine.work_left -= len(offer.groups) // 8
            if queue.waiting.has_selectors():
                engine.work_left -= queue.waiting.asked_names() + properties_cost(message)
        while offer.at < len(offer.groups):
            group = offer.groups[offer.at]
            selector = group.selector
            if group.requests.head is not None and selector is not None and not offer.is_selected:
                if engine.work_left <= 0:
                    return False
                engine.work_left -= selector.cost
                offer.is_selected = selector.matches(source)
            if selector is None or offer.is_selected:
                if not _ask_group(engine, queue, offer, group):
                    return False
                if not queue.has_available(slot, offer.seq):
                    return True
            offer.at += 1
            offer.is_selected = False
            offer.asked = 0
    except QueueFileDamaged as damage:
        mark_damaged(engine, queue, str(damage))
    except (MQError, MemoryError):
        engine.work_left = 0  # no descriptor or memory to read it with: its put is done, and others are asked later
        return False
    return True


def _ask_group(engine: Engine, queue: Queue, offer: Offer, group: WaitGroup) -> bool:
    """Offer a message that the selector of a group fits to its requests. False: some are left to be asked."""
    request = _behind(group, offer.asked)
    while request is not None and request.number <= offer.last:
        if engine.work_left <= 0:
            return False
        engine.work_left -= 1
        following = request.next
        offer.asked = request.number
        if group.looks_for_itself or request.gives_up_slot != NONE:
            _look_again(engine, request, queue)
        elif _may_have(engine, request, queue, offer.slot) and answer(engine, request, queue, offer.slot):
            _served(engine, request, queue)
        if not queue.has_available(offer.slot, offer.seq):
            return True
        request = following if following is None or following.group is group else _behind(group, offer.asked)
    return True


def _behind(group: WaitGroup, asked: i64) -> GetRequest | None:
    """The first request of a group with a higher number."""
    request = group.requests.head
    while request is not None and request.number <= asked:
        request = request.next
    return request


def _may_have(engine: Engine, request: GetRequest, queue: Queue, slot: i64) -> bool:
    """Is a message that came meanwhile for this request? Not when its look through the queue is to find it yet."""
    if request.is_scanning and (request.scan_slot == NONE or queue.is_behind(slot, request.scan_slot)):
        return False
    handle = request.handle
    is_next: bool = request.options & MQGMO_BROWSE_NEXT != 0 and handle.cursor_set and handle.cursor != NONE
    if is_next and not queue.is_behind(slot, handle.cursor):
        return False
    return is_eligible(engine, request, queue, slot) and (
        request.match == 0 or fits(request, queue, slot, queue.load(slot).md)
    )


def _look_again(engine: Engine, request: GetRequest, queue: Queue) -> None:
    """Something has come that may complete a group: have a request look through the queue once more."""
    if request.is_scanning:
        request.must_look_again = True
        return
    if attempt(engine, request, queue):
        _served(engine, request, queue)


def _served(engine: Engine, request: GetRequest, queue: Queue) -> None:
    queue.waiting.remove(request)
    engine.woken.append(request)


def attempt(engine: Engine, request: GetRequest, queue: Queue) -> bool:
    """Try to answer a request from what is on the queue now.

    False: nothing for it there; or its look through the queue goes on later, as `request.is_scanning` says.
    """
    before: i64 = engine.work_left
    given: i64 = NO_LIMIT
    if request.may_pause:
        # Only those that look at many messages share what there is for that: the others find theirs at once.
        given = engine.first_slice() if request.kind == BY_SCAN else engine.slice_cost
    engine.work_left = given
    engine.answering += 1
    answered: bool = _attempt(engine, request, queue)
    _answered(engine)
    if request.kind == BY_SCAN and request.may_pause:
        engine.share_left -= given - engine.work_left
    engine.work_left = before
    return answered


def attempt_slice(engine: Engine, request: GetRequest, queue: Queue) -> bool:
    """As `attempt`, within `engine.work_left`."""
    engine.answering += 1
    answered: bool = _attempt(engine, request, queue)
    _answered(engine)
    return answered


def _attempt(engine: Engine, request: GetRequest, queue: Queue) -> bool:
    try:
        slot: i64 = select(engine, request, queue)
        if engine.expired:
            discard_expired(engine)
        return slot >= 0 and answer(engine, request, queue, slot)
    except (QueueFileDamaged, MQError, MemoryError) as error:
        return _cannot_have(engine, request, queue, error)


def answer(engine: Engine, request: GetRequest, queue: Queue, slot: i64) -> bool:
    """Answer a request with the message of a slot, or with the reason why it cannot have it. Always True."""
    try:
        if not request.options & BROWSE and queue.slots.flags[slot] & PERSISTENT and _journal_is_spent(engine):
            return _answer_refused(engine, request, MQRC_RESOURCE_PROBLEM)
        if request.slots:
            _finish_joined(engine, request, queue)
        else:
            finish_get(engine, request, queue, queue.load(slot), slot)
    except (QueueFileDamaged, MQError, MemoryError) as error:
        return _cannot_have(engine, request, queue, error)
    if groups.concerns(request):
        groups.after_get(request, request.md)
    return True


def _cannot_have(engine: Engine, request: GetRequest, queue: Queue, error: Exception) -> bool:
    reason: i64 = error.reason if isinstance(error, MQError) else MQRC_STORAGE_NOT_AVAILABLE
    if isinstance(error, QueueFileDamaged):
        mark_damaged(engine, queue, str(error))
        reason = MQRC_OBJECT_DAMAGED
    queue.waiting.remove(request)  # its look may have paused before
    return _answer_refused(engine, request, reason)


def _answer_refused(engine: Engine, request: GetRequest, reason: i64) -> bool:
    request.md = b""
    request.body = b""
    request.reason = reason
    request.done = True
    count_get_failed(engine, request)
    return True


def _journal_is_spent(engine: Engine) -> bool:
    """Even the reserve is nearly used up: what is left of it is for those who commit or back out."""
    return engine.journal.reserve_bytes() < _RESERVE_FOR_ENDS_BYTES


def mark_damaged(engine: Engine, queue: Queue, what: str) -> None:
    """A queue cannot be trusted any more: verbs on it get MQRC_OBJECT_DAMAGED until it is recovered or deleted."""
    queue.damaged = what
    engine.notices.append(
        f"AMQ7472E: Object {queue.name}, type queue damaged. {what}. With linear logging, recover it with rcrmqobj; "
        "otherwise delete the queue and define it again."
    )


def finish_get(engine: Engine, request: GetRequest, queue: Queue, message: Message, slot: i64) -> None:
    """Answer a request with a message. `slot` is NONE for one that never came onto the queue."""
    md = message.md
    body = message.body
    reason: i64 = 0
    block = message.properties
    has_handle: bool = request.has_message_handle
    control: i64 = _property_control(request, queue)
    if request.wants_stored and defers_to_propctl(request.options):
        request.block = block
    elif needs_property_view(md, has_handle) or (
        block and not has_no_visible_properties(block, has_handle, request.options, control)
    ):
        view = properties_on_get(md, body, block, control, request.options, has_handle)
        md = view.md
        body = view.body
        request.properties = view.property_set
    if request.options & MQGMO_CONVERT:
        converted = convert_message(
            md[FORMAT_AT : FORMAT_AT + 8],
            body,
            i64(read_i32_le(md, ENCODING_AT)),
            i64(read_i32_le(md, CCSID_AT)),
            request.encoding,
            request.ccsid if request.ccsid != 0 else engine.ccsid,
            request.max_bytes,
            request.options & MQGMO_ACCEPT_TRUNCATED_MSG != 0,
            engine.ccsid,
        )
        body = converted.body
        reason = converted.reason
        md = patch_i32(patch_i32(md, ENCODING_AT, converted.encoding), CCSID_AT, converted.ccsid)
    if request.wants_extension:
        md, body = with_extension(md, body, engine.ccsid)
    size: i64 = len(body)
    request.data_bytes = size
    if reason == MQRC_TRUNCATED_MSG_ACCEPTED or reason == MQRC_TRUNCATED_MSG_FAILED:
        request.data_bytes = len(message.body)  # the conversion has cut it to the buffer
    elif size > request.max_bytes:
        reason = MQRC_TRUNCATED_MSG_ACCEPTED
        if not request.options & MQGMO_ACCEPT_TRUNCATED_MSG:
            reason = MQRC_TRUNCATED_MSG_FAILED
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
    if request.options & BROWSE:
        _finish_browse(engine, request, queue, message, slot, reason != MQRC_TRUNCATED_MSG_FAILED)
    elif reason == MQRC_TRUNCATED_MSG_FAILED:
        count_get_failed(engine, request)
    elif request.joined_unit == 0:
        take(engine, request, queue, message, slot, True)


def _property_control(request: GetRequest, queue: Queue) -> i64:
    """PROPCTL as it counts for a request: of the alias it came through, or of the queue."""
    control: i64 = request.handle.property_control
    return control if control >= 0 else queue.property_control


def _with_current_fields(engine: Engine, queue: Queue, slot: i64, md: bytes) -> bytes:
    """Fill in what changes while a message is on a queue: its back-out count and the rest of its life."""
    backouts: i64 = queue.slots.backout_count(slot)
    if backouts != 0:
        md = patch_i32(md, BACKOUT_COUNT_AT, backouts)
    expiry_ms: i64 = queue.slots.expiries[slot]
    if expiry_ms != 0:
        left: i64 = (expiry_ms - engine.now_ms) // 100
        md = patch_i32(md, EXPIRY_AT, left if left > 0 else 1)
    return md


def _finish_joined(engine: Engine, request: GetRequest, queue: Queue) -> None:
    """Answer with a logical message made of segments: one descriptor, the bodies one behind the other.

    Outside syncpoint the segments leave the queue as one unit of work of their own: a crash takes all of them or none.
    """
    slots = request.slots
    segments = [queue.load(slot) for slot in slots]
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
    if request.options & BROWSE == 0 and request.reason != MQRC_TRUNCATED_MSG_FAILED:
        index: i64 = 0
        while index < len(slots):
            take(engine, request, queue, segments[index], slots[index], index == 0)
            index += 1
        if request.joined_logged:
            head = number_head(request.joined_unit)
            request.after_lsn = engine.journal.append(COMMIT, head, b"", b"")
    request.joined_unit = 0
    request.joined_logged = False


def _finish_browse(
    engine: Engine, request: GetRequest, queue: Queue, message: Message, slot: i64, complete: bool
) -> None:
    if not complete:
        count_get_failed(engine, request)
        return  # MQRC_TRUNCATED_MSG_FAILED leaves the cursor where it was
    handle = request.handle
    handle.cursor = slot
    handle.cursor_seq = message.seq
    handle.cursor_set = True
    handle.cursor_message_gone = False
    handle.saved_context = b""  # the context of a message that is only looked at is not passed on
    queue.slots.flags[slot] |= HAS_CURSOR
    if request.options & MQGMO_LOCK:
        queue.slots.flags[slot] |= LOCKED
        handle.locked_slot = slot
        handle.locked_seq = message.seq
    count_browse(engine, request, queue, read_i32_le(message.md, PERSISTENCE_AT) == 1)


def take(engine: Engine, request: GetRequest, queue: Queue, message: Message, slot: i64, is_call: bool) -> None:
    """Take a message off the queue for a request that has been answered with it.

    Several segments can leave with one call; it is counted with the first of them.
    """
    is_persistent: bool = read_i32_le(message.md, PERSISTENCE_AT) == 1
    options: i64 = request.options
    unit: UnitOfWork | None = None
    queue.depth -= 1
    expiry_ms: i64 = 0
    if slot != NONE:
        expiry_ms = queue.slots.expiries[slot]
        if options & MQGMO_SYNCPOINT or (is_persistent and options & MQGMO_SYNCPOINT_IF_PERSISTENT):
            unit = engine.unit_of_work_of(request.connection)
        queue.unlink(slot)
        if unit is not None:
            queue.slots.set_state(slot, GOT_UNCOMMITTED)
            queue.slots.flags[slot] &= ~LOCKED
            unit.entries.append(Entry(queue, slot, message.seq, False, is_persistent))
            queue.uncommitted += 1
            if is_persistent:
                if unit.first_lsn < 0:
                    unit.first_lsn = engine.journal.end_lsn()
                engine.journal.append(GET, get_head(unit.number, queue.queue_id, message.seq), b"", b"")
        else:
            if is_persistent:
                head = get_head(request.joined_unit, queue.queue_id, message.seq)
                request.after_lsn = engine.journal.append(GET, head, b"", b"")
                request.joined_logged = request.joined_unit != 0
            queue.release(slot)
    age_ms: i64 = count_got(engine, queue, message, is_persistent)
    count_get(engine, request, len(message.body), is_persistent, is_call)
    account = request.handle.account
    if account is not None:
        account.got(len(message.body), is_persistent, age_ms)
    if request.handle.saves_context:
        request.handle.saved_context = message.md[CONTEXT_AT:GROUP_ID_AT]
    if i64(read_i32_le(message.md, REPORT_AT)) & reports.DELIVERY_OPTIONS:
        send_reports(engine, reports.on_delivery(engine, message, queue.name, expiry_ms), unit)
    if queue.trigger_on:
        triggers.after_removal(engine, queue)
    if engine.performance_events:
        send_reports(engine, events.after_removal(engine, queue), None)


def discard_expired(engine: Engine) -> None:
    """Remove the messages that were found to have expired, with the reports they ask for."""
    found = engine.expired
    engine.expired = []
    # Bounded, as every removal is a journal record; the rest is for the next request, or the scan.
    for item in found[:_EXPIRED_AT_ONCE_MAX]:
        discard_if_expired(engine, item.queue, item.slot, item.seq)


def discard_if_expired(engine: Engine, queue: Queue, slot: i64, seq: i64) -> bool:
    slots = queue.slots
    if slots.seqs[slot] != seq or slots.state(slot) != AVAILABLE:
        return False
    expiry_ms: i64 = slots.expiries[slot]
    if expiry_ms == 0 or expiry_ms > engine.now_ms:
        return False
    if slots.flags[slot] & PERSISTENT and engine.journal.room_bytes() < JOURNAL_MARGIN_BYTES:
        return False  # nobody sees it any more, and it can wait
    try:
        message = queue.load(slot)
    except QueueFileDamaged as damage:
        mark_damaged(engine, queue, str(damage))
        return False
    queue.unlink(slot)
    queue.depth -= 1
    queue.counters.expired += 1
    engine.counters.expired += 1
    if slots.flags[slot] & PERSISTENT:
        engine.journal.append(GET, get_head(0, queue.queue_id, seq), b"", b"")
    queue.release(slot)
    if queue.keeps_retained:
        retained.record_removed(engine, message, seq)
    if i64(read_i32_le(message.md, REPORT_AT)) & reports.EXPIRATION_OPTIONS:
        send_reports(engine, reports.on_expiry(engine, message), None)
    return True


def send_reports(engine: Engine, outgoing: list[reports.Outgoing], unit: UnitOfWork | None) -> None:
    """Deliver messages the queue manager itself has made. What cannot be delivered goes to the dead-letter queue."""
    if not outgoing:
        return
    for item in outgoing:
        engine.outbox.append(Posting(item, unit))
    if engine.answering == 0:
        _empty_outbox(engine)


def _empty_outbox(engine: Engine) -> None:
    # The verb that led here is done: whether these find room in the journal says nothing about it.
    was_full = engine.journal_full
    while engine.outbox:
        postings = engine.outbox
        engine.outbox = []
        for posting in postings:
            item = posting.item
            assert isinstance(item, reports.Outgoing)
            reason: i64 = _send(engine, item, posting.unit)
            if reason != 0:
                to_dead_letter_queue(engine, item, reason, posting.unit)
    engine.journal_full = was_full


def _send(engine: Engine, item: reports.Outgoing, unit: UnitOfWork | None) -> i64:
    try:
        found = resolve(engine, item.queue_name, item.manager_name)
    except MQError as error:
        return error.reason
    target = found.queue
    if target is None:
        return MQRC_Q_TYPE_ERROR  # a model queue
    if not target.put_allowed:
        return MQRC_PUT_INHIBITED
    if item.is_for_user and not _may_report(engine, item, found.remote_manager != "", target):
        return MQRC_NOT_AUTHORIZED
    md = item.md
    properties = item.properties
    body = item.body
    if found.remote_manager:
        md, body = transmission_message(engine, found.remote_queue, found.remote_manager, md, properties, body)
        properties = b""
    reason: i64 = admit(engine, target, len(body), read_i32_le(md, PERSISTENCE_AT) == 1)
    if reason == 0:
        deliver(engine, target, md, properties, body, unit)
    return reason


def _may_report(engine: Engine, item: reports.Outgoing, is_remote: bool, target: Queue) -> bool:
    """Whether the user of a message may have a report on it put on a queue."""
    guard = engine.guard
    if guard is None or guard.is_administrator(item.user):
        return True
    # As at MQOPEN: a definition here goes by its own name, a queue manager that is named by its transmission queue.
    is_there: bool = is_remote and item.manager_name not in ("", engine.name)
    name = target.name if is_there else item.queue_name
    if engine.dynamic_owners.get(name) == item.user:
        return True
    granted: i64 = guard.authorities(item.user, MQOT_Q, name)
    return granted & _REPORTING == _REPORTING


def to_dead_letter_queue(engine: Engine, item: reports.Outgoing, reason: i64, unit: UnitOfWork | None) -> bool:
    """Put a message that cannot be delivered on the dead-letter queue. False: there is none, or it cannot take it."""
    target = engine.queues.get(engine.dead_letter_queue)
    if target is None or target.name == item.queue_name or not item.may_be_dead_lettered:
        return False
    md, body = reports.dead_letter(engine, item, reason)
    is_persistent: bool = read_i32_le(md, PERSISTENCE_AT) == 1
    if not target.put_allowed or admit(engine, target, len(body), is_persistent) != 0:
        return False
    deliver(engine, target, md, item.properties, body, unit)
    return True


def report_arrival(engine: Engine, queue: Queue, message: Message, unit: UnitOfWork | None) -> None:
    send_reports(engine, reports.on_arrival(engine, message, queue.name), unit)


def after_arrival(engine: Engine, queue: Queue, md: bytes) -> None:
    """A message is available that nobody waited for: perhaps an application shall be started."""
    outgoing = triggers.after_arrival(engine, queue, i64(read_i32_le(md, PRIORITY_AT)))
    if outgoing:
        send_reports(engine, outgoing, None)
