"""Measured windows over time: rate, response time, processors and disk, in slices of whole seconds; and where something
happens within a window, its moments, and the rate in tenths of a second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.lab.store.courses import MOMENT, TENTH, TENTHS_PER_SECOND
from ostler.lab.store.roles import DRIVER
from ostler.lab.store.segments import MEASURED
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import COURSE, SECOND
from ostler.pipeline.steps.curves import main_points
from ostler.pipeline.steps.histograms import merge_histograms, percentile_buckets, percentile_ns
from ostler.pipeline.steps.points import BROKER_ROLES, BUSY, IDLE, KEY, role_kind

SLICES_MAX: Final = 120
"""The most slices of a window: more than a chart can show."""
_SLICE: Final = (*KEY, "slice")


def over_time(points: DataFrame, tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the table of seconds, from points and tables of bronze."""
    windows = (
        main_points(points)
        .select(*KEY, "scenario", "kind", "operation", F.col("seconds").alias("window"))
        .withColumn("width", F.greatest(F.ceil(F.col("window") / SLICES_MAX), F.lit(1)).cast("int"))
    )
    sliced = {name: _sliced(tables[name], windows) for name in ("operation", "latency", "process", "machine")}
    is_main = F.col("operation") == F.col("main")
    timed = _with_gaps(_timed(sliced["operation"].filter(is_main)))
    percentiles = percentile_buckets(merge_histograms(sliced["latency"].filter(is_main), _SLICE), _SLICE)
    joined = (
        timed.join(percentiles.select(*_SLICE, "p50_ns", "p99_ns"), list(_SLICE), "left")
        .join(_processes(sliced["process"]), list(_SLICE), "left")
        .join(_machine(sliced["machine"]), list(_SLICE), "left")
        .join(windows, list(KEY))
    )
    begins = F.col("slice") * F.col("width")
    seconds = F.least(F.col("width").cast("double"), F.col("window") - begins)
    count = F.col("count")
    return as_table(
        # What was completed after the end of the window is not of a slice.
        joined.filter(seconds > 0).withColumns(
            {
                "second": begins.cast("int"),
                "seconds": seconds,
                "rate": count / seconds,
                "mean_ns": F.when(count > 0, F.col("total_ns") / count),
                **{name: percentile_ns(F.col(name), F.col("max_ns")) for name in ("p50_ns", "p99_ns")},
            }
        ),
        SECOND,
    )


def courses(statistics: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the table of courses, from named metrics of bronze."""
    is_tenth = F.col("source") == TENTH
    found = statistics.filter(F.col("source").isin(MOMENT, TENTH) & (F.col("phase") == MEASURED))
    return as_table(
        found.join(runs.select("run", "scenario"), "run").withColumns(
            {
                "kind": F.col("source"),
                "at": F.when(is_tenth, F.col("position") / TENTHS_PER_SECOND).otherwise(F.col("value")),
                "rate": F.when(is_tenth, F.col("value") * TENTHS_PER_SECOND),
            }
        ),
        COURSE,
    )


def _sliced(samples: DataFrame, windows: DataFrame) -> DataFrame:
    """Return the samples of measured windows, each with its slice."""
    known = windows.select(*KEY, "width", F.col("operation").alias("main"))
    return (
        samples.filter(F.col("phase") == MEASURED)
        .join(known, list(KEY))
        .withColumn("slice", F.floor(F.col("second") / F.col("width")).cast("int"))
    )


def _timed(operation: DataFrame) -> DataFrame:
    return operation.groupBy(*_SLICE).agg(
        F.sum("count").alias("count"),
        F.sum("failed").alias("failed"),
        F.sum("total_ns").alias("total_ns"),
        F.max("highest_ns").alias("max_ns"),
    )


def _with_gaps(timed: DataFrame) -> DataFrame:
    """Add the slices between others in which nothing was completed: they are no gap in the samples but in the service.

    Before the first and behind the last of a window nobody may have been at work.
    """
    known = timed.groupBy(*KEY).agg(F.min("slice").alias("first"), F.max("slice").alias("last"))
    every = known.select(*KEY, F.explode(F.sequence("first", "last")).alias("slice"))
    return every.join(timed, list(_SLICE), "left").fillna(0, ["count", "failed", "total_ns"])


def _processes(process: DataFrame) -> DataFrame:
    """Return the use of processors by brokers and drivers, and the most memory of brokers."""
    cpu = F.col("user_us") + F.col("system_us")
    is_broker, is_driver = role_kind().isin(list(BROKER_ROLES)), role_kind() == DRIVER
    by_second = process.groupBy(*_SLICE, "second").agg(
        F.sum(F.when(is_broker, cpu)).alias("broker_us"),
        F.sum(F.when(is_driver, cpu)).alias("driver_us"),
        F.sum(F.when(is_broker, F.col("resident_bytes"))).alias("broker_bytes"),
        F.max("interval_us").alias("interval_us"),
    )
    return by_second.groupBy(*_SLICE).agg(
        _percent(F.sum("broker_us"), F.sum("interval_us")).alias("broker_core_percent"),
        _percent(F.sum("driver_us"), F.sum("interval_us")).alias("driver_core_percent"),
        F.max("broker_bytes").alias("broker_memory_bytes"),
    )


def _machine(machine: DataFrame) -> DataFrame:
    busy = sum((F.sum(name) for name in BUSY[1:]), F.sum(BUSY[0]))
    total = sum((F.sum(name) for name in IDLE), busy)
    requests = F.sum("disk_reads") + F.sum("disk_writes") + F.sum("disk_flushes")
    return machine.groupBy(*_SLICE).agg(
        _percent(busy, total).alias("machine_busy_percent"),
        F.sum("disk_written_bytes").alias("disk_written_bytes"),
        _percent(F.sum("disk_busy_us"), F.sum("interval_us")).alias("disk_busy_percent"),
        F.when(requests > 0, F.sum("disk_wait_us") / requests).alias("disk_wait_us"),
    )


def _percent(part: Column, whole: Column) -> Column:
    return F.when(whole > 0, 100.0 * part / whole)
