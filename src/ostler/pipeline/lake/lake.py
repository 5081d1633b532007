"""The lake: tables as Parquet files in directories, and one file that says which of them are in force.

    current.json                                         what is in force
    lock                                                 held by the process that changes the lake
    bronze/latency/version=7-ab12cd/run=NAME/*.parquet   what the change to version 7 has written
    gold/peak/version=7-ab12cd/*.parquet

A change writes directories that nobody looks at yet, and `current.json` is replaced at last: so readers see all tables
of one version or all of the next, and a change that was cut has changed nothing. What a change has made needless stays
until the change after it, for those who are still reading. Nothing here needs Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset as ds  # type: ignore[import-untyped]

from ostler.pipeline.errors import PipelineError, count_text
from ostler.pipeline.lake.arrow_schemas import arrow_schema
from ostler.pipeline.lake.tables import LakeTable

CURRENT: Final = "current.json"
FORMAT: Final = 2
_FORMER_NAMES: Final = {"entrant": "contestant"}
"""Tables of format 1 that have another name since format 2. Their files stay where they are."""
VERSION_PREFIX: Final = "version="
# The directory name of an empty value in Hive, and so in Spark.
_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class LakePart:
    """A directory of Parquet files: a whole table, or the rows with certain values of its partition columns."""

    path: str
    """Relative to the lake."""
    values: Mapping[str, str]
    rows: int


@dataclass(frozen=True)
class LakeSnapshot:
    """One version of the lake. `made_from` has inputs that are not tables, by name: a checksum, a version."""

    root: Path
    version: int = 0
    made_from: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, tuple[LakePart, ...]] = field(default_factory=dict)
    unused: tuple[str, ...] = ()

    def parts_of(self, table: LakeTable, **values: Sequence[str]) -> tuple[LakePart, ...]:
        """Return the directories of a table; of a partitioned one, only those with the given values of each named
        column."""
        assert set(values) <= set(table.partitions)
        found = self.parts.get(table.name, ())
        return tuple(part for part in found if all(part.values[name] in wanted for name, wanted in values.items()))

    def rows(self, table: LakeTable) -> int:
        return sum(part.rows for part in self.parts.get(table.name, ()))

    def read(self, table: LakeTable, columns: Sequence[str] | None = None, **values: Sequence[str]) -> pa.Table:
        """Return the rows of a table. Raises PipelineError when files are damaged or lost."""
        wanted = arrow_schema(table)
        found = [_read(self.root / part.path, part, table, wanted) for part in self.parts_of(table, **values)]
        whole = pa.concat_tables([wanted.empty_table(), *found])
        return whole if columns is None else whole.select(list(columns))


def _read(directory: Path, part: LakePart, table: LakeTable, wanted: pa.Schema) -> pa.Table:
    stored = pa.schema([each for each in wanted if each.name not in table.partitions])
    try:
        # Values of partition columns are in the names of directories, and known.
        files = sorted(str(path) for path in directory.glob("*.parquet"))
        found = ds.dataset(files, schema=stored, format="parquet", partitioning=None).to_table()
    except (OSError, pa.ArrowException) as error:
        raise _damaged(directory, (str(error).splitlines() or ["it is damaged"])[0].rstrip(".")) from error
    if found.num_rows != part.rows:
        raise _damaged(directory, f"it has {count_text(found.num_rows, 'row')} instead of {part.rows:,}")
    columns = [
        pa.repeat(pa.scalar(part.values[each.name], each.type), part.rows)
        if each.name in table.partitions
        else found[each.name]
        for each in wanted
    ]
    return pa.table(columns, schema=wanted)


def _damaged(directory: Path, why: str) -> PipelineError:
    return PipelineError(
        f"{directory} cannot be read: {why}. Restore the lake from a copy, or remove it and run the pipeline again."
    )


def open_lake(root: Path) -> LakeSnapshot:
    """Return the current version of the lake; version 0, without rows, when there is none yet. Raises PipelineError
    when it is damaged."""
    path = root / CURRENT
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return LakeSnapshot(root)
    except NotADirectoryError:
        raise PipelineError(f"{root} is a file. Name a directory for the lake.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    version = content.get("format") if isinstance(content, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise PipelineError(
            f"{root} is a lake of format {version}, and this version of ostler knows up to {FORMAT}: "
            "use the version that wrote it, or a newer one, or another directory."
        )
    try:
        return _from_json(root, content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path, repr(error)) from error


def _from_json(root: Path, content: Mapping[str, object]) -> LakeSnapshot:
    tables, unused, made_from = content["tables"], content["unused"], content["made_from"]
    if not isinstance(tables, dict) or not isinstance(unused, list) or not isinstance(made_from, dict):
        raise ValueError("it does not list its tables")
    # Tables that this version does not know are not touched.
    parts = {
        _FORMER_NAMES.get(name, name): tuple(
            LakePart(str(each["path"]), dict(each["values"]), int(each["rows"])) for each in listed
        )
        for name, listed in dict[str, Any](tables).items()
    }
    version = content["version"]
    if not isinstance(version, int):
        raise ValueError("it does not say which version it is")
    return LakeSnapshot(root, version, made_from, parts, tuple(str(each) for each in unused))


def as_json(snapshot: LakeSnapshot) -> str:
    """Return the text of `current.json`."""
    tables = {
        name: [{"path": part.path, "values": dict(part.values), "rows": part.rows} for part in parts]
        for name, parts in sorted(snapshot.parts.items())
    }
    content = {
        "format": FORMAT,
        "version": snapshot.version,
        "made_from": dict(snapshot.made_from),
        "tables": tables,
        "unused": list(snapshot.unused),
    }
    return json.dumps(content, indent=1) + "\n"


def table_directory(table: LakeTable) -> str:
    return f"{table.layer.value}/{table.name}"


def partition_values(names: Sequence[str]) -> dict[str, str]:
    """Return the values in directory names: `run=a` is run a. Spark escapes characters that file systems reject."""
    found: dict[str, str] = {}
    for name in names:
        column, _, value = name.partition("=")
        found[column] = "" if value == _NO_VALUE else unquote(value)
    return found
