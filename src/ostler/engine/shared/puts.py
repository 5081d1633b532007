"""MQPUT and MQPUT1 on shared queues: the message becomes an entry of a structure of the coupling facility.

    in a unit            SHARED_PUT if it is persistent, unforced; PUT with the unit at once
    outside, persistent  SHARED_PUT with a number, forced; then PUT with the number
    outside, otherwise   PUT

A body that is offloaded is stored first, and forced if it is persistent. Then follow the record, which has the body,
and the program, which has the reference.

The verb ends when the facility has answered. A put that it refuses is cancelled in the journal, so that a recovery of
the structure does not bring the message to life.
"""

from __future__ import annotations

from typing import final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import JOURNAL_MARGIN_BYTES, LOG_FULL, Engine
from ostler.engine.events import performance_events as events
from ostler.engine.events import reports
from ostler.engine.groups import groups
from ostler.engine.handle import QUEUE, Handle
from ostler.engine.journal_records import append_cancel, append_shared_put
from ostler.engine.message.message import (
    EXPIRY_AT,
    FLAGS_AT,
    GROUP_FLAGS,
    PERSISTENCE_AT,
    PRIORITY_AT,
    REPORT_AT,
    Message,
)
from ostler.engine.outcomes import PutOutcome
from ostler.engine.queue.delivery import count_arrival, put_on_dead_letter_queue, send_own_messages
from ostler.engine.queue.queue import PRIORITY_HIGHEST, Queue
from ostler.engine.queue.transmission import address_intra_group, transmission_message
from ostler.engine.shared.membership import FacilityTask, HeldWork, Membership, OwnMessages, Structure, reason_of
from ostler.engine.shared.offloading import choose_place, with_reference
from ostler.engine.shared.structures import PERSISTENT_LEVEL, connect_structure
from ostler.engine.shared.units import SharedUnit, is_full, shared_part
from ostler.engine.statistics import count_put, count_put1
from ostler.engine.unit_of_work import ENDED, UnitOfWork
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, PutAnswer
from ostler.model.coupling.entries import NO_UNIT, Entry
from ostler.model.coupling.offload import IN_STRUCTURE, BodyStored
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import ForgetProgram, PutProgram


@final
class PutVerb:
    """What an application put, and how its verb is to be answered."""

    def __init__(self, connection: Connection, handle: Handle, outcome: PutOutcome) -> None:
        self.connection = connection
        self.handle = handle
        self.outcome = outcome
        self.stored: bytes = b""  # the descriptor that it gets back
        self.group_md: bytes = b""  # that of a message of a group
        self.options: i64 = 0
        self.warning: i64 = 0
        self.size_bytes: i64 = 0
        self.is_synchronous = True


def put_shared(
    engine: Engine,
    queue: Queue,
    verb: PutVerb,
    md: bytes,
    properties: bytes,
    body: bytes,
    unit: UnitOfWork | None,
) -> i64:
    """Put a message whose stored descriptor is `verb.stored`. Returns 0 with a task in the outcome, or a refusal."""
    sharing = engine.sharing
    if sharing is None:
        return mq.MQRC_CF_NOT_AVAILABLE
    handle = verb.handle
    stored = verb.stored
    is_persistent: bool = read_i32_le(stored, PERSISTENCE_AT) == 1
    if not groups.is_plain(handle, md, verb.options):
        plan = groups.prepare_put(engine, handle, stored, verb.options, len(body), unit is not None, is_persistent)
        if plan.reason != 0:
            return plan.reason
        stored = plan.md
        verb.group_md = plan.md
        verb.stored = plan.answer_md
        if plan.warning != 0:
            verb.warning = plan.warning
    verb.size_bytes = len(body)
    if handle.remote_manager:
        stored, body = transmission_message(
            engine, handle.remote_queue, handle.remote_manager, stored, properties, body
        )
        stored = address_intra_group(queue.name, handle.remote_manager, stored)
        properties = b""
    reason: i64 = check_put(engine, sharing, queue, len(properties), len(body), is_persistent)
    if reason != 0:
        return reason
    if is_full(engine, unit):
        return mq.MQRC_SYNCPOINT_LIMIT_REACHED
    place: i64 = choose_place(engine, sharing, sharing.structures[queue.structure], len(properties), len(body))
    if place < 0:
        return -place
    put = SharedPut(engine, sharing, queue, verb, unit)
    verb.outcome.task = put
    put.begin(new_entry(engine, sharing, queue, stored, properties, body), place)
    return 0


