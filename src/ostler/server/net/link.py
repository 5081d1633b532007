"""One socket of an application: bytes in, frames to conversations; replies out, with limits on both ways.

A link belongs to the reactor's thread and is used under the engine's lock, except `flush`, which only sends.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from time import monotonic_ns, perf_counter_ns
from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.accounting import record_connect_failed
from ostler.model.constants import (
    MQCC_FAILED,
    MQCC_OK,
    MQRC_CHANNEL_NOT_AVAILABLE,
    MQRC_CONNECTION_ERROR,
    MQRC_HCONN_ERROR,
    MQRC_STORAGE_NOT_AVAILABLE,
    MQRC_UNEXPECTED_ERROR,
)
from ostler.model.errors import MQError
from ostler.server.net.link_heart import feel_heart, heart_answered, watch_heart
from ostler.server.net.link_keys import renew
from ostler.server.net.link_limits import (
    ADMISSION_TIMEOUT_MS,
    COSTLY_UNITS,
    FAREWELL_TIMEOUT_MS,
    FLUSH_BYTES_MAX,
    HELLO_TIMEOUT_MS,
    OUT_HIGH_BYTES,
    OUT_LOW_BYTES,
    RECEIVE_BYTES,
    RECEIVE_BYTES_MAX,
    UNADMITTED_FRAME_BYTES,
)
from ostler.server.net.timers import Timer
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
NEW: Final = 0  # nothing agreed yet
OPEN: Final = 1
CLOSING: Final = 2  # a last word is being sent
CLOSED: Final = 3

NO_MEMORY: Final = "The queue manager has no memory for this. Try again later, or let it have more."
_TLS_RECORD: Final = 0x16
_HANDLED_BETWEEN: Final = 3  # requests of one link between two looks at the time, less one
# Requests whose answers may be messages.
_MESSAGES_FOLLOW: Final = frozenset({GET, GET_ANY, STREAM, CREDIT})
_PARTIAL_PAYLOADS_MAX: Final = 64


@final
class ServerLink(Timer):
    def __init__(self, reactor: Reactor, sock: socket.socket, address: str, is_local: bool) -> None:
        super().__init__()
        self.reactor = reactor
        self.sock = sock
        self.fd: i64 = sock.fileno()
        self.address = address
        self.is_local = is_local  # on the queue manager's own socket: who is there is known from the kernel
        self.listener: str = ""
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
        self.unsent: bytes = b""  # on its way to the socket, under TLS encrypted
        self.large: list[OutgoingPayload] = []
        self.large_bytes: i64 = 0  # still to be cut into segments, those that wait for the log included
        self.large_replies: i64 = 0  # that are kept until they are sent, those that wait for the log included
        self.outgoing_bytes: i64 = 0  # of their bodies
        self.incoming_bytes: i64 = 0  # of payloads that have come in part
        self.counted_bytes: i64 = 0  # of single frames both ways, as counted last
        self.is_throttled = False  # its waiting gets take nothing until it has read what it was sent
        self.waits_for_memory = False  # a request of it waits until others hold less
        self.waits_for_log = False  # the long message that it brings waits until others are written
        self.progress_bytes: i64 = 0  # sent and received in all, when it was last seen to move
        self.progress_ms: i64 = 0
        self.gated: i64 = 0  # replies that wait for the log
        self.gated_bytes: i64 = 0  # of those in one frame
        self.awaiting_drain: list[WaitingRequest] = []  # streams that wait for the application to read
        self.is_dirty = False
        self.is_waiting = False  # for the socket to take more
        self.is_paused = False  # nothing is read from it
        self.is_admitted = is_local  # somebody was let in by it
        self.is_for_commands = False  # it took a place that is kept for runmqsc, endmqm and the like
        self.is_quiescing = False  # its channel was stopped; it ends with its last conversation
        self.is_deferred = False  # a request of it waits for log space; what comes behind it has to wait too
        self.is_costly = False  # its requests take long: it has them done as far as the share of a pass goes
        self.is_fast = False  # it is in the fast lane (`slow_lane`)
        self.quick_in_a_row: i64 = 0  # so often its requests were handled quickly
        self.mask: i64 = 0  # what the reactor's epoll watches
        self.pending: i64 = 0
        self.last_received_ms: i64 = 0
        self.is_heartbeat_pending = False
        self.heartbeat_sent_ms: i64 = 0
        self.receive_bytes: i64 = RECEIVE_BYTES
        self.received_bytes: i64 = 0
        self.sent_bytes: i64 = 0
        self.calls: i64 = 0
        self.sent_frames: i64 = 0
        self.close_reason: str = ""
        self.is_rekeying = False  # TLS begins anew: nothing goes out between the two
        self.keyed_bytes: i64 = 0  # sent and received before the last TLS handshake
        self._recv: Callable[[int], bytes] = sock.recv
        self._send: Callable[[bytes], int] = sock.send

    # -- receiving -----------------------------------------------------------------------------------------------------

    def on_readable(self) -> None:
        """Bytes are there, or the peer has gone."""
        try:
            data = self._recv(self.receive_bytes)
        except BlockingIOError:
            return
        except MemoryError:
            self.receive_bytes = RECEIVE_BYTES  # what was to be received is still there
            return
        except OSError as error:
            self.close(error.strerror or "the connection failed")
            return
        if not data:
            if self.reactor.is_gathering:
                return  # it may still listen: what it was promised is sent first, and then this is found again
            self.close(f"the {'application' if self.agent is None else 'partner'} closed the connection")
            return
        self.last_received_ms = self.reactor.now_ms
        size: i64 = len(data)
        self.received_bytes += size
        # A buffer is allocated for each read: small ones for those who send little.
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
        """Go on with what came behind a request that had to wait."""
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
        """Something is wrong on this side. This link ends with it; others go on."""
        self.reactor.counters.internal_errors += 1
        if isinstance(error, MemoryError):
            self.reactor.release_ballast()
            try:
                self.reactor.handler.note_link(self, f"AMQ6118E: {NO_MEMORY}")
                self.send_farewell(MQRC_STORAGE_NOT_AVAILABLE, NO_MEMORY)
            except MemoryError:
                self.schedule_close(
                    NO_MEMORY
                )  # without a word: whoever is told of something after this link must not miss it
            return
        text = f"A request could not be handled: {type(error).__name__}: {error}."
        self.reactor.handler.note_link(self, f"AMQ6109E: {text}")
        self.send_farewell(MQRC_UNEXPECTED_ERROR, text)

    def _protocol_error(self, error: MalformedFrame) -> None:
        self.reactor.counters.malformed += 1
        self.send_farewell(MQRC_CONNECTION_ERROR, f"The peer broke the protocol: {error}.")

    def receive(self, data: bytes) -> None:
        if self.state == NEW and self.tls is None and self.received_bytes == len(data) and data[0] == _TLS_RECORD:
            self.tls = self.reactor.handler.new_tls_stream(self)
        tls = self.tls
        if tls is not None:
            data = tls.received(data)
            self.queue_tls_output()
            if self.out:
                self._mark_dirty()  # the handshake may be what it waited for
            if not data:
                renew(self, tls)
                return
        self.reader.feed(data)
        self.dispatch()
        if self.state != CLOSED and (self.counted_bytes != 0 or self.reader.pending_bytes() > RECEIVE_BYTES):
            self.reactor.memory.recount(self)
        if tls is not None:
            renew(self, tls)

    def dispatch(self) -> None:
        """Hand out the frames that have come whole."""
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
            if handled & _HANDLED_BETWEEN == 0:
                # Many requests at once: they may take long together.
                now_ns: i64 = monotonic_ns()
                if end_ns == 0:
                    end_ns = now_ns + self.reactor.slow.quick_ns
                elif now_ns > end_ns:
                    reader.put_back()
                    self.reactor.defer(self)
                    return
            is_short: bool = memory.segmented_bytes + memory.single_frame_bytes > memory.free_bytes
            if is_short and reader.type in _MESSAGES_FOLLOW and not memory.may_reply(self):
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
        key = (reader.conversation, reader.request)
        payload = self.partial_payloads.get(key)
        if payload is None:
            if not reader.flags & MORE:
                self._deliver(reader.type, reader.conversation, reader.request, reader.buffer, reader.start, reader.end)
                return
            is_command: bool = reader.type == COMMAND and self.is_local and self.is_owner and self.state == OPEN
            # A channel sends its long messages one at a time.
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
        """A payload has come whole."""
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
        """A frame of a message channel. Heartbeats are the link's concern, whatever it is used for."""
        agent = self.agent
        assert agent is not None
        if type == HEARTBEAT:
            self.send(reply_frame(HEARTBEAT, 0, request, MQCC_OK, 0))
            return
        if type == HEARTBEAT | REPLY:
            heart_answered(self)
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
            self.send(reply_frame(HEARTBEAT, 0, request, MQCC_OK, 0))
        elif type == HEARTBEAT | REPLY and number == 0:
            heart_answered(self)
        elif type == CONNECT and number != 0:
            self._connect(number, request, buffer[start:end])
        elif type == COMMAND:
            self.reactor.handler.run_command(self, number, request, buffer[start:end])
        elif type == FAREWELL:
            self.close("the application said farewell")
        elif type == HELLO or number == 0 or type not in TYPE_NAMES:
            raise MalformedFrame(f"a frame of type {type} where it cannot be")
        elif type != CANCEL and request != 0:
            # Its conversation has just ended, perhaps by our doing: the answer tells it so.
            self.send(
                failure_frame(type, number, request, MQCC_FAILED, MQRC_HCONN_ERROR, "There is no such conversation.")
            )

    def _hello(self, request: i64, payload: bytes) -> None:
        hello = decode_hello(payload)
        try:
            if hello.version < 1:
                raise MQError(
                    MQRC_CHANNEL_NOT_AVAILABLE, f"Version {hello.version} of the protocol is not spoken here."
                )
            agreed = self.reactor.handler.on_hello(self, hello)
        except MQError as error:
            record_connect_failed(self.reactor.engine)
            self.send(failure_frame(HELLO, 0, request, MQCC_FAILED, error.reason, error.detail))
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
        """Both sides know what they keep to."""
        self.state = OPEN
        self.segment_bytes = segment_bytes
        self.message_bytes_max = message_bytes_max
        self.heartbeat_ms = heartbeat_seconds * 1000
        is_stranger: bool = not self.is_admitted and self.agent is None
        self.reader.frame_bytes_max = UNADMITTED_FRAME_BYTES if is_stranger else segment_bytes
        self.last_received_ms = self.reactor.now_ms
        watch_heart(self)

    def admit(self) -> None:
        """Somebody was let in by this link."""
        if not self.is_admitted:
            self.is_admitted = True
            self.reader.frame_bytes_max = self.segment_bytes
            watch_heart(self)

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
        """Have a frame sent at the end of the pass."""
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
        """Count a reply in segments that is kept from now on until it is sent."""
        self.large_bytes += head_bytes + body_bytes
        self.large_replies += 1
        self.outgoing_bytes += body_bytes
        self.reactor.memory.add(body_bytes)

    def remove_large_reply(self, body_bytes: i64) -> None:
        """A reply in segments is sent, or dropped."""
        self.large_replies -= 1
        self.outgoing_bytes -= body_bytes
        self.reactor.memory.remove(body_bytes)

    def has_too_many_large_replies(self) -> bool:
        """Whether no further one is to be made before the application has read of those there are."""
        most: i64 = self.reactor.memory.reply_bytes_max()
        return self.large_bytes > most and (self.large_replies > 1 or most <= OUT_LOW_BYTES)

    def memory_bytes(self) -> i64:
        """All that it makes the queue manager hold."""
        return self.incoming_bytes + self.outgoing_bytes + self.counted_bytes

    def send_large(self, type: i64, conversation: i64, request: i64, head: bytes, body: bytes) -> None:
        """Have a payload sent in segments, between which those of others get their turn.

        The reactor has counted it in `large_bytes`, and its body among what it keeps.
        """
        self._enqueue_large(OutgoingPayload(type, conversation, request, head, body), request)

    def send_behind(self, conversation: i64, request: i64, data: bytes) -> None:
        """Have a frame sent behind the long messages of a request, if any are on their way."""
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
        """Send what the socket takes. The rest is sent when there is room again."""
        if self.state == CLOSED:
            return
        try:
            self._flush()
        except MemoryError:
            self.reactor.release_ballast()
            self.schedule_close(NO_MEMORY)  # part of a reply may be lost: what follows would not be understood

    def _flush(self) -> None:
        data = self.unsent
        if not data:
            data = self._next_bytes()
        left: i64 = FLUSH_BYTES_MAX
        # When the share of this pass is sent, the socket takes more, and says so in the next one.
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
                self.last_received_ms = self.reactor.now_ms  # what was in the way was read by somebody
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
        """The next bytes for the socket: frames that are ready, and segments of large ones in turn."""
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
        if tls is not None and (not tls.can_tell or self.is_rekeying):
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
        """What TLS itself has to say goes out as it is."""
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
        """What is to be sent in single frames."""
        return self.out_bytes + len(self.unsent) + self.gated_bytes

    def backlog_bytes(self) -> i64:
        """All that the application has not been sent yet."""
        return self.unsent_bytes() + self.large_bytes

    def drop_unsent(self) -> None:
        """Nothing more can be sent."""
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

    # -- the end -------------------------------------------------------------------------------------------------------

    def _tls_failed(self, error: TlsFailed) -> None:
        self.reactor.counters.malformed += 1
        self.queue_tls_output()
        tls = self.tls
        if self.agent is None:  # an agent has its own say
            self.reactor.handler.note_link(self, str(error))
        else:
            self.out, self.out_bytes = [], 0  # what a channel had to say is not for this partner
        if tls is not None and tls.can_tell:
            self.send_farewell(error.reason, error.text)
        else:
            self.close_after_flush(str(error))

    def notice(self, reason: i64, text: str) -> None:
        """Tell the application something it did not ask for."""
        if self.state == OPEN:
            self.send(frame(NOTICE, 0, 0, reason_payload(reason, text)))

    def send_farewell(self, reason: i64, text: str) -> None:
        """Say why, and close when that is sent."""
        if self.state < CLOSING:
            data = frame(FAREWELL, 0, 0, reason_payload(reason, text))
            if self.gated:
                self.reactor.send_behind_gated(self, data)  # what was promised before is said before
            else:
                self.send(data)
            self.close_after_flush(text)

    def close_after_flush(self, why: str) -> None:
        """Close when all that was said is sent, or nobody takes it for some seconds."""
        if self.state < CLOSING:
            self.close_reason = why
            self.state = CLOSING
            self.reactor.end_conversations(self)
            self._mark_dirty()
            self.reactor.wheel.add(self, self.reactor.now_ms + FAREWELL_TIMEOUT_MS)

    def close(self, why: str) -> None:
        """The peer is not there any more."""
        if self.state != CLOSED:
            if not self.close_reason:
                self.close_reason = why
            self.reactor.close(self)

    def schedule_close(self, why: str) -> None:
        """As `lost`, found out while sending: done at the end of the pass."""
        self.drop_unsent()
        if not self.close_reason:
            self.close_reason = why
        self.reactor.failing.append(self)

    # -- time ----------------------------------------------------------------------------------------------------------

    def begin(self, now_ms: i64) -> None:
        self.last_received_ms = now_ms
        self.started_ms = now_ms
        self.reactor.wheel.add(self, now_ms + HELLO_TIMEOUT_MS)

    def fire(self, now_ms: i64) -> None:
        if self.state == NEW:
            if self.tls is None:
                who = "No HELLO came" if self.agent is None else "What listens there did not answer as a queue manager"
                self.send_farewell(MQRC_CONNECTION_ERROR, f"{who} within {HELLO_TIMEOUT_MS // 1000} seconds.")
            else:
                self.close("the TLS handshake took too long")
            return
        if self.state != OPEN:
            self.close(self.close_reason)
            return
        is_late: bool = not self.is_admitted and self.agent is None and now_ms - self.started_ms >= ADMISSION_TIMEOUT_MS
        if is_late and not self.reactor.handler.is_considering(self):
            self.send_farewell(
                MQRC_CHANNEL_NOT_AVAILABLE, f"Nobody connected within {ADMISSION_TIMEOUT_MS // 1000} seconds."
            )
            return
        feel_heart(self, now_ms)
