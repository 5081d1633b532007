"""Peaks: the best step of each curve, and its knee."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import PEAK
from ostler.pipeline.steps.curves import CURVE_KEY

SECOND_NS: Final = 1_000_000_000
KNEE_STEPS_LEAST: Final = 3
KNEE_PERCENT_LEAST: Final = 5.0
"""Of the highest rate. A curve that rises above its chord by less is a straight line with noise."""
COMPLETE: Final = "complete"


def peaks(steps: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the table of peaks, from steps of curves and runs."""
    conditions = runs.select("run", (F.col("condition") != COMPLETE).alias("is_partial"))
    found = curve_peaks(with_chord(steps))
    return as_table(found.join(conditions, "run"), PEAK)


def with_chord(steps: DataFrame) -> DataFrame:
    """Return steps, each with `above_chord`: its rate above the straight line from the first step to the last.

    Null at the ends, and where there is no chord. The step furthest above is the same however axes are scaled.
    """
    curve = Window.partitionBy(*CURVE_KEY)
    first, last = F.min("clients").over(curve), F.max("clients").over(curve)
    # Of two steps with as many clients the earlier one is the end: any rule will do, if it is always the same.
    place = F.struct("clients", "step")
    first_rate, last_rate = F.min_by("rate", place).over(curve), F.max_by("rate", place).over(curve)
    chord = first_rate + (last_rate - first_rate) * (F.col("clients") - first) / (last - first)
    is_between = (F.col("clients") > first) & (F.col("clients") < last)
    return steps.withColumn("above_chord", F.when(is_between, F.col("rate") - chord))


def curve_peaks(steps: DataFrame) -> DataFrame:
    """Return one row for each curve, from steps with their chords."""
    # The fewest clients that reach the highest rate.
    is_peak = F.struct(F.col("rate"), -F.col("clients"), -F.col("step"))
    fewest = F.struct("clients", "step")
    return (
        steps.groupBy(*CURVE_KEY)
        .agg(
            F.max("rate").alias("peak_rate"),
            F.max_by("clients", is_peak).alias("peak_clients"),
            F.max_by("machine_busy_percent", is_peak).alias("peak_busy_percent"),
            F.max_by("broker_cpu_us", is_peak).alias("peak_broker_cpu_us"),
            F.max_by("p99_ns", is_peak).cast("bigint").alias("peak_p99_ns"),
            F.min_by("rate", fewest).alias("single_rate"),
            F.min_by("mean_ns", fewest).alias("single_mean_ns"),
            F.max(F.when(F.col("mean_ns") <= SECOND_NS, F.col("clients"))).alias("clients_within_second"),
            F.max_by("clients", F.struct("above_chord", -F.col("clients"))).alias("knee_candidate"),
            F.max("above_chord").alias("above_chord"),
            F.count_distinct("step").cast("int").alias("steps"),
            F.max("repetitions").alias("repetitions"),
        )
        .withColumn("knee_clients", F.when(_has_knee(), F.col("knee_candidate")))
    )


def _has_knee() -> Column:
    least = F.col("peak_rate") * F.lit(KNEE_PERCENT_LEAST / 100)
    return (F.col("steps") >= KNEE_STEPS_LEAST) & (F.col("above_chord") >= least) & (F.col("peak_rate") > 0)
