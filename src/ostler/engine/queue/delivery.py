"""Putting messages on local queues, for verbs, channels and the queue manager itself.

`check_admission` decides, `deliver` writes the journal record, `enqueue` adds the message to the queue, and
`make_available` hands it to a waiting get or leaves it on the queue. Messages that the queue manager makes on the way
(reports, events, trigger messages) come through the outbox and are delivered here as well.
"""

from __future__ import annotations

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import JOURNAL_MARGIN_BYTES, LOG_FULL, NO_LIMIT, Engine
from ostler.engine.events import performance_events as events
from ostler.engine.events import reports, triggers
from ostler.engine.journal_records import append_put
from ostler.engine.message.message import (
    EXPIRY_AT,
    FLAGS_AT,
    GROUP_FLAGS,
    PERSISTENCE_AT,
    PRIORITY_AT,
    REPORT_AT,
    Message,
)
from ostler.engine.properties.property_control import has_no_visible_properties, needs_property_view, selector_source
from ostler.engine.queue.get_request import GetRequest, WaitGroup
from ostler.engine.queue.get_waiters import Offer
from ostler.engine.queue.matching import is_eligible, load_charged, matches_options, properties_cost
from ostler.engine.queue.outbox import find_destination, post
from ostler.engine.queue.queue import SPILL_BATCH_BYTES, Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.reads import ReadPending
from ostler.engine.queue.retrieval import fail_request, finish_get, property_control, satisfy, try_satisfy
from ostler.engine.queue.slots import GROUPED, NONE, PERSISTENT
from ostler.engine.queue.transmission import address_intra_group, transmission_message
from ostler.engine.recovery.checkpoint_space import has_checkpoint_space, reclaim_space, refuse_full_disk
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.disk import DescriptorsExhausted, DiskFull
from ostler.model.errors import InvariantFailed, MQError


def check_admission(engine: Engine, queue: Queue, size_bytes: i64, is_persistent: bool) -> i64:
    """Return 0 when the queue can take a message of this size now, or the reason why not, perhaps LOG_FULL.

    Messages beyond the queue's buffers may be written to its file first.
    """
    if queue.depth >= queue.depth_max and not queue.is_shared:  # the facility knows the depth of a shared queue
        return mq.MQRC_Q_FULL
    if size_bytes > queue.message_bytes_max:
        return mq.MQRC_MSG_TOO_BIG_FOR_Q
    if size_bytes > engine.message_bytes_max:
        return mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR
    if queue.damaged:
        return mq.MQRC_OBJECT_DAMAGED
    if queue.spill_bytes >= SPILL_BATCH_BYTES:
        if engine.reserve.is_in_use:
            return refuse_full_disk(engine)
        reason: i64 = _spill(engine, queue)
        if reason != 0:
            return reason
    if queue.is_shared:
        return _shared_refusal(engine, queue)
    if is_persistent:
        if queue.is_temporary:
            return mq.MQRC_PERSISTENT_NOT_ALLOWED
        if not has_checkpoint_space(engine, size_bytes):
            return refuse_full_disk(engine)
        if engine.lacks_log_space(size_bytes + JOURNAL_MARGIN_BYTES):
            return LOG_FULL
    return 0


def _shared_refusal(engine: Engine, queue: Queue) -> i64:
    """Return 0 when messages can be sent to the structure of a shared queue now, or the reason why not."""
    sharing = engine.sharing
    if sharing is None or sharing.own_messages is None:
        return mq.MQRC_CF_NOT_AVAILABLE
    return sharing.reason(queue.structure) if queue.structure in sharing.structures else 0


def _spill(engine: Engine, queue: Queue) -> i64:
    """Write messages beyond the buffers to the queue's file. Returns 0, or the reason why it cannot."""
    while True:
        try:
            queue.write_spill()
            return 0
        except DescriptorsExhausted:
            return mq.MQRC_RESOURCE_PROBLEM
        except DiskFull:
            if not reclaim_space(engine):
                return refuse_full_disk(engine)


def deliver(engine: Engine, queue: Queue, md: bytes, properties: bytes, body: bytes, unit: UnitOfWork | None) -> i64:
    """Put an admitted message on a queue. Returns the LSN that must be durable before the put is acknowledged, or 0."""
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
        queue.slots.reserve()  # once the record is in the journal, storing the message must not fail
        flags |= PERSISTENT
        lsn = append_put(engine, queue, message, flags, expiry_ms, unit)
    enqueue(engine, queue, message, flags, expiry_ms, unit, lsn)
    return lsn if unit is None else 0


