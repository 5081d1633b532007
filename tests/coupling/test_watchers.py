"""Watches: who is told that a queue has something, and when."""

from __future__ import annotations

import pytest
from tests.coupling.facility_under_test import FacilityUnderTest
from tests.coupling.members import TestMember, entry_with, join_members

from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import GetAnswer
from ostler.model.coupling.events import QueueNotEmpty

ID = b"identifier".ljust(24)
OTHER = b"another one".ljust(24)


def told(facility: FacilityUnderTest) -> list[tuple[int, int, bytes]]:
    """Return the members that were told of queue Q, with match and identifier."""
    found = []
    for link, event in facility.events():
        assert isinstance(event, QueueNotEmpty)
        assert (event.structure, event.queue) == ("APPL1", "Q")
        found.append((link, event.match, event.id))
    return found


def waiters(facility: FacilityUnderTest, count: int) -> list[TestMember]:
    """Return members of which all but the first watch queue Q."""
    members = join_members(facility, count + 1)
    for member in members[1:]:
        member.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS))
    facility.tick(1_000)
    return members


def test_one_waiter_after_another_is_told_while_the_queue_is_not_empty(facility: FacilityUnderTest) -> None:
    putter, *_ = waiters(facility, 3)
    putter.put("Q")
    assert told(facility) == [(2, cf.FIRST, b"")]
    facility.tick(1_001)
    assert told(facility) == []
    assert facility.next_tick_ms() == 1_000 + cf.WAKE_MS
    facility.tick(1_002)
    assert told(facility) == [(3, cf.FIRST, b"")]
    facility.tick(1_004)
    assert told(facility) == [(4, cf.FIRST, b"")]
    # Nobody wants it. Silence until something else comes.
    facility.tick(1_100)
    assert told(facility) == []
    assert facility.next_tick_ms() == 0
    putter.put("Q")
    assert told(facility) == [(2, cf.FIRST, b"")]


def test_entries_that_come_meanwhile_wait_for_their_turn(facility: FacilityUnderTest) -> None:
    putter, *_ = waiters(facility, 2)
    for _ in range(100):
        putter.put("Q")
    assert told(facility) == [(2, cf.FIRST, b"")]
    facility.tick(1_002)
    assert told(facility) == [(3, cf.FIRST, b"")]


def test_a_queue_that_was_emptied_is_told_at_once_when_it_has_something_again(facility: FacilityUnderTest) -> None:
    putter, first, _ = waiters(facility, 2)
    putter.put("Q")
    first.ok(p.GetProgram("APPL1", "Q", cf.REMOVE))
    putter.put("Q")
    assert told(facility) == [(2, cf.FIRST, b""), (3, cf.FIRST, b"")]
    # The first turn has ended with the empty queue; only the second one is still to be looked after.
    facility.tick(1_002)
    assert told(facility) == [(2, cf.FIRST, b"")]


def test_watching_a_queue_that_is_not_empty_tells_at_once(facility: FacilityUnderTest) -> None:
    putter, watcher = join_members(facility, 2)
    putter.put("Q")
    watcher.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS))
    assert told(facility) == [(2, cf.FIRST, b"")]


def test_a_get_that_finds_nothing_can_watch(facility: FacilityUnderTest) -> None:
    putter, watcher = join_members(facility, 2)
    program = p.GetProgram("APPL1", "Q", cf.REMOVE)
    program.watch = True
    answer = watcher.run(program)
    assert isinstance(answer, GetAnswer)
    assert (answer.status, answer.is_watched) == (cf.NO_MESSAGE, True)
    putter.put("Q")
    assert told(facility) == [(2, cf.FIRST, b"")]
    assert watcher.run(program).status == cf.OK


@pytest.mark.parametrize(
    ("match", "id", "wrong"),
    [
        (cf.MSG_ID, ID, OTHER),
        (cf.CORREL_ID, OTHER, ID),
        (cf.GROUP_ID, ID + b"", OTHER),
        (cf.MSG_AND_CORREL_ID, ID + OTHER, ID + ID),
    ],
)
def test_a_watch_for_an_identifier_is_told_once(
    facility: FacilityUnderTest, match: int, id: bytes, wrong: bytes
) -> None:
    putter, watcher = join_members(facility, 2)
    watcher.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS, match, id))
    watcher.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS, match, wrong))
    putter.put("Q", entry_with(message_id=ID, correlation_id=OTHER, group_id=ID))
    assert told(facility) == [(2, match, id)]
    putter.put("Q", entry_with(message_id=ID, correlation_id=OTHER, group_id=ID))
    assert told(facility) == []
    # It is there already.
    watcher.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS, match, id))
    assert told(facility) == [(2, match, id)]


def test_committed_and_backed_out_units_are_told_when_they_are_decided(facility: FacilityUnderTest) -> None:
    putter, watcher = join_members(facility, 2)
    watcher.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS, cf.CORREL_ID, ID))
    unit = putter.new_id()
    putter.put("Q", entry_with(correlation_id=ID), unit)
    assert told(facility) == []
    putter.ok(p.DecideProgram(unit, True))
    assert told(facility) == [(2, cf.CORREL_ID, ID)]
    claim = p.GetProgram("APPL1", "Q", cf.CLAIM)
    claim.unit = putter.new_id()
    putter.ok(claim)
    watcher.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS, cf.CORREL_ID, ID))
    assert told(facility) == []
    putter.ok(p.DecideProgram(claim.unit, False))
    assert told(facility) == [(2, cf.CORREL_ID, ID)]


def test_all_watchers_for_triggers_are_told_when_the_queue_becomes_non_empty(facility: FacilityUnderTest) -> None:
    putter, first, second = join_members(facility, 3)
    for member in (first, second):
        member.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_TRIGGERS))
    putter.put("Q")
    events = facility.events()
    assert [(link, event.triggers) for link, event in events if isinstance(event, QueueNotEmpty)] == [
        (2, True),
        (3, True),
    ]
    putter.put("Q")
    assert facility.events() == []


def test_a_watcher_that_is_gone_does_not_hold_the_others_up(facility: FacilityUnderTest) -> None:
    putter, first, second, third = waiters(facility, 3)
    putter.put("Q")
    second.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_OFF))
    first.ok(p.DisconnectProgram("APPL1"))
    facility.lose(third.link)
    told_before = [link for link, event in facility.events() if isinstance(event, QueueNotEmpty)]
    assert told_before == [2]
    facility.tick(1_002)
    assert [event for _, event in facility.events() if isinstance(event, QueueNotEmpty)] == []
    second.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS))
    assert told(facility) == [(3, cf.FIRST, b"")]
    putter.put("Q")
    assert told(facility) == [(3, cf.FIRST, b"")]


def test_ended_watches_for_identifiers_are_not_told(facility: FacilityUnderTest) -> None:
    putter, watcher = join_members(facility, 2)
    watcher.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS, cf.CORREL_ID, ID))
    watcher.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_OFF, cf.CORREL_ID, ID))
    putter.put("Q", entry_with(correlation_id=ID))
    assert told(facility) == []
