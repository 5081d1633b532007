"""How many copies a reply needs, and changes of the in-sync set: against naive twins, and case by case."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from ostler.model.arbiter import InSyncSet
from ostler.replica.membership import (
    CopiesPolicy,
    LeaderMembership,
    Plan,
    Rule,
    default_policy,
    ends_needed,
    lsn_on_copies,
)

PAIR = CopiesPolicy(2, 1)
THREE = CopiesPolicy(2, 2)
NAMES = ("a", "b", "c", "d", "e")


def leader(members: tuple[str, ...], copies: int, end_lsn: int = 10, policy: CopiesPolicy = PAIR) -> LeaderMembership:
    return LeaderMembership("a", 7, InSyncSet(3, 0, members, copies), end_lsn, policy)


def rules_of(count: int) -> list[Rule]:
    return [Rule(NAMES[:count], copies) for copies in range(1, count + 1)]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_whoever_is_heard_includes_somebody_who_has_it(count: int) -> None:
    """As many ends as needed meet every set of copies; one less does not."""
    for rule in rules_of(count):
        have = [set(each) for each in combinations(rule.members, rule.copies)]
        heard = [set(each) for each in combinations(rule.members, ends_needed(rule))]
        assert all(one & other for one in have for other in heard)
        less = [set(each) for each in combinations(rule.members, ends_needed(rule) - 1)]
        assert not all(one & other for one in have for other in less)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_lsn_on_copies_is_that_of_a_naive_count(count: int) -> None:
    for told in product((None, 1, 2, 3), repeat=count):
        forced = {name: lsn for name, lsn in zip(NAMES, told, strict=False) if lsn is not None}
        for rule in rules_of(count):
            have = [lsn for lsn in (1, 2, 3) if sum(each >= lsn for each in forced.values()) >= rule.copies]
            assert lsn_on_copies(rule, forced) == max(have, default=0)


def test_members_outside_the_rule_do_not_count() -> None:
    assert lsn_on_copies(Rule(("a", "b"), 2), {"a": 9, "c": 9, "d": 9}) == 0


def test_a_reply_waits_for_the_copies_and_never_takes_back() -> None:
    pair = leader(("a", "b"), 2)
    pair.acknowledged("a", 20)
    assert pair.group_lsn() == 0
    pair.acknowledged("b", 9)  # below the start of this life
    assert pair.group_lsn() == 0
    pair.acknowledged("b", 15)
    assert pair.group_lsn() == 15
    pair.acknowledged("b", 12)  # an old acknowledgement
    pair.connected("b")
    assert pair.group_lsn() == 15


def test_the_other_leaves_before_a_reply_goes_without_it() -> None:
    pair = leader(("a", "b"), 2)
    pair.acknowledged("b", 10)
    pair.acknowledged("a", 20)
    plan = pair.plan(set())
    assert plan == Plan(Rule(("a",), 1), "b does not answer and leaves; replies need 1 copies, not 2")
    assert plan.rule is not None
    pair.change_sent(plan.rule)
    assert pair.group_lsn() == 10  # both rules count
    pair.change_confirmed(4)
    assert pair.group_lsn() == 20


def test_an_answer_that_was_lost_settles_nothing_until_a_newer_version_is_seen() -> None:
    pair = leader(("a", "b"), 2)
    pair.acknowledged("a", 20)
    pair.change_sent(Rule(("a",), 1))
    pair.set_seen(InSyncSet(3, 0, ("a", "b"), 2))  # it may still arrive
    assert pair.group_lsn() == 0
    again = pair.plan({"b"})  # even though b is back
    assert again.rule == Rule(("a",), 1)
    pair.set_seen(InSyncSet(4, 6, ("a",), 1))  # another leader's
    assert pair.group_lsn() == 0
    pair.set_seen(InSyncSet(4, 7, ("a",), 1))
    assert pair.group_lsn() == 20
    assert pair.plan(set()).rule is None


def test_who_enters_is_waited_for_before_it_is_noted() -> None:
    alone = leader(("a",), 1)
    alone.acknowledged("a", 20)
    assert alone.group_lsn() == 20
    alone.acknowledged("b", 19)
    assert alone.plan({"b"}).rule is None
    alone.acknowledged("b", 20)
    rule = alone.plan({"b"}).rule
    assert rule == Rule(("a", "b"), 2)
    alone.change_sent(rule)
    alone.acknowledged("a", 30)
    assert alone.group_lsn() == 20  # the newcomer counts already
    alone.acknowledged("b", 25)
    assert alone.group_lsn() == 25


def test_a_set_in_which_one_lacks_what_an_earlier_leader_acknowledged_is_not_asked_for() -> None:
    """`c` is silent, and `b` has not reached the start of this life: either could be elected alone from {a, b}."""
    three = leader(("a", "b", "c"), 2, policy=THREE)
    assert three.plan({"b"}) == Plan(None, "waits: 2 of a, b do not have all that may have been acknowledged")
    three.acknowledged("b", 10)
    assert three.plan({"b"}).rule == Rule(("a", "b"), 2)


def test_the_last_of_three_holds_its_replies_and_the_last_of_two_goes_on() -> None:
    three = leader(("a", "b", "c"), 2, policy=THREE)
    assert three.plan(set()) == Plan(None, "only a would be left, less than 2 copies")
    assert not three.can_acknowledge(set())
    assert three.can_acknowledge({"c"})
    pair = leader(("a", "b"), 2)
    assert not pair.can_acknowledge(set())
    assert pair.plan(set()).rule == Rule(("a",), 1)


def test_both_rules_count_for_who_must_answer() -> None:
    alone = leader(("a",), 1)
    alone.acknowledged("b", 10)
    assert alone.needed_from() == ()
    alone.change_sent(Rule(("a", "b"), 2))
    assert alone.needed_from() == ("b",)
    assert not alone.can_acknowledge(set())


def test_a_renewed_term_settles_what_was_asked_in_the_old_one() -> None:
    pair = leader(("a", "b"), 2)
    pair.acknowledged("a", 20)
    pair.change_sent(Rule(("a",), 1))
    pair.term_renewed(9, InSyncSet(3, 0, ("a", "b"), 2))  # the arbiter compared this version
    assert (pair.term, pair.asked, pair.group_lsn()) == (9, None, 0)


def test_the_leader_cannot_leave_nor_ask_for_two_things_at_once() -> None:
    three = leader(("a", "b", "c"), 2)
    assert three.may_change_to(Rule(("b", "c"), 2)) == "the leader is a member of every set"
    assert three.may_change_to(Rule(("a",), 2)) == "2 copies cannot be on 1 instances"
    three.change_sent(Rule(("a",), 1))
    assert three.may_change_to(Rule(("a", "b"), 2)) == "another change is not settled"
    assert three.may_change_to(Rule(("a",), 1)) == ""


def test_every_plan_keeps_what_was_acknowledged() -> None:
    """All sets of three instances, all forced LSNs, whoever answers: a plan never names a rule that lacks something."""
    sets = [Rule(m, c) for n in (1, 2, 3) for m in combinations("abc", n) if "a" in m for c in range(1, n + 1)]
    plans = 0
    for rule, b, c, answering in product(sets, (None, 9, 10, 11), (None, 9, 10, 11), ((), "b", "c", "bc")):
        for policy in (PAIR, THREE):
            made = leader(rule.members, rule.copies, policy=policy)
            made.acknowledged("a", 11)
            for name, lsn in (("b", b), ("c", c)):
                if lsn is not None:
                    made.acknowledged(name, lsn)
            plan = made.plan(set(answering))
            if plan.rule is None:
                continue
            plans += 1
            assert "a" in plan.rule.members
            assert set(plan.rule.members) <= {"a", *answering}
            assert plan.rule.copies >= policy.least
            have = [x for x in plan.rule.members if made.forced.get(x, 0) >= max(10, made.group_lsn())]
            assert len(have) >= plan.rule.copies
    assert plans > 100


def test_policies_by_the_number_of_instances() -> None:
    assert [default_policy(n) for n in (1, 2, 3, 5)] == [
        CopiesPolicy(1, 1), CopiesPolicy(2, 1), CopiesPolicy(2, 2), CopiesPolicy(3, 3),
    ]  # fmt: skip
