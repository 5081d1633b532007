"""A blocking client of a facility in Redis, for commands, tests and measurements."""

from __future__ import annotations

import secrets
import socket
from collections import deque
from typing import Any, Final

from hiredis import Reader, ReplyError

from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.server.coupling.redis.address import RedisAddress
from ostler.server.coupling.redis.commands import pack
from ostler.server.coupling.redis.redis_errors import RedisFailed
from ostler.server.coupling.redis.replies import PublishedEvent, decode_published
from ostler.server.coupling.redis.scripts import scripts
from ostler.server.coupling.redis.server_facts import ASK_FORCES, INFO, read_facts
from ostler.server.coupling.redis.session import RedisSession, check_loaded, load_commands

_RECEIVE_BYTES: Final = 256 << 10
_DISPLAYS: Final = (p.STATUS, p.MEMBERS, p.UNITS, p.LOCKS)


class RedisConnection:
    """One connection: commands out, replies in."""

    def __init__(self, address: RedisAddress, timeout_seconds: float) -> None:
        """Connect, authenticate and select the database. Raises RedisFailed."""
        address = address.resolved()
        self._reader = Reader()
        self._socket = _connect(address, timeout_seconds)
        try:
            credentials = address.credentials()
            if credentials:
                self.ask(pack("AUTH", *credentials))
            if address.database:
                self.ask(pack("SELECT", address.database))
        except BaseException:
            self._socket.close()
            raise

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise RedisFailed(f"the connection failed: {error.strerror or error}") from None

    def receive(self) -> Any:
        """Return the next reply, which may be a ReplyError."""
        while (reply := self._reader.gets()) is False:
            try:
                data = self._socket.recv(_RECEIVE_BYTES)
            except TimeoutError:
                raise RedisFailed("the server did not answer in time") from None
            except OSError as error:
                raise RedisFailed(f"the connection failed: {error.strerror or error}") from None
            if not data:
                raise RedisFailed("the server closed the connection")
            self._reader.feed(data)
        return reply

    def ask(self, command: bytes) -> Any:
        """Return the reply to a command. Raises RedisFailed for an error."""
        self.send(command)
        reply = self.receive()
        if isinstance(reply, ReplyError):
            raise RedisFailed(str(reply))
        return reply

    def close(self) -> None:
        self._socket.close()


def _connect(address: RedisAddress, timeout_seconds: float) -> socket.socket:
    try:
        if address.path:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(timeout_seconds)
            sock.connect(address.path)
            return sock
        sock = socket.create_connection((address.host, address.port), timeout_seconds)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.is_tls:
            return address.tls_context().wrap_socket(sock, server_hostname=address.host)
    except OSError as error:
        raise RedisFailed(f"{address}: {error.strerror or error}") from None
    return sock


