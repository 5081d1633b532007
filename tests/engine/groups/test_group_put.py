"""Group id, sequence number, offset, flags and original length of a put: each row of MQ's tables."""

from __future__ import annotations

import struct

import pytest

from ostler.engine.core import Engine
from ostler.engine.groups import groups
from ostler.engine.handle import QUEUE, Handle
from ostler.engine.message.descriptor_fields import DEFAULT_DESCRIPTOR
from ostler.engine.message.message import (
    FLAGS_AT,
    GROUP_ID_AT,
    MESSAGE_TYPE_AT,
    NULL_ID,
    OFFSET_AT,
    SEQUENCE_NUMBER_AT,
    read_i32,
)
from ostler.model.attributes import ObjectType
from ostler.model.constants import (
    MQMF_LAST_MSG_IN_GROUP,
    MQMF_LAST_SEGMENT,
    MQMF_MSG_IN_GROUP,
    MQMF_SEGMENT,
    MQMF_SEGMENTATION_ALLOWED,
    MQMT_DATAGRAM,
    MQMT_REPORT,
    MQOL_UNDEFINED,
    MQPMO_LOGICAL_ORDER,
    MQPMO_SYNCPOINT,
    MQRC_INCOMPLETE_GROUP,
    MQRC_INCOMPLETE_MSG,
    MQRC_INCONSISTENT_PERSISTENCE,
    MQRC_INCONSISTENT_UOW,
    MQRC_MSG_FLAGS_ERROR,
    MQRC_MSG_SEQ_NUMBER_ERROR,
    MQRC_OFFSET_ERROR,
    MQRC_ORIGINAL_LENGTH_ERROR,
    MQRC_SEGMENT_LENGTH_ZERO,
)
from ostler.model.definitions import Definition
from ostler.model.journal import Journal
from ostler.testing.simulation.crashing_disk import SimulatedDisk

ALLOWED = MQMF_SEGMENTATION_ALLOWED
IN_GROUP = MQMF_MSG_IN_GROUP
LAST_IN_GROUP = MQMF_LAST_MSG_IN_GROUP
SEGMENT = MQMF_SEGMENT
LAST_SEGMENT = MQMF_LAST_SEGMENT
LOGICAL = MQPMO_LOGICAL_ORDER
MINE = b"my own group id".ljust(24, b".")


class NoJournal(Journal):
    """Nothing here is persistent enough to be logged."""

    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        raise AssertionError

    def end_lsn(self) -> int:
        return 0

    def durable_lsn(self) -> int:
        return 0

    def room_bytes(self) -> int:
        return 1 << 30


class Putter:
    """An application that puts through one handle."""

    def __init__(self) -> None:
        self.engine = Engine("QM1", SimulatedDisk(), NoJournal(), Definition(ObjectType.QMGR, "QM1", {}))
        self.handle = Handle(2, QUEUE, "Q", 0)
        self.persistent = False

    def plan(self, md: bytes, options: int, size: int = 10) -> groups.PutPlan:
        in_unit = bool(options & MQPMO_SYNCPOINT)
        return groups.prepare_put(self.engine, self.handle, md, options, size, in_unit, self.persistent)

    def put(self, md: bytes, options: int, size: int = 10) -> bytes:
        """Put, and say what was stored. It must succeed."""
        plan = self.plan(md, options, size)
        assert plan.reason == 0
        groups.record_put(self.handle, plan.md, options)
        return plan.md


def descriptor(
    flags: int = 0,
    group_id: bytes = NULL_ID,
    sequence: int = 1,
    offset: int = 0,
    length: int = MQOL_UNDEFINED,
    type: int = MQMT_DATAGRAM,
    persistent: bool = False,
) -> bytes:
    md = bytearray(DEFAULT_DESCRIPTOR)
    struct.pack_into("<i", md, MESSAGE_TYPE_AT, type)
    struct.pack_into("<i", md, 44, int(persistent))
    struct.pack_into("<24siiii", md, GROUP_ID_AT, group_id, sequence, offset, flags, length)
    return bytes(md)


