"""The fixed layout of latency histograms: the bucket of a value, and the bounds of a bucket.

Buckets are log-linear: 128 to each doubling. Values up to 255 have a bucket each; above, a bucket is at most 1/128 of
its lowest value wide, so it determines a value to 0.79 percent. It is the layout of an HdrHistogram of two digits, so
the two agree bucket by bucket. The layout never depends on recorded values: histograms of workers, seconds and runs are
merged by adding the counts of equal buckets, and a merged histogram is the one of all values together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SUB_BUCKET_BITS: Final = 7
SUB_BUCKETS: Final = 1 << SUB_BUCKET_BITS
VALUE_BITS: Final = 42
# 73 minutes in nanoseconds. Longer times count as this long; the exact highest value is kept beside.
VALUE_NS_MAX: Final = (1 << VALUE_BITS) - 1
BUCKETS: Final = (VALUE_BITS - SUB_BUCKET_BITS + 1) * SUB_BUCKETS
# The most by which the value of a bucket, its highest, exceeds any value in it.
ERROR_FRACTION_MAX: Final = 1 / SUB_BUCKETS
PERCENT_PARTS: Final = 10_000


def bucket_of(value_ns: int) -> int:
    """Return the bucket of a value; negative values count as 0."""
    if value_ns < SUB_BUCKETS:
        return value_ns if value_ns > 0 else 0
    if value_ns > VALUE_NS_MAX:
        return BUCKETS - 1
    shift = value_ns.bit_length() - (SUB_BUCKET_BITS + 1)
    return (shift << SUB_BUCKET_BITS) + (value_ns >> shift)


def _shift_of(bucket: int) -> int:
    assert 0 <= bucket < BUCKETS
    shift = (bucket >> SUB_BUCKET_BITS) - 1
    return shift if shift > 0 else 0


def lowest_of(bucket: int) -> int:
    """Return the lowest value of a bucket."""
    shift = _shift_of(bucket)
    return (bucket - (shift << SUB_BUCKET_BITS)) << shift


def highest_of(bucket: int) -> int:
    """Return the highest value of a bucket, which percentiles are reported by."""
    shift = _shift_of(bucket)
    return ((bucket - (shift << SUB_BUCKET_BITS) + 1) << shift) - 1


def merge(into: dict[int, int], counts: Mapping[int, int]) -> None:
    """Add the counts of one histogram to another."""
    for bucket, count in counts.items():
        into[bucket] = into.get(bucket, 0) + count


def rank_of(percent: float, count: int) -> int:
    """Return the rank of a percentile among `count` values: the first with at least that part at or below it.

    Computed in whole numbers, so that 99.9 percent of 1,000 is the 999th and not, by a rounding error, the 1,000th.
    """
    parts = round(percent * PERCENT_PARTS)
    assert 0 <= parts <= 100 * PERCENT_PARTS
    return max(1, -(-parts * count // (100 * PERCENT_PARTS)))


def percentile_ns(counts: Mapping[int, int], percent: float, highest_ns: int) -> int:
    """Return a percentile of a histogram whose exact highest value is known; 0 when nothing was recorded.

    Never below the exact percentile, and above it by less than `ERROR_FRACTION_MAX` of it.
    """
    rank = rank_of(percent, sum(counts.values()))
    passed = 0
    for bucket in sorted(counts):
        passed += counts[bucket]
        if passed >= rank:
            # The last bucket has no upper bound: it contains all times too long for the layout.
            return highest_ns if bucket == BUCKETS - 1 else min(highest_of(bucket), highest_ns)
    return 0
