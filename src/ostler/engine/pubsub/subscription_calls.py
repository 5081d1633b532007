"""Counters of MQSUB, MQSUBRQ, MQCLOSE of subscriptions, MQCB, MQCTL and MQSTAT.

A call that failed because the journal is full (LogFull) is tried again and not counted.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.pubsub.subscribe_request import SubscribeRequest, SubscribeResult
from ostler.model import constants as mq
from ostler.model.counters import TopicCounters

# Calls that clients report with COUNT_CALL, as they execute them on their own.
CALLBACK: Final = 1  # MQCB
CONTROL: Final = 2  # MQCTL

# Effects of MQCB and MQCTL, in the order of arrays in statistics messages.
_FAILED: Final = -1
_STARTED: Final = 0
_STOPPED: Final = 1
_RESUMED: Final = 2
_SUSPENDED: Final = 3


def count_subscribed(engine: Engine, connection: Connection, request: SubscribeRequest, made: SubscribeResult) -> None:
    """Count a successful MQSUB by its effect: the subscription was created, altered or resumed."""
    is_altered: bool = made.is_resumed and request.options & mq.MQSO_ALTER != 0
    _add_subscribed(connection.counters.topic_counters(), made, is_altered)
    _add_subscribed(engine.counters.topic_counters(), made, is_altered)


def count_created(engine: Engine, connection: Connection, made: SubscribeResult) -> None:
    """Count an MQSUB that has created a subscription, and has sent it retained publications in slices."""
    _add_subscribed(connection.counters.topic_counters(), made, False)
    _add_subscribed(engine.counters.topic_counters(), made, False)


def _add_subscribed(topics: TopicCounters, made: SubscribeResult, is_altered: bool) -> None:
    if made.subscription.is_durable:
        if not made.is_resumed:
            topics.subs_durable_created += 1
        elif is_altered:
            topics.subs_durable_altered += 1
        else:
            topics.subs_durable_resumed += 1
    elif not made.is_resumed:
        topics.subs_nondurable_created += 1
    elif is_altered:
        topics.subs_nondurable_altered += 1
    else:
        topics.subs_nondurable_resumed += 1


def count_subscribe_failed(engine: Engine, connection: Connection) -> None:
    connection.counters.topic_counters().subs_failed += 1
    engine.counters.topic_counters().subs_failed += 1


def count_unsubscribed(engine: Engine, connection: Connection, is_durable: bool, is_removed: bool) -> None:
    """Count the close of a subscription, by MQCLOSE or with the connection."""
    own = connection.counters.topic_counters()
    all_calls = engine.counters.topic_counters()
    if not is_durable:
        own.unsubs_nondurable_removed += 1
        all_calls.unsubs_nondurable_removed += 1
    elif is_removed:
        own.unsubs_durable_removed += 1
        all_calls.unsubs_durable_removed += 1
    else:
        own.unsubs_durable_kept += 1
        all_calls.unsubs_durable_kept += 1


def count_unsubscribe_failed(engine: Engine, connection: Connection) -> None:
    connection.counters.topic_counters().unsubs_failed += 1
    engine.counters.topic_counters().unsubs_failed += 1


def count_request(engine: Engine, connection: Connection, is_done: bool) -> None:
    """Count an MQSUBRQ."""
    if is_done:
        connection.counters.topic_counters().subrqs += 1
        engine.counters.topic_counters().subrqs += 1
    else:
        connection.counters.topic_counters().subrqs_failed += 1
        engine.counters.topic_counters().subrqs_failed += 1


def count_status(engine: Engine, connection: Connection, is_done: bool) -> None:
    """Count an MQSTAT. Those about reconnections are answered by the client and not counted."""
    if is_done:
        connection.counters.topic_counters().stats += 1
        engine.counters.topic_counters().stats += 1
    else:
        connection.counters.topic_counters().stats_failed += 1
        engine.counters.topic_counters().stats_failed += 1


def count_call(engine: Engine, connection: Connection, call: i64, operation: i64, hobj: i64, is_done: bool) -> None:
    """Count an MQCB (CALLBACK) on a handle, or an MQCTL (CONTROL), by its MQOP operation."""
    effect: i64 = _effect(operation) if is_done else _FAILED
    if call == CONTROL:
        _add_control(connection.counters.topic_counters(), effect)
        _add_control(engine.counters.topic_counters(), effect)
        return
    _add_callback(connection.counters.topic_counters(), effect)
    _add_callback(engine.counters.topic_counters(), effect)
    handle: Handle | None = connection.handles.get(hobj)
    if handle is not None and handle.account is not None:
        handle.account.count_callback(effect)


def _effect(operation: i64) -> i64:
    """Return the entry of an operation. A callback that is registered as suspended counts as registered."""
    if operation & (mq.MQOP_REGISTER | mq.MQOP_START | mq.MQOP_START_WAIT):
        return _STARTED
    if operation & (mq.MQOP_DEREGISTER | mq.MQOP_STOP):
        return _STOPPED
    return _RESUMED if operation & mq.MQOP_RESUME else _SUSPENDED


def _add_callback(topics: TopicCounters, effect: i64) -> None:
    if effect == _FAILED:
        topics.cbs_failed += 1
    elif effect == _STARTED:
        topics.cbs_registered += 1
    elif effect == _STOPPED:
        topics.cbs_deregistered += 1
    elif effect == _RESUMED:
        topics.cbs_resumed += 1
    else:
        topics.cbs_suspended += 1


def _add_control(topics: TopicCounters, effect: i64) -> None:
    if effect == _FAILED:
        topics.ctls_failed += 1
    elif effect == _STARTED:
        topics.ctls_started += 1
    elif effect == _STOPPED:
        topics.ctls_stopped += 1
    elif effect == _RESUMED:
        topics.ctls_resumed += 1
    else:
        topics.ctls_suspended += 1
