"""Dead letters in Python: reading the header, going back to the message as it was, putting back and dropping."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import ostler
from ostler.client.aio.async_queue import put_parts
from ostler.client.api.connection import Connection
from ostler.client.api.dead_letter_header import DeadLetterHeader, add_header, reason_name, reason_number, remove_header
from ostler.client.api.dead_letters import DeadLetterQueue, as_dead_letter
from ostler.client.api.message import Message, MessageFields
from ostler.client.session.runtime import run
from ostler.engine.open import OpenRequest
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.headers import MQDLH
from ostler.testing import RunningQueueManager, queue_manager

SETUP = """
DEFINE QLOCAL(DEAD)
ALTER QMGR DEADQ(DEAD)
DEFINE QLOCAL(ONE)
DEFINE QLOCAL(TWO)
DEFINE QLOCAL(SMALL) MAXDEPTH(2)
"""
BODIES = 120


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager("DEADS") as running:
        yield running


@pytest.fixture
def site(qm: RunningQueueManager) -> Iterator[RunningQueueManager]:
    with qm.isolated(SETUP):
        yield qm


@pytest.fixture(params=["embedded", "client"])
def connection(request: pytest.FixtureRequest, site: RunningQueueManager) -> Iterator[Connection]:
    if request.param == "embedded":
        with site.connect() as made:
            yield made
    else:
        with ostler.connect(site.name, site.connection_name, channel=site.channel) as made:
            yield made


def put_dead_letter(
    connection: Connection, message: Message, queue: str, reason: int = mq.MQRC_Q_FULL, manager: str | None = None
) -> None:
    """Put a message on DEAD as an application does that gives it up."""
    session = connection.inner.session
    md, block, body = put_parts(message)
    md, body = add_header(md, body, queue, session, reason)
    if manager is not None:
        changed = bytearray(body)
        MQDLH.patch(changed, "DestQMgrName", manager)
        body = bytes(changed)
    options = mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_SET_ALL_CONTEXT
    run(session.put1(OpenRequest(mq.MQOT_Q, "DEAD", 0), md, options, block, body))


def tokens(dead: DeadLetterQueue) -> list[bytes]:
    return [each.token for each in dead.letters()]


# -- the header --------------------------------------------------------------------------------------------------------


FIELDS: MessageFields = {
    "message_id": b"M" * 24,
    "correlation_id": b"C" * 24,
    "priority": 7,
    "persistent": True,
    "reply_to": "ANSWERS",
    "reply_to_manager": "FAR",
    "message_type": mq.MQMT_REQUEST,
    "format": "MQSTR",
    "ccsid": 819,
    "report": mq.MQRO_PASS_CORREL_ID,
    "properties": {"n": 5, "colour": "blue", "raw": b"\0\1"},
    "user": "carol",
    "accounting_token": b"account",
    "identity_data": "identity",
    "application": "orders",
    "application_type": mq.MQAT_UNIX,
    "origin_data": "ABCD",
    "put_time": datetime(2024, 2, 29, 12, 34, 56, 780000, UTC),
}


def test_a_dead_letter_is_put_back_as_it_was(connection: Connection) -> None:
    put_dead_letter(connection, Message("Grüße", **FIELDS), "ONE")
    dead = DeadLetterQueue(connection)
    (letter,) = dead.letters()
    assert letter.header is not None
    assert (letter.header.reason, letter.header.reason_name) == (2053, "MQRC_Q_FULL")
    assert (letter.header.queue, letter.header.manager) == ("ONE", "DEADS")
    assert (letter.header.format, letter.header.ccsid) == ("MQSTR", 819)
    assert letter.body_bytes == 5
    seen = letter.original()
    outcome = dead.retry([letter.token])
    assert (outcome.done, outcome.refused) == (1, {})
    with connection.open("ONE") as queue:
        found = queue.get()
    assert found is not None
    for each in (seen, found):
        assert each.body == "Grüße"
        for name, value in FIELDS.items():
            assert getattr(each, name) == value, name
    assert tokens(dead) == []


def test_a_header_of_another_machine_is_read() -> None:
    """Big-endian numbers, and text in EBCDIC."""
    header = MQDLH.default()
    for name, value in (("Version", 1), ("Reason", 2085), ("Encoding", 273), ("CodedCharSetId", 500)):
        MQDLH.patch(header, name, value, False)
    for name, text in (
        ("StrucId", "DLH "),
        ("DestQName", "ORDERS"),
        ("DestQMgrName", "QM2"),
        ("Format", "MQSTR"),
        ("PutApplName", "CICS"),
        ("PutDate", "20240229"),
        ("PutTime", "12345678"),
    ):
        field = MQDLH.by_name[name]
        header[field.offset : field.offset + field.length] = text.ljust(field.length).encode("cp500")
    found = Message(bytes(header) + "hello".encode("cp500"), format="MQDEAD", encoding=273, ccsid=500)
    letter = as_dead_letter(found)
    assert letter.header == DeadLetterHeader(
        1, 2085, "ORDERS", "QM2", 273, 500, "MQSTR", 0, "CICS", datetime(2024, 2, 29, 12, 34, 56, 780000, UTC)
    )
    original = letter.original()
    assert (original.text, original.format, original.encoding, original.ccsid) == ("hello", "MQSTR", 273, 500)


def test_a_segment_is_a_segment_again(connection: Connection) -> None:
    """The queue manager moves what makes it one behind the header, into an MQMDE."""
    flags = mq.MQMF_SEGMENT | mq.MQMF_SEGMENTATION_ALLOWED
    message = Message(b"part", group_id=b"G" * 24, sequence_number=1, offset=8, flags=flags, format="MYFORMAT")
    put_dead_letter(connection, message, "ONE")
    dead = DeadLetterQueue(connection)
    (letter,) = dead.letters()
    assert letter.message.flags & mq.MQMF_SEGMENT == 0
    assert letter.original().flags == flags
    assert dead.retry([letter.token]).done == 1
    with connection.open("ONE") as queue:
        found = queue.get()
    assert found is not None
    for each in (letter.original(), found):
        assert (each.body, each.format, each.group_id, each.offset) == (b"part", "MYFORMAT", b"G" * 24, 8)
        assert each.flags == flags


@pytest.mark.parametrize(
    "message",
    [
        Message("no header"),
        Message(b"DLH ", format="MQDEAD"),
        Message(b"XXXX" + bytes(200), format="MQDEAD"),
        Message(b"", format="MQDEAD"),
    ],
)
def test_what_is_no_dead_letter_is_left_as_it_is(message: Message) -> None:
    letter = as_dead_letter(message)
    assert letter.header is None
    assert letter.original() is message
    with pytest.raises(MQError) as refused:
        remove_header(message.packed(), message.data)
    assert refused.value.reason == mq.MQRC_DLH_ERROR


def test_reasons_by_name_and_number() -> None:
    assert reason_name(2053) == "MQRC_Q_FULL"
    assert reason_name(mq.MQFB_TM_ERROR) == "MQFB_TM_ERROR"
    assert reason_name(123456) == "123456"
    for word in ("2053", "MQRC_Q_FULL", "q_full"):
        assert reason_number(word) == 2053
    assert reason_number("MQFB_TM_ERROR") == mq.MQFB_TM_ERROR
    assert reason_number("NOPE") is None
    assert reason_number("MQOO_INPUT_SHARED") is None


# -- putting back and dropping -----------------------------------------------------------------------------------------


def test_those_that_cannot_go_back_stay_and_say_why(connection: Connection) -> None:
    """Also when they are in the middle of a unit of work: the others go, in their order."""
    for number in range(BODIES):
        put_dead_letter(connection, Message(str(number)), "SMALL" if number % 10 == 5 else "ONE")
    connection.put("DEAD", "no header")
    dead = DeadLetterQueue(connection)
    told: list[int] = []
    outcome = dead.retry(tokens(dead), on_progress=told.append)
    small = len(range(5, BODIES, 10))
    assert outcome.done == BODIES - small + 2 == told[-1]
    reasons = [error.reason for error in outcome.refused.values()]
    assert reasons == [mq.MQRC_Q_FULL] * (small - 2) + [mq.MQRC_DLH_ERROR]
    with connection.open("ONE") as queue:
        bodies = [message.body for message in queue]
    assert bodies == [str(number) for number in range(BODIES) if number % 10 != 5]
    left = [each.original().body for each in dead.letters()]
    assert left == [str(number) for number in range(25, BODIES, 10)] + ["no header"]


def test_another_queue_takes_them_with_and_without_header(connection: Connection) -> None:
    put_dead_letter(connection, Message("one"), "SMALL")
    connection.put("DEAD", "no header")
    dead = DeadLetterQueue(connection)
    assert dead.retry(tokens(dead), "TWO").done == 2
    with connection.open("TWO") as queue:
        assert [message.body for message in queue] == ["one", "no header"]
    with pytest.raises(MQError):
        dead.retry([], "DEAD")


def test_exactly_those_that_were_chosen(connection: Connection) -> None:
    """Identifiers need not be unique; tokens are."""
    for number in range(4):
        put_dead_letter(connection, Message(str(number), message_id=b"S" * 24), "ONE")
    dead = DeadLetterQueue(connection)
    chosen = [each.token for each in dead.letters() if each.original().body in ("1", "2")]
    assert dead.drop(chosen).done == 2
    assert [each.original().body for each in dead.letters()] == ["0", "3"]
    assert dead.drop(chosen).done == 0, "they are gone"


def test_a_destination_that_is_another_queue_manager(site: RunningQueueManager) -> None:
    site.mqsc("DEFINE QLOCAL(XMIT) USAGE(XMITQ)\nDEFINE QREMOTE(FAR) RNAME('') RQMNAME(FAR) XMITQ(XMIT)")
    with site.connect() as connection:
        put_dead_letter(connection, Message("away"), "THERE", manager="FAR")
        dead = DeadLetterQueue(connection)
        assert dead.retry(tokens(dead)).done == 1
    assert site.depth("XMIT") == 1


def test_without_a_dead_letter_queue_the_error_says_so(qm: RunningQueueManager) -> None:
    with qm.connect() as connection, pytest.raises(MQError, match="has no dead-letter queue"):
        DeadLetterQueue(connection)
