"""The slow lane: links whose requests take long, new links, and listeners.

The reactor watches two sets of sockets. A link begins in the slow lane. After several quick passes in a row it moves
to the fast lane; a pass that takes long moves it back. Each pass serves all of the fast lane, then the slow lane for a
slice of time. While links of the fast lane are active, the slow lane rests afterwards for as long as it took: whatever
one client does, the others have half of the reactor's time, and wait for at most one slice.
"""

from __future__ import annotations

import select
from typing import Final, final

from mypy_extensions import i64

from ostler.server.net.timers import Timer

_QUICK_NS: Final = 2_000_000  # a link whose requests take longer than this in one pass is slow
_QUICK_IN_A_ROW: Final = 16
_SLICE_NS: Final = 2_000_000
_UNCONTENDED_SLICE_NS: Final = 50_000_000
_CONTENDED_NS: Final = 100_000_000  # the fast lane is active if it was served within this time
_REST_NS_MIN: Final = 200_000
_REST_NS_MAX: Final = 25_000_000
_EVENTS_MAX: Final = 4  # few at a time: the kernel rotates the ready list
_IN: Final = select.EPOLLIN
_MILLISECOND_NS: Final = 1_000_000


class LaneMember(Timer):
    """The attributes of a link that its lane uses."""

    def __init__(self, fd: i64) -> None:
        super().__init__()
        self.fd: i64 = fd
        self.mask: i64 = 0  # the events that epoll watches for
        self.is_fast = False  # in the fast lane
        self.quick_in_a_row: i64 = 0  # passes in which its requests were handled quickly


@final
class SlowLane:
    """The epoll of the slow lane, and the time that it may use. Only the reactor's thread uses it."""

    def __init__(self, fast: select.epoll, slow: select.epoll) -> None:
        self._fast = fast
        self.epoll = slow
        self.fd: int = self.epoll.fileno()
        self.resting_until_ns: i64 = 0
        self.quick_ns: i64 = _QUICK_NS
        self.rest_ns_max: i64 = _REST_NS_MAX
        self.slice_ns_max: i64 = _SLICE_NS
        self.fast_ns: i64 = -_CONTENDED_NS  # when a link of the fast lane was served last
        self._is_watched = True
        fast.register(self.fd, _IN)

    def close(self) -> None:
        self.epoll.close()

    def epoll_of(self, link: LaneMember) -> select.epoll:
        """Return the epoll that watches a link."""
        return self._fast if link.is_fast else self.epoll

    def update_lane(self, link: LaneMember, took_ns: i64) -> None:
        """Move a link to the lane where it belongs, given the time that its requests took in this pass."""
        if took_ns > self.quick_ns:
            link.quick_in_a_row = 0
            if link.is_fast:
                self._move(link, False)
        elif not link.is_fast:
            link.quick_in_a_row += 1
            if link.quick_in_a_row >= _QUICK_IN_A_ROW and link.mask != 0:
                self._move(link, True)

    def _move(self, link: LaneMember, is_fast: bool) -> None:
        self.epoll_of(link).unregister(link.fd)
        link.is_fast = is_fast
        self.epoll_of(link).register(link.fd, link.mask)

    def has_turn(self, now_ns: i64) -> bool:
        """Return True if the slow lane may be served. The fast epoll reports its events only then."""
        is_open: bool = now_ns >= self.resting_until_ns
        if is_open != self._is_watched:
            self._is_watched = is_open
            self._fast.modify(self.fd, _IN if is_open else 0)
        return is_open

    def rest_ms(self, now_ns: i64) -> i64:
        """Return the rest of the slow lane's pause, rounded up."""
        return (self.resting_until_ns - now_ns + _MILLISECOND_NS - 1) // _MILLISECOND_NS

    def slice_ns(self, now_ns: i64) -> i64:
        """Return how long the slow lane may be served from now on."""
        return self.slice_ns_max if self._is_contended(now_ns) else _UNCONTENDED_SLICE_NS

    def poll(self) -> list[tuple[int, int]]:
        """Return the next few events of links and listeners."""
        return self.epoll.poll(0.0, _EVENTS_MAX)

    def rest(self, began_ns: i64, now_ns: i64) -> None:
        """Let the slow lane rest after it was served, if the fast lane is active."""
        took: i64 = now_ns - began_ns
        if took > _REST_NS_MIN and self._is_contended(began_ns):
            self.resting_until_ns = now_ns + (took if took < self.rest_ns_max else self.rest_ns_max)

    def _is_contended(self, now_ns: i64) -> bool:
        return now_ns - self.fast_ns < _CONTENDED_NS
