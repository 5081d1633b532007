"""MOVE QLOCAL from or to a shared queue: gets and puts of the queue manager itself, in units of work of some messages.

The command ends at the first message that cannot be moved. Earlier units stay moved, the others stay where they were.
While it runs nobody else gets from the source, and no application of this queue manager opens either queue.
"""

from __future__ import annotations

from typing import Final

from ostler.command.admin.clear import check_disposition
from ostler.command.admin.context import CommandContext
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.get import get, new_request
from ostler.engine.handle import Handle
from ostler.engine.message.message import NULL_ID
from ostler.engine.open import OpenRequest, close_object, complete_open, open_object
from ostler.engine.outcomes import PutOutcome, UnitOutcome
from ostler.engine.put import put
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.queue.queue import Queue
from ostler.engine.shared.offloading import choose_place
from ostler.engine.syncpoint import back_out, commit
from ostler.engine.task import EngineTask
from ostler.model import constants as mq
from ostler.model.coupling.offload import IN_STRUCTURE
from ostler.model.errors import LogFull, MQError

_UNIT_MESSAGES: Final = 50
_LONG_BYTES: Final = 65_536  # after such a message the next one is got alone
_BODY_BYTES_MAX: Final = 1 << 30
_GET: Final = mq.MQGMO_SYNCPOINT
_PUT: Final = mq.MQPMO_SYNCPOINT | mq.MQPMO_SET_ALL_CONTEXT


def move_shared(context: CommandContext, source: str, target: str, must_be_empty: bool) -> None:
    """Moves all messages of a queue to another one, of which at least one is shared. Raises MQError."""
    move = _Move(context)
    try:
        move.open(source, target)
        move.check_room(must_be_empty)
        move.run()
    finally:
        move.close()


