"""MOVE QLOCAL and RESET QSTATS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.move import move_messages
from ostler.command.admin.objects import matching_names
from ostler.command.admin.permissions import authorize
from ostler.command.mqsc.arguments import CommandOptions, object_name
from ostler.command.mqsc.define_alter_delete import Action, not_found, unknown_object
from ostler.command.mqsc.display.layout import bracketed, columns
from ostler.command.mqsc.grammar import PRODUCT, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.engine.core import Engine
from ostler.engine.statistics import QueueResetStatistics, queue_statistics
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.authorities import PUT
from ostler.model.definition_rules import check_name
from ostler.model.errors import MQError

_CHUNK_QUEUES: Final = 100


def move(statement: Statement) -> Action:
    source = object_name(statement, ObjectType.QLOCAL)
    options = CommandOptions(statement)
    words = options.values("TOQLOCAL")
    if words is None:
        raise MqscSyntaxError(statement.end, "TOQLOCAL is missing: it names the destination queue")
    try:
        check_name(ObjectType.QLOCAL, words[0].text)
    except MQError as error:
        raise MqscSyntaxError(words[0].end, error.detail.rstrip(".")) from None
    if len(words) > 1:
        raise MqscSyntaxError(words[1].end, "TOQLOCAL takes one queue")
    kind = options.choice("TYPE", "MOVE", "ADD")
    disposition = options.choice("QSGDISP", "", "PRIVATE", "SHARED")
    options.finish()
    return partial(_move, source, words[0].text, kind == "MOVE", disposition)


def _move(
    source: str, destination: str, must_be_empty: bool, disposition: str, context: CommandContext
) -> Iterator[str]:
    authorize(context, "MOVE", ObjectType.QLOCAL, source)
    context.authorize(mq.MQOT_Q, destination, PUT)

    if source == destination and context.query(lambda engine: source in engine.queues):
        raise CommandRefused("AMQ8101E", "The source and the destination are the same queue.")
    try:
        move_messages(context, source, destination, must_be_empty, disposition)
    except MQError as error:
        raise unknown_object(error, error.detail) from None
    yield message("AMQ8022I", f"Messages of {PRODUCT} queue {source} moved to {destination}.")


def reset_statistics(statement: Statement) -> Action:
    word = statement.name
    if word is None:
        raise MqscSyntaxError(statement.noun.end, "QSTATS needs a name in brackets, such as (*)")
    pattern = word.text.strip()
    if not pattern or "*" in pattern[:-1]:
        raise MqscSyntaxError(word.end, "give a name, or a generic one that ends with an asterisk")
    CommandOptions(statement).finish()
    return partial(_reset_statistics, pattern)


def _reset_statistics(pattern: str, context: CommandContext) -> Iterator[str]:
    names = context.query(partial(_queue_names, pattern))
    if "*" not in pattern:
        authorize(context, "RESET", ObjectType.QLOCAL, pattern)
    found = False
    for at in range(0, len(names), _CHUNK_QUEUES):
        chosen = [name for name in names[at : at + _CHUNK_QUEUES] if _may_reset(context, pattern, name)]
        for name, figures in context.query(partial(_figures, chosen)):
            found = True
            yield message("AMQ8450I", "Queue statistics.")
            yield from columns(
                [
                    bracketed("QSTATS", name),
                    bracketed("TYPE", "QUEUE"),
                    bracketed("RESETINT", str(figures.seconds)),
                    bracketed("HIQDEPTH", str(figures.depth_high)),
                    bracketed("MSGSIN", str(figures.enqueued)),
                    bracketed("MSGSOUT", str(figures.dequeued)),
                ]
            )
    if not found:
        raise not_found(pattern)


def _may_reset(context: CommandContext, pattern: str, name: str) -> bool:
    if "*" not in pattern:
        return True
    try:
        authorize(context, "RESET", ObjectType.QLOCAL, name)
    except CommandRefused:
        return False
    return True


def _queue_names(pattern: str, engine: Engine) -> list[str]:
    return matching_names(engine.queues, pattern)


def _figures(names: list[str], engine: Engine) -> list[tuple[str, QueueResetStatistics]]:
    return [(name, queue_statistics(engine, engine.queues[name], True)) for name in names if name in engine.queues]


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("MOVE", "QLOCAL"): move,
    ("MOVE", "QL"): move,
    ("RESET", "QSTATS"): reset_statistics,
}
