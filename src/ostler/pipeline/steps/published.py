"""Figures printed in performance reports of IBM MQ: a data file of the project, checked as any other input.

The file is read on the driver, because executors on other machines need not have it.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.lake_frames import literal_frame
from ostler.pipeline.lake.quality import RULES
from ostler.pipeline.lake.rule_columns import broken_rows, kept_rows
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import PUBLISHED

FILE: Final = "published_results.csv"
_BETWEEN: Final = ";"


def published_text() -> str:
    """Return the data file as text."""
    return files("ostler.pipeline").joinpath("data", FILE).read_text(encoding="utf-8")


def published_content(text: str) -> str:
    """Return a checksum: the table is made again when the file has changed."""
    return f"{zlib.crc32(text.encode()):08x}"


def printed_figures(spark: SparkSession, text: str) -> DataFrame:
    """Return the figures as texts, a row for each line. Raises PipelineError when the file has other columns."""
    head, *rows = list(csv.reader(text.splitlines())) or [[]]
    if tuple(head) != PUBLISHED.names or any(len(row) != len(head) for row in rows):
        raise PipelineError(f"{FILE} does not have the columns {', '.join(PUBLISHED.names)}. Install ostler again.")
    types = ", ".join(f"{name} string" for name in PUBLISHED.names)
    return literal_frame(spark, rows, PUBLISHED.names, types)


def figures_in(text: str) -> int:
    """Return the number of figures in the data file."""
    return max(len(list(csv.reader(text.splitlines()))) - 1, 0)


def read_figures(printed: DataFrame) -> DataFrame:
    """Return numbers as numbers, variants as a map, and the columns that the table's rules need."""
    numbers = {each.name: each.type for each in PUBLISHED.columns if each.type in ("int", "bigint", "double")}
    columns = [_variants(F.col(name)) if name == "variants" else _number(name, numbers) for name in PUBLISHED.names]
    report, scenario = _known()
    return printed.select(
        F.to_json(F.struct(*PUBLISHED.names)).alias("printed"),
        *(column.alias(name) for name, column in zip(PUBLISHED.names, columns, strict=True)),
        F.col("scenario").isin(["", *scenario]).alias("is_known_scenario"),
        _is_number_or_empty("message_bytes", "bigint").alias("are_bytes_sound"),
        _is_number_or_empty("clients", "int").alias("are_clients_sound"),
    ).withColumn("report", F.when(F.col("report").isin(report), F.col("report")).otherwise(""))


def published_figures(read: DataFrame) -> DataFrame:
    """Return the figures that keep all rules."""
    return as_table(kept_rows(read, RULES[PUBLISHED.name]), PUBLISHED)


def rejected_figures(read: DataFrame) -> DataFrame:
    """Return the figures that do not."""
    return broken_rows(read, RULES[PUBLISHED.name], PUBLISHED, F.col("printed"))


def _known() -> tuple[Sequence[str], Sequence[str]]:
    """Return names of all reports, and of all scenarios."""
    known = catalogue()
    return sorted(known.reports), sorted(known.scenarios)


def _number(name: str, numbers: dict[str, str]) -> Column:
    return F.col(name).try_cast(numbers[name]) if name in numbers else F.col(name)


def _is_number_or_empty(name: str, kind: str) -> Column:
    return (F.col(name) == "") | F.col(name).try_cast(kind).isNotNull()


def _variants(text: Column) -> Column:
    """Return `a=1;b=2` as a map; a part without `=` is a name without a value.

    Not by `str_to_map`: its first use in a process makes tables of Unicode for seconds.
    """
    pairs = F.transform(F.split(text, _BETWEEN), lambda each: F.split(each, "=", 2))
    names = F.transform(pairs, lambda each: F.element_at(each, 1))
    values = F.transform(pairs, lambda each: F.coalesce(F.get(each, 1), F.lit("")))
    return F.when(text != "", F.map_from_arrays(names, values)).otherwise(F.create_map())
