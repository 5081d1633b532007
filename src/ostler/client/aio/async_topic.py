"""Open topics and subscriptions for tasks. `ostler.client.api.topic` has the blocking ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Unpack

from ostler.client.aio.async_queue import AsyncQueue, put_options, put_parts
from ostler.client.api.message import Message, MessageFields, as_message, unpack_message
from ostler.client.api.subscribe_options import SubscribeOptions, check_name, check_text, subscribe_arguments
from ostler.client.session.session import GetOptions, OpenQueue, OpenSubscription
from ostler.engine.open import OpenRequest
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.subscribe_frames import LEVEL_HIGHEST, TOPIC_BYTES_MAX

if TYPE_CHECKING:
    from ostler.client.aio.async_connection import AsyncConnection
    from ostler.client.api.consumer_loop import AsyncHandler

_FOR_EVER: Final[GetOptions] = {"wait": None}


def topic_request(topic: str, object_name: str, options: int) -> OpenRequest:
    request = OpenRequest(mq.MQOT_TOPIC, check_name(object_name), options)
    request.topic_string = check_text(topic, TOPIC_BYTES_MAX, mq.MQRC_OBJECT_STRING_ERROR, "topic")
    return request


async def publish_once(
    connection: AsyncConnection,
    topic: str,
    body: Message | bytes | str,
    object_name: str,
    retain: bool,
    level: int,
    syncpoint: bool | None,
    options: int,
    fields: MessageFields,
) -> Message:
    """Publish to a topic that is not open, as MQPUT1 does."""
    session = connection.session
    message = as_message(body, fields)
    md, property_block, data = put_parts(message)
    request = topic_request(topic, object_name, 0)
    flags = put_options(session, syncpoint, options | (mq.MQPMO_RETAIN if retain else 0))
    done = await session.put1(request, md, flags, property_block, data, level=level)
    return unpack_message(done.md, data, dict(message.properties), done.warning)


async def open_topic(connection: AsyncConnection, topic: str, object_name: str, options: int) -> AsyncTopic:
    request = topic_request(topic, object_name, mq.MQOO_OUTPUT | mq.MQOO_FAIL_IF_QUIESCING | options)
    return AsyncTopic(connection, await connection.session.open(request))


async def subscribe(connection: AsyncConnection, topic: str, wanted: SubscribeOptions) -> AsyncSubscription:
    """Subscribe. A queue that is given by name is opened for the subscription and closed with it."""
    asked = subscribe_arguments(topic, wanted)
    given = wanted.get("queue")
    own = await connection.open(given, "r") if isinstance(given, str) else None
    queue: AsyncQueue | None
    if isinstance(given, str):
        queue = own
    elif given is None or isinstance(given, AsyncQueue):
        queue = given
    else:
        queue = given.inner
    if queue is not None and queue.connection.session is not connection.session:
        raise MQError(mq.MQRC_HOBJ_ERROR, f"{queue.name} is open on another connection.")
    try:
        made = await connection.session.subscribe(asked, queue.handle if queue is not None else None)
    except BaseException:
        if own is not None:
            await own.close()
        raise
    return AsyncSubscription(connection, made, queue, own)


class AsyncTopic:
    """A topic that is open for publishing. Close it, or use it in an `async with` block."""

    def __init__(self, connection: AsyncConnection, handle: OpenQueue) -> None:
        self.connection = connection
        self.handle = handle
        self._session = connection.session

    async def __aenter__(self) -> AsyncTopic:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def topic(self) -> str:
        """The full topic string: that of the topic object, and the string given to `topic`."""
        return self.handle.topic

    @property
    def hobj(self) -> int:
        """The object handle, for the raw verbs of `ostler.mqi`."""
        return self.handle.number

    async def publish(
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
        message = as_message(body, fields)
        md, property_block, data = put_parts(message)
        flags = put_options(self._session, syncpoint, options | (mq.MQPMO_RETAIN if retain else 0))
        done = await self.handle.put(md, flags, property_block, data, level)
        return unpack_message(done.md, data, dict(message.properties), done.warning)

    async def close(self) -> None:
        await self.handle.close()


class AsyncSubscription:
    """A subscription. Close it, or use it in an `async with` block; a durable one remains and can be resumed."""

    def __init__(
        self, connection: AsyncConnection, handle: OpenSubscription, queue: AsyncQueue | None, own: AsyncQueue | None
    ) -> None:
        self.connection = connection
        self.handle = handle
        managed = handle.destination
        self._own = own  # closed with the subscription
        if managed is not None:
            self._own = queue = AsyncQueue(connection, managed)
        self._queue = queue

    async def __aenter__(self) -> AsyncSubscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def topic(self) -> str:
        """The full topic string, with its wildcards."""
        return self.handle.described.topic

    @property
    def name(self) -> str:
        return self.handle.described.name

    @property
    def user_data(self) -> str:
        return self.handle.described.user_data

    @property
    def correlation_id(self) -> bytes:
        """The correlation identifier of all publications of the subscription."""
        return self.handle.described.correlation_id

    @property
    def is_durable(self) -> bool:
        return bool(self.handle.described.options & mq.MQSO_DURABLE)

    @property
    def hsub(self) -> int:
        """The subscription handle, for the raw verbs of `ostler.mqi`."""
        return self.handle.number

    @property
    def queue(self) -> AsyncQueue:
        """The destination queue. Raises MQError when it is not open on this connection."""
        if self._queue is None:
            raise MQError(
                mq.MQRC_HOBJ_ERROR, "The destination queue of the subscription is not open on this connection."
            )
        return self._queue

    async def get(self, **asked: Unpack[GetOptions]) -> Message | None:
        """Get a publication; None when there is none, or none arrived in time. See `GetOptions`."""
        return await self.queue.get(**asked)

    def messages(self, **asked: Unpack[GetOptions]) -> AsyncIterator[Message]:
        """Get publications until there are no more, or none arrives within the wait."""
        return self.queue.messages(**asked)

    def __aiter__(self) -> AsyncIterator[Message]:
        """Get publications as they arrive, for ever."""
        return self.queue.messages(**_FOR_EVER)

    async def consume(self, handler: AsyncHandler, **asked: Unpack[GetOptions]) -> None:
        """Call `await handler(message, connection)` for every publication, until cancelled. See `consumer_loop`."""
        await self.queue.consume(handler, **asked)

    async def request(self) -> int:
        """Request the retained publications of the subscription (MQSUBRQ). Returns their number."""
        try:
            return await self.handle.request(mq.MQSR_ACTION_PUBLICATION, mq.MQSRO_FAIL_IF_QUIESCING)
        except MQError as error:
            if error.reason == mq.MQRC_NO_RETAINED_MSG:
                return 0
            raise

    async def close(self, remove: bool = False) -> None:
        """Close the subscription. This ends a nondurable subscription, and a durable one with `remove`."""
        try:
            await self.handle.close(mq.MQCO_REMOVE_SUB if remove else 0)
        finally:
            if self._own is not None:
                await self._own.close()
