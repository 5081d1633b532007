"""Measured windows over time, and the disk for each operation."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.pipeline.report.report_samples import NEW, Rows, row, sample_rows, sample_tables

from ostler.pipeline.report.build import render
from ostler.pipeline.report.charts.panels import Panel, panels
from ostler.pipeline.report.context import make_context
from ostler.pipeline.report.rows import PointRow
from ostler.pipeline.report.time_figures import time_figure


def _second(contestant: str, kind: str, second: int, **more: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "run": NEW, "scenario": "local-rr-np", "contestant": contestant, "kind": kind, "step": 2, "repetition": 1,
        "second": second, "seconds": 1.0, "operation": "round trip", "rate": 4000.0 + second, "mean_ns": 2e6,
        "p99_ns": 9_000_000, "broker_core_percent": 80.0, "machine_busy_percent": 90.0,
    }  # fmt: skip
    return row("second", **(values | more))


def _rows(seconds: int = 10) -> Rows:
    rows = sample_rows()
    for contestant, kind in (("Ostler", "ostler"), ("RabbitMQ", "peer"), ("bare ping-pong", "limit")):
        rows["second"] += [_second(contestant, kind, at) for at in range(seconds)]
    # Of another repetition: not the one with the median rate.
    rows["second"] += [_second("Ostler", "ostler", at, repetition=0, rate=1.0) for at in range(seconds)]
    return rows


def test_the_window_of_the_busiest_step_is_shown_over_time() -> None:
    context = make_context(sample_tables(_rows()))
    figure = time_figure(context, "local-rr-np", NEW)
    assert figure is not None
    assert "over time, Ostler with 16 clients" in figure.caption
    titles = [chart.title for chart in figure.charts]
    assert titles == [
        "Rate over time", "Response time, mean", "Response time, 99th percentile", "Processor use of the broker",
        "Processors busy",
    ]  # fmt: skip
    rate = figure.charts[0]
    lines = {line.name: [dot.y for dot in line.dots] for line in getattr(rate, "lines", ())}
    assert lines == {name: [4000.0 + at for at in range(10)] for name in ("Ostler", "RabbitMQ")}


def test_disks_are_shown_where_they_were_written_to() -> None:
    rows = _rows()
    for each in rows["second"]:
        each |= {"disk_written_bytes": 3 * 1024 * 1024, "disk_busy_percent": 12.0}
    figure = time_figure(make_context(sample_tables(rows)), "local-rr-np", NEW)
    assert figure is not None
    written = next(chart for chart in figure.charts if chart.title == "Disk, written")
    assert {dot.y for line in getattr(written, "lines", ()) for dot in line.dots} == {3.0}


def test_short_windows_and_old_lakes_have_no_course() -> None:
    for rows in (_rows(4), sample_rows()):
        assert time_figure(make_context(sample_tables(rows)), "local-rr-np", NEW) is None


def test_the_page_has_the_course_with_its_scenario() -> None:
    page = render(sample_tables(_rows()))
    part = page.partition('id="scenario-local-rr-np"')[2].partition("</section>")[0]
    assert re.search(r"Figure \d+\.</b> [^<]*the measured window over time", part)


# -- disk --------------------------------------------------------------------------------------------------------------


def _point(**more: Any) -> PointRow:
    rows = sample_rows()
    rows["point"] = [rows["point"][0] | {"persistent": True, "count": 1000, "seconds": 10.0} | more]
    return sample_tables(rows).points[0]


def _panel(title: str) -> Panel:
    return next(each for each in panels("round trip") if each.title == title)


@pytest.mark.parametrize(
    ("title", "value"),
    [
        ("Disk, written", 4096.0),
        ("Disk, requests", 2.5),
        # A quarter of ten seconds, over a thousand operations.
        ("Disk, busy", 2500.0),
        ("Disk, time of a request", 150.0),
        ("Disk, queue", 1.5),
    ],
)
def test_the_disk_is_told_for_each_operation(title: str, value: float) -> None:
    known = {
        "disk_written_bytes": 4_096_000, "disk_reads": 500, "disk_writes": 1500, "disk_flushes": 500,
        "disk_busy_percent": 25.0, "disk_wait_us": 150.0, "disk_queue": 1.5,
    }  # fmt: skip
    panel = _panel(title)
    assert panel.value(_point(**known)) == value
    assert panel.value(_point(**known, persistent=False)) is None
    assert panel.value(_point()) is None
    assert panel.value(_point(**known, count=0)) is None or title in ("Disk, time of a request", "Disk, queue")


def test_mean_and_percentiles_of_response_times_have_a_chart_each() -> None:
    titles = [each.title for each in panels("round trip")]
    assert [each.partition(", ")[2] for each in titles if each.startswith("Response time")] == [
        "mean", "median", "90th percentile", "99th percentile",
    ]  # fmt: skip
