"""Experiments on shared queues from end to end: a real coupling facility, real queue managers, real drivers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.runner.simulated_experiment import HeardView

from ostler.lab.families.replication import numbered_clients as clients
from ostler.lab.families.sharing.data_sets.backup import BACKUP, IN_STRUCTURE, MEGABYTES_LOGGED
from ostler.lab.families.sharing.data_sets.growth import GROWS, GROWTHS, HAS_GROWN
from ostler.lab.families.sharing.data_sets.switching import BACK, TO_DATABASE
from ostler.lab.families.sharing.shared_loads import PRIVATE
from ostler.lab.families.sharing.waking import WAKE_UP
from ostler.lab.runner.contract import QUICK
from ostler.lab.runner.runner import run_scenario
from ostler.lab.runner.sharing.port import BUFFER_WAITS, LOWEST_FREE, READS_SAVED
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.store.courses import (
    BACK_IN_GROUP,
    BACKED_UP,
    DOUBLED,
    LOST,
    MAPPED,
    MOMENT,
    NO_SERVICE,
    RATE_AFTER_GROWTH,
    RATE_BEFORE_GROWTH,
    RATE_IN_GROWTH,
    RATES_OF_OFFLOAD,
    RECOVERED,
    TENTH,
)
from ostler.lab.store.manifest import RunState
from ostler.lab.store.points import MeasuredPoint, measured_points
from ostler.lab.store.roles import FACILITY, QUEUE_MANAGER, REPOSITORY, role_at
from ostler.lab.store.run_reader import StoredRun, read_run

SETTINGS = replace(
    QUICK, warm_up_seconds=0.1, measured_seconds=0.5, cool_down_seconds=0.1, repetitions=1, peers=(), libraries=False
)
SILENT = replace(SETTINGS, limits=False)


def run(tmp_path: Path, name: str, **chosen: str) -> tuple[StoredRun, list[MeasuredPoint], HeardView]:
    view = HeardView()
    scenario = catalogue().find(name)
    parameters = {**scenario.parameters, "quick_megabytes": 2}
    if "window_seconds" in scenario.parameters:
        parameters["quick_window_seconds"] = 4
    scenario = replace(scenario, parameters=parameters)
    wanted = {sweep: value.split("|") for sweep, value in chosen.items()}
    found = read_run(run_scenario(scenario, SILENT, wanted, tmp_path, view))
    assert view.failures == []
    assert found.manifest.state is RunState.COMPLETE, found.manifest.reason
    return found, measured_points(found), view


@pytest.mark.slow
def test_two_queue_managers_answer_each_other(tmp_path: Path) -> None:
    chosen = {"queue_managers": "2", "layout": "crossed", "persistence": "persistent"}
    _, (point,), view = run(tmp_path, "sq-members", **chosen)
    assert point.operations["round trip"].count > 5
    assert role_at(QUEUE_MANAGER, FACILITY) in point.cpu_us
    assert "counts-differ" not in " ".join(point.flags), "both members together counted what the drivers did"
    assert "A queue-sharing group of 2 queue managers starts." in view.notes


@pytest.mark.slow
def test_steps_that_need_more_are_told_and_left_out(tmp_path: Path) -> None:
    """A quick run has sizes that fit into the structure, and others."""
    scenario = catalogue().find("sq-shared-private")
    found, points, _ = run(tmp_path, "sq-shared-private", requesters="2", message_bytes="64")
    assert {point.contestant for point in points} == {"Ostler", PRIVATE.name}
    for point in points:
        assert point.operations["round trip"].count > 5
        assert "counts-differ" not in " ".join(point.flags), point
    figures = {row["name"] for row in found.table("statistic").to_pylist() if row["source"] == "experiment"}
    assert "structure used, %" in figures
    assert scenario.parameters["beside_private"]


@pytest.mark.slow
def test_a_lost_member_is_recovered_and_comes_back(tmp_path: Path) -> None:
    chosen = {"clients": "2", "event": "killed", "queue_managers": "2"}
    found, (point,), _ = run(tmp_path, "sq-take-over", **chosen)
    rows = found.table("statistic").to_pylist()
    told = {row["name"]: float(row["value"]) for row in rows}
    assert told[clients.ACKNOWLEDGED] > 20
    assert (told[LOST], told[DOUBLED], told[clients.UNKNOWN]) == (0, 0, 0)
    assert 0 < told[RECOVERED] < 30
    assert told[BACK_IN_GROUP] > 0
    assert NO_SERVICE in told
    assert told[clients.RECONNECTIONS] >= 1, "the clients of the lost one went on at the other"
    assert len([row for row in rows if row["source"] == TENTH]) == 40
    moments = [row["name"] for row in rows if row["source"] == MOMENT]
    assert moments == ["queue manager killed", "recovered by peers", "started again", "in the group again"]
    assert point.operations["put"].count > 20


@pytest.mark.slow
def test_a_put_wakes_a_get_at_another_member(tmp_path: Path) -> None:
    _, points, _ = run(tmp_path, "sq-wake-up", getter="at another queue manager")
    (point,) = points
    assert point.operations[WAKE_UP].count > 3


@pytest.mark.slow
def test_offload_is_changed_under_load_and_nothing_is_lost(tmp_path: Path) -> None:
    found, (point,), _ = run(tmp_path, "smds-switch-offload", repository="SQLite")
    rows = found.table("statistic").to_pylist()
    told = {row["name"]: float(row["value"]) for row in rows}
    assert (told[LOST], told[DOUBLED], told[clients.UNKNOWN]) == (0, 0, 0)
    assert all(told[rate] > 0 for rate in RATES_OF_OFFLOAD)
    assert [row["name"] for row in rows if row["source"] == MOMENT][::2] == [TO_DATABASE, BACK]
    assert point.operations["put"].count > 10


@pytest.mark.slow
def test_figures_of_buffers_are_told(tmp_path: Path) -> None:
    found, (point,), _ = run(tmp_path, "smds-dsbufs", buffers="4")
    told = {row["name"]: float(row["value"]) for row in found.table("statistic").to_pylist()}
    assert point.operations["round trip"].count > 5
    assert told[LOWEST_FREE] < 4, "transfers have used buffers"
    assert 0 <= told[READS_SAVED] <= 100
    assert BUFFER_WAITS in told


@pytest.mark.slow
def test_rates_around_a_growth_are_told(tmp_path: Path) -> None:
    found, (point,), _ = run(tmp_path, "smds-expansion", megabytes="32")
    rows = found.table("statistic").to_pylist()
    told = {row["name"]: float(row["value"]) for row in rows}
    assert told[GROWTHS] >= 1
    assert all(told[rate] > 0 for rate in (RATE_BEFORE_GROWTH, RATE_IN_GROWTH, RATE_AFTER_GROWTH))
    assert [row["name"] for row in rows if row["source"] == MOMENT] == [GROWS, HAS_GROWN]
    assert point.operations["put"].count > 10


@pytest.mark.slow
@pytest.mark.parametrize(("size", "is_mixed"), [(5120, False), (32768, True)])
def test_backups_have_all_messages_wherever_they_are(tmp_path: Path, size: int, is_mixed: bool) -> None:
    found, (point,), _ = run(tmp_path, "smds-backup", message_bytes=str(size))
    told = {row["name"]: float(row["value"]) for row in found.table("statistic").to_pylist()}
    assert point.operations[BACKUP].count >= 1
    assert told[BACKED_UP] > 0
    assert told[MEGABYTES_LOGGED] >= 2
    assert (told[IN_STRUCTURE] > 0) == is_mixed


@pytest.mark.slow
def test_space_maps_are_made_again(tmp_path: Path) -> None:
    found, _, _ = run(tmp_path, "smds-space-map-rebuild", structures="2", messages="200")
    told = {row["name"]: float(row["value"]) for row in found.table("statistic").to_pylist()}
    assert told[MAPPED] > 0


@pytest.mark.slow
def test_large_messages_are_in_postgresql_and_its_processes_are_sampled(tmp_path: Path) -> None:
    chosen = {"message_bytes": "65536", "level": "CFLEVEL(4)", "repository": "PostgreSQL"}
    _, (point,), _ = run(tmp_path, "smds-cf4-vs-cf5-rate", **chosen)
    assert point.operations["round trip"].count > 0
    assert role_at(QUEUE_MANAGER, REPOSITORY) in point.cpu_us
