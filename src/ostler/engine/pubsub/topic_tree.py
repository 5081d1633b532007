"""The tree of topics: places, the objects and subscriptions at them, and which subscriptions a publication is for.

A place comes into being when somebody opens, subscribes to or defines it, and goes when nobody has needed it for a
while (`sweep`). Subscriptions without wildcards stand at their places; for the others see `topic_patterns`.
"""

from __future__ import annotations

from heapq import heapify, heappush
from typing import Final, final

from mypy_extensions import i64

from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_patterns import CharacterPatterns, LevelPatterns, levels_match, swap_remove
from ostler.engine.pubsub.topic_settings import TopicSettings
from ostler.engine.pubsub.topic_strings import CharacterPattern, fixed_levels, levels_of, pattern_levels
from ostler.model.definitions import Definition

BASE_TOPIC: Final = "SYSTEM.BASE.TOPIC"
# A definition that others are made like; it has no place.
DEFAULT_TOPIC: Final = "SYSTEM.DEFAULT.TOPIC"
DEFAULT_SUBSCRIPTION: Final = "SYSTEM.DEFAULT.SUB"
_EXPIRIES_SPARE: Final = 64
# Beyond so many places, those that nobody needs do not stay for TREELIFE.
NODES_KEPT: Final = 100_000
_NO_SUBSCRIPTIONS: Final[list[Subscription]] = []


@final
class RetainedSlot:
    """Where the retained publication of a topic lies: a slot of the queue of retained publications."""

    def __init__(self, slot: i64, seq: i64) -> None:
        self.slot: i64 = slot
        self.seq: i64 = seq


@final
class TopicNode:
    """One place. There may be a million: nothing is here that only few of them need."""

    def __init__(self, name: str, parent: TopicNode | None, index: i64) -> None:
        self.name = name
        self.parent = parent
        self.index: i64 = index  # in the list of all places
        self.children: dict[str, TopicNode] | None = None
        self.subscriptions: list[Subscription] | None = None  # without wildcards
        self.definition: Definition | None = None
        self.settings: TopicSettings | None = None  # of the object here; None where there is none
        self.retained: RetainedSlot | None = None
        self.retained_below: i64 = 0  # here and below
        self.publishers: i64 = 0  # handles that are open for output
        self.used_ms: i64 = 0


