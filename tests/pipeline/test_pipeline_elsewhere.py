"""The whole pipeline on another master than the one inside: a cluster, and Spark Connect. By the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.pipeline.lab_run_samples import make_part_of_run, make_run

from ostler.pipeline.lake import open_lake
from ostler.pipeline.tables import TABLES

pytestmark = pytest.mark.skipif(find_spec("pyspark") is None, reason="needs pyspark")

SMALL = ("--conf", "spark.driver.memory=1g", "--conf", "spark.sql.shuffle.partitions=2")


def pipeline(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ostler.cli.main", "pipeline", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        check=False,
    )


def tables_of(lake: Path) -> dict[str, list[str]]:
    """All rows of all tables, as text and in order."""
    found = open_lake(lake)
    return {
        name: sorted(json.dumps(row, sort_keys=True, default=str) for row in found.read(table).to_pylist())
        for name, table in TABLES.items()
    }


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_cluster_makes_the_same_tables(tmp_path: Path) -> None:
    from tests.pipeline.standalone import standalone_cluster

    runs = tmp_path / "runs"
    make_run(runs, "run-1")
    make_part_of_run(runs, "run-2", points=3)
    here = pipeline("run", str(runs), "--lake", str(tmp_path / "here"), "--master", "local[2]", *SMALL)
    assert here.returncode == 0, here.stderr
    with standalone_cluster(tmp_path / "cluster") as master:
        executors = ("--conf", "spark.executor.memory=512m", "--conf", "spark.driver.host=127.0.0.1")
        there = pipeline("run", str(runs), "--lake", str(tmp_path / "there"), "--master", master, *SMALL, *executors)
        # Executors leave their directories with the workers that started them: both took part.
        applications = [list((tmp_path / "cluster" / f"work-{number}").glob("app-*/*")) for number in range(2)]
    assert there.returncode == 0, there.stderr
    assert all(applications)
    tables = tables_of(tmp_path / "there")
    assert tables == tables_of(tmp_path / "here")
    assert tables["point"]
    assert tables["peak"]


def test_nobody_at_an_address_is_told_at_once(tmp_path: Path) -> None:
    make_run(tmp_path / "runs", "run-1")
    for address in ("spark://127.0.0.1:1", "sc://127.0.0.1:1"):
        found = pipeline("run", str(tmp_path / "runs"), "--lake", str(tmp_path / "lake"), "--master", address)
        assert found.returncode == 2
        assert "Nobody answers at 127.0.0.1:1" in found.stderr
        assert open_lake(tmp_path / "lake").version == 0
