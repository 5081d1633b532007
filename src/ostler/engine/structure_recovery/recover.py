"""RECOVER CFSTRUCT: structures that have failed are filled again from backups and the journals of all members.

    1 SET_STATE(FAILED -> INRECOVER)       one recoverer wins; if it is lost, the structure is FAILED again
    2 members, and who of the others runs  a queue manager that runs must join first: it may have puts to complete
    3 FLUSH of all, members again          what members know is in their journals
    4 the host reads the journals          `merge.StructureMerge`
    5 LOAD, slice by slice                 bodies are offloaded again by the structure's rules
    6 DECIDE, PREPARE                      tombstones for units whose owners do not know their ends; units in doubt
    7 SET_STATE(ACTIVE)

TYPE(PURGE) has steps 1 and 7 only.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from ostler.engine.core import Engine
from ostler.engine.shared.membership import FacilityTask, Membership, reason_of
from ostler.engine.shared.offloading import choose_place, with_reference
from ostler.engine.structure_recovery import signals
from ostler.engine.structure_recovery.merge import LoadedEntry, StructureMerge
from ostler.engine.structure_recovery.signals import SignalListener, Signals
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, MembersAnswer
from ostler.model.coupling.entries import Entry, make_id
from ostler.model.coupling.offload import IN_STRUCTURE, BodyStored
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import (
    DecideProgram,
    LoadProgram,
    MembersProgram,
    PrepareProgram,
    Program,
    SetStateProgram,
)
from ostler.model.errors import MQError

_TICKS_MAX: Final = 60  # for members that run and have not joined
_LOAD_BYTES_MAX: Final = cf.SLICE_BYTES_MAX // 2
_LOAD_ENTRIES_MAX: Final = 500
_ENTRY_OVERHEAD: Final = 1024
_DECISIONS_AT_ONCE: Final = 500

# Steps.
_CLAIMING: Final = 0
_LISTING: Final = 1
_INQUIRING: Final = 2
_FLUSHING: Final = 3
_LISTING_AGAIN: Final = 4
_READING: Final = 5
_LOADING: Final = 6
_DECIDING: Final = 7
_OPENING: Final = 8
_ENDED: Final = 9


@mypyc_attr(allow_interpreted_subclasses=True)
class RecoveryHost(metaclass=ABCMeta):
    """Reads journals for a recovery. Calls come in turns and never wait; answers come in later turns."""

    @abstractmethod
    def inquire(self, recovery: StructureRecovery, active: list[int]) -> None:
        """Find the members that run and have not joined: `recovery.on_inquired`."""

    @abstractmethod
    def read(self, recovery: StructureRecovery, until: dict[int, int]) -> None:
        """Merge backups and journals: `recovery.on_read`. `until`: how far the journals of active members reach."""

    @abstractmethod
    def next_batch(self, recovery: StructureRecovery) -> None:
        """Read the next messages of the merge: `recovery.on_batch`; none at the end."""

    @abstractmethod
    def ended(self, recovery: StructureRecovery) -> None:
        """The recovery has ended, well or not: nothing more is read for it."""


@final
class StructureRecovery(FacilityTask):
    """`failure` tells why nothing was recovered; `refused` has structures that were left out, with the reason."""

    def __init__(
        self, engine: Engine, sharing: Membership, signals_: Signals, host: RecoveryHost, names: list[str], purge: bool
    ) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.signals = signals_
        self.host = host
        self.names = names
        self.is_purge = purge
        self.failure: MQError | None = None
        self.refused: dict[str, int] = {}
        self.claimed: list[str] = []
        self.members: dict[int, str] = {}
        """All members that the facility knows: their names by number."""
        self.messages: i64 = 0
        self.units: i64 = 0
        self._step: i64 = _CLAIMING
        self._pending: i64 = 0
        self._nonce = ""
        self._ticks: i64 = 0
        self._inquired_ticks: i64 = 0
        self._listed: dict[int, tuple[int, int]] = {}
        self._until: dict[int, int] = {}
        self._waiting: dict[int, bool] = {}
        self._waiting_names: list[str] = []
        self._merge: StructureMerge | None = None
        self._decisions: list[Program] = []

    def begin(self) -> None:
        self.sharing.begin_task(self)
        self._pending = len(self.names)
        for name in self.names:
            program = SetStateProgram(name, cf.STRUCTURE_STATE_FAILED, cf.STRUCTURE_INRECOVER)
            self.sharing.submit(program, 0, _Claimed(self, name))

    def on_claimed(self, name: str, answer: Answer) -> None:
        status: i64 = answer.status
        if status == cf.OK:
            self.claimed.append(name)
        else:
            reason: i64 = mq.MQRC_CF_STRUC_IN_USE if status == cf.WRONG_STATE else reason_of(status)
            self.refused[name] = reason
        self._pending -= 1
        if self._pending > 0:
            return
        if not self.claimed:
            reason = self.refused[self.names[0]]
            text = f"The structure {self.names[0]} is not recovered: it has not failed, or another member recovers it."
            self._end(MQError(reason, text))
        elif self.is_purge:
            self._open()
        else:
            self._list()

    # -- the others ----------------------------------------------------------------------------------------------------

    def _list(self) -> None:
        self._step = _LISTING
        self.sharing.submit(MembersProgram(), 0, _Step(self))

    def on_answer(self, answer: Answer) -> None:
        if self.is_done:
            return
        if answer.status != cf.OK:
            self.fail(MQError(reason_of(answer.status), self._text("the coupling facility has refused a step")))
        elif isinstance(answer, MembersAnswer):
            states = _states(answer)
            if self._step == _LISTING:
                self._listed = states
                self.members = {int(member.number): member.name for member in answer.members}
                self._step = _INQUIRING
                self.host.inquire(self, [number for number in states if _is_active(states[number])])
            elif states != self._listed:
                self._list()
            else:
                self._step = _READING
                self.host.read(self, self._until)

    def _text(self, why: str) -> str:
        names = ", ".join(self.claimed if self.claimed else self.names)
        return f"The structure {names} is not recovered: {why}."

    def on_inquired(self, waiting: list[str], failure: str) -> None:
        """Go on when nobody runs that has not joined; otherwise look again with the next tick."""
        if self.is_done or self._step != _INQUIRING:
            return
        if failure:
            self.fail(MQError(mq.MQRC_RESOURCE_PROBLEM, self._text(failure)))
            return
        self._waiting_names = waiting
        if waiting:
            return
        self.signals.listeners.pop(self._nonce, None)
        self._nonce = self.sharing.new_entry_id().hex()
        self.signals.listeners[self._nonce] = _Replies(self)
        self._until = {}
        self._waiting = {}
        for number in self._listed:
            if number != self.sharing.number and _is_active(self._listed[number]):
                self._waiting[number] = True
        self._step = _FLUSHING
        if self._waiting:
            self.signals.ask(self._nonce, signals.FLUSH)
        else:
            self._on_flushed()

    def on_reply(self, member: i64, verb: str, numbers: list[int]) -> None:
        if self._step == _FLUSHING and verb == signals.FLUSHED and len(numbers) == 1 and member in self._waiting:
            self._until[member] = numbers[0]
            del self._waiting[member]
            if not self._waiting:
                self._on_flushed()

    def _on_flushed(self) -> None:
        self._step = _LISTING_AGAIN
        lsn: i64 = self.engine.journal.end_lsn()
        self._until[self.sharing.number] = lsn
        self.sharing.submit(MembersProgram(), lsn, _Step(self))

    # -- messages ------------------------------------------------------------------------------------------------------

    def on_read(self, merge: StructureMerge | None, failure: str) -> None:
        """Take the merge of all journals, or the reason why there is none."""
        if self.is_done or self._step != _READING:
            return
        if merge is None:
            self.fail(MQError(mq.MQRC_RESOURCE_PROBLEM, self._text(failure)))
            return
        self._merge = merge
        self._step = _LOADING
        self.host.next_batch(self)

    def on_batch(self, loaded: list[LoadedEntry], failure: str) -> None:
        if self.is_done or self._step != _LOADING:
            return
        if failure:
            self.fail(MQError(mq.MQRC_RESOURCE_PROBLEM, self._text(failure)))
        elif not loaded:
            self._decide()
        else:
            self._load(loaded)

    def _load(self, loaded: list[LoadedEntry]) -> None:
        """Load messages, those that belong together in one program."""
        self._pending = 1  # until all are submitted
        group: list[LoadedEntry] = []
        size: i64 = 0
        for each in loaded:
            entry = each.entry
            place: i64 = self._place(each)
            if place != IN_STRUCTURE:
                self._store(each, place)
                continue
            bytes_more: i64 = _ENTRY_OVERHEAD + len(entry.properties) + len(entry.body)
            is_other = bool(group) and not _fit_together(group[0], each)
            if is_other or size + bytes_more > _LOAD_BYTES_MAX or len(group) >= _LOAD_ENTRIES_MAX:
                self._submit(group)
                group = []
                size = 0
            group.append(each)
            size += bytes_more
        self._submit(group)
        self._on_loaded()

    def _place(self, loaded: LoadedEntry) -> i64:
        structure = self.sharing.structures.get(loaded.structure)
        if structure is None:
            return IN_STRUCTURE
        entry = loaded.entry
        place: i64 = choose_place(self.engine, self.sharing, structure, len(entry.properties), len(entry.body))
        return IN_STRUCTURE if place < 0 else place

    def _store(self, loaded: LoadedEntry, place: i64) -> None:
        offload = self.sharing.offload
        assert offload is not None
        self._pending += 1
        offload.store(loaded.structure, place, loaded.entry, _Stored(self, loaded))

    def on_stored(self, loaded: LoadedEntry, reason: i64, reference: bytes) -> None:
        if self.is_done or self._step != _LOADING:
            return
        if reason != 0:
            self.fail(MQError(reason, self._text("the body of a message cannot be offloaded again")))
            return
        sent = with_reference(loaded.entry, reference, self.sharing.number)
        sent.key = loaded.entry.key
        sent.backout_count = loaded.entry.backout_count
        loaded.entry = sent
        self._submit([loaded])
        self._on_loaded()

    def _submit(self, group: list[LoadedEntry]) -> None:
        if not group:
            return
        first = group[0]
        self._pending += 1
        entries: list[Entry] = [each.entry for each in group]
        program = LoadProgram(first.structure, first.queue, entries, first.unit, first.is_got)
        self.sharing.submit(program, 0, _Loaded(self, first.structure, entries))

    def on_load_answer(self, structure: str, entries: list[Entry], answer: Answer) -> None:
        if self.is_done or self._step != _LOADING:
            return
        known = self.sharing.structures.get(structure)
        if known is not None:
            known.note_usage(answer)
        if answer.status != cf.OK:
            self.fail(MQError(reason_of(answer.status), self._text("the messages do not fit into the structure")))
            return
        offload = self.sharing.offload
        for entry in entries:
            if entry.reference and offload is not None:
                offload.on_put(structure, entry, True, True)
        self.messages += len(entries)
        self._on_loaded()

    def _on_loaded(self) -> None:
        self._pending -= 1
        if self._pending == 0 and not self.is_done and self._step == _LOADING:
            self.host.next_batch(self)

    # -- units ---------------------------------------------------------------------------------------------------------

    def _decide(self) -> None:
        merge = self._merge
        assert merge is not None
        self._step = _DECIDING
        for unit, committed in merge.outcomes.items():
            self._decisions.append(DecideProgram(unit, committed))
        for unit, xid in merge.in_doubt.items():
            self._decisions.append(PrepareProgram(unit, xid))
        self.units = len(self._decisions)
        for scan in merge.scans:
            if scan.number not in self.members and scan.last_start > 0:
                # The facility must know of members that are down: a backup tells their old puts from new ones.
                self._decisions.append(DecideProgram(make_id(scan.number, scan.last_start, 0), False))
        self._decide_more()

    def _decide_more(self) -> None:
        decisions = self._decisions[:_DECISIONS_AT_ONCE]
        self._decisions = self._decisions[_DECISIONS_AT_ONCE:]
        if not decisions:
            self._open()
            return
        self._pending = len(decisions)
        for program in decisions:
            self.sharing.submit(program, 0, _Decided(self))

    def on_decided(self, answer: Answer) -> None:
        if self.is_done or self._step != _DECIDING:
            return
        # A unit of another structure may be known here, and decided, already.
        if answer.status not in (cf.OK, cf.UNIT_DECIDED, cf.WRONG_STATE, cf.MEMBER_ACTIVE):
            self.fail(MQError(reason_of(answer.status), self._text("the coupling facility has refused a unit")))
            return
        self._pending -= 1
        if self._pending == 0:
            self._decide_more()

    # -- the end -------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._step = _OPENING
        self._pending = len(self.claimed)
        for name in self.claimed:
            program = SetStateProgram(name, cf.STRUCTURE_INRECOVER, cf.STRUCTURE_ACTIVE)
            self.sharing.submit(program, 0, _Opened(self, name))

    def on_opened(self, name: str, answer: Answer) -> None:
        if self.is_done:
            return
        if answer.status != cf.OK:
            self.refused[name] = reason_of(answer.status)
        self._pending -= 1
        if self._pending > 0:
            return
        opened = [each for each in self.claimed if each not in self.refused]
        self.claimed = opened
        if opened:
            self._end(None)
        else:
            self._end(MQError(self.refused[name], self._text("the link to the coupling facility was lost")))

    def fail(self, error: MQError) -> None:
        """Give up: the structures are FAILED again."""
        if self.is_done:
            return
        for name in self.claimed:
            self.sharing.submit(SetStateProgram(name, cf.STRUCTURE_INRECOVER, cf.STRUCTURE_STATE_FAILED), 0, None)
        self._end(error)

    def on_tick(self) -> None:
        self._ticks += 1
        if self._step == _INQUIRING and self._waiting_names:
            self._inquired_ticks += 1
            if self._inquired_ticks > _TICKS_MAX:
                names = ", ".join(self._waiting_names)
                why = f"{names} runs and has not joined the group, so its log is not complete"
                self.fail(MQError(mq.MQRC_CF_STRUC_IN_USE, self._text(why)))
            else:
                self._waiting_names = []
                self._list()
        elif self._step == _FLUSHING and self._waiting:
            self._inquired_ticks += 1
            if self._inquired_ticks > _TICKS_MAX:
                self.fail(MQError(mq.MQRC_CF_STRUC_IN_USE, self._text("a member does not answer")))
            elif self._ticks % 2 == 0:
                self._list()  # announcements may be lost, and members may have gone

    def on_link_lost(self) -> None:
        """The structures are FAILED again: the facility has seen that this member is gone."""
        if not self.is_done:
            self._end(MQError(mq.MQRC_CF_NOT_AVAILABLE, self._text("the link to the coupling facility was lost")))

    def _end(self, failure: MQError | None) -> None:
        self._step = _ENDED
        self.failure = failure
        self._merge = None
        self.signals.listeners.pop(self._nonce, None)
        self.sharing.tasks.pop(self, None)
        self.host.ended(self)
        self.engine.end_task(self)


def _states(answer: MembersAnswer) -> dict[int, tuple[int, int]]:
    """Return state and fence of members by number, without those that were only loaded with their units."""
    return {int(member.number): (int(member.state), int(member.fence)) for member in answer.members if member.name}


def _is_active(state: tuple[int, int]) -> bool:
    return state[0] == cf.MEMBER_ACTIVE_STATE


def _fit_together(first: LoadedEntry, other: LoadedEntry) -> bool:
    return (
        first.structure == other.structure
        and first.queue == other.queue
        and first.unit == other.unit
        and first.is_got == other.is_got
    )


@final
class _Claimed(Continuation):
    def __init__(self, recovery: StructureRecovery, name: str) -> None:
        self.recovery = recovery
        self.name = name

    def answered(self, answer: Answer) -> None:
        self.recovery.on_claimed(self.name, answer)


@final
class _Step(Continuation):
    def __init__(self, recovery: StructureRecovery) -> None:
        self.recovery = recovery

    def answered(self, answer: Answer) -> None:
        self.recovery.on_answer(answer)


@final
class _Decided(Continuation):
    def __init__(self, recovery: StructureRecovery) -> None:
        self.recovery = recovery

    def answered(self, answer: Answer) -> None:
        self.recovery.on_decided(answer)


@final
class _Opened(Continuation):
    def __init__(self, recovery: StructureRecovery, name: str) -> None:
        self.recovery = recovery
        self.name = name

    def answered(self, answer: Answer) -> None:
        self.recovery.on_opened(self.name, answer)


@final
class _Loaded(Continuation):
    def __init__(self, recovery: StructureRecovery, structure: str, entries: list[Entry]) -> None:
        self.recovery = recovery
        self.structure = structure
        self.entries = entries

    def answered(self, answer: Answer) -> None:
        self.recovery.on_load_answer(self.structure, self.entries, answer)


@final
class _Stored(BodyStored):
    def __init__(self, recovery: StructureRecovery, loaded: LoadedEntry) -> None:
        self.recovery = recovery
        self.loaded = loaded

    def stored(self, reason: i64, reference: bytes) -> None:
        self.recovery.on_stored(self.loaded, reason, reference)


@final
class _Replies(SignalListener):
    def __init__(self, recovery: StructureRecovery) -> None:
        self.recovery = recovery

    def on_reply(self, member: i64, verb: str, numbers: list[int]) -> None:
        self.recovery.on_reply(member, verb, numbers)
