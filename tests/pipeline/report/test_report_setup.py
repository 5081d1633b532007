"""Disclosures of a run stand beside its figures: stand-ins, left-out parts, deviations, workload, configuration."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

from tests.pipeline.report.report_samples import NEW, Rows, row, sample_rows, sample_tables

from ostler.lab.scenarios.as_json import whole
from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report.build import render
from ostler.pipeline.report.disclosures import Disclosure, disclosure_of, environment_of

NAME = "local-rr-np"


STAND_IN = ("stand-in", "fastpath-channels", "every channel runs inside the queue manager")
LEFT_OUT = ("left-out", "with JMS", "jms-client, unknown-feature")
DEVIATION = ("deviation", "a smaller log", "the disk has 1 GB & less")
CONFIGURATION = ("configuration", "qm.ini", "Log:\n   LogPrimaryFiles=4")


def workload(**more: Any) -> tuple[str, str, str]:
    scenario = catalogue().scenarios[NAME]
    return ("workload", "", json.dumps({**whole(scenario, catalogue().readiness(scenario)), **more}))


def rows_with(*disclosed: tuple[str, str, str], **environment: Any) -> Rows:
    rows = sample_rows()
    rows["run"][1]["environment"] = json.dumps(environment)
    rows["disclosure"] = [
        row("disclosure", run=NEW, scenario=NAME, kind=kind, position=number, name=name, text=text)
        for number, (kind, name, text) in enumerate(disclosed)
    ]
    return rows


def part(rows: Rows, anchor: str = f"scenario-{NAME}") -> str:
    page = render(sample_tables(rows))
    return unescape(page.partition(f'<section id="{anchor}"')[2].partition("</section>")[0])


def disclosed_by(*disclosed: tuple[str, str, str]) -> Disclosure:
    tables = sample_tables(rows_with(*disclosed))
    return disclosure_of(tables.runs[1], tables.disclosures)


def test_differences_stand_beside_the_figures_of_their_scenario() -> None:
    told = part(rows_with(STAND_IN, LEFT_OUT, DEVIATION, CONFIGURATION, workload()))
    before_the_curves = told.partition("Peaks of")[0]
    for words in (
        "Differences from the report", "left out", "with JMS", "unknown-feature", "a smaller log",
        "the disk has 1 GB & less", "every channel runs inside the queue manager", "LogPrimaryFiles=4", "Topology of",
    ):  # fmt: skip
        assert words in before_the_curves, words
    # A feature is named as the catalogue names it.
    assert catalogue().features["fastpath-channels"].name in before_the_curves
    assert f"needs {catalogue().features['jms-client'].name}, " in before_the_curves
    assert "catalogue of this installation" not in told


def test_a_run_that_did_not_keep_them_is_described_by_the_catalogue_and_says_so() -> None:
    told = part(rows_with())
    assert "from the catalogue of this installation, and may not be what was run" in told
    for each in catalogue().readiness(catalogue().scenarios[NAME]).stand_ins:
        assert each.note in told


def test_a_run_of_the_middle_age_has_its_own_stand_ins_and_the_deviations_of_today() -> None:
    found = disclosed_by(STAND_IN, LEFT_OUT)
    assert [each.name for each in found.left_out] == ["with JMS"]
    assert [(each.what, each.why) for each in catalogue().scenarios[NAME].deviations] == [
        (each.name, each.text) for each in found.deviations
    ]
    assert not found.is_of_run
    assert disclosed_by(STAND_IN, workload()).is_of_run
    assert disclosed_by(STAND_IN, workload()).deviations == ()


def test_a_workload_that_cannot_be_read_is_that_of_today() -> None:
    for damaged in ("", "{", "[]", "7"):
        found = disclosed_by(STAND_IN, ("workload", "", damaged))
        assert not found.is_of_run
        assert found.workload is not None


def test_statements_are_in_the_order_of_the_manifest() -> None:
    tables = sample_tables(rows_with(DEVIATION, ("deviation", "second", "because"), workload()))
    found = disclosure_of(tables.runs[1], list(reversed(tables.disclosures)))
    assert [each.name for each in found.deviations] == ["a smaller log", "second"]


def test_disclosures_go_with_their_runs() -> None:
    tables = sample_tables(rows_with(STAND_IN, DEVIATION))
    assert len(tables.only([NEW]).disclosures) == 2
    assert tables.only(["client-large-np-1"]).disclosures == []


def test_the_workload_is_that_of_the_run_and_not_of_today() -> None:
    roles = [{"name": "requesters", "does": "do as they did", "binding": "client", "counts": [7], "per": ""}]
    told = part(rows_with(STAND_IN, workload(roles=roles)))
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
    rows = rows_with(
        disk={"scheduler": "mq-deadline", "rotates": False, "write_cache": "write back", "options": "rw"},
        force={"bytes": 4096, "count": 100, "median_us": 137.0, "p99_us": 4000.0},
        processors={"governors": ["performance"], "clock_source": "tsc", "clock_ns": 30},
    )
    machine = part(rows, "machine")
    for words in ("mq-deadline", "solid state", "write back", "performance", "tsc"):
        assert words in machine, words
    assert "4 KB in 137 µs (median, 99 % within 4.00 ms)" in part(rows, "runs")


def test_an_environment_that_cannot_be_read_is_none() -> None:
    for damaged in ("", "{", "[]", "7"):
        rows = sample_rows()
        rows["run"][1]["environment"] = damaged
        assert environment_of(sample_tables(rows).runs[1]) == {}
