"""Messages for other queue managers on a transmission queue, byte for byte."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from ostler import mqi
from ostler.model import constants as mq
from ostler.model.structures.headers import MQMDE, MQXQH
from ostler.model.structures.md import MQMD

OUTPUT = mq.MQOO_OUTPUT
GIVEN: dict[str, Any] = {
    "Report": mq.MQRO_COD | mq.MQRO_COA | mq.MQRO_EXCEPTION | mq.MQRO_PASS_CORREL_ID,
    "MsgType": mq.MQMT_REQUEST,
    "Expiry": 5000,
    "Feedback": 7,
    "Encoding": mq.MQENC_NORMAL,
    "CodedCharSetId": 500,
    "Format": mq.MQFMT_STRING,
    "Priority": 4,
    "Persistence": 1,
    "MsgId": b"m" * 24,
    "CorrelId": b"c" * 24,
    "ReplyToQ": "ANSWERS",
    "ReplyToQMgr": "BACK",
}


def name_of(text: str, length: int = 48) -> bytes:
    return text.encode().ljust(length)


@pytest.fixture
def way(site: Any) -> str:
    return str(site.local(USAGE="XMITQ"))


def sent(site: Any, program: Any, way: str, body: bytes, **md: Any) -> tuple[Any, Any]:
    """Put through a remote definition; the answer, and what lies on the transmission queue."""
    answer = program.put1(site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=way), body, **md)
    assert answer.reason == 0
    messages = program.browse(way)
    assert len(messages) == 1
    return answer, messages[0]


def test_the_header_byte_for_byte(site: Any, program: Any, way: str) -> None:
    answer, message = sent(site, program, way, b"data", **GIVEN)
    own = answer.md.data
    expected = b"XQH " + struct.pack("<i", 1) + name_of("THERE") + name_of("FAR")
    expected += own[:4] + struct.pack("<i", 1) + own[8:324]
    assert message.body == expected + b"data"
    assert len(expected) == 428 == MQXQH.size()


def test_the_embedded_descriptor_is_that_of_the_application(site: Any, program: Any, way: str) -> None:
    answer, message = sent(site, program, way, b"data", **GIVEN)
    embedded = message.body[104:428]
    for field, value in GIVEN.items():
        found = MQMD.read(embedded, field)
        assert (found if isinstance(found, int) else found.rstrip(b" ")) == (
            value.encode() if isinstance(value, str) else value.rstrip(b" ") if isinstance(value, bytes) else value
        )
    for field in ("UserIdentifier", "AccountingToken", "PutApplType", "PutApplName", "PutDate", "PutTime"):
        assert MQMD.read(embedded, field) == MQMD.read(answer.md.data, field)


def test_the_separate_descriptor_is_the_queue_managers(site: Any, program: Any, way: str) -> None:
    answer, message = sent(site, program, way, b"data", **GIVEN)
    md = message.md
    expected = {
        "Version": 2,
        # No confirmation of arrival or delivery is wanted from a transmission queue.
        "Report": mq.MQRO_EXCEPTION | mq.MQRO_PASS_CORREL_ID,
        "MsgType": mq.MQMT_DATAGRAM,
        "Feedback": mq.MQFB_NONE,
        "Encoding": mq.MQENC_NATIVE,
        "CodedCharSetId": 1208,
        "Format": mq.MQFMT_XMIT_Q_HEADER.rstrip(),
        "Priority": 4,
        "Persistence": 1,
        "CorrelId": b"m" * 24,
        "BackoutCount": 0,
        "ReplyToQ": b"ANSWERS",
        "ReplyToQMgr": b"BACK",
        "UserIdentifier": b"tester",
        "PutApplType": mq.MQAT_QMGR,
        "PutApplName": site.manager.name.encode(),
        "ApplOriginData": b"",
        "GroupId": b"",
        "MsgSeqNumber": 1,
        "Offset": 0,
        "MsgFlags": mq.MQMF_NONE,
        "OriginalLength": mq.MQOL_UNDEFINED,
    }
    assert {field: md[field] for field in expected} == expected
    assert md.id("MsgId") not in (b"m" * 24, bytes(24))
    assert 4000 < md["Expiry"] <= 5000
    for field in ("AccountingToken", "ApplIdentityData", "PutDate"):
        assert md.id(field) == answer.md.id(field)


def test_a_group_travels_in_a_descriptor_extension(site: Any, program: Any, way: str) -> None:
    flags = mq.MQMF_LAST_MSG_IN_GROUP
    answer, message = sent(site, program, way, b"data", **GIVEN, GroupId=b"g" * 24, MsgSeqNumber=3, MsgFlags=flags)
    embedded = message.body[104:428]
    # The extension is written here, so the embedded descriptor describes that; the extension describes the data.
    assert MQMD.read(embedded, "Format") == mq.MQFMT_MD_EXTENSION
    assert MQMD.read(embedded, "Encoding") == mq.MQENC_NATIVE
    assert MQMD.read(embedded, "CodedCharSetId") == 1208
    extension = message.body[428:500]
    assert MQMDE.validate_header(extension) == 2
    expected = {
        "Encoding": mq.MQENC_NORMAL,
        "CodedCharSetId": 500,
        "Format": mq.MQFMT_STRING,
        "GroupId": b"g" * 24,
        "MsgSeqNumber": 3,
        "Offset": 0,
        "MsgFlags": flags | mq.MQMF_MSG_IN_GROUP,
        "OriginalLength": mq.MQOL_UNDEFINED,
    }
    assert {field: MQMDE.read(extension, field) for field in expected} == expected
    assert message.body[500:] == b"data"
    assert (answer.md["Format"], answer.md["Encoding"]) == (mq.MQFMT_STRING.rstrip(), mq.MQENC_NORMAL)
    assert message.md["MsgFlags"] == mq.MQMF_NONE


def test_without_a_definition_the_address_is_what_was_named(site: Any, program: Any, way: str) -> None:
    assert program.put1("SOME.QUEUE", b"data", at=way).reason == 0
    body = program.browse(way)[0].body
    assert (body[8:56], body[56:104]) == (name_of("SOME.QUEUE"), name_of(way))


def test_a_new_message_id_is_made_for_each_descriptor(site: Any, program: Any, way: str) -> None:
    answer, message = sent(site, program, way, b"")
    assert answer.message_id.startswith(b"AMQ ")
    assert message.body[104 + 48 : 104 + 72] == answer.message_id == message.md.id("CorrelId")
    assert message.message_id.startswith(b"AMQ ")
    assert message.message_id != answer.message_id


def test_the_header_counts_for_the_longest_message(site: Any, program: Any) -> None:
    narrow = site.local(USAGE="XMITQ", MAXMSGL=1000)
    queue = program.open(site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=narrow), OUTPUT)
    assert program.put(queue, b"x" * 573).reason == mq.MQRC_MSG_TOO_BIG_FOR_Q
    assert program.put(queue, b"x" * 572).reason == 0
    assert site.depth(narrow) == 1


def test_taking_a_message_off_a_transmission_queue_delivers_nothing(site: Any, program: Any, way: str) -> None:
    replies = site.local()
    fields = {**GIVEN, "ReplyToQ": replies, "ReplyToQMgr": site.manager.name}
    sent(site, program, way, b"data", **fields)
    queue = program.open(way, mq.MQOO_INPUT_SHARED)
    assert program.get(queue).reason == 0
    assert site.depth(replies) == 0


@pytest.mark.parametrize("is_grouped", [False, True])
def test_a_message_that_expires_on_its_way_is_reported(site: Any, program: Any, way: str, is_grouped: bool) -> None:
    replies = site.local()
    changes = {"Report": mq.MQRO_EXPIRATION_WITH_FULL_DATA, "Expiry": 1, "ReplyToQMgr": site.manager.name}
    group = {"GroupId": b"g" * 24, "MsgFlags": mq.MQMF_MSG_IN_GROUP} if is_grouped else {}
    definition = site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=way)
    assert program.put1(definition, b"data", **{**GIVEN, **changes, **group, "ReplyToQ": replies}).reason == 0
    site.outlive()
    assert program.browse(way) == []
    report = program.browse(replies)[0]
    assert (report.md["MsgType"], report.md["Feedback"]) == (mq.MQMT_REPORT, mq.MQFB_EXPIRATION)
    assert report.md.id("CorrelId") == b"m" * 24
    assert (report.md["Format"], report.md["CodedCharSetId"]) == (mq.MQFMT_STRING.rstrip(), 500)
    assert report.body == b"data"


def test_segments_leave_room_for_the_headers(site: Any, program: Any) -> None:
    narrow = site.local(USAGE="XMITQ", MAXMSGL=5000)
    queue = program.open(site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=narrow), OUTPUT)
    body = bytes(range(256)) * 16
    assert program.put(queue, body, MsgFlags=mq.MQMF_SEGMENTATION_ALLOWED).reason == 0
    pieces = program.browse(narrow)
    assert len(pieces) > 1
    assert all(len(each.body) <= 5000 for each in pieces)
    assert b"".join(each.body[500:] for each in pieces) == body
    offsets = [MQMDE.read(each.body[428:500], "Offset") for each in pieces]
    assert offsets == [sum(len(each.body) - 500 for each in pieces[:number]) for number in range(len(pieces))]


def test_properties_travel_in_front_of_the_data(site: Any, program: Any, way: str) -> None:
    cmho = bytearray(b"CMHO" + struct.pack("<ii", 1, 0))
    hmsg, code, _ = mqi.MQCRTMH(program.hconn, cmho)
    assert code == 0
    mqi.MQSETMP(program.hconn, hmsg, None, "colour", None, mq.MQTYPE_STRING, b"blue")
    od = bytearray(b"OD  " + struct.pack("<ii48s48s48s12s", 1, 1, name_of("THERE"), name_of(way), b" " * 48, b" " * 12))
    pmo = bytearray(b"PMO " + struct.pack("<ii", 3, mq.MQPMO_NO_SYNCPOINT) + bytes(172))
    struct.pack_into("<q", pmo, 160, hmsg)
    code, reason = mqi.MQPUT1(program.hconn, od, MQMD.default(), pmo, b"data")
    assert (code, reason) == (0, 0)
    message = program.browse(way)[0]
    assert MQMD.read(message.body[104:428], "Format") == mq.MQFMT_RF_HEADER_2
    assert message.body[428:432] == b"RFH "
    assert b"<colour>blue</colour>" in message.body
    assert message.body.endswith(b"data")
