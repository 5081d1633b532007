"""A get or browse on its way: what was asked, and once it is done, the answer.

The request itself is what waits on a queue, so a waiting get costs nothing more than a get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.message import NULL_ID
from ostler.engine.selector import Selector

if TYPE_CHECKING:
    from ostler.engine.connection import Connection, Handle
    from ostler.engine.properties import PropertySet

# What a request looks for, decided once when it is made.
ANY: Final = 0  # whatever comes first
BY_MESSAGE_ID: Final = 1
BY_CORRELATION_ID: Final = 2
BY_BOTH: Final = 3
BY_SCAN: Final = 4  # group, sequence number, offset, token, selector, logical order, browse

UNLIMITED: Final = -1
_NO_TOKEN: Final = bytes(16)


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
        # While it waits.
        self.waiting = False
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
class WaitingRoom:
    """The requests that wait on one queue, found by what they wait for."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.numbered: i64 = 0
        self.any = RequestList()
        self.by_message_id: dict[bytes, RequestList] = {}
        self.by_correlation_id: dict[bytes, RequestList] = {}
        self.scanning = RequestList()

    def add(self, request: GetRequest) -> None:
        self.count += 1
        self.numbered += 1
        request.number = self.numbered
        request.waiting = True
        if request.kind == ANY:
            self.any.add(request)
        elif request.kind == BY_CORRELATION_ID:
            _add_to(self.by_correlation_id, request.correlation_id, request)
        elif request.kind == BY_MESSAGE_ID or request.kind == BY_BOTH:
            _add_to(self.by_message_id, request.message_id, request)
        else:
            self.scanning.add(request)

    def remove(self, request: GetRequest) -> None:
        if not request.waiting:
            return
        self.count -= 1
        request.waiting = False
        if request.kind == ANY:
            self.any.remove(request)
        elif request.kind == BY_CORRELATION_ID:
            _remove_from(self.by_correlation_id, request.correlation_id, request)
        elif request.kind == BY_MESSAGE_ID or request.kind == BY_BOTH:
            _remove_from(self.by_message_id, request.message_id, request)
        else:
            self.scanning.remove(request)

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
        lists = [self.any, self.scanning, *self.by_message_id.values(), *self.by_correlation_id.values()]
        for waiting in lists:
            request = waiting.head
            while request is not None:
                requests.append(request)
                request = request.next
        requests.sort(key=_arrival)
        return requests


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
