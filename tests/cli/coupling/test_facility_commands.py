"""strcf, endcf and dspcf with a real process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.coupling.group_processes import RedisGroupFacility
from tests.server.coupling.redis_member import RedisMember

from ostler.cli.framework.exit_statuses import Status
from ostler.model.coupling import programs as p
from ostler.model.coupling.answers import JoinAnswer
from ostler.server.coupling.facility_client import FacilityClient, FacilityLost
from ostler.server.coupling.facility_directory import FacilityDirectory

SECONDS = 60.0


class Commands:
    def __init__(self, root: Path) -> None:
        self.directory = FacilityDirectory(root, "CF1")
        self._environment = {**os.environ, "OSTLER_DATA": str(root)}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "import sys; from ostler.cli.main import main; sys.exit(main())"]
        return subprocess.run(
            [*command, *arguments], env=self._environment, capture_output=True, text=True, timeout=SECONDS
        )

    def ok(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def join(self) -> FacilityClient:
        """Return a link on which queue manager QM1 has joined, with structure APPL1."""
        client = FacilityClient(self.directory.connect(SECONDS), "CF1", "QM1")
        answer = client.run(p.JoinProgram(1, 1, "QM1"))
        assert isinstance(answer, JoinAnswer)
        program = p.ConnectProgram("APPL1", 10 << 20, 5)
        program.fence = answer.fence
        client.run(program)
        return client


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    made = Commands(tmp_path)
    yield made
    made.run("endcf", "-i", "CF1")
    assert not made.directory.is_running()


def test_a_facility_is_started_shown_and_ended(commands: Commands) -> None:
    started = commands.ok("strcf", "CF1", "--listen", "127.0.0.1:0")
    assert started.startswith("AMQ3851I: Coupling facility CF1 has started in process ")
    again = commands.run("strcf", "CF1")
    assert (again.returncode, again.stderr) == (Status.RUNNING, "AMQ3857E: Coupling facility CF1 is running already.\n")
    client = commands.join()
    shown = commands.ok("dspcf", "CF1")
    assert "CF(CF1) STATUS(Running) PID(" in shown
    assert "   CFSTRUCT(APPL1) STATUS(ACTIVE) CFLEVEL(5) SIZEMAX(10240) SIZEUSED(0) ENTSUSED(0)" in shown
    assert "   MEMBER(1) QMNAME(QM1) STATUS(ACTIVE) STARTS(1) INFLIGHT(0) INDOUBT(0)" in shown
    refused = commands.run("endcf", "CF1")
    assert refused.returncode == Status.OBJECT_IN_USE
    assert "Queue managers are connected: QM1. End them first." in refused.stderr
    assert commands.ok("endcf", "-i", "CF1") == "AMQ3852I: Coupling facility CF1 has ended.\n"
    with pytest.raises(FacilityLost, match="AMQ3852I"):
        client.receive()
    assert commands.ok("dspcf") == "CF(CF1) STATUS(Ended)\n"


def test_a_killed_facility_starts_again_empty_with_another_identity(commands: Commands) -> None:
    commands.ok("strcf", "CF1")
    record = commands.directory.record()
    assert record is not None
    client = commands.join()
    os.kill(record.pid, signal.SIGKILL)
    with pytest.raises(FacilityLost):
        client.receive()
    deadline = time.monotonic() + SECONDS
    while commands.directory.is_running():
        assert time.monotonic() < deadline, "the lock of the killed process was to go"
        time.sleep(0.01)
    assert commands.ok("dspcf") == "CF(CF1) STATUS(Ended)\n"
    commands.ok("strcf", "CF1")
    after = commands.directory.record()
    assert after is not None
    assert after.identity != record.identity
    assert "CFSTRUCT" not in commands.ok("dspcf", "CF1")


def test_what_cannot_be_is_refused_with_the_reason(commands: Commands) -> None:
    for arguments, status, text in [
        (("dspcf", "CF1"), Status.NOT_AVAILABLE, "AMQ3856E: Coupling facility CF1 does not answer: it is not running."),
        (("endcf", "CF1"), Status.NOT_AVAILABLE, "Start it: ostler strcf CF1"),
        (("strcf", "no/name"), Status.NAME_ERROR, "AMQ3855E: The name is wrong"),
        (("strcf", "CF1", "--listen", "nowhere"), Status.PARAMETER_WRONG, "AMQ3858E: 'nowhere' is no address"),
        (
            ("strcf", "CF1", "--listen", "0.0.0.0:0"),
            Status.PARAMETER_WRONG,
            "AMQ3859E: Coupling facility CF1 could not",
        ),
        (("strcf", "CF1", "--keys", "/nowhere"), Status.PARAMETER_WRONG, "AMQ3859E: Coupling facility CF1 could not"),
    ]:
        done = commands.run(*arguments)
        assert (done.returncode, done.stdout) == (status, "")
        assert text in done.stderr


def test_facilities_in_redis_are_shown(commands: Commands) -> None:
    redis = RedisGroupFacility()
    try:
        member = RedisMember(redis.server, 1)
        member.begin()
        member.put()
        shown = commands.ok("dspcf", redis.address)
        assert shown.startswith(f"CF(QSG1) STATUS(Running) ADDRESS({redis.server.socket}) REDIS(")
        assert "   CFSTRUCT(APPL1) STATUS(ACTIVE) CFLEVEL(5) SIZEMAX(65536) SIZEUSED(0) ENTSUSED(1)" in shown
        assert "   MEMBER(1) QMNAME(QM1) STATUS(ACTIVE) STARTS(1) INFLIGHT(0) INDOUBT(0)" in shown
    finally:
        redis.close()
    done = commands.run("dspcf", redis.address)
    assert done.returncode == Status.NOT_AVAILABLE
    assert "AMQ3856E" in done.stderr
    assert commands.run("dspcf", "redis://").returncode == Status.NAME_ERROR
