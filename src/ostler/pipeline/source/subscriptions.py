"""Durable subscriptions as sources: created when they do not exist, and read through their destination queue."""

from __future__ import annotations

import time
from typing import Final

from ostler.client.api.connection import Connection
from ostler.client.api.subscribe_options import SubscribeOptions
from ostler.client.api.topic import Subscription
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.links import sentence
from ostler.pipeline.source.options import ReadOptions
from ostler.pipeline.source.topic_options import SubscriptionOptions

_LOOK_SECONDS: Final = 0.2


def open_subscription(connection: Connection, wanted: SubscriptionOptions, wait_seconds: float) -> Subscription:
    """Resume a subscription, or create it if its topic is given.

    It can be open once only, and its holder may have died a moment ago, so the call is retried for a while.
    """
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return connection.subscribe(wanted.topic, **_ask(wanted))
        except MQError as error:
            if error.reason != mq.MQRC_SUBSCRIPTION_IN_USE or time.monotonic() >= deadline:
                raise PipelineError(_why(connection, wanted, error)) from error
        time.sleep(_LOOK_SECONDS)


def _ask(wanted: SubscriptionOptions) -> SubscribeOptions:
    asked: SubscribeOptions = {"name": wanted.name, "durable": True, "wildcards": wanted.wildcards}
    if wanted.topic:
        asked["selector"] = wanted.selector
        asked["new_only"] = wanted.is_new_only
    else:
        asked["options"] = mq.MQSO_RESUME
    if wanted.queue:
        asked["queue"] = wanted.queue
    return asked


def _why(connection: Connection, wanted: SubscriptionOptions, error: MQError) -> str:
    if error.reason == mq.MQRC_NO_SUBSCRIPTION:
        return (
            f"There is no subscription {wanted.name} on {connection.name}. Give option topic to have it made, or have "
            f"it defined: DEFINE SUB('{wanted.name}') TOPICSTR('...') DESTCLAS(MANAGED)"
        )
    if error.reason == mq.MQRC_SUBSCRIPTION_IN_USE:
        return (
            f"Subscription {wanted.name} of {connection.name} is in use by another reader. Stop that one, or give "
            f"this one a subscription of its own. {error}"
        )
    advice = ""
    if error.reason == mq.MQRC_TOPIC_NOT_ALTERABLE:
        advice = " Leave topic out to read it as it is, or make one under another name."
    return sentence(f"Subscribing as {wanted.name} on {connection.name}", error) + advice


def queues_of(options: ReadOptions, connection: Connection) -> tuple[str, ...]:
    """Return the queues to browse: the named ones, or the destinations of subscriptions."""
    found = list(options.queues)
    for wanted in options.subscriptions:
        with open_subscription(connection, wanted, options.connect.timeout_seconds) as subscription:
            found.append(subscription.queue.name)
    return tuple(found)
