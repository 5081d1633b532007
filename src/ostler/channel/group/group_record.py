"""One record of a channel on SYSTEM.QSG.CHANNEL.SYNCQ, a shared queue.

The new record is put, and the old one got, within one unit of work: there is always one, or none before the first. Any
member finds it by a correlation identifier. Who uses it has a lock of the coupling facility, so that nobody else does.
"""

from __future__ import annotations

import hashlib
from abc import ABCMeta, abstractmethod
from typing import Final, final

from mypy_extensions import i64

from ostler.channel.sync_records import GROUP_SYNC_QUEUE, SYNC_FORMAT, SyncRecord, decode_record
from ostler.engine.core import Engine
from ostler.engine.events.reports import own_descriptor
from ostler.engine.journal_records import append_shared_get
from ostler.engine.message.message import CORRELATION_ID_AT
from ostler.engine.queue.queue import Queue
from ostler.engine.shared.membership import Membership, reason_of
from ostler.engine.shared.puts import SharedPut, put_own
from ostler.engine.shared.units import CommitListener, SharedUnit, shared_part
from ostler.engine.syncpoint import back_out_unit
from ostler.engine.unit_of_work import ACTIVE, UnitOfWork
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, GetAnswer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import GetProgram
from ostler.model.errors import LogFull, MQError

_ID_BYTES: Final = 24


def group_sync_queue(engine: Engine) -> Queue:
    """Return the queue with the records. MQError if it is not a shared queue."""
    queue = engine.queues.get(GROUP_SYNC_QUEUE)
    if queue is None or not queue.is_shared:
        text = f"{GROUP_SYNC_QUEUE}, with the state of the channels of the group, is not a shared queue here"
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, text)
    return queue


class RecordListener(metaclass=ABCMeta):
    @abstractmethod
    def on_record_changed(self, record: GroupRecord) -> None:
        """A record was read or written, or that has failed."""


