"""Publications of the queue manager itself, on system topics."""

from __future__ import annotations

from typing import Final

from ostler.engine.connection import PUBLISH_LEVEL_HIGHEST
from ostler.engine.core import RUNNING, Engine
from ostler.engine.events.reports import own_descriptor
from ostler.engine.outcomes import PutOutcome
from ostler.engine.pubsub import retained
from ostler.engine.pubsub.fan_out import FanOutPlan, check_capacity, plan_copies
from ostler.engine.pubsub.fan_out_delivery import deliver_plan
from ostler.engine.pubsub.publication_properties import topic_block
from ostler.engine.pubsub.publish import queue_to_retain
from ostler.engine.pubsub.topic_tree import TopicNode
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq

_NO_CONNECTION: Final = 0
_NO_UNIT: Final = -1


def publish_own(engine: Engine, topic: str, format: bytes, body: bytes, retains: bool = False) -> bool:
    """Publish a message that is not persistent. Returns False if publish/subscribe or a queue does not allow it.

    A subscription whose queue cannot take its copy goes without.
    """
    if engine.publishing_is_off or engine.state != RUNNING:
        return False
    topics = engine.topics
    found = topics.matching_topic(topic)
    if not found and not retains:
        return True
    settings = topics.settings_of(topic)
    stored = own_descriptor(engine, format, settings.priority, mq.MQPER_NOT_PERSISTENT)
    plan = FanOutPlan(stored, topic_block(topic), body)
    plan_copies(engine, plan, found, settings, mq.MQPMO_NONE, _NO_CONNECTION, PUBLISH_LEVEL_HIGHEST)
    if plan.reason != 0 or check_capacity(engine, plan, _NO_UNIT) != 0:
        return False
    retaining: Queue | None = None
    if retains:
        retaining = queue_to_retain(engine, len(body), False)
        if retaining is None:
            return False
    deliver_plan(engine, plan, retaining, None)
    if plan.shared is not None:
        plan.shared.commit_put(PutOutcome())
    return True


def clear_retained_below(engine: Engine, topic: str, kept: set[str]) -> None:
    """Remove the retained publications at and below a topic, except those of the topics that are `kept`."""
    start = engine.topics.find(topic)
    waiting: list[TopicNode] = [start] if start is not None else []
    stale: list[str] = []
    while waiting:
        node = waiting.pop()
        if node.retained is not None and engine.topics.topic_of(node) not in kept:
            stale.append(engine.topics.topic_of(node))
        if node.children is not None:
            waiting.extend([each for each in node.children.values() if each.retained_below > 0])
    for each in stale:
        retained.clear(engine, each)
