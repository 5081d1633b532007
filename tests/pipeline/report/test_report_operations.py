"""Sections of scenarios that are no plain curves: all operations, figures without rates, limits told once."""

from __future__ import annotations

from typing import Any

from tests.pipeline.report.report_samples import BEGAN, NEW, Rows, point, row, sample_rows, sample_tables

from ostler.lab.scenarios.as_json import plain
from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report.build import sections
from ostler.pipeline.report.charts.charts import LineChart
from ostler.pipeline.report.context import make_context
from ostler.pipeline.report.html.document import Block, Bullets, Fold, Paragraph, ReportFigure, ReportTable, Section
from ostler.pipeline.report.topologies import topology_of


def _found(section: Section, anchor: str) -> Section | None:
    if section.anchor == anchor:
        return section
    return next((found for each in section.sections if (found := _found(each, anchor)) is not None), None)


def _section(rows: Rows, anchor: str) -> Section:
    made = sections(make_context(sample_tables(rows)))
    return next(found for each in made if (found := _found(each, anchor)) is not None)


def _blocks(section: Section) -> list[Block]:
    found: list[Block] = []
    for block in section.blocks:
        found += block.blocks if isinstance(block, Fold) else [block]
    return found


def _table(section: Section, caption: str) -> list[list[str]]:
    (found,) = [each for each in _blocks(section) if isinstance(each, ReportTable) and each.caption.startswith(caption)]
    return [[str(cell.text) for cell in cells] for cells in found.rows]


def _idle_run() -> dict[str, Any]:
    values = {"condition": "complete", "command": "ostler lab run", "began": BEGAN, "ended": BEGAN, "environment": "{}"}
    return row("run", run="idle-1", scenario="zos-storage-unit-of-work", **values)


def test_both_response_times_of_a_rated_run_stand_side_by_side() -> None:
    rows = sample_rows()
    beside = [
        each | {"operation": "round trip since due", "is_main": False, "mean_ns": 5e6}
        for each in rows["point"]
        if each["run"] == NEW and each["contestant"] == "Ostler"
    ]
    rows["point"] += beside
    found = _table(_section(rows, "scenario-local-rr-np"), "Operations of")
    assert [cells[2] for cells in found if cells[:2] == ["Ostler", "1"]] == ["round trip", "round trip since due"]
    assert [cells[4] for cells in found if cells[:2] == ["Ostler", "1"]] == ["1.00", "5.00"]
    assert not any(cells[0] == "bare ping-pong" for cells in found)


def test_a_scenario_with_one_operation_has_no_table_of_operations() -> None:
    blocks = _blocks(_section(sample_rows(), "scenario-local-rr-np"))
    assert not any(isinstance(each, ReportTable) and each.caption.startswith("Operations") for each in blocks)


def test_a_run_with_results_and_no_operation_has_its_section() -> None:
    rows = sample_rows()
    rows["run"].append(_idle_run())
    rows["result"] += [
        row("result", run="idle-1", scenario="zos-storage-unit-of-work", contestant="Ostler", step=step, value=value,
            name="memory per uncommitted message, bytes", series=f"message_bytes=1024, unit_messages={messages}")
        for step, messages, value in ((0, 1, 7509.0), (1, 100, 887.0))
    ]  # fmt: skip
    found = _table(_section(rows, "scenario-zos-storage-unit-of-work"), "Other figures")
    assert [cells[0].split(", ")[-1] for cells in found] == ["unit messages 1", "unit messages 100"]
    assert [cells[4] for cells in found] == ["7,510", "887"]
    highlights = _section(rows, "highlights")
    assert not any("without a measured point" in str(each) for each in highlights.blocks)


