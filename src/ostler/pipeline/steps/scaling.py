"""Scaling: the growth of each curve with its clients, its predicted peak, and its limit."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import SCALING
from ostler.pipeline.steps.bottlenecks import LOG_PROBES, NETWORK_PROBES, limited_by, why
from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER
from ostler.pipeline.steps.curves import CURVE_KEY, STEP_COLUMNS, cores
from ostler.pipeline.steps.universal_scalability import fits

OSTLER: Final = "ostler"
LIMIT: Final = "limit"
_SECOND_US: Final = 1_000_000.0
# A queue manager handles messages in one loop, and its log threads need little beside it. More than this is several.
_ONE_LOOP_PERCENT: Final = 120.0
_QUEUE_MANAGERS: Final = "queue_managers"
# A log probe that counts commits. Requester and responder each wait for one of their own.
_COMMIT: Final = "commit"
_ROUND_TRIP: Final = "round trip"
_ROUND_TRIP_COMMITS: Final = 2


def scaling(steps: DataFrame, best: DataFrame) -> DataFrame:
    """Return the table of scaling, a row for each curve, from steps of curves and the best of them."""
    # At a fixed rate the load determines the curve.
    fitted = fits(steps.filter(F.col("asked_rate").isNull()))
    joined = best.join(fitted, list(CURVE_KEY), "left").join(curve_costs(steps), list(CURVE_KEY), "left")
    return as_table(
        joined.select(
            *CURVE_KEY,
            F.coalesce(F.col("points"), F.col("steps")).alias("points"),
            *("lambda", "sigma", "kappa", "r_squared", "residual_percent"),
            *("predicted_peak_rate", "predicted_peak_clients"),
            cpu_limit_rate(F.col("broker_cpu_us"), F.col("usable_cores")).alias("cpu_limit_rate"),
            "cpu_growth_percent",
            limited_by().alias("limited_by"),
            why().alias("why"),
            F.col("lambda").isNotNull().alias("is_fitted"),
        ),
        SCALING,
    )


def cpu_limit_rate(cpu_us: Column, usable_cores: Column) -> Column:
    """Return the rate at which all cores are full, as performance reports predict it from the cost of one
    transaction."""
    return F.when(cpu_us > 0, usable_cores * F.lit(_SECOND_US) / cpu_us)


def usable_cores() -> Column:
    """Return the number of cores that the broker of a step can fill: one for the loop of each queue manager; all of the
    machine for another product, or if it was seen to use more."""
    every = F.coalesce(F.col("cores"), F.lit(1))
    used = F.coalesce(F.col("broker_core_percent"), F.lit(0.0))
    is_loop = (F.col("kind") == OSTLER) & (used < F.lit(_ONE_LOOP_PERCENT) * F.col(_QUEUE_MANAGERS))
    return F.when(is_loop, F.least(F.col(_QUEUE_MANAGERS), every)).otherwise(every)


def queue_managers() -> Column:
    """Return the number of queue managers of a scenario's steps, from the catalogue; one where it is unknown, and where
    the same load was put on one."""
    several = {
        name: max(scenario.queue_managers)
        for name, scenario in catalogue().scenarios.items()
        if max(scenario.queue_managers, default=1) > 1
    }
    pairs = [F.lit(each) for pair in sorted(several.items()) for each in pair]
    is_one = F.col("contestant") == ONE_QUEUE_MANAGER
    return F.when(is_one, 1).otherwise(F.coalesce(F.create_map(*pairs)[F.col("scenario")], F.lit(1)))


def best_steps(steps: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the step with the highest rate of each curve, with the limits probed at the same step."""
    machines = runs.select("run", cores(F.col("environment")).alias("cores"))
    order = F.struct(F.col("rate"), -F.col("clients"), -F.col("step"))
    others = [name for name in STEP_COLUMNS if name not in CURVE_KEY]
    best = (
        steps.groupBy(*CURVE_KEY)
        .agg(
            F.max_by(F.struct(*others), order).alias("best"),
            F.count_distinct("clients").cast("int").alias("steps"),
            F.max("clients").alias("most_clients"),
        )
        .select(*CURVE_KEY, "steps", "most_clients", "best.*")
    )
    return (
        best.join(probe_rates(steps), ["run", "step"], "left")
        .join(machines, "run", "left")
        .withColumns({_QUEUE_MANAGERS: queue_managers(), "log_limit_rate": log_limit_rate()})
        .withColumn("usable_cores", usable_cores())
    )


def probe_rates(steps: DataFrame) -> DataFrame:
    """Return the rates of the bare network and the bare log for each step of a run."""
    probes = steps.filter(F.col("kind") == LIMIT)
    network, log = F.col("contestant").isin(*NETWORK_PROBES), F.col("contestant").isin(*LOG_PROBES)
    return probes.groupBy("run", "step").agg(
        F.min(F.when(network, F.col("rate"))).alias("network_limit_rate"),
        F.min(F.when(log, F.col("rate"))).alias("log_probe_rate"),
        F.min_by(F.when(log, F.col("operation")), F.when(log, F.col("rate"))).alias("log_probe_operation"),
        F.max(F.when(log, F.col("needed"))).alias("log_probe_needed"),
    )


def log_limit_rate() -> Column:
    """Return the number of a step's operations that the bare log would have kept. A probe does the work of the step, or
    one commit; the number of these for each operation is its parameter, or the usual one."""
    usual = F.when(F.col("operation") == _ROUND_TRIP, _ROUND_TRIP_COMMITS).otherwise(1)
    commits = F.coalesce(F.col("log_probe_needed"), usual)
    is_commit = F.col("log_probe_operation") == _COMMIT
    return F.col("log_probe_rate") / F.when(is_commit, commits).otherwise(1)


def curve_costs(steps: DataFrame) -> DataFrame:
    """Return the change of one operation's processor time from the fewest clients to the most."""
    known = steps.filter(F.col("broker_cpu_us") > 0)
    first = F.min_by("broker_cpu_us", F.struct("clients", "step"))
    last = F.max_by("broker_cpu_us", F.struct("clients", "step"))
    return known.groupBy(*CURVE_KEY).agg(
        F.when(F.count_distinct("clients") > 1, F.lit(100.0) * (last - first) / first).alias("cpu_growth_percent")
    )
