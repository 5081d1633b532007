"""A get or browse on its way: what was asked, and once it is done, the answer.

The request itself is what waits on a queue, so a waiting get costs nothing more than a get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.message.message import NULL_ID
from ostler.engine.properties.property_values import PropertySource, Value
from ostler.engine.queue.slots import NONE
from ostler.engine.selectors.selector import Selector, SelectorUse
from ostler.model.constants import (
    MQGMO_ALL_MSGS_AVAILABLE,
    MQGMO_ALL_SEGMENTS_AVAILABLE,
    MQGMO_BROWSE_MSG_UNDER_CURSOR,
    MQGMO_COMPLETE_MSG,
    MQGMO_LOGICAL_ORDER,
    MQGMO_MSG_UNDER_CURSOR,
)

if TYPE_CHECKING:
    from ostler.engine.connection import Connection, Handle
    from ostler.engine.properties.properties import PropertySet

# What a request looks for, decided once when it is made.
ANY: Final = 0  # whatever comes first
BY_MESSAGE_ID: Final = 1
BY_CORRELATION_ID: Final = 2
BY_BOTH: Final = 3
BY_SCAN: Final = 4  # group, sequence number, offset, token, selector, logical order, browse

GROUP_OPTIONS: Final = (
    MQGMO_LOGICAL_ORDER | MQGMO_COMPLETE_MSG | MQGMO_ALL_MSGS_AVAILABLE | MQGMO_ALL_SEGMENTS_AVAILABLE
)
UNDER_CURSOR: Final = MQGMO_MSG_UNDER_CURSOR | MQGMO_BROWSE_MSG_UNDER_CURSOR

UNLIMITED: Final = -1
_NO_TOKEN: Final = bytes(16)
# Waiting requests with selectors that begin with `property = value` are found by the value, for so many properties.
INDEXED_NAMES_MAX: Final = 64
_NO_SELECTOR: Final = "\0"
_BY_ITSELF: Final = "\0\0"


@final
class GetRequest:
    def __init__(self, connection: Connection, handle: Handle, options: i64, max_bytes: i64) -> None:
        self.connection = connection
        self.handle = handle
        self.options: i64 = options
        self.max_bytes: i64 = max_bytes
        self.wait_ms: i64 = 0
        self.kind: i64 = ANY
        self.match: i64 = 0
        self.message_id: bytes = NULL_ID
        self.correlation_id: bytes = NULL_ID
        self.group_id: bytes = NULL_ID
        self.sequence_number: i64 = 1
        self.offset: i64 = 0
        self.token: bytes = b""
        self.encoding: i64 = 0  # wanted, with MQGMO_CONVERT
        self.ccsid: i64 = 0
        self.has_message_handle = False
        self.wants_stored = False  # the block of properties as it is stored, unless the options say otherwise
        self.selector: Selector | None = None
        # Looking through the queue in slices, which not every caller is ready for. `scan_slot` was looked at last.
        self.may_pause = False
        self.is_scanning = False
        self.scan_slot: i64 = NONE
        self.must_look_again = False  # something came that only another look from the beginning can tell about
        self.gives_up_slot: i64 = NONE  # the browse lock that it gives up when it is done
        self.gives_up_seq: i64 = 0
        # While it waits.
        self.waiting = False
        self.group: WaitGroup | None = None
        self.number: i64 = 0
        self.next: GetRequest | None = None
        self.previous: GetRequest | None = None
        # The answer.
        self.done = False
        self.reason: i64 = 0
        self.md: bytes = b""
        self.body: bytes = b""
        self.data_bytes: i64 = 0  # of the whole message, whatever was returned
        self.properties: PropertySet | None = None
        self.block: bytes = b""  # of properties, as stored
        self.after_lsn: i64 = 0  # the answer may be shown when the journal is durable up to here
        self.wants_token = False
        self.wants_extension = False  # the descriptor asked for is of version 1
        self.returned_token: bytes = _NO_TOKEN
        self.group_status: i64 = 0x20
        self.segment_status: i64 = 0x20
        self.segmentation: i64 = 0x20
        # While an answer is put together from segments: their slots, and the unit of work they leave the queue in.
        self.slots: list[int] = []
        self.joined_unit: i64 = 0
        self.joined_logged = False
        self.waker: object = None  # what the server wakes when the request is done


@final
class RequestList:
    """Waiting requests in order of arrival; taking any one out is O(1)."""

    def __init__(self) -> None:
        self.head: GetRequest | None = None
        self.tail: GetRequest | None = None

    def add(self, request: GetRequest) -> None:
        last = self.tail
        request.previous = last
        request.next = None
        if last is None:
            self.head = request
        else:
            last.next = request
        self.tail = request

    def remove(self, request: GetRequest) -> None:
        before = request.previous
        after = request.next
        if before is None:
            self.head = after
        else:
            before.next = after
        if after is None:
            self.tail = before
        else:
            after.previous = before
        request.next = None
        request.previous = None


@final
class WaitGroup:
    """The requests that wait on one queue with the same selector: it is asked once for all of them.

    Those that care for message groups, or for the message under the cursor, are in one group whatever their selector:
    each `looks_for_itself`, for what has come says little about what it may have.
    """

    def __init__(self, key: str, selector: Selector | None, number: i64, use: SelectorUse) -> None:
        self.key = key
        self.selector = selector
        self.number: i64 = number
        self.use = use  # of the application that waited first
        self.looks_for_itself: bool = key == _BY_ITSELF
        self.requests = RequestList()


@final
class Offer:
    """A message that has become available, on its way to those who wait with selectors. `groups` are left to be asked.

    While it is under way anybody may take the message; then the offer is void.
    """

    def __init__(self, slot: i64, seq: i64) -> None:
        self.slot: i64 = slot
        self.seq: i64 = seq
        self.source: PropertySource | None = None
        self.groups: list[WaitGroup] = []
        self.at: i64 = 0  # in `groups`
        self.is_selected = False  # by the selector of that group
        self.asked: i64 = 0  # its requests up to this number were asked
        self.last: i64 = 0  # who came later has looked for itself


@final
class ScanTurns:
    """The requests whose look through a queue goes on: connections take turns, however many requests each has."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self._turns: dict[int, list[GetRequest]] = {}

    def add(self, request: GetRequest) -> None:
        self.count += 1
        turns = self._turns.get(request.connection.number)
        if turns is None:
            self._turns[request.connection.number] = [request]
        else:
            turns.append(request)

    def take(self) -> GetRequest | None:
        """The next one; it is out of the turns until it is added again."""
        for number in self._turns:
            turns = self._turns.pop(number)
            request = turns.pop(0)
            if turns:
                self._turns[number] = turns
            self.count -= 1
            return request
        return None