def check_put(
    engine: Engine, sharing: Membership, queue: Queue, properties_bytes: i64, body_bytes: i64, is_persistent: bool
) -> i64:
    """Return 0 when a message may be sent to the facility, or the reason why not, perhaps LOG_FULL."""
    if body_bytes > queue.message_bytes_max:
        return mq.MQRC_MSG_TOO_BIG_FOR_Q
    if body_bytes > engine.message_bytes_max:
        return mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR
    reason: i64 = sharing.reason(queue.structure)
    if reason != 0:
        return reason
    structure = sharing.structures[queue.structure]
    if is_persistent and (structure.level < PERSISTENT_LEVEL or not structure.is_recoverable):
        return mq.MQRC_PERSISTENT_NOT_ALLOWED
    if is_persistent and engine.lacks_log_space(properties_bytes + body_bytes + JOURNAL_MARGIN_BYTES):
        return LOG_FULL
    return 0


def new_entry(engine: Engine, sharing: Membership, queue: Queue, md: bytes, properties: bytes, body: bytes) -> Entry:
    """Return a message as an entry with an identifier of its own."""
    priority: i64 = queue.default_priority if queue.is_fifo else i64(read_i32_le(md, PRIORITY_AT))
    if priority > PRIORITY_HIGHEST:
        priority = PRIORITY_HIGHEST
    entry = Entry(sharing.new_entry_id(), priority, md, properties, body)
    if read_i32_le(md, PERSISTENCE_AT) == 1:
        entry.flags = cf.PERSISTENT
    if i64(read_i32_le(md, FLAGS_AT)) & GROUP_FLAGS:
        entry.flags |= cf.GROUPED
    tenths: i64 = i64(read_i32_le(md, EXPIRY_AT))
    if tenths > 0:
        entry.expiry_ms = engine.wall_ms() + tenths * 100
    return entry


