"""Which figures are laid side by side, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from tests.pipeline.analysis_samples import figure, figures, point, points, run, runs

from ostler.pipeline.comparisons import comparisons
from ostler.pipeline.judging import PAIR_COLUMNS, judged
from ostler.pipeline.tables import COMPARISON

_PAIRS = (
    "kind string, subject string, scenario string, series string, clients int, metric string, more_is_better boolean, "
    "is_comparable boolean, left_name string, right_name string, left_run string, right_run string, "
    "left_values array<double>, right_values array<double>, noise_percent double"
)


def _pair(subject: str, left: Sequence[float], right: Sequence[float], **others: Any) -> tuple[Any, ...]:
    row: dict[str, Any] = {
        **dict.fromkeys(
            ("kind", "scenario", "series", "metric", "left_name", "right_name", "left_run", "right_run"), ""
        ),
        "subject": subject,
        "clients": None,
        "more_is_better": True,
        "is_comparable": True,
        "left_values": [float(each) for each in left],
        "right_values": [float(each) for each in right],
        "noise_percent": 0.0,
    }
    return tuple((row | others)[name] for name in PAIR_COLUMNS)


def test_verdicts(spark: SparkSession) -> None:
    steady = (100, 101, 99)
    pairs = [
        _pair("same", steady, (105, 104, 106)),
        _pair("better", steady, (108, 107, 109)),
        _pair("worse", (108, 107, 109), steady),
        _pair("slower", steady, (120, 121, 119), more_is_better=False),
        _pair("noisy machine", steady, (108, 107, 109), noise_percent=5.0),
        _pair("shaken", (100, 70, 140), (130, 180, 90)),
        _pair("once", (100,), (150,)),
        _pair("nothing", (0, 0), (150, 150)),
        _pair("stopped", steady, (0, 0, 0)),
        _pair("another thing", steady, (300, 301), is_comparable=False),
        _pair("exactly", (100, 100), (200, 200)),
    ]
    found = {row["subject"]: row for row in judged(spark.createDataFrame(pairs, _PAIRS)).collect()}
    assert {name: row["verdict"] for name, row in found.items()} == {
        "same": "same",
        "better": "better",
        "worse": "worse",
        "slower": "worse",
        "noisy machine": "same",
        "shaken": "same",
        "once": "better",
        "nothing": "not comparable",
        "stopped": "worse",
        "another thing": "not comparable",
        "exactly": "better",
    }
    better = found["better"]
    assert better["change_percent"] == pytest.approx(8.0)
    assert better["low_percent"] < 8.0 < better["high_percent"]
    assert better["tolerance_percent"] == 6.0
    assert found["noisy machine"]["tolerance_percent"] == 11.0
    assert (found["once"]["low_percent"], found["once"]["high_percent"]) == (None, None)
    assert found["exactly"]["low_percent"] == pytest.approx(100.0)


def test_interval_is_that_of_welch(spark: SparkSession) -> None:
    # By hand: logarithms of the right side are 0 and 2, of the left side 0 and 0: the error is 1, with one degree.
    pair = _pair("one", (1, 1), (1, 7.38905609893065))
    (row,) = judged(spark.createDataFrame([pair], _PAIRS)).collect()
    assert row["low_percent"] == pytest.approx(100 * (2.718281828 ** (1 - 12.706) - 1))
    assert row["high_percent"] == pytest.approx(100 * (2.718281828 ** (1 + 12.706) - 1), rel=1e-6)


def _compared(spark: SparkSession, rows: list[dict[str, Any]], made: list[dict[str, Any]]) -> list[Row]:
    table = comparisons(points(spark, rows), runs(spark, made), figures(spark, []))
    assert tuple(table.columns) == COMPARISON.names
    return table.collect()


def test_releases_and_repeats(spark: SparkSession) -> None:
    made = [
        run("first"),
        run("second", 1),
        run("third", 2, version="1.1"),
        run("quick", 3, parameters={"is_quick": "True"}),
        run("elsewhere", 4, machine="another"),
    ]
    rows = [
        point(rate, clients, run=each["run"], contestant=name, kind=kind, noise_percent=None)
        for each, rate in zip(made, (100, 102, 200, 999, 999), strict=True)
        for name, kind in (("Ostler", "ostler"), ("bare ping-pong", "limit"))
        for clients in (1, 2)
    ]
    found = [row for row in _compared(spark, rows, made) if row["metric"] == "rate" and row["kind"] != "product"]
    assert {(row["kind"], row["subject"], row["left_run"], row["right_run"]) for row in found} == {
        ("repeat", "Ostler, the same again", "first", "second"),
        ("release", "Ostler: 1.1 a to 1.0 a", "second", "third"),
        ("repeat", "bare ping-pong, the same again", "first", "second"),
        ("repeat", "bare ping-pong, the same again", "second", "third"),
    }
    release = [row for row in found if row["kind"] == "release"]
    assert {row["clients"] for row in release} == {None, 1, 2}
    assert {(row["left_value"], row["right_value"], row["verdict"]) for row in release} == {(102.0, 200.0, "better")}
    assert {row["tolerance_percent"] for row in release} == {21.0}


def test_products(spark: SparkSession) -> None:
    rows = [
        point(rate, 4, contestant=name, kind=kind, repetition=repetition)
        for name, kind, rate in (
            ("Ostler", "ostler", 1000.0),
            ("Ostler, ostler.connect", "ostler", 500.0),
            ("RabbitMQ", "peer", 800.0),
            ("RabbitMQ, pika", "peer", 700.0),
            ("bare ping-pong", "limit", 4000.0),
        )
        for repetition in (0, 1)
    ]
    found = _compared(spark, rows, [run()])
    peaks = {row["subject"]: row for row in found if row["metric"] == "rate" and row["clients"] is None}
    assert {name: row["verdict"] for name, row in peaks.items()} == {
        "Ostler to RabbitMQ": "better",
        "Ostler, ostler.connect to RabbitMQ, pika": "worse",
        "Ostler to bare ping-pong": "not comparable",
        "Ostler, ostler.connect to bare ping-pong": "not comparable",
    }
    assert peaks["Ostler to RabbitMQ"]["our_ratio"] == 1.25
    assert peaks["Ostler to bare ping-pong"]["our_ratio"] == 0.25
    times = [row for row in found if row["metric"].startswith("mean") and row["subject"] == "Ostler to RabbitMQ"]
    assert [(row["clients"], row["verdict"], row["left_value"]) for row in times] == [(4, "better", 5000.0)]
    assert {row["kind"] for row in found} == {"product"}


def test_options(spark: SparkSession) -> None:
    def tls(rate: float, clients: int, cipher: str, size: str) -> dict[str, Any]:
        parameters = {
            "requesters": str(clients),
            "cipher_spec": cipher,
            "message_bytes": size,
            "operation": "round trip",
        }
        series = f"cipher_spec={cipher}, message_bytes={size}"
        return point(
            rate, clients, series=series, parameters=parameters, message_bytes=int(size), step=hash(series) % 997
        )

    rows = [
        tls(1000, 1, "none", "2048"),
        tls(400, 1, "A, old", "2048"),
        tls(600, 1, "B", "2048"),
        tls(100, 1, "none", "20480"),
        tls(90, 1, "B", "20480"),
    ]
    found = [row for row in _compared(spark, rows, [run()]) if row["metric"] == "rate" and row["clients"] is None]
    told = {(row["subject"], row["series"]): round(row["our_ratio"], 3) for row in found if row["kind"] == "option"}
    assert told == {
        ("TLS with A, old to plain", "Ostler, message_bytes=2048"): 0.4,
        ("TLS with B to plain", "Ostler, message_bytes=2048"): 0.6,
        ("TLS with B to plain", "Ostler, message_bytes=20480"): 0.9,
        ("20480 bytes to 2048", "Ostler, cipher_spec=none"): 0.1,
        ("20480 bytes to 2048", "Ostler, cipher_spec=B"): 0.15,
    }
    key = [tuple(row[name] for name in COMPARISON.key) for row in found]
    assert len(set(key)) == len(key)


def test_ratios_of_ours_beside_published_ones(spark: SparkSession) -> None:
    printed = [
        figure(1, "client-rr-np", 1000, clients=9),
        figure(2, "client-rr-np", 900, clients=20),
        figure(3, "client-rr-pm", 250, section="Another section"),
        figure(4, "client-rr-np", 800, product_version="V5.2"),
        figure(5, "client-rr-pm", 100, product_version="V5.2"),
        figure(6, "client-rr-pm", 999, basis="estimate"),
        figure(7, "client-rr-pm", 999, platform="another machine"),
        figure(8, "client-rr-pm", 999, table_or_figure="prose"),
        figure(9, "client-rr-pm", 99, message_bytes=256),
        figure(10, "appl-c1", 2000),
        figure(11, "appl-c1", 500, message_bytes=20480),
    ]
    made = [run("np"), run("old", 0, scenario="client-rr-pm"), run("pm", 1, scenario="client-rr-pm")]
    rows = [
        *(point(400, 1, run="np", repetition=number) for number in (0, 1)),
        point(399, 1, run="old", scenario="client-rr-pm", persistent=True),
        *(point(200, 1, run="pm", scenario="client-rr-pm", persistent=True, repetition=number) for number in (0, 1)),
    ]
    table = comparisons(points(spark, rows), runs(spark, made), figures(spark, printed))
    found = [row for row in table.collect() if row["kind"] == "ratio"]
    told = {(row["subject"], row["left_run"], row["right_run"]): row for row in found}
    assert set(told) == {
        ("persistent to nonpersistent", "np", "pm"),
        ("persistent to nonpersistent", "figure 4", "figure 5"),
        ("size to size", "figure 10", "figure 11"),
    }
    ours = told["persistent to nonpersistent", "np", "pm"]
    assert (ours["published_ratio"], ours["our_ratio"], ours["verdict"]) == (0.25, 0.5, "better")
    assert (ours["left_value"], ours["right_value"], ours["series"]) == (400.0, 200.0, "2048 bytes, Ostler")
    assert ours["published_source"] == "A report: A section, Table 1; Another section, Table 1 (figures 1 and 3)"
    older = told["persistent to nonpersistent", "figure 4", "figure 5"]
    assert (older["published_ratio"], older["our_ratio"], older["verdict"]) == (0.125, None, "not comparable")
    size = told["size to size", "figure 10", "figure 11"]
    assert (size["published_ratio"], size["series"]) == (0.25, "2048 to 20480 bytes, a machine")


def test_ratios_by_options_and_without_printed_figures(spark: SparkSession) -> None:
    def logged(rate: float, log: str) -> dict[str, Any]:
        return point(
            rate,
            1,
            scenario="linear-vs-circular-logging",
            series=f"log={log}",
            parameters={"log": log},
            persistent=True,
        )

    def trusted(rate: float, binding: str) -> dict[str, Any]:
        option = {"responder_binding": binding}
        return point(
            rate, 1, run="run-2", scenario="local-trusted-np", series=f"responder_binding={binding}", parameters=option
        )

    rows = [
        logged(100, "circular"),
        logged(90, "linear, extents reused"),
        trusted(100, "local"),
        trusted(147, "trusted"),
    ]
    printed = [figure(1, "local-rr-np", 6393), figure(2, "local-trusted-np", 9421)]
    made = [run(scenario="linear-vs-circular-logging"), run("run-2", scenario="local-trusted-np")]
    table = comparisons(points(spark, rows), runs(spark, made), figures(spark, printed))
    found = {row["subject"]: row for row in table.collect() if row["kind"] == "ratio"}
    linear, binding = found["linear to circular"], found["trusted to standard"]
    assert (linear["published_ratio"], linear["our_ratio"], linear["verdict"]) == (None, 0.9, "not comparable")
    assert "without printed figures" in linear["published_source"]
    assert binding["published_ratio"] == pytest.approx(9421 / 6393)
    assert (binding["scenario"], binding["verdict"]) == ("local-trusted-np", "same")
    assert len(found) == 2
