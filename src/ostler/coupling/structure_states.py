"""States of structures: SET_STATE, and what becomes of backups and recoveries when their member is lost."""

from __future__ import annotations

from mypy_extensions import i64

from ostler.coupling.facility_state import FacilityState, Member
from ostler.coupling.structure import Structure
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.programs import SetStateProgram


def run_set_state(state: FacilityState, member: Member, structure: Structure, program: SetStateProgram) -> Answer:
    refusal: i64 = _refusal(member, structure, program)
    if refusal != cf.OK:
        return Answer(refusal)
    wanted: i64 = program.state
    if wanted == cf.STRUCTURE_STATE_FAILED:
        drop_contents(state, structure)
    elif wanted == cf.STRUCTURE_INRECOVER:
        structure.incarnation = state.new_incarnation()
    structure.state = wanted
    is_held = wanted == cf.STRUCTURE_INBACKUP or wanted == cf.STRUCTURE_INRECOVER
    structure.state_member = member.number if is_held else 0
    state.structure_changed(structure)
    state.space_changed(structure)
    member.count += 1
    return Answer(cf.OK)


def _refusal(member: Member, structure: Structure, program: SetStateProgram) -> i64:
    wanted: i64 = program.state
    before: i64 = structure.state
    if not cf.STRUCTURE_ACTIVE <= wanted <= cf.STRUCTURE_INRECOVER or not 0 <= program.expected <= 4:
        return cf.BAD_PROGRAM
    if program.expected != 0 and before != program.expected:
        return cf.WRONG_STATE
    if wanted == cf.STRUCTURE_STATE_FAILED:
        return cf.WRONG_STATE if before == wanted else cf.OK
    if structure.state_member != 0 and structure.state_member != member.number:
        return cf.STRUCTURE_IN_USE
    if wanted == cf.STRUCTURE_ACTIVE:
        return cf.OK if before == cf.STRUCTURE_INBACKUP or before == cf.STRUCTURE_INRECOVER else cf.WRONG_STATE
    needed: i64 = cf.STRUCTURE_ACTIVE if wanted == cf.STRUCTURE_INBACKUP else cf.STRUCTURE_STATE_FAILED
    return cf.OK if before == needed else cf.WRONG_STATE


def drop_contents(state: FacilityState, structure: Structure) -> None:
    """Drop all entries of a structure, and the operations of units on them. Loaded units without operations go, too."""
    for member in state.members.values():
        gone: list[bytes] = []
        for unit in member.units.values():
            if unit.operations:
                unit.operations = [each for each in unit.operations if each.structure is not structure]
                if not unit.operations and unit.fence == 0:
                    gone.append(unit.id)
        for unit_id in gone:
            state.drop_unit(member, unit_id)
    structure.empty()


def abandon_states(state: FacilityState, member: Member) -> None:
    """End what a member did with structures when it was lost: a backup ends, a recovery has failed."""
    for structure in state.structures.values():
        if structure.state_member != member.number:
            continue
        structure.state_member = 0
        if structure.state == cf.STRUCTURE_INBACKUP:
            structure.state = cf.STRUCTURE_ACTIVE
        else:
            structure.state = cf.STRUCTURE_STATE_FAILED
            drop_contents(state, structure)
        state.structure_changed(structure)
