"""MQGET with MQGMO_CONVERT: strings, chains of headers, truncation and refusals."""

from __future__ import annotations

import struct

import pytest

from ostler.engine.conversion.code_pages import encode
from ostler.engine.conversion.conversion import NO_LIMIT, ConversionResult, convert_message
from ostler.model import constants as mq

NORMAL = mq.MQENC_NORMAL
REVERSED = mq.MQENC_REVERSED
ASCII = 819
EBCDIC = 500
UTF_8 = 1208
UTF_16 = 1200


def convert(
    format: bytes,
    body: bytes,
    source: tuple[int, int],
    target: tuple[int, int],
    buffer_length: int = NO_LIMIT,
    accept_truncated: bool = False,
) -> ConversionResult:
    return convert_message(format, body, source[0], source[1], target[0], target[1], buffer_length, accept_truncated)


def outcome(converted: ConversionResult) -> tuple[bytes, int, int, int]:
    return converted.body, converted.encoding, converted.ccsid, converted.reason


def order(encoding: int) -> str:
    return "<" if encoding == REVERSED else ">"


def dead_letter_header(
    encoding: int, ccsid: int, follows: tuple[int, int, str], reason: int = mq.MQRC_Q_FULL, put_by: str = "program"
) -> bytes:
    """Return an MQDLH in `encoding` and `ccsid`; `follows` is encoding, page and format of the data behind it."""
    return struct.pack(
        order(encoding) + "4sii48s48sii8si28s8s8s",
        encode("DLH ", ccsid),
        1,
        reason,
        encode("Q.ONE".ljust(48), ccsid),
        encode("QM1".ljust(48), ccsid),
        follows[0],
        follows[1],
        encode(follows[2].ljust(8), ccsid),
        6,
        encode(put_by.ljust(28), ccsid)[:28],
        encode("20261115", ccsid),
        encode("12304500", ccsid),
    )


# Strings


@pytest.mark.parametrize(
    ("source", "target", "data", "expected"),
    [
        ((NORMAL, EBCDIC), (REVERSED, ASCII), b"\xc1\xc2\x40", b"AB "),
        ((REVERSED, ASCII), (NORMAL, 37), b"AB[", b"\xc1\xc2\xba"),
        ((REVERSED, UTF_8), (REVERSED, 1252), "\u20ac".encode(), b"\x80"),
        ((NORMAL, UTF_16), (REVERSED, UTF_16), b"\0A", b"A\0"),
        ((NORMAL, UTF_16), (NORMAL, UTF_8), b"\x20\xac", "\u20ac".encode()),
        ((REVERSED, 943), (REVERSED, UTF_8), b"\x93\xfa", "\u65e5".encode()),
        ((NORMAL, ASCII), (REVERSED, ASCII), b"unchanged", b"unchanged"),
    ],
)
def test_a_string_is_converted(source: tuple[int, int], target: tuple[int, int], data: bytes, expected: bytes) -> None:
    assert outcome(convert(mq.MQFMT_STRING, data, source, target)) == (expected, *target, mq.MQRC_NONE)


def test_nothing_is_touched_when_it_is_as_wanted() -> None:
    body = b"\xff\xfe anything"
    converted = convert(mq.MQFMT_STRING, body, (REVERSED, 99999), (REVERSED, 99999))
    assert converted.body is body
    assert outcome(converted) == (body, REVERSED, 99999, mq.MQRC_NONE)


def test_an_empty_message_needs_no_conversion() -> None:
    assert outcome(convert(mq.MQFMT_NONE, b"", (NORMAL, EBCDIC), (REVERSED, ASCII))) == (
        b"",
        NORMAL,
        EBCDIC,
        mq.MQRC_NONE,
    )


def test_zero_means_the_page_of_the_queue_manager() -> None:
    converted = convert_message(mq.MQFMT_STRING, b"\xc1", NORMAL, 0, REVERSED, ASCII, 100, False, EBCDIC)
    assert outcome(converted) == (b"A", REVERSED, ASCII, mq.MQRC_NONE)
    converted = convert_message(mq.MQFMT_STRING, b"A", NORMAL, ASCII, NORMAL, 0, 100, False, EBCDIC)
    assert outcome(converted) == (b"\xc1", NORMAL, EBCDIC, mq.MQRC_NONE)


