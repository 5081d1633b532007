"""MQGET on shared queues: the coupling facility finds the message, and removes it or claims it for a unit of work.

    in a unit            GET claims the message; SHARED_GET if it is persistent, unforced
    outside, persistent  GET claims it into a unit of its own; SHARED_GET, forced; then DECIDE(commit)
    outside, otherwise   GET removes it
    browse               GET leaves it; the cursor is its key

The body of an offloaded message is fetched when the facility has answered; the message is claimed meanwhile, or only
browsed. One that cannot be read is given back, which backs the unit of work out.

A request waits on its queue as on any other (`Queue.waiting`). While the facility is asked for it, `asking` is set.
When nothing is there the facility has begun to watch the queue, in the same program, and tells of the next message.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import Engine
from ostler.engine.events import performance_events as events
from ostler.engine.events import reports, triggers
from ostler.engine.groups import groups
from ostler.engine.groups.selection import continues_group
from ostler.engine.journal_records import append_shared_get
from ostler.engine.message.message import (
    BACKOUT_COUNT_AT,
    CONTEXT_AT,
    EXPIRY_AT,
    GROUP_ID_AT,
    NULL_ID,
    REPORT_AT,
    Message,
    patch_i32,
)
from ostler.engine.properties.property_control import selector_source
from ostler.engine.queue.delivery import deliver_shared, end_answering
from ostler.engine.queue.get_request import (
    BROWSE_OPTIONS,
    BY_BOTH,
    BY_CORRELATION_ID,
    BY_MESSAGE_ID,
    BY_SCAN,
    GROUP_OPTIONS,
    UNDER_CURSOR,
    GetRequest,
)
from ostler.engine.queue.matching import identifiers_match, numbers_match
from ostler.engine.queue.outbox import post
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.retrieval import finish_get
from ostler.engine.queue.slots import NONE
from ostler.engine.shared.browse_locks import after_browse, after_empty_browse, set_handle
from ostler.engine.shared.membership import Membership, reason_of
from ostler.engine.shared.offloading import with_body
from ostler.engine.shared.units import CommitListener, SharedUnit, shared_part
from ostler.engine.statistics import count_browse, count_get, count_get_empty, count_get_failed, count_got
from ostler.engine.unit_of_work import ENDED, UnitOfWork
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, GetAnswer
from ostler.model.coupling.entries import Entry
from ostler.model.coupling.offload import BodyFetched
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import GetProgram, ListProgram, ReleaseProgram, WatchProgram

IN_UNIT: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT
SLICE: Final = 200
"""Entries that a search has listed at once."""
_NO_LIMIT: Final = 1 << 40
# Properties become an MQRFH2 in the data, and conversion may make it longer. An entry has at most 64 KB of both, which
# grow by no more than this; the data of an offloaded message grows by no more than the factor.
_GROWTH_BYTES: Final = 512 * 1024
_CONVERSION_FACTOR: Final = 4
_SURE_BYTES_MIN: Final = 64 * 1024
# Instead of a unit of work: the answer removes nothing by itself, see `retrieval.finish_get`.
_BY_CALLER: Final = -1


def index_reason(request: GetRequest, queue: Queue) -> i64:
    """Return 0, or the reason to refuse a get that the index of a shared queue does not serve (INDXTYPE)."""
    index: i64 = queue.index_type
    if request.options & GROUP_OPTIONS or request.match & mq.MQMO_MATCH_GROUP_ID:
        return 0 if index == mq.MQIT_GROUP_ID else mq.MQRC_Q_INDEX_TYPE_ERROR
    by: i64 = request.match & (mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID)
    if by == mq.MQMO_MATCH_MSG_ID:
        return 0 if index == mq.MQIT_MSG_ID or index == mq.MQIT_NONE else mq.MQRC_MSG_ID_ERROR
    if by == mq.MQMO_MATCH_CORREL_ID:
        return 0 if index == mq.MQIT_CORREL_ID else mq.MQRC_CORREL_ID_ERROR
    if by != 0:
        return 0 if index == mq.MQIT_MSG_ID or index == mq.MQIT_CORREL_ID else mq.MQRC_MSG_ID_ERROR
    return 0


def is_simple(request: GetRequest) -> bool:
    """Return True when one program finds the message: by order, by identifiers, by the cursor."""
    if request.selector is not None or request.options & GROUP_OPTIONS:
        return False
    if request.options & UNDER_CURSOR:
        return True
    if request.options & BROWSE_OPTIONS:
        return request.match == 0
    if request.kind != BY_SCAN:
        return True
    if request.match == mq.MQMO_MATCH_MSG_TOKEN:
        return True
    return request.match == mq.MQMO_MATCH_GROUP_ID and request.group_id != NULL_ID


def ask(engine: Engine, request: GetRequest, queue: Queue, is_first: bool) -> None:
    """Ask the facility for the message of a request. The request waits on the queue until it is answered.

    `is_first`: the verb itself asks, not somebody who has heard of a message.
    """
    sharing = engine.sharing
    assert sharing is not None
    if not request.waiting:
        queue.waiting.add(request)
    if request.asking is None:
        SharedGet(engine, sharing, queue, request, is_first).begin()


def set_match(program: GetProgram, request: GetRequest) -> None:
    """Say which message a simple request is for."""
    options: i64 = request.options
    if options & UNDER_CURSOR:
        program.match = cf.ENTRY_ID
        program.id = request.handle.cursor_entry
    elif options & mq.MQGMO_BROWSE_NEXT and request.handle.cursor_set:
        program.match = cf.FIRST_AFTER_KEY
        program.key = request.handle.cursor_key
    elif request.kind == BY_CORRELATION_ID:
        program.match = cf.CORREL_ID
        program.id = request.correlation_id
    elif request.kind == BY_MESSAGE_ID:
        program.match = cf.MSG_ID
        program.id = request.message_id
    elif request.kind == BY_BOTH:
        program.match = cf.MSG_AND_CORREL_ID
        program.id = request.message_id + request.correlation_id
    elif request.match & mq.MQMO_MATCH_MSG_TOKEN:
        program.match = cf.ENTRY_ID
        program.id = request.token
    elif request.match & mq.MQMO_MATCH_GROUP_ID:
        program.match = cf.GROUP_ID
        program.id = request.group_id


def waits(request: GetRequest) -> bool:
    return request.options & mq.MQGMO_WAIT != 0 and request.wait_ms != 0


def is_exact(request: GetRequest) -> bool:
    """Return True when the application gets the body as it is stored, whatever the message is."""
    return request.wants_stored and not request.options & mq.MQGMO_CONVERT and not request.wants_extension


def end_empty(engine: Engine, request: GetRequest, queue: Queue) -> None:
    """End a request for which there is no message."""
    is_under_cursor: bool = request.options & UNDER_CURSOR != 0
    end_failed(engine, request, queue, mq.MQRC_NO_MSG_UNDER_CURSOR if is_under_cursor else mq.MQRC_NO_MSG_AVAILABLE)


def end_search(engine: Engine, request: GetRequest, queue: Queue, is_first: bool) -> None:
    """End an attempt that has found nothing: the request is answered, or waits from now on."""
    request.asking = None
    request.is_reading = False
    after_empty_browse(engine, queue, request)
    if not waits(request):
        end_empty(engine, request, queue)
    elif request.waiting and is_first:
        queue.counters.waits += 1
        engine.counters.waits += 1
        request.connection.counters.waits += 1


def end_failed(engine: Engine, request: GetRequest, queue: Queue, reason: i64) -> None:
    queue.waiting.remove(request)
    request.md = b""
    request.body = b""
    request.reason = reason
    request.done = True
    if reason == mq.MQRC_NO_MSG_AVAILABLE:
        count_get_empty(engine, request)
    else:
        count_get_failed(engine, request)
    engine.woken.append(request)


def begin_search(sharing: Membership, queue: Queue, request: GetRequest, search: Search) -> None:
    """Begin to look for the message of a request in slices of the queue."""
    request.asking = search
    request.is_reading = True
    if waits(request):
        # Before the search, so that no message comes unseen behind it.
        sharing.submit(WatchProgram(queue.structure, queue.name, cf.WATCH_WAITERS), 0, None)


def next_slice(queue: Queue, request: GetRequest, after_key: i64) -> ListProgram:
    """Return the program that lists what a search looks at next, with bodies if the selector may need them."""
    program = ListProgram(queue.structure, queue.name, after_key)
    program.count_max = SLICE
    selector = request.selector
    program.with_bodies = selector is not None and not selector.descriptor_only
    return program


def has_expired(engine: Engine, sharing: Membership, queue: Queue, entry: Entry) -> bool:
    """Return True for an entry that has expired, which is noted so that it is removed."""
    if entry.expiry_ms == 0 or entry.expiry_ms > engine.wall_ms():
        return False
    sharing.expired_seen[queue.queue_id] = queue
    return True


def matches_entry(request: GetRequest, entry: Entry) -> bool:
    """Return True if an entry has what a request matches: identifiers, numbers, token, selector."""
    if not identifiers_match(request, entry.md) or not numbers_match(request, entry.md):
        return False
    if request.match & mq.MQMO_MATCH_MSG_TOKEN and request.token != entry.id:
        return False
    selector = request.selector
    return selector is None or selector.matches(selector_source(entry.md, entry.body, entry.properties))


class Search(metaclass=ABCMeta):
    """Whoever has chosen the entry for a request, and goes on when it is gone."""

    @abstractmethod
    def on_gone(self) -> None:
        """Somebody else has taken the entry."""


@final
class SharedGet(CommitListener):
    """One attempt to answer a request: with the message that it describes, or with an entry that was searched."""

    def __init__(self, engine: Engine, sharing: Membership, queue: Queue, request: GetRequest, is_first: bool) -> None:
        self.is_first = is_first
        self.entry_id = b""  # of the entry that was searched
        self.search: Search | None = None
        self.engine = engine
        self.sharing = sharing
        self.queue = queue
        self.request = request
        self.unit: UnitOfWork | None = None
        self.part: SharedUnit | None = None
        self.is_taking = False  # the program removes or claims
        self.made_unit = False
        self.is_alone = False  # the unit is for this message only, outside the application's syncpoint
        self.is_peeking = False  # the message is looked at first, because it may not fit
        self.is_presented = False  # the answer is complete but for the removal
        self.entry: Entry | None = None
        self.others: list[Entry] = []  # further segments of the message, which are removed with it
        self.unreadable = b""  # the entry whose body could not be read the last time
        self.through_key: i64 = 0  # the facility has looked through the queue up to it, and found nothing

    # -- asking --------------------------------------------------------------------------------------------------------

    def begin_for(self, entry_id: bytes, search: Search) -> None:
        """Get or browse an entry that was searched. If it is gone, the search goes on."""
        self.entry_id = entry_id
        self.search = search
        self.begin()

    def begin_joined(self, whole: Entry, segments: list[Entry], search: Search) -> None:
        """Get or browse a message that was joined of segments: `whole` has identifier and key of the first of them."""
        request = self.request
        request.asking = self
        request.is_reading = True
        self.entry_id = whole.id
        self.search = search
        self.others = segments[1:]
        self._present(whole)
        self.entry = segments[0]
        if request.options & BROWSE_OPTIONS:
            self._finish_browse(whole)
        elif request.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            self._end_truncated()
        else:
            self.is_presented = True
            request.done = False
            self._claim_entry(whole)

    def begin(self) -> None:
        request = self.request
        request.asking = self
        request.is_reading = True
        options: i64 = request.options
        if options & BROWSE_OPTIONS or request.max_bytes < 0:
            self._browse()
            return
        limit: i64 = _NO_LIMIT
        if is_exact(request):
            limit = request.max_bytes
        elif not options & mq.MQGMO_ACCEPT_TRUNCATED_MSG:
            limit = request.max_bytes - _GROWTH_BYTES
            if options & mq.MQGMO_CONVERT:
                limit //= _CONVERSION_FACTOR
            if limit < _SURE_BYTES_MIN:
                self._peek()
                return
        program = self._program(cf.CLAIM)
        self._set_match(program)
        program.body_bytes_max = limit
        self._submit(program)

    def _program(self, mode: i64) -> GetProgram:
        """Return a program that removes the message, or claims it for the unit that the options ask for."""
        engine = self.engine
        options: i64 = self.request.options
        if options & IN_UNIT:
            if not options & mq.MQGMO_SYNCPOINT:
                mode = cf.CLAIM_IF_NEEDED
            self.made_unit = self.request.connection.unit_of_work is None
            unit = engine.unit_of_work_of(self.request.connection)
        else:
            if not self.others:
                mode = cf.CLAIM_IF_NEEDED
            unit = engine.new_unit_of_work()
            self.is_alone = True
        self.is_taking = True
        self.unit = unit
        self.part = shared_part(engine, self.sharing, unit)
        self.part.begin_operation(self.queue.structure)
        program = GetProgram(self.queue.structure, self.queue.name, mode)
        program.unit = self.part.id
        program.truncation_accepted = options & mq.MQGMO_ACCEPT_TRUNCATED_MSG != 0
        return program

    def _browse(self) -> None:
        request = self.request
        program = GetProgram(self.queue.structure, self.queue.name, cf.BROWSE)
        self._set_match(program)
        program.body_bytes_max = max(request.max_bytes, 0) if is_exact(request) or request.max_bytes < 0 else _NO_LIMIT
        program.truncation_accepted = True
        self._submit(program)

    def _peek(self) -> None:
        """Look at the message first: what the application gets of it may be longer than its buffer."""
        self.is_peeking = True
        self.is_taking = False
        program = GetProgram(self.queue.structure, self.queue.name, cf.BROWSE)
        self._set_match(program)
        program.truncation_accepted = True
        self._submit(program)

    def _claim_entry(self, entry: Entry) -> None:
        """Claim the message that was looked at. Its body has come already."""
        program = self._program(cf.CLAIM)
        program.match = cf.ENTRY_ID
        program.id = entry.id
        program.others = [other.id for other in self.others]
        program.body_bytes_max = 0
        program.truncation_accepted = True
        self._submit(program)

    def _set_match(self, program: GetProgram) -> None:
        if self.entry_id:
            program.match = cf.ENTRY_ID
            program.id = self.entry_id
        else:
            set_match(program, self.request)
            if self.through_key and program.match != cf.ENTRY_ID:
                program.key = self.through_key
                if program.match == cf.FIRST:
                    program.match = cf.FIRST_AFTER_KEY

    def _submit(self, program: GetProgram) -> None:
        program.now_ms = self.engine.wall_ms()
        program.watch = waits(self.request) and program.match != cf.ENTRY_ID
        set_handle(program, self.request)
        self.sharing.submit(program, 0, GetAnswered(self))

    # -- answers -------------------------------------------------------------------------------------------------------

    def on_answer(self, answer: Answer) -> None:
        status: i64 = answer.status
        self.sharing.structures[self.queue.structure].note_usage(answer)
        entry: Entry | None = None
        if isinstance(answer, GetAnswer):
            self.queue.depth = answer.depth
            entry = answer.entry
            if answer.expired_seen:
                self.sharing.expired_seen[self.queue.queue_id] = self.queue
        is_claimed: bool = isinstance(answer, GetAnswer) and answer.is_claimed
        self._settle_unit(is_claimed, status)
        if isinstance(answer, GetAnswer) and answer.through_key and not self.request.done:
            self.through_key = answer.through_key
            self._begin_again()
            return
        offload = self.sharing.offload
        request = self.request
        if entry is None or not entry.reference or self.is_presented or request.done or request.max_bytes < 0:
            self._go_on(entry, is_claimed, status)
        elif offload is None:
            self._on_unreadable(entry, is_claimed, status, mq.MQRC_DATA_SET_NOT_AVAILABLE)
        else:
            offload.fetch(self.queue.structure, entry, GetBodyFetched(self, entry, is_claimed, status))

    def on_fetched(self, entry: Entry, is_claimed: bool, status: i64, reason: i64, body: bytes) -> None:
        """Go on with a message whose body is outside the structure."""
        unit = self.unit
        request = self.request
        if not request.done and is_claimed and (unit is None or unit.state == ENDED):
            reason = mq.MQRC_CF_NOT_AVAILABLE  # the link broke meanwhile, and the unit was backed out
        if reason != 0:
            self._on_unreadable(entry, is_claimed, status, reason)
            return
        limit: i64 = request.max_bytes if is_exact(request) and request.max_bytes >= 0 else _NO_LIMIT
        self._go_on(with_body(entry, body, limit), is_claimed, status)

    def _on_unreadable(self, entry: Entry, is_claimed: bool, status: i64, reason: i64) -> None:
        request = self.request
        if request.done:
            self._give_back(entry, is_claimed, status)
        elif is_claimed:
            unit = self.unit
            request.asking = None
            if unit is not None and unit.state != ENDED and self.sharing.waits is not None:
                self.sharing.waits.on_unseen(unit, self.is_alone)
            end_failed(self.engine, request, self.queue, reason)
        elif entry.id == self.unreadable:
            request.asking = None
            end_failed(self.engine, request, self.queue, reason)
        else:
            # Perhaps somebody has got it since it was browsed, and its space has another message.
            self.unreadable = entry.id
            self._begin_again()

    def _begin_again(self) -> None:
        self.is_alone = False
        self.made_unit = False
        self.is_taking = False
        self.is_peeking = False
        self.begin()

    def _go_on(self, entry: Entry | None, is_claimed: bool, status: i64) -> None:
        if self.request.done:
            self._give_back(entry, is_claimed, status)
        elif status == cf.OK and entry is not None:
            self._on_found(entry, is_claimed)
        elif status == cf.TOO_LONG and entry is not None:
            if is_exact(self.request):
                self._present(entry)
                self._end_truncated()
            else:
                self._peek()
        elif status == cf.NO_MESSAGE:
            self._on_nothing()
        else:
            self.request.asking = None
            end_failed(self.engine, self.request, self.queue, reason_of(status))

    def _settle_unit(self, is_claimed: bool, status: i64) -> None:
        """Let go of a unit that has got no message."""
        part = self.part
        unit = self.unit
        if part is None or unit is None:
            return
        is_first: bool = self.made_unit and part.operations == 0 and part.pending == 1 and not unit.entries
        part.on_operation_answered(is_claimed, status)
        if is_first and part.is_doomed and self.request.connection.unit_of_work is unit:
            self.request.connection.unit_of_work = None  # the application had nothing else in it
        if is_claimed or unit.entries or not part.has_nothing() or unit.first_lsn >= 0 or unit.state == ENDED:
            return
        self.part = None
        self.unit = None
        if not self.is_alone and not self.made_unit:
            return
        self.is_alone = False
        self.engine.units_of_work.pop(unit.number, None)
        if self.request.connection.unit_of_work is unit:
            self.request.connection.unit_of_work = None

    def _on_nothing(self) -> None:
        request = self.request
        search = self.search
        if search is not None:
            request.done = False
            search.on_gone()
            return
        if self.is_presented:
            # Somebody has taken the message that was looked at.
            self.is_presented = False
            request.done = False
            self._peek()
            return
        end_search(self.engine, request, self.queue, self.is_first)

    def _on_found(self, entry: Entry, is_claimed: bool) -> None:
        request = self.request
        if request.max_bytes < 0:
            self._present(entry)  # it is only to be told
            request.reason = mq.MQRC_TRUNCATED_MSG_FAILED
            self._end()
            return
        if not self.is_presented:
            self._present(entry)
            self.entry = entry
            if self.is_peeking and request.reason != mq.MQRC_TRUNCATED_MSG_FAILED:
                self.is_presented = True
                request.done = False
                self._claim_entry(entry)
                return
        if request.options & BROWSE_OPTIONS:
            self._finish_browse(entry)
        elif request.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            self._end_truncated()
        else:
            self._remove(entry, is_claimed)

    def _present(self, entry: Entry) -> None:
        """Make the answer of a message, as the application wants to see it."""
        request = self.request
        md = entry.md
        if entry.backout_count != 0:
            md = patch_i32(md, BACKOUT_COUNT_AT, entry.backout_count)
        if entry.expiry_ms != 0:
            left: i64 = (entry.expiry_ms - self.engine.wall_ms()) // 100
            md = patch_i32(md, EXPIRY_AT, left if left > 0 else 1)
        request.joined_unit = _BY_CALLER
        finish_get(self.engine, request, self.queue, Message(md, entry.properties, entry.body, 0), NONE)
        request.joined_unit = 0
        if entry.body_length > len(entry.body) and is_exact(request):
            request.data_bytes = entry.body_length
            is_accepted: bool = request.options & mq.MQGMO_ACCEPT_TRUNCATED_MSG != 0
            request.reason = mq.MQRC_TRUNCATED_MSG_ACCEPTED if is_accepted else mq.MQRC_TRUNCATED_MSG_FAILED
            if not is_accepted:
                count_get_failed(self.engine, request)
        if request.wants_token:
            request.returned_token = entry.id

    # -- removal -------------------------------------------------------------------------------------------------------

    def _remove(self, entry: Entry, is_claimed: bool) -> None:
        part = self.part
        unit = self.unit
        if not is_claimed or part is None or unit is None:
            self._finish(None)  # the facility has removed it
            return
        is_persistent: bool = entry.flags & cf.PERSISTENT != 0
        for other in self.others:
            is_persistent = is_persistent or other.flags & cf.PERSISTENT != 0
        if is_persistent:
            start: i64 = self.sharing.start
            for other in self.others:
                append_shared_get(self.engine, self.queue, other.id, start, unit, False)
            lsn: i64 = append_shared_get(self.engine, self.queue, entry.id, start, unit, self.is_alone)
            if self.is_alone:
                part.prepared_lsn = lsn
                apply.prepare(unit, b"")
        if self.is_alone:
            self.request.done = False
            part.commit_for(self)
        else:
            self._finish(unit)

    def on_committed(self, reason: i64) -> None:
        """Answer the request: the facility has decided on the unit of its message."""
        request = self.request
        if request.done:
            return  # it has gone away, and the message with it: only its removal was left
        if reason == mq.MQRC_NONE:
            request.done = True
            self._finish(None)
        else:
            request.asking = None
            failure: i64 = mq.MQRC_CF_NOT_AVAILABLE if reason == mq.MQRC_BACKED_OUT else reason
            end_failed(self.engine, request, self.queue, failure)

    def _finish(self, unit: UnitOfWork | None) -> None:
        """Count a message that is got, and tell those who want to know."""
        engine = self.engine
        queue = self.queue
        request = self.request
        entry = self.entry
        assert entry is not None
        engine.answering += 1
        if groups.has_group_effects(request):
            groups.after_get(request, request.md)
        self._count(entry, unit, True)
        for other in self.others:
            self._count(other, unit, False)
        if request.handle.saves_context:
            request.handle.saved_context = entry.md[CONTEXT_AT:GROUP_ID_AT]
        if entry.id == request.handle.locked_entry:
            request.handle.locked_entry = b""
        if queue.trigger_on:
            triggers.after_removal(engine, queue)
        if engine.performance_events:
            post(engine, events.after_removal(engine, queue), None)
        self._end()
        end_answering(engine)

    def _count(self, entry: Entry, unit: UnitOfWork | None, is_call: bool) -> None:
        """Count a message that is got, and post its report. `is_call`: it is not a further segment."""
        engine = self.engine
        request = self.request
        message = Message(entry.md, entry.properties, entry.body, 0)
        is_persistent: bool = entry.flags & cf.PERSISTENT != 0
        age_ms: i64 = count_got(engine, self.queue, message, is_persistent)
        count_get(engine, request, entry.body_length, is_persistent, is_call)
        account = request.handle.account
        if account is not None:
            account.count_get(entry.body_length, is_persistent, age_ms)
        if i64(read_i32_le(entry.md, REPORT_AT)) & reports.DELIVERY_OPTIONS and request.handle.sends_reports:
            post(engine, reports.on_delivery(engine, message, self.queue.name, entry.expiry_ms), unit)

    def _finish_browse(self, entry: Entry) -> None:
        request = self.request
        after_browse(self.sharing, self.queue, request, entry)
        if request.reason != mq.MQRC_TRUNCATED_MSG_FAILED:
            handle = request.handle
            state = handle.browse_group
            if not request.options & mq.MQGMO_BROWSE_MSG_UNDER_CURSOR and not continues_group(request, state):
                state.start_key = entry.key
            handle.cursor_key = entry.key
            handle.cursor_entry = entry.id
            handle.cursor_set = True
            handle.saved_context = b""
            count_browse(self.engine, request, self.queue, entry.flags & cf.PERSISTENT != 0)
        if groups.has_group_effects(request):
            groups.after_get(request, request.md)
        self._end()

    def _end_truncated(self) -> None:
        """End a request whose buffer is too small for the message, which stays."""
        if groups.has_group_effects(self.request):
            groups.after_get(self.request, self.request.md)
        self._end()

    def _end(self) -> None:
        request = self.request
        request.asking = None
        request.is_reading = False
        request.done = True
        self.queue.waiting.remove(request)
        self.engine.woken.append(request)
        if self.sharing.waits is not None:
            self.sharing.waits.on_got(self.queue, request)

    # -- requests that have gone away ----------------------------------------------------------------------------------

    def _give_back(self, entry: Entry | None, is_claimed: bool, status: i64) -> None:
        """Return the message of a request that was cancelled while the facility was asked."""
        self.request.asking = None
        unit = self.unit
        if entry is not None and self.request.options & mq.MQGMO_LOCK:
            after_browse(self.sharing, self.queue, self.request, None)
            self.sharing.submit(ReleaseProgram(self.queue.structure, self.queue.name, entry.id), 0, None)
        if is_claimed and unit is not None:
            if unit.state != ENDED and self.sharing.waits is not None:
                self.sharing.waits.on_unseen(unit, self.is_alone)
        elif status == cf.OK and entry is not None and self.is_taking:
            # It was removed, and not persistent. Its place is lost, the message is not.
            deliver_shared(self.engine, self.queue, entry.md, entry.properties, entry.body, None)


@final
class GetAnswered(Continuation):
    def __init__(self, attempt: SharedGet) -> None:
        self.attempt = attempt

    def answered(self, answer: Answer) -> None:
        self.attempt.on_answer(answer)


@final
class GetBodyFetched(BodyFetched):
    def __init__(self, attempt: SharedGet, entry: Entry, is_claimed: bool, status: i64) -> None:
        self.attempt = attempt
        self.entry = entry
        self.is_claimed = is_claimed
        self.status: i64 = status

    def fetched(self, reason: i64, body: bytes) -> None:
        self.attempt.on_fetched(self.entry, self.is_claimed, self.status, reason, body)
