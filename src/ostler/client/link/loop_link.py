"""The link of an event loop: one socket to a queue manager, shared by tasks.

Everything happens in the loop's thread. Frames that tasks send in one pass of the loop leave with one write. While the
socket is full, requests wait; a payload longer than a segment is sent segment by segment as there is room, so that
frames of other tasks get in between. A cancelled task leaves nothing half-sent.
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
from ostler.client.link.succession import AGAIN_SECONDS, HEARTBEAT_SECONDS, LOOK_SECONDS, Succession
from ostler.model import constants as mq
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
    REKEY,
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
_FLUSH_BYTES: Final = 64 * 1024
REPLY_SECONDS: Final = 60
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
            # A new future each time: a cancelled task cancels the future that it waits for.
            self._future = self._link.loop.create_future()
            await self._future
        if self._payload is None:
            assert self._error is not None
            raise MQError(self._error.reason, self._error.detail)
        return self._payload

    def forget(self) -> None:
        self._future = None

    def complete(self, payload: bytes) -> None:
        self._payload = payload
        self._wake()

    def fail(self, error: MQError) -> None:
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class _SegmentedPayload:
    """A payload that is being sent in segments."""

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
    """The asyncio protocol of a new connection. Await `negotiate` before using it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, peer: str, tls: TlsStream | None = None) -> None:
        self.loop = loop
        self.negotiated = Hello()
        self.peer = peer  # for messages to people
        self._tls = tls
        self._keyed_bytes = 0  # sent and received under the current keys
        self._is_rekeying = False  # the session with the old keys is ending: nothing is sent
        self._awaits_rekey_reply = False
        self.key_resets = 0
        self._transport: asyncio.Transport | None = None
        self._reader = FrameReader(FIRST_FRAME_BYTES_MAX)
        self._failure: MQError | None = None
        self._listeners: dict[int, LinkListener] = {}
        self._requests: dict[int, _LoopRequest] = {}
        self._last_conversation = 0
        self._last_request = 0
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._segmented: deque[_SegmentedPayload] = deque()
        self._is_flush_due = False
        self._is_paused = False
        self._room: list[asyncio.Future[None]] = []
        self._heartbeat_timer: asyncio.TimerHandle | None = None
        self._succession: Succession | None = None
        self._succession_timer: asyncio.TimerHandle | None = None
        self._last_received = loop.time()
        self._room_bytes = FIRST_FRAME_BYTES_MAX - HEADER_BYTES

    # -- the port ------------------------------------------------------------------------------------------------------

    async def negotiate(self, proposal: Hello) -> None:
        """Exchange HELLO. Raises MQError with the queue manager's reason when it refuses."""
        try:
            payload = await self.exchange(0, HELLO, proposal.encode())
            self.negotiated = decode_hello(check_reply(payload).reader.rest())
        except MalformedFrame as error:
            self.close()
            raise protocol_error(error) from None
        except BaseException:
            self.close()
            raise
        self._room_bytes = self.negotiated.segment_bytes - HEADER_BYTES
        self._reader.frame_bytes_max = self.negotiated.segment_bytes
        self._schedule_heartbeat()

    def watch_succession(self, succession: Succession) -> None:
        if self._succession is None and self.negotiated.life > 0:
            self._succession = succession
            self._succession_timer = self.loop.call_later(HEARTBEAT_SECONDS, self._on_silence)

    @property
    def failure(self) -> MQError | None:
        return self._failure

    @property
    def is_shared(self) -> bool:
        return bool(self._listeners)

    @property
    def has_room(self) -> bool:
        return self._failure is None and len(self._listeners) < max(1, self.negotiated.conversations_max)

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
        self,
        conversation: int,
        type: int,
        payload: bytes,
        on_part: PartHandler | None = None,
        registered: list[PendingRequest] | None = None,
    ) -> PendingRequest:
        while self._is_paused and self._failure is None:
            room: asyncio.Future[None] = self.loop.create_future()
            self._room.append(room)
            await room
        if self._failure is not None:
            raise MQError(self._failure.reason, self._failure.detail)
        request = self._send_request(conversation, type, payload, on_part)
        if registered is not None:
            registered.append(request)
        return request

    def _send_request(
        self, conversation: int, type: int, payload: bytes, on_part: PartHandler | None
    ) -> PendingRequest:
        key = conversation << 32 | self._next_request(conversation)
        request = _LoopRequest(self, key, type | REPLY, on_part)
        self._requests[key] = request
        if len(payload) <= self._room_bytes:
            self._write(frame(type, conversation, request.number, payload))
        else:
            self._segmented.append(_SegmentedPayload(type, conversation, request.number, payload))
            self._schedule_flush()
        return request

    def _next_request(self, conversation: int) -> int:
        while True:
            self._last_request = self._last_request % _NUMBERS + 1
            if conversation << 32 | self._last_request not in self._requests:
                return self._last_request

    def poll(self) -> None:
        # The loop reads the socket all the time.
        pass

    def send(self, conversation: int, type: int, payload: bytes) -> None:
        if self._failure is None:
            self._write(frame(type, conversation, 0, payload))

    def send_numbered(self, conversation: int, type: int, payload: bytes) -> None:
        if self._failure is None:
            self._send_request(conversation, type, payload, None)

    def close(self) -> None:
        self._listeners.clear()
        self._fail(connection_broken("The connection was closed."))

    # -- sending -------------------------------------------------------------------------------------------------------

    def _write(self, data: bytes) -> None:
        self._out.append(data)
        self._out_bytes += len(data)
        if self._out_bytes > _FLUSH_BYTES:
            # So that `pause_writing` is called in time when the socket is full.
            self._flush()
        else:
            self._schedule_flush()

    def _schedule_flush(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            self.loop.call_soon(self._on_flush_due)

    def _on_flush_due(self) -> None:
        self._is_flush_due = False
        self._flush()

    def _flush(self) -> None:
        transport, tls = self._transport, self._tls
        if transport is None or self._failure is not None or (tls is not None and not tls.is_ready):
            return
        while not self._is_rekeying and (self._out or (self._segmented and not self._is_paused)):
            if self._segmented and not self._is_paused:
                large = self._segmented.popleft()
                self._out.append(large.next_frame(self._room_bytes))
                if not large.is_sent:
                    self._segmented.append(large)
            data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
            self._out.clear()
            self._out_bytes = 0
            if tls is not None:
                try:
                    tls.encrypt(data)
                except TlsFailed as error:
                    self._fail(MQError(error.reason, error.text))
                    return
                data = tls.take_output()
            transport.write(data)
            if tls is not None:
                self._keyed_bytes += len(data)
                self._rekey_if_due(transport, tls)

    def _rekey_if_due(self, transport: asyncio.Transport, tls: TlsStream) -> None:
        """Ask for new keys after so many bytes (SSLRKEYC, KeyResetCount)."""
        if 0 < self.negotiated.key_reset_bytes <= self._keyed_bytes:
            tls.encrypt(frame(REKEY, 0, 1))
            tls.close()
            self._is_rekeying = True
            self._awaits_rekey_reply = True
            transport.write(tls.take_output())

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._resume_senders()
        if self._segmented:
            self._schedule_flush()

    def _resume_senders(self) -> None:
        room, self._room = self._room, []
        for future in room:
            if not future.done():
                future.set_result(None)

    # -- receiving -----------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Other event loops have transport classes of their own.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(HIGH_WATER_BYTES, LOW_WATER_BYTES)
        self._send_tls_output()
        self._schedule_flush()

    def data_received(self, data: bytes) -> None:
        self._last_received = self.loop.time()
        try:
            if self._tls is not None:
                data = self._decrypt(data, self._tls)
            if data:
                reader = self._reader
                reader.feed(data)
                while self._failure is None and reader.next():
                    self._on_frame(reader)
        except MalformedFrame as error:
            self._fail(protocol_error(error))
        except TlsFailed as error:
            # The last output is the TLS alert with the cause.
            self._send_tls_output()
            self._fail(MQError(error.reason, error.text))

    def _decrypt(self, data: bytes, tls: TlsStream) -> bytes:
        was_ready = tls.is_ready
        self._keyed_bytes += len(data)
        plain = tls.receive_data(data)
        if self._is_rekeying and tls.is_ended:
            left = tls.leftover()
            self._tls = tls.successor()
            self._is_rekeying = False
            self._keyed_bytes = 0
            self.key_resets += 1
            if left:
                self._decrypt(left, self._tls)
        self._send_tls_output()
        if tls.is_ready and not was_ready:
            self._schedule_flush()
        return plain

    def _send_tls_output(self) -> None:
        if self._tls is not None and self._transport is not None:
            output = self._tls.take_output()
            if output:
                self._transport.write(output)

    def _on_frame(self, reader: FrameReader) -> None:
        key = int(reader.conversation) << 32 | int(reader.request)
        request = self._requests.get(key)
        kind = int(reader.type)
        if request is not None and (kind == request.type or kind in (MESSAGE, OUTPUT)):
            payload = self._assemble(reader, request)
            if payload is None:
                return
            if kind == request.type:
                if len(payload) < REPLY_FIXED_BYTES:
                    raise MalformedFrame("a reply without completion and reason")
                del self._requests[key]
                request.complete(payload)
            elif request.on_part is not None:
                request.on_part(kind, payload)
        elif kind == HEARTBEAT:
            self._write(reply_frame(HEARTBEAT, 0, reader.request, 0, 0))
        elif kind == NOTICE:
            reason, text = decode_reason(PayloadReader(reader.buffer, reader.start, reader.end))
            for number, listener in list(self._listeners.items()):
                if reader.conversation in (0, number):
                    listener.on_notice(reason, text)
        elif kind == FAREWELL:
            reason, text = decode_reason(PayloadReader(reader.buffer, reader.start, reader.end))
            self._fail(
                connection_broken(text or f"{self.peer} ended the connection.", reason or mq.MQRC_CONNECTION_BROKEN)
            )
        elif kind == REKEY | REPLY and self._awaits_rekey_reply:
            self._awaits_rekey_reply = False  # the last frame under the old keys
        elif kind != HEARTBEAT | REPLY:
            raise MalformedFrame(f"a frame of type {kind} that no request expects")

    def _assemble(self, reader: FrameReader, request: _LoopRequest) -> bytes | None:
        """Return the payload when its last segment has arrived, else None."""
        part = reader.buffer[reader.start : reader.end]
        if not reader.flags & MORE and request.assembly is None:
            return part
        if request.assembly is None:
            request.assembly = IncomingPayload(reader.type, self.negotiated.message_bytes_max + PAYLOAD_OVERHEAD_BYTES)
        request.assembly.add(part)
        if reader.flags & MORE:
            return None
        whole = request.assembly.whole()
        request.assembly = None
        return whole

    # -- the end -------------------------------------------------------------------------------------------------------

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        why = f": {error}" if error is not None else ""
        self._fail(connection_broken(f"{self.peer} closed the connection{why}."))

    def _fail(self, error: MQError) -> None:
        if self._failure is not None:
            return
        self._flush()
        self._failure = error
        for timer in (self._heartbeat_timer, self._succession_timer):
            if timer is not None:
                timer.cancel()
        requests, self._requests = self._requests, {}
        self._segmented.clear()
        for each in requests.values():
            each.fail(error)
        listeners, self._listeners = self._listeners, {}
        for listener in listeners.values():
            listener.on_link_broken(error)
        self._resume_senders()
        if self._transport is not None:
            # Buffered frames are still sent, unless the peer does not read them.
            self._transport.close()

    # -- heartbeats ----------------------------------------------------------------------------------------------------

    def _on_silence(self) -> None:
        """Look for a later leader while a task waits for a queue manager that is silent."""
        assert self._succession is not None
        silent = self.loop.time() - self._last_received
        if not self._requests:
            silent = 0.0
        wait = HEARTBEAT_SECONDS - silent
        if silent >= LOOK_SECONDS:
            self._succession.look(self.negotiated, self._on_successor)
            wait = float(AGAIN_SECONDS)
        elif silent >= HEARTBEAT_SECONDS:
            self._write(frame(HEARTBEAT, 0, 1))
            wait = LOOK_SECONDS - silent
        self._succession_timer = self.loop.call_later(wait, self._on_silence)

    def _on_successor(self, text: str) -> None:
        """On the thread that has asked."""
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self._leave, text)

    def _leave(self, text: str) -> None:
        transport = self._transport
        self._fail(connection_broken(text))
        if transport is not None:
            transport.abort()

    def _schedule_heartbeat(self) -> None:
        interval = float(self.negotiated.heartbeat_seconds)
        if interval > 0:
            self._heartbeat_timer = self.loop.call_later(interval, self._on_heartbeat_interval)

    def _on_heartbeat_interval(self) -> None:
        interval = float(self.negotiated.heartbeat_seconds)
        silent = self.loop.time() - self._last_received
        if silent >= interval + REPLY_SECONDS:
            transport = self._transport
            self._fail(
                connection_broken(
                    f"{self.peer} has not answered heartbeats: nothing was received for {silent:.0f} seconds."
                )
            )
            with suppress(OSError):
                if transport is not None:
                    transport.abort()
            return
        if silent >= interval:
            self._write(frame(HEARTBEAT, 0, 1))
            self._heartbeat_timer = self.loop.call_later(REPLY_SECONDS, self._on_heartbeat_interval)
        else:
            self._heartbeat_timer = self.loop.call_later(interval - silent, self._on_heartbeat_interval)