def test_embedded_as_wanted_page_prevents_conversion() -> None:
    assert outcome(convert(mq.MQFMT_STRING, b"A", (NORMAL, ASCII), (REVERSED, mq.MQCCSI_EMBEDDED))) == (
        b"A",
        NORMAL,
        ASCII,
        mq.MQRC_NONE,
    )


@pytest.mark.parametrize(
    ("format", "body", "source", "target", "reason"),
    [
        (mq.MQFMT_NONE, b"A", (NORMAL, ASCII), (NORMAL, EBCDIC), mq.MQRC_FORMAT_ERROR),
        (b"\0" * 8, b"A", (NORMAL, ASCII), (NORMAL, EBCDIC), mq.MQRC_FORMAT_ERROR),
        (b"MYFORMAT", b"A", (NORMAL, ASCII), (NORMAL, EBCDIC), mq.MQRC_FORMAT_ERROR),
        (mq.MQFMT_STRING, b"A", (NORMAL, 12345), (NORMAL, EBCDIC), mq.MQRC_SOURCE_CCSID_ERROR),
        (mq.MQFMT_STRING, b"A", (NORMAL, mq.MQCCSI_APPL), (NORMAL, EBCDIC), mq.MQRC_SOURCE_CCSID_ERROR),
        (mq.MQFMT_STRING, b"A", (NORMAL, ASCII), (NORMAL, 12345), mq.MQRC_TARGET_CCSID_ERROR),
        (mq.MQFMT_STRING, b"\xff", (NORMAL, UTF_8), (NORMAL, ASCII), mq.MQRC_NOT_CONVERTED),
        (mq.MQFMT_DEAD_LETTER_HEADER, b"DLH ", (NORMAL, ASCII), (REVERSED, ASCII), mq.MQRC_FORMAT_ERROR),
        (mq.MQFMT_TRIGGER, b"TM  ", (NORMAL, ASCII), (REVERSED, ASCII), mq.MQRC_FORMAT_ERROR),
        (mq.MQFMT_ADMIN, bytes(8), (NORMAL, ASCII), (REVERSED, ASCII), mq.MQRC_FORMAT_ERROR),
        (mq.MQFMT_ADMIN, bytes(36), (0x110, ASCII), (REVERSED, ASCII), mq.MQRC_SOURCE_INTEGER_ENC_ERROR),
        (mq.MQFMT_IMS_VAR_STRING, b"\0\x03\0\0", (NORMAL, ASCII), (NORMAL, EBCDIC), mq.MQRC_FORMAT_ERROR),
    ],
)
def test_what_cannot_be_converted_is_returned_as_it_is(
    format: bytes, body: bytes, source: tuple[int, int], target: tuple[int, int], reason: int
) -> None:
    converted = convert(format, body, source, target)
    assert outcome(converted) == (body, *source, reason)
    assert converted.format == format


def test_a_format_name_may_end_with_a_null() -> None:
    assert outcome(convert(b"MQSTR\0xx", b"A", (NORMAL, ASCII), (NORMAL, EBCDIC))) == (b"\xc1", NORMAL, EBCDIC, 0)


# Chains of headers


def test_a_dead_letter_header_and_its_string() -> None:
    body = dead_letter_header(NORMAL, EBCDIC, (NORMAL, EBCDIC, "MQSTR")) + encode("Hello", EBCDIC)
    expected = dead_letter_header(REVERSED, ASCII, (REVERSED, ASCII, "MQSTR")) + b"Hello"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, EBCDIC), (REVERSED, ASCII))
    assert outcome(converted) == (expected, REVERSED, ASCII, mq.MQRC_NONE)


def test_inherit_becomes_the_true_page() -> None:
    body = dead_letter_header(NORMAL, EBCDIC, (NORMAL, mq.MQCCSI_INHERIT, "MQSTR")) + encode("Hello", EBCDIC)
    expected = dead_letter_header(REVERSED, ASCII, (REVERSED, ASCII, "MQSTR")) + b"Hello"
    assert convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, EBCDIC), (REVERSED, ASCII)).body == expected


def test_each_part_has_its_own_page() -> None:
    body = dead_letter_header(NORMAL, EBCDIC, (NORMAL, UTF_16, "MQSTR")) + encode("Hello", UTF_16)
    expected = dead_letter_header(REVERSED, ASCII, (REVERSED, ASCII, "MQSTR")) + b"Hello"
    assert convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, EBCDIC), (REVERSED, ASCII)).body == expected


