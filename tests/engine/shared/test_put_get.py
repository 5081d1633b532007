"""Puts and gets of shared queues: what one member puts, another one gets."""

from __future__ import annotations

import pytest
from tests.world.group.group_world import GroupWorld, MemberWorld

from ostler.coupling.put_get import VISITED_MAX
from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.model import constants as mq

INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE


def id24(text: str) -> bytes:
    return text.encode().ljust(24, b"\0")


class Pair:
    """Two members with the queue open."""

    def __init__(self, **attributes: int) -> None:
        self.group = GroupWorld("QM1", "QM2")
        self.group.define_structure("APP1")
        self.group.define_queue("Q", attributes=dict(attributes))
        self.a, self.b = self.group.members
        self.at_a, self.out = opened(self.a)
        self.at_b, self.into = opened(self.b)


def opened(member: MemberWorld) -> tuple[Connection, Handle]:
    application = member.connect()
    return application, member.open(application, "Q", INPUT_OUTPUT)


@pytest.mark.parametrize("persistence", [0, 1])
def test_a_message_put_at_one_member_is_got_at_another(persistence: int) -> None:
    pair = Pair()
    assert pair.a.put(pair.at_a, pair.out, b"Hello", persistence=persistence).reason == 0
    got = pair.b.get(pair.at_b, pair.into)
    assert (got.reason, got.body) == (0, b"Hello")
    assert pair.b.get(pair.at_b, pair.into).reason == mq.MQRC_NO_MSG_AVAILABLE
    assert pair.group.entries() == {"committed": 0, "uncommitted": 0, "got": 0}


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("committed", [True, False])
def test_puts_in_a_unit_are_seen_when_it_is_committed(persistence: int, committed: bool) -> None:
    pair = Pair()
    for number in range(3):
        pair.a.put(pair.at_a, pair.out, b"%d" % number, persistence=persistence, syncpoint=True)
    assert pair.b.get(pair.at_b, pair.into).reason == mq.MQRC_NO_MSG_AVAILABLE
    assert pair.group.entries()["uncommitted"] == 3
    if committed:
        assert pair.a.commit(pair.at_a)[0] == 0
    else:
        assert pair.a.back_out(pair.at_a) == 0
    assert pair.b.bodies("Q") == ([b"0", b"1", b"2"] if committed else [])
    assert pair.group.entries()["uncommitted"] == 0


@pytest.mark.parametrize("persistence", [0, 1])
def test_gets_in_a_unit_return_with_a_back_out(persistence: int) -> None:
    pair = Pair()
    for number in range(2):
        pair.a.put(pair.at_a, pair.out, b"%d" % number, persistence=persistence)
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_SYNCPOINT).body == b"0"
    assert pair.a.bodies("Q") == [b"1"]
    assert pair.b.back_out(pair.at_b) == 0
    returned = pair.a.get(pair.at_a, pair.out, mq.MQGMO_SYNCPOINT)
    assert returned.body == b"0"
    assert int.from_bytes(returned.md[96:100], "little") == 1, "the back-out count"
    assert pair.a.commit(pair.at_a)[0] == 0
    assert pair.b.bodies("Q") == [b"1"]


def test_priorities_and_fifo() -> None:
    pair = Pair(MSGDLVSQ=mq.MQMDS_PRIORITY)
    for priority in (1, 5, 3, 5):
        pair.a.put(pair.at_a, pair.out, b"%d" % priority, priority=priority, persistence=0)
    assert pair.b.bodies("Q") == [b"5", b"5", b"3", b"1"]
    fifo = Pair(MSGDLVSQ=mq.MQMDS_FIFO)
    for priority in (1, 5, 3):
        fifo.a.put(fifo.at_a, fifo.out, b"%d" % priority, priority=priority, persistence=0)
    assert fifo.b.bodies("Q") == [b"1", b"5", b"3"]


def test_gets_by_identifier_need_their_index() -> None:
    pair = Pair(INDXTYPE=mq.MQIT_CORREL_ID)
    for name in ("x", "y"):
        pair.a.put(pair.at_a, pair.out, name.encode(), message_id=id24(name), correlation_id=id24(name + name))
    by_message = pair.b.get(pair.at_b, pair.into, message_id=id24("y"))
    assert by_message.reason == mq.MQRC_MSG_ID_ERROR
    assert pair.b.get(pair.at_b, pair.into, correlation_id=id24("yy")).body == b"y"
    both = pair.b.get(pair.at_b, pair.into, message_id=id24("x"), correlation_id=id24("yy"))
    assert both.reason == mq.MQRC_NO_MSG_AVAILABLE
    assert pair.b.get(pair.at_b, pair.into, message_id=id24("x"), correlation_id=id24("xx")).body == b"x"


@pytest.mark.parametrize(
    ("index", "by_message", "by_correlation", "by_both"),
    [
        (mq.MQIT_NONE, 0, mq.MQRC_CORREL_ID_ERROR, mq.MQRC_MSG_ID_ERROR),
        (mq.MQIT_MSG_ID, 0, mq.MQRC_CORREL_ID_ERROR, 0),
        (mq.MQIT_CORREL_ID, mq.MQRC_MSG_ID_ERROR, 0, 0),
        (mq.MQIT_GROUP_ID, mq.MQRC_MSG_ID_ERROR, mq.MQRC_CORREL_ID_ERROR, mq.MQRC_MSG_ID_ERROR),
    ],
)
def test_index_types(index: int, by_message: int, by_correlation: int, by_both: int) -> None:
    pair = Pair(INDXTYPE=index)
    empty = mq.MQRC_NO_MSG_AVAILABLE
    one, two = id24("1"), id24("2")
    assert pair.b.get(pair.at_b, pair.into, message_id=one).reason == (by_message or empty)
    assert pair.b.get(pair.at_b, pair.into, correlation_id=two).reason == (by_correlation or empty)
    assert pair.b.get(pair.at_b, pair.into, message_id=one, correlation_id=two).reason == (by_both or empty)
    logical = pair.b.get(pair.at_b, pair.into, mq.MQGMO_LOGICAL_ORDER)
    is_group = index == mq.MQIT_GROUP_ID
    assert logical.reason == (empty if is_group else mq.MQRC_Q_INDEX_TYPE_ERROR)


