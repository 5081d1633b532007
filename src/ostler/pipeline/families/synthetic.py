"""Synthetic runs of the laboratory: any number of samples, made by Spark, for measuring the pipeline itself.

They are valid runs: manifests, segments with checksums, files in the schema of samples, values that keep all rules.
Each task of Spark writes the file of one segment and table; the files are then moved to their directories.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.lab.store import schema as samples
from ostler.lab.store.arrow_tables import TableFile
from ostler.lab.store.manifest import Manifest, PlannedPoint, RunState, describe_contestants, write_manifest
from ostler.lab.store.rows import PhaseRow
from ostler.lab.store.segments import MEASURED, SEGMENT, SEGMENTS, SegmentNote, StoredFile, crc32_of
from ostler.pipeline.steps.histograms import lowest_of

SCENARIO: Final = "client-rr-np"
CONTESTANTS: Final = ("ostler", "peer")
OPERATION: Final = "round trip"
STEPS: Final = 6
REPETITIONS: Final = 2
SEGMENTS_OF_RUN: Final = len(CONTESTANTS) * STEPS * REPETITIONS
_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_FILES_AT_ONCE: Final = 4
# Counts of neighbouring buckets go through 1 to 8, so a multiple of eight has a known sum.
_COUNTS: Final = 8
_TAIL: Final = 8
_TAIL_STRIDE: Final = 20
_FIRST_BUCKET: Final = 1000
_FIRST_BUCKETS: Final = 64

Report = Callable[[str], None]


@dataclass(frozen=True)
class SegmentSize:
    """The size of one segment. The default is near that of a run of a minute a point with many clients."""

    workers: int = 64
    seconds: int = 60
    buckets: int = 48
    processes: int = 5
    threads: int = 20
    statistics: int = 100

    @property
    def rows(self) -> Mapping[str, int]:
        """Return the rows of each table, without phases, which have one."""
        pairs = self.workers * self.seconds
        return {
            "latency": pairs * self.buckets,
            "operation": pairs,
            "statistic": self.seconds * self.statistics,
            "thread": self.seconds * self.threads,
            "process": self.seconds * self.processes,
            "machine": self.seconds,
        }

    @property
    def rows_in_all(self) -> int:
        return sum(self.rows.values()) + 1


@dataclass(frozen=True)
class SyntheticRuns:
    """The directories of the runs, in order, and their number of rows, by table and in all."""

    runs: tuple[Path, ...]
    segments: int
    rows: Mapping[str, int]

    @property
    def rows_in_all(self) -> int:
        return sum(self.rows.values())


def segments_for(rows: int, shape: SegmentSize) -> int:
    """Return the number of segments with at least this many rows."""
    return max(1, -(-rows // shape.rows_in_all))


def make_runs(spark: SparkSession, directory: Path, rows: int, shape: SegmentSize, report: Report) -> SyntheticRuns:
    """Make runs with at least this many samples below a directory that does not exist yet."""
    count = segments_for(rows, shape)
    runs = tuple(directory / _run_name(number) for number in range(-(-count // SEGMENTS_OF_RUN)))
    for segment in range(count):
        _segment_directory(runs, segment).mkdir(parents=True)
    scratch = directory / ".written"
    for name, each in shape.rows.items():
        report(f"making {count * each:,} rows of {name}")
        _written(spark, samples.TABLES[name], count, shape).write.parquet(str((scratch / name).absolute()))
        _moved(scratch / name, name, runs, count)
    shutil.rmtree(scratch)
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        # Checksums need no interpreter lock.
        list(pool.map(lambda segment: _completed(_segment_directory(runs, segment), segment, shape), range(count)))
    for number, run in enumerate(runs):
        write_manifest(run, _manifest(number, min(SEGMENTS_OF_RUN, count - number * SEGMENTS_OF_RUN)))
    return SyntheticRuns(runs, count, {**{name: count * each for name, each in shape.rows.items()}, "phase": count})


# -- names -------------------------------------------------------------------------------------------------------------


def _run_name(number: int) -> str:
    return f"synthetic-{number:06}"


def _key(segment: int) -> tuple[str, str, int, int, str]:
    """Return run, contestant, step, repetition and phase of a segment, as `_key_columns` does for Spark."""
    run, within = divmod(segment, SEGMENTS_OF_RUN)
    step, rest = divmod(within, len(CONTESTANTS) * REPETITIONS)
    repetition, contestant = divmod(rest, len(CONTESTANTS))
    return _run_name(run), CONTESTANTS[contestant], step, repetition, MEASURED


def _segment_directory(runs: Sequence[Path], segment: int) -> Path:
    run, within = divmod(segment, SEGMENTS_OF_RUN)
    return runs[run] / SEGMENTS / f"{within:06}"


def _manifest(number: int, segments: int) -> Manifest:
    keys = [_key(segment) for segment in range(segments)]
    contestants = [
        {"name": name, "kind": kind, "promise": "none", "version": "synthetic"}
        for name, kind in zip(CONTESTANTS, ("ostler", "peer"), strict=True)
    ]
    began = _BEGAN + timedelta(hours=number)
    return Manifest(
        _run_name(number),
        SCENARIO,
        began.isoformat(),
        {"machine": {"processor": "none: synthetic samples", "cores": 2}, **describe_contestants(contestants)},
        ("ostler", "lab", "run", "spark-steps"),
        points=tuple(PlannedPoint(contestant, step, repetition) for _, contestant, step, repetition, _ in keys),
        state=RunState.COMPLETE,
        ended=(began + timedelta(hours=1)).isoformat(),
    )


# -- rows --------------------------------------------------------------------------------------------------------------


def _written(spark: SparkSession, table: samples.SampleTable, segments: int, shape: SegmentSize) -> DataFrame:
    """Return the rows of a table in all segments, a partition for each segment."""
    rows = shape.rows[table.name]
    number = F.col("id")
    segment = _whole(number / rows)
    at = number - segment * rows
    made = {**_key_columns(segment), **_OWN[table.name](at, segment, shape)}
    return spark.range(0, segments * rows, 1, segments).select([_column(each, made) for each in table.columns])


def _column(column: samples.SampleColumn, made: Mapping[str, Column]) -> Column:
    """Return a column with the type and nullability of the laboratory's files."""
    kind, nothing = _KINDS[column.kind]
    found = made.get(column.name, F.lit(nothing)).cast(kind)
    # True for all rows, which Spark cannot infer: so the column is nullable.
    is_there = F.col("id") >= 0
    found = F.when(is_there, found) if column.optional else F.coalesce(found, F.lit(nothing).cast(kind))
    return found.alias(column.name)


