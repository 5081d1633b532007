"""Who may claim, stand and lead; what a leader does when the arbiter or its followers are silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ostler.model.arbiter import FOLLOWING, STANDING, ArbiterView, InSyncSet, LeaderKey, Mark, Member
from ostler.replica import election
from ostler.replica.election import ABSTAIN, CLAIM, FOLLOW, GIVE_UP, GO_ON, HOLD, LEAD, RETAKE, WAIT

TERM = 40
WHOLE = election.Fitness(False, False, True, 3, 100, Mark(3, 90))


def member(name: str, end: int = 100, epoch: int = 3, promised: int = TERM, state: str = STANDING) -> Member:
    return Member(name, f"{name}(1414)", epoch, end, state, promised)


def view(*members: Member, in_sync: str = "abc", copies: int = 2, leader: LeaderKey | None = None) -> ArbiterView:
    kept = InSyncSet(5, TERM, tuple(in_sync), copies) if in_sync else None
    known = {each.instance: each for each in members}
    return ArbiterView(leader, TERM, kept, known, {}, "", frozenset(), "", 3)


@pytest.mark.parametrize(
    ("fitness", "words"),
    [
        (replace(WHOLE, is_new=True), "is new"),
        (replace(WHOLE, is_rebuilding=True), "being rebuilt"),
        (replace(WHOLE, is_of_this_queue_manager=False), "another queue manager"),
        (replace(WHOLE, end_lsn=89), "acknowledged life 3, LSN 90"),
        (replace(WHOLE, epoch=2, end_lsn=1000), "acknowledged life 3, LSN 90"),
    ],
)
def test_emptiness_and_damage_do_not_count(fitness: election.Fitness, words: str) -> None:
    assert words in election.reason_not_to_claim("a", fitness, view())
    assert election.decide_follower(member("a", promised=0), fitness, view(), False).kind == ABSTAIN


def test_an_old_copy_put_in_place_of_an_instance_does_not_count() -> None:
    """Its own mark is as old as its log; the arbiter's is not."""
    told = replace(view(), marks={"a": Mark(3, 101)})
    assert "registered life 3, LSN 101: an old copy?" in election.reason_not_to_claim("a", WHOLE, told)
    assert election.reason_not_to_claim("a", WHOLE, replace(view(), marks={"a": Mark(3, 100)})) == ""


def test_nobody_outside_the_set_counts_and_nobody_without_a_set() -> None:
    assert election.reason_not_to_claim("d", WHOLE, view()) == "d is not in sync"
    assert "not founded" in election.reason_not_to_claim("a", WHOLE, view(in_sync=""))


def test_a_follower_that_hears_its_leader_abstains_when_the_key_vanishes() -> None:
    own = member("b", promised=0, state=FOLLOWING)
    assert election.decide_follower(own, WHOLE, view(), True).kind == ABSTAIN
    assert election.decide_follower(own, WHOLE, view(), False).kind == CLAIM
    led = view(leader=LeaderKey("a", TERM, "s"))
    assert election.decide_follower(own, WHOLE, led, False).kind == FOLLOW
    claim = election.claim_of(own, view())
    assert (claim.state, claim.promised_term) == (STANDING, TERM)
    assert election.decide_follower(claim, WHOLE, view(), False).kind == WAIT


def judged(own: Member, seen: ArbiterView, waited: float = 0.0) -> str:
    return election.judge_election(own, seen, waited, 1.0).kind


def test_a_candidate_needs_enough_ends_and_the_highest() -> None:
    assert judged(member("b"), view()) == WAIT
    assert judged(member("b"), view(member("c", 99))) == LEAD
    assert judged(member("b"), view(member("c", 101))) == WAIT
    assert judged(member("b", 500, epoch=2), view(member("c", 1))) == WAIT
    assert judged(member("b"), view(member("c", 99, promised=TERM - 1))) == WAIT  # its promise is too old
    assert judged(member("b"), view(member("c", 99, state=FOLLOWING))) == WAIT
    assert judged(member("b"), view(member("d", 99))) == WAIT  # not in the set
    assert judged(member("b"), view(in_sync="ab", copies=2)) == LEAD  # a pair needs itself only
    assert judged(member("b"), view(in_sync="a", copies=1)) == ABSTAIN
    assert judged(member("b", promised=TERM - 1), view(in_sync="ab")) == ABSTAIN
    assert judged(member("b"), view(member("c"), leader=LeaderKey("a", TERM + 1, "s"))) == FOLLOW


