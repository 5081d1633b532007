"""JOIN, LEAVE and the loss of members; BEGIN_RECOVERY and END_RECOVERY by peers; locks.

A member whose link breaks without LEAVE is FAILED, and its fence is void, before the next program runs. Its opens and
locks stay until a peer, or the member itself, has settled its units in flight.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.coupling.entry_locks import release_all
from ostler.coupling.facility_state import MEMBERS_KNOWN_MAX, FacilityState, Lock, Member
from ostler.coupling.structure_states import abandon_states
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, JoinAnswer, LocksAnswer, LockStatus, RecoveryAnswer
from ostler.model.coupling.events import FencedOut
from ostler.model.coupling.programs import (
    BeginRecoveryProgram,
    EndRecoveryProgram,
    JoinProgram,
    LockProgram,
    LocksProgram,
    UnlockProgram,
)

_NUMBER_MAX: Final = 0x7FFFFFFF


def run_join(state: FacilityState, link: i64, program: JoinProgram) -> Answer:
    number: i64 = program.member
    name_bytes: i64 = len(program.name.encode())
    if not 0 < number <= _NUMBER_MAX or not 0 < program.start <= _NUMBER_MAX:
        return Answer(cf.BAD_PROGRAM)
    if not 0 < name_bytes <= cf.MEMBER_NAME_BYTES_MAX or link in state.by_link:
        return Answer(cf.BAD_PROGRAM)
    member = state.members.get(number)
    refusal: i64 = _join_refusal(state, member, program)
    if refusal != cf.OK:
        return Answer(refusal)
    if member is None:
        member = state.members[number] = Member(number, program.name)
    member.name = program.name  # one that was loaded with a unit has none yet
    _free_opens(state, member)
    state.fenced_links.pop(link, None)
    member.start = program.start
    member.state = cf.MEMBER_ACTIVE_STATE
    member.link = link
    member.fence = state.new_fence()
    member.recoverer = 0
    member.count += 1
    state.by_link[link] = member
    state.member_changed(member)
    answer = JoinAnswer(member.fence, state.identity)
    answer.logged = member.logged
    answer.refused = list(member.refused)
    answer.units = len(member.units)
    answer.in_flight = member.in_state(cf.UNIT_INFLIGHT)
    return answer


def _join_refusal(state: FacilityState, member: Member | None, program: JoinProgram) -> i64:
    if member is not None:
        if member.state == cf.MEMBER_ACTIVE_STATE:
            return cf.MEMBER_ACTIVE
        if member.state == cf.MEMBER_RECOVERING:
            return cf.IN_RECOVERY
        if (member.name and member.name != program.name) or program.start < member.start:
            return cf.STALE_START
    present: i64 = 0
    for other in state.members.values():
        if other.state != cf.MEMBER_LEFT and other is not member:
            present += 1
    if present >= cf.MEMBERS_MAX:
        return cf.LIMIT
    return cf.LIMIT if member is None and len(state.members) >= MEMBERS_KNOWN_MAX else cf.OK


def run_leave(state: FacilityState, member: Member) -> Answer:
    if member.in_state(cf.UNIT_INFLIGHT):
        return Answer(cf.UNITS_LEFT)
    link: i64 = member.link
    _unbind(state, member)
    _settle(state, member)
    member.count += 1
    answer = Answer(cf.OK)
    answer.count = member.count
    state.fenced_links[link] = True
    return answer


def lose_link(state: FacilityState, link: i64) -> None:
    """Give up the member of a link that broke."""
    state.fenced_links.pop(link, None)
    member = state.by_link.get(link)
    if member is not None:
        _fail(state, member)


def _fail(state: FacilityState, member: Member) -> None:
    _unbind(state, member)
    member.state = cf.MEMBER_FAILED
    for structure in state.structures.values():
        structure.drop_watches(member.number)
        release_all(state, structure, member.number)
    abandon_states(state, member)
    state.member_changed(member)
    for other in state.members.values():
        if other.state == cf.MEMBER_RECOVERING and other.recoverer == member.number:
            other.state = cf.MEMBER_FAILED
            other.recoverer = 0
            state.member_changed(other)


def _unbind(state: FacilityState, member: Member) -> None:
    state.by_link.pop(member.link, None)
    member.link = 0


def _free_opens(state: FacilityState, member: Member) -> None:
    """Free opens, watches and connections of earlier links."""
    for structure in state.structures.values():
        structure.drop_member(member.number)
        release_all(state, structure, member.number)
        structure.members.pop(member.number, None)


def _settle(state: FacilityState, member: Member) -> None:
    """Let a member have left: nothing of it stays but units in doubt, tombstones and what it has committed."""
    _free_opens(state, member)
    abandon_states(state, member)
    for lock in [lock for lock in state.locks.values() if lock.member == member.number]:
        del state.locks[lock.name]
    member.state = cf.MEMBER_LEFT
    member.recoverer = 0
    state.member_changed(member)


def run_begin_recovery(state: FacilityState, member: Member, program: BeginRecoveryProgram) -> Answer:
    target = state.members.get(program.member)
    if target is None:
        return Answer(cf.UNKNOWN_MEMBER)
    if target is member:
        return Answer(cf.MEMBER_ACTIVE)
    if target.state == cf.MEMBER_ACTIVE_STATE:
        if not program.forced:
            return Answer(cf.MEMBER_ACTIVE)
        link: i64 = target.link
        state.push(target.number, FencedOut())
        _fail(state, target)
        state.fenced_links[link] = True
    if target.state == cf.MEMBER_LEFT:
        return Answer(cf.WRONG_STATE)
    if target.state == cf.MEMBER_RECOVERING:
        if target.recoverer != member.number:
            return Answer(cf.IN_RECOVERY)
    else:
        target.state = cf.MEMBER_RECOVERING
        target.recoverer = member.number
        member.count += 1
        state.member_changed(target)
    answer = RecoveryAnswer()
    answer.units = len(target.units)
    answer.in_flight = target.in_state(cf.UNIT_INFLIGHT)
    answer.name = target.name
    answer.start = target.start
    return answer


def run_end_recovery(state: FacilityState, member: Member, program: EndRecoveryProgram) -> Answer:
    target = state.members.get(program.member)
    if target is None:
        return Answer(cf.UNKNOWN_MEMBER)
    if target is member:
        return _end_own_recovery(state, member)
    if target.state != cf.MEMBER_RECOVERING or target.recoverer != member.number:
        return Answer(cf.WRONG_STATE)
    if target.in_state(cf.UNIT_INFLIGHT):
        return Answer(cf.UNITS_LEFT)
    _settle(state, target)
    member.count += 1
    return Answer(cf.OK)


def _end_own_recovery(state: FacilityState, member: Member) -> Answer:
    """Free the locks of a member's earlier links."""
    for unit in member.units.values():
        if unit.state == cf.UNIT_INFLIGHT and unit.fence != member.fence:
            return Answer(cf.UNITS_LEFT)
    old = [lock for lock in state.locks.values() if lock.member == member.number and lock.fence != member.fence]
    for lock in old:
        del state.locks[lock.name]
    if old:
        member.count += 1
    return Answer(cf.OK)


