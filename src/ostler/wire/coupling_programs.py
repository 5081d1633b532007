"""CF_PROGRAM: programs of the coupling facility in frames.

    8  fence
    4  kind of program
    .  structure and queue (text), if the program has them
    .  its own fields

A key to begin behind is sent plus one, so that "before all" is 0.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

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
from ostler.wire.frames import CF_PROGRAM, MalformedFrame, frame
from ostler.wire.payload_codec import PayloadReader, PayloadWriter

_NAME_BYTES_MAX: Final = 256
_MATCH_BYTES_MAX: Final = 48
_TEXT_BYTES_MAX: Final = 2 * cf.TEXT_BYTES_MAX
_WATCH: Final = 1
_TRUNCATION_ACCEPTED: Final = 2
_LOCK: Final = 4
_HANDLE: Final = 8
_OTHERS: Final = 16
_GET_OPTIONS: Final = 31


def encode_program(program: p.Program, request: i64) -> bytes:
    """Return the frame of a program."""
    writer = PayloadWriter()
    writer.position(program.fence)
    writer.integer(program.kind)
    if isinstance(program, p.StructureProgram):
        writer.text(program.structure)
        if isinstance(program, p.QueueProgram):
            writer.text(program.queue)
            _write_on_queue(writer, program)
        else:
            _write_on_structure(writer, program)
    else:
        _write_on_facility(writer, program)
    return frame(CF_PROGRAM, 0, request, writer.getvalue())


def decode_program(buffer: bytes, start: i64, end: i64) -> p.Program:
    """Return the program in the payload `buffer[start:end]`. Raises MalformedFrame."""
    reader = PayloadReader(buffer, start, end)
    fence: i64 = reader.position()
    kind: i64 = reader.integer()
    program: p.Program
    if kind in _ON_QUEUES:
        structure = reader.text(_NAME_BYTES_MAX)
        program = _read_on_queue(reader, kind, structure, reader.text(_NAME_BYTES_MAX))
    elif kind in _ON_STRUCTURES:
        program = _read_on_structure(reader, kind, reader.text(_NAME_BYTES_MAX))
    else:
        program = _read_on_facility(reader, kind)
    reader.check_end()
    program.fence = fence
    return program


_ON_QUEUES: Final = frozenset((p.PUT, p.GET, p.OPEN, p.CLOSE, p.LIST, p.WATCH, p.INQUIRE, p.LOAD, p.PURGE, p.RELEASE))
_ON_STRUCTURES: Final = frozenset(
    (p.CONNECT, p.DISCONNECT, p.DELETE_STRUCTURE, p.TAKE_FREED, p.STATUS, p.DUMP, p.SET_STATE)
)


def _write_on_queue(writer: PayloadWriter, program: p.QueueProgram) -> None:
    if isinstance(program, p.PutProgram):
        write_bytes(writer, program.unit)
        writer.position(program.depth_max)
        writer.position(program.logged)
        write_entry(writer, program.entry)
    elif isinstance(program, p.GetProgram):
        writer.integer(program.mode)
        writer.integer(program.match)
        write_bytes(writer, program.id)
        writer.position(program.key + 1)
        write_bytes(writer, program.unit)
        writer.position(program.now_ms)
        writer.position(program.body_bytes_max)
        _write_get_options(writer, program)
    elif isinstance(program, p.OpenProgram):
        writer.integer(program.options)
        writer.integer(program.indexes)
    elif isinstance(program, p.CloseProgram):
        writer.integer(program.options)
    elif isinstance(program, p.ListProgram):
        writer.position(program.after_key + 1)
        writer.integer(program.count_max)
        writer.integer(program.bytes_max)
        write_flag(writer, program.with_bodies)
        writer.position(program.expired_ms)
        write_bytes(writer, program.group_id)
    elif isinstance(program, p.WatchProgram):
        writer.integer(program.mode)
        writer.integer(program.match)
        write_bytes(writer, program.id)
    elif isinstance(program, p.LoadProgram):
        write_bytes(writer, program.unit)
        write_flag(writer, program.got)
        write_entries(writer, program.entries)
    elif isinstance(program, p.PurgeProgram):
        writer.integer(program.count_max)
        write_flag(writer, program.forced)
    elif isinstance(program, p.ReleaseProgram):
        write_bytes(writer, program.entry)


def _write_get_options(writer: PayloadWriter, program: p.GetProgram) -> None:
    options: i64 = _WATCH if program.watch else 0
    if program.truncation_accepted:
        options |= _TRUNCATION_ACCEPTED
    if program.locks:
        options |= _LOCK
    if program.handle:
        options |= _HANDLE
    if program.others:
        options |= _OTHERS
    writer.integer(options)
    if program.handle:
        writer.position(program.handle)
    if program.others:
        writer.integer(len(program.others))
        for each in program.others:
            write_bytes(writer, each)


def _read_on_queue(reader: PayloadReader, kind: i64, structure: str, queue: str) -> p.QueueProgram:
    if kind == p.PUT:
        unit = read_bytes(reader, cf.ID_BYTES)
        depth_max: i64 = reader.position()
        logged: i64 = reader.position()
        return p.PutProgram(structure, queue, read_entry(reader), unit, depth_max, logged)
    if kind == p.GET:
        return _read_get(reader, structure, queue)
    if kind == p.OPEN:
        options: i64 = reader.integer()
        return p.OpenProgram(structure, queue, options, reader.integer())
    if kind == p.CLOSE:
        return p.CloseProgram(structure, queue, reader.integer())
    if kind == p.LIST:
        listing = p.ListProgram(structure, queue, reader.position() - 1)
        listing.count_max = reader.integer()
        listing.bytes_max = reader.integer()
        listing.with_bodies = read_flag(reader)
        listing.expired_ms = reader.position()
        listing.group_id = read_bytes(reader, _MATCH_BYTES_MAX)
        return listing
    if kind == p.WATCH:
        mode: i64 = reader.integer()
        match: i64 = reader.integer()
        return p.WatchProgram(structure, queue, mode, match, read_bytes(reader, _MATCH_BYTES_MAX))
    if kind == p.LOAD:
        loaded_unit = read_bytes(reader, cf.ID_BYTES)
        got = read_flag(reader)
        return p.LoadProgram(structure, queue, read_entries(reader), loaded_unit, got)
    if kind == p.PURGE:
        count_max: i64 = reader.integer()
        return p.PurgeProgram(structure, queue, count_max, read_flag(reader))
    if kind == p.RELEASE:
        return p.ReleaseProgram(structure, queue, read_bytes(reader, cf.ID_BYTES))
    return p.InquireProgram(structure, queue)


def _read_get(reader: PayloadReader, structure: str, queue: str) -> p.GetProgram:
    mode: i64 = reader.integer()
    program = p.GetProgram(structure, queue, mode, reader.integer())
    program.id = read_bytes(reader, _MATCH_BYTES_MAX)
    program.key = reader.position() - 1
    program.unit = read_bytes(reader, cf.ID_BYTES)
    program.now_ms = reader.position()
    program.body_bytes_max = reader.position()
    options: i64 = reader.count(_GET_OPTIONS)
    program.watch = options & _WATCH != 0
    program.truncation_accepted = options & _TRUNCATION_ACCEPTED != 0
    program.locks = options & _LOCK != 0
    if options & _HANDLE:
        program.handle = reader.position()
    if options & _OTHERS:
        program.others = [read_bytes(reader, cf.ID_BYTES) for _ in range(reader.count(cf.TAKEN_TOGETHER_MAX))]
    return program


def _write_on_structure(writer: PayloadWriter, program: p.StructureProgram) -> None:
    if isinstance(program, p.ConnectProgram):
        writer.position(program.size_bytes)
        writer.integer(program.level)
        write_flag(writer, program.fails_if_new)
    elif isinstance(program, p.DeleteStructureProgram):
        write_flag(writer, program.forced)
    elif isinstance(program, p.TakeFreedProgram):
        writer.position(program.taken_through)
        writer.integer(program.count_max)
    elif isinstance(program, p.SetStateProgram):
        writer.integer(program.expected)
        writer.integer(program.state)
    elif isinstance(program, p.DumpProgram):
        writer.text(program.after_queue)
        writer.position(program.after_key + 1)
        writer.integer(program.count_max)
        writer.integer(program.bytes_max)
        write_flag(writer, program.with_bodies)
        write_flag(writer, program.persistent_only)
        writer.integer(program.owner)


def _read_on_structure(reader: PayloadReader, kind: i64, structure: str) -> p.StructureProgram:
    if kind == p.CONNECT:
        size_bytes: i64 = reader.position()
        level: i64 = reader.integer()
        return p.ConnectProgram(structure, size_bytes, level, read_flag(reader))
    if kind == p.DISCONNECT:
        return p.DisconnectProgram(structure)
    if kind == p.DELETE_STRUCTURE:
        return p.DeleteStructureProgram(structure, read_flag(reader))
    if kind == p.TAKE_FREED:
        taken: i64 = reader.position()
        return p.TakeFreedProgram(structure, taken, reader.integer())
    if kind == p.SET_STATE:
        expected: i64 = reader.integer()
        return p.SetStateProgram(structure, expected, reader.integer())
    if kind == p.DUMP:
        dump = p.DumpProgram(structure)
        dump.after_queue = reader.text(_NAME_BYTES_MAX)
        dump.after_key = reader.position() - 1
        dump.count_max = reader.integer()
        dump.bytes_max = reader.integer()
        dump.with_bodies = read_flag(reader)
        dump.persistent_only = read_flag(reader)
        dump.owner = reader.integer()
        return dump
    return p.StatusProgram(structure)


def _write_on_facility(writer: PayloadWriter, program: p.Program) -> None:
    if isinstance(program, p.DecideProgram):
        write_bytes(writer, program.unit)
        write_flag(writer, program.commit)
        write_flag(writer, program.keep)
    elif isinstance(program, p.ForgetProgram):
        writer.integer(len(program.units))
        for unit in program.units:
            write_bytes(writer, unit)
        writer.position(program.refused_through)
    elif isinstance(program, p.PrepareProgram):
        write_bytes(writer, program.unit)
        write_bytes(writer, program.xid)
    elif isinstance(program, p.JoinProgram):
        writer.integer(program.member)
        writer.integer(program.start)
        writer.text(program.name)
    elif isinstance(program, p.BeginRecoveryProgram):
        writer.integer(program.member)
        write_flag(writer, program.forced)
    elif isinstance(program, p.EndRecoveryProgram):
        writer.integer(program.member)
    elif isinstance(program, p.UnitsProgram):
        writer.integer(program.member)
        write_bytes(writer, program.after)
        writer.integer(program.count_max)
    elif isinstance(program, p.LockProgram):
        writer.text(program.name)
        write_bytes(writer, program.value)
    elif isinstance(program, p.UnlockProgram):
        writer.text(program.name)
    elif isinstance(program, p.LocksProgram):
        writer.text(program.prefix)
        writer.text(program.after)
    elif isinstance(program, p.AnnounceProgram):
        writer.text(program.text)


def _read_on_facility(reader: PayloadReader, kind: i64) -> p.Program:
    if kind == p.DECIDE:
        unit = read_bytes(reader, cf.ID_BYTES)
        commit = read_flag(reader)
        return p.DecideProgram(unit, commit, read_flag(reader))
    if kind == p.FORGET:
        units = [read_bytes(reader, cf.ID_BYTES) for _ in range(reader.count(cf.FORGET_MAX))]
        return p.ForgetProgram(units, reader.position())
    if kind == p.PREPARE:
        prepared = read_bytes(reader, cf.ID_BYTES)
        return p.PrepareProgram(prepared, read_bytes(reader, cf.XID_BYTES_MAX))
    if kind == p.JOIN:
        number: i64 = reader.integer()
        start: i64 = reader.integer()
        return p.JoinProgram(number, start, reader.text(_NAME_BYTES_MAX))
    if kind == p.LEAVE:
        return p.LeaveProgram()
    if kind == p.MEMBERS:
        return p.MembersProgram()
    if kind == p.BEGIN_RECOVERY:
        failed: i64 = reader.integer()
        return p.BeginRecoveryProgram(failed, read_flag(reader))
    if kind == p.END_RECOVERY:
        return p.EndRecoveryProgram(reader.integer())
    if kind == p.UNITS:
        owner: i64 = reader.integer()
        after = read_bytes(reader, cf.ID_BYTES)
        return p.UnitsProgram(owner, after, reader.integer())
    return _read_on_locks(reader, kind)


def _read_on_locks(reader: PayloadReader, kind: i64) -> p.Program:
    if kind == p.LOCK:
        name = reader.text(cf.LOCK_NAME_BYTES_MAX)
        return p.LockProgram(name, read_bytes(reader, cf.LOCK_VALUE_BYTES_MAX))
    if kind == p.UNLOCK:
        return p.UnlockProgram(reader.text(cf.LOCK_NAME_BYTES_MAX))
    if kind == p.LOCKS:
        prefix = reader.text(cf.LOCK_NAME_BYTES_MAX)
        return p.LocksProgram(prefix, reader.text(cf.LOCK_NAME_BYTES_MAX))
    if kind == p.ANNOUNCE:
        return p.AnnounceProgram(reader.text(_TEXT_BYTES_MAX))
    raise MalformedFrame(f"a program of kind {kind}")