_KINDS: Final[Mapping[samples.ColumnKind, tuple[str, object]]] = {
    samples.ColumnKind.TEXT: ("string", ""),
    samples.ColumnKind.INTEGER: ("int", 0),
    samples.ColumnKind.LONG: ("bigint", 0),
    samples.ColumnKind.REAL: ("double", 0.0),
}


def _whole(number: Column) -> Column:
    return F.floor(number).cast("bigint")


def _key_columns(segment: Column) -> dict[str, Column]:
    contestants, pairs = len(CONTESTANTS), len(CONTESTANTS) * REPETITIONS
    within = segment % SEGMENTS_OF_RUN
    return {
        "run": F.concat(F.lit("synthetic-"), F.lpad(_whole(segment / SEGMENTS_OF_RUN).cast("string"), 6, "0")),
        "contestant": F.when(segment % contestants == 0, CONTESTANTS[0]).otherwise(CONTESTANTS[1]),
        "step": _whole(within / pairs),
        "repetition": _whole((within % pairs) / contestants),
        "phase": F.lit(MEASURED),
    }


def _pair(at: Column, shape: SegmentSize) -> tuple[Column, Column, Column]:
    """Return worker, second, and the first bucket of its histogram."""
    worker, second = _whole(at / shape.seconds), at % shape.seconds
    return worker, second, _FIRST_BUCKET + (worker * 31 + second * 17) % _FIRST_BUCKETS


def _bucket(first: Column, directory: Column, shape: SegmentSize) -> Column:
    """Return adjacent buckets, and a tail of some that are further apart."""
    return first + directory + F.greatest(directory - (shape.buckets - _TAIL), F.lit(0)) * _TAIL_STRIDE


def _latency(at: Column, segment: Column, shape: SegmentSize) -> dict[str, Column]:
    worker, second, first = _pair(_whole(at / shape.buckets), shape)
    directory = at % shape.buckets
    return {
        "worker": worker,
        "second": second,
        "operation": F.lit(OPERATION),
        "bucket": _bucket(first, directory, shape),
        "count": 1 + (directory * 7 + worker + second) % _COUNTS,
    }


def _operation(at: Column, segment: Column, shape: SegmentSize) -> dict[str, Column]:
    worker, second, first = _pair(at, shape)
    count = shape.buckets // _COUNTS * sum(range(1, _COUNTS + 1))
    lowest = lowest_of(first)
    highest = lowest_of(_bucket(first, F.lit(shape.buckets - 1), shape))
    return {
        "worker": worker,
        "second": second,
        "operation": F.lit(OPERATION),
        "count": F.lit(count),
        "lowest_ns": lowest,
        "highest_ns": highest,
        "total_ns": _whole((lowest + highest) / 2) * count,
    }


