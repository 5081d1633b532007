"""PUT and GET. Everything is checked before anything is changed."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.coupling.facility_state import FacilityState, Member, Operation, Unit
from ostler.coupling.header import Header
from ostler.coupling.stored import StoredEntry
from ostler.coupling.structure import Structure
from ostler.coupling.watching import watch_id, watch_waiters
from ostler.engine.message.message import MD_BYTES, NULL_ID
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, GetAnswer, PutAnswer
from ostler.model.coupling.entries import Entry, id_member, id_start
from ostler.model.coupling.programs import GetProgram, PutProgram

VISITED_MAX: Final = 10_000
"""Entries that one program looks at, so that it does not keep the others waiting."""
_MATCH_ID_BYTES: Final = (0, 24, 24, 48, 24, 16, 0, 0)


def is_valid_entry(entry: Entry) -> bool:
    """Return False for an entry that no structure takes."""
    if len(entry.id) != cf.ID_BYTES or not 0 <= entry.priority <= 9 or len(entry.md) != MD_BYTES:
        return False
    if len(entry.md) + len(entry.properties) + len(entry.body) > cf.ENTRY_DATA_BYTES_MAX:
        return False
    if len(entry.reference) > cf.REFERENCE_BYTES_MAX or (entry.owner != 0) != (len(entry.reference) != 0):
        return False
    if entry.expiry_ms < 0 or entry.backout_count < 0 or entry.flags & ~(cf.PERSISTENT | cf.GROUPED):
        return False
    return entry.body_length == len(entry.body) or len(entry.reference) > 0


def unit_refusal(state: FacilityState, member: Member, id: bytes) -> i64:
    """Return the status of an operation in a unit that the member has or begins, else OK."""
    if len(id) != cf.ID_BYTES or id_member(id) != member.number:
        return cf.BAD_PROGRAM
    unit = member.units.get(id)
    if unit is None:
        if id_start(id) != member.start:
            return cf.BAD_PROGRAM
        return cf.LIMIT if state.unit_count >= cf.UNITS_MAX else cf.OK
    if unit.state != cf.UNIT_INFLIGHT or unit.fence != member.fence:
        return cf.UNIT_DECIDED
    return cf.UNIT_FULL if len(unit.operations) >= cf.UNIT_OPERATIONS_MAX else cf.OK


def begin_or_join_unit(state: FacilityState, member: Member, id: bytes) -> Unit:
    unit = member.units.get(id)
    if unit is None:
        unit = Unit(id, member.fence)
        state.add_unit(member, unit)
    return unit


def run_put(state: FacilityState, member: Member, structure: Structure, program: PutProgram) -> Answer:
    """Put an entry. A refused put with a `logged` number is noted, because its log record exists."""
    logged: i64 = program.logged
    if logged:
        if logged < 0 or program.unit:
            return Answer(cf.BAD_PROGRAM)
        if logged <= member.logged:
            return Answer(cf.ALREADY_DONE)
    refusal: i64 = _put_refusal(state, member, structure, program)
    if refusal != cf.OK:
        return refuse_put(member, program, refusal)
    entry = program.entry
    key: i64 = structure.next_key(entry.priority)
    entry.key = key
    entry.backout_count = 0
    header = structure.header(program.queue)
    if program.unit:
        stored = StoredEntry(entry, header.name, key, cf.UNCOMMITTED, program.unit)
        structure.add(header, stored)
        begin_or_join_unit(state, member, program.unit).operations.append(Operation(structure, header, stored))
    else:
        stored = StoredEntry(entry, header.name, key, cf.COMMITTED, b"")
        structure.add(header, stored)
        state.became_available(structure, header, stored)
    state.space_changed(structure)
    member.count += 1
    if logged:
        member.logged = logged
    return PutAnswer(key, header.depth(), header.input_count)


def refuse_put(member: Member, program: PutProgram, refusal: i64) -> Answer:
    """Note the number of a refused put, and return the answer.

    If too many are noted, the number does not count as seen: it and all later ones are refused until some are
    forgotten.
    """
    if program.logged > member.logged:
        if len(member.refused) >= cf.REFUSED_MAX:
            return Answer(cf.LIMIT)
        member.refused.append(program.logged)
        member.logged = program.logged
        member.count += 1
    return Answer(refusal)


def _put_refusal(state: FacilityState, member: Member, structure: Structure, program: PutProgram) -> i64:
    entry = program.entry
    if not is_valid_entry(entry) or id_member(entry.id) != member.number or id_start(entry.id) != member.start:
        return cf.BAD_PROGRAM
    if program.logged and len(member.refused) >= cf.REFUSED_MAX:
        return cf.LIMIT
    refusal: i64 = structure.refusal()
    if refusal != cf.OK:
        return refusal
    if entry.id in structure.entries:
        return cf.DUPLICATE_ID
    if program.unit:
        refusal = unit_refusal(state, member, program.unit)
        if refusal != cf.OK:
            return refusal
    header = structure.headers.get(program.queue)
    if header is None:
        if not structure.can_have(program.queue):
            return cf.LIMIT
    elif program.depth_max and header.depth() >= program.depth_max:
        return cf.Q_FULL
    if structure.used_bytes + entry.space() > structure.limit_bytes:
        return cf.STRUCTURE_FULL
    return cf.OK


def run_get(state: FacilityState, member: Member, structure: Structure, program: GetProgram) -> Answer:
    """Get, claim or browse the first entry that matches."""
    refusal: i64 = _get_refusal(state, member, structure, program)
    if refusal != cf.OK:
        return Answer(refusal)
    answer = GetAnswer(cf.NO_MESSAGE, None, 0)
    header = structure.headers.get(program.queue)
    stored = None if header is None else _find(member, structure, header, program, answer)
    others: list[StoredEntry] = []
    if stored is not None and program.others and not _find_others(member, structure, program, answer, others):
        stored = None
    if header is None or stored is None:
        answer.depth = 0 if header is None else header.depth()
        if program.watch and not answer.through_key:
            _watch(member, structure, program, answer)
        return answer
    entry = stored.entry
    answer.entry = _cut(entry, program.body_bytes_max)
    answer.status = cf.OK
    if entry.body_length > program.body_bytes_max and not program.truncation_accepted:
        answer.status = cf.TOO_LONG
    elif program.mode != cf.BROWSE:
        _take(state, member, structure, header, stored, program, answer)
        for other in others:
            _take(state, member, structure, header, other, program, answer)
        member.count += 1
    elif program.locks:
        structure.lock(stored, member.number, program.handle)
        member.count += 1
    answer.depth = header.depth()
    return answer


def _take(
    state: FacilityState,
    member: Member,
    structure: Structure,
    header: Header,
    stored: StoredEntry,
    program: GetProgram,
    answer: GetAnswer,
) -> None:
    mode: i64 = program.mode
    if mode == cf.CLAIM_IF_NEEDED:
        needed = stored.entry.flags & cf.PERSISTENT or len(stored.entry.reference) > 0
        mode = cf.CLAIM if needed else cf.REMOVE
    if mode == cf.REMOVE:
        state.remove_entry(structure, header, stored)
        state.space_changed(structure)
        return
    header.remove(stored)
    structure.unlock(stored)
    stored.place = cf.GOT
    stored.unit = program.unit
    header.add(stored)
    begin_or_join_unit(state, member, program.unit).operations.append(Operation(structure, header, stored))
    answer.is_claimed = True


def _get_refusal(state: FacilityState, member: Member, structure: Structure, program: GetProgram) -> i64:
    match: i64 = program.match
    if not 0 <= match <= cf.AT_KEY or not 0 <= program.mode <= cf.CLAIM_IF_NEEDED or program.body_bytes_max < 0:
        return cf.BAD_PROGRAM
    if len(program.id) != _MATCH_ID_BYTES[match] or is_null(match, program.id):
        return cf.BAD_PROGRAM
    if (program.mode >= cf.CLAIM) != (len(program.unit) > 0):
        return cf.BAD_PROGRAM
    if program.watch and (match == cf.ENTRY_ID or match == cf.AT_KEY):
        return cf.BAD_PROGRAM
    if program.others and (program.mode != cf.CLAIM or not are_distinct(program)):
        return cf.BAD_PROGRAM
    if program.handle < 0 or (program.locks and (program.mode != cf.BROWSE or program.handle == 0)):
        return cf.BAD_PROGRAM
    refusal: i64 = structure.refusal()
    if refusal == cf.OK and program.unit:
        refusal = unit_refusal(state, member, program.unit)
        if refusal == cf.OK and program.others:
            unit = member.units.get(program.unit)
            had: i64 = 0 if unit is None else len(unit.operations)
            refusal = cf.UNIT_FULL if had + len(program.others) >= cf.UNIT_OPERATIONS_MAX else cf.OK
    return refusal


def are_distinct(program: GetProgram) -> bool:
    """Return True if a program takes not too many entries, none of them twice; the first one is found by its id."""
    if program.match != cf.ENTRY_ID or len(program.others) > cf.TAKEN_TOGETHER_MAX:
        return False
    for each in program.others:
        if len(each) != cf.ID_BYTES:
            return False
    return len({program.id, *program.others}) == 1 + len(program.others)


def is_null(match: i64, id: bytes) -> bool:
    """Return True for a null identifier, which means any message, so that there is nothing to find it by."""
    if match == cf.MSG_AND_CORREL_ID:
        return id[:24] == NULL_ID or id[24:] == NULL_ID
    return id == NULL_ID


def _find(
    member: Member, structure: Structure, header: Header, program: GetProgram, answer: GetAnswer
) -> StoredEntry | None:
    """Return the first committed entry that matches, has not expired, and is not locked by another handle.

    After VISITED_MAX entries the answer says where to go on.
    """
    match: i64 = program.match
    now_ms: i64 = program.now_ms
    found: StoredEntry | None
    if match == cf.ENTRY_ID:
        return _find_id(member, structure, program, program.id, answer)
    if match == cf.AT_KEY:
        found = header.committed.at(program.key)
        return found if found is None else _find_id(member, structure, program, found.entry.id, answer)
    visited: i64 = 0
    through_key: i64 = 0
    found = _first(header, program)
    while found is not None:
        if visited >= VISITED_MAX:
            answer.through_key = through_key
            return None
        visited += 1
        through_key = found.key
        if (match != cf.MSG_AND_CORREL_ID or found.correlation_id() == program.id[24:]) and not found.is_locked_for(
            member.number, program.handle
        ):
            if not found.has_expired(now_ms):
                return found
            answer.expired_seen = True
        found = _next(header, program, through_key)
    return None


def _find_id(
    member: Member, structure: Structure, program: GetProgram, id: bytes, answer: GetAnswer
) -> StoredEntry | None:
    """Return an entry by its identifier, if the program may have it."""
    found = structure.entries.get(id)
    if found is None or found.place != cf.COMMITTED or found.queue != program.queue:
        return None
    if found.is_locked_for(member.number, program.handle):
        return None
    if found.has_expired(program.now_ms):
        answer.expired_seen = True
        return None
    return found


def _find_others(
    member: Member,
    structure: Structure,
    program: GetProgram,
    answer: GetAnswer,
    others: list[StoredEntry],
) -> bool:
    """Find the further entries of a program. Returns False if it cannot have one of them."""
    for each in program.others:
        found = _find_id(member, structure, program, each, answer)
        if found is None:
            return False
        others.append(found)
    return True


def _first(header: Header, program: GetProgram) -> StoredEntry | None:
    match: i64 = program.match
    if match == cf.FIRST:
        return header.committed.first()
    if match == cf.FIRST_AFTER_KEY:
        return header.committed.after(program.key)
    if match == cf.CORREL_ID:
        found = header.index(cf.INDEX_CORREL_ID).first(program.id)
    elif match == cf.GROUP_ID:
        found = header.index(cf.INDEX_GROUP_ID).first(program.id)
    else:
        found = header.index(cf.INDEX_MSG_ID).first(program.id[:24])
    return found if found is None or found.key > program.key else _next(header, program, program.key)


def _next(header: Header, program: GetProgram, key: i64) -> StoredEntry | None:
    match: i64 = program.match
    if match == cf.FIRST or match == cf.FIRST_AFTER_KEY:
        return header.committed.after(key)
    if match == cf.CORREL_ID:
        return header.index(cf.INDEX_CORREL_ID).after(program.id, key)
    if match == cf.GROUP_ID:
        return header.index(cf.INDEX_GROUP_ID).after(program.id, key)
    return header.index(cf.INDEX_MSG_ID).after(program.id[:24], key)


def _watch(member: Member, structure: Structure, program: GetProgram, answer: GetAnswer) -> None:
    """Watch for what was not there. Where a limit forbids it, the answer says that nothing is watched."""
    if not structure.can_have(program.queue):
        return
    if program.match == cf.FIRST or program.match == cf.FIRST_AFTER_KEY:
        watch_waiters(structure.header(program.queue), member)
        answer.is_watched = True
    else:
        answer.is_watched = watch_id(structure, structure.header(program.queue), member, program.match, program.id)


def _cut(entry: Entry, body_bytes_max: i64) -> Entry:
    """Return the entry with at most so many bytes of its body."""
    if len(entry.body) <= body_bytes_max:
        return entry
    return copy_entry(entry, entry.body[:body_bytes_max])


def copy_entry(entry: Entry, body: bytes) -> Entry:
    """Return a copy of an entry with another body; its length stays that of the message."""
    copy = Entry(entry.id, entry.priority, entry.md, entry.properties, body)
    copy.body_length = entry.body_length
    copy.reference = entry.reference
    copy.owner = entry.owner
    copy.flags = entry.flags
    copy.expiry_ms = entry.expiry_ms
    copy.backout_count = entry.backout_count
    copy.key = entry.key
    return copy
