"""Points: from samples to one row for each operation of each measured point.

A point is one repetition of one contestant at one step. Everything is aggregated over its measured phase. Each function
takes tables of bronze and returns one aspect; `points` joins them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ostler.lab.store.roles import (
    DRIVER,
    END,
    FAR,
    FOLLOWER,
    LEADER,
    LOG_THREAD,
    NEAR,
    PEER,
    PROBE,
    QUEUE_MANAGER,
    RECOVERY,
)
from ostler.lab.store.segments import MEASURED
from ostler.pipeline.lake.quality import POINT_RULES
from ostler.pipeline.lake.rule_columns import broken_rows, kept_rows
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import POINT
from ostler.pipeline.steps.histograms import (
    PERCENTILES,
    highest_of,
    lowest_of,
    merge_histograms,
    percentile_buckets,
    percentile_ns,
)
from ostler.pipeline.steps.series import series_text, sweeps_of_scenarios

KEY: Final = ("run", "contestant", "step", "repetition")
OPERATION_KEY: Final = (*KEY, "operation")
# Words of the laboratory's samples.
OPERATION_PARAMETER: Final = "operation"
BROKER_ROLES: Final = (QUEUE_MANAGER, PEER, PROBE)
# The main operation of a point that does not name one, in order of preference.
USUAL_OPERATIONS: Final = ("round trip", "session", "get", "put", "connect")
_LOG_COUNTERS: Final = {
    "written_bytes": "log_bytes",
    "forces": "log_forces",
    "writes": "log_writes",
    "force_us": "log_force_us",
}
_DISK_SUMS: Final = ("disk_reads", "disk_read_bytes", "disk_writes", "disk_written_bytes", "disk_flushes")
_BROKER_SUMS: Final = ("broker_read_bytes", "broker_written_bytes")
_SUMS: Final = (*_LOG_COUNTERS.values(), *_DISK_SUMS, *_BROKER_SUMS, "loopback_bytes")
_MEGABYTE: Final = 1e6
PUT, GET, ROUND_TRIP = "put", "get", "round trip"
_ENDS: Final = (NEAR, FAR, LEADER, FOLLOWER, RECOVERY)
_COSTS: Final = (*_ENDS, "driver", "log", "near_log", "far_log")
BUSY: Final = ("user_us", "nice_us", "system_us", "irq_us", "softirq_us")
IDLE: Final = ("idle_us", "iowait_us", "steal_us")

Tables = Mapping[str, DataFrame]
"""Tables of bronze by name: all of the samples, `run` and `contestant`."""


def timed_operations(tables: Tables) -> DataFrame:
    """Return each operation of each point, timed: the one pass over all samples, with the columns that the rules
    need."""
    found = timed(_measured(tables["operation"])).join(
        percentiles(_measured(tables["latency"])), list(OPERATION_KEY), "left"
    )
    return found.select(
        *OPERATION_KEY,
        *("count", "failed", "late", "total_ns", "max_ns"),
        *PERCENTILES,
        F.coalesce("histogram_count", F.lit(0)).alias("histogram_count"),
        lowest_of(F.col("last_bucket")).alias("last_bucket_low_ns"),
        highest_of(F.col("last_bucket")).alias("last_bucket_high_ns"),
    )


def broken_points(operations: DataFrame) -> DataFrame:
    """Return those of `timed_operations` that violate a rule, with the reason."""
    return broken_rows(operations, POINT_RULES, POINT)


def points(operations: DataFrame, tables: Tables) -> DataFrame:
    """Return the table of points: those of `timed_operations` that keep the rules, with all further columns."""
    measured = {
        name: _measured(tables[name]) for name in ("phase", "process", "thread", "machine", "statistic", "event")
    }
    return as_table(
        operations.join(windows(measured["phase"]), list(KEY), "inner")
        # Before rows are left out: no other operation takes the place of a main one that breaks a rule.
        .transform(with_main_operation)
        .transform(lambda timed: kept_rows(timed, POINT_RULES))
        .transform(with_message_counts)
        .join(processes(measured["process"]), list(KEY), "left")
        .join(log_threads(measured["thread"]), list(KEY), "left")
        .join(machines(measured["machine"]), list(KEY), "left")
        .join(log_counters(measured["statistic"]), list(KEY), "left")
        .join(flags(measured["event"]), list(KEY), "left")
        .join(tables["run"].select("run", "noise_percent"), "run", "left")
        .join(tables["contestant"].select("run", "contestant", "kind"), ["run", "contestant"], "left")
        .transform(_figures),
        POINT,
    )


def _measured(samples: DataFrame) -> DataFrame:
    return samples.filter(F.col("phase") == MEASURED)


# -- each table by itself ----------------------------------------------------------------------------------------------


def windows(phase: DataFrame) -> DataFrame:
    """Return the time and length of each measured phase."""
    return phase.select(
        *KEY,
        "scenario",
        "began",
        "seconds",
        "clients",
        "message_bytes",
        "persistent",
        F.col("rate_per_second").alias("asked_rate"),
        "parameters",
    )


def timed(operation: DataFrame) -> DataFrame:
    """Return operations of all workers and seconds together."""
    return operation.groupBy(*OPERATION_KEY).agg(
        F.sum("count").alias("count"),
        F.sum("failed").alias("failed"),
        F.sum("late").alias("late"),
        # A sum of 64-bit nanoseconds would hold 292 years of waiting.
        F.sum("total_ns").alias("total_ns"),
        F.max("highest_ns").alias("max_ns"),
    )


def percentiles(latency: DataFrame) -> DataFrame:
    """Return percentiles of each operation, as buckets of its merged histogram."""
    return percentile_buckets(merge_histograms(latency, OPERATION_KEY), OPERATION_KEY)


def with_main_operation(timed_points: DataFrame) -> DataFrame:
    """Mark the main operation of a point: the one it names, else the usual one, else the most frequent one."""
    named = F.col("operation") == F.col("parameters")[OPERATION_PARAMETER]
    usual = F.array_position(F.array(*(F.lit(each) for each in USUAL_OPERATIONS)), F.col("operation"))
    order = Window.partitionBy(*KEY).orderBy(
        F.coalesce(named, F.lit(False)).desc(),
        F.when(usual > 0, usual).asc_nulls_last(),
        F.col("count").desc(),
        F.col("operation"),
    )
    return timed_points.withColumn("is_main", F.row_number().over(order) == 1)


def with_message_counts(timed_points: DataFrame) -> DataFrame:
    """Add the numbers of messages that were put and got, where applications put and get one way."""
    point, count, operation = Window.partitionBy(*KEY), F.col("count"), F.col("operation")
    puts, gets = (F.sum(F.when(operation == each, count)).over(point) for each in (PUT, GET))
    return timed_points.withColumns({"puts": puts, "gets": gets})


def processes(process: DataFrame) -> DataFrame:
    """Return processor time by role, and the most memory that the brokers had at once."""
    cpu = F.col("user_us") + F.col("system_us")
    is_broker = role_kind().isin(list(BROKER_ROLES))
    by_second = process.groupBy(*KEY, "second").agg(
        F.sum(F.when(is_broker, cpu)).alias("broker_us"),
        F.sum(F.when(is_broker, F.col("user_us"))).alias("broker_user_us_sum"),
        *(F.sum(F.when(is_broker & _is_at(end), cpu)).alias(f"{end}_us") for end in _ENDS),
        F.sum(F.when(F.col("role") == DRIVER, cpu)).alias("driver_us"),
        F.sum(F.when(is_broker, F.col("resident_bytes"))).alias("broker_bytes"),
        F.sum(F.when(is_broker, F.col("read_bytes"))).alias("broker_read_bytes"),
        F.sum(F.when(is_broker, F.col("written_bytes"))).alias("broker_written_bytes"),
        F.max(_kind_of_role()).alias("kind_rank"),
        F.max("interval_us").alias("interval_us"),
    )
    return by_second.groupBy(*KEY).agg(
        F.sum("broker_us").alias("broker_us"),
        F.sum("broker_user_us_sum").alias("broker_user_us_sum"),
        *(F.sum(f"{end}_us").alias(f"{end}_us") for end in _ENDS),
        F.sum("driver_us").alias("driver_us"),
        F.max("broker_bytes").alias("broker_memory_bytes"),
        *(F.sum(name).alias(name) for name in _BROKER_SUMS),
        F.max("kind_rank").alias("kind_rank"),
        F.sum("interval_us").alias("observed_us"),
    )


def role_kind() -> Column:
    """Return a role without its end."""
    return F.substring_index("role", END, 1)


def _is_at(end: str) -> Column:
    return F.col("role").endswith(f"{END}{end}")


def _kind_of_role() -> Column:
    """Return the kind of a contestant from its processes: a queue manager before a peer, a peer before a probe."""
    role = role_kind()
    return F.when(role == QUEUE_MANAGER, 3).when(role == PEER, 2).when(role == PROBE, 1).otherwise(0)


def log_threads(thread: DataFrame) -> DataFrame:
    """Return processor time of the queue managers' log threads, where threads are known by name."""
    logs = thread.filter((role_kind() == QUEUE_MANAGER) & F.col("name").startswith(LOG_THREAD))
    cpu = F.col("user_us") + F.col("system_us")
    return logs.groupBy(*KEY).agg(
        F.sum(cpu).alias("log_us"),
        F.sum(F.when(_is_at(NEAR), cpu)).alias("near_log_us"),
        F.sum(F.when(_is_at(FAR), cpu)).alias("far_log_us"),
    )


