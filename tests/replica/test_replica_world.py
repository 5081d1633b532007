"""Two and three simulated instances under troubles: what was acknowledged stays, once. Broken rules are found.

With LONG=1 in the environment it tries thousands of seeds, which takes an hour.
"""

from __future__ import annotations

import os

import pytest
from tests.world.replica.instance import BROKEN, FOLLOWS, LEADS, Instance
from tests.world.replica.mutations import ALL, NO_TERM_CHECK
from tests.world.replica.world import ReplicaWorld

SEEDS = 2000 if os.environ.get("LONG") else 150
STEPS = 300 if os.environ.get("LONG") else 90


@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("instances", [2, 3])
def test_what_was_acknowledged_is_there_once(instances: int, part: int) -> None:
    acknowledged = lives = bases = 0
    for seed in range(part * SEEDS // 10, (part + 1) * SEEDS // 10):
        world = ReplicaWorld(seed, instances, trouble_percent=(4, 8, 12)[seed % 3])
        try:
            world.run(STEPS)
            world.settle()
        except BaseException:
            print(f"ReplicaWorld({seed}, {instances}, trouble_percent={world.trouble_percent}).run({STEPS})")
            print("\n".join(world.notes))
            raise
        acknowledged += world.ledger.acknowledged
        lives += world.terms
        bases += sum(each.bases for each in world.instances)
    assert acknowledged > 100
    assert lives > 10, "there were hardly any failovers"
    assert bases > 0, "nobody took a base"


@pytest.mark.parametrize(
    ("seed", "instances"),
    [
        pytest.param(7, 3, id="files of a base that speak of the middle of a block"),
        pytest.param(47, 3, id="a checkpoint of a base whose log begins behind the known end"),
        pytest.param(110, 3, id="a base from a leader that restarted at a prepared unit"),
        pytest.param(3322, 3, id="a leader whose log is full when it begins"),
        pytest.param(1068, 2, id="the same, of a pair"),
    ],
)
def test_seeds_that_found_something_once(seed: int, instances: int) -> None:
    world = ReplicaWorld(seed, instances, trouble_percent=(4, 8, 12)[seed % 3])
    world.run(300)
    world.settle()


@pytest.mark.parametrize("mutation", [each for each in ALL if each != NO_TERM_CHECK])
def test_a_broken_rule_is_found(mutation: str) -> None:
    found = ""
    for seed in range(200):
        world = ReplicaWorld(seed, 2 + seed % 2, frozenset([mutation]), 8)
        try:
            world.run(200)
            world.settle()
        except AssertionError as error:
            found = str(error) or "an assertion of the product"
            break
    assert found, f"nothing found that it does: {mutation}"


def in_sync_world(instances: int, mutations: frozenset[str] = frozenset()) -> tuple[ReplicaWorld, Instance]:
    """A world without troubles of its own in which all are in sync, and its leader."""
    world = ReplicaWorld(4711, instances, mutations, 0)
    world.network.delay_seconds = 0.0
    for _ in range(200):
        world.step()
        leaders = [each for each in world.instances if each.state == LEADS]
        side = leaders[0].side if leaders else None
        if side is not None and len(side.membership.rule.members) == instances:
            return world, leaders[0]
    raise AssertionError("they do not get in sync")


def leader_other_than(world: ReplicaWorld, old: Instance, steps: int = 100) -> Instance:
    for _ in range(steps):
        world.step()
        for each in world.instances:
            if each.state == LEADS and each is not old:
                return each
    raise AssertionError("nobody else leads")


def a_sleeper_wakes_with_an_old_term(mutations: frozenset[str]) -> None:
    """The leader sleeps beyond its lease; two elect another one that reaches nobody; the sleeper reaches one of them.

    Then the sleeper's machine burns down.
    """
    world, old = in_sync_world(3, mutations)
    old.arbiter.is_cut = True
    old.paused_until = world.now + 3.0
    others = [each for each in world.instances if each is not old]
    for one, another in (others, others[::-1]):
        world.network.cut.add((one.name, another.name))
    new = leader_other_than(world, old, 29)
    assert new in others
    world.network.cut.add((old.name, new.name))
    world.network.cut.add((new.name, old.name))
    for _ in range(40):
        world.step()
    old.stop()
    old.state = BROKEN
    world.settle()


def test_who_promised_acknowledges_nothing_of_the_old_term() -> None:
    a_sleeper_wakes_with_an_old_term(frozenset())


def test_without_the_promise_the_sleeper_would_answer() -> None:
    with pytest.raises(AssertionError):
        a_sleeper_wakes_with_an_old_term(frozenset([NO_TERM_CHECK]))


def test_an_old_leader_comes_back_with_a_tail_and_needs_no_base() -> None:
    world, old = in_sync_world(3)
    # Nothing leaves the leader any more, but it goes on for a moment, and forces what nobody gets.
    for other in world.instances:
        if other is not old:
            world.network.cut.add((old.name, other.name))
    for _ in range(5):
        world.step()
    assert old.leading is not None
    assert old.leading.log.forced_lsn() > old.leading.log.durable_lsn()
    tail = old.leading.log.forced_lsn()
    old.lose_power(1)
    new = leader_other_than(world, old)
    assert new.side is not None
    assert new.side.lives[-1].start_lsn < tail
    world.settle()
    assert old.state == FOLLOWS


def test_leaders_change_fifty_times_without_a_base() -> None:
    world, leader = in_sync_world(3)
    for number in range(50):
        leader.lose_power(number)
        new = leader_other_than(world, leader)
        leader.start()
        for _ in range(100):
            world.step()
            if new.side is not None and len(new.side.membership.rule.members) == 3:
                break
        leader = new
    world.settle()
    assert world.terms >= 51


def test_a_pair_goes_on_alone_once_the_arbiter_has_noted_it() -> None:
    world, leader = in_sync_world(2)
    other = next(each for each in world.instances if each is not leader)
    before = world.ledger.acknowledged
    other.stop()
    for _ in range(40):
        world.step()
    assert leader.side is not None
    assert leader.side.membership.rule.members == (leader.name,)
    assert world.ledger.acknowledged > before
    world.settle()


def test_replies_are_held_without_arbiter_and_copy_and_none_is_lost() -> None:
    world, leader = in_sync_world(2)
    other = next(each for each in world.instances if each is not leader)
    world.store.is_down = True
    for _ in range(100):
        world.step()
    assert leader.state == LEADS, "the arbiter's absence alone is no reason to stop"
    other.stop()
    world.step()
    held = world.ledger.acknowledged
    for _ in range(10):
        world.step()
    assert world.ledger.acknowledged == held
    world.store.is_down = False
    other.start()
    for _ in range(60):
        world.step()
    assert world.ledger.acknowledged > held
    world.settle()
