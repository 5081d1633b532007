"""The messages of structures, merged from a backup and the journals of all members since.

    merge = StructureMerge({"APP1": backup or None})
    merge.take_backup("APP1", ...)          each record of the journal that has its backup
    scan = merge.begin_log(number, ...)     for each member; then scan.record(...) for each record
    merge.finish()                          merge.plan has what is to be loaded, merge.outcomes units and their ends

Identifiers are never used twice, so journals merge as sets: messages that were put, or are in the backup, less those
that were got, over decided operations. COMMIT and BACK_OUT of the owner decide, PEER_BACK_OUT in any journal. A unit
that is prepared and nowhere backed out is committed: SHARED_PREPARE was forced before anybody could see the messages,
and whoever backs out a prepared unit forces a record first. With an xid it is in doubt again. A unit that is not
prepared is backed out.

A put that had been done before the backup counts only if the backup has the message: the get may be in a part of
another journal that nobody reads any more. The marks of the backup tell which puts those are.

Memory is taken for identifiers, not for messages: `LoadPass` reads the messages in a second pass.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.recovery.backup_records import (
    CF_BACKUP_BEGIN,
    CF_BACKUP_END,
    CF_BACKUP_ENTRIES,
    DOWN,
    MARKED,
    MEMBER_JOINED,
    BackupBegin,
    JoinedRecord,
    MemberMark,
    read_backup_begin,
    read_backup_count,
    read_backup_entries,
    read_backup_lsn,
    read_backup_structure,
    read_member_joined,
)
from ostler.engine.recovery.records import BACK_OUT, COMMIT, read_number
from ostler.engine.recovery.shared_records import (
    CANCEL,
    PEER_BACK_OUT,
    PEER_COMMIT,
    SHARED_GET,
    SHARED_PREPARE,
    SHARED_PUT,
    is_alone,
    read_cancel,
    read_shared_get,
    read_shared_prepare,
    read_shared_put,
)
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import DumpedEntry
from ostler.model.coupling.entries import Entry, id_member, id_number, make_id, make_key

_PUT_TIME_AT: Final = 304  # PutDate and PutTime of MQMD, 16 digits
_PUT_TIME_END: Final = 320


@final
class BackupPlace:
    """Where the last backup of a structure is: in the journal of a member, from one LSN to another."""

    def __init__(self, member: i64, start_lsn: i64, end_lsn: i64) -> None:
        self.member: i64 = member
        self.start_lsn: i64 = start_lsn
        self.end_lsn: i64 = end_lsn


@final
class MergedEntry:
    """A message that is to be loaded: where its record is, and what became of it."""

    def __init__(self, entry_id: bytes, structure: str, queue: str, log: i64, lsn: i64) -> None:
        self.id = entry_id
        self.structure = structure
        self.queue = queue
        self.log: i64 = log
        self.lsn: i64 = lsn
        """Behind the record that has the message."""
        self.priority: i64 = 0
        self.place_key: i64 = -1
        """The key in the structure of the backup; -1: it is not in the backup."""
        self.put_time = b""
        self.key: i64 = 0
        self.unit = b""
        self.is_got = False


@final
class MergedUnit:
    """The operations of a unit that has not ended yet in the journal of its owner."""

    def __init__(self) -> None:
        self.id = b""
        self.is_prepared = False
        self.xid = b""
        self.puts: dict[bytes, MergedEntry] = {}
        self.gets: list[bytes] = []


@final
class StructureBackup:
    """A backup as it is read."""

    def __init__(self, place: BackupPlace | None) -> None:
        self.place = place
        self.begin: BackupBegin | None = None
        self.is_complete = False
        self.read: i64 = 0

    def mark(self, number: i64) -> MemberMark | None:
        if self.begin is not None:
            for mark in self.begin.marks:
                if mark.number == number:
                    return mark
        return None


@final
class LogFilter:
    """Tells which puts on a structure in one journal count, beside those that are in the backup."""

    def __init__(self, mark: MemberMark | None) -> None:
        self._mark = mark
        self._joined_lsn: i64 = -1
        self._is_seen = False  # a link to the facility of the backup
        self.skipped: dict[int, MergedEntry] = {}  # puts outside units of a member that was down, by number

    def counts_unit(self, end_lsn: i64, put_lsn: i64) -> bool:
        """Tell of a put in a unit that ended at an LSN (0: it has not ended)."""
        mark = self._mark
        if mark is None:
            return True
        if mark.kind == MARKED:
            return end_lsn == 0 or end_lsn > mark.mark_lsn
        return 0 <= self._joined_lsn < put_lsn

    def counts_logged(self, entry: MergedEntry, logged: i64) -> bool:
        """Tell of a put outside units."""
        mark = self._mark
        if mark is None:
            return True
        if mark.kind == MARKED:
            return logged > mark.logged
        if self._joined_lsn < 0:
            self.skipped[logged] = entry
            return False
        return True

    def on_joined(self, joined: JoinedRecord, lsn: i64) -> list[tuple[int, MergedEntry]]:
        """Return skipped puts with their numbers that count because the member has joined again."""
        mark = self._mark
        if mark is None or mark.kind != DOWN or self._joined_lsn >= 0:
            return []
        is_same: bool = joined.facility == mark.facility
        is_again: bool = joined.fence > mark.fence if is_same else joined.start > mark.start
        if not is_same and joined.start == mark.start:
            is_again = self._is_seen  # the same start went on to another facility
        self._is_seen = self._is_seen or is_same
        if not is_again:
            return []
        self._joined_lsn = lsn
        found = [(number, entry) for number, entry in self.skipped.items() if number > joined.logged]
        self.skipped = {}
        return found


@final
class LogScan:
    """Reads the journal of one member."""

    def __init__(self, merge: StructureMerge, number: i64, start_lsn: i64, wanted: set[bytes]) -> None:
        self.merge = merge
        self.number: i64 = number
        self.start_lsn: i64 = start_lsn
        self.filters: dict[str, LogFilter] = {}
        self.units: dict[int, MergedUnit] = {}
        self.ended: dict[bytes, bool] = {}  # units that the backups tell of: committed
        self.last_start: i64 = 0
        self._wanted = wanted
        self._logged: dict[int, MergedEntry] = {}
        self._last_time = b""

    def record(self, kind: i64, lsn: i64, payload: bytes) -> None:
        if kind == SHARED_PUT:
            self._put(lsn, payload)
        elif kind == SHARED_GET:
            record = read_shared_get(payload)
            unit = self._unit(record.unit_of_work, record.start)
            unit.gets.append(record.entry_id)
            if is_alone(payload):
                unit.is_prepared = True
        elif kind == COMMIT:
            self._end(read_number(payload), True, lsn)
        elif kind == BACK_OUT:
            self._end(read_number(payload), False, lsn)
        elif kind == SHARED_PREPARE:
            prepared = read_shared_prepare(payload)
            unit = self._unit(prepared.unit_of_work, prepared.start)
            unit.is_prepared = True
            unit.xid = prepared.xid
        elif kind == CANCEL:
            self._cancel(payload)
        elif kind == PEER_BACK_OUT:
            self.merge.backed_out.add(payload[:16])
        elif kind == PEER_COMMIT:
            self.merge.committed.add(payload[:16])
        elif kind == MEMBER_JOINED:
            joined = read_member_joined(payload)
            self.last_start = joined.start
            for each in self.filters.values():
                for number, entry in each.on_joined(joined, lsn):
                    self._logged[number] = entry

    def _unit(self, number: int, start: i64) -> MergedUnit:
        unit = self.units.get(number)
        unit_id = make_id(self.number, start, number)
        if unit is None or unit.id != unit_id:
            # A number whose records were lost in a power failure is given again by the next start.
            unit = MergedUnit()
            unit.id = unit_id
            self.units[number] = unit
        return unit

    def _put(self, lsn: i64, payload: bytes) -> None:
        record = read_shared_put(payload)
        entry = MergedEntry(record.entry_id, record.structure, record.queue, self.number, lsn)
        entry.priority = record.priority
        # Journals are interleaved by the time of the put, and each keeps its own order.
        entry.put_time = max(self._last_time, record.md[_PUT_TIME_AT:_PUT_TIME_END])
        self._last_time = entry.put_time
        if record.unit_of_work:
            self._unit(record.unit_of_work, record.start).puts[entry.id] = entry
            return
        counted = self.filters.get(record.structure)
        if counted is not None and counted.counts_logged(entry, record.logged):
            self._logged[record.logged] = entry

    def _cancel(self, payload: bytes) -> None:
        record = read_cancel(payload)
        if record.unit_of_work:
            unit = self.units.get(record.unit_of_work)
            if unit is not None:
                unit.puts.pop(record.entry_id, None)
            return
        self._logged.pop(record.logged, None)
        for each in self.filters.values():
            each.skipped.pop(record.logged, None)

    def _end(self, number: int, committed: bool, lsn: i64) -> None:
        unit = self.units.pop(number, None)
        if unit is None:
            return
        if unit.id in self._wanted:
            self.ended[unit.id] = committed
        if committed:
            self.commit(unit, lsn)

    def commit(self, unit: MergedUnit, lsn: i64) -> None:
        """Count the operations of a unit that was committed at an LSN; 0: by presumption."""
        self._count_puts(unit, lsn, b"")
        self.merge.gone.update(unit.gets)

    def _count_puts(self, unit: MergedUnit, lsn: i64, in_doubt: bytes) -> None:
        for entry in unit.puts.values():
            counted = self.filters.get(entry.structure)
            if counted is not None and counted.counts_unit(lsn, entry.lsn):
                entry.unit = in_doubt
                self.merge.add(entry)

    def hold(self, unit: MergedUnit) -> None:
        """Bring a unit of a coordinator back in doubt."""
        self._count_puts(unit, 0, unit.id)
        for entry_id in unit.gets:
            self.merge.claims[entry_id] = unit.id

    def finish_puts(self) -> None:
        """Count the puts outside units, when the journal is read."""
        for entry in self._logged.values():
            self.merge.add(entry)
        self._logged = {}


@final
class StructureMerge:
    def __init__(self, structures: dict[str, BackupPlace | None]) -> None:
        self.backups: dict[str, StructureBackup] = {}
        for name, place in structures.items():
            self.backups[name] = StructureBackup(place)
        self.scans: list[LogScan] = []
        self.entries: dict[bytes, MergedEntry] = {}
        self.gone: set[bytes] = set()
        self.backed_out: set[bytes] = set()  # units that peers have backed out
        self.committed: set[bytes] = set()  # units in doubt that peers have committed (RESOLVE INDOUBT)
        self.claims: dict[bytes, bytes] = {}  # entry to the unit in doubt that has got it
        self.in_doubt: dict[bytes, bytes] = {}  # unit to xid
        self.outcomes: dict[bytes, bool] = {}  # prepared units whose owners have not heard of their ends: committed
        self.plan: list[MergedEntry] = []
        self._dumped_units: dict[bytes, list[MergedEntry]] = {}
        self._wanted: set[bytes] = set()

    def add(self, entry: MergedEntry) -> None:
        if entry.id not in self.entries:
            self.entries[entry.id] = entry

    # -- backups -------------------------------------------------------------------------------------------------------

    def take_backup(self, name: str, log: i64, kind: i64, lsn: i64, payload: bytes) -> None:
        """Take one record of the journal that has the backup of a structure. All others are passed over."""
        if kind != CF_BACKUP_BEGIN and kind != CF_BACKUP_ENTRIES and kind != CF_BACKUP_END:
            return
        backup = self.backups.get(name)
        if (
            read_backup_structure(payload) != name
            or backup is None
            or backup.place is None
            or backup.place.member != log
        ):
            return
        if read_backup_lsn(payload) != backup.place.start_lsn:
            return
        if kind == CF_BACKUP_BEGIN:
            backup.begin = read_backup_begin(payload)
            for unit in backup.begin.in_doubt:
                self.in_doubt[unit.unit] = unit.xid
                self._want(unit.unit)
        elif kind == CF_BACKUP_END:
            backup.is_complete = read_backup_count(payload) == backup.read
        else:
            for dumped in read_backup_entries(payload, False):
                backup.read += 1
                self._take_dumped(name, log, lsn, dumped)

    def _want(self, unit: bytes) -> None:
        self._wanted.add(unit)

    def _take_dumped(self, structure: str, log: i64, lsn: i64, dumped: DumpedEntry) -> None:
        entry = MergedEntry(dumped.entry.id, structure, dumped.queue, log, lsn)
        entry.priority = dumped.entry.priority
        entry.place_key = dumped.entry.key
        if dumped.unit:
            self._want(dumped.unit)
            entry.unit = dumped.unit
            entry.is_got = dumped.place == cf.GOT
            self._dumped_units.setdefault(dumped.unit, []).append(entry)
        self.entries[entry.id] = entry

    def missing_backups(self) -> list[str]:
        """Return the structures whose backups are not whole where they should be."""
        return [name for name, each in self.backups.items() if each.place is not None and not each.is_complete]

    # -- journals ------------------------------------------------------------------------------------------------------

    def from_lsn(self, number: i64) -> i64:
        """Return the LSN from which the journal of a member must be read; -1: from its beginning."""
        lowest: i64 = -1
        for backup in self.backups.values():
            mark = backup.mark(number)
            if mark is None or mark.kind != MARKED:
                return -1
            if lowest < 0 or mark.from_lsn < lowest:
                lowest = mark.from_lsn
        return lowest

    def begin_log(self, number: i64, start_lsn: i64) -> LogScan:
        scan = LogScan(self, number, start_lsn, self._wanted)
        for name, backup in self.backups.items():
            scan.filters[name] = LogFilter(backup.mark(number))
        self.scans.append(scan)
        return scan

    # -- the result ----------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Decide on all units, and put what is left into the order in which it was put."""
        for scan in self.scans:
            scan.finish_puts()
        for scan in self.scans:
            for unit in scan.units.values():
                self._decide(scan, unit)
        self._decide_dumped()
        merged: list[MergedEntry] = []
        for entry in self.entries.values():
            if entry.id in self.gone or entry.structure not in self.backups:
                continue
            claimed = self.claims.get(entry.id)
            if claimed is not None:
                entry.unit = claimed
                entry.is_got = True
            merged.append(entry)
        merged.sort(key=_order)
        sequence: i64 = 0
        for entry in merged:
            sequence += 1
            entry.key = make_key(entry.priority, sequence)
        self.plan = merged
        used = {entry.unit for entry in merged if entry.unit}
        self.in_doubt = {unit: xid for unit, xid in self.in_doubt.items() if unit in used}

    def _decide(self, scan: LogScan, unit: MergedUnit) -> None:
        if unit.id in self.backed_out:
            if unit.is_prepared:
                self.outcomes[unit.id] = False
        elif not unit.is_prepared:
            return
        elif unit.xid and unit.id not in self.committed:
            self.in_doubt[unit.id] = unit.xid
            scan.hold(unit)
        else:
            self.outcomes[unit.id] = True
            scan.commit(unit, 0)

    def _decide_dumped(self) -> None:
        """Decide on units that had not ended when a backup saw their messages."""
        scans = {int(scan.number): scan for scan in self.scans}
        for unit, entries in self._dumped_units.items():
            scan = scans.get(int(id_member(unit)))
            committed = scan.ended.get(unit) if scan is not None else None
            open_unit = scan.units.get(int(id_number(unit))) if scan is not None else None
            if committed is None:
                if unit in self.backed_out:
                    committed = False
                elif unit in self.committed:
                    committed = True
                elif unit in self.in_doubt:
                    continue  # the entries keep their unit
                else:
                    committed = open_unit is not None and open_unit.id == unit and open_unit.is_prepared
            self.in_doubt.pop(unit, None)
            for entry in entries:
                entry.unit = b""
                if entry.is_got == committed:
                    self.gone.add(entry.id)
                entry.is_got = False


