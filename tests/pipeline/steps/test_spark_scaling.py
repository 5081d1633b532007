"""Fits of curves whose law is known, and what curves are limited by."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.steps.analysis_samples import point, points, run, runs

from ostler.pipeline.lake.tables import SCALING
from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER
from ostler.pipeline.steps.curves import curve_steps
from ostler.pipeline.steps.scaling import best_steps, scaling
from ostler.pipeline.steps.universal_scalability import fits

CLIENTS = (1, 2, 3, 5, 8, 12, 20, 40, 100)


def _law(clients: int, single: float, sigma: float, kappa: float) -> float:
    return single * clients / (1 + sigma * (clients - 1) + kappa * clients * (clients - 1))


def scaled(spark: SparkSession, rows: list[dict[str, Any]], listed: list[dict[str, Any]]) -> DataFrame:
    """The table of scaling, from points and runs."""
    steps = curve_steps(points(spark, rows))
    return scaling(steps, best_steps(steps, runs(spark, listed)))


_LAWS = st.tuples(
    st.floats(1, 1e5),
    st.one_of(st.just(0.0), st.floats(1e-4, 0.9)),
    st.one_of(st.just(0.0), st.floats(1e-6, 0.05)),
)


# Each example is many curves and one job of Spark: shrinking a failure would take longer than finding its cause.
@settings(
    max_examples=3,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(laws=st.lists(_LAWS, min_size=20, max_size=40))
def test_known_laws_are_found(spark: SparkSession, laws: list[tuple[float, float, float]]) -> None:
    rows = [point(_law(clients, *law), clients, contestant=str(number))
            for number, law in enumerate(laws) for clients in CLIENTS]  # fmt: skip
    found = {int(row["contestant"]): row for row in fits(curve_steps(points(spark, rows))).collect()}
    assert len(found) == len(laws)
    for number, (single, sigma, kappa) in enumerate(laws):
        row = found[number]
        assert row["lambda"] == pytest.approx(single, rel=1e-4)
        assert row["sigma"] == pytest.approx(sigma, rel=1e-3, abs=1e-5)
        assert row["kappa"] == pytest.approx(kappa, rel=1e-3, abs=1e-7)
        assert row["residual_percent"] < 0.01


def test_noise_leaves_residuals_and_no_negative_terms(spark: SparkSession) -> None:
    # Better than linear: the law knows no such thing, and says a straight line.
    rising = [point(100.0 * clients * 1.02**clients, clients, contestant="rising") for clients in (1, 2, 4, 8, 16)]
    shaken = [point(_law(clients, 100, 0.1, 0.01) * (1.1 if clients % 2 else 0.9), clients, contestant="shaken")
              for clients in CLIENTS]  # fmt: skip
    found = {row["contestant"]: row for row in fits(curve_steps(points(spark, rising + shaken))).collect()}
    assert (found["rising"]["sigma"], found["rising"]["kappa"]) == (0.0, 0.0)
    assert found["rising"]["predicted_peak_rate"] is None
    assert 5 < found["shaken"]["residual_percent"] < 15
    assert found["shaken"]["r_squared"] < 0.99
    assert found["shaken"]["kappa"] == pytest.approx(0.01, rel=0.5)


def test_short_and_strange_curves(spark: SparkSession) -> None:
    """Too few steps are not fitted; what is fitted predicts no less than one client does, and no peak from nothing."""
    curves = {
        "two": [(1, 100), (10, 500)],
        "three": [(1, 100), (2, 180), (4, 300)],
        "one number of clients": [(5, 100), (5, 101), (5, 102), (5, 103)],
        "falling": [(1, 100), (2, 60), (4, 35), (8, 20)],
        "slower from the second on": [(1, 64), (2, 61), (4, 55), (8, 52), (16, 49)],
        "straight": [(clients, 100.0 * clients) for clients in (1, 2, 4, 8)],
        "level": [(clients, 100.0) for clients in (1, 2, 4, 8, 16)],
        "nothing": [(clients, 0.0) for clients in (1, 2, 4, 8)],
    }
    rows = [
        point(rate, clients, contestant=name, step=step)
        for name, steps in curves.items()
        for step, (clients, rate) in enumerate(steps)
    ]
    found = {row["contestant"]: row for row in scaled(spark, rows, [run()]).collect()}
    assert set(found) == set(curves)
    assert {name for name, row in found.items() if not row["is_fitted"]} == {
        *("two", "three", "one number of clients", "nothing")
    }
    for name in ("falling", "slower from the second on"):
        row = found[name]
        assert row["predicted_peak_clients"] == 1.0
        assert row["predicted_peak_rate"] == pytest.approx(row["lambda"])
    straight, level = found["straight"], found["level"]
    assert (straight["predicted_peak_rate"], straight["predicted_peak_clients"], straight["kappa"]) == (None, None, 0)
    assert level["predicted_peak_rate"] == pytest.approx(100, rel=1e-3)
    assert (found["two"]["limited_by"], found["two"]["points"]) == ("unknown", 2)
    assert "still rising" in found["two"]["why"]
    assert "still rising" not in found["falling"]["why"]


def test_predictions_and_costs(spark: SparkSession) -> None:
    rows = [point(_law(clients, 100, 0.05, 0.001), clients, broker_cpu_us=50.0 + clients) for clients in CLIENTS]
    rows += [point(clients * 10, clients, contestant="few") for clients in (1, 2, 3)]
    rows += [point(clients * 10, clients, contestant="rated", asked_rate=clients * 10.0) for clients in CLIENTS]
    rows += [point(_law(clients, 100, 0.5, 0.0), clients, contestant="flat") for clients in CLIENTS]
    table = scaled(spark, rows, [run()])
    assert tuple(table.columns) == SCALING.names
    found = {row["contestant"]: row for row in table.collect()}
    best = found["Ostler"]
    assert best["is_fitted"] is True
    assert best["predicted_peak_clients"] == pytest.approx(sqrt(0.95 / 0.001), rel=1e-3)
    assert best["predicted_peak_rate"] == pytest.approx(_law(31, 100, 0.05, 0.001), rel=0.01)
    assert best["cpu_growth_percent"] == pytest.approx(100 * 99 / 51)
    assert best["cpu_limit_rate"] == pytest.approx(1e6 / 90)
    assert (found["few"]["is_fitted"], found["few"]["points"], found["few"]["lambda"]) == (False, 3, None)
    assert found["rated"]["is_fitted"] is False
    assert "asked for" in found["rated"]["why"]
    assert found["flat"]["predicted_peak_rate"] == pytest.approx(200, rel=1e-3)


def test_what_limits(spark: SparkSession) -> None:
    def single(name: str, rate: float = 1000.0, **others: Any) -> dict[str, Any]:
        told: dict[str, Any] = {"broker_core_percent": 40.0, "machine_busy_percent": 50.0}
        return point(rate, 2, contestant=name, **(told | others))

    needed = {"needed for an operation": "6"}
    rows = [
        single("driver", flags=["driver-saturated"], broker_core_percent=99.0),
        single("broker", broker_core_percent=95.0),
        single("peer", broker_core_percent=95.0, kind="peer"),
        single("log", persistent=True, disk_busy_percent=95.0),
        single("forced", persistent=True, run="run-2"),
        single("network", run="run-2"),
        single("beyond", persistent=True, run="run-2", rate=3000.0),
        single("machine", machine_busy_percent=90.0),
        single("untold", broker_core_percent=None, machine_busy_percent=None),
        single("put", persistent=True, run="run-3", operation="MQPUT and MQGET"),
        single("writing and forcing", kind="limit", run="run-3", rate=1100.0, operation="MQPUT and MQGET"),
        single("crowding", persistent=True, log_forces=500),
        single("crowded", machine_busy_percent=99.0, flags=["others-busy"]),
        single("ten", scenario="appl-c3", broker_core_percent=110.0),
        single("joined", scenario="dq-rr-pm", broker_core_percent=110.0, persistent=True, run="run-4"),
        single(
            ONE_QUEUE_MANAGER, scenario="dq-rr-pm", broker_core_percent=95.0, persistent=True, run="run-4", rate=3000.0
        ),
        single("group commit", kind="limit", run="run-4", rate=6300.0, operation="commit", step=2, parameters=needed),
        single("far", 190.0, series="round_trip_ms=10"),
        single("batches", 4500.0, series="batch_size=50, round_trip_ms=10", operation="get"),
        single("near", 190.0, series="batch_size=50, round_trip_ms=0"),
        single("unknown"),
        single("group commit", kind="limit", run="run-2", rate=2100.0, operation="commit"),
        single("bare ping-pong", kind="limit", run="run-2", rate=1100.0),
    ]
    found = {
        row["contestant"]: row
        for row in scaled(spark, rows, [run(), run("run-2"), run("run-3"), run("run-4")]).collect()
    }
    limits = {name: row["limited_by"] for name, row in found.items()}
    for name in ("driver", "broker", "log", "network", "machine", "unknown"):
        assert limits[name] == name
    assert (limits["forced"], found["forced"]["why"]) == (
        "log",
        "1,000 a second are 95% of what the bare log could keep",
    )
    assert (limits["put"], found["put"]["why"]) == ("log", "1,000 a second are 91% of what the bare log could keep")
    # More than a limit by half as much again: it was none.
    assert limits["beyond"] == "unknown"
    assert found["untold"]["why"] == "nothing was full"
    assert found["crowding"]["why"].endswith("the log was forced 50 times a second")
    assert limits["peer"] == "unknown"
    assert limits["bare ping-pong"] == "unknown"
    assert "no part of the run" in found["crowded"]["why"]
    # Ten queue managers fill the four cores of the machine.
    assert (limits["ten"], found["ten"]["cpu_limit_rate"]) == ("unknown", pytest.approx(4e6 / 50))
    # A probe says how many of its commits a round trip through two queue managers waits for.
    assert (limits["joined"], found["joined"]["why"]) == (
        "log",
        "1,000 a second are 95% of what the bare log could keep",
    )
    assert found["joined"]["cpu_limit_rate"] == pytest.approx(2e6 / 50)
    assert (limits["far"], found["far"]["why"]) == (
        "network",
        "over a distance of 10 ms there and back 2 clients make 200 a second at most",
    )
    assert (limits["batches"], found["batches"]["why"]) == (
        "network",
        "4,500 a second are 90% of one batch of 50 in each round trip of 10 ms",
    )
    assert limits["near"] == "unknown"
    # One queue manager in the place of two can use one core.
    assert (limits[ONE_QUEUE_MANAGER], found[ONE_QUEUE_MANAGER]["cpu_limit_rate"]) == (
        "broker",
        pytest.approx(1e6 / 50),
    )
    assert "40% of a core" in found["unknown"]["why"]
    assert found["peer"]["cpu_limit_rate"] == pytest.approx(4e6 / 50)
