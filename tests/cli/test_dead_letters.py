"""`ostler dead-letters`, `forward` and `browse` with dead letters, on real queue managers, some of which are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from tests.cli.conftest import SMALL_LOG, Command

import ostler as package
from ostler.client.aio.async_queue import put_parts
from ostler.client.api.connection import Connection
from ostler.client.api.dead_letter_header import add_header
from ostler.client.api.dead_letters import as_dead_letter
from ostler.client.api.message import Message
from ostler.client.session.runtime import run
from ostler.engine.open import OpenRequest
from ostler.model import constants as mq
from ostler.server.config.directories import QueueManagerDirectory, running_process

SETUP = """
DEFINE QLOCAL(DEAD) MAXDEPTH(100000)
ALTER QMGR DEADQ(DEAD)
DEFINE QLOCAL(ORDERS) MAXDEPTH(100000)
DEFINE QLOCAL(SMALL) MAXDEPTH(1)
DEFINE QLOCAL(OTHER)
"""
LETTERS = 600


@pytest.fixture
def started(ostler: Command, program: Command, directory: QueueManagerDirectory) -> QueueManagerDirectory:
    assert ostler("crtmqm", "-q", "-z", *SMALL_LOG, "QM1").status == 0
    assert program("strmqm", "QM1").status == 0
    assert program("runmqsc", "QM1", text=SETUP).status == 0
    return directory


def put_dead_letter(connection: Connection, body: str, queue: str, reason: int, persistent: bool = True) -> bytes:
    """Put a dead letter on DEAD; its message id."""
    message = Message(body, persistent=persistent, properties={"colour": "blue"})
    md, block, data = put_parts(message)
    session = connection.inner.session
    md, data = add_header(md, data, queue, session, reason)
    put = run(session.put1(OpenRequest(mq.MQOT_Q, "DEAD", 0), md, mq.MQPMO_SYNCPOINT, block, data))
    return put.md[48:72]


@pytest.fixture
def identifiers(started: QueueManagerDirectory) -> list[str]:
    """Three dead letters, and a message that is none: their message ids."""
    with local(started) as connection:
        made = [
            put_dead_letter(connection, "a lost pony", "ORDERS", mq.MQRC_PUT_INHIBITED),
            put_dead_letter(connection, "first", "SMALL", mq.MQRC_Q_FULL),
            put_dead_letter(connection, "second", "SMALL", mq.MQRC_Q_FULL),
            connection.put("DEAD", "no header").message_id,
        ]
    return [each.hex() for each in made]


def local(directory: QueueManagerDirectory) -> Connection:
    return package.connect(directory.name, data=directory.root, binding="local")


def bodies(directory: QueueManagerDirectory, queue: str) -> list[bytes | str]:
    with local(directory) as connection, connection.open(queue, "b") as opened:
        return [as_dead_letter(message).original().body for message in opened.browse()]


# -- list and show -----------------------------------------------------------------------------------------------------


def test_they_are_listed(started: QueueManagerDirectory, identifiers: list[str], ostler: Command) -> None:
    heading, *lines = ostler("dead-letters", "list", "QM1").out.splitlines()
    assert heading.split()[:2] == ["MESSAGE", "ID"]
    assert [line.split()[0] for line in lines] == identifiers
    assert "2051 MQRC_PUT_INHIBITED" in lines[0]
    assert "ORDERS@QM1" in lines[0]
    assert " 11 " in lines[0]
    assert "(no dead-letter header)" in lines[3]
    named = ostler("dead-letters", "list", "DEAD", "QM1").out
    assert named == ostler("dead-letters", "list").out, "DEADQ of the default queue manager is what is meant"


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (["--reason", "2053"], [1, 2]),
        (["--reason", "MQRC_Q_FULL"], [1, 2]),
        (["--reason", "put_inhibited"], [0]),
        (["--destination", "SMALL"], [1, 2]),
        (["--destination", "O*@QM1"], [0]),
        (["--destination", "ORDERS@QM2"], []),
        (["--all"], [0, 1, 2, 3]),
        (["--count", "2"], [0, 1]),
    ],
    ids=str,
)
def test_they_are_chosen(
    started: QueueManagerDirectory, identifiers: list[str], ostler: Command, options: list[str], chosen: list[int]
) -> None:
    found = [json.loads(line) for line in ostler("dead-letters", "list", "--json", *options).out.splitlines()]
    assert [each["message_id"] for each in found] == [identifiers[at] for at in chosen]


def test_they_are_chosen_by_identifier(started: QueueManagerDirectory, identifiers: list[str], ostler: Command) -> None:
    found = ostler("dead-letters", "list", "--json", "--id", identifiers[2], "--id", identifiers[0].upper()).out
    assert [json.loads(line)["message_id"] for line in found.splitlines()] == [identifiers[0], identifiers[2]]
    assert ostler("dead-letters", "show", "--id", "00").status == 2
    assert ostler("dead-letters", "list", "--id", "xyz").status == 1
    assert ostler("dead-letters", "list", "--reason", "nonsense").status == 1


def test_one_is_shown_field_by_field(started: QueueManagerDirectory, identifiers: list[str], ostler: Command) -> None:
    shown = ostler("dead-letters", "show", "--id", identifiers[0]).out
    lines = [line.split(None, 2) for line in shown.splitlines()]
    assert ["MQDLH", "Reason", "2051 MQRC_PUT_INHIBITED"] in lines
    assert ["MQDLH", "DestQName", "ORDERS"] in lines
    assert ["MQDLH", "DestQMgrName", "QM1"] in lines
    assert ["MQDLH", "Format", "MQSTR"] in lines
    assert shown.endswith("   colour=blue\na lost pony\n")
    said = json.loads(ostler("dead-letters", "show", "--json", "--id", identifiers[0]).out)
    assert (said["body"], said["format"], said["properties"]) == ("a lost pony", "MQSTR", {"colour": "blue"})
    assert (said["dead_letter"]["reason"], said["dead_letter"]["queue"]) == (2051, "ORDERS")


def test_browse_shows_the_header_too(started: QueueManagerDirectory, identifiers: list[str], ostler: Command) -> None:
    shown = ostler("browse", "DEAD", "QM1", "--details", "--count", "1").out
    assert "MQDLH Reason            2051 MQRC_PUT_INHIBITED\n" in shown
    assert shown.endswith("\na lost pony\n")
    assert json.loads(ostler("browse", "DEAD", "--json", "--count", "1").out)["dead_letter"]["reason"] == 2051
    assert ostler("browse", "DEAD", "--hex", "--count", "1").out.startswith(b"DLH ".hex())


# -- retry and drop ----------------------------------------------------------------------------------------------------


def test_everything_needs_a_word(started: QueueManagerDirectory, identifiers: list[str], program: Command) -> None:
    for action in ("retry", "drop"):
        refused = program("dead-letters", action, "QM1")
        assert refused.status == 1
        assert "4 messages of DEAD would be" in refused.err
    assert len(bodies(started, "DEAD")) == 4


def test_they_are_put_back(started: QueueManagerDirectory, identifiers: list[str], program: Command) -> None:
    done = program("dead-letters", "retry", "QM1", "--all")
    assert done.status == 2, "two could not be put back"
    assert "2 of 4 messages of DEAD put back, 2 stay there" in done.err
    assert f"message {identifiers[2]} stays on DEAD: MQRC_Q_FULL (2053)" in done.err
    assert f"message {identifiers[3]} stays on DEAD: MQRC_DLH_ERROR (2141)" in done.err
    assert (bodies(started, "ORDERS"), bodies(started, "SMALL")) == (["a lost pony"], ["first"])
    done = program("dead-letters", "retry", "QM1", "--yes", "--to", "OTHER", "--json")
    assert json.loads(done.out) == {"queue": "DEAD", "chosen": 2, "done": 2, "refused": 0}
    assert bodies(started, "OTHER") == ["second", "no header"]


def test_the_first_digits_of_an_identifier_must_mean_one_message(
    started: QueueManagerDirectory, identifiers: list[str], program: Command
) -> None:
    begin = identifiers[0][:8]  # of the name that all identifiers begin with
    refused = program("dead-letters", "drop", "--id", begin)
    assert refused.status == 1
    assert f"--id {begin} means 4 messages" in refused.err
    at = next(at for at in range(1, 49) if sum(each.startswith(identifiers[1][:at]) for each in identifiers) == 1)
    assert program("dead-letters", "drop", "--id", identifiers[1][:at]).status == 0
    assert len(bodies(started, "DEAD")) == 3
    assert program("dead-letters", "drop", "--yes", "--id", begin).status == 0
    assert bodies(started, "DEAD") == []


def test_a_letter_that_was_to_go_to_the_dead_letter_queue_stays_there_with_its_header(
    started: QueueManagerDirectory, program: Command
) -> None:
    with local(started) as connection:
        identifier = put_dead_letter(connection, "where else", "DEAD", mq.MQRC_Q_FULL).hex()
    refused = program("dead-letters", "retry", "--id", identifier)
    assert refused.status == 2
    assert "It was to go to DEAD, where it is." in refused.err
    assert len(bodies(started, "DEAD")) == 1
    assert program("dead-letters", "retry", "--id", identifier, "--to", "ORDERS").status == 0
    assert bodies(started, "ORDERS") == ["where else"]


def test_they_are_dropped(started: QueueManagerDirectory, identifiers: list[str], program: Command) -> None:
    done = program("dead-letters", "drop", "DEAD", "QM1", "--reason", "Q_FULL")
    assert (done.status, done.err) == (0, "2 of 2 messages of DEAD dropped\n")
    assert program("dead-letters", "drop", "--all", "-q").err == ""
    assert bodies(started, "DEAD") == []
    assert program("dead-letters", "list").err == "There are none on DEAD of QM1.\n"


def test_over_the_network_as_a_user(
    started: QueueManagerDirectory, identifiers: list[str], program: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """She may get and browse there, put and pass all context here, and ask for DEADQ; and nothing else."""
    assert program("users", "add", "--password-stdin", "QM1", "carol", text="secret-1234").status == 0
    setup = """
        DEFINE CHANNEL(APP) CHLTYPE(SVRCONN) TRPTYPE(TCP)
        SET CHLAUTH(APP) TYPE(BLOCKUSER) USERLIST('nobody')
        SET CHLAUTH(APP) TYPE(ADDRESSMAP) ADDRESS('127.0.0.1') USERSRC(CHANNEL)
        SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('carol') AUTHADD(CONNECT,INQ)
        SET AUTHREC PROFILE(DEAD) OBJTYPE(QUEUE) PRINCIPAL('carol') AUTHADD(GET,BROWSE)
        SET AUTHREC PROFILE(ORDERS) OBJTYPE(QUEUE) PRINCIPAL('carol') AUTHADD(PUT,PASSALL)
        DEFINE LISTENER(L) TRPTYPE(TCP) IPADDR(127.0.0.1) PORT(0)
        START LISTENER(L)
    """
    assert program("runmqsc", "QM1", text=setup).status == 0
    shown = program("runmqsc", "QM1", text="DISPLAY LSSTATUS(L) PORT").out
    port = shown.partition("PORT(")[2].partition(")")[0]
    monkeypatch.setenv("OSTLER_PASSWORD", "secret-1234")
    where = ["-c", f"127.0.0.1({port})", "--channel", "APP", "--user", "carol"]
    listed = program("dead-letters", "list", *where)
    assert listed.status == 0, listed.err
    assert len(listed.out.splitlines()) == 5
    done = program("dead-letters", "retry", "DEAD", "QM1", "--destination", "ORDERS", *where)
    assert done.status == 0, done.err
    assert bodies(started, "ORDERS") == ["a lost pony"]
    refused = program("dead-letters", "retry", "DEAD", "QM1", "--destination", "SMALL", *where)
    assert refused.status == 2
    assert refused.err.count("MQRC_NOT_AUTHORIZED (2035)") == 2


# -- forward -----------------------------------------------------------------------------------------------------------


def test_forward_takes_the_header_off(started: QueueManagerDirectory, identifiers: list[str], program: Command) -> None:
    assert program("forward", "DEAD", "OTHER", "QM1").status == 0
    with local(started) as connection, connection.open("OTHER") as queue:
        found = list(queue)
    assert [each.body for each in found] == ["a lost pony", "first", "second", "no header"]
    assert [each.format for each in found] == ["MQSTR"] * 4
    assert found[0].properties == {"colour": "blue"}
    assert [each.message_id.hex() for each in found] == identifiers


def test_forward_keeps_the_header_when_told(
    started: QueueManagerDirectory, identifiers: list[str], program: Command
) -> None:
    assert program("forward", "DEAD", "OTHER", "QM1", "--keep-header", "--count", "1").status == 0
    with local(started) as connection, connection.open("OTHER") as queue:
        (found,) = list(queue)
    assert (found.format, found.data[:4], len(found.data)) == ("MQDEAD", b"DLH ", 183)


# -- exactly once ------------------------------------------------------------------------------------------------------


def test_nothing_is_lost_or_doubled_when_something_is_killed_in_between(
    started: QueueManagerDirectory, program: Command
) -> None:
    """kill -9 of the command, then of the queue manager, each in the middle of a retry."""
    with local(started) as connection:
        for first in range(0, LETTERS, 20):
            for number in range(first, first + 20):
                put_dead_letter(connection, str(number), "ORDERS", mq.MQRC_Q_FULL)
            connection.commit()
    expected = {str(number) for number in range(LETTERS)}
    for victim in ("command", "queue manager"):
        before = len(bodies(started, "ORDERS"))
        retrying = subprocess.Popen(
            [sys.executable, "-m", "ostler.cli.main", "dead-letters", "retry", "--all", "QM1"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for_more(started, before, retrying)
            if victim == "command":
                retrying.kill()
            else:
                os.kill(running_process(started)[1], signal.SIGKILL)
        finally:
            retrying.wait(60)
        if victim == "queue manager":
            assert program("strmqm", "QM1").status == 0
        back, still = wait_for_all(started, len(expected))
        assert sorted([*back, *still]) == sorted(expected), "lost or doubled"
    assert program("dead-letters", "retry", "--all", "QM1").status == 0
    assert bodies(started, "DEAD") == []
    assert bodies(started, "ORDERS") == [str(number) for number in range(LETTERS)]


def wait_for_more(directory: QueueManagerDirectory, before: int, retrying: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    with local(directory) as connection, connection.open("ORDERS", "b") as queue:
        while queue.depth <= before:
            assert time.monotonic() < deadline, "nothing was put back"
            if retrying.poll() is not None:
                return  # it was faster


def wait_for_all(directory: QueueManagerDirectory, count: int) -> tuple[list[bytes | str], list[bytes | str]]:
    """What is on both queues, once the unit of work of a killed command is backed out."""
    deadline = time.monotonic() + 60
    while True:
        back, still = bodies(directory, "ORDERS"), bodies(directory, "DEAD")
        if len(back) + len(still) >= count or time.monotonic() > deadline:
            return back, still
