"""MQPUT and MQPUT1: from an application's descriptor and data to a message on a queue."""

from __future__ import annotations

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine.connection import PUBLISH_LEVEL_HIGHEST, Connection
from ostler.engine.core import JOURNAL_MARGIN_BYTES, LOG_FULL, RUNNING, Engine
from ostler.engine.events import performance_events as events
from ostler.engine.events import reports
from ostler.engine.groups import groups
from ostler.engine.handle import Handle
from ostler.engine.message.message import (
    FLAGS_AT,
    PERSISTENCE_AT,
    PRIORITY_AT,
    REPORT_AT,
)
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.engine.outcomes import PutOutcome, refused_put
from ostler.engine.pubsub.publish import publish
from ostler.engine.put_descriptor import (
    OTHER_CONTEXTS,
    PRIORITY_MAX,
    RESOLVED,
    check_descriptor,
    check_options,
    message_context,
    stored_descriptor,
)
from ostler.engine.queue.delivery import check_admission, deliver, send_own_messages
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.transmission import HEADERS_BYTES, transmission_message
from ostler.engine.shared.puts import PutVerb, put_shared
from ostler.engine.statistics import count_put, count_put1
from ostler.engine.syncpoint import back_out_unit, commit_unit
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.errors import InvariantFailed, MQError


def put(
    engine: Engine,
    connection: Connection,
    handle: Handle,
    md: bytes,
    options: i64,
    properties: bytes,
    body: bytes,
    source: Handle | None,
    publish_level: i64 = PUBLISH_LEVEL_HIGHEST,
) -> PutOutcome:
    """MQPUT. `md` is a version 2 descriptor. Context is passed from `source`; `publish_level` is for topics only."""
    outcome = PutOutcome()
    if handle.topic is not None:
        reason: i64 = publish(engine, connection, handle, md, options, properties, body, source, publish_level, outcome)
    else:
        reason = _put(engine, connection, handle, md, options, properties, body, source, outcome)
    if reason == LOG_FULL:
        reason = mq.MQRC_RESOURCE_PROBLEM
        outcome.wants_log_space = True
    outcome.reason = reason
    return outcome


def _put(
    engine: Engine,
    connection: Connection,
    handle: Handle,
    md: bytes,
    options: i64,
    properties: bytes,
    body: bytes,
    source: Handle | None,
    outcome: PutOutcome,
) -> i64:
    queue = handle.queue
    if not handle.for_output or queue is None:
        return mq.MQRC_HOBJ_ERROR if queue is None else mq.MQRC_NOT_OPEN_FOR_OUTPUT
    if options != handle.put_options_checked:
        reason: i64 = check_options(handle, options)
        if reason != 0:
            return reason
        handle.put_options_checked = options
    if queue.deleted:
        return mq.MQRC_Q_DELETED
    if not handle.valid:
        return mq.MQRC_OBJECT_CHANGED
    if not queue.put_allowed or not handle.put_allowed_by_alias:
        send_own_messages(
            engine, events.on_refused(engine, connection, mq.MQRC_PUT_INHIBITED, handle.object_name), None
        )
        return mq.MQRC_PUT_INHIBITED
    if engine.state != RUNNING:
        engine.check_state(options & mq.MQPMO_FAIL_IF_QUIESCING != 0)
    reason = check_descriptor(md, len(handle.remote_manager) != 0)
    if reason != 0:
        return reason
    priority: i64 = i64(read_i32_le(md, PRIORITY_AT))
    warning: i64 = 0
    report: i64 = i64(read_i32_le(md, REPORT_AT))
    if report != 0:
        warning = reports.report_options_reason(report, len(handle.remote_manager) != 0)
    if priority < 0:
        priority = handle.default_priority if handle.default_priority >= 0 else queue.default_priority
    elif priority > PRIORITY_MAX:
        warning = mq.MQRC_PRIORITY_EXCEEDS_MAXIMUM  # the descriptor keeps it; on the queue it counts as the highest
    persistence: i64 = i64(read_i32_le(md, PERSISTENCE_AT))
    if persistence == 2:
        persistence = handle.default_persistence if handle.default_persistence >= 0 else queue.default_persistence
    unit: UnitOfWork | None = None
    if options & mq.MQPMO_SYNCPOINT:
        unit = engine.unit_of_work_of(connection)
        if unit.backed_out_by_system:
            return mq.MQRC_BACKED_OUT
        if len(unit.entries) >= engine.uncommitted_max:
            return mq.MQRC_SYNCPOINT_LIMIT_REACHED
    context = message_context(engine, connection, md, options, source)
    if len(context) == 0:
        is_saved: bool = source is not None and source.saves_context
        return mq.MQRC_CONTEXT_NOT_AVAILABLE if is_saved else mq.MQRC_CONTEXT_HANDLE_ERROR
    resolved = RESOLVED[persistence][priority if priority <= PRIORITY_MAX else 0]
    if priority > PRIORITY_MAX:
        resolved = md[PRIORITY_AT:PERSISTENCE_AT] + resolved[4:]
    stored = stored_descriptor(engine, handle, md, options, resolved, context)
    if queue.is_shared:
        verb = PutVerb(connection, handle, outcome)
        verb.stored = stored
        verb.options = options
        verb.warning = warning
        verb.is_synchronous = _is_synchronous(handle, queue, options)
        return put_shared(engine, queue, verb, md, properties, body, unit)
    if groups.is_plain(handle, md, options):
        reason = _put_on_queue(engine, handle, queue, stored, options, properties, body, unit, outcome)
    else:
        reason = _put_grouped(engine, handle, queue, stored, options, properties, body, unit, outcome)
    if outcome.has_failed():
        return reason
    if reason != 0:
        warning = reason
    count_put(engine, connection, handle, len(body), persistence == 1)
    if not _is_synchronous(handle, queue, options):
        connection.async_status.count(warning, handle.object_name)
    return warning


