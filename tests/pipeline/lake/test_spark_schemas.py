"""Tables as Spark and as Arrow have them, and a frame that must be one of them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from ostler.pipeline.lake.arrow_schemas import arrow_schema
from ostler.pipeline.lake.spark_schemas import SchemaBroken, as_table, spark_schema
from ostler.pipeline.lake.tables import CONTESTANT, POINT, TABLES


@pytest.mark.parametrize("name", sorted(TABLES))
def test_spark_and_arrow_agree_about_every_column(name: str) -> None:
    table = TABLES[name]
    assert [field.dataType.simpleString() for field in spark_schema(table)] == [each.type for each in table.columns]
    ours, theirs = arrow_schema(table), to_arrow_schema(spark_schema(table), timezone="UTC")
    assert ours.names == theirs.names == list(table.names)
    assert [field.type for field in ours] == [field.type for field in theirs]


def test_a_frame_becomes_a_table(spark: SparkSession) -> None:
    shuffled = spark.range(1).select(
        F.lit("v").alias("version"),
        F.lit("extra").alias("extra"),
        F.lit(None).alias("promise"),
        *(F.lit(name).alias(name) for name in ("driver", "kind", "contestant", "run")),
    )
    found = as_table(shuffled, CONTESTANT)
    assert found.columns == list(CONTESTANT.names)
    assert found.collect()[0].asDict() == {
        "run": "run",
        "contestant": "contestant",
        "kind": "kind",
        "promise": None,
        "version": "v",
        "driver": "driver",
    }


def test_narrow_numbers_are_made_wider(spark: SparkSession) -> None:
    types = {each.name: "int" if each.type in ("bigint", "double") else each.type for each in POINT.columns}
    frame = spark.createDataFrame([], ", ".join(f"`{name}` {kind}" for name, kind in types.items()))
    assert as_table(frame, POINT).schema == spark_schema(POINT)


def test_another_frame_is_refused_with_all_that_is_wrong(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], "run string, contestant int, kind string, promise string")
    with pytest.raises(SchemaBroken, match="contestant is int instead of string; version is missing instead of string"):
        as_table(frame, CONTESTANT)
