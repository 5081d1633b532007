"""The programs of the standard scenario: they put, get and move messages, and account for each of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final

import ostler.aio
from ostler.client.aio.async_connection import AsyncConnection
from ostler.client.aio.async_queue import AsyncQueue
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.testing.simulation.account import Account, Outcome, Unit, name_of

_SIZES: Final = (0, 0, 10, 100, 1_000, 5_000, 30_000)
_PERSISTENT_SHARE: Final = 0.8
_PAUSE_SECONDS_MAX: Final = 0.4
_CONNECT_PAUSE_SECONDS: Final = 1.0
# Answers that are certain: nothing has happened.
_REFUSED: Final = frozenset(
    {
        mq.MQRC_BACKED_OUT,
        mq.MQRC_Q_FULL,
        mq.MQRC_RESOURCE_PROBLEM,
        mq.MQRC_Q_SPACE_NOT_AVAILABLE,
        mq.MQRC_STORAGE_MEDIUM_FULL,
        mq.MQRC_NO_MSG_AVAILABLE,
    }
)


class WorkingProgram:
    """A program that works until it is told to end, and goes on after every error."""

    def __init__(self, name: str, connection_name: str, channel: str, account: Account) -> None:
        self.name = name
        self.connection_name = connection_name
        self.channel = channel
        self.account = account
        self.is_ending = False

    async def run(self) -> None:
        """Connect, and work; after a final error connect again."""
        while not self.is_ending:
            try:
                async with await self.connect() as connection:
                    await self.work(connection)
            except MQError:
                await asyncio.sleep(_CONNECT_PAUSE_SECONDS)

    async def connect(self) -> AsyncConnection:
        return await ostler.aio.connect(
            "*", self.connection_name, channel=self.channel, reconnect=True, application=self.name
        )

    async def work(self, connection: AsyncConnection) -> None:
        """Do the work until `is_ending`."""
        raise NotImplementedError

    async def pause(self) -> None:
        await asyncio.sleep(random.random() * _PAUSE_SECONDS_MAX)

    # -- verbs ---------------------------------------------------------------------------------------------------------

    async def put(self, queue: AsyncQueue, unit: Unit) -> None:
        is_persistent = random.random() < _PERSISTENT_SHARE
        body = self.account.new_body(self.name, random.choice(_SIZES), is_persistent)
        unit.puts.append(name_of(body))
        await queue.put(body, persistent=is_persistent)

    async def get(self, queue: AsyncQueue, unit: Unit) -> str:
        """Get a message and return its body; empty when there is none."""
        message = await queue.get(wait=random.choice([0, 0.1, 1.0, 3.0]))
        if message is None:
            return ""
        unit.gets.append(name_of(message.text))
        return message.text

    async def alone(self, verb: Callable[[Unit], object], is_get: bool) -> None:
        """Do one verb outside a unit of work."""
        unit = self.account.begin(self.name)
        unit.outcome = Outcome.ASKED
        unit.may_lose_one = is_get
        try:
            await verb(unit)  # type: ignore[misc]
        except MQError as error:
            if error.reason in _REFUSED:
                unit.outcome = Outcome.UNDONE
        else:
            unit.outcome = Outcome.DONE

    async def together(self, connection: AsyncConnection, verbs: Sequence[Callable[[Unit], object]]) -> None:
        """Do several verbs in a unit of work, and commit it, or back it out now and then."""
        unit = self.account.begin(self.name)
        try:
            async with connection.transaction():
                for verb in verbs:
                    await verb(unit)  # type: ignore[misc]
                if random.random() < 0.15:
                    raise _BackedOut
                unit.outcome = Outcome.ASKED
        except _BackedOut:
            unit.outcome = Outcome.UNDONE
        except MQError as error:
            if unit.outcome is Outcome.OPEN or error.reason in _REFUSED:
                unit.outcome = Outcome.UNDONE
        else:
            unit.outcome = Outcome.DONE


class _BackedOut(Exception):
    """The program has changed its mind."""


class Putter(WorkingProgram):
    """Puts messages to some queues."""

    def __init__(self, name: str, connection_name: str, channel: str, account: Account, queues: Sequence[str]) -> None:
        super().__init__(name, connection_name, channel, account)
        self._queues = queues

    async def work(self, connection: AsyncConnection) -> None:
        queues = [await connection.open(name, "w") for name in self._queues]
        while not self.is_ending:
            if random.random() < 0.5:
                await self.alone(lambda unit: self.put(random.choice(queues), unit), False)
            else:
                count = random.randrange(1, 5)
                await self.together(connection, [lambda unit: self.put(random.choice(queues), unit)] * count)
            await self.pause()


class Getter(WorkingProgram):
    """Gets messages from a queue."""

    def __init__(self, name: str, connection_name: str, channel: str, account: Account, queue: str) -> None:
        super().__init__(name, connection_name, channel, account)
        self._queue = queue

    async def work(self, connection: AsyncConnection) -> None:
        queue = await connection.open(self._queue, "r")
        while not self.is_ending:
            if random.random() < 0.5:
                await self.alone(lambda unit: self.get(queue, unit), True)
            else:
                await self.together(connection, [lambda unit: self.get(queue, unit)] * random.randrange(1, 4))
            await self.pause()


class Mover(WorkingProgram):
    """Gets a message from a queue and puts another one to the next, in one unit of work."""

    def __init__(
        self, name: str, connection_name: str, channel: str, account: Account, source: str, target: str
    ) -> None:
        super().__init__(name, connection_name, channel, account)
        self._source = source
        self._target = target

    async def work(self, connection: AsyncConnection) -> None:
        source = await connection.open(self._source, "r")
        target = await connection.open(self._target, "w")

        async def move(unit: Unit) -> None:
            if await self.get(source, unit):
                await self.put(target, unit)

        while not self.is_ending:
            await self.together(connection, [move] * random.randrange(1, 3))
            await self.pause()


async def drain(connection_name: str, channel: str, queues: Sequence[str], found: list[str]) -> None:
    """Get all messages of some queues, and add their bodies to a list."""
    async with await ostler.aio.connect("*", connection_name, channel=channel, application="drain") as connection:
        for name in queues:
            async with await connection.open(name, "r") as queue:
                while (message := await queue.get(wait=0)) is not None:
                    # A message that could not be delivered has a header before its body.
                    body = message.body if isinstance(message.body, bytes) else str(message.body).encode()
                    found.append(_without_dead_letter_header(body))


_DEAD_LETTER_HEADER_BYTES: Final = 172


def _without_dead_letter_header(body: bytes) -> str:
    return (body[_DEAD_LETTER_HEADER_BYTES:] if body.startswith(b"DLH ") else body).decode()
