"""The base of the agents that handle links of message channels: the reactor's side of a message channel agent (MCA)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import i64, mypyc_attr

from ostler.server.net.timers import Timer

if TYPE_CHECKING:
    from ostler.server.net.reactor import Reactor


@mypyc_attr(allow_interpreted_subclasses=True)
class LinkAgent(Timer):
    """Handles the frames of one link, its timer, and wake-ups for new messages and free buffer space.

    The reactor calls every method on its own thread, under the engine's lock.
    """

    def __init__(self, reactor: Reactor) -> None:
        super().__init__()
        self.reactor = reactor
        self.is_marked = False  # among those that the reactor pumps next
        self.wants_room = False  # to be pumped when most of its output has been sent
        self.takes_bytes = False  # the link speaks another protocol than ours: `receive_bytes` instead of frames

    def mark(self) -> None:
        """Have `pump` called at the end of this pass of the reactor."""
        if not self.is_marked:
            self.is_marked = True
            self.reactor.pumping.append(self)

    def notify(self) -> None:
        """Wake the reactor, because a message has arrived from another thread."""
        self.mark()
        self.reactor.wake()

    def has_instance(self) -> bool:
        """Return True if a channel instance uses the link, False if it only carries a ping."""
        raise AssertionError("LinkAgent is abstract")

    def receive_frame(self, type: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        """Handle one complete frame. MalformedFrame closes the link."""
        raise AssertionError("LinkAgent is abstract")

    def receive_bytes(self, data: bytes) -> None:
        """Handle bytes of a link that speaks another protocol."""
        raise AssertionError("this agent takes frames")

    def pump(self) -> None:
        """Send more, because messages may have arrived or buffer space has become free."""
        raise AssertionError("LinkAgent is abstract")

    def on_closed(self, why: str) -> None:
        """Release everything: the link is closed."""
        raise AssertionError("LinkAgent is abstract")

    def on_internal_error(self, error: Exception) -> None:
        """End the channel, because code on this side has failed."""
        raise AssertionError("LinkAgent is abstract")
