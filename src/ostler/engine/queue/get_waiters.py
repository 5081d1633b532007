"""Requests that wait on a queue, found by the messages they wait for.

The `GetRequest` itself is what waits, so a waiting get costs no more than its place in a list.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.properties.property_values import PropertySource, Value
from ostler.engine.queue.get_request import (
    ANY,
    BY_BOTH,
    BY_CORRELATION_ID,
    BY_MESSAGE_ID,
    BY_SCAN,
    GROUP_OPTIONS,
    UNDER_CURSOR,
    GetRequest,
    RequestList,
    WaitGroup,
)
from ostler.engine.queue.slots import NONE
from ostler.engine.selectors.selector import Selector

# Waiting requests with selectors that begin with `property = value` are found by the value, for so many properties.
INDEXED_NAMES_MAX: Final = 64
_NO_SELECTOR: Final = "\0"
_MUST_SCAN: Final = "\0\0"


@final
class Offer:
    """A message that has become available and is offered to the requests that wait with selectors, group by group.

    Any get may take the message meanwhile; then the offer is void.
    """

    def __init__(self, slot: i64, seq: i64) -> None:
        self.slot: i64 = slot
        self.seq: i64 = seq
        self.source: PropertySource | None = None
        self.groups: list[WaitGroup] = []
        self.at: i64 = 0  # in `groups`
        self.is_selected = False  # by the selector of that group
        self.asked: i64 = 0  # requests of that group up to this number were asked
        self.last: i64 = 0  # requests with higher numbers came later and have scanned the queue themselves


@final
class ScanTurns:
    """The requests whose scan of a queue goes on. Connections take turns, however many requests each has."""

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
        """Remove and return the request whose turn it is, or None."""
        for number in self._turns:
            turns = self._turns.pop(number)
            request = turns.pop(0)
            if turns:
                self._turns[number] = turns
            self.count -= 1
            return request
        return None


@final
class GetWaiters:
    """The gets and browses that wait on one queue, indexed by what they wait for (MQGET, MQGMO_WAIT)."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.numbered: i64 = 0
        self.any = RequestList()
        self.by_message_id: dict[bytes, RequestList] = {}
        self.by_correlation_id: dict[bytes, RequestList] = {}
        self.selective: i64 = 0  # requests that are in groups
        self.groups: dict[str, WaitGroup] = {}
        self.scanning: dict[int, GetRequest] = {}  # by number: those whose scan goes on
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
            key = _MUST_SCAN
        else:
            key = selector.text if selector is not None else _NO_SELECTOR
        group = self.groups.get(key)
        if group is None:
            group = WaitGroup(key, selector, self.numbered, request.connection.selector_use, key == _MUST_SCAN)
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
        request.scan_slot = NONE  # it is no longer moved when the message there is removed
        request.is_reading = False
        if request.plain_kind != BY_SCAN:
            request.kind = request.plain_kind
            request.plain_kind = BY_SCAN
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
        """Note that the scan of a waiting request goes on."""
        request.is_scanning = True
        self.scanning[request.number] = request

    def end_scan(self, request: GetRequest) -> None:
        request.is_scanning = False
        self.scanning.pop(request.number, None)

    def candidates(self, source: PropertySource) -> list[WaitGroup]:
        """Return the groups whose selectors a message may match, the longest waiting first."""
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

    def indexed_properties(self) -> int:
        """Return the number of properties that `candidates` reads."""
        return len(self._by_value)

    def first_plain(self, md: bytes) -> GetRequest | None:
        """Return the request without a scan that this message answers.

        Requests by identifier come before requests for any message, and among each the longest-waiting comes first.
        """
        best: GetRequest | None = None
        if self.by_correlation_id:
            best = _earlier(best, self.by_correlation_id.get(md[72:96]), md)
        if self.by_message_id:
            best = _earlier(best, self.by_message_id.get(md[48:72]), md)
        return best if best is not None else self.any.head

    def in_service_order(self) -> list[GetRequest]:
        """Return all requests in the order in which they are to be served."""
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
