"""The page on adding a family of scenarios has an example that works: it is taken from the page, and run."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the laboratory's packages are not installed")

from tests.lab.runner.simulated_experiment import HeardView

from ostler.lab.runner.contract import QUICK
from ostler.lab.runner.runner import run_scenario
from ostler.lab.scenarios.families import FAMILIES, Family
from ostler.lab.scenarios.loader import catalogue, read_report
from ostler.lab.store.manifest import RunState
from ostler.lab.store.run_reader import read_run
from ostler.lab.store.validation import validate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "add-a-scenario-family.md"
REPORT = """
[report]
name = "ours"
title = "Scenarios of our own"
product = "Ostler"
version = "1"
platform = "Linux"
year = 2026
text = "none"
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests"),
]


def block(language: str, number: int = 0) -> str:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return found[number]


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "opening.py").write_text(block("python"))
    monkeypatch.syspath_prepend(tmp_path)
    line = block("python", 1).replace("ostler.lab.families.opening", "opening")
    family = eval(line, {"Family": Family})
    monkeypatch.setitem(FAMILIES, family.name, family)
    _, (scenario,) = read_report(tomllib.loads(REPORT + block("toml")), "ours.toml", catalogue().features)
    assert scenario.family == family.name
    view = HeardView()
    settings = replace(QUICK, warm_up_seconds=0.1, measured_seconds=0.3, repetitions=1)
    try:
        run = read_run(run_scenario(scenario, settings, {}, tmp_path / "runs", view))
    finally:
        sys.modules.pop("opening", None)
    assert view.failures == []
    assert run.manifest.state is RunState.COMPLETE
    assert validate(run) == []
    assert {(each.contestant, each.step) for each in run.manifest.points} == {
        (name, step) for name in ("Ostler", "bare exchanges") for step in (0, 1)
    }
    names = {row["name"] for row in run.table("event").to_pylist()}
    assert {"counts-agree: opens", "counts-agree: closes"} <= names
    assert not any(name.startswith("counts-differ") for name in names)
