"""Programs on whole structures: CONNECT, DISCONNECT, DELETE_STRUCTURE, TAKE_FREED, DUMP and LOAD."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.coupling.entry_locks import release_all
from ostler.coupling.facility_state import FacilityState, Member, Operation
from ostler.coupling.header import Header
from ostler.coupling.put_get import VISITED_MAX, copy_entry, is_valid_entry
from ostler.coupling.stored import StoredEntry
from ostler.coupling.structure import Structure
from ostler.coupling.structure_states import drop_contents
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, ConnectAnswer, DumpAnswer, DumpedEntry, FreedAnswer
from ostler.model.coupling.entries import PRIORITY_SHIFT, SEQUENCE_MASK, Entry, id_member, make_key
from ostler.model.coupling.programs import (
    ConnectProgram,
    DeleteStructureProgram,
    DumpProgram,
    LoadProgram,
    TakeFreedProgram,
)

SIZE_BYTES_MIN: Final = 64 << 10
SIZE_BYTES_MAX: Final = 1 << 44
LEVEL_MAX: Final = 99
ENTRY_OVERHEAD_BYTES: Final = 160
"""Of an entry in a frame, beside its variable parts."""


def is_valid_name(name: str, bytes_max: i64) -> bool:
    return 0 < len(name) <= bytes_max and name.isascii()


def run_connect(state: FacilityState, member: Member, program: ConnectProgram) -> Answer:
    structure = state.structures.get(program.structure)
    answer = ConnectAnswer()
    if not 1 <= program.level <= LEVEL_MAX:
        return Answer(cf.BAD_PROGRAM)
    if structure is None:
        if not is_valid_name(program.structure, cf.STRUCTURE_NAME_BYTES_MAX):
            return Answer(cf.BAD_PROGRAM)
        if not SIZE_BYTES_MIN <= program.size_bytes <= SIZE_BYTES_MAX:
            return Answer(cf.BAD_PROGRAM)
        if len(state.structures) >= cf.STRUCTURES_MAX:
            return Answer(cf.LIMIT)
        structure = Structure(program.structure, state.new_incarnation(), program.size_bytes, program.level)
        if program.fails_if_new:
            structure.state = cf.STRUCTURE_STATE_FAILED
        state.structures[structure.name] = structure
        answer.is_new = True
    structure.members[member.number] = True
    structure.level = max(structure.level, program.level)
    member.count += 1
    answer.incarnation = structure.incarnation
    answer.state = structure.state
    answer.level = structure.level
    answer.size_bytes = structure.size_bytes
    freed = structure.freed.get(member.number)
    if freed is not None:
        freed.is_told = False
        state.tell_freed(structure, member.number)
    return answer


def run_disconnect(state: FacilityState, member: Member, structure: Structure) -> Answer:
    structure.drop_member(member.number)
    release_all(state, structure, member.number)
    structure.members.pop(member.number, None)
    member.count += 1
    return Answer(cf.OK)


def run_delete_structure(
    state: FacilityState, member: Member, structure: Structure, program: DeleteStructureProgram
) -> Answer:
    if structure.entries and not program.forced:
        return Answer(cf.NOT_EMPTY)
    for number in structure.members:
        if number != member.number:
            return Answer(cf.NOT_EMPTY)
    drop_contents(state, structure)
    structure.drop_member(member.number)
    del state.structures[structure.name]
    member.count += 1
    return Answer(cf.OK)


def run_take_freed(member: Member, structure: Structure, program: TakeFreedProgram) -> Answer:
    if not 0 < program.count_max <= cf.FREED_MAX or program.taken_through < 0:
        return Answer(cf.BAD_PROGRAM)
    answer = FreedAnswer()
    freed = structure.freed.get(member.number)
    if freed is None:
        answer.is_end = True
        answer.through = program.taken_through
        return answer
    before: i64 = freed.dropped
    freed.drop_through(program.taken_through)
    if freed.dropped != before:
        member.count += 1
    answer.references = freed.references[: program.count_max]
    answer.through = freed.dropped + len(answer.references)
    answer.is_end = len(answer.references) == len(freed.references)
    answer.is_lost = freed.is_lost
    freed.is_lost = False
    freed.is_told = not answer.is_end
    return answer


def entry_frame_bytes(entry: Entry, with_body: bool) -> i64:
    """Return about how many bytes an entry takes in an answer."""
    size: i64 = ENTRY_OVERHEAD_BYTES + len(entry.md) + len(entry.properties) + len(entry.reference)
    return size + len(entry.body) if with_body else size


def run_dump(structure: Structure, program: DumpProgram) -> Answer:
    if not 0 < program.count_max <= cf.SLICE_ENTRIES_MAX or not 0 < program.bytes_max <= cf.SLICE_BYTES_MAX:
        return Answer(cf.BAD_PROGRAM)
    answer = DumpAnswer()
    answer.through_queue = program.after_queue
    answer.through_key = program.after_key
    visited: i64 = 0
    used: i64 = 0
    for name in sorted([name for name in structure.headers if name >= program.after_queue]):
        header = structure.headers[name]
        stored = _first_behind(header, program.after_key if name == program.after_queue else -1)
        while stored is not None:
            wanted = _is_dumped(stored, program)
            size: i64 = entry_frame_bytes(stored.entry, program.with_bodies)
            if visited >= VISITED_MAX or (wanted and not _fits(answer, program, used + size)):
                return answer
            visited += 1
            answer.through_queue = name
            answer.through_key = stored.key
            if wanted:
                used += size
                entry = stored.entry if program.with_bodies else copy_entry(stored.entry, b"")
                answer.entries.append(DumpedEntry(name, stored.place, stored.unit, entry))
            stored = _first_behind(header, stored.key)
    answer.is_end = True
    return answer


def _fits(answer: DumpAnswer, program: DumpProgram, used: i64) -> bool:
    """Return True if one more entry may be in the slice. The first one always may."""
    return len(answer.entries) < program.count_max and (used <= program.bytes_max or not answer.entries)


def _is_dumped(stored: StoredEntry, program: DumpProgram) -> bool:
    if program.persistent_only and not stored.entry.flags & cf.PERSISTENT:
        return False
    return program.owner == 0 or stored.entry.owner == program.owner


def _first_behind(header: Header, key: i64) -> StoredEntry | None:
    """Return the first entry of a queue behind a key, in whatever place."""
    found = header.committed.after(key)
    other = header.uncommitted.after(key)
    if found is None or (other is not None and other.key < found.key):
        found = other
    other = header.got.after(key)
    if found is None or (other is not None and other.key < found.key):
        found = other
    return found


def run_load(state: FacilityState, member: Member, structure: Structure, program: LoadProgram) -> Answer:
    refusal: i64 = _load_refusal(state, member, structure, program)
    if refusal != cf.OK:
        return Answer(refusal)
    header = structure.header(program.queue)
    unit = state.loaded_unit(program.unit) if program.unit else None
    place: i64 = cf.COMMITTED
    if unit is not None:
        place = cf.GOT if program.got else cf.UNCOMMITTED
    for entry in program.entries:
        if entry.id in structure.entries:
            continue
        if entry.key == 0:
            entry.key = structure.next_key(entry.priority)
        else:
            structure.sequence = max(structure.sequence, entry.key & SEQUENCE_MASK)
        stored = StoredEntry(entry, header.name, entry.key, place, program.unit)
        structure.add(header, stored)
        if unit is not None:
            unit.operations.append(Operation(structure, header, stored))
    state.space_changed(structure)
    member.count += 1
    return Answer(cf.OK)


def _load_refusal(state: FacilityState, member: Member, structure: Structure, program: LoadProgram) -> i64:
    if structure.state != cf.STRUCTURE_INRECOVER or structure.state_member != member.number:
        return cf.WRONG_STATE
    if not program.entries or len(program.entries) > cf.SLICE_ENTRIES_MAX:
        return cf.BAD_PROGRAM
    if not is_valid_name(program.queue, cf.QUEUE_NAME_BYTES_MAX):
        return cf.BAD_PROGRAM
    refusal: i64 = _loaded_unit_refusal(state, program)
    if refusal != cf.OK:
        return refusal
    if not structure.can_have(program.queue):
        return cf.LIMIT
    header = structure.headers.get(program.queue)
    space: i64 = 0
    keys: set[int] = set()
    ids: set[bytes] = set()
    for entry in program.entries:
        if not is_valid_entry(entry) or entry.id in ids:
            return cf.BAD_PROGRAM
        ids.add(entry.id)
        if entry.id in structure.entries:
            continue
        space += entry.space()
        if entry.key != 0:
            if entry.key in keys or not _is_free_key(header, entry):
                return cf.BAD_PROGRAM
            keys.add(entry.key)
    if structure.used_bytes + space > structure.limit_bytes:
        return cf.STRUCTURE_FULL
    return cf.OK


def _is_free_key(header: Header | None, entry: Entry) -> bool:
    """Return True for a key that fits the entry's priority and that no entry of the queue has."""
    if entry.key != make_key(entry.priority, entry.key & SEQUENCE_MASK) or entry.key >> PRIORITY_SHIFT > 9:
        return False
    if header is None:
        return True
    key: i64 = entry.key
    return header.committed.at(key) is None and header.uncommitted.at(key) is None and header.got.at(key) is None


def _loaded_unit_refusal(state: FacilityState, program: LoadProgram) -> i64:
    unit_id = program.unit
    if not unit_id:
        return cf.BAD_PROGRAM if program.got else cf.OK
    if len(unit_id) != cf.ID_BYTES or not 0 < id_member(unit_id) <= 0x7FFFFFFF:
        return cf.BAD_PROGRAM
    unit = state.unit(unit_id, id_member(unit_id))
    if unit is None:
        return cf.LIMIT if state.unit_count >= cf.UNITS_MAX else cf.OK
    if unit.state != cf.UNIT_INFLIGHT or unit.fence != 0:
        return cf.UNIT_DECIDED
    return cf.UNIT_FULL if len(unit.operations) + len(program.entries) > cf.UNIT_OPERATIONS_MAX else cf.OK
