"""A simulated recovery group of several instances under troubles: what the live site was told of, the group has.

With LONG=1 in the environment it tries a thousand seeds.
"""

from __future__ import annotations

import os

import pytest
from tests.world.replica.instance import RELAYS
from tests.world.replica.mutations import ACKNOWLEDGE_FOR_ONE, APPLY_FOR_THE_SITE
from tests.world.replica.two_sites import TwoSites

SEEDS = 1000 if os.environ.get("LONG") else 60
STEPS = 300 if os.environ.get("LONG") else 120


@pytest.mark.parametrize("part", range(6))
def test_the_recovery_group_has_what_it_acknowledged(part: int) -> None:
    acknowledged = terms = bases = 0
    for seed in range(part * SEEDS // 6, (part + 1) * SEEDS // 6):
        world = TwoSites(seed, live=1 + seed % 3, recovery=2 + seed % 2, trouble_percent=(4, 8, 12)[seed % 3])
        try:
            world.run(STEPS)
            if seed % 2 == 0:
                world.settle()
            world.lose_live_site()
        except BaseException:
            print(f"TwoSites({seed})")
            print("\n".join(world.notes))
            raise
        acknowledged += world.live.ledger.acknowledged
        terms += world.recovery.terms
        bases += sum(each.bases for each in world.recovery.instances)
    assert acknowledged > 100
    assert terms > 20, "hardly any other instance took the log"
    assert bases > 10


@pytest.mark.parametrize("mutation", [ACKNOWLEDGE_FOR_ONE, APPLY_FOR_THE_SITE])
def test_a_broken_rule_is_found(mutation: str) -> None:
    found = ""
    for seed in range(200):
        world = TwoSites(seed, 2, 3, frozenset([mutation]), 8)
        try:
            world.run(150)
            world.lose_live_site()
        except AssertionError as error:
            found = str(error) or "an assertion of the product"
            break
    assert found, f"nothing found that it does: {mutation}"
    print(found)


def test_another_instance_takes_the_log_when_the_first_one_dies() -> None:
    world = TwoSites(4711, 1, 3, trouble_percent=0)
    world.settle()
    world.live.works = True
    first = next(each for each in world.recovery.instances if each.state == RELAYS)
    first.lose_power(1)
    told = world.recovered
    assert told is not None
    for _ in range(200):
        world.step()
        relays = [each for each in world.recovery.instances if each.state == RELAYS]
        if relays and world.recovered is not None and world.recovered.end_lsn > told.end_lsn:
            break
    else:
        raise AssertionError("\n".join(world.notes))
    assert relays[0] is not first
    world.settle()
    assert first.bases == 0, "it has only to catch up"
    world.lose_live_site()
