"""The sending end of a message channel: from a transmission queue to the partner, in batches.

    hello      where this end stands, and which batches it is in doubt about; the answer settles those
    messages   persistent ones are got within the unit of work of a batch, others on their own (NPMSPEED(FAST))
    batch end  the unit gets the channel's record and is prepared; when the log has that, the partner is asked to commit
    confirm    the partner has committed: the unit is committed here, too

Further batches may be sent while the partner's word on earlier ones is still on its way; their messages say which batch
they are of. What is prepared when the connection breaks stays so, whatever happens here, until the partner tells.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.channel.batch import ChannelCounters, SenderBatch, prepare_batch
from ostler.channel.batch_limits import too_large_text
from ostler.channel.conversion import convert_for_partner, report_conversion_error
from ostler.channel.in_doubt import describe_position, resynchronize
from ostler.channel.message_writer import BACKLOG_BYTES, MessageWriter
from ostler.channel.monitoring import ChannelMonitor
from ostler.channel.negotiation import ChannelSettings, check_agreement, next_sequence, propose
from ostler.channel.port import ChannelPort, EndReason
from ostler.channel.refusals import ENDING_REASONS, is_permanent, quote_partner, refusal_in
from ostler.channel.send_checks import dead_letter_unsendable, refusal_reason
from ostler.channel.sync_records import SENDING, SyncRecords, commit_batch
from ostler.engine import get as getting
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.message.message import EXPIRY_AT, PERSISTENCE_AT
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.slots import NONE, PERSISTENT
from ostler.engine.syncpoint import back_out_unit, commit_unit
from ostler.engine.unit_of_work import ACTIVE
from ostler.model.constants import (
    MQGMO_FAIL_IF_QUIESCING,
    MQGMO_PROPERTIES_FORCE_MQRFH2,
    MQGMO_SYNCPOINT,
    MQGMO_SYNCPOINT_IF_PERSISTENT,
    MQGMO_WAIT,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_RESOURCE_PROBLEM,
    MQRC_SYNCPOINT_LIMIT_REACHED,
)
from ostler.model.errors import MQError
from ostler.model.reasons import describe
from ostler.wire.channel_frames import (
    ASKS_FOR_LIFE,
    GOES_ON,
    SENDS,
    TIMED,
    WAITS,
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
    CHANNEL_REKEY,
    CHANNEL_STOP,
    FAREWELL,
    HEARTBEAT,
    MESSAGE_BYTES_MAX,
    REPLY,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason, reason_payload

# States of a sending end.
NEGOTIATING: Final = 0
RUNNING: Final = 1
BATCH_HEARTBEAT: Final = 2  # it waits for a sign of life before it ends a batch (BATCHHB)
REKEYING: Final = 3
ENDING: Final = 4  # END was said
ENDED: Final = 5

_TURN_MESSAGES: Final = 256  # at most so many at a time, so that others get their turn
_ENDING_MS: Final = 5_000
_REKEYING_MS: Final = 10_000
_SHORT_MS: Final = 16
_SLOW_PARTNER_MS: Final = 2  # a confirmation that takes longer is worth sending ahead of
_ROOM_TRIES: Final = 3
_LONGEST: Final = MESSAGE_BYTES_MAX + 65_536


@final
class SendingEnd:
    """The owner gives it frames, wakes it, and calls `pump` when messages may have come or room was made."""

    def __init__(
        self,
        engine: Engine,
        records: SyncRecords,
        settings: ChannelSettings,
        connection: Connection,
        handle: Handle,
        port: ChannelPort,
    ) -> None:
        """`handle` has the transmission queue open for input, exclusively."""
        self.engine = engine
        self.records = records
        self.settings = settings
        self.connection = connection
        self.handle = handle
        self.port = port
        self.state: i64 = NEGOTIATING
        self.agreed = ChannelHello()
        self.partner: str = ""
        self.counters = ChannelCounters()
        self.monitor: ChannelMonitor | None = None
        self.waker: object = None  # what the engine wakes when a message came
        self.key_reset_bytes: i64 = 0  # SSLRKEYC
        self.is_stopping = False
        self.sequence: i64 = 0  # of the last message that was sent in a batch
        self.current: SenderBatch | None = None
        self.in_flight: list[SenderBatch] = []
        assert handle.queue is not None
        self._queue: Queue = handle.queue
        self._request: GetRequest | None = None
        self._writer = MessageWriter(port, self.agreed)
        self._batch_size: i64 = 1  # as agreed, or less while the partner's log has no room for that
        self._window: i64 = 1
        self._batches: i64 = 0
        self._last_work_ms: i64 = engine.now_ms
        self._room_tries: i64 = 0
        self._is_sent_away = False  # the partner asked for the end
        self._wants_room = False  # in the log: nothing is got until it was tried to make some
        self._partner_waits = False  # and reads nothing, as it has said
        self._options: i64 = 0

    def watch(self, monitor: ChannelMonitor) -> None:
        """Measure from now on what only those want who watch."""
        self.monitor = monitor
        self._writer.monitor = monitor
        monitor.begin(self._queue)

    # -- the beginning -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Say hello: as the end that connected, or to a requester that did."""
        hello = propose(self.settings, self.engine.name, self.engine.ccsid, SENDS)
        describe_position(self.engine, self.records, hello)
        if hello.is_reset:
            # The partner resets itself by this: a crash must not take the wish back here alone.
            self.port.send_after(self.engine.journal.end_lsn(), hello_frame(hello))
        else:
            self.port.send(hello_frame(hello))

    def on_welcome(self, agreed: ChannelHello) -> None:
        """The partner has said what is agreed, and what it committed last."""
        self.agreed = agreed
        self.partner = agreed.queue_manager
        self._writer = MessageWriter(self.port, agreed)
        self._options = MQGMO_FAIL_IF_QUIESCING | MQGMO_PROPERTIES_FORCE_MQRFH2
        self._options |= MQGMO_SYNCPOINT_IF_PERSISTENT if agreed.is_fast else MQGMO_SYNCPOINT
        wrong = resynchronize(self.engine, self.records, self.settings.name, agreed)
        if wrong:
            self._fail(EndReason.PERMANENT, 0, wrong)
            return
        record = self.records.find(SENDING, self.settings.name)
        if record.is_reset:
            fresh = record.successor()
            fresh.sequence = record.sequence
            self.records.write(fresh)
        self.sequence = record.sequence
        self._size_batches()
        self.state = RUNNING
        self._last_work_ms = self.engine.now_ms
        self.port.notify_changed()
        self.pump()

    # -- what comes from the partner -----------------------------------------------------------------------------------

    def receive_frame(self, type: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        """A frame came, whole. MalformedFrame when no correct partner would send it now."""
        if self.state == ENDED:
            return
        if type == CHANNEL_CONFIRM | REPLY:
            self._on_confirm(Confirm(buffer, start, end))
        elif type == HEARTBEAT | REPLY:
            self._on_heartbeat_reply(request)
        elif type == CHANNEL_STOP:
            self._is_sent_away = True
            self.stop()
        elif type == CHANNEL_END | REPLY and self.state == ENDING:
            self._end()
        elif type == CHANNEL_REKEY | REPLY and self.state == REKEYING:
            self.counters.on_key_reset(self.engine.now_ms)
            self.state = RUNNING
            self.pump()
        elif type == FAREWELL:
            reason, text = decode_reason(PayloadReader(buffer, start, end))
            if reason == MQRC_RESOURCE_PROBLEM:
                self._too_large()
            end_reason = EndReason.PERMANENT if is_permanent(0, text) else EndReason.RETRYABLE
            self._finish(end_reason, reason, quote_partner(self.partner or "The partner", text))
        elif type == CHANNEL_HELLO | REPLY and self.state == NEGOTIATING:
            self._on_hello_reply(buffer[start:end])
        else:
            raise MalformedFrame(f"a frame of type {type} where it cannot be")

    def _on_heartbeat_reply(self, request: i64) -> None:
        if request == WAITS or request == GOES_ON:
            self._partner_waits = request == WAITS
            return
        if request == TIMED and self.monitor is not None:
            self.monitor.answered()
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

    def _on_confirm(self, told: Confirm) -> None:
        if not self.in_flight:
            raise MalformedFrame("a confirmation that nobody asked for")
        batch = self.in_flight.pop(0)
        if told.luwid != batch.luwid or told.sequence != batch.last:
            raise MalformedFrame("a confirmation of another batch")
        commit_batch(self.engine, self.records, batch.as_in_doubt(self.settings.name, self.partner))
        self.counters.confirmed(batch, self.engine.now_ms)
        if self._batch_size < self.agreed.batch_size:
            self.records.batch_limits.confirmed(self.settings.name, batch.messages, self.agreed.batch_size)
            self._size_batches()
        if self.monitor is not None:
            self.monitor.batch_over(batch.messages, not self.in_flight)
        self._last_work_ms = self.engine.now_ms
        self.pump()
        self._watch_idleness()

    # -- from the queue to the partner ---------------------------------------------------------------------------------

    def pump(self) -> None:
        """Send what there is to send, as far as there is room for it."""
        if self.state != RUNNING or self._wants_room:
            return
        if self.connection.broken:
            self._fail(EndReason.RETRYABLE, 0, f"AMQ9509E: The connection of channel {self.settings.name} was ended.")
            return
        self._feed()
        left: i64 = _TURN_MESSAGES
        while self.state == RUNNING and not self._wants_room and not self._writer.is_busy():
            if self.port.backlog_bytes() > BACKLOG_BYTES:
                return  # called again when there is less
            key_bytes: i64 = self.key_reset_bytes
            if self.is_stopping or (key_bytes > 0 and self.port.traffic_bytes() >= key_bytes):
                self._wind_up()
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
        """Whether the next message may be got now: within the batch that is open, or as the first of another."""
        request = self._request
        under_way: i64 = len(self.in_flight)
        if self.current is not None or under_way == 0 or (request is not None and request.done):
            return True
        queue = self._queue
        first: i64 = queue.slots.first()
        if first != NONE and self.agreed.is_fast and not queue.slots.flags[first] & PERSISTENT:
            return True
        # What comes while the partner answers makes one batch, unless there is enough for one already or it is far.
        return under_way < self._window and (self._is_far() or (first != NONE and queue.depth >= self._batch_size))

    def _is_far(self) -> bool:
        return self.counters.confirm_ms > _SLOW_PARTNER_MS

    def _get(self) -> bool:
        """Get a message and send it. False when there is none now."""
        request = self._request
        if request is None:
            batch = self.current
            self.connection.unit_of_work = batch.unit if batch is not None else None
            request = GetRequest(self.connection, self.handle, self._options, _LONGEST)
            getting.get(self.engine, request)
            self._adopt_unit()
        elif not request.done:
            return False
        else:
            self._request = None
            self._adopt_unit()
        if request.reason == MQRC_NO_MSG_AVAILABLE:
            self._nothing_there()
            return False
        if request.reason != 0:
            self._get_failed(request.reason)
            return False
        self._room_tries = 0
        self._send(request)
        return True

    def _adopt_unit(self) -> None:
        """A get under syncpoint has begun a unit of work: it is a new batch's."""
        unit = self.connection.unit_of_work
        if unit is not None and self.current is None:
            self._batches += 1
            first: i64 = next_sequence(self.sequence, self.settings.sequence_wrap)
            bytes_max: i64 = self.settings.batch_bytes_max
            self.current = SenderBatch(self._batches, unit, first, self.engine.now_ms, self._batch_size, bytes_max)

    def _nothing_there(self) -> None:
        batch = self.current
        if batch is not None:
            left: i64 = batch.left_ms(self.engine.now_ms, self.settings.batch_interval_ms)
            if left == 0:
                self._end_batch()
            else:
                self.port.set_timer(left)
        if self.state == RUNNING and self._may_wait():
            self._wait()

    def _may_wait(self) -> bool:
        """Whether a message that comes may be taken at once. It need not while others are on their way."""
        under_way: i64 = len(self.in_flight)
        return self.current is not None or under_way == 0 or (under_way < self._window and self._is_far())

    def _wait(self) -> None:
        batch = self.current
        self.connection.unit_of_work = batch.unit if batch is not None else None
        request = GetRequest(self.connection, self.handle, self._options | MQGMO_WAIT, _LONGEST)
        request.wait_ms = -1
        request.waker = self.waker
        self._request = request
        if getting.get(self.engine, request):
            self.port.schedule_pump()
            return
        self._watch_idleness()

    def _idle_left_ms(self) -> i64:
        """How long it may do nothing but wait for a message (DISCINT); -1: for ever, or it does something."""
        request = self._request
        interval: i64 = self.settings.disconnect_seconds * 1000
        if interval <= 0 or self.current is not None or self.in_flight or request is None or request.done:
            return -1
        return max(min(self._last_work_ms + interval - self.engine.now_ms, interval), 0)

    def _watch_idleness(self) -> None:
        left: i64 = self._idle_left_ms()
        if left >= 0 and self.state == RUNNING:
            self.port.set_timer(left + 1)

    def _give_up_wait(self) -> None:
        request = self._request
        if request is not None and not request.done:
            request.waker = None
            getting.cancel(self.engine, request, MQRC_NO_MSG_AVAILABLE)
            self._request = None

    def _get_failed(self, reason: i64) -> None:
        name = self.settings.name
        batch = self.current
        if reason in ENDING_REASONS:
            self.is_stopping = True
            self._wind_up()
        elif reason == MQRC_SYNCPOINT_LIMIT_REACHED and batch is not None and batch.messages > 0:
            self._end_batch()
            self.port.schedule_pump()
        elif reason == MQRC_RESOURCE_PROBLEM and self._room_tries < _ROOM_TRIES:
            self._room_tries += 1
            self._wants_room = True
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
            made = convert_for_partner(self.engine, body, self.agreed.encoding, self.agreed.ccsid)
            body = made.body
            refused = made.reason
            if refused != 0:
                report_conversion_error(
                    self.engine, refused, body, self.settings.name, self.settings.transmission_queue
                )
        if refused != 0:
            self._reject(request, refused, batch)
            return
        expiry: i64 = i64(read_i32_le(md, EXPIRY_AT))
        counters = self.counters
        counters.message(self.engine.now_ms, len(body), is_persistent)
        if self.monitor is not None:
            self.monitor.sends(self.current is None and not self.in_flight)
        if batch is None:
            counters.sent_bytes += self._writer.write_alone(body, expiry, request.after_lsn)
            return
        self.sequence = next_sequence(self.sequence, self.settings.sequence_wrap)
        batch.add(self.sequence, len(body))
        counters.sent_bytes += self._writer.write_in_batch(body, batch.number, self.sequence, expiry)
        if batch.is_full():
            self._end_batch()

    def _feed(self) -> None:
        """Send more of a long message; when all of it is sent, its batch may be full."""
        if not self._writer.is_busy():
            return
        self._writer.feed()
        batch = self.current
        if batch is not None and batch.is_full() and not self._writer.is_busy():
            self._end_batch()

    def _reject(self, request: GetRequest, reason: i64, batch: SenderBatch | None) -> None:
        unit = batch.unit if batch is not None else None
        done = dead_letter_unsendable(self.engine, self.connection, self.settings, request, reason, unit)
        if done.is_done:
            self.port.note(done.text)
        else:
            self._fail(EndReason.PERMANENT, reason, done.text)

    # -- batches -------------------------------------------------------------------------------------------------------

    def _end_batch(self) -> None:
        """Prepare the batch, and ask the partner to commit it."""
        batch = self.current
        if batch is None or self._writer.is_busy() or self.state != RUNNING:
            return
        request = self._request
        if request is not None and request.done:
            self.port.schedule_pump()  # a message has come into the batch, and is sent before it ends
            return
        if batch.unit.state != ACTIVE:
            # The log was full, or somebody ended the connection: its messages are on their queue again.
            self._fail(EndReason.RETRYABLE, 0, f"AMQ9509E: A batch of channel {self.settings.name} was backed out.")
            return
        quiet: i64 = self.settings.batch_heartbeat_ms
        if quiet > 0 and (self._partner_waits or self.port.silence_ms() > quiet):
            self.state = BATCH_HEARTBEAT
            self.port.send(frame(HEARTBEAT, 0, ASKS_FOR_LIFE))
            self.port.set_timer(quiet)
            return
        self._give_up_wait()
        engine = self.engine
        if batch.messages == 0:  # all of it went to the dead-letter queue
            self.current = None
            self.connection.unit_of_work = None
            commit_unit(engine, batch.unit)
            return
        try:
            lsn: i64 = prepare_batch(engine, self.records, batch, self.settings.name, self.partner)
        except MQError as error:
            if engine.journal_full and self._room_tries < _ROOM_TRIES:
                self._room_tries += 1
                self._wants_room = True
                self.port.make_room()
                return
            self._fail(EndReason.RETRYABLE, error.reason, f"AMQ9509E: Channel {self.settings.name}: {error.detail}")
            return
        self.current = None
        self.connection.unit_of_work = None
        batch.confirm_ms = engine.now_ms
        self.in_flight.append(batch)
        data = confirm_frame(CHANNEL_CONFIRM, batch.number, batch.number, batch.last, batch.luwid, batch.messages)
        self.port.send_after(lsn, data)

    def _size_batches(self) -> None:
        """How large batches are, and how many are under way, by what the partner's log has taken lately."""
        limit = self.records.batch_limits.find(self.settings.name)
        size: i64 = self.agreed.batch_size
        self._batch_size = size if limit is None else min(size, limit.messages)
        self._window = self.agreed.window if limit is None else 1

    def _too_large(self) -> None:
        """The partner's log had no room for what is under way."""
        batch = self.current
        tried: i64 = batch.messages if batch is not None else 0
        for other in self.in_flight:
            tried = max(tried, other.messages)
        if tried > 0 and self.records.batch_limits.refused(self.settings.name, tried):
            self.port.note(too_large_text(self.settings.name, self.partner, tried))

    def _wind_up(self) -> None:
        """End the batch that is open, wait for those under way, and then part or begin TLS anew."""
        self._give_up_wait()
        if self._request is not None:
            self._get()  # a message had come already
            if self.state != RUNNING or self._writer.is_busy():
                return
        self._end_batch()
        if self.current is not None or self.in_flight or self.state != RUNNING:
            return
        if self.is_stopping:
            self.state = ENDING
            self.port.send(frame(CHANNEL_END, 0, 1))
            self.port.set_timer(_ENDING_MS)
        else:
            self.state = REKEYING
            self.port.send(frame(CHANNEL_REKEY, 0, 1))
            self.port.rekey()
            self.port.set_timer(_REKEYING_MS)

    # -- time and the end ----------------------------------------------------------------------------------------------

    def on_timer(self) -> None:
        """The time that was asked for is over."""
        self._wants_room = False
        if self.state == ENDING:
            self._end()
            return
        if self.state == BATCH_HEARTBEAT:
            quiet: i64 = self.settings.batch_heartbeat_ms
            left: i64 = quiet if self._partner_waits else quiet - self.port.silence_ms()
            if left > 0:  # it is alive, and answers when it has read so far; the batch can wait
                self.port.set_timer(left)
                return
        if self.state == REKEYING or self.state == BATCH_HEARTBEAT:
            what = "did not agree on new keys" if self.state == REKEYING else "was not heard of within BATCHHB"
            self._fail(EndReason.RETRYABLE, 0, f"AMQ9259E: Channel {self.settings.name}: {self.partner} {what}.")
        if self.state != RUNNING:
            return
        batch = self.current
        if batch is not None:
            left = batch.left_ms(self.engine.now_ms, self.settings.batch_interval_ms)
            if left > 0:  # timers go by another clock than messages
                self.port.set_timer(left)
            elif not self._writer.is_busy():
                self._end_batch()
        elif self._idle_left_ms() == 0:
            self.stop()
            return
        self.pump()
        self._watch_idleness()
        if self.state == RUNNING and self._request is None and not self.in_flight:
            self.port.set_timer(_SHORT_MS)  # it waits for room

    def on_room_made(self) -> None:
        """Room was made in the log, or could not be."""
        self.on_timer()

    def stop(self) -> None:
        """End after the batch."""
        self.is_stopping = True
        self.port.notify_changed()
        if self.state == NEGOTIATING:
            self._finish(EndReason.NORMAL, 0, "")
        else:
            self.pump()

    def _end(self) -> None:
        """Both have said all. Who was sent away tries again later; who had nothing more to do does not."""
        if self._is_sent_away:
            text = f"AMQ9558E: Channel {self.settings.name} was ended by {self.partner}: it stopped there."
            self._finish(EndReason.RETRYABLE, 0, text)
        else:
            self._finish(EndReason.NORMAL, 0, "")

    def on_connection_lost(self) -> None:
        """The connection is gone: what was not prepared goes back to its queue."""
        if self.state != ENDED:
            self._release()

    def _release(self) -> None:
        self.state = ENDED
        self._give_up_wait()
        self._request = None
        self._writer.drop()
        batch = self.current
        self.current = None
        unit = batch.unit if batch is not None else self.connection.unit_of_work
        self.connection.unit_of_work = None
        if unit is not None and unit.state == ACTIVE:
            back_out_unit(self.engine, unit)

    def _fail(self, end_reason: EndReason, reason: i64, text: str) -> None:
        """Go no further, and tell the partner why."""
        if self.state != ENDED:
            self.port.send(frame(FAREWELL, 0, 0, reason_payload(reason, text)))
            self._finish(end_reason, reason, text)

    def _finish(self, end_reason: EndReason, reason: i64, text: str) -> None:
        if self.state == ENDED:
            return
        self._release()
        self.port.finish(end_reason, reason, text)
