"""The same tables from a real standalone master with two workers, on loopback, as from local threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
from tests.free_ports import free_port
from tests.pipeline import cluster_program
from tests.pipeline.lab_run_samples import make_run

from ostler.lab.store.points import measured_points
from ostler.lab.store.run_reader import read_run
from ostler.pipeline.lake import open_lake
from ostler.pipeline.tables import BRONZE, POINT

WORKERS = 2
SPARK = Path(pyspark.__file__).parent
SECONDS_MAX = 240


@contextmanager
def daemon(started: str, *words: str) -> Iterator[None]:
    """A part of a cluster, once it has said that it is there."""
    environment = {**os.environ, "SPARK_HOME": str(SPARK), "SPARK_DAEMON_MEMORY": "256m"}
    command = [str(SPARK / "bin" / "spark-class"), *words]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stderr is not None
        assert any(started in line for line in process.stderr)
        yield
    finally:
        process.terminate()
        process.wait(SECONDS_MAX)


@contextmanager
def cluster(place: Path) -> Iterator[str]:
    """The address of a master with its workers."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    words = ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as stack:
        master = "org.apache.spark.deploy.master.Master"
        stack.enter_context(daemon("New state: ALIVE", master, *words, "--port", str(port)))
        for number in range(WORKERS):
            own = ["-c", "1", "-m", "512m", "-d", str(place / f"worker-{number}")]
            worker = "org.apache.spark.deploy.worker.Worker"
            stack.enter_context(daemon("Successfully registered with master", worker, *words, *own, address))
        yield address


@pytest.mark.stress
@pytest.mark.timeout(900)
def test_a_cluster_makes_the_tables(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", "run-1", steps=1)
    with cluster(tmp_path) as address:
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
