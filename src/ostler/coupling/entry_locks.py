"""Browse locks: RELEASE, and the end of the locks of a member whose link or connection ends."""

from __future__ import annotations

from mypy_extensions import i64

from ostler.coupling.facility_state import FacilityState, Member
from ostler.coupling.stored import StoredEntry
from ostler.coupling.structure import Structure
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.programs import ReleaseProgram


def run_release(state: FacilityState, member: Member, structure: Structure, program: ReleaseProgram) -> Answer:
    if len(program.entry) != cf.ID_BYTES:
        return Answer(cf.BAD_PROGRAM)
    stored = structure.locked.get(program.entry)
    if stored is None or stored.lock_member != member.number or stored.queue != program.queue:
        return Answer(cf.NOT_LOCKED)
    _release(state, structure, stored)
    member.count += 1
    return Answer(cf.OK)


def release_all(state: FacilityState, structure: Structure, member: i64) -> None:
    """End all locks of a member's handles in a structure."""
    if not structure.locked:
        return
    for stored in [each for each in structure.locked.values() if each.lock_member == member]:
        _release(state, structure, stored)


def _release(state: FacilityState, structure: Structure, stored: StoredEntry) -> None:
    structure.unlock(stored)
    state.tell_watchers(structure, structure.headers[stored.queue], stored)
