"""The facility as a machine: programs in, answers out, events to push. No sockets, no clock, no threads.

The owner gives every link a number, runs the programs of all links one after another, and sends each answer before it
runs the next program of that link: answers share entries with the memory of the facility. Then it pushes the events.
"""

from __future__ import annotations

from typing import cast, final

from mypy_extensions import i64

from ostler.coupling.displays import run_members, run_status
from ostler.coupling.entry_locks import run_release
from ostler.coupling.expiry import drop_expired
from ostler.coupling.facility_state import FacilityState, Member, Push
from ostler.coupling.membership import (
    lose_link,
    run_begin_recovery,
    run_end_recovery,
    run_join,
    run_leave,
    run_lock,
    run_locks,
    run_unlock,
)
from ostler.coupling.put_get import refuse_put, run_get, run_put
from ostler.coupling.queue_programs import describe_queue, run_close, run_list, run_open, run_purge
from ostler.coupling.structure import Structure
from ostler.coupling.structure_programs import (
    is_valid_name,
    run_connect,
    run_delete_structure,
    run_disconnect,
    run_dump,
    run_load,
    run_take_freed,
)
from ostler.coupling.structure_states import run_set_state
from ostler.coupling.unit_programs import run_decide, run_forget, run_prepare, run_units
from ostler.coupling.watching import run_watch
from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.events import Announced


