"""The sending half of a blocking link: frames go out whole, one thread at a time.

A payload of several frames releases the lock between them, so that other conversations are not held up. Frames that no
thread may wait for (heartbeat replies, one-way frames) go to a backlog, which is sent by the next thread that sends or
releases the lock.
"""

from __future__ import annotations

import math
import select
import socket
import threading
import time
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from librt.threading import Lock
from mypy_extensions import i64

from ostler.client.link.interrupts import SIGNAL_CHECK_SECONDS, run_signal_handlers
from ostler.client.link.waiters import LinkBroken, ReplyWaiter
from ostler.model import constants as mq
from ostler.wire.frames import HEADER_BYTES, REKEY, frame
from ostler.wire.segments import segment
from ostler.wire.tls_stream import TlsFailed, TlsStream

DONT_WAIT: Final = int(socket.MSG_DONTWAIT)
# A peer that causes so many replies without reading any is hostile.
_BACKLOG_FRAMES_MAX: Final = 1000
_POLL_MS: Final = 1000
_MILLISECONDS: Final = 1000.0
# While another thread reads the handshake for new keys, and may leave before it is complete.
_NEW_KEYS_POLL_SECONDS: Final = 0.002


def is_ready(descriptor: i64, event: int, seconds: float) -> bool:
    """Return whether a socket becomes readable or writable, or is closed, within this time."""
    poller = select.poll()
    poller.register(descriptor, event)
    return len(poller.poll(max(0, math.ceil(seconds * _MILLISECONDS)))) > 0


class WritingLink(metaclass=ABCMeta):
    """The link that a writer sends for, as far as the writer knows it."""

    state: Lock
    peer: str
    broken: i64
    segment_bytes: i64

    @abstractmethod
    def drop(self, waiter: ReplyWaiter) -> None:
        """Remove a waiter whose request was not sent."""

    @abstractmethod
    def broken_error(self) -> LinkBroken:
        """Return the exception with the cause of the failure."""

    @abstractmethod
    def fail_link(self, reason: i64, text: str) -> None:
        """Break the link. All that wait on it are woken."""

    @abstractmethod
    def try_to_lead(self) -> bool:
        """Become the thread that reads the socket, if there is none."""

    @abstractmethod
    def read_once(self) -> None:
        """Read and process what has arrived. The caller leads."""

    @abstractmethod
    def stop_leading(self) -> None:
        """Hand the lead to a waiting thread, if there is any."""


