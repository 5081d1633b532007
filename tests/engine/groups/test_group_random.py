"""Groups and segments by MQPUT and MQGET: logical order does not depend on the order of arrival."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searching import examples

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.get import get, new_request
from ostler.engine.groups import groups
from ostler.engine.message.descriptor_fields import DEFAULT_DESCRIPTOR
from ostler.engine.message.message import NULL_ID
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.engine.put import put
from ostler.engine.queue.get_request import UNLIMITED, GetRequest
from ostler.engine.syncpoint import back_out, commit
from ostler.model.attributes import ObjectType
from ostler.model.constants import (
    MQGMO_ALL_MSGS_AVAILABLE,
    MQGMO_BROWSE_FIRST,
    MQGMO_BROWSE_NEXT,
    MQGMO_COMPLETE_MSG,
    MQGMO_LOGICAL_ORDER,
    MQGMO_SYNCPOINT,
    MQGMO_WAIT,
    MQMF_SEGMENTATION_ALLOWED,
    MQOO_BROWSE,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQOT_Q,
    MQPMO_LOGICAL_ORDER,
    MQPMO_SYNCPOINT,
    MQRC_INCOMPLETE_GROUP,
    MQRC_MSG_TOO_BIG_FOR_Q,
    MQRC_NO_MSG_AVAILABLE,
)
from ostler.model.definitions import new_definition
from ostler.model.journal import Journal
from ostler.testing.simulation.crashing_disk import SimulatedDisk

SEGMENT, LAST_SEGMENT, IN_GROUP, LAST_IN_GROUP = 2, 4, 8, 16
LOGICAL = MQGMO_LOGICAL_ORDER
COMPLETE = MQGMO_COMPLETE_MSG
ALL_MESSAGES = MQGMO_ALL_MSGS_AVAILABLE


class CountingJournal(Journal):
    def __init__(self) -> None:
        self.end = 1

    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        self.end += len(head) + len(descriptor) + len(body)
        return self.end

    def end_lsn(self) -> int:
        return self.end

    def durable_lsn(self) -> int:
        return self.end

    def room_bytes(self) -> int:
        return 1 << 40


@dataclass(frozen=True)
class Piece:
    """One physical message: its place and its body."""

    group: int  # 0: in none
    sequence: int
    offset: int
    flags: int
    body: bytes
    persistent: bool = False

    def md(self) -> bytes:
        md = bytearray(DEFAULT_DESCRIPTOR)
        struct.pack_into("<ii", md, 40, 0, int(self.persistent))
        group_id = f"group {self.group}".encode() if self.group else NULL_ID
        struct.pack_into("<24siiii", md, 324, group_id, self.sequence, self.offset, self.flags, -1)
        return bytes(md)


@dataclass
class Manager:
    """A queue manager with one queue and one application."""

    message_bytes_max: int = 1000
    buffer_bytes: int = 1 << 20
    engine: Engine = field(init=False)
    connection: Connection = field(init=False)

    def __post_init__(self) -> None:
        manager = new_definition(ObjectType.QMGR, "QM1", {})
        self.engine = Engine("QM1", SimulatedDisk(), CountingJournal(), manager)
        self.engine.buffer_bytes_nonpersistent = self.buffer_bytes
        self.engine.buffer_bytes_persistent = self.buffer_bytes
        self.engine.add_queue(new_definition(ObjectType.QLOCAL, "Q", {"MAXMSGL": self.message_bytes_max}), 1)
        self.connection = Connection(1, "user", "test", 0)
        self.connection.identity_context = bytes(76)
        self.connection.origin_prefix = bytes(32)
        options = MQOO_INPUT_SHARED | MQOO_OUTPUT | MQOO_BROWSE
        self.handle = open_object(self.engine, self.connection, OpenRequest(MQOT_Q, "Q", options))

    def put(self, md: bytes, body: bytes, options: int = 0) -> int:
        return put(self.engine, self.connection, self.handle, md, options, b"", body, None).reason

    def start(self, options: int) -> GetRequest:
        """Begin a get; it may be left waiting."""
        request = new_request(self.connection, self.handle, options, 0, NULL_ID, NULL_ID, 1 << 20)
        request.wait_ms = UNLIMITED
        get(self.engine, request)
        return request

    def get(self, options: int) -> bytes | None:
        request = self.start(options)
        assert request.done
        if request.reason == MQRC_NO_MSG_AVAILABLE:
            return None
        assert request.reason == 0
        return request.body

    def get_all(self, options: int, then: int | None = None) -> list[bytes]:
        bodies: list[bytes] = []
        body = self.get(options)
        while body is not None:
            bodies.append(body)
            body = self.get(options if then is None else then)
        return bodies


Whole = list[list[Piece]]  # the messages of a group, each in segments


@st.composite
def wholes(draw: st.DrawFn) -> list[Whole]:
    """Several groups of some messages, some of them segmented, and messages by themselves."""
    made: list[Whole] = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        grouped = draw(st.booleans())
        persistent = draw(st.booleans())
        messages: Whole = []
        count = draw(st.integers(1, 4)) if grouped else 1
        for sequence in range(1, count + 1):
            lengths = draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
            group_flags = (IN_GROUP | (LAST_IN_GROUP if sequence == count else 0)) if grouped else 0
            pieces: list[Piece] = []
            for index, length in enumerate(lengths):
                segment_flags = 0
                if len(lengths) > 1:
                    segment_flags = SEGMENT | (LAST_SEGMENT if index == len(lengths) - 1 else 0)
                flags = group_flags | segment_flags
                body = f"{number}.{sequence}.{index}:".encode().ljust(length, b"x")
                offset = sum(len(piece.body) for piece in pieces)
                pieces.append(Piece(number if flags else 0, sequence, offset, flags, body, persistent))
            messages.append(pieces)
        made.append(messages)
    return made


def physical(whole: Whole) -> list[bytes]:
    return [piece.body for message in whole for piece in message]


def logical(whole: Whole) -> list[bytes]:
    return [b"".join(piece.body for piece in message) for message in whole]


def arrivals(data: st.DataObject, made: list[Whole]) -> list[Piece]:
    return data.draw(st.permutations([piece for whole in made for message in whole for piece in message]))


def in_logical_order(arrived: list[Piece], made: list[Whole], joined: bool) -> list[bytes]:
    """The naive way: groups by the arrival of their first piece, each in sequence."""
    firsts = {whole[0][0].body: whole for whole in made}
    parts = logical if joined else physical
    return [body for piece in arrived if piece.body in firsts for body in parts(firsts[piece.body])]


@given(wholes(), st.data(), st.sampled_from([64, 1 << 20]))
@settings(max_examples=examples(60), deadline=None)
def test_logical_order_after_any_arrival(made: list[Whole], data: st.DataObject, buffer_bytes: int) -> None:
    # With small buffers all but the first messages are in the queue's file.
    manager = Manager(buffer_bytes=buffer_bytes)
    arrived = arrivals(data, made)
    for piece in arrived:
        assert manager.put(piece.md(), piece.body) == 0
    expected = in_logical_order(arrived, made, joined=False)
    first, following = MQGMO_BROWSE_FIRST | LOGICAL, MQGMO_BROWSE_NEXT | LOGICAL
    assert manager.get_all(first, following) == expected
    together = in_logical_order(arrived, made, joined=True)
    assert manager.get_all(first | COMPLETE, following | COMPLETE) == together
    assert manager.get_all(LOGICAL | COMPLETE | ALL_MESSAGES | MQGMO_SYNCPOINT) == together
    assert back_out(manager.engine, manager.connection).reason == 0
    # Taking things back changes nothing: all is there again, in the same order.
    assert manager.get_all(LOGICAL | MQGMO_SYNCPOINT) == expected
    assert commit(manager.engine, manager.connection).reason == 0
    queue = manager.engine.queues["Q"]
    assert (queue.depth, queue.groups) == (0, {})


@given(wholes(), st.data(), st.sampled_from([0, COMPLETE, ALL_MESSAGES, COMPLETE | ALL_MESSAGES]))
@settings(max_examples=examples(60), deadline=None)
def test_gets_between_arrivals_never_mix_groups(made: list[Whole], data: st.DataObject, options: int) -> None:
    manager = Manager()
    got: list[bytes] = []
    waiting: GetRequest | None = None
    arrived: set[bytes] = set()
    begun: set[bytes] = set()
    groups_of = {body: whole for whole in made for body in physical(whole) + logical(whole)}
    for piece in arrivals(data, made):
        if waiting is None and data.draw(st.booleans()):
            waiting = manager.start(LOGICAL | MQGMO_WAIT | options)
        assert manager.put(piece.md(), piece.body) == 0
        arrived.add(piece.body)
        if waiting is not None and waiting.done:
            assert waiting.reason == 0
            got.append(waiting.body)
            whole = groups_of[waiting.body]
            first = logical(whole)[0]
            if options & ALL_MESSAGES and first not in begun:
                assert set(physical(whole)) <= arrived
            begun.add(first)
            waiting = None
    if waiting is not None:
        # Nothing for it was there: what it waits for is still to come, so a second look finds nothing either.
        assert manager.get(LOGICAL | options) is None
    got += manager.get_all(LOGICAL | options)
    parts = logical if options & COMPLETE else physical
    remaining = [parts(whole) for whole in made]
    while got:
        bodies = next(bodies for bodies in remaining if bodies[0] == got[0])
        assert got[: len(bodies)] == bodies
        got = got[len(bodies) :]
        remaining.remove(bodies)
    assert remaining == []


@given(st.binary(max_size=3000), st.integers(16, 700), st.sampled_from([0, MQPMO_SYNCPOINT]), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_a_message_too_big_for_the_queue(body: bytes, limit: int, options: int, persistent: bool) -> None:
    manager = Manager(message_bytes_max=limit)
    piece = Piece(0, 1, 0, MQMF_SEGMENTATION_ALLOWED, body, persistent)
    assert manager.put(piece.md(), body, options) == 0
    if options:
        assert manager.get(COMPLETE) is None
        assert commit(manager.engine, manager.connection).reason == 0
    queue = manager.engine.queues["Q"]
    assert queue.depth >= -(-len(body) // limit)
    assert manager.get(MQGMO_BROWSE_FIRST | COMPLETE) == body
    assert b"".join(manager.get_all(MQGMO_BROWSE_FIRST | LOGICAL, MQGMO_BROWSE_NEXT | LOGICAL)) == body
    assert manager.get(COMPLETE) == body
    assert queue.depth == 0
    if len(body) > limit:
        assert manager.put(Piece(0, 1, 0, 0, body).md(), body) == MQRC_MSG_TOO_BIG_FOR_Q


def test_headers_and_data_in_different_code_pages_are_joined() -> None:
    manager = Manager(message_bytes_max=200)
    header = b"DLH " + bytes(104) + struct.pack("<ii8s", 273, 500, b"MYFORMAT") + bytes(48)
    md = bytearray(Piece(0, 1, 0, MQMF_SEGMENTATION_ALLOWED, b"").md())
    struct.pack_into("<ii8s", md, 24, 546, 1208, b"MQDEAD  ")
    assert manager.put(bytes(md), header + bytes(300)) == 0
    segments = manager.get_all(MQGMO_BROWSE_FIRST | LOGICAL, MQGMO_BROWSE_NEXT | LOGICAL)
    assert [len(body) for body in segments] == [188, 192, 92]
    assert manager.get(COMPLETE) == header + bytes(300)


def test_a_group_over_several_units_of_work() -> None:
    manager = Manager()
    order = MQPMO_LOGICAL_ORDER | MQPMO_SYNCPOINT
    member, last = Piece(0, 1, 0, IN_GROUP, b"").md(), Piece(0, 1, 0, LAST_IN_GROUP, b"").md()
    assert manager.put(member, b"1", order) == 0
    assert commit(manager.engine, manager.connection).reason == 0
    assert manager.put(member, b"lost", order) == 0
    assert back_out(manager.engine, manager.connection).reason == 0
    assert manager.put(member, b"2", order) == 0
    assert manager.put(last, b"3", order) == 0
    assert manager.get(LOGICAL | ALL_MESSAGES) is None
    assert commit(manager.engine, manager.connection).reason == 0
    assert manager.get_all(LOGICAL | ALL_MESSAGES) == [b"1", b"2", b"3"]


def test_closing_within_a_group_warns() -> None:
    manager = Manager()
    assert manager.put(Piece(0, 1, 0, IN_GROUP, b"").md(), b"1", MQPMO_LOGICAL_ORDER) == 0
    assert close_object(manager.engine, manager.connection, manager.handle, 0).reason == MQRC_INCOMPLETE_GROUP


def test_a_getter_waits_for_a_big_group() -> None:
    count = 2000
    manager = Manager()
    waiting = manager.start(LOGICAL | ALL_MESSAGES | MQGMO_WAIT)
    for sequence in range(1, count + 1):
        flags = IN_GROUP | (LAST_IN_GROUP if sequence == count else 0)
        assert not waiting.done
        assert manager.put(Piece(7, sequence, 0, flags, b"").md(), b"%d" % sequence) == 0
    assert waiting.done
    assert [waiting.body, *manager.get_all(LOGICAL)] == [b"%d" % sequence for sequence in range(1, count + 1)]
    assert groups.close_reason(manager.handle) == 0
