"""MQOPEN, MQCLOSE and MQINQ of shared queues: opens and depths count in the whole group.

The facility counts the handles of all members, so that exclusive input holds among them. MQOPEN ends when it has
answered; a handle that it refuses is closed (`open.complete_open`).
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.queue.queue import Queue
from ostler.engine.shared.membership import FacilityTask, Membership, reason_of
from ostler.engine.shared.structures import connect_structure
from ostler.engine.task import EngineTask
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, QueueAnswer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import CloseProgram, InquireProgram, OpenProgram
from ostler.model.errors import MQError

_INDEXES: Final[dict[int, int]] = {
    mq.MQIT_MSG_ID: cf.INDEX_MSG_ID,
    mq.MQIT_CORREL_ID: cf.INDEX_CORREL_ID,
    mq.MQIT_GROUP_ID: cf.INDEX_GROUP_ID,
}


def check_open(engine: Engine, queue: Queue) -> Membership:
    """Return the membership, for an MQOPEN of a shared queue. Raises MQError when the queue cannot be used now."""
    sharing = engine.sharing
    if sharing is None:
        raise MQError(
            mq.MQRC_CF_NOT_AVAILABLE, f"The queue {queue.name} is shared, and this queue manager is in no group now."
        )
    if queue.structure not in sharing.structures or not sharing.structures[queue.structure].is_connected:
        connect_structure(engine, sharing, queue.structure)
    reason: i64 = sharing.reason(queue.structure)
    if reason == mq.MQRC_CF_STRUC_ERROR:
        raise MQError(reason, f"There is no structure {queue.structure}, which the queue {queue.name} names.")
    if reason != 0:
        raise MQError(reason, f"The structure {queue.structure} of the queue {queue.name} cannot be used now.")
    return sharing


def begin_open(engine: Engine, sharing: Membership, queue: Queue, handle: Handle) -> None:
    """Have the facility count a handle. `handle.opening` is the task to wait for."""
    options: i64 = 0
    if handle.for_input:
        options = cf.INPUT_EXCLUSIVE if handle.is_exclusive else cf.INPUT_SHARED
    if handle.for_output:
        options |= cf.OUTPUT
    if options != 0:
        handle.shared_options = options
        submit_open(engine, sharing, queue, handle)


def submit_open(engine: Engine, sharing: Membership, queue: Queue, handle: Handle, is_again: bool = False) -> None:
    """Have a handle counted. `is_again`: it was open before, and outlives a structure that has failed."""
    task = SharedOpen(engine, sharing, queue, handle, is_again)
    handle.opening = task
    sharing.begin_task(task)
    program = OpenProgram(queue.structure, queue.name, handle.shared_options, _INDEXES.get(queue.index_type, 0))
    sharing.submit(program, 0, OpenAnswered(task))


def note_queue(queue: Queue, answer: Answer) -> None:
    """Take over what an answer says of a queue."""
    if isinstance(answer, QueueAnswer):
        queue.depth = answer.depth
        queue.uncommitted = answer.uncommitted
        queue.group_inputs = answer.input_count
        queue.group_outputs = answer.output_count


@final
class SharedOpen(FacilityTask):
    def __init__(
        self, engine: Engine, sharing: Membership, queue: Queue, handle: Handle, is_again: bool = False
    ) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.queue = queue
        self.handle = handle
        self.is_again = is_again
        self.reason: i64 = 0

    def on_answer(self, answer: Answer) -> None:
        note_queue(self.queue, answer)
        status: i64 = answer.status
        if self.is_again and (status == cf.STRUCTURE_FAILED or status == cf.STRUCTURE_IN_USE):
            self.sharing.uncounted.append(self.handle)  # until the structure is recovered
        elif status != cf.OK:
            self.reason = reason_of(status)
            self.handle.shared_options = 0
            self.handle.valid = False  # for programs that did not wait
        self.sharing.tasks.pop(self, None)
        self.engine.end_task(self)


@final
class OpenAnswered(Continuation):
    def __init__(self, task: SharedOpen) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_answer(answer)


def end_open(engine: Engine, queue: Queue, handle: Handle) -> EngineTask | None:
    """Have the facility count a handle no more. Returns the task to wait for, or None."""
    sharing = engine.sharing
    options: i64 = handle.shared_options
    handle.shared_options = 0
    if sharing is None or options == 0 or not sharing.is_joined:
        return None
    task = QueueTask(engine, sharing, queue)
    sharing.begin_task(task)
    sharing.submit(CloseProgram(queue.structure, queue.name, options), 0, QueueAnswered(task))
    return task


def refresh_queue(engine: Engine, queue: Queue) -> EngineTask | None:
    """Have depth and opens of a shared queue asked for. None: the facility is not there; then the last ones count."""
    sharing = engine.sharing
    if sharing is None or sharing.reason(queue.structure) != 0:
        return None
    task = QueueTask(engine, sharing, queue)
    sharing.begin_task(task)
    sharing.submit(InquireProgram(queue.structure, queue.name), 0, QueueAnswered(task))
    return task


@final
class QueueTask(FacilityTask):
    """Waits for an answer about a queue."""

    def __init__(self, engine: Engine, sharing: Membership, queue: Queue) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.queue = queue

    def on_answer(self, answer: Answer) -> None:
        note_queue(self.queue, answer)
        self.sharing.tasks.pop(self, None)
        self.engine.end_task(self)


@final
class QueueAnswered(Continuation):
    def __init__(self, task: QueueTask) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_answer(answer)
