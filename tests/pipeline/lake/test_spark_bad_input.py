"""Bad input over the command line: a sentence that says what to do, an exit status, and the tables as they were."""

from __future__ import annotations

import json
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from tests.pipeline.lab_run_samples import change_manifest, make_part_of_run, make_run, manifest

from ostler.cli.main import main
from ostler.lab.store.run_writer import RunWriter
from ostler.pipeline import run as conductor
from ostler.pipeline.lake.lake import CURRENT, open_lake
from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.tables import POINT, REJECTED, RUN
from ostler.pipeline.run import run_pipeline
from ostler.pipeline.steps import ingest

ALL_TAKEN, NOT_ALL, REFUSED, NO_JAVA = 0, 1, 2, 5
SECONDS_MAX = 240
# No file of Spark may grow beyond this, as on a disk that is nearly full.
FILE_BYTES_MAX = 2048


@pytest.fixture(scope="module")
def sample(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, and a lake that has them. Not to be changed."""
    root = tmp_path_factory.mktemp("sample")
    make_run(root / "runs", "run-1", steps=1)
    run_pipeline(lambda rows: spark, root / "lake", [root / "runs"], gold=())
    return root


@pytest.fixture
def root(sample: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample, tmp_path / "sample"))


@pytest.fixture(autouse=True)
def no_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Input is bad long before that, and it takes as long as everything else."""
    monkeypatch.setattr(conductor, "GOLD_STEPS", ())


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing on the path: what ends well here has not asked for Spark."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


class Lake:
    """That tables are as they were: the file that says what is in force, and every file that is."""

    def __init__(self, root: Path) -> None:
        self.directory = root / "lake"
        self._before = self._content()

    def _content(self) -> dict[str, bytes]:
        current = self.directory / CURRENT
        listed = json.loads(current.read_text())["tables"]
        places = [self.directory / part["path"] for parts in listed.values() for part in parts]
        files = [path for place in places for path in place.glob("*.parquet")]
        return {str(path): path.read_bytes() for path in (current, *files)}

    def is_as_it_was(self) -> bool:
        return self._content() == self._before


def run(root: Path) -> int:
    return main(["pipeline", "run", str(root / "runs"), "--lake", str(root / "lake"), "--master", "local[2]"])


def test_no_java(root: Path, no_java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(root / "runs", "run-2", steps=1)
    lake = Lake(root)
    assert run(root) == NO_JAVA
    assert "Spark needs Java 17 or newer, and there is none on this machine. Install one" in capsys.readouterr().err
    assert lake.is_as_it_was()


def test_an_old_java(root: Path, no_java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(root / "runs", "run-2", steps=1)
    program = no_java / "java"
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.20\"' >&2\n")
    program.chmod(0o755)
    lake = Lake(root)
    assert run(root) == NO_JAVA
    assert f"{program} is Java 11. Install a newer one" in capsys.readouterr().err
    assert lake.is_as_it_was()


def test_a_run_that_is_being_written(root: Path, no_java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = Lake(root)
    with RunWriter.create(root / "runs", manifest("run-2")):
        assert run(root) == NOT_ALL
    assert "run-2 is still being written. Take it when the run has ended." in capsys.readouterr().err
    assert lake.is_as_it_was()


def test_a_newer_schema(root: Path, no_java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = Lake(root)
    change_manifest(make_part_of_run(root / "runs", "run-2", points=1), schema_version=99)
    assert run(root) == NOT_ALL
    told = capsys.readouterr()
    assert "has schema version 99, and this version of ostler knows up to 2" in told.err
    assert "Nothing is new" in told.out
    assert lake.is_as_it_was()


def test_a_newer_lake(root: Path, no_java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / "lake" / CURRENT
    path.write_text(path.read_text().replace('"format": 2', '"format": 3'))
    lake = Lake(root)
    assert run(root) == REFUSED
    assert "is a lake of format 3" in capsys.readouterr().err
    assert lake.is_as_it_was()


def test_no_runs_there(root: Path, no_java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(root / "runs")
    assert run(root) == REFUSED
    assert "Name a run, or a directory with runs." in capsys.readouterr().err


def test_two_at_once(root: Path, no_java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(root / "runs", "run-2", steps=1)
    lake = Lake(root)
    with LakeChange(root / "lake"):
        assert run(root) == REFUSED
    assert "Somebody else is changing the lake" in capsys.readouterr().err
    assert lake.is_as_it_was()


def test_a_corrupt_file_is_set_aside_with_its_segment(
    spark: SparkSession, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = make_run(root / "runs", "run-2", steps=1)
    corrupt = sorted(directory.glob("segments/*/latency.parquet"))[-1]
    content = bytearray(corrupt.read_bytes())
    content[len(content) // 2] ^= 0xFF
    corrupt.write_bytes(content)
    before = [row for row in open_lake(root / "lake").read(POINT).to_pylist() if row["run"] == "run-1"]
    assert run(root) == NOT_ALL
    assert "ostler pipeline validate --lake" in capsys.readouterr().err
    now = open_lake(root / "lake")
    reasons = {row["reason"] for row in now.read(REJECTED).to_pylist() if row["rule"] == "file"}
    assert len(reasons) == 1
    assert "latency.parquet is not the file that was written" in reasons.pop()
    points = now.read(POINT).to_pylist()
    assert [row for row in points if row["run"] == "run-1"] == before
    assert 0 < len([row for row in points if row["run"] == "run-2"]) < len(before)


def test_a_lake_that_lost_a_file(
    spark: SparkSession, root: Path, no_java: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (root / "lake").glob("bronze/run/version=*/*.parquet"):
        path.unlink()
    lake = Lake(root)
    assert run(root) == REFUSED
    assert "Restore the lake from a copy, or remove it and run the pipeline again." in capsys.readouterr().err
    assert lake.is_as_it_was()


def test_a_full_disk(spark: SparkSession, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(root / "runs", "run-2", steps=1)
    lake = Lake(root)
    with nearly_full():
        assert run(root) == REFUSED
    told = capsys.readouterr().err
    assert told.startswith("ostler pipeline run: The pipeline stopped: ")
    assert told.endswith("Tables are as they were.\n")
    assert "Traceback" not in told
    assert lake.is_as_it_was()
    assert run(root) == ALL_TAKEN
    assert {row["run"] for row in open_lake(root / "lake").read(RUN).to_pylist()} == {"run-1", "run-2"}


@contextmanager
def nearly_full() -> Iterator[None]:
    """Let Spark write no file that is longer than some bytes."""
    gateway = SparkContext._gateway
    assert gateway is not None
    pid = gateway.proc.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


def test_rows_that_get_lost_on_the_way_are_missed(
    spark: SparkSession, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(root / "runs", "run-2", steps=1)
    lake = Lake(root)
    keep = ingest.sound_samples
    # As when a worker writes what it has to a disk that nobody else sees.
    monkeypatch.setattr(ingest, "sound_samples", lambda samples, table: keep(samples, table).limit(1))
    assert run(root) == REFUSED
    assert " of phase were read, and 1 were ingested and 0 quarantined. " in capsys.readouterr().err
    assert lake.is_as_it_was()


def test_a_spark_that_does_not_start(root: Path) -> None:
    make_run(root / "runs", "run-2", steps=1)
    lake = Lake(root)
    words = ["pipeline", "run", str(root / "runs"), "--lake", str(root / "lake"), "--conf", "spark.driver.memory=lots"]
    command = [sys.executable, "-m", "ostler.cli.main", *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert ended.returncode == REFUSED
    assert ended.stderr == (
        "ostler pipeline run: Spark does not start on local[*]: Invalid maximum heap size: -Xmxlots.\n"
    )
    assert lake.is_as_it_was()


def test_a_queue_manager_that_does_not_answer(root: Path, no_java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        lake = Lake(root)
        arguments = ["QM1", "-c", f"127.0.0.1({port})", "--channel", "ANY", "--lake", str(root / "lake")]
        assert main(["pipeline", "watch", *arguments, "--seconds", "0"]) == REFUSED
    assert "MQRC_HOST_NOT_AVAILABLE" in capsys.readouterr().err
    assert lake.is_as_it_was()
