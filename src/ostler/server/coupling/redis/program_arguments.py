"""Programs as calls of scripts: which script, which keys, which arguments.

Fields out of their ranges are found here. Such a program is sent to the script BAD, which answers in its turn; a put
goes to its own script, which notes its number.
"""

from __future__ import annotations

from typing import Final, cast

from ostler.coupling.put_get import are_distinct, is_null, is_valid_entry
from ostler.coupling.structure_programs import LEVEL_MAX, SIZE_BYTES_MAX, SIZE_BYTES_MIN, is_valid_name
from ostler.coupling.watching import is_watchable
from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.entries import (
    PRIORITY_SHIFT,
    SEQUENCE_MASK,
    Entry,
    id_member,
    id_start,
    make_key,
    usable_bytes,
)
from ostler.server.coupling.redis.records import encode_key, encode_record
from ostler.server.coupling.redis.scripts import BAD

Argument = bytes | str | int
Call = tuple[str, list[Argument]]
"""The name of a script, and its arguments behind the fence."""

_MATCH_ID_BYTES: Final = (0, 24, 24, 48, 24, 16, 0, 0)
_OPTIONS: Final = cf.INPUT_SHARED | cf.INPUT_EXCLUSIVE | cf.OUTPUT
_INPUT: Final = cf.INPUT_SHARED | cf.INPUT_EXCLUSIVE
_INDEXES: Final = cf.INDEX_MSG_ID | cf.INDEX_CORREL_ID | cf.INDEX_GROUP_ID
_BAD: Final[Call] = (BAD, [])
# What is wrong with a put, for its script.
_NOTHING: Final = 0
_QUEUE_NAME: Final = 1
_LOGGED_IN_UNIT: Final = 2
_ENTRY: Final = 3


def call_of(program: p.Program, member: int, start: int) -> Call:
    """Return the call for a program of a member; any but JOIN."""
    kind = program.kind
    if kind == p.PUT:
        return _put(cast(p.PutProgram, program), member, start)
    if kind == p.GET:
        return _get(cast(p.GetProgram, program), member, start)
    if kind == p.DECIDE:
        return _decide(cast(p.DecideProgram, program))
    name = p.PROGRAM_NAMES[kind].lower()
    if isinstance(program, p.QueueProgram):
        if not is_valid_name(program.queue, cf.QUEUE_NAME_BYTES_MAX):
            return _BAD
        arguments = _of_queue(program)
        return _BAD if arguments is None else (name, [program.structure, program.queue, *arguments])
    if isinstance(program, p.StructureProgram):
        arguments = _of_structure(program)
        return _BAD if arguments is None else (name, [program.structure, *arguments])
    arguments = _of_facility(program)
    return _BAD if arguments is None else (name, arguments)


def _may_begin(unit: bytes, start: int) -> int:
    return 1 if id_start(unit) == start else 0


def _is_own_unit(unit: bytes, member: int) -> bool:
    return len(unit) == cf.ID_BYTES and id_member(unit) == member


def _is_own_entry(entry: Entry, member: int, start: int) -> bool:
    return is_valid_entry(entry) and id_member(entry.id) == member and id_start(entry.id) == start


def _put(program: p.PutProgram, member: int, start: int) -> Call:
    entry, unit = program.entry, program.unit
    wrong = _NOTHING
    if not is_valid_name(program.queue, cf.QUEUE_NAME_BYTES_MAX):
        wrong = _QUEUE_NAME
    elif program.logged < 0 or (program.logged and unit):
        wrong = _LOGGED_IN_UNIT
    elif not _is_own_entry(entry, member, start) or (unit and not _is_own_unit(unit, member)):
        wrong = _ENTRY
    record = b""
    if wrong == _NOTHING:
        entry.backout_count = 0
        record = encode_record(entry)
    first = 9 - entry.priority if 0 <= entry.priority <= 9 else 0
    return "put", [
        program.structure,
        program.queue,
        entry.id,
        record,
        entry.space(),
        unit,
        program.depth_max,
        program.logged,
        wrong,
        bytes((first,)),
        _may_begin(unit, start) if len(unit) == cf.ID_BYTES else 0,
    ]


