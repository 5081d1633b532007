"""A get or browse request, which also holds the answer and is itself what waits on a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.message.message import NULL_ID
from ostler.engine.queue.slots import NONE
from ostler.engine.selectors.selector import Selector, SelectorUse
from ostler.model import constants as mq

if TYPE_CHECKING:
    from ostler.engine.connection import Connection
    from ostler.engine.handle import Handle
    from ostler.engine.properties.properties import PropertySet

# How the message is found, decided once when a request is made.
ANY: Final = 0  # the first one
BY_MESSAGE_ID: Final = 1
BY_CORRELATION_ID: Final = 2
BY_BOTH: Final = 3
BY_SCAN: Final = 4  # group, sequence number, offset, token, selector, logical order, browse

BROWSE_OPTIONS: Final = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT | mq.MQGMO_BROWSE_MSG_UNDER_CURSOR
GROUP_OPTIONS: Final = (
    mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_COMPLETE_MSG | mq.MQGMO_ALL_MSGS_AVAILABLE | mq.MQGMO_ALL_SEGMENTS_AVAILABLE
)
UNDER_CURSOR: Final = mq.MQGMO_MSG_UNDER_CURSOR | mq.MQGMO_BROWSE_MSG_UNDER_CURSOR

UNLIMITED: Final = -1  # MQWI_UNLIMITED
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
        self.wants_stored = False  # return the properties as they are stored, unless the options say otherwise
        self.selector: Selector | None = None
        # Scanning the queue in slices, which not every caller supports. `scan_slot` was examined last.
        self.may_pause = False
        self.is_scanning = False
        self.scan_slot: i64 = NONE
        self.is_reading = False  # the scan goes on when a message has been read
        self.asking: object = None  # the get from a shared queue that the coupling facility has not answered yet
        self.plain_kind: i64 = BY_SCAN  # `kind` of a request that waits for a read as if it scanned
        self.must_rescan = False  # after this scan, because of a message that came meanwhile
        self.lock_slot_to_release: i64 = NONE  # the browse lock to release when it is done
        self.lock_seq_to_release: i64 = 0
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
        self.data_bytes: i64 = 0  # length of the whole message, also when it was truncated
        self.properties: PropertySet | None = None
        self.properties_bytes: bytes = b""  # encoded, as stored
        self.after_lsn: i64 = 0  # the answer may be returned when the journal is durable up to here
        self.wants_token = False
        self.wants_extension = False  # as MQMDE in the data, because the descriptor asked for is of version 1
        self.returned_token: bytes = _NO_TOKEN
        self.group_status: i64 = 0x20
        self.segment_status: i64 = 0x20
        self.segmentation: i64 = 0x20
        # While segments are joined to one message: their slots, and the unit of work in which they leave the queue.
        self.slots: list[int] = []
        self.joined_unit: i64 = 0
        self.joined_logged = False
        self.waker: object = None  # belongs to the owner, who is to wake it when the request is done


@final
class RequestList:
    """Waiting requests in order of arrival. Removing any of them is O(1)."""

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
    """The requests that wait on one queue with the same selector, which is evaluated once for all of them.

    Requests for message groups, or for the message under the cursor, are in one group whatever their selectors. Each of
    them `must_scan` the queue again: a new message alone does not decide what it may have.
    """

    def __init__(self, key: str, selector: Selector | None, number: i64, use: SelectorUse, must_scan: bool) -> None:
        self.key = key
        self.selector = selector
        self.number: i64 = number
        self.use = use  # of the application that waited first
        self.must_scan = must_scan
        self.requests = RequestList()
