"""Triggered sessions from end to end: the applications are counted with their processor time, and end quietly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.runner.simulated_experiment import HeardView

from ostler.lab.families.design.triggered import APPLICATION_TIME, STARTED
from ostler.lab.runner.contract import QUICK
from ostler.lab.runner.runner import run_scenario
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.store.points import measured_points
from ostler.lab.store.run_reader import read_run

pytestmark = pytest.mark.slow

SETTINGS = replace(QUICK, warm_up_seconds=0.05, cool_down_seconds=0.05, repetitions=1)
STARTED_US_LEAST = 5_000
"""No process of an interpreter starts with less processor time."""


def test_applications_have_their_processor_time_and_end_quietly(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    chosen = {"disconnect_interval_ms": ["0", "10000"], "requesters": ["2"]}
    view = HeardView()
    run = read_run(run_scenario(catalogue().find("triggered-sessions"), SETTINGS, chosen, tmp_path, view))
    assert view.failures == []
    found: dict[int, dict[str, float]] = {}
    for row in run.table("statistic").to_pylist():
        if row["name"] in (APPLICATION_TIME, STARTED):
            found.setdefault(row["step"], {})[row["name"]] = row["value"]
    assert set(found) == {0, 1}
    assert found[0][STARTED] >= 1
    assert found[0][APPLICATION_TIME] * 10 >= STARTED_US_LEAST, "starts are included"
    assert found[1][APPLICATION_TIME] > 0, "an application that still runs counts as well"
    for point in measured_points(run):
        assert not any("process-ended" in flag for flag in point.flags), "applications are meant to end"
    # The application of the second step waits for ten seconds when its queue manager is ended.
    assert "Traceback" not in capfd.readouterr().err
