"""A loop over sockets with nothing around it: the least cost of driving clients."""

from __future__ import annotations

import select
import socket
import time
from typing import Final

from ostler.lab.load.bare.client import HELLO, REQUESTER, WELCOME
from ostler.lab.load.client import LoadFailed, reply_for

_READ_BYTES: Final = 8192
_EVENTS_MAX: Final = 256
_SILENT_SECONDS_MAX: Final = 30.0


class BareLoop:
    """Blocks that go to an echo and come back, on some connections. It keeps no times and checks no answers."""

    def __init__(self, address: tuple[str, int], connections: int, block_bytes: int) -> None:
        self._block = reply_for(1, block_bytes)
        self._epoll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        for number in range(connections):
            sock = socket.create_connection(address, timeout=_SILENT_SECONDS_MAX)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(HELLO.pack(REQUESTER, number))
            if sock.recv(1) != WELCOME:
                raise LoadFailed("the probe's server did not welcome its client")
            sock.setblocking(False)
            self._sockets[sock.fileno()] = sock
            self._epoll.register(sock.fileno(), select.EPOLLIN)

    def run(self, seconds: float) -> int:
        """Keep every connection busy for some time, and return the number of blocks that came back."""
        sockets, poll, block = self._sockets, self._epoll.poll, self._block
        size = len(block)
        received = dict.fromkeys(sockets, 0)
        done, active = 0, len(sockets)
        end_ns = time.perf_counter_ns() + int(seconds * 1e9)
        for sock in sockets.values():
            sock.send(block)
        while active:
            events = poll(_SILENT_SECONDS_MAX, _EVENTS_MAX)
            if not events:
                raise LoadFailed(f"{active} blocks were not there within {_SILENT_SECONDS_MAX:.0f} s")
            goes_on = time.perf_counter_ns() < end_ns
            for descriptor, _ in events:
                sock = sockets[descriptor]
                came = len(sock.recv(_READ_BYTES))
                if came == 0:
                    raise LoadFailed("the probe's server closed a connection")
                if came != size:
                    received[descriptor] += came
                    if received[descriptor] < size:
                        continue
                    received[descriptor] = 0
                done += 1
                if goes_on:
                    sock.send(block)
                else:
                    active -= 1
        return done

    def close(self) -> None:
        for sock in self._sockets.values():
            sock.close()
        self._epoll.close()