def test_a_decision_to_lead_names_what_the_arbiter_must_compare() -> None:
    decision = election.judge_election(member("b"), view(member("c", 99)), 0.0, 1.0)
    assert (decision.version, decision.term) == (5, TERM)


def test_of_equals_the_preferred_comes_first_and_the_others_are_patient() -> None:
    seen = view(member("b"), member("c"))
    assert judged(member("b"), seen) == LEAD
    assert judged(member("c"), seen) == WAIT
    assert judged(member("c"), seen, waited=1.0) == LEAD
    preferred = replace(seen, preferred="c")
    assert judged(member("c"), preferred) == LEAD
    assert judged(member("b"), preferred) == WAIT
    behind = replace(view(member("c", 99)), preferred="c")  # to be preferred is no substitute for data
    assert judged(member("b"), behind) == LEAD
    assert judged(member("c", 99), replace(view(member("b")), preferred="c"), waited=9.0) == WAIT


def test_a_suspended_instance_counts_but_does_not_lead() -> None:
    seen = replace(view(member("b"), member("c", 99)), suspended=frozenset("b"))
    assert judged(member("b"), seen) == ABSTAIN
    assert judged(member("c", 99), seen, waited=9.0) == WAIT  # b has more
    equal = replace(view(member("b"), member("c")), suspended=frozenset("b"))
    assert judged(member("c"), equal) == LEAD


def situation(
    seen: ArbiterView | None, enough: bool, lease: float = 1.0, held: float = 0.0
) -> election.LeaderSituation:
    return election.LeaderSituation("a", TERM, seen, lease, enough, held, 10.0)


OURS = view(leader=LeaderKey("a", TERM, "s"))


@pytest.mark.parametrize(
    ("now", "kind"),
    [
        (situation(OURS, True, lease=-1.0), GO_ON),
        (situation(OURS, False, held=9.0), HOLD),
        (situation(OURS, False, held=11.0), HOLD),  # nobody else could lead
        (situation(replace(OURS, members={x: member(x) for x in "bc"}), False, held=9.0), HOLD),
        (situation(replace(OURS, members={x: member(x) for x in "bc"}), False, held=11.0), GIVE_UP),
        (situation(replace(OURS, members={x: member(x) for x in "ac"}), False, held=11.0), HOLD),
        (situation(replace(OURS, last_term=41, leader=LeaderKey("b", 41, "t")), True), GIVE_UP),
        (situation(replace(OURS, last_term=41, leader=None), True), GIVE_UP),
        (situation(view(), True, lease=-1.0), RETAKE),
        (situation(view(), False), GIVE_UP),
        (situation(None, True, lease=-99.0), GO_ON),
        (situation(None, False, lease=0.1), HOLD),
        (situation(None, False, lease=0.0), GIVE_UP),
        (situation(replace(view(in_sync=""), last_term=0), True, lease=-1.0), GO_ON),  # the arbiter lost its memory
        (situation(replace(view(in_sync=""), last_term=0), False, lease=-1.0), GIVE_UP),
    ],
)
def test_a_leader_goes_on_holds_retakes_or_gives_up(now: election.LeaderSituation, kind: str) -> None:
    assert election.decide_leader(now).kind == kind


def test_a_leader_hands_over_to_the_preferred_and_when_it_is_suspended() -> None:
    assert election.hand_over_to("a", OURS, {"b", "c"}) == ""
    preferred = replace(OURS, preferred="c")
    assert election.hand_over_to("a", preferred, {"b", "c"}) == "c"
    assert election.hand_over_to("a", preferred, {"b"}) == ""
    assert election.hand_over_to("a", replace(preferred, suspended=frozenset("c")), {"b", "c"}) == ""
    assert election.hand_over_to("a", replace(OURS, suspended=frozenset("a")), {"b", "c"}) == "b"
    assert election.hand_over_to("a", replace(OURS, suspended=frozenset("ab")), {"b"}) == ""
    assert election.hand_over_to("a", replace(OURS, preferred="d"), {"d"}) == ""  # not in sync
    assert election.hand_over_to("a", OURS, {"b", "c"}, is_short=True) == "b"
    assert election.hand_over_to("a", replace(OURS, preferred="c"), {"b", "c"}, is_short=True) == "c"
    assert election.hand_over_to("a", OURS, set(), is_short=True) == ""


def test_a_new_instance_joins_only_who_holds_the_key() -> None:
    assert election.reason_not_to_join(TERM, OURS) == ""
    assert "leads in term 40, not 39" in election.reason_not_to_join(39, OURS)
    assert "forgotten" in election.reason_not_to_join(TERM, view())
