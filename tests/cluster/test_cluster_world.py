"""Two full and five partial repositories under troubles: they agree in the end, and nothing removed comes back.

With LONG=1 in the environment it tries thousands of seeds.
"""

from __future__ import annotations

import os

import pytest
from tests.world.cluster import mutations
from tests.world.cluster.world import HOUR, ClusterWorld

from ostler.cluster import effects as fx
from ostler.cluster.record_codec import MalformedRecord
from ostler.cluster.repository import Repository

SEEDS = 3000 if os.environ.get("LONG") else 60
STEPS = 400 if os.environ.get("LONG") else 150


def run(world: ClusterWorld, steps: int) -> None:
    world.run(steps)
    world.settle()
    world.check_converged()
    world.check_forgotten()


@pytest.mark.parametrize("part", range(6))
def test_repositories_agree_in_the_end(part: int) -> None:
    counts: dict[str, int] = {}
    for seed in range(part * SEEDS // 6, (part + 1) * SEEDS // 6):
        world = ClusterWorld(seed)
        try:
            run(world, STEPS)
        except BaseException:
            print(f"ClusterWorld({seed}).run({STEPS})")
            print("\n".join(world.notes))
            raise
        for word, count in world.counts.items():
            counts[word] = counts.get(word, 0) + count
    missing = {"define", "remove", "ask", "refresh", "crash", "restart", "leave", "jump", "jump_one"} - counts.keys()
    assert not missing, "the troubles were too few"


def test_all_troubles_happen_somewhere() -> None:
    counts: set[str] = set()
    for seed in range(40):
        world = ClusterWorld(seed)
        world.run(150)
        counts |= world.counts.keys()
    wanted = {"make_clone", "forge", "lose_full_ones;", "force_remove", "promote", "demote", "rejoin"}
    assert wanted - counts == set()


@pytest.mark.parametrize(
    ("seed", "steps"),
    [
        pytest.param(1, 70, id="partial repositories that chose full ones which are gone"),
        pytest.param(3, 30, id="a queue of a clone that its original never had"),
        pytest.param(57, 150, id="a full repository that was down for 91 days before its first tick"),
        pytest.param(35, 150, id="a member whose last words reached one that is full no more"),
        pytest.param(117, 400, id="a record of a clone that was on its way for two months"),
        pytest.param(40, 150, id="a clock that jumped made records look older than they are"),
        pytest.param(309, 400, id="a topic that came after its owner was removed by force"),
        pytest.param(330, 400, id="a removed member whose full repositories are gone"),
        pytest.param(41, 150, id="a later version than the one that was removed by force"),
    ],
)
def test_seeds_that_found_something_once(seed: int, steps: int) -> None:
    run(ClusterWorld(seed), steps)


@pytest.mark.parametrize("mutation", mutations.ALL, ids=lambda each: each.__name__)
def test_a_broken_rule_is_found(mutation: type[Repository]) -> None:
    for seed in range(60):
        try:
            run(ClusterWorld(seed, mutation), 150)
        except (AssertionError, MalformedRecord):
            return
    pytest.fail(f"nobody noticed {mutation.__name__}")


def test_clones_are_noticed_when_both_have_published() -> None:
    noticed = made = 0
    for seed in range(40):
        world = ClusterWorld(seed)
        world.run(150)
        world.cuts.clear()
        if world.clone is None or world.are_full_ones_lost:
            continue
        made += 1
        for site in world.sites:
            if not site.is_up:
                site.restart(world.ms)
        world.deliver_all()
        world.ms += HOUR
        original = world.sites[world.clone.number - 1]
        for each in (world.clone, original):
            each.carry_out(each.repository.suspend(each.now(world.ms), True))
            world.deliver_all()
        # With a clock that went back the original's versions are older than those of the clone.
        reports = world.reports(fx.CLONED) + world.reports(fx.REPEATED)
        noticed += original.qmid in {each.qmid for each in reports}
    assert made > 3
    assert noticed == made
