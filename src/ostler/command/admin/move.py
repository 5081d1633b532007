"""MOVE QLOCAL for MQSC and PCF: begins the move, and waits until it is done."""

from __future__ import annotations

from ostler.command.admin.context import CommandContext
from ostler.engine.core import Engine
from ostler.engine.queue.move_queue import MoveMessages, begin_move
from ostler.model import constants as mq
from ostler.model.errors import MQError


def move_messages(context: CommandContext, source: str, destination: str, must_be_empty: bool) -> None:
    """Moves all messages of a local queue to another one; returns when that is durable. Raises MQError."""
    begun: list[MoveMessages] = []

    def begin(engine: Engine) -> int:
        for name in (source, destination):
            if name not in engine.queues:
                raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, name)
        begun.append(begin_move(engine, engine.queues[source], engine.queues[destination], must_be_empty))
        return 0

    context.change(begin)
    move = begun[-1]
    while not context.query(lambda _: move.is_done):
        context.pause()
    move.check()
    if move.failure is not None:
        raise move.failure
    context.change(lambda _: int(move.lsn))
