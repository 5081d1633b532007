"""Linking slots in order: at the right position, and at a cost that does not grow with the queue."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searching import examples

from ostler.engine.message.message import MD_BYTES, Message
from ostler.engine.queue.slots import AVAILABLE, NONE, PERSISTENT, PRIORITY_SHIFT, Slots
from ostler.model.structures.md import MD_DEFAULT

MD = MD_DEFAULT.ljust(MD_BYTES, b"\0")


def taken(slots: Slots, seq: int, priority: int, correlation: int) -> int:
    return int(slots.take(Message(MD, b"", b"", seq), AVAILABLE | priority << PRIORITY_SHIFT, seq + 1, correlation, 0))


def delivered(slots: Slots) -> list[int]:
    found = []
    slot = slots.first()
    while slot != NONE:
        found.append(int(slots.seqs[slot]))
        slot = slots.following(slot)
    return found


def chain(slots: Slots, hashed: int) -> list[int]:
    found = []
    slot = slots.by_correlation_id.first(hashed)
    while slot != NONE:
        found.append(int(slots.seqs[slot]))
        slot = slots.by_correlation_id.following(slot)
    return found


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 1 << 30), st.booleans(), st.integers(1, 40))
def test_slots_return_to_their_positions(seed: int, near_head: bool, count: int) -> None:
    chance = random.Random(seed)
    slots = Slots()
    kinds = {seq: (chance.randrange(3), chance.randrange(3)) for seq in range(count)}
    where = {seq: taken(slots, seq, *kinds[seq]) for seq in range(count)}
    for seq in range(count):
        slots.link_last(where[seq])
    for _ in range(10):
        out = chance.sample(range(count), chance.randrange(count + 1))
        for seq in out:
            slots.unlink(where[seq])
        if chance.random() < 0.5:
            out.sort(reverse=near_head)  # as a unit of work brings them
        for seq in out:
            slots.link_in_order(where[seq], near_head)
        assert delivered(slots) == sorted(range(count), key=lambda seq: (-kinds[seq][0], seq))
        for hashed in (1, 2):
            assert chain(slots, hashed) == [seq for seq in range(count) if kinds[seq][1] == hashed]


def test_a_unit_of_work_far_from_the_ends_costs_what_it_spans() -> None:
    slots = Slots()
    where = [taken(slots, seq, 0, 7) for seq in range(6_000)]
    for slot in where:
        slots.link_last(slot)
    unit = where[2_500:3_500]
    for near_head, order in ((True, unit[::-1]), (False, unit)):
        for slot in unit:
            slots.unlink(slot)
        before = slots.steps
        for slot in order:
            slots.link_in_order(slot, near_head)
        assert delivered(slots) == list(range(6_000))
        # Both lists, each found from the one before; from the end it would be millions.
        assert slots.steps - before < 20_000


# -- growing -----------------------------------------------------------------------------------------------------------


def test_a_table_of_identifiers_grows_by_one_bucket_at_a_time() -> None:
    slots = Slots()
    index = slots.by_correlation_id
    hashes = [(number * 0x9E3779B97F4A7C15 & 0x7FFFFFFFFFFFFFFF) % 977 + 1 for number in range(5_000)]
    expected: dict[int, list[int]] = {}
    for seq, hashed in enumerate(hashes, 1):
        before = index.buckets()
        slot = slots.take_stored(seq, AVAILABLE, 0, hashed, 0, 8)
        slots.link_last(slot)
        expected.setdefault(hashed, []).append(seq)
        assert index.buckets() - before in (0, 1)
    assert index.buckets() == len(hashes)
    for hashed, seqs in expected.items():
        assert chain(slots, hashed) == seqs
    for seqs in expected.values():
        for seq in seqs[::2]:
            slots.unlink(seq - 1)
    for hashed, seqs in expected.items():
        assert chain(slots, hashed) == seqs[1::2]


def test_columns_keep_their_contents_when_they_grow() -> None:
    slots = Slots()
    count = 140_000  # all columns have had a turn
    for seq in range(1, count + 1):
        slots.take_stored(seq, AVAILABLE | PERSISTENT, seq * 3, seq * 5, seq * 7, seq * 8)
    for slot in (0, 1, 65_535, 65_536, 98_304, 131_071, count - 1):
        seq = slot + 1
        assert slots.seqs[slot] == seq
        assert slots.flags[slot] == AVAILABLE | PERSISTENT
        assert slots.by_message_id.hashes[slot] == seq * 3
        assert slots.by_correlation_id.hashes[slot] == seq * 5
        assert slots.expiries[slot] == seq * 7
        assert slots.extents[slot] == seq * 8
    assert len(slots.nexts) == len(slots.previous) == len(slots.resident) == count
