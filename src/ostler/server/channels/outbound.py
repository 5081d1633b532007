"""Outbound connections of message channels, made outside the reactor, which must not wait for DNS or for the network.

One thread makes all connections with non-blocking sockets, so that a thousand channels may start together even if many
of their partners are down. Host names are resolved on a few other threads; addresses need no look-up. The addresses of
a connection name are tried in order until one answers. The result is posted to the reactor.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from ostler.model.connection_names import Address, LocalAddress, parse_connection_names, parse_local_addresses
from ostler.model.errors import MQError
from ostler.server.machine import MACHINE, Machine
from ostler.server.net.dns import HostResolver, log
from ostler.server.net.outgoing_sockets import (
    HostAddress,
    LocalBinding,
    connect_result,
    error_text,
    local_bindings,
    resolve_host,
    set_keep_alive,
)
from ostler.server.supervised_thread import SupervisedThread

Post = Callable[[Callable[[], None]], None]
"""Runs a function on the reactor's thread, under the engine's lock."""

CONNECT_SECONDS: Final = 30.0  # for each address and for each look-up
CALLS_MAX: Final = 512  # in progress at once; others wait for their turn
_STOP_SECONDS: Final = 5.0


class ConnectAttempt:
    """An attempt to connect to a partner. All but `cancel` and `is_done` belongs to the connector's thread."""

    def __init__(
        self,
        connector: OutboundConnector,
        keep_alive: int,
        then: Callable[[socket.socket, str], None],
        failed: Callable[[str], None],
    ) -> None:
        self._connector = connector
        self.keep_alive = keep_alive
        self.then = then
        self.failed = failed
        self.is_done = False  # its result was delivered, or it was cancelled
        self.names: deque[Address] = deque()  # that remain to be tried
        self.local: list[LocalAddress] = []
        self.known: dict[str, list[HostAddress]] = {}  # resolved hosts
        self.pending_host = ""  # the host that is being resolved
        self.bindings: list[LocalBinding] | None = None
        self.name = Address("", 0)
        self.addresses: deque[HostAddress] = deque()  # of this name, that remain to be tried
        self.address = HostAddress(0, "")
        self.socket: socket.socket | None = None  # while connecting
        self.deadline = 0.0
        self.failures: list[str] = []

    def cancel(self) -> None:
        """Cancel the attempt: neither callback is called any more. On the reactor's thread."""
        self._connector.cancel(self)

    def add_failure(self, error: OSError) -> None:
        """Record the failure of the current address."""
        host = self.address.host
        named = f"{self.name} at {host}" if host != self.name.host else str(self.name)
        self.failures.append(f"{named}: {error_text(error)}")


