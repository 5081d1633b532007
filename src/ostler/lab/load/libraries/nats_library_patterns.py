"""Further patterns with nats-py: requests and replies in streams, and one-way messages with and without streams.

A stream's messages are pushed to a group of subscriptions, and acknowledged one by one. A requester waits until its
request is stored and its reply has arrived; a responder acknowledges a request when its reply is stored.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import RetentionPolicy, StorageType, StreamConfig
from nats.js.client import JetStreamContext
from nats.js.errors import APIError

from ostler.lab.load.client import LoadFailed, reply_for
from ostler.lab.load.libraries.nats_library_driver import NatsLibraryDriver
from ostler.lab.load.nats.jetstream import STREAM_OVERLAPS
from ostler.lab.load.one_way import OneWay
from ostler.lab.load.spec import ONE_WAY, LoadSpec, pair_of

_REQUESTS: Final = "LIBREQ"
_REPLIES: Final = "LIBREP"
_ONE_WAY: Final = "LIBONE"
_SECONDS_MAX: Final = 30.0
_REPLY_TO: Final = "Reply-To"
_CORRELATION: Final = "Correlation"


def nats_driver(spec: LoadSpec) -> NatsLibraryDriver:
    """Return the driver of a load: with streams where messages are persistent."""
    if spec.kind == ONE_WAY:
        return StreamOneWayDriver(spec) if spec.persistent else OneWayDriver(spec)
    return StreamDriver(spec) if spec.persistent else NatsLibraryDriver(spec)


async def _stream(client: Client, name: str) -> JetStreamContext:
    """Return the JetStream context of a connection, and create the stream unless it exists."""
    context = client.jetstream(timeout=_SECONDS_MAX)
    kept = StreamConfig(
        name=name, subjects=[f"{name}.*"], retention=RetentionPolicy.WORK_QUEUE, storage=StorageType.FILE
    )
    for pause in (0.01, 0.1, 1.0):
        try:
            await context.add_stream(kept)
            return context
        except APIError as refusal:
            # A stream that another connection is just creating looks like a foreign one.
            if refusal.err_code != STREAM_OVERLAPS:
                raise
            await asyncio.sleep(pause)
    await context.add_stream(kept)
    return context


class StreamDriver(NatsLibraryDriver):
    """Requests and replies in streams."""

    def __init__(self, spec: LoadSpec) -> None:
        self._contexts: list[JetStreamContext] = []
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        # Replies to requests of an earlier load have another mark.
        self._mark = f"{time.perf_counter_ns():x}"
        super().__init__(spec)

    async def _open_responder(self, client: Client, number: int) -> None:
        await _stream(client, _REPLIES)
        context = await _stream(client, _REQUESTS)

        async def respond(message: Msg) -> None:
            headers = message.headers or {}
            headers_sent = {_CORRELATION: headers[_CORRELATION]}
            await context.publish(headers[_REPLY_TO], message.data, stream=_REPLIES, headers=headers_sent)
            await message.ack()

        pair = number % self._plan.pairs
        await context.subscribe(f"{_REQUESTS}.{pair}", queue=f"w{pair}", stream=_REQUESTS, cb=respond, manual_ack=True)

    async def _open_requester(self, client: Client, number: int) -> None:
        context = await _stream(client, _REPLIES)
        self._contexts.append(context)
        subject = f"{_REPLIES}.{number}"
        await context.subscribe(subject, queue=f"q{number}", stream=_REPLIES, cb=self._replied, manual_ack=True)

    async def _replied(self, message: Msg) -> None:
        waiting = self._waiting.pop((message.headers or {}).get(_CORRELATION, ""), None)
        await message.ack()
        if waiting is not None and not waiting.done():
            waiting.set_result(message.data)

    async def _operate(self, client: Client, slot: int, turn: int, due_ns: int) -> None:
        self._sequence += 1
        body = reply_for(self._sequence, self._plan.body_bytes)
        correlation = f"{self._mark}-{self._sequence}"
        headers_sent = {_REPLY_TO: f"{_REPLIES}.{self._plan.requesters[slot]}", _CORRELATION: correlation}
        reply = self._waiting[correlation] = self._loop.create_future()
        subject = f"{_REQUESTS}.{pair_of(self._plan, self._plan.requesters[slot], turn)}"
        await self._contexts[slot].publish(subject, body, stream=_REQUESTS, headers=headers_sent)
        if await asyncio.wait_for(reply, _SECONDS_MAX) != body:
            raise LoadFailed("nats-py returned a reply to another request")


class OneWayDriver(NatsLibraryDriver):
    """One-way without streams: a put is complete when the server has answered a ping behind it, as `flush` waits
    for."""

    def __init__(self, spec: LoadSpec) -> None:
        self._contexts: list[JetStreamContext] = []
        self._failure = ""
        super().__init__(spec)

    def _made(self) -> OneWay:
        way = OneWay(self._pace, self._plan.body_bytes)
        way.start(time.perf_counter_ns())
        return way

    async def _open_responder(self, client: Client, number: int) -> None:
        way = self._made()

        async def take(message: Msg) -> None:
            self._take(way, message)

        await client.subscribe(f"LIB.ONE.{number % self._plan.pairs}", "W", cb=take)

    def _take(self, way: OneWay, message: Msg) -> None:
        try:
            way.got(message.data, time.perf_counter_ns())
        except LoadFailed as failure:
            # Called by the library, which would only log it.
            self._failure = str(failure)

    async def _open_requester(self, client: Client, number: int) -> None:
        self._way = self._made()

    async def _operate(self, client: Client, slot: int, turn: int, due_ns: int) -> None:
        if self._failure:
            raise LoadFailed(self._failure)
        await self._put(client, slot, self._way.body(due_ns))

    def _pair(self, slot: int) -> int:
        return self._plan.requesters[slot] % self._plan.pairs

    async def _put(self, client: Client, slot: int, body: bytes) -> None:
        await client.publish(f"LIB.ONE.{self._pair(slot)}", body)
        await client.flush(int(_SECONDS_MAX))


class StreamOneWayDriver(OneWayDriver):
    """One-way through a stream: a put is complete when it is stored."""

    async def _open_responder(self, client: Client, number: int) -> None:
        context = await _stream(client, _ONE_WAY)
        way = self._made()

        async def take(message: Msg) -> None:
            self._take(way, message)
            await message.ack()

        pair = number % self._plan.pairs
        await context.subscribe(f"{_ONE_WAY}.{pair}", queue=f"o{pair}", stream=_ONE_WAY, cb=take, manual_ack=True)

    async def _open_requester(self, client: Client, number: int) -> None:
        await super()._open_requester(client, number)
        self._contexts.append(await _stream(client, _ONE_WAY))

    async def _put(self, client: Client, slot: int, body: bytes) -> None:
        await self._contexts[slot].publish(f"{_ONE_WAY}.{self._pair(slot)}", body, stream=_ONE_WAY)
