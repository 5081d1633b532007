"""The position of a sending channel of the group: CHLDISP(SHARED) and CHLDISP(FIXSHARED).

    LOCK            one member at a time; the lock is free when the recovery of a member that failed has ended
    desired state   of SHARED channels: peers start those that are ACTIVE, and leave those that are STOPPED
    UNITS           batches that other members have left in doubt; this member decides on them when the partner has told
    position        the record of the batch that was committed last

Both records are messages of SYSTEM.QSG.CHANNEL.SYNCQ. A batch gets the old position and puts the new one in its own
unit of work, together with its messages. While it is in doubt its XID tells the position before. One batch is under way
at a time, because the next one needs the record of it.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from enum import Enum
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from ostler.channel.group.group_record import GroupRecord, RecordListener, group_sync_queue
from ostler.channel.in_doubt import are_resolved, can_resolve
from ostler.channel.port import ChannelPort
from ostler.channel.positions import KNOWN, UNAVAILABLE, WAITING
from ostler.channel.sender_position import SenderPosition
from ostler.channel.sync_records import (
    DESIRED_STATE,
    SENDING,
    DesiredState,
    InDoubtBatch,
    PeerBatch,
    SentBatch,
    SyncRecord,
    batches_in_doubt,
    decode_xid,
)
from ostler.engine.core import Engine
from ostler.engine.shared.in_doubt import PeerDecision, begin_peer_resolution
from ostler.engine.shared.membership import reason_of
from ostler.engine.shared.opens import check_open
from ostler.engine.shared.units import CommitListener, SharedUnit
from ostler.engine.syncpoint import back_out_unit
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, LocksAnswer, UnitsAnswer
from ostler.model.coupling.entries import id_member
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import LockProgram, UnitsProgram, UnlockProgram
from ostler.model.errors import MQError

LOCK_PREFIX: Final = "CHANNEL.SENDER "
_STATE_PREFIX: Final = "CHANNEL.STATE "
_PAGE: Final = 500

# Steps until the position is known.
_FREE: Final = 0
_LOCKING: Final = 1
_STATE: Final = 2
_LISTING: Final = 3
_READING: Final = 4
_HELD: Final = 5
_RELEASING: Final = 6  # the desired state is being written; UNLOCK follows


class StartedBy(Enum):
    """The cause of a start, which decides on the desired states that allow it."""

    OPERATOR = 0  # whatever the state is
    TRIGGER = 1  # unless it is STOPPED
    PEER = 2  # if it is ACTIVE: the channel ran at a member that has ended


@mypyc_attr(allow_interpreted_subclasses=True)
class PositionListener(metaclass=ABCMeta):
    @abstractmethod
    def on_position_changed(self, position: GroupSenderPosition) -> None:
        """The position is known or unavailable now, or its release has ended."""


@final
class GroupSenderPosition(SenderPosition):
    def __init__(self, engine: Engine, group: str, channel: str, disposition: str) -> None:
        """`disposition` is SHARED or FIXSHARED."""
        super().__init__(channel, group, True)
        self.disposition = disposition
        self.is_elsewhere = False  # another member has the lock
        self.holder = ""  # its name
        self.is_unwanted = False  # the desired state does not allow the start
        self.listener: PositionListener | None = None
        self._engine = engine
        self._port: ChannelPort | None = None
        self._by = StartedBy.OPERATOR
        self._step: i64 = _FREE
        self._turn: i64 = 0  # counts the calls of `open`; answers to earlier ones are ignored
        self._fence: i64 = 0  # of the link over which the lock was taken
        self._left: list[PeerBatch] = []  # in doubt at members that are not active
        self._units: list[UnitOfWork] = []  # being resolved
        self._decisions: list[PeerDecision] = []
        self._is_resolving = False
        self._release_to: DesiredState | None = None
        self._is_partial = False  # the record was read while a batch in doubt had it
        self._kept = GroupRecord(engine, lock_name(channel), SyncRecord(SENDING, channel, ""), SenderRecord(self))
        self._desired = _desired_record(engine, channel, SenderRecord(self))

    # -- finding -------------------------------------------------------------------------------------------------------

    def attach(self, port: ChannelPort | None) -> None:
        self._port = port

    def open(self, by: StartedBy) -> None:
        """Begin to find the position: for the first time, or for another connection. The lock may be here already."""
        engine = self._engine
        self._turn += 1
        self._by = by
        self.failure = ""
        self.is_elsewhere = False
        self.is_unwanted = False
        self._left = []
        self._decisions = []
        self._is_resolving = False
        self._kept = GroupRecord(
            engine, lock_name(self.channel), SyncRecord(SENDING, self.channel, ""), SenderRecord(self)
        )
        self._desired = _desired_record(engine, self.channel, SenderRecord(self))
        try:
            sharing = check_open(engine, group_sync_queue(engine))
        except MQError as error:
            self._fail(error.detail.rstrip(".") or f"the coupling facility is not available ({error.reason})")
            return
        if sharing.is_unsettled:
            self._fail("units of work of this queue manager are being recovered")
            return
        self._step = _LOCKING
        value = f"{engine.name} {self.disposition}".encode()
        sharing.submit(LockProgram(lock_name(self.channel), value), 0, SenderStep(self, self._turn))

    def on_answer(self, turn: i64, answer: Answer) -> None:
        """Go on after LOCK or UNITS."""
        sharing = self._engine.sharing
        status: i64 = answer.status
        if turn != self._turn or sharing is None:
            return
        if self._step == _LOCKING and status == cf.OK:
            self._fence = sharing.port.fence()
            self._step = _STATE
            self._desired.read(sharing)
        elif self._step == _LOCKING and status == cf.LOCKED:
            self.is_elsewhere = True
            if isinstance(answer, LocksAnswer) and answer.locks:
                self.holder = decode_holder(answer.locks[0].value)[0]
            self._fail(f"it is in use at {self.holder or 'another member'}")
        elif self._step == _LISTING and isinstance(answer, UnitsAnswer):
            self._on_units(answer)
        else:
            self._fail(f"the coupling facility does not tell its position ({reason_of(status)})")

    def _list(self, after: bytes) -> None:
        sharing = self._engine.sharing
        if sharing is not None:
            self._step = _LISTING
            sharing.submit(UnitsProgram(0, after, _PAGE), 0, SenderStep(self, self._turn))

    def _on_units(self, answer: UnitsAnswer) -> None:
        sharing = self._engine.sharing
        assert sharing is not None
        for each in answer.units:
            if each.state != cf.UNIT_INDOUBT or id_member(each.unit) == sharing.number:
                continue  # those of this queue manager are in its log
            named = decode_xid(each.xid)
            if named is not None and named.is_group and named.channel == self.channel:
                self._left.append(PeerBatch(each.unit, named))
        if not answer.is_end and answer.units:
            self._list(answer.units[len(answer.units) - 1].unit)
            return
        self._step = _READING
        self._kept.read(sharing)

    def on_record_changed(self, record: GroupRecord) -> None:
        if record is self._desired:
            self._on_desired()
        elif record is self._kept:
            if record.failure:
                self._fail(record.failure)
                return
            if self._step == _READING and record.is_read:
                self._step = _HELD
                self._is_partial = len(self.in_doubt()) > 0
            self._tell()

    def _on_desired(self) -> None:
        record = self._desired
        if self._step == _RELEASING:
            self._continue_release()
        elif record.failure:
            self._fail(record.failure)
        elif self._step == _STATE and record.is_read:
            state = record.record.desired_state
            is_stopped: bool = state is DesiredState.STOPPED
            if (self._by is StartedBy.TRIGGER and is_stopped) or (
                self._by is StartedBy.PEER and state is not DesiredState.ACTIVE
            ):
                self.is_unwanted = True
                self._fail("it is stopped" if is_stopped else "it is not to run")
            else:
                self._list(b"")

    def _fail(self, why: str) -> None:
        if not self.failure:
            self.failure = why
        self._tell()

    def _tell(self) -> None:
        if self._port is not None:
            self._port.schedule_pump()
        listener = self.listener
        if listener is not None:
            listener.on_position_changed(self)

    def state(self) -> i64:
        if self.failure:
            return UNAVAILABLE
        if self._step != _HELD:
            return WAITING
        if not self._has_link():
            self.failure = "the link to the coupling facility broke, and another member may have the channel"
            return UNAVAILABLE
        if self._is_partial and not self._is_resolving and not self.in_doubt():
            self._read_again()  # its commit, which was under way, is done
            return WAITING
        return WAITING if self._kept.is_busy() else KNOWN

    def _read_again(self) -> None:
        sharing = self._engine.sharing
        self._is_partial = False
        if sharing is not None:
            self._step = _READING
            self._kept.read(sharing)

    def _has_link(self) -> bool:
        sharing = self._engine.sharing
        return sharing is not None and sharing.is_joined and sharing.port.fence() == self._fence

    def desired_state(self) -> DesiredState:
        return self._desired.record.desired_state

    def find(self) -> SyncRecord:
        """Return the record; while a batch is in doubt, as its XID tells it."""
        for batch in self.in_doubt():
            record = SyncRecord(SENDING, self.channel, "")
            record.sequence = batch.sequence_before
            record.luwid = batch.luwid_before
            return record
        return self._kept.record

    def in_doubt(self) -> list[SentBatch]:
        own = batches_in_doubt(self._engine, self.channel, True)
        return [*own, *self._left]

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, record: SyncRecord) -> None:
        self._check_usable()
        self._kept.write(record)

    def put(self, record: SyncRecord, unit: UnitOfWork) -> None:
        self._check_usable()
        self._kept.put(record, unit)

    def _check_usable(self) -> None:
        if self.state() == UNAVAILABLE:
            raise MQError(mq.MQRC_CF_NOT_AVAILABLE, f"The position is lost: {self.failure}.")

    def set_desired(self, state: DesiredState) -> None:
        """Begin to write the desired state for all members, unless it is that already."""
        if self.state() != UNAVAILABLE and self.desired_state() is not state and not self._desired.is_busy():
            self._write_desired(state)

    def _write_desired(self, state: DesiredState) -> None:
        record = SyncRecord(DESIRED_STATE, self.channel, "")
        record.desired_state = state
        self._desired.write(record)

    # -- batches -------------------------------------------------------------------------------------------------------

    def commit(self, batch: InDoubtBatch, port: ChannelPort) -> None:
        record = SyncRecord(SENDING, self.channel, "")
        record.sequence = batch.last
        record.luwid = batch.luwid
        self._commit(batch.unit, GroupCommit(self._kept, record, port))

    def _commit(self, unit: UnitOfWork, listener: CommitListener) -> None:
        part = unit.shared
        assert isinstance(part, SharedUnit)
        if not part.is_committing:
            part.commit_for(listener)

    def can_resolve(self) -> bool:
        own = batches_in_doubt(self._engine, self.channel, True)
        return self.state() == KNOWN and can_resolve(self._engine, own)

    def resolve(self, committed: i64) -> None:
        engine = self._engine
        sharing = engine.sharing
        assert sharing is not None
        self._is_resolving = True
        own = batches_in_doubt(engine, self.channel, True)
        left = self._left
        self._left = []
        for index, batch in enumerate(own):
            self._units.append(batch.unit)
            if index < committed:
                self._commit(batch.unit, GroupCommit(None, self._kept.record, None))
            else:
                back_out_unit(engine, batch.unit)
        for index, other in enumerate(left):
            self._decisions.append(begin_peer_resolution(engine, sharing, other.id, index + len(own) < committed))

    def is_resolved(self) -> bool:
        if self.failure:
            return True
        if not are_resolved(self._units):
            return False
        for decision in self._decisions:
            if not decision.is_done:
                return False
            if decision.is_active:
                self._fail("a batch is in doubt at another member, which is active: that one has to resolve it")
            elif decision.reason != 0:
                self._fail(f"the outcome of a batch of another member is not known ({decision.reason})")
        self._decisions = []
        self._units = []
        if self._is_resolving and not self.failure:
            self._is_resolving = False
            self._read_again()
        return self.state() != WAITING

    # -- the end -------------------------------------------------------------------------------------------------------

    def release(self, desired: DesiredState | None) -> None:
        """Let other members use the position, after the desired state is written. None: it stays as it is."""
        step: i64 = self._step
        self._port = None
        self._turn += 1
        if step == _RELEASING:
            return
        if step == _LOCKING:
            self._step = _FREE
            self._submit_unlock()  # behind LOCK; if another member has it, that is refused
        elif step == _FREE or self.is_elsewhere or not self._has_link():
            self._step = _FREE
        else:
            self._step = _RELEASING
            self._release_to = desired
            self._continue_release()

    def _continue_release(self) -> None:
        desired = self._release_to
        record = self._desired
        if record.is_busy():
            return
        self._release_to = None
        if desired is not None and record.is_read and not record.failure and self.desired_state() is not desired:
            try:
                self._write_desired(desired)
            except MQError as error:
                self._engine.notice(f"AMQ9509E: The state of channel {self.channel} could not be saved: {error.detail}")
        if not record.is_busy():
            self._step = _FREE
            self._submit_unlock()
            self._tell()

    def _submit_unlock(self) -> None:
        """Free the lock, behind all that was submitted before, also what waits for the journal."""
        sharing = self._engine.sharing
        if sharing is not None and sharing.is_joined:
            sharing.submit(UnlockProgram(lock_name(self.channel)), self._engine.journal.end_lsn(), None)

    def is_released(self) -> bool:
        return self._step == _FREE


def lock_name(channel: str) -> str:
    return f"{LOCK_PREFIX}{channel}"


def decode_holder(value: bytes) -> tuple[str, str]:
    """Return the queue manager and the disposition in the value of a lock."""
    manager, _, disposition = value.decode("utf-8", "replace").partition(" ")
    return manager, disposition


def _desired_record(engine: Engine, channel: str, listener: RecordListener) -> GroupRecord:
    return GroupRecord(engine, f"{_STATE_PREFIX}{channel}", SyncRecord(DESIRED_STATE, channel, ""), listener)


@final
class SenderStep(Continuation):
    def __init__(self, position: GroupSenderPosition, turn: i64) -> None:
        self._position = position
        self._turn: i64 = turn

    def answered(self, answer: Answer) -> None:
        self._position.on_answer(self._turn, answer)


@final
class SenderRecord(RecordListener):
    def __init__(self, position: GroupSenderPosition) -> None:
        self._position = position

    def on_record_changed(self, record: GroupRecord) -> None:
        self._position.on_record_changed(record)


@final
class GroupCommit(CommitListener):
    """The commit of a sent batch. Its record follows the decision, unless it is read again."""

    def __init__(self, kept: GroupRecord | None, record: SyncRecord, port: ChannelPort | None) -> None:
        self._kept = kept
        self._record = record
        self._port = port

    def on_committed(self, reason: i64) -> None:
        if reason == mq.MQRC_NONE and self._kept is not None:
            self._kept.mark_committed(self._record)
        if self._port is not None:
            self._port.schedule_pump()


@mypyc_attr(allow_interpreted_subclasses=True)
class StateListener(metaclass=ABCMeta):
    @abstractmethod
    def on_state_seen(self, channel: str, state: DesiredState) -> None:
        """The desired state of a channel of the group was read."""


@final
class DesiredStateReader(RecordListener):
    """Reads the desired state of a channel without its lock, to see whether a member has to start it."""

    def __init__(self, channel: str, listener: StateListener) -> None:
        self._channel = channel
        self._listener = listener

    def begin(self, engine: Engine) -> None:
        """MQError if the queue cannot be read now."""
        sharing = check_open(engine, group_sync_queue(engine))
        _desired_record(engine, self._channel, self).read(sharing)

    def on_record_changed(self, record: GroupRecord) -> None:
        if record.is_read:
            self._listener.on_state_seen(self._channel, record.record.desired_state)
