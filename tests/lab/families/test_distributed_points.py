"""Loads of distributed queuing from its scenarios: every scenario, every step, full and quick."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ostler.lab.families.channels.distributed import ONE_MANAGER, DistributedExperiment
from ostler.lab.families.channels.distributed_points import (
    DESCRIPTORS_KEPT,
    ROUTES_MAX,
    STAND_IN_CIPHER,
    DistributedPoint,
    distributed_point,
    usable_cipher,
)
from ostler.lab.families.channels.drain import messages_to_drain
from ostler.lab.load import spec
from ostler.lab.load.drivers.connection_flood import sockets_max
from ostler.lab.runner.contract import GET, ROUND_TRIP, PointFailed, RunContext, Settings
from ostler.lab.runner.queue_managers.channel_wiring import FAST, NORMAL, Wiring
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Binding, LoadKind, Scenario
from ostler.lab.scenarios.steps import Step, steps

SCENARIOS = [
    each
    for each in catalogue().scenarios.values()
    if each.family == "distributed" and each.load is not None and each.load.kind is not LoadKind.IDLE
]


def of(name: str, is_quick: bool = False) -> list[DistributedPoint]:
    scenario = catalogue().find(name)
    return [distributed_point(scenario, step) for step in planned(scenario, is_quick)]


def planned(scenario: Scenario, is_quick: bool = False, chosen: dict[str, list[str]] | None = None) -> tuple[Step, ...]:
    return steps(scenario, catalogue().readiness(scenario), is_quick, chosen)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.id)
@pytest.mark.parametrize("is_quick", [False, True], ids=["full", "quick"])
def test_every_step_is_a_load_that_can_be(scenario: Scenario, is_quick: bool) -> None:
    for step in planned(scenario, is_quick):
        point = distributed_point(scenario, step)
        assert point.requesters >= 1
        assert point.responders >= point.pairs
        assert point.managers == 1
        assert point.wiring.routes >= 1
        assert point.parameters["channels each way"] == str(point.wiring.routes)
        assert not point.manager.cipher_spec


def test_headlines_as_the_report_has_them() -> None:
    (first, *_, last) = of("dq-rr-np")
    assert (first.requesters, last.requesters, last.responders, last.wiring.routes) == (1, 20, 5, 4)
    assert (last.units, last.persistent, last.kind, last.main_operation) == (
        spec.NOBODY,
        False,
        spec.REQUEST_REPLY,
        ROUND_TRIP,
    )
    last = of("dq-rr-pm")[-1]
    assert (last.requesters, last.units, last.persistent, last.wiring.routes) == (120, spec.EVERYBODY, True, 2)
    assert last.manager.log.buffer_pages == 512


def test_trusted_responders_and_rates() -> None:
    bindings = {each.responder_binding for each in of("dq-trusted-pm")}
    assert bindings == {Binding.LOCAL, Binding.TRUSTED}
    assert {each.rate_per_second for each in of("dq-rated-np")} == {1.0}


def test_an_application_for_each_channel_pair() -> None:
    last = of("dq-capacity-q1000")[-1]
    assert (last.requesters, last.wiring.routes, last.goes_round, last.wiring.channels_max) == (1000, 1000, False, 5000)
    assert last.manager.log.file_pages == 64


def test_as_many_pairs_as_there_are_descriptors_for() -> None:
    """Two channels and an application for each, and some descriptors for other things."""
    *others, last = of("dq-capacity-qmax")
    assert last.requesters == last.wiring.routes == min(sockets_max(DESCRIPTORS_KEPT) // 3, ROUTES_MAX)
    assert [each.wiring.routes for each in others] == [500, 1000, 2000, 4000, 6000]
    assert last.parameters["channels each way"] == last.parameters["channel_pairs"] == str(last.wiring.routes)
    assert "channel_pairs" not in others[0].parameters


def test_ten_pairs_of_queues_are_not_shared_out_among_queue_managers() -> None:
    assert {each.pairs for each in of("rr-dq-bb-np")} == {10}


def test_encrypted_channels_use_what_is_not_refused() -> None:
    point = of("zos-chl-1-4-ssl")[0]
    assert (point.wiring.cipher_spec, point.wiring.key_reset_bytes) == (STAND_IN_CIPHER, 1 << 20)
    assert point.parameters["in the place of"] == "TRIPLE_DES_SHA_US"
    assert of("zos-chl-1-4")[0].wiring.cipher_spec == ""
    assert usable_cipher("TLS_AES_128_GCM_SHA256") == "TLS_AES_128_GCM_SHA256"
    assert usable_cipher("none") == ""


def test_batches_speeds_and_distances_are_swept() -> None:
    found = of("dq-batches")
    kinds = {(each.persistent, each.wiring.nonpersistent_speed) for each in found}
    assert kinds == {(True, FAST), (False, NORMAL), (False, FAST)}
    assert {each.wiring.batch_size for each in found} == {1, 10, 50, 100, 500}
    assert {each.wiring.round_trip_ms for each in of("dq-distance")} == {0, 1, 10, 50}
    assert {each.wiring.round_trip_ms for each in of("dq-drain")} == {0, 1, 10, 50}
    assert {each.wiring.batch_size for each in of("dq-drain")} == {1, 10, 50, 100, 500}
    assert {each.wiring.routes for each in of("dq-channels")} == {1, 2, 4, 10, 50}


def test_one_way_has_a_queue_for_each_channel_and_is_counted_where_it_arrives() -> None:
    point = next(each for each in of("dq-one-way") if each.wiring.routes == 10)
    assert (point.kind, point.pairs, point.requesters, point.responders) == (spec.ONE_WAY, 10, 40, 80)
    assert (point.main_operation, point.goes_round, point.consumer_unit) == (GET, False, 20)
    large = next(each for each in of("dq-one-way") if each.body_bytes == 204_800)
    assert 0 < large.window * large.body_bytes <= 64 << 20 < point.window * large.body_bytes


def test_fewer_messages_are_drained_where_batches_take_long() -> None:
    assert messages_to_drain(10_000, Wiring(batch_size=1)) == 10_000
    assert messages_to_drain(10_000, Wiring(batch_size=1, round_trip_ms=50)) == 500
    assert messages_to_drain(10_000, Wiring(batch_size=50, round_trip_ms=50)) == 2000
    assert messages_to_drain(10_000, Wiring(batch_size=500, round_trip_ms=1)) == 10_000


def context(tmp_path: Path, name: str, chosen: dict[str, list[str]]) -> RunContext:
    scenario = catalogue().find(name)
    return RunContext(scenario, Settings(limits=False), planned(scenario, chosen=chosen), tmp_path)


def test_a_cipher_spec_that_stands_in_for_another_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    place = context(tmp_path, "zos-chl-1-4-ssl", {"channels": ["1", "2"]})
    DistributedExperiment(replace(place, note=said.append)).close()
    assert said == [f"TRIPLE_DES_SHA_US is refused today: channels use {STAND_IN_CIPHER} in its place."]


def test_one_queue_manager_has_each_load_once(tmp_path: Path) -> None:
    """Channels mean nothing to it."""
    chosen = {"channels": ["1", "4"], "cipher_spec": ["none"]}
    experiment = DistributedExperiment(context(tmp_path, "dq-channels", chosen))
    try:
        joined, alone = experiment.contestants()
    finally:
        experiment.close()
    assert alone.name == ONE_MANAGER.name
    assert joined.steps == frozenset({0, 1, 2, 3})
    assert alone.steps == frozenset({0, 2})


def test_more_channels_than_descriptors_are_told_before_they_are_made(tmp_path: Path) -> None:
    place = context(tmp_path, "dq-capacity-qmax", {"channel_pairs": ["900000"]})
    experiment = DistributedExperiment(place)
    try:
        with pytest.raises(PointFailed, match=r"need 2,700,000: about [0-9,]+ pairs fit\. --set channel_pairs=most"):
            experiment.prepare(experiment.contestants()[0], place.steps[0])
    finally:
        experiment.close()
    assert list(tmp_path.iterdir()) == []
