"""Rejects changes that affect applications that have an object open, some of them unless FORCE is given."""

from __future__ import annotations

from typing import Final

from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

# The attributes that decide where an alias or remote definition leads.
_ROUTING_ATTRIBUTES: Final = {
    ObjectType.QALIAS: ("TARGET", "TARGTYPE"),
    ObjectType.QREMOTE: ("RNAME", "RQMNAME", "XMITQ"),
}


def check_not_in_use(engine: Engine, existing: Definition, changes: dict[str, Value]) -> None:
    """Raises MQError (MQRC_OBJECT_IN_USE) for a change that needs FORCE."""
    kind = existing.object_type
    changed = {name for name, value in changes.items() if existing.attributes.get(name) != value}
    if kind == ObjectType.QLOCAL:
        queue = engine.queues[existing.name]
        if "SHARE" in changed and queue.inputs > 0:
            raise _in_use(existing.name, "is open for input")
        if "USAGE" in changed and (queue.handles or queue.depth > 0):
            raise _in_use(existing.name, "is open or holds messages")
    elif changed.intersection(_ROUTING_ATTRIBUTES.get(kind, ())) and _is_on_open_path(engine, existing):
        raise _in_use(existing.name, "is open")


def _in_use(name: str, why: str) -> MQError:
    return MQError(mq.MQRC_OBJECT_IN_USE, f"The queue {name} {why}. Close it first, or use FORCE.")


def _is_on_open_path(engine: Engine, definition: Definition) -> bool:
    """Returns whether a handle was opened through this definition."""
    for connection in engine.connections.values():
        for handle in connection.handles.values():
            for each in handle.definitions_on_path:
                if each.name == definition.name and each.object_type == definition.object_type:
                    return True
    return False


def check_not_open(engine: Engine, topic_object: str) -> None:
    """Raises MQError (MQRC_OBJECT_IN_USE) if a topic object is open for publishing."""
    for connection in engine.connections.values():
        for handle in connection.handles.values():
            if handle.topic is not None and handle.object_name == topic_object:
                raise MQError(mq.MQRC_OBJECT_IN_USE, f"The topic object {topic_object} is open. Close it first.")
