"""What works a link that belongs to a message channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import i64, mypyc_attr

from ostler.server.net.timers import Timer

if TYPE_CHECKING:
    from ostler.server.net.reactor import Reactor


@mypyc_attr(allow_interpreted_subclasses=True)
class Agent(Timer):
    """The reactor gives it frames, time, and word of messages and room; all on its thread, under the engine's lock."""

    def __init__(self, reactor: Reactor) -> None:
        super().__init__()
        self.reactor = reactor
        self.is_marked = False  # among those that the reactor pumps next
        self.wants_room = False  # to be pumped when most of what it sent has gone

    def mark(self) -> None:
        """Be pumped at the end of the pass."""
        if not self.is_marked:
            self.is_marked = True
            self.reactor.pumping.append(self)

    def ring(self) -> None:
        """A message came, from another thread."""
        self.mark()
        self.reactor.wake()

    def frame(self, type: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        """A frame came, whole. MalformedFrame closes the link."""
        raise AssertionError("an agent without a purpose")

    def pump(self) -> None:
        """Messages may have come, or room was made."""
        raise AssertionError("an agent without a purpose")

    def closed(self, why: str) -> None:
        """The link is gone."""
        raise AssertionError("an agent without a purpose")

    def broke_down(self, error: Exception) -> None:
        """Something is wrong on this side."""
        raise AssertionError("an agent without a purpose")