def _get(program: p.GetProgram, member: int, start: int) -> Call:
    match, unit = program.match, program.unit
    if not 0 <= match <= cf.AT_KEY or not 0 <= program.mode <= cf.CLAIM_IF_NEEDED or program.body_bytes_max < 0:
        return _BAD
    if not is_valid_name(program.queue, cf.QUEUE_NAME_BYTES_MAX):
        return _BAD
    if len(program.id) != _MATCH_ID_BYTES[match] or is_null(match, program.id):
        return _BAD
    if (program.mode >= cf.CLAIM) != (len(unit) > 0) or (unit and not _is_own_unit(unit, member)):
        return _BAD
    if program.watch and match in (cf.ENTRY_ID, cf.AT_KEY):
        return _BAD
    if program.others and (program.mode != cf.CLAIM or not are_distinct(program)):
        return _BAD
    if program.handle < 0 or (program.locks and (program.mode != cf.BROWSE or program.handle == 0)):
        return _BAD
    return "get", [
        program.structure,
        program.queue,
        program.mode,
        match,
        program.id,
        encode_key(program.key),
        unit,
        program.now_ms,
        program.body_bytes_max,
        1 if program.truncation_accepted else 0,
        1 if program.watch else 0,
        _may_begin(unit, start) if unit else 0,
        program.handle,
        1 if program.locks else 0,
        *program.others,
    ]


def _decide(program: p.DecideProgram) -> Call:
    if len(program.unit) != cf.ID_BYTES:
        return _BAD
    return "decide", [program.unit, 1 if program.commit else 0, 1 if program.keep else 0]


def _of_queue(program: p.QueueProgram) -> list[Argument] | None:
    """Return the arguments behind structure and queue; None: a field is wrong."""
    if isinstance(program, p.OpenProgram):
        if program.options & ~_OPTIONS or program.options & _INPUT == _INPUT or program.indexes & ~_INDEXES:
            return None
        return [program.options, program.indexes]
    if isinstance(program, p.CloseProgram):
        if program.options & ~_OPTIONS or program.options & _INPUT == _INPUT:
            return None
        return [program.options]
    if isinstance(program, p.ListProgram):
        group_id = program.group_id
        if not _is_slice(program.count_max, program.bytes_max) or (
            group_id and not is_watchable(cf.GROUP_ID, group_id)
        ):
            return None
        key, with_bodies = encode_key(program.after_key), 1 if program.with_bodies else 0
        return [key, program.count_max, program.bytes_max, with_bodies, program.expired_ms, group_id]
    if isinstance(program, p.WatchProgram):
        if not 0 <= program.mode <= cf.WATCH_TRIGGERS or not is_watchable(program.match, program.id):
            return None
        if program.mode == cf.WATCH_TRIGGERS and program.match != cf.FIRST:
            return None
        return [program.mode, program.match, program.id]
    if isinstance(program, p.PurgeProgram):
        if not 0 < program.count_max <= cf.SLICE_ENTRIES_MAX:
            return None
        return [program.count_max, 1 if program.forced else 0]
    if isinstance(program, p.ReleaseProgram):
        return [program.entry] if len(program.entry) == cf.ID_BYTES else None
    if isinstance(program, p.LoadProgram):
        return _load(program)
    return []


def _is_slice(count_max: int, bytes_max: int) -> bool:
    return 0 < count_max <= cf.SLICE_ENTRIES_MAX and 0 < bytes_max <= cf.SLICE_BYTES_MAX


