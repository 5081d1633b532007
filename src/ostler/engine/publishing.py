"""MQPUT to a topic: a copy for each subscription that wants it, all of them or none.

The publication is one record of the journal, however many copies there are, and all copies share its body. Whether a
copy that cannot be delivered makes the publish fail is for the topic to say (NPMSGDLV and PMSGDLV); that is found out
before the first copy is made.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine import retained, subscriptions
from ostler.engine.connection import Connection, Handle, OpenTopic
from ostler.engine.core import JOURNAL_MARGIN_BYTES, RUNNING, Engine
from ostler.engine.message import (
    CORRELATION_ID_AT,
    EXPIRY_AT,
    FLAGS_AT,
    MESSAGE_ID_AT,
    PERSISTENCE_AT,
    PRIORITY_AT,
    REPLY_QUEUE_AT,
    REPORT_AT,
    Message,
)
from ostler.engine.property_control import selector_source
from ostler.engine.publication_properties import copy_block, publication_block, without_additions
from ostler.engine.publication_records import COPY_BYTES, IDENTITY_BYTES, Copy, copy_descriptor, publication_head
from ostler.engine.put_descriptor import (
    PRIORITY_MAX,
    RESOLVED,
    check_descriptor,
    check_options,
    message_context,
    stored_descriptor,
)
from ostler.engine.queue import Queue
from ostler.engine.records import PUBLISH
from ostler.engine.remote import transmission_message
from ostler.engine.reports import Outgoing
from ostler.engine.slots import GROUPED, PERSISTENT
from ostler.engine.states import check_state
from ostler.engine.subscription import Subscription
from ostler.engine.syncpoint import commit_unit
from ostler.engine.topic_settings import TopicSettings
from ostler.engine.transfer import GROUP_FLAGS, admit, deliver, enter, patch_i32, to_dead_letter_queue
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model.constants import (
    MQPMO_ASYNC_RESPONSE,
    MQPMO_FAIL_IF_QUIESCING,
    MQPMO_NEW_MSG_ID,
    MQPMO_NOT_OWN_SUBS,
    MQPMO_RETAIN,
    MQPMO_SUPPRESS_REPLYTO,
    MQPMO_SYNC_RESPONSE,
    MQPMO_SYNCPOINT,
    MQPMO_WARN_IF_NO_SUBS_MATCHED,
    MQPRI_PRIORITY_AS_PUBLISHED,
    MQPRT_ASYNC_RESPONSE,
    MQPSPROP_NONE,
    MQRC_BACKED_OUT,
    MQRC_CONTEXT_HANDLE_ERROR,
    MQRC_CONTEXT_NOT_AVAILABLE,
    MQRC_HOBJ_ERROR,
    MQRC_MSG_TOO_BIG_FOR_Q_MGR,
    MQRC_NO_SUBS_MATCHED,
    MQRC_NOT_OPEN_FOR_OUTPUT,
    MQRC_PRIORITY_EXCEEDS_MAXIMUM,
    MQRC_PUBLICATION_FAILURE,
    MQRC_PUT_INHIBITED,
    MQRC_PUT_NOT_RETAINED,
    MQRC_Q_FULL,
    MQRC_RESOURCE_PROBLEM,
    MQRC_SYNCPOINT_LIMIT_REACHED,
)

_NO_REPLY: Final = b" " * 96
_REPLY_END: Final = REPLY_QUEUE_AT + 96
_RECORD_BYTES: Final = COPY_BYTES + IDENTITY_BYTES


class Plan:
    """What a publication comes to before anything has happened."""

    def __init__(self) -> None:
        self.copies: list[Copy] = []
        self.takers: list[Subscription] = []  # of the copies, in their order
        self.sent: list[Subscription] = []  # for other queue managers
        self.dead: list[tuple[Subscription, int]] = []  # for the dead-letter queue, with the reason
        self.matched: i64 = 0
        self.reason: i64 = 0
        self.own_bytes: i64 = 0  # of properties that are not the publication's


def publish(
    engine: Engine,
    connection: Connection,
    handle: Handle,
    md: bytes,
    options: i64,
    properties: bytes,
    body: bytes,
    source: Handle | None,
) -> i64:
    """MQPUT on the handle of a topic: as `put.put` on that of a queue."""
    connection.after_lsn = 0
    opened = handle.topic
    if opened is None or not handle.for_output:
        return MQRC_HOBJ_ERROR if opened is None else MQRC_NOT_OPEN_FOR_OUTPUT
    if options != handle.put_options_checked:
        reason: i64 = check_options(handle, options)
        if reason != 0:
            return reason
        handle.put_options_checked = options
    settings = look(engine, opened)
    if not settings.may_publish or not handle.put_allowed_by_alias:
        return MQRC_PUT_INHIBITED
    if engine.state != RUNNING:
        check_state(engine, options & MQPMO_FAIL_IF_QUIESCING != 0)
    reason = check_descriptor(md, False)
    if reason != 0:
        return reason
    if len(body) > engine.message_bytes_max:
        return MQRC_MSG_TOO_BIG_FOR_Q_MGR
    unit: UnitOfWork | None = None
    if options & MQPMO_SYNCPOINT:
        unit = engine.unit_of_work_of(connection)
        if unit.backed_out_by_system:
            return MQRC_BACKED_OUT
    priority: i64 = i64(read_i32_le(md, PRIORITY_AT))
    warning: i64 = 0
    if priority < 0:
        priority = settings.priority
    elif priority > PRIORITY_MAX:
        warning = MQRC_PRIORITY_EXCEEDS_MAXIMUM
        priority = PRIORITY_MAX
    persistence: i64 = i64(read_i32_le(md, PERSISTENCE_AT))
    if persistence == 2:
        persistence = settings.persistence
    context = message_context(engine, connection, md, options, source)
    if len(context) == 0:
        is_saved: bool = source is not None and source.saves_context
        return MQRC_CONTEXT_NOT_AVAILABLE if is_saved else MQRC_CONTEXT_HANDLE_ERROR
    stored = _published_descriptor(
        stored_descriptor(engine, handle, md, options, RESOLVED[persistence][priority], context), options, settings
    )
    block = publication_block(properties, opened.added)
    is_persistent: bool = persistence == 1
    plan = _planned(engine, connection, opened, settings, stored, block, body, options)
    for copy in plan.copies:
        copy.queue.expected = 0
    reason = plan.reason if plan.reason != 0 else _check_room(engine, plan, unit, len(body), is_persistent)
    if reason != 0:
        return reason
    keeper = _keeper(engine, len(body), is_persistent) if options & MQPMO_RETAIN else None
    if options & MQPMO_RETAIN and keeper is None:
        return MQRC_PUT_NOT_RETAINED
    lsn = _carry_out(engine, plan, keeper, stored, block, body, unit)
    if lsn != 0 and _waits_for_answer(settings, options):
        connection.after_lsn = lsn
    connection.put_md = _answer(stored, md, options)
    _count(engine, connection, handle, len(body), is_persistent)
    if plan.matched == 0 and warning == 0 and options & MQPMO_WARN_IF_NO_SUBS_MATCHED:
        warning = MQRC_NO_SUBS_MATCHED
    if not _waits_for_answer(settings, options):
        connection.async_status.count(warning, handle.object_name)
    return warning


def look(engine: Engine, opened: OpenTopic) -> TopicSettings:
    """What counts for an open topic now, and which subscriptions it is for: found again only when something changed."""
    topics = engine.topics
    settings = opened.settings
    if settings is None or opened.version != topics.version:
        opened.version = topics.version
        opened.subscriptions = topics.matching(opened.node)
        settings = topics.settings_at(opened.node)
        opened.settings = settings
    opened.node.used_ms = engine.now_ms
    return settings


def _published_descriptor(stored: bytes, options: i64, settings: TopicSettings) -> bytes:
    """Nobody reports on a publication; it may not live longer than its topic allows."""
    if read_i32_le(stored, REPORT_AT) != 0:
        stored = patch_i32(stored, REPORT_AT, 0)
    if options & MQPMO_SUPPRESS_REPLYTO:
        stored = stored[:REPLY_QUEUE_AT] + _NO_REPLY + stored[_REPLY_END:]
    if settings.expiry_max >= 0:
        expiry: i64 = i64(read_i32_le(stored, EXPIRY_AT))
        if expiry < 0 or expiry > settings.expiry_max:
            stored = patch_i32(stored, EXPIRY_AT, settings.expiry_max)
    return stored


def _answer(stored: bytes, md: bytes, options: i64) -> bytes:
    """The descriptor a publisher gets back. The identifiers of copies are not his; one is made when he asks for it."""
    if options & MQPMO_NEW_MSG_ID:
        return stored
    return stored[:MESSAGE_ID_AT] + md[MESSAGE_ID_AT:CORRELATION_ID_AT] + stored[CORRELATION_ID_AT:]


# -- who gets a copy -------------------------------------------------------------------------------------------------


def _planned(
    engine: Engine,
    connection: Connection,
    opened: OpenTopic,
    settings: TopicSettings,
    stored: bytes,
    block: bytes,
    body: bytes,
    options: i64,
) -> Plan:
    plan = Plan()
    is_persistent: bool = read_i32_le(stored, PERSISTENCE_AT) == 1
    level: i64 = _level(opened.subscriptions, connection.publish_level)
    groups: set[bytes] = set()
    for subscription in opened.subscriptions:
        if subscription.level != level or subscription.is_on_request:
            continue
        if options & MQPMO_NOT_OWN_SUBS and subscription.connection == connection.number:
            continue
        selector = subscription.selector
        if selector is not None and not selector.matches(selector_source(stored, body, block)):
            continue
        if subscription.is_grouped:
            group = subscription.destination.encode() + subscription.correlation_id
            if group in groups:
                continue
            groups.add(group)
        plan.matched += 1
        reason: i64 = _add(engine, plan, subscription, stored, block, body, is_persistent, False)
        if reason == 0:
            continue
        if settings.uses_dead_letters and engine.dead_letter_queue in engine.queues:
            plan.dead.append((subscription, reason))
        elif settings.needs(is_persistent, subscription.is_durable):
            plan.reason = MQRC_PUBLICATION_FAILURE
            engine.journal_full = engine.journal_full or reason == MQRC_RESOURCE_PROBLEM
            return plan
    return plan


def _level(found: list[Subscription], highest: i64) -> i64:
    """Publications go to the highest level at or below their own that has subscriptions."""
    level: i64 = -1
    for subscription in found:
        if level < subscription.level <= highest:
            level = subscription.level
    return level


def _add(
    engine: Engine,
    plan: Plan,
    subscription: Subscription,
    stored: bytes,
    block: bytes,
    body: bytes,
    is_persistent: bool,
    is_retained: bool,
) -> i64:
    """Plan the copy of one subscription: 0, or why it cannot have one."""
    reason: i64 = subscriptions.lead(engine, subscription)
    queue = subscription.queue
    if reason != 0 or queue is None:
        return reason
    if not queue.put_allowed:
        return MQRC_PUT_INHIBITED
    # A queue that goes with its owner cannot keep a promise beyond that.
    stays: bool = is_persistent and not queue.is_temporary
    reason = admit(engine, queue, len(body), stays)
    if reason != 0:
        return reason
    if queue.depth + queue.expected >= queue.depth_max:
        return MQRC_Q_FULL
    own = block
    if subscription.property_style == MQPSPROP_NONE:
        own = without_additions(block)
    elif subscription.user_data or is_retained:
        own = copy_block(block, subscription.user_data, is_retained)
    md = copy_of(engine, subscription, queue, stored)
    if is_persistent and not stays:
        md = patch_i32(md, PERSISTENCE_AT, 0)
    if subscription.remote_manager:
        plan.sent.append(subscription)
        return 0
    queue.expected += 1
    plan.copies.append(Copy(queue, md, own))
    plan.takers.append(subscription)
    if own is not block:
        plan.own_bytes += len(own)
    return 0


def copy_of(engine: Engine, subscription: Subscription, queue: Queue, stored: bytes) -> bytes:
    """The descriptor of a subscription's copy: an identifier of its own, and what the subscription says."""
    priority: i64 = subscription.priority
    if priority == MQPRI_PRIORITY_AS_PUBLISHED:
        priority = i64(read_i32_le(stored, PRIORITY_AT))
    elif priority < 0:
        priority = queue.default_priority
    return copy_descriptor(stored, priority, engine.new_id(), subscription.correlation_id, subscription.identity)


