"""The end of subscriptions: by MQCLOSE, by command, by expiry, or as orphans after a restart."""

from __future__ import annotations

from heapq import heappop
from typing import Final

from mypy_extensions import i64

from ostler.engine import statistics
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.objects import delete, delete_queue
from ostler.engine.outcomes import CloseOutcome
from ostler.engine.pubsub import subscription_calls
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.errors import MQError

MANAGED_DURABLE: Final = "SYSTEM.MANAGED.DURABLE."
MANAGED_NON_DURABLE: Final = "SYSTEM.MANAGED.NDURABLE."
_MANAGED: Final = (MANAGED_DURABLE, MANAGED_NON_DURABLE)


def close_subscription(engine: Engine, connection: Connection, handle: Handle, options: i64) -> CloseOutcome:
    """MQCLOSE of a subscription handle.

    A durable subscription is kept unless MQCO_REMOVE_SUB is given; others are removed.
    """
    subscription = handle.subscription
    assert subscription is not None, "the handle of a subscription"
    try:
        choice: i64 = _closing_choice(subscription, options)
    except MQError:
        subscription_calls.count_unsubscribe_failed(engine, connection)
        raise
    # One whose MQSUB has not ended was not made.
    is_removed: bool = not subscription.is_durable or choice == mq.MQCO_REMOVE_SUB or subscription.is_pending
    connection.handles.pop(handle.number, None)
    statistics.count_close(engine, connection, handle)
    subscription_calls.count_unsubscribed(engine, connection, subscription.is_durable, is_removed)
    if subscription.is_removed:
        return CloseOutcome()
    if subscription.connection == connection.number:
        subscription.connection = 0
        subscription.connection_id = b""
    return CloseOutcome(0, end_subscription(engine, subscription) if is_removed else 0)


def _closing_choice(subscription: Subscription, options: i64) -> i64:
    """Return MQCO_KEEP_SUB, MQCO_REMOVE_SUB or 0. Raises MQError for close options that do not fit."""
    if options & (mq.MQCO_DELETE | mq.MQCO_DELETE_PURGE):
        raise MQError(
            mq.MQRC_OPTION_NOT_VALID_FOR_TYPE, "A subscription is kept or removed, not deleted as a queue is."
        )
    choice: i64 = options & (mq.MQCO_KEEP_SUB | mq.MQCO_REMOVE_SUB)
    if choice == mq.MQCO_KEEP_SUB | mq.MQCO_REMOVE_SUB:
        raise MQError(mq.MQRC_OPTIONS_ERROR, "A subscription is either kept or removed.")
    if choice == mq.MQCO_KEEP_SUB and not subscription.is_durable:
        raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE, "Only a durable subscription can be kept.")
    return choice


def remove_subscription(engine: Engine, subscription: Subscription) -> i64:
    """End a subscription for DELETE SUB; returns the LSN of the change.

    Raises MQRC_SUBSCRIPTION_IN_USE while it is open.
    """
    if subscription.connection != 0:
        raise MQError(mq.MQRC_SUBSCRIPTION_IN_USE, f"The subscription {subscription.name} is in use.")
    return end_subscription(engine, subscription)


def end_subscription(engine: Engine, subscription: Subscription) -> i64:
    """Remove a subscription from the tree, with its definition and managed queue; returns the LSN of the change."""
    lsn: i64 = 0
    if subscription.is_durable and subscription.name in engine.of_type(ObjectType.SUB):
        lsn = delete(engine, ObjectType.SUB, subscription.name)
    else:
        engine.topics.remove(subscription, engine.now_ms)
    queue = engine.queues.get(subscription.destination) if subscription.is_managed else None
    if queue is not None:
        last: i64 = _end_queue(engine, queue)
        if last > lsn:
            lsn = last
    return lsn


def _end_queue(engine: Engine, queue: Queue) -> i64:
    """Delete a managed queue: at once, or when the last handle on it is closed."""
    if queue.handles or (queue.uncommitted > 0 and not queue.is_temporary):
        queue.pending_delete = True
        return 0
    return delete_queue(engine, queue)


def end_expired(engine: Engine, limit: int) -> int:
    """End at most `limit` expired subscriptions; returns the number ended."""
    expiries = engine.topics.expiries
    ended = 0
    while expiries and expiries[0][0] <= engine.now_ms and ended < limit:
        subscription = engine.topics.subscriptions.get(heappop(expiries)[1])
        # The entry is stale if the subscription is gone or its expiry was changed; a changed expiry has its own entry.
        if subscription is not None and 0 < subscription.ends_ms <= engine.now_ms:
            end_subscription(engine, subscription)
            ended += 1
    return ended


def delete_orphaned_queues(engine: Engine) -> int:
    """Delete managed queues without a subscription, which a crash can leave behind; called after a restart."""
    wanted = {each.destination for each in engine.topics.subscriptions.values() if each.is_managed}
    orphans = [
        queue
        for name, queue in engine.queues.items()
        if name.startswith(_MANAGED) and name not in wanted and queue.uncommitted == 0 and not queue.handles
    ]
    for queue in orphans:
        delete_queue(engine, queue)
    return len(orphans)
