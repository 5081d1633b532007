"""Records of backups: what is written is read."""

from __future__ import annotations

import pytest

from ostler.engine.message.message import MD_BYTES
from ostler.engine.recovery.backup_records import (
    DOWN,
    MARKED,
    BackupBegin,
    InDoubtUnit,
    JoinedRecord,
    MemberMark,
    backup_begin,
    backup_end,
    backup_entries,
    member_joined,
    read_backup_begin,
    read_backup_count,
    read_backup_entries,
    read_backup_lsn,
    read_backup_structure,
    read_member_joined,
)
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import DumpedEntry
from ostler.model.coupling.entries import Entry, make_id

UNIT = make_id(3, 2, 7)


def test_begin_and_end() -> None:
    begin = BackupBegin("APP1")
    for number, kind in ((1, MARKED), (2, DOWN)):
        mark = MemberMark(number, f"QM{number}", kind)
        mark.from_lsn, mark.mark_lsn, mark.logged, mark.fence, mark.start = 10, 20, 30, 40, 50
        mark.facility = b"f" * 16
        begin.marks.append(mark)
    begin.in_doubt.append(InDoubtUnit(UNIT, b"xid"))
    payload = backup_begin(99, begin)
    read = read_backup_begin(payload)
    assert (read_backup_lsn(payload), read_backup_structure(payload), read.structure) == (99, "APP1", "APP1")
    assert [vars_of(mark) for mark in read.marks] == [vars_of(mark) for mark in begin.marks]
    assert [(each.unit, each.xid) for each in read.in_doubt] == [(UNIT, b"xid")]
    assert read_backup_count(backup_end(99, "APP1", 5)) == 5


def vars_of(mark: MemberMark) -> tuple[object, ...]:
    numbers = (mark.number, mark.kind, mark.from_lsn, mark.mark_lsn, mark.logged, mark.fence, mark.start)
    return (*numbers, mark.name, mark.facility)


def dumped(number: int, unit: bytes) -> DumpedEntry:
    entry = Entry(make_id(1, 1, number), 4, b"d" * MD_BYTES, b"p" * number, b"b" * 10 * number)
    entry.key, entry.flags, entry.expiry_ms, entry.backout_count = 11, cf.PERSISTENT, 12, 13
    return DumpedEntry("Q", cf.GOT if unit else cf.COMMITTED, unit, entry)


@pytest.mark.parametrize("with_bodies", [True, False])
def test_entries(with_bodies: bool) -> None:
    written = [dumped(0, b""), dumped(3, UNIT)]
    read = read_backup_entries(backup_entries(99, "APP1", written), with_bodies)
    for before, after in zip(written, read, strict=True):
        assert (after.queue, after.place, after.unit) == (before.queue, before.place, before.unit)
        one, two = before.entry, after.entry
        assert (two.id, two.key, two.flags, two.expiry_ms, two.backout_count) == (one.id, 11, cf.PERSISTENT, 12, 13)
        assert two.body_length == one.body_length
        if with_bodies:
            assert (two.md, two.properties, two.body) == (one.md, one.properties, one.body)


def test_a_record_that_is_cut_off_is_refused() -> None:
    with pytest.raises((ValueError, IndexError)):
        read_backup_entries(backup_entries(99, "APP1", [dumped(3, UNIT)])[:-1], True)


def test_joined() -> None:
    read = read_member_joined(member_joined(JoinedRecord(1, 2, 3, b"f" * 16)))
    assert (read.start, read.fence, read.logged, read.facility) == (1, 2, 3, b"f" * 16)
