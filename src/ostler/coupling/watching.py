"""WATCH: members are told when a queue has something for them."""

from __future__ import annotations

from mypy_extensions import i64

from ostler.coupling.facility_state import FacilityState, Member
from ostler.coupling.header import Header
from ostler.coupling.stored import StoredEntry
from ostler.coupling.structure import Structure
from ostler.engine.message.message import NULL_ID
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.events import QueueNotEmpty
from ostler.model.coupling.programs import WatchProgram


def watch_waiters(header: Header, member: Member) -> None:
    if member.number not in header.watchers.waiters:
        header.watchers.waiters.append(member.number)


def watch_id(structure: Structure, header: Header, member: Member, match: i64, id: bytes) -> bool:
    """Watch for one identifier. Returns False if the structure has too many watches."""
    if structure.id_watches >= cf.ID_WATCHES_MAX:
        return False
    if header.watchers.ids(match).add(id, member.number):
        header.watchers.id_count += 1
        structure.id_watches += 1
    return True


def is_watchable(match: i64, id: bytes) -> bool:
    """Return True for FIRST without an identifier, and for identifiers that are not null."""
    if match == cf.FIRST:
        return not id
    if match == cf.MSG_AND_CORREL_ID:
        return len(id) == 48 and id[:24] != NULL_ID and id[24:] != NULL_ID
    return (match == cf.MSG_ID or match == cf.CORREL_ID or match == cf.GROUP_ID) and len(id) == 24 and id != NULL_ID


def run_watch(state: FacilityState, member: Member, structure: Structure, program: WatchProgram) -> Answer:
    mode: i64 = program.mode
    match: i64 = program.match
    if not 0 <= mode <= cf.WATCH_TRIGGERS or not is_watchable(match, program.id):
        return Answer(cf.BAD_PROGRAM)
    if mode == cf.WATCH_TRIGGERS and match != cf.FIRST:
        return Answer(cf.BAD_PROGRAM)
    if mode == cf.WATCH_OFF:
        _end_watch(member, structure, program)
        return Answer(cf.OK)
    if not structure.can_have(program.queue):
        return Answer(cf.LIMIT)
    if match != cf.FIRST and structure.id_watches >= cf.ID_WATCHES_MAX:
        return Answer(cf.LIMIT)
    header = structure.header(program.queue)
    if mode == cf.WATCH_TRIGGERS:
        if member.number not in header.watchers.triggers:
            header.watchers.triggers.append(member.number)
    elif match == cf.FIRST:
        watch_waiters(header, member)
    elif _has(header, match, program.id):
        state.push(member.number, QueueNotEmpty(structure.name, header.name, match, program.id))
        return Answer(cf.OK)
    else:
        watch_id(structure, header, member, match, program.id)
        return Answer(cf.OK)
    if header.committed.count > 0:
        triggers = mode == cf.WATCH_TRIGGERS
        state.push(member.number, QueueNotEmpty(structure.name, header.name, triggers=triggers))
    return Answer(cf.OK)


def _end_watch(member: Member, structure: Structure, program: WatchProgram) -> None:
    header = structure.headers.get(program.queue)
    if header is None:
        return
    watchers = header.watchers
    if program.match != cf.FIRST:
        if watchers.ids(program.match).remove(program.id, member.number):
            watchers.id_count -= 1
            structure.id_watches -= 1
        return
    if member.number in watchers.waiters:
        watchers.waiters.remove(member.number)
        if watchers.untold > len(watchers.waiters):
            watchers.untold = len(watchers.waiters)
    if member.number in watchers.triggers:
        watchers.triggers.remove(member.number)


def _has(header: Header, match: i64, id: bytes) -> bool:
    """Return True if there is a committed entry with the identifier."""
    if match == cf.CORREL_ID:
        return header.index(cf.INDEX_CORREL_ID).first(id) is not None
    if match == cf.GROUP_ID:
        return header.index(cf.INDEX_GROUP_ID).first(id) is not None
    index = header.index(cf.INDEX_MSG_ID)
    found: StoredEntry | None = index.first(id[:24])
    while found is not None and match == cf.MSG_AND_CORREL_ID and found.correlation_id() != id[24:]:
        found = index.after(id[:24], found.key)
    return found is not None
