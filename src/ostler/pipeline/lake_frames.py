"""Tables of the lake as DataFrames, and DataFrames as tables of the lake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.pipeline.lake import Snapshot, table_directory
from ostler.pipeline.lake_change import LakeChange
from ostler.pipeline.spark_schemas import as_table, spark_schema
from ostler.pipeline.tables import LakeTable


def read_table(spark: SparkSession, lake: Snapshot, table: LakeTable, **values: Sequence[str]) -> DataFrame:
    """Rows of a table; of a partitioned one, only those with one of the values of each partition column named."""
    schema = spark_schema(table)
    paths = [str((lake.root / part.path).absolute()) for part in lake.parts_of(table, **values)]
    if not paths:
        return spark.createDataFrame([], schema)
    base = str((lake.root / table_directory(table)).absolute())
    # Directories name the version too: `select` leaves it behind. Spark has no name but "none" for an empty value.
    found = spark.read.schema(schema).option("basePath", base).parquet(*paths)
    named = {name: F.coalesce(F.col(name), F.lit("")) for name in table.partitions}
    return found.select([named.get(name, F.col(f"`{name}`")).alias(name) for name in table.names])


def write_table(change: LakeChange, frame: DataFrame, table: LakeTable, replaced: Iterable[str] = ()) -> int:
    """Have a table changed to what a frame has, as `LakeChange.put` tells it; how many rows were written."""
    writer = as_table(frame, table).write.mode("errorifexists")
    if table.partitions:
        writer = writer.partitionBy(*table.partitions)
    writer.parquet(str(change.directory(table).absolute()))
    return change.put(table, replaced)
