"""What the reactor keeps for later: replies that wait for the log to be durable, requests that wait for room in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from mypy_extensions import i64

if TYPE_CHECKING:
    from ostler.server.net.conversation import ServerConversation
    from ostler.server.net.link import ServerLink


@final
class GatedReply:
    """A reply that waits for the log."""

    def __init__(self, lsn: i64, link: ServerLink, data: bytes) -> None:
        self.lsn: i64 = lsn
        self.link = link
        self.data = data
        self.type: i64 = 0  # of a large one
        self.conversation: i64 = 0
        self.request: i64 = 0  # of a large one, or of those it comes behind
        self.body: bytes = b""
        self.is_last = False  # it promises nothing, and only waits for those that do

    def release(self) -> None:
        link = self.link
        link.gated -= 1
        if self.type != 0:
            link.send_large(self.type, self.conversation, self.request, self.data, self.body)
            return
        link.gated_bytes -= len(self.data)
        if self.request != 0:
            link.send_behind(self.conversation, self.request, self.data)
        else:
            link.send(self.data)

    def drop(self) -> None:
        """What it promises does not hold: it is never sent."""
        if self.is_last:
            self.release()
            return
        self.link.gated -= 1
        if self.type != 0:
            self.link.large_bytes -= len(self.data) + len(self.body)
            self.link.remove_large_reply(len(self.body))
        else:
            self.link.gated_bytes -= len(self.data)


@final
class StalledRequest:
    """A request that waits for log space."""

    def __init__(self, conversation: ServerConversation, type: i64, number: i64, payload: bytes) -> None:
        self.conversation = conversation
        self.type: i64 = type
        self.number: i64 = number
        self.payload = payload
        self.tries: i64 = 0
