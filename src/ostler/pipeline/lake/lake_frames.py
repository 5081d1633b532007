"""Tables of the lake as DataFrames, and DataFrames as tables of the lake."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.lake import LakeSnapshot, table_directory
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.spark_schemas import as_table, spark_schema
from ostler.pipeline.lake.tables import LakeTable

FEW_ROWS: Final = 200_000
"""Tables of no more rows are read as one partition."""


def read_table(spark: SparkSession, lake: LakeSnapshot, table: LakeTable, **values: Sequence[str]) -> DataFrame:
    """Return the rows of a table; of a partitioned one, only those with the given values of each named column.

    Few rows are one partition: joins, windows and groups of them need no exchange, and a whole step is one task.
    """
    schema = spark_schema(table)
    parts = lake.parts_of(table, **values)
    if not parts:
        return empty_frame(spark, table)
    reader = spark.read.schema(schema)
    if table.partitions:
        # Directory names contain the version too: `to` drops it. Without partitions no directory name is parsed:
        # the version of the lake would replace a column of this name, which runs have.
        reader = reader.option("basePath", str((lake.root / table_directory(table)).absolute()))
    found = reader.parquet(*(str((lake.root / part.path).absolute()) for part in parts))
    if table.partitions:
        # Spark's only name for an empty value is "none".
        found = found.fillna("", list(table.partitions)).to(schema)
    return found.coalesce(1) if sum(part.rows for part in parts) <= FEW_ROWS else found


def empty_frame(spark: SparkSession, table: LakeTable) -> DataFrame:
    """Return no rows of a table, in a form that Spark's optimizer recognizes as empty."""
    return literal_frame(spark, [], table.names, _types(table)).limit(0)


def literal_frame(spark: SparkSession, rows: Sequence[Sequence[object]], names: Sequence[str], types: str) -> DataFrame:
    """Return rows that are known to the driver, as a constant of the plan: no process of Python makes them again.

    `types` is the schema of a row as text; its columns are called `names`.
    """
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows], default=_json_value)
    listed = F.from_json(F.lit(text), f"array<struct<{types}>>")
    return spark.range(0, 1, 1, 1).select(F.inline(listed))


def table_frame(spark: SparkSession, table: LakeTable, rows: Sequence[Sequence[object]]) -> DataFrame:
    """Return rows that are known to the driver, with the columns of a table."""
    return literal_frame(spark, rows, table.names, _types(table)) if rows else empty_frame(spark, table)


def _types(table: LakeTable) -> str:
    return ", ".join(f"`{each.name}` {each.type}" for each in table.columns)


def _json_value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def unshared_disk_error(root: Path) -> PipelineError:
    """Return the error for a lake that Spark writes on another machine."""
    return PipelineError(
        f"Spark has written tables, and they are not in {root}: its workers have another disk. "
        "Tables are as they were. Name a lake and runs on a file system that this machine and all workers share."
    )


def write_table(change: LakeChange, frame: DataFrame, table: LakeTable, replaced: Iterable[str] = ()) -> int:
    """Replace a table by a frame, as `LakeChange.put` does, and return the number of rows written."""
    writer = as_table(frame, table).write.mode("error")
    if table.partitions:
        writer = writer.partitionBy(*table.partitions)
    directory = change.directory(table).absolute()
    writer.parquet(str(directory))
    # Spark writes a file even without rows; for a table with partitions, at least the directory.
    if not (directory.is_dir() if table.partitions else any(directory.glob("*.parquet"))):
        raise unshared_disk_error(change.before.root)
    return change.put(table, replaced)
