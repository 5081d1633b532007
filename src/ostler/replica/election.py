"""Elections: who may count, who may stand, who may lead; and when a leader goes on, holds replies or gives up.

Invariant: *who leads has everything that was acknowledged in an older term, and nothing can be acknowledged in an older
term that it does not have*.

1. A member *claims* (epoch, end LSN) after it has promised to acknowledge nothing more of the last term given, or of an
   older one. The promise is forced on its disk before the claim is registered, so a restart does not undo it.
2. A claim counts for an election if its promise covers the last term given and its instance is in the in-sync set. It
   counts only if the log behind it is whole: not new, not rebuilt, of this queue manager, and read back to the mark,
   the highest position the instance ever told (its own file and the arbiter's). Emptiness never wins, nor helps to win.
3. A candidate leads if it has seen `ends_needed` claims, its own among them, and its own is the highest by epoch, then
   by LSN. Any acknowledged LSN is at one of those seen (see `membership`), in a life that is not above the candidate's.
4. The arbiter compares the version of the set and the last term that were judged by. So nobody has led in between, the
   rule has not changed, and the promises still cover every term given.
5. A leader whose key has vanished takes it again without an election if no term was given since: it has everything.

Clocks decide only when somebody tries. A leader that cannot reach the arbiter goes on while enough copies answer in its
term, because no election succeeds without the promise of one of them; and a follower that hears its leader promises
nothing, even if it sees the key vanish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from ostler.model.arbiter import STANDING, ArbiterView, InSyncSet, Mark, Member
from ostler.replica.membership import ends_needed, rule_of

# Decisions of an instance that does not lead.
FOLLOW: Final = "follow"  # there is a leader
ABSTAIN: Final = "abstain"  # promise nothing, stand for nothing
CLAIM: Final = "claim"  # force the promise, then register the claim
WAIT: Final = "wait"  # has claimed; others may come, or come first
LEAD: Final = "lead"  # call try_lead with the version and the term of the decision

# Decisions of a leader.
GO_ON: Final = "go on"
HOLD: Final = "hold"  # send no reply; keep the links and the lease
RETAKE: Final = "retake"  # call try_lead with the version and the term of the decision
GIVE_UP: Final = "give up"  # stop being the leader; drop the links of clients


@final
@dataclass(frozen=True)
class Fitness:
    """The state of an instance's own data, as found when its log was read."""

    is_new: bool
    """It has never adopted a life of this group, or lost what it had."""
    is_rebuilding: bool
    is_of_this_queue_manager: bool
    """The log has the identity of the group's."""
    epoch: int
    end_lsn: int
    """The LSN up to which the log reads back."""
    mark: Mark
    """From its own file: the highest position it has told or acknowledged."""


@final
@dataclass(frozen=True)
class Decision:
    kind: str
    reason: str
    version: int = 0
    term: int = 0


@final
@dataclass(frozen=True)
class LeaderSituation:
    """The facts by which a leader decides. `view` is None when the arbiter did not answer."""

    instance: str
    term: int
    view: ArbiterView | None
    lease_seconds_left: float
    """By its own monotonic clock, from when the last successful keep_alive was sent; 0 or less: it may be gone."""
    can_acknowledge: bool
    """Enough copies answer in this term (`LeaderMembership.can_acknowledge`)."""
    held_seconds: float
    """The time for which replies have been held for want of copies; 0: they are not."""
    hold_seconds_max: float
    """After that a leader makes way if others could elect one of them."""


def reason_not_to_claim(instance: str, fitness: Fitness, view: ArbiterView) -> str:
    """Return why the end of this instance must not count in an election; empty: it may."""
    if view.in_sync is None:
        return "the arbiter has no in-sync set: the group was not founded there, or the arbiter has lost it"
    if instance not in view.in_sync.members:
        return f"{instance} is not in sync"
    if not fitness.is_of_this_queue_manager:
        return f"the log of {instance} is of another queue manager"
    if fitness.is_new:
        return f"{instance} is new and has no log of this group"
    if fitness.is_rebuilding:
        return f"{instance} is being rebuilt"
    end = Mark(fitness.epoch, fitness.end_lsn)
    if is_below(end, fitness.mark):
        return f"the log of {instance} reads back to {_show(end)}, but it acknowledged {_show(fitness.mark)}"
    told = view.marks.get(instance)
    if told is not None and is_below(end, told):
        return f"the log of {instance} reads back to {_show(end)}, but it registered {_show(told)}: an old copy?"
    return ""


def reason_not_to_join(term: int, view: ArbiterView) -> str:
    """Return why a new or rebuilt instance must not acknowledge anything to the leader of a term; empty: it may.

    It has forgotten what it promised, so it asks the arbiter who leads, and takes that term for the last it has heard.
    """
    if view.leader is None:
        return "nobody holds the leader key, and this instance has forgotten what it promised"
    if view.leader.term != term:
        return f"{view.leader.instance} leads in term {view.leader.term}, not {term}"
    return ""


def claim_of(member: Member, view: ArbiterView) -> Member:
    """Return the claim to register, once its promise is forced. No leader key may be in the view."""
    assert view.leader is None
    return Member(member.instance, member.address, member.epoch, member.end_lsn, STANDING, view.last_term)


def counts(member: Member, view: ArbiterView) -> bool:
    """Return True for a member whose claim counts for the election that follows `view`."""
    if view.in_sync is None or member.instance not in view.in_sync.members:
        return False
    return member.state == STANDING and member.promised_term >= view.last_term