class OutboundConnector:
    """Connects to partners. Methods may be called from any thread unless they say otherwise."""

    def __init__(
        self,
        post: Post,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        calls_max: int = CALLS_MAX,
        resolve: Callable[[str], list[HostAddress]] = resolve_host,
        note: Callable[[str], None] = log.error,
        machine: Machine = MACHINE,
    ) -> None:
        """`resolve` returns the addresses of a host, and may block. `note` logs failures of the threads."""
        self._post = post
        self._machine = machine
        self._connect_seconds = connect_seconds
        self._calls_max = calls_max
        self._note = note
        self._look_ups = HostResolver(self._looked_up, resolve, note)
        self._lock = machine.lock()  # guards the attributes that several threads use: the next ones
        self._is_closed = False
        self._thread: SupervisedThread | None = None
        self._tasks: deque[Callable[[], None]] = deque()
        self._connected: dict[ConnectAttempt, socket.socket] = {}  # posted to the reactor, not yet delivered
        self._wake_fd = machine.eventfd()
        # The rest belongs to the connector's thread.
        self._selector = machine.selector()
        self._selector.register(self._wake_fd, selectors.EVENT_READ)
        self._waiting: deque[ConnectAttempt] = deque()  # for their turn to connect
        self._connecting: dict[ConnectAttempt, None] = {}  # the oldest first, as in the next two
        self._resolving: dict[ConnectAttempt, None] = {}
        self._by_host: dict[str, list[ConnectAttempt]] = {}  # waiting for a look-up
        self._port_turn = 0

    def connect(
        self,
        names: str,
        local_address: str,
        keep_alive: int,
        then: Callable[[socket.socket, str], None],
        failed: Callable[[str], None],
    ) -> ConnectAttempt:
        """Connect to one of the addresses of a connection name.

        One of the two callbacks is called once, posted to the reactor and never from within this call: `then` with a
        non-blocking socket and its address, such as 10.0.0.1(1414), or `failed` with a text that lists the failures.
        `keep_alive` is in seconds; see `keep_alive_seconds`. After `close` neither is called.
        """
        attempt = ConnectAttempt(self, keep_alive, then, failed)
        try:
            attempt.names.extend(parse_connection_names(names))
            attempt.local = parse_local_addresses(local_address)
            self._hand_over(partial(self._step, attempt, self._advance))
        except MQError as error:
            self._post(partial(self._fail, attempt, error.detail))
        except RuntimeError as error:
            self._post(partial(self._fail, attempt, f"No connection could be started: {error}."))
        return attempt

    def cancel(self, attempt: ConnectAttempt) -> None:
        attempt.is_done = True
        if self._thread is not None:
            self._hand_over(partial(self._drop, attempt))

    def close(self) -> None:
        """Cancel all attempts and end the threads. A look-up that hangs is abandoned."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._machine.eventfd_write(self._wake_fd, 1)
        self._look_ups.close()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
        with self._lock:
            for connected in self._connected.values():
                connected.close()
            self._connected.clear()
            self._selector.close()
            self._machine.close(self._wake_fd)

    def _hand_over(self, task: Callable[[], None]) -> None:
        """Run a task on the connector's thread. RuntimeError if the thread cannot be started."""
        with self._lock:
            if self._is_closed:
                return
            if self._thread is None:
                thread = SupervisedThread(
                    "ostler-connector",
                    "thread that connects to partners",
                    self._run,
                    lambda: self._is_closed,
                    self._note,
                    machine=self._machine,
                )
                thread.start()
                self._thread = thread
            self._tasks.append(task)
            self._machine.eventfd_write(self._wake_fd, 1)

    # -- on the reactor's thread ---------------------------------------------------------------------------------------

    def _succeed(self, attempt: ConnectAttempt, address: str) -> None:
        with self._lock:
            connected = self._connected.pop(attempt, None)
        if connected is None:
            return
        if attempt.is_done:
            connected.close()
            return
        attempt.is_done = True
        attempt.then(connected, address)

    def _fail(self, attempt: ConnectAttempt, text: str) -> None:
        if attempt.is_done or self._is_closed:
            return
        attempt.is_done = True
        attempt.failed(text)

    # -- on the connector's thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._is_closed:
            for key, _ in self._selector.select(self._seconds_to_wait()):
                if isinstance(key.data, ConnectAttempt):
                    self._step(key.data, self._on_connected)
                else:
                    self._machine.eventfd_read(self._wake_fd)
            while self._tasks:
                self._tasks.popleft()()
            self._time_out()
            while self._waiting and len(self._connecting) < self._calls_max:
                self._step(self._waiting.popleft(), self._connect_next)
        for attempt in list(self._connecting):
            self._close_socket(attempt)

    def _seconds_to_wait(self) -> float | None:
        if self._tasks or (self._waiting and len(self._connecting) < self._calls_max):
            return 0.0  # work left behind by a failed pass
        first = [next(iter(each)).deadline for each in (self._connecting, self._resolving) if each]
        return max(0.0, min(first) - self._machine.monotonic()) if first else None

    def _step(self, attempt: ConnectAttempt, step: Callable[[ConnectAttempt], None]) -> None:
        """Run one step of an attempt. Its failure does not affect other attempts."""
        if attempt.is_done:
            return
        try:
            step(attempt)
        except Exception as error:
            attempt.failures.append(f"{attempt.name}: {error!r}")
            self._drop(attempt)
            self._fail_attempt(attempt)

    def _advance(self, attempt: ConnectAttempt) -> None:
        """Take the next step: resolve a host, wait for the turn to connect, or give up."""
        if attempt.bindings is None:
            for local in attempt.local:
                if local.host and not self._is_resolved(attempt, local.host):
                    return
            attempt.bindings = local_bindings(attempt.local, attempt.known)
        while not attempt.addresses:
            if not attempt.names:
                self._fail_attempt(attempt)
                return
            if not self._is_resolved(attempt, attempt.names[0].host):
                return
            attempt.name = attempt.names.popleft()
            attempt.addresses.extend(attempt.known[attempt.name.host])
        self._waiting.append(attempt)

    def _connect_next(self, attempt: ConnectAttempt) -> None:
        attempt.address = attempt.addresses.popleft()
        self._port_turn += 1
        try:
            connecting = self._machine.start_connect(
                attempt.address, attempt.name.port, attempt.bindings or [], self._port_turn
            )
        except OSError as error:
            attempt.add_failure(error)
            self._advance(attempt)
            return
        try:
            self._selector.register(connecting, selectors.EVENT_WRITE, attempt)
        except OSError:
            connecting.close()
            raise
        attempt.socket = connecting
        attempt.deadline = self._machine.monotonic() + self._connect_seconds
        self._connecting[attempt] = None

    def _on_connected(self, attempt: ConnectAttempt) -> None:
        """Handle the result of a connect: success or an error."""
        connected = attempt.socket
        if connected is None:
            return
        code = connect_result(connected)
        if code:
            self._on_connect_failed(attempt, code)
            return
        set_keep_alive(connected, attempt.keep_alive)
        self._unregister(attempt)
        with self._lock:
            self._connected[attempt] = connected
        self._post(partial(self._succeed, attempt, f"{attempt.address.host}({attempt.name.port})"))

    def _on_connect_failed(self, attempt: ConnectAttempt, code: int) -> None:
        self._close_socket(attempt)
        attempt.add_failure(OSError(code, os.strerror(code)))
        self._advance(attempt)

    def _fail_attempt(self, attempt: ConnectAttempt) -> None:
        self._post(partial(self._fail, attempt, f"No partner could be reached. {'; '.join(attempt.failures)}."))

    def _time_out(self) -> None:
        now = self._machine.monotonic()
        for attempt in _late(self._connecting, now):
            self._step(attempt, partial(self._on_connect_failed, code=errno.ETIMEDOUT))
        why = f"it could not be looked up within {self._connect_seconds:g} seconds"
        for attempt in _late(self._resolving, now):
            self._step(attempt, partial(self._on_look_up_failed, why=why))

    def _drop(self, attempt: ConnectAttempt) -> None:
        self._close_socket(attempt)
        self._resolving.pop(attempt, None)

    def _close_socket(self, attempt: ConnectAttempt) -> None:
        made = attempt.socket
        if made is not None:
            self._unregister(attempt)
            made.close()

    def _unregister(self, attempt: ConnectAttempt) -> None:
        if attempt.socket is not None:
            self._selector.unregister(attempt.socket)
            del self._connecting[attempt]
            attempt.socket = None

    # -- look-ups ------------------------------------------------------------------------------------------------------

    def _is_resolved(self, attempt: ConnectAttempt, host: str) -> bool:
        """Return True if a host is resolved. Otherwise start the look-up, and continue the attempt later."""
        if host in attempt.known:
            return True
        try:
            attempt.known[host] = resolve_host(host, is_numeric=True)
        except OSError:
            attempt.pending_host = host
            attempt.deadline = self._machine.monotonic() + self._connect_seconds
            self._resolving[attempt] = None
            self._by_host.setdefault(host, []).append(attempt)
            self._look_ups.ask(host)
            return False
        return True

    def _looked_up(self, host: str, found: list[HostAddress], why: str) -> None:
        """Hand over a result from a look-up thread."""
        self._hand_over(partial(self._on_looked_up, host, found, why))

    def _on_looked_up(self, host: str, found: list[HostAddress], why: str) -> None:
        for attempt in self._by_host.pop(host, []):
            # An attempt that timed out may be resolving another host by now.
            if attempt not in self._resolving or attempt.pending_host != host:
                continue
            if found:
                del self._resolving[attempt]
                attempt.known[host] = found
                self._step(attempt, self._advance)
            else:
                self._step(attempt, partial(self._on_look_up_failed, why=why))

    def _on_look_up_failed(self, attempt: ConnectAttempt, why: str) -> None:
        self._resolving.pop(attempt, None)
        if attempt.bindings is None:
            attempt.failures.append(f"local address {attempt.pending_host}: {why}")
            self._fail_attempt(attempt)
            return
        attempt.failures.append(f"{attempt.names.popleft()}: {why}")
        self._advance(attempt)


def _late(attempts: dict[ConnectAttempt, None], now: float) -> list[ConnectAttempt]:
    """Return the attempts whose time is over. The oldest come first, and all have the same time limit."""
    late: list[ConnectAttempt] = []
    for attempt in attempts:
        if attempt.deadline > now:
            break
        late.append(attempt)
    return late
