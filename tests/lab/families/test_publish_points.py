"""The loads of producers and consumers, and of publishers and subscribers, as the reports have them."""

from __future__ import annotations

import pytest

from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.publish_points import one_way_point, publish_point
from ostler.lab.load import spec
from ostler.lab.runner.contract import GET
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.steps import steps


def of(name: str, is_quick: bool = False) -> list[LoadPoint]:
    scenario = catalogue().find(name)
    read = publish_point if scenario.family == "publish-subscribe" else one_way_point
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
        queues = [command for command in each.manager.commands if "LAB.SUBSCRIBER." in command]
        assert len(queues) == each.subscribers
        assert each.parameters == {"subscribers": str(each.subscribers), "topics": "1"}
        assert each.manager.cores == 0


@pytest.mark.parametrize(("name", "rate"), [("pubsub-multi-np", 1600), ("pubsub-multi-pm", 400)])
def test_triplets_publish_at_a_rate_each(name: str, rate: int) -> None:
    found = of(name)
    assert [each.requesters for each in found] == [each.responders for each in found] == [each.pairs for each in found]
    assert {each.subscribers for each in found} == {1}
    assert {each.rate_per_second for each in found} == {rate}, "of each publisher"


@pytest.mark.parametrize("name", ["pubsub-1n-cores-np", "pubsub-multi-cores-np"])
def test_cores_are_those_of_the_queue_manager(name: str) -> None:
    assert {each.manager.cores for each in of(name)} >= {2, 4, 8}
