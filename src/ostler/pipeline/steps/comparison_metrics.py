"""Metrics for comparisons: of each curve, at its peak and at each number of clients, with all repetitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.pipeline.steps.curves import CURVE_KEY, curve_steps, main_points
from ostler.pipeline.steps.verdicts import known_noise

RATE: Final = "rate"
NOT_COMPILED: Final = ", not compiled"


@dataclass(frozen=True)
class ComparedMetric:
    """A metric. `at_peak`: peaks may be compared by it. They may have other numbers of clients, which response times
    depend on."""

    name: str
    value: str
    more_is_better: bool
    at_peak: bool


METRICS: Final = (
    ComparedMetric(RATE, "rate", True, True),
    ComparedMetric("mean response time, us", "mean_ns / 1000", False, False),
    ComparedMetric("p99 response time, us", "p99_ns / 1000", False, False),
    ComparedMetric("broker processor time, us", "broker_cpu_us", False, True),
)
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
    *_FACTS,
)


def comparison_metrics(points: DataFrame, runs: DataFrame) -> DataFrame:
    """Return a row for each curve, metric and number of clients, which is null for peaks, from points and runs.

    Peaks have in `sweep` the numbers of clients that they are the best of.
    """
    measured = main_points(points).withColumn("options", options(F.col("series"), F.col("parameters")))
    peaks = curve_steps(points).groupBy(*CURVE_KEY).agg(_peak_step().alias("peak_step"), _sweep().alias("sweep"))
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
        .groupBy(*CURVE_KEY, "clients", "metric", "more_is_better")
        .agg(
            F.first("options").alias("options"),
            F.first(F.when(F.col("place"), F.col("sweep")).otherwise("")).alias("sweep"),
            F.sort_array(F.collect_list("value")).alias("values"),
            F.max(known_noise(F.col("noise_percent"))).alias("noise_percent"),
        )
    )
    return found.join(F.broadcast(run_facts(runs)), "run").select(*METRIC_COLUMNS)


def options(series: Column, parameters: Column) -> Column:
    """Return the parameters of a series: those that were swept and are constant along a curve."""
    listed = F.concat(F.lit(", "), series, F.lit(", "))
    return F.map_filter(
        parameters,
        lambda name, value: F.contains(listed, F.concat(F.lit(", "), name, F.lit("="), value, F.lit(", "))),
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
                F.expr(each.value).cast("double").alias("value"),
            )
            for each in METRICS
        )
    )
