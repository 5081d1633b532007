"""The layout of latency histograms, against exact percentiles, an HdrHistogram, and plain SQL."""

from __future__ import annotations

import sqlite3
from collections import Counter

import pytest
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from ostler.lab.store.histogram import (
    BUCKETS,
    ERROR_FRACTION_MAX,
    VALUE_NS_MAX,
    bucket_of,
    highest_of,
    lowest_of,
    merge,
    percentile_ns,
    rank_of,
)

# Small values, values of any length in bits, and both sides of powers of two.
POWERS = st.integers(0, 41).flatmap(lambda bits: st.integers(max(0, (1 << bits) - 2), (1 << bits) + 2))
VALUES = st.one_of(st.integers(0, 1000), POWERS, st.integers(0, VALUE_NS_MAX))
SAMPLES = st.lists(VALUES, min_size=1, max_size=200)
PERCENTS = st.sampled_from([0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0])


def counted(values: list[int]) -> Counter[int]:
    return Counter(bucket_of(value) for value in values)


def test_buckets_follow_each_other_without_gaps() -> None:
    assert lowest_of(0) == 0
    for bucket in range(1, BUCKETS):
        assert lowest_of(bucket) == highest_of(bucket - 1) + 1
        assert bucket_of(lowest_of(bucket)) == bucket_of(highest_of(bucket)) == bucket
    assert highest_of(BUCKETS - 1) == VALUE_NS_MAX


@given(VALUES)
def test_a_bucket_tells_its_values_within_the_promised_error(value: int) -> None:
    bucket = bucket_of(value)
    assert lowest_of(bucket) <= value <= highest_of(bucket)
    assert highest_of(bucket) - value <= value * ERROR_FRACTION_MAX


def test_small_values_are_exact() -> None:
    assert [highest_of(bucket_of(value)) for value in range(256)] == list(range(256))


@pytest.mark.parametrize(("value", "bucket"), [(-1, 0), (VALUE_NS_MAX + 1, BUCKETS - 1), (10**18, BUCKETS - 1)])
def test_values_outside_fall_into_the_outermost_buckets(value: int, bucket: int) -> None:
    assert bucket_of(value) == bucket


@given(VALUES)
def test_the_layout_is_that_of_an_hdr_histogram_of_two_digits(value: int) -> None:
    other = HdrHistogram(1, VALUE_NS_MAX, 2)
    bucket = bucket_of(value)
    assert lowest_of(bucket) == other.get_lowest_equivalent_value(value)
    assert highest_of(bucket) == other.get_highest_equivalent_value(value)


@given(SAMPLES, PERCENTS)
def test_percentiles_are_near_the_exact_ones_and_never_below(values: list[int], percent: float) -> None:
    exact = sorted(values)[rank_of(percent, len(values)) - 1]
    found = percentile_ns(counted(values), percent, max(values))
    assert exact <= found <= exact * (1 + ERROR_FRACTION_MAX)


@given(SAMPLES)
def test_the_hundredth_percentile_is_the_exact_highest_value(values: list[int]) -> None:
    assert percentile_ns(counted(values), 100.0, max(values)) == max(values)


@given(SAMPLES, st.sampled_from([50.0, 90.0, 99.0]))
def test_percentiles_are_those_of_an_hdr_histogram(values: list[int], percent: float) -> None:
    other = HdrHistogram(1, VALUE_NS_MAX, 2)
    for value in values:
        other.record_value(value)
    # The other rounds the rank instead of rounding it up: ask it for the very same one.
    rank = rank_of(percent, len(values))
    theirs = other.get_value_at_percentile(100 * rank / len(values))
    assert percentile_ns(counted(values), percent, max(values)) == min(theirs, max(values))


@given(SAMPLES, SAMPLES)
def test_merged_histograms_are_the_histogram_of_all(first: list[int], second: list[int]) -> None:
    merged = dict(counted(first))
    merge(merged, counted(second))
    assert merged == counted(first + second)


def test_ranks_do_not_suffer_from_rounding() -> None:
    assert rank_of(99.9, 1000) == 999
    assert rank_of(99.99, 10_000) == 9_999
    assert rank_of(0.0, 5) == 1
    assert [rank_of(50.0, count) for count in (1, 2, 3, 4)] == [1, 1, 2, 2]


def test_what_took_longer_than_the_layout_goes_keeps_its_exact_value() -> None:
    assert percentile_ns(counted([1, 10**15]), 99.0, 10**15) == 10**15
    assert percentile_ns({}, 99.0, 0) == 0


# As the page on the schema has it.
SQL = """
WITH merged AS (SELECT bucket, SUM(count) AS count FROM latency GROUP BY bucket),
passed AS (SELECT bucket, SUM(count) OVER (ORDER BY bucket) AS passed, SUM(count) OVER () AS total FROM merged),
found AS (SELECT MIN(bucket) AS bucket FROM passed WHERE passed * 1000000 >= :parts * total),
shifted AS (SELECT bucket, MAX(bucket / 128 - 1, 0) AS shift FROM found)
SELECT ((bucket - shift * 128 + 1) << shift) - 1 FROM shifted
"""


@given(SAMPLES, SAMPLES, st.sampled_from([50.0, 90.0, 99.0, 99.9]))
def test_a_plain_group_by_merges_and_tells_percentiles(first: list[int], second: list[int], percent: float) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE latency (worker INTEGER, bucket INTEGER, count INTEGER)")
    for worker, values in enumerate((first, second)):
        rows = [(worker, bucket, count) for bucket, count in counted(values).items()]
        database.executemany("INSERT INTO latency VALUES (?, ?, ?)", rows)
    (found,) = database.execute(SQL, {"parts": round(percent * 10_000)}).fetchone()
    database.close()
    highest = max(first + second)
    assert min(found, highest) == percentile_ns(counted(first + second), percent, highest)
