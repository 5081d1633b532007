"""The frames between copies: what is encoded is decoded again, nothing else is, and limits hold."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.log_life import Life
from ostler.wire import frames
from ostler.wire.frames import FrameReader, MalformedFrame
from ostler.wire.payload_codec import PayloadWriter
from ostler.wire.replica_frames import (
    DATA_BYTES_MAX,
    FIRST_REPLICA_FRAME_BYTES_MAX,
    IMAGES_BYTES_MAX,
    LIVES_MAX,
    REPLICA_FRAME_BYTES_MAX,
    BaseBegin,
    BaseEnd,
    BaseMessages,
    BaseObjects,
    BaseQueue,
    Fetch,
    Fetched,
    LifeFrame,
    LogAck,
    LogFrame,
    PairState,
    ReplicaFrame,
    ReplicaHello,
    SideFile,
    decode_replica_frame,
)

POSITIONS = st.integers(0, (1 << 63) - 1)
LIFE = Life(3, 4096, "bravo", 17, 1_700_000_000)


def decoded(data: bytes) -> ReplicaFrame:
    reader = FrameReader(REPLICA_FRAME_BYTES_MAX)
    reader.feed(data)
    assert reader.next()
    assert reader.pending_bytes() == 0
    return decode_replica_frame(reader.type, reader.request, reader.buffer, reader.start, reader.end)


def fields(found: ReplicaFrame) -> dict[str, object]:
    return {name: getattr(found, name) for name in vars(found)} if hasattr(found, "__dict__") else {}


def hello() -> ReplicaHello:
    made = ReplicaHello()
    made.group, made.queue_manager, made.instance = "G", "QM", "alpha"
    made.identity, made.file_pages, made.log_format, made.term = bytes(range(16)), 4096, 1, 99
    made.lives, made.end_lsn, made.group_lsn = [LIFE], 1 << 40, 1 << 39
    made.needs_base, made.refused, made.detail = True, 5, "an old term"
    return made


def begun() -> BaseBegin:
    made = BaseBegin(1, 2, bytes(range(32)), 3, 4)
    made.restart_lsn, made.position, made.lives = 5, 6, [LIFE]
    return made


def pair_state() -> PairState:
    made = PairState()
    made.group, made.queue_manager, made.instance, made.identity = "G", "QM", "alpha", bytes(range(16))
    made.flags, made.incarnation, made.sequence, made.heard_sequence = 9, 1, 2, 3
    made.term, made.lowest_term, made.in_sync_version, made.in_sync_term = 4, 5, 6, 7
    made.in_sync, made.copies, made.resolution = ["alpha", "bravo"], 2, 8
    made.settings_version, made.settings_writer, made.preferred = 9, "bravo", "alpha"
    made.suspended, made.founder, made.end_lsn, made.group_lsn = ["bravo"], "alpha", 1 << 40, 1 << 39
    made.lives = [LIFE]
    return made


EXAMPLES: list[ReplicaFrame] = [
    hello(),
    pair_state(),
    LifeFrame(7, 5000, 2, LIFE),
    LogFrame(7, 8, 9, b"images"),
    LogAck(7, 8, 9, 10, 11, 1),
    begun(),
    BaseObjects(1, b"catalogue"),
    BaseQueue(1, 2, 3, 4, 5),
    BaseMessages(1, 2, b"messages"),
    BaseEnd(1, 2, 3, 4),
    Fetch(5, 1, 2, 3),
    Fetched(5, 2, True, b"found"),
    SideFile(1, "passwords", bytes(range(32)), 100, 94, b"secret"),
]


def name(made: ReplicaFrame) -> str:
    return type(made).__name__


@pytest.mark.parametrize("made", EXAMPLES, ids=name)
def test_what_is_encoded_is_decoded(made: ReplicaFrame) -> None:
    data = made.encode()
    found = decoded(data)
    assert type(found) is type(made)
    assert found.encode() == data
    assert fields(found) == fields(made)


@pytest.mark.parametrize("made", EXAMPLES, ids=name)
def test_a_frame_that_ends_early_or_late_is_refused(made: ReplicaFrame) -> None:
    data = made.encode()
    type_, request = data[4], int.from_bytes(data[12:16], "little")
    payload = data[16:]
    is_open = isinstance(made, (LogFrame, BaseObjects, BaseMessages, Fetched, SideFile))
    data_bytes = len(getattr(made, "images", None) or getattr(made, "data", b""))
    for end in range(len(payload) - data_bytes if is_open else len(payload)):
        with pytest.raises(MalformedFrame):
            decode_replica_frame(type_, request, payload, 0, end)
    if not is_open:
        with pytest.raises(MalformedFrame, match="too many"):
            decode_replica_frame(type_, request, payload + b"x", 0, len(payload) + 1)


@given(POSITIONS, POSITIONS, POSITIONS, st.binary(max_size=300))
def test_any_log_frame_comes_across(term: int, group_lsn: int, position: int, images: bytes) -> None:
    found = decoded(LogFrame(term, group_lsn, position, images).encode())
    assert isinstance(found, LogFrame)
    assert (found.term, found.group_lsn, found.position, found.images) == (term, group_lsn, position, images)


@given(st.integers(0, 255), st.binary(max_size=400))
def test_any_bytes_are_a_frame_or_refused(type_: int, payload: bytes) -> None:
    with suppress(MalformedFrame):
        decode_replica_frame(type_, 1, payload, 0, len(payload))


def test_limits() -> None:
    assert decoded(LogFrame(1, 2, 3, bytes(IMAGES_BYTES_MAX)).encode())
    payload = LogFrame(1, 2, 3, bytes(IMAGES_BYTES_MAX + 1)).encode()[16:]
    with pytest.raises(MalformedFrame, match="limit"):
        decode_replica_frame(frames.REPLICA_LOG, 0, payload, 0, len(payload))
    payload = BaseMessages(1, 2, bytes(DATA_BYTES_MAX + 1)).encode()[16:]
    with pytest.raises(MalformedFrame, match="limit"):
        decode_replica_frame(frames.BASE_MESSAGES, 0, payload, 0, len(payload))
    with pytest.raises(MalformedFrame, match="limit"):
        decode_replica_frame(frames.SIDE_FILE, 0, bytes(REPLICA_FRAME_BYTES_MAX), 0, REPLICA_FRAME_BYTES_MAX)


def test_a_hello_has_the_newest_lives_and_fits_the_first_frame() -> None:
    made = hello()
    made.lives = [Life(epoch, epoch * 10, "x" * 48, 1 << 60, 1 << 40) for epoch in range(1, LIVES_MAX + 100)]
    data = made.encode()
    assert len(data) <= FIRST_REPLICA_FRAME_BYTES_MAX
    found = decoded(data)
    assert isinstance(found, ReplicaHello)
    assert found.lives == made.lives[-LIVES_MAX:]


def test_lives_out_of_order_and_negative_positions_are_refused() -> None:
    made = hello()
    made.lives = [LIFE, Life(2, 5000, "x", 0, 0)]
    with pytest.raises(MalformedFrame, match="life 2 cannot follow life 3"):
        decoded(made.encode())
    writer = PayloadWriter()
    for number in (1, -2, 3, 4):
        writer.position(number)
    with pytest.raises(MalformedFrame, match="position of -2"):
        decode_replica_frame(frames.REPLICA_LOG_ACK, 0, writer.getvalue(), 0, 32)


def test_a_hello_of_an_older_release_counts_its_starts_and_is_heard_all_the_same() -> None:
    """Versions 1 and 2 have a number behind the group LSN. Older releases send it, and read what is sent here."""
    data = bytearray(hello().encode())
    before = (1 << 39).to_bytes(8, "little")  # the group LSN
    at = data.index(before) + len(before)
    assert data[at : at + 8] == bytes(8)
    data[at : at + 8] = (4).to_bytes(8, "little")
    assert fields(decoded(bytes(data))) == fields(hello())
    assert not hasattr(hello(), "starts")


def test_a_stranger_is_told_at_once() -> None:
    with pytest.raises(MalformedFrame, match="does not speak"):
        decode_replica_frame(frames.REPLICA_HELLO, 1, b"GET / HTTP/1.1\r\n", 0, 16)
