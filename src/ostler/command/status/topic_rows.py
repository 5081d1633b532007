"""Status rows of the topic tree: topics, their subscribers and their publishers.

Rows are built in slices under the engine's lock, so that a million topics neither block it nor fill memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.objects import date_and_time
from ostler.command.admin.subscriptions import NO_IDENTIFIER, SUBTYPES, SelectedSubscription
from ostler.command.mqsc.display.display import Row
from ostler.command.status.topic_walk import NodeAndTopic, TopicPattern, TopicWalk
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.pubsub import retained
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_settings import TopicSettings
from ostler.engine.pubsub.topic_tree import TopicNode
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, find, to_text

# Nodes visited, and rows built, under one hold of the lock.
_SLICE: Final = 200
# Attributes of topic objects that have no effect here, with the values if no object sets them.
_UNUSED: Final[dict[str, Value]] = {"CLUSTER": "", "COMMINFO": "", "MCAST": mq.MQMC_DISABLED}
_NO_RELIABILITY: Final = ("", "")


class TopicRows:
    """Builds the rows of TPSTATUS for a topic string with wildcards. `about` is TOPIC, SUB or PUB."""

    def __init__(self, pattern: str, about: str, types: str = "USER") -> None:
        self._pattern = TopicPattern(pattern)
        self._about = about
        self._types = SUBTYPES[types]
        self._inherited: dict[TopicSettings, dict[str, Value]] = {}

    def rows(self, context: CommandContext) -> Iterator[Row]:
        if self._about == "PUB":
            yield from self._publishers(context)
            return
        walk = TopicWalk(self._pattern)
        try:
            while not walk.is_done:
                if self._about == "TOPIC":
                    yield from context.query(partial(self._topic_slice, walk))
                    continue
                for node, topic in context.query(partial(_subscribed_nodes, walk)):
                    yield from self._subscribers(context, node, topic)
        finally:
            context.query(walk.end)
        if self._pattern.is_wild:
            yield from self._wild(context)

    # -- topics --------------------------------------------------------------------------------------------------------

    def _topic_slice(self, walk: TopicWalk, engine: Engine) -> list[Row]:
        return [self._topic_row(engine, node, topic) for node, topic in walk.step(engine, _SLICE)]

    def _topic_row(self, engine: Engine, node: TopicNode, topic: str) -> Row:
        settings = engine.topics.settings_at(node)
        inherited = self._inherited.get(settings)
        if inherited is None:
            inherited = self._inherited[settings] = _inherited(settings, node)
        subscriptions = node.subscriptions
        return {
            **inherited,
            "TOPICSTR": topic,
            "ADMIN": node.definition.name if node.definition is not None else "",
            "PUBCOUNT": node.publishers,
            "RETAINED": "YES" if retained.has_publication(engine, node) else "NO",
            "SUBCOUNT": len(subscriptions) if subscriptions is not None else 0,
        }

    # -- subscribers ---------------------------------------------------------------------------------------------------

    def _subscribers(self, context: CommandContext, node: TopicNode, topic: str) -> Iterator[Row]:
        """Yields the subscribers of a node in slices, as there may be very many."""
        at = 0
        while (some := context.query(partial(self._subscriber_slice, node, topic, at))) is not None:
            yield from some
            at += _SLICE

    def _subscriber_slice(self, node: TopicNode, topic: str, at: int, engine: Engine) -> list[Row] | None:
        """Returns a slice of the subscribers of a node; None after the last."""
        subscriptions = node.subscriptions
        if subscriptions is None or at >= len(subscriptions):
            return None
        return [
            {"TOPICSTR": topic, "TYPE": "SUB", **subscriber_row(each)}
            for each in subscriptions[at : at + _SLICE]
            if each.type in self._types
        ]

    def _wild(self, context: CommandContext) -> Iterator[Row]:
        """Yields subscriptions with wildcards, which are at no node of the tree: each has a topic of its own."""
        at = context.query(_wild_end)
        while at > 0:
            yield from context.query(partial(self._wild_slice, at))
            at -= _SLICE

    def _wild_slice(self, end: int, engine: Engine) -> list[Row]:
        rows: list[Row] = []
        for each in engine.topics.all_subscriptions[max(0, end - _SLICE) : end]:
            is_wild = each.is_character_wild or each.fixed_levels >= 0
            if not is_wild or each.is_removed or not self._pattern.matches(each.topic):
                continue
            if self._about == "SUB":
                if each.type in self._types:
                    rows.append({"TOPICSTR": each.topic, "TYPE": "SUB", **subscriber_row(each)})
            else:
                alike = engine.topics.with_same_topic(each)
                if alike[0] is each:
                    nearest = engine.topics.nearest(each.topic)
                    counts: dict[str, Value] = {"ADMIN": "", "PUBCOUNT": 0, "RETAINED": "NO", "SUBCOUNT": len(alike)}
                    rows.append({**self._topic_row(engine, nearest, each.topic), **counts})
        return rows

    # -- publishers ----------------------------------------------------------------------------------------------------

    def _publishers(self, context: CommandContext) -> Iterator[Row]:
        for connection in context.query(_connections):
            yield from context.query(partial(self._publisher_rows, connection))

    def _publisher_rows(self, connection: Connection, engine: Engine) -> list[Row]:
        return [
            _publisher_row(connection, opened.topic, opened.published, opened.published_ms)
            for handle in connection.handles.values()
            if (opened := handle.topic) is not None and self._pattern.matches(opened.topic)
        ]


def _subscribed_nodes(walk: TopicWalk, engine: Engine) -> list[NodeAndTopic]:
    return [(node, topic) for node, topic in walk.step(engine, _SLICE) if node.subscriptions is not None]


def _wild_end(engine: Engine) -> int:
    return len(engine.topics.all_subscriptions) if engine.topics.wildcard_count > 0 else 0


def _connections(engine: Engine) -> list[Connection]:
    return list(engine.connections.values())


def _publisher_row(connection: Connection, topic: str, published: int, published_ms: int) -> Row:
    date, time = date_and_time(published_ms)
    return {
        "TOPICSTR": topic,
        "TYPE": "PUB",
        "ACTCONN": connection.connection_id.hex().upper(),
        "LPUBDATE": date,
        "LPUBTIME": time,
        "MCASTREL": _NO_RELIABILITY,
        "NUMPUBS": published,
    }


def _inherited(settings: TopicSettings, node: TopicNode) -> dict[str, Value]:
    """Returns the attributes of all nodes that inherit from one topic object."""
    row: dict[str, Value] = {
        "TYPE": "TOPIC",
        "CAPEXPRY": settings.expiry_max,
        "DEFPRESP": settings.response,
        "DEFPRTY": settings.priority,
        "DEFPSIST": settings.persistence,
        "DURSUB": settings.durable,
        "MDURMDL": settings.durable_model,
        "MNDURMDL": settings.non_durable_model,
        "NPMSGDLV": settings.delivery_nonpersistent,
        "PMSGDLV": settings.delivery_persistent,
        "PUB": settings.publish,
        "PUBSCOPE": settings.publish_scope,
        "SUB": settings.subscribe,
        "SUBSCOPE": settings.subscribe_scope,
        "USEDLQ": settings.dead_letters,
    }
    for name, default in _UNUSED.items():
        row[name] = _nearest(node, name, default)
    row["CLROUTE"] = _nearest(node, "CLROUTE", mq.MQCLROUTE_NONE) if row["CLUSTER"] else mq.MQCLROUTE_NONE
    return row


def _nearest(node: TopicNode | None, name: str, default: Value) -> Value:
    """Returns the value of the nearest topic object at or above a node that is not ASPARENT."""
    attribute = find(ObjectType.TOPIC, name)
    assert attribute is not None
    while node is not None:
        value = node.definition.attributes.get(name, "") if node.definition is not None else ""
        if value != "" and to_text(attribute, value) != "ASPARENT":
            return value
        node = node.parent
    return default


def subscriber_row(subscription: Subscription) -> Mapping[str, Value]:
    """Returns the attributes that TPSTATUS TYPE(SUB) and SBSTATUS share."""
    attributes = subscription.definition.attributes
    resumed = date_and_time(subscription.resumed_ms or subscription.created_ms)
    delivered = date_and_time(subscription.delivered_ms)
    return {
        "SUBID": subscription.identifier.hex().upper(),
        "SUBUSER": subscription.user,
        "SUBTYPE": subscription.type,
        "DURABLE": attributes.get("DURABLE", mq.MQSUB_DURABLE_YES),
        "ACTCONN": subscription.connection_id.hex().upper() or NO_IDENTIFIER,
        "LMSGDATE": delivered[0],
        "LMSGTIME": delivered[1],
        "MCASTREL": _NO_RELIABILITY,
        "NUMMSGS": subscription.delivered,
        "RESMDATE": resumed[0],
        "RESMTIME": resumed[1],
    }


def status_rows(found: list[SelectedSubscription], engine: Engine) -> list[Row]:
    """Returns SBSTATUS of live subscriptions; the default subscription has none."""
    return [
        {"SUB": live.name, "TOPICSTR": live.topic, **subscriber_row(live)}
        for _, live in found
        if live is not None and not live.is_removed
    ]


def pubsub_row(engine: Engine) -> Row:
    mode = engine.manager.attributes.get("PSMODE")
    return {
        "QMNAME": engine.name,
        "TYPE": "LOCAL",
        "STATUS": "INACTIVE" if mode == mq.MQPSM_DISABLED else "COMPAT" if mode == mq.MQPSM_COMPAT else "ACTIVE",
        "SUBCOUNT": len(engine.topics.subscriptions),
        "TPCOUNT": len(engine.topics.nodes),
    }
