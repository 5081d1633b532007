"""One of the conversations that share a link: its requests, under numbers of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, final

from mypy_extensions import i64

from ostler.client.link.waiters import LinkBroken, Stream, Waiter
from ostler.wire.frames import DISCONNECT, HEADER_BYTES, REPLY, frame

if TYPE_CHECKING:
    from ostler.client.link.blocking_link import BlockingLink


@final
class Conversation:
    """One of those that share a link."""

    def __init__(self, link: BlockingLink, number: i64) -> None:
        self.link = link
        self.number: i64 = number
        self._last_request: i64 = 0
        self.notice: i64 = 0  # the reason the queue manager gave last: it quiesces, say
        self.on_notice: Callable[[], None] | None = None  # must not block
        self.is_open = True

    def expect(self, type: i64) -> Waiter:
        """Be ready for a reply, under a request number that nothing else has. Raises LinkBroken."""
        link = self.link
        link.state.acquire()
        try:
            waiter = Waiter(self._new_key(), type | REPLY)
            link.waiting[waiter.key] = waiter
            return waiter
        finally:
            link.state.release()

    def open_stream(self, type: i64, credit: i64) -> Stream:
        """Be ready for many payloads under one request number. Raises LinkBroken."""
        link = self.link
        link.state.acquire()
        try:
            stream = Stream(self._new_key(), type, credit)
            link.streams[stream.key] = stream
            return stream
        finally:
            link.state.release()

    def _new_key(self) -> i64:
        link = self.link
        if link.broken:
            raise LinkBroken(link.broken, link.broken_text)
        while True:
            self._last_request = (self._last_request & 0x3FFFFFFF) + 1
            key: i64 = self.number << 32 | self._last_request
            if key not in link.waiting and key not in link.streams:
                return key

    def exchange(self, waiter: Waiter, data: bytes) -> None:
        """Send a request that is one frame, and wait for the reply. Raises LinkBroken."""
        link = self.link
        link.writer.send_frame(waiter, data)
        link.finish(waiter)

    def ask(self, type: i64, payload: bytes) -> Waiter:
        """Send a request of any length, and wait for the reply. Raises LinkBroken."""
        waiter = self.begin(type, payload)
        self.link.finish(waiter)
        return waiter

    def begin(self, type: i64, payload: bytes) -> Waiter:
        """Send a request; `link.finish` waits for its reply. Raises LinkBroken."""
        waiter = self.expect(type)
        self.send(waiter, waiter.request(), type, [payload])
        return waiter

    def send(self, waiter: Waiter | None, request: i64, type: i64, parts: list[bytes]) -> None:
        """Send a payload of any length, given in parts."""
        link = self.link
        length: i64 = HEADER_BYTES
        for part in parts:
            length += len(part)
        if length <= link.segment_bytes:
            link.writer.send_frame(waiter, frame(type, self.number, request, b"".join(parts)))
        else:
            link.writer.send_segments(waiter, type, self.number, request, parts)

    def post(self, type: i64, payload: bytes) -> None:
        """Send what needs no reply, without waiting: now, or behind what others are sending."""
        self.link.writer.post(frame(type, self.number, 0, payload))

    def abandon(self) -> None:
        """Leave the link when the queue manager may think that the connection goes on."""
        # It needs no reply, and concerns nobody if there is no connection.
        self.post(DISCONNECT, bytes(4))
        self.close()

    def close(self) -> None:
        """Leave the link; the last one closes it."""
        self.is_open = False
        self.link.leave(self)
