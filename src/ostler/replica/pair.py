"""A pair without an arbiter, as the MQ Appliance has it: two instances that decide by their link alone.

Nobody can tell a partner that has died from a link that was cut. When all links are cut, both lead, and each accepts
what the other does not have. The pair says so whenever it decides alone, and finds out when it is linked again: two
pedigrees of which neither is a beginning of the other, or two leaders with something of their own. Then it is
*Partitioned*: one side goes on, the other stops, nothing is copied, and both show it until a person decides
(`makehaprimary`). No decision here throws data away.

    link     own        partner     logs                decision
    up       any        any         fork                Partitioned: the side that leads goes on, of two leaders the
                                                        preferred one; the other STOPs
    silent   any        ?           were a fork         Partitioned: who leads goes on, the preferred one after the
                                                        timeout; the other STOPs
    up       any        any         own holds more      LEAD: it has acknowledged what the partner lacks
    up       any        any         own lacks some      FOLLOW: the partner has
    up       leads      leads       own is a beginning  FOLLOW: it has nothing of its own
    up       leads      leads       own goes further    LEAD: the partner follows
    up       leads      leads       same                the preferred side leads, the other follows
    up       leads      follows     -                   LEAD
    up       -          leads       -                   FOLLOW
    up       -          -           own goes further    LEAD
    up       -          -           own is a beginning  FOLLOW
    up       -          -           same                the preferred side leads, the other follows
    silent   leads      ?           ?                   LEAD; replies are held until the partner is given up
    silent   in sync    ?           ?                   WAIT for the timeout, then LEAD
    silent   was leader ?           ?                   WAIT for the timeout, then LEAD (a start after a crash)
    silent   lacks some ?           ?                   WAIT: a person may decide otherwise
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from ostler.replica.pedigree import Pedigree, RelationKind

LEAD: Final = "lead"
FOLLOW: Final = "follow"
WAIT: Final = "wait"
STOP: Final = "stop"

# The partner's log, compared with one's own.
SAME: Final = "same"
PREFIX: Final = "prefix"  # one's own log is a beginning of the partner's
EXTENDS: Final = "extends"  # one's own log goes further
HOLDS: Final = "holds"  # they fork, and one's own has what was acknowledged and the partner lacks
LACKS: Final = "lacks"  # they fork, and the partner has what was acknowledged and is not here
FORK: Final = "fork"

NORMAL: Final = "Normal"
PARTITIONED: Final = "Partitioned"
REMOTE_UNAVAILABLE: Final = "Remote unavailable"

NO_ARBITER: Final = "there is no arbiter: if the partner runs and only the link is down, both will run"


@final
@dataclass(frozen=True)
class PairSituation:
    """The facts by which one side of a pair decides."""

    is_leading: bool
    has_everything: bool
    """It was in sync when it last heard the partner, or it was the leader then (its own note on disk says so)."""
    is_preferred: bool
    """True on one side exactly: the preferred location, or where the queue manager was created."""
    is_partitioned: bool
    """The note of an earlier partition, kept on disk until a person has decided."""
    partner_is_linked: bool
    partner_is_leading: bool
    relation: str
    """Of the two logs, by their pedigrees; without a meaning while the partner is silent."""
    silent_seconds: float
    timeout_seconds: float


@final
@dataclass(frozen=True)
class PairDecision:
    kind: str
    status: str
    """The HA status to display."""
    reason: str
    may_acknowledge_alone: bool = False
    """Replies need this copy only."""


def compare_logs(own: Pedigree, own_group_lsn: int, partner: Pedigree, partner_group_lsn: int) -> tuple[str, int]:
    """Return what one's own log is to the partner's, and up to where both are the same.

    Bytes behind a fork count only when somebody was told of them, that is up to the group LSN of their copy. A tail
    that nobody was told of is dropped when its copy follows. Of two such tails the later one is kept.
    """
    relation = own.relation(partner)
    fork = relation.lsn
    if relation.kind is RelationKind.FORK:
        is_own, is_partners = own_group_lsn > fork, partner_group_lsn > fork
        if is_own or is_partners:
            return (FORK if is_own and is_partners else HOLDS if is_own else LACKS), fork
    own, partner = _without_empty_lives(own), _without_empty_lives(partner)
    relation = own.relation(partner)
    if relation.kind is not RelationKind.FORK:
        return relation.kind.value, fork
    return (EXTENDS if own.is_ahead_of(partner) else PREFIX), fork


def _without_empty_lives(pedigree: Pedigree) -> Pedigree:
    """Return a pedigree without lives that have written nothing: they are no difference."""
    kept = list(pedigree.lives)
    while len(kept) > 1 and kept[-1].start_lsn >= pedigree.end_lsn:
        kept.pop()
    return Pedigree(kept, pedigree.end_lsn)


def decide_pair(now: PairSituation) -> PairDecision:
    """Decide for one side. A decision with the status Partitioned is to be noted on disk before it is acted on."""
    if now.is_partitioned or (now.partner_is_linked and now.relation == FORK):
        return _decide_partitioned(now)
    if now.partner_is_linked:
        return _decide_linked(now)
    return _decide_alone(now)


def _decide_partitioned(now: PairSituation) -> PairDecision:
    reason = "both instances have data that the other lacks; makehaprimary on one of them decides"
    if now.partner_is_linked and now.is_leading != now.partner_is_leading:
        goes_on = now.is_leading
    elif now.partner_is_linked:
        goes_on = now.is_preferred
    else:
        goes_on = now.is_leading or now.is_preferred
        if goes_on and not now.is_leading and now.silent_seconds < now.timeout_seconds:
            return PairDecision(WAIT, PARTITIONED, "the partner is silent, but not for long")
    return PairDecision(LEAD if goes_on else STOP, PARTITIONED, reason, may_acknowledge_alone=goes_on)


def _decide_linked(now: PairSituation) -> PairDecision:
    if now.relation == HOLDS:
        return PairDecision(LEAD, NORMAL, "the partner lacks what was acknowledged here")
    if now.relation == LACKS:
        return PairDecision(FOLLOW, NORMAL, "the partner has acknowledged what is not here")
    if now.is_leading != now.partner_is_leading:
        if now.is_leading:
            return PairDecision(LEAD, NORMAL, "the partner follows")
        return PairDecision(FOLLOW, NORMAL, "the partner leads")
    if now.relation == EXTENDS or (now.relation == SAME and now.is_preferred):
        return PairDecision(LEAD, NORMAL, "the partner has no more, and follows")
    return PairDecision(FOLLOW, NORMAL, "the partner has all of this log")


def _decide_alone(now: PairSituation) -> PairDecision:
    is_given_up = now.silent_seconds >= now.timeout_seconds
    if now.is_leading:
        if is_given_up:
            return PairDecision(LEAD, REMOTE_UNAVAILABLE, NO_ARBITER, may_acknowledge_alone=True)
        return PairDecision(LEAD, REMOTE_UNAVAILABLE, "the partner is silent; replies are held")
    if not now.has_everything:
        return PairDecision(WAIT, REMOTE_UNAVAILABLE, "the partner is silent and has what this instance lacks")
    if not is_given_up:
        return PairDecision(WAIT, REMOTE_UNAVAILABLE, "the partner is silent, but not for long")
    return PairDecision(LEAD, REMOTE_UNAVAILABLE, NO_ARBITER, may_acknowledge_alone=True)
