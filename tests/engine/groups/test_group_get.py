"""Selection with logical order, complete messages, and all segments or all messages available."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pytest

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.groups import groups
from ostler.engine.handle import QUEUE, Handle
from ostler.engine.message.descriptor_fields import DEFAULT_DESCRIPTOR
from ostler.engine.message.message import Message, read_i32
from ostler.engine.queue.get_request import BY_SCAN, GetRequest
from ostler.engine.queue.slots import AVAILABLE, GROUPED, HAS_CURSOR, LOCKED, NONE
from ostler.model.attributes import ObjectType
from ostler.model.constants import (
    MQGMO_ALL_MSGS_AVAILABLE,
    MQGMO_ALL_SEGMENTS_AVAILABLE,
    MQGMO_BROWSE_FIRST,
    MQGMO_BROWSE_MSG_UNDER_CURSOR,
    MQGMO_BROWSE_NEXT,
    MQGMO_COMPLETE_MSG,
    MQGMO_LOGICAL_ORDER,
    MQGMO_MSG_UNDER_CURSOR,
    MQGMO_SYNCPOINT,
    MQGMO_SYNCPOINT_IF_PERSISTENT,
    MQMO_MATCH_CORREL_ID,
    MQMO_MATCH_GROUP_ID,
    MQMO_MATCH_MSG_ID,
    MQMO_MATCH_MSG_SEQ_NUMBER,
    MQMO_MATCH_OFFSET,
    MQMT_DATAGRAM,
    MQMT_REPORT,
    MQPMO_LOGICAL_ORDER,
    MQRC_INCOMPLETE_GROUP,
    MQRC_INCOMPLETE_MSG,
    MQRC_INCONSISTENT_BROWSE,
    MQRC_INCONSISTENT_CCSIDS,
    MQRC_INCONSISTENT_ENCODINGS,
    MQRC_INCONSISTENT_UOW,
    MQRC_INVALID_MSG_UNDER_CURSOR,
    MQRC_MATCH_OPTIONS_ERROR,
    MQRC_OPTIONS_ERROR,
    MQRC_TRUNCATED_MSG_ACCEPTED,
    MQRC_TRUNCATED_MSG_FAILED,
)
from ostler.model.definitions import Definition
from ostler.model.journal import Journal
from ostler.testing.simulation.crashing_disk import SimulatedDisk

LOGICAL = MQGMO_LOGICAL_ORDER
COMPLETE = MQGMO_COMPLETE_MSG
ALL_MESSAGES = MQGMO_ALL_MSGS_AVAILABLE
ALL_SEGMENTS = MQGMO_ALL_SEGMENTS_AVAILABLE
FIRST = MQGMO_BROWSE_FIRST
NEXT = MQGMO_BROWSE_NEXT
SEGMENT, LAST_SEGMENT, IN_GROUP, LAST_IN_GROUP = 2, 4, 8, 16


class NoJournal(Journal):
    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        raise AssertionError

    def end_lsn(self) -> int:
        return 0

    def durable_lsn(self) -> int:
        return 0

    def room_bytes(self) -> int:
        return 1 << 30


@dataclass
class Sent:
    """A message as it is put on the queue. Its name is its body, and by its length also the length of a segment."""

    name: str
    group: str = ""
    sequence: int = 1
    offset: int = 0
    flags: int = 0
    priority: int = 0
    expiry_ms: int = 0
    ccsid: int = 1208
    encoding: int = 546
    feedback: int = 0
    length: int = -1  # of the segment that a report is about

    def md(self) -> bytes:
        md = bytearray(DEFAULT_DESCRIPTOR)
        struct.pack_into("<i", md, 12, MQMT_REPORT if self.feedback else MQMT_DATAGRAM)
        struct.pack_into("<i", md, 20, self.feedback)
        struct.pack_into("<ii", md, 24, self.encoding, self.ccsid)
        struct.pack_into("<ii", md, 40, self.priority, 0)
        md[48:72] = self.name.encode().ljust(24, b".")
        length = len(self.name) if self.flags & SEGMENT and self.length < 0 else self.length
        struct.pack_into("<24siiii", md, 324, self.group.encode(), self.sequence, self.offset, self.flags, length)
        return bytes(md)


class World:
    """One queue, and one application that has it open."""

    def __init__(self) -> None:
        self.engine = Engine("QM1", SimulatedDisk(), NoJournal(), Definition(ObjectType.QMGR, "QM1", {}))
        self.engine.now_ms = 1000
        self.queue = self.engine.add_queue(Definition(ObjectType.QLOCAL, "Q", {"MSGDLVSQ": 0}), 1)
        self.queue.buffer_bytes_nonpersistent = 1 << 20
        self.connection = Connection(1, "user", "test", 0)
        self.handle = Handle(2, QUEUE, "Q", 0)
        self.handle.queue = self.queue
        self.queue.browsers.append(self.handle)

    def put(self, *messages: Sent) -> None:
        for sent in messages:
            message = Message(sent.md(), b"", sent.name.encode(), self.queue.next_seq)
            self.queue.next_seq += 1
            flags = self.queue.order_flags(sent.priority) | AVAILABLE | (GROUPED if sent.flags & 30 else 0)
            self.queue.link_new(self.queue.store(message, flags, sent.expiry_ms))

    def request(self, options: int) -> GetRequest:
        request = GetRequest(self.connection, self.handle, options, 1000)
        request.kind = BY_SCAN
        return request

    def answer(self, request: GetRequest) -> str:
        """Select and finish as the engine does. Returns the joined names of the segments, "" for no message."""
        slot = groups.select(self.engine, request, self.queue)
        if slot == NONE:
            return ""
        slots = request.slots or [slot]
        messages = [self.queue.load(each) for each in slots]
        request.md = messages[0].md
        body = messages[0].body
        if len(slots) > 1:
            body = groups.joined_body(messages)
            request.md = groups.joined_descriptor(request.md, len(body))
        if request.options & (FIRST | NEXT | MQGMO_BROWSE_MSG_UNDER_CURSOR):
            self.handle.cursor = slots[0]
            self.handle.cursor_seq = messages[0].seq
            self.handle.cursor_set = True
            self.handle.cursor_message_gone = False
            self.queue.slots.flags[slots[0]] |= HAS_CURSOR
        else:
            for each in slots:
                self.remove(each)
        groups.after_get(request, request.md)
        return body.decode()

    def remove(self, slot: int) -> None:
        self.queue.unlink(slot)
        self.queue.release(slot)

    def get(self, options: int) -> str:
        request = self.request(options)
        assert groups.validate_get(request) == 0
        return self.answer(request)

    def get_all(self, options: int, then: int | None = None) -> list[str]:
        names: list[str] = []
        name = self.get(options)
        while name:
            names.append(name)
            name = self.get(options if then is None else then)
        return names

    def slot_of(self, name: str) -> int:
        slot = self.queue.slots.first()
        while self.queue.load(slot).body != name.encode():
            slot = self.queue.slots.following(slot)
        return slot


def example() -> World:
    """The physical order of MQ's own example, with a message B behind."""
    world = World()
    world.put(
        Sent("A"),
        Sent("Y1", "Y", 1, 0, IN_GROUP),
        Sent("Z2", "Z", 2, 0, IN_GROUP | LAST_IN_GROUP),
        Sent("Y2", "Y", 2, 0, IN_GROUP),
        Sent("Y3-1", "Y", 3, 0, IN_GROUP | LAST_IN_GROUP | SEGMENT),
        Sent("Y3-2", "Y", 3, 4, IN_GROUP | LAST_IN_GROUP | SEGMENT | LAST_SEGMENT),
        Sent("Z1", "Z", 1, 0, IN_GROUP),
        Sent("B"),
    )
    return world


