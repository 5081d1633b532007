"""Published figures stand beside ours only where scenario, size, metric, unit and variant agree."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from tests.pipeline.steps.analysis_samples import figure, metrics, point, points, run, runs, table

from ostler.pipeline.lake.tables import CONTESTANT, FIGURE_MATCH
from ostler.pipeline.steps.comparison_metrics import comparison_metrics
from ostler.pipeline.steps.curves import curve_steps
from ostler.pipeline.steps.figure_matches import figure_matches
from ostler.pipeline.steps.ratios import our_ratios, rules_table

GCM = "ECDHE_RSA_AES_256_GCM_SHA384"


def _tls(cipher: str, rate: float, **others: Any) -> dict[str, Any]:
    parameters = {"requesters": "9", "cipher_spec": cipher}
    series = f"cipher_spec={cipher}"
    known: dict[str, Any] = {"scenario": "rr-cc-tls-np", "series": series, "parameters": parameters, "run": "tls"}
    return point(rate, 9, **(known | {"step": 1 if cipher == "none" else 2} | others))


def _publishing(subscribers: int, puts: float) -> dict[str, Any]:
    """One publisher, and subscribers with the MQI: as many clients as the report counts, and the options of a run."""
    known: dict[str, Any] = {"scenario": "pubsub-1n-np", "operation": "get", "run": "published", "series": "api=MQI"}
    rates = {"put_rate": puts, "get_rate": puts * subscribers, "message_rate": puts * (1 + subscribers)}
    parameters = {"subscribers": str(subscribers), "api": "MQI"}
    return point(puts * subscribers, 1 + subscribers, parameters=parameters, **known, **rates)


def _swept(name: str, rate: float, **swept: str) -> dict[str, Any]:
    """A point of a curve with options."""
    series = ", ".join(f"{key}={value}" for key, value in swept.items())
    # Steps have numbers of their own.
    step = sum(map(ord, series))
    parameters = {"requesters": "9", **swept}
    return point(rate, 9, scenario=name, run=name, step=step, series=series, parameters=parameters)


def _rated(name: str, rates: dict[int, float]) -> list[dict[str, Any]]:
    """Requesters that ask for one round trip a second each."""
    return [
        point(rate, clients, scenario=name, run=name, asked_rate=float(clients), mean_ns=clients * 1e9 / rate)
        for clients, rate in rates.items()
    ]


_OURS = [
    _tls("none", 1000.0),
    _tls(GCM, 700.0),
    _tls("none", 9000.0, contestant="Ostler, ostler.connect"),
    _publishing(4, 300.0),
    _publishing(8, 200.0),
    # With 1,400 the mean response time is more than a second; of the other nobody knows how many would be too many.
    *_rated("client-rated-np", {50: 50.0, 800: 800.0, 1400: 1000.0}),
    *_rated("client-rated-pm", {50: 50.0, 400: 400.0}),
    point(1000.0, 9, run="client-rr-np"),
    _swept("client-rr-pm", 700.0, server_threads="20"),
    _swept("client-rr-pm", 800.0, server_threads="40"),
    _swept("appl-c2", 500.0, model="A"),
    _swept("appl-c2", 200.0, model="B"),
    _swept("client-short-session", 50.0, requests_per_hour="3600"),
    _swept("client-short-session", 60.0, requests_per_hour="4724"),
    _swept("client-capacity-cmax-unique-reply", 30.0, reply_queues="common"),
    _swept("client-capacity-cmax-unique-reply", 20.0, reply_queues="own"),
]
_WITHIN: dict[str, Any] = {"metric": "max_apps_rt_le_1s", "unit": "applications", "clients": None}
_PLAIN = {"api": "MQI", "cipher": "none", "point": "peak"}
_MESSAGES = {"metric": "messages_per_s", "unit": "messages/s"}
_PUBLICATIONS = {"metric": "publications_per_s", "unit": "publications/s"}
_PRINTED = [
    figure(1, "rr-cc-tls-np", 5000, variants=_PLAIN),
    figure(2, "rr-cc-tls-np", 3000, variants=_PLAIN | {"cipher": GCM}),
    figure(3, "rr-cc-tls-np", 2000, variants=_PLAIN | {"cipher": "a CBC cipher"}),
    figure(4, "rr-cc-tls-np", 2000, variants=_PLAIN, message_bytes=20480),
    figure(5, "rr-cc-tls-np", 2000, variants=_PLAIN | {"cps": "30"}),
    figure(6, "rr-cc-tls-np", 0.5, variants=_PLAIN, metric="latency_ms", unit="ms"),
    figure(7, "rr-cc-tls-np", 2000, variants=_PLAIN, metric="round_trips_per_s", unit="round trips/s each"),
    figure(8, "pubsub-1n-np", 400, variants={"subscribers": "4"}, clients=5, **_PUBLICATIONS),
    figure(9, "pubsub-1n-np", 900, variants={"subscribers": "4"}, clients=5, **_MESSAGES),
    figure(10, "pubsub-1n-np", 900, variants={"subscribers": "5"}, clients=6, **_MESSAGES),
    figure(11, "pubsub-1n-np", 900, variants={"api": "JMS"}, clients=5, **_MESSAGES),
    figure(12, "appl-c1", 900),
    figure(13, "rr-cc-tls-np", 900, variants=_PLAIN, basis="estimate"),
    figure(14, "client-rated-np", 1350, **_WITHIN),
    figure(15, "client-rated-pm", 650, **_WITHIN),
    figure(16, "client-rr-pm", 3000, variants={"server_threads": "20 or 40", "point": "peak"}),
    figure(17, "appl-c2", 90_000, variants={"point": "peak"}, product="IBM MQ Appliance M2003A"),
    figure(18, "appl-c2", 30_000, variants={"point": "peak"}, product="IBM MQ Appliance M2003B"),
    figure(19, "client-short-session", 538, variants={"rate_per_app_per_h": "3600", "point": "peak"}),
    figure(20, "client-capacity-cmax-unique-reply", 179, variants={"common_reply_queue": "no", "point": "peak"}),
]


@pytest.fixture(scope="module")
def ours(spark: SparkSession) -> DataFrame:
    measured = points(spark, _OURS)
    named = sorted({str(each["run"]) for each in _OURS} - {"tls", "published"})
    others = [run(name, scenario=name) for name in named]
    listed = runs(spark, [run("tls", scenario="rr-cc-tls-np"), run("published", scenario="pubsub-1n-np"), *others])
    return comparison_metrics(measured, curve_steps(measured), listed, table(spark, CONTESTANT, [])).localCheckpoint()


@pytest.fixture(scope="module")
def matched(spark: SparkSession, ours: DataFrame) -> dict[int, Row]:
    found = figure_matches(metrics(spark, _PRINTED), ours)
    assert tuple(found.columns) == FIGURE_MATCH.names
    rows = {row["figure"]: row for row in found.collect()}
    assert len(rows) == len(_PRINTED), "each figure has a row"
    return rows


def test_figures_with_the_same_variant_stand_side_by_side(matched: dict[int, Row]) -> None:
    assert (matched[1]["is_matched"], matched[1]["our_value"], matched[1]["contestant"]) == (True, 1000.0, "Ostler")
    assert (matched[2]["our_value"], matched[2]["series"]) == (700.0, f"cipher_spec={GCM}")
    assert (matched[6]["our_value"], matched[6]["published_value"]) == (pytest.approx(9000.0), 500.0)


def test_publications_and_messages_are_counted_as_reports_do(matched: dict[int, Row]) -> None:
    assert (matched[8]["metric"], matched[8]["our_value"]) == ("publications", 300.0)
    assert (matched[9]["metric"], matched[9]["our_value"]) == ("messages put and got", 1500.0)


@pytest.mark.parametrize(("number", "value"), [(16, 800.0), (17, 500.0), (18, 200.0), (19, 50.0), (20, 20.0)])
def test_options_that_a_scenario_sweeps_are_those_of_the_figure(
    matched: dict[int, Row], number: int, value: float
) -> None:
    assert (matched[number]["is_matched"], matched[number]["our_value"]) == (True, value), matched[number]["reason"]


def test_clients_within_a_second_are_known_where_more_waited_longer(matched: dict[int, Row]) -> None:
    assert (matched[14]["is_matched"], matched[14]["our_value"]) == (True, 800.0)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (3, "no step of ours has its size and variant"),
        (4, "no step of ours has its size and variant"),
        (5, "no run of ours has its variant cps=30"),
        (7, "we have no round_trips_per_s in round trips/s each"),
        (10, "no step of ours has its number of clients, or this metric"),
        (11, "its programs used JMS"),
        (12, "its scenario was not run"),
        (13, "it is not measured but estimate"),
        (15, "no run of ours had so many clients that one waits a second"),
    ],
)
def test_others_say_why_they_stand_alone(matched: dict[int, Row], number: int, words: str) -> None:
    assert (matched[number]["is_matched"], matched[number]["our_value"]) == (False, None)
    assert matched[number]["reason"] == words


def test_ratios_of_steps_with_usual_options(spark: SparkSession, ours: DataFrame) -> None:
    """One side sweeps what the other does not have: server threads."""
    found = our_ratios(ours, rules_table(spark)).filter("metric = 'rate'").collect()
    pairs = {(row["left_name"], row["right_name"]) for row in found}
    assert ("client-rr-np", "client-rr-pm, server_threads=40") in pairs
    assert not any("server_threads=20" in name for pair in pairs for name in pair)
