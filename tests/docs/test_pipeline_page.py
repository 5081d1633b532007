"""The page of the pipeline tells of every task, option, status, table and column, and of no others."""

from __future__ import annotations

import argparse
import re

import pytest
from tests.docs.pipeline_tables import ALL_TABLES, BEGINNING, PAGE, tables_text, without_tables

from ostler.cli.main import build_parser
from ostler.cli.pipeline import statuses as pipeline_statuses

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def tasks() -> dict[str, argparse.ArgumentParser]:
    """What `ostler pipeline` can do, by name."""
    return _below(_below(build_parser("pipeline"))["pipeline"])


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(found[0].choices)


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", without_tables(), re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def rows(task: str) -> list[str]:
    return [line for line in section(task).splitlines() if line.startswith("| `-")]


def actions(task: str) -> list[argparse.Action]:
    return [each for each in tasks()[task]._actions if each.option_strings and "--help" not in each.option_strings]


@pytest.mark.parametrize("task", tasks())
def test_a_task_has_its_options_and_no_others(task: str) -> None:
    told = {option for row in rows(task) for option in re.findall(r"`(--?[a-z-]+)", row.split(" | ")[0])}
    assert told == {option for action in actions(task) for option in action.option_strings}


@pytest.mark.parametrize("task", tasks())
def test_what_options_are_unless_given_is_told(task: str) -> None:
    usual = {
        action.option_strings[0]: str(action.default) for action in actions(task) if "(%(default)s)" in _help(action)
    }
    for option, value in usual.items():
        row = next(each for each in rows(task) if f"`{option} " in each)
        assert "as for `run`" in row or f"({value})" in row.replace("`", "")


def _help(action: argparse.Action) -> str:
    return action.help or ""


@pytest.mark.parametrize("task", tasks())
def test_words_that_an_option_knows_are_told(task: str) -> None:
    for action in actions(task):
        for word in action.choices or ():
            assert f"`{word}`" in section(task)


def test_no_task_is_told_that_there_is_not() -> None:
    headings = re.findall(r"^## ([a-z]+)$", without_tables(), re.MULTILINE)
    assert headings == list(tasks())


def test_every_status_is_told() -> None:
    statuses = re.findall(r"^\| (\d+) \|", section("Exit statuses"), re.MULTILINE)
    known = [value for name, value in vars(pipeline_statuses).items() if name.isupper()]
    assert statuses == [str(each) for each in sorted(known)]


def test_tables_are_those_of_the_code() -> None:
    found = PAGE.read_text().partition(BEGINNING)
    assert "".join(found[1:]) == tables_text(), "python -m tests.docs.pipeline_tables writes them again"


def test_no_table_is_forgotten() -> None:
    headings = re.findall(r"^### ([a-z_]+)$", PAGE.read_text(), re.MULTILINE)
    assert set(ALL_TABLES) == set(headings)
