"""Loads of applications inside the queue manager's process: counted, committed, rated, ended and refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.driver_process import new_load
from ostler.lab.load.drivers.trusted_load import TrustedLoad
from ostler.lab.load.spec import EVERYBODY, MQ_VERBS, ONE_WAY, SESSIONS, TRUSTED, LoadSpec
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import CONNECT, ROUND_TRIP, SESSION, ProgressSample, WorkerCounts
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan, pair_commands
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.server.config.qm_ini import LogSection

SMALL = LogSection(primary_files=3, secondary_files=1, file_pages=512)
PLAN = LoadSpec(TRUSTED, "", range(2), range(3), 1, 100, False, goes_round=False)


class Unheard:
    def on_progress(self, moment: ProgressSample) -> None:
        return


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabQueueManager]:
    plan = QueueManagerPlan(log=SMALL, commands=pair_commands(2, 2))
    with LabQueueManager(tmp_path_factory.mktemp("trusted"), plan) as running:
        yield running


@pytest.fixture
def load(manager: LabQueueManager) -> Iterator[TrustedLoad]:
    made = TrustedLoad(manager)
    yield made
    made.end()


def run(load: TrustedLoad, plan: LoadSpec, seconds: float = 0.2) -> list[WorkerCounts]:
    load.open(plan)
    counted = load.run(Timeline.starting(time.perf_counter_ns(), seconds / 4, seconds, seconds / 4), Unheard())
    load.close()
    return counted


def total(counted: Sequence[WorkerCounts], operation: str = ROUND_TRIP) -> int:
    phases = [phase for each in counted for phase in each.phases]
    return sum(second.count for phase in phases for second in phase.operation(operation).seconds.values())


def grown(manager: LabQueueManager, before: dict[str, float]) -> dict[str, float]:
    return {name: value - before.get(name, 0) for name, value in now(manager).items()}


def now(manager: LabQueueManager) -> dict[str, float]:
    metrics = manager.metrics()
    found = {each.name: each.value for each in metrics if each.source == "queue-manager"}
    return {**found, **{f"queue {each.name}": each.value for each in metrics if each.source == "queues"}}


def test_the_queue_manager_counts_what_its_applications_do(manager: LabQueueManager, load: TrustedLoad) -> None:
    before = now(manager)
    trips = total(run(load, PLAN))
    found = grown(manager, before)
    assert trips > 0
    assert found["puts"] == found["gets"] == 2 * trips
    assert found["queue puts"] == found["queue gets"] == 2 * trips
    assert found["commits"] == 0
    assert found["connections"] == 5
    assert load.processes() == []


def test_persistent_messages_in_units_of_work(manager: LabQueueManager, load: TrustedLoad) -> None:
    before = now(manager)
    plan = replace(PLAN, persistent=True, units=EVERYBODY, pairs=2, goes_round=True, own_replies=True)
    trips = total(run(load, plan))
    found = grown(manager, before)
    assert trips > 0
    assert found["puts_persistent"] == 2 * trips
    assert found["queue puts"] == found["queue gets"] == 2 * trips
    # A requester commits its put and its get, and a responder both of its verbs together.
    assert found["commits"] == 3 * trips


def test_persistent_messages_are_answered_in_units_of_work(manager: LabQueueManager, load: TrustedLoad) -> None:
    before = now(manager)
    trips = total(run(load, replace(PLAN, persistent=True)))
    assert grown(manager, before)["commits"] == trips > 0


def test_only_the_responders_may_be_inside(manager: LabQueueManager, load: TrustedLoad) -> None:
    before = now(manager)
    clients = new_load()
    try:
        load.open(replace(PLAN, requesters=range(0)))
        clients.open(replace(PLAN, protocol=MQ_VERBS, address=manager.local_path, responders=range(0)))
        counted = clients.run(Timeline.starting(time.perf_counter_ns(), 0.05, 0.2, 0.05), Unheard())
    finally:
        clients.end()
    assert grown(manager, before)["puts"] == 2 * total(counted) > 0


def test_a_rate_is_kept(load: TrustedLoad) -> None:
    assert total(run(load, replace(PLAN, rate_per_second=20.0), 0.4)) == 2 * 20 * 0.6


def test_short_sessions_connect_each_time(manager: LabQueueManager, load: TrustedLoad) -> None:
    before = now(manager)
    counted = run(load, replace(PLAN, kind=SESSIONS, session_round_trips=3))
    found = grown(manager, before)
    sessions = total(counted, SESSION)
    assert sessions == total(counted, CONNECT) > 0
    assert total(counted) == 3 * sessions
    assert found["connections"] == sessions + 3


def test_what_they_cannot_do_is_refused(load: TrustedLoad) -> None:
    with pytest.raises(LoadFailed, match="no one-way with plain messages"):
        load.open(replace(PLAN, kind=ONE_WAY))
    assert total(run(load, PLAN)) > 0


def test_a_refused_verb_is_told_by_name(load: TrustedLoad) -> None:
    with pytest.raises(LoadFailed, match=r"MQOPEN with MQRC_UNKNOWN_OBJECT_NAME \(2085\)"):
        load.open(replace(PLAN, pairs=3, responders=range(2, 3)))


def connected(manager: LabQueueManager) -> int:
    """Return the number of its applications that are connected."""
    return sum("APPLTAG(ostler-lab)" in line for line in manager.mqsc("DISPLAY CONN(*) APPLTAG"))


def wait_until_none_is_connected(manager: LabQueueManager) -> None:
    deadline = time.monotonic() + 20
    while connected(manager) and time.monotonic() < deadline:
        pass
    assert connected(manager) == 0


def test_its_applications_leave_with_it(manager: LabQueueManager) -> None:
    wait_until_none_is_connected(manager)
    load = TrustedLoad(manager)
    load.open(PLAN)
    assert connected(manager) == 5
    load.end()
    wait_until_none_is_connected(manager)


def test_those_that_are_connected_leave_when_another_is_refused(manager: LabQueueManager, load: TrustedLoad) -> None:
    wait_until_none_is_connected(manager)
    with pytest.raises(LoadFailed, match="MQOPEN"):
        load.open(replace(PLAN, pairs=3, responders=range(3)))
    wait_until_none_is_connected(manager)


def test_a_queue_manager_that_dies_is_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    class Killer:
        def on_progress(self, moment: ProgressSample) -> None:
            running.kill()

    plan = QueueManagerPlan(log=SMALL, commands=pair_commands(1))
    running = LabQueueManager(tmp_path_factory.mktemp("dying"), plan)
    load = TrustedLoad(running)
    load.open(PLAN)
    with pytest.raises(LoadFailed, match="LAB ended with status -9"):
        load.run(Timeline.starting(time.perf_counter_ns(), 0.0, 30.0, 0.0), Killer())
    load.close()
    load.end()
    with pytest.raises(LoadFailed, match="did not load the applications"):
        TrustedLoad(running)


def test_applications_that_are_closed_while_they_run_are_broken_off(
    manager: LabQueueManager, load: TrustedLoad
) -> None:
    under_way, told = threading.Event(), []

    class Telling:
        def on_progress(self, moment: ProgressSample) -> None:
            under_way.set()

    def run_long() -> None:
        try:
            load.run(Timeline.starting(time.perf_counter_ns(), 0, 600, 0), Telling())
        except LoadFailed as failure:
            told.append(str(failure))

    load.open(PLAN)
    thread = threading.Thread(target=run_long)
    thread.start()
    assert under_way.wait(30)
    load.close()
    thread.join(30)
    assert not thread.is_alive()
    assert len(told) == 1
    assert "The applications inside it are gone." in told[0]
    assert manager.is_alive
