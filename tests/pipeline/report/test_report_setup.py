"""What a run discloses stands beside its figures: stand-ins, left-out parts, deviations, workload, configuration."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

from tests.pipeline.report.report_samples import Rows, sample_rows, sample_tables

from ostler.lab.scenarios.as_json import whole
from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report.build import render
from ostler.pipeline.report.disclosures import disclosure_of
from ostler.pipeline.report.rows import RunRow

NAME = "local-rr-np"


def environment(**more: Any) -> dict[str, Any]:
    return {
        "stand_ins": {"fastpath-channels": "every channel runs inside the queue manager"},
        "left_out": {"with JMS": ["jms-client"]},
        "deviations": [{"what": "a smaller log", "why": "the disk has 1 GB & less"}],
        "configuration": [{"name": "qm.ini", "text": "Log:\n   LogPrimaryFiles=4"}],
        **more,
    }


def rows_with(kept: dict[str, Any] | str) -> Rows:
    rows = sample_rows()
    rows["run"][1]["environment"] = kept if isinstance(kept, str) else json.dumps(kept)
    return rows


def part(rows: Rows, anchor: str = f"scenario-{NAME}") -> str:
    page = render(sample_tables(rows))
    return unescape(page.partition(f'<section id="{anchor}"')[2].partition("</section>")[0])


def run_row(kept: dict[str, Any] | str) -> RunRow:
    return sample_tables(rows_with(kept)).runs[1]


def test_differences_stand_beside_the_figures_of_their_scenario() -> None:
    told = part(rows_with(environment()))
    before_the_curves = told.partition("Peaks of")[0]
    for words in (
        "Differences from the report", "left out", "with JMS", "needs ", "a smaller log", "the disk has 1 GB & less",
        "every channel runs inside the queue manager", "LogPrimaryFiles=4", "Topology of",
    ):  # fmt: skip
        assert words in before_the_curves, words
    # A feature is named as the catalogue names it.
    assert catalogue().features["fastpath-channels"].name in before_the_curves
    assert "catalogue of this installation" not in told


def test_a_run_that_did_not_keep_them_is_described_by_the_catalogue_and_says_so() -> None:
    told = part(rows_with({"versions": {}}))
    assert "from the catalogue of this installation, and may not be what was run" in told
    for each in catalogue().readiness(catalogue().scenarios[NAME]).stand_ins:
        assert each.note in told


def test_a_run_of_the_middle_age_has_its_own_stand_ins_and_the_deviations_of_today() -> None:
    kept = environment()
    del kept["deviations"], kept["configuration"]
    found = disclosure_of(run_row(kept))
    assert [each.name for each in found.left_out] == ["with JMS"]
    assert [(each.what, each.why) for each in catalogue().scenarios[NAME].deviations] == [
        (each.name, each.text) for each in found.deviations
    ]
    assert not found.is_of_run


def test_an_environment_that_cannot_be_read_is_no_environment() -> None:
    for damaged in ("", "{", "[]", "7"):
        assert not disclosure_of(run_row(damaged)).is_of_run
    odd = {"stand_ins": [], "left_out": 3, "deviations": {}, "configuration": ["x"], "workload": "none"}
    found = disclosure_of(run_row(odd))
    assert (found.stand_ins, found.left_out, found.deviations, found.configuration) == ((), (), (), ())
    assert found.workload is not None


def test_the_workload_is_that_of_the_run_and_not_of_today() -> None:
    scenario = catalogue().scenarios[NAME]
    kept = whole(scenario, catalogue().readiness(scenario))
    kept["roles"] = [{"name": "requesters", "does": "do as they did", "binding": "client", "counts": [7], "per": ""}]
    told = part(rows_with(environment(workload=kept)))
    assert "7 requesters, connected as clients over TCP: do as they did." in told
    assert "client channels" in told


def test_tests_have_the_names_of_the_report_with_its_tables() -> None:
    source = catalogue().scenarios[NAME].source
    told = part(sample_rows())
    assert f"called {source.tests[0]} there" in told.replace("<wbr>", "")
    assert source.tables in told


def test_measured_points_of_a_sweep_are_told() -> None:
    rows = sample_rows()
    for each in rows["point"]:
        each["parameters"] = [("requesters", str(each["clients"]))]
    assert "measured here: 1, 4 and 16." in part(rows)


def test_what_limited_each_curve_is_below_its_figures() -> None:
    rows = sample_rows()
    for each in rows["scaling"]:
        each |= {"limited_by": "log", "why": "the disk was busy 97% of the time"}
    told = part(rows)
    assert "limited by the log; the disk was busy 97 % of the time." in told
    assert told.index("Peaks of") < told.index("limited by the log")
    # Limits of the machine have none.
    assert "<strong>bare ping-pong" not in told


def test_machine_and_disk_are_those_of_the_run() -> None:
    kept = environment(
        disk={"scheduler": "mq-deadline", "rotates": False, "write_cache": "write back", "options": "rw"},
        force={"bytes": 4096, "count": 100, "median_us": 137.0, "p99_us": 4000.0},
        processors={"governors": ["performance"], "clock_source": "tsc", "clock_ns": 30},
    )
    rows = rows_with(kept)
    machine = part(rows, "machine")
    for words in ("mq-deadline", "solid state", "write back", "performance", "tsc"):
        assert words in machine, words
    assert "4 KB in 137 µs (median, 99 % within 4.00 ms)" in part(rows, "runs")
