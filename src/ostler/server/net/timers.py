"""A timer wheel: many timers, most of which are taken out before they are due. Adding and removing are quick.

Two wheels: a fine one of 16 ms for the next four seconds, and a coarse one of four seconds for what is later, whose
timers move to the fine wheel when their turn comes near.
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
    """Something with a time. `fire` is called once, at the time or up to 16 ms after it, unless it was removed."""

    def __init__(self) -> None:
        self.due_ms: i64 = 0
        self.slot: i64 = _NOWHERE
        self.next_timer: Timer | None = None
        self.previous_timer: Timer | None = None

    def fire(self, now_ms: i64) -> None:
        raise AssertionError("a timer without a purpose")

    def ring(self) -> None:
        """Another thread has answered what this one waits for. Called under the engine's lock."""
        raise AssertionError("nothing waits here")


@final
class TimerWheel:
    def __init__(self, now_ms: i64) -> None:
        self._heads: list[Timer | None] = [None] * (_FINE_SLOTS + _COARSE_SLOTS)
        self._tick: i64 = now_ms // _FINE_MS  # all fine slots before this one have been served
        self._fine: i64 = 0
        self._coarse: i64 = 0

    def add(self, timer: Timer, due_ms: i64) -> None:
        """Have a timer fire at a time, instead of at the one it may have had."""
        if timer.slot != _NOWHERE:
            self.remove(timer)
        timer.due_ms = due_ms
        # Never before its time: the tick in which it is due must be over.
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
        """Take out timers whose time has come, up to so many."""
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
        """The fine wheel has turned once: timers of the next four seconds come into it."""
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
        """How long nothing is due, at most so long."""
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
