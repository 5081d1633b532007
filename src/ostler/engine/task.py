"""Work that takes long, cut into slices of counted cost: ends of large units of work, retained publications, freeing.

The engine's owner continues tasks between other work (`get.resume_work`), as it continues long scans of queues.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from ostler.model import constants as mq
from ostler.model.errors import MQError


class EngineTask(metaclass=ABCMeta):
    """A task begun by a verb. `signal` is woken when it is done; nobody waits for a task without one."""

    def __init__(self) -> None:
        self.is_done = False
        self.is_abandoned = False  # the queue manager has failed, and nothing is done any more
        self.signal: object = None  # a request for `Engine.woken`

    def check(self) -> None:
        """Raise MQError if it was abandoned. Then nothing is acknowledged."""
        if self.is_abandoned:
            raise MQError(mq.MQRC_CONNECTION_BROKEN)

    @abstractmethod
    def step(self) -> bool:
        """Go on within `Engine.work_left`. Returns True at the end. ReadPending: a message must be read first."""
