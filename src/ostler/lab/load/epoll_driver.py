"""Many clients driven by one thread: an epoll loop that receives, asks the client, and sends."""

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import suppress
from dataclasses import dataclass

from ostler.lab.load.client import LoadClient, LoadFailed, Pace

# A buffer is allocated for each read: small ones for those who are sent little.
_READ_BYTES = 8192
_READ_BYTES_MAX = 65536
_EVENTS_MAX = 256
_POLL_SECONDS = 0.2
_OPEN_SECONDS_MAX = 60.0
_SILENT_SECONDS_MAX = 30.0
_CLOSED = "the broker closed a connection"
_READ, _WRITE = select.EPOLLIN, select.EPOLLOUT

Address = tuple[str, int] | str
"""Host and port, or the path of a Unix socket."""


@dataclass(frozen=True)
class Round:
    """What one round came to, in the eyes of the driver."""

    done: int
    seconds: float
    latencies_ns: list[int]


def connected(address: Address) -> socket.socket:
    """A connected socket that does not block."""
    if isinstance(address, str):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # An address holds 107 bytes; through its directory's descriptor a path is always short.
        directory = os.open(os.path.dirname(address), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sock.connect(f"/proc/self/fd/{directory}/{os.path.basename(address)}")
        finally:
            os.close(directory)
    else:
        sock = socket.create_connection(address, timeout=_OPEN_SECONDS_MAX)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    return sock


class _Link:
    """A client, its socket, and what the socket did not take yet."""

    def __init__(self, sock: socket.socket, client: LoadClient) -> None:
        self.sock = sock
        self.client = client
        self.backlog = b""
        self.read_bytes = _READ_BYTES


class EpollDriver:
    """Opens connections for clients, and runs rounds in which every requester is always waiting for a reply."""

    def __init__(self, address: Address, pace: Pace) -> None:
        self._address = address
        self._pace = pace
        self._epoll = select.epoll()
        self._links: dict[int, _Link] = {}
        self._watched = -1

    def open(self, clients: list[LoadClient]) -> None:
        """Connect, and return when all of them are ready."""
        for client in clients:
            link = _Link(connected(self._address), client)
            self._links[link.sock.fileno()] = link
            self._epoll.register(link.sock.fileno(), _READ)
            self._send(link, client.opening())
            # One after the other: a listener's queue of connections is short.
            deadline = time.monotonic() + _OPEN_SECONDS_MAX
            while not client.is_ready:
                self._turn()
                if time.monotonic() > deadline:
                    raise LoadFailed("the broker did not complete a connection in time")

    def round(self, seconds: float) -> Round:
        """Keep all requesters busy for some time, then wait for the replies that are under way."""
        pace = self._pace
        requesters = [link for link in self._links.values() if link.client.is_requester]
        pace.latencies_ns = []
        # Of a round without length every requester makes one round trip.
        pace.goes_on = seconds > 0
        pace.active = len(requesters)
        began = time.perf_counter_ns()
        end = began + int(seconds * 1e9)
        for link in requesters:
            self._send(link, link.client.begin(time.perf_counter_ns()))
        silent_since, count = began, 0
        while pace.active:
            self._turn()
            now = time.perf_counter_ns()
            if now >= end:
                pace.goes_on = False
            if len(pace.latencies_ns) != count:
                silent_since, count = now, len(pace.latencies_ns)
            elif now - silent_since > _SILENT_SECONDS_MAX * 1e9:
                raise LoadFailed(f"{pace.active} replies were not there within {_SILENT_SECONDS_MAX:.0f} s")
        took = (time.perf_counter_ns() - began) / 1e9
        return Round(len(pace.latencies_ns), took, pace.latencies_ns)

    def serve_until_readable(self, descriptor: int) -> None:
        """Between rounds: answer other drivers' requests until there is something to read from a descriptor."""
        self._epoll.register(descriptor, _READ)
        self._watched = descriptor
        while self._watched >= 0:
            self._turn()
        self._epoll.unregister(descriptor)

    def close(self) -> None:
        for link in self._links.values():
            # The broker may be gone already, and then there is nothing to say.
            with suppress(OSError, LoadFailed):
                self._send(link, link.client.closing())
            link.sock.close()
        self._links.clear()
        self._epoll.close()

    def _turn(self) -> None:
        links = self._links
        for descriptor, events in self._epoll.poll(_POLL_SECONDS, _EVENTS_MAX):
            if descriptor == self._watched:
                self._watched = -1
                continue
            link = links[descriptor]
            if events & _WRITE:
                self._send(link, b"")
            if events & ~_WRITE:
                try:
                    data = link.sock.recv(link.read_bytes)
                except BlockingIOError:
                    continue
                except ConnectionResetError:
                    data = b""
                if not data:
                    raise LoadFailed(_CLOSED)
                link.read_bytes = _READ_BYTES if len(data) < _READ_BYTES else _READ_BYTES_MAX
                answer = link.client.receive(data, time.perf_counter_ns())
                if answer:
                    self._send(link, answer)

    def _send(self, link: _Link, data: bytes) -> None:
        if link.backlog:
            data = link.backlog + data
        try:
            sent = link.sock.send(data) if data else 0
        except BlockingIOError:
            sent = 0
        except (BrokenPipeError, ConnectionResetError):
            raise LoadFailed(_CLOSED) from None
        if sent != len(data):
            link.backlog = data[sent:]
            self._epoll.modify(link.sock.fileno(), _READ | _WRITE)
        elif link.backlog:
            link.backlog = b""
            self._epoll.modify(link.sock.fileno(), _READ)
