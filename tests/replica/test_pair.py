"""A pair without an arbiter: every situation of both sides at once."""

from __future__ import annotations

from itertools import product

import pytest

from ostler.replica import pair
from ostler.replica.pair import EXTENDS, FOLLOW, FORK, LEAD, PARTITIONED, PREFIX, SAME, STOP, WAIT, PairSituation

OTHER = {SAME: SAME, PREFIX: EXTENDS, EXTENDS: PREFIX, FORK: FORK}


def linked(one_leads: bool, other_leads: bool, relation: str, noted: bool = False) -> list[PairSituation]:
    """Both sides of a pair whose link is up. The first is the preferred one."""
    return [
        PairSituation(one_leads, True, True, noted, True, other_leads, relation, 0.0, 10.0),
        PairSituation(other_leads, True, False, noted, True, one_leads, OTHER[relation], 0.0, 10.0),
    ]


def alone(
    leads: bool, has_everything: bool, silent: float, preferred: bool = False, noted: bool = False
) -> PairSituation:
    return PairSituation(leads, has_everything, preferred, noted, False, False, SAME, silent, 10.0)


@pytest.mark.parametrize("noted", [False, True])
def test_of_a_linked_pair_exactly_one_leads(noted: bool) -> None:
    for one, other, relation in product((False, True), (False, True), (SAME, PREFIX, EXTENDS, FORK)):
        decisions = [pair.decide_pair(each) for each in linked(one, other, relation, noted)]
        assert [each.kind for each in decisions].count(LEAD) == 1, (one, other, relation)
        assert {each.status == PARTITIONED for each in decisions} == {noted or relation == FORK}


def test_nobody_follows_a_fork_and_nobody_with_more_follows() -> None:
    for one, other, relation in product((False, True), (False, True), (SAME, PREFIX, EXTENDS, FORK)):
        for each in linked(one, other, relation):
            kind = pair.decide_pair(each).kind
            if each.relation == FORK:
                assert kind in (LEAD, STOP)
            if each.relation == EXTENDS and each.is_leading == each.partner_is_leading:
                assert kind == LEAD


def test_two_leaders_with_data_of_their_own_are_partitioned_and_the_preferred_goes_on() -> None:
    preferred, other = linked(True, True, FORK)
    assert (pair.decide_pair(preferred).kind, pair.decide_pair(other).kind) == (LEAD, STOP)
    # The note outlives the link and restarts of both.
    assert pair.decide_pair(alone(False, True, 99.0, noted=True)).kind == STOP
    assert pair.decide_pair(alone(True, True, 99.0, noted=True)).status == PARTITIONED


def test_who_has_everything_takes_over_and_says_that_there_is_no_arbiter() -> None:
    taken = pair.decide_pair(alone(False, True, 10.0))
    assert (taken.kind, taken.reason, taken.may_acknowledge_alone) == (LEAD, pair.NO_ARBITER, True)
    assert pair.decide_pair(alone(False, True, 9.9)).kind == WAIT
    assert pair.decide_pair(alone(False, False, 999.0, preferred=True)).kind == WAIT


def test_a_leader_holds_replies_until_it_gives_the_partner_up() -> None:
    assert not pair.decide_pair(alone(True, True, 9.9)).may_acknowledge_alone
    assert pair.decide_pair(alone(True, True, 10.0)).may_acknowledge_alone


def test_a_linked_follower_follows() -> None:
    preferred, other = linked(True, False, EXTENDS)
    assert (pair.decide_pair(preferred).kind, pair.decide_pair(other).kind) == (LEAD, FOLLOW)
    assert not pair.decide_pair(preferred).may_acknowledge_alone