def _figures(names: Sequence[str], at: Column) -> dict[str, Column]:
    """Return numbers that vary a little, each in its own way."""
    return {name: 1000 * (directory + 1) + at * (directory + 3) % 997 for directory, name in enumerate(names)}


def _process(at: Column, segment: Column, shape: SegmentSize) -> dict[str, Column]:
    which = at % shape.processes
    is_ours = segment % len(CONTESTANTS) == 0
    broker = F.when(is_ours, "queue-manager").otherwise("peer")
    return {
        **_figures(("user_us", "system_us", "resident_bytes", "threads", "written_bytes", "write_calls"), at),
        "second": _whole(at / shape.processes),
        "role": F.when(which == 0, broker).otherwise("driver"),
        "pid": 1000 + which,
        "name": F.lit("synthetic"),
        "interval_us": F.lit(1_000_000),
    }


def _thread(at: Column, segment: Column, shape: SegmentSize) -> dict[str, Column]:
    which = at % shape.threads
    return {
        **_figures(("user_us", "system_us"), at),
        "second": _whole(at / shape.threads),
        "role": F.when(segment % len(CONTESTANTS) == 0, "queue-manager").otherwise("peer"),
        "pid": F.lit(1000),
        "thread": 1000 + which,
        "name": F.when(which == 0, "ostler-log").otherwise("synthetic"),
        "interval_us": F.lit(1_000_000),
    }


def _machine(at: Column, segment: Column, shape: SegmentSize) -> dict[str, Column]:
    named = [each.name for each in samples.MACHINE.columns if each.kind is samples.ColumnKind.LONG]
    return {
        **_figures(named, at),
        "second": at,
        "cores": F.lit(2),
        "interval_us": F.lit(1_000_000),
        "busiest_core_percent": F.lit(97.0),
        "load": F.lit(2.0),
        "running": F.lit(3),
        "disk": F.lit("synthetic"),
    }


def _statistic(at: Column, segment: Column, shape: SegmentSize) -> dict[str, Column]:
    """Return growing counters of the log, and metrics of queues."""
    which, second = at % shape.statistics, _whole(at / shape.statistics)
    is_log = which < 2
    return {
        "second": second,
        "source": F.when(is_log, "log").otherwise("statistics"),
        "object": F.when(is_log, "").otherwise(F.concat(F.lit("QUEUE."), _whole(which / 10).cast("string"))),
        "name": F.when(which == 0, "written_bytes")
        .when(which == 1, "forces")
        .otherwise(F.concat(F.lit("figure "), which)),
        "value": (second + 1) * (which + 1) * 100,
    }


_OWN: Final[Mapping[str, Callable[[Column, Column, SegmentSize], dict[str, Column]]]] = {
    "latency": _latency,
    "operation": _operation,
    "process": _process,
    "thread": _thread,
    "machine": _machine,
    "statistic": _statistic,
}


# -- files -------------------------------------------------------------------------------------------------------------


def _moved(written: Path, table: str, runs: Sequence[Path], segments: int) -> None:
    """Move each file that Spark has written to its segment: files are numbered as partitions are."""
    found = sorted(written.glob("part-*.parquet"))
    assert len(found) == segments, f"{len(found)} files of {table} for {segments} segments"
    for segment, path in enumerate(found):
        os.rename(path, _segment_directory(runs, segment) / f"{table}.parquet")


def _completed(directory: Path, segment: int, shape: SegmentSize) -> None:
    """Complete a segment with the row of its phase and its note."""
    key = _key(segment)
    began = _BEGAN + timedelta(minutes=segment)
    phase = PhaseRow(SCENARIO, began, float(shape.seconds), 2 ** key[2], 2048, False, None, {"operation": OPERATION})
    with open(directory / "phase.parquet", "wb") as file:
        parquet = TableFile(samples.PHASE, key, file)
        parquet.append([phase])
        parquet.close()
    note = SegmentNote(*key, files=tuple(_stored(directory, shape)))
    (directory / SEGMENT).write_text(json.dumps(asdict(note), indent=1) + "\n", encoding="utf-8")


def _stored(directory: Path, shape: SegmentSize) -> Iterator[StoredFile]:
    for name, rows in {**shape.rows, "phase": 1}.items():
        path = directory / f"{name}.parquet"
        yield StoredFile(name, rows, path.stat().st_size, crc32_of(path))
