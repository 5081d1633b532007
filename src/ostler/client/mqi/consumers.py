"""Registered callbacks: their options, and the arguments of their calls."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple

from ostler.client.mqi.put_get import completion, return_descriptor
from ostler.model import constants as mq
from ostler.model.structures.consuming import MQCBC
from ostler.model.structures.gmo import GMO_OPTIONS, GMO_WAIT_INTERVAL

Callback = Callable[[int, bytearray, bytearray, bytes, bytearray], object]
"""function(hconn, md, gmo, buffer, cbc). Control calls and events have an empty buffer."""

BROWSE: Final = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT
FULL_LENGTH: Final = 0x7FFFFFFF

# The fields of MQCBC from CallType to BufferLength, which follow one another.
_CONTEXT: Final = Struct("<iiQQiiiii")
_CONTEXT_AT: Final = MQCBC.offset("CallType")
_BLANK_CONTEXT: Final = bytes(MQCBC.default())


class Delivery(NamedTuple):
    """The result of a get for a consumer: a message, or (with an empty descriptor) the reason why there is none."""

    reason: int
    md: bytes = b""
    gmo: bytes = b""
    body: bytes = b""
    data_bytes: int = 0


class CallbackConsumer:
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
        self.started = False  # its start call is done, or was not wanted
        self.fault = 0  # the last failure that was reported to it
        self.retry_at = 0.0  # time of the next try after a temporary failure
        self.waits_until = 0.0  # time to report MQRC_NO_MSG_AVAILABLE
        self.is_empty_reported = False
        self.has_browsed = False

    @property
    def is_event_handler(self) -> bool:
        return self.hobj == mq.MQHO_NONE

    @property
    def get_options(self) -> int:
        """The get options of the next get: MQGMO_BROWSE_FIRST with MQGMO_BROWSE_NEXT becomes one of the two."""
        options = int.from_bytes(self.gmo[GMO_OPTIONS : GMO_OPTIONS + 4], "little", signed=True)
        if options & BROWSE == BROWSE:
            options &= ~(mq.MQGMO_BROWSE_FIRST if self.has_browsed else mq.MQGMO_BROWSE_NEXT)
        return options

    @property
    def is_browsing(self) -> bool:
        return self.get_options & BROWSE != 0

    @property
    def fails_if_quiescing(self) -> bool:
        return self.get_options & mq.MQGMO_FAIL_IF_QUIESCING != 0

    @property
    def wait_seconds(self) -> float | None:
        """The wait interval until MQRC_NO_MSG_AVAILABLE is reported; None when it is not to be reported."""
        if not self.get_options & mq.MQGMO_WAIT:
            return None
        interval = int.from_bytes(self.gmo[GMO_WAIT_INTERVAL : GMO_WAIT_INTERVAL + 4], "little", signed=True)
        return None if interval < 0 else interval / 1000

    def begin_wait(self, now: float) -> bool:
        """Return whether it waits for a limited time, and set the end of the wait in `waits_until`."""
        seconds = self.wait_seconds
        if seconds is None or (seconds == 0 and self.is_empty_reported):
            return False
        if self.waits_until == 0:
            self.waits_until = now + seconds
        return True

    def prepare_call(self, delivery: Delivery) -> tuple[bytearray, bytearray, int]:
        """Return descriptor, get options and call type for a delivered message."""
        self.has_browsed = True
        md = bytearray(self.md)
        return_descriptor(md, delivery.md)
        is_removed = not self.is_browsing and delivery.reason != mq.MQRC_TRUNCATED_MSG_FAILED
        return md, bytearray(delivery.gmo), mq.MQCBCT_MSG_REMOVED if is_removed else mq.MQCBCT_MSG_NOT_REMOVED


def consumer_state_after(reason: int) -> int:
    """Return the state (MQCS) of a consumer after a failed get."""
    if reason == mq.MQRC_GET_INHIBITED:
        return mq.MQCS_SUSPENDED_TEMPORARY
    if reason in (mq.MQRC_BACKED_OUT, mq.MQRC_SYNCPOINT_LIMIT_REACHED):
        return mq.MQCS_SUSPENDED_USER_ACTION
    return mq.MQCS_SUSPENDED


def new_context(
    consumer: CallbackConsumer,
    area: int,
    call_type: int,
    hobj: int,
    reason: int,
    state: int,
    data_bytes: int = 0,
    buffer_bytes: int = 0,
) -> bytearray:
    """Return the MQCBC of a call. It is packed in one step, as there is one for each message."""
    cbc = bytearray(_BLANK_CONTEXT)
    code = mq.MQCC_OK if reason == mq.MQRC_RECONNECTED else completion(reason)
    _CONTEXT.pack_into(
        cbc, _CONTEXT_AT, call_type, hobj, consumer.area, area, code, reason, state, data_bytes, buffer_bytes
    )
    return cbc
