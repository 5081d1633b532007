"""The in-sync set as its leader sees it: how many copies a reply needs, who leaves, who enters.

A *rule* is a set of members with a number of copies. The one in force stands at the arbiter.

Invariant: *for every rule that may be in force, each acknowledged LSN is forced on `copies` members of it*.

An election sees the ends of `ends_needed` = |members| - copies + 1 members of the rule in force. That many members and
`copies` others are more than there are, so at least one of those seen has each acknowledged LSN.

Changes keep the invariant in both directions ("out before less, in before more"):

    state              rules that may be in force    a reply needs
    steady             old                           old
    waits for one      old                           both, so that it can catch up with what is acknowledged
    change sent        old, new                      both; and before it is sent, new has all that was acknowledged
    answer lost        old, new                      both, until a version above the compared one was seen
    change confirmed   new                           new

So a member that leaves still counts until the arbiter has noted it, and one that enters is waited for before it is
noted. "All that was acknowledged" includes the whole log the leader began with: an earlier leader may have acknowledged
any of it. A member counts in this life only: what it has forced is told by itself, after it adopted the life, which it
does when its log has reached the start of it. Without that, a copy of old blocks would be taken for acknowledged and
lose an election against a longer life (the case of figure 8 in the paper on Raft).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ostler.model.arbiter import InSyncSet


@final
@dataclass(frozen=True)
class Rule:
    """Elections count these members; `copies` of them have each acknowledged LSN."""

    members: tuple[str, ...]
    copies: int


@final
@dataclass(frozen=True)
class CopiesPolicy:
    """`wanted` copies, fewer if there are fewer members, but never fewer than `least`: then replies are held.

    A pair has wanted 2, least 1: one goes on alone once the arbiter has noted that the other is out. Three instances
    have 2 and 2: the last of three holds its replies, as a quorum would.
    """

    wanted: int
    least: int

    def copies_for(self, members: int) -> int:
        """Return the copies of a rule with so many members; 0: no such rule is allowed."""
        copies = min(self.wanted, members)
        return copies if copies >= self.least else 0


@final
@dataclass(frozen=True)
class Plan:
    """The next change to ask the arbiter for, or none; and a sentence that says why."""

    rule: Rule | None
    reason: str


def default_policy(instances: int) -> CopiesPolicy:
    """Return the policy for so many configured instances."""
    if instances <= 1:
        return CopiesPolicy(1, 1)
    return CopiesPolicy(2, 1) if instances == 2 else CopiesPolicy(instances // 2 + 1, instances // 2 + 1)


def ends_needed(rule: Rule) -> int:
    """Return how many members an election must have heard of, the candidate included."""
    return len(rule.members) - rule.copies + 1


def lsn_on_copies(rule: Rule, forced: dict[str, int]) -> int:
    """Return the highest LSN that `copies` members of the rule have forced; 0 if not so many have told one."""
    told = sorted([forced[each] for each in rule.members if each in forced], reverse=True)
    return told[rule.copies - 1] if len(told) >= rule.copies else 0


def rule_of(in_sync: InSyncSet) -> Rule:
    return Rule(in_sync.members, in_sync.copies)


@final
class LeaderMembership:
    """The rules and the forced LSNs that the leader of one term knows."""

    def __init__(self, instance: str, term: int, in_sync: InSyncSet, end_lsn: int, policy: CopiesPolicy) -> None:
        """`in_sync` is the set that the election was judged by, `end_lsn` the start of this leader's life."""
        self.instance = instance
        self.term = term
        self.policy = policy
        self.version = in_sync.version
        self.rule = rule_of(in_sync)
        self.asked: Rule | None = None
        """A change that was sent and is neither confirmed nor impossible."""
        self.awaited: Rule | None = None
        """A rule that replies wait for already, so that its members have all that was acknowledged when it is sent."""
        self.life_start_lsn = end_lsn
        self.forced: dict[str, int] = {instance: end_lsn}
        self._group_lsn = 0

    # What members have forced

    def acknowledged(self, instance: str, forced_lsn: int) -> None:
        """Note what a member has forced in this life. Below the start of the life it does not count."""
        if forced_lsn < self.life_start_lsn:
            return
        if forced_lsn > self.forced.get(instance, 0):
            self.forced[instance] = forced_lsn

    def life_begins(self, position: int) -> None:
        """Of a recovery group: its log goes on at a position, in another life of the live site.

        What members have forced behind that is void, so all of them tell it again. What enough of them had before it
        stays acknowledged.
        """
        self._group_lsn = min(self.group_lsn(), position)
        self.life_start_lsn = position
        self.forced = {self.instance: position}
        self.awaited = None

    def connected(self, instance: str) -> None:
        """Forget what a member has told before: it says it again. Its disk may be another one."""
        if instance != self.instance:
            self.forced.pop(instance, None)

    def group_lsn(self) -> int:
        """Return the LSN up to which replies may be sent; 0 before enough members are in this life. It never falls."""
        lsn = lsn_on_copies(self.rule, self.forced)
        if self.asked is not None:
            lsn = min(lsn, lsn_on_copies(self.asked, self.forced))
        if self.awaited is not None:
            lsn = min(lsn, lsn_on_copies(self.awaited, self.forced))
        if lsn > self._group_lsn:
            self._group_lsn = lsn
        return self._group_lsn

    def secured_lsn(self) -> int:
        """Return the LSN that no change may endanger: whatever this leader or an earlier one may have acknowledged."""
        return max(self.life_start_lsn, self.group_lsn())

    def needed_from(self) -> tuple[str, ...]:
        """Return the members of all rules that may be in force, without the leader: their links are worth watching."""
        others = set(self.rule.members)
        if self.asked is not None:
            others.update(self.asked.members)
        others.discard(self.instance)
        return tuple(sorted(others))

    def can_acknowledge(self, answering: set[str]) -> bool:
        """Return True if the leader with those who answer in its term are enough copies for a reply."""
        present = set(answering)
        present.add(self.instance)
        if len(present.intersection(self.rule.members)) < self.rule.copies:
            return False
        return self.asked is None or len(present.intersection(self.asked.members)) >= self.asked.copies

    # Changes of the set

    def may_change_to(self, rule: Rule) -> str:
        """Return why the arbiter may not be asked for this rule; empty: it may be."""
        if self.asked is not None and rule != self.asked:
            return "another change is not settled"
        if self.instance not in rule.members:
            return "the leader is a member of every set"
        if not 1 <= rule.copies <= len(rule.members):
            return f"{rule.copies} copies cannot be on {len(rule.members)} instances"
        if lsn_on_copies(rule, self.forced) < self.secured_lsn():
            return f"{rule.copies} of {', '.join(rule.members)} do not have all that may have been acknowledged"
        return ""

    def change_sent(self, rule: Rule) -> None:
        """Call before the request goes out: from now on both rules count."""
        reason = self.may_change_to(rule)
        assert not reason, reason
        self.asked = rule
        self.awaited = None

    def wait_for(self, near: set[str]) -> None:
        """Let replies wait for members that have nearly caught up. Without them nobody is waited for but the members.

        One that is behind by what comes in a moment would never enter a set in which replies do not wait for it.
        """
        self.awaited = None
        entering = {each for each in near if each not in self.rule.members}
        members = tuple(sorted(entering.union(self.rule.members)))
        copies = self.policy.copies_for(len(members))
        if entering and copies > 0 and self.asked is None:
            self.awaited = Rule(members, copies)

    def change_confirmed(self, version: int) -> None:
        """Note that the arbiter has stored the change and returned its version."""
        assert self.asked is not None
        assert version > self.version, (version, self.version)
        self.rule = self.asked
        self.asked = None
        self.version = version

    def set_seen(self, in_sync: InSyncSet) -> None:
        """Note a set read from the arbiter while this leader's term leads there.

        It settles a change whose answer was lost, if its version is above the compared one. The same version settles
        nothing: the request may still arrive. Repeat it.
        """
        if in_sync.version > self.version and in_sync.term == self.term:
            self.rule = rule_of(in_sync)
            self.asked = None
            self.version = in_sync.version

    def term_renewed(self, term: int, in_sync: InSyncSet) -> None:
        """Note that this leader has taken the key again, judged by `in_sync`: no request of the old term counts now."""
        assert term > self.term, (term, self.term)
        self.term = term
        self.rule = rule_of(in_sync)
        self.asked = None
        self.version = in_sync.version

    def plan(self, answering: set[str]) -> Plan:
        """Return the change that follows from who answers.

        A member answers if its link is up in this term and it acknowledged in time what it was sent.
        """
        if self.asked is not None:
            return Plan(self.asked, "the last change is not settled and is asked for again")
        secured = self.secured_lsn()
        staying = [each for each in self.rule.members if each == self.instance or each in answering]
        entering = [
            each
            for each in sorted(answering)
            if each not in self.rule.members and each != self.instance and self.forced.get(each, 0) >= secured
        ]
        members = tuple(sorted(staying + entering))
        copies = self.policy.copies_for(len(members))
        if copies == 0:
            return Plan(None, f"only {', '.join(members)} would be left, less than {self.policy.least} copies")
        rule = Rule(members, copies)
        if copies == self.rule.copies and set(members) == set(self.rule.members):
            return Plan(None, "the set is as it should be")
        reason = self.may_change_to(rule)
        if reason:
            return Plan(None, f"waits: {reason}")
        return Plan(rule, _describe_change(self.rule, rule))


def _describe_change(old: Rule, new: Rule) -> str:
    parts = []
    out = [each for each in old.members if each not in new.members]
    into = [each for each in new.members if each not in old.members]
    if out:
        parts.append(f"{', '.join(out)} does not answer and leaves")
    if into:
        parts.append(f"{', '.join(into)} has caught up and enters")
    if new.copies != old.copies:
        parts.append(f"replies need {new.copies} copies, not {old.copies}")
    return "; ".join(parts)
