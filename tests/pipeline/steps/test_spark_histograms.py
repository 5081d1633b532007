"""Histograms in columns against those of the laboratory: every bucket, and percentiles of many histograms."""

from __future__ import annotations

import random

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ostler.lab.store import histogram
from ostler.pipeline.steps.histograms import (
    PERCENTILES,
    highest_of,
    lowest_of,
    merge_histograms,
    percentile_buckets,
    percentile_ns,
)

HISTOGRAMS = 300


def test_every_bucket_has_its_bounds(spark: SparkSession) -> None:
    bucket = F.col("id").cast("int")
    found = spark.range(histogram.BUCKETS).select(
        "id", lowest_of(bucket).alias("low"), highest_of(bucket).alias("high")
    )
    assert {row["id"]: (row["low"], row["high"]) for row in found.collect()} == {
        number: (histogram.lowest_of(number), histogram.highest_of(number)) for number in range(histogram.BUCKETS)
    }


def some_histogram(chance: random.Random) -> dict[int, int]:
    """Of few or many buckets and counts, with the last one of the layout now and then."""
    buckets = {chance.randrange(histogram.BUCKETS) for _ in range(chance.choice((1, 2, 10, 100)))}
    if chance.random() < 0.2:
        buckets.add(histogram.BUCKETS - 1)
    return {bucket: chance.choice((1, 1, 999, 1000, 10 ** chance.randrange(10))) for bucket in buckets}


def test_percentiles_are_those_of_the_laboratory(spark: SparkSession) -> None:
    chance = random.Random(7)
    histograms = [some_histogram(chance) for _ in range(HISTOGRAMS)]
    highest = [max(histogram.lowest_of(max(each)), 1) + chance.randrange(1000) for each in histograms]
    # In pieces, as workers and seconds leave them.
    rows = [
        (number, bucket, part)
        for number, each in enumerate(histograms)
        for bucket, count in each.items()
        for part in ((count,) if count == 1 else (count // 2, count - count // 2))
    ]
    latency = spark.createDataFrame(rows, "number int, bucket int, count bigint")
    limits = spark.createDataFrame(list(enumerate(highest)), "number int, highest_ns bigint")
    found = (
        percentile_buckets(merge_histograms(latency, ["number"]), ["number"])
        .join(limits, "number")
        .select(
            "number",
            "histogram_count",
            "last_bucket",
            *(percentile_ns(F.col(name), F.col("highest_ns")).alias(name) for name in PERCENTILES),
        )
    )
    assert [row.asDict() for row in found.orderBy("number").collect()] == [
        {"number": number, "histogram_count": sum(each.values()), "last_bucket": max(each)}
        | {name: histogram.percentile_ns(each, percent, highest[number]) for name, percent in PERCENTILES.items()}
        for number, each in enumerate(histograms)
    ]
