"""Declarations of points that are not as they were asked for: logs without room, limits with fewer clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.lab.families import load_experiment
from ostler.lab.load.spec import LoadSpec
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    PointFailed,
    PointSpec,
    RunAborted,
    RunContext,
    Settings,
)
from ostler.lab.runner.limits import LimitProbes
from ostler.lab.runner.runner import make_experiment
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.steps import steps


@pytest.mark.parametrize(("place", "failure"), [("tmpfs", PointFailed), ("disk", RunAborted)])
def test_a_log_that_finds_no_room(
    place: str, failure: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise RunAborted("there is no room for the log")

    monkeypatch.setattr(load_experiment, "TMPFS", tmp_path)
    monkeypatch.setattr(load_experiment, "LabQueueManager", full)
    scenario = catalogue().find("rr-bb-filesystem")
    chosen = {"requesters": ["1"], "file_system": [place]}
    planned = steps(scenario, catalogue().readiness(scenario), chosen=chosen)
    settings = Settings(libraries=False, limits=False)
    experiment = make_experiment(RunContext(scenario, settings, planned, tmp_path))
    try:
        with pytest.raises(failure, match="no room"):
            experiment.prepare(experiment.contestants()[0], planned[0])
    finally:
        experiment.close()
    assert list(tmp_path.glob("ostler-lab-*")) == []


@pytest.mark.parametrize(
    ("name", "chosen", "expected"),
    [
        ("client-capacity-cmax", {"requesters": ["500", "2000"]}, [(500, 500), (1000, 1000)]),
        # Copies are passed on one by one, beside contestants with a publisher more.
        ("pubsub-1n-np", {"subscribers": ["16"], "api": ["MQI"]}, [(16, 17)]),
        ("p2p-multi-np", {"triplets": ["4"]}, [(4, 8)]),
    ],
)
def test_a_limit_stands_at_the_clients_of_its_step(
    name: str,
    chosen: dict[str, list[str]],
    expected: list[tuple[int, int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[int, int]] = []

    def prepare(
        _limits: LimitProbes,
        _contestant: Contestant,
        like: LoadSpec,
        point_spec: PointSpec,
        _place: Path | None,
        _distance_ms: float,
    ) -> None:
        told.append((len(like.requesters), point_spec.clients))

    monkeypatch.setattr(LimitProbes, "prepare", prepare)
    scenario = catalogue().find(name)
    planned = steps(scenario, catalogue().readiness(scenario), chosen=chosen)
    experiment = make_experiment(RunContext(scenario, Settings(libraries=False), planned, tmp_path))
    try:
        limit = next(each for each in experiment.contestants() if each.kind is ContestantKind.LIMIT)
        for step in planned:
            experiment.prepare(limit, step)
    finally:
        experiment.close()
    assert told == expected
