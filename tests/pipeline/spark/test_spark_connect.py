"""The same tables through Spark Connect as from a Spark of one's own, and what commands say when the server goes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pipeline.lab_run_samples import make_run
from tests.pipeline.lake.test_run_files import flip_byte
from tests.pipeline.spark.spark_daemons import SECONDS_MAX, Daemon, connect_server

from ostler.lab.store.points import measured_points
from ostler.lab.store.run_reader import read_run
from ostler.pipeline.lake.lake import open_lake
from ostler.pipeline.lake.tables import BRONZE, COMPARISON, PEAK, POINT

for name in ("grpc", "grpc_status", "google.rpc", "pandas", "zstandard"):
    pytest.importorskip(name, reason="Spark Connect needs pip install 'pyspark[connect]'")

pytestmark = [pytest.mark.stress, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Daemon]]:
    with connect_server() as found:
        yield found


def pipeline(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ostler.cli.main", "pipeline", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX * 2, check=False)


def test_commands_work_through_a_server(tmp_path: Path, server: tuple[str, Daemon]) -> None:
    address, _ = server
    run = make_run(tmp_path / "runs", "run-1", steps=1)
    lake = tmp_path / "lake"
    ended = pipeline("run", tmp_path / "runs", "--lake", lake, "--master", address)
    assert (ended.returncode, ended.stderr) == (0, "")
    tables, stored = open_lake(lake), read_run(run)
    for name, table in BRONZE.items():
        assert tables.rows(table) == stored.table(name).num_rows
    points = [row for row in tables.read(POINT).to_pylist() if row["is_main"]]
    assert {(row["contestant"], row["repetition"]): row["p99_ns"] for row in points} == {
        (point.contestant, point.repetition): point.operations["round trip"].percentiles_ns[99.0]
        for point in measured_points(stored)
    }
    assert tables.rows(PEAK)
    assert tables.rows(COMPARISON)
    # A second run with a damaged file: told row by row, by the same server.
    other = make_run(tmp_path / "others", "run-2", steps=1)
    flip_byte(sorted(other.glob("segments/*/latency.parquet"))[0])
    ended = pipeline("validate", other, "--json", "--master", address)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert {each["run"] for each in json.loads(ended.stdout)["violations"]} == {"run-2"}


def test_a_server_that_ends_is_told(tmp_path: Path) -> None:
    """Not after minutes of trying again."""
    make_run(tmp_path / "runs", "run-1", steps=1)
    words = ["run", tmp_path / "runs", "--lake", tmp_path / "lake", "--master"]
    with connect_server() as (address, daemon):
        command = [sys.executable, "-m", "ostler.cli.main", "pipeline", *map(str, words), address]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert any("rows of phase." in line for line in process.stdout)
        daemon.end()
        _, told = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 2
    assert "Spark has ended. Tables are as they were. Run the pipeline again." in told
    assert "Traceback" not in told
    assert open_lake(tmp_path / "lake").version == 0
    ended = pipeline(*words, address)
    assert ended.returncode == 2
    assert "Nobody answers at" in ended.stderr
