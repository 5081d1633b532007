"""What an end of a channel needs of the world: a way to its partner, a clock to be woken by, and log space.

The server gives one over a socket; a simulation gives one over a network of its own making.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from enum import Enum

from mypy_extensions import i64, mypyc_attr


class EndReason(Enum):
    """The way in which an end of a channel has ended."""

    NORMAL = 0  # there was nothing more to do, or it was asked to stop
    RETRYABLE = 1  # a failure; the channel may retry
    PERMANENT = 2  # a failure that needs an operator before the channel can run again


@mypyc_attr(allow_interpreted_subclasses=True)
class ChannelPort(metaclass=ABCMeta):
    """One connection with the partner. All is called by the one owner of the engine."""

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Send a frame behind all that was sent before."""

    @abstractmethod
    def send_after(self, lsn: i64, data: bytes) -> None:
        """Send a frame when the log is durable up to an LSN. Those with the same LSN keep their order."""

    @abstractmethod
    def backlog_bytes(self) -> i64:
        """What was sent and is still on this side. `pump` is called when it has become little again."""

    @abstractmethod
    def schedule_pump(self) -> None:
        """Have `pump` called soon."""

    @abstractmethod
    def set_timer(self, milliseconds: i64) -> None:
        """Have `tick` called after that time. Only the last wish counts."""

    @abstractmethod
    def pause(self, is_paused: bool) -> None:
        """Hand over no more frames until told otherwise. The partner's silence does not count meanwhile."""

    @abstractmethod
    def make_room(self) -> None:
        """The log is full: have room made, and `room_tried` called when that was tried."""

    @abstractmethod
    def rekey(self) -> None:
        """All that was sent before goes out as it is; what follows goes under a new TLS handshake."""

    @abstractmethod
    def traffic_bytes(self) -> i64:
        """Bytes sent and received since the last TLS handshake; 0 without TLS."""

    @abstractmethod
    def silence_ms(self) -> i64:
        """How long nothing has come from the partner."""

    def now_us(self) -> i64:
        """A clock for differences; only those who watch a channel look at it (`monitoring.py`)."""
        return 0

    @abstractmethod
    def finish(self, end_reason: EndReason, reason: i64, text: str) -> None:
        """This end is over: close the connection when all is sent. `text` is for the operator, with an AMQ number."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Something for the operator that does not end the channel."""

    @abstractmethod
    def notify_changed(self) -> None:
        """The end is in another state: others may want to know."""
