"""Verdicts on two values: their distance, its certainty, and its meaning.

A difference is reported only when it is beyond the tolerance and the confidence interval excludes zero. The tolerance
is that of the published regression tests, 6 % on a quiet machine, plus the measured noise. The distance is how much the
larger exceeds the smaller: a fall to a third is as far as a rise to three times.

The interval is Welch's, of the logarithms of repetitions, because errors of rates and times are relative. There is none
where a side was measured once, and it always includes the change of the medians. Welch's degrees of freedom are not
whole numbers: with two repetitions a side they are between one and two, and rounding them down would make intervals
nearly twice as wide as needed.
"""

from __future__ import annotations

from math import log
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.lab.common.samples import NOISE_FRACTION

TOLERANCE_PERCENT: Final = 6.0
UNKNOWN_NOISE_PERCENT: Final = 100 * NOISE_FRACTION
"""The usual noise of a shared machine, where it was not measured."""
SAME: Final = "same"
BETTER: Final = "better"
WORSE: Final = "worse"
NOT_COMPARABLE: Final = "not comparable"
PAIR_COLUMNS: Final = (
    *("kind", "subject", "scenario", "series", "clients", "metric", "more_is_better", "is_comparable"),
    *("left_name", "right_name", "left_run", "right_run", "left_values", "right_values", "noise_percent"),
    *("left_driver", "right_driver", "left_promise", "right_promise"),
)
"""The input columns. Values are those of the repetitions."""
_SIDES: Final = ("left", "right")
# The rounding error of a tolerance: 106 to 100 is 6 %, and not above it.
_ROUNDING_PERCENT: Final = 1e-9
# Quantiles of Student's t for 95 %, from one degree of freedom on. After the last one they hardly change.
_STUDENT: Final = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def with_verdict(pairs: DataFrame) -> DataFrame:
    """Add medians, change, interval, tolerance and verdict to pairs with PAIR_COLUMNS. Other columns stay.

    Columns are added together where none needs another: Spark analyses the plan again with each addition.
    """
    ratio = F.when(F.col("left_value") > 0, F.col("right_value") / F.col("left_value"))
    return (
        pairs.withColumns({f"{side}_value": median(F.col(f"{side}_values")) for side in _SIDES})
        .filter(F.col("left_value").isNotNull() & F.col("right_value").isNotNull())
        .withColumns(
            {
                **{f"{side}_repetitions": F.size(f"{side}_values") for side in _SIDES},
                "our_ratio": ratio,
                # There is no percentage of zero: the verdict shows it.
                "change_percent": F.coalesce(F.lit(100.0) * (ratio - 1), F.lit(0.0)),
                "tolerance_percent": F.lit(TOLERANCE_PERCENT) + F.col("noise_percent"),
                # A lean driver beside a library measures the drivers.
                "is_like_with_like": F.col("left_driver") == F.col("right_driver"),
            }
        )
        .transform(_with_interval)
        .withColumn("verdict", _verdict())
    )


def known_noise(noise_percent: Column) -> Column:
    return F.coalesce(noise_percent, F.lit(UNKNOWN_NOISE_PERCENT))


def median(values: Column) -> Column:
    """Return the median of an array without nulls; null when the array is empty."""
    ordered, count = F.array_sort(values), F.size(values)
    lower, upper = F.floor((count + 1) / 2).cast("int"), F.ceil((count + 1) / 2).cast("int")
    return F.when(count > 0, (F.element_at(ordered, lower) + F.element_at(ordered, upper)) / 2)


def apart_percent(ratio: Column) -> Column:
    """Return how much the larger exceeds the smaller of two with this ratio."""
    return F.lit(100.0) * (F.greatest(ratio, F.lit(1.0) / ratio) - 1)


def is_beyond(ratio: Column, tolerance_percent: Column) -> Column:
    most = tolerance_percent + F.lit(_ROUNDING_PERCENT)
    return F.coalesce((ratio <= 0) | (apart_percent(ratio) > most), F.lit(False))


def _verdict() -> Column:
    ratio, low, high = F.col("our_ratio"), F.col("low_percent"), F.col("high_percent")
    is_sure = F.coalesce((low > 0) | (high < 0), F.lit(True))
    is_better = (ratio > 1) == F.col("more_is_better")
    return (
        F.when(~F.col("is_comparable") | ~F.col("is_like_with_like") | ratio.isNull(), NOT_COMPARABLE)
        .when(~is_beyond(ratio, F.col("tolerance_percent")) | ~is_sure, SAME)
        .when(is_better, BETTER)
        .otherwise(WORSE)
    )


def _with_interval(pairs: DataFrame) -> DataFrame:
    logs = {
        f"{side}_logs": F.transform(F.col(f"{side}_values"), lambda each: F.when(each > 0, F.log(each)))
        for side in _SIDES
    }
    means = {f"{side}_mean": _mean(F.col(f"{side}_logs")) for side in _SIDES}
    errors = {f"{side}_error": _squared_error(F.col(f"{side}_logs"), F.col(f"{side}_mean")) for side in _SIDES}
    left, right = F.col("left_error"), F.col("right_error")
    left_count, right_count = F.col("left_repetitions"), F.col("right_repetitions")
    freedom = F.when(
        left + right > 0,
        (left + right) ** 2 / (left**2 / (left_count - 1) + right**2 / (right_count - 1)),
    ).otherwise(left_count + right_count - 2)
    middle = F.col("right_mean") - F.col("left_mean")
    is_known = (left_count > 1) & (right_count > 1) & middle.isNotNull()
    half, change = F.col("half"), F.col("change_percent")
    low = F.least(F.lit(100.0) * (F.exp(middle - half) - 1), change)
    high = F.greatest(F.lit(100.0) * (F.exp(middle + half) - 1), change)
    return (
        pairs.withColumns(logs)
        .withColumns(means)
        .withColumns(errors)
        .withColumn("half", student_quantile(freedom) * F.sqrt(left + right))
        .withColumns({"low_percent": F.when(is_known, low), "high_percent": F.when(is_known, high)})
        .drop(*logs, *means, *errors, "half")
    )


def student_quantile(freedom: Column) -> Column:
    """Return Student's t for 95 %, with any number of degrees of freedom from one on.

    Between two whole ones its logarithm is nearly linear in their reciprocal.
    """
    most = float(len(_STUDENT))
    known = F.greatest(F.lit(1.0), F.least(freedom.cast("double"), F.lit(most)))
    lower = F.least(F.floor(known), F.lit(most - 1)).cast("int")
    part = (F.lit(1.0) / lower - F.lit(1.0) / known) / (F.lit(1.0) / lower - F.lit(1.0) / (lower + 1))
    logs = F.array(*(F.lit(log(each)) for each in _STUDENT))
    return F.exp(F.element_at(logs, lower) * (F.lit(1.0) - part) + F.element_at(logs, lower + 1) * part)


def _sum(values: Column) -> Column:
    """Return the sum; null when one of the values is."""
    return F.aggregate(values, F.lit(0.0), lambda total, each: total + each)


def _mean(values: Column) -> Column:
    return F.when(F.size(values) > 0, _sum(values) / F.size(values))


def _squared_error(values: Column, mean: Column) -> Column:
    """Return the squared standard error of the mean."""
    count = F.size(values)
    squares = _sum(F.transform(values, lambda each: (each - mean) * (each - mean)))
    return F.when(count > 1, squares / (count - 1) / count)
