"""The registry of queue managers that run in this process, by name, for MQCONN."""

from __future__ import annotations

import threading
from functools import partial
from typing import Final

from ostler.model import constants as mq
from ostler.model.attributes import valid_name
from ostler.model.errors import MQError
from ostler.server.queue_manager import QueueManager

_lock: Final = threading.Lock()
_running: Final[dict[str, QueueManager]] = {}
_known: Final[set[str]] = set()  # names that ran in this process, to tell "ended" from "unknown"
_default: Final[list[str]] = [""]


def register(manager: QueueManager) -> None:
    """Register a started queue manager under its name, until it ends."""
    with _lock:
        _running[manager.name] = manager
        _known.add(manager.name)
    manager.on_end.append(partial(unregister, manager))


def set_default(name: str) -> None:
    """Set the queue manager that a blank name means; empty: the only one that runs."""
    with _lock:
        _default[0] = name


def unregister(manager: QueueManager) -> None:
    """Remove a queue manager from the registry. This happens by itself when it ends."""
    with _lock:
        if _running.get(manager.name) is manager:
            del _running[manager.name]


def running_managers() -> list[QueueManager]:
    """Return all registered queue managers."""
    with _lock:
        return list(_running.values())


def find(name: str) -> QueueManager:
    """Return the queue manager of a name; blank means the default, or the only one. Raises MQError if there is none."""
    with _lock:
        if not name:
            return _default_manager()
        manager = _running.get(name)
        if manager is not None:
            return manager
        if not valid_name(name) or name not in _known:
            raise MQError(mq.MQRC_Q_MGR_NAME_ERROR, f"No queue manager {name[:48]!r} is known in this process.")
        raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, f"Queue manager {name} is not running.")


def _default_manager() -> QueueManager:
    chosen = _default[0]
    if chosen:
        manager = _running.get(chosen)
        if manager is None:
            raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, f"The default queue manager {chosen} is not running.")
        return manager
    if len(_running) == 1:
        return next(iter(_running.values()))
    raise MQError(mq.MQRC_Q_MGR_NAME_ERROR, "The name is blank, and no queue manager is the default one.")
