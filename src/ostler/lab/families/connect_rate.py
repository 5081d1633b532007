"""An application that connects over TCP and disconnects repeatedly: to a queue manager, or to a bare server."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from typing import Final

from ostler.lab.common.channel_rules import user_name, user_rules
from ostler.lab.common.processor_time import used_ns
from ostler.lab.families.task import RESULT, Loop, ProcessorUse
from ostler.lab.load.bare import server as bare_server
from ostler.lab.load.bare.client import BareClient
from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.drivers.connection_flood import ConnectingClient, connected_from
from ostler.lab.load.timeline import COOLING_DOWN, MEASURED, PhaseRecorder
from ostler.lab.peers.broker_process import LOOPBACK
from ostler.lab.runner.contract import CONNECT, Metric
from ostler.model.definitions import Definition
from ostler.security.channel_authentication import ChannelRules, default_rules

DISCONNECT: Final = "disconnect"
SERVER_TIME: Final = "server us per connect"
DRIVER_TIME: Final = "driver us per connect"
DECISION_TIME: Final = "us of one decision"
BLOCK_BYTES: Final = 2048
_READ_BYTES: Final = 8192
_SECONDS_MAX: Final = 30.0
_DECISIONS: Final = 20_000

Address = tuple[str, int]


class ConnectLoop(Loop):
    """A connection is complete when the queue manager has accepted the application, and is closed in good order.

    Processor time is that of both sides, for the whole connection: accepting, authorising, connecting, disconnecting.
    """

    main_operation = CONNECT

    def __init__(self, address: Address, server_pid: int) -> None:
        self._address = address
        self._server_pid = server_pid
        self._connections = 0
        self._window = _Window(server_pid)

    def client(self) -> LoadClient:
        raise NotImplementedError

    def leave(self, sock: socket.socket, client: LoadClient) -> None:
        """Disconnect, where the protocol has that."""

    def begin(self, recorder: PhaseRecorder) -> None:
        self._connects, self._disconnects = recorder.operation(CONNECT), recorder.operation(DISCONNECT)
        self._window = _Window(self._server_pid)

    def entered(self, phase: int) -> None:
        self._window.entered(phase)

    def turn(self) -> int:
        client = self.client()
        began = time.perf_counter_ns()
        sock = connected_from(self._connections, self._address)
        self._connections += 1
        try:
            sock.settimeout(_SECONDS_MAX)
            sock.sendall(client.opening())
            while not client.is_ready:
                exchange(sock, client)
            between = time.perf_counter_ns()
            self.leave(sock, client)
        finally:
            sock.close()
        end = time.perf_counter_ns()
        self._connects.record(began, between)
        self._disconnects.record(between, end)
        self._window.turns += 1
        return end

    def results(self) -> list[Metric]:
        return self._window.results()

    def close(self) -> None:
        return


def exchange(sock: socket.socket, client: LoadClient) -> None:
    """Receive once, and send the client's answer."""
    data = sock.recv(_READ_BYTES)
    if not data:
        raise LoadFailed("the server closed a connection")
    answer = client.receive(data, 0)
    if answer:
        sock.sendall(answer)


class _Window:
    """Processor time of server and driver in the window, for each turn in it."""

    def __init__(self, server_pid: int) -> None:
        self.turns = 0
        self._server_pid = server_pid
        self._own = ProcessorUse()
        self._turns_before = self._turns_within = 0
        self._used_before = self._used_within = 0

    def entered(self, phase: int) -> None:
        self._own.entered(phase)
        if phase == MEASURED:
            self._turns_before, self._used_before = self.turns, used_ns(self._server_pid)
        elif phase == COOLING_DOWN:
            self._turns_within = self.turns - self._turns_before
            self._used_within = used_ns(self._server_pid) - self._used_before

    def results(self) -> list[Metric]:
        if not self._turns_within:
            return []
        return [
            Metric(RESULT, SERVER_TIME, self._used_within / 1000 / self._turns_within),
            Metric(RESULT, DRIVER_TIME, self._own.nanoseconds / 1000 / self._turns_within),
        ]


class QueueManagerConnects(ConnectLoop):
    """Connects to a channel with a record for each of this many users, as the last of them.

    The time of one decision on the records is measured after the window, unless they are not applied.
    """

    def __init__(self, address: Address, server_pid: int, channel: str, rules: int, is_applied: bool) -> None:
        super().__init__(address, server_pid)
        self._channel = channel
        self._user = user_name(max(rules - 1, 0))
        self._table = rule_table(user_rules(channel, rules)) if is_applied else None

    def client(self) -> LoadClient:
        return ConnectingClient(self._channel, 1, self._user)

    def leave(self, sock: socket.socket, client: LoadClient) -> None:
        assert isinstance(client, ConnectingClient)
        sock.sendall(client.closing())
        while not client.has_left:
            exchange(sock, client)

    def results(self) -> list[Metric]:
        found = super().results()
        if self._table is not None:
            decision_us = decision_ns(self._table, self._channel, LOOPBACK, self._user) / 1000
            found.append(Metric(RESULT, DECISION_TIME, decision_us))
        return found


def rule_table(rules: Iterable[Definition]) -> ChannelRules:
    """Return the records that a queue manager has from the beginning, and these."""
    table = ChannelRules()
    for definition in (*default_rules(), *rules):
        table.put(definition)
    return table


def decision_ns(table: ChannelRules, channel: str, address: str, user: str) -> float:
    """Return the processor time of one decision on a client, in nanoseconds. Raises LoadFailed when it is
    refused."""
    if table.decide(channel, address, "", user, None, None).is_refused:
        raise LoadFailed(f"the records refuse {user} on {channel}")
    began = time.process_time_ns()
    for _ in range(_DECISIONS):
        table.decide(channel, address, "", user, None, None)
    return (time.process_time_ns() - began) / _DECISIONS


class BareConnects(ConnectLoop):
    """The least cost of a connection: accept, one exchange and close. The server is its own."""

    def __init__(self) -> None:
        listener = bare_server.listening((LOOPBACK, 0))
        self._server = bare_server.start(bare_server.ECHO, listener, BLOCK_BYTES)
        address: Address = listener.getsockname()
        listener.close()
        super().__init__(address, self._server.pid)

    def client(self) -> LoadClient:
        return BareClient(Pace(), True, self._connections, BLOCK_BYTES)

    def close(self) -> None:
        self._server.terminate()
        self._server.wait()
