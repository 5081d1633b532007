"""Connections for tasks. `ostler.client.api.connection` has the blocking ones."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Final, Unpack

from ostler.client.aio.async_queue import AsyncQueue, put_options, put_parts, queue_request
from ostler.client.aio.async_topic import AsyncSubscription, AsyncTopic, open_topic, publish_once, subscribe
from ostler.client.api.keywords import NOT_GIVEN, NotGiven, wait_or_timeout
from ostler.client.api.message import Message, MessageFields, as_message, unpack_message
from ostler.client.api.subscribe_options import SubscribeOptions
from ostler.client.api.transaction import WAIT_SECONDS, Transaction, check_unit_owner
from ostler.client.session.session import Session
from ostler.command.admin import objects as administration
from ostler.command.admin.objects import Given
from ostler.engine.open import OpenRequest
from ostler.model import constants as mq
from ostler.model.attributes import Value
from ostler.model.errors import MQError
from ostler.server.queue_manager import QueueManager
from ostler.wire.subscribe_frames import LEVEL_HIGHEST

MODEL: Final = "SYSTEM.DEFAULT.MODEL.QUEUE"
_REPLY_QUEUES: Final = "OSTLER.REPLY.*"


class AsyncTransaction:
    """`async with connection.transaction():` commits at the end of the block, or backs out when it raises."""

    def __init__(self, session: Session, wait: float | None) -> None:
        self._transaction = Transaction(session, wait)

    async def __aenter__(self) -> None:
        await self._transaction.begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transaction.end(kind is None)


class AsyncConnection:
    """A connection. Close it, or use it in an `async with` block; an exception that leaves the block backs out."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._replies: AsyncQueue | None = None
        self._replies_lock = threading.Lock()

    async def __aenter__(self) -> AsyncConnection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(commit=kind is None)

    @property
    def manager(self) -> QueueManager:
        """The queue manager, for its commands: `end`, `checkpoint` ... Only when it is in this process."""
        return self.session.manager

    @property
    def name(self) -> str:
        """The name of the queue manager."""
        return self.session.name

    @property
    def hconn(self) -> int:
        """The connection handle, for the raw verbs of `ostler.mqi`."""
        return self.session.hconn

    async def clone(self) -> AsyncConnection:
        """Return another connection of the same user and application."""
        return AsyncConnection(await self.session.clone())

    async def close(self, commit: bool = True) -> None:
        """Disconnect. As MQDISC does, it commits the unit of work, unless `commit` is False."""
        await self.session.disconnect(commit)

    # -- queues and messages -------------------------------------------------------------------------------------------

    async def open(
        self, queue: str, mode: str = "rw", *, manager: str = "", selector: str = "", options: int = 0
    ) -> AsyncQueue:
        """Open a queue: r to get (s shared, x exclusively), b to browse, w to put. `options` are further MQOO options.

        `manager` names another queue manager, `selector` an SQL-92 condition that all messages got must meet.
        """
        request = queue_request(queue, mode, manager, selector, options)
        return AsyncQueue(self, await self.session.open(request))

    async def open_dynamic(self, model: str = MODEL, name: str = "AMQ.*", mode: str = "rw") -> AsyncQueue:
        """Create a dynamic queue from a model and open it. A trailing asterisk in the name is made unique."""
        request = queue_request(model, mode, "", "", 0)
        request.dynamic_name = name
        return AsyncQueue(self, await self.session.open(request))

    async def put(
        self,
        queue: str,
        body: Message | bytes | str,
        *,
        manager: str = "",
        syncpoint: bool | None = None,
        options: int = 0,
        **fields: Unpack[MessageFields],
    ) -> Message:
        """Put one message on a queue that is not open, as MQPUT1 does. Returns the message as stored."""
        session = self.session
        message = as_message(body, fields)
        md, property_block, data = put_parts(message)
        request = OpenRequest(mq.MQOT_Q, queue, 0)
        request.manager_name = manager
        done = await session.put1(request, md, put_options(session, syncpoint, options), property_block, data)
        return unpack_message(done.md, data, dict(message.properties), done.warning)

    async def request(
        self,
        queue: str,
        body: Message | bytes | str,
        *,
        wait: float | NotGiven | None = NOT_GIVEN,
        timeout: float | NotGiven | None = NOT_GIVEN,
        manager: str = "",
        **fields: Unpack[MessageFields],
    ) -> Message:
        """Put a request and return its reply. Raises MQRC_NO_MSG_AVAILABLE when none arrives within `wait` seconds.

        `wait` has to be given; None waits for ever. `timeout` is another name of it.

        The request is put outside syncpoint, also inside a transaction: there would be no reply otherwise. Unless
        `reply_to` names a queue, replies arrive on a temporary queue of this connection, which cannot hold persistent
        messages. Without an `expiry` of its own, the request expires when the wait for its reply ends.
        """
        seconds = wait_or_timeout(wait, timeout)
        message = as_message(body, fields)
        own = not message.reply_to
        if own and message.persistent:
            raise MQError(mq.MQRC_PERSISTENT_NOT_ALLOWED, "Give reply_to, a queue that can hold persistent messages.")
        replies = await self._reply_queue() if own else await self.open(message.reply_to, "r")
        try:
            asking: MessageFields = {"message_type": mq.MQMT_REQUEST, "reply_to": replies.name}
            if own:
                asking["persistent"] = False
            if message.expiry is None and seconds is not None:
                asking["expiry"] = seconds or 0.1
            asked = await self.put(queue, as_message(message, asking), manager=manager, syncpoint=False)
            reply = await replies.get(correlation_id=asked.message_id, wait=seconds, syncpoint=False)
        finally:
            if not own:
                await replies.close()
        if reply is None:
            raise MQError(mq.MQRC_NO_MSG_AVAILABLE, f"No reply from {queue} came within {seconds} seconds.")
        return reply

    async def _reply_queue(self) -> AsyncQueue:
        found = self._replies
        if found is None:
            made = await self.open_dynamic(MODEL, _REPLY_QUEUES, "r")
            with self._replies_lock:
                found = self._replies
                if found is None:
                    self._replies = found = made
            if found is not made:
                await made.close()
        return found

    async def reply(
        self,
        request: Message,
        body: bytes | str,
        *,
        syncpoint: bool | None = None,
        **fields: Unpack[MessageFields],
    ) -> Message:
        """Reply to a request, on its reply-to queue."""
        if not request.reply_to:
            raise MQError(mq.MQRC_MISSING_REPLY_TO_Q, "The message names no reply-to queue.")
        answer = request.reply(body, **fields)
        return await self.put(request.reply_to, answer, manager=request.reply_to_manager, syncpoint=syncpoint)

    # -- topics --------------------------------------------------------------------------------------------------------

    async def publish(
        self,
        topic: str,
        body: Message | bytes | str,
        *,
        retain: bool = False,
        object_name: str = "",
        level: int = LEVEL_HIGHEST,
        syncpoint: bool | None = None,
        options: int = 0,
        **fields: Unpack[MessageFields],
    ) -> Message:
        """Publish one message to a topic that is not open, as MQPUT1 does. Returns the message as published.

        `retain` makes it the retained publication of the topic. `object_name` is a topic object, whose topic string
        goes before the topic. `level` is the highest level of subscriptions that receive it. `options` are further
        MQPMO options.
        """
        return await publish_once(self, topic, body, object_name, retain, level, syncpoint, options, fields)

    async def topic(self, topic: str = "", *, object_name: str = "", options: int = 0) -> AsyncTopic:
        """Open a topic for publishing: by its string, a topic object, or both. `options` are further MQOO options."""
        return await open_topic(self, topic, object_name, options)

    async def subscribe(self, topic: str = "", **wanted: Unpack[SubscribeOptions]) -> AsyncSubscription:
        """Subscribe to a topic; # matches any levels, + one level. See `SubscribeOptions`."""
        return await subscribe(self, topic, wanted)

    # -- units of work -------------------------------------------------------------------------------------------------

    def transaction(self, wait: float | None = WAIT_SECONDS) -> AsyncTransaction:
        """Return a block that is committed or backed out as a whole.

        `wait`: the seconds to wait for the end of another transaction of this connection.
        """
        return AsyncTransaction(self.session, wait)

    async def commit(self) -> None:
        """Commit the unit of work. Inside a transaction block this commits what was done so far."""
        check_unit_owner(self.session)
        await self.session.commit()

    async def back_out(self) -> None:
        """Back out the unit of work."""
        check_unit_owner(self.session)
        await self.session.back_out()

    # -- objects -------------------------------------------------------------------------------------------------------

    async def define(
        self, object_type: str, name: str, *, like: str | None = None, replace: bool = False, **attributes: Given
    ) -> None:
        """Define an object by its MQSC keywords: `define("QLOCAL", "Q1", MAXDEPTH=1000, DEFPSIST="YES")`."""
        kind = administration.object_type(object_type)
        await self.session.define(kind, name, attributes, like, replace)

    async def alter(self, object_type: str, name: str = "", **attributes: Given) -> None:
        """Change attributes of an object. The queue manager itself needs no name."""
        await self.session.alter(administration.object_type(object_type), name, attributes)

    async def delete(self, object_type: str, name: str, *, purge: bool = False) -> None:
        """Delete an object that is not open. A queue that is not empty is deleted only with `purge`."""
        await self.session.delete(administration.object_type(object_type), name, purge)

    async def clear(self, queue: str) -> None:
        """Remove all messages of a local queue that is not open."""
        await self.session.clear(queue)

    async def display(self, object_type: str, name: str = "*", *attributes: str) -> list[dict[str, Value]]:
        """Return objects by name or generic name, each with NAME, TYPE and the named attributes, or all of them."""
        return await self.session.display(object_type, name, attributes)
