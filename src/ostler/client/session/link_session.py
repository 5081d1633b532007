"""A session over a link, as its queues and subscriptions use it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from ostler.client.link.link import Link, PendingRequest
from ostler.client.session.session import OpenQueue, OpenSubscription, Session
from ostler.model.errors import MQError


class LinkSession(Session):
    """The requests and the unit of work of a session over a link."""

    link: Link
    conversation: int
    waiting: set[PendingRequest]  # gets
    is_interrupted: bool
    abandoned_gets: list[PendingRequest]  # of the unit of work, interrupted before their reply was seen
    unit_size: int

    @property
    @abstractmethod
    def generation(self) -> int:
        """The number of the current link; see `reconnect`."""

    @abstractmethod
    def is_usable(self) -> bool:
        """Return whether a verb can succeed: the link works or may be replaced."""

    @abstractmethod
    async def ensure_link(self) -> None:
        """Raise MQError if the connection is closed or broken; reconnect if there is no link."""

    @abstractmethod
    async def reconnect(self, error: MQError, generation: int) -> None:
        """Replace a broken link. Raises MQError when the session does not reconnect or reconnection fails."""

    @abstractmethod
    async def call(
        self, type: int, build: Callable[[], bytes], in_unit: bool = False, must_not_repeat: bool = False
    ) -> bytes:
        """Send a request and return its reply, over a new link if need be.

        `build` encodes the payload for each attempt, as handles change with the link. `in_unit`: the request is part of
        the unit of work, which ends with its link. `must_not_repeat`: the request must not be executed twice.
        """

    @abstractmethod
    def ending_error(self, reply: bytes) -> MQError | None:
        """Return the error of a reply that reports the end of the queue manager, else None.

        The request was not executed then, and the session reconnects.
        """

    @abstractmethod
    async def resolve_abandoned_gets(self, in_unit: bool) -> None:
        """Back out the unit of work if one of its interrupted gets has got a message that the program has not seen.

        A unit that did nothing else is forgotten. Any other counts as backed out by the queue manager: the next verb of
        the program in it ends with MQRC_BACKED_OUT.
        """

    @abstractmethod
    def check_unit(self) -> None:
        """Raise MQRC_BACKED_OUT when the unit of work was backed out."""

    @abstractmethod
    def check_level(self, level: int) -> None:
        """Raise MQError if a publication cannot have this level."""

    @abstractmethod
    def check_length(self, body: bytes) -> None:
        """Raise MQError if a message is too long for the channel."""

    @abstractmethod
    def forget_queue(self, queue: OpenQueue) -> None:
        """Do not reopen a queue after reconnection: it is closed."""

    @abstractmethod
    def forget_subscription(self, subscription: OpenSubscription) -> None:
        """Do not restore a subscription after reconnection: it is closed."""
