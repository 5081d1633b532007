"""NATS through nats-py: core NATS, and streams where messages are persistent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Any, Final

import nats
from nats.aio.msg import Msg
from nats.js.api import RetentionPolicy, StorageType, StreamConfig
from nats.js.client import JetStreamContext
from nats.js.errors import APIError

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.asyncio_driver import AsyncioDriver
from ostler.lab.load.libraries.adapter import CONSUMER, REQUESTER, RESPONDER, LibraryAdapter
from ostler.lab.load.libraries.patterns import library_workers
from ostler.lab.load.nats.jetstream import STREAM_OVERLAPS
from ostler.lab.load.spec import LoadSpec, host_and_port

_SECONDS_MAX: Final = 30.0
_REPLY_TO: Final = "Reply-To"
_CORRELATION: Final = "Correlation"
_STREAMS: Final = {"request": "LIBREQ", "reply": "LIBREP", "one-way": "LIBONE"}


class NatsAdapter(LibraryAdapter[Awaitable[None]]):
    """Core NATS. A one-way message is sent when the server has answered a ping behind it, as `flush` waits for."""

    def queue(self, purpose: str, number: int) -> str:
        return f"LIB.{purpose}.{number}"

    async def connect(self) -> None:
        host, port = host_and_port(self.spec)
        self._client = await nats.connect(f"nats://{host}:{port}")
        self._own = self.own_queue
        await self._subscribe()
        await self._client.flush()

    async def _subscribe(self) -> None:
        """Begin to receive. A requester does not: nats-py has an inbox for all requests of a connection."""
        if self.role in (RESPONDER, CONSUMER):
            await self._client.subscribe(self._own, "W", cb=self._take)

    async def _take(self, message: Msg) -> None:
        try:
            await self.received(message.data, message)
        except LoadFailed as failure:
            # Called by the library, which would only log it.
            context = {"message": str(failure), "exception": failure}
            asyncio.get_running_loop().call_exception_handler(context)

    async def request(self, pair: int, sequence: int, body: bytes) -> None:
        reply = await self._client.request(self.queue("request", pair), body, timeout=_SECONDS_MAX)
        if reply.data != body:
            raise LoadFailed("nats-py returned a reply to another request")

    async def reply(self, body: bytes, message: Any) -> None:
        await message.respond(body)

    async def send(self, body: bytes) -> None:
        await self._client.publish(self._own, body)
        await self._client.flush(int(_SECONDS_MAX))

    async def acknowledge(self, message: Any) -> None:
        """Do nothing: nobody waits for it."""

    async def close(self) -> None:
        await self._client.close()


class StreamAdapter(NatsAdapter):
    """Streams, pushed to a group of subscriptions and acknowledged one by one.

    A requester waits until its request is stored and its reply has arrived; a responder acknowledges a request when its
    reply is stored. A one-way message is sent when it is stored.
    """

    def queue(self, purpose: str, number: int) -> str:
        return f"{_STREAMS[purpose]}.{number}"

    async def _subscribe(self) -> None:
        # Replies to requests of an earlier load have another mark.
        self._mark = f"{time.perf_counter_ns():x}"
        self._stream, _, number = self._own.partition(".")
        self._context = self._client.jetstream(timeout=_SECONDS_MAX)
        await _create_stream(self._context, self._stream, self.spec.copies)
        if self.role == RESPONDER:
            await _create_stream(self._context, _STREAMS["reply"], self.spec.copies)
        if self.role in (REQUESTER, RESPONDER, CONSUMER):
            take = self._take_reply if self.role == REQUESTER else self._take
            await self._context.subscribe(self._own, queue=f"w{number}", stream=self._stream, cb=take, manual_ack=True)

    async def _take_reply(self, message: Msg) -> None:
        await message.ack()
        if (message.headers or {}).get(_CORRELATION, "") == self._awaited and not self._reply.done():
            self._reply.set_result(message.data)

    async def request(self, pair: int, sequence: int, body: bytes) -> None:
        self._awaited = f"{self._mark}-{sequence}"
        self._reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        headers = {_REPLY_TO: self._own, _CORRELATION: self._awaited}
        await self._context.publish(self.queue("request", pair), body, stream=_STREAMS["request"], headers=headers)
        if await asyncio.wait_for(self._reply, _SECONDS_MAX) != body:
            raise LoadFailed("nats-py returned a reply to another request")

    async def reply(self, body: bytes, message: Any) -> None:
        headers = {_CORRELATION: message.headers[_CORRELATION]}
        await self._context.publish(message.headers[_REPLY_TO], body, stream=_STREAMS["reply"], headers=headers)
        await message.ack()

    async def send(self, body: bytes) -> None:
        await self._context.publish(self._own, body, stream=self._stream)

    async def acknowledge(self, message: Any) -> None:
        await message.ack()


async def _create_stream(context: JetStreamContext, name: str, copies: int) -> None:
    """Create a stream, unless it exists."""
    kept = StreamConfig(
        name=name,
        subjects=[f"{name}.*"],
        retention=RetentionPolicy.WORK_QUEUE,
        storage=StorageType.FILE,
        num_replicas=copies,
    )
    for pause in (0.01, 0.1, 1.0):
        try:
            await context.add_stream(kept)
            return
        except APIError as refusal:
            # A stream that another connection is just creating looks like a foreign one.
            if refusal.err_code != STREAM_OVERLAPS:
                raise
            await asyncio.sleep(pause)
    await context.add_stream(kept)


def nats_driver(spec: LoadSpec) -> AsyncioDriver:
    return AsyncioDriver(*library_workers(StreamAdapter if spec.persistent else NatsAdapter, spec))
