"""CLEAR QLOCAL of a shared queue: its messages are got in units of work of the queue manager itself.

So the journal knows of each persistent message that is gone, and a recovery of the structure does not bring it back.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.journal_records import append_shared_get
from ostler.engine.queue.queue import Queue
from ostler.engine.shared.membership import FacilityTask, Membership, reason_of
from ostler.engine.shared.opens import check_open, note_queue
from ostler.engine.shared.units import CommitListener, SharedUnit, shared_part
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, GetAnswer, ListAnswer, QueueAnswer
from ostler.model.coupling.entries import Entry
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import GetProgram, InquireProgram, ListProgram
from ostler.model.errors import MQError

_AT_ONCE: Final = 500


def begin_clear(engine: Engine, queue: Queue) -> SharedClear:
    """Begin to remove all messages of a shared queue. Raises MQError when the queue cannot be used now."""
    sharing = check_open(engine, queue)
    clear = SharedClear(engine, sharing, queue)
    sharing.begin_task(clear)
    sharing.submit(InquireProgram(queue.structure, queue.name), 0, ClearStep(clear))
    return clear


@final
class SharedClear(FacilityTask):
    """`failure` tells why it has ended before the queue was empty."""

    def __init__(self, engine: Engine, sharing: Membership, queue: Queue) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.queue = queue
        self.failure: MQError | None = None
        self.cleared: i64 = 0
        self.unit: UnitOfWork | None = None
        self.part: SharedUnit | None = None
        self._entries: list[Entry] = []

    def on_answer(self, answer: Answer) -> None:
        if answer.status != cf.OK and answer.status != cf.NO_MESSAGE:
            self._settle(False, answer.status)
            self.end(MQError(reason_of(answer.status), f"The queue {self.queue.name} is not cleared."))
        elif isinstance(answer, QueueAnswer):
            self._on_queue(answer)
        elif isinstance(answer, ListAnswer):
            self._on_listed(answer)
        elif isinstance(answer, GetAnswer):
            self._on_claimed(answer)

    def _on_queue(self, answer: QueueAnswer) -> None:
        note_queue(self.queue, answer)
        if answer.input_count > 0 or answer.output_count > 0 or answer.uncommitted > 0:
            text = f"The queue {self.queue.name} is open or has uncommitted messages, here or at another member."
            self.end(MQError(mq.MQRC_OBJECT_IN_USE, text))
        else:
            self._list()

    def _list(self) -> None:
        program = ListProgram(self.queue.structure, self.queue.name)
        program.count_max = _AT_ONCE
        self.sharing.submit(program, 0, ClearStep(self))

    def _on_listed(self, answer: ListAnswer) -> None:
        entries = answer.entries
        if not entries:
            self.queue.depth = 0
            self.end(None)
            return
        self._entries = entries
        engine = self.engine
        self.unit = engine.new_unit_of_work()
        self.part = shared_part(engine, self.sharing, self.unit)
        self.part.begin_operation(self.queue.structure)
        program = GetProgram(self.queue.structure, self.queue.name, cf.CLAIM, cf.ENTRY_ID)
        program.id = entries[0].id
        program.others = [entry.id for entry in entries[1:]]
        program.unit = self.part.id
        program.body_bytes_max = 0
        program.truncation_accepted = True
        self.sharing.submit(program, 0, ClearStep(self))

    def _settle(self, is_claimed: bool, status: i64) -> None:
        """Count the answer to a claim; a unit that has claimed nothing goes."""
        part = self.part
        unit = self.unit
        self.part = None
        if part is not None and unit is not None:
            part.on_operation_answered(is_claimed, status)
            if not is_claimed:
                self.engine.units_of_work.pop(unit.number, None)

    def _on_claimed(self, answer: GetAnswer) -> None:
        part = self.part
        unit = self.unit
        assert part is not None
        assert unit is not None
        self._settle(answer.is_claimed, answer.status)
        if not answer.is_claimed:
            text = f"The queue {self.queue.name} is in use at another member: a message was got or locked meanwhile."
            self.end(MQError(mq.MQRC_OBJECT_IN_USE, text))
            return
        for entry in self._entries:
            if entry.flags & cf.PERSISTENT:
                append_shared_get(self.engine, self.queue, entry.id, self.sharing.start, unit, False)
        part.commit_for(SliceCleared(self))

    def on_committed(self, reason: i64) -> None:
        if reason != mq.MQRC_NONE:
            self.end(MQError(mq.MQRC_CF_NOT_AVAILABLE, f"The queue {self.queue.name} is not cleared."))
            return
        cleared: i64 = len(self._entries)
        self.cleared += cleared
        self.queue.counters.purged += cleared
        self.engine.counters.purged += cleared
        self._list()

    def end(self, failure: MQError | None) -> None:
        self.failure = failure
        self._entries = []
        self.sharing.tasks.pop(self, None)
        self.engine.end_task(self)


@final
class ClearStep(Continuation):
    def __init__(self, clear: SharedClear) -> None:
        self.clear = clear

    def answered(self, answer: Answer) -> None:
        self.clear.on_answer(answer)


@final
class SliceCleared(CommitListener):
    def __init__(self, clear: SharedClear) -> None:
        self.clear = clear

    def on_committed(self, reason: i64) -> None:
        self.clear.on_committed(reason)
