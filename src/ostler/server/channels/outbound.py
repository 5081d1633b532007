"""Calls partners for message channels, away from the reactor, which must not wait for name servers and far machines.

One thread makes all calls at once, without waiting for any: a thousand channels that start together, many of them to
machines that are down, do not stand in each other's way. Names are looked up on a few other threads; addresses need no
look-up. The addresses of a connection name are tried in order until one answers. What comes of it is posted to the
reactor.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from ostler.model.connection_names import Address, LocalAddress, parse_connection_names, parse_local_addresses
from ostler.model.errors import MQError
from ostler.server.net.dns import HostResolver, log
from ostler.server.net.outgoing_sockets import (
    HostAddress,
    LocalBinding,
    connect_result,
    error_text,
    local_bindings,
    resolve_host,
    set_keep_alive,
    start_connect,
)
from ostler.server.supervised_thread import SupervisedThread

Post = Callable[[Callable[[], None]], None]
"""Has something done on the reactor's thread, under the engine's lock."""

CONNECT_SECONDS: Final = 30.0  # for each address, and for each look-up
CALLS_MAX: Final = 512  # under way at once; others wait for their turn
_STOP_SECONDS: Final = 5.0


class ConnectAttempt:
    """A channel's try to reach its partner. All but `cancel` and `is_over` belongs to the thread that calls."""

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
        self.is_over = False  # its outcome was told, or nobody wants to know
        self.names: deque[Address] = deque()  # that are still to be tried
        self.local: list[LocalAddress] = []
        self.known: dict[str, list[HostAddress]] = {}  # hosts that were looked up
        self.asked = ""  # the host that is being looked up
        self.bindings: list[LocalBinding] | None = None
        self.name = Address("", 0)
        self.addresses: deque[HostAddress] = deque()  # of this name, that are still to be tried
        self.address = HostAddress(0, "")
        self.socket: socket.socket | None = None  # while it is called
        self.deadline = 0.0
        self.tried: list[str] = []

    def cancel(self) -> None:
        """Let it be: nobody is told of its outcome any more. On the reactor's thread."""
        self._connector.cancel(self)

    def note(self, error: OSError) -> None:
        """An address did not work out."""
        host = self.address.host
        named = f"{self.name} at {host}" if host != self.name.host else str(self.name)
        self.tried.append(f"{named}: {error_text(error)}")


