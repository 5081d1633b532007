"""The blocking link: one socket to a queue manager, shared by several conversations and threads.

No thread of its own reads the socket. The first thread that waits for a reply reads (the leader); other waiting threads
follow, and are woken when the leader has read their reply, or when it leaves and one of them has to lead. So for a lone
thread a verb is one send and one receive.

While no thread waits, `keepalive` reads the socket once a second.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from librt.threading import Lock
from mypy_extensions import i64

from ostler.client.link.interrupts import SIGNAL_CHECK_SECONDS, run_signal_handlers
from ostler.client.link.succession import AGAIN_SECONDS, HEARTBEAT_SECONDS, LOOK_SECONDS, Succession
from ostler.client.link.waiters import LinkBroken, PayloadStream, ReplyWaiter
from ostler.client.link.writer import DONT_WAIT, LinkWriter, WritingLink, is_ready
from ostler.model import constants as mq
from ostler.wire.connect_frames import Hello
from ostler.wire.frames import (
    DISCONNECT,
    FAREWELL,
    HEADER_BYTES,
    HEARTBEAT,
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
from ostler.wire.replies import REPLY_FIXED_BYTES, decode_reason
from ostler.wire.segments import IncomingPayload
from ostler.wire.tls_stream import TlsFailed, TlsStream

RECEIVE_BYTES: Final = 65536
RECEIVE_BYTES_MAX: Final = 512 * 1024
NO_DEADLINE: Final = -1.0
_REPLY_SECONDS: Final = 60
_RECEIVE_TIMEOUT: Final = struct.pack("@ll", int(SIGNAL_CHECK_SECONDS), 0)


@final
class ClientConversation:
    """One of the conversations that share a link: its requests, under numbers of its own."""

    def __init__(self, link: BlockingLink, number: i64) -> None:
        self.link = link
        self.number: i64 = number
        self._last_request: i64 = 0
        self.notice: i64 = 0  # the reason of the last NOTICE: quiescing, say
        self.on_notice: Callable[[], None] | None = None  # must not block
        self.is_open = True

    def register_request(self, type: i64) -> ReplyWaiter:
        """Register a waiter for a reply under a new request number. Raises LinkBroken."""
        link = self.link
        link.state.acquire()
        try:
            waiter = ReplyWaiter(self._new_key(), type | REPLY)
            link.waiting[waiter.key] = waiter
            return waiter
        finally:
            link.state.release()

    def open_stream(self, type: i64, credit: i64) -> PayloadStream:
        """Register a stream of payloads under a new request number. Raises LinkBroken."""
        link = self.link
        link.state.acquire()
        try:
            stream = PayloadStream(self._new_key(), type, credit)
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

    def exchange_frame(self, waiter: ReplyWaiter, data: bytes) -> None:
        """Send a request of one frame, and wait for the reply. Raises LinkBroken."""
        link = self.link
        link.writer.send_frame(waiter, data)
        link.finish(waiter)

    def exchange(self, type: i64, payload: bytes) -> ReplyWaiter:
        """Send a request of any length, and wait for the reply. Raises LinkBroken."""
        waiter = self.send_request(type, payload)
        self.link.finish(waiter)
        return waiter

    def send_request(self, type: i64, payload: bytes) -> ReplyWaiter:
        """Send a request; `link.finish` waits for its reply. Raises LinkBroken."""
        waiter = self.register_request(type)
        self.send(waiter, waiter.request(), type, [payload])
        return waiter

    def send(self, waiter: ReplyWaiter | None, request: i64, type: i64, parts: list[bytes]) -> None:
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
        """Send a frame that has no reply, without waiting: now, or after the thread that is sending."""
        self.link.writer.post(frame(type, self.number, 0, payload))

    def abandon(self) -> None:
        """Disconnect without waiting, and leave the link."""
        # It needs no reply, and has no effect if there is no connection.
        self.post(DISCONNECT, bytes(4))
        self.close()

    def close(self) -> None:
        """Leave the link. The last conversation closes it."""
        self.is_open = False
        self.link.leave(self)


@final
class BlockingLink(WritingLink):
    """A socket, its conversations and their waiters. Made by `dial` after the negotiation."""

    def __init__(
        self, connected: socket.socket, reader: FrameReader, negotiated: Hello, tls: TlsStream | None, peer: str
    ) -> None:
        self._socket = connected
        self._descriptor: i64 = connected.fileno()
        self._receive: Callable[[int], bytes] = connected.recv
        # Left to the kernel, this costs nothing while there is something to receive.
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _RECEIVE_TIMEOUT)
        self._reader = reader
        self._uses_tls: bool = tls is not None
        self.writer = LinkWriter(self, connected, tls)
        self.writer.key_reset_bytes = negotiated.key_reset_bytes
        self.peer = peer  # for messages to people
        self.version: i64 = negotiated.version
        self.segment_bytes = negotiated.segment_bytes
        self.message_bytes_max: i64 = negotiated.message_bytes_max
        self.heartbeat_seconds: i64 = negotiated.heartbeat_seconds
        self.conversations_max: i64 = max(1, negotiated.conversations_max)
        self._negotiated = negotiated
        self.succession: Succession | None = None
        """The other addresses of a queue manager that has copies."""
        reader.frame_bytes_max = negotiated.segment_bytes
        self._payload_bytes_max: i64 = negotiated.message_bytes_max + PAYLOAD_OVERHEAD_BYTES
        self.broken = 0  # the reason, once the link is broken
        self.broken_text = ""
        self.forked = False
        self.state = Lock()  # held for a moment only
        self.waiting: dict[int, ReplyWaiter] = {}
        self._followers: dict[int, ReplyWaiter] = {}
        self.streams: dict[int, PayloadStream] = {}
        self._conversations: dict[int, ClientConversation] = {}
        self._next_conversation: i64 = 0
        self._ended_conversations: set[int] = set()  # replies to them may still arrive
        self._reading = False
        self._dispatching = False
        self._is_closing = False  # the last conversation has left, and no other may join
        self._closed = False
        self._receive_bytes: i64 = RECEIVE_BYTES
        # For the keepalive: counts of receives, now and at its last call, and the seconds without any.
        self._activity: i64 = 0
        self._activity_seen: i64 = 0
        self._idle_seconds: i64 = 0
        self._silent_seconds: i64 = 0  # while somebody waits

    def watch_succession(self, succession: Succession) -> None:
        """Leave this link when its queue manager is silent, and a later leader of it is found."""
        if self.succession is None and self._negotiated.life > 0:
            self.succession = succession

    # -- conversations ------------------------------------------------------------------------------------------------

    def join(self) -> ClientConversation | None:
        """Return a new conversation; None when there are as many as were negotiated, or the link is closing."""
        self.state.acquire()
        try:
            if self.broken or self._is_closing or len(self._conversations) >= self.conversations_max:
                return None
            while True:
                self._next_conversation = (self._next_conversation & 0x3FFFFFFF) + 1
                if self._next_conversation not in self._conversations:
                    break
            conversation = ClientConversation(self, self._next_conversation)
            self._conversations[conversation.number] = conversation
            return conversation
        finally:
            self.state.release()

    def leave(self, conversation: ClientConversation) -> None:
        """End a conversation. Its waiters and streams are woken as broken."""
        self.state.acquire()
        self._conversations.pop(conversation.number, None)
        may_be_leader = False
        for key in [each for each in self.waiting if each >> 32 == conversation.number]:
            waiter = self.waiting.pop(key)
            waiter.broken = True
            self._ended_conversations.add(conversation.number)
            may_be_leader = may_be_leader or (self._reading and waiter.event is None)
            self._release(waiter)
        for key in [each for each in self.streams if each >> 32 == conversation.number]:
            stream = self.streams.pop(key)
            stream.broken = True
            self._ended_conversations.add(conversation.number)
            may_be_leader = self._interrupt(stream) or may_be_leader
        is_last = not self._conversations
        if is_last:
            self._is_closing = True
        self.state.release()
        if is_last:
            self.fail_link(mq.MQRC_CONNECTION_BROKEN, "The link was closed.")
        elif may_be_leader:
            # Its thread may be the leader, which wakes when the reply to this arrives.
            self.writer.post(frame(HEARTBEAT, 0, 1))

    # -- waiting ------------------------------------------------------------------------------------------------------

    def finish(self, waiter: ReplyWaiter) -> None:
        """Wait for a reply. Raises LinkBroken. After any other exception the reply is dropped when it arrives."""
        self.wait(waiter, NO_DEADLINE)
        if waiter.broken:
            raise self.broken_error()

    def wait(self, waiter: ReplyWaiter, deadline: float) -> bool:
        """Wait until a waiter is done. Returns False at the deadline, a time of the monotonic clock."""
        event: threading.Lock | None = None
        self.state.acquire()
        if waiter.done:
            self.state.release()
            return True
        if self._reading:
            event = threading.Lock()
            event.acquire()
            waiter.event = event
            self._followers[waiter.key] = waiter
        else:
            self._reading = True
        self.state.release()
        if event is not None:
            self._follow(waiter, event, deadline)
        if event is None or waiter.promoted:
            # Also a waiter that is done by now: as long as it counts as the leader, no other thread reads.
            waiter.promoted = False
            self._lead(waiter, deadline)
        return waiter.is_done()

    def _follow(self, waiter: ReplyWaiter, event: threading.Lock, deadline: float) -> None:
        """Sleep until the leader has read the reply, or this thread has to lead, or the time is up."""
        try:
            self._sleep(event, deadline)
        except BaseException:
            if self._unfollow(waiter):
                self.stop_leading()
            raise
        if self._unfollow(waiter):
            if waiter.done:
                self.stop_leading()
            else:
                waiter.promoted = True

    def _sleep(self, event: threading.Lock, deadline: float) -> None:
        seconds = SIGNAL_CHECK_SECONDS
        while seconds > 0:
            if deadline >= 0:
                seconds = max(0.0, min(deadline - time.monotonic(), SIGNAL_CHECK_SECONDS))
            if event.acquire(True, seconds):
                return
            run_signal_handlers()

    def _unfollow(self, waiter: ReplyWaiter) -> bool:
        """Stop following. Returns whether the lead was handed to this waiter meanwhile."""
        self.state.acquire()
        self._followers.pop(waiter.key, None)
        waiter.event = None
        promoted = waiter.promoted
        waiter.promoted = False
        self.state.release()
        return promoted

    def try_to_lead(self) -> bool:
        self.state.acquire()
        leads = not self._reading and not self.broken
        if leads:
            self._reading = True
        self.state.release()
        return leads

    def _lead(self, waiter: ReplyWaiter, deadline: float) -> None:
        """Read the socket until a waiter is done."""
        try:
            while not waiter.done:
                if self.broken:
                    self._fail_waiter(waiter)
                    return
                if deadline >= 0:
                    seconds = deadline - time.monotonic()
                    if not is_ready(self._descriptor, select.POLLIN, min(seconds, SIGNAL_CHECK_SECONDS)):
                        if seconds <= SIGNAL_CHECK_SECONDS:
                            return
                        run_signal_handlers()
                        continue
                try:
                    data = self._receive(self._receive_bytes)
                except BlockingIOError:
                    run_signal_handlers()
                    continue
                except OSError as error:
                    self.fail_link(mq.MQRC_CONNECTION_BROKEN, f"Receiving from {self.peer} failed: {error}.")
                    continue
                self._on_received(data)
        finally:
            self.stop_leading()

    def read_once(self) -> None:
        """Read and process what has arrived. The caller leads."""
        try:
            data = self._socket.recv(self._receive_bytes, DONT_WAIT)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.fail_link(mq.MQRC_CONNECTION_BROKEN, f"Receiving from {self.peer} failed: {error}.")
            return
        self._on_received(data)

    def stop_leading(self) -> None:
        """Hand the lead to a waiting thread, if there is any."""
        if self._dispatching:
            # An asynchronous exception interrupted the dispatching; frames may be lost.
            self._dispatching = False
            self.fail_link(mq.MQRC_CONNECTION_BROKEN, "The reading of frames was interrupted.")
        self.state.acquire()
        self._reading = False
        for waiter in self._followers.values():
            event = waiter.event
            if not waiter.done and event is not None:
                self._reading = True
                waiter.promoted = True
                waiter.event = None
                event.release()
                break
        self.state.release()
        if self.broken:
            self._close()

    # -- receiving ----------------------------------------------------------------------------------------------------

    def _on_received(self, data: bytes) -> None:
        """Process received bytes. The caller leads."""
        if not data:
            self.fail_link(mq.MQRC_CONNECTION_BROKEN, f"{self.peer} closed the connection.")
            return
        self._activity += 1
        if len(data) == self._receive_bytes:
            self._receive_bytes = RECEIVE_BYTES_MAX
        elif len(data) < RECEIVE_BYTES:
            self._receive_bytes = RECEIVE_BYTES
        try:
            if self._uses_tls:
                data = self._decrypt(data)
            reader = self._reader
            self._dispatching = True
            reader.feed(data)
            while reader.next():
                self._dispatch()
        except MalformedFrame as error:
            self.fail_link(mq.MQRC_CONNECTION_BROKEN, f"{self.peer} violated the protocol: {error}.")
        self._dispatching = False
        self.writer.flush_backlog()

    def _decrypt(self, data: bytes) -> bytes:
        try:
            return self.writer.decrypt(data)
        except TlsFailed as failure:
            raise MalformedFrame(failure.text) from None

    def _dispatch(self) -> None:
        """Hand the frame that was read to its waiter, stream or conversation."""
        reader = self._reader
        kind: i64 = reader.type
        key: i64 = reader.conversation << 32 | reader.request
        if kind & REPLY:
            waiter = self.waiting.get(key)
            if waiter is not None:
                if waiter.type != kind:
                    raise MalformedFrame(f"frame type {kind} as a reply to type {waiter.type ^ REPLY}")
                self._on_reply(waiter)
            elif kind == REKEY | REPLY and self.writer.is_rekeying:
                return  # the last frame under the old keys
            elif kind != HEARTBEAT | REPLY and reader.conversation not in self._ended_conversations:
                raise MalformedFrame(f"a reply of type {kind} to no request")
        elif kind == MESSAGE or kind == OUTPUT:
            stream = self.streams.get(key)
            if stream is None and reader.conversation in self._ended_conversations:
                return
            if stream is None or stream.type != kind:
                raise MalformedFrame("a message that no request expects")
            self._on_stream_payload(stream)
        elif kind == HEARTBEAT:
            self.writer.enqueue(frame(HEARTBEAT | REPLY, 0, reader.request))
            if self.writer.is_backlog_full():
                raise MalformedFrame("heartbeats without end")
        elif kind == NOTICE:
            reason, _ = decode_reason(PayloadReader(reader.buffer, reader.start, reader.end))
            self._on_notice(reader.conversation, reason)
        elif kind == FAREWELL:
            reason, text = decode_reason(PayloadReader(reader.buffer, reader.start, reader.end))
            self.fail_link(reason or mq.MQRC_CONNECTION_BROKEN, text or f"{self.peer} ended the connection.")
        else:
            raise MalformedFrame(f"a frame of type {kind}, which no queue manager sends")

    def _on_reply(self, waiter: ReplyWaiter) -> None:
        """Store a reply or a segment of one, and wake its waiter when it is whole."""
        reader = self._reader
        if reader.flags & MORE or waiter.assembly is not None:
            if waiter.assembly is None:
                waiter.assembly = IncomingPayload(reader.type, self._payload_bytes_max)
            waiter.assembly.add(reader.buffer[reader.start : reader.end])
            if reader.flags & MORE:
                return
            waiter.buffer = waiter.assembly.whole()
            waiter.assembly = None
            waiter.start = 0
            waiter.end = len(waiter.buffer)
        else:
            waiter.buffer = reader.buffer
            waiter.start = reader.start
            waiter.end = reader.end
        if waiter.end - waiter.start < REPLY_FIXED_BYTES:
            raise MalformedFrame("a reply without completion and reason")
        self._wake(waiter)

    def _on_stream_payload(self, stream: PayloadStream) -> None:
        reader = self._reader
        part = reader.buffer[reader.start : reader.end]
        if reader.flags & MORE or stream.assembly is not None:
            if stream.assembly is None:
                stream.assembly = IncomingPayload(reader.type, self._payload_bytes_max)
            stream.assembly.add(part)
            if reader.flags & MORE:
                return
            part = stream.assembly.whole()
            stream.assembly = None
        stream.credit -= 1
        if stream.credit < 0:
            raise MalformedFrame("more messages than the credit allows")
        stream.add(part)
        waiter = stream.waiter
        if waiter is not None:
            self._wake(waiter)

    def _wake(self, waiter: ReplyWaiter) -> None:
        self.state.acquire()
        self.waiting.pop(waiter.key, None)
        self._release(waiter)
        self.state.release()

    def _release(self, waiter: ReplyWaiter) -> None:
        """Wake the thread of a waiter. Under the state lock."""
        waiter.done = True
        self._followers.pop(waiter.key, None)
        event = waiter.event
        waiter.event = None
        if event is not None:
            event.release()

    def _on_notice(self, number: i64, reason: i64) -> None:
        self.state.acquire()
        notified = list(self._conversations.values())
        self.state.release()
        for conversation in notified:
            if number == 0 or conversation.number == number:
                conversation.notice = reason
                callback = conversation.on_notice
                if callback is not None:
                    callback()

    def wait_stream(self, stream: PayloadStream, deadline: float) -> bool:
        """Wait until a stream has a payload. Returns False when the time is up or the wait was interrupted.

        Raises LinkBroken.
        """
        # A negative key is never that of a request.
        waiter = ReplyWaiter(-1 - stream.key, 0)
        self.state.acquire()
        stream.waiter = waiter
        over: bool = self.broken != 0 or stream.broken or stream.is_interrupted or stream.count() > 0
        self.state.release()
        try:
            if not over:
                self.wait(waiter, deadline)
        finally:
            stream.waiter = None
            stream.is_interrupted = False
        if stream.count() > 0:
            return True
        if self.broken or stream.broken:
            raise self.broken_error()
        return False

    def interrupt_stream(self, stream: PayloadStream) -> None:
        """End the wait for a stream, also one that is about to begin. Never blocks for long."""
        self.state.acquire()
        may_be_leader = self._interrupt(stream)
        self.state.release()
        if may_be_leader:
            # It may be the leader, which wakes when the reply to this arrives.
            self.writer.post(frame(HEARTBEAT, 0, 1))

    def _interrupt(self, stream: PayloadStream) -> bool:
        """Interrupt a stream, under the state lock. Returns whether the thread that waits for it may be the leader."""
        stream.is_interrupted = True
        waiter = stream.waiter
        if waiter is None or waiter.done:
            return False
        reads: bool = self._reading and waiter.event is None
        self._release(waiter)
        return reads

    def close_stream(self, stream: PayloadStream) -> None:
        self.state.acquire()
        self.streams.pop(stream.key, None)
        self.state.release()

    def read_available(self) -> None:
        """Process what has arrived, without waiting."""
        if self.try_to_lead():
            try:
                self.read_once()
            finally:
                self.stop_leading()

    # -- the end ------------------------------------------------------------------------------------------------------

    def drop(self, waiter: ReplyWaiter) -> None:
        self.state.acquire()
        self.waiting.pop(waiter.key, None)
        self.state.release()

    def _fail_waiter(self, waiter: ReplyWaiter) -> None:
        self.state.acquire()
        self.waiting.pop(waiter.key, None)
        waiter.broken = True
        waiter.done = True
        self.state.release()

    def broken_error(self) -> LinkBroken:
        """Return the exception with the cause of the failure."""
        return LinkBroken(self.broken, self.broken_text)

    def fail_link(self, reason: i64, text: str) -> None:
        """Break the link: wake all waiters and notify all conversations. Does nothing on a broken link."""
        self.state.acquire()
        if self.broken:
            self.state.release()
            return
        self.broken_text = text
        self.broken = reason
        notified = list(self._conversations.values())
        waiting = list(self.waiting.values())
        self.waiting = {}
        for stream in self.streams.values():
            stream.broken = True
            if stream.waiter is not None:
                waiting.append(stream.waiter)
        for waiter in waiting:
            waiter.broken = True
            self._release(waiter)
        is_idle = not self._reading
        self.state.release()
        if not self.forked:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        if is_idle:
            self._close()
        for conversation in notified:
            callback = conversation.on_notice
            if callback is not None:
                # A failing callback must not keep the others from being called.
                with suppress(Exception):
                    callback()

    def _close(self) -> None:
        """Close the socket when no thread uses it any more. A thread that does calls this when it leaves."""
        if not self.writer.try_lock():
            return
        self.state.acquire()
        may_close = not self._reading and not self._closed
        if may_close:
            self._closed = True
        self.state.release()
        self.writer.unlock()
        if may_close:
            self._socket.close()

    def descriptor(self) -> int:
        return self._descriptor

    def is_closed(self) -> bool:
        return self._closed

    def close_in_child(self) -> None:
        """Close this forked child's copy of the socket, without sending anything: the link is the parent's."""
        self.forked = True
        self.broken_text = "The connection belongs to the process that this one was forked from."
        self.broken = mq.MQRC_CONNECTION_BROKEN
        self._closed = True
        self._socket.close()

    # -- keepalive ----------------------------------------------------------------------------------------------------

    def on_keepalive(self, seconds: i64, is_readable: bool = True) -> None:
        """Process what arrived while no thread waited, and exchange heartbeats. Called once a second."""
        if self.broken:
            self._close()
            return
        if is_readable:
            self.read_available()
        self.writer.flush_backlog()
        if self._activity != self._activity_seen:
            self._activity_seen = self._activity
            self._idle_seconds = 0
            self._silent_seconds = 0
            return
        if self.succession is not None:
            self._watch_succession(self.succession, seconds)
        before: i64 = self._idle_seconds
        self._idle_seconds = before + seconds
        if self.heartbeat_seconds <= 0:
            return
        if self._idle_seconds >= self.heartbeat_seconds + _REPLY_SECONDS:
            self.fail_link(mq.MQRC_CONNECTION_BROKEN, f"{self.peer} has not answered heartbeats.")
        elif before < self.heartbeat_seconds <= self._idle_seconds:
            self.writer.post(frame(HEARTBEAT, 0, 1))

    def _watch_succession(self, succession: Succession, seconds: i64) -> None:
        """Look for a later leader while somebody waits for a queue manager that is silent."""
        if not self.waiting and not self.streams:
            self._silent_seconds = 0
            return
        before: i64 = self._silent_seconds
        self._silent_seconds = before + seconds
        if before < HEARTBEAT_SECONDS <= self._silent_seconds:
            self.writer.post(frame(HEARTBEAT, 0, 1))
        if self._silent_seconds >= LOOK_SECONDS:
            # The next time is counted from here.
            self._silent_seconds = LOOK_SECONDS - AGAIN_SECONDS
            succession.look(self._negotiated, self._on_successor)

    def _on_successor(self, text: str) -> None:
        self.fail_link(mq.MQRC_CONNECTION_BROKEN, text)
