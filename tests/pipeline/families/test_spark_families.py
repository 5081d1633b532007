"""Families of the laboratory that need Spark, with a handful of messages and rows: every point is there, and nothing is
left running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.lab.runner.simulated_experiment import HeardView

from ostler.lab.runner.contract import QUICK, RunAborted, RunContext
from ostler.lab.runner.runner import run_scenario
from ostler.lab.runner.step_results import StepMetric, StepResult, step_metrics, step_results
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.store.run_reader import read_run
from ostler.lab.store.validation import validate
from ostler.pipeline.families import queues, steps

# Each has a Spark of its own.
with_spark = pytest.mark.stress
SETTINGS = replace(QUICK, warm_up_seconds=0.0, measured_seconds=0.1, cool_down_seconds=0.0, repetitions=1)


def measured(name: str, output: Path, chosen: Mapping[str, Sequence[str]]) -> tuple[list[StepResult], list[StepMetric]]:
    view = HeardView()
    run = read_run(run_scenario(catalogue().find(name), SETTINGS, chosen, output, view))
    assert view.failures == []
    assert validate(run) == []
    assert not run.remaining()
    assert [each.name for each in output.iterdir()] == [run.directory.name], "what was made meanwhile is gone"
    children = [" ".join(each.cmdline()) for each in psutil.Process().children(recursive=True)]
    assert not [each for each in children if "java" in each or "queue_managers" in each]
    return step_results(run), step_metrics(run)


@with_spark
def test_queues_beside_programs_and_parquet(tmp_path: Path) -> None:
    results, _ = measured("spark-queues", tmp_path, {"messages": ["50"], "message_bytes": ["100"]})
    found = {(each.points["task"], each.contestant) for each in results}
    contestants = (queues.SOURCE, queues.PROGRAM, queues.PARQUET)
    tasks = (queues.WRITE, queues.BATCH, queues.STREAM)
    assert found == {(task, each.name) for task in tasks for each in contestants}
    assert all(each.mean_ns.median for each in results)


@with_spark
def test_steps_beside_plain_spark(tmp_path: Path) -> None:
    results, metrics = measured("spark-steps", tmp_path, {"rows": ["1000"]})
    found = {(each.points["task"], each.contestant) for each in results}
    contestants = (steps.PIPELINE, steps.PLAIN)
    assert found == {(task, each.name) for task in (steps.INGEST, steps.POINTS) for each in contestants}
    assert {each.name for each in metrics} == {steps.HEAP, steps.RESIDENT}


def test_without_java_nothing_is_begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    scenario = catalogue().find("spark-steps")
    with pytest.raises(RunAborted, match=r"Spark needs Java .* there is no java in it"):
        steps.experiment(RunContext(scenario, SETTINGS, (), tmp_path))
