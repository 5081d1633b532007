"""Predictions of limits, by the method of performance reports.

A report divides the capacity by the need of one: processors by the processor time of a transaction, memory by the
storage of a connection, which is the growth from few to many, divided by their number. The bare network and the bare
log, probed at the same step, are the most that any product could reach.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import PREDICTION
from ostler.pipeline.steps.curves import CURVE_KEY, memory_bytes
from ostler.pipeline.steps.scaling import LIMIT

_SECOND_US: Final = 1_000_000.0
# The part of a machine's memory that drivers and everything else leave for a broker.
MEMORY_PART: Final = 0.8
# The normal variation of a process: a smaller growth shows nothing about connections.
GROWTH_PERCENT_LEAST: Final = 2.0
MORE_CLIENTS_LEAST: Final = 10
# Below this the disk did other things.
DISK_PERCENT_LEAST: Final = 5.0


def predictions(curve_steps: DataFrame, best_steps: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the table of predictions, from steps of curves, the best of them, and runs."""
    steps, best = (frame.filter(F.col("kind") != LIMIT) for frame in (curve_steps, best_steps))
    found = (
        processor_limits(best),
        network_limits(best),
        log_limits(best),
        disk_limits(best),
        memory_limits(steps, runs),
    )
    return as_table(reduce(DataFrame.unionByName, found), PREDICTION)


def processor_limits(best: DataFrame) -> DataFrame:
    """Return the rate at which the cores that the broker can use are full."""
    text = F.format_string(
        "%d %s of 1,000,000 us a second, divided by %.1f us for each",
        F.col("usable_cores"),
        F.when(F.col("usable_cores") == 1, "core").otherwise("cores"),
        F.col("broker_cpu_us"),
    )
    known = best.filter(F.col("broker_cpu_us") > 0)
    available = F.col("usable_cores") * F.lit(_SECOND_US)
    return _predicted(
        known, "processor", F.col("broker_cpu_us"), available, "us of processor time", F.col("rate"), text
    )


def network_limits(best: DataFrame) -> DataFrame:
    """Return the rate of blocks that are sent back at once."""
    text = F.format_string("the bare network made %,.0f a second at the same step", F.col("network_limit_rate"))
    known = best.filter(F.col("network_limit_rate") > 0)
    return _predicted(known, "network", F.lit(1.0), F.col("network_limit_rate"), "exchanges", F.col("rate"), text)


def log_limits(best: DataFrame) -> DataFrame:
    """Return the rate that the bare log could keep, where a probe forced it at the same step."""
    text = F.format_string("the bare log kept %,.0f a second at the same step", F.col("log_limit_rate"))
    known = best.filter(F.col("persistent") & (F.col("log_limit_rate") > 0))
    return _predicted(known, "log", F.lit(1.0), F.col("log_limit_rate"), "forced operations", F.col("rate"), text)


def disk_limits(best: DataFrame) -> DataFrame:
    """Return the rate at which the disk would be busy all the time. Nothing where it was hardly used."""
    text = F.format_string(
        "1,000,000 us a second, divided by %.1f us that the disk is busy for each", F.col("disk_busy_us_each")
    )
    known = best.filter((F.col("disk_busy_percent") >= DISK_PERCENT_LEAST) & (F.col("disk_busy_us_each") > 0))
    available = F.lit(_SECOND_US)
    return _predicted(known, "disk", F.col("disk_busy_us_each"), available, "us of disk time", F.col("rate"), text)


def memory_limits(steps: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the number of connections until memory is full. Nothing where memory does not grow with clients, or by so
    little, or with so few more of them, that it may have other causes."""
    machines = runs.select("run", memory_bytes(F.col("environment")).alias("machine_bytes"))
    place = F.struct("clients", "step")
    ends = (
        steps.filter(F.col("broker_memory_bytes").isNotNull())
        .groupBy(*CURVE_KEY)
        .agg(
            F.min("clients").alias("fewest"),
            F.max("clients").alias("most"),
            F.min_by("broker_memory_bytes", place).alias("first_bytes"),
            F.max_by("broker_memory_bytes", place).alias("last_bytes"),
        )
        .join(machines, "run")
        .filter(F.col("most") - F.col("fewest") >= MORE_CLIENTS_LEAST)
        .filter(F.col("last_bytes") >= F.col("first_bytes") * F.lit(1 + GROWTH_PERCENT_LEAST / 100))
        .withColumn("each_bytes", (F.col("last_bytes") - F.col("first_bytes")) / (F.col("most") - F.col("fewest")))
        .withColumn("base_bytes", F.col("first_bytes") - F.col("each_bytes") * F.col("fewest"))
        .withColumn("left_bytes", F.col("machine_bytes") * F.lit(MEMORY_PART) - F.col("base_bytes"))
        .filter(F.col("left_bytes") > 0)
    )
    text = F.format_string(
        "%.1f MB with %d and %.1f MB with %d clients are %.1f KB for each; %.0f MB are left for them",
        F.col("first_bytes") / (1 << 20),
        F.col("fewest"),
        F.col("last_bytes") / (1 << 20),
        F.col("most"),
        F.col("each_bytes") / 1024,
        F.col("left_bytes") / (1 << 20),
    )
    return _predicted(ends, "memory", F.col("each_bytes"), F.col("left_bytes"), "bytes", F.col("most"), text)


def _predicted(
    frame: DataFrame, resource: str, need: Column, available: Column, unit: str, measured: Column, text: Column
) -> DataFrame:
    limit = available / need
    return frame.select(
        *CURVE_KEY,
        F.lit(resource).alias("resource"),
        need.cast("double").alias("need"),
        available.cast("double").alias("available"),
        F.lit(unit).alias("unit"),
        limit.cast("double").alias("limit"),
        measured.cast("double").alias("measured"),
        (F.lit(100.0) * measured / limit).cast("double").alias("used_percent"),
        text.alias("text"),
    )
