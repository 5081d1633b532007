"""Name resolution: finds the local queue for an object name and queue manager name (MQOPEN, queue name resolution)."""

from __future__ import annotations

from typing import final

from ostler.engine.core import Engine
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.transmission import IGQ_QUEUE
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.errors import MQError


@final
class Resolved:
    """A resolved name. For another queue manager, `queue` is the transmission queue and the remote names are set."""

    def __init__(self) -> None:
        self.queue: Queue | None = None
        self.model: Definition | None = None
        self.path: list[Definition] = []  # definitions used: alias, remote
        self.queue_name: str = ""  # ResolvedQName
        self.manager_name: str = ""
        self.remote_queue: str = ""
        self.remote_manager: str = ""


def resolve(engine: Engine, name: str, manager_name: str) -> Resolved:
    """Resolve a queue name. Raises MQError when it cannot be resolved."""
    found = Resolved()
    sharing = engine.sharing
    is_group: bool = sharing is not None and manager_name == sharing.group  # any member will do, so this one does
    if manager_name == "" or manager_name == engine.name or is_group:
        _resolve_local(engine, name, found, 0)
    else:
        _resolve_at_manager(engine, name, manager_name, found)
    return found


def _resolve_local(engine: Engine, name: str, found: Resolved, depth: int) -> None:
    queue = engine.queues.get(name)
    if queue is not None:
        found.queue = queue
        found.queue_name = name
        found.manager_name = engine.name
        return
    alias = engine.of_type(ObjectType.QALIAS).get(name)
    if alias is not None and depth == 0:
        _resolve_alias(engine, alias, found)
        return
    remote = engine.of_type(ObjectType.QREMOTE).get(name)
    if remote is not None:
        _resolve_remote_definition(engine, remote, found)
        return
    model = engine.of_type(ObjectType.QMODEL).get(name)
    if model is not None and depth == 0:
        found.model = model
        return
    if depth == 0:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no queue {name} on queue manager {engine.name}.")
    if alias is not None or model is not None:
        raise MQError(
            mq.MQRC_ALIAS_BASE_Q_TYPE_ERROR, f"The alias leads to {name}, which is an alias or a model queue."
        )
    raise MQError(mq.MQRC_UNKNOWN_ALIAS_BASE_Q, f"The alias leads to {name}, which does not exist.")


def _resolve_alias(engine: Engine, alias: Definition, found: Resolved) -> None:
    found.path.append(alias)
    if alias.attributes.get("TARGTYPE") == mq.MQOT_TOPIC:
        raise MQError(
            mq.MQRC_OBJECT_TYPE_ERROR, f"The alias {alias.name} leads to a topic, which cannot be opened here."
        )
    _resolve_local(engine, _text(alias, "TARGET"), found, 1)


def _resolve_remote_definition(engine: Engine, remote: Definition, found: Resolved) -> None:
    """Resolve a local definition of a remote queue."""
    found.path.append(remote)
    remote_queue = _text(remote, "RNAME")
    remote_manager = _text(remote, "RQMNAME")
    if remote_queue == "":
        raise MQError(mq.MQRC_REMOTE_Q_NAME_ERROR, f"The remote definition {remote.name} names no remote queue.")
    if remote_manager == "" or remote_manager == engine.name:
        raise MQError(
            mq.MQRC_UNKNOWN_REMOTE_Q_MGR, f"The remote definition {remote.name} names no other queue manager."
        )
    _resolve_route(engine, remote_queue, remote_manager, _text(remote, "XMITQ"), found)


def _resolve_at_manager(engine: Engine, name: str, manager_name: str, found: Resolved) -> None:
    """Resolve a queue of a named queue manager, which may be a queue manager alias or a transmission queue."""
    if name == "":
        raise MQError(mq.MQRC_REMOTE_Q_NAME_ERROR, f"No queue of {manager_name} is named.")
    alias = engine.of_type(ObjectType.QREMOTE).get(manager_name)
    if manager_name in engine.of_type(ObjectType.QMODEL) or (alias is not None and _text(alias, "RNAME") != ""):
        raise MQError(mq.MQRC_UNKNOWN_REMOTE_Q_MGR, f"{manager_name} is a queue, not an alias of a queue manager.")
    if alias is not None:
        found.path.append(alias)
        real_manager = _text(alias, "RQMNAME")
        if real_manager == "" or real_manager == engine.name:
            _resolve_local(engine, name, found, 0)
            return
        _resolve_route(engine, name, real_manager, _text(alias, "XMITQ"), found)
        return
    _resolve_route(engine, name, manager_name, "", found)


def _resolve_route(engine: Engine, name: str, manager_name: str, transmission_name: str, found: Resolved) -> None:
    found.queue_name = name
    found.manager_name = manager_name
    found.remote_queue = name
    found.remote_manager = manager_name
    intra_group = _intra_group_queue(engine, manager_name)
    if intra_group is not None:
        found.queue = intra_group
        return
    if transmission_name:
        found.queue = _transmission_queue(
            engine, transmission_name, mq.MQRC_UNKNOWN_XMIT_Q, mq.MQRC_XMIT_Q_TYPE_ERROR, mq.MQRC_XMIT_Q_USAGE_ERROR
        )
        return
    if manager_name in engine.queues or (found.path and _is_queue_of_other_type(engine, manager_name)):
        found.queue = _transmission_queue(
            engine, manager_name, mq.MQRC_UNKNOWN_XMIT_Q, mq.MQRC_XMIT_Q_TYPE_ERROR, mq.MQRC_XMIT_Q_USAGE_ERROR
        )
        return
    if engine.default_transmission_queue:
        found.queue = _transmission_queue(
            engine,
            engine.default_transmission_queue,
            mq.MQRC_UNKNOWN_DEF_XMIT_Q,
            mq.MQRC_DEF_XMIT_Q_TYPE_ERROR,
            mq.MQRC_DEF_XMIT_Q_USAGE_ERROR,
        )
        return
    raise MQError(
        mq.MQRC_UNKNOWN_REMOTE_Q_MGR,
        f"No transmission queue leads to {manager_name}, and there is no default transmission queue.",
    )


def _intra_group_queue(engine: Engine, manager_name: str) -> Queue | None:
    """Return the transmission queue of the queue-sharing group if IGQ(ENABLED) leads there, or None."""
    sharing = engine.sharing
    if sharing is None or not engine.has_intra_group_queuing or manager_name not in sharing.manager_names:
        return None
    queue = engine.queues.get(IGQ_QUEUE)
    return queue if queue is not None and queue.is_shared and queue.is_transmission else None


def _transmission_queue(engine: Engine, name: str, unknown: int, wrong_type: int, wrong_usage: int) -> Queue:
    queue = engine.queues.get(name)
    if queue is None:
        if _is_queue_of_other_type(engine, name):
            raise MQError(wrong_type, f"{name} is not a local queue, so it cannot be a transmission queue.")
        raise MQError(unknown, f"The transmission queue {name} does not exist.")
    if not queue.is_transmission:
        raise MQError(wrong_usage, f"The queue {name} has USAGE(NORMAL); a transmission queue has USAGE(XMITQ).")
    return queue


def _is_queue_of_other_type(engine: Engine, name: str) -> bool:
    """Return True for the name of an alias, a remote definition or a model queue."""
    for object_type in (ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL):
        if name in engine.of_type(object_type):
            return True
    return False


def _text(definition: Definition, name: str) -> str:
    value = definition.attributes.get(name, "")
    return value if isinstance(value, str) else ""
