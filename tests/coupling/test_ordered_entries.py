"""Lists in the order of keys, and indexes: long ones, against plain sorting."""

from __future__ import annotations

import random

import pytest

from ostler.coupling.stored import BLOCK_ENTRIES, IdIndex, OrderedEntries, StoredEntry
from ostler.model.coupling import terms as cf
from ostler.model.coupling.entries import Entry, make_id, make_key
from ostler.model.errors import InvariantFailed


def stored(number: int, priority: int = 5) -> StoredEntry:
    entry = Entry(make_id(1, 1, number), priority, bytes(364), b"", b"")
    return StoredEntry(entry, "Q", make_key(priority, number), cf.COMMITTED, b"")


@pytest.mark.parametrize("priorities", [(5,), (9, 5, 0)])
def test_a_long_list_keeps_the_order_of_keys(priorities: tuple[int, ...]) -> None:
    chance = random.Random(7)
    ordered = OrderedEntries()
    expected: dict[int, StoredEntry] = {}
    late: list[StoredEntry] = []
    for number in range(1, 8 * BLOCK_ENTRIES):
        each = stored(number, chance.choice(priorities))
        if chance.random() < 0.1:
            late.append(each)
            continue
        ordered.add(each)
        expected[each.key] = each
        if chance.random() < 0.4:
            first = ordered.first()
            assert first is not None
            assert first.key == min(expected)
            ordered.remove(first)
            del expected[first.key]
        elif chance.random() < 0.1:
            gone = expected.pop(chance.choice(list(expected)))
            ordered.remove(gone)
            late.append(gone)
    for each in late:
        ordered.add(each)
        expected[each.key] = each
    keys = sorted(expected)
    assert [each.key for each in ordered.all()] == keys
    assert ordered.count == len(keys)
    for key, behind in zip(keys, [*keys[1:], 0], strict=True):
        found = ordered.at(key)
        assert found is expected[key]
        after = ordered.after(key)
        assert (0 if after is None else after.key) == behind
        assert ordered.at(key - 1) is None or key - 1 in expected
    for key in keys:
        ordered.remove(expected[key])
    assert (ordered.first(), ordered.count) == (None, 0)


def test_an_entry_that_is_not_there_cannot_be_removed() -> None:
    ordered = OrderedEntries()
    with pytest.raises(InvariantFailed):
        ordered.remove(stored(1))
    ordered.add(stored(1))
    with pytest.raises(InvariantFailed):
        ordered.remove(stored(1))
    with pytest.raises(InvariantFailed):
        ordered.add(stored(1))


def test_an_index_finds_the_first_of_several_with_an_identifier() -> None:
    index = IdIndex()
    same, other = b"s" * 24, b"o" * 24
    entries = [stored(number, 5 if number % 2 else 9) for number in range(1, 9)]
    for each in reversed(entries):
        index.add(same, each)
    index.add(other, stored(100))
    index.add(bytes(24), stored(101))
    assert index.count() == 9
    by_key = sorted(entries, key=lambda each: each.key)
    assert index.first(same) is by_key[0]
    assert index.after(same, by_key[2].key) is by_key[3]
    for each in entries:
        index.remove(same, each)
    assert index.first(same) is None
    index.add(same, entries[0])
    assert index.first(same) is entries[0]
    assert index.after(same, entries[0].key) is None
    index.remove(bytes(24), stored(101))
    with pytest.raises(InvariantFailed):
        index.remove(other, entries[3])
