"""Rates of messages as the reports count them, and steps that need more cores than there are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.lab.families.test_sequential_families import measured, sat

from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.loads import one_way, private_queues, publish_subscribe
from ostler.lab.families.one_way_experiment import (
    COST_PER_MEGABYTE,
    DELIVERIES,
    MEGABYTES,
    MESSAGES,
    OF_EACH_PUBLISHER,
    PUBLICATIONS,
    message_rates,
)
from ostler.lab.families.publish_points import publish_point
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.runner.contract import GET, PUT, ROUND_TRIP, ContestantKind, RunContext, Settings, WorkerCounts
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.steps import steps

SECOND = 1_000_000_000


def published(name: str, **chosen: str) -> LoadPoint:
    scenario = catalogue().find(name)
    points = {sweep: [text] for sweep, text in chosen.items()}
    (step,) = steps(scenario, catalogue().readiness(scenario), True, points)
    return publish_point(scenario, step)


def test_messages_count_when_published_and_when_received() -> None:
    recorder = PhaseRecorder(Timeline(0, SECOND, 3 * SECOND, 3 * SECOND))
    for operation, times in ((PUT, 10), (GET, 40)):
        for _ in range(times):
            recorder.operation(operation).record(SECOND, 2 * SECOND - 1)
        recorder.operation(operation).record(0, SECOND - 1)  # in the warm-up, which does not count
    point = published("pubsub-1n-np", subscribers="4", api="MQI")
    found = message_rates(point, [WorkerCounts(0, recorder.phases)], 2.0, 5_000_000)
    metrics = {each.name: each.value for each in found}
    assert metrics[MESSAGES] == 25
    assert metrics[PUBLICATIONS] == metrics[OF_EACH_PUBLISHER] == 5
    assert metrics[DELIVERIES] == 20
    assert metrics[MEGABYTES] == 20 * 2048 / (1 << 20)
    assert metrics[COST_PER_MEGABYTE] == 5_000 / 2 / metrics[MEGABYTES]


@pytest.mark.parametrize("name", ["pubsub-multi-cores-np", "zos-pq-np-out-scal"])
def test_steps_with_more_cores_than_there_are_are_declared(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    scenario = catalogue().find(name)
    planned = steps(scenario, catalogue().readiness(scenario))
    context = RunContext(scenario, Settings(), planned, tmp_path)
    experiment = (publish_subscribe if name.startswith("pubsub") else private_queues)(context)
    try:
        runnable = {step.number for step in planned if step.points["cores"] in ("all", 1, 2)}
        for contestant in experiment.contestants():
            assert contestant.steps is not None
            assert contestant.steps <= runnable
        assert any(each.what.startswith("The points with ") for each in experiment.deviations)
    finally:
        experiment.close()


def test_only_ostler_runs_steps_with_jms_messages(tmp_path: Path) -> None:
    scenario = catalogue().find("pubsub-1n-np")
    planned = steps(scenario, catalogue().readiness(scenario), is_quick=True)
    experiment = publish_subscribe(RunContext(scenario, Settings(), planned, tmp_path))
    try:
        jms = {step.number for step in planned if step.points["api"] == "JMS"}
        found = experiment.contestants()
        assert {each.kind for each in found if each.steps is not None and each.steps & jms} == {ContestantKind.OSTLER}
        assert any(each.kind is ContestantKind.LIMIT for each in found)
    finally:
        experiment.close()


def test_the_library_takes_no_part_where_it_lacks_the_option(tmp_path: Path) -> None:
    found = {}
    for name in ("zos-svrconn-sharecnv0", "zos-svrconn-sharecnv1"):
        scenario = catalogue().find(name)
        planned = steps(scenario, catalogue().readiness(scenario), is_quick=True)
        experiment = one_way(RunContext(scenario, Settings(limits=False), planned, tmp_path))
        found[name] = [each.name for each in experiment.contestants()]
        experiment.close()
    assert found == {
        "zos-svrconn-sharecnv0": ["Ostler", "Ostler, ostler.connect"],
        "zos-svrconn-sharecnv1": ["Ostler"],
    }


@pytest.mark.slow
def test_data_that_passes_through_is_told_in_megabytes(tmp_path: Path) -> None:
    with sat("zos-svrconn-sharecnv0", tmp_path, {"queues": ["2"]}) as (experiment, planned):
        (point,) = measured(experiment, experiment.contestants()[0], planned[0], 0.3)
        assert point.results[MEGABYTES] > 0
        assert point.results[COST_PER_MEGABYTE] > 0
        assert all(each.agrees for each in point.settled)


@pytest.mark.slow
def test_private_queues_run_on_one_core_with_several_applications(tmp_path: Path) -> None:
    chosen = {"queue_pairs": ["2"], "tasks_per_pair": ["4"], "cores": ["1"]}
    with sat("zos-pq-np-out-scal", tmp_path, chosen) as (experiment, planned):
        (point,) = measured(experiment, experiment.contestants()[0], planned[0], 0.3)
        assert (point.point_spec.clients, point.point_spec.parameters["responders"]) == (8, "8")
        assert point.operations()[ROUND_TRIP] > 0
        assert all(each.agrees for each in point.settled)
