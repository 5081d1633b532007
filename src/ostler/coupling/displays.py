"""STATUS and MEMBERS: what displays show. They may be asked for by anybody, without JOIN."""

from __future__ import annotations

from ostler.coupling.facility_state import FacilityState, Member
from ostler.coupling.structure import Structure
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, MembersAnswer, MemberStatus, StatusAnswer, StructureStatus
from ostler.model.coupling.programs import StatusProgram


def run_status(state: FacilityState, program: StatusProgram) -> Answer:
    answer = StatusAnswer()
    answer.facility = state.identity
    if program.structure:
        structure = state.structures.get(program.structure)
        if structure is None:
            return Answer(cf.UNKNOWN_STRUCTURE)
        answer.structures.append(_describe_structure(structure))
        return answer
    answer.structures = describe_structures(state)
    return answer


def describe_structures(state: FacilityState) -> list[StructureStatus]:
    """Return all structures, in the order of their names."""
    return [_describe_structure(state.structures[name]) for name in sorted(state.structures)]


def _describe_structure(structure: Structure) -> StructureStatus:
    status = StructureStatus(structure.name)
    status.incarnation = structure.incarnation
    status.state = structure.state
    status.state_member = structure.state_member
    status.level = structure.level
    status.size_bytes = structure.size_bytes
    status.used_bytes = structure.used_bytes
    status.limit_bytes = structure.limit_bytes
    status.entries = len(structure.entries)
    status.offloaded = structure.offloaded
    status.queues = len(structure.headers)
    status.members = sorted(structure.members)
    return status


def run_members(state: FacilityState) -> Answer:
    answer = MembersAnswer()
    for number in sorted(state.members):
        answer.members.append(_describe_member(state.members[number]))
    return answer


def _describe_member(member: Member) -> MemberStatus:
    status = MemberStatus(member.number, member.start, member.name, member.state)
    status.fence = member.fence
    status.count = member.count
    status.logged = member.logged
    status.in_flight = member.in_state(cf.UNIT_INFLIGHT)
    status.in_doubt = member.in_state(cf.UNIT_INDOUBT)
    status.recoverer = member.recoverer
    return status
