"""The catalogue: all scenarios of the reports are there, they can be told apart, and each says what it needs."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.lab.scenarios.as_json import summary, whole
from ostler.lab.scenarios.families import FAMILIES, Family
from ostler.lab.scenarios.features import Feature, FeatureState, ReadinessVerdict, readiness
from ostler.lab.scenarios.loader import UnknownScenario, catalogue, near_names
from ostler.lab.scenarios.model import LoadKind, Scenario, ScenarioKind, ScenarioPart, StopKind
from ostler.lab.scenarios.sets import SETS, UnknownSet, expand

ALL = catalogue()
MEASURED = [each for each in ALL.scenarios.values() if each.is_measured]

# What the laboratory has to run now; the rest comes with parts of the product that are not there yet.
_NAMES_NOW = """
local-rr-np local-rr-pm client-rr-np client-rr-pm client-rated-np client-rated-pm
local-large-np local-large-pm client-large-np client-large-pm
local-trusted-np local-trusted-pm client-trusted-np client-trusted-pm
client-short-session client-capacity-c6000 client-capacity-cmax client-capacity-cmax-unique-reply
mqi-response-time mqi-verb-timing rr-cb-np rr-cc-jms-np rr-cc-tls-np rr-bb-np rr-bb-pm rr-bb-filesystem
linear-vs-circular-logging implicit-syncpoint-by-apps implicit-syncpoint-by-queues
zos-pq-np-out-single zos-pq-np-out-scal zos-pq-np-in-single zos-pq-np-in-scal zos-pq-pm-in-single
p2p-multi-np p2p-multi-pm appl-c1 appl-c2 appl-c3 appl-c4 appl-connection-scaling
chlauth-connect-cost chlauth-restart zos-svrconn-sharecnv0 zos-svrconn-sharecnv1 v6compat-properties
zos-csa-usage zos-connection-storage zos-svrconn-footprint zos-object-sizes
pubsub-1n-np pubsub-1n-pm pubsub-1n-cores-np pubsub-multi-np pubsub-multi-pm pubsub-multi-cores-np
dq-rr-np dq-rr-pm dq-large-np dq-large-pm dq-rated-np dq-rated-pm dq-trusted-np dq-trusted-pm rr-dq-bb-np
dq-capacity-q1000 dq-capacity-qmax zos-chl-1-4 zos-chl-1-4-ssl zos-chl-10-50 zos-chl-10-50-ssl zos-channel-footprint
dq-channels dq-one-way dq-batches dq-distance dq-distance-rr dq-drain
topic-scavenger-idle-empty topic-scavenger-idle-100k topic-tree-multi-pass topic-scavenger-subscribe-cost
topic-wildcard-subscribe-cost chlauth-on-off zos-storage-open-objects zos-storage-unit-of-work
display-tpstatus-1m hostile-neighbour
micro-put-get micro-verbs micro-queue-depth micro-group-commit micro-restart micro-mqsc-define micro-mqsc-display
micro-topic-matching micro-driver-overhead spark-queues spark-steps
unit-of-work-size getters-queue-avoidance triggered-sessions queue-and-log-disks create-queue-manager appl-one-way
"""
NOW = _NAMES_NOW.split()


def test_every_scenario_of_the_reports_is_there_and_those_of_our_own() -> None:
    assert Counter(each.kind for each in ALL.scenarios.values()) == {
        ScenarioKind.SCENARIO: 165,
        ScenarioKind.BEHAVIOUR: 4,
        ScenarioKind.GUIDANCE: 4,
        ScenarioKind.CALCULATION: 4,
        ScenarioKind.CONFIGURATION: 3,
        ScenarioKind.COMMAND_OUTPUT: 2,
    }
    assert Counter(each.report.name for each in ALL.scenarios.values()) == {
        "zos-v71": 74, "windows-v53": 36, "windows-v91": 12, "pubsub-v701": 14, "appliance-m2003": 17,
        "message-channels": 6, "neighbours": 1, "ostler-micro": 11, "replication": 5, "shared-queues": 6,
    }  # fmt: skip
    assert sum(each.source.figures for each in ALL.scenarios.values()) == 1_613
    assert len(ALL.features) == 120


@pytest.mark.parametrize("scenario", MEASURED, ids=lambda each: each.id)
def test_every_printed_point_is_in_the_full_sweep(scenario: Scenario) -> None:
    for sweep in scenario.sweeps:
        assert set(sweep.printed) <= set(sweep.values), sweep.name


@pytest.mark.parametrize("scenario", [each for each in MEASURED if each.parts], ids=lambda each: each.id)
def test_a_part_is_a_point_so_that_it_runs_or_is_reported_as_left_out(scenario: Scenario) -> None:
    points = {point for sweep in scenario.sweeps for point in sweep.values}
    assert {part.name for part in scenario.parts} <= points


@pytest.mark.parametrize("scenario", MEASURED, ids=lambda each: each.id)
def test_deviations_are_sentences_with_a_reason(scenario: Scenario) -> None:
    for each in scenario.deviations:
        assert each.what[0].isupper()
        assert each.why[0].isupper()
        assert each.why.endswith(".")


def test_reports_come_from_the_oldest_to_the_newest() -> None:
    years = [report.year for report in ALL.reports.values()]
    assert years == sorted(years)
    assert len(years) == 10


@pytest.mark.parametrize("name", NOW)
def test_what_the_product_has_features_for_lacks_at_most_its_driver(name: str) -> None:
    found = ALL.readiness(ALL.find(name))
    assert found.missing == ()
    assert found.verdict in (ReadinessVerdict.READY, ReadinessVerdict.NEEDS_DRIVER)


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("pubsub-1n-cluster2-np", "clusters"),
        ("zos-clus-bind-on-open", "clusters"),
        ("zos-trace-chinit", "tracing"),
    ],
)
def test_what_cannot_run_says_what_it_waits_for(name: str, needs: str) -> None:
    found = ALL.readiness(ALL.find(name))
    assert found.verdict is ReadinessVerdict.NEEDS_FEATURES
    assert needs in found.needs()
    assert not found.can_run


def test_every_scenario_of_queue_sharing_groups_can_run() -> None:
    found = [each for each in MEASURED if each.family in ("shared-queues", "shared-data-sets")]
    assert len(found) == 34
    assert all(ALL.readiness(each).can_run for each in found)


def test_what_belongs_to_another_platform_is_told_apart() -> None:
    foreign = [each.id for each in MEASURED if ALL.readiness(each).verdict is ReadinessVerdict.FOREIGN]
    assert foreign == ["zos-ims-bridge-cm0", "zos-ims-bridge-cm1"]


def test_every_family_has_scenarios_and_every_runner_is_there() -> None:
    assert {each.family for each in MEASURED} == set(FAMILIES)
    for family in FAMILIES.values():
        if family.runner:
            module, _, function = family.runner.partition(":")
            assert find_spec(module) is not None, family.name
            assert function.isidentifier(), family.name


def test_named_sets_have_scenarios_that_can_run() -> None:
    for each in SETS.values():
        for member in each.members:
            scenario = ALL.find(member.scenario)
            assert ALL.readiness(scenario).can_run, scenario.id
            for name, points in member.points.items():
                known = {str(point) for point in scenario.sweep(name).values}
                assert set(points) <= known, f"{scenario.id} {name}"
    expanded = expand(["@spark", "local-rr-np", "@spark"])
    assert [each.scenario for each in expanded] == ["spark-queues", "spark-steps", "local-rr-np"]
    with pytest.raises(UnknownSet, match=r"no set '@sparks'\. There are: @micro"):
        expand(["@sparks"])


def test_every_scenario_of_a_part_is_in_the_set_of_parts_or_of_spark() -> None:
    ours = {each.id for each in MEASURED if each.report.name == "ostler-micro"}
    assert ours == {*SETS["micro"].scenarios, *SETS["spark"].scenarios}
    assert set(SETS["micro"].scenarios) < set(SETS["bench"].scenarios)


def test_every_feature_is_needed_by_something_or_is_told_by_a_scenario_that_is_not_measured() -> None:
    needed = {
        name for each in ALL.scenarios.values() for name in (*each.needs, *(n for p in each.parts for n in p.needs))
    }
    assert set(ALL.features) - needed <= {"dsgroup", "overlapped-io", "small-message-in-cf"}


@pytest.mark.parametrize("scenario", MEASURED, ids=lambda each: each.id)
def test_a_scenario_can_be_understood(scenario: Scenario) -> None:
    assert scenario.summary.endswith((".", "?"))
    assert len(scenario.summary) > 60
    assert not scenario.title.endswith(".")
    assert scenario.load is not None
    assert scenario.stop is not None
    assert scenario.needs or scenario.report.text == "none", "ours may need nothing of the product"


def test_titles_and_summaries_are_told_apart() -> None:
    assert len({each.title for each in ALL.scenarios.values()}) == len(ALL.scenarios)
    assert len({each.summary for each in MEASURED}) > 0.9 * len(MEASURED)


def test_rates_and_stop_rules_of_the_rated_tests() -> None:
    for name in ("client-rated-np", "client-rated-pm", "dq-rated-np", "dq-rated-pm"):
        scenario = ALL.find(name)
        assert scenario.load is not None
        assert scenario.stop is not None
        assert (scenario.load.kind, scenario.load.per_second) == (LoadKind.RATED, 1.0)
        assert (scenario.stop.kind, scenario.stop.limit) == (StopKind.RESPONSE_TIME, 1.0)
    rates = {name: load.per_second for name in ("p2p-multi-np", "p2p-multi-pm") if (load := ALL.find(name).load)}
    assert rates == {"p2p-multi-np": 1600.0, "p2p-multi-pm": 400.0}


def test_scenarios_cannot_be_changed() -> None:
    scenario = ALL.find("local-rr-pm")
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario.title = "another"  # type: ignore[misc]
    with pytest.raises(TypeError):
        scenario.parameters["queue_pairs"] = 2  # type: ignore[index]


def test_a_sweep_is_found_by_name() -> None:
    scenario = ALL.find("rr-cc-tls-np")
    assert "ECDHE_RSA_AES_256_GCM_SHA384" in scenario.sweep("cipher_spec").values
    with pytest.raises(KeyError):
        scenario.sweep("colour")


def test_unknown_names_come_with_near_ones() -> None:
    with pytest.raises(UnknownScenario) as refused:
        ALL.find("local-rr")
    assert refused.value.near[:2] == ("local-rr-np", "local-rr-pm")
    with pytest.raises(UnknownScenario) as refused:
        ALL.find("chlauth-restrat")
    assert refused.value.near[0] == "chlauth-restart"
    with pytest.raises(UnknownScenario) as refused:
        ALL.find("%%%")
    assert refused.value.near == ()


@given(st.text(max_size=40))
def test_near_names_are_few_and_known(name: str) -> None:
    near = near_names(name, tuple(ALL.scenarios))
    assert len(near) <= 3
    assert set(near) <= set(ALL.scenarios)
    assert len(set(near)) == len(near)


def test_a_scenario_is_ready_when_its_family_has_a_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = ALL.find("local-rr-np")
    monkeypatch.setitem(FAMILIES, scenario.family, Family(scenario.family, "without one"))
    found = ALL.readiness(scenario)
    assert (found.verdict, found.needs(), found.can_run) == (ReadinessVerdict.NEEDS_DRIVER, ("a driver",), False)
    monkeypatch.setitem(FAMILIES, scenario.family, Family(scenario.family, "with one", "somewhere:run"))
    found = ALL.readiness(scenario)
    assert (found.verdict, found.needs(), found.can_run) == (ReadinessVerdict.READY, (), True)


def test_parts_that_need_more_are_left_out_and_nothing_else() -> None:
    features = {
        "a": Feature("a", "A", FeatureState.HERE, ""),
        "b": Feature("b", "B", FeatureState.STAND_IN, ""),
        "c": Feature("c", "C", FeatureState.MISSING, "", "the rest"),
        "d": Feature("d", "D", FeatureState.FOREIGN, ""),
    }
    base = dataclasses.replace(
        ALL.find("local-rr-np"), needs=("a", "b"), parts=(ScenarioPart("x", ("c",)), ScenarioPart("y", ("b",)))
    )
    found = readiness(base, features)
    assert [part.name for part in found.left_out] == ["x"]
    assert [each.id for each in found.stand_ins] == ["b"]
    assert found.missing == ()
    found = readiness(dataclasses.replace(base, needs=("a", "c")), features)
    assert (found.verdict, found.needs()) == (ReadinessVerdict.NEEDS_FEATURES, ("the rest",))
    found = readiness(dataclasses.replace(base, needs=("d", "c")), features)
    assert (found.verdict, found.needs()) == (ReadinessVerdict.FOREIGN, ("D", "the rest"))


@pytest.mark.parametrize("scenario", ALL.scenarios.values(), ids=lambda each: each.id)
def test_every_scenario_goes_through_json(scenario: Scenario) -> None:
    found = ALL.readiness(scenario)
    told = json.loads(json.dumps(whole(scenario, found)))
    assert told["id"] == scenario.id
    assert type(whole(scenario, found)["kind"]) is str
    assert told["report"]["text"] == scenario.report.text
    assert [each["name"] for each in told["sweeps"]] == [each.name for each in scenario.sweeps]
    assert told["parameters"] == {name: plain_list(value) for name, value in scenario.parameters.items()}
    short = json.loads(json.dumps(summary(scenario, found)))
    assert short["state"] == told["readiness"]["state"] == found.verdict.value
    assert short["missing"] == [each["id"] for each in told["readiness"]["missing"]]


def plain_list(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
