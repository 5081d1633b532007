"""Published figures stand beside ours only where scenario, size, metric, unit and variant agree."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from tests.pipeline.steps.analysis_samples import figure, metrics, point, points, run, runs, table

from ostler.pipeline.lake.tables import CONTESTANT, FIGURE_MATCH
from ostler.pipeline.steps.comparison_metrics import comparison_metrics
from ostler.pipeline.steps.curves import curve_steps
from ostler.pipeline.steps.figure_matches import figure_matches

GCM = "ECDHE_RSA_AES_256_GCM_SHA384"


def _tls(cipher: str, rate: float, **others: Any) -> dict[str, Any]:
    parameters = {"requesters": "9", "cipher_spec": cipher}
    series = f"cipher_spec={cipher}"
    known: dict[str, Any] = {"scenario": "rr-cc-tls-np", "series": series, "parameters": parameters, "run": "tls"}
    return point(rate, 9, **(known | {"step": 1 if cipher == "none" else 2} | others))


def _publishing(subscribers: int, puts: float) -> dict[str, Any]:
    known: dict[str, Any] = {"scenario": "pubsub-1n-np", "operation": "get", "run": "published"}
    rates = {"put_rate": puts, "get_rate": puts * subscribers, "message_rate": puts * (1 + subscribers)}
    return point(puts * subscribers, subscribers, **known, **rates)


_OURS = [
    _tls("none", 1000.0),
    _tls(GCM, 700.0),
    _tls("none", 9000.0, contestant="Ostler, ostler.connect"),
    _publishing(4, 300.0),
    _publishing(8, 200.0),
]
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
    figure(8, "pubsub-1n-np", 400, variants={"subscribers": "4"}, clients=4, **_PUBLICATIONS),
    figure(9, "pubsub-1n-np", 900, variants={"subscribers": "4"}, clients=4, **_MESSAGES),
    figure(10, "pubsub-1n-np", 900, variants={"subscribers": "5"}, clients=5, **_MESSAGES),
    figure(11, "pubsub-1n-np", 900, variants={"api": "JMS"}, clients=4, **_MESSAGES),
    figure(12, "appl-c1", 900),
    figure(13, "rr-cc-tls-np", 900, variants=_PLAIN, basis="estimate"),
]


@pytest.fixture(scope="module")
def matched(spark: SparkSession) -> dict[int, Row]:
    measured = points(spark, _OURS)
    listed = runs(spark, [run("tls", scenario="rr-cc-tls-np"), run("published", scenario="pubsub-1n-np")])
    ours = comparison_metrics(measured, curve_steps(measured), listed, table(spark, CONTESTANT, []))
    found = figure_matches(metrics(spark, _PRINTED), ours.localCheckpoint())
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
    ],
)
def test_others_say_why_they_stand_alone(matched: dict[int, Row], number: int, words: str) -> None:
    assert (matched[number]["is_matched"], matched[number]["our_value"]) == (False, None)
    assert matched[number]["reason"] == words
