"""A queue manager for tests: with a listener on a free port, in a temporary directory.

    with ostler.testing.queue_manager(mqsc="DEFINE QLOCAL(ORDERS)") as qm:
        subprocess.run([...], env={**os.environ, **qm.environment})
        assert qm.depth("ORDERS") == 1

It runs in the process of the tests: it starts in a tenth of a second and always ends with that process. Programs of
this or any other process reach it over the network.
"""

from __future__ import annotations

import secrets
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

import ostler
from ostler.client.api.connection import Connection
from ostler.client.api.message import Message, MessageFields
from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.security.passwords import UserEntry, hash_password
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection
from ostler.server.net.listeners import ListenerRefused
from ostler.server.security.password_store import edit_passwords
from ostler.testing.isolation import Baseline

if TYPE_CHECKING:
    from ostler.server.assembly import Server
    from ostler.server.queue_manager import QueueManager

NAME: Final = "QMTEST"
CHANNEL: Final = "DEV.APP.SVRCONN"
HOST: Final = "127.0.0.1"
LISTENER: Final = "OSTLER.TESTING.LISTENER"
_PORT_TRIES: Final = 20
# Small, to be created quickly; a unit of work may still have some megabytes.
_LOG: Final = LogSection(file_pages=1024)


class MqscError(Exception):
    """MQSC commands failed. The text is the answer of the queue manager to all of them."""


