"""The machine in cases that chance seldom meets: limits, slices, lost recoverers, a fenced member that wakes."""

from __future__ import annotations

import pytest
from tests.coupling.facility_under_test import IDENTITY, FacilityUnderTest
from tests.coupling.members import SIZE, TestMember, entry_with, join_members

from ostler.coupling.put_get import VISITED_MAX
from ostler.coupling.structure import FREED_KEPT_MAX, FreedReferences
from ostler.model.coupling import events as ev
from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import (
    ConnectAnswer,
    DumpAnswer,
    FreedAnswer,
    GetAnswer,
    JoinAnswer,
    ListAnswer,
    LocksAnswer,
    MembersAnswer,
    QueueAnswer,
    StatusAnswer,
)
from ostler.model.coupling.entries import elements_of, make_id, make_key, space_of, usable_bytes


def status(member: TestMember, program: p.Program) -> str:
    return cf.STATUS_NAMES[member.run(program).status]


# Space.


def test_space_is_reckoned_as_in_the_report() -> None:
    """16 KB held whole: 1 entry and 66 elements. Offloaded: 1 entry and 2 elements, 0.75 KB."""
    assert elements_of(16 << 10) == 66
    assert space_of(16 << 10) == 67 * 256
    assert space_of(0) == 768
    assert [elements_of(121), elements_of(122)] == [2, 3]
    # 0.5 GB hold 17,101 whole messages of 16 KB and 141,065 offloaded ones, when the rules switch at 80 percent.
    assert usable_bytes(512 << 20) // 256 == pytest.approx(17_101 * 67 + 141_065 * 3, rel=0.0001)