def test_operations_of_idle_queue_managers_have_no_rate() -> None:
    rows = sample_rows()
    scenario = "zos-storage-open-objects"
    rows["run"].append(_idle_run() | {"scenario": scenario})
    for step, opened in enumerate((3, 32)):
        series = f"connection=local, open_objects={opened}"
        rows["point"].append(
            point("idle-1", scenario, "Ostler", "ostler", operation="connect", series=series, rate=500.0, clients=500,
                  step=step, message_bytes=0)
        )  # fmt: skip
        rows["peak"].append(
            row("peak", run="idle-1", scenario=scenario, contestant="Ostler", kind="ostler", series=series,
                peak_rate=500.0, peak_clients=500)
        )  # fmt: skip
        rows["result"].append(
            row("result", run="idle-1", scenario=scenario, contestant="Ostler", step=step,
                name="connections per second", value=2995.0, series=series)
        )  # fmt: skip
    section = _section(rows, f"scenario-{scenario}")
    charts = [chart for each in _blocks(section) if isinstance(each, ReportFigure) for chart in each.charts]
    assert "Rate" not in [chart.title for chart in charts if isinstance(chart, LineChart)]
    peaks = _table(_section(rows, "peaks"), "Peaks of all scenarios")
    assert scenario not in [cells[0] for cells in peaks]
    connecting = _table(_section(rows, "scaling-connections"), "Connecting")
    assert {cells[3] for cells in connecting if "500" in cells[2]} == {"3,000"}, "not as many as there are clients"


def _limits(rows: Rows) -> tuple[list[str], list[str]]:
    """The sentences of the charts of rates, and what is said of limits below them."""
    blocks = _blocks(_section(rows, "scenario-local-rr-np"))
    charts = [chart for each in blocks if isinstance(each, ReportFigure) for chart in each.charts]
    sentences = [chart.sentence for chart in charts if isinstance(chart, LineChart) and chart.title == "Rate"]
    for number, block in enumerate(blocks):
        if isinstance(block, Paragraph) and str(block.text).startswith("What limited"):
            items = blocks[number + 1]
            assert isinstance(items, Bullets)
            return sentences, [str(block.text), *map(str, items.items)]
    return sentences, []


def test_the_limit_of_a_curve_is_told_once() -> None:
    rows = sample_rows()
    for each in rows["scaling"]:
        each["why"] = f"{each['contestant']} used 99% of both cores"
    sentences, below = _limits(rows)
    assert any("Ostler used 99" in each for each in sentences)
    assert below[0] == "What limited each other curve at its peak:"
    assert not any("Ostler used 99" in each for each in below)
    assert any("RabbitMQ used 99" in each for each in below)


def test_connections_of_several_queue_managers_are_summed_by_queue_manager() -> None:
    rows = sample_rows()
    one = rows["cost"][0] | {"scope": "connection", "verb": "get", "bytes": None}
    for manager in ("LAB0", "LAB1"):
        for number in (1, 2):
            rows["cost"].append(one | {"object": f"{manager}/{number:048x}", "count": 100.0})
    found = _table(_section(rows, "costs-verbs"), "Records of")
    shown = {cells[0] if len(cells[0]) > 20 else cells[1] for cells in found}
    assert {"connection LAB0/local, all together", "connection LAB1/local, all together"} <= shown


def test_a_triggered_application_is_in_the_drawing() -> None:
    drawing = topology_of(plain(catalogue().find("triggered-sessions")))
    assert drawing is not None
    assert [box.title for box in drawing.boxes] == ["Requesters", "Queue manager", "Application"]


def test_what_is_not_printed_is_named_as_such() -> None:
    rows = sample_rows()
    made = sections(make_context(sample_tables(rows)))
    folded = {
        each.anchor
        for section in made
        for inner in (section, *section.sections)
        for block in inner.blocks
        if isinstance(block, Fold) and not block.is_printed
        for each in block.blocks
        if isinstance(each, ReportTable)
    }
    assert folded
    (listed,) = [
        each for section in made for each in section.blocks
        if isinstance(each, ReportTable) and each.caption == "Where each figure comes from"
    ]  # fmt: skip
    marked = {cells[0].text[0].anchor for cells in listed.rows if str(cells[1].text).endswith("(on the page only)")}  # type: ignore[attr-defined, union-attr]
    assert marked == folded
