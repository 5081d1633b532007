"""Delivery of retained publications to new subscriptions and on MQSUBRQ."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.message.message import EXPIRY_AT, patch_i32
from ostler.engine.properties.property_control import selector_source
from ostler.engine.pubsub import retained
from ostler.engine.pubsub.fan_out import FanOutPlan, check_capacity, plan_copy, plan_dead_letter, release_reservations
from ostler.engine.pubsub.fan_out_delivery import deliver_plan
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_tree import TopicNode
from ostler.engine.syncpoint import back_out_unit, commit_unit
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.errors import MQError

# Retained publications are republished at this level, so that subscriptions above it (SUBLEVEL) do not intercept them.
_LEVEL: Final = 1
_NO_LIMIT: Final = -1


def send_retained(engine: Engine, subscription: Subscription) -> tuple[int, int]:
    """Deliver all matching retained publications, or none. Returns their number and the LSN to wait for."""
    if subscription.level > _LEVEL:
        return 0, 0
    nodes = engine.topics.retained_for(subscription)
    if not nodes:
        return 0, 0
    queue = retained.retained_queue(engine)
    if queue is None or queue.damaged or not queue.get_allowed:
        raise MQError(mq.MQRC_RETAINED_MSG_Q_ERROR, "SYSTEM.RETAINED.PUB.QUEUE is missing, damaged or get-inhibited.")
    unit = engine.new_unit_of_work()
    sent = 0
    for node in nodes:
        reason: i64 = _send_one(engine, subscription, node, unit)
        if reason > 0:
            back_out_unit(engine, unit)
            if reason == mq.MQRC_RESOURCE_PROBLEM:
                raise MQError(mq.MQRC_RESOURCE_PROBLEM, "The recovery log is full.")
            raise MQError(
                mq.MQRC_RETAINED_NOT_DELIVERED,
                f"{subscription.destination} cannot take the retained publication (reason {reason}).",
            )
        if reason == 0:
            sent += 1
    return sent, commit_unit(engine, unit)


def _send_one(engine: Engine, subscription: Subscription, node: TopicNode, unit: UnitOfWork) -> i64:
    """Deliver one retained publication. Returns 0, a reason, or -1 if it does not match the subscription."""
    message = retained.message_at(engine, node)
    if message is None:
        return -1
    stored = message.md
    selector = subscription.selector
    if selector is not None and not selector.matches(selector_source(stored, message.body, message.properties)):
        return -1
    expiry_ms: i64 = retained.expiry_at(engine, node)
    if expiry_ms != 0:
        left: i64 = (expiry_ms - engine.now_ms) // 100
        stored = patch_i32(stored, EXPIRY_AT, left if left > 0 else 1)
    plan = FanOutPlan(stored, message.properties, message.body)
    reason: i64 = plan_copy(engine, plan, subscription, True)
    if reason != 0 and plan_dead_letter(engine, plan, subscription, engine.topics.settings_at(node), reason):
        reason = 0
    release_reservations(engine, plan)
    if reason == 0:
        reason = check_capacity(engine, plan, _NO_LIMIT)
    if reason == 0:
        deliver_plan(engine, plan, None, unit)
    return reason
