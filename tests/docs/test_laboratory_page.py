"""The page of the laboratory's commands tells of every task, option, limit, status and file, and of no others."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from ostler.cli.framework.exit_statuses import Status
from ostler.cli.lab import run as lab_run
from ostler.cli.main import build_parser
from ostler.lab.runner.contract import QUICK, Settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "laboratory.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def tasks() -> dict[str, argparse.ArgumentParser]:
    """What `ostler lab` can do, by name."""
    return _below(_below(build_parser("lab"))["lab"])


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Return the options of a task, those of its questions included."""
    own = {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}
    return own.union(*(options(each) for each in _below(parser).values()))


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def told(task: str) -> set[str]:
    """The options that a section has a row for."""
    return set(re.findall(r"^\| `(--?[a-z-]+)", section(task), re.MULTILINE))


@pytest.mark.parametrize("task", tasks())
def test_a_task_has_its_options_and_no_others(task: str) -> None:
    assert told(task) == options(tasks()[task])


@pytest.mark.parametrize("task", tasks())
def test_words_that_an_option_knows_are_told(task: str) -> None:
    for action in tasks()[task]._actions:
        for word in action.choices or ():
            assert f"`{word}`" in section(task)


def test_no_task_is_told_that_there_is_not() -> None:
    headings = re.findall(r"^## ([a-z]+)$", PAGE.read_text(), re.MULTILINE)
    assert headings == list(tasks())


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--seconds", "measured_seconds"),
        ("--warm-up", "warm_up_seconds"),
        ("--cool-down", "cool_down_seconds"),
        ("--repetitions", "repetitions"),
    ],
)
def test_lengths_and_repetitions_are_those_of_the_code(option: str, name: str) -> None:
    usual, quick = getattr(Settings(), name), getattr(QUICK, name)
    row = next(line for line in section("run").splitlines() if line.startswith(f"| `{option} "))
    assert f"({usual:g}; quick: {quick:g})" in row


@pytest.mark.parametrize(
    ("option", "least", "most"),
    [("--seconds", 0.1, 3600), ("--warm-up", 0, 3600), ("--repetitions", 1, 100), ("--drivers", 1, 64)],
)
def test_ranges_are_those_of_the_code(option: str, least: float, most: float) -> None:
    row = next(line for line in section("run").splitlines() if line.startswith(f"| `{option} "))
    assert f"{least:g} to {most:g}" in row
    action = next(each for each in tasks()["run"]._actions if option in each.option_strings)
    assert callable(action.type)
    assert action.type(f"{most:g}") == most
    assert action.type(f"{least:g}") == least
    for beyond in (most + 1, least - 1):
        with pytest.raises(argparse.ArgumentTypeError):
            action.type(f"{beyond:g}")


def test_every_status_is_told() -> None:
    statuses = {int(number) for number in re.findall(r"^\| (\d+) \|", section("Exit statuses"), re.MULTILINE)}
    named = {lab_run.FAILED, lab_run.USAGE, lab_run.INTERRUPTED, lab_run.TERMINATED, int(Status.NAME_ERROR)}
    assert statuses == {0, *named}
