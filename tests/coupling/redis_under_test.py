"""Redis as a facility that tests drive: a real server, one for a whole run, with keys of its own for each facility."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from itertools import count
from pathlib import Path

import pytest
from tests.coupling.facility_under_test import IDENTITY, FacilityUnderTest

from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.peers.redis_facility import RedisFacility
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.events import Event, QueueNotEmpty
from ostler.model.coupling.programs import Program
from ostler.server.coupling.redis.address import parse_address
from ostler.server.coupling.redis.redis_client import EventReader, RedisClient
from ostler.server.coupling.redis.session import RedisSession

SECONDS = 60.0
_servers: list[RedisFacility] = []
_numbers = count(1)


def shared_server() -> RedisFacility:
    """Return the server of this run. Skips the test where the package cannot be had."""
    if not _servers:
        directory = Path(tempfile.mkdtemp(prefix="ostler-redis-"))
        try:
            _servers.append(RedisFacility(directory))
        except PeerUnavailable as problem:
            shutil.rmtree(directory, ignore_errors=True)
            pytest.skip(f"Redis is not here: {problem}")
        atexit.register(_end, _servers[0], directory)
    return _servers[0]


def _end(server: RedisFacility, directory: Path) -> None:
    server.kill()
    shutil.rmtree(directory, ignore_errors=True)


class RedisUnderTest(FacilityUnderTest):
    """Sessions by link, over one connection. The time of tests tells when the next one that waits is told."""

    def __init__(self) -> None:
        self.address = parse_address(shared_server().address)
        self.name = f"T{next(_numbers)}"
        self.client = RedisClient(self.address, self.name, SECONDS, IDENTITY)
        self._reader = EventReader(self.address, SECONDS, f"{self.client.session.prefix}ev:*", is_pattern=True)
        self._sessions: dict[int, RedisSession] = {}
        self._links: dict[str, int] = {}  # by channel
        self._events: list[tuple[int, Event]] = []
        self._wakes: list[tuple[int, int, str, str, int]] = []  # time, link, structure, queue, number
        self._now_ms = 0

    def run(self, link: int, program: Program) -> Answer:
        session = self._use(link)
        before = session.fence
        answer = self.client.run(program)
        if session.fence != before:
            self._links[session.channel] = link
        return answer

    def lose(self, link: int) -> None:
        if link in self._sessions and self._use(link).fence:
            self.client.give_up()
        self._sessions.pop(link, None)

    def tick(self, now_ms: int) -> None:
        self._collect()
        self._now_ms = now_ms
        due = [wake for wake in self._wakes if wake[0] <= now_ms]
        self._wakes = [wake for wake in self._wakes if wake[0] > now_ms]
        for _, link, structure, queue, number in due:
            if link in self._sessions:
                self._use(link)
                self.client.wake(structure, queue, number)

    def next_tick_ms(self) -> int:
        self._collect()
        return min((wake[0] for wake in self._wakes), default=0)

    def events(self) -> list[tuple[int, Event]]:
        self._collect()
        found, self._events = self._events, []
        return found

    def close(self) -> None:
        keys = self.client.connection
        keys.ask(b"FLUSHALL ASYNC\r\n")
        self._reader.close()
        self.client.close()

    def _use(self, link: int) -> RedisSession:
        session = self._sessions.get(link)
        if session is None:
            session = self._sessions[link] = RedisSession(self.name)
        self.client.session = session
        return session

    def _collect(self) -> None:
        for channel, published in self._reader.take():
            link = self._links[channel]
            event = published.event
            self._events.append((link, event))
            if published.wake:
                assert isinstance(event, QueueNotEmpty)
                due_ms = self._now_ms + cf.WAKE_MS
                self._wakes.append((due_ms, link, event.structure, event.queue, published.wake))
