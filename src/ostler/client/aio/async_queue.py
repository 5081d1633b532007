"""Open queues for tasks. `ostler.client.api.queue` has the blocking ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Unpack

from ostler.client.api.get_options import normalize_options, to_message
from ostler.client.api.message import Message, MessageFields, as_message, unpack_message
from ostler.client.api.property_types import property_set
from ostler.client.api.transaction import is_in_unit
from ostler.client.session.session import GetOptions, OpenQueue, Session, StoredMessage
from ostler.engine.open import OpenRequest
from ostler.engine.properties.property_control import properties_on_put
from ostler.model import constants as mq
from ostler.model.attributes import Value
from ostler.model.errors import MQError

if TYPE_CHECKING:
    from ostler.client.aio.async_connection import AsyncConnection
    from ostler.client.api.consumer_loop import AsyncHandler

_MODES: Final = {
    "r": mq.MQOO_INPUT_AS_Q_DEF,
    "s": mq.MQOO_INPUT_SHARED,
    "x": mq.MQOO_INPUT_EXCLUSIVE,
    "b": mq.MQOO_BROWSE,
    "w": mq.MQOO_OUTPUT,
}


def open_options(mode: str) -> int:
    """Return the MQOO options of a mode: r to get, or s shared or x exclusively; b to browse; w to put.

    Browsing and inquiring open the queue again, so that a mode asks for no further authority. An empty mode is for
    inquiring alone.
    """
    options = mq.MQOO_FAIL_IF_QUIESCING
    for letter in mode:
        if letter not in _MODES:
            raise MQError(mq.MQRC_OPTIONS_ERROR, f"The mode {mode!r} has a letter that is none of r, s, x, b and w.")
        options |= _MODES[letter]
    return options if mode else options | mq.MQOO_INQUIRE


def put_parts(message: Message) -> tuple[bytes, bytes, bytes]:
    """Return descriptor, property block and body of a message to be put."""
    md = message.packed()
    body = message.data
    if not message.properties:
        return md, b"", body
    return md, properties_on_put(md, body, None, property_set(message.properties), mq.MQACTP_NEW), body


def put_options(session: Session, syncpoint: bool | None, options: int) -> int:
    options |= mq.MQPMO_FAIL_IF_QUIESCING
    if options & (mq.MQPMO_SYNCPOINT | mq.MQPMO_NO_SYNCPOINT):
        return options
    return options | (mq.MQPMO_SYNCPOINT if is_in_unit(session, syncpoint) else mq.MQPMO_NO_SYNCPOINT)


class AsyncQueue:
    """An open queue. Close it, or use it in an `async with` block."""

    def __init__(self, connection: AsyncConnection, handle: OpenQueue) -> None:
        self.connection = connection
        self.handle = handle
        self._session = connection.session

    async def __aenter__(self) -> AsyncQueue:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def name(self) -> str:
        """The name it was opened by; for a dynamic queue the name it was created with."""
        return self.handle.name

    @property
    def hobj(self) -> int:
        """The object handle, for the raw verbs of `ostler.mqi`."""
        return self.handle.number

    async def depth(self) -> int:
        """Return the number of messages on the queue, uncommitted ones included."""
        return await self.handle.depth()

    async def inquire(self, name: str) -> Value | None:
        """Return an attribute by its MQSC name: an integer, or MQSC's keyword for it."""
        return await self.handle.inquire(name)

    # -- putting and getting -------------------------------------------------------------------------------------------

    async def put(
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
        session = self._session
        message = as_message(body, fields)
        md, property_block, data = put_parts(message)
        done = await self.handle.put(md, put_options(session, syncpoint, options), property_block, data)
        return unpack_message(done.md, data, dict(message.properties), done.warning)

    async def get(self, **asked: Unpack[GetOptions]) -> Message | None:
        """Get a message; None when there is none, or none arrived in time. See `GetOptions`."""
        return await self._get(normalize_options(asked) if asked else asked)

    async def _get(self, asked: GetOptions) -> Message | None:
        taken = await self.handle.get(asked)
        return None if taken is None else to_message(taken, asked)

    async def get_stored(self, asked: GetOptions) -> StoredMessage | None:
        """Get a message as it is stored, to pass it on unchanged."""
        return await self.handle.get(asked)

    def messages(self, **asked: Unpack[GetOptions]) -> AsyncIterator[Message]:
        """Get messages until there are no more, or none arrives within the wait."""
        return self._messages(normalize_options(asked))

    async def _messages(self, asked: GetOptions) -> AsyncIterator[Message]:
        message = await self._get(asked)
        while message is not None:
            yield message
            await self._session.runtime.checkpoint()
            message = await self._get(asked)

    def __aiter__(self) -> AsyncIterator[Message]:
        return self.messages()

    def browse(self, **asked: Unpack[GetOptions]) -> AsyncBrowser:
        """Browse the messages, from the first on."""
        return AsyncBrowser(self, normalize_options(asked))

    async def consume(self, handler: AsyncHandler, **asked: Unpack[GetOptions]) -> None:
        """Call `await handler(message, connection)` for every message, until cancelled. See `consumer_loop`."""
        from ostler.client.api.consumer_loop import consume

        await consume(self, handler, normalize_options(asked))

    async def close(self, delete: bool = False, purge: bool = False) -> None:
        """Close the queue. This deletes a temporary dynamic queue, and a permanent one with `delete` or `purge`."""
        options = mq.MQCO_DELETE_PURGE if purge else mq.MQCO_DELETE if delete else 0
        await self.handle.close(options)


class AsyncBrowser:
    """Iterates over the messages of a queue with a browse cursor of its own."""

    def __init__(self, queue: AsyncQueue, asked: GetOptions) -> None:
        self._session = queue.connection.session
        self._queue = queue
        self._asked = asked
        self._handle: OpenQueue | None = None

    async def next(self) -> Message | None:
        """Return the next message; None after the last one."""
        if self._handle is None:
            self._handle = await self._session.open(browse_request(self._queue.handle))
        taken = await self._handle.get(self._asked, mq.MQGMO_BROWSE_NEXT)
        return None if taken is None else to_message(taken, self._asked)

    async def close(self) -> None:
        if self._handle is not None:
            await self._handle.close()

    async def __aenter__(self) -> AsyncBrowser:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Message]:
        try:
            message = await self.next()
            while message is not None:
                yield message
                await self._session.runtime.checkpoint()
                message = await self.next()
        finally:
            await self.close()


def browse_request(handle: OpenQueue) -> OpenRequest:
    """Return the request that opens the queue of a handle again, to browse it."""
    request = OpenRequest(mq.MQOT_Q, handle.name, open_options("b"))
    request.selection = handle.selection
    return request


def queue_request(name: str, mode: str, manager: str, selector: str, options: int) -> OpenRequest:
    request = OpenRequest(mq.MQOT_Q, name, open_options(mode) | options)
    request.manager_name = manager
    request.selection = selector
    return request
