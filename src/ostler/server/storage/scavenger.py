"""Taking away what nobody needs any more of publish/subscribe: topics without users, subscriptions past their time.

The tree is looked through in rounds. A round is made of slices that hold the engine for a fraction of a millisecond,
with a breath behind each, so that a tree of a million topics is tidied without anybody feeling it.
"""

from __future__ import annotations

import threading
import time

from ostler.engine.pubsub.end_subscription import end_expired
from ostler.server.manager_core import ManagerCore

_PLACES_AT_ONCE = 256
_ENDS_AT_ONCE = 16
_BREATH_SECONDS = 0.001
_MANY_PLACES = 50_000
# Housekeeping has other things to do: a round goes on at its next pass.
_TURN_SECONDS = 0.1
# Rounds come often enough that a topic goes soon after its time, and seldom enough to cost next to nothing.
_ROUND_SECONDS_MIN = 1.0
_ROUND_SECONDS_MAX = 60.0
_ROUNDS_IN_LIFE = 10


class Scavenger:
    def __init__(self, manager: ManagerCore, stop: threading.Event) -> None:
        self._manager = manager
        self._stop = stop
        self._left = 0  # places to look at in this round
        self._round_ended = 0.0
        self.rounds = 0
        self.removed = 0
        self._removed_told = 0

    def turn(self) -> None:
        """A part of the work, never longer than a fraction of a second."""
        self._end_subscriptions()
        life_seconds = self._manager.engine.manager.attributes.get("TREELIFE", 0)
        if not isinstance(life_seconds, int) or life_seconds <= 0:
            self._left = 0
            return
        began = time.monotonic()
        if self._left <= 0:
            if began - self._round_ended < _round_seconds(life_seconds):
                return
            self._left = len(self._manager.engine.topics.nodes)
        while self._left > 0 and not self._stop.is_set():
            if not self._slice(life_seconds):
                return  # somebody reads the tree
            if time.monotonic() - began > _TURN_SECONDS:
                break
            time.sleep(_BREATH_SECONDS)
        if self._left <= 0:
            self._round_ended = time.monotonic()
            self.rounds += 1

    def _slice(self, life_seconds: int) -> bool:
        manager = self._manager
        with manager.lock:
            topics = manager.engine.topics
            if topics.readers > 0:
                return False
            if len(topics.nodes) > topics.nodes_kept:
                life_seconds = 0  # there are so many that those not needed do not stay
            manager.clock.update(manager.engine)
            self.removed += topics.sweep(_PLACES_AT_ONCE, int(manager.engine.now_ms) - life_seconds * 1000)
        self._left -= _PLACES_AT_ONCE
        return True

    def has_freed_much(self) -> bool:
        """Whether so many places went that their memory is worth giving back to the system. True once for each time."""
        if self.removed - self._removed_told < _MANY_PLACES:
            return False
        self._removed_told = self.removed
        return True

    def _end_subscriptions(self) -> None:
        manager = self._manager
        ended = _ENDS_AT_ONCE
        while ended == _ENDS_AT_ONCE and not self._stop.is_set():
            with manager.lock:
                manager.clock.update(manager.engine)
                ended = end_expired(manager.engine, _ENDS_AT_ONCE)
                manager.wake()
                lsn = manager.log.end_lsn()
            if ended and lsn > manager.log.durable_lsn():
                manager.writer.wait_durable_throttled(lsn)


def _round_seconds(life_seconds: int) -> float:
    return min(_ROUND_SECONDS_MAX, max(_ROUND_SECONDS_MIN, life_seconds / _ROUNDS_IN_LIFE))
