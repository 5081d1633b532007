"""The sample programs over the network, most of them in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.world.tls_pairs import make_certificates

import ostler.testing
from ostler.cli.main import main
from ostler.testing import RunningQueueManager


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with ostler.testing.queue_manager("NET", mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)") as running:
        yield running


@pytest.fixture
def isolated(qm: RunningQueueManager) -> Iterator[RunningQueueManager]:
    with qm.isolated():
        yield qm


def program(
    *arguments: str, given: bytes = b"", status: int = 0, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MQ", "OSTLER_"))}
    path = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-m", "ostler.cli.main", *arguments],
        input=given,
        capture_output=True,
        env={**clean, "PYTHONPATH": path, **(environment or {})},
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done


def test_put_and_get_by_connection_name(isolated: RunningQueueManager) -> None:
    where = ["-c", isolated.connection_name, "--channel", isolated.channel]
    done = program("put", "A", "NET", *where, "-P", "n=1", given=b"one\ntwo\n")
    assert b"2 messages put on A of NET" in done.stderr
    assert isolated.depth("A") == 2
    assert program("browse", "A", "NET", *where, "--details").stdout.count(b"   n=1\n") == 2
    assert program("get", "A", "*ANY", *where, "--all").stdout == b"one\ntwo\n"
    assert isolated.depth("A") == 0


def test_mqserver_leads_there(isolated: RunningQueueManager) -> None:
    environment = {"MQSERVER": isolated.mqserver}
    program("put", "A", "-m", "hello", environment=environment)
    assert program("get", "A", environment=environment).stdout == b"hello\n"


def test_resources_are_shown_to_clients(isolated: RunningQueueManager) -> None:
    where = ["--connection", isolated.connection_name, "--channel", isolated.channel]
    done = program("amqsrua", "-m", "NET", *where, "-c", "CPU", "-t", "QMgrSummary", "-n", "1")
    assert b"RAM total bytes - estimate for queue manager " in done.stdout
    assert b"interval " in done.stdout


def test_local_programs_need_no_address(isolated: RunningQueueManager) -> None:
    environment = {"OSTLER_DATA": str(isolated.data)}
    program("put", "A", "NET", "-m", "hello", environment=environment)
    assert program("get", "A", "NET", environment=environment).stdout == b"hello\n"


def test_the_second_host_answers(isolated: RunningQueueManager) -> None:
    where = ["-c", f"127.0.0.1(1),{isolated.connection_name}", "--channel", isolated.channel]
    assert main(["put", "A", "NET", *where, "-m", "hello"]) == 0
    assert isolated.depth("A") == 1


def test_forward_to_another_queue_manager(isolated: RunningQueueManager) -> None:
    with ostler.testing.queue_manager("OTHER", mqsc="DEFINE QLOCAL(TARGET)") as other:
        put = [isolated.put("A", f"message {number}", persistent=True) for number in range(5)]
        program(
            *("forward", "A", "TARGET", "NET", "-c", isolated.connection_name, "--channel", isolated.channel),
            *("--to-manager", "OTHER", "--to-connection", other.connection_name, "--to-channel", other.channel),
            *("--batch", "2"),
        )
        assert isolated.depth("A") == 0
        moved = other.browse("TARGET")
        assert [message.message_id for message in moved] == [message.message_id for message in put]


def test_request_and_respond(isolated: RunningQueueManager) -> None:
    environment = {"MQSERVER": isolated.mqserver}
    clean = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **environment}
    with subprocess.Popen(
        [sys.executable, "-m", "ostler.cli.main", "respond", "A", "--upper", "--count", "3", "--wait", "60"], env=clean
    ) as responder:
        done = program("request", "A", "--wait", "60", given=b"a\nb\nc\n", environment=environment)
        assert done.stdout == b"A\nB\nC\n"
        assert responder.wait(60) == 0


def test_tls_and_a_password(
    isolated: RunningQueueManager, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    certificates = make_certificates(isolated.manager.directory.path, isolated.name)
    isolated.mqsc(
        "DEFINE CHANNEL(TLS.SVRCONN) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER) SSLCAUTH(OPTIONAL)\n"
        "REFRESH SECURITY TYPE(SSL)"
    )
    monkeypatch.setenv("OSTLER_PASSWORD", "s3cret")
    where = ["-c", isolated.connection_name, "--channel", "TLS.SVRCONN", "--user", "fred"]
    trusted = ["--ca-file", str(certificates.ca_file), "--peer-name", "CN=NET"]
    assert main(["put", "A", "NET", *where, "--tls", *trusted, "-m", "hello"]) == 0
    (message,) = isolated.browse("A")
    assert (message.text, message.user) == ("hello", "fred")
    capsys.readouterr()
    assert (
        main(["get", "A", "NET", *where, "--tls", "--ca-file", str(certificates.ca_file), "--peer-name", "CN=X"]) == 2
    )
    assert "MQRC_SSL_PEER_NAME_MISMATCH (2398)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("queue_manager", "channel", "reason"),
    [("WRONG", "", "MQRC_Q_MGR_NAME_ERROR (2058)"), ("NET", "NO.SUCH.CHANNEL", "MQRC_UNKNOWN_CHANNEL_NAME (2540)")],
)
def test_the_wrong_place(
    isolated: RunningQueueManager, queue_manager: str, channel: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["-c", isolated.connection_name, "--channel", channel or isolated.channel]
    assert main(["get", "A", queue_manager, *where]) == 2
    assert reason in capsys.readouterr().err


def test_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "A", "NET", "-c", "127.0.0.1(1)"]) == 2
    assert "MQRC_HOST_NOT_AVAILABLE (2538)" in capsys.readouterr().err
