"""The calculations of the z/OS report give the figures that it prints."""

from __future__ import annotations

import pytest

from ostler.lab.sizing.shared_storage import (
    OffloadRule,
    SpreadLoad,
    buffer_storage_bytes,
    data_set_messages,
    elements_of,
    group_bytes_max,
    is_ever_offloaded,
    offload_threshold,
    predict_structures,
    structure_bytes_for,
    structure_capacity,
)

KB, MB, GB, TB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
HALF_GB = GB // 2


def test_a_message_of_16_kb_is_66_elements() -> None:
    assert elements_of(16 * KB) == 66


def test_messages_below_122_bytes_are_never_offloaded() -> None:
    assert [is_ever_offloaded(length) for length in (0, 121, 122)] == [False, False, True]
    assert offload_threshold(121) is None


def test_half_a_gigabyte_without_offload() -> None:
    # The report says "approximately 24,000".
    assert structure_capacity(HALF_GB, 16 * KB, cflevel=4).messages == pytest.approx(24_000, rel=0.03)


def test_half_a_gigabyte_with_the_default_rules() -> None:
    found = structure_capacity(HALF_GB, 16 * KB)
    assert found.held_whole == pytest.approx(17_101, abs=2)
    assert found.messages == pytest.approx(158_166, abs=20)


def test_the_largest_matching_length_decides_when_to_offload() -> None:
    assert offload_threshold(63 * KB) == 0.7
    assert offload_threshold(16 * KB) == 0.8
    assert offload_threshold(1 * KB) == 0.9
    assert offload_threshold(1 * KB, (OffloadRule(70, 32 * KB),)) is None


def test_with_all_offloaded_nothing_is_held_whole() -> None:
    found = structure_capacity(HALF_GB, 16 * KB, rules=(OffloadRule(0, 0),))
    assert found.held_whole == 0
    assert found.offloaded > structure_capacity(HALF_GB, 16 * KB).messages


def test_messages_of_more_than_63_kb_are_never_in_a_structure() -> None:
    assert offload_threshold(63 * KB + 1) == 0
    for cflevel in (4, 5):
        found = structure_capacity(HALF_GB, 64 * KB, cflevel)
        assert found.held_whole == 0
        assert found.messages == structure_capacity(HALF_GB, 16 * KB, rules=(OffloadRule(0, 0),)).messages


def test_buffers_of_data_sets() -> None:
    assert buffer_storage_bytes() == 25 * MB
    assert buffer_storage_bytes(structures=63) == 1575 * MB


@pytest.mark.parametrize(
    ("length", "messages", "structure_gb"),
    [
        (100 * MB, 167_772, 0.12),
        (4 * MB, 4_194_304, 3.0),
        (1 * MB, 16_777_216, 12.0),
        # Printed rounded up, and with one more at 64 KB.
        (100 * KB, 171_798_691, 122.88),
        (64 * KB, 268_435_456, 192.0),
        (10 * KB, 1_717_986_918, 1228.8),
        # Printed as 4,319,967,296, which 3,072 GB of structure contradict.
        (4 * KB, 4_294_967_296, 3072.0),
        (1 * KB, 4_294_967_296, 3072.0),
    ],
)
def test_messages_in_16_tb_and_the_structure_for_them(length: int, messages: int, structure_gb: float) -> None:
    found = data_set_messages(length)
    assert found == messages
    assert round(structure_bytes_for(found) / GB, 2) == structure_gb


def test_pages_cost_what_they_round_up() -> None:
    assert data_set_messages(10 * KB, 12 * MB, is_aligned=True) == 1024
    assert data_set_messages(3 * KB, 12 * MB, is_aligned=True) == data_set_messages(1 * KB, 12 * MB, is_aligned=True)


def test_the_whole_group() -> None:
    assert group_bytes_max() == 31_248 * TB
    assert data_set_messages(100 * MB) * 31 * 63 == 327_658_716


def test_the_load_of_32_structures_from_that_of_8() -> None:
    measured = SpreadLoad(8, 469, 93e6)
    assert (measured.rate_of_all, measured.written_of_all) == (3752, 744e6)
    found = predict_structures(measured, 32, rate_max=22_000)
    # The report prints 3,976 MB/s, and 32 times 93 are 2,976.
    assert (found.rate_of_all, found.written_of_all) == (15_008, 2976e6)


def test_a_facility_that_carries_less_limits_all() -> None:
    found = predict_structures(SpreadLoad(8, 469, 93e6), 32, rate_max=7504)
    assert found.rate_of_all == pytest.approx(7504)
    assert found.written_of_all == pytest.approx(2976e6 / 2)
