"""The page on measuring has the figures of the tests, and limits and names as the code has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.stall_picture import PICTURE, RATE, percentiles, picture

from ostler.lab.families import load_experiment
from ostler.lab.runner import limits
from ostler.lab.sampling.flags import LIMITS
from ostler.lab.scenarios.loader import catalogue

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "measuring.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def test_the_picture_is_that_of_the_code() -> None:
    assert PICTURE.read_text() == picture(), "write it again with python -m tests.docs.stall_picture"


@pytest.mark.parametrize(("name", "rate"), [("closed loop", 0), ("1,000 a second", RATE)])
def test_the_table_of_the_stall_has_the_figures_of_the_test(name: str, rate: float) -> None:
    assert f"| {' | '.join((name, *percentiles(rate)))} |" in PAGE.read_text()


def test_limits_are_named_as_in_tables() -> None:
    for each in (limits.PING_PONG, limits.ONE_WAY_BLOCKS, limits.FORCES):
        assert f"| {each.name} |" in PAGE.read_text()


def test_numbers_are_those_of_the_code() -> None:
    text = " ".join(PAGE.read_text().split())
    assert f"more than {LIMITS.driver_core_percent:.0f} % of a core" in text
    assert f"flagged from {LIMITS.noise_percent:.0f} % on" in text
    assert f"up to {load_experiment.LIBRARY_CLIENTS_MAX} clients" in text
    aim = "at most twice that of the bare loop"
    assert aim in text
    assert any(aim in each for each in catalogue().find("micro-driver-overhead").metrics)
    assert "ostler lab run micro-driver-overhead" in text
