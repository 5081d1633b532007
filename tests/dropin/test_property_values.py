"""Values of properties become bytes and come back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ostler_dropin.property_values import Value, packed_value, unpacked_value

from ostler.model import constants as mqc

VALUES = st.one_of(
    st.tuples(st.just(mqc.MQTYPE_BOOLEAN), st.integers(0, 1)),
    st.tuples(st.just(mqc.MQTYPE_BYTE_STRING), st.binary(max_size=50)),
    st.tuples(st.just(mqc.MQTYPE_STRING), st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=50)),
    st.tuples(st.just(mqc.MQTYPE_NULL), st.none()),
    st.tuples(st.just(mqc.MQTYPE_FLOAT32), st.floats(width=32, allow_nan=False)),
    st.tuples(st.just(mqc.MQTYPE_FLOAT64), st.floats(allow_nan=False)),
    *(
        st.tuples(st.just(kind), st.integers(-(1 << bits - 1), (1 << bits - 1) - 1))
        for kind, bits in (
            (mqc.MQTYPE_INT8, 8),
            (mqc.MQTYPE_INT16, 16),
            (mqc.MQTYPE_INT32, 32),
            (mqc.MQTYPE_INT64, 64),
        )
    ),
)


@given(VALUES)
def test_values_come_back(typed: tuple[int, Value]) -> None:
    kind, value = typed
    assert unpacked_value(kind, packed_value(kind, value, mqc.MQVL_NULL_TERMINATED)) == value


@pytest.mark.parametrize(
    ("kind", "value", "length", "packed"),
    [
        (mqc.MQTYPE_STRING, "text\0behind", mqc.MQVL_NULL_TERMINATED, b"text"),
        (mqc.MQTYPE_STRING, "text", 2, b"te"),
        (mqc.MQTYPE_STRING, b"bytes", 9, b"bytes"),
        (mqc.MQTYPE_BYTE_STRING, b"a\0b", mqc.MQVL_NULL_TERMINATED, b"a\0b"),
        (mqc.MQTYPE_BYTE_STRING, b"abc", 1, b"a"),
        (mqc.MQTYPE_INT8, 300, 1, b"\x2c"),
        (mqc.MQTYPE_INT32, -1, 0, b"\xff\xff\xff\xff"),
        (mqc.MQTYPE_BOOLEAN, 7, 4, b"\1\0\0\0"),
        (mqc.MQTYPE_NULL, "anything", 5, b""),
        (4711, 5, 5, b""),
    ],
)
def test_lengths(kind: int, value: Value, length: int, packed: bytes) -> None:
    assert packed_value(kind, value, length) == packed


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (mqc.MQTYPE_INT32, "5"),
        (mqc.MQTYPE_INT64, 1.5),
        (mqc.MQTYPE_FLOAT64, "1.5"),
        (mqc.MQTYPE_BOOLEAN, "yes"),
        (mqc.MQTYPE_STRING, 5),
        (mqc.MQTYPE_BYTE_STRING, "text"),
    ],
)
def test_values_of_another_kind(kind: int, value: Value) -> None:
    with pytest.raises(TypeError):
        packed_value(kind, value, mqc.MQVL_NULL_TERMINATED)


def test_values_that_were_cut_short() -> None:
    assert unpacked_value(mqc.MQTYPE_STRING, "hé".encode()[:2]) == "h"
    assert unpacked_value(mqc.MQTYPE_INT32, b"\1\0") is None
    assert unpacked_value(mqc.MQTYPE_FLOAT64, b"") is None
    assert unpacked_value(mqc.MQTYPE_BOOLEAN, b"") is None