@final
class WaitingRoom:
    """The requests that wait on one queue, found by what they wait for."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.numbered: i64 = 0
        self.any = RequestList()
        self.by_message_id: dict[bytes, RequestList] = {}
        self.by_correlation_id: dict[bytes, RequestList] = {}
        self.selective: i64 = 0  # requests that are in groups
        self.groups: dict[str, WaitGroup] = {}
        self.scanning: dict[int, GetRequest] = {}  # by number: those whose look goes on
        # Groups by the value that one property must have, and the rest.
        self._by_value: dict[str, dict[Value, dict[str, WaitGroup]]] = {}
        self._others: dict[str, WaitGroup] = {}

    def add(self, request: GetRequest) -> None:
        self.count += 1
        self.numbered += 1
        request.number = self.numbered
        request.waiting = True
        request.handle.waits += 1
        if request.kind == ANY:
            self.any.add(request)
        elif request.kind == BY_CORRELATION_ID:
            _add_to(self.by_correlation_id, request.correlation_id, request)
        elif request.kind == BY_MESSAGE_ID or request.kind == BY_BOTH:
            _add_to(self.by_message_id, request.message_id, request)
        else:
            self._add_to_group(request)

    def remove(self, request: GetRequest) -> None:
        if not request.waiting:
            return
        self.count -= 1
        request.waiting = False
        request.handle.waits -= 1
        if request.kind == ANY:
            self.any.remove(request)
        elif request.kind == BY_CORRELATION_ID:
            _remove_from(self.by_correlation_id, request.correlation_id, request)
        elif request.kind == BY_MESSAGE_ID or request.kind == BY_BOTH:
            _remove_from(self.by_message_id, request.message_id, request)
        else:
            self._remove_from_group(request)

    def _add_to_group(self, request: GetRequest) -> None:
        self.selective += 1
        selector = request.selector
        if request.options & (GROUP_OPTIONS | UNDER_CURSOR):
            selector = None
            key = _BY_ITSELF
        else:
            key = selector.text if selector is not None else _NO_SELECTOR
        group = self.groups.get(key)
        if group is None:
            group = WaitGroup(key, selector, self.numbered, request.connection.selector_use)
            self.groups[key] = group
            if selector is None:
                self._others[key] = group
            else:
                group.use.bytes += selector.size_bytes
                self._index(group, selector)
        group.requests.add(request)
        request.group = group

    def _index(self, group: WaitGroup, selector: Selector) -> None:
        name = selector.equal_name
        by_value = self._by_value.get(name)
        if by_value is None:
            if not name or len(self._by_value) >= INDEXED_NAMES_MAX:
                self._others[group.key] = group
                return
            by_value = {}
            self._by_value[name] = by_value
        groups = by_value.get(selector.equal_value)
        if groups is None:
            groups = {}
            by_value[selector.equal_value] = groups
        groups[group.key] = group

    def _remove_from_group(self, request: GetRequest) -> None:
        self.selective -= 1
        self.end_scan(request)
        request.scan_slot = NONE  # nobody moves it on any more when the message there goes
        group = request.group
        assert group is not None
        request.group = None
        group.requests.remove(request)
        if group.requests.head is not None:
            return
        del self.groups[group.key]
        selector = group.selector
        if selector is not None:
            group.use.bytes -= selector.size_bytes
        if self._others.pop(group.key, None) is None and selector is not None:
            by_value = self._by_value[selector.equal_name]
            groups = by_value[selector.equal_value]
            del groups[group.key]
            if not groups:
                del by_value[selector.equal_value]
                if not by_value:
                    del self._by_value[selector.equal_name]

    def begin_scan(self, request: GetRequest) -> None:
        """A request that waits here goes on looking through the queue."""
        request.is_scanning = True
        self.scanning[request.number] = request

    def end_scan(self, request: GetRequest) -> None:
        request.is_scanning = False
        self.scanning.pop(request.number, None)

    def candidates(self, source: PropertySource) -> list[WaitGroup]:
        """The groups whose selectors a message may satisfy, the longest waiting first."""
        found = list(self._others.values())
        is_mixed = False
        for name, by_value in self._by_value.items():
            value = source.value(name)
            groups = by_value.get(value) if value is not None else None
            if groups is not None:
                is_mixed = True
                found.extend(groups.values())
        if is_mixed:
            found.sort(key=_group_number)
        return found

    def has_selectors(self) -> bool:
        for group in self.groups.values():
            if group.selector is not None:
                return True
        return False

    def asked_names(self) -> int:
        """For how many properties `candidates` asks."""
        return len(self._by_value)

    def first_plain(self, md: bytes) -> GetRequest | None:
        """The request without a scan that this message answers.

        Those who can take few messages come before those who take any, and then the longest-waiting.
        """
        best: GetRequest | None = None
        if self.by_correlation_id:
            best = _earlier(best, self.by_correlation_id.get(md[72:96]), md)
        if self.by_message_id:
            best = _earlier(best, self.by_message_id.get(md[48:72]), md)
        return best if best is not None else self.any.head

    def everyone(self) -> list[GetRequest]:
        """All requests in the order in which they are to be served."""
        requests: list[GetRequest] = []
        lists = [self.any, *self.by_message_id.values(), *self.by_correlation_id.values()]
        lists.extend([group.requests for group in self.groups.values()])
        for waiting in lists:
            request = waiting.head
            while request is not None:
                requests.append(request)
                request = request.next
        requests.sort(key=_arrival)
        return requests


def _group_number(group: WaitGroup) -> int:
    return group.number


def _arrival(request: GetRequest) -> tuple[bool, int]:
    return request.kind == ANY, request.number


def _earlier(best: GetRequest | None, waiting: RequestList | None, md: bytes) -> GetRequest | None:
    if waiting is None:
        return best
    request = waiting.head
    while request is not None:
        if request.kind != BY_BOTH or request.correlation_id == md[72:96]:
            return request if best is None or request.number < best.number else best
        request = request.next
    return best


def _add_to(lists: dict[bytes, RequestList], key: bytes, request: GetRequest) -> None:
    waiting = lists.get(key)
    if waiting is None:
        waiting = RequestList()
        lists[key] = waiting
    waiting.add(request)


def _remove_from(lists: dict[bytes, RequestList], key: bytes, request: GetRequest) -> None:
    waiting = lists[key]
    waiting.remove(request)
    if waiting.head is None:
        del lists[key]
