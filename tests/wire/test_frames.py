"""Frames cut out of a stream of bytes, however the stream comes; and payloads in several segments."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.frames import FrameReader, MalformedFrame
from ostler.wire.segments import READY_FRAME, IncomingPayload, OutgoingPayload

LIMIT = 1 << 20
Frame = tuple[int, int, int, int, bytes]  # type, flags, conversation, request, payload

UNSIGNED = st.integers(0, 0xFFFFFFFF)
FRAMES = st.lists(
    st.tuples(st.integers(0, 255), st.integers(0, 1), UNSIGNED, UNSIGNED, st.binary(max_size=200)), max_size=8
)


def encoded(frames: list[Frame]) -> bytes:
    return b"".join(
        segments.segment(type, conversation, request, flags == wire.MORE, payload)
        for type, flags, conversation, request, payload in frames
    )


def taken(reader: FrameReader) -> list[Frame]:
    found = []
    while reader.next():
        payload = reader.buffer[reader.start : reader.end]
        found.append(
            (int(reader.type), int(reader.flags), int(reader.conversation), int(reader.request), payload),
        )
    return found


def read(pieces: list[bytes]) -> list[Frame]:
    reader = FrameReader(LIMIT)
    found = []
    for piece in pieces:
        reader.feed(piece)
        found += taken(reader)
    assert reader.pending_bytes() == len(reader.unread())
    return found


@given(FRAMES)
def test_frames_that_come_at_once(frames: list[Frame]) -> None:
    assert read([encoded(frames)]) == frames


@given(FRAMES)
def test_frames_that_come_byte_by_byte(frames: list[Frame]) -> None:
    data = encoded(frames)
    assert read([data[at : at + 1] for at in range(len(data))]) == frames


@given(FRAMES, st.data())
def test_frames_that_come_in_pieces_with_bytes_behind_them(frames: list[Frame], data: st.DataObject) -> None:
    behind = wire.frame(1, 2, 3, b"not all of this")
    cut = data.draw(st.integers(0, len(behind) - 1))
    stream = encoded(frames) + behind[:cut]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    reader = FrameReader(LIMIT)
    found = []
    for piece in pieces:
        if piece:
            reader.feed(piece)
            found += taken(reader)
    assert found == frames
    assert reader.unread() == behind[:cut]
    assert reader.pending_bytes() == cut


@given(FRAMES, st.data())
def test_pieces_that_come_while_nobody_asks_for_frames(frames: list[Frame], data: st.DataObject) -> None:
    stream = encoded(frames)
    reader = FrameReader(LIMIT)
    found: list[Frame] = []
    at = 0
    while at < len(stream):
        size = data.draw(st.integers(1, 40))
        reader.feed(stream[at : at + size])
        at += size
        if data.draw(st.booleans()) and reader.next():
            payload = reader.buffer[reader.start : reader.end]
            found.append((int(reader.type), int(reader.flags), int(reader.conversation), int(reader.request), payload))
    assert found + taken(reader) == frames


def after_a_long_frame() -> FrameReader:
    """A reader that still remembers how long the last frame was."""
    reader = FrameReader(LIMIT)
    whole = wire.frame(wire.PUT, 1, 1, bytes(100))
    reader.feed(whole[:50])
    assert not reader.next()
    reader.feed(whole[50:])
    assert reader.next()
    return reader


@pytest.mark.parametrize("cut", [8, 16, 20])
def test_the_rest_of_a_frame_that_came_while_nobody_asked(cut: int) -> None:
    reader = after_a_long_frame()
    stream = wire.frame(wire.GET, 1, 2, b"one") + wire.frame(wire.GET, 1, 3, b"another")
    reader.feed(stream[: 19 + cut])
    reader.feed(stream[19 + cut :])
    assert [request for *_, request, _ in taken(reader)] == [2, 3]


def test_pieces_keep_their_order_when_nobody_asked_in_between() -> None:
    reader = after_a_long_frame()
    other = wire.frame(wire.GET, 1, 3, b"another")
    reader.feed(wire.frame(wire.GET, 1, 2, b"one"))
    reader.feed(other[:10])
    assert reader.next()
    reader.feed(other[10:])
    assert taken(reader) == [(wire.GET, 0, 1, 3, b"another")]


def test_many_small_pieces_of_one_frame() -> None:
    whole = wire.frame(wire.PUT, 1, 2, bytes(range(256)) * 30)
    assert read([whole[at : at + 1] for at in range(len(whole))]) == [
        (wire.PUT, 0, 1, 2, bytes(range(256)) * 30),
    ]


def headers() -> list[tuple[bytes, str]]:
    good = wire.frame(wire.PUT, 1, 2)
    return [
        ((15).to_bytes(4, "little") + good[4:], "a frame of 15 bytes"),
        (bytes(4) + good[4:], "a frame of 0 bytes"),
        ((LIMIT + 1).to_bytes(4, "little") + good[4:], f"the limit is {LIMIT}"),
        (b"\xff\xff\xff\xff" + good[4:], "a frame of 4294967295 bytes"),
        (good[:6] + b"\x01" + good[7:], "reserved bytes"),
        (good[:7] + b"\x80" + good[8:], "reserved bytes"),
        (good[:5] + b"\x02" + good[6:], "flags 2"),
        (good[:5] + b"\x81" + good[6:], "flags 129"),
    ]


@pytest.mark.parametrize(("header", "why"), headers())
def test_headers_that_cannot_be(header: bytes, why: str) -> None:
    reader = FrameReader(LIMIT)
    reader.feed(wire.frame(wire.GET, 1, 1, b"good") + header + b"more")
    assert reader.next()
    with pytest.raises(MalformedFrame, match=why):
        reader.next()


def test_a_length_that_cannot_be_is_found_before_the_frame_has_come() -> None:
    reader = FrameReader(1024)
    reader.feed((1025).to_bytes(4, "little") + bytes(12))
    with pytest.raises(MalformedFrame):
        reader.next()


def test_the_longest_frame_allowed() -> None:
    reader = FrameReader(1024)
    reader.feed(wire.frame(wire.PUT, 1, 1, bytes(1024 - wire.HEADER_BYTES)))
    assert reader.next()


def test_the_limit_may_grow_between_frames() -> None:
    reader = FrameReader(64)
    reader.feed(wire.frame(wire.HELLO, 0, 1, b"small") + wire.frame(wire.PUT, 1, 1, bytes(100)))
    assert reader.next()
    reader.frame_bytes_max = 1024
    assert reader.next()


@given(st.binary(max_size=500), st.integers(17, 120))
def test_a_payload_in_segments(payload: bytes, segment_bytes: int) -> None:
    made = segments.frames_of(wire.OUTPUT, 5, 6, payload, segment_bytes)
    found = read([b"".join(made)])
    assert all(len(each) <= segment_bytes for each in made)
    assert [flags for _, flags, *_ in found] == [wire.MORE] * (len(made) - 1) + [0]
    assert {(type, conversation, request) for type, _, conversation, request, _ in found} == {(wire.OUTPUT, 5, 6)}
    assembly = IncomingPayload(wire.OUTPUT, len(payload))
    for *_, part in found:
        assembly.add(part)
    assert assembly.whole() == payload


def test_an_assembly_has_a_limit() -> None:
    assembly = IncomingPayload(wire.PUT, 10)
    assembly.add(bytes(10))
    with pytest.raises(MalformedFrame, match="more than 10 bytes"):
        assembly.add(b"x")


def test_empty_segments_cost_something_as_well() -> None:
    assembly = IncomingPayload(wire.PUT, 10)
    for _ in range(100):
        assembly.add(b"")
    assert assembly.cost_bytes == 100 * segments.SEGMENT_COST_BYTES
    assert assembly.whole() == b""


@given(st.binary(min_size=1, max_size=300), st.binary(max_size=300), st.integers(1, 100))
def test_a_large_reply_is_cut_wherever_its_head_ends(head: bytes, body: bytes, room: int) -> None:
    reply = OutgoingPayload(wire.GET | wire.REPLY, 3, 4, head, body)
    made = []
    while not reply.is_sent():
        made.append(reply.next_frame(room))
    found = read([b"".join(made)])
    assert b"".join(part for *_, part in found) == head + body
    assert all(len(part) <= room for *_, part in found)
    assert [flags for _, flags, *_ in found] == [wire.MORE] * (len(made) - 1) + [0]


def test_a_frame_behind_a_large_reply_stays_as_it_is() -> None:
    ready = wire.frame(wire.UNSTREAM | wire.REPLY, 3, 9, bytes(8))
    first = OutgoingPayload(wire.MESSAGE, 3, 4, bytes(100), b"")
    first.following = OutgoingPayload(READY_FRAME, 3, 4, ready, b"")
    assert first.last().next_frame(10) == ready
    assert first.last().is_sent()


WRITERS: list[Callable[[], bytes]] = [
    lambda: wire.frame(wire.GET | wire.REPLY, 0xFFFFFFFF, 0x80000000, b"abc"),
    lambda: segments.segment(wire.GET | wire.REPLY, 0xFFFFFFFF, 0x80000000, False, b"abc"),
]


@pytest.mark.parametrize("write", WRITERS)
def test_numbers_are_unsigned_and_little_endian(write: Callable[[], bytes]) -> None:
    assert write() == bytes.fromhex("13000000 88 00 0000 ffffffff 00000080") + b"abc"
