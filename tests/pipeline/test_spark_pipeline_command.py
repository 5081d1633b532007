"""`ostler pipeline run` and `validate`: statuses, and sentences that say what to do. What needs no Spark."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from tests.pipeline.lab_run_samples import change_manifest, make_part_of_run
from tests.pipeline.lake.test_lake import change_once

from ostler.cli.framework.commands import CommandParser
from ostler.cli.pipeline.command import add_command
from ostler.pipeline.lake.lake import open_lake
from ostler.pipeline.lake.quality import FILE_RULES, RULES


def run(*arguments: str) -> int:
    parser: argparse.ArgumentParser = CommandParser(prog="ostler")
    add_command(parser.add_subparsers(dest="command"))
    try:
        parsed = parser.parse_args(["pipeline", *arguments])
        status: int = parsed.run(parsed)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return status


def test_help_names_every_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    told = capsys.readouterr().out
    for task in ("run", "validate", "report", "compare"):
        assert f"    {task} " in told
        assert run(task, "--help") == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--conf", "memory=4g"), "is not a setting such as"),
        (("validate", "--limit", "many"), "is not a whole number"),
        (("lunch",), "invalid choice"),
    ],
)
def test_what_makes_no_sense_is_told(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert words in capsys.readouterr().err


def test_runs_that_are_not_there_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", str(tmp_path / "none"), "--lake", str(tmp_path / "lake")) == 2
    assert "There is no directory" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()
    assert run("validate", str(tmp_path / "none")) == 2
    assert "There is no directory" in capsys.readouterr().err


def test_no_java_is_told_and_the_lake_is_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = change_once(tmp_path / "lake", "a")
    make_part_of_run(tmp_path / "runs", "run-1", points=1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert run("run", str(tmp_path / "runs"), "--lake", str(tmp_path / "lake")) == 5
    assert "Spark needs Java 17 or newer" in capsys.readouterr().err
    assert open_lake(tmp_path / "lake") == before


def test_runs_that_cannot_be_read_are_told_by_validate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change_manifest(make_part_of_run(tmp_path, "run-1", points=1), schema_version=9)
    assert run("validate", str(tmp_path)) == 1
    assert "schema version 9" in capsys.readouterr().out


def test_what_was_set_aside_is_told_of_a_lake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("validate", "--lake", str(tmp_path / "none")) == 2
    assert "There is no lake in" in capsys.readouterr().err
    change_once(tmp_path, "a")
    assert run("validate", "--lake", str(tmp_path), "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 0
    assert run("validate", "--lake", str(tmp_path)) == 0
    assert "All rules are kept" in capsys.readouterr().out


def test_a_damaged_lake_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change_once(tmp_path, "a")
    (tmp_path / "current.json").write_text("{}")
    assert run("validate", "--lake", str(tmp_path)) == 2
    assert "Restore the lake" in capsys.readouterr().err


def test_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("validate", "--rules") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(FILE_RULES) + sum(len(rules) for rules in RULES.values())
    assert run("validate", "--rules", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {each["rule"] for each in told["rows"]} == {rule.name for rules in RULES.values() for rule in rules}


def test_a_missing_package_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostler.cli.pipeline.options.find_spec", lambda name: None)
    assert run("run", str(tmp_path)) == 4
    assert "needs pyspark and pyarrow: pip install 'ostler[pipeline]'" in capsys.readouterr().err
