"""Deviations of a whole run on this machine that follow from its set-up: smaller logs, cores that are not there,
applications inside the queue manager's process. The catalogue has those that hold on every machine."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ostler.lab.runner.contract import RunAborted, RunContext, Settings
from ostler.lab.runner.runner import make_experiment
from ostler.lab.runner.windows import window_seconds
from ostler.lab.scenarios.features import Readiness
from ostler.lab.scenarios.model import Deviation, Scenario
from ostler.lab.scenarios.steps import steps


def expected_deviations(scenario: Scenario, readiness: Readiness) -> Sequence[Deviation]:
    """Return what a run in full form would state on this machine beyond the deviations of the catalogue; none where
    the scenario cannot run, or a package that it needs is missing. Nothing is started."""
    if not scenario.is_measured or not readiness.can_run:
        return ()
    settings = Settings()
    settings = replace(settings, measured_seconds=window_seconds(scenario, settings))
    with tempfile.TemporaryDirectory() as scratch:
        try:
            experiment = make_experiment(RunContext(scenario, settings, steps(scenario, readiness), Path(scratch)))
        except RunAborted:
            return ()
        try:
            return tuple(experiment.deviations)
        finally:
            experiment.close()
