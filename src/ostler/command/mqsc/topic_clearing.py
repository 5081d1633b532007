"""CLEAR TOPICSTR: take away what was retained for a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import Target
from ostler.command.admin.permissions import authorize_topic
from ostler.command.mqsc.arguments import Options
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.grammar import PRODUCT, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import SyntaxProblem
from ostler.engine.core import Engine
from ostler.engine.pubsub import retained
from ostler.engine.pubsub.topic_strings import MANY, ONE, check_topic, levels_of
from ostler.model.authorities import CLR
from ostler.model.constants import MQRC_TOPIC_STRING_ERROR
from ostler.model.errors import MQError


def clear(statement: Statement) -> Action:
    if statement.name is None or not statement.name.text:
        raise SyntaxProblem(statement.noun.end, "TOPICSTR needs a topic string in brackets")
    options = Options(statement)
    options.choice("CLRTYPE", "RETAINED")
    options.choice("SCOPE", "LOCAL")
    if statement.argument("CLRTYPE") is None:
        raise SyntaxProblem(statement.end, "CLRTYPE(RETAINED) is missing: it says what is cleared")
    options.finish()
    return partial(_clear, statement.name.text)


def _clear(topic: str, target: Target) -> Iterator[str]:
    clear_topic(target, topic)
    yield message("AMQ8721I", f"{PRODUCT} topic string cleared.")


def clear_topic(target: Target, topic: str) -> None:
    """CLEAR TOPICSTR, by MQSC and by PCF."""
    authorize_topic(target, topic, CLR)
    target.change(partial(_cleared, topic))


def _cleared(topic: str, engine: Engine) -> int:
    """Remove the retained publication of exactly this topic, if there is one; the LSN behind that."""
    check_topic(topic)
    if MANY in levels_of(topic) or ONE in levels_of(topic):
        raise MQError(MQRC_TOPIC_STRING_ERROR, "One topic is cleared at a time: wildcards stand for nothing here.")
    return engine.journal.end_lsn() if retained.clear(engine, topic) else 0


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {("CLEAR", "TOPICSTR"): clear}
