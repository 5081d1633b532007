"""The benchmark of queues in Spark, with a handful of messages: every figure is there, and nothing is left running."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest
from ostler.pipeline.bench.queue_bench import KINDS, NAME, STEPS
from tests.pipeline.test_spark_pipeline_command import run

# It has a Spark of its own, and warms it up.
pytestmark = pytest.mark.stress


def test_queues_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--messages", "50", "--body-bytes", "100", "--rounds", "1", "--master", "local[1]")
    places = ("--output", str(tmp_path / "results"), "--scratch", str(tmp_path / "scratch"))
    assert run("bench", "--queues", *asked, *places, "--conf", "spark.driver.memory=1g") == 0
    told = capsys.readouterr().out
    for word in (*STEPS, *KINDS, "MB/s"):
        assert word in told
    result = json.loads((tmp_path / "results" / f"{NAME}.json").read_text())
    assert result["parameters"]["messages"] == 50
    figures = {
        (each["labels"]["step"], each["labels"]["kind"], each["name"]): each["median"]
        for each in (*result["measurements"], *result["limits"])
    }
    assert set(figures) == {(step, kind, name) for step in STEPS for kind in KINDS for name in ("rows", "bodies")}
    assert all(value > 0 for value in figures.values())
    assert len(result["ratios"]) == len(STEPS) * (len(KINDS) - 1)
    assert not any((tmp_path / "scratch").iterdir())
    assert not [
        each for each in psutil.Process().children(recursive=True) if "queue_manager_inside" in " ".join(each.cmdline())
    ]
