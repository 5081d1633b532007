"""MQPUT to a topic: a copy for each matching subscription, all of them or none.

A publication is one log record, and all copies share its body. NPMSGDLV and PMSGDLV of the topic decide whether an
undeliverable copy makes the publish fail; this is decided before the first copy is made.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import RUNNING, Engine
from ostler.engine.events.reports import REPLY_OPTIONS
from ostler.engine.handle import Handle, OpenTopic
from ostler.engine.message.message import (
    CORRELATION_ID_AT,
    EXPIRY_AT,
    FLAGS_AT,
    GROUP_FLAGS,
    MESSAGE_ID_AT,
    PERSISTENCE_AT,
    PRIORITY_AT,
    REPLY_QUEUE_AT,
    REPORT_AT,
    patch_i32,
)
from ostler.engine.outcomes import PutOutcome
from ostler.engine.pubsub.fan_out import FanOutPlan, check_capacity, plan_copies
from ostler.engine.pubsub.fan_out_delivery import deliver_plan
from ostler.engine.pubsub.publication_properties import publication_block
from ostler.engine.pubsub.retained_references import retained_queue
from ostler.engine.pubsub.topic_settings import TopicSettings
from ostler.engine.put_descriptor import (
    PRIORITY_MAX,
    RESOLVED,
    check_descriptor,
    check_options,
    message_context,
    stored_descriptor,
)
from ostler.engine.queue.delivery import check_admission
from ostler.engine.queue.queue import Queue
from ostler.engine.statistics import count_publication, count_put
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq

_NO_REPLY: Final = b" " * 96
_REPLY_END: Final = REPLY_QUEUE_AT + 96
_NO_UNIT: Final = -1


def publish(
    engine: Engine,
    connection: Connection,
    handle: Handle,
    md: bytes,
    options: i64,
    properties: bytes,
    body: bytes,
    source: Handle | None,
    publish_level: i64,
    outcome: PutOutcome,
) -> i64:
    """MQPUT on a topic handle. Returns 0, a warning or the reason for a refusal, perhaps LOG_FULL."""
    opened = handle.topic
    if opened is None or not handle.for_output:
        return mq.MQRC_HOBJ_ERROR if opened is None else mq.MQRC_NOT_OPEN_FOR_OUTPUT
    if options != handle.put_options_checked:
        reason: i64 = check_options(handle, options)
        if reason != 0:
            return reason
        handle.put_options_checked = options
    settings = refresh_open_topic(engine, opened)
    reason = _refusal_reason(engine, handle, settings, md, options, len(body))
    if reason != 0:
        return reason
    unit: UnitOfWork | None = None
    if options & mq.MQPMO_SYNCPOINT:
        unit = engine.unit_of_work_of(connection)
        if unit.backed_out_by_system:
            return mq.MQRC_BACKED_OUT
    priority: i64 = i64(read_i32_le(md, PRIORITY_AT))
    warning: i64 = 0
    if priority < 0:
        priority = settings.priority
    elif priority > PRIORITY_MAX:
        warning = mq.MQRC_PRIORITY_EXCEEDS_MAXIMUM
        priority = PRIORITY_MAX
    persistence: i64 = i64(read_i32_le(md, PERSISTENCE_AT))
    if persistence == 2:
        persistence = settings.persistence
    context = message_context(engine, connection, md, options, source)
    if len(context) == 0:
        is_saved: bool = source is not None and source.saves_context
        return mq.MQRC_CONTEXT_NOT_AVAILABLE if is_saved else mq.MQRC_CONTEXT_HANDLE_ERROR
    stored = _published_descriptor(
        stored_descriptor(engine, handle, md, options, RESOLVED[persistence][priority], context), options, settings
    )
    is_persistent: bool = persistence == 1
    plan = FanOutPlan(stored, publication_block(properties, opened.added), body)
    plan_copies(engine, plan, opened.subscriptions, settings, options, connection.number, publish_level)
    reason = plan.reason
    if reason == 0:
        reason = check_capacity(engine, plan, len(unit.entries) if unit is not None else _NO_UNIT)
    if reason != 0:
        return reason
    retaining = queue_to_retain(engine, len(body), is_persistent) if options & mq.MQPMO_RETAIN else None
    if options & mq.MQPMO_RETAIN and retaining is None:
        return mq.MQRC_PUT_NOT_RETAINED
    lsn = deliver_plan(engine, plan, retaining, unit)
    if lsn != 0 and _is_synchronous(settings, options):
        outcome.after_lsn = lsn
    outcome.md = _returned_descriptor(stored, md, options)
    if plan.shared is not None:
        plan.shared.commit_put(outcome)
    opened.published += 1
    opened.published_ms = engine.wall_ms()
    count_put(engine, connection, handle, len(body), is_persistent)
    count_publication(engine, connection, handle, len(body), is_persistent)
    if plan.matched == 0 and warning == 0 and options & mq.MQPMO_WARN_IF_NO_SUBS_MATCHED:
        warning = mq.MQRC_NO_SUBS_MATCHED
    if not _is_synchronous(settings, options):
        connection.async_status.count(warning, handle.object_name, mq.MQOT_TOPIC, opened.topic)
    return warning


def _refusal_reason(
    engine: Engine, handle: Handle, settings: TopicSettings, md: bytes, options: i64, size_bytes: i64
) -> i64:
    """Return the reason why nothing can be published now, or 0. Does not depend on subscriptions."""
    if not handle.valid:
        return mq.MQRC_OBJECT_CHANGED
    if engine.publishing_is_off:
        return mq.MQRC_PUBSUB_INHIBITED
    if not settings.may_publish or not handle.put_allowed_by_alias:
        return mq.MQRC_PUT_INHIBITED
    if engine.state != RUNNING:
        engine.check_state(options & mq.MQPMO_FAIL_IF_QUIESCING != 0)
    reason: i64 = check_descriptor(md, False)
    if reason != 0:
        return reason
    if options & mq.MQPMO_SUPPRESS_REPLYTO and i64(read_i32_le(md, REPORT_AT)) & REPLY_OPTIONS:
        return mq.MQRC_MISSING_REPLY_TO_Q
    if i64(read_i32_le(md, FLAGS_AT)) & GROUP_FLAGS or options & mq.MQPMO_LOGICAL_ORDER:
        return mq.MQRC_MSG_NOT_ALLOWED_IN_GROUP
    return mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR if size_bytes > engine.message_bytes_max else 0


def refresh_open_topic(engine: Engine, opened: OpenTopic) -> TopicSettings:
    """Return the settings of an open topic. Settings and matching subscriptions are cached until the tree changes."""
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
    """Return the descriptor to publish: without report options, and with the expiry limited by CAPEXPRY."""
    if read_i32_le(stored, REPORT_AT) != 0:
        stored = patch_i32(stored, REPORT_AT, 0)
    if options & mq.MQPMO_SUPPRESS_REPLYTO:
        stored = stored[:REPLY_QUEUE_AT] + _NO_REPLY + stored[_REPLY_END:]
    if settings.expiry_max >= 0:
        expiry: i64 = i64(read_i32_le(stored, EXPIRY_AT))
        if expiry < 0 or expiry > settings.expiry_max:
            stored = patch_i32(stored, EXPIRY_AT, settings.expiry_max)
    return stored


def _returned_descriptor(stored: bytes, md: bytes, options: i64) -> bytes:
    """Return the descriptor for the publisher. It keeps its own MsgId unless MQPMO_NEW_MSG_ID was given."""
    if options & mq.MQPMO_NEW_MSG_ID:
        return stored
    return stored[:MESSAGE_ID_AT] + md[MESSAGE_ID_AT:CORRELATION_ID_AT] + stored[CORRELATION_ID_AT:]


def queue_to_retain(engine: Engine, size_bytes: i64, is_persistent: bool) -> Queue | None:
    """Return the queue of retained publications; None if it cannot take this one."""
    queue = retained_queue(engine)
    if queue is None or queue.is_shared or not queue.put_allowed:
        return None
    if check_admission(engine, queue, size_bytes, is_persistent) != 0:
        return None
    return queue


def _is_synchronous(settings: TopicSettings, options: i64) -> bool:
    if options & (mq.MQPMO_ASYNC_RESPONSE | mq.MQPMO_SYNC_RESPONSE):
        return options & mq.MQPMO_ASYNC_RESPONSE == 0
    return settings.response != mq.MQPRT_ASYNC_RESPONSE
