"""The page as a whole: complete, closed in itself, and every figure traced to its run."""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.pipeline.report.report_samples import (
    LARGE,
    NEW,
    OLD,
    arrow_tables,
    distance_rows,
    row,
    sample_rows,
    sample_tables,
    write_lake,
)

from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.tables import TABLES
from ostler.pipeline.report import numbers
from ostler.pipeline.report.build import render, write_report
from ostler.pipeline.report.html.pdf import NoPdf, find_browser, print_pdf
from ostler.pipeline.report.reading import read_lake, select_rows
from ostler.pipeline.report.rows import ROWS, Tables, columns, read_tables


class _Page(HTMLParser):
    """The parts of a page, as far as these tests ask."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []
        self.words: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name == "href" and value:
                self.links.append(value)
            if name in ("src", "action", "data", "poster", "xlink:href"):
                self.outside.append(f"{tag} {name}={value}")

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def tables() -> Tables:
    return sample_tables()


@pytest.fixture(scope="module")
def page(tables: Tables) -> str:
    return render(tables)


def test_rows_ask_for_columns_that_tables_have() -> None:
    assert {name: set(columns(kind)) - set(TABLES[name].names) for name, kind in ROWS.items()} == {
        name: set() for name in ROWS
    }


def test_every_link_leads_somewhere_and_no_place_is_there_twice(page: str) -> None:
    found = _Page(page)
    assert [each for each, number in Counter(found.ids).items() if number > 1] == []
    assert {each for each in found.links if each[0] != "#" or each[1:] not in found.ids} == set()
    assert len(found.links) > 50


def test_the_page_needs_nothing_from_elsewhere(page: str) -> None:
    found = _Page(page)
    assert found.outside == []
    assert found.tags["link"] == found.tags["img"] == found.tags["iframe"] == 0
    assert re.findall(r"url\(|@import|fetch\(|XMLHttpRequest", page) == []
    assert "default-src 'none'" in page


def test_the_sections_of_a_performance_report_are_there_in_their_order(page: str) -> None:
    wanted = [
        "highlights", "peaks", "scenarios", "scenario-local-rr-np", "scenario-client-large-np", "comparisons", "costs",
        "sizes", "scaling", "published", "environment", "quality", "reproduce", "glossary",
    ]  # fmt: skip
    assert [each for each in _Page(page).ids if each in wanted] == wanted


def test_tables_and_figures_are_numbered_as_they_are_read(page: str) -> None:
    for word in ("Table", "Figure"):
        told = [int(each) for each in re.findall(rf"<b>{word} (\d+)\.</b>", page)]
        assert told == list(range(1, len(told) + 1))
        assert len(told) > 4


def test_every_table_and_figure_is_traced_and_every_run_has_its_command(tables: Tables, page: str) -> None:
    appendix = page[page.index('<section id="reproduce">') :]
    anchors = [each for each in _Page(page).ids if re.fullmatch(r"(table|figure)-\d+", each)]
    commands = anchors[-2:]
    assert [each for each in anchors if each not in commands and f'href="#{each}"' not in appendix] == []
    for run in tables.runs:
        assert f"<code>{run.command}</code>" in re.sub("</?span>", "", appendix)
    assert [f"run-R{number}" in page for number in (1, 2, 3)] == [True] * 3


def test_the_newest_complete_run_speaks_and_a_partial_one_is_marked(page: str) -> None:
    local = page[page.index('id="scenario-local-rr-np"') : page.index('id="scenario-client-large-np"')]
    large = page[page.index('id="scenario-client-large-np"') : page.index('<section id="comparisons">')]
    assert 'href="#run-R2"' in local
    assert 'href="#run-R1"' not in local
    assert "the run is partial" in large
    assert "The machine was busy;" in large.replace("busy.", "busy;")


@pytest.mark.parametrize("change", [{"parameters": [("is_quick", "true")]}, {"condition": "interrupted"}])
def test_a_complete_run_of_full_length_speaks_before_newer_ones(change: dict[str, object]) -> None:
    rows = sample_rows()
    rows["run"][1] |= change
    local = render(sample_tables(rows)).partition('id="scenario-local-rr-np"')[2].partition("<figure")[0]
    assert 'href="#run-R1"' in local
    assert 'href="#run-R2"' not in local


def test_a_run_that_was_resumed_to_its_end_is_not_said_to_have_ended_early() -> None:
    rows = sample_rows()
    for each in rows["run"]:
        each["flags"] = ["partial: The run ended early: it was interrupted."]
    page = render(sample_tables(rows))
    assert "the run was resumed, so its figures are from several parts of the run" in _part(
        page, "scenario-local-rr-np"
    )
    assert "The run ended early" not in _part(page, "scenario-local-rr-np")
    assert "The run ended early" in _part(page, "scenario-client-large-np")


def test_figures_of_a_quick_run_are_said_to_be_doubtful(page: str) -> None:
    rows = sample_rows()
    rows["run"][2]["parameters"] = [("is_quick", "True")]
    assert "the quick form" in render(sample_tables(rows))
    assert "the quick form" not in page


def test_comparisons_at_the_peak_come_first_and_those_by_clients_are_folded(page: str) -> None:
    released = page.partition('id="comparisons-release"')[2].partition("</section>")[0]
    peak, fold, steps = released.partition("<details")
    assert fold
    assert "at the peak" in peak
    assert "4 clients" not in peak
    assert "4 clients" in steps


def test_changes_that_are_far_apart_are_drawn_as_ratios() -> None:
    rows = sample_rows()
    rows["comparison"][1]["clients"] = None
    assert "change, %" in render(sample_tables(rows))
    for each, change in zip(rows["comparison"][:2], (-95.0, 900.0), strict=True):
        each |= {"change_percent": change, "low_percent": -100.0, "high_percent": 1000.0}
    text = render(sample_tables(rows))
    assert "ratio of the second to the first (log)" in text
    assert "change, %" not in text


def test_published_ratios_without_ours_are_told_apart() -> None:
    rows = sample_rows()
    rows["comparison"].append(
        row("comparison", kind="ratio", subject="HA to none", scenario="appl-ha1", metric="rate", published_ratio=0.82,
            left_run="figure 7", right_run="figure 9", published_source="Table 8", verdict="not comparable")
    )  # fmt: skip
    text = render(sample_tables(rows))
    found = _Page(text)
    assert {each for each in found.links if each[1:] not in found.ids} == set()
    alone = text.partition("<summary>Published ratios without one of ours (1)</summary>")[2].partition("</details>")[0]
    assert "HA to none" in alone
    assert "figure 7, figure 9" in alone


def _part(page: str, anchor: str) -> str:
    """The text of a section, without that of the next."""
    return page.partition(f'<section id="{anchor}"')[2].partition("</section>")[0]


def test_predictions_are_told_in_their_units_with_the_calculation(page: str) -> None:
    part = _part(page, "scaling-predictions")
    own, fold, others = part.partition("<details")
    for told in (
        "8,000/s",
        "4,000/s",
        "50 %",
        "1 core of 1,000,000 µs a second",
        "processor, 50 %",
        "10 KB",
        ">97,700<",
    ):
        assert told in own, told
    assert fold
    assert "RabbitMQ" in others
    assert "RabbitMQ" not in own
    assert "Peak rates of Ostler, as a part of what each resource allows" in own


def test_changes_far_from_the_same_are_told_as_ratios_and_never_as_all_of_it() -> None:
    rows = sample_rows()
    rows["comparison"][0] |= {"change_percent": -97.0, "low_percent": -99.5, "high_percent": -60.0}
    part = _part(render(sample_tables(rows)), "comparisons-release")
    assert f"0.0300 {numbers.TIMES}" in part
    assert f"0.00500 to 0.400 {numbers.TIMES}" in part
    assert f"{numbers.MINUS}100" not in part
    rows["comparison"][0] |= {"change_percent": 1900.0, "low_percent": 271.0, "high_percent": 16_328.0}
    part = _part(render(sample_tables(rows)), "comparisons-release")
    assert f"20.0 {numbers.TIMES}" in part
    assert f"3.71 to 164 {numbers.TIMES}" in part
    rows["comparison"][0] |= {"change_percent": 20.0, "low_percent": -99.0, "high_percent": 900.0}
    rows["comparison"][0] |= {"left_repetitions": 2, "right_repetitions": 3}
    part = _part(render(sample_tables(rows)), "comparisons-release")
    assert "too wide" in part
    assert "from 2 and 3 repetitions" in part
    assert "+20 %" in part


def test_limits_of_the_machine_are_told_apart_from_products() -> None:
    rows = sample_rows()
    limit = rows["comparison"][0] | {
        "kind": "product", "subject": "Ostler to bare ping-pong", "left_name": "bare ping-pong", "right_name": "Ostler",
        "left_run": NEW, "right_run": NEW, "change_percent": -75.0, "low_percent": -80.0, "high_percent": -70.0,
        "verdict": "not comparable",
    }  # fmt: skip
    peer = limit | {"subject": "Ostler to RabbitMQ", "left_name": "RabbitMQ", "verdict": "better"}
    older = peer | {"right_run": OLD, "left_run": OLD}
    rows["comparison"] += [limit, peer, older]
    part = _part(render(sample_tables(rows)), "comparisons-product")
    shown, _, left = part.partition("at the peak of other runs")
    assert shown.count("Ostler to RabbitMQ") == 1
    assert "Ostler to RabbitMQ" in left
    assert "Ostler to bare ping-pong" not in part
    assert "25.0 %" in part
    assert "20.0 to 30.0 %" in part


def test_connections_without_a_name_are_told_together() -> None:
    rows = sample_rows()
    one = rows["cost"][0] | {"scope": "connection", "verb": "get", "bytes": None}
    for number, count, time in ((1, 300.0, 2.0), (2, 100.0, 6.0)):
        rows["cost"].append(one | {"object": f"{number:048x}", "count": count, "time_us": time})
    part = _part(render(sample_tables(rows)), "costs-verbs")
    assert "connection local, all together" in part
    assert ">400<" in part
    assert ">3.00<" in part
    assert f"{1:048x}" not in part


def test_transactions_consist_of_the_verbs_of_all_queue_managers() -> None:
    rows = sample_rows()
    one = rows["cost"][0] | {"scope": "queue manager", "broker_cpu_us": 5.0}
    for name, verb, count in (("A", "put", 150.0), ("B", "put", 50.0), ("", "transaction", 100.0)):
        rows["cost"].append(one | {"object": name, "verb": verb, "count": count, "log_bytes": 1500.0})
    part = _part(render(sample_tables(rows)), "costs-verbs")
    assert ">2.00<" in part
    assert ">1,500<" in part
    assert "Records of" in part


def test_message_channels_are_told_with_what_a_distance_left() -> None:
    page = render(sample_tables(distance_rows()))
    part = _part(page, "scenario-dq-distance")
    assert "Message channels of One channel over a distance" in part
    assert "a scenario of this project" in part
    # Without batches and distance there is nothing to tell.
    bare = distance_rows()
    bare["cost"] = [each for each in bare["cost"] if each["verb"] != "batch"]
    for each in bare["point"]:
        each["series"] = each["series"].partition(", round_trip_ms")[0]
    assert "Message channels of One" not in render(sample_tables(bare))
    table = part.partition("Message channels of One")[2]
    # 40,000 messages in 1,000 batches; of 5,000 a second with 50 in 10 ms, 4,000 are left.
    assert ">40.0<" in table
    assert ">10 ms<" in table
    assert f">{numbers.times(0.8)}<" in table
    assert "those of both together" in part
    assert "Processor time of the broker, both ends" in part
    assert "round trip of the distance, ms" in part
    assert "Records of" not in _part(page, "costs-verbs")


def test_both_ends_have_columns_where_they_were_told_apart() -> None:
    rows = distance_rows()
    headings = ("Near, µs", "Far, µs", "Log, µs")
    page = render(sample_tables(rows))
    assert not any(each in page for each in headings)
    rows["point"][0] |= {"near_cpu_us": 17.5, "far_cpu_us": 12.5, "log_cpu_us": 2.25}
    page = render(sample_tables(rows))
    for part in ("costs", "scenario-dq-distance"):
        assert all(each in _part(page, part) for each in (*headings, ">17.5<", ">12.5<", ">2.25<"))


def test_one_queue_manager_in_the_place_of_two_is_no_peak_of_ostler() -> None:
    rows = distance_rows()
    printed = {"figure": 1, "scenario": "dq-distance", "message_bytes": 2048, "metric": "messages_per_s", "value": 7.0}
    rows["published"] = [row("published", **printed, basis="measured", report_title="A report")]
    match = {"metric": "messages put and got", "is_matched": True, "published_value": 7.0, "our_value": 5000.0}
    rows["figure_match"] = [row("figure_match", figure=1, scenario="dq-distance", run="dq-distance-1", **match)]
    page = render(sample_tables(rows))
    cards = _part(page, "highlights")
    assert "5,000" in cards.partition("<ul")[0]
    assert "9,000" not in cards.partition("<ul")[0]
    assert "9,000" not in _part(page, "published-figures")
    assert ">5,000<" in _part(page, "published-figures")
    # Messages one way are not what two queue managers are judged by, and distance is none of their doing.
    assert "With two queue managers" not in cards
    for each in rows["point"]:
        each["operation"] = "round trip"
    told = f"With two queue managers Ostler's peak is {numbers.times(5 / 9)} that with one"
    assert told in unescape(_part(render(sample_tables(rows)), "highlights"))
    rows["comparison"][0]["series"] = "Ostler, round_trip_ms=10"
    assert "With two queue managers" not in _part(render(sample_tables(rows)), "highlights")


def test_clients_served_are_a_lower_bound_where_no_more_were_tried() -> None:
    rows = sample_rows()
    for each in rows["peak"]:
        each["clients_within_second"] = 4 if each["contestant"] == "RabbitMQ" else 16
    part = _part(render(sample_tables(rows)), "scaling-clients")
    assert "≥ 16" in part
    assert "≥ 4" not in part
    assert ">4<" in part


def test_every_table_has_the_command_that_repeats_it(page: str) -> None:
    table = page.partition("Where each figure comes from")[2].partition("</table>")[0]
    assert "<code>ostler lab run client-large-np <span>--output</span> runs/2</code>" in table
    assert "those of its runs" in table


def test_figures_are_those_of_the_tables(page: str) -> None:
    text = _Page(page).text
    # Peak of Ostler, the confidence interval of a comparison, a published figure, a ratio, and what was set aside.
    for told in ("4,000", "+9.0 to +11 %", "6,004", "0.44", "3 rows quarantined", "counts do not add up"):
        assert told in text, told
    shown, _, alone = text.partition("without one of ours (1)")
    assert "6,003" not in shown
    assert "6,003" in alone


# What decides where a row is told.
_KEPT = frozenset({"run", "scenario", "kind", "metric", "basis", "left_run", "right_run", "scope"})


def test_what_tables_say_is_text_and_never_markup() -> None:
    rows = sample_rows()
    evil = '<script>alert("x")</script>'
    for each in rows["point"] + rows["peak"] + rows["scaling"]:
        each["contestant"] = f"Ostler {evil}" if each["contestant"] == "Ostler" else each["contestant"]
    rows["run"][0] |= {"command": evil, "machine": evil, "flags": [evil]}
    rows["rejected"][0]["reason"] = evil
    for table in ("comparison", "prediction", "cost", "contestant", "published"):
        for each in rows[table]:
            each |= {name: evil for name, value in each.items() if isinstance(value, str) and name not in _KEPT}
    rows["cost"][0] |= {"object": evil, "verb": evil}
    text = render(sample_tables(rows), evil)
    assert _Page(text).tags["script"] == 1
    assert text.count("alert(") > 20


def test_a_run_without_a_point_is_told_and_cannot_be_picked_alone() -> None:
    rows = sample_rows()
    rows["run"].append(rows["run"][0] | {"run": "appl-c1-1", "scenario": "appl-c1"})
    tables = sample_tables(rows)
    found = _Page(render(tables))
    assert "1 run without a measured point" in found.text
    assert {each for each in found.links if each[1:] not in found.ids} == set()
    with pytest.raises(PipelineError, match="Nothing was measured"):
        select_rows(tables, [], ["appl-c1-1"])


def test_names_of_runs_and_scenarios_are_text_wherever_they_stand() -> None:
    rows = sample_rows()
    evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    for each in (each for found in rows.values() for each in found):
        for name in ("run", "scenario", "left_run", "right_run", "contestant", "series", "operation", "version"):
            if isinstance(each.get(name), str):
                each[name] += evil
    found = _Page(render(sample_tables(rows)))
    assert found.tags["script"] == 1
    assert found.tags["img"] == 0
    assert {each for each in found.links if each[1:] not in found.ids} == set()


def test_the_same_tables_make_the_same_page(tables: Tables, page: str) -> None:
    assert render(tables) == page


@pytest.mark.parametrize("kept", [("run", "point"), ("run", "point", "peak"), ("run", "point", "scaling", "cost")])
def test_a_lake_with_few_tables_makes_a_page_all_the_same(kept: tuple[str, ...]) -> None:
    rows = sample_rows()
    found = _Page(render(read_tables({name: each for name, each in arrow_tables(rows).items() if name in kept}.get)))
    assert {each for each in found.links if each[1:] not in found.ids} == set()


def test_points_without_latencies_or_processor_time_are_told_as_unknown() -> None:
    rows = sample_rows()
    for each in rows["point"]:
        each |= dict.fromkeys(("mean_ns", "p50_ns", "p99_ns", "p999_ns", "broker_cpu_us", "steal_percent"))
        each |= {"rate": 0.0, "count": 0}
    text = _Page(render(sample_tables(rows)).partition("<script>")[0]).text.lower()
    assert [each for each in ("nan", "none", "inf") if each in text.split()] == []
    assert numbers.NOTHING in text


def test_nothing_measured_is_refused_with_what_to_do() -> None:
    rows = sample_rows()
    rows["point"] = []
    with pytest.raises(PipelineError, match="ostler pipeline run"):
        sample_tables(rows)


def test_a_table_of_another_version_is_refused() -> None:
    tables = arrow_tables(sample_rows())
    tables["peak"] = tables["peak"].drop_columns(["peak_rate"])
    with pytest.raises(PipelineError, match="peak has no column peak_rate"):
        read_tables(tables.get)


# -- picking -----------------------------------------------------------------------------------------------------------


def test_scenarios_and_runs_are_picked(tables: Tables) -> None:
    assert [each.run for each in select_rows(tables, ["local-rr-np"], []).runs] == [OLD, NEW]
    assert {each.run for each in select_rows(tables, [], [LARGE]).points} == {LARGE}
    assert select_rows(tables, [], []) is tables
    with pytest.raises(PipelineError, match="Was local-rr-np meant"):
        select_rows(tables, ["local-rr"], [])
    with pytest.raises(PipelineError, match="leave out"):
        select_rows(tables, ["local-rr-np"], [LARGE])


# -- PDF ---------------------------------------------------------------------------------------------------------------


def _browser(directory: Path, script: str) -> str:
    path = directory / "browser"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


_PRINTS = 'for each in "$@"; do case "$each" in --print-to-pdf=*) echo %PDF-1.4 > "${each#*=}";; esac; done'


def test_the_pdf_is_what_the_browser_printed(tables: Tables, tmp_path: Path) -> None:
    written = write_report(tables, tmp_path / "out", browser=_browser(tmp_path, _PRINTS))
    assert written.pdf is not None
    assert written.pdf.read_text() == "%PDF-1.4\n"
    files = ["report.html", "report.pdf", "summary.html", "summary.pdf"]
    assert sorted(path.name for path in written.page.parent.iterdir()) == files


@pytest.mark.parametrize("script", ["echo it broke >&2; exit 7", "exit 0"])
def test_a_pdf_that_cannot_be_printed_is_told_and_an_old_one_goes(tables: Tables, tmp_path: Path, script: str) -> None:
    (tmp_path / "report.pdf").write_text("of older tables")
    written = write_report(tables, tmp_path, browser=_browser(tmp_path, script))
    assert written.pdf is None
    assert "No PDF was made" in written.why
    assert written.page.exists()
    assert not (tmp_path / "report.pdf").exists()


def test_a_browser_that_is_not_there_is_told() -> None:
    with pytest.raises(NoPdf, match="no-such-browser is not there"):
        find_browser("no-such-browser")


@pytest.mark.slow
def test_a_real_browser_prints_every_section(tables: Tables, tmp_path: Path) -> None:
    try:
        browser = find_browser()
    except NoPdf as problem:
        pytest.skip(str(problem))
    written = write_report(tables, tmp_path, pdf=False)
    print_pdf(written.page, tmp_path / "printed.pdf", browser)
    content = (tmp_path / "printed.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type */Page\b", content)) > 8


# -- the command -------------------------------------------------------------------------------------------------------


def _run_command(*arguments: str) -> int:
    from ostler.cli.framework.commands import CommandParser
    from ostler.cli.pipeline import report as pipeline_report

    parser = CommandParser(prog="ostler")
    pipeline_report.add_command(parser.add_subparsers(dest="task"))
    parsed = parser.parse_args(["report", *arguments])
    return int(parsed.run(parsed))


def test_the_command_writes_a_report_of_a_lake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lake(tmp_path / "lake", sample_rows())
    out = tmp_path / "out"
    status = _run_command("--lake", str(tmp_path / "lake"), "--output", str(out), "--no-pdf", "--json", "--run", NEW)
    told = json.loads(capsys.readouterr().out)
    assert status == 0
    pages = {"page": str(out / "report.html"), "summary": str(out / "summary.html")}
    assert told == pages | {"pdf": None, "summary_pdf": None, "why": "", "runs": [NEW]}
    assert "Ostler performance report" in (out / "report.html").read_text()


def test_title_author_and_notes_are_taken_from_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lake(tmp_path / "lake", sample_rows())
    (tmp_path / "notes.md").write_text("Why **we** measured: <b>disks</b>.", encoding="utf-8")
    common = ["--lake", str(tmp_path / "lake"), "--output", str(tmp_path / "out"), "--no-pdf"]
    words = ["--title", "Old & new", "--author", "Team Queues", "--notes"]
    assert _run_command(*common, *words, str(tmp_path / "notes.md")) == 0
    assert f"Summary of one sheet: {tmp_path / 'out' / 'summary.html'}" in capsys.readouterr().out
    made = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for part in (
        "<h1>Old &amp; new</h1>",
        "Team Queues",
        "Why <strong>we</strong> measured: &lt;b&gt;disks&lt;/b&gt;.",
    ):
        assert part in made
    assert _run_command(*common, *words, str(tmp_path / "none.md")) == 2
    assert "none.md cannot be read: No such file" in capsys.readouterr().err


def test_a_lake_is_read_as_it_was_written(tables: Tables, tmp_path: Path) -> None:
    write_lake(tmp_path, sample_rows())
    found = read_lake(tmp_path)
    assert sorted(found.points, key=repr) == sorted(tables.points, key=repr)
    assert (found.runs, found.peaks, found.published) == (tables.runs, tables.peaks, tables.published)


def test_without_a_lake_the_command_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run_command("--lake", str(tmp_path / "none")) == 2
    assert "ostler pipeline run" in capsys.readouterr().err


@pytest.mark.parametrize("in_the_way", ["out", "out/report.html/"])
def test_a_place_that_cannot_be_written_is_told(
    in_the_way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lake(tmp_path / "lake", sample_rows())
    place = tmp_path / in_the_way
    if in_the_way.endswith("/"):
        place.mkdir(parents=True)
    else:
        place.write_text("hay")
    assert _run_command("--lake", str(tmp_path / "lake"), "--output", str(tmp_path / "out"), "--no-pdf") == 2
    told = capsys.readouterr().err
    assert told.startswith(f"ostler pipeline report: The report cannot be written to {tmp_path / 'out'}: ")
    assert told.endswith(". Name another place: --output DIR.\n")


def test_a_pdf_that_was_asked_for_and_is_not_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lake(tmp_path / "lake", sample_rows())
    common = ["--lake", str(tmp_path / "lake"), "--output", str(tmp_path / "out"), "--browser", "no-such-browser"]
    assert _run_command(*common, "--pdf") == 2
    assert _run_command(*common) == 0
    assert "no-such-browser is not there" in capsys.readouterr().err
