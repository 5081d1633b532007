"""The topic tree: nodes, topic objects and subscriptions at them, and the match of publications to subscriptions.

A node is created when its topic is opened, subscribed to or defined, and removed when it has been idle for TREELIFE
(`sweep`). Subscriptions without wildcards are kept at their node; for the others see `topic_patterns`.
"""

from __future__ import annotations

from heapq import heapify, heappush
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.subscription_counts import SubscriptionCounts
from ostler.engine.pubsub.topic_patterns import CharacterPatterns, LevelPatterns, levels_match, swap_remove
from ostler.engine.pubsub.topic_settings import TopicSettings, administrative_settings
from ostler.engine.pubsub.topic_strings import (
    ADMINISTRATIVE,
    CharacterPattern,
    fixed_levels,
    levels_of,
    pattern_levels,
)
from ostler.model.definitions import Definition

BASE_TOPIC: Final = "SYSTEM.BASE.TOPIC"
# Holds default attributes; it has no node.
DEFAULT_TOPIC: Final = "SYSTEM.DEFAULT.TOPIC"
DEFAULT_SUBSCRIPTION: Final = "SYSTEM.DEFAULT.SUB"
_EXPIRIES_SPARE: Final = 64
# Above this number of nodes, idle nodes are removed without waiting for TREELIFE.
NODES_KEPT: Final = 100_000
_ADMINISTRATIVE_LEVELS: Final = ADMINISTRATIVE.split("/")
_NO_SUBSCRIPTIONS: Final[list[Subscription]] = []


@final
@mypyc_attr(acyclic=True)
class RetainedSlot:
    """Position of a topic's retained publication: a slot of SYSTEM.RETAINED.PUB.QUEUE."""

    def __init__(self, slot: i64, seq: i64) -> None:
        self.slot: i64 = slot
        self.seq: i64 = seq


@final
class TopicNode:
    """A node of the tree. There may be a million, so attributes that few nodes need do not belong here."""

    def __init__(self, name: str, parent: TopicNode | None, index: i64) -> None:
        self.name = name
        self.parent = parent
        self.index: i64 = index  # in `TopicTree.nodes`
        self.children: dict[str, TopicNode] | None = None
        self.subscriptions: list[Subscription] | None = None  # those without wildcards
        self.definition: Definition | None = None
        self.settings: TopicSettings | None = None  # of the topic object at this node; None without one
        self.retained: RetainedSlot | None = None
        self.retained_below: i64 = 0  # retained publications at this node and below
        self.publishers: i64 = 0  # handles open for output
        self.used_ms: i64 = 0


