"""Arrow schemas of the lake's tables, for readers without Spark."""

from __future__ import annotations

from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]

from ostler.pipeline.lake.tables import LakeTable

_SIMPLE: Final = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def arrow_type(text: str) -> pa.DataType:
    """Return the type that a column's text names."""
    outer, _, inner = text.removesuffix(">").partition("<")
    if outer == "array":
        return pa.list_(_SIMPLE[inner])
    if outer == "map":
        key, _, value = inner.partition(",")
        return pa.map_(_SIMPLE[key], _SIMPLE[value])
    return _SIMPLE[text]


def arrow_schema(table: LakeTable) -> pa.Schema:
    """Return all columns in their order; all are nullable."""
    return pa.schema([pa.field(each.name, arrow_type(each.type)) for each in table.columns])
