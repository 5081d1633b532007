"""Removes topic nodes that nothing uses (TREELIFE) and subscriptions that have expired (SUBEXPIRY).

The topic tree is scanned in rounds. A round consists of slices that hold the engine's lock for a fraction of a
millisecond, with a pause after each, so that a scan of a million topics does not delay applications.
"""

from __future__ import annotations

import threading

from ostler.engine.pubsub.end_subscription import end_expired
from ostler.server.manager_core import ManagerCore

_NODES_AT_ONCE = 256
_SUBSCRIPTIONS_AT_ONCE = 16
_PAUSE_SECONDS = 0.001
_MANY_NODES = 50_000
# Housekeeping has other duties: a round continues in its next pass.
_WORK_SECONDS = 0.1
# Rounds are frequent enough that a topic is removed soon after its time, and rare enough to cost next to nothing.
_ROUND_SECONDS_MIN = 1.0
_ROUND_SECONDS_MAX = 60.0
_ROUNDS_PER_LIFE = 10


class Scavenger:
    def __init__(self, manager: ManagerCore, stop: threading.Event) -> None:
        self._manager = manager
        self._stop = stop
        self._left = 0  # nodes still to be scanned in this round
        self._round_ended = 0.0
        self.rounds = 0
        self.removed = 0
        self._removed_reported = 0

    def work(self) -> None:
        """Do a share of the work, for a fraction of a second at most."""
        self._end_subscriptions()
        life_seconds = self._manager.engine.manager.attributes.get("TREELIFE", 0)
        if not isinstance(life_seconds, int) or life_seconds <= 0:
            self._left = 0
            return
        began = self._manager.machine.monotonic()
        if self._left <= 0:
            if began - self._round_ended < _round_seconds(life_seconds):
                return
            self._left = len(self._manager.engine.topics.nodes)
        while self._left > 0 and not self._stop.is_set():
            if not self._slice(life_seconds):
                return  # another thread reads the tree
            if self._manager.machine.monotonic() - began > _WORK_SECONDS:
                break
            self._manager.machine.sleep(_PAUSE_SECONDS)
        if self._left <= 0:
            self._round_ended = self._manager.machine.monotonic()
            self.rounds += 1

    def _slice(self, life_seconds: int) -> bool:
        manager = self._manager
        with manager.turn:
            topics = manager.engine.topics
            if topics.readers > 0:
                return False
            if len(topics.nodes) > topics.nodes_kept:
                life_seconds = 0  # above the limit, unused nodes are removed at once
            self.removed += topics.sweep(_NODES_AT_ONCE, int(manager.engine.now_ms) - life_seconds * 1000)
        self._left -= _NODES_AT_ONCE
        return True

    def has_freed_much(self) -> bool:
        """Return True, once, when so many nodes were removed that their memory is worth returning to the system."""
        if self.removed - self._removed_reported < _MANY_NODES:
            return False
        self._removed_reported = self.removed
        return True

    def _end_subscriptions(self) -> None:
        manager = self._manager
        ended = _SUBSCRIPTIONS_AT_ONCE
        while ended == _SUBSCRIPTIONS_AT_ONCE and not self._stop.is_set():
            with manager.turn:
                ended = end_expired(manager.engine, _SUBSCRIPTIONS_AT_ONCE)
                lsn = manager.log.end_lsn()
            if ended and lsn > manager.log.durable_lsn():
                manager.writer.wait_durable_throttled(lsn)


def _round_seconds(life_seconds: int) -> float:
    return min(_ROUND_SECONDS_MAX, max(_ROUND_SECONDS_MIN, life_seconds / _ROUNDS_PER_LIFE))
