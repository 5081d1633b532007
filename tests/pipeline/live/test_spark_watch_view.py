"""The view of somebody who watches: a small table in its place, or lines. It needs no Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ostler.cli.pipeline.watch_view import WatchView, table_lines
from ostler.pipeline.lake.arrow_schemas import arrow_schema
from ostler.pipeline.lake.lake import LakeSnapshot
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.live_tables import ACCOUNT, ACTIVITY
from ostler.pipeline.lake.tables import LakeTable
from ostler.pipeline.live.watch import BatchSummary

RUN = "live-QM1-20261116T08Z"
BEGAN = datetime(2026, 11, 16, 8, 43, tzinfo=UTC)


def row(table: LakeTable, **given: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"string": "", "timestamp": BEGAN, "int": 0, "double": 5.0}
    found = {each.name: None if each.optional else usual.get(each.type) for each in table.columns}
    return {**found, "ended": BEGAN + timedelta(seconds=5), "queue_manager": "QM1", **given}


def lake_of(root: Path, **rows: list[dict[str, Any]]) -> LakeSnapshot:
    with LakeChange(root) as change:
        for table in (ACTIVITY, ACCOUNT):
            place = change.directory(table) / f"run={RUN}"
            place.mkdir(parents=True)
            schema = arrow_schema(table)
            stored = pa.Table.from_pylist(rows.get(table.name, []), schema=schema).drop_columns(["run"])
            pq.write_table(stored, place / "rows.parquet")
            change.put(table)
        return change.commit({})


def queue(name: str, puts: int, **more: Any) -> dict[str, Any]:
    return row(ACTIVITY, scope="queue", object=name, puts=puts, gets=puts, put_bytes=puts * 100, get_bytes=0, **more)


def test_the_last_interval_is_shown(tmp_path: Path) -> None:
    lake = lake_of(
        tmp_path,
        activity=[
            row(ACTIVITY, scope="queue manager", puts=385, gets=50, commits=7, cpu_us=500_000, log_bytes=10**7),
            queue("QUIET", 5, depth_max=3),
            queue("BUSY", 80_000, time_on_queue_us=2500.0),
            queue("BUSY", 1, ended=BEGAN),
            queue("SYSTEM.ADMIN.ACCOUNTING.QUEUE", 900),
        ],
        account=[row(ACCOUNT, application="till", puts=4, gets=0, time_us=900), row(ACCOUNT, queue="BUSY", puts=4)],
    )
    assert [" ".join(line.split()) for line in table_lines(lake, 1)] == [
        "",
        "QM1, 08:43:00 to 08:43:05 UTC: 77 puts/s, 10 gets/s, 1.4 commits/s, 0 connections, processor 10 %, "
        "log 2.0MB/s",
        "",
        "queue to puts/s gets/s bytes/s depth waited",
        "BUSY 08:43:05 16.0k 16.0k 1.6M 0 2.5 ms",
        "and 1 more",
        "",
        "application, since 08:00 accounts puts gets took",
        "till 1 4 0 900 us",
    ]


def test_nothing_was_told_yet(tmp_path: Path) -> None:
    assert table_lines(lake_of(tmp_path), 5) == []


def test_the_table_is_drawn_in_its_place_and_sentences_stay(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, activity=[queue("Q", 5)])
    out = StringIO()
    view = WatchView(out, 5, is_drawn=True)
    view.show(BatchSummary(1, 0, 0, 1, 0, lake))
    drawn = out.getvalue()
    lines = drawn.count("\n")
    view.message("QM1 is there again.")
    again = out.getvalue()[len(drawn) :]
    assert again.startswith(f"\x1b[{lines}F\x1b[J")
    assert again.count("\n") == lines + 1
    assert again.endswith(drawn)


def test_lines_without_a_terminal(tmp_path: Path) -> None:
    out = StringIO()
    WatchView(out, 5, is_drawn=False).show(BatchSummary(2, 3, 1, 9, 0, lake_of(tmp_path)))
    expected = "2 messages of statistics, 3 of accounting, 1 that are not records: 9 records, version 1.\n"
    assert out.getvalue().partition(" ")[2] == expected
