"""Medians, quartiles and the shape of a measurement in a result file."""

from __future__ import annotations

import pytest

from ostler.lab.common.samples import Measurement, quartiles, ratio


def test_a_measurement_tells_its_median_and_spread() -> None:
    shown = Measurement("put", "ns", (5.0, 1.0, 3.0, 2.0, 4.0), {"depth": 10}).as_json()
    assert shown["median"] == 3.0
    assert shown["count"] == 5
    assert shown["spread"] == {"lowest": 1.0, "lower_quartile": 2.0, "upper_quartile": 4.0, "highest": 5.0}
    assert shown["samples"] == [5.0, 1.0, 3.0, 2.0, 4.0], "in the order they were taken"
    assert "histogram" not in shown


def test_a_single_sample_is_its_own_quartiles() -> None:
    assert quartiles([7.0]) == (7.0, 7.0)


def test_latencies_have_percentiles_and_buckets_instead_of_samples() -> None:
    pytest.importorskip("hdrh")
    from ostler.lab.bench.latency import Latency

    latency = Latency()
    latency.record_all([100] * 90 + [1000] * 9 + [123_457])
    shown = latency.measurement("MQPUT", {"bytes": 50}).as_json()
    assert shown["count"] == 100
    assert shown["median"] == 100
    expected = {"50": 100, "90": 100, "99": 1000, "99.9": 123_457, "100": 123_457}
    assert shown["percentiles"] == pytest.approx(expected, rel=0.01)
    buckets = shown["histogram"]
    assert isinstance(buckets, list)
    assert [count for _, count in buckets] == [90, 9, 1]
    assert "samples" not in shown


def test_the_highest_latency_is_exact_where_buckets_are_not() -> None:
    pytest.importorskip("hdrh")
    from ostler.lab.bench.latency import Latency

    latency = Latency()
    latency.record(7_654_321)
    assert latency.measurement("MQPUT", {}).percentiles["100"] == 7_654_321


def test_nothing_is_divided_by_zero() -> None:
    assert ratio(3.0, 0.0) == 0.0
    assert ratio(3.0, 2.0) == 1.5
