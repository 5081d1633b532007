"""Curves: the main operation of each contestant, step by step, with repetitions combined.

Peaks, fits and predictions are made from curves. The steps of a curve have the same series and differ in the number of
clients. Values are medians, which one bad repetition does not move.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import STEP
from ostler.pipeline.steps.contestants import known_driver

CURVE_KEY: Final = ("run", "scenario", "contestant", "kind", "series", "message_bytes", "persistent")
"""The constant columns along a curve, which identify it."""
_RATES: Final = ("log_bytes", "log_forces", "loopback_bytes", "disk_written_bytes")
_PER_SECOND: Final = {f"{name}_per_second": name for name in _RATES}
_KEYS_OF_STEP: Final = (*CURVE_KEY, "step", "clients", "operation", "repetitions", "flags", "driver", "promise")
_MEDIANS: Final = (
    *(name for name in STEP.names if name not in (*_KEYS_OF_STEP, "rate_min", "rate_max")),
    *_PER_SECOND,
)
# The parameter of a log probe: how many of its operations one operation needs.
_NEEDED_PARAMETER: Final = "needed for an operation"
STEP_COLUMNS: Final = (
    *(*CURVE_KEY, "step", "clients", "operation", "repetitions", *_MEDIANS, "rate_min", "rate_max", "needed", "flags"),
)


def curve_steps(points: DataFrame) -> DataFrame:
    """Return one row for each step of each curve, with the columns STEP_COLUMNS, from points."""
    found = (
        main_points(points)
        .withColumns({name: _per_second(counted) for name, counted in _PER_SECOND.items()})
        .withColumns(_costs_of_one())
        .groupBy(*CURVE_KEY, "step", "clients")
        .agg(
            F.min("operation").alias("operation"),
            F.count_distinct("repetition").cast("int").alias("repetitions"),
            *(F.median(name).alias(name) for name in _MEDIANS),
            F.min("rate").alias("rate_min"),
            F.max("rate").alias("rate_max"),
            F.max(F.col("parameters")[_NEEDED_PARAMETER].try_cast("double")).alias("needed"),
            F.sort_array(F.array_distinct(F.flatten(F.collect_list("flags")))).alias("flags"),
        )
    )
    return found.select(*STEP_COLUMNS)


def steps_of_curves(steps: DataFrame, contestants: DataFrame) -> DataFrame:
    """Return the table of steps, from those of curves and contestants."""
    known = contestants.select("run", "contestant", "driver", "promise")
    joined = steps.join(known, ["run", "contestant"], "left").withColumns(
        {"driver": known_driver(), "promise": F.coalesce(F.col("promise"), F.lit(""))}
    )
    return as_table(joined, STEP)


def _costs_of_one() -> dict[str, Column]:
    """Return what one operation needs of log and disk, and the sizes and times of their requests."""
    count, seconds = F.col("count"), F.col("seconds")
    requests = F.col("disk_reads") + F.col("disk_writes") + F.col("disk_flushes")
    return {
        "log_bytes_each": _quotient(F.col("log_bytes"), count),
        "log_forces_each": _quotient(F.col("log_forces"), count),
        "log_write_bytes": _quotient(F.col("log_bytes"), F.col("log_writes")),
        "log_force_us": _quotient(F.col("log_force_us"), F.col("log_forces")),
        "log_megabyte_rate": _quotient(F.col("log_bytes") / F.lit(1e6), seconds),
        "disk_read_bytes_each": _quotient(F.col("disk_read_bytes"), count),
        "disk_written_bytes_each": _quotient(F.col("disk_written_bytes"), count),
        "disk_requests_each": _quotient(requests, count),
        "disk_busy_us_each": _quotient(F.col("disk_busy_percent") * seconds * F.lit(1e4), count),
        "disk_write_bytes": _quotient(F.col("disk_written_bytes"), F.col("disk_writes")),
    }


def _quotient(part: Column, whole: Column) -> Column:
    return F.when(whole > 0, part / whole)


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
