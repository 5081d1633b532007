"""The clock of one run of a queue manager.

It starts at the wall clock's time and then advances evenly, whatever happens to the wall clock: setting that back does
not prolong message expiry, and setting it forward does not expire messages early. Deadlines, ages and intervals use
this time (`engine.now_ms`). Times shown to people, such as PutDate and PutTime, are the wall clock's
(`engine.wall_ms()`).

A verb reads only the wall clock, which is cheaper. The system's steady clock is consulted only when the wall clock has
gone back, or has advanced by more than a second. The steady clock includes the time that the machine was suspended.
"""

from __future__ import annotations

from collections.abc import Callable
from time import CLOCK_BOOTTIME, clock_gettime
from typing import Final, final

from librt.time import time
from mypy_extensions import i64

from ostler.engine.core import Engine

_MILLISECONDS: Final = 1000.0
_JUMP_MS: Final = 1000  # an advance of the wall clock by less than this between two updates is believed


@final
class EngineClock:
    """Sets the time of an engine. The caller holds the engine's lock."""

    def __init__(self, wall: Callable[[], float] | None = None, steady: Callable[[], float] | None = None) -> None:
        """`wall` and `steady` return seconds, instead of the system's clocks (`Machine`)."""
        self._wall = wall
        self._steady = steady
        self.skew_ms: i64 = 0  # the wall clock is set this far forward, for tests
        self._begun_ms: i64 = 0  # this run's time less the steady clock

    def begin(self, engine: Engine) -> None:
        """Start a run at the wall clock's time."""
        engine.now_ms = self.wall_ms()
        engine.wall_offset_ms = 0
        self._begun_ms = engine.now_ms - self._steady_ms()

    def update(self, engine: Engine) -> None:
        """Set the engine's time to now. It never goes back."""
        now_ms: i64 = self.wall_ms() - engine.wall_offset_ms
        passed_ms: i64 = now_ms - engine.now_ms
        if passed_ms < 0 or passed_ms >= _JUMP_MS:
            self._update_from_steady_clock(engine)
        else:
            engine.now_ms = now_ms

    def _update_from_steady_clock(self, engine: Engine) -> None:
        now_ms: i64 = self._steady_ms() + self._begun_ms
        if now_ms > engine.now_ms:
            engine.now_ms = now_ms
        engine.wall_offset_ms = self.wall_ms() - engine.now_ms

    def wall_ms(self) -> i64:
        """Return the wall clock's time in milliseconds since 1970."""
        wall = self._wall
        return i64((time() if wall is None else wall()) * _MILLISECONDS) + self.skew_ms

    def _steady_ms(self) -> i64:
        steady = self._steady
        return i64((clock_gettime(CLOCK_BOOTTIME) if steady is None else steady()) * _MILLISECONDS)
