"""Published figures stand beside ours only where the table of matches says so; all others have their reason."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from tests.pipeline.report.report_samples import NEW, OLD, Rows, row, sample_rows, sample_tables

from ostler.pipeline.report.build import render
from ostler.pipeline.report.reading import select_rows
from ostler.pipeline.report.rows import Tables


def _part(tables: Tables) -> tuple[str, str]:
    """The table of figures beside ours, and the folded one of those without."""
    page = render(tables)
    part = page.partition('<section id="published-figures"')[2].partition("</section>")[0]
    shown, _, alone = part.partition("<details")
    return unescape(shown).replace("<wbr>", ""), unescape(alone).replace("<wbr>", "")


def _rows(**match: Any) -> Rows:
    rows = sample_rows()
    rows["figure_match"][0] |= match
    return rows


def test_ours_stands_beside_a_figure_that_matches() -> None:
    shown, alone = _part(sample_tables(_rows()))
    assert ">6,004<" in shown
    assert ">4,000<" in shown
    assert 'href="#run-R2"' in shown
    assert ">6,003<" in alone
    assert "no step of ours has its clients" in alone


def test_a_figure_without_a_match_has_the_reason_and_nothing_of_ours() -> None:
    rows = _rows(is_matched=False, reason="no run of ours has its variant cipher=X", our_value=None, run=None)
    rows["published"][1]["variants"] = [("cipher", "TLS_RSA_WITH_AES_256_CBC_SHA256"), ("api", "MQI"), ("qmgrs", "1")]
    shown, alone = _part(sample_tables(rows))
    assert "no data yet" in shown
    assert "no run of ours has its variant cipher=X" in alone
    assert "cipher TLS_RSA_WITH_AES_256_CBC_SHA256" in alone
    # What most figures have needs no word.
    assert "api MQI<" not in alone
    assert ">4,000<" not in alone


def test_figures_are_in_the_unit_of_ours_with_the_printed_one_behind() -> None:
    rows = _rows(metric="mean response time, us", published_value=1500.0, our_value=900.0, clients=4)
    rows["published"][1] |= {"metric": "latency_ms", "unit": "ms", "value": 1.5}
    shown, _ = _part(sample_tables(rows))
    assert ">mean, µs<" in shown
    assert re.search(r'title="1\.5 ms">1,500<', shown)
    assert ">900<" in shown


def test_a_match_of_a_run_that_is_not_in_the_report_is_not_shown() -> None:
    tables = select_rows(sample_tables(_rows()), [], [OLD])
    assert [each.figure for each in tables.matches] == [3]
    tables = select_rows(sample_tables(_rows()), [], [NEW])
    assert [each.figure for each in tables.matches] == [4, 3]


def test_a_figure_that_is_printed_twice_is_shown_once_and_comparisons_of_reports_are_not() -> None:
    rows = _rows()
    again = {"figure": 5, "table_or_figure": "Table 9"}
    rows["published"].append(rows["published"][1] | again)
    rows["published"].append(rows["published"][1] | {"figure": 6, "basis": "comparison", "value": 66.0})
    rows["figure_match"] += [rows["figure_match"][0] | {"figure": each} for each in (5, 6)]
    shown, alone = _part(sample_tables(rows))
    assert shown.count(">6,004<") == 1
    assert "Table 9" not in shown + alone
    assert ">66<" not in shown + alone


def test_figures_of_scenarios_that_were_not_run_are_left_out() -> None:
    rows = _rows()
    rows["published"].append(rows["published"][0] | {"figure": 9, "scenario": "appl-c1", "value": 77777.0})
    rows["figure_match"].append(row("figure_match", figure=9, scenario="appl-c1", reason="its scenario was not run"))
    assert "77,777" not in render(sample_tables(rows))


def test_a_lake_without_matches_has_no_figures_beside_ours() -> None:
    rows = sample_rows()
    rows["figure_match"] = []
    page = render(sample_tables(rows))
    assert 'id="published-figures"' not in page
    assert 'id="published-ratios"' in page


def test_ratios_at_several_numbers_of_clients_are_told_apart() -> None:
    rows = sample_rows()
    ratio = next(each for each in rows["comparison"] if each["kind"] == "ratio")
    rows["comparison"] += [ratio | {"metric": "mean response time, us", "clients": number} for number in (7, 20)]
    page = render(sample_tables(rows))
    part = page.partition('<section id="published-ratios"')[2].partition("</section>")[0]
    assert ">Clients</th>" in part
    assert 'data-sort="7"' in part
    assert 'data-sort="20"' in part
