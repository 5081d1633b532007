"""MQMDE: version 2 fields in front of the data, and back."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.engine.message.mqmde import extension, with_extension, without_extension
from ostler.model.constants import MQFMT_MD_EXTENSION, MQFMT_STRING, MQRC_MDE_ERROR
from ostler.model.errors import MQError
from ostler.model.structures.md import MQMD

GROUP = bytes(range(1, 25))


def grouped(format: bytes = MQFMT_STRING, sequence: int = 3, flags: int = 8) -> bytes:
    md = MQMD.default()
    for field, value in (("Format", format), ("GroupId", GROUP), ("MsgSeqNumber", sequence), ("MsgFlags", flags)):
        MQMD.patch(md, field, value)
    MQMD.patch(md, "CodedCharSetId", 1208)
    return bytes(md)


def version_1(md: bytes) -> bytes:
    return md[:4] + struct.pack("<i", 1) + md[8:324]


def test_the_bytes_of_an_extension() -> None:
    expected = struct.pack("<4s4i8si24s4i", b"MDE ", 2, 72, 546, 1208, MQFMT_STRING, 0, GROUP, 3, 0, 8, -1)
    assert extension(grouped()) == expected


def test_a_plain_message_needs_none() -> None:
    md = bytes(MQMD.default())
    assert with_extension(md, b"data", 1208) == (md, b"data")


@given(st.integers(1, 999), st.sampled_from([8, 24, 2, 6]), st.binary(max_size=50))
def test_there_and_back(sequence: int, flags: int, body: bytes) -> None:
    md = grouped(sequence=sequence, flags=flags)
    shown, data = with_extension(md, body, 1208)
    assert MQMD.read(bytearray(shown), "Format") == MQFMT_MD_EXTENSION
    assert len(data) == len(body) + 72
    assert without_extension(version_1(shown), data) == (md, body)


def test_a_version_1_message_without_extension() -> None:
    md = bytes(MQMD.default())
    assert without_extension(version_1(md), b"data") == (md, b"data")


@pytest.mark.parametrize(
    "body",
    [b"", b"MDE ", bytes(72), b"MDX " + extension(grouped())[4:], extension(grouped())[:71]],
    ids=["nothing", "short", "zeros", "other id", "cut"],
)
def test_what_is_no_extension(body: bytes) -> None:
    md = version_1(grouped(format=MQFMT_MD_EXTENSION))
    with pytest.raises(MQError) as refused:
        without_extension(md, body)
    assert refused.value.reason == MQRC_MDE_ERROR
