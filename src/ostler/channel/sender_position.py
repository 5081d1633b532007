"""The position of a sending MCA: the batch that it committed last, and those in doubt. Resynchronization.

A queue manager keeps it on SYSTEM.CHANNEL.SYNCQ (`sync_records.py`), and its batches in doubt in its log. A channel of
the group keeps it on a shared queue, and any member may go on with it (`group/group_sender.py`).
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import final

from mypy_extensions import i64

from ostler.channel.in_doubt import are_resolved, can_resolve, end_batches
from ostler.channel.port import ChannelPort, EndReason
from ostler.channel.positions import KNOWN, UNAVAILABLE, WAITING
from ostler.channel.sync_records import (
    SENDING,
    InDoubtBatch,
    SentBatch,
    SyncRecord,
    SyncRecords,
    batches_in_doubt,
    commit_batch,
)
from ostler.engine.core import Engine
from ostler.engine.shared.opens import SharedOpen
from ostler.engine.task import EngineTask
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.wire.channel_frames import ChannelHello


class SenderPosition(metaclass=ABCMeta):
    """The position of one channel. The end polls `state`, and is pumped when that has changed."""

    def __init__(self, channel: str, manager_name: str, is_group: bool) -> None:
        self.channel = channel
        self.manager_name = manager_name  # the sender that the partner knows: the queue manager or its group
        self.is_group = is_group
        self.failure: str = ""

    @abstractmethod
    def attach(self, port: ChannelPort | None) -> None:
        """Have an end pumped when the position has changed."""

    @abstractmethod
    def state(self) -> i64:
        """Return WAITING, KNOWN or UNAVAILABLE (see `positions.py`)."""

    @abstractmethod
    def find(self) -> SyncRecord:
        """Return the record of the batch that was committed last. The position must be KNOWN."""

    @abstractmethod
    def in_doubt(self) -> list[SentBatch]:
        """Return the in-doubt batches, in the order in which they were sent."""

    @abstractmethod
    def write(self, record: SyncRecord) -> None:
        """Replace the record outside batches. MQError if that fails; the position may be WAITING for it."""

    @abstractmethod
    def put(self, record: SyncRecord, unit: UnitOfWork) -> None:
        """Put a new record within a unit of work. MQError if that fails; the position may be WAITING for it."""

    @abstractmethod
    def commit(self, batch: InDoubtBatch, port: ChannelPort) -> None:
        """Commit a batch that the partner has confirmed. `port` is pumped if that takes more than this call."""

    @abstractmethod
    def can_resolve(self) -> bool:
        """Return True when in-doubt batches can be ended now."""

    @abstractmethod
    def resolve(self, committed: i64) -> None:
        """Begin to commit the oldest `committed` in-doubt batches, and to back out the others."""

    @abstractmethod
    def is_resolved(self) -> bool:
        """Return True when that is done, or has failed (`failure`)."""

    def resolve_up_to(self, luwid: bytes) -> i64:
        """Begin to commit the in-doubt batches up to the one with this LUWID, and to back out those after it.

        The LUWID of the batch before the first one in doubt backs out all. Return the number of committed batches, or
        -1 without any change if the LUWID is unknown.
        """
        committed: i64 = 0 if luwid == self.find().luwid else -1
        for index, batch in enumerate(self.in_doubt()):
            if batch.luwid == luwid:
                committed = index + 1
        if committed >= 0:
            self.resolve(committed)
        return committed


@final
class PrivateSenderPosition(SenderPosition):
    """The position of a channel that belongs to one queue manager."""

    def __init__(self, engine: Engine, records: SyncRecords, channel: str) -> None:
        super().__init__(channel, engine.name, False)
        self._engine = engine
        self._records = records
        self._resolving: list[UnitOfWork] = []

    def attach(self, port: ChannelPort | None) -> None:
        """The position is always known."""

    def state(self) -> i64:
        return KNOWN

    def find(self) -> SyncRecord:
        return self._records.find(SENDING, self.channel)

    def in_doubt(self) -> list[SentBatch]:
        return list(batches_in_doubt(self._engine, self.channel))

    def write(self, record: SyncRecord) -> None:
        self._records.write(record)

    def put(self, record: SyncRecord, unit: UnitOfWork) -> None:
        self._records.put(record, unit)

    def commit(self, batch: InDoubtBatch, port: ChannelPort) -> None:
        commit_batch(self._engine, self._records, batch, port)

    def can_resolve(self) -> bool:
        if not can_resolve(self._engine, batches_in_doubt(self._engine, self.channel)):
            return False
        self._records.refresh()
        return True

    def resolve(self, committed: i64) -> None:
        in_doubt = batches_in_doubt(self._engine, self.channel)
        self._resolving = [batch.unit for batch in in_doubt]
        end_batches(self._engine, self._records, in_doubt, committed)

    def is_resolved(self) -> bool:
        if not are_resolved(self._resolving):
            return False
        self._resolving = []
        self._records.refresh()
        return True


def describe_position(engine: Engine, position: SenderPosition, hello: ChannelHello) -> None:
    """Fill in the position of a sending end: the sequence number and LUWID committed last, and the in-doubt batches."""
    record = position.find()
    hello.sequence = record.sequence
    hello.luwid = record.luwid
    hello.is_reset = record.is_reset
    records: i64 = 2 if position.is_group else 1  # operations of the unit besides its messages
    hello.batch_size = min(hello.batch_size, max(1, engine.uncommitted_max - records))
    hello.in_doubt = [(each.luwid, each.last) for each in position.in_doubt()]


def resolve_by_partner(position: SenderPosition, agreed: ChannelHello) -> str:
    """Begin to commit the in-doubt batches that the partner has, and to back out the others.

    Return an operator message if they cannot be resolved. `check_position` follows when they are.
    """
    name = position.channel
    here = position.manager_name
    in_doubt = position.in_doubt()
    for batch in in_doubt:
        if batch.partner != agreed.queue_manager:
            return (
                f"AMQ9526E: Channel {name} is in doubt with queue manager {batch.partner}, and {agreed.queue_manager} "
                f"has answered. Have CONNAME lead to {batch.partner}, or RESOLVE CHANNEL({name}) at {here}."
            )
    if in_doubt and position.resolve_up_to(agreed.luwid) < 0:
        return (
            f"AMQ9526E: Channel {name} is in doubt about {len(in_doubt)} batches, and {agreed.queue_manager} "
            f"knows none of them. See what arrived there; RESOLVE CHANNEL({name}) and RESET it at {here}."
        )
    return ""


def check_position(position: SenderPosition, agreed: ChannelHello) -> str:
    """Return an operator message if the positions of both ends do not match."""
    record = position.find()
    if record.sequence != agreed.sequence:
        name = position.channel
        here = position.manager_name
        return (
            f"AMQ9526E: Message sequence number error for channel {name}: {agreed.queue_manager} has "
            f"{agreed.sequence}, {here} {record.sequence}. See that no message is missing or duplicated, "
            f"then RESET CHANNEL({name}) at {here}."
        )
    return ""


def unavailable_text(position: SenderPosition) -> str:
    return f"AMQ9509E: Channel {position.channel} cannot use its position: {position.failure}."


@final
class Resynchronization:
    """The start of a sending end after the hello of its partner: in-doubt batches are ended, positions are compared."""

    def __init__(self, position: SenderPosition, agreed: ChannelHello, queue: str) -> None:
        self.end_reason = EndReason.PERMANENT
        self.reason: i64 = 0
        self.text = ""
        self._position = position
        self._agreed = agreed
        self._queue = queue
        self._is_resolving = False

    def step(self, opening: EngineTask | None) -> i64:
        """Go on. Return KNOWN when the end may run, and UNAVAILABLE when it must end, with `end_reason` and `text`.

        `opening` is the task of a shared transmission queue that is being opened.
        """
        position = self._position
        if not self._is_resolving and position.can_resolve():
            self._is_resolving = True
            mismatch = resolve_by_partner(position, self._agreed)
            if mismatch:
                return self._fail(EndReason.PERMANENT, 0, mismatch)
        is_open: bool = opening is None or opening.is_done
        is_waiting: bool = not self._is_resolving or not is_open or not position.is_resolved()
        if position.failure:
            return self._fail(EndReason.RETRYABLE, mq.MQRC_CF_NOT_AVAILABLE, unavailable_text(position))
        if is_waiting:
            return WAITING
        mismatch = check_position(position, self._agreed)
        if mismatch:
            return self._fail(EndReason.PERMANENT, 0, mismatch)
        if isinstance(opening, SharedOpen) and opening.reason != 0:
            text = f"AMQ9509E: The transmission queue {self._queue} is open for input elsewhere."
            return self._fail(EndReason.RETRYABLE, opening.reason, text)
        record = position.find()
        if record.is_reset:  # and the partner has followed
            fresh = record.successor()
            fresh.sequence = record.sequence
            position.write(fresh)
        return position.state()

    def _fail(self, end_reason: EndReason, reason: i64, text: str) -> i64:
        self.end_reason = end_reason
        self.reason = reason
        self.text = text
        return UNAVAILABLE
