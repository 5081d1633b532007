"""Answers of the coupling facility in frames: CF_PROGRAM with REPLY.

4  kind of answer, as of the program that has it; 0: a status alone
4  status
8  count    8  used bytes    8  limit bytes
.  the fields of the kind
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.model.coupling import answers as a
from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.wire.coupling_entries import (
    read_bytes,
    read_entries,
    read_entry,
    read_flag,
    write_bytes,
    write_entries,
    write_entry,
    write_flag,
)
from ostler.wire.frames import CF_PROGRAM, REPLY, MalformedFrame, frame
from ostler.wire.payload_codec import PayloadReader, PayloadWriter

_STATUS_ONLY: Final = 0
_NAME_BYTES_MAX: Final = 256
_MEMBERS_MAX: Final = 4096
_HAS_ENTRY: Final = 1
_IS_CLAIMED: Final = 2
_IS_WATCHED: Final = 4
_EXPIRED_SEEN: Final = 8
_IS_CUT: Final = 16


def encode_answer(answer: a.Answer, request: i64) -> bytes:
    """Return the frame of an answer."""
    writer = PayloadWriter()
    kind: i64 = _kind_of(answer)
    writer.integer(kind)
    writer.integer(answer.status)
    writer.position(answer.count)
    writer.position(answer.used_bytes)
    writer.position(answer.limit_bytes)
    if isinstance(answer, a.PutAnswer):
        writer.position(answer.key)
        writer.position(answer.depth)
        writer.integer(answer.input_count)
    elif isinstance(answer, a.GetAnswer):
        _write_get(writer, answer)
    elif isinstance(answer, a.DecideAnswer):
        writer.integer(answer.outcome)
    elif isinstance(answer, a.ListAnswer):
        writer.position(answer.through_key + 1)
        write_flag(writer, answer.is_end)
        write_entries(writer, answer.entries)
    elif kind != _STATUS_ONLY:
        _write_other(writer, answer)
    return frame(CF_PROGRAM | REPLY, 0, request, writer.getvalue())


def decode_answer(buffer: bytes, start: i64, end: i64) -> a.Answer:
    """Return the answer in the payload `buffer[start:end]`. Raises MalformedFrame."""
    reader = PayloadReader(buffer, start, end)
    kind: i64 = reader.integer()
    status: i64 = reader.count(len(cf.STATUS_NAMES) - 1)
    count: i64 = reader.position()
    used_bytes: i64 = reader.position()
    limit_bytes: i64 = reader.position()
    answer = _read(reader, kind, status)
    reader.check_end()
    answer.status = status
    answer.count = count
    answer.used_bytes = used_bytes
    answer.limit_bytes = limit_bytes
    return answer


def _kind_of(answer: a.Answer) -> i64:
    if isinstance(answer, a.PutAnswer):
        return p.PUT
    if isinstance(answer, a.GetAnswer):
        return p.GET
    if isinstance(answer, a.DecideAnswer):
        return p.DECIDE
    if isinstance(answer, a.ListAnswer):
        return p.LIST
    if isinstance(answer, a.QueueAnswer):
        return p.INQUIRE
    if isinstance(answer, a.JoinAnswer):
        return p.JOIN
    if isinstance(answer, a.ConnectAnswer):
        return p.CONNECT
    if isinstance(answer, a.RecoveryAnswer):
        return p.BEGIN_RECOVERY
    if isinstance(answer, a.UnitsAnswer):
        return p.UNITS
    if isinstance(answer, a.LocksAnswer):
        return p.LOCKS
    if isinstance(answer, a.FreedAnswer):
        return p.TAKE_FREED
    if isinstance(answer, a.StatusAnswer):
        return p.STATUS
    if isinstance(answer, a.MembersAnswer):
        return p.MEMBERS
    return p.DUMP if isinstance(answer, a.DumpAnswer) else _STATUS_ONLY


def _read(reader: PayloadReader, kind: i64, status: i64) -> a.Answer:
    if kind == _STATUS_ONLY:
        return a.Answer(status)
    if kind == p.PUT:
        key: i64 = reader.position()
        depth: i64 = reader.position()
        return a.PutAnswer(key, depth, reader.integer())
    if kind == p.GET:
        return _read_get(reader, status)
    if kind == p.DECIDE:
        return a.DecideAnswer(reader.count(cf.UNIT_BACKED_OUT))
    if kind == p.LIST:
        listed = a.ListAnswer()
        listed.through_key = reader.position() - 1
        listed.is_end = read_flag(reader)
        listed.entries = read_entries(reader)
        return listed
    return _read_other(reader, kind, status)


def _write_get(writer: PayloadWriter, answer: a.GetAnswer) -> None:
    entry = answer.entry
    flags: i64 = 0 if entry is None else _HAS_ENTRY
    flags |= _IS_CLAIMED if answer.is_claimed else 0
    flags |= _IS_WATCHED if answer.is_watched else 0
    flags |= _EXPIRED_SEEN if answer.expired_seen else 0
    flags |= _IS_CUT if answer.through_key else 0
    writer.integer(flags)
    writer.position(answer.depth)
    if answer.through_key:
        writer.position(answer.through_key)
    if entry is not None:
        write_entry(writer, entry)


def _read_get(reader: PayloadReader, status: i64) -> a.GetAnswer:
    flags: i64 = reader.count(_HAS_ENTRY | _IS_CLAIMED | _IS_WATCHED | _EXPIRED_SEEN | _IS_CUT)
    depth: i64 = reader.position()
    through_key: i64 = reader.position() if flags & _IS_CUT else 0
    answer = a.GetAnswer(status, read_entry(reader) if flags & _HAS_ENTRY else None, depth)
    answer.is_claimed = flags & _IS_CLAIMED != 0
    answer.is_watched = flags & _IS_WATCHED != 0
    answer.expired_seen = flags & _EXPIRED_SEEN != 0
    answer.through_key = through_key
    return answer


def _write_other(writer: PayloadWriter, answer: a.Answer) -> None:
    if isinstance(answer, a.QueueAnswer):
        _write_queue(writer, answer)
    elif isinstance(answer, a.JoinAnswer):
        _write_join(writer, answer)
    elif isinstance(answer, a.ConnectAnswer):
        write_bytes(writer, answer.incarnation)
        write_flag(writer, answer.is_new)
        writer.integer(answer.state)
        writer.integer(answer.level)
        writer.position(answer.size_bytes)
    elif isinstance(answer, a.RecoveryAnswer):
        writer.integer(answer.units)
        writer.integer(answer.in_flight)
        writer.text(answer.name)
        writer.integer(answer.start)
    elif isinstance(answer, a.UnitsAnswer):
        _write_units(writer, answer)
    elif isinstance(answer, a.LocksAnswer):
        _write_locks(writer, answer)
    elif isinstance(answer, a.FreedAnswer):
        writer.position(answer.through)
        write_flag(writer, answer.is_end)
        write_flag(writer, answer.is_lost)
        writer.integer(len(answer.references))
        for reference in answer.references:
            write_bytes(writer, reference)
    elif isinstance(answer, a.StatusAnswer):
        write_bytes(writer, answer.facility)
        writer.integer(len(answer.structures))
        for structure in answer.structures:
            _write_structure(writer, structure)
    elif isinstance(answer, a.MembersAnswer):
        writer.integer(len(answer.members))
        for member in answer.members:
            _write_member(writer, member)
    elif isinstance(answer, a.DumpAnswer):
        _write_dump(writer, answer)


def _read_other(reader: PayloadReader, kind: i64, status: i64) -> a.Answer:
    if kind == p.INQUIRE:
        return _read_queue(reader)
    if kind == p.JOIN:
        return _read_join(reader)
    if kind == p.CONNECT:
        connected = a.ConnectAnswer()
        connected.incarnation = read_bytes(reader, cf.IDENTITY_BYTES)
        connected.is_new = read_flag(reader)
        connected.state = reader.count(len(cf.STRUCTURE_STATES) - 1)
        connected.level = reader.integer()
        connected.size_bytes = reader.position()
        return connected
    if kind == p.BEGIN_RECOVERY:
        recovery = a.RecoveryAnswer()
        recovery.units = reader.integer()
        recovery.in_flight = reader.integer()
        recovery.name = reader.text(_NAME_BYTES_MAX)
        recovery.start = reader.integer()
        return recovery
    if kind == p.UNITS:
        return _read_units(reader)
    if kind == p.LOCKS:
        return _read_locks(reader, status)
    if kind == p.TAKE_FREED:
        freed = a.FreedAnswer()
        freed.through = reader.position()
        freed.is_end = read_flag(reader)
        freed.is_lost = read_flag(reader)
        freed.references = [read_bytes(reader, cf.REFERENCE_BYTES_MAX) for _ in range(reader.count(cf.FREED_MAX))]
        return freed
    if kind == p.STATUS:
        shown = a.StatusAnswer()
        shown.facility = read_bytes(reader, cf.IDENTITY_BYTES)
        shown.structures = [_read_structure(reader) for _ in range(reader.count(cf.STRUCTURES_MAX))]
        return shown
    if kind == p.MEMBERS:
        members = a.MembersAnswer()
        members.members = [_read_member(reader) for _ in range(reader.count(_MEMBERS_MAX))]
        return members
    if kind == p.DUMP:
        return _read_dump(reader)
    raise MalformedFrame(f"an answer of kind {kind}")


def _write_queue(writer: PayloadWriter, answer: a.QueueAnswer) -> None:
    writer.position(answer.depth)
    writer.position(answer.uncommitted)
    writer.integer(answer.input_count)
    writer.integer(answer.output_count)
    writer.integer(answer.member_input_count)
    writer.integer(answer.member_output_count)
    write_flag(writer, answer.is_exclusive)


def _read_queue(reader: PayloadReader) -> a.QueueAnswer:
    answer = a.QueueAnswer()
    answer.depth = reader.position()
    answer.uncommitted = reader.position()
    answer.input_count = reader.integer()
    answer.output_count = reader.integer()
    answer.member_input_count = reader.integer()
    answer.member_output_count = reader.integer()
    answer.is_exclusive = read_flag(reader)
    return answer


def _write_join(writer: PayloadWriter, answer: a.JoinAnswer) -> None:
    writer.position(answer.fence)
    write_bytes(writer, answer.facility)
    writer.position(answer.logged)
    writer.integer(len(answer.refused))
    for number in answer.refused:
        writer.position(number)
    writer.integer(answer.units)
    writer.integer(answer.in_flight)


def _read_join(reader: PayloadReader) -> a.JoinAnswer:
    fence: i64 = reader.position()
    answer = a.JoinAnswer(fence, read_bytes(reader, cf.IDENTITY_BYTES))
    answer.logged = reader.position()
    answer.refused = [reader.position() for _ in range(reader.count(cf.REFUSED_MAX))]
    answer.units = reader.integer()
    answer.in_flight = reader.integer()
    return answer


def _write_units(writer: PayloadWriter, answer: a.UnitsAnswer) -> None:
    write_flag(writer, answer.is_end)
    writer.integer(len(answer.units))
    for unit in answer.units:
        write_bytes(writer, unit.unit)
        writer.integer(unit.state)
        write_bytes(writer, unit.xid)
        writer.integer(unit.puts)
        writer.integer(unit.gets)


def _read_units(reader: PayloadReader) -> a.UnitsAnswer:
    answer = a.UnitsAnswer()
    answer.is_end = read_flag(reader)
    for _ in range(reader.count(cf.UNITS_LISTED_MAX)):
        unit = read_bytes(reader, cf.ID_BYTES)
        state: i64 = reader.count(len(cf.UNIT_STATES) - 1)
        xid = read_bytes(reader, cf.XID_BYTES_MAX)
        puts: i64 = reader.integer()
        answer.units.append(a.UnitStatus(unit, state, xid, puts, reader.integer()))
    return answer


def _write_locks(writer: PayloadWriter, answer: a.LocksAnswer) -> None:
    write_flag(writer, answer.is_end)
    writer.integer(len(answer.locks))
    for lock in answer.locks:
        writer.text(lock.name)
        writer.integer(lock.member)
        writer.position(lock.fence)
        write_bytes(writer, lock.value)


def _read_locks(reader: PayloadReader, status: i64) -> a.LocksAnswer:
    answer = a.LocksAnswer(status)
    answer.is_end = read_flag(reader)
    for _ in range(reader.count(cf.LOCKS_LISTED_MAX)):
        name = reader.text(cf.LOCK_NAME_BYTES_MAX)
        member: i64 = reader.integer()
        fence: i64 = reader.position()
        answer.locks.append(a.LockStatus(name, member, fence, read_bytes(reader, cf.LOCK_VALUE_BYTES_MAX)))
    return answer


def _write_structure(writer: PayloadWriter, status: a.StructureStatus) -> None:
    writer.text(status.name)
    write_bytes(writer, status.incarnation)
    writer.integer(status.state)
    writer.integer(status.state_member)
    writer.integer(status.level)
    writer.position(status.size_bytes)
    writer.position(status.used_bytes)
    writer.position(status.limit_bytes)
    writer.position(status.entries)
    writer.position(status.offloaded)
    writer.integer(status.queues)
    writer.integers(status.members)


def _read_structure(reader: PayloadReader) -> a.StructureStatus:
    status = a.StructureStatus(reader.text(_NAME_BYTES_MAX))
    status.incarnation = read_bytes(reader, cf.IDENTITY_BYTES)
    status.state = reader.count(len(cf.STRUCTURE_STATES) - 1)
    status.state_member = reader.integer()
    status.level = reader.integer()
    status.size_bytes = reader.position()
    status.used_bytes = reader.position()
    status.limit_bytes = reader.position()
    status.entries = reader.position()
    status.offloaded = reader.position()
    status.queues = reader.integer()
    status.members = reader.integers(cf.MEMBERS_MAX)
    return status


def _write_member(writer: PayloadWriter, status: a.MemberStatus) -> None:
    writer.integer(status.number)
    writer.integer(status.start)
    writer.text(status.name)
    writer.integer(status.state)
    writer.position(status.fence)
    writer.position(status.count)
    writer.position(status.logged)
    writer.integer(status.in_flight)
    writer.integer(status.in_doubt)
    writer.integer(status.recoverer)


def _read_member(reader: PayloadReader) -> a.MemberStatus:
    number: i64 = reader.integer()
    start: i64 = reader.integer()
    name = reader.text(_NAME_BYTES_MAX)
    status = a.MemberStatus(number, start, name, reader.count(len(cf.MEMBER_STATES) - 1))
    status.fence = reader.position()
    status.count = reader.position()
    status.logged = reader.position()
    status.in_flight = reader.integer()
    status.in_doubt = reader.integer()
    status.recoverer = reader.integer()
    return status


def _write_dump(writer: PayloadWriter, answer: a.DumpAnswer) -> None:
    writer.text(answer.through_queue)
    writer.position(answer.through_key + 1)
    write_flag(writer, answer.is_end)
    writer.integer(len(answer.entries))
    for dumped in answer.entries:
        writer.text(dumped.queue)
        writer.integer(dumped.place)
        write_bytes(writer, dumped.unit)
        write_entry(writer, dumped.entry)


def _read_dump(reader: PayloadReader) -> a.DumpAnswer:
    answer = a.DumpAnswer()
    answer.through_queue = reader.text(_NAME_BYTES_MAX)
    answer.through_key = reader.position() - 1
    answer.is_end = read_flag(reader)
    for _ in range(reader.count(cf.SLICE_ENTRIES_MAX)):
        queue = reader.text(_NAME_BYTES_MAX)
        place: i64 = reader.count(cf.GOT)
        unit = read_bytes(reader, cf.ID_BYTES)
        answer.entries.append(a.DumpedEntry(queue, place, unit, read_entry(reader)))
    return answer
