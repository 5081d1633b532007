"""Message groups and segments on shared queues: every get gives what it would give on a private queue."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searching import examples
from tests.world.group.group_world import GroupWorld, MemberWorld
from tests.world.world import descriptor

from ostler.engine.connection import Connection
from ostler.engine.get import get, new_request
from ostler.engine.handle import Handle
from ostler.engine.message.message import NULL_ID
from ostler.engine.put import put
from ostler.engine.queue.get_request import GetRequest
from ostler.model import constants as mq

INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE
LOGICAL = mq.MQGMO_LOGICAL_ORDER
COMPLETE = mq.MQGMO_COMPLETE_MSG
ALL_MESSAGES = mq.MQGMO_ALL_MSGS_AVAILABLE
ALL_SEGMENTS = mq.MQGMO_ALL_SEGMENTS_AVAILABLE
FIRST, NEXT = mq.MQGMO_BROWSE_FIRST, mq.MQGMO_BROWSE_NEXT


@dataclass(frozen=True)
class Piece:
    """A physical message: its place in its group, and its data."""

    group: int = 0
    sequence: int = 1
    offset: int = 0
    flags: int = 0
    body: bytes = b"alone"
    persistence: int = 0
    length: int = -1

    def md(self) -> bytes:
        md = bytearray(descriptor(self.persistence, 0, -1, NULL_ID, NULL_ID))
        group_id = bytes([self.group]) * 24
        struct.pack_into("<24siiii", md, 324, group_id, self.sequence, self.offset, self.flags, self.length)
        return bytes(md)


def message(group: int, sequence: int, sizes: list[int], is_last: bool, persistence: int = 0) -> list[Piece]:
    """The pieces of a logical message: one, or several segments."""
    flags = mq.MQMF_MSG_IN_GROUP | (mq.MQMF_LAST_MSG_IN_GROUP if is_last else 0)
    if len(sizes) == 1:
        return [Piece(group, sequence, 0, flags, b"%d.%d" % (group, sequence), persistence)]
    pieces = []
    offset = 0
    for number, size in enumerate(sizes):
        last = mq.MQMF_LAST_SEGMENT if number == len(sizes) - 1 else 0
        body = (b"%d.%d.%d " % (group, sequence, number)) * size
        pieces.append(Piece(group, sequence, offset, flags | mq.MQMF_SEGMENT | last, body, persistence, len(body)))
        offset += len(body)
    return pieces


class Sides:
    """A shared queue at two members, and a private one at the second, with the same messages."""

    def __init__(self) -> None:
        self.group = GroupWorld("QM1", "QM2")
        self.group.define_structure("APP1")
        self.group.define_queue("Q", attributes={"INDXTYPE": mq.MQIT_GROUP_ID})
        self.a, self.b = self.group.members
        self.b.define_queue("P", {"SHARE": 1})
        self.at_a = self.a.connect()
        self.out = self.a.open(self.at_a, "Q", INPUT_OUTPUT)
        self.at_shared, self.shared = opened(self.b, "Q")
        self.at_private, self.private = opened(self.b, "P")

    def renew(self) -> None:
        """Have both queues empty, and new handles."""
        for name, application in (("Q", self.at_shared), ("P", self.at_private)):
            self.b.disconnect(application)
            self.group.settle()
            emptying, handle = opened(self.b, name)
            while ask(self.b, emptying, handle, 0, 1 << 20).reason == 0:
                pass
            self.b.disconnect(emptying)
            self.group.settle()
        self.at_shared, self.shared = opened(self.b, "Q")
        self.at_private, self.private = opened(self.b, "P")

    def put(self, piece: Piece) -> None:
        for world, application, handle in ((self.a, self.at_a, self.out), (self.b, self.at_private, self.private)):
            outcome = put(world.engine, application, handle, piece.md(), mq.MQPMO_NO_SYNCPOINT, b"", piece.body, None)
            self.group.settle()
            assert outcome.reason == 0

    def get(self, options: int, bytes_max: int = 1 << 20) -> GetRequest:
        """Get from both, and compare."""
        found = ask(self.b, self.at_shared, self.shared, options, bytes_max)
        expected = ask(self.b, self.at_private, self.private, options, bytes_max)
        assert told(found) == told(expected), (hex(options), told(found), told(expected))
        return found

    def end(self, commit: bool) -> None:
        for application in (self.at_shared, self.at_private):
            if commit:
                self.b.commit(application)
            else:
                self.b.back_out(application)

    def left(self) -> tuple[list[bytes], list[bytes]]:
        return self.b.bodies("Q"), self.b.bodies("P")


def opened(member: MemberWorld, name: str) -> tuple[Connection, Handle]:
    application = member.connect()
    return application, member.open(application, name, INPUT_OUTPUT)


def ask(member: MemberWorld, application: Connection, handle: Handle, options: int, bytes_max: int) -> GetRequest:
    request = new_request(application, handle, options, 0, NULL_ID, NULL_ID, bytes_max)
    get(member.engine, request)
    member.group.settle()
    assert request.done
    return request


def told(request: GetRequest) -> tuple[object, ...]:
    where = request.md[324:364] if request.md else b""
    body = request.body if request.reason != mq.MQRC_NO_MSG_AVAILABLE else b""
    return request.reason, body, where, request.group_status, request.segment_status, request.data_bytes


def test_logical_order_does_not_depend_on_the_order_of_arrival() -> None:
    sides = Sides()
    first, second, third = (message(1, number, [1], number == 3)[0] for number in (1, 2, 3))
    for piece in (third, Piece(), second, first):
        sides.put(piece)
    bodies = [sides.get(LOGICAL).body for _ in range(4)]
    assert bodies == [b"alone", b"1.1", b"1.2", b"1.3"]
    assert sides.get(LOGICAL).reason == mq.MQRC_NO_MSG_AVAILABLE


def test_a_group_is_got_when_all_of_it_is_there() -> None:
    sides = Sides()
    sides.put(message(1, 1, [1], False)[0])
    assert sides.get(ALL_MESSAGES).reason == mq.MQRC_NO_MSG_AVAILABLE
    sides.put(message(1, 2, [1], True)[0])
    assert sides.get(ALL_MESSAGES | LOGICAL).body == b"1.1"
    assert sides.get(ALL_MESSAGES | LOGICAL).body == b"1.2"


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("syncpoint", [0, mq.MQGMO_SYNCPOINT])
def test_segments_are_joined_and_leave_together(persistence: int, syncpoint: int) -> None:
    sides = Sides()
    pieces = message(1, 1, [2, 3, 1], True, persistence)
    for piece in reversed(pieces):
        sides.put(piece)
    short = sides.get(COMPLETE | syncpoint, bytes_max=5)
    assert short.reason == mq.MQRC_TRUNCATED_MSG_FAILED
    assert len(sides.left()[0]) == 3
    got = sides.get(COMPLETE | syncpoint)
    assert got.body == b"".join(piece.body for piece in pieces)
    assert sides.group.entries()["got"] == (3 if syncpoint else 0)
    if syncpoint:
        sides.end(False)
        assert sides.get(COMPLETE | syncpoint).body == got.body
        sides.end(True)
    assert sides.group.entries() == {"committed": 0, "uncommitted": 0, "got": 0}
    assert sides.left() == ([], [])


def test_segments_of_a_member_that_dies_are_there_again() -> None:
    sides = Sides()
    for piece in message(1, 1, [2, 3], True, 1):
        sides.put(piece)
    assert sides.get(COMPLETE | mq.MQGMO_SYNCPOINT).reason == 0
    assert sides.a.bodies("Q") == []
    sides.b.die()
    sides.group.settle()
    assert len(sides.a.bodies("Q")) == 2


def test_a_segment_that_somebody_takes_meanwhile_leaves_nothing_claimed() -> None:
    sides = Sides()
    for piece in message(1, 1, [2, 3, 1], True):
        sides.put(piece)
    request = new_request(sides.at_shared, sides.shared, COMPLETE, 0, NULL_ID, NULL_ID, 1 << 20)
    with sides.group.hold():
        get(sides.b.engine, request)
        for _ in range(10):
            sides.b.step()
            if sides.b.port.outgoing and sides.b.port.outgoing[-1].program.kind == 9:  # the claim
                break
        program = sides.b.port.outgoing[-1].program
        assert len(getattr(program, "others", [])) == 2
        taken = ask_held(sides.a, sides.at_a, sides.out)
    sides.group.settle()
    assert taken.reason == 0
    assert request.reason == mq.MQRC_NO_MSG_AVAILABLE
    assert sides.group.entries() == {"committed": 2, "uncommitted": 0, "got": 0}


def ask_held(member: MemberWorld, application: Connection, handle: Handle) -> GetRequest:
    request = new_request(application, handle, 0, 0, NULL_ID, NULL_ID, 1 << 20)
    get(member.engine, request)
    for _ in range(20):
        member.step()
    return request


def test_a_wait_ends_when_the_group_is_complete() -> None:
    sides = Sides()
    sides.put(message(1, 1, [1], False)[0])
    options = ALL_MESSAGES | LOGICAL | mq.MQGMO_WAIT
    request = new_request(sides.at_shared, sides.shared, options, 0, NULL_ID, NULL_ID, 1 << 20)
    request.wait_ms = 60_000
    get(sides.b.engine, request)
    sides.group.settle()
    assert not request.done
    sides.put(message(1, 2, [1], True)[0])
    assert request.done
    assert request.body == b"1.1"


pieces = st.lists(
    st.sampled_from(
        [
            Piece(),
            *message(1, 1, [1], False),
            *message(1, 2, [1, 2, 1], False),
            *message(1, 3, [1], True),
            *message(2, 1, [2, 1], False, 1),
            *message(2, 2, [1], True, 1),
        ]
    ),
    min_size=1,
    max_size=12,
)
whole = sum(
    (message(1, number, sizes, number == 3) for number, sizes in ((1, [1]), (2, [2, 1]), (3, [1, 1, 1]))),
    start=message(2, 1, [1, 1], False, 1) + message(2, 2, [1], True, 1) + [Piece()],
)
wanted = st.sampled_from([LOGICAL, COMPLETE, LOGICAL | COMPLETE, LOGICAL | ALL_MESSAGES, ALL_SEGMENTS, ALL_MESSAGES])
steps = st.lists(
    st.tuples(wanted, st.sampled_from([0, 0, FIRST, NEXT, NEXT, mq.MQGMO_MSG_UNDER_CURSOR])), min_size=1, max_size=12
)


@cache
def lasting_sides() -> Sides:
    """One group for all examples: making one takes most of the time."""
    return Sides()


@settings(max_examples=examples(40), deadline=None)
@given(arrivals=st.one_of(pieces, st.permutations(whole)), steps=steps, syncpoint=st.booleans(), commit=st.booleans())
def test_any_gets_are_those_of_a_private_queue(
    arrivals: list[Piece], steps: list[tuple[int, int]], syncpoint: bool, commit: bool
) -> None:
    sides = lasting_sides()
    sides.renew()
    for piece in arrivals:
        sides.put(piece)
    for options, how in steps:
        is_browse = how in (FIRST, NEXT)
        sides.get(options | how | (mq.MQGMO_SYNCPOINT if syncpoint and not is_browse else 0))
    if syncpoint:
        sides.end(commit)
    assert sides.left()[0] == sides.left()[1]
