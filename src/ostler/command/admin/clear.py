"""CLEAR QLOCAL: a private queue at once, a shared one through the coupling facility."""

from __future__ import annotations

from ostler.command.admin.context import CommandContext
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.engine.shared.clearing import SharedClear, begin_clear
from ostler.model import constants as mq
from ostler.model.errors import MQError


def check_disposition(engine: Engine, name: str, disposition: str) -> None:
    """Raises MQError when a queue is not SHARED or PRIVATE as QSGDISP of CLEAR or MOVE says; empty: either."""
    queue = engine.queues.get(name)
    if queue is None or (disposition and queue.is_shared != (disposition == "SHARED")):
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, name)


def clear_queue(context: CommandContext, name: str, disposition: str = "") -> None:
    """Removes all messages of a local queue; returns when that is durable. Raises MQError."""
    begun: list[SharedClear] = []

    def change(engine: Engine) -> int:
        if disposition:
            check_disposition(engine, name, disposition)
        queue = objects.clearable_queue(engine, name)
        if queue.is_shared:
            begun.append(begin_clear(engine, queue))
            return 0
        return objects.clear(engine, name)

    context.change(change)
    if not begun:
        return
    clear = begun[-1]
    while not context.query(lambda _: clear.is_done):
        context.pause()
    clear.check()
    if clear.failure is not None:
        raise clear.failure
