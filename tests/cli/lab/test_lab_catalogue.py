"""`ostler lab list` and `show`: on a terminal, in a pipe, as JSON, and when something unknown is asked for."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pytest

from ostler.cli.main import main
from ostler.lab.scenarios.loader import catalogue


def run(*arguments: str) -> int:
    try:
        return main(["lab", *arguments])
    except SystemExit as leaving:
        return int(leaving.code or 0)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rich takes for a terminal, wide enough for all columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_list_has_a_line_for_each_scenario_and_counts_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    *lines, counts = capsys.readouterr().out.splitlines()
    measured = [each.id for each in catalogue().scenarios.values() if each.is_measured]
    assert [line.split()[0] for line in lines] == measured
    assert counts.startswith(f"{len(measured)} scenarios: ")
    line = next(each for each in lines if each.startswith("zos-clus-bind-on-open "))
    assert "cluster" in line
    assert "needs clusters" in line
    assert "\x1b" not in "".join(lines)


def test_list_with_the_other_entries(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--all") == 0
    *lines, counts = capsys.readouterr().out.splitlines()
    assert len(lines) == len(catalogue().scenarios)
    assert counts.endswith("17 other entries.")
    assert run("list", "--state", "not-measured", "--json") == 0
    kinds = {json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()}
    assert kinds == {"calculation", "guidance", "configuration", "behaviour", "command-output"}


def test_filters_are_combined(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--family", "trusted", "--report", "windows-v53", "--json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["id"] for each in found] == [
        "local-trusted-np", "local-trusted-pm", "client-trusted-np", "client-trusted-pm",
    ]  # fmt: skip
    assert run("list", "--family", "trusted", "--report", "zos-v71") == 0
    assert capsys.readouterr().out == "0 scenarios: 0 can run today.\n"


def test_a_named_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "@spark") == 0
    *lines, counts = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["spark-queues", "spark-steps"]
    assert counts == "2 scenarios: 2 can run today."
    assert run("list", "@spar") == 2
    assert "there is no set '@spar'. Did you mean @spark or @sharing?" in capsys.readouterr().err


def test_named_sets_are_listed_on_a_terminal(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--family", "trusted") == 0
    assert "@micro: parts of the queue manager by themselves" in capsys.readouterr().out


def test_runnable_and_state_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--json") == 0
    everything = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert run("list", "--runnable", "--json") == 0
    runnable = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert runnable == [each for each in everything if each["can_run"]]
    assert run("list", "--state", "needs-features", "--json") == 0
    waiting = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert waiting
    assert all(each["missing"] and each["needs"] for each in waiting)
    assert run("list", "--state", "foreign", "--json") == 0
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == [
        "zos-ims-bridge-cm0", "zos-ims-bridge-cm1",
    ]  # fmt: skip


@pytest.mark.usefixtures("terminal")
def test_on_a_terminal_list_has_a_table_for_each_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--report", "windows-v91") == 0
    out = capsys.readouterr().out
    assert "Performance of IBM MQ V9.1 on Windows (windows-v91)" in out
    assert "\x1b[" in out
    assert "rr-cc-tls-np" in out
    assert "rr-bb-np" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list", "--family", "trustd"), "there is no family 'trustd'. Did you mean trusted?"),
        (("list", "--report", "windows"), "there is no report 'windows'. Did you mean windows-v53 or windows-v91?"),
        (("list", "--report", "%"), "There are: windows-v53, "),
        (("show", "rr-bb"), "there is no scenario 'rr-bb'. Did you mean rr-bb-np or rr-bb-pm or rr-bb-filesystem?"),
        (("show", "%"), "ostler lab list shows all."),
        (("list", "--state", "happy"), "invalid choice: 'happy'"),
        (("show",), "required: SCENARIO"),
        ((), "required: TASK"),
    ],
)
def test_what_there_is_not_is_refused(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_show_tells_all_of_a_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "client-rated-pm") == 0
    out = capsys.readouterr().out
    labels = [line[:16].strip() for line in out.splitlines() if line[:16].strip() and line[15:16] == " "]
    for label in ("today", "family", "persistence", "messages", "roles", "load", "swept", "stops", "needs", "where"):
        assert label in labels
    assert "requesters: 50, 100, 200, 300, 400, 500, 650, 800, 1000; quick: 50, 400; printed: 300, 650" in out
    assert "1 a second from each" in out
    assert "when the mean response time passes 1 s" in out
    assert "responders (20 or 40, local): get" in out
    assert "\x1b" not in out


def test_show_names_what_is_missing_and_what_stands_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "zos-clus-bind-on-open") == 0
    assert "Cluster channels (cluster-channels)" in capsys.readouterr().out
    assert run("show", "dq-large-np") == 0
    out = capsys.readouterr().out
    assert "20 KB, 200 KB" in out
    assert "Fastpath channels: " in out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("appl-c3", "The log of each of 10 queue managers has 25 primary files of 16,384 pages, the report's has 64: "),
        ("dq-rr-np", "LogBufferPages is 18, the report has 17: "),
        ("local-trusted-np", "Requesters and responders that run trusted are threads of the queue manager"),
    ],
)
def test_show_names_what_a_run_on_this_machine_would_differ_in(
    name: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Logs of a run take half of the free disk at most; this one has room for the largest.
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=1 << 40, used=0, free=1 << 40))
    assert run("show", name) == 0
    out = capsys.readouterr().out
    assert said in out.partition("\ndiffers here")[2].partition("\nfamily")[0]
    assert run("show", name, "--json") == 0
    here = json.loads(capsys.readouterr().out)["deviations_here"]
    assert any(f"{each['what']}: ".startswith(said.removesuffix(": ")) for each in here)


def test_what_cannot_run_has_no_deviations_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "zos-clus-bind-on-open", "--json") == 0
    assert json.loads(capsys.readouterr().out)["deviations_here"] == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("client-capacity-cmax", "one in 60 seconds from each"),
        ("p2p-multi-np", "1,600 a second from each"),
        ("mqi-response-time", "after 5,000 measurements of each point"),
        ("smds-expansion", "when the data set has grown"),
        ("client-capacity-cmax", "when nothing more fits (no more clients connect)"),
        ("mqi-response-time", "50 bytes, 256 bytes, 1 KB"),
        ("p2p-multi-np", "producers (1 for each triplet, client): put"),
        ("tuning-guidance-v53", "guidance"),
    ],
)
def test_rates_rules_and_sizes_are_in_words(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", name) == 0
    assert said in capsys.readouterr().out


@pytest.mark.usefixtures("terminal")
def test_show_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "appl-c1") == 0
    out = capsys.readouterr().out
    assert "\x1b[" in out
    assert "responders (300, client)" in out


def test_show_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "rr-bb-pm", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["parameters"]["log_primary_files"] == 16
    assert told["readiness"]["missing"] == []
    assert told["stop"] == {"kind": "peak", "limit": 0.0, "text": "", "after": 1, "only": {}}
