"""Browse locks of shared queues among members, and CLEAR QLOCAL."""

from __future__ import annotations

import pytest
from tests.engine.shared.test_put_get import INPUT_OUTPUT, Pair, opened

from ostler.engine.shared.clearing import SharedClear, begin_clear
from ostler.model import constants as mq

LOCK_FIRST = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_LOCK
LOCK_NEXT = mq.MQGMO_BROWSE_NEXT | mq.MQGMO_LOCK


def filled(count: int = 3) -> Pair:
    pair = Pair()
    for number in range(count):
        pair.a.put(pair.at_a, pair.out, b"%d" % number, persistence=number % 2)
    return pair


def test_a_locked_message_is_not_for_others() -> None:
    pair = filled()
    assert pair.b.get(pair.at_b, pair.into, LOCK_FIRST).body == b"0"
    assert pair.a.get(pair.at_a, pair.out, mq.MQGMO_BROWSE_FIRST).body == b"1"
    other, handle = opened(pair.b)
    assert pair.b.get(other, handle).body == b"1"
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_MSG_UNDER_CURSOR).body == b"0"
    assert pair.a.get(pair.at_a, pair.out).body == b"2"


def test_the_next_browse_and_the_close_end_a_lock() -> None:
    pair = filled()
    assert pair.b.get(pair.at_b, pair.into, LOCK_FIRST).body == b"0"
    assert pair.b.get(pair.at_b, pair.into, LOCK_NEXT).body == b"1"
    assert pair.a.get(pair.at_a, pair.out, mq.MQGMO_BROWSE_FIRST).body == b"0"
    assert pair.a.get(pair.at_a, pair.out, mq.MQGMO_BROWSE_NEXT).body == b"2"
    pair.b.close(pair.at_b, pair.into)
    assert pair.a.bodies("Q") == [b"0", b"1", b"2"]


def test_unlock() -> None:
    pair = filled(1)
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_UNLOCK).reason == mq.MQRC_NO_MSG_LOCKED
    pair.b.get(pair.at_b, pair.into, LOCK_FIRST)
    waiting = pair.a.get(pair.at_a, pair.out, mq.MQGMO_WAIT, wait_ms=60_000)
    assert not waiting.done
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_UNLOCK).reason == 0
    assert waiting.body == b"0"
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_UNLOCK).reason == mq.MQRC_NO_MSG_LOCKED


@pytest.mark.parametrize("how", ["dies", "loses its link"])
def test_locks_go_with_their_member(how: str) -> None:
    pair = filled(1)
    pair.b.get(pair.at_b, pair.into, LOCK_FIRST)
    assert pair.a.bodies("Q") == []
    if how == "dies":
        pair.b.die()
    else:
        pair.b.port.lose()
    pair.group.settle()
    assert pair.a.bodies("Q") == [b"0"]
    if how != "dies":
        assert pair.into.locked_entry == b""


def test_a_browse_into_a_small_buffer_locks_nothing_new() -> None:
    pair = filled(2)
    assert pair.b.get(pair.at_b, pair.into, LOCK_FIRST).body == b"0"
    failed = pair.b.get(pair.at_b, pair.into, LOCK_NEXT, bytes_max=0)
    assert failed.reason == mq.MQRC_TRUNCATED_MSG_FAILED
    assert pair.a.bodies("Q") == [b"1"]


def cleared(pair: Pair) -> SharedClear:
    clear = begin_clear(pair.a.engine, pair.a.engine.queues["Q"])
    pair.group.settle()
    assert clear.is_done
    return clear


def test_clear_removes_all_messages_and_is_in_the_log() -> None:
    pair = filled(5)
    open_elsewhere = cleared(pair)
    assert open_elsewhere.failure is not None
    assert open_elsewhere.failure.reason == mq.MQRC_OBJECT_IN_USE
    assert len(pair.a.bodies("Q")) == 5
    pair.a.disconnect(pair.at_a)
    pair.b.disconnect(pair.at_b)
    pair.group.settle()
    clear = cleared(pair)
    assert clear.failure is None
    assert clear.cleared == 5
    assert pair.group.entries() == {"committed": 0, "uncommitted": 0, "got": 0}
    assert pair.a.engine.units_of_work == {}


def test_a_member_that_dies_while_it_clears_leaves_all_or_nothing() -> None:
    for steps in range(12):
        pair = filled(4)
        pair.a.disconnect(pair.at_a)
        pair.b.disconnect(pair.at_b)
        pair.group.settle()
        with pair.group.hold():
            begin_clear(pair.a.engine, pair.a.engine.queues["Q"])
            for _ in range(steps):
                pair.a.step()
            pair.a.die()
        pair.group.settle()
        pair.a.come_back()
        counts = pair.group.entries()
        assert counts["committed"] in (0, 4)
        assert (counts["uncommitted"], counts["got"]) == (0, 0)
        assert pair.b.open(pair.b.connect(), "Q", INPUT_OUTPUT).valid
