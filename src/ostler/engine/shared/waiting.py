"""Waiting gets of shared queues: who is tried when the facility tells that a queue is not empty.

Each try is a program. Of the requests for any message one is tried at a time, and the next one when it has got a
message: with one message for a hundred requests, two programs are submitted and not a hundred. A request for an
identifier is tried when that identifier is told of. Once a second all kinds are tried, in case an event was lost.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.queue.get_request import ANY, BROWSE_OPTIONS, BY_CORRELATION_ID, BY_SCAN, GetRequest, RequestList
from ostler.engine.queue.queue import Queue
from ostler.engine.shared.gets import end_failed
from ostler.engine.shared.membership import Membership, SharedWaits
from ostler.engine.shared.searches import ask_any_way
from ostler.engine.syncpoint import back_out_unit
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model.coupling import terms as cf
from ostler.model.coupling.events import QueueNotEmpty
from ostler.model.coupling.programs import WatchProgram


@final
class WaitingGets(SharedWaits):
    def __init__(self, engine: Engine, sharing: Membership) -> None:
        self.engine = engine
        self.sharing = sharing

    def on_not_empty(self, event: QueueNotEmpty) -> None:
        """Try requests that wait for what a queue has now."""
        queue = self.engine.queues.get(event.queue)
        if queue is None or not queue.is_shared or queue.structure != event.structure:
            return
        if event.match == cf.FIRST:
            if queue.waiting.count == 0:
                program = WatchProgram(event.structure, event.queue, cf.WATCH_OFF)
                self.sharing.submit(program, 0, None)
                return
            self._try_first(queue, queue.waiting.any)
            self._try_selective(queue)
        elif event.match == cf.CORREL_ID:
            self._try_first(queue, queue.waiting.by_correlation_id.get(event.id))
        elif event.match == cf.MSG_ID or event.match == cf.MSG_AND_CORREL_ID:
            self._try_all(queue, queue.waiting.by_message_id.get(event.id[:24]))
        else:
            self._try_selective(queue)

    def on_tick(self) -> None:
        """Try all kinds of requests that wait, in case an event was lost."""
        if not self.sharing.is_joined:
            return
        for queue in list(self.engine.queues_by_id.values()):
            if not queue.is_shared or queue.waiting.count == 0 or self.sharing.reason(queue.structure) != 0:
                continue
            self._try_first(queue, queue.waiting.any)
            for waiting in list(queue.waiting.by_message_id.values()):
                self._try_all(queue, waiting)
            for waiting in list(queue.waiting.by_correlation_id.values()):
                self._try_first(queue, waiting)
            self._try_selective(queue)

    def on_got(self, queue: Queue, request: GetRequest) -> None:
        if request.options & BROWSE_OPTIONS or queue.waiting.count == 0:
            return
        if request.kind == ANY:
            if queue.depth > 0:
                self._try_first(queue, queue.waiting.any)
        elif request.kind == BY_CORRELATION_ID:
            self._try_first(queue, queue.waiting.by_correlation_id.get(request.correlation_id))
        elif request.kind != BY_SCAN:
            self._try_all(queue, queue.waiting.by_message_id.get(request.message_id))

    def on_unseen(self, unit: UnitOfWork, is_alone: bool) -> None:
        back_out_unit(self.engine, unit)
        if not is_alone:
            unit.backed_out_by_system = True
            unit.entries = []

    def fail_all(self, reason: i64) -> None:
        """End all waits on shared queues: the facility is not there."""
        for queue in list(self.engine.queues_by_id.values()):
            if queue.is_shared and queue.waiting.count > 0:
                self.fail_queue(queue, reason)

    def fail_structure(self, structure: str, reason: i64) -> None:
        for queue in list(self.engine.queues_by_id.values()):
            if queue.is_shared and queue.structure == structure and queue.waiting.count > 0:
                self.fail_queue(queue, reason)

    def fail_queue(self, queue: Queue, reason: i64) -> None:
        for request in queue.waiting.in_service_order():
            if not request.done:
                end_failed(self.engine, request, queue, reason)

    def _try_first(self, queue: Queue, waiting: RequestList | None) -> None:
        """Try the request that has waited longest, unless it is being tried."""
        request = waiting.head if waiting is not None else None
        if request is not None and request.asking is None:
            ask_any_way(self.engine, request, queue, False)

    def _try_all(self, queue: Queue, waiting: RequestList | None) -> None:
        """Try the requests for one message identifier: some of them want another correlation identifier, too."""
        request = waiting.head if waiting is not None else None
        while request is not None:
            following = request.next
            if request.asking is None:
                ask_any_way(self.engine, request, queue, False)
            request = following

    def _try_selective(self, queue: Queue) -> None:
        """Try all requests whose message the facility cannot tell by an identifier."""
        if queue.waiting.selective == 0:
            return
        for request in queue.waiting.in_service_order():
            if request.kind == BY_SCAN and request.asking is None and not request.done:
                ask_any_way(self.engine, request, queue, False)
