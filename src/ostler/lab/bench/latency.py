"""Latencies in a histogram of fixed resolution. Recording happens outside of what is timed."""

from __future__ import annotations

from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from ostler.lab.common.samples import Label, Measurement

_LOWEST_NS = 1
_HIGHEST_NS = 60_000_000_000
_DIGITS = 2
_PERCENTILES = (50, 90, 99, 99.9)


class Latency:
    """Nanoseconds, kept to one percent, the largest exactly."""

    def __init__(self) -> None:
        self._histogram = HdrHistogram(_LOWEST_NS, _HIGHEST_NS, _DIGITS)
        self._count = 0
        self._highest = 0

    def record(self, nanoseconds: int) -> None:
        self._histogram.record_value(min(max(nanoseconds, _LOWEST_NS), _HIGHEST_NS))
        self._count += 1
        self._highest = max(self._highest, nanoseconds)

    def record_all(self, nanoseconds: list[int]) -> None:
        for each in nanoseconds:
            self.record(each)

    def measurement(self, name: str, labels: dict[str, Label]) -> Measurement:
        """Percentiles 50, 90, 99 and 99.9 and the maximum, with the filled buckets."""
        percentiles = {str(each): float(self._histogram.get_value_at_percentile(each)) for each in _PERCENTILES}
        percentiles["100"] = float(self._highest)
        rows = tuple(
            (int(each.value_iterated_to), int(each.count_added_in_this_iter_step))
            for each in self._histogram.get_recorded_iterator()
        )
        return Measurement(name, "ns", (), labels, percentiles, self._count, rows)
