"""Consumers: threads that hand the messages of a queue to a handler. `consumer_loop` describes the units of work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ostler.client.aio.async_connection import AsyncConnection
from ostler.client.aio.async_queue import AsyncQueue
from ostler.client.api.consumer_loop import ConsumerCounts, consume_next, log, open_on_own_connection
from ostler.client.api.message import Message
from ostler.client.session.runtime import run
from ostler.client.session.session import GetOptions
from ostler.model import constants as mq
from ostler.model.errors import MQError

if TYPE_CHECKING:
    from ostler.client.api.connection import Connection
    from ostler.client.api.queue import Queue

Handler = Callable[[Message, "Connection"], object]

_ENDINGS = (
    mq.MQRC_CONNECTION_BROKEN,
    mq.MQRC_CONNECTION_QUIESCING,
    mq.MQRC_CONNECTION_STOPPING,
    mq.MQRC_Q_MGR_QUIESCING,
    mq.MQRC_Q_MGR_STOPPING,
)


class Consumer:
    """Hands messages to a handler until it is stopped or the queue manager ends. Leaving a `with` block stops it.

    Every thread has a connection of its own, which the handler receives: puts through it are committed together with
    the message. `error` is the error that ended the consumer, if any.
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
        """Open the queue on all connections, then start all threads. When one open fails, no thread starts."""
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
        """Stop after the messages that are being handled."""
        for worker in self._workers:
            worker.ask_to_stop()
        self.join()

    def join(self, seconds: float | None = None) -> bool:
        """Wait until all threads have ended. Returns False when the time is up."""
        for worker in self._workers:
            worker.join(seconds)
        return not self.is_running

    @property
    def is_running(self) -> bool:
        return any(worker.is_alive() for worker in self._workers)

    @property
    def handled(self) -> int:
        """Messages that were handled and committed."""
        return sum(worker.counts.handled for worker in self._workers)

    @property
    def failed(self) -> int:
        """Messages that were backed out because their handler failed."""
        return sum(worker.counts.failed for worker in self._workers)

    @property
    def moved(self) -> int:
        """Poison messages that were moved to the backout queue or the dead-letter queue, or dropped."""
        return sum(worker.counts.moved for worker in self._workers)

    @property
    def error(self) -> BaseException | None:
        """The error that ended the consumer; None when it runs, was stopped, or ended with the queue manager."""
        return next((worker.error for worker in self._workers if worker.error is not None), None)


class _Worker(threading.Thread):
    """A daemon thread, so that the end of the program does not wait for messages."""

    def __init__(self, queue: AsyncQueue, handler: Handler, asked: GetOptions, number: int) -> None:
        super().__init__(name=f"ostler-consumer-{queue.name}-{number}", daemon=True)
        self._queue = queue
        self._handler = handler
        self._asked = asked
        self._own: AsyncQueue | None = None
        self._stopping = False
        self.counts = ConsumerCounts()
        self.error: BaseException | None = None

    def open(self) -> None:
        self._own = run(open_on_own_connection(self._queue))

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
                run(consume_next(own, handle, self._asked, self.counts))
        except BaseException as error:
            self._record_error(error)
        finally:
            self.close()

    def _record_error(self, error: BaseException) -> None:
        if isinstance(error, MQError) and error.reason in _ENDINGS:
            return
        self.error = error
        log.error("Consuming queue %s has ended: %s", self._queue.name, error)

    def ask_to_stop(self) -> None:
        self._stopping = True
        if self._own is not None:
            self._own.connection.session.interrupt()