LOGICAL_ORDER = ["A", "Y1", "Y2", "Y3-1", "Y3-2", "Z1", "Z2", "B"]
PHYSICAL_ORDER = ["A", "Y1", "Z2", "Y2", "Y3-1", "Y3-2", "Z1", "B"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (LOGICAL, LOGICAL_ORDER),
        (LOGICAL | ALL_MESSAGES, LOGICAL_ORDER),
        (LOGICAL | ALL_SEGMENTS, LOGICAL_ORDER),
        (LOGICAL | COMPLETE, ["A", "Y1", "Y2", "Y3-1Y3-2", "Z1", "Z2", "B"]),
        (COMPLETE, ["A", "Y1", "Z2", "Y2", "Y3-1Y3-2", "Z1", "B"]),
        # Without logical order the rest of what was begun is held back, as it is not complete any more.
        (ALL_SEGMENTS, ["A", "Y1", "Z2", "Y2", "Y3-1", "Z1", "B"]),
        (ALL_MESSAGES, ["A", "Y1", "Z2", "B"]),
    ],
)
def test_the_example_is_got(options: int, expected: list[str]) -> None:
    assert example().get_all(options) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (LOGICAL, LOGICAL_ORDER),
        (LOGICAL | COMPLETE, ["A", "Y1", "Y2", "Y3-1Y3-2", "Z1", "Z2", "B"]),
        (LOGICAL | ALL_MESSAGES, LOGICAL_ORDER),
        (ALL_MESSAGES, PHYSICAL_ORDER),
        (ALL_SEGMENTS, PHYSICAL_ORDER),
        (COMPLETE, ["A", "Y1", "Z2", "Y2", "Y3-1Y3-2", "Z1", "B"]),
    ],
)
def test_the_example_is_browsed(options: int, expected: list[str]) -> None:
    world = example()
    assert world.get_all(FIRST | options, NEXT | options) == expected
    # Again from the first, from within a group.
    assert [world.get(FIRST | options), world.get(NEXT | options)] == expected[:2]
    assert world.get_all(FIRST | options, NEXT | options) == expected


