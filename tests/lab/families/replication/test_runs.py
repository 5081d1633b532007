"""Experiments with copies from end to end: real queue managers that are killed, clients that connect again, drivers and
limits, with short windows. The group is one that starts again, so that nothing waits for the product."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.lab.families.replication.restarting_group import RestartingGroup
from tests.lab.runner.simulated_experiment import HeardView

from ostler.client.api.connection import connect
from ostler.client.api.message import Message
from ostler.lab.families.replication import numbered_clients as clients
from ostler.lab.families.replication.failover import FailoverExperiment
from ostler.lab.families.replication.replicated_loads import BACKLOG, CopiesExperiment, ReplicationExperiment
from ostler.lab.load.drivers.probe_drivers import COMMIT
from ostler.lab.runner.contract import QUICK, PointFailed
from ostler.lab.runner.limits import FORCES, REPLICATED_FORCES
from ostler.lab.runner.queue_managers.plan import CHANNEL, QueueManagerPlan, pair_commands
from ostler.lab.runner.replication.by_commands import start_group
from ostler.lab.runner.replication.port import GroupPlan, ReplicatedQueueManager
from ostler.lab.runner.runner import MakeExperiment, run_scenario
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.store.courses import (
    DOUBLED,
    IN_SYNC,
    LEADS,
    LOST,
    MOMENT,
    NO_SERVICE,
    NOT_SENT,
    SWITCHED,
    SWITCHED_BACK,
    TENTH,
)
from ostler.lab.store.manifest import RunState
from ostler.lab.store.points import MeasuredPoint, measured_points
from ostler.lab.store.roles import FOLLOWER, LABORATORY, LEADER, PROBE, QUEUE_MANAGER, RECOVERY, role_at
from ostler.lab.store.run_reader import StoredRun, read_run
from ostler.lab.store.segments import WARM_UP

SETTINGS = replace(
    QUICK, warm_up_seconds=0.1, measured_seconds=0.4, cool_down_seconds=0.1, repetitions=1, peers=(), libraries=False
)


class Started:
    """Starts groups, and keeps them to be looked at."""

    def __init__(self) -> None:
        self.groups: list[RestartingGroup] = []

    def __call__(self, root: Path, plan: GroupPlan) -> ReplicatedQueueManager:
        self.groups.append(RestartingGroup(root, plan))
        return self.groups[-1]


def run(
    tmp_path: Path, name: str, make: MakeExperiment, **chosen: str
) -> tuple[StoredRun, list[MeasuredPoint], HeardView]:
    view = HeardView()
    scenario = replace(catalogue().find(name), needs=(), parts=())
    if "window_seconds" in scenario.parameters:
        scenario = replace(scenario, parameters={**scenario.parameters, "quick_window_seconds": 4})
    wanted = {sweep: value.split("|") for sweep, value in chosen.items()}
    found = read_run(run_scenario(scenario, SETTINGS, wanted, tmp_path, view, make=make))
    assert view.failures == []
    assert found.manifest.state is RunState.COMPLETE, found.manifest.reason
    return found, measured_points(found), view


def figures(found: StoredRun) -> dict[str, float]:
    return {row["name"]: float(row["value"]) for row in found.table("statistic").to_pylist()}


@pytest.mark.slow
def test_the_loss_of_the_leader_under_load(tmp_path: Path) -> None:
    started = Started()
    make = partial(FailoverExperiment, start=started)
    chosen = {"clients": "3", "event": "killed", "instances": "3", "arbiter": "file"}
    found, (point,), _ = run(tmp_path, "ha-failover", make, **chosen)
    told = figures(found)
    assert told[clients.ACKNOWLEDGED] > 50
    assert (told[LOST], told[DOUBLED], told[clients.UNKNOWN]) == (0, 0, 0)
    assert told[clients.RECONNECTIONS] >= 6, "each producer and each consumer"
    # The next leader has to be started, so that nothing is acknowledged for a while; but not for longer than that.
    assert 0.01 < told[NO_SERVICE] <= told[LEADS] + 1.5
    assert IN_SYNC in told
    assert started.groups[0].done == ["kill alpha", "start alpha", "in sync"]
    assert point.operations["put"].failed > 0, "clients that found nobody"
    seconds = {row["second"] for row in found.table("operation").to_pylist() if row["operation"] == "put"}
    assert len(seconds) >= 4
    assert role_at(QUEUE_MANAGER, LEADER) in point.cpu_us
    course = [row for row in found.table("statistic").to_pylist() if row["source"] == TENTH]
    assert sorted(row["position"] for row in course) == list(range(40)), "four seconds"
    moments = {row["name"]: row["value"] for row in found.table("statistic").to_pylist() if row["source"] == MOMENT}
    assert set(moments) == {"leader killed", "another leads", "started again", "in sync"}
    assert 1.3 <= moments["leader killed"] < moments["another leads"] <= moments["started again"]
    nobody = sum(row["value"] == 0 for row in course)
    assert nobody >= int(told[NO_SERVICE] * 10) - 1, "the gap is in the course"


@pytest.mark.slow
def test_a_leader_that_ends_in_good_order(tmp_path: Path) -> None:
    started = Started()
    chosen = {"clients": "2", "event": "ended in good order", "instances": "2", "arbiter": "file"}
    found, _, _ = run(tmp_path, "ha-failover", partial(FailoverExperiment, start=started), **chosen)
    told = figures(found)
    assert (told[LOST], told[DOUBLED]) == (0, 0)
    assert started.groups[0].done == ["switch over", "start alpha", "in sync"]


@pytest.mark.slow
def test_an_instance_that_comes_back(tmp_path: Path) -> None:
    started = Started()
    chosen = {"away_seconds": "2", "instance": "new follower|leader"}
    found, points, _ = run(tmp_path, "ha-rejoin", partial(FailoverExperiment, start=started), **chosen)
    assert len(points) == 2
    assert started.groups[0].done == ["kill beta", "start beta anew", "in sync"]
    assert started.groups[1].done == ["kill alpha", "start alpha", "in sync"]
    lost = [row["value"] for row in found.table("statistic").to_pylist() if row["name"] == LOST]
    assert lost == [0.0, 0.0]


@pytest.mark.slow
def test_the_other_site_takes_over(tmp_path: Path) -> None:
    started = Started()
    chosen = {"clients": "2", "event": "planned switch|lost site", "added_latency_ms": "0"}
    found, _, view = run(tmp_path, "dr-switch", partial(FailoverExperiment, start=started), **chosen)
    planned, lost = (group.done for group in started.groups)
    assert planned == ["planned switch", "in sync", "planned switch"]
    assert lost == ["kill alpha", "unplanned switch"]
    told = figures(found)
    assert told[NOT_SENT] == 4096
    assert {SWITCHED, SWITCHED_BACK} <= set(told)
    assert not [each for each in view.notes if "are lost" in each]


@pytest.mark.slow
def test_copies_beside_none_and_the_limit_of_two_logs(tmp_path: Path) -> None:
    started = Started()
    chosen = {"requesters": "2", "message_bytes": "256", "replication": "none|both"}
    found, points, _ = run(tmp_path, "appl-hadr1", partial(ReplicationExperiment, start=started), **chosen)
    by_name = {(point.contestant, point.parameters.get("replication")): point for point in points}
    assert set(by_name) >= {("Ostler", "none"), ("Ostler", "both"), (REPLICATED_FORCES.name, "both")}
    assert (REPLICATED_FORCES.name, "none") not in by_name, "nobody waits for a second log there"
    assert (FORCES.name, "none") in by_name
    assert (FORCES.name, "both") not in by_name, "two logs are the nearer limit"
    limit = by_name[REPLICATED_FORCES.name, "both"]
    assert limit.operations[COMMIT].count > 0
    assert set(limit.cpu_us) == {role_at(PROBE, LEADER), role_at(PROBE, FOLLOWER)}, "sampled apart"
    assert [each.group.has_recovery for each in started.groups] == [True]
    for point in points:
        assert "counts-differ" not in " ".join(point.flags), point
    assert figures(found)[BACKLOG] == 4096


@pytest.mark.slow
def test_two_queue_managers_each_with_copies_over_a_distance(tmp_path: Path) -> None:
    """The report has ten; they differ in nothing but their number."""
    started = Started()
    scenario = catalogue().find("appl-ha2-latency")
    scenario = replace(scenario, needs=(), queue_managers=(2,), parameters={**scenario.parameters, "queue_pairs": 4})
    chosen = {"requesters": ["4"], "message_bytes": ["256"], "added_latency_ms": ["0", "5", "10"]}
    make = partial(ReplicationExperiment, start=started)
    found = read_run(run_scenario(scenario, SETTINGS, chosen, tmp_path, HeardView(), make=make))
    assert found.manifest.state is RunState.COMPLETE, found.manifest.reason
    assert [(each.name, each.group.round_trip_ms) for each in started.groups] == [
        ("LAB0", 0), ("LAB1", 0), ("LAB0", 5), ("LAB1", 5),
    ]  # fmt: skip
    assert started.groups[2].distances[-1] == (10, 0), "the same instances are moved further away"
    limits = [point for point in measured_points(found) if point.contestant == REPLICATED_FORCES.name]
    near, _, far = sorted(limits, key=lambda point: int(point.parameters["added_latency_ms"]))
    assert near.operations[COMMIT].mean_ns or 0.0 > 0
    warm_up = {
        (row["step"], row["contestant"]): row["seconds"]
        for row in found.table("phase").to_pylist()
        if row["phase"] == WARM_UP
    }
    # Two queue managers with two pairs each: files of queues are made at their first use.
    assert [round(warm_up[number, "Ostler"], 2) for number in range(3)] == [0.12, 0.12, 0.1]
    assert (far.operations[COMMIT].mean_ns or 0.0) >= 10_000_000, "the limit is as far apart"


_ALL_OF_OURS = {"Ostler", "Ostler, acknowledged in memory", "Ostler without copies"}


@pytest.mark.slow
def test_contestants_with_other_copies_take_turns_and_stay(tmp_path: Path) -> None:
    started = Started()
    make = partial(CopiesExperiment, start=started)
    scenario = catalogue().find("ha-three-copies")
    settings = replace(SETTINGS, repetitions=2, limits=False)
    found = read_run(run_scenario(scenario, settings, {"requesters": ["2"]}, tmp_path, HeardView(), make=make))
    assert found.manifest.state is RunState.COMPLETE, found.manifest.reason
    assert {point.contestant for point in measured_points(found)} == _ALL_OF_OURS
    assert [each.group.acknowledges_from_memory for each in started.groups] == [False, True]
    assert {each.group.instances for each in started.groups} == {3}


@pytest.mark.slow
def test_a_pair_made_by_commands(tmp_path: Path) -> None:
    """The same commands that an administrator uses, with a relay between the instances."""
    plan = GroupPlan(QueueManagerPlan(commands=pair_commands(1)), round_trip_ms=1)
    group = start_group(tmp_path / "group", plan)
    try:
        first = group.leader()
        assert len(group.followers()) == 1
        assert group.address in group.addresses
        group.kill(first)
        second = group.wait_for_leader(60, other_than=first)
        assert second != first
        group.start(first)
        group.wait_until_in_sync()
        assert group.address == group.addresses[1], "each listens at an address of its own"
        assert {each.name for each in group.metrics()} >= {"puts", "forces"}
        roles = [each.role for each in group.watched()]
        assert sorted(roles) == sorted(
            [LABORATORY, LABORATORY, role_at(QUEUE_MANAGER, FOLLOWER), role_at(QUEUE_MANAGER, LEADER)]
        )
        group.set_distances(80, 0)
        names = ",".join(f"{host}({port})" for host, port in group.addresses)
        with connect(group.name, names, channel=CHANNEL) as connection, connection.open(clients.QUEUE, "w") as queue:
            began = time.perf_counter()
            queue.put(Message(b"far", persistent=True), syncpoint=False)
            assert time.perf_counter() - began >= 0.08, "it waits for the other instance"
        with pytest.raises(PointFailed):
            group.wait_for_leader(0.1, other_than=group.leader())
    finally:
        group.end()


@pytest.mark.slow
def test_a_recovery_site_made_by_commands(tmp_path: Path) -> None:
    plan = GroupPlan(QueueManagerPlan(commands=pair_commands(1)), instances=1, copies=1, has_recovery=True)
    group = start_group(tmp_path / "group", plan)
    try:
        first, here = group.leader(), group.address
        assert group.recovery_backlog_bytes() == 0
        roles = {each.role for each in group.watched()}
        assert roles == {role_at(QUEUE_MANAGER, LEADER), role_at(QUEUE_MANAGER, RECOVERY)}
        group.switch_to_other_site(is_planned=True)
        assert group.wait_for_leader(60, other_than=first) != first
        assert group.address != here
        assert group.address in group.addresses
    finally:
        group.end()


@pytest.mark.slow
def test_a_failover_of_real_instances(tmp_path: Path) -> None:
    chosen = {"clients": "2", "event": "killed", "instances": "2", "arbiter": "file"}
    found, (point,), _ = run(tmp_path, "ha-failover", FailoverExperiment, **chosen)
    told = figures(found)
    assert told[clients.ACKNOWLEDGED] > 20
    assert (told[LOST], told[DOUBLED], told[clients.UNKNOWN]) == (0, 0, 0)
    assert {LEADS, IN_SYNC, NO_SERVICE} <= set(told)
    assert {role_at(QUEUE_MANAGER, LEADER), role_at(QUEUE_MANAGER, FOLLOWER)} <= set(point.cpu_us)
