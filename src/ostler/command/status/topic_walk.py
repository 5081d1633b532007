"""Walks the topic tree in slices: the nodes that match a topic string with wildcards, parents first.

The memory of a walk depends on the depth of the tree, not on its size, and only matching branches are visited.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from ostler.engine.core import Engine
from ostler.engine.pubsub.topic_strings import ADMINISTRATIVE, MANY, ONE, fixed_levels, levels_of, pattern_levels
from ostler.engine.pubsub.topic_tree import TopicNode

# A display that is read more slowly no longer prevents the removal of unused nodes.
_HOLD_MS: Final = 60_000

NodeAndTopic = tuple[TopicNode, str]
"""A node and its topic string."""
Positions = tuple[int, ...]
"""The possible positions in a pattern after some levels; the position after its last level is a match."""


class TopicPattern:
    """A topic string with level wildcards, matched level by level (an NFA). The empty one matches the root."""

    def __init__(self, text: str) -> None:
        self.levels: Final = pattern_levels(text) if text else []
        self.start: Final = self._closure({0})
        self._known: Final[dict[tuple[Positions, str], Positions]] = {}
        self._words: Final = {level for level in self.levels if level not in (MANY, ONE)}
        # Wildcards above $SYS/MQ match nothing in that branch.
        self.is_from_above: Final = 0 <= fixed_levels(self.levels) < len(levels_of(ADMINISTRATIVE))

    @property
    def is_wild(self) -> bool:
        return len(self._words) < len(set(self.levels))

    def is_match(self, positions: Positions) -> bool:
        return bool(positions) and positions[-1] == len(self.levels)

    def after(self, positions: Positions, level: str) -> Positions:
        """Returns the positions after one more level; empty if it does not match."""
        # All levels that the pattern does not name share one cache entry.
        key = (positions, level if level in self._words else MANY)
        known = self._known.get(key)
        if known is None:
            following: set[int] = set()
            for at in positions:
                wanted = self.levels[at] if at < len(self.levels) else ""
                if wanted == MANY:
                    following.add(at)
                elif at < len(self.levels) and wanted in (ONE, level):
                    following.add(at + 1)
            known = self._known[key] = self._closure(following)
        return known

    def _closure(self, positions: set[int]) -> Positions:
        """Adds the positions after each `#`, which may match no level."""
        found = set(positions)
        for at in positions:
            while at < len(self.levels) and self.levels[at] == MANY:
                at += 1
                found.add(at)
        return tuple(sorted(found))

    def words_after(self, positions: Positions) -> list[str] | None:
        """Returns the only levels that can match next; None if a wildcard can."""
        words = [self.levels[at] for at in positions if at < len(self.levels)]
        return None if MANY in words or ONE in words else words

    def matches(self, topic: str) -> bool:
        positions = self.start
        for level in levels_of(topic) if topic else []:
            positions = self.after(positions, level)
        return self.is_match(positions)


class _Branch:
    """The children of a node, and the next one to visit."""

    def __init__(self, children: dict[str, TopicNode], prefix: str, positions: Positions, words: list[str] | None):
        self._children = children
        self.prefix = prefix
        self.positions = positions
        self._words = words
        self._seen = 0
        self._rest: Iterator[TopicNode] = iter(()) if words is not None else iter(children.values())

    def next_child(self) -> TopicNode | None:
        """Returns the next child; None after the last."""
        while self._words:
            child = self._children.get(self._words.pop())
            if child is not None:
                return child
        try:
            child = next(self._rest, None)
        except RuntimeError:
            # Children were added meanwhile, after the existing ones.
            self._rest = islice(self._children.values(), self._seen, None)
            child = next(self._rest, None)
        self._seen += 1
        return child


class TopicWalk:
    """A walk over matching nodes. All methods need the engine's lock; `end` must be called in any case."""

    def __init__(self, pattern: TopicPattern) -> None:
        self._pattern = pattern
        self._branches: list[_Branch] = []
        self._is_begun = False
        self._holds = False
        self._began_ms = 0

    @property
    def is_done(self) -> bool:
        return self._is_begun and not self._branches

    def step(self, engine: Engine, count: int) -> list[NodeAndTopic]:
        """Visits `count` nodes; returns those that match."""
        found: list[NodeAndTopic] = []
        if not self._is_begun:
            self._begin(engine, found)
        elif self._holds and engine.now_ms - self._began_ms > _HOLD_MS:
            self.end(engine)
        pattern = self._pattern
        branches = self._branches
        while branches and count > 0:
            count -= 1
            branch = branches[-1]
            node = branch.next_child()
            if node is None:
                branches.pop()
                continue
            positions = pattern.after(branch.positions, node.name)
            if positions and not (pattern.is_from_above and engine.topics.is_administrative(node)):
                topic = branch.prefix + node.name
                if pattern.is_match(positions):
                    found.append((node, topic))
                if node.children:
                    self._descend(node.children, topic + "/", positions)
        return found

    def _begin(self, engine: Engine, found: list[NodeAndTopic]) -> None:
        self._is_begun = True
        engine.topics.readers += 1
        self._holds = True
        self._began_ms = engine.now_ms
        root = engine.topics.root
        positions = self._pattern.start
        if self._pattern.is_match(positions):
            found.append((root, ""))
        if root.children:
            self._descend(root.children, "", positions)

    def _descend(self, children: dict[str, TopicNode], prefix: str, positions: Positions) -> None:
        words = self._pattern.words_after(positions)
        if words is None or words:
            self._branches.append(_Branch(children, prefix, positions, words))

    def end(self, engine: Engine) -> None:
        """Allows the removal of unused nodes again."""
        if self._holds:
            self._holds = False
            engine.topics.readers -= 1