def _load(program: p.LoadProgram) -> list[Argument]:
    unit, entries = program.unit, program.entries
    is_wrong = not entries or len(entries) > cf.SLICE_ENTRIES_MAX or (program.got and not unit)
    if unit and (len(unit) != cf.ID_BYTES or not 0 < id_member(unit) <= 0x7FFFFFFF):
        is_wrong = True
    is_wrong = is_wrong or not all(is_valid_entry(entry) and _is_fitting_key(entry) for entry in entries)
    if is_wrong:
        return [b"", 0, 1]
    arguments: list[Argument] = [unit, 1 if program.got else 0, 0]
    for entry in entries:
        key = encode_key(entry.key) if entry.key else b""
        arguments += [entry.id, encode_record(entry), key, bytes((9 - entry.priority,)), entry.space()]
    return arguments


def _is_fitting_key(entry: Entry) -> bool:
    key = entry.key
    return key == 0 or (key == make_key(entry.priority, key & SEQUENCE_MASK) and key >> PRIORITY_SHIFT <= 9)


def _of_structure(program: p.StructureProgram) -> list[Argument] | None:
    """Return the arguments behind the structure; None: a field is wrong."""
    if isinstance(program, p.ConnectProgram):
        if not 1 <= program.level <= LEVEL_MAX:
            return None
        cannot_make = not is_valid_name(program.structure, cf.STRUCTURE_NAME_BYTES_MAX)
        cannot_make = cannot_make or not SIZE_BYTES_MIN <= program.size_bytes <= SIZE_BYTES_MAX
        size = program.size_bytes
        state = cf.STRUCTURE_STATE_FAILED if program.fails_if_new else cf.STRUCTURE_ACTIVE
        return [size, program.level, 0 if cannot_make else usable_bytes(size), 1 if cannot_make else 0, state]
    if isinstance(program, p.DeleteStructureProgram):
        return [1 if program.forced else 0]
    if isinstance(program, p.TakeFreedProgram):
        if not 0 < program.count_max <= cf.FREED_MAX or program.taken_through < 0:
            return None
        return [program.taken_through, program.count_max]
    if isinstance(program, p.DumpProgram):
        if not _is_slice(program.count_max, program.bytes_max):
            return None
        key, persistent_only = encode_key(program.after_key), 1 if program.persistent_only else 0
        bounds = [program.count_max, program.bytes_max, 1 if program.with_bodies else 0]
        return [program.after_queue, key, *bounds, persistent_only, program.owner]
    if isinstance(program, p.SetStateProgram):
        if not cf.STRUCTURE_ACTIVE <= program.state <= cf.STRUCTURE_INRECOVER or not 0 <= program.expected <= 4:
            return None
        return [program.expected, program.state]
    return []


def _of_facility(program: p.Program) -> list[Argument] | None:
    """Return the arguments of a program on no structure; None: a field is wrong."""
    if isinstance(program, p.ForgetProgram):
        return None if len(program.units) > cf.FORGET_MAX else [program.refused_through, *program.units]
    if isinstance(program, p.PrepareProgram):
        is_valid = len(program.unit) == cf.ID_BYTES and 0 < len(program.xid) <= cf.XID_BYTES_MAX
        return [program.unit, program.xid] if is_valid else None
    if isinstance(program, p.UnitsProgram):
        is_valid = 0 < program.count_max <= cf.UNITS_LISTED_MAX and len(program.after) in (0, cf.ID_BYTES)
        return [program.member, program.after, program.count_max] if is_valid else None
    if isinstance(program, p.BeginRecoveryProgram):
        return [program.member, 1 if program.forced else 0]
    if isinstance(program, p.EndRecoveryProgram):
        return [program.member]
    if isinstance(program, p.LockProgram):
        is_valid = 0 < len(program.name.encode()) <= cf.LOCK_NAME_BYTES_MAX
        is_valid = is_valid and len(program.value) <= cf.LOCK_VALUE_BYTES_MAX
        return [program.name, program.value] if is_valid else None
    if isinstance(program, p.UnlockProgram):
        return [program.name]
    if isinstance(program, p.LocksProgram):
        return [program.prefix, program.after]
    if isinstance(program, p.AnnounceProgram):
        return [program.text] if len(program.text.encode()) <= cf.TEXT_BYTES_MAX else None
    return [] if program.kind in (p.LEAVE, p.MEMBERS) else None
