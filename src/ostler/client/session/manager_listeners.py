"""Listeners for the end of a queue manager of this process, orderly or not."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary, WeakSet

from ostler.server.queue_manager import QueueManager


class EndListener(ABC):
    @abstractmethod
    def on_manager_ended(self) -> None:
        """The queue manager has ended, perhaps without notice."""


_lock: Final = threading.Lock()
_listeners: Final[WeakKeyDictionary[QueueManager, WeakSet[EndListener]]] = WeakKeyDictionary()


def listen_for_end(manager: QueueManager, listener: EndListener) -> None:
    """Notify a listener when the queue manager ends. The registration does not keep the listener alive."""
    with _lock:
        listeners = _listeners.get(manager)
        if listeners is None:
            listeners = WeakSet()
            _listeners[manager] = listeners
            manager.on_end.append(partial(_notify, listeners))
        listeners.add(listener)


def _notify(listeners: WeakSet[EndListener]) -> None:
    with _lock:
        notified = list(listeners)
    for listener in notified:
        listener.on_manager_ended()