class RunningQueueManager:
    """A running queue manager, with shortcuts for tests."""

    def __init__(self, name: str, data: Path, channel: str = CHANNEL, guarded: bool = False) -> None:
        self.name = name
        self.data = data
        self.channel = channel
        self.guarded = guarded
        self.host = HOST
        self.port = 0
        self._manager: QueueManager | None = None
        self._server: Server | None = None

    # -- address -----------------------------------------------------------------------------------------------------

    @property
    def connection_name(self) -> str:
        """The connection name, such as 127.0.0.1(41414)."""
        return f"{self.host}({self.port})"

    @property
    def mqserver(self) -> str:
        """The value of MQSERVER for programs that connect here."""
        return f"{self.channel}/TCP/{self.connection_name}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables for programs that connect here, over the network or locally."""
        return {"MQSERVER": self.mqserver, "OSTLER_DATA": str(self.data)}

    @property
    def manager(self) -> QueueManager:
        """The queue manager object."""
        assert self._manager is not None, "the queue manager is not running"
        return self._manager

    @property
    def server(self) -> Server:
        """The server of the queue manager, with its sockets."""
        assert self._server is not None, "the queue manager is not running"
        return self._server

    # -- start and end -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the queue manager. After `end` it listens on the same port again, with its persistent messages."""
        from ostler.server.assembly import Server
        from ostler.server.queue_manager import create_queue_manager
        from ostler.testing.without_security import allow_any_principal, disable_security

        directory = QueueManagerDirectory(self.data, self.name)
        if not directory.exists():
            allow_any_principal(create_queue_manager(self.data, self.name, _LOG))
        self._manager = ostler.start(self.name, self.data, progress=False)
        try:
            if not self.guarded and not self.port:
                disable_security(self._manager)
            self._server = Server(self._manager)
            self._server.start()
            if self.port:
                self.server.start_listener(LISTENER)
            else:
                self._define_channel()
                self._listen_somewhere()
        except BaseException:
            self._manager.end("immediate")
            raise

    def end(self, mode: str = "immediate") -> None:
        """End the queue manager as endmqm does: quiesce, immediate or preemptive. `start` starts it again."""
        if self._server is not None:
            self._server.end(mode)
        self._server = self._manager = None

    def _define_channel(self) -> None:
        self.mqsc(f"DEFINE CHANNEL({self.channel}) CHLTYPE(SVRCONN) TRPTYPE(TCP) REPLACE")

    def _listen_somewhere(self) -> None:
        """Listen on a free port. If another process takes it in the meantime, try another one."""
        for tries_left in reversed(range(_PORT_TRIES)):
            port = _free_port()
            self.mqsc(f"DEFINE LISTENER({LISTENER}) TRPTYPE(TCP) IPADDR({HOST}) PORT({port}) CONTROL(MANUAL) REPLACE")
            try:
                self.server.start_listener(LISTENER)
            except ListenerRefused:
                if not tries_left:
                    raise
            else:
                self.port = port
                return

    # -- shortcuts for tests -----------------------------------------------------------------------------------------

    def mqsc(self, text: str) -> list[str]:
        """Run MQSC commands and return the lines of the answer. Raises MqscError when a command fails."""
        lines: list[str] = []
        for answer in run_script(self.server.target, text, echo=False):
            if isinstance(answer, ScriptCounts):
                if answer.exit_code:
                    raise MqscError("\n".join([*(line.strip() for line in text.splitlines()), *lines]))
            else:
                lines.append(answer)
        return lines

    def add_user(self, user: str, password: str, *groups: str) -> None:
        """Add a user to the password file, for a guarded queue manager. Members of group mqm administer it."""
        entry = UserEntry(user, hash_password(password, secrets.token_bytes(16)), groups)
        with edit_passwords(self.manager.directory) as passwords:
            passwords.set_user(entry)
        self.manager.users.forget()

    def connect(self, user: str | None = None) -> Connection:
        """Return a connection within this process, not over the network."""
        return ostler.connect(self.manager, user=user, application="ostler.testing")

    def put(self, queue: str, body: Message | bytes | str, **fields: Unpack[MessageFields]) -> Message:
        """Put a message, for the program under test to find."""
        with self.connect() as connection:
            return connection.put(queue, body, **fields)

    def get(self, queue: str, wait: float | None = 0) -> Message | None:
        """Get a message that the program under test has put; None when there is none, or none arrives in time."""
        with self.connect() as connection, connection.open(queue, "r") as opened:
            return opened.get(wait=wait)

    def browse(self, queue: str) -> list[Message]:
        """Return all messages of a queue, without removing them."""
        with self.connect() as connection, connection.open(queue, "b") as opened:
            return list(opened.browse())

    def depth(self, queue: str) -> int:
        """Return the number of messages on a queue, uncommitted ones included."""
        with self.connect() as connection, connection.open(queue, "b") as opened:
            return opened.depth

    @contextmanager
    def isolated(self, mqsc: str = "") -> Iterator[RunningQueueManager]:
        """Restore the state of the queue manager at the end of the block: objects are as before, queues are empty."""
        baseline = self._baseline()
        try:
            if mqsc:
                self.mqsc(mqsc)
            yield self
        finally:
            if self._server is None:
                self.start()
                baseline = baseline.for_restarted(self.manager, self._stop_service)
            baseline.restore()

    def _baseline(self) -> Baseline:
        return Baseline(self.manager, self._stop_service)

    def _stop_service(self, definition: Definition) -> None:
        server, name = self.server, definition.name
        is_listener = definition.object_type == ObjectType.LISTENER
        if is_listener and any(each.name == name for each in server.listener_status()):
            server.stop_listener(name)
        is_channel = definition.object_type == ObjectType.CHANNEL
        if is_channel and any(each.name == name for each in server.channel_status()):
            server.stop_channel(name, "FORCE", "INACTIVE")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def queue_manager(
    name: str = NAME,
    *,
    mqsc: str = "",
    data: str | Path | None = None,
    channel: str = CHANNEL,
    guarded: bool = False,
) -> Iterator[RunningQueueManager]:
    """Run a queue manager for the time of a block, with the objects that `mqsc` defines.

    It has a server-connection channel of the given name and listens on a free port of 127.0.0.1. Its files are in
    `data`, or in a temporary directory. Every client may do everything, with any user and password, unless it is
    `guarded`: then it has the security of a new queue manager, which rejects all clients until channel rules,
    authorities and passwords are set.
    """
    with tempfile.TemporaryDirectory(prefix="ostler-testing-", ignore_cleanup_errors=True) as scratch:
        running = RunningQueueManager(name, Path(scratch if data is None else data).absolute(), channel, guarded)
        running.start()
        try:
            if mqsc:
                running.mqsc(mqsc)
            yield running
        finally:
            running.end()
