"""Topics by command: CLEAR TOPICSTR."""

from __future__ import annotations

from functools import partial

from ostler.command.admin.context import CommandContext
from ostler.command.admin.permissions import authorize_topic
from ostler.engine.core import Engine
from ostler.engine.pubsub import retained
from ostler.engine.pubsub.topic_strings import MANY, ONE, check_topic, levels_of
from ostler.model import constants as mq
from ostler.model.authorities import CLR
from ostler.model.errors import MQError


def clear_topic(context: CommandContext, topic: str) -> None:
    """Clears the retained publication of a topic (CLEAR TOPICSTR)."""
    authorize_topic(context, topic, CLR)
    context.change(partial(_clear, topic))


def _clear(topic: str, engine: Engine) -> int:
    """Removes the retained publication of exactly this topic, if any, and returns the LSN."""
    check_topic(topic)
    if MANY in levels_of(topic) or ONE in levels_of(topic):
        raise MQError(mq.MQRC_TOPIC_STRING_ERROR, "CLEAR TOPICSTR takes one topic: wildcards are not allowed.")
    return engine.journal.end_lsn() if retained.clear(engine, topic) else 0
