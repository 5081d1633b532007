"""The best of each curve."""

from __future__ import annotations

from pyspark.sql import SparkSession
from tests.pipeline.steps.analysis_samples import point, points, run, runs

from ostler.pipeline.lake.tables import PEAK
from ostler.pipeline.steps.curves import curve_steps
from ostler.pipeline.steps.peaks import peaks
from ostler.pipeline.steps.series import sweeps_of_scenarios


def test_peaks_of_curves(spark: SparkSession) -> None:
    curve = {1: 100.0, 2: 200.0, 4: 390.0, 8: 400.0, 16: 400.0}
    rows = [point(rate * factor, clients, repetition=repetition, machine_busy_percent=10.0 * clients)
            for clients, rate in curve.items()
            for repetition, factor in enumerate((0.99, 1.0, 1.5))]  # fmt: skip
    rows += [point(9999.0, 4, operation="connect", is_main=False)]
    rows += [point(10.0 * clients, clients, contestant="straight") for clients in (1, 2, 4)]
    rows += [point(5.0, clients, contestant="slow", mean_ns=clients * 3e8) for clients in (1, 3, 4)]
    rows += [point(7.0, 3, contestant="alone", run="run-2")]
    found = peaks(curve_steps(points(spark, rows)), runs(spark, [run(), run("run-2", condition="partial")]))
    assert tuple(found.columns) == PEAK.names
    told = {row["contestant"]: row.asDict() for row in found.collect()}
    assert set(told) == {"Ostler", "straight", "slow", "alone"}
    best = told["Ostler"]
    assert best["peak_rate"] == 400.0
    assert best["peak_clients"] == 8
    assert best["peak_busy_percent"] == 80.0
    assert best["knee_clients"] == 4
    assert (best["steps"], best["repetitions"]) == (5, 3)
    assert (best["single_rate"], best["is_partial"]) == (100.0, False)
    assert told["straight"]["knee_clients"] is None
    assert told["straight"]["peak_clients"] == 4
    assert told["slow"]["clients_within_second"] == 3
    alone = told["alone"]
    assert (alone["knee_clients"], alone["is_partial"], alone["single_rate"]) == (None, True, 7.0)


def test_nobody_within_a_second(spark: SparkSession) -> None:
    rows = [point(1.0, clients, mean_ns=2e9) for clients in (1, 2, 3)]
    told = peaks(curve_steps(points(spark, rows)), runs(spark, [run()])).collect()
    assert [row["clients_within_second"] for row in told] == [None]


def test_channels_are_clients_where_each_has_applications_of_its_own() -> None:
    swept = sweeps_of_scenarios()
    assert swept["zos-chl-1-4"] == ("message_bytes",)
    assert swept["dq-capacity-q1000"] == ()
    assert swept["dq-channels"] == ("channels", "cipher_spec", "persistence")
