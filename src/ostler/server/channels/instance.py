"""One instance of a message channel, as the queue manager keeps it, and what DISPLAY CHSTATUS shows of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from mypy_extensions import i64

from ostler.channel.batch import Figures
from ostler.channel.negotiation import number_of
from ostler.channel.retrying import Retries
from ostler.channel.states import INACTIVE, RETRYING, STOPPED, after
from ostler.engine.connection import Connection
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.constants import MQMON_OFF
from ostler.model.definitions import Definition
from ostler.server.channels.mca import MessageAgent
from ostler.server.channels.outbound import Attempt
from ostler.server.net.timers import Timer

if TYPE_CHECKING:
    from collections.abc import Callable

# Types of channels: that connect by themselves, that send, that receive.
CALLING: Final = ("SDR", "SVR", "RQSTR")
SENDING: Final = ("SDR", "SVR")
RECEIVING: Final = ("RCVR", "RQSTR")
# States in which nothing goes on.
AT_REST: Final = (INACTIVE, STOPPED, RETRYING)

_NO_FIGURES: Final = Figures()
_WELL_MS: Final = 10_000


class RetryTimer(Timer):
    """Wakes a channel that waits to be tried again."""

    def __init__(self, due: Callable[[], None]) -> None:
        super().__init__()
        self._due = due

    def fire(self, now_ms: i64) -> None:
        self._due()


class Instance:
    """A channel that runs, tries to, waits or was stopped."""

    def __init__(self, definition: Definition, is_called: bool) -> None:
        self.definition = definition
        self.name = definition.name
        self.kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
        self.is_called = is_called  # the partner has connected to it
        self.state: int = INACTIVE
        self.retries = Retries(
            number_of(definition, "SHORTRTY", 0),
            number_of(definition, "SHORTTMR", 60),
            number_of(definition, "LONGRTY", 0),
            number_of(definition, "LONGTMR", 1200),
        )
        self.timer: RetryTimer | None = None
        self.attempt: Attempt | None = None
        self.agent: MessageAgent | None = None
        self.connection: Connection | None = None  # a sending end's, with its transmission queue
        self.partner = ""
        self.address = ""
        self.user = ""
        self.monitoring: int = MQMON_OFF
        self.started_ms = 0
        self.status_after = ""  # a stop was asked for: STOPPED or INACTIVE
        self.was_told = False  # that it started

    def happens(self, event: int) -> None:
        """Go where an event leads."""
        self.state = after(self.state, event)

    def went_well(self) -> bool:
        """Whether it did what it is there for, or ran for a while: to have connected is not enough.

        What ends a channel right after each start, such as a message that nobody takes, uses up its retries.
        """
        if not self.was_told:
            return False  # it has not started since it was tried last
        return self.figures().batches > 0 or (self.started_ms > 0 and now_ms() - self.started_ms > _WELL_MS)

    @property
    def is_receiving(self) -> bool:
        return self.agent is not None and self.agent.receiving is not None

    @property
    def host(self) -> str:
        return self.address.partition("(")[0]

    def figures(self) -> Figures:
        agent = self.agent
        if agent is None:
            return _NO_FIGURES
        if agent.sending is not None:
            return agent.sending.figures
        return agent.receiving.figures if agent.receiving is not None else _NO_FIGURES


def now_ms() -> int:
    return int(time.time() * 1000)