def machines(machine: DataFrame) -> DataFrame:
    """Return the use of the whole machine: busy and stolen time, disk and loopback."""
    requests = F.sum("disk_reads") + F.sum("disk_writes") + F.sum("disk_flushes")
    busy = sum((F.sum(name) for name in BUSY[1:]), F.sum(BUSY[0]))
    total = sum((F.sum(name) for name in IDLE), busy)
    return machine.groupBy(*KEY).agg(
        _percent(busy, total).alias("machine_busy_percent"),
        _percent(F.sum("steal_us"), total).alias("steal_percent"),
        *(F.sum(name).alias(name) for name in _DISK_SUMS),
        F.when(requests > 0, F.sum("disk_wait_us") / requests).alias("disk_wait_us"),
        (F.sum("disk_queue_us") / F.sum("interval_us")).alias("disk_queue"),
        _percent(F.sum("disk_busy_us"), F.sum("interval_us")).alias("disk_busy_percent"),
        F.sum("loopback_bytes").alias("loopback_bytes"),
    )


def log_counters(statistic: DataFrame) -> DataFrame:
    """Return the growth of the log's counters within the window. A restarted queue manager begins at 0 again."""
    counters = statistic.filter((F.col("source") == "log") & F.col("name").isin(list(_LOG_COUNTERS)))
    before = F.lag("value").over(Window.partitionBy(*KEY, "object", "record", "name", "position").orderBy("second"))
    grown = counters.withColumn("before", before).withColumn(
        "grown", F.when(F.col("value") >= F.col("before"), F.col("value") - F.col("before")).otherwise(F.col("value"))
    )
    return (
        grown.filter(F.col("before").isNotNull())
        .groupBy(*KEY)
        .agg(
            *(
                F.sum(F.when(F.col("name") == name, F.col("grown"))).cast("bigint").alias(column)
                for name, column in _LOG_COUNTERS.items()
            )
        )
    )


