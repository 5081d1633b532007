"""Parts of Spark that run on their own, started from the pyspark package on loopback: masters, workers, servers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from tests.free_ports import free_port

SPARK = Path(pyspark.__file__).parent
SECONDS_MAX = 240
# Nothing here runs long enough for a better compiler or collector to pay.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
HERE = ("--host", "127.0.0.1", "--webui-port", "0")


class Daemon:
    """A process that says in a line on standard error that it is there. Its lines are read as long as it lives."""

    def __init__(self, started: str, program: str, *words: str, memory: str = "256m") -> None:
        environment = {
            **os.environ,
            "SPARK_HOME": str(SPARK),
            "SPARK_DAEMON_MEMORY": memory,
            "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }
        self.process = subprocess.Popen(
            [str(SPARK / "bin" / program), *words],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started = started
        self._is_there = False
        self._is_told = threading.Event()
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.append(line)
            if self._started in line:
                self._is_there = True
                self._is_told.set()
        self._is_told.set()

    def wait(self) -> None:
        self._is_told.wait(SECONDS_MAX)
        assert self._is_there, "".join(self._lines)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(SECONDS_MAX)
        self._reader.join(SECONDS_MAX)


@contextmanager
def ended(daemons: Sequence[Daemon]) -> Iterator[None]:
    """All of them are there at first, and gone in the end."""
    with ExitStack() as stack:
        for each in daemons:
            stack.callback(each.end)
        for each in daemons:
            each.wait()
        yield


@contextmanager
def cluster(place: Path, workers: int) -> Iterator[str]:
    """The address of a master with its workers, each with a core."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    master = Daemon("New state: ALIVE", "spark-class", f"{deploy}.master.Master", *HERE, "--port", str(port))
    with ended([master]):
        listed = [
            Daemon(
                *("Successfully registered with master", "spark-class", f"{deploy}.worker.Worker", *HERE),
                *("-c", "1", "-m", "512m", "-d", str(place / f"worker-{number}"), address),
            )
            for number in range(workers)
        ]
        with ended(listed):
            yield address


@contextmanager
def connect_server() -> Iterator[tuple[str, Daemon]]:
    """The address of a Spark Connect server with two cores."""
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    server = Daemon(
        *("Spark Connect server started at", "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", "local[2]"),
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        "spark-internal",
        memory="1g",
    )
    with ended([server]):
        yield f"sc://127.0.0.1:{port}", server
