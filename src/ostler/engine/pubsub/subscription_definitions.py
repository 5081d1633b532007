"""SUB definitions: checks, application to the topic tree, and resolution of destinations."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.message.timestamps import milliseconds_of
from ostler.engine.name_resolution import resolve
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_strings import CharacterPattern, check_topic, join_topic_strings
from ostler.engine.pubsub.topic_tree import DEFAULT_SUBSCRIPTION
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

# Internal attribute: the full topic string at creation. The topic object may be deleted later.
FULL_TOPIC: Final = "WHOLETOPIC"


def full_topic(engine: Engine, definition: Definition) -> str:
    """Return the full topic string of a definition; empty if its topic object does not exist."""
    attributes = definition.attributes
    known = attributes.get(FULL_TOPIC)
    if isinstance(known, str) and known:
        return known
    given = attributes.get("TOPICSTR", "")
    name = attributes.get("TOPICOBJ", "")
    of_object: int | str | tuple[str, ...] = ""
    if isinstance(name, str) and name:
        topic = engine.of_type(ObjectType.TOPIC).get(name)
        if topic is None:
            return ""
        of_object = topic.attributes.get("TOPICSTR", "")
    return join_topic_strings(of_object if isinstance(of_object, str) else "", given if isinstance(given, str) else "")


def with_full_topic(engine: Engine, definition: Definition) -> Definition:
    """Return a definition that stores its full topic string, if it refers to a topic object."""
    if not definition.attributes.get("TOPICOBJ") or definition.attributes.get(FULL_TOPIC):
        return definition
    attributes = dict(definition.attributes)
    attributes[FULL_TOPIC] = full_topic(engine, definition)
    return Definition(definition.object_type, definition.name, attributes)


def check_definition(engine: Engine, definition: Definition) -> None:
    """Raise MQError if no subscription can be made from a definition."""
    if definition.name == DEFAULT_SUBSCRIPTION:
        return
    topic = full_topic(engine, definition)
    if topic == "":
        raise MQError(mq.MQRC_TOPIC_STRING_ERROR, f"The subscription {definition.name} has no topic.")
    check_topic(topic)
    made = Subscription(definition, topic, engine.now_ms)
    if made.is_character_scheme:
        CharacterPattern(topic)


def apply_definition(engine: Engine, definition: Definition) -> None:
    """Apply a new or changed definition to the topic tree, live and at replay."""
    if definition.name == DEFAULT_SUBSCRIPTION:
        return
    known = engine.topics.by_name.get(definition.name)
    if known is not None:
        known.configure(definition)
        engine.topics.record_change(known)
        return
    topic = full_topic(engine, definition)
    if topic:
        engine.topics.add(Subscription(definition, topic, created_ms(engine, definition)), engine.now_ms)


def created_ms(engine: Engine, definition: Definition) -> i64:
    """Return the creation time of a definition (CRDATE, CRTIME) in milliseconds."""
    date = definition.attributes.get("CRDATE")
    time = definition.attributes.get("CRTIME")
    if isinstance(date, str) and isinstance(time, str):
        stamp = f"{date.replace('-', '')}{time.replace('.', '')}00".encode("ascii", "replace")
        made: int = milliseconds_of(stamp)
        if made:
            return made
    return engine.now_ms


def apply_deletion(engine: Engine, name: str) -> None:
    """Remove the subscription of a deleted definition from the topic tree, live and at replay."""
    known = engine.topics.by_name.get(name)
    if known is not None:
        engine.topics.remove(known, engine.now_ms)


def resolve_destination(engine: Engine, subscription: Subscription) -> i64:
    """Resolve the destination queue of a subscription.

    Returns 0 or a reason. The result is cached per definitions version.
    """
    queue = subscription.queue
    if subscription.resolved_version == engine.definitions_version and (queue is None or not queue.deleted):
        return subscription.unresolved
    subscription.resolved_version = engine.definitions_version
    subscription.queue = None
    subscription.unresolved = 0
    if subscription.is_managed:
        managed = engine.queues.get(subscription.destination)
        if managed is None:
            subscription.unresolved = mq.MQRC_UNKNOWN_OBJECT_NAME
        subscription.queue = managed
        return subscription.unresolved
    try:
        found = resolve(engine, subscription.destination, subscription.destination_manager)
    except MQError as error:
        subscription.unresolved = error.reason
        return error.reason
    if found.queue is None:
        subscription.unresolved = mq.MQRC_UNKNOWN_OBJECT_NAME
        return mq.MQRC_UNKNOWN_OBJECT_NAME
    for definition in found.path:
        if definition.attributes.get("PUT", 0) != 0:
            subscription.unresolved = mq.MQRC_PUT_INHIBITED
            return mq.MQRC_PUT_INHIBITED
    subscription.queue = found.queue
    subscription.remote_queue = found.remote_queue
    subscription.remote_manager = found.remote_manager
    return 0
