"""The network of the simulator: connections that delay, cut and fill up as a seed decides.

A connection delivers bytes in order and at most once, as TCP does, in pieces of any size. It may be reset, so that each
end learns of it in its own time and a part of the bytes under way is lost. It may fall silent in one or both directions
without either end being told. Hosts may be parted for a while, after which everything that was held back arrives.
Buffers are small, so that writes are partial and sockets are full.
"""

from __future__ import annotations

import errno
import socket
import zlib
from collections import deque
from functools import partial
from random import Random
from typing import Final

from ostler.testing.simulation.polling import ERROR, GONE, READABLE, WRITABLE, Pollable
from ostler.testing.simulation.scheduler import Process, Scheduler, SimulationError

Address = tuple[str, int]

_WINDOWS_BYTES: Final = (4_096, 65_536, 262_144)
_DELAY_NS_MIN: Final = 20_000
_DELAYS_NS_MAX: Final = (60_000, 300_000, 2_000_000, 20_000_000)
_SLOW_SHARE: Final = 0.01  # of the packets, which are sent again after a loss
_SLOW_NS_MAX: Final = 400_000_000
_LATE_RESET_NS_MAX: Final = 5_000_000_000
_KEEPALIVE_SHARE: Final = 0.9  # of the connections with one end; heartbeats have to find the others
_PARTIAL_SHARE: Final = 0.03
_EPHEMERAL_PORTS: Final = 40_000


class Host:
    """A machine with an address. While it is down, nothing that is sent to it is answered."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_up = True
        self.listeners: dict[int, SimulatedListener] = {}
        self.last_port = _EPHEMERAL_PORTS


class Network:
    """All hosts, and the connections between them."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.chance: Random = scheduler.chance
        self.hosts: dict[str, Host] = {}
        self.connections: list[Connection] = []
        self._parted_until_ns: dict[frozenset[str], int] = {}

    def add_host(self, address: str) -> Host:
        host = self.hosts[address] = Host(address)
        return host

    def connect(self, process: Process, host: Host, target: Address) -> SimulatedSocket:
        """Return a socket that is connecting."""
        host.last_port += 1
        mine = SimulatedSocket(self, process, host, (host.address, host.last_port), target)
        mine.is_connecting = True
        self.note(mine, "connects to", f"{target[0]}({target[1]})")
        other = self.hosts.get(target[0])
        if other is not None:
            connection = Connection(self, mine)
            connection.send_later(mine, partial(self._on_connect, connection, mine, other))
        return mine

    def _on_connect(self, connection: Connection, mine: SimulatedSocket, other: Host) -> None:
        """A connection request arrives at a host."""
        if not other.is_up or mine.is_closed:
            return
        listener = other.listeners.get(mine.peer_address[1])
        if listener is None or len(listener.backlog) >= listener.backlog_max:
            connection.send_later(None, partial(mine.on_refused, errno.ECONNREFUSED))
            return
        theirs = SimulatedSocket(self, listener.process, other, mine.peer_address, mine.address)
        connection.join(theirs)
        self.connections.append(connection)
        listener.backlog.append(theirs)
        listener.notify()
        connection.send_later(theirs, mine.on_connected)

    # -- faults --------------------------------------------------------------------------------------------------------

    def live(self) -> list[Connection]:
        """Return the connections that both ends still use."""
        self.connections = [each for each in self.connections if not all(end.is_over() for end in each.ends)]
        return [each for each in self.connections if not any(end.is_over() for end in each.ends)]

    def part(self, one: str, other: str, seconds: float) -> None:
        """Hold back all that two hosts send to each other for some time."""
        key = frozenset({one, other})
        self._parted_until_ns[key] = self.scheduler.now_ns + int(seconds * 1e9)

    def heal(self) -> None:
        """End all partings, and reset the connections that have fallen silent."""
        self._parted_until_ns.clear()
        for connection in self.live():
            if connection.is_silent():
                connection.reset()
        for connection in self.connections:
            connection.end_silence()
            if self.chance.random() < _KEEPALIVE_SHARE:
                connection.keep_alive()

    def parted_until_ns(self, one: Host, other: Host) -> int:
        return self._parted_until_ns.get(frozenset({one.address, other.address}), 0)

    def note(self, end: SimulatedSocket, what: str, detail: str) -> None:
        self.scheduler.trace.note(self.scheduler.now_ns, end.process.name, what, f"{end.address[1]} {detail}")


