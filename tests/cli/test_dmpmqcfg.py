"""dmpmqcfg on queue managers that run: what it writes makes the same queue manager again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command

import ostler.testing
from ostler.server.config.directories import QueueManagerDirectory, running_process
from ostler.testing import RunningQueueManager

SCRIPT = """\
DEFINE QLOCAL('mixed.Case') DESCR('it''s, (odd) + äß') DEFPSIST(YES) MAXDEPTH(10)
DEFINE NAMELIST(NAMES) NAMES(A,B,C)
DEFINE CHANNEL(CLIENTS) CHLTYPE(CLNTCONN) CONNAME('a(1),b(2)') COMPMSG(RLE,ZLIBFAST)
DEFINE CHANNEL(CLIENTS) CHLTYPE(SVRCONN) DESCR('the other end')
DEFINE CHANNEL(TO.QM2) CHLTYPE(SDR) XMITQ('mixed.Case') CONNAME('c(3)')
DEFINE TOPIC(NEWS) TOPICSTR('news/of the day')
DEFINE SUB('my news') TOPICSTR('news/#') DEST('mixed.Case') SELECTOR('x=''1''')
DEFINE AUTHINFO(LDAP) AUTHTYPE(IDPWLDAP) CONNAME('h(389)') LDAPPWD('opensesame') SHORTUSR('uid')
SET AUTHREC PROFILE('DEV.**') OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(PUT,GET)
SET CHLAUTH('CLIENTS') TYPE(ADDRESSMAP) ADDRESS('10.*') USERSRC(MAP) MCAUSER('bob')
DELETE PROCESS(SYSTEM.DEFAULT.PROCESS)
ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE) DESCR('the one and only')
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two queue managers as processes of their own, one with definitions."""
    data = tmp_path_factory.mktemp("data")
    environment = {**os.environ, "OSTLER_DATA": str(data)}
    for name in ("QM1", "QM2"):
        known = ["users", "add", "--no-password", name, "ann"]
        for command in (["crtmqm", "-z", *SMALL_LOG, name], known, ["strmqm", name]):
            subprocess.run([sys.executable, "-m", "ostler.cli.main", *command], env=environment, check=True, timeout=60)
    try:
        yield data
    finally:
        for name in ("QM1", "QM2"):
            is_running, process = running_process(QueueManagerDirectory(data, name))
            if is_running:
                os.kill(process, signal.SIGKILL)


@pytest.fixture
def here(root: Path, ostler: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    monkeypatch.setenv("OSTLER_DATA", str(root))
    script = tmp_path / "script.mqsc"
    script.write_text(SCRIPT)
    if ostler("runmqsc", "-e", "-f", str(script), "-v", "QM1").status != 0:
        raise AssertionError("the script is wrong")
    if "mixed.Case" not in ostler("dmpmqcfg", "-m", "QM1", "-t", "qlocal").out:
        assert ostler("runmqsc", "-e", "-f", str(script), "QM1").status == 0
    return ostler


def commands(text: str) -> list[str]:
    """A script without its comments."""
    return [line for line in text.splitlines() if not line.startswith("*")]


@pytest.mark.parametrize("options", [(), ("-a",), ("-o", "1line")])
def test_a_dump_makes_the_same_queue_manager_again(here: Command, tmp_path: Path, options: tuple[str, ...]) -> None:
    dumped = here("dmpmqcfg", "-m", "QM1", *options)
    assert dumped.status == 0, dumped.err
    assert "opensesame" not in dumped.out
    script = tmp_path / "dump.mqsc"
    script.write_text(dumped.out)
    run = here("runmqsc", "-f", str(script), "QM2")
    assert run.status == 0, run.out
    again = here("dmpmqcfg", "-m", "QM2", *options)
    assert commands(again.out) == commands(dumped.out)
    assert len(commands(dumped.out)) > 90


def test_a_dump_says_where_it_comes_from(here: Command) -> None:
    lines = here("dmpmqcfg", "-m", "QM1", "-t", "qmgr").out.splitlines()
    assert "* Queue manager name: QM1" in lines
    assert lines[-4:] == [
        "ALTER QMGR +",
        "   DEADQ('SYSTEM.DEAD.LETTER.QUEUE') +",
        "   DESCR('the one and only') +",
        "   FORCE",
    ]


def test_messages_tell_the_same_as_the_socket(here: Command) -> None:
    by_socket = here("dmpmqcfg", "-m", "QM1")
    by_messages = here("dmpmqcfg", "-m", "QM1", "-r", "QM1")
    assert by_messages.status == 0, by_messages.err
    assert commands(by_messages.out) == commands(by_socket.out)


def test_parts_of_it(here: Command) -> None:
    assert commands(here("dmpmqcfg", "-m", "QM1", "-x", "chlauth", "-n", "CLIENTS", "-o", "1line").out) == [
        "SET CHLAUTH('CLIENTS') TYPE(ADDRESSMAP) ADDRESS('10.*') MCAUSER('bob') ACTION(REPLACE)"
    ]
    assert here("dmpmqcfg", "-m", "QM1", "-x", "authrec", "-o", "setmqaut").out.splitlines() == [
        "setmqaut -m 'QM1' -n 'DEV.**' -t queue -p 'ann' +get +put"
    ]
    assert commands(here("dmpmqcfg", "-m", "QM1", "-x", "sub", "-n", "my*", "-o", "1line").out)[0].startswith(
        "DEFINE SUB('my news') DEST('mixed.Case') "
    )
    reset = commands(here("dmpmqcfg", "-m", "QM1", "-t", "channel", "-n", "TO.*", "-s", "3", "-o", "1line").out)
    assert reset[-1] == "RESET CHANNEL('TO.QM2') SEQNUM(3)"
    assert commands(here("dmpmqcfg", "-m", "QM1", "-x", "policy").out) == []


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (("-m", "NONE"), 72),
        (("-x", "nonsense"), 39),
        (("-s", "0"), 39),
        (("-o", "setmqaut", "-x", "object"), 39),
        (("-c", "DEFINE NONSENSE"), 39),
    ],
)
def test_what_cannot_be_dumped(here: Command, options: tuple[str, ...], status: int) -> None:
    assert here("dmpmqcfg", *options).status == status


def test_one_that_does_not_run(ostler: Command) -> None:
    ostler("crtmqm", "-z", *SMALL_LOG, "QM3")
    assert ostler("dmpmqcfg", "-m", "QM3").status == 40


# -- as a client -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def remote() -> Iterator[RunningQueueManager]:
    with ostler.testing.queue_manager("FAR", mqsc="DEFINE QLOCAL(FAR.AWAY) DESCR('far')") as running:
        yield running


def test_a_client_by_mqserver(remote: RunningQueueManager, ostler: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQSERVER", remote.mqserver)
    dumped = ostler("dmpmqcfg", "-c", "default", "-n", "FAR*", "-o", "1line")
    assert dumped.status == 0, dumped.err
    assert commands(dumped.out) == ["DEFINE QLOCAL('FAR.AWAY') DESCR('far') REPLACE"]


def test_a_client_by_a_channel_definition(remote: RunningQueueManager, ostler: Command) -> None:
    channel = "DEFINE CHANNEL('{}') CHLTYPE(CLNTCONN) CONNAME('" + remote.connection_name + "')"
    asked = ("-m", "FAR", "-t", "qlocal", "-n", "FAR*", "-o", "1line")
    assert ostler("dmpmqcfg", "-c", channel.format("NOT.THERE"), *asked).status == 40
    dumped = ostler("dmpmqcfg", "-c", channel.format(remote.channel), *asked)
    assert dumped.status == 0, dumped.err
    assert commands(dumped.out) == ["DEFINE QLOCAL('FAR.AWAY') DESCR('far') REPLACE"]
