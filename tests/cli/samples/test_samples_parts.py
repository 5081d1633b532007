"""Parts of the sample programs: options, passwords, output on a terminal, progress, and real pipes."""

from __future__ import annotations

import argparse
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ostler.testing
from ostler.cli.samples import connection as sample_connection
from ostler.cli.samples.bodies import named_value, property_lines, property_value
from ostler.cli.samples.connection import UsageError, password, tls_settings
from ostler.cli.samples.json_lines import json_of, message_of
from ostler.cli.samples.output import Output
from ostler.cli.samples.progress import MessageProgress
from ostler.client.api.message import Message
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import create_queue_manager
from ostler.testing import RunningQueueManager

# -- options -----------------------------------------------------------------------------------------------------------


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    sample_connection.add_arguments(parser)
    sample_connection.add_arguments(parser, "to-")
    return parser.parse_args(arguments)


def test_tls_is_off_unless_asked_for() -> None:
    assert tls_settings(parsed("-c", "host", "--user", "fred")) is None


def test_tls_alone_means_any_cipher() -> None:
    assert tls_settings(parsed("--tls")) == TlsSettings("ANY_TLS12_OR_HIGHER")
    assert tls_settings(parsed("--tls"), "to-") is None
    assert tls_settings(parsed("--to-tls"), "to-") == TlsSettings("ANY_TLS12_OR_HIGHER")


def test_all_options_of_tls(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("unlock\n")
    arguments = parsed(
        *("--cipher", "TLS_AES_128_GCM_SHA256", "--ca-file", "ca.pem", "--certificate", "me.pem", "--key", "me.key"),
        *("--key-password-file", str(secret), "--peer-name", "CN=QM1"),
        *("--key-repository", "/keys", "--certificate-label", "me"),
    )
    assert tls_settings(arguments) == TlsSettings(
        cipher_spec="TLS_AES_128_GCM_SHA256",
        key_repository="/keys",
        certificate_label="me",
        peer_name="CN=QM1",
        ca_file="ca.pem",
        certificate_file="me.pem",
        key_file="me.key",
        key_password="unlock",
    )


def test_where_a_password_comes_from(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from file\nand more\n")
    assert password("fred", file, "", {"OSTLER_PASSWORD": "from environment"}) == "from file"
    assert password("fred", None, "", {"OSTLER_PASSWORD": "from environment"}) == "from environment"
    assert password("fred", None, "to-", {"OSTLER_TO_PASSWORD": "other"}) == "other"
    with pytest.raises(UsageError, match="holds no password"):
        password("fred", tmp_path / "none", "", {})


def test_no_terminal_to_ask_at() -> None:
    """A process without a terminal says what to do instead of hanging."""
    program = (
        "from ostler.cli.samples.connection import UsageError, password\n"
        "try: password('fred', None, '', {})\n"
        "except UsageError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        env=environment(),
        check=True,
        timeout=60,
    )
    assert b"--password-file or OSTLER_PASSWORD" in done.stdout


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-5", -5),
        ("0", 0),
        ("-0", 0),
        ("01", "01"),
        ("+1", "+1"),
        ("1_000", "1_000"),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        ("nan", "nan"),
        ("infinity", "infinity"),
        ("9223372036854775808", float(1 << 63)),
        ("true", True),
        ("True", "True"),
        ("'true'", "true"),
        ('"', '"'),
        ("", ""),
    ],
)
def test_values_as_they_read(text: str, value: object) -> None:
    assert property_value(text) == value
    assert type(property_value(text)) is type(value)


@given(st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.text() | st.floats(allow_nan=False))
def test_what_is_shown_can_be_typed(value: object) -> None:
    (shown,) = property_lines({"name": value})  # type: ignore[dict-item]
    if value not in (float("inf"), float("-inf")):
        assert named_value(shown) == ("name", value)


# -- messages ----------------------------------------------------------------------------------------------------------


@given(
    st.text() | st.binary(),
    st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.binary()),
    st.none() | st.floats(0.1, 1e6),
    st.binary(max_size=24),
)
def test_messages_survive_json(
    body: bytes | str, properties: dict[str, str], expiry: float | None, identifier: bytes
) -> None:
    message = Message(body, properties=properties, expiry=expiry, message_id=identifier, persistent=True, format="X")
    assert message_of(json_of(message)) == message


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_not_steered_by_messages() -> None:
    stream = Terminal()
    output = Output("text", stream)
    output.show(Message("\x1b[2Jclear\ttab\r\x9b", properties={"p": "\x1b]0;title\x07"}))
    assert stream.getvalue().decode() == "   p=\\x1b]0;title\\x07\n\\x1b[2Jclear\ttab\\x0d\\x9b\n"
    assert output.is_on_terminal