def place(md: bytes) -> tuple[bytes, int, int]:
    return (
        md[GROUP_ID_AT : GROUP_ID_AT + 24],
        read_i32(md, SEQUENCE_NUMBER_AT),
        read_i32(md, OFFSET_AT),
    )


# -- logical order ---------------------------------------------------------------------------------------------------

NEW = b"new"
PREVIOUS = b"previous"

# What came before on the handle, the flags put now, and the place the message gets.
LOGICAL_ROWS = [
    ([], 0, (NULL_ID, 1, 0)),
    ([], ALLOWED, (NEW, 1, 0)),
    ([], SEGMENT, (NEW, 1, 0)),
    ([], LAST_SEGMENT, (NEW, 1, 0)),
    ([SEGMENT], SEGMENT, (PREVIOUS, 1, 10)),
    ([SEGMENT, SEGMENT], LAST_SEGMENT, (PREVIOUS, 1, 20)),
    ([], IN_GROUP, (NEW, 1, 0)),
    ([], IN_GROUP | ALLOWED, (NEW, 1, 0)),
    ([], IN_GROUP | SEGMENT, (NEW, 1, 0)),
    ([], LAST_IN_GROUP, (NEW, 1, 0)),
    ([IN_GROUP], IN_GROUP, (PREVIOUS, 2, 0)),
    ([IN_GROUP, IN_GROUP], LAST_IN_GROUP, (PREVIOUS, 3, 0)),
    ([IN_GROUP], IN_GROUP | SEGMENT, (PREVIOUS, 2, 0)),
    ([IN_GROUP | SEGMENT], IN_GROUP | SEGMENT, (PREVIOUS, 1, 10)),
    ([IN_GROUP | SEGMENT], IN_GROUP | LAST_SEGMENT, (PREVIOUS, 1, 10)),
    ([IN_GROUP | SEGMENT, IN_GROUP | LAST_SEGMENT], IN_GROUP, (PREVIOUS, 2, 0)),
    ([LAST_IN_GROUP | SEGMENT], LAST_IN_GROUP | LAST_SEGMENT, (PREVIOUS, 1, 10)),
    # What has ended is over.
    ([IN_GROUP, LAST_IN_GROUP], IN_GROUP, (NEW, 1, 0)),
    ([IN_GROUP, LAST_IN_GROUP], 0, (NULL_ID, 1, 0)),
    ([SEGMENT, LAST_SEGMENT], SEGMENT, (NEW, 1, 0)),
    ([LAST_IN_GROUP | SEGMENT, LAST_IN_GROUP | LAST_SEGMENT], IN_GROUP, (NEW, 1, 0)),
    ([ALLOWED], ALLOWED, (NEW, 1, 0)),
]


@pytest.mark.parametrize(("earlier", "flags", "expected"), LOGICAL_ROWS)
def test_position_in_logical_order(earlier: list[int], flags: int, expected: tuple[bytes, int, int]) -> None:
    putter = Putter()
    previous = NULL_ID
    for before in earlier:
        previous = place(putter.put(descriptor(before, MINE, 77, 88), LOGICAL))[0]
    group_id, sequence, offset = place(putter.put(descriptor(flags, MINE, 77, 88), LOGICAL))
    assert (sequence, offset) == expected[1:]
    if expected[0] == NEW:
        assert group_id not in (NULL_ID, previous, MINE)
    else:
        assert group_id == (previous if expected[0] == PREVIOUS else NULL_ID)


