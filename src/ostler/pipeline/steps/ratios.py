"""Ratios inside published reports, each with its source, beside the same ratios of ours.

The verdict is on ratios: better means that our ratio is higher than the published one beyond the tolerance, so that we
lose less, or gain more; of response times, processor time and memory, that it is lower. Rates, processor time and
memory are those of peaks, response times those of the same number of clients.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from ostler.lab.store.courses import BACKED_UP
from ostler.pipeline.lake.lake_frames import literal_frame
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import COMPARISON
from ostler.pipeline.steps.comparison_metrics import (
    CLIENTS_WITHIN_SECOND,
    MEMORY,
    NOT_COMPILED,
    PROCESSOR_TIME,
    RATE,
    is_usual,
    options_text,
)
from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER
from ostler.pipeline.steps.published_metrics import AT_CLIENTS, PUBLISHED_METRICS, in_our_words
from ostler.pipeline.steps.ratio_rules import MODEL, PHASE_RULES, RATIO_RULES, PhaseRule, Side
from ostler.pipeline.steps.verdicts import (
    BETTER,
    NOT_COMPARABLE,
    SAME,
    TOLERANCE_PERCENT,
    WORSE,
    is_beyond,
    with_verdict,
)

RATIO: Final = "ratio"
_MEASURED: Final = "measured"
_TABLE: Final = "Table"
# Printed in the text below charts.
_IN_PROSE: Final = (CLIENTS_WITHIN_SECOND, BACKED_UP)
_AT_PEAK: Final = -1
_SIZE: Final = "message_bytes"
_COMPLETE: Final = "complete"
_OSTLER: Final = "ostler"
_OUR_NAME: Final = "Ostler"
_SIDE_TYPE: Final = (
    "struct<scenario:string,our_scenario:string,message_bytes:bigint,variant:string,published_value:string,"
    "parameter:string,our_value:string,is_other:boolean,our_contestant:string>"
)
_RULES_TYPE: Final = (
    f"rule int, subject string, left {_SIDE_TYPE}, right {_SIDE_TYPE}, is_size boolean, is_by_section boolean, "
    "is_api boolean, is_model boolean, is_memory boolean, is_backup boolean, source string, printed double"
)
_METRICS: Final = sorted({PROCESSOR_TIME, *(each.ours for each in PUBLISHED_METRICS)})
# The common columns of both sides, which also match a published ratio with ours.
_RATIO_KEY: Final = ("rule", "metric", "place", "left_bytes", "right_bytes", "label")


def ratio_comparisons(metrics: DataFrame, printed: DataFrame) -> DataFrame:
    """Return rows of the table of comparisons, from our metrics and published ratios."""
    # Each is used several times.
    rules = rules_table(metrics.sparkSession).localCheckpoint()
    ours = our_ratios(metrics, rules).coalesce(1).localCheckpoint()
    reference = printed.filter(F.col("is_reference"))
    known = reference.select(
        *_RATIO_KEY, F.col("published_ratio").alias("found_ratio"), F.col("published_source").alias("found_source")
    )
    in_text = F.when((F.col("printed") > 0) & (F.col("metric") == RATE), F.col("printed"))
    beside = ours.join(known, list(_RATIO_KEY), "left").withColumns(
        {
            "published_ratio": F.coalesce(F.col("found_ratio"), in_text),
            "published_source": F.coalesce(F.col("found_source"), F.when(F.col("source") != "", F.col("source"))),
        }
    )
    # A published ratio beside ours is not repeated.
    others = printed.join(
        ours.select(*_RATIO_KEY, F.lit(True).alias("is_reference")).distinct(),
        [*_RATIO_KEY, "is_reference"],
        "left_anti",
    )
    return as_table(with_published_verdict(beside), COMPARISON).unionByName(as_table(_alone(others), COMPARISON))


def rules_table(spark: SparkSession) -> DataFrame:
    """Return the rules, numbered."""

    def side(each: Side) -> dict[str, object]:
        return {**asdict(each), "our_scenario": each.our_scenario or each.scenario}

    rows = [
        (
            number,
            rule.subject,
            side(rule.left),
            side(rule.right),
            rule.is_size,
            rule.is_by_section,
            rule.is_api,
            rule.is_model,
            rule.is_memory,
            rule.is_backup,
            rule.source,
            rule.printed,
        )
        for number, rule in enumerate(RATIO_RULES)
    ]
    names = [each.partition(" ")[0] for each in _RULES_TYPE.split(", ")]
    return literal_frame(spark, rows, names, _RULES_TYPE)


# -- published ---------------------------------------------------------------------------------------------------------


def printed_ratios(published: DataFrame) -> DataFrame:
    """Return all published ratios, from published figures."""
    return published_ratios(published, rules_table(published.sparkSession).localCheckpoint())


def published_ratios(published: DataFrame, rules: DataFrame) -> DataFrame:
    """Return all published ratios of the rules. Of several products or platforms with the same ratio, the newest is the
    reference."""
    figures = _comparable_figures(published).coalesce(1).localCheckpoint()
    left, right = (_published_side(figures, rules, side) for side in ("left", "right"))
    same = ["rule", "product", "product_version", "ground", "api_key", "metric", "place"]
    joined = left.join(right, same).filter(_sizes_fit())
    best = Window.partitionBy(*_RATIO_KEY).orderBy(
        F.desc("product_version"), "product", "ground", "api_key", "left_figure", "right_figure"
    )
    return (
        joined.withColumn("label", F.col("right_label"))
        .withColumn("published_ratio", F.col("right_value") / F.col("left_value"))
        .withColumn("published_source", _source())
        .withColumn("is_reference", F.row_number().over(best) == 1)
        .join(rules.select("rule", "subject"), "rule")
    )


def _comparable_figures(published: DataFrame) -> DataFrame:
    """Return measured figures in our words: `metric`, `place` and `value`. Processor time for each operation is made
    from processor use and rate of one line: the machine is the same on both sides of a ratio."""
    is_printed = F.startswith(F.col("table_or_figure"), F.lit(_TABLE)) | F.col("our_metric").isin(*_IN_PROSE)
    measured = published.filter(
        (F.col("basis") == _MEASURED) & (F.col("value") > 0) & F.col("message_bytes").isNotNull()
    )
    clients = F.coalesce(F.col("clients"), F.lit(_AT_PEAK))
    figures = (
        in_our_words(measured)
        .filter(F.col("our_metric").isNotNull() & is_printed)
        .withColumns(
            {
                "place": F.when(F.col("our_metric").isin(*AT_CLIENTS), clients).otherwise(_AT_PEAK),
                "metric": F.col("our_metric"),
                "value": F.col("our_value"),
                "weight": F.col("our_value"),
            }
        )
    )
    variants = F.to_json("variants")
    used = measured.filter((F.col("metric") == _PROCESSOR_USE) & F.col("variants")["cpu_of"].isNull())
    busy = used.select(
        *_LINE, variants.alias("line_variants"), clients.alias("line_clients"), F.col("value").alias("busy_percent")
    )
    rates = figures.filter(F.col("metric") == RATE).withColumns({"line_variants": variants, "line_clients": clients})
    # Where a report prints it, nothing is made.
    told = figures.filter(F.col("metric") == PROCESSOR_TIME).select("report", "scenario", _SIZE).distinct()
    costs = (
        rates.join(told, ["report", "scenario", _SIZE], "left_anti")
        .join(busy, [*_LINE, "line_variants", "line_clients"])
        .withColumns({"metric": F.lit(PROCESSOR_TIME), "value": F.col("busy_percent") / F.col("value")})
        .select(figures.columns)
    )
    # The model of the appliance is in the product's name.
    model = F.regexp_extract("product", _MODEL_NAME, 2)
    named = F.map_concat("variants", F.create_map(F.lit(MODEL), model))
    return figures.unionByName(costs).withColumn("variants", F.when(model != "", named).otherwise(F.col("variants")))


_LINE: Final = ("report", "section", "table_or_figure", "scenario", "product", "product_version", "platform", _SIZE)
_PROCESSOR_USE: Final = "cpu_percent"
_MODEL_NAME: Final = r"^(IBM MQ Appliance M\d+)([AB])$"


def _published_side(metrics: DataFrame, rules: DataFrame, side: str) -> DataFrame:
    """Return peaks of one side: the figure with the highest rate of similar ones, however often it is printed."""
    option = F.col("variants")[F.col(f"{side}.variant")]
    found = metrics.join(
        rules,
        (F.col("scenario") == F.col(f"{side}.scenario"))
        & (F.col(_SIZE) == F.coalesce(F.col(f"{side}.message_bytes"), F.col(_SIZE)))
        & _option_fits(side, option, f"{side}.variant", f"{side}.published_value"),
    )
    alike = F.when(F.col("is_by_section"), F.col("section")).otherwise(F.col("platform"))
    alike = F.when(F.col("is_model"), "").otherwise(alike)
    of_models = F.regexp_replace("product", _MODEL_NAME, "$1")
    known = F.struct("figure", "scenario", "report_title", "section", "table_or_figure", "platform")
    return (
        found.withColumn("ground", alike)
        .withColumn("product", F.when(F.col("is_model"), of_models).otherwise(F.col("product")))
        .withColumn("api", F.coalesce(F.col("variants")["api"], F.lit("")))
        .withColumn("api_key", F.when(F.col("is_api"), "").otherwise(F.col("api")))
        .withColumn("label", _label(side, option))
        .groupBy(*_PUBLISHED_KEY, "is_size", _SIZE, "label")
        .agg(
            F.max_by("value", F.struct(F.col("weight"), -F.col("figure"))).alias("value"),
            F.max_by(known, F.struct(F.col("weight"), -F.col("figure"))).alias("told"),
        )
        .select(
            *_PUBLISHED_KEY,
            *([F.col("is_size")] if side == "left" else []),
            F.col(_SIZE).alias(f"{side}_bytes"),
            F.col("label").alias(f"{side}_label"),
            F.col("value").alias(f"{side}_value"),
            F.col("told.figure").alias(f"{side}_figure"),
            F.col("told").alias(f"{side}_told"),
        )
    )


_PUBLISHED_KEY: Final = ("rule", "product", "product_version", "ground", "api_key", "metric", "place")


def _source() -> Column:
    """Return report, section and table of both sides, once where they are the same, and the numbers of the figures."""
    places = [F.concat(f"{side}_told.section", F.lit(", "), f"{side}_told.table_or_figure") for side in _SIDES]
    where = F.when(places[0] == places[1], places[0]).otherwise(F.concat_ws("; ", *places))
    numbers = F.concat(F.lit(" (figures "), "left_figure", F.lit(" and "), "right_figure", F.lit(")"))
    return F.concat(F.col("right_told.report_title"), F.lit(": "), where, numbers)


def _alone(printed: DataFrame) -> DataFrame:
    """Return published ratios without one of ours."""
    names = {f"{side}_name": F.concat_ws(" ", "product", "product_version", f"{side}_told.scenario") for side in _SIDES}
    metrics = {f"{side}_run": F.concat(F.lit("figure "), F.col(f"{side}_figure")) for side in _SIDES}
    return printed.select(
        F.lit(RATIO).alias("kind"),
        "subject",
        F.col("left_told.scenario").alias("scenario"),
        F.concat_ws(", ", _sizes_text(), _or_nothing("label"), "right_told.platform").alias("series"),
        _clients(),
        "metric",
        *(column.alias(name) for name, column in {**names, **metrics}.items()),
        "left_value",
        "right_value",
        (F.lit(100.0) * (F.col("published_ratio") - 1)).alias("change_percent"),
        F.lit(None).cast("int").alias("left_repetitions"),
        F.lit(None).cast("int").alias("right_repetitions"),
        F.lit(None).cast("double").alias("low_percent"),
        F.lit(None).cast("double").alias("high_percent"),
        F.lit(0.0).alias("noise_percent"),
        F.lit(TOLERANCE_PERCENT).alias("tolerance_percent"),
        F.lit(NOT_COMPARABLE).alias("verdict"),
        "published_ratio",
        F.lit(None).cast("double").alias("our_ratio"),
        "published_source",
        *(F.lit("").alias(f"{side}_{name}") for side in _SIDES for name in ("driver", "promise")),
        F.lit(True).alias("is_like_with_like"),
    )


# -- ours --------------------------------------------------------------------------------------------------------------


def our_ratios(metrics: DataFrame, rules: DataFrame) -> DataFrame:
    """Return the same ratios of the best run of each scenario, with verdicts."""
    is_placed = F.col("clients").isNotNull() == F.col("metric").isin(*AT_CLIENTS)
    peaks = best_runs(metrics.filter(F.col("metric").isin(*_METRICS) & is_placed & (F.col("kind") == _OSTLER)))
    peaks = peaks.withColumn("place", F.coalesce(F.col("clients"), F.lit(_AT_PEAK))).coalesce(1).localCheckpoint()
    left, right = (_our_side(peaks, rules, side) for side in ("left", "right"))
    known = ("subject", "is_size", "is_memory", "is_backup", "source", "printed")
    joined = (
        left.join(right, ["rule", "metric", "place", "contestant", "rest"])
        .join(rules.select("rule", *known), "rule")
        .filter(_sizes_fit() & (~F.col("is_memory") | (F.col("metric") == MEMORY)))
        .filter(~F.col("is_backup") | (F.col("metric") == BACKED_UP))
        .withColumn("label", F.col("right_label"))
    )
    is_alike = (
        (F.col("left.machine") == F.col("right.machine"))
        & (F.col("left.is_quick") == F.col("right.is_quick"))
        & (F.endswith("left.release", F.lit(NOT_COMPILED)) == F.endswith("right.release", F.lit(NOT_COMPILED)))
    )
    names = {
        f"{side}_name": F.concat_ws(", ", F.col(f"{side}.scenario"), _or_nothing(f"{side}.series")) for side in _SIDES
    }
    pairs = joined.select(
        *_RATIO_KEY,
        "source",
        "printed",
        F.lit(RATIO).alias("kind"),
        "subject",
        F.col("left.scenario").alias("scenario"),
        F.concat_ws(", ", _sizes_text(), _or_nothing("label"), _or_nothing("rest"), "contestant").alias("series"),
        _clients(),
        F.col("left.more_is_better").alias("more_is_better"),
        is_alike.alias("is_comparable"),
        *(column.alias(name) for name, column in names.items()),
        *(F.col(f"{side}.run").alias(f"{side}_run") for side in _SIDES),
        *(F.col(f"{side}.values").alias(f"{side}_values") for side in _SIDES),
        F.greatest("left.noise_percent", "right.noise_percent").alias("noise_percent"),
        *(F.col(f"{side}.{name}").alias(f"{side}_{name}") for side in _SIDES for name in ("driver", "promise")),
    )
    return with_verdict(pairs)


def best_runs(metrics: DataFrame) -> DataFrame:
    """Return the latest run of each scenario, complete and full ones before others."""
    order = F.struct(F.col("condition") == _COMPLETE, ~F.col("is_quick"), F.col("began"), F.col("run"))
    best = metrics.groupBy("scenario").agg(F.max_by("run", order).alias("run"))
    return metrics.join(best, ["scenario", "run"])


def _our_side(peaks: DataFrame, rules: DataFrame, side: str) -> DataFrame:
    sided = rules.select("rule", "left", "right")
    option = F.col("options")[F.col(f"{side}.parameter")]
    asked = F.col(f"{side}.our_contestant")
    found = peaks.join(
        sided,
        (F.col("scenario") == F.col(f"{side}.our_scenario"))
        & (F.col(_SIZE) == F.coalesce(F.col(f"{side}.message_bytes"), F.col(_SIZE)))
        & _option_fits(side, option, f"{side}.parameter", f"{side}.our_value")
        & F.when(asked != "", F.col("contestant") == asked).otherwise(F.col("contestant") != ONE_QUEUE_MANAGER),
    )
    # Sizes are handled separately: some scenarios sweep them, some have one.
    rest = F.map_filter(
        "options",
        lambda name, value: (name != F.col(f"{side}.parameter")) & (name != _SIZE) & ~is_usual(name, value),
    )
    known = F.struct(
        *("run", "scenario", "series", "values", "noise_percent", "machine", "is_quick", "release", "driver"),
        *("promise", "more_is_better"),
    )
    return found.select(
        "rule",
        "metric",
        "place",
        # Where a rule names the contestant, it is the same ratio of Ostler.
        F.when(asked != "", _OUR_NAME).otherwise(F.col("contestant")).alias("contestant"),
        options_text(rest).alias("rest"),
        F.col(_SIZE).alias(f"{side}_bytes"),
        _label(side, option).alias(f"{side}_label"),
        known.alias(side),
    )


def with_published_verdict(ours: DataFrame) -> DataFrame:
    """Return our ratios with the verdict on them beside `published_ratio`."""
    published_change = F.lit(100.0) * (F.col("published_ratio") - 1)
    is_sure = F.coalesce(
        (published_change < F.col("low_percent")) | (published_change > F.col("high_percent")), F.lit(True)
    )
    quotient = F.col("our_ratio") / F.col("published_ratio")
    verdict = (
        F.when((F.col("verdict") == NOT_COMPARABLE) | quotient.isNull(), NOT_COMPARABLE)
        .when(~is_beyond(quotient, F.col("tolerance_percent")) | ~is_sure, SAME)
        .when((quotient > 1) == F.col("more_is_better"), BETTER)
        .otherwise(WORSE)
    )
    return ours.withColumn("verdict", verdict)


# -- of both -----------------------------------------------------------------------------------------------------------

_SIDES: Final = ("left", "right")


def _clients() -> Column:
    return F.when(F.col("place") != _AT_PEAK, F.col("place")).cast("int").alias("clients")


def _option_fits(side: str, option: Column, name: str, value: str) -> Column:
    """Return whether an option has the value of the side; a side without an option accepts all."""
    fits = (option == F.col(value)) != F.col(f"{side}.is_other")
    return (F.col(name) == "") | F.coalesce(fits, F.lit(False))


def _label(side: str, option: Column) -> Column:
    """Return the value of an option where a rule accepts many."""
    return F.when(F.col(f"{side}.is_other"), F.coalesce(option, F.lit(""))).otherwise("")


def _sizes_fit() -> Column:
    return (F.col("left_bytes") == F.col("right_bytes")) != F.col("is_size")


def _sizes_text() -> Column:
    one = F.concat(F.col("left_bytes"), F.lit(" bytes"))
    both = F.concat(F.col("left_bytes"), F.lit(" to "), F.col("right_bytes"), F.lit(" bytes"))
    return F.when(F.col("left_bytes") == F.col("right_bytes"), one).otherwise(both)


def _or_nothing(name: str) -> Column:
    return F.when(F.col(name) != "", F.col(name))


# -- of two phases of one window ---------------------------------------------------------------------------------------


def phase_comparisons(metrics: DataFrame) -> DataFrame:
    """Return rows of the table of comparisons, of the best run of each scenario."""
    names = sorted({name for rule in PHASE_RULES for name in (rule.left, rule.right)})
    rates = best_runs(metrics.filter((F.col("kind") == _OSTLER) & F.col("metric").isin(*names)))
    pairs = reduce(DataFrame.unionByName, (_pairs(rates, rule) for rule in PHASE_RULES)).coalesce(1).localCheckpoint()
    return as_table(with_published_verdict(with_verdict(pairs)), COMPARISON)


def _pairs(rates: DataFrame, rule: PhaseRule) -> DataFrame:
    key = ("run", "scenario", "contestant", "series", "message_bytes")
    known = ("driver", "promise", "noise_percent")
    left = rates.filter(F.col("metric") == rule.left).select(
        *key, *known, F.col("values").alias("left_values"), F.col("metric").alias("left_metric")
    )
    right = rates.filter(F.col("metric") == rule.right).select(*key, F.col("values").alias("right_values"), "metric")
    series = F.concat_ws(
        ", ", F.concat("message_bytes", F.lit(" bytes")), F.when(F.col("series") != "", F.col("series"))
    )
    return left.join(right, list(key)).select(
        F.lit(RATIO).alias("kind"),
        F.lit(rule.subject).alias("subject"),
        "scenario",
        F.concat_ws(", ", series, "contestant").alias("series"),
        F.lit(None).cast("int").alias("clients"),
        "metric",
        F.lit(True).alias("more_is_better"),
        F.lit(True).alias("is_comparable"),
        F.col("left_metric").alias("left_name"),
        F.col("metric").alias("right_name"),
        *(F.col("run").alias(f"{side}_run") for side in ("left", "right")),
        "left_values",
        "right_values",
        "noise_percent",
        *(F.col(name).alias(f"{side}_{name}") for side in ("left", "right") for name in ("driver", "promise")),
        F.lit(rule.printed).cast("double").alias("published_ratio"),
        F.lit(rule.source).cast("string").alias("published_source"),
    )
