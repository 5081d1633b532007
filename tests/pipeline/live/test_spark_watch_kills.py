"""Kill `ostler pipeline watch` with all its processes beside a queue manager that works, and count what is told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pipeline.test_spark_kills import NAME, PATH, Stage, kill_tree

import ostler
from ostler.pipeline.lake.lake import open_lake
from ostler.pipeline.lake.live_tables import ACCOUNT, ACTIVITY
from ostler.testing.running import CHANNEL, HOST

MESSAGES = 20
MAIN = [sys.executable, "-m", "ostler.cli.main"]

pytestmark = [pytest.mark.stress, pytest.mark.timeout(900)]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    try:
        stage.start_manager()
        command(stage, "ALTER QMGR STATMQI(ON) STATQ(ON) ACCTMQI(ON) ACCTQ(ON) STATINT(1) ACCTINT(1)")
        yield stage
    finally:
        stage.close()


def command(stage: Stage, mqsc: str) -> None:
    environment = {**os.environ, **PATH, "OSTLER_DATA": str(stage.place / "data")}
    subprocess.run([*MAIN, "runmqsc", NAME], input=mqsc, text=True, check=True, env=environment, capture_output=True)


def start_watch(stage: Stage, lake: Path, *more: str) -> subprocess.Popen[str]:
    where = [NAME, "-c", f"{HOST}({stage.port})", "--channel", CHANNEL, "--lake", str(lake), "--interval", "1"]
    watch = subprocess.Popen(
        [*MAIN, "pipeline", "watch", *where, "--master", "local[2]", "--conf", "spark.driver.memory=1g", *more],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **PATH},
    )
    stage.jobs.append(watch)
    return watch


def wait_for_batch(watch: subprocess.Popen[str]) -> None:
    assert watch.stdout is not None
    assert any(" records, version " in line for line in watch.stdout), "it ended before its first batch"


def puts(lake: Path) -> tuple[int, int]:
    found = open_lake(lake)
    accounts = found.read(ACCOUNT).to_pylist()
    activity = found.read(ACTIVITY).to_pylist()
    return (
        sum(row["puts"] for row in accounts if row["queue"] == "IN"),
        sum(row["puts"] for row in activity if row["object"] == "IN"),
    )


def test_a_watch_killed_twice_tells_everything_once(stage: Stage, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for _ in range(2):
        stage.put(MESSAGES)
        watch = start_watch(stage, lake)
        wait_for_batch(watch)
        stage.put(MESSAGES)
        kill_tree(watch)
    command(stage, "RESET QMGR TYPE(STATISTICS)")
    last = start_watch(stage, lake, "--seconds", "0")
    told, _ = last.communicate(timeout=600)
    assert (last.returncode, "Taken: " in told) == (0, True)
    assert puts(lake) == (4 * MESSAGES, 4 * MESSAGES)
    with ostler.connect(NAME, f"{HOST}({stage.port})", channel=CHANNEL, binding="client") as connection:
        assert connection.open("IN", "b").depth == 4 * MESSAGES
