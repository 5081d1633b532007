"""Kill the Spark job, an executor and the queue manager in the middle of a stream, and count what arrived.

Messages go from queue IN through Spark to queue OUT. Whatever was killed, in the end each is there exactly once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import ostler
from ostler.client.api.connection import Connection
from ostler.testing.running import CHANNEL, HOST

ROOT = Path(__file__).parents[2]
NAME = "QMKILL"
MESSAGES = 60
PATH = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
SECONDS_MAX = 500
STARTS_MAX = 3
TOO_SLOW = "failed to connect back"

pytestmark = [pytest.mark.stress, pytest.mark.timeout(900)]


class Stage:
    """A queue manager in a process of its own, and Spark jobs in theirs."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.port = 0
        self.manager: subprocess.Popen[str] | None = None
        self.jobs: list[subprocess.Popen[str]] = []

    def start_manager(self) -> None:
        program = str(ROOT / "tests" / "pipeline" / "source" / "queue_manager_program.py")
        self.manager = subprocess.Popen(
            [sys.executable, program, NAME, str(self.place / "data"), str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **PATH},
        )
        assert self.manager.stdout is not None
        self.port = int(self.manager.stdout.readline())

    def kill_manager(self) -> None:
        assert self.manager is not None
        self.manager.kill()
        self.manager.wait()

    def connect(self) -> Connection:
        return ostler.connect(NAME, f"{HOST}({self.port})", channel=CHANNEL, binding="client")

    def put(self, count: int) -> None:
        with self.connect() as connection, connection.open("IN", "w") as queue:
            for number in range(count):
                queue.put(f"m{number:03}")

    def start_job(self, master: str = "local[2]", fails_at_first: bool = False, **more: str) -> subprocess.Popen[str]:
        """Small batches, pages and units of work: there is much to be interrupted."""
        where = {"queueManager": NAME, "host": HOST, "port": str(self.port), "channel": CHANNEL}
        settings: dict[str, Any] = {
            "master": master,
            "spark": {
                "spark.driver.memory": "1g",
                "spark.executor.memory": "512m",
                "spark.executorEnv.PYTHONPATH": PATH["PYTHONPATH"],
            },
            "options": {**where, "maxMessagesPerTrigger": "10", "pageMessages": "3", "numPartitions": "2", **more},
            "write": {**where, "pageMessages": "2", "unitMessages": "8"},
            "checkpoint": str(self.place / "checkpoint"),
            "fails_at_first": fails_at_first,
        }
        job = subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "pipeline" / "stream_program.py"), json.dumps(settings)],
            stdout=subprocess.PIPE,
            stderr=(self.place / "job.err").open("a"),
            text=True,
            env={**os.environ, **PATH},
        )
        self.jobs.append(job)
        return job

    def start_until(self, count: int, master: str = "local[2]") -> subprocess.Popen[str]:
        """A job that runs, and of which so many messages came out.

        Spark gives the processes that it starts ten seconds to call back, which is too short on a machine that has
        much else to do. Such a job is started again: it has not failed for a reason of ours.
        """
        for _ in range(STARTS_MAX):
            job = self.start_job(master)
            if self.is_output(job, count):
                return job
        pytest.fail(f"Spark did not start its processes in time, {STARTS_MAX} times.")

    def is_output(self, job: subprocess.Popen[str], count: int) -> bool:
        """Wait until so many messages came out; False if Spark ended before that, since it was too slow.

        A job that ended otherwise will not bring more, and has said why.
        """
        deadline = time.monotonic() + SECONDS_MAX
        found = 0
        with self.connect() as connection, connection.open("OUT", "b") as queue, queue.browse(wait=1) as browser:
            while found < count:
                if browser.next() is not None:
                    found += 1
                elif job.poll() is not None:
                    told = f"{finish(job)} {self.errors()}"
                    if TOO_SLOW in told:
                        return False
                    pytest.fail(f"only {found} messages came out; the job ended: {told}")
                elif time.monotonic() > deadline:
                    staged = {name: self.depth(name) for name in ("IN", "SPARK.IN.IN", "SPARK.OUT.OUT")}
                    pytest.fail(f"only {found} messages came out; there are {staged} {self.errors()}")
        return True

    def errors(self) -> str:
        """Return the last words of the jobs on standard error."""
        return (self.place / "job.err").read_text()[-4000:]

    def output(self) -> list[str]:
        with self.connect() as connection, connection.open("OUT", "b") as queue:
            return [message.text for message in queue.browse()]

    def depth(self, queue: str) -> int:
        with self.connect() as connection, connection.open(queue, "b") as opened:
            return opened.depth

    def close(self) -> None:
        for job in self.jobs:
            kill_tree(job)
        if self.manager is not None:
            self.kill_manager()


def kill_tree(job: subprocess.Popen[str]) -> None:
    """Kill a job and all that it started, each by its id."""
    if job.poll() is not None:
        return
    for process in [*psutil.Process(job.pid).children(recursive=True), psutil.Process(job.pid)]:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    job.communicate()


def executors_of(job: subprocess.Popen[str]) -> list[psutil.Process]:
    found = []
    for process in psutil.Process(job.pid).children(recursive=True):
        # Java leaves short-lived helpers as zombies, which have no command line.
        with suppress(psutil.ZombieProcess, psutil.NoSuchProcess):
            if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline()):
                found.append(process)
    return found


def finish(job: subprocess.Popen[str]) -> tuple[int, str]:
    told, _ = job.communicate(timeout=SECONDS_MAX)
    return job.returncode, told


def all_messages(count: int = MESSAGES) -> list[str]:
    return [f"m{number:03}" for number in range(count)]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    try:
        stage.start_manager()
        stage.put(MESSAGES)
        yield stage
    finally:
        stage.close()


def check_all_arrived_once(stage: Stage) -> None:
    assert sorted(stage.output()) == all_messages()
    assert stage.depth("IN") == 0
    assert (stage.depth("SPARK.IN.IN"), stage.depth("SPARK.OUT.OUT")) == (1, 1), "only control records stay"


def test_a_spark_job_killed_twice(stage: Stage) -> None:
    for count in (5, 25):
        job = stage.start_until(count)
        kill_tree(job)
        assert len(stage.output()) < MESSAGES, "it was killed in the middle"
    assert finish(stage.start_job()) == (0, "")
    check_all_arrived_once(stage)


def test_a_queue_manager_killed_in_the_middle(stage: Stage) -> None:
    job = stage.start_until(15)
    stage.kill_manager()
    status, told = finish(job)
    assert status == 1
    assert "MQRC_" in told
    stage.start_manager()
    assert len(stage.output()) < MESSAGES, "it was killed in the middle"
    assert finish(stage.start_job()) == (0, "")
    check_all_arrived_once(stage)


def test_tasks_that_fail_at_first(stage: Stage) -> None:
    assert finish(stage.start_job("local[2,4]", fails_at_first=True, maxMessagesPerTrigger="40")) == (0, "")
    check_all_arrived_once(stage)


def test_an_executor_killed_in_the_middle(stage: Stage) -> None:
    job = stage.start_until(5, "local-cluster[1,1,512]")
    executors = executors_of(job)
    assert executors, "there is an executor"
    for process in executors:
        process.kill()
    assert len(stage.output()) < MESSAGES, "it was killed in the middle"
    assert finish(job) == (0, "")
    check_all_arrived_once(stage)
