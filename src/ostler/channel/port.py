"""The port of a channel end: its connection with the partner, timers and log space.

The server implements it over a socket, the simulation of the tests over a simulated network.
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
    """One connection with the partner. The owner of the engine makes all calls."""

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Send a frame after all frames that were sent before."""

    @abstractmethod
    def send_after(self, lsn: i64, data: bytes) -> None:
        """Send a frame once the log is durable up to an LSN. Frames with the same LSN keep their order."""

    @abstractmethod
    def backlog_bytes(self) -> i64:
        """Return the bytes that are not yet sent. `pump` is called when they have become few."""

    @abstractmethod
    def schedule_pump(self) -> None:
        """Have `pump` called soon."""

    @abstractmethod
    def set_timer(self, milliseconds: i64) -> None:
        """Have `on_timer` called after this time. There is one timer: a later call replaces an earlier one."""

    @abstractmethod
    def pause(self, is_paused: bool) -> None:
        """Stop or resume the delivery of frames. The silence of the partner is not measured while it is stopped."""

    @abstractmethod
    def make_room(self) -> None:
        """Have space made in a full log. `on_room_made` is called afterwards, whether that succeeded or not."""

    @abstractmethod
    def rekey(self) -> None:
        """Start a new TLS handshake. Frames sent before use the old keys, later ones the new keys."""

    @abstractmethod
    def traffic_bytes(self) -> i64:
        """Return the bytes sent and received since the last TLS handshake; 0 without TLS."""

    @abstractmethod
    def silence_ms(self) -> i64:
        """Return the time since the last data from the partner."""

    def now_us(self) -> i64:
        """Return a monotonic time for differences; only `monitoring.py` reads it."""
        return 0

    @abstractmethod
    def finish(self, end_reason: EndReason, reason: i64, text: str) -> None:
        """End the channel: close the connection when all is sent. `text` is an operator message with an AMQ number."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Write an operator message that does not end the channel."""

    @abstractmethod
    def notify_changed(self) -> None:
        """Report that the state of the end has changed."""
