"""Open queues for threads: the verbs of `async_queue`, blocking."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from ostler.client.aio.async_queue import AsyncBrowser, AsyncQueue
from ostler.client.api.get_options import normalize_options
from ostler.client.api.message import Message, MessageFields
from ostler.client.session.runtime import run
from ostler.client.session.session import GetOptions
from ostler.model.attributes import Value

if TYPE_CHECKING:
    from ostler.client.api.connection import Connection
    from ostler.client.api.consumer import Consumer, Handler


class Queue:
    """An open queue. Close it, or use it in a `with` block. Threads may share it."""

    def __init__(self, connection: Connection, inner: AsyncQueue) -> None:
        self.connection = connection
        self.inner = inner

    def __enter__(self) -> Queue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<queue {self.name} of {self.connection.name}>"

    @property
    def name(self) -> str:
        """The name it was opened by; for a dynamic queue the name it was created with."""
        return self.inner.name

    @property
    def hobj(self) -> int:
        """The object handle, for the raw verbs of `ostler.mqi`."""
        return self.inner.hobj

    @property
    def depth(self) -> int:
        """The number of messages on the queue, uncommitted ones included."""
        return run(self.inner.depth())

    def inquire(self, name: str) -> Value | None:
        """Return an attribute by its MQSC name: an integer, or MQSC's keyword for it."""
        return run(self.inner.inquire(name))

    def put(
        self,
        body: Message | bytes | str,
        *,
        syncpoint: bool | None = None,
        options: int = 0,
        **fields: Unpack[MessageFields],
    ) -> Message:
        """Put a message. Returns the message as stored, with its message identifier.

        Outside syncpoint a persistent message is durable on return. `options` are further MQPMO options.
        """
        return run(self.inner.put(body, syncpoint=syncpoint, options=options, **fields))

    def get(self, **asked: Unpack[GetOptions]) -> Message | None:
        """Get a message; None when there is none, or none arrived in time. See `GetOptions`.

        A waiting get blocks no other thread, not even one that uses the same queue. Closing the queue ends the wait.
        """
        return run(self.inner.get(**asked))

    def messages(self, **asked: Unpack[GetOptions]) -> Iterator[Message]:
        """Get messages until there are no more, or none arrives within the wait."""
        return self._messages(normalize_options(asked))

    def _messages(self, asked: GetOptions) -> Iterator[Message]:
        message = self.get(**asked)
        while message is not None:
            yield message
            message = self.get(**asked)

    def __iter__(self) -> Iterator[Message]:
        return self.messages()

    def browse(self, **asked: Unpack[GetOptions]) -> Browser:
        """Browse the messages, from the first on."""
        return Browser(self.inner.browse(**asked))

    def consume(self, handler: Handler, *, threads: int = 1, **asked: Unpack[GetOptions]) -> Consumer:
        """Call `handler(message, connection)` for every message, on other threads. See `consumer_loop`."""
        from ostler.client.api.consumer import Consumer

        consumer = Consumer(self, handler, normalize_options(asked, for_consumers=True), threads)
        consumer.start()
        return consumer

    def close(self, delete: bool = False, purge: bool = False) -> None:
        """Close the queue. This deletes a temporary dynamic queue, and a permanent one with `delete` or `purge`."""
        run(self.inner.close(delete, purge))


class Browser:
    """Iterates over the messages of a queue with a browse cursor of its own."""

    def __init__(self, inner: AsyncBrowser) -> None:
        self._inner = inner

    def next(self) -> Message | None:
        """Return the next message; None after the last one."""
        return run(self._inner.next())

    def close(self) -> None:
        run(self._inner.close())

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Message]:
        try:
            message = self.next()
            while message is not None:
                yield message
                message = self.next()
        finally:
            self.close()