class Connection:
    """Two sockets, and what is under way between them."""

    def __init__(self, network: Network, first: SimulatedSocket) -> None:
        chance = network.chance
        self._network = network
        self._delay_ns_max = chance.choice(_DELAYS_NS_MAX)
        self.window_bytes = chance.choice(_WINDOWS_BYTES)
        self.ends = [first]
        first.connection = self
        self._last_arrival_ns = {id(first): 0}
        self._under_way: dict[int, deque[object]] = {id(first): deque()}  # of each end, in the order of sending
        self._silent: set[int] = set()  # ends from which nothing arrives any more
        self._lost_after: dict[int, int] = {}

    def join(self, second: SimulatedSocket) -> None:
        self.ends.append(second)
        second.connection = self
        self._last_arrival_ns[id(second)] = 0
        self._under_way[id(second)] = deque()

    def other(self, end: SimulatedSocket) -> SimulatedSocket | None:
        if len(self.ends) < 2:
            return None
        return self.ends[1] if self.ends[0] is end else self.ends[0]

    def end_silence(self) -> None:
        """Let the end that is left learn that the other one is gone. Between two ends there would be a gap."""
        if any(end.is_over() for end in self.ends):
            self._silent.clear()

    def keep_alive(self) -> None:
        """Reset the end that does not know that the other one is gone, as the keepalive of the kernel does."""
        if any(end.is_over() for end in self.ends):
            for end in self.ends:
                end.on_reset(errno.ETIMEDOUT)

    def is_silent(self) -> bool:
        return bool(self._silent)

    def silence(self, ends: list[SimulatedSocket]) -> None:
        """Lose all that these ends send from now on."""
        self._silent.update(id(end) for end in ends)

    def reset(self) -> None:
        """Cut the connection: each end learns of it in its own time, after a part of what was under way."""
        for end in self.ends:
            delay = min(self._network.chance.choice([0, 1, 1, 1_000]) * self._delay(), _LATE_RESET_NS_MAX)
            at_ns = self._network.scheduler.now_ns + delay
            self._network.scheduler.call_at(at_ns, partial(end.on_reset, errno.ECONNRESET))
            self._lost_after[id(end)] = at_ns

    def _delay(self) -> int:
        chance = self._network.chance
        if chance.random() < _SLOW_SHARE:
            return chance.randrange(_SLOW_NS_MAX)
        return chance.randrange(_DELAY_NS_MIN, self._delay_ns_max)

    def send_later(self, sender: SimulatedSocket | None, arrive: partial[None] | object) -> None:
        """Have something arrive at the other end, after all that its sender sent before."""
        at_ns = self._network.scheduler.now_ns + self._delay()
        if sender is not None:
            at_ns = max(at_ns, self._last_arrival_ns[id(sender)] + 1)
            self._last_arrival_ns[id(sender)] = at_ns
            self._under_way[id(sender)].append(arrive)
            self._network.scheduler.call_at(at_ns, partial(self._arrive, sender))
        else:
            assert callable(arrive)
            self._network.scheduler.call_at(at_ns, arrive)

    def _arrive(self, sender: SimulatedSocket) -> None:
        """Have the oldest that an end has under way arrive, unless the hosts are parted now.

        There is a call for each, and which one it was made for does not matter: whatever a parting holds back, nothing
        overtakes.
        """
        now_ns = self._network.scheduler.now_ns
        target = self._network.hosts.get(sender.peer_address[0])
        if target is not None:
            parted_ns = self._network.parted_until_ns(sender.host, target)
            if parted_ns > now_ns:
                self._network.scheduler.call_at(parted_ns + 1, partial(self._arrive, sender))
                return
        arrive = self._under_way[id(sender)].popleft()
        if id(sender) in self._silent or now_ns >= self._lost_after.get(id(sender), 1 << 62):
            return
        assert callable(arrive)
        arrive()


