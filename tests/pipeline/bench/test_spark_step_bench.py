"""The benchmark of steps, with few rows: every figure is there, and nothing of what was made meanwhile stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.pipeline.test_spark_pipeline_command import run

from ostler.pipeline.bench.bench import NAME

# It has a Spark of its own, and warms it up.
pytestmark = pytest.mark.stress


def test_steps_are_measured_beside_their_bare_counterparts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--rows", "1000", "--rounds", "1", "--master", "local[2]", "--conf", "spark.driver.memory=1g")
    assert run("bench", *asked, "--output", str(tmp_path / "results"), "--scratch", str(tmp_path / "scratch")) == 0
    assert "bare rows/s" in capsys.readouterr().out
    result = json.loads((tmp_path / "results" / f"{NAME}.json").read_text())
    assert result["parameters"]["rows"] >= 1000
    figures = [*result["measurements"], *result["limits"]]
    rates = {(each["name"], each["labels"]["step"]): each["median"] for each in figures if each["unit"] == "rows/s"}
    assert set(rates) == {(name, step) for name in ("rows", "bare_rows") for step in ("ingest", "points")}
    assert all(value > 0 for value in rates.values())
    assert len(result["aims"]) == 3
    assert not any((tmp_path / "scratch").iterdir())