def test_gets_and_browses_have_separate_group_states() -> None:
    world = example()
    assert [world.get(LOGICAL) for _ in range(3)] == ["A", "Y1", "Y2"]
    assert [world.get(FIRST | LOGICAL), world.get(NEXT | LOGICAL)] == ["Z1", "Z2"]
    assert world.get(LOGICAL) == "Y3-1"
    assert world.get(NEXT | LOGICAL) == "B"


def test_browsing_goes_on_where_messages_were_taken_away() -> None:
    world = example()
    assert [world.get(FIRST | LOGICAL)] + [world.get(NEXT | LOGICAL) for _ in range(4)] == LOGICAL_ORDER[:5]
    for name in ("Y1", "Y3-2"):
        world.remove(world.slot_of(name))
    assert world.get(NEXT | LOGICAL) == "Z1"
    world.remove(world.slot_of("Z1"))
    assert world.get_all(NEXT | LOGICAL) == ["Z2", "B"]
    world.remove(world.slot_of("B"))
    world.put(Sent("C"))
    assert world.get_all(NEXT | LOGICAL) == ["C"]


def test_browsing_goes_from_priority_to_priority() -> None:
    world = World()
    world.put(
        Sent("low 2", "L", 2, 0, IN_GROUP | LAST_IN_GROUP, priority=1),
        Sent("low 1", "L", 1, 0, IN_GROUP, priority=1),
        Sent("high 2", "H", 2, 0, IN_GROUP | LAST_IN_GROUP, priority=0),
        Sent("high 1", "H", 1, 0, IN_GROUP, priority=5),
    )
    assert world.get_all(FIRST | LOGICAL, NEXT | LOGICAL) == ["high 1", "high 2", "low 1", "low 2"]
    assert [world.get(FIRST | LOGICAL), world.get(NEXT | LOGICAL)] == ["high 1", "high 2"]
    world.remove(world.slot_of("high 1"))
    assert world.get_all(NEXT | LOGICAL) == ["low 1", "low 2"]


def test_the_next_of_a_group_is_waited_for() -> None:
    world = World()
    world.put(Sent("1", "G", 1, 0, IN_GROUP), Sent("other"))
    assert world.get(LOGICAL) == "1"
    assert world.get(LOGICAL) == ""
    world.put(Sent("3", "G", 3, 0, IN_GROUP | LAST_IN_GROUP))
    assert world.get(LOGICAL) == ""
    world.put(Sent("2", "G", 2, 0, IN_GROUP))
    assert world.get_all(LOGICAL) == ["2", "3", "other"]


def test_incomplete_groups_are_passed_over() -> None:
    world = World()
    world.put(Sent("1", "G", 1, 0, IN_GROUP), Sent("s", "S", 1, 0, SEGMENT), Sent("other"))
    assert world.get_all(LOGICAL | ALL_MESSAGES) == ["other"]
    assert world.get_all(ALL_SEGMENTS | FIRST, ALL_SEGMENTS | NEXT) == ["1"]
    assert world.get_all(COMPLETE | FIRST, COMPLETE | NEXT) == ["1"]
    world.put(Sent("2", "G", 2, 0, IN_GROUP | LAST_IN_GROUP), Sent("t", "S", 1, 1, SEGMENT | LAST_SEGMENT))
    assert world.get_all(LOGICAL | ALL_MESSAGES | COMPLETE) == ["1", "2", "st"]


