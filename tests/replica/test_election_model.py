"""Every state of small worlds of two and three instances, and deliberate mistakes in the rules, each caught."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.world.replica.election_model import Bounds, Lead, Log, Model, Node, Rules, Violation, explore, wander

from ostler.model.arbiter import ArbiterView, InSyncSet, Member
from ostler.replica import election
from ostler.replica.membership import LeaderMembership, Rule, ends_needed, lsn_on_copies, rule_of

pytestmark = pytest.mark.slow
STATES_MAX = 400_000

# Two instances with changes of the set; three without and with; a lost disk.
PAIR = Bounds(nodes=2, blocks=1, terms=3, changes=1)
PAIR_OF_TWO_CHANGES = Bounds(nodes=2, blocks=1, terms=2, changes=2)
THREE = Bounds(nodes=3, blocks=1, terms=2, changes=0)
THREE_WITH_CHANGES = Bounds(nodes=3, blocks=1, terms=2, changes=1, delays=False, retakes=False)
WIPED = Bounds(nodes=2, blocks=1, terms=3, changes=0, wipes=1)
WIDE = Bounds(nodes=3, blocks=4, terms=6, changes=4, wipes=1)
THREE_WIPED = Bounds(nodes=3, blocks=1, terms=2, changes=0, wipes=1, delays=False, retakes=False)
THREE_CHANGES = Bounds(nodes=2, blocks=1, terms=2, changes=3, delays=False, retakes=False)
THREE_TERMS = Bounds(nodes=3, blocks=1, terms=3, changes=1, delays=False, retakes=False)
RETAKEN = Bounds(nodes=3, blocks=1, terms=3, changes=0, delays=False)
TWO_BLOCKS = Bounds(nodes=3, blocks=2, terms=4, changes=0, delays=False, retakes=False)

COMPLETE = {
    "2": PAIR,
    "2-changes": PAIR_OF_TWO_CHANGES,
    "2-more-changes": THREE_CHANGES,
    "3": THREE,
    "3-changes": THREE_WITH_CHANGES,
    "3-retaken": RETAKEN,
    "2-wiped": WIPED,
    "3-wiped": THREE_WIPED,
}


@pytest.mark.parametrize("name", list(COMPLETE))
def test_no_reachable_state_loses_anything(name: str) -> None:
    assert explore(Model(COMPLETE[name], Rules()), STATES_MAX) > 1000


def test_leaders_retake_their_keys_in_these_worlds() -> None:
    """So that worlds with retaken keys are what they say."""
    without = replace(RETAKEN, retakes=False)
    assert explore(Model(RETAKEN, Rules()), STATES_MAX) > explore(Model(without, Rules()), STATES_MAX)


@pytest.mark.stress
@pytest.mark.parametrize("bounds", [THREE_TERMS, TWO_BLOCKS], ids=["terms", "blocks"])
def test_no_reachable_state_of_a_larger_world_loses_anything(bounds: Bounds) -> None:
    assert explore(Model(bounds, Rules()), STATES_MAX) > 50_000


@pytest.mark.stress
def test_nothing_is_lost_on_very_many_random_walks() -> None:
    model = Model(WIDE, Rules())
    assert sum(wander(model, seed, 300) for seed in range(1000, 6000)) > 5000


def test_nothing_is_lost_on_long_random_walks() -> None:
    model = Model(WIDE, Rules())
    acknowledged = [wander(model, seed, 200) for seed in range(300)]
    assert sum(acknowledged) > 300  # the walks lead somewhere


class ShrinkAfterAcknowledging(Rules):
    """Replies need the new rule only, as soon as it was asked for."""

    def group_lsn(self, membership: LeaderMembership) -> int:
        return lsn_on_copies(membership.asked or membership.rule, membership.forced)


class IgnoreTheChange(Rules):
    """Replies need the old rule only, until the new one is confirmed."""

    def group_lsn(self, membership: LeaderMembership) -> int:
        return lsn_on_copies(membership.rule, membership.forced)


class ForgetEarlierLeaders(Rules):
    """A change looks only at what this leader has acknowledged."""

    def may_change(self, membership: LeaderMembership, rule: Rule) -> bool:
        return (
            membership.asked is None
            and membership.instance in rule.members
            and lsn_on_copies(rule, membership.forced) >= membership.group_lsn()
        )


class EnterBeforeCatchingUp(Rules):
    def may_change(self, membership: LeaderMembership, rule: Rule) -> bool:
        return membership.asked is None and membership.instance in rule.members


class TakeTheSameVersionForAnAnswer(Rules):
    """A lost answer is taken for a lost request."""

    def settle(self, membership: LeaderMembership, seen: InSyncSet) -> None:
        if seen.version == membership.version:
            membership.asked = None
        membership.set_seen(seen)


class StandOutsideTheSet(Rules):
    def may_claim(self, instance: str, fitness: election.Fitness, view: ArbiterView) -> bool:
        return not fitness.is_new

    def may_lead(self, own: Member, view: ArbiterView) -> bool:
        return view.leader is None and own.promised_term >= view.last_term and own.instance in view.members


class LeadWithOneEndLess(Rules):
    def may_lead(self, own: Member, view: ArbiterView) -> bool:
        assert view.in_sync is not None
        claims = [x for x in view.members.values() if election.counts(x, view)]
        best = max(((x.epoch, x.end_lsn) for x in claims), default=(0, 0))
        enough = len(claims) >= max(1, ends_needed(rule_of(view.in_sync)) - 1)
        return election.counts(own, view) and enough and (own.epoch, own.end_lsn) >= best


class CompareLengthsBeforeLives(Rules):
    def may_lead(self, own: Member, view: ArbiterView) -> bool:
        assert view.in_sync is not None
        claims = [own, *(x for x in view.members.values() if election.counts(x, view) and x.instance != own.instance)]
        best = max((x.end_lsn, x.epoch) for x in claims)
        enough = len(claims) >= ends_needed(rule_of(view.in_sync))
        return election.counts(own, view) and enough and (own.end_lsn, own.epoch) >= best


class CountClaimsWithoutPromises(Rules):
    """A claim made before an earlier election counts for the next one."""

    needs_promises = False

    def may_lead(self, own: Member, view: ArbiterView) -> bool:
        assert view.in_sync is not None
        claims = [x for x in view.members.values() if x.instance in view.in_sync.members and x.instance != own.instance]
        best = max(((x.epoch, x.end_lsn) for x in claims), default=(0, 0))
        enough = len(claims) + 1 >= ends_needed(rule_of(view.in_sync))
        return election.counts(own, view) and enough and (own.epoch, own.end_lsn) >= best


class ForgetPromisesAtRestart(Rules):
    keeps_promises = False


class DropTheTermCheck(Rules):
    def accepts_term(self, node: Node, term: int) -> bool:
        return True


class TakeTheKeyForSafety(Rules):
    """A follower keeps acknowledging to its leader after it has promised not to: its lease will be over."""

    def accepts_term(self, node: Node, term: int) -> bool:
        return term >= node.least_term - 1


class DoNotCompareTheVersion(Rules):
    """A change that arrives late undoes a later one."""

    compares_set_version = False


class DoNotCompareTheLastTerm(Rules):
    compares_last_term = False


class DoNotCompareTheLeader(Rules):
    compares_leader = False


class AdoptALifeBeforeItsStart(Rules):
    def adopts(self, log: Log, lead: Lead) -> bool:
        return True


class LetTheEmptyCount(Rules):
    def may_claim(self, instance: str, fitness: election.Fitness, view: ArbiterView) -> bool:
        return view.in_sync is not None and instance in view.in_sync.members


class JoinWithoutAskingTheArbiter(Rules):
    def may_join(self, term: int, view: ArbiterView) -> bool:
        return True


class RetakeAfterOthers(Rules):
    """A leader takes the key again whoever has led since."""

    def may_retake(self, instance: str, term: int, view: ArbiterView) -> bool:
        return view.leader is None


MUTATIONS: list[tuple[type[Rules], Bounds]] = [
    (ShrinkAfterAcknowledging, PAIR),
    (IgnoreTheChange, PAIR_OF_TWO_CHANGES),
    (ForgetEarlierLeaders, THREE_TERMS),
    (EnterBeforeCatchingUp, THREE_WITH_CHANGES),
    (TakeTheSameVersionForAnAnswer, PAIR_OF_TWO_CHANGES),
    (StandOutsideTheSet, PAIR),
    (LeadWithOneEndLess, THREE),
    (CompareLengthsBeforeLives, TWO_BLOCKS),
    (CountClaimsWithoutPromises, TWO_BLOCKS),
    (ForgetPromisesAtRestart, PAIR),
    (DropTheTermCheck, PAIR),
    (TakeTheKeyForSafety, PAIR),
    (DoNotCompareTheVersion, THREE_CHANGES),
    (DoNotCompareTheLastTerm, RETAKEN),
    (DoNotCompareTheLeader, THREE_TERMS),
    (AdoptALifeBeforeItsStart, TWO_BLOCKS),
    (LetTheEmptyCount, WIPED),
    (JoinWithoutAskingTheArbiter, WIPED),
    (RetakeAfterOthers, PAIR),
]


@pytest.mark.parametrize(("mutation", "bounds"), MUTATIONS, ids=[each.__name__ for each, _ in MUTATIONS])
def test_a_mistake_in_the_rules_is_caught(mutation: type[Rules], bounds: Bounds) -> None:
    with pytest.raises(Violation):
        explore(Model(bounds, mutation()), STATES_MAX)
