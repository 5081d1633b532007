"""Watchers of a queue: the members that are told when it has something.

Members with waiting gets are told one at a time, in turn, and the next one only if the queue is still not empty when
WAKE_MS have passed: otherwise every message would wake a hundred members for one that gets it. Watches for one
identifier are told at once and end with it.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.model.coupling import terms as cf


@final
class IdWatches:
    """Watches for one kind of identifier: the numbers of the members that wait for each."""

    def __init__(self) -> None:
        self.members: dict[bytes, list[int]] = {}

    def add(self, id: bytes, member: int) -> bool:
        """Return False if the member watches for it already."""
        waiting = self.members.get(id)
        if waiting is None:
            self.members[id] = [member]
            return True
        if member in waiting:
            return False
        waiting.append(member)
        return True

    def remove(self, id: bytes, member: int) -> bool:
        waiting = self.members.get(id)
        if waiting is None or member not in waiting:
            return False
        waiting.remove(member)
        if not waiting:
            del self.members[id]
        return True

    def remove_member(self, member: int) -> i64:
        """Return how many watches went."""
        watched = [each for each, waiting in self.members.items() if member in waiting]
        for each in watched:
            self.remove(each, member)
        return len(watched)

    def take(self, id: bytes) -> list[int] | None:
        """End all watches for an identifier, and return their members."""
        return self.members.pop(id, None)


@final
class Watchers:
    """The watchers of one queue."""

    def __init__(self) -> None:
        self.waiters: list[int] = []
        self.triggers: list[int] = []
        self.message_ids = IdWatches()
        self.correlation_ids = IdWatches()
        self.both_ids = IdWatches()
        self.group_ids = IdWatches()
        self.id_count: i64 = 0
        self.untold: i64 = 0
        """Waiters that were not told since the queue got something."""
        self.due_ms: i64 = 0
        """When the next one is told; 0: nobody was told of what is there."""
        self._turn: i64 = 0

    def ids(self, match: i64) -> IdWatches:
        if match == cf.MSG_ID:
            return self.message_ids
        if match == cf.CORREL_ID:
            return self.correlation_ids
        return self.both_ids if match == cf.MSG_AND_CORREL_ID else self.group_ids

    def next_waiter(self) -> int:
        """Return the member whose turn it is; there is one."""
        if self._turn >= len(self.waiters):
            self._turn = 0
        member = self.waiters[self._turn]
        self._turn += 1
        self.untold -= 1
        return member

    def remove_member(self, member: int) -> i64:
        """End all watches of a member. Returns how many of those for identifiers went."""
        if member in self.waiters:
            self.waiters.remove(member)
        if member in self.triggers:
            self.triggers.remove(member)
        if self.untold > len(self.waiters):
            self.untold = len(self.waiters)
        went: i64 = 0
        if self.id_count:
            for match in (cf.MSG_ID, cf.CORREL_ID, cf.MSG_AND_CORREL_ID, cf.GROUP_ID):
                went += self.ids(match).remove_member(member)
            self.id_count -= went
        return went

    def is_idle(self) -> bool:
        return not self.waiters and not self.triggers and self.id_count == 0
