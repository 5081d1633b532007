"""Every family from end to end: real queue managers, real drivers, quick steps, with short windows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.runner.simulated_experiment import HeardView

from ostler.lab.runner.contract import QUICK
from ostler.lab.runner.point_measurement import OPERATION_PARAMETER
from ostler.lab.runner.runner import run_scenario
from ostler.lab.scenarios.families import FAMILIES
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Scenario
from ostler.lab.store.manifest import RunState
from ostler.lab.store.points import measured_points
from ostler.lab.store.run_reader import read_run
from ostler.lab.store.validation import validate

pytestmark = pytest.mark.slow

SETTINGS = replace(QUICK, warm_up_seconds=0.05, measured_seconds=0.25, cool_down_seconds=0.05, repetitions=1)
# Thousands of connections are for those who measure: a few hundred show that it works. And where something else is
# swept besides, one number of clients will do.
FEWER = {
    "capacity": ("client-capacity-cmax", {"requesters": ["200"]}),
    "connection-scaling": ("appl-connection-scaling", {"requesters": ["200"]}),
    "rated": ("client-rated-pm", {"requesters": ["50"]}),
    "short-session": ("client-short-session", {"requesters": ["50"]}),
    "neighbours": ("hostile-neighbour", {"neighbour": ["none", "topics"]}),
    "publish-subscribe": ("pubsub-1n-np", {"subscribers": ["3"]}),
    "response-time": ("mqi-response-time", {"message_bytes": ["2048"]}),
    "trusted": ("local-trusted-np", {"requesters": ["7"]}),
    "logging": ("linear-vs-circular-logging", {"requesters": ["20"]}),
    "implicit-syncpoint": ("implicit-syncpoint-by-apps", {"requesters": ["20"]}),
    "tls": ("rr-cc-tls-np", {"requesters": ["20"]}),
    "file-systems": ("rr-bb-filesystem", {"requesters": ["20"]}),
    "queue-depth": ("micro-queue-depth", {"depth": ["1000"]}),
    "group-commit": ("micro-group-commit", {"in_flight": ["10"]}),
    "message-restart": ("micro-restart", {"messages": ["2000"]}),
    "mqsc-define": ("micro-mqsc-define", {"objects": ["100"]}),
    "mqsc-display": ("micro-mqsc-display", {"queues": ["200"]}),
    "topic-matching": ("micro-topic-matching", {"subscriptions": ["500"]}),
}
# Whoever sends a message a minute needs a while to be seen.
RARE = {"capacity": 2.0, "short-session": 1.0}


def _one_of_each() -> list[Scenario]:
    """One scenario of each family, but for those that need Spark, which are tested beside it."""
    found: dict[str, Scenario] = {}
    for scenario in catalogue().scenarios.values():
        is_ours = scenario.is_measured and FAMILIES[scenario.family].runner.startswith("ostler.lab.")
        if is_ours and catalogue().readiness(scenario).can_run:
            found.setdefault(scenario.family, scenario)
    return list(found.values())


def test_all_families_of_today_have_a_runner() -> None:
    built = {name for name, family in FAMILIES.items() if family.runner.startswith("ostler.lab.")}
    assert built == {scenario.family for scenario in _one_of_each()}
    assert len(built) >= 25


@pytest.mark.parametrize("scenario", _one_of_each(), ids=lambda each: each.family)
def test_quick_form(scenario: Scenario, tmp_path: Path) -> None:
    name, chosen = FEWER.get(scenario.family, (scenario.id, {}))
    view = HeardView()
    settings = replace(SETTINGS, measured_seconds=RARE.get(scenario.family, SETTINGS.measured_seconds))
    directory = run_scenario(catalogue().find(name), settings, chosen, tmp_path, view)
    run = read_run(directory)
    assert view.failures == []
    assert run.manifest.state is RunState.COMPLETE, run.manifest.reason
    assert validate(run) == []
    points = measured_points(run)
    counts: Counter[tuple[object, ...]] = Counter()
    failures: Counter[tuple[object, ...]] = Counter()
    for row in run.table("operation").to_pylist():
        key = (row["contestant"], row["step"], row["repetition"], row["operation"])
        counts[key] += row["count"]
        failures[key] += row["failed"]
    measured = {(point.contestant, point.step, point.repetition) for point in points}
    skipped = {each.key for each in run.manifest.skipped}
    assert {point.key for point in run.manifest.points} == measured | skipped
    for point in points:
        assert "counts-differ" not in " ".join(point.flags), point
        # On a machine that stalls nothing may have ended within the window, but something did before or behind it.
        main = point.parameters[OPERATION_PARAMETER]
        key = (point.contestant, point.step, point.repetition, main)
        assert counts[key] > 0, key
        assert failures[key] == 0, key
    assert [path.name for path in tmp_path.iterdir()] == [directory.name]