@final
class TopicTree:
    def __init__(self) -> None:
        self.nodes_kept: i64 = NODES_KEPT
        self.nodes_max: i64 = 0  # an administrator's limit; 0: none
        self.root = TopicNode("", None, 0)
        self.nodes: list[TopicNode] = [self.root]
        self.version: i64 = 0  # counts changes of subscriptions and objects, for those who keep what they found
        self.subscriptions: dict[bytes, Subscription] = {}  # by identifier
        self.by_name: dict[str, Subscription] = {}
        # All of them, for those who go through them in slices. Going down misses none that stays: what is taken away
        # is replaced by the last one.
        self.all_subscriptions: list[Subscription] = []
        self.expiries: list[tuple[int, bytes]] = []  # a heap: when, and the identifier of what may end then
        self.object_nodes: dict[str, TopicNode] = {}  # of topic objects, by the name of the object
        self.retained_count: i64 = 0
        self.readers: i64 = 0  # somebody goes through `nodes`: none is taken away meanwhile
        self.by_level = LevelPatterns()
        self.by_character = CharacterPatterns()
        self._sweep_index: i64 = 0
        self._blocks: i64 = 0  # objects with WILDCARD(BLOCK)
        self._settings_are_current = True  # settings say what definitions say
        self.root.settings = TopicSettings(None, None)

    # -- places ------------------------------------------------------------------------------------------------------

    def ensure(self, topic: str, now_ms: i64) -> TopicNode:
        """The place of a topic, made when it is not there."""
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
        """Whether an administrator's limit leaves room for the places of a topic that are not there yet."""
        if self.nodes_max == 0 or len(self.nodes) + topic.count("/") < self.nodes_max:
            return True
        missing: i64 = len(levels_of(topic)) - _depth(self.nearest(topic))
        return len(self.nodes) - 1 + missing <= self.nodes_max

    def find(self, topic: str) -> TopicNode | None:
        """The place of a topic; the root for the empty one."""
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
        """What counts at a place: what the nearest object above it says."""
        if not self._settings_are_current:
            self._recompute_settings()
        return _settings_above(node)

    def settings_of(self, topic: str) -> TopicSettings:
        """The same for a topic that may have no place, as far as there are places."""
        return self.settings_at(self.nearest(topic))

    def nearest(self, topic: str) -> TopicNode:
        """The place of a topic, or the last one there is on the way to it."""
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
        """A topic object was made or changed."""
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
        """Work out again what each object says, those above before those below. Many changes in a row are one."""
        self._settings_are_current = True
        self._blocks = 0
        by_depth: dict[int, list[TopicNode]] = {}
        for node in self.object_nodes.values():
            by_depth.setdefault(_depth(node), []).append(node)
        self.root.settings = TopicSettings(self.root.definition, None)
        for depth in sorted(by_depth):
            for node in by_depth[depth]:
                if node.parent is not None:
                    node.settings = TopicSettings(node.definition, _settings_above(node.parent))
                settings = node.settings
                if settings is not None and settings.blocks_wildcards:
                    self._blocks += 1

    # -- subscriptions -----------------------------------------------------------------------------------------------

    def add(self, subscription: Subscription, now_ms: i64) -> None:
        """Let a subscription take part from now on."""
        self.record_change(subscription)
        self.subscriptions[subscription.identifier] = subscription
        subscription.index = len(self.all_subscriptions)
        self.all_subscriptions.append(subscription)
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
        """Remember when a subscription ends. To be said again whenever that time has changed."""
        if subscription.ends_ms == 0:
            return
        if len(self.expiries) > 2 * len(self.subscriptions) + _EXPIRIES_SPARE:
            # What is gone, or ends at another time now, is not kept until its time.
            self.expiries = [
                (each.ends_ms, each.identifier) for each in self.subscriptions.values() if each.ends_ms > 0
            ]
            heapify(self.expiries)
        heappush(self.expiries, (subscription.ends_ms, subscription.identifier))

    @property
    def wildcard_count(self) -> int:
        """How many subscriptions have wildcards."""
        return self.by_level.count + len(self.by_character.compiled)

    def with_same_topic(self, subscription: Subscription) -> list[Subscription]:
        """The subscriptions with the same topic as this one, which has wildcards. Not to be changed."""
        if subscription.is_character_wild:
            return self.by_character.with_same_topic(subscription)
        return self.by_level.with_same_topic(pattern_levels(subscription.topic))

    def record_change(self, subscription: Subscription) -> None:
        """A subscription has other attributes now."""
        self.version += 1
        self.schedule_expiry(subscription)

    def subscribed_to(self, topic: str) -> list[Subscription]:
        """The subscriptions whose topic string is this one, wildcards and all. Not to be changed."""
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
        """It takes part no more. Its place was used until now."""
        self.version += 1
        subscription.is_removed = True
        if self.subscriptions.pop(subscription.identifier, None) is not None:
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
        """All subscriptions that a publication at a place is for, whatever else they ask. Not to be changed."""
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

    def _match_wildcards(self, topic: str) -> list[Subscription]:
        found: list[Subscription] = []
        if self.by_level.count > 0:
            self.by_level.match(levels_of(topic), found)
        if self.by_character.compiled:
            self.by_character.match(topic, found)
        return found

    def _blocked_levels(self, node: TopicNode) -> i64:
        """How many levels a wildcard must not stand for, because of an object with WILDCARD(BLOCK) above."""
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
        """Whether one subscription is for a topic: asked about topics with retained publications."""
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
        """Put something in the place of a topic's retained publication; what was there."""
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
        """No place has a retained publication that it knows of."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            node.retained = None
            if node.children is not None:
                waiting.extend([each for each in node.children.values() if each.retained_below > 0])
            node.retained_below = 0
        self.retained_count = 0

    def retained_for(self, subscription: Subscription) -> list[TopicNode]:
        """The places with retained publications that a subscription is for."""
        found: list[TopicNode] = []
        if self.retained_count == 0:
            return found
        start, rest = self._retained_start(subscription)
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

    def _retained_start(self, subscription: Subscription) -> tuple[TopicNode | None, bool]:
        """Where to look: the place below which all topics of a subscription are, and whether to look further down."""
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

    # -- going -------------------------------------------------------------------------------------------------------

    def sweep(self, count: i64, unused_since_ms: i64) -> i64:
        """Look at so many places, and take those away that nobody needs; how many went. 0 at the root: once round."""
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
        """Somebody is done with a place. When there are very many, it goes at once if nobody else needs it.

        Who publishes to new topics again and again does not fill the memory, not even while somebody goes through the
        tree: beyond twice the number it goes all the same, and the reader misses what was not needed.
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
    """Whether nobody needs a place, and nobody has since then."""
    return (
        node.used_ms <= unused_since_ms
        and node.children is None
        and node.subscriptions is None
        and node.definition is None
        and node.retained is None
        and node.publishers == 0
    )


def _settings_above(node: TopicNode) -> TopicSettings:
    """The settings at a place or, where it has none, at the nearest one above that has."""
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