@final
class SharedPut(FacilityTask):
    """A put that the facility has not answered yet. Without a `verb` it is a message of the queue manager itself."""

    def __init__(
        self, engine: Engine, sharing: Membership, queue: Queue, verb: PutVerb | None, unit: UnitOfWork | None
    ) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.queue = queue
        self.verb = verb
        self.unit = unit
        self.part: SharedUnit | None = shared_part(engine, sharing, unit) if unit is not None else None
        self.entry: Entry | None = None  # with its body, wherever that goes
        self.program: PutProgram | None = None
        self.after_lsn: i64 = 0
        self.logged: i64 = 0
        self.cancelled_lsn: i64 = 0  # of the record that revokes a put with a number
        self.was_refused = False

    def begin(self, entry: Entry, place: i64) -> None:
        """Store the body of a message that is offloaded, or put the message at once."""
        self.entry = entry
        if self.part is not None:
            self.part.begin_operation(self.queue.structure)
        self.sharing.begin_task(self)
        offload = self.sharing.offload
        if place == IN_STRUCTURE or offload is None:
            self.put(entry)
        else:
            offload.store(self.queue.structure, place, entry, PutBodyStored(self))

    def on_stored(self, reason: i64, reference: bytes) -> None:
        """Put the message, now that its body is where it must be."""
        entry = self.entry
        assert entry is not None
        engine = self.engine
        if reason != 0:
            self.refuse(reason)
            self._settle_part(False, cf.OK)
            return
        sent = with_reference(entry, reference, self.sharing.number)
        unit = self.unit
        part = self.part
        is_persistent: bool = entry.flags & cf.PERSISTENT != 0
        if part is not None and (part.is_decided or (unit is not None and unit.state == ENDED)):
            reason = mq.MQRC_BACKED_OUT  # while the body was written
        elif is_persistent and engine.lacks_log_space(len(entry.properties) + len(entry.body) + JOURNAL_MARGIN_BYTES):
            reason = mq.MQRC_RESOURCE_PROBLEM
        if reason == 0:
            self.put(sent)
            return
        self._note_body(sent, True, False)
        self.refuse(reason)
        self._settle_part(False, cf.OK)

    def put(self, sent: Entry) -> None:
        """Write the record that the put needs, and submit the entry."""
        engine = self.engine
        sharing = self.sharing
        queue = self.queue
        part = self.part
        entry = self.entry
        assert entry is not None
        unit_id = NO_UNIT
        if part is not None:
            unit_id = part.id
            if entry.flags & cf.PERSISTENT:
                append_shared_put(engine, queue, entry, sharing.start, 0, self.unit)
        elif entry.flags & cf.PERSISTENT:
            engine.member.logged += 1
            self.logged = engine.member.logged
            sharing.pending_logged[self.logged] = engine.journal.end_lsn()
            self.after_lsn = append_shared_put(engine, queue, entry, sharing.start, self.logged, None)
        self.program = PutProgram(queue.structure, queue.name, sent, unit_id, queue.depth_max, self.logged)
        self.submit()

    def submit(self) -> None:
        assert self.program is not None
        self.sharing.submit(self.program, self.after_lsn, PutAnswered(self))

    def on_answer(self, answer: Answer) -> None:
        status: i64 = answer.status
        if self.logged != 0 and (status == cf.LINK_LOST or status == cf.FENCED):
            self.sharing.held.append(HeldPut(self))  # it may have been done: the facility tells later
            return
        is_done: bool = status == cf.OK or status == cf.ALREADY_DONE
        if isinstance(answer, PutAnswer):
            self.queue.depth = answer.depth
        self.structure().note_usage(answer)
        assert self.program is not None
        is_known: bool = status != cf.LINK_LOST and status != cf.FENCED
        self._note_body(self.program.entry, is_known, is_done)
        if is_done:
            self.succeed()
        elif status == cf.STRUCTURE_FULL and self._offload_instead():
            return
        else:
            self.refuse(reason_of(status))
        self._settle_part(is_done, status)

    def _offload_instead(self) -> bool:
        """Put the message again with its body elsewhere, if the rules say so now. The structure has filled meanwhile.

        It becomes another entry, with a record of its own: puts with later numbers may have been done.
        """
        refused = self.program
        offload = self.sharing.offload
        entry = self.entry
        assert entry is not None
        if refused is None or refused.entry.reference or offload is None:
            return False
        place: i64 = choose_place(self.engine, self.sharing, self.structure(), len(entry.properties), len(entry.body))
        if place < 0 or place == IN_STRUCTURE:
            return False
        self._cancel()
        again = Entry(self.sharing.new_entry_id(), entry.priority, entry.md, entry.properties, entry.body)
        again.flags = entry.flags
        again.expiry_ms = entry.expiry_ms
        self.entry = again
        offload.store(self.queue.structure, place, again, PutBodyStored(self))
        return True

    def _cancel(self) -> None:
        """Revoke the record of a put that the facility has not done, if it has one."""
        entry = self.entry
        assert entry is not None
        self.sharing.pending_logged.pop(self.logged, 0)
        lsn: i64 = 0
        if entry.flags & cf.PERSISTENT and self.program is not None:
            lsn = append_cancel(self.engine, self.unit, self.logged, entry.id)
        if self.logged != 0:
            self.cancelled_lsn = lsn
            self.sharing.submit(ForgetProgram([], self.logged), lsn, None)
        self.program = None
        self.logged = 0

    def _settle_part(self, is_done: bool, status: i64) -> None:
        if self.part is not None:
            self.part.on_operation_answered(is_done, status)

    def _note_body(self, sent: Entry, is_known: bool, is_there: bool) -> None:
        """Tell whoever keeps the body what became of the entry."""
        offload = self.sharing.offload
        if sent.reference and offload is not None:
            offload.on_put(self.queue.structure, sent, is_known, is_there)

    def note_outcome(self, is_known: bool, is_there: bool) -> None:
        assert self.program is not None
        self._note_body(self.program.entry, is_known, is_there)

    def structure(self) -> Structure:
        return self.sharing.structures[self.queue.structure]

    def succeed(self) -> None:
        engine = self.engine
        queue = self.queue
        entry = self.entry
        assert entry is not None
        is_persistent: bool = entry.flags & cf.PERSISTENT != 0
        self.sharing.pending_logged.pop(self.logged, 0)
        count_arrival(engine, queue, len(entry.body), is_persistent)
        if i64(read_i32_le(entry.md, REPORT_AT)) & reports.ARRIVAL_OPTIONS:
            message = Message(entry.md, entry.properties, entry.body, 0)
            unit = self.unit if self.unit is not None and not self.unit.backed_out_by_system else None
            send_own_messages(engine, reports.on_arrival(engine, message, queue.name), unit)
        verb = self.verb
        if verb is not None:
            outcome = verb.outcome
            outcome.md = verb.stored
            outcome.reason = verb.warning
            if verb.group_md:
                groups.record_put(verb.handle, verb.group_md, verb.options)
            count_put(engine, verb.connection, verb.handle, verb.size_bytes, is_persistent)
            if verb.handle.is_put1:
                count_put1(engine, verb.connection, verb.handle, outcome)
            if not verb.is_synchronous:
                verb.connection.async_status.count(verb.warning, verb.handle.object_name)
        self.end()

    def refuse(self, reason: i64) -> None:
        self.was_refused = True
        engine = self.engine
        entry = self.entry
        assert entry is not None
        self._cancel()
        if reason == mq.MQRC_Q_FULL and engine.performance_events:
            send_own_messages(engine, events.on_queue_full(engine, self.queue), None)
        verb = self.verb
        if verb is not None:
            outcome = verb.outcome
            outcome.reason = reason
            if self.cancelled_lsn != 0:
                outcome.after_lsn = self.cancelled_lsn  # a recovery must not bring to life what was refused
            if verb.handle.is_put1:
                count_put1(engine, verb.connection, verb.handle, outcome)
        else:
            item = reports.Outgoing(self.queue.name, "", entry.md, entry.body, True, entry.properties)
            put_on_dead_letter_queue(engine, item, reason, self.unit)
        self.end()

    def end(self) -> None:
        self.verb = None  # breaks a reference cycle
        self.sharing.tasks.pop(self, None)
        self.engine.end_task(self)


