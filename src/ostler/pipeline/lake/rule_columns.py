"""Quality rules as columns: rows that keep all of them, and rows that do not, with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostler.pipeline.lake.quality import QualityRule
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import REJECTED, LakeTable


def keeps(rule: QualityRule) -> Column:
    """Return a condition that is never null: unknown counts as a violation."""
    return F.expr(_keeps_text(rule))


def _keeps_text(rule: QualityRule) -> str:
    return f"coalesce({rule.keeps}, false)"


def keeps_all(rules: Sequence[QualityRule]) -> Column:
    """Return one text, not joined columns: Spark Connect sends those as a tree, and no tree deeper than 100."""
    return F.expr(" AND ".join(["true", *map(_keeps_text, rules)]))


def first_broken(rules: Sequence[QualityRule], name: bool) -> Column:
    """Return the name, or the text, of the first rule that a row violates: one row has one reason."""
    first, *others = rules
    found = F.when(~keeps(first), F.lit(first.name if name else first.text))
    for rule in others:
        found = found.when(~keeps(rule), F.lit(rule.name if name else rule.text))
    return found


def kept_rows(frame: DataFrame, rules: Sequence[QualityRule]) -> DataFrame:
    return frame.filter(keeps_all(rules))


def broken_rows(
    frame: DataFrame, rules: Sequence[QualityRule], table: LakeTable, row: Column | None = None
) -> DataFrame:
    """Return the rows that violate a rule, as rows of the quarantine table; `row` shows them, else all columns do."""
    shown = F.to_json(F.struct(*(F.col(f"`{name}`") for name in frame.columns))) if row is None else row
    return as_table(
        frame.filter(~keeps_all(rules)).select(
            F.lit(table.name).alias("table"),
            (F.coalesce(F.col("run"), F.lit("")) if "run" in table.names else F.lit("")).alias("run"),
            first_broken(rules, True).alias("rule"),
            first_broken(rules, False).alias("reason"),
            shown.alias("row"),
            F.lit(1).cast("bigint").alias("rows"),
        ),
        REJECTED,
    )
