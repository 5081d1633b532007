"""Metrics for comparisons: of each curve, at its peak and at each number of clients, with all repetitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.lab.store.courses import RATES, TIMES
from ostler.lab.store.segments import MEASURED
from ostler.pipeline.steps.contestants import known_driver
from ostler.pipeline.steps.curves import CURVE_KEY, main_points
from ostler.pipeline.steps.series import series_text, sweeps_of_scenarios
from ostler.pipeline.steps.verdicts import known_noise

RATE: Final = "rate"
NOT_COMPILED: Final = ", not compiled"


@dataclass(frozen=True)
class ComparedMetric:
    """A metric. `at_peak`: peaks may be compared by it. They may have other numbers of clients, which response times
    depend on. `is_published`: it is there for ratios of published figures only."""

    name: str
    value: str
    more_is_better: bool
    at_peak: bool
    is_published: bool = False


RESPONSE_TIME: Final = "mean response time, us"
PROCESSOR_TIME: Final = "broker processor time, us"
LEADER_TIME: Final = "leader processor time, us"
FOLLOWER_TIME: Final = "follower processor time, us"
MESSAGES: Final = "messages put and got"
PUBLICATIONS: Final = "publications"
MEMORY: Final = "memory of one, bytes"
CLIENTS_WITHIN_SECOND: Final = "clients within a second"
USUAL: Final = {"api": "MQI", "server_threads": "40"}
"""Options that are not worth a word: programs use the MQI, and of the two numbers of server threads that a report names
for all its tests the larger one counts, which every run has."""
METRICS: Final = (
    ComparedMetric(RATE, "rate", True, True),
    ComparedMetric(RESPONSE_TIME, "mean_ns / 1000", False, False),
    ComparedMetric("p90 response time, us", "p90_ns / 1000", False, False),
    ComparedMetric("p99 response time, us", "p99_ns / 1000", False, False),
    ComparedMetric(PROCESSOR_TIME, "broker_cpu_us", False, True),
    ComparedMetric(LEADER_TIME, "leader_cpu_us", False, True),
    ComparedMetric(FOLLOWER_TIME, "follower_cpu_us", False, True),
    ComparedMetric(MESSAGES, "message_rate", True, True, is_published=True),
    ComparedMetric(PUBLICATIONS, "put_rate", True, True, is_published=True),
)
_SECOND_NS: Final = 1_000_000_000
_EACH_ONE: Final = ("memory per channel, bytes", "memory per connection, bytes")
_LONG_REVISION: Final = "^([0-9a-f]{9})[0-9a-f]+"
_FACTS: Final = ("began", "condition", "release", "machine", "is_quick")
METRIC_COLUMNS: Final = (
    *CURVE_KEY,
    "options",
    "clients",
    "sweep",
    "metric",
    "more_is_better",
    "values",
    "noise_percent",
    "is_published",
    "driver",
    "promise",
    *_FACTS,
)


def comparison_metrics(points: DataFrame, steps: DataFrame, runs: DataFrame, contestants: DataFrame) -> DataFrame:
    """Return a row for each curve, metric and number of clients, which is null for peaks, from points, steps of
    curves, runs and contestants.

    Peaks have in `sweep` the numbers of clients that they are the best of.
    """
    measured = main_points(points).withColumn("options", options(F.col("series"), F.col("parameters")))
    peaks = steps.groupBy(*CURVE_KEY).agg(_peak_step().alias("peak_step"), _sweep().alias("sweep"))
    placed = (
        measured.join(peaks, list(CURVE_KEY))
        .withColumn("is_at_peak", F.col("step") == F.col("peak_step"))
        .withColumn("place", F.explode(F.array(F.lit(True), F.lit(False))))
        .filter(~F.col("place") | F.col("is_at_peak"))
        .withColumn("clients", F.when(~F.col("place"), F.col("clients")))
    )
    found = (
        placed.select(*CURVE_KEY, "options", "clients", "sweep", "place", "noise_percent", F.inline(_metrics()))
        .filter(F.col("value").isNotNull() & (~F.col("place") | F.col("at_peak")))
        .groupBy(*CURVE_KEY, "clients", "metric", "more_is_better", "is_published")
        .agg(
            F.first("options").alias("options"),
            F.first(F.when(F.col("place"), F.col("sweep")).otherwise("")).alias("sweep"),
            F.sort_array(F.collect_list("value")).alias("values"),
            F.max(known_noise(F.col("noise_percent"))).alias("noise_percent"),
        )
    )
    within = clients_within_second(measured, steps)
    return with_facts(found.unionByName(within), runs, contestants)


def with_facts(metrics: DataFrame, runs: DataFrame, contestants: DataFrame) -> DataFrame:
    """Return metrics with what is known of their runs and contestants: METRIC_COLUMNS."""
    known = contestants.select("run", "contestant", "driver", "promise")
    return (
        metrics.join(run_facts(runs), "run")
        .join(known, ["run", "contestant"], "left")
        .withColumns({"driver": known_driver(), "promise": F.coalesce(F.col("promise"), F.lit(""))})
        .select(*METRIC_COLUMNS)
    )


def clients_within_second(measured: DataFrame, steps: DataFrame) -> DataFrame:
    """Return of each curve at a given rate the most clients whose mean response time is within one second. A curve that
    ended before has none: more clients might have been served."""
    curves = measured.groupBy(*CURVE_KEY).agg(F.first("options").alias("options"))
    served = F.when(F.col("mean_ns") <= _SECOND_NS, F.col("clients"))
    most = (
        steps.filter(F.col("asked_rate").isNotNull())
        .groupBy(*CURVE_KEY)
        .agg(F.max(served).cast("double").alias("most"), F.max("clients").alias("tried"))
        .filter(F.col("most") < F.col("tried"))
    )
    return most.join(curves, list(CURVE_KEY)).select(
        *CURVE_KEY,
        F.lit(None).cast("int").alias("clients"),
        F.lit(CLIENTS_WITHIN_SECOND).alias("metric"),
        F.lit(True).alias("more_is_better"),
        F.lit(True).alias("is_published"),
        "options",
        F.lit("").alias("sweep"),
        F.array("most").alias("values"),
        known_noise(F.lit(None).cast("double")).alias("noise_percent"),
    )


def story_metrics(results: DataFrame, phases: DataFrame, runs: DataFrame, contestants: DataFrame) -> DataFrame:
    """Return times of failovers and switches, and rates of what is done at once, as metrics, from results of
    experiments and their phases. Rates have no number of clients, as peaks."""
    is_rate = F.col("metric").isin(*RATES)
    found = (
        results.filter(F.col("name").isin(*TIMES, *RATES))
        .drop("series", "scenario")
        .join(_windows(phases), ["run", "contestant", "step"])
        .withColumn("clients", F.when(~F.col("name").isin(*RATES), F.col("clients")))
        .join(contestants.select("run", "contestant", "kind"), ["run", "contestant"])
        .groupBy(*CURVE_KEY, "clients", F.col("name").alias("metric"))
        .agg(
            F.sort_array(F.collect_list("value")).alias("values"),
            F.first(options(F.col("series"), F.col("parameters"))).alias("options"),
        )
        .withColumns(
            {
                "more_is_better": is_rate,
                "is_published": F.lit(False),
                "sweep": F.lit(""),
                "noise_percent": known_noise(F.lit(None).cast("double")),
            }
        )
    )
    return with_facts(found, runs, contestants)


def _windows(phases: DataFrame) -> DataFrame:
    """Return the measured windows of steps, with their series."""
    return (
        phases.filter(F.col("phase") == MEASURED)
        .select("run", "contestant", "step", "clients", "message_bytes", "persistent", "scenario", "parameters")
        .dropDuplicates(["run", "contestant", "step"])
        .withColumn("series", series_text(sweeps_of_scenarios()))
    )


def memory_metrics(results: DataFrame, phases: DataFrame, runs: DataFrame, contestants: DataFrame) -> DataFrame:
    """Return the memory of a channel or connection as metrics, from results of experiments and their phases."""
    windows = _windows(phases).drop("clients")
    kinds = contestants.select("run", "contestant", "kind")
    # Of one step the memory of a channel counts where both are known: conversations share channels.
    rank = F.array_position(F.array(*(F.lit(each) for each in _EACH_ONE)), F.col("name"))
    found = (
        results.filter(F.col("name").isin(*_EACH_ONE))
        .groupBy("run", "contestant", "step")
        .agg(
            F.min(F.struct(rank.alias("rank"), "name")).alias("first"),
            F.collect_list(F.struct("name", "value")).alias("all"),
        )
        .withColumn(
            "values",
            F.transform(F.filter("all", lambda each: each["name"] == F.col("first.name")), lambda each: each["value"]),
        )
        .join(windows, ["run", "contestant", "step"])
        .join(kinds, ["run", "contestant"])
        .groupBy(*CURVE_KEY)
        .agg(
            F.max_by("values", "step").alias("values"),
            F.max_by(options(F.col("series"), F.col("parameters")), "step").alias("options"),
        )
        .select(
            *CURVE_KEY,
            F.lit(None).cast("int").alias("clients"),
            F.lit(MEMORY).alias("metric"),
            F.lit(False).alias("more_is_better"),
            F.lit(True).alias("is_published"),
            "options",
            F.lit("").alias("sweep"),
            "values",
            known_noise(F.lit(None).cast("double")).alias("noise_percent"),
        )
    )
    return with_facts(found, runs, contestants)


def options(series: Column, parameters: Column) -> Column:
    """Return the parameters of a series: those that were swept and are constant along a curve."""
    listed = F.concat(F.lit(", "), series, F.lit(", "))
    return F.map_filter(
        parameters,
        lambda name, value: F.contains(listed, F.concat(F.lit(", "), name, F.lit("="), value, F.lit(", "))),
    )


def is_usual(name: Column, value: Column) -> Column:
    """Return whether an option has the value that figures have which do not speak of it."""
    return F.coalesce(
        F.create_map(*(F.lit(text) for each in USUAL.items() for text in each))[name] == value, F.lit(False)
    )


def options_text(options: Column) -> Column:
    """Return options as in series: by name."""
    texts = F.transform(F.map_entries(options), lambda each: F.concat(each["key"], F.lit("="), each["value"]))
    return F.array_join(F.array_sort(texts), ", ")


def run_facts(runs: DataFrame) -> DataFrame:
    """Return the comparable facts of runs: release, machine, and whether it was the quick form."""
    # As many digits as people read, and the mark of modified sources.
    short = F.regexp_replace(F.coalesce(F.col("revision"), F.lit("")), _LONG_REVISION, "$1")
    revision = F.when(short != "", F.concat(F.lit(" "), short)).otherwise("")
    flavour = F.when(F.col("compiled"), "").otherwise(F.lit(NOT_COMPILED))
    is_quick = F.lower(F.coalesce(F.col("parameters")["is_quick"], F.lit("false"))) == "true"
    return runs.select(
        "run",
        "began",
        "condition",
        F.concat(F.col("version"), revision, flavour).alias("release"),
        "machine",
        is_quick.alias("is_quick"),
    )


def _sweep() -> Column:
    return F.array_join(F.transform(F.array_sort(F.collect_set("clients")), lambda each: each.cast("string")), ",")


def _peak_step() -> Column:
    return F.max_by("step", F.struct(F.col("rate"), -F.col("clients"), -F.col("step")))


def _metrics() -> Column:
    return F.array(
        *(
            F.struct(
                F.lit(each.name).alias("metric"),
                F.lit(each.more_is_better).alias("more_is_better"),
                F.lit(each.at_peak).alias("at_peak"),
                F.lit(each.is_published).alias("is_published"),
                F.expr(each.value).cast("double").alias("value"),
            )
            for each in METRICS
        )
    )
