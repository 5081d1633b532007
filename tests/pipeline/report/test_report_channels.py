"""Message channels in the report: rates by channels and distance in one picture, and whose processor time it is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pipeline.report.report_samples import Rows, point, row, sample_tables

from ostler.lab.families.channels import drain as channel_drain
from ostler.pipeline.report.channel_figures import DRAIN, DRAINED, channel_figures
from ostler.pipeline.report.charts.charts import BarChart, LineChart
from ostler.pipeline.report.context import make_context
from ostler.pipeline.report.html.document import Block, ReportFigure
from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER

RUN = "run-1"
APART = {"near_cpu_us": 30.0, "far_cpu_us": 20.0, "near_log_cpu_us": 4.0, "log_cpu_us": 4.0, "broker_cpu_us": 50.0}


def figures_of(scenario: str, points: list[dict[str, Any]]) -> tuple[list[ReportFigure], list[ReportFigure]]:
    """Points as a contestant, a series and more: figures of rates, and of times."""
    rows: Rows = {"run": [row("run", run=RUN, scenario=scenario, condition="complete")], "point": []}
    for step, each in enumerate(points):
        values = {"contestant": "Ostler", "kind": "ostler", "clients": 50, "step": step, **each}
        rows["point"].append(point(RUN, scenario, values.pop("contestant"), values.pop("kind"), **values))
    rates, times = channel_figures(make_context(sample_tables(rows)), scenario, RUN)
    return only_figures(rates), only_figures(times)


def only_figures(blocks: list[Block]) -> list[ReportFigure]:
    assert all(isinstance(each, ReportFigure) for each in blocks)
    return [each for each in blocks if isinstance(each, ReportFigure)]


def lines_of(figure: ReportFigure) -> list[LineChart]:
    return [each for each in figure.charts if isinstance(each, LineChart)]


def bars_of(figure: ReportFigure) -> list[BarChart]:
    return [each for each in figure.charts if isinstance(each, BarChart)]


def test_plain_and_encrypted_channels_are_lines_of_one_chart_beside_one_queue_manager() -> None:
    points = [
        {"series": f"channels={channels}, cipher_spec={cipher}", "rate": 100.0 * channels}
        for cipher in ("none", "ECDHE_RSA_AES_256_GCM_SHA384")
        for channels in (1, 4, 10)
    ]
    points.append({"series": "channels=1, cipher_spec=none", "contestant": ONE_QUEUE_MANAGER, "rate": 2000.0})
    points.append({"series": "channels=1, cipher_spec=none", "contestant": "bare ping-pong", "kind": "limit"})
    (figure,), _ = figures_of("dq-channels", points)
    (chart,) = lines_of(figure)
    assert [line.name for line in chart.lines] == ["plain", "TLS", "one queue manager"]
    assert [(dot.x, dot.y) for dot in chart.lines[0].dots] == [(1.0, 100.0), (4.0, 400.0), (10.0, 1000.0)]
    assert [line.is_flat for line in chart.lines] == [False, False, True]
    assert not chart.curves
    assert "the same load without them" in str(figure.note)


def test_channels_that_bring_clients_of_their_own_are_counted_all_the_same() -> None:
    points = [
        {"series": "cipher_spec=none", "parameters": [("channels each way", str(each))], "clients": 4 * each}
        for each in (1, 10)
    ]
    (figure,), _ = figures_of("dq-one-way", [{**each, "operation": "get"} for each in points])
    (chart,) = lines_of(figure)
    assert [dot.x for dot in chart.lines[0].dots] == [1.0, 10.0]
    assert chart.up.label == "messages a second"


def test_a_distance_has_the_line_of_one_batch_in_a_round_trip() -> None:
    points = [
        {"series": f"batch_size={size}, messages=persistent, round_trip_ms={trip}", "rate": 4000.0}
        for size in (10, 50)
        for trip in (0, 1, 10, 50)
    ]
    (figure,), _ = figures_of("dq-distance", [{**each, "operation": "get", "persistent": True} for each in points])
    (chart,) = lines_of(figure)
    assert chart.across.is_even
    assert [line.name for line in chart.lines] == ["batches of 10", "batches of 50"]
    few, many = chart.curves
    assert (few.name, many.name) == ("one batch of 10 in a trip", "one batch of 50 in a trip")
    # Each begins where it comes into the chart, and ends with the longest distance.
    assert few.points[0] == pytest.approx((2.5, 4000.0))
    assert few.points[-1] == pytest.approx((50.0, 200.0))
    assert many.points[-1] == pytest.approx((50.0, 1000.0))


def test_one_queue_manager_and_peers_differ_by_load_only() -> None:
    kinds = ("persistent", "nonpersistent, NORMAL", "nonpersistent, FAST")
    points = [
        {"series": f"batch_size={size}, messages={kind}", "persistent": kind == kinds[0]}
        for kind in kinds
        for size in (1, 50)
    ]
    points += [
        {"series": f"batch_size=1, messages={kind}", "contestant": ONE_QUEUE_MANAGER, "rate": rate, "persistent": kept}
        for kind, rate, kept in zip(kinds, (700.0, 900.0), (True, False), strict=False)
    ]
    points.append({"series": f"batch_size=50, messages={kinds[2]}", "contestant": "RabbitMQ, shovel", "kind": "peer"})
    (figure,), _ = figures_of("dq-batches", points)
    kept, lost = lines_of(figure)
    assert (kept.title, lost.title) == ("2 KB, persistent", "2 KB, nonpersistent")
    assert [line.name for line in kept.lines] == ["Ostler", "one queue manager"]
    names = [line.name for line in lost.lines]
    assert names == ["NPMSPEED NORMAL", "NPMSPEED FAST", "one queue manager", "RabbitMQ, shovel"]
    assert (kept.lines[1].dots[0].y, lost.lines[2].dots[0].y) == (700.0, 900.0)


def test_messages_that_go_ahead_of_batches_have_no_such_line() -> None:
    points = [
        {"series": f"batch_size=10, messages=nonpersistent, FAST, round_trip_ms={each}", "operation": "get"}
        for each in (0, 10)
    ]
    (figure,), _ = figures_of("dq-distance", points)
    (chart,) = lines_of(figure)
    assert chart.title == "2 KB, nonpersistent, batches of 10, FAST"
    assert not chart.curves


def test_a_drain_is_told_in_messages() -> None:
    assert (DRAIN, DRAINED) == (channel_drain.DRAIN, channel_drain.DRAINED)
    points = [
        {"series": f"batches_of=50, distance_ms={each}", "operation": DRAIN, "mean_ns": 1e9,
         "parameters": [(DRAINED, "5000")], "persistent": True}
        for each in (0, 10)
    ]  # fmt: skip
    (figure,), times = figures_of("dq-drain", points)
    (chart,) = lines_of(figure)
    assert [dot.y for dot in chart.lines[0].dots] == [5000.0, 5000.0]
    assert not times


def test_processor_time_is_that_of_both_ends_their_logs_and_the_driver() -> None:
    points: list[dict[str, Any]] = [
        {"clients": each, "rate": float(each), "driver_cpu_us": 9.0, **APART} for each in (1, 7)
    ]
    points += [
        {"clients": each, "contestant": ONE_QUEUE_MANAGER, "rate": float(each), "broker_cpu_us": 25.0}
        for each in (1, 7)
    ]
    rates, (figure,) = figures_of("dq-rr-np", points)
    assert not rates
    (chart,) = bars_of(figure)
    assert [bar.label for bar in chart.bars] == ["Ostler, 1 client", "Ostler, 7 clients", ONE_QUEUE_MANAGER]
    parts = {part.name: part.value for part in chart.bars[0].parts}
    assert parts == {"near": 26.0, "near log": 4.0, "far": 20.0, "driver": 9.0}
    assert chart.bars[0].text == "59.0 µs"
    assert [part.name for part in chart.bars[2].parts] == ["queue manager"]


def test_runs_that_did_not_tell_ends_apart_have_both_in_one() -> None:
    _, (figure,) = figures_of("dq-rr-np", [{"broker_cpu_us": 50.0, "log_cpu_us": 8.0}])
    (chart,) = bars_of(figure)
    assert {part.name: part.value for part in chart.bars[0].parts} == {"both ends": 42.0, "log of both ends": 8.0}
