"""The buffers of the data sets of one structure (DSBUFS), for transfers on several threads."""

from __future__ import annotations

import mmap
import threading
from typing import Final

from ostler.coupling.data_sets.buffers import EMPTY, BufferAccount, BufferFigures
from ostler.coupling.data_sets.space_map import PAGE_BYTES

FOREIGN: Final = -1
"""Instead of a block: the buffer shows nothing of this member's own data set."""


class Buffer:
    """The memory of one block. `valid` has a bit for each page that is as in the file."""

    def __init__(self, number: int, size_bytes: int) -> None:
        self.number = number
        self.memory = mmap.mmap(-1, size_bytes)
        self.view = memoryview(self.memory)
        self.block = FOREIGN
        self.valid = 0

    def pages(self, first: int, count: int) -> memoryview:
        return self.view[first * PAGE_BYTES : (first + count) * PAGE_BYTES]

    def mark(self, first: int, count: int, is_valid: bool) -> None:
        bits = _bits(first, count)
        self.valid = self.valid | bits if is_valid else self.valid & ~bits

    def merge(self, older: Buffer) -> None:
        """Take over the pages of another buffer of the same block that this one has not."""
        missing = older.valid & ~self.valid
        page = 0
        while missing >> page:
            if missing >> page & 1:
                start = page * PAGE_BYTES
                self.view[start : start + PAGE_BYTES] = older.view[start : start + PAGE_BYTES]
            page += 1
        self.valid |= missing


class BufferPool:
    def __init__(self, buffers: int, buffer_bytes: int) -> None:
        self.buffer_bytes = buffer_bytes
        self._account = BufferAccount(buffers)
        self._buffers: dict[int, Buffer] = {}
        self._saved: dict[int, Buffer] = {}  # by block
        self._changed = threading.Condition()

    def acquire(self, block: int, waits: bool) -> Buffer | None:
        """Take a buffer, that of a block if one is saved. None: all are in use, and the caller does not wait."""
        with self._changed:
            number = int(self._take(block))
            if number == EMPTY and waits:
                self._account.begin_wait()
                while number == EMPTY:
                    self._changed.wait()
                    number = int(self._take(block))
                self._account.end_wait()
            if number == EMPTY:
                return None
            buffer = self._buffers.get(number)
            if buffer is None:
                buffer = self._buffers[number] = Buffer(number, self.buffer_bytes)
            if buffer.block != block or block == FOREIGN:
                self._saved.pop(buffer.block, None)
                buffer.block = block
                buffer.valid = 0
            else:
                self._saved.pop(block, None)
            return buffer

    def _take(self, block: int) -> int:
        number = EMPTY
        if block != FOREIGN:
            number = int(self._account.take_saved(block))
        return number if number != EMPTY else int(self._account.take())

    def release(self, buffer: Buffer) -> None:
        """Give a buffer back. What it has of a block stays readable until another transfer needs it."""
        with self._changed:
            keeps = buffer.block != FOREIGN and buffer.valid != 0
            block = buffer.block if keeps else FOREIGN
            before = self._saved.get(block) if keeps else None
            if before is not None:
                buffer.merge(before)
            void = int(self._account.give_back(buffer.number, block))
            if void == buffer.number:
                self._forget(buffer)
            elif keeps:
                if before is not None:
                    self._forget(before)
                self._saved[block] = buffer
            self._changed.notify()

    def _forget(self, buffer: Buffer) -> None:
        buffer.block = FOREIGN
        buffer.valid = 0

    def read_saved(self, block: int, first: int, count: int, target: memoryview) -> bool:
        """Copy pages of a block from a saved buffer. False: they must be read."""
        with self._changed:
            figures = self._account.figures
            figures.reads += 1
            buffer = self._saved.get(block) if block != FOREIGN else None
            bits = _bits(first, count)
            if buffer is None or buffer.valid & bits != bits:
                return False
            figures.reads_saved += 1
            size = len(target)
            target[:] = buffer.view[first * PAGE_BYTES : first * PAGE_BYTES + size]
            return True

    def discard(self, blocks: set[int]) -> None:
        """Have the pages of blocks read from the file again."""
        with self._changed:
            for block in blocks:
                buffer = self._saved.pop(block, None)
                if buffer is not None:
                    self._account.forget(block)
                    self._forget(buffer)

    def discard_all(self) -> None:
        """Have everything read again: the file may be another one."""
        with self._changed:
            blocks = set(self._saved)
        self.discard(blocks)

    def resize(self, buffers: int) -> None:
        """Have another number of buffers (ALTER SMDS DSBUFS)."""
        with self._changed:
            if buffers == int(self._account.total):
                return
            for number in self._account.resize(buffers):
                dropped = self._buffers.pop(number, None)
                if dropped is not None:
                    self._saved.pop(dropped.block, None)
            self._changed.notify_all()

    def usage(self) -> tuple[int, int, int, int]:
        """Return the numbers of all buffers, of those in use, saved, and empty."""
        with self._changed:
            account = self._account
            return int(account.total), int(account.in_use), int(account.saved()), int(account.empty())

    def figures(self, resets: bool) -> BufferFigures:
        """Return the figures of the interval; `resets` ends it."""
        with self._changed:
            return self._account.take_figures() if resets else self._account.figures


def _bits(first: int, count: int) -> int:
    return ((1 << count) - 1) << first
