"""The sample programs against a queue manager in this process."""

from __future__ import annotations

import io
import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

import ostler
from ostler.cli.main import main
from ostler.client.api.connection import Connection
from ostler.client.api.property_types import PropertyValue
from ostler.model import constants as mq
from ostler.server.config.qm_ini import LogSection

numbers = itertools.count(1)


class Run(Protocol):
    def __call__(self, *arguments: str, given: bytes = b"", status: int = 0) -> bytes: ...


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def name(data: Path) -> Iterator[str]:
    manager = ostler.start("SAMPLES", data, create=True, log=LogSection(file_pages=64))
    yield manager.name
    manager.end("immediate")


@pytest.fixture
def qm(name: str) -> Iterator[Connection]:
    with ostler.connect(name) as connection:
        yield connection


@pytest.fixture
def new_queue(qm: Connection) -> Callable[[], str]:
    def new() -> str:
        queue = f"SAMPLE.{next(numbers)}"
        qm.define("QLOCAL", queue)
        return queue

    return new


@pytest.fixture
def queue(new_queue: Callable[[], str]) -> str:
    return new_queue()


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a program with this input; what it writes. `status` is what it must end with."""

    def run_it(*arguments: str, given: bytes = b"", status: int = 0) -> bytes:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        capsysbinary.readouterr()
        ended = main(arguments)
        written, said = capsysbinary.readouterr()
        sys.stderr.write(said.decode())
        assert ended == status, said
        return written

    return run_it


def said(capture: pytest.CaptureFixture[bytes]) -> str:
    return capture.readouterr().err.decode()


def bodies(qm: Connection, queue: str) -> list[bytes | str]:
    with qm.open(queue) as opened:
        return [message.body for message in opened]


# -- put ---------------------------------------------------------------------------------------------------------------


def test_each_line_is_a_message(
    run: Run, qm: Connection, queue: str, name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    run("put", queue, name, given="one\ntwo\r\n\nGrüß Gott\nlast".encode())
    assert f"5 messages put on {queue} of {name}" in said(capsysbinary)
    assert bodies(qm, queue) == ["one", "two", "", "Grüß Gott", "last"]


def test_lines_that_are_no_text_are_bytes(run: Run, qm: Connection, queue: str, name: str) -> None:
    run("put", queue, name, given=b"\xff\xfe\n")
    assert bodies(qm, queue) == [b"\xff\xfe"]


def test_lines_of_hexadecimal_digits(run: Run, qm: Connection, queue: str, name: str) -> None:
    run("put", queue, name, "--hex", given=b"00ff 10\n\n")
    assert bodies(qm, queue) == [b"\x00\xff\x10", b""]


def test_only_so_many_lines(run: Run, qm: Connection, queue: str, name: str) -> None:
    run("put", queue, name, "--count", "2", given=b"1\n2\n3\n")
    assert bodies(qm, queue) == ["1", "2"]


def test_files_texts_and_sizes(run: Run, qm: Connection, queue: str, name: str, tmp_path: Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_text("first\nsecond\n")
    other.write_bytes(b"\x80")
    run("put", queue, name, "-m", "hello", "-f", str(file), "-f", str(other), "--size", "100", "--count", "2")
    found = bodies(qm, queue)
    assert found[:3] == ["hello", "first\nsecond\n", b"\x80"]
    assert len(found[3]) == 100
    assert found[4:] == found[:4]


def test_fields_and_properties(run: Run, qm: Connection, queue: str, name: str) -> None:
    properties = ["price=12", "rate=1.5", "code=007", "ok=true", "none=null", "text='12'", "sentence=a=b", "empty="]
    options = [part for each in properties for part in ("-P", each)]
    run(
        *("put", queue, name, "-m", "x", "--persistent", "--priority", "7", "--expiry", "60", "--correl", "0x0102"),
        *("--reply-to", "REPLIES", "--format", "MYFORM", *options),
    )
    with qm.open(queue) as opened:
        message = opened.get()
    assert message is not None
    assert (message.persistent, message.priority, message.reply_to, message.format) == (True, 7, "REPLIES", "MYFORM")
    assert message.correlation_id == b"\1\2".ljust(24, b"\0")
    assert message.expiry is not None
    assert 0 < message.expiry <= 60
    assert message.properties == {
        "price": 12,
        "rate": 1.5,
        "code": "007",
        "ok": True,
        "none": None,
        "text": "12",
        "sentence": "a=b",
        "empty": "",
    }


def test_batches_are_committed_as_a_whole(
    run: Run, qm: Connection, queue: str, name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    qm.alter("QLOCAL", queue, MAXDEPTH=7)
    run("put", queue, name, "--batch", "3", given=b"x\n" * 10, status=2)
    assert "MQRC_Q_FULL (2053)" in (text := said(capsysbinary))
    assert "6 messages put" in text
    assert len(bodies(qm, queue)) == 6


def test_the_last_batch_may_be_small(run: Run, qm: Connection, queue: str, name: str) -> None:
    run("put", queue, name, "--batch", "4", given=b"x\n" * 6)
    assert len(bodies(qm, queue)) == 6


def test_quiet(run: Run, queue: str, name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    run("put", queue, name, "-m", "x", "-q")
    assert said(capsysbinary) == ""


# -- get and browse ----------------------------------------------------------------------------------------------------


def test_get_takes_one_and_browse_takes_none(run: Run, queue: str, name: str) -> None:
    run("put", queue, name, given=b"one\ntwo\nthree\n")
    assert run("browse", queue, name) == b"one\ntwo\nthree\n"
    assert run("browse", queue, name, "--count", "2") == b"one\ntwo\n"
    assert run("get", queue, name) == b"one\n"
    assert run("get", queue, name, "--all") == b"two\nthree\n"
    assert run("get", queue, name, "--all") == b""
    assert run("browse", queue, name) == b""


def test_fewer_messages_than_asked_for(
    run: Run, queue: str, name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    run("get", queue, name, status=2)
    assert "MQRC_NO_MSG_AVAILABLE (2033)" in said(capsysbinary)
    run("put", queue, name, "-m", "x")
    assert run("get", queue, name, "--count", "2", status=2) == b"x\n"
    assert "1 message came of 2" in said(capsysbinary)


def test_get_waits_for_a_message(run: Run, qm: Connection, queue: str, name: str) -> None:
    putting = threading.Timer(0.05, qm.put, (queue, "late"))
    putting.start()
    assert run("get", queue, name, "--wait", "30") == b"late\n"
    putting.join()


def test_forms(run: Run, qm: Connection, queue: str, name: str) -> None:
    qm.put(queue, "text")
    qm.put(queue, b"\xff\x00", ccsid=1208)
    assert run("browse", queue, name) == b"text\n0xff00\n"
    assert run("browse", queue, name, "--hex") == b"74657874\nff00\n"
    assert run("browse", queue, name, "--raw") == b"text\xff\x00"


def test_details(run: Run, qm: Connection, queue: str, name: str) -> None:
    qm.put(queue, "text", properties={"price": 3, "word": "12"}, correlation_id=b"me", expiry=900.0, reply_to="R")
    remark, *lines = run("browse", queue, name, "--details").decode().splitlines()
    assert lines == ["   price=3", '   word="12"', "text"]
    assert "-- message 1: id " in remark
    assert f"correlation id {b'me'.hex()}" in remark
    assert "4 bytes, expires in" in remark
    assert "reply to R" in remark


def test_messages_are_chosen(run: Run, qm: Connection, queue: str, name: str) -> None:
    qm.put(queue, "a", correlation_id=b"one", properties={"n": 1})
    put = qm.put(queue, "b", correlation_id=b"two", properties={"n": 2})
    qm.put(queue, "c", correlation_id=b"one", properties={"n": 3})
    assert run("browse", queue, name, "--match-correl", "one") == b"a\nc\n"
    assert run("get", queue, name, "--match-id", f"0x{put.message_id.hex()}") == b"b\n"
    assert run("get", queue, name, "--selector", "n > 1", "--all") == b"c\n"
    assert bodies(qm, queue) == ["a"]


def test_json_goes_both_ways(run: Run, qm: Connection, new_queue: Callable[[], str], name: str) -> None:
    one, two = new_queue(), new_queue()
    properties: dict[str, PropertyValue] = {"a": 1, "b": 1.5, "c": "text", "d": True, "e": None, "f": b"\1\2"}
    qm.put(one, "text", properties=properties, correlation_id=b"id", persistent=True, priority=3, reply_to="R")
    qm.put(one, b"\xff", format="MYFORM", expiry=100.0)
    written = run("get", one, name, "--all", "--json")
    first, second = (json.loads(line) for line in written.splitlines())
    assert first["body"] == "text"
    assert second["body_hex"] == "ff"
    run("put", two, name, "--json", given=written)
    with qm.open(two) as opened:
        text, data = opened
    assert (text.body, text.properties, text.persistent, text.priority) == ("text", properties, True, 3)
    assert (text.message_id.hex(), text.correlation_id.hex()) == (first["message_id"], first["correlation_id"])
    assert (data.body, data.format) == (b"\xff", "MYFORM")
    assert data.expiry is not None


@pytest.mark.parametrize(("form", "ending", "content"), [([], ".msg", b"line\n"), (["--hex"], ".hex", b"6c696e650a\n")])
def test_each_message_a_file(
    run: Run, qm: Connection, queue: str, name: str, tmp_path: Path, form: list[str], ending: str, content: bytes
) -> None:
    put = [qm.put(queue, "line\n") for _ in range(2)]
    place = tmp_path / "new" / "files"
    assert run("get", queue, name, "--all", "--output-dir", str(place), *form) == b""
    files = sorted(place.iterdir())
    assert [file.name for file in files] == [
        f"00000{number}-{message.message_id.hex()}{ending}" for number, message in enumerate(put, 1)
    ]
    assert files[0].read_bytes() == content


def test_a_message_that_cannot_be_written_stays(
    run: Run, qm: Connection, queue: str, name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    put = qm.put(queue, "precious")
    (tmp_path / f".000001-{put.message_id.hex()}.msg.unfinished").mkdir()
    run("get", queue, name, "--output-dir", str(tmp_path), status=1)
    assert "cannot be written" in said(capsysbinary)
    assert bodies(qm, queue) == ["precious"]


# -- requests and replies ----------------------------------------------------------------------------------------------


def respond(*arguments: str) -> threading.Thread:
    thread = threading.Thread(target=main, args=(["respond", *arguments, "--wait", "60"],))
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("how", "reply"),
    [
        ([], b"hello\nworld\n"),
        (["--upper"], b"HELLO\nWORLD\n"),
        (["--reply", "fine"], b"fine\nfine\n"),
        (["--command", "tr a-y b-z"], b"ifmmp\nxpsme\n"),
        (["--command", r"printf '\377'"], b"0xff\n0xff\n"),
    ],
)
def test_requests_are_answered(
    run: Run, queue: str, name: str, how: list[str], reply: bytes, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    answering = respond(queue, name, "--count", "2", *how)
    assert run("request", queue, name, "--wait", "60", given=b"hello\nworld\n") == reply
    answering.join()
    assert "2 requests, 2 replies" in said(capsysbinary)


def test_requests_without_reply(run: Run, queue: str, name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("request", queue, name, "-m", "a", "-m", "b", "--wait", "0.01", status=2) == b""
    text = said(capsysbinary)
    assert text.count("MQRC_NO_MSG_AVAILABLE (2033)") == 2
    assert "2 requests, 0 replies" in text


def test_messages_that_want_no_reply(
    run: Run, qm: Connection, queue: str, name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    qm.put(queue, "news")
    qm.put(queue, "request", reply_to="NO.SUCH.QUEUE", message_type=mq.MQMT_REQUEST)
    run("respond", queue, name, "--wait", "0")
    text = said(capsysbinary)
    assert "2 requests answered, 2 of them without a reply" in text
    assert "MQRC_UNKNOWN_OBJECT_NAME (2085)" in text
    assert bodies(qm, queue) == []


def test_a_command_that_fails_leaves_the_request(
    run: Run, qm: Connection, queue: str, name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    qm.put(queue, "request", reply_to=queue, message_type=mq.MQMT_REQUEST)
    run("respond", queue, name, "--wait", "0", "--command", "exit 3", status=1)
    text = said(capsysbinary)
    assert "ended with 3" in text
    assert "0 requests answered" in text
    assert bodies(qm, queue) == ["request"]


# -- forward -----------------------------------------------------------------------------------------------------------


def test_messages_move_as_they_are(
    run: Run, qm: Connection, new_queue: Callable[[], str], name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    one, two = new_queue(), new_queue()
    put = [
        qm.put(one, f"text {number}", properties={"n": number}, persistent=True, correlation_id=b"c", priority=4)
        for number in range(5)
    ]
    run("forward", one, two, name, "--batch", "2")
    assert "5 messages forwarded" in said(capsysbinary)
    with qm.open(two) as opened:
        moved = list(opened)
    assert [message.body for message in moved] == [f"text {number}" for number in range(5)]
    for before, after in zip(put, moved, strict=True):
        assert (before.message_id, before.put_time, before.user) == (after.message_id, after.put_time, after.user)
        assert (before.properties, before.persistent, before.priority) == (after.properties, True, 4)
    assert bodies(qm, one) == []


def test_some_messages_move(run: Run, qm: Connection, new_queue: Callable[[], str], name: str) -> None:
    one, two = new_queue(), new_queue()
    for number in range(5):
        qm.put(one, str(number), properties={"n": number})
    run("forward", one, two, name, "--selector", "n > 1", "--count", "2")
    assert bodies(qm, two) == ["2", "3"]
    assert bodies(qm, one) == ["0", "1", "4"]


def test_a_batch_that_finds_no_room_stays(
    run: Run, qm: Connection, new_queue: Callable[[], str], name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    one, two = new_queue(), new_queue()
    qm.alter("QLOCAL", two, MAXDEPTH=3)
    for number in range(5):
        qm.put(one, str(number))
    run("forward", one, two, name, "--batch", "2", status=2)
    assert "MQRC_Q_FULL (2053)" in said(capsysbinary)
    assert bodies(qm, two) == ["0", "1"]
    assert bodies(qm, one) == ["2", "3", "4"]


# -- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["Q", "QM", "extra"],
        ["Q", "QM", "--count", "0"],
        ["Q", "QM", "--count", "x"],
        ["Q", "QM", "--size", "104857601"],
        ["Q", "QM", "--priority", "10"],
        ["Q", "QM", "--expiry", "nan"],
        ["Q", "QM", "--expiry", "-1"],
        ["Q", "QM", "--correl", "0xz"],
        ["Q", "QM", "--correl", "x" * 25],
        ["Q", "QM", "-P", "noequals"],
        ["Q", "QM", "--password", "secret"],
        ["Q", "QM", "--persistent", "--not-persistent"],
    ],
)
def test_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["put", *arguments])
    assert ended.value.code == 1


@pytest.mark.parametrize(
    ("arguments", "given", "words"),
    [
        (["-f", "/no/such/file"], b"", "No such file"),
        (["--hex"], b"xyz\n", "hexadecimal"),
        (["--json"], b"[]\n", "not an object"),
        (["--json"], b"{\n", "not a message"),
        (["--json"], b'{"priority": "x"}\n', "priority"),
    ],
)
def test_input_that_makes_no_sense(
    run: Run,
    qm: Connection,
    queue: str,
    name: str,
    capsysbinary: pytest.CaptureFixture[bytes],
    arguments: list[str],
    given: bytes,
    words: str,
) -> None:
    run("put", queue, name, *arguments, given=given, status=1)
    assert words in said(capsysbinary)
    assert bodies(qm, queue) == []


def test_a_queue_that_is_not_there(run: Run, name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    run("get", "NO.SUCH.QUEUE", name, status=2)
    assert "MQRC_UNKNOWN_OBJECT_NAME (2085): There is no queue NO.SUCH.QUEUE" in said(capsysbinary)


def test_no_queue_manager_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("OSTLER_DATA", str(tmp_path))
    run("get", "Q", status=1)
    assert "name a queue manager" in said(capsysbinary)


# -- topics ------------------------------------------------------------------------------------------------------------


def test_publications_are_shown(
    run: Run, qm: Connection, name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    run("subscribe", "orders/#", name, "--name", "shop", "--wait", "0")
    assert f"subscribed to orders/# of {name}" in said(capsysbinary)
    run("publish", "orders/ann", name, "-P", "n=1", given=b"one\ntwo\n")
    assert f"2 messages published to orders/ann of {name}" in said(capsysbinary)
    assert run("subscribe", "orders/#", name, "--name", "shop", "--count", "1") == b"one\n"
    shown = run("subscribe", "orders/#", name, "--name", "shop", "--wait", "0", "--details", "--remove").decode()
    assert "   published to orders/ann\n   n=1\ntwo\n" in shown
    with pytest.raises(ostler.MQError) as refusal:
        qm.subscribe("orders/#", name="shop", options=mq.MQSO_RESUME)
    assert refusal.value.reason == mq.MQRC_NO_SUBSCRIPTION


def test_a_retained_publication_as_json(run: Run, name: str) -> None:
    run("publish", "status/door", name, "-m", "open", "--retain", "--batch", "5")
    shown = json.loads(run("subscribe", "st*/door", name, "--wait", "0", "--json", "--characters", "--user-data", "me"))
    assert (shown["body"], shown["topic"], shown["is_retained"], shown["user_data"]) == (
        "open",
        "status/door",
        True,
        "me",
    )
    assert run("subscribe", "status/#", name, "--wait", "0", "--new-only") == b""


def test_topics_that_are_refused(run: Run, name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    run("subscribe", "a", name, "--remove", status=1)
    assert "--name" in said(capsysbinary)
    run("subscribe", "a", name, "--count", "1", "--wait", "0", status=2)
    assert "MQRC_NO_MSG_AVAILABLE" in said(capsysbinary)
    run("publish", "x", name, "--object", "NO.SUCH", "-m", "x", status=2)
    assert "MQRC_UNKNOWN_OBJECT_NAME" in said(capsysbinary)
