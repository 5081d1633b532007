"""Accounting of connections: selection of the connections with an account, and its updates by open and close.

A connection gets its account when it connects or never: altering ACCTMQI or ACCTQ affects later connections only. Puts
and gets update the account of their handle, if it has one.
"""

from __future__ import annotations

from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq
from ostler.model.accounts import DISCONNECTED, LOST, ConnectionAccount, QueueAccount
from ostler.model.counters import verb_counts


def record_connect(engine: Engine, connection: Connection, options: i64) -> None:
    """Record that an application has connected. Its MQCNO options are honoured with ACCTCONO(ENABLED) only."""
    statistics = engine.statistics
    statistics.connects += 1
    statistics.application_started(connection.application)
    if len(engine.connections) > statistics.connections_high:
        statistics.connections_high = len(engine.connections)
    if len(engine.connections) > statistics.connections_high_monitored:
        statistics.connections_high_monitored = len(engine.connections)
    counts_verbs: bool = _setting(engine, "ACCTMQI", mq.MQMON_OFF) == mq.MQMON_ON
    queue_switch: i64 = _setting(engine, "ACCTQ", mq.MQMON_OFF)
    if options != 0 and _setting(engine, "ACCTCONO", mq.MQMON_OFF) == mq.MQMON_ENABLED:
        if options & mq.MQCNO_ACCOUNTING_MQI_ENABLED:
            counts_verbs = True
        elif options & mq.MQCNO_ACCOUNTING_MQI_DISABLED:
            counts_verbs = False
        if options & mq.MQCNO_ACCOUNTING_Q_DISABLED:
            queue_switch = mq.MQMON_NONE
        elif options & mq.MQCNO_ACCOUNTING_Q_ENABLED and queue_switch != mq.MQMON_NONE:
            queue_switch = mq.MQMON_ON
    is_forbidden: bool = options & mq.MQCNO_ACCOUNTING_Q_DISABLED != 0 and queue_switch == mq.MQMON_NONE
    if counts_verbs or queue_switch == mq.MQMON_ON or is_forbidden:
        account = ConnectionAccount(counts_verbs, queue_switch, engine.now_ms)
        if counts_verbs:
            account.base = verb_counts(connection.counters)
        connection.account = account


def record_connect_failed(engine: Engine) -> None:
    """Record that a connection was refused."""
    engine.statistics.connects_failed += 1


def record_disconnect(engine: Engine, connection: Connection, how: i64) -> None:
    """Record the end of a connection: DISCONNECTED, LOST or ENDED_BY_MANAGER."""
    statistics = engine.statistics
    statistics.application_ended(connection.application)
    if how == DISCONNECTED:
        statistics.disconnects += 1
    elif how == LOST:
        statistics.disconnects_lost += 1
    else:
        statistics.disconnects_by_manager += 1


def record_open(engine: Engine, connection: Connection, handle: Handle) -> None:
    """Record an open of a queue, by a connection with an account or of a queue with ACCTQ(ON)."""
    account = connection.account
    queue = handle.queue
    if queue is None:
        return
    if account is None:
        queue_switch: i64 = _setting(engine, "ACCTQ", mq.MQMON_OFF)
        if queue_switch == mq.MQMON_NONE:
            return
        account = ConnectionAccount(False, queue_switch, engine.now_ms)
        connection.account = account
    if not _is_accounted(account, queue):
        return
    kept = account.queues.get(queue.name)
    if kept is None:
        kept = _new_account(queue)
        account.queues[queue.name] = kept
    if kept.handles == 0:
        kept.opened_ms = engine.wall_ms()
    kept.handles += 1
    kept.opens += 1
    kept.has_activity = True
    handle.account = kept


def record_close(engine: Engine, handle: Handle) -> None:
    kept = handle.account
    if kept is None:
        return
    handle.account = None
    kept.handles -= 1
    kept.has_activity = True
    if kept.handles == 0:
        kept.closed_ms = engine.wall_ms()


def _is_accounted(account: ConnectionAccount, queue: Queue) -> bool:
    if account.queue_switch == mq.MQMON_NONE:
        return False
    own = queue.definition.attributes.get("ACCTQ", mq.MQMON_Q_MGR)
    return (account.queue_switch if own == mq.MQMON_Q_MGR else own) == mq.MQMON_ON


def _new_account(queue: Queue) -> QueueAccount:
    a = queue.definition.attributes
    kind = a.get("DEFTYPE", 1)
    return QueueAccount(
        queue.name,
        mq.MQQT_LOCAL,
        kind if isinstance(kind, int) else 1,
        str(a.get("CRDATE", "")),
        str(a.get("CRTIME", "")),
    )


def _setting(engine: Engine, name: str, default: int) -> int:
    value = engine.manager.attributes.get(name, default)
    return value if isinstance(value, int) else default