@final
class TopicTree:
    def __init__(self) -> None:
        self.nodes_kept: i64 = NODES_KEPT
        self.nodes_max: i64 = 0  # MaxTopicNodes of qm.ini; 0: no limit
        self.root = TopicNode("", None, 0)
        self.nodes: list[TopicNode] = [self.root]
        self.version: i64 = 0  # incremented by changes of subscriptions and objects, for callers that cache results
        self.subscriptions: dict[bytes, Subscription] = {}  # by identifier
        self.by_name: dict[str, Subscription] = {}
        # For callers that go through all subscriptions in slices. Going downwards misses none that stays: a removed one
        # is replaced by the last one.
        self.all_subscriptions: list[Subscription] = []
        self.counts = SubscriptionCounts()
        self.expiries: list[
            tuple[int, bytes]
        ] = []  # a heap of time and subscription identifier; may hold stale entries
        self.object_nodes: dict[str, TopicNode] = {}  # nodes of topic objects, by the name of the object
        self.retained_count: i64 = 0
        self.retained_next_seq: i64 = 1  # for the first message of the queue of retained publications
        self.readers: i64 = 0  # readers that iterate over `nodes`; nodes are not removed meanwhile
        self.by_level = LevelPatterns()
        self.by_character = CharacterPatterns()
        self._sweep_index: i64 = 0
        self._blocks: i64 = 0  # objects with WILDCARD(BLOCK)
        self._settings_are_current = True  # False: definitions have changed since `_recompute_settings`
        self.root.settings = TopicSettings(None, None)

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def ensure(self, topic: str, now_ms: i64) -> TopicNode:
        """Return the node of a topic, and create it if necessary."""
        node = self.root
        for level in levels_of(topic):
            children = node.children
            if children is None:
                children = {}
                node.children = children
            below = children.get(level)
            if below is None:
                below = TopicNode(level, node, len(self.nodes))
                below.used_ms = now_ms
                children[level] = below
                self.nodes.append(below)
            node = below
        node.used_ms = now_ms
        return node

    def has_room_for(self, topic: str) -> bool:
        """Return whether MaxTopicNodes allows the nodes that a topic still needs."""
        if self.nodes_max == 0 or len(self.nodes) + topic.count("/") < self.nodes_max:
            return True
        missing: i64 = len(levels_of(topic)) - _depth(self.nearest(topic))
        return len(self.nodes) - 1 + missing <= self.nodes_max

    def find(self, topic: str) -> TopicNode | None:
        """Return the node of a topic or None; the root for the empty topic."""
        node = self.root
        if topic == "":
            return node
        for level in levels_of(topic):
            children = node.children
            below = children.get(level) if children is not None else None
            if below is None:
                return None
            node = below
        return node

    def topic_of(self, node: TopicNode) -> str:
        levels: list[str] = []
        while node.parent is not None:
            levels.append(node.name)
            node = node.parent
        levels.reverse()
        return "/".join(levels)

    def settings_at(self, node: TopicNode) -> TopicSettings:
        """Return the effective settings at a node: those of the nearest topic object at or above it."""
        if not self._settings_are_current:
            self._recompute_settings()
        return _settings_above(node)

    def settings_of(self, topic: str) -> TopicSettings:
        """Return the effective settings of a topic that may have no node."""
        return self.settings_at(self.nearest(topic))

    def nearest(self, topic: str) -> TopicNode:
        """Return the node of a topic, or the deepest existing node on the path to it."""
        node = self.root
        for level in levels_of(topic):
            children = node.children
            below = children.get(level) if children is not None else None
            if below is None:
                return node
            node = below
        return node

    # -- objects -----------------------------------------------------------------------------------------------------

    def define_object(self, definition: Definition) -> None:
        """Apply a new or changed topic object."""
        if definition.name == DEFAULT_TOPIC:
            return
        topic = definition.attributes.get("TOPICSTR", "")
        at = self.root
        if definition.name != BASE_TOPIC:
            if not isinstance(topic, str) or topic == "":
                return
            before = self.object_nodes.get(definition.name)
            at = self.ensure(topic, 0)
            if before is not None and before is not at:
                self._detach_object(before)
        self.object_nodes[definition.name] = at
        at.definition = definition
        self._invalidate_settings()

    def delete_object(self, name: str) -> None:
        at = self.object_nodes.pop(name, None)
        if at is not None:
            self._detach_object(at)
            self._invalidate_settings()

    def _invalidate_settings(self) -> None:
        self.version += 1
        self._settings_are_current = False

    def _detach_object(self, node: TopicNode) -> None:
        node.definition = None
        node.settings = None

    def _recompute_settings(self) -> None:
        """Recompute the settings of all topic objects from the top down. Runs once for many changes in a row."""
        self._settings_are_current = True
        self._blocks = 0
        by_depth: dict[int, list[TopicNode]] = {}
        for node in self.object_nodes.values():
            by_depth.setdefault(_depth(node), []).append(node)
        self.root.settings = TopicSettings(self.root.definition, None)
        administrative = self.find(ADMINISTRATIVE)
        if administrative is not None:
            # Isolated also when its object has been deleted.
            administrative.settings = administrative_settings(administrative.definition)
            self._blocks += 1
        for depth in sorted(by_depth):
            for node in by_depth[depth]:
                if node.parent is not None and node is not administrative:
                    node.settings = TopicSettings(node.definition, _settings_above(node.parent))
                settings = node.settings
                if settings is not None and settings.blocks_wildcards:
                    self._blocks += 1

    # -- subscriptions -----------------------------------------------------------------------------------------------

    def add(self, subscription: Subscription, now_ms: i64) -> None:
        """Add a subscription; publications match it from now on."""
        self.record_change(subscription)
        self.subscriptions[subscription.identifier] = subscription
        subscription.index = len(self.all_subscriptions)
        self.all_subscriptions.append(subscription)
        self.counts.change(subscription.is_durable, subscription.type, 1)
        if subscription.name:
            self.by_name[subscription.name] = subscription
        if subscription.is_character_scheme:
            pattern = CharacterPattern(subscription.topic)
            if pattern.is_wild:
                subscription.is_character_wild = True
                self.by_character.add(subscription, pattern)
            else:
                self._attach(subscription, pattern.plain, now_ms)
            return
        levels = pattern_levels(subscription.topic)
        subscription.fixed_levels = fixed_levels(levels)
        if subscription.fixed_levels < 0:
            self._attach(subscription, subscription.topic, now_ms)
            return
        self.by_level.add(levels, subscription)

    def schedule_expiry(self, subscription: Subscription) -> None:
        """Schedule the expiry of a subscription. To be called again whenever its expiry changes."""
        if subscription.ends_ms == 0:
            return
        if len(self.expiries) > 2 * len(self.subscriptions) + _EXPIRIES_SPARE:
            # Drop stale entries rather than keep them until their time.
            self.expiries = [
                (each.ends_ms, each.identifier) for each in self.subscriptions.values() if each.ends_ms > 0
            ]
            heapify(self.expiries)
        heappush(self.expiries, (subscription.ends_ms, subscription.identifier))

    @property
    def wildcard_count(self) -> int:
        """Number of subscriptions with wildcards."""
        return self.by_level.count + len(self.by_character.compiled)

    def with_same_topic(self, subscription: Subscription) -> list[Subscription]:
        """Return the subscriptions with the same topic as this one, which has wildcards. Not to be modified."""
        if subscription.is_character_wild:
            return self.by_character.with_same_topic(subscription)
        return self.by_level.with_same_topic(pattern_levels(subscription.topic))

    def record_change(self, subscription: Subscription) -> None:
        """Invalidate caches after a change of a subscription's attributes."""
        self.version += 1
        self.schedule_expiry(subscription)

    def subscribed_to(self, topic: str) -> list[Subscription]:
        """Return the subscriptions with this topic string, wildcards included. Not to be modified."""
        levels = pattern_levels(topic)
        if fixed_levels(levels) < 0:
            node = self.find(topic)
            exact = node.subscriptions if node is not None else None
            return exact if exact is not None else _NO_SUBSCRIPTIONS
        return self.by_level.with_same_topic(levels)

    def _attach(self, subscription: Subscription, topic: str, now_ms: i64) -> None:
        node = self.ensure(topic, now_ms)
        subscriptions = node.subscriptions
        if subscriptions is None:
            node.subscriptions = [subscription]
        else:
            subscriptions.append(subscription)

    def remove(self, subscription: Subscription, now_ms: i64) -> None:
        """Remove a subscription. Its node counts as used until now."""
        self.version += 1
        subscription.is_removed = True
        if self.subscriptions.pop(subscription.identifier, None) is not None:
            self.counts.change(subscription.is_durable, subscription.type, -1)
            last = self.all_subscriptions.pop()
            if last is not subscription:
                self.all_subscriptions[subscription.index] = last
                last.index = subscription.index
        if subscription.name and self.by_name.get(subscription.name) is subscription:
            del self.by_name[subscription.name]
        if subscription.is_character_wild:
            self.by_character.remove(subscription)
            return
        if subscription.fixed_levels >= 0:
            self.by_level.remove(pattern_levels(subscription.topic), subscription)
            return
        topic = subscription.topic
        if subscription.is_character_scheme:
            topic = CharacterPattern(topic).plain
        node = self.find(topic)
        if node is not None and node.subscriptions is not None:
            node.used_ms = now_ms
            swap_remove(node.subscriptions, subscription)
            if not node.subscriptions:
                node.subscriptions = None
                self.release(node, now_ms)

    # -- matching ----------------------------------------------------------------------------------------------------

    def matching(self, node: TopicNode) -> list[Subscription]:
        """Return all subscriptions that match the topic of a node, before selectors and levels. Not to be modified."""
        if not self._settings_are_current:
            self._recompute_settings()
        exact = node.subscriptions
        if self.by_level.count == 0 and not self.by_character.compiled:
            return exact if exact is not None else _NO_SUBSCRIPTIONS
        topic = self.topic_of(node)
        found: list[Subscription] = []
        if exact is not None:
            found.extend(exact)
        blocked: i64 = self._blocked_levels(node) if self._blocks > 0 else 0
        wild = self._match_wildcards(topic)
        found.extend(wild if blocked == 0 else [each for each in wild if self._passes_block(each, blocked)])
        return found

    def matching_topic(self, topic: str) -> list[Subscription]:
        """Return all subscriptions that match a topic, which need not have a node. Not to be modified."""
        node = self.find(topic)
        if node is not None:
            return self.matching(node)
        if self.wildcard_count == 0:
            return _NO_SUBSCRIPTIONS
        if not self._settings_are_current:
            self._recompute_settings()
        blocked: i64 = self._blocked_levels(self.nearest(topic)) if self._blocks > 0 else 0
        wild = self._match_wildcards(topic)
        return wild if blocked == 0 else [each for each in wild if self._passes_block(each, blocked)]

    def has_wildcards_below(self, topic: str) -> bool:
        """Return whether a subscription has wildcards behind this topic."""
        if self.by_level.count > 0 and self.by_level.has_branch(levels_of(topic)):
            return True
        prefix = f"{topic}/"
        for each in self.by_character.compiled.values():
            if each.prefix.startswith(prefix):
                return True
        return False

    def is_administrative(self, node: TopicNode) -> bool:
        """Return whether this is the node of $SYS/MQ, whose branch is isolated from the rest of the tree."""
        above = node.parent
        return (
            above is not None
            and above.parent is self.root
            and node.name == _ADMINISTRATIVE_LEVELS[1]
            and above.name == _ADMINISTRATIVE_LEVELS[0]
        )

    def _match_wildcards(self, topic: str) -> list[Subscription]:
        found: list[Subscription] = []
        if self.by_level.count > 0:
            self.by_level.match(levels_of(topic), found)
        if self.by_character.compiled:
            self.by_character.match(topic, found)
        return found

    def _blocked_levels(self, node: TopicNode) -> i64:
        """Return the number of levels that wildcards must not cover because of WILDCARD(BLOCK) at or above the node."""
        at: TopicNode | None = node
        while at is not None:
            settings = at.settings
            if settings is not None and settings.blocks_wildcards:
                return _depth(at)
            at = at.parent
        return 0

    def _passes_block(self, subscription: Subscription, blocked: i64) -> bool:
        if subscription.is_character_wild:
            prefix = self.by_character.compiled[subscription.identifier].prefix
            return prefix.count("/") >= blocked
        return subscription.fixed_levels >= blocked

    def is_match(self, subscription: Subscription, topic: str) -> bool:
        """Return whether a subscription matches a topic; used for retained publications."""
        if not self._settings_are_current:
            self._recompute_settings()
        if subscription.is_character_wild:
            is_one = self.by_character.compiled[subscription.identifier].matches(topic)
        elif subscription.fixed_levels >= 0:
            is_one = levels_match(pattern_levels(subscription.topic), levels_of(topic))
        elif subscription.is_character_scheme:
            return CharacterPattern(subscription.topic).plain == topic
        else:
            return subscription.topic == topic
        if not is_one or self._blocks == 0:
            return is_one
        blocked = self._blocked_levels(self.nearest(topic))
        return blocked == 0 or self._passes_block(subscription, blocked)

    # -- retained publications ---------------------------------------------------------------------------------------

    def retain(self, node: TopicNode, retained: RetainedSlot | None) -> RetainedSlot | None:
        """Set or clear the retained publication of a node; returns the previous one."""
        before = node.retained
        node.retained = retained
        change: i64 = (1 if retained is not None else 0) - (1 if before is not None else 0)
        if change != 0:
            self.retained_count += change
            at: TopicNode | None = node
            while at is not None:
                at.retained_below += change
                at = at.parent
        return before

    def forget_retained(self) -> None:
        """Clear the retained publications of all nodes."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            node.retained = None
            if node.children is not None:
                waiting.extend([each for each in node.children.values() if each.retained_below > 0])
            node.retained_below = 0
        self.retained_count = 0

    def retained_for(self, subscription: Subscription) -> list[TopicNode]:
        """Return the nodes with retained publications that match a subscription."""
        found: list[TopicNode] = []
        if self.retained_count == 0:
            return found
        start, rest = self.retained_start(subscription)
        if start is None:
            return found
        if not rest:
            if start.retained is not None:
                found.append(start)
            return found
        waiting = [start]
        while waiting:
            node = waiting.pop()
            if node.retained is not None and self.is_match(subscription, self.topic_of(node)):
                found.append(node)
            if node.children is not None:
                waiting.extend([each for each in node.children.values() if each.retained_below > 0])
        return found

    def retained_start(self, subscription: Subscription) -> tuple[TopicNode | None, bool]:
        """Return the node below which all topics of a subscription are, and whether to search its descendants."""
        if subscription.is_character_wild:
            prefix = self.by_character.compiled[subscription.identifier].prefix
            return self.find(prefix.rpartition("/")[0]) if "/" in prefix else self.root, True
        if subscription.fixed_levels < 0:
            topic = subscription.topic
            if subscription.is_character_scheme:
                topic = CharacterPattern(topic).plain
            return self.find(topic), False
        node: TopicNode | None = self.root
        for level in pattern_levels(subscription.topic)[: subscription.fixed_levels]:
            node = node.children.get(level) if node is not None and node.children is not None else None
        return node, True

    # -- removal -------------------------------------------------------------------------------------------------------

    def sweep(self, count: i64, unused_since_ms: i64) -> i64:
        """Visit `count` nodes in turn and remove those that are idle; returns the number removed."""
        gone: i64 = 0
        while count > 0 and self.readers == 0:
            count -= 1
            if self._sweep_index <= 0 or self._sweep_index >= len(self.nodes):
                self._sweep_index = len(self.nodes) - 1
                if self._sweep_index == 0:
                    return gone
            node: TopicNode | None = self.nodes[self._sweep_index]
            self._sweep_index -= 1
            while node is not None and node.parent is not None and is_idle(node, unused_since_ms):
                above = node.parent
                self._remove_node(node)
                gone += 1
                node = above
        return gone

    def release(self, node: TopicNode, now_ms: i64) -> None:
        """Remove a node no longer used, and idle ancestors, if the tree is above `nodes_kept`.

        Publishing to ever new topics must not fill the memory, not even while a reader iterates: above twice
        `nodes_kept` nodes are removed nevertheless, and the reader misses idle ones.
        """
        at: TopicNode | None = node
        while len(self.nodes) > (self.nodes_kept if self.readers == 0 else 2 * self.nodes_kept):
            if at is None or at.parent is None or not is_idle(at, now_ms):
                return
            above = at.parent
            self._remove_node(at)
            at = above

    def _remove_node(self, node: TopicNode) -> None:
        parent = node.parent
        assert parent is not None
        assert parent.children is not None
        del parent.children[node.name]
        if not parent.children:
            parent.children = None
        last = self.nodes.pop()
        if last is not node:
            self.nodes[node.index] = last
            last.index = node.index
        node.parent = None


def is_idle(node: TopicNode, unused_since_ms: i64) -> bool:
    """Return whether a node is unused, and has been since then."""
    return (
        node.used_ms <= unused_since_ms
        and node.children is None
        and node.subscriptions is None
        and node.definition is None
        and node.retained is None
        and node.publishers == 0
    )


def _settings_above(node: TopicNode) -> TopicSettings:
    """Return the settings of the nearest node at or above this one that has settings."""
    settings = node.settings
    while settings is None:
        parent = node.parent
        assert parent is not None, "the root has settings"
        node = parent
        settings = node.settings
    return settings


def _depth(node: TopicNode) -> int:
    depth = 0
    while node.parent is not None:
        depth += 1
        node = node.parent
    return depth
