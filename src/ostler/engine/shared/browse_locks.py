"""Browse locks on shared queues (MQGMO_LOCK, MQGMO_UNLOCK): the facility keeps them, for the whole group.

A handle has at most one lock. It ends with MQGMO_UNLOCK, with the next browse of the handle, when the handle gets the
message or is closed, and with the link of the member.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.queue.get_request import BROWSE_OPTIONS, GetRequest
from ostler.engine.queue.queue import Queue
from ostler.engine.shared.membership import Membership, reason_of
from ostler.engine.statistics import count_get_failed
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.entries import Entry
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import GetProgram, ReleaseProgram


def set_handle(program: GetProgram, request: GetRequest) -> None:
    """Say which handle asks, if it locks the message or has locked one."""
    locks: bool = request.options & mq.MQGMO_LOCK != 0 and program.mode == cf.BROWSE
    if locks or request.handle.locked_entry:
        program.handle = request.connection.number << 32 | request.handle.number
        program.locks = locks


def after_browse(sharing: Membership, queue: Queue, request: GetRequest, entry: Entry | None) -> None:
    """Note the lock of a browse that has ended with an entry, or with none; release the one before it."""
    handle = request.handle
    before = handle.locked_entry
    has_locked: bool = entry is not None and request.options & mq.MQGMO_LOCK != 0
    if entry is not None and request.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
        if has_locked and entry.id != before:
            sharing.submit(ReleaseProgram(queue.structure, queue.name, entry.id), 0, None)
        return
    handle.locked_entry = entry.id if has_locked and entry is not None else b""
    if before and before != handle.locked_entry:
        sharing.submit(ReleaseProgram(queue.structure, queue.name, before), 0, None)


def after_empty_browse(engine: Engine, queue: Queue, request: GetRequest) -> None:
    """Release the lock of a handle whose browse has found nothing."""
    if request.handle.locked_entry and request.options & BROWSE_OPTIONS and engine.sharing is not None:
        after_browse(engine.sharing, queue, request, None)


def release(engine: Engine, queue: Queue, handle: Handle) -> None:
    """Release the lock of a handle that is closed."""
    entry = handle.locked_entry
    handle.locked_entry = b""
    if entry and engine.sharing is not None and engine.sharing.is_joined:
        engine.sharing.submit(ReleaseProgram(queue.structure, queue.name, entry), 0, None)


def forget_locks(queue: Queue) -> None:
    """The link is lost, and with it all locks."""
    for handle in queue.handles:
        handle.locked_entry = b""


def begin_unlock(engine: Engine, sharing: Membership, request: GetRequest, queue: Queue) -> bool:
    """MQGMO_UNLOCK. Returns False when the handle has locked nothing; else the request is answered later."""
    entry = request.handle.locked_entry
    if not entry:
        return False
    request.handle.locked_entry = b""
    queue.waiting.add(request)
    unlock = Unlocked(engine, queue, request)
    request.asking = unlock
    sharing.submit(ReleaseProgram(queue.structure, queue.name, entry), 0, unlock)
    return True


@final
class Unlocked(Continuation):
    def __init__(self, engine: Engine, queue: Queue, request: GetRequest) -> None:
        self.engine = engine
        self.queue = queue
        self.request = request

    def answered(self, answer: Answer) -> None:
        request = self.request
        request.asking = None
        if request.done:
            return
        self.queue.waiting.remove(request)
        status: i64 = answer.status
        request.reason = mq.MQRC_NO_MSG_LOCKED if status == cf.NOT_LOCKED else reason_of(status)
        request.done = True
        if request.reason != mq.MQRC_NONE:
            count_get_failed(self.engine, request)
        self.engine.woken.append(request)
