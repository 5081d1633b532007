"""The page of system topics shows the whole table of elements."""

from __future__ import annotations

import re
from pathlib import Path

from ostler.model import constants as mq
from ostler.observe.resource_messages import all_metadata
from ostler.observe.resource_table import CLASSES, NEVER

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "system-topics.md").read_text()
OBJECTS = {"STATQ": "<queue>/", "STATAPP": "<application>/"}
UNITS = {int(number): unit for unit, number in re.findall(r"^\| ([\w ]+) \| (\d+), [A-Z]+ \|", PAGE, re.MULTILINE)}


def test_units() -> None:
    used = {each.datatype for of_class in CLASSES for of_type in of_class.types for each in of_type.elements}
    assert used == set(UNITS)
    for number, name in re.findall(r"^\| [\w ]+ \| (\d+), ([A-Z]+) \|", PAGE, re.MULTILINE):
        assert getattr(mq, f"MQIAMO_MONITOR_{name}") == int(number)


def test_elements() -> None:
    shown: dict[str, list[tuple[int, str, str]]] = {}
    for section in PAGE.split("\n### ")[1:]:
        topic, _, text = section.partition("\n")
        rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", text.partition("\n## ")[0], re.MULTILINE)
        shown[topic] = [(int(number), description, unit) for number, description, unit in rows]
    expected = {
        f"{of_class.name}/{OBJECTS.get(of_class.name, '')}{of_type.name}": [
            (each.number, each.description, UNITS[each.datatype]) for each in of_type.elements
        ]
        for of_class in CLASSES
        for of_type in of_class.types
    }
    assert shown == expected


def test_elements_that_always_are_zero_are_told() -> None:
    [told] = [line for line in PAGE.splitlines() if line.startswith("- Always 0:")]
    never = [
        each.description.removeprefix("Log - ")
        for of_class in CLASSES
        for of_type in of_class.types
        for each in of_type.elements
        if each.source in NEVER
    ]
    assert sorted(re.findall(r"\*([^*]+)\*", told)) == sorted(never)


def test_the_number_of_metadata_is_told() -> None:
    decision = (ROOT / "docs" / "decisions" / "0027-resources-on-system-topics.md").read_text()
    assert f"- {len(all_metadata('QM1'))} messages on SYSTEM.RETAINED.PUB.QUEUE" in decision
