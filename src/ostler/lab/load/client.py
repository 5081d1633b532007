"""What a load is made of: clients that turn received bytes into bytes to send, and a pace they all keep.

A client knows its protocol and nothing of sockets, so that one thread can drive hundreds of them, and so that the cost
of driving is about the same whatever the protocol is.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr


class LoadFailed(Exception):
    """A broker answered what it should not have, or not at all; the words say what."""


class Pace:
    """Whether requesters go on with another request, how many still wait, and how long replies took."""

    def __init__(self) -> None:
        self.goes_on = False
        self.active = 0
        self.latencies_ns: list[int] = []


@mypyc_attr(allow_interpreted_subclasses=True)
class LoadClient:
    """One connection. Requesters send when they are begun, and again with every reply; responders only answer."""

    def __init__(self, pace: Pace, is_requester: bool) -> None:
        self.pace = pace
        self.is_requester = is_requester
        self.is_ready = False
        self.began_ns = 0
        self.pending = b""

    def opening(self) -> bytes:
        """What is sent first, without waiting for the broker."""
        return b""

    def begin(self, now_ns: int) -> bytes:
        """A requester's next request."""
        raise LoadFailed("a responder has no request to begin with")

    def receive(self, data: bytes, now_ns: int) -> bytes:
        """What is to be sent because of what was received."""
        raise NotImplementedError

    def closing(self) -> bytes:
        """What is sent last, for a broker that would otherwise keep something for this client."""
        return b""

    def replied(self, now_ns: int) -> bytes:
        """A requester has its reply: the next request, or nothing when the round is over."""
        pace = self.pace
        pace.latencies_ns.append(now_ns - self.began_ns)
        if pace.goes_on:
            return self.begin(now_ns)
        pace.active -= 1
        return b""


def reply_for(number: int, size: int) -> bytes:
    """A body of some size that shows which request it belongs to."""
    head = b"%016d" % number
    return head[:size] if size <= len(head) else head + bytes(size - len(head))
