"""PREPARE, DECIDE, FORGET, UNITS: descriptors of units of work.

A unit is decided once, for all structures at the same moment. The descriptor stays as a tombstone with the outcome
until the owner forgets it, so that an owner that comes back can follow what was decided.
"""

from __future__ import annotations

from mypy_extensions import i64

from ostler.coupling.facility_state import FacilityState, Member, Operation, Unit
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, DecideAnswer, UnitsAnswer, UnitStatus
from ostler.model.coupling.entries import id_member
from ostler.model.coupling.programs import DecideProgram, ForgetProgram, PrepareProgram, UnitsProgram


def run_prepare(state: FacilityState, member: Member, program: PrepareProgram) -> Answer:
    """Make a unit in doubt: the owner's, or one that the member loads while it recovers a structure."""
    if len(program.unit) != cf.ID_BYTES or not 0 < len(program.xid) <= cf.XID_BYTES_MAX:
        return Answer(cf.BAD_PROGRAM)
    unit = state.unit(program.unit, id_member(program.unit))
    if unit is None:
        return Answer(cf.UNKNOWN_UNIT)
    if id_member(unit.id) != member.number and not (unit.fence == 0 and is_recovering_structure(state, member)):
        return Answer(cf.WRONG_STATE)
    if unit.state == cf.UNIT_INDOUBT and unit.xid == program.xid:
        return Answer(cf.OK)
    if unit.state != cf.UNIT_INFLIGHT:
        return Answer(cf.UNIT_DECIDED)
    unit.state = cf.UNIT_INDOUBT
    unit.xid = program.xid
    member.count += 1
    return Answer(cf.OK)


def is_recovering_structure(state: FacilityState, member: Member) -> bool:
    for structure in state.structures.values():
        if structure.state == cf.STRUCTURE_INRECOVER and structure.state_member == member.number:
            return True
    return False


def run_decide(state: FacilityState, member: Member, program: DecideProgram) -> Answer:
    if len(program.unit) != cf.ID_BYTES:
        return Answer(cf.BAD_PROGRAM)
    owner = state.members.get(id_member(program.unit))
    unit = None if owner is None else owner.units.get(program.unit)
    if owner is None or unit is None:
        return _note_outcome(state, member, program)
    if unit.state == cf.UNIT_COMMITTED or unit.state == cf.UNIT_BACKED_OUT:
        return DecideAnswer(unit.state)
    refusal: i64 = _decide_refusal(member, owner, unit)
    if refusal != cf.OK:
        return Answer(refusal)
    outcome: i64 = cf.UNIT_COMMITTED if program.commit else cf.UNIT_BACKED_OUT
    operations = unit.operations
    unit.operations = []
    unit.state = outcome
    unit.xid = b""
    for operation in operations:
        if program.commit:
            _commit(state, operation)
        else:
            _back_out(state, operation)
    for operation in operations:
        state.space_changed(operation.structure)
    if owner is member and not program.keep:
        state.drop_unit(owner, unit.id)
    member.count += 1
    return DecideAnswer(outcome)


def _note_outcome(state: FacilityState, member: Member, program: DecideProgram) -> Answer:
    """Leave a tombstone for the owner of a unit that an earlier facility had. The member has its outcome from logs."""
    if not program.keep or not is_recovering_structure(state, member):
        return Answer(cf.UNKNOWN_UNIT)
    if not 0 < id_member(program.unit) <= 0x7FFFFFFF:
        return Answer(cf.BAD_PROGRAM)
    if state.unit_count >= cf.UNITS_MAX:
        return Answer(cf.LIMIT)
    unit = state.loaded_unit(program.unit)
    unit.state = cf.UNIT_COMMITTED if program.commit else cf.UNIT_BACKED_OUT
    member.count += 1
    return DecideAnswer(unit.state)


def _decide_refusal(member: Member, owner: Member, unit: Unit) -> i64:
    """Return the status for a member that may not decide, else OK."""
    if owner is member:
        return cf.OK
    if owner.state == cf.MEMBER_ACTIVE_STATE:
        return cf.MEMBER_ACTIVE
    if unit.state == cf.UNIT_INDOUBT or owner.state == cf.MEMBER_RECOVERING:
        return cf.OK
    return cf.WRONG_STATE


def _commit(state: FacilityState, operation: Operation) -> None:
    stored = operation.stored
    if stored.place == cf.GOT:
        state.remove_entry(operation.structure, operation.header, stored)
        return
    operation.header.remove(stored)
    _make_available(state, operation)


def _back_out(state: FacilityState, operation: Operation) -> None:
    stored = operation.stored
    if stored.place == cf.UNCOMMITTED:
        state.remove_entry(operation.structure, operation.header, stored)
        return
    operation.header.remove(stored)
    stored.entry.backout_count += 1
    _make_available(state, operation)


def _make_available(state: FacilityState, operation: Operation) -> None:
    stored = operation.stored
    stored.place = cf.COMMITTED
    stored.unit = b""
    operation.header.add(stored)
    state.became_available(operation.structure, operation.header, stored)


def run_forget(state: FacilityState, member: Member, program: ForgetProgram) -> Answer:
    if len(program.units) > cf.FORGET_MAX:
        return Answer(cf.BAD_PROGRAM)
    has_changed = False
    for unit_id in program.units:
        unit = member.units.get(unit_id)
        if unit is not None and (unit.state == cf.UNIT_COMMITTED or unit.state == cf.UNIT_BACKED_OUT):
            state.drop_unit(member, unit_id)
            has_changed = True
    if program.refused_through and member.refused:
        left = [number for number in member.refused if number > program.refused_through]
        has_changed = has_changed or len(left) != len(member.refused)
        member.refused = left
    if has_changed:
        member.count += 1
    return Answer(cf.OK)


def run_units(state: FacilityState, program: UnitsProgram) -> Answer:
    if not 0 < program.count_max <= cf.UNITS_LISTED_MAX or len(program.after) not in (0, cf.ID_BYTES):
        return Answer(cf.BAD_PROGRAM)
    found: list[bytes] = []
    for owner in state.members.values():
        if program.member == 0 or owner.number == program.member:
            found.extend([unit_id for unit_id in owner.units if unit_id > program.after])
    found.sort()
    answer = UnitsAnswer()
    answer.is_end = len(found) <= program.count_max
    for unit_id in found[: program.count_max]:
        unit = state.unit(unit_id, id_member(unit_id))
        if unit is not None:
            answer.units.append(describe_unit(unit))
    return answer


def describe_unit(unit: Unit) -> UnitStatus:
    gets: i64 = 0
    for operation in unit.operations:
        if operation.stored.place == cf.GOT:
            gets += 1
    return UnitStatus(unit.id, unit.state, unit.xid, len(unit.operations) - gets, gets)
