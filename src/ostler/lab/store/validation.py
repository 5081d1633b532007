"""Checks that the samples of a run keep the rules of the schema. Each violation is reported with its segment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ostler.lab.store.arrow_tables import arrow_schema, has_known_columns, in_this_version
from ostler.lab.store.histogram import BUCKETS, bucket_of
from ostler.lab.store.run_reader import RunCondition, StoredRun
from ostler.lab.store.schema import KEY, LATENCY, OPERATION, PHASE, TABLES, Aggregation, ColumnKind
from ostler.lab.store.segments import SegmentKey, SegmentNote, damage_of

_KEY_NAMES = [column.name for column in KEY]
_TIMED = ["worker", "second", "operation"]


@dataclass(frozen=True)
class Problem:
    """A violated rule; `segment` is empty for a rule of the whole run."""

    segment: str
    rule: str
    text: str

    def __str__(self) -> str:
        return f"segment {self.segment}: {self.text}" if self.segment else self.text


def validate(run: StoredRun) -> list[Problem]:
    """Check all rules on all samples; an empty list means a sound run. A partial run is not a problem."""
    problems: list[Problem] = []
    seen: dict[SegmentKey, str] = {}
    for segment in run.segments:
        name = segment.directory.name
        if segment.note is None:
            problems.append(Problem(name, "segment", segment.damage))
            continue
        if segment.note.key in seen:
            problems.append(Problem(name, "once", f"the same phase as segment {seen[segment.note.key]}"))
        seen.setdefault(segment.note.key, name)
        problems += [Problem(name, rule, text) for rule, text in _segment_problems(segment.directory, segment.note)]
    if run.condition == RunCondition.COMPLETE and run.remaining():
        text = f"the run says that it is complete, but {len(run.remaining())} points are missing"
        problems.append(Problem("", "complete", text))
    return problems


def _segment_problems(directory: Path, note: SegmentNote) -> Iterator[tuple[str, str]]:
    tables: dict[str, pa.Table] = {}
    for stored in note.files:
        damage = damage_of(directory, stored)
        if damage:
            yield "file", damage
            continue
        found = pq.ParquetFile(directory / f"{stored.table}.parquet").read()
        if not has_known_columns(found.schema, TABLES[stored.table]):
            yield "columns", f"{stored.table}.parquet does not have the columns of its table"
        elif found.num_rows != stored.rows:
            yield "rows", f"{stored.table}.parquet has {found.num_rows} rows instead of {stored.rows}"
        else:
            tables[stored.table] = in_this_version(found, TABLES[stored.table])
    for name, table in tables.items():
        yield from _row_problems(name, table, note)
    if [stored.rows for stored in note.files if stored.table == PHASE.name] != [1]:
        yield "phase", "it needs exactly one row in the table of phases"
    if {OPERATION.name, LATENCY.name} & set(tables):
        yield from _histogram_problems(tables)


def _row_problems(name: str, table: pa.Table, note: SegmentNote) -> Iterator[tuple[str, str]]:
    keys = [column.name for column in TABLES[name].own_columns if column.adding is Aggregation.KEY]
    distinct = table.group_by(keys).aggregate([]).num_rows if keys else min(table.num_rows, 1)
    if distinct != table.num_rows:
        yield (
            "unique",
            f"{name} has rows with the same {', '.join(keys) or 'key'}: {table.num_rows - distinct} too many",
        )
    expected = (note.run, note.contestant, note.step, note.repetition, note.phase)
    for column, value in zip(_KEY_NAMES, expected, strict=True):
        if pc.any(pc.not_equal(table[column], value)).as_py():
            yield "key", f"{name} has rows whose {column} is not {value}"
    for described in TABLES[name].own_columns:
        counted = (
            described.adding in (Aggregation.SUM, Aggregation.LOWEST, Aggregation.HIGHEST) or described.name == "second"
        )
        if counted and described.kind in (ColumnKind.INTEGER, ColumnKind.LONG, ColumnKind.REAL):
            at = pc.index(pc.fill_null(pc.less(table[described.name], 0), False), True).as_py()
            if at >= 0:
                yield "negative", f"{name}.{described.name} is below 0 in row {at}"
    if name == LATENCY.name:
        outside = pc.or_(pc.less(table["bucket"], 0), pc.greater_equal(table["bucket"], BUCKETS))
        if pc.any(outside).as_py():
            yield "bucket", f"latency.bucket is not within 0 to {BUCKETS - 1} in row {pc.index(outside, True)}"
        if pc.any(pc.less(table["count"], 1)).as_py():
            yield "sparse", "latency.count is below 1 in a row: buckets that were not hit have no row"


def _histogram_problems(tables: dict[str, pa.Table]) -> Iterator[tuple[str, str]]:
    """Check histograms against the exact values beside them."""
    empty = {each.name: arrow_schema(each).empty_table() for each in (OPERATION, LATENCY)}
    timed = tables.get(OPERATION.name, empty[OPERATION.name]).select([*_TIMED, "count", "lowest_ns", "highest_ns"])
    counted = tables.get(LATENCY.name, empty[LATENCY.name]).group_by(_TIMED)
    summed = counted.aggregate([("count", "sum"), ("bucket", "min"), ("bucket", "max"), ("bucket", "count")])
    buckets = {tuple(row[name] for name in _TIMED): row for row in summed.to_pylist()}
    for row in timed.to_pylist():
        key = tuple(row[name] for name in _TIMED)
        found = buckets.pop(key, None)
        where = f"worker {key[0]}, second {key[1]}, {key[2]}"
        total = found["count_sum"] if found else 0
        if total != row["count"]:
            yield "total", f"{where}: {row['count']} operations, but {total} in the histogram"
        elif found and (row["lowest_ns"] is None or row["highest_ns"] is None):
            yield "extremes", f"{where}: no lowest or no highest latency"
        elif found and (bucket_of(row["lowest_ns"]), bucket_of(row["highest_ns"])) != (
            found["bucket_min"],
            found["bucket_max"],
        ):
            yield "extremes", f"{where}: lowest and highest latency are not in the first and the last bucket"
    for key in buckets:
        yield "total", f"worker {key[0]}, second {key[1]}, {key[2]}: a histogram without a row in operation"