def _check_room(engine: Engine, plan: Plan, unit: UnitOfWork | None, size_bytes: i64, is_persistent: bool) -> i64:
    count: i64 = len(plan.copies) + len(plan.sent) + len(plan.dead)
    if unit is not None and len(unit.entries) + count + 1 > engine.uncommitted_max:
        return MQRC_SYNCPOINT_LIMIT_REACHED
    if is_persistent:
        others: i64 = len(plan.sent) + len(plan.dead)
        needed: i64 = (1 + others) * (size_bytes + JOURNAL_MARGIN_BYTES) + count * _RECORD_BYTES + plan.own_bytes
        if engine.journal.room_bytes() < needed:
            engine.journal_full = True
            return MQRC_RESOURCE_PROBLEM
    return 0


def _keeper(engine: Engine, size_bytes: i64, is_persistent: bool) -> Queue | None:
    """The queue of retained publications, when it can take this one."""
    queue = retained.retained_queue(engine)
    if queue is None or not queue.put_allowed or admit(engine, queue, size_bytes, is_persistent) != 0:
        return None
    return queue


# -- doing it --------------------------------------------------------------------------------------------------------


def _carry_out(
    engine: Engine, plan: Plan, keeper: Queue | None, stored: bytes, block: bytes, body: bytes, unit: UnitOfWork | None
) -> i64:
    """Make all copies; the LSN behind which the publication is promised."""
    own: UnitOfWork | None = unit
    if own is None and (keeper is not None or plan.sent or plan.dead):
        own = engine.new_unit_of_work()  # more than one record, or more than copies: all of it or nothing
    copies = plan.copies
    if keeper is not None:
        copies = [*copies, Copy(keeper, stored, block)]
    lsn: i64 = make_copies(engine, copies, stored, block, body, own)
    for subscription in plan.takers:
        subscription.delivered += 1
        subscription.delivered_ms = engine.now_ms
    for subscription in plan.sent:
        _send(engine, subscription, stored, block, body, own)
    for subscription, reason in plan.dead:
        _bury(engine, subscription, reason, stored, block, body, own)
    if unit is None and own is not None:
        return commit_unit(engine, own)
    return lsn


