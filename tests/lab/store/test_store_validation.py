"""Broken samples are told with the segment and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.lab.store.store_samples import PHASE, manifest, measure, samples

from ostler.lab.store.histogram import BUCKETS
from ostler.lab.store.manifest import PlannedPoint, RunState, RunUnreadable, read_manifest, write_manifest
from ostler.lab.store.rows import EventRow, LatencyRow, OperationRow, ProcessRow, Row, StatisticRow
from ostler.lab.store.run_reader import RunCondition, read_run
from ostler.lab.store.run_writer import RunWriter
from ostler.lab.store.segments import MEASURED, SEGMENT, crc32_of
from ostler.lab.store.validation import validate

FIRST = PlannedPoint("ostler", 0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with the two phases of one point: segments 000000 and 000001."""
    with RunWriter.create(tmp_path, manifest(points=1)) as written:
        measure(written, FIRST)
    return written.directory


def written_with(runs: Path, rows: list[Row]) -> Path:
    with RunWriter.create(runs, manifest(points=1)) as run:
        segment = run.begin(FIRST, MEASURED)
        segment.add(rows)
        segment.commit(PHASE)
    return run.directory


def told(directory: Path) -> list[tuple[str, str]]:
    return [(problem.rule, problem.text) for problem in validate(read_run(directory))]


ONE = OperationRow(0, 0, "MQPUT", 1, 0, 0, 50, 50, 50)
HIT = LatencyRow(0, 0, "MQPUT", 50, 1)
STATISTIC = StatisticRow(0, "statistics", 0, "", "MQIStatistics.ConnCount", 0, 1.0)
PROCESS = next(row for row in samples() if isinstance(row, ProcessRow))


@pytest.mark.parametrize(
    ("rows", "rule", "text"),
    [
        ([ONE], "total", "worker 0, second 0, MQPUT: 1 operations, but 0 in the histogram"),
        ([HIT], "total", "worker 0, second 0, MQPUT: a histogram without a row in operation"),
        ([ONE._replace(count=2), HIT], "total", "worker 0, second 0, MQPUT: 2 operations, but 1 in the histogram"),
        ([ONE._replace(lowest_ns=49), HIT], "extremes", "not in the first and the last bucket"),
        ([ONE._replace(highest_ns=51), HIT], "extremes", "not in the first and the last bucket"),
        ([ONE._replace(lowest_ns=None), HIT], "extremes", "no lowest or no highest"),
        ([ONE._replace(count=0), HIT._replace(count=0)], "sparse", "latency.count is below 1"),
        ([ONE, HIT._replace(bucket=BUCKETS)], "bucket", f"not within 0 to {BUCKETS - 1} in row 0"),
        ([PROCESS, PROCESS._replace(user_us=-1)], "negative", "process.user_us is below 0 in row 1"),
        ([STATISTIC, STATISTIC._replace(value=2.0)], "unique", "record, object, name, position: 1 too many"),
        ([EventRow(-1, "note", "x", "x")], "negative", "event.second is below 0 in row 0"),
    ],
)
def test_samples_that_break_a_rule_are_told(tmp_path: Path, rows: list[Row], rule: str, text: str) -> None:
    found = told(written_with(tmp_path, rows))
    assert [each for each in found if each[0] == rule and text in each[1]], found


def test_unknown_figures_break_no_rule(tmp_path: Path) -> None:
    assert told(written_with(tmp_path, [ONE, HIT, PROCESS._replace(read_bytes=None)])) == []


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _spoil(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "text"),
    [
        (Path.unlink, "latency.parquet is missing"),
        (_cut, "latency.parquet is not the file that was written"),
        (_spoil, "latency.parquet is not the file that was written"),
    ],
)
def test_damaged_files_are_told_and_harm_no_other_segment(run: Path, harm: Callable[[Path], None], text: str) -> None:
    harm(run / "segments" / "000001" / "latency.parquet")
    problems = validate(read_run(run))
    assert {problem.segment for problem in problems} == {"000001"}
    assert text in problems[0].text
    assert str(problems[0]).startswith("segment 000001: ")


def test_a_cut_file_is_refused_by_name(run: Path) -> None:
    _cut(run / "segments" / "000001" / "latency.parquet")
    with pytest.raises(RunUnreadable, match=r"latency\.parquet cannot be read.*Resume or repeat"):
        read_run(run).table("latency")


def _put_in_place(run: Path, table: str, content: pa.Table) -> None:
    """Have a segment hold another table, and say so."""
    place = run / "segments" / "000001"
    path = place / f"{table}.parquet"
    pq.write_table(content, path)
    note = json.loads((place / SEGMENT).read_text())
    for stored in note["files"]:
        if stored["table"] == table:
            stored.update(bytes=path.stat().st_size, crc32=crc32_of(path))
    (place / SEGMENT).write_text(json.dumps(note))


def test_other_columns_are_refused(run: Path) -> None:
    _put_in_place(run, "event", pa.table({"a": [1]}))
    assert ("columns", "event.parquet does not have the columns of its table") in told(run)
    with pytest.raises(RunUnreadable, match="does not have the columns"):
        read_run(run).table("event")


def test_rows_of_another_phase_are_told(run: Path) -> None:
    other = pq.ParquetFile(run / "segments" / "000000" / "event.parquet").read()
    _put_in_place(run, "event", other)
    assert ("key", "event has rows whose phase is not measured") in told(run)


def test_lost_rows_are_told(run: Path) -> None:
    some = pq.ParquetFile(run / "segments" / "000001" / "latency.parquet").read()
    _put_in_place(run, "latency", some.slice(1))
    assert "latency.parquet has" in dict(told(run))["rows"]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"files": [], "hue": 1}'])
def test_a_segment_without_a_note_is_left_out(run: Path, text: str) -> None:
    (run / "segments" / "000001" / SEGMENT).write_text(text)
    found = read_run(run)
    assert [key.phase for key in found.keys] == ["warm-up"]
    assert [(problem.segment, problem.rule) for problem in validate(found)] == [("000001", "segment")]
    assert found.remaining() != [], "its point can be measured again"
    with RunWriter.resume(run) as again:
        assert FIRST in again.remaining()
    assert told(run) == []


def test_a_segment_of_another_run_is_left_out(run: Path) -> None:
    note = json.loads((run / "segments" / "000001" / SEGMENT).read_text())
    (run / "segments" / "000001" / SEGMENT).write_text(json.dumps({**note, "run": "other"}))
    assert told(run) == [("segment", "it is of another run, other")]


def test_the_same_phase_twice_is_told(run: Path) -> None:
    (run / "segments" / "000001").rename(run / "segments" / "000009")
    place = run / "segments" / "000001"
    place.mkdir()
    for path in (run / "segments" / "000009").iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    assert told(run) == [("once", "the same phase as segment 000001")]


def test_a_run_that_wrongly_says_it_is_complete_is_told(run: Path) -> None:
    write_manifest(run, replace(read_manifest(run), state=RunState.COMPLETE))
    assert read_run(run).condition == RunCondition.COMPLETE
    assert told(run) == [("complete", "the run says that it is complete, but 1 points are missing")]
