"""The same tables from a real standalone master with two workers, on loopback, as from local threads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pipeline.lab_run_samples import make_run
from tests.pipeline.spark import cluster_program
from tests.pipeline.spark.spark_daemons import SECONDS_MAX, cluster

from ostler.lab.store.points import measured_points
from ostler.lab.store.run_reader import read_run
from ostler.pipeline.lake.lake import open_lake
from ostler.pipeline.lake.tables import BRONZE, POINT

WORKERS = 2


@pytest.mark.stress
@pytest.mark.timeout(900)
def test_a_cluster_makes_the_tables(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", "run-1", steps=1)
    with cluster(tmp_path, WORKERS) as address:
        words = [sys.executable, cluster_program.__file__, address, str(tmp_path / "runs"), str(tmp_path / "lake")]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told == {"executors": WORKERS, "taken": ["run-1"]}
    lake, stored = open_lake(tmp_path / "lake"), read_run(run)
    for name, table in BRONZE.items():
        assert lake.rows(table) == stored.table(name).num_rows
    main = {
        (row["contestant"], row["repetition"]): row["p99_ns"] for row in lake.read(POINT).to_pylist() if row["is_main"]
    }
    assert main == {
        (point.contestant, point.repetition): point.operations["round trip"].percentiles_ns[99.0]
        for point in measured_points(stored)
    }
