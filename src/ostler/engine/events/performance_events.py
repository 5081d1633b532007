"""Performance events and queue manager events, in PCF on the event queues.

Performance events report that a queue is filling up, full or emptying, or served too slowly or in time again, with the
statistics of the queue since its last event. Each event disables itself and enables those that can follow
(`_SWITCHES`), so that a queue around its limit does not report every message. Queue manager events report refused
requests and the start and stop of the queue manager.

An event message that cannot be put is lost; the switches change nevertheless. The functions return the messages; the
caller puts them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.events.reports import Outgoing, own_descriptor
from ostler.engine.queue.queue import Queue
from ostler.engine.self_altering import alter_queue
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.pcf import Header, Integer, Parameter, String, encode

PERFORMANCE_QUEUE: Final = "SYSTEM.ADMIN.PERFM.EVENT"
MANAGER_QUEUE: Final = "SYSTEM.ADMIN.QMGR.EVENT"

_COUNT_MAX: Final = 0x7FFFFFFF

# The switches of each performance event: it disables itself and enables its successors.
_SWITCHES: Final[dict[int, dict[str, int]]] = {
    mq.MQRC_Q_DEPTH_HIGH: {"QDPHIEV": mq.MQEVR_DISABLED, "QDPLOEV": mq.MQEVR_ENABLED, "QDPMAXEV": mq.MQEVR_ENABLED},
    mq.MQRC_Q_DEPTH_LOW: {"QDPHIEV": mq.MQEVR_ENABLED, "QDPLOEV": mq.MQEVR_DISABLED, "QDPMAXEV": mq.MQEVR_ENABLED},
    mq.MQRC_Q_FULL: {"QDPLOEV": mq.MQEVR_ENABLED, "QDPMAXEV": mq.MQEVR_DISABLED},
    mq.MQRC_Q_SERVICE_INTERVAL_HIGH: {"QSVCIEV": mq.MQQSIE_OK},
    mq.MQRC_Q_SERVICE_INTERVAL_OK: {"QSVCIEV": mq.MQQSIE_HIGH},
}

# The queue manager attribute that enables the event of a refusal.
_REFUSAL_ATTRIBUTES: Final[dict[int, str]] = {
    mq.MQRC_GET_INHIBITED: "INHIBTEV",
    mq.MQRC_PUT_INHIBITED: "INHIBTEV",
    mq.MQRC_ALIAS_BASE_Q_TYPE_ERROR: "LOCALEV",
    mq.MQRC_UNKNOWN_ALIAS_BASE_Q: "LOCALEV",
    mq.MQRC_UNKNOWN_OBJECT_NAME: "LOCALEV",
    mq.MQRC_DEF_XMIT_Q_TYPE_ERROR: "REMOTEEV",
    mq.MQRC_DEF_XMIT_Q_USAGE_ERROR: "REMOTEEV",
    mq.MQRC_REMOTE_Q_NAME_ERROR: "REMOTEEV",
    mq.MQRC_UNKNOWN_DEF_XMIT_Q: "REMOTEEV",
    mq.MQRC_UNKNOWN_REMOTE_Q_MGR: "REMOTEEV",
    mq.MQRC_UNKNOWN_XMIT_Q: "REMOTEEV",
    mq.MQRC_XMIT_Q_TYPE_ERROR: "REMOTEEV",
    mq.MQRC_XMIT_Q_USAGE_ERROR: "REMOTEEV",
}


class ResetStatistics(NamedTuple):
    """Statistics of a queue since the last reset."""

    seconds: int
    depth_high: int
    puts: int
    gets: int


# -- performance events ----------------------------------------------------------------------------------------------


def after_arrival(engine: Engine, queue: Queue) -> list[Outgoing]:
    """Update statistics after a put, committed or not, and return the events it causes."""
    state = queue.performance
    if queue.depth > state.depth_high:
        state.depth_high = queue.depth
    made: list[Outgoing] = []
    is_enabled: bool = _is_performance_enabled(engine, queue)
    if is_enabled and _is_on(queue, "QDPHIEV") and queue.depth * 100 >= queue.depth_max * queue.depth_high:
        made.append(performance_event(engine, queue, mq.MQRC_Q_DEPTH_HIGH))
    wanted = queue.definition.attributes.get("QSVCIEV", mq.MQQSIE_NONE)
    if wanted == mq.MQQSIE_NONE:
        return made
    if queue.depth == 1 or state.waiting_since_ms == 0:
        state.waiting_since_ms = engine.now_ms
    elif is_enabled and wanted == mq.MQQSIE_HIGH and not _is_served_in_time(engine, queue):
        made.append(performance_event(engine, queue, mq.MQRC_Q_SERVICE_INTERVAL_HIGH))
    return made


def after_removal(engine: Engine, queue: Queue) -> list[Outgoing]:
    """Return the events after a message was got or cleared."""
    made: list[Outgoing] = []
    is_enabled: bool = _is_performance_enabled(engine, queue)
    if is_enabled and _is_on(queue, "QDPLOEV") and queue.depth * 100 <= queue.depth_max * queue.depth_low:
        made.append(performance_event(engine, queue, mq.MQRC_Q_DEPTH_LOW))
    wanted = queue.definition.attributes.get("QSVCIEV", mq.MQQSIE_NONE)
    if wanted == mq.MQQSIE_NONE:
        return made
    in_time: bool = _is_served_in_time(engine, queue)
    if is_enabled and in_time and wanted == mq.MQQSIE_OK:
        made.append(performance_event(engine, queue, mq.MQRC_Q_SERVICE_INTERVAL_OK))
    elif is_enabled and not in_time and wanted == mq.MQQSIE_HIGH:
        made.append(performance_event(engine, queue, mq.MQRC_Q_SERVICE_INTERVAL_HIGH))
    queue.performance.waiting_since_ms = engine.now_ms if queue.depth > 0 else 0
    return made


def on_queue_full(engine: Engine, queue: Queue) -> list[Outgoing]:
    """Return the Queue Full event for a refused put."""
    if not _is_performance_enabled(engine, queue) or not _is_on(queue, "QDPMAXEV"):
        return []
    return [performance_event(engine, queue, mq.MQRC_Q_FULL)]


def after_restart(engine: Engine) -> None:
    """Reset the statistics of all queues after a restart, and when PERFMEV is enabled.

    Service intervals of queues with messages start now.
    """
    for queue in engine.queues.values():
        reset_statistics(engine, queue)
        queue.performance.waiting_since_ms = engine.now_ms if queue.depth > 0 else 0


def performance_event(engine: Engine, queue: Queue, reason: i64) -> Outgoing:
    """Return an event with the queue's statistics. Resets them, and switches the events that can follow."""
    statistics = reset_statistics(engine, queue)
    alter_queue(engine, queue, _SWITCHES[reason])
    return _event(
        engine,
        PERFORMANCE_QUEUE,
        mq.MQCMD_PERFM_EVENT,
        reason,
        [
            fixed_name(mq.MQCA_BASE_Q_NAME, queue.name),
            Integer(mq.MQIA_TIME_SINCE_RESET, statistics.seconds),
            Integer(mq.MQIA_HIGH_Q_DEPTH, statistics.depth_high),
            Integer(mq.MQIA_MSG_ENQ_COUNT, statistics.puts),
            Integer(mq.MQIA_MSG_DEQ_COUNT, statistics.gets),
        ],
    )


