"""Splitting messages into segments and joining them again."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.engine.groups.segmentation import (
    joined_body,
    joined_descriptor,
    last_section,
    sections,
    split,
    without_report_data,
)
from ostler.engine.message.descriptor_fields import DEFAULT_DESCRIPTOR
from ostler.engine.message.message import Message
from ostler.model.constants import (
    MQCCSI_INHERIT,
    MQENC_INTEGER_NORMAL,
    MQFMT_IMS,
    MQFMT_NONE,
    MQFMT_RF_HEADER_2,
    MQFMT_STRING,
    MQMF_LAST_MSG_IN_GROUP,
    MQMF_LAST_SEGMENT,
    MQMF_MSG_IN_GROUP,
    MQMF_SEGMENT,
    MQMF_SEGMENTATION_ALLOWED,
    MQMT_DATAGRAM,
    MQMT_REPORT,
    MQRO_COA,
    MQRO_COA_WITH_DATA,
    MQRO_COD_WITH_FULL_DATA,
    MQRO_EXCEPTION,
    MQRO_EXCEPTION_WITH_DATA,
    MQRO_EXPIRATION,
    MQRO_EXPIRATION_WITH_DATA,
    MQRO_PASS_MSG_ID,
)

GROUP = b"group".ljust(24, b"g")
ALLOWED = MQMF_SEGMENTATION_ALLOWED
REPORT_AT, TYPE_AT, ENCODING_AT, CCSID_AT, FORMAT_AT = 8, 12, 24, 28, 32
SEQUENCE_AT, OFFSET_AT, FLAGS_AT, LENGTH_AT = 348, 352, 356, 360


def number(md: bytes, at: int) -> int:
    value: int = struct.unpack_from("<i", md, at)[0]
    return value


def descriptor(
    flags: int = ALLOWED,
    offset: int = 0,
    length: int = -1,
    format: bytes = MQFMT_STRING,
    report: int = 0,
    type: int = MQMT_DATAGRAM,
) -> bytes:
    md = bytearray(DEFAULT_DESCRIPTOR)
    struct.pack_into("<ii", md, REPORT_AT, report, type)
    struct.pack_into("<ii8s", md, ENCODING_AT, 546, 1208, format)
    md[48:72] = b"message".ljust(24, b"m")
    struct.pack_into("<24siiii", md, 324, GROUP, 3, offset, flags, length)
    return bytes(md)


def rfh2(next_format: bytes, encoding: int, ccsid: int, folders: int, order: str = "<") -> bytes:
    head = struct.pack(f"{order}4siiii8sii", b"RFH ", 2, 36 + folders, encoding, ccsid, next_format, 0, 1208)
    return head + b"f" * folders


def join(pieces: list[tuple[bytes, bytes]]) -> tuple[bytes, bytes]:
    body = joined_body([Message(md, b"", piece, seq) for seq, (md, piece) in enumerate(pieces)])
    return joined_descriptor(pieces[0][0], len(body)), body


@given(st.binary(max_size=2000), st.integers(16, 600))
def test_cut_and_joined_is_what_it_was(body: bytes, limit: int) -> None:
    pieces = split(descriptor(), body, limit)
    assert all(len(piece) <= limit for _, piece in pieces)
    md, joined = join(pieces)
    assert joined == body
    if len(pieces) > 1:
        assert number(md, OFFSET_AT) == 0
        assert number(md, LENGTH_AT) == len(body)
        assert number(md, FLAGS_AT) == ALLOWED | MQMF_SEGMENT | MQMF_LAST_SEGMENT
        # All else is that of the first segment.
        assert md[:FLAGS_AT] == pieces[0][0][:FLAGS_AT]


@given(
    st.lists(st.integers(0, 90), max_size=4),
    st.integers(0, 900),
    st.integers(126, 400),
    st.booleans(),
)
def test_headers_are_never_torn(folders: list[int], data: int, limit: int, big_endian: bool) -> None:
    order, encoding = (">", MQENC_INTEGER_NORMAL) if big_endian else ("<", 546)
    formats = [MQFMT_RF_HEADER_2] * len(folders) + [b"MYFORMAT"]
    headers = [rfh2(formats[index + 1], encoding, 1208, size, order) for index, size in enumerate(folders)]
    body = b"".join(headers) + bytes(number % 256 for number in range(data))
    md = bytearray(descriptor(format=formats[0]))
    struct.pack_into("<i", md, ENCODING_AT, encoding)
    pieces = split(bytes(md), body, limit)
    assert join(pieces)[1] == body
    starts = {sum(len(header) for header in headers[:index]): formats[index] for index in range(len(headers) + 1)}
    data_start = max(starts)
    at = 0
    for piece_md, piece in pieces:
        # Each segment begins with a header, with the data, or at a multiple of 16 bytes within the data.
        assert at in starts or (at > data_start and (at - data_start) % 16 == 0)
        assert piece_md[FORMAT_AT : FORMAT_AT + 8] == starts.get(at, b"MYFORMAT")
        at += len(piece)


def test_the_fields_of_segments() -> None:
    flags = ALLOWED | MQMF_MSG_IN_GROUP | MQMF_LAST_MSG_IN_GROUP
    pieces = split(descriptor(flags), bytes(100), 40)
    assert [len(piece) for _, piece in pieces] == [32, 32, 36]
    assert [number(md, OFFSET_AT) for md, _ in pieces] == [0, 32, 64]
    assert [number(md, LENGTH_AT) for md, _ in pieces] == [32, 32, 36]
    assert [number(md, FLAGS_AT) for md, _ in pieces] == [
        flags | MQMF_SEGMENT,
        flags | MQMF_SEGMENT,
        flags | MQMF_SEGMENT | MQMF_LAST_SEGMENT,
    ]
    for md, _ in pieces:
        assert len(md) == 364
        # Message id, group id and sequence number are the message's.
        assert md[:OFFSET_AT] == descriptor(flags)[:OFFSET_AT]


def test_a_message_that_fits_is_left_alone() -> None:
    assert split(descriptor(), bytes(40), 40) == [(descriptor(), bytes(40))]


@pytest.mark.parametrize("is_last", [False, True])
def test_a_segment_is_cut_into_smaller_ones(is_last: bool) -> None:
    flags = ALLOWED | MQMF_SEGMENT | (MQMF_LAST_SEGMENT if is_last else 0)
    pieces = split(descriptor(flags, 1000, 50), bytes(50), 32)
    assert [number(md, OFFSET_AT) for md, _ in pieces] == [1000, 1032]
    assert [number(md, LENGTH_AT) for md, _ in pieces] == [32, 18]
    assert number(pieces[0][0], FLAGS_AT) == ALLOWED | MQMF_SEGMENT
    assert number(pieces[1][0], FLAGS_AT) == flags


@pytest.mark.parametrize(
    ("format", "body", "limit"),
    [
        (MQFMT_STRING, bytes(100), 15),
        (MQFMT_RF_HEADER_2, rfh2(MQFMT_STRING, 546, 1208, 100) + bytes(50), 135),
    ],
)
def test_what_cannot_be_cut(format: bytes, body: bytes, limit: int) -> None:
    assert split(descriptor(format=format), body, limit) == []


@pytest.mark.parametrize(
    "body",
    [
        b"RFH " + bytes(96),  # a length of 0
        struct.pack("<4sii", b"RFH ", 2, 1000) + bytes(88),  # longer than the message
        struct.pack("<4sii", b"RFH ", 2, -5) + bytes(88),
        b"",
        b"RFH",
    ],
)
def test_an_invalid_header_is_data(body: bytes) -> None:
    found = sections(descriptor(format=MQFMT_RF_HEADER_2), body)
    assert [section.start for section in found] == [0]


def test_what_follows_headers() -> None:
    body = rfh2(MQFMT_STRING, MQENC_INTEGER_NORMAL, 819, 4) + b"data"
    end = last_section(descriptor(format=MQFMT_RF_HEADER_2), body)
    assert (end.start, end.encoding, end.ccsid, end.format) == (40, MQENC_INTEGER_NORMAL, 819, MQFMT_STRING)
    inherited = last_section(descriptor(format=MQFMT_RF_HEADER_2), rfh2(MQFMT_STRING, 546, MQCCSI_INHERIT, 4))
    assert inherited.ccsid == 1208
    # What follows an IMS header is in its own code page.
    ims = struct.pack("<4siiii8s", b"IIH ", 1, 84, 785, 500, MQFMT_STRING) + bytes(56)
    end = last_section(descriptor(format=MQFMT_IMS), ims)
    assert (end.start, end.encoding, end.ccsid, end.format) == (84, 546, 1208, MQFMT_STRING)
    # A mainframe writes the names of formats in EBCDIC.
    end = last_section(descriptor(format=MQFMT_RF_HEADER_2), rfh2(MQFMT_STRING.decode().encode("cp500"), 546, 500, 0))
    assert end.format == MQFMT_STRING
    end = last_section(descriptor(format=MQFMT_RF_HEADER_2), rfh2(b"@" * 8, 546, 500, 0))
    assert end.format == MQFMT_NONE


def test_the_fixed_headers() -> None:
    dead = b"DLH " + bytes(104) + struct.pack("<ii8s", 546, 819, MQFMT_STRING) + bytes(48)
    assert [section.start for section in sections(descriptor(format=b"MQDEAD  "), dead + b"x")] == [0, 172]
    transmission = b"XQH " + bytes(124) + struct.pack("<ii8s", 546, 819, MQFMT_STRING) + bytes(284)
    found = sections(descriptor(format=b"MQXMIT  "), transmission + b"x")
    assert [(section.start, section.ccsid) for section in found] == [(0, 1208), (428, 819)]


def test_only_the_first_bytes_of_data_are_reported() -> None:
    report = MQRO_COA_WITH_DATA | MQRO_COD_WITH_FULL_DATA | MQRO_EXCEPTION_WITH_DATA | MQRO_PASS_MSG_ID
    reduced = MQRO_COA | MQRO_COD_WITH_FULL_DATA | MQRO_EXCEPTION | MQRO_PASS_MSG_ID
    pieces = split(descriptor(report=report), bytes(200), 48)
    assert [number(md, REPORT_AT) for md, _ in pieces] == [report, report, report, reduced, reduced]
    assert without_report_data(MQRO_EXPIRATION_WITH_DATA) == MQRO_EXPIRATION
    assert without_report_data(MQRO_EXPIRATION) == MQRO_EXPIRATION


def test_reports_without_data_are_joined_to_the_full_length() -> None:
    first = descriptor(MQMF_SEGMENT, 0, 6, type=MQMT_REPORT)
    last = descriptor(MQMF_SEGMENT | MQMF_LAST_SEGMENT, 6, 3, type=MQMT_REPORT)
    assert join([(first, b"abc"), (last, b"")])[1] == b"abc" + bytes(6)


def test_a_split_report_about_a_segment_represents_all_of_it() -> None:
    md = descriptor(ALLOWED | MQMF_SEGMENT, 100, 500, type=MQMT_REPORT)
    assert [number(piece, LENGTH_AT) for piece, _ in split(md, bytes(100), 64)] == [64, 436]
