"""The frames of MQSUB: what is encoded is decoded again, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.wire.frames import MalformedFrame
from ostler.wire.object_frames import OpenReply
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.subscribe_frames import (
    TOPIC_BYTES_MAX,
    SubscribeArguments,
    SubscribeReply,
    decode_subscribe,
    decode_subscribe_reply,
)

NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)
TEXTS = st.text(max_size=40)


def asked() -> SubscribeArguments:
    made = SubscribeArguments(2)
    made.topic_string = "prices/fruit"
    made.name = "MINE"
    return made


def found() -> SubscribeReply:
    made = SubscribeReply()
    made.hsub, made.topic = 3, "prices/#"
    made.destination = OpenReply()
    made.destination.hobj = 4
    return made


@given(NUMBERS, NUMBERS, NUMBERS, TEXTS, TEXTS, TEXTS, TEXTS, st.binary(min_size=24, max_size=24))
def test_what_is_asked_comes_across(
    options: int, expiry: int, level: int, topic: str, name: str, data: str, selection: str, correlation_id: bytes
) -> None:
    made = SubscribeArguments(options)
    made.destination, made.expiry, made.level, made.priority = 7, expiry, level, -3
    made.topic_string, made.name, made.user_data, made.selection = topic, name, data, selection
    made.correlation_id, made.object_name, made.application_data = correlation_id, "TOPIC", "identity"
    read = decode_subscribe(PayloadReader(made.encode()))
    assert (read.options, read.destination, read.expiry, read.level, read.priority) == (options, 7, expiry, level, -3)
    assert (read.topic_string, read.name, read.user_data, read.selection) == (topic, name, data, selection)
    assert (read.correlation_id, read.object_name) == (correlation_id, "TOPIC")
    assert read.application_data == "identity"


@given(TEXTS, TEXTS, TEXTS)
def test_what_was_found_comes_across(topic: str, name: str, data: str) -> None:
    made = found()
    made.topic, made.name, made.user_data = topic, name, data
    read = decode_subscribe_reply(PayloadReader(made.encode()))
    assert (read.hsub, read.topic, read.name, read.user_data, read.destination.hobj) == (3, topic, name, data, 4)


@pytest.mark.parametrize(
    ("whole", "decode"),
    [
        (asked().encode(), lambda data: decode_subscribe(PayloadReader(data))),
        (found().encode(), lambda data: decode_subscribe_reply(PayloadReader(data))),
    ],
    ids=["asked", "found"],
)
def test_parts_and_excess_are_refused(whole: bytes, decode: Callable[[bytes], object]) -> None:
    decode(whole)
    for size in range(len(whole)):
        with pytest.raises(MalformedFrame):
            decode(whole[:size])
    with pytest.raises(MalformedFrame, match="1 bytes too many"):
        decode(whole + b"x")


@pytest.mark.parametrize("field", ["topic_string", "name", "user_data", "selection"])
def test_texts_have_limits(field: str) -> None:
    made = asked()
    setattr(made, field, "x" * TOPIC_BYTES_MAX)
    assert getattr(decode_subscribe(PayloadReader(made.encode())), field) == "x" * TOPIC_BYTES_MAX
    setattr(made, field, "x" * (TOPIC_BYTES_MAX + 1))
    with pytest.raises(MalformedFrame, match="announces 10241"):
        decode_subscribe(PayloadReader(made.encode()))


def test_texts_are_utf_8() -> None:
    data = asked().encode().replace(b"prices", b"\xff\xfe\xfd\xfc\xfb\xfa")
    with pytest.raises(MalformedFrame, match="UTF-8"):
        decode_subscribe(PayloadReader(data))
