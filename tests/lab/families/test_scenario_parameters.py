"""Parameters and sweeps of load scenarios: what the data of a scenario says is what its family reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ostler.lab.runner.contract import RunContext, Settings
from ostler.lab.runner.runner import make_experiment
from ostler.lab.scenarios.families import FAMILIES
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import LoadKind, Point, Scenario, Value
from ostler.lab.scenarios.steps import steps

# Families whose experiments read all of it before the first point is prepared.
MODULES = ("ostler.lab.families.loads", "ostler.lab.families.channels.distributed")
LARGE_BYTES = 20_480


class WatchedValues(Mapping[str, Value]):
    """Parameters that keep the names that were asked for."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Value:
        self.read.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class WatchedPoints(Mapping[str, Point]):
    """Points of a step that keep the names that were asked for, for all steps together."""

    def __init__(self, points: Mapping[str, Point], read: set[str]) -> None:
        self._points = points
        self._read = read

    def __getitem__(self, name: str) -> Point:
        self._read.add(name)
        return self._points[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)


def _load_scenarios() -> list[Scenario]:
    return [
        scenario
        for scenario in catalogue().scenarios.values()
        if scenario.is_measured
        and FAMILIES[scenario.family].runner.partition(":")[0] in MODULES
        and (scenario.load is None or scenario.load.kind is not LoadKind.IDLE)
        and catalogue().readiness(scenario).can_run
    ]


@pytest.mark.parametrize("scenario", _load_scenarios(), ids=lambda each: each.id)
def test_nothing_is_stated_that_nobody_reads(scenario: Scenario, tmp_path: Path) -> None:
    swept: set[str] = set()
    parameters = WatchedValues(scenario.parameters)
    planned = steps(scenario, catalogue().readiness(scenario))
    watched_steps = tuple(replace(step, points=WatchedPoints(step.points, swept)) for step in planned)
    watched = replace(scenario, parameters=parameters)
    make_experiment(RunContext(watched, Settings(libraries=False), watched_steps, tmp_path)).close()
    unread = set(scenario.parameters) - parameters.read
    if all(int(step.points.get("message_bytes", 0)) < LARGE_BYTES for step in planned):
        unread.discard("queue_buffer_bytes_large")
    assert unread == set()
    assert {sweep.name for sweep in scenario.sweeps} - swept == set()
