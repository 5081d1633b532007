"""The receiving end of a message channel: from the partner to queues, in batches.

Messages of a batch are put within a unit of work of their own, which is committed together with the channel's record
when the partner asks for it; the answer goes out when the log has that. A message that cannot be put is tried again
(MRRTY, MRTMR) while everything behind it waits, and then goes to the dead-letter queue. Meanwhile nothing is read, so
heartbeats are not answered: the partner is told that this end waits, and again at each heartbeat interval. When the
connection breaks, what was not committed is backed out: the partner still has it.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.channel.batch import ChannelCounters
from ostler.channel.dead_letter import DISCARDED
from ostler.channel.delivery import InboundDelivery, may_retry, mca_user_advice, queue_of
from ostler.channel.monitoring import ChannelMonitor
from ostler.channel.negotiation import ChannelSettings, method_of, negotiate, next_sequence
from ostler.channel.packing import unpack
from ostler.channel.port import ChannelPort, EndReason
from ostler.channel.sync_records import NO_LUWID, RECEIVING, SyncRecords, check_log_space
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.message.message import PERSISTENCE_AT
from ostler.engine.syncpoint import back_out_unit, commit_unit
from ostler.engine.unit_of_work import ACTIVE, UnitOfWork
from ostler.model.constants import MQCOMPRESS_NONE, MQRC_NOT_AUTHORIZED, MQRC_RESOURCE_PROBLEM
from ostler.model.errors import MQError
from ostler.model.reasons import describe
from ostler.security.authorities import EVERYBODY
from ostler.wire.channel_frames import (
    GOES_ON,
    IN_BATCH,
    MESSAGE_FIXED_BYTES,
    WAITS,
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
    CHANNEL_REKEY,
    CHANNEL_STOP,
    FAREWELL,
    HEARTBEAT,
    REPLY,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason, reason_payload

RUNNING: Final = 1
PAUSED: Final = 2  # a message waits to be tried again
ENDED: Final = 5

_ROOM_TRIES: Final = 3
_IDLE_MS: Final = 3_000
_PERSISTENCE_AT: Final = XQH_MD_AT + PERSISTENCE_AT


@final
class ReceiverBatch:
    def __init__(self, unit: UnitOfWork) -> None:
        self.unit = unit
        self.messages: i64 = 0
        self.last: i64 = 0


@final
class PendingPut:
    """A message that could not be put yet."""

    def __init__(self, body: bytes, expiry: i64, batch: ReceiverBatch | None) -> None:
        self.body = body
        self.expiry: i64 = expiry
        self.batch = batch
        self.tries: i64 = 0


@final
class ReceivingEnd:
    """The owner gives it frames and wakes it."""

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
        self.state: i64 = RUNNING
        self.agreed = ChannelHello()
        self.partner: str = ""
        self.counters = ChannelCounters()
        self.monitor: ChannelMonitor | None = None
        self.is_stopping = False
        self.sequence: i64 = 0
        self._last_sequence: i64 = 0  # what was committed last, as this end knows it
        self._last_luwid: bytes = NO_LUWID
        self.batches: dict[int, ReceiverBatch] = {}  # those that are not committed, in their order
        self._newest: i64 = 0  # the number of the batch that messages come for
        self._stuck: PendingPut | None = None
        self._confirm: Confirm | None = None  # that waits for log space
        self._room_tries: i64 = 0
        self._wants_room = False  # in the log: nothing is tried again until it was tried to make some
        self._left_ms: i64 = 0  # until what had to wait is tried again
        self._is_watching = False  # `tick` will come to see whether messages still do
        self._header_method: i64 = MQCOMPRESS_NONE
        self._method: i64 = MQCOMPRESS_NONE
        self._is_compressed = False

    def welcome(self, request: i64, hello: ChannelHello) -> None:
        """Take a partner on. MQError when the two do not go together; nothing was said then."""
        agreed = negotiate(hello, self.settings, self.engine.name, self.engine.ccsid)
        if agreed.batch_size > self.engine.uncommitted_max:
            agreed.batch_size = self.engine.uncommitted_max  # MAXUMSGS: a longer batch could never be put
        record = self.records.find(RECEIVING, self.settings.name, hello.queue_manager)
        if hello.is_reset:
            record = record.successor()
            record.sequence = hello.sequence
            self.records.write(record)
        self.agreed = agreed
        self.partner = hello.queue_manager
        self.sequence = record.sequence
        self._last_sequence = record.sequence
        self._last_luwid = record.luwid
        self._header_method = method_of(agreed.header_methods)
        self._method = method_of(agreed.message_methods)
        self._is_compressed = self._header_method != MQCOMPRESS_NONE or self._method != MQCOMPRESS_NONE
        agreed.sequence = record.sequence
        agreed.luwid = record.luwid
        # What was committed last must be durable before the partner throws its messages away.
        self.port.send_after(self.engine.journal.end_lsn(), welcome_frame(request, agreed))
        self.port.notify_changed()

    # -- what comes from the partner -----------------------------------------------------------------------------------

    def receive_frame(self, type: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        """A frame came, whole. MalformedFrame when no correct partner would send it now."""
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
        elif type == CHANNEL_REKEY:
            if self.batches:
                raise MalformedFrame("new keys within a batch")
            self.port.send(frame(CHANNEL_REKEY | REPLY, 0, request))
            self.port.rekey()
            self.counters.on_key_reset(self.engine.now_ms)
        elif type == FAREWELL:
            reason, text = decode_reason(PayloadReader(buffer, start, end))
            # Under a number of our own: what a partner says is not what this queue manager says.
            self._finish(
                EndReason.RETRYABLE, reason, f"AMQ9999E: Channel {self.settings.name}: {self.partner} ended: {text}"
            )
        elif type != HEARTBEAT | REPLY:
            raise MalformedFrame(f"a frame of type {type} where it cannot be")

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
            monitor.packed(began_us, len(body), end - at)
        self.counters.message(self.engine.now_ms, len(body), read_i32_le(body, _PERSISTENCE_AT) == 1)
        self.counters.sent_bytes += end - at
        if flags & IN_BATCH:
            batch = self._batch(number, sequence)
            if batch is not None:
                self._put(PendingPut(body, expiry, batch))
        elif self.agreed.is_fast:
            self._put(PendingPut(body, expiry, None))
        else:
            raise MalformedFrame("a message outside batches, which was not agreed upon")

    def _batch(self, number: i64, sequence: i64) -> ReceiverBatch | None:
        """The batch of a message, begun with its first one. None: the number is wrong, and the channel has ended."""
        expected: i64 = next_sequence(self.sequence, self.settings.sequence_wrap)
        if sequence != expected:
            name = self.settings.name
            text = (
                f"AMQ9526E: Message sequence number error for channel {name}: {sequence} came, {expected} is next. "
                f"See that no message is missing or there twice, then RESET CHANNEL({name}) at {self.partner}."
            )
            self._reject(0, text)
            return None
        self.sequence = sequence
        batch = self.batches.get(number)
        if batch is None:
            if len(self.batches) >= self.agreed.window:
                raise MalformedFrame("more batches at a time than were agreed upon")
            batch = ReceiverBatch(self.engine.new_unit_of_work())
            self.batches[number] = batch
            self._newest = number
        elif number != self._newest:
            raise MalformedFrame("a message of a batch behind the first of the next one")
        batch.messages += 1
        batch.last = sequence
        if batch.messages > self.agreed.batch_size:
            raise MalformedFrame("a batch has more messages than were agreed upon")
        return batch

    # -- putting -------------------------------------------------------------------------------------------------------

    def _put(self, message: PendingPut) -> None:
        """Put a message, now or later."""
        engine = self.engine
        batch = message.batch
        if batch is not None and batch.unit.state != ACTIVE:
            self._backed_out()
            return
        engine.journal_full = False
        unit = batch.unit if batch is not None else None
        reason: i64 = self.delivery.put(message.body, message.expiry, unit)
        if reason == 0:
            self._stuck = None
            self._go_on()
            if not self._is_watching:
                self._is_watching = True
                self.port.set_timer(_IDLE_MS)
            return
        if engine.journal_full and reason == MQRC_RESOURCE_PROBLEM and self._room_tries < _ROOM_TRIES:
            self._stuck = message
            self._wait_for_room()
            return
        self._room_tries = 0
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
            self._stuck = message
            self._wait()
            self._left_ms = self.settings.retry_ms
            self._rest()
            return
        self._stuck = None
        self._not_delivered(message, reason, unit)

    def _not_delivered(self, message: PendingPut, reason: i64, unit: UnitOfWork | None) -> None:
        name = self.settings.name
        gone: i64 = self.delivery.dead_letter(message.body, message.expiry, reason, unit)
        why = f"{describe(reason).name} ({reason})"
        queue = queue_of(message.body)
        if reason == MQRC_NOT_AUTHORIZED:
            self.port.note(self._missing_authority(queue))
        if gone == 0 and self.delivery.disposal == DISCARDED:
            self.port.note(f"AMQ9544W: Channel {name} has discarded a message for queue {queue}: {why}.")
        elif gone == 0:
            dead = self.engine.dead_letter_queue
            self.port.note(f"AMQ9544W: Channel {name} has put a message for queue {queue} on {dead}: {why}.")
        elif unit is None:
            self.port.note(f"AMQ9544E: Channel {name} has discarded a non-persistent message for {queue}: {why}.")
        else:
            own = self.engine.name
            text = (
                f"AMQ9565E: Channel {name} cannot put a message on queue {queue} of {own}: {why}, and no dead-letter "
                f"queue takes it. It stays at {self.partner}; see to that queue, or to DEADQ of {own} and USEDLQ."
            )
            self._reject(reason, text)
            return
        self._go_on()

    def _missing_authority(self, queue: str) -> str:
        """Whose authority was missing, with the commands that give it: for the error log here, not for the partner."""
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
            self._send_heartbeat_reply(WAITS)
            self.port.notify_changed()

    def _wait_for_room(self) -> None:
        self._room_tries += 1
        self._wants_room = True
        self._wait()
        self._rest()
        self.port.make_room()

    def _rest(self) -> None:
        """Be woken to try again, or before that to give a sign of life."""
        step: i64 = self.agreed.heartbeat_seconds * 1000
        if not self._wants_room:
            if step == 0 or step > self._left_ms:
                step = self._left_ms
            self._left_ms -= step
            self.port.set_timer(step)
        elif step > 0:
            self.port.set_timer(step)

    def _go_on(self) -> None:
        self._room_tries = 0
        if self.state == PAUSED:
            self.state = RUNNING
            self._send_heartbeat_reply(GOES_ON)
            self.port.pause(False)
            self.port.notify_changed()

    def _send_heartbeat_reply(self, sign: i64) -> None:
        """A sign of life that nobody asked for, as the reply to a heartbeat."""
        self.port.send(frame(HEARTBEAT | REPLY, 0, sign, bytes(8)))

    def _commit(self, told: Confirm) -> None:
        batch = self.batches.get(told.batch)
        if batch is None or told.sequence != batch.last or told.messages != batch.messages:
            raise MalformedFrame("a batch is to be committed that did not come")
        if next(iter(self.batches)) != told.batch:
            raise MalformedFrame("a batch is to be committed before an earlier one")
        if batch.unit.state != ACTIVE:
            self._backed_out()
            return
        engine = self.engine
        before = self.records.find(RECEIVING, self.settings.name, self.partner)
        if before.sequence != self._last_sequence or before.luwid != self._last_luwid:
            # Whatever way another end came about, only one of both goes on.
            name = self.settings.name
            self._reject(0, f"AMQ9514E: Channel {name}: another connection of {self.partner} has gone on meanwhile.")
            return
        record = before.successor()
        record.sequence = told.sequence
        record.luwid = told.luwid
        engine.journal_full = False
        try:
            check_log_space(engine)
            self.records.put(record, batch.unit)
        except MQError as error:
            if engine.journal_full and self._room_tries < _ROOM_TRIES:
                self._confirm = told
                self._wait_for_room()
                return
            self._reject(error.reason, f"AMQ9509E: Channel {self.settings.name}: {error.detail}")
            return
        lsn: i64 = commit_unit(engine, batch.unit)
        self.records.committed(record)
        self._last_sequence = record.sequence
        self._last_luwid = record.luwid
        del self.batches[told.batch]
        self.counters.committed(told.messages, told.messages >= self.agreed.batch_size)
        if self.monitor is not None:
            self.monitor.batch_over(told.messages, False)
        data = confirm_frame(CHANNEL_CONFIRM | REPLY, told.batch, told.batch, told.sequence, told.luwid, told.messages)
        self.port.send_after(lsn, data)
        self._go_on()

    # -- time and the end ----------------------------------------------------------------------------------------------

    def on_timer(self) -> None:
        """The time that was asked for is over."""
        if self.state == PAUSED:
            if self._wants_room or self._left_ms > 0:
                self._send_heartbeat_reply(WAITS)
                self._rest()
            else:
                self._try_again()
            return
        if self.state == ENDED:
            return
        self._is_watching = False
        if self.engine.now_ms - self.counters.last_message_ms < _IDLE_MS or self.batches:
            self._is_watching = True
            self.port.set_timer(_IDLE_MS)
        else:
            self.delivery.close()  # others may want to delete or clear the queues

    def on_room_made(self) -> None:
        """Room was made in the log, or could not be."""
        if self._wants_room:
            self._try_again()

    def _try_again(self) -> None:
        """What had to wait."""
        stuck = self._stuck
        confirm = self._confirm
        self._wants_room = False
        self._left_ms = 0
        self._is_watching = False
        if stuck is not None:
            self._put(stuck)
        elif confirm is not None:
            self._confirm = None
            self._commit(confirm)

    def pump(self) -> None:
        """Nothing is sent from here."""

    def stop(self) -> None:
        """Have the partner end after its batch."""
        self.is_stopping = True
        self.port.send(frame(CHANNEL_STOP, 0, 0))
        self.port.notify_changed()
        self._try_again()  # what waits is not waited for any more

    def on_connection_lost(self) -> None:
        """The connection is gone: what was not committed never came."""
        if self.state != ENDED:
            self._release()

    def _release(self) -> None:
        self.state = ENDED
        self._stuck = None
        self._confirm = None
        self._wants_room = False
        self.connection.unit_of_work = None
        batches = list(self.batches.values())
        self.batches = {}
        for batch in reversed(batches):
            if batch.unit.state == ACTIVE:
                back_out_unit(self.engine, batch.unit)

    def _backed_out(self) -> None:
        """Somebody has backed out a batch, to make room. The reason has the partner try a smaller one."""
        text = f"AMQ9509E: The batch of channel {self.settings.name} was backed out: the log was full."
        self._reject(MQRC_RESOURCE_PROBLEM, text)

    def _reject(self, reason: i64, text: str) -> None:
        """Go no further, and tell the partner why."""
        self.port.send(frame(FAREWELL, 0, 0, reason_payload(reason, text)))
        self._finish(EndReason.RETRYABLE, reason, text)

    def _finish(self, end_reason: EndReason, reason: i64, text: str) -> None:
        if self.state == ENDED:
            return
        self._release()
        self.port.finish(end_reason, reason, text)
