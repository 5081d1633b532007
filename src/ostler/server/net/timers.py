"""A timer wheel, for many timers of which most are removed before they are due. Adding and removing are quick.

There are two wheels: a fine one with slots of 16 ms for the next four seconds, and a coarse one with slots of four
seconds, whose timers move to the fine wheel when they come near.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

_FINE_MS: Final = 16
_FINE_SLOTS: Final = 256
_COARSE_MS: Final = _FINE_MS * _FINE_SLOTS
_COARSE_SLOTS: Final = 1024
_NOWHERE: Final = -1


@mypyc_attr(allow_interpreted_subclasses=True)
class Timer:
    """Has `fire` called once, at its time or up to 16 ms later, unless it is removed before."""

    def __init__(self) -> None:
        self.due_ms: i64 = 0
        self.slot: i64 = _NOWHERE
        self.next_timer: Timer | None = None
        self.previous_timer: Timer | None = None

    def fire(self, now_ms: i64) -> None:
        raise AssertionError("Timer is abstract")

    def notify(self) -> None:
        """Wake this waiter, because another thread has answered it. Called under the engine's lock."""
        raise AssertionError("this timer does not wait for a get")


@final
class TimerWheel:
    def __init__(self, now_ms: i64) -> None:
        self._heads: list[Timer | None] = [None] * (_FINE_SLOTS + _COARSE_SLOTS)
        self._tick: i64 = now_ms // _FINE_MS  # all fine slots before this one have been served
        self._fine: i64 = 0
        self._coarse: i64 = 0

    def add(self, timer: Timer, due_ms: i64) -> None:
        """Set the time of a timer, instead of an earlier setting."""
        if timer.slot != _NOWHERE:
            self.remove(timer)
        timer.due_ms = due_ms
        # Never early: the tick in which it is due must be over.
        tick: i64 = due_ms // _FINE_MS + 1
        if tick < self._tick:
            tick = self._tick
        slot: i64 = tick % _FINE_SLOTS
        if tick - self._tick >= _FINE_SLOTS:
            coarse: i64 = tick // _FINE_SLOTS
            now: i64 = self._tick // _FINE_SLOTS
            if coarse - now >= _COARSE_SLOTS:
                coarse = now + _COARSE_SLOTS - 1
            slot = _FINE_SLOTS + coarse % _COARSE_SLOTS
            self._coarse += 1
        else:
            self._fine += 1
        head = self._heads[slot]
        timer.slot = slot
        timer.next_timer = head
        timer.previous_timer = None
        if head is not None:
            head.previous_timer = timer
        self._heads[slot] = timer

    def remove(self, timer: Timer) -> None:
        slot: i64 = timer.slot
        if slot == _NOWHERE:
            return
        before = timer.previous_timer
        after = timer.next_timer
        if before is None:
            self._heads[slot] = after
        else:
            before.next_timer = after
        if after is not None:
            after.previous_timer = before
        timer.slot = _NOWHERE
        timer.next_timer = None
        timer.previous_timer = None
        if slot < _FINE_SLOTS:
            self._fine -= 1
        else:
            self._coarse -= 1

    def due(self, now_ms: i64, most: i64) -> list[Timer]:
        """Remove and return up to `most` timers that are due."""
        found: list[Timer] = []
        now: i64 = now_ms // _FINE_MS
        while self._tick <= now and len(found) < most:
            if self._fine == 0 and self._coarse == 0:
                self._tick = now + 1
                break
            slot: i64 = self._tick % _FINE_SLOTS
            timer = self._heads[slot]
            while timer is not None:
                self.remove(timer)
                if timer.due_ms > now_ms:
                    self.add(timer, timer.due_ms)
                else:
                    found.append(timer)
                    if len(found) >= most:
                        return found
                timer = self._heads[slot]
            self._tick += 1
            if self._tick % _FINE_SLOTS == 0:
                self._cascade()
        return found

    def _cascade(self) -> None:
        """Move the timers of the next four seconds to the fine wheel, which has turned once."""
        slot: i64 = _FINE_SLOTS + (self._tick // _FINE_SLOTS) % _COARSE_SLOTS
        timer = self._heads[slot]
        moved: list[Timer] = []
        while timer is not None:
            moved.append(timer)
            timer = timer.next_timer
        for each in moved:
            self.remove(each)
            self.add(each, each.due_ms)

    def sleep_ms(self, now_ms: i64, most_ms: i64) -> i64:
        """Return the time until a timer may be due, at most `most_ms`."""
        if self._fine == 0 and self._coarse == 0:
            return most_ms
        end: i64 = (self._tick // _FINE_SLOTS + 1) * _FINE_SLOTS  # where the coarse wheel moves on
        tick: i64 = self._tick
        if self._fine > 0:
            last: i64 = tick + _FINE_SLOTS
            while tick < last and self._heads[tick % _FINE_SLOTS] is None:
                tick += 1
            if tick > end and self._coarse > 0:
                tick = end
        else:
            tick = end
        wait: i64 = tick * _FINE_MS - now_ms
        if wait < 0:
            return 0
        return wait if wait < most_ms else most_ms

    def count(self) -> int:
        return self._fine + self._coarse
