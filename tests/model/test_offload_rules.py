"""Offload rules: sizes and thresholds to the byte, and the arithmetic of the published example."""

from __future__ import annotations

import pytest

from ostler.model.coupling.entries import HEADER_BYTES, elements_of, usable_bytes
from ostler.model.coupling.offload import IN_DATA_SET, IN_DATABASE, IN_STRUCTURE, NOWHERE, OffloadRules

KB = 1024
LIMIT = 1000


def default_rules(level: int = 5, place: int = IN_DATA_SET) -> OffloadRules:
    rules = OffloadRules(level, place)
    for threshold, size in ((70, 32 * KB), (80, 4 * KB), (90, 0)):
        rules.add(threshold, size)
    return rules


@pytest.mark.parametrize(
    ("body", "used", "place"),
    [
        (32 * KB - HEADER_BYTES, 700, IN_STRUCTURE),
        (32 * KB - HEADER_BYTES + 1, 699, IN_STRUCTURE),
        (32 * KB - HEADER_BYTES + 1, 700, IN_DATA_SET),
        (4 * KB - HEADER_BYTES, 899, IN_STRUCTURE),
        (4 * KB - HEADER_BYTES + 1, 799, IN_STRUCTURE),
        (4 * KB - HEADER_BYTES + 1, 800, IN_DATA_SET),
        (122, 899, IN_STRUCTURE),
        (122, 900, IN_DATA_SET),
        (121, 1000, IN_STRUCTURE),
        (63 * KB - 364, 0, IN_STRUCTURE),
        (63 * KB - 363, 0, IN_DATA_SET),
    ],
)
def test_sizes_with_headers_and_fullness_decide(body: int, used: int, place: int) -> None:
    assert default_rules().choose(0, body, used, LIMIT) == place


def test_levels() -> None:
    for level in (1, 2, 3):
        assert default_rules(level).choose(0, 100 * KB, 0, LIMIT) == NOWHERE
        assert default_rules(level).choose(0, 60 * KB, 999, LIMIT) == IN_STRUCTURE
    assert default_rules(4).choose(0, 100 * KB, 0, LIMIT) == IN_DATABASE, "level 4 has the database only"
    assert default_rules(4).choose(0, 60 * KB, 999, LIMIT) == IN_STRUCTURE, "rules begin with level 5"
    assert default_rules(5, IN_DATABASE).choose(0, 100 * KB, 0, LIMIT) == IN_DATABASE
    assert default_rules(5, IN_STRUCTURE).choose(0, 100 * KB, 0, LIMIT) == NOWHERE
    assert default_rules().choose(64 * KB, 10, 0, LIMIT) == NOWHERE, "properties stay with the entry"


def test_all_values_0_offload_everything_and_64k_nothing() -> None:
    everything, nothing = OffloadRules(5, IN_DATA_SET), OffloadRules(5, IN_DATABASE)
    for threshold in (70, 80, 90):
        everything.add(0, 0)
        nothing.add(threshold, 64 * KB)
    assert everything.choose(0, 122, 0, LIMIT) == IN_DATA_SET
    assert everything.choose(0, 121, 0, LIMIT) == IN_STRUCTURE
    assert nothing.choose(0, 60 * KB, 1000, LIMIT) == IN_STRUCTURE


def fill(elements: int, message_bytes: int) -> tuple[int, int]:
    """Fill a structure with so many elements by the rules. Returns messages that are whole, and all."""
    rules = default_rules()
    used = whole = count = 0
    while True:
        place = rules.choose(0, message_bytes, used, elements)
        needed = int(elements_of(message_bytes)) if place == IN_STRUCTURE else 2
        if used + needed > elements:
            return whole, count
        used += needed
        count += 1
        whole += place == IN_STRUCTURE


def test_the_published_example_of_16_kb_messages_in_half_a_gigabyte() -> None:
    """The facility alters the ratio of entries and elements until both are used up at the same time."""
    entries = 158_166
    elements = int(usable_bytes(512 << 20) // 256) - entries
    whole, count = fill(elements, 16 * KB)
    assert (whole, count) == pytest.approx((17_101, entries), abs=10)
