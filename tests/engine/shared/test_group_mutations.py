"""The checks of a day notice a facility without fences, and one in which two members recover a third."""

from __future__ import annotations

import pytest
from tests.world.group.group_day import GroupDay
from tests.world.group.wild_facility import WildFacility

SEEDS = range(6)


def run_day(seed: int, facility: WildFacility) -> None:
    day = GroupDay(seed, facility=facility)
    for _ in range(3):
        day.run(1500)
        day.check_numbers()
    assert not day.left_units()


def caught(has_fence: bool, has_claims: bool) -> tuple[int, WildFacility]:
    """Run days until one is wrong. Returns how many were run, and the facility of the last one."""
    for seed in SEEDS:
        facility = WildFacility(seed, has_fence, has_claims)
        try:
            run_day(seed, facility)
        except AssertionError:
            return seed + 1, facility
    pytest.fail(f"{len(SEEDS)} days went well")


@pytest.mark.parametrize("seed", SEEDS)
def test_late_programs_of_the_dead_change_nothing(seed: int) -> None:
    facility = WildFacility(seed)
    run_day(seed, facility)
    assert facility.late_runs > 10


def test_no_fence_is_noticed() -> None:
    _, facility = caught(has_fence=False, has_claims=True)
    assert facility.late_runs > 0


def test_two_recoverers_are_noticed() -> None:
    _, facility = caught(has_fence=True, has_claims=False)
    assert facility.stolen > 0
