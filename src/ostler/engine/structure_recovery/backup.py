"""BACKUP CFSTRUCT: the persistent messages of a structure are copied into the journal of this member.

    1 SET_STATE(INBACKUP)                  one backup of a structure at a time
    2 members, POSITION of all             from where each journal must be read
    3 MARK of all, members again           what had been done before; if somebody came or went, all over again
    4 CF_BACKUP_BEGIN with the marks
    5 DUMP, slice by slice                 each slice is one record; bodies outside the structure are fetched
    6 CF_BACKUP_END, forced                the host notes where the backup is
    7 SET_STATE(ACTIVE)

Nobody is held up: work goes on, and what is done after 3 is in the journals from the positions on. The next slice is
asked for before the last one is written; it waits when two slices are not durable yet.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from ostler.engine.core import JOURNAL_MARGIN_BYTES, Engine
from ostler.engine.journal_records import append_backup_begin, append_backup_end, append_backup_entries
from ostler.engine.recovery.backup_records import (
    DOWN,
    MARKED,
    BackupBegin,
    InDoubtUnit,
    MemberMark,
    backup_entry_bytes,
)
from ostler.engine.shared.membership import FacilityTask, Membership, reason_of
from ostler.engine.shared.offloading import with_body
from ostler.engine.structure_recovery import signals
from ostler.engine.structure_recovery.signals import SignalListener, Signals
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, DumpAnswer, DumpedEntry, MembersAnswer, UnitsAnswer
from ostler.model.coupling.offload import BodyFetched
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import DumpProgram, MembersProgram, SetStateProgram, UnitsProgram
from ostler.model.errors import MQError

_SLICE_ENTRIES: Final = 1000
_FETCHES_MAX: Final = 16
_TICKS_MAX: Final = 30  # without an answer of a member, or without room in the journal
_ROUNDS_MAX: Final = 20

# Steps.
_CLAIMING: Final = 0
_LISTING: Final = 1
_POSITIONS: Final = 2
_MARKS: Final = 3
_LISTING_AGAIN: Final = 4
_UNITS: Final = 5
_DUMPING: Final = 6
_FORCING: Final = 7
_RELEASING: Final = 8


@mypyc_attr(allow_interpreted_subclasses=True)
class BackupHost(metaclass=ABCMeta):
    """What a backup needs of its owner."""

    @abstractmethod
    def keep(self, backup: StructureBackupTask) -> None:
        """The backup is durable: note where it is, then call `backup.on_kept` in a turn."""


@final
class StructureBackupTask(FacilityTask):
    """`failure` tells why it has not been completed."""

    def __init__(self, engine: Engine, sharing: Membership, signals_: Signals, host: BackupHost, name: str) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.signals = signals_
        self.host = host
        self.name = name
        self.failure: MQError | None = None
        self.began_ms: i64 = engine.wall_ms()
        self.start_lsn: i64 = 0
        self.end_lsn: i64 = 0
        self.messages: i64 = 0
        self.size_bytes: i64 = 0
        self.marks: list[MemberMark] = []
        self._step: i64 = _CLAIMING
        self._nonce = ""
        self._rounds: i64 = 0
        self._ticks: i64 = 0
        self._listed: dict[int, tuple[int, int]] = {}  # member to state and fence
        self._waiting: dict[int, bool] = {}
        self._in_doubt: list[InDoubtUnit] = []
        self._slice: list[DumpedEntry] = []
        self._answer: DumpAnswer | None = None  # the next slice, which waits
        self._is_asking = False
        self._is_last = False
        self._fetching: i64 = 0
        self._to_fetch: list[DumpedEntry] = []
        self._durable: list[int] = [0, 0]

    def begin(self) -> None:
        self.sharing.begin_task(self)
        program = SetStateProgram(self.name, cf.STRUCTURE_ACTIVE, cf.STRUCTURE_INBACKUP)
        self.sharing.submit(program, 0, _Step(self))

    def on_answer(self, answer: Answer) -> None:
        """Go on after a program of one of the steps."""
        if self.is_done:
            return
        if answer.status != cf.OK:
            self._on_refused(answer.status)
        elif self._step == _CLAIMING:
            self._begin_round()
        elif isinstance(answer, MembersAnswer):
            if self._step == _LISTING:
                self._on_listed(answer)
            elif self._step == _LISTING_AGAIN:
                self._on_listed_again(answer)
        elif isinstance(answer, UnitsAnswer):
            self._on_units(answer)
        elif self._step == _RELEASING:
            self._end(self.failure)

    def _on_refused(self, status: i64) -> None:
        reason: i64 = reason_of(status)
        if status == cf.WRONG_STATE:
            reason = mq.MQRC_CF_STRUC_IN_USE
        if self._step == _CLAIMING or status == cf.LINK_LOST or status == cf.FENCED or self._step == _RELEASING:
            # The state of the structure falls back by itself when the link is lost.
            failure = self.failure
            self._end(failure if failure is not None else MQError(reason, self._text("it is in use or has failed")))
        else:
            self.fail(MQError(reason, self._text("the coupling facility has refused a step")))

    def _text(self, why: str) -> str:
        return f"The structure {self.name} is not backed up: {why}."

    # -- marks ---------------------------------------------------------------------------------------------------------

    def _begin_round(self) -> None:
        self._rounds += 1
        if self._rounds > _ROUNDS_MAX:
            self.fail(MQError(mq.MQRC_CF_STRUC_IN_USE, self._text("members come and go")))
            return
        self.signals.listeners.pop(self._nonce, None)
        self._nonce = self.sharing.new_entry_id().hex()
        self.signals.listeners[self._nonce] = _Replies(self)
        self.marks = []
        self._step = _LISTING
        self.sharing.submit(MembersProgram(), 0, _Step(self))

    def _on_listed(self, answer: MembersAnswer) -> None:
        self._listed = _states(answer)
        for member in answer.members:
            if member.number == self.sharing.number:
                continue
            is_active: bool = member.state == cf.MEMBER_ACTIVE_STATE
            mark = MemberMark(member.number, member.name, MARKED if is_active else DOWN)
            mark.fence = member.fence
            mark.start = member.start
            mark.facility = self.sharing.facility
            self.marks.append(mark)
        mark = MemberMark(self.sharing.number, self.engine.name, MARKED)
        mark.from_lsn = signals.read_from_lsn(self.engine, self.sharing)
        self.marks.append(mark)
        self._ask(_POSITIONS, signals.POSITION)

    def _ask(self, step: i64, verb: str) -> None:
        self._step = step
        self._waiting = {}
        for mark in self.marks:
            if mark.kind == MARKED and mark.number != self.sharing.number:
                self._waiting[mark.number] = True
        if self._waiting:
            self.signals.ask(self._nonce, verb)
        else:
            self._on_all()

    def on_reply(self, member: i64, verb: str, numbers: list[int]) -> None:
        mark = self._mark(member)
        if mark is None or member not in self._waiting:
            return
        if self._step == _POSITIONS and verb == signals.AT and len(numbers) == 1:
            mark.from_lsn = numbers[0]
        elif self._step == _MARKS and verb == signals.MARKED_AT and len(numbers) == 2:
            mark.mark_lsn = numbers[0]
            mark.logged = numbers[1]
        else:
            return
        del self._waiting[member]
        if not self._waiting:
            self._on_all()

    def _mark(self, number: i64) -> MemberMark | None:
        for mark in self.marks:
            if mark.number == number:
                return mark
        return None

    def _on_all(self) -> None:
        if self._step == _POSITIONS:
            self._ask(_MARKS, signals.MARK)
        else:
            self._step = _LISTING_AGAIN
            self.sharing.submit(MembersProgram(), 0, _Step(self))

    def _on_listed_again(self, answer: MembersAnswer) -> None:
        if _states(answer) != self._listed:
            self._begin_round()
            return
        own = self._mark(self.sharing.number)
        assert own is not None
        mark = signals.own_mark(self.engine, self.sharing, self.engine.name, own.from_lsn)
        self.marks = [each for each in self.marks if each is not own] + [mark]
        self.signals.listeners.pop(self._nonce, None)
        self._step = _UNITS
        self.sharing.submit(UnitsProgram(0), 0, _Step(self))

    def _on_units(self, answer: UnitsAnswer) -> None:
        for status in answer.units:
            if status.state == cf.UNIT_INDOUBT:
                self._in_doubt.append(InDoubtUnit(status.unit, status.xid))
        if not answer.is_end and answer.units:
            self.sharing.submit(UnitsProgram(0, answer.units[len(answer.units) - 1].unit), 0, _Step(self))
            return
        self._step = _DUMPING
        begin = BackupBegin(self.name)
        begin.marks = self.marks
        begin.in_doubt = self._in_doubt
        self.start_lsn = self.engine.journal.end_lsn()
        append_backup_begin(self.engine, self.start_lsn, begin)
        self._ask_slice("", -1)

    # -- messages ------------------------------------------------------------------------------------------------------

    def _ask_slice(self, after_queue: str, after_key: i64) -> None:
        program = DumpProgram(self.name)
        program.persistent_only = True
        program.count_max = _SLICE_ENTRIES
        program.after_queue = after_queue
        program.after_key = after_key
        self._is_asking = True
        self.sharing.submit(program, self._durable[0], _Slice(self))

    def on_slice(self, answer: Answer) -> None:
        if self.is_done or self._step != _DUMPING:
            return
        self._is_asking = False
        if not isinstance(answer, DumpAnswer):
            self._on_refused(answer.status)
            return
        self._answer = answer
        self._take_slice()

    def _take_slice(self) -> None:
        """Begin with the slice that has come, when the last one is written."""
        answer = self._answer
        if answer is None or self._slice:
            return
        self._answer = None
        self._ticks = 0
        self._slice = answer.entries
        self._is_last = answer.is_end
        if not answer.is_end:
            self._ask_slice(answer.through_queue, answer.through_key)
        self._to_fetch = [each for each in answer.entries if each.entry.reference]
        self._fetch()
        self._write_if_whole()

    def _fetch(self) -> None:
        offload = self.sharing.offload
        while self._to_fetch and self._fetching < _FETCHES_MAX:
            dumped = self._to_fetch.pop()
            if offload is None:
                self.fail(MQError(mq.MQRC_DATA_SET_NOT_AVAILABLE, self._text("an offloaded body cannot be read")))
                return
            self._fetching += 1
            offload.fetch(self.name, dumped.entry, _Fetched(self, dumped))

    def on_fetched(self, dumped: DumpedEntry, reason: i64, body: bytes) -> None:
        self._fetching -= 1
        if self.is_done or self._step != _DUMPING:
            return
        if reason != 0:
            # It may be gone with its message: look again.
            program = DumpProgram(self.name)
            program.with_bodies = False
            program.count_max = 1
            program.after_queue = dumped.queue
            program.after_key = dumped.entry.key - 1
            self._fetching += 1
            self.sharing.submit(program, 0, _Looked(self, dumped, reason))
            return
        dumped.entry = with_body(dumped.entry, body, len(body))
        self._fetch()
        self._write_if_whole()

    def on_looked(self, dumped: DumpedEntry, reason: i64, answer: Answer) -> None:
        self._fetching -= 1
        if self.is_done or self._step != _DUMPING:
            return
        if not isinstance(answer, DumpAnswer):
            self._on_refused(answer.status)
            return
        if answer.entries and answer.entries[0].entry.id == dumped.entry.id:
            self.fail(MQError(reason, self._text("the body of a message that is offloaded cannot be read")))
            return
        self._slice = [each for each in self._slice if each is not dumped]
        self._fetch()
        self._write_if_whole()

    def _write_if_whole(self) -> None:
        """Write the slice when all its bodies are there, if the journal has room."""
        if self._fetching > 0 or self._to_fetch or self.is_done:
            return
        entries = self._slice
        if entries:
            size: i64 = 0
            for dumped in entries:
                size += backup_entry_bytes(dumped.entry)
            if self.engine.lacks_log_space(size + JOURNAL_MARGIN_BYTES):
                return  # the next tick tries again
            self._write(entries)
            self.size_bytes += size
        self._slice = []
        if self._answer is not None:
            self._take_slice()
        elif self._is_last and not self._is_asking:
            self._end_dump()

    def _write(self, entries: list[DumpedEntry]) -> None:
        engine = self.engine
        small = [dumped for dumped in entries if not dumped.entry.reference]
        lsn: i64 = 0
        if small:
            lsn = append_backup_entries(engine, self.start_lsn, self.name, small)
        for dumped in entries:
            if dumped.entry.reference:
                lsn = append_backup_entries(engine, self.start_lsn, self.name, [dumped])
        self.messages += len(entries)
        self._durable = [self._durable[1], lsn]

    def _end_dump(self) -> None:
        self._step = _FORCING
        self.end_lsn = append_backup_end(self.engine, self.start_lsn, self.name, self.messages)
        self.sharing.submit(MembersProgram(), self.end_lsn, _Forced(self))

    def on_forced(self, answer: Answer) -> None:
        if not self.is_done:
            if answer.status != cf.OK:
                self._on_refused(answer.status)
            else:
                self.host.keep(self)

    # -- the end -------------------------------------------------------------------------------------------------------

    def on_kept(self, failure: str) -> None:
        """Go on when the host has noted where the backup is, or could not."""
        if self.is_done:
            return
        if failure:
            self.failure = MQError(mq.MQRC_RESOURCE_PROBLEM, self._text(failure))
        self._release()

    def fail(self, error: MQError) -> None:
        if self.failure is None:
            self.failure = error
        self._release()

    def _release(self) -> None:
        self._step = _RELEASING
        self._slice = []
        program = SetStateProgram(self.name, cf.STRUCTURE_INBACKUP, cf.STRUCTURE_ACTIVE)
        self.sharing.submit(program, 0, _Step(self))

    def on_tick(self) -> None:
        """Ask again, or try again to write; give up after a while."""
        self._ticks += 1
        if self._step == _DUMPING and self._slice:
            self._write_if_whole()
            if self._slice and self._fetching == 0 and self._ticks > _TICKS_MAX:
                self.fail(MQError(mq.MQRC_RESOURCE_PROBLEM, self._text("the recovery log has no room for it")))
        elif self._waiting and (self._step == _POSITIONS or self._step == _MARKS):
            if self._ticks > _TICKS_MAX:
                names = [mark.name for mark in self.marks if mark.number in self._waiting]
                why = f"{', '.join(names)} did not tell the position of the log"
                self.fail(MQError(mq.MQRC_CF_STRUC_IN_USE, self._text(why)))
            elif self._ticks % 2 == 0:
                ticks: i64 = self._ticks
                self._begin_round()  # announcements may be lost, and members may have gone
                self._ticks = ticks

    def on_link_lost(self) -> None:
        """Give up: the structure is not INBACKUP any more, and may not even be the same one."""
        if not self.is_done:
            self._end(MQError(mq.MQRC_CF_NOT_AVAILABLE, self._text("the link to the coupling facility was lost")))

    def _end(self, failure: MQError | None) -> None:
        self.failure = failure
        self.signals.listeners.pop(self._nonce, None)
        self.sharing.tasks.pop(self, None)
        self.engine.end_task(self)


def _states(answer: MembersAnswer) -> dict[int, tuple[int, int]]:
    return {int(member.number): (int(member.state), int(member.fence)) for member in answer.members}


@final
class _Step(Continuation):
    def __init__(self, task: StructureBackupTask) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_answer(answer)


@final
class _Replies(SignalListener):
    def __init__(self, task: StructureBackupTask) -> None:
        self.task = task

    def on_reply(self, member: i64, verb: str, numbers: list[int]) -> None:
        self.task.on_reply(member, verb, numbers)


@final
class _Forced(Continuation):
    def __init__(self, task: StructureBackupTask) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_forced(answer)


@final
class _Slice(Continuation):
    def __init__(self, task: StructureBackupTask) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_slice(answer)


@final
class _Looked(Continuation):
    def __init__(self, task: StructureBackupTask, dumped: DumpedEntry, reason: i64) -> None:
        self.task = task
        self.dumped = dumped
        self.reason: i64 = reason

    def answered(self, answer: Answer) -> None:
        self.task.on_looked(self.dumped, self.reason, answer)


@final
class _Fetched(BodyFetched):
    def __init__(self, task: StructureBackupTask, dumped: DumpedEntry) -> None:
        self.task = task
        self.dumped = dumped

    def fetched(self, reason: i64, body: bytes) -> None:
        self.task.on_fetched(self.dumped, reason, body)
