"""Connections between the instances of a queue manager.

A connection has two directions that do not wait for each other. Any thread may send: bytes that the socket does not
take at once are queued, and a thread of the connection sends them. The owner's thread receives frames. So the thread
that forces the log can offer its blocks to the followers without ever waiting for one of them.

Limits: a peer that does not read is disconnected when `UNSENT_BYTES_MAX` bytes wait for it, a peer that sends nothing
for the heartbeat timeout is gone, and a frame is never longer than its limit.
"""

from __future__ import annotations

import select
import socket
import threading
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import Final, final

from ostler.server.thread_names import show_thread_name
from ostler.wire.frames import FrameReader, MalformedFrame
from ostler.wire.tls_stream import TlsFailed, TlsStream

UNSENT_BYTES_MAX: Final = 256 << 20
HANDSHAKE_SECONDS: Final = 10.0
_RECEIVE_BYTES: Final = 1 << 20
_SEND_PIECES_MAX: Final = 256
_SEND_POLL_MS: Final = 1000


class ConnectionLost(Exception):
    """The connection is closed. The text gives the reason."""


class NotSecured(ConnectionLost):
    """The peer has no certificate of the group, or does not accept the one of this instance."""


@final
class ReplicaConnection:
    """One connection to another instance. `receive` belongs to one thread; every other method to any thread."""

    def __init__(self, sock: socket.socket, peer: str, stream: TlsStream | None, frame_bytes_max: int) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer: Final = peer
        self._socket = sock
        self._stream = stream
        self._reader = FrameReader(frame_bytes_max)
        self._turn = threading.Condition()  # guards the stream, the queue and the state
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._reason = ""
        self._is_sender_started = False
        self._is_finishing = False  # close when everything is sent
        self.received_at = monotonic()
        self.sent_at = monotonic()
        self._poll = select.poll()
        self._poll.register(sock.fileno(), select.POLLIN)
        if stream is not None and stream.has_output:
            with self._turn:
                self._send_now([stream.take_output()])

    # -- state ---------------------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return not self._reason

    @property
    def close_reason(self) -> str:
        return self._reason

    @property
    def unsent_bytes(self) -> int:
        return self._unsent_bytes

    @property
    def stream(self) -> TlsStream | None:
        """The TLS stream, for the peer's certificate."""
        return self._stream

    # -- sending -------------------------------------------------------------------------------------------------------

    def send(self, *parts: bytes) -> bool:
        """Send bytes without waiting. False when the connection is closed, or is closed because too much is unsent."""
        with self._turn:
            if self._reason or self._is_finishing:
                return False
            stream = self._stream
            try:
                if stream is not None:
                    for part in parts:
                        stream.encrypt(part)
                    return self._send_now([stream.take_output()])
                return self._send_now(list(parts))
            except TlsFailed as failure:
                self._close(failure.text)
                return False

    def _send_now(self, parts: list[bytes]) -> bool:
        """Send as much as the socket takes, and queue the rest. The turn is held."""
        views = [memoryview(part) for part in parts if part]
        if not self._unsent:
            try:
                while views:
                    sent = self._socket.sendmsg(views[:_SEND_PIECES_MAX])
                    self.sent_at = monotonic()
                    views = _rest(views, sent)
            except BlockingIOError:
                pass
            except OSError as error:
                self._close(f"the connection failed: {error.strerror or error}")
                return False
        if views:
            self._unsent.extend(views)
            self._unsent_bytes += sum(len(view) for view in views)
            if self._unsent_bytes > UNSENT_BYTES_MAX:
                self._close(f"{self.peer} does not read: {self._unsent_bytes} bytes wait for it")
                return False
            self._start_sender()
            self._turn.notify_all()
        return True

    def _start_sender(self) -> None:
        if not self._is_sender_started:
            self._is_sender_started = True
            threading.Thread(target=self._run_sender, name="ostler-replica-send", daemon=True).start()

    def _run_sender(self) -> None:
        show_thread_name()
        writable = select.poll()
        with self._turn:
            if not self.is_open:
                return
            writable.register(self._socket.fileno(), select.POLLOUT)
        while True:
            with self._turn:
                if not self._wait_for_output():
                    return
                try:
                    views = [self._unsent[each] for each in range(min(len(self._unsent), _SEND_PIECES_MAX))]
                    self._sent(self._socket.sendmsg(views))
                    continue
                except BlockingIOError:
                    pass
                except OSError as error:
                    self._close(f"the connection failed: {error.strerror or error}")
                    return
            writable.poll(_SEND_POLL_MS)

    def _wait_for_output(self) -> bool:
        """Wait until there is something to send, with the turn held. False when the connection is closed."""
        self._turn.wait_for(lambda: bool(self._unsent) or not self.is_open)
        return self.is_open

    def _sent(self, size: int) -> None:
        self.sent_at = monotonic()
        self._unsent_bytes -= size
        while size > 0:
            first = self._unsent.popleft()
            if len(first) > size:
                self._unsent.appendleft(first[size:])
                return
            size -= len(first)
        if not self._unsent and self._is_finishing:
            self._close("closed")

    def set_frame_bytes_max(self, frame_bytes_max: int) -> None:
        """Raise the limit of frames, once the peer is known. For the thread that receives."""
        self._reader.frame_bytes_max = frame_bytes_max

    # -- receiving -----------------------------------------------------------------------------------------------------

    def receive(self, seconds: float) -> FrameReader | None:
        """Return the reader with the next frame, or None after so many seconds without one. Raises ConnectionLost."""
        deadline = monotonic() + seconds
        while True:
            try:
                if self._reader.next():
                    return self._reader
            except MalformedFrame as error:
                self.close(f"{self.peer} broke the protocol: {error}")
                raise ConnectionLost(self._reason) from None
            left = deadline - monotonic()
            if left <= 0:
                return None
            data = self._receive_bytes(left)
            if data:
                self._reader.feed(data)

    def _receive_bytes(self, seconds: float) -> bytes:
        """Return received bytes as plain text; empty when there are none in time. Raises ConnectionLost."""
        if self._reason:
            raise ConnectionLost(self._reason)
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            self._poll.poll(max(1, int(seconds * 1000)))
            return b""
        except OSError as error:
            self.close(f"the connection failed: {error.strerror or error}")
            raise ConnectionLost(self._reason) from None
        if not data:
            self.close(f"{self.peer} closed the connection")
            raise ConnectionLost(self._reason)
        self.received_at = monotonic()
        return data if self._stream is None else self._decrypt(self._stream, data)

    def _decrypt(self, stream: TlsStream, data: bytes) -> bytes:
        with self._turn:
            if self._reason:
                raise ConnectionLost(self._reason)
            try:
                plain = stream.receive_data(data)
            except TlsFailed as failure:
                if stream.has_output:
                    self._send_now([stream.take_output()])  # the alert
                self._close(failure.text)
                raise NotSecured(self._reason) from None
            if stream.has_output:
                self._send_now([stream.take_output()])
            return plain

    def finish_handshake(self) -> None:
        """Complete the TLS handshake. Raises NotSecured."""
        stream = self._stream
        if stream is None:
            return
        deadline = monotonic() + HANDSHAKE_SECONDS
        while not stream.is_ready:
            left = deadline - monotonic()
            if left <= 0:
                self.close(f"{self.peer} did not complete the TLS handshake in {HANDSHAKE_SECONDS:g} seconds")
                raise NotSecured(self._reason)
            try:
                data = self._receive_bytes(left)
            except NotSecured:
                raise
            except ConnectionLost as lost:
                raise NotSecured(f"the TLS handshake was not completed: {lost}") from None
            if data:
                self._reader.feed(data)

    # -- the end -------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Close the connection when everything is sent."""
        with self._turn:
            self._is_finishing = True
            if not self._unsent:
                self._close("closed")

    def close(self, why: str) -> None:
        """Close the connection now. The first reason counts."""
        with self._turn:
            self._close(why)

    def _close(self, why: str) -> None:
        if self._reason:
            return
        self._reason = why
        self._unsent.clear()
        self._unsent_bytes = 0
        with suppress(OSError):  # the peer may have closed it already
            # Wakes a thread that polls the socket; the descriptor is closed after that.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._turn.notify_all()


def wake_acceptor(listener: socket.socket) -> None:
    """End a wait of another thread in `accept`: it gets an OSError, and nobody can connect any more."""
    with suppress(OSError):  # it is closed already
        listener.shutdown(socket.SHUT_RDWR)


def _rest(views: list[memoryview], sent: int) -> list[memoryview]:
    """Return the views behind the first `sent` bytes."""
    at = 0
    while at < len(views) and sent >= len(views[at]):
        sent -= len(views[at])
        at += 1
    left = views[at:]
    if left and sent:
        left[0] = left[0][sent:]
    return left