def run_lock(state: FacilityState, member: Member, program: LockProgram) -> Answer:
    name_bytes: i64 = len(program.name.encode())
    if not 0 < name_bytes <= cf.LOCK_NAME_BYTES_MAX or len(program.value) > cf.LOCK_VALUE_BYTES_MAX:
        return Answer(cf.BAD_PROGRAM)
    lock = state.locks.get(program.name)
    answer = LocksAnswer(cf.OK)
    if lock is None:
        if len(state.locks) >= cf.LOCKS_MAX:
            return Answer(cf.LIMIT)
        lock = state.locks[program.name] = Lock(program.name, member.number, member.fence, program.value)
        member.count += 1
    elif lock.member == member.number and lock.fence == member.fence:
        lock.value = program.value
        member.count += 1
    else:
        answer.status = cf.LOCKED
    answer.locks.append(LockStatus(lock.name, lock.member, lock.fence, lock.value))
    return answer


def run_unlock(state: FacilityState, member: Member, program: UnlockProgram) -> Answer:
    lock = state.locks.get(program.name)
    if lock is None or lock.member != member.number or lock.fence != member.fence:
        return Answer(cf.NOT_LOCKED)
    del state.locks[program.name]
    member.count += 1
    return Answer(cf.OK)


def run_locks(state: FacilityState, program: LocksProgram) -> Answer:
    answer = LocksAnswer(cf.OK)
    names = sorted([name for name in state.locks if name.startswith(program.prefix) and name > program.after])
    answer.is_end = len(names) <= cf.LOCKS_LISTED_MAX
    for name in names[: cf.LOCKS_LISTED_MAX]:
        lock = state.locks[name]
        answer.locks.append(LockStatus(lock.name, lock.member, lock.fence, lock.value))
    return answer
