"""Things a reader would trip over: lists of all runs, rates that were asked for, charts of one dot, claims in noise."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pipeline.report.report_samples import OLD, Rows, point, row, sample_rows, sample_tables

from ostler.lab.scenarios.as_json import plain
from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report.build import Masthead, render, render_pages
from ostler.pipeline.report.charts.sentences import limit_sentence, trend_sentence
from ostler.pipeline.report.context import make_context
from ostler.pipeline.report.html.document import Hyperlink, NumberedReport
from ostler.pipeline.report.sections.results import result_figure
from ostler.pipeline.report.topologies import topology_of

RUN, STORAGE = "run-1", "zos-svrconn-footprint"


def text_of(words: tuple[object, ...]) -> str:
    return "".join(each.text if isinstance(each, Hyperlink) else str(each) for each in words)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ((1,), "R1"),
        ((1, 2, 3), "R1, R2, R3"),
        ((1, 2, 3, 4), "R1 to R4"),
        ((9, 2, 4, 3, 5, 1, 8), "R1 to R5, R8, R9"),
        ((1, 3, 5, 7), "R1, R3, R5, R7"),
    ],
)
def test_many_runs_in_a_row_are_named_by_their_ends(numbers: tuple[int, ...], told: str) -> None:
    report = NumberedReport({f"run-{each}": f"R{each}" for each in range(1, 10)})
    assert text_of(report.runs(f"run-{each}" for each in numbers)) == told


def test_nothing_stays_that_moves_by_more_than_a_little() -> None:
    def clients(value: float) -> str:
        return f"{value:.0f} clients"

    points = [(1.0, 3.0), (7.0, 14.0)]
    noisy = trend_sentence("Ostler", points, clients, "ms", 400.0)
    ends = "Ostler: 3.00 ms with 1 clients, 14.0 ms with 7 clients"
    assert noisy == f"{ends}; the noise of the run, 400 %, may explain the difference."
    steady = trend_sentence("Ostler", [(1.0, 10.0), (7.0, 11.0)], clients, "ms", 400.0)
    assert steady.startswith("Ostler stays at about 10.5 ms from")


def test_a_load_that_had_its_rate_has_no_limit() -> None:
    why = "the load asked for 800 a second and had them: no limit was reached"
    assert limit_sentence("unknown", why) == f"T{why[1:]}."
    assert limit_sentence("unknown", "nothing was full") == "No single limit was found: nothing was full."


def _rated(rows: Rows) -> Rows:
    """All points of the older run at a rate that was asked for."""
    for each in rows["point"]:
        if each["run"] == OLD and each["kind"] != "limit":
            each["asked_rate"] = 100.0
    return rows


def test_a_rate_that_was_asked_for_is_no_highlight() -> None:
    only = sample_rows()
    for table, found in only.items():
        only[table] = [each for each in found if each.get("run", OLD) == OLD]
    assert 'class="card"' in render(sample_tables(only))
    assert 'class="card"' not in render(sample_tables(_rated(only)))


def test_the_summary_says_nothing_of_rows_that_it_leaves_out() -> None:
    rows = sample_rows()
    for number in range(20):
        scenario = [name for name, each in catalogue().scenarios.items() if each.is_measured][number]
        rows["run"].append(rows["run"][0] | {"run": f"more-{number}", "scenario": scenario})
        rows["point"].append(point(f"more-{number}", scenario, "Ostler", "ostler"))
        known = {"run": f"more-{number}", "scenario": scenario, "contestant": "Ostler", "kind": "ostler"}
        peak = {"message_bytes": 2048, "series": "", "peak_rate": 9e6, "peak_clients": 1, "steps": 1, "repetitions": 1}
        rows["peak"].append(row("peak", **known, **peak))
    pages = render_pages(sample_tables(rows), Masthead())
    assert "Highest:" in pages.report
    assert "Some of them: the report has all." in pages.summary
    assert "Highest:" not in pages.summary


def _storage_rows(sizes: tuple[int, ...]) -> Rows:
    rows: Rows = {"run": [sample_rows()["run"][0] | {"run": RUN, "scenario": STORAGE}], "point": [], "result": []}
    for step, size in enumerate(sizes):
        for clients, contestant, kind in ((50, "Ostler", "ostler"), (500, "bare server", "limit")):
            series = f"message_bytes={size}, shared_conversations=1"
            more: dict[str, Any] = {"series": series, "message_bytes": size, "step": step, "clients": clients}
            rows["point"].append(point(RUN, STORAGE, contestant, kind, operation="connect", **more))
            for name, value in (("memory per channel, bytes", 5000.0 * (step + 1)), ("channels", 50.0)):
                known = {"run": RUN, "scenario": STORAGE, "contestant": contestant, "step": step, "series": series}
                rows["result"].append(row("result", **known, name=name, value=value))
    return rows


def test_results_of_idle_scenarios_are_drawn_where_they_differ() -> None:
    made = result_figure(make_context(sample_tables(_storage_rows((1024, 65536)))), STORAGE, RUN)
    assert made is not None
    (chart,) = made.charts
    assert chart.title == "Memory per channel, bytes"
    assert [each.label for each in chart.strips] == [  # type: ignore[union-attr]
        "1 KB, shared conversations 1",
        "64 KB, shared conversations 1",
    ]
    assert result_figure(make_context(sample_tables(_storage_rows((1024,)))), STORAGE, RUN) is None


def test_one_step_has_no_charts_of_one_dot() -> None:
    one, two = (render(sample_tables(_storage_rows(sizes))) for sizes in ((1024,), (1024, 65536)))
    assert "Response time, mean" not in one
    assert "Response time, mean" in two
    # By what was swept, and not by the number of clients that follows from it.
    assert "by message size." in two


@pytest.mark.parametrize(
    ("name", "queues"),
    [
        ("client-rr-np", {"requests", "replies"}),
        ("zos-svrconn-footprint", {"queue"}),
        ("chlauth-connect-cost", set()),
        ("mqi-response-time", {"queue"}),
    ],
)
def test_queues_are_drawn_where_there_are_messages(name: str, queues: set[str]) -> None:
    drawing = topology_of(plain(catalogue().find(name)))
    assert drawing is not None
    assert {queue for box in drawing.boxes for queue in box.items} == queues
