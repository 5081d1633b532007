"""Curves: the main operation of each contestant, step by step, with repetitions combined.

Peaks, fits and predictions are made from curves. The steps of a curve have the same series and differ in the number of
clients. Values are medians, which one bad repetition does not move.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

CURVE_KEY: Final = ("run", "scenario", "contestant", "kind", "series", "message_bytes", "persistent")
"""The constant columns along a curve, which identify it."""
_MEDIANS: Final = (
    *("rate", "asked_rate", "mean_ns", "p99_ns", "broker_cpu_us", "driver_cpu_us", "broker_core_percent"),
    *("machine_busy_percent", "steal_percent", "broker_memory_bytes", "disk_busy_percent", "log_bytes_per_second"),
    *("log_forces_per_second", "loopback_bytes_per_second"),
)
# The parameter of a log probe: how many of its operations one operation needs.
_NEEDED_PARAMETER: Final = "needed for an operation"
STEP_COLUMNS: Final = (*CURVE_KEY, "step", "clients", "operation", "repetitions", *_MEDIANS, "needed", "flags")


def curve_steps(points: DataFrame) -> DataFrame:
    """Return one row for each step of each curve, with the columns STEP_COLUMNS, from points."""
    found = (
        main_points(points)
        .withColumn("log_bytes_per_second", _per_second("log_bytes"))
        .withColumn("log_forces_per_second", _per_second("log_forces"))
        .withColumn("loopback_bytes_per_second", _per_second("loopback_bytes"))
        .groupBy(*CURVE_KEY, "step", "clients")
        .agg(
            F.min("operation").alias("operation"),
            F.count_distinct("repetition").cast("int").alias("repetitions"),
            *(F.median(name).alias(name) for name in _MEDIANS),
            F.max(F.col("parameters")[_NEEDED_PARAMETER].try_cast("double")).alias("needed"),
            F.sort_array(F.array_distinct(F.flatten(F.collect_list("flags")))).alias("flags"),
        )
    )
    return found.select(*STEP_COLUMNS)


def main_points(points: DataFrame) -> DataFrame:
    """Return points of the main operation of the scenario."""
    return points.filter(F.col("is_main"))


def cores(environment: Column) -> Column:
    """Return the number of cores of a run's machine, from the environment in its manifest."""
    return F.get_json_object(environment, "$.machine.cores").try_cast("int")


def memory_bytes(environment: Column) -> Column:
    """Return the memory of a run's machine."""
    return F.get_json_object(environment, "$.machine.memory_megabytes").try_cast("bigint") * F.lit(1 << 20)


def _per_second(name: str) -> Column:
    return F.when(F.col("seconds") > 0, F.col(name) / F.col("seconds"))
