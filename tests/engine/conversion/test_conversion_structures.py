"""MQGET with MQGMO_CONVERT: round trips of every built-in structure, and arbitrary damage."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searching import examples

from ostler.engine.conversion.code_pages import encode
from ostler.engine.conversion.conversion import NO_LIMIT, ConversionResult, convert_message
from ostler.model import constants as mq

NORMAL = mq.MQENC_NORMAL
REVERSED = mq.MQENC_REVERSED
ASCII = 819
EBCDIC = 500
UTF_8 = 1208
HOST = (NORMAL, EBCDIC)
LINUX = (REVERSED, ASCII)
TEXT = "Hello {World}"

Side = tuple[int, int]


def convert(format: bytes, body: bytes, source: Side, target: Side, buffer_length: int = NO_LIMIT) -> ConversionResult:
    return convert_message(format, body, source[0], source[1], target[0], target[1], buffer_length, True)


def pack(side: Side, pattern: str, *values: int | str | bytes) -> bytes:
    """Return a structure in the encoding and page of `side`; text is padded with blanks to its width."""
    out = b""
    for word, value in zip(pattern.split(), values, strict=True):
        if isinstance(value, str):
            out += encode(value.ljust(int(word)), side[1])
        elif isinstance(value, bytes):
            out += value.ljust(int(word), b"\0")
        else:
            out += struct.pack(("<" if side[0] == REVERSED else ">") + word, value)
    return out


def described(side: Side, identifier: str, version: int, length: int, format: str = "MQSTR") -> bytes:
    """Return the common start of most headers. Those of CICS and IMS do not use the encoding and the page."""
    follows = (0, 0) if identifier in ("CIH ", "IIH ") else side
    return pack(side, "4 i i i i 8 i", identifier, version, length, *follows, format, 7)


def message_descriptor(side: Side) -> bytes:
    pattern = "4 i i i i i i i 8 i i 24 24 i 48 48 12 32 32 i 28 8 8 4"
    values: tuple[int | str | bytes, ...] = (
        *("MD  ", 1, 0, 8, -1, 0, side[0], side[1], "MQSTR", 4, 1, b"\x01\xc1msg", b"\x02\xc1correl", 3),
        *("REPLY", "QM2", "fred", b"\x16\x01token", "identity", 6, "program", "20261115", "12304500", "orig"),
    )
    return pack(side, pattern, *values)


def transmission_header(side: Side) -> bytes:
    return pack(side, "4 i 48 48", "XQH ", 1, "REMOTE.Q", "QM2") + message_descriptor(side)


def dead_letter_header(side: Side) -> bytes:
    pattern = "4 i i 48 48 i i 8 i 28 8 8"
    values = ("DLH ", 1, 2053, "Q", "QM", side[0], side[1], "MQSTR", 6, "amqsput", "20261115", "12304500")
    return pack(side, pattern, *values)


def descriptor_extension(side: Side) -> bytes:
    return described(side, "MDE ", 2, 72) + pack(side, "24 i i i i", b"\xc1group", 3, 0, 8, -1)


def ims_header(side: Side) -> bytes:
    rest = ("LTERM", "MAP", "REPLYFMT", "secret", b"\xc1instance", " ", "0", "C", " ")
    return described(side, "IIH ", 1, 84) + pack(side, "8 8 8 8 16 1 1 1 1", *rest)


def cics_header(side: Side, version: int = 2) -> bytes:
    pattern = "i i i i i i i i i i i 8 4 4 8 8 8 4 4 4 4 4 4 4 4 8 8"
    values: tuple[int | str | bytes, ...] = (
        *range(11),
        *(b"\xc1facil", "LINK", "ABND", "passwd", "", "REPLY", "SYS", "TRAN", "TXID", "LIKE", "", "SD", "", "NEXT"),
        *("", ""),
    )
    header = described(side, "CIH ", version, 180 if version == 2 else 164) + pack(side, pattern, *values)
    return header + pack(side, "i i i i", 5, 6, 7, 0) if version == 2 else header


def work_header(side: Side) -> bytes:
    return described(side, "WIH ", 1, 120) + pack(side, "32 8 16 32", "SERVICE", "STEP", b"\xc1token", "")


def rules_header(side: Side) -> bytes:
    pairs = encode("OPTION value ", side[1]) + encode(" ", side[1]) * 3
    return described(side, "RFH ", 1, 32 + len(pairs)) + pairs


def rules_header_2(side: Side, page: int = UTF_8) -> bytes:
    folders = [encode(folder, page, side[0]) for folder in ("<mcd><Msd>a\u20ac</Msd></mcd>    "[:30], "<usr></usr> ")]
    folders = [folder + encode(" ", page, side[0]) * (-len(folder) % 4) for folder in folders]
    length = 36 + sum(4 + len(folder) for folder in folders)
    return (
        described(side, "RFH ", 2, length)
        + pack(side, "i", page)
        + b"".join(pack(side, "i", len(folder)) + folder for folder in folders)
    )


def trigger_message(side: Side) -> bytes:
    values = ("TM  ", 1, "QUEUE", "PROCESS", "data", 6, "/usr/bin/program", "&", "user data")
    return pack(side, "4 i 48 48 64 i 256 128 128", *values)


def ims_segments(side: Side) -> bytes:
    segments = [encode(part, side[1]) for part in ("first", "", "second one")]
    return b"".join(pack(side, "h", len(part) + 4) + b"\x01\xc1" + part for part in segments)


def string_parameter(side: Side, value: str, page: int = 0) -> bytes:
    data = encode(value, page or side[1])
    padded = data + bytes(-len(data) % 4)
    return pack(side, "i i i i i", 4, 20 + len(padded), 2016, page, len(data)) + padded


def command(side: Side) -> bytes:
    names = b"".join(encode(name.ljust(6), side[1]) for name in ("ONE", "TWO", "THREE"))
    filter_text = encode("abcd", side[1])
    return b"".join(
        (
            pack(side, "i i i i i i i i i", 16, 36, 3, 13, 1, 1, 0, 0, 11),
            pack(side, "i i i i", 3, 16, 20, -5),
            string_parameter(side, "SYSTEM.*"),
            string_parameter(side, "abc"),
            pack(side, "i i i i i i", 5, 24, 1229, 2, 1, -2),
            pack(side, "i i i i i i", 6, 24 + 20, 3011, 0, 3, 6) + names + b"\0\0",
            pack(side, "i i i i", 9, 20, 7001, 3) + b"\xc1\xc2\xc3\0",
            pack(side, "i i i i", 20, 16, 8001, 1),
            pack(side, "i i i i i", 13, 20, 3, 4, 100),
            pack(side, "i i i i i i", 14, 28, 2016, 18, 0, 4) + filter_text,
            pack(side, "i i i i i", 15, 24, 7001, 18, 4) + b"\xc1\xc2\xc3\xc4",
            pack(side, "i i i i q", 23, 24, 745, 0, -(2**40)),
            pack(side, "i i i i q q", 25, 32, 746, 2, 1, 2**50),
        )
    )


def embedded_command(side: Side) -> bytes:
    inner = command(side)
    return described(side, "EPH ", 1, 32 + len(inner)) + inner


HEADERS = {
    mq.MQFMT_DEAD_LETTER_HEADER: dead_letter_header,
    mq.MQFMT_XMIT_Q_HEADER: transmission_header,
    mq.MQFMT_MD_EXTENSION: descriptor_extension,
    mq.MQFMT_IMS: ims_header,
    mq.MQFMT_CICS: cics_header,
    mq.MQFMT_WORK_INFO_HEADER: work_header,
    mq.MQFMT_RF_HEADER: rules_header,
    mq.MQFMT_RF_HEADER_2: rules_header_2,
    mq.MQFMT_EMBEDDED_PCF: embedded_command,
}
BODIES = {
    mq.MQFMT_TRIGGER: trigger_message,
    mq.MQFMT_IMS_VAR_STRING: ims_segments,
    mq.MQFMT_ADMIN: command,
    mq.MQFMT_EVENT: command,
    mq.MQFMT_PCF: command,
}
LENGTHS = {
    mq.MQFMT_DEAD_LETTER_HEADER: 172,
    mq.MQFMT_XMIT_Q_HEADER: 428,
    mq.MQFMT_MD_EXTENSION: 72,
    mq.MQFMT_IMS: 84,
    mq.MQFMT_CICS: 180,
    mq.MQFMT_WORK_INFO_HEADER: 120,
    mq.MQFMT_TRIGGER: 684,
}


def message(format: bytes, side: Side) -> bytes:
    if format in BODIES:
        return BODIES[format](side)
    return HEADERS[format](side) + encode(TEXT, side[1])


FORMATS = [*HEADERS, *BODIES]
SIDES = [HOST, LINUX, (REVERSED, UTF_8), (NORMAL, 1047), (REVERSED, EBCDIC), (NORMAL, 850)]


@pytest.mark.parametrize("format", LENGTHS)
def test_the_structures_of_this_test_have_their_standard_lengths(format: bytes) -> None:
    build = HEADERS[format] if format in HEADERS else BODIES[format]
    assert len(build(LINUX)) == LENGTHS[format]


@pytest.mark.parametrize("target", SIDES)
@pytest.mark.parametrize("source", SIDES)
@pytest.mark.parametrize("format", FORMATS)
def test_a_structure_becomes_what_the_other_side_would_have_written(format: bytes, source: Side, target: Side) -> None:
    converted = convert(format, message(format, source), source, target)
    assert converted.body == message(format, target)
    assert (converted.encoding, converted.ccsid, converted.reason) == (*target, mq.MQRC_NONE)


def test_the_first_version_of_the_cics_header() -> None:
    body = cics_header(HOST, 1) + encode(TEXT, EBCDIC)
    assert convert(mq.MQFMT_CICS, body, HOST, LINUX).body == cics_header(LINUX, 1) + TEXT.encode()


def test_folders_in_utf_16_follow_the_encoding() -> None:
    body = rules_header_2(HOST, 1200) + encode(TEXT, EBCDIC)
    assert convert(mq.MQFMT_RF_HEADER_2, body, HOST, LINUX).body == rules_header_2(LINUX, 1200) + TEXT.encode()


def test_name_value_pairs_may_grow() -> None:
    pairs = encode("NAME \xe9\xe9\xe9", ASCII)
    body = described(LINUX, "RFH ", 1, 32 + len(pairs)) + pairs + TEXT.encode()
    converted = convert(mq.MQFMT_RF_HEADER, body, LINUX, (REVERSED, UTF_8))
    expected = described((REVERSED, UTF_8), "RFH ", 1, 44) + "NAME \xe9\xe9\xe9 ".encode() + TEXT.encode()
    assert (converted.body, converted.reason) == (expected, mq.MQRC_NONE)


def test_a_header_that_shares_its_page_fails_with_what_follows() -> None:
    body = ims_header(HOST)[:20] + encode("MYFORMAT", EBCDIC) + ims_header(HOST)[28:] + b"\x01"
    converted = convert(mq.MQFMT_IMS, body, HOST, LINUX)
    assert (converted.body, converted.ccsid, converted.reason) == (body, EBCDIC, mq.MQRC_FORMAT_ERROR)
    outer = dead_letter_header(HOST)[:116] + encode("MQIMS   ", EBCDIC) + dead_letter_header(HOST)[124:]
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, outer + body, HOST, LINUX)
    assert converted.body[172:] == body
    assert struct.unpack_from("<ii", converted.body, 108) == HOST
    assert (converted.ccsid, converted.reason) == (ASCII, mq.MQRC_FORMAT_ERROR)


def patched(body: bytes, at: int, value: int) -> bytes:
    return body[:at] + struct.pack(">i", value) + body[at + 4 :]


@pytest.mark.parametrize(
    ("format", "at", "value"),
    [
        *[(format, 4, 99) for format in HEADERS],
        *[(format, 0, 0x41424344) for format in HEADERS],
        *[(format, 8, value) for format in list(HEADERS)[2:] for value in (-1, 0, 31, 0x7FFFFFFF)],
        (mq.MQFMT_MD_EXTENSION, 8, 76),
        (mq.MQFMT_IMS, 8, 88),
        (mq.MQFMT_CICS, 8, 164),
        (mq.MQFMT_TRIGGER, 0, 0x41424344),
        (mq.MQFMT_TRIGGER, 4, 2),
        (mq.MQFMT_RF_HEADER_2, 36, -1),
        (mq.MQFMT_RF_HEADER_2, 36, -4),
        (mq.MQFMT_RF_HEADER_2, 36, 4000),
        (mq.MQFMT_RF_HEADER_2, 36, 45),
        (mq.MQFMT_EMBEDDED_PCF, 36, 35),
        (mq.MQFMT_EMBEDDED_PCF, 72, 17),
    ],
)
def test_a_header_that_lies_is_refused(format: bytes, at: int, value: int) -> None:
    body = patched(message(format, HOST), at, value)
    converted = convert(format, body, HOST, LINUX)
    assert (converted.body, converted.ccsid, converted.reason) == (body, EBCDIC, mq.MQRC_FORMAT_ERROR)


@pytest.mark.parametrize("format", [format for format in FORMATS if format != mq.MQFMT_IMS_VAR_STRING])
@pytest.mark.parametrize("length", [1, 4, 7, 8, 9, 12, 31])
def test_a_structure_that_is_too_short_is_refused(format: bytes, length: int) -> None:
    body = message(format, HOST)[:length]
    converted = convert(format, body, HOST, LINUX)
    assert (converted.body, converted.ccsid, converted.reason) == (body, EBCDIC, mq.MQRC_FORMAT_ERROR)


@pytest.mark.parametrize("length", [1, 3, 4, 8, 10, 12, 26])
def test_an_ims_segment_that_is_not_whole_is_refused(length: int) -> None:
    body = ims_segments(HOST)[:length]
    converted = convert(mq.MQFMT_IMS_VAR_STRING, body, HOST, LINUX)
    assert (converted.body, converted.ccsid, converted.reason) == (body, EBCDIC, mq.MQRC_FORMAT_ERROR)


def test_an_ims_segment_cannot_grow_beyond_its_length_field() -> None:
    body = pack(LINUX, "h", 20_004) + b"\0\0" + b"\xe9" * 20_000
    converted = convert(mq.MQFMT_IMS_VAR_STRING, body, LINUX, (REVERSED, UTF_8))
    assert (converted.body, converted.reason) == (body, mq.MQRC_CONVERTED_STRING_TOO_BIG)
    body = pack(LINUX, "h", 32_764) + b"\0\0" + b"\xe9\xe9\xe9" + b"a" * 32_757
    assert convert(mq.MQFMT_IMS_VAR_STRING, body, LINUX, (REVERSED, UTF_8)).reason == mq.MQRC_NONE
    body = pack(LINUX, "h", 32_765) + b"\0\0" + b"\xe9\xe9\xe9" + b"a" * 32_758
    converted = convert(mq.MQFMT_IMS_VAR_STRING, body, LINUX, (REVERSED, UTF_8))
    assert converted.reason == mq.MQRC_CONVERTED_STRING_TOO_BIG


def test_a_folder_may_be_empty() -> None:
    body = described(HOST, "RFH ", 2, 40) + pack(HOST, "i i", UTF_8, 0) + encode(TEXT, EBCDIC)
    expected = described(LINUX, "RFH ", 2, 40) + pack(LINUX, "i i", UTF_8, 0) + TEXT.encode()
    assert convert(mq.MQFMT_RF_HEADER_2, body, HOST, LINUX).body == expected


def test_names_inside_headers_may_end_with_a_null() -> None:
    body = dead_letter_header(HOST)[:116] + encode("MQSTR\0??", EBCDIC) + dead_letter_header(HOST)[124:] + b"\xc1"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, HOST, LINUX)
    assert (converted.body[116:124], converted.body[172:], converted.reason) == (b"MQSTR\0??", b"A", mq.MQRC_NONE)


def test_what_follows_a_null_may_go_when_a_field_grows() -> None:
    header = dead_letter_header(LINUX)
    body = header[:128] + ("\xe9" * 14 + "\0" + "x" * 13).encode("latin_1") + header[156:] + b"A"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, LINUX, (REVERSED, UTF_8))
    assert (converted.body[128:156], converted.reason) == (("\xe9" * 14).encode(), mq.MQRC_NONE)


def test_a_field_may_be_filled_to_its_last_byte() -> None:
    header = dead_letter_header(LINUX)
    body = header[:128] + ("\xe9" * 14).encode("latin_1").ljust(28) + header[156:] + b"A"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, LINUX, (REVERSED, UTF_8), len(body))
    assert (converted.body[128:156], converted.reason) == (("\xe9" * 14).encode(), mq.MQRC_NONE)


@pytest.mark.parametrize("format", HEADERS)
def test_a_header_may_be_all_there_is(format: bytes) -> None:
    converted = convert(format, HEADERS[format](HOST), HOST, LINUX)
    assert (converted.body, converted.reason) == (HEADERS[format](LINUX), mq.MQRC_NONE)


@pytest.mark.parametrize("format", FORMATS)
def test_an_encoding_without_integers_is_refused(format: bytes) -> None:
    body = message(format, HOST)
    converted = convert(format, body, HOST, (0x110, ASCII))
    assert (converted.body, converted.reason) == (body, mq.MQRC_TARGET_INTEGER_ENC_ERROR)
    converted = convert(format, body, (0x110, EBCDIC), LINUX)
    assert (converted.body, converted.reason) == (body, mq.MQRC_SOURCE_INTEGER_ENC_ERROR)


# Commands


@pytest.mark.parametrize(
    ("pattern", "values"),
    [
        ("i i i i i", (4, 20, 2016, 0, 0)),
        ("i i i i", (9, 16, 7001, 0)),
        ("i i i i", (5, 16, 1229, 0)),
        ("i i i i", (25, 16, 746, 0)),
        ("i i i i i i", (6, 24, 3011, 0, 0, 0)),
        ("i i i i i i", (6, 24, 3011, 0, 0, 48)),
    ],
)
def test_a_parameter_may_be_empty(pattern: str, values: tuple[int, ...]) -> None:
    header = "i i i i i i i i i", 16, 36, 3, 13, 1, 1, 0, 0, 1
    converted = convert(mq.MQFMT_ADMIN, pack(HOST, *header) + pack(HOST, pattern, *values), HOST, LINUX)
    assert converted.reason == mq.MQRC_NONE
    assert converted.body == pack(LINUX, *header) + pack(LINUX, pattern, *values)


def test_strings_into_an_unknown_page_are_refused() -> None:
    converted = convert(mq.MQFMT_ADMIN, command(HOST), HOST, (REVERSED, 12345))
    assert (converted.body, converted.reason) == (command(HOST), mq.MQRC_TARGET_CCSID_ERROR)


def test_an_empty_list_into_an_unknown_page_is_refused() -> None:
    body = pack(HOST, "i i i i i i i i i", 16, 36, 3, 13, 1, 1, 0, 0, 1) + pack(
        HOST, "i i i i i i", 6, 24, 3011, 0, 0, 48
    )
    converted = convert(mq.MQFMT_ADMIN, body, HOST, (REVERSED, 12345))
    assert (converted.body, converted.reason) == (body, mq.MQRC_TARGET_CCSID_ERROR)


@pytest.mark.parametrize("length", range(0, 420, 11))
def test_a_cut_embedded_command(length: int) -> None:
    body = embedded_command(HOST) + encode(TEXT, EBCDIC)
    converted = convert(mq.MQFMT_EMBEDDED_PCF, body, HOST, LINUX, buffer_length=length)
    expected = embedded_command(LINUX) + TEXT.encode()
    assert converted.body[20:] == expected[20 : len(converted.body)]
    assert converted.reason == (mq.MQRC_NONE if length >= len(body) else mq.MQRC_TRUNCATED_MSG_ACCEPTED)


def test_a_string_with_a_page_of_its_own() -> None:
    header = pack(HOST, "i i i i i i i i i", 16, 36, 3, 13, 1, 1, 0, 0, 1)
    body = header + string_parameter(HOST, "\u20ac\xe9", UTF_8)
    converted = convert(mq.MQFMT_ADMIN, body, HOST, (REVERSED, 1252))
    expected = pack(LINUX, "i i i i i i i i i", 16, 36, 3, 13, 1, 1, 0, 0, 1) + string_parameter(
        (REVERSED, 1252), "\u20ac\xe9", 1252
    )
    assert (converted.body, converted.reason) == (expected, mq.MQRC_NONE)


def test_an_embedded_page_is_that_of_each_string() -> None:
    header = pack(HOST, "i i i i i i i i i", 7, 36, 1, 44, 1, 1, 0, 0, 1)
    body = header + string_parameter(HOST, "NAME", EBCDIC)
    converted = convert(mq.MQFMT_EVENT, body, (NORMAL, mq.MQCCSI_EMBEDDED), LINUX)
    assert converted.reason == mq.MQRC_NONE
    assert converted.body.endswith(string_parameter(LINUX, "NAME", ASCII))


def test_the_strings_of_a_list_stay_equally_long() -> None:
    header = pack(LINUX, "i i i i i i i i i", 16, 36, 3, 13, 1, 1, 0, 0, 1)
    body = header + pack(LINUX, "i i i i i i", 6, 28, 3011, 0, 2, 2) + b"\xe9\xe9ab"
    converted = convert(mq.MQFMT_ADMIN, body, LINUX, (REVERSED, UTF_8))
    expected = header + pack(LINUX, "i i i i i i", 6, 32, 3011, 0, 2, 4) + "\xe9\xe9ab  ".encode()
    assert (converted.body, converted.reason) == (expected, mq.MQRC_NONE)


@pytest.mark.parametrize("page", [1200, 1208])
def test_a_command_may_have_strings_in_any_page(page: int) -> None:
    body = pack(LINUX, "i i i i i i i i i", 16, 36, 3, 13, 1, 1, 0, 0, 1) + string_parameter(LINUX, "NAME")
    converted = convert(mq.MQFMT_ADMIN, body, LINUX, (REVERSED, page))
    text = encode("NAME", page, REVERSED)
    assert converted.body.endswith(pack(LINUX, "i i i i i", 4, 20 + len(text), 2016, 0, len(text)) + text)


@pytest.mark.parametrize(
    "parameter",
    [
        pack(HOST, "i i", 3, 8),
        pack(HOST, "i i i i", 3, 20, 1, 1),
        pack(HOST, "i i i i i", 4, 20, 2016, 0, 4),
        pack(HOST, "i i i i i", 4, 20, 2016, 0, -1),
        pack(HOST, "i i i i", 5, 16, 1229, 0x7FFFFFFF),
        pack(HOST, "i i i i", 5, 16, 1229, -1),
        pack(HOST, "i i i i i i", 6, 24, 3011, 0, 0x7FFFFFFF, 1),
        pack(HOST, "i i i i i i", 6, 24, 3011, 0, -1, -1),
        pack(HOST, "i i i i", 9, 16, 7001, 1),
        pack(HOST, "i i i i", 99, 16, 0, 0),
        pack(HOST, "i i i i", 3, 0, 0, 0),
        pack(HOST, "i i i i", 3, -16, 0, 0),
        pack(HOST, "i i i i", 3, 0x7FFFFFFF, 0, 0),
        b"\0",
    ],
)
def test_a_parameter_whose_lengths_lie_is_refused(parameter: bytes) -> None:
    body = pack(HOST, "i i i i i i i i i", 16, 36, 3, 13, 1, 1, 0, 0, 1) + parameter
    converted = convert(mq.MQFMT_ADMIN, body, HOST, LINUX)
    assert (converted.body, converted.ccsid, converted.reason) == (body, EBCDIC, mq.MQRC_FORMAT_ERROR)


def test_a_list_of_very_many_empty_strings_costs_nothing() -> None:
    header = pack(HOST, "i i i i i i i i i", 16, 36, 3, 13, 1, 1, 0, 0, 1)
    body = header + pack(HOST, "i i i i i i", 6, 24, 3011, 0, 0x7FFFFFFF, 0)
    converted = convert(mq.MQFMT_ADMIN, body, HOST, LINUX)
    assert converted.body.endswith(pack(LINUX, "i i i i i i", 6, 24, 3011, 0, 0x7FFFFFFF, 0))


@pytest.mark.parametrize("length", range(36, 400, 7))
def test_a_cut_command_is_converted_up_to_the_last_whole_parameter(length: int) -> None:
    body = command(HOST)
    converted = convert(mq.MQFMT_ADMIN, body, HOST, LINUX, buffer_length=length)
    if length < len(body):
        assert converted.reason == mq.MQRC_TRUNCATED_MSG_ACCEPTED
    assert command(LINUX).startswith(converted.body)
    assert len(converted.body) >= 36


@pytest.mark.parametrize("length", [32, 36, 38, 40, 44, 60, 70])
def test_a_cut_rules_header(length: int) -> None:
    body = rules_header_2(HOST) + encode(TEXT, EBCDIC)
    converted = convert(mq.MQFMT_RF_HEADER_2, body, HOST, LINUX, buffer_length=length)
    expected = rules_header_2(LINUX)
    assert converted.reason == mq.MQRC_TRUNCATED_MSG_ACCEPTED
    # The header still describes the data behind it as at the source: none of it is here.
    assert converted.body[20:] == expected[20 : len(converted.body)]
    assert length - len(converted.body) < 4


# Damage


@st.composite
def damaged(draw: st.DrawFn) -> tuple[bytes, bytes]:
    format = draw(st.sampled_from(FORMATS))
    body = bytearray(message(format, HOST))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(body) - 1))
        if draw(st.booleans()):
            body[at] = draw(st.integers(0, 255))
        else:
            at -= at % 4
            body[at : at + 4] = struct.pack(">i", draw(st.sampled_from([-1, 0, 1, 3, 35, 0x7FFFFFFF, -(2**31), 1200])))
    return format, bytes(body[: draw(st.integers(0, len(body)))])


@settings(max_examples=examples(300))
@given(damaged(), st.sampled_from([LINUX, (REVERSED, UTF_8), (0, ASCII), (NORMAL, 1200), (NORMAL, 7)]), st.data())
def test_a_damaged_message_is_answered_and_never_grows_beyond_the_buffer(
    case: tuple[bytes, bytes], target: Side, data: st.DataObject
) -> None:
    format, body = case
    length = data.draw(st.integers(0, len(body) + 20))
    accept = data.draw(st.booleans())
    source = data.draw(st.sampled_from([HOST, (REVERSED, EBCDIC), (NORMAL, UTF_8), (NORMAL, 943), (0, 1200)]))
    converted = convert_message(format, body, *source, *target, length, accept)
    assert len(converted.body) <= length
    allowed = {
        mq.MQRC_NONE,
        mq.MQRC_FORMAT_ERROR,
        mq.MQRC_SOURCE_CCSID_ERROR,
        mq.MQRC_TARGET_CCSID_ERROR,
        mq.MQRC_SOURCE_INTEGER_ENC_ERROR,
        mq.MQRC_TARGET_INTEGER_ENC_ERROR,
        mq.MQRC_NOT_CONVERTED,
        mq.MQRC_CONVERTED_MSG_TOO_BIG,
        mq.MQRC_CONVERTED_STRING_TOO_BIG,
        mq.MQRC_TRUNCATED_MSG_ACCEPTED if accept else mq.MQRC_TRUNCATED_MSG_FAILED,
    }
    assert converted.reason in allowed
    if converted.ccsid == source[1] and converted.encoding == source[0]:
        assert converted.body == body[:length]


@given(st.sampled_from(FORMATS), st.sampled_from(SIDES), st.sampled_from(SIDES))
def test_there_and_back_is_the_same(format: bytes, here: Side, there: Side) -> None:
    body = message(format, here)
    away = convert(format, body, here, there)
    back = convert(format, away.body, there, here)
    assert (back.body, back.reason) == (body, mq.MQRC_NONE)


@given(st.text(st.characters(codec="latin_1", exclude_categories=["Cc"])))
def test_text_of_one_alphabet_survives_every_page_of_it(characters: str) -> None:
    body = characters.encode()
    for page in (ASCII, EBCDIC, 37, 1047, 273, 285, 1200, 1208):
        away = convert(mq.MQFMT_STRING, body, (NORMAL, UTF_8), (REVERSED, page))
        back = convert(mq.MQFMT_STRING, away.body, (REVERSED, page), (NORMAL, UTF_8))
        assert back.body == body
