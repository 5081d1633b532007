"""MQOPEN of a topic for publishing: by topic object, topic string, both, or an alias queue of a topic object."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine import authority
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import TOPIC, Handle, OpenTopic
from ostler.engine.pubsub.publication_properties import topic_block
from ostler.engine.pubsub.topic_strings import check_published, check_topic, join_topic_strings
from ostler.engine.pubsub.topic_tree import TopicNode
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.authorities import PUB, words_of
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

_NOT_FOR_TOPICS: Final = (
    mq.MQOO_INPUT_AS_Q_DEF
    | mq.MQOO_INPUT_SHARED
    | mq.MQOO_INPUT_EXCLUSIVE
    | mq.MQOO_BROWSE
    | mq.MQOO_INQUIRE
    | mq.MQOO_SET
)

_NO_NAMES: Final = b" " * 96


def named_topic(engine: Engine, object_name: str, given: str) -> str:
    """Return the full topic string of a topic object's name and a string. Raises MQError if either is invalid."""
    of_object = ""
    if object_name:
        definition = engine.of_type(ObjectType.TOPIC).get(object_name)
        if definition is None:
            raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no topic object {object_name}.")
        text = definition.attributes.get("TOPICSTR", "")
        of_object = text if isinstance(text, str) else ""
        if not of_object and not given:
            raise MQError(mq.MQRC_TOPIC_STRING_ERROR, f"The topic object {object_name} has an empty topic string.")
    topic = join_topic_strings(of_object, given)
    check_topic(topic)
    return topic


def check_enabled(engine: Engine) -> None:
    """Raise MQRC_PUBSUB_INHIBITED while the queue manager has PSMODE(DISABLED)."""
    if engine.publishing_is_off:
        raise MQError(mq.MQRC_PUBSUB_INHIBITED, "Publish/subscribe is off; ALTER QMGR PSMODE(ENABLED) turns it on.")


def check_node_limit(engine: Engine, topic: str) -> None:
    """Raise MQRC_RESOURCE_PROBLEM if a new topic would exceed MaxTopicNodes of qm.ini."""
    if not engine.topics.has_room_for(topic):
        raise MQError(
            mq.MQRC_RESOURCE_PROBLEM,
            f"The topic tree has {engine.topics.nodes_max} nodes, as many as MaxTopicNodes in qm.ini allows.",
        )


def require_on_topic(engine: Engine, user: str, topic: str, needed: i64) -> None:
    """Raise MQRC_NOT_AUTHORIZED unless a topic object at or above the topic grants the user all that is `needed`."""
    guard = engine.guard
    if guard is None or user == "":
        return
    missing: i64 = needed
    nearest = ""
    node: TopicNode | None = engine.topics.nearest(topic)
    while node is not None:
        definition = node.definition
        if definition is not None:
            missing = needed & ~guard.authorities(user, mq.MQOT_TOPIC, definition.name)
            if missing == 0:
                return
            nearest = nearest or definition.name
        # Authority on topics above $SYS/MQ does not extend to system topics.
        node = node.parent if not engine.topics.is_administrative(node) else None
    raise MQError(
        mq.MQRC_NOT_AUTHORIZED,
        f"User {user} has no {','.join(words_of(missing))} authority on topic {topic[:256]}: "
        f"neither on {nearest or 'SYSTEM.BASE.TOPIC'} nor on an object above it.",
    )


def open_topic(
    engine: Engine,
    connection: Connection,
    object_name: str,
    given: str,
    options: i64,
    user: str,
    alias: Definition | None = None,
) -> Handle:
    """Return a handle for publishing.

    `user` comes from `authority.user_of_open`; authority on an alias was checked already.
    """
    if options & _NOT_FOR_TOPICS or not options & mq.MQOO_OUTPUT:
        raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE, "A topic can be opened for output only.")
    check_enabled(engine)
    topic = named_topic(engine, object_name, given)
    check_published(topic)
    if alias is None:
        require_on_topic(engine, user, topic, PUB)
        authority.check_context(engine, connection, user, options)
    check_node_limit(engine, topic)
    node = engine.topics.ensure(topic, engine.now_ms)
    node.publishers += 1
    handle = Handle(connection.next_handle, TOPIC, object_name, options)
    connection.next_handle += 1
    handle.topic = OpenTopic(node, topic, topic_block(topic))
    handle.for_output = True
    handle.resolved_names = _NO_NAMES
    if alias is not None:
        handle.definitions_on_path = [alias]
        handle.put_allowed_by_alias = alias.attributes.get("PUT", 0) == 0
    return handle


def close_topic(engine: Engine, opened: OpenTopic) -> None:
    opened.node.publishers -= 1
    opened.node.used_ms = engine.now_ms
    engine.topics.release(opened.node, engine.now_ms)
