"""The port between the dispatcher of callbacks and a connection, for every binding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ostler.client.mqi.consumers import CallbackConsumer, Delivery

Answers = list[tuple[CallbackConsumer, Delivery]]


class ConsumerPort(ABC):
    def __init__(self, hconn: int) -> None:
        self.hconn = hconn

    # -- for the dispatcher -------------------------------------------------------------------------------------------

    @abstractmethod
    def open(self, is_inside: Callable[[], bool]) -> None:
        """Prepare for callbacks. `is_inside` returns whether the calling thread is in one of them."""

    @abstractmethod
    def close(self) -> None:
        """Release the connection: no callback is registered any more."""

    @abstractmethod
    def set_consuming(self, is_consuming: bool) -> None:
        """Set whether callbacks own the connection. Other threads cannot use it then."""

    @abstractmethod
    def broken(self) -> int:
        """Return the reason of a broken connection, or 0."""

    @abstractmethod
    def is_quiescing(self) -> bool: ...

    @abstractmethod
    def next(self, active: list[CallbackConsumer], seconds: float | None) -> Answers:
        """Wait for a message for one of the consumers; the first has precedence.

        The result is empty when the wait was interrupted or the time is up. Consumers whose own wait is over get
        MQRC_NO_MSG_AVAILABLE.
        """

    @abstractmethod
    def wake(self) -> None:
        """Interrupt `next`. May be called from any thread; never blocks."""

    # -- for MQCB and MQCTL -------------------------------------------------------------------------------------------

    @abstractmethod
    def has_handle(self, hobj: int) -> bool: ...

    @abstractmethod
    def check_gets(self, consumer: CallbackConsumer) -> None:
        """Raise MQError when structures, options or handle of this consumer rule out every get."""

    @abstractmethod
    def check_quiescing(self, fail_if_quiescing: bool) -> None:
        """Raise MQError when the queue manager is stopping, or, with `fail_if_quiescing`, quiescing."""

    @abstractmethod
    def has_unit_of_work(self) -> bool: ...

    @abstractmethod
    def count_call(self, call: int, operation: int, hobj: int, is_done: bool) -> None:
        """Have the queue manager count an MQCB or MQCTL (`subscription_calls`). Never raises."""