REFUSALS = [
    ([IN_GROUP], 0, MQRC_INCOMPLETE_GROUP),
    ([IN_GROUP], ALLOWED, MQRC_INCOMPLETE_GROUP),
    ([IN_GROUP], SEGMENT, MQRC_INCOMPLETE_GROUP),
    ([SEGMENT], 0, MQRC_INCOMPLETE_MSG),
    ([SEGMENT], IN_GROUP, MQRC_INCOMPLETE_MSG),
    ([SEGMENT], IN_GROUP | SEGMENT, MQRC_INCOMPLETE_MSG),
    # Both are incomplete: the message is named.
    ([IN_GROUP | SEGMENT], 0, MQRC_INCOMPLETE_MSG),
    ([IN_GROUP | SEGMENT], IN_GROUP, MQRC_INCOMPLETE_MSG),
    ([IN_GROUP | SEGMENT], SEGMENT, MQRC_INCOMPLETE_MSG),
    ([IN_GROUP | SEGMENT], LAST_IN_GROUP | SEGMENT, MQRC_INCOMPLETE_MSG),
    ([LAST_IN_GROUP | SEGMENT], IN_GROUP | LAST_SEGMENT, MQRC_INCOMPLETE_MSG),
]


@pytest.mark.parametrize(("earlier", "flags", "reason"), REFUSALS)
def test_logical_order_refuses_what_leaves_a_group_incomplete(earlier: list[int], flags: int, reason: int) -> None:
    putter = Putter()
    for before in earlier:
        putter.put(descriptor(before), LOGICAL)
    assert putter.plan(descriptor(flags), LOGICAL).reason == reason


def test_a_refused_put_leaves_the_group_where_it_was() -> None:
    putter = Putter()
    group_id = place(putter.put(descriptor(IN_GROUP), LOGICAL))[0]
    assert putter.plan(descriptor(), LOGICAL).reason == MQRC_INCOMPLETE_GROUP
    # A prepared put that failed elsewhere (the queue was full) counts as little.
    assert putter.plan(descriptor(IN_GROUP), LOGICAL).reason == 0
    assert place(putter.put(descriptor(LAST_IN_GROUP), LOGICAL, size=0)) == (group_id, 2, 0)
    assert place(putter.put(descriptor(), LOGICAL)) == (NULL_ID, 1, 0)


@pytest.mark.parametrize("first_in_unit", [False, True])
def test_a_group_is_in_units_of_work_or_not(first_in_unit: bool) -> None:
    putter = Putter()
    first, other = (MQPMO_SYNCPOINT, 0) if first_in_unit else (0, MQPMO_SYNCPOINT)
    putter.put(descriptor(IN_GROUP), LOGICAL | first)
    assert putter.plan(descriptor(IN_GROUP), LOGICAL | other).reason == MQRC_INCONSISTENT_UOW
    putter.put(descriptor(LAST_IN_GROUP), LOGICAL | first)
    # The next group may do as it likes.
    putter.put(descriptor(IN_GROUP), LOGICAL | other)


def test_a_group_is_persistent_or_not() -> None:
    putter = Putter()
    putter.put(descriptor(IN_GROUP), LOGICAL)
    putter.persistent = True
    assert putter.plan(descriptor(IN_GROUP, persistent=True), LOGICAL).reason == MQRC_INCONSISTENT_PERSISTENCE


def test_numbers_do_not_grow_without_end() -> None:
    putter = Putter()
    putter.put(descriptor(IN_GROUP, MINE, 999_999_999), 0)
    assert putter.plan(descriptor(IN_GROUP), LOGICAL).reason == MQRC_MSG_SEQ_NUMBER_ERROR
    putter = Putter()
    putter.put(descriptor(SEGMENT, MINE, 1, 999_999_980), 0)
    assert putter.plan(descriptor(SEGMENT), LOGICAL).reason == MQRC_OFFSET_ERROR
    assert putter.plan(descriptor(LAST_SEGMENT), LOGICAL, size=9).reason == 0


# -- physical order --------------------------------------------------------------------------------------------------