def make_copies(
    engine: Engine, copies: list[Copy], stored: bytes, block: bytes, body: bytes, unit: UnitOfWork | None
) -> i64:
    """Put copies on their queues, those that last with one record for all of them; the LSN behind it."""
    lasting: list[Copy] = []
    tenths: i64 = i64(read_i32_le(stored, EXPIRY_AT))
    expiry_ms: i64 = engine.now_ms + tenths * 100 if tenths > 0 else 0
    grouped: i64 = GROUPED if i64(read_i32_le(stored, FLAGS_AT)) & GROUP_FLAGS else 0
    for copy in copies:
        queue = copy.queue
        copy.seq = queue.next_seq
        queue.next_seq += 1
        copy.flags = queue.order_flags(i64(read_i32_le(copy.md, PRIORITY_AT))) | grouped
        copy.expiry_ms = expiry_ms
        if read_i32_le(copy.md, PERSISTENCE_AT) == 1:
            copy.flags |= PERSISTENT
            lasting.append(copy)
    lsn: i64 = 0
    if lasting:
        if unit is not None and unit.first_lsn < 0:
            unit.first_lsn = engine.journal.end_lsn()
        head = publication_head(unit.number if unit is not None else 0, stored, block, lasting)
        lsn = engine.journal.append(PUBLISH, head, stored + block if block else stored, body)
    for copy in copies:
        visible: i64 = lsn if copy.flags & PERSISTENT else 0
        message = Message(copy.md, copy.properties, body, copy.seq)
        enter(engine, copy.queue, message, copy.flags, copy.expiry_ms, unit, visible)
    return lsn


