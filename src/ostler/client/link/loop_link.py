"""One socket to a queue manager, for the tasks of an event loop.

Everything happens in the loop's thread. Frames that tasks send in one pass of the loop leave with one write. While the
socket takes no more, requests wait; a payload that is longer than a segment goes out piece by piece as there is room,
so that those of other tasks get in between. A task that is cancelled leaves nothing half-sent.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Final, cast

from ostler.client.link.link import (
    Link,
    LinkListener,
    PartHandler,
    PendingRequest,
    check_reply,
    connection_broken,
    protocol_error,
)
from ostler.model.constants import MQRC_CONNECTION_BROKEN
from ostler.model.errors import MQError
from ostler.wire.connect_frames import Hello, decode_hello
from ostler.wire.frames import (
    FAREWELL,
    FIRST_FRAME_BYTES_MAX,
    HEADER_BYTES,
    HEARTBEAT,
    HELLO,
    MESSAGE,
    MORE,
    NOTICE,
    OUTPUT,
    PAYLOAD_OVERHEAD_BYTES,
    REPLY,
    FrameReader,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import REPLY_FIXED_BYTES, decode_reason, reply_frame
from ostler.wire.segments import IncomingPayload, segment
from ostler.wire.tls_stream import TlsFailed, TlsStream

HIGH_WATER_BYTES: Final = 512 * 1024
LOW_WATER_BYTES: Final = 128 * 1024
_TOGETHER_BYTES: Final = 64 * 1024
SIGN_OF_LIFE_SECONDS: Final = 60
_NUMBERS: Final = 0x7FFFFFFF


class _LoopRequest(PendingRequest):
    def __init__(self, link: LoopLink, key: int, type: int, on_part: PartHandler | None) -> None:
        self.number = key & 0xFFFFFFFF
        self.key = key
        self.type = type
        self.on_part = on_part
        self.assembly: IncomingPayload | None = None
        self._link = link
        self._payload: bytes | None = None
        self._error: MQError | None = None
        self._future: asyncio.Future[None] | None = None

    async def reply(self) -> bytes:
        if self._payload is None and self._error is None:
            # A new one each time: a task that is cancelled cancels what it waits for.
            self._future = self._link.loop.create_future()
            await self._future
        if self._payload is None:
            assert self._error is not None
            raise MQError(self._error.reason, self._error.detail)
        return self._payload

    def forget(self) -> None:
        self._future = None

    def answered(self, payload: bytes) -> None:
        self._payload = payload
        self._wake()

    def failed(self, error: MQError) -> None:
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class _Large:
    """A payload on its way in segments."""

    def __init__(self, type: int, conversation: int, request: int, payload: bytes) -> None:
        self.type = type
        self.conversation = conversation
        self.request = request
        self.payload = payload
        self.at = 0

    def next_frame(self, room: int) -> bytes:
        piece = self.payload[self.at : self.at + room]
        self.at += room
        return segment(self.type, self.conversation, self.request, not self.is_sent, piece)

    @property
    def is_sent(self) -> bool:
        return self.at >= len(self.payload)


class LoopLink(Link, asyncio.Protocol):
    """Make one as the protocol of a new connection, then await `greet`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, peer: str, tls: TlsStream | None = None) -> None:
        self.loop = loop
        self.agreed = Hello()
        self.peer = peer  # for messages to people
        self._tls = tls
        self._transport: asyncio.Transport | None = None
        self._reader = FrameReader(FIRST_FRAME_BYTES_MAX)
        self._failure: MQError | None = None
        self._listeners: dict[int, LinkListener] = {}
        self._asked: dict[int, _LoopRequest] = {}
        self._last_conversation = 0
        self._last_request = 0
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._large: deque[_Large] = deque()
        self._is_flush_due = False
        self._is_paused = False
        self._room: list[asyncio.Future[None]] = []
        self._heart: asyncio.TimerHandle | None = None
        self._heard = loop.time()
        self._room_bytes = FIRST_FRAME_BYTES_MAX - HEADER_BYTES

    # -- the port ------------------------------------------------------------------------------------------------------

    async def greet(self, wishes: Hello) -> None:
        """Exchange HELLO. MQError with what the queue manager says when it refuses."""
        try:
            payload = await self.exchange(0, HELLO, wishes.encode())
            self.agreed = decode_hello(check_reply(payload).reader.rest())
        except MalformedFrame as error:
            self.close()
            raise protocol_error(error) from None
        except BaseException:
            self.close()
            raise
        self._room_bytes = self.agreed.segment_bytes - HEADER_BYTES
        self._reader.frame_bytes_max = self.agreed.segment_bytes
        self._watch_heart()

    @property
    def failure(self) -> MQError | None:
        return self._failure

    @property
    def is_shared(self) -> bool:
        return bool(self._listeners)

    @property
    def has_room(self) -> bool:
        return self._failure is None and len(self._listeners) < max(1, self.agreed.conversations_max)

    def attach(self, listener: LinkListener) -> int | None:
        if not self.has_room:
            return None
        self._last_conversation += 1
        self._listeners[self._last_conversation] = listener
        return self._last_conversation

    def detach(self, conversation: int) -> None:
        self._listeners.pop(conversation, None)
        if not self._listeners:
            self.close()

    async def send_request(
        self, conversation: int, type: int, payload: bytes, on_part: PartHandler | None = None
    ) -> PendingRequest:
        while self._is_paused and self._failure is None:
            room: asyncio.Future[None] = self.loop.create_future()
            self._room.append(room)
            await room
        if self._failure is not None:
            raise MQError(self._failure.reason, self._failure.detail)
        return self._send_request(conversation, type, payload, on_part)

    def _send_request(
        self, conversation: int, type: int, payload: bytes, on_part: PartHandler | None
    ) -> PendingRequest:
        key = conversation << 32 | self._next_request(conversation)
        asked = _LoopRequest(self, key, type | REPLY, on_part)
        self._asked[key] = asked
        if len(payload) <= self._room_bytes:
            self._write(frame(type, conversation, asked.number, payload))
        else:
            self._large.append(_Large(type, conversation, asked.number, payload))
            self._have_flushed()
        return asked

    def _next_request(self, conversation: int) -> int:
        while True:
            self._last_request = self._last_request % _NUMBERS + 1
            if conversation << 32 | self._last_request not in self._asked:
                return self._last_request

    def poll(self) -> None:
        # The loop does so all the time.
        pass

    def send(self, conversation: int, type: int, payload: bytes) -> None:
        if self._failure is None:
            self._write(frame(type, conversation, 0, payload))

    def send_numbered(self, conversation: int, type: int, payload: bytes) -> None:
        if self._failure is None:
            self._send_request(conversation, type, payload, None)

    def close(self) -> None:
        self._listeners.clear()
        self._break(connection_broken("The connection was closed."))

    # -- sending -------------------------------------------------------------------------------------------------------

    def _write(self, data: bytes) -> None:
        self._out.append(data)
        self._out_bytes += len(data)
        if self._out_bytes > _TOGETHER_BYTES:
            # So that it is found out in time when the socket takes no more.
            self._flush()
        else:
            self._have_flushed()

    def _have_flushed(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            self.loop.call_soon(self._flush_due)

    def _flush_due(self) -> None:
        self._is_flush_due = False
        self._flush()

    def _flush(self) -> None:
        transport, tls = self._transport, self._tls
        if transport is None or self._failure is not None or (tls is not None and not tls.is_ready):
            return
        while self._out or (self._large and not self._is_paused):
            if self._large and not self._is_paused:
                large = self._large.popleft()
                self._out.append(large.next_frame(self._room_bytes))
                if not large.is_sent:
                    self._large.append(large)
            data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
            self._out.clear()
            self._out_bytes = 0
            if tls is not None:
                try:
                    tls.encrypt(data)
                except TlsFailed as error:
                    self._break(MQError(error.reason, error.text))
                    return
                data = tls.take_output()
            transport.write(data)

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._let_go()
        if self._large:
            self._have_flushed()

    def _let_go(self) -> None:
        room, self._room = self._room, []
        for future in room:
            if not future.done():
                future.set_result(None)

    # -- receiving -----------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Other event loops have transports of their own making.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(HIGH_WATER_BYTES, LOW_WATER_BYTES)
        self._send_tls_output()
        self._have_flushed()

    def data_received(self, data: bytes) -> None:
        self._heard = self.loop.time()
        try:
            if self._tls is not None:
                data = self._decrypted(data, self._tls)
            if data:
                reader = self._reader
                reader.feed(data)
                while self._failure is None and reader.next():
                    self._take(reader)
        except MalformedFrame as error:
            self._break(protocol_error(error))
        except TlsFailed as error:
            # The last output tells the peer why.
            self._send_tls_output()
            self._break(MQError(error.reason, error.text))

    def _decrypted(self, data: bytes, tls: TlsStream) -> bytes:
        was_ready = tls.is_ready
        plain = tls.received(data)
        self._send_tls_output()
        if tls.is_ready and not was_ready:
            self._have_flushed()
        return plain

    def _send_tls_output(self) -> None:
        if self._tls is not None and self._transport is not None:
            output = self._tls.take_output()
            if output:
                self._transport.write(output)

    def _take(self, reader: FrameReader) -> None:
        key = int(reader.conversation) << 32 | int(reader.request)
        asked = self._asked.get(key)
        kind = int(reader.type)
        if asked is not None and (kind == asked.type or kind in (MESSAGE, OUTPUT)):
            payload = self._whole(reader, asked)
            if payload is None:
                return
            if kind == asked.type:
                if len(payload) < REPLY_FIXED_BYTES:
                    raise MalformedFrame("a reply without completion and reason")
                del self._asked[key]
                asked.answered(payload)
            elif asked.on_part is not None:
                asked.on_part(kind, payload)
        elif kind == HEARTBEAT:
            self._write(reply_frame(HEARTBEAT, 0, reader.request, 0, 0))
        elif kind == NOTICE:
            reason, text = decode_reason(PayloadReader(reader.buffer, reader.start, reader.end))
            for number, listener in list(self._listeners.items()):
                if reader.conversation in (0, number):
                    listener.on_notice(reason, text)
        elif kind == FAREWELL:
            reason, text = decode_reason(PayloadReader(reader.buffer, reader.start, reader.end))
            self._break(
                connection_broken(text or f"{self.peer} ended the connection.", reason or MQRC_CONNECTION_BROKEN)
            )
        elif kind != HEARTBEAT | REPLY:
            raise MalformedFrame(f"a frame of type {kind} that nobody asked for")

    def _whole(self, reader: FrameReader, asked: _LoopRequest) -> bytes | None:
        """The payload, once its last segment has come."""
        part = reader.buffer[reader.start : reader.end]
        if not reader.flags & MORE and asked.assembly is None:
            return part
        if asked.assembly is None:
            asked.assembly = IncomingPayload(reader.type, self.agreed.message_bytes_max + PAYLOAD_OVERHEAD_BYTES)
        asked.assembly.add(part)
        if reader.flags & MORE:
            return None
        whole = asked.assembly.whole()
        asked.assembly = None
        return whole

    # -- the end -------------------------------------------------------------------------------------------------------

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        why = f": {error}" if error is not None else ""
        self._break(connection_broken(f"{self.peer} closed the connection{why}."))

    def _break(self, error: MQError) -> None:
        if self._failure is not None:
            return
        self._flush()
        self._failure = error
        if self._heart is not None:
            self._heart.cancel()
        asked, self._asked = self._asked, {}
        self._large.clear()
        for each in asked.values():
            each.failed(error)
        listeners, self._listeners = self._listeners, {}
        for listener in listeners.values():
            listener.on_link_broken(error)
        self._let_go()
        if self._transport is not None:
            # What is still to be sent is sent, unless nobody takes it.
            self._transport.close()

    # -- signs of life -------------------------------------------------------------------------------------------------

    def _watch_heart(self) -> None:
        interval = float(self.agreed.heartbeat_seconds)
        if interval > 0:
            self._heart = self.loop.call_later(interval, self._beat)

    def _beat(self) -> None:
        interval = float(self.agreed.heartbeat_seconds)
        silent = self.loop.time() - self._heard
        if silent >= interval + SIGN_OF_LIFE_SECONDS:
            transport = self._transport
            self._break(connection_broken(f"{self.peer} gave no sign of life for {silent:.0f} seconds."))
            with suppress(OSError):
                if transport is not None:
                    transport.abort()
            return
        if silent >= interval:
            self._write(frame(HEARTBEAT, 0, 1))
            self._heart = self.loop.call_later(SIGN_OF_LIFE_SECONDS, self._beat)
        else:
            self._heart = self.loop.call_later(interval - silent, self._beat)
