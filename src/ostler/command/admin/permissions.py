"""What a command needs: which authority on which object, as MQ has it for MQSC and PCF commands.

Objects that have no authorities of their own, such as rules and connections, go by those on the queue manager.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from ostler.command.admin.context import NOT_AUTHORIZED, CommandContext, CommandRefused
from ostler.engine.core import Engine
from ostler.engine.pubsub.topic_tree import BASE_TOPIC, TopicNode
from ostler.model.attributes import ObjectType
from ostler.model.authorities import CHG, CLR, CRT, CTRL, CTRLX, DLT, DSP, GET, words_of
from ostler.model.constants import (
    MQOT_AUTH_INFO,
    MQOT_CHANNEL,
    MQOT_CLNTCONN_CHANNEL,
    MQOT_COMM_INFO,
    MQOT_LISTENER,
    MQOT_NAMELIST,
    MQOT_PROCESS,
    MQOT_Q,
    MQOT_Q_MGR,
    MQOT_SERVICE,
    MQOT_TOPIC,
)

_TYPES: Final = {
    ObjectType.QLOCAL: MQOT_Q,
    ObjectType.QALIAS: MQOT_Q,
    ObjectType.QREMOTE: MQOT_Q,
    ObjectType.QMODEL: MQOT_Q,
    ObjectType.QSTATUS: MQOT_Q,
    ObjectType.CHANNEL: MQOT_CHANNEL,
    ObjectType.CHSTATUS: MQOT_CHANNEL,
    ObjectType.CLNTCONN: MQOT_CLNTCONN_CHANNEL,
    ObjectType.LISTENER: MQOT_LISTENER,
    ObjectType.LSSTATUS: MQOT_LISTENER,
    ObjectType.SERVICE: MQOT_SERVICE,
    ObjectType.SVSTATUS: MQOT_SERVICE,
    ObjectType.PROCESS: MQOT_PROCESS,
    ObjectType.NAMELIST: MQOT_NAMELIST,
    ObjectType.TOPIC: MQOT_TOPIC,
    ObjectType.TPSTATUS: MQOT_TOPIC,
    ObjectType.AUTHINFO: MQOT_AUTH_INFO,
    ObjectType.COMMINFO: MQOT_COMM_INFO,
}
# What a verb needs on the object it names. REPLACE is DEFINE of an object that is there.
_OBJECT: Final = {
    "ALTER": CHG,
    "CLEAR": CLR,
    "DEFINE": CRT,
    "DELETE": DLT,
    "DISPLAY": DSP,
    "MOVE": GET,
    "PING": CTRL,
    "REPLACE": CHG,
    "RESET": CTRLX,
    "RESOLVE": CTRLX,
    "START": CTRL,
    "STOP": CTRL,
}
# What it needs on the queue manager, when that is what it names or goes by; CHG where nothing else is said.
_MANAGER: Final = {"DISPLAY": DSP, "PING": 0, "START": CTRL}
_RESET_STATISTICS: Final = DSP | CHG


def mqot(kind: ObjectType) -> int:
    """The type of object whose authorities count for a kind of object, an MQOT number."""
    return _TYPES.get(kind, MQOT_Q_MGR)


def needed_authorities(verb: str, kind: ObjectType) -> int:
    """The authorities that a verb needs on the object it names; 0 when none is needed.

    DEFINE is for an object that is not there yet, REPLACE for one that is.
    """
    object_type = mqot(kind)
    if object_type == MQOT_Q_MGR:
        return _MANAGER.get(verb, CHG)
    if verb == "RESET" and object_type == MQOT_Q:
        return _RESET_STATISTICS
    return _OBJECT.get(verb, CHG)


def authorize(context: CommandContext, verb: str, kind: ObjectType, name: str) -> None:
    """Raise CommandRefused when the user may not do that to an object of this name."""
    mask = needed_authorities(verb, kind)
    if mask:
        context.authorize(mqot(kind), name, mask)


def authorize_define(context: CommandContext, kind: ObjectType, name: str, exists: bool, like: str) -> None:
    """The same for DEFINE, which needs to see the object that the new one is like, or the default object."""
    authorize(context, "REPLACE" if exists else "DEFINE", kind, name)
    if like and mqot(kind) != MQOT_Q_MGR:
        context.authorize(mqot(kind), like, DSP)


def may_see(context: CommandContext, kind: ObjectType, name: str) -> bool:
    """Whether DISPLAY shows an object of this name to the user."""
    return context.is_authorized(mqot(kind), name, DSP)


def authorize_topic(context: CommandContext, topic: str, mask: int) -> None:
    """Raise CommandRefused unless a topic object at a topic or above it gives the user all of the authorities."""
    names = context.query(partial(_objects_above, topic))
    if not any(context.is_authorized(MQOT_TOPIC, name, mask) for name in names):
        raise CommandRefused(
            NOT_AUTHORIZED,
            f"User {context.user} is not authorized: {','.join(words_of(mask))} on topic {topic[:256]} is needed, from "
            f"{names[0]} or an object above it.",
        )


def _objects_above(topic: str, engine: Engine) -> list[str]:
    names: list[str] = []
    node: TopicNode | None = engine.topics.nearest(topic)
    while node is not None:
        if node.definition is not None:
            names.append(node.definition.name)
        node = node.parent
    return names or [BASE_TOPIC]
