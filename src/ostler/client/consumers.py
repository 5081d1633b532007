"""A registered callback: what it wants to be called for, and the get requests it stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.client import message_handles
from ostler.client.mqi import Bound, completion, get_request, return_descriptor, returned_options
from ostler.engine.core import RUNNING
from ostler.engine.get import new_request
from ostler.engine.get_request import UNLIMITED, GetRequest
from ostler.engine.selection import GROUP_OPTIONS
from ostler.model.constants import (
    MQCBCT_MSG_NOT_REMOVED,
    MQCBCT_MSG_REMOVED,
    MQCS_SUSPENDED,
    MQCS_SUSPENDED_TEMPORARY,
    MQCS_SUSPENDED_USER_ACTION,
    MQGMO_BROWSE_FIRST,
    MQGMO_BROWSE_NEXT,
    MQGMO_FAIL_IF_QUIESCING,
    MQGMO_WAIT,
    MQHO_NONE,
    MQRC_BACKED_OUT,
    MQRC_GET_INHIBITED,
    MQRC_SYNCPOINT_LIMIT_REACHED,
    MQRC_TRUNCATED_MSG_FAILED,
)
from ostler.model.structures.consuming import MQCBC
from ostler.model.structures.gmo import GMO_OPTIONS, GMO_WAIT_INTERVAL

Callback = Callable[[int, bytearray, bytearray, bytes, bytearray], object]
"""function(hconn, md, gmo, buffer, cbc). Control calls and events have an empty buffer."""

BROWSE: Final = MQGMO_BROWSE_FIRST | MQGMO_BROWSE_NEXT
FULL_LENGTH: Final = 0x7FFFFFFF
# No message is this short, so a request with this limit is answered, but takes nothing.
_TAKES_NOTHING: Final = -(1 << 40)


class Consumer:
    """A message consumer, or (with the handle MQHO_NONE) the event handler of a connection."""

    def __init__(self, hobj: int, function: Callback, options: int, area: int) -> None:
        self.hobj = hobj
        self.function = function
        self.options = options
        self.area = area
        self.md = b""
        self.gmo = b""
        self.bytes_max = FULL_LENGTH
        self.suspended = False
        self.started = False  # it had its start call, or would have had it
        self.fault = 0  # the last failure it was told
        self.retry_at = 0.0  # after a passing failure: when to try again
        self.waits_until = 0.0  # when to tell it that nothing came
        self.told_empty = False
        self._browsed = False

    @property
    def is_event_handler(self) -> bool:
        return self.hobj == MQHO_NONE

    @property
    def get_options(self) -> int:
        """The get options of this moment: "first and next" begins with first and goes on with next."""
        options = int.from_bytes(self.gmo[GMO_OPTIONS : GMO_OPTIONS + 4], "little", signed=True)
        if options & BROWSE == BROWSE:
            options &= ~(MQGMO_BROWSE_FIRST if self._browsed else MQGMO_BROWSE_NEXT)
        return options

    @property
    def is_browsing(self) -> bool:
        return self.get_options & BROWSE != 0

    @property
    def fails_if_quiescing(self) -> bool:
        return self.get_options & MQGMO_FAIL_IF_QUIESCING != 0

    @property
    def wait_seconds(self) -> float | None:
        """How long it waits before it is told that nothing came; None when it wants no such call."""
        if not self.get_options & MQGMO_WAIT:
            return None
        interval = int.from_bytes(self.gmo[GMO_WAIT_INTERVAL : GMO_WAIT_INTERVAL + 4], "little", signed=True)
        return None if interval < 0 else interval / 1000

    def begin_wait(self, now: float) -> bool:
        """Whether it waits for a limited time only; its end is then in `waits_until`."""
        seconds = self.wait_seconds
        if seconds is None or (seconds == 0 and self.told_empty):
            return False
        if self.waits_until == 0:
            self.waits_until = now + seconds
        return True

    def request(self, bound: Bound, waits: bool) -> GetRequest:
        """A get for the next message, to be answered at once or to be left waiting until somebody withdraws it."""
        request = get_request(bound, self.hobj, self.md, self.gmo, self.bytes_max)
        request.options = self.get_options & ~MQGMO_WAIT
        request.wait_ms = 0
        if waits:
            request.options |= MQGMO_WAIT
            request.wait_ms = UNLIMITED
            if bound.engine.state == RUNNING:
                # Whether it wants to fail then or not, the event handler has to be told.
                request.options |= MQGMO_FAIL_IF_QUIESCING
        return request

    def watch(self, bound: Bound) -> GetRequest:
        """A request that is answered when there is a message for this consumer, and leaves it on the queue.

        While several consumers wait on one connection none may take a message beforehand: the callback of another
        one would commit it. The limit on its length, which no message keeps, makes the request harmless, and it is no
        browse, so that it leaves the cursor alone too.
        """
        model = get_request(bound, self.hobj, self.md, self.gmo, 0)
        watch = new_request(
            model.connection,
            model.handle,
            self.get_options & GROUP_OPTIONS | MQGMO_WAIT | MQGMO_FAIL_IF_QUIESCING,
            model.match,
            model.message_id,
            model.correlation_id,
            0,
        )
        watch.group_id = model.group_id
        watch.sequence_number = model.sequence_number
        watch.offset = model.offset
        watch.token = model.token
        watch.max_bytes = _TAKES_NOTHING
        return watch

    def answered(self, bound: Bound, request: GetRequest) -> tuple[bytearray, bytearray, int]:
        """The descriptor and options of a delivered message, and the type of the call."""
        self._browsed = True
        md = bytearray(self.md)
        return_descriptor(md, request.md)
        found = request.properties
        if found is not None:
            message_handles.fill_handle(bound.connection.message_handles, found.properties, request.md, self.gmo)
        is_removed = not self.is_browsing and request.reason != MQRC_TRUNCATED_MSG_FAILED
        gmo = bytearray(returned_options(request, self.gmo))
        return md, gmo, MQCBCT_MSG_REMOVED if is_removed else MQCBCT_MSG_NOT_REMOVED


def state_after(reason: int) -> int:
    """What a failed get leaves its consumer in: to be tried again, in need of the callback's help, or suspended."""
    if reason == MQRC_GET_INHIBITED:
        return MQCS_SUSPENDED_TEMPORARY
    if reason in (MQRC_BACKED_OUT, MQRC_SYNCPOINT_LIMIT_REACHED):
        return MQCS_SUSPENDED_USER_ACTION
    return MQCS_SUSPENDED


def new_context(consumer: Consumer, area: int, call_type: int, hobj: int, reason: int, state: int) -> bytearray:
    """The MQCBC that says why a callback is called."""
    cbc = MQCBC.default()
    for field, value in (
        ("CallType", call_type),
        ("Hobj", hobj),
        ("CallbackArea", consumer.area),
        ("ConnectionArea", area),
        ("CompCode", completion(reason)),
        ("Reason", reason),
        ("State", state),
    ):
        MQCBC.patch(cbc, field, value)
    return cbc