def deliver_shared(
    engine: Engine, queue: Queue, md: bytes, properties: bytes, body: bytes, unit: UnitOfWork | None
) -> None:
    """Put a message of the queue manager itself on a shared queue. Nobody is told when the facility refuses it."""
    sharing = engine.sharing
    if sharing is not None and sharing.own_messages is not None:
        sharing.own_messages.deliver(queue, md, properties, body, unit)


def deliver_anywhere(
    engine: Engine, queue: Queue, md: bytes, properties: bytes, body: bytes, unit: UnitOfWork | None
) -> i64:
    """Put an admitted message on a queue of either kind. Returns the LSN to wait for, or 0."""
    if queue.is_shared:
        deliver_shared(engine, queue, md, properties, body, unit)
        return 0
    return deliver(engine, queue, md, properties, body, unit)


def enqueue(
    engine: Engine, queue: Queue, message: Message, flags: i64, expiry_ms: i64, unit: UnitOfWork | None, lsn: i64
) -> None:
    """Add a message to a queue. Its journal record, if it needs one, ends at `lsn`."""
    md = message.md
    is_persistent: bool = flags & PERSISTENT != 0
    message.put_ms = engine.now_ms
    apply.arrive(queue)
    count_arrival(engine, queue, len(message.body), is_persistent)
    if unit is not None:
        apply.put_in_unit(queue, message, flags, expiry_ms, unit, is_persistent)
    else:
        message.visible_lsn = lsn
        make_available(engine, queue, message, flags, expiry_ms)
    if i64(read_i32_le(md, REPORT_AT)) & reports.ARRIVAL_OPTIONS:
        send_own_messages(engine, reports.on_arrival(engine, message, queue.name), unit)


def count_arrival(engine: Engine, queue: Queue, size_bytes: i64, is_persistent: bool) -> None:
    """Count a message that came to a queue, whose depth has it already."""
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
        send_own_messages(engine, events.after_arrival(engine, queue), None)


def make_available(engine: Engine, queue: Queue, message: Message, flags: i64, expiry_ms: i64) -> None:
    """Give a message put outside syncpoint to a waiting get, or leave it on the queue when none wants it."""
    if queue.waiting.count > 0 and queue.get_allowed:
        if not flags & (PERSISTENT | GROUPED) and queue.waiting.selective == 0:
            request = queue.waiting.first_plain(message.md)
            if request is not None and _hand_over(engine, queue, message, request):
                return
        slot: i64 = apply.store(queue, message, flags, expiry_ms)
        serve_waiting(engine, queue, slot, message)
        if not queue.has_available(slot, message.seq):
            return
    else:
        apply.store(queue, message, flags, expiry_ms)
    if queue.trigger_on:
        trigger_after_arrival(engine, queue, message.md)


