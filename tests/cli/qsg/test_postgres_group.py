"""A group whose shared repository is in PostgreSQL: definitions, work while the database is killed, and its return."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tests.cli.qsg.test_running_group import RunningGroup, wait_for
from tests.server.coupling.repository.postgres_server import PostgresOfTest

from ostler.client.api.connection import connect

DEFINITIONS = """
DEFINE CFSTRUCT(APP1) CFLEVEL(5) RECOVER(YES) OFFLOAD(SMDS) DSGROUP('QSG1.*.APP1')
DEFINE QLOCAL(SHARED.QUEUE) QSGDISP(SHARED) CFSTRUCT(APP1) SHARE
"""
LATER = "DEFINE QLOCAL(LATER.QUEUE) QSGDISP(SHARED) CFSTRUCT(APP1) SHARE\n"


@pytest.fixture
def postgres() -> Iterator[PostgresOfTest]:
    server = PostgresOfTest()
    yield server
    server.close()


@pytest.fixture
def running(postgres: PostgresOfTest, ostler: Command, data: Path) -> Iterator[RunningGroup]:
    group = RunningGroup(ostler, data)
    try:
        group.make(DEFINITIONS, "--repository", postgres.url)
        yield group
    finally:
        group.close()


@pytest.mark.slow
def test_members_work_on_while_the_database_is_away(running: RunningGroup, postgres: PostgresOfTest) -> None:
    def define(name: str) -> tuple[int, str]:
        done = running.run("runmqsc", "-e", name, text=LATER)
        return done.status, done.out

    with (
        connect("QM1", data=running.data, binding="local") as one,
        connect("QM2", data=running.data, binding="local") as two,
    ):
        out, into = one.open("SHARED.QUEUE", "w"), two.open("SHARED.QUEUE", "r")

        def pass_on(body: bytes) -> None:
            out.put(body, persistent=True)
            got = into.get(wait=5)
            assert got is not None
            assert got.data == body

        pass_on(b"before")
        postgres.kill()
        pass_on(b"while it is away")
        status, said = define("QM1")
        assert status != 0
        assert "MQRC_DB2_NOT_AVAILABLE (2342)" in said
        assert "shared repository" in said, "the reason is to be clear"
        pass_on(b"long " * 30_000)  # a data set needs no database
        postgres.start()
        wait_for(lambda: define("QM1")[0] == 0, lambda: f"QM1 does not define: {define('QM1')}")
        wait_for(
            lambda: running.run("runmqsc", "-e", "QM2", text="DISPLAY QLOCAL(LATER.QUEUE)").status == 0,
            lambda: "QM2 does not know what was defined after the database came back",
        )
        one.put("LATER.QUEUE", b"after", persistent=True)
        got = two.open("LATER.QUEUE", "r").get(wait=5)
        assert got is not None
        assert got.data == b"after"

    # A member that starts without the database works with what its log has.
    running.ok("endmqm", "-w", "QM2")
    postgres.kill()
    running.ok("strmqm", "QM2")
    with connect("QM2", data=running.data, binding="local") as two:
        two.put("LATER.QUEUE", b"without", persistent=True)
        with connect("QM1", data=running.data, binding="local") as one:
            got = one.open("LATER.QUEUE", "r").get(wait=5)
            assert got is not None
            assert got.data == b"without"
