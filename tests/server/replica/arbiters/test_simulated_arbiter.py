"""The faults of the simulated arbiter, and what callers make of them."""

from __future__ import annotations

import pytest
from tests.world.replica.simulated_arbiter import ArbiterStore, SimulatedArbiter

from ostler.model.arbiter import FOLLOWING, ArbiterUnavailable, Member, NameTaken
from ostler.replica.membership import CopiesPolicy, LeaderMembership, Rule

A = Member("a", "a(1)", 1, 100, FOLLOWING)
B = Member("b", "b(1)", 1, 100, FOLLOWING)


def led(store: ArbiterStore) -> tuple[SimulatedArbiter, int]:
    one = SimulatedArbiter(store)
    one.register(A)
    one.found(("a", "b"), 2)
    term = lead(one, "a")
    assert term is not None
    return one, term


def lead(one: SimulatedArbiter, name: str) -> int | None:
    view = one.read()
    assert view.in_sync is not None
    return one.try_lead(name, view.in_sync.version, view.last_term)


def test_a_lost_request_did_not_happen_and_a_lost_answer_did() -> None:
    store = ArbiterStore()
    one, term = led(store)
    assert store.in_sync is not None
    version = store.in_sync.version
    one.lose_next_request()
    one.lose_next_answer()
    for members in (("a", "b"), ("a",)):
        with pytest.raises(ArbiterUnavailable):
            one.set_in_sync(term, version, ("a",), 1)
        assert store.in_sync.members == members


def test_a_change_whose_answer_was_lost_is_settled_by_asking_again() -> None:
    """The leader obeys both rules meanwhile; the repeated request fails, and a read shows why."""
    store = ArbiterStore()
    one, term = led(store)
    view = one.read()
    assert view.in_sync is not None
    leader = LeaderMembership("a", term, view.in_sync, 100, CopiesPolicy(2, 1))
    leader.acknowledged("a", 200)
    rule = Rule(("a",), 1)
    leader.change_sent(rule)
    one.delay_next_request()
    with pytest.raises(ArbiterUnavailable):
        one.set_in_sync(term, leader.version, rule.members, rule.copies)
    seen = one.read().in_sync
    assert seen is not None
    leader.set_seen(seen)
    assert leader.group_lsn() == 0  # it may still arrive
    assert one.deliver_delayed() == 1
    assert one.set_in_sync(term, leader.version, rule.members, rule.copies) is None
    seen = one.read().in_sync
    assert seen is not None
    leader.set_seen(seen)
    assert leader.group_lsn() == 200


def test_a_try_that_arrives_late_succeeds_only_if_nobody_has_led() -> None:
    store = ArbiterStore()
    one, term = led(store)
    other = SimulatedArbiter(store)
    other.register(B)
    one.resign(term)
    other.delay_next_request()
    with pytest.raises(ArbiterUnavailable):
        other.try_lead("b", store.in_sync.version if store.in_sync else 0, term)
    again = lead(one, "a")
    assert again is not None
    one.resign(again)
    other.deliver_delayed()
    assert store.leader is None


def test_outages_and_cuts_and_time() -> None:
    store = ArbiterStore()
    one, term = led(store)
    other = SimulatedArbiter(store)
    other.register(B)
    one.is_cut = True
    with pytest.raises(ArbiterUnavailable):
        one.read()
    store.advance(4.9)
    assert other.read().leader is not None
    assert other.keep_alive() is not None
    store.advance(0.2)
    assert other.wait_change(0.0)
    assert other.read().leader is None
    later = lead(other, "b")
    assert later is not None
    assert later > term
    store.is_down = True
    with pytest.raises(ArbiterUnavailable):
        other.read()
    store.advance(60.0)
    store.restart()  # leases have their full time again
    assert other.read().leader is not None
    store.expires_late_seconds = 3.0
    store.advance(6.0)
    assert other.read().leader is not None
    store.advance(2.0)
    assert other.read().leader is None


def test_a_killed_process_does_not_hold_what_it_was_given() -> None:
    store = ArbiterStore()
    one, _ = led(store)
    session = one.session()
    one.forget()
    with pytest.raises(NameTaken):  # until the lease of the process before is over
        one.register(A)
    leader = one.read().leader
    assert leader is not None
    assert leader.session == session != one.session()


def test_a_store_that_lost_its_memory_lets_nobody_lead() -> None:
    store = ArbiterStore()
    one, _ = led(store)
    store.lose_memory()
    view = one.read()
    assert (view.in_sync, view.leader, view.last_term) == (None, None, 0)
    assert one.keep_alive() is None
