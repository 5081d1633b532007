"""Counters of verbs, and the statistics and monitoring data of queues for administrators."""

from __future__ import annotations

from typing import Final, NamedTuple

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import OTHER_OBJECT, Handle
from ostler.engine.message.message import PERSISTENCE_AT, PUT_DATE_AT, Message
from ostler.engine.message.timestamps import milliseconds_of
from ostler.engine.outcomes import PutOutcome
from ostler.engine.queue.get_request import BROWSE_OPTIONS, GetRequest
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.slots import NONE
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.counters import (
    CLOSE,
    CLOSE_FAILED,
    INQUIRE,
    INQUIRE_FAILED,
    OPEN,
    OPEN_FAILED,
    SET,
    SET_FAILED,
    TopicCounters,
)

_OBJECT_TYPES: Final[dict[ObjectType, int]] = {
    ObjectType.QMGR: mq.MQOT_Q_MGR,
    ObjectType.PROCESS: mq.MQOT_PROCESS,
    ObjectType.NAMELIST: mq.MQOT_NAMELIST,
}
_OTHER_TYPES_MAX: Final = 15
_COUNT_MAX: Final = 0x7FFFFFFF
_PRIORITIES: Final = 10
MICROSECONDS: Final = 1000


# -- messages ----------------------------------------------------------------------------------------------------------


def count_put(engine: Engine, connection: Connection, handle: Handle, size_bytes: i64, is_persistent: bool) -> None:
    """Count a message that was put or published."""
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
    account = handle.account
    if account is not None:
        account.count_put(size_bytes, is_persistent, handle.is_put1)


def count_publication(
    engine: Engine, connection: Connection, handle: Handle, size_bytes: i64, is_persistent: bool
) -> None:
    """Count a message that was published, beside `count_put`."""
    _add_publication(connection.counters.topic_counters(), handle.is_put1, size_bytes, is_persistent)
    _add_publication(engine.counters.topic_counters(), handle.is_put1, size_bytes, is_persistent)


def _add_publication(topics: TopicCounters, is_put1: bool, size_bytes: i64, is_persistent: bool) -> None:
    topics.topic_puts += 1
    topics.topic_put_bytes += size_bytes
    if is_persistent:
        topics.topic_puts_persistent += 1
        topics.topic_put_bytes_persistent += size_bytes
    if is_put1:
        topics.topic_put1s += 1
        if is_persistent:
            topics.topic_put1s_persistent += 1


def count_copies(engine: Engine, copies: i64, persistent: i64, size_bytes: i64) -> None:
    """Count copies of one publication that were put on the queues of subscriptions."""
    topics = engine.counters.topic_counters()
    topics.published += copies
    topics.published_bytes += copies * size_bytes
    topics.published_persistent += persistent
    topics.published_bytes_persistent += persistent * size_bytes


def count_put1(engine: Engine, connection: Connection, handle: Handle, outcome: PutOutcome) -> None:
    """Count an MQPUT1 by the outcome of its put. The message itself has been counted as any put."""
    queue = handle.queue
    if outcome.has_failed():
        if queue is not None and not outcome.wants_log_space:
            queue.counters.put1s_failed += 1
            if handle.account is not None:
                handle.account.count_failed_put(True)
        return
    own = connection.counters
    own.put1s += 1
    engine.counters.put1s += 1
    is_persistent: bool = read_i32_le(outcome.md, PERSISTENCE_AT) == 1
    if is_persistent:
        own.put1s_persistent += 1
        engine.counters.put1s_persistent += 1
    if queue is not None:
        queue.counters.put1s += 1
        if is_persistent:
            queue.counters.put1s_persistent += 1


def count_put_failed(engine: Engine, connection: Connection, handle: Handle | None) -> None:
    """Count a refused MQPUT. The bindings call this, as some reasons only make them try again."""
    connection.counters.puts_failed += 1
    engine.counters.puts_failed += 1
    if handle is not None and handle.topic is not None:
        connection.counters.topic_counters().topic_puts_failed += 1
        engine.counters.topic_counters().topic_puts_failed += 1
    if handle is not None and handle.queue is not None:
        handle.queue.counters.puts_failed += 1
        if handle.account is not None:
            handle.account.count_failed_put(False)


def count_put1_failed(engine: Engine, connection: Connection, object_type: i64) -> None:
    """Count a refused MQPUT1 on an object of this type (MQOT), also when it could not be opened."""
    for counters in (connection.counters, engine.counters):
        counters.puts_failed += 1
        counters.put1s_failed += 1
        if object_type == mq.MQOT_TOPIC:
            topics = counters.topic_counters()
            topics.topic_puts_failed += 1
            topics.topic_put1s_failed += 1


