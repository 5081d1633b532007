"""`ostler dev`: what developers know is there, who should come in does and nobody else, and it stays as it was."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.conftest import Command, Said
from tests.free_ports import free_port

import ostler as library
from ostler.cli.dev.configuration import hints, is_loopback, listener, move_listener
from ostler.model.constants import MQRC_NOT_AUTHORIZED
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory, running_process
from ostler.server.security.password_store import password_path, read_passwords

Developer = Callable[..., Said]
PASSWORDS = {"MQ_APP_PASSWORD": "passw0rd", "MQ_ADMIN_PASSWORD": "adm1n"}


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def developer(program: Command, ostler: Command, port: int, monkeypatch: pytest.MonkeyPatch) -> Developer:
    """`ostler dev QM1` on a port of its own, with passwords in its environment. `program` ends what is left."""
    for name, password in PASSWORDS.items():
        monkeypatch.setenv(name, password)

    def run(*arguments: str) -> Said:
        return ostler("dev", "QM1", "--port", str(port), *arguments)

    return run


@dataclass(frozen=True)
class Standing:
    """A developer's queue manager that several tests only look at."""

    port: int
    said: Said

    def run(self, *arguments: str, text: str = "") -> Said:
        return run_program(*arguments, text=text)


def run_program(*arguments: str, text: str = "") -> Said:
    command = [sys.executable, "-m", "ostler.cli.main", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def standing_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int, Said]]:
    root, port = tmp_path_factory.mktemp("developer"), free_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**PASSWORDS, "OSTLER_DATA": str(root)}.items():
            patch.setenv(name, value)
        said = run_program("dev", "QM1", "--port", str(port))
        yield root, port, said
        run_program("endmqm", "-i", "QM1")


@pytest.fixture
def standing(standing_data: tuple[Path, int, Said], monkeypatch: pytest.MonkeyPatch) -> Standing:
    root, port, said = standing_data
    for name, value in {**PASSWORDS, "OSTLER_DATA": str(root)}.items():
        monkeypatch.setenv(name, value)
    return Standing(port, said)


def printed_program(said: str, package: str) -> str:
    """The program for a package as it stands in what `ostler dev` says."""
    match = re.search(rf"^A program with {package}\b.*?:\n\n(.*?)\n(?=\S|  ostler )", said, re.MULTILINE | re.DOTALL)
    assert match is not None
    return textwrap.dedent(match[1])


def reason_of(port: int, channel: str, user: str, password: str | None, queue: str = "DEV.QUEUE.1") -> int:
    """What comes of connecting and putting a message: 0 or the reason."""
    try:
        with library.connect("QM1", f"127.0.0.1({port})", channel=channel, user=user, password=password) as qm:
            qm.put(queue, "hello")
    except MQError as error:
        return error.reason
    return 0


def test_the_program_that_is_shown_runs(standing: Standing) -> None:
    first = standing.said
    assert (first.status, first.err) == (0, "")
    assert "AMQ8001I: Queue manager QM1 created." in first.out
    assert "passw0rd" not in first.out
    shown = printed_program(first.out, "Ostler")
    done = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ)
    )
    assert (done.stdout, done.stderr) == ("hello\n", "")


def test_who_comes_in_and_who_does_not(standing: Standing) -> None:
    right, refused = 0, MQRC_NOT_AUTHORIZED
    app, admin = PASSWORDS["MQ_APP_PASSWORD"], PASSWORDS["MQ_ADMIN_PASSWORD"]
    answers = {
        ("DEV.APP.SVRCONN", "app", app, "DEV.QUEUE.3"): right,
        ("DEV.APP.SVRCONN", "app", app, "SYSTEM.DEFAULT.LOCAL.QUEUE"): refused,
        ("DEV.APP.SVRCONN", "app", app, "SYSTEM.ADMIN.COMMAND.QUEUE"): refused,
        ("DEV.APP.SVRCONN", "app", None, "DEV.QUEUE.1"): refused,
        ("DEV.APP.SVRCONN", "app", admin, "DEV.QUEUE.1"): refused,
        ("DEV.APP.SVRCONN", "root", None, "DEV.QUEUE.1"): refused,
        ("DEV.APP.SVRCONN", "mqm", None, "DEV.QUEUE.1"): refused,
        ("DEV.APP.SVRCONN", "admin", admin, "DEV.QUEUE.1"): refused,
        ("DEV.ADMIN.SVRCONN", "admin", admin, "SYSTEM.DEFAULT.LOCAL.QUEUE"): right,
        ("DEV.ADMIN.SVRCONN", "admin", None, "DEV.QUEUE.1"): refused,
        ("DEV.ADMIN.SVRCONN", "app", app, "DEV.QUEUE.1"): refused,
        ("DEV.ADMIN.SVRCONN", "mqm", None, "DEV.QUEUE.1"): refused,
        ("SYSTEM.DEF.SVRCONN", "admin", admin, "DEV.QUEUE.1"): refused,
        ("SYSTEM.DEF.SVRCONN", "app", app, "DEV.QUEUE.1"): refused,
    }
    found = {asked: reason_of(standing.port, *asked) for asked in answers}
    assert found == answers


