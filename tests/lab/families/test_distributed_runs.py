"""Distributed queuing from end to end: real queue managers, channels, relays and drivers, with short windows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.runner.simulated_experiment import HeardView

from ostler.lab.families.channels.drain import PER_BATCH, RATE
from ostler.lab.families.channels.drain import RECEIVING as TAKING
from ostler.lab.families.channels.drain import SENDING as CARRYING
from ostler.lab.families.channels.memory import RECEIVING, SENDING
from ostler.lab.runner.contract import QUICK
from ostler.lab.runner.runner import run_scenario
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.store.manifest import RunState
from ostler.lab.store.points import MeasuredPoint, measured_points
from ostler.lab.store.roles import DRIVER, FAR, LABORATORY, NEAR, QUEUE_MANAGER, role_at
from ostler.lab.store.run_reader import StoredRun, read_run

pytestmark = pytest.mark.slow

SETTINGS = replace(
    QUICK, warm_up_seconds=0.1, measured_seconds=0.4, cool_down_seconds=0.1, repetitions=1, limits=False, peers=()
)


JOINED_GET = ("Ostler", "get")


def run(tmp_path: Path, name: str, **chosen: str) -> tuple[StoredRun, list[MeasuredPoint]]:
    view = HeardView()
    wanted = {sweep: [value] for sweep, value in chosen.items()}
    found = read_run(run_scenario(catalogue().find(name), SETTINGS, wanted, tmp_path, view))
    assert view.failures == []
    assert found.manifest.state is RunState.COMPLETE, found.manifest.reason
    points = measured_points(found)
    for point in points:
        assert "counts-differ" not in " ".join(point.flags), point
    return found, points


def metrics(found: StoredRun, name: str) -> list[float]:
    return [float(row["value"]) for row in found.table("statistic").to_pylist() if row["name"] == name]


def test_trusted_responders_at_the_other_queue_manager(tmp_path: Path) -> None:
    _, points = run(tmp_path, "dq-trusted-pm", requesters="3", responder_binding="trusted")
    assert [point.contestant for point in points] == ["Ostler", "Ostler, one queue manager"]


def test_encrypted_channels_that_make_new_keys(tmp_path: Path) -> None:
    found, points = run(tmp_path, "zos-chl-1-4-ssl", channels="2", message_bytes="65536")
    assert points[0].parameters["in the place of"] == "TRIPLE_DES_SHA_US"
    assert sum(metrics(found, "messages")) > 0


def test_one_way_over_a_distance(tmp_path: Path) -> None:
    """Nothing arrives sooner than the distance allows, and it is carried in batches."""
    found, points = run(tmp_path, "dq-distance", round_trip_ms="40", batch_size="10", messages="persistent")
    joined = next(point for point in points if point.contestant == "Ostler")
    got = [row for row in found.table("operation").to_pylist() if (row["contestant"], row["operation"]) == JOINED_GET]
    assert min(row["lowest_ns"] for row in got if row["count"]) >= 20_000_000
    # Messages of a batch count before it does.
    assert 1 <= max(metrics(found, "messages per batch")) < 20
    ends = {role_at(QUEUE_MANAGER, end) for end in (NEAR, FAR)}
    assert set(joined.cpu_us) == {DRIVER, LABORATORY, *ends}
    assert set(joined.log_us) == ends


def test_a_channel_that_empties_its_queue(tmp_path: Path) -> None:
    """Batches are full. The last may not be counted yet."""
    found, _ = run(tmp_path, "dq-drain", distance_ms="0", batches_of="50", messages="persistent")
    assert min(metrics(found, RATE)) > 0
    assert all(50 <= each < 60 for each in metrics(found, PER_BATCH))
    assert min(metrics(found, CARRYING) + metrics(found, TAKING)) > 0


@pytest.mark.stress
@pytest.mark.parametrize(
    ("name", "chosen"),
    [("zos-channel-footprint", {"message_bytes": "1024"}), ("zos-csa-usage", {"connection": "message channel"})],
)
def test_memory_of_channels(tmp_path: Path, name: str, chosen: dict[str, str]) -> None:
    found, _ = run(tmp_path, name, **chosen)
    (sending,), (receiving,) = metrics(found, SENDING), metrics(found, RECEIVING)
    assert min(sending, receiving) > 0