def reset_statistics(engine: Engine, queue: Queue) -> ResetStatistics:
    """Return the statistics since the last reset, and reset them (RESET QSTATS)."""
    queue.update_depth_extremes()
    state = queue.performance
    statistics = ResetStatistics(
        _count((engine.now_ms - state.reset_ms) // 1000),
        _count(state.depth_high),
        _count(queue.counters.puts - state.puts_before),
        _count(queue.counters.gets - state.gets_before),
    )
    state.reset_ms = engine.now_ms
    state.depth_high = queue.depth
    state.puts_before = queue.counters.puts
    state.gets_before = queue.counters.gets
    return statistics


def _count(number: i64) -> int:
    """Limit a count to the range of a PCF integer."""
    return min(max(number, 0), _COUNT_MAX)


def _is_performance_enabled(engine: Engine, queue: Queue) -> bool:
    # The event queue does not report on itself: every event would cause another one.
    return engine.performance_events and queue.name != PERFORMANCE_QUEUE


def _is_on(queue: Queue, name: str) -> bool:
    return queue.definition.attributes.get(name, 0) == mq.MQEVR_ENABLED


def _is_served_in_time(engine: Engine, queue: Queue) -> bool:
    """Return whether the queue was served within its service interval.

    A message passed to a waiting get never waited.
    """
    since_ms: i64 = queue.performance.waiting_since_ms
    interval_ms = queue.definition.attributes.get("QSVCINT", 0)
    if since_ms == 0 or not isinstance(interval_ms, int):
        return True
    return engine.now_ms - since_ms <= interval_ms


# -- queue manager events --------------------------------------------------------------------------------------------


def on_refused(
    engine: Engine,
    connection: Connection,
    reason: i64,
    queue_name: str,
    object_manager: str = "",
    base_name: str = "",
    transmission_queue: str = "",
    queue_type: i64 = 0,
) -> list[Outgoing]:
    """Return the inhibit, local or remote event of a refused MQI call.

    `object_manager` is the queue manager named by the application. The last three describe the cause where it applies:
    the target of an alias, the transmission queue, and the wrong type of that queue.
    """
    attribute = _REFUSAL_ATTRIBUTES.get(reason)
    if attribute is None or engine.manager.attributes.get(attribute, 0) != mq.MQEVR_ENABLED:
        return []
    parameters: list[Parameter] = [fixed_name(mq.MQCA_Q_NAME, queue_name)]
    if base_name:
        parameters.append(fixed_name(mq.MQCA_BASE_OBJECT_NAME, base_name))
    if transmission_queue:
        parameters.append(fixed_name(mq.MQCA_XMIT_Q_NAME, transmission_queue))
    if queue_type:
        parameters.append(Integer(mq.MQIA_Q_TYPE, queue_type))
    parameters.append(Integer(mq.MQIA_APPL_TYPE, connection.application_type))
    parameters.append(String(mq.MQCACF_APPL_NAME, fixed_text(connection.application, 28)))
    if object_manager and object_manager != engine.name:
        parameters.append(fixed_name(mq.MQCACF_OBJECT_Q_MGR_NAME, object_manager))
    return [_event(engine, MANAGER_QUEUE, mq.MQCMD_Q_MGR_EVENT, reason, parameters)]


def on_start(engine: Engine, qualifier: i64 = mq.MQRQ_FAILOVER_NOT_PERMITTED, host_name: str = "") -> list[Outgoing]:
    """Queue Manager Active. `qualifier` tells of other instances, or MQRQ_STANDBY_ACTIVATED: this one took over."""
    return _start_stop(engine, mq.MQRC_Q_MGR_ACTIVE, qualifier, host_name)


def on_stop(engine: Engine, at_once: bool) -> list[Outgoing]:
    """Queue Manager Not Active: immediate, or quiescing until applications have ended."""
    return _start_stop(engine, mq.MQRC_Q_MGR_NOT_ACTIVE, mq.MQRQ_Q_MGR_STOPPING if at_once else mq.MQRQ_Q_MGR_QUIESCING)


def _start_stop(engine: Engine, reason: i64, qualifier: i64, host_name: str = "") -> list[Outgoing]:
    if engine.manager.attributes.get("STRSTPEV", mq.MQEVR_ENABLED) != mq.MQEVR_ENABLED:
        return []
    parameters: list[Parameter] = [Integer(mq.MQIACF_REASON_QUALIFIER, qualifier)]
    if host_name:
        parameters.append(String(mq.MQCACF_HOST_NAME, host_name[: mq.MQ_HOST_NAME_LENGTH]))
    return [_event(engine, MANAGER_QUEUE, mq.MQCMD_Q_MGR_EVENT, reason, parameters)]


# -- the message -----------------------------------------------------------------------------------------------------


def _event(engine: Engine, queue_name: str, command: i64, reason: i64, parameters: list[Parameter]) -> Outgoing:
    """Return an event message that begins with the queue manager's name."""
    return event_message(
        engine, queue_name, command, reason, [fixed_name(mq.MQCA_Q_MGR_NAME, engine.name), *parameters]
    )


def event_message(
    engine: Engine,
    queue_name: str,
    command: i64,
    reason: i64,
    parameters: list[Parameter],
    number: i64 = 1,
    control: i64 = mq.MQCFC_LAST,
) -> Outgoing:
    """Return a message for an event queue, with that queue's defaults. `number` and `control` are those of MQCFH."""
    version = mq.MQCFH_VERSION_1 if command in (mq.MQCMD_PERFM_EVENT, mq.MQCMD_Q_MGR_EVENT) else mq.MQCFH_VERSION_2
    header = Header(mq.MQCFT_EVENT, command, mq.MQCC_WARNING, reason, version, number, control)
    body = encode(header, parameters)
    priority: i64 = _default(engine, queue_name, "DEFPRTY")
    md = own_descriptor(engine, mq.MQFMT_EVENT, priority, _default(engine, queue_name, "DEFPSIST"))
    return Outgoing(queue_name, "", md, body, False)


def _default(engine: Engine, queue_name: str, attribute: str) -> int:
    """Return an attribute of an event queue, which may be a local, alias or remote queue."""
    for object_type in (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE):
        definition = engine.of_type(object_type).get(queue_name)
        if definition is not None:
            value = definition.attributes.get(attribute, 0)
            return value if isinstance(value, int) else 0
    return 0


def fixed_name(parameter: i64, name: str) -> String:
    return String(parameter, fixed_text(name, 48))


def fixed_text(text: str, length: i64) -> str:
    """Return text padded to a field, reduced to ASCII, which all code pages of a queue manager share."""
    return text.encode("ascii", "replace").decode("ascii")[:length].ljust(length)
