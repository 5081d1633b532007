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
    """Rows of a table; of a partitioned one, only those with one of the values of each partition column named."""
    schema = spark_schema(table)
    paths = [str((lake.root / part.path).absolute()) for part in lake.parts_of(table, **values)]
    if not paths:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema)
    if table.partitions:
        # Directories name the version too: `select` leaves it behind. Without partitions no directory is looked at:
        # the version of the lake would stand in place of a column of this name, and runs have one.
        reader = reader.option("basePath", str((lake.root / table_directory(table)).absolute()))
    found = reader.parquet(*paths)
    # Spark has no name but "none" for an empty value.
    named = {name: F.coalesce(F.col(name), F.lit("")) for name in table.partitions}
    return found.select([named.get(name, F.col(f"`{name}`")).alias(name) for name in table.names])


def paths_from_root(root: Path) -> PipelineError:
    """What Spark has written is not here."""
    return PipelineError(
        f"Spark has written tables, and they are not in {root}: its workers have another disk. "
        "Tables are as they were. Name a lake and runs on a file system that this machine and all workers share."
    )


def write_table(change: LakeChange, frame: DataFrame, table: LakeTable, replaced: Iterable[str] = ()) -> int:
    """Have a table changed to what a frame has, as `LakeChange.put` tells it; how many rows were written."""
    writer = as_table(frame, table).write.mode("error")
    if table.partitions:
        writer = writer.partitionBy(*table.partitions)
    directory = change.directory(table).absolute()
    writer.parquet(str(directory))
    # Spark writes a file even when there are no rows; of a table with partitions, at least the directory.
    if not any(directory.glob("*" if table.partitions else "*.parquet")):
        raise paths_from_root(change.before.root)
    return change.put(table, replaced)
