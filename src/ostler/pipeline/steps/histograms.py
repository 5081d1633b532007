"""Histograms in columns: buckets to latencies, and percentiles of merged histograms, as in the laboratory.

The layout of buckets is fixed, so merging is adding, and a percentile needs one pass over the buckets in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ostler.lab.store.histogram import BUCKETS, PERCENT_PARTS, SUB_BUCKETS

PERCENTILES: Final[Mapping[str, float]] = {"p50_ns": 50.0, "p90_ns": 90.0, "p99_ns": 99.0, "p999_ns": 99.9}


def _shift(bucket: Column) -> Column:
    return F.greatest(F.floor(bucket / SUB_BUCKETS) - 1, F.lit(0)).cast("int")


def lowest_of(bucket: Column) -> Column:
    """Return the lowest value of a bucket."""
    shift = _shift(bucket)
    return _left((bucket - shift * SUB_BUCKETS).cast("bigint"), shift)


def highest_of(bucket: Column) -> Column:
    """Return the highest value of a bucket, which percentiles are reported by."""
    shift = _shift(bucket)
    return _left((bucket - shift * SUB_BUCKETS + 1).cast("bigint"), shift) - 1


def _left(value: Column, shift: Column) -> Column:
    return F.call_function("shiftleft", value, shift)


def merge_histograms(latency: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return one histogram for each key: `keys`, `bucket`, `count`."""
    return latency.groupBy(*keys, "bucket").agg(F.sum("count").alias("count"))


def percentile_buckets(histograms: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return for each key the bucket of each percentile, the last bucket that was hit, and the total count.

    `keys`, a column for each of PERCENTILES, `last_bucket`, `histogram_count`.
    """
    in_order = Window.partitionBy(*keys).orderBy("bucket").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    everything = Window.partitionBy(*keys)
    passed = histograms.select(
        *keys,
        "bucket",
        F.sum("count").over(in_order).alias("passed"),
        F.sum("count").over(everything).alias("total"),
    )
    # In whole numbers, as the laboratory does: the first bucket with at least that part of all values passed. The parts
    # of one percentile times all operations of a year still fit.
    found = {
        name: F.min(
            F.when(F.col("passed") * (100 * PERCENT_PARTS) >= F.col("total") * _parts(percent), F.col("bucket"))
        )
        for name, percent in PERCENTILES.items()
    }
    return passed.groupBy(*keys).agg(
        *(column.alias(name) for name, column in found.items()),
        F.max("bucket").alias("last_bucket"),
        F.max("total").alias("histogram_count"),
    )


def _parts(percent: float) -> int:
    return round(percent * PERCENT_PARTS)


def percentile_ns(bucket: Column, highest_ns: Column) -> Column:
    """Return the value of a percentile; the last bucket of the layout has no upper bound."""
    return F.when(bucket == BUCKETS - 1, highest_ns).otherwise(F.least(highest_of(bucket), highest_ns))
