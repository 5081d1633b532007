"""The page of scenarios names every field, word, state and option that there is."""

from __future__ import annotations

import argparse
import dataclasses
import re
from enum import StrEnum
from pathlib import Path

import pytest

from ostler.cli.framework.commands import CommandParser
from ostler.cli.lab import catalogue as lab_catalogue
from ostler.lab.scenarios import model
from ostler.lab.scenarios.features import Feature, FeatureState, ReadinessVerdict
from ostler.lab.scenarios.loader import catalogue

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "scenarios.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def told() -> set[str]:
    """What the page has between backquotes, up to the first space."""
    return {text.split()[0] for text in re.findall(r"`([^`]+)`", PAGE.read_text())}


@pytest.mark.parametrize(
    "words",
    [
        model.ScenarioKind,
        model.Topology,
        model.Persistence,
        model.Syncpoint,
        model.Binding,
        model.LoadKind,
        model.StopKind,
        FeatureState,
        ReadinessVerdict,
    ],
)
def test_every_word_is_on_the_page(words: type[StrEnum]) -> None:
    assert set(words) <= told()


@pytest.mark.parametrize(
    "kind",
    [
        model.Scenario,
        model.Role,
        model.Sweep,
        model.ScenarioLoad,
        model.StopRule,
        model.ScenarioPart,
        model.Source,
        Feature,
    ],
)
def test_every_field_is_on_the_page(kind: type) -> None:
    fields = {field.name for field in dataclasses.fields(kind)}
    assert fields - {"report"} <= told()


def test_every_option_is_on_the_page() -> None:
    tasks = CommandParser().add_subparsers()
    lab_catalogue.add_command(tasks)
    options = {
        option
        for parser in tasks.choices.values()
        for action in parser._actions
        for option in action.option_strings
        if not isinstance(action, argparse._HelpAction)
    }
    assert "--runnable" in options
    assert options <= told()


def test_the_numbers_are_right() -> None:
    found = catalogue().scenarios.values()
    measured = sum(each.is_measured for each in found)
    ours = sum(each.is_measured and each.report.product == "Ostler" for each in found)
    assert f"Their {measured - ours} scenarios" in PAGE.read_text()
    assert f"so are {ours} of our own" in PAGE.read_text()
    assert f"{len(found) - measured} more entries" in PAGE.read_text()
