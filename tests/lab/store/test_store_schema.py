"""The schema is a contract: rows, files and the page about it say the same, and it does not change unnoticed."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from ostler.lab.store import histogram
from ostler.lab.store.arrow_tables import arrow_schema
from ostler.lab.store.manifest import Manifest
from ostler.lab.store.rows import TABLE_OF
from ostler.lab.store.schema import KEY, SCHEMA_VERSION, TABLES, ColumnKind, SampleColumn

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "sample-schema.md"
ROW = re.compile(r"^\| ([^|]+?) \| ([^|]+?) \| ([^|]+?) \| (.+?) \|$", re.MULTILINE)
TYPES = {ColumnKind.TIME: "timestamp (microseconds, UTC)", ColumnKind.MAP: "map of string to string"}
# What each version was. Whoever changes the schema raises SCHEMA_VERSION and adds a line.
DIGESTS = {1: "ab0842a419197bce", 2: "fc5cd2afd8cba353"}

needs_page = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def digest() -> str:
    columns = [
        f"{table.name} {column.name} {column.kind} {column.adding} {column.optional}"
        for table in TABLES.values()
        for column in table.columns
    ]
    layout = f"{histogram.SUB_BUCKET_BITS} {histogram.VALUE_BITS}"
    return hashlib.sha256("\n".join([*columns, layout]).encode()).hexdigest()[:16]


def test_the_schema_does_not_change_within_a_version() -> None:
    assert {SCHEMA_VERSION: digest()} == {SCHEMA_VERSION: DIGESTS[SCHEMA_VERSION]}


def test_rows_have_the_columns_of_their_tables() -> None:
    assert {table.name: row._fields for row, table in TABLE_OF.items()} == {
        table.name: tuple(column.name for column in table.own_columns) for table in TABLES.values()
    }


def test_columns_that_may_be_empty_may_be_so_in_rows() -> None:
    for row, table in TABLE_OF.items():
        kinds = row.__annotations__
        empty = {name for name in row._fields if "None" in str(getattr(kinds[name], "__forward_arg__", kinds[name]))}
        assert empty == {column.name for column in table.own_columns if column.optional}, table.name


def test_all_tables_begin_with_the_same_key() -> None:
    assert all(table.columns[: len(KEY)] == KEY for table in TABLES.values())


def test_types_are_those_that_spark_takes_as_they_are() -> None:
    """Unsigned integers, nanoseconds and times without a zone come out as something else there, or not at all."""
    kinds = {str(field.type) for table in TABLES.values() for field in arrow_schema(table)}
    plain = {"string", "int32", "int64", "double", "bool", "timestamp[us, tz=UTC]"}
    assert {kind for kind in kinds if not kind.startswith("map<string, string")} == plain


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def listed(columns: tuple[SampleColumn, ...]) -> list[tuple[str, str, str, str]]:
    return [
        (
            column.name,
            TYPES.get(column.kind, column.kind.value),
            column.adding.value,
            column.text + ("; may be empty" if column.optional else ""),
        )
        for column in columns
    ]


def told(title: str) -> list[tuple[str, ...]]:
    return ROW.findall(section(title))[1:]


@needs_page
def test_the_page_tells_every_column() -> None:
    assert told("Key of all tables") == listed(KEY)
    for table in TABLES.values():
        assert told(f"Table {table.name}") == listed(table.own_columns)
        assert table.text in section(f"Table {table.name}")
    titles = re.findall(r"^## Table (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert titles == list(TABLES)


@needs_page
def test_the_page_tells_what_is_in_a_manifest() -> None:
    rows = re.findall(r"^\| ([\w, ]+?) \| .+ \|$", section("The manifest"), re.MULTILINE)
    names = {name for row in rows[1:] for name in row.split(", ")}
    assert names == set(Manifest.__dataclass_fields__)
    assert f"| schema_version | {SCHEMA_VERSION} |" in section("The manifest")


@needs_page
def test_the_page_tells_the_layout() -> None:
    text = section("Histograms")
    assert f"{histogram.SUB_BUCKETS} buckets to each doubling, {histogram.BUCKETS:,} in all" in text
    assert f"{histogram.VALUE_NS_MAX:,}" in text
    assert f"number {histogram.BUCKETS - 1:,}" in text
    assert f"{100 * histogram.ERROR_FRACTION_MAX:.2f}" == "0.78", "told as less than 0.79 %"