@final
class PutAnswered(Continuation):
    def __init__(self, put: SharedPut) -> None:
        self.put = put

    def answered(self, answer: Answer) -> None:
        self.put.on_answer(answer)


@final
class PutBodyStored(BodyStored):
    def __init__(self, put: SharedPut) -> None:
        self.put = put

    def stored(self, reason: i64, reference: bytes) -> None:
        self.put.on_stored(reason, reference)


@final
class HeldPut(HeldWork):
    """A persistent put outside units whose answer was lost."""

    def __init__(self, put: SharedPut) -> None:
        self.put = put

    def resume(self) -> None:
        if self.put.logged in self.put.sharing.refused:
            self.put.note_outcome(True, False)
            self.put.refuse(mq.MQRC_CF_NOT_AVAILABLE)  # the reason went with the link
        else:
            self.put.submit()  # ALREADY_DONE if it was

    def on_facility_lost(self) -> None:
        """Its record is not cancelled: when it is durable, the recovery of the structure brings the message."""
        verb = self.put.verb
        if verb is not None:
            verb.outcome.after_lsn = self.put.after_lsn
        self.put.note_outcome(False, False)
        self.put.succeed()


@final
class OwnSharedMessages(OwnMessages):
    """Puts reports, trigger messages and the like on shared queues."""

    def __init__(self, engine: Engine, sharing: Membership) -> None:
        self.engine = engine
        self.sharing = sharing

    def deliver(self, queue: Queue, md: bytes, properties: bytes, body: bytes, unit: UnitOfWork | None) -> None:
        engine = self.engine
        place: i64 = _choose_own_place(engine, self.sharing, queue, md, len(properties), len(body))
        if place < 0:
            item = reports.Outgoing(queue.name, "", md, body, True, properties)
            put_on_dead_letter_queue(engine, item, -place, unit)
            return
        put = SharedPut(engine, self.sharing, queue, None, unit)
        put.begin(new_entry(engine, self.sharing, queue, md, properties, body), place)


def _choose_own_place(
    engine: Engine, sharing: Membership, queue: Queue, md: bytes, properties_bytes: i64, body_bytes: i64
) -> i64:
    """Return where a message of the queue manager itself goes, or the negative reason why it cannot be put now."""
    if queue.structure not in sharing.structures:
        connect_structure(engine, sharing, queue.structure)
    is_persistent: bool = read_i32_le(md, PERSISTENCE_AT) == 1
    reason: i64 = check_put(engine, sharing, queue, properties_bytes, body_bytes, is_persistent)
    if reason != 0:
        return -mq.MQRC_RESOURCE_PROBLEM if reason == LOG_FULL else -reason
    return choose_place(engine, sharing, sharing.structures[queue.structure], properties_bytes, body_bytes)


def put_own(engine: Engine, queue: Queue, md: bytes, body: bytes, unit: UnitOfWork | None) -> PutOutcome:
    """Put a message of a channel on a shared queue. Its outcome is known when the task is done, as that of MQPUT."""
    outcome = PutOutcome()
    sharing = engine.sharing
    if sharing is None:
        outcome.reason = mq.MQRC_CF_NOT_AVAILABLE
        return outcome
    place: i64 = _choose_own_place(engine, sharing, queue, md, 0, len(body))
    if place < 0:
        outcome.reason = -place
        outcome.wants_log_space = outcome.reason == mq.MQRC_RESOURCE_PROBLEM
        return outcome
    verb = PutVerb(Connection(0, "", "", 0), Handle(0, QUEUE, queue.name, 0), outcome)
    verb.stored = md
    verb.size_bytes = len(body)
    put = SharedPut(engine, sharing, queue, verb, unit)
    outcome.task = put
    put.begin(new_entry(engine, sharing, queue, md, b"", body), place)
    return outcome
