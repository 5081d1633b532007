"""The counters of the reactor itself, and the time of its longest pass."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

# DISPLAY QMSTATUS shows the longest pass of the current interval and of the one before.
_INTERVAL_NS: Final = 60_000_000_000
_MICROSECOND_NS: Final = 1_000


@final
class ReactorCounters:
    def __init__(self) -> None:
        self.passes: i64 = 0
        self.events: i64 = 0
        self.malformed: i64 = 0
        self.internal_errors: i64 = 0
        self.accepted: i64 = 0
        self.refused: i64 = 0
        self.inline_forces: i64 = 0
        self.stalled: i64 = 0
        self.deferred: i64 = 0
        self.searches: i64 = 0  # passes in which long searches and other work in slices were continued


@final
class LongestPass:
    """The longest pass of the reactor: from the end of its sleep to the next. Nobody waits for it longer than that.

    Only the reactor's thread calls `note`. Other threads may read at any time; a pass that ends just then is missed.
    """

    def __init__(self) -> None:
        self._taken_ns: i64 = 0  # since statistics were last written
        self._current_ns: i64 = 0
        self._before_ns: i64 = 0
        self._began_ns: i64 = 0  # the current interval

    def note(self, took_ns: i64, now_ns: i64) -> None:
        """Count a pass that took so long and ends now."""
        if took_ns > self._taken_ns:
            self._taken_ns = took_ns
        if now_ns - self._began_ns >= _INTERVAL_NS:
            self._renew(now_ns)
        if took_ns > self._current_ns:
            self._current_ns = took_ns

    def _renew(self, now_ns: i64) -> None:
        is_next: bool = now_ns - self._began_ns < 2 * _INTERVAL_NS
        self._before_ns = self._current_ns if is_next else 0
        self._current_ns = 0
        self._began_ns = now_ns

    def recent_us(self, now_ns: i64) -> i64:
        """Return the longest pass of the last one to two minutes, in microseconds."""
        age_ns: i64 = now_ns - self._began_ns
        longest: i64 = 0
        if age_ns < 2 * _INTERVAL_NS:
            longest = self._current_ns
        if age_ns < _INTERVAL_NS and self._before_ns > longest:
            longest = self._before_ns
        return longest // _MICROSECOND_NS

    def take_us(self) -> i64:
        """Return the longest pass since the last call, in microseconds: that of a statistics interval."""
        longest: i64 = self._taken_ns
        self._taken_ns = 0
        return longest // _MICROSECOND_NS