def test_a_group_with_an_incomplete_message_is_incomplete() -> None:
    world = World()
    world.put(
        Sent("1", "G", 1, 0, IN_GROUP | SEGMENT),
        Sent("2", "G", 2, 0, IN_GROUP | LAST_IN_GROUP),
    )
    assert world.get(ALL_MESSAGES) == ""
    world.put(Sent("", "G", 1, 1, IN_GROUP | SEGMENT | LAST_SEGMENT))
    assert world.get(ALL_MESSAGES) == "1"


def test_messages_beyond_the_last_do_not_complete_a_group() -> None:
    world = World()
    world.put(
        Sent("1", "G", 1, 0, IN_GROUP),
        Sent("5", "G", 5, 0, IN_GROUP),
        Sent("3", "G", 3, 0, IN_GROUP | LAST_IN_GROUP),
    )
    assert world.get(ALL_MESSAGES) == ""
    world.put(Sent("2", "G", 2, 0, IN_GROUP))
    assert world.get_all(LOGICAL | ALL_MESSAGES) == ["1", "2", "3"]


@pytest.mark.parametrize("options", [LOGICAL | ALL_MESSAGES, ALL_MESSAGES])
def test_what_is_locked_or_has_expired_is_not_there(options: int) -> None:
    world = World()
    world.put(
        Sent("1", "G", 1, 0, IN_GROUP),
        Sent("2", "G", 2, 0, IN_GROUP | LAST_IN_GROUP),
        Sent("3", "H", 1, 0, IN_GROUP),
        Sent("4", "H", 2, 0, IN_GROUP | LAST_IN_GROUP, expiry_ms=900),
        Sent("5"),
    )
    locked = world.slot_of("2")
    world.queue.slots.flags[locked] |= LOCKED
    assert world.get(options) == "5"
    assert {item.slot for item in world.engine.expired} == {world.slot_of("4")}
    world.handle.locked_slot = locked
    world.handle.locked_seq = world.queue.slots.seqs[locked]
    assert world.get(options) == "1"


def test_a_locked_segment_holds_back_its_group() -> None:
    world = World()
    world.put(
        Sent("1", "G", 1, 0, IN_GROUP),
        Sent("ab", "G", 2, 0, IN_GROUP | LAST_IN_GROUP | SEGMENT),
        Sent("cd", "G", 2, 2, IN_GROUP | LAST_IN_GROUP | SEGMENT | LAST_SEGMENT),
    )
    world.queue.slots.flags[world.slot_of("cd")] |= LOCKED
    assert world.get(ALL_MESSAGES) == ""
    world.queue.slots.flags[world.slot_of("cd")] &= ~LOCKED
    assert world.get(ALL_MESSAGES) == "1"


def test_locked_segments_are_not_joined() -> None:
    world = World()
    world.put(Sent("ab", "G", 1, 0, SEGMENT), Sent("cd", "G", 1, 2, SEGMENT | LAST_SEGMENT))
    world.queue.slots.flags[world.slot_of("cd")] |= LOCKED
    assert world.get(COMPLETE) == ""
    # There is a second copy that is not locked.
    world.put(Sent("CD", "G", 1, 2, SEGMENT | LAST_SEGMENT))
    assert world.get(COMPLETE) == "abCD"


def test_reports_of_one_kind_make_up_a_message() -> None:
    world = World()
    world.put(
        Sent("COA1", "G", 1, 0, SEGMENT, feedback=259),
        Sent("COD1", "G", 1, 0, SEGMENT, feedback=260),
        Sent("COD2", "G", 1, 4, SEGMENT | LAST_SEGMENT, feedback=260),
    )
    assert world.get(COMPLETE) == "COD1COD2"
    assert world.get(COMPLETE) == ""
    world.put(Sent("COA2", "G", 1, 4, SEGMENT | LAST_SEGMENT, feedback=259))
    assert world.get_all(LOGICAL) == ["COA1", "COA2"]