def test_a_message_that_is_too_long_stays() -> None:
    pair = Pair()
    pair.a.put(pair.at_a, pair.out, b"0123456789", persistence=0)
    short = pair.b.get(pair.at_b, pair.into, bytes_max=4)
    assert (short.reason, short.body, short.data_bytes) == (mq.MQRC_TRUNCATED_MSG_FAILED, b"0123", 10)
    assert pair.b.bodies("Q") == [b"0123456789"]
    cut = pair.b.get(pair.at_b, pair.into, mq.MQGMO_ACCEPT_TRUNCATED_MSG, bytes_max=4)
    assert (cut.reason, cut.body, cut.data_bytes) == (mq.MQRC_TRUNCATED_MSG_ACCEPTED, b"0123", 10)
    assert pair.b.bodies("Q") == []


def test_browsing_moves_a_cursor() -> None:
    pair = Pair()
    for number in range(3):
        pair.a.put(pair.at_a, pair.out, b"%d" % number, persistence=0)
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_BROWSE_FIRST).body == b"0"
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_BROWSE_NEXT).body == b"1"
    pair.a.get(pair.at_a, pair.out)
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_BROWSE_MSG_UNDER_CURSOR).body == b"1"
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_MSG_UNDER_CURSOR).body == b"1"
    gone = pair.b.get(pair.at_b, pair.into, mq.MQGMO_MSG_UNDER_CURSOR)
    assert gone.reason == mq.MQRC_NO_MSG_UNDER_CURSOR
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_BROWSE_NEXT).body == b"2"
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_BROWSE_NEXT).reason == mq.MQRC_NO_MSG_AVAILABLE


def test_a_waiting_get_hears_of_a_message_at_another_member() -> None:
    pair = Pair()
    waiting = pair.b.get(pair.at_b, pair.into, mq.MQGMO_WAIT, wait_ms=60_000)
    assert not waiting.done
    pair.a.put(pair.at_a, pair.out, b"at last", persistence=0)
    assert waiting.done
    assert waiting.body == b"at last"


def test_waiting_gets_share_what_comes() -> None:
    pair = Pair(INDXTYPE=mq.MQIT_CORREL_ID)
    anybody = []
    for _ in range(5):
        application, handle = opened(pair.b)
        anybody.append(pair.b.get(application, handle, mq.MQGMO_WAIT, wait_ms=60_000))
    application, handle = opened(pair.b)
    chosen = pair.b.get(application, handle, mq.MQGMO_WAIT, wait_ms=60_000, correlation_id=id24("mine"))
    with pair.group.hold():
        for number in range(5):
            pair.a.put_later(pair.at_a, pair.out, b"%d" % number, persistence=0)
    pair.group.settle()
    assert sorted(each.body for each in anybody) == [b"0", b"1", b"2", b"3", b"4"]
    assert not chosen.done
    pair.a.put(pair.at_a, pair.out, b"mine", persistence=0, correlation_id=id24("mine"))
    assert chosen.body == b"mine"


def test_expired_messages_are_not_got_and_go_away() -> None:
    pair = Pair()
    pair.a.put(pair.at_a, pair.out, b"soon over", persistence=1, expiry_tenths=10)
    pair.a.put(pair.at_a, pair.out, b"stays", persistence=0)
    pair.group.tick(2000)
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_BROWSE_FIRST).body == b"stays"
    assert pair.group.entries()["committed"] == 2
    pair.group.ticks()
    assert pair.group.entries() == {"committed": 1, "uncommitted": 0, "got": 0}


def test_a_get_goes_on_when_the_facility_has_stopped_among_expired_messages() -> None:
    """One program looks at VISITED_MAX entries; the member asks again from there."""
    pair = Pair(INDXTYPE=mq.MQIT_CORREL_ID, MAXDEPTH=2 * VISITED_MAX)
    for _ in range(VISITED_MAX + 1):
        pair.a.put(pair.at_a, pair.out, b"soon over", persistence=0, expiry_tenths=10, correlation_id=id24("id"))
    for body in (b"browsed", b"in a unit", b"alone", b"by identifier"):
        pair.a.put(pair.at_a, pair.out, body, persistence=1, correlation_id=id24("id"))
    pair.group.tick(2000)
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_BROWSE_FIRST).body == b"browsed"
    assert pair.b.get(pair.at_b, pair.into).body == b"browsed"
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_SYNCPOINT).body == b"in a unit"
    assert pair.b.commit(pair.at_b)[0] == 0
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_CONVERT, bytes_max=100).body == b"alone"
    assert pair.b.get(pair.at_b, pair.into, correlation_id=id24("id")).body == b"by identifier"
    assert pair.b.get(pair.at_b, pair.into).reason == mq.MQRC_NO_MSG_AVAILABLE
    waiting = pair.b.get(pair.at_b, pair.into, mq.MQGMO_WAIT, wait_ms=60_000)
    assert not waiting.done
    pair.a.put(pair.at_a, pair.out, b"awaited", persistence=0)
    assert waiting.body == b"awaited"
    assert pair.b.engine.units_of_work == {}
