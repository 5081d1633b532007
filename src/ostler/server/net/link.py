"""The server side of one connection: bytes from the socket become frames for conversations or a channel agent, and
replies become bytes, within limits in both directions.

A link belongs to the reactor's thread. Its methods need the engine's lock, except `flush`, which only sends.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.accounting import record_connect_failed
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.net.link_limits import (
    ADMISSION_TIMEOUT_MS,
    COSTLY_UNITS,
    FAREWELL_TIMEOUT_MS,
    FLUSH_BYTES_MAX,
    HEARTBEAT_TIMEOUT_MS,
    HELLO_TIMEOUT_MS,
    OUT_HIGH_BYTES,
    OUT_LOW_BYTES,
    RECEIVE_BYTES,
    RECEIVE_BYTES_MAX,
    UNADMITTED_FRAME_BYTES,
)
from ostler.server.net.new_keys import check_rekey
from ostler.server.net.slow_lane import LaneMember
from ostler.wire.client_hello import HANDSHAKE_RECORD
from ostler.wire.connect_frames import decode_connect, decode_hello
from ostler.wire.frames import (
    CANCEL,
    CHANNEL_HELLO,
    CHANNEL_MESSAGE,
    COMMAND,
    CONNECT,
    CREDIT,
    FAREWELL,
    FIRST_FRAME_BYTES_MAX,
    GET,
    GET_ANY,
    HEADER_BYTES,
    HEARTBEAT,
    HELLO,
    MORE,
    NOTICE,
    PAYLOAD_OVERHEAD_BYTES,
    PROTOCOL_VERSION,
    PUT,
    REKEY,
    REPLY,
    SEGMENT_BYTES,
    STREAM,
    TYPE_NAMES,
    FrameReader,
    MalformedFrame,
    frame,
)
from ostler.wire.put_get_frames import put_head_bytes
from ostler.wire.replies import failure_frame, reason_payload, reply_frame
from ostler.wire.segments import READY_FRAME, SEGMENT_COST_BYTES, IncomingPayload, OutgoingPayload
from ostler.wire.tls_stream import TlsFailed, TlsStream

if TYPE_CHECKING:
    from ostler.server.net.conversation import ServerConversation, WaitingRequest
    from ostler.server.net.link_agent import LinkAgent
    from ostler.server.net.reactor import Reactor

# States of a link.
NEW: Final = 0  # before HELLO is answered
OPEN: Final = 1
CLOSING: Final = 2  # output is being flushed before the socket is closed
CLOSED: Final = 3

NO_MEMORY: Final = "The queue manager has not enough memory for this request. Retry later, or give it more memory."
_CLOCK_MASK: Final = 3  # the time is read at every fourth request of one link
_MAY_RETURN_MESSAGES: Final = frozenset({GET, GET_ANY, STREAM, CREDIT})  # the types of these requests
_PARTIAL_PAYLOADS_MAX: Final = 64


@final
class ServerLink(LaneMember):
    """One accepted or outgoing connection. Its timer watches for HELLO, admission, heartbeats and the last flush."""

    def __init__(self, reactor: Reactor, sock: socket.socket, address: str, is_local: bool) -> None:
        super().__init__(sock.fileno())
        self.reactor = reactor
        self.sock = sock
        self.address = address
        self.is_for_group = False  # the peer has connected to the queue-sharing group (INDISP(GROUP))
        self.is_local = is_local  # on the queue manager's own socket: the kernel reports the peer's user
        self.user: str = ""
        self.uid: i64 = -1
        self.is_owner = False
        self.process_id: i64 = 0
        self.state: i64 = NEW
        self.version: i64 = PROTOCOL_VERSION
        self.channel: str = ""
        self.channel_user: str = ""
        self.started_ms: i64 = 0
        self.segment_bytes: i64 = SEGMENT_BYTES
        self.message_bytes_max: i64 = 0
        self.heartbeat_ms: i64 = 0
        self.conversations_max: i64 = 1
        self.conversations: dict[int, ServerConversation] = {}
        self.agent: LinkAgent | None = None  # of a message channel, instead of conversations
        self.reader = FrameReader(FIRST_FRAME_BYTES_MAX)
        self.tls: TlsStream | None = None
        self.partial_payloads: dict[tuple[int, int], IncomingPayload] = {}
        self.out: list[bytes] = []
        self.out_bytes: i64 = 0
        self.unsent: bytes = b""  # about to be sent; encrypted under TLS
        self.large: list[OutgoingPayload] = []
        self.large_bytes: i64 = 0  # of large replies, not cut into segments yet; gated ones included
        self.large_replies: i64 = 0  # not completely sent; gated ones included
        self.outgoing_bytes: i64 = 0  # of the bodies of large replies
        self.incoming_bytes: i64 = 0  # of partial payloads
        self.counted_bytes: i64 = 0  # of single frames in both directions, at the last count
        self.is_throttled = False  # its waiting gets take no messages until the application has read its replies
        self.waits_for_memory = False  # a request waits until other links hold less memory
        self.waits_for_log = False  # its long message waits until earlier ones are written to the log
        self.progress_bytes: i64 = 0  # sent and received in total at the last progress
        self.progress_ms: i64 = 0
        self.gated: i64 = 0  # replies that wait for the log (`GatedReply`)
        self.gated_bytes: i64 = 0  # of gated replies of one frame
        self.awaiting_drain: list[WaitingRequest] = []  # until the application has read
        self.is_dirty = False
        self.is_waiting = False  # for the socket to become writable
        self.is_paused = False  # the socket is not read
        self.is_admitted = is_local  # a user was authenticated on it
        self.is_for_commands = False  # it uses a slot that is reserved for runmqsc, endmqm and other commands
        self.is_quiescing = False  # its channel was stopped: it closes after its last conversation
        self.is_deferred = False  # a request waits for log space or a later pass; those behind it wait, too
        self.is_costly = False  # its requests are expensive and use the share that each pass has for such
        self.pending: i64 = 0  # requests that wait
        self.last_received_ms: i64 = 0
        self.is_heartbeat_pending = False
        self.heartbeat_sent_ms: i64 = 0
        self.receive_bytes: i64 = RECEIVE_BYTES
        self.received_bytes: i64 = 0
        self.sent_bytes: i64 = 0
        self.calls: i64 = 0
        self.sent_frames: i64 = 0
        self.close_reason: str = ""
        self.is_rekeying = False  # between two TLS sessions: nothing is sent
        self.keyed_bytes: i64 = 0  # sent and received before the current TLS session
        self.key_resets: i64 = 0  # of a client (SSLRKEYS)
        self.key_reset_ms: i64 = 0
        self._recv: Callable[[int], bytes] = sock.recv
        self._send: Callable[[bytes], int] = sock.send

    # -- receiving -----------------------------------------------------------------------------------------------------

    def on_readable(self) -> None:
        """Receive from the socket, and handle the frames that are complete."""
        try:
            data = self._recv(self.receive_bytes)
        except BlockingIOError:
            return
        except MemoryError:
            self.receive_bytes = RECEIVE_BYTES  # the data is still in the socket
            return
        except OSError as error:
            self.close(error.strerror or "the connection failed")
            return
        if not data:
            if self.reactor.is_gathering:
                return  # the peer may still read: gated replies are sent first, and the next pass finds this again
            self.close(f"the {'application' if self.agent is None else 'partner'} closed the connection")
            return
        self.last_received_ms = self.reactor.now_ms
        size: i64 = len(data)
        self.received_bytes += size
        # A buffer is allocated for each read: a small one for a peer that sends little.
        if size == self.receive_bytes:
            self.receive_bytes = RECEIVE_BYTES_MAX
        elif size < RECEIVE_BYTES:
            self.receive_bytes = RECEIVE_BYTES
        if self.state >= CLOSING:
            return
        try:
            self.receive(data)
        except MalformedFrame as error:
            self._protocol_error(error)
        except TlsFailed as error:
            self._tls_failed(error)
        except Exception as error:
            self.internal_error(error)

    def resume(self) -> None:
        """Continue with the frames behind a request that had to wait."""
        try:
            if self.is_throttled:
                self.is_throttled = False
                for conversation in list(self.conversations.values()):
                    conversation.wait_again()
            self.dispatch()
        except MalformedFrame as error:
            self._protocol_error(error)
        except Exception as error:
            self.internal_error(error)

    def internal_error(self, error: Exception) -> None:
        """Close this link, because code on this side has failed. Other links are not affected."""
        self.reactor.counters.internal_errors += 1
        if isinstance(error, MemoryError):
            self.reactor.release_ballast()
            try:
                self.reactor.handler.note_link(self, f"AMQ6118E: {NO_MEMORY}")
                self.send_farewell(mq.MQRC_STORAGE_NOT_AVAILABLE, NO_MEMORY)
            except MemoryError:
                self.schedule_close(NO_MEMORY)  # no FAREWELL: the caller goes on to serve others
            return
        text = f"A request could not be handled: {type(error).__name__}: {error}."
        self.reactor.handler.note_link(self, f"AMQ6109E: {text}")
        self.send_farewell(mq.MQRC_UNEXPECTED_ERROR, text)

    def _protocol_error(self, error: MalformedFrame) -> None:
        self.reactor.counters.malformed += 1
        self.send_farewell(mq.MQRC_CONNECTION_ERROR, f"The peer broke the protocol: {error}.")

    def receive(self, data: bytes) -> None:
        """Handle bytes as they came from the socket."""
        if self.state == NEW and self.tls is None and self.received_bytes == len(data) and data[0] == HANDSHAKE_RECORD:
            self.tls = self.reactor.handler.new_tls_stream(self)
        tls = self.tls
        if tls is not None:
            data = tls.receive_data(data)
            self.queue_tls_output()
            if self.out:
                self._mark_dirty()  # output may have waited for the handshake
            if not data:
                self._start_tls_successor(tls)
                return
        if self.agent is not None and self.agent.takes_bytes:
            self.agent.receive_bytes(data)
            return
        self.reader.feed(data)
        self.dispatch()
        if self.state != CLOSED and (self.counted_bytes != 0 or self.reader.pending_bytes() > RECEIVE_BYTES):
            self.reactor.memory.recount(self)
        if tls is not None:
            self._start_tls_successor(tls)

    def dispatch(self) -> None:
        """Handle the frames that are complete."""
        reader = self.reader
        memory = self.reactor.memory
        engine = self.reactor.engine
        share: i64 = engine.share_left
        handled: i64 = 0
        end_ns: i64 = 0
        while self.state < CLOSING and not self.is_deferred and not self.is_paused:
            if share - engine.share_left > COSTLY_UNITS:
                self.is_costly = True
            if self.is_costly and engine.share_left <= 0:
                self.reactor.defer(self)
                return
            if not reader.next():
                self.is_costly = self.is_costly and share != engine.share_left
                return
            handled += 1
            if handled & _CLOCK_MASK == 0:
                # Many requests at once may take long together.
                now_ns: i64 = self.reactor.monotonic_ns()
                if end_ns == 0:
                    end_ns = now_ns + self.reactor.slow.quick_ns
                elif now_ns > end_ns:
                    reader.put_back()
                    self.reactor.defer(self)
                    return
            is_short: bool = memory.segmented_bytes + memory.single_frame_bytes > memory.free_bytes
            if is_short and reader.type in _MAY_RETURN_MESSAGES and not memory.may_reply(self):
                reader.put_back()
                return
            self.calls += 1
            if reader.flags & MORE or self.partial_payloads:
                if self.reactor.is_log_behind():
                    reader.put_back()
                    self.calls -= 1
                    self.reactor.wait_for_log(self)
                    return
                self._receive_segment(reader)
                continue
            if self.agent is not None:
                self._agent_frame(reader.type, reader.request, reader.buffer, reader.start, reader.end)
                continue
            conversation = self.conversations.get(reader.conversation)
            if conversation is not None:
                account = conversation.connection.account
                began: i64 = 0 if account is None else i64(perf_counter_ns())
                conversation.handle(reader.type, reader.request, reader.buffer, reader.start, reader.end)
                if account is not None:
                    account.busy_ns += i64(perf_counter_ns()) - began
            else:
                self._link_frame(
                    reader.type, reader.conversation, reader.request, reader.buffer, reader.start, reader.end
                )

    def _receive_segment(self, reader: FrameReader) -> None:
        """Add a segment to its payload, and handle the payload when it is complete."""
        key = (reader.conversation, reader.request)
        payload = self.partial_payloads.get(key)
        if payload is None:
            if not reader.flags & MORE:
                self._deliver(reader.type, reader.conversation, reader.request, reader.buffer, reader.start, reader.end)
                return
            is_command: bool = reader.type == COMMAND and self.is_local and self.is_owner and self.state == OPEN
            # A channel sends its long messages one after the other.
            is_message: bool = self.agent is not None and reader.type == CHANNEL_MESSAGE and not self.partial_payloads
            is_expected: bool = is_command or is_message or reader.conversation in self.conversations
            if not is_expected or len(self.partial_payloads) >= _PARTIAL_PAYLOADS_MAX:
                raise MalformedFrame("segments where none are expected")
            payload = IncomingPayload(reader.type, self.message_bytes_max + PAYLOAD_OVERHEAD_BYTES)
            self.partial_payloads[key] = payload
        if payload.type != reader.type:
            raise MalformedFrame("segments of different types under one request")
        part = reader.buffer[reader.start : reader.end]
        self.reactor.memory.add_part(self, len(part) + SEGMENT_COST_BYTES)
        is_begin: bool = payload.size == 0 and reader.type == PUT and self.agent is None
        payload.add(part, put_head_bytes(part) if is_begin else 0)
        if not reader.flags & MORE:
            del self.partial_payloads[key]
            self.reactor.memory.remove_parts(self, payload.cost_bytes)
            self._deliver_assembled(payload, reader.conversation, reader.request)

    def _deliver_assembled(self, payload: IncomingPayload, number: i64, request: i64) -> None:
        """Handle a payload whose last segment has arrived."""
        conversation = self.conversations.get(number) if self.agent is None else None
        try:
            whole = payload.whole()
            if payload.head:
                if conversation is not None:
                    conversation.put_long(request, payload.head, whole)
                    return
                whole = payload.head + whole
        except MemoryError:
            if conversation is None:
                raise
            conversation.reply_out_of_memory(payload.type, request)
            return
        self._deliver(payload.type, number, request, whole, 0, len(whole))

    def _agent_frame(self, type: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        """Handle a frame of a message channel. Heartbeats belong to the link, whatever it is used for."""
        agent = self.agent
        assert agent is not None
        if type == HEARTBEAT:
            self.send(reply_frame(HEARTBEAT, 0, request, mq.MQCC_OK, 0))
            return
        if type == HEARTBEAT | REPLY:
            self._on_heartbeat_reply()
        agent.receive_frame(type, request, buffer, start, end)

    def _deliver(self, type: i64, number: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        if self.agent is not None:
            self._agent_frame(type, request, buffer, start, end)
            return
        conversation = self.conversations.get(number)
        if conversation is not None:
            conversation.handle(type, request, buffer, start, end)
        else:
            self._link_frame(type, number, request, buffer, start, end)

    # -- frames of the link itself -------------------------------------------------------------------------------------

    def _link_frame(self, type: i64, number: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        if self.state == NEW:
            if type == CHANNEL_HELLO and number == 0 and not self.is_local:
                self.reactor.handler.on_channel_hello(self, request, buffer[start:end])
                return
            if type != HELLO or number != 0:
                raise MalformedFrame("the first frame is no HELLO")
            self._hello(request, buffer[start:end])
        elif type == HEARTBEAT and number == 0:
            self.send(reply_frame(HEARTBEAT, 0, request, mq.MQCC_OK, 0))
        elif type == HEARTBEAT | REPLY and number == 0:
            self._on_heartbeat_reply()
        elif type == REKEY and number == 0:
            check_rekey(self.version, self.tls is not None, self.sent_bytes + self.received_bytes - self.keyed_bytes)
            self.send(frame(REKEY | REPLY, 0, request))
            self.rekey()
            self.key_resets += 1
            self.key_reset_ms = self.reactor.engine.wall_ms()
        elif type == CONNECT and number != 0:
            self._connect(number, request, buffer[start:end])
        elif type == COMMAND:
            self.reactor.handler.run_command(self, number, request, buffer[start:end])
        elif type == FAREWELL:
            self.close("the application sent FAREWELL")
        elif type == HELLO or number == 0 or type not in TYPE_NAMES:
            raise MalformedFrame(f"a frame of type {type} where it cannot be")
        elif type != CANCEL and request != 0:
            # The conversation has just ended, perhaps on this side: the application learns it from this reply.
            self.send(
                failure_frame(
                    type, number, request, mq.MQCC_FAILED, mq.MQRC_HCONN_ERROR, "There is no such conversation."
                )
            )

    def _hello(self, request: i64, payload: bytes) -> None:
        hello = decode_hello(payload)
        try:
            if hello.version < 1:
                raise MQError(
                    mq.MQRC_CHANNEL_NOT_AVAILABLE, f"Version {hello.version} of the protocol is not supported."
                )
            agreed = self.reactor.handler.on_hello(self, hello)
        except MQError as error:
            record_connect_failed(self.reactor.engine)
            self.send(failure_frame(HELLO, 0, request, mq.MQCC_FAILED, error.reason, error.detail))
            self.close_after_flush(f"refused: {error.detail}")
            return
        if agreed.version > PROTOCOL_VERSION:
            agreed.version = PROTOCOL_VERSION
        self.version = agreed.version
        self.channel = agreed.channel
        self.conversations_max = agreed.conversations_max
        self.send(frame(HELLO | REPLY, 0, request, bytes(8) + agreed.encode()))
        self.apply_negotiated(agreed.segment_bytes, agreed.message_bytes_max, agreed.heartbeat_seconds)

    def apply_negotiated(self, segment_bytes: i64, message_bytes_max: i64, heartbeat_seconds: i64) -> None:
        """Open the link with the values that both sides agreed on."""
        self.state = OPEN
        self.segment_bytes = segment_bytes
        self.message_bytes_max = message_bytes_max
        self.heartbeat_ms = heartbeat_seconds * 1000
        self.reader.frame_bytes_max = UNADMITTED_FRAME_BYTES if self._awaits_admission() else segment_bytes
        self.last_received_ms = self.reactor.now_ms
        self._schedule_heartbeat()

    def admit(self) -> None:
        """Lift the limits for links without an authenticated user: one has just connected."""
        if not self.is_admitted:
            self.is_admitted = True
            self.reader.frame_bytes_max = self.segment_bytes
            self._schedule_heartbeat()

    def _connect(self, number: i64, request: i64, payload: bytes) -> None:
        asked = decode_connect(payload)
        if len(self.conversations) >= self.conversations_max:
            raise MalformedFrame(f"more than {self.conversations_max} conversations on one connection")
        try:
            self.reactor.handler.on_connect(self, number, request, asked)
        except MQError as error:
            record_connect_failed(self.reactor.engine)
            self.send(failure_frame(CONNECT, number, request, error.completion, error.reason, error.detail))

    # -- sending -------------------------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Queue a frame. It is sent at the end of the pass."""
        if self.state == CLOSED:
            return
        self.out.append(data)
        self.out_bytes += len(data)
        self.sent_frames += 1
        if not self.is_dirty:
            self.is_dirty = True
            self.reactor.dirty.append(self)
        if self.out_bytes > SEGMENT_BYTES:
            self.reactor.memory.recount(self)
            if self.out_bytes > OUT_HIGH_BYTES and not self.is_throttled:
                self.reactor.throttle(self)

    def add_large_reply(self, head_bytes: i64, body_bytes: i64) -> None:
        """Count the memory of a large reply, from now until it is sent or dropped."""
        self.large_bytes += head_bytes + body_bytes
        self.large_replies += 1
        self.outgoing_bytes += body_bytes
        self.reactor.memory.add(body_bytes)

    def remove_large_reply(self, body_bytes: i64) -> None:
        """Uncount a large reply that was sent or dropped."""
        self.large_replies -= 1
        self.outgoing_bytes -= body_bytes
        self.reactor.memory.remove(body_bytes)

    def has_too_many_large_replies(self) -> bool:
        """Return True when the application has to read before another large reply is made."""
        most: i64 = self.reactor.memory.reply_bytes_max()
        return self.large_bytes > most and (self.large_replies > 1 or most <= OUT_LOW_BYTES)

    def send_large(self, type: i64, conversation: i64, request: i64, head: bytes, body: bytes) -> None:
        """Queue a payload that is sent in segments, interleaved with those of other requests.

        The caller has counted it with `add_large_reply`.
        """
        self._enqueue_large(OutgoingPayload(type, conversation, request, head, body), request)

    def send_behind(self, conversation: i64, request: i64, data: bytes) -> None:
        """Queue a frame behind the large replies to its request, if any are unsent."""
        for reply in self.large:
            if reply.conversation == conversation and reply.request == request:
                self.large_bytes += len(data)
                self.large_replies += 1
                self._enqueue_large(OutgoingPayload(READY_FRAME, conversation, request, data, b""), request)
                return
        self.send(data)

    def _enqueue_large(self, reply: OutgoingPayload, request: i64) -> None:
        if self.state == CLOSED:
            self.remove_large_reply(len(reply.body))
            return
        for other in self.large:
            if other.conversation == reply.conversation and other.request == request:
                other.last().following = reply
                break
        else:
            self.large.append(reply)
        self._mark_dirty()
        if not self.is_throttled and self.has_too_many_large_replies():
            self.reactor.throttle(self)

    def flush(self) -> None:
        """Send as much as the socket takes. The rest is sent when the socket is writable again."""
        if self.state == CLOSED:
            return
        try:
            self._flush()
        except MemoryError:
            self.reactor.release_ballast()
            self.schedule_close(NO_MEMORY)  # part of a reply may be lost, so the peer could not parse the rest

    def _flush(self) -> None:
        data = self.unsent
        if not data:
            data = self._next_bytes()
        left: i64 = FLUSH_BYTES_MAX
        # When the share of this pass is sent, epoll reports the socket as writable again in the next one.
        while data and left > 0:
            try:
                sent: i64 = self._send(data)
            except BlockingIOError:
                sent = 0
            except OSError as error:
                self.schedule_close(error.strerror or "the connection failed")
                return
            self.sent_bytes += sent
            left -= sent
            if sent and self.is_waiting:
                self.last_received_ms = self.reactor.now_ms  # the peer has read, so it is alive
            if sent < len(data):
                data = data[sent:] if sent else data
                break
            data = self._next_bytes() if self.out or self.large else b""
        self.unsent = data
        waits: bool = len(data) > 0
        if waits or self.counted_bytes != 0:
            self.reactor.memory.recount(self)
        if not waits and self.state == CLOSING:
            if self.gated == 0:
                self.reactor.failing.append(self)
        elif waits != self.is_waiting or self.is_paused:
            self.is_waiting = waits
            self.reactor.update_interest(self)
        if self.awaiting_drain and self.backlog_bytes() <= OUT_LOW_BYTES:
            self.reactor.resuming.extend(self.awaiting_drain)
            self.awaiting_drain = []
        agent = self.agent
        if agent is not None and agent.wants_room and self.backlog_bytes() <= OUT_LOW_BYTES:
            agent.wants_room = False
            agent.mark()

    def _next_bytes(self) -> bytes:
        """Return the next bytes for the socket: complete frames, and segments of large replies in turn."""
        while self.large and self.out_bytes < self.segment_bytes:
            reply = self.large.pop(0)
            before: i64 = reply.at
            piece = reply.next_frame(self.segment_bytes - HEADER_BYTES)
            self.large_bytes -= reply.at - before
            self.out.append(piece)
            self.out_bytes += len(piece)
            self.sent_frames += 1
            if not reply.is_sent():
                self.large.append(reply)
            else:
                self.remove_large_reply(len(reply.body))
                if reply.following is not None:
                    self.large.append(reply.following)
        out = self.out
        if not out:
            return b""
        tls = self.tls
        if tls is not None and (not tls.can_encrypt or self.is_rekeying):
            return b""
        data = out[0] if len(out) == 1 else b"".join(out)
        self.out = []
        self.out_bytes = 0
        if tls is not None:
            try:
                tls.encrypt(data)
                data = tls.take_output()
            except TlsFailed as error:
                self.schedule_close(str(error))
                return b""
        return data

    def queue_tls_output(self) -> None:
        """Queue the records that TLS itself wants to send."""
        tls = self.tls
        if tls is not None:
            data = tls.take_output()
            if data:
                self.unsent += data
                self._mark_dirty()

    def _mark_dirty(self) -> None:
        if not self.is_dirty:
            self.is_dirty = True
            self.reactor.dirty.append(self)

    def unsent_bytes(self) -> i64:
        """Return the number of unsent bytes in single frames."""
        return self.out_bytes + len(self.unsent) + self.gated_bytes

    def backlog_bytes(self) -> i64:
        """Return the number of all unsent bytes."""
        return self.unsent_bytes() + self.large_bytes

    def drop_unsent(self) -> None:
        """Discard all output: nothing more can be sent."""
        for reply in self.large:
            each: OutgoingPayload | None = reply
            while each is not None:
                self.remove_large_reply(len(each.body))
                each = each.following
        self.large = []
        self.out = []
        self.out_bytes = 0
        self.unsent = b""
        self.awaiting_drain = []

    # -- closing -------------------------------------------------------------------------------------------------------

    def _tls_failed(self, error: TlsFailed) -> None:
        self.reactor.counters.malformed += 1
        self.queue_tls_output()
        tls = self.tls
        if self.agent is None:  # an agent reports its failures itself
            self.reactor.handler.note_link(self, str(error))
        else:
            self.out, self.out_bytes = [], 0  # the channel's output is not meant for this partner
        if tls is not None and tls.can_encrypt:
            self.send_farewell(error.reason, error.text)
        else:
            self.close_after_flush(str(error))

    def notice(self, reason: i64, text: str) -> None:
        """Send NOTICE to an open link."""
        if self.state == OPEN:
            self.send(frame(NOTICE, 0, 0, reason_payload(reason, text)))

    def send_farewell(self, reason: i64, text: str) -> None:
        """Send FAREWELL, and close the link when that is sent."""
        if self.state < CLOSING:
            data = frame(FAREWELL, 0, 0, reason_payload(reason, text))
            if self.gated:
                self.reactor.send_behind_gated(self, data)
            else:
                self.send(data)
            self.close_after_flush(text)

    def close_after_flush(self, why: str) -> None:
        """Close the link when all output is sent, or after FAREWELL_TIMEOUT_MS."""
        if self.state < CLOSING:
            self.close_reason = why
            self.state = CLOSING
            self.reactor.end_conversations(self)
            self._mark_dirty()
            self.reactor.wheel.add(self, self.reactor.now_ms + FAREWELL_TIMEOUT_MS)

    def close(self, why: str) -> None:
        """Close the link now. Unsent output is lost."""
        if self.state != CLOSED:
            if not self.close_reason:
                self.close_reason = why
            self.reactor.close(self)

    def schedule_close(self, why: str) -> None:
        """Close the link at the end of the pass, because sending has failed."""
        self.drop_unsent()
        if not self.close_reason:
            self.close_reason = why
        self.reactor.failing.append(self)

    # -- TLS -----------------------------------------------------------------------------------------------------------

    def start_tls(self, tls: TlsStream) -> None:
        """Use TLS from here on, as the end that connected."""
        self.tls = tls
        self.keyed_bytes = self.sent_bytes + self.received_bytes
        self.queue_tls_output()

    def rekey(self) -> None:
        """Begin a new TLS session on the same connection (SSLRKEYC).

        Queued output is still sent under the old keys. Nothing more is sent until the new handshake is complete.
        """
        tls = self.tls
        if tls is None:
            raise MalformedFrame("new keys without TLS")
        if self.is_rekeying or not tls.is_ready:
            raise MalformedFrame("new keys while they are being changed")
        if self.out:
            tls.encrypt(b"".join(self.out))
            self.out = []
            self.out_bytes = 0
        tls.close()
        self.queue_tls_output()
        self.is_rekeying = True
        self._start_tls_successor(tls)

    def _start_tls_successor(self, tls: TlsStream) -> None:
        """Continue with new keys when both sides have ended the session with the old ones."""
        if self.is_rekeying and tls.is_ended:
            self.is_rekeying = False
            left = tls.leftover()
            self.start_tls(tls.successor())
            if left:
                self.receive(left)

    # -- timers and heartbeats -----------------------------------------------------------------------------------------

    def begin(self, now_ms: i64) -> None:
        """Start the timer for HELLO."""
        self.last_received_ms = now_ms
        self.started_ms = now_ms
        self.reactor.wheel.add(self, now_ms + HELLO_TIMEOUT_MS)

    def fire(self, now_ms: i64) -> None:
        if self.state == NEW:
            if self.tls is None:
                who = "No HELLO arrived" if self.agent is None else "The partner did not answer as a queue manager"
                self.send_farewell(mq.MQRC_CONNECTION_ERROR, f"{who} within {HELLO_TIMEOUT_MS // 1000} seconds.")
            else:
                self.close("the TLS handshake took too long")
            return
        if self.state != OPEN:
            self.close(self.close_reason)
            return
        is_late: bool = self._awaits_admission() and now_ms - self.started_ms >= ADMISSION_TIMEOUT_MS
        if is_late and not self.reactor.handler.is_admission_pending(self):
            text = f"No application connected within {ADMISSION_TIMEOUT_MS // 1000} seconds."
            self.send_farewell(mq.MQRC_CHANNEL_NOT_AVAILABLE, text)
            return
        self._on_heartbeat_interval(now_ms)

    def _awaits_admission(self) -> bool:
        """Return True until an application has connected, for which ADMISSION_TIMEOUT_MS are allowed."""
        return not self.is_admitted and self.agent is None

    def _schedule_heartbeat(self) -> None:
        # Without heartbeats, only the kernel's keepalive finds a peer that is gone.
        if self.heartbeat_ms > 0:
            self._schedule_check(self.reactor.now_ms + self.heartbeat_ms)
        elif self._awaits_admission():
            self.reactor.wheel.add(self, self.started_ms + ADMISSION_TIMEOUT_MS)
        else:
            self.reactor.wheel.remove(self)

    def _schedule_check(self, due_ms: i64) -> None:
        """Set the timer, to the end of the admission timeout if that is still to come and earlier."""
        if self._awaits_admission():
            last_ms: i64 = self.started_ms + ADMISSION_TIMEOUT_MS
            if self.reactor.now_ms < last_ms < due_ms:
                due_ms = last_ms
        self.reactor.wheel.add(self, due_ms)

    def _on_heartbeat_reply(self) -> None:
        self.is_heartbeat_pending = False
        self._schedule_heartbeat()

    def _on_heartbeat_interval(self, now_ms: i64) -> None:
        """Send a heartbeat after a silent interval. Close the link when an earlier one was not answered in time."""
        if self.heartbeat_ms == 0:
            if self._awaits_admission():  # a password is being checked: check again soon
                self.reactor.wheel.add(self, now_ms + HEARTBEAT_TIMEOUT_MS)
            return
        if self.is_deferred or self.waits_for_memory or self.waits_for_log:
            self.last_received_ms = now_ms  # the socket is not read, so silence proves nothing
        silent_ms: i64 = now_ms - self.last_received_ms
        if self.last_received_ms > self.heartbeat_sent_ms:
            self.is_heartbeat_pending = False
        if self.is_heartbeat_pending and now_ms - self.heartbeat_sent_ms >= HEARTBEAT_TIMEOUT_MS:
            self.close(f"no data and no heartbeat reply for {silent_ms // 1000} seconds")
        elif silent_ms >= self.heartbeat_ms:
            if not self.is_heartbeat_pending:
                self.is_heartbeat_pending = True
                if not self.is_rekeying:
                    self.send(frame(HEARTBEAT, 0, 1))
                self.heartbeat_sent_ms = now_ms
            self._schedule_check(self.heartbeat_sent_ms + HEARTBEAT_TIMEOUT_MS)
        else:
            self._schedule_check(self.last_received_ms + self.heartbeat_ms)
