"""Two sites of one queue manager: what each does, and whether their logs have parted. No sockets, threads, clock.

A site is a group of instances, or one instance alone. One site works and sends its log; the other receives it and can
be told to work. Both say in REPLICA_HELLO, with purpose DR, what they do and how their log came about.

    this site     the other       means
    works         receives        normal, if the log of the receiver is a beginning of the other one, or ends in a tail
                                  that nobody was told of: such a tail is dropped
    works         works           partitioned; one that has not begun yet does not begin
    receives      receives        inactive: a person decides who works
    either way: the receiver has what was acknowledged, and the sender does not have it: partitioned

A partition is noted before it is answered, and stays until a person gives one side up. Terms belong to the arbiter of
one site and are not compared between sites: lives are.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64, mypyc_attr

from ostler.model.log_life import Life
from ostler.replica.pedigree import Pedigree, RelationKind
from ostler.wire.replica_frames import (
    REFUSED_PARTITIONED,
    REFUSED_QUEUE_MANAGER,
    REFUSED_STATE,
    REFUSED_TERM,
    SITE_ACTIVE,
    SITE_LIVE,
    SITE_NONE,
    SITE_PENDING_LIVE,
    SITE_PENDING_RECOVERY,
    SITE_RECOVERY,
    ReplicaHello,
)

NO_FORK: Final = -1

# Answers to a site that is to work.
MAY: Final = "may"
MUST_WAIT: Final = "must wait"  # the other site sends the rest
MUST_NOT: Final = "must not"


def sends(role: i64) -> bool:
    """Return True for the role of a site whose log is the one that counts."""
    return role == SITE_ACTIVE or role == SITE_PENDING_RECOVERY


def receives(role: i64) -> bool:
    return role == SITE_RECOVERY or role == SITE_PENDING_LIVE


def is_live(role: i64) -> bool:
    """Return True for the role of a site that works, or is to."""
    return role == SITE_LIVE or role == SITE_ACTIVE


class SiteAnswer:
    """The answer to whether a site may begin to work, with the reason."""

    def __init__(self, kind: str, reason: str) -> None:
        self.kind: Final[str] = kind
        self.reason: Final[str] = reason


@mypyc_attr(allow_interpreted_subclasses=True)
class SiteSide:
    """One copy's knowledge of its site and of the other one."""

    def __init__(self, group: str, other_group: str, instances: frozenset[str], role: i64) -> None:
        """`instances` are the names of this site's: they tell lives of this site from those of the other."""
        self.group: Final[str] = group
        self.other_group: Final[str] = other_group
        self.instances: Final[frozenset[str]] = instances
        self.role: i64 = role
        self.fork_lsn: i64 = NO_FORK
        """Partitioned: the LSN up to which both logs are the same."""
        self.is_held = False
        """This site is to work and has not begun, because the other one works: a person has to decide."""
        self.is_receiver = True
        """Of the instances of a site that receives, one takes the log."""
        self.other_role: i64 = SITE_NONE
        """The work of the other site when it was last heard."""
        self.other: Pedigree | None = None
        self.other_acknowledged_lsn: i64 = 0

    def note_partition(self, fork_lsn: i64, why: str) -> None:
        """The logs have parted. A server makes that durable before it returns."""
        self.fork_lsn = fork_lsn

    def clear_partition(self) -> None:
        """The other side was given up."""
        self.fork_lsn = NO_FORK
        self.is_held = False

    def is_partitioned(self) -> bool:
        return self.fork_lsn != NO_FORK

    def led_last(self, lives: list[Life]) -> bool:
        """Return True when the last life of a log was one of this site, or of a time before there were copies."""
        return bool(lives) and (not lives[-1].instance or lives[-1].instance in self.instances)

    def acknowledged(self, own: Pedigree, group_lsn: i64) -> i64:
        """Return how much of this copy somebody may have been told of.

        Of a life of this site that may be all that is forced here: its last words may have gone out before the group
        LSN was noted. What came from the other site counts as far as that site said.
        """
        return max(group_lsn, i64(own.end_lsn)) if self.led_last(own.lives) else group_lsn

    def hear(self, hello: ReplicaHello, own: Pedigree, group_lsn: i64) -> tuple[int, str]:
        """Take what the other site says of itself, and note a partition if it shows one.

        Return why its log is not taken here, as a number and a sentence; 0: it is. `own` is this copy's pedigree.
        """
        if hello.group != self.other_group:
            return REFUSED_QUEUE_MANAGER, f"The other site of {self.group} is {self.other_group}, not {hello.group}."
        theirs = Pedigree(hello.lives, int(hello.end_lsn))
        if receives(self.role) and sends(hello.site_role) and self._is_over(own, theirs):
            return REFUSED_TERM, f"Life {theirs.epoch()} is over: {self.group} has heard of life {own.epoch()}."
        if sends(self.role) and receives(hello.site_role) and self._is_replaced(own, theirs):
            return REFUSED_TERM, f"Life {own.epoch()} is over: {self.other_group} has heard of life {theirs.epoch()}."
        self.other_role = hello.site_role
        self.other = theirs
        self.other_acknowledged_lsn = hello.group_lsn
        relation = own.relation(theirs)
        if self._are_both_live(hello.site_role):
            if self.role == SITE_LIVE and not self.is_partitioned():
                self.is_held = True
            self._part(relation.lsn, f"{self.other_group} is live as well")
        elif receives(self.role) and sends(hello.site_role) and self.acknowledged(own, group_lsn) > relation.lsn:
            self._part(relation.lsn, f"{self.other_group} works without what was acknowledged here")
        elif sends(self.role) and receives(hello.site_role) and hello.group_lsn > relation.lsn:
            self._part(relation.lsn, f"{self.other_group} has what was acknowledged and is not here")
        if self.is_partitioned() and receives(hello.site_role) and hello.group_lsn <= relation.lsn:
            # It was given up there: it has nothing left that is not here.
            self.clear_partition()
        if self.is_partitioned():
            return REFUSED_PARTITIONED, f"{self.group} and {self.other_group} parted ways at LSN {self.fork_lsn}."
        if not sends(hello.site_role):
            return REFUSED_STATE, f"{self.group} was asked what it does."
        if not receives(self.role):
            return REFUSED_STATE, f"{self.group} is the live site."
        if not self.is_receiver:
            return REFUSED_STATE, f"Another instance of {self.group} takes the log."
        return 0, ""

    def _are_both_live(self, other: i64) -> bool:
        is_any_active: bool = self.role == SITE_ACTIVE or other == SITE_ACTIVE
        return is_live(self.role) and is_live(other) and is_any_active

    def _is_over(self, own: Pedigree, theirs: Pedigree) -> bool:
        """Return True for a leader of the other site that another one there has replaced."""
        return theirs.epoch() < own.epoch() and not self.led_last(own.lives)

    def _is_replaced(self, own: Pedigree, theirs: Pedigree) -> bool:
        """Return True for a leader of this site that another one here has replaced: the other site has its life."""
        if not own.lives or not theirs.lives or theirs.epoch() <= own.epoch():
            return False
        leads = theirs.lives[-1].instance
        return leads in self.instances and leads != own.lives[-1].instance

    def _part(self, lsn: i64, why: str) -> None:
        if not self.is_partitioned() or lsn < self.fork_lsn:
            self.note_partition(lsn, why)

    # -- changes of role

    def may_work(self, own: Pedigree, is_linked: bool, forces: bool) -> SiteAnswer:
        """Answer a request to make this site, which receives, the one that works.

        `is_linked`: the other site answers. What it said last is taken for what it does.
        """
        if not is_linked or self.other is None:
            return SiteAnswer(MAY, f"{self.other_group} does not answer: what it has and did not send is left there")
        if self.is_partitioned() and not forces:
            reason = (
                f"the sites are partitioned. Give the other side up with makedrsecondary at {self.other_group}, "
                "or repeat this with --force"
            )
            return SiteAnswer(MUST_NOT, reason)
        if forces:
            return SiteAnswer(MAY, "it is forced")
        if self.other_role == SITE_ACTIVE or self.other_role == SITE_LIVE:
            reason = (
                f"{self.other_group} is live, and the link to it works. Run makedrsecondary there first; or repeat "
                "this with --force, and what it has not sent is lost"
            )
            return SiteAnswer(MUST_NOT, reason)
        relation = own.relation(self.other)
        lacks: bool = relation.kind is RelationKind.PREFIX or relation.kind is RelationKind.FORK
        if self.other_role == SITE_PENDING_RECOVERY:
            return SiteAnswer(MUST_WAIT, f"{self.other_group} sends the rest of its log")
        if lacks and self.other_acknowledged_lsn > relation.lsn:
            reason = (
                f"{self.other_group} has log up to LSN {self.other.end_lsn}, this site up to {relation.lsn}. Run "
                "makedrprimary there, then makedrsecondary, which sends the rest; or repeat this with --force"
            )
            return SiteAnswer(MUST_NOT, reason)
        return SiteAnswer(MAY, f"{self.other_group} has nothing that is not here")

    def reason_to_hold(self) -> str:
        """Return why this site, which is to work, must not begin to; empty: it may."""
        if not self.is_held:
            return ""
        return (
            f"{self.other_group} works already. makedrsecondary makes this site follow it; makedrprimary --force lets "
            "this site work, too"
        )
