"""A connection as the dispatcher of its callbacks sees it, whether its queue manager is in this process or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ostler.client.mqi.consumers import Consumer, Delivery

Answers = list[tuple[Consumer, Delivery]]


class ConsumerPort(ABC):
    def __init__(self, hconn: int) -> None:
        self.hconn = hconn

    # -- for the dispatcher -------------------------------------------------------------------------------------------

    @abstractmethod
    def open(self, is_inside: Callable[[], bool]) -> None:
        """Callbacks are about to be registered. `is_inside` tells whether the calling thread is in one of them."""

    @abstractmethod
    def close(self) -> None:
        """There are none any more."""

    @abstractmethod
    def set_consuming(self, is_consuming: bool) -> None:
        """Whether the connection belongs to the callbacks: other threads cannot use it then."""

    @abstractmethod
    def broken(self) -> int:
        """The reason why nothing will be delivered any more, or 0."""

    @abstractmethod
    def is_quiescing(self) -> bool: ...

    @abstractmethod
    def next(self, active: list[Consumer], seconds: float | None) -> Answers:
        """Wait for something for one of the consumers, the first one first. Nothing comes back when it was rung, or
        the time was up. Consumers whose own wait is over are told that there is no message."""

    @abstractmethod
    def ring(self) -> None:
        """Have `next` return. From any thread; never blocks."""

    # -- for MQCB and MQCTL -------------------------------------------------------------------------------------------

    @abstractmethod
    def has_handle(self, hobj: int) -> bool: ...

    @abstractmethod
    def check_gets(self, consumer: Consumer) -> None:
        """MQError when no get of this consumer could succeed, by its structures, its options or its handle."""

    @abstractmethod
    def check_quiescing(self, fail_if_quiescing: bool) -> None:
        """MQError when the queue manager ends, or (if that matters) is about to."""

    @abstractmethod
    def has_unit_of_work(self) -> bool: ...
