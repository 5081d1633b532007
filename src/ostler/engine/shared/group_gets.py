"""Gets from shared queues with group options: logical order, complete messages, all segments, all messages.

The member lists what it has to know: the queue in slices for a message that a group may begin with, then the group of
that message. It claims the message by the identifier of its entry, and all segments of one message in one program, all
or none. Somebody may have taken one of them meanwhile: then the search goes on without it.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.groups import groups
from ostler.engine.groups.members import GroupPart, LogicalMessage, MessageGroup, add, part_key
from ostler.engine.groups.segmentation import last_section
from ostler.engine.groups.selection import continues_group, state_of
from ostler.engine.message.message import (
    CCSID_AT,
    ENCODING_AT,
    GROUP_ID_AT,
    OFFSET_AT,
    SEQUENCE_NUMBER_AT,
    Message,
    read_i32,
)
from ostler.engine.queue.get_request import UNDER_CURSOR, GetRequest
from ostler.engine.queue.queue import Queue
from ostler.engine.shared.gets import (
    SLICE,
    Search,
    SharedGet,
    begin_search,
    end_failed,
    end_search,
    has_expired,
    matches_entry,
    next_slice,
)
from ostler.engine.shared.membership import Membership, reason_of
from ostler.engine.shared.offloading import with_body
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, GetAnswer, ListAnswer
from ostler.model.coupling.entries import Entry
from ostler.model.coupling.offload import BodyFetched
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import GetProgram, ListProgram

_WHOLE: Final = mq.MQGMO_COMPLETE_MSG | mq.MQGMO_ALL_MSGS_AVAILABLE | mq.MQGMO_ALL_SEGMENTS_AVAILABLE

# What a search waits for.
_QUEUE: Final = 1
_GROUP: Final = 2
_CURSOR: Final = 3


@final
class ListedGroup:
    """The messages of one group that a request may have, as the facility has listed them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.by_id: dict[bytes, MessageGroup] = {}

    def add(self, entry: Entry) -> None:
        add(self.by_id, entry.md, entry.body_length, len(self.entries), entry.key)
        self.entries.append(entry)

    def group(self) -> MessageGroup:
        for group in self.by_id.values():
            return group
        return MessageGroup()

    def part_at(self, message: LogicalMessage, offset: i64) -> GroupPart | None:
        """Return the oldest part at this offset; a report only when there is no other."""
        parts = message.parts
        index: i64 = message.position(offset, 0)
        if index < len(parts) and parts[index].key == offset:
            return parts[index]
        while index < len(parts):
            if parts[index].offset() == offset:
                return parts[index]
            index += 1
        return None

    def part_of(self, entry: Entry) -> GroupPart | None:
        """Return the part that an entry is; None: it is gone."""
        message = self.group().messages.get(read_i32(entry.md, SEQUENCE_NUMBER_AT))
        if message is None:
            return None
        at: i64 = message.position(part_key(entry.md), entry.key)
        return message.parts[at] if at < len(message.parts) and message.parts[at].seq == entry.key else None

    def segments(self, message: LogicalMessage, feedback: i64) -> list[Entry]:
        """Return all segments of a message from first to last; none when one is missing."""
        found: list[Entry] = []
        expected: i64 = 0
        for part in message.parts:
            if part.offset() == expected and part.feedback() == feedback and part.flags & mq.MQMF_SEGMENT:
                found.append(self.entries[part.slot])
                if part.flags & mq.MQMF_LAST_SEGMENT:
                    return found
                expected += part.length
        return []

    def is_complete(self) -> bool:
        return self.group().is_complete()