def _order(entry: MergedEntry) -> tuple[int, bytes, int, int]:
    """Return what messages are sorted by: those of the backup by their keys, then the others by time and journal."""
    if entry.place_key >= 0:
        return entry.place_key & 0xFFFFFFFFFFFFFF, b"", 0, 0
    return 1 << 60, entry.put_time, entry.log, entry.lsn


@final
class LoadedEntry:
    """A message for LOAD."""

    def __init__(self, merged: MergedEntry, entry: Entry) -> None:
        self.structure = merged.structure
        self.queue = merged.queue
        self.unit = merged.unit
        self.is_got = merged.is_got
        self.entry = entry


@final
class LoadPass:
    """Reads the messages of a merge from the same journals again."""

    def __init__(self, merge: StructureMerge) -> None:
        self._wanted: dict[int, dict[int, list[MergedEntry]]] = {}
        for entry in merge.plan:
            self._wanted.setdefault(entry.log, {}).setdefault(entry.lsn, []).append(entry)

    def record(self, log: i64, kind: i64, lsn: i64, payload: bytes) -> list[LoadedEntry]:
        """Return the messages of a record that are to be loaded."""
        wanted = self._wanted.get(log)
        found = wanted.get(lsn) if wanted is not None else None
        if found is None:
            return []
        if kind == CF_BACKUP_ENTRIES:
            by_id = {merged.id: merged for merged in found}
            loaded: list[LoadedEntry] = []
            for dumped in read_backup_entries(payload, True):
                merged = by_id.get(dumped.entry.id)
                if merged is not None:
                    dumped.entry.key = merged.key
                    loaded.append(LoadedEntry(merged, dumped.entry))
            return loaded
        record = read_shared_put(payload)
        entry = Entry(record.entry_id, record.priority, record.md, record.properties, record.body)
        entry.flags = record.flags
        entry.expiry_ms = record.expiry_ms
        entry.key = found[0].key
        return [LoadedEntry(found[0], entry)]
