"""Spark schemas of the lake's tables, which steps state at entry and exit."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from ostler.pipeline.lake.tables import LakeTable

_SIMPLE: Final[dict[str, DataType]] = {
    "string": StringType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "timestamp": TimestampType(),
}
# Types whose values all fit: void is the type of a column that is always empty.
_NARROWER: Final = {
    "bigint": ("int", "void"),
    "double": ("bigint", "int", "void"),
    **dict.fromkeys(("string", "int", "boolean", "timestamp"), ("void",)),
}


class SchemaBroken(Exception):
    """A step made a frame that does not fit its table."""


def spark_type(text: str) -> DataType:
    """Return the type that a column's text names."""
    outer, _, inner = text.removesuffix(">").partition("<")
    if outer == "array":
        return ArrayType(_SIMPLE[inner])
    if outer == "map":
        key, _, value = inner.partition(",")
        return MapType(_SIMPLE[key], _SIMPLE[value])
    return _SIMPLE[text]


def spark_schema(table: LakeTable) -> StructType:
    """Return all columns in their order, all nullable: quality rules check for empty values, not readers."""
    return StructType([StructField(each.name, spark_type(each.type)) for each in table.columns])


def as_table(frame: DataFrame, table: LakeTable) -> DataFrame:
    """Return the columns of a table in their order and types: every step ends with this.

    Numbers are widened where needed. Raises SchemaBroken when a column is missing or of another type: a bug of the
    step, not of its data.
    """
    fields = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    if fields == [(each.name, each.type) for each in table.columns]:
        return frame
    found = dict(fields)
    wrong = [
        f"{each.name} is {found.get(each.name, 'missing')} instead of {each.type}"
        for each in table.columns
        if found.get(each.name) not in (each.type, *_NARROWER.get(each.type, ()))
    ]
    if wrong:
        raise SchemaBroken(f"Table {table.name}: {'; '.join(wrong)}")
    # One call to Java; a column after the other they are four for each.
    return frame.to(spark_schema(table))
