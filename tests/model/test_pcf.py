"""PCF: the layouts byte for byte, round trips, and nothing but ValueError for whatever else comes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model import constants as mq
from ostler.model.pcf import (
    GROUP_DEPTH_MAX,
    ByteString,
    ByteStringFilter,
    Group,
    Header,
    Integer,
    Integer64,
    Integer64List,
    IntegerFilter,
    IntegerList,
    Parameter,
    PcfError,
    String,
    StringFilter,
    StringList,
    decode,
    encode,
)

COMMAND = Header(mq.MQCFT_COMMAND, mq.MQCMD_INQUIRE_Q)


def integers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


LAYOUTS = [
    (Integer(7, -5), integers(3, 16, 7, -5)),
    (String(7, "ABCDE"), integers(4, 28, 7, 0, 5) + b"ABCDE\0\0\0"),
    (String(7, "A", 819), integers(4, 24, 7, 819, 1) + b"A\0\0\0"),
    (String(7, ""), integers(4, 20, 7, 0, 0)),
    (IntegerList(7, (1, -1)), integers(5, 24, 7, 2, 1, -1)),
    (StringList(7, ("AB", "C")), integers(6, 28, 7, 0, 2, 2) + b"ABC "),
    (ByteString(7, b"\1\2\3"), integers(9, 20, 7, 3) + b"\1\2\3\0"),
    (IntegerFilter(7, mq.MQCFOP_GREATER, 10), integers(13, 20, 7, 4, 10)),
    (StringFilter(7, mq.MQCFOP_LIKE, "A*"), integers(14, 28, 7, 18, 0, 2) + b"A*\0\0"),
    (ByteStringFilter(7, mq.MQCFOP_EQUAL, b"\xff"), integers(15, 24, 7, 2, 1) + b"\xff\0\0\0"),
    (Group(7, (Integer(8, 9),)), integers(20, 16, 7, 1) + integers(3, 16, 8, 9)),
    (Integer64(7, -(2**40)), integers(23, 24, 7, 0) + struct.pack("<q", -(2**40))),
    (Integer64List(7, (2**40,)), integers(25, 24, 7, 1) + struct.pack("<q", 2**40)),
]


@pytest.mark.parametrize(("parameter", "layout"), LAYOUTS, ids=[type(item).__name__ for item, _ in LAYOUTS])
def test_parameter_has_the_layout_of_its_structure(parameter: Parameter, layout: bytes) -> None:
    message = encode(COMMAND, [parameter])
    assert message[mq.MQCFH_STRUC_LENGTH :] == layout
    assert decode(message).parameters == (parameter,)


def test_header_has_the_layout_of_mqcfh() -> None:
    header = Header(mq.MQCFT_RESPONSE, mq.MQCMD_INQUIRE_Q, 2, 3065, 2, 4, mq.MQCFC_NOT_LAST)
    message = encode(header, [Integer(1, 2), Integer(3, 4)])
    assert message[:36] == integers(2, 36, 2, mq.MQCMD_INQUIRE_Q, 4, 0, 2, 3065, 2)
    assert decode(message).header == header


def test_big_endian_is_the_same_numbers_the_other_way_round() -> None:
    message = encode(COMMAND, [Integer(7, 5), Integer64(8, 2**33)], big_endian=True)
    assert message[36:52] == struct.pack(">4i", 3, 16, 7, 5)
    assert decode(message, big_endian=True).parameters == (Integer(7, 5), Integer64(8, 2**33))


def test_text_is_read_in_its_own_code_page_or_that_of_the_message() -> None:
    message = encode(COMMAND, [String(1, "Zürich"), String(2, "Zürich", 500)], ccsid=819)
    assert [item.value for item in decode(message, ccsid=819).parameters if isinstance(item, String)] == ["Zürich"] * 2
    with pytest.raises(PcfError):
        decode(message, ccsid=1208)


def test_blanks_and_nulls_at_the_end_of_text_are_padding() -> None:
    message = encode(COMMAND, [String(1, "A.QUEUE".ljust(48)), String(2, "B\0\0")])
    assert decode(message).parameters == (String(1, "A.QUEUE"), String(2, "B"))


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12).map(lambda text: text.rstrip(" "))
longs = st.integers(-(2**31), 2**31 - 1)
wide = st.integers(-(2**63), 2**63 - 1)
ccsids = st.sampled_from([0, 1208])
plain = st.one_of(
    st.builds(Integer, longs, longs),
    st.builds(Integer64, longs, wide),
    st.builds(IntegerList, longs, st.lists(longs, max_size=5).map(tuple)),
    st.builds(Integer64List, longs, st.lists(wide, max_size=5).map(tuple)),
    st.builds(String, longs, words, ccsids),
    st.builds(StringList, longs, st.lists(words, max_size=4).map(tuple), ccsids),
    st.builds(ByteString, longs, st.binary(max_size=9)),
    st.builds(IntegerFilter, longs, longs, longs),
    st.builds(StringFilter, longs, longs, words, ccsids),
    st.builds(ByteStringFilter, longs, longs, st.binary(max_size=9)),
)
parameters = st.recursive(
    plain, lambda inner: st.builds(Group, longs, st.lists(inner, max_size=3).map(tuple)), max_leaves=8
)
headers = st.builds(
    Header,
    type=st.sampled_from([mq.MQCFT_COMMAND, mq.MQCFT_RESPONSE, mq.MQCFT_EVENT]),
    command=longs,
    completion=longs,
    reason=longs,
    version=st.integers(1, 3),
    sequence_number=st.integers(1, 2**31 - 1),
    control=st.sampled_from([mq.MQCFC_LAST, mq.MQCFC_NOT_LAST]),
)


@given(headers, st.lists(parameters, max_size=5), st.booleans())
def test_what_is_encoded_is_decoded(header: Header, items: list[Parameter], big_endian: bool) -> None:
    message = encode(header, items, big_endian=big_endian)
    assert len(message) % 4 == 0
    found = decode(message, big_endian=big_endian)
    assert found.header == header
    assert list(found.parameters) == items


@given(st.lists(parameters, min_size=1, max_size=4), st.data())
def test_a_damaged_message_is_refused_or_read_as_another(items: list[Parameter], data: st.DataObject) -> None:
    message = bytearray(encode(COMMAND, items))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(message) - 1))
        message[at] = data.draw(st.integers(0, 255))
    try:
        found = decode(bytes(message))
    except ValueError:
        return
    assert decode(encode(found.header, found.parameters)) == found


@given(st.lists(parameters, min_size=1, max_size=4), st.data())
def test_a_cut_message_is_refused(items: list[Parameter], data: st.DataObject) -> None:
    message = encode(COMMAND, items)
    end = data.draw(st.integers(0, len(message) - 1))
    with pytest.raises(PcfError):
        decode(message[:end])


@given(st.binary(max_size=200))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(PcfError):
        decode(noise)


def damaged(parameter: Parameter, *changes: tuple[int, int]) -> bytes:
    """A message of one parameter with some of its integers changed."""
    message = bytearray(encode(COMMAND, [parameter]))
    for at, value in changes:
        struct.pack_into("<i", message, 36 + at, value)
    return bytes(message)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", mq.MQRCCF_MSG_LENGTH_ERROR),
        (integers(1, 35, 1, 1, 1, 1, 0, 0, 0), mq.MQRCCF_CFH_LENGTH_ERROR),
        (integers(3, 36, 1, 1, 1, 1, 0, 0, 0), mq.MQRCCF_CFH_TYPE_ERROR),
        (integers(1, 36, 4, 1, 1, 1, 0, 0, 0), mq.MQRCCF_CFH_VERSION_ERROR),
        (integers(1, 36, 1, 1, 0, 1, 0, 0, 0), mq.MQRCCF_CFH_MSG_SEQ_NUMBER_ERR),
        (integers(1, 36, 1, 1, 1, 2, 0, 0, 0), mq.MQRCCF_CFH_CONTROL_ERROR),
        (integers(1, 36, 1, 1, 1, 1, 0, 0, -1), mq.MQRCCF_CFH_PARM_COUNT_ERROR),
        (integers(1, 36, 1, 1, 1, 1, 0, 0, 2**31 - 1), mq.MQRCCF_CFH_PARM_COUNT_ERROR),
        (encode(COMMAND, [Integer(1, 2)]) + b"more", mq.MQRCCF_MSG_LENGTH_ERROR),
        (damaged(Integer(1, 2), (0, 99)), mq.MQRCCF_STRUCTURE_TYPE_ERROR),
        (damaged(Integer(1, 2), (4, 0)), mq.MQRCCF_CFIN_LENGTH_ERROR),
        (damaged(Integer(1, 2), (4, 2**31 - 1)), mq.MQRCCF_CFIN_LENGTH_ERROR),
        (damaged(String(1, "ABCD"), (16, -1)), mq.MQRCCF_CFST_STRING_LENGTH_ERR),
        (damaged(String(1, "ABCD"), (16, 5)), mq.MQRCCF_CFST_STRING_LENGTH_ERR),
        (damaged(String(1, "ABCD"), (12, 4711)), mq.MQRCCF_CCSID_ERROR),
        (damaged(IntegerList(1, (2,)), (12, -1)), mq.MQRCCF_CFIL_COUNT_ERROR),
        (damaged(IntegerList(1, (2,)), (12, 2**30)), mq.MQRCCF_CFIL_LENGTH_ERROR),
        (damaged(StringList(1, ("A",)), (16, -1)), mq.MQRCCF_CFSL_COUNT_ERROR),
        (damaged(StringList(1, ("A",)), (16, 2**30), (20, 0)), mq.MQRCCF_CFSL_STRING_LENGTH_ERR),
        (damaged(StringList(1, ("A",)), (16, 2**30)), mq.MQRCCF_CFSL_TOTAL_LENGTH_ERROR),
        (damaged(ByteString(1, b"A"), (12, 2**30)), mq.MQRCCF_CFBS_STRING_LENGTH_ERR),
        (damaged(IntegerFilter(1, 2, 3), (4, 16)), mq.MQRCCF_CFIF_LENGTH_ERROR),
        (damaged(StringFilter(1, 2, "A"), (20, 2**30)), mq.MQRCCF_CFSF_FILTER_VAL_LEN_ERR),
        (damaged(ByteStringFilter(1, 2, b"A"), (16, 2**30)), mq.MQRCCF_CFBF_FILTER_VAL_LEN_ERR),
        (damaged(Group(1, (Integer(1, 2),)), (12, 2**30)), mq.MQRCCF_CFGR_PARM_COUNT_ERROR),
        (damaged(Group(1, (Integer(1, 2),)), (4, 20)), mq.MQRCCF_CFGR_LENGTH_ERROR),
    ],
)
def test_refusal_has_the_reason_of_the_command_server(message: bytes, reason: int) -> None:
    with pytest.raises(PcfError) as caught:
        decode(message)
    assert caught.value.reason == reason


def nested(depth: int) -> Parameter:
    item: Parameter = Integer(1, 2)
    for _ in range(depth):
        item = Group(3, (item,))
    return item


def test_groups_nest_to_a_limit() -> None:
    assert decode(encode(COMMAND, [nested(GROUP_DEPTH_MAX)])).parameters == (nested(GROUP_DEPTH_MAX),)
    with pytest.raises(PcfError):
        decode(encode(COMMAND, [nested(GROUP_DEPTH_MAX + 1)]))


@pytest.mark.parametrize(
    "item", [Integer(1, 2**31), Integer64(1, 2**63), IntegerList(1, (-(2**31) - 1,)), String(1, "\ud800")]
)
def test_values_that_do_not_fit_are_not_encoded(item: Parameter) -> None:
    with pytest.raises(ValueError, match=r"out of range|surrogates"):
        encode(COMMAND, [item])
