"""Members of a facility in Redis through blocking clients, and crashes of the server that lose its last writes."""

from __future__ import annotations

import time
from pathlib import Path

from tests.coupling.members import SIZE, entry_with

from ostler.lab.peers.redis_facility import RedisFacility
from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, JoinAnswer
from ostler.model.coupling.entries import make_id
from ostler.server.coupling.redis.address import parse_address
from ostler.server.coupling.redis.commands import pack
from ostler.server.coupling.redis.redis_client import RedisClient, RedisConnection

SECONDS = 60.0
GROUP = "QSG1"


class RedisMember:
    """A member with what it knows of the facility, which outlives its connections."""

    def __init__(self, server: RedisFacility, number: int, start: int = 1) -> None:
        self._server = server
        self.number = number
        self.start = start
        self.last = 0
        self.client = self.connect()

    def connect(self) -> RedisClient:
        return RedisClient(parse_address(self._server.address), GROUP, SECONDS)

    def connect_again(self) -> None:
        session = self.client.session
        self.client.close()
        self.client = self.connect()
        session.is_fenced = True
        self.client.session = session

    def join(self) -> Answer:
        return self.client.run(p.JoinProgram(self.number, self.start, f"QM{self.number}"))

    def joined(self) -> JoinAnswer:
        answer = self.join()
        assert isinstance(answer, JoinAnswer), cf.STATUS_NAMES[answer.status]
        return answer

    def run(self, program: p.Program) -> Answer:
        program.fence = self.client.session.fence
        return self.client.run(program)

    def ok(self, program: p.Program) -> Answer:
        answer = self.run(program)
        assert answer.status == cf.OK, cf.STATUS_NAMES[answer.status]
        return answer

    def begin(self) -> None:
        """Join, and connect to APPL1."""
        self.joined()
        self.ok(p.ConnectProgram("APPL1", SIZE, 5))

    def put(self) -> None:
        self.last += 1
        entry = entry_with()
        entry.id = make_id(self.number, self.start, self.last)
        self.ok(p.PutProgram("APPL1", "Q", entry))

    def logged_put(self, number: int) -> p.PutProgram:
        """Return a persistent put outside units, with its number."""
        entry = entry_with()
        entry.id = make_id(self.number, self.start, 1000 + number)
        return p.PutProgram("APPL1", "Q", entry, logged=number)

    def send(self, program: p.Program) -> None:
        """Send a program without waiting for its answer."""
        program.fence = self.client.session.fence
        self.client.send([program])


def written_bytes(server: RedisFacility) -> int:
    """Return how many bytes the server has in its append-only file, when it has written all that it answered.

    While a slow disk is being forced it keeps back what it would write.
    """
    connection = RedisConnection(parse_address(server.address), SECONDS)
    try:
        deadline = time.monotonic() + SECONDS
        while b"aof_buffer_length:0\r\n" not in connection.ask(pack("INFO", "persistence")):
            assert time.monotonic() < deadline, "the server has not written its append-only file"
            time.sleep(0.01)
    finally:
        connection.close()
    return _file(server).stat().st_size


def crash(server: RedisFacility, kept_bytes: int | None = None) -> None:
    """Kill the server and start it again; with a number it has lost what it wrote later, as in a power failure."""
    server.kill()
    if kept_bytes is not None:
        with _file(server).open("r+b") as file:
            file.truncate(kept_bytes)
    server.start()


def _file(server: RedisFacility) -> Path:
    (found,) = (server.directory / "appendonlydir").glob("*.incr.aof")
    return found