def _put_on_queue(
    engine: Engine,
    handle: Handle,
    queue: Queue,
    stored: bytes,
    options: i64,
    properties: bytes,
    body: bytes,
    unit: UnitOfWork | None,
    outcome: PutOutcome,
) -> i64:
    put_md = stored
    if handle.remote_manager:
        put_md, body = transmission_message(
            engine, handle.remote_queue, handle.remote_manager, stored, properties, body
        )
        properties = b""
    is_persistent: bool = read_i32_le(stored, PERSISTENCE_AT) == 1
    reason: i64 = check_admission(engine, queue, len(body), is_persistent)
    if reason != 0:
        if reason == mq.MQRC_Q_FULL and engine.performance_events:
            send_own_messages(engine, events.on_queue_full(engine, queue), None)
        return reason
    if is_persistent and unit is None and queue.output_applications >= engine.implicit_syncpoint_applications:
        lsn: i64 = _deliver_with_implicit_syncpoint(engine, queue, put_md, properties, body)
    else:
        lsn = deliver(engine, queue, put_md, properties, body, unit)
    if lsn != 0 and _is_synchronous(handle, queue, options):
        outcome.after_lsn = lsn
    outcome.md = stored
    return 0


def _deliver_with_implicit_syncpoint(engine: Engine, queue: Queue, md: bytes, properties: bytes, body: bytes) -> i64:
    """Put a message in a unit of work of its own and commit it (Implicit syncpoint on Multiplatforms).

    The application's own unit of work, if it has one, is not concerned. A put that fails leaves no unit behind.
    Returns the LSN of the commit: the put may be acknowledged when it is durable.
    """
    unit = engine.new_unit_of_work()
    try:
        deliver(engine, queue, md, properties, body, unit)
    except InvariantFailed:
        raise  # nothing is changed any more
    except BaseException:
        back_out_unit(engine, unit)
        raise
    return commit_unit(engine, unit)


def _is_synchronous(handle: Handle, queue: Queue, options: i64) -> bool:
    """Return True for a synchronous put: by its options, or by DEFPRESP when they leave it open."""
    if options & (mq.MQPMO_ASYNC_RESPONSE | mq.MQPMO_SYNC_RESPONSE):
        return options & mq.MQPMO_ASYNC_RESPONSE == 0
    response: i64 = handle.default_response if handle.default_response >= 0 else queue.default_response
    return response != mq.MQPRT_ASYNC_RESPONSE