def count_got(engine: Engine, queue: Queue, message: Message, is_persistent: bool) -> i64:
    """Count a message that was got, and return the milliseconds it was on the queue."""
    counters = queue.counters
    counters.gets += 1
    counters.get_bytes += len(message.body)
    counters.last_get_ms = engine.wall_ms()
    if queue.depth < counters.window_low:
        counters.window_low = queue.depth
    put_ms: i64 = message.put_ms if message.put_ms != 0 else milliseconds_of(message.md[PUT_DATE_AT : PUT_DATE_AT + 16])
    age_ms: i64 = engine.now_ms - put_ms
    if put_ms == 0 or age_ms < 0:
        age_ms = 0  # the context has no put time, or one in the future
    counters.age_total_ms += age_ms
    if age_ms > counters.age_max_ms:
        counters.age_max_ms = age_ms
    if is_persistent:
        counters.gets_persistent += 1
        counters.get_bytes_persistent += len(message.body)
        counters.age_persistent_ms += age_ms
    times = queue.times
    if times is not None:
        times.add(age_ms)
    return age_ms


def count_get(engine: Engine, request: GetRequest, size_bytes: i64, is_persistent: bool, is_call: bool) -> None:
    """Count a message taken by a get. One call can take several segments."""
    own = request.connection.counters
    own.get_bytes += size_bytes
    engine.counters.get_bytes += size_bytes
    if is_call:
        own.gets += 1
        engine.counters.gets += 1
    if is_persistent:
        own.get_bytes_persistent += size_bytes
        engine.counters.get_bytes_persistent += size_bytes
        if is_call:
            own.gets_persistent += 1
            engine.counters.gets_persistent += 1


def count_get_failed(engine: Engine, request: GetRequest) -> None:
    """Count a get or browse that was refused or whose message did not fit. `request.reason` is the reason."""
    engine.counters.gets_failed += 1
    request.connection.counters.gets_failed += 1
    queue = request.handle.queue
    if queue is not None:
        queue.counters.gets_failed += 1
        if request.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            queue.counters.gets_truncated += 1
            if request.options & BROWSE_OPTIONS:
                queue.counters.browses_truncated += 1
    _count_browse_failed(engine, request)


def count_get_empty(engine: Engine, request: GetRequest) -> None:
    """Count a get or browse that found no message."""
    engine.counters.gets_empty += 1
    request.connection.counters.gets_empty += 1
    queue = request.handle.queue
    if queue is not None:
        queue.counters.gets_empty += 1
        if request.options & BROWSE_OPTIONS:
            queue.counters.browses_empty += 1
    _count_browse_failed(engine, request)


def _count_browse_failed(engine: Engine, request: GetRequest) -> None:
    is_browse: bool = request.options & BROWSE_OPTIONS != 0
    handle = request.handle
    if is_browse:
        engine.counters.browses_failed += 1
        request.connection.counters.browses_failed += 1
        if handle.queue is not None:
            handle.queue.counters.browses_failed += 1
    if handle.account is not None:
        handle.account.count_failed_get(is_browse)


def count_browse(engine: Engine, request: GetRequest, queue: Queue, is_persistent: bool) -> None:
    """Count a message that was browsed."""
    size: i64 = len(request.body)
    own = request.connection.counters
    queue.counters.browses += 1
    queue.counters.browse_bytes += size
    own.browses += 1
    own.browse_bytes += size
    engine.counters.browses += 1
    engine.counters.browse_bytes += size
    if is_persistent:
        queue.counters.browses_persistent += 1
        queue.counters.browse_bytes_persistent += size
        own.browses_persistent += 1
        own.browse_bytes_persistent += size
        engine.counters.browses_persistent += 1
        engine.counters.browse_bytes_persistent += size
    account = request.handle.account
    if account is not None:
        account.count_browse(size, is_persistent)


# -- objects -----------------------------------------------------------------------------------------------------------


def object_type_of(handle: Handle) -> i64:
    """Return the object type (MQOT) that a handle is open on."""
    if handle.kind == OTHER_OBJECT and handle.definition is not None:
        return _OBJECT_TYPES.get(handle.definition.object_type, mq.MQOT_Q)
    return mq.MQOT_Q


def _count_other(engine: Engine, connection: Connection, call: i64, object_type: i64) -> None:
    if object_type != mq.MQOT_Q and 0 <= object_type <= _OTHER_TYPES_MAX:
        connection.counters.count_on(call, object_type)
        engine.counters.count_on(call, object_type)


def count_open(engine: Engine, connection: Connection, handle: Handle) -> None:
    connection.counters.opens += 1
    engine.counters.opens += 1
    if handle.queue is not None:
        handle.queue.counters.opens += 1
    if handle.kind == OTHER_OBJECT:
        _count_other(engine, connection, OPEN, object_type_of(handle))


def count_open_failed(engine: Engine, connection: Connection, object_type: i64) -> None:
    """Count a refused MQOPEN, unless it is tried again (LogFull)."""
    connection.counters.opens_failed += 1
    engine.counters.opens_failed += 1
    _count_other(engine, connection, OPEN_FAILED, object_type)