@final
class LinkWriter:
    """Sends the frames of a link and keeps their backlog."""

    def __init__(self, link: WritingLink, connected: socket.socket, tls: TlsStream | None) -> None:
        self._link = link
        self._socket = connected
        self._descriptor: i64 = connected.fileno()
        self._send: Callable[[bytes, int], int] = connected.send
        self._lock = threading.Lock()
        self._backlog: list[bytes] = []
        self._tls = tls
        self.tls_lock = Lock()  # TLS cannot read and write at once
        self.has_tls_output = False
        # New keys on the same connection (SSLRKEYC, KeyResetCount).
        self.key_reset_bytes: i64 = 0  # 0: never
        self.keyed_bytes: i64 = 0  # sent and received under the current keys
        self.key_resets: i64 = 0
        self.is_rekeying = False  # no frame is sent until the new handshake is complete

    def try_lock(self) -> bool:
        """Acquire the write lock if it is free; `release` gives it up."""
        return self._lock.acquire(False)

    def unlock(self) -> None:
        """Release the write lock without sending anything."""
        self._lock.release()

    def has_backlog(self) -> bool:
        return self.has_tls_output or len(self._backlog) > 0

    def is_backlog_full(self) -> bool:
        return len(self._backlog) > _BACKLOG_FRAMES_MAX

    def flush_backlog(self) -> None:
        """Send the backlog, unless another thread is sending and will do it."""
        if self.has_backlog() and self._lock.acquire(False):
            self.release()

    def send_frame(self, waiter: ReplyWaiter | None, data: bytes) -> None:
        """Send a whole frame. Raises LinkBroken and then drops the waiter."""
        if not self._lock.acquire(False):
            self._wait_for_turn(waiter)
        if self.is_rekeying:
            self._wait_for_keys(waiter)
        try:
            self._transmit(data)
        except BaseException:
            if waiter is not None:
                self._link.drop(waiter)
            raise
        finally:
            self.release()

    def _wait_for_turn(self, waiter: ReplyWaiter | None) -> None:
        """Acquire the write lock. Drops the waiter when interrupted."""
        try:
            while not self._lock.acquire(True, SIGNAL_CHECK_SECONDS):
                run_signal_handlers()
        except BaseException:
            if waiter is not None:
                self._link.drop(waiter)
            raise

    def _wait_for_keys(self, waiter: ReplyWaiter | None) -> None:
        """Give up the write lock until a handshake for new keys is complete. Drops the waiter when interrupted."""
        link = self._link
        try:
            while self.is_rekeying and not link.broken:
                self.release()
                if link.try_to_lead():
                    try:
                        if is_ready(self._descriptor, select.POLLIN, SIGNAL_CHECK_SECONDS):
                            link.read_once()
                    finally:
                        link.stop_leading()
                else:
                    time.sleep(_NEW_KEYS_POLL_SECONDS)
                run_signal_handlers()
                while not self._lock.acquire(True, SIGNAL_CHECK_SECONDS):
                    run_signal_handlers()
        except BaseException:
            if waiter is not None:
                link.drop(waiter)
            raise

    def send_segments(
        self, waiter: ReplyWaiter | None, type: i64, conversation: i64, request: i64, parts: list[bytes]
    ) -> None:
        """Send a payload, given in parts, as segments. Other threads may send in between."""
        left: i64 = 0
        for part in parts:
            left += len(part)
        room: i64 = self._link.segment_bytes - HEADER_BYTES
        index: i64 = 0
        at: i64 = 0
        while left > 0:
            pieces: list[bytes] = []
            wanted: i64 = min(left, room)
            left -= wanted
            while wanted > 0:
                part = parts[index]
                piece = part[at : at + wanted]
                pieces.append(piece)
                at += len(piece)
                wanted -= len(piece)
                if at == len(part):
                    index += 1
                    at = 0
            # A peer that got only the first segments would wait for the others, so a failure here ends the link.
            try:
                self.send_frame(waiter, segment(type, conversation, request, left > 0, b"".join(pieces)))
            except LinkBroken:
                raise
            except BaseException:
                self._link.fail_link(mq.MQRC_CONNECTION_BROKEN, "A message was interrupted while it was sent.")
                raise

    def post(self, data: bytes) -> None:
        """Send a frame now, or after the thread that is sending. Never blocks for long and never raises."""
        if self._link.broken:
            return
        self.enqueue(data)
        if self.is_backlog_full():
            self._link.fail_link(mq.MQRC_CONNECTION_BROKEN, f"{self._link.peer} does not read what is sent to it.")
        elif self._lock.acquire(False):
            self.release()

    def enqueue(self, data: bytes) -> None:
        self._link.state.acquire()
        self._backlog.append(data)
        self._link.state.release()

    def release(self) -> None:
        """Release the write lock. Frames that other threads left in the backlog meanwhile are sent first."""
        while True:
            done = True
            was_rekeying = self.is_rekeying
            try:
                if self._backlog or self.has_tls_output:
                    done = self._send_backlog()
            except LinkBroken:
                pass
            finally:
                self._lock.release()
            if was_rekeying and not self.is_rekeying:
                done = True  # the thread that completed the handshake may have found the lock taken
            if (
                not done
                or not (self._backlog or self.has_tls_output)
                or self._link.broken
                or not self._lock.acquire(False)
            ):
                return

    def _send_backlog(self) -> bool:
        """Send the backlog if the socket has room for it, else return False: no thread may wait for that."""
        if self._link.broken or not is_ready(self._descriptor, select.POLLOUT, 0.0):
            return False
        self._link.state.acquire()
        owed: list[bytes] = []
        is_rekeying = self.is_rekeying
        if not is_rekeying:
            owed = self._backlog
            self._backlog = []
        self.has_tls_output = False
        self._link.state.release()
        self._transmit(b"".join(owed))
        return not is_rekeying

    def _transmit(self, data: bytes) -> None:
        """Send bytes under the write lock."""
        if self._link.broken:
            raise self._link.broken_error()
        if self._tls is not None:
            data = self._encrypt(data)
        sent: i64 = 0
        try:
            try:
                sent = self._send(data, DONT_WAIT)
            except BlockingIOError:
                sent = 0
            if sent < len(data):
                self._transmit_slowly(data, sent)
        except OSError as error:
            self._link.fail_link(mq.MQRC_CONNECTION_BROKEN, f"Sending to {self._link.peer} failed: {error}.")
            raise self._link.broken_error() from None
        except BaseException:
            # It is unknown how much of the frame was sent.
            self._link.fail_link(mq.MQRC_CONNECTION_BROKEN, "A frame was interrupted while it was sent.")
            raise

    def _encrypt(self, data: bytes) -> bytes:
        """Return the bytes for the socket, with the request for new keys behind them when it is due."""
        self.tls_lock.acquire()
        try:
            tls = self._tls
            assert tls is not None
            if data:
                tls.encrypt(data)
            output = tls.take_output()
            self.keyed_bytes += len(output)
            if 0 < self.key_reset_bytes <= self.keyed_bytes and not self.is_rekeying:
                tls.encrypt(frame(REKEY, 0, 1))
                tls.close()
                self.is_rekeying = True
                output += tls.take_output()
            return output
        except TlsFailed as failure:
            self._link.fail_link(mq.MQRC_CONNECTION_BROKEN, failure.text)
            raise self._link.broken_error() from None
        finally:
            self.tls_lock.release()

    def decrypt(self, data: bytes) -> bytes:
        """Decrypt received bytes. TLS's own output is sent where frames are, so that records keep their order.

        For the thread that reads the socket. Raises TlsFailed.
        """
        self.tls_lock.acquire()
        try:
            tls = self._tls
            assert tls is not None
            self.keyed_bytes += len(data)
            plain = tls.receive_data(data)
            if tls.is_ended:
                left = tls.leftover()
                tls = tls.successor()
                self._tls = tls
                if left:
                    tls.receive_data(left)
            elif tls.is_ended_by_peer and not plain:
                raise TlsFailed(mq.MQRC_CONNECTION_BROKEN, "the end of TLS")
            if self.is_rekeying and tls.is_ready and not tls.is_ended_here:
                self.is_rekeying = False
                self.keyed_bytes = 0
                self.key_resets += 1
            self.has_tls_output = tls.has_output
            return plain
        finally:
            self.tls_lock.release()

    def _transmit_slowly(self, data: bytes, sent: i64) -> None:
        """Send the rest to a peer that reads slowly. It may wait for us to read, so the socket is read meanwhile."""
        view = memoryview(data)
        poller = select.poll()
        while sent < len(data):
            leads = self._link.try_to_lead()
            try:
                poller.register(self._descriptor, select.POLLOUT | (select.POLLIN if leads else 0))
                events = poller.poll(_POLL_MS)
                run_signal_handlers()
                if leads and events and events[0][1] & ~select.POLLOUT:
                    self._link.read_once()
            finally:
                if leads:
                    self._link.stop_leading()
            if self._link.broken:
                raise self._link.broken_error()
            with suppress(BlockingIOError):
                sent += self._socket.send(view[sent:], DONT_WAIT)
