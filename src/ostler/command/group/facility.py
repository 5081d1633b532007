"""Asks the coupling facility on the thread of a command."""

from __future__ import annotations

from ostler.command.admin.clear import clear_queue
from ostler.command.admin.context import CommandContext
from ostler.engine.core import Engine
from ostler.engine.shared.membership import reason_of
from ostler.engine.shared.opens import refresh_queue
from ostler.engine.shared.structures import connect_structure
from ostler.engine.task import EngineTask
from ostler.model import constants as mq
from ostler.model.coupling.answers import Answer, QueueAnswer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import InquireProgram, Program
from ostler.model.errors import MQError


class _Answered(Continuation):
    def __init__(self) -> None:
        self.answer: Answer | None = None

    def answered(self, answer: Answer) -> None:
        self.answer = answer


def ask(context: CommandContext, program: Program, structure: str = "") -> Answer:
    """Submits a program and returns its answer. Raises MQError if the facility, or the structure, cannot be used."""
    waiting = _Answered()

    def submit(engine: Engine) -> int:
        sharing = engine.sharing
        if sharing is None or not sharing.is_joined:
            raise MQError(mq.MQRC_CF_NOT_AVAILABLE, "The coupling facility cannot be used now.")
        if structure:
            connect_structure(engine, sharing, structure)
        sharing.submit(program, 0, waiting)
        return 0

    context.change(submit)
    while (answer := context.query(lambda _: waiting.answer)) is None:
        context.pause()
    if answer.status != 0:
        raise MQError(reason_of(answer.status), "The coupling facility has refused the question.")
    return answer


def refresh_queues(context: CommandContext, names: list[str]) -> None:
    """Has depths and opens of shared queues brought up to date. Without a facility the last ones stay."""
    begun: dict[str, EngineTask | None] = {}

    def begin(engine: Engine) -> int:
        begun.clear()
        for name in names:
            queue = engine.queues.get(name)
            if queue is not None and queue.is_shared:
                if engine.sharing is not None:
                    connect_structure(engine, engine.sharing, queue.structure)
                begun[name] = refresh_queue(engine, queue)
        return 0

    context.change(begin)
    tasks = [task for task in begun.values() if task is not None]
    while not context.query(lambda _: all(task.is_done for task in tasks)):
        context.pause()


def check_unused(context: CommandContext, name: str, purge: bool = False) -> None:
    """Raises MQError unless a shared queue is empty and closed in the whole group. With `purge` it is emptied."""
    if purge:
        clear_queue(context, name)
    structure = context.query(lambda engine: _structure_of(engine, name))
    if not structure:
        return  # this member does not know the queue
    answer = ask(context, InquireProgram(structure, name), structure)
    if not isinstance(answer, QueueAnswer):
        return
    if answer.input_count > 0 or answer.output_count > 0 or answer.uncommitted > 0:
        raise MQError(
            mq.MQRC_OBJECT_IN_USE, f"The shared queue {name} is open in the group, or has uncommitted messages."
        )
    if answer.depth > 0:
        raise MQError(mq.MQRC_Q_NOT_EMPTY, f"The queue {name} holds {answer.depth} messages.")


def _structure_of(engine: Engine, name: str) -> str:
    queue = engine.queues.get(name)
    if queue is None or not queue.is_shared:
        return ""
    if queue.handles:
        raise MQError(mq.MQRC_OBJECT_IN_USE, f"The queue {name} is open.")
    return queue.structure
