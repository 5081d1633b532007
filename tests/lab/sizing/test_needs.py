"""Needs of a load from evidence: each figure by hand, and what happens without evidence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.store.run_samples import OSTLER, PING_PONG, RABBITMQ, write_run

from ostler.lab.sizing.evidence import ConnectionEvidence, Evidence, StepEvidence, gather_evidence
from ostler.lab.sizing.needs import Demand, Need, link_seconds, size_load
from ostler.lab.store.run_reader import read_run

STEP = StepEvidence(
    run="r1", scenario="client-rr-pm", contestant="Ostler", step=0, operation="round trip", clients=10,
    message_bytes=2048, is_persistent=True, channels=0, rate_per_second=10_000, is_flagged=False, broker_us_each=100.0,
    driver_us_each=50.0, log_bytes_each=5000.0, network_bytes_each=9000.0, memory_bytes=50e6,
)  # fmt: skip
LONGER = replace(
    STEP, step=1, message_bytes=20_480, rate_per_second=5_000, broker_us_each=200.0, log_bytes_each=42_000.0
)
DEMAND = Demand(rate_per_second=7_000, message_bytes=2048, is_persistent=True)


def needs(demand: Demand, *steps: StepEvidence, connections: tuple[ConnectionEvidence, ...] = ()) -> dict[str, Need]:
    return {each.resource: each for each in size_load(demand, Evidence(steps, connections, 5.0, False))}


def test_every_need_of_a_measured_length() -> None:
    found = needs(DEMAND, STEP)
    # 7,000 of the 7,000 that 70 % of 10,000 are.
    assert found["queue managers"].value == 1
    # 7,000 times 100 us are 0.7 cores, and they may be 70 % busy.
    assert found["processors"].value == pytest.approx(1.0)
    assert found["log bandwidth"].value == pytest.approx(35.0)
    # 60 seconds of 35 MB are 2,100 MB: 32 files of 64 MiB.
    assert found["log size"].value == pytest.approx(32 * 67.108864)
    assert "crtmqm -lp 32 -lf 16384" in found["log size"].how
    assert found["network"].value == pytest.approx(7_000 * 9_000 * 8 / 1e9)
    assert not any(each.is_extrapolated for each in found.values())
    assert "channels" not in found


def test_more_than_one_queue_manager_can_do() -> None:
    assert needs(replace(DEMAND, rate_per_second=7_001), STEP)["queue managers"].value == 2


def test_a_length_between_two_that_were_measured() -> None:
    found = needs(replace(DEMAND, message_bytes=11_264), STEP, LONGER)
    assert found["processors"].value == pytest.approx(7_000 * 150 / 1e6 / 0.7)
    assert found["log bandwidth"].value == pytest.approx(7_000 * 23_500 / 1e6)
    assert not found["processors"].is_extrapolated
    # The rate of the next longer one is on the safe side, and is said to be another one.
    assert found["queue managers"].value == 2
    assert found["queue managers"].is_extrapolated


def test_beyond_what_was_measured_is_said() -> None:
    found = needs(replace(DEMAND, message_bytes=4096), STEP)
    # 5,000 bytes hold the message twice.
    assert found["log bandwidth"].value == pytest.approx(7_000 * (5_000 + 2 * 2048) / 1e6)
    assert found["log bandwidth"].is_extrapolated
    assert found["processors"].is_extrapolated


def test_without_evidence_the_scenario_is_named() -> None:
    found = needs(DEMAND)
    assert found["queue managers"].value is None
    assert "ostler lab run client-rr-pm" in found["processors"].how
    # The log can be reckoned all the same (V9.1 report, 6.2), and is called an estimate.
    assert found["log bandwidth"].value == pytest.approx(7_000 * 2 * (2048 + 512) / 1e6)
    assert found["log bandwidth"].is_extrapolated


def test_evidence_of_the_other_persistence_is_not_used() -> None:
    found = needs(replace(DEMAND, is_persistent=False), STEP)
    assert found["processors"].value is None
    assert "log bandwidth" not in found


def test_memory_of_connections() -> None:
    assert needs(DEMAND, STEP)["memory"].value is None
    wanted = replace(DEMAND, clients=1000)
    assert "client-capacity" in needs(wanted, STEP)["memory"].how
    grown = replace(STEP, step=1, clients=510, memory_bytes=52e6)
    found = needs(wanted, STEP, grown)["memory"]
    # 2 MB for 500 more clients are 4,000 bytes each.
    assert found.value == pytest.approx(50 + 1000 * 4000 / 1e6)
    assert found.is_extrapolated
    held = needs(wanted, STEP, connections=(ConnectionEvidence("r2", "client-capacity-c6000", 6000, 3000.0),))["memory"]
    assert held.value == pytest.approx(53)
    assert not held.is_extrapolated


def test_messages_that_go_one_way_are_no_round_trips() -> None:
    one_way = replace(STEP, operation="get", rate_per_second=90_000, broker_us_each=5.0)
    found = needs(DEMAND, one_way)
    assert found["queue managers"].value is None
    assert found["processors"].value is None
    assert needs(DEMAND, STEP, one_way)["queue managers"].source == "r1, Ostler, step 0"


def test_what_ten_queue_managers_made_is_not_the_peak_of_one() -> None:
    ten = replace(STEP, step=1, managers=10, rate_per_second=50_000)
    assert needs(DEMAND, ten)["queue managers"].value is None
    found = needs(replace(DEMAND, rate_per_second=14_000), STEP, ten)
    assert found["queue managers"].value == 2
    # The cost of a round trip is the same for all.
    assert found["processors"].source == "r1, Ostler, step 1"


def test_rates_of_much_longer_messages_are_unknown() -> None:
    found = needs(replace(DEMAND, message_bytes=5 * 20_480), STEP, LONGER)
    assert found["queue managers"].value is None
    assert found["processors"].value is None
    assert "no message of more than 20,480 bytes was measured" in found["processors"].how
    assert "client-large-pm --quick --set message_bytes=102400" in found["processors"].how
    # Bytes grow with the length.
    assert found["log bandwidth"].value is not None


def test_bytes_on_the_network_come_from_steps_with_clients() -> None:
    quicker = replace(STEP, step=1, rate_per_second=90_000, network_bytes_each=3.0)
    assert needs(DEMAND, quicker)["network"].value == pytest.approx(4 * 2048 * 7_000 * 8 / 1e9)
    found = needs(DEMAND, quicker, STEP)["network"]
    assert found.value == pytest.approx(7_000 * 9_000 * 8 / 1e9)
    assert found.source == "r1, Ostler, step 0"


def test_channels_and_distance() -> None:
    far = replace(STEP, channels=4, managers=2, rate_per_second=8_000)
    found = needs(replace(DEMAND, channels=True, distance_km=100), far)
    # One of four made 2,000, of which 1,400 may be used.
    assert found["channels"].value == 5
    # What was measured between two queue managers says nothing of one.
    assert found["queue managers"].value is None
    assert found["round trip of the link"].value == pytest.approx(1.0)
    assert link_seconds(100) == pytest.approx(500e-6)
    assert "10 ms apart" in needs(replace(DEMAND, distance_km=2000))["round trip of the link"].how


def test_evidence_of_a_stored_run(tmp_path: Path) -> None:
    steps = {10: [replace(OSTLER, rates=(100, 200), log_bytes=3000, flags=()), RABBITMQ, PING_PONG]}
    found = gather_evidence([read_run(write_run(tmp_path, steps, noise=7.0))])
    assert [each.contestant for each in found.steps] == ["Ostler, TCP"]
    step = found.steps[0]
    assert (step.clients, step.message_bytes, step.is_persistent, step.channels) == (10, 2048, False, 0)
    assert (step.rate_per_second, step.broker_us_each, step.driver_us_each) == (150, 20.0, 10.0)
    assert step.log_bytes_each == 3000
    assert step.memory_bytes == 1 << 20
    assert found.noise_percent == 7.0


def test_one_queue_manager_beside_two_has_no_channels(tmp_path: Path) -> None:
    parameters = {"channel_pairs": "4", "channels each way": "4"}
    joined = replace(OSTLER, contestant="Ostler", far_us=20, parameters=parameters, flags=())
    alone = replace(OSTLER, contestant="Ostler, one queue manager", parameters=parameters, flags=())
    found = gather_evidence([read_run(write_run(tmp_path, {10: [joined, alone]}))]).steps
    assert [(each.contestant, each.channels, each.managers) for each in found] == [
        ("Ostler", 4, 2),
        ("Ostler, one queue manager", 0, 1),
    ]
