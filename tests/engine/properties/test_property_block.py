"""The property block: round trip, fixed layout, and damage as an error."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostler.engine.properties.properties import Property, PropertySet
from ostler.engine.properties.property_block import decode_block, encode_block
from ostler.engine.properties.property_values import CONVERSIONS
from ostler.model import constants as mq
from ostler.model.errors import MQError

INT = mq.MQTYPE_INT32
TEXT = mq.MQTYPE_STRING

typed_values = st.one_of(
    st.tuples(st.just(mq.MQTYPE_NULL), st.none()),
    st.tuples(st.just(mq.MQTYPE_BOOLEAN), st.booleans()),
    st.tuples(st.just(mq.MQTYPE_BYTE_STRING), st.binary(max_size=20)),
    st.tuples(st.just(mq.MQTYPE_INT8), st.integers(-128, 127)),
    st.tuples(st.just(mq.MQTYPE_INT16), st.integers(-(2**15), 2**15 - 1)),
    st.tuples(st.just(mq.MQTYPE_INT32), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just(mq.MQTYPE_INT64), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(mq.MQTYPE_FLOAT32), st.floats(width=32, allow_nan=False)),
    st.tuples(st.just(mq.MQTYPE_FLOAT64), st.floats(allow_nan=False)),
    st.tuples(st.just(mq.MQTYPE_STRING), st.text(st.characters(exclude_categories=["Cs"]), max_size=20)),
)
property_names = st.sampled_from(["a", "b", "x.y", "x.z.w", "jms.Dst", "mq_usr.g.h", "größe", "mqps.Top"])


@st.composite
def property_sets(draw: st.DrawFn) -> PropertySet:
    properties = PropertySet()
    for name in draw(st.lists(property_names, max_size=6)):
        type, value = draw(typed_values)
        properties.set(
            name,
            type,
            value,
            mq.MQSMPO_APPEND_PROPERTY,
            context=draw(st.sampled_from([0, 1])),
            copy_options=draw(st.integers(0, 31)),
        )
    return properties


def described(properties: list[Property]) -> list[tuple[object, ...]]:
    return [
        (each.name, each.type, each.value, each.support, each.context, each.copy_options, each.type_text)
        for each in properties
    ]


@settings(deadline=None)
@given(property_sets())
def test_a_block_reads_back(properties: PropertySet) -> None:
    assert described(decode_block(encode_block(properties.properties))) == described(properties.properties)


def test_an_empty_set_has_an_empty_block() -> None:
    assert encode_block([]) == b""
    assert decode_block(b"") == []


def test_the_layout_of_a_block() -> None:
    block = encode_block([Property("colour", INT, 7, context=1), Property("x", TEXT, "y", type_text="d")])
    assert block == (
        b"\x01"
        b"\x06\x00colour\x40\x00\x16\x01\x01\x00\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00"
        b"\x01\x00x\x00\x04\x16\x00\x01\x00\x00\x00\x01d\x01\x00\x00\x00y"
    )
    assert described(decode_block(block))[1][6] == "d"
    with pytest.raises(MQError) as caught:
        decode_block(b"\x03" + block[1:])
    assert caught.value.reason == mq.MQRC_RFH_FORMAT_ERROR


# The block as such, its texts, the length of a value, its type.
DAMAGE = (
    0,
    mq.MQRC_RFH_FORMAT_ERROR,
    mq.MQRC_BUFFER_ERROR,
    mq.MQRC_BUFFER_LENGTH_ERROR,
    mq.MQRC_PROPERTY_TYPE_ERROR,
)


@settings(deadline=None)
@given(property_sets(), st.data())
def test_a_damaged_block_is_an_error_or_other_properties(properties: PropertySet, data: st.DataObject) -> None:
    block = bytearray(encode_block(properties.properties) or b"\x01")
    at = data.draw(st.integers(0, len(block) - 1))
    block[at] = data.draw(st.integers(0, 255))
    cut = bytes(block[: data.draw(st.integers(0, len(block)))])
    for damaged in (bytes(block), cut):
        reason = 0
        found: list[Property] = []
        try:
            found = decode_block(damaged)
        except MQError as error:
            reason = error.reason
        assert reason in DAMAGE
        assert all(each.type in CONVERSIONS for each in found)
