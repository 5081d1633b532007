"""The session on a queue manager of this process: its verbs, each written once for both flavours of the API.

Every verb does its work under the engine's lock and then waits, through the connection's `Runtime`, until its result is
durable. The lock is never held while waiting, and every waiting get has its own event, so threads and tasks that share
a connection do not hold one another up.

A wait may be interrupted, by the cancellation of a task or by a KeyboardInterrupt. No message is lost by that. A get
that waits outside syncpoint gets its message in a unit of work of its own, which belongs to a substitute for the
connection; the unit is committed when the program goes on and backed out when it was interrupted. See also
`ostler.engine.queue.undo_get`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from ostler.client.api.get_options import engine_request, wait_seconds
from ostler.client.mqi import put_get as mqi
from ostler.client.session.manager_listeners import EndListener, listen_for_end
from ostler.client.session.runtime import Runtime, WakeEvent
from ostler.client.session.session import (
    BackoutRules,
    GetOptions,
    OpenQueue,
    OpenSubscription,
    Put,
    Session,
    StoredMessage,
)
from ostler.command.admin import objects as administration
from ostler.command.admin.objects import Given
from ostler.engine import get as getting
from ostler.engine import objects, statistics, syncpoint
from ostler.engine import put as putting
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.open import OpenRequest, close_object, complete_open, open_object
from ostler.engine.outcomes import PutOutcome, RetainedOutcome
from ostler.engine.properties.property_block import encode_block
from ostler.engine.pubsub import subscribe as subscribing
from ostler.engine.pubsub.subscribe import SubscribeResult
from ostler.engine.queue.get_request import BROWSE_OPTIONS, GetRequest
from ostler.engine.queue.undo_get import undo_get
from ostler.engine.shared.clearing import SharedClear, begin_clear
from ostler.engine.syncpoint import back_out_unit
from ostler.engine.task import EngineTask
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.errors import LogFull, MQError
from ostler.server.queue_manager import QueueManager
from ostler.server.verbs.topics import make_subscribe_reply, subscribe_as_asked
from ostler.wire.subscribe_frames import LEVEL_HIGHEST, SubscribeArguments, SubscribeReply

T = TypeVar("T")

_ROOM_TRIES: Final = 3
_ROOM_BYTES: Final = 16 * 1024
_IN_UNIT: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT


class LocalQueue(OpenQueue):
    """A queue that is open in the engine of this process."""

    __slots__ = ("_session", "handle")

    def __init__(self, session: LocalSession, handle: Handle) -> None:
        self._session = session
        self.handle = handle

    @property
    def number(self) -> int:
        return self.handle.number

    @property
    def name(self) -> str:
        return self.handle.name if self.handle.created_dynamic else self.handle.object_name

    @property
    def selection(self) -> str:
        selector = self.handle.selector
        return selector.text if selector is not None else ""

    @property
    def topic(self) -> str:
        opened = self.handle.topic
        return opened.topic if opened is not None else ""

    # The two hottest verbs return the session's coroutine itself, which saves a frame.

    def put(
        self, md: bytes, options: int, property_block: bytes, body: bytes, level: int = LEVEL_HIGHEST
    ) -> Coroutine[object, None, Put]:
        return self._session.put(self.handle, md, options, property_block, body, level)

    def get(self, asked: GetOptions, browse: int = 0) -> Coroutine[object, None, StoredMessage | None]:
        return self._session.get(self.handle, asked, browse)

    async def close(self, options: int = 0) -> int:
        return await self._session.close_handle(self.handle, options)

    async def depth(self) -> int:
        queue = self.handle.queue
        if queue is None:
            raise MQError(mq.MQRC_HOBJ_ERROR)
        return queue.depth

    async def inquire(self, name: str) -> Value | None:
        definition = self.handle.definition
        queue = self.handle.queue
        with self._session.engine_turn() as engine:
            if queue is not None and not self.handle.definitions_on_path:
                definition = queue.definition
            if definition is None:
                raise MQError(mq.MQRC_HOBJ_ERROR)
            return administration.attribute_value(engine, definition, name)

    async def backout_rules(self) -> BackoutRules | None:
        queue = self.handle.queue
        if queue is None:
            return None
        return BackoutRules(queue.name, queue.backout_threshold, str(queue.definition.attributes.get("BOQNAME") or ""))


class LocalSubscription(OpenSubscription):
    """A subscription that is open in the engine of this process."""

    __slots__ = ("_described", "_destination", "_session", "_warning", "handle")

    def __init__(self, session: LocalSession, made: SubscribeResult) -> None:
        self._session = session
        self._described = make_subscribe_reply(made)
        self._warning = made.warning
        self.handle = made.handle
        self._destination = LocalQueue(session, made.destination) if made.destination is not None else None

    @property
    def number(self) -> int:
        return self.handle.number

    @property
    def described(self) -> SubscribeReply:
        return self._described

    @property
    def destination(self) -> OpenQueue | None:
        return self._destination

    @property
    def warning(self) -> int:
        return self._warning

    async def request(self, action: int, options: int) -> int:
        return await self._session.request_publications(self.handle, action, options)

    async def close(self, options: int = 0) -> int:
        return await self._session.close_handle(self.handle, options)


class LocalSession(Session, EndListener):
    def __init__(self, manager: QueueManager, user: str, application: str, runtime: Callable[[], Runtime]) -> None:
        self._manager = manager
        self._new_runtime = runtime
        self.runtime = runtime()
        self._hconn = mqi.bind(manager, user, application)
        self.bound = mqi.bound_connection(self._hconn)
        self.connection: Connection = self.bound.connection
        self.closed = False
        self.transaction: object = None  # the transaction block that owns the unit of work
        # These are used under the engine's lock only.
        self._waiting: set[GetRequest] = set()
        self._substitutes: list[Connection] = []
        self._interrupted = False
        listen_for_end(manager, self)

    @property
    def name(self) -> str:
        return self._manager.name

    @property
    def manager(self) -> QueueManager:
        return self._manager

    @property
    def hconn(self) -> int:
        return self._hconn

    @property
    def application(self) -> str:
        return self.connection.application

    @property
    def ccsid(self) -> int:
        return self.bound.engine.ccsid

    async def clone(self) -> Session:
        return LocalSession(self._manager, self.connection.user, self.connection.application, self._new_runtime)

    # -- access to the engine ------------------------------------------------------------------------------------------

    def check(self) -> None:
        if self.closed:
            raise MQError(mq.MQRC_HCONN_ERROR, "The connection is closed.")
        if self.connection.broken:
            raise MQError(self.connection.broken)
        if not self._manager.running:
            raise MQError(mq.MQRC_CONNECTION_BROKEN, f"Queue manager {self._manager.name} has ended.")

    def check_handle(self, handle: Handle) -> None:
        """Raise MQRC_HOBJ_ERROR if a handle is closed. Under the engine's lock."""
        if handle.number not in self.connection.handles:
            raise MQError(mq.MQRC_HOBJ_ERROR, f"{handle.name} is closed.")

    @contextmanager
    def engine_turn(self, is_checked: bool = True) -> Iterator[Engine]:
        """Take a turn of the engine for one verb. Raises MQError when the connection cannot be used."""
        with self.bound.turn as engine:
            if is_checked:
                self.check()
            yield engine

    async def retry_when_log_full(
        self, verb: Callable[[Engine], T], count_failure: Callable[[Engine], None] | None = None
    ) -> T:
        """Run a verb that writes to the log. When it raises LogFull, make room in the log and try again.

        `count_failure` is called, in the same turn, when the verb has failed for good.
        """
        tries = 0
        while True:
            with self.engine_turn() as engine:
                try:
                    return verb(engine)
                except MQError as error:
                    if not isinstance(error, LogFull) or tries == _ROOM_TRIES:
                        if count_failure is not None:
                            count_failure(engine)
                        raise
            tries += 1
            await self.runtime.make_room(self.bound)

    # -- objects -------------------------------------------------------------------------------------------------------

    async def administer(self, change: Callable[[Engine], int]) -> None:
        """Change objects, durably. `change` returns the LSN after its record."""
        await self.runtime.wait_durable(self.bound, await self.retry_when_log_full(change))

    async def define(
        self, kind: ObjectType, name: str, given: Mapping[str, Given], like: str | None, replace: bool
    ) -> None:
        await self.administer(lambda engine: administration.define(engine, kind, name, given, like, replace))

    async def alter(self, kind: ObjectType, name: str, given: Mapping[str, Given]) -> None:
        await self.administer(lambda engine: administration.alter(engine, kind, name, given))

    async def delete(self, kind: ObjectType, name: str, purge: bool) -> None:
        await self.administer(lambda engine: objects.delete(engine, kind, name, purge))

    async def clear(self, queue: str) -> None:
        def verb(engine: Engine) -> tuple[SharedClear | None, int, WakeEvent | None]:
            found = objects.clearable_queue(engine, queue)
            if not found.is_shared:
                return None, objects.clear(engine, queue), None
            clear = begin_clear(engine, found)
            return clear, 0, self._event_of_task(clear)

        clear, lsn, event = await self.retry_when_log_full(verb)
        await self.runtime.wait_durable(self.bound, lsn)
        if event is not None and clear is not None:
            await event.wait(None)
            clear.check()
            if clear.failure is not None:
                raise clear.failure

    async def display(self, word: str, pattern: str, names: Sequence[str]) -> list[dict[str, Value]]:
        with self.engine_turn() as engine:
            return administration.display(engine, word, pattern, names)

    async def dead_letter_queue(self) -> str:
        return self.bound.engine.dead_letter_queue

    # -- opening and closing -------------------------------------------------------------------------------------------

    async def open(self, request: OpenRequest) -> OpenQueue:
        def verb(engine: Engine) -> tuple[Handle, int, WakeEvent | None]:
            handle = open_object(engine, self.connection, request)
            # A permanent dynamic queue was created: it must survive a restart.
            lsn = engine.journal.end_lsn() if handle.created_dynamic else 0
            return handle, lsn, self._event_of_task(handle.opening)

        handle, lsn, done = await self.retry_when_log_full(verb)
        if done is not None:
            await done.wait(None)
            with self.engine_turn(is_checked=False) as engine:
                complete_open(engine, self.connection, handle)
        await self.runtime.wait_durable(self.bound, lsn)
        return LocalQueue(self, handle)

    async def subscribe(self, asked: SubscribeArguments, destination: OpenQueue | None) -> OpenSubscription:
        connection = self.connection

        def verb(engine: Engine) -> tuple[SubscribeResult, WakeEvent | None]:
            asked.destination = destination.number if destination is not None else 0
            made = subscribe_as_asked(engine, connection, asked, True)
            return made, self._event_of_task(made.task)

        made, done = await self.retry_when_log_full(verb)
        if done is not None:
            try:
                await done.wait(None)
            except BaseException:
                with self.engine_turn(is_checked=False) as engine:
                    subscribing.abandon_subscribe(engine, connection, made)
                raise
            with self.engine_turn(is_checked=False) as engine:
                subscribing.finish_subscribe(engine, connection, made)
        await self.runtime.wait_durable(self.bound, made.after_lsn)
        return LocalSubscription(self, made)

    async def request_publications(self, handle: Handle, action: int, options: int) -> int:
        connection = self.connection

        def verb(engine: Engine) -> tuple[RetainedOutcome, WakeEvent | None]:
            self.check_handle(handle)
            sent = subscribing.request_publications(engine, connection, handle, action, options, True)
            return sent, self._event_of_task(sent.task)

        sent, done = await self.retry_when_log_full(verb)
        if done is not None:
            await done.wait(None)
            assert handle.subscription is not None
            with self.engine_turn(is_checked=False) as engine:
                subscribing.finish_request(engine, connection, handle.subscription, sent)
        await self.runtime.wait_durable(self.bound, sent.after_lsn)
        return sent.count

    async def close_handle(self, handle: Handle, options: int = 0) -> int:
        """MQCLOSE. Returns 0 or the reason of a warning. Does nothing for a closed handle."""
        with self.engine_turn(is_checked=False) as engine:
            if handle.number not in self.connection.handles or not self._manager.running:
                return mq.MQRC_NONE
            closed = close_object(engine, self.connection, handle, options)
            done = self._event_of_task(closed.task)
        if done is not None:
            await done.wait(None)
        await self.runtime.wait_durable(self.bound, closed.after_lsn)
        return closed.reason

    # -- putting -------------------------------------------------------------------------------------------------------

    async def put(
        self, handle: Handle, md: bytes, options: int, property_block: bytes, body: bytes, level: int = LEVEL_HIGHEST
    ) -> Put:
        connection = self.connection
        check_level(level)

        def verb(engine: Engine) -> PutOutcome:
            self.check_handle(handle)
            return putting.put(engine, connection, handle, md, options, property_block, body, None, level)

        def count_failure(engine: Engine) -> None:
            statistics.count_put_failed(engine, connection, handle)

        return await self._put(verb, count_failure)

    async def put1(
        self,
        request: OpenRequest,
        md: bytes,
        options: int,
        property_block: bytes,
        body: bytes,
        source: OpenQueue | None = None,
        level: int = LEVEL_HIGHEST,
    ) -> Put:
        connection = self.connection
        context = connection.handles.get(source.number) if source is not None else None
        check_level(level)

        def verb(engine: Engine) -> PutOutcome:
            return putting.put1(engine, connection, request, md, options, property_block, body, context, level)

        def count_failure(engine: Engine) -> None:
            statistics.count_put1_failed(engine, connection, request.object_type)

        return await self._put(verb, count_failure)

    async def _put(self, verb: Callable[[Engine], PutOutcome], count_failure: Callable[[Engine], None]) -> Put:
        def checked(engine: Engine) -> tuple[PutOutcome, WakeEvent | None]:
            outcome = verb(engine)
            outcome.check()
            return outcome, self._event_of_task(outcome.task)

        done, event = await self.retry_when_log_full(checked, count_failure)
        if event is not None and done.task is not None:
            await event.wait(None)
            done.task.check()
            if done.has_failed():
                with self.engine_turn(is_checked=False) as engine:
                    count_failure(engine)
                await self.runtime.wait_durable(self.bound, done.after_lsn)
                done.check()
        log = self.bound.writer.log
        await self.runtime.wait_durable(self.bound, log.end_lsn() if log.buffer_is_full() else done.after_lsn)
        return Put(done.md, done.reason)

    # -- getting -------------------------------------------------------------------------------------------------------

    async def get(self, handle: Handle, asked: GetOptions, browse: int) -> StoredMessage | None:
        """MQGET. Returns the message as it is stored, or None when there is none.

        The get is repeated in the rare case that the queue manager backed it out to make room in the log.
        """
        while True:
            await self._ensure_log_space(0)
            request = engine_request(self, self.connection, handle, asked, browse)
            event: WakeEvent | None = None
            substitute: Connection | None = None
            with self.engine_turn() as engine:
                self.check_handle(request.handle)
                # The message as it was put: properties are presented to the program outside the lock.
                request.handle.property_control = mq.MQPROP_V6COMPAT
                request.has_message_handle = True
                request.wants_stored = True
                request.wants_token = True
                request.may_pause = True
                is_answered = getting.get(engine, request)
                if not is_answered and self._interrupted:
                    getting.cancel(engine, request, mq.MQRC_NO_MSG_AVAILABLE)
                elif not is_answered:
                    event = self.runtime.new_event()
                    request.waker = event.wake
                    self._waiting.add(request)
                    if not request.options & (_IN_UNIT | BROWSE_OPTIONS) and self.runtime.may_be_cancelled():
                        substitute = self._use_substitute(engine, request)
            if event is not None:
                # A get without MQGMO_WAIT is answered when the search of the queue has ended.
                waits = request.options & mq.MQGMO_WAIT and request.wait_ms != 0
                await self._wait(request, event, wait_seconds(asked) if waits else None)
            if substitute is None or await self._commit_substitute(request, substitute):
                break
        if request.reason == mq.MQRC_NO_MSG_AVAILABLE:
            return None
        if request.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            raise MQError(request.reason, f"The message has {request.data_bytes} bytes.", mq.MQCC_WARNING)
        if request.reason != mq.MQRC_NONE and not request.md:
            raise MQError(request.reason)
        await self._wait_until_removed(request)
        stored = request.properties
        property_block = encode_block(stored.properties) if stored is not None else request.properties_bytes
        return StoredMessage(request.md, request.body, property_block, request.returned_token, request.reason)

    def _use_substitute(self, engine: Engine, request: GetRequest) -> Connection:
        """Have a waiting request get its message in a unit of work of a substitute connection."""
        own = self.connection
        if self._substitutes:
            substitute = self._substitutes.pop()
        else:
            substitute = Connection(own.number, own.user, own.application, own.application_type)
            substitute.counters = own.counters
        request.connection = substitute
        request.options = request.options | mq.MQGMO_SYNCPOINT
        return substitute

    async def _wait(self, request: GetRequest, event: WakeEvent, wait: float | None) -> None:
        """Wait until the request is answered or its time is up."""
        try:
            await event.wait(wait)
            while (request.is_reading or request.asking is not None) and not self._ends_wait(request):
                await event.wait(None)  # its time is up, but its message is being read
        except BaseException:
            self._cancel_get(request)
            raise
        with self.engine_turn(is_checked=False) as engine:
            self._waiting.discard(request)
            getting.cancel(engine, request, mq.MQRC_NO_MSG_AVAILABLE)

    def _ends_wait(self, request: GetRequest) -> bool:
        with self.engine_turn(is_checked=False) as engine:
            return request.done or getting.end_wait(engine, request)

    def _cancel_get(self, request: GetRequest) -> None:
        """Cancel a request whose wait was interrupted. If it was satisfied meanwhile, the message goes back."""
        with self.engine_turn(is_checked=False) as engine:
            self._waiting.discard(request)
            getting.cancel(engine, request, mq.MQRC_NO_MSG_AVAILABLE)
            if not self._manager.running:
                return
            unit = request.connection.unit_of_work
            if request.connection is not self.connection:
                request.connection.unit_of_work = None
                self._substitutes.append(request.connection)
                if unit is not None and not unit.backed_out_by_system:
                    back_out_unit(engine, unit)
            elif request.md and request.reason != mq.MQRC_TRUNCATED_MSG_FAILED and not request.options & BROWSE_OPTIONS:
                self._back_out_unseen(engine, unit)

    def _back_out_unseen(self, engine: Engine, unit: UnitOfWork | None) -> None:
        """Back out the connection's unit of work: it has a message that the program has not seen.

        A unit that did nothing else is forgotten. Any other counts as backed out by the queue manager: the next verb of
        the program in it ends with MQRC_BACKED_OUT.
        """
        if unit is None or unit.backed_out_by_system:
            return
        operations = unit.shared.operations if unit.shared is not None else 0
        is_alone = len(unit.entries) + operations == 1
        back_out_unit(engine, unit)
        if is_alone:
            self.connection.unit_of_work = None
        else:
            unit.entries = []
            unit.backed_out_by_system = True

    async def _commit_substitute(self, request: GetRequest, substitute: Connection) -> bool:
        """Commit the get of a substitute connection. Returns False when the queue manager has backed it out."""
        with self.engine_turn(is_checked=False) as engine:
            unit = substitute.unit_of_work
            substitute.unit_of_work = None
            self._substitutes.append(substitute)
            if unit is None:
                return True
            if unit.backed_out_by_system:
                return False
            if self._manager.running and (self.connection.broken or self.closed):
                back_out_unit(engine, unit)
            self.check()
            outcome = syncpoint.commit_work(engine, unit)
            done = self._event_of_task(outcome.task)
        if done is not None:
            await done.wait(None)
        if outcome.after_lsn > request.after_lsn:
            request.after_lsn = outcome.after_lsn
        return outcome.reason == mq.MQRC_NONE

    async def _wait_until_removed(self, request: GetRequest) -> None:
        """Wait until the removal of the message is durable; only then the program may see it."""
        if request.after_lsn <= self.bound.writer.log.durable_lsn():
            return
        try:
            await self.runtime.wait_durable(self.bound, request.after_lsn)
        except MQError:
            raise
        except BaseException:
            await self._undo_get(request)
            raise

    async def _undo_get(self, request: GetRequest) -> None:
        """Put back a message that was removed from the queue and that the program has not seen."""
        if request.options & BROWSE_OPTIONS or not self._manager.running:
            return
        if request.connection is self.connection and request.options & _IN_UNIT:
            with self.engine_turn(is_checked=False) as engine:
                self._back_out_unseen(engine, self.connection.unit_of_work)
            return
        try:
            await self._ensure_log_space(len(request.body))
        finally:
            with self.engine_turn(is_checked=False) as engine:
                undo_get(engine, request)

    async def _ensure_log_space(self, size_bytes: int) -> None:
        """Make room in the log in time: gets are never refused for lack of log space and would use up the reserve."""
        tries = 0
        while self.bound.engine.journal.room_bytes() < size_bytes + _ROOM_BYTES and tries < _ROOM_TRIES:
            tries += 1
            await self.runtime.make_room(self.bound)

    def interrupt(self) -> None:
        with self.engine_turn(is_checked=False) as engine:
            self._interrupted = True
            for request in list(self._waiting):
                if not request.done:
                    getting.cancel(engine, request, mq.MQRC_NO_MSG_AVAILABLE)
                    _wake(request)

    # -- units of work -------------------------------------------------------------------------------------------------

    def has_unit(self) -> bool:
        return self.connection.unit_of_work is not None

    async def commit(self) -> None:
        with self.engine_turn() as engine:
            outcome = syncpoint.commit(engine, self.connection, True)
            done = self._event_of_task(outcome.task)
        if done is not None and outcome.task is not None:
            await done.wait(None)
            outcome.task.check()
        if outcome.reason != mq.MQRC_NONE:
            raise MQError(outcome.reason)
        await self.runtime.wait_durable(self.bound, outcome.after_lsn)

    async def back_out(self) -> None:
        # There is nothing to wait for: a restart backs out what is not committed, too.
        with self.engine_turn() as engine:
            outcome = syncpoint.back_out(engine, self.connection, True)
            done = self._event_of_task(outcome.task)
        if done is not None and outcome.task is not None:
            await done.wait(None)
            outcome.task.check()

    def _event_of_task(self, task: EngineTask | None) -> WakeEvent | None:
        """Return an event for the end of the task of a verb, if it has one. Called in the turn of the verb."""
        if task is None:
            return None
        event = self.runtime.new_event()
        self.bound.engine.notify_when_done(task, event.wake)
        return event

    # -- the end -------------------------------------------------------------------------------------------------------

    async def disconnect(self, commit: bool) -> None:
        if self.closed:
            return
        try:
            if self.connection.broken or not self._manager.running:
                return
            if commit:
                await self.commit()
            else:
                await self.back_out()
        finally:
            self.closed = True
            mqi.unbind(self._hconn)
            if self._manager.running:
                self._manager.disconnect(self.connection, commit_work=False)

    def on_manager_ended(self) -> None:
        """Fail waiting gets: the queue manager has ended, perhaps without notice."""
        with self.bound.turn:
            if not self.connection.broken:
                self.connection.broken = mq.MQRC_CONNECTION_BROKEN
            for request in self._waiting:
                if not request.done:
                    request.reason = mq.MQRC_CONNECTION_BROKEN
                    request.done = True
                    _wake(request)
        self.runtime.on_manager_ended()


def check_level(level: int) -> None:
    if not 0 <= level <= LEVEL_HIGHEST:
        raise MQError(mq.MQRC_PMO_ERROR, f"A publication level is 0 to {LEVEL_HIGHEST}.")


def _wake(request: GetRequest) -> None:
    waker = request.waker
    if callable(waker):
        waker()
