"""The sending end of a message channel: gets from a transmission queue and sends to the partner in batches.

    hello      the position of this end and its in-doubt batches; the reply of the partner resolves them
    messages   persistent ones are got within the unit of work of a batch, others outside syncpoint (NPMSPEED(FAST))
    batch end  the sync record is put into the unit of work, which is prepared; once that is durable, CONFIRM is sent
    confirm    the partner has committed: the unit of work is committed here, too

Further batches may be sent before earlier ones are confirmed; each message carries the number of its batch. A batch
that is prepared when the connection breaks stays in doubt until the partner reports its position.

From a shared transmission queue each get, prepare and commit is answered later by the coupling facility. The end waits
for messages by a browse, so that no message is claimed for a get that is cancelled.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.channel.batch import ChannelCounters, SenderBatch, prepare_batch, record_batch
from ostler.channel.batch_limits import too_large_text
from ostler.channel.conversion import convert_for_partner, report_conversion_error
from ostler.channel.message_writer import BACKLOG_BYTES, MessageWriter
from ostler.channel.monitoring import ChannelMonitor
from ostler.channel.negotiation import ChannelSettings, check_agreement, next_sequence, propose
from ostler.channel.port import ChannelPort, EndReason
from ostler.channel.positions import UNAVAILABLE, WAITING
from ostler.channel.refusals import ENDING_REASONS, is_permanent, quote_partner, refusal_in
from ostler.channel.send_checks import dead_letter_unsendable, refusal_reason
from ostler.channel.sender_position import (
    PrivateSenderPosition,
    Resynchronization,
    SenderPosition,
    describe_position,
    unavailable_text,
)
from ostler.channel.sync_records import SyncRecords
from ostler.engine import get as getting
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.message.message import EXPIRY_AT, PERSISTENCE_AT
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.slots import NONE, PERSISTENT
from ostler.engine.shared.units import SharedUnit
from ostler.engine.syncpoint import back_out_unit, commit_work
from ostler.engine.unit_of_work import ACTIVE
from ostler.engine.unit_of_work import ENDED as UNIT_ENDED
from ostler.model import constants as mq
from ostler.model.errors import LogFull, MQError
from ostler.model.reasons import describe
from ostler.wire.channel_frames import (
    HEARTBEAT_CHECK,
    HEARTBEAT_PAUSED,
    HEARTBEAT_RESUMED,
    HEARTBEAT_TIMED,
    SENDS,
    ChannelHello,
    Confirm,
    confirm_frame,
    decode_channel_hello,
    hello_frame,
)
from ostler.wire.frames import (
    CHANNEL_CONFIRM,
    CHANNEL_END,
    CHANNEL_HELLO,
    CHANNEL_STOP,
    FAREWELL,
    HEARTBEAT,
    MESSAGE_BYTES_MAX,
    REKEY,
    REPLY,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason, reason_payload

# States of a sending end. `states.py` has those of the whole channel.
NEGOTIATING: Final = 0
RUNNING: Final = 1
BATCH_HEARTBEAT: Final = 2  # waits for a heartbeat reply before it ends a batch (BATCHHB)
REKEYING: Final = 3
ENDING: Final = 4  # CHANNEL_END was sent
ENDED: Final = 5
RESOLVING: Final = 6  # the coupling facility decides on in-doubt batches, or on the open of the transmission queue

_TURN_MESSAGES: Final = 256  # sent at most before other links get their turn
_ENDING_MS: Final = 5_000
_REKEYING_MS: Final = 10_000
_SHORT_MS: Final = 16
_RESOLVING_MS_MAX: Final = 20_000
_SLOW_PARTNER_MS: Final = 2  # with slower confirmations further batches are sent meanwhile
_LOG_SPACE_TRIES: Final = 3
_MESSAGE_BYTES_MAX: Final = MESSAGE_BYTES_MAX + 65_536


@final
class SendingEnd:
    """The owner passes in frames and timer events, and calls `pump` when messages or buffer space may be available."""

    def __init__(
        self,
        engine: Engine,
        records: SyncRecords,
        settings: ChannelSettings,
        connection: Connection,
        handle: Handle,
        port: ChannelPort,
    ) -> None:
        """`handle` has the transmission queue open with MQOO_INPUT_EXCLUSIVE."""
        self.engine = engine
        self.records = records
        self.position: SenderPosition = PrivateSenderPosition(engine, records, settings.name)
        self.settings = settings
        self.connection = connection
        self.handle = handle
        self.port = port
        self.state: i64 = NEGOTIATING
        self.agreed = ChannelHello()
        self.partner: str = ""
        self.counters = ChannelCounters()
        self.monitor: ChannelMonitor | None = None
        self.waker: object = None  # woken by the engine when a message arrives
        self.key_reset_bytes: i64 = 0  # SSLRKEYC
        self.is_stopping = False
        self.sequence: i64 = 0  # of the last message sent in a batch
        self.current: SenderBatch | None = None
        self.in_flight: list[SenderBatch] = []
        assert handle.queue is not None
        self._queue: Queue = handle.queue
        self._request: GetRequest | None = None
        self._writer = MessageWriter(port, self.agreed)
        self._batch_size: i64 = 1  # as negotiated, or less while the partner's log has no space for that
        self._window: i64 = 1
        self._batches: i64 = 0
        self._last_work_ms: i64 = engine.now_ms
        self._log_space_tries: i64 = 0
        self._is_ended_by_partner = False
        self._waits_for_log = False  # no message is got until log space was made or not
        self._partner_waits = False  # it has reported that it reads nothing for now
        self._options: i64 = 0
        self._is_watching = False  # the request browses a shared queue, and waits for a message
        self._must_end_batch = False  # when the get that is under way is answered
        self._is_greeting = False  # the hello waits for the position
        self._resync: Resynchronization | None = None
        self._resolving_ms: i64 = 0

    def start_monitoring(self, monitor: ChannelMonitor) -> None:
        """Measure from now on for MONCHL and STATCHL."""
        self.monitor = monitor
        self._writer.monitor = monitor
        monitor.begin(self._queue)

    # -- negotiation ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Send the hello, when the position is known: to the partner that was called, or to a requester that called."""
        self._is_greeting = True
        self.position.attach(self.port)
        self._greet()

    def _greet(self) -> None:
        position = self.position
        state: i64 = position.state()
        if state == UNAVAILABLE:
            self._fail_position()
            return
        if state == WAITING:
            self._wait_for_facility()
            return
        self._is_greeting = False
        hello = propose(self.settings, position.manager_name, self.engine.ccsid, SENDS)
        describe_position(self.engine, position, hello)
        # The partner resets itself by the hello, so the reset must be durable here first.
        self.port.send_after(self.engine.journal.end_lsn() if hello.is_reset else 0, hello_frame(hello))

    def _fail_position(self) -> None:
        self._fail(EndReason.RETRYABLE, mq.MQRC_CF_NOT_AVAILABLE, unavailable_text(self.position))

    def _wait_for_facility(self) -> None:
        self._resolving_ms += _SHORT_MS
        if self._resolving_ms < _RESOLVING_MS_MAX:
            self.port.set_timer(_SHORT_MS)
            return
        text = f"AMQ9509E: Channel {self.settings.name} cannot start now: the coupling facility does not answer."
        self._fail(EndReason.RETRYABLE, mq.MQRC_CF_NOT_AVAILABLE, text)

    def on_welcome(self, agreed: ChannelHello) -> None:
        """Start to run with the negotiated values, after resolving in-doubt batches by the partner's position."""
        self.agreed = agreed
        self.partner = agreed.queue_manager
        self._writer = MessageWriter(self.port, agreed)
        self._options = mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
        self._options |= mq.MQGMO_SYNCPOINT_IF_PERSISTENT if agreed.is_fast else mq.MQGMO_SYNCPOINT
        self.state = RESOLVING
        self._resync = Resynchronization(self.position, agreed, self._queue.name)
        self._resolve()

    def _continue_start(self) -> bool:
        """Go on with the start, if the position or in-doubt batches are waited for."""
        if self.state == RESOLVING:
            self._resolve()
            return True
        if self._is_greeting and self.state == NEGOTIATING:
            self._greet()
            return True
        return False

    def _resolve(self) -> None:
        """Resolve in-doubt batches; then start to run. Only those of shared queues take more than this call."""
        resync = self._resync
        state: i64 = resync.step(self.handle.opening) if resync is not None else UNAVAILABLE
        if state == WAITING:
            self._wait_for_facility()
        elif resync is not None and state == UNAVAILABLE:
            self._fail(resync.end_reason, resync.reason, resync.text)
        else:
            self._start_running()

    def _start_running(self) -> None:
        self.sequence = self.position.find().sequence
        self._set_batch_size()
        self.state = RUNNING
        self._last_work_ms = self.engine.now_ms
        self.port.notify_changed()
        self.pump()

    # -- frames of the partner -----------------------------------------------------------------------------------------

    def receive_frame(self, type: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        """Handle one complete frame. MalformedFrame if it is invalid in this state."""
        if self.state == ENDED:
            return
        if type == CHANNEL_CONFIRM | REPLY:
            self._on_confirm(Confirm(buffer, start, end))
        elif type == HEARTBEAT | REPLY:
            self._on_heartbeat_reply(request)
        elif type == CHANNEL_STOP:
            self._is_ended_by_partner = True
            self.stop()
        elif type == CHANNEL_END | REPLY and self.state == ENDING:
            self._end()
        elif type == REKEY | REPLY and self.state == REKEYING:
            self.counters.count_key_reset(self.engine.now_ms)
            self.state = RUNNING
            self.pump()
        elif type == FAREWELL:
            reason, text = decode_reason(PayloadReader(buffer, start, end))
            if reason == mq.MQRC_RESOURCE_PROBLEM:
                self._lower_batch_limit()
            end_reason = EndReason.PERMANENT if is_permanent(0, text) else EndReason.RETRYABLE
            self._finish(end_reason, reason, quote_partner(self.partner or "The partner", text))
        elif type == CHANNEL_HELLO | REPLY and self.state == NEGOTIATING:
            self._on_hello_reply(buffer[start:end])
        else:
            raise MalformedFrame(f"a frame of type {type} is not expected now")

    def _on_heartbeat_reply(self, request: i64) -> None:
        if request == HEARTBEAT_PAUSED or request == HEARTBEAT_RESUMED:
            self._partner_waits = request == HEARTBEAT_PAUSED
            return
        if request == HEARTBEAT_TIMED and self.monitor is not None:
            self.monitor.on_heartbeat_reply()
        if self.state == BATCH_HEARTBEAT:
            self.state = RUNNING
            self._end_batch()
            self.pump()

    def _on_hello_reply(self, payload: bytes) -> None:
        refusal = refusal_in(payload, self.settings.name)
        if refusal is not None:
            self._finish(refusal.end_reason, refusal.reason, refusal.text)
            return
        agreed = decode_channel_hello(payload, 8)
        check_agreement(agreed, self.settings)
        self.on_welcome(agreed)

    def _on_confirm(self, confirm: Confirm) -> None:
        batch: SenderBatch | None = None
        for each in self.in_flight:
            if not each.is_confirmed:
                batch = each
                break
        if batch is None or batch.ending is not None or batch.is_recording:
            raise MalformedFrame("a confirmation without a batch in flight")
        if confirm.luwid != batch.luwid or confirm.sequence != batch.last:
            raise MalformedFrame("a confirmation of another batch")
        batch.is_confirmed = True
        self.counters.count_confirmed(batch, self.engine.now_ms)
        self.position.commit(batch.as_in_doubt(self.settings.name, self.partner), self.port)
        self._settle_batches()
        self.pump()
        self._set_idle_timer()

    def _settle_batches(self) -> None:
        """Go on with the batches in flight that are prepared or committed now, in their order."""
        while self.in_flight and self.in_flight[0].is_confirmed:
            batch = self.in_flight[0]
            if batch.unit.state != UNIT_ENDED:
                part = batch.unit.shared
                if isinstance(part, SharedUnit) and not part.is_committing:
                    text = f"AMQ9509E: Channel {self.settings.name}: the outcome of a batch is not known."
                    self._fail(EndReason.RETRYABLE, mq.MQRC_CALL_INTERRUPTED, text)
                    return
                break
            self.in_flight.pop(0)
            if self._batch_size < self.agreed.batch_size:
                self.records.batch_limits.count_success(self.settings.name, batch.messages, self.agreed.batch_size)
                self._set_batch_size()
            if self.monitor is not None:
                self.monitor.on_batch(batch.messages, not self.in_flight)
            self._last_work_ms = self.engine.now_ms
        for batch in self.in_flight:
            if batch.is_recording and not self._prepare(batch):
                return
            outcome = batch.ending
            if outcome is None:
                continue
            if outcome.task is not None and not outcome.task.is_done:
                return
            batch.ending = None
            if outcome.reason != 0:
                self._fail_backed_out(outcome.reason)
                return
            self._send_confirm(batch, outcome.after_lsn)

    def _send_confirm(self, batch: SenderBatch, lsn: i64) -> None:
        """Ask the partner to commit a batch, once that is prepared durably here."""
        batch.confirm_ms = self.engine.now_ms
        data = confirm_frame(CHANNEL_CONFIRM, batch.number, batch.number, batch.last, batch.luwid, batch.messages)
        self.port.send_after(lsn, data)

    # -- messages ------------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Send messages as far as the buffers and the batch allow."""
        if self._continue_start():
            return
        if self.in_flight:
            self._settle_batches()
        if self.state != RUNNING or self._waits_for_log:
            return
        if self.connection.broken:
            self._fail(EndReason.RETRYABLE, 0, f"AMQ9509E: The connection of channel {self.settings.name} was ended.")
            return
        self._continue_message()
        left: i64 = _TURN_MESSAGES
        while self.state == RUNNING and not self._waits_for_log and not self._writer.is_busy():
            if self.port.backlog_bytes() > BACKLOG_BYTES:
                return  # called again when it is shorter
            key_bytes: i64 = self.key_reset_bytes
            if self.is_stopping or (key_bytes > 0 and self.port.traffic_bytes() >= key_bytes):
                self._end_or_rekey()
                return
            if not self._may_get():
                return
            if left == 0:
                self.port.schedule_pump()
                return
            left -= 1
            if not self._get():
                return

    def _may_get(self) -> bool:
        """Return True if the next message may be got now: in the open batch, or as the first one of a new batch."""
        request = self._request
        in_flight: i64 = len(self.in_flight)
        if self.current is not None or in_flight == 0 or (request is not None and request.done):
            return True
        queue = self._queue
        if queue.is_shared:
            return in_flight < self._window and (queue.depth >= self._batch_size or self._is_partner_slow())
        first: i64 = queue.slots.first()
        if first != NONE and self.agreed.is_fast and not queue.slots.flags[first] & PERSISTENT:
            return True
        # Messages that arrive before the confirmation form one batch, unless they fill one or the partner is slow.
        has_full_batch: bool = first != NONE and queue.depth >= self._batch_size
        return in_flight < self._window and (has_full_batch or self._is_partner_slow())

    def _is_partner_slow(self) -> bool:
        return self.counters.confirm_ms > _SLOW_PARTNER_MS

    def _get(self) -> bool:
        """Get a message and send it. Return False if none is available now."""
        request = self._request
        if request is not None and self._is_watching and request.done:
            self._is_watching = False
            self._request = None
            if request.reason != mq.MQRC_TRUNCATED_MSG_FAILED:
                self._get_failed(request.reason)
                return False
            request = None  # there is a message to get
        if request is None:
            batch = self.current
            self.connection.unit_of_work = batch.unit if batch is not None else None
            request = GetRequest(self.connection, self.handle, self._options, _MESSAGE_BYTES_MAX)
            request.may_pause = True
            request.waker = self.waker
            if not getting.get(self.engine, request):
                self._request = request  # its message is being read, or asked for
                return False
            self._start_batch()
        elif not request.done:
            return False
        else:
            self._request = None
            self._start_batch()
        if request.reason == mq.MQRC_NO_MSG_AVAILABLE:
            self._on_queue_empty()
            return False
        if request.reason != 0:
            self._get_failed(request.reason)
            return False
        self._log_space_tries = 0
        self._send(request)
        if self._must_end_batch and not self._writer.is_busy():
            self._must_end_batch = False
            self._end_batch()
        return True

    def _start_batch(self) -> None:
        """Start a batch if a get in syncpoint has started a unit of work."""
        unit = self.connection.unit_of_work
        if unit is not None and self.current is None:
            self._batches += 1
            first: i64 = next_sequence(self.sequence, self.settings.sequence_wrap)
            bytes_max: i64 = self.settings.batch_bytes_max
            self.current = SenderBatch(self._batches, unit, first, self.engine.now_ms, self._batch_size, bytes_max)

    def _on_queue_empty(self) -> None:
        batch = self.current
        if batch is not None:
            left: i64 = batch.left_ms(self.engine.now_ms, self.settings.batch_interval_ms)
            if left == 0 or self._must_end_batch:
                self._must_end_batch = False
                self._end_batch()
            else:
                self.port.set_timer(left)
        if self.state == RUNNING and self._may_wait():
            self._wait()

    def _may_wait(self) -> bool:
        """Return True if the end may wait for a message now, rather than for a confirmation first."""
        in_flight: i64 = len(self.in_flight)
        return self.current is not None or in_flight == 0 or (in_flight < self._window and self._is_partner_slow())

    def _wait(self) -> None:
        if self._queue.is_shared:
            self._watch()
            return
        batch = self.current
        self.connection.unit_of_work = batch.unit if batch is not None else None
        request = GetRequest(self.connection, self.handle, self._options | mq.MQGMO_WAIT, _MESSAGE_BYTES_MAX)
        request.wait_ms = -1
        request.may_pause = True
        request.waker = self.waker
        self._request = request
        if getting.get(self.engine, request):
            self.port.schedule_pump()
            return
        self._set_idle_timer()

    def _watch(self) -> None:
        """Wait for a message on a shared queue, without taking it."""
        sharing = self.engine.sharing
        reason: i64 = mq.MQRC_CF_NOT_AVAILABLE if sharing is None else sharing.reason(self._queue.structure)
        if reason != 0:
            self._get_failed(reason)
            return
        options: i64 = mq.MQGMO_WAIT | mq.MQGMO_BROWSE_FIRST | mq.MQGMO_FAIL_IF_QUIESCING
        request = GetRequest(self.connection, self.handle, options, -1)
        request.wait_ms = -1
        request.waker = self.waker
        self._request = request
        self._is_watching = True
        getting.add_watch(self.engine, request)
        self._set_idle_timer()

    def _idle_left_ms(self) -> i64:
        """Return the rest of the disconnect interval (DISCINT); -1 if there is none, or the channel is not idle."""
        request = self._request
        interval: i64 = self.settings.disconnect_seconds * 1000
        if interval <= 0 or self.current is not None or self.in_flight or request is None or request.done:
            return -1
        return max(min(self._last_work_ms + interval - self.engine.now_ms, interval), 0)

    def _set_idle_timer(self) -> None:
        left: i64 = self._idle_left_ms()
        if left >= 0 and self.state == RUNNING:
            self.port.set_timer(left + 1)

    def _cancel_wait(self) -> None:
        """Cancel the get that waits. One that the coupling facility is asked for is answered soon."""
        if self._queue.is_shared and not self._is_watching:
            return
        self._cancel_get()

    def _cancel_get(self) -> None:
        request = self._request
        if request is not None and not request.done:
            request.waker = None
            getting.cancel(self.engine, request, mq.MQRC_NO_MSG_AVAILABLE)
            self._request = None
            self._is_watching = False

    def _get_failed(self, reason: i64) -> None:
        name = self.settings.name
        batch = self.current
        if reason in ENDING_REASONS:
            self.is_stopping = True
            self._end_or_rekey()
        elif reason == mq.MQRC_SYNCPOINT_LIMIT_REACHED and batch is not None and batch.messages > 0:
            self._end_batch()
            self.port.schedule_pump()
        elif reason == mq.MQRC_RESOURCE_PROBLEM and self._log_space_tries < _LOG_SPACE_TRIES:
            self._log_space_tries += 1
            self._waits_for_log = True
            self.port.make_room()
        else:
            queue = self.settings.transmission_queue
            text = f"AMQ9508E: Channel {name} cannot get from queue {queue}: {describe(reason).name} ({reason})."
            self._fail(EndReason.RETRYABLE, reason, text)

    def _send(self, request: GetRequest) -> None:
        md = request.md
        body = request.body
        is_persistent: bool = read_i32_le(md, PERSISTENCE_AT) == 1
        batch: SenderBatch | None = self.current if is_persistent or not self.agreed.is_fast else None
        self._last_work_ms = self.engine.now_ms
        refused: i64 = refusal_reason(md, body, self.agreed.message_bytes_max)
        if refused == 0 and self.settings.converts:
            converted = convert_for_partner(self.engine, body, self.agreed.encoding, self.agreed.ccsid)
            body = converted.body
            refused = converted.reason
            if refused != 0:
                report_conversion_error(
                    self.engine, refused, body, self.settings.name, self.settings.transmission_queue
                )
        if refused != 0:
            self._dead_letter(request, refused, batch)
            return
        expiry: i64 = i64(read_i32_le(md, EXPIRY_AT))
        counters = self.counters
        counters.count_message(self.engine.now_ms, len(body), is_persistent)
        if self.monitor is not None:
            self.monitor.on_send(self.current is None and not self.in_flight)
        if batch is None:
            counters.sent_bytes += self._writer.write_alone(body, expiry, request.after_lsn)
            return
        self.sequence = next_sequence(self.sequence, self.settings.sequence_wrap)
        batch.add(self.sequence, len(body))
        counters.sent_bytes += self._writer.write_in_batch(body, batch.number, self.sequence, expiry)
        if batch.is_full():
            self._end_batch()

    def _continue_message(self) -> None:
        """Send more of a long message. Its batch may be full once all of it is sent."""
        if not self._writer.is_busy():
            return
        self._writer.feed()
        batch = self.current
        if batch is not None and batch.is_full() and not self._writer.is_busy():
            self._end_batch()

    def _dead_letter(self, request: GetRequest, reason: i64, batch: SenderBatch | None) -> None:
        unit = batch.unit if batch is not None else None
        outcomes = batch.dead_letters if batch is not None else None
        handling = dead_letter_unsendable(self.engine, self.connection, self.settings, request, reason, unit, outcomes)
        if handling.is_handled:
            self.port.note(handling.text)
        else:
            self._fail(EndReason.PERMANENT, reason, handling.text)

    # -- batches -------------------------------------------------------------------------------------------------------

    def _end_batch(self) -> None:
        """Prepare the batch and send CONFIRM."""
        batch = self.current
        if batch is None or self._writer.is_busy() or self.state != RUNNING:
            return
        request = self._request
        if request is not None and request.done and not self._is_watching:
            self.port.schedule_pump()  # the batch has got another message, which is sent first
            return
        if request is not None and self._queue.is_shared and not self._is_watching:
            self._must_end_batch = True  # it may get another message yet
            return
        if batch.unit.state != ACTIVE:
            # The log was full, or the connection was stopped: its messages are back on the queue.
            self._fail_backed_out(0)
            return
        if batch.dead_letters and not self._are_dead_letters_put(batch):
            return
        quiet: i64 = self.settings.batch_heartbeat_ms
        if quiet > 0 and (self._partner_waits or self.port.silence_ms() > quiet):
            self.state = BATCH_HEARTBEAT
            self.port.send(frame(HEARTBEAT, 0, HEARTBEAT_CHECK))
            self.port.set_timer(quiet)
            return
        self._cancel_wait()
        engine = self.engine
        if batch.messages == 0:  # all its messages were dead-lettered
            self.current = None
            self.connection.unit_of_work = None
            commit_work(engine, batch.unit)
            return
        try:
            record_batch(engine, self.position, batch)
        except MQError as error:
            if isinstance(error, LogFull) and self._log_space_tries < _LOG_SPACE_TRIES:
                self._log_space_tries += 1
                self._waits_for_log = True
                self.port.make_room()
                return
            self._fail(EndReason.RETRYABLE, error.reason, f"AMQ9509E: Channel {self.settings.name}: {error.detail}")
            return
        self.current = None
        self.connection.unit_of_work = None
        self.in_flight.append(batch)
        batch.is_recording = True
        self._prepare(batch)

    def _prepare(self, batch: SenderBatch) -> bool:
        """Prepare a batch when its position is in its unit. Return False while that is not so."""
        state: i64 = self.position.state()
        if state == WAITING:
            return False
        if state == UNAVAILABLE:
            self._fail_position()
            return False
        if batch.unit.state != ACTIVE:
            self._fail_backed_out(0)
            return False
        batch.is_recording = False
        outcome = prepare_batch(self.engine, self.position, batch, self.settings.name, self.partner)
        if outcome.task is None:
            self._send_confirm(batch, outcome.after_lsn)
        else:
            batch.ending = outcome
            self.engine.notify_when_done(outcome.task, self.waker)
        return True

    def _fail_backed_out(self, reason: i64) -> None:
        text = f"AMQ9509E: A batch of channel {self.settings.name} was backed out."
        self._fail(EndReason.RETRYABLE, reason, text)

    def _are_dead_letters_put(self, batch: SenderBatch) -> bool:
        """Return False while a shared dead-letter queue has not answered. The channel fails if that refuses one."""
        for outcome in batch.dead_letters:
            if outcome.task is not None and not outcome.task.is_done:
                self.engine.notify_when_done(outcome.task, self.waker)
                self._must_end_batch = True
                return False
            if outcome.has_failed():
                text = (
                    f"AMQ9544E: Channel {self.settings.name} cannot put a message on {self.engine.dead_letter_queue}."
                )
                self._fail(EndReason.RETRYABLE, outcome.reason, text)
                return False
        batch.dead_letters = []
        return True

    def _set_batch_size(self) -> None:
        """Set the batch size and the number of batches in flight by the space in the partner's log."""
        limit = self.records.batch_limits.find(self.settings.name)
        size: i64 = self.agreed.batch_size
        self._batch_size = size if limit is None else min(size, limit.messages)
        # The position of the group goes from one batch to the next.
        self._window = self.agreed.window if limit is None and not self.position.is_group else 1

    def _lower_batch_limit(self) -> None:
        """Send smaller batches from now on: the partner's log had no space for those in flight."""
        batch = self.current
        tried: i64 = batch.messages if batch is not None else 0
        for other in self.in_flight:
            tried = max(tried, other.messages)
        if tried > 0 and self.records.batch_limits.lower(self.settings.name, tried):
            self.port.note(too_large_text(self.settings.name, self.partner, tried))

    def _end_or_rekey(self) -> None:
        """End the open batch, wait until all batches are confirmed, and then end the channel or renew the TLS keys."""
        self._cancel_wait()
        if self._request is not None:
            self._get()  # a message was already got
            if self.state != RUNNING or self._writer.is_busy():
                return
        self._end_batch()
        if self.current is not None or self.in_flight or self.state != RUNNING or self._request is not None:
            return
        if self.is_stopping:
            self.state = ENDING
            self.port.send(frame(CHANNEL_END, 0, 1))
            self.port.set_timer(_ENDING_MS)
        else:
            self.state = REKEYING
            self.port.send(frame(REKEY, 0, 1))
            self.port.rekey()
            self.port.set_timer(_REKEYING_MS)

    # -- timer and end -------------------------------------------------------------------------------------------------

    def on_timer(self) -> None:
        """Handle the end of the time given to `ChannelPort.set_timer`."""
        self._waits_for_log = False
        if self._continue_start():
            return
        if self.state == ENDING:
            self._end()
            return
        if self.state == BATCH_HEARTBEAT:
            quiet: i64 = self.settings.batch_heartbeat_ms
            left: i64 = quiet if self._partner_waits else quiet - self.port.silence_ms()
            if left > 0:  # the partner is alive, and answers once it has read up to the heartbeat
                self.port.set_timer(left)
                return
        if self.state == REKEYING or self.state == BATCH_HEARTBEAT:
            what = "did not agree on new keys" if self.state == REKEYING else "did not answer within BATCHHB"
            self._fail(EndReason.RETRYABLE, 0, f"AMQ9259E: Channel {self.settings.name}: {self.partner} {what}.")
        if self.state != RUNNING:
            return
        batch = self.current
        if batch is not None:
            left = batch.left_ms(self.engine.now_ms, self.settings.batch_interval_ms)
            if left > 0:  # timers use another clock than messages
                self.port.set_timer(left)
            elif not self._writer.is_busy():
                self._end_batch()
        elif self._idle_left_ms() == 0:
            self.stop()
            return
        self.pump()
        self._set_idle_timer()
        if self.state == RUNNING and self._request is None and not self.in_flight:
            self.port.set_timer(_SHORT_MS)  # waits for buffer space

    def on_room_made(self) -> None:
        """Continue after an attempt to make log space."""
        self.on_timer()

    def stop(self) -> None:
        """End the channel after the current batch."""
        self.is_stopping = True
        self.port.notify_changed()
        if self.state == NEGOTIATING or self.state == RESOLVING:
            self._finish(EndReason.NORMAL, 0, "")
        else:
            self.pump()

    def _end(self) -> None:
        """Finish after CHANNEL_END. The channel retries if the partner has stopped it."""
        if self._is_ended_by_partner:
            text = f"AMQ9558E: Channel {self.settings.name} was ended by {self.partner}, where it was stopped."
            self._finish(EndReason.RETRYABLE, 0, text)
        else:
            self._finish(EndReason.NORMAL, 0, "")

    def on_connection_lost(self) -> None:
        """Back out the batch that is not prepared; its messages go back to the queue."""
        if self.state != ENDED:
            self._release()

    def _release(self) -> None:
        self.state = ENDED
        self.position.attach(None)
        self._cancel_get()
        self._request = None
        self._writer.drop()
        batch = self.current
        self.current = None
        unit = batch.unit if batch is not None else self.connection.unit_of_work
        self.connection.unit_of_work = None
        if unit is not None and unit.state == ACTIVE:
            back_out_unit(self.engine, unit)
        for other in self.in_flight:
            if other.unit.state == ACTIVE:  # it waits for a shared dead-letter queue, and was not announced
                back_out_unit(self.engine, other.unit)

    def _fail(self, end_reason: EndReason, reason: i64, text: str) -> None:
        """End the channel, and send the reason to the partner, unless that has heard nothing yet."""
        if self.state != ENDED:
            if not self._is_greeting:
                self.port.send(frame(FAREWELL, 0, 0, reason_payload(reason, text)))
            self._finish(end_reason, reason, text)

    def _finish(self, end_reason: EndReason, reason: i64, text: str) -> None:
        if self.state == ENDED:
            return
        self._release()
        self.port.finish(end_reason, reason, text)
