"""Records of backups of structures, and of the links of a member, in the journal of a member of a queue-sharing group.

    CF_BACKUP_BEGIN    a backup begins: its structure, and where the journals of all members stood
    CF_BACKUP_ENTRIES  some persistent messages of the structure, whole, with their places and units
    CF_BACKUP_END      the backup is complete
    MEMBER_JOINED      the member has joined the facility with a new fence

A restart passes over them: they are for recoveries of structures. A backup is known by the LSN at which its first
record begins. Numbers are little-endian.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64

from ostler.engine.message.message import MD_BYTES
from ostler.model.coupling.answers import DumpedEntry
from ostler.model.coupling.entries import Entry

CF_BACKUP_BEGIN: Final = 18
CF_BACKUP_ENTRIES: Final = 19
CF_BACKUP_END: Final = 22
MEMBER_JOINED: Final = 23

_ID_BYTES: Final = 16
_STRUCTURE_BYTES: Final = 16
_QUEUE_BYTES: Final = 48
_NO_UNIT: Final = bytes(_ID_BYTES)
_HEAD_BYTES: Final = 8 + _STRUCTURE_BYTES
_FIXED_BYTES: Final = 2 * _ID_BYTES + _QUEUE_BYTES + 8 * 8

# Kinds of marks.
MARKED: Final = 1
DOWN: Final = 2


@final
class MemberMark:
    """Where the journal of a member stood when a backup began.

    MARKED: it was active. The journal is read from `from_lsn`; puts of units that ended up to `mark_lsn`, and puts
    outside units up to the number `logged`, had been done before. DOWN: everything that it put before it joined again
    had been done before. It has joined again with a higher fence of the same facility, or a later start.
    """

    def __init__(self, number: i64, name: str, kind: i64) -> None:
        self.number: i64 = number
        self.name = name
        self.kind: i64 = kind
        self.from_lsn: i64 = 0
        self.mark_lsn: i64 = 0
        self.logged: i64 = 0
        self.fence: i64 = 0
        self.start: i64 = 0
        self.facility = b""


@final
class InDoubtUnit:
    """A unit that a coordinator had prepared when a backup began."""

    def __init__(self, unit: bytes, xid: bytes) -> None:
        self.unit = unit
        self.xid = xid


@final
class BackupBegin:
    def __init__(self, structure: str) -> None:
        self.structure = structure
        self.marks: list[MemberMark] = []
        self.in_doubt: list[InDoubtUnit] = []


def _text(writer: BytesWriter, data: bytes) -> None:
    write_i64_le(writer, len(data))
    writer.write(data)


@final
class _Reader:
    def __init__(self, payload: bytes, at: i64) -> None:
        self.payload = payload
        self.at: i64 = at

    def number(self) -> i64:
        value: i64 = read_i64_le(self.payload, self.at)
        self.at += 8
        return value

    def take(self, size: i64) -> bytes:
        if size < 0 or self.at + size > len(self.payload):
            raise ValueError("a record of a backup is cut off")
        data = self.payload[self.at : self.at + size]
        self.at += size
        return data

    def text(self) -> bytes:
        return self.take(self.number())


def _structure_head(backup_lsn: i64, structure: str) -> BytesWriter:
    writer = BytesWriter()
    write_i64_le(writer, backup_lsn)
    writer.write(structure.encode("ascii").ljust(_STRUCTURE_BYTES))
    return writer


def read_backup_lsn(payload: bytes) -> i64:
    """Return the LSN by which a backup is known, of any of its records."""
    return read_i64_le(payload, 0)


def read_backup_structure(payload: bytes) -> str:
    return payload[8:_HEAD_BYTES].decode("ascii").rstrip()


def backup_begin(backup_lsn: i64, begin: BackupBegin) -> bytes:
    writer = _structure_head(backup_lsn, begin.structure)
    write_i64_le(writer, len(begin.marks))
    for mark in begin.marks:
        write_i64_le(writer, mark.number)
        write_i64_le(writer, mark.kind)
        write_i64_le(writer, mark.from_lsn)
        write_i64_le(writer, mark.mark_lsn)
        write_i64_le(writer, mark.logged)
        write_i64_le(writer, mark.fence)
        write_i64_le(writer, mark.start)
        _text(writer, mark.facility)
        _text(writer, mark.name.encode())
    write_i64_le(writer, len(begin.in_doubt))
    for unit in begin.in_doubt:
        writer.write(unit.unit)
        _text(writer, unit.xid)
    return writer.getvalue()


def read_backup_begin(payload: bytes) -> BackupBegin:
    begin = BackupBegin(read_backup_structure(payload))
    reader = _Reader(payload, _HEAD_BYTES)
    for _ in range(reader.number()):
        number: i64 = reader.number()
        mark = MemberMark(number, "", reader.number())
        mark.from_lsn = reader.number()
        mark.mark_lsn = reader.number()
        mark.logged = reader.number()
        mark.fence = reader.number()
        mark.start = reader.number()
        mark.facility = reader.text()
        mark.name = reader.text().decode()
        begin.marks.append(mark)
    for _ in range(reader.number()):
        unit = reader.take(_ID_BYTES)
        begin.in_doubt.append(InDoubtUnit(unit, reader.text()))
    return begin


def backup_entries(backup_lsn: i64, structure: str, entries: list[DumpedEntry]) -> bytes:
    """Encode entries with whole bodies; where those were does not matter to a recovery."""
    writer = _structure_head(backup_lsn, structure)
    for dumped in entries:
        entry = dumped.entry
        writer.write(entry.id)
        writer.write(dumped.unit if dumped.unit else _NO_UNIT)
        writer.write(dumped.queue.encode("ascii").ljust(_QUEUE_BYTES))
        write_i64_le(writer, dumped.place)
        write_i64_le(writer, entry.key)
        write_i64_le(writer, entry.priority)
        write_i64_le(writer, entry.flags)
        write_i64_le(writer, entry.expiry_ms)
        write_i64_le(writer, entry.backout_count)
        write_i64_le(writer, len(entry.properties))
        write_i64_le(writer, len(entry.body))
        writer.write(entry.md)
        if entry.properties:
            writer.write(entry.properties)
        if entry.body:
            writer.write(entry.body)
    return writer.getvalue()


def backup_entry_bytes(entry: Entry) -> i64:
    """Return the bytes that an entry takes in a record."""
    return _FIXED_BYTES + len(entry.md) + len(entry.properties) + entry.body_length


def read_backup_entries(payload: bytes, with_bodies: bool) -> list[DumpedEntry]:
    found: list[DumpedEntry] = []
    reader = _Reader(payload, _HEAD_BYTES)
    while reader.at < len(payload):
        entry_id = reader.take(_ID_BYTES)
        unit = reader.take(_ID_BYTES)
        queue = reader.take(_QUEUE_BYTES).decode("ascii").rstrip()
        place: i64 = reader.number()
        key: i64 = reader.number()
        priority: i64 = reader.number()
        flags: i64 = reader.number()
        expiry_ms: i64 = reader.number()
        backout_count: i64 = reader.number()
        properties_bytes: i64 = reader.number()
        body_bytes: i64 = reader.number()
        if with_bodies:
            md = reader.take(MD_BYTES)
            properties = reader.take(properties_bytes)
            entry = Entry(entry_id, priority, md, properties, reader.take(body_bytes))
        else:
            reader.at += MD_BYTES + properties_bytes + body_bytes
            entry = Entry(entry_id, priority, b"", b"", b"")
            entry.body_length = body_bytes
        entry.key = key
        entry.flags = flags
        entry.expiry_ms = expiry_ms
        entry.backout_count = backout_count
        found.append(DumpedEntry(queue, place, b"" if unit == _NO_UNIT else unit, entry))
    return found


def backup_end(backup_lsn: i64, structure: str, entries: i64) -> bytes:
    writer = _structure_head(backup_lsn, structure)
    write_i64_le(writer, entries)
    return writer.getvalue()


def read_backup_count(payload: bytes) -> i64:
    """Return the number of entries that the end of a backup tells."""
    return read_i64_le(payload, _HEAD_BYTES)


@final
class JoinedRecord:
    def __init__(self, start: i64, fence: i64, logged: i64, facility: bytes) -> None:
        self.start: i64 = start
        self.fence: i64 = fence
        self.logged: i64 = logged
        """Puts outside units up to this number had been done, or were given up, when the member joined."""
        self.facility = facility


def member_joined(joined: JoinedRecord) -> bytes:
    writer = BytesWriter()
    write_i64_le(writer, joined.start)
    write_i64_le(writer, joined.fence)
    write_i64_le(writer, joined.logged)
    writer.write(joined.facility)
    return writer.getvalue()


def read_member_joined(payload: bytes) -> JoinedRecord:
    return JoinedRecord(read_i64_le(payload, 0), read_i64_le(payload, 8), read_i64_le(payload, 16), payload[24:])
