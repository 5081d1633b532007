"""Memory that links hold for messages in transit, in both directions: its limits, and the links that wait for it.

    held by all links together          links that continue
    up to a quarter of the limit        all; each link has limits of its own
    up to the limit less a reserve      those whose application has read nearly all of its replies
    beyond that                         gets and long puts wait; of the links that make no progress, the one that holds
                                        most is closed; the long put that has waited longest continues in the reserve

Replies count before they are made: a request that may be answered with a message is handled only below the reserve,
which is longer than the longest reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.model import constants as mq
from ostler.server.net.link import CLOSING
from ostler.server.net.link_limits import LARGE_HIGH_BYTES, NO_PROGRESS_MS, OUT_LOW_BYTES, PROGRESS_BYTES
from ostler.server.net.timers import Timer
from ostler.wire.frames import MESSAGE_BYTES_MAX, PAYLOAD_OVERHEAD_BYTES

if TYPE_CHECKING:
    from ostler.server.net.conversation import WaitingRequest
    from ostler.server.net.link import ServerLink
    from ostler.server.net.reactor import Reactor

_CHECK_MS: Final = 250  # between two checks of progress, while memory is not ample
_MUCH_BYTES: Final = 32 << 20
_PROGRESS_SHARE: Final = 4  # a link must move a quarter of the memory it holds within NO_PROGRESS_MS
_NOT_DUE: Final = -1  # the slot of a timer that is not on the wheel
_CLOSED_TEXT: Final = (
    "AMQ6118E: Memory for messages in transit is short, and this connection holds {held} bytes without progress"
)


@final
class LinkMemory(Timer):
    """The memory account of all links. Methods that may close links need the engine's lock, all the reactor's thread.

    Its timer checks the progress of links while memory is not ample.
    """

    def __init__(self, reactor: Reactor, bytes_max: i64) -> None:
        super().__init__()
        self._reactor = reactor
        self.peak_bytes: i64 = 0  # the most that was held since memory was last returned to the system
        self.segmented_bytes: i64 = 0  # partial payloads, and large replies
        self.single_frame_bytes: i64 = (
            0  # single frames: not taken by the socket yet, waiting for the log, or not come whole
        )
        self.waiting: list[ServerLink] = []  # for memory, the longest waiting first
        self.streams: list[WaitingRequest] = []
        self._privileged: ServerLink | None = None  # may use the reserve for the message that it is sending
        self.bytes_max: i64 = 0
        self.ample_bytes: i64 = 0
        self.free_bytes: i64 = 0
        self.limit(bytes_max)

    def limit(self, bytes_max: i64) -> None:
        """Set the memory that all links together may hold."""
        self.bytes_max = bytes_max
        self.ample_bytes = bytes_max // 4
        reserve: i64 = 2 * (MESSAGE_BYTES_MAX + PAYLOAD_OVERHEAD_BYTES)
        self.free_bytes = bytes_max - (reserve if reserve < bytes_max // 2 else bytes_max // 2)

    def used_bytes(self) -> i64:
        return self.segmented_bytes + self.single_frame_bytes

    def reply_bytes_max(self) -> i64:
        """Return the bytes of large replies that one link may have unsent and still be read."""
        return LARGE_HIGH_BYTES if self.segmented_bytes + self.single_frame_bytes <= self.ample_bytes else OUT_LOW_BYTES

    def is_short(self) -> bool:
        return self.segmented_bytes + self.single_frame_bytes > self.free_bytes

    # -- counting ------------------------------------------------------------------------------------------------------

    def add(self, size: i64) -> None:
        self.segmented_bytes += size
        if self.segmented_bytes > self.peak_bytes:
            self.peak_bytes = self.segmented_bytes
        if self.slot == _NOT_DUE and self.segmented_bytes + self.single_frame_bytes > self.ample_bytes:
            self._schedule_check()

    def remove(self, size: i64) -> None:
        self.segmented_bytes -= size
        if self.segmented_bytes < 0:
            self.segmented_bytes = 0
        self._cancel_check()

    def recount(self, link: ServerLink) -> None:
        """Count the single frames of a link again."""
        now: i64 = link.unsent_bytes() + link.reader.pending_bytes()
        if now != link.counted_bytes:
            self.single_frame_bytes += now - link.counted_bytes
            link.counted_bytes = now
            if self.segmented_bytes + self.single_frame_bytes <= self.ample_bytes:
                self._cancel_check()
            elif self.slot == _NOT_DUE:
                self._schedule_check()

    def forget(self, link: ServerLink) -> None:
        """Remove a closed link from the account."""
        self.single_frame_bytes -= link.counted_bytes
        link.counted_bytes = 0
        if link.waits_for_memory:
            link.waits_for_memory = False
            self.waiting.remove(link)
        if self._privileged is link:
            self._privileged = None
        self._cancel_check()

    def _schedule_check(self) -> None:
        self._reactor.wheel.add(self, self._reactor.now_ms + _CHECK_MS)

    def _cancel_check(self) -> None:
        if self.slot == _NOT_DUE or self.waiting or self.streams:
            return
        if self.segmented_bytes + self.single_frame_bytes <= self.ample_bytes:
            self._reactor.wheel.remove(self)

    def has_freed_much(self) -> bool:
        """Return True, once, when the C library probably keeps much free memory that could go back to the system.

        May be called on any thread.
        """
        if self.peak_bytes < _MUCH_BYTES or 2 * (self.segmented_bytes + self.single_frame_bytes) > self.peak_bytes:
            return False
        self.peak_bytes = self.segmented_bytes
        return True

    # -- waiting for memory --------------------------------------------------------------------------------------------

    def may_reply(self, link: ServerLink) -> bool:
        """Return True if a link may be answered with a message now; otherwise it waits. Needs the engine's lock."""
        # The rest of the privileged message may come behind this get; the reserve has room for its reply, too.
        if not self.is_short() or self._privileged is link:
            return True
        self._make_room(link)
        if not self.is_short():
            return True
        self._wait(link)
        return False

    def add_part(self, link: ServerLink, size: i64) -> None:
        """Count a segment of an incoming message. Needs the engine's lock."""
        if self.segmented_bytes + self.single_frame_bytes + size > self.free_bytes:
            self._make_room(link)
        link.incoming_bytes += size
        self.add(size)
        if self.segmented_bytes + self.single_frame_bytes > self.free_bytes and self._privileged is not link:
            self._wait(link)  # behind this segment the socket is not read

    def remove_parts(self, link: ServerLink, size: i64) -> None:
        """Uncount the segments of a message that was joined or dropped."""
        link.incoming_bytes -= size
        if self._privileged is link and link.incoming_bytes <= 0:
            self._privileged = None
        self.remove(size)

    def _wait(self, link: ServerLink) -> None:
        if not link.waits_for_memory:
            link.waits_for_memory = True
            self.waiting.append(link)
            self._reactor.update_interest(link)
            if self.slot == _NOT_DUE:
                self._schedule_check()

    def resume(self) -> None:
        """Resume the links for which there is memory now."""
        if not self.is_short():
            waiting = self.waiting
            self.waiting = []
            for link in waiting:
                link.waits_for_memory = False
                self._reactor.update_interest(link)
            self._reactor.resuming.extend(self.streams)
            self.streams = []
            self._cancel_check()
        elif self._privileged is None:
            self._let_one_finish()

    def _let_one_finish(self) -> None:
        """Let one link use the reserve: partial messages would otherwise wait for each other for ever.

        When the limit is so low that the reserve is shorter than a message, the message may still be received. Then
        its put fails if there is no memory.
        """
        for link in self.waiting:
            if link.incoming_bytes > 0:
                self._privileged = link
                link.waits_for_memory = False
                self.waiting.remove(link)
                self._reactor.update_interest(link)
                return

    # -- closing links without progress --------------------------------------------------------------------------------

    def fire(self, now_ms: i64) -> None:
        """Record progress; close links without progress when others wait for memory. Needs the engine's lock."""
        for link in self._reactor.links.values():
            moved: i64 = link.sent_bytes + link.received_bytes
            if moved - link.progress_bytes >= _progress_bytes_min(link) or link.progress_ms == 0:
                link.progress_bytes = moved
                link.progress_ms = now_ms
        if self.waiting or self.streams:
            self._make_room(None)
            self.resume()
        if self.waiting or self.streams or self.segmented_bytes + self.single_frame_bytes > self.ample_bytes:
            self._schedule_check()

    def _make_room(self, but: ServerLink | None) -> None:
        """Close links without progress, those that hold most memory first, until there is enough."""
        while self.is_short():
            worst: ServerLink | None = None
            most: i64 = 0
            for link in self._reactor.links.values():
                held: i64 = _link_bytes(link)
                if held > most and link is not but and self._makes_no_progress(link):
                    worst = link
                    most = held
            if worst is None:
                return
            self._close_link(worst, most)

    def _makes_no_progress(self, link: ServerLink) -> bool:
        """Return True when the peer could continue and has not for NO_PROGRESS_MS. A closing link does not count."""
        if link.state >= CLOSING or link.progress_ms == 0 or self._reactor.now_ms - link.progress_ms < NO_PROGRESS_MS:
            return False
        if link.sent_bytes + link.received_bytes - link.progress_bytes >= _progress_bytes_min(link):
            return False
        if link.is_waiting:
            return True
        return not link.is_paused and link.incoming_bytes + link.reader.pending_bytes() > 0

    def _close_link(self, link: ServerLink, held: i64) -> None:
        text = _CLOSED_TEXT.format(held=held)
        self._reactor.handler.note_link(link, f"{text}. It was closed.")
        if link.is_waiting:
            link.close(text)  # the application does not read, so FAREWELL would not arrive
        else:
            link.send_farewell(mq.MQRC_STORAGE_NOT_AVAILABLE, f"{text}.")


def _link_bytes(link: ServerLink) -> i64:
    """Return the memory that the queue manager holds for a link."""
    return link.incoming_bytes + link.outgoing_bytes + link.counted_bytes


def _progress_bytes_min(link: ServerLink) -> i64:
    """Return the bytes that a link must move within NO_PROGRESS_MS: PROGRESS_BYTES, or a quarter of what it holds."""
    share: i64 = _link_bytes(link) // _PROGRESS_SHARE
    return share if share > PROGRESS_BYTES else PROGRESS_BYTES
