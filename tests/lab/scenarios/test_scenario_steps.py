"""The steps of a run: every combination once, in order, within bounds."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.lab.scenarios.features import Readiness, ReadinessVerdict
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Scenario, ScenarioPart, Sweep
from ostler.lab.scenarios.steps import STEPS_MAX, ParametersError, steps

ALL = catalogue()
FREE = Readiness(ReadinessVerdict.READY, (), (), ())
MEASURED = [each for each in ALL.scenarios.values() if each.is_measured]


def with_sweeps(*sweeps: Sweep) -> Scenario:
    return dataclasses.replace(ALL.find("rr-bb-np"), sweeps=sweeps)


def test_the_first_sweep_goes_fastest_and_a_group_is_one_pass_of_it() -> None:
    scenario = with_sweeps(Sweep("a", (1, 2), (1,)), Sweep("b", ("x", "y"), ("y",)))
    found = steps(scenario, FREE)
    assert [(step.number, step.group, dict(step.points)) for step in found] == [
        (0, 0, {"a": 1, "b": "x"}),
        (1, 0, {"a": 2, "b": "x"}),
        (2, 1, {"a": 1, "b": "y"}),
        (3, 1, {"a": 2, "b": "y"}),
    ]
    assert [dict(step.points) for step in steps(scenario, FREE, is_quick=True)] == [{"a": 1, "b": "y"}]


@pytest.mark.parametrize("scenario", MEASURED, ids=lambda each: each.id)
def test_every_scenario_has_steps_and_few_in_its_quick_form(scenario: Scenario) -> None:
    full, quick = steps(scenario, FREE), steps(scenario, FREE, is_quick=True)
    assert len(full) == prod(len(sweep.values) for sweep in scenario.sweeps)
    # Each neighbour is something else, and not another number of the same: all of them are quick ones.
    assert 1 <= len(quick) <= (len(full) if scenario.family == "neighbours" else 6)
    assert {tuple(step.points.items()) for step in quick} <= {tuple(step.points.items()) for step in full}


def test_points_that_need_more_are_left_out() -> None:
    scenario = ALL.find("zos-connection-storage")
    shared = "client, SHARECNV(1), shared queues"
    part = Readiness(ReadinessVerdict.READY, (), (), (ScenarioPart(shared, ("shared-queues",)),))
    found = {step.points["connection"] for step in steps(scenario, part)}
    assert found == set(scenario.sweep("connection").values) - {shared}
    with pytest.raises(ParametersError, match="nothing is left of connection; it needs shared-queues"):
        steps(scenario, part, chosen={"connection": [shared]})


def test_chosen_points_take_the_place_of_the_sweep() -> None:
    scenario = ALL.find("rr-bb-np")
    found = steps(scenario, FREE, chosen={"requesters": ["7", "3", "7"], "message_bytes": ["2048"]})
    assert [step.points["requesters"] for step in found] == [7, 3]
    assert steps(ALL.find("chlauth-restart"), FREE, chosen={"rules": ["0"]})[0].points["rules"] == 0


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"colour": ["7"]}, "does not sweep 'colour'; it sweeps requesters, cipher_spec"),
        ({"requesters": ["0"]}, "requesters: '0' is not a whole number from 1 to 1,000,000"),
        ({"requesters": ["-1"]}, "requesters: '-1' is not a whole number"),
        ({"requesters": ["1e3"]}, "requesters: '1e3' is not a whole number"),
        ({"requesters": ["9999999999"]}, "is not a whole number"),
        ({"requesters": ["1000001"]}, "is not a whole number from 1 to 1,000,000"),
        ({"requesters": ["٣"]}, "is not a whole number"),
        ({"requesters": []}, "requesters: at least one point"),
        ({"cipher_spec": ["ROT13"]}, "cipher_spec: 'ROT13' is none of none | TLS_RSA"),
    ],
)
def test_points_that_make_no_sense_are_refused(chosen: dict[str, list[str]], said: str) -> None:
    with pytest.raises(ParametersError) as refused:
        steps(ALL.find("rr-cc-tls-np"), FREE, chosen=chosen)
    assert said in str(refused.value)


def test_bodies_are_no_longer_than_messages_may_be() -> None:
    scenario = ALL.find("rr-bb-np")
    assert steps(scenario, FREE, chosen={"message_bytes": ["104857600"]})[0].points["message_bytes"] == 104_857_600
    with pytest.raises(ParametersError, match="message_bytes: '104857601' is not a whole number from 1 to 104,857,600"):
        steps(scenario, FREE, chosen={"message_bytes": ["104857601"]})


def test_a_run_has_a_limit() -> None:
    many = tuple(range(1, 102))
    scenario = with_sweeps(Sweep("a", many, many), Sweep("b", many, many))
    with pytest.raises(ParametersError, match="10,201 steps are more than the 10,000"):
        steps(scenario, FREE)


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True), min_size=1, max_size=4))
def test_every_combination_is_there_once(axes: list[list[int]]) -> None:
    sweeps = [Sweep(f"s{number}", tuple(axis), tuple(axis)) for number, axis in enumerate(axes)]
    found = steps(with_sweeps(*sweeps), FREE)
    assert len(found) == prod(len(axis) for axis in axes) <= STEPS_MAX
    assert len({tuple(step.points.values()) for step in found}) == len(found)
    assert [step.number for step in found] == list(range(len(found)))
    for before, after in pairwise(found):
        assert after.group - before.group == (after.points["s0"] == axes[0][0])


def test_points_may_have_commas_of_their_own() -> None:
    scenario = catalogue().find("linear-vs-circular-logging")
    typed = {"requesters": ["1"], "log": ["circular", " oversized", "circular", "linear", " extents new"]}
    found = steps(scenario, catalogue().readiness(scenario), chosen=typed)
    assert [step.points["log"] for step in found] == ["circular, oversized", "circular", "linear, extents new"]
    with pytest.raises(ParametersError, match="'square' is none of"):
        steps(scenario, catalogue().readiness(scenario), chosen={"log": ["circular", "square"]})


def test_sizes_may_be_given_as_they_are_shown() -> None:
    scenario = catalogue().find("rr-cb-np")
    typed = {"requesters": ["1"], "message_bytes": ["2 KB", "20k", "2MB", "100"]}
    found = steps(scenario, catalogue().readiness(scenario), chosen=typed)
    assert [step.points["message_bytes"] for step in found] == [2048, 20_480, 2_097_152, 100]
    with pytest.raises(ParametersError):
        steps(scenario, catalogue().readiness(scenario), chosen={"requesters": ["2K"]})


def test_a_sweep_may_have_numbers_and_a_word() -> None:
    scenario = with_sweeps(Sweep("pairs", (100, "most"), (100,)))
    assert [step.points["pairs"] for step in steps(scenario, FREE)] == [100, "most"]
    chosen = [step.points["pairs"] for step in steps(scenario, FREE, chosen={"pairs": ["most", "7", "100", "7"]})]
    assert chosen == ["most", 7, 100]
    with pytest.raises(ParametersError, match="pairs: 'all' is not a whole number from 1 to 1,000,000, nor most"):
        steps(scenario, FREE, chosen={"pairs": ["all"]})
