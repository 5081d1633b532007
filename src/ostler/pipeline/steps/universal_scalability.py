"""The Universal Scalability Law, fitted to curves by columns alone.

With N clients the rate is X = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)): sigma is the share of work that only
one can do at a time, kappa what it costs to keep all of one mind. Divided by X and multiplied out, it is linear:

    1 = a X/N + b (N - 1) X/N + c (N - 1) X        a = 1/lambda, b = sigma/lambda, c = kappa/lambda

Least squares of this are those of relative errors of the rate, which is how rates err. Three unknowns make the sums of
a curve and a determinant, so a curve is one row of an aggregation, and no code of Python runs for its rows. Neither
sigma nor kappa may be negative: of the four fits with both, one or none of them, the best that keeps this is the best
of all that keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ostler.pipeline.steps.curves import CURVE_KEY

STEPS_LEAST: Final = 4
"""The least number of steps with different numbers of clients: one more than the unknowns, or a bad fit would not
show."""
_SINGULAR: Final = 1e-13
_FELT: Final = 1e-4
"""The least effect of kappa on the rate with the most clients. Less is rounding, and would predict a peak with millions
of clients."""
_TERMS: Final = ("term0", "term1", "term2")
FIT_COLUMNS: Final = (
    *CURVE_KEY,
    "points",
    "lambda",
    "sigma",
    "kappa",
    "r_squared",
    "residual_percent",
    "predicted_peak_rate",
    "predicted_peak_clients",
)


def fits(steps: DataFrame) -> DataFrame:
    """Return one row for each curve that can be fitted, with the columns FIT_COLUMNS, from steps of curves."""
    usable = steps.filter((F.col("clients") > 0) & (F.col("rate") > 0)).select(*CURVE_KEY, "clients", "rate")
    solved = _solved(_sums(_scaled_terms(usable)))
    return with_predictions(_with_residuals(usable, solved)).select(*FIT_COLUMNS)


def law(clients: Column, single: Column, sigma: Column, kappa: Column) -> Column:
    """Return the rate with this many clients, `single` being that of one."""
    return single * clients / (F.lit(1.0) + sigma * (clients - 1) + kappa * clients * (clients - 1))


def _scaled_terms(steps: DataFrame) -> DataFrame:
    """Return the three terms, each divided by the curve's maximum: sums of squares stay within the precision of
    doubles."""
    clients, rate = F.col("clients").cast("double"), F.col("rate")
    terms = (rate / clients, (clients - 1) * rate / clients, (clients - 1) * rate)
    curve = Window.partitionBy(*CURVE_KEY)
    named = steps.withColumns(dict(zip(_TERMS, terms, strict=True)))
    with_scales = named.withColumns({f"{name}_scale": F.max(name).over(curve) for name in _TERMS})
    scaled = [F.when(F.col(f"{name}_scale") > 0, F.col(name) / F.col(f"{name}_scale")).alias(name) for name in _TERMS]
    return with_scales.select(*CURVE_KEY, "clients", *scaled, *(f"{name}_scale" for name in _TERMS))


def _sums(terms: DataFrame) -> DataFrame:
    products = [
        F.sum(F.col(_TERMS[row]) * F.col(_TERMS[column])).alias(f"s{row}{column}")
        for row in range(3)
        for column in range(row, 3)
    ]
    return (
        terms.groupBy(*CURVE_KEY)
        .agg(
            F.count_distinct("clients").cast("int").alias("points"),
            F.count("clients").cast("double").alias("rows"),
            *(F.sum(name).alias(f"t{number}") for number, name in enumerate(_TERMS)),
            *(F.max(f"{name}_scale").alias(f"{name}_scale") for name in _TERMS),
            *products,
        )
        .filter(F.col("points") >= STEPS_LEAST)
    )


def _solved(sums: DataFrame) -> DataFrame:
    """Return the best of the four fits, as lambda, sigma and kappa."""
    candidates = [_candidate(kept) for kept in ((0, 1, 2), (0, 1), (0, 2), (0,))]
    best = F.array_min(F.array(*candidates))
    single = F.lit(1.0) / F.col("best.a")
    return (
        sums.withColumn("best", best)
        .filter(F.col("best").isNotNull())
        .select(
            *CURVE_KEY,
            "points",
            single.alias("lambda"),
            (F.col("best.b") * single).alias("sigma"),
            (F.col("best.c") * single).alias("kappa"),
        )
    )


def _candidate(kept: Sequence[int]) -> Column:
    """Return least squares with some of the terms: the residual first, so that the least of all is the best of all.
    Null when the equations have no solution, or a meaningless one."""
    matrix = [[_sum_of(row, column) for column in kept] for row in kept]
    right = [F.col(f"t{row}") for row in kept]
    whole = _determinant(matrix)
    product = reduce(lambda one, other: one * other, (_sum_of(row, row) for row in kept))
    unknowns: dict[int, Column] = {}
    for place, term in enumerate(kept):
        replaced = [
            [right[row] if column == place else each for column, each in enumerate(line)]
            for row, line in enumerate(matrix)
        ]
        unknowns[term] = _determinant(replaced) / whole
    explained = reduce(lambda one, other: one + other, (unknowns[term] * F.col(f"t{term}") for term in kept))
    real = {term: value / F.col(f"{_TERMS[term]}_scale") for term, value in unknowns.items()}
    is_sound = (F.abs(whole) > product * _SINGULAR) & (real[0] > 0)
    for term in kept[1:]:
        is_sound &= real[term] >= 0
    nothing = F.lit(0.0)
    found = F.struct(
        (F.col("rows") - explained).alias("residual"),
        real[0].alias("a"),
        real.get(1, nothing).alias("b"),
        real.get(2, nothing).alias("c"),
    )
    return F.when(is_sound, found)


def _sum_of(row: int, column: int) -> Column:
    return F.col(f"s{min(row, column)}{max(row, column)}")


def _determinant(matrix: Sequence[Sequence[Column]]) -> Column:
    if len(matrix) == 1:
        return matrix[0][0]
    found = F.lit(0.0)
    for column, factor in enumerate(matrix[0]):
        minor = [[each for place, each in enumerate(line) if place != column] for line in matrix[1:]]
        part = factor * _determinant(minor)
        found = found + part if column % 2 == 0 else found - part
    return found


def _with_residuals(steps: DataFrame, solved: DataFrame) -> DataFrame:
    """Return the distance of the steps from the law: the explained part of the variance, and the residual."""
    predicted = law(F.col("clients"), F.col("lambda"), F.col("sigma"), F.col("kappa"))
    # Keys without a series are compared as any other value: none of them is ever null.
    joined = steps.join(solved, list(CURVE_KEY)).withColumn("left", F.col("rate") - predicted)
    most = F.max("clients").cast("double")
    mean, squares = F.avg("rate"), F.sum(F.col("left") * F.col("left"))
    spread = F.var_pop("rate") * F.count("rate")
    return joined.groupBy(*CURVE_KEY, "points", "lambda", "sigma", "kappa").agg(
        F.when(spread > 0, F.lit(1.0) - squares / spread).alias("r_squared"),
        (F.lit(100.0) * F.sqrt(squares / F.count("rate")) / mean).alias("residual_percent"),
        (F.lit(_FELT) / (most * most)).alias("felt"),
    )


def with_predictions(fitted: DataFrame) -> DataFrame:
    """Return the highest rate by the law, and its number of clients.

    Without kappa the rate only approaches lambda / sigma, and no number of clients reaches it; without sigma as well it
    has no bound. With a sigma of one or more, one client alone is the fastest.
    """
    single, sigma = F.col("lambda"), F.col("sigma")
    kappa = F.when(F.col("kappa") >= F.col("felt"), F.col("kappa")).otherwise(0.0)
    alone, clients = F.lit(1.0), F.sqrt(F.greatest(F.lit(1.0) - sigma, F.lit(0.0)) / kappa)
    peak = F.when(sigma >= 1, alone).when(kappa > 0, F.greatest(clients, alone))
    return (
        fitted.withColumn("kappa", kappa)
        .withColumn("predicted_peak_clients", peak)
        .withColumn(
            "predicted_peak_rate",
            F.when(peak.isNotNull(), law(peak, single, sigma, kappa)).when(sigma > 0, single / sigma),
        )
    )
