"""The buffers of the data sets of one structure (DSBUFS): who has which, and the figures of DISPLAY USAGE.

A buffer is empty, in use by one transfer, or *saved*: it keeps the pages that were written last, until another transfer
needs a buffer. A read of pages that a saved buffer has needs no transfer. The owner has a lock around all calls.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

EMPTY: Final = -1


@final
class BufferFigures:
    """Since the last `take`: of an interval."""

    def __init__(self) -> None:
        self.requests: i64 = 0
        self.waits: i64 = 0
        self.reads: i64 = 0
        self.reads_saved: i64 = 0
        self.lowest_free: i64 = 0
        """The fewest buffers that were not in use; negative: so many requests waited."""

    def wait_percent(self) -> i64:
        return self.waits * 100 // self.requests if self.requests > 0 else 0

    def saved_percent(self) -> i64:
        """Return the percentage of reads that needed no transfer; 100 when there was none to make."""
        return self.reads_saved * 100 // self.reads if self.reads > 0 else 0


@final
class BufferAccount:
    """Numbers of buffers, from 0 on. Their memory is the owner's."""

    def __init__(self, total: i64) -> None:
        self.total: i64 = total
        self.in_use: i64 = 0
        self.waiting: i64 = 0
        self.figures = BufferFigures()
        self.figures.lowest_free = total
        self._empty: list[i64] = list(range(total - 1, -1, -1))
        self._saved: dict[int, i64] = {}  # buffer by block; the least recently used first
        self._made: i64 = total  # numbers that were given out

    def saved(self) -> i64:
        return len(self._saved)

    def empty(self) -> i64:
        return len(self._empty)

    def free(self) -> i64:
        """Return the buffers that are not in use."""
        return self.total - self.in_use

    def take(self) -> i64:
        """Take a buffer for a transfer: an empty one, or the saved one that was not used longest. EMPTY: none is."""
        if self.in_use >= self.total:
            return EMPTY
        number: i64
        if self._empty:
            number = self._empty.pop()
        elif self._saved:
            block = next(iter(self._saved))
            number = self._saved.pop(block)
        else:
            return EMPTY
        self._begin()
        return number

    def take_saved(self, block: int) -> i64:
        """Take the buffer that shows a block. EMPTY: none does, or it is in use."""
        if block not in self._saved or self.in_use >= self.total:
            return EMPTY
        number: i64 = self._saved.pop(block)
        self._begin()
        return number

    def _begin(self) -> None:
        self.in_use += 1
        self.figures.requests += 1
        self._note_free()

    def _note_free(self) -> None:
        free: i64 = self.total - self.in_use - self.waiting
        if free < self.figures.lowest_free:
            self.figures.lowest_free = free

    def begin_wait(self) -> None:
        self.waiting += 1
        self.figures.waits += 1
        self._note_free()

    def end_wait(self) -> None:
        self.waiting -= 1

    def give_back(self, number: i64, block: int) -> i64:
        """Give a buffer back, which shows a block now (negative: none). Returns one that is void now, or EMPTY."""
        self.in_use -= 1
        before: i64 = EMPTY
        if self.in_use + len(self._empty) + len(self._saved) >= self.total:
            return number  # DSBUFS was made smaller: it is not needed any more
        if block < 0:
            self._empty.append(number)
            return number
        if block in self._saved:
            before = self._saved.pop(block)
            self._empty.append(before)
        self._saved[block] = number
        return before

    def forget(self, block: int) -> i64:
        """Let go of a saved buffer whose block is to be written anew. Returns it, or EMPTY."""
        number: i64 = self._saved.pop(block, EMPTY)
        if number != EMPTY:
            self._empty.append(number)
        return number

    def resize(self, total: i64) -> list[int]:
        """Have another number of buffers. Returns those that are given up now; others go when they are given back."""
        dropped: list[int] = []
        while self.in_use + len(self._empty) + len(self._saved) > total and (self._empty or self._saved):
            if self._empty:
                dropped.append(int(self._empty.pop()))
            else:
                dropped.append(int(self._saved.pop(next(iter(self._saved)))))
        while self.in_use + len(self._empty) + len(self._saved) < total:
            self._empty.insert(0, self._made)
            self._made += 1
        self.total = total
        return dropped

    def take_figures(self) -> BufferFigures:
        """Return the figures of the interval that ends now."""
        figures = self.figures
        self.figures = BufferFigures()
        self.figures.lowest_free = self.total - self.in_use - self.waiting
        return figures
