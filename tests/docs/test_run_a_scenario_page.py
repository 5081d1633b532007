"""The page on running scenarios says of every flag what to do, and of no flag that there is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ostler.lab.runner import point_measurement as measuring
from ostler.lab.runner import runner
from ostler.lab.sampling import flags
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.store import run_writer

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "run-a-scenario.md"
SOURCES = [Path(str(module.__file__)) for module in (flags, measuring, runner)]

pytestmark = pytest.mark.skipif(
    not PAGE.exists() or any(each.suffix != ".py" for each in SOURCES),
    reason="the documentation or the sources are not beside the tests",
)


def told(heading: str) -> set[str]:
    """The flags of the first column of a table."""
    _, _, rest = PAGE.read_text().partition(f"| flag | {heading} |\n")
    table, _, _ = rest.partition("\n\n")
    return {name for row in table.splitlines() for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])}


def test_every_flag_of_a_point_is_told_and_no_other() -> None:
    raised = set(re.findall(r'Flag\(\s*"([a-z-]+)"', SOURCES[0].read_text()))
    raised |= set(re.findall(r'"(counts-differ|nothing-ended)"', SOURCES[1].read_text()))
    assert told("what to do") == raised
    assert len(raised) == 14


def test_every_flag_of_a_run_is_told_and_no_other() -> None:
    raised = set(re.findall(r'run\.flag\("([a-z-]+)"', SOURCES[2].read_text()))
    raised |= {run_writer.PARTIAL, run_writer.INTERRUPTED, run_writer.REPEATED}
    # Of points, too, and told there.
    assert told("what it says") == raised - {"noise"}
    assert "noise" in raised


def test_points_of_the_example_are_those_of_the_catalogue() -> None:
    (sweep,) = catalogue().find("client-rr-np").sweeps
    values, quick, printed = (", ".join(map(str, each)) for each in (sweep.values, sweep.quick, sweep.printed))
    assert f"{sweep.name}: {values}; quick: {quick}; printed: {printed}" in PAGE.read_text()


def test_numbers_of_scenarios_are_right() -> None:
    measured = [each for each in catalogue().scenarios.values() if each.is_measured]
    ready = sum(catalogue().readiness(each).can_run for each in measured)
    assert f"all {len(measured)} scenarios" in PAGE.read_text()
    assert f"{ready} of {len(measured)} scenarios" in (ROOT / "README.md").read_text()
