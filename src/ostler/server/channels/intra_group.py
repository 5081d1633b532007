"""The intra-group queuing agent of a queue manager, on the reactor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy_extensions import i64

from ostler.channel.intra_group_agent import IntraGroupAgent, IntraGroupPort
from ostler.engine.connection import Connection
from ostler.server.channels.instance import RetryTimer
from ostler.server.net.reactor import Reactor
from ostler.server.queue_manager import QueueManager

_NAME: Final = "IGQ.AGENT"


class IntraGroupService(IntraGroupPort):
    """Runs while the queue manager does. `begin` and `stop` are called on the reactor's thread, under the lock."""

    def __init__(self, manager: QueueManager, reactor: Reactor, connect_as: Callable[[str, str], Connection]) -> None:
        self._manager = manager
        self._reactor = reactor
        self._connect_as = connect_as
        self._timer: RetryTimer | None = None
        self._is_posted = False
        self.agent = IntraGroupAgent(manager.engine, self)
        self.agent.waker = self._ring

    def begin(self) -> None:
        self.agent.begin()

    def stop(self) -> None:
        self._cancel_timer()
        self.agent.stop()

    def _ring(self) -> None:
        """Have the reactor continue, from any thread."""
        if not self._is_posted:
            self._is_posted = True
            self._reactor.post(self._pump)

    def _pump(self) -> None:
        self._is_posted = False
        self.agent.pump()

    # -- the port ------------------------------------------------------------------------------------------------------

    def connect(self, user: str) -> Connection:
        return self._connect_as(user, _NAME)

    def release(self, connection: Connection) -> None:
        if self._manager.running:
            self._manager.release(connection, False)

    def set_timer(self, milliseconds: i64) -> None:
        self._cancel_timer()
        self._timer = RetryTimer(self._due)
        self._reactor.wheel.add(self._timer, self._reactor.now_ms + milliseconds)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._reactor.wheel.remove(self._timer)
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        if not self._manager.is_ending():
            self.agent.on_timer()

    def note(self, text: str) -> None:
        self._manager.note(text)
