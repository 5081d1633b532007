"""Code pages: the tables against independent ones, and the contracts of the functions."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.engine.conversion.code_page_tables import DIFFERENCES
from ostler.engine.conversion.code_pages import (
    MalformedTextError,
    UnknownCodePageError,
    code_page,
    convert_text,
    cut_text,
    decode,
    encode,
    holds_names,
    is_known,
    known_ccsids,
    whole_characters,
)

NORMAL = 0x111
REVERSED = 0x222
NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%/ "
SINGLE_BYTE = [ccsid for ccsid in known_ccsids() if holds_names(ccsid) and code_page(ccsid).single_byte]
# fmt: off
ASKED_FOR = [
    37, 273, 277, 278, 280, 284, 285, 297, 437, 500, 813, 819, 838, 850, 852, 855, 857, 858, 860, 861, 862, 863, 864,
    865, 866, 869, 870, 871, 875, 912, 913, 914, 915, 916, 920, 923, 932, 936, 943, 949, 950, 954, 970, 1026, 1047,
    1140, 1141, 1142, 1143, 1144, 1145, 1146, 1147, 1148, 1149, 1200, 1202, 1208, 1250, 1251, 1252, 1253, 1254, 1255,
    1256, 1257, 1258, 1381, 1386, 1392, 5348, 5488, 13488, 17584,
]
# fmt: on

# glibc differs from IBM's own tables in these: (CCSID, byte).
GLIBC_DIFFERS = {(278, 0x71), (278, 0xE0), (285, 0xA1), (870, 0xB0), (871, 0x4A), (871, 0xC0)}


@pytest.mark.parametrize("ccsid", ASKED_FOR)
def test_a_page_that_programs_use_is_known(ccsid: int) -> None:
    assert is_known(ccsid)
    assert decode(encode(NAME_CHARACTERS, ccsid), ccsid) == NAME_CHARACTERS


@pytest.mark.parametrize("ccsid", SINGLE_BYTE)
def test_a_single_byte_page_has_each_byte_once(ccsid: int) -> None:
    everything = bytes(range(256))
    characters = decode(everything, ccsid)
    assert len(characters) == 256
    for byte in range(256):
        if characters[byte] != "\ufffd":
            back = encode(characters[byte], ccsid)
            # Thai pages have a few characters twice.
            assert decode(back, ccsid) == characters[byte]
            assert back == bytes([byte]) or ccsid in (838, 874, 1160)


def reference_text(command: list[str], defined: bytes) -> str:
    done = subprocess.run(command, input=defined, capture_output=True, check=True, timeout=60)
    return done.stdout.decode("utf_16_be")


@pytest.mark.skipif(shutil.which("iconv") is None, reason="iconv is not installed")
@pytest.mark.parametrize("ccsid", sorted(DIFFERENCES))
def test_a_carried_table_agrees_with_iconv(ccsid: int) -> None:
    if ccsid in (838, 874):
        pytest.skip("iconv has no such page, or another one by this number")
    table = code_page(ccsid).table
    defined = bytes(byte for byte in range(256) if table[byte] != "\ufffe" and (ccsid, byte) not in GLIBC_DIFFERS)
    found = reference_text(["iconv", "-f", f"IBM{ccsid}", "-t", "UTF-16BE"], defined)
    assert found == "".join(table[byte] for byte in defined)


@pytest.mark.skipif(shutil.which("uconv") is None, reason="uconv is not installed")
@pytest.mark.parametrize("ccsid", sorted(DIFFERENCES))
def test_a_carried_table_agrees_with_icu(ccsid: int) -> None:
    table = code_page(ccsid).table
    # ICU has three control characters of PC pages, and one letter of the Turkish page, at other bytes.
    moved = {0x1A, 0x1C, 0x7F} if ccsid == 874 else {0x9A} if ccsid == 1155 else set()
    defined = bytes(byte for byte in range(256) if table[byte] != "\ufffe" and byte not in moved)
    found = reference_text(["uconv", "-f", f"ibm-{ccsid}", "-t", "UTF-16BE"], defined)
    assert found == "".join(table[byte] for byte in defined)


def test_known_bytes_of_1047() -> None:
    assert encode("[]^{}\\", 1047) == bytes.fromhex("adbd5fc0d0e0")
    assert encode("[]^{}\\", 37) == bytes.fromhex("babbb0c0d0e0")


@pytest.mark.parametrize(("ccsid", "byte"), [(1140, 0x9F), (1142, 0x5A), (1148, 0x9F), (858, 0xD5), (923, 0xA4)])
def test_the_euro_sign_has_its_place(ccsid: int, byte: int) -> None:
    assert encode("\u20ac", ccsid) == bytes([byte])


@given(st.text(max_size=40), st.sampled_from([1208, 1200, 13488, 17584, 1201, 1202, 1392, 5488]))
def test_unicode_pages_keep_every_character(characters: str, ccsid: int) -> None:
    characters = "".join(c for c in characters if not 0xD800 <= ord(c) < 0xE000)
    data, substituted = convert_text(characters.encode(), 1208, ccsid)
    assert not substituted
    assert convert_text(data, ccsid, 1208) == (characters.encode(), False)


@given(st.binary(max_size=60), st.sampled_from(SINGLE_BYTE), st.sampled_from(SINGLE_BYTE))
def test_the_fast_way_and_the_way_through_text_agree(data: bytes, source: int, target: int) -> None:
    converted, substituted = convert_text(data, source, target)
    characters = decode(data, source)
    if code_page(source).ebcdic and not code_page(target).ebcdic:
        characters = characters.replace("\x85", "\n")
    if source == target:
        assert (converted, substituted) == (data, False)
    else:
        assert converted == encode(characters, target)
        assert substituted == any(decode(encode(c, target), target) != c for c in characters)


def test_what_the_target_lacks_becomes_its_substitute_character() -> None:
    assert convert_text("a\u20acb".encode(), 1208, 37) == (b"\x81\x3f\x82", True)
    assert convert_text("a\u20acb".encode(), 1208, 819) == (b"a\x1ab", True)
    assert convert_text(b"\x9f", 1140, 819) == (b"\x1a", True)
    assert convert_text("a\u20acb".encode(), 1208, 932) == (b"a\x1ab", True)


def test_a_byte_without_a_character_is_substituted() -> None:
    assert convert_text(b"\xff", 813, 1208) == ("\ufffd".encode(), True)
    assert convert_text(b"\xff", 813, 850) == (b"\x1a", True)
    assert convert_text(b"\x81", 1252, 1208) == ("\x81".encode(), False)


def test_the_new_line_of_ebcdic_becomes_a_line_feed_elsewhere() -> None:
    assert convert_text(b"\x15\x25", 1047, 819) == (b"\n\n", False)
    assert convert_text(b"\x15\x25", 1047, 1208) == (b"\n\n", False)
    assert convert_text(b"\x15\x25", 1047, 37) == (b"\x15\x25", False)
    assert convert_text(b"\n\x85", 819, 1047) == (b"\x25\x15", False)


def test_the_encoding_decides_the_byte_order_of_utf_16() -> None:
    assert convert_text(b"A", 819, 1200) == (b"\0A", False)
    assert convert_text(b"A", 819, 1200, target_encoding=REVERSED) == (b"A\0", False)
    assert convert_text(b"A\0", 1200, 37, source_encoding=REVERSED) == (b"\xc1", False)
    assert convert_text(b"A\0", 1200, 1200, REVERSED, NORMAL) == (b"\0A", False)
    assert convert_text(b"A\0", 1202, 1208, source_encoding=NORMAL) == (b"A", False)


def test_an_unknown_page_is_named() -> None:
    for source, target in ((819, 12345), (12345, 819)):
        with pytest.raises(UnknownCodePageError) as caught:
            convert_text(b"x", source, target)
        assert caught.value.ccsid == 12345
    assert not is_known(12345)
    assert not is_known(-1)


@pytest.mark.parametrize(
    ("data", "ccsid", "offset"),
    [(b"ab\xff", 1208, 2), (b"\0A\0", 1200, 2), (b"a\x81", 943, 1), (b"\xd8\0\0A", 1200, 0)],
)
def test_bytes_that_are_no_text_are_refused_with_their_place(data: bytes, ccsid: int, offset: int) -> None:
    with pytest.raises(MalformedTextError) as caught:
        convert_text(data, ccsid, 819)
    assert (caught.value.ccsid, caught.value.offset) == (ccsid, offset)


@given(
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.integers(0, 60),
    st.sampled_from([1208, 1200, 1392, 819]),
    st.sampled_from([NORMAL, REVERSED]),
)
def test_a_cut_ends_with_a_whole_character(characters: str, length: int, ccsid: int, encoding: int) -> None:
    data = encode(characters, ccsid, encoding)
    cut = cut_text(data, ccsid, length, encoding)
    assert len(cut) <= length
    assert data.startswith(cut)
    assert len(cut) > min(len(data), length) - 4
    decode(cut, ccsid, encoding)


def test_only_a_cut_at_the_end_is_forgiven() -> None:
    assert whole_characters(b"abc\xe2\x82", 1208) == b"abc"
    assert whole_characters(b"\xff" + b"abcdef", 1208) == b"\xff" + b"abcdef"


def test_utf_16_cannot_hold_names() -> None:
    assert holds_names(1208)
    assert holds_names(500)
    assert not holds_names(1200)
    assert not holds_names(12345)
