"""The space map of a shared message data set: which pages of which blocks messages have.

Space is given out in blocks (DSBLOCK), and within a block in pages of 4 KB. A message begins at the next page of the
current block, and takes further blocks as it needs them; the last of them is the current one from then on. A block is
free when nothing in it is used. Block 0 of a file holds its header.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.model.errors import InvariantFailed

PAGE_BYTES: Final = 4096
_NONE: Final = -1


@final
class Extent:
    """Pages in a row, numbered from the beginning of the file."""

    def __init__(self, page: i64, count: i64) -> None:
        self.page: i64 = page
        self.count: i64 = count


def pages_of(data_bytes: i64) -> i64:
    return (data_bytes + PAGE_BYTES - 1) // PAGE_BYTES


@final
class SpaceMap:
    def __init__(self, block_pages: i64, blocks: i64) -> None:
        """`blocks` are all of the file, the header's included."""
        self.block_pages: i64 = block_pages
        self.blocks: i64 = blocks
        self._used: list[i64] = [0] * blocks  # pages in use, by block
        self._free: i64 = blocks - 1  # blocks without pages in use
        self._current: i64 = _NONE
        self._next: i64 = 0  # page of the current block
        self._cursor: i64 = 1  # where the search for a free block begins

    def data_blocks(self) -> i64:
        return self.blocks - 1

    def used_blocks(self) -> i64:
        """Return the blocks with messages."""
        return self.blocks - 1 - self._free

    def used_pages(self, block: i64) -> i64:
        return self._used[block]

    def fits(self, pages: i64) -> bool:
        """Return True when `allocate` finds room."""
        rest: i64 = pages - self._pages_left()
        return rest <= 0 or rest <= self._allocatable() * self.block_pages

    def _pages_left(self) -> i64:
        """Return the pages behind the last message of the current block."""
        return self.block_pages - self._next if self._current != _NONE else 0

    def _allocatable(self) -> i64:
        """Return the free blocks other than the current one."""
        is_free: bool = self._current != _NONE and self._used[self._current] == 0
        return self._free - 1 if is_free else self._free

    def allocate(self, pages: i64) -> list[Extent]:
        """Give out pages. Returns an empty list when there is no room."""
        if pages <= 0 or not self.fits(pages):
            return []
        extents: list[Extent] = []
        while pages > 0:
            if self._current == _NONE or self._next == self.block_pages:
                self._take_block()
            count: i64 = min(pages, self.block_pages - self._next)
            block: i64 = self._current
            self._append(extents, block * self.block_pages + self._next, count)
            if self._used[block] == 0:
                self._free -= 1
            self._used[block] += count
            self._next += count
            pages -= count
        return extents

    def _append(self, extents: list[Extent], page: i64, count: i64) -> None:
        if extents:
            last = extents[len(extents) - 1]
            if last.page + last.count == page:
                last.count += count
                return
        extents.append(Extent(page, count))

    def _take_block(self) -> None:
        """Make a free block the current one: the next behind the last that was taken, so that messages lie in a row."""
        block: i64 = self._cursor
        tried: i64 = 0
        while tried < self.blocks:
            if block >= self.blocks:
                block = 1
            if self._used[block] == 0 and block != self._current:
                self._current = block
                self._next = 0
                self._cursor = block + 1
                return
            block += 1
            tried += 1
        raise InvariantFailed(f"The space map has {self._free} free blocks and finds none")

    def free(self, extents: list[Extent]) -> None:
        """Take pages back that were given out or marked."""
        for extent in extents:
            page: i64 = extent.page
            left: i64 = extent.count
            while left > 0:
                block: i64 = page // self.block_pages
                count: i64 = min(left, (block + 1) * self.block_pages - page)
                if not 0 < block < self.blocks or self._used[block] < count:
                    raise InvariantFailed(f"Block {block} has not {count} pages in use that could be freed")
                self._used[block] -= count
                if self._used[block] == 0:
                    self._free += 1
                    if block == self._current:
                        self._next = 0
                page += count
                left -= count

    def can_mark(self, extents: list[Extent]) -> bool:
        """Return True when the pages lie in the file, and their blocks have room for them."""
        for extent in extents:
            if extent.count <= 0 or extent.page < self.block_pages:
                return False
            if extent.page + extent.count > self.blocks * self.block_pages:
                return False
            page: i64 = extent.page
            left: i64 = extent.count
            while left > 0:
                block: i64 = page // self.block_pages
                count: i64 = min(left, (block + 1) * self.block_pages - page)
                if self._used[block] + count > self.block_pages:
                    return False
                page += count
                left -= count
        return True

    def mark(self, extents: list[Extent]) -> None:
        """Note pages as used that an earlier life has given out, before anything is given out in this one."""
        for extent in extents:
            page: i64 = extent.page
            left: i64 = extent.count
            while left > 0:
                block: i64 = page // self.block_pages
                count: i64 = min(left, (block + 1) * self.block_pages - page)
                if self._used[block] == 0:
                    self._free -= 1
                self._used[block] += count
                page += count
                left -= count

    def grow(self, blocks: i64) -> None:
        """Add free blocks at the end."""
        for _ in range(blocks):
            self._used.append(0)
        self.blocks += blocks
        self._free += blocks

    def is_full_to(self, percent: i64) -> bool:
        """Return True when so many percent of the blocks are in use."""
        return self.used_blocks() * 100 >= percent * self.data_blocks()


def expansion_blocks(blocks: i64, percent: i64 = 10) -> i64:
    """Return the blocks that are added to a file without a secondary size: about a tenth of what it has."""
    return max((blocks * percent + 50) // 100, 1)