def test_reports_without_data_make_up_a_message_too() -> None:
    world = World()
    world.put(
        Sent("z", "G", 1, 6, SEGMENT | LAST_SEGMENT, feedback=259, length=2),
        Sent("abc", "G", 1, 0, SEGMENT, feedback=259, length=6),
    )
    assert world.get(FIRST | COMPLETE) == "abc\0\0\0z\0"
    assert world.get_all(LOGICAL | ALL_SEGMENTS) == ["abc", "z"]


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (Sent("cd", "G", 1, 2, SEGMENT, ccsid=819), MQRC_INCONSISTENT_CCSIDS),
        (Sent("cd", "G", 1, 2, SEGMENT, encoding=273), MQRC_INCONSISTENT_ENCODINGS),
    ],
)
def test_segments_in_another_code_page_are_not_joined(second: Sent, reason: int) -> None:
    world = World()
    world.put(Sent("ab", "G", 1, 0, SEGMENT), second, Sent("ef", "G", 1, 4, SEGMENT | LAST_SEGMENT, ccsid=second.ccsid))
    world.put(Sent("other"))
    request = world.request(COMPLETE | LOGICAL)
    assert world.answer(request) == "ab"
    assert request.reason == reason
    assert chr(request.segment_status) == "S"
    assert read_i32(request.md, 356) == SEGMENT
    # The rest is had one by one.
    assert world.get(COMPLETE | LOGICAL) == ""
    assert [world.get(LOGICAL) for _ in range(3)] == ["cd", "ef", "other"]


@pytest.mark.parametrize(
    ("flags", "status"),
    [
        (0, "   "),
        (1, "  A"),
        (SEGMENT, " S "),
        (SEGMENT | LAST_SEGMENT, " L "),
        (IN_GROUP, "G  "),
        (IN_GROUP | LAST_IN_GROUP, "L  "),
        (IN_GROUP | SEGMENT | 1, "GSA"),
        (IN_GROUP | LAST_IN_GROUP | SEGMENT, "LS "),
        (IN_GROUP | LAST_IN_GROUP | SEGMENT | LAST_SEGMENT, "LL "),
    ],
)
def test_status_of_what_was_got(flags: int, status: str) -> None:
    world = World()
    world.put(Sent("x", "G", 1, 0, flags))
    request = world.request(LOGICAL)
    assert world.answer(request) == "x"
    assert "".join(map(chr, (request.group_status, request.segment_status, request.segmentation))) == status


def test_a_joined_message_is_the_only_segment() -> None:
    world = World()
    world.put(Sent("ab", "G", 1, 0, SEGMENT), Sent("c", "G", 1, 2, SEGMENT | LAST_SEGMENT))
    request = world.request(COMPLETE)
    assert world.answer(request) == "abc"
    assert chr(request.segment_status) == "L"


# -- match options ---------------------------------------------------------------------------------------------------


def test_a_group_can_be_chosen() -> None:
    world = example()
    request = world.request(LOGICAL)
    request.match = MQMO_MATCH_GROUP_ID
    request.group_id = b"Z".ljust(24, b"\0")
    assert world.answer(request) == "Z1"
    assert world.get_all(LOGICAL) == ["Z2", "A", "Y1", "Y2", "Y3-1", "Y3-2", "B"]
    world = example()
    request = world.request(LOGICAL)
    request.match = MQMO_MATCH_MSG_ID
    request.message_id = b"Y1".ljust(24, b".")
    assert world.answer(request) == "Y1"


def test_a_message_that_is_not_the_first_of_its_group_cannot_be_chosen_in_logical_order() -> None:
    world = example()
    request = world.request(LOGICAL)
    request.match = MQMO_MATCH_MSG_ID
    request.message_id = b"Z2".ljust(24, b".")
    assert world.answer(request) == ""
    request = world.request(ALL_MESSAGES)
    request.match = MQMO_MATCH_MSG_ID
    request.message_id = b"Z2".ljust(24, b".")
    assert world.answer(request) == "Z2"


@pytest.mark.parametrize(
    ("match", "sequence", "offset", "reason"),
    [
        (MQMO_MATCH_MSG_SEQ_NUMBER, 1, 0, 0),
        (MQMO_MATCH_MSG_SEQ_NUMBER, 2, 0, MQRC_MATCH_OPTIONS_ERROR),
        (MQMO_MATCH_OFFSET, 1, 0, 0),
        (MQMO_MATCH_OFFSET, 1, 4, MQRC_MATCH_OPTIONS_ERROR),
    ],
)
def test_only_a_first_message_can_be_asked_for(match: int, sequence: int, offset: int, reason: int) -> None:
    request = World().request(LOGICAL)
    request.match = match
    request.sequence_number = sequence
    request.offset = offset
    assert groups.validate_get(request) == reason
    request.options = ALL_MESSAGES
    assert groups.validate_get(request) == 0