PHYSICAL_ROWS = [
    (0, NULL_ID, (NULL_ID, 1, 0)),
    (0, MINE, (NULL_ID, 1, 0)),
    (ALLOWED, NULL_ID, (NEW, 1, 0)),
    (ALLOWED, MINE, (MINE, 1, 0)),
    (SEGMENT, NULL_ID, (NEW, 1, 88)),
    (SEGMENT, MINE, (MINE, 1, 88)),
    (SEGMENT | ALLOWED, MINE, (MINE, 1, 88)),
    (LAST_SEGMENT, MINE, (MINE, 1, 88)),
    (IN_GROUP, NULL_ID, (NEW, 77, 0)),
    (IN_GROUP, MINE, (MINE, 77, 0)),
    (IN_GROUP | ALLOWED, MINE, (MINE, 77, 0)),
    (LAST_IN_GROUP, MINE, (MINE, 77, 0)),
    (IN_GROUP | SEGMENT, NULL_ID, (NEW, 77, 88)),
    (IN_GROUP | SEGMENT, MINE, (MINE, 77, 88)),
    (LAST_IN_GROUP | LAST_SEGMENT, MINE, (MINE, 77, 88)),
]


@pytest.mark.parametrize("earlier", [[], [IN_GROUP], [SEGMENT], [IN_GROUP | SEGMENT]])
@pytest.mark.parametrize(("flags", "given", "expected"), PHYSICAL_ROWS)
def test_physical_order_takes_what_the_application_says(
    earlier: list[int], flags: int, given: bytes, expected: tuple[bytes, int, int]
) -> None:
    putter = Putter()
    for before in earlier:
        putter.put(descriptor(before), 0)
    group_id, sequence, offset = place(putter.put(descriptor(flags, given, 77, 88), 0))
    assert (sequence, offset) == expected[1:]
    if expected[0] == NEW:
        assert group_id != NULL_ID
    else:
        assert group_id == expected[0]


@pytest.mark.parametrize(
    ("flags", "sequence", "offset", "reason"),
    [
        (IN_GROUP, 0, 0, MQRC_MSG_SEQ_NUMBER_ERROR),
        (IN_GROUP, -1, 0, MQRC_MSG_SEQ_NUMBER_ERROR),
        (IN_GROUP, 1_000_000_000, 0, MQRC_MSG_SEQ_NUMBER_ERROR),
        (IN_GROUP, 999_999_999, 0, 0),
        (SEGMENT, 1, -1, MQRC_OFFSET_ERROR),
        (SEGMENT, 1, 1_000_000_000, MQRC_OFFSET_ERROR),
        (SEGMENT, 1, 999_999_990, MQRC_OFFSET_ERROR),
        (SEGMENT, 1, 999_999_989, 0),
        # Numbers that mean nothing are not looked at.
        (0, 0, -1, 0),
        (SEGMENT, 0, 0, 0),
        (IN_GROUP, 1, -1, 0),
    ],
)
def test_numbers_have_their_range(flags: int, sequence: int, offset: int, reason: int) -> None:
    assert Putter().plan(descriptor(flags, MINE, sequence, offset), 0).reason == reason


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (0x20, MQRC_MSG_FLAGS_ERROR),
        (0x800, MQRC_MSG_FLAGS_ERROR),
        (0x1000, MQRC_MSG_FLAGS_ERROR),
        (0x100000, 0),
        (-(1 << 31), 0),
    ],
)
def test_unknown_flags(flags: int, reason: int) -> None:
    assert Putter().plan(descriptor(flags), 0).reason == reason


def test_some_unknown_flags_are_for_other_queue_managers() -> None:
    putter = Putter()
    putter.handle.remote_manager = "QM2"
    assert putter.plan(descriptor(0x1000), 0).reason == 0
    assert putter.plan(descriptor(0x20), 0).reason == MQRC_MSG_FLAGS_ERROR


