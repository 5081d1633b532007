"""Writes statistics and accounting messages: at their intervals, when connections end, on request, and at the end.

The messages go to SYSTEM.ADMIN.STATISTICS.QUEUE and SYSTEM.ADMIN.ACCOUNTING.QUEUE as the queue manager's own. A message
that cannot be put is lost, so that queues that no application reads do no harm.
"""

from __future__ import annotations

import os
import resource
from typing import Final

from ostler.engine import accounting
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.events.reports import Outgoing, own_descriptor
from ostler.engine.queue.delivery import send_own_messages
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.counters import Counts, queue_counts, verb_counts
from ostler.observe.accounting_messages import AccountedConnection, mqi_accounting, queue_accounting
from ostler.observe.message_builder import ReportingInterval
from ostler.observe.statistics import difference
from ostler.observe.statistics_messages import (
    ChannelInterval,
    IntervalMarks,
    MessageChannelInterval,
    QueueInterval,
    channel_statistics,
    mqi_statistics,
    queue_statistics,
)
from ostler.server.channels.statistics import ClientChannelStatistics, MessageChannelStatistics
from ostler.server.log_statistics import log_counts
from ostler.server.manager_core import ManagerCore
from ostler.server.net.conversation import ServerConversation
from ostler.server.net.link_status import host_of

STATISTICS_QUEUE: Final = "SYSTEM.ADMIN.STATISTICS.QUEUE"
ACCOUNTING_QUEUE: Final = "SYSTEM.ADMIN.ACCOUNTING.QUEUE"
_OWN_QUEUES: Final = frozenset((STATISTICS_QUEUE, ACCOUNTING_QUEUE))

# So many queues or connections are visited before the lock is released for others.
_QUEUES_AT_ONCE: Final = 500
_CONNECTIONS_AT_ONCE: Final = 200
_ACCOUNTS_CHECK_MS: Final = 1000
_INTERVAL_SECONDS: Final = 1800

# The counters that make a queue active in an interval. The queue manager's own puts on its own queues do not count.
_ACTIVITY: Final = (
    "puts",
    "gets",
    "browses",
    "puts_failed",
    "put1s_failed",
    "gets_failed",
    "gets_empty",
    "expired",
    "purged",
)
_ACTIVITY_OF_OWN: Final = _ACTIVITY[1:]


