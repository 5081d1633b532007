"""Tables of the lake as DataFrames, and DataFrames as tables of the lake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.lake import LakeSnapshot, table_directory
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.spark_schemas import as_table, spark_schema
from ostler.pipeline.lake.tables import LakeTable


def read_table(spark: SparkSession, lake: LakeSnapshot, table: LakeTable, **values: Sequence[str]) -> DataFrame:
    """Return the rows of a table; of a partitioned one, only those with the given values of each named column."""
    schema = spark_schema(table)
    paths = [str((lake.root / part.path).absolute()) for part in lake.parts_of(table, **values)]
    if not paths:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema)
    if table.partitions:
        # Directory names contain the version too: `select` drops it. Without partitions no directory name is parsed:
        # the version of the lake would replace a column of this name, which runs have.
        reader = reader.option("basePath", str((lake.root / table_directory(table)).absolute()))
    found = reader.parquet(*paths)
    # Spark's only name for an empty value is "none".
    named = {name: F.coalesce(F.col(name), F.lit("")) for name in table.partitions}
    return found.select([named.get(name, F.col(f"`{name}`")).alias(name) for name in table.names])


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
    if not any(directory.glob("*" if table.partitions else "*.parquet")):
        raise unshared_disk_error(change.before.root)
    return change.put(table, replaced)
