"""The receiving end of a message channel: receives from the partner and puts to queues in batches.

The messages of a batch are put within one unit of work, which is committed together with the sync record of the channel
when CONFIRM arrives; the reply is sent once that is durable. A message that cannot be put is put again (MRRTY, MRTMR)
while all messages behind it wait, and is then dead-lettered. Nothing is read meanwhile, so heartbeats are not answered:
this end reports to the partner that it waits, and repeats that at each heartbeat interval. When the connection breaks,
uncommitted batches are backed out: the partner still has them.

Puts to shared queues are answered later by the coupling facility. Up to _PUTS_AT_ONCE of them are under way; a batch is
committed when all its puts are answered, and the facility decides on it (`batch_commit.py`).
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.channel.batch import ChannelCounters
from ostler.channel.batch_commit import BatchCommit, BatchOwner
from ostler.channel.dead_letter import DISCARDED
from ostler.channel.delivery import InboundDelivery, may_retry, mca_user_advice, queue_of
from ostler.channel.monitoring import ChannelMonitor
from ostler.channel.negotiation import ChannelSettings, method_of, negotiate, next_sequence
from ostler.channel.packing import unpack
from ostler.channel.port import ChannelPort, EndReason
from ostler.channel.positions import KNOWN, UNAVAILABLE, PrivatePosition, ReceiverPosition
from ostler.channel.sync_records import NO_LUWID, SyncRecord, SyncRecords, check_log_space
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.message.message import PERSISTENCE_AT
from ostler.engine.outcomes import PutOutcome
from ostler.engine.shared.units import SharedUnit
from ostler.engine.syncpoint import back_out_unit, commit_unit
from ostler.engine.unit_of_work import ACTIVE, UnitOfWork
from ostler.model import constants as mq
from ostler.model.errors import LogFull, MQError
from ostler.model.reasons import describe
from ostler.security.authorities import EVERYBODY
from ostler.wire.channel_frames import (
    HEARTBEAT_PAUSED,
    HEARTBEAT_RESUMED,
    IN_BATCH,
    MESSAGE_FIXED_BYTES,
    XQH_MD_AT,
    ChannelHello,
    Confirm,
    confirm_frame,
    welcome_frame,
)
from ostler.wire.frames import (
    CHANNEL_CONFIRM,
    CHANNEL_END,
    CHANNEL_MESSAGE,
    CHANNEL_STOP,
    FAREWELL,
    HEARTBEAT,
    REKEY,
    REPLY,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason, reason_payload

# States of a receiving end. `states.py` has those of the whole channel.
RUNNING: Final = 1
PAUSED: Final = 2  # waits for a message retry or for log space
ENDED: Final = 5

_LOG_SPACE_TRIES: Final = 3
_IDLE_MS: Final = 3_000
_PUTS_AT_ONCE: Final = 64  # without an answer of the coupling facility
_GREETING_MS: Final = 20  # between looks at a position that is not known yet
_GREETING_MS_MAX: Final = 20_000
_UNDECIDED: Final = -1
_PERSISTENCE_AT: Final = XQH_MD_AT + PERSISTENCE_AT


@final
class ReceiverBatch:
    """A batch that is not committed yet."""

    def __init__(self, unit: UnitOfWork) -> None:
        self.unit = unit
        self.messages: i64 = 0
        self.last: i64 = 0
        self.unsettled: i64 = 0  # messages that are neither put nor dead-lettered


@final
class PendingPut:
    """A message that is being put, with the number of failed attempts."""

    def __init__(self, body: bytes, expiry: i64, batch: ReceiverBatch | None) -> None:
        self.body = body
        self.expiry: i64 = expiry
        self.batch = batch
        self.tries: i64 = 0
        self.outcome: PutOutcome | None = None  # of a put to a shared queue
        self.dead_reason: i64 = 0  # for which that queue is the dead-letter queue


@final
class ReceivingEnd(BatchOwner):
    """The owner passes in frames and timer events, and calls `pump` after the facility has answered."""

    def __init__(
        self,
        engine: Engine,
        records: SyncRecords,
        settings: ChannelSettings,
        connection: Connection,
        delivery: InboundDelivery,
        port: ChannelPort,
    ) -> None:
        self.engine = engine
        self.records = records
        self.settings = settings
        self.connection = connection
        self.delivery = delivery
        self.port = port
        self.manager_name: str = engine.name  # as the partner knows it: of this queue manager, or of its group
        self.position: ReceiverPosition = PrivatePosition(records, settings.name)
        self.waker: object = None  # woken by the engine when the facility has answered
        self.state: i64 = RUNNING
        self.agreed = ChannelHello()
        self.partner: str = ""
        self.counters = ChannelCounters()
        self.monitor: ChannelMonitor | None = None
        self.is_stopping = False
        self.sequence: i64 = 0
        self._last_sequence: i64 = 0  # of the batch that this end committed last
        self._last_luwid: bytes = NO_LUWID
        self.batches: dict[int, ReceiverBatch] = {}  # uncommitted ones by number, in their order
        self._newest: i64 = 0  # the number of the batch that is being received
        self._pending: PendingPut | None = None  # waits for its retry or for log space
        self._putting: list[PendingPut] = []  # puts to shared queues without an answer, in their order
        self._is_full = False  # nothing is read until the facility has answered some of them
        self._confirms: list[Confirm] = []  # of batches that are not committed yet, in their order
        self._storing: SyncRecord | None = None  # the record of the first of them, while it is put to a shared queue
        self._committing: SyncRecord | None = None  # while the facility decides on it
        self._decision: i64 = _UNDECIDED
        self._greeting: i64 = -1  # number of the request whose welcome waits for the position
        self._greeting_reset: i64 = -1  # the sequence number that its hello sets
        self._greeting_ms: i64 = 0
        self._log_space_tries: i64 = 0
        self._waits_for_log = False  # nothing is retried until log space was made or not
        self._left_ms: i64 = 0  # until the message retry
        self._has_idle_timer = False  # `on_timer` closes the queues of an idle channel
        self._header_method: i64 = mq.MQCOMPRESS_NONE
        self._method: i64 = mq.MQCOMPRESS_NONE
        self._is_compressed = False

    def welcome(self, request: i64, hello: ChannelHello) -> None:
        """Accept the hello of a partner. MQError, before anything is sent, if the definitions do not match."""
        agreed = negotiate(hello, self.settings, self.manager_name, self.engine.ccsid)
        if agreed.batch_size > self.engine.uncommitted_max:
            agreed.batch_size = self.engine.uncommitted_max  # MAXUMSGS limits the unit of work
        self.agreed = agreed
        self.partner = hello.queue_manager
        self._header_method = method_of(agreed.header_methods)
        self._method = method_of(agreed.message_methods)
        self._is_compressed = self._header_method != mq.MQCOMPRESS_NONE or self._method != mq.MQCOMPRESS_NONE
        self._greeting = request
        self._greeting_reset = hello.sequence if hello.is_reset else -1
        self.position.open(self.partner)
        self._greet()

    def _greet(self) -> None:
        """Tell the partner the position, as soon as that is known."""
        position = self.position
        state: i64 = position.state()
        name = self.settings.name
        if state == KNOWN and self._greeting_reset >= 0:
            record = position.find().successor()
            record.sequence = self._greeting_reset
            self._greeting_reset = -1
            position.write(record)
            state = position.state()
        if state == UNAVAILABLE or (state != KNOWN and self._greeting_ms >= _GREETING_MS_MAX):
            why = position.failure or "the outcome of its last batch is not known, since no coupling facility answers"
            self._reject(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9509E: Channel {name} cannot start now: {why}.")
            return
        if state != KNOWN:
            self._greeting_ms += _GREETING_MS
            self.port.set_timer(_GREETING_MS)
            return
        request: i64 = self._greeting
        self._greeting = -1
        record = position.find()
        agreed = self.agreed
        self.sequence = record.sequence
        self._last_sequence = record.sequence
        self._last_luwid = record.luwid
        agreed.sequence = record.sequence
        agreed.luwid = record.luwid
        # The last commit must be durable before the partner discards the messages of that batch.
        self.port.send_after(self.engine.journal.end_lsn(), welcome_frame(request, agreed))
        self.port.notify_changed()

    # -- frames of the partner -----------------------------------------------------------------------------------------

    def receive_frame(self, type: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        """Handle one complete frame. MalformedFrame if it is invalid in this state."""
        if self.state == ENDED:
            return
        if self.connection.broken:
            self._reject(0, f"AMQ9999E: The connection of channel {self.settings.name} was ended by an administrator.")
            return
        if type == CHANNEL_MESSAGE:
            self._message(buffer, start, end)
        elif type == CHANNEL_CONFIRM:
            self._commit(Confirm(buffer, start, end))
        elif type == CHANNEL_END:
            self.port.send(frame(CHANNEL_END | REPLY, 0, request))
            self._finish(EndReason.NORMAL, 0, "")
        elif type == REKEY:
            if self.batches:
                raise MalformedFrame("a key reset within a batch")
            self.port.send(frame(REKEY | REPLY, 0, request))
            self.port.rekey()
            self.counters.count_key_reset(self.engine.now_ms)
        elif type == FAREWELL:
            reason, text = decode_reason(PayloadReader(buffer, start, end))
            # Under a message number of this queue manager, since the partner's text may claim any number.
            self._finish(
                EndReason.RETRYABLE, reason, f"AMQ9999E: Channel {self.settings.name}: {self.partner} ended: {text}"
            )
        elif type != HEARTBEAT | REPLY:
            raise MalformedFrame(f"a frame of type {type} is not expected now")

    def _message(self, buffer: bytes, start: i64, end: i64) -> None:
        if end - start < MESSAGE_FIXED_BYTES:
            raise MalformedFrame("a message is too short")
        number: i64 = i64(read_i32_le(buffer, start))
        flags: i64 = i64(read_i32_le(buffer, start + 4))
        sequence: i64 = i64(read_i32_le(buffer, start + 8))
        expiry: i64 = i64(read_i32_le(buffer, start + 12))
        header: i64 = i64(read_i32_le(buffer, start + 16))
        at: i64 = start + MESSAGE_FIXED_BYTES
        if header < 0 or at + header > end or flags < 0:
            raise MalformedFrame("the header of a message has a wrong length")
        longest: i64 = self.agreed.message_bytes_max
        monitor = self.monitor
        began_us: i64 = self.port.now_us() if monitor is not None else 0
        body = unpack(buffer, at, end, flags, header, self._header_method, self._method, longest)
        if monitor is not None and self._is_compressed:
            monitor.on_packed(began_us, len(body), end - at)
        self.counters.count_message(self.engine.now_ms, len(body), read_i32_le(body, _PERSISTENCE_AT) == 1)
        self.counters.sent_bytes += end - at
        if flags & IN_BATCH:
            batch = self._batch(number, sequence)
            if batch is not None:
                batch.unsettled += 1
                self._put(PendingPut(body, expiry, batch))
        elif self.agreed.is_fast:
            self._put(PendingPut(body, expiry, None))
        else:
            raise MalformedFrame("a message outside batches, which was not negotiated")

    def _batch(self, number: i64, sequence: i64) -> ReceiverBatch | None:
        """Return the batch of a message. None: its sequence number was wrong, and the channel has ended."""
        expected: i64 = next_sequence(self.sequence, self.settings.sequence_wrap)
        if sequence != expected:
            name = self.settings.name
            text = (
                f"AMQ9526E: Message sequence number error for channel {name}: {sequence} was received, {expected} is "
                f"next. See that no message is missing or duplicated, then RESET CHANNEL({name}) at {self.partner}."
            )
            self._reject(0, text)
            return None
        self.sequence = sequence
        batch = self.batches.get(number)
        if batch is None:
            if len(self.batches) >= self.agreed.window:
                raise MalformedFrame("more batches at a time than were negotiated")
            batch = ReceiverBatch(self.engine.new_unit_of_work())
            self.batches[number] = batch
            self._newest = number
        elif number != self._newest:
            raise MalformedFrame("a message of a batch behind the first of the next one")
        batch.messages += 1
        batch.last = sequence
        if batch.messages > self.agreed.batch_size:
            raise MalformedFrame("a batch has more messages than were negotiated")
        return batch

    # -- putting -------------------------------------------------------------------------------------------------------

    def _put(self, message: PendingPut) -> None:
        """Put a message, or keep it for a later attempt."""
        batch = message.batch
        if batch is not None and batch.unit.state != ACTIVE:
            self._on_backed_out()
            return
        unit = batch.unit if batch is not None else None
        outcome = self.delivery.put(message.body, message.expiry, unit)
        if outcome.task is not None and not outcome.task.is_done:
            message.dead_reason = 0
            self._defer(message, outcome)
        elif outcome.reason == 0 or not outcome.has_failed():
            self._settle(message)
        else:
            self._put_failed(message, outcome)

    def _defer(self, message: PendingPut, outcome: PutOutcome) -> None:
        """Wait for the answer of the coupling facility, and read further messages meanwhile."""
        message.outcome = outcome
        self._putting.append(message)
        assert outcome.task is not None
        self.engine.notify_when_done(outcome.task, self.waker)
        if not self._is_full and len(self._putting) >= _PUTS_AT_ONCE:
            self._is_full = True
            self.port.pause(True)

    def _collect_answers(self) -> None:
        """Handle the answers of the facility, in the order of the puts."""
        while self._putting and self._pending is None and self.state != ENDED:
            message = self._putting[0]
            outcome = message.outcome
            assert outcome is not None
            assert outcome.task is not None
            if not outcome.task.is_done:
                return
            self._putting.pop(0)
            message.outcome = None
            if not outcome.has_failed():
                if message.dead_reason != 0:
                    self._note_dead_letter(message, message.dead_reason)
                self._settle(message)
            elif message.dead_reason != 0:
                self._dead_letter_failed(message, message.dead_reason)
            else:
                self._put_failed(message, outcome)

    def _settle(self, message: PendingPut) -> None:
        """Go on after a message is put or dead-lettered."""
        self._pending = None
        if message.batch is not None:
            message.batch.unsettled -= 1
        self._resume()
        if self._is_full and len(self._putting) < _PUTS_AT_ONCE // 2:
            self._is_full = False
            self.port.pause(False)
        if not self._has_idle_timer:
            self._has_idle_timer = True
            self.port.set_timer(_IDLE_MS)

    def _put_failed(self, message: PendingPut, outcome: PutOutcome) -> None:
        """Put a message again later, or dead-letter it."""
        batch = message.batch
        reason: i64 = outcome.reason
        if batch is not None and batch.unit.state != ACTIVE:
            self._on_backed_out()
            return
        if outcome.wants_log_space and self._log_space_tries < _LOG_SPACE_TRIES:
            self._pending = message
            self._wait_for_log_space()
            return
        self._log_space_tries = 0
        if (
            message.tries < self.settings.retry_count
            and may_retry(reason)
            and (batch is not None or not self.is_stopping)
        ):
            if self.is_stopping:
                queue = queue_of(message.body)
                text = f"AMQ9558E: Channel {self.settings.name} ends while a message waits for queue {queue}."
                self._reject(reason, f"{text} It stays at {self.partner}.")
                return
            if message.tries == 0:
                self.counters.put_retries += 1
            message.tries += 1
            self._pending = message
            self._wait()
            self._left_ms = self.settings.retry_ms
            self._set_wait_timer()
            return
        self._pending = None
        self._dead_letter(message, reason)

    def _dead_letter(self, message: PendingPut, reason: i64) -> None:
        unit = message.batch.unit if message.batch is not None else None
        failed: i64 = self.delivery.dead_letter(message.body, message.expiry, reason, unit)
        if reason == mq.MQRC_NOT_AUTHORIZED:
            self.port.note(self._missing_authority(queue_of(message.body)))
        outcome = self.delivery.dead_letter_outcome
        if failed != 0:
            self._dead_letter_failed(message, reason)
        elif outcome is not None and outcome.task is not None and not outcome.task.is_done:
            message.dead_reason = reason
            self._defer(message, outcome)
        else:
            self._note_dead_letter(message, reason)
            self._settle(message)

    def _note_dead_letter(self, message: PendingPut, reason: i64) -> None:
        name = self.settings.name
        why = f"{describe(reason).name} ({reason})"
        queue = queue_of(message.body)
        if self.delivery.disposal == DISCARDED:
            self.port.note(f"AMQ9544W: Channel {name} has discarded a message for queue {queue}: {why}.")
        else:
            dead = self.engine.dead_letter_queue
            self.port.note(f"AMQ9544W: Channel {name} has put a message for queue {queue} on {dead}: {why}.")

    def _dead_letter_failed(self, message: PendingPut, reason: i64) -> None:
        name = self.settings.name
        why = f"{describe(reason).name} ({reason})"
        queue = queue_of(message.body)
        batch = message.batch
        if batch is None:
            self.port.note(f"AMQ9544E: Channel {name} has discarded a non-persistent message for {queue}: {why}.")
            self._settle(message)
        elif batch.unit.state != ACTIVE:
            self._on_backed_out()
        else:
            own = self.engine.name
            text = (
                f"AMQ9565E: Channel {name} cannot put a message on queue {queue} of {own}: {why}, and no dead-letter "
                f"queue takes it. It stays at {self.partner}; see to that queue, or to DEADQ of {own} and USEDLQ."
            )
            self._reject(reason, text)

    def _missing_authority(self, queue: str) -> str:
        """Return a message for the error log that names the missing authority and the commands that grant it."""
        name, own, user = self.settings.name, self.engine.name, self.connection.user
        text = f"AMQ8077W: Channel {name} must not put a message of {self.partner} on {queue}."
        if self.delivery.refusal_text:
            text += f" {self.delivery.refusal_text}"
        if user == EVERYBODY:
            text += f" It puts as {user}, since it has no MCAUSER and no channel authentication rule."
            text += f" {mca_user_advice(name)}"
        else:
            text += f" It puts as {user}."
        return (
            f"{text} That user needs: setmqaut -m {own} -t qmgr -p USER +setall, and setmqaut -m {own} -n {queue} "
            f"-t queue -p USER +put +setall."
        )

    # -- waiting -------------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        if self.state != PAUSED:
            self.state = PAUSED
            self.port.pause(True)
            self._send_heartbeat_reply(HEARTBEAT_PAUSED)
            self.port.notify_changed()

    def _wait_for_log_space(self) -> None:
        self._log_space_tries += 1
        self._waits_for_log = True
        self._wait()
        self._set_wait_timer()
        self.port.make_room()

    def _set_wait_timer(self) -> None:
        """Set the timer for the next attempt, or for the next heartbeat reply if that is earlier."""
        step: i64 = self.agreed.heartbeat_seconds * 1000
        if not self._waits_for_log:
            if step == 0 or step > self._left_ms:
                step = self._left_ms
            self._left_ms -= step
            self.port.set_timer(step)
        elif step > 0:
            self.port.set_timer(step)

    def _resume(self) -> None:
        self._log_space_tries = 0
        if self.state == PAUSED:
            self.state = RUNNING
            self._send_heartbeat_reply(HEARTBEAT_RESUMED)
            self.port.pause(False)
            self.port.notify_changed()

    def _send_heartbeat_reply(self, sign: i64) -> None:
        """Send an unsolicited heartbeat reply (HEARTBEAT_PAUSED or HEARTBEAT_RESUMED)."""
        self.port.send(frame(HEARTBEAT | REPLY, 0, sign, bytes(8)))

    # -- ends of batches -----------------------------------------------------------------------------------------------

    def _commit(self, confirm: Confirm) -> None:
        batch = self.batches.get(confirm.batch)
        if batch is None or confirm.sequence != batch.last or confirm.messages != batch.messages:
            raise MalformedFrame("CONFIRM of a batch that was not received")
        if list(self.batches).index(confirm.batch) != len(self._confirms):
            raise MalformedFrame("CONFIRM of a batch before an earlier one")
        self._confirms.append(confirm)
        self._end_batches()

    def _end_batches(self) -> None:
        """Commit the batches that are complete, one after another."""
        while self._confirms and self._committing is None and self._pending is None and self.state != ENDED:
            confirm = self._confirms[0]
            batch = self.batches[int(confirm.batch)]
            if batch.unsettled > 0 or self._waits_for_log:
                return
            if batch.unit.state != ACTIVE:
                self._on_backed_out()
                return
            record = self._storing
            if record is None:
                record = self._put_record(confirm, batch)
                if record is None:
                    return
            state: i64 = self.position.state()
            if state == UNAVAILABLE:
                self._reject(0, f"AMQ9509E: Channel {self.settings.name}: {self.position.failure}.")
                return
            if state != KNOWN:
                self._storing = record
                return
            self._storing = None
            if batch.unit.shared is not None:
                self._committing = record
                BatchCommit(self, self.position, record).begin(batch.unit)
                return
            lsn: i64 = commit_unit(self.engine, batch.unit)
            self.position.mark_committed(record)
            self._confirm_batch(record, lsn)

    def _put_record(self, confirm: Confirm, batch: ReceiverBatch) -> SyncRecord | None:
        """Put the new position into the unit of a batch. None: that waits for log space, or the channel has ended."""
        before = self.position.find()
        name = self.settings.name
        if before.sequence != self._last_sequence or before.luwid != self._last_luwid:
            # Only one of two ends of the same channel and partner may continue.
            self._reject(
                0, f"AMQ9514E: Channel {name}: another connection of {self.partner} has committed a batch meanwhile."
            )
            return None
        record = before.successor()
        record.sequence = confirm.sequence
        record.luwid = confirm.luwid
        try:
            check_log_space(self.engine)
            self.position.put(record, batch.unit)
        except MQError as error:
            if isinstance(error, LogFull) and self._log_space_tries < _LOG_SPACE_TRIES:
                self._wait_for_log_space()
                return None
            self._reject(error.reason, f"AMQ9509E: Channel {name}: {error.detail}")
            return None
        return record

    def on_decided(self, reason: i64) -> None:
        """Keep the decision of the facility on the first batch; `pump` goes on with it."""
        self._decision = reason
        if self.state == ENDED:
            self.position.close()
        else:
            self.port.schedule_pump()

    def _on_decision(self) -> None:
        record = self._committing
        reason: i64 = self._decision
        if record is None or reason == _UNDECIDED:
            return
        self._committing = None
        self._decision = _UNDECIDED
        if reason == mq.MQRC_NONE:
            self._confirm_batch(record, 0)  # it was prepared durably before the facility decided
        elif reason == mq.MQRC_BACKED_OUT:
            self._on_backed_out(True)
        else:
            why = f"{describe(reason).name} ({reason})"
            text = f"AMQ9509E: Channel {self.settings.name}: the outcome of a batch is not known: {why}."
            self._reject(reason, f"{text} The channel goes on when the coupling facility has been recovered.")

    def _confirm_batch(self, record: SyncRecord, lsn: i64) -> None:
        """Tell the partner that a batch is committed, once it is durable."""
        confirm = self._confirms.pop(0)
        self._last_sequence = record.sequence
        self._last_luwid = record.luwid
        del self.batches[int(confirm.batch)]
        self.counters.count_batch(confirm.messages, confirm.messages >= self.agreed.batch_size)
        if self.monitor is not None:
            self.monitor.on_batch(confirm.messages, False)
        number: i64 = confirm.batch
        reply: i64 = CHANNEL_CONFIRM | REPLY
        data = confirm_frame(reply, number, number, confirm.sequence, confirm.luwid, confirm.messages)
        self.port.send_after(lsn, data)
        self._resume()

    # -- timer and end -------------------------------------------------------------------------------------------------

    def on_timer(self) -> None:
        """Handle the end of the time given to `ChannelPort.set_timer`."""
        if self._greeting >= 0 and self.state != ENDED:
            self._greet()
            return
        if self.state == PAUSED:
            if self._waits_for_log or self._left_ms > 0:
                self._send_heartbeat_reply(HEARTBEAT_PAUSED)
                self._set_wait_timer()
            else:
                self._retry()
            return
        if self.state == ENDED:
            return
        self._has_idle_timer = False
        if self.engine.now_ms - self.counters.last_message_ms < _IDLE_MS or self.batches:
            self._has_idle_timer = True
            self.port.set_timer(_IDLE_MS)
        else:
            self.delivery.close()  # so that the queues may be deleted or cleared

    def on_room_made(self) -> None:
        """Continue after an attempt to make log space."""
        if self._waits_for_log:
            self._retry()

    def _retry(self) -> None:
        """Retry the put or the commit that waits."""
        stuck = self._pending
        self._waits_for_log = False
        self._left_ms = 0
        self._has_idle_timer = False
        if stuck is not None:
            self._pending = None
            self._put(stuck)
        self.pump()

    def pump(self) -> None:
        """Go on with what the coupling facility has answered."""
        if self.state == ENDED:
            return
        if self._greeting >= 0:
            self._greet()
            return
        self._on_decision()
        self._collect_answers()
        self._end_batches()

    def stop(self) -> None:
        """Ask the partner to end after its current batch."""
        self.is_stopping = True
        self.port.send(frame(CHANNEL_STOP, 0, 0))
        self.port.notify_changed()
        self._retry()  # a pending put does not wait for its retry any more

    def on_connection_lost(self) -> None:
        """Back out the uncommitted batches: the partner still has them."""
        if self.state != ENDED:
            self._release()

    def _release(self) -> None:
        self.state = ENDED
        self._pending = None
        self._putting = []
        self._confirms = []
        self._greeting = -1
        self._waits_for_log = False
        self.connection.unit_of_work = None
        batches = list(self.batches.values())
        self.batches = {}
        for batch in reversed(batches):
            if batch.unit.state == ACTIVE:
                back_out_unit(self.engine, batch.unit)
        if self._committing is None or self._decision != _UNDECIDED:
            self.position.close()  # otherwise when the facility has decided

    def _on_backed_out(self, is_by_facility: bool = False) -> None:
        """End the channel after the queue manager has backed out a batch.

        The link to the coupling facility broke, or it was to free log space: then the reason code makes the partner
        send a smaller batch.
        """
        for batch in self.batches.values():
            part = batch.unit.shared
            is_by_facility = is_by_facility or (isinstance(part, SharedUnit) and part.is_doomed)
        if is_by_facility:
            text = (
                f"AMQ9509E: The batch of channel {self.settings.name} was backed out: the link to the facility broke."
            )
            self._reject(mq.MQRC_CF_NOT_AVAILABLE, text)
            return
        text = f"AMQ9509E: The batch of channel {self.settings.name} was backed out: the log was full."
        self._reject(mq.MQRC_RESOURCE_PROBLEM, text)

    def _reject(self, reason: i64, text: str) -> None:
        """End the channel, and send the reason to the partner."""
        self.port.send(frame(FAREWELL, 0, 0, reason_payload(reason, text)))
        self._finish(EndReason.RETRYABLE, reason, text)

    def _finish(self, end_reason: EndReason, reason: i64, text: str) -> None:
        if self.state == ENDED:
            return
        self._release()
        self.port.finish(end_reason, reason, text)
