"""The loads of producers and consumers, and of publishers and subscribers, as the reports have them."""

from __future__ import annotations

import os

import pytest

from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.publish_points import one_way_point, private_queue_point, publish_point
from ostler.lab.load import spec
from ostler.lab.runner.contract import GET
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Scenario
from ostler.lab.scenarios.steps import steps
from ostler.server.config.qm_ini import LogWriteIntegrity


def of(name: str, is_quick: bool = False) -> list[LoadPoint]:
    scenario = catalogue().find(name)
    read = {"publish-subscribe": publish_point, "private-queues": private_queue_point}.get(
        scenario.family, one_way_point
    )
    return [read(scenario, step) for step in steps(scenario, catalogue().readiness(scenario), is_quick)]


def test_producers_and_consumers() -> None:
    found = of("p2p-multi-np")
    assert [(each.requesters, each.responders, each.pairs) for each in found][:3] == [(1, 1, 1), (2, 2, 2), (4, 4, 4)]
    assert (found[0].kind, found[0].rate_per_second, found[0].main_operation) == (spec.ONE_WAY, 1600.0, GET)
    plain, asynchronous = of("zos-svrconn-sharecnv0")[0], of("zos-svrconn-sharecnv1")[0]
    assert (plain.conversations, plain.async_put, plain.read_ahead) == (0, False, False)
    assert (asynchronous.conversations, asynchronous.async_put, asynchronous.read_ahead) == (1, True, True)
    assert "DEFPRESP(ASYNC) DEFREADA(YES)" in asynchronous.manager.commands[0]


@pytest.mark.parametrize(("name", "persistent"), [("pubsub-1n-np", False), ("pubsub-1n-pm", True)])
def test_one_publisher_has_many_subscribers(name: str, persistent: bool) -> None:
    found = of(name)
    assert {(each.requesters, each.pairs, each.persistent) for each in found} == {(1, 1, persistent)}
    assert [each.responders for each in found] == [each.subscribers for each in found]
    assert {4, 8, 12, 16, 48, 80} <= {each.subscribers for each in found}
    assert {each.main_operation for each in found} == {GET}
    assert {each.units for each in found} == {spec.EVERYBODY if persistent else spec.NOBODY}
    for each in found:
        assert each.parameters["subscribers"] == str(each.subscribers)
        assert each.parameters["topics"] == "1"
        assert each.manager.cores == 0
    assert len({each.manager.commands for each in found}) == 1, "all steps share a queue manager"
    assert len(found[0].manager.commands) == max(each.subscribers for each in found)


@pytest.mark.parametrize(("name", "rate"), [("pubsub-multi-np", 1600), ("pubsub-multi-pm", 400)])
def test_triplets_publish_at_a_rate_each(name: str, rate: int) -> None:
    found = of(name)
    assert [each.requesters for each in found] == [each.responders for each in found] == [each.pairs for each in found]
    assert {each.subscribers for each in found} == {1}
    assert {each.rate_per_second for each in found} == {rate}, "of each publisher"


@pytest.mark.parametrize("name", ["pubsub-1n-cores-np", "pubsub-multi-cores-np"])
def test_cores_are_those_of_the_queue_manager(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(2)))
    cores = {each.manager.cores for each in of(name)}
    assert cores >= {0, 1, 4, 8}, "all cores of the machine are no limit"
    assert 2 not in cores


REPORT_003 = [
    each
    for each in catalogue().scenarios.values()
    if each.report.name == "pubsub-v701" and each.is_measured and catalogue().readiness(each).can_run
]


@pytest.mark.parametrize("scenario", REPORT_003, ids=lambda each: each.id)
def test_queue_managers_of_2010_are_tuned_as_the_report_says(scenario: Scenario) -> None:
    for point in of(scenario.id):
        log = point.manager.log
        assert (log.primary_files, log.file_pages, log.buffer_pages) == (16, 16_348, 4_096)
        assert log.write_integrity is LogWriteIntegrity.SINGLE
        assert point.manager.stanzas == {
            "TuningParameters": {"DefaultQBufferSize": "1048576", "DefaultPQBufferSize": "1048576"},
            "Channels": {"MQIBindType": "FASTPATH"},
        }


@pytest.mark.parametrize("scenario", REPORT_003, ids=lambda each: each.id)
def test_the_full_sweeps_of_2010_have_every_printed_point(scenario: Scenario) -> None:
    for sweep in scenario.sweeps:
        assert set(sweep.printed) <= set(sweep.values)
    assert "messages/s" in scenario.metrics


def test_persistent_subscribers_get_five_messages_in_a_unit_of_work() -> None:
    units = {name: {each.consumer_unit for each in of(name)} for name in ("pubsub-1n-pm", "pubsub-multi-pm")}
    assert units == {"pubsub-1n-pm": {5}, "pubsub-multi-pm": {5}}
    assert {each.consumer_unit for each in of("p2p-multi-pm")} == {1}


def test_clients_are_counted_as_the_report_counts_them() -> None:
    """It has two clients in each triplet, of topics and of queues, and a publisher beside its subscribers."""
    for name in ("pubsub-multi-np", "p2p-multi-np", "p2p-multi-pm"):
        assert {(each.requesters, each.clients) for each in of(name)} >= {(14, 28), (48, 96)}
    assert (48, 49) in {(each.subscribers, each.clients) for each in of("pubsub-1n-np")}
    assert {each.clients for each in of("zos-svrconn-sharecnv0")} == {1, 2, 4, 6, 8, 10, 12, 15}


def test_jms_is_a_point_of_the_sweep() -> None:
    found = of("pubsub-1n-np")
    assert {spec.PLAIN, spec.JMS} == {each.messages for each in found}
    assert {48, 4} <= {each.subscribers for each in found if each.messages == spec.JMS}


def test_private_queues_have_more_applications_for_each_pair() -> None:
    found = {(each.pairs, each.requesters, each.responders) for each in of("zos-pq-np-out-scal")}
    assert {(15, 15, 15), (15, 60, 60), (30, 30, 30), (30, 120, 120)} <= found
    single = of("zos-pq-np-in-single")[0]
    assert (single.requesters, single.responders, single.pairs) == (5, 4, 1)
    assert {each.body_bytes for each in of("zos-pq-np-in-scal")} == {2048, 65_536, 4_194_304}
