"""Thousands of connections: opened as fast as the peer accepts them, from several loopback addresses, and kept."""

from __future__ import annotations

import os
import resource
import select
import socket
import time
from collections.abc import Callable

from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.link import Address
from ostler.model import constants as mq
from ostler.wire import connect_frames, frames, payload_codec

_READ_BYTES = 65536
_EVENTS_MAX = 256
_OPEN_SECONDS_MAX = 60.0
# Descriptors that a process needs for other things.
_DESCRIPTORS_KEPT = 200
# The limit used where there is none; a queue manager uses no more either.
_DESCRIPTORS_MAX = 1 << 20
# Each address has about 28,000 ports to connect from. Fewer are used, since closed ones stay in TIME_WAIT for a minute.
_CONNECTIONS_PER_ADDRESS = 5000
_ADDRESSES_MAX = 200

Note = Callable[[int, int], None]
"""Called for each connection with the times at which it was begun and ready, in nanoseconds."""


class ConnectingClient(LoadClient):
    """Connects one or more conversations on one socket, and is idle then."""

    def __init__(self, channel: str, conversations: int, user: str = "") -> None:
        super().__init__(Pace(), False)
        self._user = user
        self._channel = channel
        self._conversations = conversations
        self._connected = 0
        self._is_leaving = False
        self.has_left = False
        self._reader = frames.FrameReader(frames.SEGMENT_BYTES)

    def opening(self) -> bytes:
        hello = connect_frames.Hello(self._channel)
        hello.message_bytes_max = frames.MESSAGE_BYTES_MAX
        hello.conversations_max = self._conversations
        return frames.frame(frames.HELLO, 0, 1, hello.encode())

    def receive(self, data: bytes, now_ns: int) -> bytes:
        reader = self._reader
        reader.feed(data)
        answers: list[bytes] = []
        while reader.next():
            if reader.buffer[reader.start] != mq.MQCC_OK:
                words = reader.buffer[reader.start + 8 : reader.end]
                raise LoadFailed(f"a connection was refused: {words.decode(errors='replace')}")
            if reader.type == frames.HELLO | frames.REPLY:
                connect = connect_frames.ConnectArguments()
                connect.application = "ostler-lab"
                connect.user = self._user
                payload = connect.encode()
                answers += [frames.frame(frames.CONNECT, 1 + each, 1, payload) for each in range(self._conversations)]
            elif reader.type == frames.CONNECT | frames.REPLY:
                self._connected += 1
            elif reader.type == frames.DISCONNECT | frames.REPLY:
                self._connected -= 1
        self.is_ready = self._connected == self._conversations
        self.has_left = self._is_leaving and self._connected == 0
        return b"".join(answers)

    def closing(self) -> bytes:
        """Disconnect all conversations; `has_left` is set when all are answered."""
        self._is_leaving = True
        payload = payload_codec.numbers_payload([1])
        return b"".join(frames.frame(frames.DISCONNECT, 1 + each, 2, payload) for each in range(self._conversations))


def sockets_max(kept: int = _DESCRIPTORS_KEPT) -> int:
    """Return the number of sockets that this process may open, after raising its limit as far as possible.

    `kept` descriptors are reserved for other things.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hard if 0 <= hard <= _DESCRIPTORS_MAX else _DESCRIPTORS_MAX
    if 0 <= soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(most - kept, 1)


def connected_from(number: int, address: Address) -> socket.socket:
    """Return a socket for the connection with this number: after some thousands from another loopback address."""
    sock = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET, socket.SOCK_STREAM)
    try:
        if isinstance(address, str):
            _connect_unix(sock, address)
        else:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # Without this option the port would be chosen before the destination is known, from fewer ones.
            sock.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
            sock.bind((f"127.0.0.{1 + number // _CONNECTIONS_PER_ADDRESS % _ADDRESSES_MAX}", 0))
            sock.connect(address)
    except BaseException:
        sock.close()
        raise
    return sock


def _connect_unix(sock: socket.socket, path: str) -> None:
    # An address holds 107 bytes; through its directory's descriptor a path is always short.
    directory = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sock.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    finally:
        os.close(directory)


class ConnectionFlood:
    """Sockets to one address, each with a client. `window` of them are being connected at any time."""

    def __init__(self, address: Address, window: int = 64) -> None:
        self._address = address
        self._window = window
        self._epoll = select.epoll()
        self._links: dict[int, tuple[socket.socket, LoadClient]] = {}
        self._began_ns: dict[int, int] = {}
        self._opened = 0

    def open(
        self, clients: list[LoadClient], note: Note | None = None, seconds_max: float = _OPEN_SECONDS_MAX
    ) -> float:
        """Connect all clients, and return the seconds until the last one was ready."""
        began = time.perf_counter()
        waiting = list(reversed(clients))
        under_way = 0
        deadline = time.monotonic() + seconds_max
        while waiting or under_way:
            while waiting and under_way < self._window:
                self._connect(waiting.pop())
                under_way += 1
            under_way -= self._turn(note)
            if time.monotonic() > deadline:
                raise LoadFailed(f"{under_way} connections were not made in time, {len(waiting)} not begun")
        return time.perf_counter() - began

    def drop(self) -> None:
        """Close all connections. More can be opened afterwards."""
        for sock, _ in self._links.values():
            sock.close()
        self._links.clear()
        self._began_ns.clear()

    def close(self) -> None:
        self.drop()
        self._epoll.close()

    def _connect(self, client: LoadClient) -> None:
        began_ns = time.perf_counter_ns()
        sock = connected_from(self._opened, self._address)
        self._began_ns[sock.fileno()] = began_ns
        self._opened += 1
        sock.setblocking(False)
        self._links[sock.fileno()] = (sock, client)
        self._epoll.register(sock.fileno(), select.EPOLLIN)
        sock.send(client.opening())

    def _turn(self, note: Note | None) -> int:
        """Run one pass of the loop, and return how many became ready."""
        ready = 0
        for descriptor, _ in self._epoll.poll(0.2, _EVENTS_MAX):
            sock, client = self._links[descriptor]
            try:
                data = sock.recv(_READ_BYTES)
            except ConnectionResetError:
                data = b""
            if not data:
                raise LoadFailed(f"the peer closed a connection when {len(self._links):,} were open")
            was_ready = client.is_ready
            answer = client.receive(data, 0)
            if answer:
                sock.send(answer)
            if client.is_ready and not was_ready:
                ready += 1
                if note is not None:
                    note(self._began_ns[descriptor], time.perf_counter_ns())
        return ready
