"""CLEAR TOPICSTR: removes the retained publication of a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.topics import clear_topic
from ostler.command.mqsc.arguments import CommandOptions
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.grammar import PRODUCT, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError


def clear(statement: Statement) -> Action:
    if statement.name is None or not statement.name.text:
        raise MqscSyntaxError(statement.noun.end, "TOPICSTR needs a topic string in brackets")
    options = CommandOptions(statement)
    options.choice("CLRTYPE", "RETAINED")
    options.choice("SCOPE", "LOCAL")
    if statement.argument("CLRTYPE") is None:
        raise MqscSyntaxError(statement.end, "CLRTYPE(RETAINED) is missing")
    options.finish()
    return partial(_clear, statement.name.text)


def _clear(topic: str, context: CommandContext) -> Iterator[str]:
    clear_topic(context, topic)
    yield message("AMQ8721I", f"{PRODUCT} topic string cleared.")


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {("CLEAR", "TOPICSTR"): clear}
