"""Triggering by shared queues: each member with an initiation queue triggers for itself.

The facility tells all members that watch for it when a queue becomes non-empty (TRIGTYPE FIRST), so the first message
may bring a trigger message at each of them. EVERY and DEPTH are for the member that puts the message.
"""

from __future__ import annotations

from typing import final

from ostler.engine.core import Engine
from ostler.engine.events import triggers
from ostler.engine.queue.delivery import send_own_messages
from ostler.engine.queue.queue import Queue
from ostler.engine.shared.membership import Membership
from ostler.engine.shared.opens import note_queue
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.events import QueueNotEmpty
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import InquireProgram, WatchProgram


@final
class SharedTriggers:
    def __init__(self, engine: Engine, sharing: Membership) -> None:
        self.engine = engine
        self.sharing = sharing
        self._watched: dict[int, bool] = {}  # by queue id

    def watch(self) -> None:
        """Watch the queues that have triggers now."""
        for queue in list(self.engine.triggering.values()):
            if queue.is_shared and queue.queue_id not in self._watched and self.sharing.reason(queue.structure) == 0:
                self._watched[queue.queue_id] = True
                program = WatchProgram(queue.structure, queue.name, cf.WATCH_TRIGGERS)
                self.sharing.submit(program, 0, None)

    def forget_watches(self) -> None:
        self._watched = {}

    def on_not_empty(self, event: QueueNotEmpty) -> None:
        queue = self.engine.queues.get(event.queue)
        if queue is None or not queue.is_shared or queue.structure != event.structure:
            return
        if not queue.trigger_on:
            self._watched.pop(queue.queue_id, None)
            return
        program = InquireProgram(queue.structure, queue.name)
        self.sharing.submit(program, 0, DepthHeard(self, queue))

    def on_depth(self, queue: Queue) -> None:
        """Send the trigger message of a queue that has become non-empty, if its conditions are met."""
        if queue.deleted or queue.depth <= queue.uncommitted:
            return  # somebody has got the message
        queue.trigger_armed = True
        outgoing = triggers.after_arrival(self.engine, queue, queue.trigger_priority)
        if outgoing:
            send_own_messages(self.engine, outgoing, None)


@final
class DepthHeard(Continuation):
    def __init__(self, shared_triggers: SharedTriggers, queue: Queue) -> None:
        self.triggers = shared_triggers
        self.queue = queue

    def answered(self, answer: Answer) -> None:
        if answer.status == cf.OK:
            note_queue(self.queue, answer)
            self.triggers.on_depth(self.queue)