def test_data_without_format_behind_a_header_stays_and_is_no_error() -> None:
    body = dead_letter_header(NORMAL, EBCDIC, (NORMAL, EBCDIC, "")) + b"\x01\x02"
    expected = dead_letter_header(REVERSED, ASCII, (NORMAL, EBCDIC, "")) + b"\x01\x02"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, EBCDIC), (REVERSED, ASCII))
    assert outcome(converted) == (expected, REVERSED, ASCII, mq.MQRC_NONE)


def test_a_part_that_fails_is_described_truly_by_the_header_before_it() -> None:
    body = dead_letter_header(NORMAL, EBCDIC, (NORMAL, mq.MQCCSI_INHERIT, "MYFORMAT")) + b"\x01\x02"
    expected = dead_letter_header(REVERSED, ASCII, (NORMAL, EBCDIC, "MYFORMAT")) + b"\x01\x02"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, EBCDIC), (REVERSED, ASCII))
    assert outcome(converted) == (expected, REVERSED, ASCII, mq.MQRC_FORMAT_ERROR)


def test_two_headers_where_the_last_part_fails() -> None:
    inner = dead_letter_header(REVERSED, 37, (NORMAL, 12345, "MQSTR"))
    body = dead_letter_header(NORMAL, EBCDIC, (REVERSED, 37, "MQDEAD")) + inner + b"abc"
    expected = (
        dead_letter_header(REVERSED, ASCII, (REVERSED, ASCII, "MQDEAD"))
        + dead_letter_header(REVERSED, ASCII, (NORMAL, 12345, "MQSTR"))
        + b"abc"
    )
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, EBCDIC), (REVERSED, ASCII))
    assert outcome(converted) == (expected, REVERSED, ASCII, mq.MQRC_SOURCE_CCSID_ERROR)


def test_a_part_that_is_as_wanted_is_left_alone() -> None:
    body = dead_letter_header(NORMAL, EBCDIC, (REVERSED, ASCII, "MYFORMAT")) + b"\x01\x02"
    expected = dead_letter_header(REVERSED, ASCII, (REVERSED, ASCII, "MYFORMAT")) + b"\x01\x02"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, EBCDIC), (REVERSED, ASCII))
    assert outcome(converted) == (expected, REVERSED, ASCII, mq.MQRC_NONE)


def test_a_header_cannot_be_in_a_page_without_single_byte_names() -> None:
    body = dead_letter_header(NORMAL, EBCDIC, (NORMAL, EBCDIC, "MQSTR")) + b"\xc1"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, EBCDIC), (NORMAL, UTF_16))
    assert outcome(converted) == (body, NORMAL, EBCDIC, mq.MQRC_TARGET_CCSID_ERROR)
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, UTF_16), (NORMAL, EBCDIC))
    assert outcome(converted) == (body, NORMAL, UTF_16, mq.MQRC_SOURCE_CCSID_ERROR)


def test_a_field_that_grows_gives_up_its_blanks() -> None:
    body = dead_letter_header(REVERSED, ASCII, (REVERSED, ASCII, "MQSTR"), put_by="\xe9t\xe9") + b"x"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (REVERSED, ASCII), (REVERSED, UTF_8))
    assert converted.reason == mq.MQRC_NONE
    assert converted.body[128:156] == "\xe9t\xe9".encode().ljust(28)
    assert len(converted.body) == len(body)


def test_a_field_that_grows_too_much_is_refused() -> None:
    body = dead_letter_header(REVERSED, ASCII, (REVERSED, ASCII, "MQSTR"), put_by="\xe9" * 28) + b"x"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (REVERSED, ASCII), (REVERSED, UTF_8))
    assert outcome(converted) == (body, REVERSED, ASCII, mq.MQRC_CONVERTED_STRING_TOO_BIG)


def test_a_field_that_shrinks_is_filled_with_blanks() -> None:
    body = dead_letter_header(REVERSED, UTF_8, (REVERSED, UTF_8, "MQSTR"), put_by="\xe9t\xe9") + b"x"
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (REVERSED, UTF_8), (REVERSED, EBCDIC))
    assert converted.body[128:156] == encode("\xe9t\xe9".ljust(28), EBCDIC)


def test_an_endless_chain_of_headers_is_refused() -> None:
    header = dead_letter_header(NORMAL, EBCDIC, (NORMAL, EBCDIC, "MQDEAD"))
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, header * 1000, (NORMAL, EBCDIC), (REVERSED, ASCII))
    assert converted.reason == mq.MQRC_FORMAT_ERROR
    assert converted.body.endswith(header)
    assert converted.body.startswith(b"DLH ")


