"""Space maps of data sets: examples of the report, and a map of single pages as a dumb twin."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ostler.coupling.data_sets.layout import RECORD_BYTES
from ostler.coupling.data_sets.space_map import Extent, SpaceMap, expansion_blocks, pages_of


def spans(extents: list[Extent]) -> list[tuple[int, int]]:
    return [(int(extent.page), int(extent.count)) for extent in extents]


def blocks_of(extents: list[Extent], block_pages: int) -> set[int]:
    return {page // block_pages for extent in extents for page in range(extent.page, extent.page + extent.count)}


def test_the_third_message_of_100_kb_needs_a_second_block() -> None:
    """Blocks of 256 KB: two messages of 26 pages each fit into the first one."""
    space = SpaceMap(64, 10)
    pages = int(pages_of((100 << 10) + RECORD_BYTES))
    assert [len(blocks_of(space.allocate(pages), 64)) for _ in range(3)] == [1, 1, 2]
    assert spans(space.allocate(1)) == [(64 + 3 * pages, 1)]


def test_a_message_of_1_kb_takes_as_much_as_one_of_3_kb() -> None:
    assert pages_of(1 << 10) == pages_of(3 << 10) == 1


def test_a_block_is_free_when_all_of_its_messages_are() -> None:
    space = SpaceMap(4, 3)
    first, second, third = space.allocate(2), space.allocate(2), space.allocate(4)
    assert (space.used_blocks(), space.allocate(1)) == (2, [])
    space.free(first)
    assert space.used_blocks() == 2
    space.free(second)
    assert (space.used_blocks(), spans(space.allocate(4))) == (1, [(4, 4)])
    space.free(third)


def test_a_file_grows_by_a_tenth() -> None:
    assert expansion_blocks(100_000) == 10_000
    assert expansion_blocks(110_000) == 11_000
    assert expansion_blocks(3) == 1


class NaiveMap:
    """Every page by itself: who has it."""

    def __init__(self, block_pages: int, blocks: int) -> None:
        self.block_pages = block_pages
        self.blocks = blocks
        self.owners: dict[int, int] = {}

    def take(self, owner: int, extents: list[Extent]) -> None:
        for page, count in spans(extents):
            for each in range(page, page + count):
                assert each not in self.owners, f"page {each} was given out twice"
                assert self.block_pages <= each < self.blocks * self.block_pages, "the page is not one for data"
                self.owners[each] = owner

    def give_back(self, owner: int) -> None:
        self.owners = {page: each for page, each in self.owners.items() if each != owner}

    def used_blocks(self) -> int:
        return len({page // self.block_pages for page in self.owners})


@settings(max_examples=200, deadline=None)
@given(
    block_pages=st.sampled_from([2, 4, 16]),
    blocks=st.integers(2, 12),
    steps=st.lists(st.tuples(st.sampled_from("aaafg"), st.integers(1, 40)), max_size=60),
)
def test_no_page_is_given_out_twice(block_pages: int, blocks: int, steps: list[tuple[str, int]]) -> None:
    space, naive = SpaceMap(block_pages, blocks), NaiveMap(block_pages, blocks)
    live: list[tuple[int, list[Extent]]] = []
    for number, (step, value) in enumerate(steps):
        if step == "a":
            free_blocks = naive.blocks - 1 - naive.used_blocks()
            extents = space.allocate(value)
            if extents:
                assert sum(count for _, count in spans(extents)) == value
                naive.take(number, extents)
                live.append((number, extents))
            else:
                assert value > (free_blocks - 1) * block_pages, "there was room"
        elif step == "f" and live:
            owner, extents = live.pop(value % len(live))
            space.free(extents)
            naive.give_back(owner)
        elif step == "g":
            space.grow(value % 3)
            naive.blocks += value % 3
        assert space.used_blocks() == naive.used_blocks()
    rebuilt = SpaceMap(block_pages, int(space.blocks))
    for _, extents in live:
        assert rebuilt.can_mark(extents)
        rebuilt.mark(extents)
    assert [rebuilt.used_pages(block) for block in range(int(space.blocks))] == [
        space.used_pages(block) for block in range(int(space.blocks))
    ], "a map that is made from the messages is the same"
    for number in range(100):
        extents = rebuilt.allocate(number % 5 + 1)
        if not extents:
            break
        naive.take(-number - 1, extents)
