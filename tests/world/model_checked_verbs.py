"""Verbs done twice, by the engine and by its naive twin, with their answers compared.

Applications are numbered. One that waits for a message is in the middle of a verb: what it is told to do meanwhile is
left out, as is anything that makes no sense at the moment, so that any sequence of calls is a valid run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.world.naive_model import ANY_ID, NaiveMessage, ReferenceModel
from tests.world.world import World

from ostler.engine.connection import Connection
from ostler.engine.get import cancel
from ostler.engine.handle import Handle
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.recovery.records import BACK_OUT, COMMIT, GET, PREPARE, PUT
from ostler.model.constants import (
    MQGMO_BROWSE_FIRST,
    MQGMO_BROWSE_NEXT,
    MQGMO_NO_SYNCPOINT,
    MQGMO_SYNCPOINT,
    MQGMO_SYNCPOINT_IF_PERSISTENT,
    MQGMO_WAIT,
    MQOO_BROWSE,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQRC_BACKED_OUT,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_NONE,
    MQRC_Q_FULL,
    MQRC_Q_SPACE_NOT_AVAILABLE,
    MQRC_RESOURCE_PROBLEM,
)
from ostler.model.disk import DiskFull

APPLICATIONS = 3
IMPLICIT_SYNCPOINT_APPLICATIONS = 2
# A definition, or a message with its margin, may be refused when the log has less room than this.
LITTLE_ROOM_BYTES = 64 * 1024
# Persistent messages are not longer than this, so that the log has room for some.
MESSAGE_BYTES_MAX = 100_000
_BACKOUT_COUNT_AT, _EXPIRY_AT = 96, 16
_INTO_UNIT = MQGMO_SYNCPOINT | MQGMO_SYNCPOINT_IF_PERSISTENT


@dataclass
class Application:
    connection: Connection
    handles: dict[str, Handle] = field(default_factory=dict)
    cursors: dict[str, NaiveMessage | None] = field(default_factory=dict)
    """Browsing goes on behind this message; None: from the start. Not in here: nobody knows."""
    unit: int = 0
    is_backed_out: bool = False
    """By the queue manager, and not told yet."""
    waiter: Waiter | None = None


@dataclass(eq=False)
class Waiter:
    application: Application
    queue: str
    options: int
    message_id: bytes
    correlation_id: bytes
    request: GetRequest


class ModelCheckedVerbs:
    def __init__(self, world: World) -> None:
        self.world = world
        self.twin = ReferenceModel()
        self.applications: list[Application] = []
        self.waiters: list[Waiter] = []
        self.seqs: dict[tuple[int, int], int] = {}
        """Queue id and message number -> sequence number"""
        self.last_number = 0
        self.disk_is_full = False
        self.told_lsn = 0
        """Everything up to here was acknowledged."""
        self.verb_began = 0
        """How many records there were before the verb at hand."""
        self.counted: dict[str, dict[str, int]] = {}

    # -- answers and records

    def _lsn(self, kind: int, *numbers: int) -> int:
        """The LSN behind the one record that the verb has appended of this kind and with these numbers."""
        head = b"".join(number.to_bytes(8, "little") for number in numbers)
        found = [r.lsn for r in self.world.records[self.verb_began :] if r.kind == kind and r.head.startswith(head)]
        assert len(found) == 1, f"{len(found)} records of kind {kind} with {numbers}"
        return found[0]

    def _complete_verb(self, lsn: int, is_acknowledged: bool) -> None:
        """The verb is done. Its application is told now, or others go on first."""
        self.verb_began = len(self.world.records)
        if is_acknowledged:
            try:
                self.world.settle(lsn)
            except DiskFull:
                assert self.disk_is_full
            self.told_lsn = max(self.told_lsn, lsn)
            self._apply_system_backouts()
        self.verb_began = len(self.world.records)

    def _apply_system_backouts(self) -> None:
        """Units that were backed out to make room in the log."""
        for unit, lsn in self.world.backed_out:
            [owner] = [application for application in self.applications if application.unit == unit.number]
            owner.is_backed_out = True
            waiter = owner.waiter
            if waiter is not None and waiter.options & _INTO_UNIT:
                assert (waiter.request.done, waiter.request.reason) == (True, MQRC_BACKED_OUT)
                self._end_wait(waiter)
            self._back_out(unit.number, lsn)
        self.world.backed_out.clear()

    def _count(self, name: str, **changes: int) -> None:
        counted = self.counted.setdefault(name, {})
        for counter, change in changes.items():
            counted[counter] = counted.get(counter, 0) + change

    def _handle(self, application: Application, name: str) -> Handle:
        handle = application.handles.get(name)
        if handle is None:
            options = MQOO_OUTPUT | MQOO_INPUT_SHARED | MQOO_BROWSE
            handle = application.handles[name] = self.world.open(application.connection, name, options)
            application.cursors[name] = None
        return handle

    def _idle(self, number: int) -> Application | None:
        """An application that is not in the middle of a verb."""
        application = self.applications[number]
        return application if application.waiter is None else None

    # -- the model's side of the verbs

    def _visible(self, name: str) -> list[NaiveMessage]:
        return self.twin.now.queues[name].visible(self.world.now_ms)

    def _unit_of(self, application: Application) -> int:
        unit = application.connection.unit_of_work
        assert unit is not None
        assert application.unit in (0, unit.number)
        application.unit = unit.number
        return unit.number

    def _take(self, application: Application, name: str, message: NaiveMessage, options: int) -> int:
        """A message was got, at once or by one who waited. The LSN behind its record."""
        into_unit = options & MQGMO_SYNCPOINT or (options & MQGMO_SYNCPOINT_IF_PERSISTENT and message.is_persistent)
        unit = self._unit_of(application) if into_unit else 0
        lsn = self.world.log.end_lsn()
        queue_id = self.twin.now.queues[name].queue_id
        if message.is_persistent:
            lsn = self._lsn(GET, unit, queue_id, self.seqs[queue_id, message.number])
        self._remove_from_cursors(name, message)
        self.twin.do(lsn, "get", name, message.number, unit)
        self._count(name, gets=1, get_bytes=len(message.body), gets_persistent=int(message.is_persistent))
        return lsn

    def _remove_from_cursors(self, name: str, message: NaiveMessage) -> None:
        """A message goes away: cursors on it fall back to the one before it."""
        before = [one for one in self._visible(name) if one.key() < message.key()]
        for application in self.applications:
            cursor = application.cursors.get(name)
            if cursor is not None and cursor.number == message.number:
                application.cursors[name] = before[-1] if before else None

    def _serve(self, name: str, message: NaiveMessage) -> None:
        """A message became available: one of those who wait for such a one gets it."""
        if message.has_expired(self.world.now_ms):
            return
        for waiter in self._waiting_for(name):
            if message.answers(waiter.message_id, waiter.correlation_id):
                self._satisfy(waiter, message)
                return

    def _waiting_for(self, name: str) -> list[Waiter]:
        """Those who can take few messages come before those who take any; then the longest waiting."""
        here = [waiter for waiter in self.waiters if waiter.queue == name]
        return sorted(here, key=lambda waiter: waiter.message_id == waiter.correlation_id == ANY_ID)

    def _satisfy(self, waiter: Waiter, message: NaiveMessage) -> None:
        assert waiter.request.done, "a waiting get was not answered"
        self._end_wait(waiter)
        if self._is_refused(waiter.request, message):
            return
        self._check_answer(waiter.request, message)
        self._take(waiter.application, waiter.queue, message, waiter.options)

    def _is_refused(self, request: GetRequest, message: NaiveMessage) -> bool:
        """A log that is full to the last pages refuses gets of persistent messages, too."""
        if request.reason != MQRC_RESOURCE_PROBLEM:
            return False
        assert message.is_persistent
        assert self.world.log.room_bytes() == 0
        return True

    def _end_wait(self, waiter: Waiter) -> None:
        self.waiters.remove(waiter)
        waiter.application.waiter = None

    def _back_out(self, unit: int, lsn: int) -> None:
        given_back = {
            name: sum(message.got_by == unit for message in queue.messages)
            for name, queue in self.twin.now.queues.items()
        }
        self.twin.do(lsn, "back_out", unit)
        for name, count in given_back.items():
            self._count(name, backed_out=count)
            for waiter in self._waiting_for(name) if count else []:
                fitting = [m for m in self._visible(name) if m.answers(waiter.message_id, waiter.correlation_id)]
                if fitting:
                    self._satisfy(waiter, fitting[0])

    def _commit(self, unit: int, lsn: int) -> None:
        puts = [
            (message.number, name)
            for name, queue in self.twin.now.queues.items()
            for message in queue.messages
            if message.put_by == unit
        ]
        self.twin.do(lsn, "commit", unit)
        for number, name in sorted(puts):
            self._serve(name, self.twin.now.queues[name].find(number))

    def _check_answer(self, request: GetRequest, message: NaiveMessage) -> None:
        assert request.reason == MQRC_NONE
        assert request.body == message.body
        md = request.md
        assert (md[48:72], md[72:96]) == (message.message_id, message.correlation_id)
        assert int.from_bytes(md[40:44], "little") == message.priority
        assert int.from_bytes(md[44:48], "little") == int(message.is_persistent)
        assert int.from_bytes(md[_BACKOUT_COUNT_AT : _BACKOUT_COUNT_AT + 4], "little") == message.backouts
        left = int.from_bytes(md[_EXPIRY_AT : _EXPIRY_AT + 4], "little", signed=True)
        lives_ms = message.expiry_ms - self.world.now_ms
        assert left == (max(1, lives_ms // 100) if message.expiry_ms else -1)

    # -- messages

    def put(
        self,
        number: int,
        name: str,
        *,
        count: int = 1,
        is_persistent: bool = True,
        length: int = 20,
        priority: int = 0,
        expiry_tenths: int = -1,
        correlation_id: bytes = ANY_ID,
        syncpoint: bool = False,
        is_acknowledged: bool = True,
    ) -> None:
        """MQPUT, so many times or until one is refused."""
        for _ in range(count):
            application = self._idle(number)
            if application is None or name not in self.twin.now.queues:
                return
            message = NaiveMessage(
                self.last_number + 1,
                is_persistent,
                0 if self.twin.now.queues[name].is_fifo else priority,
                priority,
                self.world.now_ms + expiry_tenths * 100 if expiry_tenths > 0 else 0,
                ANY_ID,
                correlation_id,
                _body(self.last_number + 1, min(length, MESSAGE_BYTES_MAX) if is_persistent else length),
            )
            if not self._put(application, name, message, expiry_tenths, syncpoint, is_acknowledged):
                return

    def _put(
        self,
        application: Application,
        name: str,
        message: NaiveMessage,
        tenths: int,
        syncpoint: bool,
        is_acknowledged: bool,
    ) -> bool:
        world = self.world
        queue = world.engine.queues[name]
        was_full = queue.depth >= queue.depth_max
        implicit = world.engine.next_unit_of_work
        answer = world.put(
            application.connection,
            self._handle(application, name),
            message.body,
            syncpoint=syncpoint,
            persistence=int(message.is_persistent),
            priority=message.priority,
            expiry_tenths=tenths,
            correlation_id=message.correlation_id,
        )
        self._apply_system_backouts()
        if answer.reason != MQRC_NONE:
            # Units that were backed out for the sake of the log have given their messages back.
            is_full = queue.depth >= queue.depth_max
            self._check_refused(application, answer.reason, is_full, message.is_persistent, syncpoint)
            self._complete_verb(0, False)
            return False
        assert not was_full
        assert not (syncpoint and application.is_backed_out)
        self.last_number += 1
        message.message_id = answer.md[48:72]
        seq = queue.next_seq - 1
        self.seqs[queue.queue_id, message.number] = seq
        unit = self._unit_of(application) if syncpoint else 0
        if message.is_persistent and not syncpoint and self._applications_with(name) >= IMPLICIT_SYNCPOINT_APPLICATIONS:
            # The message is there when the commit of the unit that it was put in is durable.
            assert self._lsn(PUT, implicit, queue.queue_id, seq) < (lsn := self._lsn(COMMIT, implicit))
        else:
            lsn = self._lsn(PUT, unit, queue.queue_id, seq) if message.is_persistent else world.log.end_lsn()
        assert answer.lsn == (lsn if message.is_persistent and not syncpoint else 0)
        self.twin.do(lsn, "put", name, message, unit)
        self._count(name, puts=1, put_bytes=len(message.body), puts_persistent=int(message.is_persistent))
        if not syncpoint:
            self._serve(name, self.twin.now.queues[name].find(message.number))
        self._complete_verb(answer.lsn, is_acknowledged)
        return True

    def _applications_with(self, name: str) -> int:
        """How many applications have a queue open for output."""
        return sum(name in application.handles for application in self.applications)

    def _check_refused(
        self, application: Application, reason: int, is_full: bool, is_persistent: bool, syncpoint: bool
    ) -> None:
        if reason == MQRC_Q_FULL:
            assert is_full
        elif reason == MQRC_BACKED_OUT:
            assert syncpoint
            assert application.is_backed_out
        elif reason == MQRC_Q_SPACE_NOT_AVAILABLE:
            assert self.disk_is_full
        else:
            assert reason == MQRC_RESOURCE_PROBLEM
            assert is_persistent
            assert self.world.log.room_bytes() < MESSAGE_BYTES_MAX + LITTLE_ROOM_BYTES

    def _wanted(self, name: str, message_id: bytes, correlation_id: bytes) -> NaiveMessage | None:
        fitting = [m for m in self._visible(name) if m.answers(message_id, correlation_id)]
        return fitting[0] if fitting else None

    def _some_id(self, name: str, choice: int) -> bytes:
        """The id of some message that is or was there."""
        messages = self.twin.now.queues[name].messages
        return messages[choice % len(messages)].message_id if messages else b"never".ljust(24)

    def get(
        self,
        number: int,
        name: str,
        *,
        count: int = 1,
        by_message: int = -1,
        correlation_id: bytes = ANY_ID,
        options: int = MQGMO_NO_SYNCPOINT,
        wait: bool = False,
        is_acknowledged: bool = True,
    ) -> None:
        """MQGET, so many times or until there is nothing. `by_message` >= 0 chooses one to be got by its id."""
        for _ in range(count):
            application = self._idle(number)
            if application is None or name not in self.twin.now.queues:
                return
            message_id = self._some_id(name, by_message) if by_message >= 0 else ANY_ID
            if not self._get(application, name, message_id, correlation_id, options, wait, is_acknowledged):
                return

    def _get(
        self,
        application: Application,
        name: str,
        message_id: bytes,
        correlation_id: bytes,
        options: int,
        wait: bool,
        is_acknowledged: bool,
    ) -> bool:
        request = self.world.get(
            application.connection,
            self._handle(application, name),
            options | (MQGMO_WAIT if wait else 0),
            message_id=message_id,
            correlation_id=correlation_id,
            wait_ms=-1 if wait else 0,
        )
        if application.is_backed_out and options & _INTO_UNIT:
            assert request.reason == MQRC_BACKED_OUT
            return False
        expected = self._wanted(name, message_id, correlation_id)
        if expected is not None:
            if self._is_refused(request, expected):
                return False
            self._check_answer(request, expected)
            self._take(application, name, expected, options)
            self._complete_verb(request.after_lsn, is_acknowledged)
        elif wait:
            assert not request.done
            application.waiter = Waiter(application, name, options, message_id, correlation_id, request)
            self.waiters.append(application.waiter)
        else:
            assert request.reason == MQRC_NO_MSG_AVAILABLE
            self._count(name, gets_empty=1)
        return expected is not None

    def give_up_waiting(self, number: int) -> None:
        waiter = self.applications[number].waiter
        if waiter is not None:
            cancel(self.world.engine, waiter.request, MQRC_NO_MSG_AVAILABLE)
            self._count(waiter.queue, gets_empty=1)
            self._end_wait(waiter)

    def browse(self, number: int, name: str, is_first: bool) -> None:
        application = self._idle(number)
        if application is None or name not in self.twin.now.queues:
            return
        handle = self._handle(application, name)
        is_first = is_first or name not in application.cursors
        option = MQGMO_BROWSE_FIRST if is_first else MQGMO_BROWSE_NEXT
        request = self.world.get(application.connection, handle, option)
        cursor = None if is_first else application.cursors[name]
        behind = [m for m in self._visible(name) if cursor is None or m.key() > cursor.key()]
        if behind:
            self._check_answer(request, behind[0])
            application.cursors[name] = behind[0]
            self._count(name, browses=1, browse_bytes=len(behind[0].body))
        else:
            assert request.reason == MQRC_NO_MSG_AVAILABLE
            self._count(name, gets_empty=1)

    # -- units of work

    def commit(self, number: int, is_acknowledged: bool) -> None:
        application = self._idle(number)
        if application is None:
            return
        reason, lsn = self.world.commit(application.connection)
        unit, application.unit = application.unit, 0
        if application.is_backed_out:
            assert reason == MQRC_BACKED_OUT
            application.is_backed_out = False
            return
        assert reason == MQRC_NONE
        if unit:
            self._commit(unit, lsn or self.world.log.end_lsn())
        self._complete_verb(lsn, is_acknowledged)

    def back_out(self, number: int) -> None:
        application = self._idle(number)
        if application is None:
            return
        is_logged = self._is_logged(application)
        assert self.world.back_out(application.connection) == MQRC_NONE
        unit, application.unit = application.unit, 0
        if unit and not application.is_backed_out:
            self._back_out(unit, self._lsn(BACK_OUT, unit) if is_logged else self.world.log.end_lsn())
        application.is_backed_out = False
        self._complete_verb(0, False)

    def _is_logged(self, application: Application) -> bool:
        unit = application.connection.unit_of_work
        return unit is not None and unit.first_lsn >= 0

    def prepare(self, number: int, is_acknowledged: bool) -> None:
        application = self._idle(number)
        if application is None or not application.unit or application.is_backed_out:
            return
        xid = b"xid %d" % application.unit
        unit, lsn = self.world.prepare(application.connection, xid)
        assert lsn == self._lsn(PREPARE, unit.number)
        application.unit = 0
        self.twin.do(lsn, "prepare", unit.number, xid)
        self._complete_verb(lsn, is_acknowledged)

    def resolve(self, choice: int, is_committed: bool, is_acknowledged: bool) -> None:
        numbers = sorted(self.twin.now.prepared)
        if not numbers:
            return
        number = numbers[choice % len(numbers)]
        unit = self.world.engine.units_of_work[number]
        assert unit.xid == self.twin.now.prepared[number]
        lsn = self.world.resolve(unit, is_committed)
        if is_committed:
            self._commit(number, lsn)
        else:
            self._back_out(number, self._lsn(BACK_OUT, number))
        self._complete_verb(lsn, is_acknowledged)

    def disconnect(self, number: int) -> None:
        """An application goes away without a word; another one comes."""
        application = self.applications[number]
        is_logged = self._is_logged(application)
        if application.waiter is not None:
            self._end_wait(application.waiter)
        self.world.disconnect(application.connection)
        self.applications[number] = Application(self.world.connect())
        if application.unit and not application.is_backed_out:
            lsn = self._lsn(BACK_OUT, application.unit) if is_logged else self.world.log.end_lsn()
            self._back_out(application.unit, lsn)
        self._complete_verb(0, False)


def _body(number: int, length: int) -> bytes:
    return (b"%d:" % number).ljust(length, b"%d" % (number % 10))