def test_pipes_get_what_there_is() -> None:
    stream = io.BytesIO()
    output = Output("text", stream)
    output.show(Message("\x1b[2J", properties={"p": 1}))
    assert stream.getvalue() == b"\x1b[2J\n"
    assert not output.is_on_terminal


class TextTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("total", [None, 100])
def test_progress_shows_when_it_takes_long(monkeypatch: pytest.MonkeyPatch, total: int | None) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = TextTerminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with MessageProgress("putting", total, patience_seconds=0) as progress:
        for _ in range(50):
            progress.advance()
    assert "putting" in screen.getvalue()
    assert progress.count == 50


def test_progress_keeps_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = TextTerminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with (
        MessageProgress("putting", 1) as progress,
        MessageProgress("getting", 1, False, patience_seconds=0) as unwanted,
    ):
        progress.advance()
        unwanted.advance()
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    with MessageProgress("putting", 1, patience_seconds=0) as progress:
        progress.advance()
    assert screen.getvalue() == file.getvalue() == ""


# -- real processes ----------------------------------------------------------------------------------------------------


def environment(data: Path | None = None) -> dict[str, str]:
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return {**found, "OSTLER_DATA": str(data)} if data is not None else found


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ostler.cli.main", *arguments]


@pytest.fixture
def qm() -> Iterator[RunningQueueManager]:
    """A queue manager PIPES, with 2,000 messages on A."""
    with ostler.testing.queue_manager("PIPES", mqsc="DEFINE QLOCAL(A) DEFPSIST(YES)") as running:
        with running.connect() as connection, connection.transaction(), connection.open("A", "w") as queue:
            for number in range(2000):
                queue.put(f"message {number:04d} " + "x" * 100)
        yield running


def test_a_reader_that_leaves(qm: RunningQueueManager) -> None:
    with subprocess.Popen(
        command("get", "A", "PIPES", "--all"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(qm.data)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for _ in range(200):
            assert process.stdout.readline().startswith(b"message ")
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(60) == 141
    assert said == b""
    first = qm.get("A", wait=10)
    assert first is not None
    # The batches that the reader saw are gone. Of the others all that was not written is there.
    assert 0 < int(first.text.split()[1]) < 2000


def test_interrupted_while_waiting(qm: RunningQueueManager) -> None:
    with subprocess.Popen(
        command("get", "A", "PIPES", "--all", "--wait", "forever"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(qm.data),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for _ in range(2000):
            assert process.stdout.readline().startswith(b"message ")
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(60) == 130
    assert said == b"ostler: interrupted\n"


def test_a_queue_manager_that_does_not_run_is_not_started(tmp_path: Path) -> None:
    create_queue_manager(tmp_path, "STOPPED", LogSection(file_pages=64))
    done = subprocess.run(
        command("put", "A", "STOPPED", "-m", "x"),
        capture_output=True,
        env=environment(tmp_path),
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert b"MQRC_Q_MGR_NOT_AVAILABLE (2059)" in done.stderr


# -- instances ---------------------------------------------------------------------------------------------------------


def test_an_instance_of_this_machine_has_a_data_root_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[str, dict[str, object]]] = []
    monkeypatch.setenv("OSTLER_DATA", str(tmp_path))
    monkeypatch.setattr(sample_connection.ostler, "connect", lambda name, **options: given.append((name, options)))
    arguments = parsed()
    arguments.command = "put"
    sample_connection.connect(arguments, "QM1@alpha")
    where = tmp_path / "instances" / "alpha"
    assert given == [("QM1", {"application": "ostler put", "binding": "local", "data": where})]


@pytest.mark.parametrize(
    ("options", "name", "said"),
    [
        (("-c", "host(1414)"), "QM1@alpha", "over the network name the queue manager: QM1"),
        ((), "QM1@../x", "is not the name of an instance"),
    ],
)
def test_an_instance_that_cannot_be_is_refused(options: tuple[str, ...], name: str, said: str) -> None:
    arguments = parsed(*options)
    arguments.command = "put"
    with pytest.raises(UsageError, match=said):
        sample_connection.connect(arguments, name)
