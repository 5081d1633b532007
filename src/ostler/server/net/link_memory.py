"""Memory that links hold for messages on their way in and out: how much there may be, and who waits for it.

    held by all links together          who goes on
    up to a quarter of the limit        everybody; each link has limits of its own
    up to the limit less a reserve      everybody whose application has read nearly all that it was sent
    beyond that                         gets and long puts wait; of the links that stand still the one that holds most
                                        is ended; the long put that has waited longest goes on, within the reserve

Replies count before they are made: a request that may be answered with a message is carried out only below the reserve,
which is longer than the longest reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.model.constants import MQRC_STORAGE_NOT_AVAILABLE
from ostler.server.net.link import CLOSING
from ostler.server.net.link_limits import LARGE_HIGH_BYTES, NO_PROGRESS_MS, OUT_LOW_BYTES, PROGRESS_BYTES
from ostler.server.net.timers import Timer
from ostler.wire.frames import MESSAGE_BYTES_MAX, PAYLOAD_OVERHEAD_BYTES

if TYPE_CHECKING:
    from ostler.server.net.conversation import WaitingRequest
    from ostler.server.net.link import ServerLink
    from ostler.server.net.reactor import Reactor

_CHECK_MS: Final = 250  # between two looks at who moves, while memory is not plentiful
_MUCH_BYTES: Final = 32 << 20
_PROGRESS_SHARE: Final = 4  # who holds much must have moved a quarter of it within STALLED_MS
_NOT_DUE: Final = -1  # the slot of a timer that is not on the wheel
_CLOSED_TEXT: Final = (
    "AMQ6118E: Memory for messages on their way is short, and this connection holds {held} bytes and stands still"
)


@final
class LinkMemory(Timer):
    """On the reactor's thread. What ends links needs the engine's lock, and says so."""

    def __init__(self, reactor: Reactor, bytes_max: i64) -> None:
        super().__init__()
        self._reactor = reactor
        self.peak_bytes: i64 = 0  # held at a time, since memory was last given back to the system
        self.segmented_bytes: i64 = 0  # unfinished payloads, and replies in segments
        self.single_frame_bytes: i64 = (
            0  # single frames: not taken by the socket yet, waiting for the log, or not come whole
        )
        self.waiting: list[ServerLink] = []  # for memory, the longest waiting first
        self.streams: list[WaitingRequest] = []
        self._privileged: ServerLink | None = None  # may use the reserve for the message that it sends
        self.bytes_max: i64 = 0
        self.ample_bytes: i64 = 0
        self.free_bytes: i64 = 0
        self.limit(bytes_max)

    def limit(self, bytes_max: i64) -> None:
        """Let all links together hold so much."""
        self.bytes_max = bytes_max
        self.ample_bytes = bytes_max // 4
        reserve: i64 = 2 * (MESSAGE_BYTES_MAX + PAYLOAD_OVERHEAD_BYTES)
        self.free_bytes = bytes_max - (reserve if reserve < bytes_max // 2 else bytes_max // 2)

    def used_bytes(self) -> i64:
        return self.segmented_bytes + self.single_frame_bytes

    def reply_bytes_max(self) -> i64:
        """Replies in segments that one link may have unsent and still be read from."""
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
        """Count anew what a link holds in single frames."""
        now: i64 = link.unsent_bytes() + link.reader.pending_bytes()
        if now != link.counted_bytes:
            self.single_frame_bytes += now - link.counted_bytes
            link.counted_bytes = now
            if self.segmented_bytes + self.single_frame_bytes <= self.ample_bytes:
                self._cancel_check()
            elif self.slot == _NOT_DUE:
                self._schedule_check()

    def forget(self, link: ServerLink) -> None:
        """A link is gone."""
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
        """Whether the C library is likely to keep much that could go back to the system. True once for each time.

        From any thread.
        """
        if self.peak_bytes < _MUCH_BYTES or 2 * (self.segmented_bytes + self.single_frame_bytes) > self.peak_bytes:
            return False
        self.peak_bytes = self.segmented_bytes
        return True

    # -- who goes on ---------------------------------------------------------------------------------------------------

    def may_reply(self, link: ServerLink) -> bool:
        """Return True when a link may be answered with a message now; if not, it waits. Needs the engine's lock."""
        # Behind the get may come what the privileged one is to finish; the reserve has room for its answer, too.
        if not self.is_short() or self._privileged is link:
            return True
        self._make_room(link)
        if not self.is_short():
            return True
        self._wait(link)
        return False

    def add_part(self, link: ServerLink, size: i64) -> None:
        """Count a part of a long message that comes in. Needs the engine's lock."""
        if self.segmented_bytes + self.single_frame_bytes + size > self.free_bytes:
            self._make_room(link)
        link.incoming_bytes += size
        self.add(size)
        if self.segmented_bytes + self.single_frame_bytes > self.free_bytes and self._privileged is not link:
            self._wait(link)  # when this part is taken nothing more is read from it

    def remove_parts(self, link: ServerLink, size: i64) -> None:
        """Parts of a long message are put together, or dropped."""
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
        """Let those go on for whom there is memory now."""
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
        """Messages that came in part would wait for one another for ever: one of them may use the reserve.

        Where the process may have so little that the reserve is shorter than a message, it may still come whole: then
        memory is found for it or not, and the put fails.
        """
        for link in self.waiting:
            if link.incoming_bytes > 0:
                self._privileged = link
                link.waits_for_memory = False
                self.waiting.remove(link)
                self._reactor.update_interest(link)
                return

    # -- who is ended --------------------------------------------------------------------------------------------------

    def fire(self, now_ms: i64) -> None:
        """See who moves; when others wait for memory, end who holds most of it and does not. Under the lock."""
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
        """End links that hold memory and stand still, those that hold most first, until there is room."""
        while self.is_short():
            worst: ServerLink | None = None
            most: i64 = 0
            for link in self._reactor.links.values():
                held: i64 = link.memory_bytes()
                if held > most and link is not but and self._makes_no_progress(link):
                    worst = link
                    most = held
            if worst is None:
                return
            self._close_link(worst, most)

    def _makes_no_progress(self, link: ServerLink) -> bool:
        """Whether it is for the peer to go on, and it has not for some time. One that is being ended does not count."""
        if link.state >= CLOSING or link.progress_ms == 0 or self._reactor.now_ms - link.progress_ms < NO_PROGRESS_MS:
            return False
        if link.sent_bytes + link.received_bytes - link.progress_bytes >= _progress_bytes_min(link):
            return False
        if link.is_waiting:
            return True
        return not link.is_paused and link.incoming_bytes + link.reader.pending_bytes() > 0

    def _close_link(self, link: ServerLink, held: i64) -> None:
        text = _CLOSED_TEXT.format(held=held)
        self._reactor.handler.note_link(link, f"{text}. It was ended.")
        if link.is_waiting:
            link.close(text)  # nobody reads what it would be told
        else:
            link.send_farewell(MQRC_STORAGE_NOT_AVAILABLE, f"{text}.")


def _progress_bytes_min(link: ServerLink) -> i64:
    """The bytes that a link must move within STALLED_MS: more than a trickle, and a quarter of what it holds."""
    share: i64 = link.memory_bytes() // _PROGRESS_SHARE
    return share if share > PROGRESS_BYTES else PROGRESS_BYTES
