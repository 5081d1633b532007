"""Sample tables in Arrow and Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ostler.lab.store.schema import KEY, SCHEMA_VERSION, ColumnKind, SampleTable

VERSION_NAME = b"ostler.schema_version"
TABLE_NAME = b"ostler.table"

_TYPES = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.INTEGER: pa.int32(),
    ColumnKind.LONG: pa.int64(),
    ColumnKind.REAL: pa.float64(),
    ColumnKind.FLAG: pa.bool_(),
    ColumnKind.TIME: pa.timestamp("us", tz="UTC"),
    ColumnKind.MAP: pa.map_(pa.string(), pa.field("value", pa.string(), nullable=False)),
}


def arrow_schema(table: SampleTable, version: int = SCHEMA_VERSION) -> pa.Schema:
    """Return the exact schema of each Parquet file of a table; its metadata has table and schema version."""
    listed = [pa.field(each.name, _TYPES[each.kind], nullable=each.optional) for each in table.columns_of(version)]
    return pa.schema(listed, {TABLE_NAME: table.name.encode(), VERSION_NAME: str(version).encode()})


def has_known_columns(schema: pa.Schema, table: SampleTable) -> bool:
    """Return whether a file has the columns that some version of a table has."""
    return any(schema.equals(arrow_schema(table, version)) for version in range(SCHEMA_VERSION, 0, -1))


def in_this_version(found: pa.Table, table: SampleTable) -> pa.Table:
    """Return the rows of a file of any version, with empty values in columns that its version did not have."""
    wanted = arrow_schema(table)
    columns = [
        found[each.name] if each.name in found.column_names else pa.nulls(found.num_rows, each.type) for each in wanted
    ]
    return pa.table(columns, schema=wanted)


class TableFile:
    """A Parquet file of one table, to which rows of one segment are appended."""

    def __init__(self, table: SampleTable, key: Sequence[object], file: BinaryIO) -> None:
        self._schema = arrow_schema(table)
        self._key = key
        self._file = file
        # Version 2.6 types and zstd: read by every Spark since 3.2.
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd", version="2.6")
        self.rows = 0

    def append(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Append one row group. Rejects rows that do not fit the schema."""
        constant = [
            pa.repeat(pa.scalar(value, self._schema.field(at).type), len(rows)) for at, value in enumerate(self._key)
        ]
        types = [field.type for field in self._schema][len(KEY) :]
        own = [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), types, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(constant + own, schema=self._schema))
        self.rows += len(rows)

    def close(self) -> None:
        self._writer.close()

    def abandon(self) -> None:
        """Leave the file as it is: otherwise the writer would complete it when it is deleted."""
        self._writer.is_open = False