def _put_grouped(
    engine: Engine,
    handle: Handle,
    queue: Queue,
    stored: bytes,
    options: i64,
    properties: bytes,
    body: bytes,
    unit: UnitOfWork | None,
    outcome: PutOutcome,
) -> i64:
    """Put a message of a group, a segment, or a message that the queue manager may split into segments."""
    is_persistent: bool = read_i32_le(stored, PERSISTENCE_AT) == 1
    plan = groups.prepare_put(engine, handle, stored, options, len(body), unit is not None, is_persistent)
    if plan.reason != 0:
        return plan.reason
    limit: i64 = _segment_bytes_max(engine, handle, queue)
    may_split: bool = i64(read_i32_le(plan.md, FLAGS_AT)) & mq.MQMF_SEGMENTATION_ALLOWED != 0
    if may_split and len(body) > limit > 0:
        reason: i64 = _put_in_segments(engine, handle, queue, plan.md, options, properties, body, unit, outcome)
    else:
        reason = _put_on_queue(engine, handle, queue, plan.md, options, properties, body, unit, outcome)
    if reason != 0:
        return reason
    groups.record_put(handle, plan.md, options)
    outcome.md = plan.answer_md
    return plan.warning


def _segment_bytes_max(engine: Engine, handle: Handle, queue: Queue) -> i64:
    """Return the longest segment allowed. A transmission queue needs room for headers."""
    limit: i64 = min(queue.message_bytes_max, engine.message_bytes_max)
    return limit - HEADERS_BYTES if handle.remote_manager else limit


def _put_in_segments(
    engine: Engine,
    handle: Handle,
    queue: Queue,
    stored: bytes,
    options: i64,
    properties: bytes,
    body: bytes,
    unit: UnitOfWork | None,
    outcome: PutOutcome,
) -> i64:
    """Put all segments or none: everything is checked first. Outside syncpoint they get a unit of work of their own."""
    limit: i64 = _segment_bytes_max(engine, handle, queue)
    pieces = groups.split(stored, body, limit)
    if not pieces:
        return mq.MQRC_MSG_TOO_BIG_FOR_Q
    if queue.depth + len(pieces) > queue.depth_max:
        return mq.MQRC_Q_FULL
    if unit is not None and len(unit.entries) + len(pieces) > engine.uncommitted_max:
        return mq.MQRC_SYNCPOINT_LIMIT_REACHED
    is_persistent: bool = read_i32_le(stored, PERSISTENCE_AT) == 1
    reason: i64 = check_admission(engine, queue, min(limit, len(body)), is_persistent)
    if reason != 0:
        return reason
    if is_persistent and engine.lacks_log_space(len(body) + len(pieces) * JOURNAL_MARGIN_BYTES):
        return LOG_FULL
    own = unit if unit is not None else engine.new_unit_of_work()
    for piece_md, piece in pieces:
        if handle.remote_manager:
            piece_md, piece = transmission_message(
                engine, handle.remote_queue, handle.remote_manager, piece_md, properties, piece
            )
            properties = b""
        deliver(engine, queue, piece_md, properties, piece, own)
        properties = b""
    if unit is None:
        lsn: i64 = commit_unit(engine, own)
        if lsn != 0 and _is_synchronous(handle, queue, options):
            outcome.after_lsn = lsn
    return 0


def put1(
    engine: Engine,
    connection: Connection,
    request: OpenRequest,
    md: bytes,
    options: i64,
    properties: bytes,
    body: bytes,
    source: Handle | None,
    publish_level: i64 = PUBLISH_LEVEL_HIGHEST,
) -> PutOutcome:
    """MQPUT1: open, put, close. Unless its options say otherwise it is synchronous, whatever DEFPRESP says."""
    if options & mq.MQPMO_LOGICAL_ORDER:
        return refused_put(MQError(mq.MQRC_OPTIONS_ERROR))  # a single message has no order
    if not options & (mq.MQPMO_ASYNC_RESPONSE | mq.MQPMO_SYNC_RESPONSE):
        options |= mq.MQPMO_SYNC_RESPONSE
    # Context and alternate user have the same bits in open and put options.
    opening: i64 = mq.MQOO_OUTPUT | options & (OTHER_CONTEXTS & ~mq.MQPMO_NO_CONTEXT | 0x1000)
    if options & mq.MQPMO_FAIL_IF_QUIESCING:
        opening |= mq.MQPMO_FAIL_IF_QUIESCING
    request.options = opening
    request.may_make_queue = False
    request.is_for_put1 = True
    handle = open_object(engine, connection, request)
    try:
        handle.is_put1 = True
        outcome = put(engine, connection, handle, md, options, properties, body, source, publish_level)
        outcome.resolved_names = handle.resolved_names
        if outcome.task is None:
            count_put1(engine, connection, handle, outcome)
        return outcome
    finally:
        close_object(engine, connection, handle, 0)
