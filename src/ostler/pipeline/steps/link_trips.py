"""The response time that a distance between copies adds, in round trips of their link.

One requester waits for the copy several times, one after the other. How often is the added response time divided by the
added round trip: a ratio like others, which can stand beside that of a report, whatever the machines are.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import COMPARISON
from ostler.pipeline.steps.comparison_metrics import RESPONSE_TIME
from ostler.pipeline.steps.published_metrics import in_our_words
from ostler.pipeline.steps.ratios import RATIO, best_runs, with_published_verdict
from ostler.pipeline.steps.verdicts import median, with_verdict

SUBJECT: Final = "response time of one requester in round trips of the link"
METRIC: Final = "added response time, us"
_SCENARIO: Final = "appl-ha2-latency"
_WITHOUT: Final = "appl-ha2"
"""The scenario whose printed figures are those without a distance."""
_LATENCY: Final = "added_latency_ms"
_PRODUCT: Final = "M2003A"
_MEASURED: Final = "measured"
_OSTLER: Final = "ostler"
_MILLISECOND_US: Final = 1000.0


def link_comparisons(metrics: DataFrame, published: DataFrame) -> DataFrame:
    """Return rows of the table of comparisons: left the added round trip, right the added response time."""
    single = metrics.filter(
        (F.col("scenario") == _SCENARIO)
        & (F.col("metric") == RESPONSE_TIME)
        & (F.col("clients") == 1)
        & (F.col("kind") == _OSTLER)
    )
    timed = best_runs(single).withColumn("latency", F.col("options")[_LATENCY].try_cast("double"))
    base = timed.filter(F.col("latency") == 0).select(
        "run", "contestant", "message_bytes", median(F.col("values")).alias("without")
    )
    far = timed.filter(F.col("latency") > 0).join(base, ["run", "contestant", "message_bytes"])
    pairs = far.select(
        F.lit(RATIO).alias("kind"),
        F.lit(SUBJECT).alias("subject"),
        "scenario",
        F.concat_ws(", ", F.concat("message_bytes", F.lit(" bytes")), "contestant", _distance()).alias("series"),
        "clients",
        F.lit(METRIC).alias("metric"),
        F.lit(False).alias("more_is_better"),
        F.lit(True).alias("is_comparable"),
        F.lit("a round trip of the link").alias("left_name"),
        F.lit("the added response time").alias("right_name"),
        *(F.col("run").alias(f"{side}_run") for side in ("left", "right")),
        F.array(F.col("latency") * _MILLISECOND_US).alias("left_values"),
        F.transform("values", lambda each: each - F.col("without")).alias("right_values"),
        "noise_percent",
        *(F.col(name).alias(f"{side}_{name}") for side in ("left", "right") for name in ("driver", "promise")),
        "message_bytes",
        "latency",
    )
    beside = with_verdict(pairs).join(_printed(published), ["message_bytes", "latency"], "left")
    return as_table(with_published_verdict(beside), COMPARISON)


def _distance() -> Column:
    return F.concat(F.col("latency").cast("int"), F.lit(" ms"))


def _printed(published: DataFrame) -> DataFrame:
    """Return the same ratio of the report, by size and distance."""
    measured = in_our_words(published).filter(
        (F.col("basis") == _MEASURED)
        & (F.col("our_metric") == RESPONSE_TIME)
        & F.endswith(F.col("product"), F.lit(_PRODUCT))
        & F.col("scenario").isin(_SCENARIO, _WITHOUT)
    )
    latency = F.col("variants")["latency_ms"].try_cast("double")
    near = (
        measured.filter((F.col("scenario") == _WITHOUT) & latency.isNull())
        .groupBy("message_bytes")
        .agg(F.max("our_value").alias("without"), F.min("figure").alias("near_figure"))
    )
    far = (
        measured.filter((F.col("scenario") == _SCENARIO) & (latency > 0))
        .groupBy("message_bytes", latency.alias("latency"))
        .agg(
            F.max("our_value").alias("with"),
            F.min("figure").alias("far_figure"),
            F.first(F.concat("report_title", F.lit(": "), "section", F.lit(", "), "table_or_figure")).alias("place"),
        )
    )
    numbers = F.concat(F.lit(" (figures "), "near_figure", F.lit(" and "), "far_figure", F.lit(")"))
    return far.join(near, "message_bytes").select(
        "message_bytes",
        "latency",
        ((F.col("with") - F.col("without")) / (F.col("latency") * _MILLISECOND_US)).alias("published_ratio"),
        F.concat("place", numbers).alias("published_source"),
    )