def _send(
    engine: Engine, subscription: Subscription, stored: bytes, block: bytes, body: bytes, unit: UnitOfWork | None
) -> None:
    queue = subscription.queue
    assert queue is not None, "it was found when the copy was planned"
    md = copy_of(engine, subscription, queue, stored)
    own = copy_block(block, subscription.user_data, False)
    md, body = transmission_message(engine, subscription.remote_queue, subscription.remote_manager, md, own, body)
    deliver(engine, queue, md, b"", body, unit)
    subscription.delivered += 1
    subscription.delivered_ms = engine.now_ms


def _bury(
    engine: Engine,
    subscription: Subscription,
    reason: i64,
    stored: bytes,
    block: bytes,
    body: bytes,
    unit: UnitOfWork | None,
) -> None:
    md = copy_descriptor(
        stored,
        i64(read_i32_le(stored, PRIORITY_AT)),
        engine.new_id(),
        subscription.correlation_id,
        subscription.identity,
    )
    item = Outgoing(subscription.destination, subscription.destination_manager, md, body, True, block)
    to_dead_letter_queue(engine, item, reason, unit)


def _waits_for_answer(settings: TopicSettings, options: i64) -> bool:
    if options & (MQPMO_ASYNC_RESPONSE | MQPMO_SYNC_RESPONSE):
        return options & MQPMO_ASYNC_RESPONSE == 0
    return settings.response != MQPRT_ASYNC_RESPONSE