def decide_follower(own: Member, fitness: Fitness, view: ArbiterView, link_is_well: bool) -> Decision:
    """Decide for an instance that does not lead. `own` is what it last registered or would register.

    `link_is_well`: its leader was heard in the last term given within the heartbeat timeout.
    """
    if view.leader is not None:
        return Decision(FOLLOW, f"{view.leader.instance} leads in term {view.leader.term}")
    if link_is_well:
        return Decision(ABSTAIN, "the key has vanished, but the leader answers")
    reason = reason_not_to_claim(own.instance, fitness, view)
    if reason:
        return Decision(ABSTAIN, reason)
    if not counts(own, view):
        return Decision(CLAIM, f"nobody leads after term {view.last_term}")
    return Decision(WAIT, "has claimed")


def judge_election(own: Member, view: ArbiterView, waited_seconds: float, patience_seconds: float) -> Decision:
    """Decide whether an instance that has claimed leads. `own` is its registered claim.

    Of equal claims the preferred instance comes first, then names in order; the others wait `patience_seconds`.
    """
    if view.leader is not None:
        return Decision(FOLLOW, f"{view.leader.instance} leads in term {view.leader.term}")
    in_sync = view.in_sync
    if in_sync is None or not counts(own, view):
        return Decision(ABSTAIN, f"{own.instance} has no claim that counts")
    if own.instance in view.suspended:
        return Decision(ABSTAIN, f"{own.instance} is suspended")
    claims = _claims(own, view)
    needed = ends_needed(rule_of(in_sync))
    if len(claims) < needed:
        return Decision(WAIT, f"{len(claims)} of {needed} ends are known")
    rivals = []
    for each in claims:
        if is_below(_position(own), _position(each)):
            return Decision(WAIT, f"{each.instance} has more: {_show(_position(each))}")
        if not is_below(_position(each), _position(own)) and each.instance not in view.suspended:
            rivals.append(each.instance)
    first = view.preferred if view.preferred in rivals else min(rivals)
    if first != own.instance and waited_seconds < patience_seconds:
        return Decision(WAIT, f"{first} comes first")
    reason = f"{len(claims)} ends are known, and none is higher than {_show(_position(own))}"
    return Decision(LEAD, reason, in_sync.version, view.last_term)


def decide_leader(now: LeaderSituation) -> Decision:
    """Decide for a leader, at every heartbeat and whenever a link or the arbiter changes.

    arbiter                       enough copies answer   decision
    says: a later term            -                      GIVE_UP
    says: our key                 yes                    GO_ON
    says: our key                 no                     HOLD (and change the set, if allowed); GIVE_UP after
                                                         hold_seconds_max if others could elect a leader
    says: no key, our term last   yes                    RETAKE
    says: no key, our term last   no                     GIVE_UP (and stand like the others)
    silent, or not founded        yes                    GO_ON
    silent, or not founded        no                     HOLD while the lease runs, then GIVE_UP
    """
    view = now.view
    if view is not None and view.last_term > now.term:
        who = view.leader.instance if view.leader is not None else "another"
        return Decision(GIVE_UP, f"{who} was given term {view.last_term}, after {now.term}")
    if view is not None and view.in_sync is not None and now.instance not in view.in_sync.members:
        return Decision(GIVE_UP, f"the group was founded again without {now.instance}")
    if view is not None and view.in_sync is not None and view.last_term == now.term:
        if view.leader is not None:
            return _decide_with_key(now, view)
        if now.can_acknowledge:
            reason = "the key has vanished, and nobody has led since"
            return Decision(RETAKE, reason, view.in_sync.version, view.last_term)
        return Decision(GIVE_UP, "the key has vanished, and not enough copies answer")
    silence = "the arbiter does not answer" if view is None else "the arbiter has lost the group"
    if now.can_acknowledge:
        return Decision(GO_ON, f"{silence}, but enough copies do")
    if now.lease_seconds_left > 0:
        return Decision(HOLD, f"{silence}, nor do enough copies; the lease runs for {now.lease_seconds_left:.1f} s")
    return Decision(GIVE_UP, f"{silence}, nor do enough copies, and the lease may be gone")


def _decide_with_key(now: LeaderSituation, view: ArbiterView) -> Decision:
    if now.can_acknowledge:
        return Decision(GO_ON, f"leads in term {now.term}")
    assert view.in_sync is not None
    others = [each for each in view.in_sync.members if each != now.instance and each in view.members]
    if now.held_seconds > now.hold_seconds_max and len(others) >= ends_needed(rule_of(view.in_sync)):
        return Decision(GIVE_UP, f"not enough copies answer, but {', '.join(others)} reach the arbiter")
    return Decision(HOLD, "not enough copies answer")


def hand_over_to(instance: str, view: ArbiterView, caught_up: set[str], is_short: bool = False) -> str:
    """Return the instance to which a leader should hand over in order; empty: it stays.

    A leader gives way to the preferred instance, when it is suspended itself, and when its disk is full (`is_short`).
    Only members of the in-sync set that have caught up and are not suspended can take over without a wait.
    """
    in_sync: InSyncSet | None = view.in_sync
    if in_sync is None:
        return ""
    able = [each for each in in_sync.members if each in caught_up and each not in view.suspended and each != instance]
    if view.preferred in able:
        return view.preferred
    if (is_short or instance in view.suspended) and able:
        return min(able)
    return ""


def is_below(one: Mark, other: Mark) -> bool:
    """Return True if a position is lower: of an older life, or shorter in the same."""
    return one.epoch < other.epoch or (one.epoch == other.epoch and one.end_lsn < other.end_lsn)


def _claims(own: Member, view: ArbiterView) -> list[Member]:
    """Return the claims that count: the caller's as it knows it, those of others as registered."""
    others = [each for each in view.members.values() if each.instance != own.instance and counts(each, view)]
    return [own, *others]


def _position(member: Member) -> Mark:
    return Mark(member.epoch, member.end_lsn)


def _show(position: Mark) -> str:
    return f"life {position.epoch}, LSN {position.end_lsn}"
