"""Sections that readers of published reports look for: preface, changes, advice, names of tests, log and disk."""

from __future__ import annotations

import re
from html import unescape

from tests.pipeline.report.report_samples import NEW, OLD, Rows, sample_rows, sample_tables

from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report import numbers
from ostler.pipeline.report.build import render
from ostler.pipeline.report.context import make_context
from ostler.pipeline.report.html.document import Hyperlink
from ostler.pipeline.report.sections.preface import preface_section, topic_terms


def section(rows: Rows, anchor: str) -> str:
    """The text of a section with all sections inside."""
    page = render(sample_tables(rows))
    begin = page.index(f'<section id="{anchor}"')
    depth, end = 0, begin
    for found in re.finditer(r"<section|</section>", page[begin:]):
        depth += 1 if found[0] == "<section" else -1
        if not depth:
            end = begin + found.end()
            break
    return page[begin:end]


def text(rows: Rows, anchor: str) -> str:
    return unescape(" ".join(re.sub("<[^>]+>", " ", section(rows, anchor)).split()))


def test_the_sections_that_readers_know_are_there_in_their_order() -> None:
    page = render(sample_tables())
    wanted = [
        "highlights", "preface", "changes", "peaks", "scenarios", "costs", "published", "advice", "environment",
        "tests", "reproduce", "resources", "glossary",
    ]  # fmt: skip
    assert [each for each in re.findall(r'<section id="([^"]+)"', page) if each in wanted] == wanted


def test_the_preface_leads_to_sections_that_exist_and_to_no_other() -> None:
    context = make_context(sample_tables())
    none = preface_section(context, [])
    assert re.findall(r"anchor='([^']+)'", repr(none.sections[1])).count("preface") == 1
    assert "costs" not in re.findall(r"anchor='([^']+)'", repr(none))
    assert 'href="#costs"' in section(sample_rows(), "preface")
    assert 'href="#published"' in section(sample_rows(), "preface")


def test_changes_name_what_differs_between_two_runs_of_a_scenario() -> None:
    told = text(sample_rows(), "changes")
    assert "local-rr-np : R2 after R1" in told
    assert "version 0.0.9 → 0.1.0" in told
    assert "rates at the peak: 1 better" in told
    assert "client-large-np" not in told
    rows = sample_rows()
    rows["run"][1] |= {"version": "0.0.9", "parameters": [("repetitions", "5")], "revision": "a" * 40}
    told = text(rows, "changes")
    assert "repetitions 3 → 5" in told
    assert f"revision none → {'a' * 10}," in told
    assert "version" not in told
    alone = sample_rows()
    alone["run"], alone["point"] = alone["run"][1:], [each for each in alone["point"] if each["run"] != OLD]
    assert "there is no change to report" in text(alone, "changes")


def test_release_highlights_are_percentages_by_topology_with_the_other_figure_in_parentheses() -> None:
    told = section(sample_rows(), "highlights")
    table = told.partition("Changes since the release before, by topology")[2].partition("</table>")[0]
    assert ">Local<" in table
    assert ">4,400 (4,000)<" in table
    assert ">+10 %<" in table
    rows = sample_rows()
    rows["comparison"] = [each for each in rows["comparison"] if each["kind"] != "release"]
    assert "Changes since the release" not in section(rows, "highlights")


def test_a_release_is_compared_at_the_same_number_of_clients() -> None:
    rows = sample_rows()
    first = rows["comparison"][0] | {"subject": "Ostler: 0.1.0 after 0.0.9"}
    rows["comparison"] = [
        first,
        first | {"clients": 16, "right_value": 5000.0},
        first | {"clients": 4, "right_value": 1.0},
    ]
    table = section(rows, "highlights").partition("by topology")[2].partition("</table>")[0]
    assert ">5,000 (4,000)<" in table
    assert ">16<" in table
    assert ">4,400 (4,000)<" not in table


def test_what_limits_is_answered_with_what_helps() -> None:
    rows = sample_rows()
    told = text(rows, "advice-questions")
    assert "machine (3 curves: local-rr-np , client-large-np )" in told
    for each in rows["scaling"]:
        each["limited_by"] = "log"
    assert "forces of the log were waited for" in text(rows, "advice-questions")
    rows["scaling"] = []
    assert "once a run has enough steps" in text(rows, "advice-questions")


def test_guidance_of_the_catalogue_is_the_tuning_advice_of_its_report() -> None:
    told = text(sample_rows(), "advice-tuning")
    guidance = catalogue().scenarios["tuning-guidance-v53"]
    assert guidance.title in told
    assert " ".join(guidance.summary.split()) in told
    assert catalogue().scenarios["appl-capacity-guidance"].title not in told


def test_entries_without_a_curve_are_listed_with_their_report() -> None:
    rows = sample_rows()
    assert 'id="advice-notes"' not in section(rows, "advice")
    for table in ("run", "point", "peak"):
        for each in rows[table]:
            each["scenario"] = "rr-bb-np" if each["scenario"] == "local-rr-np" else each["scenario"]
    told = text(rows, "advice-notes")
    assert catalogue().scenarios["config-v91-qmini"].title in told
    assert catalogue().scenarios["config-v701-tuning"].title not in told


