"""Report messages and dead letters: conditions, destinations and every field."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.engine.core import Engine
from ostler.engine.events import reports
from ostler.engine.message.message import Message
from ostler.engine.properties.properties import Property
from ostler.engine.properties.property_block import decode_block, encode_block
from ostler.engine.queue import delivery
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.model.journal import Journal
from ostler.model.structures.headers import MQDLH, MQMDE, MQRFH2
from ostler.model.structures.layout import Layout
from ostler.model.structures.md import MQMD
from ostler.testing.simulation.crashing_disk import SimulatedDisk


class MemoryJournal(Journal):
    def __init__(self) -> None:
        self.records = 0

    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        self.records += 1
        return self.records

    def end_lsn(self) -> int:
        return self.records

    def durable_lsn(self) -> int:
        return self.records

    def room_bytes(self) -> int:
        return 1 << 30


def new_engine(**attributes: Value) -> Engine:
    engine = Engine("QM1", SimulatedDisk(), MemoryJournal(), new_definition(ObjectType.QMGR, "QM1", attributes))
    engine.now_ms = 1_700_000_000_000
    return engine


def add_queue(engine: Engine, name: str, **attributes: Value) -> Queue:
    return engine.add_queue(new_definition(ObjectType.QLOCAL, name, attributes), engine.next_queue_id)


ORIGINAL: dict[str, int | str | bytes] = {
    "MsgType": mq.MQMT_REQUEST,
    "Expiry": 500,
    "Encoding": mq.MQENC_NORMAL,
    "CodedCharSetId": 500,
    "Format": mq.MQFMT_STRING,
    "Priority": 6,
    "Persistence": mq.MQPER_PERSISTENT,
    "MsgId": b"M" * 24,
    "CorrelId": b"C" * 24,
    "BackoutCount": 3,
    "ReplyToQ": "REPLIES",
    "ReplyToQMgr": "QM2",
    "UserIdentifier": "alice",
    "AccountingToken": b"A" * 32,
    "ApplIdentityData": "identity",
    "PutApplType": mq.MQAT_UNIX,
    "PutApplName": "payroll",
    "PutDate": "20200101",
    "PutTime": "10111213",
    "ApplOriginData": "orig",
    "GroupId": b"G" * 24,
    "MsgSeqNumber": 2,
    "Offset": 0,
    "MsgFlags": mq.MQMF_MSG_IN_GROUP,
    "OriginalLength": mq.MQOL_UNDEFINED,
}


def descriptor(**fields: int | str | bytes) -> bytes:
    buffer = MQMD.default(2)
    for name, value in {**ORIGINAL, **fields}.items():
        MQMD.patch(buffer, name, value)
    return bytes(buffer)


def message(
    report: int, body: bytes = b"0123456789" * 30, properties: bytes = b"", **fields: int | str | bytes
) -> Message:
    return Message(descriptor(Report=report, **fields), properties, body, 1)


def read(layout: Layout, data: bytes) -> dict[str, int | bytes]:
    return {field.name: layout.read(data, field.name) for field in layout.fields}


Made = list[reports.Outgoing]
Maker = Callable[[Engine, Message], Made]
KINDS: dict[int, tuple[Maker, int]] = {
    mq.MQRO_COA: (lambda engine, item: reports.on_arrival(engine, item, "Q"), mq.MQFB_COA),
    mq.MQRO_COD: (lambda engine, item: reports.on_delivery(engine, item, "Q"), mq.MQFB_COD),
    mq.MQRO_EXPIRATION: (reports.on_expiry, mq.MQFB_EXPIRATION),
    mq.MQRO_EXCEPTION: (lambda engine, item: reports.on_exception(engine, item, mq.MQRC_Q_FULL), mq.MQRC_Q_FULL),
}
each_kind = pytest.mark.parametrize("kind", list(KINDS), ids=["COA", "COD", "EXPIRATION", "EXCEPTION"])


def made_for(kind: int, item: Message) -> Made:
    return KINDS[kind][0](new_engine(), item)


@each_kind
def test_a_report_has_the_fields_that_the_manual_lists(kind: int) -> None:
    original = message(kind)
    (made,) = made_for(kind, original)
    assert (made.queue_name, made.manager_name) == ("REPLIES", "QM2")
    assert made.may_be_dead_lettered
    assert made.body == b""
    found = read(MQMD, made.md)
    fresh = found.pop("MsgId")
    assert fresh != bytes(24)
    assert fresh != b"M" * 24
    assert found == {
        "StrucId": b"MD  ",
        "Version": 2,
        "Report": mq.MQRO_NONE,
        "MsgType": mq.MQMT_REPORT,
        "Expiry": mq.MQEI_UNLIMITED,
        "Feedback": KINDS[kind][1],
        "Encoding": mq.MQENC_NORMAL,
        "CodedCharSetId": 500,
        "Format": mq.MQFMT_STRING,
        "Priority": 6,
        "Persistence": mq.MQPER_PERSISTENT,
        "CorrelId": b"M" * 24,
        "BackoutCount": 0,
        "ReplyToQ": b" " * 48,
        "ReplyToQMgr": b"QM1".ljust(48),
        "UserIdentifier": b"alice".ljust(12),
        "AccountingToken": b"A" * 32,
        "ApplIdentityData": b"identity".ljust(32),
        "PutApplType": mq.MQAT_QMGR,
        "PutApplName": b"QM1".ljust(28),
        "PutDate": b"20231114",
        "PutTime": b"22132000",
        "ApplOriginData": b"    ",
        "GroupId": b"G" * 24,
        "MsgSeqNumber": 2,
        "Offset": 0,
        "MsgFlags": mq.MQMF_MSG_IN_GROUP,
        "OriginalLength": 300,
    }


@each_kind
def test_only_the_report_that_was_asked_for_is_made(kind: int) -> None:
    for other in KINDS:
        assert len(made_for(other, message(kind * 7))) == (other == kind)
    assert made_for(kind, message(mq.MQRO_PAN | mq.MQRO_NAN | mq.MQRO_PASS_MSG_ID)) == []


@each_kind
def test_a_report_has_no_data_the_first_hundred_bytes_or_all(kind: int) -> None:
    body = bytes(range(250))
    plain, with_data, with_full_data = kind, kind * 3, kind * 7
    assert [made_for(kind, message(option, body))[0].body for option in (plain, with_data, with_full_data)] == [
        b"",
        body[:100],
        body,
    ]
    assert made_for(kind, message(with_data, b"short"))[0].body == b"short"


@each_kind
@pytest.mark.parametrize(
    ("options", "message_id", "correlation_id"),
    [
        (mq.MQRO_NEW_MSG_ID | mq.MQRO_COPY_MSG_ID_TO_CORREL_ID, None, b"M" * 24),
        (mq.MQRO_PASS_MSG_ID, b"M" * 24, b"M" * 24),
        (mq.MQRO_PASS_CORREL_ID, None, b"C" * 24),
        (mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID, b"M" * 24, b"C" * 24),
    ],
)
def test_identifiers_follow_the_options(
    kind: int, options: int, message_id: bytes | None, correlation_id: bytes
) -> None:
    (made,) = made_for(kind, message(kind | options))
    assert made.md[72:96] == correlation_id
    assert (made.md[48:72] == message_id) == (message_id is not None)


@each_kind
@pytest.mark.parametrize("reply", [" ", "\0rubbish"])
def test_without_a_reply_queue_there_is_no_report(kind: int, reply: str) -> None:
    assert made_for(kind, message(kind, ReplyToQ=reply.encode())) == []


def test_every_report_has_an_id_of_its_own() -> None:
    engine = new_engine()
    ids = {reports.on_expiry(engine, message(mq.MQRO_EXPIRATION))[0].md[48:72] for _ in range(5)}
    assert len(ids) == 5


@pytest.mark.parametrize(
    ("kind", "format", "expected"),
    [
        (mq.MQRO_COA, mq.MQFMT_XMIT_Q_HEADER, 0),
        (mq.MQRO_COA, mq.MQFMT_DEAD_LETTER_HEADER, 0),
        (mq.MQRO_COD, mq.MQFMT_DEAD_LETTER_HEADER, 0),
        (mq.MQRO_COD, mq.MQFMT_RF_HEADER_2, 1),
        (mq.MQRO_EXPIRATION, mq.MQFMT_DEAD_LETTER_HEADER, 1),
    ],
)
def test_what_is_on_the_way_or_undeliverable_has_not_arrived(kind: int, format: bytes, expected: int) -> None:
    assert len(made_for(kind, message(kind, Format=format))) == expected


PASS = mq.MQRO_PASS_DISCARD_AND_EXPIRY


@each_kind
@pytest.mark.parametrize(
    ("options", "passed"),
    [(mq.MQRO_DISCARD_MSG, 0), (PASS, 0), (PASS | mq.MQRO_DISCARD_MSG, mq.MQRO_DISCARD_MSG)],
)
def test_discarding_is_passed_on_when_asked(kind: int, options: int, passed: int) -> None:
    (made,) = made_for(kind, message(kind | options))
    assert struct.unpack_from("<i", made.md, 8)[0] == passed
    assert made.may_be_dead_lettered == (passed == 0)


@pytest.mark.parametrize(
    ("kind", "expiry", "expected"),
    [
        (mq.MQRO_COA, 500, 500),
        (mq.MQRO_EXCEPTION, 500, 500),
        (mq.MQRO_EXPIRATION, 500, 600),
        (mq.MQRO_COD, mq.MQEI_UNLIMITED, mq.MQEI_UNLIMITED),
    ],
)
def test_expiry_is_passed_on_when_asked(kind: int, expiry: int, expected: int) -> None:
    (made,) = made_for(kind, message(kind | PASS, Expiry=expiry))
    assert struct.unpack_from("<i", made.md, 16)[0] == expected


@pytest.mark.parametrize(("left_ms", "expected"), [(12_345, 123), (40, 1), (-500, 1)])
def test_a_delivered_message_passes_on_what_is_left_of_its_life(left_ms: int, expected: int) -> None:
    engine = new_engine()
    original = message(mq.MQRO_COD | PASS, Expiry=500)
    (made,) = reports.on_delivery(engine, original, "Q", engine.now_ms + left_ms)
    assert struct.unpack_from("<i", made.md, 16)[0] == expected


def test_the_original_length_of_a_segment_stays() -> None:
    (made,) = made_for(mq.MQRO_COA, message(mq.MQRO_COA, OriginalLength=77, MsgFlags=mq.MQMF_SEGMENT))
    assert struct.unpack_from("<i", made.md, 360)[0] == 77


def property_block() -> bytes:
    copied = Property("colour", mq.MQTYPE_STRING, "red")
    kept_back = Property("secret", mq.MQTYPE_STRING, "x", copy_options=mq.MQCOPY_REPLY)
    return encode_block([copied, kept_back])


def test_properties_go_with_the_data() -> None:
    block = property_block()
    (plain,) = made_for(mq.MQRO_COA, message(mq.MQRO_COA, properties=block))
    assert plain.properties == b""
    for option in (mq.MQRO_COA_WITH_DATA, mq.MQRO_COA_WITH_FULL_DATA):
        (made,) = made_for(mq.MQRO_COA, message(option, properties=block))
        assert [(each.name, each.value) for each in decode_block(made.properties)] == [("colour", "red")]


def header(format: bytes, following: bytes, big_endian: bool, extra: int = 0) -> bytes:
    """Return a header of the common layout: StrucLength at 8, Encoding at 12, Format at 20."""
    layout = MQMDE if format == mq.MQFMT_MD_EXTENSION else MQRFH2
    buffer = layout.default()
    little = not big_endian
    layout.patch(buffer, "Version", layout.current_version, little)
    layout.patch(buffer, "StrucLength", len(buffer) + extra, little)
    layout.patch(buffer, "Encoding", mq.MQENC_NORMAL if big_endian else mq.MQENC_NATIVE, little)
    layout.patch(buffer, "Format", following)
    return bytes(buffer) + b" " * extra


@pytest.mark.parametrize("big_endian", [False, True])
def test_headers_are_not_part_of_the_hundred_bytes(big_endian: bool) -> None:
    encoding = mq.MQENC_NORMAL if big_endian else mq.MQENC_NATIVE
    headers = header(mq.MQFMT_RF_HEADER_2, mq.MQFMT_MD_EXTENSION, big_endian, 8)
    headers += header(mq.MQFMT_MD_EXTENSION, mq.MQFMT_STRING, big_endian)
    data = bytes(range(200))
    original = message(mq.MQRO_COA_WITH_DATA, headers + data, Format=mq.MQFMT_RF_HEADER_2, Encoding=encoding)
    (made,) = made_for(mq.MQRO_COA, original)
    assert made.body == headers + data[:100]


def test_the_dead_letter_header_is_a_header_too() -> None:
    inner = header(mq.MQFMT_RF_HEADER_2, mq.MQFMT_STRING, False)
    dead = MQDLH.default()
    MQDLH.patch(dead, "Encoding", mq.MQENC_NATIVE)
    MQDLH.patch(dead, "Format", mq.MQFMT_RF_HEADER_2)
    md = descriptor(Format=mq.MQFMT_DEAD_LETTER_HEADER, Encoding=mq.MQENC_NATIVE)
    assert reports.headers_length(md, bytes(dead) + inner + b"data") == 172 + 36
    inner_md = descriptor(Format=mq.MQFMT_RF_HEADER_2, Encoding=mq.MQENC_NATIVE)[:324]
    md = descriptor(Format=mq.MQFMT_XMIT_Q_HEADER, Encoding=mq.MQENC_NATIVE)
    assert reports.headers_length(md, bytes(104) + inner_md + inner + b"data") == 428 + 36


def test_a_header_may_be_all_there_is_but_not_more() -> None:
    md = descriptor(Format=mq.MQFMT_RF_HEADER_2, Encoding=mq.MQENC_NATIVE)
    body = header(mq.MQFMT_RF_HEADER_2, mq.MQFMT_STRING, False)
    assert reports.headers_length(md, body) == 36
    assert reports.headers_length(md, body[:-1]) == 0
    assert reports.headers_length(md, b"") == 0


@given(st.binary(max_size=120), st.sampled_from([mq.MQFMT_RF_HEADER_2, mq.MQFMT_IMS, mq.MQFMT_DEAD_LETTER_HEADER]))
def test_rubbish_instead_of_headers_is_data(body: bytes, format: bytes) -> None:
    length = reports.headers_length(descriptor(Format=format, Encoding=mq.MQENC_NATIVE), body)
    assert 0 <= length <= len(body)


# -- options ---------------------------------------------------------------------------------------------------------

OK, WARNING, ERROR = 0, mq.MQRC_UNKNOWN_REPORT_OPTION, mq.MQRC_REPORT_OPTIONS_ERROR


@pytest.mark.parametrize(
    ("report", "local", "remote"),
    [
        (mq.MQRO_NONE, OK, OK),
        (reports.ARRIVAL_OPTIONS | reports.DELIVERY_OPTIONS, OK, OK),
        (reports.EXPIRATION_OPTIONS | reports.EXCEPTION_OPTIONS, OK, OK),
        (mq.MQRO_COA | mq.MQRO_COD_WITH_DATA | mq.MQRO_EXPIRATION | mq.MQRO_EXCEPTION_WITH_DATA, OK, OK),
        (mq.MQRO_PAN | mq.MQRO_NAN | mq.MQRO_ACTIVITY, OK, OK),
        (mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID, OK, OK),
        (mq.MQRO_DISCARD_MSG | mq.MQRO_PASS_DISCARD_AND_EXPIRY, OK, OK),
        (0x00040000, ERROR, ERROR),
        (0x00100000, ERROR, ERROR),
        (0x10000000, ERROR, ERROR),
        (0x00008000, ERROR, WARNING),
        (0x00020000, ERROR, WARNING),
        (0x00000008, WARNING, WARNING),
        (0x20000000, WARNING, WARNING),
        (-0x80000000, WARNING, WARNING),
        (0x00000200, ERROR, WARNING),  # data of a COA that was not asked for
        (0x00002800, ERROR, WARNING),  # all the data but not the first of it
        (0x00400000, WARNING, WARNING),
        (0x05000000, WARNING, WARNING),
        (0x00000008 | 0x00040000, ERROR, ERROR),
    ],
)
def test_report_options_are_accepted_refused_or_warned_of(report: int, local: int, remote: int) -> None:
    assert reports.report_options_reason(report, False) == local
    assert reports.report_options_reason(report, True) == remote


def test_whoever_asks_for_a_report_needs_a_reply_queue() -> None:
    for option in (mq.MQRO_COA, mq.MQRO_COD, mq.MQRO_EXPIRATION, mq.MQRO_EXCEPTION, mq.MQRO_PAN, mq.MQRO_NAN):
        assert reports.REPLY_OPTIONS & option
    assert not reports.REPLY_OPTIONS & (mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID | mq.MQRO_DISCARD_MSG | PASS)


# -- dead letters ----------------------------------------------------------------------------------------------------


def outgoing(manager: str = "", **fields: int | str | bytes) -> reports.Outgoing:
    return reports.Outgoing("NO.SUCH.QUEUE", manager, descriptor(MsgFlags=0, **fields), b"data", True)


@pytest.mark.parametrize(("manager", "told"), [("", b"QM1"), ("QM2", b"QM2")])
def test_a_dead_letter_says_why_and_where_it_was_to_go(manager: str, told: bytes) -> None:
    md, body = reports.dead_letter(new_engine(), outgoing(manager), mq.MQRC_UNKNOWN_OBJECT_NAME)
    assert read(MQDLH, body) == {
        "StrucId": b"DLH ",
        "Version": 1,
        "Reason": mq.MQRC_UNKNOWN_OBJECT_NAME,
        "DestQName": b"NO.SUCH.QUEUE".ljust(48),
        "DestQMgrName": told.ljust(48),
        "Encoding": mq.MQENC_NORMAL,
        "CodedCharSetId": 500,
        "Format": mq.MQFMT_STRING,
        "PutApplType": mq.MQAT_QMGR,
        "PutApplName": b"QM1".ljust(28),
        "PutDate": b"20231114",
        "PutTime": b"22132000",
    }
    assert body[172:] == b"data"
    changed: dict[str, int | str | bytes] = {
        "Encoding": mq.MQENC_NATIVE,
        "CodedCharSetId": 1208,
        "Format": mq.MQFMT_DEAD_LETTER_HEADER,
    }
    assert md == descriptor(MsgFlags=0, **changed)


def test_a_segment_among_the_dead_letters_keeps_its_place_in_an_extension() -> None:
    fields: dict[str, int | str | bytes] = {"Offset": 100, "OriginalLength": 400, "MsgFlags": mq.MQMF_LAST_SEGMENT}
    item = reports.Outgoing("Q", "", descriptor(**fields), b"data", True)
    md, body = reports.dead_letter(new_engine(), item, mq.MQRC_Q_FULL)
    assert MQDLH.read(body, "Format") == mq.MQFMT_MD_EXTENSION
    assert MQDLH.read(body, "Encoding") == mq.MQENC_NATIVE
    extension = read(MQMDE, body[172:])
    assert MQMDE.validate_header(body[172:]) == 2
    assert (extension["Encoding"], extension["Format"]) == (mq.MQENC_NORMAL, mq.MQFMT_STRING)
    assert (extension["GroupId"], extension["MsgSeqNumber"], extension["Offset"]) == (b"G" * 24, 2, 100)
    assert (extension["MsgFlags"], extension["OriginalLength"]) == (mq.MQMF_LAST_SEGMENT, 400)
    assert body[172 + 72 :] == b"data"
    assert md[324:] == bytes(24) + struct.pack("<4i", 1, 0, 0, -1)


# -- with queues -----------------------------------------------------------------------------------------------------


def bodies(queue: Queue) -> list[bytes]:
    found: list[bytes] = []
    slot = queue.slots.first()
    while slot >= 0:
        found.append(queue.load(slot).body)
        slot = queue.slots.following(slot)
    return found


def test_arrival_is_reported_to_the_reply_queue() -> None:
    engine = new_engine()
    queue = add_queue(engine, "APP.QUEUE")
    replies = add_queue(engine, "REPLIES")
    md = descriptor(Report=mq.MQRO_COA_WITH_FULL_DATA, ReplyToQMgr="QM1", Persistence=0, MsgFlags=0)
    delivery.deliver(engine, queue, md, b"", b"hello", None)
    assert bodies(queue) == bodies(replies) == [b"hello"]
    assert MQMD.read(replies.load(replies.slots.first()).md, "Feedback") == mq.MQFB_COA


@pytest.mark.parametrize(("options", "expected"), [(0, 1), (PASS | mq.MQRO_DISCARD_MSG, 0)])
def test_a_report_without_a_queue_becomes_a_dead_letter_or_is_discarded(options: int, expected: int) -> None:
    engine = new_engine(DEADQ="DEAD.LETTERS")
    queue = add_queue(engine, "APP.QUEUE")
    dead = add_queue(engine, "DEAD.LETTERS")
    md = descriptor(Report=mq.MQRO_COA | options, ReplyToQMgr="QM1", Persistence=0, MsgFlags=0)
    delivery.deliver(engine, queue, md, b"", b"hello", None)
    assert dead.depth == expected
    for body in bodies(dead):
        assert MQDLH.read(body, "Reason") == mq.MQRC_UNKNOWN_OBJECT_NAME
        assert MQDLH.read_bytes(body, "DestQName").rstrip() == b"REPLIES"