def _count(engine: Engine, connection: Connection, handle: Handle, size_bytes: i64, is_persistent: bool) -> None:
    own = connection.counters
    own.puts += 1
    own.put_bytes += size_bytes
    engine.counters.puts += 1
    engine.counters.put_bytes += size_bytes
    if is_persistent:
        own.puts_persistent += 1
        own.put_bytes_persistent += size_bytes
        engine.counters.puts_persistent += 1
        engine.counters.put_bytes_persistent += size_bytes


# -- what was retained -----------------------------------------------------------------------------------------------


def send_retained(engine: Engine, subscription: Subscription) -> tuple[int, int]:
    """Give a subscription the retained publications it is for: how many, and the reason why not all of them."""
    sent = 0
    failed: i64 = 0
    for node in engine.topics.retained_for(subscription):
        message = retained.message_at(engine, node)
        if message is None:
            continue
        selector = subscription.selector
        if selector is not None and not selector.matches(selector_source(message.md, message.body, message.properties)):
            continue
        reason: i64 = _send_one_retained(engine, subscription, message, retained.expiry_at(engine, node))
        if reason == 0:
            sent += 1
        else:
            failed = reason
    return sent, failed


def _send_one_retained(engine: Engine, subscription: Subscription, message: Message, expiry_ms: i64) -> i64:
    stored = message.md
    if expiry_ms != 0:
        left: i64 = (expiry_ms - engine.now_ms) // 100
        stored = patch_i32(stored, EXPIRY_AT, left if left > 0 else 1)
    is_persistent: bool = read_i32_le(stored, PERSISTENCE_AT) == 1
    plan = Plan()
    reason: i64 = _add(engine, plan, subscription, stored, message.properties, message.body, is_persistent, True)
    for copy in plan.copies:
        copy.queue.expected = 0
    if reason == 0:
        reason = _check_room(engine, plan, None, len(message.body), is_persistent)
    if reason == 0:
        _carry_out(engine, plan, None, stored, message.properties, message.body, None)
    return reason
