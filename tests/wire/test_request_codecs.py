"""What sets a link up and works on objects: each payload comes back as it was, and a part of one never passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.wire import connect_frames, object_frames, payload_codec, put_get_frames, replies
from ostler.wire.connect_frames import ConnectArguments, ConnectReply, Hello
from ostler.wire.frames import MAGIC, MalformedFrame
from ostler.wire.object_frames import InquireArguments, OpenArguments, OpenReply, Put1Arguments, StatusReply
from ostler.wire.payload_codec import PayloadReader

NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)
NAMES = st.text(st.sampled_from("ABCDEFXYZ.%/_019"), max_size=48)
CHANNELS = st.text(st.sampled_from("ABCDEFXYZ.%/_019"), max_size=20)
TEXTS = st.text(max_size=30)
MD = bytes(range(182)) * 2


def same(one: object, other: object, names: list[str]) -> None:
    assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]


@given(st.integers(0, 1 << 16), st.lists(st.integers(0, 1 << 30), min_size=4, max_size=4), CHANNELS)
def test_hello(version: int, numbers: list[int], channel: str) -> None:
    hello = Hello(channel)
    hello.version = version
    hello.segment_bytes, hello.message_bytes_max, hello.heartbeat_seconds, hello.conversations_max = numbers
    names = ["version", "segment_bytes", "message_bytes_max", "heartbeat_seconds", "conversations_max", "channel"]
    same(connect_frames.decode_hello(hello.encode()), hello, names)
    plain = hello.encode()
    hello.key_reset_bytes = 40_000
    # Peers of an earlier version do not know the field.
    assert (hello.encode() == plain) == (version < connect_frames.KEY_RESET_VERSION)
    found = connect_frames.decode_hello(hello.encode())
    assert found.key_reset_bytes == (40_000 if version >= connect_frames.KEY_RESET_VERSION else 0)


def test_a_peer_of_another_kind() -> None:
    with pytest.raises(MalformedFrame, match="does not speak this protocol"):
        connect_frames.decode_hello(b"TSH " + Hello().encode()[len(MAGIC) :])


@pytest.mark.parametrize("at", [4, 8, 12, 16, 20])
def test_negative_wishes(at: int) -> None:
    whole = Hello().encode()
    with pytest.raises(MalformedFrame):
        connect_frames.decode_hello(whole[:at] + b"\xff\xff\xff\xff" + whole[at + 4 :])


@given(NUMBERS, NUMBERS, NAMES, TEXTS, TEXTS, TEXTS)
def test_connect(options: int, kind: int, manager: str, application: str, user: str, password: str) -> None:
    asked = ConnectArguments()
    asked.options, asked.application_type, asked.queue_manager = options, kind, manager
    asked.application, asked.user, asked.password = application, user, password
    asked.tag = b"T" * connect_frames.TAG_BYTES if options & connect_frames.TAG_OPTIONS else b""
    names = ["options", "application_type", "queue_manager", "application", "user", "password", "tag"]
    same(connect_frames.decode_connect(asked.encode()), asked, names)


@given(st.binary(min_size=24, max_size=24), NAMES, st.lists(NUMBERS, min_size=3, max_size=3), TEXTS)
def test_connected(connection_id: bytes, manager: str, numbers: list[int], user: str) -> None:
    told = ConnectReply()
    told.connection_id, told.queue_manager, told.user = connection_id, manager, user
    told.ccsid, told.message_bytes_max, told.handles_max = numbers
    names = ["connection_id", "queue_manager", "ccsid", "message_bytes_max", "handles_max", "user"]
    same(connect_frames.decode_connect_reply(PayloadReader(told.encode())), told, names)


OPEN_NAMES = ["object_type", "options", "name", "manager_name", "dynamic_name", "alternate_user", "selection"]
OPEN_NAMES += ["object_string"]


def opening(numbers: list[int], names: list[str], texts: list[str]) -> OpenArguments:
    asked = OpenArguments(numbers[0], names[0], numbers[1])
    asked.manager_name, asked.dynamic_name, asked.alternate_user = names[1], names[2], names[3][:12].rstrip()
    asked.selection, asked.object_string = texts
    return asked


OPENINGS = st.builds(
    opening,
    st.lists(NUMBERS, min_size=2, max_size=2),
    st.lists(NAMES, min_size=4, max_size=4),
    st.lists(TEXTS, min_size=2, max_size=2),
)


@given(OPENINGS)
def test_open(asked: OpenArguments) -> None:
    reader = PayloadReader(asked.encode())
    same(object_frames.read_open_arguments(reader), asked, OPEN_NAMES)
    reader.check_end()


@given(st.lists(NUMBERS, min_size=6, max_size=6), NAMES, NAMES, st.binary(min_size=96, max_size=96))
def test_opened(numbers: list[int], name: str, backout: str, resolved: bytes) -> None:
    found = OpenReply()
    found.hobj, found.flags, found.object_type = numbers[:3]
    found.default_persistence, found.default_priority, found.backout_threshold = numbers[3:]
    found.name, found.backout_queue, found.resolved_names = name, backout, resolved
    names = ["hobj", "flags", "object_type", "name", "resolved_names", "default_persistence", "default_priority"]
    names += ["backout_threshold", "backout_queue"]
    same(object_frames.decode_open_reply(PayloadReader(found.encode())), found, names)


@given(OPENINGS, NUMBERS, NUMBERS, st.binary(max_size=20), st.binary(max_size=20))
def test_put1(target: OpenArguments, options: int, context: int, block: bytes, body: bytes) -> None:
    asked = Put1Arguments(target, options, context, MD, block, body)
    data = asked.encode()
    found = object_frames.decode_put1(b"before" + data + b"behind", 6, 6 + len(data))
    same(found, asked, ["options", "context", "md", "block", "body"])
    same(found.target, target, OPEN_NAMES)


@given(NUMBERS, st.lists(NUMBERS, max_size=9), st.lists(NUMBERS, max_size=9), st.binary(max_size=30))
def test_inquiry(hobj: int, selectors: list[int], integers: list[int], characters: bytes) -> None:
    asked = InquireArguments(hobj, selectors, integers, characters)
    found = object_frames.decode_inquire(PayloadReader(asked.encode()))
    same(found, asked, ["hobj", "selectors", "integers", "characters"])


@given(st.lists(NUMBERS, min_size=6, max_size=6), NAMES)
def test_put_status(numbers: list[int], name: str) -> None:
    status = StatusReply()
    status.succeeded, status.warned, status.failed, status.completion, status.reason, status.object_type = numbers
    status.object_name = name
    names = ["succeeded", "warned", "failed", "completion", "reason", "object_type", "object_name"]
    same(object_frames.decode_status_reply(PayloadReader(status.encode())), status, names)


@given(NUMBERS, st.text(max_size=600))
def test_reasons_for_people(reason: int, text: str) -> None:
    payload = replies.reason_payload(reason, text)
    assert replies.decode_reason(PayloadReader(payload)) == (reason, text[:512])


@given(st.lists(NUMBERS, max_size=5))
def test_numbers(values: list[int]) -> None:
    reader = PayloadReader(payload_codec.numbers_payload(values))
    assert [int(reader.integer()) for _ in values] == values
    reader.check_end()


def test_get_any() -> None:
    payload = put_get_frames.get_any_payload(500, [b"one", b"other"])
    assert payload == bytes.fromhex("f4010000 02000000") + b"oneother"


def test_replies_begin_with_completion_and_reason() -> None:
    found = replies.decode_reply(bytes.fromhex("01000000 21080000") + b"rest")
    assert (found.completion, found.reason, found.reader.rest()) == (1, 2081, b"rest")
    with pytest.raises(MalformedFrame):
        replies.decode_reply(bytes(7))


def decode_open(data: bytes) -> object:
    reader = PayloadReader(data)
    found = object_frames.read_open_arguments(reader)
    reader.check_end()
    return found


WHOLE: list[tuple[str, bytes, Callable[[bytes], object]]] = [
    ("hello", Hello("A.CHANNEL").encode(), connect_frames.decode_hello),
    ("connect", ConnectArguments().encode(), connect_frames.decode_connect),
    ("connected", ConnectReply().encode(), lambda data: connect_frames.decode_connect_reply(PayloadReader(data))),
    ("open", OpenArguments(1, "A.QUEUE", 16).encode(), decode_open),
    ("opened", OpenReply().encode(), lambda data: object_frames.decode_open_reply(PayloadReader(data))),
    (
        "inquiry",
        InquireArguments(2, [3, 2016], [1], b"text").encode(),
        lambda data: object_frames.decode_inquire(PayloadReader(data)),
    ),
    ("status", StatusReply().encode(), lambda data: object_frames.decode_status_reply(PayloadReader(data))),
    ("opened 1", OpenReply().encode(1), lambda data: object_frames.decode_open_reply(PayloadReader(data), 1)),
    ("status 1", StatusReply().encode(1), lambda data: object_frames.decode_status_reply(PayloadReader(data), 1)),
]


@pytest.mark.parametrize(("name", "whole", "decode"), WHOLE, ids=[name for name, _, _ in WHOLE])
def test_parts_and_excess_are_refused(name: str, whole: bytes, decode: Callable[[bytes], object]) -> None:
    decode(whole)
    for size in range(len(whole)):
        with pytest.raises(MalformedFrame):
            decode(whole[:size])
    with pytest.raises(MalformedFrame, match="1 bytes too many"):
        decode(whole + b"x")


def test_a_put1_without_its_data_is_whole_and_one_without_more_is_not() -> None:
    whole = Put1Arguments(OpenArguments(1, "A.QUEUE", 16), 0, 0, MD, b"block", b"").encode()
    assert object_frames.decode_put1(whole, 0, len(whole)).body == b""
    for size in range(len(whole)):
        with pytest.raises(MalformedFrame):
            object_frames.decode_put1(whole, 0, size)


def test_too_many_attributes() -> None:
    asked = InquireArguments(2, [1] * (object_frames.ATTRIBUTES_MAX + 1), [], b"")
    with pytest.raises(MalformedFrame, match="announces 1025"):
        object_frames.decode_inquire(PayloadReader(asked.encode()))
