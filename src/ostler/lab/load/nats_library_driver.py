"""NATS through nats-py: all clients in one asyncio loop, each with a connection of its own."""

from __future__ import annotations

import asyncio
import time

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from ostler.lab.load.client import LoadFailed, reply_for
from ostler.lab.load.epoll_driver import Round
from ostler.lab.load.plan import Plan, host_and_port

_REPLY_SECONDS_MAX = 30.0


class NatsLibraryDriver:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._loop = asyncio.new_event_loop()
        self._requesters: list[Client] = []
        self._responders: list[Client] = []
        self._sequence = 0
        self._loop.run_until_complete(self._open())

    async def _connect(self) -> Client:
        host, port = host_and_port(self._plan)
        return await nats.connect(f"nats://{host}:{port}")

    async def _open(self) -> None:
        for number in self._plan.responders:
            client = await self._connect()
            await client.subscribe(f"LIB.REQ.{number % self._plan.pairs}", "W", cb=self._respond)
            self._responders.append(client)
        for _ in self._plan.requesters:
            self._requesters.append(await self._connect())
        for client in self._responders:
            await client.flush()

    async def _respond(self, message: Msg) -> None:
        await message.respond(message.data)

    async def _request(self, client: Client, first: int, end: float) -> list[int]:
        taken: list[int] = []
        pair = first
        while time.perf_counter() < end:
            self._sequence += 1
            pair = (pair + 1) % self._plan.pairs
            body = reply_for(self._sequence, self._plan.body_bytes)
            began = time.perf_counter_ns()
            reply = await client.request(f"LIB.REQ.{pair}", body, timeout=_REPLY_SECONDS_MAX)
            taken.append(time.perf_counter_ns() - began)
            if reply.data != body:
                raise LoadFailed("nats-py returned a reply to another request")
        return taken

    def round(self, seconds: float) -> Round:
        began = time.perf_counter()
        found = self._loop.run_until_complete(self._all(began + seconds))
        latencies = [each for taken in found for each in taken]
        return Round(len(latencies), time.perf_counter() - began, latencies)

    async def _all(self, end: float) -> list[list[int]]:
        work = [self._request(client, number, end) for number, client in enumerate(self._requesters)]
        return await asyncio.gather(*work)

    def close(self) -> None:
        self._loop.run_until_complete(self._close())
        self._loop.close()

    async def _close(self) -> None:
        for client in (*self._requesters, *self._responders):
            await client.close()