# -- lengths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "flags", "given", "size", "stored"),
    [
        (MQMT_DATAGRAM, 0, 5, 10, MQOL_UNDEFINED),
        (MQMT_REPORT, 0, 5, 10, MQOL_UNDEFINED),
        (MQMT_DATAGRAM, IN_GROUP, 5, 10, MQOL_UNDEFINED),
        (MQMT_DATAGRAM, SEGMENT, 5, 10, 10),
        (MQMT_DATAGRAM, LAST_SEGMENT, 5, 0, 0),
        (MQMT_REPORT, SEGMENT, 500, 100, 500),
        (MQMT_REPORT, SEGMENT, 500, 0, 500),
        (MQMT_REPORT, LAST_SEGMENT, 0, 0, 0),
    ],
)
def test_original_length(type: int, flags: int, given: int, size: int, stored: int) -> None:
    md = Putter().put(descriptor(flags, MINE, 1, 0, given, type), 0, size)
    assert read_i32(md, 360) == stored


@pytest.mark.parametrize(
    ("type", "flags", "given", "size", "reason"),
    [
        (MQMT_DATAGRAM, SEGMENT, 0, 0, MQRC_SEGMENT_LENGTH_ZERO),
        (MQMT_REPORT, SEGMENT, 0, 0, MQRC_ORIGINAL_LENGTH_ERROR),
        (MQMT_REPORT, SEGMENT, MQOL_UNDEFINED, 0, MQRC_ORIGINAL_LENGTH_ERROR),
        (MQMT_REPORT, LAST_SEGMENT, MQOL_UNDEFINED, 0, MQRC_ORIGINAL_LENGTH_ERROR),
        (MQMT_REPORT, SEGMENT, 99, 100, MQRC_ORIGINAL_LENGTH_ERROR),
    ],
)
def test_lengths_that_cannot_be(type: int, flags: int, given: int, size: int, reason: int) -> None:
    assert Putter().plan(descriptor(flags, MINE, 1, 0, given, type), 0, size).reason == reason


def test_the_application_keeps_its_flags() -> None:
    plan = Putter().plan(descriptor(LAST_IN_GROUP | LAST_SEGMENT), LOGICAL)
    assert read_i32(plan.md, FLAGS_AT) == IN_GROUP | LAST_IN_GROUP | SEGMENT | LAST_SEGMENT
    assert read_i32(plan.answer_md, FLAGS_AT) == LAST_IN_GROUP | LAST_SEGMENT
    assert place(plan.answer_md) == place(plan.md)


# -- mixed ways, and the end -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "warning"),
    [
        (IN_GROUP, 0, MQRC_INCOMPLETE_GROUP),
        (SEGMENT, 0, MQRC_INCOMPLETE_MSG),
        (IN_GROUP | SEGMENT, 0, MQRC_INCOMPLETE_MSG),
        (IN_GROUP, IN_GROUP, MQRC_INCOMPLETE_GROUP),
        (LAST_IN_GROUP, 0, 0),
        (0, IN_GROUP, 0),
    ],
)
def test_leaving_logical_order_within_a_group_is_done_with_a_warning(first: int, second: int, warning: int) -> None:
    putter = Putter()
    putter.put(descriptor(first), LOGICAL)
    plan = putter.plan(descriptor(second), 0)
    assert (plan.reason, plan.warning) == (0, warning)
    groups.record_put(putter.handle, plan.md, 0)
    assert putter.plan(descriptor(second), 0).warning == 0


def test_going_on_with_a_group_by_hand_is_no_reason_to_warn() -> None:
    putter = Putter()
    group_id = place(putter.put(descriptor(IN_GROUP), LOGICAL))[0]
    assert putter.plan(descriptor(IN_GROUP, group_id, 2), 0).warning == 0
    assert putter.plan(descriptor(IN_GROUP, group_id, 3), 0).warning == MQRC_INCOMPLETE_GROUP
    assert putter.plan(descriptor(IN_GROUP, group_id, 2), MQPMO_SYNCPOINT).warning == MQRC_INCONSISTENT_UOW
    putter.persistent = True
    assert putter.plan(descriptor(IN_GROUP, group_id, 2), 0).warning == MQRC_INCONSISTENT_PERSISTENCE
    putter = Putter()
    group_id = place(putter.put(descriptor(SEGMENT), LOGICAL))[0]
    assert putter.plan(descriptor(SEGMENT, group_id, 1, 10), 0).warning == 0
    assert putter.plan(descriptor(SEGMENT, group_id, 1, 11), 0).warning == MQRC_INCOMPLETE_MSG


