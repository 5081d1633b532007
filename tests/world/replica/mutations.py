"""Sides that break one rule of replication. The simulated world must find each of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ostler.model.arbiter import ArbiterView, InSyncSet
from ostler.replica.follower_side import FollowerSide
from ostler.replica.leader_side import LeaderSide
from ostler.replica.membership import Rule, lsn_on_copies
from ostler.replica.standby import Standby
from ostler.wire.replica_frames import LogAck, ReplicaFrame

ACKNOWLEDGE_BEFORE_FORCE = "acknowledge before force"
SHRINK_AFTER_ACKNOWLEDGING = "shrink after acknowledging"
APPLY_BEYOND_GROUP = "apply beyond the group LSN"
CANDIDATE_OUTSIDE_SET = "candidate outside the set"
NO_TERM_CHECK = "no term check"
CLOCK_FOR_SAFETY = "clock for safety"
BASE_WITH_ONE_LSN = "base with one LSN for all queues"
# Of a recovery group (`two_sites`).
ACKNOWLEDGE_FOR_ONE = "acknowledge to the live site what one copy has"
APPLY_FOR_THE_SITE = "apply what the live site has, whatever the copies have"

ALL = (
    ACKNOWLEDGE_BEFORE_FORCE,
    SHRINK_AFTER_ACKNOWLEDGING,
    APPLY_BEYOND_GROUP,
    CANDIDATE_OUTSIDE_SET,
    NO_TERM_CHECK,
    CLOCK_FOR_SAFETY,
    BASE_WITH_ONE_LSN,
)


class ForceForgetting(FollowerSide):
    """Acknowledges what it has received, and forces it some time later."""

    calls = 0

    def force(self) -> list[ReplicaFrame]:
        self.calls += 1
        if self.calls % 6 == 0:
            return super().force()
        log = self.standby.log
        if self.term == 0 or not self.may_hear(self.term):
            return []
        return [LogAck(self.term, log.epoch(), log.received_position, log.received_position, 0)]


class TermIgnoring(FollowerSide):
    """Hears every leader, whatever it has promised."""

    def may_hear(self, term: int) -> bool:
        return True

    def promise(self, term: int) -> None:
        """Note the promise, as an election needs it, and go on with the link to the old leader."""
        self.standby.log.force()
        self.standby.life_begins()
        self.standby.log.promise(term)


class ApplyingBeyondGroup(Standby):
    def apply_limit(self) -> int:
        return int(self.log.position())


class ShrinkingLate(LeaderSide):
    """Counts only those who answer, before the arbiter has noted that the others are out."""

    clock: Callable[[], float]
    timeout_seconds = 1.0

    def group_lsn(self) -> int:
        if not hasattr(self, "clock"):
            return int(super().group_lsn())
        present = self.answering(self.clock(), self.timeout_seconds) | {self.membership.instance}
        members = tuple(each for each in self.membership.rule.members if each in present)
        rule = Rule(members, min(self.membership.rule.copies, len(members)))
        return max(int(super().group_lsn()), min(lsn_on_copies(rule, self.membership.forced), self.forced_lsn()))


class ClockTrusting(LeaderSide):
    """Answers alone while its lease should run."""

    has_lease: Callable[[], bool]

    def group_lsn(self) -> int:
        if hasattr(self, "has_lease") and self.has_lease():
            return int(self.forced_lsn())
        return int(super().group_lsn())


def with_everybody_in_sync(view: ArbiterView, instance: str) -> ArbiterView:
    """The view of a candidate that thinks itself in sync whatever the arbiter says."""
    if view.in_sync is None or instance in view.in_sync.members:
        return view
    alone = InSyncSet(view.in_sync.version, view.in_sync.term, (instance,), 1)
    return dataclasses.replace(view, in_sync=alone, marks={})
