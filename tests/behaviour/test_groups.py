"""Groups, segments and logical order, as programs use them."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.model import constants as mq

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT
ORDER = mq.MQPMO_LOGICAL_ORDER
LOGICAL = mq.MQGMO_LOGICAL_ORDER
MEMBER = mq.MQMF_MSG_IN_GROUP
LAST = mq.MQMF_LAST_MSG_IN_GROUP
WHOLE = mq.MQGMO_COMPLETE_MSG
NOTHING = mq.MQRC_NO_MSG_AVAILABLE
ALLOWED = mq.MQMF_SEGMENTATION_ALLOWED


def put_group(program: Any, queue: int, bodies: list[bytes], options: int = mq.MQPMO_NO_SYNCPOINT, **md: Any) -> bytes:
    """Put a group in logical order; its identifier."""
    group = b""
    for number, body in enumerate(bodies):
        flags = LAST if number == len(bodies) - 1 else MEMBER
        answer = program.put(queue, body, ORDER | options, MsgFlags=flags, **md)
        assert (answer.reason, answer.md["MsgSeqNumber"]) == (0, number + 1)
        group = group or answer.md.id("GroupId")
        assert answer.md.id("GroupId") == group != bytes(24)
    return group


def test_a_group_put_and_got_in_logical_order(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    group = put_group(program, queue, [b"1", b"2", b"3"])
    answers = [program.get(queue, LOGICAL) for _ in range(3)]
    assert [each.body for each in answers] == [b"1", b"2", b"3"]
    assert [each.md["MsgSeqNumber"] for each in answers] == [1, 2, 3]
    assert [chr(each.options["GroupStatus"]) for each in answers] == ["G", "G", "L"]
    assert {each.md.id("GroupId") for each in answers} == {group}
    assert program.get(queue, LOGICAL).reason == NOTHING


def test_groups_of_two_putters_do_not_mix(site: Any, program: Any) -> None:
    name = site.local()
    other = site.program()
    queue, theirs = program.open(name, BOTH), other.open(name, BOTH)
    for number in range(3):
        flags = LAST if number == 2 else MEMBER
        program.put(queue, b"a%d" % number, ORDER, MsgFlags=flags)
        other.put(theirs, b"b%d" % number, ORDER, MsgFlags=flags)
    program.put(queue, b"alone")
    got = [program.get(queue, LOGICAL).body for _ in range(7)]
    assert got == [b"a0", b"a1", b"a2", b"b0", b"b1", b"b2", b"alone"]


def test_physical_order_disregards_groups(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    for number in (3, 1, 2):
        program.put(
            queue, b"%d" % number, GroupId=b"g" * 24, MsgSeqNumber=number, MsgFlags=LAST if number == 3 else MEMBER
        )
    assert program.drain(queue) == [b"3", b"1", b"2"]


def test_all_messages_of_a_group_must_be_there_when_that_is_asked(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    whole = LOGICAL | mq.MQGMO_ALL_MSGS_AVAILABLE
    program.put(queue, b"3", GroupId=b"g" * 24, MsgSeqNumber=3, MsgFlags=LAST)
    program.put(queue, b"1", GroupId=b"g" * 24, MsgSeqNumber=1, MsgFlags=MEMBER)
    assert program.get(queue, whole).reason == NOTHING
    program.put(queue, b"2", GroupId=b"g" * 24, MsgSeqNumber=2, MsgFlags=MEMBER)
    assert [program.get(queue, whole).body for _ in range(3)] == [b"1", b"2", b"3"]


def test_who_waits_for_a_whole_group_gets_it_when_it_is_complete(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    whole = LOGICAL | mq.MQGMO_ALL_MSGS_AVAILABLE | mq.MQGMO_WAIT
    waiting = site.start(program.get, queue, whole, wait=mq.MQWI_UNLIMITED)
    site.until_waiting(name)
    other = site.program()
    theirs = other.open(name, mq.MQOO_OUTPUT)
    other.put(theirs, b"1", ORDER, MsgFlags=MEMBER)
    assert not waiting.done()
    other.put(theirs, b"2", ORDER, MsgFlags=LAST)
    assert waiting.result(60).body == b"1"
    assert program.get(queue, LOGICAL).body == b"2"


def test_a_group_under_syncpoint_is_seen_whole_or_not_at_all(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    put_group(program, queue, [b"1", b"2"], mq.MQPMO_SYNCPOINT, Persistence=1)
    assert program.browse(name) == []
    program.commit()
    assert [program.get(queue, LOGICAL | mq.MQGMO_SYNCPOINT).body for _ in range(2)] == [b"1", b"2"]
    program.back_out()
    assert [program.get(queue, LOGICAL).body for _ in range(2)] == [b"1", b"2"]


def test_leaving_a_group_in_the_middle(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"1", ORDER, MsgFlags=MEMBER)
    answer = program.put(queue, b"alone", ORDER)
    assert (answer.code, answer.reason) == (mq.MQCC_FAILED, mq.MQRC_INCOMPLETE_GROUP)
    assert site.depth(name) == 1, "nothing was put"
    assert program.close(queue) == mq.MQRC_INCOMPLETE_GROUP


def test_a_single_put_has_no_logical_order(site: Any, program: Any) -> None:
    name = site.local()
    assert program.put1(name, b"", ORDER, MsgFlags=MEMBER).reason == mq.MQRC_OPTIONS_ERROR
    assert site.depth(name) == 0
    assert program.put1(name, b"", GroupId=b"g" * 24, MsgFlags=MEMBER).reason == 0


def test_browsing_in_logical_order(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH | mq.MQOO_BROWSE)
    program.put(queue, b"2", GroupId=b"g" * 24, MsgSeqNumber=2, MsgFlags=LAST)
    program.put(queue, b"alone")
    program.put(queue, b"1", GroupId=b"g" * 24, MsgSeqNumber=1, MsgFlags=MEMBER)
    seen = [program.get(queue, LOGICAL | mq.MQGMO_BROWSE_NEXT).body for _ in range(3)]
    assert seen == [b"alone", b"1", b"2"]
    assert program.get(queue, mq.MQGMO_BROWSE_NEXT).reason == mq.MQRC_INCONSISTENT_BROWSE
    assert site.depth(name) == 3


# -- segments


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("put", [mq.MQPMO_NO_SYNCPOINT, mq.MQPMO_SYNCPOINT])
@pytest.mark.parametrize("get", [mq.MQGMO_NO_SYNCPOINT, mq.MQGMO_SYNCPOINT])
def test_a_message_too_long_for_the_queue_is_cut_and_comes_back_whole(
    site: Any, program: Any, persistence: int, put: int, get: int
) -> None:
    name = site.local(MAXMSGL=1000)
    queue = program.open(name, BOTH)
    body = bytes(range(256)) * 20
    answer = program.put(queue, body, put, MsgFlags=ALLOWED, Persistence=persistence)
    assert answer.reason == 0
    program.commit()
    assert site.depth(name) == 6
    got = program.get(queue, WHOLE | get)
    assert (got.reason, got.body, got.length) == (0, body, len(body))
    assert got.message_id == answer.message_id
    assert chr(got.options["SegmentStatus"]) == "L"
    assert (got.md["Offset"], got.md["OriginalLength"]) == (0, len(body))
    assert site.depth(name) == 0
    program.back_out()
    assert site.depth(name) == (6 if get == mq.MQGMO_SYNCPOINT else 0)


def test_without_leave_it_is_refused(site: Any, program: Any) -> None:
    name = site.local(MAXMSGL=1000)
    assert program.put1(name, b"x" * 1001).reason == mq.MQRC_MSG_TOO_BIG_FOR_Q
    assert site.depth(name) == 0


def test_the_pieces_can_be_got_one_by_one(site: Any, program: Any) -> None:
    queue = program.open(site.local(MAXMSGL=1000), BOTH)
    body = bytes(range(250)) * 10
    program.put(queue, body, MsgFlags=ALLOWED)
    pieces = []
    while True:
        answer = program.get(queue, LOGICAL)
        if answer.reason == NOTHING:
            break
        assert answer.md["Offset"] == sum(map(len, pieces))
        pieces.append(answer.body)
    assert [len(each) for each in pieces[:-1]] == [992, 992]
    assert b"".join(pieces) == body


def test_segments_are_all_or_nothing_when_the_queue_has_no_room(site: Any, program: Any) -> None:
    name = site.local(MAXMSGL=1000, MAXDEPTH=3)
    queue = program.open(name, BOTH)
    assert program.put(queue, b"x" * 5000, MsgFlags=ALLOWED).reason == mq.MQRC_Q_FULL
    assert site.depth(name) == 0
    assert program.put(queue, b"x" * 2000, MsgFlags=ALLOWED).reason == 0


def test_an_incomplete_message_is_not_complete(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"x" * 16, GroupId=b"s" * 24, MsgFlags=mq.MQMF_SEGMENT)
    assert program.get(queue, WHOLE).reason == NOTHING
    assert program.get(queue, mq.MQGMO_ALL_SEGMENTS_AVAILABLE).reason == NOTHING
    program.put(queue, b"y" * 8, GroupId=b"s" * 24, Offset=16, MsgFlags=mq.MQMF_LAST_SEGMENT)
    assert program.get(queue, WHOLE).body == b"x" * 16 + b"y" * 8


def test_a_whole_message_too_long_for_the_buffer_stays_in_pieces(site: Any, program: Any) -> None:
    name = site.local(MAXMSGL=1000)
    queue = program.open(name, BOTH)
    program.put(queue, b"x" * 2500, MsgFlags=ALLOWED)
    answer = program.get(queue, WHOLE, 2499)
    assert (answer.reason, answer.length) == (mq.MQRC_TRUNCATED_MSG_FAILED, 2500)
    assert site.depth(name) == 3
    assert program.get(queue, WHOLE, 2500).body == b"x" * 2500


def test_pieces_survive_together(own_site: Any) -> None:
    name = own_site.local(MAXMSGL=1000)
    program = own_site.program()
    body = bytes(range(256)) * 12
    program.put1(name, body, MsgFlags=ALLOWED, Persistence=1)
    own_site.crash()
    program = own_site.program()
    assert program.get(program.open(name, BOTH), WHOLE).body == body
    own_site.crash()
    assert own_site.depth(name) == 0
