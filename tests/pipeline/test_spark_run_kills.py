"""`ostler pipeline run` is killed, with its Spark, at moments all over its way: what there was before is still read."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.pipeline.lab_run_samples import make_run

from ostler.pipeline.lake.lake import CURRENT, LakeSnapshot, open_lake
from ostler.pipeline.lake.tables import TABLES, Layer

SECONDS_MAX = 600
POLL_SECONDS = 0.002
SETTINGS = (
    "spark.driver.memory=1g",
    "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions=2",
    "spark.sql.adaptive.enabled=false",
    "spark.sql.codegen.wholeStage=false",
    "spark.sql.codegen.factoryMode=NO_CODEGEN",
)
# What is there when a table is being written, and when it has been; in the order in which it comes.
MOMENTS = (
    "bronze/phase/version=2-*/_temporary",
    "bronze/latency/version=2-*/run=*/*.parquet",
    "bronze/run/version=2-*/_temporary",
    "silver/point/version=2-*",
    "quarantine/rejected/version=2-*",
    "gold/cost/version=2-*/*.parquet",
    "gold/peak/version=2-*/*.parquet",
    "gold/comparison/version=2-*/_temporary",
    "current.json.new",
)


def command(root: Path, lake: str = "lake") -> list[str]:
    words = ["-m", "ostler.cli.main", "pipeline", "run", str(root / "runs"), "--lake", str(root / lake)]
    return [sys.executable, *words, "--master", "local[2]", *(word for each in SETTINGS for word in ("--conf", each))]


def run(root: Path, lake: str = "lake") -> None:
    ended = subprocess.run(command(root, lake), capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    # Nothing of Java, of Spark's warnings and of its progress either.
    assert (ended.returncode, ended.stderr) == (0, "")


def kill_everything(process: subprocess.Popen[bytes]) -> None:
    """At once, so that nobody can clear up: the program, its Java, and Python processes of that."""
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    process.send_signal(signal.SIGKILL)
    for each in family:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait(SECONDS_MAX)
    psutil.wait_procs(family, SECONDS_MAX)


def killed_at(root: Path, moment: str) -> bool:
    """Return True when it was killed while a file was there; else it had ended before that was seen."""
    process = subprocess.Popen(command(root), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    waiting = threading.Event()
    try:
        while process.poll() is None:
            if any((root / "lake").glob(moment)):
                kill_everything(process)
                return True
            waiting.wait(POLL_SECONDS)
    finally:
        kill_everything(process)
    return False


def rows(lake: LakeSnapshot) -> dict[str, list[str]]:
    """All rows of all tables, in an order that does not matter."""
    return {name: sorted(repr(plain(row)) for row in lake.read(table).to_pylist()) for name, table in TABLES.items()}


def plain(value: object) -> object:
    """Real numbers in nine digits: the last ones depend on the order in which they were added."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def left_over(root: Path) -> set[str]:
    """Directories that nobody needs."""
    lake = root / "lake"
    listed = json.loads((lake / CURRENT).read_text())
    needed = {part["path"] for parts in listed["tables"].values() for part in parts} | set(listed["unused"])
    files = [path for layer in Layer for path in (lake / layer.value).rglob("*.parquet")]
    return {str(path.parent.relative_to(lake)) for path in files} - needed


def moments(seed: int) -> Sequence[str]:
    """A handful, in their order: one of each pair, and the last one."""
    chance = random.Random(seed)
    return [*(chance.choice(MOMENTS[at : at + 2]) for at in range(0, len(MOMENTS) - 1, 2)), MOMENTS[-1]]


@pytest.mark.stress
@pytest.mark.timeout(3600)
def test_a_run_that_is_killed_leaves_the_last_good_tables(tmp_path: Path) -> None:
    make_run(tmp_path / "runs", "run-1", steps=1)
    run(tmp_path)
    first = open_lake(tmp_path / "lake")
    expected = rows(first)
    make_run(tmp_path / "runs", "run-2", seed=2, steps=1)
    for moment in moments(int(os.environ.get("OSTLER_SEED", "6"))):
        was_killed = killed_at(tmp_path, moment)
        now = open_lake(tmp_path / "lake")
        if now.version == first.version:
            assert was_killed, moment
            assert rows(now) == expected, moment
        else:
            # The file that says what is in force was replaced before anybody could be killed.
            assert moment == MOMENTS[-1]
    run(tmp_path)
    after = open_lake(tmp_path / "lake")
    assert after.version == 2
    assert left_over(tmp_path) == set()
    assert not (tmp_path / "lake" / f"{CURRENT}.new").exists()
    run(tmp_path, "never-killed")
    assert rows(after) == rows(open_lake(tmp_path / "never-killed"))
