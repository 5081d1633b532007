"""The time of one run of a queue manager.

It begins as the wall clock stands, and then goes on evenly, whatever is done to the wall clock: setting that back does
not prolong the lives of messages, and setting it forward does not end them. Deadlines, ages and intervals are in this
time (`engine.now_ms`). What people read, such as PutDate and PutTime, is the wall clock's (`engine.wall_ms()`).

A verb reads the wall clock alone, which is the cheaper one. Only when that seems to have gone back, or on by more than
a second, the steady clock of the system says how much time has really passed. It counts the time that the machine
slept.
"""

from __future__ import annotations

from time import CLOCK_BOOTTIME, clock_gettime
from typing import Final, final

from librt.time import time
from mypy_extensions import i64

from ostler.engine.core import Engine

_MILLISECONDS: Final = 1000.0
_NOTICED_MS: Final = 1000  # a wall clock that goes on by less within one step of ours is believed


@final
class Clock:
    """Sets the time of an engine. Used with the engine's lock held."""

    def __init__(self) -> None:
        self.skew_ms: i64 = 0  # the wall clock is set this far forward, for tests
        self._begun_ms: i64 = 0  # what the steady clock lacks to this run's time

    def begin(self, engine: Engine) -> None:
        """A run begins: its time is the wall clock's."""
        engine.now_ms = self.wall_ms()
        engine.wall_offset_ms = 0
        self._begun_ms = engine.now_ms - _steady_ms()

    def tell(self, engine: Engine) -> None:
        """Set the engine's time to now. It never goes back."""
        now_ms: i64 = i64(time() * _MILLISECONDS) + self.skew_ms - engine.wall_offset_ms
        passed_ms: i64 = now_ms - engine.now_ms
        if passed_ms < 0 or passed_ms >= _NOTICED_MS:
            self._look(engine)
        else:
            engine.now_ms = now_ms

    def _look(self, engine: Engine) -> None:
        now_ms: i64 = _steady_ms() + self._begun_ms
        if now_ms > engine.now_ms:
            engine.now_ms = now_ms
        engine.wall_offset_ms = self.wall_ms() - engine.now_ms

    def wall_ms(self) -> i64:
        """The wall clock, in milliseconds since 1970."""
        return i64(time() * _MILLISECONDS) + self.skew_ms


def _steady_ms() -> i64:
    return i64(clock_gettime(CLOCK_BOOTTIME) * _MILLISECONDS)
