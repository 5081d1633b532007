"""The busiest frames at their fixed offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import read_i32_le

from ostler.wire import frames as wire
from ostler.wire import put_get_frames, replies
from ostler.wire.frames import FrameReader, MalformedFrame

NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)
MD = bytes(range(182)) * 2


def only(data: bytes) -> tuple[int, int, int, bytes]:
    """The one frame that the bytes are."""
    reader = FrameReader(1 << 20)
    reader.feed(data)
    assert reader.next()
    found = (int(reader.type), int(reader.conversation), int(reader.request), data[reader.start : reader.end])
    assert not reader.next()
    assert reader.pending_bytes() == 0
    return found


def number(data: bytes, at: int) -> int:
    return int(read_i32_le(data, at))


@given(NUMBERS, NUMBERS, NUMBERS, st.binary(max_size=50), st.binary(max_size=50))
def test_put(hobj: int, options: int, context: int, block: bytes, body: bytes) -> None:
    payload = put_get_frames.put_payload(hobj, options, context, MD, block, body)
    assert only(put_get_frames.put_frame(7, 8, hobj, options, context, MD, block, body)) == (wire.PUT, 7, 8, payload)
    assert number(payload, put_get_frames.PUT_HOBJ) == hobj
    assert number(payload, put_get_frames.PUT_OPTIONS) == options
    assert number(payload, put_get_frames.PUT_CONTEXT) == context
    assert number(payload, put_get_frames.PUT_BLOCK_BYTES) == len(block)
    assert payload[put_get_frames.PUT_MD : put_get_frames.PUT_FIXED_BYTES] == MD
    assert payload[put_get_frames.PUT_FIXED_BYTES :] == block + body


def test_put_reply() -> None:
    type, conversation, request, payload = only(put_get_frames.put_reply_frame(3, 4, 1, 2049, MD))
    assert (type, conversation, request) == (wire.PUT | wire.REPLY, 3, 4)
    assert (number(payload, 0), number(payload, 4), payload[8:]) == (1, 2049, MD)


@given(st.lists(NUMBERS, min_size=10, max_size=10), st.binary(max_size=30))
def test_get(numbers: list[int], selector: bytes) -> None:
    hobj, options, wait, match, length, encoding, ccsid, flags, sequence, offset = numbers
    ids = [bytes([each]) * 24 for each in (1, 2, 3)]
    token = b"t" * 16
    one, two, three = ids
    payload = put_get_frames.get_payload(
        hobj, options, wait, match, length, encoding, ccsid, flags, one, two, three, sequence, offset, token, selector
    )
    assert only(put_get_frames.get_frame(7, 8, payload)) == (wire.GET, 7, 8, payload)
    at = [
        put_get_frames.GET_HOBJ,
        put_get_frames.GET_OPTIONS,
        put_get_frames.GET_WAIT,
        put_get_frames.GET_MATCH,
        put_get_frames.GET_LENGTH,
        put_get_frames.GET_ENCODING,
    ]
    at += [put_get_frames.GET_CCSID, put_get_frames.GET_FLAGS, put_get_frames.GET_SEQUENCE, put_get_frames.GET_OFFSET]
    assert [number(payload, each) for each in at] == numbers
    assert payload[put_get_frames.GET_MESSAGE_ID : put_get_frames.GET_SEQUENCE] == b"".join(ids)
    assert payload[put_get_frames.GET_TOKEN : put_get_frames.GET_TOKEN + 16] == token
    assert payload[put_get_frames.GET_FIXED_BYTES :] == selector
    assert put_get_frames.check_get(payload, 0, len(payload)) == len(payload)
    assert put_get_frames.check_get(b"xx" + payload + b"yy", 2, len(payload) + 4) == len(payload)


def get_with(selector: bytes) -> bytes:
    ids = bytes(24)
    return put_get_frames.get_payload(2, 0, 0, 0, 0, 0, 0, 0, ids, ids, ids, 1, 0, bytes(16), selector)


def test_a_get_that_is_cut_off() -> None:
    whole = get_with(b"colour = 'red'")
    for size in range(len(whole)):
        with pytest.raises(MalformedFrame):
            put_get_frames.check_get(whole[:size], 0, size)


@pytest.mark.parametrize("length", [-1, put_get_frames.SELECTOR_BYTES_MAX + 1, 0x7FFFFFFF, 15])
def test_a_selector_of_a_wrong_length(length: int) -> None:
    whole = get_with(b"14 characters.")
    at = put_get_frames.GET_SELECTOR_BYTES
    wrong = whole[:at] + length.to_bytes(4, "little", signed=True) + whole[at + 4 :]
    with pytest.raises(MalformedFrame, match="selector"):
        put_get_frames.check_get(wrong, 0, len(wrong))


@given(st.integers(0, 2), st.binary(max_size=20), st.binary(max_size=20))
def test_get_reply(completion: int, block: bytes, body: bytes) -> None:
    token = b"T" * 16
    data = put_get_frames.get_reply_frame(
        wire.MESSAGE, 5, 6, completion, 2079, 1234, ord("L"), ord("S"), ord("A"), token, block, MD, body
    )
    head = put_get_frames.get_reply_head(completion, 2079, 1234, ord("L"), ord("S"), ord("A"), token, block, MD)
    assert only(data) == (wire.MESSAGE, 5, 6, head + body)
    assert (number(head, 0), number(head, 4), number(head, put_get_frames.GOT_DATA_BYTES)) == (completion, 2079, 1234)
    assert head[put_get_frames.GOT_STATUS : put_get_frames.GOT_STATUS + 4] == b"LSA "
    assert head[put_get_frames.GOT_TOKEN : put_get_frames.GOT_TOKEN + 16] == token
    assert number(head, put_get_frames.GOT_BLOCK_BYTES) == len(block)
    assert head[put_get_frames.GOT_MD : put_get_frames.GOT_FIXED_BYTES] == MD
    assert head[put_get_frames.GOT_FIXED_BYTES :] == block


def test_plain_and_failing_replies() -> None:
    assert only(replies.reply_frame(wire.COMMIT, 1, 2, 2, 2003)) == (
        wire.COMMIT | wire.REPLY,
        1,
        2,
        bytes.fromhex("02000000 d3070000"),
    )
    *_, payload = only(replies.failure_frame(wire.OPEN, 1, 2, 2, 2085, "no such queue"))
    assert payload == bytes.fromhex("02000000 25080000") + b"no such queue"
    *_, long = only(replies.failure_frame(wire.OPEN, 1, 2, 2, 2085, "x" * 10_000))
    assert len(long) == 8 + 512
