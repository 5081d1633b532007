"""The doctor's command: what it shows to people and to programs, its exit status, and what it refuses."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from ostler.cli.framework.commands import CommandParser
from ostler.cli.lab import doctor as lab_doctor
from ostler.cli.main import main
from ostler.lab.sampling.doctor import CHECKS, Finding, Fitness


def doctor(*arguments: str) -> int:
    """As `ostler lab` has it among its subcommands."""
    parser: argparse.ArgumentParser = CommandParser(prog="ostler lab")
    lab_doctor.add_command(parser.add_subparsers())
    parsed: argparse.Namespace = parser.parse_args(["doctor", *arguments])
    status: int = parsed.run(parsed)
    return status


def test_lines_for_people_name_every_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status = doctor("--seconds", "0.01", "--scratch", str(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    verdicts = [line.split()[0] for line in lines if not line.startswith((" ", "Fit", "Not fit"))]
    assert len(verdicts) == len(CHECKS)
    assert set(verdicts) <= {each.value for each in Fitness}
    assert status == (1 if "bad" in verdicts else 0)
    assert lines[-1].startswith("Not fit" if status else "Fit")
    assert any(str(tmp_path) in line for line in lines)


def test_json_for_programs_and_a_bad_directory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "nowhere").write_text("a file where a directory is wanted")
    assert doctor("--json", "--seconds", "0.01", "--scratch", str(tmp_path / "nowhere")) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["verdict"] == "bad"
    by_name = {each["name"]: each for each in shown["findings"]}
    assert by_name["disk space"]["verdict"] == "bad"
    assert "nowhere" in by_name["disk space"]["found"]
    assert set(by_name["cores"]) == {"name", "verdict", "found", "limits", "advice"}


def test_a_directory_yet_to_be_made_is_looked_at_where_it_will_be(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    doctor("--json", "--seconds", "0.01", "--scratch", str(tmp_path / "lab-runs" / "today"))
    by_name = {each["name"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    assert str(tmp_path) in by_name["disk space"]["found"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seconds", ["0", "-1", "61", "soon", "nan"])
def test_times_that_make_no_sense_are_refused(capsys: pytest.CaptureFixture[str], seconds: str) -> None:
    with pytest.raises(SystemExit) as leaving:
        doctor("--seconds", seconds)
    assert leaving.value.code == 2
    assert "is not a number of seconds up to 60" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ([Fitness.GOOD, Fitness.UNKNOWN], "Fit for measuring."),
        ([Fitness.LIMITED, Fitness.GOOD], "Fit for measuring, within limits: 0."),
        ([Fitness.LIMITED, Fitness.BAD], "Not fit for measuring now: 1. Limited: 0."),
        ([Fitness.BAD], "Not fit for measuring now: 0."),
    ],
)
def test_one_line_sums_it_up(verdicts: list[Fitness], words: str) -> None:
    assert lab_doctor.summary([Finding(str(at), each, "") for at, each in enumerate(verdicts)]) == words


def test_it_is_a_task_of_the_laboratory(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["lab", "doctor", "--help"])
    assert leaving.value.code == 0
    assert "--scratch DIR" in capsys.readouterr().out


def test_a_table_for_a_terminal_has_all_words() -> None:
    console = Console(width=160, force_terminal=True, color_system=None, record=True, file=io.StringIO())
    findings = [
        Finding("cores", Fitness.LIMITED, "2 of 2 usable", "they are shared", "compare within one run"),
        Finding("other work", Fitness.GOOD, "1% in use: [bold] (7) 1%"),
    ]
    lab_doctor.show_table(findings, console)
    shown = console.export_text()
    for words in (
        "limited",
        "2 of 2 usable",
        "they are shared",
        "compare within one run",
        "good",
        "within limits: cores",
    ):
        assert words in shown


def test_the_tuning_of_a_queue_manager(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTLER_DATA", str(tmp_path))
    assert main(["crtmqm", "-lp", "4", "QM1"]) == 0
    capsys.readouterr()
    assert doctor("-m", "QM1", "--json") == 0
    by_name = {each["name"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    assert by_name["log size"]["found"].startswith("4 primary files")
    for name in ("log use", "log latency", "getters"):
        assert by_name[name]["verdict"] == "unknown"
        assert by_name[name]["found"] == "the queue manager does not run"
    assert main(["lab", "doctor", "-m", "NOSUCH"]) != 0
    assert "There is no queue manager NOSUCH" in capsys.readouterr().err
    assert main(["lab", "doctor", "-m", ""]) != 0
    assert "No queue manager was named" in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--scratch", "/tmp"), ("--seconds", "1")])
def test_what_is_for_the_machine_is_refused_with_a_queue_manager(
    capsys: pytest.CaptureFixture[str], option: tuple[str, str]
) -> None:
    assert doctor("-m", "QM1", *option) == 2
    assert "--scratch and --seconds are for the machine" in capsys.readouterr().err
