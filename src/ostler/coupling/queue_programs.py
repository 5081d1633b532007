"""Programs on one queue beside PUT and GET: OPEN, CLOSE, INQUIRE, LIST, PURGE."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.coupling.facility_state import FacilityState, Member
from ostler.coupling.header import Header
from ostler.coupling.put_get import VISITED_MAX, copy_entry
from ostler.coupling.stored import StoredEntry
from ostler.coupling.structure import Structure
from ostler.coupling.structure_programs import entry_frame_bytes
from ostler.engine.message.message import NULL_ID
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, ListAnswer, QueueAnswer
from ostler.model.coupling.programs import CloseProgram, ListProgram, OpenProgram, PurgeProgram

_OPTIONS: Final = cf.INPUT_SHARED | cf.INPUT_EXCLUSIVE | cf.OUTPUT
_INPUT: Final = cf.INPUT_SHARED | cf.INPUT_EXCLUSIVE
_INDEXES: Final = cf.INDEX_MSG_ID | cf.INDEX_CORREL_ID | cf.INDEX_GROUP_ID


def describe_queue(member: Member, structure: Structure, queue: str) -> QueueAnswer:
    answer = QueueAnswer()
    header = structure.headers.get(queue)
    if header is None:
        return answer
    answer.depth = header.depth()
    answer.uncommitted = header.uncommitted.count + header.got.count
    answer.input_count = header.input_count
    answer.output_count = header.output_count()
    answer.is_exclusive = header.exclusive_count > 0
    opens = header.opens.get(member.number)
    if opens is not None:
        answer.member_input_count = opens.input_count()
        answer.member_output_count = opens.output
    return answer


def run_open(member: Member, structure: Structure, program: OpenProgram) -> Answer:
    options: i64 = program.options
    if options & ~_OPTIONS or options & _INPUT == _INPUT or program.indexes & ~_INDEXES:
        return Answer(cf.BAD_PROGRAM)
    refusal: i64 = structure.refusal()
    if refusal != cf.OK:
        return Answer(refusal)
    if not structure.can_have(program.queue):
        return Answer(cf.LIMIT)
    header = structure.headers.get(program.queue)
    if header is not None:
        if options & _INPUT and header.exclusive_count > 0:
            return Answer(cf.IN_USE)
        if options & cf.INPUT_EXCLUSIVE and header.input_count > 0:
            return Answer(cf.IN_USE)
    else:
        header = structure.header(program.queue)
    for kind in (cf.INDEX_MSG_ID, cf.INDEX_CORREL_ID, cf.INDEX_GROUP_ID):
        if program.indexes & kind:
            header.index(kind)
    if options:
        header.open(member.number, options)
        member.count += 1
    return describe_queue(member, structure, program.queue)


def run_close(member: Member, structure: Structure, program: CloseProgram) -> Answer:
    options: i64 = program.options
    if options & ~_OPTIONS or options & _INPUT == _INPUT:
        return Answer(cf.BAD_PROGRAM)
    header = structure.headers.get(program.queue)
    if options:
        if header is None or not header.has_open(member.number, options):
            return Answer(cf.WRONG_STATE)
        header.close(member.number, options)
        member.count += 1
    return describe_queue(member, structure, program.queue)


def run_list(structure: Structure, program: ListProgram) -> Answer:
    if not 0 < program.count_max <= cf.SLICE_ENTRIES_MAX or not 0 < program.bytes_max <= cf.SLICE_BYTES_MAX:
        return Answer(cf.BAD_PROGRAM)
    if program.group_id and (len(program.group_id) != len(NULL_ID) or program.group_id == NULL_ID):
        return Answer(cf.BAD_PROGRAM)
    refusal: i64 = structure.refusal()
    if refusal != cf.OK:
        return Answer(refusal)
    answer = ListAnswer()
    answer.through_key = program.after_key
    header = structure.headers.get(program.queue)
    if header is None:
        answer.is_end = True
        return answer
    visited: i64 = 0
    used: i64 = 0
    stored = _after(header, program, program.after_key)
    while stored is not None:
        wanted = program.expired_ms == 0 or stored.has_expired(program.expired_ms)
        if wanted:
            used += entry_frame_bytes(stored.entry, program.with_bodies)
            if len(answer.entries) >= program.count_max or (answer.entries and used > program.bytes_max):
                return answer
        if visited >= VISITED_MAX:
            return answer
        visited += 1
        answer.through_key = stored.key
        if wanted:
            answer.entries.append(stored.entry if program.with_bodies else copy_entry(stored.entry, b""))
        stored = _after(header, program, stored.key)
    answer.is_end = True
    return answer


def _after(header: Header, program: ListProgram, key: i64) -> StoredEntry | None:
    """Return the next entry to list behind a key."""
    if not program.group_id:
        return header.committed.after(key)
    index = header.index(cf.INDEX_GROUP_ID)
    found = index.first(program.group_id)
    return found if found is None or found.key > key else index.after(program.group_id, key)


def run_purge(state: FacilityState, member: Member, structure: Structure, program: PurgeProgram) -> Answer:
    if not 0 < program.count_max <= cf.SLICE_ENTRIES_MAX:
        return Answer(cf.BAD_PROGRAM)
    refusal: i64 = structure.refusal()
    if refusal != cf.OK:
        return Answer(refusal)
    header = structure.headers.get(program.queue)
    if header is None:
        return describe_queue(member, structure, program.queue)
    if not program.forced and (header.input_count > 0 or header.uncommitted.count > 0 or header.got.count > 0):
        return Answer(cf.IN_USE)
    left: i64 = program.count_max
    stored = header.committed.first()
    if stored is not None:
        member.count += 1
    while stored is not None and left > 0:
        state.remove_entry(structure, header, stored)
        left -= 1
        stored = header.committed.first()
    state.space_changed(structure)
    return describe_queue(member, structure, program.queue)
