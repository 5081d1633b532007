"""MOVE QLOCAL for MQSC and PCF: begins the move, and waits until it is done."""

from __future__ import annotations

from ostler.command.admin.clear import check_disposition
from ostler.command.admin.context import CommandContext
from ostler.command.admin.shared_move import move_shared
from ostler.engine.core import Engine
from ostler.engine.queue.move_queue import MoveMessages, begin_move


def move_messages(
    context: CommandContext, source: str, destination: str, must_be_empty: bool, disposition: str = ""
) -> None:
    """Moves all messages of a local queue to another one; returns when that is durable. Raises MQError."""

    def look(engine: Engine) -> bool:
        check_disposition(engine, source, disposition)
        check_disposition(engine, destination, "")
        return engine.queues[source].is_shared or engine.queues[destination].is_shared

    if context.query(look):
        move_shared(context, source, destination, must_be_empty)
        return
    begun: list[MoveMessages] = []

    def begin(engine: Engine) -> int:
        look(engine)
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