def test_commands_by_a_client_as_it_is_shown(standing: Standing) -> None:
    (command,) = re.findall("^  (MQSERVER=.*)$", standing.said.out, re.MULTILINE)
    here = command.replace("ostler", f"{sys.executable} -m ostler.cli.main", 1)
    typed = f"{PASSWORDS['MQ_ADMIN_PASSWORD']}\nDISPLAY QLOCAL(DEV.QUEUE.2) QTYPE\n"
    done = subprocess.run(here, shell=True, input=typed, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "QUEUE(DEV.QUEUE.2)" in done.stdout


def test_app_asks_and_is_answered_on_a_queue_of_its_own(standing: Standing) -> None:
    password = PASSWORDS["MQ_APP_PASSWORD"]
    with (
        library.connect(
            "QM1", f"127.0.0.1({standing.port})", channel="DEV.APP.SVRCONN", user="app", password=password
        ) as qm,
        qm.open_dynamic() as replies,
    ):
        qm.put(replies.name, "an answer")
        assert replies.get(wait=5).text == "an answer"


def test_what_developers_know_is_there(standing: Standing) -> None:
    script = "\n".join(
        [
            "DISPLAY QLOCAL('DEV.*')",
            "DISPLAY QMGR DEADQ CONNAUTH CHLAUTH",
            "DISPLAY TOPIC(DEV.BASE.TOPIC) TOPICSTR",
            "DISPLAY AUTHINFO(DEV.AUTHINFO) CHCKCLNT CHCKLOCL ADOPTCTX",
            "DISPLAY CHANNEL('DEV.*') MCAUSER",
            "DISPLAY LISTENER(DEV.LISTENER.TCP) IPADDR CONTROL",
        ]
    )
    told = standing.run("runmqsc", "-e", "QM1", text=script)
    assert told.status == 0
    words = set(told.out.split())
    assert words >= {
        *(f"QUEUE(DEV.{name})" for name in ("QUEUE.1", "QUEUE.2", "QUEUE.3", "DEAD.LETTER.QUEUE")),
        *("DEADQ(DEV.DEAD.LETTER.QUEUE)", "CONNAUTH(DEV.AUTHINFO)", "CHLAUTH(ENABLED)", "TOPICSTR(dev/)"),
        *("CHCKCLNT(REQDADM)", "CHCKLOCL(OPTIONAL)", "ADOPTCTX(YES)", "MCAUSER(app)"),
        *("CHANNEL(DEV.APP.SVRCONN)", "CHANNEL(DEV.ADMIN.SVRCONN)", "IPADDR(127.0.0.1)", "CONTROL(QMGR)"),
    }


def test_a_second_run_finds_it_as_it_was(
    developer: Developer, ostler: Command, directory: QueueManagerDirectory, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = developer()
    app = ("DEV.APP.SVRCONN", "app", PASSWORDS["MQ_APP_PASSWORD"])
    with library.connect("QM1", binding="local", data=directory.root) as qm:
        qm.alter("QLOCAL", "DEV.QUEUE.1", MAXDEPTH=77)
    assert reason_of(port, *app) == 0
    users = password_path(directory).read_text()
    # Without a port and without passwords: both are as they were.
    for name in PASSWORDS:
        monkeypatch.delenv(name)
    running = ostler("dev", "QM1")
    assert (running.status, running.err) == (0, "")
    assert ostler("endmqm", "-i", "QM1").status == 0
    again = ostler("dev")
    assert again.status == 0
    shown = first.out[first.out.index("Queue manager QM1 listens") :]
    assert running.out == f"\n{shown}"
    assert again.out.endswith(shown)
    assert password_path(directory).read_text() == users
    with library.connect("QM1", binding="local", data=directory.root) as qm:
        assert qm.display("QLOCAL", "DEV.QUEUE.1", "MAXDEPTH")[0]["MAXDEPTH"] == 77
    assert reason_of(port, *app) == 0


def test_passwords_are_made_once_and_shown(
    developer: Developer, port: int, monkeypatch: pytest.MonkeyPatch, directory: QueueManagerDirectory
) -> None:
    for name in PASSWORDS:
        monkeypatch.delenv(name)
    first = developer()
    made = dict(re.findall(r"^  export (MQ_\w+_PASSWORD)=(\S+)$", first.out, re.MULTILINE))
    assert set(made) == set(PASSWORDS)
    assert made["MQ_APP_PASSWORD"] != made["MQ_ADMIN_PASSWORD"]
    assert reason_of(port, "DEV.APP.SVRCONN", "app", made["MQ_APP_PASSWORD"].strip("'")) == 0
    assert "export MQ_" not in developer().out
    assert list(read_passwords(password_path(directory))[0].users) == ["app", "admin"]


def test_another_port_and_another_password(developer: Developer, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        refused = developer()
    assert refused.status == 71
    assert str(port) in refused.err
    other = free_port()
    changed = developer("--port", str(other), "--app-password", "another")
    assert (changed.status, changed.err) == (0, "")
    assert f"127.0.0.1({other})" in changed.out
    assert reason_of(other, "DEV.APP.SVRCONN", "app", "another") == 0
    assert reason_of(other, "DEV.APP.SVRCONN", "app", "passw0rd") == MQRC_NOT_AUTHORIZED
    assert reason_of(other, "DEV.ADMIN.SVRCONN", "admin", "adm1n") == 0


@pytest.mark.parametrize(
    "arguments",
    [("--port", "0"), ("--port", "65536"), ("--port", "x"), ("--address", "no address"), ("--address", "192.0.2.1")],
)
def test_wrong_places_make_nothing(developer: Developer, data: Path, arguments: tuple[str, ...]) -> None:
    assert developer(*arguments).status == 39
    assert not data.exists()


def test_a_queue_manager_made_for_something_else_is_left_alone(developer: Developer, ostler: Command) -> None:
    assert ostler("crtmqm", "QM1").status == 0
    refused = developer()
    assert refused.status == 8
    assert "--take-over" in refused.err
    assert developer("--take-over").status == 0
    assert developer().status == 0


def environment_of(process: int) -> dict[str, str]:
    """What anybody who may look at a process finds in its environment."""
    entries = Path(f"/proc/{process}/environ").read_bytes().decode().split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def test_the_server_does_not_have_the_passwords(
    developer: Developer, directory: QueueManagerDirectory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OSTLER_PASSWORD", "passw0rd")
    monkeypatch.setenv("SOME_API_TOKEN", "t0ken")
    monkeypatch.setenv("HARMLESS", "stays")
    assert developer().status == 0
    _, process = running_process(directory)
    found = environment_of(process)
    assert not {*PASSWORDS, "OSTLER_PASSWORD", "SOME_API_TOKEN"} & {*found}
    assert not {*PASSWORDS.values(), "t0ken"} & {*found.values()}
    assert found["HARMLESS"] == "stays"
    assert found["PATH"] == os.environ["PATH"]
    # Nor do the programs that it starts, which have less than that.
    define = f"DEFINE SERVICE(ENV) SERVTYPE(COMMAND) STARTCMD('/usr/bin/env') STDOUT('{tmp_path}/env.txt')"
    assert run_program("runmqsc", "QM1", text=f"{define}\nSTART SERVICE(ENV)\n").status == 0
    deadline = time.monotonic() + 60
    while "PATH=" not in (text := (tmp_path / "env.txt").read_text() if (tmp_path / "env.txt").exists() else ""):
        assert time.monotonic() < deadline, "the service has not said what it has"
    assert not [secret for secret in (*PASSWORDS.values(), "t0ken", "stays") if secret in text]


def test_passwords_on_the_command_line_do_not_stay_there(
    developer: Developer, ostler: Command, directory: QueueManagerDirectory, port: int
) -> None:
    command = [sys.executable, "-u", "-m", "ostler.cli.main", "dev", "QM1", "--port", str(port), "--foreground"]
    command += ["--app-password", "on-the-line"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("-u admin QM1\n"):
                break
        assert "on-the-line" not in Path(f"/proc/{process.pid}/cmdline").read_text()
        assert not {*PASSWORDS} & {*environment_of(process.pid)}
        assert running_process(directory) == (True, process.pid)
        assert reason_of(port, "DEV.APP.SVRCONN", "app", "on-the-line") == 0
        assert reason_of(port, "DEV.ADMIN.SVRCONN", "admin", PASSWORDS["MQ_ADMIN_PASSWORD"]) == 0
        assert ostler("endmqm", "-i", "QM1").status == 0
        process.stdout.read()
        assert process.wait(60) == 0


def test_in_the_foreground(developer: Developer, ostler: Command, port: int) -> None:
    command = [sys.executable, "-u", "-m", "ostler.cli.main", "dev", "QM1", "--port", str(port), "--foreground"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        told = ""
        for line in process.stdout:
            told += line
            if line.endswith("-u admin QM1\n"):
                break
        assert "AMQ5026I" in told
        assert reason_of(port, "DEV.APP.SVRCONN", "app", "passw0rd") == 0
        assert developer("--foreground").status == 5
        assert ostler("endmqm", "-i", "QM1").status == 0
        process.stdout.read()
        assert process.wait(60) == 0


def test_what_is_shown_tells_who_can_reach_it() -> None:
    assert "for all to read" not in hints("QM1", "127.0.0.1", 1414)
    for address in ("*", "", "192.0.2.1"):
        assert "for all to read" in hints("QM1", address, 1414)
    assert '"localhost(1414)"' in hints("QM1", "*", 1414)
    assert '"192.0.2.1(1415)"' in hints("QM1", "192.0.2.1", 1415)
    assert [is_loopback(each) for each in ("::1", "localhost", "127.8.8.8", "10.0.0.1", "")] == [True] * 3 + [False] * 2


def test_listeners_listen_where_they_are_told_to() -> None:
    assert "PORT(1414) IPADDR('*')" in listener("*", 1414)
    assert "PORT(1415) IPADDR('10.0.0.1')" in move_listener("10.0.0.1", 1415)
