"""The authorities that commands need (MQ: "Authorizations for MQSC commands" and "for PCF commands").

Objects without authorities of their own, such as rules and connections, need those on the queue manager.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from ostler.command.admin.context import NOT_AUTHORIZED, CommandContext, CommandRefused
from ostler.engine.core import Engine
from ostler.engine.pubsub.topic_tree import BASE_TOPIC, TopicNode
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.authorities import CHG, CLR, CRT, CTRL, CTRLX, DLT, DSP, GET, words_of

_TYPES: Final = {
    ObjectType.QLOCAL: mq.MQOT_Q,
    ObjectType.QALIAS: mq.MQOT_Q,
    ObjectType.QREMOTE: mq.MQOT_Q,
    ObjectType.QMODEL: mq.MQOT_Q,
    ObjectType.QSTATUS: mq.MQOT_Q,
    ObjectType.CHANNEL: mq.MQOT_CHANNEL,
    ObjectType.CHSTATUS: mq.MQOT_CHANNEL,
    ObjectType.CLNTCONN: mq.MQOT_CLNTCONN_CHANNEL,
    ObjectType.LISTENER: mq.MQOT_LISTENER,
    ObjectType.LSSTATUS: mq.MQOT_LISTENER,
    ObjectType.SERVICE: mq.MQOT_SERVICE,
    ObjectType.SVSTATUS: mq.MQOT_SERVICE,
    ObjectType.PROCESS: mq.MQOT_PROCESS,
    ObjectType.NAMELIST: mq.MQOT_NAMELIST,
    ObjectType.TOPIC: mq.MQOT_TOPIC,
    ObjectType.TPSTATUS: mq.MQOT_TOPIC,
    ObjectType.AUTHINFO: mq.MQOT_AUTH_INFO,
    ObjectType.COMMINFO: mq.MQOT_COMM_INFO,
}
# The authority a verb needs on the object it names. REPLACE is DEFINE of an existing object.
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
# The authority a verb needs on the queue manager; CHG for the others.
_MANAGER: Final = {"DISPLAY": DSP, "PING": 0, "START": CTRL}
_RESET_STATISTICS: Final = DSP | CHG


def mqot(kind: ObjectType) -> int:
    """Returns the MQOT number of the type whose authorities apply to a kind of object."""
    return _TYPES.get(kind, mq.MQOT_Q_MGR)


def needed_authorities(verb: str, kind: ObjectType) -> int:
    """Returns the authorities that a verb needs on the object it names; 0 for none.

    DEFINE is for a new object, REPLACE for an existing one.
    """
    object_type = mqot(kind)
    if object_type == mq.MQOT_Q_MGR:
        return _MANAGER.get(verb, CHG)
    if verb == "RESET" and object_type == mq.MQOT_Q:
        return _RESET_STATISTICS
    return _OBJECT.get(verb, CHG)


def authorize(context: CommandContext, verb: str, kind: ObjectType, name: str) -> None:
    """Raises CommandRefused if the user lacks the authority that a verb needs on an object."""
    mask = needed_authorities(verb, kind)
    if mask:
        context.authorize(mqot(kind), name, mask)


def authorize_define(context: CommandContext, kind: ObjectType, name: str, exists: bool, like: str) -> None:
    """Raises CommandRefused if the user lacks the authorities of DEFINE, with DSP on the LIKE or default object."""
    authorize(context, "REPLACE" if exists else "DEFINE", kind, name)
    if like and mqot(kind) != mq.MQOT_Q_MGR:
        context.authorize(mqot(kind), like, DSP)


def may_see(context: CommandContext, kind: ObjectType, name: str) -> bool:
    """Returns whether DISPLAY shows an object to the user."""
    return context.is_authorized(mqot(kind), name, DSP)


def authorize_topic(context: CommandContext, topic: str, mask: int) -> None:
    """Raises CommandRefused unless a topic object at or above a topic gives the user all of the authorities."""
    names = context.query(partial(_topic_objects_above, topic))
    if not any(context.is_authorized(mq.MQOT_TOPIC, name, mask) for name in names):
        raise CommandRefused(
            NOT_AUTHORIZED,
            f"User {context.user} is not authorized: {','.join(words_of(mask))} on topic {topic[:256]} is needed, from "
            f"{names[0]} or an object above it.",
        )


def _topic_objects_above(topic: str, engine: Engine) -> list[str]:
    names: list[str] = []
    node: TopicNode | None = engine.topics.nearest(topic)
    while node is not None:
        if node.definition is not None:
            names.append(node.definition.name)
        node = node.parent
    return names or [BASE_TOPIC]