@pytest.mark.parametrize(
    ("match", "group", "name", "sequence", "offset", "fits"),
    [
        (MQMO_MATCH_GROUP_ID, "Y", "", 0, 0, True),
        (MQMO_MATCH_GROUP_ID, "Z", "", 0, 0, False),
        (MQMO_MATCH_GROUP_ID, "", "", 0, 0, True),
        (MQMO_MATCH_MSG_SEQ_NUMBER, "", "", 3, 0, True),
        (MQMO_MATCH_MSG_SEQ_NUMBER, "", "", 4, 0, False),
        (MQMO_MATCH_OFFSET, "", "", 0, 4, True),
        (MQMO_MATCH_OFFSET, "", "", 0, 0, False),
        (MQMO_MATCH_MSG_ID, "", "Y3-2", 0, 0, True),
        (MQMO_MATCH_MSG_ID, "", "B", 0, 0, False),
        (MQMO_MATCH_CORREL_ID, "", "B", 0, 0, False),
    ],
)
def test_within_a_group_match_options_must_name_the_next(
    match: int, group: str, name: str, sequence: int, offset: int, fits: bool
) -> None:
    world = example()
    assert [world.get(LOGICAL) for _ in range(4)] == LOGICAL_ORDER[:4]
    request = world.request(LOGICAL)
    request.match = match
    request.group_id = group.encode().ljust(24, b"\0")
    request.message_id = request.correlation_id = name.encode().ljust(24, b".")
    request.sequence_number = sequence
    request.offset = offset
    assert groups.validate_get(request) == (0 if fits else MQRC_MATCH_OPTIONS_ERROR)
    assert world.answer(request) == ("Y3-2" if fits else "")


# -- what is refused or warned of ------------------------------------------------------------------------------------


def test_options_that_do_not_go_together() -> None:
    world = World()
    assert groups.validate_get(world.request(COMPLETE | MQGMO_SYNCPOINT_IF_PERSISTENT)) == MQRC_OPTIONS_ERROR
    request = world.request(COMPLETE)
    request.match = MQMO_MATCH_OFFSET
    assert groups.validate_get(request) == MQRC_MATCH_OPTIONS_ERROR


def test_a_group_is_got_within_units_of_work_or_not() -> None:
    world = example()
    assert [world.get(LOGICAL | MQGMO_SYNCPOINT) for _ in range(2)] == ["A", "Y1"]
    assert groups.validate_get(world.request(LOGICAL)) == MQRC_INCONSISTENT_UOW
    assert groups.validate_get(world.request(FIRST | LOGICAL)) == 0
    assert world.get(LOGICAL | MQGMO_SYNCPOINT) == "Y2"
    world = example()
    assert [world.get(LOGICAL) for _ in range(2)] == ["A", "Y1"]
    assert groups.validate_get(world.request(LOGICAL | MQGMO_SYNCPOINT)) == MQRC_INCONSISTENT_UOW


def test_browsing_keeps_to_one_order() -> None:
    world = example()
    assert groups.validate_get(world.request(NEXT | LOGICAL)) == 0
    world.get(FIRST | LOGICAL)
    assert groups.validate_get(world.request(NEXT)) == MQRC_INCONSISTENT_BROWSE
    world.get(FIRST | COMPLETE)
    assert groups.validate_get(world.request(NEXT | LOGICAL)) == MQRC_INCONSISTENT_BROWSE
    assert groups.validate_get(world.request(NEXT)) == 0


def test_complete_messages_under_the_cursor() -> None:
    world = example()
    assert [world.get(FIRST | LOGICAL)] + [world.get(NEXT | LOGICAL) for _ in range(3)] == LOGICAL_ORDER[:4]
    assert world.get(COMPLETE | MQGMO_BROWSE_MSG_UNDER_CURSOR) == "Y3-1Y3-2"
    assert world.get(FIRST | LOGICAL) == "A"
    assert [world.get(NEXT | LOGICAL) for _ in range(4)] == LOGICAL_ORDER[1:5]
    for option in (MQGMO_MSG_UNDER_CURSOR, MQGMO_BROWSE_MSG_UNDER_CURSOR):
        assert groups.validate_get(world.request(COMPLETE | option)) == MQRC_INVALID_MSG_UNDER_CURSOR
    assert world.get(LOGICAL | MQGMO_MSG_UNDER_CURSOR) == "Y3-2"


