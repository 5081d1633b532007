"""The page of MQSC names every command that there is, with its abbreviations, and none that there is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ostler.command.mqsc.grammar import VERBS
from ostler.command.mqsc.interpreter import nouns_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "mqsc.md"
ROW = re.compile(r"^\| ([A-Z, ]+) \| ([A-Z ]+) \| .*\|$", re.MULTILINE)

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## )", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def told() -> set[tuple[str, str]]:
    """Every verb with every noun of its rows."""
    return {
        (verb, noun)
        for verbs, nouns in ROW.findall(section("Commands"))
        for verb in verbs.split(", ")
        for noun in nouns.split()
    }


def test_every_command_is_told_and_no_other() -> None:
    there = {(verb, noun) for verb in set(VERBS.values()) for noun in nouns_of(verb).values()}
    assert told() == there


def test_every_abbreviation_is_told() -> None:
    words = set(re.findall(r"[A-Z]+", section("How commands are written")))
    verbs = {short for short, whole in VERBS.items() if short != whole and nouns_of(whole)}
    nouns = {short for verb in set(VERBS.values()) for short, whole in nouns_of(verb).items() if short != whole}
    assert verbs <= words
    assert nouns <= words
