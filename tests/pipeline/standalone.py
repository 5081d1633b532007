"""A Spark cluster on this machine: a master and workers, each a process of its own, from the pyspark package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_LOOPBACK = "127.0.0.1"
_BEGUN_SECONDS_MAX = 180.0
_ENDED_SECONDS_MAX = 30.0


class NoCluster(Exception):
    """It did not come up. The text has the end of its log."""


@contextmanager
def standalone_cluster(directory: Path, workers: int = 2) -> Iterator[str]:
    """The URL of a master whose workers have registered. All processes have ended when this is over."""
    directory.mkdir(parents=True, exist_ok=True)
    processes: list[subprocess.Popen[bytes]] = []
    try:
        processes.append(_started(directory, "master", [_MASTER, "--host", _LOOPBACK, "--port", "0"]))
        master = _told(directory / "master.log", processes[0], r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            given = [
                "--host",
                _LOOPBACK,
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                str(directory / f"work-{number}"),
            ]
            processes.append(_started(directory, f"worker-{number}", [_WORKER, *given, master]))
        for number, process in enumerate(processes[1:]):
            _told(directory / f"worker-{number}.log", process, r"Successfully registered with master (\S+)")
        yield master
    finally:
        # Workers first: they end the executors that they have started.
        for process in reversed(processes):
            _ended(process)


def _started(directory: Path, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": _LOOPBACK,
        "SPARK_LOCAL_DIRS": str(directory / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        # Its port is fixed, and nobody here asks it.
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "PYSPARK_PYTHON": sys.executable,
    }
    ui = ["--webui-port", "0"]
    with (directory / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(HOME / "bin" / "spark-class"), arguments[0], *ui, *arguments[1:]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=directory,
        )


def _told(log: Path, process: subprocess.Popen[bytes], pattern: str) -> str:
    """What a log says, when it says it."""
    deadline = time.monotonic() + _BEGUN_SECONDS_MAX
    while time.monotonic() < deadline:
        text = log.read_text(errors="replace")
        found = re.search(pattern, text)
        if found is not None:
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise NoCluster(f"{log.name}: {log.read_text(errors='replace')[-2000:]}")


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_ENDED_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
