"""Units of work with messages on shared queues: their ends here and in the coupling facility.

The decision on such a unit is one program of the facility (DECIDE), for all its structures at once. The journal is
brought to a point before from which it can follow:

    commit    1 journal: SHARED_PREPARE behind all records of the unit, forced
              2 facility: DECIDE(commit)                     here it happens
              3 the rest of the unit follows the outcome; the application is told; COMMIT is appended, unforced
              4 when COMMIT is durable: FORGET
    back out  not prepared: facility: DECIDE(back out); journal: BACK_OUT, unforced
              prepared: journal: BACK_OUT, forced; then DECIDE(back out)

A unit without records has nothing that a restart or a recovery could follow: step 2 is all of its commit.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final, final

from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import Engine
from ostler.engine.journal_records import append_shared_prepare
from ostler.engine.outcomes import PutOutcome, UnitOutcome
from ostler.engine.shared.membership import FacilityTask, HeldWork, Membership, reason_of
from ostler.engine.syncpoint import back_out_unit, commit_unit
from ostler.engine.unit_of_work import ACTIVE, ENDED, SharedPart, UnitOfWork
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, DecideAnswer
from ostler.model.coupling.entries import make_id
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import DecideProgram, ForgetProgram, PrepareProgram
from ostler.model.errors import InvariantFailed

_FORGOTTEN_AT_ONCE: Final = 64


class CommitListener(metaclass=ABCMeta):
    @abstractmethod
    def on_committed(self, reason: i64) -> None:
        """The facility has decided on a unit: 0, or MQRC_BACKED_OUT, or the reason why its decision is not known."""


def shared_part(engine: Engine, sharing: Membership, unit: UnitOfWork) -> SharedUnit:
    """Return the shared part of a unit; begin one when it has none."""
    part = unit.shared
    if part is None:
        made = SharedUnit(engine, sharing, unit, sharing.unit_id(unit.number))
        unit.shared = made
        return made
    assert isinstance(part, SharedUnit)
    return part


def is_full(engine: Engine, unit: UnitOfWork | None) -> bool:
    """Return True when a unit may have no more operations (MAXUMSGS)."""
    if unit is None:
        return False
    part = unit.shared
    shared: i64 = part.operations + part.pending if isinstance(part, SharedUnit) else 0
    return len(unit.entries) + shared >= engine.uncommitted_max


@final
class SharedUnit(SharedPart):
    def __init__(self, engine: Engine, sharing: Membership, unit: UnitOfWork, id: bytes) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.unit = unit
        self.id = id
        self.pending: i64 = 0  # operations without an answer
        self.structures: set[str] = set()  # that it has operations on
        self.prepared_lsn: i64 = 0
        self.is_committing = False  # the facility is asked, and its answer is followed
        self.is_asked = False  # DECIDE(commit) is submitted: only its answer tells the outcome
        self.is_unsure = False  # the answer to an operation was lost: the facility may have done it
        self.is_doomed = False  # backed out because the link to the facility broke, or a structure has failed
        self.is_lost = False  # the facility went before it confirmed the commit; a recovery tells the outcome
        self._committing: SharedCommit | None = None
        self._preparing: SharedPrepare | None = None
        self._settled: CommitListener | None = None

    def notify_when_settled(self, listener: CommitListener) -> None:
        """Have a listener told when no operation is under way, or the unit is backed out."""
        self._settled = listener
        self._tell_settled(mq.MQRC_NONE)

    def _tell_settled(self, reason: i64) -> None:
        listener = self._settled
        if listener is not None and (self.pending == 0 or reason != mq.MQRC_NONE):
            self._settled = None
            listener.on_committed(reason)

    def commit(self) -> UnitOutcome:
        outcome = UnitOutcome()
        task = SharedCommit(self, outcome, None)
        self.sharing.begin_task(task)
        self.end_task = task
        outcome.task = task
        if self.pending > 0:
            self._committing = task  # asynchronous puts: the unit is complete when they are answered
        else:
            task.begin()
        return outcome

    def commit_for(self, listener: CommitListener) -> None:
        """Commit a unit of the queue manager itself. Nobody waits for a task: the listener is told."""
        task = SharedCommit(self, None, listener)
        if self.pending > 0:
            self._committing = task
        else:
            task.begin()

    def commit_put(self, outcome: PutOutcome) -> None:
        task = SharedPutCommit(self.engine, self.sharing, outcome)
        self.sharing.begin_task(task)
        outcome.task = task
        self.commit_for(PutCommitted(task))

    def begin_operation(self, structure: str) -> None:
        """Count an operation whose program is being submitted."""
        self.pending += 1
        self.structures.add(structure)

    def on_operation_answered(self, is_done: bool, status: i64) -> None:
        """Count an operation that the facility has done or refused. One whose answer was lost dooms the unit."""
        self.pending -= 1
        if is_done:
            self.operations += 1
        elif status == cf.LINK_LOST or status == cf.FENCED:
            self.is_unsure = True
            self.doom()
        if self._settled is not None:
            self._tell_settled(mq.MQRC_NONE)
        committing = self._committing
        if self.pending == 0 and committing is not None:
            self._committing = None
            committing.begin()
        preparing = self._preparing
        if self.pending == 0 and preparing is not None:
            self._preparing = None
            preparing.begin()

    def has_nothing(self) -> bool:
        """Return True when the facility surely has no operation of the unit, and none is under way."""
        return self.operations == 0 and self.pending == 0 and not self.is_unsure

    def prepare(self, xid: bytes) -> UnitOutcome:
        outcome = UnitOutcome()
        task = SharedPrepare(self, outcome, xid)
        self.sharing.begin_task(task)
        outcome.task = task
        if self.pending > 0:
            self._preparing = task  # the unit is complete when they are answered
        else:
            task.begin()
        return outcome

    def on_back_out(self, lsn: i64) -> None:
        if self.is_decided:
            return  # by the facility, which the rest follows
        self.is_decided = True
        self._tell_settled(mq.MQRC_BACKED_OUT)
        committing = self._committing
        self._committing = None
        if committing is not None:
            committing.end(mq.MQRC_BACKED_OUT)
        preparing = self._preparing
        self._preparing = None
        if preparing is not None:
            preparing.end(mq.MQRC_BACKED_OUT)
        if self.has_nothing():
            return
        task = SharedBackOut(self, lsn)
        self.sharing.begin_task(task)
        self.end_task = task
        task.submit()

    def doom(self) -> None:
        """Back out a unit whose operations are void, unless it is prepared or the facility is asked to commit it.

        The link broke, or one of its structures has failed: a recovery finds no preparation, and backs it out.

        The next verb of its owner is told.
        """
        unit = self.unit
        if unit.state == ACTIVE and not self.is_asked:
            self.is_doomed = True
            back_out_unit(self.engine, unit)
            unit.backed_out_by_system = True
            unit.entries = []


def restored_part(engine: Engine, sharing: Membership, unit: UnitOfWork) -> SharedUnit:
    """Return the shared part of a unit that the journal had: its identifier is that of an earlier start."""
    part = unit.shared
    if part is None:
        made = SharedUnit(engine, sharing, unit, make_id(sharing.number, unit.shared_start, unit.number))
        made.operations = 1  # at least
        unit.shared = made
        return made
    assert isinstance(part, SharedUnit)
    return part


# -- commit ------------------------------------------------------------------------------------------------------------


@final
class SharedCommit(FacilityTask):
    """The commit of a unit, which the facility decides. `outcome` is told when the task is done."""

    def __init__(self, shared: SharedUnit, outcome: UnitOutcome | None, listener: CommitListener | None) -> None:
        super().__init__()
        self.shared = shared
        self.outcome = outcome
        self.listener = listener
        self.was_asked = False
        shared.is_committing = True

    def begin(self) -> None:
        """Bring the journal to the point from which it can follow, and ask the facility."""
        shared = self.shared
        unit = shared.unit
        if unit.backed_out_by_system or unit.state == ENDED:
            self.end(mq.MQRC_BACKED_OUT)
        elif shared.operations == 0:
            self._follow(True)  # all its shared operations were refused
        else:
            if unit.first_lsn >= 0 and unit.state == ACTIVE:
                shared.prepared_lsn = append_shared_prepare(shared.engine, unit, shared.sharing.start, b"")
                apply.prepare(unit, b"")
            self.ask()

    def ask(self) -> None:
        shared = self.shared
        shared.is_asked = True
        keeps: bool = shared.unit.first_lsn >= 0
        shared.sharing.submit(DecideProgram(shared.id, True, keeps), shared.prepared_lsn, CommitAnswered(self))

    def on_answer(self, answer: Answer) -> None:
        status: i64 = answer.status
        if isinstance(answer, DecideAnswer) and status == cf.OK:
            self._follow(answer.outcome == cf.UNIT_COMMITTED)
        elif status == cf.UNKNOWN_UNIT and self.was_asked:
            self._follow(True)  # by the first request, which left no trace; who backs it out leaves one
        elif status == cf.UNKNOWN_UNIT:
            self.lose()
        else:
            # The link is lost or the member fenced: the outcome is asked for again when it has joined.
            self.was_asked = True
            self.shared.sharing.held.append(HeldCommit(self))

    def _follow(self, committed: bool) -> None:
        """Let the rest of the unit have the outcome of the facility."""
        shared = self.shared
        shared.is_decided = True
        if shared.unit.state == ENDED:
            pass  # the settlement of an earlier start has found the decision first
        elif committed:
            commit_unit(shared.engine, shared.unit)
        else:
            back_out_unit(shared.engine, shared.unit)
        if shared.unit.first_lsn >= 0:
            forget_unit(shared.engine, shared.sharing, shared.id)
        self.end(mq.MQRC_NONE if committed else mq.MQRC_BACKED_OUT)

    def lose(self) -> None:
        """Leave a prepared unit to the recovery of its structures: this facility does not know it any more.

        Another member may have backed it out before. Its journal tells, which a recovery reads.
        """
        shared = self.shared
        if shared.unit.first_lsn < 0:
            self._follow(True)  # nothing of it was to survive
            return
        shared.is_lost = True
        shared.sharing.lost_units.append(shared.unit)
        shared.sharing.told_lost.add(shared.unit.number)
        shared.engine.notice(
            f"AMQ7490W: The coupling facility was lost before it confirmed the commit of unit of work "
            f"{shared.unit.number}. The unit stays in doubt until its structures are recovered (RECOVER CFSTRUCT)."
        )
        self.end(mq.MQRC_CALL_INTERRUPTED)

    def end(self, reason: i64) -> None:
        self.shared.is_committing = False
        outcome = self.outcome
        if outcome is not None:
            outcome.reason = reason
            self.outcome = None  # breaks a reference cycle
        self.shared.sharing.tasks.pop(self, None)
        self.shared.engine.end_task(self)
        listener = self.listener
        if listener is not None:
            self.listener = None
            listener.on_committed(reason)


@final
class SharedPutCommit(FacilityTask):
    """A put whose messages are in a unit of the queue manager itself: a publication, or segments of a message."""

    def __init__(self, engine: Engine, sharing: Membership, outcome: PutOutcome) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.outcome: PutOutcome | None = outcome

    def on_committed(self, reason: i64) -> None:
        outcome = self.outcome
        self.outcome = None  # breaks a reference cycle
        if outcome is not None and reason != mq.MQRC_NONE:
            outcome.md = b""
            outcome.reason = mq.MQRC_CF_NOT_AVAILABLE if reason == mq.MQRC_BACKED_OUT else reason
        self.sharing.tasks.pop(self, None)
        self.engine.end_task(self)


@final
class PutCommitted(CommitListener):
    def __init__(self, task: SharedPutCommit) -> None:
        self.task = task

    def on_committed(self, reason: i64) -> None:
        self.task.on_committed(reason)


@final
class CommitAnswered(Continuation):
    def __init__(self, task: SharedCommit) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_answer(answer)


@final
class HeldCommit(HeldWork):
    def __init__(self, task: SharedCommit) -> None:
        self.task = task

    def resume(self) -> None:
        self.task.ask()

    def on_facility_lost(self) -> None:
        self.task.lose()


# -- prepare -----------------------------------------------------------------------------------------------------------


@final
class SharedPrepare(FacilityTask):
    """The preparation of a unit for a coordinator: peers leave it alone from then on."""

    def __init__(self, shared: SharedUnit, outcome: UnitOutcome, xid: bytes) -> None:
        super().__init__()
        self.shared = shared
        self.outcome: UnitOutcome | None = outcome
        self.xid = xid

    def begin(self) -> None:
        """Prepare the unit in the journal, and ask the facility to do the same."""
        shared = self.shared
        unit = shared.unit
        if unit.backed_out_by_system or unit.state == ENDED:
            self.end(mq.MQRC_BACKED_OUT)
            return
        shared.prepared_lsn = append_shared_prepare(shared.engine, unit, shared.sharing.start, self.xid)
        apply.prepare(unit, self.xid)
        if self.outcome is not None:
            self.outcome.after_lsn = shared.prepared_lsn
        self.submit()

    def submit(self) -> None:
        shared = self.shared
        if shared.has_nothing():
            self.end(mq.MQRC_NONE)
            return
        program = PrepareProgram(shared.id, shared.unit.xid)
        shared.sharing.submit(program, shared.prepared_lsn, PrepareAnswered(self))

    def on_answer(self, answer: Answer) -> None:
        status: i64 = answer.status
        if status == cf.OK:
            self.end(mq.MQRC_NONE)
        elif status == cf.LINK_LOST or status == cf.FENCED:
            self.shared.sharing.held.append(HeldPrepare(self))
        else:
            self.give_up(reason_of(status))  # peers have backed it out meanwhile

    def give_up(self, reason: i64) -> None:
        if self.shared.unit.state != ENDED:
            back_out_unit(self.shared.engine, self.shared.unit)
        self.end(reason)

    def end(self, reason: i64) -> None:
        outcome = self.outcome
        if outcome is not None:
            outcome.reason = reason
            self.outcome = None
        self.shared.sharing.tasks.pop(self, None)
        self.shared.engine.end_task(self)


@final
class PrepareAnswered(Continuation):
    def __init__(self, task: SharedPrepare) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_answer(answer)


@final
class HeldPrepare(HeldWork):
    def __init__(self, task: SharedPrepare) -> None:
        self.task = task

    def resume(self) -> None:
        self.task.submit()

    def on_facility_lost(self) -> None:
        self.task.give_up(mq.MQRC_BACKED_OUT)


# -- back-out ----------------------------------------------------------------------------------------------------------


@final
class SharedBackOut(FacilityTask):
    """The back-out of a unit in the facility. The rest of the unit is backed out already."""

    def __init__(self, shared: SharedUnit, after_lsn: i64) -> None:
        super().__init__()
        self.shared = shared
        self.after_lsn: i64 = after_lsn
        self.was_asked = False

    def submit(self) -> None:
        shared = self.shared
        shared.sharing.submit(DecideProgram(shared.id, False, False), self.after_lsn, BackOutAnswered(self))

    def on_answer(self, answer: Answer) -> None:
        status: i64 = answer.status
        if status == cf.LINK_LOST or status == cf.FENCED:
            # Peers back it out, or this member when it has joined again. Nobody waits for that.
            self.was_asked = True
            self.shared.sharing.held.append(HeldBackOut(self))
        elif isinstance(answer, DecideAnswer) and answer.outcome == cf.UNIT_COMMITTED:
            raise InvariantFailed(f"The facility has committed unit of work {self.shared.unit.number}, we back it out")
        elif self.was_asked:
            forget_unit(self.shared.engine, self.shared.sharing, self.shared.id)  # peers may have left a tombstone
        self.end()

    def end(self) -> None:
        self.shared.sharing.tasks.pop(self, None)
        if not self.is_done:
            self.shared.engine.end_task(self)


@final
class BackOutAnswered(Continuation):
    def __init__(self, task: SharedBackOut) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_answer(answer)


@final
class HeldBackOut(HeldWork):
    def __init__(self, task: SharedBackOut) -> None:
        self.task = task

    def resume(self) -> None:
        self.task.submit()

    def on_facility_lost(self) -> None:
        """Nothing is left to back out."""


# -- tombstones --------------------------------------------------------------------------------------------------------


def forget_unit(engine: Engine, sharing: Membership, id: bytes) -> None:
    """Have the facility forget a decided unit, once the journal is durable up to its end as it is now."""
    sharing.decided.append(id)
    if len(sharing.decided) >= _FORGOTTEN_AT_ONCE:
        flush_forgets(engine, sharing)


def flush_forgets(engine: Engine, sharing: Membership) -> None:
    """Submit the identifiers of decided units whose ends are durable. Nobody forces the journal for that."""
    if not sharing.is_joined:
        return
    if sharing.forgetting and sharing.forgetting_lsn <= engine.journal.durable_lsn():
        sharing.submit(ForgetProgram(sharing.forgetting), 0, None)
        sharing.forgetting = []
    if not sharing.forgetting:
        sharing.forgetting = sharing.decided[: cf.FORGET_MAX]
        sharing.decided = sharing.decided[cf.FORGET_MAX :]
        sharing.forgetting_lsn = engine.journal.end_lsn()