def test_a_group_can_be_taken_up_in_the_middle() -> None:
    putter = Putter()
    putter.put(descriptor(IN_GROUP | SEGMENT, MINE, 5, 300), 0)
    assert place(putter.put(descriptor(IN_GROUP | LAST_SEGMENT), LOGICAL)) == (MINE, 5, 310)
    assert place(putter.put(descriptor(LAST_IN_GROUP), LOGICAL)) == (MINE, 6, 0)


@pytest.mark.parametrize(
    ("flags", "options", "reason"),
    [
        (IN_GROUP, LOGICAL, MQRC_INCOMPLETE_GROUP),
        (SEGMENT, LOGICAL, MQRC_INCOMPLETE_MSG),
        (IN_GROUP | SEGMENT, LOGICAL, MQRC_INCOMPLETE_MSG),
        (LAST_IN_GROUP, LOGICAL, 0),
        (LAST_SEGMENT, LOGICAL, 0),
        (0, LOGICAL, 0),
        (IN_GROUP, 0, 0),
    ],
)
def test_closing_with_an_incomplete_group(flags: int, options: int, reason: int) -> None:
    putter = Putter()
    putter.put(descriptor(flags), options)
    assert groups.close_reason(putter.handle) == reason


def test_a_group_goes_on_after_a_commit_and_goes_back_with_a_back_out() -> None:
    putter = Putter()
    options = LOGICAL | MQPMO_SYNCPOINT
    group_id = place(putter.put(descriptor(IN_GROUP), options))[0]
    groups.end_unit_of_work(putter.handle, committed=True)
    assert place(putter.put(descriptor(IN_GROUP), options)) == (group_id, 2, 0)
    assert place(putter.put(descriptor(LAST_IN_GROUP), options)) == (group_id, 3, 0)
    groups.end_unit_of_work(putter.handle, committed=False)
    assert place(putter.put(descriptor(IN_GROUP), options)) == (group_id, 2, 0)
    groups.end_unit_of_work(putter.handle, committed=True)
    groups.end_unit_of_work(putter.handle, committed=False)
    assert place(putter.put(descriptor(LAST_IN_GROUP), options)) == (group_id, 3, 0)


def test_puts_outside_units_of_work_are_not_taken_back() -> None:
    putter = Putter()
    group_id = place(putter.put(descriptor(IN_GROUP), LOGICAL))[0]
    groups.end_unit_of_work(putter.handle, committed=False)
    assert place(putter.put(descriptor(IN_GROUP), LOGICAL)) == (group_id, 2, 0)


def test_a_put_outside_a_unit_of_work_is_not_taken_back_with_what_was_within() -> None:
    putter = Putter()
    putter.put(descriptor(IN_GROUP | LAST_IN_GROUP), LOGICAL | MQPMO_SYNCPOINT)
    group_id = place(putter.put(descriptor(IN_GROUP), LOGICAL))[0]
    groups.end_unit_of_work(putter.handle, committed=False)
    assert place(putter.put(descriptor(IN_GROUP), LOGICAL)) == (group_id, 2, 0)


def test_which_puts_have_nothing_to_do_with_groups() -> None:
    putter = Putter()
    assert groups.is_plain(putter.handle, descriptor(), 0)
    assert not groups.is_plain(putter.handle, descriptor(), LOGICAL)
    assert not groups.is_plain(putter.handle, descriptor(group_id=MINE), 0)
    assert not groups.is_plain(putter.handle, descriptor(sequence=2), 0)
    assert not groups.is_plain(putter.handle, descriptor(flags=0x20), 0)
    putter.put(descriptor(IN_GROUP), LOGICAL)
    assert not groups.is_plain(putter.handle, descriptor(), 0)
