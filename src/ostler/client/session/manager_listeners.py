"""Who is to be told when a queue manager of this process ends, in good order or not."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary, WeakSet

from ostler.server.queue_manager import QueueManager


class Follower(ABC):
    @abstractmethod
    def manager_ended(self) -> None:
        """The queue manager is gone, perhaps without a word to anybody."""


_lock: Final = threading.Lock()
_followers: Final[WeakKeyDictionary[QueueManager, WeakSet[Follower]]] = WeakKeyDictionary()


def follow(manager: QueueManager, follower: Follower) -> None:
    """Have somebody told of the end, who is not kept alive by that."""
    with _lock:
        followers = _followers.get(manager)
        if followers is None:
            followers = WeakSet()
            _followers[manager] = followers
            manager.on_end.append(partial(_tell, followers))
        followers.add(follower)


def _tell(followers: WeakSet[Follower]) -> None:
    with _lock:
        told = list(followers)
    for follower in told:
        follower.manager_ended()
