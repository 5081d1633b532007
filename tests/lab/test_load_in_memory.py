"""Logs in a file system in memory: one that is too small is no reason to measure nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.lab.experiments import load_experiment
from ostler.lab.running.contract import PointFailed, Settings, Sitting, SittingOver
from ostler.lab.running.runner import make_experiment
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.steps import steps


@pytest.mark.parametrize(("place", "failure"), [("tmpfs", PointFailed), ("disk", SittingOver)])
def test_a_log_that_finds_no_room(
    place: str, failure: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise SittingOver("there is no room for the log")

    monkeypatch.setattr(load_experiment, "TMPFS", tmp_path)
    monkeypatch.setattr(load_experiment, "LabQueueManager", full)
    scenario = catalogue().find("rr-bb-filesystem")
    chosen = {"requesters": ["1"], "file_system": [place]}
    planned = steps(scenario, catalogue().readiness(scenario), chosen=chosen)
    settings = Settings(libraries=False, limits=False)
    experiment = make_experiment(Sitting(scenario, settings, planned, tmp_path))
    try:
        with pytest.raises(failure, match="no room"):
            experiment.prepare(experiment.entrants()[0], planned[0])
    finally:
        experiment.close()
    assert list(tmp_path.glob("ostler-lab-*")) == []
