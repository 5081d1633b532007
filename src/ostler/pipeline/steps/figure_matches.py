"""Published figures with ours beside them, only where scenario, size, metric, unit and variant agree."""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import FIGURE_MATCH
from ostler.pipeline.steps.comparison_metrics import CLIENTS_WITHIN_SECOND, is_usual
from ostler.pipeline.steps.contestants import LEAN, ONE_QUEUE_MANAGER, PRIVATE_QUEUES
from ostler.pipeline.steps.published_metrics import AT_CLIENTS, PARAMETERS, SWEPT, in_our_words, is_jms, unknown_variant
from ostler.pipeline.steps.ratios import best_runs
from ostler.pipeline.steps.verdicts import median

_MEASURED: Final = "measured"
_OSTLER: Final = "ostler"
_JMS_SCENARIO: Final = "jms"
_BASELINES: Final = {"responder_binding": "local", "replication": "none", "reply_queues": "common"}
_MODEL: Final = "model"
_MODEL_LETTER: Final = r"Appliance M\d+([AB])$"
_PEAKS: Final = ("peak", "maximum throughput")


def figure_matches(published: DataFrame, metrics: DataFrame) -> DataFrame:
    """Return the table of matches, a row for each published figure, from metrics of our runs."""
    figures = in_our_words(published).withColumns({"impossible": _impossible(), "is_at_peak": _is_at_peak()})
    ours = _our_figures(metrics)
    candidates = figures.filter(F.col("impossible").isNull()).join(
        ours,
        (F.col("scenario") == F.col("ours.scenario")) & (F.col("our_metric") == F.col("ours.metric")) & _place_fits(),
    )
    is_exact = _variants_fit() & F.coalesce(F.col("message_bytes") == F.col("ours.message_bytes"), F.lit(True))
    # Of several runs, contestants and sizes the first by name: with the same key there is one.
    best = candidates.groupBy("figure").agg(
        F.min_by("ours", F.when(is_exact, _order())).alias("found"),
        F.max(is_exact).alias("is_matched"),
    )
    reasons = figures.join(best, "figure", "left").join(_measured_scenarios(ours), "scenario", "left")
    is_matched = F.coalesce(F.col("is_matched"), F.lit(False))
    return as_table(
        reasons.select(
            "figure",
            "scenario",
            F.coalesce(F.col("our_metric"), F.lit("")).alias("metric"),
            is_matched.alias("is_matched"),
            F.when(is_matched, "").otherwise(_reason()).alias("reason"),
            F.col("our_value").alias("published_value"),
            F.when(is_matched, F.col("found.value")).alias("our_value"),
            *(
                F.when(is_matched, F.col(f"found.{name}")).alias(name)
                for name in ("run", "contestant", "series", "clients")
            ),
        ),
        FIGURE_MATCH,
    )


def _our_figures(metrics: DataFrame) -> DataFrame:
    """Return the figures of the best run of each scenario, of queue managers with lean drivers."""
    lean = metrics.filter(
        (F.col("kind") == _OSTLER)
        & (F.col("driver") == LEAN)
        & ~F.col("contestant").isin(ONE_QUEUE_MANAGER, PRIVATE_QUEUES)
    )
    known = ("scenario", "metric", "run", "contestant", "series", "clients", "message_bytes", "options")
    return best_runs(lean).select(F.struct(*known, median(F.col("values")).alias("value")).alias("ours"))


def _impossible() -> Column:
    """Return why a figure can have none of ours, whatever was run; else null."""
    unknown = unknown_variant()
    return (
        F.when(F.col("basis") != _MEASURED, F.concat(F.lit("it is not measured but "), F.col("basis")))
        .when(F.col("scenario") == "", "it belongs to no scenario")
        .when(
            F.col("our_metric").isNull(), F.concat(F.lit("we have no "), F.col("metric"), F.lit(" in "), F.col("unit"))
        )
        .when(unknown.isNotNull(), F.concat(F.lit("no run of ours has its variant "), unknown))
        .when(is_jms() & ~F.contains(F.col("scenario"), F.lit(_JMS_SCENARIO)), "its programs used JMS")
    )


def _is_at_peak() -> Column:
    """Return whether a figure is that of a peak, whatever its number of clients: other machines peak elsewhere."""
    is_peak = F.coalesce(F.col("variants")["point"].isin(*_PEAKS), F.lit(False))
    return ~F.col("our_metric").isin(*AT_CLIENTS) & (is_peak | F.col("clients").isNull())


def _place_fits() -> Column:
    return F.when(F.col("is_at_peak"), F.col("ours.clients").isNull()).otherwise(
        F.col("ours.clients").eqNullSafe(F.col("clients"))
    )


def _variants_fit() -> Column:
    """Return whether each variant that is a parameter of ours has its value there. Of a curve the number of clients
    may be the parameter."""
    fits = []
    for variant, parameter in PARAMETERS.items():
        wanted, option = _wanted(variant), F.col("ours.options")[parameter]
        # A publisher is among the clients.
        is_swept = (F.lit(variant) == "subscribers") & (wanted.try_cast("int") + 1 == F.col("ours.clients"))
        fits.append(wanted.isNull() & (option.isNull() | _is_plain(parameter, option)) | (wanted == option) | is_swept)
    # These scenarios sweep what they are about, beside what it is compared with.
    fits += [F.coalesce(F.col("ours.options")[name] != plain, F.lit(True)) for name, plain in _BASELINES.items()]
    for variant, parameter in SWEPT.items():
        option = F.col("ours.options")[parameter]
        fits.append(option.isNull() | (option == F.col("variants")[variant]))
    # The model of the appliance is in the product's name.
    model = F.col("ours.options")[_MODEL]
    fits.append(model.isNull() | (model == F.regexp_extract("product", _MODEL_LETTER, 1)))
    names = [*PARAMETERS.values(), *SWEPT.values(), *_BASELINES, _MODEL, "message_bytes"]
    known = F.transform(
        F.map_entries("ours.options"), lambda each: each["key"].isin(names) | is_usual(each["key"], each["value"])
    )
    fits.append(F.forall(known, lambda each: each))
    return F.coalesce(reduce(lambda one, other: one & other, fits), F.lit(False))


def _wanted(variant: str) -> Column:
    """Return the value of a variant. Channels that are not counted are described: trusted ones."""
    value = F.col("variants")[variant]
    return F.when(value.rlike("^[0-9]+$"), value) if variant == "channels" else value


def _is_plain(parameter: str, option: Column) -> Column:
    """Return whether an option is what a figure has that does not speak of it."""
    plain = {"cipher_spec": "none", "added_latency_ms": "0", "log": "circular"}
    return option == plain[parameter] if parameter in plain else F.lit(False)


def _order() -> Column:
    return F.struct(F.length("ours.contestant"), F.col("ours.contestant"), F.col("ours.series"), F.col("ours.run"))


def _measured_scenarios(ours: DataFrame) -> DataFrame:
    return ours.select(F.col("ours.scenario").alias("scenario"), F.lit(True).alias("is_measured")).distinct()


def _reason() -> Column:
    return (
        F.when(F.col("impossible").isNotNull(), F.col("impossible"))
        .when(F.col("is_measured").isNull(), "its scenario was not run")
        .when(
            F.col("our_metric") == CLIENTS_WITHIN_SECOND, "no run of ours had so many clients that one waits a second"
        )
        .when(F.col("found").isNotNull() | F.col("is_matched").isNotNull(), "no step of ours has its size and variant")
        .otherwise("no step of ours has its number of clients, or this metric")
    )
