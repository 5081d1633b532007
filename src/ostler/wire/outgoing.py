"""Payloads on their way out in segments, between which those of others get their turn. No sockets here."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.wire.frames import segment

READY_FRAME = 0  # stands for a type: the head is a frame as it is


@final
class LargeReply:
    """A payload longer than a segment, on its way; or a frame that has to come behind one.

    What belongs to the same request follows one another: the peer could not tell their segments apart.
    """

    def __init__(self, type: i64, conversation: i64, request: i64, head: bytes, body: bytes) -> None:
        self.type: i64 = type
        self.conversation: i64 = conversation
        self.request: i64 = request
        self.head = head
        self.body = body
        self.at: i64 = 0  # of head and body together
        self.size: i64 = len(head) + len(body)
        self.following: LargeReply | None = None

    def next_frame(self, room: i64) -> bytes:
        """The next segment, with up to so many bytes of payload; `is_sent` tells whether it was the last."""
        head = self.head
        at: i64 = self.at
        if self.type == READY_FRAME:
            self.at = self.size
            return head
        if at >= len(head):
            piece = self.body[at - len(head) : at - len(head) + room]
        else:
            piece = head[at : at + room]
            if len(piece) < room:
                piece += self.body[: room - len(piece)]
        self.at = at + len(piece)
        return segment(self.type, self.conversation, self.request, not self.is_sent(), piece)

    def is_sent(self) -> bool:
        return self.at >= self.size

    def last(self) -> LargeReply:
        """The end of the row that begins here."""
        found = self
        while found.following is not None:
            found = found.following
        return found