class SimulatedSocket(Pollable):
    """One end of a connection, with the methods of a non-blocking `socket.socket`."""

    family = socket.AF_INET
    type = socket.SOCK_STREAM
    proto = socket.IPPROTO_TCP

    def __init__(self, network: Network, process: Process, host: Host, address: Address, peer: Address) -> None:
        super().__init__(network.scheduler)
        self.network = network
        self.process = process
        self.host = host
        self.address = address
        self.peer_address = peer
        self.connection: Connection | None = None
        self.is_connecting = False
        self.is_closed = False
        self.error = 0
        self._inbox = bytearray()
        self._has_end = False  # the peer sends nothing more
        self._unread_bytes = 0  # sent, and not read by the peer yet

    def is_over(self) -> bool:
        """Return True if this end cannot be used any more."""
        return self.is_closed or self.error != 0

    # -- readiness -----------------------------------------------------------------------------------------------------

    def ready_events(self) -> int:
        if self.is_connecting:
            return 0
        found = 0
        if self._inbox or self._has_end:
            found |= READABLE
        if self.error:
            return found | READABLE | WRITABLE | ERROR | GONE
        if self._room_bytes() > 0:
            found |= WRITABLE
        return found

    def _room_bytes(self) -> int:
        return self.connection.window_bytes - self._unread_bytes if self.connection is not None else 0

    # -- as a socket ---------------------------------------------------------------------------------------------------

    def recv(self, size: int, flags: int = 0) -> bytes:
        self._check()
        if not self._inbox or self.process.is_dead:
            if self.error:
                raise ConnectionResetError(self.error, "Connection reset by peer")
            if self._has_end:
                return b""
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        count = min(size, len(self._inbox))
        if count > 1 and self.network.chance.random() < _PARTIAL_SHARE:
            count = self.network.chance.randrange(1, count)
        data = bytes(self._inbox[:count])
        if not flags & socket.MSG_PEEK:
            del self._inbox[:count]
            peer = self._peer()
            if peer is not None and self.connection is not None:
                self.connection.send_later(self, partial(peer.on_read, count))
            self.network.note(self, "receives", f"{count} {zlib.crc32(data):08x}")
        return data

    def send(self, data: bytes) -> int:
        self._check()
        if self.process.is_dead:
            return len(data)  # it ends, and whatever it does on the way has no effect
        if self.error:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        if self.is_connecting or self.connection is None:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        count = min(len(data), self._room_bytes())
        if count <= 0:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        if count > 1 and self.network.chance.random() < _PARTIAL_SHARE:
            count = self.network.chance.randrange(1, count)
        piece = bytes(data[:count])
        self._unread_bytes += count
        self.network.note(self, "sends", f"{count} {zlib.crc32(piece):08x}")
        peer = self._peer()
        if peer is not None:
            self.connection.send_later(self, partial(peer.on_data, piece))
        return count

    def sendmsg(self, buffers: list[bytes]) -> int:
        return self.send(b"".join(bytes(each) for each in buffers))

    def close(self) -> None:
        """Close this end. The peer reads all that was sent before, unless something was not read here."""
        if not self.is_closed and not self.process.is_dead:
            self.close_by_kernel()

    def close_by_kernel(self) -> None:
        """Close this end, also at the end of its process."""
        self.is_closed = True
        self.detach()
        self.network.note(self, "closes", "")
        peer = self._peer()
        if peer is not None and self.connection is not None and not self.error:
            last = partial(peer.on_reset, errno.ECONNRESET) if self._inbox else peer.on_end
            self.connection.send_later(self, last)

    def vanish(self) -> None:
        """Close this end without a trace: its machine has lost power."""
        self.is_closed = True
        self.detach()
        if self.connection is not None:
            self.connection.silence([self])

    def setblocking(self, _: bool) -> None:
        pass

    def settimeout(self, _: float | None) -> None:
        pass

    def setsockopt(self, *_: object) -> None:
        pass

    def getsockopt(self, _: int, option: int, __: int = 0) -> int:
        return self.error if option == socket.SO_ERROR else 0

    def getsockname(self) -> Address:
        return self.address

    def getpeername(self) -> Address:
        if self.is_connecting or self.error:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return self.peer_address

    def _check(self) -> None:
        if self.is_closed:
            raise OSError(errno.EBADF, "Bad file descriptor")

    def _peer(self) -> SimulatedSocket | None:
        return self.connection.other(self) if self.connection is not None else None

    # -- what arrives --------------------------------------------------------------------------------------------------

    def _is_gone(self) -> bool:
        """Answer a packet for a closed socket with a reset, if its host is up."""
        if not self.is_closed:
            return False
        peer = self._peer()
        if self.host.is_up and peer is not None and self.connection is not None:
            self.connection.send_later(None, partial(peer.on_reset, errno.ECONNRESET))
        return True

    def on_connected(self) -> None:
        if not self.is_closed:
            self.is_connecting = False
            self.notify()

    def on_refused(self, code: int) -> None:
        self.is_connecting = False
        self.on_reset(code)

    def on_data(self, data: bytes) -> None:
        if not self._is_gone() and not self.error:
            if self._has_end:
                raise SimulationError("data arrived after the end of a connection")
            self._inbox += data
            self.notify()

    def on_read(self, count: int) -> None:
        self._unread_bytes -= count
        self.notify()

    def on_end(self) -> None:
        if not self._is_gone():
            self._has_end = True
            self.notify()

    def on_reset(self, code: int) -> None:
        if not self.is_closed and not self.error:
            self.error = code
            self.is_connecting = False
            self.notify()


class SimulatedListener(Pollable):
    """A listening socket."""

    type = socket.SOCK_STREAM

    def __init__(self, network: Network, process: Process, host: Host, port: int, backlog: int, family: int) -> None:
        super().__init__(network.scheduler)
        self.family = family
        self.process = process
        self.backlog: deque[SimulatedSocket] = deque()
        self.backlog_max = backlog
        self._host = host
        self._port = port
        if port in host.listeners:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        host.listeners[port] = self

    def ready_events(self) -> int:
        return READABLE if self.backlog else 0

    def accept(self) -> tuple[SimulatedSocket, Address]:
        self.process.check_alive()
        if not self.backlog:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        accepted = self.backlog.popleft()
        return accepted, accepted.peer_address

    def setblocking(self, _: bool) -> None:
        pass

    def getsockname(self) -> Address:
        return self._host.address, self._port

    def close(self) -> None:
        if self._host.listeners.get(self._port) is self:
            del self._host.listeners[self._port]
            self.detach()
            for each in self.backlog:
                each.close_by_kernel()
            self.backlog.clear()
