"""The sending half of a link: frames go out whole, one thread at a time.

A payload of several frames gives the lock up between them, so that other conversations are not held up. What nobody may
wait for (answers to heartbeats, one-way frames) is owed: whoever sends next, or gives the lock up, sends it.
"""

from __future__ import annotations

import math
import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, final

from librt.threading import Lock
from mypy_extensions import i64

from ostler.client.link.interrupts import LOOK_UP_SECONDS, notice_signals
from ostler.client.link.waiters import LinkBroken, ReplyWaiter
from ostler.model.constants import MQRC_CONNECTION_BROKEN
from ostler.wire.frames import HEADER_BYTES
from ostler.wire.segments import segment
from ostler.wire.tls_stream import TlsFailed, TlsStream

if TYPE_CHECKING:
    from ostler.client.link.blocking_link import BlockingLink

DONT_WAIT: Final = int(socket.MSG_DONTWAIT)
# Nobody needs so many answers of ours before reading any: such a peer is hostile.
_OWED_MAX: Final = 1000
_POLL_MS: Final = 1000
_MILLISECONDS: Final = 1000.0


def is_ready(descriptor: i64, event: int, seconds: float) -> bool:
    """Whether a socket can be read from or written to, or is closed, within this time."""
    poller = select.poll()
    poller.register(descriptor, event)
    return len(poller.poll(max(0, math.ceil(seconds * _MILLISECONDS)))) > 0


@final
class LinkWriter:
    def __init__(self, link: BlockingLink, connected: socket.socket, tls: TlsStream | None) -> None:
        self._link = link
        self._socket = connected
        self._descriptor: i64 = connected.fileno()
        self._send: Callable[[bytes, int], int] = connected.send
        self._lock = threading.Lock()
        self._owed: list[bytes] = []
        self._tls = tls
        self.tls_lock = Lock()  # TLS cannot read and write at once
        self.tls_owes = False

    def try_lock(self) -> bool:
        """Become the one who sends; `release` ends it."""
        return self._lock.acquire(False)

    def unlock(self) -> None:
        """Give the lock up without sending anything."""
        self._lock.release()

    def owes(self) -> bool:
        return self.tls_owes or len(self._owed) > 0

    def owes_too_much(self) -> bool:
        return len(self._owed) > _OWED_MAX

    def pay(self) -> None:
        """Send what is owed, unless somebody else sends and will do it."""
        if self.owes() and self._lock.acquire(False):
            self.release()

    def send_frame(self, waiter: ReplyWaiter | None, data: bytes) -> None:
        """Send a whole frame. Raises LinkBroken; the waiter then waits no longer."""
        if not self._lock.acquire(False):
            self._wait_for_turn(waiter)
        try:
            self._transmit(data)
        except BaseException:
            if waiter is not None:
                self._link.drop(waiter)
            raise
        finally:
            self.release()

    def _wait_for_turn(self, waiter: ReplyWaiter | None) -> None:
        """Take the lock when others have sent. The waiter of one that is interrupted waits no longer."""
        try:
            while not self._lock.acquire(True, LOOK_UP_SECONDS):
                notice_signals()
        except BaseException:
            if waiter is not None:
                self._link.drop(waiter)
            raise

    def send_segments(
        self, waiter: ReplyWaiter | None, type: i64, conversation: i64, request: i64, parts: list[bytes]
    ) -> None:
        """Send a payload that is given in parts, as the frames that carry it; others may send in between."""
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
            # A peer that got the first segments only would wait for the others, so what fails here ends the link.
            try:
                self.send_frame(waiter, segment(type, conversation, request, left > 0, b"".join(pieces)))
            except LinkBroken:
                raise
            except BaseException:
                self._link.break_off(MQRC_CONNECTION_BROKEN, "A message was interrupted while it was sent.")
                raise

    def post(self, data: bytes) -> None:
        """Send when nobody else sends: now, or after that. Never blocks for long, and never raises."""
        if self._link.broken:
            return
        self.owe(data)
        if self.owes_too_much():
            self._link.break_off(MQRC_CONNECTION_BROKEN, f"{self._link.peer} asks for more than it takes.")
        elif self._lock.acquire(False):
            self.release()

    def owe(self, data: bytes) -> None:
        self._link.state.acquire()
        self._owed.append(data)
        self._link.state.release()

    def release(self) -> None:
        """Give the write lock up. Who could not get it has left its frame: it must not stay behind."""
        while True:
            done = True
            try:
                if self._owed or self.tls_owes:
                    done = self._send_owed()
            except LinkBroken:
                pass
            finally:
                self._lock.release()
            if not done or not (self._owed or self.tls_owes) or self._link.broken or not self._lock.acquire(False):
                return

    def _send_owed(self) -> bool:
        """Send what is owed if the socket has room for it; False: later. It is little, and nobody may wait for that."""
        if self._link.broken or not is_ready(self._descriptor, select.POLLOUT, 0.0):
            return False
        self._link.state.acquire()
        owed = self._owed
        self._owed = []
        self.tls_owes = False
        self._link.state.release()
        self._transmit(b"".join(owed))
        return True

    def _transmit(self, data: bytes) -> None:
        """Send bytes under the write lock."""
        if self._link.broken:
            raise self._link.gone()
        if self._tls is not None:
            self.tls_lock.acquire()
            try:
                if data:
                    self._tls.encrypt(data)
                data = self._tls.take_output()
            except TlsFailed as failure:
                self._link.break_off(MQRC_CONNECTION_BROKEN, failure.text)
                raise self._link.gone() from None
            finally:
                self.tls_lock.release()
        sent: i64 = 0
        try:
            try:
                sent = self._send(data, DONT_WAIT)
            except BlockingIOError:
                sent = 0
            if sent < len(data):
                self._transmit_slowly(data, sent)
        except OSError as error:
            self._link.break_off(MQRC_CONNECTION_BROKEN, f"Sending to {self._link.peer} failed: {error}.")
            raise self._link.gone() from None
        except BaseException:
            # Nobody knows how much of the frame was sent.
            self._link.break_off(MQRC_CONNECTION_BROKEN, "A frame was interrupted while it was sent.")
            raise

    def _transmit_slowly(self, data: bytes, sent: i64) -> None:
        """The peer does not take it as fast as it comes. It may wait for us to read, so that is done meanwhile."""
        view = memoryview(data)
        poller = select.poll()
        while sent < len(data):
            leads = self._link.try_to_lead()
            try:
                poller.register(self._descriptor, select.POLLOUT | (select.POLLIN if leads else 0))
                events = poller.poll(_POLL_MS)
                notice_signals()
                if leads and events and events[0][1] & ~select.POLLOUT:
                    self._link.read_once()
            finally:
                if leads:
                    self._link.stop_leading()
            if self._link.broken:
                raise self._link.gone()
            with suppress(BlockingIOError):
                sent += self._socket.send(view[sent:], DONT_WAIT)
