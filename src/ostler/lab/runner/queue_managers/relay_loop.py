"""A TCP relay between two programs: passes bytes on after a delay, or not at all.

One epoll loop serves many connections. Bytes from one side are due on the other side after the delay, in order. Each
chunk has its own due time, so any number of bytes may be in flight: distance costs time, not bandwidth. Only memory is
limited: when one direction of a connection holds too much, its source is not read until there is room.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

LOOPBACK: Final = "127.0.0.1"
# The direction of bytes: to the target port, or back to the program that connected.
FORWARD: Final = 0
BACK: Final = 1

_CHUNK_BYTES: Final = 256 * 1024
# This is 25 ms of 300 MB/s. The overhead of a small chunk counts too.
_WAITING_BYTES_MAX: Final = 8 * 1024 * 1024
_CHUNK_COST_BYTES: Final = 128
_ACCEPTED_AT_ONCE: Final = 64
_EVENTS_MAX: Final = 256
_READ: Final = select.EPOLLIN
_WRITE: Final = select.EPOLLOUT
# Closing with this option sends a reset, and discards bytes that were not sent.
_RESET: Final = struct.pack("ii", 1, 0)


@dataclass
class RelayCounters:
    """The counters of a relay."""

    connections: int = 0
    """The current number."""
    connections_made: int = 0
    unreached: int = 0
    """Connections that ended at once because the target port did not listen."""
    cuts: int = 0
    forward_bytes: int = 0
    back_bytes: int = 0


class _End:
    """One side of a connection, and the bytes in flight to it."""

    def __init__(self, sock: socket.socket, direction: int, is_connected: bool) -> None:
        self.sock = sock
        self.descriptor = sock.fileno()
        self.direction = direction  # of bytes that go to this end
        self.is_connected = is_connected
        self.other: _End = self
        # Due time and bytes. Empty bytes mean the end of the stream.
        self.incoming: deque[tuple[int, bytes]] = deque()
        self.incoming_bytes = 0
        self.is_full = False  # its socket accepts no more for now
        self.is_read = True
        self.has_ended = False  # it will send nothing more
        self.is_end_sent = False  # the end of the stream was sent to it
        self.mask = 0


class RelayLoop:
    """Listens on a port of its own, and connects to the target port for each connection."""

    def __init__(self, target_port: int, delay_ms_one_way: float = 0.0, port: int = 0) -> None:
        self.counters = RelayCounters()
        self._target = (LOOPBACK, target_port)
        self._delay_ns = 0
        self.set_delay(delay_ms_one_way)
        self._epoll = select.epoll()
        self._ends: dict[int, _End] = {}
        # Ends with due bytes, in the order of time. All delays are equal, so this is the order of arrival too.
        self._due: deque[tuple[int, _End]] = deque()
        self._last_due_ns = 0
        self._bytes_left = [-1, -1]  # until the cut, by direction
        self._is_held = False
        self._is_over = False
        self._other: dict[int, Callable[[], None]] = {}
        self._buffer = memoryview(bytearray(_CHUNK_BYTES))
        # Reserves the port while the relay does not listen.
        self._reserved = _bound(port)
        self.port: int = self._reserved.getsockname()[1]
        self._listener: socket.socket | None = None
        self.accept()

    # -- what it can be told -------------------------------------------------------------------------------------------

    def watch(self, descriptor: int, on_readable: Callable[[], None]) -> None:
        """Call `on_readable` whenever a descriptor becomes readable."""
        self._other[descriptor] = on_readable
        self._epoll.register(descriptor, _READ)

    def set_delay(self, milliseconds: float) -> None:
        """Set the delay of later bytes. Bytes in flight keep their due time, and nothing overtakes them."""
        self._delay_ns = round(milliseconds * 1e6)

    def cut(self) -> None:
        """Reset all connections, on both sides. Bytes in flight are lost."""
        self._bytes_left = [-1, -1]
        self.counters.cuts += 1
        for end in list(self._ends.values()):
            if end.direction == FORWARD:
                self._drop(end)

    def cut_after(self, direction: int, more_bytes: int) -> None:
        """Cut after exactly this many more bytes in a direction, over all connections."""
        if more_bytes <= 0:
            self.cut()
        else:
            self._bytes_left[direction] = more_bytes

    def hold(self) -> None:
        """Stop all traffic until `resume`. Connections stay, and new ones are accepted."""
        if not self._is_held:
            self._is_held = True
            for end in self._ends.values():
                self._see(end)

    def resume(self) -> None:
        if self._is_held:
            self._is_held = False
            for end in list(self._ends.values()):
                self._see(end)

    def refuse(self) -> None:
        """Stop listening. Existing connections continue."""
        if self._listener is not None:
            self._epoll.unregister(self._listener)
            self._listener.close()
            self._listener = None

    def accept(self) -> None:
        """Listen; this is the initial state."""
        if self._listener is None:
            self._listener = _bound(self.port)
            self._listener.listen(1024)
            self._epoll.register(self._listener, _READ)

    def end(self) -> None:
        """Leave `run`."""
        self._is_over = True

    # -- the loop ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until `end`; then reset all connections."""
        while not self._is_over:
            self._step()
        self.refuse()
        for end in list(self._ends.values()):
            self._drop(end)
        self._reserved.close()
        self._epoll.close()

    def _step(self) -> None:
        if self._due and not self._is_held:
            wait_ns = self._due[0][0] - time.monotonic_ns()
            if wait_ns > 0:
                # epoll has a resolution of milliseconds, too coarse for half of one.
                select.select([self._epoll], [], [], wait_ns / 1e9)
            events = self._epoll.poll(0, _EVENTS_MAX)
        else:
            events = self._epoll.poll(-1, _EVENTS_MAX)
        now = time.monotonic_ns()
        if not self._is_held:
            self._deliver(now)
        for descriptor, event in events:
            end = self._ends.get(descriptor)
            if end is not None:
                self._happened(end, event, now)
            elif descriptor in self._other:
                self._other[descriptor]()
            elif self._listener is not None and descriptor == self._listener.fileno():
                self._welcome()

    def _deliver(self, now: int) -> None:
        due = self._due
        while due and due[0][0] <= now:
            _, end = due.popleft()
            if not end.is_full and end.is_connected:
                self._flush(end, now)

    def _happened(self, end: _End, event: int, now: int) -> None:
        if self._is_held:
            return  # `hold` was called within this pass
        if not end.is_connected:
            if end.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._unreached(end)
                return
            end.is_connected = True
        if event & _WRITE:
            end.is_full = False
            self._flush(end, now)
        if event & ~_WRITE and self._ends.get(end.descriptor) is end:
            self._receive(end, now)

    # -- connections ---------------------------------------------------------------------------------------------------

    def _welcome(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            if self._listener is None:
                return
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._connect(_End(_prepared(sock), BACK, True))

    def _connect(self, near: _End) -> None:
        sock = _prepared(socket.socket())
        far = _End(sock, FORWARD, False)
        near.other, far.other = far, near
        self.counters.connections_made += 1
        self.counters.connections += 1
        self._ends[near.descriptor] = near
        self._ends[far.descriptor] = far
        try:
            sock.connect(self._target)
        except BlockingIOError:
            pass
        except OSError:
            self._unreached(far)
            return
        self._see(near)
        self._see(far)

    def _unreached(self, far: _End) -> None:
        self.counters.unreached += 1
        self._drop(far)

    def _drop(self, end: _End) -> None:
        """Reset both sides of a connection."""
        if self._ends.get(end.descriptor) is not end:
            return
        self.counters.connections -= 1
        for each in (end, end.other):
            each.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._close(each)

    def _close(self, end: _End) -> None:
        if end.mask:
            self._epoll.unregister(end.descriptor)
        del self._ends[end.descriptor]
        # Bytes that are still due to it are ignored.
        end.is_full = True
        end.incoming.clear()
        end.sock.close()

    def _see(self, end: _End) -> None:
        """Register the events that this end waits for."""
        wanted = 0
        if not self._is_held:
            if end.is_connected and end.is_read and not end.has_ended:
                wanted = _READ
            if end.is_full or not end.is_connected:
                wanted |= _WRITE
        if wanted == end.mask:
            return
        # A descriptor without events would still be reported for errors, again and again.
        if not wanted:
            self._epoll.unregister(end.descriptor)
        elif end.mask:
            self._epoll.modify(end.descriptor, wanted)
        else:
            self._epoll.register(end.descriptor, wanted)
        end.mask = wanted

    # -- bytes ---------------------------------------------------------------------------------------------------------

    def _receive(self, end: _End, now: int) -> None:
        try:
            count = end.sock.recv_into(self._buffer)
        except BlockingIOError:
            return
        except OSError:
            self._drop(end)
            return
        target = end.other
        if not count:
            end.has_ended = True
            self._see(end)
        elif not self._delay_ns and not target.incoming and target.is_connected and not target.is_full:
            sent = self._send(target, self._buffer[:count])
            if sent == count or self._ends.get(end.descriptor) is not end:
                return
            self._await(target, 0, bytes(self._buffer[sent:count]))
            self._block(target)
            return
        self._await(target, now + self._delay_ns, bytes(self._buffer[:count]))

    def _await(self, target: _End, due_ns: int, data: bytes) -> None:
        """Keep bytes for an end until they are due."""
        self._last_due_ns = due_ns = max(due_ns, self._last_due_ns)
        target.incoming.append((due_ns, data))
        target.incoming_bytes += len(data) + _CHUNK_COST_BYTES
        self._due.append((due_ns, target))
        if target.incoming_bytes > _WAITING_BYTES_MAX:
            target.other.is_read = False
            self._see(target.other)

    def _flush(self, end: _End, now: int) -> None:
        """Send all bytes that are due to an end."""
        queue = end.incoming
        while queue and queue[0][0] <= now:
            due_ns, data = queue.popleft()
            if not data:
                self._send_end(end)
                return
            sent = self._send(end, data)
            if self._ends.get(end.descriptor) is not end:
                return
            end.incoming_bytes -= sent
            if sent < len(data):
                queue.appendleft((due_ns, data[sent:]))
                self._block(end)
                break
            end.incoming_bytes -= _CHUNK_COST_BYTES
        else:
            self._see(end)
        source = end.other
        if not source.is_read and end.incoming_bytes <= _WAITING_BYTES_MAX // 2:
            source.is_read = True
            self._see(source)

    def _send(self, end: _End, data: bytes | memoryview) -> int:
        """Send bytes, and return how many the end accepted. The connection may be gone afterwards."""
        left = self._bytes_left[end.direction]
        if left >= 0:
            data = data[:left]
        try:
            sent = end.sock.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self._drop(end)
            return 0
        if end.direction == FORWARD:
            self.counters.forward_bytes += sent
        else:
            self.counters.back_bytes += sent
        if left >= 0:
            self._bytes_left[end.direction] = left - sent
            if left == sent:
                self.cut()
        return sent

    def _block(self, end: _End) -> None:
        end.is_full = True
        self._see(end)

    def _send_end(self, end: _End) -> None:
        """Shut down an end to which all was sent. When both are shut down, the connection is over."""
        end.is_end_sent = True
        if end.other.is_end_sent:
            self.counters.connections -= 1
            self._close(end)
            self._close(end.other)
            return
        with contextlib.suppress(OSError):
            end.sock.shutdown(socket.SHUT_WR)
        self._see(end)


def _bound(port: int) -> socket.socket:
    sock = socket.socket()
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((LOOPBACK, port))
    return sock


def _prepared(sock: socket.socket) -> socket.socket:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock
