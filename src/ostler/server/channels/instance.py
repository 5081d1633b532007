"""One instance of a message channel, with the values that DISPLAY CHSTATUS shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import i64

from ostler.channel.batch import ChannelCounters
from ostler.channel.group.group_sender import GroupSenderPosition, StartedBy
from ostler.channel.negotiation import number_of
from ostler.channel.retrying import RetryCounter
from ostler.channel.states import INACTIVE, RETRYING, STOPPED, next_state
from ostler.engine.connection import Connection
from ostler.engine.task import EngineTask
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.definitions import Definition
from ostler.server.channels.mca import ChannelAgent
from ostler.server.channels.outbound import ConnectAttempt
from ostler.server.net.timers import Timer

if TYPE_CHECKING:
    from collections.abc import Callable

# Channel types that connect to the partner, that send, and that receive.
CALLER_TYPES: Final = ("SDR", "SVR", "RQSTR")
SENDER_TYPES: Final = ("SDR", "SVR")
RECEIVER_TYPES: Final = ("RCVR", "RQSTR")
# States without a connection, or an attempt to make one.
IDLE_STATES: Final = (INACTIVE, STOPPED, RETRYING)

_NO_COUNTERS: Final = ChannelCounters()
_STABLE_MS: Final = 10_000


class RetryTimer(Timer):
    """Calls a function when the retry interval of a channel is over."""

    def __init__(self, due: Callable[[], None]) -> None:
        super().__init__()
        self._due = due

    def fire(self, now_ms: i64) -> None:
        self._due()


class ChannelInstance:
    """A channel that runs, starts, retries or is stopped."""

    def __init__(self, definition: Definition, is_inbound: bool) -> None:
        self.definition = definition
        self.name = definition.name
        self.kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
        self.is_inbound = is_inbound  # the partner has connected
        self.state: int = INACTIVE
        self.retries = RetryCounter(
            number_of(definition, "SHORTRTY", 0),
            number_of(definition, "SHORTTMR", 60),
            number_of(definition, "LONGRTY", 0),
            number_of(definition, "LONGTMR", 1200),
        )
        self.timer: RetryTimer | None = None
        self.attempt: ConnectAttempt | None = None
        self.agent: ChannelAgent | None = None
        self.connection: Connection | None = None  # of a sending end, with its transmission queue open
        self.disposition = "PRIVATE"  # CHLDISP: PRIVATE, SHARED or FIXSHARED
        self.position: GroupSenderPosition | None = None  # of a sending end, unless it is PRIVATE
        self.started_by = StartedBy.OPERATOR
        self.location: str | None = None  # of the position, when it is known: empty, or why it is not to be had
        self.is_elsewhere = False  # another member runs it
        self.partner = ""
        self.address = ""
        self.user = ""
        self.monitoring: int = mq.MQMON_OFF
        self.started_ms = 0
        self.status_after = ""  # STATUS of a pending STOP CHANNEL: STOPPED or INACTIVE
        self.is_start_reported = False  # the event Channel Started was sent

    def apply(self, event: int) -> None:
        """Change the state by an event of `states.py`."""
        self.state = next_state(self.state, event)

    def made_progress(self, wall_ms: int) -> bool:
        """Return True if a batch was committed or the channel ran for a while, so that the retry counts are reset.

        A mere connection is not enough: a cause that ends the channel after each start, such as a message that cannot
        be put, uses up the retries.
        """
        if not self.is_start_reported:
            return False  # it has not started since the last attempt
        return self.counters().batches > 0 or (self.started_ms > 0 and wall_ms - self.started_ms > _STABLE_MS)

    @property
    def is_group(self) -> bool:
        """True for CHLDISP(SHARED) and CHLDISP(FIXSHARED)."""
        return self.disposition != "PRIVATE"

    def opening(self) -> EngineTask | None:
        """Return the task of a transmission queue that is being opened; None if it is open."""
        for handle in self.connection.handles.values() if self.connection is not None else ():
            return handle.opening
        return None

    @property
    def is_receiving(self) -> bool:
        return self.agent is not None and self.agent.receiving is not None

    @property
    def host(self) -> str:
        return self.address.partition("(")[0]

    def counters(self) -> ChannelCounters:
        agent = self.agent
        if agent is None:
            return _NO_COUNTERS
        if agent.sending is not None:
            return agent.sending.counters
        return agent.receiving.counters if agent.receiving is not None else _NO_COUNTERS
