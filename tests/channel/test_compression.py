"""Compression of channel messages: round trips, and bounds on data from a hostile partner."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.channel.compression import METHODS, choose, compress, compress_if_smaller, expand
from ostler.model import constants as mq
from ostler.wire.frames import MalformedFrame

REAL = [word for word in METHODS if word not in ("ANY", "NONE")]
repetitive = st.lists(st.tuples(st.binary(max_size=20), st.integers(1, 400))).map(
    lambda pieces: b"".join(piece * count for piece, count in pieces)
)
anything = st.one_of(st.binary(max_size=3000), repetitive)


@pytest.mark.parametrize("word", [*REAL, "NONE"])
@given(data=anything)
def test_what_goes_in_comes_out(word: str, data: bytes) -> None:
    made = compress(METHODS[word], data)
    assert expand(METHODS[word], made, len(data)) == data


@pytest.mark.parametrize("word", [*REAL, "NONE"])
@given(data=anything.filter(bool))
def test_one_byte_more_than_allowed_is_refused(word: str, data: bytes) -> None:
    made = compress(METHODS[word], data)
    with pytest.raises(MalformedFrame):
        expand(METHODS[word], made, len(data) - 1)


@pytest.mark.parametrize("word", REAL)
@given(data=st.binary(max_size=200), bytes_max=st.integers(0, 300))
def test_made_up_data_is_expanded_within_bounds_or_refused(word: str, data: bytes, bytes_max: int) -> None:
    try:
        expanded = expand(METHODS[word], data, bytes_max)
    except MalformedFrame:
        return
    assert len(expanded) <= bytes_max


@pytest.mark.parametrize("word", REAL)
@given(data=repetitive, at=st.integers(0, 5000), byte=st.integers(0, 255))
def test_damaged_data_is_expanded_within_bounds_or_refused(word: str, data: bytes, at: int, byte: int) -> None:
    made = bytearray(compress(METHODS[word], data))
    if made:
        made[at % len(made)] = byte
    try:
        expanded = expand(METHODS[word], bytes(made), 2 * len(data))
    except MalformedFrame:
        return
    assert len(expanded) <= 2 * len(data)


@pytest.mark.parametrize("word", REAL)
def test_data_that_is_cut_off_is_refused(word: str) -> None:
    data = bytes(range(256)) * 4 + bytes(1000) + b"end"
    made = compress(METHODS[word], data)
    for length in range(len(made)):
        try:
            expanded = expand(METHODS[word], made[:length], len(data))
        except MalformedFrame:
            continue
        # Run-length encoding does not know where its data ends; the frame does.
        assert word in ("RLE", "SYSTEM")
        assert data.startswith(expanded)


@pytest.mark.parametrize("word", [word for word in REAL if word not in ("RLE", "SYSTEM")])
def test_bytes_behind_the_end_are_refused(word: str) -> None:
    made = compress(METHODS[word], b"abc" * 100)
    with pytest.raises(MalformedFrame):
        expand(METHODS[word], made + b"\0\0\0", 1000)


@pytest.mark.parametrize(
    ("word", "bomb"),
    [
        ("RLE", b"\0" + b"\xff" * 4 + b"\x0f" + b"x"),
        ("RLE", (b"\0" + b"\xff\xff\x7f" + b"x") * 1000),
        ("ZLIBFAST", zlib.compress(bytes(200_000_000), 9)),
        ("LZ4FAST", b"\xff\xff\xff\x7f" + b"\x1f\0\1\0" + b"\xff" * 1000),
        ("LZ4FAST", b"\xff\xff\x0f\0" + b"\x1f\0\1\0"),
    ],
)
def test_a_bomb_takes_no_more_memory_than_allowed(word: str, bomb: bytes) -> None:
    allowed = 4_000_000
    tracemalloc.start()
    try:
        with pytest.raises(MalformedFrame):
            expand(METHODS[word], bomb, allowed)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * allowed


def test_no_memory_is_taken_for_what_cannot_be_there() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(MalformedFrame):
            expand(METHODS["LZ4FAST"], b"\xff\xff\xff\0" + bytes(1000), 1 << 30)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("data", [b"\x80" * 5 + b"\0", b"\xff" * 20, b"\x80", b"\x05abc", b"\0\x05"])
def test_lengths_without_an_end(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        expand(METHODS["RLE"], data, 1000)


@pytest.mark.parametrize(
    ("data", "pieces"),
    [
        (b"", b""),
        (b"abc", b"\3abc"),
        (b"a" * 7, b"\7" + b"a" * 7),
        (b"a" * 8, b"\0\x08a"),
        (bytes(9), b"\0\x09\0"),
        (b"x" + bytes(7), b"\x08x" + bytes(7)),
        (b"ab" + b"c" * 200 + b"d" * 8 + b"e", b"\2ab\xc8\1c\0\x08d\1e"),
        (b"a" * 40_000, b"\0\xc0\xb8\2a"),
        (b"ab" * 16_382 + b"c" * 8 + b"d", b"\xfc\xff\1" + b"ab" * 16_382 + b"\x08c\1d"),
    ],
)
def test_runs_of_eight_and_more_are_found(data: bytes, pieces: bytes) -> None:
    assert compress(METHODS["RLE"], data) == pieces


@pytest.mark.parametrize("word", REAL)
def test_what_repeats_becomes_smaller(word: str) -> None:
    data = b"header".ljust(500) + bytes(2000)
    made = compress_if_smaller(METHODS[word], data)
    assert made is not None
    assert len(made) < len(data) // 10
    assert expand(METHODS[word], made, len(data)) == data


def test_what_does_not_become_smaller_is_sent_as_it_is() -> None:
    noise = b"".join(zlib.crc32(bytes([number])).to_bytes(4, "little") for number in range(256))
    for word in REAL:
        assert compress_if_smaller(METHODS[word], noise) is None
        assert compress_if_smaller(METHODS[word], bytes(20)) is None
    assert compress_if_smaller(mq.MQCOMPRESS_NONE, bytes(1000)) is None


def test_high_is_no_worse_than_fast() -> None:
    data = b" ".join(str(number * number).encode() for number in range(3000))
    for kind in ("ZLIB", "LZ4"):
        assert len(compress(METHODS[kind + "HIGH"], data)) < len(compress(METHODS[kind + "FAST"], data))


@pytest.mark.parametrize(
    ("wanted", "offered", "method"),
    [
        ((), (), mq.MQCOMPRESS_NONE),
        (("NONE",), ("RLE",), mq.MQCOMPRESS_NONE),
        (("ZLIBHIGH", "RLE"), ("RLE", "ZLIBHIGH"), mq.MQCOMPRESS_ZLIBHIGH),
        (("ZLIBHIGH", "RLE"), ("NONE", "RLE"), mq.MQCOMPRESS_RLE),
        (("ZLIBHIGH", "RLE"), ("LZ4FAST",), mq.MQCOMPRESS_NONE),
        (("LZ4HIGH", "RLE"), ("ANY",), mq.MQCOMPRESS_LZ4HIGH),
        (("ANY",), ("ZLIBFAST",), mq.MQCOMPRESS_ZLIBFAST),
        (("ANY",), ("ANY",), mq.MQCOMPRESS_LZ4FAST),
        (("ANY",), ("NONE",), mq.MQCOMPRESS_NONE),
        (("NONE", "RLE"), ("NONE", "RLE"), mq.MQCOMPRESS_NONE),
        (("SYSTEM",), ("SYSTEM", "NONE"), mq.MQCOMPRESS_SYSTEM),
        (("FUTURE", "RLE"), ("ANY",), mq.MQCOMPRESS_RLE),
    ],
)
def test_the_first_wanted_that_is_offered_is_chosen(
    wanted: tuple[str, ...], offered: tuple[str, ...], method: int
) -> None:
    assert choose(wanted, offered) == method


@pytest.mark.parametrize("method", [3, 64, -1, mq.MQCOMPRESS_ANY])
def test_methods_there_are_not(method: int) -> None:
    with pytest.raises(ValueError, match="no compression method"):
        compress(method, b"data")
    with pytest.raises(MalformedFrame):
        expand(method, b"data", 100)