class _Move:
    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._connection = Connection(0, "", "", 0)
        self._handles: list[Handle] = []
        self._queues: list[Queue] = []
        self._left = 0
        self._at_once = 1

    # -- begin and end -------------------------------------------------------------------------------------------------

    def open(self, source: str, target: str) -> None:
        self._open(source, mq.MQOO_INPUT_EXCLUSIVE, 1, 0)
        self._open(target, mq.MQOO_OUTPUT | mq.MQOO_SET_ALL_CONTEXT, 0, 1)

    def _open(self, name: str, options: int, inputs: int, outputs: int) -> None:
        """Opens a queue that nobody else has open, in the whole group if it is shared."""

        def begin(engine: Engine) -> int:
            check_disposition(engine, name, "")
            queue = engine.queues[name]
            if queue.handles or queue.is_moving or (not queue.is_shared and queue.uncommitted > 0):
                raise _in_use(queue)
            handle = open_object(engine, self._connection, OpenRequest(mq.MQOT_Q, name, options))
            handle.sends_reports = False
            queue.is_moving = True
            self._handles.append(handle)
            self._queues.append(queue)
            return 0

        self._context.change(begin)
        handle, queue = self._handles[-1], self._queues[-1]
        opening = handle.opening
        if opening is None:
            return
        self._wait(opening)

        def finish(engine: Engine) -> int:
            complete_open(engine, self._connection, handle)
            others = queue.group_inputs > inputs or queue.group_outputs > outputs
            if others or queue.uncommitted > 0:
                raise _in_use(queue)
            return 0

        self._context.change(finish)

    def check_room(self, must_be_empty: bool) -> None:
        source, target = self._queues
        self._left, there, most = self._context.query(lambda _: (source.depth, target.depth, target.depth_max))
        if must_be_empty and there > 0:
            raise MQError(mq.MQRC_Q_NOT_EMPTY, f"The queue {target.name} holds {there} messages; use TYPE(ADD).")
        if there + self._left > most:
            raise MQError(mq.MQRC_Q_FULL, f"The queue {target.name} has no room for further messages.")

    def close(self) -> None:
        tasks: list[EngineTask | None] = []

        def change(engine: Engine) -> int:
            unit = self._connection.unit_of_work
            if unit is not None:
                tasks.append(back_out(engine, self._connection, True).task)
            for queue in self._queues:
                queue.is_moving = False
            opened = list(self._connection.handles.values())
            tasks.extend(close_object(engine, self._connection, handle, 0).task for handle in opened)
            return 0

        self._context.change(change)
        for task in tasks:
            if task is not None:
                self._wait(task)

    # -- messages ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Moves as many messages as there were in the beginning."""
        while self._left > 0:
            found = self._get(min(self._left, _UNIT_MESSAGES, self._at_once))
            if not found:
                return
            waiting = found
            while waiting:
                waiting = waiting[self._put(waiting) :]
            self._commit()
            self._left -= len(found)
            is_long = any(len(each.body) > _LONG_BYTES for each in found)
            self._at_once = 1 if is_long else min(2 * self._at_once, _UNIT_MESSAGES)

    def _get(self, count: int) -> list[GetRequest]:
        requests: list[GetRequest] = []

        def begin(engine: Engine) -> int:
            for _ in range(count):
                request = new_request(self._connection, self._handles[0], _GET, 0, NULL_ID, NULL_ID, _BODY_BYTES_MAX)
                request.wants_stored = True
                request.may_pause = True
                requests.append(request)
                get(engine, request)
                if request.done and request.reason != 0:
                    break
            return 0

        self._context.change(begin)
        while not self._context.query(lambda _: all(request.done for request in requests)):
            self._context.pause()
        found: list[GetRequest] = []
        for request in requests:
            if request.reason == mq.MQRC_NONE:
                found.append(request)
            elif request.reason != mq.MQRC_NO_MSG_AVAILABLE:
                raise _failed(self._queues[0], int(request.reason))
        return found

    def _put(self, messages: list[GetRequest]) -> int:
        """Puts the first messages, as many as keep their order though the facility answers later. Returns how many."""
        outcomes: list[PutOutcome] = []
        handle = self._handles[1]

        def begin(engine: Engine) -> int:
            for message in messages:
                is_offloaded = _is_offloaded(engine, self._queues[1], message)
                if is_offloaded and outcomes:
                    break
                body, properties = message.body, message.properties_bytes
                outcome = put(engine, self._connection, handle, message.md, _PUT, properties, body, None)
                if outcome.wants_log_space:
                    if not outcomes:
                        raise LogFull("The recovery log has no room for a message.")  # whoever runs this makes room
                    break
                outcomes.append(outcome)
                if is_offloaded or outcome.has_failed():
                    break
            return 0

        self._context.change(begin)
        for outcome in outcomes:
            if outcome.task is not None:
                self._wait(outcome.task)
            if outcome.has_failed():
                raise _failed(self._queues[1], int(outcome.reason))
        return len(outcomes)

    def _commit(self) -> None:
        outcomes: list[UnitOutcome] = []

        def begin(engine: Engine) -> int:
            outcomes.append(commit(engine, self._connection, True))
            return int(outcomes[-1].after_lsn)

        self._context.change(begin)
        outcome = outcomes[-1]
        if outcome.task is not None:
            self._wait(outcome.task)
        if outcome.reason != mq.MQRC_NONE:
            raise _failed(self._queues[0], int(outcome.reason))
        self._context.change(lambda _: int(outcome.after_lsn))

    def _wait(self, task: EngineTask) -> None:
        while not self._context.query(lambda _: task.is_done):
            self._context.pause()
        task.check()


def _is_offloaded(engine: Engine, target: Queue, message: GetRequest) -> bool:
    sharing = engine.sharing
    if not target.is_shared or sharing is None or target.structure not in sharing.structures:
        return False
    structure = sharing.structures[target.structure]
    sizes = len(message.properties_bytes), len(message.body)
    return choose_place(engine, sharing, structure, *sizes) != IN_STRUCTURE


def _in_use(queue: Queue) -> MQError:
    return MQError(mq.MQRC_OBJECT_IN_USE, f"The queue {queue.name} is open or has uncommitted messages.")


def _failed(queue: Queue, reason: int) -> MQError:
    return MQError(reason, f"The move ends at a message that {queue.name} does not allow to move; the rest stays.")