def flags(event: DataFrame) -> DataFrame:
    """Return flags by name; their object, behind a colon in events, is dropped."""
    name = F.substring_index("name", ":", 1)
    doubts = event.filter(F.col("kind") == "flag")
    return doubts.groupBy(*KEY).agg(F.array_sort(F.collect_set(name)).alias("flags"))


# -- together ----------------------------------------------------------------------------------------------------------


def _figures(joined: DataFrame) -> DataFrame:
    """Turn sums into values. Processor time cannot be divided among operations, so the main one has it.

    Where observers were late, samples cover more than the window: sums are then reduced to its share.
    """
    count = F.col("count")
    share = F.least(F.lit(1.0), F.coalesce(F.col("seconds") * 1e6 / F.col("observed_us"), F.lit(1.0)))
    broker_us = F.col("broker_us") * share
    # A round trip carries two messages of the same size.
    passed = F.when(F.col("operation") == ROUND_TRIP, 2 * count).when(F.col("operation") == GET, count)
    megabytes = passed * F.col("message_bytes") / F.lit(_MEGABYTE)
    columns: dict[str, Column] = {
        "kind": F.coalesce(F.when(F.col("kind") != "", F.col("kind")), _kind_seen()),
        "series": series_text(sweeps_of_scenarios()),
        "rate": F.coalesce(_rate(count), F.lit(0.0)),
        "mean_ns": F.when(count > 0, F.col("total_ns") / count),
        **{name: percentile_ns(F.col(name), F.col("max_ns")) for name in PERCENTILES},
        "broker_cpu_us": _each(broker_us),
        "broker_user_us": _each(F.col("broker_user_us_sum") * share),
        **{f"{name}_cpu_us": _each(F.col(f"{name}_us") * share) for name in _COSTS},
        **{name: F.round(F.col(name) * share).cast("bigint") for name in _SUMS},
        "broker_core_percent": _percent(broker_us, F.col("seconds") * 1e6),
        "put_rate": _rate(F.col("puts")),
        "get_rate": _rate(F.col("gets")),
        "message_rate": _rate(F.col("puts") + F.col("gets")),
        "megabyte_rate": _rate(megabytes),
        "broker_cpu_us_per_megabyte": F.when(
            F.col("is_main") & (megabytes > 0), F.col("broker_us") * share / megabytes
        ),
        "flags": F.coalesce(F.col("flags"), F.array().cast("array<string>")),
    }
    kept = [name for name in POINT.names if name not in columns]
    return joined.select(*kept, *(column.alias(name) for name, column in columns.items()))


def _kind_seen() -> Column:
    """Return the kind for runs whose manifest has none."""
    is_ours = F.lower("contestant").startswith("ostler")
    rank = F.col("kind_rank")
    by_name = F.when(is_ours, "ostler").otherwise("limit")
    return F.when(rank == 3, "ostler").when(rank == 2, "peer").when(rank == 1, "limit").otherwise(by_name)


def _each(total_us: Column) -> Column:
    """Return the value for each completed operation."""
    return F.when(F.col("is_main") & (F.col("count") > 0), total_us / F.col("count"))


def _rate(count: Column) -> Column:
    return F.when(F.col("seconds") > 0, count / F.col("seconds"))


def _percent(part: Column, whole: Column) -> Column:
    return F.when(whole > 0, 100.0 * part / whole)