class OutboundConnector:
    """Calls partners. From any thread, unless something else is said."""

    def __init__(
        self,
        post: Post,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        calls_max: int = CALLS_MAX,
        look: Callable[[str], list[HostAddress]] = resolve_host,
        note: Callable[[str], None] = log.error,
    ) -> None:
        """`look` tells the addresses of a host, and may take its time. `note` hears of failures of the threads."""
        self._post = post
        self._connect_seconds = connect_seconds
        self._calls_max = calls_max
        self._note = note
        self._look_ups = HostResolver(self._looked_up, look, note)
        self._turn = threading.Lock()  # of what several threads see: the next ones
        self._is_closed = False
        self._thread: SupervisedThread | None = None
        self._tasks: deque[Callable[[], None]] = deque()
        self._untold: dict[ConnectAttempt, socket.socket] = {}  # that are posted to the reactor
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        # The rest belongs to the thread that calls.
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake_fd, selectors.EVENT_READ)
        self._waiting: deque[ConnectAttempt] = deque()  # for their turn to call
        self._calling: dict[ConnectAttempt, None] = {}  # the oldest first; so are the next ones
        self._looking_up: dict[ConnectAttempt, None] = {}
        self._asking: dict[str, list[ConnectAttempt]] = {}  # by host
        self._port_turn = 0

    def connect(
        self,
        names: str,
        local_address: str,
        keep_alive: int,
        then: Callable[[socket.socket, str], None],
        failed: Callable[[str], None],
    ) -> ConnectAttempt:
        """Try to reach one of the addresses of a connection name.

        One of two is called, once, posted to the reactor and never from here: `then` with a socket that does not block,
        and where it leads to, such as 10.0.0.1(1414); or `failed` with a sentence of what was tried and why it did not
        work. `keep_alive` is in seconds; see `keep_alive_seconds`. After `close` neither is called.
        """
        attempt = ConnectAttempt(self, keep_alive, then, failed)
        try:
            attempt.names.extend(parse_connection_names(names))
            attempt.local = parse_local_addresses(local_address)
            self._hand_over(partial(self._step, attempt, self._go_on))
        except MQError as error:
            self._post(partial(self._fail, attempt, error.detail))
        except RuntimeError as error:
            self._post(partial(self._fail, attempt, f"No partner could be called: {error}."))
        return attempt

    def cancel(self, attempt: ConnectAttempt) -> None:
        attempt.is_over = True
        if self._thread is not None:
            self._hand_over(partial(self._drop, attempt))

    def close(self) -> None:
        """Let all attempts be, and end the threads. A look-up that hangs is left behind."""
        with self._turn:
            if self._is_closed:
                return
            self._is_closed = True
            os.eventfd_write(self._wake_fd, 1)
        self._look_ups.close()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
        with self._turn:
            for connected in self._untold.values():
                connected.close()
            self._untold.clear()
            self._selector.close()
            os.close(self._wake_fd)

    def _hand_over(self, task: Callable[[], None]) -> None:
        """Have something done by the thread that calls. RuntimeError when there can be no thread."""
        with self._turn:
            if self._is_closed:
                return
            if self._thread is None:
                thread = SupervisedThread(
                    "ostler-connector", "thread that calls partners", self._run, lambda: self._is_closed, self._note
                )
                thread.start()
                self._thread = thread
            self._tasks.append(task)
            os.eventfd_write(self._wake_fd, 1)

    # -- on the reactor's thread ---------------------------------------------------------------------------------------

    def _succeed(self, attempt: ConnectAttempt, address: str) -> None:
        with self._turn:
            connected = self._untold.pop(attempt, None)
        if connected is None:
            return
        if attempt.is_over:
            connected.close()
            return
        attempt.is_over = True
        attempt.then(connected, address)

    def _fail(self, attempt: ConnectAttempt, text: str) -> None:
        if attempt.is_over or self._is_closed:
            return
        attempt.is_over = True
        attempt.failed(text)

    # -- the thread that calls -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._is_closed:
            for key, _ in self._selector.select(self._seconds_to_wait()):
                if isinstance(key.data, ConnectAttempt):
                    self._step(key.data, self._answered)
                else:
                    os.eventfd_read(self._wake_fd)
            while self._tasks:
                self._tasks.popleft()()
            self._give_up_late_ones()
            while self._waiting and len(self._calling) < self._calls_max:
                self._step(self._waiting.popleft(), self._call_next)
        for attempt in list(self._calling):
            self._hang_up(attempt)

    def _seconds_to_wait(self) -> float | None:
        if self._tasks or (self._waiting and len(self._calling) < self._calls_max):
            return 0.0  # left by a failure
        first = [next(iter(each)).deadline for each in (self._calling, self._looking_up) if each]
        return max(0.0, min(first) - time.monotonic()) if first else None

    def _step(self, attempt: ConnectAttempt, step: Callable[[ConnectAttempt], None]) -> None:
        """Do something for an attempt. Whatever goes wrong with it, the others go on."""
        if attempt.is_over:
            return
        try:
            step(attempt)
        except Exception as error:
            attempt.tried.append(f"{attempt.name}: {error!r}")
            self._drop(attempt)
            self._give_up(attempt)

    def _go_on(self, attempt: ConnectAttempt) -> None:
        """Do what comes next: look something up, wait for the turn to call, or give up."""
        if attempt.bindings is None:
            for local in attempt.local:
                if local.host and not self._knows(attempt, local.host):
                    return
            attempt.bindings = local_bindings(attempt.local, attempt.known)
        while not attempt.addresses:
            if not attempt.names:
                self._give_up(attempt)
                return
            if not self._knows(attempt, attempt.names[0].host):
                return
            attempt.name = attempt.names.popleft()
            attempt.addresses.extend(attempt.known[attempt.name.host])
        self._waiting.append(attempt)

    def _call_next(self, attempt: ConnectAttempt) -> None:
        attempt.address = attempt.addresses.popleft()
        self._port_turn += 1
        try:
            made = start_connect(attempt.address, attempt.name.port, attempt.bindings or [], self._port_turn)
        except OSError as error:
            attempt.note(error)
            self._go_on(attempt)
            return
        try:
            self._selector.register(made, selectors.EVENT_WRITE, attempt)
        except OSError:
            made.close()
            raise
        attempt.socket = made
        attempt.deadline = time.monotonic() + self._connect_seconds
        self._calling[attempt] = None

    def _answered(self, attempt: ConnectAttempt) -> None:
        """The partner is there; or its machine says that nobody is."""
        connected = attempt.socket
        if connected is None:
            return
        code = connect_result(connected)
        if code:
            self._not_answered(attempt, code)
            return
        set_keep_alive(connected, attempt.keep_alive)
        self._forget_call(attempt)
        with self._turn:
            self._untold[attempt] = connected
        self._post(partial(self._succeed, attempt, f"{attempt.address.host}({attempt.name.port})"))

    def _not_answered(self, attempt: ConnectAttempt, code: int) -> None:
        self._hang_up(attempt)
        attempt.note(OSError(code, os.strerror(code)))
        self._go_on(attempt)

    def _give_up(self, attempt: ConnectAttempt) -> None:
        self._post(partial(self._fail, attempt, f"No partner could be reached. {'; '.join(attempt.tried)}."))

    def _give_up_late_ones(self) -> None:
        now = time.monotonic()
        for attempt in _late(self._calling, now):
            self._step(attempt, partial(self._not_answered, code=errno.ETIMEDOUT))
        why = f"it could not be looked up within {self._connect_seconds:g} seconds"
        for attempt in _late(self._looking_up, now):
            self._step(attempt, partial(self._not_known, why=why))

    def _drop(self, attempt: ConnectAttempt) -> None:
        self._hang_up(attempt)
        self._looking_up.pop(attempt, None)

    def _hang_up(self, attempt: ConnectAttempt) -> None:
        made = attempt.socket
        if made is not None:
            self._forget_call(attempt)
            made.close()

    def _forget_call(self, attempt: ConnectAttempt) -> None:
        if attempt.socket is not None:
            self._selector.unregister(attempt.socket)
            del self._calling[attempt]
            attempt.socket = None

    # -- look-ups ------------------------------------------------------------------------------------------------------

    def _knows(self, attempt: ConnectAttempt, host: str) -> bool:
        """Whether the addresses of a host are known. If not, they are asked for, and the attempt goes on later."""
        if host in attempt.known:
            return True
        try:
            attempt.known[host] = resolve_host(host, is_numeric=True)
        except OSError:
            attempt.asked = host
            attempt.deadline = time.monotonic() + self._connect_seconds
            self._looking_up[attempt] = None
            self._asking.setdefault(host, []).append(attempt)
            self._look_ups.ask(host)
            return False
        return True

    def _looked_up(self, host: str, found: list[HostAddress], why: str) -> None:
        """On a thread that looks up."""
        self._hand_over(partial(self._tell, host, found, why))

    def _tell(self, host: str, found: list[HostAddress], why: str) -> None:
        for attempt in self._asking.pop(host, []):
            # Those who gave up waiting may be looking for another host by now.
            if attempt not in self._looking_up or attempt.asked != host:
                continue
            if found:
                del self._looking_up[attempt]
                attempt.known[host] = found
                self._step(attempt, self._go_on)
            else:
                self._step(attempt, partial(self._not_known, why=why))

    def _not_known(self, attempt: ConnectAttempt, why: str) -> None:
        self._looking_up.pop(attempt, None)
        if attempt.bindings is None:
            attempt.tried.append(f"local address {attempt.asked}: {why}")
            self._give_up(attempt)
            return
        attempt.tried.append(f"{attempt.names.popleft()}: {why}")
        self._go_on(attempt)


def _late(attempts: dict[ConnectAttempt, None], now: float) -> list[ConnectAttempt]:
    """Those whose time is up. The oldest come first, and all have the same time."""
    late: list[ConnectAttempt] = []
    for attempt in attempts:
        if attempt.deadline > now:
            break
        late.append(attempt)
    return late
