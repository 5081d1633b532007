"""Open topics and subscriptions for threads: the verbs of `async_topic`, blocking."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from ostler.client.aio.async_topic import AsyncSubscription, AsyncTopic
from ostler.client.api.message import Message, MessageFields
from ostler.client.api.queue import Queue
from ostler.client.session.runtime import run
from ostler.client.session.session import GetOptions
from ostler.wire.subscribe_frames import LEVEL_HIGHEST

if TYPE_CHECKING:
    from ostler.client.api.connection import Connection
    from ostler.client.api.consumer import Consumer, Handler


class Topic:
    """A topic that is open for publishing. Close it, or use it in a `with` block. Threads may share it."""

    def __init__(self, connection: Connection, inner: AsyncTopic) -> None:
        self.connection = connection
        self.inner = inner

    def __enter__(self) -> Topic:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<topic {self.topic} of {self.connection.name}>"

    @property
    def topic(self) -> str:
        """The full topic string: that of the topic object, and the string given to `topic`."""
        return self.inner.topic

    @property
    def hobj(self) -> int:
        """The object handle, for the raw verbs of `ostler.mqi`."""
        return self.inner.hobj

    def publish(
        self,
        body: Message | bytes | str,
        *,
        retain: bool = False,
        level: int = LEVEL_HIGHEST,
        syncpoint: bool | None = None,
        options: int = 0,
        **fields: Unpack[MessageFields],
    ) -> Message:
        """Publish a message. Returns the message as published.

        `retain` makes it the retained publication of the topic. `level` is the highest level of subscriptions that
        receive it. `options` are further MQPMO options.
        """
        return run(self.inner.publish(body, retain=retain, level=level, syncpoint=syncpoint, options=options, **fields))

    def close(self) -> None:
        run(self.inner.close())


class Subscription:
    """A subscription. Close it, or use it in a `with` block; a durable one remains and can be resumed.

    Threads may share it: each publication goes to one of them.
    """

    def __init__(self, connection: Connection, inner: AsyncSubscription) -> None:
        self.connection = connection
        self.inner = inner

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<subscription {self.name or 'without a name'} to {self.topic} of {self.connection.name}>"

    @property
    def topic(self) -> str:
        """The full topic string, with its wildcards."""
        return self.inner.topic

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def user_data(self) -> str:
        return self.inner.user_data

    @property
    def correlation_id(self) -> bytes:
        """The correlation identifier of all publications of the subscription."""
        return self.inner.correlation_id

    @property
    def is_durable(self) -> bool:
        return self.inner.is_durable

    @property
    def hsub(self) -> int:
        """The subscription handle, for the raw verbs of `ostler.mqi`."""
        return self.inner.hsub

    @property
    def queue(self) -> Queue:
        """The destination queue. Raises MQError when it is not open on this connection."""
        return Queue(self.connection, self.inner.queue)

    def get(self, **asked: Unpack[GetOptions]) -> Message | None:
        """Get a publication; None when there is none, or none arrived in time. See `GetOptions`."""
        return run(self.inner.get(**asked))

    def messages(self, **asked: Unpack[GetOptions]) -> Iterator[Message]:
        """Get publications until there are no more, or none arrives within the wait."""
        return self.queue.messages(**asked)

    def __iter__(self) -> Iterator[Message]:
        """Get publications as they arrive, for ever."""
        return self.queue.messages(wait=None)

    def consume(self, handler: Handler, *, threads: int = 1, **asked: Unpack[GetOptions]) -> Consumer:
        """Call `handler(message, connection)` for every publication, on other threads. See `consumer_loop`."""
        return self.queue.consume(handler, threads=threads, **asked)

    def request(self) -> int:
        """Request the retained publications of the subscription (MQSUBRQ). Returns their number."""
        return run(self.inner.request())

    def close(self, remove: bool = False) -> None:
        """Close the subscription. This ends a nondurable subscription, and a durable one with `remove`."""
        run(self.inner.close(remove))
