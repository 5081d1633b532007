"""Indexes of wildcard subscriptions, so that a topic finds its matches without scanning all of them.

Level wildcards (`#`, `+`) are kept in a tree that is walked level by level with all reachable nodes at once: the cost
of a match depends on the levels of the topic and the reachable nodes. Once the second `#` of a pattern is reached, the
first no longer matters, so several `#` in a pattern cost no more than one. Character wildcards (`*`, `?`) are indexed
by the characters before the first wildcard.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_strings import MANY, ONE, CharacterPattern
from ostler.engine.selectors.like import ANY_ONE, ANY_RUN, LikePattern

_NO_SUBSCRIPTIONS: Final[list[Subscription]] = []


@final
class PatternNode:
    """A node of the tree of level patterns."""

    def __init__(self, is_many: bool) -> None:
        self.is_many = is_many  # this node is a `#`: it stays reachable whatever level follows
        self.children: dict[str, PatternNode] = {}
        self.one: PatternNode | None = None
        self.many: PatternNode | None = None
        self.subscriptions: list[Subscription] = []
        self.seen: i64 = 0  # the last step that reached it
        # The next `#` on every path below. Once it is reached, this node cannot add matches.
        self.gate: PatternNode | None = None

    def below(self, level: str) -> PatternNode | None:
        """Return the node behind a level of a pattern."""
        if level == MANY:
            return self.many
        return self.one if level == ONE else self.children.get(level)

    def find_gate(self) -> None:
        """Recompute the gate; the gates of the children must be current."""
        self.gate = None
        branches = len(self.children) + (1 if self.one is not None else 0) + (1 if self.many is not None else 0)
        if self.subscriptions or branches != 1:
            return
        if self.many is not None:
            self.gate = self.many
        elif self.one is not None:
            self.gate = self.one.gate
        else:
            for below in self.children.values():
                self.gate = below.gate


@final
class LevelPatterns:
    def __init__(self) -> None:
        self.count: i64 = 0  # number of subscriptions
        self._root = PatternNode(False)
        self._steps: i64 = 0

    def add(self, levels: list[str], subscription: Subscription) -> None:
        self.count += 1
        node = self._root
        path = [node]
        for level in levels:
            below = node.below(level)
            if below is None:
                below = PatternNode(level == MANY)
                if level == MANY:
                    node.many = below
                elif level == ONE:
                    node.one = below
                else:
                    node.children[level] = below
            node = below
            path.append(node)
        node.subscriptions.append(subscription)
        _find_gates(path)

    def remove(self, levels: list[str], subscription: Subscription) -> None:
        """Remove a subscription, and nodes that are not needed any more."""
        self.count -= 1
        path = [self._root]
        for level in levels:
            below = path[-1].below(level)
            assert below is not None, "it was added with these levels"
            path.append(below)
        swap_remove(path[-1].subscriptions, subscription)
        at = len(levels)
        while at > 0:
            node = path[at]
            if node.subscriptions or node.children or node.one is not None or node.many is not None:
                break
            level = levels[at - 1]
            above = path[at - 1]
            if level == MANY:
                above.many = None
            elif level == ONE:
                above.one = None
            else:
                del above.children[level]
            at -= 1
        _find_gates(path[: at + 1])

    def with_same_topic(self, levels: list[str]) -> list[Subscription]:
        """Return the subscriptions with exactly these pattern levels. Not to be modified."""
        node: PatternNode | None = self._root
        for level in levels:
            if node is None:
                return _NO_SUBSCRIPTIONS
            node = node.below(level)
        return node.subscriptions if node is not None else _NO_SUBSCRIPTIONS

    def has_branch(self, levels: list[str]) -> bool:
        """Return whether patterns begin with these levels, without wildcards."""
        node: PatternNode | None = self._root
        for level in levels:
            node = node.children.get(level) if node is not None else None
        return node is not None

    def match(self, levels: list[str], found: list[Subscription]) -> None:
        """Add the subscriptions that match a topic with these levels to `found`."""
        self._steps += 1
        started: i64 = self._steps
        positions: list[PatternNode] = []
        self._reach(self._root, positions)
        for level in levels:
            self._steps += 1
            following: list[PatternNode] = []
            for node in positions:
                gate = node.gate
                if gate is not None and gate.seen >= started:
                    continue
                if node.is_many:
                    self._reach(node, following)
                below = node.children.get(level)
                if below is not None:
                    self._reach(below, following)
                if node.one is not None:
                    self._reach(node.one, following)
            positions = following
        for node in positions:
            found.extend(node.subscriptions)

    def _reach(self, node: PatternNode | None, positions: list[PatternNode]) -> None:
        """Add a node, and the nodes that a `#` for zero levels leads to, each once per step."""
        while node is not None and node.seen != self._steps:
            node.seen = self._steps
            positions.append(node)
            node = node.many

    def node_count(self) -> int:
        """Return the number of nodes without the root."""
        count = -1
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            count += 1
            waiting.extend(node.children.values())
            if node.one is not None:
                waiting.append(node.one)
            if node.many is not None:
                waiting.append(node.many)
        return count


@final
class CharacterPatterns:
    def __init__(self) -> None:
        self.compiled: dict[bytes, CharacterPattern] = {}  # by the identifier of the subscription
        self._by_prefix: dict[str, list[Subscription]] = {}
        self._lengths: dict[int, int] = {}  # number of prefixes by length

    def add(self, subscription: Subscription, pattern: CharacterPattern) -> None:
        self.compiled[subscription.identifier] = pattern
        prefix = pattern.prefix
        known = self._by_prefix.get(prefix)
        if known is None:
            self._by_prefix[prefix] = [subscription]
            self._lengths[len(prefix)] = self._lengths.get(len(prefix), 0) + 1
        else:
            known.append(subscription)

    def remove(self, subscription: Subscription) -> None:
        prefix = self.compiled.pop(subscription.identifier).prefix
        known = self._by_prefix[prefix]
        swap_remove(known, subscription)
        if known:
            return
        del self._by_prefix[prefix]
        self._lengths[len(prefix)] -= 1
        if self._lengths[len(prefix)] == 0:
            del self._lengths[len(prefix)]

    def with_same_topic(self, subscription: Subscription) -> list[Subscription]:
        """Return the subscriptions with the same topic as this one."""
        near = self._by_prefix[self.compiled[subscription.identifier].prefix]
        return [each for each in near if each.topic == subscription.topic]

    def match(self, topic: str, found: list[Subscription]) -> None:
        """Add the subscriptions that match a topic to `found`."""
        for length in self._lengths:
            if length <= len(topic):
                near = self._by_prefix.get(topic[:length], _NO_SUBSCRIPTIONS)
                found.extend([each for each in near if self.compiled[each.identifier].matches(topic)])

    def entry_count(self) -> int:
        """Return the number of index entries."""
        return len(self.compiled) + len(self._by_prefix) + len(self._lengths)


def _find_gates(path: list[PatternNode]) -> None:
    at = len(path) - 1
    while at >= 0:
        path[at].find_gate()
        at -= 1


def levels_match(pattern: list[str], levels: list[str]) -> bool:
    """Return whether a pattern of levels matches a topic. Levels are matched as characters by the matcher of LIKE."""
    numbers: dict[str, int] = {}
    codes: list[int] = []
    for level in pattern:
        if level == MANY:
            codes.append(ANY_RUN)
        elif level == ONE:
            codes.append(ANY_ONE)
        else:
            codes.append(numbers.setdefault(level, len(numbers) + 1))
    return LikePattern(codes).matches("".join([chr(numbers.get(level, 0)) for level in levels]))


def swap_remove(subscriptions: list[Subscription], subscription: Subscription) -> None:
    """Remove a subscription by moving the last one into its position: constant time, order is not kept."""
    for at in range(len(subscriptions)):
        if subscriptions[at] is subscription:
            last = subscriptions.pop()
            if last is not subscription:
                subscriptions[at] = last
            return
