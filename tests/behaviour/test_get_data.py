"""The data of a get: truncated to the buffer, converted, and described."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from ostler import mqi
from ostler.model import constants as mq
from ostler.model.structures.gmo import MQGMO
from ostler.model.structures.md import MD_DEFAULT, MQMD

OPEN = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE
CUT = mq.MQGMO_ACCEPT_TRUNCATED_MSG
CONVERT = mq.MQGMO_CONVERT


# -- truncation


def test_a_message_too_long_stays_unless_truncation_is_accepted(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    program.put(queue, b"0123456789")
    refused = program.get(queue, size=4)
    assert (refused.code, refused.reason) == (mq.MQCC_WARNING, mq.MQRC_TRUNCATED_MSG_FAILED)
    assert (refused.body, refused.length) == (b"0123", 10)
    assert site.depth(program.handle(queue).name) == 1
    accepted = program.get(queue, CUT, 4)
    assert (accepted.code, accepted.reason) == (mq.MQCC_WARNING, mq.MQRC_TRUNCATED_MSG_ACCEPTED)
    assert (accepted.body, accepted.length) == (b"0123", 10)
    assert site.depth(program.handle(queue).name) == 0


@pytest.mark.parametrize("size", [0, 9, 10, 11])
def test_just_enough_is_enough(site: Any, program: Any, size: int) -> None:
    queue = program.open(site.local(), OPEN)
    program.put(queue, b"0123456789")
    answer = program.get(queue, size=size)
    assert answer.reason == (0 if size >= 10 else mq.MQRC_TRUNCATED_MSG_FAILED)
    assert answer.body == b"0123456789"[:size]


def test_a_refused_get_under_syncpoint_takes_nothing(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    program.put(queue, b"0123456789", Persistence=1)
    assert program.get(queue, mq.MQGMO_SYNCPOINT, 4).reason == mq.MQRC_TRUNCATED_MSG_FAILED
    assert program.commit() == 0
    assert program.get(queue).body == b"0123456789"


def test_no_data_fits_no_buffer(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    program.put(queue, b"")
    answer = program.get(queue, size=0)
    assert (answer.reason, answer.body, answer.length) == (0, b"", 0)


def test_a_negative_buffer_is_refused(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    program.put(queue, b"there")
    assert program.get(queue, size=-1).reason == mq.MQRC_BUFFER_LENGTH_ERROR
    assert program.get(queue).body == b"there"


def test_the_returned_length_is_what_was_returned(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    program.put(queue, b"0123456789")
    answer = program.get(queue, CUT, 4)
    assert answer.options["ReturnedLength"] == 4


# -- conversion


def put_text(program: Any, queue: int, text: str, ccsid: int, codec: str) -> None:
    encoded = text.encode(codec)
    assert program.put(queue, encoded, Format=mq.MQFMT_STRING, CodedCharSetId=ccsid).reason == 0


@pytest.mark.parametrize(
    ("ccsid", "codec", "wanted", "wanted_codec"),
    [(500, "cp500", 1208, "utf-8"), (1208, "utf-8", 500, "cp500"), (819, "latin-1", 1208, "utf-8")],
)
def test_text_is_converted_on_request(
    site: Any, program: Any, ccsid: int, codec: str, wanted: int, wanted_codec: str
) -> None:
    queue = program.open(site.local(), OPEN)
    text = "Grüße, Ostler & Söhne"
    put_text(program, queue, text, ccsid, codec)
    plain = program.get(queue, mq.MQGMO_BROWSE_FIRST, CodedCharSetId=wanted)
    assert (plain.body, plain.md["CodedCharSetId"]) == (text.encode(codec), ccsid)
    answer = program.get(queue, CONVERT, CodedCharSetId=wanted)
    assert answer.reason == 0
    assert answer.body == text.encode(wanted_codec)
    assert (answer.md["CodedCharSetId"], answer.length) == (wanted, len(answer.body))


def test_without_a_code_page_the_queue_managers_is_meant(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    put_text(program, queue, "Ostler", 500, "cp500")
    answer = program.get(queue, CONVERT, CodedCharSetId=mq.MQCCSI_Q_MGR)
    assert (answer.body, answer.md["CodedCharSetId"]) == (b"Ostler", 1208)


def test_numbers_are_converted_between_encodings(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    # An MQDLH from a big-endian machine, in front of text.
    header = struct.pack(
        ">4sii48s48sii8si28s8s8s",
        b"DLH ", 1, mq.MQRC_Q_FULL, b"QUEUE".ljust(48), b"MANAGER".ljust(48), mq.MQENC_NORMAL, 819, mq.MQFMT_STRING,
        mq.MQAT_UNIX, b"program".ljust(28), b"20240506", b"07080900",
    )  # fmt: skip
    program.put(
        queue,
        header + b"text",
        Format=mq.MQFMT_DEAD_LETTER_HEADER,
        Encoding=mq.MQENC_NORMAL,
        CodedCharSetId=819,
    )
    answer = program.get(queue, CONVERT, Encoding=mq.MQENC_NATIVE, CodedCharSetId=1208)
    assert answer.reason == 0
    assert answer.md["Encoding"] == mq.MQENC_NATIVE
    assert struct.unpack_from("<ii", answer.body, 4) == (1, mq.MQRC_Q_FULL)
    assert struct.unpack_from("<ii", answer.body, 108) == (mq.MQENC_NATIVE, 1208)
    assert answer.body.endswith(b"text")


def test_what_has_no_known_format_comes_as_it_is_with_a_warning(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    program.put(queue, b"\x01\x02", CodedCharSetId=500)
    answer = program.get(queue, CONVERT, CodedCharSetId=1208)
    assert (answer.code, answer.reason) == (mq.MQCC_WARNING, mq.MQRC_FORMAT_ERROR)
    assert (answer.body, answer.md["CodedCharSetId"]) == (b"\x01\x02", 500)
    assert site.depth(program.handle(queue).name) == 0


def test_text_that_outgrows_the_buffer_comes_unconverted(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    put_text(program, queue, "ööööö", 819, "latin-1")
    answer = program.get(queue, CONVERT, 5, CodedCharSetId=1208)
    assert (answer.code, answer.reason) == (mq.MQCC_WARNING, mq.MQRC_CONVERTED_MSG_TOO_BIG)
    assert (answer.body, answer.md["CodedCharSetId"]) == ("ööööö".encode("latin-1"), 819)
    assert site.depth(program.handle(queue).name) == 0


def test_who_waits_gets_converted_text_too(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, OPEN)
    options = mq.MQGMO_WAIT | CONVERT
    waiting = site.start(program.get, queue, options, wait=mq.MQWI_UNLIMITED, CodedCharSetId=1208)
    site.until_waiting(name)
    other = site.program()
    put_text(other, other.open(name, mq.MQOO_OUTPUT), "Grüße", 500, "cp500")
    assert waiting.result(60).body == "Grüße".encode()


@pytest.mark.parametrize("size", [5, 4])
def test_who_waits_with_a_small_buffer_loses_nothing_by_conversion(site: Any, program: Any, size: int) -> None:
    name = site.local()
    queue = program.open(name, OPEN)
    options = mq.MQGMO_WAIT | CONVERT
    waiting = site.start(program.get, queue, options, size, wait=mq.MQWI_UNLIMITED, CodedCharSetId=1208)
    site.until_waiting(name)
    other = site.program()
    put_text(other, other.open(name, mq.MQOO_OUTPUT), "ööööö", 819, "latin-1")
    got = waiting.result(60).reason != mq.MQRC_TRUNCATED_MSG_FAILED
    assert got == (size == 5)
    assert site.depth(name) == (0 if got else 1) == len(other.browse(name))


# -- descriptors


def test_a_version_1_descriptor_works_and_keeps_its_size(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    md = MQMD.default(1)
    MQMD.patch(md, "CorrelId", b"c" * 24)
    pmo = bytearray(b"PMO \1\0\0\0" + bytes(120))
    assert mqi.MQPUT(program.hconn, queue, md, pmo, b"short") == (0, 0)
    assert len(md) == 324
    assert MQMD.read(md, "Version") == 1
    assert MQMD.read_bytes(md, "MsgId").startswith(b"AMQ ")
    md = MQMD.default(1)
    gmo = MQGMO.default(1)
    body, length, code, reason = mqi.MQGET(program.hconn, queue, md, gmo, 100)
    assert (body, length, code, reason) == (b"short", 5, 0, 0)
    assert (len(md), MQMD.read(md, "Version"), MQMD.read_bytes(md, "CorrelId")) == (324, 1, b"c" * 24)
    assert len(gmo) == MQGMO.size(1)


def test_a_version_1_descriptor_in_a_longer_buffer_stays_one(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    md = MQMD.default(1) + b"." * 40
    pmo = bytearray(b"PMO \1\0\0\0" + bytes(120))
    assert mqi.MQPUT(program.hconn, queue, md, pmo, b"short") == (0, 0)
    assert (MQMD.read(md, "Version"), md[324:]) == (1, b"." * 40)
    md = MQMD.default(1) + b"." * 40
    assert mqi.MQGET(program.hconn, queue, md, MQGMO.default(), 100)[3] == 0
    assert (MQMD.read(md, "Version"), md[324:]) == (1, b"." * 40)


@pytest.mark.parametrize(
    ("md", "reason"),
    [
        (b"", mq.MQRC_MD_ERROR),
        (b"XX  " + MD_DEFAULT[4:], mq.MQRC_MD_ERROR),
        (MD_DEFAULT[:4] + b"\x03\0\0\0" + MD_DEFAULT[8:], mq.MQRC_MD_ERROR),
        (MD_DEFAULT[:4] + b"\0\0\0\0" + MD_DEFAULT[8:], mq.MQRC_MD_ERROR),
        (MD_DEFAULT[:100], mq.MQRC_MD_ERROR),
    ],
)
def test_wrong_descriptors_are_refused(site: Any, program: Any, md: bytes, reason: int) -> None:
    queue = program.open(site.local(), OPEN)
    pmo = bytearray(b"PMO \1\0\0\0" + bytes(120))
    assert mqi.MQPUT(program.hconn, queue, bytearray(md), pmo, b"") == (mq.MQCC_FAILED, reason)
    program.put(queue, b"there")
    answer = mqi.MQGET(program.hconn, queue, bytearray(md), MQGMO.default(), 100)
    assert answer == (b"", 0, mq.MQCC_FAILED, reason)
    assert program.drain(queue) == [b"there"]


@pytest.mark.parametrize(
    "gmo", [b"", b"GMO ", b"PMO " + bytes(108), b"GMO \5\0\0\0" + bytes(104), b"GMO \2\0\0\0" + bytes(64)]
)
def test_wrong_get_options_are_refused(site: Any, program: Any, gmo: bytes) -> None:
    queue = program.open(site.local(), OPEN)
    program.put(queue, b"there")
    answer = mqi.MQGET(program.hconn, queue, MQMD.default(), bytearray(gmo), 100)
    assert answer == (b"", 0, mq.MQCC_FAILED, mq.MQRC_GMO_ERROR)
    assert program.drain(queue) == [b"there"]


@pytest.mark.parametrize(
    "pmo", [b"", b"PMO ", b"GMO " + bytes(124), b"PMO \4\0\0\0" + bytes(176), b"PMO \2\0\0\0" + bytes(120)]
)
def test_wrong_put_options_are_refused(site: Any, program: Any, pmo: bytes) -> None:
    queue = program.open(site.local(), OPEN)
    assert mqi.MQPUT(program.hconn, queue, MQMD.default(), bytearray(pmo), b"") == (mq.MQCC_FAILED, mq.MQRC_PMO_ERROR)
    assert program.drain(queue) == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"MsgType": 0}, mq.MQRC_MSG_TYPE_ERROR),
        ({"MsgType": -1}, mq.MQRC_MSG_TYPE_ERROR),
        ({"MsgType": mq.MQMT_APPL_LAST + 1}, mq.MQRC_MSG_TYPE_ERROR),
        ({"MsgType": mq.MQMT_REQUEST}, mq.MQRC_MISSING_REPLY_TO_Q),
        ({"Expiry": 0}, mq.MQRC_EXPIRY_ERROR),
        ({"Expiry": -2}, mq.MQRC_EXPIRY_ERROR),
        ({"Feedback": -1}, mq.MQRC_FEEDBACK_ERROR),
        ({"Priority": -2}, mq.MQRC_PRIORITY_ERROR),
        ({"Persistence": 3}, mq.MQRC_PERSISTENCE_ERROR),
        ({"Persistence": -1}, mq.MQRC_PERSISTENCE_ERROR),
        ({"Report": mq.MQRO_COA}, mq.MQRC_MISSING_REPLY_TO_Q),
        ({"Report": 0x00100000}, mq.MQRC_REPORT_OPTIONS_ERROR),
    ],
)
@pytest.mark.parametrize("options", [mq.MQPMO_NO_SYNCPOINT, mq.MQPMO_SYNCPOINT])
def test_wrong_values_in_a_descriptor_are_refused_and_nothing_is_put(
    site: Any, program: Any, fields: dict[str, int], reason: int, options: int
) -> None:
    name = site.local()
    answer = program.put(program.open(name, OPEN), b"", options, **fields)
    assert (answer.code, answer.reason) == (mq.MQCC_FAILED, reason)
    program.commit()
    assert site.depth(name) == 0


@pytest.mark.parametrize(
    "options",
    [
        mq.MQPMO_SYNCPOINT | mq.MQPMO_NO_SYNCPOINT,
        mq.MQPMO_DEFAULT_CONTEXT | mq.MQPMO_NO_CONTEXT,
        mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_ASYNC_RESPONSE,
        mq.MQPMO_PASS_ALL_CONTEXT | mq.MQPMO_SET_ALL_CONTEXT,
        1,
        1 << 30,
    ],
)
def test_put_options_that_exclude_one_another(site: Any, program: Any, options: int) -> None:
    name = site.local()
    queue = program.open(name, OPEN)
    assert program.put(queue, b"", options).reason == mq.MQRC_OPTIONS_ERROR
    assert site.depth(name) == 0


# -- handles


def test_wrong_handles(site: Any, program: Any) -> None:
    queue = program.open(site.local(), mq.MQOO_INPUT_SHARED)
    assert program.put(queue).reason == mq.MQRC_NOT_OPEN_FOR_OUTPUT
    assert program.put(queue + 100).reason == mq.MQRC_HOBJ_ERROR
    assert program.get(queue + 100).reason == mq.MQRC_HOBJ_ERROR
    assert program.close(queue) == 0
    assert program.get(queue).reason == mq.MQRC_HOBJ_ERROR
    assert program.close(queue) == mq.MQRC_HOBJ_ERROR
    only_put = program.open(site.local(), mq.MQOO_OUTPUT)
    assert program.get(only_put).reason == mq.MQRC_NOT_OPEN_FOR_INPUT
    assert site.program().get(only_put).reason == mq.MQRC_HOBJ_ERROR
    assert mqi.MQGET(10**9, only_put, MQMD.default(), MQGMO.default(), 1)[3] == mq.MQRC_HCONN_ERROR
    assert mqi.MQCMIT(-1) == (mq.MQCC_FAILED, mq.MQRC_HCONN_ERROR)


def test_messages_are_neither_put_to_nor_got_from_other_objects(site: Any, program: Any) -> None:
    od = bytearray(b"OD  \1\0\0\0" + struct.pack("<i", mq.MQOT_Q_MGR) + b" " * 156)
    hobj, code, reason = mqi.MQOPEN(program.hconn, od, mq.MQOO_INQUIRE)
    assert (code, reason) == (0, 0)
    assert program.put(hobj).reason == mq.MQRC_HOBJ_ERROR
    assert program.get(hobj).reason == mq.MQRC_HOBJ_ERROR