def test_products_are_compared_with_what_they_promise() -> None:
    rows = sample_rows()
    rows["comparison"].append(
        rows["comparison"][0]
        | {"kind": "product", "subject": "Ostler to RabbitMQ", "left_name": "RabbitMQ", "right_name": "Ostler"}
        | {"left_run": NEW, "right_run": NEW}
    )
    told = text(rows, "comparisons-product")
    for name in ("RabbitMQ", "Ostler"):
        assert f"{name} : promise of {name} ( R2 )." in told
    assert "promise of bare ping-pong" not in told


def test_capacity_is_planned_with_the_costs_that_were_measured() -> None:
    rows = sample_rows()
    for each in rows["point"]:
        each |= {"broker_cpu_us": 70.0, "log_bytes": 10_000 * 1024, "count": 10_000}
    told = text(rows, "advice-capacity")
    # 70 % of a second by 70 us, and a kilobyte of log for each.
    assert "an operation took 70.0 µs of the broker at the peak, so a core that is 70 % busy carries 10,000" in told
    assert "its log then grows by 9.77 MB a second, 824 GB a day" in told


def test_every_published_test_is_listed_by_its_name() -> None:
    told = section(sample_rows(), "tests").replace("<wbr>", "")
    here, _, others = told.partition("<details")
    source = catalogue().scenarios["local-rr-np"].source
    assert f">{source.tests[0]}<" in here
    assert 'href="#run-R2"' in here
    for name, scenario in catalogue().scenarios.items():
        if scenario.is_measured and scenario.source.sections != "ours":
            assert f">{name}</a>" in (here if name in ("local-rr-np", "client-large-np") else others), name
    assert "cannot run yet: needs" in others
    assert "not measured in this report" in others


def test_log_and_disk_are_shown_where_they_were_written() -> None:
    rows = sample_rows()
    assert 'id="costs-storage"' not in render(sample_tables(rows))
    for each in rows["point"]:
        if each["run"] == NEW and each["contestant"] == "Ostler":
            each |= {
                "persistent": True, "log_bytes": 20 * 1024**2, "log_forces": 2560, "count": 10_240, "seconds": 10.0,
                "disk_written_bytes": 30 * 1024**2, "disk_busy_percent": 42.0, "log_writes": 5120,
                "log_force_us": 2_560_000, "disk_reads": 0, "disk_writes": 5120, "disk_flushes": 2560,
                "disk_wait_us": 1250.0, "disk_queue": 0.125,
            }  # fmt: skip
    table = section(rows, "costs-storage")
    # MB/s, bytes an operation, operations a force, forces a second, bytes a force, and the disk.
    for told in (">2.00<", ">2,050<", ">4.00<", ">256<", ">4 KB<", ">3.00<", ">42 %<"):
        assert told in table, told
    # A force, requests of the disk for an operation, their time and queue, and how long the disk was busy for each.
    for told in (">1.00<", ">0.750<", ">1.25<", ">0.125<", ">410<"):
        assert told in table, told
    assert "RabbitMQ" not in table


def test_costs_have_megabytes_and_the_kernel_by_itself() -> None:
    rows = sample_rows()
    for each in rows["point"]:
        each |= {"rate": 512.0, "broker_cpu_us": 50.0, "broker_user_us": 30.0}
    table = section(rows, "costs").partition("Costs of an operation")[2].partition("</table>")[0]
    # 2 KB times 512 a second; 50 us for each of the 512 messages of a megabyte; 20 us in the kernel.
    for told in (">1.00<", ">25,600<", ">20.0<"):
        assert told in table, told


def test_mean_and_90th_percentile_are_in_the_table_of_all_figures() -> None:
    rows = sample_rows()
    for each in rows["point"]:
        each |= {"mean_ns": 1.23e6, "p90_ns": 4_560_000}
    told = section(rows, "scenario-local-rr-np").partition("All figures of")[2]
    assert "Mean, ms" in told
    assert ">1.23<" in told
    assert ">4.56<" in told


def test_trademarks_and_reports_are_named_in_the_resources() -> None:
    told = text(sample_rows(), "resources")
    assert catalogue().scenarios["local-rr-np"].report.title in told
    assert "trademarks of International Business Machines" in told
    assert numbers.NOTHING not in told


def test_readers_of_published_reports_find_the_scenarios_of_a_topic() -> None:
    found = dict(topic_terms(["appl-ha2", "client-rr-np", "rr-cc-tls-np", "appl-dr2", "a scenario of tomorrow"]))
    assert list(found) == ["TLS", "High availability, disaster recovery"]
    links = [each for each in found["High availability, disaster recovery"] if isinstance(each, Hyperlink)]
    assert [(each.text, each.anchor) for each in links] == [
        ("appl-ha2", "scenario-appl-ha2"),
        ("appl-dr2", "scenario-appl-dr2"),
    ]
    assert topic_terms([]) == ()