@final
class GroupRecord:
    """A record, by the name from which its correlation identifier is made."""

    def __init__(self, engine: Engine, name: str, empty: SyncRecord, listener: RecordListener) -> None:
        self.record = empty
        self.failure = ""
        self.is_read = False
        self._engine = engine
        self._identifier = hashlib.sha256(name.encode()).digest()[:_ID_BYTES]
        self._empty = empty
        self._listener = listener
        self._entry = b""  # the message with the record; empty: none yet
        self._new_entry = b""
        self._pending: i64 = 0  # programs of a new record without an answer
        self._is_writing = False  # a record in a unit of its own
        self._written: SyncRecord | None = None
        self._written_unit: UnitOfWork | None = None

    def is_busy(self) -> bool:
        """Return True while programs of a new record have no answer."""
        return self._pending > 0 or self._is_writing

    # -- reading -------------------------------------------------------------------------------------------------------

    def read(self, sharing: Membership) -> None:
        """Begin to read the record; `is_read` follows."""
        self.is_read = False
        queue = group_sync_queue(self._engine)
        program = GetProgram(queue.structure, queue.name, cf.BROWSE, cf.CORREL_ID)
        program.id = self._identifier
        program.now_ms = self._engine.wall_ms()
        program.truncation_accepted = True
        sharing.submit(program, 0, RecordRead(self))

    def on_read(self, answer: Answer) -> None:
        status: i64 = answer.status
        if status == cf.OK and isinstance(answer, GetAnswer) and answer.entry is not None:
            self._found(answer.entry.id, answer.entry.body)
        elif status == cf.NO_MESSAGE:
            self._entry = b""
            self.record = self._empty
            self.is_read = True
        else:
            self.failure = f"the position cannot be read ({reason_of(status)})"
        self._listener.on_record_changed(self)

    def _found(self, entry: bytes, body: bytes) -> None:
        record = decode_record(body)
        if record is None:
            self.failure = f"a message of {GROUP_SYNC_QUEUE} is not a position"
            return
        self._entry = entry
        self.record = record
        self.is_read = True

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, record: SyncRecord) -> None:
        """Replace the record in a unit of its own. MQError if that fails; `is_busy` until it is decided."""
        unit = self._engine.new_unit_of_work()
        try:
            self.put(record, unit)
        except MQError:
            if unit.state == ACTIVE:
                back_out_unit(self._engine, unit)
            raise
        self._is_writing = True
        self._written = record
        self._written_unit = unit
        self._end_write()

    def _end_write(self) -> None:
        unit = self._written_unit
        if unit is None or self._pending > 0:
            return
        self._written_unit = None
        part = unit.shared
        if self.failure or not isinstance(part, SharedUnit):
            if unit.state == ACTIVE:
                back_out_unit(self._engine, unit)
            self._is_writing = False
            return
        part.commit_for(RecordWritten(self))

    def on_written(self, reason: i64) -> None:
        record = self._written
        self._is_writing = False
        self._written = None
        if reason != mq.MQRC_NONE:
            self.failure = f"the position could not be written ({reason})"
        elif record is not None:
            self.mark_committed(record)
        self._listener.on_record_changed(self)

    def put(self, record: SyncRecord, unit: UnitOfWork) -> None:
        """Replace the record within a unit of work. MQError if that fails; `is_busy` until all is answered."""
        engine = self._engine
        sharing = engine.sharing
        assert sharing is not None
        queue = group_sync_queue(engine)
        md = own_descriptor(engine, SYNC_FORMAT, 0, mq.MQPER_PERSISTENT)
        md = md[:CORRELATION_ID_AT] + self._identifier + md[CORRELATION_ID_AT + _ID_BYTES :]
        outcome = put_own(engine, queue, md, record.encode(), unit)
        task = outcome.task
        if not isinstance(task, SharedPut):
            if outcome.wants_log_space:
                raise LogFull()
            text = f"Queue {GROUP_SYNC_QUEUE} does not take a record of channel {record.channel}."
            raise MQError(outcome.reason, text)
        assert task.entry is not None
        self._new_entry = task.entry.id
        part = shared_part(engine, sharing, unit)
        if self._entry:
            self._claim(sharing, queue, part, unit)
        # The unit tells when all its programs are answered: this one is the last of the record.
        self._pending += 1
        part.notify_when_settled(RecordStored(self, task))

    def _claim(self, sharing: Membership, queue: Queue, part: SharedUnit, unit: UnitOfWork) -> None:
        """Get the record before, within the unit."""
        append_shared_get(self._engine, queue, self._entry, sharing.start, unit, False)
        program = GetProgram(queue.structure, queue.name, cf.CLAIM, cf.ENTRY_ID)
        program.id = self._entry
        program.unit = part.id
        program.now_ms = self._engine.wall_ms()
        program.body_bytes_max = 0
        program.truncation_accepted = True
        part.begin_operation(queue.structure)
        self._pending += 1
        sharing.submit(program, 0, RecordClaimed(self, part))

    def on_claimed(self, part: SharedUnit, answer: Answer) -> None:
        self._pending -= 1
        is_claimed: bool = isinstance(answer, GetAnswer) and answer.is_claimed
        if not is_claimed:
            self.failure = "another member has taken the channel over"
        part.on_operation_answered(is_claimed, answer.status)
        self._end_write()
        self._listener.on_record_changed(self)

    def on_stored(self, put: SharedPut) -> None:
        self._pending -= 1
        if put.was_refused:
            self.failure = f"queue {GROUP_SYNC_QUEUE} does not take its record"
        self._end_write()
        self._listener.on_record_changed(self)

    def mark_committed(self, record: SyncRecord) -> None:
        """Make a record valid whose unit of work is committed: the one that was put last."""
        self.record = record
        self._entry = self._new_entry


@final
class RecordRead(Continuation):
    def __init__(self, record: GroupRecord) -> None:
        self._record = record

    def answered(self, answer: Answer) -> None:
        self._record.on_read(answer)


@final
class RecordClaimed(Continuation):
    def __init__(self, record: GroupRecord, part: SharedUnit) -> None:
        self._record = record
        self._part = part

    def answered(self, answer: Answer) -> None:
        self._record.on_claimed(self._part, answer)


@final
class RecordStored(CommitListener):
    """Told when no operation of the unit is under way."""

    def __init__(self, record: GroupRecord, put: SharedPut) -> None:
        self._record = record
        self._put = put

    def on_committed(self, reason: i64) -> None:
        self._record.on_stored(self._put)


@final
class RecordWritten(CommitListener):
    def __init__(self, record: GroupRecord) -> None:
        self._record = record

    def on_committed(self, reason: i64) -> None:
        self._record.on_written(reason)