def test_a_full_structure_refuses_puts_and_serves_gets(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    member.ok(p.ConnectProgram("SMALL", 64 << 10, 5))
    count = 0
    while True:
        entry = entry_with(body=bytes(10_000))
        entry.id = member.new_id()
        answer = member.run(p.PutProgram("SMALL", "Q", entry))
        if answer.status != cf.OK:
            break
        count += 1
    assert cf.STATUS_NAMES[answer.status] == "STRUCTURE_FULL"
    assert (count, answer.limit_bytes) == (4, usable_bytes(64 << 10))
    assert answer.used_bytes == 4 * space_of(10_000)
    unit = member.new_id()
    claim = p.GetProgram("SMALL", "Q", cf.CLAIM)
    claim.unit = unit
    member.ok(claim)
    assert status(member, p.PutProgram("SMALL", "Q", entry)) == "STRUCTURE_FULL"
    member.ok(p.DecideProgram(unit, True))
    assert status(member, p.PutProgram("SMALL", "Q", entry)) == "OK"


def test_members_are_told_how_full_a_structure_is_in_steps(facility: FacilityUnderTest) -> None:
    member, other = join_members(facility, 2)
    for each in (member, other):
        each.ok(p.ConnectProgram("SMALL", 64 << 10, 5))
    facility.events()
    for _ in range(4):
        member.put("Q", entry_with(body=bytes(9_000)), structure="SMALL")
    told = [(link, event.percent) for link, event in facility.events() if isinstance(event, ev.Threshold)]
    step = space_of(9_000) * 100 / usable_bytes(64 << 10)
    assert told == [(link, int(step * times)) for times in (1, 2, 3, 4) for link in (1, 2)]
    member.ok(p.PurgeProgram("SMALL", "Q"))
    assert [event.percent for _, event in facility.events() if isinstance(event, ev.Threshold)] == [0, 0]


# Limits.


def test_a_structure_has_so_many_queues_and_forgets_idle_ones(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    for number in range(cf.HEADERS_MAX):
        member.put(f"Q{number}")
    entry = entry_with()
    entry.id = member.new_id()
    assert status(member, p.PutProgram("APPL1", "ANOTHER", entry)) == "LIMIT"
    assert status(member, p.OpenProgram("APPL1", "ANOTHER", cf.OUTPUT)) == "LIMIT"
    assert status(member, p.WatchProgram("APPL1", "ANOTHER", cf.WATCH_WAITERS)) == "LIMIT"
    member.ok(p.GetProgram("APPL1", "Q3", cf.REMOVE))
    member.ok(p.PutProgram("APPL1", "ANOTHER", entry))


def test_a_unit_has_so_many_operations(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    unit = member.new_id()
    for _ in range(cf.UNIT_OPERATIONS_MAX):
        member.put("Q", unit=unit)
    entry = entry_with()
    entry.id = member.new_id()
    assert status(member, p.PutProgram("APPL1", "Q", entry, unit)) == "UNIT_FULL"
    member.ok(p.DecideProgram(unit, True))
    answer = member.ok(p.InquireProgram("APPL1", "Q"))
    assert isinstance(answer, QueueAnswer)
    assert (answer.depth, answer.uncommitted) == (cf.UNIT_OPERATIONS_MAX, 0)


def test_members_structures_and_locks_have_limits(facility: FacilityUnderTest) -> None:
    members = join_members(facility, cf.MEMBERS_MAX)
    late = TestMember(facility, 50)
    assert cf.STATUS_NAMES[late.join().status] == "LIMIT"
    members[4].ok(p.LeaveProgram())
    assert late.join().status == cf.OK
    for number in range(cf.STRUCTURES_MAX - 1):
        late.ok(p.ConnectProgram(f"S{number}", SIZE, 5))
    assert status(late, p.ConnectProgram("ONE.MORE", SIZE, 5)) == "LIMIT"
    late.ok(p.DeleteStructureProgram("S7"))
    late.ok(p.ConnectProgram("ONE.MORE", SIZE, 5))
    for number in range(cf.LOCKS_MAX):
        late.ok(p.LockProgram(f"L{number:05}"))
    assert status(late, p.LockProgram("ONE.MORE")) == "LIMIT"
    listed = late.ok(p.LocksProgram("L"))
    assert isinstance(listed, LocksAnswer)
    assert (len(listed.locks), listed.is_end) == (cf.LOCKS_LISTED_MAX, False)
    rest = late.ok(p.LocksProgram("L", f"L{cf.LOCKS_MAX - 11:05}"))
    assert isinstance(rest, LocksAnswer)
    assert (rest.locks[0].name, len(rest.locks), rest.is_end) == ("L09990", 10, True)


@pytest.mark.slow
def test_watches_for_identifiers_have_a_limit(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    for number in range(cf.ID_WATCHES_MAX):
        watched = (number + 1).to_bytes(24, "big")
        member.run(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS, cf.CORREL_ID, watched))
    assert status(member, p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS, cf.CORREL_ID, b"x" * 24)) == "LIMIT"
    program = p.GetProgram("APPL1", "Q", cf.REMOVE, cf.CORREL_ID)
    program.id, program.watch = b"x" * 24, True
    answer = member.run(program)
    assert isinstance(answer, GetAnswer)
    assert (answer.status, answer.is_watched) == (cf.NO_MESSAGE, False)


def test_refused_logged_puts_are_noted_until_forgotten(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    member.put("Q")

    def logged_put(number: int) -> str:
        entry = entry_with()
        entry.id = member.new_id()
        return status(member, p.PutProgram("APPL1", "Q", entry, b"", 1, number))

    for number in range(1, cf.REFUSED_MAX + 1):
        assert logged_put(number) == "Q_FULL"
    assert logged_put(cf.REFUSED_MAX + 1) == "LIMIT"
    member.ok(p.PurgeProgram("APPL1", "Q"))
    # Too many are noted: a later put must not make an earlier one count as done.
    assert logged_put(cf.REFUSED_MAX + 2) == "LIMIT"
    facility.lose(member.link)
    joined = member.join()
    assert isinstance(joined, JoinAnswer)
    assert (joined.logged, joined.refused) == (cf.REFUSED_MAX, list(range(1, cf.REFUSED_MAX + 1)))
    member.ok(p.ConnectProgram("APPL1", SIZE, 5))
    member.ok(p.ForgetProgram([], cf.REFUSED_MAX - 1))
    assert logged_put(cf.REFUSED_MAX) == "ALREADY_DONE"
    assert logged_put(cf.REFUSED_MAX + 3) == "OK"


# Slices.


def test_lists_are_cut_by_bytes_and_go_on(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    for number in range(20):
        member.put("Q", entry_with(body=bytes([number]) * 60_000))
    program = p.ListProgram("APPL1", "Q")
    program.with_bodies = True
    found: list[bytes] = []
    slices = 0
    while True:
        answer = member.ok(program)
        assert isinstance(answer, ListAnswer)
        assert sum(len(entry.body) for entry in answer.entries) <= cf.SLICE_BYTES_MAX
        found += [entry.body[:1] for entry in answer.entries]
        slices += 1
        if answer.is_end:
            break
        program.after_key = answer.through_key
    assert found == [bytes([number]) for number in range(20)]
    assert slices == 3
    program.after_key, program.bytes_max = -1, 1
    answer = member.ok(program)
    assert isinstance(answer, ListAnswer)
    assert len(answer.entries) == 1


def test_a_scan_for_expired_entries_stops_and_goes_on(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    for _ in range(15_000):
        member.put("Q")
    expiring = entry_with()
    expiring.expiry_ms = 77
    member.put("Q", expiring)
    program = p.ListProgram("APPL1", "Q")
    program.expired_ms = 77
    first = member.ok(program)
    assert isinstance(first, ListAnswer)
    assert (first.entries, first.is_end) == ([], False)
    program.after_key = first.through_key
    second = member.ok(program)
    assert isinstance(second, ListAnswer)
    assert ([entry.id for entry in second.entries], second.is_end) == ([expiring.id], True)


@pytest.mark.parametrize("match", [cf.FIRST, cf.FIRST_AFTER_KEY, cf.MSG_ID, cf.CORREL_ID, cf.GROUP_ID])
def test_a_get_stops_among_expired_entries_and_goes_on(facility: FacilityUnderTest, match: int) -> None:
    """A long queue of expired messages must not keep the other members waiting for one program."""
    (member,) = join_members(facility, 1)
    identifier = bytes(23) + b"\x07"
    for _ in range(VISITED_MAX):
        expired = entry_with(identifier, identifier, identifier)
        expired.expiry_ms = 77
        last = member.put("Q", expired)
    program = p.GetProgram("APPL1", "Q", cf.BROWSE, match)
    program.id = identifier if match in (cf.MSG_ID, cf.CORREL_ID, cf.GROUP_ID) else b""
    program.now_ms = 77
    program.watch = True
    seen_all = member.run(program)
    assert isinstance(seen_all, GetAnswer)
    assert (seen_all.status, seen_all.through_key, seen_all.is_watched) == (cf.NO_MESSAGE, 0, True)
    alive = entry_with(identifier, identifier, identifier)
    member.put("Q", alive)
    cut = member.run(program)
    assert isinstance(cut, GetAnswer)
    assert (cut.status, cut.through_key, cut.is_watched, cut.expired_seen) == (cf.NO_MESSAGE, last.key, False, True)
    program.match = cf.FIRST_AFTER_KEY if match == cf.FIRST else match
    program.key = cut.through_key
    found = member.run(program)
    assert isinstance(found, GetAnswer)
    assert found.entry is not None
    assert (found.status, found.entry.id, found.expired_seen) == (cf.OK, alive.id, False)


def test_a_get_stops_among_locked_entries_and_goes_on(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    for _ in range(VISITED_MAX + 1):
        last = member.put("Q")
    locking = p.GetProgram("APPL1", "Q", cf.BROWSE, cf.AT_KEY)
    locking.handle, locking.locks = 1, True
    listing = p.ListProgram("APPL1", "Q")
    while listing.after_key < last.key:
        listed = member.ok(listing)
        assert isinstance(listed, ListAnswer)
        listing.after_key = listed.through_key
        for entry in listed.entries:
            locking.key = entry.key
            member.ok(locking)
    program = p.GetProgram("APPL1", "Q", cf.BROWSE)
    program.handle, program.watch = 2, True
    cut = member.run(program)
    assert isinstance(cut, GetAnswer)
    assert (cut.status, cut.through_key > 0, cut.is_watched) == (cf.NO_MESSAGE, True, False)
    program.match, program.key = cf.FIRST_AFTER_KEY, cut.through_key
    ended = member.run(program)
    assert isinstance(ended, GetAnswer)
    assert (ended.status, ended.through_key, ended.is_watched) == (cf.NO_MESSAGE, 0, True)


def test_a_dump_has_all_places_and_can_be_limited(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    unit = member.new_id()
    for queue in ("B", "A"):
        for number in range(3):
            entry = entry_with(priority=number)
            entry.flags = cf.PERSISTENT if number else 0
            member.put(queue, entry, unit if number == 1 else b"")
    claim = p.GetProgram("APPL1", "A", cf.CLAIM)
    claim.unit = unit
    member.ok(claim)
    offloaded = entry_with(body=b"")
    offloaded.reference, offloaded.owner, offloaded.body_length = b"here", 1, 1_000_000
    member.put("A", offloaded)
    answer = member.ok(p.DumpProgram("APPL1"))
    assert isinstance(answer, DumpAnswer)
    places = [(each.queue, each.entry.priority, each.place) for each in answer.entries]
    assert places == [
        ("A", 5, cf.COMMITTED),
        ("A", 2, cf.GOT),
        ("A", 1, cf.UNCOMMITTED),
        ("A", 0, cf.COMMITTED),
        ("B", 2, cf.COMMITTED),
        ("B", 1, cf.UNCOMMITTED),
        ("B", 0, cf.COMMITTED),
    ]
    limited = p.DumpProgram("APPL1")
    limited.persistent_only = True
    answer = member.ok(limited)
    assert isinstance(answer, DumpAnswer)
    assert [(each.queue, each.entry.priority) for each in answer.entries] == [("A", 2), ("A", 1), ("B", 2), ("B", 1)]
    limited.persistent_only, limited.owner = False, 1
    answer = member.ok(limited)
    assert isinstance(answer, DumpAnswer)
    assert [each.entry.reference for each in answer.entries] == [b"here"]


# Bad programs.


def test_bad_fields_are_refused_and_change_nothing(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    member.put("Q", entry_with(message_id=b"m" * 24))
    before = member.ok(p.StatusProgram())
    wrong: list[p.Program] = []
    for name, value in [
        ("id", b"short"),
        ("id", make_id(2, 1, 7)),
        ("id", make_id(1, 2, 7)),
        ("priority", 10),
        ("priority", -1),
        ("md", bytes(363)),
        ("body", bytes(cf.ENTRY_DATA_BYTES_MAX)),
        ("reference", b"without an owner"),
        ("owner", 1),
        ("expiry_ms", -1),
        ("flags", 64),
        ("body_length", 77),
    ]:
        entry = entry_with()
        entry.id = make_id(1, 1, 1000)
        setattr(entry, name, value)
        if name == "body":
            entry.body_length = len(entry.body)
        wrong.append(p.PutProgram("APPL1", "Q", entry))
    good = entry_with()
    good.id = make_id(1, 1, 1000)
    wrong.append(p.PutProgram("APPL1", "", good))
    wrong.append(p.PutProgram("APPL1", "Q" * 49, good))
    wrong.append(p.PutProgram("APPL1", "Q", good, make_id(2, 1, 1)))
    wrong.append(p.PutProgram("APPL1", "Q", good, b"unit"))
    wrong.append(p.PutProgram("APPL1", "Q", good, make_id(1, 1, 5), 0, 3))
    wrong.append(p.GetProgram("APPL1", "Q", cf.CLAIM))
    wrong.append(p.GetProgram("APPL1", "Q", 4))
    wrong.append(p.GetProgram("APPL1", "Q", cf.REMOVE, 8))
    wrong.append(p.GetProgram("APPL1", "Q", cf.REMOVE, cf.MSG_ID))
    null = p.GetProgram("APPL1", "Q", cf.REMOVE, cf.CORREL_ID)
    null.id = bytes(24)
    wrong.append(null)
    wrong.append(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS, cf.ENTRY_ID, bytes(16)))
    wrong.append(p.WatchProgram("APPL1", "Q", 3))
    wrong.append(p.OpenProgram("APPL1", "Q", cf.INPUT_SHARED | cf.INPUT_EXCLUSIVE))
    wrong.append(p.OpenProgram("APPL1", "Q", 8))
    wrong.append(p.ConnectProgram("", SIZE, 5))
    wrong.append(p.ConnectProgram("NEW", 1, 5))
    wrong.append(p.ConnectProgram("NEW", SIZE, 0))
    wrong.append(p.PrepareProgram(make_id(1, 1, 1), b""))
    wrong.append(p.DecideProgram(b"", True))
    wrong.append(p.LockProgram(""))
    wrong.append(p.SetStateProgram("APPL1", 0, 9))
    wrong.append(p.AnnounceProgram("x" * (cf.TEXT_BYTES_MAX + 1)))
    wrong.append(p.UnitsProgram(0, b"x"))
    wrong.append(p.TakeFreedProgram("APPL1", -1))
    wrong.append(p.JoinProgram(1, 1, "QM1"))
    for program in wrong:
        assert (p.PROGRAM_NAMES[program.kind], status(member, program)) == (
            p.PROGRAM_NAMES[program.kind],
            "BAD_PROGRAM",
        )
    after = member.ok(p.StatusProgram())
    assert isinstance(before, StatusAnswer)
    assert isinstance(after, StatusAnswer)
    assert (before.count, before.structures[0].entries) == (after.count, after.structures[0].entries)


def test_loaded_keys_must_fit_and_be_free(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    for state in (cf.STRUCTURE_STATE_FAILED, cf.STRUCTURE_INRECOVER):
        member.ok(p.SetStateProgram("APPL1", 0, state))

    def loaded(*keys: int) -> str:
        entries = []
        for key in keys:
            entry = entry_with()
            entry.id, entry.key = member.new_id(), key
            entries.append(entry)
        return status(member, p.LoadProgram("APPL1", "Q", entries))

    assert loaded(make_key(5, 900), make_key(5, 7)) == "OK"
    assert loaded(make_key(5, 7)) == "BAD_PROGRAM"
    assert loaded(make_key(5, 8), make_key(5, 8)) == "BAD_PROGRAM"
    assert loaded(make_key(4, 8)) == "BAD_PROGRAM"
    assert loaded(0) == "OK"
    member.ok(p.SetStateProgram("APPL1", 0, cf.STRUCTURE_ACTIVE))
    # Later puts come behind all that was loaded.
    assert member.put("Q").key == make_key(5, 902)
    answer = member.ok(p.ListProgram("APPL1", "Q"))
    assert isinstance(answer, ListAnswer)
    assert [entry.key for entry in answer.entries] == [make_key(5, number) for number in (7, 900, 901, 902)]


# Members.


def test_a_fenced_member_that_wakes_can_do_nothing_until_it_was_recovered(facility: FacilityUnderTest) -> None:
    sleeper, peer = join_members(facility, 2)
    unit = sleeper.new_id()
    sleeper.put("Q", unit=unit)
    peer.ok(p.BeginRecoveryProgram(1, forced=True))
    events = [(link, type(event)) for link, event in facility.events()]
    assert (1, ev.FencedOut) in events
    assert status(sleeper, p.DecideProgram(unit, True)) == "FENCED"
    assert status(sleeper, p.GetProgram("APPL1", "Q", cf.REMOVE)) == "FENCED"
    assert cf.STATUS_NAMES[sleeper.join().status] == "IN_RECOVERY"
    peer.ok(p.DecideProgram(unit, False))
    peer.ok(p.EndRecoveryProgram(1))
    joined = sleeper.join()
    assert isinstance(joined, JoinAnswer)
    assert (joined.units, joined.in_flight) == (1, 0)
    assert sleeper.fence > peer.fence


def test_a_recoverer_that_is_lost_leaves_the_recovery_to_others(facility: FacilityUnderTest) -> None:
    failed, first, second = join_members(facility, 3)
    failed.put("Q", unit=failed.new_id())
    failed.ok(p.LockProgram("TAG"))
    facility.lose(failed.link)
    first.ok(p.BeginRecoveryProgram(1))
    assert status(second, p.BeginRecoveryProgram(1)) == "IN_RECOVERY"
    facility.lose(first.link)
    states = [(event.member, event.state) for _, event in facility.events() if isinstance(event, ev.MemberChanged)]
    assert states[-2:] == [(2, cf.MEMBER_FAILED), (1, cf.MEMBER_FAILED)]
    second.ok(p.BeginRecoveryProgram(1))
    assert status(second, p.EndRecoveryProgram(1)) == "UNITS_LEFT"
    assert status(second, p.LockProgram("TAG")) == "LOCKED"
    second.ok(p.DecideProgram(make_id(1, 1, 1), False))
    second.ok(p.EndRecoveryProgram(1))
    second.ok(p.LockProgram("TAG"))


def test_a_member_that_comes_back_frees_its_locks_when_its_units_are_settled(facility: FacilityUnderTest) -> None:
    member, other = join_members(facility, 2)
    unit = member.new_id()
    member.put("Q", unit=unit)
    member.ok(p.LockProgram("TAG", b"old"))
    facility.lose(member.link)
    member.start = 2
    joined = member.join()
    assert isinstance(joined, JoinAnswer)
    assert joined.in_flight == 1
    assert status(member, p.LockProgram("TAG")) == "LOCKED"
    assert status(member, p.EndRecoveryProgram(1)) == "UNITS_LEFT"
    member.ok(p.DecideProgram(unit, False))
    member.ok(p.EndRecoveryProgram(1))
    other.ok(p.LockProgram("TAG"))


def test_a_lost_member_leaves_no_backup_and_no_half_recovery(facility: FacilityUnderTest) -> None:
    member, other = join_members(facility, 2)
    other.ok(p.ConnectProgram("APPL2", SIZE, 5))
    member.ok(p.ConnectProgram("APPL2", SIZE, 5))
    member.ok(p.SetStateProgram("APPL1", 0, cf.STRUCTURE_INBACKUP))
    assert status(other, p.SetStateProgram("APPL1", 0, cf.STRUCTURE_INBACKUP)) == "STRUCTURE_IN_USE"
    member.put("Q")
    for state in (cf.STRUCTURE_STATE_FAILED, cf.STRUCTURE_INRECOVER):
        member.ok(p.SetStateProgram("APPL2", 0, state))
    assert status(other, p.OpenProgram("APPL2", "Q", cf.OUTPUT)) == "STRUCTURE_IN_USE"
    half, prepared = entry_with(), entry_with()
    half.id, prepared.id = member.new_id(), member.new_id()
    member.ok(p.LoadProgram("APPL2", "Q", [half]))
    member.ok(p.LoadProgram("APPL2", "Q", [prepared], make_id(7, 1, 1)))
    member.ok(p.PrepareProgram(make_id(7, 1, 1), b"xid"))
    facility.events()
    facility.lose(member.link)
    changed = [
        (event.structure, event.state) for _, event in facility.events() if isinstance(event, ev.StructureChanged)
    ]
    assert changed == [("APPL1", cf.STRUCTURE_ACTIVE), ("APPL2", cf.STRUCTURE_STATE_FAILED)]
    assert status(other, p.GetProgram("APPL1", "Q", cf.REMOVE)) == "OK"
    answer = other.ok(p.StatusProgram("APPL2"))
    assert isinstance(answer, StatusAnswer)
    shown = answer.structures[0]
    assert (shown.entries, shown.used_bytes, shown.state_member) == (0, 0, 0)
    assert status(other, p.DecideProgram(make_id(7, 1, 1), True)) == "UNKNOWN_UNIT"


def test_units_in_doubt_survive_the_loss_of_the_facility_by_loading(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    for state in (cf.STRUCTURE_STATE_FAILED, cf.STRUCTURE_INRECOVER):
        member.ok(p.SetStateProgram("APPL1", 0, state))
    unit = make_id(6, 3, 1)
    put, got = entry_with(body=b"put"), entry_with(body=b"got")
    put.id, got.id = make_id(6, 3, 2), make_id(2, 1, 9)
    got.backout_count = 4
    member.ok(p.LoadProgram("APPL1", "Q", [put], unit))
    member.ok(p.LoadProgram("APPL1", "Q", [got], unit, got=True))
    member.ok(p.PrepareProgram(unit, b"xid"))
    member.ok(p.SetStateProgram("APPL1", 0, cf.STRUCTURE_ACTIVE))
    owner = TestMember(facility, 6, start=4)
    joined = owner.join()
    assert isinstance(joined, JoinAnswer)
    assert (joined.units, joined.in_flight) == (1, 0)
    assert status(member, p.DecideProgram(unit, False)) == "MEMBER_ACTIVE"
    owner.ok(p.DecideProgram(unit, False))
    answer = member.ok(p.GetProgram("APPL1", "Q", cf.BROWSE))
    assert isinstance(answer, GetAnswer)
    assert answer.entry is not None
    assert (answer.entry.body, answer.entry.backout_count) == (b"got", 5)


def test_anybody_may_look_without_joining(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)
    shown = facility.run(77, p.StatusProgram())
    assert isinstance(shown, StatusAnswer)
    assert (shown.facility, [each.name for each in shown.structures]) == (IDENTITY, ["APPL1"])
    members = facility.run(77, p.MembersProgram())
    assert isinstance(members, MembersAnswer)
    assert [(each.number, each.name) for each in members.members] == [(1, "QM1")]
    for program in (p.GetProgram("APPL1", "Q", cf.BROWSE), p.LeaveProgram(), p.InquireProgram("APPL1", "Q")):
        assert cf.STATUS_NAMES[facility.run(77, program).status] == "NOT_CONNECTED"
    assert member.fence == 1


def test_a_structure_that_was_recovered_has_another_incarnation(facility: FacilityUnderTest) -> None:
    (member,) = join_members(facility, 1)

    def incarnation() -> bytes:
        answer = member.ok(p.ConnectProgram("APPL1", SIZE, 5))
        assert isinstance(answer, ConnectAnswer)
        return answer.incarnation

    before = incarnation()
    assert len(before) == cf.IDENTITY_BYTES
    assert incarnation() == before
    for state in (cf.STRUCTURE_STATE_FAILED, cf.STRUCTURE_INRECOVER, cf.STRUCTURE_ACTIVE):
        member.ok(p.SetStateProgram("APPL1", 0, state))
    assert incarnation() != before


# Freed references.


def test_freed_references_are_told_until_they_were_taken(facility: FacilityUnderTest) -> None:
    owner, getter = join_members(facility, 2)
    for number in range(3):
        entry = entry_with(body=b"")
        entry.reference, entry.owner, entry.body_length = b"%d" % number, 1, 100_000
        owner.put("Q", entry)
    for _ in range(3):
        getter.ok(p.GetProgram("APPL1", "Q", cf.REMOVE))
    assert [(link, type(event)) for link, event in facility.events()] == [(1, ev.Freed)]
    first = owner.ok(p.TakeFreedProgram("APPL1", 0, 2))
    assert isinstance(first, FreedAnswer)
    assert (first.references, first.is_end) == ([b"0", b"1"], False)
    again = owner.ok(p.TakeFreedProgram("APPL1", 0, 10))
    assert isinstance(again, FreedAnswer)
    assert (again.references, again.is_end) == ([b"0", b"1", b"2"], True)
    facility.lose(owner.link)
    owner.join()
    owner.ok(p.ConnectProgram("APPL1", SIZE, 5))
    assert (1, ev.Freed) in [(link, type(event)) for link, event in facility.events()]
    rest = owner.ok(p.TakeFreedProgram("APPL1", first.through, 10))
    assert isinstance(rest, FreedAnswer)
    assert rest.references == [b"2"]
    none = owner.ok(p.TakeFreedProgram("APPL1", rest.through, 10))
    assert isinstance(none, FreedAnswer)
    assert (none.references, none.is_end, none.is_lost) == ([], True, False)


def test_references_that_nobody_takes_are_given_up_some_day() -> None:
    freed = FreedReferences()
    for _ in range(FREED_KEPT_MAX + 1):
        freed.add(b"somewhere")
    assert (len(freed.references), freed.dropped, freed.is_lost) == (FREED_KEPT_MAX // 2 + 1, FREED_KEPT_MAX // 2, True)