def _hand_over(engine: Engine, queue: Queue, message: Message, request: GetRequest) -> bool:
    """Answer a waiting get with a message that never takes a slot.

    Returns False, with nothing done, when the get is in syncpoint or the message must be changed or cut for it.
    """
    if request.options & (mq.MQGMO_SYNCPOINT | mq.MQGMO_CONVERT) or len(message.body) > request.max_bytes:
        return False
    md = message.md
    if needs_property_view(md, request.has_message_handle) or read_i32_le(md, FLAGS_AT) != 0:
        return False
    if message.properties and not has_no_visible_properties(
        message.properties, request.has_message_handle, request.options, property_control(request, queue)
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
        fail_request(engine, request, mq.MQRC_STORAGE_NOT_AVAILABLE)
        engine.woken.append(request)
        end_answering(engine)
        return False
    queue.counters.handed_over += 1
    queue.counters.handed_over_bytes += len(message.body)
    engine.woken.append(request)
    end_answering(engine)
    return True


def end_answering(engine: Engine) -> None:
    """Close a section that began with `engine.answering += 1`; the outermost one delivers the outbox."""
    engine.answering -= 1
    if engine.answering < 0:
        raise InvariantFailed("A request has been answered that was not being answered")
    if engine.outbox and engine.answering == 0:
        _deliver_outbox(engine)


# -- waiting gets ------------------------------------------------------------------------------------------------------


def serve_waiting(engine: Engine, queue: Queue, slot: i64, message: Message) -> None:
    """Answer the waiting gets and browses that a message which became available is for.

    Requests with selectors are asked first, as many as one slice allows. The others do not wait for the rest of them.
    """
    engine.answering += 1
    if queue.waiting.selective > 0:
        offer = Offer(slot, message.seq)
        offer.last = queue.waiting.numbered
        # Offers are made in the order of the messages: no request may be shown a later message first.
        is_over: bool = not queue.offers and _offer_within_slice(engine, queue, offer)
        if queue.has_available(slot, message.seq):
            _serve_plain(engine, queue, message.md)
            if not is_over and queue.has_available(slot, message.seq):
                queue.offers.append(offer)
                if not queue.is_offer_read:
                    engine.offering[queue.queue_id] = queue
                    engine.signal_owner()
    else:
        _serve_plain(engine, queue, message.md)
    end_answering(engine)


def _serve_plain(engine: Engine, queue: Queue, md: bytes) -> None:
    """Answer requests for any message, or for one by its identifiers; the longest waiting first."""
    request = queue.waiting.first_plain(md)
    while request is not None and try_satisfy(engine, request, queue):
        queue.waiting.remove(request)
        engine.woken.append(request)
        if request.reason != mq.MQRC_TRUNCATED_MSG_FAILED:
            break
        request = queue.waiting.first_plain(md)


def _offer_within_slice(engine: Engine, queue: Queue, offer: Offer) -> bool:
    """Offer a message to requests with selectors, within the slice of a verb. Returns False when some are left."""
    before: i64 = engine.work_left
    given: i64 = NO_LIMIT if engine.owner_signal.waker is None else engine.first_slice()
    engine.work_left = given
    is_over: bool = _offer_to_groups(engine, queue, offer)
    engine.share_left -= given - engine.work_left
    engine.work_left = before
    return is_over


def resume_offers(engine: Engine) -> None:
    """Go on with the offers of one queue, within `engine.work_left`. Queues take turns."""
    for number in engine.offering:
        queue = engine.offering.pop(number)
        engine.answering += 1
        while queue.offers and _offer_to_groups(engine, queue, queue.offers[0]):
            queue.offers.popleft()
            engine.work_left -= 1
        if queue.offers and not queue.is_offer_read:
            engine.offering[number] = queue
        end_answering(engine)
        return


def _offer_to_groups(engine: Engine, queue: Queue, offer: Offer) -> bool:
    """Offer a message to groups of waiting requests, within `engine.work_left`. Returns False when some are left."""
    slot: i64 = offer.slot
    try:
        if queue.deleted or not queue.get_allowed or not queue.has_available(slot, offer.seq):
            return True
        source = offer.source
        if (source is None and engine.work_left <= 0) or not _load_offered(engine, queue, slot):
            return False
        if source is None:
            message = load_charged(engine, queue, slot)
            source = selector_source(message.md, message.body, message.properties)
            offer.groups = queue.waiting.candidates(source)
            offer.source = source
            engine.work_left -= len(offer.groups) // 8
            if queue.waiting.has_selectors():
                engine.work_left -= queue.waiting.indexed_properties() + properties_cost(message)
        while offer.at < len(offer.groups):
            group = offer.groups[offer.at]
            selector = group.selector
            if group.requests.head is not None and selector is not None and not offer.is_selected:
                if engine.work_left <= 0:
                    return False
                engine.work_left -= selector.cost
                offer.is_selected = selector.matches(source)
            if selector is None or offer.is_selected:
                if not _offer_to_group(engine, queue, offer, group):
                    return False
                if not queue.has_available(slot, offer.seq):
                    return True
            offer.at += 1
            offer.is_selected = False
            offer.asked = 0
    except QueueFileDamaged as damage:
        engine.mark_damaged(queue, str(damage))
    except (MQError, MemoryError):
        # There is no descriptor or memory to read the message with. Its put is done; the offer is continued later.
        engine.work_left = 0
        return False
    return True


def _load_offered(engine: Engine, queue: Queue, slot: i64) -> bool:
    """Load a message that is offered. Returns False when it must be read: then its offer is continued afterwards."""
    reads = engine.reads
    if queue.slots.resident[slot] is not None or not reads.has_reader:
        return True
    reads.is_deferring = True
    reads.tries_cache = True
    try:
        queue.load(slot)
    except ReadPending as pending:
        pending.read.is_offering = True
        queue.is_offer_read = True
        engine.signal_reader()
        return False
    finally:
        reads.is_deferring = False
        reads.tries_cache = False
    return True


def _offer_to_group(engine: Engine, queue: Queue, offer: Offer, group: WaitGroup) -> bool:
    """Offer a message to the requests of a group whose selector it matches. Returns False when some are left."""
    request = _first_after(group, offer.asked)
    while request is not None and request.number <= offer.last:
        if engine.work_left <= 0:
            return False
        engine.work_left -= 1
        following = request.next
        offer.asked = request.number
        if group.must_scan or request.lock_slot_to_release != NONE:
            _rescan(engine, request, queue)
        elif _may_receive(engine, request, queue, offer.slot) and satisfy(engine, request, queue, offer.slot):
            _wake(engine, request, queue)
        if not queue.has_available(offer.slot, offer.seq):
            return True
        request = following if following is None or following.group is group else _first_after(group, offer.asked)
    return True


def _first_after(group: WaitGroup, asked: i64) -> GetRequest | None:
    """Return the first request of a group with a higher number."""
    request = group.requests.head
    while request is not None and request.number <= asked:
        request = request.next
    return request


def _may_receive(engine: Engine, request: GetRequest, queue: Queue, slot: i64) -> bool:
    """Return True when a new message is for this request, and no scan under way is still to come to it."""
    if request.is_scanning and (request.scan_slot == NONE or queue.is_behind(slot, request.scan_slot)):
        return False
    handle = request.handle
    is_next: bool = request.options & mq.MQGMO_BROWSE_NEXT != 0 and handle.cursor_set and handle.cursor != NONE
    if is_next and not queue.is_behind(slot, handle.cursor):
        return False
    return is_eligible(engine, request, queue, slot) and (
        request.match == 0 or matches_options(request, queue, slot, queue.load(slot).md)
    )


def _rescan(engine: Engine, request: GetRequest, queue: Queue) -> None:
    """Have a request scan the queue once more: the new message may complete a group."""
    if request.is_scanning:
        request.must_rescan = True
        return
    if try_satisfy(engine, request, queue):
        _wake(engine, request, queue)


def _wake(engine: Engine, request: GetRequest, queue: Queue) -> None:
    queue.waiting.remove(request)
    engine.woken.append(request)


def trigger_after_arrival(engine: Engine, queue: Queue, md: bytes) -> None:
    """Send a trigger message if the trigger conditions of a queue are met by a message that stays on it."""
    outgoing = triggers.after_arrival(engine, queue, i64(read_i32_le(md, PRIORITY_AT)))
    if outgoing:
        send_own_messages(engine, outgoing, None)


# -- the queue manager's own messages ----------------------------------------------------------------------------------


def send_own_messages(engine: Engine, outgoing: list[reports.Outgoing], unit: UnitOfWork | None) -> None:
    """Deliver messages that the queue manager has made, or put them on the dead-letter queue.

    While a request is being answered they wait in the outbox.
    """
    if not outgoing:
        return
    post(engine, outgoing, unit)
    if engine.answering == 0:
        _deliver_outbox(engine)


def flush_outbox(engine: Engine) -> None:
    """Deliver what is in the outbox, unless a request is being answered."""
    if engine.outbox and engine.answering == 0:
        _deliver_outbox(engine)


def _deliver_outbox(engine: Engine) -> None:
    while engine.outbox:
        postings = engine.outbox
        engine.outbox = []
        for posting in postings:
            item = posting.item
            assert isinstance(item, reports.Outgoing)
            reason: i64 = _deliver_own(engine, item, posting.unit)
            if reason != 0:
                put_on_dead_letter_queue(engine, item, reason, posting.unit)


def _deliver_own(engine: Engine, item: reports.Outgoing, unit: UnitOfWork | None) -> i64:
    try:
        found = find_destination(engine, item)
    except MQError as error:
        return error.reason
    target = found.queue
    assert target is not None
    md = item.md
    properties = item.properties
    body = item.body
    if found.remote_manager:
        md, body = transmission_message(engine, found.remote_queue, found.remote_manager, md, properties, body)
        md = address_intra_group(target.name, found.remote_manager, md)
        properties = b""
    if target.is_shared:
        # A unit without shared messages may end without asking the coupling facility: the message does not join it.
        has_shared: bool = unit is not None and unit.shared is not None
        deliver_shared(engine, target, md, properties, body, unit if has_shared else None)
        return 0
    reason: i64 = check_admission(engine, target, len(body), read_i32_le(md, PERSISTENCE_AT) == 1)
    if reason == 0:
        deliver(engine, target, md, properties, body, unit)
    return mq.MQRC_RESOURCE_PROBLEM if reason == LOG_FULL else reason


def put_on_dead_letter_queue(engine: Engine, item: reports.Outgoing, reason: i64, unit: UnitOfWork | None) -> bool:
    """Put an undeliverable message on the dead-letter queue. Returns False when there is none or it cannot take it."""
    target = engine.queues.get(engine.dead_letter_queue)
    if target is None or target.name == item.queue_name or not item.may_be_dead_lettered:
        return False
    md, body = reports.dead_letter(engine, item, reason)
    is_persistent: bool = read_i32_le(md, PERSISTENCE_AT) == 1
    if not target.put_allowed or check_admission(engine, target, len(body), is_persistent) != 0:
        return False
    if target.is_shared and unit is not None and unit.shared is None:
        unit = None  # the unit may end without asking the coupling facility
    deliver_anywhere(engine, target, md, item.properties, body, unit)
    return True