def count_close(engine: Engine, connection: Connection, handle: Handle) -> None:
    connection.counters.closes += 1
    engine.counters.closes += 1
    if handle.queue is not None:
        handle.queue.counters.closes += 1
    if handle.kind == OTHER_OBJECT:
        _count_other(engine, connection, CLOSE, object_type_of(handle))


def count_close_failed(engine: Engine, connection: Connection, handle: Handle) -> None:
    """Count a refused MQCLOSE, unless it is tried again (LogFull)."""
    connection.counters.closes_failed += 1
    engine.counters.closes_failed += 1
    _count_other(engine, connection, CLOSE_FAILED, object_type_of(handle))


def count_inquire(engine: Engine, connection: Connection, handle: Handle, is_done: bool) -> None:
    object_type: i64 = object_type_of(handle)
    if is_done:
        connection.counters.inquires += 1
        engine.counters.inquires += 1
        if handle.queue is not None:
            handle.queue.counters.inquires += 1
        _count_other(engine, connection, INQUIRE, object_type)
    else:
        connection.counters.inquires_failed += 1
        engine.counters.inquires_failed += 1
        _count_other(engine, connection, INQUIRE_FAILED, object_type)


def count_set(engine: Engine, connection: Connection, handle: Handle, is_done: bool) -> None:
    object_type: i64 = object_type_of(handle)
    if is_done:
        connection.counters.sets += 1
        engine.counters.sets += 1
        if handle.queue is not None:
            handle.queue.counters.sets += 1
        _count_other(engine, connection, SET, object_type)
    else:
        connection.counters.sets_failed += 1
        engine.counters.sets_failed += 1
        _count_other(engine, connection, SET_FAILED, object_type)


# -- statistics of a queue ---------------------------------------------------------------------------------------------


class QueueResetStatistics(NamedTuple):
    """Counts of a queue since the last reset, for RESET QSTATS and Reset Queue Statistics (PCF)."""

    seconds: int  # MQIA_TIME_SINCE_RESET
    depth_high: int  # MQIA_HIGH_Q_DEPTH
    enqueued: int  # MQIA_MSG_ENQ_COUNT
    dequeued: int  # MQIA_MSG_DEQ_COUNT


def queue_statistics(engine: Engine, queue: Queue, reset: bool) -> QueueResetStatistics:
    """Return the counts since the last reset; with `reset` this call resets them.

    Performance events report and reset the same counts.
    """
    queue.update_depth_extremes()
    state = queue.performance
    counts = QueueResetStatistics(
        _count((engine.now_ms - state.reset_ms) // 1000),
        _count(state.depth_high),
        _count(queue.counters.puts - state.puts_before),
        _count(queue.counters.gets - state.gets_before),
    )
    if reset:
        state.reset_ms = engine.now_ms
        state.depth_high = queue.depth
        state.puts_before = queue.counters.puts
        state.gets_before = queue.counters.gets
    return counts


def _count(number: i64) -> int:
    """Limit a count to the range of a PCF integer."""
    return min(max(number, 0), _COUNT_MAX)


class QueueMonitoring(NamedTuple):
    """Monitoring data of a queue with MONQ, for DISPLAY QSTATUS. None: not known yet."""

    message_age_seconds: int | None  # MSGAGE
    queue_time_short_us: int | None  # QTIME, the first
    queue_time_long_us: int | None  # QTIME, the second
    last_get_ms: int | None  # LGETDATE and LGETTIME
    last_put_ms: int | None  # LPUTDATE and LPUTTIME


def queue_monitoring(engine: Engine, queue: Queue) -> QueueMonitoring | None:
    """Return the monitoring data of a queue, or None when MONQ is off for it."""
    times = queue.times
    if times is None:
        return None
    counters = queue.counters
    short: int | None = None
    long: int | None = None
    if times.count > 0:
        short = _count(times.short_term() * MICROSECONDS)
        long = _count(times.long_term() * MICROSECONDS)
    return QueueMonitoring(
        oldest_message_seconds(engine, queue),
        short,
        long,
        counters.last_get_ms if counters.last_get_ms else None,
        counters.last_put_ms if counters.last_put_ms else None,
    )


def oldest_message_seconds(engine: Engine, queue: Queue) -> int:
    """Return the age of the oldest available message in seconds, or 0 when there is none."""
    slots = queue.slots
    oldest_ms: i64 = engine.now_ms
    priority: i64 = 0
    while priority < _PRIORITIES:
        slot: i64 = slots.heads[priority] if slots.filled >> priority & 1 else NONE
        if slot != NONE:
            # The messages of each priority are in order of arrival.
            try:
                message = queue.load(slot)
            except QueueFileDamaged:
                return 0
            put_ms: i64 = message.put_ms
            if put_ms == 0:
                put_ms = milliseconds_of(message.md[PUT_DATE_AT : PUT_DATE_AT + 16])
            if 0 < put_ms < oldest_ms:
                oldest_ms = put_ms
        priority += 1
    return (engine.now_ms - oldest_ms) // 1000
