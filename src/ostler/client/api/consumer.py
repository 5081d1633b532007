"""Threads that consume a queue. What is done with each message is told in `handling`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ostler.client.aio.async_connection import AsyncConnection
from ostler.client.aio.async_queue import AsyncQueue
from ostler.client.api.consumer_loop import Tally, log, open_own, step
from ostler.client.api.message import Message
from ostler.client.session.runtime import run
from ostler.client.session.session import GetOptions
from ostler.model.constants import (
    MQRC_CONNECTION_BROKEN,
    MQRC_CONNECTION_QUIESCING,
    MQRC_CONNECTION_STOPPING,
    MQRC_Q_MGR_QUIESCING,
    MQRC_Q_MGR_STOPPING,
)
from ostler.model.errors import MQError

if TYPE_CHECKING:
    from ostler.client.api.connection import Connection
    from ostler.client.api.queue import Queue

Handler = Callable[[Message, "Connection"], object]

_ENDINGS = (
    MQRC_CONNECTION_BROKEN,
    MQRC_CONNECTION_QUIESCING,
    MQRC_CONNECTION_STOPPING,
    MQRC_Q_MGR_QUIESCING,
    MQRC_Q_MGR_STOPPING,
)


class Consumer:
    """Hands messages to a handler until it is stopped, or the queue manager ends. A context manager that stops it.

    Every thread has a connection of its own, which it gives to the handler: what that puts through it is committed with
    the message. `error` is what made it end before its time.
    """

    def __init__(self, queue: Queue, handler: Handler, asked: GetOptions, threads: int = 1) -> None:
        self._workers = [_Worker(queue.inner, handler, asked, number) for number in range(threads)]

    def __enter__(self) -> Consumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Open the queue on all connections, then begin. When one cannot, none does."""
        opened: list[_Worker] = []
        try:
            for worker in self._workers:
                worker.open()
                opened.append(worker)
        except BaseException:
            for worker in opened:
                worker.close()
            raise
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        """Let the messages under way be finished, and end."""
        for worker in self._workers:
            worker.ask_to_stop()
        self.join()

    def join(self, seconds: float | None = None) -> bool:
        """Wait until it has ended. False: the time is up."""
        for worker in self._workers:
            worker.join(seconds)
        return not self.is_running

    @property
    def is_running(self) -> bool:
        return any(worker.is_alive() for worker in self._workers)

    @property
    def handled(self) -> int:
        """Messages that were handled and committed."""
        return sum(worker.tally.handled for worker in self._workers)

    @property
    def failed(self) -> int:
        """How often a handler failed and its message was backed out."""
        return sum(worker.tally.failed for worker in self._workers)

    @property
    def moved(self) -> int:
        """Poison messages moved out of the way."""
        return sum(worker.tally.moved for worker in self._workers)

    @property
    def error(self) -> BaseException | None:
        """What ended it, when nobody asked it to end."""
        return next((worker.error for worker in self._workers if worker.error is not None), None)


class _Worker(threading.Thread):
    """A daemon: a program that ends does not wait for messages that never come."""

    def __init__(self, queue: AsyncQueue, handler: Handler, asked: GetOptions, number: int) -> None:
        super().__init__(name=f"ostler-consumer-{queue.name}-{number}", daemon=True)
        self._queue = queue
        self._handler = handler
        self._asked = asked
        self._own: AsyncQueue | None = None
        self._stopping = False
        self.tally = Tally()
        self.error: BaseException | None = None

    def open(self) -> None:
        self._own = run(open_own(self._queue))

    def close(self) -> None:
        if self._own is not None:
            run(self._own.connection.close(commit=False))

    def run(self) -> None:
        own = self._own
        assert own is not None
        from ostler.client.api.connection import Connection

        connection = Connection(own.connection)

        async def handle(message: Message, _: AsyncConnection) -> None:
            self._handler(message, connection)

        try:
            while not self._stopping:
                run(step(own, handle, self._asked, self.tally))
        except BaseException as error:
            self._note(error)
        finally:
            self.close()

    def _note(self, error: BaseException) -> None:
        if isinstance(error, MQError) and error.reason in _ENDINGS:
            return
        self.error = error
        log.error("Consuming queue %s has ended: %s", self._queue.name, error)

    def ask_to_stop(self) -> None:
        self._stopping = True
        if self._own is not None:
            self._own.connection.session.interrupt()
