"""Payloads field by field: every read is checked against the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.wire.frames import MalformedFrame
from ostler.wire.payload_codec import PayloadReader, PayloadWriter

NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)


@given(NUMBERS, st.lists(NUMBERS, max_size=20), st.binary(max_size=40), st.text(max_size=40), st.binary(max_size=9))
def test_what_was_written_is_read(number: int, several: list[int], fixed: bytes, text: str, rest: bytes) -> None:
    writer = PayloadWriter()
    writer.integer(number)
    writer.integers(several)
    writer.fixed(fixed)
    writer.text(text)
    writer.name("QM1", 48)
    writer.fixed(rest)
    reader = PayloadReader(b"before" + writer.getvalue() + b"behind", 6, 6 + len(writer.getvalue()))
    assert reader.integer() == number
    assert reader.integers(20) == several
    assert reader.fixed(len(fixed)) == fixed
    assert reader.text() == text
    assert reader.name(48) == "QM1"
    assert reader.rest() == rest
    reader.check_end()


@given(st.lists(NUMBERS, min_size=1, max_size=5), st.text(min_size=1, max_size=5), st.data())
def test_what_ends_too_soon_is_refused(several: list[int], text: str, data: st.DataObject) -> None:
    writer = PayloadWriter()
    writer.integers(several)
    writer.text(text)
    whole = writer.getvalue()
    cut = data.draw(st.integers(0, len(whole) - 1))
    reader = PayloadReader(whole[:cut])
    with pytest.raises(MalformedFrame):  # noqa: PT012
        reader.integers(5)
        reader.text()
        reader.check_end()


@pytest.mark.parametrize("count", [-1, 11, 0x7FFFFFFF, -(1 << 31)])
def test_counts_that_cannot_be(count: int) -> None:
    writer = PayloadWriter()
    writer.integer(count)
    writer.fixed(bytes(100))
    with pytest.raises(MalformedFrame, match=f"announces {count} items"):
        PayloadReader(writer.getvalue()).integers(10)
    with pytest.raises(MalformedFrame):
        PayloadReader(writer.getvalue()).text(10)


def test_a_field_does_not_reach_behind_its_payload() -> None:
    reader = PayloadReader(b"0123456789", 2, 6)
    with pytest.raises(MalformedFrame):
        reader.fixed(5)
    with pytest.raises(MalformedFrame):
        reader.fixed(-1)
    assert reader.fixed(4) == b"2345"
    assert reader.rest() == b""


def test_bytes_behind_the_last_field_are_refused() -> None:
    reader = PayloadReader(bytes(6))
    reader.integer()
    with pytest.raises(MalformedFrame, match="2 bytes too many"):
        reader.check_end()


def test_text_has_to_be_utf_8() -> None:
    writer = PayloadWriter()
    writer.integer(2)
    writer.fixed(b"\xc3\x28")
    with pytest.raises(MalformedFrame, match="UTF-8"):
        PayloadReader(writer.getvalue()).text()


def test_names_are_padded_and_cut() -> None:
    writer = PayloadWriter()
    writer.name("short", 8)
    writer.name("much too long", 8)
    writer.name("\u20ac", 2)
    assert writer.getvalue() == b"short   much too? "
    assert PayloadReader(b"null\0\0\0\0").name(8) == "null"


def test_unsigned_numbers_keep_their_bits() -> None:
    writer = PayloadWriter()
    writer.integer(0xFFFFFFFF)
    writer.integers([0x80000000])
    assert writer.getvalue() == bytes.fromhex("ffffffff 01000000 00000080")
