"""The group index of a queue agrees with a naive check of completeness."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from ostler.engine.groups.members import LATER_MESSAGE, LATER_SEGMENT, MessageGroup, add, remove
from ostler.engine.message.descriptor_fields import DEFAULT_DESCRIPTOR

GROUP_ID = b"group".ljust(24, b"g")
SEGMENT, LAST_SEGMENT, IN_GROUP, LAST_IN_GROUP = 2, 4, 8, 16

Piece = tuple[int, int, int, bool, bool]  # number in the group, offset, length, last segment, last message


def descriptor(piece: Piece) -> bytes:
    sequence, offset, length, last_segment, last_message = piece
    flags = IN_GROUP | SEGMENT | last_segment * LAST_SEGMENT | last_message * LAST_IN_GROUP
    md = bytearray(DEFAULT_DESCRIPTOR)
    struct.pack_into("<24siiii", md, 324, GROUP_ID, sequence, offset, flags, length)
    return bytes(md)


def is_complete_by_trying(pieces: list[Piece]) -> bool:
    """The naive way to tell that a group is all there."""
    lasts = [sequence for sequence, _, _, _, last in pieces if last]
    if not lasts:
        return False
    for sequence in range(1, lasts[-1] + 1):
        at = 0
        ended = False
        while not ended:
            following = [piece for piece in pieces if piece[0] == sequence and piece[1] == at]
            if not following:
                return False
            ended = following[0][3]
            at += following[0][2]
    return True


@st.composite
def some_pieces(draw: st.DrawFn) -> list[Piece]:
    """Groups of up to three messages of up to three segments, in any order, some pieces missing, some twice."""
    count = draw(st.integers(1, 3))
    pieces: list[Piece] = []
    for sequence in range(1, count + 1):
        lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        for index, length in enumerate(lengths):
            last = index == len(lengths) - 1
            pieces.append((sequence, sum(lengths[:index]), length, last, sequence == count))
    chosen = draw(st.permutations(pieces + pieces[: draw(st.integers(0, 2))]))
    return chosen[: draw(st.integers(0, len(chosen)))] if draw(st.booleans()) else chosen


def part(sequence: int, offset: int, length: int, flags: int, feedback: int = 0) -> bytes:
    md = bytearray(DEFAULT_DESCRIPTOR)
    struct.pack_into("<i", md, 12, 4 if feedback else 8)
    struct.pack_into("<i", md, 20, feedback)
    struct.pack_into("<24siiii", md, 324, GROUP_ID, sequence, offset, flags, length)
    return bytes(md)


def test_reports_of_different_kinds_do_not_complete_one_another() -> None:
    known: dict[bytes, MessageGroup] = {}
    add(known, part(1, 0, 4, SEGMENT, 259), 0, 1, 1)
    add(known, part(1, 4, 4, SEGMENT, 259), 0, 2, 2)
    add(known, part(1, 8, 4, SEGMENT | LAST_SEGMENT, 260), 0, 3, 3)
    message = known[GROUP_ID].messages[1]
    assert not message.complete
    add(known, part(1, 8, 4, SEGMENT | LAST_SEGMENT, 259), 0, 4, 4)
    assert message.complete


def test_messages_beyond_the_last_do_not_complete_a_group() -> None:
    known: dict[bytes, MessageGroup] = {}
    add(known, part(1, 0, 4, IN_GROUP | SEGMENT), 4, 1, 1)
    add(known, part(2, 0, -1, IN_GROUP | LAST_IN_GROUP), 4, 2, 2)
    add(known, part(3, 0, -1, IN_GROUP), 4, 3, 3)
    assert not known[GROUP_ID].is_complete()
    add(known, part(1, 4, 4, IN_GROUP | SEGMENT | LAST_SEGMENT), 4, 4, 4)
    assert known[GROUP_ID].is_complete()


@given(some_pieces(), st.data())
def test_a_group_knows_when_it_is_complete(pieces: list[Piece], data: st.DataObject) -> None:
    known: dict[bytes, MessageGroup] = {}
    present: list[tuple[Piece, int, bytes]] = []

    def agrees() -> bool:
        expected = is_complete_by_trying([piece for piece, _, _ in present])
        group = known.get(GROUP_ID)
        return expected == (group is not None and group.is_complete())

    for seq, piece in enumerate(pieces, 1):
        md = descriptor(piece)
        flags = add(known, md, piece[2], seq, seq)
        assert flags == (LATER_MESSAGE if piece[0] > 1 else 0) | (LATER_SEGMENT if piece[1] > 0 else 0)
        present.append((piece, seq, md))
        assert agrees()
    for _, seq, md in data.draw(st.permutations(present)):
        remove(known, md, seq)
        present = [item for item in present if item[1] != seq]
        assert agrees()
    assert known == {}
