"""Browse locks of entries, and gets that take several entries at once."""

from __future__ import annotations

import pytest
from tests.coupling.facility_under_test import FacilityUnderTest
from tests.coupling.members import TestMember, entry_with, join_members

from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, GetAnswer, ListAnswer
from ostler.model.coupling.entries import Entry
from ostler.model.coupling.events import QueueNotEmpty

GROUP = bytes([7]) * 24


def browse(member: TestMember, handle: int, lock: bool = False) -> Entry | None:
    program = p.GetProgram("APPL1", "Q", cf.BROWSE)
    program.handle, program.locks = handle, lock
    answer = member.run(program)
    assert isinstance(answer, GetAnswer)
    return answer.entry


def claim(member: TestMember, entry: bytes, others: list[bytes], handle: int = 0) -> Answer:
    program = p.GetProgram("APPL1", "Q", cf.CLAIM, cf.ENTRY_ID)
    program.id, program.others, program.unit, program.handle = entry, others, member.new_id(), handle
    return member.run(program)


def test_a_locked_entry_is_for_its_handle_only(facility: FacilityUnderTest) -> None:
    one, two = join_members(facility, 2)
    one.put("Q", entry_with(body=b"first"))
    one.put("Q", entry_with(body=b"second"))
    locked = browse(one, 5, lock=True)
    assert locked is not None
    bodies = [found.body for found in (browse(one, 5), browse(one, 6), browse(two, 5), browse(two, 0)) if found]
    assert bodies == [b"first", b"second", b"second", b"second"]
    assert claim(two, locked.id, []).status == cf.NO_MESSAGE
    assert two.run(p.ReleaseProgram("APPL1", "Q", locked.id)).status == cf.NOT_LOCKED
    assert claim(one, locked.id, [], handle=5).status == cf.OK
    assert one.run(p.ReleaseProgram("APPL1", "Q", locked.id)).status == cf.NOT_LOCKED


@pytest.mark.parametrize("is_lost", [False, True])
def test_who_waits_is_told_when_an_entry_is_released_or_its_member_is_lost(
    facility: FacilityUnderTest, is_lost: bool
) -> None:
    one, two = join_members(facility, 2)
    one.put("Q")
    locked = browse(one, 5, lock=True)
    assert locked is not None
    program = p.GetProgram("APPL1", "Q", cf.REMOVE)
    program.watch = True
    assert two.run(program).status == cf.NO_MESSAGE
    if is_lost:
        facility.lose(one.link)
    else:
        one.ok(p.ReleaseProgram("APPL1", "Q", locked.id))
    told = [event for link, event in facility.events() if link == two.link and isinstance(event, QueueNotEmpty)]
    assert [event.queue for event in told] == ["Q"]
    assert two.run(program).status == cf.OK


def test_several_entries_are_claimed_together_or_not_at_all(facility: FacilityUnderTest) -> None:
    one, two = join_members(facility, 2)
    for _ in range(4):
        one.put("Q", entry_with(group_id=GROUP))
    one.put("Q")
    listing = p.ListProgram("APPL1", "Q")
    listing.group_id = GROUP
    answer = one.ok(listing)
    assert isinstance(answer, ListAnswer)
    ids = [entry.id for entry in answer.entries]
    assert len(ids) == 4
    assert claim(two, ids[3], []).status == cf.OK
    assert claim(one, ids[0], ids[1:]).status == cf.NO_MESSAGE
    assert claim(one, ids[0], [ids[0]]).status == cf.BAD_PROGRAM
    assert claim(one, ids[0], ids[1:3]).status == cf.OK
    listed = one.ok(listing)
    assert isinstance(listed, ListAnswer)
    assert (listed.entries, listed.is_end) == ([], True)