@pytest.mark.parametrize(
    ("count", "name", "reason"),
    [(1, "Y1", 0), (2, "Z2", MQRC_INCOMPLETE_GROUP), (4, "Z2", MQRC_INCOMPLETE_MSG), (5, "Z2", 0)],
)
def test_leaving_logical_order_within_a_group(count: int, name: str, reason: int) -> None:
    world = example()
    for _ in range(count):
        world.get(LOGICAL)
    assert groups.close_reason(world.handle) == reason
    request = world.request(ALL_MESSAGES)
    assert world.answer(request) == name
    assert request.reason == reason
    assert groups.close_reason(world.handle) == 0


def test_of_two_incomplete_things_the_message_is_named() -> None:
    world = example()
    for _ in range(2):
        world.get(LOGICAL)
    md = Sent("x", "P", 1, 0, SEGMENT).md()
    groups.record_put(world.handle, md, MQPMO_LOGICAL_ORDER)
    assert groups.close_reason(world.handle) == MQRC_INCOMPLETE_MSG


def test_what_the_get_itself_has_to_say_comes_first() -> None:
    world = example()
    for _ in range(2):
        world.get(LOGICAL)
    request = world.request(ALL_MESSAGES)
    request.reason = MQRC_TRUNCATED_MSG_ACCEPTED
    assert world.answer(request) == "Z2"
    assert request.reason == MQRC_TRUNCATED_MSG_ACCEPTED


def test_going_on_with_a_group_by_number_is_no_reason_to_warn() -> None:
    world = example()
    assert [world.get(LOGICAL) for _ in range(2)] == ["A", "Y1"]
    for options, reason in ((ALL_SEGMENTS | MQGMO_SYNCPOINT, MQRC_INCONSISTENT_UOW), (ALL_SEGMENTS, 0)):
        request = world.request(options)
        request.match = MQMO_MATCH_GROUP_ID
        request.group_id = b"Y".ljust(24, b"\0")
        assert world.answer(request) in ("Y2", "Y3-1")
        assert request.reason == reason
        if reason:
            groups.end_unit_of_work(world.handle, committed=True)
    # And logical order goes on from there.
    assert world.get(LOGICAL) == "Y3-2"


def test_browsing_never_warns() -> None:
    world = example()
    world.get(FIRST | LOGICAL)
    world.get(NEXT | LOGICAL)
    request = world.request(FIRST | ALL_SEGMENTS)
    assert world.answer(request) == "A"
    assert request.reason == 0
    assert groups.close_reason(world.handle) == 0


def test_a_message_that_did_not_fit_is_not_behind_us() -> None:
    world = example()
    world.get(LOGICAL)
    request = world.request(LOGICAL)
    request.reason = MQRC_TRUNCATED_MSG_FAILED
    slot = groups.select(world.engine, request, world.queue)
    groups.after_get(request, world.queue.load(slot).md)
    assert world.get(LOGICAL) == "Y1"


def test_after_a_back_out_the_group_begins_again() -> None:
    world = example()
    options = LOGICAL | MQGMO_SYNCPOINT
    assert [world.get(options) for _ in range(2)] == ["A", "Y1"]
    groups.end_unit_of_work(world.handle, committed=True)
    assert [world.get(options) for _ in range(2)] == ["Y2", "Y3-1"]
    groups.end_unit_of_work(world.handle, committed=False)
    world.put(Sent("Y2 again", "Y", 2, 0, IN_GROUP))
    assert world.get(options) == "Y2 again"


def test_when_there_is_something_to_remember() -> None:
    world = example()
    request = world.request(0)
    request.md = Sent("x").md()
    assert not groups.has_group_effects(request)
    for options, flags in ((LOGICAL, 0), (FIRST, 0), (0, IN_GROUP)):
        request = world.request(options)
        request.md = Sent("x", flags=flags).md()
        assert groups.has_group_effects(request)
    world.get(LOGICAL)
    world.get(LOGICAL)
    request = world.request(0)
    request.md = Sent("x").md()
    assert groups.has_group_effects(request)