# The buffer


def test_a_message_that_grows_beyond_the_buffer_is_returned_as_it_is() -> None:
    body = "\xe9\xe9\xe9".encode("latin_1")
    converted = convert(mq.MQFMT_STRING, body, (NORMAL, ASCII), (NORMAL, UTF_8), buffer_length=5)
    assert outcome(converted) == (body, NORMAL, ASCII, mq.MQRC_CONVERTED_MSG_TOO_BIG)


def test_a_message_that_grows_beyond_the_buffer_is_cut_behind_a_character() -> None:
    body = "\xe9\xe9\xe9".encode("latin_1")
    converted = convert(mq.MQFMT_STRING, body, (NORMAL, ASCII), (NORMAL, UTF_8), 5, accept_truncated=True)
    assert outcome(converted) == ("\xe9\xe9".encode(), NORMAL, UTF_8, mq.MQRC_TRUNCATED_MSG_ACCEPTED)


def test_a_message_that_grows_to_fill_the_buffer_is_fine() -> None:
    body = "\xe9\xe9".encode("latin_1")
    converted = convert(mq.MQFMT_STRING, body, (NORMAL, ASCII), (NORMAL, UTF_8), buffer_length=4)
    assert outcome(converted) == ("\xe9\xe9".encode(), NORMAL, UTF_8, mq.MQRC_NONE)


def test_a_long_message_is_not_converted_when_truncation_is_not_accepted() -> None:
    converted = convert(mq.MQFMT_STRING, b"ABCDE", (NORMAL, ASCII), (NORMAL, EBCDIC), buffer_length=3)
    assert outcome(converted) == (b"ABC", NORMAL, ASCII, mq.MQRC_TRUNCATED_MSG_FAILED)


def test_what_fits_of_a_long_message_is_converted() -> None:
    converted = convert(mq.MQFMT_STRING, b"ABCDE", (NORMAL, ASCII), (NORMAL, EBCDIC), 3, accept_truncated=True)
    assert outcome(converted) == (b"\xc1\xc2\xc3", NORMAL, EBCDIC, mq.MQRC_TRUNCATED_MSG_ACCEPTED)
    body = "ab\u20ac".encode()
    converted = convert(mq.MQFMT_STRING, body, (NORMAL, UTF_8), (NORMAL, ASCII), 4, accept_truncated=True)
    assert outcome(converted) == (b"ab", NORMAL, ASCII, mq.MQRC_TRUNCATED_MSG_ACCEPTED)


def test_truncation_is_reported_rather_than_a_failed_conversion() -> None:
    converted = convert(mq.MQFMT_NONE, b"ABCDE", (NORMAL, ASCII), (NORMAL, EBCDIC), 3, accept_truncated=True)
    assert outcome(converted) == (b"ABC", NORMAL, ASCII, mq.MQRC_TRUNCATED_MSG_ACCEPTED)


@pytest.mark.parametrize("length", [0, 3, 4, 7, 8, 12, 30, 60, 108, 111, 116, 124, 171])
def test_a_cut_header_is_converted_as_far_as_it_goes(length: int) -> None:
    body = dead_letter_header(NORMAL, EBCDIC, (NORMAL, EBCDIC, "MQSTR")) + b"\xc1" * 100
    expected = dead_letter_header(REVERSED, ASCII, (NORMAL, EBCDIC, "MQSTR"))
    converted = convert(
        mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, EBCDIC), (REVERSED, ASCII), length, accept_truncated=True
    )
    assert converted.reason == mq.MQRC_TRUNCATED_MSG_ACCEPTED
    assert expected.startswith(converted.body)
    assert length - len(converted.body) < 8


def test_a_whole_header_before_a_cut_string() -> None:
    body = dead_letter_header(NORMAL, EBCDIC, (NORMAL, EBCDIC, "MQSTR")) + b"\xc1" * 100
    expected = dead_letter_header(REVERSED, ASCII, (REVERSED, ASCII, "MQSTR")) + b"A" * 28
    converted = convert(mq.MQFMT_DEAD_LETTER_HEADER, body, (NORMAL, EBCDIC), (REVERSED, ASCII), 200, True)
    assert outcome(converted) == (expected, REVERSED, ASCII, mq.MQRC_TRUNCATED_MSG_ACCEPTED)
