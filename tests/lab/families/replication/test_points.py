"""Scenarios with copies as loads and plans: every printed point, the load of the report, and the copies of each."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from ostler.lab.families.replication.points import ReplicatedPoint, Replication, is_replicated, replicated_point
from ostler.lab.families.replication.stories import story_of
from ostler.lab.runner.contract import PUT
from ostler.lab.runner.replication.port import ArbiterKind, GroupPlan
from ostler.lab.scenarios.families import FAMILIES
from ostler.lab.scenarios.features import Feature, FeatureState, Readiness, ReadinessVerdict, readiness
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Binding, Scenario
from ostler.lab.scenarios.steps import Step, steps

REPORTED = [each for each in catalogue().scenarios.values() if each.family == "replication" and each.source.figures]
OURS = ("ha-failover", "ha-rejoin", "dr-switch")
READY = Readiness(ReadinessVerdict.READY, (), (), ())
SIZES = (256, 2048, 20480, 204800)
WINDOW = 30.0


def points_of(scenario: Scenario) -> dict[tuple[object, ...], ReplicatedPoint]:
    found = steps(scenario, READY)
    return {tuple(step.points.values()): replicated_point(scenario, step) for step in found}


def step(**points: int | str) -> Step:
    return Step(0, 0, points)


def test_the_report_has_eight_scenarios() -> None:
    assert sorted(each.id for each in REPORTED) == [
        "appl-dr1", "appl-dr2", "appl-dr2-latency", "appl-ha1", "appl-ha2", "appl-ha2-latency", "appl-hadr1",
        "appl-hadr2",
    ]  # fmt: skip
    assert sum(each.source.figures for each in REPORTED) == 389


@pytest.mark.parametrize("scenario", REPORTED, ids=lambda each: each.id)
def test_every_printed_point_is_a_step_with_the_load_of_the_report(scenario: Scenario) -> None:
    found = points_of(scenario)
    printed = [sweep.printed or sweep.values for sweep in scenario.sweeps]
    for point in product(*printed):
        load = found[point]
        ten = scenario.queue_managers == (10,)
        assert load.managers == (10 if ten else 1)
        assert load.pairs == 10, "in each queue manager"
        assert load.responders == 300
        assert load.persistent
        assert (load.requester_binding, load.responder_binding) == (Binding.CLIENT, Binding.CLIENT)
        assert load.body_bytes in SIZES
        assert (load.requesters, load.body_bytes) == (point[0], point[2])
        assert load.manager.conversations == 1
        assert load.manager.stanzas["TuningParameters"]["DefaultPQBufferSize"] == "10485760"
    assert {load.requesters for load in found.values()} >= {1}, "the latency of one requester is in every row"
    assert {load.body_bytes for load in found.values()} == set(SIZES)
    shapes = [plan.shape if (plan := load.group_plan()) is not None else None for load in found.values()]
    assert sum(one != other for one, other in pairwise(shapes)) == 1, "queue managers are started twice in a run"


@pytest.mark.parametrize(
    ("name", "replication", "instances", "has_recovery"),
    [
        ("appl-ha1", "synchronous", 2, False),
        ("appl-ha2", "synchronous", 2, False),
        ("appl-dr1", "asynchronous", 1, True),
        ("appl-dr2", "asynchronous", 1, True),
        ("appl-hadr1", "both", 2, True),
        ("appl-hadr2", "both", 2, True),
    ],
)
def test_copies_stand_beside_none(name: str, replication: str, instances: int, has_recovery: bool) -> None:
    scenario = catalogue().find(name)
    found = {load.replication: load for load in points_of(scenario).values()}
    assert set(found) == {Replication.NONE, Replication(replication)}
    assert found[Replication.NONE].group_plan() is None
    plan = found[Replication(replication)].group_plan()
    assert plan is not None
    assert (plan.instances, plan.copies, plan.has_recovery) == (instances, instances, has_recovery)
    assert (plan.round_trip_ms, plan.recovery_round_trip_ms) == (0, 0)
    logs = {load.logs for load in found.values()}
    assert logs == {found[Replication.NONE].managers * (instances + has_recovery)}, "logs are of one size in all steps"


def test_a_distance_is_between_the_instances_or_to_the_other_site() -> None:
    near = [load.group_plan() for load in points_of(catalogue().find("appl-ha2-latency")).values()]
    assert {each.round_trip_ms for each in near if each} == {0, 1, 2, 5, 10}
    assert {(each.instances, each.has_recovery, each.recovery_round_trip_ms) for each in near if each} == {
        (2, False, 0)
    }
    far = [load.group_plan() for load in points_of(catalogue().find("appl-dr2-latency")).values()]
    assert {each.recovery_round_trip_ms for each in far if each} == {0, 10, 20, 50, 100}
    assert {(each.instances, each.has_recovery, each.round_trip_ms) for each in far if each} == {(1, True, 0)}


def test_generations_copy_one_workload_of_three() -> None:
    scenario = catalogue().find("appl-generation-comparison")
    assert is_replicated(scenario)
    found = {str(key[1]): load for key, load in points_of(scenario).items()}
    assert {name: load.replication.value for name, load in found.items()} == {
        "nonpersistent 2 KB": "none",
        "persistent 20 KB": "none",
        "copied persistent 20 KB": "synchronous",
    }
    copied = found["copied persistent 20 KB"]
    assert (copied.body_bytes, copied.persistent, copied.managers) == (20480, True, 10)
    assert not is_replicated(catalogue().find("appl-c2"))


def test_three_copies_of_which_two_force() -> None:
    scenario = catalogue().find("ha-three-copies")
    plan = replicated_point(scenario, step(requesters=10)).group_plan()
    assert plan is not None
    assert (plan.instances, plan.copies, plan.has_recovery) == (3, 2, False)
    one_way = replicated_point(catalogue().find("ha-three-copies-one-way"), step(requesters=50))
    assert (one_way.requesters, one_way.main_operation, one_way.kind) == (50, PUT, "one-way")


def test_scenarios_wait_for_the_product_and_say_what_for() -> None:
    """They can run as soon as the features are there: the laboratory has everything else."""
    known = catalogue()
    for scenario in (*REPORTED, *(known.find(each) for each in OURS)):
        assert FAMILIES[scenario.family].runner
        missing = {
            name: Feature(name, name, FeatureState.MISSING, "", "replication")
            for name in ("appliance-ha", "appliance-dr", "appliance-ha-dr")
        }
        waiting = readiness(scenario, {**known.features, **missing})
        assert waiting.verdict is ReadinessVerdict.NEEDS_FEATURES
        assert waiting.needs() == ("replication",)
        here = {name: Feature(name, name, FeatureState.HERE, "") for name in missing}
        assert readiness(scenario, {**known.features, **here}).can_run, scenario.id


class TestStories:
    def plan(self, name: str, **points: int | str) -> GroupPlan:
        return story_of(catalogue().find(name), step(**points), WINDOW).plan

    def test_a_failover(self) -> None:
        plan = self.plan("ha-failover", clients=4, event="killed", instances=3, arbiter="etcd")
        assert (plan.instances, plan.copies, plan.arbiter, plan.lease_seconds) == (3, 2, ArbiterKind.ETCD, 2)
        pair = self.plan("ha-failover", clients=4, event="ended in good order", instances=2, arbiter="file")
        assert (pair.instances, pair.copies, pair.has_recovery) == (2, 2, False)

    def test_an_instance_that_is_away_for_longer_has_a_longer_window(self) -> None:
        scenario = catalogue().find("ha-rejoin")
        short, long = (
            story_of(scenario, step(away_seconds=seconds, instance="follower"), WINDOW).seconds_least
            for seconds in (2, 60)
        )
        assert long - short == 58

    def test_a_switch_of_sites(self) -> None:
        scenario = catalogue().find("dr-switch")
        planned = story_of(scenario, step(clients=1, event="planned switch", added_latency_ms=20), WINDOW)
        assert (planned.plan.instances, planned.plan.has_recovery) == (1, True)
        assert planned.plan.recovery_round_trip_ms == 20
        assert planned.is_lossless
        assert len(planned.chapters) == 2, "there and back"
        lost = story_of(scenario, step(clients=1, event="lost site", added_latency_ms=0), WINDOW)
        assert not lost.is_lossless

    @pytest.mark.parametrize("name", OURS)
    def test_every_step_has_a_story(self, name: str) -> None:
        scenario = catalogue().find(name)
        for each in steps(scenario, READY):
            assert story_of(scenario, each, WINDOW).chapters

    def test_an_event_that_nobody_knows_is_refused(self) -> None:
        with pytest.raises(ValueError, match="ha-failover has no event 'eaten'"):
            story_of(catalogue().find("ha-failover"), step(clients=1, event="eaten"), WINDOW)