@final
class CouplingMachine:
    """One facility. `identity` must be new for each one that starts with an empty memory."""

    def __init__(self, identity: bytes, first_fence: i64 = 1) -> None:
        self.state = FacilityState(identity, first_fence)

    def run(self, link: i64, program: p.Program) -> Answer:
        """Run a program whole, or refuse it. The link, a number from 1 on, says whose it is."""
        state = self.state
        kind: i64 = program.kind
        member = state.by_link.get(link)
        if member is None or program.fence != member.fence:
            return self._run_stranger(link, member, program)
        answer: Answer
        if kind == p.PUT:
            answer = self._run_put(member, cast(p.PutProgram, program))
        elif isinstance(program, p.StructureProgram) and kind != p.STATUS:
            answer = self._run_on_structure(member, program)
        else:
            answer = self._run_on_facility(member, program)
        answer.count = member.count
        return answer

    def on_link_lost(self, link: i64) -> None:
        """Give up the member of a link that has ended. After LEAVE there is none."""
        lose_link(self.state, link)

    def tick(self, now_ms: i64) -> None:
        """Set the time, in milliseconds of any clock that does not go back, and do what is due."""
        self.state.now_ms = now_ms
        self.state.wake_due()

    def drop_expired(self, wall_ms: i64) -> i64:
        """Drop what has expired and nobody would hear of. Returns when to look again; -1: nothing expires."""
        return drop_expired(self.state, wall_ms)

    def next_tick_ms(self) -> i64:
        """Return the time at which `tick` has something to do, or 0."""
        return self.state.next_wake_ms()

    def take_pushes(self) -> list[Push]:
        """Return the events since the last call, in their order."""
        pushes = self.state.pushes
        if pushes:
            self.state.pushes = []
        return pushes

    def _run_stranger(self, link: i64, member: Member | None, program: p.Program) -> Answer:
        """Answer a program without a valid fence: joining and looking are allowed."""
        if member is None:
            if isinstance(program, p.JoinProgram):
                answer = run_join(self.state, link, program)
                joined = self.state.by_link.get(link)
                if joined is not None:
                    answer.count = joined.count
                return answer
            shown = self._run_display(program)
            if shown is not None:
                return shown
            return Answer(cf.FENCED if link in self.state.fenced_links else cf.NOT_CONNECTED)
        return Answer(cf.FENCED)

    def _run_display(self, program: p.Program) -> Answer | None:
        """Run a program that changes nothing and needs no member."""
        if isinstance(program, p.StatusProgram):
            return run_status(self.state, program)
        if isinstance(program, p.MembersProgram):
            return run_members(self.state)
        if isinstance(program, p.UnitsProgram):
            return run_units(self.state, program)
        if isinstance(program, p.LocksProgram):
            return run_locks(self.state, program)
        return None

    def _run_put(self, member: Member, program: p.PutProgram) -> Answer:
        structure = self.state.structures.get(program.structure)
        if structure is None:
            return refuse_put(member, program, cf.UNKNOWN_STRUCTURE)
        if member.number not in structure.members:
            return refuse_put(member, program, cf.NOT_CONNECTED)
        if not is_valid_name(program.queue, cf.QUEUE_NAME_BYTES_MAX):
            return refuse_put(member, program, cf.BAD_PROGRAM)
        answer = run_put(self.state, member, structure, program)
        answer.used_bytes = structure.used_bytes
        answer.limit_bytes = structure.limit_bytes
        return answer

    def _run_on_structure(self, member: Member, program: p.StructureProgram) -> Answer:
        structure = self.state.structures.get(program.structure)
        if isinstance(program, p.ConnectProgram):
            answer = run_connect(self.state, member, program)
            structure = self.state.structures.get(program.structure)
        elif structure is None:
            return Answer(cf.UNKNOWN_STRUCTURE)
        elif member.number not in structure.members:
            return Answer(cf.NOT_CONNECTED)
        elif isinstance(program, p.QueueProgram):
            if not is_valid_name(program.queue, cf.QUEUE_NAME_BYTES_MAX):
                return Answer(cf.BAD_PROGRAM)
            answer = self._run_on_queue(member, structure, program)
        else:
            answer = self._run_on_whole(member, structure, program)
        if structure is not None:
            answer.used_bytes = structure.used_bytes
            answer.limit_bytes = structure.limit_bytes
        return answer

    def _run_on_queue(self, member: Member, structure: Structure, program: p.QueueProgram) -> Answer:
        state = self.state
        if isinstance(program, p.GetProgram):
            return run_get(state, member, structure, program)
        if isinstance(program, p.ListProgram):
            return run_list(structure, program)
        if isinstance(program, p.WatchProgram):
            return run_watch(state, member, structure, program)
        if isinstance(program, p.OpenProgram):
            return run_open(member, structure, program)
        if isinstance(program, p.CloseProgram):
            return run_close(member, structure, program)
        if isinstance(program, p.InquireProgram):
            return describe_queue(member, structure, program.queue)
        if isinstance(program, p.LoadProgram):
            return run_load(state, member, structure, program)
        if isinstance(program, p.PurgeProgram):
            return run_purge(state, member, structure, program)
        if isinstance(program, p.ReleaseProgram):
            return run_release(state, member, structure, program)
        return Answer(cf.BAD_PROGRAM)

    def _run_on_whole(self, member: Member, structure: Structure, program: p.StructureProgram) -> Answer:
        if isinstance(program, p.TakeFreedProgram):
            return run_take_freed(member, structure, program)
        if isinstance(program, p.DumpProgram):
            return run_dump(structure, program)
        if isinstance(program, p.SetStateProgram):
            return run_set_state(self.state, member, structure, program)
        if isinstance(program, p.DisconnectProgram):
            return run_disconnect(self.state, member, structure)
        if isinstance(program, p.DeleteStructureProgram):
            return run_delete_structure(self.state, member, structure, program)
        return Answer(cf.BAD_PROGRAM)

    def _run_on_facility(self, member: Member, program: p.Program) -> Answer:
        state = self.state
        if isinstance(program, p.DecideProgram):
            return run_decide(state, member, program)
        if isinstance(program, p.ForgetProgram):
            return run_forget(state, member, program)
        if isinstance(program, p.PrepareProgram):
            return run_prepare(state, member, program)
        if isinstance(program, p.LockProgram):
            return run_lock(state, member, program)
        if isinstance(program, p.UnlockProgram):
            return run_unlock(state, member, program)
        if isinstance(program, p.BeginRecoveryProgram):
            return run_begin_recovery(state, member, program)
        if isinstance(program, p.EndRecoveryProgram):
            return run_end_recovery(state, member, program)
        if isinstance(program, p.LeaveProgram):
            return run_leave(state, member)
        if isinstance(program, p.AnnounceProgram):
            if len(program.text.encode()) > cf.TEXT_BYTES_MAX:
                return Answer(cf.BAD_PROGRAM)
            state.push_others(member.number, Announced(member.number, program.text))
            return Answer(cf.OK)
        shown = self._run_display(program)
        return Answer(cf.BAD_PROGRAM) if shown is None else shown
