"""Browsing: the cursor, locks, and getting the message under the cursor."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.model import constants as mq

FIRST = mq.MQGMO_BROWSE_FIRST
NEXT = mq.MQGMO_BROWSE_NEXT
AGAIN = mq.MQGMO_BROWSE_MSG_UNDER_CURSOR
LOCK = mq.MQGMO_LOCK
UNLOCK = mq.MQGMO_UNLOCK
TAKE = mq.MQGMO_MSG_UNDER_CURSOR | mq.MQGMO_NO_SYNCPOINT
NONE_LEFT = mq.MQRC_NO_MSG_AVAILABLE
OPEN = mq.MQOO_BROWSE | mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT


def queue_of(site: Any, program: Any, *bodies: bytes) -> int:
    queue = program.open(site.local(), OPEN)
    for body in bodies:
        program.put(queue, body)
    return int(queue)


def other_handle(site: Any, program: Any, queue: int) -> tuple[Any, int]:
    other = site.program()
    return other, other.open(program.handle(queue).name, OPEN)


# -- the cursor


def test_first_next_and_again(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1", b"2", b"3")
    assert program.get(queue, NEXT).body == b"1"
    assert program.get(queue, NEXT).body == b"2"
    assert program.get(queue, AGAIN).body == b"2"
    assert program.get(queue, NEXT).body == b"3"
    assert program.get(queue, NEXT).reason == NONE_LEFT
    assert program.get(queue, AGAIN).body == b"3"
    assert program.get(queue, FIRST).body == b"1"
    assert program.get(queue, NEXT).body == b"2"
    assert site.depth(program.handle(queue).name) == 3


def test_at_the_end_the_next_message_to_come_is_next(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1")
    assert program.get(queue, NEXT).body == b"1"
    assert program.get(queue, NEXT).reason == NONE_LEFT
    program.put(queue, b"2")
    assert program.get(queue, NEXT).body == b"2"


def test_every_handle_has_its_own_cursor(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1", b"2")
    other, theirs = other_handle(site, program, queue)
    assert program.get(queue, NEXT).body == b"1"
    assert program.get(queue, NEXT).body == b"2"
    assert other.get(theirs, NEXT).body == b"1"


def test_browsing_goes_in_order_of_priority(site: Any, program: Any) -> None:
    queue = program.open(site.local(), OPEN)
    for priority in (1, 5, 3, 5):
        program.put(queue, b"%d" % priority, Priority=priority)
    assert [program.get(queue, NEXT).body for _ in range(4)] == [b"5", b"5", b"3", b"1"]
    program.put(queue, b"9", Priority=9)
    assert program.get(queue, NEXT).reason == NONE_LEFT
    program.put(queue, b"0", Priority=0)
    assert program.get(queue, NEXT).body == b"0"
    assert program.get(queue, FIRST).body == b"9"


@pytest.mark.parametrize("gone", [[0], [1], [0, 1], [1, 2], [0, 1, 2]])
def test_the_cursor_survives_the_removal_of_messages_before_and_at_it(site: Any, program: Any, gone: list[int]) -> None:
    queue = queue_of(site, program, b"0", b"1", b"2", b"3")
    other, theirs = other_handle(site, program, queue)
    ids = [program.get(queue, NEXT).message_id for _ in range(2)]
    ids.append(other.browse(program.handle(queue).name)[2].message_id)
    for number in gone:
        assert other.get(theirs, MsgId=ids[number]).reason == 0
    assert program.get(queue, AGAIN).reason == (mq.MQRC_NO_MSG_UNDER_CURSOR if 1 in gone else 0)
    assert program.get(queue, NEXT).body == (b"3" if 2 in gone else b"2")


@pytest.mark.parametrize("options", [AGAIN, TAKE])
def test_without_a_message_under_the_cursor(site: Any, program: Any, options: int) -> None:
    queue = queue_of(site, program, b"1", b"2")
    assert program.get(queue, options).reason == mq.MQRC_NO_MSG_UNDER_CURSOR
    program.get(queue, FIRST)
    assert program.get(queue).body == b"1"
    assert program.get(queue, options).reason == mq.MQRC_NO_MSG_UNDER_CURSOR
    assert program.get(queue, NEXT).body == b"2"


def test_getting_the_message_under_the_cursor_keeps_the_cursor_position(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1", b"2", b"3")
    program.get(queue, NEXT)
    program.get(queue, NEXT)
    assert program.get(queue, TAKE).body == b"2"
    assert program.get(queue, TAKE).reason == mq.MQRC_NO_MSG_UNDER_CURSOR
    assert program.get(queue, NEXT).body == b"3"
    assert program.drain(queue) == [b"1", b"3"]


def test_taking_under_the_cursor_disregards_identifiers(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1")
    program.get(queue, FIRST)
    assert program.get(queue, TAKE, MsgId=b"x" * 24, CorrelId=b"y" * 24).body == b"1"


def test_taken_under_syncpoint_and_backed_out_it_is_there_again(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1", b"2")
    program.get(queue, FIRST)
    assert program.get(queue, mq.MQGMO_MSG_UNDER_CURSOR | mq.MQGMO_SYNCPOINT).body == b"1"
    assert program.get(queue, FIRST).body == b"2"
    program.back_out()
    assert program.get(queue, FIRST).body == b"1"
    assert program.drain(queue) == [b"1", b"2"]


def test_a_message_too_long_for_the_buffer_does_not_move_the_cursor(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1", b"too long", b"3")
    assert program.get(queue, FIRST, 4).body == b"1"
    answer = program.get(queue, NEXT, 4)
    assert (answer.reason, answer.length) == (mq.MQRC_TRUNCATED_MSG_FAILED, 8)
    assert program.get(queue, AGAIN, 4).body == b"1"
    assert program.get(queue, NEXT | mq.MQGMO_ACCEPT_TRUNCATED_MSG, 4).reason == mq.MQRC_TRUNCATED_MSG_ACCEPTED
    assert program.get(queue, AGAIN, 100).body == b"too long"


def test_a_browse_needs_a_handle_for_browsing(site: Any, program: Any) -> None:
    queue = program.open(site.local(), mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
    program.put(queue, b"1")
    for options in (FIRST, NEXT, AGAIN):
        assert program.get(queue, options).reason == mq.MQRC_NOT_OPEN_FOR_BROWSE
    watcher = program.open(program.handle(queue).name, mq.MQOO_BROWSE)
    assert program.get(watcher).reason == mq.MQRC_NOT_OPEN_FOR_INPUT
    assert program.get(watcher, FIRST).body == b"1"
    assert program.get(watcher, TAKE).reason == mq.MQRC_NOT_OPEN_FOR_INPUT


@pytest.mark.parametrize(
    "options",
    [
        FIRST | NEXT,
        FIRST | AGAIN,
        NEXT | mq.MQGMO_MSG_UNDER_CURSOR,
        FIRST | mq.MQGMO_SYNCPOINT,
        NEXT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT,
        LOCK,
        LOCK | UNLOCK | FIRST,
        UNLOCK | FIRST,
        UNLOCK | mq.MQGMO_WAIT,
        mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_SYNCPOINT,
        1 << 29,
    ],
)
def test_options_that_exclude_one_another(site: Any, program: Any, options: int) -> None:
    queue = queue_of(site, program, b"1")
    assert program.get(queue, options).reason == mq.MQRC_OPTIONS_ERROR
    assert program.drain(queue) == [b"1"]


# -- locks


def test_a_locked_message_is_there_for_its_handle_only(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1", b"2")
    other, theirs = other_handle(site, program, queue)
    assert program.get(queue, FIRST | LOCK).body == b"1"
    assert other.get(theirs, FIRST).body == b"2"
    assert other.get(theirs).body == b"2"
    assert other.get(theirs).reason == NONE_LEFT
    assert site.depth(program.handle(queue).name) == 1
    assert program.get(queue, TAKE).body == b"1"


def test_another_handle_of_the_same_program_is_another_handle(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1")
    program.get(queue, FIRST | LOCK)
    second = program.open(program.handle(queue).name, OPEN)
    assert program.get(second).reason == NONE_LEFT
    assert program.get(queue).body == b"1"


def test_unlocking_gives_it_back(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1")
    other, theirs = other_handle(site, program, queue)
    program.get(queue, FIRST | LOCK)
    answer = program.get(queue, UNLOCK)
    assert (answer.code, answer.reason, answer.body) == (mq.MQCC_OK, 0, b"")
    assert other.get(theirs).body == b"1"
    answer = program.get(queue, UNLOCK)
    assert (answer.code, answer.reason) == (mq.MQCC_WARNING, mq.MQRC_NO_MSG_LOCKED)


def test_a_lock_goes_over_to_the_next_message(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1", b"2")
    other, theirs = other_handle(site, program, queue)
    program.get(queue, NEXT | LOCK)
    assert program.get(queue, NEXT | LOCK).body == b"2"
    assert other.get(theirs).body == b"1"
    assert other.get(theirs).reason == NONE_LEFT


@pytest.mark.parametrize("options", [FIRST, NEXT])
def test_browsing_on_without_the_option_gives_the_lock_up(site: Any, program: Any, options: int) -> None:
    queue = queue_of(site, program, b"1", b"2")
    other, theirs = other_handle(site, program, queue)
    program.get(queue, FIRST | LOCK)
    assert program.get(queue, options).reason == 0
    assert other.get(theirs).body == b"1"


def test_the_end_of_the_queue_gives_the_lock_up(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1")
    other, theirs = other_handle(site, program, queue)
    program.get(queue, FIRST | LOCK)
    assert program.get(queue, NEXT | LOCK).reason == NONE_LEFT
    assert other.get(theirs).body == b"1"


def test_a_browse_that_fails_keeps_the_lock(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1", b"too long")
    other, theirs = other_handle(site, program, queue)
    program.get(queue, FIRST | LOCK, 4)
    assert program.get(queue, NEXT, 4).reason == mq.MQRC_TRUNCATED_MSG_FAILED
    assert other.get(theirs).body == b"too long"
    assert other.get(theirs).reason == NONE_LEFT
    assert program.get(queue, UNLOCK).reason == 0


def test_browsing_under_the_cursor_keeps_the_lock(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1")
    other, theirs = other_handle(site, program, queue)
    program.get(queue, FIRST | LOCK)
    assert program.get(queue, AGAIN).body == b"1"
    assert other.get(theirs).reason == NONE_LEFT
    assert program.get(queue, FIRST | LOCK).body == b"1"
    assert other.get(theirs).reason == NONE_LEFT


def test_closing_gives_the_lock_up(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1")
    other, theirs = other_handle(site, program, queue)
    program.get(queue, FIRST | LOCK)
    program.close(queue)
    assert other.get(theirs).body == b"1"


def test_who_waits_gets_what_is_unlocked(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1")
    name = program.handle(queue).name
    other, theirs = other_handle(site, program, queue)
    program.get(queue, FIRST | LOCK)
    waiting = site.start(other.get, theirs, mq.MQGMO_WAIT, wait=mq.MQWI_UNLIMITED)
    site.until_waiting(name)
    program.get(queue, UNLOCK)
    assert waiting.result(60).body == b"1"


def test_waiting_for_the_next_message_gives_the_lock_up_first(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1")
    name = program.handle(queue).name
    other, theirs = other_handle(site, program, queue)
    program.get(queue, FIRST | LOCK)
    waiting = site.start(program.get, queue, NEXT | LOCK | mq.MQGMO_WAIT, wait=mq.MQWI_UNLIMITED)
    site.until_waiting(name)
    assert other.get(theirs).body == b"1"
    other.put(theirs, b"2")
    assert waiting.result(60).body == b"2"
    assert other.get(theirs).reason == NONE_LEFT


@pytest.mark.parametrize("options", [AGAIN, TAKE])
def test_what_another_has_locked_is_not_under_the_cursor(site: Any, program: Any, options: int) -> None:
    queue = queue_of(site, program, b"1")
    other, theirs = other_handle(site, program, queue)
    program.get(queue, FIRST)
    other.get(theirs, FIRST | LOCK)
    assert program.get(queue, options).reason == mq.MQRC_NO_MSG_UNDER_CURSOR
    other.get(theirs, UNLOCK)
    assert program.get(queue, options).body == b"1"


def test_a_locked_message_taken_and_backed_out_is_not_locked_any_more(site: Any, program: Any) -> None:
    queue = queue_of(site, program, b"1")
    other, theirs = other_handle(site, program, queue)
    program.get(queue, FIRST | LOCK)
    assert program.get(queue, mq.MQGMO_MSG_UNDER_CURSOR | mq.MQGMO_SYNCPOINT).body == b"1"
    program.back_out()
    assert program.get(queue, UNLOCK).reason == mq.MQRC_NO_MSG_LOCKED
    assert other.get(theirs).body == b"1"