class StatisticsWriter:
    """One for each queue manager. Methods are called without the engine's lock, unless they say otherwise."""

    def __init__(self, manager: ManagerCore) -> None:
        self._manager = manager
        self._began_ms = 0
        self._accounts_checked_ms = 0
        self._counts_before: Counts = {}  # of the process and the log, when the interval began
        self.channels = ClientChannelStatistics()
        self.message_channels = MessageChannelStatistics()

    @property
    def _engine(self) -> Engine:
        return self._manager.engine

    # -- life ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin the first interval, when the queue manager has started."""
        with self._manager.turn:
            engine = self._engine
            self._began_ms = int(engine.now_ms)
            self._counts_before = self._process_counts()
            if engine.statistics.verbs_base is not None:
                engine.begin_verb_statistics()
            for queue in engine.queues_by_id.values():
                if queue.statistics is not None:
                    queue.begin_statistics()
        self._manager.on_stopping.insert(0, self.end)

    def end(self) -> None:
        """Write the statistics of the last interval, when all connections have ended."""
        if not self._manager.writer.failure:
            self.write_statistics()

    def write_due(self) -> None:
        """Write the statistics and accounts whose interval has ended."""
        attributes = self._engine.manager.attributes
        statistics_ms = _interval_seconds(attributes.get("STATINT")) * 1000
        accounts_ms = _interval_seconds(attributes.get("ACCTINT")) * 1000
        with self._manager.turn:
            now_ms = int(self._engine.now_ms)
            self.channels.switch(_is_on(attributes.get("STATCHL")))
        if now_ms - self._began_ms >= statistics_ms:
            self.write_statistics()
        if now_ms - self._accounts_checked_ms >= _ACCOUNTS_CHECK_MS:
            self._accounts_checked_ms = now_ms
            self._write_due_accounts(now_ms - accounts_ms)

    # -- connections: with the lock held -------------------------------------------------------------------------------

    def connected(self, connection: Connection, options: int = 0) -> None:
        """Count a connection that was admitted with these MQCNO options. With the lock held."""
        accounting.record_connect(self._engine, connection, options)

    def refused(self) -> None:
        """Count a connection that was refused. With the lock held."""
        accounting.record_connect_failed(self._engine)

    def disconnected(self, connection: Connection, how: int) -> None:
        """Count the end of a connection and write its account. `how` is an MQDISCONNECT number. With the lock held."""
        accounting.record_disconnect(self._engine, connection, how)
        if connection.account is not None:
            self._write_account(connection, how)
            connection.account = None

    # -- statistics ----------------------------------------------------------------------------------------------------

    def write_statistics(self) -> None:
        """Write all statistics now and begin a new interval: RESET QMGR TYPE(STATISTICS)."""
        with self._manager.turn:
            ended_ms = int(self._engine.now_ms)
            about = self._about(self._began_ms, ended_ms)
            self._began_ms = ended_ms
            limit = self._bytes_max(STATISTICS_QUEUE)
        messages = self._verb_messages(about)
        messages.extend(queue_statistics(about, self._queue_intervals(), limit))
        with self._manager.turn:
            traffic: list[ChannelInterval | MessageChannelInterval] = [*self.channels.take()]
            traffic += self.message_channels.take()
        messages.extend(channel_statistics(about, traffic, limit))
        if messages:
            with self._manager.turn:
                self._send(STATISTICS_QUEUE, messages)

    def _verb_messages(self, about: ReportingInterval) -> list[bytes]:
        with self._manager.turn:
            engine = self._engine
            counts = self._process_counts()
            extras = difference(counts, self._counts_before)
            longest = self._manager.longest_pass
            extras["longest_pass_us"] = 0 if longest is None else int(longest.take_us())
            self._counts_before = counts
            before = engine.statistics.verbs_base
            if before is None:
                return []
            verbs = difference(verb_counts(engine.counters), before)
            manager = difference(engine.statistics.counts(), engine.statistics.manager_base)
            subscriptions = engine.topics.counts.of_statistics
            marks = IntervalMarks(engine.statistics.connections_high, subscriptions.high, subscriptions.low)
            engine.begin_verb_statistics()
        if not any(verbs.values()) and not any(manager.values()):
            return []
        return [mqi_statistics(about, verbs, manager, marks, extras)]

    def _queue_intervals(self) -> list[QueueInterval]:
        """Return the intervals of queues that were active, and begin a new one for all, in slices."""
        with self._manager.turn:
            numbers = list(self._engine.queues_by_id)
        found: list[QueueInterval] = []
        for first in range(0, len(numbers), _QUEUES_AT_ONCE):
            with self._manager.turn:
                for number in numbers[first : first + _QUEUES_AT_ONCE]:
                    queue = self._engine.queues_by_id.get(number)
                    if queue is not None and queue.statistics is not None:
                        interval = _interval_of(queue, queue.statistics)
                        queue.begin_statistics()
                        if interval is not None:
                            found.append(interval)
        return found

    def _process_counts(self) -> Counts:
        used = resource.getrusage(resource.RUSAGE_SELF)
        counts = log_counts(self._manager.log.status(), self._manager.log.metrics, self._manager.writer.counters)
        counts["cpu_user_us"] = int(used.ru_utime * 1_000_000)
        counts["cpu_system_us"] = int(used.ru_stime * 1_000_000)
        return counts

    # -- accounts ------------------------------------------------------------------------------------------------------

    def _write_due_accounts(self, before_ms: int) -> None:
        """Write accounts of open connections whose interval began at or before a time."""
        with self._manager.turn:
            numbers = [number for number, each in self._engine.connections.items() if each.account is not None]
        for first in range(0, len(numbers), _CONNECTIONS_AT_ONCE):
            with self._manager.turn:
                for number in numbers[first : first + _CONNECTIONS_AT_ONCE]:
                    connection = self._engine.connections.get(number)
                    account = connection.account if connection is not None else None
                    if connection is not None and account is not None and account.started_ms <= before_ms:
                        self._write_account(connection, -1)

    def _write_account(self, connection: Connection, how: int) -> None:
        """Write the account of a connection since its last one. `how` it ended, or -1. With the lock held."""
        account = connection.account
        assert account is not None
        now_ms = self._engine.now_ms
        limit = self._bytes_max(ACCOUNTING_QUEUE)
        about = self._about(account.started_ms, now_ms)
        party = _connection_party(connection, account.sequence, self._engine.wall_ms(), how)
        messages: list[bytes] = []
        if account.counts_verbs:
            now = verb_counts(connection.counters)
            verbs = difference(now, account.base)
            if how >= 0 or any(verbs.values()):
                messages.append(mqi_accounting(about, party, verbs, account.busy_ns // 1000))
                account.base = now
                account.busy_ns = 0
        active = [queue for queue in account.queues.values() if queue.has_activity]
        messages.extend(queue_accounting(about, party, active, limit))
        if messages:
            account.sequence += 1
            account.started_ms = now_ms
            account.queues = {name: queue for name, queue in account.queues.items() if queue.handles > 0}
            for queue in active:
                queue.begin()
            self._send(ACCOUNTING_QUEUE, messages)

    # -- messages ------------------------------------------------------------------------------------------------------

    def _about(self, started_ms: int, ended_ms: int) -> ReportingInterval:
        level = self._engine.manager.attributes.get("CMDLEVEL", 0)
        ahead_ms = int(self._engine.wall_offset_ms)
        started_ms += ahead_ms
        return ReportingInterval(
            self._manager.name, level if isinstance(level, int) else 0, started_ms, ended_ms + ahead_ms
        )

    def _bytes_max(self, queue_name: str) -> int:
        queue = self._engine.queues.get(queue_name)
        most = self._engine.message_bytes_max
        return most if queue is None else min(most, queue.message_bytes_max)

    def _send(self, queue_name: str, messages: list[bytes]) -> None:
        """Put messages on a queue of the queue manager. With the lock held."""
        engine = self._engine
        definition = engine.of_type(ObjectType.QLOCAL).get(queue_name)
        attributes = definition.attributes if definition is not None else {}
        priority = attributes.get("DEFPRTY", 0)
        persistence = attributes.get("DEFPSIST", 0)
        outgoing = []
        for message in messages:
            md = own_descriptor(
                engine,
                mq.MQFMT_ADMIN,
                priority if isinstance(priority, int) else 0,
                persistence if isinstance(persistence, int) else 0,
            )
            outgoing.append(Outgoing(queue_name, "", md, message, False))
        send_own_messages(engine, outgoing, None)


def _interval_of(queue: Queue, before: Counts) -> QueueInterval | None:
    """Return a queue's statistics since `before`, or None when it was not active. With the lock held."""
    counts = difference(queue_counts(queue.counters), before)
    names = _ACTIVITY_OF_OWN if queue.name in _OWN_QUEUES else _ACTIVITY
    if not any(counts[name] for name in names):
        return None
    queue.update_depth_extremes()
    attributes = queue.definition.attributes
    kind = attributes.get("DEFTYPE", 1)
    return QueueInterval(
        queue.name,
        mq.MQQT_LOCAL,
        kind if isinstance(kind, int) else 1,
        str(attributes.get("CRDATE", "")),
        str(attributes.get("CRTIME", "")),
        queue.statistics_low,
        queue.statistics_high,
        counts,
    )


def _connection_party(connection: Connection, sequence: int, now_ms: int, how: int) -> AccountedConnection:
    process_id = os.getpid()
    channel = ""
    address = ""
    owner = connection.owner
    if isinstance(owner, ServerConversation):
        process_id = owner.link.process_id
        channel = owner.link.channel
        address = host_of(owner.link) if channel else ""
    return AccountedConnection(
        connection.connection_id,
        sequence,
        connection.application,
        connection.user,
        process_id,
        0,
        connection.connected_ms,
        channel,
        address,
        now_ms if how >= 0 else 0,
        max(how, 0),
    )


def _interval_seconds(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else _INTERVAL_SECONDS


def _is_on(value: object) -> bool:
    return isinstance(value, int) and value not in (mq.MQMON_OFF, mq.MQMON_NONE)