class RedisClient:
    """One link of a member, or of one who only looks. Programs can be sent ahead; answers come in the same order."""

    def __init__(
        self, address: RedisAddress, facility: str, timeout_seconds: float, identity: bytes = b"", first_fence: int = 1
    ) -> None:
        """Raises RedisFailed, also for a server that is set up so that messages could be lost.

        Identity and fence are those of a facility that is made by this client.
        """
        self.connection = RedisConnection(address, timeout_seconds)
        self.session = RedisSession(address.facility or facility)
        self._identity = identity or secrets.token_bytes(cf.IDENTITY_BYTES)
        self._first_fence = first_fence
        self._asked: deque[int] = deque()
        try:
            info = self.connection.ask(INFO)
            self.connection.send(ASK_FORCES)
            self.facts = read_facts(info, self.connection.receive())
            self.facts.check()
            self.load()
        except BaseException:
            self.connection.close()
            raise

    def load(self) -> None:
        """Give the server the scripts, unless it has them."""
        digests = [each.digest for each in scripts().values()]
        if 0 not in self.connection.ask(pack("SCRIPT", "EXISTS", *digests)):
            return
        commands = load_commands()
        self.connection.send(b"".join(commands))
        check_loaded([self.connection.receive() for _ in commands])

    def run(self, program: p.Program) -> Answer:
        """Run one program and return its answer. Raises RedisFailed."""
        command = self._command(program)
        if command is None:
            return Answer(cf.BAD_PROGRAM if isinstance(program, p.JoinProgram) else cf.NOT_CONNECTED)
        self.connection.send(command)
        reply = self.connection.receive()
        if isinstance(reply, ReplyError) and str(reply).startswith("NOSCRIPT"):
            self.load()
            self.connection.send(command)
            reply = self.connection.receive()
        answer = self._answer(program.kind, reply)
        if answer.status == cf.FENCED and program.fence == self.session.fence:
            self.session.is_fenced = True
        return answer

    def send(self, programs: list[p.Program]) -> None:
        """Send programs without waiting; the member has joined."""
        self.connection.send(b"".join(self.session.command(program, 0) for program in programs))
        self._asked.extend(program.kind for program in programs)

    def receive(self) -> Answer:
        """Return the next answer to what was sent."""
        return self._answer(self._asked.popleft(), self.connection.receive())

    def give_up(self) -> None:
        """Fail the member of this link, as a peer would when it is silent for too long."""
        self.connection.ask(self.session.give_up(0))

    def beat(self) -> list[Any]:
        """Say that the member lives, fence others that do not, and return the reply."""
        reply: list[Any] = self.connection.ask(self.session.beat(0))
        return reply

    def wake(self, structure: str, queue: str, wake: int) -> None:
        self.connection.ask(self.session.wake(0, structure, queue, wake))

    def close(self) -> None:
        self.connection.close()

    def _command(self, program: p.Program) -> bytes | None:
        session = self.session
        if isinstance(program, p.JoinProgram):
            if (session.fence and not session.is_fenced) or not session.is_valid_join(program):
                return None
            return session.join(program, 0, self.facts, self._identity, self._first_fence)
        if session.fence:
            return session.command(program, 0)
        return session.display(program, 0) if program.kind in _DISPLAYS else None

    def _answer(self, kind: int, reply: Any) -> Answer:
        if isinstance(reply, ReplyError):
            raise RedisFailed(f"{p.PROGRAM_NAMES[kind]}: {reply}")
        return self.session.answer(kind, reply)


class EventReader:
    """A connection that reads the events of channels."""

    def __init__(self, address: RedisAddress, timeout_seconds: float, channel: str, is_pattern: bool = False) -> None:
        self._connection = RedisConnection(address, timeout_seconds)
        self._connection.ask(pack("PSUBSCRIBE" if is_pattern else "SUBSCRIBE", channel))

    def receive(self) -> tuple[str, PublishedEvent]:
        """Wait for an event; return it with its channel."""
        while True:
            reply = self._connection.receive()
            if reply[0] in (b"message", b"pmessage"):
                return reply[-2].decode(), decode_published(reply[-1])

    def take(self) -> list[tuple[str, PublishedEvent]]:
        """Return all events that were published before now."""
        self._connection.send(pack("PING"))
        found: list[tuple[str, PublishedEvent]] = []
        while True:
            reply = self._connection.receive()
            if reply[0] == b"pong":
                return found
            if reply[0] in (b"message", b"pmessage"):
                found.append((reply[-2].decode(), decode_published(reply[-1])))

    def close(self) -> None:
        self._connection.close()


def find_facilities(address: RedisAddress, timeout_seconds: float) -> list[str]:
    """Return the names of all facilities on a server. Raises RedisFailed."""
    connection = RedisConnection(address, timeout_seconds)
    try:
        found: set[str] = set()
        cursor = b"0"
        while True:
            cursor, keys = connection.ask(pack("SCAN", cursor, "MATCH", "ostler:{*}:f", "COUNT", 1000))
            found.update(key.decode(errors="replace")[len("ostler:{") : -len("}:f")] for key in keys)
            if cursor == b"0":
                return sorted(found)
    finally:
        connection.close()