@final
class SharedGroupSearch(Search):
    """The search of one request with group options."""

    def __init__(self, engine: Engine, sharing: Membership, queue: Queue, request: GetRequest, is_first: bool) -> None:
        self.engine = engine
        self.sharing = sharing
        self.queue = queue
        self.request = request
        self.is_first = is_first
        self._key: i64 = -1  # the search for a beginning goes on behind it
        self._step: i64 = _QUEUE
        self._gone: dict[bytes, bool] = {}  # entries that somebody else has, or has locked
        self._group_id = b""
        self._listed = ListedGroup()
        self._start: Entry | None = None  # whose group is listed; None: the open group is continued
        self._slice: list[Entry] = []  # the rest of a slice of the queue
        self._is_last_slice = False

    # -- steps ---------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        begin_search(self.sharing, self.queue, self.request, self)
        self._choose()

    def _choose(self) -> None:
        request = self.request
        handle = request.handle
        state = state_of(request)
        if request.options & UNDER_CURSOR:
            self._step = _CURSOR
            program = GetProgram(self.queue.structure, self.queue.name, cf.BROWSE, cf.ENTRY_ID)
            program.id = handle.cursor_entry
            program.now_ms = self.engine.wall_ms()
            program.body_bytes_max = 0
            program.truncation_accepted = True
            self.sharing.submit(program, 0, GroupStep(self))
        elif continues_group(request, state):
            self._start = None
            self._list_group(state.group_id)
        else:
            self._key = -1
            if request.options & mq.MQGMO_BROWSE_NEXT and handle.cursor_set:
                is_logical: bool = request.options & mq.MQGMO_LOGICAL_ORDER != 0 and state.start_key >= 0
                self._key = state.start_key if is_logical else handle.cursor_key
            self._slice = []
            self._is_last_slice = False
            self._list_queue()

    def _list_queue(self) -> None:
        self._step = _QUEUE
        self.sharing.submit(next_slice(self.queue, self.request, self._key), 0, GroupStep(self))

    def _list_group(self, group_id: bytes) -> None:
        self._group_id = group_id
        self._listed = ListedGroup()
        self._list_more(-1)

    def _list_more(self, key: i64) -> None:
        self._step = _GROUP
        program = ListProgram(self.queue.structure, self.queue.name, key)
        program.count_max = SLICE
        program.group_id = self._group_id
        program.with_bodies = self.request.options & mq.MQGMO_COMPLETE_MSG != 0
        self.sharing.submit(program, 0, GroupStep(self))

    def on_answer(self, answer: Answer) -> None:
        request = self.request
        if request.done:
            request.asking = None
            return
        if answer.status != cf.OK and answer.status != cf.NO_MESSAGE:
            request.asking = None
            end_failed(self.engine, request, self.queue, reason_of(answer.status))
        elif isinstance(answer, GetAnswer):
            self._on_cursor(answer.entry)
        elif isinstance(answer, ListAnswer):
            if self._step == _GROUP:
                self._on_group_slice(answer)
            else:
                self._slice = answer.entries
                self._is_last_slice = answer.is_end
                self._go_on()

    def _end_without(self) -> None:
        end_search(self.engine, self.request, self.queue, self.is_first)

    def on_gone(self) -> None:
        """Go on without an entry that somebody else has taken."""
        self.request.asking = self
        self._choose()

    # -- the message under the cursor ----------------------------------------------------------------------------------

    def _on_cursor(self, entry: Entry | None) -> None:
        request = self.request
        if entry is None or entry.id in self._gone:
            self._end_without()
        elif request.options & mq.MQGMO_COMPLETE_MSG and entry.flags & cf.GROUPED and read_i32(entry.md, OFFSET_AT):
            request.asking = None
            end_failed(self.engine, request, self.queue, mq.MQRC_INVALID_MSG_UNDER_CURSOR)
        elif self._needs_group(entry):
            self._start = entry
            self._list_group(entry.md[GROUP_ID_AT : GROUP_ID_AT + 24])
        else:
            self._take(entry)

    # -- beginnings ----------------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Look for a beginning in the rest of the slice."""
        while self._slice:
            entry = self._slice.pop(0)
            self._key = entry.key
            if not self._may_begin(entry):
                continue
            if self._needs_group(entry):
                self._start = entry
                self._list_group(entry.md[GROUP_ID_AT : GROUP_ID_AT + 24])
            else:
                self._take(entry)
            return
        if self._is_last_slice:
            self._end_without()
        else:
            self._list_queue()

    def _may_begin(self, entry: Entry) -> bool:
        """Return True for a message outside groups, or one that a group or a complete message may begin with."""
        request = self.request
        options: i64 = request.options
        if not self._is_eligible(entry):
            return False
        if entry.flags & cf.GROUPED:
            is_logical: bool = options & mq.MQGMO_LOGICAL_ORDER != 0
            if is_logical and read_i32(entry.md, SEQUENCE_NUMBER_AT) != 1:
                return False
            if (is_logical or options & mq.MQGMO_COMPLETE_MSG) and read_i32(entry.md, OFFSET_AT) != 0:
                return False
        return matches_entry(request, entry)

    def _is_eligible(self, entry: Entry) -> bool:
        return entry.id not in self._gone and not has_expired(self.engine, self.sharing, self.queue, entry)

    def _needs_group(self, entry: Entry) -> bool:
        return self.request.options & _WHOLE != 0 and entry.flags & cf.GROUPED != 0

    # -- groups --------------------------------------------------------------------------------------------------------

    def _on_group_slice(self, answer: ListAnswer) -> None:
        for entry in answer.entries:
            if self._is_eligible(entry):
                self._listed.add(entry)
        if not answer.is_end:
            self._list_more(answer.through_key)
            return
        start = self._start
        if start is None:
            self._continue_group()
        elif not self._take_if_complete(start):
            if self.request.options & UNDER_CURSOR:
                self._end_without()
            else:
                self._go_on()

    def _continue_group(self) -> None:
        """Take the next message of the open group, if it is there."""
        request = self.request
        state = state_of(request)
        offset: i64 = state.next_offset()
        message = self._listed.group().messages.get(state.next_sequence())
        part: GroupPart | None = None
        if message is not None and not (offset > 0 and request.options & mq.MQGMO_COMPLETE_MSG):
            part = self._listed.part_at(message, offset)
        if message is None or part is None:
            self._end_without()
            return
        entry = self._listed.entries[part.slot]
        is_segmented: bool = part.flags & mq.MQMF_SEGMENT != 0 and offset == 0
        if not matches_entry(request, entry) or (is_segmented and not self._has_segments(message, part)):
            self._end_without()
        else:
            self._take_with_segments(entry, message, part)

    def _take_if_complete(self, start: Entry) -> bool:
        """Take a beginning whose messages and segments are there as the options require. Returns False otherwise."""
        part = self._listed.part_of(start)
        if part is None:
            return False
        wants_group: bool = self.request.options & mq.MQGMO_ALL_MSGS_AVAILABLE != 0
        if wants_group and part.flags & mq.MQMF_MSG_IN_GROUP and not self._listed.is_complete():
            return False
        message = self._listed.group().messages[read_i32(start.md, SEQUENCE_NUMBER_AT)]
        if part.flags & mq.MQMF_SEGMENT and not self._has_segments(message, part):
            return False
        self._take_with_segments(self._listed.entries[part.slot], message, part)
        return True

    def _has_segments(self, message: LogicalMessage, part: GroupPart) -> bool:
        if not self.request.options & _WHOLE:
            return True
        return message.complete and len(self._listed.segments(message, part.feedback())) > 0

    # -- taking --------------------------------------------------------------------------------------------------------

    def _take(self, entry: Entry) -> None:
        self._gone[entry.id] = True  # if the facility does not give it, it is not looked at again
        SharedGet(self.engine, self.sharing, self.queue, self.request, self.is_first).begin_for(entry.id, self)

    def _take_with_segments(self, entry: Entry, message: LogicalMessage, part: GroupPart) -> None:
        is_joined: bool = self.request.options & mq.MQGMO_COMPLETE_MSG != 0 and part.flags & mq.MQMF_SEGMENT != 0
        is_told_only: bool = self.request.max_bytes < 0
        segments = self._listed.segments(message, part.feedback()) if is_joined and not is_told_only else []
        if len(segments) < 2:
            self._take(entry)
            return
        self._gone[entry.id] = True
        self._begin_joined(segments)

    def _begin_joined(self, segments: list[Entry]) -> None:
        """Take a message of several segments, once the bodies of those that are offloaded have come."""
        offload = self.sharing.offload
        for number in range(len(segments)):
            segment = segments[number]
            if offload is not None and segment.reference and len(segment.body) < segment.body_length:
                offload.fetch(self.queue.structure, segment, SegmentFetched(self, segments, number))
                return
        segments = self._joinable(segments)
        attempt = SharedGet(self.engine, self.sharing, self.queue, self.request, self.is_first)
        attempt.begin_joined(joined(segments), segments, self)

    def on_segment(self, segments: list[Entry], number: i64, reason: i64, body: bytes) -> None:
        request = self.request
        if request.done:
            request.asking = None
        elif reason != 0:
            request.asking = None
            end_failed(self.engine, request, self.queue, reason)
        else:
            segments[number] = with_body(segments[number], body, len(body))
            self._begin_joined(segments)

    def _joinable(self, segments: list[Entry]) -> list[Entry]:
        """Return the first segments that can be joined: those of the same code page and encoding."""
        state = state_of(self.request)
        state.join_reason = 0
        found: list[Entry] = []
        encoding: i64 = 0
        ccsid: i64 = 0
        for entry in segments:
            if found:
                if read_i32(entry.md, CCSID_AT) != ccsid:
                    state.join_reason = mq.MQRC_INCONSISTENT_CCSIDS
                    return found
                if read_i32(entry.md, ENCODING_AT) != encoding:
                    state.join_reason = mq.MQRC_INCONSISTENT_ENCODINGS
                    return found
            end = last_section(entry.md, entry.body)
            encoding = end.encoding
            ccsid = end.ccsid
            found.append(entry)
        return found


def joined(segments: list[Entry]) -> Entry:
    """Return the message that segments make together, with identifier and key of the first."""
    first = segments[0]
    body = groups.joined_body([Message(entry.md, entry.properties, entry.body, 0) for entry in segments])
    whole = Entry(first.id, first.priority, groups.joined_descriptor(first.md, len(body)), first.properties, body)
    whole.flags = first.flags
    whole.expiry_ms = first.expiry_ms
    whole.backout_count = first.backout_count
    whole.key = first.key
    return whole


@final
class GroupStep(Continuation):
    def __init__(self, search: SharedGroupSearch) -> None:
        self.search = search

    def answered(self, answer: Answer) -> None:
        self.search.on_answer(answer)


@final
class SegmentFetched(BodyFetched):
    def __init__(self, search: SharedGroupSearch, segments: list[Entry], number: i64) -> None:
        self.search = search
        self.segments = segments
        self.number: i64 = number

    def fetched(self, reason: i64, body: bytes) -> None:
        self.search.on_segment(self.segments, self.number, reason, body)
