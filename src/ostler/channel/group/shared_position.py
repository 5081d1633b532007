"""The position of a channel that partners reach at any member of a queue-sharing group.

Its record is a message of SYSTEM.QSG.CHANNEL.SYNCQ, a shared queue. The new record is put, and the old one got, within
the unit of work of the batch: one decision of the coupling facility for the messages and for the position.

A lock of the facility lets one end at a time use the position. When a member fails, its lock is free after its peers
have backed out its units; so whoever has the lock sees the outcome of all earlier batches. An end that has lost the
link to the facility has lost the lock, too, and commits nothing more.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.channel.group.group_record import GroupRecord, RecordListener, group_sync_queue
from ostler.channel.port import ChannelPort
from ostler.channel.positions import KNOWN, UNAVAILABLE, WAITING, ReceiverPosition
from ostler.channel.sync_records import RECEIVING, SyncRecord
from ostler.engine.core import Engine
from ostler.engine.shared.opens import check_open
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import LockProgram, UnlockProgram
from ostler.model.errors import MQError

LOCK_PREFIX: Final = "CHANNEL.RECEIVER "

# Steps until the position is known.
_FREE: Final = 0
_LOCKING: Final = 1
_READING: Final = 2
_HELD: Final = 3
_CLOSED: Final = 4


@final
class GroupPositions:
    """The positions that ends of this queue manager use: one end at a time for each channel and partner."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.holders: dict[str, SharedPosition] = {}

    def new(self, channel: str, port: ChannelPort | None) -> SharedPosition:
        """Return the position for an end that is pumped by its port; without one, `state` is polled."""
        return SharedPosition(self, channel, port)


@final
class SharedPosition(ReceiverPosition):
    def __init__(self, positions: GroupPositions, channel: str, port: ChannelPort | None) -> None:
        super().__init__()
        self._positions = positions
        self._engine = positions.engine
        self._channel = channel
        self._partner = ""
        self._port = port
        self._step: i64 = _FREE
        self._fence: i64 = 0  # of the link over which the lock was taken
        self._kept = self._new_record()

    def _new_record(self) -> GroupRecord:
        empty = SyncRecord(RECEIVING, self._channel, self._partner)
        return GroupRecord(self._engine, self._name(), empty, PositionRecord(self))

    # -- finding -------------------------------------------------------------------------------------------------------

    def open(self, partner: str) -> None:
        self._partner = partner
        self._kept = self._new_record()
        self._lock()

    def _name(self) -> str:
        return f"{LOCK_PREFIX}{self._channel} {self._partner}"

    def _lock(self) -> None:
        name = self._name()
        if name in self._positions.holders:
            return  # an earlier end of this queue manager commits its last batch
        try:
            sharing = check_open(self._engine, group_sync_queue(self._engine))
        except MQError as error:
            self.failure = error.detail.rstrip(".")
            return
        self._positions.holders[name] = self
        self._step = _LOCKING
        sharing.submit(LockProgram(name, self._engine.name.encode()), 0, PositionLocked(self))

    def on_locked(self, answer: Answer) -> None:
        """Go on after LOCK."""
        is_ours: bool = answer.status == cf.OK
        sharing = self._engine.sharing
        if self._step == _CLOSED:
            if is_ours and sharing is not None:
                sharing.submit(UnlockProgram(self._name()), 0, None)
            self._let_go()
        elif is_ours and sharing is not None:
            self._fence = sharing.port.fence()
            self._step = _READING
            self._kept.read(sharing)
        else:
            self._step = _FREE  # another member has it, perhaps one that is being recovered: `state` asks again
            self._let_go()
        self._pump()

    def on_record_changed(self) -> None:
        if self._step == _READING and self._kept.is_read:
            self._step = _HELD
        self._pump()

    def _pump(self) -> None:
        if self._port is not None:
            self._port.schedule_pump()

    def state(self) -> i64:
        if not self.failure:
            self.failure = self._kept.failure
        if not self.failure and self._step == _FREE:
            self._lock()
        if self.failure:
            return UNAVAILABLE
        if self._step != _HELD:
            return WAITING
        sharing = self._engine.sharing
        if sharing is None or sharing.port.fence() != self._fence:
            self.failure = "the link to the coupling facility broke, and another member may have the channel"
            return UNAVAILABLE
        return WAITING if self._kept.is_busy() else KNOWN

    def find(self) -> SyncRecord:
        return self._kept.record

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

    def mark_committed(self, record: SyncRecord) -> None:
        self._kept.mark_committed(record)

    # -- the end -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        step: i64 = self._step
        self._port = None
        if step == _CLOSED:
            return
        self._step = _CLOSED
        sharing = self._engine.sharing
        has_lock: bool = step == _READING or step == _HELD
        if has_lock and sharing is not None and sharing.is_joined and sharing.port.fence() == self._fence:
            sharing.submit(UnlockProgram(self._name()), 0, None)
        if step != _LOCKING:  # otherwise the answer to LOCK frees it
            self._let_go()

    def _let_go(self) -> None:
        if self._positions.holders.get(self._name()) is self:
            del self._positions.holders[self._name()]


@final
class PositionLocked(Continuation):
    def __init__(self, position: SharedPosition) -> None:
        self._position = position

    def answered(self, answer: Answer) -> None:
        self._position.on_locked(answer)


@final
class PositionRecord(RecordListener):
    def __init__(self, position: SharedPosition) -> None:
        self._position = position

    def on_record_changed(self, record: GroupRecord) -> None:
        self._position.on_record_changed()
